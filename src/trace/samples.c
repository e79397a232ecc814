/* SPDX-License-Identifier: MIT */
/*
 * Samples by the cpu-clock what runs already. Those that are in the vDSO give the CPU time that is
 * spent there: what reading the clock costs, measured where it is spent, whatever is read. No
 * hardware counter is needed, and nothing is stopped. A BPF program (events.c) counts the samples
 * of all CPUs in the kernel, where none can be lost, and chooses those whose stacks are kept.
 * Without one, which takes no privileges, a process is sampled: there is an event for each of its
 * threads on each CPU, which the threads that it starts inherit.
 *
 * A sample that is in the vDSO, which the program or take_sample() says, becomes a place: the
 * kernel writes its registers, the top of its stack and its callchain into the ring of its CPU,
 * read_rings() takes it from there, and places_add_stack() keeps it with the memory map that the
 * process has then. At the end frames_find() unwinds it. The numbers of samples (trace->sampled)
 * become a share of the CPU time in costs.c, judge_inside().
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/privileges.h"
#include "base/root.h"
#include "base/text.h"
#include "count.h"
#include "files.h"
#include "measure/vdso.h"
#include "places.h"

/*
 * A CPU's ring has room for samples with stacks of a seventh of a second, and is read after this
 * time. A user may have as much by default.
 */
#define RING_SIZE 262144
#define READING_NS 50000000

/* The memory map of the process may have new libraries after this time. */
#define MAP_NS NS_PER_SECOND

/* Of fewer stacks, no share is known. */
#define STACKS_LEAST 30

struct ring {
	struct perf_event_mmap_page *page; /* the records follow it; NULL: the CPU has none yet */
	int file;
};

struct trace_samples {
	struct trace_source source;
	struct trace_run *run;
	int program; /* open file of the BPF program; -1: none */
	int *files;
	size_t file_count, room;
	struct ring *rings; /* of each CPU */
	int cpus;
	const struct image *image; /* of the process; NULL: not known, or a whole host */
	int64_t next_map_ns;       /* by CLOCK_MONOTONIC */
	uint64_t stacks;           /* that were kept */
};

/*
 * The words of a record behind its header, as many as one with a stack has: two before the stack,
 * then those of take_stack().
 */
#define RECORD_WORDS                                                                               \
	(2 + 1 + 1 + STACK_CHAIN + 1 + STACK_REGISTERS + 1 +                                       \
		sizeof(((struct stack_sample *)0)->bytes) / sizeof(uint64_t) + 1)

struct record {
	uint32_t type;
	uint16_t misc;
	uint64_t words[RECORD_WORDS];
};

/* ---- rings ---- */

/* Takes the next record. Records are multiples of 8 bytes, so that the ring's end cuts no word. */
static bool next_record(const struct ring *ring, struct record *record)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = RING_SIZE;
	const unsigned char *data = (const unsigned char *)ring->page + page;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	struct perf_event_header header;

	if (head - tail < sizeof(header))
		return false;
	memcpy(&header, data + tail % size, sizeof(header));
	if (header.size < sizeof(header) || header.size > head - tail)
		return false;
	*record = (struct record){.type = header.type, .misc = header.misc};
	for (size_t i = 0; i < RECORD_WORDS && sizeof(header) + (i + 1) * 8 <= header.size; i++)
		memcpy(&record->words[i], data + (tail + sizeof(header) + i * 8) % size, 8);
	__atomic_store_n(&ring->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
	return true;
}

/* ---- events ---- */

/* Returns the bytes of a ring with the page before it. */
static size_t ring_length(void)
{
	return RING_SIZE + (size_t)sysconf(_SC_PAGESIZE);
}

#if defined(__aarch64__)
#define ASKED_REGISTERS ((UINT64_C(1) << STACK_REGISTERS) - 1)
static unsigned place_of(unsigned number)
{
	return number;
}
#else
/* Those of perf_regs.h are in another order than DWARF's: ax bx cx dx si di bp sp ip, r8 to r15. */
#define ASKED_REGISTERS UINT64_C(0xff01ff)
static unsigned place_of(unsigned number)
{
	static const unsigned char places[] = {0, 3, 2, 1, 4, 5, 6, 7, STACK_PLACE};

	return number < sizeof(places) ? places[number] : number - 1;
}
#endif

static bool is_of_host(const struct trace_samples *samples)
{
	return samples->run->trace->request->target == TARGET_HOST;
}

/* Returns 0 or an errno value. A CPU that is not online has no event, a thread may have ended. */
static int open_event(struct trace_samples *samples, pid_t thread, int cpu)
{
	const bool is_of_thread = samples->program < 0;
	struct perf_event_attr attributes = {.size = sizeof(attributes),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = TRACE_SAMPLE_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN |
	                       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_max_stack = STACK_CHAIN,
		.sample_regs_user = ASKED_REGISTERS,
		.sample_stack_user = sizeof(((struct stack_sample *)NULL)->bytes),
		.exclude_callchain_kernel = true,
		.disabled = true,
		.exclude_idle = true,
		.inherit = is_of_thread,
		.task = is_of_thread,
		.exclude_kernel = is_of_thread,
		.exclude_hv = is_of_thread,
		.comm = is_of_thread,
		.comm_exec = is_of_thread};
	struct ring *ring = &samples->rings[cpu];
	void *page;
	int file;

	file = (int)syscall(
		SYS_perf_event_open, &attributes, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (file < 0)
		return errno == ENODEV || errno == ESRCH ? 0 : errno;
	samples->files = array_grow(
		samples->files, samples->file_count, &samples->room, sizeof(*samples->files));
	samples->files[samples->file_count++] = file;
	if (!is_of_thread && ioctl(file, PERF_EVENT_IOC_SET_BPF, samples->program) < 0)
		return errno;
	if (ring->page)
		return ioctl(file, PERF_EVENT_IOC_SET_OUTPUT, ring->file) < 0 ? errno : 0;
	page = mmap(NULL, ring_length(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (page == MAP_FAILED)
		return errno;
	*ring = (struct ring){page, file};
	return 0;
}

static int open_on_cpus(struct trace_samples *samples, pid_t thread)
{
	int error = 0;

	for (int cpu = 0; cpu < samples->cpus && !error; cpu++)
		error = open_event(samples, thread, cpu);
	return error;
}

/*
 * The list is read before an event is open: a thread that a listed one starts inherits its events,
 * and would be in the list as well.
 */
static int open_threads(struct trace_samples *samples, pid_t pid)
{
	struct dirent **threads;
	char path[64];
	int error = 0, count;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	count = scandir(path, &threads, NULL, NULL);
	for (int i = 0; i < count; i++) {
		uint64_t id;

		if (!error && number_parse(text_span(threads[i]->d_name), &id))
			error = open_on_cpus(samples, (pid_t)id);
		free(threads[i]);
	}
	if (count >= 0)
		free(threads);
	return error;
}

static void samples_explain(int error, struct fact *why)
{
	if (error == EACCES || error == EPERM)
		fact_set(why, FACT_DENIED,
			"perf_event_open(2) is refused: it needs root or CAP_PERFMON, or, for a "
			"process of one's own, /proc/sys/kernel/perf_event_paranoid at 2 or less");
	else if (error == EMFILE)
		fact_set(why, FACT_FAILED, "not enough file descriptors (ulimit -n)");
	else
		fact_set_errno(why, error, "perf_event_open");
}

/* ---- samples ---- */

/* Reads the map again each second, and at once when the process has executed another program. */
static void samples_read_map(struct trace_samples *samples)
{
	struct trace_evidence *trace = samples->run->trace;
	const int64_t now_ns = trace_clock_ns(CLOCK_MONOTONIC);

	if (now_ns < samples->next_map_ns)
		return;
	samples->image =
		places_keep_process(&trace->places, trace->program.pid, NULL, samples->image);
	samples->next_map_ns = now_ns + MAP_NS;
}

/*
 * Takes the words of a sample: how many addresses the chain has, these, 1 or 2 for what the
 * registers are of, these, the bytes of the stack that were asked for, these, and how many of them
 * were copied. A process of 32 bits has others.
 */
static bool take_stack(const uint64_t *words, struct stack_sample *sample)
{
	const size_t room = sizeof(sample->bytes), chain = (size_t)*words++;
	const uint64_t *stack = words + chain + 1 + STACK_REGISTERS;
	size_t count = 0;
	uint64_t size;

	*sample = (struct stack_sample){.size = 0};
	/* With the address, and a mark that it is one of the process. */
	if (chain > 1 + STACK_CHAIN)
		return false;
	for (size_t i = 0; i < chain && count < STACK_CHAIN; i++) {
		if (words[i] < PERF_CONTEXT_MAX)
			sample->chain[count++] = words[i];
	}
	words += chain;
	if (words[0] != PERF_SAMPLE_REGS_ABI_64 || stack[0] != room)
		return false;
	for (unsigned i = 0; i < STACK_REGISTERS; i++)
		sample->registers[place_of(i)] = words[1 + i];
	size = stack[1 + room / sizeof(*stack)];
	sample->size = (uint32_t)(size < room ? size : room);
	memcpy(sample->bytes, stack + 1, sample->size);
	return true;
}

static void take_sample(struct trace_samples *samples, const struct record *record)
{
	struct trace_evidence *trace = samples->run->trace;
	const struct place_mapping *mapping =
		samples->image ? maps_find(&samples->image->maps, record->words[0]) : NULL;
	struct stack_sample stack;

	if (samples->program < 0) {
		trace->sampled.taken++;
		if (!mapping || !mapping->map.is_vdso)
			return;
		trace->sampled.in_vdso++;
	}
	if (take_stack(record->words + 2, &stack)) {
		if (is_of_host(samples))
			stack.process = (pid_t)(uint32_t)record->words[1];
		places_add_stack(&trace->places, samples->image,
			(struct place_call){PLACE_BY_SAMPLE, 0}, 1, &stack);
		samples->stacks++;
	}
}

static void take_record(struct trace_samples *samples, const struct record *record)
{
	struct trace_sampled *sampled = &samples->run->trace->sampled;
	const pid_t process = samples->run->trace->program.pid;
	const bool is_chosen = samples->program >= 0;

	if (record->type == PERF_RECORD_SAMPLE) {
		if (is_chosen || (pid_t)(uint32_t)record->words[1] == process)
			take_sample(samples, record);
	} else if (record->type == PERF_RECORD_THROTTLE) {
		/* How many are missing is not known. */
		fact_set(&sampled->fact, FACT_FAILED,
			"the kernel took fewer samples than we asked for "
			"(/proc/sys/kernel/perf_event_max_sample_rate)");
	} else if (is_chosen) {
		return; /* the program has counted what the ring lost */
	} else if (record->type == PERF_RECORD_LOST) {
		trace_miss(&samples->run->trace->missed, MISSED_SAMPLES, record->words[1],
			"more were taken than could be read in time");
	} else if (record->type == PERF_RECORD_COMM && record->misc & PERF_RECORD_MISC_COMM_EXEC) {
		if ((pid_t)(uint32_t)record->words[0] == process)
			samples->next_map_ns = 0;
	} else if (record->type == PERF_RECORD_FORK) {
		/* The new process, and in the other half the one that it is of. */
		if ((uint32_t)record->words[0] != record->words[0] >> 32)
			fact_set(&sampled->fact, FACT_DENIED,
				"it started a process, and without BPF programs none but the first "
				"one is sampled");
	}
}

/* The samples of an execve(2) are those of the program before it, until the rings are read again.
 */
static int64_t read_rings(struct trace_source *source)
{
	struct trace_samples *samples = (struct trace_samples *)source;
	struct record record;

	for (int cpu = 0; cpu < samples->cpus; cpu++) {
		if (samples->rings[cpu].page)
			samples_read_map(samples);
		while (samples->rings[cpu].page && next_record(&samples->rings[cpu], &record))
			take_record(samples, &record);
	}
	return READING_NS;
}

/* ---- the source ---- */

static void samples_start(struct trace_source *source)
{
	struct trace_samples *samples = (struct trace_samples *)source;

	for (size_t i = 0; i < samples->file_count; i++)
		ioctl(samples->files[i], PERF_EVENT_IOC_ENABLE, 0);
}

static void samples_stop(struct trace_source *source)
{
	struct trace_samples *samples = (struct trace_samples *)source;

	for (size_t i = 0; i < samples->file_count; i++)
		ioctl(samples->files[i], PERF_EVENT_IOC_DISABLE, 0);
}

static void samples_finish(struct trace_source *source)
{
	struct trace_samples *samples = (struct trace_samples *)source;

	read_rings(source);
	if (samples->stacks < STACKS_LEAST)
		places_free(&samples->run->trace->places);
	else if (is_of_host(samples))
		places_read_maps(&samples->run->trace->places, samples->run->trace->request->shown);
	for (int cpu = 0; cpu < samples->cpus; cpu++) {
		if (samples->rings[cpu].page)
			munmap(samples->rings[cpu].page, ring_length());
	}
	while (samples->file_count)
		close(samples->files[--samples->file_count]);
	free(samples->files);
	free(samples->rings);
	free(samples);
}

bool trace_samples_open(struct trace_run *run, int program)
{
	struct trace_samples *samples = xcalloc(1, sizeof(*samples));
	struct fact *why = &run->trace->sampled.fact;
	int error;

	samples->source = (struct trace_source){.start = samples_start,
		.tick = read_rings,
		.stop = samples_stop,
		.finish = samples_finish};
	samples->run = run;
	samples->program = program;
	samples->cpus = (int)trace_host_cpus();
	/* The maps of a whole host's processes are read at the end. */
	samples->next_map_ns = is_of_host(samples) ? INT64_MAX : 0;
	samples->rings = xcalloc((size_t)samples->cpus, sizeof(*samples->rings));
	files_raise_limit();
	error = program < 0 ? open_threads(samples, run->trace->program.pid)
	                    : open_on_cpus(samples, -1);
	if (!error && samples->file_count) {
		fact_set_known(why);
		run->privileges |= PRIVILEGES(CAP_SYS_PTRACE); /* to read memory maps */
		trace_run_add(run, &samples->source);
		return true;
	}
	samples_explain(error ? error : ESRCH, why);
	samples_finish(&samples->source);
	return false;
}
