/* SPDX-License-Identifier: MIT */
/* One line for what watches many hosts: a Nagios plugin's, and that of an ssh loop. */
#ifndef VDSOCHECK_CHECK_MONITORING_H
#define VDSOCHECK_CHECK_MONITORING_H

#include "model.h"

/* "VDSOCHECK OK - ... | perfdata", and the causes and advice as long output. */
bool nagios_write(const void *result, const struct style *style, FILE *out);

/*
 * The plugin's exit status: 0 OK, 1 WARNING for what the verdict finds wrong, 2 CRITICAL for a
 * requirement of the user's that is not met, 3 UNKNOWN.
 */
int nagios_exit_status(const struct outcome *outcome);

/* "HOST VERDICT CLOCKSOURCE MODE NS CAUSE KERNEL", "-" for what is not known. */
bool line_write(const void *result, const struct style *style, FILE *out);

#endif
