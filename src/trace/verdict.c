/* SPDX-License-Identifier: MIT */
/*
 * Judges the counts: the first rule that applies gives the verdict and the sentence. Where only
 * this program is affected, it says what made the system calls. Nothing is OK where calls that
 * were not counted could make it another verdict.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "judge.h"
#include "model.h"

const struct answer trace_answers[] = {
	[TRACE_UNKNOWN] = {"unknown", COLOR_MAGENTA, STATUS_OF_RUN, "undetermined"},
	[TRACE_OK] = {"ok", COLOR_GREEN, STATUS_OF_RUN,
		"no clock system call that the vDSO could serve"},
	[TRACE_FALLBACK] = {"fallback", COLOR_RED, STATUS_OF_RUN, "at least one"},
	[TRACE_SERVED] = {"served", COLOR_GREEN, STATUS_OF_RUN,
		"the vDSO serves it; system calls that bypass the vDSO were not counted"},
	[TRACE_SIMULATED] = {"simulated", COLOR_YELLOW, STATUS_OF_RUN,
		"it ran as if this host fell back"},
	{0},
};

/* What the rules and the parts of the sentence ask. */
struct view {
	const struct trace_evidence *trace;
	const struct trace_diagnosis *diagnosis;
	const struct trace_sums *sums; /* of the diagnosis */
	const char *subject;           /* "this program" */
	const struct real_fact *time;  /* that costs are a part of */
	const char *of_time;           /* " of its CPU time" */
	bool is_host, host_is_ok;
	bool counts_calls, counts_reads; /* system calls; all reads, also those in the vDSO */
	unsigned hides;                  /* what may be in no count */
	char *summary;
};

/* ---- the sentence, in parts ---- */

#define SAY(view, ...) text_append((view)->summary, REPORT_SENTENCE_SIZE, __VA_ARGS__)

/* The digits behind the point of two that count, of which four are printed at most. */
static int digits_of(double percent)
{
	return percent > 0 ? (int)fmin(fmax(1 - floor(log10(percent)), 0), 4) : 0;
}

/* Less than this has no digit that is printed. */
#define LEAST_PERCENT 0.0001

static const char *at_least(const struct view *v, unsigned hidden)
{
	return v->hides & hidden ? "at least " : "";
}

/* Adds a number of calls and their rate. */
static void say_count(const struct view *v, uint64_t count, const char *what)
{
	const double duration_s = v->trace->duration_s.value;

	SAY(v, "%s %s%s", as_count(count), what, count == 1 ? "" : "s");
	if (duration_s > 0)
		SAY(v, " (%s per s)", as_short((double)count / duration_s));
}

/*
 * Adds the share of the subject's time, or seconds where that time does not have all that was
 * counted. If the cost is one that it would have, a program would run for `more_s` longer.
 */
static void say_time(const struct view *v, double seconds, double more_s)
{
	const double time_s = v->time->value + (v->is_host ? 0 : more_s);
	const double percent = 100 * seconds / time_s;

	if (fact_is_known(&v->time->fact) && percent >= LEAST_PERCENT &&
		(v->is_host || (!v->trace->cpu_is_partial && percent <= 100)))
		SAY(v, "%.*f%%%s", digits_of(percent), percent, more_s == 0 ? v->of_time : "");
	else
		SAY(v, "%s", as_seconds(seconds));
}

/* Adds what the samples mean; false: there are none. */
static bool say_inside(const struct view *v, const char *subject)
{
	const struct trace_inside *inside = &v->diagnosis->inside;
	/* One digit more than the error has. */
	const int digits = inside->error_percent < 0.1 ? 2 : 1;

	if (!fact_is_known(&inside->fact))
		return false;
	if (v->trace->sampled.in_vdso >= TRACE_FEW_SAMPLES)
		SAY(v, "%s spent %.*f%% +/- %.*f%%", subject, digits, inside->share_percent, digits,
			inside->error_percent);
	else
		SAY(v, "%s spent less than %.*f%%", subject, digits_of(inside->most_percent),
			fmax(inside->most_percent, LEAST_PERCENT));
	SAY(v, "%s reading the clock in the vDSO", v->of_time);
	if (!isnan(inside->fallback_percent_most))
		SAY(v, ", and would spend at most %.*f%% on a host that falls back",
			digits_of(inside->fallback_percent_most), inside->fallback_percent_most);
	return true;
}

/*
 * Adds what the calls that the vDSO could serve cost, and would cost if it did. As if the host fell
 * back, they are the calls into the vDSO.
 */
static void say_calls(const struct view *v)
{
	const struct trace_sums *sums = v->sums;
	const bool has_cost = fact_is_known(&sums->lost_s.fact) && sums->avoidable_s > 0;
	const double lost_s = sums->lost_s.value;

	SAY(v, "%s %s ", v->subject, has_cost ? "spent about" : "made");
	if (has_cost) {
		say_time(v, sums->avoidable_s, 0);
		SAY(v, " on ");
	}
	SAY(v, "%s", at_least(v, v->trace->request->as_if_fallback ? HIDES_READS : HIDES_CALLS));
	say_count(v, sums->avoidable, "clock system call");
	if (has_cost) {
		SAY(v, ", and would spend ");
		say_time(v, sums->avoidable_s - lost_s, -lost_s);
	}
	SAY(v, has_cost ? " if the vDSO served them." : " that the vDSO could serve.");
}

/* Adds what the reads cost, and would cost where the vDSO cannot be used. */
static void say_reads(const struct view *v)
{
	const struct trace_sums *sums = v->sums;
	const bool has_cost = !isnan(sums->reads_s) && !isnan(sums->fallback_s);

	SAY(v, "%s %s ", v->subject, has_cost ? "spent about" : "made");
	if (has_cost) {
		say_time(v, sums->reads_s, 0);
		SAY(v, " reading the clock, and would spend ");
		say_time(v, sums->fallback_s, sums->fallback_s - sums->reads_s);
		SAY(v, " on a host that falls back: ");
	}
	SAY(v, "%s", at_least(v, HIDES_READS));
	say_count(v, sums->reads, has_cost ? "read" : "read of the clock");
}

/* ---- the answers ---- */

static void say_not_simulated(const struct view *v)
{
	SAY(v, "%s did not run as if this host fell back.", v->subject);
}

/* What the program does where the vDSO cannot be used. */
static void say_simulated(const struct view *v)
{
	const struct trace_evidence *trace = v->trace;

	SAY(v, "as if this host fell back, ");
	if (v->sums->avoidable)
		say_calls(v);
	else
		SAY(v, "%s did not read the clock.", v->subject);
	if (*v->diagnosis->sigsys_call)
		SAY(v,
			" It got SIGSYS for %s: its seccomp filter does not allow this system "
			"call, which the vDSO makes where it cannot read the clock itself.",
			v->diagnosis->sigsys_call);
	if (trace->refused)
		SAY(v, " %s of them failed: its seccomp filter does not allow these system calls.",
			as_count(trace->refused));
}

/* What is asked of a host that the vDSO serves is the host. */
static void say_host(const struct view *v)
{
	const uint64_t count = v->trace->callers.bypassing, calls = v->sums->avoidable;

	if (calls) {
		SAY(v, "the vDSO serves this host; %s process%s it (%s%s calls, ", as_count(count),
			count == 1 ? " bypasses" : "es bypass", at_least(v, HIDES_CALLS),
			as_count(calls));
		say_time(v, v->sums->avoidable_s, 0);
		SAY(v, ").");
	} else {
		SAY(v, "the vDSO serves this host; no process bypasses it%s.",
			v->hides & HIDES_CALLS ? ", as far as calls were counted" : "");
	}
	SAY(v, fact_is_known(&v->diagnosis->inside.fact) ? " " : "");
	SAY(v, say_inside(v, "Programs") ? "." : "");
}

static void say_fallback(const struct view *v)
{
	say_calls(v);
	SAY(v, v->host_is_ok ? " It serves this host: only this program is affected."
			     : " Run 'vdsocheck' for why it does not.");
}

/* The calls that bypass the vDSO may be many. */
static void say_served(const struct view *v)
{
	const uint64_t unproven = v->sums->reads_unproven;

	say_reads(v);
	if (unproven)
		SAY(v, ", %s of them served by the vDSO: whether it serves the others is not known",
			as_count(v->sums->reads - unproven));
	else
		SAY(v, ", served by the vDSO");
	SAY(v, ". System calls that bypass it were not counted.");
}

static void say_not_counted(const struct view *v)
{
	if (say_inside(v, v->subject))
		SAY(v, "; its system calls were not counted.");
	else
		SAY(v, "the system calls of %s were not counted.", v->subject);
}

static void say_not_proven(const struct view *v)
{
	SAY(v, "%s made %s", v->subject, at_least(v, HIDES_CALLS));
	say_count(v, v->sums->avoidable ? v->sums->avoidable : v->sums->calls, "clock system call");
	SAY(v, "; whether the vDSO serves them on this host is not proven: %s.",
		v->trace->host.proof.fact.reason);
}

static void say_good(const struct view *v)
{
	const uint64_t by_call = v->sums->reads_by_call;

	if (v->counts_reads && v->sums->reads) {
		say_reads(v);
		SAY(v, ", %s by system call", by_call ? as_count(by_call) : "none");
	} else if (v->counts_reads && !v->hides) {
		SAY(v, "%s did not read the clock", v->subject);
	} else {
		SAY(v, "%s made no clock system call that the vDSO could serve",
			say_inside(v, v->subject) ? "; it" : v->subject);
	}
	SAY(v, v->hides & HIDES_CALLS ? ", as far as calls were counted." : ".");
}

/* ---- the rules ---- */

/* Static C libraries make some before they know their vDSO. */
#define START_CALLS 10

/* The first rule that applies decides. */
static void find_answer(struct report *report, const struct view *v)
{
	const struct trace_sums *sums = v->sums;
	const bool as_if = v->trace->request->as_if_fallback;
	const bool is_proven = fact_is_known(&v->trace->host.proof.fact);
	const bool hides_reads = !v->counts_reads || v->hides & HIDES_READS;
	const bool may_be_start = v->host_is_ok && v->trace->program.is_static && !hides_reads &&
	                          !v->trace->request->counts_exactly &&
	                          sums->avoidable <= START_CALLS;
	const struct rule {
		const char *id;
		bool applies;
		enum trace_verdict verdict;
		void (*say)(const struct view *v);
	} rules[] = {
		{"not-simulated", as_if && (!v->counts_reads || (hides_reads && !sums->reads)),
			TRACE_UNKNOWN, say_not_simulated},
		{"simulated", as_if, TRACE_SIMULATED, say_simulated},
		{"host-served", is_proven && v->host_is_ok && v->is_host && v->counts_calls,
			TRACE_OK, say_host},
		{"system-calls", is_proven && sums->avoidable && !may_be_start, TRACE_FALLBACK,
			say_fallback},
		{"reads-served", is_proven && v->host_is_ok && sums->served && !v->counts_calls,
			TRACE_SERVED, say_served},
		{"not-counted", !v->counts_calls, TRACE_UNKNOWN, say_not_counted},
		{"not-proven", !is_proven, TRACE_UNKNOWN, say_not_proven},
		{"partly-counted", v->hides & HIDES_CALLS, TRACE_UNKNOWN, say_good},
		{"no-system-calls", true, TRACE_OK, say_good},
	};
	const struct rule *rule = rules;

	while (!rule->applies)
		rule++;
	report_answer(report, &trace_answers[rule->verdict], rule->id, NULL, "%s", "");
	rule->say(v);
}

/* ---- why only this program is affected ---- */

/*
 * Finds the origin of the most of the avoidable system calls, how many these are, and the first of
 * their places. Unknown if it cannot: the list has those places only that are shown.
 */
static enum trace_origin find_origin(
	const struct view *v, const struct trace_place **place, uint64_t *count)
{
	const struct trace_places *places = &v->trace->call_places;
	const struct trace_place *first[TRACE_FROM_CODE + 1] = {NULL};
	uint64_t sums[ARRAY_SIZE(first)] = {0};
	enum trace_origin most = TRACE_FROM_UNKNOWN;

	for (size_t i = 0; i < places->count; i++) {
		const struct trace_place *at = &places->list[i];

		if (!v->diagnosis->avoidable[at->row])
			continue;
		first[at->origin] = first[at->origin] ? first[at->origin] : at;
		sums[at->origin] += at->count;
		if (sums[at->origin] > sums[most])
			most = at->origin;
	}
	*place = first[most];
	*count = sums[most];
	return sums[most] < v->sums->avoidable / 2 ? TRACE_FROM_UNKNOWN : most;
}

/* Adds a sentence. */
#define ADD(texts, ...) text_append((texts)->list[(texts)->count++], TRACE_TEXT_SIZE, __VA_ARGS__)

/* What made the calls; and why it did, or else what is seen from outside. */
static void find_hints(const struct view *v, struct trace_diagnosis *diagnosis)
{
	static const char *const makers[] = {
		[TRACE_FROM_VDSO] =
			("the vDSO, which could not read the clock itself: the cause is "
			 "not the program, but what it runs in. Run 'vdsocheck' there."),
		[TRACE_FROM_SYSCALL_FUNCTION] =
			"syscall(2) of libc: clock_gettime(3) and gettimeofday(2) use the vDSO.",
		[TRACE_FROM_LIBC] = "libc, which does not use the vDSO here: ",
		[TRACE_FROM_CODE] = "code that does not call libc for it: ",
	};
	const struct trace_program *program = &v->trace->program;
	const struct trace_place *place;
	uint64_t count;
	const enum trace_origin origin = find_origin(v, &place, &count);
	const bool is_unknown = origin == TRACE_FROM_UNKNOWN;
	const bool has_place = origin == TRACE_FROM_LIBC || origin == TRACE_FROM_CODE;
	const struct {
		bool applies;
		const char *text;
	} rows[] = {
		{(is_unknown || has_place) && program->is_static && program->has_glibc,
			"It is statically linked: glibc before 2.31 does not use the vDSO then. "
			"Link it against a newer one."},
		{(is_unknown || has_place) && program->is_static,
			"It is statically linked, without glibc: its runtime makes the calls "
			"itself. clock_gettime() of a C library uses the vDSO."},
		{is_unknown && v->counts_reads && !(v->hides & HIDES_READS),
			"They did not go through the vDSO, which the program has: it calls "
			"syscall(2) directly, or its runtime bypasses the vDSO."},
		{is_unknown, "No cause is visible from outside. The program may call syscall(2) "
			     "directly, its runtime may bypass the vDSO, or its environment may "
			     "hide the vDSO."},
	};
	const char *text = NULL;
	char share[64] = "They";

	diagnosis->has_call_places = !is_unknown && origin != TRACE_FROM_VDSO;
	if (count != v->sums->avoidable)
		snprintf(share, sizeof(share), "Most of them (%.0f%%)",
			100 * (double)count / (double)v->sums->avoidable);
	if (!is_unknown)
		ADD(&diagnosis->hints, "%s were made by %s", share, makers[origin]);
	if (has_place)
		text_append(diagnosis->hints.list[0], TRACE_TEXT_SIZE, "%s%s%s.", place->function,
			*place->function ? " in " : "",
			*place->module ? place->module : "code of no file");
	for (size_t i = 0; i < ARRAY_SIZE(rows) && !text; i++)
		text = rows[i].applies ? rows[i].text : NULL;
	if (text)
		ADD(&diagnosis->hints, "%s", text);
}

/* ---- all of it ---- */

/* What counts the system calls of a program, stops it at each, and needs no privileges. */
#define COUNTS_THEM "strace -f -c -e trace=clock_gettime,gettimeofday"

/* Adds what was not counted at all. */
static void list_missed(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	const bool is_program = trace->request->target == TARGET_PROGRAM;
	struct trace_missed_list *missed = &diagnosis->missed;
	char reason[TRACE_REASON_SIZE];

	snprintf(reason, sizeof(reason), "%s%s", trace->method_fact.reason,
		is_program ? "; '" COUNTS_THEM "' counts them" : "");
	if (!fact_is_known(&trace->method_fact))
		trace_miss(missed, MISSED_SYSTEM_CALLS, 0, reason);
	if (is_program && !fact_is_known(&trace->served) &&
		!trace_missed_count(missed, MISSED_PROGRAMS))
		trace_miss(missed, MISSED_SERVED_CALLS, 0, trace->served.reason);
	if (!is_program && !fact_is_known(&trace->served) &&
		!fact_is_known(&diagnosis->inside.fact))
		trace_miss(missed, MISSED_TIME, 0, diagnosis->inside.fact.reason);
}

void trace_judge(struct trace_report *report)
{
	const struct trace_evidence *trace = &report->trace;
	struct trace_diagnosis *diagnosis = &report->diagnosis;
	const bool is_host = trace->request->target == TARGET_HOST;
	const struct entry_counts deciding = counts_deciding(&trace->host);
	struct view view = {.trace = trace,
		.diagnosis = diagnosis,
		.sums = &diagnosis->sums,
		.subject = is_host ? "the programs of this host" : "this program",
		.time = is_host ? &trace->duration_s : &trace->cpu_s,
		.of_time = is_host ? " of one CPU" : " of its CPU time",
		.is_host = is_host,
		.host_is_ok = deciding.entered == 0 && deciding.failing == 0,
		.counts_calls = fact_is_known(&trace->method_fact),
		.counts_reads = fact_is_known(&trace->served),
		.summary = report->report.summary};

	*diagnosis = (struct trace_diagnosis){.missed = trace->missed};
	trace_costs_judge(trace, diagnosis);
	list_missed(trace, diagnosis);
	view.hides = trace_missed_hides(&diagnosis->missed);
	if (fact_is_known(&trace->sigsys_row.fact)) {
		const struct trace_row *row = &trace->request->plan->rows[trace->sigsys_row.value];

		text_append(diagnosis->sigsys_call, sizeof(diagnosis->sigsys_call), "%s(%s)",
			row->call->name, row->clock);
	}
	find_answer(&report->report, &view);
	if (report->report.answer == &trace_answers[TRACE_FALLBACK] && view.host_is_ok && !is_host)
		find_hints(&view, diagnosis);
}
