/* SPDX-License-Identifier: MIT */
/*
 * Counts what runs already, a process or the whole host: its system calls by BPF programs, and what
 * it does in the vDSO by samples. Neither needs the other.
 */
#include <string.h>

#include "base/privileges.h"
#include "count.h"
#include "files.h"

/* Time between two looks whether the process is there: pidfds need Linux 5.3. */
#define LOOK_NS 20000000

/* Watches the process, and the time until the next report. */
struct watch {
	struct trace_source source;
	struct trace_run *run;
	bool (*report)(void *argument);
	void *argument;
	int64_t next_ns; /* of CLOCK_MONOTONIC; INT64_MAX: there is none */
};

/* Keeps the processes that are shown. */
static void finish_callers(struct trace_evidence *trace)
{
	const struct timing_evidence *timing = &trace->host.timing;

	trace_callers_finish(trace, trace->request->shown,
		fact_is_known(&timing->syscall_floor_ns.fact) ? timing->syscall_floor_ns.value : 1);
}

/* Prints an interval that is over, and begins the next one with no counts. */
static bool report_interval(struct watch *watch)
{
	struct trace_run *run = watch->run;
	struct trace_evidence *trace = run->trace;

	trace_run_count(run);
	finish_callers(trace);
	if (!watch->report(watch->argument))
		return false;
	memset(trace->counts, 0, sizeof(trace->counts));
	trace->sampled.taken = trace->sampled.in_vdso = trace->sampled.lost = 0;
	trace_callers_forget(&trace->callers);
	run->begin_ns += (int64_t)(trace->duration_s.value * NS_PER_SECOND);
	while (watch->next_ns <= run->begin_ns)
		watch->next_ns += trace->request->interval_ns;
	return true;
}

static int64_t look(struct trace_source *source)
{
	struct watch *watch = (struct watch *)source;
	const struct trace_evidence *trace = watch->run->trace;
	int64_t left_ns = watch->next_ns - trace_clock_ns(CLOCK_MONOTONIC);

	if (!trace->request->system_wide) {
		watch->run->is_over |= !process_is_there(trace->program.pid);
		return LOOK_NS;
	}
	if (left_ns > 0)
		return left_ns;
	watch->run->is_over = watch->run->is_over || !report_interval(watch);
	return 0;
}

/* Where system calls are refused to be counted, samples say something of a process. */
bool trace_running(struct trace_run *run, bool (*report)(void *argument), void *argument)
{
	struct trace_evidence *trace = run->trace;
	const struct trace_request *request = trace->request;
	struct watch watch = {.source = {.tick = look},
		.run = run,
		.report = report,
		.argument = argument,
		.next_ns = INT64_MAX};
	const bool is_counted = trace_events_open(run, &trace->bpf);
	const bool is_sampled = served_has_call(request->plan) && trace_samples_open(run);
	const bool is_watched = is_counted || (is_sampled && !request->system_wide);

	if (!is_counted && !request->system_wide)
		trace->method_fact = trace->bpf;
	if (is_watched) {
		/* Memory maps are read, to find the places of calls. */
		privileges_keep(run->privileges |
				(request->locates_calls ? PRIVILEGES(CAP_SYS_PTRACE) : 0));
		trace_run_begin(run);
		if (request->interval_ns)
			watch.next_ns = run->begin_ns + request->interval_ns;
		trace_run_add(run, &watch.source);
		trace_run_wait(run);
	}
	trace_run_end(run);
	finish_callers(trace);
	return is_watched;
}
