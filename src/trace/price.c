/* SPDX-License-Identifier: MIT */
/*
 * The prices of system calls and of the vDSO, and whether the vDSO serves this host. All of it
 * is measured before the program runs: beside it, each would disturb the other.
 */
#include "price.h"

#include "base/clock.h"
#include "collect.h"
#include "judge.h"
#include "measure/call.h"
#include "measure/copy.h"
#include "measure/proof.h"
#include "measure/timing.h"
#include "measure/vdso.h"

#define LIMIT_NS 3000000000

void trace_price_measure(const struct root *root, struct evidence *host)
{
	struct deadline deadline = deadline_after(LIMIT_NS);
	struct vdso_image image;
	struct call_table calls;

	host->live = root->live;
	clocksource_collect(root, &host->clocksource);
	vdso_collect(root, &host->vdso, &image);
	call_table_make(&host->vdso, &image, &calls);
	call_table_name(&calls, host);
	proof_take(host, &calls, &deadline);
	timing_measure(host, &calls, TIMING_WHOLE, &deadline);
	if (counts_deciding(host).entered > 0)
		copy_measure(&image, &calls, &host->vclock, &host->copy, &deadline);
}
