/* SPDX-License-Identifier: MIT */
/*
 * Reads the kernel's NTP state; in a child where a seccomp filter may kill a process for a call
 * that can set the clock.
 */
#include "collect.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/timex.h>

#include "base/child.h"
#include "base/time.h"

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
	if (prctl(PR_GET_SECCOMP) == 0)
		read_ntp(ntp);
	else if (!child_probe(read_ntp, ntp, sizeof(*ntp), deadline, &why))
		ntp->fact = why;
}
