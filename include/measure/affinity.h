/* SPDX-License-Identifier: MIT */
/* The CPUs that we may run on. */
#ifndef VDSOCHECK_MEASURE_AFFINITY_H
#define VDSOCHECK_MEASURE_AFFINITY_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* CPUs beyond it are left alone: more than any kernel is built for. */
#define AFFINITY_CPU_MAX 8192

/*
 * The numbers of the CPUs that this process may run on, in ascending order, at most `max` of
 * them. Returns how many; 0 if the kernel does not say.
 */
size_t affinity_list(int *cpus, size_t max);

/* Ties the process to one CPU; false if that is refused. */
bool affinity_pin(int cpu);

#endif
