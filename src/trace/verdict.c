/* SPDX-License-Identifier: MIT */
/*
 * Judges the counts: the first rule that applies gives the verdict and the sentence. Where only
 * this program is affected, it says what made the system calls.
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

/* The summary, and what its parts and the rules ask. */
struct view {
	const struct trace_evidence *trace;
	const struct trace_diagnosis *diagnosis;
	const struct trace_sums *sums; /* of the diagnosis */
	const char *subject;           /* "this program" */
	const struct real_fact *time;  /* that costs are a part of */
	const char *of_time;           /* " of its CPU time" */
	bool host_is_ok;
	bool has_reads;    /* those that the vDSO served were counted */
	bool misses_calls; /* some system calls may not have been counted */
	char *summary;
};

/* Adds a sentence. */
#define ADD(texts, ...) text_append((texts)->list[(texts)->count++], TRACE_TEXT_SIZE, __VA_ARGS__)

/* ---- why only this program is affected ---- */

/* Says what made the most of the avoidable system calls; unknown, and no text, if it cannot. */
static enum trace_origin describe_origin(
	const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	static const char *const makers[] = {
		[TRACE_FROM_VDSO] = "the vDSO, which could not read the clock itself: the cause is "
				    "not the program, but what it runs in. Run 'vdsocheck' there.",
		[TRACE_FROM_SYSCALL_FUNCTION] =
			"syscall(2) of libc, which the program calls in place of clock_gettime(3) "
			"or gettimeofday(2): these use the vDSO.",
		[TRACE_FROM_LIBC] = "libc, which does not use the vDSO here",
		[TRACE_FROM_CODE] = "code that does not call libc for it",
	};
	const struct trace_place *first[ARRAY_SIZE(makers)] = {NULL}, *place;
	const uint64_t all = diagnosis->sums.avoidable;
	uint64_t sums[ARRAY_SIZE(makers)] = {0};
	enum trace_origin origin = TRACE_FROM_UNKNOWN;
	char share[64] = "They";

	for (size_t i = 0; i < trace->call_places.count; i++) {
		place = &trace->call_places.list[i];
		if (!diagnosis->avoidable[place->row])
			continue;
		if (!first[place->origin])
			first[place->origin] = place;
		sums[place->origin] += place->count;
		if (sums[place->origin] > sums[origin])
			origin = place->origin;
	}
	/* The list has those places only that are shown. */
	if (origin == TRACE_FROM_UNKNOWN || sums[origin] < all / 2)
		return TRACE_FROM_UNKNOWN;
	place = first[origin];
	diagnosis->has_call_places = origin != TRACE_FROM_VDSO;
	if (sums[origin] != all)
		snprintf(share, sizeof(share), "Most of them (%.0f%%)",
			100 * (double)sums[origin] / (double)all);
	ADD(&diagnosis->hints, "%s were made by %s", share, makers[origin]);
	if (origin == TRACE_FROM_LIBC || origin == TRACE_FROM_CODE)
		text_append(diagnosis->hints.list[0], TRACE_TEXT_SIZE, ": %s%s%s.", place->function,
			*place->function ? " in " : "",
			*place->module ? place->module : "code of no file");
	return origin;
}

/* What made the calls, or else what is seen from outside. */
static void find_hints(const struct view *v, struct trace_diagnosis *diagnosis)
{
	const struct trace_evidence *trace = v->trace;
	const enum trace_origin origin = describe_origin(trace, diagnosis);
	struct trace_texts *hints = &diagnosis->hints;

	if (origin != TRACE_FROM_VDSO && origin != TRACE_FROM_SYSCALL_FUNCTION &&
		trace->program.is_static)
		ADD(hints,
			trace->program.has_glibc
				? "It is statically linked: glibc before 2.31 does not use the "
				  "vDSO then. Link it against a newer one."
				: "It is statically linked, without glibc: its runtime makes the "
				  "calls itself. clock_gettime() of a C library uses the vDSO.");
	if (!hints->count)
		ADD(hints, v->has_reads && !trace->uncounted
				   ? "They did not go through the vDSO, which the program has: it "
				     "calls syscall(2) directly, or its runtime bypasses the vDSO."
				   : "No cause is visible from outside. The program may call "
				     "syscall(2) directly, its runtime may bypass the vDSO, or its "
				     "environment may hide the vDSO.");
}

/* ---- the sentence, in parts ---- */

/* What counts the system calls of a program, stops it at each, and needs no privileges. */
#define COUNTS_THEM "strace -f -c -e trace=clock_gettime,gettimeofday"

#define SAY(view, ...) text_append((view)->summary, REPORT_SENTENCE_SIZE, __VA_ARGS__)

/* Calls that were not counted make a count the least. */
static const char *at_least(const struct view *v)
{
	return v->misses_calls ? "at least " : "";
}

/* The digits behind the point of two that count, of which four are printed at most. */
static int digits_of(double percent)
{
	return percent > 0 ? (int)fmin(fmax(1 - floor(log10(percent)), 0), 4) : 0;
}

/* Less than this has no digit that is printed. */
#define LEAST_PERCENT 0.0001

/*
 * Adds " (1.1% of its CPU time)", which `more_s` are added to, if all that made the calls is part
 * of that time.
 */
static void say_share(const struct view *v, double seconds, double more_s, const char *of)
{
	const double percent = 100 * seconds / (v->time->value + more_s);

	if (v->time == &v->trace->cpu_s && (v->trace->cpu_is_partial || percent > 100))
		return;
	if (fact_is_known(&v->time->fact) && v->time->value > 0 && percent >= LEAST_PERCENT)
		SAY(v, " (%.*f%%%s)", digits_of(percent), percent, of);
}

/* Adds what the avoidable calls took. */
static void say_loss(const struct view *v)
{
	const struct trace_sums *sums = v->sums;

	if (!sums->avoidable || !fact_is_known(&sums->lost_s.fact))
		return;
	SAY(v, " %s took about %s", sums->avoidable == 1 ? "It" : "They",
		as_seconds(sums->avoidable_s));
	say_share(v, sums->avoidable_s, 0, v->of_time);
	SAY(v, "; the vDSO would save %s.", as_seconds(sums->lost_s.value));
}

/* Rounds a bound up to three digits: its last ones say nothing. */
static uint64_t round_up(double bound)
{
	double unit = fmax(1, pow(10, floor(log10(fmax(bound, 1))) - 2));

	return (uint64_t)(ceil(bound / unit) * unit);
}

/* Adds what the samples mean, a part of a sentence; false: there are none. */
static bool say_inside(const struct view *v)
{
	const struct trace_inside *inside = &v->diagnosis->inside;
	/* One digit more than the error has. */
	int digits = inside->error_percent < 0.1 ? 2 : 1;

	if (!fact_is_known(&inside->fact))
		return false;
	if (v->trace->sampled.in_vdso >= TRACE_FEW_SAMPLES)
		SAY(v, "%.*f%% +/- %.*f%%", digits, inside->share_percent, digits,
			inside->error_percent);
	else
		SAY(v, "less than %.*f%%", digits_of(inside->most_percent),
			fmax(inside->most_percent, LEAST_PERCENT));
	SAY(v, "%s is spent reading the clock in the vDSO", v->of_time);
	if (!isnan(inside->reads_per_s_most))
		SAY(v, ", at most %s reads per s", as_count(round_up(inside->reads_per_s_most)));
	return true;
}

/* Adds how often the program read the clock. */
static void say_reads(const struct view *v)
{
	double duration_s = v->trace->duration_s.value;

	if (!v->sums->reads) {
		SAY(v, "this program did not read the clock");
		return;
	}
	SAY(v, "this program read the clock %s%s time%s",
		v->trace->uncounted || v->trace->let_go ? "at least " : at_least(v),
		as_count(v->sums->reads), v->sums->reads == 1 ? "" : "s");
	if (duration_s > 0)
		SAY(v, " (%s per s)",
			as_count((uint64_t)((double)v->sums->reads / duration_s + 0.5)));
}

/* Adds that, and how many of the reads were system calls. */
static void say_read_calls(const struct view *v)
{
	const uint64_t by_call = v->sums->reads_by_call;

	say_reads(v);
	if (v->sums->reads)
		SAY(v, ", %s by system call",
			by_call == 0                ? "never"
			: by_call == v->sums->reads ? "always"
						    : as_count(by_call));
}

/* Adds what the reads cost here, and would without the vDSO. */
static void say_costs(const struct view *v)
{
	const struct trace_sums *sums = v->sums;

	if (!sums->reads || isnan(sums->reads_s) || isnan(sums->fallback_s))
		return;
	SAY(v, ". That took about %s", as_seconds(sums->reads_s));
	say_share(v, sums->reads_s, 0, v->of_time);
	SAY(v, "; where the vDSO cannot be used: %s", as_seconds(sums->fallback_s));
	say_share(v, sums->fallback_s, sums->fallback_s - sums->reads_s, "");
}

/* Adds the subject of what the calls are: the reads first, where they were counted. */
static void say_subject(const struct view *v)
{
	if (v->has_reads && v->sums->reads) {
		say_reads(v);
		SAY(v, ", and");
	} else {
		SAY(v, "%s", v->subject);
	}
}

/* ---- the answers ---- */

static void say_not_simulated(const struct view *v)
{
	SAY(v, "this program did not run as if this host fell back: %s.",
		v->has_reads ? v->trace->uncounted_why.reason : v->trace->served.reason);
}

/* What the program does where the vDSO cannot be used. */
static void say_simulated(const struct view *v)
{
	const struct trace_evidence *trace = v->trace;

	SAY(v, "as if this host fell back, ");
	say_read_calls(v);
	SAY(v, ".");
	say_loss(v);
	if (*v->diagnosis->sigsys_call)
		SAY(v,
			" It got %s for %s: its seccomp %s does not allow this system call, which "
			"the vDSO makes where it cannot read the clock itself.",
			trace->is_strict ? "SIGKILL" : "SIGSYS", v->diagnosis->sigsys_call,
			trace->is_strict ? "strict mode" : "filter");
	if (trace->refused)
		SAY(v, " %s of them failed: its seccomp filter does not allow these system calls.",
			as_count(trace->refused));
}

static void say_not_counted(const struct view *v)
{
	if (say_inside(v))
		SAY(v, "; ");
	SAY(v, "the system calls of %s were not counted: %s.", v->subject,
		v->trace->method_fact.reason);
	if (v->trace->request->target == TARGET_PROGRAM)
		SAY(v, " '%s' counts them.", COUNTS_THEM);
}

/* The calls that bypass the vDSO may be many. */
static void say_served_alone(const struct view *v)
{
	const uint64_t unproven = v->sums->reads_unproven;

	say_reads(v);
	SAY(v, " through the vDSO, which serves ");
	if (unproven)
		SAY(v, "%s of them; whether it serves the others is not known",
			as_count(v->sums->reads - unproven));
	else
		SAY(v, "them");
	say_costs(v);
	SAY(v, ". System calls that bypass it were not counted.");
}

static void say_not_proven(const struct view *v)
{
	say_subject(v);
	SAY(v,
		" made %s%s clock system calls; whether the vDSO serves them on this host is "
		"not proven: %s.",
		at_least(v), as_count(v->sums->avoidable ? v->sums->avoidable : v->sums->calls),
		v->trace->host.proof.fact.reason);
}

static void say_avoidable(const struct view *v)
{
	say_subject(v);
	SAY(v, " made %s%s clock system call%s that the vDSO %s.", at_least(v),
		as_count(v->sums->avoidable), v->sums->avoidable == 1 ? "" : "s",
		!v->host_is_ok ? "does not serve on this host; run 'vdsocheck' for why"
			       : "serves on this host: only this program is affected");
	say_loss(v);
}

/* What is asked of a host that the vDSO serves is the host. */
static void say_bypassed(const struct view *v)
{
	const uint64_t count = v->trace->callers.bypassing;

	SAY(v, "the vDSO serves this host; %s process%s it (%s%s calls", as_count(count),
		count == 1 ? " bypasses" : "es bypass", at_least(v), as_count(v->sums->avoidable));
	if (v->sums->avoidable_s > 0 && v->time->value > 0)
		SAY(v, ", %.*f%%%s", digits_of(100 * v->sums->avoidable_s / v->time->value),
			100 * v->sums->avoidable_s / v->time->value, v->of_time);
	SAY(v, ")");
	if (fact_is_known(&v->diagnosis->inside.fact))
		SAY(v, "; ");
	(void)say_inside(v);
	SAY(v, ".");
}

static void say_served(const struct view *v)
{
	say_read_calls(v);
	say_costs(v);
	SAY(v, ".");
}

static void say_none(const struct view *v)
{
	say_subject(v);
	if (v->misses_calls)
		SAY(v, " may have made clock system calls that the vDSO could serve: not all "
		       "system calls were counted");
	else
		SAY(v, " made no clock system call that the vDSO could serve%s",
			v->host_is_ok ? ""
				      : "; clock_gettime() and gettimeofday() fall back on this "
					"host, but were not called");
	if (fact_is_known(&v->diagnosis->inside.fact))
		SAY(v, "; ");
	(void)say_inside(v);
	SAY(v, ".");
}

/* Static C libraries make some before they know their vDSO. */
#define START_CALLS 10

/* The first rule that applies decides. */
static void answer(struct report *report, const struct view *v)
{
	const struct trace_evidence *trace = v->trace;
	const bool as_if = trace->request->as_if_fallback;
	const bool is_proven = fact_is_known(&trace->host.proof.fact);
	const bool is_counted = fact_is_known(&trace->method_fact);
	const bool knows_reads =
		v->has_reads &&
		(v->sums->reads || (v->host_is_ok && !trace->uncounted && !trace->let_go));
	const bool may_be_start =
		v->host_is_ok && v->has_reads && !trace->uncounted && trace->program.is_static;
	const struct rule {
		bool applies;
		enum trace_verdict verdict;
		void (*say)(const struct view *v);
	} rules[] = {
		{as_if && (!v->has_reads || (trace->uncounted && !v->sums->reads)), TRACE_UNKNOWN,
			say_not_simulated},
		{as_if, TRACE_SIMULATED, say_simulated},
		{!is_counted && v->has_reads && is_proven && v->sums->avoidable, TRACE_FALLBACK,
			say_avoidable},
		{!is_counted && v->has_reads && is_proven && v->host_is_ok && v->sums->served,
			TRACE_SERVED, say_served_alone},
		{!is_counted, TRACE_UNKNOWN, say_not_counted},
		{!is_proven, TRACE_UNKNOWN, say_not_proven},
		{v->sums->avoidable && v->host_is_ok && trace->request->target == TARGET_HOST,
			TRACE_OK, say_bypassed},
		{v->sums->avoidable > (may_be_start ? START_CALLS : 0), TRACE_FALLBACK,
			say_avoidable},
		{v->misses_calls, TRACE_UNKNOWN, say_none},
		{knows_reads, TRACE_OK, say_served},
		{true, TRACE_OK, say_none},
	};
	const struct rule *rule = rules;

	while (!rule->applies)
		rule++;
	report_answer(report, &trace_answers[rule->verdict], NULL, NULL, "%s", "");
	rule->say(v);
}

/* ---- what was not counted, or not as it would be without us ---- */

static const struct {
	size_t member;            /* of struct trace_evidence, a uint64_t */
	const char *one, *plural; /* "process", "es" */
	const char *text;
} notes[] = {
	{offsetof(struct trace_evidence, let_go), "program", "s",
		"may call ptrace(2) and had to be let go: what was started from there is not "
		"counted"},
	{offsetof(struct trace_evidence, threads_uncounted), "thread", "s",
		"could not be counted: more ran than can be followed at once"},
	{offsetof(struct trace_evidence, calls_missed), "system call", "s",
		"of this host did not reach the BPF programs, in which other threads were "
		"preempted: counts may be too low"},
	{offsetof(struct trace_evidence, weakened), "program", "s",
		"ran without the privileges of set-user-ID or of file capabilities, being traced: "
		"run it as root"},
};

_Static_assert(ARRAY_SIZE(notes) + 1 < ARRAY_SIZE(((struct trace_texts *)NULL)->list),
	"there are two more, of system calls and of served ones");

static void find_notes(const struct view *v, struct trace_texts *texts)
{
	const struct trace_evidence *trace = v->trace;

	if (v->has_reads && v->sums->reads && !fact_is_known(&trace->method_fact))
		ADD(texts, "system calls are not counted: %s. %s'%s' counts them.",
			trace->method_fact.reason,
			v->sums->avoidable
				? "Those in the vDSO are known: each call into it is one. "
				: "",
			COUNTS_THEM);
	if (!v->has_reads && trace->request->target == TARGET_PROGRAM)
		ADD(texts, "served calls are not counted: %s", trace->served.reason);
	else if (trace->uncounted)
		ADD(texts, "served calls of %s executed program%s are not counted: %s",
			as_count(trace->uncounted), trace->uncounted == 1 ? "" : "s",
			trace->uncounted_why.reason);
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		uint64_t count = *(const uint64_t *)((const char *)trace + notes[i].member);

		if (count)
			ADD(texts, "%s %s%s %s", as_count(count), notes[i].one,
				count == 1 ? "" : notes[i].plural, notes[i].text);
	}
}

void trace_judge(struct trace_report *report)
{
	const struct trace_evidence *trace = &report->trace;
	const struct trace_plan *plan = trace->request->plan;
	struct trace_diagnosis *diagnosis = &report->diagnosis;
	const bool is_host = trace->request->target == TARGET_HOST;
	const struct entry_counts deciding = counts_deciding(&trace->host);
	struct view view = {.trace = trace,
		.diagnosis = diagnosis,
		.sums = &diagnosis->sums,
		.subject = is_host ? "the programs of this host" : "this program",
		.time = is_host ? &trace->duration_s : &trace->cpu_s,
		.of_time = is_host ? " of one CPU" : " of its CPU time",
		.host_is_ok = deciding.entered == 0 && deciding.failing == 0,
		.has_reads = fact_is_known(&trace->served),
		.misses_calls = trace->calls_missed || trace->threads_uncounted,
		.summary = report->report.summary};

	*diagnosis = (struct trace_diagnosis){.line_count = 0};
	trace_costs_judge(trace, diagnosis);
	if (fact_is_known(&trace->sigsys_row.fact)) {
		const struct trace_row *row = &plan->rows[trace->sigsys_row.value];

		text_append(diagnosis->sigsys_call, sizeof(diagnosis->sigsys_call), "%s(%s)",
			row->call->name, row->clock);
	}
	answer(&report->report, &view);
	find_notes(&view, &diagnosis->notes);
	if (report->report.answer == &trace_answers[TRACE_FALLBACK] && view.host_is_ok && !is_host)
		find_hints(&view, diagnosis);
}
