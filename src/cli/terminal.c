/* SPDX-License-Identifier: MIT */
/*
 * Reads from and writes to the terminal while a command runs: error messages, color, the progress
 * line, one question; and handles the signals that interrupt the command.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/text.h"
#include "driver.h"

#define LINE_SIZE 4096

/*
 * One request to end may come as two signals: timeout(1) sends its signal to the program and
 * then to the whole group. The second one must not cost the output that the first one asked
 * for, however long the first has been at work when it comes.
 */
#define PATIENCE_NS INT64_C(2000000000)

/* Moves to the first column and clears the line. */
#define ERASE_LINE "\r\033[K"

const char *cli_command_name = "";

static char message[LINE_SIZE];

const char *cli_last_error(void)
{
	return message;
}

static struct {
	bool shown;
	const char *doing;
	int percent; /* percentage shown last */
	volatile sig_atomic_t on_screen;
} progress;

static void erase_progress(void)
{
	if (progress.on_screen)
		fputs(ERASE_LINE, stderr);
	progress.on_screen = false;
}

/* Returns the length of the UTF-8 character at `text`; 0 for control characters and other bytes. */
static size_t character_length(const unsigned char *text)
{
	size_t length = text[0] < 0x80   ? 1
	                : text[0] < 0xc2 ? 0
	                : text[0] < 0xe0 ? 2
	                : text[0] < 0xf0 ? 3
	                : text[0] < 0xf5 ? 4
	                                 : 0;

	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	/* C0, DEL or C1 */
	if (text[0] < ' ' || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0))
		return 0;
	return length;
}

bool cli_error(const char *format, ...)
{
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	/*
	 * Words of the command line and names of files are foreign text: they must not drive the
	 * terminal, which may take bytes that are not UTF-8 for control characters.
	 */
	for (char *at = message; *at; at += length ? length : 1) {
		length = character_length((const unsigned char *)at);
		if (!length)
			*at = '?';
	}
	erase_progress();
	fprintf(stderr, "vdsocheck: %s\n", message);
	return false;
}

bool cli_usage_error(const char *format, ...)
{
	char line[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	return cli_error("%s; see 'vdsocheck%s%s --help'", line, cli_command_name ? " " : "",
		cli_command_name ? cli_command_name : "");
}

/* ---- color and progress ---- */

static bool is_capable_terminal(int file)
{
	const char *term = getenv("TERM");

	return isatty(file) && term && *term && strcmp(term, "dumb") != 0;
}

int cli_stream(const struct cli *cli)
{
	return cli->command->program && cli->operand_count ? STDERR_FILENO : STDOUT_FILENO;
}

bool cli_wants_color(const struct cli *cli)
{
	const char *no_color = getenv("NO_COLOR");

	if (cli->color != COLOR_AUTO)
		return cli->color == COLOR_ALWAYS;
	return !cli->output && !(no_color && *no_color) && is_capable_terminal(cli_stream(cli));
}

int cli_columns(const struct cli *cli)
{
	const char *variable = getenv("COLUMNS");
	struct winsize size = {.ws_col = 0};
	uint64_t number;

	if (cli->output || !isatty(cli_stream(cli)))
		return WRAP_COLUMNS;
	if (ioctl(cli_stream(cli), TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return variable && number_parse(text_span(variable), &number) && number < INT_MAX
	               ? (int)number
	               : WRAP_COLUMNS;
}

void progress_say(const char *format, ...)
{
	va_list arguments;

	if (!progress.shown)
		return;
	progress.on_screen = true;
	fputc('\r', stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\033[K", stderr);
}

/* A measurement may take longer than was planned, and a deadline lasts up to a tick longer. */
void progress_show(double done)
{
	int percent = done < 0 ? 0 : done < 1 ? (int)(100 * done) : 100;

	if (percent == progress.percent)
		return;
	progress.percent = percent;
	progress_say("%s: %d%%", progress.doing, percent);
}

/* ---- the question ---- */

bool cli_confirm(void)
{
	char answer[64];

	if (!isatty(STDIN_FILENO))
		return cli_error(
			"not a terminal, cannot ask for confirmation; use --yes to proceed");
	fputs("Continue? [y/N] ", stderr);
	if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
		return true;
	return cli_error("nothing was changed");
}

/* ---- work, and the signals that end it ---- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static struct {
	volatile bool *stop;          /* NULL: the signals are not caught */
	volatile sig_atomic_t caught; /* the first; 0: none */
	volatile int64_t first_ns;
	pid_t process; /* children inherit the handler, but the terminal is not theirs */
} interrupts;

/* A signal handler: makes system calls only, and leaves errno unchanged. */
static void interrupts_note(int number)
{
	int error = errno;
	int64_t now = kernel_clock_ns(CLOCK_MONOTONIC);

	if (!interrupts.first_ns)
		interrupts.first_ns = now;
	if (!interrupts.caught)
		interrupts.caught = number;
	*interrupts.stop = true;
	if (now - interrupts.first_ns >= PATIENCE_NS) {
		if (progress.on_screen && getpid() == interrupts.process &&
			write(STDERR_FILENO, ERASE_LINE, sizeof(ERASE_LINE) - 1) < 0)
			progress.on_screen = false;
		/* The signal is blocked until we return, and then ends the process. */
		signal(number, SIG_DFL);
		raise(number);
	}
	errno = error;
}

/* A signal that our parent ignores stays ignored: nohup(1), and the background jobs of a script. */
static void set_action(struct sigaction action)
{
	struct sigaction before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

void interrupts_catch(volatile bool *stop)
{
	interrupts.stop = stop;
	interrupts.process = getpid();
	set_action((struct sigaction){.sa_handler = interrupts_note});
}

void interrupts_release(void)
{
	static volatile bool nothing;

	if (!interrupts.stop)
		return;
	interrupts.stop = &nothing;
	if (!interrupts.caught)
		set_action((struct sigaction){.sa_handler = SIG_DFL});
}

int interrupts_first(void)
{
	return interrupts.caught;
}

int interrupt_status(int status)
{
	return interrupts.caught ? EXIT_SIGNAL + interrupts.caught : status;
}

void work_begin(const struct cli *cli, const char *doing, volatile bool *stop)
{
	progress.shown = doing && !cli->quiet && is_capable_terminal(STDERR_FILENO);
	progress.doing = doing;
	progress.percent = -1;
	if (stop)
		interrupts_catch(stop);
}

void work_end(void)
{
	erase_progress();
	interrupts_release();
}
