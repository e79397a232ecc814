/* SPDX-License-Identifier: MIT */
/*
 * The driver does what happens around each command. Nothing is printed until the command is done or
 * flushes its output, and then all at once, so that a file is replaced whole or not at all. The
 * driver also decides which capabilities a command has (base/privileges.h), and ends the process by
 * a signal where one ended the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#if defined(__x86_64__) || defined(__i386__)
#include <libcpuid/libcpuid.h>
#endif
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/output.h"
#include "base/privileges.h"
#include "base/version.h"
#include "cli/text.h"
#include "driver.h"

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
		if (fcntl(file, F_GETFD) < 0 && open("/dev/null", access[file] | O_CLOEXEC) != file)
			return false;
	}
	return true;
}

/*
 * Failed output makes an exit status, not a signal; and a parent that ignores SIGCHLD would
 * have the kernel reap our children before we see their status.
 */
static struct {
	int number;
	void (*handler)(int number);
	struct sigaction before;
} own_signals[] = {
	{.number = SIGPIPE, .handler = SIG_IGN},
	{.number = SIGXFSZ, .handler = SIG_IGN},
	{.number = SIGCHLD, .handler = SIG_DFL},
};

static void set_signals(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_signals); i++) {
		struct sigaction action = {.sa_handler = own_signals[i].handler};

		sigemptyset(&action.sa_mask);
		sigaction(own_signals[i].number, &action, &own_signals[i].before);
	}
}

void cli_restore_signals(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_signals); i++)
		sigaction(own_signals[i].number, &own_signals[i].before, NULL);
}

/*
 * Without a seed jansson reads /dev/urandom and, where there is none, the clock by the vDSO, which
 * may crash on this host. The call waits for no entropy while the host boots.
 */
static void set_up_json(void)
{
	uint32_t seed = (uint32_t)getpid();

	syscall(SYS_getrandom, &seed, sizeof(seed), GRND_NONBLOCK);
	json_object_seed(seed | 1);
	json_set_alloc_funcs(xmalloc, free);
}

int cli_trouble(const struct cli *cli)
{
	return cli->command->failure_status ? cli->command->failure_status : EXIT_TROUBLE;
}

/* The run of this process: its command is known before its options are. */
static const struct cli *running;

static void end_without_memory(void)
{
	cli_error("out of memory");
	_exit(running->command ? cli_trouble(running) : EXIT_TROUBLE);
}

void cli_print(struct cli *cli, const void *result)
{
	if (cli->out)
		cli->format->write(result, &cli->style, cli->out);
}

/* Returns true for good news that were not wanted. */
static bool is_left_out(const struct cli *cli, int status)
{
	return cli->quiet && !cli->output && !cli->help && !cli->version && status == EXIT_SUCCESS;
}

/* Writes what was collected, to the file or to the stream. Returns the status of the run. */
static int write_output(struct cli *cli, int status)
{
	const struct memory_stream *collected = &cli->collected;
	struct fact why = {0};
	bool written = true;

	if (!cli->out)
		return status;
	memory_stream_close(&cli->collected);
	if (collected->length > 0 && !is_left_out(cli, status)) {
		written = cli->output ? output_write(cli->output, collected->text,
						collected->length, &why)
		                      : output_write_stream(cli_stream(cli), collected->text,
						collected->length, &why);
		cli->written = written || !cli->output;
	}
	if (!written) {
		cli_error("cannot write %s: %s",
			cli->output                        ? cli->output
			: cli_stream(cli) == STDERR_FILENO ? "standard error"
							   : "standard output",
			why.reason);
		status = cli_trouble(cli);
	}
	free(collected->text);
	cli->out = NULL;
	return status;
}

/* Some formats have readers that do not see standard error. */
static void report_failure(struct cli *cli)
{
	if (cli->written || cli->quiet || !cli->format || !cli->format->fail)
		return;
	cli->output = NULL;
	cli->out = memory_stream_open(&cli->collected);
	cli->format->fail(cli_last_error(), cli->out);
	write_output(cli, EXIT_SUCCESS);
}

/* Prints the help or the version, on standard output whatever other options say. */
static int print_information(struct cli *cli)
{
	const struct scmp_version *seccomp = seccomp_version();

	cli->operand_count = 0;
	cli->output = NULL;
	if (cli->help) {
		if (cli->topic)
			cli->commands[0]->explain(cli->topic, cli->out);
		else if (cli->named)
			cli_write_help(cli->command, cli->command == cli->commands[0], cli->out);
		else
			cli_write_overview(cli->commands, cli->out);
		return EXIT_SUCCESS;
	}
	fprintf(cli->out, "vdsocheck %s\n", vdsocheck_version);
	/* A bug may be in a library; libcpuid is used on x86 only. */
	fprintf(cli->out, "libseccomp %u.%u.%u, jansson " JANSSON_VERSION, seccomp->major,
		seccomp->minor, seccomp->micro);
#if defined(__x86_64__) || defined(__i386__)
	fprintf(cli->out, ", libcpuid %s", cpuid_lib_version());
#endif
	fputc('\n', cli->out);
	return EXIT_SUCCESS;
}

/*
 * Our parent must see that the signal ended us. As process 1 of a container we survive it, and end
 * with the status that a shell makes of it. A command may have blocked it.
 */
static int end_by_signal(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	signal(number, SIG_DFL);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return EXIT_SIGNAL + number;
}

static void do_nothing(void *unused)
{
	(void)unused;
}

/* A filter that kills for prctl(2), which this process and its children call, kills a child first.
 */
static bool cli_may_run(const struct deadline *run)
{
	struct deadline deadline = deadline_within(run, CHILD_PROBE_NS);
	struct fact why = {0};

	if (!privileges_are_filtered() || child_run(do_nothing, NULL, NULL, &deadline, &why) ||
		why.state != FACT_DENIED)
		return true;
	return cli_error("cannot run here: prctl(2): %s", why.reason);
}

int cli_run(const struct command *const *commands, int argc, char **argv)
{
	struct cli cli = {.command = NULL};
	struct fact why = {0};
	bool parsed;
	int status;

	if (!occupy_standard_streams()) {
		cli_error("cannot open /dev/null: %s", strerror(errno));
		return EXIT_TROUBLE;
	}
	/* The program reads and writes any file that the command line names. */
	if (getauxval(AT_SECURE)) {
		cli_error("refusing to run with the set-user-ID bit, the set-group-ID bit or file "
			  "capabilities: remove them from the program");
		return EXIT_TROUBLE;
	}
	set_signals();
	set_up_json();
	running = &cli;
	memory_on_refusal(end_without_memory);
	parsed = cli_parse(&cli, commands, argc, argv);
	cli.style.color = cli_wants_color(&cli);
	wrap_set_columns(cli_columns(&cli));
	if (cli.style.color)
		wrap_set_styles(COLOR_BOLD, "");
	if (parsed && (!cli.quiet || cli.output || cli.format->warns || cli.help || cli.version)) {
		cli.depth = cli.style.verbose ? DEPTH_ALL : cli.format->depth;
		cli.out = memory_stream_open(&cli.collected);
	}
	if (parsed && cli.command->limit_ns)
		cli.deadline = deadline_after(cli.command->limit_ns);
	if (!parsed || (!cli.help && !cli.version && !cli_may_run(&cli.deadline))) {
		status = cli_trouble(&cli);
	} else if (cli.help || cli.version) {
		status = write_output(&cli, print_information(&cli));
	} else {
		if (!cli.command->privileged && !cli.command->runs_program)
			privileges_gain_none();
		if (!cli.command->privileged)
			privileges_keep(PRIVILEGES_READ | (cli.output ? PRIVILEGES_WRITE : 0));
		if (root_open(&cli.root, cli.sysroot, &why)) {
			status = cli.command->run(&cli);
			root_close(&cli.root);
		} else {
			cli_error("cannot open the tree %s: %s", cli.sysroot, why.reason);
			status = cli_trouble(&cli);
		}
		status = write_output(&cli, status);
		if (cli.command->finish)
			status = cli.command->finish(&cli, status);
	}
	report_failure(&cli);
	cli_free(&cli);
	if (interrupts_first())
		return end_by_signal(interrupts_first());
	return status;
}
