/* SPDX-License-Identifier: MIT */
/* Cites the evidence of a cause, which is what a reader can look up on the host. */
#include "rules.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

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

void cite_counter(const struct view *v, struct cause *cause)
{
	const struct timing_evidence *timing = &v->evidence->timing;

	cite(cause, "%s: %.1f ns, the cheapest system call: %.1f ns", timing->counter,
		timing->counter_ns.value, timing->syscall_floor_ns.value);
}
