/* SPDX-License-Identifier: MIT */
/*
 * What the tables of verdicts, contradictions, causes and advice consist of, and the questions to
 * the evidence that their rules ask. A cause row owns its certainty and its advice; rows are
 * constant data, so that a test can list them.
 */
#ifndef VDSOCHECK_JUDGE_RULES_H
#define VDSOCHECK_JUDGE_RULES_H

#include "judge.h"
#include "watchdog.h"

/* Questions to the evidence, in the words that the rules use (query.c). */

/* The kernel offers this clocksource: whole names, `tsc` is not `tsc-early`. */
bool clocksource_is_offered(const struct evidence *evidence, const char *name);

/* The kernel offers this clocksource, and is known to use another. */
bool clocksource_is_another(const struct evidence *evidence, const char *name);

/* The data page was read and says that there is no clock mode. */
bool vclock_is_none(const struct evidence *evidence);

/* True if the copy of the vDSO shows that the CPU's counter would take about as long as now. */
bool counter_gains_nothing(const struct evidence *evidence);

/* Booted with this parameter: "notsc", or "tsc=unstable" with its value; with one of these. */
bool boot_has(const struct evidence *evidence, const char *parameter);
bool boot_disables_tsc(const struct evidence *evidence);

/* Booted with clocksource= and the name of the current one. */
bool boot_chose_current(const struct evidence *evidence);

/* The first line of the kernel log that holds this text; NULL if none does, or none was read. */
const struct kernel_log_line *log_find(const struct evidence *evidence, const char *text);

/* The same among the lines after this one. */
const struct kernel_log_line *log_find_after(
	const struct evidence *evidence, const struct kernel_log_line *line, const char *text);

/* The call of this clock by this path, where it was timed; else NULL. */
const struct path_evidence *timed_path(
	const struct evidence *evidence, const char *clock, enum call_path path);

/* The kernel's release is known and older than major.minor. */
bool kernel_is_before(const struct evidence *evidence, unsigned major, unsigned minor);

/* It is known to be a stable release of major.minor with this patch level or a later one. */
bool kernel_is_patched(
	const struct evidence *evidence, unsigned major, unsigned minor, unsigned patch);

/* The kernel is known to list this flag of the TSC in /proc/cpuinfo. */
bool tsc_has_flag(const struct evidence *evidence, const char *flag);

/* The TSC is invariant, and has a register that shows if it was written. */
bool tsc_has_adjust(const struct evidence *evidence);

/* The kernel offers tsc, but ranks it behind slower clocksources: it has marked it unstable. */
bool tsc_is_rated_unstable(const struct evidence *evidence);

/* The vDSO of this kernel can read Hyper-V's reference TSC page, as far as is known. */
bool kernel_reads_hyperv_page(const struct evidence *evidence);

/* The platform is known to be this. */
bool platform_is(const struct evidence *evidence, const char *word);

/* arch/x86/kernel/kvmclock.c gives the mode under CONFIG_X86_64 only, 3.10 to 7.3. */
bool kvm_clock_is_32_bit(const struct evidence *evidence);

/* Under a hypervisor. */
bool host_is_guest(const struct evidence *evidence);

/*
 * Guests of this kind are restored from snapshots as a matter of course. A device that reports a
 * restore (vmgenid, vmclock) does not show it: Proxmox VE and EC2 give one to every guest.
 */
bool host_may_be_restored(const struct evidence *evidence);

/* From the first line about tsc to now nothing is missing: only then a line's absence counts. */
bool log_is_whole(const struct evidence *evidence);

/* The log line by which the kernel said that it does not trust the TSC; NULL if none. */
const struct kernel_log_line *log_find_tsc_distrust(const struct evidence *evidence);

/* The one by which it switched to the current clocksource, if that is the last switch; or NULL. */
const struct kernel_log_line *log_find_last_switch(const struct evidence *evidence);

/* The one by which it gave the TSC up since a read of its reference clock took too long. */
const struct kernel_log_line *log_find_tsc_delay(const struct evidence *evidence);

/* Those by which it ended without the TSC's rate; by which it switched to tsc. */
const struct kernel_log_line *log_find_tsc_uncalibrated(const struct evidence *evidence);
const struct kernel_log_line *log_find_tsc_in_use(const struct evidence *evidence);

/*
 * Reading the counter takes too long for a read of a register: as long as the cheapest system
 * call, or on x86 and ARM more than any such read does. It is intercepted or emulated.
 */
bool counter_is_trapped(const struct evidence *evidence);

/* True if some kernel gives a clocksource of this name a clock mode. */
bool vclock_name_has_mode(const char *clocksource);

/* True if it is the counter that kernels of an architecture choose by themselves; tsc is one. */
bool clocksource_is_own_counter(const char *clocksource);

/* Those that the kernel offers beside the one in use; how many there are. */
size_t clocksources_find_others(
	const struct evidence *evidence, struct other_clocksource others[CLOCKSOURCE_MAX]);

/*
 * What holds on this host, of what several rows of causes and advice depend on; what matters to
 * one row alone is in its `applies`. A set of them is a uint64_t.
 */
#define CONDITION(bit) (UINT64_C(1) << (bit))

/* The host, and this process. */
#define GUEST CONDITION(0)
#define UNDER_XEN CONDITION(1)
#define UNDER_VMWARE CONDITION(2)
#define EC2_XEN CONDITION(3)
#define EC2 CONDITION(31) /* that or Nitro */
#define GVISOR CONDITION(4)
#define EMULATED CONDITION(5)
#define COUNTER_OFF CONDITION(6)      /* for this process: reading it raises a signal */
#define FIRMWARE_COUNTER CONDITION(7) /* riscv without a time register; the verdict is slow */
/* The vDSO. */
#define NO_VDSO CONDITION(8)
#define NO_VDSO_AT_BOOT CONDITION(9) /* by a boot parameter */
#define VDSO32_OFF CONDITION(32)     /* a 32-bit program on x86-64, without such a parameter */
#define ARM_COMPAT CONDITION(10)     /* a 32-bit program on arm64: a 64-bit one has a vDSO */
#define FALLS_BACK CONDITION(11)     /* it is there and made system calls */
/* The clocksource in use, and its clock mode. */
#define ON_XEN CONDITION(12)
#define ON_KVM_CLOCK CONDITION(13)
#define ON_HYPERV_PAGE CONDITION(14)
#define MODE_NONE CONDITION(15)
#define MODE_READ CONDITION(16)     /* from the data page, and it is not none */
#define STABLE_NOW CONDITION(17)    /* the pvclock page says so, and there is a mode */
#define PAGE_UNSTABLE CONDITION(18) /* the pvclock page says so */
#define KVM_UNSTABLE CONDITION(19)  /* falls back on kvm-clock; nothing in this guest causes it */
/*
 * The calls fall back on a clocksource that no kernel gives a clock mode, by its name, or
 * that has none, by the data page, and is not known to ever have one. Or they would, by
 * its name, where a captured tree is all there is.
 */
#define PLAIN CONDITION(20)
#define SECOND_CHOICE CONDITION(21) /* the same on x86: why not the TSC? */
/* The TSC: disabled at boot, and what the kernel log has against it. */
#define NO_TSC_AT_BOOT CONDITION(22)
#define TSC_JUDGED CONDITION(23) /* the watchdog's figures show what was wrong */
#define TSC_DISTRUSTED CONDITION(24)
#define TSC_DELAYED CONDITION(25)
#define TSC_UNSYNCHRONISED CONDITION(26)
#define TSC_UNCALIBRATED CONDITION(27)
#define TSC_ON_HYPERV CONDITION(28)
#define TSC_UNBOUND CONDITION(29) /* it was in use and is gone, and nothing in the log says why */

/* What every rule looks at, computed once. */
struct view {
	const struct evidence *evidence;
	struct entry_counts decided; /* the deciding calls, each by the path it is judged by */
	struct entry_counts vdso;    /* the same by the vDSO's functions */
	struct entry_counts libc;    /* the same through libc */
	/* From here on for the rules of causes and advice alone. */
	enum verdict_kind verdict;
	uint64_t holds; /* the conditions */
	/* What the clocksource watchdog measured; without figures: undetermined, line NULL. */
	struct watchdog_report watchdog;
	/* Clocksources that may be recommended instead of the current one; NULL: none. */
	const char *paravirtual;
	const char *tsc;
	const char *not_tsc; /* why not, where the TSC is offered and may not be; or NULL */
};

/* The evidence and the counts, for the rules of the verdict and of contradictions. */
void view_begin(const struct evidence *evidence, struct view *view);

/*
 * The clocksource= of the command line is what makes the calls fall back, or would where the vDSO
 * is disabled besides: without it the kernel may choose another.
 */
bool boot_choice_slows(const struct view *view);

struct verdict_row {
	const char *id;
	enum verdict_kind kind;
	unsigned rests_on; /* of enum evidence_kind */
	bool (*applies)(const struct view *view);
	const char *sentence; /* the summary; NULL: `write` makes it */
	void (*write)(const struct view *view, char *summary, size_t size);
};

/* In this order: the first that applies decides, and the last always does. Ended without id. */
extern const struct verdict_row verdict_rows[];

struct contradiction_row {
	const char *id;
	bool may_be_a_change; /* of the clocksource, between two readings */
	bool (*applies)(const struct view *view);
	const char *text;
};

extern const struct contradiction_row contradiction_rows[]; /* ended by a row without id */

/* Writes those that are seen, at most CONTRADICTION_MAX, and returns how many. */
size_t contradiction_find(const struct view *view, struct contradiction found[CONTRADICTION_MAX]);

/* When a row applies: all that is given has to hold. */
struct scope {
	unsigned verdicts;             /* a set of BIT()s; 0: all */
	uint64_t needs, unless;        /* conditions: all of these, none of those */
	enum watchdog_culprit culprit; /* by the watchdog's figures; 0: whatever they show */
	bool (*applies)(const struct view *view); /* what else; NULL: nothing */
};

#define BIT(verdict) (1u << (verdict))

bool scope_applies(const struct scope *scope, const struct view *view);

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
};

/* How a step is taken on some hosts. A list of them ends without `where`. */
struct way {
	const char *where;                 /* a word of host.platform or of host.boot_tool */
	const char *label;                 /* those hosts by name */
	const char *text, *command, *undo; /* as in a step */
};

/* The way of this host; NULL: not known. */
const struct way *way_find(const struct view *view, const struct way *ways);

/* Stopping a cloud's guest and starting it again, by platform. */
extern const struct way advice_moves[];

/* A sentence for kernels before major.minor alone, such as on a parameter that they ignore. */
struct remark {
	unsigned major, minor;
	bool (*applies)(const struct evidence *evidence); /* what else; NULL: nothing */
	const char *text;
};

/* Pieces of advice are sorted by it, the least effort first. */
enum effort {
	EFFORT_UNDO,    /* remove a setting, and reboot */
	EFFORT_SWITCH,  /* select another clocksource */
	EFFORT_LOOK,    /* run vdsocheck again, where or when it can see more */
	EFFORT_UPDATE,  /* another kernel, firmware, machine */
	EFFORT_ASK,     /* open a ticket */
	EFFORT_PROGRAM, /* change this program, or what started it */
	EFFORT_PROOF,   /* let vdsocheck take its proof */
};

#define STEP_ROW_MAX 5
#define REMARK_MAX 2

struct advice_row {
	const char *id;
	enum effort effort;
	struct scope when; /* where its cause applies */
	/*
	 * The text says "on the host" to a container where the effort is a change of the host, or
	 * where on_host says so, and not where it can be done anywhere.
	 */
	bool on_host, anywhere;
	const char *(*target)(const struct view *view); /* gives {to}; NULL: does not apply */
	/* The first kernel on which it helps, or 0.0. On an older one it says so and comes last. */
	struct {
		unsigned major, minor;
	} since;
	const char *text; /* what to do, in a sentence or two */
	struct remark remarks[REMARK_MAX];
	struct step_row steps[STEP_ROW_MAX]; /* all of them, in this order */
	const char *boot; /* the boot parameter that makes it last; NULL: none does */
	const char *ask, *risk, *source; /* as in struct advice */
};

#define CAUSE_ADVICE_MAX 4

struct cause_row {
	const char *id;
	const char *text; /* NULL: `write` makes it */
	void (*write)(const struct view *view, char text[CAUSE_TEXT_SIZE]); /* text is "" */
	const char *more;
	struct scope when;
	enum certainty certainty;
	bool (*proves)(const struct view *view); /* raises it to proven; NULL: nothing does */
	void (*support)(const struct view *view, struct cause *cause);
	const struct advice_row *advice[CAUSE_ADVICE_MAX + 1]; /* ended by NULL */
};

/*
 * All causes, in the order in which they are given; the tables end with a row without id. A cause
 * is in the file that names where it lies: the process, the vDSO, the clocksource in use (slow),
 * the kernel's decision for it (selected, and by its watchdog's figures: watchdog), or a better
 * clocksource (unused).
 */
struct cause_table {
	const struct cause_row *rows;
	bool explains; /* why the calls are slow: without one of these, fallback-unexplained */
};

#define CAUSE_TABLES 10

extern const struct cause_table cause_tables[CAUSE_TABLES];
extern const struct cause_row cause_process_rows[], cause_vdso_rows[], cause_slow_rows[],
	cause_selected_rows[], cause_watchdog_rows[], cause_unused_rows[], cause_plain_rows[],
	cause_unexplained_rows[], cause_unread_rows[], cause_note_rows[];

/* Advice that is not tied to one cause; ended by NULL. */
extern const struct advice_row *const advice_general[];
extern const struct advice_row *const advice_last_resort[];

/* Advice of several causes. */
extern const struct advice_row advice_drop_boot, advice_drop_tsc_boot, advice_move,
	advice_update_firmware, advice_ask_about_unstable_tsc, advice_find_which_clock,
	advice_ask_which_clock, advice_send_report;

/* The step that switches to {to}, after a guard that ends with "&&", or none. */
#define SWITCH_STEP(guard)                                                                         \
	{                                                                                          \
		.command = guard "echo {to} | sudo tee " CLOCKSOURCE_CURRENT,                      \
		.undo = "echo {from} | sudo tee " CLOCKSOURCE_CURRENT                              \
	}

/* Where the TSC is to be used again. */
#define REBOOT_STEPS                                                                               \
	{.command = "sudo reboot"},                                                                \
	{                                                                                          \
		.command = "vdsocheck warp && vdsocheck"                                           \
	}

/* Instance store on EC2, local SSD on Google Cloud, temporary disk on Azure. */
#define MOVE_RISK "In a cloud, this may erase local disks (instance store, local SSD)."

/* Where to read on. */
#define BOOT_PARAMETERS "https://docs.kernel.org/admin-guide/kernel-parameters.html"
#define HYPERV_CLOCKS "https://docs.kernel.org/virt/hyperv/clocks.html"

/* Gathers the causes; `rows` gets the row of each. Returns how many. */
size_t cause_find(const struct view *view, struct cause causes[CAUSE_MAX],
	const struct cause_row *rows[CAUSE_MAX]);

/* The advice of these causes and that of none, sorted by effort. Returns how many. */
size_t advice_find(const struct view *view, const struct cause_row *const *causes, size_t count,
	struct advice advice[ADVICE_MAX]);

/*
 * Where the verdict is ok, the call itself shows what user space takes. Where it is unknown,
 * so is the cost.
 */
void cost_find(const struct evidence *evidence, enum verdict_kind verdict, struct cost *cost);

/* Adds a piece of evidence, printf-like; beyond CAUSE_EVIDENCE_MAX it is dropped. */
void support_add(struct cause *cause, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Quotes a line of the kernel log with its time; NULL adds nothing. */
void support_add_log(struct cause *cause, const struct kernel_log_line *line);

/* The available clocksources in the kernel's order, by rating. */
void support_available(const struct view *view, struct cause *cause);

/* Clocksource, clock mode and hypervisor's page; with the kernel's release. */
void support_mode(const struct view *view, struct cause *cause);
void support_kernel(const struct view *view, struct cause *cause);

/* The boot parameters; why there is no vDSO; what reading the counter takes. */
void support_boot(const struct view *view, struct cause *cause);
void support_no_vdso(const struct view *view, struct cause *cause);
void support_counter(const struct view *view, struct cause *cause);

#endif
