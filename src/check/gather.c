/* SPDX-License-Identifier: MIT */
/*
 * Reads and measures all that a check needs, in order. The proof comes first, since the verdict
 * rests on it, and again after the timing; if the evidence contradicts itself, it is gathered again
 * for a bounded time, since the clocksource may have changed in between.
 */
#include <string.h>

#include "base/memory.h"
#include "base/privileges.h"
#include "base/time.h"
#include "collect.h"
#include "judge.h"
#include "measure.h"
#include "measure/call.h"
#include "measure/vdso.h"
#include "model.h"

#define VDSO_FACT(type, member, ...) &evidence->vdso.member.fact,
#define VCLOCK_FACT(type, member, ...) &evidence->vclock.member.fact,

static void skip_measuring(struct evidence *evidence)
{
	struct fact *facts[] = {&evidence->vclock.fact, &evidence->timing.fact,
		&evidence->copy.fact, &evidence->copy.what_if_ns.fact, &evidence->proof.fact,
		&evidence->ntp.fact, VDSO_FACTS(VDSO_FACT) VCLOCK_FACTS(VCLOCK_FACT)};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		fact_set(facts[i], FACT_ABSENT, "a captured tree cannot be measured");
}

/*
 * The time for which evidence that contradicts itself or changes is gathered again. A clocksource
 * that keeps changing within a tenth of a second is caught; on a kernel where mode and proof
 * disagree for good each check takes this much longer.
 */
#define SETTLE_NS 300000000

/* Begins a step only if this many of the longest one so far would still fit. */
#define STEPS_LEFT_LEAST 3

/* The state of a measurement, for all its steps. */
struct measuring {
	const struct root *root;
	struct evidence *evidence;
	struct vdso_image vdso;
	struct call_table calls;
	const struct deadline *deadline;
	int64_t left_ns; /* time left when the last step began */
	int64_t longest_ns;
	unsigned name_changes, mode_changes;
};

/*
 * A process that gets little CPU time waits for seconds whenever one of its children begins or
 * ends: then there is only time for the evidence of the verdict.
 */
static bool may_begin(struct measuring *measuring, struct fact *why)
{
	int64_t left_ns = deadline_left_ns(measuring->deadline);
	int64_t took_ns = measuring->left_ns - left_ns;

	if (took_ns > measuring->longest_ns)
		measuring->longest_ns = took_ns;
	measuring->left_ns = left_ns;
	if (left_ns > 0 && measuring->longest_ns <= left_ns / STEPS_LEFT_LEAST)
		return true;
	fact_set(why, FACT_FAILED,
		"left out: this process gets little CPU time, a step took %.1f s",
		(double)measuring->longest_ns / NS_PER_SECOND);
	return false;
}

/*
 * Returns how long this process has waited for a CPU so far: the second word of schedstat
 * (kernel/sched/ of 2.6 to 7.x, with CONFIG_SCHED_INFO). Each further step may wait as long.
 */
static int64_t waited_ns(const struct root *root)
{
	char buffer[128];
	struct span content, word;
	struct fact why = {0};
	uint64_t ns = 0;

	if (root_read(root, "/proc/self/schedstat", buffer, sizeof(buffer), &content, &why) &&
		text_next_word(&content, &word) && text_next_word(&content, &word))
		number_parse(word, &ns);
	return ns < INT64_MAX ? (int64_t)ns : 0;
}

static void find_mode(struct measuring *measuring)
{
	struct evidence *evidence = measuring->evidence;
	struct vclock_evidence *vclock = &evidence->vclock;

	if (may_begin(measuring, &vclock->fact))
		vvar_collect(&measuring->vdso, evidence->clocksource.current, vclock,
			measuring->deadline);
	else
		vclock->pvclock_stable.fact = vclock->hyperv_sequence.fact = vclock->fact;
}

/* Returns true if the second part of the proof was taken, too. */
static bool measure_times(struct measuring *measuring, unsigned options)
{
	struct evidence *evidence = measuring->evidence;
	struct timing_evidence *timing = &evidence->timing;
	bool is_proven = may_begin(measuring, &timing->fact) &&
	                 timing_measure(&measuring->calls, options, timing, evidence->calls,
				 &evidence->proof, measuring->deadline);

	/* The child that times the calls compares their values, too. */
	for (size_t i = 0; !fact_is_known(&timing->fact) && i < evidence->call_count; i++) {
		struct call_evidence *call = &evidence->calls[i];

		if (call->agrees.fact.state == FACT_UNREAD)
			call->agrees.fact = call->libc_agrees.fact = timing->fact;
	}
	return is_proven;
}

/*
 * Reads name and mode again. A change of both is one, even if it comes between their readings and
 * one of them is seen later.
 */
static void read_again(struct measuring *measuring)
{
	struct clocksource_evidence *clocksource = &measuring->evidence->clocksource;
	struct vclock_evidence *vclock = &measuring->evidence->vclock, now = {0};
	int64_t mode;

	measuring->name_changes += clocksource_collect_change(measuring->root, clocksource);
	if (vvar_read_again(&measuring->vdso, vclock, &mode) && mode != vclock->mode) {
		measuring->mode_changes++;
		vvar_collect(&measuring->vdso, clocksource->latest, &now, measuring->deadline);
		if (now.how == VCLOCK_READ)
			*vclock = now;
	}
	clocksource->changes = measuring->name_changes > measuring->mode_changes
	                               ? measuring->name_changes
	                               : measuring->mode_changes;
}

/*
 * Takes the second part of the proof, unless the child of the timing did. If name or mode changed
 * since the first, or if the evidence contradicts itself, further parts and readings follow, until
 * some calls entered the kernel and others did not, or the time is over.
 */
static void settle(struct measuring *measuring, bool is_proven)
{
	struct evidence *evidence = measuring->evidence;
	struct deadline deadline = deadline_within(measuring->deadline, SETTLE_NS);
	bool has_time;

	do {
		has_time = may_begin(measuring, &(struct fact){0});
		if (has_time && !is_proven)
			proof_take(&measuring->calls, PROOF_SPREAD, &evidence->proof,
				evidence->calls, measuring->deadline);
		is_proven = false;
		read_again(measuring);
	} while (has_time && deadline_left_ns(&deadline) > 0 && !counts_deciding(evidence).mixed &&
		 (evidence->clocksource.changes || contradiction_may_be_a_change(evidence)));
}

/*
 * Keeps the deciding calls and, by the vDSO alone, the one that the time in user space is estimated
 * by (judge/cost.c).
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

/* Makes the table of the calls and takes the first part of the proof. */
static void start_measuring(struct measuring *measuring, void (*keep)(struct call_table *calls))
{
	struct evidence *evidence = measuring->evidence;
	struct call_table deciding;

	measuring->left_ns = deadline_left_ns(measuring->deadline);
	measuring->longest_ns = waited_ns(measuring->root);
	call_table_make(&evidence->vdso, &measuring->vdso, &measuring->calls, measuring->deadline);
	if (keep)
		keep(&measuring->calls);
	call_table_name(&measuring->calls, evidence);
	/* Neither other calls nor other CPUs may take the time of those that decide. */
	deciding = measuring->calls;
	call_table_keep_deciding(&deciding);
	proof_take(&deciding, PROOF_HERE, &evidence->proof, evidence->calls, measuring->deadline);
}

/* A copy shows a mode that could not be read, and the cost of calls if they did not fall back. */
static void measure_copy(struct measuring *measuring, bool all)
{
	struct evidence *evidence = measuring->evidence;

	if (!all && evidence->vclock.how == VCLOCK_READ && !counts_deciding(evidence).entered)
		return;
	if (may_begin(measuring, &evidence->copy.fact))
		copy_measure(&measuring->vdso, &measuring->calls, &evidence->vclock,
			&evidence->copy, measuring->deadline);
	else
		evidence->copy.what_if_ns.fact = evidence->copy.fact;
	/* A call of the copy includes a read of the counter, so it cannot take less. */
	if (fact_is_known(&evidence->copy.what_if_ns.fact) &&
		fact_is_known(&evidence->timing.counter_ns.fact) &&
		evidence->copy.what_if_ns.value < evidence->timing.counter_ns.value)
		fact_set(&evidence->copy.what_if_ns.fact, FACT_FAILED,
			"the copy took %.1f ns, less than reading the counter",
			evidence->copy.what_if_ns.value);
	copy_set_mode(&evidence->copy, &evidence->vclock);
}

void gather_evidence(const struct root *root, struct evidence *evidence, bool all,
	const struct deadline *deadline)
{
	struct measuring measuring = {.root = root, .evidence = evidence, .deadline = deadline};

	evidence->live = root->live;
	timestamp_collect(root, &evidence->timestamp, deadline);
	clocksource_collect(root, &evidence->clocksource);
	vdso_collect(root, &evidence->vdso, &measuring.vdso);
	host_collect(root, &evidence->host);
	fact_set(&evidence->kernel_log.fact, FACT_UNREAD, "needed only if something is wrong");
	fact_set(&evidence->host.name.fact, FACT_UNREAD, "not asked for");
	evidence->host.instance_type.fact = evidence->host.name.fact;
	evidence->host.instance_id.fact = evidence->host.name.fact;
	evidence->host.region.fact = evidence->host.name.fact;
	if (!root->live) {
		skip_measuring(evidence);
		return;
	}
	/* Files that require privileges are read or open by now; syslog(2) is not a file. */
	privileges_keep(kernel_log_open(root, &(struct fact){0})
				? PRIVILEGES_WRITE
				: PRIVILEGES_WRITE | PRIVILEGES_SYSLOG);
	start_measuring(&measuring, all ? NULL : keep_shown_calls);
	/* These take less than a millisecond, and come before what takes long. */
	ntp_collect(&evidence->ntp, deadline);
	find_mode(&measuring);
	settle(&measuring, measure_times(&measuring, TIMING_WHOLE));
	measure_copy(&measuring, all);
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
	find_mode(&measuring);
	/* Calls that enter the kernel are system calls, however fast: timing adds nothing. */
	if (fact_is_known(&evidence->proof.fact) && counts_deciding(evidence).entered > 0)
		return;
	settle(&measuring, measure_times(&measuring, TIMING_BRIEF));
}
