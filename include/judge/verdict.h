/* SPDX-License-Identifier: MIT */
/*
 * The verdict: a table of rules over the evidence, the first that applies decides. Pure:
 * no input, no output, the same evidence always gives the same verdict.
 */
#ifndef VDSOCHECK_JUDGE_VERDICT_H
#define VDSOCHECK_JUDGE_VERDICT_H

#include "evidence.h"

enum verdict {
	VERDICT_UNKNOWN = 0,
	VERDICT_OK,       /* the deciding calls are answered in user space */
	VERDICT_FALLBACK, /* at least one of them enters the kernel, always or sometimes */
	VERDICT_SLOW,     /* none does, but reading the counter costs as much as a system call */
};

/* Which witnesses a verdict rests on; a set. */
enum witness {
	WITNESS_NAME = 1 << 0,
	WITNESS_MODE = 1 << 1,
	WITNESS_PROOF = 1 << 2,
	WITNESS_TIMING = 1 << 3,
};

#define WITNESS_COUNT 4

#define SUMMARY_SIZE 200

struct ruling {
	enum verdict verdict;
	const char *rule;           /* the id of the rule that decided; stable, static storage */
	unsigned witnesses;         /* of enum witness */
	char summary[SUMMARY_SIZE]; /* one sentence */
};

void verdict_find(const struct evidence *evidence, struct ruling *ruling);

/*
 * Whether timing alone shows that the deciding calls are served by the vDSO: their batch p99
 * is well below what the cheapest system call takes at the least.
 */
bool verdict_timing_clears(const struct evidence *evidence);

/* The id of the rule at this place of the table; NULL beyond the last. */
const char *verdict_rule_id(size_t place);

/* "ok", "fallback", "slow", "unknown"; of all, ended by NULL. */
extern const char *const verdict_names[];
const char *verdict_name(enum verdict verdict);

/* 0 for ok, 1 for fallback and slow, 2 for unknown. */
int verdict_exit_status(enum verdict verdict);

/* "name", "mode", "proof", "timing", in the order of their bits; ended by NULL. */
extern const char *const verdict_witness_names[];
const char *verdict_witness_name(enum witness witness);

#endif
