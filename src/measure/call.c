/* SPDX-License-Identifier: MIT */
/*
 * Lists the calls that are measured, and makes them. A row here is all that a new clock takes.
 * Proof, timing and bench only see struct call, so each call is made the same way everywhere.
 */
#include "measure/call.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "measure/loop.h"

/*
 * 32-bit architectures have a second set of calls with 64-bit times, from 5.1 on. C libraries
 * try those first, and some kernels have nothing else.
 */
#if defined(SYS_clock_gettime64)
static long clock_gettime_number = SYS_clock_gettime64;
static long clock_getres_number = SYS_clock_getres_time64;
#else
static const long clock_gettime_number = SYS_clock_gettime;
static const long clock_getres_number = SYS_clock_getres;
#endif

/* Big-endian powerpc (ELFv1) calls a function by a descriptor, which a vDSO's export lacks. */
#if defined(__powerpc64__) && (!defined(_CALL_ELF) || _CALL_ELF < 2)
#define VDSO_IS_CALLABLE false
#else
#define VDSO_IS_CALLABLE true
#endif

static int raw_clock_gettime(clockid_t clock, struct timespec *now)
{
	return (int)syscall(clock_gettime_number, clock, now);
}

static int raw_clock_getres(clockid_t clock, struct timespec *resolution)
{
	return (int)syscall(clock_getres_number, clock, resolution);
}

/* A call that the architecture lacks is NULL. */
#if defined(SYS_gettimeofday)
static int raw_gettimeofday(struct timeval *now, void *zone)
{
	return (int)syscall(SYS_gettimeofday, now, zone);
}
#else
#define raw_gettimeofday NULL
#endif

#if defined(SYS_time)
static time_t raw_time(time_t *now)
{
	return (time_t)syscall(SYS_time, now);
}
#else
#define raw_time NULL
#endif

static int raw_getcpu(unsigned *cpu, unsigned *node, void *cache)
{
	return (int)syscall(SYS_getcpu, cpu, node, cache);
}

static time_t raw_getppid(time_t *unused)
{
	(void)unused;
	return (time_t)syscall(SYS_getppid);
}

static int libc_gettimeofday(struct timeval *now, void *zone)
{
	return gettimeofday(now, zone);
}

/* Few C libraries have getcpu(), each has sched_getcpu(). */
static int libc_getcpu(unsigned *cpu, unsigned *node, void *cache)
{
	int got = sched_getcpu();

	(void)node;
	(void)cache;
	*cpu = (unsigned)got;
	return got < 0 ? -1 : 0;
}

const struct served_row served_calls[SERVED_CALL_COUNT + 1] = {
	[SERVED_CLOCK_GETTIME] = {"clock_gettime", "clock_gettime64", true, true},
	[SERVED_GETTIMEOFDAY] = {"gettimeofday", NULL, false, true},
	[SERVED_TIME] = {"time", NULL, false, true},
	[SERVED_CLOCK_GETRES] = {"clock_getres", "clock_getres_time64", true, false},
	[SERVED_GETCPU] = {"getcpu", NULL, false, false},
	[SERVED_CALL_COUNT] = {"", NULL, false, false},
};

enum served_call served_find_call(struct span name)
{
	const struct served_row *row = served_calls;

	while (*row->name && !text_equals(name, row->name) &&
		!(row->wide && text_equals(name, row->wide)))
		row++;
	return (enum served_call)(row - served_calls);
}

/* A row of the table before the vDSO is known. */
struct definition {
	enum served_call call;
	const char *clock; /* "": the call takes none */
	struct call libc, raw;
};

#define CALL(kind, id, member, name)                                                               \
	{                                                                                          \
		.shape = (kind), .clock = (id), .function.member = (name)                          \
	}
#define GETTIME(id)                                                                                \
	{                                                                                          \
		SERVED_CLOCK_GETTIME, #id, CALL(SHAPE_CLOCK, id, clock, clock_gettime),            \
			CALL(SHAPE_CLOCK, id, clock, raw_clock_gettime)                            \
	}

static const struct definition definitions[] = {
	{SERVED_GETTIMEOFDAY, "", CALL(SHAPE_TIMEOFDAY, 0, timeofday, libc_gettimeofday),
		CALL(SHAPE_TIMEOFDAY, 0, timeofday, raw_gettimeofday)},
	GETTIME(CLOCK_REALTIME),
	GETTIME(CLOCK_MONOTONIC),
	GETTIME(CLOCK_MONOTONIC_RAW),
	GETTIME(CLOCK_BOOTTIME),
	GETTIME(CLOCK_TAI),
	GETTIME(CLOCK_REALTIME_COARSE),
	GETTIME(CLOCK_MONOTONIC_COARSE),
	GETTIME(CLOCK_PROCESS_CPUTIME_ID),
	GETTIME(CLOCK_THREAD_CPUTIME_ID),
	{SERVED_CLOCK_GETRES, "CLOCK_MONOTONIC",
		CALL(SHAPE_CLOCK, CLOCK_MONOTONIC, clock, clock_getres),
		CALL(SHAPE_CLOCK, CLOCK_MONOTONIC, clock, raw_clock_getres)},
	{SERVED_TIME, "", CALL(SHAPE_TIME, 0, time, time), CALL(SHAPE_TIME, 0, time, raw_time)},
	{SERVED_GETCPU, "", CALL(SHAPE_GETCPU, 0, getcpu, libc_getcpu),
		CALL(SHAPE_GETCPU, 0, getcpu, raw_getcpu)},
};

#define ROW_COUNT ARRAY_SIZE(definitions)

_Static_assert(ROW_COUNT <= CALL_MAX, "evidence has room for every call");

/*
 * The version (LINUX_2.6, LINUX_2.6.39 ...) is one per image, so the name finds the function. On
 * 32-bit C libraries use the function with 64-bit times, or the older one, the only one before 5.3.
 */
static void *call_find_function(
	const struct vdso_evidence *vdso, const struct vdso_image *image, enum served_call call)
{
	void *found = NULL;

	for (size_t i = 0; i < vdso->export_count && VDSO_IS_CALLABLE; i++) {
		struct span export = text_span(vdso->exports[i].name);
		bool is_one = vdso_take_prefix(&export) && served_find_call(export) == call;

		if (is_one && (!found || !text_equals(export, served_calls[call].name)))
			found = (void *)(image->base + image->offsets[i]);
	}
	return found;
}

#if defined(SYS_clock_gettime64) && defined(SYS_clock_gettime)
static void find_time64_missing(void *missing)
{
	union call_result now;

	*(bool *)missing =
		raw_clock_gettime(CLOCK_MONOTONIC, &now.timespec) == -1 && errno == ENOSYS;
}

/* Before 5.1 there are only the older calls. A filter may kill for a new one: a child tries. */
static void choose_raw_calls(const struct deadline *deadline)
{
	bool missing = false;

	child_probe(find_time64_missing, &missing, sizeof(missing), deadline, &(struct fact){0});
	if (missing) {
		clock_gettime_number = SYS_clock_gettime;
		clock_getres_number = SYS_clock_getres;
	}
}
#else
#define choose_raw_calls(deadline) ((void)(deadline))
#endif

void call_table_make(const struct vdso_evidence *vdso, const struct vdso_image *image,
	struct call_table *table, const struct deadline *deadline)
{
	choose_raw_calls(deadline);
	*table = (struct call_table){.count = ROW_COUNT};
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct definition *from = &definitions[i];
		struct call_row *row = &table->rows[i];

		row->call = served_calls[from->call].name;
		row->clock = from->clock;
		row->decides = call_decides(row->call, row->clock);
		row->path[PATH_VDSO] = row->path[PATH_LIBC] = from->libc;
		row->path[PATH_VDSO].function.any = call_find_function(vdso, image, from->call);
		row->path[PATH_SYSCALL] = from->raw;
	}
}

bool call_table_names(size_t place, const char **call, const char **clock)
{
	if (place >= ROW_COUNT)
		return false;
	*call = served_calls[definitions[place].call].name;
	*clock = definitions[place].clock;
	return true;
}

void call_table_keep_deciding(struct call_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].decides)
			table->rows[kept++] = table->rows[i];
	}
	table->count = kept;
}

void call_table_name(const struct call_table *table, struct evidence *evidence)
{
	evidence->call_count = table->count;
	for (size_t i = 0; i < table->count; i++) {
		const struct call_row *row = &table->rows[i];
		struct call_evidence *call = &evidence->calls[i];

		text_clean(call->call, sizeof(call->call), row->call);
		text_clean(call->clock, sizeof(call->clock), row->clock);
		call->decides = row->decides;
		for (int path = 0; path < PATH_COUNT; path++)
			call->path[path].available = row->path[path].function.any != NULL;
	}
}

const struct call *call_find(const struct call_table *table, const char *call, const char *clock)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct call_row *row = &table->rows[i];

		if (strcmp(row->call, call) == 0 && strcmp(row->clock, clock) == 0)
			return row->path;
	}
	return NULL;
}

struct call call_syscall_floor(void)
{
	return (struct call){.shape = SHAPE_TIME, .function.time = raw_getppid};
}

struct call call_control(void)
{
	return (struct call){SHAPE_CLOCK, CLOCK_MONOTONIC, .function.clock = raw_clock_gettime};
}

struct call call_loop(loop_function *loop)
{
	return (struct call){.shape = SHAPE_LOOP, .function.loop = loop};
}

void call_repeat(const struct call *call, size_t count)
{
	switch (call->shape) {
	case SHAPE_CLOCK:
		loop_clock(call->function.clock, call->clock, count);
		break;
	case SHAPE_TIMEOFDAY:
		loop_timeofday(call->function.timeofday, count);
		break;
	case SHAPE_TIME:
		loop_time(call->function.time, count);
		break;
	case SHAPE_GETCPU:
		loop_getcpu(call->function.getcpu, count);
		break;
	case SHAPE_LOOP:
		call->function.loop(count);
		break;
	}
}

int64_t call_make(const struct call *call, union call_result *result)
{
	memset(result, CALL_UNWRITTEN, sizeof(*result));
	errno = 0;
	switch (call->shape) {
	case SHAPE_CLOCK:
		return call->function.clock(call->clock, &result->timespec);
	case SHAPE_TIMEOFDAY:
		return call->function.timeofday(&result->timeval, NULL);
	case SHAPE_TIME:
		return call->function.time(&result->seconds);
	case SHAPE_GETCPU:
		return call->function.getcpu(&result->cpu, NULL, NULL);
	case SHAPE_LOOP:
		call->function.loop(1);
	}
	return 0;
}

/* Whether the call wrote both words of a time, or the number of a CPU; time() returns its result.
 */
static bool call_is_written(const struct call *call, const union call_result *result)
{
	long words[2], unwritten;

	memcpy(words, result, sizeof(words));
	memset(&unwritten, CALL_UNWRITTEN, sizeof(unwritten));
	if (call->shape == SHAPE_CLOCK || call->shape == SHAPE_TIMEOFDAY)
		return words[0] != unwritten && words[1] != unwritten;
	return call->shape != SHAPE_GETCPU || words[0] != unwritten;
}

/*
 * libc sets errno, and most of it says -1; musl's gettimeofday() and time() go on as if nothing
 * had failed, and glibc's time() on 32-bit returns what was on the stack: the mark in errno comes
 * first. A vDSO function returns the system call's own result: the negative error on most
 * architectures, the positive one (and a flag) on powerpc.
 */
enum call_end call_try(const struct call *call, int mark, union call_result *result, int *error)
{
	int64_t returned = call_make(call, result);
	bool is_time = call->shape == SHAPE_TIME;
	bool succeeds = is_time ? returned >= 0 : !returned;

	if (mark && (errno == mark || returned == -mark || returned == mark))
		return CALL_MARKED;
	if (!succeeds) {
		*error = errno ? errno : (int)(returned < 0 ? -returned : returned);
		return CALL_FAILED;
	}
	if (is_time)
		result->seconds = (time_t)returned;
	return call_is_written(call, result) ? CALL_DONE : CALL_SILENT;
}

int call_error(const struct call *call)
{
	union call_result now;

	return call_make(call, &now) == -1 ? errno : 0;
}
