/* SPDX-License-Identifier: MIT */
/*
 * Tries all candidates, one after the other, the clocksource in use first, each measured by a
 * worker of its own that may hang, crash or be killed. The parent only waits: for the worker, for
 * an interrupt, and for the end of the guardian. Results are in shared memory, so that what was
 * measured before an early end is kept.
 */
#include <errno.h>
#include <signal.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/time.h"
#include "model.h"

/* The time limit of a worker, with room for a slow clock or a busy machine. */
#define WORKER_NS 15000000000

/* A killed worker that is not gone after this time hangs in the kernel. */
#define KILL_NS 5000000000

/* A terminal that stops this process would leave the host on a candidate. */
static const int stopping_signals[] = {SIGTSTP, SIGTTIN, SIGTTOU};

/* ---- one worker ---- */

static void run_worker(void *argument)
{
	const struct run *run = argument;

	candidate_measure(run, &run->candidates[run->current]);
}

/* Returns true if there is a reason to end the run, also while a worker is at work. */
static bool must_end(void *argument)
{
	struct run *run = argument;

	if (fact_is_known(&run->why) && *run->stop)
		fact_set(&run->why, FACT_FAILED, "interrupted");
	else if (fact_is_known(&run->why) && !guardian_is_running(&run->guardian))
		fact_set(&run->why, FACT_FAILED, "the guardian process was killed");
	return !fact_is_known(&run->why);
}

/* The fact gets the reason if the worker does not reach its end; otherwise it stays unchanged. */
static void start_and_await(struct run *run, struct fact *fact)
{
	struct child_wait wait = {.deadline = &run->deadline, .poll = must_end, .argument = run};
	struct deadline kill_deadline;
	struct fact why = {0};
	int error;

	run->deadline = deadline_after(WORKER_NS);
	wait.pid = child_start(run_worker, run, &run->deadline, fact);
	if (wait.pid < 0)
		return;
	error = child_wait(&wait);
	if (wait.ended) {
		if (!child_explain(wait.status, &run->deadline, &why))
			*fact = why;
		return;
	}
	if (error == ETIMEDOUT)
		fact_set(fact, FACT_FAILED, "not done within %lld s",
			(long long)(WORKER_NS / NS_PER_SECOND));
	else if (error)
		fact_set_errno(fact, error, "wait4");
	else
		*fact = run->why;
	/* The children of the worker die with it. */
	kill_deadline = deadline_after(KILL_NS);
	if (!child_end(wait.pid, &kill_deadline))
		fact_set(&run->why, FACT_FAILED,
			"a worker hangs in the kernel and cannot be killed");
}

/* ---- all of them ---- */

/* A run in which something else switched ends: the numbers may be of another clocksource. */
static void try_all(struct run *run)
{
	for (size_t i = 0; i < run->count && !must_end(run); i++) {
		struct candidate *candidate = &run->candidates[i];

		progress_say("trying %s (%zu of %zu)", candidate->name, i + 1, run->count);
		fact_set(&candidate->fact, FACT_FAILED, "not done");
		run->current = i;
		start_and_await(run, &candidate->fact);
		if (candidate->foreign && fact_is_known(&run->why))
			run->why = candidate->fact;
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
void run_candidates(struct run *run, const char *const *names, size_t count)
{
	run->restored = SWITCH_DONE;
	fact_set_known(&run->restored_fact);
	run->candidates = child_share((count + 1) * sizeof(*run->candidates), &run->why);
	if (!run->candidates)
		return;
	run->count = count + 1;
	for (size_t i = 0; i < run->count; i++) {
		struct candidate *candidate = &run->candidates[i];

		text_clean(candidate->name, sizeof(candidate->name),
			i ? names[i - 1] : run->sw->original);
		candidate->in_use = i == 0;
		fact_set(&candidate->fact, FACT_UNREAD, "not tried");
	}
	handle_stops(SIG_IGN);
	if (clocksource_switch_record(run->sw, &run->why) &&
		guardian_start(&run->guardian, run->sw, run->orphaned, &run->why)) {
		run->begun = true;
		fact_set_known(&run->why);
		try_all(run);
		run->restored = guardian_finish(&run->guardian, run->sw, &run->restored_fact);
		if (run->restored == SWITCH_FOREIGN && fact_is_known(&run->why))
			run->why = run->restored_fact;
	}
	if (run->restored != SWITCH_REFUSED)
		clocksource_switch_forget(run->sw);
	handle_stops(SIG_DFL);
}
