/* SPDX-License-Identifier: MIT */
/*
 * All candidates, one after the other: the clocksource in use first and again after each of the
 * others, each measured by a worker of its own that may hang, crash or be killed. The parent
 * only waits: for the worker, for an interrupt, for the end of the guardian, and for a change of
 * the clocksource that is not ours. Results are in shared memory, so that what was measured
 * before an early end is kept.
 */
#include <errno.h>
#include <signal.h>

#include "base/child.h"
#include "base/deadline.h"
#include "base/text.h"
#include "base/units.h"
#include "model.h"

/* Time limit of a worker, with room for a slow clock or a busy machine. */
#define WORKER_NS 15000000000
#define WARP_FACTOR 4

/* How long a killed worker may take to go. */
#define KILL_NS 5000000000

/* A terminal that stops this process would leave the host on a candidate. */
static const int stopping_signals[] = {SIGTSTP, SIGTTIN, SIGTTOU};

struct run {
	const struct clocksource_switch *clock;
	const struct run_setup *setup;
	struct run_result *result;
	struct guardian guardian;
	int64_t worker_ns; /* limit of one worker */
};

typedef void candidate_work(const struct clocksource_switch *clock,
	const struct candidate_setup *setup, struct candidate *candidate,
	const struct deadline *deadline);

struct job {
	struct run *run;
	candidate_work *work;
	struct candidate *candidate;
	struct deadline deadline;
};

static void handle_stops(void (*handler)(int number))
{
	for (size_t i = 0; i < ARRAY_SIZE(stopping_signals); i++)
		signal(stopping_signals[i], handler);
}

/* ---- one worker ---- */

static void work(void *argument)
{
	const struct job *job = argument;

	job->work(job->run->clock, &job->run->setup->candidate, job->candidate, &job->deadline);
}

static void end_early(struct run *run, enum run_end end, const char *why)
{
	run->result->end = end;
	fact_set(&run->result->why, FACT_FAILED, "%s", why);
}

/* True if there is a reason to end the run. */
static bool must_end(struct run *run)
{
	struct fact why = {0};

	if (run->result->end != RUN_WHOLE)
		return true;
	if (run->setup->stop && *run->setup->stop)
		end_early(run, RUN_INTERRUPTED, "interrupted");
	else if (!guardian_is_running(&run->guardian))
		end_early(run, RUN_UNGUARDED, "the guardian process was killed");
	else if (clocksource_switch_is_foreign(run->clock, &why))
		end_early(run, RUN_FOREIGN, why.reason);
	return run->result->end != RUN_WHOLE;
}

/* Kills the worker; its own children die with it. */
static void kill_worker(struct run *run, pid_t pid)
{
	struct deadline deadline = deadline_after(KILL_NS);

	if (!child_end(pid, &deadline))
		end_early(run, RUN_STUCK, "a worker hangs in the kernel and cannot be killed");
}

struct awaited {
	struct job *job;
	bool ended;
	struct fact *fact; /* why the worker did not reach its end; else left as it is */
};

static bool judge_worker(void *argument, pid_t pid, int status, const struct rusage *usage)
{
	struct awaited *awaited = argument;
	struct fact why = {0};

	(void)pid;
	(void)usage;
	if (!child_judge(status, &awaited->job->deadline, &why))
		*awaited->fact = why;
	return awaited->ended = true;
}

static bool poll_run(void *argument)
{
	const struct awaited *awaited = argument;

	return must_end(awaited->job->run);
}

static void start_and_await(
	struct run *run, candidate_work *what, struct candidate *candidate, struct fact *fact)
{
	struct job job = {.run = run,
		.work = what,
		.candidate = candidate,
		.deadline = deadline_after(run->worker_ns)};
	struct awaited awaited = {.job = &job, .fact = fact};
	pid_t pid = child_start(work, &job, &job.deadline, fact);
	int error;

	if (pid < 0)
		return;
	error = child_wait(&(struct child_wait){.pid = pid,
		.deadline = &job.deadline,
		.changed = judge_worker,
		.poll = poll_run,
		.argument = &awaited});
	if (awaited.ended)
		return;
	if (error == ETIMEDOUT)
		fact_set(fact, FACT_FAILED, "not done within %lld s",
			(long long)(run->worker_ns / NS_PER_SECOND));
	else if (error)
		fact_set_errno(fact, error, "wait4");
	else
		*fact = run->result->why;
	kill_worker(run, pid);
}

/* ---- all of them ---- */

static void try_all(struct run *run)
{
	const struct run_setup *setup = run->setup;
	size_t count = run->result->count;

	for (size_t i = 0; i < count && !must_end(run); i++) {
		struct candidate *candidate = &run->result->candidates[i];

		if (setup->progress)
			setup->progress((double)i / (double)count);
		fact_set(&candidate->fact, FACT_FAILED, "not done");
		start_and_await(run, candidate_measure, candidate, &candidate->fact);
		if (run->result->end == RUN_FOREIGN)
			candidate->changed = run->result->why;
		/* One that fails is one timing less; the end of the run shows a failed switch. */
		if (i > 0 && !must_end(run))
			start_and_await(run, candidate_time_again, &run->result->candidates[0],
				&(struct fact){0});
	}
	must_end(run);
}

/* All before the first switch: whatever is killed later, the guardian or the record is left. */
static bool begin(struct run *run)
{
	struct run_result *result = run->result;

	result->candidates =
		child_share((run->setup->count + 1) * sizeof(*result->candidates), &result->why);
	if (!result->candidates)
		return false;
	result->count = run->setup->count + 1;
	handle_stops(SIG_IGN);
	if (clocksource_switch_record(run->clock, &result->why) &&
		guardian_start(&run->guardian, run->clock, run->setup->orphaned, &result->why))
		return true;
	clocksource_switch_forget(run->clock);
	handle_stops(SIG_DFL);
	return false;
}

static void name_candidates(struct run *run)
{
	struct run_result *result = run->result;

	for (size_t i = 0; i < result->count; i++) {
		struct candidate *candidate = &result->candidates[i];

		text_copy(candidate->name, sizeof(candidate->name),
			i ? run->setup->names[i - 1] : run->clock->original);
		fact_set(&candidate->switched, FACT_UNREAD, "not tried");
		fact_set(&candidate->fact, FACT_UNREAD, "not tried");
		fact_set_known(&candidate->changed);
	}
}

/* The record stays where the original clocksource could not be restored: the next run says so. */
static void finish(struct run *run)
{
	struct run_result *result = run->result;

	result->restored = guardian_finish(&run->guardian, run->clock, &result->restored_fact);
	if (result->restored == SWITCH_FOREIGN && result->end == RUN_WHOLE)
		end_early(run, RUN_FOREIGN, result->restored_fact.reason);
	if (result->restored != SWITCH_REFUSED)
		clocksource_switch_forget(run->clock);
	handle_stops(SIG_DFL);
	ntp_state_read(&result->after);
}

void run_all(const struct clocksource_switch *clock, const struct run_setup *setup,
	struct run_result *result)
{
	struct run run = {.clock = clock,
		.setup = setup,
		.result = result,
		.worker_ns = WORKER_NS + WARP_FACTOR * setup->candidate.warp_ns};

	*result = (struct run_result){.end = RUN_NOT_BEGUN, .restored = SWITCH_DONE};
	ntp_state_read(&result->before);
	if (!begin(&run)) {
		fact_set_known(&result->restored_fact);
		return;
	}
	result->end = RUN_WHOLE;
	fact_set_known(&result->why);
	name_candidates(&run);
	try_all(&run);
	finish(&run);
}

void run_release(struct run_result *result)
{
	if (result->candidates)
		child_unshare(result->candidates, result->count * sizeof(*result->candidates));
	result->candidates = NULL;
	result->count = 0;
}
