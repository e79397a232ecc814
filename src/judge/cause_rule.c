/* SPDX-License-Identifier: MIT */
#include "judge/cause_rule.h"

#include <stdarg.h>
#include <stdio.h>

#include "judge/signs.h"
#include "judge/vclock.h"

void cause_add_evidence(struct cause *cause, const char *format, ...)
{
	va_list arguments;

	if (cause->evidence_count == CAUSE_EVIDENCE_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(cause->evidence[cause->evidence_count], CAUSE_EVIDENCE_SIZE, format, arguments);
	va_end(arguments);
	cause->evidence_count++;
}

void cause_add_log_line(struct cause *cause, const struct kernel_log_line *line)
{
	if (!line)
		return;
	if (line->seconds >= 0)
		cause_add_evidence(
			cause, "kernel log, %.1f s after boot: \"%s\"", line->seconds, line->text);
	else
		cause_add_evidence(cause, "kernel log: \"%s\"", line->text);
}

void cause_support_by_mode(const struct evidence *evidence, struct cause *cause)
{
	const struct vclock_evidence *vclock = &evidence->vclock;

	if (fact_is_known(&evidence->clocksource.current_fact))
		cause_add_evidence(cause, "clocksource: %s", evidence->clocksource.current);
	if (vclock->how != VCLOCK_UNKNOWN)
		cause_add_evidence(cause, "vclock mode: %lld, %s (%s)", (long long)vclock->mode,
			*vclock->name ? vclock->name : "no name",
			vclock->how == VCLOCK_READ ? "read" : "inferred");
	if (fact_is_known(&vclock->pvclock_stable.fact))
		cause_add_evidence(cause, "pvclock page: TSC_STABLE bit %s",
			vclock->pvclock_stable.value ? "set" : "not set");
	if (fact_is_known(&vclock->hyperv_sequence.fact))
		cause_add_evidence(cause, "Hyper-V page: tsc_sequence %lld",
			(long long)vclock->hyperv_sequence.value);
}

void cause_support_by_boot(const struct evidence *evidence, struct cause *cause)
{
	cause_add_evidence(cause, "boot parameters: %s", evidence->host.boot.value);
}

bool cause_is_plain_clocksource(const struct evidence *evidence, enum verdict verdict)
{
	return (sign_vdso_falls_back(evidence, verdict) || !evidence->live) &&
	       fact_is_known(&evidence->clocksource.current_fact) &&
	       vclock_name_has_no_mode(evidence->clocksource.current);
}
