/* SPDX-License-Identifier: MIT */
/*
 * Signals while a program is counted. It is to end as it would without us, and its counts are
 * to be printed: no signal ends vdsocheck before the program has ended. The handlers only note
 * what came. It is sent from between two waits, when the program has not been reaped and its ID is
 * not yet that of another process.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

#include "base/deadline.h"
#include "base/units.h"
#include "run.h"

#define TICK_US 100000

static volatile pid_t watched; /* 0: the program has ended */
static struct deadline deadline;
static unsigned int noted; /* signals for the program, a bit each */
static volatile bool over;

static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

#define FORWARDED_COUNT ARRAY_SIZE(forwarded)

static struct sigaction before[FORWARDED_COUNT];
static struct sigaction before_alarm;

static void note(int number, siginfo_t *information, void *context)
{
	(void)context;
	/* The terminal's signals come from the kernel, to the whole foreground group. */
	if (information->si_code <= 0)
		__atomic_fetch_or(&noted, 1U << number, __ATOMIC_RELAXED);
	if (number == SIGTERM || !watched)
		over = true;
}

static void check_time(int number)
{
	(void)number;
	if (deadline_left_ns(&deadline) > 0)
		return;
	deadline = (struct deadline){0};
	__atomic_fetch_or(&noted, 1U << SIGTERM, __ATOMIC_RELAXED);
	over = true;
}

static bool set_timer(int64_t first_us, int64_t interval_us)
{
	struct itimerval timer = {.it_value = {.tv_sec = (time_t)(first_us / US_PER_SECOND),
					  .tv_usec = (suseconds_t)(first_us % US_PER_SECOND)},
		.it_interval = {.tv_sec = (time_t)(interval_us / US_PER_SECOND),
			.tv_usec = (suseconds_t)(interval_us % US_PER_SECOND)}};

	return setitimer(ITIMER_REAL, &timer, NULL) == 0;
}

static int start_ticks(void (*handler)(int number))
{
	struct sigaction action = {.sa_handler = handler};

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGALRM, &action, &before_alarm) < 0 || !set_timer(TICK_US, TICK_US))
		return errno;
	return 0;
}

/* If the timer cannot be stopped its handler stays: the default action would end us. */
static void end_ticks(void)
{
	if (set_timer(0, 0))
		sigaction(SIGALRM, &before_alarm, NULL);
}

/*
 * A signal that our parent ignores stays ignored: nohup(1). Between a look at what came and the
 * wait that follows, a signal would wake nothing: the next tick does.
 */
int trace_signals_start(pid_t program, int64_t limit_ns)
{
	struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};

	watched = program;
	if (limit_ns)
		deadline = deadline_after(limit_ns);
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < FORWARDED_COUNT; i++) {
		sigaction(forwarded[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(forwarded[i], &action, NULL);
	}
	return start_ticks(check_time);
}

void trace_signals_pass(void)
{
	unsigned int signals = __atomic_exchange_n(&noted, 0, __ATOMIC_RELAXED);

	for (size_t i = 0; i < FORWARDED_COUNT; i++) {
		if (watched && signals & 1U << forwarded[i])
			kill(watched, forwarded[i]);
	}
}

void trace_signals_forget(void)
{
	watched = 0;
}

bool trace_signals_over(void)
{
	return over;
}

void trace_signals_end(void)
{
	end_ticks();
	for (size_t i = 0; i < FORWARDED_COUNT; i++)
		sigaction(forwarded[i], &before[i], NULL);
}

static void interrupt(int number)
{
	(void)number;
}

int trace_tick_start(void)
{
	return start_ticks(interrupt);
}

void trace_tick_end(void)
{
	end_ticks();
}
