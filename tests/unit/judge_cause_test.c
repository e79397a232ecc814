/* SPDX-License-Identifier: MIT */
/*
 * Tests of judge/cause and cause_*: causes that more than one kind of host has, causes that exclude
 * each other, and how certain they are. A host for each cause is in tests/hosts.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "judge.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

typedef void make(struct evidence *evidence);

static void on_hpet(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hpet");
}

static void xen_6_1(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "xen");
	fact_set_text(&evidence->host.kernel, "6.1.0-28-amd64");
}

static void xen_4_15(struct evidence *evidence)
{
	xen_6_1(evidence);
	fact_set_text(&evidence->host.kernel, "4.15.0-1121-aws");
}

/* The mode is set: the kernel can do it, whatever number it has. */
static void xen_4_14_with_mode(struct evidence *evidence)
{
	xen_6_1(evidence);
	fact_set_text(&evidence->host.kernel, "4.14.355-amzn2");
	evidence_set_mode(evidence, VCLOCK_READ, 2, "pvclock");
	fact_set_flag(&evidence->vclock.pvclock_stable, false);
}

static void kvm_clock(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "kvm-clock");
}

static void kvm_clock_lost(struct evidence *evidence)
{
	kvm_clock(evidence);
	evidence_set_mode(evidence, VCLOCK_READ, 2, "pvclock");
	fact_set_flag(&evidence->vclock.pvclock_stable, false);
}

/* "-cpu host,-kvmclock-stable-bit": the page's bit is set, the feature is not offered. */
static void kvm_clock_without_feature(struct evidence *evidence)
{
	kvm_clock(evidence);
	fact_set_flag(&evidence->vclock.pvclock_stable, true);
	fact_set_flag(&evidence->host.kvm_clock_stable, false);
}

static void hyperv(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hyperv_clocksource_tsc_page");
}

static void hyperv_4_4(struct evidence *evidence)
{
	hyperv(evidence);
	fact_set_text(&evidence->host.kernel, "4.4.0-210-generic");
}

static void hyperv_msr_4_4(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hyperv_clocksource");
	fact_set_text(&evidence->host.kernel, "4.4.162-94.72-default");
}

/* The page is offered, and no remedy yet. */
static void hyperv_4_4_on_acpi_pm(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "acpi_pm");
	evidence_set_available(evidence, "hyperv_clocksource_tsc_page acpi_pm");
	fact_set_text(&evidence->host.kernel, "4.4.0-187-generic");
}

static void hyperv_4_4_of_sles(struct evidence *evidence)
{
	hyperv(evidence);
	fact_set_text(&evidence->host.kernel, "4.4.180-94.138-default");
}

static void hyperv_withdrawn(struct evidence *evidence)
{
	hyperv(evidence);
	evidence_set_mode(evidence, VCLOCK_READ, 3, "hvclock");
	fact_set_number(&evidence->vclock.hyperv_sequence, 0);
}

static void changed_meanwhile(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	text_clean(
		evidence->clocksource.changed_to, sizeof(evidence->clocksource.changed_to), "hpet");
}

static void to_and_fro(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	evidence_set_entered(evidence, PATH_VDSO, BUILDER_ATTEMPTS / 2);
	evidence_add_log(evidence, "clocksource: Switched to clocksource tsc");
	evidence_add_log(evidence, "clocksource: Switched to clocksource hpet");
	evidence_add_log(evidence, "clocksource: Switched to clocksource tsc");
}

static void unsynchronised(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_add_log(evidence, "Measured 2047 cycles TSC warp between CPUs, turning off TSC.");
}

static void unsynchronised_7_2(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_add_log(evidence, "Marking clocksource tsc unstable due to inter CPU skew");
}

static void no_invariant_on_hyperv(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hyperv_clocksource_msr");
	evidence_add_log(evidence, "tsc: Marking TSC unstable due to running on Hyper-V");
}

static void distrusted(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_add_log(evidence, "clocksource: timekeeping watchdog on CPU1: Marking clocksource "
				   "'tsc' as unstable because the skew is too large:");
}

static void distrusted_3_10(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_add_log(evidence, "Clocksource tsc unstable (delta = 12345678 ns)");
}

/* An unknown name, and a data page with mode none. */
static void unknown_name(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "mct-frc");
	evidence_set_mode(evidence, VCLOCK_READ, VCLOCK_MODE_NONE, "none");
}

static const struct row {
	const char *name;
	make *make;
	const char *id;
} rows[] = {
#define ROW(make, id)                                                                              \
	{                                                                                          \
#make ", " id, make, id                                                            \
	}
	ROW(on_hpet, "clocksource-without-vdso"),
	ROW(xen_6_1, "xen-clock-unstable"),
	ROW(xen_4_15, "xen-clock-unstable"),
	ROW(xen_4_14_with_mode, "xen-clock-unstable"),
	ROW(kvm_clock, "kvm-clock-never-stable"),
	ROW(kvm_clock_without_feature, "kvm-clock-never-stable"),
	ROW(hyperv, "hyperv-without-vdso"),
	ROW(hyperv_4_4, "hyperv-kernel-too-old"),
	ROW(hyperv_msr_4_4, "hyperv-kernel-too-old"),
	ROW(hyperv_4_4_on_acpi_pm, "hyperv-kernel-too-old"),
	ROW(hyperv_4_4_of_sles, "hyperv-without-vdso"),
	ROW(changed_meanwhile, "clocksource-changing"),
	ROW(to_and_fro, "clocksource-changing"),
	ROW(unsynchronised, "tsc-unsynchronized"),
	ROW(unsynchronised_7_2, "tsc-unsynchronized"),
	ROW(distrusted, "tsc-distrusted"),
	ROW(unknown_name, "clocksource-without-vdso"),
	ROW(distrusted_3_10, "tsc-distrusted"),
};

static struct diagnosis diagnosis;
static const struct cause *const causes = diagnosis.causes;

static size_t find(const struct evidence *evidence)
{
	memset(&diagnosis, 0xff, sizeof(diagnosis));
	diagnose(evidence, &diagnosis);
	assert_in_range(diagnosis.cause_count, 0, CAUSE_MAX);
	return diagnosis.cause_count;
}

static bool is_found(const char *id, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(causes[i].id, id) == 0)
			return true;
	}
	return false;
}

static void the_cause_is_found(void **state)
{
	const struct row *row = *state;
	static struct evidence evidence;
	size_t count;

	row->make(&evidence);
	count = find(&evidence);
	if (!is_found(row->id, count))
		fail_msg("%s is not among %zu causes, the first of which is %s", row->id, count,
			count ? causes[0].id : "none");
}

static void a_vdso_without_time_has_no_function_that_reads_a_clock(void **state)
{
	static const struct {
		const char *export;
		size_t led_away;
		bool is_cause;
	} images[] = {{"__vdso_getcpu", 0, true}, {"__vdso_clock_gettime", 0, false},
		{"__kernel_gettimeofday", 0, false}, {"__vdso_getcpu", 1, false}};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(images); i++) {
		evidence_make_falling_back(&evidence, "tsc");
		for (size_t j = 0; j < evidence.call_count; j++)
			evidence.calls[j].path[PATH_VDSO] = (struct path_evidence){0};
		evidence.vdso.export_count = 1;
		evidence.vdso.led_away = images[i].led_away;
		text_clean(evidence.vdso.exports[0].name, VDSO_NAME_SIZE, images[i].export);
		assert_int_equal(
			is_found("vdso-without-time", find(&evidence)), images[i].is_cause);
	}
}

static void a_healthy_host_has_no_causes(void **state)
{
	static struct evidence evidence;

	(void)state;
	evidence_make_healthy(&evidence);
	assert_int_equal(find(&evidence), 0);
}

/* A clock that enters the kernel now and then was disturbed; the vDSO serves it. */
static void a_clock_that_enters_once_is_served(void **state)
{
	static struct evidence evidence;
	struct path_evidence *path;

	(void)state;
	evidence_make_healthy(&evidence);
	path = &evidence_find_call(&evidence, "clock_gettime", "CLOCK_BOOTTIME")->path[PATH_VDSO];
	path->entered = 1;
	assert_false(is_found("old-vdso-clocks", find(&evidence)));
	path->entered = path->attempts;
	assert_true(is_found("old-vdso-clocks", find(&evidence)));
}

/* What a log does not say counts only where none of its lines can be missing. */
static void an_incomplete_log_does_not_prove_an_absence(void **state)
{
	static struct evidence evidence;
	struct kernel_log_evidence *log = &evidence.kernel_log;

	(void)state;
	on_hpet(&evidence);
	evidence_set_available(&evidence, "hpet acpi_pm");
	fact_set_text(&evidence.host.hypervisor, "kvm");
	fact_set_flag(&evidence.host.kvm_clock_offered, true);
	fact_set_known(&log->fact);
	evidence_add_log(&evidence, "tsc: Detected 2600.000 MHz processor");
	log->lines[0].seconds = 0.9;
	assert_true(is_found("kvm-clock-unused", find(&evidence)));
	log->lines[0].seconds = 3;
	assert_true(is_found("kvm-clock-missing", find(&evidence)));
	evidence_add_log(&evidence, "clocksource: Switched to clocksource tsc");
	assert_true(is_found("tsc-unbound", find(&evidence)));
	log->count = KERNEL_LOG_MAX;
	assert_true(is_found("tsc-dropped", find(&evidence)));
}

static void log_denied(struct evidence *evidence)
{
	on_hpet(evidence);
	fact_set(&evidence->kernel_log.fact, FACT_DENIED, "EPERM");
}

static void distrusted_without_kvm_clock(struct evidence *evidence)
{
	distrusted(evidence);
	fact_set_text(&evidence->host.hypervisor, "kvm");
	fact_set_text(&evidence->host.boot, "no-kvmclock");
}

/* What --format line and the first screen show. */
static void why_the_kernel_selected_a_clocksource_comes_first(void **state)
{
	static const struct row firsts[] = {
		ROW(on_hpet, "clocksource-written"),
		ROW(log_denied, "clocksource-written"),
		ROW(distrusted, "tsc-distrusted"),
		ROW(unsynchronised, "tsc-unsynchronized"),
		ROW(distrusted_without_kvm_clock, "kvm-clock-disabled"),
	};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(firsts); i++) {
		size_t count;

		firsts[i].make(&evidence);
		count = find(&evidence);
		assert_string_equal(causes[0].id, firsts[i].id);
		assert_true(is_found("clocksource-without-vdso", count));
	}
}

/* Each of these hosts differs from its neighbours: the others' rules must miss it. */
static void exclusive_causes_exclude_each_other(void **state)
{
	static const char *const pairs[][2] = {
		{"vdso-switched-off", "no-vdso"},
		{"xen-kernel-too-old", "xen-clock-unstable"},
		{"xen-without-time-page", "xen-clock-unstable"},
		{"kvm-clock-never-stable", "kvm-clock-lost"},
		{"kvm-clock-never-stable", "kvm-clock-unstable"},
		{"kvm-clock-never-stable", "pvclock-withdrawn"},
		{"kvm-clock-lost", "kvm-clock-unstable"},
		{"kvm-clock-lost", "pvclock-withdrawn"},
		{"kvm-clock-switched-off", "kvm-clock-unstable"},
		{"kvm-clock-32-bit", "kvm-clock-unstable"},
		{"hyperv-kernel-too-old", "hyperv-without-vdso"},
		{"hyperv-without-vdso", "hyperv-page-invalid"},
		{"arm-counter-erratum", "arm-compat-disabled"},
		{"tsc-read-delay", "tsc-distrusted"},
		{"tsc-unsynchronized", "tsc-distrusted"},
		{"tsc-dropped", "tsc-distrusted"},
		{"tsc-dropped", "tsc-unbound"},
		{"tsc-dropped", "tsc-not-offered"},
		{"tsc-disabled-at-boot", "tsc-distrusted"},
		{"no-compat-vdso", "no-vdso"},
		{"counter-emulated-by-firmware", "counter-trapped"},
		{"tsc-unbound", "tsc-not-invariant"},
		{"tsc-unbound", "tsc-not-offered"},
		{"kvm-clock-disabled", "kvm-clock-unused"},
		{"tsc-skewed", "tsc-distrusted"},
		{"tsc-reference-wrong", "tsc-distrusted"},
		{"tsc-jumped", "tsc-distrusted"},
		{"tsc-not-offered", "tsc-distrusted"},
		{"tsc-not-offered", "tsc-not-invariant"},
		{"old-vdso-clocks", "gvisor-few-clocks"},
	};
	static struct evidence evidence;
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t count;

		evidence_roll(&evidence, &dice);
		count = find(&evidence);
		for (size_t i = 0; i < COUNT(pairs); i++)
			assert_false(is_found(pairs[i][0], count) && is_found(pairs[i][1], count));
	}
}

/* The text is there, and each line of the evidence under it ends within its room. */
static void assert_is_complete(const struct cause *cause)
{
	assert_true(*cause->text);
	assert_in_range(cause->evidence_count, 0, CAUSE_EVIDENCE_MAX);
	for (size_t i = 0; i < cause->evidence_count; i++)
		assert_non_null(memchr(cause->evidence[i], 0, CAUSE_EVIDENCE_SIZE));
}

/* A verdict of fallback or slow without a cause would leave the user without an answer. */
static void every_fault_has_a_cause_and_none_twice(void **state)
{
	static struct evidence evidence;
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct verdict verdict;
		size_t count;

		evidence_roll(&evidence, &dice);
		evidence_find_verdict(&evidence, &verdict);
		count = find(&evidence);
		if (verdict.kind == VERDICT_SLOW)
			assert_true(count > 0);
		if (verdict.kind == VERDICT_FALLBACK && fact_is_known(&evidence.vdso.fact) &&
			strcmp(verdict.rule, "libc-falls-back") != 0 &&
			evidence.calls[0].path[PATH_VDSO].entered > 0)
			assert_true(count > 0);
		for (size_t i = 0; i < count; i++) {
			assert_is_complete(&causes[i]);
			for (size_t k = 0; k < i; k++)
				assert_string_not_equal(causes[i].id, causes[k].id);
		}
	}
}

/* The kernel's own word, or the page's, makes a likely cause a proven one. */
static void a_kernel_log_line_makes_a_cause_proven(void **state)
{
	static struct evidence evidence;

	(void)state;
	xen_6_1(&evidence);
	find(&evidence);
	assert_int_equal(causes[0].certainty, CERTAINTY_LIKELY);
	evidence_add_log(&evidence, "xen: VDSO_CLOCKMODE_PVCLOCK not supported (tsc unstable)");
	find(&evidence);
	assert_int_equal(causes[0].certainty, CERTAINTY_PROVEN);
	kvm_clock(&evidence);
	find(&evidence);
	assert_int_equal(causes[0].certainty, CERTAINTY_LIKELY);
	fact_set_flag(&evidence.host.kvm_clock_stable, false);
	find(&evidence);
	assert_int_equal(causes[0].certainty, CERTAINTY_PROVEN);
	kvm_clock_lost(&evidence);
	find(&evidence);
	assert_int_equal(causes[0].certainty, CERTAINTY_PROVEN);
	assert_string_equal(cause_certainty_names[CERTAINTY_PROVEN], "proven");
	assert_string_equal(cause_certainty_names[CERTAINTY_LIKELY], "likely");
	assert_string_equal(cause_certainty_names[CERTAINTY_POSSIBLE], "possible");
}

/* Each of these takes a file or a time for something that it is not in all places. */
static void what_is_assumed_is_not_proven(void **state)
{
	static struct evidence evidence;

	(void)state;
	on_hpet(&evidence);
	fact_set(&evidence.host.container.fact, FACT_ABSENT, "none");
	assert_true(find(&evidence) > 0);
	assert_string_equal(causes[0].id, "clocksource-written");
	assert_int_equal(causes[0].certainty, CERTAINTY_PROVEN);
	fact_set_text(&evidence.host.container, "docker");
	find(&evidence);
	assert_int_equal(causes[0].certainty, CERTAINTY_LIKELY);
	/* Masked by /dev/null, it says nothing about the command line. */
	fact_set(&evidence.host.boot.fact, FACT_ABSENT, "/proc/cmdline is empty");
	find(&evidence);
	assert_string_not_equal(causes[0].id, "clocksource-written");
	evidence_make_healthy(&evidence);
	evidence.calls[0].raw_error = EPERM;
	fact_set_number(&evidence.host.seccomp, 0);
	assert_int_equal(find(&evidence), 1);
	assert_string_equal(causes[0].id, "time-calls-blocked");
	assert_int_equal(causes[0].certainty, CERTAINTY_LIKELY);
	fact_set_number(&evidence.host.seccomp, 2);
	find(&evidence);
	assert_int_equal(causes[0].certainty, CERTAINTY_PROVEN);
}

/* CPUs may differ by some microseconds; a count that begins anew is that of a resume. */
static void a_stamp_that_goes_back_is_after_a_resume(void **state)
{
	static struct evidence evidence;
	struct kernel_log_line *lines = evidence.kernel_log.lines;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence.kernel_log.count = 0;
	evidence_add_log(&evidence, "clocksource: Switched to clocksource tsc");
	evidence_add_log(&evidence, "Measured 5672 cycles TSC warp between CPUs, turning off TSC "
				    "clock.");
	lines[0].seconds = 2.2;
	find(&evidence);
	assert_non_null(strstr(causes[0].evidence[0], "2.1 s after boot"));
	lines[0].seconds = 32000;
	find(&evidence);
	assert_string_equal(causes[0].id, "tsc-unsynchronized");
	assert_non_null(strstr(causes[0].evidence[0], "2.1 s after a resume"));
}

/* Before 5.5 every guest of Hyper-V printed the line, whatever its host offers. */
static void an_old_kernel_on_hyperv_does_not_blame_its_host(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	no_invariant_on_hyperv(&evidence);
	fact_set_text(&evidence.host.kernel, "4.19.0-27-amd64");
	count = find(&evidence);
	assert_false(is_found("tsc-on-hyperv", count));
	assert_false(is_found("tsc-distrusted", count));
}

/* A mode that was read overrules the kernel's version. */
static void a_mode_that_was_read_overrides_a_version(void **state)
{
	static struct evidence evidence;

	(void)state;
	hyperv_withdrawn(&evidence);
	fact_set_text(&evidence.host.kernel, "4.4.0-210-generic");
	assert_false(is_found("hyperv-kernel-too-old", find(&evidence)));
	assert_true(is_found("hyperv-page-invalid", find(&evidence)));
	xen_4_14_with_mode(&evidence);
	assert_false(is_found("xen-kernel-too-old", find(&evidence)));
}

static void a_backport_makes_an_old_kernel_new_enough(void **state)
{
	static struct evidence evidence;

	(void)state;
	hyperv_4_4_on_acpi_pm(&evidence);
	fact_set_text(&evidence.host.kernel, "4.4.180-94.138-default");
	assert_false(is_found("hyperv-kernel-too-old", find(&evidence)));
}

/* Whatever it is called: the data page says so. */
static void a_mode_that_was_read_as_none_is_proof(void **state)
{
	static struct evidence evidence;

	(void)state;
	unknown_name(&evidence);
	fact_set_text(&evidence.host.arch, "armv7l");
	assert_int_equal(find(&evidence), 2);
	assert_string_equal(causes[1].id, "clocksource-without-vdso");
	assert_int_equal(causes[1].certainty, CERTAINTY_PROVEN);
	assert_string_equal(
		causes[1].text, "The vDSO does not support mct-frc; only the kernel can read it.");
}

int main(void)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(an_old_kernel_on_hyperv_does_not_blame_its_host),
		cmocka_unit_test(a_mode_that_was_read_overrides_a_version),
		cmocka_unit_test(a_backport_makes_an_old_kernel_new_enough),
		cmocka_unit_test(a_mode_that_was_read_as_none_is_proof),
		cmocka_unit_test(a_vdso_without_time_has_no_function_that_reads_a_clock),
		cmocka_unit_test(a_healthy_host_has_no_causes),
		cmocka_unit_test(an_incomplete_log_does_not_prove_an_absence),
		cmocka_unit_test(a_clock_that_enters_once_is_served),
		cmocka_unit_test(why_the_kernel_selected_a_clocksource_comes_first),
		cmocka_unit_test(exclusive_causes_exclude_each_other),
		cmocka_unit_test(every_fault_has_a_cause_and_none_twice),
		cmocka_unit_test(a_kernel_log_line_makes_a_cause_proven),
		cmocka_unit_test(what_is_assumed_is_not_proven),
		cmocka_unit_test(a_stamp_that_goes_back_is_after_a_resume),
	};

	return unit_run_rows("the cause is found", the_cause_is_found, rows) +
	       cmocka_run_group_tests_name("cause, all of it", plain, NULL, NULL);
}
