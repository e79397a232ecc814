/* SPDX-License-Identifier: MIT */
/* Sets a seccomp filter, for which libseccomp is only asked for the numbers of calls. */
#ifndef VDSOCHECK_BASE_FILTER_H
#define VDSOCHECK_BASE_FILTER_H

#include "base/fact.h"

#define FILTER_CALLS_MAX 32

/*
 * From now on the system calls of these numbers, up to FILTER_CALLS_MAX of this architecture, fail
 * with `error`; negative numbers, which libseccomp has for calls that an architecture lacks, are
 * left out. Returns false with the reason if that is refused. For a forked child.
 */
bool filter_fail_calls(const int *numbers, size_t count, uint16_t error, struct fact *why);

#endif
