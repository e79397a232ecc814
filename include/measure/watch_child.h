/* SPDX-License-Identifier: MIT */
/* A child that is looked after while it works: for long work whose progress is shown. */
#ifndef VDSOCHECK_MEASURE_WATCH_CHILD_H
#define VDSOCHECK_MEASURE_WATCH_CHILD_H

#include <stdbool.h>

#include "base/fact.h"

/*
 * child_run() of child.h, which calls look(argument) some times a second until the child
 * has ended. With look NULL it is the same.
 */
bool watch_child_run(void (*work)(void *argument), void (*look)(void *argument), void *argument,
	unsigned seconds, struct fact *why);

#endif
