/* SPDX-License-Identifier: MIT */
/*
 * Works out what the calls cost on this host, and what they would cost if the vDSO served them:
 * measured on a copy of the vDSO where there is one, else estimated.
 */
#include "rules.h"

#include <math.h>

#include "base/time.h"

/*
 * A vDSO clock is the counter, read in order, plus the arithmetic around it. The arithmetic
 * is what a COARSE clock takes, which reads no counter and never enters the kernel. A counter
 * that is intercepted by the hypervisor does not show what another one would take. Without an
 * ordered read the bare one is taken: some nanoseconds less. User-Mode Linux, and gVisor while it
 * calibrates, enter the kernel for a COARSE clock, too.
 */
static double estimate_user_space(const struct view *v)
{
	const struct real_fact *ordered = &v->evidence->timing.ordered_ns;
	const struct call_evidence *call = clock_gettime_of(v->evidence, "CLOCK_MONOTONIC_COARSE");
	const struct path_evidence *coarse = call ? &call->path[PATH_VDSO] : NULL;

	if (isnan(v->counter_ns) || !coarse || !fact_is_known(&coarse->fact) || coarse->entered ||
		v->counter_trapped)
		return NAN;
	return coarse->min_ns + (fact_is_known(&ordered->fact) ? ordered->value : v->counter_ns);
}

/* Returns the path that programs take: through the host's libc, where that bypasses the vDSO. */
static const struct path_evidence *paid_path(
	const struct evidence *evidence, const struct call_evidence *call)
{
	const struct path_evidence *judged = &call->path[call_judged_path(call)];
	const struct path_evidence *libc = &call->path[PATH_LIBC];
	bool is_host_libc = fact_is_flag(&evidence->host.libc_static, false);

	return is_host_libc && libc->entered > judged->entered ? libc : judged;
}

/* Returns CLOCK_MONOTONIC, unless another deciding call enters the kernel more often. */
static const struct call_evidence *find_costliest(const struct evidence *evidence)
{
	const struct call_evidence *costliest = clock_gettime_of(evidence, "CLOCK_MONOTONIC");

	for (size_t i = 0; costliest && i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->decides && paid_path(evidence, call)->entered >
					     paid_path(evidence, costliest)->entered)
			costliest = call;
	}
	return costliest;
}

/*
 * A clock that entered the kernel under the proof, and took half of a system call or less when it
 * was timed, was served then: that is not what a fallback costs. Calls that never entered, where
 * only the clocksource keeps changing, have no such cost either.
 */
static bool was_timed_while_served(const struct path_evidence *path, double syscall_ns)
{
	return path->entered == 0 ||
	       (path->entered == path->attempts && path->min_ns < syscall_ns / 2);
}

/* Returns why the times do not show what a call costs; NULL: they do. */
static const char *why_unknown(
	const struct view *v, const struct call_evidence *call, const struct path_evidence *path)
{
	if (v->verdict == VERDICT_UNKNOWN)
		return "the verdict is unknown";
	if (v->verdict == VERDICT_WRONG)
		return "the vDSO's answers are wrong, so its time means nothing";
	if (!path || !fact_is_known(&v->evidence->timing.fact) || !fact_is_known(&path->fact) ||
		!fact_is_known(&call->path[PATH_SYSCALL].fact))
		return "the calls were not timed";
	if (v->verdict == VERDICT_FALLBACK &&
		was_timed_while_served(path, call->path[PATH_SYSCALL].min_ns))
		return "the calls were served by the vDSO when they were timed";
	return NULL;
}

/* Where the verdict is ok, the call itself shows what the vDSO takes. */
static void find_vdso_cost(const struct view *v, struct cost *cost)
{
	const struct copy_evidence *copy = &v->evidence->copy;

	cost->measured = v->verdict == VERDICT_FALLBACK && fact_is_known(&copy->what_if_ns.fact);
	cost->vdso_ns.value = v->verdict == VERDICT_OK ? cost->call_ns.value
	                      : cost->measured         ? copy->what_if_ns.value
	                                               : estimate_user_space(v);
	if (cost->measured && v->counter_gains_nothing)
		fact_set(&cost->vdso_ns.fact, FACT_ABSENT,
			"reading the CPU's counter takes as long");
	else if (isnan(cost->vdso_ns.value))
		fact_set(&cost->vdso_ns.fact, FACT_ABSENT, "no counter to estimate user space by");
	else
		fact_set_known(&cost->vdso_ns.fact);
	/* Both are tenths: their difference is the same with any precision of the machine. */
	if (fact_is_known(&cost->vdso_ns.fact) && cost->call_ns.value > cost->vdso_ns.value)
		cost->lost_ns = round((cost->call_ns.value - cost->vdso_ns.value) * 10) / 10;
}

void cost_find(const struct view *v, struct cost *cost)
{
	const struct call_evidence *call = find_costliest(v->evidence);
	const struct path_evidence *path = call ? paid_path(v->evidence, call) : NULL;
	const char *why = why_unknown(v, call, path);

	*cost = (struct cost){.call_ns = 0};
	fact_set(&cost->rate.fact, FACT_ABSENT, "none was given");
	if (why || !path) {
		fact_set(&cost->call_ns.fact, FACT_ABSENT, "%s", why);
		cost->vdso_ns.fact = cost->call_ns.fact;
		return;
	}
	fact_set_real(&cost->call_ns, path->min_ns);
	cost->syscall_ns = call->path[PATH_SYSCALL].min_ns;
	/*
	 * Both kinds count in their shares if some calls enter the kernel and others do not: the
	 * timing may have seen only one kind.
	 */
	cost->mixed = path->entered > 0 && path->entered < path->attempts &&
	              path->min_ns < cost->syscall_ns;
	if (cost->mixed) {
		double share = (double)path->entered / path->attempts;

		cost->call_ns.value = share * cost->syscall_ns + (1 - share) * path->min_ns;
	}
	find_vdso_cost(v, cost);
}

double cost_calls_per_thread(const struct cost *cost)
{
	double calls = fact_is_known(&cost->call_ns.fact) && cost->call_ns.value > 0
	                       ? NS_PER_SECOND / cost->call_ns.value
	                       : 0;
	double unit = calls > 0 ? pow(10, floor(log10(calls)) - 1) : 1;

	return floor(calls / unit) * unit;
}

double cost_seconds(double calls, double slow_ns, double fast_ns)
{
	return calls * (slow_ns - fast_ns) / NS_PER_SECOND;
}
