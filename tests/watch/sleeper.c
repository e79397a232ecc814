/* SPDX-License-Identifier: MIT */
/*
 * Sleeps again and again, as `vdsocheck watch` does, and does nothing else: what its wakeups cost
 * is the machine's part of what those of the watch cost.
 *
 *     sleeper MILLISECONDS
 */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

int main(int count, char **words)
{
	long pause_ms = count == 2 ? strtol(words[1], NULL, 10) : 1000;
	struct timespec pause = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000};
	sigset_t none;

	sigemptyset(&none);
	for (;;)
		sigtimedwait(&none, NULL, &pause);
}
