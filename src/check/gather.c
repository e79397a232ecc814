/* SPDX-License-Identifier: MIT */
/*
 * What a check reads and measures, in order. The proof is taken before and after the timing; if
 * the evidence contradicts itself, it is read again for a bounded time, since the clocksource may
 * have changed in between.
 */
#include "gather.h"

#include <string.h>
#include <time.h>

#include "base/deadline.h"
#include "base/privileges.h"
#include "collect.h"
#include "judge.h"
#include "measure/call.h"
#include "measure/copy.h"
#include "measure/proof.h"
#include "measure/timing.h"
#include "measure/vdso.h"
#include "measure/vvar.h"

static void skip_measuring(struct evidence *evidence)
{
	static const char reason[] = "a captured tree cannot be measured";

	fact_set(&evidence->vclock.fact, FACT_ABSENT, "%s", reason);
	fact_set(&evidence->timing.fact, FACT_ABSENT, "%s", reason);
	fact_set(&evidence->copy.fact, FACT_ABSENT, "%s", reason);
	fact_set(&evidence->copy.what_if_fact, FACT_ABSENT, "%s", reason);
	fact_set(&evidence->proof.fact, FACT_ABSENT, "%s", reason);
}

/*
 * How long evidence that contradicts itself is read again. A clocksource that keeps changing
 * within a tenth of a second is caught; on a kernel where mode and proof disagree for good
 * each check takes so much longer.
 */
#define AGAIN_NS 200000000

/* Once it was seen to change: until a part of the proof has met with each of the two. */
#define CHANGING_NS 600000000

/* The pauses between the readings differ, so that they do not keep step with the changes. */
#define PAUSE_NS 1000000
#define PAUSES 7

/* How often name and mode differed from the previous reading. */
struct changes {
	unsigned of_name;
	unsigned of_mode;
};

/* What every step of the measurement needs. */
struct measuring {
	const struct root *root;
	struct evidence *evidence;
	struct vdso_image vdso;
	struct call_table calls;
	const struct deadline *deadline;
};

static void take_proof(const struct measuring *measuring, const struct call_table *calls)
{
	proof_take(calls, &measuring->evidence->proof, measuring->evidence->calls,
		measuring->deadline);
}

/* Whether the mode that stands in the evidence gave way to another. */
static bool reread_mode(const struct measuring *measuring)
{
	struct vclock_evidence before = measuring->evidence->vclock, now = {0};

	vvar_collect(&measuring->vdso, measuring->evidence->clocksource.latest, &now,
		measuring->deadline);
	if (now.how != VCLOCK_READ)
		return false;
	measuring->evidence->vclock = now;
	return before.how == VCLOCK_READ && before.mode != now.mode;
}

/*
 * A mode that changed under a name that did not is a name that changed twice: each mode is
 * read between two readings of the name.
 */
static unsigned count_changes(const struct evidence *evidence, const struct changes *changes)
{
	if (!fact_is_known(&evidence->clocksource.current_fact))
		return changes->of_mode;
	if (changes->of_mode && !changes->of_name)
		return changes->of_mode + 1;
	return changes->of_mode > changes->of_name ? changes->of_mode : changes->of_name;
}

/* True if name and mode are the same before and after this part of the proof. */
static bool read_again(const struct measuring *measuring, struct changes *changes)
{
	struct clocksource_evidence *clocksource = &measuring->evidence->clocksource;
	struct changes before = *changes;

	changes->of_mode += reread_mode(measuring);
	changes->of_name += clocksource_collect_change(measuring->root, clocksource);
	take_proof(measuring, &measuring->calls);
	changes->of_mode += reread_mode(measuring);
	changes->of_name += clocksource_collect_change(measuring->root, clocksource);
	clocksource->changes = count_changes(measuring->evidence, changes);
	return before.of_mode == changes->of_mode && before.of_name == changes->of_name;
}

/*
 * Where the clocksource changed, or mode, timing and proof disagree, reads them again until
 * some calls entered the kernel and others did not, or the time is over. What changed once is
 * proven once more after the change.
 */
static void settle(const struct measuring *measuring)
{
	struct evidence *evidence = measuring->evidence;
	struct changes changes = {0};
	struct deadline again, changing;

	changes.of_name = clocksource_collect_change(measuring->root, &evidence->clocksource);
	evidence->clocksource.changes = count_changes(evidence, &changes);
	if (!changes.of_name && !contradiction_may_be_a_change(evidence))
		return;
	again = deadline_within(measuring->deadline, AGAIN_NS);
	changing = deadline_within(measuring->deadline, CHANGING_NS);
	for (unsigned i = 1; !counts_are_mixed(evidence); i++) {
		struct timespec pause = {.tv_nsec = (long)(i % PAUSES) * PAUSE_NS};
		bool same, keeps_changing;

		nanosleep(&pause, NULL);
		same = read_again(measuring, &changes);
		keeps_changing = evidence->clocksource.changes > 1;
		if (deadline_left_ns(measuring->deadline) == 0 ||
			((same || keeps_changing) &&
				deadline_left_ns(keeps_changing ? &changing : &again) == 0))
			break;
	}
}

/*
 * The deciding calls; and by the vDSO alone the one that the time in user space is estimated by
 * (judge/cost.c).
 */
static void keep_shown_calls(struct call_table *calls)
{
	size_t kept = 0;

	for (size_t i = 0; i < calls->count; i++) {
		struct call_row *row = &calls->rows[i];

		if (strcmp(row->clock, "CLOCK_MONOTONIC_COARSE") == 0) {
			row->path[PATH_LIBC].function.any = NULL;
			row->path[PATH_SYSCALL].function.any = NULL;
		} else if (!row->decides) {
			continue;
		}
		calls->rows[kept++] = *row;
	}
	calls->count = kept;
}

/* Reads the mode and makes the table of the calls. */
static void start_measuring(struct measuring *measuring, void (*keep)(struct call_table *calls))
{
	struct evidence *evidence = measuring->evidence;
	struct call_table deciding;

	vvar_collect(&measuring->vdso, evidence->clocksource.current, &evidence->vclock,
		measuring->deadline);
	call_table_make(&evidence->vdso, &measuring->vdso, &measuring->calls, measuring->deadline);
	if (keep)
		keep(&measuring->calls);
	call_table_name(&measuring->calls, evidence);
	/* No call may take the time of those that decide. */
	deciding = measuring->calls;
	call_table_keep_deciding(&deciding);
	take_proof(measuring, &deciding);
}

void gather_evidence(const struct root *root, struct evidence *evidence, bool all,
	const struct deadline *deadline)
{
	struct measuring measuring = {.root = root, .evidence = evidence, .deadline = deadline};

	evidence->live = root->live;
	moment_collect(root, &evidence->moment, deadline);
	clocksource_collect(root, &evidence->clocksource);
	vdso_collect(root, &evidence->vdso, &measuring.vdso);
	host_collect(root, &evidence->host);
	fact_set(&evidence->kernel_log.fact, FACT_UNREAD, "read only if something is wrong");
	fact_set(&evidence->host.name.fact, FACT_UNREAD, "not asked for");
	evidence->host.instance_type.fact = evidence->host.name.fact;
	evidence->host.instance_id.fact = evidence->host.name.fact;
	evidence->host.region.fact = evidence->host.name.fact;
	if (!root->live) {
		skip_measuring(evidence);
		return;
	}
	/* All that takes privileges was read by now, or is open; but syslog(2) has no file. */
	privileges_keep(
		kernel_log_open(root) ? PRIVILEGES_WRITE : PRIVILEGES_WRITE | PRIVILEGES_SYSLOG);
	/* One part of the proof before the timing, one after it: the clock may change meanwhile. */
	start_measuring(&measuring, all ? NULL : keep_shown_calls);
	timing_measure(evidence, &measuring.calls, TIMING_WHOLE, deadline);
	take_proof(&measuring, &measuring.calls);
	settle(&measuring);
	/* For a mode that could not be read, and for what calls that fall back would take. */
	if (all || evidence->vclock.how != VCLOCK_READ || counts_deciding(evidence).entered > 0)
		copy_measure(&measuring.vdso, &measuring.calls, &evidence->vclock, &evidence->copy,
			deadline);
	if (evidence->vclock.how == VCLOCK_UNKNOWN)
		copy_set_mode(&evidence->copy, &evidence->vclock);
	evidence->vclock = vclock_infer(evidence);
}

void gather_verdict(
	const struct root *root, struct evidence *evidence, const struct deadline *deadline)
{
	struct measuring measuring = {.root = root, .evidence = evidence, .deadline = deadline};

	evidence->live = root->live;
	vdso_collect(root, &evidence->vdso, &measuring.vdso);
	process_collect(root, &evidence->host);
	if (!root->live) {
		skip_measuring(evidence);
		return;
	}
	privileges_keep(PRIVILEGES_WRITE);
	clocksource_collect(root, &evidence->clocksource);
	start_measuring(&measuring, call_table_keep_deciding);
	/* Calls that enter the kernel are system calls, however fast: timing adds nothing. */
	if (fact_is_known(&evidence->proof.fact) && counts_deciding(evidence).entered > 0)
		return;
	timing_measure(evidence, &measuring.calls, TIMING_BRIEF, deadline);
	take_proof(&measuring, &measuring.calls);
	settle(&measuring);
}
