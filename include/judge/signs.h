/* SPDX-License-Identifier: MIT */
/* What the evidence shows, asked in the words that causes and advice are made of. Pure. */
#ifndef VDSOCHECK_JUDGE_SIGNS_H
#define VDSOCHECK_JUDGE_SIGNS_H

#include "evidence.h"

/* The current clocksource is known and has this name. */
bool sign_current_is(const struct evidence *evidence, const char *name);

/* The kernel offers this clocksource: whole names, `tsc` is not `tsc-early`. */
bool sign_is_offered(const struct evidence *evidence, const char *name);

/* The kernel offers this clocksource, and is known to use another. */
bool sign_is_another(const struct evidence *evidence, const char *name);

/* The data page was read and says that there is no clock mode. */
bool sign_mode_is_none(const struct evidence *evidence);

/* True if the copy of the vDSO shows that the CPU's counter would take about as long as now. */
bool sign_counter_gains_nothing(const struct evidence *evidence);

/* Booted with this parameter: "notsc", or "tsc=unstable" with its value. */
bool sign_boot_has(const struct evidence *evidence, const char *parameter);

/* Booted with clocksource= and the name of the current one. */
bool sign_boot_chose_current(const struct evidence *evidence);

/* The first line of the kernel log that holds this text; NULL if none does, or none was read. */
const struct kernel_log_line *sign_log_find(const struct evidence *evidence, const char *text);

/* The first line that holds both texts. */
const struct kernel_log_line *sign_log_find_with(
	const struct evidence *evidence, const char *text, const char *also);

/* The same among the lines after this one. */
const struct kernel_log_line *sign_log_find_after(
	const struct evidence *evidence, const struct kernel_log_line *line, const char *text);

/* The kernel's release is known and older than major.minor. */
bool sign_kernel_before(const struct evidence *evidence, unsigned major, unsigned minor);

/* The platform is known to be this. */
bool sign_platform_is(const struct evidence *evidence, const char *word);

/* Under a hypervisor. */
bool sign_is_guest(const struct evidence *evidence);

/*
 * CPUID says that the TSC is invariant, and the kernel does not say otherwise: a Xen PV guest
 * may see the machine's CPUID, and a kernel takes back what it found untrue.
 */
bool sign_tsc_is_invariant(const struct evidence *evidence);

bool sign_is_x86(const struct evidence *evidence);

/* The guest may be stopped, copied and started again elsewhere, with another TSC. */
bool sign_may_be_restored(const struct evidence *evidence);

/* The log line by which the kernel said that it does not trust the TSC; NULL if none. */
const struct kernel_log_line *sign_tsc_distrust(const struct evidence *evidence);

/*
 * Reading the counter takes too long for a read of a register: as long as the cheapest system
 * call, or on x86 and ARM more than any such read does. It is intercepted or emulated.
 */
bool sign_counter_is_dear(const struct evidence *evidence);

#endif
