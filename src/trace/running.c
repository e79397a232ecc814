/* SPDX-License-Identifier: MIT */
/*
 * Counts what runs already, a process or the whole host: its system calls by BPF programs, and what
 * it does in the vDSO by samples. Neither needs the other.
 */
#include <string.h>

#include "count.h"
#include "files.h"

/* Takes all that was counted until now, and keeps the processes that are shown. */
static void take(struct trace_run *run)
{
	struct trace_evidence *trace = run->trace;
	const struct timing_evidence *timing = &trace->host.timing;

	trace_run_take(run, 0, NULL);
	trace_run_counted(run);
	trace_callers_finish(trace, run->trace->request->shown,
		fact_is_known(&timing->syscall_floor_ns.fact) ? timing->syscall_floor_ns.value : 1);
}

/* Prints an interval that is over, and begins the next one with no counts. */
static bool report_interval(struct trace_run *run, bool (*report)(void *argument), void *argument)
{
	struct trace_evidence *trace = run->trace;

	take(run);
	if (!report(argument))
		return false;
	memset(trace->counts, 0, sizeof(trace->counts));
	trace->sampled.taken = trace->sampled.in_vdso = trace->sampled.lost = 0;
	trace_callers_forget(&trace->callers);
	run->begin_ns += (int64_t)(trace->duration_s.value * NS_PER_SECOND);
	return true;
}

static bool is_there(const struct trace_run *run)
{
	return run->trace->request->system_wide || process_is_there(run->trace->program.pid);
}

/* Waits until the run is over, and reports each interval. */
static void watch(struct trace_run *run, bool (*report)(void *argument), void *argument)
{
	const int64_t interval_ns = run->trace->request->interval_ns;
	int64_t next_ns = interval_ns ? run->begin_ns + interval_ns : INT64_MAX;

	while (is_there(run) && trace_run_pause(run, next_ns - trace_clock_ns(CLOCK_MONOTONIC))) {
		if (trace_clock_ns(CLOCK_MONOTONIC) < next_ns)
			continue;
		if (!report_interval(run, report, argument))
			return;
		while (next_ns <= run->begin_ns)
			next_ns += interval_ns;
	}
}

/* Where system calls are refused to be counted, samples say something of a process. */
bool trace_running(struct trace_run *run, bool (*report)(void *argument), void *argument)
{
	struct trace_evidence *trace = run->trace;
	struct fact *why = &trace->bpf;
	struct trace_events *events = trace_events_make(trace->request->plan, why);
	struct trace_samples *samples = NULL;
	bool is_counted = events && trace_events_start(events, run, why), is_watched;

	if (served_has_call(trace->request->plan))
		samples = trace_samples_open(run);
	if (!is_counted && !trace->request->system_wide)
		trace->method_fact = *why;
	is_watched = is_counted || (samples && !trace->request->system_wide);
	if (is_watched) {
		trace_run_begin(run);
		trace_samples_begin(samples);
		watch(run, report, argument);
		trace_run_stop(run);
		take(run);
	}
	trace_events_free(events);
	trace_samples_close(samples);
	return is_watched;
}
