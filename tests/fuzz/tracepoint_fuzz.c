/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of tracepoints' numbers, which go to perf_event_open(2). Input: a first byte
 * that is odd puts the file where debugfs has it; then the content of the file `id`.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "trace/count.h"

#define EVENT "/events/syscalls/sys_enter_clock_gettime/id"

static const char *const places[] = {
	"/sys/kernel/tracing" EVENT, "/sys/kernel/debug/tracing" EVENT};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct trace_plan plan;
	static struct trace_evidence trace = {.plan = &plan};
	struct trace_events events;
	struct fact why = {0};
	size_t place;

	if (size == 0)
		return 0;
	if (!trace_plan_add(&plan, text_span("clock_gettime"), &why))
		abort();
	place = data[0] % 2;
	fuzz_root_put(places[place], data + 1, size - 1);
	fuzz_root_remove(places[!place]);
	if (trace_events_find(&fuzz_root()->root, &trace, &events, &why)) {
		if (events.ids[0] > INT32_MAX)
			abort();
	} else if (fact_is_known(&why) || !*why.reason) {
		abort();
	}
	return 0;
}
