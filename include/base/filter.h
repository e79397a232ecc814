/* SPDX-License-Identifier: MIT */
/*
 * A seccomp filter, written instruction by instruction; it begins as zeros. libseccomp is only
 * asked for the numbers of calls: where memory runs out it may never finish a filter (2.5.4), it
 * hides the kernel's errors, and it cannot return one error for each value of an argument and
 * another for all other values.
 */
#ifndef VDSOCHECK_BASE_FILTER_H
#define VDSOCHECK_BASE_FILTER_H

#include <linux/filter.h>

#include "base/fact.h"

struct filter {
	unsigned short count;
	struct sock_filter code[BPF_MAXINSNS]; /* the kernel takes no more */
};

/* Appends an instruction; a filter has at most BPF_MAXINSNS. */
void filter_put(struct filter *filter, struct sock_filter instruction);

/* Loads 32 bits of struct seccomp_data; `at` is their offset. */
void filter_load(struct filter *filter, size_t at);

/* Loads the low half of an argument. */
void filter_load_argument(struct filter *filter, unsigned argument);

/* Goes on where the value loaded is this one, else skips `skip` instructions. */
void filter_unless_skip(struct filter *filter, uint32_t value, uint8_t skip);

/* Ends the filter here with SECCOMP_RET_ALLOW or the like. */
void filter_return(struct filter *filter, uint32_t action);

/*
 * Sets the filter on this thread, for good. Only without CAP_SYS_ADMIN, where the kernel requires
 * it, do set-user-ID programs that are run from now on lose their privileges. Returns 0 or an errno
 * value.
 */
int filter_set(struct filter *filter);

/*
 * From now on the system calls of these numbers, of this architecture, fail with `error`; negative
 * numbers, which libseccomp has for calls that an architecture lacks, are left out. Returns false
 * with the reason if that is refused. For a forked child.
 */
bool filter_fail_calls(const int *numbers, size_t count, uint16_t error, struct fact *why);

#endif
