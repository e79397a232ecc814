/* SPDX-License-Identifier: MIT */
/*
 * Takes the proof: chooses the method that works here, and makes the calls of all methods, spread
 * over the CPUs. Each method sees in its own way whether a call entered the kernel
 * (proof_seccomp.c, proof_ptrace.c).
 */
#include "parts.h"

#include <string.h>

#include "base/child.h"
#include "base/memory.h"
#include "measure/cpus.h"

/* ---- the calls ---- */

/* A call is counted after it was made: one that is cut short is not an attempt. */
static void make_counted_calls(void *argument)
{
	struct proof_run *run = argument;
	const struct call *call = &run->table->rows[run->row].path[run->path];
	struct path_evidence *path = &run->calls[run->row].path[run->path];

	for (uint32_t i = 0; i < run->count; i++) {
		bool is_caught;

		run->serial++;
		run->call = (int32_t)run->row;
		is_caught = call_enters(call, run->mark) && run->mark;
		run->call = PROOF_RUN_NOTHING;
		path->entered += is_caught;
		path->attempts++;
	}
}

/* A call that crashed once is not made again. */
static void run_here(struct proof_run *run, uint32_t count)
{
	for (size_t i = 0; i < run->table->count; i++) {
		for (int path = PATH_VDSO; path <= PATH_LIBC; path++) {
			struct path_evidence *counts = &run->calls[i].path[path];

			if (!run->table->rows[i].path[path].function.any || counts->signal)
				continue;
			run->row = i;
			run->path = path;
			run->count = count;
			counts->signal = fault_guard(make_counted_calls, run);
			run->call = PROOF_RUN_NOTHING;
			counts->attempts += counts->signal != 0;
		}
	}
}

static void run_on_cpus(void *argument)
{
	struct proof_run *run = argument;
	int cpus[CPUS_MAX];
	size_t used = 0;
	uint32_t done = 0;

	if (run->place == PROOF_SPREAD)
		used = cpus_spread(cpus, cpus_list(cpus, CPUS_MAX), PROOF_CPUS_MAX);
	for (size_t i = 0; i < used; i++) {
		uint32_t until = (uint32_t)((i + 1) * PROOF_CALLS / used);

		if (!cpus_pin(cpus[i]))
			break;
		run->cpus++;
		run_here(run, until - done);
		done = until;
	}
	if (!run->cpus)
		run->cpus = 1;
	if (done < PROOF_CALLS)
		run_here(run, PROOF_CALLS - done);
}

void proof_run_all(struct proof_run *run)
{
	fault_guard_parts(run_on_cpus, run);
}

/* The first call of getrandom() in a process takes a key from the kernel; later ones need not. */
static void take_first_key(void *argument)
{
	const struct call_row *row = argument;

	for (int path = PATH_VDSO; path <= PATH_LIBC; path++) {
		if (row->path[path].function.any)
			call_error(&row->path[path]);
	}
}

void proof_run_prepare(struct proof_run *run)
{
	for (size_t i = 0; i < run->table->count; i++) {
		const struct call *call = &run->table->rows[i].path[PATH_SYSCALL];

		if (call->function.any)
			run->calls[i].raw_error = call_error(call);
		if (call->shape == SHAPE_RANDOM)
			fault_guard(take_first_key, (void *)&run->table->rows[i]);
	}
}

/* ---- the methods ---- */

/* The part of the time left that a method may take: the next one needs the rest. */
#define METHOD_SHARE 0.75

struct method {
	enum proof_method id;
	bool (*take)(struct proof_run *run, const struct deadline *deadline, struct fact *why);
};

/* The order is that of preference: seccomp is quicker and disturbs less. */
static const struct method methods[] = {
	{PROOF_SECCOMP, proof_seccomp_take},
	{PROOF_PTRACE, proof_ptrace_take},
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
static void take_counts(const struct proof_run *run, struct call_evidence *calls)
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

void proof_take(const struct call_table *table, enum proof_place place,
	struct proof_evidence *proof, struct call_evidence *calls, const struct deadline *deadline)
{
	bool taken = fact_is_known(&proof->fact);
	struct fact why = {0};
	struct proof_run *run = child_share(sizeof(*run), &why);
	enum fact_state state = why.state;
	/* Each reason for which a method was refused has room for its part. */
	const int part = FACT_REASON_SIZE / (int)ARRAY_SIZE(methods) - (int)strlen("; ");
	char note[FACT_REASON_SIZE];

	text_copy(note, sizeof(note), why.reason);
	for (size_t i = 0; run && i < ARRAY_SIZE(methods); i++) {
		struct deadline share = deadline_within(
			deadline, (int64_t)((double)deadline_left_ns(deadline) * METHOD_SHARE));
		bool done;

		if (taken && methods[i].id != proof->method)
			continue;
		*run = (struct proof_run){
			.table = table, .place = place, .call = PROOF_RUN_NOTHING};
		memcpy(run->calls, calls, table->count * sizeof(*calls));
		done = methods[i].take(run, &share, &why);
		if (is_proven(run)) {
			take_counts(run, calls);
			proof->method = methods[i].id;
			proof->cpus = run->cpus > proof->cpus ? run->cpus : proof->cpus;
			fact_set_known(&proof->fact);
			break;
		}
		if (done)
			why = run->fact;
		if (strncmp(note, why.reason, (size_t)part) != 0)
			text_append(
				note, sizeof(note), "%s%.*s", *note ? "; " : "", part, why.reason);
		if (state != FACT_DENIED)
			state = why.state;
	}
	if (run)
		child_unshare(run, sizeof(*run));
	/* A part that fails once the proof was taken changes nothing. */
	if (taken)
		return;
	text_copy(proof->note, sizeof(proof->note), note);
	if (!fact_is_known(&proof->fact))
		fact_set(&proof->fact, state, "%s", note);
}
