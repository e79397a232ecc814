/* SPDX-License-Identifier: MIT */
/*
 * The proof by seccomp: a filter answers every time system call with an errno of our own, so that
 * a function which returns that errno made a system call.
 */
#include "proof_run.h"

#include <errno.h>
#include <seccomp.h>

#include "base/child.h"

/*
 * An error number that no kernel returns (they end at 133, the internal ones at 530) and
 * that is below MAX_ERRNO (4095), so that a vDSO hands it on like any other.
 */
#define MARK 3517

/* 0 or a negative errno, as libseccomp has it. */
static int add_rules(scmp_filter_ctx filter)
{
	int error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);

	for (size_t i = 0; call_clock_names[i] && !error; i++) {
		int number = seccomp_syscall_resolve_name(call_clock_names[i]);

		/* Numbers of calls that this architecture lacks are negative. */
		if (number < 0)
			continue;
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(MARK), number, 0);
	}
	return error;
}

bool proof_seccomp_set_filter(struct fact *fact)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int error;

	if (!filter) {
		fact_set(fact, FACT_FAILED, "seccomp: libseccomp could not create a filter");
		return false;
	}
	error = add_rules(filter);
	/*
	 * libseccomp has codes of its own for what the kernel refuses: ECANCELED, and EFAULT where
	 * SCMP_FLTATR_API_SYSRAWRC asks for the true one (2.5.0 to 2.5.4, whose filter of codes
	 * does not know EPERM). errno has what the kernel said.
	 */
	errno = 0;
	if (!error)
		error = seccomp_load(filter);
	if (error < 0 && errno)
		error = -errno;
	seccomp_release(filter);
	if (error == -ECANCELED)
		fact_set(fact, FACT_DENIED, "seccomp filter: rejected by the kernel");
	else if (error)
		fact_set_errno(fact, -error, "seccomp filter");
	return error == 0;
}

bool proof_seccomp_is_caught(const struct call *call)
{
	return call_returns_error(call, MARK);
}

static void make_calls(void *argument)
{
	struct proof_run *run = argument;

	proof_run_try_raw(run);
	if (!proof_seccomp_set_filter(&run->fact))
		return;
	if (!call_control_returns_error(MARK)) {
		fact_set(&run->fact, FACT_FAILED,
			"the seccomp filter did not catch the control call");
		return;
	}
	proof_run_all(run, proof_seccomp_is_caught);
	fact_set_known(&run->fact);
}

void proof_seccomp_take(struct proof_run *run, const struct deadline *deadline)
{
	struct fact why = {0};

	if (!child_compute(make_calls, run, sizeof(*run), deadline, &why))
		run->fact = why;
}
