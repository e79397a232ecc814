/* SPDX-License-Identifier: MIT */
/*
 * Finds the causes: evaluates the tables of the cause_*.c files in their order, and has each row
 * that applies list its evidence, which is what a reader can look up on the host.
 */
#include "rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* The row is for hosts where no other row explains why the calls are slow. */
static void cause_unexplained(const struct view *v, struct cause_list *list)
{
	const struct cause_row rows[] = {
		{"fallback-unexplained", v->falls_back && !list->explained, CERTAINTY_POSSIBLE,
			cite_mode, "The vDSO is present, but cannot use the current clocksource.",
			.signs = "The calls fall back, and no other cause explains it.",
			.advice = {{0}}},
	};

	cause_add(list, v, rows, ARRAY_SIZE(rows));
}

/*
 * The thing to mend comes first: the process, the vDSO, the clocksource, or why it was selected. A
 * lack of vDSO support is the whole answer only where nothing says why the clocksource is in use.
 * An unreadable log is not a cause, and the notes are for hosts where nothing is wrong.
 */
static const struct {
	cause_table *add;
	bool explains; /* why the calls are slow */
} tables[] = {
	{cause_process, true},
	{cause_vdso, true},
	{cause_current, true},
	{cause_selected, false},
	{cause_unstable, false},
	{cause_watchdog, false},
	{cause_xen, true},
	{cause_pvclock, true},
	{cause_hyperv, true},
	{cause_slow, true},
	{cause_tsc, false},
	{cause_unused, false},
	{cause_without_vdso, true},
	{cause_unexplained, false},
	{cause_unread, false},
	{cause_notes, false},
};

void cause_add_all(const struct view *v, struct cause_list *list)
{
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		size_t before = list->count;

		tables[i].add(v, list);
		list->explained |= tables[i].explains && list->count > before;
	}
}

void cause_add(
	struct cause_list *list, const struct view *v, const struct cause_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		list->add(list, v, &rows[i]);
}

static void add_if_it_applies(
	struct cause_list *list, const struct view *v, const struct cause_row *row)
{
	struct cause *cause = &list->causes[list->count];

	if (!row->applies || list->count == CAUSE_MAX)
		return;
	*cause = (struct cause){.id = row->id,
		.certainty = row->certainty,
		.follows = row->follows && list->count,
		.more = row->more};
	text_copy(cause->text, sizeof(cause->text), row->text);
	/* The names in a captured tree prove nothing by themselves. */
	if (!v->evidence->live && cause->certainty == CERTAINTY_PROVEN)
		cause->certainty = CERTAINTY_LIKELY;
	if (row->evidence)
		row->evidence(v, cause);
	if (row->detail)
		cite(cause, "%s", row->detail);
	cite_line(v, cause, row->line);
	if (row->with_switch)
		cite_switch_after(v, cause, row->line);
	memcpy(list->advice[list->count], row->advice, sizeof(row->advice));
	list->count++;
}

void cause_find(const struct view *v, struct cause causes[CAUSE_MAX], struct cause_list *list)
{
	*list = (struct cause_list){.add = add_if_it_applies, .causes = causes};
	cause_add_all(v, list);
}

const char *const cause_certainty_names[] = {
	[CERTAINTY_POSSIBLE] = "possible",
	[CERTAINTY_LIKELY] = "likely",
	[CERTAINTY_PROVEN] = "proven",
	NULL,
};

/* ---- the evidence under a cause ---- */

void cite(struct cause *cause, const char *format, ...)
{
	va_list arguments;

	if (cause->evidence_count == CAUSE_EVIDENCE_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(cause->evidence[cause->evidence_count], CAUSE_EVIDENCE_SIZE, format, arguments);
	va_end(arguments);
	cause->evidence_count++;
}

/* Some kernels begin to count anew at a resume: the stamps go back by more than CPUs differ. */
#define RESTART_S 1

bool log_is_after_resume(const struct view *v, const struct kernel_log_line *line)
{
	for (const struct kernel_log_line *before = v->evidence->kernel_log.lines; before < line;
		before++) {
		if (before->seconds > line->seconds + RESTART_S)
			return true;
	}
	return false;
}

char *log_time(const struct view *v, const struct kernel_log_line *line, char text[LOG_TIME_SIZE])
{
	snprintf(text, LOG_TIME_SIZE, "%s after %s", as_age(line->seconds),
		log_is_after_resume(v, line) ? "a resume" : "boot");
	return text;
}

void cite_line(const struct view *v, struct cause *cause, const struct kernel_log_line *line)
{
	char when[LOG_TIME_SIZE];

	if (!line)
		return;
	if (line->seconds >= 0)
		cite(cause, "kernel log, %s: \"%s\"", log_time(v, line, when), line->text);
	else
		cite(cause, "kernel log: \"%s\"", line->text);
}

void cite_switch_after(
	const struct view *v, struct cause *cause, const struct kernel_log_line *line)
{
	if (line)
		cite_line(v, cause, log_find_switch(v->evidence, line));
}

void cite_available(const struct view *v, struct cause *cause)
{
	const struct clocksource_evidence *clocksource = &v->evidence->clocksource;
	char list[CAUSE_EVIDENCE_SIZE] = "";

	for (size_t i = 0; i < clocksource->available_count; i++)
		text_append(list, sizeof(list), " %s", clocksource->available[i]);
	cite(cause, "available, the kernel's first choice first:%s", list);
}

void cite_mode(const struct view *v, struct cause *cause)
{
	const struct clocksource_evidence *clocksource = &v->evidence->clocksource;
	const struct vclock_evidence *vclock = &v->evidence->vclock;

	if (fact_is_known(&clocksource->current_fact))
		cite(cause, "clocksource: %s", clocksource->current);
	if (vclock->how != VCLOCK_UNKNOWN)
		cite(cause, "vclock mode: %lld, %s (%s)", (long long)vclock->mode,
			*vclock->name ? vclock->name : "no name",
			vclock->how == VCLOCK_READ   ? "read"
			: vclock->how == VCLOCK_COPY ? "found on a copy of the vDSO"
						     : "inferred");
	if (fact_is_known(&vclock->pvclock_stable.fact))
		cite(cause, "pvclock page: TSC_STABLE bit %s",
			vclock->pvclock_stable.value ? "set" : "not set");
	if (fact_is_known(&vclock->hyperv_sequence.fact))
		cite(cause, "Hyper-V page: tsc_sequence %lld",
			(long long)vclock->hyperv_sequence.value);
}

void cite_boot(const struct view *v, struct cause *cause)
{
	if (fact_is_known(&v->evidence->host.boot.fact))
		cite(cause, "boot parameters: %s", v->evidence->host.boot.value);
}

void cite_kernel(const struct view *v, struct cause *cause)
{
	cite_mode(v, cause);
	cite(cause, "kernel: %s", v->evidence->host.kernel.value);
}

void cite_counter(const struct view *v, struct cause *cause)
{
	const struct timing_evidence *timing = &v->evidence->timing;

	cite(cause, "%s: %.1f ns, the cheapest system call: %.1f ns", timing->counter,
		timing->counter_ns, timing->syscall_floor_ns);
}
