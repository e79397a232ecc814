/* SPDX-License-Identifier: MIT */
/*
 * Compares the vDSO's values, and those of libc, with the kernel's: each between two system calls
 * of the same clock, as vdsotest and the kernel's selftests do
 * (tools/testing/selftests/x86/test_vdso.c of 5.0 to 7.x).
 *
 * Whatever disturbs a try (a lost time slice, a clock that is set forward, a VM that is suspended)
 * lies between the two system calls and makes them differ by more; a clock that is set back makes
 * the second less than the first. So a try bounds its own error: one that is narrow and fits shows
 * that the call is right; else the narrowest decides.
 */
#include "parts.h"

#include <string.h>
#include <time.h>

#include "base/child.h"

#define TRIES 16

/* A try that fits between two system calls this close shows that the clock is right. */
#define NARROW_NS 10000

/*
 * Until each CPU of a guest has updated its pvclock page, the vDSO, which reads that of CPU 0, may
 * differ from the kernel: a difference must last.
 */
#define ROUNDS 3
static const struct timespec pause_of_rounds = {.tv_nsec = 10000000};

/* Powerpc's vDSO up to 5.10 rounds otherwise than the kernel; a tick of HZ=100, Kconfig.hz. */
#define PRECISE_NS 1000
#define COARSE_NS 10000000

#define NOT_A_TIME (-1)

struct comparison {
	const struct call *call, *kernel;
	int64_t tolerance_ns;
	int64_t width_ns;  /* width of the narrowest try; INT64_MAX: none yet */
	int64_t ahead_ns;  /* difference in that try; 0: it fits */
	bool is_fitting;   /* a narrow try fits */
	int kernel_error;  /* errno of a system call that failed; 0: none did */
	enum call_end end; /* of the call, the last time */
	int error;         /* errno of CALL_FAILED */
};

static int64_t join_time(int64_t seconds, int64_t parts, int64_t unit_ns)
{
	if (seconds < 0 || seconds >= INT64_MAX / NS_PER_SECOND || parts < 0 ||
		parts >= NS_PER_SECOND / unit_ns)
		return NOT_A_TIME;
	return seconds * NS_PER_SECOND + parts * unit_ns;
}

/* On 32-bit a call writes 8 or 16 bytes: see union call_result. */
static int64_t decode_time(const union call_result *now, int64_t unit_ns)
{
	return sizeof(long) == sizeof(int64_t) || now->narrow[3] != -1
	               ? join_time(now->wide[0], now->wide[1], unit_ns)
	               : join_time(now->narrow[0], now->narrow[1], unit_ns);
}

/* Makes the call, and stores its value. */
static enum call_end values_read(const struct call *call, int64_t *value, int *error)
{
	union call_result now;
	enum call_end end = call_try(call, 0, &now, error);

	if (call->shape == SHAPE_TIME)
		*value = join_time(now.seconds, 0, 1);
	else if (call->shape == SHAPE_GETCPU)
		*value = now.cpu;
	else
		*value = decode_time(&now, call->shape == SHAPE_TIMEOFDAY ? NS_PER_US : 1);
	return end;
}

static void compare_values(void *argument)
{
	struct comparison *comparison = argument;

	for (int i = 0; i < TRIES && !comparison->is_fitting; i++) {
		int64_t before, value, after, width;
		int error = 0;
		bool fits;

		if (values_read(comparison->kernel, &before, &comparison->kernel_error) ==
				CALL_FAILED ||
			(comparison->end = values_read(comparison->call, &value, &error)) !=
				CALL_DONE ||
			values_read(comparison->kernel, &after, &comparison->kernel_error) ==
				CALL_FAILED) {
			comparison->error = error;
			return;
		}
		width = after - before;
		fits = value >= before - comparison->tolerance_ns &&
		       value <= after + comparison->tolerance_ns;
		if (before == NOT_A_TIME || width < 0)
			continue;
		comparison->is_fitting = fits && width <= NARROW_NS;
		if (width >= comparison->width_ns)
			continue;
		comparison->width_ns = width;
		comparison->ahead_ns = fits ? 0 : value - before - width / 2;
	}
}

/* Resolutions and CPU numbers are equal, and time() counts whole seconds. */
static int64_t tolerance_of(const struct call_row *row)
{
	const enum served_call call = served_find_call(text_span(row->call));

	if (!served_calls[call].reads_clock || call == SERVED_TIME)
		return 0;
	return strstr(row->clock, "COARSE") ? COARSE_NS : PRECISE_NS;
}

/* Compares the values by the vDSO or by libc. */
static void compare_call(const struct call_row *row, struct call_evidence *call, enum call_path by,
	struct flag_fact *agrees, int64_t *ahead_ns)
{
	struct path_evidence *path = &call->path[by];
	struct comparison comparison = {.call = &row->path[by],
		.kernel = &row->path[PATH_SYSCALL],
		.tolerance_ns = tolerance_of(row),
		.width_ns = INT64_MAX};
	struct fact *fact = &agrees->fact;
	int signal;

	if (!comparison.call->function.any || !comparison.kernel->function.any) {
		fact_set(fact, FACT_ABSENT, "%s or the kernel lacks the call",
			by == PATH_VDSO ? "the vDSO" : "libc");
	} else if (clock_is_cpu_time(row->clock) ||
		   (path->attempts && path->entered == path->attempts)) {
		fact_set(fact, FACT_ABSENT, "the call is a system call");
	} else if ((signal = fault_guard(compare_values, &comparison))) {
		fact_set(fact, FACT_FAILED, "the call ends with %s", fault_signal_name(signal));
	} else if (comparison.kernel_error) {
		fact_set_errno(fact, comparison.kernel_error, row->call);
	} else if (comparison.end != CALL_DONE) {
		fact_set(fact, FACT_FAILED, "the call %s", fault_error_text(comparison.error));
		if (!path->failed++)
			path->error = comparison.error;
	} else if (comparison.width_ns == INT64_MAX) {
		fact_set(fact, FACT_FAILED, "the system calls give no two times in order");
	} else {
		fact_set_flag(agrees, comparison.is_fitting || !comparison.ahead_ns);
		/* A CPU's number is not a time. */
		*ahead_ns = agrees->value || comparison.call->shape == SHAPE_GETCPU
		                    ? 0
		                    : comparison.ahead_ns;
	}
}

void values_compare(const struct call_table *table, struct call_evidence *calls)
{
	bool differs = true;

	for (int round = 0; round < ROUNDS && differs; round++) {
		if (round)
			nanosleep(&pause_of_rounds, NULL);
		differs = false;
		for (size_t i = 0; i < table->count; i++) {
			const struct call_row *row = &table->rows[i];
			struct call_evidence *call = &calls[i];

			if (round == 0 || fact_is_flag(&call->agrees, false))
				compare_call(row, call, PATH_VDSO, &call->agrees, &call->ahead_ns);
			if (round == 0 || fact_is_flag(&call->libc_agrees, false))
				compare_call(row, call, PATH_LIBC, &call->libc_agrees,
					&call->libc_ahead_ns);
			differs |= fact_is_flag(&call->agrees, false) ||
			           fact_is_flag(&call->libc_agrees, false);
		}
	}
}
