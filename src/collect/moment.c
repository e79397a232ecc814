/* SPDX-License-Identifier: MIT */
/*
 * The time and the uptime that a document carries. Both are read by raw system call, since the
 * vDSO of this host may crash, and under a seccomp filter in a child, since it may kill for that.
 */
#include "collect.h"

#include <sys/prctl.h>
#include <time.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/units.h"

struct clocks {
	int64_t realtime_s;
	int64_t boottime_ns;
};

static void read_clocks(void *clocks)
{
	*(struct clocks *)clocks = (struct clocks){
		.realtime_s = kernel_clock_seconds(CLOCK_REALTIME),
		.boottime_ns = kernel_clock_ns(CLOCK_BOOTTIME),
	};
}

static void describe_clocks(const struct clocks *clocks, struct moment_evidence *moment)
{
	time_t seconds = (time_t)clocks->realtime_s;
	char text[MOMENT_TIME_SIZE];
	struct tm utc;

	if (seconds && gmtime_r(&seconds, &utc) &&
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
		fact_set_text(&moment->time, text);
	else
		fact_set(&moment->time.fact, FACT_DENIED,
			"the kernel refuses to read CLOCK_REALTIME");
	moment->uptime_s = (double)clocks->boottime_ns / NS_PER_SECOND;
	if (clocks->boottime_ns)
		fact_set_known(&moment->uptime_fact);
	else
		fact_set(&moment->uptime_fact, FACT_DENIED,
			"the kernel refuses to read CLOCK_BOOTTIME");
}

void moment_collect(
	const struct root *root, struct moment_evidence *moment, const struct deadline *deadline)
{
	struct fact *why = &moment->time.fact;
	struct clocks clocks = {0};

	if (root->live) {
		bool done = true;

		if (prctl(PR_GET_SECCOMP) == 0)
			read_clocks(&clocks);
		else
			done = child_probe(read_clocks, &clocks, sizeof(clocks), deadline, why);
		if (done)
			describe_clocks(&clocks, moment);
		else
			moment->uptime_fact = *why;
		return;
	}
	fact_set(why, FACT_ABSENT, "a captured tree does not say when it was captured");
	moment->uptime_fact = *why;
}
