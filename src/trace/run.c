/* SPDX-License-Identifier: MIT */
/*
 * Starts a program in a child that waits until all is ready for counting, or watches one that runs
 * already. The program must end as if untraced, and its counts must still be
 * printed: signals that ask us to end are passed on to it, between two waits, when it has not been
 * reaped and its ID cannot be that of another process.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "base/time.h"
#include "count.h"

/* Time between two looks at what is not a child: pidfds, which tell of its end, need Linux 5.3. */
#define PAUSE_NS 20000000

/* ---- its sources ---- */

void trace_run_add(struct trace_run *run, struct trace_source *source)
{
	source->next = run->sources;
	run->sources = source;
}

void trace_run_remove(struct trace_run *run, const struct trace_source *source)
{
	for (struct trace_source **at = &run->sources; *at; at = &(*at)->next) {
		if (*at == source) {
			*at = source->next;
			return;
		}
	}
}

void trace_run_take(struct trace_run *run, pid_t ending, const struct span *maps)
{
	for (struct trace_source *source = run->sources; source; source = source->next) {
		if (source->take)
			source->take(source, ending, maps);
	}
}

void trace_run_stop(struct trace_run *run)
{
	for (struct trace_source *source = run->sources; source; source = source->next) {
		if (source->stop)
			source->stop(source);
	}
}

/* ---- the start of a program ---- */

static void end_with(int file, enum trace_stage stage, int error)
{
	struct trace_failure failure = {stage, error};

	(void)!write(file, &failure, sizeof(failure));
	_exit(STATUS_TROUBLE);
}

/* execve(2) keeps these, and fork(2) does not: the alarm(2) of our caller is the program's. */
static const unsigned timers[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

static void set_timers(const struct itimerval values[ARRAY_SIZE(timers)])
{
	for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
		setitimer(timers[i], &values[i], NULL);
}

static void become_program(const struct trace_run *run, struct filter *filter, int file)
{
	ssize_t length;
	int error = 0;
	char byte;

	do
		length = read(file, &byte, 1);
	while (length < 0 && errno == EINTR);
	/* Our parent is gone, or has given up. */
	if (length == 0)
		_exit(STATUS_TROUBLE);
	if (length < 0)
		error = errno;
	cli_restore_signals();
	if (!error && filter)
		error = filter_set(filter);
	if (error)
		end_with(file, TRACE_STARTING, error);
	/* With a slash in it there is one attempt; a script without "#!" is run by the shell. */
	execvp(run->trace->program.file, run->trace->request->arguments);
	end_with(file, TRACE_EXECUTING, errno);
}

bool trace_run_fork(struct trace_run *run, struct filter *filter, struct fact *why)
{
	struct itimerval before[ARRAY_SIZE(timers)] = {{{0}, {0}}};
	int files[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, files) < 0) {
		fact_set_errno(why, errno, "socketpair");
		return false;
	}
	run->file = files[0];
	for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
		setitimer(timers[i], &(struct itimerval){{0}, {0}}, &before[i]);
	pid = fork();
	if (pid <= 0)
		set_timers(before);
	if (pid == 0) {
		close(files[0]);
		become_program(run, filter, files[1]);
	}
	if (pid < 0) {
		fact_set_errno(why, errno, "fork");
		close(files[0]);
	}
	close(files[1]);
	run->program = run->trace->program.pid = pid > 0 ? pid : 0;
	return pid > 0;
}

void trace_run_cancel(struct trace_run *run)
{
	close(run->file);
	while (waitpid(run->program, NULL, 0) < 0 && errno == EINTR)
		;
	run->program = 0;
}

void trace_run_go(struct trace_run *run)
{
	struct trace_failure failure;
	ssize_t length;
	int error, ended;

	trace_run_begin(run);
	/* SIGPIPE is ignored; a child that is gone is seen by its status. */
	error = write(run->file, "", 1) < 0 ? errno : 0;
	if (error)
		kill(run->program, SIGKILL);
	ended = trace_run_wait(run);
	trace_run_stop(run);
	trace_run_counted(run);
	do
		length = read(run->file, &failure, sizeof(failure));
	while (length < 0 && errno == EINTR);
	close(run->file);
	if (length == sizeof(failure))
		run->failure = failure;
	else if (error || run->program)
		run->failure = (struct trace_failure){TRACE_FOLLOWING, error ? error : ended};
}

/* ---- signals and time ---- */

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

/* The clock of a process includes threads that have ended. 0: it has ended itself. */
static double cpu_seconds(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) == 0 ? (double)trace_clock_ns(clock) / NS_PER_SECOND
	                                             : 0;
}

void trace_run_begin(struct trace_run *run)
{
	uint64_t privileges = run->privileges;

	/* PTRACE_TRACEME fails if the parent has less than the program. */
	if (run->program)
		privileges |= PRIVILEGES(CAP_KILL) | PRIVILEGES(CAP_SYS_PTRACE);
	if (run->call_places)
		privileges |= PRIVILEGES(CAP_SYS_PTRACE);
	if (run->serves)
		privileges |= PRIVILEGES(CAP_SYS_ADMIN);
	if (!run->trace->request->repeats)
		privileges_keep(privileges);
	if (run->program)
		interrupts_catch(&run->stop, true);
	run->deadline = run->trace->request->limit_ns
	                        ? deadline_after(run->trace->request->limit_ns)
	                        : (struct deadline){0};
	run->begin_cpu_s = run->program ? 0 : cpu_seconds(run->trace->program.pid);
	run->begin_ns = trace_clock_ns(CLOCK_MONOTONIC);
}

void trace_run_counted(struct trace_run *run)
{
	struct trace_evidence *trace = run->trace;
	double cpu_s =
		run->trace->request->arguments ? run->cpu_s : cpu_seconds(trace->program.pid);

	fact_set_real(&trace->duration_s,
		(double)(trace_clock_ns(CLOCK_MONOTONIC) - run->begin_ns) / NS_PER_SECOND);
	if (trace->request->system_wide)
		fact_set(&trace->cpu_s.fact, FACT_ABSENT, "not counted for a whole host");
	else if (!run->trace->request->arguments && cpu_s <= 0)
		fact_set(&trace->cpu_s.fact, FACT_ABSENT, "the process has ended");
	else if (!run->trace->request->arguments && run->begin_cpu_s <= 0)
		fact_set(&trace->cpu_s.fact, FACT_ABSENT, "could not be read at the beginning");
	else
		fact_set_real(&trace->cpu_s, cpu_s - run->begin_cpu_s);
}

static void look_around(struct trace_run *run)
{
	int64_t left = deadline_left_ns(&run->deadline);
	bool interrupted = __atomic_exchange_n(&run->stop, false, __ATOMIC_RELAXED);
	unsigned sent = interrupts_sent();

	for (int number = 1; sent >> number && run->program; number++) {
		if (sent >> number & 1)
			kill(run->program, number);
	}
	/* Ctrl-C has reached the program, too, which may go on. */
	if (sent & 1U << SIGTERM || (interrupted && !run->program))
		run->over = true;
	for (struct trace_source *source = run->sources; source; source = source->next) {
		if (source->poll)
			source->poll(source);
	}
	if (run->trace->request->limit_ns && run->show)
		run->show(1 - (double)left / (double)run->trace->request->limit_ns);
	if (left > 0)
		return;
	run->over = true;
	run->deadline = (struct deadline){0};
	if (run->program)
		kill(run->program, SIGTERM);
}

bool trace_run_pause(struct trace_run *run, int64_t most_ns)
{
	int64_t left = deadline_left_ns(&run->deadline), pause_ns = PAUSE_NS;

	pause_ns = left < pause_ns ? left : pause_ns;
	pause_ns = most_ns < pause_ns ? most_ns : pause_ns;
	nanosleep(&(struct timespec){.tv_nsec = (long)(pause_ns > 0 ? pause_ns : 0)}, NULL);
	look_around(run);
	return !run->over;
}

static bool is_done(const struct trace_run *run)
{
	return run->over && !run->program;
}

static bool take_change(void *argument, pid_t id, int status, const struct rusage *usage)
{
	struct trace_run *run = argument;

	if (id == run->program && !WIFSTOPPED(status)) {
		run->program = 0;
		run->status = status;
		run->cpu_s = rusage_seconds(usage);
	}
	for (struct trace_source *source = run->sources; source; source = source->next) {
		if (source->change && !source->change(source, id, status))
			run->over = true;
	}
	return is_done(run);
}

static bool poll_run(void *run)
{
	look_around(run);
	return is_done(run);
}

int trace_run_wait(struct trace_run *run)
{
	return child_wait(&(struct child_wait){.pid = -1,
		.options = __WALL,
		.deadline = DEADLINE_NONE,
		.changed = take_change,
		.poll = poll_run,
		.argument = run});
}
