/* SPDX-License-Identifier: MIT */
/*
 * The proof's counts, added up: how many of the deciding calls entered the kernel, always or
 * sometimes, by the path that each is judged by or by one path.
 */
#include "judge.h"

#include <string.h>

static void add(struct entry_counts *counts, const struct path_evidence *path)
{
	if (!path->available)
		return;
	counts->calls++;
	if (path->signal)
		counts->signal = path->signal;
	if (!path->attempts)
		return;
	counts->proven++;
	counts->always += path->entered == path->attempts;
	counts->entering += path->entered > 0;
	counts->attempts += path->attempts;
	counts->entered += path->entered;
}

struct entry_counts counts_deciding(const struct evidence *evidence)
{
	struct entry_counts counts = {0};

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->decides)
			add(&counts, &call->path[call_judged_path(call)]);
	}
	return counts;
}

bool counts_are_mixed(const struct evidence *evidence)
{
	struct entry_counts counts = counts_deciding(evidence);

	return counts.entering > counts.always;
}

struct entry_counts counts_by_path(const struct evidence *evidence, enum call_path path)
{
	struct entry_counts counts = {0};

	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides)
			add(&counts, &evidence->calls[i].path[path]);
	}
	return counts;
}

const struct call_evidence *clock_gettime_of(const struct evidence *evidence, const char *clock)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (strcmp(evidence->calls[i].call, "clock_gettime") == 0 &&
			strcmp(evidence->calls[i].clock, clock) == 0)
			return &evidence->calls[i];
	}
	return NULL;
}
