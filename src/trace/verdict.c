/* SPDX-License-Identifier: MIT */
/*
 * What the counts mean. A call is avoidable if the vDSO serves it on this host, or is one of the
 * deciding calls, which it serves where the clocksource allows. Counts of other calls, such as
 * those of CPU-time clocks, say nothing of the vDSO.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "judge.h"
#include "model.h"

const char *const trace_verdict_names[] = {
	[TRACE_UNKNOWN] = "unknown",
	[TRACE_OK] = "ok",
	[TRACE_FALLBACK] = "fallback",
	[TRACE_COUNTED] = "counted",
	NULL,
};

uint64_t trace_count(const struct trace_evidence *trace, size_t row)
{
	return trace->counts[TRACE_NATIVE][row] + trace->counts[TRACE_COMPAT][row];
}

/* clock_gettime64 and clock_getres_time64 are the same calls with wider times. */
static bool is_same_call(const char *name, const char *call)
{
	size_t length = strlen(call);

	return strncmp(name, call, length) == 0 &&
	       (!name[length] || strcmp(name + length, "64") == 0 ||
		       strcmp(name + length, "_time64") == 0);
}

/* The rows of clock_getres take no account of the clock: its cost is that of one clock. */
static const struct call_evidence *find_call(
	const struct evidence *host, const struct trace_row *row)
{
	for (size_t i = 0; i < host->call_count; i++) {
		const struct call_evidence *call = &host->calls[i];

		if (is_same_call(row->call->name, call->call) &&
			(strcmp(call->clock, row->clock) == 0 ||
				strcmp(call->call, "clock_getres") == 0))
			return call;
	}
	return NULL;
}

/* The proof decides: a path that was only timed may be a system call. */
static bool is_served(const struct call_evidence *call)
{
	const struct path_evidence *vdso = &call->path[PATH_VDSO];

	return vdso->available && vdso->attempts > 0 && vdso->entered == 0;
}

static void set_vdso_cost(
	const struct evidence *host, const struct call_evidence *call, struct trace_cost *cost)
{
	if (is_served(call)) {
		cost->vdso_known = call->path[PATH_VDSO].timed;
		cost->vdso_ns = call->path[PATH_VDSO].min_ns;
	} else if (call->decides && fact_is_known(&host->copy.what_if_fact)) {
		cost->vdso_known = true;
		cost->vdso_ns = host->copy.what_if_ns;
	}
}

/* Finds the cost of one call of this row here. */
static void find_cost(
	const struct evidence *host, const struct trace_row *row, struct trace_cost *cost)
{
	const struct call_evidence *call = find_call(host, row);

	*cost = (struct trace_cost){.known = false};
	if (call) {
		/* For some clocks clock_getres is always a system call. */
		cost->avoidable = strcmp(call->call, "clock_getres") != 0 &&
		                  (call->decides || is_served(call));
		set_vdso_cost(host, call, cost);
	}
	if (call && call->path[PATH_SYSCALL].timed) {
		cost->known = true;
		cost->ns = call->path[PATH_SYSCALL].min_ns;
	} else if (fact_is_known(&host->timing.syscall_floor_fact)) {
		cost->known = true;
		cost->at_least = true;
		cost->ns = host->timing.syscall_floor_ns;
	}
}

static void add_row(struct trace_sums *sums, const struct trace_cost *cost, uint64_t count)
{
	sums->calls += count;
	if (cost->avoidable)
		sums->avoidable += count;
	if (cost->known)
		sums->cost_s += cost_seconds((double)count, cost->ns, 0);
	if (cost->avoidable && cost->known && cost->vdso_known) {
		sums->avoidable_s += cost_seconds((double)count, cost->ns, 0);
		sums->lost_s += cost_seconds((double)count, cost->ns, cost->vdso_ns);
		sums->lost_known = true;
	}
}

static void hint(struct trace_diagnosis *diagnosis, const char *text)
{
	text_copy(diagnosis->hints[diagnosis->hint_count++], TRACE_TEXT_SIZE, text);
}

static bool is_compat_counted(const struct trace_evidence *trace)
{
	for (size_t row = 0; row < trace->plan->row_count; row++) {
		if (trace->counts[TRACE_COMPAT][row])
			return true;
	}
	return false;
}

static void find_hints(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	const struct trace_program *program = &trace->program;

	if (program->is_elf && program->is_static)
		hint(diagnosis,
			"It is statically linked: its libc does not use the vDSO if it is glibc older "
			"than 2.31. Link it against a newer libc.");
	if (is_compat_counted(trace))
		hint(diagnosis,
			"32-bit calls are among them: the vDSO of 32-bit programs may lack the call, "
			"and glibc older than 2.31 does not use it.");
	if (program->preloads)
		hint(diagnosis,
			"LD_PRELOAD is set: a preloaded library may make the system call in "
			"place of libc's function.");
	if (!diagnosis->hint_count)
		hint(diagnosis, "No cause is visible from outside. The program may call syscall(2) "
				"directly, its runtime may bypass the vDSO, or its environment may "
				"hide the vDSO.");
}

/*
 * What the avoidable calls took, and its share of CPU time. That of a program under ptrace includes
 * the stops, and the share would be too small: it is left out.
 */
static void describe_loss(
	const struct trace_evidence *trace, const struct trace_sums *sums, char text[256])
{
	char cost[32], lost[32], share[64] = "";

	if (!sums->lost_known)
		return;
	if (trace->system_wide && trace->duration_s > 0)
		snprintf(share, sizeof(share), " (%.2g%% of one CPU)",
			100 * sums->avoidable_s / trace->duration_s);
	else if (fact_is_known(&trace->cpu_fact) && trace->cpu_s > 0 && !trace->cpu_inflated)
		snprintf(share, sizeof(share), " (%.2g%% of its CPU time)",
			100 * sums->avoidable_s / trace->cpu_s);
	snprintf(text, 256, " They took about %s%s; the vDSO would save %s.",
		trace_describe_seconds(sums->avoidable_s, cost), share,
		trace_describe_seconds(sums->lost_s, lost));
}

static void summarize(struct trace_diagnosis *diagnosis, enum trace_verdict verdict,
	const char *format, ...) __attribute__((format(printf, 3, 4)));

static void summarize(
	struct trace_diagnosis *diagnosis, enum trace_verdict verdict, const char *format, ...)
{
	va_list arguments;

	diagnosis->verdict = verdict;
	va_start(arguments, format);
	vsnprintf(diagnosis->summary, TRACE_TEXT_SIZE, format, arguments);
	va_end(arguments);
}

/* Whether calls were counted that the vDSO serves or could. */
static bool counts_clock_calls(
	const struct trace_evidence *trace, const struct trace_diagnosis *diagnosis)
{
	for (size_t row = 0; row < trace->plan->row_count; row++) {
		if (diagnosis->costs[row].avoidable)
			return true;
	}
	return false;
}

void trace_diagnose(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	const char *subject = trace->system_wide ? "the programs of this host" : "this program";
	const struct trace_plan *plan = trace->plan;
	const struct trace_sums *sums = &diagnosis->sums;
	bool host_is_ok = counts_deciding(&trace->host).entered == 0;
	char count[32], loss[256] = "";

	*diagnosis = (struct trace_diagnosis){.verdict = TRACE_UNKNOWN};
	for (size_t row = 0; row < plan->row_count; row++) {
		find_cost(&trace->host, &plan->rows[row], &diagnosis->costs[row]);
		add_row(&diagnosis->sums, &diagnosis->costs[row], trace_count(trace, row));
	}
	describe_loss(trace, sums, loss);
	if (!counts_clock_calls(trace, diagnosis))
		summarize(diagnosis, TRACE_COUNTED,
			"%s made %s of these system calls; the vDSO serves none of them.", subject,
			format_count(sums->calls + (uint64_t)trace->unlisted.value, count));
	else if (!fact_is_known(&trace->host.proof.fact))
		summarize(diagnosis, TRACE_UNKNOWN,
			"%s made %s clock system calls; whether the vDSO serves them on this host "
			"is not proven: %s",
			subject, format_count(sums->avoidable, count),
			trace->host.proof.fact.reason);
	else if (sums->avoidable)
		summarize(diagnosis, TRACE_FALLBACK,
			"%s made %s clock system call%s that the vDSO %s.%s", subject,
			format_count(sums->avoidable, count), sums->avoidable == 1 ? "" : "s",
			!host_is_ok ? "does not serve on this host; run 'vdsocheck' for why"
			: trace->system_wide
				? "serves on this host: the programs listed below bypass the vDSO"
				: "serves on this host: only this program is affected",
			loss);
	else if (!fact_is_known(&trace->unlisted.fact))
		summarize(diagnosis, TRACE_UNKNOWN,
			"%s made no clock system call by 64-bit code that the vDSO could serve; those "
			"by 32-bit code were not counted.",
			subject);
	else if (trace->unlisted.value)
		summarize(diagnosis, TRACE_UNKNOWN,
			"%s made no clock system call by 64-bit code that the vDSO could serve, but "
			"%s by 32-bit code, of which tracepoints do not show the clock.%s",
			subject, format_count((uint64_t)trace->unlisted.value, count),
			trace->system_wide
				? " Count a 32-bit program below with 'vdsocheck trace -p'."
			: *trace->program.file
				? " Trace the 32-bit program itself, which is done by ptrace."
				: "");
	else
		summarize(diagnosis, TRACE_OK,
			"%s made no clock system call that the vDSO could serve%s.", subject,
			host_is_ok ? ""
				   : "; clock_gettime() and gettimeofday() fall back on this "
				     "host, but were not called");
	if (diagnosis->verdict == TRACE_FALLBACK && host_is_ok && !trace->system_wide)
		find_hints(trace, diagnosis);
}

char *trace_describe_seconds(double seconds, char text[32])
{
	static const char *const units[] = {"s", "ms", "us", "ns"};
	size_t unit = 0;

	for (; seconds < 1 && seconds > 0 && unit < 3; unit++)
		seconds *= 1000;
	snprintf(text, 32, "%.*f %s",
		seconds < 10    ? 2
		: seconds < 100 ? 1
				: 0,
		seconds, units[unit]);
	return text;
}
