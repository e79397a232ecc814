/* SPDX-License-Identifier: MIT */
/*
 * The time and the uptime that a document carries. Both are read by raw system call, since the
 * vDSO of this host may crash, and under a seccomp filter in a child, since it may kill for that.
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

static void describe_clocks(const struct clocks *clocks, struct timestamp_evidence *timestamp)
{
	time_t seconds = (time_t)clocks->realtime_s;
	char text[TIMESTAMP_SIZE];
	struct tm utc;

	if (seconds && gmtime_r(&seconds, &utc) &&
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
		fact_set_text(&timestamp->time, text);
	else
		fact_set(&timestamp->time.fact, FACT_DENIED,
			"the kernel refuses to read CLOCK_REALTIME");
	timestamp->uptime_s = (double)clocks->boottime_ns / NS_PER_SECOND;
	if (clocks->boottime_ns)
		fact_set_known(&timestamp->uptime_fact);
	else
		fact_set(&timestamp->uptime_fact, FACT_DENIED,
			"the kernel refuses to read CLOCK_BOOTTIME");
}

void timestamp_collect(const struct root *root, struct timestamp_evidence *timestamp,
	const struct deadline *deadline)
{
	struct fact *why = &timestamp->time.fact;
	struct clocks clocks = {0};

	if (root->live) {
		bool done = true;

		if (prctl(PR_GET_SECCOMP) == 0)
			read_clocks(&clocks);
		else
			done = child_probe(read_clocks, &clocks, sizeof(clocks), deadline, why);
		if (done)
			describe_clocks(&clocks, timestamp);
		else
			timestamp->uptime_fact = *why;
		return;
	}
	fact_set(why, FACT_ABSENT, "a captured tree does not say when it was captured");
	timestamp->uptime_fact = *why;
}
