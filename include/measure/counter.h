/* SPDX-License-Identifier: MIT */
/*
 * The CPU's own counter, which a vDSO clock reads: rdtsc on x86, cntvct on arm and so on.
 * It is measured, and it is the timebase: unlike the clocks it does not depend on the
 * clocksource that is being judged.
 */
#ifndef VDSOCHECK_MEASURE_COUNTER_H
#define VDSOCHECK_MEASURE_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"

/* The instruction's name; "" on an architecture without one here. */
const char *counter_name(void);

/*
 * Known, and true, if user space may read the counter and it advances; absent if there is none,
 * failed with the signal if reading it faults (switched off by prctl(PR_SET_TSC), trapped).
 */
bool counter_probe(struct fact *fact);

/*
 * Ticks, read after earlier instructions have completed. Faults, or returns 0, where
 * counter_probe() does not set known.
 */
uint64_t counter_read_ordered(void);

/*
 * The rate in Hz that a register has: arm64's CNTFRQ_EL0, which the firmware writes. 0: there is
 * none. Needs counter_probe() to have set known.
 */
int64_t counter_register_hz(void);

/* Reads it `count` times, unordered: the timed loop. */
void counter_repeat(size_t count);

/* Reads it `count` times as a vDSO does, ordered after earlier instructions. */
void counter_repeat_ordered(size_t count);

#endif
