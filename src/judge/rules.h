/* SPDX-License-Identifier: MIT */
/*
 * The tables of verdicts, contradictions, causes and advice. A row holds all that belongs to it:
 * its id, its condition IF(...), of which all terms hold, its texts, and the advice with a
 * condition each. Terms are made of the members of struct view by IS() and the like, below.
 *
 * A new cause is a row of the cause_*.c that names where it lies, in the order in which causes are
 * printed; its advice is a row above the table. What several files ask is a member of the view;
 * what one table asks is a function there, for ASK() or CALL(). A line of the log that a row
 * looks for is a mark of collect/kernel_log.c, and has its answer in tests/lore/messages.txt.
 * tests/hosts/variants.txt gets a host that has the cause, and for its advice one that must not get
 * it; `make hosts causes completions` writes the rest. The compiler refuses a wrong name, and the
 * tests a row without its hosts or its messages.
 */
#ifndef VDSOCHECK_JUDGE_RULES_H
#define VDSOCHECK_JUDGE_RULES_H

#include "view.h"

/* One term of a condition. The macros below make them: a wrong name or type does not compile. */
struct term {
	enum {
		TERM_NONE, /* ends the list */
		TERM_BOOL,
		TERM_POINTER,
		TERM_VALUE,
		TERM_FLAG,
		TERM_NUMBER,
		TERM_STATE,
		TERM_ASK,
		TERM_CALL,
		TERM_HAS,
		TERM_ALL,
		TERM_ANY,
	} kind;
	bool negated;
	size_t place; /* of the member in struct view, or of the fact in struct evidence */
	int value;
	bool (*ask)(const struct view *v);
	bool (*call)(const struct view *v, const struct call_evidence *call);
	bool (*has)(const struct evidence *evidence, const char *word);
	const char *word;
	const struct term *terms;
};

/* The condition of a row: all of these terms hold. */
#define IF(...) ((const struct term[]){__VA_ARGS__, {.kind = TERM_NONE}})
#define ALWAYS NULL

/* clang-format 14 takes the braces of these macros for blocks. */
/* clang-format off */
#define OF_VIEW(name) (((const struct view *)0)->name)
#define OF_EVIDENCE(name) (((const struct evidence *)0)->name)
#define TERM_OF(name) \
	.kind = _Generic(OF_VIEW(name), bool: TERM_BOOL, const char *: TERM_POINTER, \
		const struct kernel_log_line *: TERM_POINTER), \
	.place = offsetof(struct view, name)
#define TERM_EQUAL(name, constant) \
	.kind = TERM_VALUE, .value = constant, \
	.place = offsetof(struct view, name) + 0 * sizeof(OF_VIEW(name) == (constant))

/* A member of the view is true, or is not NULL; an enum there has this value. */
#define IS(name) {TERM_OF(name)}
#define NOT(name) {TERM_OF(name), .negated = true}
#define EQ(name, constant) {TERM_EQUAL(name, constant)}
#define NE(name, constant) {TERM_EQUAL(name, constant), .negated = true}

/* A fact of the evidence is known and has this value, a flag or a number; it is in this state. */
#define FACT_IS(name, constant) \
	{.kind = _Generic(OF_EVIDENCE(name), \
		struct flag_fact: TERM_FLAG, struct number_fact: TERM_NUMBER), \
		.value = constant, .place = offsetof(struct evidence, name)}
#define STATE(name, constant) \
	{.kind = TERM_STATE, .value = constant, .place = offsetof(struct evidence, name.fact) + \
		0 * sizeof(OF_EVIDENCE(name.fact.state) == (constant))}

/* A member that is a text or a line of the kernel log, as such. */
#define MEMBER(name) IS(name)

/*
 * A question that a file has of its own, to the view, or to the calls: one of them at least is so;
 * one of view.h about a name: HAS(hypervisor_is, "xen").
 */
#define ASK(question) {.kind = TERM_ASK, .ask = question}
#define ASK_NOT(question) {.kind = TERM_ASK, .ask = question, .negated = true}
#define CALL(question) {.kind = TERM_CALL, .call = question}
#define HAS(question, name) {.kind = TERM_HAS, .has = question, .word = name}
#define HAS_NOT(question, name) {.kind = TERM_HAS, .has = question, .word = name, .negated = true}

/* One of these terms at least; all of them, as one of others; not all of them. */
#define ANY(...) {.kind = TERM_ANY, .terms = IF(__VA_ARGS__)}
#define ALL(...) {.kind = TERM_ALL, .terms = IF(__VA_ARGS__)}
#define NOT_ALL(...) {.kind = TERM_ALL, .terms = IF(__VA_ARGS__), .negated = true}
/* clang-format on */

/* Returns the member that a MEMBER() names; NULL for none. */
const void *view_member(const struct view *v, const struct term *member);

/* True if all terms hold, or there are none. */
bool holds(const struct view *v, const struct term *terms);

/* Returns the first call that is so, or NULL. */
const struct call_evidence *view_find_call(
	const struct view *v, bool (*is)(const struct view *v, const struct call_evidence *call));

/* A text in place of a row's, and its condition. The first that holds is taken. */
struct text_case {
	const char *text; /* NULL: no more */
	const struct term *when;
};

#define TEXT_CASES 3

/* Returns the text for this host: the row's where no other holds, and for any host. */
const char *text_for(
	const struct view *v, const char *text, const struct text_case cases[TEXT_CASES]);

struct verdict_row {
	const char *id;
	const struct term *when;
	enum verdict_kind kind;
	unsigned rests_on;    /* bits of enum evidence_kind */
	const char *sentence; /* the summary, with words of row_fill(); NULL: `write` makes it */
	void (*write)(const struct view *v, char summary[SUMMARY_SIZE]);
};

/* The first that applies decides, and the last always does; a row without an id ends them. */
extern const struct verdict_row verdict_rows[];

/* Decides by them, and sets the view's verdict. */
void verdict_find(struct view *v, struct verdict *verdict);

struct contradiction_row {
	const char *id;
	const struct term *when;
	const char *text;
	bool is_lasting; /* it cannot be a change of clocksource between two readings */
};

/* All contradictions; a row without an id ends them. */
extern const struct contradiction_row contradiction_rows[];

/* Writes those that apply, and returns how many. */
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
	bool moves;             /* the cloud's command replaces the rest, where it is known */
	bool needs_way;         /* leaves the advice out where neither is */
};

/* How a step is taken on some hosts. A list of them ends without `where`. */
struct way {
	const char *where; /* a word of host.platform or of host.boot_tool */
	const char *label; /* those hosts by name */
	struct step_row step;
	const struct term *when; /* a condition for naming it where the host's own is not known */
};

/* The ways to change the kernel command line, and to reboot. */
extern const struct way advice_add_boot[], advice_remove_boot[], advice_reboots[];

/* Pieces of advice are sorted by it, the least effort first. */
enum rank {
	RANK_SWITCH,  /* select another clocksource, without a reboot */
	RANK_UNDO,    /* remove a setting, and reboot */
	RANK_LOOK,    /* find out more, elsewhere or later; mends nothing */
	RANK_UPDATE,  /* another kernel, firmware, machine */
	RANK_ASK,     /* open a ticket */
	RANK_PROGRAM, /* change this program, or what started it */
	RANK_PROOF,   /* let vdsocheck take its proof */
};

/* The place where advice is followed: a container's text begins with "On the host" for that. */
enum where {
	WHERE_BY_RANK, /* of a row: as its rank has it */
	HERE,
	ON_HOST,
};

struct advice_row {
	const char *id;
	enum rank rank;
	enum actor actor;   /* in place of the rank's */
	bool irreversible;  /* the opposite of `reversible` of struct advice */
	const char *text;   /* sentence or two that say what to do */
	enum where where;   /* in place of the rank's */
	const char *to;     /* {to} on any host; or NULL */
	struct term target; /* MEMBER(name) in place of it */
	/* The first kernel on which it helps, or NULL. An older one is told so, last. */
	const char *since;
	struct text_case remarks[TEXT_CASES];   /* sentences to add, for older kernels */
	struct step_row steps[ADVICE_STEP_MAX]; /* all of them, in this order */
	const char *boot; /* the one boot parameter that makes it last; NULL: none does */
	/*
	 * A sentence on adding it, which is left out where that would change nothing or harm; NULL:
	 * the text has it, and without steps the whole piece is left out.
	 */
	const char *boot_text;
	const struct term *boot_helps;   /* a condition for adding it; NULL: none */
	const char *ask, *risk, *source; /* as in struct advice */
	struct text_case asks[TEXT_CASES], risks[TEXT_CASES]; /* in place of them */
};

/* The library before libc's clock functions, where its file is not known. */
#define CAUSE_WORD_WRAPPER "a library such as libfaketime"

/* A piece of advice, and its condition, IF(...) or ALWAYS. */
struct advice_case {
	const struct advice_row *row; /* NULL: no more */
	const struct term *when;
};

#define CAUSE_FIGURES_SIZE 208

/* A cause, with all that is printed of it, in a host's report and in the manual. */
struct cause_row {
	const char *id;
	enum cause_group group;
	enum certainty certainty;
	const struct term *when;
	/* A sentence or two, with words of row_fill(). {when} is the time of the line. */
	const char *text;
	struct text_case texts[TEXT_CASES];
	/* Writes {figures}: what was measured on this host, and the manual leaves out. */
	void (*figures)(const struct view *v, char text[CAUSE_FIGURES_SIZE]);
	const char *signs;         /* how it is recognized */
	const struct term *proven; /* makes the certainty that; NULL: nothing does */
	/*
	 * The evidence: a function cites it, then texts like the above, unless a word of them is
	 * not known, and a line of the log.
	 */
	void (*evidence)(const struct view *v, struct cause *cause);
	const char *details[2];
	struct term line; /* MEMBER(name) */
	const char *log;  /* or the first line with this text */
	bool with_switch; /* cites the switch to another clocksource after the line */
	bool follows;     /* as in struct cause, where others are before it */
	const char *more;
	/* The advice that it brings along. A piece whose place differs by host is listed twice. */
	struct advice_case advice[CAUSE_ADVICE_MAX];
};

/* The causes that apply to a host. */
struct cause_list {
	size_t count;
	struct cause *causes;
	size_t advice_count;
	const struct advice_row *advice[CAUSE_MAX * CAUSE_ADVICE_MAX]; /* what fits this host */
};

/*
 * The tables, each ended by a row without an id. A cause is in the file that names where it lies:
 * the process, the vDSO, the clocksource in use (slow, or a hypervisor's), the kernel's decision
 * for it (selected) or against the TSC (unstable by the kernel's own words, watchdog by its
 * figures, tsc otherwise).
 */
extern const struct cause_row causes_process[], causes_vdso[], causes_current[], causes_selected[],
	causes_unstable[], causes_watchdog[], causes_hypervisor[], causes_slow[], causes_tsc[],
	causes_without_vdso[], causes_unread[], causes_notes[];

/* Returns the row in this place of all tables, in the order of the manual; NULL beyond the last. */
const struct cause_row *cause_row_at(size_t place);

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
#define DROP_BOOT                                                                                  \
	.advice = {{&advice_drop_tsc_boot, IF(IS(tsc_avoided), NOT(switch_drops_boot))},           \
		{&advice_drop_boot, IF(NOT(tsc_avoided), NOT(switch_drops_boot))}}

/*
 * The members of advice to add tsc=nowatchdog, which keeps the kernel from dropping a TSC that has
 * one rate, and the remark for kernels that do not know it.
 */
#define WANTS_NOWATCHDOG                                                                           \
	NOT(tsc_varies), NOT(tsc_early_unprotected), HAS_NOT(boot_has, "tsc=nowatchdog"),          \
		HAS_NOT(boot_has, "tsc=reliable")
#define NOWATCHDOG                                                                                 \
	.boot = "tsc=nowatchdog", .boot_helps = IF(WANTS_NOWATCHDOG, IS(knows_nowatchdog))
#define NOWATCHDOG_REMARK                                                                          \
	"tsc=nowatchdog, which keeps it, needs Linux 5.2 or newer, or a backport.",                \
		IF(WANTS_NOWATCHDOG, NOT(knows_nowatchdog))

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

/*
 * The same with the words of this host that texts of verdicts and causes may have; SUMMARY_SIZE and
 * CAUSE_TEXT_SIZE suffice for the longest.
 */
bool row_fill(const struct view *v, const char *text, const char *when, const char *figures,
	char *filled, size_t size);

/* The advice that is tied to no cause, ended by a row of NULL. */
extern const struct advice_case advice_general[];

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

/* Cites clocksource, clock mode and hypervisor's page. */
void cite_mode(const struct view *v, struct cause *cause);

/* Cites the boot parameters, and the time of a read of the counter. */
void cite_boot(const struct view *v, struct cause *cause);
void cite_counter(const struct view *v, struct cause *cause);

#endif
