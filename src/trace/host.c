/* SPDX-License-Identifier: MIT */
/*
 * Measures this host, not while anything is counted on it: each would disturb the other. What the
 * calls of a program cost is measured when it has ended, and which they were is known.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "collect.h"
#include "count.h"
#include "files.h"
#include "judge.h"
#include "measure.h"

/* Limits each part. About 10 ms are usual. */
#define MEASURING_NS 3000000000

/* More than a list of CPUs has. */
#define LIST_SIZE 4096

void trace_host_prove(const struct root *root, struct evidence *host, struct call_table *calls)
{
	struct deadline deadline = deadline_after(MEASURING_NS);
	struct vdso_image image;

	host->live = root->live;
	clocksource_collect(root, &host->clocksource);
	vdso_collect(root, &host->vdso, &image);
	call_table_make(&host->vdso, &image, calls, &deadline);
	call_table_name(calls, host);
	proof_take(calls, PROOF_SPREAD, &host->proof, host->calls, &deadline);
	if (counts_deciding(host).entered > 0)
		copy_measure(&image, calls, &host->vclock, &host->copy, &deadline);
}

static bool is_called(const struct trace_evidence *trace, size_t row)
{
	return trace->request->target != TARGET_PROGRAM || trace->counts[row] ||
	       trace->vdso_calls[row];
}

/* Calls by libc have no cost of their own here. */
void trace_host_time(struct trace_evidence *trace, struct call_table *calls)
{
	struct deadline deadline = deadline_after(MEASURING_NS);
	const struct trace_plan *plan = trace->request->plan;
	bool is_timed[CALL_MAX] = {false}, has_calls = false;

	for (size_t row = 0; row < plan->row_count; row++) {
		const struct call_evidence *call = trace_find_call(&trace->host, &plan->rows[row]);

		has_calls |= is_called(trace, row);
		if (call)
			is_timed[call - trace->host.calls] |= is_called(trace, row);
	}
	for (size_t i = 0; i < calls->count; i++) {
		for (size_t path = 0; path < PATH_COUNT; path++) {
			if (!is_timed[i] || path == PATH_LIBC)
				calls->rows[i].path[path].function.any = NULL;
		}
	}
	if (has_calls)
		timing_measure(calls, TIMING_WHOLE, &trace->host.timing, trace->host.calls, NULL,
			&deadline);
}

unsigned long trace_host_kernel(void)
{
	struct utsname names = {.release = ""};
	unsigned long major;
	char *rest;

	uname(&names);
	major = strtoul(names.release, &rest, 10);
	return KERNEL(major, *rest ? strtoul(rest + 1, NULL, 10) : 0);
}

/* sysconf(3) of musl counts the CPUs that this process may run on. */
size_t trace_host_cpus(void)
{
	struct span list = files_take(
		open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC), LIST_SIZE);
	uint64_t count, last;
	bool is_read = number_parse_cpus(text_trim(list), &count, &last);

	span_free(list);
	return (size_t)(is_read ? last + 1 : (uint64_t)sysconf(_SC_NPROCESSORS_CONF));
}
