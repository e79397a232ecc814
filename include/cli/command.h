/* SPDX-License-Identifier: MIT */
/*
 * A command is a row with its name, its options and formats, and a function. The driver (cli_run)
 * does all that commands have in common: it parses the command line, prints help and usage errors,
 * opens the root, collects what is printed in memory, writes it to a file or to standard output in
 * one go, and makes the exit status.
 */
#ifndef VDSOCHECK_CLI_COMMAND_H
#define VDSOCHECK_CLI_COMMAND_H

#include "base/answer.h"
#include "base/memory.h"
#include "base/root.h"
#include "base/time.h"

/*
 * The exit status of vdsocheck's own failure; 0 to 2 are the commands' verdicts. It means bad
 * usage, unreadable input, output that could not be written, no memory.
 */
#define EXIT_TROUBLE 3

/* A shell's exit status of a program that a signal ended is this plus the signal's number. */
#define EXIT_SIGNAL 128

/* The style in which a format writes. */
struct style {
	bool color;
	bool verbose; /* all details */
	bool compact; /* JSON: one line per document */
};

/* A value of --format. The first one of a command is the default. */
struct format {
	const char *name;
	const char *summary; /* text in --help; may be NULL */
	unsigned depth;      /* depth of measurement, as the command counts it */
	unsigned needs;      /* other needs, in bits of the command's own */
	void (*write)(const void *result, const struct style *style, FILE *out);
	int (*status)(const void *result); /* its own exit status; NULL: the command's */
	bool warns; /* --quiet leaves it out only where the exit status is 0 */
	/* Writes why nothing else was, for readers of standard output alone; may be NULL. */
	void (*fail)(const char *message, FILE *out);
};

/* The depth of a format that prints everything. */
#define DEPTH_ALL (~0u)

/* Ids of options without a letter; a command's own begin at OPTION_OWN. */
enum option_id {
	OPTION_FORMAT = 256,
	OPTION_COLOR,
	OPTION_SYSROOT, /* the driver takes it, from commands with a row for it */
	OPTION_OWN,
};

/* An option of a command; a table of them ends with a row without a name. */
struct option_row {
	int id;           /* its letter, or one of option_id on */
	const char *name; /* name without the dashes */
	/* NULL: it takes none. "FILE...": values and operands go to cli->operands. */
	const char *argument;
	const char *help;
};

struct cli;

/* A command. Its texts are static. */
struct command {
	const char *name;
	const char *summary; /* line in the list of commands */
	const char *help;    /* a paragraph: what it does */
	const char *status;  /* its exit statuses, after those of its answers */
	/* NULL: `status` has all. The first is that of a run without findings. */
	const struct answer *answers;
	const struct option_row *options; /* ended by a row without a name */
	const struct format *formats;     /* ended by a row without a name */
	size_t size;                      /* bytes of cli->data */
	/* Stores a value in cli->data; false after an error message. */
	bool (*take)(struct cli *cli, int id, const char *value);
	/* Returns the exit status; prints by cli_print(). */
	int (*run)(struct cli *cli);
	/* Is called after the output was written, and may change the status. May be NULL. */
	int (*finish)(struct cli *cli, int status);
	/*
	 * Not NULL: the operands are a program and its arguments, named so in --help. The first
	 * operand ends the options, and the output goes to standard error.
	 */
	const char *program;
	/* First command: what "help", or "help WITHIN", takes beside commands; NULL: no more. */
	const char *(*topic)(const char *within, size_t place);
	void (*explain)(const char *topic, FILE *out); /* prints the help of the last such word */
	int failure_status;  /* exit status of vdsocheck's own failure; 0: EXIT_TROUBLE */
	int64_t limit_ns;    /* limit of cli->deadline; 0: unlimited */
	int64_t duration_ns; /* default of the option 'd', which the driver takes then; 0: none */
	/*
	 * The command needs root's capabilities while it runs. Others keep those to read and to
	 * replace files, and drop them by privileges_keep() before they measure.
	 */
	bool privileged;
	bool runs_program; /* a program of the user's, which gets root's capabilities back */
	const struct report_type *report; /* report.h; NULL: `run` does all by itself */
};

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* A run of a command. */
struct cli {
	const struct command *const *commands; /* all of them */
	const struct command *command;
	bool named; /* the command line names the command */
	bool help;
	const char *topic; /* what `help` is to explain; NULL: the command, or all */
	bool version;
	bool quiet;
	const struct format *format;
	enum color_choice color;
	const char *output;  /* NULL: standard output */
	const char *sysroot; /* "/" is this host */
	void *data;          /* zeroed memory of the command's size: request and results */
	size_t operand_count;
	const char **operands;
	int64_t duration_ns; /* the option 'd' or, without it, the command's default */
	unsigned depth;      /* depth of measurement; 0: only for the status */
	struct style style;
	struct root root;
	struct deadline deadline; /* deadline of the run; begins before its first child */
	/* These belong to the driver. */
	FILE *out;                      /* NULL: nothing is printed */
	struct memory_stream collected; /* text written to `out` */
	bool written;                   /* the output was written, or its stream failed */
};

/* Runs the command that the words name, by default the first of the list that NULL ends. */
int cli_run(const struct command *const *commands, int argc, char **argv);

/* Returns the command's exit status for a failure of vdsocheck's own. */
int cli_trouble(const struct cli *cli);

/* Restores the signals that vdsocheck was started with, for a child that becomes a program. */
void cli_restore_signals(void);

/* Renders the result, which is written when the command is done. */
void cli_print(struct cli *cli, const void *result);

/* ---- parse.c: values as people write them, all of the text or nothing ---- */

/* Takes the next word, maybe an empty one, off a list separated by commas; false at its end. */
bool parse_next(struct span *list, struct span *word);

/* These parse option values; false after an error message that names option, value and limits. */
bool take_duration(const char *option, const char *value, int64_t *ns);
bool take_ns(const char *option, const char *value, double *ns); /* ns without a unit */
bool take_count(const char *option, struct span value, const char *what, uint64_t *count);

/* Calls take() for each word of a list, until it returns false. */
bool take_list(const char *value, bool (*take)(struct cli *cli, struct span word), struct cli *cli);

/* ---- nearest.c: answers to a mistyped name ---- */

/* A word that is none of some names; begins with the word alone. */
struct nearest {
	struct span word;
	const char *name; /* nearest name so far; NULL: none is near */
	unsigned edits;   /* that make it of the word */
	char all[100];    /* the names, full if they are many */
};

/* Compares the word with another name; the case of letters does not matter. */
void nearest_try(struct nearest *nearest, const char *name);

/*
 * Prints "WHAT 'WORD'" on standard error with the nearest name, with all names if none is near and
 * they are few, or else with the --help to see. Returns false.
 */
bool nearest_refuse(const struct nearest *nearest, const char *what);

/* Returns the place of the word among the names; -1 after a refusal. */
int take_name(const char *what, struct span word, const char *const *names, size_t count);

/* ---- terminal.c ---- */

/* Prints "vdsocheck: ..." on standard error, control characters replaced. Returns false. */
bool cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line on standard error about bad usage, which names the --help to see. Returns false. */
bool cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Begins a measurement that takes a while; work_end() ends it. `doing`, which is not copied, begins
 * the line that progress_show() prints on standard error if that is a terminal, unless cli->quiet;
 * NULL: no line is printed. `stop` is for interrupts_catch(); NULL: signals are not caught.
 */
void work_begin(const struct cli *cli, const char *doing, volatile bool *stop);
void work_end(void);

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT set *stop, here and in children that are forked
 * later, for which it must lie in shared memory. The output is still written; then the driver ends
 * the process by the same signal. A second signal, two seconds later or more, ends it at once.
 */
void interrupts_catch(volatile bool *stop);

/* Stops setting *stop. If no signal was caught yet, the next one ends the process at once. */
void interrupts_release(void);

/* Returns the first signal that was caught; 0: none. */
int interrupts_first(void);

/* Returns the status, or a shell's for the signal if one was caught. */
int interrupt_status(int status);

/* Shows in per cent the part of the work that is done, 0 to 1. */
void progress_show(double done);
/* Shows a text instead. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Asks on the terminal. Returns true for an answer that begins with "y"; false after an error
 * message, which names --yes if standard input is not a terminal.
 */
bool cli_confirm(void);

#endif
