/* SPDX-License-Identifier: MIT */
/*
 * Starts `vdsocheck compare` again and again, kills one of its processes (or several) at a
 * random moment with a random signal, waits until all are gone, and checks whether the
 * clocksource is as it was. Works on a fake root and, in a guest, on the kernel's own.
 *
 *   kills VDSOCHECK ROOT COUNT SEED
 *
 * Last line: "N passed, N failed, N skipped"; a kill that came too late to hit is done again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CURRENT "sys/devices/system/clocksource/clocksource0/current_clocksource"
#define PROCESS_MAX 64
#define SECONDS_TO_END 40
#define NS_PER_SECOND 1000000000LL

static const struct {
	int number;
	const char *name;
} signals[] = {{SIGINT, "INT"}, {SIGTERM, "TERM"}, {SIGHUP, "HUP"}, {SIGQUIT, "QUIT"},
	{SIGSEGV, "SEGV"}, {SIGKILL, "KILL"}, {SIGKILL, "KILL"}};

enum victim {
	VICTIM_PARENT,
	VICTIM_GUARDIAN,
	VICTIM_WORKER,
	VICTIM_MEASURER, /* a child of the worker */
	VICTIM_ALL_BUT_GUARDIAN,
	VICTIM_GROUP, /* the parent's process group, as a terminal does it */
	VICTIM_COUNT,
};

static const char *const victim_names[] = {
	"parent", "guardian", "worker", "measurer", "all but the guardian", "process group"};

struct process {
	pid_t pid;
	pid_t parent;
	pid_t session;
};

static char current_path[PATH_MAX], lock_path[PATH_MAX];
static const char *program;
static const char *root;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static void sleep_ms(long ms)
{
	struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&left, NULL);
}

/* ---- processes ---- */

static bool read_process(const char *pid, struct process *process)
{
	char path[64], line[512], *after;
	FILE *stat;
	bool read_it;

	snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	stat = fopen(path, "r");
	if (!stat)
		return false;
	read_it = fgets(line, sizeof(line), stat) != NULL;
	fclose(stat);
	after = read_it ? strrchr(line, ')') : NULL;
	process->pid = (pid_t)atoi(pid);
	return after && sscanf(after, ") %*c %d %*d %d", &process->parent, &process->session) == 2;
}

static size_t list_processes(struct process all[PROCESS_MAX], pid_t ancestor)
{
	static struct process every[4096];
	size_t found = 0, count = 0;
	DIR *directory = opendir("/proc");
	struct dirent *entry;

	while (directory && (entry = readdir(directory)) && count < 4096)
		count += atoi(entry->d_name) > 0 && read_process(entry->d_name, &every[count]);
	if (directory)
		closedir(directory);
	all[found++] = (struct process){.pid = ancestor, .session = getsid(ancestor)};
	for (size_t i = 0; i < found; i++) {
		for (size_t k = 0; k < count && found < PROCESS_MAX; k++) {
			if (every[k].parent == all[i].pid)
				all[found++] = every[k];
		}
	}
	return found;
}

static bool is_victim(
	const struct process *process, enum victim victim, pid_t parent, pid_t session)
{
	bool is_parent = process->pid == parent;
	bool is_child = process->parent == parent;
	bool is_guardian = is_child && process->session != session;

	switch (victim) {
	case VICTIM_PARENT:
	case VICTIM_GROUP:
		return is_parent;
	case VICTIM_GUARDIAN:
		return is_guardian;
	case VICTIM_WORKER:
		return is_child && !is_guardian;
	case VICTIM_MEASURER:
		return !is_parent && !is_child;
	default:
		return !is_guardian;
	}
}

/* How many were hit. */
static unsigned hit(enum victim victim, int signal_number, pid_t parent)
{
	struct process all[PROCESS_MAX];
	size_t count = list_processes(all, parent);
	pid_t session = getsid(parent);
	unsigned hits = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_victim(&all[i], victim, parent, session))
			continue;
		if (kill(victim == VICTIM_GROUP ? -all[i].pid : all[i].pid, signal_number) == 0)
			hits++;
	}
	return hits;
}

/* ---- the clocksource ---- */

static bool read_current(char name[64])
{
	int file = open(current_path, O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? -1 : read(file, name, 63);

	if (file >= 0)
		close(file);
	if (got <= 0)
		return false;
	name[got] = '\0';
	name[strcspn(name, "\n")] = '\0';
	return true;
}

/* No process that may still switch is left once the lock is free. */
static bool await_unlocked(void)
{
	int64_t late = now_ns() + SECONDS_TO_END * NS_PER_SECOND;
	int file = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	bool free_now;

	while (!(free_now = flock(file, LOCK_EX | LOCK_NB) == 0) && now_ns() < late)
		sleep_ms(2);
	close(file);
	return free_now;
}

/* ---- one kill ---- */

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	setpgid(0, 0);
	if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
		execl(program, program, "compare", "--yes", NULL);
	_exit(127);
}

/* One that was not hit to death goes on to its end. */
static void await(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	/* Orphans came to us. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* The shortest of a few: on a busy machine one may take many times as long. */
static long measure_whole_run(void)
{
	int64_t least_ns = INT64_MAX;

	for (int i = 0; i < 3; i++) {
		int64_t start_ns = now_ns();

		await(start());
		if (now_ns() - start_ns < least_ns)
			least_ns = now_ns() - start_ns;
	}
	return (long)(least_ns / 1000000);
}

static bool is_restored(const char *original, enum victim victim, const char *signal_name, long ms)
{
	char name[64] = "";

	if (!await_unlocked())
		printf("  FAILED  %s, SIG%s after %ld ms: the lock is still held\n",
			victim_names[victim], signal_name, ms);
	else if (!read_current(name) || strcmp(name, original) != 0)
		printf("  FAILED  %s, SIG%s after %ld ms: '%s', not '%s'\n", victim_names[victim],
			signal_name, ms, name, original);
	else
		return true;
	return false;
}

/* -1: the victim was not there to be hit; 0: not restored; 1: restored. */
static int kill_once(const char *original, long whole_ms, size_t turn, bool *was_switched)
{
	enum victim victim = (enum victim)(turn % VICTIM_COUNT);
	size_t which = (turn / VICTIM_COUNT) % (sizeof(signals) / sizeof(signals[0]));
	long ms = random() % (whole_ms + 1);
	char name[64] = "";
	pid_t parent = start();
	unsigned hits;

	sleep_ms(ms);
	hits = hit(victim, signals[which].number, parent);
	*was_switched = hits && read_current(name) && strcmp(name, original) != 0;
	await(parent);
	if (!is_restored(original, victim, signals[which].name, ms))
		return 0;
	await(parent);
	return hits ? 1 : -1;
}

static void set_up(char *const *arguments)
{
	program = arguments[1];
	root = arguments[2];
	srandom((unsigned)strtoul(arguments[4], NULL, 10));
	snprintf(current_path, sizeof(current_path), "%s/" CURRENT, root);
	snprintf(lock_path, sizeof(lock_path), "%s/run/vdsocheck-compare", root);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

int main(int argc, char **argv)
{
	unsigned counts[2] = {0, 0}, switched = 0;
	size_t wanted, turn = 0, misses = 0;
	char original[64];
	long whole_ms;

	if (argc != 5) {
		fputs("usage: kills VDSOCHECK ROOT COUNT SEED\n", stderr);
		return 2;
	}
	set_up(argv);
	wanted = strtoul(argv[3], NULL, 10);
	if (!read_current(original)) {
		printf("0 passed, 0 failed, %zu skipped\n", wanted);
		return 1;
	}
	whole_ms = measure_whole_run();
	printf("seed %s, a whole run takes %ld ms\n", argv[4], whole_ms);
	while (turn < wanted && misses < 20 * wanted) {
		bool was_switched;
		int result = kill_once(original, whole_ms, turn, &was_switched);

		if (result < 0) {
			misses++;
			continue;
		}
		counts[result]++;
		switched += was_switched;
		turn++;
	}
	printf("%u of them while another clocksource was in use\n", switched);
	printf("%u passed, %u failed, %zu skipped\n", counts[1], counts[0], wanted - turn);
	return counts[0] ? 1 : 0;
}
