/* SPDX-License-Identifier: MIT */
/*
 * Holds the data of `vdsocheck trace`: the system calls to count, the counts, the costs, and their
 * meaning, which is printed.
 */
#ifndef VDSOCHECK_TRACE_MODEL_H
#define VDSOCHECK_TRACE_MODEL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fact.h"
#include "base/text.h"
#include "evidence.h"
#include "measure/call.h"
#include "report.h"

/* The most calls that are counted. */
#define TRACE_CALL_MAX 16

/* A call that takes a clock has a row for each clock with a name, and one for the rest. */
#define TRACE_CLOCK_MAX 11
#define TRACE_ROW_MAX (TRACE_CALL_MAX + 2 * TRACE_CLOCK_MAX)

/* A 64-bit kernel runs programs of two architectures, with numbers of their own. */
enum trace_arch { TRACE_NATIVE, TRACE_COMPAT, TRACE_ARCH_COUNT };

struct trace_call {
	char name[CALL_NAME_SIZE]; /* "clock_gettime" */
	enum served_call served;
	int number[TRACE_ARCH_COUNT]; /* negative: the architecture has no such call */
	size_t row, rest;             /* its first, and its last, for all other calls */
};

struct trace_row {
	const struct trace_call *call;
	const char *clock; /* "CLOCK_MONOTONIC"; "": takes none; "other" */
	int64_t clock_id;  /* -1: none, or other */
};

/* The calls to count. The rows point into it: it must not be copied. */
struct trace_plan {
	uint32_t arch[TRACE_ARCH_COUNT]; /* AUDIT_ARCH_*; 0: the kernel runs no such programs */
	size_t call_count;
	struct trace_call calls[TRACE_CALL_MAX];
	size_t row_count;
	struct trace_row rows[TRACE_ROW_MAX];
};

/* What is counted: a program to start, a running process, or the whole host. */
enum trace_target { TARGET_PROGRAM, TARGET_PROCESS, TARGET_HOST };

/* A request, as the command line has it. */
struct trace_request {
	const struct trace_plan *plan;
	enum trace_target target;
	char *const *arguments;             /* of the program to start */
	bool lists_processes, lists_groups; /* one of the two is set then */
	bool counts_exactly;                /* calls into the vDSO of a running process */
	bool leaves_untouched;              /* the calls into the vDSO are not counted */
	bool locates_calls;                 /* the places of system calls are looked for */
	bool as_if_fallback; /* a system call takes the place of each call into the vDSO */
	uint64_t shown;      /* places of each list, or processes or control groups */
	int64_t limit_ns;    /* 0: no limit */
};

/* Code, from the first byte that is loaded on, or from 0 on; of the size 0: none. */
struct code_range {
	uint64_t start, size;
};

#define TRACE_GO_FUNCTIONS 4

struct trace_program {
	pid_t pid;
	char file[PATH_MAX]; /* what is executed, byte for byte */
	char path[1024];     /* of its file, for the report */
	bool is_static;      /* its file is an ELF file that names no dynamic loader */
	bool has_glibc;      /* and has glibc in it */
	bool calls_ptrace;   /* by its symbols: it cannot do so while it is traced */
	/* Functions of Go's runtime that call the vDSO on another stack. */
	struct code_range go[TRACE_GO_FUNCTIONS];
};

#define CGROUP_SIZE 512

/* A process that makes calls, or a control group of such processes. */
struct trace_caller {
	uint64_t calls, avoidable; /* the vDSO serves the second ones, or could */
	uint64_t in_vdso;          /* samples in the vDSO */
	double vdso_s;             /* CPU time that these stand for */
	double spent_ns;           /* time by both, to compare callers by */
	pid_t pid;                 /* of a process; 0: it is not known */
	uint64_t group;            /* of a process: ID of its group of cgroups v2 */
	uint64_t processes;        /* of a group */
	char name[CGROUP_SIZE];    /* "": the process had ended before that could be read */
	char cgroup[CGROUP_SIZE];  /* path of the group, where groups are counted; "" as above */
};

struct trace_callers {
	struct trace_caller *list; /* owned */
	size_t count, room;
	uint64_t bypassing; /* processes that made avoidable calls; at the end */
};

/*
 * A system call is made by the vDSO, which could not read the clock itself, by syscall(2) of the C
 * library, by another function of the C library, or by any other code.
 */
enum trace_origin {
	TRACE_FROM_UNKNOWN,
	TRACE_FROM_VDSO,
	TRACE_FROM_SYSCALL_FUNCTION,
	TRACE_FROM_LIBC,
	TRACE_FROM_CODE
};

/* The source of a place, by debug information. */
struct place_source {
	struct fact fact;
	char path[256];
	uint32_t line;
};

/* A place in a program that calls the vDSO, or makes a system call. */
struct trace_place {
	uint64_t count; /* of calls into the vDSO estimated by samples, unless there are few */
	double share_percent; /* of the calls of the list */
	double error_percent; /* of the share, a standard error; 0: all were counted */
	size_t row;           /* of the plan */
	const char *call, *clock;
	char module[512];    /* path of the file; "": the code is of no file, or not known */
	char address[24];    /* of the call in it, as addr2line(1) takes it; "": there is none */
	char function[128];  /* "": not known */
	size_t caller_count; /* of the function, the innermost first */
	char callers[2][128];
	struct place_source source;
	enum trace_origin origin; /* unknown for calls into the vDSO */
};

struct trace_places {
	struct place_stacks *stacks; /* of places.c, owned */
	/* Once all have been counted, those that are shown, the one with the most calls first. */
	struct trace_place *list; /* owned */
	size_t count;
};

/*
 * A sample of what runs stands for this CPU time. By one that divides a millisecond, a program that
 * wakes once in each would be sampled at the same few places: it is a golden section of one.
 */
#define TRACE_SAMPLE_NS 236068

/* Samples of what ran already, a process with what it started or the whole host, while it runs. */
#define TRACE_FEW_SAMPLES 5 /* the error of fewer is half of their number, or more */

struct trace_sampled {
	struct fact fact; /* unread: none were asked for */
	uint64_t taken;
	uint64_t in_vdso;   /* of these */
	uint64_t of_others; /* of these: of processes that the process started */
};

/* The kinds of what was not counted, or did not go as it would without us. */
enum trace_missed_kind {
	MISSED_SYSTEM_CALLS,   /* all of the run */
	MISSED_SERVED_CALLS,   /* all calls into the vDSO of the run */
	MISSED_PROGRAMS,       /* executed ones: their calls into the vDSO */
	MISSED_POINTERS,       /* to functions of a vDSO: the calls by them */
	MISSED_CHILDREN,       /* what a program starts that was let go */
	MISSED_THREADS,        /* their system calls */
	MISSED_CALLS,          /* single system calls, of any process of the host */
	MISSED_TIME,           /* that what ran already spends in the vDSO */
	MISSED_SAMPLES,        /* of this time */
	MISSED_SAMPLES_32_BIT, /* samples in 32-bit code, which were taken */
	MISSED_PRIVILEGES,     /* programs that did not get those of their files */
};

#define TRACE_MISSED_MAX 16
#define TRACE_REASON_SIZE 256

struct trace_missed {
	enum trace_missed_kind kind;
	uint64_t count; /* 0: all of the run */
	char reason[TRACE_REASON_SIZE];
};

struct trace_missed_list {
	size_t count;
	struct trace_missed list[TRACE_MISSED_MAX];
};

struct trace_evidence {
	const struct trace_request *request;

	/* What ran, and where. */
	struct trace_program program;
	struct evidence host; /* timing and proof, taken before the program ran */
	struct real_fact duration_s;
	struct real_fact cpu_s; /* of the program and the children that it waited for */
	bool cpu_is_partial;    /* others were counted, too */

	/* The system calls. */
	struct fact counted; /* known: they were; else why not */
	uint64_t counts[TRACE_ROW_MAX];
	struct trace_places call_places; /* of these, where they are known; not of a whole host */
	struct trace_callers callers;    /* of a whole host; at the end those with the most calls */

	/* The calls into the vDSO. */
	struct fact served;                 /* known: those of at least one program were counted */
	uint64_t vdso_calls[TRACE_ROW_MAX]; /* also of those that fell back */
	struct trace_places places;         /* that they come from */
	struct trace_sampled sampled;       /* of what ran already */

	struct trace_missed_list missed; /* parts of what was counted */

	/* The program's own filters. */
	uint64_t refused; /* system calls as if this host fell back that they refused */
	struct number_fact sigsys_row; /* of the plan: a filter ended the program for such a call */
};

/* A row with its counts, and what one call costs. A number that is not known is NAN. */
struct trace_line {
	const char *call;
	const char *clock;
	bool reads_clock;
	bool avoidable;             /* the vDSO serves it here, or could */
	struct fact counted;        /* known: so is the next one */
	uint64_t count;             /* system calls */
	struct number_fact served;  /* calls that the vDSO served */
	uint64_t unproven;          /* calls into it that may have failed, or be system calls */
	double syscall_ns, vdso_ns; /* cost of one call by each */
	bool is_minimum;            /* syscall_ns is the cost of the cheapest system call */
	double spent_s, fallback_s; /* cost of all; and if they were system calls */
};

/* The places of the command's answers. */
enum trace_verdict { TRACE_UNKNOWN, TRACE_OK, TRACE_FALLBACK, TRACE_SERVED, TRACE_SIMULATED };

/* Sentences, of which each is a line of the text. */
#define TRACE_TEXT_SIZE 640

struct trace_texts {
	size_t count;
	char list[2][TRACE_TEXT_SIZE];
};

struct trace_sums {
	uint64_t calls, served;  /* all that were counted, by the kernel and by the vDSO */
	uint64_t avoidable;      /* those that the vDSO serves, or could */
	uint64_t reads;          /* calls that read the clock, with those that were served */
	uint64_t reads_by_call;  /* reads that were system calls */
	uint64_t reads_unproven; /* reads by the vDSO that may have failed, or be system calls */
	double reads_s;          /* cost of the reads; NAN: not known */
	double fallback_s;       /* cost of the reads if all were system calls; NAN: not known */
	double avoidable_s;      /* cost of the avoidable calls that the vDSO's cost is known of */
	struct real_fact lost_s; /* what these cost more than by the vDSO */
};

/* What the samples mean. A number that is not known is NAN. */
struct trace_inside {
	struct fact fact;
	double share_percent, error_percent; /* of the CPU time, or of one CPU for a whole host */
	double most_percent;                 /* bounds the share, where that has a large error */
	double reads_per_s_most;
	double fallback_percent_most; /* bounds the share, if the reads were system calls */
};

struct trace_diagnosis {
	struct fact counted; /* known: so are the avoidable system calls; all of them, or by the
	                        proof */
	struct fact listed;  /* known: there are lines for the calls that were made */
	size_t line_count;
	struct trace_line lines[TRACE_ROW_MAX]; /* of the calls that were made */
	struct trace_sums sums;
	struct trace_inside inside;
	char sigsys_call[128]; /* "clock_gettime(CLOCK_MONOTONIC)"; "": it got no SIGSYS for one */
	struct trace_missed_list
		missed;           /* those of the evidence, and what was not counted at all */
	struct trace_texts hints; /* why only this program is affected */
	bool has_call_places;     /* those of the system calls are worth a table */
};

/* ---- plan.c ---- */

/* Lists the clock calls of this machine, and of the 32-bit programs that its kernel runs. */
void trace_plan_make(struct trace_plan *plan);

/* Finds the call of this name; NULL: it is not counted. */
const struct trace_call *trace_plan_call(const struct trace_plan *plan, const char *name);

/* Find the row of a call, or of one by its number; TRACE_ROW_MAX: it is not counted. */
size_t trace_plan_row(
	const struct trace_plan *plan, const struct trace_call *call, uint64_t first_argument);
size_t trace_plan_find(
	const struct trace_plan *plan, uint32_t arch, uint64_t number, uint64_t first_argument);

/* ---- missed.c: pure ---- */

/* The words of the kinds. */
extern const char *const trace_missed_names[];

/* Adds so many to the entry of this kind and reason. None are no entry. */
void trace_miss(struct trace_missed_list *missed, enum trace_missed_kind kind, uint64_t count,
	const char *reason);

/* Returns how many of this kind were not counted. */
uint64_t trace_missed_count(const struct trace_missed_list *missed, enum trace_missed_kind kind);

/* Returns what may have been made that is in no count: by it, a number is the least. */
enum { HIDES_CALLS = 1 << 0, HIDES_READS = 1 << 1 };
unsigned trace_missed_hides(const struct trace_missed_list *missed);

/* Writes the entry as a line of the text. */
void trace_missed_describe(const struct trace_missed *missed, char *text, size_t size);

/* ---- costs.c: pure ---- */

/*
 * Finds what is known of the calls of a row on the host; NULL: nothing. Those of clock_getres take
 * no account of the clock: its cost is that of one clock.
 */
const struct call_evidence *trace_find_call(
	const struct evidence *host, const struct trace_row *row);

/* Returns how many of these calls were made, both ways. */
uint64_t trace_line_calls(const struct trace_line *line);

/* Says whether calls of a row of the plan are such that the vDSO serves here, or could. */
bool trace_row_is_avoidable(const struct trace_evidence *trace, size_t row);

/* Sets the lines and the sums, and what the samples mean. */
void trace_costs_judge(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis);

/* ---- verdict.c: pure ---- */

struct trace_report {
	struct report report;
	struct trace_request request;
	struct trace_evidence trace;
	struct trace_diagnosis diagnosis;
};

extern const struct answer trace_answers[];

/* Judges the evidence, and sets the answer. */
void trace_judge(struct trace_report *report);

/* ---- fields.c: of a struct trace_report, and of its lists ---- */

extern const struct field trace_fields[];
extern const struct field trace_place_fields[], trace_caller_fields[];

/* The four columns of a call, and these with the ones of --verbose. */
extern const struct field trace_line_columns[], trace_line_details[];

/* The name of a file, behind the last slash of its path. */
const char *trace_file_name(const char *path);

/* ---- print.c: all take a struct trace_report ---- */

void trace_text(const void *data, struct page *page);
extern const struct format trace_formats[];

#endif
