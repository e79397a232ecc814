/* SPDX-License-Identifier: MIT */
/*
 * A command is a row: what it is called, which options and formats it has, and a function. The
 * driver (cli_run) does all that commands have in common: it parses the command line, prints
 * help and usage errors, opens the root, collects what is printed in memory, writes it to a
 * file or to standard output in one go, and makes the exit status.
 */
#ifndef VDSOCHECK_CLI_COMMAND_H
#define VDSOCHECK_CLI_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/root.h"
#include "base/text.h"
#include "base/time.h"

/*
 * Exit statuses 0 to 2 are the commands' verdicts. This one is vdsocheck's own failure: bad
 * usage, unreadable input, output that could not be written, no memory.
 */
#define EXIT_TROUBLE 3

/* A shell's exit status of a program that a signal ended: this and the signal's number. */
#define EXIT_SIGNAL 128

/* How a format is to write. */
struct style {
	bool color;
	bool verbose; /* all details */
	bool compact; /* JSON: one line per document */
};

/* A value of --format. The first one of a command is the default. */
struct format {
	const char *name;
	const char *summary; /* for --help; may be NULL */
	unsigned depth;      /* how much must be measured for it, as the command counts it */
	unsigned needs;      /* what else, in bits of the command's own */
	/* Returns true. */
	bool (*write)(const void *result, const struct style *style, FILE *out);
	int (*status)(const void *result); /* its own exit status; NULL: the command's */
	/*
	 * For a reader of standard output alone: writes there why nothing else was written. NULL: a
	 * message on standard error is enough.
	 */
	void (*fail)(const char *message, FILE *out);
};

/* Needed to print all there is. */
#define DEPTH_ALL (~0u)

/* Ids of options without a letter; a command's own begin at OPTION_OWN. */
enum option_id {
	OPTION_FORMAT = 256,
	OPTION_COLOR,
	OPTION_SYSROOT, /* the driver takes it, from commands with a row for it */
	OPTION_OWN,
};

struct option_row {
	int id;           /* its letter, or one of option_id on */
	const char *name; /* without the dashes */
	const char *
		argument; /* NULL: takes none. "FILE...": values and operands go to cli->operands */
	const char *help; /* NULL: an old name that works and is not listed */
};

struct cli;

struct command {
	const char *name;
	const char *summary;              /* in the list of commands */
	const char *help;                 /* a paragraph: what it does */
	const char *status;               /* its exit statuses */
	const struct option_row *options; /* ended by a row without a name */
	const struct format *formats;     /* ended by a row without a name */
	size_t size;                      /* of cli->own */
	/* Stores a value in cli->own; false after an error message. */
	bool (*take)(struct cli *cli, int id, const char *value);
	/* Returns the exit status; prints by cli_print(). */
	int (*run)(struct cli *cli);
	/* After the output was written: may change the status. May be NULL. */
	int (*finish)(struct cli *cli, int status);
	/*
	 * Not NULL: the operands are a program to run and its arguments, and this is the usage in
	 * --help. The first operand ends the options. With a program the output goes to standard
	 * error.
	 */
	const char *program;
	const char *operands; /* not NULL: it takes operands, named so in --help */
	bool never_verbose;   /* it has no more details: no --verbose */
	int trouble;          /* exit status of vdsocheck's own failure; 0: EXIT_TROUBLE */
	int64_t limit_ns;     /* of cli->deadline; 0: a run may take as long as it takes */
	/*
	 * The command needs root's capabilities while it runs. Another one has those to read
	 * files, which it gives up by privileges_keep() before it measures.
	 */
	bool privileged;
	bool runs_program; /* of the user's, which gets root's capabilities back */
};

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* One run. */
struct cli {
	const struct command *command;
	bool named; /* the command was given, not taken for granted */
	bool help;
	bool version;
	bool quiet;
	bool verbose;
	const struct format *format;
	enum color_choice color;
	const char *output;  /* NULL: standard output */
	const char *sysroot; /* "/" is this host */
	void *own;           /* zeroed memory of the command's size: request and results */
	size_t operand_count;
	const char **operands;
	unsigned depth;      /* how much is to be measured; 0: only what the status needs */
	bool ends_regularly; /* by its status, although a signal was caught */
	struct style style;
	struct root root;
	struct deadline deadline; /* of the whole run; begins before its first child */
	/* The driver's own. */
	FILE *out;                      /* NULL: nothing is printed */
	struct memory_stream collected; /* what was written to `out` */
	bool answered;                  /* the output was written, or its stream does not take it */
};

/* Runs the command that the words name, by default the first of the list that NULL ends. */
int cli_run(const struct command *const *commands, int argc, char **argv);

/* Exit status of a failure of vdsocheck's own, of this command. */
int cli_trouble(const struct cli *cli);

/*
 * Restores the signals that vdsocheck was started with, in a child that becomes another
 * program.
 */
void cli_restore_signals(void);

/* Renders the result, to be written when the command is done. */
void cli_print(struct cli *cli, const void *result);

/*
 * Serves a command that does not end: writes what was printed so far, all at once, to standard
 * output, or in place of all earlier output to cli->output. False after an error message if it
 * could not be written.
 */
bool cli_flush(struct cli *cli);

/* ---- options.c ---- */

/* One line on standard error about bad usage, which names the --help to see. */
void cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- parse.c: values as people write them, all of the text or nothing ---- */

/*
 * Takes the next word off a list separated by commas; false at its end. "1,,2" has an empty
 * word.
 */
bool parse_next(struct span *list, struct span *word);

/* The takers of option values; false after an error message that names option, value and limits. */
bool take_duration(const char *option, const char *value, int64_t *ns);
bool take_count(const char *option, struct span value, const char *what, uint64_t *count);

/* Calls per second: "485000", "485k" or "485k/s". */
bool take_rate(const char *option, const char *value, double *rate);

/* Calls take() for each word of a list, until it returns false. */
bool take_list(const char *value, bool (*take)(struct cli *cli, struct span word), struct cli *cli);

/*
 * Whether the word may be a misspelt `name`, and by fewer edits than *least, which becomes their
 * number then. Start with UINT_MAX.
 */
bool is_misspelling(const char *word, const char *name, unsigned *least);

/* ---- terminal.c ---- */

/* One line on standard error: "vdsocheck: ...". Control characters are replaced. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * A measurement that takes a while, until work_end(). `doing` is what a line on standard error says
 * while progress_show() or progress_say() update it, on a terminal that can take it away again, and
 * not if cli->quiet; it is kept, not copied. NULL: there is no line. `stop` is for
 * interrupts_catch(); NULL: signals are not caught.
 */
void work_begin(const struct cli *cli, const char *doing, volatile bool *stop);
void work_end(void);

/*
 * The one way in which a run is interrupted. From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT set
 * *stop, here and in children that are forked later, for which it must lie in shared memory. The
 * output is still written; then the driver ends the process by the same signal. A second signal,
 * two seconds later or more, ends it at once. Neither is so where the run is that of a program of
 * the user's (`for_program`), which decides when it ends.
 */
void interrupts_catch(volatile bool *stop, bool for_program);

/*
 * *stop may go. If no signal was caught, the next one ends the process at once; else that is the
 * second one.
 */
void interrupts_release(void);

/*
 * From now on the signals wait for sigprocmask(2), ppoll(2) or the like with the mask *before, so
 * that none comes between a look at *stop and the wait.
 */
void interrupts_block(sigset_t *before);

/*
 * The signals that processes sent since the last call, a bit 1 << NUMBER each, to be passed on to a
 * program: those of the terminal have reached it, too.
 */
unsigned interrupts_sent(void);

/* The first signal that was caught; 0: none. */
int interrupts_first(void);

/* The status as a shell will see it: 128 and the signal's number, if one was caught. */
int interrupt_status(int status);

bool progress_is_shown(void);
/* Shows the part that is done, 0 to 1. */
void progress_show(double done);
/* Shows words of the caller's. */
void progress_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Asks on the terminal. True for an answer that begins with "y". False, after an error message
 * that names --yes, if standard input is not a terminal.
 */
bool cli_confirm(void);

#endif
