/* SPDX-License-Identifier: MIT */
/*
 * Makes the calls of the proof, by the vDSO and by libc, spread over the CPUs, and counts them. A
 * method of the proof (proof_seccomp.c, proof_ptrace.c) has it run under its watch.
 */
#include "parts.h"

#include "base/child.h"
#include "measure/cpus.h"

/*
 * A call is counted after it was made: one that is cut short is not an attempt. One that entered
 * the kernel has the kernel's answer, whatever that is.
 *
 * gettimeofday() of x86, 4.20 to 5.2, ignores the result of do_hres(), which makes the system call
 * clock_gettime(2), divides the tv_usec that nothing wrote by 1000 and returns 0
 * (arch/x86/entry/vdso/vclock_gettime.c): where it writes a time in plain use, an unwritten one
 * shows that the system call failed.
 */
static void make_counted_calls(void *argument)
{
	struct proof_run *run = argument;
	const struct call *call = &run->table->rows[run->row].path[run->path];
	struct path_evidence *path = &run->calls[run->row].path[run->path];
	/* A parent that traces this process counts the entries while the call is made. */
	const volatile uint32_t *entered = &path->entered;

	for (uint32_t i = 0; i < run->count; i++) {
		uint32_t entered_before = *entered;
		union call_result result;
		enum call_end end;
		int error = 0;

		run->serial++;
		run->call = (int32_t)run->row;
		end = call_try(call, run->mark, &result, &error);
		run->call = PROOF_RUN_NOTHING;
		path->attempts++;
		if (end == CALL_MARKED ||
			(end == CALL_SILENT && run->mark && run->writes[run->row][run->path]))
			path->entered++;
		else if (end != CALL_DONE && *entered == entered_before && !path->failed++)
			path->error = error;
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

void proof_run_all(struct proof_run *run)
{
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

static void try_plain(void *argument)
{
	struct proof_run *run = argument;
	const struct call *call = &run->table->rows[run->row].path[run->path];
	union call_result result;
	int error;

	run->writes[run->row][run->path] = call_try(call, 0, &result, &error) == CALL_DONE;
}

/* Other calls than gettimeofday() are not made: one that hangs would take the time of the rest. */
void proof_run_prepare(struct proof_run *run)
{
	for (run->row = 0; run->row < run->table->count; run->row++) {
		const struct call *path = run->table->rows[run->row].path;

		if (path[PATH_SYSCALL].function.any)
			run->calls[run->row].raw_error = call_error(&path[PATH_SYSCALL]);
		for (run->path = PATH_VDSO; run->path <= PATH_LIBC; run->path++) {
			if (path[run->path].function.any &&
				path[run->path].shape == SHAPE_TIMEOFDAY)
				fault_guard(try_plain, run);
		}
	}
}
