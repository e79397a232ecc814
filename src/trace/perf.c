/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open(2) on syscalls:sys_enter_NAME. These tracepoints are silent for 32-bit programs
 * on a 64-bit kernel. A call that takes a clock has an event for all its calls and some with a
 * filter for one clock; the other clocks are the rest. Each event takes about 20 ns of each call,
 * so only the clocks that the vDSO may serve have one.
 */
#include "perf.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "run.h"

/* The argument's name in the tracepoint of clock_gettime, since it exists (2.6.33). */
#define CLOCK_FIELD "which_clock"

static const char *const tracefs[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

static const clockid_t clocks_apart[] = {
	CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME};

/* ---- events ---- */

static bool find_id(const struct root *root, const char *name, uint32_t *id, struct fact *why)
{
	const char *denied = NULL;

	fact_set(why, FACT_ABSENT, "no tracefs here; as root: mount -t tracefs tracefs %s",
		tracefs[0]);
	for (size_t i = 0; i < ARRAY_SIZE(tracefs); i++) {
		char path[160], content[32];
		struct fact reason = {0};
		struct span span;
		uint64_t number;

		snprintf(
			path, sizeof(path), "%s/events/syscalls/sys_enter_%s/id", tracefs[i], name);
		if (root_read(root, path, content, sizeof(content), &span, &reason) &&
			number_parse(text_trim(span), &number) && number <= INT32_MAX) {
			*id = (uint32_t)number;
			return true;
		}
		snprintf(path, sizeof(path), "%s/events", tracefs[i]);
		if (reason.state == FACT_DENIED && !denied)
			denied = tracefs[i];
		else if (root_has(root, path))
			fact_set(why, FACT_ABSENT, "the kernel has no tracepoint sys_enter_%s",
				name);
	}
	if (denied)
		fact_set(why, FACT_DENIED, "%s is readable by root only", denied);
	return false;
}

bool trace_events_find(const struct root *root, const struct trace_plan *plan,
	struct trace_events *events, struct fact *why)
{
	*events = (struct trace_events){.count = 0};
	for (size_t i = 0; i < plan->call_count; i++) {
		if (plan->calls[i].number[TRACE_NATIVE] >= 0 &&
			!find_id(root, plan->calls[i].name, &events->ids[i], why))
			return false;
	}
	return true;
}

static int open_event(uint32_t id, struct trace_target target)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attributes),
		.config = id,
		.disabled = 1};

	/* The threads and children of a thread are counted with it; an event of a CPU sees all. */
	attributes.inherit = target.cpu < 0;
	attributes.enable_on_exec = target.from_exec;
	return (int)syscall(SYS_perf_event_open, &attributes, target.thread, target.cpu, -1,
		PERF_FLAG_FD_CLOEXEC);
}

static int add_event(struct trace_events *events, uint32_t id, struct trace_target target,
	const struct trace_event *event, const char *filter)
{
	struct trace_event *list =
		array_grow(events->list, events->count, &events->room, sizeof(*list));
	int file;

	if (!list)
		return ENOMEM;
	events->list = list;
	file = open_event(id, target);
	if (file < 0)
		return errno;
	list[events->count] = *event;
	list[events->count++].file = file;
	return filter && ioctl(file, PERF_EVENT_IOC_SET_FILTER, filter) < 0 ? errno : 0;
}

/*
 * A counter of all calls and, where they take a clock, one with a filter for each of the usual
 * clocks: the rest are calls with other clocks.
 */
static int open_call(struct trace_events *events, const struct trace_plan *plan, size_t which,
	struct trace_target target)
{
	const struct trace_call *call = &plan->calls[which];
	struct trace_event event = {.row = call->row, .of_all_clocks = call->takes_clock};
	int error = add_event(events, events->ids[which], target, &event, NULL);

	event.of_all_clocks = false;
	for (size_t i = 0; i < ARRAY_SIZE(clocks_apart) && call->takes_clock && !error; i++) {
		char filter[64];

		event.row = trace_plan_find(plan, plan->arch[TRACE_NATIVE],
			(uint64_t)call->number[TRACE_NATIVE], (uint64_t)clocks_apart[i]);
		snprintf(filter, sizeof(filter), CLOCK_FIELD " == %d", clocks_apart[i]);
		error = add_event(events, events->ids[which], target, &event, filter);
	}
	return error;
}

int trace_events_open(
	struct trace_events *events, const struct trace_plan *plan, struct trace_target target)
{
	int error = 0;

	for (size_t i = 0; i < plan->call_count && !error; i++) {
		if (plan->calls[i].number[TRACE_NATIVE] >= 0)
			error = open_call(events, plan, i, target);
	}
	return error;
}

static void control(const struct trace_events *events, unsigned long request)
{
	for (size_t i = 0; i < events->count; i++)
		ioctl(events->list[i].file, request, 0);
}

void trace_events_enable(const struct trace_events *events)
{
	control(events, PERF_EVENT_IOC_ENABLE);
}

void trace_events_disable(const struct trace_events *events)
{
	control(events, PERF_EVENT_IOC_DISABLE);
}

/* The calls of other clocks: all without those of the clocks that have a row. */
static void settle_clocks(const struct trace_plan *plan, struct trace_counts *counts)
{
	for (size_t i = 0; i < plan->call_count; i++) {
		uint64_t *rows = &counts->of[TRACE_NATIVE][plan->calls[i].row];
		uint64_t *other = &rows[TRACE_CLOCK_COUNT - 1];

		if (!plan->calls[i].takes_clock)
			continue;
		for (size_t k = 0; k < TRACE_CLOCK_COUNT - 1; k++)
			*other -= rows[k] < *other ? rows[k] : *other;
	}
}

int trace_events_read(const struct trace_events *events, const struct trace_plan *plan,
	struct trace_counts *counts)
{
	for (size_t i = 0; i < events->count; i++) {
		const struct trace_event *event = &events->list[i];
		size_t row = event->row + (event->of_all_clocks ? TRACE_CLOCK_COUNT - 1 : 0);
		uint64_t count;
		ssize_t length = read(event->file, &count, sizeof(count));

		if (length != sizeof(count)) {
			int error = length < 0 ? errno : EIO;

			*counts = (struct trace_counts){0};
			return error;
		}
		counts->of[TRACE_NATIVE][row] += count;
	}
	settle_clocks(plan, counts);
	return 0;
}

void trace_events_close(struct trace_events *events)
{
	for (size_t i = 0; i < events->count; i++)
		close(events->list[i].file);
	free(events->list);
	events->list = NULL;
	events->count = 0;
}

void trace_events_explain(int error, struct fact *why)
{
	if (error == EACCES || error == EPERM)
		fact_set(why, FACT_DENIED,
			"perf_event_open is refused: it needs CAP_PERFMON, or root, or "
			"/proc/sys/kernel/perf_event_paranoid at 1 or less (0 for --all)");
	else if (error == EMFILE)
		fact_set(why, FACT_FAILED, "not enough file descriptors (ulimit -n)");
	else
		fact_set_errno(why, error, "perf_event_open");
}

/* ---- a program that we start ---- */

/* The events begin after the execve(2) that they wait for. */
static void count_first_execve(const struct trace_plan *plan, struct trace_counts *counts)
{
	for (size_t i = 0; i < plan->call_count; i++) {
		if (strcmp(plan->calls[i].name, "execve") == 0)
			counts->of[TRACE_NATIVE][plan->calls[i].row]++;
	}
}

static void run_program(
	struct trace_evidence *trace, struct trace_run *run, struct trace_start *start)
{
	int64_t start_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	struct rusage usage;
	int error = trace_signals_start(start->pid, run->limit_ns);

	if (error) {
		trace_signals_end();
		trace_start_cancel(start);
		run->failure = (struct trace_failure){.preparing = true, .error = error};
		return;
	}
	trace_start_go(start);
	while (!error && wait4(trace->program.pid, &run->status, 0, &usage) < 0) {
		error = errno == EINTR ? 0 : errno;
		trace_signals_pass();
	}
	if (!error)
		trace_set_used(trace, start_ns, &usage);
	trace_signals_end();
	run->failure = trace_start_result(start);
	if (error)
		run->failure = (struct trace_failure){.preparing = true, .error = error};
}

static bool is_usable(const struct root *root, const struct trace_evidence *trace,
	struct trace_events *events, struct fact *why)
{
	if (fact_is_known(&trace->program.file_fact) && trace->program.is_32_bit) {
		fact_set(why, FACT_ABSENT, "they do not count the calls of 32-bit programs");
		return false;
	}
	return trace_events_find(root, trace->plan, events, why);
}

bool trace_run_by_tracepoints(const struct root *root, struct trace_evidence *trace,
	struct trace_run *run, struct fact *why)
{
	struct trace_events events;
	struct trace_start start;
	int error;

	if (!is_usable(root, trace, &events, why) ||
		!trace_start_fork(&trace->program, run->arguments, NULL, NULL, &start, why))
		return false;
	error = trace_events_open(&events, trace->plan,
		(struct trace_target){.thread = start.pid, .cpu = -1, .from_exec = true});
	if (error) {
		trace_events_explain(error, why);
		trace_start_cancel(&start);
		trace_events_close(&events);
		return false;
	}
	trace->program.pid = start.pid;
	trace->method = TRACE_BY_TRACEPOINTS;
	run_program(trace, run, &start);
	trace_events_disable(&events);
	error = trace_events_read(&events, trace->plan, &trace->counts);
	if (error && !run->failure.error)
		run->failure = (struct trace_failure){.preparing = true, .error = error};
	count_first_execve(trace->plan, &trace->counts);
	trace_events_close(&events);
	return true;
}

/* ---- a process that runs already ---- */

/* The end of a process that is not our child is looked for: pidfds are younger, of 5.3. */
#define PAUSE_NS 50000000

/* An event is a descriptor for each thread or CPU, and five for a call that takes a clock. */
void trace_raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* The threads that there are now; what they start is counted with them. */
static int open_threads(struct trace_events *events, const struct trace_evidence *trace)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", trace->program.pid);
	tasks = opendir(path);
	if (!tasks)
		return errno;
	while (!error && (entry = readdir(tasks))) {
		uint64_t id;

		if (!number_parse(text_span(entry->d_name), &id) || id > INT32_MAX)
			continue;
		error = trace_events_open(
			events, trace->plan, (struct trace_target){.thread = (pid_t)id, .cpu = -1});
		/* It has ended since it was listed. */
		if (error == ESRCH)
			error = 0;
	}
	closedir(tasks);
	return error;
}

/* Until the time is over, *stop, or the process has ended. */
static void await(pid_t pid, int64_t limit_ns, const volatile bool *stop)
{
	struct deadline deadline = deadline_after(limit_ns);
	int64_t left;

	while (!*stop && (left = deadline_left_ns(&deadline)) > 0 &&
		(kill(pid, 0) == 0 || errno != ESRCH)) {
		struct timespec pause = {.tv_nsec = left < PAUSE_NS ? (long)left : PAUSE_NS};

		nanosleep(&pause, NULL);
	}
}

bool trace_attach_by_tracepoints(const struct root *root, struct trace_evidence *trace,
	int64_t limit_ns, const volatile bool *stop, struct fact *why)
{
	struct trace_events events;
	struct trace_moment start;
	int error;

	if (!is_usable(root, trace, &events, why))
		return false;
	trace_raise_file_limit();
	error = open_threads(&events, trace);
	if (!error && !events.count)
		error = ESRCH;
	if (error) {
		trace_events_explain(error, why);
		trace_events_close(&events);
		return false;
	}
	trace->method = TRACE_BY_TRACEPOINTS;
	start = trace_moment_now(trace->program.pid);
	trace_events_enable(&events);
	await(trace->program.pid, limit_ns, stop);
	trace_events_disable(&events);
	trace_set_used_since(trace, &start);
	error = trace_events_read(&events, trace->plan, &trace->counts);
	if (error)
		fact_set_errno(why, error, "reading the counters");
	trace_events_close(&events);
	return !error;
}
