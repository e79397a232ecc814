/* SPDX-License-Identifier: MIT */
#include "judge/cause.h"

#include <string.h>

#include "judge/cause_choice.h"
#include "judge/cause_clock.h"
#include "judge/signs.h"

/* Comes last: nothing above knows why. */
static bool is_unexplained(const struct evidence *evidence, enum verdict verdict)
{
	return sign_vdso_falls_back(evidence, verdict);
}

static const struct cause_rule unexplained = {"fallback-unexplained", CERTAINTY_POSSIBLE,
	is_unexplained, cause_support_by_mode, NULL,
	"The vDSO is there, but the clock it reads sends calls on to the kernel."};

static void write_cause(
	const struct evidence *evidence, const struct cause_rule *rule, struct cause *cause)
{
	*cause = (struct cause){.id = rule->id,
		.text = rule->text,
		.certainty = rule->certainty,
		.more = rule->more};
	rule->support(evidence, cause);
}

/*
 * The kernel's own words, or its page's, turn what is likely into what is proven; and names
 * alone prove nothing.
 */
static void adjust_certainty(const struct evidence *evidence, struct cause *cause)
{
	const struct flag_fact *stable = &evidence->vclock.pvclock_stable;

	if (strcmp(cause->id, "clocksource-changing") == 0 && !*evidence->clocksource.changed_to)
		cause->certainty = CERTAINTY_LIKELY;
	if (strcmp(cause->id, "xen-clock-unstable") == 0 &&
		sign_log_find(evidence, "PVCLOCK not supported (tsc unstable)"))
		cause->certainty = CERTAINTY_PROVEN;
	if ((strcmp(cause->id, "xen-clock-unstable") == 0 ||
		    strcmp(cause->id, "kvm-clock-unstable") == 0) &&
		fact_is_known(&stable->fact) && !stable->value)
		cause->certainty = CERTAINTY_PROVEN;
	if (!evidence->live && cause->certainty == CERTAINTY_PROVEN)
		cause->certainty = CERTAINTY_LIKELY;
}

static size_t add_causes(const struct evidence *evidence, enum verdict verdict,
	const struct cause_rule *rules, size_t rule_count, struct cause *causes, size_t count)
{
	for (size_t i = 0; i < rule_count && count < CAUSE_MAX; i++) {
		if (!rules[i].applies(evidence, verdict))
			continue;
		write_cause(evidence, &rules[i], &causes[count]);
		adjust_certainty(evidence, &causes[count]);
		count++;
	}
	return count;
}

size_t cause_find(
	const struct evidence *evidence, enum verdict verdict, struct cause causes[CAUSE_MAX])
{
	size_t count =
		add_causes(evidence, verdict, cause_clock_rules, cause_clock_rule_count, causes, 0);

	if (count == 0 && unexplained.applies(evidence, verdict))
		write_cause(evidence, &unexplained, &causes[count++]);
	return add_causes(
		evidence, verdict, cause_choice_rules, cause_choice_rule_count, causes, count);
}

const char *cause_certainty_name(enum certainty certainty)
{
	static const char *const names[] = {
		[CERTAINTY_POSSIBLE] = "possible",
		[CERTAINTY_LIKELY] = "likely",
		[CERTAINTY_PROVEN] = "proven",
	};

	return names[certainty];
}
