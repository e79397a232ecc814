/* SPDX-License-Identifier: MIT */
#include "gather.h"

#include <string.h>

#include "collect/clocksource.h"
#include "collect/host.h"
#include "collect/kernel_log.h"
#include "collect/moment.h"
#include "collect/process.h"
#include "judge/tally.h"
#include "judge/vclock.h"
#include "measure/call.h"
#include "measure/proof.h"
#include "measure/timing.h"
#include "measure/vdso.h"
#include "measure/vvar.h"

static void skip_measuring(struct evidence *evidence)
{
	static const char reason[] = "a captured tree cannot be measured";

	fact_set(&evidence->vclock.fact, FACT_ABSENT, "%s", reason);
	fact_set(&evidence->timing.fact, FACT_ABSENT, "%s", reason);
	fact_set(&evidence->proof.fact, FACT_ABSENT, "%s", reason);
}

/* One part of the proof before the timing, one after it: the clock may change meanwhile. */
static void measure(struct evidence *evidence)
{
	struct call calls[CALL_MAX][PATH_COUNT] = {0};

	vvar_collect(&evidence->vdso, evidence->clocksource.current, &evidence->vclock);
	call_list(evidence, calls);
	proof_take(evidence, calls);
	timing_measure(evidence, calls);
	proof_take(evidence, calls);
	vclock_infer(evidence);
}

static void drop_calls_that_do_not_decide(
	const struct evidence *evidence, struct call calls[CALL_MAX][PATH_COUNT])
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (!evidence->calls[i].decides)
			memset(calls[i], 0, sizeof(calls[i]));
	}
}

/* Calls that enter the kernel do so at any price: then there is nothing to be timed. */
static bool price_matters(const struct evidence *evidence)
{
	return !fact_is_known(&evidence->proof.fact) || tally_deciding(evidence).entered == 0;
}

static void measure_for_verdict(struct evidence *evidence)
{
	struct call calls[CALL_MAX][PATH_COUNT] = {0};

	call_list(evidence, calls);
	drop_calls_that_do_not_decide(evidence, calls);
	proof_take(evidence, calls);
	if (!price_matters(evidence))
		return;
	timing_measure_brief(evidence, calls);
	proof_take(evidence, calls);
}

void gather_reasons(const struct root *root, struct evidence *evidence)
{
	kernel_log_collect(root, &evidence->kernel_log);
}

void gather_evidence(const struct root *root, struct evidence *evidence)
{
	evidence->live = root->live;
	moment_collect(root, &evidence->moment);
	clocksource_collect(root, &evidence->clocksource);
	vdso_collect(root, &evidence->vdso);
	host_collect(root, &evidence->host);
	fact_set(&evidence->kernel_log.fact, FACT_UNREAD, "read only if something is wrong");
	fact_set(&evidence->host.name.fact, FACT_UNREAD, "not asked for");
	if (root->live) {
		measure(evidence);
		clocksource_collect_change(root, &evidence->clocksource);
	} else {
		skip_measuring(evidence);
	}
}

void gather_verdict(const struct root *root, struct evidence *evidence)
{
	evidence->live = root->live;
	vdso_collect(root, &evidence->vdso);
	process_collect(root, &evidence->host);
	if (root->live)
		measure_for_verdict(evidence);
	else
		skip_measuring(evidence);
}
