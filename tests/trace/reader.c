/* SPDX-License-Identifier: MIT */
/*
 * A program whose reads of the clock come from functions known beforehand, for any C library.
 *	reader N      N clock_gettime(CLOCK_MONOTONIC) by read_clock(), 2 * N gettimeofday() by
 *	              read_time_of_day() and 3 * N time() by read_time()
 */
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define KEEP __attribute__((noinline, used))

KEEP static int read_clock(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_MONOTONIC, &now) + 1;
}

KEEP static int read_time_of_day(void)
{
	struct timeval now;

	return gettimeofday(&now, NULL) + 1;
}

KEEP static int read_time(void)
{
	time_t now;

	return time(&now) != (time_t)-1;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0, done = 0;

	for (long i = 0; i < count; i++)
		done += read_clock();
	for (long i = 0; i < 2 * count; i++)
		done += read_time_of_day();
	for (long i = 0; i < 3 * count; i++)
		done += read_time();
	return done != 6 * count;
}
