/* SPDX-License-Identifier: MIT */
/* Writes seccomp filters, and sets them on this process. */
#include "base/filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "base/privileges.h"

void filter_put(struct filter *filter, struct sock_filter instruction)
{
	filter->code[filter->count++] = instruction;
}

void filter_load(struct filter *filter, size_t at)
{
	filter_put(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at));
}

void filter_load_argument(struct filter *filter, unsigned argument)
{
	size_t at = offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t);

	filter_load(filter, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? at + sizeof(uint32_t) : at);
}

void filter_unless_skip(struct filter *filter, uint32_t value, uint8_t skip)
{
	filter_put(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip));
}

void filter_return(struct filter *filter, uint32_t action)
{
	filter_put(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/*
 * Sets it by prctl(2), not by seccomp(2), which came later (3.17), does the same, and is what some
 * sandboxes kill for.
 */
int filter_set(struct filter *filter)
{
	struct sock_fprog program = {.len = filter->count, .filter = filter->code};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0)
		return 0;
	if (errno != EACCES)
		return errno;
	privileges_gain_none();
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? errno : 0;
}

bool filter_fail_calls(const int *numbers, size_t count, uint16_t error, struct fact *why)
{
	static struct filter filter; /* 32 KiB: the stack may be small */
	int refused;

	filter.count = 0;
	filter_load(&filter, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < count; i++) {
		if (numbers[i] < 0)
			continue;
		filter_unless_skip(&filter, (uint32_t)numbers[i], 1);
		filter_return(&filter, SECCOMP_RET_ERRNO | error);
	}
	filter_return(&filter, SECCOMP_RET_ALLOW);
	refused = filter_set(&filter);
	if (refused)
		fact_set_errno(why, refused, "seccomp filter");
	return !refused;
}
