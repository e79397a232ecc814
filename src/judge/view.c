/* SPDX-License-Identifier: MIT */
/*
 * The view of a host that all rules share, and the questions to the evidence that take an argument:
 * how many calls entered the kernel, what the clocksource, the command line and the log are.
 */
#include "rules.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

struct entry_counts counts_by_path(const struct evidence *evidence, enum call_path by)
{
	struct entry_counts counts = {0};

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];
		const struct path_evidence *path =
			&call->path[by == PATH_COUNT ? call_judged_path(call) : by];

		if (!call->decides || !path->available)
			continue;
		counts.calls++;
		if (path->signal)
			counts.signal = path->signal;
		if (!path->attempts)
			continue;
		counts.proven++;
		counts.always += path->entered == path->attempts;
		counts.entering += path->entered > 0;
		counts.attempts += path->attempts;
		counts.entered += path->entered;
	}
	counts.mixed = counts.entering > counts.always;
	return counts;
}

struct entry_counts counts_deciding(const struct evidence *evidence)
{
	return counts_by_path(evidence, PATH_COUNT);
}

const struct call_evidence *call_evidence_of(
	const struct evidence *evidence, const char *call, const char *clock)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (strcmp(evidence->calls[i].call, call) == 0 &&
			strcmp(evidence->calls[i].clock, clock) == 0)
			return &evidence->calls[i];
	}
	return NULL;
}

const struct call_evidence *clock_gettime_of(const struct evidence *evidence, const char *clock)
{
	return call_evidence_of(evidence, "clock_gettime", clock);
}

bool platform_is(const struct evidence *evidence, const char *word)
{
	return fact_is_text(&evidence->host.platform, word);
}

bool hypervisor_is(const struct evidence *evidence, const char *word)
{
	return fact_is_text(&evidence->host.hypervisor, word);
}

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

bool boot_has(const struct evidence *evidence, const char *parameter)
{
	const struct text_fact *boot = &evidence->host.boot;

	return fact_is_known(&boot->fact) && text_has_word(text_span(boot->value), parameter);
}

bool boot_find(const struct evidence *evidence, const char *key, char *value, size_t size)
{
	struct span words = text_span(evidence->host.boot.value), word;
	bool is_found = false;

	while (fact_is_known(&evidence->host.boot.fact) && text_next_word(&words, &word)) {
		if (!text_take_prefix(&word, key))
			continue;
		text_copy_span(value, size, word);
		is_found = true;
	}
	return is_found;
}

const struct kernel_log_line *log_find(const struct evidence *evidence, const char *text)
{
	const struct kernel_log_evidence *log = &evidence->kernel_log;

	for (size_t i = 0; i < log->count; i++) {
		if (strstr(log->lines[i].text, text))
			return &log->lines[i];
	}
	return NULL;
}

const struct kernel_log_line *log_find_after(
	const struct evidence *evidence, const struct kernel_log_line *line, const char *text)
{
	const struct kernel_log_evidence *log = &evidence->kernel_log;

	for (const struct kernel_log_line *next = line ? line + 1 : NULL;
		next && next < log->lines + log->count; next++) {
		if (strstr(next->text, text))
			return next;
	}
	return NULL;
}

const struct kernel_log_line *log_find_tsc_in_use(const struct evidence *evidence)
{
	const struct kernel_log_line *line = log_find_switch(evidence, NULL);

	while (line && strcmp(log_switched_to(line), "tsc") != 0)
		line = log_find_switch(evidence, line);
	return line;
}

/* Returns the first line with the earliest of these texts that occurs. */
static const struct kernel_log_line *log_find_first(
	const struct evidence *evidence, const char *const *texts, size_t count)
{
	const struct kernel_log_line *line = NULL;

	for (size_t i = 0; i < count && !line; i++)
		line = log_find(evidence, texts[i]);
	return line;
}

const char *log_switched_to(const struct kernel_log_line *line)
{
	/* The second one is of 3.10 and older. */
	static const char *const marks[] = {
		"Switched to clocksource ", "Switching to clocksource "};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		const char *at = strstr(line->text, marks[i]);

		if (at)
			return at + strlen(marks[i]);
	}
	return NULL;
}

const struct kernel_log_line *log_find_switch(
	const struct evidence *evidence, const struct kernel_log_line *after)
{
	const struct kernel_log_evidence *log = &evidence->kernel_log;

	for (size_t i = after ? (size_t)(after - log->lines) + 1 : 0; i < log->count; i++) {
		if (log_switched_to(&log->lines[i]))
			return &log->lines[i];
	}
	return NULL;
}

/*
 * Finds the line by which the kernel took the vDSO's support from the current clocksource: a
 * module that registered it wrongly (clocksource.c; arch/x86/kernel/time.c before 5.7), or a MIPS
 * CPU whose counter programs cannot read (arch/mips/kernel/csrc-r4k.c).
 */
static const struct kernel_log_line *find_vdso_disabled(const struct evidence *evidence)
{
	static const char *const marks[] = {"Disabling VDSO", "Disabling vclock"};
	const struct kernel_log_line *line = log_find_first(evidence, marks, ARRAY_SIZE(marks));
	const char *current = evidence->clocksource.current;

	if (clocksource_is(evidence, "MIPS"))
		return log_find(evidence, "Not using R4K clocksource in VDSO");
	return line && *current && strstr(line->text, current) ? line : NULL;
}

/* x86 logs the TSC's rate, and every kernel its first clocksource beside jiffies. */
bool log_has_boot(const struct evidence *evidence)
{
	return log_find(evidence, "tsc: Detected ") || log_find_switch(evidence, NULL);
}

/* Reads the first numbers of a release, with dots between them; false if there are fewer. */
static bool parse_release(const char *release, unsigned long *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *end;

		if (!isdigit((unsigned char)*release))
			return false;
		numbers[i] = strtoul(release, &end, 10);
		release = *end == '.' ? end + 1 : end;
	}
	return true;
}

bool kernel_is_before(const struct evidence *evidence, unsigned major, unsigned minor)
{
	unsigned long has[2];

	return fact_is_known(&evidence->host.kernel.fact) &&
	       parse_release(evidence->host.kernel.value, has, ARRAY_SIZE(has)) &&
	       (has[0] < major || (has[0] == major && has[1] < minor));
}

/* Debian's release has an ABI's number in this place: "6.1.0-28", built from "Debian 6.1.119-1". */
bool kernel_is_patched(
	const struct evidence *evidence, unsigned major, unsigned minor, unsigned patch)
{
	static const char debian[] = " Debian ";
	const struct host_evidence *host = &evidence->host;
	const char *release = fact_is_known(&host->kernel.fact) ? host->kernel.value : "";
	const char *build = fact_is_known(&host->kernel_build.fact)
	                            ? strstr(host->kernel_build.value, debian)
	                            : NULL;
	unsigned long has[3];

	if (build)
		release = build + strlen(debian);
	return parse_release(release, has, ARRAY_SIZE(has)) && has[0] == major && has[1] == minor &&
	       has[2] >= patch;
}

bool host_is_x86(const struct evidence *evidence)
{
	const struct text_fact *arch = &evidence->host.arch;
	size_t length = strlen(arch->value);

	/* Only x86 reports on its TSC. */
	if (!fact_is_known(&arch->fact))
		return fact_is_known(&evidence->host.invariant_tsc.fact);
	return strcmp(arch->value, "x86_64") == 0 ||
	       (length == 4 && arch->value[0] == 'i' && strcmp(arch->value + 2, "86") == 0);
}

bool tsc_has_flag(const struct evidence *evidence, const char *flag)
{
	const struct text_fact *flags = &evidence->host.tsc_flags;

	return fact_is_known(&flags->fact) && text_has_word(text_span(flags->value), flag);
}

bool tsc_is_invariant(const struct evidence *evidence)
{
	/*
	 * The kernel sets tsc_reliable where a hypervisor guarantees the TSC, and no longer checks
	 * it: VMware, TDX and SNP, Hyper-V with AccessTscInvariant. These keep its rate when they
	 * migrate the guest. VMware's guests lack nonstop_tsc (vmware_set_capabilities(), 2.6.29 to
	 * 7.2).
	 */
	if (tsc_has_flag(evidence, "tsc_reliable"))
		return true;
	return fact_is_flag(&evidence->host.invariant_tsc, true) &&
	       (!fact_is_known(&evidence->host.tsc_flags.fact) ||
		       (tsc_has_flag(evidence, "constant_tsc") &&
			       tsc_has_flag(evidence, "nonstop_tsc")));
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
		if (vclock_name_has_no_mode(clocksource->available[i]))
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

static bool is_counter_trapped(const struct evidence *evidence)
{
	static const char *const fast[] = {
		"x86_64", "i386", "i686", "aarch64", "armv7l", "riscv64"};
	const struct timing_evidence *timing = &evidence->timing;

	if (!fact_is_known(&timing->counter_fact))
		return false;
	if (fact_is_known(&timing->syscall_floor_fact) &&
		timing->counter_ns >= timing->syscall_floor_ns)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(fast); i++) {
		if (fact_is_text(&evidence->host.arch, fast[i]))
			return timing->counter_ns > COUNTER_NS_MOST;
	}
	return false;
}

/* The clock mode is of 4.12; RHEL 7's 3.10 and SLES 12's 4.4 got it by backport. */
static bool can_read_hyperv_page(const struct evidence *evidence)
{
	const char *kernel = evidence->host.kernel.value;

	return !kernel_is_before(evidence, 4, 12) || strstr(kernel, ".el7") ||
	       (strncmp(kernel, "4.4.", 4) == 0 &&
		       (strstr(kernel, "-default") || strstr(kernel, "-azure")));
}

/* A switch must gain more than a little, since reading the counter may be trapped. */
#define WORTH_A_SWITCH 0.75

#define FASTER_THAN_ENTRY 0.5

#define NEVER UINT_MAX /* a major release that no kernel reaches */

static void view_add_host(struct view *v)
{
	const struct evidence *evidence = v->evidence;
	const struct host_evidence *host = &evidence->host;
	const struct path_evidence *vdso = v->monotonic[PATH_VDSO];

	v->guest = fact_is_known(&host->hypervisor.fact);
	v->ec2_xen = platform_is(evidence, "aws-xen");
	v->gvisor = platform_is(evidence, "gvisor");
	v->emulated = fact_is_known(&host->emulator.fact);
	/* A tree has QEMU's name by DMI, with KVM too; CPUID has it with TCG alone. */
	v->on_tcg = fact_is_known(&host->cpu.fact) && hypervisor_is(evidence, "qemu") &&
	            (strstr(host->cpu.value, "TCG") ||
			    (evidence->live && strstr(host->cpu.value, "QEMU")));
	/* Proxmox VE and EC2 give a vmgenid or vmclock device to every guest: it is not a sign. */
	v->may_be_restored = platform_is(evidence, "firecracker") ||
	                     platform_is(evidence, "microvm") ||
	                     platform_is(evidence, "cloud-hypervisor");
	v->counter_off = fact_is_flag(&host->counter_disabled, true);
	v->counter_trapped = is_counter_trapped(evidence);
	v->firmware_counter = v->verdict == VERDICT_SLOW && !v->guest &&
	                      fact_is_known(&host->arch.fact) &&
	                      strncmp(host->arch.value, "riscv", strlen("riscv")) == 0;
	v->counter_gains_nothing = fact_is_known(&evidence->copy.what_if_fact) && vdso &&
	                           evidence->copy.what_if_ns > WORTH_A_SWITCH * vdso->min_ns;
	/* A system call is never so much quicker than the cheapest one. */
	v->entered_yet_fast = v->vdso.proven > 0 && v->vdso.always == v->vdso.calls && vdso &&
	                      fact_is_known(&evidence->timing.syscall_floor_fact) &&
	                      vdso->min_ns < FASTER_THAN_ENTRY * evidence->timing.syscall_floor_ns;
	v->reads_hyperv_page = can_read_hyperv_page(evidence);
	/* arch/x86/kernel/kvmclock.c gives the mode under CONFIG_X86_64 only, 3.10 to 7.3. */
	v->kvm_clock_32_bit =
		fact_is_known(&host->arch.fact) && !fact_is_text(&host->arch, "x86_64");
	/* 2 is the old word for 0 (arch/x86/entry/vdso/vdso32-setup.c). */
	v->boot_disables_vdso = boot_has(evidence, "vdso=0") || boot_has(evidence, "vdso32=0") ||
	                        boot_has(evidence, "vdso32=2");
	v->unstable_words = unstable_find(evidence, &v->unstable_reason);
	v->boot_disables_tsc = boot_has(evidence, "notsc") || boot_has(evidence, "tsc=unstable") ||
	                       v->unstable_reason == UNSTABLE_BY_BOOT;
}

/* True if the vDSO of this architecture has no function that reads a clock in this release. */
static bool has_no_clock(const struct evidence *evidence)
{
	/*
	 * The first kernel whose vDSO has one, by what uname(2) calls the machine; read in 3.10,
	 * 3.14, 4.4, 4.19, 5.4, 5.10, 6.1, 6.12 and 7.2. The functions of riscv64 before 5.5, and
	 * of parisc, only make the system call.
	 */
	static const struct {
		const char *machine; /* its beginning */
		unsigned major, minor;
	} first[] = {
		{"i386", 3, 15},
		{"i486", 3, 15},
		{"i586", 3, 15},
		{"i686", 3, 15},
		{"armv", 4, 1},
		{"mips", 4, 4},
		{"sparc64", 4, 16},
		{"riscv64", 5, 5},
		{"csky", 5, 11},
		{"alpha", NEVER, 0},
		{"arc", NEVER, 0},
		{"hexagon", NEVER, 0},
		{"m68k", NEVER, 0},
		{"microblaze", NEVER, 0},
		{"nios2", NEVER, 0},
		{"openrisc", NEVER, 0},
		{"parisc", NEVER, 0},
		{"riscv32", NEVER, 0},
		{"sh", NEVER, 0},
		{"xtensa", NEVER, 0},
	};
	const struct text_fact *arch = &evidence->host.arch;

	for (size_t i = 0; fact_is_known(&arch->fact) && i < ARRAY_SIZE(first); i++) {
		if (text_starts(text_span(arch->value), first[i].machine))
			return kernel_is_before(evidence, first[i].major, first[i].minor);
	}
	return false;
}

/* True if each kernel that registers the current clocksource gives it its mode. */
static bool has_one_mode(const struct evidence *evidence)
{
	static const char *const names[] = {"tsc", "timebase", "tod", "Constant"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (clocksource_is(evidence, names[i]))
			return true;
	}
	return clocksource_is(evidence, "riscv_clocksource") && !kernel_is_before(evidence, 5, 10);
}

/*
 * Returns the verdict that the kernel's clocksource, release and command line make likely where
 * nothing was measured. Other names leave it open: a hypervisor's page may be invalid, and arm64's
 * counter may have an erratum.
 */
static enum verdict_kind find_expected(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	if (evidence->live || !fact_is_known(&evidence->clocksource.current_fact))
		return VERDICT_UNKNOWN;
	if (v->no_vdso || v->vdso_without_clock)
		return VERDICT_FALLBACK;
	if (v->may_read_hpet)
		return VERDICT_UNKNOWN;
	/* powerpc's vDSO reads the timebase whatever the clocksource is (vdso/gettimeofday.h). */
	if ((vclock_name_has_no_mode(evidence->clocksource.current) && !v->on_powerpc) ||
		(v->counter_erratum && clocksource_is(evidence, "arch_sys_counter")) ||
		(v->on_xen && (kernel_is_before(evidence, 4, 15) || v->xen_refused)) ||
		(v->on_kvm_clock &&
			(v->kvm_clock_32_bit || boot_has(evidence, "no-kvmclock-vsyscall"))) ||
		(v->on_hyperv_page && !v->reads_hyperv_page) || v->vdso_disabled)
		return VERDICT_FALLBACK;
	return has_one_mode(evidence) ? VERDICT_OK : VERDICT_UNKNOWN;
}

/*
 * Returns the line on an erratum of arm64's counter for which the kernel takes its clock mode away:
 * those of ool_workarounds[] with read_cntvct_el0 (arm_arch_timer.c, 4.12 to 7.2; 1188873 in RHEL
 * 8.1's 4.18), or NULL. Erratum 1418040 concerns 32-bit programs alone, which have a mode of their
 * own.
 */
static const struct kernel_log_line *find_counter_erratum(const struct evidence *evidence)
{
	static const char *const errata[] = {"workaround for Freescale erratum a005858",
		"workaround for HiSilicon erratum 161010101", "workaround for ARM erratum 858921",
		"workaround for Allwinner erratum UNKNOWN1", "workaround for ARM erratum 1188873",
		"Trapping CNTVCT access"};

	return log_find_first(evidence, errata, ARRAY_SIZE(errata));
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

static void view_add_clocksource(struct view *v)
{
	/* At boot, and after a move to another host (arch/x86/xen/time.c). */
	static const char *const xen_refused[] = {
		"PVCLOCK not supported", "Cannot restore secondary vcpu_time_info"};
	const struct evidence *evidence = v->evidence;
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	const struct vclock_evidence *vclock = &evidence->vclock;
	bool has_no_mode = vclock_name_has_no_mode(clocksource->current);
	char parameter[CLOCKSOURCE_NAME_SIZE + 16];

	v->no_vdso = evidence->vdso.fact.state == FACT_ABSENT ||
	             (!evidence->live && boot_has(evidence, "vdso=0"));
	v->vdso_replaced = fact_is_flag(&evidence->vdso.replaced, true);
	v->on_xen = clocksource_is(evidence, "xen");
	v->on_kvm_clock = clocksource_is(evidence, "kvm-clock");
	v->on_hyperv_page = clocksource_is(evidence, "hyperv_clocksource_tsc_page");
	v->vdso_without_clock = !evidence->live && has_no_clock(evidence);
	/* The vDSO of x86-64 could read hpet before 1ed95e52d902, in 4.7. */
	v->may_read_hpet = !evidence->live && !v->vdso_without_clock &&
	                   clocksource_is(evidence, "hpet") && kernel_is_before(evidence, 4, 7);
	v->xen_refused = log_find_first(evidence, xen_refused, ARRAY_SIZE(xen_refused));
	v->vdso_disabled = find_vdso_disabled(evidence);
	v->on_powerpc = fact_is_known(&evidence->host.arch.fact) &&
	                strncmp(evidence->host.arch.value, "ppc", strlen("ppc")) == 0;
	v->counter_erratum = find_counter_erratum(evidence);
	v->expected = find_expected(v);
	v->falls_back = v->expected == VERDICT_FALLBACK
	                        ? !v->no_vdso
	                        : v->verdict == VERDICT_FALLBACK &&
	                                  fact_is_known(&evidence->vdso.fact) &&
	                                  v->vdso.entered > 0 && !v->vdso_replaced;
	v->mode_none = vclock->how >= VCLOCK_COPY && vclock->mode == VCLOCK_MODE_NONE;
	v->mode_set = vclock->how == VCLOCK_READ && !v->mode_none;
	v->page_stable = fact_is_flag(&vclock->pvclock_stable, true) &&
	                 vclock->how >= VCLOCK_COPY && !v->mode_none;
	v->page_unstable = fact_is_flag(&vclock->pvclock_stable, false);
	v->unsupported =
		(v->falls_back || !evidence->live) && !v->may_read_hpet &&
		fact_is_known(&clocksource->current_fact) &&
		(has_no_mode || (v->mode_none && !vclock_name_has_mode(clocksource->current)));
	v->second_choice = (v->unsupported || v->may_read_hpet) && host_is_x86(evidence);
	snprintf(parameter, sizeof(parameter), "clocksource=%s", clocksource->current);
	v->boot_chose_current = *clocksource->current && boot_has(evidence, parameter);
	/*
	 * The kernel itself may have asked for it: "TSC found unstable after boot, most likely due
	 * to broken BIOS. Use 'tsc=unstable'" (arch/x86/kernel/tsc.c). With that it logs no reason
	 * any more.
	 */
	v->tsc_avoided = v->second_choice && (v->boot_disables_tsc || v->boot_chose_current);
	/* The choice would still slow the calls if the vDSO were enabled again. */
	v->boot_choice_slows = v->boot_chose_current && has_other_choice(evidence) &&
	                       (v->falls_back || v->unsupported || v->may_read_hpet ||
				       (v->no_vdso && v->boot_disables_vdso && has_no_mode)) &&
	                       !(v->on_kvm_clock && boot_has(evidence, "no-kvmclock-vsyscall"));
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

/* 4.18.0-394.el8 has tsc=nowatchdog, for tsc-early too. */
static bool is_rhel_8(const struct evidence *evidence)
{
	return fact_is_known(&evidence->host.kernel.fact) &&
	       strstr(evidence->host.kernel.value, ".el8");
}

static void view_add_tsc(struct view *v)
{
	/* The old wording has the name in quotes, that of 7.2 has it bare; 3.10 has its own. */
	static const char *const distrust[] = {"Marking clocksource 'tsc",
		"Marking clocksource tsc", "Clocksource tsc unstable", "Marking TSC unstable",
		"TSC warp"};
	static const char *const unsynchronized[] = {
		"TSC warp", "inter CPU skew", " ahead of CPU", " behind CPU"};
	static const char delay[] = "read-back delay";
	const struct evidence *evidence = v->evidence;

	v->tsc_offered = clocksource_is_offered(evidence, "tsc");
	/* For a captured tree it is likely on Xen, whose page is seldom marked stable. */
	v->tsc_lost = (v->on_xen || v->on_kvm_clock || v->on_hyperv_page) &&
	              (v->falls_back || (v->on_xen && !evidence->live)) && !v->tsc_offered &&
	              fact_is_known(&evidence->clocksource.available_fact) &&
	              log_find_tsc_in_use(evidence);
	v->tsc_rated_unstable = is_tsc_rated_unstable(evidence);
	v->tsc_distrust = log_find_first(evidence, distrust, ARRAY_SIZE(distrust));
	v->tsc_distrusted = v->tsc_distrust || v->tsc_rated_unstable;
	/*
	 * 5.13: "read-back delay of N ns, attempt K, marking unstable"; 6.x: "marking tsc
	 * unstable". Other lines of such a delay say that a check was skipped: nothing is wrong.
	 */
	v->tsc_delay = log_find(evidence, delay);
	while (v->tsc_delay && !strstr(v->tsc_delay->text, ", marking "))
		v->tsc_delay = log_find_after(evidence, v->tsc_delay, delay);
	if (!v->tsc_offered)
		v->tsc_uncalibrated = find_uncalibrated(evidence);
	v->tsc_unsynchronized =
		v->unstable_reason == UNSTABLE_WARPED ||
		log_find_first(evidence, unsynchronized, ARRAY_SIZE(unsynchronized));
	watchdog_explain(evidence, &v->watchdog);
	v->tsc_rates = tsc_rates_find(evidence);
	v->tsc_varies = fact_is_known(&evidence->host.tsc_flags.fact)
	                        ? !tsc_has_flag(evidence, "constant_tsc") &&
	                                  !tsc_has_flag(evidence, "tsc_reliable")
	                        : fact_is_flag(&evidence->host.invariant_tsc, false);
	/* 63ec58b44fcc, in 5.4, is in 5.3.15, and not in 4.19.325. */
	v->tsc_early_unprotected = (log_find(evidence, "'tsc-early' as unstable") ||
					   strcmp(v->watchdog.tsc.name, "tsc-early") == 0) &&
	                           kernel_is_before(evidence, 5, 4) &&
	                           !kernel_is_patched(evidence, 5, 3, 15) && !is_rhel_8(evidence);
}

static bool knows_nowatchdog(const struct view *v)
{
	return !kernel_is_before(v->evidence, 5, 2) || is_rhel_8(v->evidence);
}

static bool wants_nowatchdog(const struct view *v)
{
	return !v->tsc_varies && !v->tsc_early_unprotected &&
	       !boot_has(v->evidence, "tsc=nowatchdog") && !boot_has(v->evidence, "tsc=reliable");
}

bool nowatchdog_helps(const struct view *v)
{
	return wants_nowatchdog(v) && knows_nowatchdog(v);
}

bool nowatchdog_is_missed(const struct view *v)
{
	return wants_nowatchdog(v) && !knows_nowatchdog(v);
}

/*
 * Returns the line by which the kernel switched to a clock of the hypervisor's that it does not
 * offer any more, or NULL.
 */
static const struct kernel_log_line *find_removed_clock(const struct view *v)
{
	static const char *const clocks[] = {"clocksource kvm-clock", "clocksource xen",
		"clocksource hyperv_clocksource_tsc_page", "clocksource hyperv_clocksource_msr",
		"clocksource hyperv_clocksource"};
	const struct evidence *evidence = v->evidence;

	if (!v->second_choice || !fact_is_known(&evidence->clocksource.available_fact))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		const struct kernel_log_line *line = log_find(evidence, clocks[i]);

		if (clocksource_is_offered(evidence, clocks[i] + strlen("clocksource ")))
			continue;
		/* "Switched to clocksource xen", before 3.12 "Switching to" */
		while (line && (!strstr(line->text, "Switch") ||
				       *(strstr(line->text, clocks[i]) + strlen(clocks[i]))))
			line = log_find_after(evidence, line, clocks[i]);
		if (line)
			return line;
	}
	return NULL;
}

/*
 * True if the kernel seems to have been built without support for its hypervisor, whose clock, or
 * whose guarantee of the TSC, it does not use. KVM has causes of its own.
 */
static bool lacks_driver(const struct view *v)
{
	const struct evidence *evidence = v->evidence;

	if (!v->second_choice || v->removed_clock || boot_has(evidence, "nopv") ||
		!fact_is_known(&evidence->clocksource.available_fact))
		return false;
	/* Up to 4.11 the clock needed no CONFIG_HYPERV (arch/x86/kernel/cpu/mshyperv.c). */
	if (hypervisor_is(evidence, "microsoft"))
		return !kernel_is_before(evidence, 4, 12) &&
		       !clocksource_is_offered(evidence, "hyperv_clocksource_tsc_page") &&
		       !clocksource_is_offered(evidence, "hyperv_clocksource_msr") &&
		       !clocksource_is_offered(evidence, "hyperv_clocksource") &&
		       !log_find(evidence, "hyperv_clocksource");
	if (hypervisor_is(evidence, "xen"))
		return !clocksource_is_offered(evidence, "xen") && !boot_has(evidence, "xen_nopv");
	/* vmware_set_capabilities() sets the flag in every kernel that knows VMware, 3.10 to 7.2.
	 */
	return hypervisor_is(evidence, "vmware") && !v->boot_disables_tsc &&
	       fact_is_known(&evidence->host.tsc_flags.fact) &&
	       !tsc_has_flag(evidence, "tsc_reliable");
}

static void view_add_switches(struct view *v)
{
	static const char *const paravirtual[] = {
		"kvm-clock", "hyperv_clocksource_tsc_page", "xen"};
	const char *name;

	for (size_t i = 0; (v->falls_back || v->verdict == VERDICT_WRONG) && !v->own_counter &&
			   (name = clocksource_known_name(i));
		i++) {
		if (clocksource_is_own_counter(name) && strcmp(name, "tsc") != 0 &&
			clocksource_is_another(v->evidence, name))
			v->own_counter = name;
	}
	/* No clocksource is better than tsc: what keeps the vDSO from reading it lies elsewhere. */
	if ((!v->falls_back && !v->second_choice) || clocksource_is(v->evidence, "tsc"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(paravirtual) && !v->paravirtual; i++) {
		if (clocksource_is_another(v->evidence, paravirtual[i]) &&
			!reason_against(v, paravirtual[i]))
			v->paravirtual = paravirtual[i];
	}
	if (clocksource_is_another(v->evidence, "tsc"))
		v->why_not_tsc = reason_against(v, "tsc");
	v->tsc_advisable = clocksource_is_another(v->evidence, "tsc") && !v->why_not_tsc;
	v->has_switch = v->paravirtual || v->tsc_advisable || v->own_counter;
}

void view_make(const struct evidence *evidence, enum verdict_kind verdict, struct view *v)
{
	const struct call_evidence *call = clock_gettime_of(evidence, "CLOCK_MONOTONIC");

	*v = (struct view){.evidence = evidence,
		.decided = counts_deciding(evidence),
		.vdso = counts_by_path(evidence, PATH_VDSO),
		.libc = counts_by_path(evidence, PATH_LIBC),
		.verdict = verdict};
	for (int path = 0; call && path < PATH_COUNT; path++)
		v->monotonic[path] =
			fact_is_known(&call->path[path].fact) ? &call->path[path] : NULL;
	view_add_host(v);
	view_add_clocksource(v);
	view_add_tsc(v);
	v->removed_clock = find_removed_clock(v);
	v->lacks_driver = lacks_driver(v);
	view_add_switches(v);
}
