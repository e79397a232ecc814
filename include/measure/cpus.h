/* SPDX-License-Identifier: MIT */
/* Lists and restricts the CPUs that this process runs on, and shows whether it stayed on one. */
#ifndef VDSOCHECK_MEASURE_CPUS_H
#define VDSOCHECK_MEASURE_CPUS_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fact.h"

/* More CPUs than any kernel is built for. */
#define CPUS_MAX 8192

/*
 * Lists the numbers of the CPUs that this process may run on, in ascending order, at most `max` of
 * them. Returns how many; 0 if the kernel refuses to list them.
 */
size_t cpus_list(int *cpus, size_t max);

/*
 * Keeps at most `max` of the CPUs, evenly spread: neighbours may be threads of one core. Returns
 * how many are left.
 */
size_t cpus_spread(int *cpus, size_t count, size_t max);

/* Restricts the process to these CPUs. Returns false if that is refused. */
bool cpus_use(const int *cpus, size_t count);

/* Restricts the process to one CPU. Returns false if that is refused. */
bool cpus_pin(int cpu);

/*
 * Pins the process to the current CPU, which is as good as any: another one may be busy. Returns
 * the CPU, or -1 if pinning is refused.
 */
int cpus_pin_here(void);

/*
 * Starts a thread with a small stack and restricts it to one CPU. Returns false with the reason if
 * either is refused; a thread that was not restricted runs on, unknown to the caller.
 */
bool cpus_start_thread(
	pthread_t *thread, int cpu, void *(*run)(void *), void *argument, struct fact *why);

/* A snapshot of the kernel's counts for this thread. */
struct sched_mark {
	long switches; /* context switches so far, of either kind; -1: unknown */
	int cpu;       /* -1: unknown */
};

/* Takes the snapshot by system calls. */
struct sched_mark sched_mark_take(void);

#endif
