/* SPDX-License-Identifier: MIT */
/*
 * The command watch: sleeps, compares a few words of mapped memory with what they were, and
 * sleeps again. Only when they differ is anything measured: by a whole check, in a child.
 * The sleep is ppoll(2): it waits for the end of the interval by CLOCK_MONOTONIC, which neither a
 * suspended host nor a clock that is set confuses, for the signals that end the run, and for a
 * timer of the same clock that ends --duration: no clock is read to know the time.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/child.h"
#include "base/privileges.h"
#include "base/time.h"
#include "check.h"
#include "collect.h"
#include "commands.h"
#include "measure/vdso.h"
#include "model.h"

#define DEFAULT_INTERVAL_NS NS_PER_SECOND

/* A clocksource that changes during the check is checked again. */
#define FIND_TRIES 3

/* The output may stay full for this time once a signal came. */
#define LAST_WRITE_S 2

#define DEFAULT_RECHECK_NS (15 * 60 * NS_PER_SECOND)

enum own_option {
	OPTION_INTERVAL = OPTION_OWN,
	OPTION_RECHECK,
	OPTION_EXEC,
	OPTION_SIMULATE,
};

/* Set by a signal that ends the run. */
static volatile bool stop;

/* The sleep ends for one of these reasons. */
enum wake {
	WAKE_NOT,
	WAKE_CHANGE,
	WAKE_RESTORED,
	WAKE_RECHECK,
	WAKE_SIGNAL,
	WAKE_TIME_OVER,
	WAKE_FAILED
};

/* The kind of cli->data. */
struct watch {
	int64_t interval_ns; /* 0: not given, like the next two */
	int64_t recheck_ns;
	int64_t duration_ns;
	const char *program; /* NULL: none */
	bool simulate;

	const struct root *root;
	struct vdso_image vdso;
	char name[CLOCKSOURCE_NAME_SIZE]; /* of the clocksource, as last read; "": never */
	struct fact name_fact;            /* of the last attempt to read it */
	struct watch_place place;
	struct watch_words words; /* at `place` before the last check */
	sigset_t unblocked;       /* mask of the waits, the only places where a signal arrives */
	int timer;                /* descriptor that --duration ends by; -1: there is no end */
	enum wake wake;
	struct watch_check checks[2];
	struct watch_event event; /* the last one, and what is known of the next */
};

/* A mistake in the path must be noticed now, not at the first change. */
static bool take_program(struct watch *watch, const char *path)
{
	struct stat status;

	watch->program = path;
	if (!strchr(path, '/'))
		return cli_usage_error("--exec: '%s' is not the path of a program", path);
	if (stat(path, &status) < 0 || access(path, X_OK) < 0)
		return cli_error("--exec: cannot run %s: %s", path, strerror(errno));
	return S_ISREG(status.st_mode) || cli_error("--exec: cannot run %s: not a file", path);
}

static bool watch_take(struct cli *cli, int id, const char *value)
{
	struct watch *watch = cli->data;

	switch (id) {
	case OPTION_INTERVAL:
		return take_duration("--interval", value, &watch->interval_ns);
	case OPTION_RECHECK:
		return take_duration("--recheck", value, &watch->recheck_ns);
	case 'd':
		return take_duration("--duration", value, &watch->duration_ns);
	case OPTION_SIMULATE:
		return watch->simulate = true;
	default:
		return take_program(watch, value);
	}
}

/* ---- what is watched ---- */

/* Keeps the last name, and reports the first of several failures, where it cannot be read. */
static void read_name(struct watch *watch)
{
	char name[CLOCKSOURCE_NAME_SIZE];
	struct fact fact = {0};

	if (clocksource_read(watch->root, name, &fact))
		text_clean(watch->name, sizeof(watch->name), name);
	else if (*watch->name && fact_is_known(&watch->name_fact))
		cli_error("cannot read the clocksource, watching on: %s", fact.reason);
	watch->name_fact = fact;
}

static void read_words(void *argument)
{
	struct watch *watch = argument;

	watch->words = watch_words_read(&watch->place);
}

/* The addresses of a page that has gone may have been reused since. */
static void find_words(struct watch *watch, const struct vclock_evidence *vclock)
{
	watch_place_find(&watch->vdso, vclock, &watch->place);
	if (watch->place.mode && fault_guard(read_words, watch))
		watch->place.pvclock = NULL;
	if (watch->place.mode && !watch->place.pvclock && fault_guard(read_words, watch)) {
		watch->place = (struct watch_place){0};
		fact_set(&watch->event.page, FACT_FAILED, "the vDSO's data page is gone");
	}
}

/*
 * Checks the host. Name and words are read before the check, so that no change is missed
 * between the two; a check of another clocksource is made again.
 */
static void check_again(struct watch *watch)
{
	struct evidence *evidence = &watch->event.now->evidence;

	for (int i = 0; i < FIND_TRIES; i++) {
		struct vclock_evidence vclock = {0};

		read_name(watch);
		vvar_collect(&watch->vdso, watch->name, &vclock, DEADLINE_NONE);
		watch->event.page = vclock.fact;
		find_words(watch, &vclock);
		check_in_child(watch->root, evidence, &watch->event.now->diagnosis);
		if (!fact_is_known(&evidence->clocksource.current_fact) ||
			strcmp(watch->name, evidence->clocksource.latest) == 0)
			break;
	}
	if (!watch->place.mode && fact_is_known(&evidence->copy.fact)) {
		fact_set_known(&watch->event.page);
		find_words(watch,
			&(struct vclock_evidence){.how = VCLOCK_COPY, .at = evidence->copy.at});
	}
	/* Xen's page changes its base at any time. A check that was cut short leaves KVM's. */
	if (!fact_is_flag(&evidence->host.kvm_clock_offered, true) ||
		evidence->base.fact.state == FACT_ABSENT)
		watch->place.pvclock = NULL;
	watch->event.watches_base = watch->place.pvclock && watch->words.base_valid;
}

/* Returns the reason to end the sleep, or WAKE_NOT. */
static enum wake look(struct watch *watch)
{
	char before[CLOCKSOURCE_NAME_SIZE];
	struct watch_words words;

	if (watch->place.mode) {
		words = watch_words_read(&watch->place);
		return watch_words_restored(&watch->words, &words) ? WAKE_RESTORED
		       : watch_words_differ(&watch->words, &words) ? WAKE_CHANGE
		                                                   : WAKE_NOT;
	}
	text_clean(before, sizeof(before), watch->name);
	read_name(watch);
	return strcmp(watch->name, before) != 0 ? WAKE_CHANGE : WAKE_NOT;
}

/* The sleep is the only system call where the words were found. */
static void sleep_until_wake(void *argument)
{
	struct watch *watch = argument;
	struct pollfd timer = {.fd = watch->timer, .events = POLLIN};
	const struct timespec interval = timespec_of(watch->interval_ns);
	int64_t slept_ns = 0;

	do {
		int ready = stop ? -1 : ppoll(&timer, 1, &interval, &watch->unblocked);

		watch->wake = stop                           ? WAKE_SIGNAL
		              : ready > 0                    ? WAKE_TIME_OVER
		              : ready == 0 || errno == EINTR ? WAKE_NOT
		                                             : WAKE_FAILED;
		if (watch->wake != WAKE_NOT)
			return;
		watch->event.counts.wakeups++;
		slept_ns += watch->interval_ns;
		watch->wake = look(watch);
		if (watch->wake == WAKE_NOT && !watch->event.watches_base &&
			slept_ns >= watch->recheck_ns)
			watch->wake = WAKE_RECHECK;
	} while (watch->wake == WAKE_NOT);
}

/* ---- events ---- */

/*
 * An event is shorter than PIPE_BUF: a pipe that can take anything takes all of it at once. While
 * one is full a signal ends the wait, and LAST_WRITE_S later the run, without the last line.
 */
static bool await_room(const struct watch *watch)
{
	static const struct timespec patience = {.tv_sec = LAST_WRITE_S};
	struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};

	while (!stop) {
		if (ppoll(&output, 1, NULL, &watch->unblocked) > 0 || errno != EINTR)
			return true;
	}
	return ppoll(&output, 1, &patience, NULL) != 0;
}

/* Takes the time, and checks the host again unless watching ends or this is a test. */
static void begin_event(struct watch *watch, enum watch_event_kind kind)
{
	struct watch_event *event = &watch->event;

	event->kind = kind;
	event->timestamp = (struct timestamp_evidence){0};
	timestamp_collect(watch->root, &event->timestamp, DEADLINE_NONE);
	ntp_collect(&event->ntp, DEADLINE_NONE);
	fact_set(&event->log.fact, FACT_ABSENT, "nothing has changed");
	event->stood_s = (struct real_fact){.value = 0};
	fact_set(&event->stood_s.fact, FACT_ABSENT, "not restored");
	event->before = NULL;
	if (kind != WATCH_START && kind != WATCH_END) {
		event->before = event->now;
		event->now = &watch->checks[event->now == watch->checks];
	}
	if (kind == WATCH_TEST || kind == WATCH_END)
		return;
	/* A second signal ends a check, or a hook, at once. */
	sigprocmask(SIG_SETMASK, &watch->unblocked, NULL);
	check_again(watch);
	interrupts_block(&watch->unblocked);
}

/* The time that the clock stood still is shown as 0 where it is less than its error. */
static void find_stood(struct watch_event *event)
{
	double stood_s, error_s;

	if (watch_find_stood(event->before, event->now, &stood_s, &error_s, &event->stood_s.fact))
		fact_set_real(&event->stood_s, stood_s > error_s ? stood_s : 0);
}

/*
 * Returns false after an error message: nothing to watch, the event could not be written, or a test
 * failed.
 */
static bool report_event(struct cli *cli, struct watch *watch)
{
	struct watch_event *event = &watch->event;
	const char *program = watch->program;
	struct fact why = {0};
	struct rusage usage;
	bool done;

	if (event->before)
		watch_log_find(&event->before->evidence.kernel_log,
			&event->now->evidence.kernel_log, &event->log);
	if (event->kind == WATCH_RESTORED)
		find_stood(event);
	event->counts.restores += event->kind == WATCH_RESTORED;
	if (event->kind == WATCH_CHANGE ||
		(event->kind == WATCH_RESTORED && !watch_checks_agree(event->before, event->now))) {
		event->counts.changes++;
		event->counts.last_change = event->timestamp.time;
	}
	if (event->kind == WATCH_START && !watch->place.mode && !*watch->name)
		return cli_error("nothing to watch: no clock mode: %s; no clocksource: %s",
			event->page.reason, watch->name_fact.reason);
	getrusage(RUSAGE_SELF, &usage);
	event->counts.cpu_s = rusage_seconds(&usage);
	if (cli->out && !cli->output && !await_room(watch))
		return false;
	cli_print(cli, event);
	if (!cli_flush(cli))
		return false;
	if (event->kind != WATCH_END)
		watch_notify(event);
	if (!event->before || !program)
		return true;
	sigprocmask(SIG_SETMASK, &watch->unblocked, NULL);
	done = watch_hook_run(program, event, &why);
	interrupts_block(&watch->unblocked);
	if (done)
		return true;
	cli_error("--exec: %s: %s", program, why.reason);
	return event->kind != WATCH_TEST;
}

/* ---- the run ---- */

static bool start_timer(struct watch *watch)
{
	int64_t ns = watch->duration_ns;
	const struct itimerspec end = {.it_value = timespec_of(ns)};

	watch->timer = ns ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) : -1;
	if (!ns || (watch->timer >= 0 && timerfd_settime(watch->timer, 0, &end, NULL) == 0))
		return true;
	return cli_error("cannot set a timer for --duration: %s", strerror(errno));
}

/* Decides by the clocks of two checks whether it was a restore. False: nothing is new. */
static bool is_news(struct watch_event *event, enum wake wake)
{
	if (wake == WAKE_RECHECK && watch_fell_behind(event->before, event->now))
		event->kind = WATCH_RESTORED;
	if (wake == WAKE_RESTORED && watch_only_cpus_changed(event->before, event->now))
		event->kind = WATCH_CHANGE;
	return event->kind == WATCH_RESTORED || wake == WAKE_CHANGE ||
	       !watch_checks_agree(event->before, event->now);
}

/* An event as if the clock had begun to fall back, which says that it is a test. */
static bool report_test(struct cli *cli, struct watch *watch)
{
	struct verdict *verdict;

	begin_event(watch, WATCH_TEST);
	*watch->event.now = *watch->event.before;
	verdict = &watch->event.now->diagnosis.verdict;
	verdict->kind = VERDICT_FALLBACK;
	text_clean(verdict->summary, sizeof(verdict->summary),
		"this is a test by 'vdsocheck watch --simulate': nothing has changed.");
	return report_event(cli, watch);
}

static bool watch_until_end(struct cli *cli, struct watch *watch)
{
	if (!start_timer(watch))
		return false;
	begin_event(watch, WATCH_START);
	if (!report_event(cli, watch))
		return false;
	if (watch->simulate)
		return report_test(cli, watch);
	for (;;) {
		int fault = fault_guard(sleep_until_wake, watch);

		if (fault)
			cli_error("the vDSO's data page is gone: %s", fault_signal_name(fault));
		if (!fault && watch->wake == WAKE_FAILED)
			return cli_error("cannot sleep: ppoll: %s", strerror(errno));
		if (!fault && watch->wake >= WAKE_SIGNAL) {
			begin_event(watch, WATCH_END);
			return report_event(cli, watch);
		}
		begin_event(watch,
			!fault && watch->wake == WAKE_RESTORED ? WATCH_RESTORED : WATCH_CHANGE);
		if (!fault && !is_news(&watch->event, watch->wake))
			continue;
		if (!report_event(cli, watch))
			return false;
	}
}

static int watch_run(struct cli *cli)
{
	struct watch *watch = cli->data;
	struct vdso_evidence vdso = {0};

	if (!watch->interval_ns)
		watch->interval_ns = DEFAULT_INTERVAL_NS;
	if (!watch->recheck_ns)
		watch->recheck_ns = DEFAULT_RECHECK_NS;
	if (!watch->program)
		privileges_gain_none();
	watch->root = &cli->root;
	watch->event.now = watch->checks;
	watch->event.interval_s = (double)watch->interval_ns / NS_PER_SECOND;
	watch->event.recheck_s = (double)watch->recheck_ns / NS_PER_SECOND;
	/* A signal during a check ends the run after it. */
	interrupts_catch(&stop);
	interrupts_block(&watch->unblocked);
	vdso_collect(&cli->root, &vdso, &watch->vdso);
	if (!watch_until_end(cli, watch))
		return cli_trouble(cli);
	if (watch->simulate)
		return EXIT_SUCCESS;
	if (watch->wake == WAKE_SIGNAL) {
		/* systemd(1) stops a service by SIGTERM: that is its regular end. */
		if (interrupts_first() == SIGTERM)
			cli->ends_regularly = true;
		return EXIT_SUCCESS;
	}
	return verdict_answers[watch->event.now->diagnosis.verdict.kind].status;
}

static const struct option_row options[] = {
	{OPTION_INTERVAL, "interval", "TIME", "read the mode every TIME (default 1 s)"},
	{OPTION_RECHECK, "recheck", "TIME",
		"check again every TIME where no pvclock page shows a restore (default 15 m)"},
	{'d', "duration", "TIME", "end after TIME (default: never)"},
	{OPTION_EXEC, "exec", "PROGRAM",
		"run the program at this path at each change or restore, without arguments: the "
		"event is on its standard input as JSON, and in variables VDSOCHECK_*"},
	{OPTION_SIMULATE, "simulate", NULL, "report one test event, by --exec too, and end"},
	{0},
};

static const struct format formats[] = {
	{.name = "text", .write = watch_event_text},
	{.name = "json", .summary = "one line for each event", .write = watch_event_json},
	{.name = "prometheus", .summary = "counts, for -o", .write = watch_event_prometheus},
	{0},
};

const struct command watch_command = {
	.name = "watch",
	.summary = "report when the vDSO stops or begins to serve the clock",
	.help = "Watches the clocksource's mode in the vDSO's data page, with no system call other "
		"than the sleep. When it changes, checks the host again, prints what changed and "
		"the verdict, and runs a program. The file of --output holds the last event only.",
	.status =
		"0 ended by SIGTERM or after a test, 130 by Ctrl-C; at the end of --duration that "
		"of 'vdsocheck check' for the last verdict; 3 usage error, nothing to watch, "
		"failed output or a test that failed.",
	.options = options,
	.formats = formats,
	.size = sizeof(struct watch),
	.take = watch_take,
	.run = watch_run,
	.runs_program = true,
};
