/* SPDX-License-Identifier: MIT */
/*
 * Adds the causes that apply to a host. Each cites its evidence, which is what a reader can look up
 * there.
 */
#include "rules.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

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
		/* Only while a machine resumes is a stamp negative, and taken for none. */
		if (isnan(line->seconds) && before->seconds >= 0)
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

void cite_firmware(const struct view *v, struct cause *cause)
{
	/* arch/x86/kernel/tsc_sync.c, cpu/amd.c and hygon.c, apic/x2apic_uv_x.c; clocksource.c. */
	static const char *const texts[] = {"TSC ADJUST", "TSC doesn't count with P0 frequency",
		"UV: TSC sync state", "PIT calibration deviates", " check durations ", " (cycles)"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		cite_line(v, cause, log_find(v->evidence, texts[i]));
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
	if (fact_is_known(&v->evidence->host.boot.fact) && *v->evidence->host.boot.value)
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
		timing->counter_ns.value, timing->syscall_floor_ns.value);
}

/* Finds the line of the kernel log that a cause rests on; NULL: none. */
static const struct kernel_log_line *cite_find_line(
	const struct view *v, const struct cause_row *row)
{
	const char *member = (const char *)v + row->line.place;

	if (row->line.kind)
		return *(const struct kernel_log_line *const *)member;
	return row->log ? log_find(v->evidence, row->log) : NULL;
}

static void cite_write_text(const struct view *v, const struct cause_row *row,
	const struct kernel_log_line *line, char *text)
{
	char time[LOG_TIME_SIZE], when[1 + LOG_TIME_SIZE] = "";
	const struct text_fact *wrapper = &v->evidence->vdso.wrapper;
	const char *slash = strrchr(wrapper->value, '/');
	const struct word words[] = {{"from", v->evidence->clocksource.current}, {"when", when},
		{"wrapper", !fact_is_known(&wrapper->fact) ? CAUSE_WORD_WRAPPER
			    : slash                        ? slash + 1
							   : wrapper->value},
		{0}};

	if (row->write) {
		row->write(v, text);
		return;
	}
	if (line && line->seconds >= 0)
		snprintf(when, sizeof(when), " %s", log_time(v, line, time));
	words_fill(text_for(v, row->text, row->texts), words, text, CAUSE_TEXT_SIZE);
}

void cause_add(struct cause_list *list, const struct view *v, const struct cause_row *row)
{
	const struct kernel_log_line *line = cite_find_line(v, row);
	bool is_proven = row->proven && holds(v, row->proven);
	struct cause *cause = &list->causes[list->count];

	*cause = (struct cause){.id = row->id,
		.certainty = is_proven ? CERTAINTY_PROVEN : row->certainty,
		.follows = row->follows && list->count,
		.more = row->more};
	cite_write_text(v, row, line, cause->text);
	/* The names in a captured tree prove nothing by themselves. */
	if (!v->evidence->live && cause->certainty == CERTAINTY_PROVEN)
		cause->certainty = CERTAINTY_LIKELY;
	if (row->evidence)
		row->evidence(v, cause);
	if (row->detail)
		cite(cause, "%s", row->detail);
	cite_line(v, cause, line);
	if (row->with_switch)
		cite_switch_after(v, cause, line);
	for (size_t i = 0; i < CAUSE_ADVICE_MAX && row->advice[i].row; i++) {
		const struct advice_row *advice = row->advice[i].row;

		if (v->is_rented && advice->actor == ACTOR_FIRMWARE && !advice->boot)
			advice = &advice_replace_machine;
		if (holds(v, row->advice[i].when))
			list->advice[list->advice_count++] = advice;
	}
	list->count++;
}
