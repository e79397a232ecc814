/* SPDX-License-Identifier: MIT */
/*
 * Writes two words into a file by turns until it is killed:
 *
 *     flap FILE A B
 *
 * The file is current_clocksource: a host whose clock goes good and bad while
 * it is measured.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Less than one part of a proof or of the oracle's count takes in a guest. */
#define HALF_PERIOD_NS 500000

int main(int argc, char **argv)
{
	int file, turn;

	if (argc != 4) {
		fprintf(stderr, "usage: flap FILE A B\n");
		return 2;
	}
	file = open(argv[1], O_WRONLY);
	if (file < 0) {
		perror(argv[1]);
		return 1;
	}
	/* Else one CPU's scheduler lets the measuring process finish first. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
	for (turn = 0;; turn = !turn) {
		const char *word = argv[2 + turn];

		if (pwrite(file, word, strlen(word), 0) < 0) {
			perror(argv[1]);
			return 1;
		}
		nanosleep(&(struct timespec){.tv_nsec = HALF_PERIOD_NS}, NULL);
	}
}
