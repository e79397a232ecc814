/* SPDX-License-Identifier: MIT */
/*
 * Judges the evidence: the verdict, its causes, what to do about it and what it costs. This is
 * pure: no input, no output, the same evidence always gives the same diagnosis.
 */
#ifndef VDSOCHECK_JUDGE_H
#define VDSOCHECK_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/answer.h"
#include "evidence.h"

enum verdict_kind {
	VERDICT_UNKNOWN = 0,
	VERDICT_OK,       /* the deciding calls are served by the vDSO */
	VERDICT_FALLBACK, /* at least one of them is a system call, always or sometimes */
	VERDICT_SLOW,     /* none is, but reading the counter costs as much as a system call */
	VERDICT_WRONG,    /* the vDSO's values are not the kernel's */
};

/* The kinds of evidence. A verdict rests on a set of them. */
enum evidence_kind {
	EVIDENCE_NAME = 1 << 0,
	EVIDENCE_MODE = 1 << 1,
	EVIDENCE_PROOF = 1 << 2,
	EVIDENCE_TIMING = 1 << 3,
	EVIDENCE_VALUES = 1 << 4,
};

#define EVIDENCE_KINDS 5

#define SUMMARY_SIZE 384

struct verdict {
	enum verdict_kind kind;
	const char *rule;  /* the id of the rule that decided; stable, static storage */
	unsigned rests_on; /* bits of enum evidence_kind */
	/*
	 * VERDICT_FALLBACK or VERDICT_OK of a captured tree whose clocksource and kernel make it
	 * likely; else VERDICT_UNKNOWN.
	 */
	enum verdict_kind expected;
	char summary[SUMMARY_SIZE]; /* one sentence */
};

/* The verdicts as answers, by enum verdict_kind. */
extern const struct answer verdict_answers[];

/* "name", "mode", "proof", "timing", "values": in the order of their bits, ended by NULL. */
extern const char *const evidence_kind_names[];

#define CAUSE_MAX 6 /* further ones are dropped: no host of the tests has as many */
#define CAUSE_EVIDENCE_MAX 6
#define CAUSE_EVIDENCE_SIZE 256

enum certainty {
	CERTAINTY_POSSIBLE, /* fits, as other things would */
	CERTAINTY_LIKELY,   /* fits, and little else would */
	CERTAINTY_PROVEN,   /* measured, or reported by the kernel itself */
};

#define CAUSE_TEXT_SIZE 440

/* With the verdict ok a cause is a note, not a fault. `id` and `more` have static storage. */
struct cause {
	const char *id;             /* stable */
	char text[CAUSE_TEXT_SIZE]; /* a sentence or two */
	enum certainty certainty;
	bool follows;     /* from the causes before it, to which it adds nothing */
	const char *more; /* manual page or address to read on; NULL: none */
	size_t evidence_count;
	char evidence[CAUSE_EVIDENCE_MAX][CAUSE_EVIDENCE_SIZE];
};

/* "possible", "likely", "proven": the names of all, ended by NULL. */
extern const char *const cause_certainty_names[];

#define ADVICE_MAX 4
#define ADVICE_STEP_MAX 3
#define ADVICE_KEEP_MAX 7
#define ADVICE_TEXT_SIZE 512
#define ADVICE_STEP_SIZE 240
#define ADVICE_COMMAND_SIZE 320
#define ADVICE_BOOT_SIZE 200

/* The one who can follow a piece of advice. */
enum actor {
	ACTOR_BY_RANK, /* of a row: as its rank has it */
	ACTOR_GUEST,   /* this system's administrator */
	ACTOR_HOST,    /* that of the machine or cloud around it, and of a container's host */
	ACTOR_FIRMWARE,
	ACTOR_PROVIDER,
	ACTOR_KERNEL,
};

/* "", "guest", "host", "firmware", "provider", "kernel": the names of all, ended by NULL. */
extern const char *const actor_names[];

struct advice_step {
	char text[ADVICE_STEP_SIZE];       /* stands before the command; without one, what to do */
	char command[ADVICE_COMMAND_SIZE]; /* one shell line; empty: there is none */
	char undo[ADVICE_COMMAND_SIZE];    /* a line that takes it back; empty: none is needed */
};

/* Prints the report for a ticket. */
#define REPORT_COMMAND "vdsocheck --format report"

/* Texts that are pointers have static storage; NULL where there is nothing to say. */
struct advice {
	const char *id; /* stable */
	char text[ADVICE_TEXT_SIZE];
	size_t step_count;
	struct advice_step steps[ADVICE_STEP_MAX]; /* all of them, in this order */
	size_t keep_count;
	struct advice_step keep[ADVICE_KEEP_MAX]; /* ways to make it last: one is enough */
	bool keep_is_known;                       /* the first of them is that of this host */
	bool keep_removes; /* they remove `boot`, not add it, after a switch */
	const char *ask;   /* a sentence to paste into a ticket */
	const char *risk;
	const char *source;  /* title, date and address of what it is based on */
	bool is_alternative; /* to the piece before it; otherwise it is needed beside it */
	enum actor actor;
	bool reversible; /* what it changes can be taken back, and no disk may be erased */
	char clocksource[CLOCKSOURCE_NAME_SIZE]; /* the one it leads to; empty: to none */
	char boot[ADVICE_BOOT_SIZE];             /* boot parameters that `keep` adds or removes */
};

/* True if its one step is REPORT_COMMAND. */
bool advice_sends_report(const struct advice *advice);

#define CAUSE_ADVICE_MAX 7

/* The manual lists causes by the clocksource, or the part of the system, that has them. */
enum cause_group {
	GROUP_ANY,
	GROUP_TSC,
	GROUP_KVM,
	GROUP_XEN,
	GROUP_HYPERV,
	GROUP_OTHER,
	GROUP_VDSO,
	GROUP_PROCESS,
	GROUP_COUNT,
};

/* The titles of all, ended by NULL. */
extern const char *const cause_group_names[];

/* A cause as the manual explains it, for any host. */
struct cause_explanation {
	const char *id; /* this and the other pointers have static storage */
	enum cause_group group;
	char text[CAUSE_TEXT_SIZE];           /* as in struct cause */
	const char *signs;                    /* sentence or two on how it is recognized */
	const char *more;                     /* as in struct cause */
	const char *advice[CAUSE_ADVICE_MAX]; /* ids; a host gets those that fit; NULL: no more */
};

/* These words take the place of names that differ by host. */
#define ADVICE_WORD_TO "CLOCKSOURCE"  /* the clocksource that advice leads to */
#define ADVICE_WORD_FROM "CURRENT"    /* the one in use */
#define ADVICE_WORD_BOOT "PARAMETERS" /* the boot parameters to remove */

/* Explain the cause, or the advice, in this place of all, by group; false beyond the last. */
bool explain_cause(size_t place, struct cause_explanation *cause);
bool explain_advice(size_t place, struct advice *advice);

#define CONTRADICTION_MAX 7

/* Two kinds of evidence that disagree. Both texts have static storage. */
struct contradiction {
	const char *id; /* stable */
	const char *text;
};

/* True if a contradiction in this evidence may come from a change of the clocksource. */
bool contradiction_may_be_a_change(const struct evidence *evidence);

struct cost {
	struct real_fact call_ns; /* the costliest deciding call, as programs make it */
	double syscall_ns;        /* the raw system call of its clock; known with call_ns */
	bool mixed; /* call_ns is the average of calls that enter and calls that do not */
	struct real_fact vdso_ns; /* counter and arithmetic; known: the vDSO could serve the call */
	double lost_ns;           /* lost in each call against the vDSO; 0: none, or unknown */
	bool measured;            /* vdso_ns was measured on a copy of the vDSO */
	struct real_fact rate;    /* calls per second to work it out for */
};

/* Calls per second that one thread can make at the most, to two digits; 0 if unknown. */
double cost_calls_per_thread(const struct cost *cost);

/* The seconds that `calls` calls take longer at slow_ns each than at fast_ns. */
double cost_seconds(double calls, double slow_ns, double fast_ns);

/* A clocksource that the kernel offers beside the one in use. */
struct other_clocksource {
	const char *name; /* a string of the evidence */
	bool advisable;
	const char *why_not;      /* a clause that follows "because"; NULL: advisable */
	struct real_fact call_ns; /* clock_gettime(CLOCK_MONOTONIC), on a copy of the vDSO */
};

struct diagnosis {
	struct verdict verdict;
	bool wants_log; /* the kernel log may say why something is as it is */
	size_t contradiction_count;
	struct contradiction contradictions[CONTRADICTION_MAX];
	size_t cause_count;
	struct cause causes[CAUSE_MAX];
	size_t advice_count;
	struct advice advice[ADVICE_MAX];
	struct cost cost;
	size_t other_count;
	struct other_clocksource others[CLOCKSOURCE_MAX];
};

/* Judges the evidence, whose clock mode was inferred before if it could not be read. */
void diagnose(const struct evidence *evidence, struct diagnosis *diagnosis);

struct entry_counts {
	unsigned calls;    /* deciding calls that have this path */
	unsigned proven;   /* calls made under the proof */
	unsigned always;   /* proven calls whose every attempt entered the kernel */
	unsigned entering; /* proven calls with at least one attempt that entered */
	bool mixed;        /* one of them entered in a part of its attempts only */
	uint64_t attempts, entered;
	int signal;       /* one of them ended with this signal; 0: none did */
	unsigned failing; /* calls that failed without a system call, or wrote no result */
};

/*
 * True if the vDSO's function left the call to libc, which made a system call: a fallback, too.
 * MIPS's returned -ENOSYS for that, 4.4 to 4.13 (arch/mips/vdso/gettimeofday.c).
 */
bool call_is_handed_back(const struct evidence *evidence, const struct call_evidence *call);

/* Counts the deciding calls, each by the path it is judged by. */
struct entry_counts counts_deciding(const struct evidence *evidence);

/* Counts the deciding calls, all by one path; PATH_COUNT: each by the path it is judged by. */
struct entry_counts counts_by_path(const struct evidence *evidence, enum call_path path);

/* Returns clock_gettime of this clock; NULL if it is not in the evidence. */
const struct call_evidence *clock_gettime_of(const struct evidence *evidence, const char *clock);

/* True if the current clocksource is known and has this name. */
bool clocksource_is(const struct evidence *evidence, const char *name);

bool host_is_x86(const struct evidence *evidence);

/*
 * True if kernels of this architecture never give this clocksource a mode (hpet did have one up to
 * 4.6).
 */
bool clocksource_has_no_mode(const struct evidence *evidence, const char *clocksource);

/* The clocksources that are known by name, by their place; NULL beyond the last. */
const char *clocksource_known_name(size_t place);

/* True if the kernel is known to list this flag of the TSC in /proc/cpuinfo. */
bool tsc_has_flag(const struct evidence *evidence, const char *flag);

/*
 * True if CPUID advertises an invariant TSC and the kernel's flags do not contradict it: a Xen PV
 * guest may see the machine's CPUID, and a kernel clears flags that it found untrue.
 */
bool tsc_is_invariant(const struct evidence *evidence);

/*
 * Returns the clock mode of the evidence or, where it was not read, the only one that the
 * clocksource's name and the proof leave. Then `how` is VCLOCK_INFERRED, and the fact keeps the
 * reason why the mode was not read.
 */
struct vclock_evidence vclock_infer(const struct evidence *evidence);

#endif
