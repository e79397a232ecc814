/* SPDX-License-Identifier: MIT */
/*
 * The plan lists what is counted: the clock calls, with their numbers for this architecture
 * and for the 32-bit one that the same kernel runs. A call that takes a clock has a row for each
 * clock.
 */
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
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

/* Calls that an architecture lacks have negative numbers of libseccomp's own. */
static void add_call(struct trace_plan *plan, enum served_call served, const char *name)
{
	/* clock_getres takes a clock, too, but is counted and has a cost without it. */
	const bool takes_clock =
		served_calls[served].takes_clock && served_calls[served].reads_clock;
	struct trace_call *call = &plan->calls[plan->call_count];

	*call = (struct trace_call){.served = served, .number = {__NR_SCMP_ERROR, __NR_SCMP_ERROR}};
	text_clean(call->name, sizeof(call->name), name);
	for (int i = 0; i < TRACE_ARCH_COUNT; i++) {
		if (plan->arch[i])
			call->number[i] = seccomp_syscall_resolve_name_arch(plan->arch[i], name);
	}
	if (call->number[TRACE_NATIVE] < 0 && call->number[TRACE_COMPAT] < 0)
		return;
	call->row = plan->row_count;
	for (size_t i = 0; takes_clock && i < ARRAY_SIZE(clocks); i++)
		plan->rows[plan->row_count++] =
			(struct trace_row){call, clocks[i].name, clocks[i].id};
	call->rest = plan->row_count++;
	plan->rows[call->rest] = (struct trace_row){call, takes_clock ? "other" : "", -1};
	plan->call_count++;
}

_Static_assert(2 * SERVED_CALL_COUNT <= TRACE_CALL_MAX, "each call may have a wide one");

void trace_plan_make(struct trace_plan *plan)
{
	*plan = (struct trace_plan){.arch = {seccomp_arch_native()}};
	plan->arch[TRACE_COMPAT] = find_compat(plan->arch[TRACE_NATIVE]);
	for (enum served_call call = 0; call < SERVED_CALL_COUNT; call++) {
		add_call(plan, call, served_calls[call].name);
		if (served_calls[call].wide)
			add_call(plan, call, served_calls[call].wide);
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
