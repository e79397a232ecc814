/* SPDX-License-Identifier: MIT */
/* The view of a host that all rules share: facts first, then what follows from the verdict. */
#include "view.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/platform.h"
#include "base/text.h"

/*
 * Finds the line by which the kernel took the vDSO's support from the current clocksource: a
 * module that registered it wrongly (clocksource.c; arch/x86/kernel/time.c before 5.7), or a MIPS
 * CPU whose counter programs cannot read (arch/mips/kernel/csrc-r4k.c).
 */
static const struct kernel_log_line *find_vdso_disabled(const struct evidence *evidence)
{
	const struct kernel_log_line *line =
		LOG_FIRST(evidence, "Disabling VDSO", "Disabling vclock");
	const char *current = evidence->clocksource.current;

	if (clocksource_is(evidence, "MIPS"))
		return log_find(evidence, "Not using R4K clocksource in VDSO");
	return line && *current && strstr(line->text, current) ? line : NULL;
}

/*
 * The kernel lists clocksources by rating: 300 for tsc, 250 for hpet, and 0 for one that it marked
 * unstable (__clocksource_watchdog_kthread()). It hides unstable ones while the tick is in oneshot
 * mode (available_clocksource_show()), but not with highres=off and nohz=off, or on jiffies.
 * kernel/time/clocksource.c and the drivers, 3.10 to 7.2; tests/lab has a row of it.
 */
static bool is_tsc_rated_unstable(const struct evidence *evidence)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	if (!clocksource_is_offered(evidence, "tsc"))
		return false;
	for (size_t i = 0; strcmp(clocksource->available[i], "tsc") != 0; i++) {
		if (clocksource_has_no_mode(evidence, clocksource->available[i]))
			return true;
	}
	return false;
}

/*
 * rdtsc takes 5 to 25 ns on every x86, mrs cntvct_el0 and riscv's rdtime up to 50 ns, all some 50
 * to 110 ns in an emulator; a read that the hypervisor or the firmware intercepts takes several
 * hundred at the least, or as long as the cheapest system call.
 */
#define COUNTER_NS_MOST 150

static bool is_counter_trapped(const struct view *v)
{
	static const char fast[] = "x86_64 i386 i686 aarch64 armv7l riscv64";
	const struct text_fact *arch = &v->evidence->host.arch;

	return v->counter_ns >= v->syscall_ns ||
	       (v->counter_ns > COUNTER_NS_MOST && fact_is_known(&arch->fact) &&
		       text_has_word(text_span(fast), arch->value));
}

/* A switch must gain more than a little, since reading the counter may be trapped. */
#define WORTH_A_SWITCH 0.75

#define FASTER_THAN_ENTRY 0.5

static double ns_of(const struct real_fact *fact)
{
	return fact_is_known(&fact->fact) ? fact->value : NAN;
}

static void add_host(struct view *v)
{
	const struct evidence *evidence = v->evidence;
	const struct host_evidence *host = &evidence->host;
	const struct platform *platform =
		fact_is_known(&host->platform.fact) ? platform_find(host->platform.value) : NULL;
	double vdso_ns = v->monotonic_ns[PATH_VDSO];

	v->guest = host_is_guest(evidence);
	v->on_dom0 = platform_is(evidence, "xen-dom0");
	v->machine = !v->guest && (v->on_dom0 || host->hypervisor.fact.state == FACT_ABSENT);
	v->is_rented = host->hypervisor.fact.state == FACT_ABSENT && platform && platform->is_cloud;
	v->move = platform ? platform->move : NULL;
	v->ec2_xen = platform_is(evidence, "aws-xen");
	v->on_ec2 = v->ec2_xen || platform_is(evidence, "aws-nitro");
	v->gvisor = platform_is(evidence, "gvisor");
	v->emulated = fact_is_known(&host->emulator.fact);
	v->on_x86 = host_is_x86(evidence);
	v->on_powerpc = arch_starts(evidence, "ppc");
	/* A tree has QEMU's name by DMI, with KVM too; CPUID has it with TCG alone. */
	v->on_tcg = fact_is_known(&host->cpu.fact) && hypervisor_is(evidence, "qemu") &&
	            (strstr(host->cpu.value, "TCG") ||
			    (evidence->live && strstr(host->cpu.value, "QEMU")));
	/* Proxmox VE and EC2 give a vmgenid or vmclock device to every guest: it is not a sign. */
	v->may_be_restored = platform_is(evidence, "firecracker") ||
	                     platform_is(evidence, "microvm") ||
	                     platform_is(evidence, "cloud-hypervisor");
	v->cpu_32_bit = fact_is_flag(&host->long_mode, false);
	v->crashes = v->decided.signal;
	v->proven = fact_is_known(&evidence->proof.fact) && v->decided.calls > 0 &&
	            v->decided.proven == v->decided.calls;
	v->all_enter = v->proven && v->decided.always == v->decided.calls;
	v->some_enter = v->proven && v->decided.entered > 0;
	v->vdso_enters = v->vdso.proven > 0 && v->vdso.always == v->vdso.calls;
	v->vdso_serves = v->vdso.proven > 0 && v->vdso.proven == v->vdso.calls &&
	                 v->vdso.entered == 0 && !v->vdso.signal && !v->vdso.failing;
	v->counter_off = fact_is_flag(&host->counter_disabled, true);
	v->counter_trapped = is_counter_trapped(v);
	v->counter_gains_nothing = ns_of(&evidence->copy.what_if_ns) > WORTH_A_SWITCH * vdso_ns;
	/* A system call is never so much quicker than the cheapest one. */
	v->entered_yet_fast = v->vdso_enters && vdso_ns < FASTER_THAN_ENTRY * v->syscall_ns;
	v->reads_hyperv_page = kernel_reads_hyperv_page(evidence);
	/* arch/x86/kernel/kvmclock.c gives the mode under CONFIG_X86_64 only, 3.10 to 7.3. */
	v->kvm_clock_32_bit =
		fact_is_known(&host->arch.fact) && !fact_is_text(&host->arch, "x86_64");
	v->boot_disables_vdso = boot_takes(evidence, BOOT_VDSO);
	v->boot_disables_kvm_clock = boot_takes(evidence, BOOT_KVM_CLOCK);
	v->boot_disables_kvm_vdso = boot_takes(evidence, BOOT_KVM_VDSO);
	v->boot_chose_current = boot_chooses(evidence, evidence->clocksource.current);
}

/*
 * Returns the line on an erratum of arm64's counter for which the kernel takes its clock mode away:
 * those of ool_workarounds[] with read_cntvct_el0 (arm_arch_timer.c, 4.12 to 7.2; 1188873 in RHEL
 * 8.1's 4.18), or NULL. Erratum 1418040 concerns 32-bit programs alone, which have a mode of their
 * own.
 */
static const struct kernel_log_line *find_counter_erratum(const struct evidence *evidence)
{
	return LOG_FIRST(evidence, "workaround for Freescale erratum a005858",
		"workaround for HiSilicon erratum 161010101", "workaround for ARM erratum 858921",
		"workaround for Allwinner erratum UNKNOWN1", "workaround for ARM erratum 1188873",
		"Trapping CNTVCT access");
}

/*
 * True if the kernel would choose another clocksource than the current one, which a vDSO may read:
 * one is listed before it, by rating (see is_tsc_rated_unstable()), or none reads the current one.
 */
static bool has_other_choice(const struct evidence *evidence)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	return !vclock_name_has_mode(clocksource->current) ||
	       (fact_is_known(&clocksource->available_fact) && clocksource->available_count &&
		       !clocksource_is(evidence, clocksource->available[0]));
}

/*
 * Returns the verdict that the kernel's clocksource, release and command line make likely where
 * nothing was measured. Other names leave it open: a hypervisor's page may be invalid, and arm64's
 * counter may have an erratum.
 */
static enum verdict_kind expected_verdict(const struct view *v)
{
	/* Each kernel that registers one of these gives it its mode. */
	static const char with_mode[] = "tsc timebase tod Constant";
	const struct evidence *evidence = v->evidence;
	const char *current = evidence->clocksource.current;
	bool has_mode =
		text_has_word(text_span(with_mode), current) ||
		(strcmp(current, "riscv_clocksource") == 0 && !kernel_is_before(evidence, "5.10"));

	if (evidence->live || !fact_is_known(&evidence->clocksource.current_fact))
		return VERDICT_UNKNOWN;
	if (v->no_vdso || v->vdso_without_clock)
		return VERDICT_FALLBACK;
	if (v->may_read_hpet)
		return VERDICT_UNKNOWN;
	/* powerpc's vDSO reads the timebase whatever the clocksource is (vdso/gettimeofday.h). */
	if ((v->name_has_no_mode && !v->on_powerpc) ||
		(v->counter_erratum && clocksource_is(evidence, "arch_sys_counter")) ||
		(v->on_xen && (kernel_is_before(evidence, "4.15") || v->xen_refused)) ||
		(v->on_kvm_clock && (v->kvm_clock_32_bit || boot_takes(evidence, BOOT_KVM_VDSO))) ||
		(v->on_hyperv_page && !v->reads_hyperv_page) || v->vdso_disabled)
		return VERDICT_FALLBACK;
	return has_mode ? VERDICT_OK : VERDICT_UNKNOWN;
}

static void add_clocksource(struct view *v)
{
	const struct evidence *evidence = v->evidence;
	const struct vclock_evidence *vclock = &evidence->vclock;

	/* A tree is judged for programs of the kernel's own word size. */
	v->no_vdso = evidence->vdso.fact.state == FACT_ABSENT ||
	             (v->captured && v->boot_disables_vdso &&
			     (arch_starts(evidence, "i") || boot_has(evidence, "vdso")));
	v->vdso_replaced = fact_is_flag(&evidence->vdso.replaced, true);
	v->clocksource_known = fact_is_known(&evidence->clocksource.current_fact);
	v->name_has_no_mode = clocksource_has_no_mode(evidence, evidence->clocksource.current);
	v->on_xen = clocksource_is(evidence, "xen");
	v->on_kvm_clock = clocksource_is(evidence, "kvm-clock");
	v->on_hyperv_page = clocksource_is(evidence, "hyperv_clocksource_tsc_page");
	v->vdso_without_clock = v->captured && kernel_vdso_has_no_clock(evidence);
	/* The vDSO of x86-64 could read hpet before 1ed95e52d902, in 4.7. */
	v->may_read_hpet = v->captured && !v->vdso_without_clock &&
	                   clocksource_is(evidence, "hpet") && kernel_is_before(evidence, "4.7");
	/* At boot, and after a move to another host (arch/x86/xen/time.c). */
	v->xen_refused = LOG_FIRST(
		evidence, "PVCLOCK not supported", "Cannot restore secondary vcpu_time_info");
	v->vdso_disabled = find_vdso_disabled(evidence);
	v->counter_erratum = find_counter_erratum(evidence);
	v->mode_none = vclock->how >= VCLOCK_COPY && vclock->mode == VCLOCK_MODE_NONE;
	v->mode_set = vclock->how == VCLOCK_READ && !v->mode_none;
	v->page_stable = fact_is_flag(&vclock->pvclock_stable, true) &&
	                 vclock->how >= VCLOCK_COPY && !v->mode_none;
	v->page_unstable = fact_is_flag(&vclock->pvclock_stable, false);
	v->expected = expected_verdict(v);
}

/*
 * A fast or PIT calibration that fails is normal, and is followed by another way. Linux 4.14 to
 * 5.x also calibrates twice: where the second time is better, the kernel logs the CPU's rate
 * (determine_cpu_tsc_frequencies()).
 */
static const struct kernel_log_line *find_uncalibrated(const struct evidence *evidence)
{
	const struct kernel_log_line *line = log_find(evidence, "could not calculate TSC");

	if (line)
		return line;
	line = log_find(evidence, "No reference (HPET/PMTIMER) available");
	return log_find_after(evidence, line, " MHz processor") ? NULL : line;
}

/*
 * 5.13: "read-back delay of N ns, attempt K, marking unstable"; 6.x: "marking tsc unstable". Other
 * lines of such a delay say that a check was skipped: nothing is wrong.
 */
static const struct kernel_log_line *find_delay(const struct evidence *evidence)
{
	static const char delay[] = "read-back delay";
	const struct kernel_log_line *line = log_find(evidence, delay);

	while (line && !strstr(line->text, ", marking "))
		line = log_find_after(evidence, line, delay);
	return line;
}

/* True if the watchdog's figures show a fault of its reference clock, or of the check. */
static bool is_tsc_cleared(const struct view *v)
{
	enum watchdog_culprit culprit = v->watchdog.culprit;

	return culprit == WATCHDOG_REFERENCE || culprit == WATCHDOG_CHECK ||
	       (culprit == WATCHDOG_UNDETERMINED && v->tsc_delay);
}

/* Returns the first switch to tsc, and not to tsc-early, or NULL. */
static const struct kernel_log_line *find_switch_to_tsc(const struct evidence *evidence)
{
	const struct kernel_log_line *line = log_find_switch(evidence, NULL);

	while (line && strcmp(log_switched_to(line), "tsc") != 0)
		line = log_find_switch(evidence, line);
	return line;
}

/* 4.18.0-394.el8 has tsc=nowatchdog, for tsc-early too. */
static bool kernel_is_rhel_8(const struct evidence *evidence)
{
	return fact_is_known(&evidence->host.kernel.fact) &&
	       strstr(evidence->host.kernel.value, ".el8");
}

static void add_tsc(struct view *v)
{
	static const char marking[] = "Marking TSC unstable due to ";
	const struct evidence *evidence = v->evidence;
	bool is_in_use =
		v->clocksource_known && clocksource_is_own_counter(evidence->clocksource.current);
	bool is_dropped, is_faulty;

	v->tsc_marking = log_find(evidence, marking);
	v->unstable_words =
		v->tsc_marking ? strstr(v->tsc_marking->text, marking) + strlen(marking) : NULL;
	v->unstable_reason = unstable_read(v->unstable_words);
	v->boot_disables_tsc =
		boot_takes(evidence, BOOT_TSC) || v->unstable_reason == UNSTABLE_BY_BOOT ||
		log_find(evidence, "cannot disable TSC completely"); /* notsc, up to 4.14 */
	v->tsc_offered = clocksource_is_offered(evidence, "tsc");
	v->tsc_rated_unstable = is_tsc_rated_unstable(evidence);
	/* The old wording has the name in quotes, that of 7.2 has it bare; 3.10 has its own. */
	v->tsc_distrust = LOG_FIRST(evidence, "Marking clocksource 'tsc", "Marking clocksource tsc",
		"Clocksource tsc unstable", "Marking TSC unstable", "TSC warp",
		"TSC found unstable after boot");
	v->tsc_distrusted = v->tsc_distrust || v->tsc_rated_unstable;
	v->tsc_delay = find_delay(evidence);
	v->tsc_uncalibrated = v->tsc_offered ? NULL : find_uncalibrated(evidence);
	/* The lines of check_tsc_sync_source(). */
	v->tsc_warp = LOG_FIRST(evidence, "TSC warp between CPUs", "check_tsc_sync_source failed");
	v->tsc_in_use = find_switch_to_tsc(evidence);
	v->tsc_written =
		LOG_FIRST(evidence, "force to 0", "TSC ADJUST differs", "TSC ADJUST synchronize");
	v->tsc_unsynchronized =
		v->unstable_reason == UNSTABLE_WARPED ||
		LOG_FIRST(evidence, "TSC warp", "inter CPU skew", " ahead of CPU", " behind CPU");
	v->tsc_varies = fact_is_known(&evidence->host.tsc_flags.fact)
	                        ? !tsc_has_flag(evidence, "constant_tsc") &&
	                                  !tsc_has_flag(evidence, "tsc_reliable")
	                        : fact_is_flag(&evidence->host.invariant_tsc, false);
	v->tsc_invariant = tsc_is_invariant(evidence);
	v->watchdog = watchdog_explain(evidence);
	v->tsc_rates = tsc_rates_find(evidence);
	v->rate_misstated = v->tsc_rates.stated > 0;
	v->boot_rates = boot_rates_find(evidence, &v->watchdog);
	v->boot_rate_wrong = v->boot_rates.stated > 0;
	/* 63ec58b44fcc, in 5.4, is in 5.3.15, and not in 4.19.325. */
	v->tsc_early_unprotected = (log_find(evidence, "'tsc-early' as unstable") ||
					   strcmp(v->watchdog.tsc.name, "tsc-early") == 0) &&
	                           kernel_is_before(evidence, "5.4") &&
	                           !kernel_is_patched(evidence, "5.3.15") &&
	                           !kernel_is_rhel_8(evidence);
	is_dropped = v->tsc_distrusted || v->tsc_delay;
	v->knows_nowatchdog = !kernel_is_before(evidence, "5.2") || kernel_is_rhel_8(evidence);
	is_faulty = !is_in_use && (v->tsc_unsynchronized || v->watchdog.culprit == WATCHDOG_TSC ||
					  (v->unstable_reason >= UNSTABLE_BY_FIRMWARE &&
						  v->unstable_reason <= UNSTABLE_RATE_CHANGES));
	v->tsc_suspect = is_faulty ||
	                 (!is_in_use && is_dropped && !v->boot_disables_tsc && !is_tsc_cleared(v));
	v->tsc_unexplained =
		!is_in_use && !is_dropped && !is_faulty && !v->tsc_offered && !v->boot_disables_tsc;
}

/*
 * HPET and PM timer are what the kernel calibrates the TSC by where the PIT fails, and what its
 * watchdog checks the TSC with: with neither, it never selects a TSC while the tick is in oneshot
 * mode, and otherwise drops it once jiffies are lost (tsc.c, clocksource.c; 3.10 to 7.3).
 */
static bool are_clocks_disabled(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	return v->unsupported_on_x86 && boot_takes(evidence, BOOT_REFERENCE) &&
	       clocksource_is_missing(evidence, "hpet") &&
	       clocksource_is_missing(evidence, "acpi_pm") &&
	       (clocksource_counts_ticks(evidence->clocksource.current) ||
		       clocksource_is(evidence, "pit"));
}

/*
 * Returns the line by which the kernel switched to a clock of the hypervisor's that it does not
 * offer any more, or NULL.
 */
static const struct kernel_log_line *find_removed_clock(const struct view *v)
{
	const struct evidence *evidence = v->evidence;
	const struct kernel_log_line *line = NULL;

	while (v->unsupported_on_x86 && (line = log_find_switch(evidence, line))) {
		if (clocksource_is_hypervisors(log_switched_to(line)) &&
			clocksource_is_missing(evidence, log_switched_to(line)))
			return line;
	}
	return NULL;
}

/*
 * True if no line shows a kernel with CONFIG_KVM_GUEST, which logs "kvm-clock: Using msrs" where
 * KVM offers its clock (kvmclock_init(), 3.10 to 7.3). KVM that imitates Hyper-V offers that one's.
 */
static bool lacks_kvm_guest(const struct view *v)
{
	const struct evidence *evidence = v->evidence;
	const struct flag_fact *offered = &evidence->host.kvm_clock_offered;
	/* CPUID was not asked about the host of a captured tree. */
	bool may_be_offered =
		fact_is_flag(offered, true) || (!evidence->live && !fact_is_known(&offered->fact));

	return may_be_offered && !clocksource_is_offered(evidence, "kvm-clock") &&
	       !boot_takes(evidence, BOOT_KVM_CLOCK) && log_has_beginning(v) &&
	       !log_shows_kvm_guest(evidence) && !log_find(evidence, "yperv") &&
	       !log_find(evidence, "Hyper-V");
}

/*
 * True if the kernel seems to have been built without support for its hypervisor, whose clock, or
 * whose guarantee of the TSC, it does not use.
 */
static bool lacks_driver(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	if (!v->unsupported_on_x86 || v->removed_clock || boot_takes(evidence, BOOT_HYPERVISOR) ||
		!fact_is_known(&evidence->clocksource.available_fact))
		return false;
	/* Up to 4.11 the clock needed no CONFIG_HYPERV (arch/x86/kernel/cpu/mshyperv.c). */
	if (hypervisor_is(evidence, "microsoft"))
		return !kernel_is_before(evidence, "4.12") &&
		       !clocksource_is_offered(evidence, "hyperv_clocksource_tsc_page") &&
		       !clocksource_is_offered(evidence, "hyperv_clocksource_msr") &&
		       !clocksource_is_offered(evidence, "hyperv_clocksource") &&
		       !log_find(evidence, "hyperv_clocksource");
	/* Xen starts no dom0 without it. */
	if (hypervisor_is(evidence, "xen"))
		return !v->on_dom0 && !clocksource_is_offered(evidence, "xen") &&
		       !boot_takes(evidence, BOOT_XEN);
	if (hypervisor_is(evidence, "kvm") || hypervisor_is(evidence, "amazon") ||
		hypervisor_is(evidence, "google"))
		return lacks_kvm_guest(v);
	/* vmware_set_capabilities() sets it in every kernel that knows VMware, 3.10 to 7.2. */
	return hypervisor_is(evidence, "vmware") && !v->boot_disables_tsc &&
	       fact_is_known(&evidence->host.tsc_flags.fact) &&
	       !tsc_has_flag(evidence, "tsc_reliable");
}

static const char *find_own_counter(const struct view *v)
{
	const char *name;

	for (size_t i = 0; (v->falls_back || v->verdict == VERDICT_WRONG) &&
			   (name = clocksource_known_name(i));
		i++) {
		if (clocksource_is_own_counter(name) && strcmp(name, "tsc") != 0 &&
			clocksource_is_other(v->evidence, name))
			return name;
	}
	return NULL;
}

static const char *find_paravirtual(const struct view *v)
{
	const struct clocksource_evidence *clocksource = &v->evidence->clocksource;

	for (size_t i = 0; i < clocksource->available_count; i++) {
		const char *name = clocksource->available[i];

		if (clocksource_is_hypervisors(name) && clocksource_is_other(v->evidence, name) &&
			!reason_against(v, name))
			return name;
	}
	return NULL;
}

struct view view_of(const struct evidence *evidence)
{
	const struct call_evidence *call = clock_gettime_of(evidence, "CLOCK_MONOTONIC");
	struct view view = {.evidence = evidence,
		.captured = !evidence->live,
		.decided = counts_deciding(evidence),
		.vdso = counts_by_path(evidence, PATH_VDSO),
		.libc = counts_by_path(evidence, PATH_LIBC),
		.counter_ns = ns_of(&evidence->timing.counter_ns),
		.syscall_ns = ns_of(&evidence->timing.syscall_floor_ns)};

	for (int path = 0; path < PATH_COUNT; path++)
		view.monotonic_ns[path] = call && fact_is_known(&call->path[path].fact)
		                                  ? call->path[path].min_ns
		                                  : NAN;
	add_host(&view);
	add_clocksource(&view);
	add_tsc(&view);
	return view;
}

/* Sets the members that follow from the verdict. */
static void add_fallback(struct view *v)
{
	const struct evidence *evidence = v->evidence;
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	v->fallback = v->verdict == VERDICT_FALLBACK || v->expected == VERDICT_FALLBACK;
	v->firmware_counter =
		v->verdict == VERDICT_SLOW && !v->guest && arch_starts(evidence, "riscv");
	v->falls_back = v->expected == VERDICT_FALLBACK
	                        ? !v->no_vdso
	                        : v->verdict == VERDICT_FALLBACK &&
	                                  fact_is_known(&evidence->vdso.fact) &&
	                                  v->vdso.entered > 0 && !v->vdso_replaced;
	v->unsupported =
		(v->falls_back || v->captured) && !v->may_read_hpet && v->clocksource_known &&
		(v->name_has_no_mode || (evidence->live && v->mode_none &&
						!vclock_name_has_mode(clocksource->current)));
	v->unsupported_on_x86 = (v->unsupported || v->may_read_hpet) && v->on_x86;
	/*
	 * The kernel itself may have asked for it: "TSC found unstable after boot, most likely due
	 * to broken BIOS. Use 'tsc=unstable'" (arch/x86/kernel/tsc.c). With that it logs no reason
	 * any more.
	 */
	v->tsc_avoided = v->unsupported_on_x86 && (v->boot_disables_tsc || v->boot_chose_current);
	/* The choice would still slow the calls if the vDSO were enabled again. */
	v->boot_choice_slows =
		v->boot_chose_current && has_other_choice(evidence) &&
		(v->falls_back || v->unsupported || v->may_read_hpet ||
			(v->no_vdso && v->boot_disables_vdso && v->name_has_no_mode)) &&
		!(v->on_kvm_clock && v->boot_disables_kvm_vdso);
	/* For a captured tree it is likely on Xen, whose page is seldom marked stable. */
	v->tsc_lost = (v->on_xen || v->on_kvm_clock || v->on_hyperv_page) &&
	              (v->falls_back || (v->on_xen && v->captured)) &&
	              clocksource_is_missing(evidence, "tsc") && v->tsc_in_use;
	v->tsc_wanted = v->unsupported_on_x86 || v->tsc_lost;
	v->tsc_missing = v->tsc_wanted && clocksource_is_missing(evidence, "tsc");
	v->clocks_disabled = are_clocks_disabled(v);
	v->removed_clock = find_removed_clock(v);
	v->lacks_driver = lacks_driver(v);
	v->wants_provider = v->unsupported_on_x86 && hypervisor_is(evidence, "oracle") &&
	                    !v->tsc_avoided && clocksource_is_missing(evidence, "tsc") &&
	                    clocksource_is_missing(evidence, "kvm-clock") &&
	                    !v->boot_disables_kvm_clock;
	v->has_host = v->guest && !v->on_tcg && !v->lacks_driver && !v->wants_provider;
}

/* Sets the clocksources to recommend. */
static void add_switches(struct view *v)
{
	const struct evidence *evidence = v->evidence;
	/* No clocksource is better than tsc: what keeps the vDSO from reading it lies elsewhere. */
	bool is_wanted =
		(v->falls_back || v->unsupported_on_x86) && !clocksource_is(evidence, "tsc");
	bool is_tsc_other = is_wanted && clocksource_is_other(evidence, "tsc");

	v->own_counter = find_own_counter(v);
	v->paravirtual = is_wanted ? find_paravirtual(v) : NULL;
	v->why_not_tsc = is_tsc_other ? reason_against(v, "tsc") : NULL;
	v->tsc_advisable = is_tsc_other && !v->why_not_tsc;
	v->has_switch = is_wanted && (v->paravirtual || v->tsc_advisable || v->own_counter);
	v->switch_drops_boot = v->has_switch && v->boot_choice_slows;
}

void view_follow(struct view *v)
{
	add_fallback(v);
	add_switches(v);
}
