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

/* MAX_ERRNO of the kernel. */
#define ERRNO_MAX 4095

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
	{INTEGER("cpus", cpus, UINT32_MAX), .fact = FACT(fact), .reason = "reason",
		.doc = "CPUs that the calls were spread over"},
	{TEXT("note", note), .doc = "why methods of the proof were refused; null: none was"},
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

/* Makes a number of the path that a call is judged by; null where `given` is zero. */
#define JUDGED(function, number, given)                                                            \
	static json_t *function(const void *object, const void *whole)                             \
	{                                                                                          \
		const struct path_evidence *judged = judged_path(object);                          \
                                                                                                   \
		(void)whole;                                                                       \
		return judged->given ? json_integer(judged->number) : json_null();                 \
	}

JUDGED(judged_entered, entered, attempts)
JUDGED(judged_attempts, attempts, attempts)
JUDGED(judged_failed, failed, failed)
JUDGED(judged_error, error, error)
JUDGED(judged_signal, signal, signal)

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
	judged->entered = read_count(from, "entered_kernel");
	judged->attempts = read_count(from, "attempts");
	judged->signal = (int)json_integer_value(json_object_get(from, "signal"));
	judged->failed = read_count(from, "failed");
	judged->error = (int)read_count(from, "error");
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

#define TIMES(name, by, how)                                                                       \
	{NS(name "_ns", path[by].min_ns), .fact = FACT(path[by].fact), .reason = "reason",         \
		.options = FIELD_NEEDED,                                                           \
		.doc = "ns per call by " how ", least of all batches; null: not timed"},           \
	{                                                                                          \
		NS(name "_median_ns", path[by].median_ns),                                         \
			.fact = FACT(path[by].fact), .reason = "reason",                           \
			.doc = "ns per call by " how ", median of the batches; null: not timed"    \
	}

const struct field call_fields[] = {
	{TEXT("call", call), .options = FIELD_NEEDED | FIELD_FILLED, .doc = "name of the call"},
	{TEXT("clock", clock), .options = FIELD_NEEDED,
		.doc = "clock that it reads; null: the call takes none"},
	{FLAG("decides", decides), .options = FIELD_NEEDED | FIELD_FILLED,
		.doc = "whether the verdict rests on this call"},
	TIMES("vdso", PATH_VDSO, "the vDSO"),
	TIMES("libc", PATH_LIBC, "libc"),
	TIMES("syscall", PATH_SYSCALL, "raw system call"),
	{NS("vdso_batch_p99_ns", path[PATH_VDSO].p99_ns), .fact = FACT(path[PATH_VDSO].fact),
		.reason = "reason", .given = GIVEN(path[PATH_VDSO].p99_ns),
		.doc = "ns per call by the vDSO, 99th percentile of the batches' averages; null: "
		       "not timed"},
	{COMPUTED("judged_by", FIELD_WORD, judged_by), .options = FIELD_NEEDED | FIELD_FILLED,
		.words = judged_by_words,
		.doc = "path that the call is judged by: the vDSO, or libc where the vDSO does "
		       "not have it"},
	{COMPUTED("entered_kernel", FIELD_INTEGER, judged_entered), .options = FIELD_NEEDED,
		.most = UINT32_MAX,
		.doc = "calls by this path that entered the kernel under the proof; null: not "
		       "proven"},
	{COMPUTED("attempts", FIELD_INTEGER, judged_attempts), .options = FIELD_NEEDED,
		.most = UINT32_MAX,
		.doc = "calls by this path that were made under the proof; null: not proven"},
	{INTEGER("libc_entered_kernel", path[PATH_LIBC].entered, UINT32_MAX),
		.options = FIELD_NEEDED, .given = GIVEN(path[PATH_LIBC].attempts),
		.doc = "calls by libc that entered the kernel under the proof; null: not proven"},
	{INTEGER("libc_attempts", path[PATH_LIBC].attempts, UINT32_MAX), .options = FIELD_NEEDED,
		.given = GIVEN(path[PATH_LIBC].attempts),
		.doc = "calls by libc that were made under the proof; null: not proven"},
	{INTEGER("syscall_error", raw_error, ERRNO_MAX), .given = GIVEN(raw_error),
		.doc = "errno of the raw system call in plain use; null: no error was seen"},
	{FLAG_FACT("agrees", agrees),
		.doc = "whether the vDSO's values lie between those of two system calls"},
	{INTEGER("ahead_ns", ahead_ns, INT64_MAX), .fact = FACT(agrees.fact),
		.reason = "agrees_reason", .options = FIELD_SIGNED,
		.doc = "ns by which the vDSO's values are ahead of the kernel's, below zero where "
		       "they are behind; 0: they agree, or are not times"},
	{FLAG_FACT("libc_agrees", libc_agrees),
		.doc = "whether the values that libc returns lie between those of two system "
		       "calls"},
	{INTEGER("libc_ahead_ns", libc_ahead_ns, INT64_MAX), .fact = FACT(libc_agrees.fact),
		.reason = "libc_agrees_reason", .options = FIELD_SIGNED,
		.doc = "ns by which libc's values are ahead of the kernel's, as ahead_ns"},
	{COMPUTED("failed", FIELD_INTEGER, judged_failed), .most = UINT32_MAX,
		.doc = "calls by the judged path that failed without a system call, or returned "
		       "success and wrote no result; null: none did"},
	{COMPUTED("error", FIELD_INTEGER, judged_error), .most = ERRNO_MAX,
		.doc = "errno of the first of these; null: it returned success, or none failed"},
	{INTEGER("libc_failed", path[PATH_LIBC].failed, UINT32_MAX),
		.given = GIVEN(path[PATH_LIBC].failed), .doc = "the same of calls by libc"},
	{INTEGER("libc_error", path[PATH_LIBC].error, ERRNO_MAX),
		.given = GIVEN(path[PATH_LIBC].error),
		.doc = "errno of the first of these; null as of error"},
	{COMPUTED("signal", FIELD_INTEGER, judged_signal), .options = FIELD_NEEDED, .most = NSIG,
		.doc = "number of the signal that ended the call by this path; null: none did"},
	{COMPUTED("reason", FIELD_REASON, call_reason),
		.doc = "why its times or counts are null, the first reason that applies; null: "
		       "none does"},
	{0},
};
