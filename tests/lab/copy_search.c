/* SPDX-License-Identifier: MIT */
/*
 * Finds the clock mode on a copy of the vDSO without the table of layouts, over and over, and
 * prints what was found as one JSON object: the lab compares it with what the table read, and
 * nothing may hang or crash. Linked with the program's own modules.
 *
 *	copy_search [RUNS]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/root.h"
#include "base/time.h"
#include "measure.h"
#include "measure/vdso.h"

#define LIMIT_NS 10000000000

struct times {
	double least_ms, most_ms;
};

static void run(const struct vdso_image *image, const struct call_table *calls,
	struct copy_evidence *copy, struct times *times)
{
	static const struct vclock_evidence no_hint;
	const struct deadline deadline = deadline_after(LIMIT_NS);
	int64_t start = kernel_clock_ns(CLOCK_MONOTONIC_RAW);
	double ms;

	copy_measure(image, calls, &no_hint, copy, &deadline);
	ms = (double)(kernel_clock_ns(CLOCK_MONOTONIC_RAW) - start) / 1e6;
	times->least_ms = ms < times->least_ms ? ms : times->least_ms;
	times->most_ms = ms > times->most_ms ? ms : times->most_ms;
}

int main(int argc, char **argv)
{
	unsigned long runs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, differing = 0;
	struct times times = {.least_ms = 1e9};
	struct copy_evidence first = {0}, copy = {0};
	struct vdso_evidence vdso = {0};
	struct vdso_image image = {0};
	struct call_table calls;
	struct root root;
	struct fact why = {0};

	if (!root_open(&root, "/", &why)) {
		fprintf(stderr, "%s\n", why.reason);
		return 1;
	}
	vdso_collect(&root, &vdso, &image);
	root_close(&root);
	call_table_make(&vdso, &image, &calls, DEADLINE_NONE);
	run(&image, &calls, &first, &times);
	for (unsigned long i = 1; i < runs; i++) {
		run(&image, &calls, &copy, &times);
		differing += copy.fact.state != first.fact.state || copy.mode != first.mode ||
		             copy.at != first.at || copy.falls_back != first.falls_back;
	}
	printf("{\"runs\": %lu, \"differing\": %lu, \"found\": %s, \"mode\": %" PRId64
	       ", \"offset\": %" PRId64 ", \"falls_back\": %s, \"counter_clocksource_ns\": %.1f, "
	       "\"least_ms\": %.2f, \"most_ms\": %.2f, \"reason\": \"%s\"}\n",
		runs, differing, fact_is_known(&first.fact) ? "true" : "false", first.mode,
		first.at, first.falls_back ? "true" : "false",
		fact_is_known(&first.what_if_ns.fact) ? first.what_if_ns.value : -1, times.least_ms,
		times.most_ms, first.fact.reason);
	return differing ? 1 : 0;
}
