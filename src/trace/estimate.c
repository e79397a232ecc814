/* SPDX-License-Identifier: MIT */
/*
 * Estimates how often a running process reads the clock by the vDSO, which is not stopped for it:
 * execution breakpoints on the functions of its vDSO count their calls, without ptrace. A hit takes
 * some 10 us, so a child of ours opens them for short windows. The part of the process's CPU time
 * that hits took bounds the error. x86 has four breakpoints for each thread.
 */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "base/child.h"
#include "base/memory.h"
#include "count.h"
#include "measure/sampler.h"
#include "measure/vdso.h"
#include "places.h"
#include "served.h"

#define WINDOW_NS 10000000
#define PERIOD_NS 500000000

/* Number of calls with and without a hit that its cost is measured by. */
#define TRIAL_CALLS 100

struct estimating {
	pid_t pid, child;
	volatile bool stop;
	struct trace_estimate answer;
	struct trace_events events;
	size_t address_count;
	uint64_t addresses[VDSO_EXPORT_MAX]; /* of the functions in the process */
	void *gettime;                       /* the function in our own process */
};

/* 0 or an errno value. */
static int open_breakpoint(
	struct trace_events *events, pid_t thread, uint64_t address, uint64_t *sum)
{
	struct trace_target target = {.thread = thread,
		.cpu = -1,
		.attributes = {.type = PERF_TYPE_BREAKPOINT,
			.bp_type = HW_BREAKPOINT_X,
			.bp_addr = address,
			.bp_len = sizeof(long),
			.disabled = true,
			.inherit = true,
			.exclude_kernel = true,
			.exclude_hv = true}};

	return trace_event_open(events, &target, sum);
}

/* ---- the functions in the process ---- */

/* Finds where the process has its vDSO; false with the reason. */
static bool find_vdso(pid_t pid, struct mapping *mapping, struct fact *why)
{
	struct span all = maps_read(pid), rest = all;
	bool is_found = false;

	while (!is_found && maps_next(&rest, mapping))
		is_found = mapping->is_vdso;
	span_free(all);
	if (!all.length)
		fact_set(why, FACT_DENIED, "its memory map cannot be read");
	else if (!is_found)
		fact_set(why, FACT_ABSENT, "the process has no vDSO");
	return is_found;
}

/* Compares the vDSO of the process with ours: it may be that of 32-bit programs. */
static bool has_same_vdso(pid_t pid, uint64_t base, const struct vdso_image *image)
{
	unsigned char *theirs = xmalloc(image->size);
	struct iovec here = {theirs, image->size}, there = {(void *)(uintptr_t)base, image->size};
	bool is_same = process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)image->size &&
	               memcmp(theirs, (const void *)image->base, image->size) == 0;

	free(theirs);
	return is_same;
}

static bool find_functions(struct estimating *estimating, const struct root *root, struct fact *why)
{
	struct vdso_evidence vdso = {0};
	struct vdso_image image;
	struct mapping mapping;

	vdso_collect(root, &vdso, &image);
	if (!fact_is_known(&vdso.fact) || image.replaced) {
		fact_set(why, FACT_ABSENT, "the functions of the vDSO are not known");
		return false;
	}
	if (!find_vdso(estimating->pid, &mapping, why))
		return false;
	if (!has_same_vdso(estimating->pid, mapping.start, &image)) {
		fact_set(why, FACT_ABSENT, "its vDSO is not that of this host's 64-bit programs");
		return false;
	}
	for (size_t i = 0; i < vdso.export_count; i++) {
		enum served_call call = served_find_call(text_span(vdso.exports[i].name));

		if (call == SERVED_CLOCK_GETTIME)
			estimating->gettime = (void *)(image.base + image.offsets[i]);
		if (call == SERVED_CLOCK_GETTIME || call == SERVED_GETTIMEOFDAY ||
			call == SERVED_TIME)
			estimating->addresses[estimating->address_count++] =
				mapping.start + image.offsets[i];
	}
	return true;
}

static int open_thread(void *argument, pid_t id)
{
	struct estimating *estimating = argument;
	int error = 0;

	for (size_t i = 0; i < estimating->address_count && !error; i++)
		error = open_breakpoint(&estimating->events, id, estimating->addresses[i],
			&estimating->answer.calls);
	return error == ESRCH ? 0 : error;
}

/* ---- the windows ---- */

static int64_t now_ns(void)
{
	return kernel_clock_ns(CLOCK_MONOTONIC);
}

/* Switches all breakpoints, and returns the middle of the time that this took. */
static int64_t control(const struct estimating *estimating, unsigned long request)
{
	int64_t begin = now_ns();

	trace_events_control(&estimating->events, request);
	return (begin + now_ns()) / 2;
}

static void open_window(struct estimating *estimating, clockid_t cpu_clock)
{
	struct trace_estimate *answer = &estimating->answer;
	const struct timespec window = {.tv_nsec = WINDOW_NS};
	int64_t cpu = cpu_clock ? kernel_clock_ns(cpu_clock) : 0;
	int64_t begin = control(estimating, PERF_EVENT_IOC_ENABLE);

	nanosleep(&window, NULL);
	answer->window_s +=
		(double)(control(estimating, PERF_EVENT_IOC_DISABLE) - begin) / NS_PER_SECOND;
	if (cpu_clock)
		answer->cpu_s += (double)(kernel_clock_ns(cpu_clock) - cpu) / NS_PER_SECOND;
	(void)trace_events_add_up(&estimating->events);
	answer->windows++;
}

/* Measures in our own process how much time a hit adds to a call; NAN: not known. */
static double measure_hit(void *function)
{
	struct trace_events events = {.count = 0};
	int (*gettime)(clockid_t, struct timespec *);
	double seconds[2][TRIAL_CALLS];
	struct timespec now;

	if (!function || open_breakpoint(&events, 0, (uintptr_t)function, NULL) != 0)
		return NAN;
	memcpy(&gettime, &function, sizeof(gettime));
	for (int i = 0; i < 2 * TRIAL_CALLS; i++) {
		int64_t begin;

		trace_events_control(
			&events, i % 2 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
		begin = now_ns();
		gettime(CLOCK_MONOTONIC, &now);
		seconds[i % 2][i / 2] = (double)(now_ns() - begin) / NS_PER_SECOND;
	}
	trace_events_close(&events);
	return fmax(0, statistics_summarise(seconds[1], TRIAL_CALLS).median -
			       statistics_summarise(seconds[0], TRIAL_CALLS).median);
}

static void open_windows(void *argument)
{
	const struct timespec part = {.tv_nsec = WINDOW_NS};
	struct estimating *estimating = argument;
	clockid_t cpu_clock = 0;

	estimating->answer.hit_s = measure_hit(estimating->gettime);
	(void)clock_getcpuclockid(estimating->pid, &cpu_clock);
	while (!estimating->stop) {
		int64_t next_ns = now_ns() + PERIOD_NS;

		open_window(estimating, cpu_clock);
		if (estimating->answer.window_s > 0)
			fact_set_known(&estimating->answer.fact);
		while (now_ns() < next_ns && !estimating->stop)
			nanosleep(&part, NULL);
	}
}

/* Opens the breakpoints, for which children have no privileges. */
static bool open_all(struct estimating *estimating, const struct root *root, struct fact *why)
{
	int error;

	if (!find_functions(estimating, root, why))
		return false;
	error = trace_program_threads(estimating->pid, open_thread, estimating);
	if (error == ENOSPC)
		fact_set(why, FACT_DENIED, "a debugger has its breakpoints");
	else if (error)
		trace_events_explain(error, why);
	return !error;
}

static void release(struct estimating *estimating)
{
	trace_events_close(&estimating->events);
	child_unshare(estimating, sizeof(*estimating));
}

struct estimating *trace_estimate_start(struct trace_run *run)
{
	struct fact *why = &run->trace->estimate.fact;
	struct deadline deadline = deadline_after(run->limit_ns + NS_PER_SECOND);
	struct estimating *estimating;

	estimating = child_share(sizeof(*estimating), why);
	if (!estimating)
		return NULL;
	estimating->pid = run->trace->program.pid;
	fact_set(&estimating->answer.fact, FACT_FAILED, "no window was opened");
	if (open_all(estimating, run->root, why)) {
		estimating->child = child_start(open_windows, estimating, &deadline, why);
		if (estimating->child > 0)
			return estimating;
	}
	release(estimating);
	return NULL;
}

void trace_estimate_end(struct estimating *estimating, struct trace_evidence *trace)
{
	struct deadline deadline = deadline_after(NS_PER_SECOND);
	struct fact why;

	if (!estimating)
		return;
	estimating->stop = true;
	/* A child that has ended early may have been reaped by the wait of the run. */
	if (fact_is_known(&estimating->answer.fact))
		(void)child_await(estimating->child, NULL, NULL, &deadline, &why);
	else
		while (waitpid(estimating->child, NULL, 0) < 0 && errno == EINTR)
			;
	trace->estimate = estimating->answer;
	release(estimating);
}
