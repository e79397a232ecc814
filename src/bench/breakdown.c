/* SPDX-License-Identifier: MIT */
#include "breakdown.h"

static struct part price_of(const struct bench *bench, enum baseline baseline)
{
	const struct ns_stats *stats = &bench->baselines[baseline];

	return (struct part){fact_is_known(&stats->fact), stats->min_ns};
}

static struct part rest(struct part whole, struct part part)
{
	double ns = whole.ns - part.ns;

	return (struct part){whole.known && part.known, ns > 0 ? ns : 0};
}

/* The cheaper way in: some kernels take longer to refuse a number than to answer getppid. */
static struct part entry_of(const struct bench *bench)
{
	struct part no_call = price_of(bench, BASELINE_ENTRY);
	struct part getppid = price_of(bench, BASELINE_GETPPID);

	if (!no_call.known || (getppid.known && getppid.ns < no_call.ns))
		return getppid;
	return no_call;
}

static struct part filter_of(const struct seccomp_overhead *filter)
{
	return rest((struct part){fact_is_known(&filter->fact), filter->with_ns},
		(struct part){fact_is_known(&filter->fact), filter->without_ns});
}

struct breakdown breakdown_find(const struct bench *bench)
{
	struct part ordered = price_of(bench, BASELINE_ORDERED);
	struct breakdown parts = {
		.syscall = price_of(bench, BASELINE_CLOCK_SYSCALL),
		.entry = entry_of(bench),
		.filter = filter_of(&bench->filter),
		.vdso = price_of(bench, BASELINE_CLOCK_VDSO),
		.counter = price_of(bench, BASELINE_COUNTER),
	};

	parts.kernel = rest(parts.syscall, parts.entry);
	parts.order = rest(ordered, parts.counter);
	parts.arithmetic = rest(parts.vdso, ordered);
	parts.vdso_is_as_dear_as_entry =
		parts.vdso.known && parts.entry.known && parts.vdso.ns >= parts.entry.ns;
	/* Then it may have entered the kernel, and the rest is not arithmetic. */
	if (parts.vdso_is_as_dear_as_entry)
		parts.arithmetic.known = false;
	return parts;
}
