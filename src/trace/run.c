/* SPDX-License-Identifier: MIT */
/*
 * The loop of a run, in which time, signals, changes of children and what counts come together. A
 * program must end as if untraced, and its counts must still be printed: signals that ask us to end
 * are passed on to it, between two waits, when it has not been reaped and its ID cannot be that of
 * another process.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/child.h"
#include "base/privileges.h"
#include "base/time.h"
#include "count.h"
#include "files.h"

/* Most time between two looks: a signal that comes right before a wait does not interrupt it. */
#define LOOK_NS 100000000

/* And whether a process is there that is not a child: pidfds need Linux 5.3. */
#define LOOK_AT_PROCESS_NS 20000000

/* A signal that asks us to end sets it while no program runs. */
static volatile bool stopped;

/* ---- time ---- */

/* The latest time that a timer of 32 bits can have: it never ends. */
#define NEVER_S INT32_MAX

int64_t trace_clock_ns(clockid_t clock)
{
	struct sigevent nothing = {.sigev_notify = SIGEV_NONE};
	struct itimerspec left = {.it_value.tv_sec = NEVER_S};
	bool is_read;
	timer_t timer;

	if (timer_create(clock, &nothing, &timer) < 0)
		return kernel_clock_ns(clock);
	is_read = timer_settime(timer, TIMER_ABSTIME, &left, NULL) == 0 &&
	          timer_gettime(timer, &left) == 0;
	timer_delete(timer);
	return is_read ? (NEVER_S - left.it_value.tv_sec) * NS_PER_SECOND - left.it_value.tv_nsec
	               : kernel_clock_ns(clock);
}

/*
 * The clock of a process includes threads that have ended. 0: it has ended itself. This is the
 * clock of clock_getcpuclockid(3) without its clock_getres(2), for which a filter may kill
 * (MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of include/linux/posix-timers.h, 2.6.12 to 7.x).
 */
static double cpu_seconds(pid_t pid)
{
	const clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2);

	return kill(pid, 0) == 0 || errno == EPERM ? (double)trace_clock_ns(clock) / NS_PER_SECOND
	                                           : 0;
}

/* ---- its sources ---- */

void trace_run_add(struct trace_run *run, struct trace_source *source)
{
	source->next = run->sources;
	run->sources = source;
}

void trace_run_take(struct trace_run *run, pid_t ending, const struct span *maps)
{
	for (struct trace_source *source = run->sources; source; source = source->next) {
		if (source->take)
			source->take(source, ending, maps);
	}
}

/* ---- from its begin to its end ---- */

void trace_run_begin(struct trace_run *run)
{
	const struct trace_request *request = run->trace->request;

	if (run->program)
		trace_signals_catch();
	else
		interrupts_catch(&stopped);
	run->deadline = request->limit_ns ? deadline_after(request->limit_ns) : *DEADLINE_NONE;
	run->begin_cpu_s = run->program ? 0 : cpu_seconds(run->trace->program.pid);
	run->begin_ns = trace_clock_ns(CLOCK_MONOTONIC);
	for (struct trace_source *source = run->sources; source; source = source->next) {
		if (source->start)
			source->start(source);
	}
}

/* Passes signals on, ends the run in time, and returns the ns until it wants to be called again. */
static int64_t look_around(struct trace_run *run)
{
	const int64_t limit_ns = run->trace->request->limit_ns;
	const int64_t left_ns = deadline_left_ns(&run->deadline);
	int64_t next_ns = left_ns && left_ns < LOOK_NS ? left_ns : LOOK_NS;

	if (__atomic_exchange_n(&stopped, false, __ATOMIC_RELAXED))
		run->is_over = true;
	if (run->trace->request->target == TARGET_PROGRAM) {
		int64_t ns = trace_signals_pass(run);

		next_ns = ns < next_ns ? ns : next_ns;
	} else if (run->trace->request->target == TARGET_PROCESS) {
		run->is_over |= !process_is_there(run->trace->program.pid);
		next_ns = next_ns < LOOK_AT_PROCESS_NS ? next_ns : LOOK_AT_PROCESS_NS;
	}
	if (!left_ns) {
		run->is_over = true;
		run->deadline = *DEADLINE_NONE;
		if (run->program && kill(run->program, SIGTERM) == 0)
			kill(run->program, SIGCONT); /* it may be stopped, and could not end */
	}
	for (struct trace_source *source = run->sources; source; source = source->next) {
		int64_t ns = source->tick ? source->tick(source) : next_ns;

		next_ns = ns < next_ns ? ns : next_ns;
	}
	if (limit_ns)
		progress_show(1 - (double)left_ns / (double)limit_ns);
	return next_ns;
}

static bool is_done(const struct trace_run *run)
{
	return run->is_over && !run->program;
}

struct loop {
	struct child_wait wait;
	struct trace_run *run;
};

static bool run_look(void *argument)
{
	struct loop *loop = argument;

	loop->wait.poll_ns = look_around(loop->run);
	loop->wait.options = __WALL | (loop->run->is_traced ? 0 : WUNTRACED);
	return is_done(loop->run);
}

static bool take_change(void *argument, pid_t id, int status, const struct rusage *usage)
{
	struct trace_run *run = ((struct loop *)argument)->run;
	const bool has_ended = id == run->program && !WIFSTOPPED(status);

	if (id == run->program && WIFSTOPPED(status))
		trace_signals_note_stop(run, status);
	if (has_ended) {
		run->program = 0;
		run->status = status;
		fact_set_real(&run->trace->cpu_s, rusage_seconds(usage));
	}
	for (struct trace_source *source = run->sources; source; source = source->next) {
		if (!source->change)
			continue;
		if (!source->change(source, id, status))
			run->is_over = true;
		else if (has_ended)
			run->trace->cpu_is_partial = true;
	}
	return is_done(run);
}

int trace_run_wait(struct trace_run *run)
{
	struct loop loop = {.run = run,
		.wait = {.pid = -1,
			.deadline = DEADLINE_NONE,
			.changed = take_change,
			.poll = run_look,
			.is_alone = run->trace->request->target != TARGET_PROGRAM,
			.argument = &loop}};

	return run_look(&loop) ? 0 : child_wait(&loop.wait);
}

static void measure_time(const struct trace_run *run)
{
	struct trace_evidence *trace = run->trace;
	struct real_fact *cpu_s = &trace->cpu_s;
	double seconds;

	fact_set_real(&trace->duration_s,
		(double)(trace_clock_ns(CLOCK_MONOTONIC) - run->begin_ns) / NS_PER_SECOND);
	if (trace->request->target == TARGET_PROGRAM)
		return;
	seconds = cpu_seconds(trace->program.pid);
	if (trace->request->target == TARGET_HOST)
		fact_set(&cpu_s->fact, FACT_ABSENT, "not counted for a whole host");
	else if (seconds <= 0)
		fact_set(&cpu_s->fact, FACT_ABSENT, "the process has ended");
	else if (run->begin_cpu_s <= 0)
		fact_set(&cpu_s->fact, FACT_ABSENT, "could not be read at the beginning");
	else
		fact_set_real(cpu_s, seconds - run->begin_cpu_s);
}

void trace_run_end(struct trace_run *run)
{
	struct trace_source *source;

	measure_time(run);
	for (source = run->sources; source; source = source->next) {
		if (source->stop)
			source->stop(source);
	}
	while ((source = run->sources)) {
		run->sources = source->next;
		if (source->finish)
			source->finish(source);
	}
}
