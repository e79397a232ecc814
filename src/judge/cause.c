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
 * What to mend comes first: the process, the vDSO, the clocksource, or why the kernel selected it.
 * That this one has no vDSO support is the whole answer only where nothing says why it is in use.
 */
const struct cause_table cause_tables[CAUSE_TABLES] = {
	{cause_process_rows, true},
	{cause_vdso_rows, true},
	{cause_slow_rows, true},
	{cause_selected_rows, false},
	{cause_watchdog_rows, false},
	{cause_unused_rows, false},
	{cause_plain_rows, true},
	{cause_unexplained_rows, false},
	{cause_unread_rows, false},
	{cause_note_rows, false},
};

/* Only where no row of the tables that explain applies. */
const struct cause_row cause_unexplained_rows[] = {
	{.id = "fallback-unexplained",
		.text = "The vDSO is present, but cannot use the current clocksource.",
		.when = {.needs = FALLS_BACK},
		.certainty = CERTAINTY_POSSIBLE,
		.support = support_mode},
	{0},
};

bool scope_applies(const struct scope *scope, const struct view *view)
{
	return (!scope->verdicts || scope->verdicts & BIT(view->verdict)) &&
	       (view->holds & scope->needs) == scope->needs && !(view->holds & scope->unless) &&
	       (!scope->culprit || view->watchdog.culprit == scope->culprit) &&
	       (!scope->applies || scope->applies(view));
}

size_t cause_find(const struct view *view, struct cause causes[CAUSE_MAX],
	const struct cause_row *rows[CAUSE_MAX])
{
	bool explained = false;
	size_t count = 0;

	for (size_t i = 0; i < CAUSE_TABLES; i++) {
		const struct cause_row *row = cause_tables[i].rows;

		if (row == cause_unexplained_rows && explained)
			continue;
		for (; row->id && count < CAUSE_MAX; row++) {
			struct cause *cause = &causes[count];

			if (!scope_applies(&row->when, view))
				continue;
			explained |= cause_tables[i].explains;
			rows[count++] = row;
			*cause = (struct cause){
				.id = row->id, .certainty = row->certainty, .more = row->more};
			if (row->write)
				row->write(view, cause->text);
			else
				text_copy(cause->text, sizeof(cause->text), row->text);
			if (row->proves && row->proves(view))
				cause->certainty = CERTAINTY_PROVEN;
			/* Names alone, from a captured tree, prove nothing. */
			if (!view->evidence->live && cause->certainty == CERTAINTY_PROVEN)
				cause->certainty = CERTAINTY_LIKELY;
			row->support(view, cause);
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

void support_add(struct cause *cause, const char *format, ...)
{
	va_list arguments;

	if (cause->evidence_count == CAUSE_EVIDENCE_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(cause->evidence[cause->evidence_count], CAUSE_EVIDENCE_SIZE, format, arguments);
	va_end(arguments);
	cause->evidence_count++;
}

void support_add_log(struct cause *cause, const struct kernel_log_line *line)
{
	char when[32];

	if (!line)
		return;
	if (line->seconds >= 0)
		support_add(cause, "kernel log, %s after boot: \"%s\"",
			format_age(line->seconds, when), line->text);
	else
		support_add(cause, "kernel log: \"%s\"", line->text);
}

void support_available(const struct view *view, struct cause *cause)
{
	const struct clocksource_evidence *clocksource = &view->evidence->clocksource;
	char list[CAUSE_EVIDENCE_SIZE] = "";
	size_t used = 0;

	for (size_t i = 0; i < clocksource->available_count && used < sizeof(list); i++)
		used += (size_t)snprintf(
			list + used, sizeof(list) - used, " %s", clocksource->available[i]);
	support_add(cause, "available, the kernel's first choice first:%s", list);
}

void support_mode(const struct view *view, struct cause *cause)
{
	const struct clocksource_evidence *clocksource = &view->evidence->clocksource;
	const struct vclock_evidence *vclock = &view->evidence->vclock;

	if (fact_is_known(&clocksource->current_fact))
		support_add(cause, "clocksource: %s", clocksource->current);
	if (vclock->how != VCLOCK_UNKNOWN)
		support_add(cause, "vclock mode: %lld, %s (%s)", (long long)vclock->mode,
			*vclock->name ? vclock->name : "no name",
			vclock->how == VCLOCK_READ   ? "read"
			: vclock->how == VCLOCK_COPY ? "found on a copy of the vDSO"
						     : "inferred");
	if (fact_is_known(&vclock->pvclock_stable.fact))
		support_add(cause, "pvclock page: TSC_STABLE bit %s",
			vclock->pvclock_stable.value ? "set" : "not set");
	if (fact_is_known(&vclock->hyperv_sequence.fact))
		support_add(cause, "Hyper-V page: tsc_sequence %lld",
			(long long)vclock->hyperv_sequence.value);
}

void support_boot(const struct view *view, struct cause *cause)
{
	support_add(cause, "boot parameters: %s", view->evidence->host.boot.value);
}

void support_kernel(const struct view *view, struct cause *cause)
{
	support_mode(view, cause);
	support_add(cause, "kernel: %s", view->evidence->host.kernel.value);
}

void support_no_vdso(const struct view *view, struct cause *cause)
{
	support_add(cause, "%s", view->evidence->vdso.fact.reason);
}

void support_counter(const struct view *view, struct cause *cause)
{
	const struct timing_evidence *timing = &view->evidence->timing;

	support_add(cause, "%s: %.1f ns, the cheapest system call: %.1f ns", timing->counter,
		timing->counter_ns, timing->syscall_floor_ns);
}
