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

/* What the conditions of the rows below ask. */
enum finding {
	WHOLE_HOST = 1,  /* was counted */
	HOST_PROVEN,     /* whether the vDSO serves it */
	HOST_SERVED,     /* as far as was proven */
	CALLS_COUNTED,   /* the system calls */
	CALLS_MAY_HIDE,  /* some are in no count */
	CALLS_MADE,      /* that the vDSO could serve, and not only at the start */
	READS_COUNTED,   /* those that the vDSO serves as well */
	READS_MAY_HIDE,  /* some are in no count */
	READS_SERVED,    /* at least one */
	AS_IF_FALLBACK,  /* is how the program should run */
	NOT_AS_IF,       /* it did not */
	PROGRAM_STATIC,  /* is statically linked */
	PROGRAM_GLIBC,   /* and has glibc */
	ORIGIN_UNKNOWN,  /* of most system calls */
	ORIGIN_BYPASSES, /* it is code that could call libc's function, or libc's own */
	FINDING_COUNT
};

/* The condition of a row: all of these are found, or are not. 0 ends them. */
#define CONDITION_SIZE 5
#define NOT(finding) (-(int)(finding))

struct findings {
	bool is[FINDING_COUNT];
	const struct trace_evidence *trace;
	const struct trace_diagnosis *diagnosis;
	const struct trace_sums *sums; /* of the diagnosis */
	const char *subject;           /* "this program" */
	const struct real_fact *time;  /* that costs are a part of */
	const char *of_time;           /* " of its CPU time" */
	char *summary;
};

static bool applies(const struct findings *f, const int condition[CONDITION_SIZE])
{
	const int *at = condition;

	while (*at > 0 ? f->is[*at] : *at < 0 && !f->is[-*at])
		at++;
	return !*at;
}

/* ---- the sentence, in parts ---- */

#define SAY(f, ...) text_append((f)->summary, REPORT_SENTENCE_SIZE, __VA_ARGS__)

/* The digits behind the point of two that count, of which four are printed at most. */
static int digits_of(double percent)
{
	return percent > 0 ? (int)fmin(fmax(1 - floor(log10(percent)), 0), 4) : 0;
}

/* Less than this has no digit that is printed. */
#define LEAST_PERCENT 0.0001

static const char *at_least(const struct findings *f, enum finding hidden)
{
	return f->is[hidden] ? "at least " : "";
}

/* Adds a number of calls and their rate. */
static void say_count(const struct findings *f, uint64_t count, const char *what)
{
	const double duration_s = f->trace->duration_s.value;

	SAY(f, "%s %s%s", as_count(count), what, count == 1 ? "" : "s");
	if (duration_s > 0)
		SAY(f, " (%s per s)", as_short((double)count / duration_s));
}

/*
 * Adds the share of the subject's time, or seconds where that time does not have all that was
 * counted. If the cost is one that it would have, a program would run for `more_s` longer.
 */
static void say_time(const struct findings *f, double seconds, double more_s)
{
	const double time_s = f->time->value + (f->is[WHOLE_HOST] ? 0 : more_s);
	const double percent = 100 * seconds / time_s;

	if (fact_is_known(&f->time->fact) && percent >= LEAST_PERCENT &&
		(f->is[WHOLE_HOST] || (!f->trace->cpu_is_partial && percent <= 100)))
		SAY(f, "%.*f%%%s", digits_of(percent), percent, more_s == 0 ? f->of_time : "");
	else
		SAY(f, "%s", as_seconds(seconds));
}

/* Adds what the samples mean; false: there are none. */
static bool say_inside(const struct findings *f, const char *subject)
{
	const struct trace_inside *inside = &f->diagnosis->inside;
	/* One digit more than the error has. */
	const int digits = inside->error_percent < 0.1 ? 2 : 1;

	if (!fact_is_known(&inside->fact))
		return false;
	if (f->trace->sampled.in_vdso >= TRACE_FEW_SAMPLES)
		SAY(f, "%s spent %.*f%% +/- %.*f%%", subject, digits, inside->share_percent, digits,
			inside->error_percent);
	else
		SAY(f, "%s spent less than %.*f%%", subject, digits_of(inside->most_percent),
			fmax(inside->most_percent, LEAST_PERCENT));
	SAY(f, "%s reading the clock in the vDSO", f->of_time);
	if (!isnan(inside->fallback_percent_most))
		SAY(f, ", and would spend at most %.*f%% on a host that falls back",
			digits_of(inside->fallback_percent_most), inside->fallback_percent_most);
	return true;
}

/*
 * Adds what the calls that the vDSO could serve cost, and would cost if it did. As if the host fell
 * back, they are the calls into the vDSO.
 */
static void say_calls(const struct findings *f)
{
	const struct trace_sums *sums = f->sums;
	const bool has_cost = fact_is_known(&sums->lost_s.fact) && sums->avoidable_s > 0;
	const double lost_s = sums->lost_s.value;

	SAY(f, "%s %s ", f->subject, has_cost ? "spent about" : "made");
	if (has_cost) {
		say_time(f, sums->avoidable_s, 0);
		SAY(f, " on ");
	}
	SAY(f, "%s", at_least(f, f->is[AS_IF_FALLBACK] ? READS_MAY_HIDE : CALLS_MAY_HIDE));
	say_count(f, sums->avoidable, "clock system call");
	if (has_cost) {
		SAY(f, ", and would spend ");
		say_time(f, sums->avoidable_s - lost_s, -lost_s);
	}
	SAY(f, has_cost ? " if the vDSO served them." : " that the vDSO could serve.");
}

/* Adds what the reads cost, and would cost where the vDSO cannot be used. */
static void say_reads(const struct findings *f)
{
	const struct trace_sums *sums = f->sums;
	const bool has_cost = !isnan(sums->reads_s) && !isnan(sums->fallback_s);

	SAY(f, "%s %s ", f->subject, has_cost ? "spent about" : "made");
	if (has_cost) {
		say_time(f, sums->reads_s, 0);
		SAY(f, " reading the clock, and would spend ");
		say_time(f, sums->fallback_s, sums->fallback_s - sums->reads_s);
		SAY(f, " on a host that falls back: ");
	}
	SAY(f, "%s", at_least(f, READS_MAY_HIDE));
	say_count(f, sums->reads, has_cost ? "read" : "read of the clock");
}

/* ---- the answers ---- */

static void say_not_simulated(const struct findings *f)
{
	SAY(f, "%s did not run as if this host fell back.", f->subject);
}

/* What the program does where the vDSO cannot be used. */
static void say_simulated(const struct findings *f)
{
	const struct trace_evidence *trace = f->trace;

	SAY(f, "as if this host fell back, ");
	if (f->sums->avoidable)
		say_calls(f);
	else
		SAY(f, "%s did not read the clock.", f->subject);
	if (*f->diagnosis->sigsys_call)
		SAY(f,
			" It got SIGSYS for %s: its seccomp filter does not allow this system "
			"call, which the vDSO makes where it cannot read the clock itself.",
			f->diagnosis->sigsys_call);
	if (trace->refused)
		SAY(f, " %s of them failed: its seccomp filter does not allow these system calls.",
			as_count(trace->refused));
}

/* Where the vDSO serves the host, the sentence begins with that: it is what was asked. */
static void say_host(const struct findings *f)
{
	const uint64_t count = f->trace->callers.bypassing, calls = f->sums->avoidable;

	if (calls) {
		SAY(f, "the vDSO serves this host; %s process%s it (%s%s calls, ", as_count(count),
			count == 1 ? " bypasses" : "es bypass", at_least(f, CALLS_MAY_HIDE),
			as_count(calls));
		say_time(f, f->sums->avoidable_s, 0);
		SAY(f, ").");
	} else {
		SAY(f, "the vDSO serves this host; no process bypasses it%s.",
			f->is[CALLS_MAY_HIDE] ? ", as far as calls were counted" : "");
	}
	SAY(f, fact_is_known(&f->diagnosis->inside.fact) ? " " : "");
	SAY(f, say_inside(f, "Programs") ? "." : "");
}

static void say_fallback(const struct findings *f)
{
	say_calls(f);
	SAY(f, f->is[HOST_SERVED] ? " It serves this host: only this program is affected."
				  : " Run 'vdsocheck' for why it does not.");
}

/* The calls that bypass the vDSO may be many. */
static void say_served(const struct findings *f)
{
	const uint64_t unproven = f->sums->reads_unproven;

	say_reads(f);
	if (unproven)
		SAY(f, ", %s of them served by the vDSO: whether it serves the others is not known",
			as_count(f->sums->reads - unproven));
	else
		SAY(f, ", served by the vDSO");
	SAY(f, ". System calls that bypass it were not counted.");
}

static void say_not_counted(const struct findings *f)
{
	if (say_inside(f, f->subject))
		SAY(f, "; its system calls were not counted.");
	else
		SAY(f, "the system calls of %s were not counted.", f->subject);
}

static void say_not_proven(const struct findings *f)
{
	SAY(f, "%s made %s", f->subject, at_least(f, CALLS_MAY_HIDE));
	say_count(f, f->sums->avoidable ? f->sums->avoidable : f->sums->calls, "clock system call");
	SAY(f, "; whether the vDSO serves them on this host is not proven: %s.",
		f->trace->host.proof.fact.reason);
}

static void say_good(const struct findings *f)
{
	const uint64_t by_call = f->sums->reads_by_call;

	if (f->is[READS_COUNTED] && f->sums->reads) {
		say_reads(f);
		SAY(f, ", %s by system call", by_call ? as_count(by_call) : "none");
	} else if (f->is[READS_COUNTED] && !f->is[CALLS_MAY_HIDE] && !f->is[READS_MAY_HIDE]) {
		SAY(f, "%s did not read the clock", f->subject);
	} else {
		SAY(f, "%s made no clock system call that the vDSO could serve",
			say_inside(f, f->subject) ? "; it" : f->subject);
	}
	SAY(f, f->is[CALLS_MAY_HIDE] ? ", as far as calls were counted." : ".");
}

/* ---- the rules ---- */

/* The first rule that applies decides. */
static const struct rule {
	const char *id;
	int condition[CONDITION_SIZE];
	enum trace_verdict verdict;
	void (*say)(const struct findings *f);
} rules[] = {
	{"not-simulated", {NOT_AS_IF}, TRACE_UNKNOWN, say_not_simulated},
	{"simulated", {AS_IF_FALLBACK}, TRACE_SIMULATED, say_simulated},
	{"host-served", {HOST_PROVEN, HOST_SERVED, WHOLE_HOST, CALLS_COUNTED}, TRACE_OK, say_host},
	{"system-calls", {HOST_PROVEN, CALLS_MADE}, TRACE_FALLBACK, say_fallback},
	{"reads-served", {HOST_PROVEN, HOST_SERVED, READS_SERVED, NOT(CALLS_COUNTED)}, TRACE_SERVED,
		say_served},
	{"not-counted", {NOT(CALLS_COUNTED)}, TRACE_UNKNOWN, say_not_counted},
	{"not-proven", {NOT(HOST_PROVEN)}, TRACE_UNKNOWN, say_not_proven},
	{"partly-counted", {CALLS_MAY_HIDE}, TRACE_UNKNOWN, say_good},
	{"no-system-calls", {0}, TRACE_OK, say_good},
};

/* ---- why only this program is affected ---- */

/*
 * Finds the origin of the most of the avoidable system calls, how many these are, and the first of
 * their places. Unknown if it cannot: the list has those places only that are shown.
 */
static enum trace_origin find_origin(
	const struct findings *f, const struct trace_place **place, uint64_t *count)
{
	const struct trace_places *places = &f->trace->call_places;
	const struct trace_place *first[TRACE_FROM_CODE + 1] = {NULL};
	uint64_t sums[ARRAY_SIZE(first)] = {0};
	enum trace_origin most = TRACE_FROM_UNKNOWN;

	for (size_t i = 0; i < places->count; i++) {
		const struct trace_place *at = &places->list[i];

		if (!trace_row_is_avoidable(f->trace, at->row))
			continue;
		first[at->origin] = first[at->origin] ? first[at->origin] : at;
		sums[at->origin] += at->count;
		if (sums[at->origin] > sums[most])
			most = at->origin;
	}
	*place = first[most];
	*count = sums[most];
	return sums[most] < f->sums->avoidable / 2 ? TRACE_FROM_UNKNOWN : most;
}

/* Adds a sentence. */
#define ADD(texts, ...) text_append((texts)->list[(texts)->count++], TRACE_TEXT_SIZE, __VA_ARGS__)

/* What made the calls; and why it did, or else what is seen from outside. */
static void find_hints(struct findings *f, struct trace_diagnosis *diagnosis)
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
	static const struct {
		int condition[CONDITION_SIZE];
		const char *text; /* NULL: the maker says enough */
	} rows[] = {
		{{NOT(ORIGIN_UNKNOWN), NOT(ORIGIN_BYPASSES)}, NULL},
		{{PROGRAM_STATIC, PROGRAM_GLIBC},
			"It is statically linked: glibc before 2.31 does not use the vDSO then. "
			"Link it against a newer one."},
		{{PROGRAM_STATIC},
			"It is statically linked, without glibc: its runtime makes the calls "
			"itself. clock_gettime() of a C library uses the vDSO."},
		{{ORIGIN_BYPASSES}, NULL},
		{{READS_COUNTED, NOT(READS_MAY_HIDE)},
			"They did not go through the vDSO, which the program has: it calls "
			"syscall(2) directly, or its runtime bypasses the vDSO."},
		{{0}, "No cause is visible from outside. The program may call syscall(2) "
		      "directly, its runtime may bypass the vDSO, or its environment may "
		      "hide the vDSO."},
	};
	const struct trace_place *place;
	uint64_t count;
	const enum trace_origin origin = find_origin(f, &place, &count);
	size_t row = 0;
	char share[64] = "They";

	f->is[ORIGIN_UNKNOWN] = origin == TRACE_FROM_UNKNOWN;
	f->is[ORIGIN_BYPASSES] = origin == TRACE_FROM_LIBC || origin == TRACE_FROM_CODE;
	diagnosis->has_call_places = !f->is[ORIGIN_UNKNOWN] && origin != TRACE_FROM_VDSO;
	if (count != f->sums->avoidable)
		snprintf(share, sizeof(share), "Most of them (%.0f%%)",
			100 * (double)count / (double)f->sums->avoidable);
	if (!f->is[ORIGIN_UNKNOWN])
		ADD(&diagnosis->hints, "%s were made by %s", share, makers[origin]);
	if (f->is[ORIGIN_BYPASSES])
		text_append(diagnosis->hints.list[0], TRACE_TEXT_SIZE, "%s%s%s.", place->function,
			*place->function ? " in " : "",
			*place->module ? place->module : "code of no file");
	while (!applies(f, rows[row].condition))
		row++;
	if (rows[row].text)
		ADD(&diagnosis->hints, "%s", rows[row].text);
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

	snprintf(reason, sizeof(reason), "%s%s", trace->counted.reason,
		is_program ? "; '" COUNTS_THEM "' counts them" : "");
	if (!fact_is_known(&trace->counted))
		trace_miss(missed, MISSED_SYSTEM_CALLS, 0, reason);
	if (is_program && !fact_is_known(&trace->served) &&
		!trace_missed_count(missed, MISSED_PROGRAMS))
		trace_miss(missed, MISSED_SERVED_CALLS, 0, trace->served.reason);
	if (!is_program && !fact_is_known(&trace->served) &&
		!fact_is_known(&diagnosis->inside.fact))
		trace_miss(missed, MISSED_TIME, 0, diagnosis->inside.fact.reason);
}

/* Static C libraries make some before they know their vDSO. */
#define START_CALLS 10

static void set_findings(struct findings *f)
{
	const struct trace_evidence *trace = f->trace;
	const struct trace_request *request = trace->request;
	const struct entry_counts deciding = counts_deciding(&trace->host);
	const unsigned hides = trace_missed_hides(&f->diagnosis->missed);
	bool *const is = f->is;

	is[WHOLE_HOST] = request->target == TARGET_HOST;
	is[HOST_PROVEN] = fact_is_known(&trace->host.proof.fact);
	is[HOST_SERVED] = deciding.entered == 0 && deciding.failing == 0;
	is[CALLS_COUNTED] = fact_is_known(&trace->counted);
	is[CALLS_MAY_HIDE] = hides & HIDES_CALLS;
	is[READS_COUNTED] = fact_is_known(&trace->served);
	is[READS_MAY_HIDE] = hides & HIDES_READS;
	is[READS_SERVED] = f->sums->served > 0;
	is[AS_IF_FALLBACK] = request->as_if_fallback;
	is[NOT_AS_IF] = is[AS_IF_FALLBACK] &&
	                (!is[READS_COUNTED] || (is[READS_MAY_HIDE] && !f->sums->reads));
	is[PROGRAM_STATIC] = trace->program.is_static;
	is[PROGRAM_GLIBC] = trace->program.has_glibc;
	is[CALLS_MADE] = f->sums->avoidable > START_CALLS ||
	                 (f->sums->avoidable &&
				 !(is[HOST_SERVED] && is[PROGRAM_STATIC] && is[READS_COUNTED] &&
					 !is[READS_MAY_HIDE] && !request->counts_exactly));
}

void trace_judge(struct trace_report *report)
{
	const struct trace_evidence *trace = &report->trace;
	struct trace_diagnosis *diagnosis = &report->diagnosis;
	const bool is_host = trace->request->target == TARGET_HOST;
	const struct rule *rule = rules;
	struct findings findings = {.trace = trace,
		.diagnosis = diagnosis,
		.sums = &diagnosis->sums,
		.subject = is_host ? "the programs of this host" : "this program",
		.time = is_host ? &trace->duration_s : &trace->cpu_s,
		.of_time = is_host ? " of one CPU" : " of its CPU time",
		.summary = report->report.summary};

	*diagnosis = (struct trace_diagnosis){.missed = trace->missed};
	trace_costs_judge(trace, diagnosis);
	list_missed(trace, diagnosis);
	set_findings(&findings);
	if (fact_is_known(&trace->sigsys_row.fact)) {
		const struct trace_row *row = &trace->request->plan->rows[trace->sigsys_row.value];

		text_append(diagnosis->sigsys_call, sizeof(diagnosis->sigsys_call), "%s(%s)",
			row->call->name, row->clock);
	}
	while (!applies(&findings, rule->condition))
		rule++;
	report_answer(&report->report, &trace_answers[rule->verdict], rule->id, NULL, "%s", "");
	rule->say(&findings);
	if (rule->verdict == TRACE_FALLBACK && findings.is[HOST_SERVED] && !is_host)
		find_hints(&findings, diagnosis);
}
