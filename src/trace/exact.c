/* SPDX-License-Identifier: MIT */
/*
 * Counts the calls of a running process into the vDSO. C libraries and runtimes look its functions
 * up once, and keep their addresses in variables: these words of the process are replaced by the
 * addresses of jumps to our stubs, and are set back at the end. Nothing is stopped for that, so no
 * word is written that its program may be about to write: only the data of the files that it has
 * loaded, pages that it has made read-only included, never stacks or the heap.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "base/text.h"
#include "count.h"
#include "files.h"
#include "places.h"
#include "served.h"

/* A larger mapping is not searched: its file has not that much data. */
#define DATA_MOST (UINT64_C(1) << 30)

/* More than is in the lines of /proc that are read. */
#define LINE_SIZE 4096

struct exact {
	struct trace_source source;
	struct trace_run *run;
	int memory; /* of the program that the process runs: after an execve(2) it is empty */
	int lock;
	uint64_t child_time; /* when counting began */
	struct served_words words;
	struct served_table *table;
};

/* ---- the words ---- */

static int64_t replace_in(int memory, const struct mapping *map, size_t count, const uint64_t *from,
	const uint64_t *to)
{
	static uint64_t words[8192];
	int64_t found = 0;

	for (uint64_t at = map->start; at < map->end; at += sizeof(words)) {
		const uint64_t left = map->end - at;
		const size_t size = left < sizeof(words) ? (size_t)left : sizeof(words);
		const ssize_t length = pread(memory, words, size, (off_t)at);

		for (size_t i = 0; (ssize_t)((i + 1) * sizeof(*words)) <= length; i++) {
			for (size_t k = 0; k < count; k++) {
				const off_t place = (off_t)(at + i * sizeof(*words));

				if (words[i] == from[k] &&
					pwrite(memory, &to[k], sizeof(to[k]), place) < 0)
					return -errno;
				found += words[i] == from[k] || words[i] == to[k];
			}
		}
	}
	return found;
}

/*
 * The data of a file with code follows that code, and what follows the data without a file are
 * variables that begin as 0. Of several mappings of a file that are read-only, the last is what the
 * loader wrote to before it made it so (RELRO).
 */
int64_t served_replace(
	int memory, struct span maps, size_t count, const uint64_t *from, const uint64_t *to)
{
	struct mapping map, next;
	bool has_next = maps_next(&maps, &next);
	uint64_t code = 0, end = 0;
	int64_t found = 0, sum = 0;

	while (found >= 0 && has_next) {
		bool is_data;

		map = next;
		has_next = maps_next(&maps, &next);
		if (map.executable && map.inode)
			code = map.inode;
		is_data = !map.executable && !map.is_shared && map.readable &&
		          (map.inode ? map.inode == code : map.start == end && !map.path.length) &&
		          map.end - map.start <= DATA_MOST;
		end = is_data && map.writable ? map.end : 0;
		if (has_next && !map.writable && !next.writable && !next.executable &&
			map.inode == next.inode)
			is_data = false;
		found = is_data ? replace_in(memory, &map, count, from, to) : 0;
		sum += found;
	}
	return found < 0 ? found : sum;
}

static int64_t replace_all(const struct exact *exact, const uint64_t *from, const uint64_t *to)
{
	const struct span maps = maps_read(exact->run->trace->program.pid);
	const int64_t result = served_replace(exact->memory, maps, exact->words.count, from, to);

	span_free(maps);
	return result;
}

/* It ends, and the thread has no tracer then. Returns as replace_all() does. */
static int64_t write_as_tracer(const struct exact *exact, const uint64_t *from, const uint64_t *to)
{
	const pid_t thread = served_find_thread(exact->run->trace->program.pid);
	struct exact traced = *exact;
	char path[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), "/proc/%d/mem", thread);
	traced.memory = open(path, O_RDWR | O_CLOEXEC);
	if (traced.memory < 0 || ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0)
		return -errno;
	return replace_all(&traced, from, to);
}

/*
 * A kernel may let nobody but the tracer of a thread write to pages that it may not write to itself
 * (proc_mem_foll_force() of fs/proc/base.c since 6.12, as that of Debian 7.3 does). Neither being
 * seized nor the end of its tracer, which is a child, stops the thread.
 */
static int64_t replace(const struct exact *exact, const uint64_t *from, const uint64_t *to)
{
	int64_t count = replace_all(exact, from, to), *shared;
	struct fact why = {0};
	pid_t child;

	if (count != -EIO || !(shared = child_share(sizeof(*shared), &why)))
		return count;
	*shared = count;
	child = fork();
	if (child == 0) {
		*shared = write_as_tracer(exact, from, to);
		_exit(0);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
	count = *shared;
	child_unshare(shared, sizeof(*shared));
	return count;
}

/* ---- the source ---- */

static void exact_start(struct trace_source *source)
{
	const struct exact *exact = (struct exact *)source;

	(void)replace(exact, exact->words.function, exact->words.jump);
}

/* Returns the CPU time of the children that it waited for, in ticks. */
static uint64_t read_child_time(pid_t pid)
{
	struct span line = proc_read(pid, "stat", LINE_SIZE), word;
	const char *name_end = line.length ? memrchr(line.at, ')', line.length) : NULL;
	struct span rest = {name_end, name_end ? line.length - (size_t)(name_end - line.at) : 0};
	uint64_t ticks = 0, sum = 0;

	/* In user and kernel mode: the 16th and 17th word, the name is the second. */
	for (int i = 2; i <= 17 && text_next_word(&rest, &word); i++) {
		if (i >= 16 && number_parse(word, &ticks))
			sum += ticks;
	}
	span_free(line);
	return sum;
}

/* Its children have the counters, too, and a CPU time of their own. */
static bool has_children(const struct exact *exact, pid_t pid)
{
	char name[64];
	struct span line;
	bool has_some;

	snprintf(name, sizeof(name), "task/%d/children", pid);
	line = proc_read(pid, name, LINE_SIZE);
	has_some = line.length || read_child_time(pid) != exact->child_time;
	span_free(line);
	return has_some;
}

static void forget(struct exact *exact)
{
	served_drop(exact->run->trace, exact->table);
	close(exact->memory);
	close(exact->lock);
	free(exact);
}

/*
 * The memory of a process that has ended, or executed another program, is empty, and its last map
 * is that of the beginning.
 */
static void exact_finish(struct trace_source *source)
{
	struct exact *exact = (struct exact *)source;
	struct trace_evidence *trace = exact->run->trace;
	const uint64_t *functions = exact->words.function;
	const pid_t pid = trace->program.pid;
	uint64_t word;

	if (pread(exact->memory, &word, sizeof(word), (off_t)*exact->words.jump) > 0) {
		const int64_t late = replace(exact, functions, functions);

		trace_miss(&trace->missed, MISSED_POINTERS, late > 0 ? (uint64_t)late : 0,
			"they were looked up after counting began");
		(void)replace(exact, exact->words.jump, functions);
		served_end(trace, exact->table, pid);
	} else if (process_is_there(pid)) {
		trace_miss(&trace->missed, MISSED_PROGRAMS, 1,
			"it executed another program, and --count counts the first one alone");
	}
	trace->cpu_is_partial |= has_children(exact, pid);
	forget(exact);
}

/* ---- its begin ---- */

/* The kernel asks for the permission to trace, and Yama may ask for more. */
static void explain_memory(pid_t pid, int error, struct fact *why)
{
	static const char yama[] = "/proc/sys/kernel/yama/ptrace_scope";
	struct span text = files_take(open(yama, O_RDONLY | O_CLOEXEC), 16);
	uint64_t scope = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	number_parse(text_trim(text), &scope);
	span_free(text);
	if (error != EACCES && error != EPERM)
		fact_set_errno(why, error, path);
	else if (!scope)
		fact_set(why, FACT_DENIED,
			"it needs root, or a process of one's own with one's own privileges");
	else
		fact_set(why, FACT_DENIED, "%s is %d: %s", yama, (int)scope,
			scope > 2 ? "no process may be traced"
				  : "it needs root, or 'sysctl kernel.yama.ptrace_scope=0'");
}

/* Two that lead to stubs of their own would set each other's words. */
static bool lock(struct exact *exact, pid_t pid, struct fact *why)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	exact->lock = open(path, O_RDONLY | O_CLOEXEC);
	if (exact->lock >= 0 && flock(exact->lock, LOCK_EX | LOCK_NB) == 0)
		return true;
	if (errno == EWOULDBLOCK)
		fact_set(why, FACT_DENIED, "another vdsocheck counts its calls");
	else
		fact_set_errno(why, errno, path);
	return false;
}

static bool exact_begin(struct exact *exact, pid_t pid, struct fact *why)
{
	const uint64_t *functions = exact->words.function;
	const pid_t thread = served_find_thread(pid);
	int file = -1;
	int64_t count;
	char path[32];

	if (!thread) {
		fact_set(why, FACT_DENIED,
			"no thread of it can be stopped: they wait in the kernel");
		return false;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", thread);
	exact->memory = open(path, O_RDWR | O_CLOEXEC);
	if (exact->memory < 0) {
		explain_memory(pid, errno, why);
		return false;
	}
	if (served_has_limited_space(pid, why) || !served_attach(thread, &file, &exact->words, why))
		return false;
	exact->table = served_begin(file, thread);
	exact->child_time = read_child_time(pid);
	served_lock(exact->table);
	/* Each word's own value is written first: what refuses is found before anything changes. */
	count = replace(exact, functions, functions);
	if (count == -EIO)
		fact_set(why, FACT_DENIED,
			"the kernel lets nobody write to read-only pages (boot parameter "
			"proc_mem.force_override=never)");
	else if (count < 0)
		fact_set_errno(why, (int)-count, "writing to its memory");
	else if (count + replace(exact, exact->words.jump, exact->words.jump) == 0)
		fact_set(why, FACT_ABSENT,
			"its data has no pointer to a function of the vDSO: it has not looked "
			"one up yet, or keeps it elsewhere");
	else
		return true;
	return false;
}

bool trace_exact_open(struct trace_run *run)
{
	struct trace_evidence *trace = run->trace;
	struct exact *exact = xcalloc(1, sizeof(*exact));
	const pid_t pid = trace->program.pid;

	exact->source = (struct trace_source){.start = exact_start, .finish = exact_finish};
	exact->run = run;
	exact->memory = -1;
	if (lock(exact, pid, &trace->served) && exact_begin(exact, pid, &trace->served)) {
		served_know_go(exact->table, trace->program.go);
		fact_set_known(&trace->served);
		run->privileges |= PRIVILEGES(CAP_SYS_PTRACE); /* to read memory maps */
		trace_run_add(run, &exact->source);
		return true;
	}
	forget(exact);
	return false;
}
