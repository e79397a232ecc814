/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * A process that runs already, for the tests of `trace --count`; shares no code with src/.
 *	running counts N FILE     waits until the file is there, makes N clock_gettime(), N gettimeofday()
 *	                          and N time() by libc, removes the file, and waits again
 *	running hides N FILE      the same with N clock_gettime() alone, by an address that it has hidden as
 *	                          glibc before 2.31 does (x86-64)
 *	running late N FILE       the same as counts, but reads no clock before
 *	running forks N FILE      the same in three children, started then
 *	running executes N FILE   waits for the file, removes it and executes "counts N FILE"
 *	running computes N FILE   waits in epoll_wait(2) for a minute; when that is interrupted, reads the
 *	                          clock for four seconds without a system call, and ends
 *	running dispatches N FILE waits for the file; meanwhile each system call that is not of the C
 *	                          library sends it SIGSYS (prctl(2), PR_SET_SYSCALL_USER_DISPATCH)
 *	running data PID          prints for each mapping of a process's data, which has a file and is
 *	                          private, a sum of the bytes
 *	running led PID           succeeds if a word of its memory leads to the code behind our table
 *	running WAY FILE          does the same again and again until the file is there, and looks at all
 *	                          results; prints how many were wrong. The ways: sleeps, polls, masked
 *	                          (ppoll(2) with a signal mask), suspends, waits (epoll_wait(2) without a
 *	                          limit), reads, locks (futex(2)), works (without system calls), signals
 *	                          (timers), reads_clock
 */
/* clang-format on */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *file;
static volatile sig_atomic_t handled;

static int is_there(void)
{
	return access(file, F_OK) == 0;
}

static void pause_ms(long ms)
{
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static int64_t now_ns(void)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void await(void)
{
	while (!is_there())
		pause_ms(10);
}

static void read_clocks(long count)
{
	struct timespec now;
	struct timeval time_now;

	for (long i = 0; i < count; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		gettimeofday(&time_now, NULL);
		time(NULL);
	}
}

static void counts(long count)
{
	read_clocks(1);
	await();
	read_clocks(count);
}

#if defined(__x86_64__)
static uint64_t hidden;

/* In the structure of a thread. */
static uint64_t read_guard(void)
{
	uint64_t guard;

	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	return guard;
}

__attribute__((noinline)) static void read_by_hidden(struct timespec *now)
{
	const uint64_t word = hidden;
	const uint64_t address = (word >> 17 | word << 47) ^ read_guard();

	((int (*)(int, struct timespec *))(uintptr_t)address)(CLOCK_MONOTONIC, now);
}

static void hides(long count)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	const uint64_t address = (uintptr_t)dlsym(vdso, "__vdso_clock_gettime") ^ read_guard();
	struct timespec now;

	hidden = address << 17 | address >> 47;
	await();
	for (long i = 0; i < count; i++)
		read_by_hidden(&now);
}
#else
#define hides counts
#endif

static void late(long count)
{
	await();
	read_clocks(count);
}

static void forks(long count)
{
	read_clocks(1);
	await();
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			read_clocks(count);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		continue;
}

/* ---- what a stop may disturb: each returns how many results were wrong ---- */

static int sleeps(void)
{
	const struct timespec time = {.tv_nsec = 50000000};
	int64_t start = now_ns();
	int wrong = nanosleep(&time, NULL) != 0;

	wrong += now_ns() - start < time.tv_nsec;
	start = now_ns();
	wrong += clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL) != 0;
	return wrong + (now_ns() - start < time.tv_nsec);
}

static int polls(void)
{
	int64_t start = now_ns();
	int wrong = poll(NULL, 0, 50) != 0;

	return wrong + (now_ns() - start < 50000000);
}

static int masked(void)
{
	const struct timespec time = {.tv_nsec = 20000000};
	sigset_t mask, before, after;
	int wrong;

	sigprocmask(SIG_SETMASK, NULL, &before);
	sigfillset(&mask);
	sigdelset(&mask, SIGUSR2);
	wrong = ppoll(NULL, 0, &time, &mask) != 0;
	sigprocmask(SIG_SETMASK, NULL, &after);
	return wrong + (memcmp(&before, &after, 8) != 0);
}

static void handle(int number)
{
	(void)number;
	handled++;
}

static int suspends(void)
{
	const struct itimerval timer = {.it_value.tv_usec = 20000};
	sigset_t mask, alarm_alone, after;
	int wrong;

	sigemptyset(&alarm_alone);
	sigaddset(&alarm_alone, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm_alone, NULL);
	signal(SIGALRM, handle);
	handled = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
	sigemptyset(&mask);
	wrong = sigsuspend(&mask) != -1 || errno != EINTR || handled != 1;
	sigprocmask(SIG_SETMASK, NULL, &after);
	return wrong + !sigismember(&after, SIGALRM) + sigismember(&after, SIGUSR1);
}

static int pair[2];

static void *write_later(void *unused)
{
	(void)unused;
	pause_ms(20);
	return (void *)(intptr_t)(write(pair[1], "x", 1) != 1);
}

static int with_writer(int (*wait_for_it)(void))
{
	pthread_t thread;
	void *failed;
	char byte = 0;
	int wrong;

	if (pipe(pair) < 0 || pthread_create(&thread, NULL, write_later, NULL) != 0)
		return 1;
	wrong = wait_for_it();
	wrong += read(pair[0], &byte, 1) != 1 || byte != 'x';
	pthread_join(thread, &failed);
	close(pair[0]);
	close(pair[1]);
	return wrong + (failed != NULL);
}

static int wait_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN}, seen;
	int set = epoll_create1(0), wrong;

	wrong = epoll_ctl(set, EPOLL_CTL_ADD, pair[0], &event) != 0 ||
	        epoll_wait(set, &seen, 1, -1) != 1;
	close(set);
	return wrong;
}

static int wait_nothing(void)
{
	return 0;
}

static int waits(void)
{
	return with_writer(wait_epoll);
}

static int reads(void)
{
	return with_writer(wait_nothing);
}

static int locks(void)
{
	const struct timespec time = {.tv_nsec = 50000000};
	static int word;
	int64_t start = now_ns();
	int wrong = syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, &time, NULL, 0) != -1 ||
	            errno != ETIMEDOUT;

	return wrong + (now_ns() - start < time.tv_nsec);
}

/* All registers hold something that is looked at. */
static int works(void)
{
	uint64_t a[12] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31}, sum = 0;
	static uint64_t expected;
	double x = 1;

	for (long i = 0; i < 3000000; i++) {
		for (int k = 0; k < 12; k++)
			a[k] = a[k] * 6364136223846793005 + a[(k + 5) % 12];
		x = x * 1.0000001 + 1e-9 * (double)(a[3] & 7);
	}
	for (int k = 0; k < 12; k++)
		sum ^= a[k];
	sum ^= (uint64_t)(x * 1e12);
	if (!expected)
		expected = sum;
	return sum != expected;
}

/* Each expiration is handled, and a call of a program without handlers is not interrupted. */
static int signals(void)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	const struct itimerval timer = {.it_value.tv_usec = 1000}, none = {.it_value.tv_usec = 0};
	int wrong = 0;

	sigaction(SIGALRM, &action, NULL);
	for (int i = 1; i <= 50; i++) {
		handled = 0;
		setitimer(ITIMER_REAL, &timer, NULL);
		for (int64_t start = now_ns(); !handled && now_ns() - start < INT64_C(5000000000);)
			continue;
		wrong += handled != 1;
	}
	setitimer(ITIMER_REAL, &none, NULL);
	return wrong;
}

static int reads_clock(void)
{
	struct timespec before, now;

	clock_gettime(CLOCK_MONOTONIC, &before);
	for (int i = 0; i < 1000000; i++) {
		if (clock_gettime(CLOCK_MONOTONIC, &now) != 0 || now.tv_sec < before.tv_sec)
			return 1;
		before = now;
	}
	return 0;
}

/* ---- the data of another process ---- */

/* Larger ones are heaps. */
#define MAPPING_MOST (1UL << 26)

/* Prints the sums, or only returns 0 if a word of the data is an address of code behind our table.
 */
static int data(const char *pid, int is_printed)
{
	static uint64_t words[8192];
	char path[64], line[512], name[256], flags[8];
	unsigned long start, end, inode, behind = 0, code = 0;
	int memory, is_found = 0;

	snprintf(path, sizeof(path), "/proc/%s/mem", pid);
	memory = open(path, O_RDONLY);
	for (int turn = 0; turn < 2; turn++) {
		FILE *maps;

		snprintf(path, sizeof(path), "/proc/%s/maps", pid);
		maps = fopen(path, "r");
		while (maps && fgets(line, sizeof(line), maps)) {
			uint64_t sum = 0;

			*name = 0;
			if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %255s", &start, &end, flags,
				    &inode, name) < 4)
				continue;
			if (start == behind && flags[2] == 'x')
				code = start;
			if (strncmp(name, "/memfd:vdsocheck", 16) == 0)
				behind = end;
			if (!turn || flags[0] != 'r' || flags[2] == 'x' || flags[3] != 'p' ||
				(is_printed ? !inode : end - start > MAPPING_MOST))
				continue;
			for (unsigned long at = start; at < end; at += sizeof(words)) {
				ssize_t length = pread(memory, words,
					end - at < sizeof(words) ? end - at : sizeof(words),
					(off_t)at);

				for (size_t i = 0; (ssize_t)((i + 1) * sizeof(*words)) <= length;
					i++) {
					sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15;
					is_found |=
						code && words[i] >= code && words[i] < code + 8192;
				}
			}
			if (is_printed)
				printf("%lx %s %lx\n", start, name, (unsigned long)sum);
		}
		if (maps)
			fclose(maps);
	}
	close(memory);
	return is_printed ? 0 : !is_found;
}

static void computes(void)
{
	struct epoll_event event;
	struct timespec now;
	time_t end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (epoll_wait(epoll_create1(0), &event, 1, 60000) >= 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	end = now.tv_sec + 4;
	while (now.tv_sec < end)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

/* Older headers lack them. */
#define SET_DISPATCH 59
#define DISPATCH_ON 1

static int dispatches(void)
{
	static char selector = 0;
	unsigned long start, end, libc = (unsigned long)&nanosleep;
	char line[512], flags[8];
	FILE *maps = fopen("/proc/self/maps", "r");
	struct timespec now;
	int is_on = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	while (maps && !is_on && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s", &start, &end, flags) == 3 && libc >= start &&
			libc < end)
			is_on = prctl(SET_DISPATCH, DISPATCH_ON, start, end - start, &selector) ==
			        0;
	}
	selector = 1;
	if (is_on)
		await();
	return !is_on;
}

static const struct {
	const char *name;
	int (*once)(void);
} ways[] = {{"sleeps", sleeps}, {"polls", polls}, {"masked", masked}, {"suspends", suspends},
	{"waits", waits}, {"reads", reads}, {"locks", locks}, {"works", works},
	{"signals", signals}, {"reads_clock", reads_clock}};

int main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "";
	const long count = argc > 3 ? atol(argv[2]) : 0;
	long wrong = 0, rounds = 0;

	file = argv[argc - 1];
	if (strcmp(way, "data") == 0 || strcmp(way, "led") == 0)
		return data(file, *way == 'd');
	if (strcmp(way, "executes") == 0) {
		await();
		unlink(file);
		execl(argv[0], argv[0], "counts", argv[2], file, (char *)NULL);
	}
	if (strcmp(way, "computes") == 0)
		return computes(), 0;
	if (strcmp(way, "dispatches") == 0)
		return dispatches();
	if (count) {
		(*way == 'c' ? counts : *way == 'f' ? forks : *way == 'l' ? late : hides)(count);
		unlink(file);
		for (;;)
			pause();
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(way, ways[i].name) != 0)
			continue;
		do {
			wrong += ways[i].once();
			rounds++;
		} while (!is_there());
		printf("%ld\n", wrong);
		fprintf(stderr, "%ld rounds\n", rounds);
		return 0;
	}
	return 2;
}
