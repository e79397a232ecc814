/* SPDX-License-Identifier: MIT */
/*
 * The whole of judge/ in one call: the verdict, then one view of the evidence, with every
 * condition that rows of causes and advice share, then the causes, which bring their advice along.
 */
#include "rules.h"

#include <string.h>

#include "base/units.h"

void view_begin(const struct evidence *evidence, struct view *view)
{
	*view = (struct view){.evidence = evidence,
		.decided = counts_deciding(evidence),
		.vdso = counts_by_path(evidence, PATH_VDSO),
		.libc = counts_by_path(evidence, PATH_LIBC)};
}

static uint64_t if_so(bool holds, uint64_t condition)
{
	return holds ? condition : 0;
}

/* Of the host, this process and the vDSO. */
static uint64_t conditions_here(const struct view *view)
{
	const struct evidence *evidence = view->evidence;
	const struct host_evidence *host = &evidence->host;
	bool emulated = fact_is_known(&host->emulator.fact);
	bool no_vdso = evidence->vdso.fact.state == FACT_ABSENT;
	bool no_vdso_32 = no_vdso && !emulated && fact_is_known(&host->pointer_bits.fact) &&
	                  host->pointer_bits.value == 32;
	/* 2 is the old word for 0 (arch/x86/entry/vdso/vdso32-setup.c). */
	bool no_vdso_at_boot = boot_has(evidence, "vdso=0") || boot_has(evidence, "vdso32=0") ||
	                       boot_has(evidence, "vdso32=2");
	bool riscv = fact_is_known(&host->arch.fact) &&
	             strncmp(host->arch.value, "riscv", strlen("riscv")) == 0;

	return if_so(host_is_guest(evidence), GUEST) |
	       if_so(fact_is_text(&host->hypervisor, "xen"), UNDER_XEN) |
	       if_so(fact_is_text(&host->hypervisor, "vmware"), UNDER_VMWARE) |
	       if_so(platform_is(evidence, "aws-xen"), EC2_XEN) |
	       if_so(platform_is(evidence, "aws-xen") || platform_is(evidence, "aws-nitro"), EC2) |
	       if_so(platform_is(evidence, "gvisor"), GVISOR) | if_so(emulated, EMULATED) |
	       if_so(fact_is_flag(&host->counter_off, true), COUNTER_OFF) |
	       if_so(view->verdict == VERDICT_SLOW && riscv && !host_is_guest(evidence),
		       FIRMWARE_COUNTER) |
	       if_so(no_vdso, NO_VDSO) | if_so(no_vdso_at_boot, NO_VDSO_AT_BOOT) |
	       if_so(no_vdso_32 && fact_is_text(&host->arch, "aarch64"), ARM_COMPAT) |
	       if_so(no_vdso_32 && fact_is_text(&host->arch, "x86_64") && !no_vdso_at_boot,
		       VDSO32_OFF) |
	       if_so(view->verdict == VERDICT_FALLBACK && fact_is_known(&evidence->vdso.fact) &&
			       view->vdso.entered > 0,
		       FALLS_BACK);
}

/* Of the clocksource in use; `falls_back` is the condition of that name. */
static uint64_t conditions_of_clocksource(const struct evidence *evidence, bool falls_back)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	const struct vclock_evidence *vclock = &evidence->vclock;
	bool none = vclock_is_none(evidence);
	bool kvm_clock = clocksource_is(evidence, "kvm-clock");
	bool plain = (falls_back || !evidence->live) && fact_is_known(&clocksource->current_fact) &&
	             (vclock_name_has_no_mode(clocksource->current) ||
			     (none && !vclock_name_has_mode(clocksource->current)));
	bool stable =
		fact_is_flag(&vclock->pvclock_stable, true) && vclock->how >= VCLOCK_COPY && !none;

	return if_so(clocksource_is(evidence, "xen"), ON_XEN) | if_so(kvm_clock, ON_KVM_CLOCK) |
	       if_so(clocksource_is(evidence, "hyperv_clocksource_tsc_page"), ON_HYPERV_PAGE) |
	       if_so(none, MODE_NONE) | if_so(vclock->how == VCLOCK_READ && !none, MODE_READ) |
	       if_so(stable, STABLE_NOW) |
	       if_so(fact_is_flag(&vclock->pvclock_stable, false), PAGE_UNSTABLE) |
	       if_so(falls_back && kvm_clock && !stable &&
			       !boot_has(evidence, "no-kvmclock-vsyscall") &&
			       !kvm_clock_is_32_bit(evidence),
		       KVM_UNSTABLE) |
	       if_so(plain, PLAIN) | if_so(plain && host_is_x86(evidence), SECOND_CHOICE);
}

/* Of the TSC; `second_choice` is the condition of that name. */
static uint64_t conditions_of_tsc(const struct view *view, bool second_choice)
{
	const struct evidence *evidence = view->evidence;
	bool offered = clocksource_is_offered(evidence, "tsc");
	bool distrusted = log_find_tsc_distrust(evidence) || tsc_is_rated_unstable(evidence);
	bool delayed = log_find_tsc_delay(evidence);
	bool unsynchronised =
		log_find(evidence, "TSC warp") ||
		log_find(evidence, "check_tsc_sync_source failed") ||
		log_find(evidence, "TSCs unsynchronized") || log_find(evidence, "inter CPU skew") ||
		log_find(evidence, " ahead of CPU") || log_find(evidence, " behind CPU");

	return if_so(boot_disables_tsc(evidence), NO_TSC_AT_BOOT) |
	       if_so(view->watchdog.culprit != WATCHDOG_UNDETERMINED, TSC_JUDGED) |
	       if_so(distrusted, TSC_DISTRUSTED) | if_so(delayed, TSC_DELAYED) |
	       if_so(unsynchronised, TSC_UNSYNCHRONISED) |
	       if_so(log_find_tsc_uncalibrated(evidence) && !offered, TSC_UNCALIBRATED) |
	       if_so(log_find(evidence, "running on Hyper-V"), TSC_ON_HYPERV) |
	       if_so(second_choice && fact_is_known(&evidence->clocksource.available_fact) &&
			       !offered && log_is_whole(evidence) &&
			       log_find_tsc_in_use(evidence) && !distrusted && !delayed,
		       TSC_UNBOUND);
}

static void find_switches(const struct evidence *evidence, struct view *view)
{
	static const char *const paravirtual[] = {
		"kvm-clock", "hyperv_clocksource_tsc_page", "xen"};

	/* No clocksource is better: what keeps the vDSO from reading it lies elsewhere. */
	if (clocksource_is(evidence, "tsc"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(paravirtual) && !view->paravirtual; i++) {
		if (clocksource_is_another(evidence, paravirtual[i]) &&
			advisable_clocksource(evidence, paravirtual[i], NULL))
			view->paravirtual = paravirtual[i];
	}
	if (clocksource_is_another(evidence, "tsc") &&
		advisable_clocksource(evidence, "tsc", &view->not_tsc))
		view->tsc = "tsc";
}

static void view_make(const struct evidence *evidence, enum verdict_kind verdict, struct view *view)
{
	view_begin(evidence, view);
	view->verdict = verdict;
	watchdog_explain(evidence, &view->watchdog);
	view->holds = conditions_here(view);
	view->holds |= conditions_of_clocksource(evidence, view->holds & FALLS_BACK);
	view->holds |= conditions_of_tsc(view, view->holds & SECOND_CHOICE);
	if (view->holds & FALLS_BACK)
		find_switches(evidence, view);
}

void diagnose(const struct evidence *evidence, struct diagnosis *diagnosis)
{
	const struct cause_row *rows[CAUSE_MAX];
	struct view view;

	verdict_find(evidence, &diagnosis->verdict);
	view_make(evidence, diagnosis->verdict.kind, &view);
	diagnosis->contradiction_count = contradiction_find(&view, diagnosis->contradictions);
	diagnosis->cause_count = cause_find(&view, diagnosis->causes, rows);
	diagnosis->advice_count =
		advice_find(&view, rows, diagnosis->cause_count, diagnosis->advice);
	cost_find(evidence, diagnosis->verdict.kind, &diagnosis->cost);
	diagnosis->other_count = clocksources_find_others(evidence, diagnosis->others);
}
