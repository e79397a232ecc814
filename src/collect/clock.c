/* SPDX-License-Identifier: MIT */
/*
 * Reads the time, the uptime and the kernel's NTP state without the vDSO, which may crash here; in
 * a child where a seccomp filter may kill for the calls.
 */
#include "collect.h"

#include <errno.h>
#include <sys/timex.h>
#include <time.h>

#include "base/child.h"

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
	struct fact *time_fact = &timestamp->time.fact, *uptime_fact = &timestamp->uptime_s.fact;
	struct clocks clocks = {0};
	char text[TIMESTAMP_SIZE];
	struct tm utc;
	time_t seconds;

	fact_set(time_fact, FACT_ABSENT, "a captured tree does not say when it was captured");
	if (!root->live ||
		!child_probe(read_clocks, &clocks, sizeof(clocks), deadline, time_fact)) {
		*uptime_fact = *time_fact;
		return;
	}
	seconds = (time_t)clocks.realtime_s;
	if (seconds && gmtime_r(&seconds, &utc) &&
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
		fact_set_text(&timestamp->time, text);
	else
		fact_set(time_fact, FACT_DENIED, "the kernel refuses to read CLOCK_REALTIME");
	if (clocks.boottime_ns)
		fact_set_real(&timestamp->uptime_s, (double)clocks.boottime_ns / NS_PER_SECOND);
	else
		fact_set(uptime_fact, FACT_DENIED, "the kernel refuses to read CLOCK_BOOTTIME");
}

/* modes is 0: nothing is set, and no privilege is needed. */
static void read_ntp(void *argument)
{
	struct ntp_evidence *ntp = argument;
	struct timex timex = {.modes = 0};
	int now = adjtimex(&timex);

	if (now < 0) {
		fact_set_errno(&ntp->fact, errno, "adjtimex");
		return;
	}
	ntp->synchronized = !(timex.status & STA_UNSYNC);
	ntp->leap_pending = (timex.status & (STA_INS | STA_DEL)) || now == TIME_INS ||
	                    now == TIME_DEL || now == TIME_OOP;
	ntp->offset_ns = timex.status & STA_NANO ? timex.offset : timex.offset * NS_PER_US;
	ntp->max_error_us = timex.maxerror;
	fact_set_known(&ntp->fact);
}

void ntp_collect(struct ntp_evidence *ntp, const struct deadline *deadline)
{
	struct fact why = {0};

	*ntp = (struct ntp_evidence){.fact.state = FACT_UNREAD};
	if (!child_probe(read_ntp, ntp, sizeof(*ntp), deadline, &why))
		ntp->fact = why;
}
