/* SPDX-License-Identifier: MIT */
/*
 * The article's experiment: N calls of gettimeofday() and nothing else, with
 * the real, user and system time that they took, as time(1) would print them.
 *
 *     article [CALLS]        (5 million unless told)
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? strtol(argv[1], NULL, 10) : 5000000, i;
	struct timeval begin, now;
	struct rusage usage;

	if (calls <= 0) {
		fprintf(stderr, "usage: article [CALLS]\n");
		return 2;
	}
	gettimeofday(&begin, NULL);
	for (i = 0; i < calls; i++)
		gettimeofday(&now, NULL);
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"calls\":%ld,\"real\":%.3f,\"user\":%.3f,\"sys\":%.3f}\n", calls,
		seconds(now) - seconds(begin), seconds(usage.ru_utime), seconds(usage.ru_stime));
	return fflush(stdout) == 0 ? 0 : 1;
}
