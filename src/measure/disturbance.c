/* SPDX-License-Identifier: MIT */
#include "measure/disturbance.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The vDSO, which may be what is broken, is not asked for the CPU. */
struct disturbance_mark disturbance_mark(void)
{
	struct disturbance_mark mark = {.switches = -1, .cpu = -1};
	struct rusage usage;
	unsigned cpu;

	if (getrusage(RUSAGE_THREAD, &usage) == 0)
		mark.switches = usage.ru_nvcsw + usage.ru_nivcsw;
	if (syscall(SYS_getcpu, &cpu, NULL, NULL) == 0)
		mark.cpu = (int)cpu;
	return mark;
}

enum disturbance disturbance_between(struct disturbance_mark before, struct disturbance_mark after)
{
	if (before.cpu != after.cpu)
		return DISTURBANCE_MOVED;
	if (before.switches != after.switches)
		return DISTURBANCE_PREEMPTED;
	return DISTURBANCE_NONE;
}
