/* SPDX-License-Identifier: MIT */
/* Tests of judge/view: how many of the deciding calls entered the kernel, by which path. */
#include <signal.h>

#include "judge.h"
#include "judge/rules.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct evidence evidence;

static void counts_are_those_of_deciding_calls_only(void **state)
{
	struct entry_counts counts;

	(void)state;
	evidence_make_healthy(&evidence);
	evidence_find_call(&evidence, "clock_gettime", "CLOCK_TAI")->path[PATH_VDSO].entered = 9;
	evidence_monotonic(&evidence, PATH_VDSO)->entered = 7;
	counts = counts_deciding(&evidence);
	assert_int_equal(counts.calls, 3);
	assert_int_equal(counts.proven, 3);
	assert_int_equal(counts.entering, 1);
	assert_int_equal(counts.always, 0);
	assert_int_equal(counts.attempts, 3 * BUILDER_ATTEMPTS);
	assert_int_equal(counts.entered, 7);
	assert_int_equal(counts.signal, 0);
	evidence_monotonic(&evidence, PATH_VDSO)->entered = BUILDER_ATTEMPTS;
	assert_int_equal(counts_deciding(&evidence).always, 1);
}

static void without_a_vdso_function_libc_decides(void **state)
{
	struct entry_counts counts;

	(void)state;
	evidence_make_healthy(&evidence);
	*evidence_monotonic(&evidence, PATH_VDSO) = (struct path_evidence){0};
	evidence_monotonic(&evidence, PATH_LIBC)->entered = BUILDER_ATTEMPTS;
	evidence_monotonic(&evidence, PATH_LIBC)->signal = SIGBUS;
	counts = counts_deciding(&evidence);
	assert_int_equal(counts.calls, 3);
	assert_int_equal(counts.always, 1);
	assert_int_equal(counts.signal, SIGBUS);
	assert_int_equal(counts_by_path(&evidence, PATH_VDSO).calls, 2);
	assert_int_equal(counts_by_path(&evidence, PATH_LIBC).calls, 3);
	assert_int_equal(counts_by_path(&evidence, PATH_LIBC).entered, BUILDER_ATTEMPTS);
}

static void a_call_without_attempts_is_not_proven(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	evidence_monotonic(&evidence, PATH_VDSO)->attempts = 0;
	assert_int_equal(counts_deciding(&evidence).calls, 3);
	assert_int_equal(counts_deciding(&evidence).proven, 2);
	assert_int_equal(counts_deciding(&evidence).always, 0);
}

static void a_clock_is_found_by_its_whole_name(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	assert_string_equal(clock_gettime_of(&evidence, "CLOCK_MONOTONIC")->call, "clock_gettime");
	assert_string_equal(
		clock_gettime_of(&evidence, "CLOCK_MONOTONIC")->clock, "CLOCK_MONOTONIC");
	assert_null(clock_gettime_of(&evidence, "CLOCK_MONO"));
	assert_null(clock_gettime_of(&evidence, ""));
}

/* As the kernel does, which takes each as it comes. */
static void the_last_of_equal_boot_parameters_holds(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	fact_set_text(&evidence.host.boot, "clocksource=hpet notsc clocksource=tsc");
	assert_true(boot_chooses(&evidence, "tsc"));
	assert_false(boot_chooses(&evidence, "hpet"));
	fact_set_text(&evidence.host.boot, "clocksource=hpet clock=pmtmr");
	assert_true(boot_chooses(&evidence, "acpi_pm"));
	fact_set_text(&evidence.host.boot, "clocksource=");
	assert_false(boot_chooses(&evidence, ""));
	fact_set_text(&evidence.host.boot, "vdso=0 vdso=1");
	assert_false(boot_takes(&evidence, BOOT_VDSO));
}

/* By the functions of the kernel that read the value; see judge/boot.c. */
static void a_boot_parameter_takes_what_the_kernel_lets_it_take(void **state)
{
	static const struct {
		const char *boot;
		enum boot_effect effect;
		bool takes;
	} rows[] = {
		{"notsc", BOOT_TSC, true},
		{"notsc=1", BOOT_TSC, true},
		{"notscx", BOOT_TSC, true},
		{"xnotsc tsc", BOOT_TSC, false},
		{"tsc=unstable", BOOT_TSC, true},
		{"tsc=\"unstable\"", BOOT_TSC, true},
		{"tsc=unstable,reliable", BOOT_TSC, false},
		{"clearcpuid=514,120", BOOT_TSC, true},
		{"clearcpuid=tsc", BOOT_TSC, true},
		{"clearcpuid=1200", BOOT_TSC, false},
		{"-- notsc", BOOT_TSC, false},
		{"acpi=off", BOOT_REFERENCE, true},
		{"acpi=offline", BOOT_REFERENCE, false},
		{"hpet=verbose,disable", BOOT_REFERENCE, true},
		{"hpet=disabled", BOOT_REFERENCE, true},
		{"hpet=force", BOOT_REFERENCE, false},
		{"nohpet", BOOT_REFERENCE, true},
		{"pmtmr=0x0", BOOT_REFERENCE, true},
		{"pmtmr=0 pmtmr=508", BOOT_REFERENCE, false},
		{"pmtmr=", BOOT_REFERENCE, false},
		{"no_kvmclock", BOOT_KVM_CLOCK, true},
		{"no-kvmclock-vsyscall", BOOT_KVM_CLOCK, false},
		{"no-kvmclock-vsyscall=0", BOOT_KVM_VDSO, true},
		{"nopv", BOOT_HYPERVISOR, true},
		{"nopvspin", BOOT_HYPERVISOR, false},
		{"xen_nopv", BOOT_XEN, true},
		{"vdso=00", BOOT_VDSO, true},
		{"vdso=off", BOOT_VDSO, true},
		{"vdso=2", BOOT_VDSO, false},
		{"vdso32=2", BOOT_VDSO, true},
		{"vdso32=1", BOOT_VDSO, false},
	};

	(void)state;
	evidence_make_healthy(&evidence);
	for (size_t i = 0; i < COUNT(rows); i++) {
		fact_set_text(&evidence.host.boot, rows[i].boot);
		if (boot_takes(&evidence, rows[i].effect) != rows[i].takes)
			fail_msg("%s", rows[i].boot);
	}
	fact_set_text(&evidence.host.arch, "s390x");
	fact_set_text(&evidence.host.boot, "vdso=on");
	assert_false(boot_takes(&evidence, BOOT_VDSO));
	fact_set_text(&evidence.host.boot, "vdso=off");
	assert_true(boot_takes(&evidence, BOOT_VDSO));
}

/* Those that are removed are named as they are written, each once. */
static void parameters_to_remove_are_named_as_they_stand(void **state)
{
	struct view view;
	char list[64];

	(void)state;
	evidence_make_falling_back(&evidence, "refined-jiffies");
	evidence_set_available(&evidence, "refined-jiffies jiffies");
	fact_set_text(&evidence.host.boot, "notsc=1 acpi=off hpet=disable notsc=1 hpet=force");
	view = view_of(&evidence);
	view.verdict = VERDICT_FALLBACK;
	view_follow(&view);
	boot_list_removable(&view, list, sizeof(list));
	assert_string_equal(list, "notsc=1 acpi=off hpet=disable");
	evidence_set_available(&evidence, "hpet refined-jiffies jiffies");
	view_follow(&view);
	boot_list_removable(&view, list, sizeof(list));
	assert_string_equal(list, "notsc=1");
	evidence_set_available(&evidence, "acpi_pm refined-jiffies jiffies");
	view_follow(&view);
	boot_list_removable(&view, list, sizeof(list));
	assert_string_equal(list, "notsc=1");
	fact_set_text(&evidence.host.boot, "notscx nohpet");
	evidence_set_current(&evidence, "pit");
	evidence_set_available(&evidence, "pit");
	view_follow(&view);
	boot_list_removable(&view, list, sizeof(list));
	assert_string_equal(list, "notscx nohpet");
	/* One that reads well is no reason to remove another's parameter. */
	evidence_set_current(&evidence, "dummy");
	view_follow(&view);
	boot_list_removable(&view, list, sizeof(list));
	assert_string_equal(list, "notscx");
}

static struct view followed_view(void)
{
	struct view view = view_of(&evidence);

	view.verdict = VERDICT_FALLBACK;
	view_follow(&view);
	return view;
}

/* Its clock is missing from a kernel that was built without it: nothing else took it away. */
static void a_driver_is_missing_where_nothing_else_took_its_clock(void **state)
{
	static const struct {
		const char *hypervisor, *available, *boot, *line;
		bool lacks;
	} hosts[] = {
		{"kvm", "hpet", "quiet", "clocksource: Switched to clocksource hpet", true},
		{"kvm", "hpet kvm-clock", "quiet", "clocksource: Switched to clocksource hpet",
			false},
		{"kvm", "hpet", "no-kvmclock", "clocksource: Switched to clocksource hpet", false},
		{"kvm", "hpet", "quiet", "kvm-clock: Using msrs 4b564d01 and 4b564d00", false},
		{"kvm", "hpet", "quiet", "Hypervisor detected: KVM", false},
		{"kvm", "hpet", "quiet", "Booting paravirtualized kernel on KVM", false},
		{"kvm", "hpet", "quiet", "clocksource: hyperv_clocksource_msr: mask: 0x1", false},
		{"kvm", "hpet", "quiet", "Hyper-V: LAPIC Timer Frequency: 0xf4240", false},
		{"microsoft", "hpet", "quiet", "clocksource: Switched to clocksource hpet", true},
		{"microsoft", "hpet hyperv_clocksource_msr", "quiet", "x", false},
		{"microsoft", "hpet hyperv_clocksource", "quiet", "x", false},
		{"microsoft", "hpet hyperv_clocksource_tsc_page", "quiet", "x", false},
		{"xen", "hpet", "quiet", "x", true},
		{"xen", "hpet xen", "quiet", "x", false},
		{"xen", "hpet", "xen_nopv", "x", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(hosts); i++) {
		evidence_make_falling_back(&evidence, "hpet");
		evidence_set_available(&evidence, hosts[i].available);
		fact_set_text(&evidence.host.hypervisor, hosts[i].hypervisor);
		fact_set_text(&evidence.host.boot, hosts[i].boot);
		fact_set_flag(&evidence.host.kvm_clock_offered, true);
		evidence.kernel_log.count = 0;
		evidence_add_log(&evidence, "tsc: Detected 2600.000 MHz processor");
		evidence_add_log(&evidence, hosts[i].line);
		evidence.kernel_log.lines[0].seconds = 0;
		if (followed_view().lacks_driver != hosts[i].lacks)
			fail_msg("%s: %s, %s, %s", hosts[i].hypervisor, hosts[i].available,
				hosts[i].boot, hosts[i].line);
		fact_set_text(&evidence.host.platform, "xen-dom0");
		if (hosts[i].lacks && strcmp(hosts[i].hypervisor, "xen") == 0)
			assert_false(followed_view().lacks_driver);
	}
}

/* Only figures that show both rates, of a reference that was right, refute the parameter. */
static void a_rate_on_the_command_line_is_refuted_by_figures_alone(void **state)
{
	struct watchdog_report report = {.reference.seconds = 0.5, .tsc.seconds = 0.65};

	(void)state;
	evidence_make_healthy(&evidence);
	assert_true(boot_rates_find(&evidence, &report).stated <= 0);
	fact_set_text(&evidence.host.boot, "tsc_early_khz=2000000");
	for (int culprit = 0; culprit <= WATCHDOG_RATES; culprit++) {
		bool is_refuted = culprit != WATCHDOG_REFERENCE;

		report.culprit = (enum watchdog_culprit)culprit;
		assert_int_equal(boot_rates_find(&evidence, &report).stated > 0, is_refuted);
	}
	assert_int_equal(boot_rates_find(&evidence, &report).measured, 2600);
	report.tsc.seconds = 0.504;
	assert_true(boot_rates_find(&evidence, &report).stated <= 0);
	report.tsc.seconds = 601; /* it jumped */
	assert_true(boot_rates_find(&evidence, &report).stated <= 0);
	report.tsc.seconds = -1;
	assert_true(boot_rates_find(&evidence, &report).stated <= 0);
	report.tsc.seconds = 0.65;
	report.reference.seconds = -1;
	assert_true(boot_rates_find(&evidence, &report).stated <= 0);
}

/* A container may hide it, while the kernel log has the name. */
static void a_parameter_that_only_the_log_has_is_removed(void **state)
{
	struct view view;
	char list[64];

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	fact_set(&evidence.host.boot.fact, FACT_ABSENT, "/proc/cmdline is empty");
	evidence_add_log(&evidence, "tsc: Marking TSC unstable due to boot parameter notsc");
	view = view_of(&evidence);
	boot_list_removable(&view, list, sizeof(list));
	assert_string_equal(list, "notsc");
	strcpy(evidence.kernel_log.lines[0].text, "Marking TSC unstable due to boot parameter");
	view = view_of(&evidence);
	boot_list_removable(&view, list, sizeof(list));
	assert_string_equal(list, "tsc=unstable");
}

static enum verdict_kind expected_of_tree(const char *arch, const char *boot)
{
	static struct diagnosis diagnosis;

	evidence = (struct evidence){.live = false};
	fact_set(&evidence.vdso.fact, FACT_UNREAD, "a captured tree contains no vDSO");
	fact_set_known(&evidence.clocksource.current_fact);
	text_clean(evidence.clocksource.current, sizeof(evidence.clocksource.current), "tsc");
	fact_set_text(&evidence.host.arch, arch);
	fact_set_text(&evidence.host.boot, boot);
	diagnose(&evidence, &diagnosis);
	return diagnosis.verdict.expected;
}

/* arch/x86/entry/vdso: vdso= is the native word size's, vdso32= that of 32-bit programs. */
static void a_vdso_is_disabled_by_its_own_parameter(void **state)
{
	(void)state;
	assert_int_equal(expected_of_tree("x86_64", "vdso=0"), VERDICT_FALLBACK);
	assert_int_equal(expected_of_tree("x86_64", "vdso=0 vdso=1"), VERDICT_OK);
	assert_int_equal(expected_of_tree("x86_64", "vdso32=0"), VERDICT_OK);
	assert_int_equal(expected_of_tree("i686", "vdso32=0"), VERDICT_FALLBACK);
	assert_int_equal(expected_of_tree("i686", "vdso32=2"), VERDICT_FALLBACK);
	assert_int_equal(expected_of_tree("i686", "vdso=0"), VERDICT_FALLBACK);
	assert_int_equal(expected_of_tree("i686", "vdso32=1"), VERDICT_OK);
}

static void set_kernel(const char *release, const char *build)
{
	evidence_make_healthy(&evidence);
	fact_set_text(&evidence.host.kernel, release);
	fact_set_text(&evidence.host.kernel_build, build);
}

static void a_patch_level_is_that_of_the_release_or_of_debian_s_build(void **state)
{
	(void)state;
	set_kernel("6.1.78", "#1 SMP");
	assert_true(kernel_is_patched(&evidence, "6.1.78"));
	assert_false(kernel_is_patched(&evidence, "6.1.79"));
	assert_false(kernel_is_patched(&evidence, "6.2.0"));
	set_kernel("6.1.115-126.197.amzn2023.x86_64", "#1 SMP PREEMPT_DYNAMIC");
	assert_true(kernel_is_patched(&evidence, "6.1.78"));
	set_kernel("6.1.0-28-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)");
	assert_true(kernel_is_patched(&evidence, "6.1.119"));
	assert_false(kernel_is_patched(&evidence, "6.1.120"));
	set_kernel("5.15.0-126-generic", "#136-Ubuntu SMP Wed Nov 6 10:38:22 UTC 2024");
	assert_false(kernel_is_patched(&evidence, "5.15.1"));
	set_kernel("6.1", "#1 SMP Debian 6.1");
	assert_false(kernel_is_patched(&evidence, "6.1.0"));
	fact_set(&evidence.host.kernel.fact, FACT_ABSENT, "x");
	fact_set(&evidence.host.kernel_build.fact, FACT_ABSENT, "x");
	assert_false(kernel_is_patched(&evidence, "6.1.0"));
}

/* The stamps of CPUs differ by less; some kernels count anew at a resume. */
static void stamps_that_go_back_show_a_resume(void **state)
{
	struct kernel_log_line *lines = evidence.kernel_log.lines;
	struct view view;

	(void)state;
	evidence_make_healthy(&evidence);
	evidence.kernel_log.count = 0;
	evidence_add_log(&evidence, "tsc: Detected 2600.000 MHz processor");
	evidence_add_log(&evidence, "clocksource: Switched to clocksource tsc");
	view = view_of(&evidence);
	lines[0].seconds = 10;
	lines[1].seconds = 9.5;
	assert_false(log_is_after_resume(&view, &lines[1]));
	lines[1].seconds = 8.5;
	assert_true(log_is_after_resume(&view, &lines[1]));
}

/* A tree of clocksources and a log has no file that names it. */
static void a_host_without_an_architecture_is_x86_by_what_x86_alone_has(void **state)
{
	static const struct {
		const char *available, *line;
		bool has_cpuid, is_x86;
	} hosts[] = {{"hpet", NULL, false, false}, {"hpet acpi_pm", NULL, false, true},
		{"tsc hpet", NULL, false, true}, {"hpet", NULL, true, true},
		{"hpet", "clocksource: Switched to clocksource hpet", false, false},
		{"hpet", "Marking TSC unstable due to clocksource watchdog", false, true},
		{"hpet", "tsc: Detected 2600.000 MHz processor", false, true}};

	(void)state;
	for (size_t i = 0; i < COUNT(hosts); i++) {
		evidence_make_healthy(&evidence);
		evidence.kernel_log.count = 0;
		evidence_set_available(&evidence, hosts[i].available);
		fact_set(&evidence.host.arch.fact, FACT_ABSENT, "no file");
		if (!hosts[i].has_cpuid)
			fact_set(&evidence.host.invariant_tsc.fact, FACT_ABSENT, "no file");
		if (hosts[i].line)
			evidence_add_log(&evidence, hosts[i].line);
		assert_int_equal(host_is_x86(&evidence), hosts[i].is_x86);
		fact_set_text(&evidence.host.arch, "aarch64");
		assert_false(host_is_x86(&evidence));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_those_of_deciding_calls_only),
		cmocka_unit_test(the_last_of_equal_boot_parameters_holds),
		cmocka_unit_test(a_boot_parameter_takes_what_the_kernel_lets_it_take),
		cmocka_unit_test(parameters_to_remove_are_named_as_they_stand),
		cmocka_unit_test(a_driver_is_missing_where_nothing_else_took_its_clock),
		cmocka_unit_test(a_rate_on_the_command_line_is_refuted_by_figures_alone),
		cmocka_unit_test(a_parameter_that_only_the_log_has_is_removed),
		cmocka_unit_test(a_vdso_is_disabled_by_its_own_parameter),
		cmocka_unit_test(without_a_vdso_function_libc_decides),
		cmocka_unit_test(a_call_without_attempts_is_not_proven),
		cmocka_unit_test(a_clock_is_found_by_its_whole_name),
		cmocka_unit_test(stamps_that_go_back_show_a_resume),
		cmocka_unit_test(a_host_without_an_architecture_is_x86_by_what_x86_alone_has),
		cmocka_unit_test(a_patch_level_is_that_of_the_release_or_of_debian_s_build),
	};

	return cmocka_run_group_tests_name("counts", tests, NULL, NULL);
}
