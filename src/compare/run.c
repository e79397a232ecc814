/* SPDX-License-Identifier: MIT */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/kernel_clock.h"
#include "base/text.h"
#include "guardian.h"

#define NS_PER_SECOND 1000000000

/* A worker's time: what it needs, and more on a slow clock or a busy machine. */
#define WORKER_SECONDS 15
#define WARP_FACTOR 4

/* After it the worker's own alarm has failed, and we end it. */
#define LATE_SECONDS 5

/* For a killed worker to be gone. One that is not hangs in the kernel. */
#define REAP_SECONDS 5

#define POLL_MS 100

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* A terminal that stops us would leave the host on somebody else's clock. */
static const int stopping_signals[] = {SIGTSTP, SIGTTIN, SIGTTOU};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct run {
	const struct clock_switch *clock;
	const struct comparison_setup *setup;
	struct comparison *comparison;
	struct guardian guardian;
	unsigned seconds; /* a worker's time */
	int signals;      /* signalfd */
	sigset_t mask_before;
};

/* What a worker is given. */
struct work {
	const struct run *run;
	struct trial *trial;
};

/* ---- signals: told by a descriptor while we run ---- */

static bool take_signals(struct run *run, struct fact *why)
{
	sigset_t taken;

	sigemptyset(&taken);
	sigaddset(&taken, SIGCHLD);
	for (size_t i = 0; i < COUNT_OF(ending_signals); i++)
		sigaddset(&taken, ending_signals[i]);
	sigprocmask(SIG_BLOCK, &taken, &run->mask_before);
	for (size_t i = 0; i < COUNT_OF(stopping_signals); i++)
		signal(stopping_signals[i], SIG_IGN);
	run->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run->signals >= 0)
		return true;
	fact_set_errno(why, errno, "signalfd");
	sigprocmask(SIG_SETMASK, &run->mask_before, NULL);
	return false;
}

static void give_signals_back(struct run *run)
{
	close(run->signals);
	for (size_t i = 0; i < COUNT_OF(stopping_signals); i++)
		signal(stopping_signals[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &run->mask_before, NULL);
}

/* The signal that is to end us; 0 if none has come. */
static int next_signal(const struct run *run)
{
	struct signalfd_siginfo told;

	while (read(run->signals, &told, sizeof(told)) == (ssize_t)sizeof(told)) {
		if (told.ssi_signo != SIGCHLD)
			return (int)told.ssi_signo;
	}
	return 0;
}

/* ---- one worker ---- */

/* The parent has its own answer to these; a worker just ends. */
static void work(void *argument)
{
	const struct work *work = argument;

	for (size_t i = 0; i < COUNT_OF(ending_signals); i++)
		signal(ending_signals[i], SIG_DFL);
	trial_run(work->run->clock, &work->run->setup->trial, work->trial);
}

static void end_early(struct run *run, enum comparison_end end, const char *why)
{
	run->comparison->end = end;
	fact_set(&run->comparison->why, FACT_FAILED, "%s", why);
}

/* True if there is a reason to end everything. */
static bool must_end(struct run *run)
{
	int signal = next_signal(run);

	if (signal) {
		run->comparison->signal = signal;
		end_early(run, COMPARISON_INTERRUPTED, "interrupted");
	} else if (!guardian_is_there(&run->guardian)) {
		end_early(run, COMPARISON_UNGUARDED, "the guardian was killed");
	}
	return run->comparison->end != COMPARISON_WHOLE;
}

static void await_event(const struct run *run)
{
	struct pollfd events[] = {
		{.fd = run->signals, .events = POLLIN}, {.fd = run->guardian.watch}};

	poll(events, COUNT_OF(events), POLL_MS);
}

static bool is_reaped(pid_t pid, int *status)
{
	pid_t ended = waitpid(pid, status, WNOHANG);

	return ended == pid || (ended < 0 && errno == ECHILD);
}

/* Kills the worker; its own children die with it. */
static void end_worker(struct run *run, pid_t pid)
{
	static const struct timespec moment = {.tv_nsec = NS_PER_SECOND / 100};
	int status;

	kill(pid, SIGKILL);
	for (int i = 0; i < REAP_SECONDS * 100; i++) {
		if (is_reaped(pid, &status))
			return;
		nanosleep(&moment, NULL);
	}
	end_early(run, COMPARISON_STUCK, "a worker hangs in the kernel and cannot be killed");
}

static void await_worker(struct run *run, pid_t pid, struct trial *trial)
{
	int64_t late = kernel_clock_seconds(CLOCK_MONOTONIC) + run->seconds + LATE_SECONDS;
	struct fact why = {0};
	int status = 0;

	while (!is_reaped(pid, &status)) {
		if (must_end(run) || kernel_clock_seconds(CLOCK_MONOTONIC) > late) {
			fact_set(&trial->fact, FACT_FAILED, "not done within %u s", run->seconds);
			end_worker(run, pid);
			return;
		}
		await_event(run);
	}
	if (!child_judge(status, run->seconds, &why))
		trial->fact = why;
}

static void try_source(struct run *run, size_t place)
{
	struct trial *trial = &run->comparison->trials[place];
	struct work job = {.run = run, .trial = trial};
	pid_t pid;

	if (run->setup->progress)
		run->setup->progress(run->setup->argument, place, run->setup->count, trial->name);
	fact_set(&trial->fact, FACT_FAILED, "not done");
	pid = child_start(work, &job, run->seconds, &trial->fact);
	if (pid > 0)
		await_worker(run, pid, trial);
}

static void try_all(struct run *run)
{
	for (size_t i = 0; i < run->setup->count && !must_end(run); i++)
		try_source(run, i);
}

/* ---- the whole ---- */

static bool begin(struct run *run)
{
	struct comparison *comparison = run->comparison;

	comparison->trials =
		child_share(run->setup->count * sizeof(*comparison->trials), &comparison->why);
	if (!comparison->trials || !take_signals(run, &comparison->why))
		return false;
	if (guardian_start(&run->guardian, run->clock, run->setup->orphaned, &comparison->why))
		return true;
	give_signals_back(run);
	return false;
}

static void name_trials(struct run *run)
{
	struct comparison *comparison = run->comparison;

	comparison->count = run->setup->count;
	for (size_t i = 0; i < comparison->count; i++) {
		struct trial *trial = &comparison->trials[i];

		text_copy(trial->name, sizeof(trial->name), run->setup->names[i]);
		fact_set(&trial->switched, FACT_UNREAD, "it was not tried");
		fact_set(&trial->fact, FACT_UNREAD, "it was not tried");
	}
}

void comparison_run(const struct clock_switch *clock, const struct comparison_setup *setup,
	struct comparison *comparison)
{
	struct run run = {.clock = clock,
		.setup = setup,
		.comparison = comparison,
		.seconds = WORKER_SECONDS +
	                   WARP_FACTOR * (unsigned)(setup->trial.warp_ns / NS_PER_SECOND)};

	*comparison = (struct comparison){.end = COMPARISON_NOT_BEGUN};
	if (!begin(&run)) {
		fact_set_known(&comparison->restored);
		return;
	}
	comparison->end = COMPARISON_WHOLE;
	fact_set_known(&comparison->why);
	name_trials(&run);
	try_all(&run);
	guardian_finish(&run.guardian, clock, &comparison->restored);
	give_signals_back(&run);
}

void comparison_release(struct comparison *comparison)
{
	if (comparison->trials)
		child_unshare(comparison->trials, comparison->count * sizeof(*comparison->trials));
	comparison->trials = NULL;
	comparison->count = 0;
}
