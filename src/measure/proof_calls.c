/* SPDX-License-Identifier: MIT */
/*
 * Makes the calls of the proof, by the vDSO and by libc, spread over the CPUs, and counts them. A
 * method of the proof (proof_seccomp.c, proof_ptrace.c) has it run under its watch.
 */
#include "parts.h"

#include "base/child.h"
#include "measure/cpus.h"

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
	fault_guard_once(run_on_cpus, run);
}

void proof_run_prepare(struct proof_run *run)
{
	for (size_t i = 0; i < run->table->count; i++) {
		const struct call *call = &run->table->rows[i].path[PATH_SYSCALL];

		if (call->function.any)
			run->calls[i].raw_error = call_error(call);
	}
}
