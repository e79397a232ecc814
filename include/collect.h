/* SPDX-License-Identifier: MIT */
/*
 * The host by files below a root, CPUID and uname(2). Each function fills its
 * part of the evidence; what cannot be read is a fact with the reason, never a failure of the
 * whole.
 */
#ifndef VDSOCHECK_COLLECT_H
#define VDSOCHECK_COLLECT_H

#include <stdbool.h>

#include "base/root.h"
#include "base/time.h"
#include "evidence.h"

/*
 * Copies the name of a clocksource; false if it is not one: longer than the kernel's names, or not
 * one word of a shell, since names are parts of commands to be pasted.
 */
bool clocksource_take_name(struct span word, char name[CLOCKSOURCE_NAME_SIZE]);

/* The name of the current clocksource. False with the reason in *fact, which else is known. */
bool clocksource_read(const struct root *root, char name[CLOCKSOURCE_NAME_SIZE], struct fact *fact);

/* That and the available ones. */
void clocksource_collect(const struct root *root, struct clocksource_evidence *clocksource);

/*
 * Reads the current one again, and keeps it as the latest, and in changed_to where it is
 * another one than the first. True if it has changed since the last time it was read.
 */
bool clocksource_collect_change(const struct root *root, struct clocksource_evidence *clocksource);

/* Kernel, CPU, surroundings and this process's own state: all but the name. */
void host_collect(const struct root *root, struct host_evidence *host);

/*
 * The names of host and instance: read only when asked for, so that no report gives them away
 * unasked. After host_collect(). Of an instance only what the guest is given without a network:
 * DMI has type and ID on EC2's Nitro, Xen the UUID of the domain.
 */
void host_collect_identity(const struct root *root, struct host_evidence *host);

/*
 * This process alone: fills host->emulator, libc, libc_static, counter_off, tracer and seccomp; all
 * absent where the root is not live.
 */
void process_collect(const struct root *root, struct host_evidence *host);

/* The container alone, by systemd-detect-virt's words. Absent: nothing points to one. */
void container_collect(const struct root *root, struct text_fact *container);

/*
 * The lines of the kernel's log that concern clocksources. On a live host: /dev/kmsg, else
 * syslog(2), else the file that holds the boot's messages. Not the journal: that takes another
 * program, found by PATH, which may hang. In a captured tree: those files, and an sosreport's
 * copy of dmesg. A log that may not be read is denied, and no proof that nothing happened.
 */
void kernel_log_collect(const struct root *root, struct kernel_log_evidence *log);

/*
 * Opens the live host's /dev/kmsg, once, for any later kernel_log_collect() of a process that
 * gives up its privileges before. False if it cannot be opened: kernel_log_collect() then asks by
 * syslog(2), which takes CAP_SYSLOG.
 */
bool kernel_log_open(const struct root *root, struct fact *why);

/* The time and the uptime of this host now, by a child; of a captured tree neither is known. */
void timestamp_collect(const struct root *root, struct timestamp_evidence *timestamp,
	const struct deadline *deadline);

#endif
