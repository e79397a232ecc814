/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * A program whose system calls are known beforehand, for the tests of `trace`; shares no code with
 * src/.
 *	caller syscall N          N gettimeofday by syscall(2)
 *	caller twice N            2 * N of these by a function often_called(), and N by seldom_called()
 *	caller work N             the same, and about 2 us of other work after each
 *	caller vdso N             N gettimeofday by libc
 *	caller read N COUNT       COUNT threads with N clock_gettime(CLOCK_MONOTONIC) by libc each
 *	caller family N COUNT     COUNT children with N of these each, half of which then execute
 *	                          "vdso N"
 *	caller both N             N of these in a child, and at the same time N in its parent
 *	caller pass N             N of these, then executes itself with "vdso N" from a thread
 *	caller steady N TURNS     N of these, and so many turns of an empty loop after each
 *	caller start N            N children that execute "vdso 1"
 *	caller own N              N clock_gettime(CLOCK_MONOTONIC) by a system call instruction of its
 *	                          own function own_clock()
 *	caller jit N [1]          N gettimeofday by code made at run time, named in /tmp/perf-PID.map,
 *	                          unless that is there, or with 1 not named
 *	caller made N             N of these by system call instructions of such code
 *	caller pace SECONDS       as many of these as it can, for that time
 *	caller clock N ID         N clock_gettime(ID) by syscall(2)
 *	caller resolution N       N clock_getres() by libc of CLOCK_MONOTONIC, and of its CPU time
 *	caller threads N COUNT    COUNT threads with N each
 *	caller fork N COUNT       COUNT children with N each, of which each second one by vfork
 *	caller die N              N, then ends by SIGKILL while a thread makes more
 *	caller exec N             N, then executes itself with "syscall N" from a thread
 *	caller busy SECONDS       in two threads, most of the time, for that time at most
 *	caller slow SECONDS       1,000 every 20 ms, for that time at most
 *	caller shares SECONDS     clock_gettime() by libc in a loop: 6 times by a function often_reads(),
 *	                          3 times by seldom_reads()
 *	caller headless SECONDS   clock_gettime() by libc in a loop, while its first thread has ended
 *	caller forks SECONDS      children one after the other, with 400,000 of these each
 *	caller crowded SECONDS    nothing, in a loop, with 64,000 mappings; and so does a child whose ID
 *	                          is the same modulo 1,024
 *	caller unmapped SECONDS   900 clock_gettime() by code made at run time at as many addresses,
 *	                          which is unmapped then, each quarter of a second; with these mappings
 *	caller int80 N            N gettimeofday by the 32-bit entry of x86
 *	caller vsyscall N         N gettimeofday by the vsyscall page of x86-64
 *	caller refused N ACTION   N clock_gettime(CLOCK_MONOTONIC) by libc, under a seccomp filter that
 *	                          answers the system call with this action of linux/seccomp.h; prints
 *	                          how many failed
 */
/* clang-format on */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long count;
static char *self;

static void make_calls(void)
{
	struct timeval now;

	for (long i = 0; i < count; i++)
		syscall(SYS_gettimeofday, &now, NULL);
}

__attribute__((noinline)) static void often_called(struct timeval *now)
{
	syscall(SYS_gettimeofday, now, NULL);
	__asm__ volatile("");
}

__attribute__((noinline)) static void seldom_called(struct timeval *now)
{
	syscall(SYS_gettimeofday, now, NULL);
	__asm__ volatile("nop");
}

static int call_by_two(void)
{
	struct timeval now;

	for (long i = 0; i < count; i++) {
		often_called(&now);
		seldom_called(&now);
		often_called(&now);
	}
	return 0;
}

static void make_calls_between_work(void)
{
	struct timeval now;

	for (long i = 0; i < count; i++) {
		syscall(SYS_gettimeofday, &now, NULL);
		for (unsigned j = 0; j < 8000; j++)
			__asm__ volatile("");
	}
}

static void *read_clock(void *unused)
{
	struct timespec now;

	for (long i = 0; i < count; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
	return unused;
}

static int read_in_threads(long threads)
{
	pthread_t ids[64];

	for (long i = 0; i < threads && i < 64; i++)
		pthread_create(&ids[i], NULL, read_clock, NULL);
	for (long i = 0; i < threads && i < 64; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

static int read_in_children(long children)
{
	char number[32];

	snprintf(number, sizeof(number), "%ld", count);
	for (long i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			read_clock(NULL);
			if (i % 2)
				execl(self, self, "vdso", number, (char *)NULL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}

static int read_in_both(void)
{
	pid_t pid = fork();

	read_clock(NULL);
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return 0;
}

static int read_steadily(long turns)
{
	struct timespec now;

	for (long i = 0; i < count; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		for (long j = 0; j < turns; j++)
			__asm__ volatile("");
	}
	return 0;
}

static int start_others(void)
{
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			execl(self, self, "vdso", "1", (char *)NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}

static int run_made_code(int calls_system, int is_named)
{
#if defined(__x86_64__)
	/* sub $8, %rsp; call *%rdx; add $8, %rsp; ret; and mov $96, %eax; syscall; ret */
	static const unsigned char code[][11] = {
		{0x48, 0x83, 0xec, 8, 0xff, 0xd2, 0x48, 0x83, 0xc4, 8, 0xc3},
		{0xb8, 96, 0, 0, 0, 0x0f, 0x05, 0xc3},
	};
	enum { COPY_SIZE = 16, SIZE = 4096 };
	int (*function)(struct timeval *, void *, int (*)(struct timeval *, void *));
	char *made = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct timeval now;
	char path[64];
	FILE *map;

	for (size_t at = 0; at < SIZE; at += COPY_SIZE)
		memcpy(made + at, code[calls_system], sizeof(*code));
	mprotect(made, SIZE, PROT_READ | PROT_EXEC);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = is_named ? fopen(path, "wx") : NULL;
	if (is_named && !map && errno != EEXIST)
		return 1;
	if (map) {
		fprintf(map, "%lx %x made code\n", (unsigned long)made, SIZE);
		fclose(map);
	}
	for (long i = 0; i < count; i++) {
		const char *copy = made + i % (SIZE / COPY_SIZE) * COPY_SIZE;

		memcpy(&function, &copy, sizeof(function));
		function(&now, NULL, (int (*)(struct timeval *, void *))gettimeofday);
	}
	return 0;
#else
	(void)calls_system;
	(void)is_named;
	return 77;
#endif
}

__attribute__((noinline)) static long own_clock(struct timespec *now)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_clock_gettime), "D"((long)CLOCK_MONOTONIC), "S"(now)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long result __asm__("x0") = CLOCK_MONOTONIC;
	register struct timespec *to __asm__("x1") = now;
	register long number __asm__("x8") = SYS_clock_gettime;

	__asm__ volatile("svc #0" : "+r"(result) : "r"(to), "r"(number) : "memory");
	return result;
#else
	(void)now;
	return -1;
#endif
}

static int run_own_call(void)
{
	struct timespec now;

	for (long i = 0; i < count; i++) {
		if (own_clock(&now) != 0)
			return 77;
	}
	return 0;
}

static int keep_reading(long seconds)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec < end.tv_sec + seconds);
	return 0;
}

static const char *executed = "syscall";

static void *run_thread(void *unused)
{
	make_calls();
	return unused;
}

static void *run_for_ever(void *unused)
{
	struct timespec now;

	for (unsigned i = 1;; i++) {
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
		if (i % 200 == 0)
			usleep(1000);
	}
	return unused;
}

static void *execute(void *unused)
{
	char number[32];

	/* pthread_create() is to have returned, with the signal mask that it restores. */
	usleep(50000);
	snprintf(number, sizeof(number), "%ld", count);
	execl(self, self, executed, number, (char *)NULL);
	return unused;
}

static int run_threads(long threads)
{
	pthread_t ids[64];

	for (long i = 0; i < threads && i < 64; i++)
		pthread_create(&ids[i], NULL, run_thread, NULL);
	for (long i = 0; i < threads && i < 64; i++)
		pthread_join(ids[i], NULL);
	return 0;
}

static int run_children(long children)
{
	char number[32];

	snprintf(number, sizeof(number), "%ld", count);
	for (long i = 0; i < children; i++) {
		pid_t pid = i % 2 ? vfork() : fork();

		if (pid == 0 && i % 2) {
			execl(self, self, "syscall", number, (char *)NULL);
			_exit(1);
		} else if (pid == 0) {
			make_calls();
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}

static int be_busy(long seconds)
{
	time_t end = time(NULL) + seconds;
	pthread_t id;

	pthread_create(&id, NULL, run_for_ever, NULL);
	count = 200;
	while (time(NULL) < end) {
		make_calls();
		usleep(1000);
	}
	return 0;
}

static int be_slow(long seconds)
{
	time_t end = time(NULL) + seconds;

	count = 1000;
	while (time(NULL) < end) {
		make_calls();
		usleep(20000);
	}
	return 0;
}

__attribute__((noinline)) static void often_reads(struct timespec *now)
{
	for (volatile int i = 0; i < 6; i++)
		clock_gettime(CLOCK_MONOTONIC, now);
	__asm__ volatile("");
}

__attribute__((noinline)) static void seldom_reads(struct timespec *now)
{
	for (volatile int i = 0; i < 3; i++)
		clock_gettime(CLOCK_MONOTONIC, now);
	__asm__ volatile("nop");
}

static int read_by_shares(long seconds)
{
	struct timespec now;
	time_t end = time(NULL) + seconds;

	while (time(NULL) < end) {
		for (int i = 0; i < 10000; i++) {
			often_reads(&now);
			seldom_reads(&now);
		}
	}
	return 0;
}

static void *keep_reading_in_thread(void *seconds)
{
	exit(keep_reading(*(long *)seconds));
}

static int read_headless(void)
{
	pthread_t id;

	pthread_create(&id, NULL, keep_reading_in_thread, &count);
	pthread_exit(NULL);
}

static int fork_for(long seconds)
{
	time_t end = time(NULL) + seconds;

	count = 400000;
	while (time(NULL) < end) {
		pid_t pid = fork();

		if (pid == 0) {
			read_clock(NULL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}

/* Two pages of different protection are two mappings. */
static void map_much(void)
{
	enum { MAPPINGS = 64000, PAGE = 4096 };
	char *pages =
		mmap(NULL, (size_t)MAPPINGS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (long i = 0; i < MAPPINGS; i += 2)
		mprotect(pages + i * PAGE, PAGE, PROT_READ);
}

static int be_crowded(long seconds)
{
	time_t end = time(NULL) + seconds;
	pid_t pid;

	while ((pid = fork()) > 0 && (pid - getpid()) % 1024 != 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	while (pid == 0 && (getpid() - getppid()) % 1024 != 0)
		pause();
	map_much();
	while (time(NULL) < end)
		;
	return 0;
}

static int call_unmapped(long seconds)
{
#if defined(__x86_64__)
	/* mov $228, %eax; syscall; ret */
	static const unsigned char code[] = {0xb8, 228, 0, 0, 0, 0x0f, 0x05, 0xc3};
	enum { CALLS = 900, SIZE = 16, LENGTH = CALLS * SIZE };
	time_t end = time(NULL) + seconds;

	map_much();
	while (time(NULL) < end) {
		char *made = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct timespec now;

		for (int i = 0; i < CALLS; i++) {
			const char *copy = made + (long)i * SIZE;
			int (*function)(int, struct timespec *);

			memcpy(made + (long)i * SIZE, code, sizeof(code));
			memcpy(&function, &copy, sizeof(function));
			function(CLOCK_MONOTONIC, &now);
		}
		munmap(made, LENGTH);
		usleep(250000);
	}
	return 0;
#else
	(void)seconds;
	return 77;
#endif
}

static int run_vsyscall(void)
{
	int (*const page)(void *, void *) = (int (*)(void *, void *))0xffffffffff600000;
	char line[256] = "";
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && !strstr(line, "[vsyscall]") && fgets(line, sizeof(line), maps))
		;
	if (maps)
		fclose(maps);
	if (!strstr(line, "[vsyscall]"))
		return 77;
	for (long i = 0; i < count; i++)
		page(NULL, NULL);
	return 0;
}

static int run_int80(void)
{
#if defined(__x86_64__)
	for (long i = 0; i < count; i++) {
		long result = 78; /* gettimeofday, of the 32-bit table; both pointers are NULL */

		__asm__ volatile("int $0x80"
				 : "+a"(result)
				 : "b"(0L), "c"(0L)
				 : "memory", "r8", "r9", "r10", "r11");
		if (result != 0)
			return 77;
	}
	return 0;
#else
	return 77;
#endif
}

static int read_refused(unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};
	struct timespec now;
	long failed = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		return 77;
	for (long i = 0; i < count; i++)
		failed += clock_gettime(CLOCK_MONOTONIC, &now) < 0;
	printf("%ld\n", failed);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	long more = argc > 3 ? atol(argv[3]) : 0;
	pthread_t id;

	self = argv[0];
	count = argc > 2 ? atol(argv[2]) : 0;
	if (strcmp(what, "syscall") == 0) {
		make_calls();
	} else if (strcmp(what, "twice") == 0) {
		return call_by_two();
	} else if (strcmp(what, "work") == 0) {
		make_calls_between_work();
	} else if (strcmp(what, "vdso") == 0) {
		struct timeval now;

		for (long i = 0; i < count; i++)
			gettimeofday(&now, NULL);
	} else if (strcmp(what, "clock") == 0) {
		struct timespec now;

		for (long i = 0; i < count; i++)
			syscall(SYS_clock_gettime, more, &now);
	} else if (strcmp(what, "resolution") == 0) {
		struct timespec resolution;

		for (long i = 0; i < count; i++) {
			clock_getres(CLOCK_MONOTONIC, &resolution);
			clock_getres(CLOCK_PROCESS_CPUTIME_ID, &resolution);
		}
	} else if (strcmp(what, "threads") == 0) {
		return run_threads(more);
	} else if (strcmp(what, "fork") == 0) {
		return run_children(more);
	} else if (strcmp(what, "die") == 0) {
		pthread_create(&id, NULL, run_for_ever, NULL);
		make_calls();
		raise(SIGKILL);
	} else if (strcmp(what, "exec") == 0) {
		make_calls();
		pthread_create(&id, NULL, execute, NULL);
		pthread_join(id, NULL);
		return 1;
	} else if (strcmp(what, "read") == 0) {
		return read_in_threads(more);
	} else if (strcmp(what, "family") == 0) {
		return read_in_children(more);
	} else if (strcmp(what, "both") == 0) {
		return read_in_both();
	} else if (strcmp(what, "steady") == 0) {
		return read_steadily(more);
	} else if (strcmp(what, "start") == 0) {
		return start_others();
	} else if (strcmp(what, "jit") == 0) {
		return run_made_code(0, !more);
	} else if (strcmp(what, "made") == 0) {
		return run_made_code(1, 1);
	} else if (strcmp(what, "own") == 0) {
		return run_own_call();
	} else if (strcmp(what, "pace") == 0) {
		return keep_reading(count);
	} else if (strcmp(what, "pass") == 0) {
		read_clock(NULL);
		executed = "vdso";
		pthread_create(&id, NULL, execute, NULL);
		pthread_join(id, NULL);
		return 1;
	} else if (strcmp(what, "slow") == 0) {
		return be_slow(count);
	} else if (strcmp(what, "shares") == 0) {
		return read_by_shares(count);
	} else if (strcmp(what, "headless") == 0) {
		return read_headless();
	} else if (strcmp(what, "forks") == 0) {
		return fork_for(count);
	} else if (strcmp(what, "crowded") == 0) {
		return be_crowded(count);
	} else if (strcmp(what, "unmapped") == 0) {
		return call_unmapped(count);
	} else if (strcmp(what, "busy") == 0) {
		return be_busy(count);
	} else if (strcmp(what, "int80") == 0) {
		return run_int80();
	} else if (strcmp(what, "vsyscall") == 0) {
		return run_vsyscall();
	} else if (strcmp(what, "refused") == 0) {
		return read_refused((unsigned)strtoul(argv[3], NULL, 0));
	} else {
		return 2;
	}
	return 0;
}
