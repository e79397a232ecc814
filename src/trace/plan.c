/* SPDX-License-Identifier: MIT */
/*
 * What is counted: system calls by name, with their numbers for this architecture and for the
 * 32-bit one that the same kernel runs. A call that takes a clock has a row for each clock.
 */
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/units.h"
#include "measure/call.h"
#include "model.h"

/* clock_getres takes one, too, but is counted and has a cost without it. */
static const char *const calls_with_clock[] = {"clock_gettime", "clock_gettime64"};

/* In the order of their ids; CLOCK_SGI_CYCLE, 10, was removed in 3.10. */
static const struct {
	int64_t id;
	const char *name;
} clocks[TRACE_CLOCK_COUNT] = {
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
	{10, "CLOCK_SGI_CYCLE"},
	{CLOCK_TAI, "CLOCK_TAI"},
	{-1, "other"},
};

/* The 32-bit architecture whose programs this one's kernel may run; 0: none. */
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

void trace_plan_start(struct trace_plan *plan)
{
	plan->arch[TRACE_NATIVE] = seccomp_arch_native();
	plan->arch[TRACE_COMPAT] = find_compat(plan->arch[TRACE_NATIVE]);
	plan->call_count = 0;
	plan->row_count = 0;
}

static bool takes_clock(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls_with_clock); i++) {
		if (strcmp(calls_with_clock[i], name) == 0)
			return true;
	}
	return false;
}

static void add_rows(struct trace_plan *plan, struct trace_call *call)
{
	call->row = plan->row_count;
	if (!call->takes_clock) {
		plan->rows[plan->row_count++] = (struct trace_row){call, "", -1};
		return;
	}
	for (size_t i = 0; i < TRACE_CLOCK_COUNT; i++)
		plan->rows[plan->row_count++] =
			(struct trace_row){call, clocks[i].name, clocks[i].id};
}

static bool is_planned(const struct trace_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->call_count; i++) {
		if (strcmp(plan->calls[i].name, name) == 0)
			return true;
	}
	return false;
}

bool trace_plan_add(struct trace_plan *plan, struct span name, struct fact *why)
{
	struct trace_call *call = &plan->calls[plan->call_count];

	if (plan->call_count == TRACE_CALL_MAX) {
		fact_set(why, FACT_FAILED, "more than %d system calls", TRACE_CALL_MAX);
		return false;
	}
	*call = (struct trace_call){.number = {__NR_SCMP_ERROR, __NR_SCMP_ERROR}};
	text_copy_span(call->name, sizeof(call->name), name);
	if (name.length == 0 || name.length >= sizeof(call->name)) {
		fact_set(why, FACT_FAILED, "not the name of a system call");
		return false;
	}
	if (is_planned(plan, call->name))
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
	call->takes_clock = takes_clock(call->name);
	add_rows(plan, call);
	plan->call_count++;
	return true;
}

void trace_plan_add_clock_calls(struct trace_plan *plan)
{
	struct fact ignored = {0};

	for (size_t i = 0; i < CALL_CLOCK_NAMES; i++)
		trace_plan_add(plan, text_span(call_clock_names[i]), &ignored);
}

/* Clock ids are 32 bits wide, whatever is in the rest of the register. */
static size_t find_clock(uint64_t argument)
{
	for (size_t i = 0; i < TRACE_CLOCK_COUNT - 1; i++) {
		if (clocks[i].id == (int64_t)(uint32_t)argument)
			return i;
	}
	return TRACE_CLOCK_COUNT - 1;
}

size_t trace_plan_find(
	const struct trace_plan *plan, uint32_t arch, uint64_t number, uint64_t first_argument)
{
	for (int which = 0; which < TRACE_ARCH_COUNT; which++) {
		if (!plan->arch[which] || plan->arch[which] != arch)
			continue;
		for (size_t i = 0; i < plan->call_count; i++) {
			const struct trace_call *call = &plan->calls[i];

			if (call->number[which] < 0 || (uint64_t)call->number[which] != number)
				continue;
			return call->row + (call->takes_clock ? find_clock(first_argument) : 0);
		}
	}
	return TRACE_ROW_MAX;
}

/* ---- the filter that stops a program at these calls, and at no others ---- */

/* The length of the jump to the next call is known after this call's instructions. */
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

void trace_plan_filter(const struct trace_plan *plan, struct filter *filter)
{
	for (int arch = 0; arch < TRACE_ARCH_COUNT; arch++) {
		if (plan->arch[arch])
			put_arch(filter, plan, (enum trace_arch)arch);
	}
	filter_return(filter, SECCOMP_RET_ALLOW);
}
