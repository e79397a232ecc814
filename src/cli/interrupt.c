/* SPDX-License-Identifier: MIT */
#include "cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/kernel_clock.h"

/*
 * One wish to end may come as two signals: timeout(1) sends its signal to the program and
 * then to the whole group. The second one must not cost the output that the first one asked
 * for, however long the first has been at work when it comes.
 */
#define PATIENCE_NS INT64_C(2000000000)

static const int signals[] = {SIGINT, SIGTERM};

#define SIGNAL_COUNT (sizeof(signals) / sizeof(signals[0]))

static volatile bool *to_stop;
static volatile int64_t first_ns;

/* Nothing but system calls, and errno as it was. */
static void stop(int number)
{
	int error = errno;
	int64_t now = kernel_clock_ns(CLOCK_MONOTONIC);

	errno = error;
	if (!first_ns)
		first_ns = now;
	*to_stop = true;
	if (now - first_ns < PATIENCE_NS)
		return;
	/* It is blocked until we return, and then ends the process. */
	signal(number, SIG_DFL);
	raise(number);
}

static void set_all(void (*handler)(int number))
{
	struct sigaction action = {.sa_handler = handler};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < SIGNAL_COUNT; i++)
		sigaction(signals[i], &action, NULL);
}

void interrupt_watch(volatile bool *flag)
{
	to_stop = flag;
	first_ns = 0;
	set_all(stop);
}

void interrupt_ignore(void)
{
	set_all(SIG_IGN);
}
