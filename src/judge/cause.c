/* SPDX-License-Identifier: MIT */
/*
 * Finds the causes: goes through the rows of the cause_*.c files in the order of their tables,
 * and has each that applies list its evidence, which is what a reader can look up on the host.
 */
#include "rules.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

/*
 * The thing to mend comes first: the process, the vDSO, the clocksource, or why it was selected. A
 * lack of vDSO support is the whole answer only where nothing says why the clocksource is in use.
 */
const struct cause_table cause_tables[CAUSE_TABLES] = {
	{cause_process_rows, true},
	{cause_vdso_rows, true},
	{cause_seen_rows, true},
	{cause_hypervisor_rows, true},
	{cause_slow_rows, true},
	{cause_selected_rows, false},
	{cause_tsc_rows, false},
	{cause_watchdog_rows, false},
	{cause_unused_rows, false},
	{cause_plain_rows, true},
	{cause_unexplained_rows, false},
	{cause_unread_rows, false},
	{cause_note_rows, false},
};

static bool fallback_unexplained(const struct view *v)
{
	return v->falls_back;
}

/* Only where no row of the tables that explain applies. */
const struct cause_row cause_unexplained_rows[] = {
	{.id = "fallback-unexplained",
		.text = "The vDSO is present, but cannot use the current clocksource.",
		.applies = fallback_unexplained,
		.certainty = CERTAINTY_POSSIBLE,
		.evidence = cite_mode},
	{0},
};

static bool cause_applies(const struct cause_row *row, const struct view *v)
{
	if (row->culprit)
		return v->second_choice && v->watchdog.culprit == row->culprit;
	return row->applies(v);
}

static void cause_fill(const struct cause_row *row, const struct view *v, struct cause *cause)
{
	*cause = (struct cause){.id = row->id, .certainty = row->certainty, .more = row->more};
	if (row->write)
		row->write(v, cause->text);
	else
		text_copy(cause->text, sizeof(cause->text), row->text);
	if (row->proves && row->proves(v))
		cause->certainty = CERTAINTY_PROVEN;
	/* Names alone, from a captured tree, prove nothing. */
	if (!v->evidence->live && cause->certainty == CERTAINTY_PROVEN)
		cause->certainty = CERTAINTY_LIKELY;
	row->evidence(v, cause);
	if (row->log)
		cite_line(cause, log_find(v->evidence, row->log));
}

size_t cause_find(const struct view *v, struct cause causes[CAUSE_MAX],
	const struct cause_row *rows[CAUSE_MAX])
{
	bool explained = false;
	size_t count = 0;

	for (size_t i = 0; i < CAUSE_TABLES; i++) {
		const struct cause_row *row = cause_tables[i].rows;

		if (row == cause_unexplained_rows && explained)
			continue;
		for (; row->id && count < CAUSE_MAX; row++) {
			if (!cause_applies(row, v))
				continue;
			explained |= cause_tables[i].explains;
			cause_fill(row, v, &causes[count]);
			rows[count++] = row;
		}
	}
	return count;
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

void cite_line(struct cause *cause, const struct kernel_log_line *line)
{
	char when[32];

	if (!line)
		return;
	if (line->seconds >= 0)
		cite(cause, "kernel log, %s after boot: \"%s\"", format_age(line->seconds, when),
			line->text);
	else
		cite(cause, "kernel log: \"%s\"", line->text);
}

void cite_line_and_switch(
	const struct view *v, struct cause *cause, const struct kernel_log_line *line)
{
	cite_line(cause, line);
	cite_line(cause, log_find_after(v->evidence, line, "Switched to clocksource"));
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
	cite(cause, "boot parameters: %s", v->evidence->host.boot.value);
}

void cite_kernel(const struct view *v, struct cause *cause)
{
	cite_mode(v, cause);
	cite(cause, "kernel: %s", v->evidence->host.kernel.value);
}

void cite_no_vdso(const struct view *v, struct cause *cause)
{
	cite(cause, "%s", v->evidence->vdso.fact.reason);
}

void cite_counter(const struct view *v, struct cause *cause)
{
	const struct timing_evidence *timing = &v->evidence->timing;

	cite(cause, "%s: %.1f ns, the cheapest system call: %.1f ns", timing->counter,
		timing->counter_ns, timing->syscall_floor_ns);
}
