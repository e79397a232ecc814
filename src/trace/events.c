/* SPDX-License-Identifier: MIT */
/*
 * Counts system calls by a BPF program at the kernel's tracepoint sys_enter: those of the whole
 * host, of a program or of a running process, which are not stopped for it. A call becomes a row:
 *
 * 1. want_calls() gives each call, and each clock of one, an index, and notes the row of it. The
 *    program finds the index by the number of the call (event_shared.calls).
 * 2. The program knows by EVENT_FOLLOWED whether the thread is one of those that are counted.
 * 3. It adds 1 to the slot of the CPU for {thread, index, place} (EVENT_KEPT), which is emptied
 *    into EVENT_COUNTS when another key takes it; without room there, into event_shared.rest.
 * 4. During the run the memory maps and groups of new processes (EVENT_PROCESSES) are read, since a
 *    process has them only while it runs: events_tick(), events_take().
 * 5. At the end read_all() adds both tables to the row of the index, trace->counts[], and with the
 *    memory map of the key's image to trace->call_places, or of a host to trace->callers.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

/* Looking for new processes may take so much of our time, and so long at a time. */
#define LOOKING_PART 20
#define LOOKING_LEAST_NS 100000000
#define LOOKING_MOST_NS 20000000

#define IMAGE_PROCESS ((UINT64_C(1) << EVENT_IMAGE_SHIFT) - 1)

/* The number of processes remembered as looked for; others may be looked for again. */
#define KNOWN_MAX 4096

/* What /proc/self/fdinfo says of a program has 300 bytes. */
#define PROGRAM_TEXT_SIZE 4096

/* The memory of processes that made calls, which is gone when they end. */
struct memory {
	uint64_t image;
	const struct image *map; /* of the places */
};

struct trace_events {
	struct trace_source source;
	struct trace_run *run;              /* that has the source; NULL: none */
	struct event_shared shared;         /* as it was written to its map, or read from it */
	uint64_t values[EVENT_VALUE_COUNT]; /* for the program */
	int loaded[EVENT_HOOK_COUNT], links[EVENT_HOOK_COUNT]; /* open files */
	size_t map_count, loaded_count, link_count;
	size_t rows[EVENT_INDEXES]; /* of the plan */
	size_t cpus;
	bool is_counting;
	struct memory *memories;
	size_t memory_count, memory_room;
	struct {
		uint32_t process;
		uint64_t image;
	} known[KNOWN_MAX];
	int64_t next_ns; /* time of the next look, by CLOCK_MONOTONIC */
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

/* From here on a thread may be preempted in a BPF program at a raw tracepoint, and in bpf(2). */
#define PREEMPTS KERNEL(7, 0)

/* ---- maps ---- */

/* clang-format off */
#define MAP(type, key, size, count) \
	{.map_type = BPF_MAP_TYPE_##type, .key_size = sizeof(key), .value_size = size, \
		.max_entries = count}
/* clang-format on */

static bool make_maps(struct trace_events *events)
{
	const uint32_t keys = (uint32_t)events->cpus * EVENT_KEYS_BY_CPU;
	const union bpf_attr maps[EVENT_MAP_COUNT] = {
		[EVENT_SHARED] = MAP(ARRAY, uint32_t, sizeof(struct event_shared), 1),
		[EVENT_COUNTS] = MAP(HASH, struct event_key, sizeof(uint64_t), keys),
		[EVENT_PROCESSES] =
			MAP(HASH, uint32_t, sizeof(struct event_process), EVENT_PROCESSES_MAX),
		[EVENT_FOLLOWED] = MAP(HASH, uint64_t, sizeof(uint64_t), EVENT_FOLLOWED_MAX),
		[EVENT_KEPT] =
			MAP(PERCPU_ARRAY, uint32_t, EVENT_SLOTS * sizeof(struct event_slot), 1),
	};

	while (events->map_count < EVENT_MAP_COUNT) {
		union bpf_attr attributes = maps[events->map_count];
		long map = call_bpf(BPF_MAP_CREATE, &attributes);

		if (map < 0)
			return false;
		events->values[events->map_count++] = (uint64_t)map;
	}
	return true;
}

/* The only element of an array. */
static const uint32_t only;

/* Reads or writes an element. False: see errno. */
static bool use_map(const struct trace_events *events, enum event_value map, enum bpf_cmd command,
	const void *key, void *value)
{
	union bpf_attr attributes = {.map_fd = (uint32_t)events->values[map]};

	attributes.key = to_number(key);
	attributes.value = to_number(value);
	return call_bpf(command, &attributes) == 0;
}

/* Copies all keys of a table, at most `most` of `size` bytes, for free(). Returns their number. */
static size_t list_keys(const struct trace_events *events, enum event_value map, size_t most,
	size_t size, void *list)
{
	unsigned char *keys = xmalloc(most * size);
	union bpf_attr attributes = {.map_fd = (uint32_t)events->values[map]};
	size_t count = 0;

	while (count < most) {
		attributes.key = count ? to_number(keys + (count - 1) * size) : 0;
		attributes.next_key = to_number(keys + count * size);
		if (call_bpf(BPF_MAP_GET_NEXT_KEY, &attributes) < 0)
			break;
		count++;
	}
	*(unsigned char **)list = keys;
	return count;
}

_Static_assert(TRACE_CALL_MAX + 2 * EVENT_CLOCK_OTHER <= EVENT_IN_VDSO, "two calls take a clock");

/* Says which calls are wanted, and gives them indexes. */
static void want_calls(struct trace_events *events, const struct trace_plan *plan)
{
	uint64_t *wanted = events->shared.calls;
	uint64_t index = 0;

	wanted[SYS_execve] = wanted[SYS_execveat] = EVENT_EXECUTES;
	for (size_t i = 0; i < plan->call_count; i++) {
		const struct trace_call *call = &plan->calls[i];
		const bool takes_clock = call->row < call->rest;

		for (int arch = 0; arch < TRACE_ARCH_COUNT; arch++) {
			const int number = call->number[arch];

			if (plan->arch[arch] && number >= 0 && number < EVENT_CALLS)
				wanted[number] |= (index << EVENT_INDEX_SHIFT | EVENT_IS_COUNTED |
							  (takes_clock ? EVENT_TAKES_CLOCK : 0U))
				                  << arch * EVENT_COMPAT_SHIFT;
		}
		for (uint64_t clock = 0; clock <= (takes_clock ? EVENT_CLOCK_OTHER : 0U); clock++)
			events->rows[index++] = trace_plan_row(plan, call, clock);
	}
}

/* ---- the program ---- */

uint32_t event_program_write(
	const uint64_t values[EVENT_VALUE_COUNT], struct bpf_insn code[EVENT_CODE_MAX])
{
	memcpy(code, program.code, program.count * sizeof(*code));
	for (struct bpf_insn *halves = code; halves < code + program.count; halves++) {
		const int32_t name = halves->imm;

		if (halves->src_reg != EVENT_FILL_REGISTER)
			continue;
		halves->src_reg = name < EVENT_MAP_COUNT ? BPF_PSEUDO_MAP_FD : 0;
		halves[0].imm = (int32_t)(uint32_t)values[name];
		halves[1].imm = (int32_t)(uint32_t)(values[name] >> 32);
	}
	return program.count;
}

/* Loads it for a hook. Returns its descriptor, which stays open to the end; -1: see errno. */
static int events_load(struct trace_events *events, enum event_hook hook, enum bpf_prog_type type)
{
	union bpf_attr attributes = {.prog_type = type};
	struct bpf_insn code[EVENT_CODE_MAX];
	long loaded;

	events->values[EVENT_HOOK] = hook;
	attributes.insn_cnt = event_program_write(events->values, code);
	attributes.insns = to_number(code);
	/* Helpers that read the kernel's memory are for programs with this license. */
	attributes.license = to_number("Dual MIT/GPL");
	loaded = call_bpf(BPF_PROG_LOAD, &attributes);
	if (loaded >= 0)
		events->loaded[events->loaded_count++] = (int)loaded;
	return (int)loaded;
}

/* Runs it at a raw tracepoint from now on. */
static bool events_attach(struct trace_events *events, enum event_hook hook)
{
	static const char *const names[] = {
		[EVENT_ENTER] = "sys_enter",
		[EVENT_FORK] = "sched_process_fork",
		[EVENT_EXEC] = "sched_process_exec",
		[EVENT_EXIT] = "sched_process_exit",
		[EVENT_PAGE] = "emulate_vsyscall",
	};
	const int loaded = events_load(events, hook, BPF_PROG_TYPE_RAW_TRACEPOINT);
	union bpf_attr attributes = {.raw_tracepoint.prog_fd = (uint32_t)loaded};
	long link;

	if (loaded < 0)
		return false;
	attributes.raw_tracepoint.name = to_number(names[hook]);
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
	int loaded, link;
	uint64_t id;

	for (size_t i = 0; i < ARRAY_SIZE(paths) && !text.length; i++)
		text = files_take(open(paths[i], O_RDONLY | O_CLOEXEC), PROGRAM_TEXT_SIZE);
	if (number_parse(text_trim(text), &id)) {
		event.config = id;
		loaded = events_load(events, EVENT_PERF_ENTER, BPF_PROG_TYPE_TRACEPOINT);
		link = (int)syscall(SYS_perf_event_open, &event, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
		is_attached = loaded >= 0 && link >= 0 &&
		              ioctl(link, PERF_EVENT_IOC_SET_BPF, loaded) == 0;
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
		       (events_attach(events, EVENT_EXIT) && events_attach(events, EVENT_EXEC) &&
			       events_attach(events, EVENT_FORK))) &&
	       ((trace_host_kernel() >= PREEMPTS && attach_perf(events)) ||
		       events_attach(events, EVENT_ENTER)) &&
	       (events_attach(events, EVENT_PAGE) || true);
}

/* ---- samples ---- */

/* Gives the program the code that it looks for. False: there is none, or more than is expected. */
static bool copy_vdso(struct event_shared *shared)
{
	struct span maps = maps_read(getpid()), rest = maps;
	struct mapping map;
	bool is_copied = false;

	while (!is_copied && maps_next(&rest, &map)) {
		is_copied = map.is_vdso && map.end - map.start <= sizeof(shared->vdso);
		if (is_copied)
			memcpy(shared->vdso, (const void *)(uintptr_t)map.start,
				(size_t)(map.end - map.start));
	}
	span_free(maps);
	return is_copied;
}

static bool is_in_user_namespace(void)
{
	static const uint64_t first = 0xeffffffd; /* PROC_USER_INIT_INO, since 3.8 */
	struct stat status;

	return stat("/proc/self/ns/user", &status) == 0 && status.st_ino != first;
}

/* Returns what refuses bpf(2), which is not the same where root is that of a container. */
static const char *find_refusal(void)
{
	const bool has_own = privileges_have(PRIVILEGES(CAP_BPF) | PRIVILEGES(CAP_PERFMON)) ||
	                     privileges_have(PRIVILEGES(CAP_SYS_ADMIN));

	if (geteuid() != 0 && !has_own)
		return ": it needs root, or CAP_BPF and CAP_PERFMON";
	if (is_in_user_namespace())
		return " in a user namespace: it needs root, or CAP_BPF and CAP_PERFMON, of the host";
	if (!has_own)
		return ": root lacks CAP_BPF and CAP_PERFMON, as in most containers; run it on the "
		       "host";
	if (status_number(0, "Seccomp", 0))
		return " by a seccomp filter, such as a container's: run it on the host";
	return " by a security module";
}

/* In this mode of lockdown(7), no program may read the kernel's memory. */
static bool is_locked_down(void)
{
	struct span text = files_take(
		open("/sys/kernel/security/lockdown", O_RDONLY | O_CLOEXEC), PROGRAM_TEXT_SIZE);
	static const char mode[] = "[confidentiality]";
	bool is_found = text.length && memmem(text.at, text.length, mode, sizeof(mode) - 1);

	span_free(text);
	return is_found;
}

static void events_explain(int error, struct fact *why)
{
	if (is_locked_down())
		fact_set(why, FACT_DENIED,
			"bpf(2) is refused: the kernel is locked down (confidentiality), see "
			"kernel_lockdown(7)");
	else if (error == EPERM || error == EACCES)
		fact_set(why, FACT_DENIED, "bpf(2) is refused%s", find_refusal());
	else if (error == ENOSYS || error == EINVAL || error == ENOENT)
		fact_set(why, FACT_ABSENT,
			"the kernel does not take our BPF program, which needs Linux 4.18, or 5.7 "
			"in a PID namespace (%s)",
			strerror(error));
	else
		fact_set_errno(why, error, "bpf");
}

/* ---- the memory of processes ---- */

static struct memory *find_memory(const struct trace_events *events, uint64_t image)
{
	struct memory *memory = events->memories, *end = memory + events->memory_count;

	while (memory < end && memory->image != image)
		memory++;
	return memory < end ? memory : NULL;
}

/* Keeps the last memory map of the processes with this image, by default as it is now. */
static void remember(
	struct trace_events *events, pid_t process, uint64_t image, const struct span *map)
{
	struct trace_places *places = &events->run->trace->call_places;
	struct memory *known = find_memory(events, image);
	const struct image *kept =
		places_keep_process(places, process, map, known ? known->map : NULL);

	if (known) {
		known->map = kept;
	} else if (kept) {
		events->memories = array_grow(events->memories, events->memory_count,
			&events->memory_room, sizeof(*events->memories));
		events->memories[events->memory_count++] = (struct memory){image, kept};
	}
}

/* Processes of another PID namespace, which are all 0, are not known. */
static bool find_process(
	const struct trace_events *events, uint32_t process, struct event_process *found)
{
	return process && use_map(events, EVENT_PROCESSES, BPF_MAP_LOOKUP_ELEM, &process, found);
}

/*
 * Reads what processes have only while they run, of all or of those that are new: the memory maps
 * of a process, and of the one that has its image from its execve(2) on; or its group. It is no
 * longer than we may be deaf for signals and for the time.
 */
static void look_for_processes(struct trace_events *events, int64_t most_ns, bool is_last)
{
	const struct trace_run *run = events->run;
	struct deadline deadline = deadline_after(most_ns);
	struct event_process found;
	uint32_t *processes;
	pid_t owner;
	size_t count = list_keys(
		events, EVENT_PROCESSES, EVENT_PROCESSES_MAX, sizeof(*processes), &processes);

	for (size_t i = 0; i < count && deadline_left_ns(&deadline); i++) {
		const uint32_t process = processes[i], at = process % KNOWN_MAX;

		if (!find_process(events, process, &found) ||
			(!is_last && events->known[at].process == process &&
				events->known[at].image == found.image))
			continue;
		owner = (pid_t)(found.image & IMAGE_PROCESS);
		events->known[at].process = process;
		events->known[at].image = found.image;
		if (!run->trace->request->locates_calls) {
			trace_callers_add(
				run, (pid_t)process, found.group, (const char *)found.name);
			continue;
		}
		if (owner != (pid_t)process && !find_memory(events, found.image))
			remember(events, owner, found.image, NULL);
		remember(events, (pid_t)process, found.image, NULL);
	}
	free(processes);
}

static int64_t events_tick(struct trace_source *source)
{
	struct trace_events *events = (struct trace_events *)source;
	const struct trace_request *request = events->run->trace->request;
	const int64_t begin_ns = trace_clock_ns(CLOCK_MONOTONIC);
	int64_t end_ns;

	/*
	 * A tracer has the memory read when a process ends. While bpf(2) reads a value, Linux 7 may
	 * preempt us, and no call on our CPU is counted until we go on.
	 */
	if (events->run->is_traced || (!request->locates_calls && !request->lists_groups))
		return INT64_MAX;
	if (begin_ns < events->next_ns)
		return events->next_ns - begin_ns;
	look_for_processes(events, LOOKING_MOST_NS, false);
	end_ns = trace_clock_ns(CLOCK_MONOTONIC);
	/* It takes longer only while another process has our CPU. */
	if (end_ns - begin_ns > LOOKING_MOST_NS)
		end_ns = begin_ns + LOOKING_MOST_NS;
	events->next_ns = end_ns + LOOKING_LEAST_NS + LOOKING_PART * (end_ns - begin_ns);
	return events->next_ns - end_ns;
}

/* ---- reading ---- */

/* Adds calls or samples of a key to the process that made them, of the whole host. */
static void add_to_caller(
	const struct trace_events *events, const struct event_key *key, uint64_t count)
{
	const size_t row = events->rows[key->call % EVENT_INDEXES];
	struct event_process maker = {.image = 0};
	struct trace_caller *caller;

	find_process(events, key->maker, &maker);
	caller = trace_callers_add(
		events->run, (pid_t)key->maker, key->where, (const char *)maker.name);
	if (key->call == EVENT_IN_VDSO)
		caller->in_vdso += count;
	else
		caller->calls += count;
	if (key->call != EVENT_IN_VDSO && trace_row_is_avoidable(events->run->trace, row))
		caller->avoidable += count;
}

/* Adds calls of a key to the evidence. */
static void add_calls(
	const struct trace_events *events, const struct event_key *key, uint64_t count)
{
	struct trace_evidence *trace = events->run->trace;
	const struct trace_request *request = trace->request;
	const struct memory *memory;
	const size_t row = events->rows[key->call % EVENT_INDEXES];
	const enum place_kind kind = key->call & EVENT_IS_COMPAT     ? PLACE_OF_32_BIT
	                             : key->call & EVENT_BY_FUNCTION ? PLACE_BY_FUNCTION
	                                                             : PLACE_OF_CALL;

	if (count && request->target == TARGET_HOST)
		add_to_caller(events, key, count);
	if (key->call == EVENT_IN_VDSO) {
		trace->sampled.in_vdso += count;
		return;
	}
	trace->counts[row] += count;
	if (request->target == TARGET_PROCESS)
		trace->cpu_is_partial |= count && key->maker;
	if (count && request->locates_calls) {
		memory = find_memory(events, key->image);
		places_add(&trace->call_places, memory ? memory->map : NULL,
			(struct place_call){kind, row}, count, key->where);
	}
}

/* Adds the calls of all keys, and those that CPUs keep. False: see errno. */
static bool add_counts(const struct trace_events *events)
{
	const size_t kept = events->cpus * EVENT_SLOTS;
	struct event_slot *slots = xcalloc(kept, sizeof(*slots));
	struct event_key *keys;
	const size_t count = list_keys(
		events, EVENT_COUNTS, events->cpus * EVENT_KEYS_BY_CPU, sizeof(*keys), &keys);
	bool is_read = use_map(events, EVENT_KEPT, BPF_MAP_LOOKUP_ELEM, &only, slots);

	for (size_t i = 0; i < kept && is_read; i++)
		add_calls(events, &slots[i].key, slots[i].count);
	for (size_t i = 0; i < count && is_read; i++) {
		uint64_t calls = 0;

		is_read = use_map(events, EVENT_COUNTS, BPF_MAP_LOOKUP_ELEM, &keys[i], &calls);
		add_calls(events, &keys[i], calls);
	}
	free(slots);
	free(keys);
	return is_read;
}

/*
 * Keeps the memory map of a process that ends or executes another program, if it has made calls
 * whose places are to be named.
 */
static void events_take(struct trace_source *source, pid_t ending, const struct span *map)
{
	struct trace_events *events = (struct trace_events *)source;
	struct event_process found;

	if (events->run->trace->request->locates_calls &&
		find_process(events, (uint32_t)ending, &found) && (!map || map->length))
		remember(events, ending, found.image, map);
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

static void read_all(struct trace_events *events)
{
	struct trace_evidence *trace = events->run->trace;
	const struct event_shared *shared = &events->shared;

	/* What runs still may have libraries that are new. */
	if (trace->request->locates_calls && trace->request->target != TARGET_PROGRAM)
		remember(events, trace->program.pid, 0, NULL);
	if (trace->request->locates_calls)
		look_for_processes(events, PLACES_READING_NS, true);
	if (!add_counts(events) ||
		!use_map(events, EVENT_SHARED, BPF_MAP_LOOKUP_ELEM, &only, &events->shared))
		fact_set_errno(&trace->counted, errno, "reading the counts by bpf(2)");
	trace->sampled.taken = shared->samples;
	trace->sampled.of_others = shared->samples_of_others;
	for (size_t i = 0; i < ARRAY_SIZE(shared->rest); i++)
		add_calls(events, &(struct event_key){.call = (uint16_t)i}, shared->rest[i]);
	trace_miss(&trace->missed, MISSED_THREADS, shared->unfollowed,
		"more ran than can be followed at once");
	trace_miss(&trace->missed, MISSED_CALLS, count_missed(events),
		"other threads were preempted in the BPF programs, which were not run");
	trace_miss(&trace->missed, MISSED_SAMPLES_32_BIT, shared->samples_compat,
		"32-bit code ran, whose vDSO is another");
}

/* ---- the source ---- */

/* Returns what reading takes: before Linux 5.19 CAP_BPF, and before 5.8, which has that, more. */
static uint64_t to_read(void)
{
	const unsigned long version = trace_host_kernel();

	if (version >= KERNEL(5, 19))
		return PRIVILEGES_NONE;
	return PRIVILEGES(version >= KERNEL(5, 8) ? CAP_BPF : CAP_SYS_ADMIN);
}

static void events_stop(struct trace_source *source)
{
	struct trace_events *events = (struct trace_events *)source;

	while (events->link_count)
		close(events->links[--events->link_count]);
}

static void events_finish(struct trace_source *source)
{
	struct trace_events *events = (struct trace_events *)source;

	events_stop(source);
	if (events->is_counting)
		read_all(events);
	while (events->loaded_count)
		close(events->loaded[--events->loaded_count]);
	while (events->map_count)
		close((int)events->values[--events->map_count]);
	events->run->privileges &= ~to_read();
	free(events->memories);
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
	struct stat status;
	char path[64];

	values[EVENT_TRAITS] = trace->request->target == TARGET_HOST      ? EVENTS_OF_HOST
	                       : trace->request->target == TARGET_PROGRAM ? EVENTS_OF_PROGRAM
	                                                                  : EVENTS_OF_PROCESS;
	values[EVENT_TRAITS] |= trace->request->lists_groups ? EVENTS_BY_GROUP : 0;
	values[EVENT_PROCESS] =
		(uint64_t)(trace->request->target == TARGET_HOST ? getpid() : trace->program.pid);
	if (stat("/proc/self/ns/pid", &status) == 0 && status.st_ino != first) {
		values[EVENT_TRAITS] |= EVENTS_IN_NAMESPACE;
		values[EVENT_DEVICE] = status.st_dev;
		values[EVENT_INODE] = status.st_ino;
	}
	/* In a /proc that is not ours, another process may have the program's ID. */
	if (trace->request->target == TARGET_PROGRAM)
		snprintf(path, sizeof(path), "/proc/self/ns/pid_for_children");
	else
		snprintf(path, sizeof(path), "/proc/%d/ns/pid", trace->program.pid);
	return !(values[EVENT_TRAITS] & EVENTS_IN_NAMESPACE) ||
	       trace->request->target == TARGET_HOST || stat(path, &status) < 0 ||
	       status.st_ino == values[EVENT_INODE];
}

bool trace_events_open(struct trace_run *run, struct fact *why)
{
	struct trace_evidence *trace = run->trace;
	struct trace_events *events = xcalloc(1, sizeof(*events));
	bool has_vdso, is_sampled;
	int loaded;

	events->source = (struct trace_source){.tick = events_tick,
		.take = events_take,
		.stop = events_stop,
		.finish = events_finish};
	events->run = run;
	events->cpus = trace_host_cpus();
	want_calls(events, trace->request->plan);
	has_vdso = trace->request->target != TARGET_PROGRAM && copy_vdso(&events->shared);
	if (!set_values(events)) {
		fact_set(why, FACT_ABSENT, "it is in another PID namespace than vdsocheck");
	} else if (!program.count) {
		fact_set(why, FACT_ABSENT, "vdsocheck has no BPF program for this architecture");
	} else if (!make_maps(events) ||
		   !use_map(events, EVENT_SHARED, BPF_MAP_UPDATE_ELEM, &only, &events->shared) ||
		   !attach_all(events)) {
		events_explain(errno, why);
	} else {
		events->is_counting = true;
		events->next_ns = trace_clock_ns(CLOCK_MONOTONIC) + LOOKING_LEAST_NS;
		trace_run_add(run, &events->source);
		is_sampled =
			trace->request->target != TARGET_PROGRAM && !trace->request->counts_exactly;
		loaded = is_sampled && has_vdso
		                 ? events_load(events, EVENT_SAMPLE, BPF_PROG_TYPE_PERF_EVENT)
		                 : -1;
		if (loaded >= 0)
			(void)trace_samples_open(run, loaded);
		else if (is_sampled)
			fact_set(&trace->sampled.fact, FACT_ABSENT,
				"the kernel does not take our BPF program for samples");
		run->privileges |= to_read();
		fact_set_known(why);
		return true;
	}
	events_finish(&events->source);
	return false;
}
