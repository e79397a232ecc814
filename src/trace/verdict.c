/* SPDX-License-Identifier: MIT */
/*
 * Judges the counts. A call is avoidable if the vDSO serves it on this host, or is one of the
 * deciding calls, which it serves where the clocksource allows. Counts of other calls, such as
 * those of CPU-time clocks, say nothing of the vDSO.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "judge.h"
#include "served.h"

const char *const trace_verdict_names[] = {
	[TRACE_UNKNOWN] = "unknown",
	[TRACE_OK] = "ok",
	[TRACE_FALLBACK] = "fallback",
	[TRACE_COUNTED] = "counted",
	[TRACE_SIMULATED] = "simulated",
	NULL,
};

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

static bool always_falls_back(const struct call_evidence *call)
{
	const struct path_evidence *vdso = call ? &call->path[PATH_VDSO] : NULL;

	return vdso && vdso->attempts && vdso->entered == vdso->attempts;
}

static struct trace_line make_line(const struct trace_evidence *trace, size_t row)
{
	const struct evidence *host = &trace->host;
	const struct trace_row *planned = &trace->plan->rows[row];
	const struct call_evidence *call = find_call(host, planned);
	const bool served_here = call && is_served(call);
	const bool is_random = strcmp(planned->call->name, "getrandom") == 0;
	const double duration_s = trace->duration_s.value > 0 ? trace->duration_s.value : NAN;
	const uint64_t into_vdso = trace->vdso_calls[row];
	uint64_t count_32_bit = trace->counts[TRACE_COMPAT][row];
	uint64_t count = trace->counts[TRACE_NATIVE][row] + count_32_bit;
	struct trace_line line = {.call = planned->call->name,
		.clock = planned->clock,
		.count_32_bit = count_32_bit,
		.served = {.fact = trace->served},
		.syscall_ns = NAN,
		.vdso_ns = NAN,
		.cpu_share_percent = NAN};

	/*
	 * For some clocks clock_getres is always a system call. A host that is too busy to be
	 * measured has no evidence: as if it fell back, the calls into the vDSO are avoidable.
	 */
	if (call && !is_same_call(line.call, "clock_getres"))
		line.avoidable = call->decides || served_here;
	else if (!call)
		line.avoidable =
			call_decides(line.call, line.clock) || (trace->as_if_fallback && into_vdso);
	/* System calls that a filter refuses are not counted as such. */
	if (trace->as_if_fallback && !is_random && into_vdso > count)
		count = into_vdso;
	/*
	 * A call into the vDSO that falls back is counted as a system call, too: by its own name,
	 * or by another (measure/call.c).
	 */
	if (is_random || (served_here && !trace->as_if_fallback))
		line.served.value = (int64_t)into_vdso;
	else if (into_vdso > count && (count || !always_falls_back(call)))
		line.served.value = (int64_t)(into_vdso - count);
	if (served_here && fact_is_known(&call->path[PATH_VDSO].fact))
		line.vdso_ns = call->path[PATH_VDSO].min_ns;
	else if (call && !served_here && call->decides && fact_is_known(&host->copy.what_if_fact))
		line.vdso_ns = host->copy.what_if_ns;
	if (call && fact_is_known(&call->path[PATH_SYSCALL].fact)) {
		line.syscall_ns = call->path[PATH_SYSCALL].min_ns;
	} else if (fact_is_known(&host->timing.syscall_floor_fact)) {
		line.syscall_ns = host->timing.syscall_floor_ns;
		line.is_minimum = true;
	}
	line.count = count;
	line.total = count + (uint64_t)line.served.value;
	line.per_s = (double)count / duration_s;
	line.total_per_s = (double)line.total / duration_s;
	line.cost_s = cost_seconds((double)count, line.syscall_ns, 0);
	line.vdso_cost_s = cost_seconds((double)count, line.vdso_ns, 0);
	line.fallback_s = cost_seconds((double)line.total, line.syscall_ns, 0);
	line.total_s = count ? line.cost_s : 0;
	if (line.served.value)
		line.total_s += cost_seconds((double)line.served.value, line.vdso_ns, 0);
	if (fact_is_known(&trace->cpu_s.fact) && trace->cpu_s.value > 0)
		line.cpu_share_percent = 100 * line.cost_s / trace->cpu_s.value;
	return line;
}

static bool reads_clock(const struct trace_line *line)
{
	return is_same_call(line->call, "clock_gettime") ||
	       strcmp(line->call, "gettimeofday") == 0 || strcmp(line->call, "time") == 0;
}

static void add_line(struct trace_diagnosis *diagnosis, const struct trace_line *line)
{
	struct trace_sums *sums = &diagnosis->sums;
	double lost_s = cost_seconds((double)line->count, line->syscall_ns, line->vdso_ns);

	sums->calls += line->count;
	if (line->total)
		diagnosis->lines[diagnosis->line_count++] = *line;
	if (line->total && reads_clock(line)) {
		sums->reads.value += (int64_t)line->total;
		sums->reads_by_call += line->count;
		sums->reads_s += line->total_s;
		sums->fallback_s += line->fallback_s;
	}
	if (line->avoidable)
		sums->avoidable += line->count;
	if (line->avoidable && !isnan(lost_s)) {
		sums->avoidable_s += line->cost_s;
		fact_set_real(&sums->lost_s, sums->lost_s.value + lost_s);
	}
}

/* Says what made the most of the avoidable system calls; unknown, and no text, if it cannot. */
static enum trace_origin describe_origin(
	const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	const struct trace_place *place = trace->call_places.list;
	const struct trace_place *end = place + trace->call_places.count, *first = NULL;
	uint64_t all = 0, alike = 0;
	char *text = diagnosis->origin;

	for (; place < end; place++) {
		if (!make_line(trace, place->row).avoidable)
			continue;
		if (!first)
			first = place;
		all += place->count;
		alike += place->origin == first->origin ? place->count : 0;
	}
	if (!first || first->origin == TRACE_BY_UNKNOWN || alike < all / 2)
		return TRACE_BY_UNKNOWN;
	diagnosis->has_call_places = first->origin != TRACE_BY_VDSO;
	if (alike == all)
		text_append(text, TRACE_TEXT_SIZE, "They were made by ");
	else
		text_append(text, TRACE_TEXT_SIZE, "Most of them (%.0f%%) were made by ",
			100 * (double)alike / (double)all);
	if (first->origin == TRACE_BY_VDSO)
		text_append(text, TRACE_TEXT_SIZE,
			"the vDSO, which could not read the clock itself: the cause is not the "
			"program, but what it runs in. Run 'vdsocheck' there.");
	else if (first->origin == TRACE_BY_SYSCALL_FUNCTION)
		text_append(text, TRACE_TEXT_SIZE,
			"syscall(2) of libc, which the program calls in place of clock_gettime(3) "
			"or gettimeofday(2): these use the vDSO.");
	else
		text_append(text, TRACE_TEXT_SIZE, "%s: %s%s%s.",
			first->origin == TRACE_BY_LIBC ? "libc, which does not use the vDSO here"
						       : "code that does not call libc for it",
			first->function, *first->function ? " in " : "",
			*first->module ? first->module : "code of no file");
	return first->origin;
}

/* Says why only this program is affected: what made the calls, or else what is seen from outside.
 */
static void find_hints(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	const struct trace_program *program = &trace->program;
	const enum trace_origin origin = describe_origin(trace, diagnosis);
	const bool may_be_libc = origin != TRACE_BY_VDSO && origin != TRACE_BY_SYSCALL_FUNCTION;
	const char **hint = diagnosis->hints;

	if (origin != TRACE_BY_UNKNOWN)
		*hint++ = diagnosis->origin;
	if (may_be_libc && program->is_static)
		*hint++ = "It is statically linked: its libc does not use the vDSO if it is glibc "
			  "older than 2.31. Link it against a newer libc.";
	if (hint == diagnosis->hints && fact_is_known(&trace->served) && !trace->uncounted)
		*hint++ = "They did not go through the vDSO, which the program has: it calls "
			  "syscall(2) directly, or its runtime bypasses the vDSO.";
	else if (hint == diagnosis->hints)
		*hint++ = "No cause is visible from outside. The program may call syscall(2) "
			  "directly, its runtime may bypass the vDSO, or its environment may "
			  "hide the vDSO.";
	diagnosis->hint_count = (size_t)(hint - diagnosis->hints);
}

/* The text of a summary, and what its rules ask. */
struct view {
	const struct trace_evidence *trace;
	const struct trace_sums *sums;
	const char *subject;     /* "this program" */
	const char *sigsys_call; /* "": it got no SIGSYS for one */
	const struct trace_inside *inside;
	bool host_is_ok;
	bool has_reads;          /* those that the vDSO served were counted */
	bool counts_clock_calls; /* that the vDSO serves, or could */
};

__attribute__((format(printf, 2, 3))) static void say(char *text, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + used, TRACE_TEXT_SIZE - used, format, arguments);
	va_end(arguments);
}

/* Seconds of CPU time that the stop of a thread at a counted call takes, about. */
#define STOP_S 1e-5

/* The part of the program's CPU time that these seconds are; NAN: its CPU time is not known. */
static double cpu_share(const struct view *view, double seconds)
{
	const struct trace_evidence *trace = view->trace;
	double cpu_s = fact_is_known(&trace->cpu_s.fact) ? trace->cpu_s.value : 0;
	double stops_s = trace->cpu_inflated ? STOP_S * (double)view->sums->calls : 0;

	return cpu_s > 0 && stops_s < cpu_s / 20 ? seconds / cpu_s : NAN;
}

/* " (1.1% of its CPU time)" */
static void say_share(char *text, double share, const char *of)
{
	if (!isnan(share))
		say(text, " (%.2g%%%s)", 100 * share, of);
}

/* Adds what the avoidable calls took. */
static void say_loss(const struct view *view, char *text)
{
	const struct trace_sums *sums = view->sums;
	double duration_s = view->trace->duration_s.value;
	char cost[32], lost[32];

	if (!sums->avoidable || !fact_is_known(&sums->lost_s.fact))
		return;
	say(text, " %s took about %s", sums->avoidable == 1 ? "It" : "They",
		trace_describe_seconds(sums->avoidable_s, cost));
	if (view->trace->system_wide)
		say_share(
			text, duration_s > 0 ? sums->avoidable_s / duration_s : NAN, " of one CPU");
	else
		say_share(text, cpu_share(view, sums->avoidable_s), " of its CPU time");
	say(text, "; the vDSO would save %s.", trace_describe_seconds(sums->lost_s.value, lost));
}

/* Returns the least ns of a read by the vDSO on this host; NAN: it was not measured. */
static double least_read_ns(const struct evidence *host)
{
	double least = NAN;

	for (size_t i = 0; i < host->call_count; i++) {
		const struct call_evidence *call = &host->calls[i];

		if (call->decides && is_served(call) && fact_is_known(&call->path[PATH_VDSO].fact))
			least = fmin(least, call->path[PATH_VDSO].min_ns);
	}
	return least;
}

/*
 * The number of samples has the error of a Poisson distribution, its square root; more than three
 * times that, it is seldom off. A read takes at least as long as in a loop of reads: in a program
 * it waits for the instructions before it, too.
 */
static void judge_samples(const struct trace_evidence *trace, struct trace_inside *inside)
{
	const struct trace_sampled *sampled = &trace->sampled;
	const struct real_fact *base = trace->system_wide ? &trace->duration_s : &trace->cpu_s;
	double taken = (double)sampled->in_vdso, most = taken + 3 * sqrt(taken) + 3;
	double sample_s = (double)TRACE_SAMPLE_NS / NS_PER_SECOND, read_ns, call_ns;

	*inside = (struct trace_inside){
		sampled->fact, NAN, NAN, .reads_per_s_most = NAN, .fallback_percent_most = NAN};
	if (!fact_is_known(&sampled->fact))
		return;
	if (!fact_is_known(&base->fact) || base->value < sample_s) {
		fact_set(&inside->fact, FACT_ABSENT, "it used no CPU time");
		return;
	}
	inside->share_percent = 100 * taken * sample_s / base->value;
	inside->error_percent = 100 * (sampled->in_vdso ? sqrt(taken) : 3) * sample_s / base->value;
	read_ns = least_read_ns(&trace->host);
	call_ns = fact_is_known(&trace->host.timing.syscall_floor_fact)
	                  ? trace->host.timing.syscall_floor_ns
	                  : NAN;
	for (size_t i = 0; i < trace->host.call_count; i++) {
		const struct call_evidence *call = &trace->host.calls[i];

		if (call->decides && fact_is_known(&call->path[PATH_SYSCALL].fact))
			call_ns = fmax(call_ns, call->path[PATH_SYSCALL].min_ns);
	}
	inside->reads_per_s_most =
		most * sample_s * NS_PER_SECOND / read_ns / trace->duration_s.value;
	inside->fallback_percent_most = 100 * inside->reads_per_s_most * call_ns / NS_PER_SECOND;
}

/* Rounds a bound up to three digits: its last ones say nothing. */
static uint64_t round_up(double bound)
{
	double unit = fmax(1, pow(10, floor(log10(fmax(bound, 1))) - 2));

	return (uint64_t)(ceil(bound / unit) * unit);
}

/* Appends what the samples mean, a part of a sentence; inside->fact is known. */
static void say_vdso_share(const struct trace_evidence *trace, const struct trace_inside *inside,
	char *text, size_t size)
{
	const char *of = trace->system_wide ? "one CPU" : "its CPU time";
	/* One digit more than the error has. */
	int digits = inside->error_percent < 0.1 ? 2 : 1;
	char most[32];

	if (trace->sampled.in_vdso)
		text_append(text, size, "%.*f%% +/- %.*f%%", digits, inside->share_percent, digits,
			inside->error_percent);
	else
		text_append(text, size, "less than %.2g%%", inside->error_percent);
	text_append(text, size, " of %s is spent reading the clock in the vDSO", of);
	if (!isnan(inside->reads_per_s_most))
		text_append(text, size, ", at most %s reads per s",
			format_count(round_up(inside->reads_per_s_most), most));
}

/* Says how often the program read the clock. */
static void say_reads(const struct view *view, char *text)
{
	const uint64_t count = (uint64_t)view->sums->reads.value;
	double duration_s = view->trace->duration_s.value;
	char reads[32], rate[32];

	if (!count) {
		say(text, "this program did not read the clock");
		return;
	}
	say(text, "this program read the clock %s%s time%s",
		view->trace->uncounted || view->trace->let_go ? "at least " : "",
		format_count(count, reads), count == 1 ? "" : "s");
	if (duration_s > 0)
		say(text, " (%s per s)",
			format_count((uint64_t)((double)count / duration_s + 0.5), rate));
}

/* Says what the reads cost here, and would without the vDSO. */
static void say_costs(const struct view *view, char *text)
{
	const struct trace_sums *sums = view->sums;
	double share = cpu_share(view, sums->reads_s), rest = sums->fallback_s - sums->reads_s;
	char calls[32], cost[32], fallback[32];

	if (!sums->reads.value)
		return;
	if (sums->reads_by_call)
		say(text, ", %s of them by system call", format_count(sums->reads_by_call, calls));
	else
		say(text, ", never by system call");
	if (isnan(sums->reads_s) || isnan(sums->fallback_s))
		return;
	say(text, ". That took about %s", trace_describe_seconds(sums->reads_s, cost));
	say_share(text, share, " of its CPU time");
	say(text, "; where the vDSO cannot be used: %s",
		trace_describe_seconds(sums->fallback_s, fallback));
	say_share(text, cpu_share(view, sums->fallback_s) / (1 + cpu_share(view, rest)), "");
}

/* ---- the rules; the first that applies decides ---- */

static bool is_not_simulated(const struct view *view)
{
	return view->trace->as_if_fallback && !fact_is_known(&view->trace->served);
}

static void say_not_simulated(const struct view *view, char *text)
{
	say(text, "this program cannot be run as if this host fell back: %s",
		view->trace->served.reason);
}

static bool is_simulated_in_part(const struct view *view)
{
	return view->trace->as_if_fallback && view->trace->uncounted && !view->sums->reads.value;
}

static void say_simulated_in_part(const struct view *view, char *text)
{
	say(text, "this program did not run as if this host fell back: %s",
		view->trace->uncounted_why.reason);
}

static bool is_simulated(const struct view *view)
{
	return view->trace->as_if_fallback;
}

/* Answers what the program does where the vDSO cannot be used. */
static void say_simulated(const struct view *view, char *text)
{
	const struct trace_evidence *trace = view->trace;
	const uint64_t by_call = view->sums->reads_by_call;
	char count[32];

	say(text, "as if this host fell back, ");
	say_reads(view, text);
	if (view->sums->reads.value)
		say(text, ", %s by system call",
			by_call == (uint64_t)view->sums->reads.value
				? "always"
				: format_count(by_call, count));
	say(text, ".");
	say_loss(view, text);
	if (*view->sigsys_call)
		say(text,
			" It got %s for %s: its seccomp %s does not allow this system call, which "
			"the vDSO makes where it cannot read the clock itself.",
			trace->is_strict ? "SIGKILL" : "SIGSYS", view->sigsys_call,
			trace->is_strict ? "strict mode" : "filter");
	if (trace->refused)
		say(text,
			" %s of them failed: its seccomp filter does not allow these system calls.",
			format_count(trace->refused, count));
}

static bool is_not_counted(const struct view *view)
{
	return !fact_is_known(&view->trace->method_fact);
}

static void say_not_counted(const struct view *view, char *text)
{
	if (fact_is_known(&view->inside->fact)) {
		say_vdso_share(view->trace, view->inside, text, TRACE_TEXT_SIZE);
		say(text, "; ");
	}
	say(text, "the system calls of %s were not counted: %s.", view->subject,
		view->trace->method_fact.reason);
}

/* On a host that was not measured, the names say which calls a vDSO may serve. */
static bool counts_others_alone(const struct view *view)
{
	return !view->counts_clock_calls && (fact_is_known(&view->trace->host.proof.fact) ||
						    !served_has_call(view->trace->plan));
}

/* getrandom() is no clock call, but newer vDSOs have it. */
static bool has_served_call(const struct trace_evidence *trace)
{
	for (size_t i = 0; i < trace->host.vdso.export_count; i++) {
		enum served_call call =
			served_find_call(text_span(trace->host.vdso.exports[i].name));

		if (call < SERVED_CALL_COUNT &&
			trace_plan_call(trace->plan, served_calls[call].name))
			return true;
	}
	return false;
}

static void say_count(const struct view *view, char *text)
{
	const struct trace_evidence *trace = view->trace;
	char count[32], served[32];
	uint64_t sum = 0;

	for (size_t row = 0; row < trace->plan->row_count; row++)
		sum += trace->vdso_calls[row];
	say(text, "%s made %s of these system calls; ", view->subject,
		format_count(view->sums->calls, count));
	if (!has_served_call(trace))
		say(text, "the vDSO serves none of them.");
	else if (view->has_reads)
		say(text, "the vDSO served %s of the calls.", format_count(sum, served));
	else
		say(text, "what the vDSO served of them was not counted.");
}

/* The subject of what the calls are: the reads first, where they were counted. */
static void say_subject(const struct view *view, char *text)
{
	if (!view->has_reads || !view->sums->reads.value) {
		say(text, "%s", view->subject);
		return;
	}
	say_reads(view, text);
	say(text, ", and");
}

static bool is_not_proven(const struct view *view)
{
	return !fact_is_known(&view->trace->host.proof.fact);
}

static void say_not_proven(const struct view *view, char *text)
{
	const struct trace_sums *sums = view->sums;
	char count[32];

	say_subject(view, text);
	say(text,
		" made %s clock system calls; whether the vDSO serves them on this host is not "
		"proven: %s.",
		format_count(sums->avoidable ? sums->avoidable : sums->calls, count),
		view->trace->host.proof.fact.reason);
}

/* A C library makes some before it knows its vDSO: static ones where the host boots (glibc 2.36).
 */
#define START_CALLS 10

static bool has_avoidable(const struct view *view)
{
	bool may_be_start = view->host_is_ok && view->has_reads && !view->trace->uncounted &&
	                    !view->trace->system_wide;

	return view->sums->avoidable > (may_be_start ? START_CALLS : 0);
}

static void say_avoidable(const struct view *view, char *text)
{
	const struct trace_evidence *trace = view->trace;
	char count[32];

	say_subject(view, text);
	say(text, " made %s clock system call%s that the vDSO %s.",
		format_count(view->sums->avoidable, count), view->sums->avoidable == 1 ? "" : "s",
		!view->host_is_ok ? "does not serve on this host; run 'vdsocheck' for why"
		: trace->lists_groups
			? "serves on this host: programs of the groups listed below bypass the vDSO"
		: trace->system_wide
			? "serves on this host: the programs listed below bypass the vDSO"
			: "serves on this host: only this program is affected");
	say_loss(view, text);
}

static bool knows_reads(const struct view *view)
{
	return view->has_reads &&
	       (view->sums->reads.value ||
		       (view->host_is_ok && !view->trace->uncounted && !view->trace->let_go));
}

/* Programs that read the counter read the clock seldom, to set it by. */
#define SELDOM_PER_S 1000

static void say_served(const struct view *view, char *text)
{
	const struct trace_evidence *trace = view->trace;
	double per_s = (double)view->sums->reads.value / fmax(trace->duration_s.value, 1);

	say_reads(view, text);
	say_costs(view, text);
	say(text, ".");
	if (trace->program.reads_counter && per_s < SELDOM_PER_S)
		say(text,
			" Its code also reads the CPU's counter itself: such reads are not calls, "
			"and are not counted.");
}

static bool always(const struct view *view)
{
	(void)view;
	return true;
}

static void say_none(const struct view *view, char *text)
{
	say(text, "%s made no clock system call that the vDSO could serve%s", view->subject,
		view->host_is_ok ? ""
				 : "; clock_gettime() and gettimeofday() fall back on this host, "
				   "but were not called");
	if (fact_is_known(&view->inside->fact)) {
		say(text, "; ");
		say_vdso_share(view->trace, view->inside, text, TRACE_TEXT_SIZE);
	}
	say(text, ".");
}

static const struct rule {
	bool (*applies)(const struct view *view);
	enum trace_verdict verdict;
	void (*say)(const struct view *view, char *text);
} rules[] = {
	{is_not_simulated, TRACE_UNKNOWN, say_not_simulated},
	{is_simulated_in_part, TRACE_UNKNOWN, say_simulated_in_part},
	{is_simulated, TRACE_SIMULATED, say_simulated},
	{is_not_counted, TRACE_UNKNOWN, say_not_counted},
	{counts_others_alone, TRACE_COUNTED, say_count},
	{is_not_proven, TRACE_UNKNOWN, say_not_proven},
	{has_avoidable, TRACE_FALLBACK, say_avoidable},
	{knows_reads, TRACE_OK, say_served},
	{always, TRACE_OK, say_none},
};

void trace_diagnose(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	const struct rule *rule = rules;
	struct view view = {.trace = trace,
		.sums = &diagnosis->sums,
		.subject = trace->system_wide ? "the programs of this host" : "this program",
		.sigsys_call = diagnosis->sigsys_call,
		.inside = &diagnosis->inside,
		.host_is_ok = counts_deciding(&trace->host).entered == 0,
		.has_reads = fact_is_known(&trace->served)};

	*diagnosis = (struct trace_diagnosis){
		.is_counted = fact_is_known(&trace->method_fact), .sums.reads.fact = trace->served};
	for (size_t row = 0; row < trace->plan->row_count; row++) {
		struct trace_line line = make_line(trace, row);

		view.counts_clock_calls |= line.avoidable;
		add_line(diagnosis, &line);
	}
	if (fact_is_known(&trace->sigsys_row.fact)) {
		const struct trace_row *row = &trace->plan->rows[trace->sigsys_row.value];

		text_append(diagnosis->sigsys_call, sizeof(diagnosis->sigsys_call), "%s(%s)",
			row->call->name, row->clock);
	}
	judge_samples(trace, &diagnosis->inside);
	while (!rule->applies(&view))
		rule++;
	diagnosis->verdict = rule->verdict;
	rule->say(&view, diagnosis->summary);
	if (diagnosis->verdict == TRACE_FALLBACK && view.host_is_ok && !trace->system_wide)
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
