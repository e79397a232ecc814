/* SPDX-License-Identifier: MIT */
/* Random numbers that a failing test can repeat. */
#include "unit/dice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "unit/unit.h"

static uint64_t new_seed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000003 + (uint64_t)now.tv_nsec * 31 + (uint64_t)getpid();
}

struct dice dice_start(void)
{
	const char *wanted = getenv("UNIT_SEED");
	uint64_t seed = wanted ? strtoull(wanted, NULL, 10) : new_seed();

	print_message("UNIT_SEED=%" PRIu64 "\n", seed);
	return (struct dice){seed};
}

/* splitmix64: every seed is good, 0 too. */
uint64_t dice_word(struct dice *dice)
{
	uint64_t word = dice->state += 0x9e3779b97f4a7c15U;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9U;
	word = (word ^ word >> 27) * 0x94d049bb133111ebU;
	return word ^ word >> 31;
}

size_t dice_roll(struct dice *dice, size_t bound)
{
	return (size_t)(dice_word(dice) % bound);
}

void dice_fill(struct dice *dice, unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)dice_word(dice);
}
