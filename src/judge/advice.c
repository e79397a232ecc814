/* SPDX-License-Identifier: MIT */
#include "judge/advice.h"

#include <string.h>

#include "base/text.h"
#include "judge/tally.h"

struct rule {
	const char *id;
	bool (*applies)(const struct evidence *evidence, enum verdict verdict);
	const char *text;
	const char *command;
	const char *risk;
	const char *source;
};

static bool is_offered(const struct clocksource_evidence *clocksource, const char *name)
{
	for (size_t i = 0; i < clocksource->available_count; i++) {
		if (strcmp(clocksource->available[i], name) == 0)
			return true;
	}
	return false;
}

static bool has_boot_parameter(const struct evidence *evidence, const char *parameter)
{
	struct span words = text_span(evidence->host.boot.value);
	struct span word;

	while (text_next_word(&words, &word)) {
		if (text_equals(word, parameter))
			return true;
	}
	return false;
}

static bool vdso_falls_back(const struct evidence *evidence, enum verdict verdict)
{
	return verdict == VERDICT_FALLBACK && tally_by(evidence, PATH_VDSO).entered > 0;
}

/* The kernel offers it and has not distrusted it, and the CPU promises one steady rate. */
static bool tsc_is_trusted(const struct evidence *evidence)
{
	return fact_is_known(&evidence->clocksource.available_fact) &&
	       is_offered(&evidence->clocksource, "tsc") &&
	       fact_is_known(&evidence->clocksource.current_fact) &&
	       strcmp(evidence->clocksource.current, "tsc") != 0 &&
	       fact_is_known(&evidence->host.invariant_tsc.fact) &&
	       evidence->host.invariant_tsc.value &&
	       !has_boot_parameter(evidence, "notsc") &&
	       !has_boot_parameter(evidence, "tsc=unstable");
}

static bool may_try_tsc(const struct evidence *evidence, enum verdict verdict)
{
	return vdso_falls_back(evidence, verdict) && tsc_is_trusted(evidence);
}

static bool has_boot_vdso_off(const struct evidence *evidence, enum verdict verdict)
{
	return verdict == VERDICT_FALLBACK && evidence->vdso.fact.state == FACT_ABSENT &&
	       has_boot_parameter(evidence, "vdso=0");
}

static const struct rule rules[] = {
	{"switch-to-tsc", may_try_tsc,
		"Try the TSC now (as root), then run vdsocheck again. To keep it, add "
		"clocksource=tsc to the kernel command line.",
		"echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
		"If the CPUs' counters disagree, time may jump between them; a guest that is "
		"migrated or restored from a snapshot may see its clock change rate.",
		"tsc"},
	{"drop-vdso-0", has_boot_vdso_off,
		"Take vdso=0 off the kernel command line and reboot.", NULL, NULL, NULL},
};

size_t advice_find(
	const struct evidence *evidence, enum verdict verdict, struct advice advice[ADVICE_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && count < ADVICE_MAX; i++) {
		const struct rule *rule = &rules[i];

		if (!rule->applies(evidence, verdict))
			continue;
		advice[count] = (struct advice){.id = rule->id,
			.command = rule->command,
			.risk = rule->risk,
			.source = rule->source};
		text_copy(advice[count].text, sizeof(advice[count].text), rule->text);
		count++;
	}
	return count;
}
