/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Programs that a tracer may disturb, for the tests of `trace`; shares no code with src/. Those that
 * take a PROGRAM become it.
 *	contract traces              succeeds if ptrace(2) works here
 *	contract counts              succeeds if a BPF program can be at the entry of system calls
 *	contract samples PID         succeeds if perf_event_open(2) samples what this process runs
 *	contract killed N            N children that execute true and are killed a moment later
 *	contract alarm PROGRAM...    gets SIGALRM in a second
 *	contract groups PROGRAM...   with 1,000 groups, killed for memfd_create(2)
 *	contract kills PROGRAM...    killed for clock_gettime(2)
 *	contract stopped N           N getppid(2) that a filter of its own stops for a tracer; prints how
 *	                             many of them failed
 *	contract untraced N          a child that asks not to be traced reads the clock N times
 *	contract strict              reads the clock in seccomp's strict mode
 *	contract counter             reads the CPU's counter itself
 *	contract left FILE           leaves a child that waits for a second, and then writes to the file
 *	                             whether it was interrupted
 *	contract ignores             waits without limit, in ways that are not restarted, while it gets
 *	                             signals that it ignores; prints how often a call was interrupted
 *	contract sent                ends by SIGSYS of a child while it reads the clock
 *	contract locks               locks its memory, and prints how many KiB that is
 *	contract spawns N FILE       N children that execute true; writes to the file how many of
 *	                             them ended otherwise than by 0 or SIGKILL
 */
/* clang-format on */
#include <errno.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void read_clock(long times)
{
	struct timespec now;

	while (times-- > 0)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

static int filter(unsigned number, unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int become(char **words)
{
	execvp(words[0], words);
	return 127;
}

static int kill_children(long count)
{
	for (long i = 0; i < count; i++) {
		const struct timespec moment = {.tv_nsec = i % 100 * 20000};
		pid_t child = fork();

		if (child == 0) {
			execlp("true", "true", (char *)NULL);
			_exit(9);
		}
		nanosleep(&moment, NULL);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	puts("done");
	return 0;
}

static int take_groups(char **words)
{
	static gid_t groups[1000];

	for (size_t i = 0; i < 1000; i++)
		groups[i] = (gid_t)(1000000000 + i);
	if (setgroups(1000, groups) < 0 || !filter(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS))
		return 77;
	return become(words);
}

static int be_stopped(long count)
{
	long failed = 0;

	if (!filter(SYS_getppid, SECCOMP_RET_TRACE))
		return 77;
	for (long i = 0; i < count; i++)
		failed += syscall(SYS_getppid) < 0;
	printf("%ld\n", failed);
	return 0;
}

static int read_untraced(void *count)
{
	read_clock(*(long *)count);
	return 0;
}

static int clone_untraced(long count)
{
	static char stack[65536];
	int status = 1;
	pid_t child = clone(
		read_untraced, stack + sizeof(stack), CLONE_VM | CLONE_UNTRACED | SIGCHLD, &count);

	return child > 0 && waitpid(child, &status, __WALL) == child ? status : 77;
}

static int read_strictly(void)
{
	read_clock(1);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		return 77;
	read_clock(1);
	syscall(SYS_exit, 0);
	return 1;
}

static int be_sent(void)
{
	const struct timespec moment = {.tv_nsec = 50000000};
	pid_t parent = getpid();

	if (fork() == 0) {
		nanosleep(&moment, NULL);
		kill(parent, SIGSYS);
		_exit(0);
	}
	for (;;)
		read_clock(1000);
}

static int leave_child(const char *path)
{
	const struct timespec second = {.tv_sec = 1};
	sigset_t none;
	FILE *file;

	if (fork() != 0)
		return 0;
	setsid();
	sigemptyset(&none);
	sigtimedwait(&none, NULL, &second);
	file = fopen(path, "w");
	if (file)
		fputs(errno == EAGAIN ? "waited" : "interrupted", file);
	return !file;
}

static void do_nothing(int signal)
{
	(void)signal;
}

/* The last wait is ended by a handler. */
static int ignore_signals(void)
{
	const struct timespec moment = {.tv_nsec = 50000000};
	const struct sigaction handled = {.sa_handler = do_nothing};
	struct epoll_event event = {.events = EPOLLIN};
	struct sembuf down = {0, -1, 0}, up = {0, 1, 0};
	int poll = epoll_create1(0), interrupted = 0, set = semget(IPC_PRIVATE, 1, 0600), ends[2];
	sigset_t wanted;
	char byte;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	signal(SIGUSR2, SIG_IGN);
	if (set < 0 || pipe(ends) < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, ends[0], &event) < 0)
		return 77;
	for (int i = 0; i < 5; i++) {
		pid_t child;
		int result;

		if (i == 4 &&
			(read(ends[0], &byte, 1) != 1 || sigaction(SIGUSR2, &handled, NULL) < 0))
			return 77;
		child = fork();
		if (child == 0) {
			static const int ignored[] = {SIGWINCH, SIGURG, SIGUSR2};

			for (int k = 0; k < 3; k++) {
				nanosleep(&moment, NULL);
				kill(getppid(), ignored[k]);
			}
			nanosleep(&moment, NULL);
			_exit(i < 2      ? semop(set, &up, 1)
				: i == 2 ? kill(getppid(), SIGUSR1)
					 : write(ends[1], "", 1) != 1);
		}
		result = i == 0   ? semop(set, &down, 1)
		         : i == 1 ? semtimedop(set, &down, 1, NULL)
		         : i == 2 ? sigwaitinfo(&wanted, NULL)
		                  : epoll_wait(poll, &event, 1, -1);
		interrupted += result < 0 && errno == EINTR;
		waitpid(child, NULL, 0);
	}
	semctl(set, 0, IPC_RMID);
	printf("%d\n", interrupted);
	return 0;
}

static int read_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc() == 0;
#elif defined(__aarch64__)
	unsigned long now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now == 0;
#else
	return 77;
#endif
}

static int try_ptrace(void)
{
	pid_t child = fork();
	long result;

	if (child == 0)
		for (;;)
			pause();
	result = ptrace(PTRACE_SEIZE, child, NULL, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return result < 0;
}

static int try_bpf(void)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
	union bpf_attr attributes = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insn_cnt = sizeof(code) / sizeof(*code)};
	long program;

	setrlimit(RLIMIT_MEMLOCK, &most);
	attributes.insns = (uintptr_t)code;
	attributes.license = (uintptr_t) "GPL";
	program = syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes));
	memset(&attributes, 0, sizeof(attributes));
	attributes.raw_tracepoint.name = (uintptr_t) "sys_enter";
	attributes.raw_tracepoint.prog_fd = (unsigned)program;
	return program < 0 ||
	       syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &attributes, sizeof(attributes)) < 0;
}

static int try_samples(pid_t pid)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.exclude_kernel = 1,
		.exclude_hv = 1};

	return syscall(SYS_perf_event_open, &attributes, pid, -1, -1, 0) < 0;
}

static int lock_memory(void)
{
	unsigned long locked = 0;
	char line[256];
	FILE *status;

	if (mlockall(MCL_CURRENT) < 0)
		return 1;
	status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "VmLck: %lu", &locked);
	printf("%lu\n", locked);
	return 0;
}

static int spawn_many(long count, const char *path)
{
	long bad = 0;
	FILE *file;
	int status;

	for (long i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(9);
		}
		waitpid(child, &status, 0);
		bad += status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	file = fopen(path, "w");
	if (file)
		fprintf(file, "%ld\n", bad);
	return !file;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;

	if (strcmp(what, "traces") == 0)
		return try_ptrace();
	if (strcmp(what, "counts") == 0)
		return try_bpf();
	if (strcmp(what, "samples") == 0)
		return try_samples((pid_t)count);
	if (strcmp(what, "locks") == 0)
		return lock_memory();
	if (strcmp(what, "spawns") == 0 && argc > 3)
		return spawn_many(count, argv[3]);
	if (strcmp(what, "killed") == 0)
		return kill_children(count);
	if (strcmp(what, "alarm") == 0) {
		alarm(1);
		return become(argv + 2);
	}
	if (strcmp(what, "groups") == 0)
		return take_groups(argv + 2);
	if (strcmp(what, "kills") == 0)
		return filter(SYS_clock_gettime, SECCOMP_RET_KILL_PROCESS) ? become(argv + 2) : 77;
	if (strcmp(what, "stopped") == 0)
		return be_stopped(count);
	if (strcmp(what, "untraced") == 0)
		return clone_untraced(count);
	if (strcmp(what, "left") == 0 && argc > 2)
		return leave_child(argv[2]);
	if (strcmp(what, "ignores") == 0)
		return ignore_signals();
	if (strcmp(what, "counter") == 0)
		return read_counter();
	if (strcmp(what, "strict") == 0)
		return read_strictly();
	return strcmp(what, "sent") == 0 ? be_sent() : 2;
}
