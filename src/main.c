/* SPDX-License-Identifier: MIT */
/* vdsocheck: one table of commands, and the exit status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "cli/emit.h"
#include "commands.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
};

/* The first is the default. */
static const struct command commands[] = {
	{"check", check_run},
	{"bench", bench_run},
	{"warp", warp_run},
	{"compare", compare_run},
};

/*
 * Some daemons start their children with descriptors 0 to 2 closed. The files that we open
 * would take those numbers: the clocksource file would be standard output. /dev/null takes
 * them instead, open the wrong way round, so that reading and writing still fail (EBADF).
 */
static bool occupy_standard_streams(void)
{
	static const int access[] = {
		[STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDONLY};

	for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
		if (fcntl(file, F_GETFD) < 0 && open("/dev/null", access[file]) != file)
			return false;
	}
	return true;
}

/*
 * Output that fails is told by an exit status, not by a signal; and whoever started us may
 * have had its children reaped by the kernel, which would take their status from us.
 */
static void set_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (!occupy_standard_streams()) {
		options_complain("cannot open /dev/null: %s", strerror(errno));
		return EXIT_TROUBLE;
	}
	set_signals();
	if (argc < 2 || argv[1][0] == '-')
		return commands[0].run(argc, argv);
	command = find_command(argv[1]);
	if (!command) {
		options_complain_usage("unknown command '%s'", argv[1]);
		return EXIT_TROUBLE;
	}
	return command->run(argc - 1, argv + 1);
}
