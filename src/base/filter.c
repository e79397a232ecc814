/* SPDX-License-Identifier: MIT */
/*
 * Writes a seccomp filter instruction by instruction: where memory runs out libseccomp may never
 * finish one (2.5.4), and it hides the kernel's errors.
 */
#include "base/filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "base/privileges.h"

/*
 * Sets it by prctl(2), not by seccomp(2), which came later (3.17), does the same, and is what some
 * sandboxes kill for. Only without CAP_SYS_ADMIN, where the kernel requires it, do set-user-ID
 * programs that are run from now on lose their privileges. Returns 0 or an errno value.
 */
static int filter_set(const struct sock_fprog *program)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) == 0)
		return 0;
	if (errno != EACCES)
		return errno;
	privileges_gain_none();
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) < 0 ? errno : 0;
}

bool filter_fail_calls(const int *numbers, size_t count, uint16_t error, struct fact *why)
{
	struct sock_filter code[2 + 2 * FILTER_CALLS_MAX] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	struct sock_fprog program = {.len = 1, .filter = code};
	int refused;

	for (size_t i = 0; i < count && i < FILTER_CALLS_MAX; i++) {
		if (numbers[i] < 0)
			continue;
		code[program.len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)numbers[i], 0, 1);
		code[program.len++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, (uint32_t)(SECCOMP_RET_ERRNO | error));
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	refused = filter_set(&program);
	if (refused)
		fact_set_errno(why, refused, "seccomp filter");
	return !refused;
}
