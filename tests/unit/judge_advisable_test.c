/* SPDX-License-Identifier: MIT */
/*
 * Tests of judge/advisable: which clocksources check and compare may recommend, and the reason
 * where they may not.
 */
#include <string.h>

#include "judge/view.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct evidence evidence;

static const char *why_not_to(const char *name)
{
	struct view view = view_of(&evidence);

	return reason_against(&view, name);
}

static void assert_advisable(const char *name)
{
	assert_null(why_not_to(name));
}

static void assert_not_advisable(const char *name, const char *reason)
{
	const char *why_not = why_not_to(name);

	assert_non_null(why_not);
	if (!strstr(why_not, reason))
		fail_msg("%s: %s", name, why_not);
}

static void make_guest(const char *hypervisor, const char *current, const char *available)
{
	evidence_make_falling_back(&evidence, current);
	fact_set_text(&evidence.host.hypervisor, hypervisor);
	evidence_set_available(&evidence, available);
}

static void an_invariant_tsc_is_advisable(void **state)
{
	(void)state;
	make_guest("kvm", "hpet", "tsc hpet");
	assert_advisable("tsc");
}

static void reasons_against_the_tsc_are_named(void **state)
{
	(void)state;
	make_guest("kvm", "hpet", "hpet");
	assert_not_advisable("tsc", "does not offer");
	make_guest("kvm", "hpet", "tsc hpet");
	fact_set_flag(&evidence.host.invariant_tsc, false);
	assert_not_advisable("tsc", "invariant");
	make_guest("kvm", "hpet", "tsc hpet");
	fact_set_text(&evidence.host.boot, "quiet notsc");
	assert_not_advisable("tsc", "command line");
	make_guest("kvm", "hpet", "tsc hpet");
	evidence_add_log(&evidence, "tsc: Marking TSC unstable due to TSC warp");
	assert_not_advisable("tsc", "kernel log");
	make_guest("kvm", "hpet", "tsc hpet");
	fact_set_text(&evidence.host.platform, "firecracker");
	assert_not_advisable("tsc", "snapshot");
	make_guest("kvm", "kvm-clock", "kvm-clock tsc");
	assert_not_advisable("tsc", "migration");
}

static void a_tsc_that_gains_nothing_is_not_advisable(void **state)
{
	(void)state;
	make_guest("kvm", "hpet", "tsc hpet");
	for (size_t i = 0; i < evidence.call_count; i++) {
		evidence.calls[i].path[PATH_VDSO].fact.state = FACT_KNOWN;
		evidence.calls[i].path[PATH_VDSO].min_ns = 600;
	}
	fact_set_real(&evidence.copy.what_if_ns, 28);
	assert_advisable("tsc");
	evidence.copy.what_if_ns.value = 550;
	assert_not_advisable("tsc", "costs as much as a system call");
}

/* A Xen PV guest sees the machine's CPUID; what the kernel shows is what it found true. */
static void the_kernel_has_to_agree_with_cpuid(void **state)
{
	(void)state;
	make_guest("xen", "hpet", "tsc hpet");
	assert_advisable("tsc");
	fact_set_text(&evidence.host.tsc_flags, "constant_tsc tsc_known_freq");
	assert_not_advisable("tsc", "invariant");
	fact_set_text(&evidence.host.tsc_flags, "constant_tsc tsc_reliable tsc_known_freq");
	assert_advisable("tsc");
	fact_set(&evidence.host.tsc_flags.fact, FACT_ABSENT, "x");
	assert_advisable("tsc");
}

static void snapshots_are_against_the_tsc_where_they_are_the_rule(void **state)
{
	static const char *const platforms[] = {"firecracker", "microvm", "cloud-hypervisor"};

	(void)state;
	make_guest("kvm", "hpet", "tsc hpet");
	for (size_t i = 0; i < COUNT(platforms); i++) {
		fact_set_text(&evidence.host.platform, platforms[i]);
		assert_not_advisable("tsc", "snapshot");
	}
	fact_set_text(&evidence.host.platform, "aws-nitro");
	assert_advisable("tsc");
}

/* While the tick is periodic, the kernel lists an unstable TSC, too: as the last by its rating. */
static void a_tsc_behind_slower_clocksources_is_not_advisable(void **state)
{
	(void)state;
	make_guest("kvm", "hpet", "tsc hpet acpi_pm refined-jiffies jiffies");
	assert_advisable("tsc");
	make_guest("kvm", "hpet", "hpet acpi_pm refined-jiffies jiffies tsc");
	assert_not_advisable("tsc", "marked the TSC unstable");
	make_guest("kvm", "refined-jiffies", "refined-jiffies jiffies tsc");
	assert_not_advisable("tsc", "marked the TSC unstable");
	make_guest("xen", "hpet", "xen tsc hpet");
	assert_advisable("tsc");
}

static void amazon_advises_tsc_over_kvm_clock(void **state)
{
	(void)state;
	make_guest("amazon", "kvm-clock", "kvm-clock tsc acpi_pm");
	assert_not_advisable("tsc", "migration");
	fact_set_text(&evidence.host.platform, "aws-nitro");
	assert_advisable("tsc");
	fact_set_flag(&evidence.host.invariant_tsc, false);
	assert_not_advisable("tsc", "invariant");
}

static void a_clocksource_without_vdso_support_is_not_advisable(void **state)
{
	(void)state;
	make_guest("kvm", "tsc", "tsc hpet acpi_pm");
	assert_not_advisable("hpet", "system call");
	assert_not_advisable("acpi_pm", "system call");
}

static void a_paravirtual_clock_that_the_vdso_cannot_read_is_not_advisable(void **state)
{
	(void)state;
	make_guest("xen", "hpet", "xen hpet");
	assert_advisable("xen");
	fact_set_flag(&evidence.host.xen_tsc_reliable, false);
	assert_not_advisable("xen", "stable");
	make_guest("xen", "hpet", "xen hpet");
	evidence_add_log(&evidence, "xen: VDSO_CLOCKMODE_PVCLOCK not supported (tsc unstable)");
	assert_not_advisable("xen", "stable");
	make_guest("microsoft", "acpi_pm", "hyperv_clocksource_tsc_page acpi_pm");
	fact_set_text(&evidence.host.kernel, "4.4.0-187-generic");
	assert_not_advisable("hyperv_clocksource_tsc_page", "4.12");
	fact_set_text(&evidence.host.kernel, "4.4.162-94.72-default");
	assert_advisable("hyperv_clocksource_tsc_page");
	fact_set_text(&evidence.host.kernel, "3.10.0-1160.119.1.el7.x86_64");
	assert_advisable("hyperv_clocksource_tsc_page");
}

static void a_paravirtual_clock_is_advisable_under_its_hypervisor(void **state)
{
	(void)state;
	make_guest("kvm", "acpi_pm", "kvm-clock acpi_pm");
	assert_advisable("kvm-clock");
	make_guest("google", "acpi_pm", "kvm-clock acpi_pm");
	assert_advisable("kvm-clock");
	make_guest("microsoft", "acpi_pm", "hyperv_clocksource_tsc_page acpi_pm");
	assert_advisable("hyperv_clocksource_tsc_page");
	make_guest("xen", "acpi_pm", "xen acpi_pm");
	assert_advisable("xen");
	make_guest("microsoft", "acpi_pm", "kvm-clock xen acpi_pm");
	assert_not_advisable("kvm-clock", "a different hypervisor");
	assert_not_advisable("xen", "a different hypervisor");
	fact_set(&evidence.host.hypervisor.fact, FACT_ABSENT, "x");
	assert_not_advisable("kvm-clock", "a different hypervisor");
}

static void ec2_xen_needs_no_invariant_bit(void **state)
{
	(void)state;
	make_guest("xen", "xen", "xen tsc");
	fact_set_flag(&evidence.host.invariant_tsc, false);
	assert_not_advisable("tsc", "invariant");
	fact_set_text(&evidence.host.platform, "aws-xen");
	/* Its Xen is too old for the leaf: zeros are no answer. */
	fact_set_flag(&evidence.host.xen_tsc_reliable, false);
	fact_set_number(&evidence.host.xen_tsc_mode, 0);
	assert_advisable("tsc");
}

static void xen_s_tsc_mode_decides(void **state)
{
	(void)state;
	make_guest("xen", "xen", "xen tsc");
	fact_set_flag(&evidence.host.xen_tsc_reliable, true);
	fact_set_number(&evidence.host.xen_tsc_mode, 2);
	assert_advisable("tsc");
	fact_set_flag(&evidence.host.xen_tsc_reliable, false);
	assert_not_advisable("tsc", "reliable");
	fact_set_number(&evidence.host.xen_tsc_mode, 1);
	assert_not_advisable("tsc", "emulates");
	fact_set_number(&evidence.host.xen_tsc_mode, 0);
	fact_set_flag(&evidence.host.xen_tsc_reliable, true);
	assert_advisable("tsc");
	fact_set_flag(&evidence.host.xen_tsc_emulated, true);
	assert_not_advisable("tsc", "emulates");
}

static void kvm_clock_needs_the_feature_and_64_bits(void **state)
{
	(void)state;
	make_guest("kvm", "acpi_pm", "kvm-clock acpi_pm");
	fact_set_flag(&evidence.host.kvm_clock_stable, false);
	assert_not_advisable("kvm-clock", "stable");
	make_guest("kvm", "acpi_pm", "kvm-clock acpi_pm");
	fact_set_text(&evidence.host.arch, "i686");
	assert_not_advisable("kvm-clock", "32-bit");
}

static void the_counter_of_an_architecture_is_advisable(void **state)
{
	static const char *const names[] = {"arch_sys_counter", "riscv_clocksource", "timebase",
		"tod", "Constant", "GIC", "MIPS"};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		make_guest("kvm", "jiffies", "jiffies");
		assert_not_advisable(names[i], "does not offer");
		evidence_set_available(&evidence, names[i]);
		assert_advisable(names[i]);
	}
	evidence_set_available(&evidence, "tsc-early");
	assert_not_advisable("tsc-early", "does not know");
}

static void an_unknown_clocksource_is_not_advisable(void **state)
{
	(void)state;
	make_guest("kvm", "hpet", "tsc hpet some-counter");
	assert_not_advisable("some-counter", "does not know");
}

/* Whatever the evidence: what is advised is offered, and what is not has a reason. */
static void only_available_clocksources_are_advisable(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		static const char *const names[] = {
			"tsc", "kvm-clock", "xen", "hpet", "arch_sys_counter", "no-such"};

		evidence_roll(&evidence, &dice);
		for (size_t i = 0; i < COUNT(names); i++) {
			const char *why_not = why_not_to(names[i]);
			bool offered = false;

			for (size_t k = 0; k < evidence.clocksource.available_count; k++)
				offered |= strcmp(evidence.clocksource.available[k], names[i]) == 0;
			if (!why_not)
				assert_true(offered && !why_not);
			else
				assert_true(why_not && *why_not);
		}
	}
}

static void each_other_clocksource_has_a_cost_or_a_reason(void **state)
{
	struct other_clocksource others[CLOCKSOURCE_MAX];
	struct diagnosis diagnosis;

	(void)state;
	make_guest("kvm", "hpet", "tsc hpet acpi_pm");
	fact_set_real(&evidence.copy.what_if_ns, 28);
	diagnose(&evidence, &diagnosis);
	assert_int_equal(diagnosis.other_count, 2);
	memcpy(others, diagnosis.others, sizeof(others));
	assert_string_equal(others[0].name, "tsc");
	assert_true(others[0].advisable);
	assert_true(fact_is_known(&others[0].call_ns.fact));
	assert_true(others[0].call_ns.value == 28);
	assert_string_equal(others[1].name, "acpi_pm");
	assert_false(others[1].advisable);
	assert_string_equal(others[1].why_not, "each read is a system call");
	assert_int_equal(others[1].call_ns.fact.state, FACT_ABSENT);
}

static void a_trapped_counter_is_no_other_choice(void **state)
{
	struct diagnosis diagnosis;

	(void)state;
	make_guest("xen", "xen", "xen tsc");
	fact_set_real(&evidence.timing.counter_ns, 1800);
	diagnose(&evidence, &diagnosis);
	assert_int_equal(diagnosis.other_count, 1);
	assert_false(diagnosis.others[0].advisable);
	assert_non_null(diagnosis.others[0].why_not);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_invariant_tsc_is_advisable),
		cmocka_unit_test(reasons_against_the_tsc_are_named),
		cmocka_unit_test(a_tsc_that_gains_nothing_is_not_advisable),
		cmocka_unit_test(the_kernel_has_to_agree_with_cpuid),
		cmocka_unit_test(snapshots_are_against_the_tsc_where_they_are_the_rule),
		cmocka_unit_test(a_tsc_behind_slower_clocksources_is_not_advisable),
		cmocka_unit_test(amazon_advises_tsc_over_kvm_clock),
		cmocka_unit_test(a_clocksource_without_vdso_support_is_not_advisable),
		cmocka_unit_test(a_paravirtual_clock_that_the_vdso_cannot_read_is_not_advisable),
		cmocka_unit_test(a_paravirtual_clock_is_advisable_under_its_hypervisor),
		cmocka_unit_test(ec2_xen_needs_no_invariant_bit),
		cmocka_unit_test(xen_s_tsc_mode_decides),
		cmocka_unit_test(kvm_clock_needs_the_feature_and_64_bits),
		cmocka_unit_test(the_counter_of_an_architecture_is_advisable),
		cmocka_unit_test(an_unknown_clocksource_is_not_advisable),
		cmocka_unit_test(only_available_clocksources_are_advisable),
		cmocka_unit_test(each_other_clocksource_has_a_cost_or_a_reason),
		cmocka_unit_test(a_trapped_counter_is_no_other_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
