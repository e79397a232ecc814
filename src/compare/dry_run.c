/* SPDX-License-Identifier: MIT */
/*
 * What `compare --dry-run` concludes and prints: the clocksources that are offered, with what each
 * costs or would cost as far as that is known without a switch, and without root. The one in use
 * was timed (candidate.c), the CPU's counter on a copy of the vDSO where the clocks fall back; a
 * clocksource without vDSO support makes every call a system call; nothing else can be measured.
 */
#include <string.h>

#include "base/text.h"
#include "cli/describe.h"
#include "cli/layout.h"
#include "document.h"
#include "judge.h"
#include "model.h"

/* What the patched copy of the vDSO reads. */
#if defined(__aarch64__)
#define COUNTER_CLOCKSOURCE "arch_sys_counter"
#else
#define COUNTER_CLOCKSOURCE "tsc"
#endif

#define LABEL_INDENT 11
#define NAME_WIDTH 27
#define NS_COLUMN (2 + NAME_WIDTH + 12)

static void describe_current(const struct evidence *evidence, struct dry_row *row)
{
	const struct call_evidence *call = clock_gettime_of(evidence, "CLOCK_MONOTONIC");
	const struct path_evidence *path = call ? &call->path[call_judged_path(call)] : NULL;

	row->how = DRY_MEASURED;
	if (!fact_is_known(&evidence->timing.fact))
		row->fact = evidence->timing.fact;
	else if (!path || !path->timed)
		fact_set(&row->fact, FACT_FAILED, "the calls were not timed");
	else
		row->ns = path->min_ns;
	if (!path || !path->attempts)
		row->note = "in use";
	else if (path->entered == 0)
		row->note = "in use; served by the vDSO";
	else if (path->entered == path->attempts)
		row->note = "in use; every call is a system call";
	else
		row->note = "in use; some calls are system calls";
}

static void describe_counter(const struct evidence *evidence, struct dry_row *row)
{
	const struct copy_evidence *copy = &evidence->copy;

	row->how = DRY_COPY;
	row->fact = copy->what_if_fact;
	if (!fact_is_known(&row->fact)) {
		row->note = "cannot be measured without switching";
		return;
	}
	row->ns = copy->what_if_ns;
	row->note = "measured on a copy of the vDSO";
}

/* The row keeps the name. */
static struct dry_row make_row(const struct evidence *evidence, const char *name)
{
	struct dry_row row = {.name = name, .ns = -1};

	fact_set_known(&row.fact);
	row.in_use = strcmp(name, evidence->clocksource.current) == 0;
	row.advisable = advisable_clocksource(evidence, name, &row.why_not);
	if (row.in_use) {
		describe_current(evidence, &row);
	} else if (vclock_name_has_no_mode(name)) {
		row.how = DRY_NAME;
		row.note = "no vDSO support: every call would be a system call";
		fact_set(&row.fact, FACT_ABSENT, "the time of its device is not known");
	} else if (strcmp(name, COUNTER_CLOCKSOURCE) == 0) {
		describe_counter(evidence, &row);
	} else {
		row.note = "cannot be measured without switching";
		fact_set(&row.fact, FACT_ABSENT, "not in use: measuring it requires a switch");
	}
	return row;
}

void dry_run_make(const struct evidence *evidence, const char (*names)[CLOCKSOURCE_NAME_SIZE],
	size_t count, struct dry_run *dry)
{
	const char *current = evidence->clocksource.current;

	*dry = (struct dry_run){.moment = &evidence->moment,
		.current = current,
		.is_dry = true,
		.verdict = "listed"};
	if (*current)
		dry->rows[dry->count++] = make_row(evidence, current);
	for (size_t i = 0; i < count; i++)
		dry->rows[dry->count++] = make_row(evidence, names[i]);
}

static const struct dry_row *find_row(const struct dry_run *dry, bool in_use)
{
	for (size_t i = 0; i < dry->count; i++) {
		const struct dry_row *row = &dry->rows[i];

		if (row->in_use == in_use && (in_use || row->how == DRY_COPY))
			return row;
	}
	return NULL;
}

static void summarize(const struct dry_run *dry, struct strbuf *sb)
{
	const struct dry_row *current = find_row(dry, true), *counter = find_row(dry, false);
	char ns[32];

	strbuf_add(sb, "%s is in use", *dry->current ? dry->current : "an unknown clocksource");
	if (current && current->ns >= 0)
		strbuf_add(sb, ": %s ns per clock_gettime(CLOCK_MONOTONIC)",
			format_ns(current->ns, ns));
	if (counter && counter->ns >= 0)
		strbuf_add(sb, "; %s would take %s ns (measured on a copy of the vDSO)",
			counter->name, format_ns(counter->ns, ns));
	strbuf_add(sb, ". Nothing was switched.");
}

static void print_row(const struct dry_row *row, FILE *out)
{
	struct strbuf note = {.used = 0};
	char ns[32];

	fprintf(out, "  %-*s%9s   ", NAME_WIDTH, row->name,
		row->ns >= 0 ? format_ns(row->ns, ns) : "-");
	strbuf_add(&note, "%s", row->note);
	if (row->in_use && row->ns < 0)
		strbuf_add(&note, "; not measured: %s", row->fact.reason);
	if (!row->in_use && !row->advisable && row->how != DRY_NAME)
		strbuf_add(&note, "; not recommended: %s", row->why_not);
	wrap_text(out, NS_COLUMN, NS_COLUMN, note.text);
}

bool dry_run_text(const void *result, const struct style *style, FILE *out)
{
	const struct dry_run *dry = result;
	struct strbuf summary = {.used = 0}, how = {.used = 0};

	(void)style;
	summarize(dry, &summary);
	wrap_answer(out, &(struct heading){.word = "DRY RUN"}, false, summary.text);
	fprintf(out, "\n  %-*s%9s\n", NAME_WIDTH, "", "ns");
	for (size_t i = 0; i < dry->count; i++)
		print_row(&dry->rows[i], out);
	fputc('\n', out);
	strbuf_add(&how,
		"Run vdsocheck compare as root on the host itself. It switches to each clocksource "
		"for about %.1f s and restores the one in use; each switch clears the kernel's NTP "
		"state and stops all CPUs for a moment.",
		dry->seconds);
	wrap_print(out, "To try", LABEL_INDENT, how.text);
	return true;
}

#define OF struct dry_row

static bool is_candidate(const void *object)
{
	return !((const struct dry_row *)object)->in_use;
}

static const char *const how_names[] = {[DRY_UNKNOWN] = "unknown",
	[DRY_MEASURED] = "measured",
	[DRY_COPY] = "copy",
	[DRY_NAME] = "name",
	NULL};

static const struct field row_fields[] = {
	{STRING("name", name), .options = FIELD_FILLED},
	{FLAG("in_use", in_use)},
	{NS("call_ns", ns), .options = FIELD_NEGATIVE_NONE},
	{TEXT("reason", fact.reason)},
	{WORD("how", how, how_names)},
	{STRING("note", note), .options = FIELD_FILLED},
	{FLAG("advisable", advisable), .has = is_candidate},
	{STRING("why_not", why_not), .has = is_candidate},
	{0},
};

#undef OF
#define OF struct dry_run

static json_t *summary(const void *object, const void *whole)
{
	struct strbuf sb = {.used = 0};

	(void)whole;
	summarize(object, &sb);
	return json_string(sb.text);
}

const struct field dry_run_fields[] = {
	{INLINE_AT(moment, moment_fields)},
	{FLAG("dry_run", is_dry)},
	{STRING("verdict", verdict), .options = FIELD_FILLED},
	{INTEGER("exit_status", exit_status, 255)},
	{COMPUTED("summary", FIELD_STRING, summary), .options = FIELD_FILLED},
	{STRING("original", current)},
	{LIST("sources", rows, count, row_fields)},
	{0},
};

bool dry_run_json(const void *result, const struct style *style, FILE *out)
{
	const struct document_part parts[] = {{.fields = dry_run_fields, .from = result}, {0}};

	return document_write(DRY_RUN_SCHEMA, parts, style->compact, out);
}
