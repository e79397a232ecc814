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

/* Of the limit, for what follows the measurements: a check cut short still has its evidence. */
#define REST_NS 400000000

struct check {
	const struct root *root;
	struct deadline deadline;
	struct evidence evidence;
};

static void gather(void *argument)
{
	struct check *check = argument;

	gather_evidence(check->root, &check->evidence, false, &check->deadline);
	kernel_log_collect(check->root, &check->evidence.kernel_log);
}

void check_in_child(const struct root *root, struct evidence *evidence, struct diagnosis *diagnosis)
{
	static struct check check; /* 24 KiB: the stack may be small */
	struct deadline whole = deadline_after(CHECK_LIMIT_NS);
	struct fact why = {0};

	check = (struct check){.root = root, .deadline = deadline_after(CHECK_LIMIT_NS - REST_NS)};
	memset(evidence, 0, sizeof(*evidence));
	memset(diagnosis, 0, sizeof(*diagnosis));
	if (child_compute(gather, &check, sizeof(check), &whole, &why)) {
		*evidence = check.evidence;
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
