/* SPDX-License-Identifier: MIT */
/*
 * What a read of the clock by system call costs one process alone, and each of COUNT at once, each
 * on a CPU of its own: by hand, to compare `vdsocheck bench --threads` with. Shares no code with
 * src/.
 *
 *	threads COUNT
 *
 * prints "ALONE TOGETHER", both in ns per call: the least of several rounds.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A round is short, so that nothing else runs in some of them on a busy machine. */
#define CALLS 5000
#define ROUNDS 16
#define COUNT_MAX 64

/* In memory that all processes share. */
static struct {
	int ready, done;
	double ns[COUNT_MAX];
} * shared;

static void read_clock(struct timespec *now)
{
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, now);
}

/* Reads the clock until all have made their calls: none of them ever runs alone. */
static void work(int index, int count)
{
	struct timespec start, end, now;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)index, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&shared->ready, __ATOMIC_SEQ_CST) < count)
		;
	read_clock(&start);
	for (int i = 0; i < CALLS; i++)
		read_clock(&now);
	read_clock(&end);
	shared->ns[index] = ((double)(end.tv_sec - start.tv_sec) * 1e9 +
				    (double)(end.tv_nsec - start.tv_nsec)) /
	                    CALLS;
	__atomic_add_fetch(&shared->done, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&shared->done, __ATOMIC_SEQ_CST) < count)
		read_clock(&now);
}

/* ns per call, the mean of the processes. */
static double run_once(int count)
{
	double sum = 0;

	shared->ready = shared->done = 0;
	for (int i = 0; i < count; i++) {
		if (fork() == 0) {
			work(i, count);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < count; i++)
		sum += shared->ns[i];
	return sum / count;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 2;
	double alone = 0, together = 0;

	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || count < 1 || count > COUNT_MAX)
		return 2;
	for (int i = 0; i < ROUNDS; i++) {
		double one = run_once(1), all = run_once(count);

		alone = i == 0 || one < alone ? one : alone;
		together = i == 0 || all < together ? all : together;
	}
	printf("%.1f %.1f\n", alone, together);
	return fflush(stdout) == 0 ? 0 : 1;
}
