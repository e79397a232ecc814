/* SPDX-License-Identifier: MIT */
/*
 * The tables of verdicts, contradictions, causes and advice. What depends on the host is made for
 * that of a view, so that a condition is an expression in the words of view.h.
 */
#ifndef VDSOCHECK_JUDGE_RULES_H
#define VDSOCHECK_JUDGE_RULES_H

#include "view.h"

struct verdict_row {
	const char *id;
	bool applies;
	enum verdict_kind kind;
	unsigned rests_on;    /* bits of enum evidence_kind */
	const char *sentence; /* the summary; NULL: `write` makes it */
	void (*write)(const struct view *v, char *summary, size_t size);
};

#define VERDICT_ROWS 17

/* Decides by them, and sets the view's verdict. */
void verdict_find(struct view *v, struct verdict *verdict);

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

/* The ways to change the kernel command line, to reboot, and to stop a cloud's guest and start it.
 */
extern const struct way advice_add_boot[], advice_remove_boot[], advice_reboots[], advice_moves[];

/* A sentence for kernels before this release alone, such as on a parameter that they ignore. */
struct remark {
	const char *before;
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

#define REMARK_MAX 3

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
	/* The first kernel on which it helps, or NULL. On an older one it says so and comes last.
	 */
	const char *since;
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

/* The library before libc's clock functions, where its file is not known. */
#define CAUSE_WORD_WRAPPER "a library such as libfaketime"

/* A piece of advice, and whether it fits the host of a view. */
struct advice_case {
	const struct advice_row *row; /* NULL: no more */
	bool fits;
};

/* The half of a cause that is the same on all hosts. It is what the manual has. */
struct cause_row {
	const char *id;
	enum cause_group group;
	/* A sentence or two; has {from}, {when}, the time of the case's line, and {wrapper}. */
	const char *text;
	const char *signs; /* how it is recognized */
	enum certainty certainty;
	void (*evidence)(const struct view *v, struct cause *cause); /* cites it; or NULL */
	const char *detail; /* a piece of evidence, after the others; or NULL */
	bool with_switch;   /* cites the switch to another clocksource after the case's line */
	bool follows;       /* as in struct cause, where others are before it */
	const char *more;
};

/* The half that is made for the host of a view. */
struct cause_case {
	const struct cause_row *row;
	bool applies;
	bool proven;                        /* here, in place of the row's certainty */
	const char *text;                   /* in place of the row's, as with figures; or NULL */
	const char *detail;                 /* the same */
	const struct kernel_log_line *line; /* the last piece of evidence; or NULL */
	/* The advice that it may bring along; one whose place differs by host is there twice. */
	struct advice_case advice[CAUSE_ADVICE_MAX];
};

/* The causes that apply to a host. */
struct cause_list {
	size_t count;
	struct cause *causes;
	size_t advice_count;
	const struct advice_row *advice[CAUSE_MAX * CAUSE_ADVICE_MAX]; /* what fits this host */
	bool explained; /* one of them says why the calls are slow */
	size_t all_count;
	struct cause_case *all; /* gets every case, whether it applies or not; NULL: not wanted */
};

/* Adds the causes of those cases that apply. */
void cause_add(struct cause_list *list, const struct view *v, const struct cause_case *cases,
	size_t count);

/*
 * The tables, each a function that adds the causes that apply. A cause is in the file that names
 * where it lies: the process, the vDSO, the clocksource in use (slow, or a hypervisor's), the
 * kernel's decision for it (selected) or against the TSC (unstable by the kernel's own words,
 * watchdog by its figures, tsc otherwise).
 */
typedef void cause_table(const struct view *v, struct cause_list *list);
cause_table cause_process, cause_vdso, cause_current, cause_xen, cause_pvclock, cause_hyperv,
	cause_slow, cause_selected, cause_unstable, cause_tsc, cause_watchdog, cause_unused,
	cause_without_vdso, cause_unread, cause_notes;

/* Lists the cases of all tables by group, and returns how many there are; none has its text. */
#define CAUSE_ROW_MAX 128
size_t cause_list_all(struct cause_case cases[CAUSE_ROW_MAX]);

/* Advice of several causes. */
extern const struct advice_row advice_drop_boot, advice_drop_tsc_boot, advice_move,
	advice_update_firmware, advice_ask_about_unstable_tsc, advice_find_which_clock,
	advice_ask_which_clock, advice_ask_for_invariant_tsc, advice_ask_hyperv_for_tsc,
	advice_reboot_after_unbind, advice_replace_machine, advice_restart_for_tsc,
	advice_send_report, advice_switch_to_own_counter;

/* The steps that remove {boot} and reboot, for which each boot loader has its own way. */
#define ADVICE_DROP_STEP .text = "change the kernel command line", .ways = advice_remove_boot
#define ADVICE_REBOOT_STEP .command = "sudo reboot", .ways = advice_reboots

/* The step that switches to {to}, after a guard that ends with "&&", or none. */
#define SWITCH_STEP(guard)                                                                         \
	.command = guard "echo {to} | sudo tee " CLOCKSOURCE_CURRENT,                              \
	.undo = "echo {from} | sudo tee " CLOCKSOURCE_CURRENT

/*
 * The advice of a cause in the boot parameters; some of them are there against the TSC. A switch
 * away from a clocksource that they name has the removal in its `keep`.
 */
#define DROP_BOOT(v)                                                                               \
	.advice = {{&advice_drop_tsc_boot,                                                         \
			   (v)->tsc_avoided && !((v)->has_switch && (v)->boot_choice_slows)},      \
		{&advice_drop_boot,                                                                \
			!(v)->tsc_avoided && !((v)->has_switch && (v)->boot_choice_slows)}}

/* True if tsc=nowatchdog would keep the kernel from dropping this TSC, which has one rate. */
bool nowatchdog_helps(const struct view *v);

/* True if it would, and this kernel does not know it. */
bool nowatchdog_is_missed(const struct view *v);

/* The members of advice to add tsc=nowatchdog, and the remark for kernels that lack it. */
#define NOWATCHDOG .boot = "tsc=nowatchdog", .boot_helps = nowatchdog_helps
#define NOWATCHDOG_REMARK                                                                          \
	"5.2", nowatchdog_is_missed,                                                               \
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

/* Lists the advice that is tied to no cause. */
#define ADVICE_GENERAL 9
void advice_list_general(const struct view *v, struct advice_case general[ADVICE_GENERAL]);

/* Finds the cost; none is known where the verdict is unknown or wrong. */
void cost_find(const struct view *v, struct cost *cost);

/* Adds a piece of evidence, printf-like; beyond CAUSE_EVIDENCE_MAX it is dropped. */
void cite(struct cause *cause, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Quotes a line of the kernel log with its time; NULL adds nothing. */
void cite_line(const struct view *v, struct cause *cause, const struct kernel_log_line *line);

/* True if the stamps began to count anew before this line, or its own was negative. */
bool log_is_after_resume(const struct view *v, const struct kernel_log_line *line);

/* Writes the time of a line with a stamp: "0.5 s after boot", or "after a resume"; returns it. */
#define LOG_TIME_SIZE 48
char *log_time(const struct view *v, const struct kernel_log_line *line, char text[LOG_TIME_SIZE]);

/* Quotes the switch to another clocksource that followed the line. */
void cite_switch_after(
	const struct view *v, struct cause *cause, const struct kernel_log_line *line);

/* Quotes what firmware did to the TSC, as the kernel logs it, and its test of the CPUs. */
void cite_firmware(const struct view *v, struct cause *cause);

/* Cites the available clocksources in the kernel's order, by rating. */
void cite_available(const struct view *v, struct cause *cause);

/* Cites clocksource, clock mode and hypervisor's page; cite_kernel() adds the kernel's release. */
void cite_mode(const struct view *v, struct cause *cause);
void cite_kernel(const struct view *v, struct cause *cause);

/* Cites the boot parameters, and the time of a read of the counter. */
void cite_boot(const struct view *v, struct cause *cause);
void cite_counter(const struct view *v, struct cause *cause);

#endif
