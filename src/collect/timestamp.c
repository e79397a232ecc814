/* SPDX-License-Identifier: MIT */
/*
 * Reads the time and the uptime that a document carries by raw system call, since the vDSO of this
 * host may crash; in a child where a seccomp filter may kill for that.
 */
#include "collect.h"

#include <sys/prctl.h>
#include <time.h>

#include "base/child.h"
#include "base/time.h"

struct clocks {
	int64_t realtime_s;
	int64_t boottime_ns;
};

static void read_clocks(void *clocks)
{
	*(struct clocks *)clocks = (struct clocks){
		.realtime_s = kernel_clock_ns(CLOCK_REALTIME) / NS_PER_SECOND,
		.boottime_ns = kernel_clock_ns(CLOCK_BOOTTIME),
	};
}

void timestamp_collect(const struct root *root, struct timestamp_evidence *timestamp,
	const struct deadline *deadline)
{
	struct fact *time_fact = &timestamp->time.fact, *uptime_fact = &timestamp->uptime_fact;
	struct clocks clocks = {0};
	char text[TIMESTAMP_SIZE];
	bool done = root->live;
	struct tm utc;
	time_t seconds;

	if (!root->live)
		fact_set(time_fact, FACT_ABSENT,
			"a captured tree does not say when it was captured");
	else if (prctl(PR_GET_SECCOMP) == 0)
		read_clocks(&clocks);
	else
		done = child_probe(read_clocks, &clocks, sizeof(clocks), deadline, time_fact);
	if (!done) {
		*uptime_fact = *time_fact;
		return;
	}
	seconds = (time_t)clocks.realtime_s;
	if (seconds && gmtime_r(&seconds, &utc) &&
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
		fact_set_text(&timestamp->time, text);
	else
		fact_set(time_fact, FACT_DENIED, "the kernel refuses to read CLOCK_REALTIME");
	timestamp->uptime_s = (double)clocks.boottime_ns / NS_PER_SECOND;
	if (clocks.boottime_ns)
		fact_set_known(uptime_fact);
	else
		fact_set(uptime_fact, FACT_DENIED, "the kernel refuses to read CLOCK_BOOTTIME");
}
