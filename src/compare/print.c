/* SPDX-License-Identifier: MIT */
/*
 * Prints the result of `vdsocheck compare`: the fields of its document, which are the columns of
 * its table, too; and for people, what the switches left behind, and advice. Commands are printed
 * whole, so that they can be pasted.
 */
#include <inttypes.h>
#include <string.h>

#include "model.h"

#define COUNT(name, member) INTEGER(name, member, INT64_MAX)

/* ---- the calls of a candidate; `whole` is its evidence ---- */

static json_t *call_reason(const void *object, const void *whole)
{
	const struct evidence *evidence = whole;
	const struct call_evidence *call = object;
	bool complete = call->path[call_judged_path(call)].attempts > 0;

	for (int path = 0; path < PATH_COUNT; path++)
		complete &= fact_is_known(&call->path[path].fact);
	if (!fact_is_known(&evidence->timing.fact))
		return field_reason(&evidence->timing.fact);
	if (!fact_is_known(&evidence->proof.fact))
		return field_reason(&evidence->proof.fact);
	return complete ? json_null()
	                : json_string("absent: the call is not available by every path");
}

#define OF struct call_evidence
#define TIMED(name, by, how)                                                                       \
	NS(name, path[by].min_ns),                                                                 \
		.fact = FACT(path[by].fact),                                                       \
		.doc = "ns per call by " how ", least of all batches; null: not timed"
#define COMPUTED_COUNT(name, function) COMPUTED(name, FIELD_INTEGER, function), .most = INT64_MAX

static const struct field call_fields[] = {
	{TEXT("call", call), .options = FIELD_FILLED, .doc = "name of the call"},
	{TEXT("clock", clock), .doc = "clock that it reads; null: the call takes none"},
	{TIMED("vdso_ns", PATH_VDSO, "the vDSO")},
	{TIMED("libc_ns", PATH_LIBC, "libc")},
	{TIMED("syscall_ns", PATH_SYSCALL, "raw system call")},
	{COMPUTED_COUNT("entered_kernel", call_entered),
		.doc = "calls that entered the kernel under the proof, by the vDSO or else by "
		       "libc; null: not proven"},
	{COMPUTED_COUNT("attempts", call_attempts),
		.doc = "calls that were made under the proof, by the vDSO or else by libc; null: "
		       "not proven"},
	{COMPUTED("reason", FIELD_REASON, call_reason),
		.doc = "why times or counts are null; else null"},
	{0},
};

/* ---- its clocks ---- */

#undef OF
#define OF struct warp_result

static const struct field clock_fields[] = {
	{.key = "clock", .kind = FIELD_INLINE, .fields = warp_clock_fields},
	{COUNT("max_offset_ns", max_offset.value), .fact = FACT(max_offset.fact),
		.whole = FACT(fact), .reason = "reason",
		.doc = "upper bound in ns on the offset between the clocks of any two CPUs"},
	{REASON("reason"), .fact = FACT(fact),
		.doc = "why the clock was not tested or the bound is null; null: neither"},
	{0},
};

/* ---- cells of the screen's table; `whole` is the struct compare ---- */

static void print_name(const void *object, const void *whole, FILE *out)
{
	const struct compare *compare = whole;
	const struct candidate *candidate = object;

	fprintf(out, "%s%s%s", candidate->name, candidate->in_use ? " (in use)" : "",
		candidate == compare->fastest ? " *" : "");
}

static void print_syscall(const void *object, const void *whole, FILE *out)
{
	const struct call_evidence *call =
		clock_gettime_of(&((const struct candidate *)object)->evidence, "CLOCK_MONOTONIC");

	(void)whole;
	if (call && fact_is_known(&call->path[PATH_SYSCALL].fact))
		fputs(as_ns(call->path[PATH_SYSCALL].min_ns), out);
}

static void print_entered(const void *object, const void *whole, FILE *out)
{
	const struct candidate *candidate = object;
	const struct entry_counts *counts = &candidate->entries;

	(void)whole;
	if (!fact_is_known(&candidate->fact))
		return;
	if (!counts->attempts)
		fputs("not proven", out);
	else if (counts->entered == 0)
		fputs("never", out);
	else if (counts->entered == counts->attempts)
		fputs("always", out);
	else
		fprintf(out, "%" PRIu64 " of %" PRIu64, counts->entered, counts->attempts);
}

/* The size of the largest warp. */
static void print_warps(const void *object, const void *whole, FILE *out)
{
	const struct candidate *candidate = object;
	int64_t size = 0;

	(void)whole;
	if (!fact_is_known(&candidate->fact))
		return;
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		const struct warp_result *result = &candidate->warp.results[id];

		if (fact_is_known(&result->fact) && result->largest_ns > size)
			size = result->largest_ns;
	}
	if (!fact_is_known(&candidate->warp.fact))
		fputs("not tested", out);
	else if (candidate->warps > 0)
		fputs(as_seconds((double)size / NS_PER_SECOND), out);
	else
		fputs(candidate->warp.cpu_count < 2 ? "one CPU" : "none", out);
}

/* ---- candidates ---- */

static json_t *candidate_calls(const void *object, const void *whole)
{
	const struct evidence *evidence = &((const struct candidate *)object)->evidence;

	(void)whole;
	return field_list(call_fields, evidence->calls, evidence->call_count,
		sizeof(evidence->calls[0]), evidence);
}

/* CANDIDATE_CLOCKS are all clocks after the counter. */
static json_t *candidate_clocks(const void *object, const void *whole)
{
	const struct warp_evidence *warp = &((const struct candidate *)object)->warp;

	return field_list(clock_fields, &warp->results[WARP_COUNTER + 1],
		WARP_CLOCK_COUNT - WARP_COUNTER - 1, sizeof(warp->results[0]), whole);
}

static const struct field timing_element[] = {
	{.key = "",
		.kind = FIELD_REAL,
		.options = FIELD_FILLED,
		.decimals = 1,
		.most = DOCUMENT_NS_MAX},
	{0},
};

#undef OF
#define OF struct candidate
#define PROVEN(name, member) COUNT(name, member), .fact = FACT(proven), .reason = "reason"
#define TESTED(name, member)                                                                       \
	COUNT(name, member), .fact = FACT(warp.fact), .whole = FACT(fact), .reason = "reason"
#define COMPUTED_LIST(name, function, rows)                                                        \
	COMPUTED(name, FIELD_LIST, function), .fields = (rows), .fact = FACT(fact),                \
					      .reason = "reason"

static const struct field candidate_fields[] = {
	{TEXT("name", name), .options = FIELD_FILLED, .title = "clock_gettime MONOTONIC, ns",
		.left = true, .cell = print_name, .doc = "name of the clocksource"},
	{WORD("state", state, candidate_state_names),
		.doc = "not-tested: refused, failed, or another one was in use in between; "
		       "incomplete: not measured in full; warps: a clock ran backwards; "
		       "measured: in full"},
	{FLAG("in_use", in_use), .doc = "whether it was in use before the run"},
	{WORD("gain", gain, candidate_gain_names),
		.doc = "gain over the one in use; vdso: no longer a system call; cost: cheaper; "
		       "no-warps: the one in use ran backwards; none: no clear one"},
	{NS("cost_ns", cost_ns), .reason = "reason", .title = "vDSO", .width = 6,
		.doc = "ns per clock_gettime(CLOCK_MONOTONIC), least of its timings"},
	{NS("spread_ns", spread_ns), .reason = "reason", .options = FIELD_SPARE, .title = "spread",
		.width = 7, .doc = "ns between the largest and the least of its timings"},
	{TEXT("syscall", name), .options = FIELD_COLUMN | FIELD_SPARE, .title = "syscall",
		.width = 8, .cell = print_syscall},
	{LIST("timings_ns", timings_ns, timing_count, timing_element), .fact = FACT(fact),
		.reason = "reason",
		.doc = "its timings, ns per clock_gettime(CLOCK_MONOTONIC) each"},
	{PROVEN("entered_kernel", entries.entered), .title = "in kernel", .left = true,
		.cell = print_entered,
		.doc = "deciding calls that entered the kernel under the proof"},
	{PROVEN("attempts", entries.attempts),
		.doc = "deciding calls that were made under the proof"},
	{TESTED("warps", warps), .title = "warps", .left = true, .cell = print_warps,
		.doc = "readings that were earlier than one already taken, of all clocks"},
	{TESTED("warp_cpus", warp.cpu_count), .doc = "CPUs that were tested for warps"},
	{COMPUTED_LIST("calls", candidate_calls, call_fields),
		.doc = "times and counts of the deciding calls"},
	{COMPUTED_LIST("clocks", candidate_clocks, clock_fields),
		.doc = "clocks that were tested for warps"},
	{STRING("reason", reason), .doc = "why it was not measured, or not in full; null: it was"},
	{0},
};

/* ---- the run ---- */

#undef OF
#define OF struct run

static const struct field run_fields[] = {
	{KNOWN("restored", restored_fact),
		.doc = "whether the original clocksource is in use again; false: see "
		       "restored_reason"},
	{REASON("restored_reason"), .fact = FACT(restored_fact),
		.doc = "why the original clocksource is not in use again; null: it is"},
	{OBJECT("ntp_before", before, ntp_fields),
		.doc = "synchronization of the clock before the run"},
	{OBJECT("ntp_after", after, ntp_fields),
		.doc = "synchronization of the clock after the run"},
	{LIST_AT("clocksources", candidates, count, candidate_fields),
		.doc = "clocksources that were tried, the one in use before the first"},
	{REASON("reason"), .fact = FACT(why), .doc = "why the run ended early; null: it did not"},
	{0},
};

/* ---- the document ---- */

#undef OF
#define OF struct compare

static json_t *advised_name(const void *object, const void *whole)
{
	(void)whole;
	return json_string(((const struct compare *)object)->advised->name);
}

static const struct field advice_fields[] = {
	{COMPUTED("to", FIELD_STRING, advised_name), .doc = "clocksource to change to"},
	{TEXT("command", command), .doc = "command that changes to it, one line for the shell"},
	{TEXT("kernel_parameter", parameter), .doc = "boot parameter that makes the change last"},
	{TEXT("undo", undo), .doc = "command that takes it back, one line for the shell"},
	{TEXT("risk", risk), .options = FIELD_FILLED, .doc = "what may go wrong"},
	{0},
};

const struct field compare_fields[] = {
	{FLAG("rehearsal", rehearsal),
		.doc = "whether it ran on a tree (--sysroot): each clocksource was measured on the "
		       "clock of this host, which did not change"},
	{INLINE(host, surroundings_fields)},
	{TEXT("original", sw.original), .doc = "clocksource in use before the run"},
	{TEXT("fastest", fastest_name.value), .fact = FACT(fastest_name.fact),
		.reason = "fastest_reason", .doc = "fastest clocksource without a warp"},
	{REASON("fastest_reason"), .doc = "why fastest is null; else null"},
	{REAL("duration_s", warp_s, 3), .options = FIELD_FILLED,
		.doc = "seconds that each clocksource was tested for warps"},
	{INLINE(run, run_fields)},
	/* The members of this object are those of the whole. */
	{.key = "advice",
		.kind = FIELD_OBJECT,
		.fields = advice_fields,
		.fact = FACT(report.advice_fact),
		.reason = "advice_reason",
		.doc = "how to change the clocksource"},
	{REASON("advice_reason"), .doc = "why no change is recommended; null: one is"},
	{0},
};

/* ---- the text ---- */

static void write_table(const struct compare *compare, struct page *page)
{
	static const char *const states[] = {[CANDIDATE_NOT_TESTED] = "not tested",
		[CANDIDATE_INCOMPLETE] = "incomplete",
		[CANDIDATE_WARPS] = "ran backwards"};
	const struct run *run = &compare->run;
	const struct candidate *fastest = compare->fastest;

	page_table(page, &(struct table){.fields = candidate_fields,
				 TABLE_ROWS(run->candidates, run->count),
				 .whole = compare});
	if (fastest && fastest->state == CANDIDATE_MEASURED && fastest->warp.cpu_count > 1)
		fprintf(page->out, "  * fastest, no warp in %g s on %zu CPUs\n", compare->warp_s,
			fastest->warp.cpu_count);
	else if (fastest)
		fputs("  * fastest\n", page->out);
	for (size_t i = 0; i < run->count; i++) {
		const struct candidate *candidate = &run->candidates[i];
		struct strbuf sb = {.used = 0};

		if (*candidate->reason)
			strbuf_add(&sb, "%s %s: %s", candidate->name, states[candidate->state],
				candidate->reason);
		else if (candidate->warp.cpu_count < candidate->warp_allowed)
			strbuf_add(&sb, "%s: tested for warps on %zu of %zu CPUs", candidate->name,
				candidate->warp.cpu_count, candidate->warp_allowed);
		else
			continue;
		fputs("  ", page->out);
		wrap_text(page->out, 2, 4, sb.text);
	}
	fputc('\n', page->out);
}

static void write_command(
	struct page *page, const char *label, const char *text, const char *command)
{
	page_line(page, label, "%s", text);
	page_end(page);
	fputs("    ", page->out);
	wrap_command(page->out, 4, 6, command);
}

void compare_text(const void *data, struct page *page)
{
	const struct compare *compare = data;
	const struct run *run = &compare->run;

	write_table(compare, page);
	page_host(page, &compare->host);
	page_line(page, "NTP", "before: ");
	strbuf_add_ntp(&run->before, &page->text);
	page_add(page, "; after: ");
	strbuf_add_ntp(&run->after, &page->text);
	if (run->restored == SWITCH_DONE)
		page_line(page, "Now", "the clocksource was restored to %s", compare->sw.original);
	if (compare->why_not)
		page_line(page, "Why not", "%s is not recommended, because %s",
			compare->fastest->name, compare->why_not);
	if (!fact_is_known(&compare->report.advice_fact))
		return;
	write_command(page, "Do", "use it until the next reboot:", compare->command);
	write_command(page, "Keep", "add to the kernel command line:", compare->parameter);
	write_command(page, "Undo", "go back to the clocksource in use now:", compare->undo);
	page_line(page, "Risk", "%s", compare->risk);
}
