/* SPDX-License-Identifier: MIT */
/* The ways of counting, and what they have in common. */
#ifndef VDSOCHECK_TRACE_RUN_H
#define VDSOCHECK_TRACE_RUN_H

#include "base/filter.h"
#include "base/root.h"
#include "model.h"
#include "program.h"

/* One run of a program. */
struct trace_run {
	char *const *arguments;
	int64_t limit_ns; /* the program gets SIGTERM then; 0: never */
	int status;       /* of waitpid(), once it has ended */
	struct trace_failure failure;
};

/*
 * Both run the program until it ends, the second one until its children have, too, and fill in
 * counts, duration, CPU time and status. False with the reason in *why; the program was not
 * started then.
 */
bool trace_run_by_tracepoints(const struct root *root, struct trace_evidence *trace,
	struct trace_run *run, struct fact *why);
bool trace_run_by_seccomp(struct trace_evidence *trace, struct trace_run *run, struct fact *why);

/*
 * Both count the system calls of the running process trace->program.pid and of the children that it
 * starts meanwhile, until *stop, the end of the time or that of the process. False with the reason.
 */
bool trace_attach_by_tracepoints(const struct root *root, struct trace_evidence *trace,
	int64_t limit_ns, const volatile bool *stop, struct fact *why);
bool trace_attach_by_ptrace(struct trace_evidence *trace, int64_t limit_ns,
	const volatile bool *stop, struct fact *why);

/*
 * Counts those of the whole host, and fills in trace->top. show() is called some times a second
 * with the part that is done. False with the reason.
 */
bool trace_host_by_tracepoints(const struct root *root, struct trace_evidence *trace,
	int64_t limit_ns, const volatile bool *stop, void (*show)(double done), struct fact *why);

/* ---- filter.c ---- */

/*
 * Adds the instructions of the whole filter. At a counted call it returns SECCOMP_RET_TRACE with
 * the number of the row, plus TRACE_ROW_MAX for the 32-bit architecture, as data for the tracer.
 */
void trace_filter_make(const struct trace_plan *plan, struct filter *filter);

/* ---- signals.c: signals and time while a program runs ---- */

/*
 * Signals that ask us to end are noted for the program instead; those of the terminal reach it
 * anyway. At the end of the time SIGTERM is (0: no limit). From now on a wait returns with EINTR
 * on a signal, and ten times a second. 0 or an errno value.
 */
int trace_signals_start(pid_t program, int64_t limit_ns);

/* Sends the program what was noted: only while it has not been reaped. */
void trace_signals_pass(void);

/* The program has been reaped. */
void trace_signals_forget(void);

/*
 * Nothing that outlives the program is to be waited for: the time is over, SIGTERM came, or any
 * of the signals since the program was reaped.
 */
bool trace_signals_over(void);

void trace_signals_end(void);

/* From now on waitpid() returns with EINTR ten times a second. 0 or an errno value. */
int trace_tick_start(void);
void trace_tick_end(void);

#endif
