/* SPDX-License-Identifier: MIT */
/*
 * Tests of judge/cause_unstable: each reason that a kernel logs for an unstable TSC, as listed in
 * tests/lore/unstable.txt, is kept, has its cause, and leads to the remedies listed there alone.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "collect/parts.h"
#include "judge/view.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

#define LORE "tests/lore/unstable.txt"

enum column { REASON, FILE_NAME, VERSIONS, CAUSE, ON_METAL, IN_GUEST, COLUMNS };

static struct evidence evidence;
static struct diagnosis diagnosis;

static void judge(const char *reason, const char *hypervisor)
{
	char line[160];

	snprintf(
		line, sizeof(line), "[    0.300000] tsc: Marking TSC unstable due to %s\n", reason);
	evidence_make_falling_back(&evidence, "hpet");
	evidence_set_available(&evidence, "hpet acpi_pm");
	evidence.kernel_log.count = 0;
	kernel_log_add_dmesg(&evidence.kernel_log, text_span(line));
	fact_set_text(&evidence.host.kernel, "6.1.0-28-amd64");
	fact_set_text(&evidence.host.tsc_flags, "");
	fact_set_flag(&evidence.host.invariant_tsc, false);
	fact_set_flag(&evidence.host.kvm_clock_offered, false);
	if (text_starts(text_span(reason), "boot parameter"))
		fact_set_text(
			&evidence.host.boot, strstr(reason, "notsc") ? "notsc" : "tsc=unstable");
	if (hypervisor)
		fact_set_text(&evidence.host.hypervisor, hypervisor);
	else
		fact_set(&evidence.host.hypervisor.fact, FACT_ABSENT, "bare metal");
	diagnose(&evidence, &diagnosis);
}

static bool has_cause(const char *id)
{
	for (size_t i = 0; i < diagnosis.cause_count; i++) {
		if (strcmp(diagnosis.causes[i].id, id) == 0)
			return true;
	}
	return false;
}

static void expect(char *const row[COLUMNS], enum column column)
{
	bool by_watchdog = strcmp(row[REASON], "clocksource watchdog") == 0;
	char found[256] = "";

	judge(row[REASON], column == IN_GUEST ? "kvm" : NULL);
	assert_int_equal(evidence.kernel_log.count, 1);
	if (!has_cause(row[CAUSE]))
		fail_msg("\"%s\" does not lead to %s", row[REASON], row[CAUSE]);
	assert_int_equal(has_cause("tsc-distrusted"), by_watchdog);
	for (size_t i = 0; i < diagnosis.advice_count; i++)
		text_append(found, sizeof(found), "%s%s", i ? "," : "", diagnosis.advice[i].id);
	if (strcmp(found, row[column]) != 0)
		fail_msg("\"%s\" leads to %s, not %s", row[REASON], found, row[column]);
	assert_int_equal(strstr(found, "which-clock") != NULL, by_watchdog);
}

static void each_reason_has_its_cause_and_remedy(void **state)
{
	FILE *lore = fopen(LORE, "r");
	char line[400];
	unsigned rows = 0;

	(void)state;
	assert_non_null(lore);
	while (fgets(line, sizeof(line), lore)) {
		char *row[COLUMNS], *rest = line;

		if (*line == '#')
			continue;
		line[strcspn(line, "\n")] = '\0';
		for (int i = 0; i < COLUMNS; i++) {
			char *end = strstr(rest, " | ");

			row[i] = rest;
			assert_int_equal(end == NULL, i == COLUMNS - 1);
			if (end) {
				*end = '\0';
				rest = end + 3;
			}
		}
		expect(row, ON_METAL);
		expect(row, IN_GUEST);
		rows++;
	}
	assert_int_equal(fclose(lore), 0);
	assert_in_range(rows, 18, 100);
}

static void a_reason_counts_without_a_readable_command_line(void **state)
{
	(void)state;
	judge("boot parameter", NULL);
	fact_set(&evidence.host.boot.fact, FACT_DENIED, "EACCES");
	diagnose(&evidence, &diagnosis);
	assert_true(has_cause("tsc-disabled-at-boot"));
}

static void a_tsc_that_another_clock_replaces_has_no_such_cause(void **state)
{
	(void)state;
	judge("TSC halts in idle", NULL);
	evidence_make_healthy(&evidence);
	evidence_add_log(&evidence, "tsc: Marking TSC unstable due to TSC halts in idle");
	diagnose(&evidence, &diagnosis);
	assert_false(has_cause("tsc-halts-in-idle"));
}

static bool says_that_readers_are_affected(void)
{
	for (size_t i = 0; i < diagnosis.cause_count; i++) {
		if (strstr(diagnosis.causes[i].text, "read the TSC themselves are affected"))
			return true;
	}
	return false;
}

/* Programs that read the TSC themselves are affected by what makes it wrong, not by a guess. */
static void a_measured_fault_of_the_tsc_is_one_for_its_readers(void **state)
{
	static const struct {
		const char *reason;
		bool is_faulty;
	} reasons[] = {
		{"UV BIOS", true},
		{"TSC halts in idle", true},
		{"cpufreq changes", true},
		{"TSCs unsynchronized", false},
		{"running on Hyper-V", false},
		{"clocksource watchdog", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(reasons); i++) {
		judge(reasons[i].reason, NULL);
		assert_int_equal(says_that_readers_are_affected(), reasons[i].is_faulty);
		assert_true(view_of(&evidence).tsc_suspect);
	}
}

/* CPUs that were there at boot are a matter of the machine. */
static void a_cpu_that_warps_was_added_after_boot(void **state)
{
	(void)state;
	for (int seconds = 5; seconds <= 100; seconds += 95) {
		evidence_make_falling_back(&evidence, "kvm-clock");
		evidence_add_log(&evidence, "TSC warp between CPUs, turning off TSC clock.");
		evidence.kernel_log.lines[evidence.kernel_log.count - 1].seconds = seconds;
		diagnose(&evidence, &diagnosis);
		assert_int_equal(has_cause("kvm-clock-cpu-added"), seconds == 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_has_its_cause_and_remedy),
		cmocka_unit_test(a_reason_counts_without_a_readable_command_line),
		cmocka_unit_test(a_tsc_that_another_clock_replaces_has_no_such_cause),
		cmocka_unit_test(a_measured_fault_of_the_tsc_is_one_for_its_readers),
		cmocka_unit_test(a_cpu_that_warps_was_added_after_boot),
	};

	return cmocka_run_group_tests_name("judge/cause_unstable", tests, NULL, NULL);
}
