/* SPDX-License-Identifier: MIT */
/* The seccomp filter that stops a program at the counted system calls, and at no others. */
#ifndef VDSOCHECK_TRACE_FILTER_H
#define VDSOCHECK_TRACE_FILTER_H

#include <linux/filter.h>

#include "model.h"

/* BPF_MAXINSNS of the kernel. */
#define TRACE_FILTER_MAX 4096

/*
 * Writes the filter's instructions and returns how many. At a counted call it returns
 * SECCOMP_RET_TRACE with the number of the row, plus TRACE_ROW_MAX for the 32-bit architecture,
 * as data for the tracer.
 */
size_t trace_filter_make(
	const struct trace_plan *plan, struct sock_filter filter[TRACE_FILTER_MAX]);

/*
 * Sets it on this process and all that it becomes and starts. Gives up the privileges of
 * set-user-ID programs where it could not be set otherwise. 0 or an errno value.
 */
int trace_filter_set(struct sock_filter *filter, size_t count);

#endif
