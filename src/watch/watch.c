/* SPDX-License-Identifier: MIT */
/*
 * The command watch: sleeps, compares a few words of mapped memory with what they were, and
 * sleeps again. Only when they differ is anything measured: by a whole check, in a child.
 * The sleep is sigtimedwait(2): it waits for the end of the interval by CLOCK_MONOTONIC, which
 * neither a suspended host nor a clock that is set confuses, and for the signals that end us.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/fault.h"
#include "base/privileges.h"
#include "base/units.h"
#include "check.h"
#include "collect.h"
#include "commands.h"
#include "measure/vvar.h"
#include "report.h"

#define DEFAULT_INTERVAL_NS NS_PER_SECOND

/* A clocksource that changes during the check is checked again. */
#define FIND_TRIES 3

/* How long a write may take once a signal came. */
#define LAST_WRITE_S 2

enum own_option { OPTION_INTERVAL = OPTION_OWN, OPTION_EXEC };

struct request {
	int64_t interval_ns; /* 0: not given */
	int64_t duration_ns; /* 0: not given */
	const char *program; /* NULL: none */
};

static const int signals[] = {SIGINT, SIGTERM};

/* The first of them that came; 0: none. */
static volatile sig_atomic_t caught;

/* Why the sleep ended. */
enum wake { WAKE_CHANGE, WAKE_SIGNAL, WAKE_TIME_OVER };

struct watch {
	const struct root *root;
	const struct request *request;
	struct vdso_image vdso;
	struct clocksource_evidence
		clocksource; /* by name: watched where the words are not found */
	struct watch_place place;
	struct watch_words known;
	struct fact page;
	struct watch_counts counts;
	sigset_t stops;
	int64_t left_ns; /* of --duration */
	enum wake wake;
	struct watch_check checks[2], *now;
};

/* A mistake in it is to be noticed now, not at the first change. */
static bool take_program(struct request *request, const char *path)
{
	struct stat status;

	request->program = path;
	if (!strchr(path, '/'))
		cli_usage_error("--exec: '%s' is not the path of a program", path);
	else if (stat(path, &status) < 0 || access(path, X_OK) < 0)
		cli_error("--exec: cannot run %s: %s", path, strerror(errno));
	else if (!S_ISREG(status.st_mode))
		cli_error("--exec: cannot run %s: not a file", path);
	else
		return true;
	return false;
}

static bool take(struct cli *cli, int id, const char *value)
{
	struct request *request = cli->own;

	if (id == OPTION_INTERVAL)
		return take_duration("--interval", value, &request->interval_ns);
	if (id == 'd')
		return take_duration("--duration", value, &request->duration_ns);
	return take_program(request, value);
}

/* ---- what is watched ---- */

static void read_known(void *argument)
{
	struct watch *watch = argument;

	watch->known = watch_words_read(&watch->place);
}

/* Where the page has gone, its addresses may have been taken for something else meanwhile. */
static void find_words(struct watch *watch, const struct vclock_evidence *vclock)
{
	watch_place_find(&watch->vdso, vclock, &watch->place);
	if (watch->place.mode && fault_guard(read_known, watch)) {
		watch->place = (struct watch_place){0};
		fact_set(&watch->page, FACT_FAILED, "the vDSO's data page is gone");
	}
}

/*
 * Checks the host. What stands in the words is read before the check, so that no change is
 * missed between the two.
 */
static void check(struct watch *watch)
{
	struct evidence *evidence = &watch->now->evidence;

	for (int i = 0; i < FIND_TRIES; i++) {
		struct vclock_evidence vclock = {0};

		clocksource_collect(watch->root, &watch->clocksource);
		vvar_collect(&watch->vdso, watch->clocksource.latest, &vclock, DEADLINE_NONE);
		watch->page = vclock.fact;
		find_words(watch, &vclock);
		check_in_child(watch->root, evidence, &watch->now->diagnosis);
		if (!fact_is_known(&evidence->clocksource.current_fact) ||
			strcmp(watch->clocksource.latest, evidence->clocksource.latest) == 0)
			break;
	}
	if (!watch->place.mode && fact_is_known(&evidence->copy.fact)) {
		fact_set_known(&watch->page);
		find_words(watch,
			&(struct vclock_evidence){.how = VCLOCK_COPY, .at = evidence->copy.at});
	}
}

static bool has_changed(struct watch *watch)
{
	struct watch_words words;

	if (!watch->place.mode)
		return clocksource_collect_change(watch->root, &watch->clocksource);
	words = watch_words_read(&watch->place);
	return watch_words_differ(&words, &watch->known);
}

/* Without a system call but the sleep, where the words were found. */
static void sleep_until_wake(void *argument)
{
	struct watch *watch = argument;
	int64_t interval_ns = watch->request->interval_ns;

	for (;;) {
		int64_t pause_ns = interval_ns < watch->left_ns ? interval_ns : watch->left_ns;
		struct timespec pause = {.tv_sec = (time_t)(pause_ns / NS_PER_SECOND),
			.tv_nsec = (long)(pause_ns % NS_PER_SECOND)};

		if (!caught) {
			int number = sigtimedwait(&watch->stops, NULL, &pause);

			caught = number > 0 ? number : 0;
		}
		watch->wake = WAKE_SIGNAL;
		if (caught)
			return;
		watch->counts.wakeups++;
		watch->wake = WAKE_CHANGE;
		if (has_changed(watch))
			return;
		watch->wake = WAKE_TIME_OVER;
		if (watch->left_ns != INT64_MAX)
			watch->left_ns -= pause_ns;
		if (watch->left_ns <= 0)
			return;
	}
}

/* ---- events ---- */

/*
 * Signals end a write that waits for a reader as well. Were the write alone interrupted, a signal
 * just before it would be lost: from the first signal on there is a time limit.
 */
static void note_stop(int number)
{
	if (caught)
		return;
	caught = number;
	alarm(LAST_WRITE_S);
}

/* By the signal, and without the last line. */
static void give_up(int number)
{
	(void)number;
	signal(caught, SIG_DFL);
	raise(caught);
}

static void handle_stops(const sigset_t *stops, void (*handler)(int number))
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (sigismember(stops, signals[i]))
			signal(signals[i], handler);
	}
}

/* The children of a check do not inherit the handlers. */
static bool flush(struct cli *cli, const struct watch *watch)
{
	sigset_t taken = watch->stops, before;
	bool flushed;

	sigaddset(&taken, SIGALRM);
	signal(SIGALRM, give_up);
	handle_stops(&watch->stops, note_stop);
	if (caught)
		alarm(LAST_WRITE_S);
	sigprocmask(SIG_UNBLOCK, &taken, &before);
	flushed = cli_flush(cli);
	sigprocmask(SIG_SETMASK, &before, NULL);
	alarm(0);
	handle_stops(&watch->stops, SIG_DFL);
	return flushed;
}

/* False if it could not be written. */
static bool report_event(struct cli *cli, struct watch *watch, struct watch_event *event)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	watch->counts.cpu_s = rusage_seconds(&usage);
	event->now = watch->now;
	event->page = watch->page;
	event->interval_s = (double)watch->request->interval_ns / NS_PER_SECOND;
	event->counts = watch->counts;
	cli_print(cli, event);
	return flush(cli, watch);
}

static void run_hook(const struct watch *watch, const struct watch_event *event)
{
	struct fact why = {0};

	if (watch->request->program && !watch_hook_run(watch->request->program, event, &why))
		cli_error("--exec: %s: %s", watch->request->program, why.reason);
}

static bool report_start(struct cli *cli, struct watch *watch)
{
	static struct watch_event event = {.kind = WATCH_START};

	watch_event_take(watch->root, &event);
	fact_set(&event.log.fact, FACT_ABSENT, "nothing has changed");
	check(watch);
	if (!watch->place.mode && !fact_is_known(&watch->clocksource.current_fact)) {
		cli_error("nothing to watch: no clock mode: %s; no clocksource: %s",
			watch->page.reason, watch->clocksource.current_fact.reason);
		return false;
	}
	if (!report_event(cli, watch, &event))
		return false;
	watch_notify(&event);
	return true;
}

static bool report_change(struct cli *cli, struct watch *watch)
{
	static struct watch_event event;

	event = (struct watch_event){.kind = WATCH_CHANGE, .before = watch->now};
	watch->now = &watch->checks[watch->now == watch->checks];
	watch->counts.changes++;
	watch_event_take(watch->root, &event);
	check(watch);
	watch_log_find(
		&event.before->evidence.kernel_log, &watch->now->evidence.kernel_log, &event.log);
	if (!report_event(cli, watch, &event))
		return false;
	watch_notify(&event);
	run_hook(watch, &event);
	return true;
}

static bool report_end(struct cli *cli, struct watch *watch)
{
	static struct watch_event event = {.kind = WATCH_END};

	watch_event_take(watch->root, &event);
	fact_set(&event.log.fact, FACT_ABSENT, "nothing has changed");
	return report_event(cli, watch, &event);
}

/* ---- the run ---- */

/*
 * Blocked but while it writes: a signal during a check ends us after it. One that our parent
 * ignores, as a shell does for what it runs in the background, stays ignored.
 */
static void block_stops(sigset_t *stops)
{
	struct sigaction before;

	sigemptyset(stops);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaddset(stops, signals[i]);
	}
	sigprocmask(SIG_BLOCK, stops, NULL);
}

static bool watch_until_end(struct cli *cli, struct watch *watch)
{
	int64_t duration_ns = watch->request->duration_ns;
	struct deadline deadline = {0};

	if (duration_ns)
		deadline = deadline_after(duration_ns);
	if (!report_start(cli, watch))
		return false;
	for (;;) {
		int fault;

		watch->left_ns = deadline_left_ns(&deadline);
		if (watch->left_ns == 0)
			return report_end(cli, watch);
		fault = fault_guard(sleep_until_wake, watch);
		if (fault)
			cli_error("the vDSO's data page is gone: %s", fault_signal_name(fault));
		if (!fault && watch->wake != WAKE_CHANGE)
			return report_end(cli, watch);
		if (!report_change(cli, watch))
			return false;
	}
}

static int run(struct cli *cli)
{
	static struct watch watch;
	struct request *request = cli->own;
	struct vdso_evidence vdso = {0};

	if (!request->interval_ns)
		request->interval_ns = DEFAULT_INTERVAL_NS;
	if (!request->program)
		privileges_gain_none();
	watch.root = &cli->root;
	watch.request = request;
	watch.now = watch.checks;
	block_stops(&watch.stops);
	vdso_collect(&cli->root, &vdso, &watch.vdso);
	if (!watch_until_end(cli, &watch))
		return cli_trouble(cli);
	if (watch.wake == WAKE_SIGNAL && caught == SIGINT)
		cli->signal = SIGINT;
	if (watch.wake == WAKE_SIGNAL)
		return EXIT_SUCCESS;
	return verdict_exit_status(watch.now->diagnosis.verdict.kind);
}

static const struct option_row options[] = {
	{OPTION_INTERVAL, "interval", "TIME", "read the mode every TIME (default 1 s)"},
	{'d', "duration", "TIME", "end after TIME (default: never)"},
	{OPTION_EXEC, "exec", "PROGRAM",
		"run the program at this path at each change, without arguments: the change is "
		"on its standard input as JSON, and in variables VDSOCHECK_*"},
	{0},
};

static const struct format formats[] = {
	{.name = "text", .write = watch_event_text},
	{.name = "json", .summary = "one line for each event", .write = watch_event_json},
	{0},
};

const struct command watch_command = {
	.name = "watch",
	.summary = "report when the vDSO stops or begins to serve the clock",
	.help = "Watches the clocksource's mode in the vDSO's data page, with no system call other "
		"than the sleep. When it changes, checks the host again, prints what changed and "
		"the verdict, and runs a program. The file of --output holds the last event only.",
	.status =
		"0 ended by SIGTERM, 130 by Ctrl-C; at the end of --duration that of the verdict: "
		"0 served by the vDSO, 1 fallback or slow, 2 undetermined; 3 usage error, "
		"nothing to watch or failed output.",
	.options = options,
	.formats = formats,
	.size = sizeof(struct request),
	.take = take,
	.run = run,
	.never_verbose = true,
	.runs_program = true,
};
