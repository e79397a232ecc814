/* SPDX-License-Identifier: MIT */
#include "judge/tally.h"

#include <string.h>

static void add(struct tally *tally, const struct path_evidence *path)
{
	if (!path->available)
		return;
	tally->calls++;
	if (path->signal)
		tally->signal = path->signal;
	if (!path->attempts)
		return;
	tally->proven++;
	tally->always += path->entered == path->attempts;
	tally->entering += path->entered > 0;
	tally->attempts += path->attempts;
	tally->entered += path->entered;
}

struct tally tally_deciding(const struct evidence *evidence)
{
	struct tally tally = {0};

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->decides)
			add(&tally, &call->path[call_judged_path(call)]);
	}
	return tally;
}

bool tally_is_mixed(const struct evidence *evidence)
{
	struct tally tally = tally_deciding(evidence);

	return tally.entering > tally.always;
}

struct tally tally_by(const struct evidence *evidence, enum call_path path)
{
	struct tally tally = {0};

	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides)
			add(&tally, &evidence->calls[i].path[path]);
	}
	return tally;
}

const struct call_evidence *tally_find(const struct evidence *evidence, const char *clock)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (strcmp(evidence->calls[i].call, "clock_gettime") == 0 &&
			strcmp(evidence->calls[i].clock, clock) == 0)
			return &evidence->calls[i];
	}
	return NULL;
}
