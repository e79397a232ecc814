/* SPDX-License-Identifier: MIT */
/*
 * The proof by seccomp: a filter answers every time system call with an errno of our own, so that
 * a function which returns that errno made a system call.
 */
#include "parts.h"

#include <seccomp.h>

#include "base/child.h"
#include "base/filter.h"

/*
 * An error number that no kernel returns (they end at 133, the internal ones at 530) and
 * that is below MAX_ERRNO (4095), so that a vDSO hands it on like any other.
 */
#define MARK 3517

bool proof_seccomp_set_filter(struct fact *why)
{
	int numbers[2 * SERVED_CALL_COUNT];
	size_t count = 0;

	for (const struct served_row *row = served_calls; *row->name; row++) {
		numbers[count++] = seccomp_syscall_resolve_name(row->name);
		if (row->wide)
			numbers[count++] = seccomp_syscall_resolve_name(row->wide);
	}
	return filter_fail_calls(numbers, count, MARK, why);
}

enum call_end proof_seccomp_try(const struct call *call)
{
	union call_result result;
	int error;

	return call_try(call, MARK, &result, &error);
}

void proof_seccomp_run(void *argument)
{
	struct proof_run *run = argument;
	const struct call control = call_control();

	proof_run_prepare(run);
	if (!proof_seccomp_set_filter(&run->fact))
		return;
	if (proof_seccomp_try(&control) != CALL_MARKED) {
		fact_set(&run->fact, FACT_FAILED,
			"the seccomp filter did not catch the control call");
		return;
	}
	fact_set_known(&run->fact);
	run->mark = MARK;
	proof_run_all(run);
}

bool proof_by_seccomp(struct proof_run *run, const struct deadline *deadline, struct fact *why)
{
	return child_run(proof_seccomp_run, NULL, run, deadline, why);
}
