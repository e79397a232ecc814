/* SPDX-License-Identifier: MIT */
#include "guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not our program's name: a "killall" of that one leaves it alone. */
#define NAME "clock-guardian"

/* The time that the guardian has to put things right before we do it ourselves. */
#define PATIENCE_MS 5000

/* What we write when we are still there to tell the outcome. */
#define FAREWELL 'f'

struct pipes {
	int alive[2];
	int watch[2];
};

static bool open_pipes(struct pipes *pipes, struct fact *why)
{
	if (pipe2(pipes->alive, O_CLOEXEC) < 0) {
		fact_set_errno(why, errno, "pipe");
		return false;
	}
	if (pipe2(pipes->watch, O_CLOEXEC) == 0)
		return true;
	fact_set_errno(why, errno, "pipe");
	close(pipes->alive[0]);
	close(pipes->alive[1]);
	return false;
}

static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
}

/* Standard error stays: it is where the last word goes. */
static void leave_terminal(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (nothing < 0)
		return;
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	close(nothing);
}

/* Returns when all others are gone; true if we were bidden farewell. */
static bool await_end(int alive)
{
	bool farewell = false;
	char byte;
	ssize_t got;

	do {
		got = read(alive, &byte, 1);
		if (got > 0 && byte == FAREWELL)
			farewell = true;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return farewell;
}

static void guard(const struct pipes *pipes, const struct clock_switch *clock,
	void (*orphaned)(const struct clock_switch *clock, const struct fact *restored))
{
	pid_t parent = getppid();
	struct fact restored = {0};
	bool farewell;

	prctl(PR_SET_NAME, NAME);
	close(pipes->alive[1]);
	close(pipes->watch[0]);
	leave_terminal();
	farewell = await_end(pipes->alive[0]);
	clock_switch_restore(clock, &restored);
	if (!farewell || getppid() != parent)
		orphaned(clock, &restored);
	_exit(fact_is_known(&restored) ? 0 : 1);
}

bool guardian_start(struct guardian *guardian, const struct clock_switch *clock,
	void (*orphaned)(const struct clock_switch *clock, const struct fact *restored),
	struct fact *why)
{
	struct pipes pipes;
	sigset_t before;

	if (!open_pipes(&pipes, why))
		return false;
	/* Already when it begins: a signal must not find it with its guard down. */
	sigprocmask(SIG_SETMASK, NULL, &before);
	block_signals();
	guardian->pid = fork();
	if (guardian->pid == 0)
		guard(&pipes, clock, orphaned);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (guardian->pid < 0)
		fact_set_errno(why, errno, "fork of the guardian");
	close(pipes.alive[0]);
	close(pipes.watch[1]);
	guardian->alive = pipes.alive[1];
	guardian->watch = pipes.watch[0];
	return guardian->pid > 0;
}

static bool is_gone_within(const struct guardian *guardian, int milliseconds)
{
	struct pollfd end = {.fd = guardian->watch};

	return poll(&end, 1, milliseconds) > 0;
}

bool guardian_is_there(const struct guardian *guardian)
{
	return !is_gone_within(guardian, 0);
}

static void bid_farewell(struct guardian *guardian)
{
	void (*before)(int) = signal(SIGPIPE, SIG_IGN);
	char byte = FAREWELL;

	/* If it is gone already there is nobody to tell. */
	(void)!write(guardian->alive, &byte, 1);
	signal(SIGPIPE, before);
	close(guardian->alive);
	guardian->alive = -1;
}

/* One that was stopped, or waits for a child that cannot be killed, would wait for ever. */
static void reap(struct guardian *guardian)
{
	if (!is_gone_within(guardian, PATIENCE_MS))
		kill(guardian->pid, SIGKILL);
	while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(guardian->watch);
	guardian->watch = -1;
}

void guardian_finish(
	struct guardian *guardian, const struct clock_switch *clock, struct fact *restored)
{
	bid_farewell(guardian);
	reap(guardian);
	clock_switch_restore(clock, restored);
}
