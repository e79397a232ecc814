/* SPDX-License-Identifier: MIT */
/* The evidence listed under a cause: what a reader can look up on the host. */
#include "rules.h"

#include <stdarg.h>
#include <stdio.h>

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
	if (!line)
		return;
	if (line->seconds >= 0)
		support_add(
			cause, "kernel log, %.1f s after boot: \"%s\"", line->seconds, line->text);
	else
		support_add(cause, "kernel log: \"%s\"", line->text);
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
