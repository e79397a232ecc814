/* SPDX-License-Identifier: MIT */
#include "judge/cost.h"

#include "judge/tally.h"

#define NS_PER_SECOND 1e9

/*
 * A vDSO clock is the counter plus the arithmetic around it. The arithmetic is what a COARSE
 * clock takes, which reads no counter and never enters the kernel.
 */
static void estimate_user_space(const struct evidence *evidence, struct cost *cost)
{
	const struct call_evidence *coarse = tally_find(evidence, "CLOCK_MONOTONIC_COARSE");

	if (!fact_is_known(&evidence->timing.counter_fact) || !coarse ||
		!coarse->path[PATH_VDSO].timed)
		return;
	cost->estimated = true;
	cost->user_space_ns = evidence->timing.counter_ns + coarse->path[PATH_VDSO].min_ns;
}

void cost_find(const struct evidence *evidence, struct cost *cost)
{
	const struct call_evidence *call = tally_find(evidence, "CLOCK_MONOTONIC");

	*cost = (struct cost){0};
	if (!call || !fact_is_known(&evidence->timing.fact) ||
		!call->path[tally_path(call)].timed || !call->path[PATH_SYSCALL].timed)
		return;
	cost->known = true;
	cost->call_ns = call->path[tally_path(call)].min_ns;
	cost->syscall_ns = call->path[PATH_SYSCALL].min_ns;
	estimate_user_space(evidence, cost);
}

void cost_set_rate(struct cost *cost, double rate)
{
	cost->rate = rate;
}

double cost_share_percent(double ns, double rate)
{
	return 100 * cost_seconds(rate, ns, 0);
}

double cost_seconds(double calls, double slow_ns, double fast_ns)
{
	return calls * (slow_ns - fast_ns) / NS_PER_SECOND;
}

double cost_lost_ns(const struct cost *cost)
{
	if (!cost->known || !cost->estimated || cost->call_ns <= cost->user_space_ns)
		return 0;
	return cost->call_ns - cost->user_space_ns;
}
