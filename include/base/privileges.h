/* SPDX-License-Identifier: MIT */
/*
 * The capabilities of a process that root started: those that it does not need are given up, for
 * good, before it measures or parses. Where there are none, nothing happens.
 */
#ifndef VDSOCHECK_BASE_PRIVILEGES_H
#define VDSOCHECK_BASE_PRIVILEGES_H

#include <linux/capability.h>
#include <stdint.h>

/* Sets of capabilities, see capabilities(7). */
#define PRIVILEGES(number) (UINT64_C(1) << (number))
#define PRIVILEGES_NONE UINT64_C(0)
#define PRIVILEGES_SYSLOG PRIVILEGES(CAP_SYSLOG)
/* Other users' files, too. */
#define PRIVILEGES_READ (PRIVILEGES_SYSLOG | PRIVILEGES(CAP_DAC_READ_SEARCH))
/* A file wherever root can write one: in a sticky directory, too, and with the old one's group. */
#define PRIVILEGES_WRITE                                                                           \
	(PRIVILEGES(CAP_DAC_OVERRIDE) | PRIVILEGES(CAP_FOWNER) | PRIVILEGES(CAP_CHOWN))

/*
 * From now on the process has the capabilities of `now` that it still has, can take up those of
 * `later` by another call, and has given up all others. Where a seccomp filter of the surroundings
 * kills for that, nothing is changed.
 */
void privileges_limit(uint64_t now, uint64_t later);

/* From now on no program that is run has more privileges than this process: root's, above all. */
void privileges_gain_none(void);

/* In a new child: gives up what the parent has set aside for later. */
void privileges_forget_later(void);

#endif
