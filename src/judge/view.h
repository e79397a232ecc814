/* SPDX-License-Identifier: MIT */
/*
 * The one vocabulary in which all conditions are written: the members of struct view, and the
 * questions to the evidence below it, which take an argument.
 */
#ifndef VDSOCHECK_JUDGE_VIEW_H
#define VDSOCHECK_JUDGE_VIEW_H

#include "judge.h"

/*
 * The kernel's clocksource watchdog compares the TSC with a reference clock twice a second
 * and drops the TSC where the two disagree. It measures a disagreement, not a fault of the
 * TSC: the lines it logs hold the figures to work out which of the two was wrong.
 */
enum watchdog_culprit {
	WATCHDOG_UNDETERMINED, /* the figures do not decide */
	WATCHDOG_REFERENCE,    /* the reference wrapped, stopped, was misread, or counts ticks */
	WATCHDOG_CHECK,        /* it came too late for its limit, or a read of it was delayed */
	WATCHDOG_PAUSED,       /* the guest was paused, and one clock did not count it */
	WATCHDOG_TSC,          /* the TSC was reset or written, counted too little, or stopped */
	WATCHDOG_RATES,        /* the two run at different rates */
};

/* Why the kernel marked the TSC unstable, as it says itself (ask.c has the words). */
enum unstable_reason {
	UNSTABLE_UNSAID, /* it did not, or the log does not have the line */
	UNSTABLE_BY_WATCHDOG,
	UNSTABLE_WARPED,      /* a test at boot or hotplug found that TSCs disagree */
	UNSTABLE_ASSUMED,     /* the kind of CPU or machine makes it likely; nothing was measured */
	UNSTABLE_BY_FIRMWARE, /* which knows that the TSCs of several chassis disagree */
	UNSTABLE_WENT_BACK,   /* KVM read an earlier TSC than before */
	UNSTABLE_HALTS,       /* in deep idle states */
	UNSTABLE_HALTS_IN_C1E, /* in this one, which the firmware enables */
	UNSTABLE_RATE_CHANGES, /* with the CPU's frequency */
	UNSTABLE_ON_HYPERV,
	UNSTABLE_UNCALIBRATED,
	UNSTABLE_BY_BOOT, /* the kernel command line demands it */
	UNSTABLE_OTHERWISE,
};

/* One side of a check: a counter's two readings, and the time they make. */
struct watchdog_counter {
	char name[CLOCKSOURCE_NAME_SIZE];
	bool read; /* now, last, mask and ticks are known */
	uint64_t now, last, mask;
	uint64_t ticks; /* counted from last to now */
	bool logged;    /* the kernel logged the interval itself */
	double seconds; /* the interval, as the kernel or the rate has it; negative: unknown */
};

struct watchdog_report {
	struct watchdog_counter reference, tsc;
	enum watchdog_culprit culprit;
	bool wrapped;        /* the reference did */
	unsigned wraps;      /* how often; 0: past half of its range, which counts as none */
	double true_seconds; /* the interval that both agree on then */
	const struct kernel_log_line *line; /* with the TSC's readings */
};

/*
 * The rates of the TSC in MHz where the kernel, booted with tsc=recalibrate, logged that the stated
 * one is wrong; 0: it did not.
 */
struct tsc_rates {
	double stated, measured;
};

struct tsc_rates tsc_rates_find(const struct evidence *evidence);

/*
 * The same where the watchdog's figures show that tsc_early_khz= of the kernel command line, which
 * was in use, is wrong.
 */
struct tsc_rates boot_rates_find(
	const struct evidence *evidence, const struct watchdog_report *report);

/*
 * Returns the last rate that the kernel calibrated and logged, or the one in the CPU's brand, and
 * the share by which it may be wrong; 0: neither is known.
 */
double tsc_find_hz(const struct evidence *evidence, double *error);

/*
 * Parses the first report on the TSC in the log and names the likely culprit: undetermined, without
 * a line, if no report has figures. The report refers to the evidence's log.
 */
struct watchdog_report watchdog_explain(const struct evidence *evidence);

/* Returns what the kernel's own words for its reason mean; NULL: it did not say. */
enum unstable_reason unstable_read(const char *words);

/*
 * A host as the rules see it. A member is a condition that several rules use; one that matters to a
 * single table is a question there. A line is one of the kernel log, or NULL. The members stand in
 * the order in which view.c sets them, each once: up to the verdict in view_of(), the rest, which
 * follows from it, in view_follow().
 */
struct view {
	const struct evidence *evidence;
	bool captured;               /* from a tree: nothing was measured */
	struct entry_counts decided; /* the deciding calls, each by the path it is judged by */
	struct entry_counts vdso;    /* the same by the vDSO's functions */
	struct entry_counts libc;    /* the same through libc */
	/* Times in ns; NAN, which is neither more nor less than another, where not measured. */
	double monotonic_ns[PATH_COUNT]; /* the least of clock_gettime(CLOCK_MONOTONIC) by each path
	                                  */
	double counter_ns;               /* a read of the CPU's counter */
	double syscall_ns;               /* the cheapest system call */

	/* The host and this process. */
	bool guest;
	bool on_dom0;   /* Xen's, which is the machine's: Xen itself is below it */
	bool machine;   /* not a guest; both are false where nothing shows which it is */
	bool is_rented; /* a cloud's machine without a hypervisor: its firmware is not the user's */
	const char *move; /* a shell line that moves this guest to another host, or NULL */
	bool ec2_xen;
	bool on_ec2;
	bool gvisor;
	bool emulated;
	bool on_x86;
	bool on_powerpc;
	bool on_tcg;                /* QEMU emulates this guest's CPUs */
	bool may_be_restored;       /* from snapshots, as a matter of course */
	bool cpu_32_bit;            /* it does not run 64-bit kernels */
	bool crashes;               /* a deciding call ends with a signal */
	bool proven;                /* all deciding calls were made under the proof */
	bool all_enter;             /* in the proof, each of them in each attempt */
	bool some_enter;            /* at least one of them did */
	bool vdso_enters;           /* each call of the vDSO's functions entered the kernel */
	bool vdso_serves;           /* none did, and none failed */
	bool counter_off;           /* for this process: reading it raises a signal */
	bool counter_trapped;       /* each read of it is intercepted or emulated */
	bool counter_gains_nothing; /* on a copy of the vDSO it takes about as long as now */
	bool entered_yet_fast;      /* each call entered the kernel, in less time than that takes */
	bool reads_hyperv_page;     /* this kernel's vDSO can, as far as is known */
	bool kvm_clock_32_bit;      /* this kernel has no vDSO support for kvm-clock */

	/* The kernel command line. */
	bool boot_disables_vdso;
	bool boot_disables_kvm_clock;
	bool boot_disables_kvm_vdso; /* the vDSO's support for kvm-clock */
	bool boot_chose_current;     /* the name of the current clocksource */

	/* The vDSO and the clocksource in use. */
	bool no_vdso;
	bool vdso_replaced; /* by a tool, for this process: the clocksource decides nothing */
	bool clocksource_known;
	bool name_has_no_mode; /* no kernel gives the current clocksource a clock mode */
	bool on_xen;
	bool on_kvm_clock;
	bool on_hyperv_page;
	/* The architecture and the release decide these, for a captured tree. */
	bool vdso_without_clock; /* the vDSO has no function that reads a clock */
	bool may_read_hpet;      /* it may, on hpet: as slow as a system call, then */
	const struct kernel_log_line *xen_refused;     /* why it cannot read Xen's page */
	const struct kernel_log_line *vdso_disabled;   /* why the vDSO does not support it */
	const struct kernel_log_line *counter_erratum; /* arm64's vDSO may not read the counter */
	bool mode_none;             /* found in the data page, or by its effect on a copy */
	bool mode_set;              /* a mode was read from the data page, and it is not none */
	bool page_stable;           /* the pvclock page marks the TSC stable, and there is a mode */
	bool page_unstable;         /* the pvclock page does not mark the TSC stable */
	enum verdict_kind expected; /* as in struct verdict */

	/* The TSC, and what the kernel log has against it. */
	const struct kernel_log_line *tsc_marking; /* with the reason */
	const char *unstable_words; /* why the kernel marked it unstable; NULL if unsaid */
	enum unstable_reason unstable_reason;
	bool boot_disables_tsc;
	bool tsc_offered;
	bool tsc_rated_unstable; /* offered, but ranked behind slower clocksources */
	const struct kernel_log_line *tsc_distrust;
	bool tsc_distrusted; /* tsc_rated_unstable, or the log has tsc_distrust */
	const struct kernel_log_line *tsc_delay;        /* of the reads of its reference clock */
	const struct kernel_log_line *tsc_uncalibrated; /* why it is not offered */
	const struct kernel_log_line *tsc_warp;         /* by the kernel's test of the CPUs */
	const struct kernel_log_line *tsc_in_use;       /* the switch to it */
	const struct kernel_log_line *tsc_written;      /* by firmware: the kernel corrected it */
	bool tsc_unsynchronized;
	bool tsc_varies;                 /* its rate is not constant */
	bool tsc_invariant;              /* as in tsc_is_invariant() */
	struct watchdog_report watchdog; /* undetermined without figures */
	struct tsc_rates tsc_rates;
	bool rate_misstated; /* by CPUID or the firmware: the kernel measured another one */
	struct tsc_rates boot_rates;
	bool boot_rate_wrong; /* that by tsc_early_khz= */
	/* It was dropped as tsc-early, which this kernel checks whatever tsc= says. */
	bool tsc_early_unprotected;
	bool knows_nowatchdog; /* tsc=nowatchdog, which keeps the kernel from dropping it */
	/* These are set while it is not in use. */
	bool tsc_suspect;     /* found faulty, or dropped, and the log does not clear it */
	bool tsc_unexplained; /* not offered, and nothing says why */

	enum verdict_kind verdict; /* by verdict_find() */

	bool fallback;         /* this is the verdict, or the one to expect */
	bool firmware_counter; /* riscv without a time register; the verdict is slow */
	bool falls_back; /* the kernel's vDSO is there and made system calls, or is expected to */
	/*
	 * The calls fall back on a clocksource that no kernel gives a clock mode, by its name, or
	 * that has none by the data page and gets none from any kernel known here. For a captured
	 * tree the name alone decides.
	 */
	bool unsupported;
	/* unsupported, or on hpet, on x86, where the kernel should prefer the TSC */
	bool unsupported_on_x86;
	bool tsc_avoided;       /* unsupported_on_x86, by the kernel command line */
	bool boot_choice_slows; /* without boot_chose_current the kernel may choose a faster one */
	/* The kernel used the TSC, and a hypervisor's clock now, which falls back or may do so. */
	bool tsc_lost;
	bool tsc_wanted;  /* unsupported_on_x86 or tsc_lost: why is it not in use? */
	bool tsc_missing; /* tsc_wanted, and not in the list of clocksources */
	/* The kernel command line leaves no clock to calibrate the TSC by, or to check it with. */
	bool clocks_disabled;
	/* The switch to a clock of the hypervisor's that the kernel does not offer any more. */
	const struct kernel_log_line *removed_clock;
	bool lacks_driver;   /* of its hypervisor, which the kernel seems not to know */
	bool wants_provider; /* a guest of VirtualBox without a clock of its hypervisor's */
	bool has_host;       /* a guest whose TSC is the host's, and may be mended there */
	/* Clocksources that may be recommended where the calls fall back; NULL: none. */
	const char *own_counter; /* the counter that the kernel would choose by itself, but tsc */
	const char *paravirtual;
	const char *why_not_tsc; /* reason against a TSC that is offered; or NULL */
	bool tsc_advisable;
	bool has_switch;        /* one of the three may be recommended */
	bool switch_drops_boot; /* to make that last, boot parameters are removed */
};

struct view view_of(const struct evidence *evidence);

/* Needs the verdict. */
void view_follow(struct view *v);

/* True if there is a hypervisor below this host, by its files, its log or its clocks. */
bool host_is_guest(const struct evidence *evidence);

bool platform_is(const struct evidence *evidence, const char *word);
bool hypervisor_is(const struct evidence *evidence, const char *word);

/* True if the clock mode has this name. */
bool mode_is(const struct evidence *evidence, const char *word);

/* True if the kernel offers this clocksource, by its whole name: `tsc` is not `tsc-early`. */
bool clocksource_is_offered(const struct evidence *evidence, const char *name);

/* True if it is known not to. */
bool clocksource_is_missing(const struct evidence *evidence, const char *name);

/* True if the kernel offers this clocksource, and is known to use another. */
bool clocksource_is_other(const struct evidence *evidence, const char *name);

/* ---- boot.c: the parameters as the kernel matches them ---- */

/* True if the kernel was booted with this parameter: "notsc", or "tsc=unstable" with its value. */
bool boot_has(const struct evidence *evidence, const char *parameter);

/* Copies the name of the clocksource that the command line chooses; false if it chooses none. */
bool boot_find_choice(const struct evidence *evidence, char name[CLOCKSOURCE_NAME_SIZE]);

/* True if it chooses this one. */
bool boot_chooses(const struct evidence *evidence, const char *name);

/* Returns the TSC's rate in MHz by tsc_early_khz=, or 0. */
double boot_tsc_mhz(const struct evidence *evidence);

/* The things that a boot parameter takes away. */
enum boot_effect {
	BOOT_TSC,
	BOOT_REFERENCE, /* the clocks to calibrate the TSC by and to check it with */
	BOOT_VDSO,
	BOOT_KVM_CLOCK,
	BOOT_HYPERVISOR, /* the clocks of every hypervisor, and of Xen */
	BOOT_XEN,
	BOOT_KVM_VDSO, /* the vDSO's support for kvm-clock */
};

/* True if one on the command line takes this away. */
bool boot_takes(const struct evidence *evidence, enum boot_effect effect);

/* Lists, between blanks, the parameters that keep the kernel or the vDSO from a better clock. */
void boot_list_removable(const struct view *v, char *list, size_t size);

/* Returns the first line of the kernel log that holds this text, or NULL. */
const struct kernel_log_line *log_find(const struct evidence *evidence, const char *text);

bool log_has(const struct evidence *evidence, const char *text);

/* Returns the next such line after this one, or NULL. */
const struct kernel_log_line *log_find_after(
	const struct evidence *evidence, const struct kernel_log_line *line, const char *text);

/* Returns the first line with the earliest of these texts that occurs, or NULL. */
#define LOG_FIRST(evidence, ...) log_find_first(evidence, (const char *const[]){__VA_ARGS__, NULL})
const struct kernel_log_line *log_find_first(
	const struct evidence *evidence, const char *const *texts);

/* True if a line shows that the kernel was built with CONFIG_KVM_GUEST. */
bool log_shows_kvm_guest(const struct evidence *evidence);

/* Returns the name of the clocksource to which the kernel switched by this line, "" for none. */
const char *log_switched_to(const struct kernel_log_line *line);

/* Returns the next such line after this one, the first for NULL; or NULL. */
const struct kernel_log_line *log_find_switch(
	const struct evidence *evidence, const struct kernel_log_line *after);

/* True if the log reaches from the first second of the boot on. */
bool log_has_beginning(const struct view *v);

/* True if the kernel's release is known and older than this one, "4.15". */
bool kernel_is_before(const struct evidence *evidence, const char *release);

/* True if it is known to be this stable release, "6.1.78", or a later one of "6.1". */
bool kernel_is_patched(const struct evidence *evidence, const char *wanted);

/* True if the kernel's architecture is known and its name begins with this. */
bool arch_starts(const struct evidence *evidence, const char *beginning);

/* True if the vDSO of this kernel is known to have no function that reads a clock. */
bool kernel_vdso_has_no_clock(const struct evidence *evidence);

/* True if this kernel's vDSO can read Hyper-V's page, as far as is known. */
bool kernel_reads_hyperv_page(const struct evidence *evidence);

/* True if it is a count of timer interrupts, which fails where some are lost. */
bool clocksource_counts_ticks(const char *clocksource);

/* True if it is the clock of a hypervisor: a guest alone has one, and Xen's dom0. */
bool clocksource_is_hypervisors(const char *clocksource);

/* Returns its rate; 0: that differs by machine, or is not known. */
double clocksource_hz(const char *clocksource);

/* True if some kernel gives a clocksource of this name a clock mode. */
bool vclock_name_has_mode(const char *clocksource);

/* True if it is the counter that kernels of an architecture choose by default; tsc is one. */
bool clocksource_is_own_counter(const char *clocksource);

/*
 * Returns why switching this host to the clocksource cannot be recommended: a clause that follows
 * "because". NULL: the kernel offers it, its vDSO can read it, and nothing in the evidence is
 * against it. Whether it is in use already, and whether it would be faster, is for the caller to
 * say.
 */
const char *reason_against(const struct view *v, const char *name);

/* Finds the clocksources that the kernel offers beside the one in use, and returns how many. */
size_t other_clocksources_find(
	const struct view *v, struct other_clocksource others[CLOCKSOURCE_MAX]);

#endif
