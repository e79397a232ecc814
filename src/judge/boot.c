/* SPDX-License-Identifier: MIT */
/*
 * The questions to the kernel command line: which parameters are set, and which of them take away a
 * clock, or the vDSO's support for it, that the kernel would have without them.
 */
#include "view.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parameter.h"

/* Takes the next word of the parameters about clocks; false: there is none, or none is known. */
static bool next_word(
	const struct evidence *evidence, struct span *words, struct parameter *parameter)
{
	if (!words->at)
		*words = text_span(evidence->host.boot.value);
	return fact_is_known(&evidence->host.boot.fact) && parameter_next(words, parameter);
}

bool boot_has(const struct evidence *evidence, const char *parameter)
{
	struct span value = text_span(parameter), words = {0}, name = text_take_until(&value, '=');
	struct parameter word;
	char key[CLOCKSOURCE_NAME_SIZE];

	text_clean_span(key, sizeof(key), name);
	while (next_word(evidence, &words, &word)) {
		if (parameter_is(&word, key) &&
			(!value.length || (word.value.length == value.length &&
						  text_starts(word.value, value.at))))
			return true;
	}
	return false;
}

/* "pmtmr" is an old name (boot_override_clock() of kernel/time/clocksource.c, 3.10 to 7.3). */
static bool find_choice(const struct parameter *word, struct span *name)
{
	bool is_old = parameter_is(word, "clock");

	if (!is_old && !parameter_is(word, "clocksource"))
		return false;
	*name = is_old && text_equals(word->value, "pmtmr") ? text_span("acpi_pm") : word->value;
	return true;
}

bool boot_find_choice(const struct evidence *evidence, char name[CLOCKSOURCE_NAME_SIZE])
{
	struct span words = {0}, chosen = {0};
	struct parameter word;

	while (next_word(evidence, &words, &word))
		find_choice(&word, &chosen);
	text_clean_span(name, CLOCKSOURCE_NAME_SIZE, chosen);
	return chosen.length;
}

bool boot_chooses(const struct evidence *evidence, const char *name)
{
	char chosen[CLOCKSOURCE_NAME_SIZE];

	return boot_find_choice(evidence, chosen) && strcmp(chosen, name) == 0;
}

/* Reads as kstrtouint(..., 0, ...) and simple_strtoul() do, "0x" and "0" before it included. */
static unsigned long number_of(struct span value, int base)
{
	char digits[24];

	text_clean_span(digits, sizeof(digits), value);
	return strtoul(digits, NULL, base);
}

double boot_tsc_mhz(const struct evidence *evidence)
{
	struct span words = {0};
	struct parameter word;
	double mhz = 0;

	while (next_word(evidence, &words, &word)) {
		if (parameter_is(&word, "tsc_early_khz"))
			mhz = (double)number_of(word.value, 0) / 1e3;
	}
	return mhz;
}

/* hpet_setup() takes a list, and "disabled", too; tsc_setup() takes neither. */
static bool lists_disable(const struct evidence *evidence, struct span value)
{
	(void)evidence;
	while (value.length) {
		if (text_starts(text_take_until(&value, ','), "disable"))
			return true;
	}
	return false;
}

/* An I/O port of 0 is none (init_acpi_pm_clocksource()). */
static bool is_port_0(const struct evidence *evidence, struct span value)
{
	(void)evidence;
	return value.length && number_of(value, 16) == 0;
}

/* Names since 5.18, and the numbers of cpufeatures.h before; without them the TSC is not used. */
static bool clears_tsc(const struct evidence *evidence, struct span value)
{
	static const char flags[] = "tsc constant_tsc nonstop_tsc 4 104 120";
	char word[24];

	(void)evidence;
	while (value.length) {
		text_clean_span(word, sizeof(word), text_take_until(&value, ','));
		if (text_has_word(text_span(flags), word))
			return true;
	}
	return false;
}

/* On s390 "on" is a word; on x86 it is not a number, and thus 0. */
static bool is_vdso_0(const struct evidence *evidence, struct span value)
{
	unsigned long number = number_of(value, 0);

	if (!host_is_x86(evidence))
		return text_equals(value, "0") || text_equals(value, "off");
	return arch_starts(evidence, "i") ? number != 1 : number == 0;
}

/* 2 is the old word for 0, and others are not allowed (arch/x86/entry/vdso/vdso32-setup.c). */
static bool is_not_1(const struct evidence *evidence, struct span value)
{
	(void)evidence;
	return number_of(value, 0) != 1;
}

/* The parameters that take something away. */
static const struct rule {
	const char *name;
	enum boot_effect effect;
	const char *value; /* which takes it away; NULL: any does, or `takes` decides */
	bool (*takes)(const struct evidence *evidence, struct span value);
	bool is_last; /* the last one on the command line holds */
} rules[] = {
	{"notsc", BOOT_TSC},
	{"tsc", BOOT_TSC, .value = "unstable"},
	{"clearcpuid", BOOT_TSC, .takes = clears_tsc},
	/* The tables of ACPI have the addresses of HPET and PM timer. */
	{"acpi", BOOT_REFERENCE, .value = "off"},
	{"nohpet", BOOT_REFERENCE},
	{"hpet", BOOT_REFERENCE, .takes = lists_disable},
	{"pmtmr", BOOT_REFERENCE, .takes = is_port_0, .is_last = true},
	{"vdso", BOOT_VDSO, .takes = is_vdso_0, .is_last = true},
	{"vdso32", BOOT_VDSO, .takes = is_not_1, .is_last = true},
	{"no-kvmclock", BOOT_KVM_CLOCK},
	{"nopv", BOOT_HYPERVISOR},
	{"xen_nopv", BOOT_XEN},
	{"no-kvmclock-vsyscall", BOOT_KVM_VDSO},
};

/* Finds the word by which a rule applies. */
static bool find_taking(
	const struct evidence *evidence, const struct rule *rule, struct span *taking)
{
	struct span words = {0};
	struct parameter word;
	bool is_found = false;

	while (next_word(evidence, &words, &word)) {
		if (!parameter_is(&word, rule->name))
			continue;
		if ((!rule->value || text_equals(word.value, rule->value)) &&
			(!rule->takes || rule->takes(evidence, word.value))) {
			*taking = word.word;
			is_found = true;
		} else if (rule->is_last) {
			is_found = false;
		}
	}
	return is_found;
}

bool boot_takes(const struct evidence *evidence, enum boot_effect effect)
{
	struct span word;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].effect == effect && find_taking(evidence, &rules[i], &word))
			return true;
	}
	return false;
}

static void add_word(struct span word, char *list, size_t size)
{
	char text[FACT_TEXT_SIZE];
	struct span words = text_span(list), other;

	while (text_next_word(&words, &other)) {
		if (other.length == word.length && memcmp(other.at, word.at, word.length) == 0)
			return;
	}
	text_clean_span(text, sizeof(text), word);
	text_append(list, size, "%s%s", *list ? " " : "", text);
}

/* True if the vDSO, or a better clock, is missing here that such a parameter takes away. */
static bool is_missed(const struct view *v, enum boot_effect effect)
{
	switch (effect) {
	case BOOT_VDSO:
		return v->no_vdso;
	case BOOT_KVM_VDSO:
		return v->on_kvm_clock;
	case BOOT_REFERENCE:
		return v->clocks_disabled;
	case BOOT_TSC:
		return true;
	default:
		return v->unsupported;
	}
}

void boot_list_removable(const struct view *v, char *list, size_t size)
{
	struct span words = {0}, word, name;
	struct parameter parameter;

	list[0] = '\0';
	while (next_word(v->evidence, &words, &parameter)) {
		if ((v->boot_choice_slows && find_choice(&parameter, &name) &&
			    text_equals(name, v->evidence->clocksource.current)) ||
			(v->boot_rate_wrong && parameter_is(&parameter, "tsc_early_khz")))
			add_word(parameter.word, list, size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (is_missed(v, rules[i].effect) && find_taking(v->evidence, &rules[i], &word))
			add_word(word, list, size);
	}
	/* The kernel names them in its log, where the command line cannot be read. */
	if (v->boot_disables_tsc && !boot_takes(v->evidence, BOOT_TSC))
		add_word(text_span(v->unstable_words && !strstr(v->unstable_words, "notsc")
					   ? "tsc=unstable"
					   : "notsc"),
			list, size);
}
