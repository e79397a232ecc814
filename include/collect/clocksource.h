/* SPDX-License-Identifier: MIT */
/* The evidence of the name: which clocksource the kernel uses and which it offers. */
#ifndef VDSOCHECK_COLLECT_CLOCKSOURCE_H
#define VDSOCHECK_COLLECT_CLOCKSOURCE_H

#include "base/root.h"
#include "evidence.h"

/* Reads both files below /sys/devices/system/clocksource/clocksource0. */
void clocksource_collect(const struct root *root, struct clocksource_evidence *clocksource);

/*
 * Reads the current one again, and keeps it as the latest, and in changed_to where it is
 * another one than the first. True if it has changed since the last time it was read.
 */
bool clocksource_collect_change(const struct root *root, struct clocksource_evidence *clocksource);

#endif
