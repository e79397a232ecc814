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

uint64_t trace_count(const struct trace_counts *counts, size_t row)
{
	return counts->of[TRACE_NATIVE][row] + counts->of[TRACE_COMPAT][row];
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

/* By the proof: a path that was timed alone may be a system call. */
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

/* What one call of this row costs here. */
static void find_cost(
	const struct evidence *host, const struct trace_row *row, struct trace_cost *cost)
{
	const struct call_evidence *call = find_call(host, row);

	*cost = (struct trace_cost){.known = false};
	if (call) {
		/* Of some clocks clock_getres is always a system call. */
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

static void hint(struct trace_diagnosis *diagnosis, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void hint(struct trace_diagnosis *diagnosis, const char *format, ...)
{
	va_list arguments;

	if (diagnosis->hint_count == TRACE_HINT_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(diagnosis->hints[diagnosis->hint_count++], TRACE_TEXT_SIZE, format, arguments);
	va_end(arguments);
}

static bool is_compat_counted(const struct trace_evidence *trace)
{
	for (size_t row = 0; row < trace->plan->row_count; row++) {
		if (trace->counts.of[TRACE_COMPAT][row])
			return true;
	}
	return false;
}

static void find_hints(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	const struct trace_program *program = &trace->program;
	bool is_elf = fact_is_known(&program->file_fact);

	if (is_elf && program->is_static)
		hint(diagnosis,
			"It is statically linked: its libc may not use the vDSO (glibc does "
			"not before 2.31). Link it against a newer libc.");
	if (is_compat_counted(trace))
		hint(diagnosis, "32-bit calls are among them: the vDSO of 32-bit programs may lack "
				"the call, or their libc may not use it (glibc before 2.31).");
	if (program->preloads)
		hint(diagnosis,
			"LD_PRELOAD is set: a preloaded library may make the system call in "
			"place of libc's function.");
	if (!diagnosis->hint_count)
		hint(diagnosis,
			"It makes them by syscall(2), its language's runtime bypasses the "
			"vDSO, or something in its surroundings removed the vDSO: none of the "
			"causes that can be seen from outside applies.");
}

static const char *subject(const struct trace_evidence *trace)
{
	return trace->of_host ? "the programs of this host" : "this program";
}

static void sum_up_served(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	bool host_is_ok = counts_deciding(&trace->host).entered == 0;

	diagnosis->verdict = TRACE_OK;
	snprintf(diagnosis->summary, TRACE_TEXT_SIZE,
		"%s made no clock system call that the vDSO could serve%s.", subject(trace),
		host_is_ok
			? ""
			: "; clock_gettime() and gettimeofday() fall back on this host, but were "
			  "not called");
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

/*
 * What the avoidable calls took, and of which CPU time. Under ptrace that time includes the stops,
 * and the share would be too small: it is left out.
 */
static void describe_loss(
	const struct trace_evidence *trace, const struct trace_sums *sums, char text[256])
{
	char cost[32], lost[32], rate[32], share[64] = "";

	if (!sums->lost_known)
		return;
	if (fact_is_known(&trace->cpu_fact) && trace->cpu_s > 0 && !trace->cpu_inflated)
		snprintf(share, sizeof(share), ", %.3g%% of its CPU time",
			100 * sums->avoidable_s / trace->cpu_s);
	if (trace->of_host && fact_is_known(&trace->duration_fact) && trace->duration_s > 0)
		snprintf(share, sizeof(share), " of CPU time, %s each second",
			trace_describe_seconds(sums->avoidable_s / trace->duration_s, rate));
	snprintf(text, 256, " They took about %s%s; the vDSO would save %s.",
		trace_describe_seconds(sums->avoidable_s, cost), share,
		trace_describe_seconds(sums->lost_s, lost));
}

static void sum_up_fallback(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	const struct trace_sums *sums = &diagnosis->sums;
	bool host_is_ok = counts_deciding(&trace->host).entered == 0;
	char lost[256] = "", count[32];

	diagnosis->verdict = TRACE_FALLBACK;
	describe_loss(trace, sums, lost);
	snprintf(diagnosis->summary, TRACE_TEXT_SIZE,
		"%s made %s clock system call%s that the vDSO %s.%s", subject(trace),
		format_count(sums->avoidable, count), sums->avoidable == 1 ? "" : "s",
		host_is_ok ? trace->of_host
	                             ? "serves on this host: only the programs below are affected"
	                             : "serves on this host: only this program is affected"
			   : "does not serve on this host; run 'vdsocheck' for why",
		lost);
	if (host_is_ok && !trace->of_host)
		find_hints(trace, diagnosis);
}

/* Whether calls were counted that the vDSO serves or could. */
static bool counts_clock_calls(
	const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	for (size_t row = 0; row < trace->plan->row_count; row++) {
		if (diagnosis->costs[row].avoidable)
			return true;
	}
	return false;
}

void trace_diagnose(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	const struct trace_plan *plan = trace->plan;
	char count[32];

	*diagnosis = (struct trace_diagnosis){.verdict = TRACE_UNKNOWN};
	for (size_t row = 0; row < plan->row_count; row++) {
		find_cost(&trace->host, &plan->rows[row], &diagnosis->costs[row]);
		add_row(&diagnosis->sums, &diagnosis->costs[row], trace_count(&trace->counts, row));
	}
	if (!counts_clock_calls(trace, diagnosis))
		snprintf(diagnosis->summary, TRACE_TEXT_SIZE,
			"%s made %s of these system calls; the vDSO serves none of them.",
			subject(trace), format_count(diagnosis->sums.calls, count));
	else if (!fact_is_known(&trace->host.proof.fact))
		snprintf(diagnosis->summary, TRACE_TEXT_SIZE,
			"%s made %s clock system calls; whether the vDSO serves them on this host "
			"is not proven: %s",
			subject(trace), format_count(diagnosis->sums.avoidable, count),
			trace->host.proof.fact.reason);
	else if (diagnosis->sums.avoidable)
		sum_up_fallback(trace, diagnosis);
	else
		sum_up_served(trace, diagnosis);
}

const char *const trace_verdict_names[] = {
	[TRACE_UNKNOWN] = "unknown",
	[TRACE_OK] = "ok",
	[TRACE_FALLBACK] = "fallback",
	NULL,
};
