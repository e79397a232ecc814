/* SPDX-License-Identifier: MIT */
/*
 * Tests of judge/cause_*: each rule matches a host that it was written for and does not match a
 * healthy one.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "judge/rules.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

typedef void make(struct evidence *evidence);

static void counter_off(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	fact_set_flag(&evidence->host.counter_off, true);
}

static void blocked(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	evidence_find_call(evidence, "clock_gettime", "CLOCK_MONOTONIC")->raw_error = EPERM;
}

static void without_vdso(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "tsc");
	evidence_remove_path(evidence, PATH_VDSO);
	evidence->vdso = (struct vdso_evidence){0};
	fact_set(&evidence->vdso.fact, FACT_ABSENT, "AT_SYSINFO_EHDR is 0");
}

static void under_valgrind(struct evidence *evidence)
{
	without_vdso(evidence);
	fact_set_text(&evidence->host.emulator, "valgrind");
}

static void vdso_switched_off(struct evidence *evidence)
{
	without_vdso(evidence);
	fact_set_text(&evidence->host.boot, "quiet vdso=0");
}

static void wsl1(struct evidence *evidence)
{
	without_vdso(evidence);
	fact_set_text(&evidence->host.platform, "wsl1");
}

static void on_hpet(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hpet");
}

static void xen_3_10(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "xen");
	fact_set_text(&evidence->host.kernel, "3.10.0-1160.el7.x86_64");
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

static void xen_without_page(struct evidence *evidence)
{
	xen_6_1(evidence);
	evidence_add_log(evidence, "xen: VDSO_CLOCKMODE_PVCLOCK not supported (err -38)");
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

static void kvm_clock_unread(struct evidence *evidence)
{
	kvm_clock(evidence);
	evidence_set_mode(evidence, VCLOCK_UNKNOWN, 0, "");
}

/* "-cpu host,-kvmclock-stable-bit": the page's bit is set, the feature is not offered. */
static void kvm_clock_without_feature(struct evidence *evidence)
{
	kvm_clock(evidence);
	fact_set_flag(&evidence->vclock.pvclock_stable, true);
	fact_set_flag(&evidence->host.kvm_clock_stable, false);
}

static void pvclock_withdrawn(struct evidence *evidence)
{
	kvm_clock(evidence);
	evidence->vclock.how = VCLOCK_READ;
	evidence->vclock.mode = 2;
	fact_set_flag(&evidence->vclock.pvclock_stable, true);
}

static void kvm_clock_off(struct evidence *evidence)
{
	kvm_clock(evidence);
	fact_set_text(&evidence->host.boot, "no-kvmclock-vsyscall");
}

static void kvm_clock_32_bit(struct evidence *evidence)
{
	kvm_clock(evidence);
	fact_set_text(&evidence->host.arch, "i686");
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

static void arm(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "arch_sys_counter");
	fact_set_text(&evidence->host.arch, "aarch64");
}

static void arm_compat(struct evidence *evidence)
{
	arm(evidence);
	evidence_set_mode(evidence, VCLOCK_READ, 2, "archtimer-nocompat");
}

static void libc_passes(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	evidence_set_entered(evidence, PATH_LIBC, BUILDER_ATTEMPTS);
}

static void trapped(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	evidence->timing.counter_ns = 1200;
	evidence_find_call(evidence, "clock_gettime", "CLOCK_MONOTONIC")->path[PATH_VDSO].min_ns =
		1220;
}

static void enter_all(struct evidence *evidence, const char *clock)
{
	evidence_find_call(evidence, "clock_gettime", clock)->path[PATH_VDSO].entered =
		BUILDER_ATTEMPTS;
}

static void old_vdso(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	enter_all(evidence, "CLOCK_BOOTTIME");
}

static void gvisor(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	fact_set_text(&evidence->host.platform, "gvisor");
	enter_all(evidence, "CLOCK_MONOTONIC_COARSE");
}

static void gvisor_just_started(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "tsc");
	fact_set_text(&evidence->host.platform, "gvisor");
}

static void in_namespace(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	evidence->vclock.time_namespace = true;
}

static void without_sys(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hpet");
	fact_set(&evidence->clocksource.current_fact, FACT_ABSENT, "no /sys");
}

static void changed_meanwhile(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	text_copy(
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

static void unexplained(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "tsc");
	evidence_set_mode(evidence, VCLOCK_READ, 1, "tsc");
}

static void booted_with_hpet(struct evidence *evidence)
{
	on_hpet(evidence);
	fact_set_text(&evidence->host.boot, "clocksource=hpet");
}

static void booted_without_tsc(struct evidence *evidence)
{
	on_hpet(evidence);
	fact_set_text(&evidence->host.boot, "tsc=unstable");
}

static void read_delay(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_add_log(evidence, "clocksource: timekeeping watchdog on CPU3: hpet wd-tsc-wd "
				   "read-back delay of 131us, attempt 4, marking tsc unstable");
}

static void early_unstable(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_add_log(evidence, "clocksource: timekeeping watchdog on CPU0: Marking clocksource "
				   "'tsc-early' as unstable because the skew is too large:");
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

/* The logs of tests/unit/watchdog_test.c. */
static void add_report(struct evidence *evidence, const char *reference, const char *tsc)
{
	on_hpet(evidence);
	evidence_add_log(evidence, "clocksource: Marking clocksource 'tsc' as unstable because");
	evidence_add_log(evidence, reference);
	evidence_add_log(evidence, tsc);
	evidence_add_log(evidence, "tsc: Marking TSC unstable due to clocksource watchdog");
}

static void reference_wrapped(struct evidence *evidence)
{
	add_report(evidence,
		"'acpi_pm' wd_nsec: 312227950 wd_now: 92367f wd_last: 8128bd mask: ffffff",
		"'tsc' cs_nsec: 4999196389 cs_now: 9e811223a9754 cs_last: 9e80e767df194 mask: "
		"ffffffffffffffff");
}

static void reference_stopped(struct evidence *evidence)
{
	add_report(evidence, "'hpet' wd_nsec: 0 wd_now: 33 wd_last: 33 mask: ffffffff",
		"'tsc' cs_nsec: 500000000 cs_now: 9 cs_last: 3 mask: ffffffffffffffff");
}

static void reference_misread(struct evidence *evidence)
{
	add_report(evidence, "'hpet' wd_now: ffffffff wd_last: 19ec5720 mask: ffffffff",
		"'tsc' cs_now: 69b8a15f0aed cs_last: 69b862c9947d mask: ffffffffffffffff");
}

static void lost_ticks(struct evidence *evidence)
{
	add_report(evidence,
		"'refined-jiffies' wd_nsec: 503923392 wd_now: fffb73f8 wd_last: fffb7200 mask: "
		"ffffffff",
		"'tsc-early' cs_nsec: 588021368 cs_now: 581c1eb378 cs_last: 57d9aad9e8 mask: "
		"ffffffffffffffff");
}

static void check_late(struct evidence *evidence)
{
	add_report(evidence,
		"'hpet' wd_nsec: 14523447520 wd_now: 5a749706 wd_last: 45adf1e0 mask: ffffffff",
		"'tsc' cs_nsec: 14524115132 cs_now: 515ce2c5a96caa cs_last: 515cd9a9d83918 mask: "
		"ffffffffffffffff");
}

static void check_delayed(struct evidence *evidence)
{
	add_report(evidence,
		"'hpet' wd_nsec: 503029760 wd_now: 48a38f74 wd_last: 47e3ab74 mask: ffffffff",
		"'tsc' cs_nsec: 503466648 cs_now: 3224653e7bd cs_last: 3220d4f8d57 mask: "
		"ffffffffffffffff");
}

static void guest_paused(struct evidence *evidence)
{
	add_report(evidence, "clocksource: Watchdog kvm-clock interval: 503995129ns",
		"clocksource: Clocksource tsc interval: 1894661885ns");
}

static void jumped(struct evidence *evidence)
{
	add_report(evidence, "'hpet' wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff",
		"'tsc' cs_now: 103b19f57d0eb5 cs_last: fc461fd0ba3a6 mask: ffffffffffffffff");
}

static void skewed(struct evidence *evidence)
{
	add_report(evidence,
		"'hpet' wd_nsec: 495412266 wd_now: 74b2d4c wd_last: 6def0b2 mask: ffffffff",
		"'tsc' cs_nsec: 496288695 cs_now: 1a21e4cda2 cs_last: 19b1b24352 mask: "
		"ffffffffffffffff");
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

static void uncalibrated(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_set_available(evidence, "hpet acpi_pm");
	evidence_add_log(evidence, "tsc: No reference (HPET/PMTIMER) available");
}

static void not_invariant(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_set_available(evidence, "hpet acpi_pm");
	fact_set_flag(&evidence->host.invariant_tsc, false);
}

static void not_offered(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_set_available(evidence, "hpet acpi_pm");
}

static void log_denied(struct evidence *evidence)
{
	on_hpet(evidence);
	fact_set(&evidence->kernel_log.fact, FACT_DENIED, "/dev/kmsg: Operation not permitted");
}

/* 32-bit arm where the counter was not set up: the kernel takes the functions away. */
static void vdso_without_time(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "arch_sys_counter");
	fact_set_text(&evidence->host.arch, "armv7l");
	evidence_remove_path(evidence, PATH_VDSO);
	evidence->vdso.export_count = 0;
}

static void compat_missing(struct evidence *evidence)
{
	without_vdso(evidence);
	fact_set_text(&evidence->host.arch, "aarch64");
}

static void vdso_disabled(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "tsc");
	evidence_add_log(evidence, "clocksource: tsc registered with invalid VDSO mode 9. "
				   "Disabling VDSO support.");
}

static void crashing(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	for (size_t i = 0; i < evidence->call_count; i++)
		evidence->calls[i].path[PATH_VDSO].signal = 7;
}

static void riscv_without_time(struct evidence *evidence)
{
	trapped(evidence);
	fact_set_text(&evidence->host.arch, "riscv64");
	evidence->host.hypervisor = (struct text_fact){.fact.state = FACT_ABSENT};
}

static void boot_refused(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_set_available(evidence, "hpet acpi_pm");
	fact_set_text(&evidence->host.boot, "clocksource=tsc tsc=reliable");
}

static void kvm_clock_disabled(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_set_available(evidence, "hpet acpi_pm");
	fact_set_text(&evidence->host.boot, "no-kvmclock");
}

static void kvm_clock_unused(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_set_available(evidence, "hpet acpi_pm");
	fact_set_flag(&evidence->host.kvm_clock_offered, true);
}

static void unbound(struct evidence *evidence)
{
	on_hpet(evidence);
	evidence_set_available(evidence, "hpet acpi_pm");
	fact_set_flag(&evidence->host.invariant_tsc, false);
	evidence_add_log(evidence, "clocksource: Switched to clocksource tsc-early");
	evidence_add_log(evidence, "clocksource: Switched to clocksource tsc");
	evidence_add_log(evidence, "clocksource: Switched to clocksource hpet");
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
	ROW(counter_off, "counter-off"),
	ROW(blocked, "time-calls-blocked"),
	ROW(under_valgrind, "emulated"),
	ROW(vdso_switched_off, "vdso-switched-off"),
	ROW(without_vdso, "no-vdso"),
	ROW(wsl1, "wsl1"),
	ROW(on_hpet, "clocksource-without-vdso"),
	ROW(xen_3_10, "xen-kernel-too-old"),
	ROW(xen_6_1, "xen-clock-unstable"),
	ROW(xen_4_15, "xen-clock-unstable"),
	ROW(xen_4_14_with_mode, "xen-clock-unstable"),
	ROW(xen_without_page, "xen-without-time-page"),
	ROW(kvm_clock, "kvm-clock-never-stable"),
	ROW(kvm_clock_without_feature, "kvm-clock-never-stable"),
	ROW(kvm_clock_lost, "kvm-clock-lost"),
	ROW(kvm_clock_unread, "kvm-clock-unstable"),
	ROW(pvclock_withdrawn, "pvclock-withdrawn"),
	ROW(kvm_clock_off, "kvm-clock-switched-off"),
	ROW(kvm_clock_32_bit, "kvm-clock-32-bit"),
	ROW(hyperv, "hyperv-without-vdso"),
	ROW(hyperv_4_4, "hyperv-kernel-too-old"),
	ROW(hyperv_msr_4_4, "hyperv-kernel-too-old"),
	ROW(hyperv_4_4_of_sles, "hyperv-without-vdso"),
	ROW(hyperv_withdrawn, "hyperv-page-invalid"),
	ROW(arm, "arm-counter-erratum"),
	ROW(arm_compat, "arm-compat-disabled"),
	ROW(without_sys, "clocksource-unseen"),
	ROW(changed_meanwhile, "clocksource-changing"),
	ROW(to_and_fro, "clocksource-changing"),
	ROW(libc_passes, "libc-passes-vdso"),
	ROW(trapped, "counter-trapped"),
	ROW(old_vdso, "old-vdso-clocks"),
	ROW(gvisor, "gvisor-few-clocks"),
	ROW(gvisor_just_started, "gvisor-calibrating"),
	ROW(in_namespace, "time-namespace"),
	ROW(unexplained, "fallback-unexplained"),
	ROW(booted_with_hpet, "boot-clocksource"),
	ROW(booted_without_tsc, "boot-without-tsc"),
	ROW(read_delay, "tsc-read-delay"),
	ROW(early_unstable, "tsc-early-unstable"),
	ROW(unsynchronised, "tsc-unsynchronised"),
	ROW(unsynchronised_7_2, "tsc-unsynchronised"),
	ROW(no_invariant_on_hyperv, "tsc-on-hyperv"),
	ROW(reference_wrapped, "tsc-reference-wrapped"),
	ROW(reference_stopped, "tsc-reference-stopped"),
	ROW(reference_misread, "tsc-reference-misread"),
	ROW(lost_ticks, "tsc-reference-lost-ticks"),
	ROW(check_late, "tsc-check-late"),
	ROW(check_delayed, "tsc-check-delayed"),
	ROW(guest_paused, "tsc-guest-paused"),
	ROW(jumped, "tsc-jumped"),
	ROW(skewed, "tsc-skewed"),
	ROW(distrusted, "tsc-distrusted"),
	ROW(vdso_without_time, "vdso-without-time"),
	ROW(compat_missing, "no-compat-vdso"),
	ROW(vdso_disabled, "vdso-disabled-by-kernel"),
	ROW(crashing, "calls-crash"),
	ROW(riscv_without_time, "counter-emulated-by-firmware"),
	ROW(boot_refused, "boot-clocksource-refused"),
	ROW(kvm_clock_disabled, "kvm-clock-disabled"),
	ROW(kvm_clock_unused, "kvm-clock-unused"),
	ROW(unbound, "tsc-unbound"),
	ROW(unknown_name, "clocksource-without-vdso"),
	ROW(distrusted_3_10, "tsc-distrusted"),
	ROW(uncalibrated, "tsc-uncalibrated"),
	ROW(not_invariant, "tsc-not-invariant"),
	ROW(not_offered, "tsc-not-offered"),
	ROW(log_denied, "kernel-log-denied"),
};

static struct cause causes[CAUSE_MAX];

static size_t find(const struct evidence *evidence)
{
	const struct cause_row *found[CAUSE_MAX];
	struct verdict verdict;
	struct view view;
	size_t count;

	verdict_find(evidence, &verdict);
	view_make(evidence, verdict.kind, &view);
	memset(causes, 0xff, sizeof(causes));
	count = cause_find(&view, causes, found);
	assert_in_range(count, 0, CAUSE_MAX);
	return count;
}

static bool is_found(const char *id, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(causes[i].id, id) == 0)
			return true;
	}
	return false;
}

/* The host has the cause and its text, its evidence is whole lines. */
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
	for (size_t i = 0; i < count; i++) {
		assert_true(*causes[i].text);
		assert_in_range(causes[i].evidence_count, 0, CAUSE_EVIDENCE_MAX);
		for (size_t k = 0; k < causes[i].evidence_count; k++)
			assert_in_range(strlen(causes[i].evidence[k]), 1, CAUSE_EVIDENCE_SIZE - 1);
	}
}

static void a_healthy_host_has_no_causes(void **state)
{
	static struct evidence evidence;

	(void)state;
	evidence_make_healthy(&evidence);
	assert_int_equal(find(&evidence), 0);
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
		{"tsc-unsynchronised", "tsc-distrusted"},
		{"tsc-early-unstable", "tsc-distrusted"},
		{"boot-without-tsc", "tsc-distrusted"},
		{"no-compat-vdso", "no-vdso"},
		{"counter-emulated-by-firmware", "counter-trapped"},
		{"tsc-unbound", "tsc-not-invariant"},
		{"tsc-unbound", "tsc-not-offered"},
		{"kvm-clock-disabled", "kvm-clock-unused"},
		{"tsc-skewed", "tsc-distrusted"},
		{"tsc-reference-wrapped", "tsc-distrusted"},
		{"tsc-reference-wrapped", "tsc-early-unstable"},
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

/* A verdict of fallback or slow without a why leaves the user alone. */
static void every_fault_has_a_cause_and_none_twice(void **state)
{
	static struct evidence evidence;
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct verdict verdict;
		size_t count;

		evidence_roll(&evidence, &dice);
		verdict_find(&evidence, &verdict);
		count = find(&evidence);
		if (verdict.kind == VERDICT_SLOW)
			assert_true(count > 0);
		if (verdict.kind == VERDICT_FALLBACK && fact_is_known(&evidence.vdso.fact) &&
			strcmp(verdict.rule, "enters-through-libc") != 0 &&
			evidence.calls[0].path[PATH_VDSO].entered > 0)
			assert_true(count > 0);
		for (size_t i = 0; i < count; i++) {
			for (size_t k = 0; k < i; k++)
				assert_string_not_equal(causes[i].id, causes[k].id);
		}
	}
}

static bool is_in_table(const char *id)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (strcmp(rows[i].id, id) == 0)
			return true;
	}
	return false;
}

/* A rule added without a row here would go untested. */
static void every_rule_has_a_row_in_this_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < CAUSE_TABLES; i++) {
		for (const struct cause_row *row = cause_tables[i].rows; row->id; row++) {
			if (!is_in_table(row->id))
				fail_msg("no test for %s", row->id);
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

/* Whatever it is called: the data page says so. */
static void a_mode_that_was_read_as_none_is_proof(void **state)
{
	static struct evidence evidence;

	(void)state;
	unknown_name(&evidence);
	assert_int_equal(find(&evidence), 1);
	assert_string_equal(causes[0].id, "clocksource-without-vdso");
	assert_int_equal(causes[0].certainty, CERTAINTY_PROVEN);
}

int main(void)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(an_old_kernel_on_hyperv_does_not_blame_its_host),
		cmocka_unit_test(a_mode_that_was_read_overrides_a_version),
		cmocka_unit_test(a_mode_that_was_read_as_none_is_proof),
		cmocka_unit_test(a_healthy_host_has_no_causes),
		cmocka_unit_test(exclusive_causes_exclude_each_other),
		cmocka_unit_test(every_fault_has_a_cause_and_none_twice),
		cmocka_unit_test(every_rule_has_a_row_in_this_test),
		cmocka_unit_test(a_kernel_log_line_makes_a_cause_proven),
	};

	return unit_run_rows("the cause is found", the_cause_is_found, rows) +
	       cmocka_run_group_tests_name("cause, all of it", plain, NULL, NULL);
}
