/* SPDX-License-Identifier: MIT */
/*
 * Tries all candidates, one after the other: the clocksource in use first and again after each of
 * the others, each measured by a worker of its own that may hang, crash or be killed. The parent
 * only waits: for the worker, for an interrupt, for the end of the guardian, and for a change of
 * the clocksource that is not ours. Results are in shared memory, so that what was measured
 * before an early end is kept.
 */
#include <errno.h>
#include <signal.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/time.h"
#include "collect.h"
#include "model.h"

/* The time limit of a worker, with room for a slow clock or a busy machine. */
#define WORKER_NS 15000000000
#define WARP_FACTOR 4

/* A killed worker that is not gone after this time hangs in the kernel. */
#define KILL_NS 5000000000

/* A terminal that stops this process would leave the host on a candidate. */
static const int stopping_signals[] = {SIGTSTP, SIGTTIN, SIGTTOU};

struct run {
	const struct clocksource_switch *clock;
	const struct run_setup *setup;
	struct run_result *result;
	struct guardian guardian;
	int64_t worker_ns; /* time limit of one worker */
};

typedef void candidate_work(const struct clocksource_switch *clock, const struct run_setup *setup,
	struct candidate *candidate, const struct deadline *deadline);

struct candidate_worker {
	struct run *run;
	candidate_work *work;
	struct candidate *candidate;
	struct deadline deadline;
};

/* ---- one worker ---- */

static void run_candidate_worker(void *argument)
{
	const struct candidate_worker *worker = argument;

	worker->work(worker->run->clock, worker->run->setup, worker->candidate, &worker->deadline);
}

static void end_early(struct run *run, enum run_end end, const char *why)
{
	run->result->end = end;
	fact_set(&run->result->why, FACT_FAILED, "%s", why);
}

/* True if there is a reason to end the struct run, also while a worker is at work. */
static bool must_end(void *argument)
{
	struct run *run = argument;
	struct fact why = {0};

	if (run->result->end != RUN_WHOLE)
		return true;
	if (*run->setup->stop)
		end_early(run, RUN_INTERRUPTED, "interrupted");
	else if (!guardian_is_running(&run->guardian))
		end_early(run, RUN_UNGUARDED, "the guardian process was killed");
	else if (clocksource_switch_is_foreign(run->clock, &why))
		end_early(run, RUN_FOREIGN, why.reason);
	return run->result->end != RUN_WHOLE;
}

/* The fact gets the reason if the worker does not reach its end; otherwise it stays unchanged. */
static void start_and_await(
	struct run *run, candidate_work *work, struct candidate *candidate, struct fact *fact)
{
	struct candidate_worker worker = {.run = run,
		.work = work,
		.candidate = candidate,
		.deadline = deadline_after(run->worker_ns)};
	struct child_wait wait = {.deadline = &worker.deadline, .poll = must_end, .argument = run};
	struct deadline kill_deadline;
	struct fact why = {0};
	int error;

	wait.pid = child_start(run_candidate_worker, &worker, &worker.deadline, fact);
	if (wait.pid < 0)
		return;
	error = child_wait(&wait);
	if (wait.ended) {
		if (!child_judge(wait.status, &worker.deadline, &why))
			*fact = why;
		return;
	}
	if (error == ETIMEDOUT)
		fact_set(fact, FACT_FAILED, "not done within %lld s",
			(long long)(run->worker_ns / NS_PER_SECOND));
	else if (error)
		fact_set_errno(fact, error, "wait4");
	else
		*fact = run->result->why;
	/* The children of the worker die with it. */
	kill_deadline = deadline_after(KILL_NS);
	if (!child_end(wait.pid, &kill_deadline))
		end_early(run, RUN_STUCK, "a worker hangs in the kernel and cannot be killed");
}

/* ---- all of them ---- */

static void try_all(struct run *run)
{
	struct run_result *result = run->result;

	for (size_t i = 0; i < result->count && !must_end(run); i++) {
		struct candidate *candidate = &result->candidates[i];

		progress_show((double)i / (double)result->count);
		fact_set(&candidate->fact, FACT_FAILED, "not done");
		start_and_await(run, candidate_measure, candidate, &candidate->fact);
		if (result->end == RUN_FOREIGN) {
			candidate->fact = result->why;
			candidate->is_void = true;
		}
		/* A failure costs one timing; the end of the run shows a failed switch. */
		if (i > 0 && !must_end(run))
			start_and_await(run, candidate_time_again, &result->candidates[0],
				&(struct fact){0});
	}
	must_end(run);
}

static void handle_stops(void (*handler)(int number))
{
	for (size_t i = 0; i < ARRAY_SIZE(stopping_signals); i++)
		signal(stopping_signals[i], handler);
}

/*
 * The record and the guardian are there before the first switch: whatever is killed later, one of
 * them is left. The record stays where the original clocksource could not be restored, so that the
 * next run refuses to begin.
 */
void run_candidates(const struct clocksource_switch *clock, const struct run_setup *setup,
	struct run_result *result)
{
	struct run run = {.clock = clock,
		.setup = setup,
		.result = result,
		.worker_ns = WORKER_NS + WARP_FACTOR * setup->warp_ns};

	*result = (struct run_result){.end = RUN_NOT_BEGUN, .restored = SWITCH_DONE};
	fact_set_known(&result->restored_fact);
	ntp_collect(&result->before, DEADLINE_NONE);
	result->candidates =
		child_share((setup->count + 1) * sizeof(*result->candidates), &result->why);
	if (!result->candidates)
		return;
	result->count = setup->count + 1;
	for (size_t i = 0; i < result->count; i++) {
		struct candidate *candidate = &result->candidates[i];

		text_copy(candidate->name, sizeof(candidate->name),
			i ? setup->names[i - 1] : clock->original);
		fact_set(&candidate->fact, FACT_UNREAD, "not tried");
	}
	handle_stops(SIG_IGN);
	if (clocksource_switch_record(clock, &result->why) &&
		guardian_start(&run.guardian, clock, setup->orphaned, &result->why)) {
		result->end = RUN_WHOLE;
		fact_set_known(&result->why);
		try_all(&run);
		result->restored = guardian_finish(&run.guardian, clock, &result->restored_fact);
		if (result->restored == SWITCH_FOREIGN && result->end == RUN_WHOLE)
			end_early(&run, RUN_FOREIGN, result->restored_fact.reason);
	}
	if (result->restored != SWITCH_REFUSED)
		clocksource_switch_forget(clock);
	handle_stops(SIG_DFL);
	ntp_collect(&result->after, DEADLINE_NONE);
}
