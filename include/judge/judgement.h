/* SPDX-License-Identifier: MIT */
/* Everything that the evidence was judged to mean: what the renderers print beside it. */
#ifndef VDSOCHECK_JUDGE_JUDGEMENT_H
#define VDSOCHECK_JUDGE_JUDGEMENT_H

#include "evidence.h"
#include "judge/advice.h"
#include "judge/cause.h"
#include "judge/contradiction.h"
#include "judge/cost.h"
#include "judge/verdict.h"

struct judgement {
	struct ruling ruling;
	size_t contradiction_count;
	struct contradiction contradictions[CONTRADICTION_MAX];
	size_t cause_count;
	struct cause causes[CAUSE_MAX];
	size_t advice_count;
	struct advice advice[ADVICE_MAX];
	struct cost cost;
};

/* Judges the evidence, whose clock mode was inferred before if it could not be read. */
void judgement_make(const struct evidence *evidence, struct judgement *judgement);

#endif
