/* SPDX-License-Identifier: MIT */
/*
 * Counts system calls by BPF programs at the kernel's tracepoint sys_enter: those of the whole
 * host, of a program or of a running process, which are not stopped for it. The programs add up in
 * arrays that are read again and again: each time, what their counts have more than the last time
 * is added to the evidence, so that no count is lost or taken twice while calls go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/privileges.h"
#include "count.h"
#include "events.h"
#include "events_code.h"
#include "files.h"
#include "places.h"

/* Older headers lack it. */
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* Reading all counts again may take so much of our time. */
#define READING_PART 20
#define READING_LEAST_NS 100000000

#define PROCESS_FLAGS 4096

/* What /proc/self/fdinfo says of a program has 300 bytes. */
#define PROGRAM_TEXT_SIZE 4096

struct trace_events {
	struct trace_source source;
	struct trace_run *run;              /* that has the source; NULL: none */
	uint64_t values[EVENT_VALUE_COUNT]; /* for the programs */
	uint32_t cpus;                      /* elements of EVENT_COUNTS, a power of two */
	int loaded[EVENT_TRACEPOINT_COUNT], links[EVENT_TRACEPOINT_COUNT]; /* open files */
	size_t map_count, loaded_count, link_count;
	size_t rows[EVENT_INDEXES];    /* of the plan */
	struct event_counts *mapped;   /* of each of cpus; NULL: they are not */
	struct event_counts counts;    /* of a CPU, as they were read */
	struct event_counts *seen;     /* of each of cpus, as they were the last time */
	uint64_t reading;              /* the number of the last one */
	uint64_t taken;                /* EVENT_TAKEN at that time */
	bool has_slots[PROCESS_FLAGS]; /* by process ID: it may have some */
	int64_t next_ns;               /* time of the next reading, by CLOCK_MONOTONIC */
};

static uint64_t to_number(const void *pointer)
{
	return (uintptr_t)pointer;
}

/*
 * Kernels before 5.11 refuse what exceeds a limit that is small by default. A program that we start
 * has the former limit.
 */
static long call_bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
	struct rlimit before, most = {RLIM_INFINITY, RLIM_INFINITY};
	long result = syscall(SYS_bpf, command, attributes, sizeof(*attributes));

	if (result < 0 && errno == EPERM && getrlimit(RLIMIT_MEMLOCK, &before) == 0 &&
		setrlimit(RLIMIT_MEMLOCK, &most) == 0) {
		result = syscall(SYS_bpf, command, attributes, sizeof(*attributes));
		setrlimit(RLIMIT_MEMLOCK, &before);
	}
	return result;
}

/* Returns the version of the kernel, in the form of KERNEL(6, 12). */
#define KERNEL(major, minor) ((major) << 16 | (minor))
static unsigned long kernel_version(void)
{
	struct utsname names = {.release = ""};
	unsigned long major;
	char *rest;

	uname(&names);
	major = strtoul(names.release, &rest, 10);
	return KERNEL(major, *rest ? strtoul(rest + 1, NULL, 10) : 0);
}

/* Since then a thread may be preempted in a program at a raw tracepoint, and in bpf(2), too. */
#define PREEMPTS KERNEL(7, 0)

/* ---- maps ---- */

static bool make_maps(struct trace_events *events)
{
	const union bpf_attr maps[EVENT_MAP_COUNT] = {
		[EVENT_NUMBERS] = {.map_type = BPF_MAP_TYPE_ARRAY,
			.key_size = sizeof(uint32_t),
			.value_size = sizeof(uint64_t),
			.max_entries = EVENT_NUMBER_COUNT},
		[EVENT_COUNTS] = {.map_type = BPF_MAP_TYPE_ARRAY,
			.key_size = sizeof(uint32_t),
			.value_size = sizeof(struct event_counts),
			.map_flags = kernel_version() >= PREEMPTS ? BPF_F_MMAPABLE : 0,
			.max_entries = events->cpus},
		[EVENT_FOLLOWED] = {.map_type = BPF_MAP_TYPE_HASH,
			.key_size = sizeof(uint64_t),
			.value_size = sizeof(uint64_t),
			.max_entries = EVENT_FOLLOWED_MAX},
	};

	while (events->map_count < EVENT_MAP_COUNT) {
		union bpf_attr attributes = maps[events->map_count];
		long map = call_bpf(BPF_MAP_CREATE, &attributes);

		if (map < 0)
			return false;
		events->values[events->map_count++] = (uint64_t)map;
	}
	if (maps[EVENT_COUNTS].map_flags & BPF_F_MMAPABLE) {
		void *mapped = mmap(NULL, events->cpus * sizeof(*events->mapped), PROT_READ,
			MAP_SHARED, (int)events->values[EVENT_COUNTS], 0);

		events->mapped = mapped == MAP_FAILED ? NULL : mapped;
	}
	return true;
}

/* Reads or writes an element of an array. False: see errno. */
static bool use_array(const struct trace_events *events, enum event_value map, enum bpf_cmd command,
	uint32_t index, void *value)
{
	union bpf_attr attributes = {.map_fd = (uint32_t)events->values[map]};

	attributes.key = to_number(&index);
	attributes.value = to_number(value);
	return call_bpf(command, &attributes) == 0;
}

/*
 * Reads the counts of a CPU. While bpf(2) copies them, no event of perf runs a program on our CPU,
 * for as long as we may be preempted there: they are mapped where that may be. False: see errno.
 */
static bool read_counts(struct trace_events *events, uint32_t cpu)
{
	if (!events->mapped)
		return use_array(events, EVENT_COUNTS, BPF_MAP_LOOKUP_ELEM, cpu, &events->counts);
	events->counts = events->mapped[cpu];
	return true;
}

_Static_assert(TRACE_CALL_MAX + 2 * EVENT_CLOCK_OTHER <= EVENT_INDEXES, "two calls take a clock");

/* Says which calls are wanted, and gives them indexes. False: see errno. */
static bool want_calls(struct trace_events *events, const struct trace_plan *plan)
{
	uint64_t numbers[EVENT_NUMBER_COUNT] = {[SYS_execve] = EVENT_EXECUTES,
		[SYS_execveat] = EVENT_EXECUTES,
		[EVENT_READING] = events->reading};
	uint64_t index = 0;
	bool is_written = true;

	for (size_t i = 0; i < plan->call_count; i++) {
		const struct trace_call *call = &plan->calls[i];
		const bool takes_clock = call->row < call->rest;

		for (int arch = 0; arch < TRACE_ARCH_COUNT; arch++) {
			const int number = call->number[arch];

			if (plan->arch[arch] && number >= 0 && number < EVENT_CALLS)
				numbers[number] |= (index << EVENT_INDEX_SHIFT | EVENT_IS_COUNTED |
							   (takes_clock ? EVENT_TAKES_CLOCK : 0U))
				                   << arch * EVENT_COMPAT_SHIFT;
		}
		for (uint64_t clock = 0; clock <= (takes_clock ? EVENT_CLOCK_OTHER : 0U); clock++)
			events->rows[index++] = trace_plan_row(plan, call, clock);
	}
	for (uint32_t i = 0; i < EVENT_NUMBER_COUNT && is_written; i++)
		is_written = !numbers[i] ||
		             use_array(events, EVENT_NUMBERS, BPF_MAP_UPDATE_ELEM, i, &numbers[i]);
	return is_written;
}

/* ---- programs ---- */

uint32_t event_program_write(enum event_tracepoint tracepoint,
	const uint64_t values[EVENT_VALUE_COUNT], struct bpf_insn code[EVENT_CODE_MAX])
{
	const struct event_program *program = &programs[tracepoint];

	memcpy(code, program->code, program->count * sizeof(*code));
	for (uint32_t i = 0; i < program->fill_count; i++) {
		const uint16_t name = program->fills[i].value;
		struct bpf_insn *halves = &code[program->fills[i].at];

		if (name < EVENT_MAP_COUNT)
			halves->src_reg = BPF_PSEUDO_MAP_FD;
		halves[0].imm = (int32_t)(uint32_t)values[name];
		halves[1].imm = (int32_t)(uint32_t)(values[name] >> 32);
	}
	return program->count;
}

/* Loads the program. Returns its descriptor, which stays open to the end; -1: see errno. */
static int load(
	struct trace_events *events, enum event_tracepoint tracepoint, enum bpf_prog_type type)
{
	union bpf_attr attributes = {.prog_type = type};
	struct bpf_insn code[EVENT_CODE_MAX];
	long program;

	attributes.insn_cnt = event_program_write(tracepoint, events->values, code);
	attributes.insns = to_number(code);
	/* Helpers that read the kernel's memory are for programs with this license. */
	attributes.license = to_number("Dual MIT/GPL");
	program = call_bpf(BPF_PROG_LOAD, &attributes);
	if (program >= 0)
		events->loaded[events->loaded_count++] = (int)program;
	return (int)program;
}

/* Runs a program at its raw tracepoint from now on. */
static bool attach(struct trace_events *events, enum event_tracepoint tracepoint)
{
	static const char *const names[] = {
		[EVENT_ENTER] = "sys_enter",
		[EVENT_FORK] = "sched_process_fork",
		[EVENT_EXIT] = "sched_process_exit",
		[EVENT_PAGE] = "emulate_vsyscall",
	};
	const int program = load(events, tracepoint, BPF_PROG_TYPE_RAW_TRACEPOINT);
	union bpf_attr attributes = {.raw_tracepoint.prog_fd = (uint32_t)program};
	long link;

	if (program < 0)
		return false;
	attributes.raw_tracepoint.name = to_number(names[tracepoint]);
	link = call_bpf(BPF_RAW_TRACEPOINT_OPEN, &attributes);
	if (link >= 0)
		events->links[events->link_count++] = (int)link;
	return link >= 0;
}

/*
 * Since Linux 7.0, other threads of a CPU are not counted while one is preempted in a program at a
 * raw tracepoint. It is not in the same event of perf (include/trace/perf.h), which takes the files
 * of tracefs. An event of one CPU runs the program on all. False: it cannot.
 */
static bool attach_perf(struct trace_events *events)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/events/raw_syscalls/sys_enter/id",
		"/sys/kernel/debug/tracing/events/raw_syscalls/sys_enter/id",
	};
	struct perf_event_attr event = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(event)};
	struct span text = {.length = 0};
	bool is_attached = false;
	int program, link;
	uint64_t id;

	for (size_t i = 0; i < ARRAY_SIZE(paths) && !text.length; i++)
		text = files_take(open(paths[i], O_RDONLY | O_CLOEXEC), PROGRAM_TEXT_SIZE);
	if (number_parse(text_trim(text), &id)) {
		event.config = id;
		program = load(events, EVENT_PERF_ENTER, BPF_PROG_TYPE_TRACEPOINT);
		link = (int)syscall(SYS_perf_event_open, &event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
		is_attached = program >= 0 && link >= 0 &&
		              ioctl(link, PERF_EVENT_IOC_SET_BPF, program) == 0;
		if (is_attached)
			events->links[events->link_count++] = link;
		else if (link >= 0)
			close(link);
	}
	span_free(text);
	return is_attached;
}

/* Not every kernel has a vsyscall page. */
static bool attach_all(struct trace_events *events)
{
	return (events->values[EVENT_TRAITS] & EVENTS_OF_HOST ||
		       (attach(events, EVENT_EXIT) && attach(events, EVENT_FORK))) &&
	       ((kernel_version() >= PREEMPTS && attach_perf(events)) ||
		       attach(events, EVENT_ENTER)) &&
	       (attach(events, EVENT_PAGE) || true);
}

static void explain(int error, struct fact *why)
{
	if (error == EPERM || error == EACCES)
		fact_set(why, FACT_DENIED,
			"bpf(2) is refused: it needs root, or CAP_BPF and CAP_PERFMON");
	else if (error == ENOSYS || error == EINVAL || error == ENOENT)
		fact_set(why, FACT_ABSENT,
			"the kernel does not take our BPF program, which needs Linux 4.18, or 5.7 "
			"in a PID namespace (%s)",
			strerror(error));
	else
		fact_set_errno(why, error, "bpf");
}

/* ---- reading ---- */

/* Adds calls of a slot, all of which are of the key that it has now, to the evidence. */
static void add_calls(const struct trace_events *events, const struct event_slot *slot,
	uint64_t count, pid_t ending, const struct span *maps)
{
	const struct trace_run *run = events->run;
	const uint32_t call = (uint32_t)(slot->key >> 32);
	const pid_t process = (pid_t)(uint32_t)slot->key;
	const size_t row = events->rows[call % EVENT_INDEXES];
	const enum trace_arch arch = call & EVENT_IS_COMPAT ? TRACE_COMPAT : TRACE_NATIVE;

	if (!count)
		return;
	run->trace->counts[arch][row] += count;
	run->trace->cpu_is_partial |=
		!run->trace->request->arguments && process != run->trace->program.pid;
	if (run->trace->request->system_wide)
		trace_callers_add(run, process, slot->where, count, 0);
	if (run->trace->request->locates_calls &&
		run->trace->request->plan->rows[row].call->served != SERVED_CALL_COUNT)
		call_sites_add(&run->trace->call_places, arch * TRACE_ROW_MAX + row, count,
			(uint64_t)process, process, process == ending ? maps : NULL, slot->where);
}

/*
 * Returns how often the programs were not run. Linux 7 may preempt a thread in one, which the other
 * threads of that CPU pass by until it goes on. It has said so since 5.12.
 */
static uint64_t count_missed(const struct trace_events *events)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < events->loaded_count; i++) {
		uint64_t missed = 0;
		struct span value, text;
		char name[32];

		snprintf(name, sizeof(name), "fdinfo/%d", events->loaded[i]);
		text = proc_read(0, name, PROGRAM_TEXT_SIZE);
		if (text_find_value(text, "recursion_misses", &value))
			number_parse(value, &missed);
		span_free(text);
		sum += missed;
	}
	return sum;
}

/*
 * Each CPU's counts are 35 KB. When a process ends they are read for the places in its memory that
 * are new, and when it executes another program for what it counted at its old places, too.
 */
static void take(struct trace_source *source, pid_t ending, const struct span *maps)
{
	struct trace_events *events = (struct trace_events *)source;
	struct trace_evidence *trace = events->run->trace;
	int64_t begin_ns = trace_clock_ns(CLOCK_MONOTONIC);
	uint64_t taken = 0;
	bool is_read = use_array(events, EVENT_NUMBERS, BPF_MAP_LOOKUP_ELEM, EVENT_TAKEN, &taken);

	if (is_read && ending && taken == events->taken &&
		!(maps && events->has_slots[(uint32_t)ending % PROCESS_FLAGS]))
		return;
	events->taken = taken;
	events->reading++;
	is_read = is_read &&
	          use_array(events, EVENT_NUMBERS, BPF_MAP_UPDATE_ELEM, EVENT_READING,
			  &events->reading) &&
	          use_array(events, EVENT_NUMBERS, BPF_MAP_LOOKUP_ELEM, EVENT_UNFOLLOWED,
			  &trace->threads_uncounted);

	for (uint32_t cpu = 0; cpu < events->cpus && is_read; cpu++) {
		struct event_counts *now = &events->counts, *seen = &events->seen[cpu];

		is_read = read_counts(events, cpu);
		for (size_t i = 0; i < EVENT_SLOTS && is_read; i++) {
			const struct event_slot *slot = &now->slots[i];

			add_calls(events, slot, slot->count - seen->slots[i].count, ending, maps);
			events->has_slots[(uint32_t)slot->key % PROCESS_FLAGS] = true;
		}
		for (size_t i = 0; i < 2 * EVENT_INDEXES && is_read; i++)
			add_calls(events, &(struct event_slot){.key = (uint64_t)i << 32},
				now->rest[i] - seen->rest[i], ending, maps);
		if (is_read)
			*seen = *now;
	}
	if (ending)
		call_sites_forget(&trace->call_places, (uint64_t)ending);
	if (!is_read)
		fact_set_errno(&trace->method_fact, errno, "reading the counts by bpf(2)");
	if (!ending)
		trace->calls_missed = count_missed(events);
	events->next_ns = trace_clock_ns(CLOCK_MONOTONIC);
	events->next_ns += READING_LEAST_NS + READING_PART * (events->next_ns - begin_ns);
}

static int64_t tick(struct trace_source *source)
{
	const struct trace_events *events = (struct trace_events *)source;

	if (trace_clock_ns(CLOCK_MONOTONIC) >= events->next_ns)
		take(source, 0, NULL);
	return events->next_ns - trace_clock_ns(CLOCK_MONOTONIC);
}

/* ---- the source ---- */

/* Returns what reading takes: before Linux 5.19 CAP_BPF, and before 5.8, which has that, more. */
static uint64_t to_read(void)
{
	const unsigned long version = kernel_version();

	if (version >= KERNEL(5, 19))
		return PRIVILEGES_NONE;
	return PRIVILEGES(version >= KERNEL(5, 8) ? CAP_BPF : CAP_SYS_ADMIN);
}

static void finish(struct trace_source *source)
{
	struct trace_events *events = (struct trace_events *)source;

	while (events->link_count)
		close(events->links[--events->link_count]);
	if (events->seen)
		take(source, 0, NULL);
	while (events->loaded_count)
		close(events->loaded[--events->loaded_count]);
	if (events->mapped)
		munmap(events->mapped, events->cpus * sizeof(*events->mapped));
	while (events->map_count)
		close((int)events->values[--events->map_count]);
	events->run->privileges &= ~to_read();
	free(events->seen);
	free(events);
}

/*
 * Process IDs are those of our PID namespace, where it is not the first one of the host. False: the
 * process is in another one, where it has no such ID.
 */
static bool set_values(struct trace_events *events)
{
	static const uint64_t first = 0xeffffffc; /* PROC_PID_INIT_INO, since 3.8 */
	const struct trace_evidence *trace = events->run->trace;
	uint64_t *values = events->values;
	const size_t cpus = trace_host_cpus();
	struct stat status;
	char path[64];

	events->cpus = 1;
	while (events->cpus < cpus)
		events->cpus *= 2;
	values[EVENT_LAST_CPU] = events->cpus - 1;
	values[EVENT_TRAITS] = trace->request->system_wide ? EVENTS_OF_HOST
	                       : trace->request->arguments ? EVENTS_OF_PROGRAM
	                                                   : EVENTS_OF_PROCESS;
	values[EVENT_TRAITS] |= trace->request->lists_groups ? EVENTS_BY_GROUP : 0;
	values[EVENT_PROCESS] =
		(uint64_t)(trace->request->system_wide ? getpid() : trace->program.pid);
	if (stat("/proc/self/ns/pid", &status) == 0 && status.st_ino != first) {
		values[EVENT_TRAITS] |= EVENTS_IN_NAMESPACE;
		values[EVENT_DEVICE] = status.st_dev;
		values[EVENT_INODE] = status.st_ino;
	}
	/* In a /proc that is not ours, another process may have the program's ID. */
	if (trace->request->arguments)
		snprintf(path, sizeof(path), "/proc/self/ns/pid_for_children");
	else
		snprintf(path, sizeof(path), "/proc/%d/ns/pid", trace->program.pid);
	return !(values[EVENT_TRAITS] & EVENTS_IN_NAMESPACE) || trace->request->system_wide ||
	       stat(path, &status) < 0 || status.st_ino == values[EVENT_INODE];
}

bool trace_events_open(struct trace_run *run, struct fact *why)
{
	struct trace_evidence *trace = run->trace;
	struct trace_events *events = xcalloc(1, sizeof(*events));

	events->source = (struct trace_source){.tick = tick, .take = take, .finish = finish};
	events->run = run;
	events->reading = EVENT_IDLE; /* no slot is in use yet */
	if (!set_values(events)) {
		fact_set(why, FACT_ABSENT, "it is in another PID namespace than vdsocheck");
	} else if (!programs[EVENT_ENTER].count) {
		fact_set(why, FACT_ABSENT, "vdsocheck has no BPF program for this architecture");
	} else if (!make_maps(events) || !want_calls(events, trace->request->plan) ||
		   !attach_all(events)) {
		explain(errno, why);
	} else {
		events->seen = xcalloc(events->cpus, sizeof(*events->seen));
		events->next_ns = trace_clock_ns(CLOCK_MONOTONIC) + READING_LEAST_NS;
		trace_run_add(run, &events->source);
		run->privileges |= to_read();
		fact_set_known(why);
		fact_set_known(&trace->method_fact);
		trace->method = TRACE_BY_BPF;
		return true;
	}
	finish(&events->source);
	return false;
}
