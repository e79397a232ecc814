/* SPDX-License-Identifier: MIT */
/*
 * Counts system calls by BPF programs at the kernel's raw tracepoint sys_enter: those of the whole
 * host, of a program or of a running process, which are not stopped for it. The programs add up in
 * a hash that is read here again and again: each time, what its counts have more than the last time
 * is added to the evidence, so that no count is lost or taken twice while calls go on.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "base/text.h"
#include "count.h"
#include "events.h"
#include "places.h"
#include "served.h"

#define FOLLOWED_MAX 32768
#define COUNTS_MAX 32768

/* Reading all counts again may take so much of our time. */
#define READING_PART 20
#define READING_LEAST_NS 100000000

#define CAP_BPF_NUMBER 39 /* since Linux 5.8; older headers lack it */

/* A count as it was when it was read last. */
struct event_count {
	struct event_key key;
	uint64_t count;
	uint64_t change; /* since the time before */
	size_t place;
	bool is_jitted, has_place;
};

/* A hash table of COUNT_SLOTS; a slot with no count is free. */
#define COUNT_SLOTS (2 * COUNTS_MAX)

struct trace_events {
	struct trace_source source;
	struct trace_run *run; /* that has the source; NULL: none */
	int maps[EVENT_MAP_COUNT];
	int links[3]; /* programs at their tracepoints */
	size_t map_count, link_count;
	struct event_count *counts; /* COUNT_SLOTS */
	int64_t next_ns;            /* time of the next reading, by CLOCK_MONOTONIC */
};

static long call_bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static uint64_t to_number(const void *pointer)
{
	return (uintptr_t)pointer;
}

/* ---- maps ---- */

static bool put_element(int map, const void *key, const void *value)
{
	union bpf_attr attributes = {.map_fd = (uint32_t)map};

	attributes.key = to_number(key);
	attributes.value = to_number(value);
	return call_bpf(BPF_MAP_UPDATE_ELEM, &attributes) == 0;
}

static bool get_element(int map, const void *key, void *value)
{
	union bpf_attr attributes = {.map_fd = (uint32_t)map};

	attributes.key = to_number(key);
	attributes.value = to_number(value);
	return call_bpf(BPF_MAP_LOOKUP_ELEM, &attributes) == 0;
}

static void delete_element(int map, const void *key)
{
	union bpf_attr attributes = {.map_fd = (uint32_t)map};

	attributes.key = to_number(key);
	(void)call_bpf(BPF_MAP_DELETE_ELEM, &attributes);
}

/* NULL begins; false: there is none, or *error is set. */
static bool next_key(int map, const struct event_key *key, struct event_key *next, int *error)
{
	union bpf_attr attributes = {.map_fd = (uint32_t)map};

	attributes.key = to_number(key);
	attributes.next_key = to_number(next);
	if (call_bpf(BPF_MAP_GET_NEXT_KEY, &attributes) == 0)
		return true;
	*error = errno == ENOENT ? 0 : errno;
	return false;
}

/*
 * Kernels before 5.11 count what maps and programs take against a limit that is small by default. A
 * program that we start has the former limit.
 */
static bool without_limit(bool (*make)(struct trace_events *events, void *argument),
	struct trace_events *events, void *argument)
{
	struct rlimit before, most = {RLIM_INFINITY, RLIM_INFINITY};
	bool is_raised =
		getrlimit(RLIMIT_MEMLOCK, &before) == 0 && setrlimit(RLIMIT_MEMLOCK, &most) == 0;
	bool is_made = make(events, argument);
	int error = errno;

	if (is_raised)
		setrlimit(RLIMIT_MEMLOCK, &before);
	errno = error;
	return is_made;
}

static bool make_maps(struct trace_events *events, void *unused)
{
	static const union bpf_attr maps[EVENT_MAP_COUNT] = {
		[EVENT_WANTED] = {.map_type = BPF_MAP_TYPE_ARRAY,
			.key_size = sizeof(uint32_t),
			.value_size = sizeof(uint32_t),
			.max_entries = EVENT_CALLS},
		[EVENT_FOLLOWED] = {.map_type = BPF_MAP_TYPE_HASH,
			.key_size = sizeof(uint64_t),
			.value_size = sizeof(uint64_t),
			.max_entries = FOLLOWED_MAX},
		[EVENT_COUNTS] = {.map_type = BPF_MAP_TYPE_HASH,
			.key_size = sizeof(struct event_key),
			.value_size = sizeof(uint64_t),
			.max_entries = COUNTS_MAX},
	};

	(void)unused;
	while (events->map_count < EVENT_MAP_COUNT) {
		union bpf_attr attributes = maps[events->map_count];
		long map = call_bpf(BPF_MAP_CREATE, &attributes);

		if (map < 0)
			return false;
		events->maps[events->map_count++] = (int)map;
	}
	return true;
}

/* Calls whose origin does not fit the map have a place of their own from the beginning. */
static bool want_number(const struct trace_events *events, const struct trace_plan *plan,
	const struct trace_call *call, int arch)
{
	const int number = call->number[arch];
	const bool takes_clock = call->row < call->rest;
	uint32_t wanted = 0, index = (uint32_t)number;
	bool is_put = true;

	if (number < 0 || number >= EVENT_CALLS || !plan->arch[arch])
		return true;
	if (!get_element(events->maps[EVENT_WANTED], &index, &wanted))
		return false;
	wanted |= (EVENT_IS_COUNTED | (takes_clock ? EVENT_TAKES_CLOCK : 0U))
	          << (arch == TRACE_COMPAT ? EVENT_COMPAT_SHIFT : 0);
	for (uint32_t clock = 0; clock <= (takes_clock ? EVENT_CLOCK_OTHER : 0U) && is_put;
		clock++) {
		struct event_key key = {.call = index | clock << 16 | (uint32_t)arch << 24};

		is_put = put_element(events->maps[EVENT_COUNTS], &key, &(uint64_t){0});
	}
	return is_put && put_element(events->maps[EVENT_WANTED], &index, &wanted);
}

static bool want_calls(const struct trace_events *events, const struct trace_plan *plan)
{
	static const uint32_t executes[] = {SYS_execve, SYS_execveat};
	bool is_put = true;

	for (size_t i = 0; i < ARRAY_SIZE(executes) && is_put; i++)
		is_put = put_element(
			events->maps[EVENT_WANTED], &executes[i], &(uint32_t){EVENT_EXECUTES});
	for (size_t i = 0; i < plan->call_count && is_put; i++) {
		for (int arch = 0; arch < TRACE_ARCH_COUNT && is_put; arch++)
			is_put = want_number(events, plan, &plan->calls[i], arch);
	}
	return is_put;
}

/* ---- programs ---- */

/* Loads a program and runs it at a raw tracepoint from now on. */
static bool attach(
	struct trace_events *events, const struct event_program *program, const char *tracepoint)
{
	union bpf_attr attributes = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insn_cnt = (uint32_t)program->count};
	long file, link;
	int error;

	attributes.insns = to_number(program->code);
	/* Helpers that read the kernel's memory are for programs with this license. */
	attributes.license = to_number("Dual MIT/GPL");
	file = call_bpf(BPF_PROG_LOAD, &attributes);
	if (file < 0)
		return false;
	attributes = (union bpf_attr){.raw_tracepoint.prog_fd = (uint32_t)file};
	attributes.raw_tracepoint.name = to_number(tracepoint);
	link = call_bpf(BPF_RAW_TRACEPOINT_OPEN, &attributes);
	error = errno;
	close((int)file);
	errno = error;
	if (link >= 0)
		events->links[events->link_count++] = (int)link;
	return link >= 0;
}

/* Process IDs are those of our PID namespace, where it is not the first one of the host. */
static void set_namespace(struct event_program *program)
{
	static const uint64_t first = 0xeffffffc; /* PROC_PID_INIT_INO, since 3.8 */
	struct stat status;

	if (stat("/proc/self/ns/pid", &status) == 0 && status.st_ino != first) {
		program->namespace_device = status.st_dev;
		program->namespace_inode = status.st_ino;
	}
}

static bool attach_all(struct trace_events *events, void *argument)
{
	struct event_program *program = argument;

	if (program->scope != EVENTS_OF_HOST) {
		event_program_exit(program);
		if (!attach(events, program, "sched_process_exit"))
			return false;
		event_program_fork(program);
		if (!attach(events, program, "sched_process_fork"))
			return false;
	}
	event_program_count(program);
	return attach(events, program, "sys_enter");
}

static void explain(int error, struct fact *why)
{
	if (error == EPERM || error == EACCES)
		fact_set(why, FACT_DENIED,
			"bpf(2) is refused: it needs root, or CAP_BPF and CAP_PERFMON");
	else if (error == ENOSYS || error == EINVAL || error == ENOENT)
		fact_set(why, FACT_ABSENT,
			"the kernel does not take our BPF program, which needs Linux 4.18 (%s)",
			strerror(error));
	else
		fact_set_errno(why, error, "bpf");
}

struct trace_events *trace_events_make(const struct trace_plan *plan, struct fact *why)
{
	struct trace_events *events = xcalloc(1, sizeof(*events));
	struct event_program program = {.scope = EVENTS_OF_HOST, .maps = events->maps};

	if (!event_program_count(&program)) {
		fact_set(why, FACT_ABSENT, "there is no BPF program for this architecture");
	} else if (!without_limit(make_maps, events, NULL) || !want_calls(events, plan)) {
		explain(errno, why);
	} else {
		fact_set_known(why);
		events->counts = xcalloc(COUNT_SLOTS, sizeof(*events->counts));
		return events;
	}
	trace_events_free(events);
	return NULL;
}

/* ---- reading ---- */

static struct event_count *find_count(struct event_count *counts, const struct event_key *key)
{
	uint64_t hash = (key->where ^ (uint64_t)key->process << 32 ^ key->call) *
	                UINT64_C(0x9e3779b97f4a7c15);

	for (size_t at = (size_t)(hash >> 40);; at++) {
		struct event_count *count = &counts[at % COUNT_SLOTS];

		if (!count->count || memcmp(&count->key, key, sizeof(*key)) == 0)
			return count;
	}
}

static size_t find_row(const struct trace_plan *plan, const struct event_key *key)
{
	return trace_plan_find(plan, plan->arch[key->call >> 24 & 1 ? TRACE_COMPAT : TRACE_NATIVE],
		key->call & (EVENT_CALLS - 1), key->call >> 16 & 31);
}

/* Adds calls to the counts, and to those who make them. */
static void add_calls(const struct trace_run *run, const struct event_key *key, uint64_t calls)
{
	struct trace_evidence *trace = run->trace;
	size_t row = find_row(trace->plan, key);

	if (row == TRACE_ROW_MAX)
		return;
	trace->counts[key->call >> 24 & 1][row] += calls;
	if (trace->system_wide)
		trace_callers_add(run, (pid_t)key->process, key->where, calls);
}

/* Adds calls to their place, which is found in the memory map of the process for its first ones. */
static void add_place(const struct trace_run *run, struct event_count *count, uint64_t calls,
	struct place_process *process)
{
	const struct trace_plan *plan = run->trace->plan;
	const struct event_key *key = &count->key;
	size_t row = find_row(plan, key);
	struct trace_place place = {.row = row, .is_compat = key->call >> 24 & 1, .count = calls};

	if (row == TRACE_ROW_MAX || !served_is_call(plan->rows[row].call->name))
		return;
	if (count->has_place)
		places_count(run->call_places, count->place, count->is_jitted, calls);
	else
		count->place = places_add(
			run->call_places, &place, process, key->where, &count->is_jitted);
	count->has_place = true;
}

static int by_process(const void *left, const void *right)
{
	const struct event_count *a = *(struct event_count *const *)left,
				 *b = *(struct event_count *const *)right;

	return (a->key.process > b->key.process) - (a->key.process < b->key.process);
}

/* The memory map of each process is read once. That of the process `gone` is `maps`. */
static void add_places(const struct trace_run *run, struct event_count **changed, size_t number,
	pid_t gone, struct span maps)
{
	struct place_process process = {.jitted = -1};
	struct span read = {NULL, 0};
	struct maps parsed = {.count = 0};

	qsort(changed, number, sizeof(*changed), by_process);
	for (size_t i = 0; i < number; i++) {
		const pid_t pid = (pid_t)changed[i]->key.process;

		if (!i || pid != process.pid) {
			maps_free(&parsed);
			span_free(read);
			read = pid == gone ? (struct span){NULL, 0} : maps_read(pid);
			parsed = maps_parse(pid == gone ? maps : read);
			process = (struct place_process){
				.maps = &parsed, .pid = pid, .owner = (uint64_t)pid, .jitted = -1};
		}
		add_place(run, changed[i], changed[i]->change, &process);
		/* It executes another program. */
		changed[i]->has_place &= pid != gone;
	}
	maps_free(&parsed);
	span_free(read);
}

/* A count of an ended process that has not changed since the last time is forgotten. */
static bool is_over(const struct event_key *key)
{
	return key->process && kill((pid_t)key->process, 0) < 0 && errno == ESRCH;
}

/* Reads all counts into a new table. 0 or an errno value. */
static int read_counts(struct trace_events *events, struct event_count *counts,
	struct event_count **changed, size_t *number)
{
	const int map = events->maps[EVENT_COUNTS];
	struct event_key key, next;
	size_t left = COUNTS_MAX; /* keys may be added as fast as they are read */
	int error = 0;
	bool is_more = next_key(map, NULL, &key, &error);

	for (; is_more && left && !error; key = next, left--) {
		const struct event_count *before = find_count(events->counts, &key);
		struct event_count *now;
		uint64_t count = 0;

		is_more = next_key(map, &key, &next, &error);
		if (!get_element(map, &key, &count))
			error = errno;
		if (!count)
			continue;
		if (count == before->count && is_over(&key)) {
			delete_element(map, &key);
			continue;
		}
		now = find_count(counts, &key);
		*now = *before;
		now->key = key;
		now->change = count - before->count;
		now->count = count;
		if (now->change)
			changed[(*number)++] = now;
	}
	return error;
}

static void take(struct trace_source *source, pid_t gone, struct span maps)
{
	struct trace_events *events = (struct trace_events *)source;
	struct trace_run *run = events->run;
	int64_t begin_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	struct event_count *counts, **changed;
	size_t number = 0;
	int error;

	counts = xcalloc(COUNT_SLOTS, sizeof(*counts));
	changed = xcalloc(COUNTS_MAX, sizeof(struct event_count *));
	error = read_counts(events, counts, changed, &number);
	for (size_t i = 0; i < number; i++)
		add_calls(run, &changed[i]->key, changed[i]->change);
	if (run->call_places && number)
		add_places(run, changed, number, gone, maps);
	if (error && !run->failure.error)
		run->failure = (struct trace_failure){TRACE_FOLLOWING, error};
	free(changed);
	free(events->counts);
	events->counts = counts;
	events->next_ns = kernel_clock_ns(CLOCK_MONOTONIC);
	events->next_ns += READING_LEAST_NS + READING_PART * (events->next_ns - begin_ns);
}

static void poll_counts(struct trace_source *source)
{
	if (kernel_clock_ns(CLOCK_MONOTONIC) >= ((struct trace_events *)source)->next_ns)
		take(source, 0, (struct span){NULL, 0});
}

/* ---- the source ---- */

static void stop(struct trace_source *source)
{
	struct trace_events *events = (struct trace_events *)source;

	while (events->link_count)
		close(events->links[--events->link_count]);
}

void trace_events_free(struct trace_events *events)
{
	if (!events)
		return;
	if (events->run)
		trace_run_remove(events->run, &events->source);
	stop(&events->source);
	while (events->map_count)
		close(events->maps[--events->map_count]);
	free(events->counts);
	free(events);
}

/* Finds in a child, without the privileges that it has no more, what reading the maps takes. */
struct reading {
	int map;
	uint64_t privileges;
};

static void try_reading(void *argument)
{
	struct reading *reading = argument;
	uint32_t number = 0, value;

	privileges_keep(PRIVILEGES(CAP_BPF_NUMBER));
	if (!get_element(reading->map, &number, &value)) {
		reading->privileges = PRIVILEGES(CAP_SYS_ADMIN);
		return;
	}
	privileges_keep(PRIVILEGES_NONE);
	if (!get_element(reading->map, &number, &value))
		reading->privileges = PRIVILEGES(CAP_BPF_NUMBER);
}

bool trace_events_start(struct trace_events *events, struct trace_run *run, struct fact *why)
{
	struct reading reading = {.map = events->maps[EVENT_WANTED]};
	struct event_program program = {.scope = run->trace->system_wide ? EVENTS_OF_HOST
	                                         : run->arguments        ? EVENTS_OF_PROGRAM
	                                                                 : EVENTS_OF_PROCESS,
		.finds_groups = run->trace->lists_groups,
		.process = run->trace->system_wide ? getpid() : run->trace->program.pid,
		.maps = events->maps};

	set_namespace(&program);
	if (!without_limit(attach_all, events, &program)) {
		explain(errno, why);
		return false;
	}
	/* Before Linux 5.19 an open map may be read with a capability only. */
	if (!child_probe(try_reading, &reading, sizeof(reading), DEADLINE_NONE, why))
		return false;
	run->privileges |= reading.privileges;
	events->source = (struct trace_source){.take = take, .poll = poll_counts, .stop = stop};
	events->run = run;
	trace_run_add(run, &events->source);
	fact_set_known(&run->trace->method_fact);
	run->trace->method = TRACE_BY_BPF;
	return true;
}
