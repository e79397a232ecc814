/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's log says about clocksources: why the TSC was dropped, what was switched
 * to. A log that may not be read is denied, and no proof that nothing happened.
 */
#ifndef VDSOCHECK_COLLECT_KERNEL_LOG_H
#define VDSOCHECK_COLLECT_KERNEL_LOG_H

#include "base/root.h"
#include "evidence.h"

/*
 * On a live host: /dev/kmsg, else syslog(2), else the file that holds the boot's messages. Not
 * the journal: that takes another program, found by PATH, which may hang.
 * In a captured tree: those files, and an sosreport's copy of dmesg.
 */
void kernel_log_collect(const struct root *root, struct kernel_log_evidence *log);

/* Adds the lines of a dmesg's text that tell of clocksources, in 3.10's to 7.x's wording. */
void kernel_log_add_dmesg(struct kernel_log_evidence *log, struct span dmesg);

/* Adds one record of /dev/kmsg ("6,339,431995,-;text") if it tells of clocksources. */
void kernel_log_add_record(struct kernel_log_evidence *log, struct span record);

#endif
