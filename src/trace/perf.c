/* SPDX-License-Identifier: MIT */
/*
 * Counts by perf_event_open(2) on syscalls:sys_enter_NAME: the program runs at full speed. A
 * call that takes a clock has events with filters: one for each clock that the vDSO may serve, and
 * one for all other clocks. Each takes about 20 ns of each call.
 *
 * These tracepoints are silent for 32-bit code on a 64-bit kernel (arch_trace_is_compat_syscall(),
 * since 3.11): for 32-bit programs, and for int 0x80 in any program. raw_syscalls:sys_enter has the
 * calls of both, with a number that does not say whose table it is from. The calls with the numbers
 * that the counted ones have in 32-bit code, less the 64-bit calls with these numbers, are those by
 * 32-bit code. That costs each system call about as much as a cheap one takes.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "count.h"

/* The tracepoint of clock_gettime has had this name for the argument since it exists (2.6.33). */
#define CLOCK_FIELD "which_clock"

static const char *const tracefs[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

static const clockid_t clocks_apart[] = {
	CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME};

/* ---- events ---- */

#define CALL_EVENT "syscalls/sys_enter_"

/* Finds the event whose name is made of both texts, such as CALL_EVENT and "time". */
static bool find_id(const struct root *root, const char *event, const char *name, uint32_t *id,
	struct fact *why)
{
	fact_set(why, FACT_ABSENT, "no tracefs here; as root: mount -t tracefs tracefs %s",
		tracefs[0]);
	for (size_t i = 0; i < ARRAY_SIZE(tracefs); i++) {
		char path[160], content[32];
		struct fact reason = {0};
		struct span span;
		uint64_t number;

		snprintf(path, sizeof(path), "%s/events/%s%s/id", tracefs[i], event, name);
		if (root_read(root, path, content, sizeof(content), &span, &reason) &&
			number_parse(text_trim(span), &number) && number <= INT32_MAX) {
			*id = (uint32_t)number;
			fact_set_known(why);
			return true;
		}
		snprintf(path, sizeof(path), "%s/events", tracefs[i]);
		if (reason.state == FACT_DENIED && why->state != FACT_DENIED)
			fact_set(why, FACT_DENIED, "%s is readable by root only", tracefs[i]);
		else if (why->state != FACT_DENIED && root_has(root, path))
			fact_set(
				why, FACT_ABSENT, "the kernel has no tracepoint %s%s", event, name);
	}
	return false;
}

/* Sets the fact trace->unlisted. */
static void find_raw(const struct root *root, struct trace_events *events)
{
	const struct trace_plan *plan = events->trace->plan;
	struct fact *why = &events->trace->unlisted.fact;
	size_t used = 0;

	fact_set_number(&events->trace->unlisted, 0);
	for (size_t i = 0; i < plan->call_count && fact_is_known(why); i++) {
		int number = plan->calls[i].number[TRACE_COMPAT];
		char *name;

		if (number < 0)
			continue;
		used += (size_t)snprintf(events->raw_filter + used,
			sizeof(events->raw_filter) - used, "%sid == %d", used ? " || " : "",
			number);
		name = seccomp_syscall_resolve_num_arch(plan->arch[TRACE_NATIVE], number);
		if (name && find_id(root, CALL_EVENT, name, &events->same[events->same_count], why))
			events->same_count++;
		free(name);
	}
	if (used && fact_is_known(why))
		(void)find_id(root, "raw_syscalls/sys_enter", "", &events->raw_id, why);
}

bool trace_events_find(const struct root *root, struct trace_evidence *trace,
	struct trace_events *events, struct fact *why)
{
	const struct trace_plan *plan = trace->plan;
	struct rlimit limit;

	*events = (struct trace_events){.trace = trace};
	if (trace->program.is_32_bit) {
		fact_set(why, FACT_ABSENT, "tracepoints do not see 32-bit programs");
		return false;
	}
	for (size_t i = 0; i < plan->call_count; i++) {
		if (plan->calls[i].number[TRACE_NATIVE] >= 0 &&
			!find_id(root, CALL_EVENT, plan->calls[i].name, &events->ids[i], why))
			return false;
	}
	find_raw(root, events);
	/* An event is a descriptor for each thread or CPU, and five for a call with a clock. */
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	return true;
}

int trace_event_open(struct trace_events *events, const struct trace_target *target, uint64_t *sum)
{
	struct perf_event_attr attributes = target->attributes;
	int file;

	attributes.size = sizeof(attributes);
	file = (int)syscall(SYS_perf_event_open, &attributes, target->thread, target->cpu,
		target->leader ? target->leader : -1, PERF_FLAG_FD_CLOEXEC | target->flags);
	if (file < 0)
		return errno;
	events->list =
		array_grow(events->list, events->count, &events->room, sizeof(*events->list));
	events->list[events->count++] = (struct trace_event){.file = file, .sum = sum};
	return 0;
}

int trace_event_add(struct trace_events *events, uint32_t id, struct trace_target target,
	const char *filter, uint64_t *sum)
{
	int error;

	target.attributes.type = PERF_TYPE_TRACEPOINT;
	target.attributes.config = id;
	target.attributes.disabled = !target.leader;
	error = trace_event_open(events, &target, sum);
	if (!error && filter && ioctl(trace_event_last(events), PERF_EVENT_IOC_SET_FILTER, filter))
		error = errno;
	return error;
}

int trace_event_last(const struct trace_events *events)
{
	return events->list[events->count - 1].file;
}

/*
 * Opens these events as a group, which its first event enables and disables at once. A call that is
 * between the two tracepoints at such a moment is counted by one of them alone, except at an
 * execve(2) of the thread itself.
 */
static int open_raw(struct trace_events *events, struct trace_target target)
{
	int error =
		trace_event_add(events, events->raw_id, target, events->raw_filter, &events->raw);

	if (!target.attributes.enable_on_exec)
		events->slack += 2;
	if (!error)
		target.leader = trace_event_last(events);
	target.attributes.enable_on_exec = false;
	for (size_t i = 0; i < events->same_count && !error; i++)
		error = trace_event_add(events, events->same[i], target, NULL, &events->native);
	return error;
}

/* Opens the events of a call with a row for each of these clocks, and one for the others. */
static int open_clocks(struct trace_events *events, size_t i, struct trace_target target)
{
	const struct trace_call *call = &events->trace->plan->calls[i];
	uint64_t *counts = events->trace->counts[TRACE_NATIVE];
	char filter[64], others[256] = "";
	int error = 0;

	for (size_t k = 0; k < ARRAY_SIZE(clocks_apart) && !error; k++) {
		size_t row = trace_plan_row(events->trace->plan, call, (uint64_t)clocks_apart[k]);

		text_append(others, sizeof(others), "%s" CLOCK_FIELD " != %d", k ? " && " : "",
			clocks_apart[k]);
		snprintf(filter, sizeof(filter), CLOCK_FIELD " == %d", clocks_apart[k]);
		error = trace_event_add(events, events->ids[i], target, filter, &counts[row]);
	}
	if (!error)
		error = trace_event_add(
			events, events->ids[i], target, others, &counts[call->rest]);
	return error;
}

int trace_events_open(struct trace_events *events, struct trace_target target)
{
	const struct trace_plan *plan = events->trace->plan;
	uint64_t *counts = events->trace->counts[TRACE_NATIVE];
	int error = 0;

	for (size_t i = 0; i < plan->call_count && !error; i++) {
		const struct trace_call *call = &plan->calls[i];

		if (call->number[TRACE_NATIVE] < 0)
			continue;
		if (call->row < call->rest)
			error = open_clocks(events, i, target);
		else
			error = trace_event_add(
				events, events->ids[i], target, NULL, &counts[call->row]);
	}
	if (!error && events->raw_id && fact_is_known(&events->trace->unlisted.fact))
		error = open_raw(events, target);
	return error;
}

size_t trace_events_row(
	const struct trace_plan *plan, const struct trace_call *call, uint64_t argument)
{
	for (size_t i = 0; i < ARRAY_SIZE(clocks_apart); i++) {
		if ((uint32_t)argument == (uint32_t)clocks_apart[i])
			return trace_plan_row(plan, call, argument);
	}
	return call->rest;
}

void trace_events_control(const struct trace_events *events, unsigned long request)
{
	for (size_t i = 0; i < events->count; i++)
		ioctl(events->list[i].file, request, 0);
}

int trace_events_add_up(struct trace_events *events)
{
	uint64_t unlisted;

	for (size_t i = 0; i < events->count; i++) {
		struct trace_event *event = &events->list[i];
		uint64_t count;
		ssize_t length;

		if (!event->sum)
			continue;
		length = read(event->file, &count, sizeof(count));
		if (length != sizeof(count))
			return length < 0 ? errno : EIO;
		*event->sum += count - event->before;
		event->before = count;
	}
	unlisted = events->raw - events->native;
	if (events->raw > events->native + events->slack && unlisted > events->unlisted) {
		events->trace->unlisted.value = (int64_t)(unlisted - events->unlisted);
		events->unlisted = unlisted;
	}
	return 0;
}

/* Closes the rings and all but the first `kept` events. */
static void drop(struct trace_events *events, size_t kept)
{
	while (events->ring_count)
		trace_ring_close(&events->rings[--events->ring_count]);
	while (events->count > kept)
		close(events->list[--events->count].file);
}

void trace_events_close(struct trace_events *events)
{
	drop(events, 0);
	free(events->rings);
	free(events->list);
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

static void begin(struct trace_run *run, struct trace_events *events)
{
	fact_set_known(&run->trace->method_fact);
	run->trace->method = TRACE_BY_TRACEPOINTS;
	fact_set_known(&run->trace->tracepoints);
	run->events = events;
}

/* ---- a program that we start ---- */

/* Counts the program that waits in our child until it ends. False: it was not started. */
static bool count_program(struct trace_run *run, struct trace_events *events)
{
	const struct trace_call *exec = trace_plan_call(run->trace->plan, "execve");
	size_t counters = events->count;
	int error;

	begin(run, events);
	/*
	 * A process that is not followed may execute another program before its samples are read.
	 * Without samples no place is known.
	 */
	if (run->serves && run->call_places && trace_samples_open(events, run->program, true) != 0)
		drop(events, counters);
	if (!trace_follow(run)) {
		run->trace->tracepoints = run->trace->served;
		return false;
	}
	error = trace_events_add_up(events);
	if (error && !run->failure.error)
		run->failure = (struct trace_failure){TRACE_FOLLOWING, error};
	/* The events begin after the execve(2) that they wait for. */
	if (exec)
		run->trace->counts[TRACE_NATIVE][exec->row]++;
	return true;
}

bool trace_perf_run(struct trace_run *run)
{
	struct fact *why = &run->trace->tracepoints;
	struct trace_events events;
	bool is_counted = false;
	int error;

	if (!trace_events_find(run->root, run->trace, &events, why) ||
		!trace_run_fork(run, NULL, why))
		return false;
	error = trace_events_open(
		&events, (struct trace_target){.thread = run->program,
				 .cpu = -1,
				 .attributes = {.inherit = true, .enable_on_exec = true}});
	if (error) {
		trace_events_explain(error, why);
		trace_run_cancel(run);
	} else {
		is_counted = count_program(run, &events);
	}
	run->events = NULL;
	trace_events_close(&events);
	return is_counted;
}

/* ---- what runs already ---- */

void trace_events_watch(
	struct trace_run *run, struct trace_events *events, bool (*look)(struct trace_run *run))
{
	begin(run, events);
	trace_run_begin(run);
	trace_events_control(events, PERF_EVENT_IOC_ENABLE);
	while (look(run) && trace_run_pause(run))
		;
	trace_events_control(events, PERF_EVENT_IOC_DISABLE);
	trace_run_counted(run);
	run->failure.error = trace_events_add_up(events);
}

/* The threads and children that it starts are counted with it. */
static int open_thread(void *events, pid_t id)
{
	int error = trace_events_open(events,
		(struct trace_target){.thread = id, .cpu = -1, .attributes = {.inherit = true}});

	/* The thread may have ended since it was listed. */
	return error == ESRCH ? 0 : error;
}

static int sample_thread(void *events, pid_t id)
{
	return trace_samples_open(events, id, false);
}

static bool is_there(struct trace_run *run)
{
	return kill(run->trace->program.pid, 0) == 0 || errno != ESRCH;
}

bool trace_perf_attach(struct trace_run *run)
{
	struct fact *why = &run->trace->tracepoints;
	pid_t pid = run->trace->program.pid;
	struct trace_events events;
	size_t counters;
	int error;

	if (!trace_events_find(run->root, run->trace, &events, why))
		return false;
	error = trace_program_threads(pid, open_thread, &events);
	counters = events.count;
	if (error || !counters) {
		trace_events_explain(error ? error : ESRCH, why);
	} else {
		if (trace_program_threads(pid, sample_thread, &events) != 0)
			drop(&events, counters);
		trace_events_watch(run, &events, is_there);
		trace_samples_take(run, 0, (struct span){NULL, 0});
	}
	run->events = NULL;
	trace_events_close(&events);
	return !error && counters;
}
