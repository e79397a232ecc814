/* SPDX-License-Identifier: MIT */
/*
 * One check for a process that goes on living: all of it in a child, so that neither memory nor
 * CPU affinity nor a vDSO that crashes is left to the caller.
 */
#include "check.h"

#include <string.h>

#include "base/child.h"
#include "collect.h"
#include "gather.h"

struct look {
	const struct root *root;
	struct deadline deadline;
	struct evidence evidence;
};

static void gather(void *argument)
{
	struct look *look = argument;

	gather_evidence(look->root, &look->evidence, false, &look->deadline);
	kernel_log_collect(look->root, &look->evidence.kernel_log);
}

void check_look(const struct root *root, struct evidence *evidence, struct diagnosis *diagnosis)
{
	struct look look = {.root = root, .deadline = deadline_after(CHECK_LIMIT_NS)};
	struct deadline whole = deadline_after(CHECK_LIMIT_NS + CHECK_LIMIT_NS / 10);
	struct fact why = {0};

	memset(evidence, 0, sizeof(*evidence));
	memset(diagnosis, 0, sizeof(*diagnosis));
	if (child_compute(gather, &look, sizeof(look), &whole, &why)) {
		*evidence = look.evidence;
	} else {
		evidence->live = root->live;
		evidence->proof.fact = why;
		evidence->vclock.fact = why;
		evidence->timing.fact = why;
		evidence->clocksource.current_fact = why;
		evidence->kernel_log.fact = why;
	}
	diagnose(evidence, diagnosis);
}
