/* SPDX-License-Identifier: MIT */
/*
 * For guests only: runs a command many times beside busy loops, while the clock is stepped and
 * slewed as an unsteady NTP client would, and prints how it ended. If there are two, the
 * clocksource changes, too.
 *
 *   stepped COUNT BUSY CLOCKSOURCE,CLOCKSOURCE|- COMMAND...
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CURRENT "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define NS_PER_SECOND 1000000000

static volatile unsigned *steps;

static void step(long ns)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec += ns / NS_PER_SECOND;
	now.tv_nsec += ns % NS_PER_SECOND;
	if (now.tv_nsec < 0) {
		now.tv_nsec += NS_PER_SECOND;
		now.tv_sec--;
	} else if (now.tv_nsec >= NS_PER_SECOND) {
		now.tv_nsec -= NS_PER_SECOND;
		now.tv_sec++;
	}
	*steps += clock_settime(CLOCK_REALTIME, &now) == 0;
}

/* The rates are in 2^-16 ppm, the tick in us. */
static void slew(long frequency, long tick)
{
	struct timex change = {
		.modes = ADJ_FREQUENCY | ADJ_TICK, .freq = frequency, .tick = 10000 + tick};

	*steps += adjtimex(&change) >= 0;
}

static void change_clocksource(const char *name, size_t length)
{
	int file = open(CURRENT, O_WRONLY);

	if (file >= 0 && write(file, name, length) == (ssize_t)length)
		++*steps;
	close(file);
}

static void disturb(const char *clocksources)
{
	static const long by[] = {
		50000, -50000, NS_PER_SECOND, -NS_PER_SECOND, 3000000, -3000000, 200, -200};
	const char *second = strchr(clocksources, ',');
	unsigned dice = 1;

	for (;;) {
		struct timespec pause;

		dice = dice * 1103515245 + 12345;
		pause = (struct timespec){.tv_nsec = 100000 + dice / 65536 % 2000000};
		step(by[dice / 65536 % 8]);
		if (dice / 65536 % 3 == 0)
			slew(dice & 1 ? 500 << 16 : -500 * 65536, dice & 2 ? 900 : -900);
		if (second && dice / 65536 % 16 == 0)
			change_clocksource(clocksources, (size_t)(second - clocksources));
		else if (second && dice / 65536 % 16 == 8)
			change_clocksource(second + 1, strlen(second + 1));
		nanosleep(&pause, NULL);
	}
}

static void start(const char *clocksources)
{
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (clocksources)
		disturb(clocksources);
	for (;;)
		;
}

/* Returns the exit status; *wrong: the first word or the second is a verdict of this name. */
static int run(char **command, int *wrong)
{
	char text[4096] = "";
	size_t used = 0;
	ssize_t got;
	int ends[2], status;
	pid_t pid;

	if (pipe(ends) < 0 || (pid = fork()) < 0)
		return 3;
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execv(command[0], command);
		_exit(127);
	}
	close(ends[1]);
	while (used < sizeof(text) - 1 &&
		(got = read(ends[0], text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)got;
	close(ends[0]);
	waitpid(pid, &status, 0);
	*wrong += strncmp(text, "wrong: ", 7) == 0;
	return WIFEXITED(status) && WEXITSTATUS(status) < 4 ? WEXITSTATUS(status) : 3;
}

int main(int argc, char **argv)
{
	int statuses[4] = {0}, wrong = 0;

	if (argc < 5)
		return 2;
	steps = mmap(
		NULL, sizeof(*steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	start(argv[3]);
	for (int i = 0; i < atoi(argv[2]); i++)
		start(NULL);
	for (int i = 0; i < atoi(argv[1]); i++)
		statuses[run(argv + 4, &wrong)]++;
	printf("%d ok, %d bad, %d unknown, %d failed, %d wrong, %u steps\n", statuses[0],
		statuses[1], statuses[2], statuses[3], wrong, *steps);
	return 0;
}
