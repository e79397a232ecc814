/* SPDX-License-Identifier: MIT */
/*
 * The tables of verdicts, contradictions, causes and advice, and the one vocabulary in which their
 * conditions are written: the members of struct view, and the questions below it that take an
 * argument. A table is made for the host of a view, so that a row states its condition as an
 * expression; a test can list the rows of all.
 */
#ifndef VDSOCHECK_JUDGE_RULES_H
#define VDSOCHECK_JUDGE_RULES_H

#include "judge.h"

/*
 * The kernel's clocksource watchdog compares the TSC with a reference clock twice a second
 * and drops the TSC where the two disagree. It measures a disagreement, not a fault of the
 * TSC: the lines it logs hold the figures to work out which of the two was wrong.
 */
enum watchdog_culprit {
	WATCHDOG_UNDETERMINED, /* the figures do not decide */
	WATCHDOG_WRAPPED,      /* the watchdog ran late and the reference wrapped around */
	WATCHDOG_STOPPED,      /* the reference did not count, or not all the time */
	WATCHDOG_MISREAD,      /* the reference was read as all ones */
	WATCHDOG_LOST_TICKS,   /* the reference is counted by timer interrupts; some were lost */
	WATCHDOG_LATE,         /* a check so late that its limit, meant for 0.5 s, is too tight */
	WATCHDOG_PAUSED,       /* the guest was paused, and one clock did not count it */
	WATCHDOG_MOVED,        /* the guest runs on a TSC of another rate now, or was paused */
	WATCHDOG_DELAYED_READ, /* a difference that a delayed read explains */
	WATCHDOG_TSC_JUMPED,   /* the TSC was reset or written */
	WATCHDOG_TSC_SLOW,     /* the TSC counted too little, or stood still */
	WATCHDOG_TSC_SKEWED,   /* the two run at different rates */
};

/* Why the kernel marked the TSC unstable, as it says itself (cause_unstable.c has the words). */
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
	unsigned wraps; /* WRAPPED: how often; 0: past half of its range, which counts as none */
	double true_seconds;                /* WRAPPED: the interval that both agree on */
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
 * Parses the first report on the TSC in the log and names the likely culprit. False if no report
 * has figures. The report refers to the evidence's log.
 */
bool watchdog_explain(const struct evidence *evidence, struct watchdog_report *report);

/* Finds the reason and returns its words in the log, or NULL. */
const char *unstable_find(const struct evidence *evidence, enum unstable_reason *reason);

/*
 * A host as the rules see it. A member is a condition that several rules use; one that matters to a
 * single table is an expression there. A line is one of the kernel log, or NULL. It is made in two
 * phases: view_of() finds the facts, and view_follow() what follows from them and the verdict.
 */
struct view {
	const struct evidence *evidence;
	struct entry_counts decided; /* the deciding calls, each by the path it is judged by */
	struct entry_counts vdso;    /* the same by the vDSO's functions */
	struct entry_counts libc;    /* the same through libc */
	/* clock_gettime(CLOCK_MONOTONIC) by each path; NULL where it was not timed. */
	const struct path_evidence *monotonic[PATH_COUNT];
	enum verdict_kind expected; /* as in struct verdict */

	/* The host and this process. */
	bool guest, ec2_xen, gvisor, emulated, on_powerpc;
	bool on_tcg;                /* QEMU emulates this guest's CPUs */
	bool may_be_restored;       /* from snapshots, as a matter of course */
	bool counter_off;           /* for this process: reading it raises a signal */
	bool counter_trapped;       /* each read of it is intercepted or emulated */
	bool entered_yet_fast;      /* each call entered the kernel, in less time than that takes */
	bool counter_gains_nothing; /* on a copy of the vDSO it takes about as long as now */
	bool reads_hyperv_page;     /* this kernel's vDSO can, as far as is known */
	bool kvm_clock_32_bit;      /* this kernel has no vDSO support for kvm-clock */

	/* The kernel command line. */
	bool boot_disables_vdso, boot_disables_tsc;
	bool boot_chose_current; /* clocksource= with the name of the current one */

	/* The vDSO and the clocksource in use. */
	bool no_vdso;
	bool vdso_replaced; /* by a tool, for this process: the clocksource decides nothing */
	bool on_xen, on_kvm_clock, on_hyperv_page;
	const struct kernel_log_line *counter_erratum; /* arm64's vDSO may not read the counter */
	const struct kernel_log_line *xen_refused;     /* by which Xen's page is of no use to it */
	const struct kernel_log_line *vdso_disabled;   /* by which the kernel's vDSO refuses it */
	bool mode_none;     /* found in the data page, or by its effect on a copy */
	bool mode_set;      /* a mode was read from the data page, and it is not none */
	bool page_stable;   /* the pvclock page marks the TSC stable, and there is a mode */
	bool page_unstable; /* the pvclock page does not mark the TSC stable */
	/* Of a captured tree, by the architecture and the release. */
	bool vdso_without_clock; /* the vDSO has no function that reads a clock */
	bool may_read_hpet;      /* it may, on hpet: as slow as a system call, then */

	/* The TSC, and what the kernel log has against it. */
	bool tsc_offered;
	bool tsc_rated_unstable; /* offered, but ranked behind slower clocksources */
	bool tsc_distrusted;     /* tsc_rated_unstable, or the log has tsc_distrust */
	const struct kernel_log_line *tsc_distrust;
	const struct kernel_log_line *tsc_delay;        /* of the reads of its reference clock */
	const struct kernel_log_line *tsc_uncalibrated; /* why it is not offered */
	bool tsc_unsynchronized;
	bool tsc_varies; /* its rate is not constant */
	/* It was dropped as tsc-early, which this kernel checks whatever tsc= says. */
	bool tsc_early_unprotected;
	enum unstable_reason unstable_reason;
	const char *unstable_words;      /* the kernel's own for it; NULL if unsaid */
	struct watchdog_report watchdog; /* undetermined without figures */
	struct tsc_rates tsc_rates;

	/* ---- set by verdict_find() ---- */
	enum verdict_kind verdict;

	/* ---- filled by view_follow() ---- */
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
	const struct kernel_log_line
		*removed_clock; /* of the hypervisor, was in use, not offered */
	bool lacks_driver; /* Hyper-V's, Xen's or VMware's, which the kernel seems not to know */
	/* Clocksources that may be recommended where the calls fall back; NULL: none. */
	const char *paravirtual;
	bool tsc_advisable;
	const char *own_counter; /* the counter that the kernel would choose by itself, but tsc */
	bool has_switch;         /* one of the three */
	const char *why_not_tsc; /* reason against a TSC that is offered; or NULL */
};

struct view view_of(const struct evidence *evidence);

/* Needs the verdict. */
void view_follow(struct view *v);

/* Returns the verdict to expect where nothing was measured; needs the other facts of the view. */
enum verdict_kind verdict_expected(const struct view *v);

/* Decides, and sets the view's verdict. */
void verdict_find(struct view *v, struct verdict *verdict);

bool platform_is(const struct evidence *evidence, const char *word);
bool hypervisor_is(const struct evidence *evidence, const char *word);

/* True if the kernel offers this clocksource, by its whole name: `tsc` is not `tsc-early`. */
bool clocksource_is_offered(const struct evidence *evidence, const char *name);

/* True if the kernel offers this clocksource, and is known to use another. */
bool clocksource_is_other(const struct evidence *evidence, const char *name);

/* True if the kernel was booted with this parameter: "notsc", or "tsc=unstable" with its value. */
bool boot_has(const struct evidence *evidence, const char *parameter);

/* Copies the last value of "KEY=" on the kernel command line; false if there is none. */
bool boot_find(const struct evidence *evidence, const char *key, char *value, size_t size);

/* Returns the first line of the kernel log that holds this text, or NULL. */
const struct kernel_log_line *log_find(const struct evidence *evidence, const char *text);

/* Returns the first line with the earliest of these texts that occurs, or NULL. */
const struct kernel_log_line *log_find_first(
	const struct evidence *evidence, const char *const *texts, size_t count);

/* Finds the first switch to tsc, and not to tsc-early, or NULL. */
const struct kernel_log_line *log_find_tsc_in_use(const struct evidence *evidence);

/* Returns the next such line after this one, or NULL. */
const struct kernel_log_line *log_find_after(
	const struct evidence *evidence, const struct kernel_log_line *line, const char *text);

/* Returns the name of the clocksource to which the kernel switched by this line, or NULL. */
const char *log_switched_to(const struct kernel_log_line *line);

/* Returns the next such line after this one, the first for NULL; or NULL. */
const struct kernel_log_line *log_find_switch(
	const struct evidence *evidence, const struct kernel_log_line *after);

/*
 * True if the log has a line that every boot logs. Without one its beginning is lost, or its lines
 * were not recognized, and the absence of another line proves nothing.
 */
bool log_has_boot(const struct evidence *evidence);

/* True if the kernel's release is known and older than major.minor. */
bool kernel_is_before(const struct evidence *evidence, unsigned major, unsigned minor);

/*
 * True if it is known to be a stable release of major.minor with this patch level or a later one.
 */
bool kernel_is_patched(
	const struct evidence *evidence, unsigned major, unsigned minor, unsigned patch);

/* True for a kernel of RHEL 8, which has backports. */
bool kernel_is_rhel_8(const struct evidence *evidence);

/* True if the kernel's architecture is known and its name begins with this. */
bool arch_starts(const struct evidence *evidence, const char *beginning);

/* True if the vDSO of this kernel is known to have no function that reads a clock. */
bool kernel_vdso_has_no_clock(const struct evidence *evidence);

/* True if this kernel's vDSO can read Hyper-V's page, as far as is known. */
bool kernel_reads_hyperv_page(const struct evidence *evidence);

/* True if some kernel gives a clocksource of this name a clock mode. */
bool vclock_name_has_mode(const char *clocksource);

/* True if it is the counter that kernels of an architecture choose by default; tsc is one. */
bool clocksource_is_own_counter(const char *clocksource);

/* Finds the counter's standing; lines of the log count only while it is not in use. */
enum counter_standing counter_standing_find(const struct view *v);

void counter_find(const struct view *v, struct counter_judgment *judgment);

/* Returns why this clocksource may not be recommended (see advisable_why_not()), or NULL. */
const char *reason_against(const struct view *v, const char *name);

/*
 * Finds the clocksources that the kernel offers beside the one in use. Returns how many there are.
 */
size_t other_clocksources_find(
	const struct view *v, struct other_clocksource others[CLOCKSOURCE_MAX]);

struct verdict_row {
	const char *id;
	bool applies;
	enum verdict_kind kind;
	unsigned rests_on;    /* bits of enum evidence_kind */
	const char *sentence; /* the summary; NULL: `write` makes it */
	void (*write)(const struct view *v, char *summary, size_t size);
};

#define VERDICT_ROWS 16

/* Lists all rules: the first that applies decides, and the last always does. */
void verdict_list(const struct view *v, struct verdict_row rows[VERDICT_ROWS]);

struct contradiction_row {
	const char *id;
	bool applies;
	bool may_be_a_change; /* it may be a change of clocksource between two readings */
	const char *text;
};

#define CONTRADICTION_ROWS 7

/* Lists all contradictions, with whether the evidence has them. */
void contradiction_list(const struct view *v, struct contradiction_row rows[CONTRADICTION_ROWS]);

/* Writes those that apply, at most CONTRADICTION_MAX, and returns how many. */
size_t contradiction_find(const struct view *v, struct contradiction found[CONTRADICTION_MAX]);

/*
 * Words in braces are replaced: {to} is the clocksource that the advice leads to, {from} the
 * current one, {boot} the boot parameters to add or to remove. A step or an undo that needs a word
 * that is not known, or is not plain for a shell, is left out.
 */
struct step_row {
	const char *text;       /* stands before the command; without one, what to do */
	const char *command;    /* a shell line; NULL: none */
	const char *undo;       /* a shell line that takes it back; NULL: needs none */
	const struct way *ways; /* that of this host replaces the rest, where it is known */
	bool needs_way;         /* leaves the advice out where it is not */
};

/* How a step is taken on some hosts. A list of them ends without `where`. */
struct way {
	const char *where; /* a word of host.platform or of host.boot_tool */
	const char *label; /* those hosts by name */
	struct step_row step;
};

/* The ways to change the kernel command line, and to stop a cloud's guest and start it again. */
extern const struct way advice_add_boot[], advice_remove_boot[], advice_moves[];

/* A sentence for kernels before major.minor alone, such as on a parameter that they ignore. */
struct remark {
	unsigned major, minor;
	bool (*applies)(const struct view *v); /* a further condition; NULL: none */
	const char *text;
};

/* Pieces of advice are sorted by it, the least effort first. */
enum rank {
	RANK_SWITCH,  /* select another clocksource, without a reboot */
	RANK_UNDO,    /* remove a setting, and reboot */
	RANK_LOOK,    /* run vdsocheck again, where or when it can see more */
	RANK_UPDATE,  /* another kernel, firmware, machine */
	RANK_ASK,     /* open a ticket */
	RANK_PROGRAM, /* change this program, or what started it */
	RANK_PROOF,   /* let vdsocheck take its proof */
};

#define REMARK_MAX 2

/* The place where advice is followed: a container's text begins with "On the host" for that. */
enum where {
	WHERE_BY_RANK, /* of a row: as its rank has it */
	HERE,
	ON_HOST,
};

struct advice_row {
	const char *id;
	enum rank rank;
	enum actor actor;                            /* in place of the rank's */
	bool irreversible;                           /* as opposed to struct advice */
	const char *text;                            /* sentence or two that say what to do */
	enum where where;                            /* the same */
	const char *to;                              /* {to} on any host; or NULL */
	const char *(*target)(const struct view *v); /* finds {to}; NULL: does not apply */
	/* The first kernel on which it helps, or 0.0. On an older one it says so and comes last. */
	struct {
		unsigned major, minor;
	} since;
	struct remark remarks[REMARK_MAX];
	struct step_row steps[ADVICE_STEP_MAX]; /* all of them, in this order */
	const char *boot; /* the boot parameter that makes it last; NULL: none does */
	/*
	 * A sentence on adding it, which is left out where that would change nothing or harm; NULL:
	 * the text has it, and without steps the whole piece is left out.
	 */
	const char *boot_text;
	bool (*boot_helps)(const struct view *v); /* a condition for adding it; NULL: none */
	const char *ask, *risk, *source;          /* as in struct advice */
	/* These find a risk or a question that differs by host; NULL: it has the row's. */
	const char *(*find_risk)(const struct view *v);
	const char *(*find_ask)(const struct view *v);
};

/* The half of a cause that is the same on all hosts. It is what the manual has. */
struct cause_row {
	const char *id;
	enum cause_group group;
	const char *text;  /* sentence or two; has {from} and {when}, the time of the case's line */
	const char *signs; /* how it is recognized; NULL: `detail` has it */
	enum certainty certainty;
	void (*evidence)(const struct view *v, struct cause *cause); /* cites it; or NULL */
	const char *detail; /* a piece of evidence, after the others; or NULL */
	bool with_switch;   /* cites the switch to another clocksource after the case's line */
	bool follows;       /* as in struct cause, where others are before it */
	const char *more;
	/* NULL: no more. One whose place differs by host is there twice. */
	const struct advice_row *advice[CAUSE_ADVICE_MAX];
};

/* The half that is made for the host of a view. */
struct cause_case {
	const struct cause_row *row;
	bool applies;
	bool proven;                        /* here, in place of the row's certainty */
	const char *text;                   /* in place of the row's, as with figures; or NULL */
	const char *detail;                 /* the same */
	const struct kernel_log_line *line; /* the last piece of evidence; or NULL */
	const bool *fits;                   /* which of the row's advice does; NULL: all */
};

/* The member `fits` of a case, a condition for each piece of the row's advice. */
#define FITS(...)                                                                                  \
	.fits = (const bool[CAUSE_ADVICE_MAX])                                                     \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

/* The causes that apply to a host. */
struct cause_list {
	size_t count;
	struct cause *causes;
	size_t advice_count;
	const struct advice_row *advice[CAUSE_MAX * CAUSE_ADVICE_MAX]; /* what fits this host */
	bool explained; /* one of them says why the calls are slow */
};

/* Adds the causes of those cases that apply. */
void cause_add(struct cause_list *list, const struct view *v, const struct cause_case *cases,
	size_t count);

/*
 * The tables: rows, ended by NULL, and the function that adds those that apply. A cause is in the
 * file that names where it lies: the process, the vDSO, the clocksource in use (slow, or a
 * hypervisor's), the kernel's decision for it (selected) or against the TSC (unstable by the
 * kernel's own words, watchdog by its figures, tsc otherwise).
 */
typedef const struct cause_row *const cause_rows[];
extern cause_rows rows_process, rows_vdso, rows_current, rows_xen, rows_pvclock, rows_hyperv,
	rows_slow, rows_selected, rows_unstable, rows_tsc, rows_watchdog, rows_unused,
	rows_without_vdso, rows_unread, rows_notes;

typedef void cause_table(const struct view *v, struct cause_list *list);
cause_table cause_process, cause_vdso, cause_current, cause_xen, cause_pvclock, cause_hyperv,
	cause_slow, cause_selected, cause_unstable, cause_tsc, cause_watchdog, cause_unused,
	cause_without_vdso, cause_unread, cause_notes;

/* Returns the row in this place of all tables, in the order in which causes are printed; or NULL.
 */
const struct cause_row *cause_row_at(size_t place);

/* Advice of several causes. */
extern const struct advice_row advice_drop_boot, advice_drop_tsc_boot, advice_move,
	advice_update_firmware, advice_ask_about_unstable_tsc, advice_find_which_clock,
	advice_ask_which_clock, advice_ask_for_invariant_tsc, advice_ask_hyperv_for_tsc,
	advice_restart_for_tsc, advice_send_report, advice_switch_to_own_counter;

/* The step that switches to {to}, after a guard that ends with "&&", or none. */
#define SWITCH_STEP(guard)                                                                         \
	.command = guard "echo {to} | sudo tee " CLOCKSOURCE_CURRENT,                              \
	.undo = "echo {from} | sudo tee " CLOCKSOURCE_CURRENT

/*
 * The advice of a cause in the boot parameters; some of them are there against the TSC. A switch
 * away from a clocksource that they name has the removal in its `keep`.
 */
#define DROPS_BOOT .advice = {&advice_drop_tsc_boot, &advice_drop_boot}
#define FITS_BOOT(v)                                                                               \
	FITS((v)->tsc_avoided && !((v)->has_switch && (v)->boot_choice_slows),                     \
		!(v)->tsc_avoided && !((v)->has_switch && (v)->boot_choice_slows))

/* True if tsc=nowatchdog would keep the kernel from dropping this TSC, which has one rate. */
bool nowatchdog_helps(const struct view *v);

/* True if it would, and this kernel does not know it. */
bool nowatchdog_is_missed(const struct view *v);

/* The members of advice to add tsc=nowatchdog, and the remark for kernels that lack it. */
#define NOWATCHDOG .boot = "tsc=nowatchdog", .boot_helps = nowatchdog_helps
#define NOWATCHDOG_REMARK                                                                          \
	5, 2, nowatchdog_is_missed,                                                                \
		"tsc=nowatchdog, which keeps it, needs Linux 5.2 or newer, or a backport."

/* The local disks are instance store on EC2, local SSD on Google Cloud, temporary disk on Azure. */
#define MOVE_RISK "In a cloud, this may erase local disks (instance store, local SSD)."

/* All CPUs of a machine are started by then. */
#define BOOTED_S 60

/* Ends the text of a cause that is a fault of the TSC. */
#define TSC_READERS_AFFECTED " Programs that read the TSC themselves are affected, too."

/* Pages to read on. */
#define BOOT_PARAMETERS "https://docs.kernel.org/admin-guide/kernel-parameters.html"
#define HYPERV_CLOCKS "https://docs.kernel.org/virt/hyperv/clocks.html"

/* Finds the causes that apply, and the advice of each. */
void cause_find(const struct view *v, struct cause causes[CAUSE_MAX], struct cause_list *list);

/* Makes the advice of these causes, and that of no cause, sorted by rank. Returns how many. */
size_t advice_find(
	const struct view *v, const struct cause_list *causes, struct advice advice[ADVICE_MAX]);

/*
 * Returns false where a word that the advice needs, or the only way to take a step, is not known.
 * Without a view the advice is for any host: words in capitals take the place of such words, and
 * such a step is left out.
 */
bool advice_make(const struct view *v, const struct advice_row *row, struct advice *advice);

/* A word in braces and what it stands for; NULL: that is not known. */
struct word {
	const char *name, *value;
};

/* Fills in all words of the text. False: the value of one is not known, or it is too long. */
bool words_fill(const char *text, const struct word *words, char *filled, size_t size);

/* The advice that is tied to no cause. */
#define ADVICE_GENERAL 7
extern const struct advice_row *const advice_general[ADVICE_GENERAL];

/* Finds the cost; none is known where the verdict is unknown or wrong. */
void cost_find(const struct view *v, struct cost *cost);

/* Adds a piece of evidence, printf-like; beyond CAUSE_EVIDENCE_MAX it is dropped. */
void cite(struct cause *cause, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Quotes a line of the kernel log with its time; NULL adds nothing. */
void cite_line(const struct view *v, struct cause *cause, const struct kernel_log_line *line);

/* True if the stamps began to count anew before this line. */
bool log_is_after_resume(const struct view *v, const struct kernel_log_line *line);

/* Writes the time of a line with a stamp: "0.5 s after boot", or "after a resume"; returns it. */
#define LOG_TIME_SIZE 48
char *log_time(const struct view *v, const struct kernel_log_line *line, char text[LOG_TIME_SIZE]);

/* Quotes the switch to another clocksource that followed the line. */
void cite_switch_after(
	const struct view *v, struct cause *cause, const struct kernel_log_line *line);

/* Cites the available clocksources in the kernel's order, by rating. */
void cite_available(const struct view *v, struct cause *cause);

/* Cites clocksource, clock mode and hypervisor's page; cite_kernel() adds the kernel's release. */
void cite_mode(const struct view *v, struct cause *cause);
void cite_kernel(const struct view *v, struct cause *cause);

/* Cites the boot parameters, and the time of a read of the counter. */
void cite_boot(const struct view *v, struct cause *cause);
void cite_counter(const struct view *v, struct cause *cause);

#endif
