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
 *	contract stopped N           N getppid(2) and getpgid(2) that its own filter stops for a tracer; prints how
 *	                             many of them failed
 *	contract untraced N          a child that asks not to be traced reads the clock N times
 *	contract strict              reads the clock in seccomp's strict mode
 *	contract left FILE           leaves a child that waits for a second, and then writes to the file
 *	                             whether it was interrupted
 *	contract ignores             waits without limit, in ways that are not restarted, while it gets
 *	                             signals that it ignores; prints how often a call was interrupted,
 *	                             and how often without a handler
 *	contract sent                ends by SIGSYS of a child while it reads the clock
 *	contract locks               locks its memory, and prints how many KiB that is
 *	contract spawns N FILE       N children that execute true; writes to the file how many of
 *	                             them ended otherwise than by 0 or SIGKILL
 *	contract state               prints what execve(2) keeps: users, capabilities, signals,
 *	                             limits, timers, descriptors
 *	contract parses              reads the clock by a function that it looks up in its vDSO as
 *	                             careful programs do: symbols are within the segment that is
 *	                             loaded; prints how many are not, and how many reads failed
 *	contract moves               the same after it has moved its vDSO by mremap(2)
 *	contract points              reads the clock into memory that it does not have, and prints the
 *	                             errors
 *	contract layout              prints addresses that are the same each time without ASLR
 *	contract stops               how its parent sees a child that stops itself and is continued
 *	contract pairs N             N times SIGSTOP and then SIGCONT for a child that executes itself
 *	                             again and again; prints how often it was stopped after that
 *	contract clones              children by clone(2) and clone3(2) that ask not to be traced and
 *	                             read the clock by system call
 *	contract family N            N children by fork(2) and vfork(2), some of which execute true
 *	contract dies SIGNAL         by this signal, of itself or of a timer
 *	contract queued              with blocked signals that are pending over execve(2)
 *	contract naps                waits, while it is stopped and continued
 *	contract sandboxed           executes a program that its filter kills for memfd_create(2)
 *	contract tight WORD...       becomes the program with the least address space that it runs in
 *	contract takes               prints the number of each signal that it gets, until SIGTERM; SIGTSTP
 *	                             stops it then
 *	contract takes stop          the same, after it has stopped itself
 *	contract takes read          the same, after it has read a line
 *	contract takes ignore        the same, and SIGTSTP is ignored
 *	contract calls HOW WORD...   runs a program as a shell with job control does, sends signals to it
 *	                             and prints its output, its stops and its end
 */
/* clang-format on */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
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

/* That of vdsocheck's own filter, TRACE_FILTER_MARK, for its first row. */
#define MARK 0xd500

static int be_stopped(long count)
{
	long failed = 0;

	if (!filter(SYS_getppid, SECCOMP_RET_TRACE) ||
		!filter(SYS_getpgid, SECCOMP_RET_TRACE | MARK))
		return 77;
	for (long i = 0; i < count; i++)
		failed += (syscall(SYS_getppid) < 0) + (syscall(SYS_getpgid, 0) < 0);
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

/* ---- its own vDSO ---- */

typedef int clock_function(clockid_t, struct timespec *);

/* Returns the function, and counts the symbols of functions that lead out of what is loaded. */
static clock_function *look_up(const char *image, int *outside)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image;
	const Elf64_Phdr *segment = (const Elf64_Phdr *)(const void *)(image + header->e_phoff);
	const Elf64_Phdr *loaded = NULL;
	const Elf64_Dyn *dynamic = NULL;
	const Elf64_Sym *symbols = NULL;
	const char *names = NULL;
	const unsigned *hash = NULL;
	clock_function *found = NULL;

	for (int i = 0; i < header->e_phnum; i++) {
		if (segment[i].p_type == PT_LOAD)
			loaded = &segment[i];
		if (segment[i].p_type == PT_DYNAMIC)
			dynamic = (const Elf64_Dyn *)(const void *)(image + segment[i].p_offset);
	}
	for (; loaded && dynamic && dynamic->d_tag; dynamic++) {
		const char *at = image + dynamic->d_un.d_ptr - loaded->p_vaddr;

		if (dynamic->d_tag == DT_SYMTAB)
			symbols = (const Elf64_Sym *)(const void *)at;
		if (dynamic->d_tag == DT_STRTAB)
			names = at;
		if (dynamic->d_tag == DT_HASH)
			hash = (const unsigned *)(const void *)at;
	}
	for (unsigned i = 1; hash && symbols && names && i < hash[1]; i++) {
		const char *name = names + symbols[i].st_name;
		const char *at = image + symbols[i].st_value - loaded->p_vaddr;

		if ((symbols[i].st_info & 15) != STT_FUNC || !symbols[i].st_shndx)
			continue;
		*outside += symbols[i].st_value - loaded->p_vaddr >= loaded->p_memsz ||
		            (loaded->p_flags & (PF_R | PF_X)) != (PF_R | PF_X);
		if (strcmp(name, "__vdso_clock_gettime") == 0 ||
			strcmp(name, "__kernel_clock_gettime") == 0)
			memcpy(&found, &at, sizeof(found));
	}
	return found;
}

/* It makes no call of libc, which has the old addresses. */
static int read_by(const char *image)
{
	clock_function *function;
	int outside = 0, failed = 0, length;
	struct timespec now;
	char text[64];

	function = look_up(image, &outside);
	if (!function)
		return 77;
	for (int i = 0; i < 100; i++) {
		now.tv_sec = 0;
		failed += function(CLOCK_MONOTONIC, &now) != 0 || now.tv_sec == 0;
	}
	length = snprintf(text, sizeof(text), "%d %d\n", outside, failed);
	_exit(write(1, text, (size_t)length) != length);
}

/* It and its data lie side by side, and move together. */
static int move_vdso(void)
{
	struct {
		unsigned long start, end;
	} maps[8];
	unsigned long image = 0, first, length;
	int count = 0;
	char line[512];
	FILE *file = fopen("/proc/self/maps", "r");
	char *to;

	while (file && count < 8 && fgets(line, sizeof(line), file)) {
		if (!strstr(line, "[vvar") && !strstr(line, "[vdso]"))
			continue;
		sscanf(line, "%lx-%lx", &maps[count].start, &maps[count].end);
		if (strstr(line, "[vdso]"))
			image = maps[count].start;
		count++;
	}
	if (!image)
		return 77;
	fclose(file);
	first = maps[0].start;
	length = maps[count - 1].end - first;
	to = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < count; i++) {
		if (syscall(SYS_mremap, maps[i].start, maps[i].end - maps[i].start,
			    maps[i].end - maps[i].start, MREMAP_MAYMOVE | MREMAP_FIXED,
			    to + (maps[i].start - first)) < 0)
			_exit(77);
	}
	return read_by(to + (image - first));
}

static int read_into_nothing(void)
{
	static const uintptr_t places[] = {16, UINTPTR_MAX - 4095, UINTPTR_MAX / 2 + 1};

	for (int i = 0; i < 3; i++) {
		struct timespec *place;
		int error;

		memcpy(&place, &places[i], sizeof(place));
		error = clock_gettime(CLOCK_MONOTONIC, place) < 0 ? errno : 0;
		printf("%s\n", strerror(error));
	}
	return 0;
}

static int print_layout(void)
{
	void *map = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*library)(const char *) = puts;

	printf("%p %p %p\n", map, *(void **)(void *)&library, (void *)&map);
	return 0;
}

static volatile sig_atomic_t was_handled;

static void handle(int signal)
{
	(void)signal;
	was_handled = 1;
}

/* The last wait is ended by a handler. */
static int ignore_signals(void)
{
	const struct timespec moment = {.tv_nsec = 50000000};
	const struct sigaction handled = {.sa_handler = handle};
	struct epoll_event event = {.events = EPOLLIN};
	struct sembuf down = {0, -1, 0}, up = {0, 1, 0};
	int poll = epoll_create1(0), interrupted = 0, set = semget(IPC_PRIVATE, 1, 0600), ends[2];
	struct io_uring_params ring = {.flags = 0};
	int uring = (int)syscall(SYS_io_uring_setup, 1, &ring), unhandled = 0;
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
		result = i == 0                ? semop(set, &down, 1)
		         : i == 1              ? semtimedop(set, &down, 1, NULL)
		         : i == 2              ? sigwaitinfo(&wanted, NULL)
		         : i == 3 || uring < 0 ? epoll_wait(poll, &event, 1, -1)
		                               : (int)syscall(SYS_io_uring_enter, uring, 0, 1,
							 IORING_ENTER_GETEVENTS, NULL, 0);
		interrupted += result < 0 && errno == EINTR;
		unhandled += result < 0 && errno == EINTR && !was_handled;
		waitpid(child, NULL, 0);
	}
	semctl(set, 0, IPC_RMID);
	printf("%d %d\n", interrupted, unhandled);
	return 0;
}

/* Not by ptrace(3): this file would be known as that of a tracer. */
static int try_ptrace(void)
{
	pid_t child = fork();
	long result;

	if (child == 0)
		for (;;)
			pause();
	result = syscall(SYS_ptrace, PTRACE_SEIZE, child, NULL, NULL);
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

/* ---- programs that end in the same way without a tracer, see tests/trace/same ---- */

static void print_lines(const char *path, const char *const *keys)
{
	FILE *file = fopen(path, "r");
	char line[4096];

	while (file && fgets(line, sizeof(line), file)) {
		for (const char *const *key = keys; *key; key++) {
			if (strncmp(line, *key, strlen(*key)) == 0)
				fputs(line, stdout);
		}
	}
	if (file)
		fclose(file);
}

static int print_state(void)
{
	static const char *const keys[] = {"Uid:", "Gid:", "Groups:", "Cap",
		"SigBlk:", "SigIgn:", "SigCgt:", "SigPnd:", "Umask:", "Cpus_allowed_list:", NULL};
	struct itimerval timer;
	struct rlimit limit;

	print_lines("/proc/self/status", keys);
	for (unsigned i = 0; i < RLIM_NLIMITS; i++) {
		if (getrlimit(i, &limit) == 0)
			printf("limit %u %lu %lu\n", i, (unsigned long)limit.rlim_cur,
				(unsigned long)limit.rlim_max);
	}
	for (unsigned i = 0; i < 3; i++) {
		if (getitimer(i, &timer) == 0)
			printf("timer %u %d\n", i, timer.it_value.tv_sec || timer.it_value.tv_usec);
	}
	for (int i = 0; i < 1024; i++) {
		if (fcntl(i, F_GETFD) >= 0)
			printf("descriptor %d\n", i);
	}
	printf("%d %d %d %d %d\n", prctl(PR_GET_DUMPABLE), prctl(PR_GET_SECUREBITS),
		prctl(PR_GET_KEEPCAPS), getpgrp() == getpid(), getsid(0) == getpid());
	return 0;
}

static int watch_stops(void)
{
	static const int signals[] = {SIGSTOP, SIGTSTP};
	int status, ends[2];
	char byte;
	pid_t child;

	if (pipe(ends) < 0 || (child = fork()) < 0)
		return 77;
	for (int i = 0; child == 0 && i < 2; i++) {
		raise(signals[i]);
		if (read(ends[0], &byte, 1) != 1)
			_exit(6);
	}
	if (child == 0)
		_exit(5);
	for (int i = 0; i < 2; i++) {
		waitpid(child, &status, WUNTRACED);
		printf("%x\n", (unsigned)status);
		kill(child, SIGCONT);
		waitpid(child, &status, WCONTINUED);
		printf("%x\n", (unsigned)status);
		if (write(ends[1], "", 1) != 1)
			return 6;
	}
	waitpid(child, &status, 0);
	printf("%x\n", (unsigned)status);
	return 0;
}

/* Writes a byte into standard output, whose reader may be late, and executes itself. */
static int execute_again(void)
{
	(void)!write(STDOUT_FILENO, "", 1);
	execl("/proc/self/exe", "contract", "again", (char *)NULL);
	return 127;
}

/* Says whether the child writes within a time. */
static int goes_on(int file, int tries)
{
	const struct timespec moment = {.tv_nsec = 10000000};
	char bytes[4096];

	while (read(file, bytes, sizeof(bytes)) > 0)
		;
	while (tries--) {
		nanosleep(&moment, NULL);
		if (read(file, bytes, sizeof(bytes)) > 0)
			return 1;
	}
	return 0;
}

static int stop_and_continue(long count)
{
	long stopped = 0;
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_NONBLOCK) < 0 || (child = fork()) < 0)
		return 77;
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		_exit(execute_again());
	}
	for (long i = 0; i < count; i++) {
		const struct timespec moment = {.tv_nsec = rand() % 200000};

		kill(child, SIGSTOP);
		nanosleep(&moment, NULL);
		kill(child, SIGCONT);
		if (!goes_on(ends[0], 500)) {
			stopped++;
			kill(child, SIGCONT);
		}
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	printf("%ld\n", stopped);
	return 0;
}

/* The kernel's struct of the first version. */
struct arguments_of_clone {
	uint64_t flags, pidfd, child, parent, signal, stack, size, tls;
};

static int clone_by(int is_third)
{
	struct arguments_of_clone arguments = {.flags = CLONE_UNTRACED, .signal = SIGCHLD};
	struct timespec now;
	int status = 0;
	long child;

	if (is_third)
		child = syscall(SYS_clone3, &arguments, sizeof(arguments));
	else
		child = syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0)
		_exit(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) ? errno : 0);
	if (child < 0)
		return -errno;
	waitpid((pid_t)child, &status, __WALL);
	return status;
}

static pid_t start_child(long which)
{
	pid_t child = which % 2 ? fork() : vfork();

	if (child == 0 && which % 3)
		execl("/bin/true", "true", (char *)NULL);
	if (child == 0)
		_exit((int)(which % 7));
	return child;
}

static int start_family(long count)
{
	long ended = 0;
	int status;

	for (long i = 0; i < count; i++) {
		waitpid(start_child(i), &status, 0);
		ended += status;
	}
	printf("%lx\n", ended);
	return 0;
}

static int die_by(int signal)
{
	const struct itimerval soon = {.it_value.tv_usec = 50000};

	if (signal != SIGALRM)
		return raise(signal);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;)
		read_clock(1000);
}

/* Takes the signals that were queued before it was executed. */
static int take_queued(void)
{
	static const struct timespec now;
	sigset_t set;
	siginfo_t info;
	int count = 0, sum = 0;

	sigprocmask(SIG_SETMASK, NULL, &set);
	while (sigtimedwait(&set, &info, &now) > 0) {
		count++;
		sum += info.si_value.sival_int;
	}
	printf("%d %d\n", count, sum);
	return 0;
}

static int queue_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < 3; i++)
		sigaddset(&set, SIGRTMIN + i);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (int i = 0; i < 100; i++)
		sigqueue(getpid(), SIGRTMIN + i % 3, (union sigval){.sival_int = i});
	execl("/proc/self/exe", "contract", "queue", (char *)NULL);
	return 127;
}

static int nap(void)
{
	const struct timespec moment = {.tv_nsec = 50000000}, pause = {.tv_nsec = 200000000};

	for (int i = 0; i < 2; i++) {
		pid_t child = fork();
		int result;

		if (child == 0) {
			nanosleep(&moment, NULL);
			kill(getppid(), SIGSTOP);
			nanosleep(&moment, NULL);
			_exit(kill(getppid(), SIGCONT) < 0);
		}
		errno = 0;
		result = i ? poll(NULL, 0, 200) : nanosleep(&pause, NULL);
		printf("%d %d\n", result, errno);
		waitpid(child, NULL, 0);
	}
	return 0;
}

static int execute_in_sandbox(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		if (filter(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS))
			execl("/proc/self/exe", "contract", "makes", (char *)NULL);
		_exit(77);
	}
	waitpid(child, &status, 0);
	printf("%d\n", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
	return 0;
}

static int become_tight(char **words)
{
	for (rlim_t size = 1 << 20; size < 1 << 28; size += 1 << 16) {
		const struct rlimit limit = {size, size};
		int status = 1, silent;
		pid_t child = fork();

		if (child == 0) {
			silent = open("/dev/null", O_WRONLY);
			dup2(silent, STDOUT_FILENO);
			dup2(silent, STDERR_FILENO);
			setrlimit(RLIMIT_AS, &limit);
			_exit(become(words));
		}
		waitpid(child, &status, 0);
		if (status == 0) {
			setrlimit(RLIMIT_AS, &limit);
			return become(words);
		}
	}
	return 77;
}

/* ---- signals of a caller ---- */

static volatile sig_atomic_t was_asked_to_end;

static void print_signal(int number)
{
	const char line[] = {(char)('0' + number / 10), (char)('0' + number % 10), '\n'};
	sigset_t set;

	(void)!write(STDOUT_FILENO, line, sizeof(line));
	was_asked_to_end |= number == SIGTERM;
	if (number != SIGTSTP)
		return;
	sigemptyset(&set);
	sigaddset(&set, number);
	signal(number, SIG_DFL);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	signal(number, print_signal);
}

static int take_signals(const char *how)
{
	const struct timespec moment = {.tv_nsec = 300000000};
	char byte;
	sigset_t none;

	for (int number = 1; number < NSIG; number++) {
		if (number != SIGCHLD && number != SIGTTIN && (number != SIGCONT || !*how))
			signal(number, print_signal);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (strcmp(how, "ignore") == 0)
		signal(SIGTSTP, SIG_IGN);
	else if (strcmp(how, "stop") == 0)
		raise(SIGSTOP);
	else if (strcmp(how, "read") == 0)
		printf("%zd\n", read(STDIN_FILENO, &byte, 1));
	fflush(stdout);
	(void)!write(STDOUT_FILENO, "up\n", 3);
	while (!was_asked_to_end)
		nanosleep(&moment, NULL);
	while (nanosleep(&moment, NULL) < 0)
		;
	return 7;
}

/* Prints what the program prints next. After a moment nothing more comes for the same signal. */
static void print_next(int file)
{
	const struct timespec moment = {.tv_nsec = 200000000};
	struct pollfd wait = {file, POLLIN, 0};
	char text[256];
	ssize_t length;

	if (poll(&wait, 1, 10000) > 0)
		nanosleep(&moment, NULL);
	length = poll(&wait, 1, 0) > 0 ? read(file, text, sizeof(text)) : -1;
	if (length <= 0)
		puts(length ? "nothing" : "end");
	else
		fwrite(text, 1, (size_t)length, stdout);
}

static void print_change(pid_t child)
{
	int status = -1;

	for (int tries = 200; tries && waitpid(child, &status, WUNTRACED | WNOHANG) == 0; tries--)
		nanosleep(&(const struct timespec){.tv_nsec = 50000000}, NULL);
	printf("status %x\n", (unsigned)status);
}

static void send_all(pid_t target, int file)
{
	const int signals[] = {SIGHUP, SIGINT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGRTMIN + 3};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		kill(target, signals[i]);
		print_next(file);
	}
}

/* The shell's half of `fg`, and of the stop before. */
static void go_on(int terminal, pid_t child, pid_t target)
{
	print_change(child);
	tcsetpgrp(terminal, getpgrp());
	tcsetpgrp(terminal, child);
	kill(target, SIGCONT);
}

static void type_at(int keyboard, int terminal, pid_t child, int file)
{
	for (int i = 0; i < 2; i++) {
		(void)!write(keyboard, "\032", 1);
		print_next(file);
		go_on(terminal, child, -child);
		(void)!write(keyboard, "\003", 1);
		print_next(file);
	}
}

static void start_program(const char *how, int terminal, int file, char **words)
{
	sigset_t set;

	setpgid(0, 0);
	sigemptyset(&set);
	if (strcmp(how, "blocked") == 0)
		sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	for (int number = 1; number < NSIG; number++)
		signal(number, strcmp(how, "ignored") == 0 ? SIG_IGN : SIG_DFL);
	if (strcmp(how, "orphan") == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(terminal, STDIN_FILENO);
	dup2(file, STDOUT_FILENO);
	_exit(become(words));
}

/* A caller that ends leaves the program, whose end closes the pipe. */
static int leave_program(const char *how, int terminal, int ends[2], char **words)
{
	pid_t caller = fork();

	if (caller == 0 && fork() == 0)
		start_program(how, terminal, ends[1], words);
	if (caller == 0) {
		print_next(ends[0]);
		fflush(stdout);
		_exit(0);
	}
	close(ends[1]);
	waitpid(caller, NULL, 0);
	print_next(ends[0]);
	return 0;
}

/* The program, which prints its ID, is stopped, and its process group is continued at once. */
static void stop_for_a_moment(int file, pid_t group)
{
	const struct timespec moment = {.tv_nsec = 2000000};
	char text[32] = "";

	(void)!read(file, text, sizeof(text) - 1);
	kill(atoi(text), SIGSTOP);
	nanosleep(&moment, NULL);
	kill(-group, SIGCONT);
}

static int call_program(const char *how, char **words)
{
	int keyboard = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), terminal, status = 0, ends[2];
	pid_t child, session;

	if (keyboard < 0 || unlockpt(keyboard) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return 77;
	session = fork();
	if (session) {
		close(ends[1]);
		if (strcmp(how, "hangup") == 0) {
			print_next(ends[0]);
			close(keyboard);
			print_next(ends[0]);
			kill(session, SIGTERM);
		}
		waitpid(session, &status, 0);
		return WEXITSTATUS(status);
	}
	if (setsid() < 0 || (terminal = open(ptsname(keyboard), O_RDWR | O_CLOEXEC)) < 0)
		return 77;
	if (strcmp(how, "hangup") == 0)
		start_program(how, terminal, ends[1], words);
	signal(SIGTTOU, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (strcmp(how, "orphan") == 0)
		return leave_program(how, terminal, ends, words);
	child = fork();
	if (child == 0)
		start_program(how, terminal, ends[1], words);
	setpgid(child, child);
	close(ends[1]);
	if (strcmp(how, "reads") == 0) {
		go_on(terminal, child, -child);
		(void)!write(keyboard, "\n", 1);
	} else if (strcmp(how, "stops") == 0) {
		go_on(terminal, child, child);
	} else if (strcmp(how, "moment") == 0) {
		stop_for_a_moment(ends[0], child);
	} else {
		tcsetpgrp(terminal, child);
	}
	print_next(ends[0]);
	if (strcmp(how, "group") == 0) {
		send_all(-child, ends[0]);
	} else if (strcmp(how, "terminal") == 0) {
		type_at(keyboard, terminal, child, ends[0]);
	} else if (strcmp(how, "keys") == 0) {
		(void)!write(keyboard, "\032\003", 2);
		print_next(ends[0]);
	} else if (strcmp(how, "stops") != 0 && strcmp(how, "reads") != 0 &&
		   strcmp(how, "moment") != 0) {
		send_all(child, ends[0]);
	}
	kill(strcmp(how, "group") == 0 ? -child : child, SIGTERM);
	print_next(ends[0]);
	print_change(child);
	return 0;
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
	if (strcmp(what, "strict") == 0)
		return read_strictly();
	if (strcmp(what, "parses") == 0)
		return read_by((const char *)getauxval(AT_SYSINFO_EHDR));
	if (strcmp(what, "moves") == 0)
		return move_vdso();
	if (strcmp(what, "points") == 0)
		return read_into_nothing();
	if (strcmp(what, "layout") == 0)
		return print_layout();
	if (strcmp(what, "state") == 0)
		return print_state();
	if (strcmp(what, "stops") == 0)
		return watch_stops();
	if (strcmp(what, "again") == 0)
		return execute_again();
	if (strcmp(what, "pairs") == 0)
		return stop_and_continue(count);
	if (strcmp(what, "clones") == 0)
		return printf("%x %x\n", (unsigned)clone_by(0), (unsigned)clone_by(1)) < 0;
	if (strcmp(what, "family") == 0)
		return start_family(count);
	if (strcmp(what, "dies") == 0)
		return die_by((int)count);
	if (strcmp(what, "queued") == 0)
		return queue_signals();
	if (strcmp(what, "queue") == 0)
		return take_queued();
	if (strcmp(what, "naps") == 0)
		return nap();
	if (strcmp(what, "sandboxed") == 0)
		return execute_in_sandbox();
	if (strcmp(what, "makes") == 0)
		return syscall(SYS_memfd_create, "file", 0) < 0;
	if (strcmp(what, "tight") == 0)
		return become_tight(argv + 2);
	if (strcmp(what, "takes") == 0)
		return take_signals(argc > 2 ? argv[2] : "");
	if (strcmp(what, "calls") == 0 && argc > 3)
		return call_program(argv[2], argv + 3);
	return strcmp(what, "sent") == 0 ? be_sent() : 2;
}
