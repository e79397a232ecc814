/* SPDX-License-Identifier: MIT */
/*
 * Signals and time while a program is counted. It is to end as it would without us, and its counts
 * are to be printed: no signal ends vdsocheck before the program has ended. Signals are blocked and
 * taken between two waits, when the program has not been reaped and its ID cannot be that of
 * another process.
 */
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>

#include "base/child.h"
#include "base/privileges.h"
#include "base/units.h"
#include "count.h"

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

void trace_wait_begin(struct trace_wait *wait)
{
	struct sigaction old;

	privileges_keep(wait->privileges | (wait->program ? PRIVILEGES(CAP_KILL) : 0));
	sigemptyset(&wait->taken);
	/* A signal that our parent ignores stays ignored: nohup(1). */
	for (size_t i = 0; i < ARRAY_SIZE(passed_on) && wait->program; i++) {
		if (sigaction(passed_on[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaddset(&wait->taken, passed_on[i]);
	}
	sigprocmask(SIG_BLOCK, &wait->taken, &wait->before);
	wait->deadline = wait->limit_ns ? deadline_after(wait->limit_ns) : (struct deadline){0};
}

/* The next of them that came; 0: none. */
static int take_signal(const struct trace_wait *wait, siginfo_t *info)
{
	static const struct timespec none;
	int number = sigtimedwait(&wait->taken, info, &none);

	return number > 0 ? number : 0;
}

static bool is_done(const struct trace_wait *wait)
{
	return wait->over && !wait->program;
}

static void look_around(struct trace_wait *wait)
{
	int64_t left = deadline_left_ns(&wait->deadline);
	siginfo_t info;
	int number;

	while ((number = take_signal(wait, &info))) {
		if (number == SIGTERM || !wait->program)
			wait->over = true;
		/* The terminal's signals come from the kernel, to the whole foreground group. */
		if (wait->program && info.si_code <= 0)
			kill(wait->program, number);
	}
	if (wait->limit_ns && wait->show)
		wait->show(1 - (double)left / (double)wait->limit_ns);
	if (left == 0 || (wait->stop && *wait->stop))
		wait->over = true;
	if (left == 0 && wait->program)
		kill(wait->program, SIGTERM);
	if (left == 0)
		wait->deadline = (struct deadline){0};
}

bool trace_wait_pause(struct trace_wait *wait, int64_t ns)
{
	int64_t left = deadline_left_ns(&wait->deadline);
	const struct timespec pause = {.tv_nsec = (long)(left < ns ? left : ns)};

	nanosleep(&pause, NULL);
	look_around(wait);
	return !wait->over;
}

struct each {
	struct trace_wait *wait;
	trace_handler *handle;
	void *argument;
};

static bool handle_change(void *argument, pid_t id, int status, const struct rusage *usage)
{
	const struct each *each = argument;

	each->handle(each->argument, id, status, usage);
	return is_done(each->wait);
}

static bool poll_each(void *argument)
{
	const struct each *each = argument;

	look_around(each->wait);
	return is_done(each->wait);
}

int trace_wait_each(struct trace_wait *wait, trace_handler *handle, void *argument)
{
	struct each each = {wait, handle, argument};

	return child_wait(&(struct child_wait){.pid = -1,
		.options = __WALL,
		.deadline = DEADLINE_NONE,
		.changed = handle_change,
		.poll = poll_each,
		.argument = &each});
}

void trace_wait_again(struct trace_wait *wait, int64_t limit_ns)
{
	wait->limit_ns = limit_ns;
	wait->stop = NULL;
	wait->show = NULL;
	wait->over = false;
	wait->deadline = deadline_after(limit_ns);
}

/* A pending signal would end us now, before the counts are printed. */
void trace_wait_end(struct trace_wait *wait)
{
	siginfo_t info;

	while (take_signal(wait, &info))
		;
	sigprocmask(SIG_SETMASK, &wait->before, NULL);
}
