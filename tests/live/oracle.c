/* SPDX-License-Identifier: MIT */
/*
 * The truth about this host, by a way of its own: makes the three deciding calls in a traced
 * child and counts the system calls that the tracer sees, as `strace -c` does. Shares no
 * code with src/, needs neither seccomp nor our reading of the vDSO: the dynamic loader
 * finds its functions.
 *
 * Prints a line a call: CALL CLOCK WAY ENTERED OF, WAY being "vdso" or "libc".
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS 1000
#define CANNOT 125

/* getppid() takes no arguments: with these it tells the tracer what comes next. */
#define MARK 0x5eed
#define NO_STEP UINT64_MAX

typedef int gettime_function(clockid_t, struct timespec *);
typedef int timeofday_function(struct timeval *, void *);

struct step {
	const char *call;
	const char *clock;
	const char *way;
	clockid_t id;
	gettime_function *gettime; /* or else */
	timeofday_function *timeofday;
	unsigned entered;
};

static void give_up(const char *what)
{
	fprintf(stderr, "oracle: %s: %s\n", what, strerror(errno));
	exit(CANNOT);
}

static int libc_timeofday(struct timeval *now, void *zone)
{
	return gettimeofday(now, zone);
}

static struct step steps[] = {
	{"gettimeofday", "null", "libc", 0, NULL, libc_timeofday, 0},
	{"clock_gettime", "CLOCK_REALTIME", "libc", CLOCK_REALTIME, clock_gettime, NULL, 0},
	{"clock_gettime", "CLOCK_MONOTONIC", "libc", CLOCK_MONOTONIC, clock_gettime, NULL, 0},
	{"gettimeofday", "null", "vdso", 0, NULL, NULL, 0},
	{"clock_gettime", "CLOCK_REALTIME", "vdso", CLOCK_REALTIME, NULL, NULL, 0},
	{"clock_gettime", "CLOCK_MONOTONIC", "vdso", CLOCK_MONOTONIC, NULL, NULL, 0},
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

static void *find_in_vdso(const char *name)
{
	static const char *const files[] = {"linux-vdso.so.1", "linux-gate.so.1"};
	static const char *const prefixes[] = {"__vdso_", "__kernel_"};

	for (int f = 0; f < 2; f++) {
		void *image = dlopen(files[f], RTLD_LAZY | RTLD_NOLOAD);

		for (int p = 0; image && p < 2; p++) {
			char symbol[64];
			void *function;

			snprintf(symbol, sizeof(symbol), "%s%s", prefixes[p], name);
			function = dlsym(image, symbol);
			if (function)
				return function;
		}
	}
	return NULL;
}

static void find_vdso_functions(void)
{
	for (size_t i = 0; i < STEPS; i++) {
		void *function;

		if (strcmp(steps[i].way, "vdso") != 0)
			continue;
		function = find_in_vdso(steps[i].call);
		if (strcmp(steps[i].call, "gettimeofday") == 0)
			memcpy(&steps[i].timeofday, &function, sizeof(function));
		else
			memcpy(&steps[i].gettime, &function, sizeof(function));
	}
}

static int exists(const struct step *step)
{
	return step->gettime || step->timeofday;
}

static void make_calls(const struct step *step)
{
	struct timespec now;
	struct timeval old;

	for (int i = 0; i < CALLS; i++) {
		if (step->timeofday)
			step->timeofday(&old, NULL);
		else
			step->gettime(step->id, &now);
	}
}

static void be_child(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(CANNOT);
	raise(SIGSTOP);
	for (size_t i = 0; i < STEPS; i++) {
		if (!exists(&steps[i]))
			continue;
		syscall(SYS_getppid, MARK, (long)i);
		make_calls(&steps[i]);
		syscall(SYS_getppid, MARK, (long)-1);
	}
	_exit(0);
}

static int asks_for_time(uint64_t number)
{
	return number == SYS_clock_gettime
#if defined(SYS_gettimeofday)
	       || number == SYS_gettimeofday
#endif
#if defined(SYS_clock_gettime64)
	       || number == SYS_clock_gettime64
#endif
#if defined(SYS_time)
	       || number == SYS_time
#endif
		;
}

/* Counts one stop, if it is an entry into the kernel. */
static void count(pid_t pid, uint64_t *step)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(info), &info) <= 0)
		give_up("PTRACE_GET_SYSCALL_INFO");
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	if (info.entry.nr == SYS_getppid && info.entry.args[0] == MARK)
		*step = info.entry.args[1] < STEPS ? info.entry.args[1] : NO_STEP;
	else if (*step != NO_STEP && asks_for_time(info.entry.nr))
		steps[*step].entered++;
}

static void trace(pid_t pid)
{
	uint64_t step = NO_STEP;
	int status;

	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status)) {
		errno = EPERM;
		give_up("ptrace");
	}
	ptrace(PTRACE_SETOPTIONS, pid, NULL,
		(void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) < 0)
			give_up("ptrace");
		if (!WIFSTOPPED(status))
			return;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			count(pid, &step);
	}
}

int main(void)
{
	pid_t pid;

	find_vdso_functions();
	pid = fork();
	if (pid < 0)
		give_up("fork");
	if (pid == 0)
		be_child();
	trace(pid);
	for (size_t i = 0; i < STEPS; i++) {
		if (exists(&steps[i]))
			printf("%s %s %s %u %d\n", steps[i].call, steps[i].clock, steps[i].way,
				steps[i].entered, CALLS);
	}
	return 0;
}
