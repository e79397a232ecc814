/* SPDX-License-Identifier: MIT */
/*
 * The fields of what was measured, in a document of `vdsocheck check`: proof, timing and calls.
 * The document has the counts of the path that a call is judged by, and the evidence those of
 * each path; settle_call() finds the one from the other.
 */
#include <signal.h>
#include <string.h>

#include "base/child.h"
#include "field.h"

/* ---- proof ---- */

static const char *const method_words[] = {
	[PROOF_NONE] = "",
	[PROOF_SECCOMP] = "seccomp",
	[PROOF_PTRACE] = "ptrace",
	NULL,
};

#define OF struct proof_evidence

/* Counts the deciding calls, with the vDSO and with libc. */
static json_t *proof_total(const struct evidence *evidence, bool entered)
{
	json_int_t total = 0;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct path_evidence *path = evidence->calls[i].path;

		for (int k = PATH_VDSO; k <= PATH_LIBC && evidence->calls[i].decides; k++)
			total += entered ? path[k].entered : path[k].attempts;
	}
	return json_integer(total);
}

static json_t *proof_calls(const void *object, const void *whole)
{
	(void)object;
	return proof_total(whole, false);
}

static json_t *proof_entered(const void *object, const void *whole)
{
	(void)object;
	return proof_total(whole, true);
}

const struct field proof_fields[] = {
	{KNOWN("taken", fact), .options = FIELD_NEEDED | FIELD_FILLED, .reason = "reason",
		.doc = "whether the proof was taken; false: see reason"},
	{WORD("method", method, method_words),
		.doc = "how entries into the kernel were counted; null: not taken"},
	{COMPUTED("calls", FIELD_INTEGER, proof_calls), .fact = FACT(fact), .reason = "reason",
		.most = INT64_MAX,
		.doc = "deciding calls made under the proof, by the vDSO and by libc; null: not taken"},
	{COMPUTED("entered_kernel", FIELD_INTEGER, proof_entered), .fact = FACT(fact),
		.reason = "reason", .most = INT64_MAX,
		.doc = "how many of these calls entered the kernel; null: not taken"},
	PROOF_VALUES(FACT_ROW, FACT_ROW)
	/* The reason of all: */
	{REASON("reason"), .doc = "why the proof was not taken; null: it was"},
	{0},
};

/* ---- timing ---- */

#undef OF
#define OF struct timing_evidence

#define TIMING_ROW(type, member, stem, ...)                                                        \
	{type##_ROW(stem "_ns", member), .reason = stem "_reason", __VA_ARGS__},                   \
		{REASON(stem "_reason")},

const struct field timing_fields[] = {
	{TEXT("counter", counter),
		.doc = "name of the CPU's counter, as rdtsc; null: nothing was timed, or none is "
		       "known"},
	TIMING_FACTS(TIMING_ROW)
	/* How it was timed: */
	{INTEGER("batches", batches, UINT32_MAX), .options = FIELD_NEEDED,
		.doc = "batches measured of each call and path"},
	{INTEGER("cpu", cpu.value, INT32_MAX), .fact = FACT(cpu.fact), .reason = "cpu_reason",
		.doc = "CPU that the calls were timed on"},
	{REASON("cpu_reason")},
	{WHOLE("reason", fact), .doc = "why nothing was timed; null: the calls were"},
	{0},
};

/* ---- calls ---- */

static const struct path_evidence *judged_path(const void *object)
{
	const struct call_evidence *call = object;

	return &call->path[call_judged_path(call)];
}

const char *const call_path_names[] = {"vdso", "libc", "syscall", "", NULL};
static const char *const judged_by_words[] = {"vdso", "libc", NULL};

static json_t *judged_by(const void *object, const void *whole)
{
	(void)whole;
	return json_string(judged_by_words[call_judged_path(object)]);
}

/* Makes a count of the path that a call is judged by; null where `given` is zero. */
#define JUDGED(type, member, name, limit, given, ...)                                              \
	static json_t *judged_##member(const void *object, const void *whole)                      \
	{                                                                                          \
		const struct path_evidence *judged = judged_path(object);                          \
                                                                                                   \
		(void)whole;                                                                       \
		return judged->given ? json_integer(judged->member) : json_null();                 \
	}

PROOF_COUNTS(JUDGED)
FAILURE_COUNTS(JUDGED)
JUDGED(int, signal, "signal", NSIG, signal, )

/* Reading it back only makes the same reason again: the judge needs no raw system call. */
static const char no_such_call[] = "absent: no such system call on this architecture";

/* Returns the first reason why numbers of a call are null; null if none is. */
static json_t *call_reason(const void *object, const void *whole)
{
	const struct call_evidence *call = object;
	const struct evidence *evidence = whole;
	const struct path_evidence *path = call->path, *raw = &path[PATH_SYSCALL];
	const struct fact *floor = &evidence->timing.syscall_floor_ns.fact;

	if (judged_path(call)->signal)
		return json_sprintf("failed: the call ends with %s",
			fault_signal_name(judged_path(call)->signal));
	if (!fact_is_known(&evidence->proof.fact))
		return field_reason(&evidence->proof.fact);
	if (!judged_path(call)->attempts)
		return json_string("failed: the time was over before the call was proven");
	if (!fact_is_known(&evidence->timing.fact))
		return field_reason(&evidence->timing.fact);
	if (!path[PATH_VDSO].available)
		return json_string("absent: the vDSO does not export this call");
	if (call->raw_error)
		return json_sprintf("denied: the system call: %s", strerror(call->raw_error));
	if (!fact_is_known(&raw->fact) && !fact_is_known(floor))
		return field_reason(floor);
	if (!raw->available)
		return json_string(no_such_call);
	for (int i = 0; i < PATH_COUNT; i++) {
		if (!fact_is_known(&path[i].fact))
			return field_reason(&path[i].fact);
	}
	return json_null();
}

static uint32_t read_count(const json_t *from, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(from, key));
}

#define READ_COUNT(type, member, name, ...) judged->member = (type)read_count(from, name);

const char *settle_call(void *object, const json_t *from)
{
	struct call_evidence *call = object;
	const char *path_name = json_string_value(json_object_get(from, "judged_by"));
	const char *reason = json_string_value(json_object_get(from, "reason"));
	struct path_evidence *judged =
		&call->path[strcmp(path_name, "vdso") == 0 ? PATH_VDSO : PATH_LIBC];

	for (int path = 0; path < PATH_COUNT; path++) {
		call->path[path].available = fact_is_known(&call->path[path].fact);
		if (!call->path[path].available && !reason)
			return "has a null time without a reason";
	}
	if (judged != &call->path[PATH_VDSO] && call->path[PATH_VDSO].available)
		return "is judged by libc, although the vDSO has it";
	judged->available = true;
	call->path[PATH_LIBC].available = true;
	call->path[PATH_SYSCALL].available = !reason || strcmp(reason, no_such_call) != 0;
	if (judged == &call->path[PATH_LIBC] &&
		(judged->entered != read_count(from, "entered_kernel") ||
			judged->attempts != read_count(from, "attempts")))
		return "is judged by libc, but its counts differ from libc's";
	PROOF_COUNTS(READ_COUNT)
	FAILURE_COUNTS(READ_COUNT)
	judged->signal = (int)read_count(from, "signal");
	if (judged->attempts && !json_is_integer(json_object_get(from, "entered_kernel")))
		return "has attempts, but no entered_kernel";
	for (int path = 0; path < PATH_COUNT; path++) {
		if (call->path[path].entered > call->path[path].attempts)
			return "has an entered_kernel greater than attempts";
	}
	return NULL;
}

#undef OF
#define OF struct call_evidence

#define TIME_ROW(name, by, how, member, stem, option, what)                                        \
	{NS(name stem, path[by].member), .fact = FACT(path[by].fact), .reason = "reason",          \
		.options = (option), .doc = "ns per call by " how ", " what "; null: not timed"},
#define VDSO_TIME(...) TIME_ROW("vdso", PATH_VDSO, "the vDSO", __VA_ARGS__)
#define LIBC_TIME(...) TIME_ROW("libc", PATH_LIBC, "libc", __VA_ARGS__)
#define SYSCALL_TIME(...) TIME_ROW("syscall", PATH_SYSCALL, "raw system call", __VA_ARGS__)

#define JUDGED_ROW(type, member, name, limit, given, option, before, after)                        \
	{COMPUTED(name, FIELD_INTEGER, judged_##member), .options = (option), .most = (limit),     \
		.doc = before "the judged path" after},
#define LIBC_ROW(type, member, name, limit, zero, option, before, after)                           \
	{INTEGER("libc_" name, path[PATH_LIBC].member, limit), .options = (option),                \
		.given = GIVEN(path[PATH_LIBC].zero), .doc = before "libc" after},

const struct field call_fields[] = {
	{TEXT("call", call), .options = FIELD_NEEDED | FIELD_FILLED, .doc = "name of the call"},
	{TEXT("clock", clock), .options = FIELD_NEEDED,
		.doc = "clock that it reads; null: the call takes none"},
	{FLAG("decides", decides), .options = FIELD_NEEDED | FIELD_FILLED,
		.doc = "whether the verdict rests on this call"},
	PATH_TIMES(VDSO_TIME) PATH_TIMES(LIBC_TIME) PATH_TIMES(SYSCALL_TIME)
	/* A further one, of the vDSO alone: */
	{NS("vdso_batch_p99_ns", path[PATH_VDSO].p99_ns), .fact = FACT(path[PATH_VDSO].fact),
		.reason = "reason", .given = GIVEN(path[PATH_VDSO].p99_ns),
		.doc = "ns per call by the vDSO, 99th percentile of the batches' averages; null: "
		       "not timed"},
	{COMPUTED("judged_by", FIELD_WORD, judged_by), .options = FIELD_NEEDED | FIELD_FILLED,
		.words = judged_by_words,
		.doc = "path that the call is judged by: the vDSO, or libc where the vDSO does "
		       "not have it"},
	PROOF_COUNTS(JUDGED_ROW) PROOF_COUNTS(LIBC_ROW)
	/* The values that it returns: */
	CALL_VALUES(FACT_ROW, FACT_ROW)
	/* How it fails: */
	FAILURE_COUNTS(JUDGED_ROW) FAILURE_COUNTS(LIBC_ROW)
	/* How it ends: */
	{COMPUTED("signal", FIELD_INTEGER, judged_signal), .options = FIELD_NEEDED, .most = NSIG,
		.doc = "number of the signal that ended the call by this path; null: none did"},
	{COMPUTED("reason", FIELD_REASON, call_reason),
		.doc = "why its times or counts are null, the first reason that applies; null: "
		       "none does"},
	{0},
};
