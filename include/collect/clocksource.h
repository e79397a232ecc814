/* SPDX-License-Identifier: MIT */
/* The first witness, the name: which clocksource the kernel uses and which it offers. */
#ifndef VDSOCHECK_COLLECT_CLOCKSOURCE_H
#define VDSOCHECK_COLLECT_CLOCKSOURCE_H

#include "base/root.h"
#include "evidence.h"

/* Reads both files below /sys/devices/system/clocksource/clocksource0. */
void clocksource_collect(const struct root *root, struct clocksource_evidence *clocksource);

/* Reads the current one again: it may have changed while others were measuring. */
void clocksource_collect_change(const struct root *root, struct clocksource_evidence *clocksource);

#endif
