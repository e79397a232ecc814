/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clocks by raw system call: right even where the vDSO crashes, lies, or is what is
 * being judged.
 */
#ifndef VDSOCHECK_BASE_CLOCK_H
#define VDSOCHECK_BASE_CLOCK_H

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

/* Nanoseconds of the clock; 0 if the system call was refused. */
int64_t kernel_clock_ns(clockid_t clock);

/* Whole seconds of the clock; 0 if the system call was refused. */
int64_t kernel_clock_seconds(clockid_t clock);

/* The time in seconds. */
double timeval_seconds(struct timeval time);

/* User and system time, in seconds. */
double rusage_seconds(const struct rusage *usage);

#endif
