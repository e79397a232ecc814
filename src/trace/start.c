/* SPDX-License-Identifier: MIT */
/* Starting a program in a child that waits until all is ready for counting. */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "count.h"

static void end_with(int file, bool preparing, int error)
{
	struct trace_failure failure = {preparing, error};

	(void)!write(file, &failure, sizeof(failure));
	_exit(STATUS_TROUBLE);
}

static void become(
	const struct trace_run *run, int (*prepare)(void *argument), void *argument, int file)
{
	ssize_t length;
	int error = 0;
	char byte;

	do
		length = read(file, &byte, 1);
	while (length < 0 && errno == EINTR);
	/* Our parent is gone, or has given up. */
	if (length == 0)
		_exit(STATUS_TROUBLE);
	if (length < 0)
		error = errno;
	cli_restore_signals();
	if (!error && prepare)
		error = prepare(argument);
	if (error)
		end_with(file, true, error);
	/* With a slash in it there is one attempt; a script without "#!" is run by the shell. */
	execvp(run->trace->program.file, run->arguments);
	end_with(file, false, errno);
}

bool trace_start_fork(struct trace_run *run, int (*prepare)(void *argument), void *argument,
	struct trace_start *start, struct fact *why)
{
	int files[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, files) < 0) {
		fact_set_errno(why, errno, "socketpair");
		return false;
	}
	start->file = files[0];
	start->pid = fork();
	if (start->pid == 0) {
		close(files[0]);
		become(run, prepare, argument, files[1]);
	}
	if (start->pid < 0) {
		fact_set_errno(why, errno, "fork");
		close(files[0]);
	}
	close(files[1]);
	return start->pid > 0;
}

void trace_start_cancel(struct trace_start *start)
{
	close(start->file);
	while (waitpid(start->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void trace_start_follow(
	struct trace_start *start, struct trace_run *run, trace_handler *handle, void *argument)
{
	struct trace_failure failure;
	ssize_t length;
	int error, ended;

	run->trace->program.pid = start->pid;
	run->wait.program = start->pid;
	trace_wait_begin(&run->wait);
	start->ns = kernel_clock_ns(CLOCK_MONOTONIC);
	/* SIGPIPE is ignored; a child that is gone is seen by its status. */
	error = write(start->file, "", 1) < 0 ? errno : 0;
	if (error)
		kill(start->pid, SIGKILL);
	ended = trace_wait_each(&run->wait, handle, argument);
	do
		length = read(start->file, &failure, sizeof(failure));
	while (length < 0 && errno == EINTR);
	close(start->file);
	if (length == sizeof(failure))
		run->failure = failure;
	else if (error || run->wait.program)
		run->failure = (struct trace_failure){true, error ? error : ended};
}
