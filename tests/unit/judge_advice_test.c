/* SPDX-License-Identifier: MIT */
/* Tests of judge/advice: what is advised, and what is never advised. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "judge.h"
#include "judge/rules.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct diagnosis diagnosis;
static const struct advice *const advice = diagnosis.advice;

static size_t find(const struct evidence *evidence)
{
	memset(&diagnosis, 0xff, sizeof(diagnosis));
	diagnose(evidence, &diagnosis);
	assert_in_range(diagnosis.advice_count, 0, ADVICE_MAX);
	return diagnosis.advice_count;
}

static bool is_found(const char *id, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(advice[i].id, id) == 0)
			return true;
	}
	return false;
}

static bool names(const char *clocksource, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(advice[i].clocksource, clocksource) == 0)
			return true;
	}
	return false;
}

static void a_healthy_host_gets_no_advice(void **state)
{
	static struct evidence evidence;

	(void)state;
	evidence_make_healthy(&evidence);
	assert_int_equal(find(&evidence), 0);
}

/* Lack of CPU time is not lack of permission. */
static void a_missing_proof_gets_the_advice_that_fits(void **state)
{
	static const struct {
		enum fact_state state;
		const char *reason, *id;
	} rows[] = {{FACT_DENIED, "seccomp filter: Operation not permitted", "allow-proof"},
		{FACT_ABSENT, "ptrace: Function not implemented", "allow-proof"},
		{FACT_LATE, "not done within 3.46 s; not done within 4.6 s", "give-cpu-time"},
		{FACT_NO_CHILD, "wait4: Operation not permitted", "allow-processes"},
		{FACT_FAILED, "fork: not done within the words of a reason", NULL}};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t count;

		evidence_make_healthy(&evidence);
		evidence_remove_proof(&evidence, "");
		evidence.timing.fact.state = FACT_FAILED;
		fact_set(&evidence.proof.fact, rows[i].state, "%s", rows[i].reason);
		count = find(&evidence);
		assert_int_equal(diagnosis.verdict.kind, VERDICT_UNKNOWN);
		assert_int_equal(count, rows[i].id != NULL);
		assert_true(!rows[i].id || is_found(rows[i].id, count));
	}
}

static void a_trusted_tsc_on_offer_is_advised(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	evidence_make_falling_back(&evidence, "xen");
	evidence_set_available(&evidence, "xen tsc");
	count = find(&evidence);
	assert_true(is_found("switch-to-tsc", count));
	assert_string_equal(advice[0].clocksource, "tsc");
	assert_int_equal(advice[0].step_count, 2);
	assert_string_equal(advice[0].steps[0].command,
		"vdsocheck warp && echo tsc | sudo tee " CLOCKSOURCE_CURRENT);
	assert_string_equal(advice[0].steps[0].undo, "echo xen | sudo tee " CLOCKSOURCE_CURRENT);
	assert_string_equal(advice[0].steps[1].command, "vdsocheck");
	assert_int_equal(advice[0].keep_count, ADVICE_KEEP_MAX - 1);
	assert_false(advice[0].keep_is_known);
	/* Where the kernel's image is differs between distributions. */
	assert_string_equal(advice[0].keep[3].command, "");
	assert_non_null(strstr(
		advice[0].keep[3].text, "clocksource=tsc at the end of /etc/kernel/cmdline"));
	assert_non_null(advice[0].risk);
}

/* What Amazon's Xen guests see: no invariant bit, which the kernel's own choice would need. */
static void tsc_on_ec2_xen_is_advised_with_amazon_as_source(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	evidence_make_falling_back(&evidence, "xen");
	evidence_set_available(&evidence, "xen tsc hpet acpi_pm");
	fact_set_text(&evidence.host.hypervisor, "xen");
	fact_set_text(&evidence.host.platform, "aws-xen");
	fact_set_flag(&evidence.host.invariant_tsc, false);
	count = find(&evidence);
	assert_int_equal(count, 2);
	assert_string_equal(advice[0].clocksource, "tsc");
	assert_memory_equal(advice[0].steps[0].command, "vdsocheck warp && ", 18);
	assert_non_null(strstr(advice[0].risk, "do not advertise an invariant TSC"));
	assert_non_null(strstr(advice[0].source, "repost.aws"));
	assert_string_equal(advice[1].id, "move-to-nitro");
	assert_true(advice[1].is_alternative);
	evidence_add_log(&evidence, "Marking clocksource 'tsc' as unstable because the skew");
	count = find(&evidence);
	assert_false(names("tsc", count));
	assert_true(is_found("move-to-nitro", count));
}

static void make_guest(struct evidence *evidence, const char *hypervisor, const char *current,
	const char *available)
{
	evidence_make_falling_back(evidence, current);
	evidence_set_available(evidence, available);
	fact_set_text(&evidence->host.hypervisor, hypervisor);
	fact_set(&evidence->host.platform.fact, FACT_ABSENT, "none of those known here");
	fact_set_flag(&evidence->host.invariant_tsc, false);
}

static void an_unused_paravirtual_clock_is_advised(void **state)
{
	static const struct {
		const char *hypervisor;
		const char *current;
		const char *available;
		const char *advised;
	} guests[] = {
		{"kvm", "acpi_pm", "kvm-clock acpi_pm", "kvm-clock"},
		{"microsoft", "acpi_pm", "hyperv_clocksource_tsc_page acpi_pm",
			"hyperv_clocksource_tsc_page"},
		{"xen", "acpi_pm", "xen acpi_pm", "xen"},
	};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(guests); i++) {
		size_t count;

		make_guest(&evidence, guests[i].hypervisor, guests[i].current, guests[i].available);
		evidence_add_log(&evidence, "tsc: Marking TSC unstable due to running on Hyper-V");
		count = find(&evidence);
		assert_true(is_found("switch-to-paravirtual", count));
		assert_true(names(guests[i].advised, count));
		assert_false(is_found("ask-for-invariant-tsc", count));
		assert_false(is_found("ask-hyperv-for-tsc", count));
		assert_false(is_found("ask-hyperv-host", count));
	}
	make_guest(&evidence, "microsoft", "acpi_pm", "kvm-clock acpi_pm");
	assert_false(is_found("switch-to-paravirtual", find(&evidence)));
}

static void a_kvm_clock_fallback_says_why_tsc_does_not_help(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	make_guest(&evidence, "kvm", "kvm-clock", "kvm-clock tsc");
	fact_set_flag(&evidence.host.invariant_tsc, true);
	count = find(&evidence);
	assert_string_equal(advice[0].id, "reboot-guest");
	assert_string_equal(advice[1].id, "ask-kvm-host-for-tsc");
	assert_non_null(strstr(advice[0].text, "Do not switch to tsc: kvm-clock compensates"));
	assert_false(names("tsc", count));
}

/* What is asked for must not be what the evidence above it says is there (ux.md W2). */
static void no_request_contradicts_the_evidence(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	make_guest(&evidence, "kvm", "kvm-clock", "kvm-clock tsc");
	fact_set_flag(&evidence.vclock.pvclock_stable, true);
	fact_set_flag(&evidence.host.kvm_clock_stable, false);
	count = find(&evidence);
	assert_int_equal(count, 1);
	assert_null(strstr(advice[0].ask, "PVCLOCK_TSC_STABLE_BIT"));
	assert_non_null(strstr(advice[0].ask, "KVM_FEATURE_CLOCKSOURCE_STABLE_BIT"));
	evidence_set_mode(&evidence, VCLOCK_READ, 2, "pvclock");
	fact_set_flag(&evidence.vclock.pvclock_stable, false);
	count = find(&evidence);
	assert_true(is_found("restart-guest", count));
	assert_true(is_found("ask-kvm-host-what-happened", count));
}

static void moving_to_another_host_is_explained(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	make_guest(&evidence, "microsoft", "hyperv_clocksource_tsc_page",
		"hyperv_clocksource_tsc_page acpi_pm");
	evidence_set_mode(&evidence, VCLOCK_READ, 3, "hvclock");
	fact_set_number(&evidence.vclock.hyperv_sequence, 0);
	assert_false(is_found("move-to-another-host", find(&evidence)));
	fact_set_text(&evidence.host.platform, "azure");
	count = find(&evidence);
	assert_true(is_found("move-to-another-host", count));
	assert_non_null(strstr(advice[0].steps[0].command, "az vm redeploy"));
	assert_non_null(strstr(advice[0].risk, "local disks"));
}

/* A product is named only on that product. */
static void requests_name_the_vendor_s_own_setting(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	make_guest(&evidence, "xen", "xen", "xen");
	count = find(&evidence);
	assert_true(is_found("ask-xen-host", count));
	assert_false(is_found("ask-for-invariant-tsc", count));
	assert_non_null(strstr(advice[0].ask, "clocksource=tsc"));
	make_guest(&evidence, "microsoft", "hyperv_clocksource_msr", "hyperv_clocksource_msr");
	evidence_add_log(&evidence, "tsc: Marking TSC unstable due to running on Hyper-V");
	count = find(&evidence);
	for (size_t i = 0; i < count; i++)
		assert_true(!advice[i].ask || !strstr(advice[i].ask, "QEMU"));
}

/* VirtualBox offers kvm-clock by its paravirtualization provider: not where it is there or refused.
 */
static void a_provider_is_advised_where_it_helps(void **state)
{
	static const struct {
		const char *current, *available, *boot;
		bool helps;
	} hosts[] = {
		{"acpi_pm", "acpi_pm", "quiet", true},
		{"acpi_pm", "acpi_pm kvm-clock", "quiet", false},
		{"acpi_pm", "acpi_pm", "no-kvmclock", false},
		{"acpi_pm", "acpi_pm tsc", "quiet", false},
		{"acpi_pm", "acpi_pm", "notsc", false},
	};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(hosts); i++) {
		make_guest(&evidence, "oracle", hosts[i].current, hosts[i].available);
		fact_set_flag(&evidence.host.invariant_tsc, true);
		fact_set_text(&evidence.host.boot, hosts[i].boot);
		if (is_found("set-virtualbox-provider", find(&evidence)) != hosts[i].helps)
			fail_msg("%s, %s", hosts[i].available, hosts[i].boot);
	}
}

static void in_a_container_advice_is_for_the_host(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	fact_set_text(&evidence.host.container, "docker");
	count = find(&evidence);
	assert_true(is_found("switch-to-tsc", count));
	assert_non_null(strstr(advice[0].text, "On the host, outside this container, switch to"));
	evidence_set_available(&evidence, "hpet acpi_pm");
	evidence_add_log(&evidence,
		"clocksource: timekeeping watchdog on CPU1: Marking clocksource "
		"'tsc' as unstable because the skew is too large:");
	find(&evidence);
	assert_string_equal(advice[0].id, "ask-which-clock");
	assert_non_null(strstr(advice[0].text, "On the host, outside this container, reboot. Do"));
	fact_set(&evidence.host.hypervisor.fact, FACT_ABSENT, "none");
	find(&evidence);
	assert_string_equal(advice[0].steps[0].command, "sudo reboot");
	assert_non_null(strstr(advice[0].text, "On the host, outside this container, update"));
	fact_set_text(&evidence.host.container, "wsl");
	find(&evidence);
	assert_null(strstr(advice[0].text, "container"));
}

/* Where the vDSO is disabled, or kept from kvm-clock, the choice of the clocksource stays. */
static void a_choice_at_boot_that_does_no_harm_stays(void **state)
{
	static const struct {
		const char *clocksource, *available, *boot, *to_remove;
		bool has_vdso;
	} choices[] = {
		{"tsc", "tsc", "clocksource=tsc vdso=0", "vdso=0", false},
		{"tsc", "kvm-clock tsc", "clocksource=tsc vdso=0", "vdso=0", false},
		{"hpet", "hpet", "clocksource=hpet vdso=0", "clocksource=hpet vdso=0", false},
		{"kvm-clock", "kvm-clock", "clocksource=kvm-clock no-kvmclock-vsyscall",
			"no-kvmclock-vsyscall", true},
		{"kvm-clock", "tsc kvm-clock", "clocksource=kvm-clock no-kvmclock-vsyscall",
			"no-kvmclock-vsyscall", true},
		{"kvm-clock", "tsc kvm-clock", "clocksource=kvm-clock", "clocksource=kvm-clock",
			true},
		{"hpet", "hpet", "clocksource=hpet", "clocksource=hpet", true},
		{"hpet", "hpet", "clocksource=hpet quiet clocksource=hpet", "clocksource=hpet",
			true},
	};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(choices); i++) {
		char text[80];

		evidence_make_falling_back(&evidence, choices[i].clocksource);
		evidence_set_available(&evidence, choices[i].available);
		fact_set_text(&evidence.host.boot, choices[i].boot);
		if (!choices[i].has_vdso)
			fact_set(&evidence.vdso.fact, FACT_ABSENT, "no AT_SYSINFO_EHDR");
		assert_true(find(&evidence) > 0);
		snprintf(text, sizeof(text), "Remove %s from the kernel command line",
			choices[i].to_remove);
		assert_memory_equal(advice[0].text, text, strlen(text));
	}
}

typedef void change(struct evidence *evidence);

static void not_offered(struct evidence *evidence)
{
	evidence_set_available(evidence, "hpet tsc-early acpi_pm");
}

static void offer_unknown(struct evidence *evidence)
{
	fact_set(&evidence->clocksource.available_fact, FACT_DENIED, "x");
}

static void not_invariant(struct evidence *evidence)
{
	fact_set_flag(&evidence->host.invariant_tsc, false);
}

static void invariance_unknown(struct evidence *evidence)
{
	fact_set(&evidence->host.invariant_tsc.fact, FACT_ABSENT, "x");
}

static void booted_notsc(struct evidence *evidence)
{
	fact_set_text(&evidence->host.boot, "quiet notsc");
}

static void booted_unstable(struct evidence *evidence)
{
	fact_set_text(&evidence->host.boot, "tsc=unstable quiet");
}

static void distrusted(struct evidence *evidence)
{
	evidence_add_log(evidence, "Marking clocksource 'tsc' as unstable because the skew");
}

static void distrusted_7_2(struct evidence *evidence)
{
	evidence_add_log(evidence, "Marking clocksource tsc unstable due to frequency skew");
}

static void distrusted_3_10(struct evidence *evidence)
{
	evidence_add_log(evidence, "Clocksource tsc unstable (delta = 9 ns)");
}

static void restorable(struct evidence *evidence)
{
	fact_set_text(&evidence->host.platform, "firecracker");
}

static void on_wsl2(struct evidence *evidence)
{
	fact_set_text(&evidence->host.platform, "wsl2");
}

static void unproven(struct evidence *evidence)
{
	evidence_remove_proof(evidence, "x");
}

static void already_in_use(struct evidence *evidence)
{
	evidence_set_current(evidence, "tsc");
}

static void current_unknown(struct evidence *evidence)
{
	fact_set(&evidence->clocksource.current_fact, FACT_ABSENT, "x");
}

#define ROW(change)                                                                                \
	{                                                                                          \
#change, change                                                                    \
	}

static const struct row {
	const char *name;
	change *apply;
} rows[] = {ROW(not_offered), ROW(offer_unknown), ROW(not_invariant), ROW(invariance_unknown),
	ROW(booted_notsc), ROW(booted_unstable), ROW(distrusted), ROW(distrusted_7_2),
	ROW(distrusted_3_10), ROW(restorable), ROW(on_wsl2), ROW(unproven), ROW(already_in_use),
	ROW(current_unknown)};

/* One reason against it is enough. */
static void then_no_clocksource_is_advised(void **state)
{
	const struct row *row = *state;
	static struct evidence evidence;

	evidence_make_falling_back(&evidence, "hpet");
	assert_true(names("tsc", find(&evidence)));
	row->apply(&evidence);
	assert_false(names("tsc", find(&evidence)));
}

/* Without the parameter the kernel chooses the first of its list. */
static void a_choice_at_boot_that_the_kernel_makes_too_stays(void **state)
{
	static const struct {
		const char *current, *available;
		bool stays;
	} choices[] = {{"tsc", "tsc hpet", true}, {"arch_sys_counter", "arch_sys_counter", true},
		{"kvm-clock", "kvm-clock tsc", true}, {"xen", "xen tsc", true}, {"xen", "", true},
		{"xen", "tsc xen", false}, {"unheard-of", "unheard-of", false}};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(choices); i++) {
		char boot[64];

		make_guest(&evidence, "xen", choices[i].current, choices[i].available);
		fact_set_text(&evidence.host.arch, "aarch64"); /* x86 has another id for it */
		snprintf(boot, sizeof(boot), "clocksource=%s", choices[i].current);
		fact_set_text(&evidence.host.boot, boot);
		if (is_found("drop-boot-parameters", find(&evidence)) == choices[i].stays)
			fail_msg("clocksource=%s, available: %s", choices[i].current,
				choices[i].available);
	}
}

/* A captured tree proves nothing: the names have to make a fallback likely, or a cause is seen. */
static void a_captured_tree_is_advised_where_a_fallback_is_expected(void **state)
{
	static struct evidence evidence;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence.live = false;
	assert_true(names("tsc", find(&evidence)));
	assert_false(names("allow-proof", find(&evidence)));
	evidence_set_current(&evidence, "kvm-clock");
	assert_int_equal(find(&evidence), 0);
	evidence_set_current(&evidence, "tsc");
	assert_int_equal(find(&evidence), 0);
	/* As slow as a fallback, whether the vDSO reads it or not. */
	evidence_set_current(&evidence, "hpet");
	fact_set_text(&evidence.host.kernel, "4.6.7");
	assert_true(names("tsc", find(&evidence)));
	assert_int_equal(diagnosis.verdict.expected, VERDICT_UNKNOWN);
}

/* One line for a shell, in which no word of the evidence does harm. */
static void check_command(const char *command)
{
	assert_null(strpbrk(command, "\n{}`"));
	assert_int_equal(strspn(command, "\\"), 0);
}

static void check_piece(const struct evidence *evidence, const struct advice *piece)
{
	struct view view;

	assert_true(piece->id && *piece->id && *piece->text);
	assert_null(strpbrk(piece->text, "{}\n"));
	for (size_t i = 0; i < piece->step_count; i++) {
		check_command(piece->steps[i].command);
		check_command(piece->steps[i].undo);
		assert_true(*piece->steps[i].text || *piece->steps[i].command);
	}
	for (size_t i = 0; i < piece->keep_count; i++) {
		check_command(piece->keep[i].command);
		check_command(piece->keep[i].undo);
	}
	if (!*piece->clocksource)
		return;
	view = view_of(evidence);
	assert_null(reason_against(&view, piece->clocksource));
	assert_string_not_equal(piece->clocksource, evidence->clocksource.current);
	assert_non_null(piece->risk);
	/* What is changed can be verified. */
	assert_true(piece->step_count > 1);
	assert_string_equal(piece->steps[piece->step_count - 1].command, "vdsocheck");
}

/* Whatever the evidence: only what compare advises, too, and nothing where nothing is wrong. */
static void only_advisable_clocksources_are_advised(void **state)
{
	static struct evidence evidence;
	struct dice dice = dice_start();
	unsigned sources = 0;

	(void)state;
	for (int round = 0; round < 40000; round++) {
		const struct verdict *verdict = &diagnosis.verdict;
		size_t count;

		evidence_roll(&evidence, &dice);
		count = find(&evidence);
		if (verdict->kind == VERDICT_OK)
			assert_int_equal(count, 0);
		for (size_t i = 0; i < count; i++) {
			check_piece(&evidence, &advice[i]);
			sources += *advice[i].clocksource != 0;
			for (size_t k = 0; k < i; k++)
				assert_string_not_equal(advice[i].id, advice[k].id);
		}
		if (verdict->kind == VERDICT_UNKNOWN && verdict->expected != VERDICT_FALLBACK &&
			!view_of(&evidence).may_read_hpet)
			assert_false(names("tsc", count) || names("kvm-clock", count));
		if (verdict->kind == VERDICT_FALLBACK || verdict->kind == VERDICT_SLOW)
			assert_true(count > 0);
	}
	assert_true(sources > 0);
}

/* tsc=reliable silences the watchdog that would find a TSC that goes wrong. */
static void forcing_is_never_advised(void **state)
{
	static struct evidence evidence;
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t count;

		evidence_roll(&evidence, &dice);
		count = find(&evidence);
		for (size_t i = 0; i < count; i++) {
			for (size_t k = 0; k < advice[i].step_count; k++)
				assert_null(strstr(advice[i].steps[k].command, "reliable"));
		}
	}
}

/* The name comes from a document: it must not get into a shell. */
static void names_with_shell_characters_are_in_no_command(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	evidence_make_falling_back(&evidence, "x;reboot");
	evidence_set_available(&evidence, "tsc x;reboot");
	fact_set_text(&evidence.host.boot, "clocksource=x;reboot");
	count = find(&evidence);
	assert_true(is_found("switch-to-tsc", count));
	assert_false(is_found("drop-boot-parameters", count));
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < advice[i].step_count; k++)
			assert_string_equal(advice[i].steps[k].undo, "");
	}
}

/* All that keeps the kernel from a better clock is removed at once: one of two is not enough. */
static void boot_parameters_are_removed_together(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	evidence_make_falling_back(&evidence, "acpi_pm");
	evidence_set_available(&evidence, "tsc acpi_pm");
	fact_set_text(&evidence.host.boot, "notsc clocksource=acpi_pm");
	count = find(&evidence);
	assert_int_equal(count, 1);
	assert_string_equal(advice[0].id, "drop-tsc-boot-parameters");
	assert_string_equal(advice[0].steps[2].command, "vdsocheck warp && vdsocheck");
	assert_non_null(strstr(advice[0].risk, "unstable"));
	assert_non_null(strstr(advice[0].text, "clocksource=acpi_pm notsc from"));
	assert_non_null(strstr(advice[0].keep[1].command, "'clocksource=acpi_pm notsc'"));
}

/* The way of this system is a step, or the first of those that keep it; the others follow. */
static void the_way_of_this_system_comes_first(void **state)
{
	static struct evidence evidence;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence_set_available(&evidence, "tsc hpet");
	fact_set_text(&evidence.host.boot_tool, "grubby");
	find(&evidence);
	assert_string_equal(advice[0].id, "switch-to-tsc");
	assert_true(advice[0].keep_is_known);
	assert_string_equal(advice[0].keep[0].command,
		"sudo grubby --update-kernel=ALL --args=clocksource=tsc");
	assert_string_equal(advice[0].keep[0].undo,
		"sudo grubby --update-kernel=ALL --remove-args=clocksource=tsc");
	assert_int_equal(advice[0].keep_count, ADVICE_KEEP_MAX - 1);
	assert_non_null(strstr(advice[0].keep[1].command, "update-grub"));
	fact_set_text(&evidence.host.boot, "clocksource=hpet");
	find(&evidence);
	assert_string_equal(advice[0].id, "switch-to-tsc");
	assert_true(advice[0].keep_removes);
	assert_string_equal(advice[0].boot, "clocksource=hpet");
	assert_non_null(strstr(advice[0].keep[0].text, "RHEL and Amazon Linux, to remove cl"));
	assert_string_equal(advice[0].keep[0].command,
		"sudo grubby --update-kernel=ALL --remove-args='clocksource=hpet'");
	evidence_set_available(&evidence, "hpet");
	find(&evidence);
	assert_string_equal(advice[0].id, "drop-tsc-boot-parameters");
	assert_string_equal(advice[0].steps[0].text, "");
	assert_string_equal(advice[0].steps[0].command,
		"sudo grubby --update-kernel=ALL --remove-args='clocksource=hpet'");
	assert_string_equal(advice[0].steps[0].undo,
		"sudo grubby --update-kernel=ALL --args='clocksource=hpet'");
	assert_int_equal(advice[0].keep_count, ADVICE_KEEP_MAX - 2);
	assert_string_equal(advice[0].keep[0].command, advice[0].steps[0].command);
	fact_set_text(&evidence.host.boot_tool, "another");
	find(&evidence);
	assert_string_equal(advice[0].steps[0].command, "");
	assert_int_equal(advice[0].keep_count, ADVICE_KEEP_MAX - 2);
	/* A Pi is arm, and no cloud runs Proxmox VE. */
	evidence_set_available(&evidence, "tsc hpet");
	fact_set_text(&evidence.host.platform, "aws-xen");
	find(&evidence);
	assert_true(advice[0].keep_count > 2);
	for (size_t i = 0; i < advice[0].keep_count; i++) {
		assert_null(strstr(advice[0].keep[i].text, "Raspberry"));
		assert_null(strstr(advice[0].keep[i].text, "Proxmox"));
	}
}

static void alternatives_have_the_same_effect(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence_set_available(&evidence, "tsc hpet");
	evidence_find_call(&evidence, "clock_gettime", "CLOCK_MONOTONIC")->raw_error = 1;
	count = find(&evidence);
	assert_int_equal(count, 3);
	assert_string_equal(advice[0].id, "switch-to-tsc");
	assert_string_equal(advice[1].id, "find-clocksource-writer");
	assert_string_equal(advice[2].id, "newer-container-runtime");
	assert_false(advice[1].is_alternative || advice[2].is_alternative);
	fact_set_text(&evidence.host.boot, "no-kvmclock");
	fact_set_text(&evidence.host.hypervisor, "kvm");
	find(&evidence);
	assert_string_equal(advice[0].id, "switch-to-tsc");
	assert_string_equal(advice[1].id, "drop-boot-parameters");
	assert_true(advice[1].is_alternative);
}

/* A reference that wrapped: the watchdog was wrong, and may be disabled for the TSC. */
static void make_wrapped(struct evidence *evidence, const char *release, const char *flags)
{
	evidence_make_falling_back(evidence, "hpet");
	evidence_set_available(evidence, "hpet acpi_pm");
	fact_set_text(&evidence->host.kernel, release);
	fact_set_text(&evidence->host.tsc_flags, flags);
	evidence_add_log(evidence, "Marking clocksource 'tsc' as unstable because the skew");
	evidence_add_log(
		evidence, "'hpet' wd_nsec: 0 wd_now: 5c0 wd_last: ffffffff mask: ffffffff");
	evidence_add_log(evidence, "clocksource: 'tsc' cs_nsec: 300000000000 cs_now: 5 cs_last: 4 "
				   "mask: ffffffffffffffff");
}

static void parameters_that_are_newer_than_the_kernel_are_not_added(void **state)
{
	static const struct {
		const char *release, *flags;
		bool adds_nowatchdog, is_checked;
	} kernels[] = {
		{"6.12.9-amd64", "constant_tsc nonstop_tsc tsc_adjust", true, true},
		{"6.8.0-49-generic", "constant_tsc nonstop_tsc tsc_adjust", true, false},
		{"5.15.0-91-generic", "constant_tsc nonstop_tsc tsc_adjust", true, false},
		{"5.15.0-91-generic", "constant_tsc nonstop_tsc", true, true},
		{"4.18.0-553.el8.x86_64", "constant_tsc nonstop_tsc", true, true},
		{"4.18.0-25-generic", "constant_tsc nonstop_tsc tsc_adjust", false, false},
		{"4.4.0-210-generic", "constant_tsc nonstop_tsc", false, true},
	};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(kernels); i++) {
		bool adds = kernels[i].adds_nowatchdog;

		make_wrapped(&evidence, kernels[i].release, kernels[i].flags);
		assert_true(find(&evidence) > 0);
		assert_string_equal(advice[0].id, "reboot-to-tsc");
		assert_string_equal(advice[0].boot, adds ? "tsc=nowatchdog" : "");
		assert_int_equal(advice[0].keep_count > 0, adds);
		assert_int_equal(advice[0].risk != NULL, adds);
		assert_int_equal(strstr(advice[0].text, "boot with tsc=nowatchdog") != NULL, adds);
		assert_int_equal(!strstr(advice[0].text, "needs Linux 5.2"), adds);
		assert_int_equal(!strstr(advice[0].text, "5.16"), kernels[i].is_checked);
	}
}

static void wrapped(struct evidence *evidence)
{
	make_wrapped(evidence, "6.8.0-49-generic", "constant_tsc nonstop_tsc");
}

static void wrapped_at_varying_rate(struct evidence *evidence)
{
	make_wrapped(evidence, "6.8.0-49-generic", "");
}

static void early_on_old_kernel(struct evidence *evidence)
{
	make_wrapped(evidence, "5.3.0-64-generic", "constant_tsc nonstop_tsc");
	evidence->kernel_log.count = 0;
	evidence_add_log(evidence, "Marking clocksource 'tsc-early' as unstable because the skew");
	evidence_add_log(evidence, "'hpet' wd_now: 10 wd_last: 10 mask: ffffffff");
	evidence_add_log(evidence, "'tsc-early' cs_now: 6b49d2000 cs_last: 664e53000 mask: "
				   "ffffffffffffffff");
}

static void uncalibrated(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "jiffies");
	evidence_set_available(evidence, "jiffies");
	evidence_add_log(evidence, "tsc: Marking TSC unstable due to could not calculate TSC khz");
}

static void halting(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hpet");
	evidence_set_available(evidence, "hpet");
	fact_set(&evidence->host.hypervisor.fact, FACT_ABSENT, "bare metal");
	evidence_add_log(evidence, "tsc: Marking TSC unstable due to TSC halts in idle");
}

static void skewed_by_stated_rate(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hpet");
	evidence_set_available(evidence, "hpet");
	fact_set(&evidence->host.hypervisor.fact, FACT_ABSENT, "bare metal");
	fact_set_text(&evidence->host.tsc_flags, "constant_tsc nonstop_tsc tsc_known_freq");
	evidence_add_log(evidence, "'hpet' wd_nsec: 503645870 wd_now: 54b0f25 wd_last: 4e9fe44 "
				   "mask: ffffffff");
	evidence_add_log(evidence, "'tsc' cs_nsec: 524630000 cs_now: 3e0e2debe0 cs_last: "
				   "3daab92440 mask: ffffffffffffffff");
}

static void tsc_on_offer(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hpet");
	evidence_set_available(evidence, "tsc hpet");
}

static bool adds_any(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (advice[i].keep_count)
			return true;
	}
	return false;
}

/* The parameter is advised where the command line does not have it. */
static void a_parameter_that_is_set_is_not_advised_again(void **state)
{
	static const struct {
		void (*make)(struct evidence *);
		const char *other, *set;
	} hosts[] = {
		{wrapped, "quiet", "tsc=nowatchdog"},
		{wrapped, "clocksource=tsc", "tsc=reliable"},
		{uncalibrated, "quiet", "tsc_early_khz=2400000"},
		{halting, "idle=nomwait", "idle=halt"},
		{skewed_by_stated_rate, "tsc=nowatchdog", "tsc=recalibrate"},
		{tsc_on_offer, "clocksource=tsc clocksource=acpi_pm", "clocksource=tsc"},
		{wrapped_at_varying_rate, NULL, ""},
		{early_on_old_kernel, NULL, ""},
	};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(hosts); i++) {
		hosts[i].make(&evidence);
		if (hosts[i].other) {
			fact_set_text(&evidence.host.boot, hosts[i].other);
			if (!adds_any(find(&evidence)))
				fail_msg("%zu: nothing is added to %s", i, hosts[i].other);
		}
		fact_set_text(&evidence.host.boot, hosts[i].set);
		if (adds_any(find(&evidence)))
			fail_msg("%zu: %s is added beside %s", i, advice[0].boot, hosts[i].set);
	}
}

static void an_old_kernel_that_drops_tsc_early_comes_first(void **state)
{
	static const struct {
		const char *release;
		bool is_old;
	} kernels[] = {{"5.3.0-64-generic", true}, {"5.3.15", false}, {"4.19.78-acrn", true},
		{"4.19.325", true}, {"5.4.0-1-generic", false}};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(kernels); i++) {
		early_on_old_kernel(&evidence);
		fact_set_text(&evidence.host.kernel, kernels[i].release);
		assert_true(find(&evidence) > 0);
		assert_int_equal(
			strcmp(advice[0].id, "newer-kernel-for-tsc-early") == 0, kernels[i].is_old);
	}
}

/* The kernel makes its own choice once the setting is gone. */
static void removing_a_setting_says_nothing_of_tsc(void **state)
{
	static struct evidence evidence;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence_set_available(&evidence, "tsc hpet acpi_pm");
	fact_set_text(&evidence.host.boot, "quiet notsc");
	assert_true(find(&evidence) > 0);
	assert_string_equal(advice[0].id, "drop-tsc-boot-parameters");
	assert_null(strstr(advice[0].text, "Do not switch to tsc"));
}

/*
 * The flags are the kernel's own words, and a log since boot has the reason: it is asked for unless
 * the report has all of its lines.
 */
static void a_kernel_that_knows_the_tsc_is_not_called_too_old(void **state)
{
	static const char known[] = "constant_tsc nonstop_tsc";
	static const struct {
		const char *flags;
		size_t lines;
		double seconds; /* of the log's first line */
		const char *source, *id;
	} kernels[] = {{"tsc_adjust", 0, 0, "", "newer-kernel-for-cpu"},
		{"constant_tsc", 0, 0, "", "newer-kernel-for-cpu"},
		{known, 0, 0, "", "find-in-kernel-log"},
		{known, 1, 1200, "/dev/kmsg", "find-in-kernel-log"},
		{known, 1, NAN, "/dev/kmsg", "find-in-kernel-log"},
		{known, 1, 0.3, KERNEL_LOG_AT_BOOT, "find-in-kernel-log"},
		{known, KERNEL_LOG_MAX, 0.3, "/dev/kmsg", "find-in-kernel-log"},
		{known, 1, 0.3, "/dev/kmsg", "send-report"}};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(kernels); i++) {
		size_t count;

		evidence_make_falling_back(&evidence, "acpi_pm");
		evidence_set_available(&evidence, "hpet acpi_pm");
		fact_set_text(&evidence.host.tsc_flags, kernels[i].flags);
		evidence.kernel_log.count = 0;
		for (size_t j = 0; j < kernels[i].lines; j++)
			evidence_add_log(&evidence, "clocksource: Switched to clocksource acpi_pm");
		evidence.kernel_log.lines[0].seconds = kernels[i].seconds;
		text_clean(evidence.kernel_log.source, sizeof(evidence.kernel_log.source),
			kernels[i].source);
		count = find(&evidence);
		assert_string_equal(diagnosis.causes[0].id, "tsc-not-offered");
		assert_string_equal(advice[0].id, kernels[i].id);
		assert_int_equal(is_found("newer-kernel-for-cpu", count),
			strcmp(kernels[i].id, "newer-kernel-for-cpu") == 0);
	}
}

/* Stable kernels have the newer one, too; without a release it is not assumed. */
static void the_newer_watchdog_is_known_by_the_release(void **state)
{
	static const struct {
		const char *release;
		bool has_it;
	} kernels[] = {{NULL, false}, {"5.10.222", false}, {"5.10.223", true}, {"5.15.148", false},
		{"5.15.149", true}, {"6.1.77", false}, {"6.1.78", true}, {"6.6.16", false},
		{"6.6.17", true}, {"6.7.12", false}, {"6.8.0-49-generic", true}, {"7.0.1", true}};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(kernels); i++) {
		evidence_make_falling_back(&evidence, "hpet");
		evidence_set_available(&evidence, "hpet acpi_pm");
		if (kernels[i].release)
			fact_set_text(&evidence.host.kernel, kernels[i].release);
		else
			fact_set(&evidence.host.kernel.fact, FACT_ABSENT, "no file");
		evidence_add_log(&evidence,
			"clocksource: timekeeping watchdog on CPU1: hpet read-back "
			"delay of 60952ns, attempt 4, marking tsc unstable");
		assert_true(find(&evidence) > 0);
		assert_string_equal(diagnosis.causes[0].id, "tsc-read-delay");
		assert_string_equal(advice[0].id,
			kernels[i].has_it ? "reboot-to-tsc" : "newer-kernel-or-nowatchdog");
	}
}

/* A command that was cut off would do something else. */
static void a_text_that_does_not_fit_is_refused(void **state)
{
	static const struct word words[] = {{"to", "tsc"}, {"from", NULL}, {0}};
	char text[8];

	(void)state;
	assert_true(words_fill("{to} {to}", words, text, sizeof(text)));
	assert_string_equal(text, "tsc tsc");
	assert_false(words_fill("{to} {to}.", words, text, sizeof(text)));
	assert_false(words_fill("{from}", words, text, sizeof(text)));
	assert_false(words_fill("{other}", words, text, sizeof(text)));
}

static void ids_are_unique(void **state)
{
	struct advice one, other;
	size_t count = 0;

	(void)state;
	while (explain_advice(count, &one)) {
		for (size_t i = 0; i < count; i++) {
			assert_true(explain_advice(i, &other));
			assert_string_not_equal(one.id, other.id);
		}
		count++;
	}
	assert_true(count > 60);
}

int main(void)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(names_with_shell_characters_are_in_no_command),
		cmocka_unit_test(boot_parameters_are_removed_together),
		cmocka_unit_test(the_way_of_this_system_comes_first),
		cmocka_unit_test(alternatives_have_the_same_effect),
		cmocka_unit_test(removing_a_setting_says_nothing_of_tsc),
		cmocka_unit_test(a_text_that_does_not_fit_is_refused),
		cmocka_unit_test(a_kernel_that_knows_the_tsc_is_not_called_too_old),
		cmocka_unit_test(the_newer_watchdog_is_known_by_the_release),
		cmocka_unit_test(ids_are_unique),
		cmocka_unit_test(parameters_that_are_newer_than_the_kernel_are_not_added),
		cmocka_unit_test(a_parameter_that_is_set_is_not_advised_again),
		cmocka_unit_test(an_old_kernel_that_drops_tsc_early_comes_first),
		cmocka_unit_test(a_healthy_host_gets_no_advice),
		cmocka_unit_test(a_missing_proof_gets_the_advice_that_fits),
		cmocka_unit_test(tsc_on_ec2_xen_is_advised_with_amazon_as_source),
		cmocka_unit_test(an_unused_paravirtual_clock_is_advised),
		cmocka_unit_test(a_kvm_clock_fallback_says_why_tsc_does_not_help),
		cmocka_unit_test(no_request_contradicts_the_evidence),
		cmocka_unit_test(moving_to_another_host_is_explained),
		cmocka_unit_test(requests_name_the_vendor_s_own_setting),
		cmocka_unit_test(a_trusted_tsc_on_offer_is_advised),
		cmocka_unit_test(a_provider_is_advised_where_it_helps),
		cmocka_unit_test(in_a_container_advice_is_for_the_host),
		cmocka_unit_test(a_choice_at_boot_that_does_no_harm_stays),
		cmocka_unit_test(a_choice_at_boot_that_the_kernel_makes_too_stays),
		cmocka_unit_test(a_captured_tree_is_advised_where_a_fallback_is_expected),
		cmocka_unit_test(only_advisable_clocksources_are_advised),
		cmocka_unit_test(forcing_is_never_advised),
	};

	return unit_run_rows("tsc is not advised", then_no_clocksource_is_advised, rows) +
	       cmocka_run_group_tests_name("advice", plain, NULL, NULL);
}
