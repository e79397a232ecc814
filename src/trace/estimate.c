/* SPDX-License-Identifier: MIT */
/*
 * Estimates how often a running process reads the clock by the vDSO, which is not stopped for it:
 * execution breakpoints on the functions of its vDSO count their calls, without ptrace. A hit takes
 * some 10 us, so a child of ours opens them for short windows, and what the hits took of the
 * process's CPU time bounds the error. x86 has four breakpoints for each thread.
 */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "count.h"
#include "measure/sampler.h"
#include "measure/vdso.h"

#define WINDOW_NS 10000000
#define PERIOD_NS 500000000

/* Calls by which the cost of a hit is measured. */
#define TRIAL_CALLS 100

/* The auxiliary vector of a process has some 20 entries. */
#define VECTOR_SIZE 4096

static const char *const functions[] = {"__vdso_clock_gettime", "__vdso_gettimeofday",
	"__vdso_time", "__kernel_clock_gettime", "__kernel_gettimeofday"};

struct estimating {
	const struct root *root;
	pid_t pid, child;
	volatile bool stop;
	struct trace_estimate answer;
	size_t count, room; /* of `files` */
	int *files;
	size_t address_count;
	uint64_t addresses[ARRAY_SIZE(functions)]; /* in the process */
	void *gettime;                             /* ours */
};

/* The file of a breakpoint, or -1. */
static int open_breakpoint(pid_t thread, uint64_t address)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attributes),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address,
		.bp_len = sizeof(long),
		.disabled = true,
		.inherit = true,
		.exclude_kernel = true,
		.exclude_hv = true};

	return (int)syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t read_count(int file)
{
	uint64_t count = 0;

	return read(file, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

/* ---- the functions in the process ---- */

static bool read_base(const struct estimating *estimating, uint64_t *base, struct fact *why)
{
	unsigned long entry[2];
	char path[64], content[VECTOR_SIZE];
	struct span vector;

	snprintf(path, sizeof(path), "/proc/%d/auxv", estimating->pid);
	if (!root_read(estimating->root, path, content, sizeof(content), &vector, why))
		return false;
	for (size_t at = 0; at + sizeof(entry) <= vector.length; at += sizeof(entry)) {
		memcpy(entry, vector.at + at, sizeof(entry));
		*base = entry[1];
		if (entry[0] == AT_SYSINFO_EHDR)
			return true;
	}
	fact_set(why, FACT_ABSENT, "the process has no vDSO");
	return false;
}

/* The vDSO of a 64-bit process is that of ours, unless a tool gave it another one. */
static bool find_functions(struct estimating *estimating, struct fact *why)
{
	struct vdso_evidence vdso = {0};
	struct vdso_image image;
	unsigned char *theirs;
	struct iovec here, there;
	uint64_t base;
	bool is_same;

	vdso_collect(estimating->root, &vdso, &image);
	if (!fact_is_known(&vdso.fact) || image.replaced) {
		fact_set(why, FACT_ABSENT, "the functions of the vDSO are not known");
		return false;
	}
	if (!read_base(estimating, &base, why))
		return false;
	theirs = xmalloc(image.size);
	here = (struct iovec){theirs, image.size};
	there = (struct iovec){(void *)(uintptr_t)base, image.size};
	is_same =
		process_vm_readv(estimating->pid, &here, 1, &there, 1, 0) == (ssize_t)image.size &&
		memcmp(theirs, (const void *)image.base, image.size) == 0;
	free(theirs);
	if (!is_same)
		fact_set(why, FACT_ABSENT, "its vDSO is not that of this host's 64-bit programs");
	for (size_t i = 0; is_same && i < vdso.export_count * ARRAY_SIZE(functions); i++) {
		const char *function = functions[i % ARRAY_SIZE(functions)];
		size_t place = i / ARRAY_SIZE(functions);

		if (strcmp(vdso.exports[place].name, function) != 0)
			continue;
		estimating->addresses[estimating->address_count++] = base + image.offsets[place];
		if (strstr(function, "clock_gettime"))
			estimating->gettime = (void *)(image.base + image.offsets[place]);
	}
	return is_same;
}

static int open_thread(void *argument, pid_t id)
{
	struct estimating *estimating = argument;

	for (size_t i = 0; i < estimating->address_count; i++) {
		int file = open_breakpoint(id, estimating->addresses[i]);

		if (file < 0)
			return errno == ESRCH ? 0 : errno;
		estimating->files = array_grow(estimating->files, estimating->count,
			&estimating->room, sizeof(*estimating->files));
		estimating->files[estimating->count++] = file;
	}
	return 0;
}

/* ---- the windows ---- */

static int64_t now_ns(void)
{
	return kernel_clock_ns(CLOCK_MONOTONIC);
}

/* Switches all breakpoints: the middle of the time that this took. */
static int64_t control(const struct estimating *estimating, unsigned long request)
{
	int64_t begin = now_ns();

	for (size_t i = 0; i < estimating->count; i++)
		ioctl(estimating->files[i], request, 0);
	return (begin + now_ns()) / 2;
}

static void pause_for(const struct estimating *estimating, int64_t ns)
{
	const struct timespec part = {.tv_nsec = WINDOW_NS};

	for (int64_t end = now_ns() + ns; now_ns() < end && !estimating->stop;)
		nanosleep(&part, NULL);
}

static int64_t cpu_ns(clockid_t clock)
{
	return clock ? kernel_clock_ns(clock) : 0;
}

static void open_window(struct estimating *estimating, clockid_t cpu_clock)
{
	struct trace_estimate *answer = &estimating->answer;
	int64_t cpu = cpu_ns(cpu_clock), begin = control(estimating, PERF_EVENT_IOC_ENABLE), end;
	const struct timespec window = {.tv_nsec = WINDOW_NS};

	nanosleep(&window, NULL);
	end = control(estimating, PERF_EVENT_IOC_DISABLE);
	answer->cpu_s += (double)(cpu_ns(cpu_clock) - cpu) / NS_PER_SECOND;
	answer->window_s += (double)(end - begin) / NS_PER_SECOND;
	answer->calls = 0;
	for (size_t i = 0; i < estimating->count; i++)
		answer->calls += read_count(estimating->files[i]);
	answer->windows++;
}

/* The time that a hit adds to a call, measured in our own process; NAN: not known. */
static double measure_hit(void *function)
{
	int (*gettime)(clockid_t, struct timespec *);
	int file = function ? open_breakpoint(0, (uintptr_t)function) : -1;
	double seconds[2][TRIAL_CALLS];
	struct timespec now;

	if (file < 0)
		return NAN;
	memcpy(&gettime, &function, sizeof(gettime));
	for (int i = 0; i < 2 * TRIAL_CALLS; i++) {
		int64_t begin;

		ioctl(file, i % 2 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		begin = now_ns();
		gettime(CLOCK_MONOTONIC, &now);
		seconds[i % 2][i / 2] = (double)(now_ns() - begin) / NS_PER_SECOND;
	}
	close(file);
	return fmax(0, statistics_summarise(seconds[1], TRIAL_CALLS).median -
			       statistics_summarise(seconds[0], TRIAL_CALLS).median);
}

static void open_windows(void *argument)
{
	struct estimating *estimating = argument;
	clockid_t cpu_clock = 0;

	estimating->answer.hit_s = measure_hit(estimating->gettime);
	(void)clock_getcpuclockid(estimating->pid, &cpu_clock);
	while (!estimating->stop) {
		open_window(estimating, cpu_clock);
		fact_set_known(&estimating->answer.fact);
		pause_for(estimating, PERIOD_NS - WINDOW_NS);
	}
}

/* Opens the breakpoints, for which children have no privileges. */
static bool open_all(struct estimating *estimating, struct fact *why)
{
	int error;

	if (!find_functions(estimating, why))
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
	for (size_t i = 0; i < estimating->count; i++)
		close(estimating->files[i]);
	free(estimating->files);
	child_unshare(estimating, sizeof(*estimating));
}

struct estimating *trace_estimate_start(struct trace_run *run, int64_t limit_ns)
{
	const struct trace_program *program = &run->trace->program;
	struct fact *why = &run->trace->estimate.fact;
	struct deadline deadline = deadline_after(limit_ns + NS_PER_SECOND);
	struct estimating *estimating;

	if (program->is_elf && program->is_32_bit) {
		fact_set(why, FACT_ABSENT, "it is a 32-bit program");
		return NULL;
	}
	estimating = child_share(sizeof(*estimating), why);
	if (!estimating)
		return NULL;
	estimating->root = run->root;
	estimating->pid = program->pid;
	fact_set(&estimating->answer.fact, FACT_FAILED, "no window was opened");
	if (open_all(estimating, why)) {
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
	/* One that has ended early may have been reaped by the wait of the run. */
	if (fact_is_known(&estimating->answer.fact))
		(void)child_await(estimating->child, NULL, NULL, &deadline, &why);
	else
		while (waitpid(estimating->child, NULL, 0) < 0 && errno == EINTR)
			;
	trace->estimate = estimating->answer;
	release(estimating);
}
