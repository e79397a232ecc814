/* SPDX-License-Identifier: MIT */
/* Reproducible random numbers: the seed is printed, and UNIT_SEED sets it. */
#ifndef VDSOCHECK_TESTS_DICE_H
#define VDSOCHECK_TESTS_DICE_H

#include <stddef.h>
#include <stdint.h>

struct dice {
	uint64_t state;
};

/* A new seed each run, or UNIT_SEED of the environment; prints which. */
struct dice dice_start(void);

/* A number below `bound`, which is not 0. */
size_t dice_roll(struct dice *dice, size_t bound);

/* Any 64 bits. */
uint64_t dice_word(struct dice *dice);

void dice_fill(struct dice *dice, unsigned char *bytes, size_t size);

#endif
