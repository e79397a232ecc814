/* SPDX-License-Identifier: MIT */
/*
 * Collects the host from files below a root, CPUID and uname(2). Each function fills its part of
 * the evidence; what cannot be read is a fact with the reason, never a failure of the whole.
 */
#ifndef VDSOCHECK_COLLECT_H
#define VDSOCHECK_COLLECT_H

#include "base/root.h"
#include "base/time.h"
#include "evidence.h"

/*
 * Copies the name of a clocksource. Returns false for a name longer than the kernel's, or that is
 * not one word of a shell, since names are parts of commands to be pasted.
 */
bool clocksource_take_name(struct span word, char name[CLOCKSOURCE_NAME_SIZE]);

/* Reads the current clocksource. Returns false with the reason in *fact, known otherwise. */
bool clocksource_read(const struct root *root, char name[CLOCKSOURCE_NAME_SIZE], struct fact *fact);

/* Reads the current clocksource and the available ones. */
void clocksource_collect(const struct root *root, struct clocksource_evidence *clocksource);

/*
 * Reads the current clocksource again, and keeps it as the latest, and in changed_to if it differs
 * from the first. Returns true if it has changed since it was last read.
 */
bool clocksource_collect_change(const struct root *root, struct clocksource_evidence *clocksource);

/* Fills the facts about kernel, CPU, surroundings and this process: all but the identity. */
void host_collect(const struct root *root, struct host_evidence *host);

/*
 * Reads the names of host and instance, after host_collect(); only if the user asks for them. The
 * network is not used: DMI has an instance's type and ID on EC2's Nitro, Xen the domain's UUID.
 */
void host_collect_identity(const struct root *root, struct host_evidence *host);

/*
 * Fills the facts about this process alone: host->emulator, libc, libc_static, pointer_bits,
 * counter_disabled, tracer and seccomp; all absent where the root is not live.
 */
void process_collect(const struct root *root, struct host_evidence *host);

/* Collects the container alone, by systemd-detect-virt's words. Absent: no sign of one. */
void container_collect(const struct root *root, struct text_fact *container);

/*
 * Reads the lines of the kernel's log that concern clocksources, since the last boot. On a live
 * host it reads /dev/kmsg, else syslog(2), else the file with the boot's messages and those of a
 * syslog daemon, but not the journal, whose program may hang; in a captured tree, these files and
 * an sosreport's dmesg, or its journal where that lacks the beginning. A log that is denied, or
 * whose form is not known, does not prove that nothing happened.
 */
void kernel_log_collect(const struct root *root, struct kernel_log_evidence *log);

/*
 * Completes the facts about the host by what its log says: the hypervisor where no file names it
 * precisely, and the boot parameters where /proc/cmdline could not be read.
 */
void host_collect_log(struct host_evidence *host, const struct kernel_log_evidence *log);

/*
 * Opens the live host's /dev/kmsg for each later kernel_log_collect() of a process that gives up
 * its privileges first. Returns false with the reason if it cannot be opened: syslog(2) is used
 * then, with CAP_SYSLOG.
 */
bool kernel_log_open(const struct root *root, struct fact *why);

/* Reads the NTP state of this host; in a child where a seccomp filter may kill for the call. */
void ntp_collect(struct ntp_evidence *ntp, const struct deadline *deadline);

/* Reads time and uptime of this host in the same way; of a captured tree neither is known. */
void timestamp_collect(const struct root *root, struct timestamp_evidence *timestamp,
	const struct deadline *deadline);

#endif
