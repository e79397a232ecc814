/* SPDX-License-Identifier: MIT */
/*
 * Counts what runs already, a process or the whole host: by BPF programs, or if that is refused
 * what it does in the vDSO by samples of one process.
 */
#include "base/privileges.h"
#include "count.h"

/* Where system calls are refused to be counted, samples say something of a process. */
bool trace_running(struct trace_run *run)
{
	struct trace_evidence *trace = run->trace;
	const struct trace_request *request = trace->request;
	const struct real_fact *floor = &trace->host.timing.syscall_floor_ns;
	const bool is_counted = trace_events_open(run, &trace->counted);
	const bool is_sampled = !is_counted && !request->counts_exactly &&
	                        request->target == TARGET_PROCESS && trace_samples_open(run, -1);
	const bool is_watched =
		request->counts_exactly ? trace_exact_open(run) : is_counted || is_sampled;

	if (is_watched) {
		/* Memory maps are read, to find the places of calls. */
		privileges_keep(run->privileges |
				(request->locates_calls ? PRIVILEGES(CAP_SYS_PTRACE) : 0) |
				(request->lists_groups ? PRIVILEGES_FIND_GROUP : 0));
		trace_run_begin(run);
		trace_run_wait(run);
	}
	trace_run_end(run);
	trace_callers_finish(trace, request->shown, fact_is_known(&floor->fact) ? floor->value : 1);
	return is_watched;
}
