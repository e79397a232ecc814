/* SPDX-License-Identifier: MIT */
/*
 * Prints the result of `vdsocheck compare`: the fields of its document, which are the columns of
 * its table, too.
 */
#include <inttypes.h>

#include "model.h"

/* ---- cells of the table ---- */

static void compare_print_name(const void *object, const void *whole, FILE *out)
{
	const struct candidate *candidate = object;

	(void)whole;
	fprintf(out, "%s%s", candidate->name, candidate->in_use ? " (in use)" : "");
}

static void print_entered(const void *object, const void *whole, FILE *out)
{
	const struct candidate *candidate = object;
	const struct entry_counts *counts = &candidate->entries;

	(void)whole;
	if (!fact_is_known(&candidate->proven))
		fputs("not proven", out);
	else if (counts->failing)
		fputs("fails", out);
	else if (counts->entered == 0)
		fputs("never", out);
	else if (counts->entered == counts->attempts)
		fputs("always", out);
	else
		fprintf(out, "%" PRIu64 " of %" PRIu64, counts->entered, counts->attempts);
}

/* ---- the document ---- */

#define OF struct candidate
#define TIME_NS(name, member)                                                                      \
	REAL(name, member.value, 1), .fact = FACT(member.fact), .reason = "reason"
#define PROVEN(name, member) NATURAL(name, member), .fact = FACT(proven), .reason = "reason"

static const struct field candidate_fields[] = {
	{TEXT("name", name), .options = FIELD_FILLED, .title = "clock_gettime MONOTONIC, ns",
		.left = true, .cell = compare_print_name, .doc = "name of the clocksource"},
	{FLAG("in_use", in_use), .doc = "whether it was in use before the run"},
	{TIME_NS("cost_ns", cost_ns), .title = "vDSO", .width = 9,
		.doc = "ns per clock_gettime(CLOCK_MONOTONIC) by the vDSO, or by libc without it"},
	{TIME_NS("syscall_ns", syscall_ns), .title = "syscall", .width = 9,
		.doc = "ns of the same call by raw system call"},
	{PROVEN("entered_kernel", entries.entered), .title = "in kernel", .left = true,
		.cell = print_entered,
		.doc = "deciding calls that entered the kernel under the proof"},
	{PROVEN("attempts", entries.attempts),
		.doc = "deciding calls that were made under the proof"},
	{STRING("reason", reason), .doc = "why a number is null; null: none is"},
	{0},
};

#undef OF
#define OF struct run

static const struct field run_fields[] = {
	{KNOWN("restored", restored_fact), .options = FIELD_FILLED, .reason = "restored_reason",
		.doc = "whether the original clocksource is in use again; false: see "
		       "restored_reason"},
	{REASON("restored_reason"),
		.doc = "why the original clocksource is not in use again; null: it is"},
	{LIST_AT("clocksources", candidates, count, candidate_fields),
		.doc = "clocksources that were tried, the one in use before the first"},
	{REASON("reason"), .fact = FACT(why), .doc = "why the run ended early; null: it did not"},
	{0},
};

#undef OF
#define OF struct compare

const struct field compare_fields[] = {
	{INLINE(host, surroundings_fields)},
	{TEXT("original", sw.original), .doc = "clocksource in use before the run"},
	{INLINE(run, run_fields)},
	{0},
};

/* ---- the text ---- */

void compare_text(const void *data, struct page *page)
{
	const struct compare *compare = data;
	const struct run *run = &compare->run;

	page_table(page, &(struct table){.fields = candidate_fields,
				 TABLE_ROWS(run->candidates, run->count),
				 .whole = compare});
	for (size_t i = 0; i < run->count; i++) {
		if (*run->candidates[i].reason)
			page_line(page, "-", "%s: %s", run->candidates[i].name,
				run->candidates[i].reason);
	}
	page_host(page, &compare->host);
}
