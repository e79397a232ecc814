/* SPDX-License-Identifier: MIT */
#include "measure/price.h"

#include <inttypes.h>

#include "base/fault.h"
#include "measure/statistics.h"

static void explain(const struct series *series, struct fact *fact)
{
	if (!series->repeat)
		fact_set(fact, FACT_ABSENT, "not available here");
	else if (series->signal)
		fact_set(fact, FACT_FAILED, "the call ends with %s",
			fault_signal_name(series->signal));
	else if (series->chunks == 0)
		fact_set(fact, FACT_UNREAD, "stopped before it was measured");
	else if (series->too_short == series->chunks)
		fact_set(fact, FACT_FAILED, "too short for the clock to be timed");
	else
		fact_set(
			fact, FACT_FAILED, "all %" PRIu64 " chunks were disturbed", series->chunks);
}

static void take_summary(
	const struct statistics_summary *summary, double ns_per_tick, struct price *price)
{
	price->median_ns = summary->median * ns_per_tick;
	price->p99_ns = summary->p99 * ns_per_tick;
	price->has_mean = summary->has_mean;
	price->trimmed_mean_ns = summary->trimmed_mean * ns_per_tick;
	price->samples = summary->count;
	price->outliers = summary->outliers;
}

void price_find(struct series *series, double ns_per_tick, struct price *price)
{
	struct statistics_summary summary;

	*price = (struct price){.repeats = series->repeats,
		.chunks = series->chunks,
		.preempted = series->preempted,
		.moved = series->moved,
		.too_short = series->too_short,
		.jumped = series->jumped};
	if (!series_is_measured(series)) {
		explain(series, &price->fact);
		return;
	}
	summary = statistics_summarise(series->samples, series->count);
	take_summary(&summary, ns_per_tick, price);
	/* A draw of very many chunks may have lost the least one; the series has not. */
	price->min_ns = series->least * ns_per_tick;
	fact_set_known(&price->fact);
}
