/* SPDX-License-Identifier: MIT */
#include "measure/proof.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/proof_ptrace.h"
#include "measure/proof_run.h"
#include "measure/proof_seccomp.h"

struct method {
	enum proof_method id;
	void (*take)(struct proof_run *run, const struct deadline *deadline);
};

/* In the order of preference: seccomp is quicker and disturbs less. */
static const struct method methods[] = {
	{PROOF_SECCOMP, proof_seccomp_take},
	{PROOF_PTRACE, proof_ptrace_take},
};

#define METHOD_COUNT (sizeof(methods) / sizeof(methods[0]))

static void prepare(
	struct proof_run *run, struct evidence *evidence, const struct call_table *calls)
{
	*run = (struct proof_run){.calls = calls, .call = PROOF_RUN_NOTHING};
	run->evidence = *evidence;
	run->evidence.proof.cpus = 0;
}

static void accept(
	struct evidence *evidence, const struct proof_run *run, const struct method *method)
{
	char note[FACT_REASON_SIZE];

	text_copy(note, sizeof(note), evidence->proof.note);
	*evidence = run->evidence;
	text_copy(evidence->proof.note, sizeof(evidence->proof.note), note);
	evidence->proof.method = method->id;
	fact_set_known(&evidence->proof.fact);
}

/* Says of each method that failed why it did; the state is the last one's. */
static void refuse(struct evidence *evidence, const struct fact *fact)
{
	struct proof_evidence *proof = &evidence->proof;
	char before[FACT_REASON_SIZE];

	text_copy(before, sizeof(before), proof->note);
	proof->fact.state = fact->state;
	/* Once is enough where all methods fail alike. */
	if (strcmp(before, fact->reason) == 0)
		return;
	snprintf(proof->note, sizeof(proof->note), "%.70s%s%.80s", before, *before ? "; " : "",
		fact->reason);
	fact_set(&proof->fact, fact->state, "%s", proof->note);
}

/* A part that was refused is tried anew: what it said before is not said twice. */
static void take_first(struct proof_run *run, struct evidence *evidence,
	const struct call_table *calls, const struct deadline *deadline)
{
	evidence->proof.note[0] = '\0';
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		struct deadline share = deadline_half(deadline);

		prepare(run, evidence, calls);
		methods[i].take(run, &share);
		if (fact_is_known(&run->fact)) {
			accept(evidence, run, &methods[i]);
			break;
		}
		refuse(evidence, &run->fact);
	}
}

static void take_more(struct proof_run *run, struct evidence *evidence,
	const struct call_table *calls, const struct deadline *deadline)
{
	struct deadline share = deadline_half(deadline);
	const struct method *method = methods;

	while (method->id != evidence->proof.method)
		method++;
	prepare(run, evidence, calls);
	method->take(run, &share);
	if (fact_is_known(&run->fact))
		*evidence = run->evidence;
}

void proof_take(
	struct evidence *evidence, const struct call_table *calls, const struct deadline *deadline)
{
	static struct proof_run run;

	if (fact_is_known(&evidence->proof.fact))
		take_more(&run, evidence, calls, deadline);
	else
		take_first(&run, evidence, calls, deadline);
}
