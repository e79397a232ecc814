/* SPDX-License-Identifier: MIT */
/*
 * For guests only: puts CLOCK_REALTIME back by a millisecond, ten times a second, while the
 * command runs. What `vdsocheck warp` then sees are no warps, and it must not say so.
 *
 *   set_back COMMAND...
 */
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_NS 1000000
#define NS_PER_SECOND 1000000000
#define PERIOD_NS 100000000

static int step_back(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_nsec -= STEP_NS;
	if (now.tv_nsec < 0) {
		now.tv_nsec += NS_PER_SECOND;
		now.tv_sec--;
	}
	return clock_settime(CLOCK_REALTIME, &now);
}

int main(int argc, char **argv)
{
	static const struct timespec period = {.tv_nsec = PERIOD_NS};
	unsigned steps = 0;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	pid = fork();
	if (pid == 0) {
		execv(argv[1], argv + 1);
		_exit(127);
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		steps += step_back() == 0;
		nanosleep(&period, NULL);
	}
	fprintf(stderr, "set back %u times\n", steps);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
