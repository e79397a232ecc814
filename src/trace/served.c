/* SPDX-License-Identifier: MIT */
/*
 * Keeps the tables of a run. Each executed program has one, which its threads and forked children
 * share; when the last of them has ended, its counts are added to those of the run. A program that
 * cannot be counted is noted with the reason, and runs as without us.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/text.h"
#include "measure/vdso.h"
#include "places.h"
#include "served.h"

struct served_table {
	int file;
	size_t users;     /* threads */
	bool is_locked;   /* by the stubs */
	struct span maps; /* owned: the memory map when it was last read */
	unsigned threads; /* that were started */
	size_t perf_map;  /* of the code that was made at run time, in trace->places; 0: none */
};

uint64_t served_count_filters(pid_t pid)
{
	return status_number(pid, "Seccomp", 0)
	               ? status_number(pid, "Seccomp_filters", SERVED_SOME_FILTERS)
	               : 0;
}

static bool may_have_own_filter(pid_t pid, uint64_t around, struct fact *why)
{
	const uint64_t its = served_count_filters(pid);

	if (its <= around)
		return false;
	fact_set(why, FACT_DENIED, "%s",
		its != SERVED_SOME_FILTERS || !around
			? "it has a seccomp filter of its own, which only root can suspend"
			: "whether it has a seccomp filter of its own is not known before Linux "
			  "5.9");
	return true;
}

/* The counters take address space, which a program that limits it may need. */
static bool has_limited_space(pid_t pid, struct fact *why)
{
	static const char unlimited[] = "\nMax address space         unlimited ";
	struct span limits = proc_read(pid, "limits", SERVED_PAGE);
	bool is_limited = limits.length &&
	                  !memmem(limits.at, limits.length, unlimited, sizeof(unlimited) - 1);

	span_free(limits);
	if (is_limited)
		fact_set(why, FACT_DENIED, "its address space is limited (ulimit -v)");
	return is_limited;
}

/* Makes the calls that served_inject() makes, which sees what they return. */
static void try_calls(void *unused)
{
	int file = memfd_create("vdsocheck", MFD_CLOEXEC);
	void *page =
		mmap(NULL, SERVED_PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	if (page != MAP_FAILED)
		munmap(page, SERVED_PAGE);
	if (file >= 0)
		close(file);
}

bool served_is_harmless(struct fact *why)
{
	struct deadline deadline = deadline_after(CHILD_PROBE_NS);
	struct fact reason;

	if (!served_count_filters(0) || child_run(try_calls, NULL, NULL, &deadline, &reason))
		return true;
	*why = reason;
	return false;
}

static void read_map(struct served_table *table, pid_t pid)
{
	struct span maps = maps_read(pid);

	/* The map of a process that has ended is empty. */
	if (!maps.length)
		return;
	span_free(table->maps);
	table->maps = maps;
}

enum injected served_open(
	struct trace_evidence *trace, pid_t thread, uint64_t around, struct served_table **table)
{
	enum injected result = INJECTED_NOT;
	int file = -1;

	*table = NULL;
	if (!may_have_own_filter(thread, around, &trace->uncounted_why) &&
		!has_limited_space(thread, &trace->uncounted_why))
		result = served_inject(trace, thread, &file, &trace->uncounted_why);
	if (result == INJECTED) {
		fact_set_known(&trace->served);
		*table = xcalloc(1, sizeof(**table));
		(*table)->file = file;
		(*table)->users = 1;
		read_map(*table, thread);
	} else if (result != INJECTED_GONE) {
		trace->uncounted++;
		if (!fact_is_known(&trace->served))
			trace->served = trace->uncounted_why;
	}
	return result;
}

/* Says whether there is code of no file beside our stubs. */
static bool makes_code(struct span maps)
{
	static const char code[] = "xp 00000000 00:00 0 \n";
	const char *first = memmem(maps.at, maps.length, code, sizeof(code) - 1);
	const char *behind = first ? first + sizeof(code) - 1 : NULL;

	return first &&
	       memmem(behind, maps.length - (size_t)(behind - maps.at), code, sizeof(code) - 1);
}

void served_end(struct trace_evidence *trace, struct served_table *table, pid_t pid)
{
	read_map(table, pid);
	if (table->maps.length && makes_code(table->maps))
		table->perf_map = places_open_map(&trace->places, pid);
}

struct span served_maps(const struct served_table *table)
{
	return table ? table->maps : (struct span){NULL, 0};
}

/* ---- libraries ---- */

/* Functions that read the clock for a program, behind those that they call. */
static const char *const wrappers[] = {
	/* libstdc++ and libc++, Abseil, GLib */
	"_ZNSt*_clock3nowEv", "_ZN4absl*19GetCurrentTimeNanosEv", "_ZN4absl*3NowEv",
	"g_get_monotonic_time", "g_get_real_time", "g_get_current_time",
	/* libuv, V8 */
	"uv__hrtime", "uv_hrtime", "_ZN2v84base*3NowEv",
	/* Rust, whose symbols are mangled in two ways */
	"_ZN3std3sys*3now17h*E", "_R*_3std3sys*3now", "_ZN3std4time*3now17h*E",
	"_R*_3std4time*3now", "_ZN3std4time*7elapsed17h*E", "_R*_3std4time*7elapsed",
	/* HotSpot */
	"_ZN2os*javaTime*", "_ZN2os15elapsed_counterEv", "JVM_NanoTime", "JVM_CurrentTimeMillis",
	/* CPython */
	"py_get_*", "_PyTime_Get*", "_PyTime_*Unchecked", "PyTime_*",
	/* Go */
	"runtime.nanotime1*", "runtime.walltime1*", "time.now", "runtime.nanotime",
	"runtime.walltime", "time.runtimeN*", "*.runtime_nanotime", "time.Now", "time.Since",
	"time.Until", NULL};

/* The libraries that have them. A program may have them in its own file. */
static const char *const languages[] = {"libstdc++.so.", "libc++.so.", "libuv.so.", "libnode.so.",
	"libglib-2.0.so.", "libstd-", "libjvm.so", "libpython3", NULL};

#define MAPPED_MOST 8
#define PATH_SIZE 256

/* Finds the first lines of the C library, or of a static program, and of all that have wrappers. */
static size_t find_libraries(struct span maps, struct mapping *mapped)
{
	struct mapping line, program = {.inode = 0};
	size_t count = 1;

	mapped[0].inode = 0;
	while (maps_next(&maps, &line)) {
		if (!line.inode || line.offset || line.path.length >= PATH_SIZE)
			continue;
		if (!program.inode)
			program = line;
		if (files_is_c_library(line.path))
			mapped[0] = line;
		else if (files_is_named(line.path, languages) && count < MAPPED_MOST - 1)
			mapped[count++] = line;
	}
	mapped[mapped[0].inode ? count++ : 0] = program;
	return program.inode ? count : 0;
}

/* The C library's functions of each call, a caller behind those that it calls. */
static const char *const functions[SERVED_CALL_COUNT][6] = {
	[SERVED_CLOCK_GETTIME] = {"clock_gettime", "gettimeofday", "time", "timespec_get", "clock"},
	[SERVED_GETTIMEOFDAY] = {"gettimeofday"},
	[SERVED_TIME] = {"time"},
	[SERVED_CLOCK_GETRES] = {"clock_getres"},
	[SERVED_GETCPU] = {"sched_getcpu"},
};

/*
 * The files that were looked at last, in memory that the children share which look at them; their
 * number is that of a shell and what it starts.
 */
#define LIBRARIES 32
struct libraries {
	size_t count, read;
	struct library {
		char path[PATH_SIZE];
		uint64_t inode;
		bool is_c; /* or a static program */
		struct served_frame frames[SERVED_CALL_COUNT][SERVED_FRAMES];
	} list[LIBRARIES];
};

/* Files that take longer to search have no frames. */
#define LIBRARIES_NS (2 * NS_PER_SECOND)

/* Adds frames behind those that a call has, if it does not have them. */
static void add_frames(struct served_frame *to, const struct served_frame *from, uint64_t load)
{
	size_t at = 0;

	while (at < SERVED_FRAMES - 1 && to[at].size && to[at].start != from->start + load)
		at++;
	if (to[at].size)
		return;
	for (; at < SERVED_FRAMES - 1 && from->size; at++, from++) {
		to[at] = *from;
		to[at].start += load;
	}
}

/* A shared C library has the symbols that others use. Wrappers make the first three calls. */
static void read_library(struct library *library)
{
	struct served_frame wrapped[SERVED_FRAMES] = {{.size = 0}};
	struct frame_names wanted[1 + SERVED_CALL_COUNT] = {{wrappers, true, wrapped}};
	struct code_file code;
	bool has_own;

	if (!code_open(0, library->path, library->inode, &code))
		return;
	has_own = library->is_c && elf_section(&code.elf, ".dynsym");
	for (size_t call = 0; call < SERVED_CALL_COUNT; call++)
		wanted[1 + call] =
			(struct frame_names){functions[call], false, library->frames[call]};
	frames_find(&code.elf, has_own ? &code.elf : &code.symbols, wanted,
		library->is_c ? ARRAY_SIZE(wanted) : 1);
	for (size_t call = 0; call <= SERVED_TIME; call++)
		add_frames(library->frames[call], wrapped, 0);
}

/* The files are those of programs that may be hostile, and may be slow to search. */
static void read_libraries(void *argument)
{
	struct libraries *libraries = argument;

	for (; libraries->read < libraries->count; libraries->read++)
		read_library(&libraries->list[libraries->read % LIBRARIES]);
}

static struct library *find_library(struct libraries *libraries, const struct mapping *line)
{
	for (size_t i = 0; i < LIBRARIES; i++) {
		if (libraries->list[i].inode == line->inode &&
			text_equals(line->path, libraries->list[i].path))
			return &libraries->list[i];
	}
	return NULL;
}

/* Has one child read the files that are new. */
static void find_new(struct libraries *libraries, const struct mapping *mapped, size_t count)
{
	struct deadline deadline = deadline_after(LIBRARIES_NS);
	struct library *library;
	struct fact why;

	for (size_t i = 0; i < count; i++) {
		if (find_library(libraries, &mapped[i]))
			continue;
		library = &libraries->list[libraries->count++ % LIBRARIES];
		*library = (struct library){.inode = mapped[i].inode, .is_c = i == 0};
		memcpy(library->path, mapped[i].path.at, mapped[i].path.length);
	}
	if (libraries->read < libraries->count)
		(void)child_run(read_libraries, NULL, libraries, &deadline, &why);
	libraries->read = libraries->count;
}

/* Threads may be reading the frames, which have no effect without their size: it is behind start.
 */
void served_learn(struct served_table *table, pid_t pid)
{
	static struct libraries *libraries;
	struct served_frame frames[SERVED_CALL_COUNT][SERVED_FRAMES];
	struct mapping mapped[MAPPED_MOST];
	const struct library *library;
	struct fact why;
	size_t count;

	read_map(table, pid);
	count = find_libraries(table->maps, mapped);
	if (!libraries)
		libraries = child_share(sizeof(*libraries), &why);
	if (!libraries || pread(table->file, frames, sizeof(frames),
				  offsetof(struct served_head, frames)) != sizeof(frames))
		return;
	find_new(libraries, mapped, count);
	for (size_t i = 0; i < count; i++) {
		library = find_library(libraries, &mapped[i]);
		for (size_t call = 0; library && call < SERVED_CALL_COUNT; call++)
			add_frames(frames[call], library->frames[call], mapped[i].start);
	}
	(void)!pwrite(table->file, frames, sizeof(frames), offsetof(struct served_head, frames));
}

void served_learn_thread(struct served_table *table, pid_t pid)
{
	/* At the first, second, fourth and so on. */
	if (table && !(table->threads & (table->threads + 1)))
		served_learn(table, pid);
	if (table)
		table->threads++;
}

/* ---- the users and the counts ---- */

void served_lock(struct served_table *table)
{
	static const uint32_t locked = 1;

	if (!table || table->is_locked)
		return;
	table->is_locked = true;
	(void)!pwrite(table->file, &locked, sizeof(locked), SERVED_SHARED_AT);
}

struct served_table *served_share(struct served_table *table)
{
	if (table)
		table->users++;
	served_lock(table);
	return table;
}

/* clock_getres() of these clocks is always a system call, and is counted as one. */
static bool is_passed_on(uint64_t call, uint64_t clock)
{
	static const uint32_t in_vdso = 1U << CLOCK_REALTIME | 1U << CLOCK_MONOTONIC |
	                                1U << CLOCK_MONOTONIC_RAW | 1U << CLOCK_REALTIME_COARSE |
	                                1U << CLOCK_MONOTONIC_COARSE | 1U << CLOCK_BOOTTIME |
	                                1U << CLOCK_TAI;

	return call == SERVED_CLOCK_GETRES && !(in_vdso >> clock & 1);
}

static void add_calls(struct trace_evidence *trace, const struct served_table *table,
	const struct maps *maps, uint64_t call_and_clock, uint64_t address, uint64_t count)
{
	uint64_t number = call_and_clock / SERVED_CLOCKS;
	const struct trace_call *call =
		count && number < SERVED_CALL_COUNT
			? trace_plan_call(trace->request->plan, served_calls[number].name)
			: NULL;
	size_t row;

	if (!call)
		return;
	row = trace_plan_row(trace->request->plan, call, call_and_clock % SERVED_CLOCKS);
	if (!is_passed_on(number, call_and_clock % SERVED_CLOCKS))
		trace->vdso_calls[row] += count;
	places_add(&trace->places, row, count, maps, table->perf_map, address);
}

/* Most pages of a table are holes, which no stub has written to. */
static void add_table(
	struct trace_evidence *trace, const struct served_table *table, const struct maps *maps)
{
	struct served_entry entries[SERVED_PAGE / sizeof(struct served_entry)];
	struct served_head head;

	if (pread(table->file, &head, sizeof(head), 0) != sizeof(head))
		return;
	for (size_t call = 0; call < SERVED_CALL_COUNT; call++)
		trace->refused += head.refused[call];
	for (size_t i = 0; i < ARRAY_SIZE(head.overflows); i++)
		add_calls(trace, table, maps, i, 0, head.overflows[i]);
	for (off_t at = SERVED_SHARDS_AT; (at = lseek(table->file, at, SEEK_DATA)) >= 0;
		at += SERVED_PAGE) {
		if (pread(table->file, entries, sizeof(entries), at) != sizeof(entries))
			return;
		for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
			add_calls(trace, table, maps, entries[i].key & 255, entries[i].key >> 16,
				entries[i].count);
	}
}

bool served_drop(struct trace_evidence *trace, struct served_table *table)
{
	struct maps maps;

	if (!table || --table->users)
		return !table;
	maps = maps_parse(table->maps);
	add_table(trace, table, &maps);
	maps_free(&maps);
	close(table->file);
	span_free(table->maps);
	free(table);
	return true;
}
