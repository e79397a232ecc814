/* SPDX-License-Identifier: MIT */
/* Questions to the evidence, in the words that the rules of causes and advice use. */
#include "rules.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

bool clocksource_is(const struct evidence *evidence, const char *name)
{
	return fact_is_known(&evidence->clocksource.current_fact) &&
	       strcmp(evidence->clocksource.current, name) == 0;
}

bool clocksource_is_offered(const struct evidence *evidence, const char *name)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	if (!fact_is_known(&clocksource->available_fact))
		return false;
	for (size_t i = 0; i < clocksource->available_count; i++) {
		if (strcmp(clocksource->available[i], name) == 0)
			return true;
	}
	return false;
}

bool clocksource_is_another(const struct evidence *evidence, const char *name)
{
	return clocksource_is_offered(evidence, name) &&
	       fact_is_known(&evidence->clocksource.current_fact) &&
	       !clocksource_is(evidence, name);
}

bool vclock_is_none(const struct evidence *evidence)
{
	return evidence->vclock.how >= VCLOCK_COPY && evidence->vclock.mode == VCLOCK_MODE_NONE;
}

/* What is gained must be more than a little: reading the counter may be trapped. */
#define WORTH_A_SWITCH 0.75

bool counter_gains_nothing(const struct evidence *evidence)
{
	const struct copy_evidence *copy = &evidence->copy;
	const struct call_evidence *call = clock_gettime_of(evidence, "CLOCK_MONOTONIC");

	return fact_is_known(&copy->what_if_fact) && call && call->path[PATH_VDSO].timed &&
	       copy->what_if_ns > WORTH_A_SWITCH * call->path[PATH_VDSO].min_ns;
}

bool boot_has(const struct evidence *evidence, const char *parameter)
{
	struct span words = text_span(evidence->host.boot.value);
	struct span word;

	while (fact_is_known(&evidence->host.boot.fact) && text_next_word(&words, &word)) {
		if (text_equals(word, parameter))
			return true;
	}
	return false;
}

bool boot_chose_current(const struct evidence *evidence)
{
	char parameter[CLOCKSOURCE_NAME_SIZE + 16];

	snprintf(parameter, sizeof(parameter), "clocksource=%s", evidence->clocksource.current);
	return *evidence->clocksource.current && boot_has(evidence, parameter);
}

static const struct kernel_log_line *find_from(
	const struct kernel_log_evidence *log, size_t first, const char *text)
{
	for (size_t i = first; i < log->count; i++) {
		if (strstr(log->lines[i].text, text))
			return &log->lines[i];
	}
	return NULL;
}

const struct kernel_log_line *log_find(const struct evidence *evidence, const char *text)
{
	return find_from(&evidence->kernel_log, 0, text);
}

const struct kernel_log_line *log_find_after(
	const struct evidence *evidence, const struct kernel_log_line *line, const char *text)
{
	const struct kernel_log_evidence *log = &evidence->kernel_log;

	return line ? find_from(log, (size_t)(line - log->lines) + 1, text) : NULL;
}

const struct kernel_log_line *log_find_with(
	const struct evidence *evidence, const char *text, const char *also)
{
	const struct kernel_log_line *line = log_find(evidence, text);

	while (line && !strstr(line->text, also))
		line = log_find_after(evidence, line, text);
	return line;
}

/* The digits at the front of the text, and what follows them. */
static bool take_number(struct span *text, uint64_t *number)
{
	size_t digits = 0;

	while (digits < text->length && text->at[digits] >= '0' && text->at[digits] <= '9')
		digits++;
	if (!number_parse((struct span){text->at, digits}, number))
		return false;
	text->at += digits;
	text->length -= digits;
	return true;
}

bool kernel_is_before(const struct evidence *evidence, unsigned major, unsigned minor)
{
	struct span release = text_span(evidence->host.kernel.value);
	uint64_t has_major, has_minor;

	if (!fact_is_known(&evidence->host.kernel.fact) || !take_number(&release, &has_major) ||
		!text_starts(release, "."))
		return false;
	release.at++;
	release.length--;
	if (!take_number(&release, &has_minor))
		return false;
	return has_major < major || (has_major == major && has_minor < minor);
}

static bool text_is(const struct text_fact *text, const char *word)
{
	return fact_is_known(&text->fact) && strcmp(text->value, word) == 0;
}

bool platform_is(const struct evidence *evidence, const char *word)
{
	return text_is(&evidence->host.platform, word);
}

bool host_is_guest(const struct evidence *evidence)
{
	return fact_is_known(&evidence->host.hypervisor.fact);
}

bool host_is_x86(const struct evidence *evidence)
{
	const struct text_fact *arch = &evidence->host.arch;
	size_t length = strlen(arch->value);

	/* Only x86 has a word on its TSC. */
	if (!fact_is_known(&arch->fact))
		return fact_is_known(&evidence->host.invariant_tsc.fact);
	return strcmp(arch->value, "x86_64") == 0 ||
	       (length == 4 && arch->value[0] == 'i' && strcmp(arch->value + 2, "86") == 0);
}

bool tsc_is_invariant(const struct evidence *evidence)
{
	const struct flag_fact *invariant = &evidence->host.invariant_tsc;
	const struct text_fact *flags = &evidence->host.tsc_flags;

	return fact_is_known(&invariant->fact) && invariant->value &&
	       (!fact_is_known(&flags->fact) || (strstr(flags->value, "constant_tsc") &&
							strstr(flags->value, "nonstop_tsc")));
}

bool host_may_be_restored(const struct evidence *evidence)
{
	/* Hyper-V and VMware give every guest such a device, and restore its TSC with it. */
	bool reports = fact_is_known(&evidence->host.restore_device.fact) &&
	               !text_is(&evidence->host.hypervisor, "microsoft") &&
	               !text_is(&evidence->host.hypervisor, "vmware");

	return reports || platform_is(evidence, "firecracker") || platform_is(evidence, "microvm");
}

const struct kernel_log_line *log_find_tsc_distrust(const struct evidence *evidence)
{
	/* The old wording has the name in quotes, that of 7.2 has it bare; 3.10 has its own. */
	static const char *const texts[] = {
		"Marking clocksource 'tsc",
		"Marking clocksource tsc",
		"Clocksource tsc unstable",
		"Marking TSC unstable",
		"TSC warp",
		"TSC disabled",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct kernel_log_line *line = log_find(evidence, texts[i]);

		if (line)
			return line;
	}
	return NULL;
}

static bool is_x86_or_arm(const struct text_fact *arch)
{
	static const char *const names[] = {"x86_64", "i386", "i686", "aarch64", "armv7l"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (fact_is_known(&arch->fact) && strcmp(arch->value, names[i]) == 0)
			return true;
	}
	return false;
}

/*
 * rdtsc takes 5 to 25 ns on every x86, mrs cntvct_el0 up to 50 ns, both some 50 to 110 ns in
 * an emulator; a read that the hypervisor intercepts takes several hundred at the least.
 */
#define COUNTER_NS_MOST 150

bool counter_is_trapped(const struct evidence *evidence)
{
	const struct timing_evidence *timing = &evidence->timing;

	if (!fact_is_known(&timing->counter_fact))
		return false;
	if (fact_is_known(&timing->syscall_floor_fact) &&
		timing->counter_ns >= timing->syscall_floor_ns)
		return true;
	return is_x86_or_arm(&evidence->host.arch) && timing->counter_ns > COUNTER_NS_MOST;
}
