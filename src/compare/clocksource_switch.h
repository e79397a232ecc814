/* SPDX-License-Identifier: MIT */
/*
 * The kernel's clocksource, changed by sysfs and put back. Nobody but the holder of the lock
 * changes it: two comparisons at once would restore each other's.
 */
#ifndef VDSOCHECK_COMPARE_CLOCKSOURCE_SWITCH_H
#define VDSOCHECK_COMPARE_CLOCKSOURCE_SWITCH_H

#include <stdbool.h>

#include "base/root.h"
#include "evidence.h"

#define CLOCK_SWITCH_PATH "/sys/devices/system/clocksource/clocksource0/current_clocksource"

struct clock_switch {
	const struct root *root; /* not owned */
	int file;                /* owned; the lock goes when the last copy is closed */
	char original[CLOCKSOURCE_NAME_SIZE]; /* as found when the lock was taken */
};

enum clock_switch_trouble {
	CLOCK_SWITCH_FINE,
	CLOCK_SWITCH_CLOSED, /* the file cannot be opened for writing */
	CLOCK_SWITCH_BUSY,   /* somebody else holds the lock */
	CLOCK_SWITCH_UNREAD, /* the current clocksource cannot be read */
};

/*
 * Takes the lock and the name of the current clocksource. On trouble *why has the reason and
 * nothing is to be closed. Forked children share the lock.
 */
enum clock_switch_trouble clock_switch_open(
	struct clock_switch *clock, const struct root *root, struct fact *why);
void clock_switch_close(struct clock_switch *clock);

/*
 * Makes the kernel use this clocksource, unless it does already, and reads back whether it
 * does: it takes any name without a word. False with the reason.
 */
bool clock_switch_to(const struct clock_switch *clock, const char *name, struct fact *why);

/* The same, with the original one, and not giving up at once. */
bool clock_switch_restore(const struct clock_switch *clock, struct fact *why);

#endif
