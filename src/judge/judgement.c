/* SPDX-License-Identifier: MIT */
#include "judge/judgement.h"

void judgement_make(const struct evidence *evidence, struct judgement *judgement)
{
	verdict_find(evidence, &judgement->ruling);
	judgement->contradiction_count = contradiction_find(evidence, judgement->contradictions);
	judgement->cause_count = cause_find(evidence, judgement->ruling.verdict, judgement->causes);
	judgement->advice_count =
		advice_find(evidence, judgement->ruling.verdict, judgement->advice);
	cost_find(evidence, judgement->ruling.verdict, &judgement->cost);
}
