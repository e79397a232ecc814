/* SPDX-License-Identifier: MIT */
/*
 * The plan lists what is counted: system calls by name, with their numbers for this architecture
 * and for the 32-bit one that the same kernel runs. A call that takes a clock has a row for each
 * clock.
 */
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/memory.h"
#include "base/text.h"
#include "measure/call.h"
#include "measure/vdso.h"
#include "model.h"

static const struct {
	int64_t id;
	const char *name;
} clocks[TRACE_CLOCK_MAX] = {
	{CLOCK_REALTIME, "CLOCK_REALTIME"},
	{CLOCK_MONOTONIC, "CLOCK_MONOTONIC"},
	{CLOCK_PROCESS_CPUTIME_ID, "CLOCK_PROCESS_CPUTIME_ID"},
	{CLOCK_THREAD_CPUTIME_ID, "CLOCK_THREAD_CPUTIME_ID"},
	{CLOCK_MONOTONIC_RAW, "CLOCK_MONOTONIC_RAW"},
	{CLOCK_REALTIME_COARSE, "CLOCK_REALTIME_COARSE"},
	{CLOCK_MONOTONIC_COARSE, "CLOCK_MONOTONIC_COARSE"},
	{CLOCK_BOOTTIME, "CLOCK_BOOTTIME"},
	{CLOCK_REALTIME_ALARM, "CLOCK_REALTIME_ALARM"},
	{CLOCK_BOOTTIME_ALARM, "CLOCK_BOOTTIME_ALARM"},
	{CLOCK_TAI, "CLOCK_TAI"},
};

/* Returns the 32-bit architecture whose programs this one's kernel may run; 0: none. */
static uint32_t find_compat(uint32_t native)
{
	switch (native) {
	case SCMP_ARCH_X86_64:
		return SCMP_ARCH_X86;
	case SCMP_ARCH_AARCH64:
		return SCMP_ARCH_ARM;
	case SCMP_ARCH_PPC64:
		return SCMP_ARCH_PPC;
	case SCMP_ARCH_S390X:
		return SCMP_ARCH_S390;
	default:
		return 0;
	}
}

const struct trace_call *trace_plan_call(const struct trace_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->call_count; i++) {
		if (strcmp(plan->calls[i].name, name) == 0)
			return &plan->calls[i];
	}
	return NULL;
}

bool trace_plan_add(struct trace_plan *plan, struct span name, struct fact *why)
{
	struct trace_call *call = &plan->calls[plan->call_count];
	bool takes_clock;

	plan->arch[TRACE_NATIVE] = seccomp_arch_native();
	plan->arch[TRACE_COMPAT] = find_compat(plan->arch[TRACE_NATIVE]);
	if (plan->call_count == TRACE_CALL_MAX) {
		fact_set(why, FACT_FAILED, "more than %d system calls", TRACE_CALL_MAX);
		return false;
	}
	*call = (struct trace_call){.number = {__NR_SCMP_ERROR, __NR_SCMP_ERROR}};
	text_clean_span(call->name, sizeof(call->name), name);
	if (name.length == 0 || name.length >= sizeof(call->name)) {
		fact_set(why, FACT_FAILED, "not the name of a system call");
		return false;
	}
	if (trace_plan_call(plan, call->name))
		return true;
	/* Calls that an architecture lacks have negative numbers of libseccomp's own. */
	for (int i = 0; i < TRACE_ARCH_COUNT; i++) {
		if (plan->arch[i])
			call->number[i] =
				seccomp_syscall_resolve_name_arch(plan->arch[i], call->name);
	}
	if (call->number[TRACE_NATIVE] < 0 && call->number[TRACE_COMPAT] < 0) {
		fact_set(why, FACT_ABSENT, "%s",
			call->number[TRACE_NATIVE] == __NR_SCMP_ERROR
				? "unknown system call"
				: "this architecture has no such system call");
		return false;
	}
	call->served = served_find_call(text_span(call->name));
	/* clock_getres takes a clock, too, but is counted and has a cost without it. */
	takes_clock =
		served_calls[call->served].takes_clock && served_calls[call->served].reads_clock;
	call->row = plan->row_count;
	for (size_t i = 0; takes_clock && i < ARRAY_SIZE(clocks); i++)
		plan->rows[plan->row_count++] =
			(struct trace_row){call, clocks[i].name, clocks[i].id};
	call->rest = plan->row_count++;
	plan->rows[call->rest] = (struct trace_row){call, takes_clock ? "other" : "", -1};
	plan->call_count++;
	return true;
}

void trace_plan_add_clock_calls(struct trace_plan *plan)
{
	struct fact ignored = {0};

	for (enum served_call call = 0; call < SERVED_CALL_COUNT; call++) {
		trace_plan_add(plan, text_span(served_calls[call].name), &ignored);
		if (served_calls[call].wide)
			trace_plan_add(plan, text_span(served_calls[call].wide), &ignored);
	}
}

size_t trace_plan_row(
	const struct trace_plan *plan, const struct trace_call *call, uint64_t first_argument)
{
	size_t row = call->row;

	/* Clock ids are 32 bits wide, whatever is in the rest of the register. */
	while (row < call->rest && plan->rows[row].clock_id != (uint32_t)first_argument)
		row++;
	return row;
}

size_t trace_plan_find(
	const struct trace_plan *plan, uint32_t arch, uint64_t number, uint64_t first_argument)
{
	enum trace_arch which = arch == plan->arch[TRACE_NATIVE] ? TRACE_NATIVE : TRACE_COMPAT;

	for (size_t i = 0; arch && arch == plan->arch[which] && i < plan->call_count; i++) {
		const struct trace_call *call = &plan->calls[i];

		if (call->number[which] >= 0 && (uint64_t)call->number[which] == number)
			return trace_plan_row(plan, call, first_argument);
	}
	return TRACE_ROW_MAX;
}

bool served_has_call(const struct trace_plan *plan)
{
	for (size_t i = 0; i < plan->call_count; i++) {
		if (plan->calls[i].served < SERVED_CALL_COUNT &&
			plan->calls[i].number[TRACE_NATIVE] >= 0)
			return true;
	}
	return false;
}

/* ---- the filter that stops a program at these calls, and at no others ---- */

/* The length of the jump to the next call is known after this call's instructions. */
static void put_call(struct filter *filter, const struct trace_plan *plan,
	const struct trace_call *call, enum trace_arch arch)
{
	uint32_t action =
		SECCOMP_RET_TRACE | TRACE_FILTER_MARK | (arch == TRACE_COMPAT ? TRACE_ROW_MAX : 0);
	size_t at = filter->count;

	filter_unless_skip(filter, (uint32_t)call->number[arch], 0);
	filter_load_argument(filter, 0);
	for (size_t row = call->row; row < call->rest; row++) {
		filter_unless_skip(filter, (uint32_t)plan->rows[row].clock_id, 1);
		filter_return(filter, action + (uint32_t)row);
	}
	filter_return(filter, action + (uint32_t)call->rest);
	filter->code[at].jf = (uint8_t)(filter->count - at - 1);
}

/*
 * A child that no tracer follows would fail at the counted calls: clone(2) may ask for one, and
 * clone3(2), whose flags are in memory.
 */
static void put_untraced(struct filter *filter)
{
#if defined(__x86_64__) || defined(__aarch64__)
	const uint32_t action = SECCOMP_RET_TRACE | TRACE_FILTER_MARK | TRACE_FILTER_UNTRACED;

	filter_unless_skip(filter, SYS_clone3, 1);
	filter_return(filter, action);
	filter_unless_skip(filter, SYS_clone, 4);
	filter_load_argument(filter, 0);
	filter_put(filter,
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_UNTRACED, 0, 1));
	filter_return(filter, action);
	filter_load(filter, offsetof(struct seccomp_data, nr));
#else
	(void)filter;
#endif
}

/* Strict mode is refused under a filter: the tracer notes that a program asks for it. */
static void put_strict(struct filter *filter)
{
	const uint32_t action = SECCOMP_RET_TRACE | TRACE_FILTER_MARK | TRACE_FILTER_STRICT;

	filter_unless_skip(filter, SYS_prctl, 6);
	filter_load_argument(filter, 0);
	filter_unless_skip(filter, PR_SET_SECCOMP, 3);
	filter_load_argument(filter, 1);
	filter_unless_skip(filter, SECCOMP_MODE_STRICT, 1);
	filter_return(filter, action);
	filter_load(filter, offsetof(struct seccomp_data, nr));
	filter_unless_skip(filter, SYS_seccomp, 4);
	filter_load_argument(filter, 0);
	filter_unless_skip(filter, SECCOMP_SET_MODE_STRICT, 1);
	filter_return(filter, action);
	filter_load(filter, offsetof(struct seccomp_data, nr));
}

_Static_assert(TRACE_FILTER_STRICT / TRACE_ARCH_COUNT >= TRACE_ROW_MAX, "a row is not a mark");

void trace_plan_filter(const struct trace_plan *plan, struct filter *filter)
{
	for (int arch = 0; arch < TRACE_ARCH_COUNT; arch++) {
		size_t at;

		if (!plan->arch[arch])
			continue;
		/* Jumps on a condition reach 255 instructions, the one to the next part all. */
		filter_load(filter, offsetof(struct seccomp_data, arch));
		filter_put(filter, (struct sock_filter)BPF_JUMP(
					   BPF_JMP | BPF_JEQ | BPF_K, plan->arch[arch], 1, 0));
		at = filter->count;
		filter_put(filter, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
		filter_load(filter, offsetof(struct seccomp_data, nr));
		if (arch == TRACE_NATIVE) {
			put_strict(filter);
			put_untraced(filter);
		}
		for (size_t i = 0; i < plan->call_count; i++) {
			if (plan->calls[i].number[arch] >= 0)
				put_call(filter, plan, &plan->calls[i], (enum trace_arch)arch);
		}
		filter_return(filter, SECCOMP_RET_ALLOW);
		filter->code[at].k = (uint32_t)(filter->count - at - 1);
	}
	filter_return(filter, SECCOMP_RET_ALLOW);
}
