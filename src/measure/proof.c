/* SPDX-License-Identifier: MIT */
/*
 * Takes the proof by the method that works here. Each sees in its own way whether a call entered
 * the kernel (proof_seccomp.c, proof_ptrace.c).
 */
#include "parts.h"

#include <string.h>

#include "base/child.h"
#include "base/memory.h"

/* The part of the time left that a method may take: the next one needs the rest. */
#define METHOD_SHARE 0.75

struct method {
	enum proof_method id;
	bool (*take)(struct proof_run *run, const struct deadline *deadline, struct fact *why);
};

/* The order is that of preference: seccomp is quicker and disturbs less. */
static const struct method methods[] = {
	{PROOF_SECCOMP, proof_by_seccomp},
	{PROOF_PTRACE, proof_by_ptrace},
};

/* True if the counts hold and each deciding call was made by all its paths. */
static bool is_proven(const struct proof_run *run)
{
	for (size_t i = 0; i < run->table->count; i++) {
		for (int path = PATH_VDSO; path <= PATH_LIBC; path++) {
			if (run->table->rows[i].decides &&
				run->table->rows[i].path[path].function.any &&
				!run->calls[i].path[path].attempts)
				return false;
		}
	}
	return fact_is_known(&run->fact);
}

/* Copies the counts of a run. ptrace may have seen the entry of a call that was cut short. */
static void store_counts(const struct proof_run *run, struct call_evidence *calls)
{
	memcpy(calls, run->calls, run->table->count * sizeof(*calls));
	for (size_t i = 0; i < run->table->count; i++) {
		for (int path = PATH_VDSO; path <= PATH_LIBC; path++) {
			struct path_evidence *counts = &calls[i].path[path];

			if (counts->entered > counts->attempts)
				counts->entered = counts->attempts;
		}
	}
}

/* Returns true if a method took the proof, or this part of it; else *why has the reason. */
static bool take_by(const struct method *method, const struct call_table *table,
	enum proof_place place, struct proof_evidence *proof, struct call_evidence *calls,
	const struct deadline *deadline, struct fact *why)
{
	struct proof_run *run = child_share(sizeof(*run), why);
	bool proven;

	if (!run)
		return false;
	run->table = table;
	run->place = place;
	run->call = PROOF_RUN_NOTHING;
	memcpy(run->calls, calls, table->count * sizeof(*calls));
	if (method->take(run, deadline, why))
		*why = run->fact;
	proven = is_proven(run);
	if (proven) {
		store_counts(run, calls);
		proof->method = method->id;
		proof->cpus = run->cpus > proof->cpus ? run->cpus : proof->cpus;
		fact_set_known(&proof->fact);
	}
	child_unshare(run, sizeof(*run));
	return proven;
}

void proof_take(const struct call_table *table, enum proof_place place,
	struct proof_evidence *proof, struct call_evidence *calls, const struct deadline *deadline)
{
	bool taken = fact_is_known(&proof->fact);
	enum fact_state state = FACT_UNREAD;
	/* Each reason for which a method was refused has room for its part. */
	char note[FACT_REASON_SIZE] = "", part[FACT_REASON_SIZE / ARRAY_SIZE(methods) - 2];

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		struct deadline share = deadline_within(
			deadline, (int64_t)((double)deadline_left_ns(deadline) * METHOD_SHARE));
		struct fact why = {0};

		if (taken && methods[i].id != proof->method)
			continue;
		if (take_by(&methods[i], table, place, proof, calls, &share, &why))
			break;
		text_clean(part, sizeof(part), why.reason);
		if (strcmp(note, part) != 0)
			text_append(note, sizeof(note), "%s%s", *note ? "; " : "", part);
		/* The later state says more about the way to a proof. */
		if (why.state > state)
			state = why.state;
	}
	/* A part that fails once the proof was taken changes nothing. */
	if (taken)
		return;
	text_clean(proof->note, sizeof(proof->note), note);
	if (!fact_is_known(&proof->fact))
		fact_set(&proof->fact, state, "%s", note);
}
