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

enum own_option { OPTION_INTERVAL = OPTION_OWN, OPTION_EXEC };

struct watch_request {
	int64_t interval_ns; /* 0: not given */
	int64_t duration_ns; /* 0: not given */
	const char *program; /* NULL: none */
};

/* Set by a signal that ends the run. */
static volatile bool stop;

/* The sleep ends for one of these reasons. */
enum wake { WAKE_CHANGE, WAKE_SIGNAL, WAKE_TIME_OVER, WAKE_FAILED };

struct watch {
	const struct root *root;
	const struct watch_request *request;
	struct vdso_image vdso;
	char name[CLOCKSOURCE_NAME_SIZE]; /* of the clocksource, as last read; "": never */
	struct fact name_fact;            /* of the last attempt to read it */
	struct watch_place place;
	struct watch_words words; /* at `place` before the last check */
	struct watch_sources sources;
	struct watch_signs signs; /* before the last check */
	bool reads_clocks;        /* those that a suspend parts */
	sigset_t unblocked;       /* mask of the waits, the only places where a signal arrives */
	int timer;                /* descriptor that --duration ends by; -1: there is no end */
	enum wake wake;
	struct watch_check checks[2];
	struct watch_event event; /* the last one, and what is known of the next */
};

/* A mistake in the path must be noticed now, not at the first change. */
static bool take_program(struct watch_request *request, const char *path)
{
	struct stat status;

	request->program = path;
	if (!strchr(path, '/'))
		return cli_usage_error("--exec: '%s' is not the path of a program", path);
	if (stat(path, &status) < 0 || access(path, X_OK) < 0)
		return cli_error("--exec: cannot run %s: %s", path, strerror(errno));
	return S_ISREG(status.st_mode) || cli_error("--exec: cannot run %s: not a file", path);
}

static bool watch_take(struct cli *cli, int id, const char *value)
{
	struct watch_request *request = cli->data;

	if (id == OPTION_INTERVAL)
		return take_duration("--interval", value, &request->interval_ns);
	if (id == 'd')
		return take_duration("--duration", value, &request->duration_ns);
	return take_program(request, value);
}

/* ---- what is watched ---- */

/* Keeps the last name, and reports the first of several failures, where it cannot be read. */
static void read_name(struct watch *watch)
{
	char name[CLOCKSOURCE_NAME_SIZE];
	struct fact fact = {0};

	if (clocksource_read(watch->root, name, &fact))
		text_copy(watch->name, sizeof(watch->name), name);
	else if (*watch->name && fact_is_known(&watch->name_fact))
		cli_error("cannot read the clocksource, watching on: %s", fact.reason);
	watch->name_fact = fact;
}

static void read_words(void *argument)
{
	struct watch *watch = argument;

	watch->words = watch_words_read(&watch->place);
}

static void read_signs(void *argument)
{
	struct watch *watch = argument;

	watch->signs = watch_signs_read(&watch->sources, &watch->place);
}

static void read_suspended(void *argument)
{
	watch_signs_read_suspended(argument);
}

/*
 * Whether clocks may be read between the checks: without a system call, as the proof saw it of this
 * process. CLOCK_BOOTTIME is not a deciding call; where it is not served (x86 before 5.3) it is a
 * system call, and a child finds out whether a sandbox kills for it.
 */
static bool may_read_clocks(struct watch *watch)
{
	const struct call_evidence *call =
		clock_gettime_of(&watch->event.now->evidence, "CLOCK_MONOTONIC");
	const struct path_evidence *path = call ? &call->path[PATH_LIBC] : NULL;

	return path && path->attempts && !path->entered &&
	       child_probe(read_suspended, &watch->signs, sizeof(watch->signs), DEADLINE_NONE,
		       &(struct fact){0});
}

/* The addresses of a page that has gone may have been reused since. */
static void find_words(struct watch *watch, const struct vclock_evidence *vclock)
{
	watch_place_find(&watch->vdso, vclock, &watch->place);
	if (watch->place.mode && fault_guard(read_words, watch)) {
		watch->place = (struct watch_place){0};
		fact_set(&watch->event.page, FACT_FAILED, "the vDSO's data page is gone");
	}
}

/*
 * Checks the host. Name, words and signs are read before the check, so that no change is missed
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
		if (fault_guard(read_signs, watch))
			watch->sources.vmclock = NULL;
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
	watch->reads_clocks = may_read_clocks(watch);
}

static bool state_has_changed(struct watch *watch)
{
	char before[CLOCKSOURCE_NAME_SIZE];
	struct watch_words words;

	if (watch->place.mode) {
		words = watch_words_read(&watch->place);
		return watch_words_differ(&words, &watch->words);
	}
	text_copy(before, sizeof(before), watch->name);
	read_name(watch);
	return strcmp(watch->name, before) != 0;
}

/* Where the state has changed the vDSO may have ceased to serve the clocks: they are not read. */
static bool has_changed(struct watch *watch)
{
	bool changed = state_has_changed(watch);
	struct watch_signs now = watch_signs_read(&watch->sources, &watch->place);

	if (!changed && watch->reads_clocks)
		watch_signs_read_suspended(&now);
	if (!changed && !watch_restore_find(&watch->signs, &now))
		return false;
	/* The uevent of the same restore, which would else be a second one. */
	watch_uevents_take(&watch->sources);
	now.generations = watch->sources.generations;
	watch->event.restored = watch_restore_find(&watch->signs, &now);
	return true;
}

/* The sleep is the only system call where the words were found and no device has changed. */
static void sleep_until_wake(void *argument)
{
	struct watch *watch = argument;
	struct pollfd files[] = {{.fd = watch->timer, .events = POLLIN},
		{.fd = watch->sources.uevents, .events = POLLIN}};
	const struct timespec interval = {
		.tv_sec = (time_t)(watch->request->interval_ns / NS_PER_SECOND),
		.tv_nsec = (long)(watch->request->interval_ns % NS_PER_SECOND)};

	watch->event.restored = RESTORE_NONE;
	for (;;) {
		int ready =
			stop ? -1 : ppoll(files, ARRAY_SIZE(files), &interval, &watch->unblocked);

		watch->wake = stop                            ? WAKE_SIGNAL
		              : ready > 0 && files[0].revents ? WAKE_TIME_OVER
		              : ready >= 0 || errno == EINTR  ? WAKE_CHANGE
		                                              : WAKE_FAILED;
		if (watch->wake != WAKE_CHANGE)
			return;
		watch->event.counts.wakeups++;
		if (ready > 0)
			watch_uevents_take(&watch->sources);
		if (has_changed(watch))
			return;
	}
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

/* Returns false after an error message: nothing to watch, or the event could not be written. */
static bool report_event(struct cli *cli, struct watch *watch, enum watch_event_kind kind)
{
	struct watch_event *event = &watch->event;
	const char *program = watch->request->program;
	struct fact why = {0};
	struct rusage usage;

	event->kind = kind;
	event->timestamp = (struct timestamp_evidence){.uptime_s = 0};
	timestamp_collect(watch->root, &event->timestamp, DEADLINE_NONE);
	ntp_collect(&event->ntp, DEADLINE_NONE);
	fact_set(&event->log.fact, FACT_ABSENT, "nothing has changed");
	event->before = NULL;
	if (kind == WATCH_CHANGE || kind == WATCH_RESTORED) {
		event->before = event->now;
		event->now = &watch->checks[event->now == watch->checks];
	}
	if (kind != WATCH_END)
		check_again(watch);
	if (event->before)
		watch_log_find(&event->before->evidence.kernel_log,
			&event->now->evidence.kernel_log, &event->log);
	event->counts.restores += kind == WATCH_RESTORED;
	if (kind == WATCH_CHANGE ||
		(event->before && !watch_checks_agree(event->before, event->now))) {
		event->counts.changes++;
		event->counts.last_change = event->timestamp.time;
	}
	if (kind == WATCH_START && !watch->place.mode && !*watch->name)
		return cli_error("nothing to watch: no clock mode: %s; no clocksource: %s",
			event->page.reason, watch->name_fact.reason);
	getrusage(RUSAGE_SELF, &usage);
	event->counts.cpu_s = rusage_seconds(&usage);
	if (cli->out && !cli->output && !await_room(watch))
		return false;
	cli_print(cli, event);
	if (!cli_flush(cli))
		return false;
	if (kind != WATCH_END)
		watch_notify(event);
	if (event->before && program && !watch_hook_run(program, event, &why))
		cli_error("--exec: %s: %s", program, why.reason);
	return true;
}

/* ---- the run ---- */

static bool start_timer(struct watch *watch)
{
	int64_t ns = watch->request->duration_ns;
	const struct itimerspec end = {.it_value = {.tv_sec = (time_t)(ns / NS_PER_SECOND),
					       .tv_nsec = (long)(ns % NS_PER_SECOND)}};

	watch->timer = ns ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) : -1;
	if (!ns || (watch->timer >= 0 && timerfd_settime(watch->timer, 0, &end, NULL) == 0))
		return true;
	return cli_error("cannot set a timer for --duration: %s", strerror(errno));
}

static bool watch_until_end(struct cli *cli, struct watch *watch)
{
	if (!start_timer(watch) || !report_event(cli, watch, WATCH_START))
		return false;
	for (;;) {
		int fault = fault_guard(sleep_until_wake, watch);

		if (fault)
			cli_error("the vDSO's data page is gone: %s", fault_signal_name(fault));
		if (!fault && watch->wake == WAKE_FAILED)
			return cli_error("cannot sleep: ppoll: %s", strerror(errno));
		if (!fault && watch->wake != WAKE_CHANGE)
			return report_event(cli, watch, WATCH_END);
		if (!report_event(
			    cli, watch, watch->event.restored ? WATCH_RESTORED : WATCH_CHANGE))
			return false;
	}
}

static int watch_run(struct cli *cli)
{
	static struct watch watch;
	struct watch_request *request = cli->data;
	struct vdso_evidence vdso = {0};

	if (!request->interval_ns)
		request->interval_ns = DEFAULT_INTERVAL_NS;
	if (!request->program)
		privileges_gain_none();
	watch.root = &cli->root;
	watch.request = request;
	watch.event.now = watch.checks;
	watch.event.interval_s = (double)request->interval_ns / NS_PER_SECOND;
	/* A signal during a check ends the run after it. */
	interrupts_catch(&stop, false);
	interrupts_block(&watch.unblocked);
	vdso_collect(&cli->root, &vdso, &watch.vdso);
	watch_sources_open(&watch.sources);
	if (!watch_until_end(cli, &watch))
		return cli_trouble(cli);
	if (watch.wake == WAKE_SIGNAL) {
		/* systemd(1) stops a service by SIGTERM: that is its regular end. */
		if (interrupts_first() == SIGTERM)
			cli->ends_regularly = true;
		return EXIT_SUCCESS;
	}
	return verdict_exit_status(watch.event.now->diagnosis.verdict.kind);
}

static const struct option_row options[] = {
	{OPTION_INTERVAL, "interval", "TIME", "read the mode every TIME (default 1 s)"},
	{'d', "duration", "TIME", "end after TIME (default: never)"},
	{OPTION_EXEC, "exec", "PROGRAM",
		"run the program at this path at each change or restore, without arguments: the "
		"event is on its standard input as JSON, and in variables VDSOCHECK_*"},
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
		"0 ended by SIGTERM, 130 by Ctrl-C; at the end of --duration that of the verdict: "
		"0 served by the vDSO, 1 fallback, slow or wrong, 2 undetermined; 3 usage error, "
		"nothing to watch or failed output.",
	.options = options,
	.formats = formats,
	.size = sizeof(struct watch_request),
	.take = watch_take,
	.run = watch_run,
	.never_verbose = true,
	.runs_program = true,
};
