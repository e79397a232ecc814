/* SPDX-License-Identifier: MIT */
/*
 * Histograms of single calls, each timed alone, show what averages over batches hide. A bin is a
 * whole number of the counter's steps wide: where a counter moves by two ticks at a time, bins of
 * one tick, or of 1.5 steps, would look like populations of their own.
 */
#include "model.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/text.h"

/* The calls of a batch follow each other, so that all but the first find the caches warm. */
#define BATCH 256

#define WIDTH_NS_LEAST 1

/* A time that fewer samples have says nothing about the counter's step. */
#define SAME_LEAST 3

#define BAR_WIDTH 40
#define PERCENT 100

/*
 * The samples span the whole run: when they are full, every second one is dropped, and half as many
 * of the calls that follow are kept as before.
 */
static void keep(struct single_calls *calls, uint64_t ticks)
{
	calls->most = ticks > calls->most ? ticks : calls->most;
	if (calls->seen++ % calls->stride != 0)
		return;
	if (calls->count == HISTOGRAM_SAMPLES) {
		calls->count /= 2;
		for (size_t i = 0; i < calls->count; i++)
			calls->ticks[i] = calls->ticks[2 * i];
		calls->stride *= 2;
	}
	calls->ticks[calls->count++] = ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

void histogram_take(
	struct single_calls *calls, const struct timed_call *timed, const struct timebase *timebase)
{
	uint64_t ticks[BATCH];

	if (!timed->call.function.any || timed->signal)
		return;
	call_repeat(&timed->call, 1);
	for (size_t i = 0; i < BATCH; i++) {
		uint64_t start = timebase_ticks(timebase);

		call_repeat(&timed->call, 1);
		ticks[i] = timebase_ticks(timebase) - start;
	}
	for (size_t i = 0; i < BATCH; i++)
		keep(calls, ticks[i] > timebase->overhead ? ticks[i] - timebase->overhead : 0);
}

/* ---- bins ---- */

static int compare_ticks(const void *one, const void *two)
{
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)two;

	return (a > b) - (a < b);
}

/* The time that this share of the calls does not exceed; they are sorted. */
static uint32_t quantile(const struct single_calls *calls, uint64_t per_mille)
{
	size_t place = (size_t)((calls->count * per_mille + 999) / 1000);

	return calls->ticks[place ? place - 1 : 0];
}

/* Returns the ticks that each time, but those of few calls, is a multiple of. */
static uint32_t find_step(const struct single_calls *calls)
{
	uint32_t step = 0;

	for (size_t i = SAME_LEAST - 1; i < calls->count; i++) {
		uint32_t ticks = calls->ticks[i];

		if (calls->ticks[i - SAME_LEAST + 1] != ticks)
			continue;
		while (ticks) {
			uint32_t rest = step % ticks;

			step = ticks;
			ticks = rest;
		}
	}
	return step ? step : 1;
}

/* The bins reach from the first call in a thousand to the 99th percentile; the last has no end. */
void histogram_finish(struct histogram *histogram, struct single_calls *calls, double ns_per_tick)
{
	uint32_t step, first, last;
	uint64_t width;
	double least;

	if (!calls->count)
		return;
	qsort(calls->ticks, calls->count, sizeof(calls->ticks[0]), compare_ticks);
	step = find_step(calls);
	first = quantile(calls, 1);
	last = quantile(calls, 990);
	width = (last - first) / (HISTOGRAM_BINS - 1) + 1;
	least = fmax(WIDTH_NS_LEAST / ns_per_tick, (double)width);
	width = (uint64_t)ceil(least / step) * step;
	histogram->calls = calls->count;
	histogram->step_ns = step * ns_per_tick;
	histogram->count = (size_t)((last - first) / width) + 2;
	for (size_t i = 0; i < histogram->count; i++)
		histogram->bins[i] =
			(struct bin){.from_ns = (double)(first + i * width) * ns_per_tick,
				.to_ns = (double)(first + (i + 1) * width) * ns_per_tick};
	histogram->bins[histogram->count - 1].to_ns = NAN;
	for (size_t i = 0; i < calls->count; i++) {
		uint32_t ticks = calls->ticks[i];
		size_t bin = ticks > first ? (size_t)((ticks - first) / width) : 0;

		histogram->bins[bin < histogram->count ? bin : histogram->count - 1].calls++;
	}
	histogram->p50_ns = quantile(calls, 500) * ns_per_tick;
	histogram->p90_ns = quantile(calls, 900) * ns_per_tick;
	histogram->p99_ns = last * ns_per_tick;
	histogram->p999_ns = quantile(calls, 999) * ns_per_tick;
	histogram->max_ns = (double)calls->most * ns_per_tick;
	fact_set_known(&histogram->fact);
}

/* ---- drawing ---- */

/* Prints "  21 -   22 ns   16.6%  #######": a bar is as long as its share of the most. */
static void draw(const struct histogram *histogram, FILE *out)
{
	static const char bar[] = "########################################";
	uint64_t most = 0;

	for (size_t i = 0; i < histogram->count; i++)
		most = histogram->bins[i].calls > most ? histogram->bins[i].calls : most;
	for (size_t i = 0; i < histogram->count; i++) {
		const struct bin *bin = &histogram->bins[i];
		int length = (int)round(BAR_WIDTH * (double)bin->calls / (double)most);

		if (!isnan(bin->to_ns))
			fprintf(out, "  %8.0f - %6.0f ns", bin->from_ns, bin->to_ns);
		else if (bin->calls)
			fprintf(out, "  %8.0f ns or more", bin->from_ns);
		else
			break;
		fprintf(out, " %6.1f%%", PERCENT * (double)bin->calls / (double)histogram->calls);
		if (length)
			fprintf(out, "  %.*s", length, bar);
		fputc('\n', out);
	}
}

void bench_write_histograms(const struct bench *bench, bool all, FILE *out)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];
		const struct histogram *histogram = &row->histogram;
		struct strbuf name = {.used = 0}, tail = {.used = 0};

		if (!histogram->calls || (!all && row != bench_answer_row(bench)))
			continue;
		strbuf_add(&name, "%s by %s", as_call(row->subject.call, row->subject.clock),
			call_path_names[row->subject.path]);
		if (fact_is_known(&row->cpu.fact))
			strbuf_add(&name, " on CPU %d", (int)row->cpu.value);
		fprintf(out, "\n  %s: %s single calls\n", name.text, as_count(histogram->calls));
		draw(histogram, out);
		strbuf_add(&tail, "p50 %s, p90 %s, p99 %s, p99.9 %s, max %s ns, +/- %s ns",
			as_ns(histogram->p50_ns), as_ns(histogram->p90_ns),
			as_ns(histogram->p99_ns), as_ns(histogram->p999_ns),
			as_ns(histogram->max_ns), as_ns(histogram->step_ns));
		fputs("  ", out);
		wrap_text(out, 2, 4, tail.text);
	}
}
