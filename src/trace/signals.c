/* SPDX-License-Identifier: MIT */
/*
 * Signals while a program is counted. It is to end as it would without us, and its counts are
 * to be printed: no signal ends vdsocheck before the program has ended.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

#include "base/units.h"
#include "run.h"

#define TICK_US 100000

static volatile pid_t watched;

static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

#define FORWARDED_COUNT ARRAY_SIZE(forwarded)

static struct sigaction before[FORWARDED_COUNT];
static struct sigaction before_alarm;

/* The terminal's signals come from the kernel, to the whole foreground group. */
static void forward(int number, siginfo_t *information, void *context)
{
	(void)context;
	if (information->si_code <= 0)
		kill(watched, number);
}

static void end_program(int number)
{
	(void)number;
	kill(watched, SIGTERM);
}

static void set_timer(int64_t first_us, int64_t interval_us)
{
	struct itimerval timer = {.it_value = {.tv_sec = (time_t)(first_us / US_PER_SECOND),
					  .tv_usec = (suseconds_t)(first_us % US_PER_SECOND)},
		.it_interval = {.tv_sec = (time_t)(interval_us / US_PER_SECOND),
			.tv_usec = (suseconds_t)(interval_us % US_PER_SECOND)}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static void set_alarm_handler(void (*handler)(int number))
{
	struct sigaction action = {.sa_handler = handler};

	sigemptyset(&action.sa_mask);
	sigaction(SIGALRM, &action, &before_alarm);
}

/* A signal that our parent ignores stays ignored: nohup(1). */
void trace_signals_forward(pid_t pid, int64_t limit_ns)
{
	struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};

	watched = pid;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < FORWARDED_COUNT; i++) {
		sigaction(forwarded[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(forwarded[i], &action, NULL);
	}
	set_alarm_handler(end_program);
	if (limit_ns)
		set_timer(limit_ns / 1000, 0);
}

void trace_signals_end(void)
{
	set_timer(0, 0);
	sigaction(SIGALRM, &before_alarm, NULL);
	for (size_t i = 0; i < FORWARDED_COUNT; i++)
		sigaction(forwarded[i], &before[i], NULL);
}

static void interrupt(int number)
{
	(void)number;
}

void trace_tick_start(void)
{
	set_alarm_handler(interrupt);
	set_timer(TICK_US, TICK_US);
}

void trace_tick_end(void)
{
	set_timer(0, 0);
	sigaction(SIGALRM, &before_alarm, NULL);
}
