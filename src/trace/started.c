/* SPDX-License-Identifier: MIT */
/*
 * Counts a program from its start, in the best way that is permitted. A program that cannot be
 * counted runs as it would without us, and the report has the reason.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/privileges.h"
#include "count.h"
#include "files.h"
#include "places.h"
#include "served.h"

/* Why a program is left untouched. */
#define GAINS "it is set-user-ID or set-group-ID or has capabilities, which it would lose"
#define TRACES "it calls ptrace(2), which fails while it is traced"

/* Says whether the program would lose privileges for lack of ours. */
static bool loses_privileges(const struct trace_program *program, uint64_t needed)
{
	return !privileges_have(needed) && trace_program_gains(program->file);
}

/* Says whether the program is to be seized, to count its calls into the vDSO. */
static bool counts_served(struct trace_evidence *trace)
{
	if (trace->request->leaves_untouched)
		fact_set(&trace->served, FACT_ABSENT, "--no-served is given");
	else if (!served_has_call(trace->request->plan))
		fact_set(&trace->served, FACT_ABSENT, "none of these calls is in the vDSO");
	else if (loses_privileges(&trace->program, TRACE_PRIVILEGES))
		fact_set(&trace->served, FACT_ABSENT, GAINS);
	else if (proc_is_ours(&trace->served))
		return served_is_harmless(&trace->served);
	return false;
}

/*
 * Runs the program once more, and keeps its times if they are the least. False if it did not end as
 * the counted run did.
 */
static bool time_run(const struct trace_run *of, bool as_if_fallback, struct trace_times *least)
{
	struct trace_evidence *trace = xcalloc(1, sizeof(*trace));
	struct trace_request request = *of->trace->request;
	struct fact *why = &of->trace->repeated;
	struct trace_run run = *of;
	bool is_timed = false;

	request.as_if_fallback = as_if_fallback;
	request.is_baseline = !as_if_fallback;
	trace->request = &request;
	trace->program = of->trace->program;
	run.trace = trace;
	run.call_places = NULL;
	run.serves = true;
	if (trace_run_fork(&run, NULL, why)) {
		if (!trace_follow(&run))
			*why = trace->served;
		else if (run.failure.error)
			fact_set_errno(why, run.failure.error, "a run");
		else if (run.status != of->status)
			fact_set(why, FACT_FAILED, "a run %s did not end as the first one",
				as_if_fallback ? "as if this host fell back" : "as this host is");
		else
			is_timed = true;
	}
	interrupts_release();
	if (is_timed) {
		least->wall_s = fmin(least->wall_s, trace->duration_s.value);
		least->cpu_s = fmin(least->cpu_s, trace->cpu_s.value);
	}
	places_free(&trace->places);
	free(trace);
	return is_timed;
}

/* Takes turns, so that what changes on the host during the runs changes both. */
void trace_compare(const struct trace_run *run, off_t input)
{
	struct trace_evidence *trace = run->trace;
	const uint64_t repeats = trace->request->repeats;
	const off_t end = lseek(STDIN_FILENO, 0, SEEK_CUR);
	bool is_timed = true;

	trace->untouched = trace->fallen_back = (struct trace_times){NAN, NAN};
	for (uint64_t i = 0; i < repeats && is_timed; i++) {
		lseek(STDIN_FILENO, input, SEEK_SET);
		is_timed = time_run(run, false, &trace->untouched);
		lseek(STDIN_FILENO, input, SEEK_SET);
		is_timed = is_timed && time_run(run, true, &trace->fallen_back);
	}
	/* Here the first run has left it, and the next reader goes on. */
	lseek(STDIN_FILENO, end, SEEK_SET);
	if (is_timed)
		fact_set_known(&trace->repeated);
}

/* Runs the program while its system calls are counted by BPF. False: it was not started. */
static bool count_by_events(struct trace_run *run)
{
	struct fact *why = &run->trace->bpf;
	struct trace_events *events = trace_events_make(run->trace->request->plan, why);
	bool is_counted = false;

	if (events && trace_run_fork(run, NULL, why)) {
		if (!trace_events_start(events, run, why))
			trace_run_cancel(run);
		else if (!(is_counted = trace_follow(run)))
			*why = run->trace->served;
		trace_run_take(run, 0, NULL);
	}
	trace_events_free(events);
	return is_counted;
}

bool trace_started(struct trace_run *run, struct fact *why)
{
	struct trace_evidence *trace = run->trace;

	run->serves = counts_served(trace);
	if (trace->request->as_if_fallback && !run->serves) {
		*why = trace->served;
		return false;
	}
	if (count_by_events(run))
		return true;
	if (loses_privileges(&trace->program, TRACE_PRIVILEGES | TRACE_FILTER_PRIVILEGES))
		fact_set(why, FACT_DENIED, GAINS);
	else if (trace->program.calls_ptrace)
		fact_set(why, FACT_DENIED, TRACES);
	else if (trace_ptrace_run(run, why))
		return true;
	if (trace->request->as_if_fallback)
		return false;
	trace->method_fact = *why;
	if (trace->served.state == FACT_UNREAD)
		trace->served = *why;
	trace->method = TRACE_BY_NONE;
	run->serves = false;
	run->call_places = NULL;
	return trace_run_fork(run, NULL, why) && trace_follow(run);
}
