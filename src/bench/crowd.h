/* SPDX-License-Identifier: MIT */
/*
 * Crowds: the same call on one CPU and on many at once. A clock that is read from a device
 * (hpet, acpi_pm) is read by one CPU at a time, which a single thread does not show.
 */
#ifndef VDSOCHECK_BENCH_CROWD_H
#define VDSOCHECK_BENCH_CROWD_H

#include "run.h"

/* Fills bench->crowds. The threads are processes: the kernel's locks are the same for both. */
void bench_crowd_all(struct bench *bench, const struct bench_plan *plan, bench_progress *progress);

#endif
