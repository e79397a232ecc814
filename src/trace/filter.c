/* SPDX-License-Identifier: MIT */
/* The seccomp filter that stops a program at the counted system calls, and at no others. */
#include <linux/seccomp.h>

#include "count.h"

/* The length of the jump to the next call is known after this call's instructions: it is set last.
 */
static void put_call(struct filter *filter, const struct trace_plan *plan,
	const struct trace_call *call, enum trace_arch arch)
{
	uint32_t row = (uint32_t)(call->row + (arch == TRACE_COMPAT ? TRACE_ROW_MAX : 0));
	size_t at = filter->count;

	filter_unless_skip(filter, (uint32_t)call->number[arch], 0);
	if (call->takes_clock)
		filter_load_argument(filter, 0);
	for (uint32_t i = 0; call->takes_clock && i < TRACE_CLOCK_COUNT - 1; i++) {
		filter_unless_skip(filter, (uint32_t)plan->rows[call->row + i].clock_id, 1);
		filter_return(filter, SECCOMP_RET_TRACE | (row + i));
	}
	filter_return(filter,
		SECCOMP_RET_TRACE | (row + (call->takes_clock ? TRACE_CLOCK_COUNT - 1 : 0)));
	filter->code[at].jf = (uint8_t)(filter->count - at - 1);
}

/* Jumps on a condition reach 255 instructions, this one reaches all. */
static void put_arch(struct filter *filter, const struct trace_plan *plan, enum trace_arch arch)
{
	size_t at;

	filter_load(filter, offsetof(struct seccomp_data, arch));
	filter_put(filter,
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, plan->arch[arch], 1, 0));
	at = filter->count;
	filter_put(filter, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
	filter_load(filter, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < plan->call_count; i++) {
		if (plan->calls[i].number[arch] >= 0)
			put_call(filter, plan, &plan->calls[i], arch);
	}
	filter_return(filter, SECCOMP_RET_ALLOW);
	filter->code[at].k = (uint32_t)(filter->count - at - 1);
}

void trace_filter_make(const struct trace_plan *plan, struct filter *filter)
{
	for (int arch = 0; arch < TRACE_ARCH_COUNT; arch++) {
		if (plan->arch[arch])
			put_arch(filter, plan, (enum trace_arch)arch);
	}
	filter_return(filter, SECCOMP_RET_ALLOW);
}
