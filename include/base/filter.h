/* SPDX-License-Identifier: MIT */
/*
 * Seccomp filters, written instruction by instruction. libseccomp, which knows the numbers of the
 * calls, does not make them: where memory runs out it may never finish one (2.5.4), what the kernel
 * says to a filter is hard to get out of it, and it cannot give each value of an argument an answer
 * of its own and all other values another one.
 */
#ifndef VDSOCHECK_BASE_FILTER_H
#define VDSOCHECK_BASE_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fact.h"

/* Starts as zeros. As long as the kernel takes any; the caller adds no more. */
struct filter {
	unsigned short count;
	struct sock_filter code[BPF_MAXINSNS];
};

void filter_put(struct filter *filter, struct sock_filter instruction);

/* Loads 32 bits of struct seccomp_data; `at` is their offset. */
void filter_load(struct filter *filter, size_t at);

/* Loads the low half of an argument. */
void filter_load_argument(struct filter *filter, unsigned argument);

/* Goes on where the value loaded is this one, else skips `skip` instructions. */
void filter_unless_skip(struct filter *filter, uint32_t value, uint8_t skip);

void filter_return(struct filter *filter, uint32_t action);

/*
 * Sets the filter on this thread, for good. Where that takes it, no program that is run from now
 * on gains privileges: with CAP_SYS_ADMIN it does not, and set-user-ID programs run as ever. 0 or
 * an errno value.
 */
int filter_set(struct filter *filter);

/*
 * From now on the system calls of these numbers, of this architecture, fail with `error`; negative
 * numbers, which libseccomp has for calls that an architecture lacks, are left out. False with the
 * reason if that is refused. For a forked child.
 */
bool filter_fail_calls(const int *numbers, size_t count, uint16_t error, struct fact *why);

#endif
