/* SPDX-License-Identifier: MIT */
/*
 * A process gives up for good the capabilities that root started it with, once what needs them is
 * open.
 */
#ifndef VDSOCHECK_BASE_PRIVILEGES_H
#define VDSOCHECK_BASE_PRIVILEGES_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

/* Sets of capabilities, see capabilities(7). */
#define PRIVILEGES(number) (UINT64_C(1) << (number))
#define PRIVILEGES_NONE UINT64_C(0)
#define PRIVILEGES_SYSLOG PRIVILEGES(CAP_SYSLOG)
/* Reads other users' files and the kernel log. */
#define PRIVILEGES_READ (PRIVILEGES_SYSLOG | PRIVILEGES(CAP_DAC_READ_SEARCH))
/* Replaces a file in any directory, a sticky one included. */
#define PRIVILEGES_WRITE (PRIVILEGES(CAP_DAC_OVERRIDE) | PRIVILEGES(CAP_FOWNER))

/*
 * From now on the process has no other capabilities than these, of those that it has. Changes
 * nothing where a seccomp filter around it forbids that.
 */
void privileges_keep(uint64_t kept);

/*
 * Says whether a seccomp filter is around the process, without prctl(2), which it may kill for;
 * false, too, where /proc is not mounted.
 */
bool privileges_are_filtered(void);

/* Says whether the process has all of these capabilities in effect. */
bool privileges_have(uint64_t wanted);

/* From now on no program that is run has more privileges than this process: root's, above all. */
void privileges_gain_none(void);

#endif
