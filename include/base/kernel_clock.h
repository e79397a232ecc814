/* SPDX-License-Identifier: MIT */
/*
 * The time as the kernel tells it, by raw system call: right even where the vDSO crashes,
 * lies, or is what is being judged.
 */
#ifndef VDSOCHECK_BASE_KERNEL_CLOCK_H
#define VDSOCHECK_BASE_KERNEL_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of the clock; 0 if the system call was refused. */
int64_t kernel_clock_ns(clockid_t clock);

/* Whole seconds of the clock; 0 if the system call was refused. */
int64_t kernel_clock_seconds(clockid_t clock);

#endif
