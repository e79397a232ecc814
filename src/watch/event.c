/* SPDX-License-Identifier: MIT */
/* Finds what the kernel logged about an event, and describes the state before and after it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model.h"

const char *const watch_event_names[] = {"start", "change", "restored", "test", "end", NULL};

static bool is_switch(const struct kernel_log_line *line)
{
	return strstr(line->text, "Switched to clocksource") ||
	       strstr(line->text, "Switching to clocksource"); /* before 3.12 */
}

void watch_log_find(const struct kernel_log_evidence *before, const struct kernel_log_evidence *now,
	struct watch_log_line *line)
{
	double last = before->count ? fmax(before->lines[before->count - 1].seconds, -1) : -1;
	const struct kernel_log_line *found = NULL;
	double from;

	line->fact = now->fact;
	if (!fact_is_known(&now->fact))
		return;
	for (size_t i = 0; i < now->count; i++) {
		if (now->lines[i].seconds > last && is_switch(&now->lines[i]))
			found = &now->lines[i];
	}
	if (!found) {
		fact_set(&line->fact, FACT_ABSENT, "no new line about a switch of the clocksource");
		return;
	}
	from = found->seconds - WATCH_REASON_S;
	for (size_t i = 0; &now->lines[i] < found; i++) {
		if (now->lines[i].seconds > last && now->lines[i].seconds >= from &&
			!is_switch(&now->lines[i])) {
			found = &now->lines[i];
			break;
		}
	}
	snprintf(line->text, sizeof(line->text), "[%.6f] %s", found->seconds, found->text);
}

char *watch_describe_state(const struct evidence *evidence, char text[WATCH_STATE_SIZE])
{
	const struct vclock_evidence *vclock = &evidence->vclock;
	const char *name = evidence->clocksource.latest;
	const char *page = "";
	char number[24];

	snprintf(number, sizeof(number), "%lld", (long long)vclock->mode);
	if ((fact_is_known(&vclock->pvclock_stable.fact) && !vclock->pvclock_stable.value) ||
		(fact_is_known(&vclock->hyperv_sequence.fact) && !vclock->hyperv_sequence.value))
		page = ", page invalid";
	snprintf(text, WATCH_STATE_SIZE, "%s (mode %s%s)", *name ? name : "unknown clocksource",
		vclock->how == VCLOCK_UNKNOWN ? "unknown"
		: *vclock->name               ? vclock->name
					      : number,
		page);
	return text;
}

/* Compares what is printed: a change that does not show is not one. */
bool watch_checks_agree(const struct watch_check *before, const struct watch_check *now)
{
	char state_before[WATCH_STATE_SIZE], state_now[WATCH_STATE_SIZE];

	return before->diagnosis.verdict.kind == now->diagnosis.verdict.kind &&
	       strcmp(watch_describe_state(&before->evidence, state_before),
		       watch_describe_state(&now->evidence, state_now)) == 0;
}

bool watch_find_stood(const struct watch_check *before, const struct watch_check *now,
	double *stood_s, double *error_s, struct fact *why)
{
	static const enum witness_source sources[] = {
		WITNESS_VMCLOCK, WITNESS_PTP, WITNESS_RTC, WITNESS_PVCLOCK};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct witness *one = witness_of(&before->evidence, sources[i]);
		const struct witness *other = witness_of(&now->evidence, sources[i]);

		if (!one || !other)
			continue;
		*stood_s = one->offset_s - other->offset_s;
		*error_s = one->error_s + other->error_s;
		return true;
	}
	fact_set(why, FACT_ABSENT, "no other clock that could be read has the time of day");
	return false;
}

bool watch_fell_behind(const struct watch_check *before, const struct watch_check *now)
{
	double stood_s, error_s;

	return watch_find_stood(before, now, &stood_s, &error_s, &(struct fact){0}) &&
	       stood_s > error_s + 1;
}

bool watch_only_cpus_changed(const struct watch_check *before, const struct watch_check *now)
{
	const struct number_fact *cpus = &now->evidence.host.cpu_count;
	double stood_s, error_s;

	return fact_is_known(&cpus->fact) && cpus->value != before->evidence.host.cpu_count.value &&
	       watch_find_stood(before, now, &stood_s, &error_s, &(struct fact){0}) &&
	       stood_s <= error_s;
}
