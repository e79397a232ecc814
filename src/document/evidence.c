/* SPDX-License-Identifier: MIT */
/*
 * The fields of the evidence in a document of `vdsocheck check`: each key once, in the order
 * in which it is printed. Functions compute or settle a value where struct evidence holds it in
 * another form, and refuse documents that contradict themselves.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/fault.h"
#include "base/text.h"
#include "document.h"

/* MAX_ERRNO of the kernel. */
#define ERRNO_MAX 4095

/* ---- moment ---- */

/* More than any host has been up: a century. */
#define UPTIME_MAX 3200000000

static const char *settle_moment(void *object, const json_t *from)
{
	const struct moment_evidence *moment = object;

	(void)from;
	if (fact_is_known(&moment->time.fact) && !text_is_time(text_span(moment->time.value)))
		return "time is not one such as 2026-11-21T15:02:11Z";
	return NULL;
}

#define OF struct moment_evidence

const struct field moment_fields[] = {
	{TEXT("time", time.value), .fact = FACT(time.fact), .reason = "time_reason"},
	{REASON("time_reason")},
	{.key = "uptime_s",
		.kind = FIELD_REAL,
		.decimals = 1,
		.most = UPTIME_MAX,
		TYPED(uptime_s, double *),
		.fact = FACT(uptime_fact),
		.reason = "uptime_reason"},
	{REASON("uptime_reason")},
	{0},
};

struct document_part moment_part(const struct moment_evidence *from, struct moment_evidence *to)
{
	return (struct document_part){
		.fields = moment_fields, .from = from, .to = to, .settle = settle_moment};
}

/* ---- clocksource ---- */

#undef OF

#define OF struct clocksource_evidence

static const struct field name_element[] = {
	{.key = "", .kind = FIELD_TEXT, .options = FIELD_FILLED, .size = CLOCKSOURCE_NAME_SIZE},
	{0},
};

static const struct field clocksource_fields[] = {
	{TEXT("current", current), .fact = FACT(current_fact), .reason = "reason"},
	{TEXT("changed_to", changed_to)},
	{INTEGER("changes", changes, UINT32_MAX), .options = FIELD_NEEDED | FIELD_FILLED},
	{LIST("available", available, available_count, name_element), .fact = FACT(available_fact),
		.reason = "reason"},
	{REASON("reason")},
	{NUMBER_FACT("tick_ns", tick_ns, INT32_MAX)},
	{0},
};

/* ---- vDSO ---- */

#undef OF
#define OF struct vdso_export

static const struct field export_fields[] = {
	{TEXT("name", name), .options = FIELD_FILLED},
	{TEXT("version", version)},
	{0},
};

static bool knows_exports(const void *object)
{
	const struct vdso_evidence *vdso = object;

	return fact_is_known(&vdso->fact) || vdso->fact.state == FACT_ABSENT;
}

#undef OF
#define OF struct vdso_evidence

static const struct field vdso_fields[] = {
	{KNOWN("present", fact), .options = FIELD_ABSENT_FALSE, .reason = "reason"},
	{TEXT("soname", soname)},
	{LIST("exports", exports, export_count, export_fields), .has = knows_exports},
	{REASON("reason")},
	{0},
};

/* ---- vclock ---- */

static const char *const hows[] = {
	[VCLOCK_UNKNOWN] = "unknown",
	[VCLOCK_INFERRED] = "inferred",
	[VCLOCK_COPY] = "copy",
	[VCLOCK_READ] = "read",
	NULL,
};

static bool knows_mode(const void *object)
{
	const struct vclock_evidence *vclock = object;

	return vclock->how != VCLOCK_UNKNOWN;
}

static bool knows_namespace(const void *object)
{
	const struct vclock_evidence *vclock = object;

	return vclock->how == VCLOCK_READ || vclock->time_namespace;
}

static const char *settle_vclock(void *object, const json_t *from)
{
	struct vclock_evidence *vclock = object;

	if (!json_is_integer(json_object_get(from, "mode")))
		vclock->how = VCLOCK_UNKNOWN;
	if (vclock->how == VCLOCK_READ)
		fact_set_known(&vclock->fact);
	return NULL;
}

#undef OF
#define OF struct vclock_evidence

static const struct field vclock_fields[] = {
	{INTEGER("mode", mode, VCLOCK_MODE_TIMENS), .has = knows_mode},
	{TEXT("name", name)},
	{WORD("how", how, hows)},
	{TEXT("layout", layout)},
	{FLAG("time_namespace", time_namespace), .has = knows_namespace},
	{FLAG("pvclock_stable", pvclock_stable.value), .fact = FACT(pvclock_stable.fact),
		.reason = "pvclock_reason"},
	{REASON("pvclock_reason")},
	{INTEGER("hyperv_sequence", hyperv_sequence.value, UINT32_MAX),
		.fact = FACT(hyperv_sequence.fact), .reason = "hyperv_reason"},
	{REASON("hyperv_reason")},
	{REASON("reason"), .fact = FACT(fact)},
	{0},
};

/* ---- copy and what_if ---- */

#undef OF
#define OF struct copy_evidence

static const struct field copy_fields[] = {
	{INTEGER("mode", mode, VCLOCK_MODE_TIMENS), .fact = FACT(fact), .reason = "reason"},
	{INTEGER("offset", at, INT32_MAX), .options = FIELD_SIGNED, .fact = FACT(fact),
		.reason = "reason"},
	{FLAG("falls_back", falls_back), .fact = FACT(fact), .reason = "reason"},
	{REASON("reason")},
	{0},
};

static const struct field what_if_fields[] = {
	{NS("tsc_ns", what_if_ns), .fact = FACT(what_if_fact), .reason = "reason"},
	{REASON("reason")},
	{0},
};

/* ---- proof ---- */

static const char *const methods[] = {
	[PROOF_NONE] = "",
	[PROOF_SECCOMP] = "seccomp",
	[PROOF_PTRACE] = "ptrace",
	NULL,
};

#undef OF
#define OF struct proof_evidence

/* How often the deciding calls were made, by vDSO and libc; null where the proof was not taken. */
static json_t *proof_total(const struct evidence *evidence, bool entered)
{
	json_int_t total = 0;

	if (!fact_is_known(&evidence->proof.fact))
		return json_null();
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

static const struct field proof_fields[] = {
	{KNOWN("taken", fact), .options = FIELD_NEEDED | FIELD_FILLED, .reason = "reason"},
	{WORD("method", method, methods)},
	{COMPUTED("calls", FIELD_INTEGER, proof_calls), .most = INT64_MAX},
	{COMPUTED("entered_kernel", FIELD_INTEGER, proof_entered), .most = INT64_MAX},
	{INTEGER("cpus", cpus, UINT32_MAX), .whole = FACT(fact)},
	{TEXT("note", note)},
	{REASON("reason")},
	{0},
};

/* ---- timing ---- */

static json_t *cpu_reason(const void *object, const void *whole)
{
	const struct timing_evidence *timing = object;

	(void)whole;
	if (!fact_is_known(&timing->fact) || timing->cpu >= 0)
		return field_reason(&timing->fact);
	return json_string("denied: the process could not be tied to a CPU");
}

#undef OF
#define OF struct timing_evidence

static const struct field timing_fields[] = {
	{TEXT("counter", counter)},
	{NS("counter_ns", counter_ns), .options = FIELD_NEEDED, .fact = FACT(counter_fact),
		.whole = FACT(fact), .reason = "counter_reason"},
	{REASON("counter_reason")},
	{NS("ordered_counter_ns", ordered_ns), .fact = FACT(ordered_fact), .whole = FACT(fact),
		.reason = "ordered_counter_reason"},
	{REASON("ordered_counter_reason")},
	{NS("getppid_ns", syscall_floor_ns), .options = FIELD_NEEDED,
		.fact = FACT(syscall_floor_fact), .whole = FACT(fact), .reason = "getppid_reason"},
	{REASON("getppid_reason")},
	{INTEGER("chunks", batches, UINT32_MAX), .options = FIELD_NEEDED, .fact = FACT(fact),
		.reason = "reason"},
	{INTEGER("cpu", cpu, INT32_MAX), .options = FIELD_NEGATIVE_NONE, .whole = FACT(fact)},
	{COMPUTED("cpu_reason", FIELD_REASON, cpu_reason)},
	{REASON("reason")},
	{0},
};

/* ---- calls ---- */

static const struct path_evidence *judged_path(const void *object)
{
	const struct call_evidence *call = object;

	return &call->path[call_judged_path(call)];
}

static const char *const paths[] = {"vdso", "libc", NULL};

static json_t *judged_by(const void *object, const void *whole)
{
	(void)whole;
	return json_string(paths[call_judged_path(object)]);
}

static json_t *count(const struct path_evidence *path, uint32_t calls)
{
	return path->attempts ? json_integer(calls) : json_null();
}

static json_t *entered(const void *object, const void *whole)
{
	(void)whole;
	return count(judged_path(object), judged_path(object)->entered);
}

static json_t *attempts(const void *object, const void *whole)
{
	(void)whole;
	return count(judged_path(object), judged_path(object)->attempts);
}

static json_t *signal_number(const void *object, const void *whole)
{
	(void)whole;
	return judged_path(object)->signal ? json_integer(judged_path(object)->signal)
	                                   : json_null();
}

static bool has_error(const void *object)
{
	return ((const struct call_evidence *)object)->raw_error;
}

static bool is_libc_counted(const void *object)
{
	return ((const struct call_evidence *)object)->path[PATH_LIBC].attempts;
}

static bool has_vdso_p99(const void *object)
{
	const struct path_evidence *path = &((const struct call_evidence *)object)->path[PATH_VDSO];

	return path->timed && path->p99_ns > 0;
}

/* Read back, it only makes the same reason again: the judge asks for no raw system call. */
static const char no_such_call[] = "absent: no such system call on this architecture";

/* Why a time is missing although calls were timed. */
static json_t *untimed_reason(
	const struct timing_evidence *timing, const struct call_evidence *call)
{
	const struct path_evidence *raw = &call->path[PATH_SYSCALL];

	if (call->raw_error)
		return json_sprintf("denied: the system call: %s", strerror(call->raw_error));
	if (!raw->timed && !fact_is_known(&timing->syscall_floor_fact))
		return field_reason(&timing->syscall_floor_fact);
	if (!raw->available)
		return json_string(no_such_call);
	if (!raw->timed || !call->path[PATH_VDSO].timed || !call->path[PATH_LIBC].timed)
		return json_string("failed: every measurement was disturbed");
	return json_null();
}

/* Why numbers of a call are null, the first that applies; null if none is. */
static json_t *call_reason(const void *object, const void *whole)
{
	const struct call_evidence *call = object;
	const struct evidence *evidence = whole;

	if (judged_path(call)->signal)
		return json_sprintf("failed: the call ends with %s",
			fault_signal_name(judged_path(call)->signal));
	if (!fact_is_known(&evidence->proof.fact))
		return field_reason(&evidence->proof.fact);
	if (!fact_is_known(&evidence->timing.fact))
		return field_reason(&evidence->timing.fact);
	if (!call->path[PATH_VDSO].available)
		return json_string("absent: the vDSO does not export this call");
	return untimed_reason(&evidence->timing, call);
}

static uint32_t take_count(const json_t *from, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(from, key));
}

static const char *settle_call(void *object, const json_t *from)
{
	static const char *const times[] = {"vdso_ns", "libc_ns", "syscall_ns"};
	struct call_evidence *call = object;
	const char *by = json_string_value(json_object_get(from, "judged_by"));
	const char *reason = json_string_value(json_object_get(from, "reason"));
	struct path_evidence *judged = &call->path[strcmp(by, "vdso") == 0 ? PATH_VDSO : PATH_LIBC];

	for (int path = 0; path < PATH_COUNT; path++) {
		call->path[path].timed = json_is_number(json_object_get(from, times[path]));
		call->path[path].available = call->path[path].timed;
	}
	if (judged != &call->path[PATH_VDSO] && call->path[PATH_VDSO].available)
		return "is judged by libc, although the vDSO has it";
	for (int path = 0; path < PATH_COUNT && !reason; path++) {
		if (!call->path[path].timed)
			return "has a time that is null, but no reason";
	}
	judged->available = true;
	call->path[PATH_LIBC].available = true;
	call->path[PATH_SYSCALL].available = !reason || strcmp(reason, no_such_call) != 0;
	if (judged == &call->path[PATH_LIBC] &&
		(judged->entered != take_count(from, "entered_kernel") ||
			judged->attempts != take_count(from, "attempts")))
		return "is judged by libc, but libc's counts are others";
	judged->entered = take_count(from, "entered_kernel");
	judged->attempts = take_count(from, "attempts");
	judged->signal = (int)json_integer_value(json_object_get(from, "signal"));
	if (judged->attempts && !json_is_integer(json_object_get(from, "entered_kernel")))
		return "has attempts, but no entered_kernel";
	for (int path = 0; path < PATH_COUNT; path++) {
		if (call->path[path].entered > call->path[path].attempts)
			return "entered the kernel more often than it was made";
	}
	return NULL;
}

#undef OF
#define OF struct call_evidence

static const struct field call_fields[] = {
	{TEXT("call", call), .options = FIELD_NEEDED | FIELD_FILLED},
	{TEXT("clock", clock), .options = FIELD_NEEDED},
	{FLAG("decides", decides), .options = FIELD_NEEDED | FIELD_FILLED},
	{NS("vdso_ns", path[PATH_VDSO].min_ns), .options = FIELD_NEEDED,
		.given = GIVEN(path[PATH_VDSO].timed)},
	{NS("vdso_median_ns", path[PATH_VDSO].median_ns), .given = GIVEN(path[PATH_VDSO].timed)},
	{NS("libc_ns", path[PATH_LIBC].min_ns), .options = FIELD_NEEDED,
		.given = GIVEN(path[PATH_LIBC].timed)},
	{NS("libc_median_ns", path[PATH_LIBC].median_ns), .given = GIVEN(path[PATH_LIBC].timed)},
	{NS("syscall_ns", path[PATH_SYSCALL].min_ns), .options = FIELD_NEEDED,
		.given = GIVEN(path[PATH_SYSCALL].timed)},
	{NS("syscall_median_ns", path[PATH_SYSCALL].median_ns),
		.given = GIVEN(path[PATH_SYSCALL].timed)},
	{NS("vdso_batch_p99_ns", path[PATH_VDSO].p99_ns), .has = has_vdso_p99},
	{COMPUTED("judged_by", FIELD_WORD, judged_by), .options = FIELD_NEEDED | FIELD_FILLED,
		.words = paths},
	{COMPUTED("entered_kernel", FIELD_INTEGER, entered), .options = FIELD_NEEDED,
		.most = UINT32_MAX},
	{COMPUTED("attempts", FIELD_INTEGER, attempts), .options = FIELD_NEEDED,
		.most = UINT32_MAX},
	{INTEGER("libc_entered_kernel", path[PATH_LIBC].entered, UINT32_MAX),
		.options = FIELD_NEEDED, .has = is_libc_counted},
	{INTEGER("libc_attempts", path[PATH_LIBC].attempts, UINT32_MAX), .options = FIELD_NEEDED,
		.has = is_libc_counted},
	{INTEGER("syscall_error", raw_error, ERRNO_MAX), .has = has_error},
	{COMPUTED("signal", FIELD_INTEGER, signal_number), .options = FIELD_NEEDED, .most = NSIG},
	{COMPUTED("reason", FIELD_REASON, call_reason)},
	{0},
};

/* ---- host ---- */

#undef OF
#define OF struct host_evidence

static const struct field host_fields[] = {
	{TEXT_FACT("name", name)},
	{TEXT_FACT("instance_type", instance_type)},
	{TEXT_FACT("instance_id", instance_id)},
	{TEXT_FACT("region", region)},
	{TEXT_FACT("distribution", distribution)},
	{TEXT_FACT("kernel", kernel)},
	{TEXT_FACT("kernel_build", kernel_build)},
	{TEXT_FACT("arch", arch)},
	{TEXT_FACT("cpu", cpu)},
	{TEXT_FACT("cpu_model", cpu_model)},
	{NUMBER_FACT("cpu_count", cpu_count, INT32_MAX)},
	{TEXT_FACT("hypervisor", hypervisor)},
	{TEXT_FACT("hypervisor_version", hypervisor_version)},
	{TEXT_FACT("container", container)},
	{TEXT_FACT("platform", platform)},
	{TEXT("emulator", emulator.value), .fact = FACT(emulator.fact),
		.options = FIELD_NEEDED | FIELD_OWN_REASON},
	{TEXT_FACT("libc", libc)},
	{TEXT_FACT("boot_parameters", boot)},
	{TEXT_FACT("boot_tool", boot_tool)},
	{TEXT_FACT("tsc_flags", tsc_flags)},
	{FLAG_FACT("invariant_tsc", invariant_tsc)},
	{FLAG_FACT("kvm_clock_offered", kvm_clock_offered)},
	{FLAG_FACT("kvm_clock_stable", kvm_clock_stable)},
	{FLAG_FACT("xen_tsc_reliable", xen_tsc_reliable)},
	{FLAG_FACT("xen_tsc_emulated", xen_tsc_emulated)},
	{FLAG("libc_static", libc_static.value), .fact = FACT(libc_static.fact),
		.options = FIELD_NEEDED | FIELD_OWN_REASON},
	{FLAG_FACT("counter_off", counter_off)},
	{NUMBER_FACT("word_bits", word_bits, 64)},
	{NUMBER_FACT("xen_tsc_mode", xen_tsc_mode, INT32_MAX)},
	{NUMBER_FACT("tracer_pid", tracer, INT32_MAX)},
	{NUMBER_FACT("seccomp", seccomp, INT32_MAX)},
	{0},
};

/* ---- kernel log ---- */

#undef OF
#define OF struct kernel_log_line

static const struct field line_fields[] = {
	{REAL("seconds", seconds, -1), .options = FIELD_NEGATIVE_NONE},
	{TEXT("text", text), .options = FIELD_FILLED},
	{0},
};

#undef OF
#define OF struct kernel_log_evidence

static const struct field kernel_log_fields[] = {
	{KNOWN("read", fact), .options = FIELD_FILLED, .reason = "reason"},
	{TEXT("source", source)},
	{LIST("lines", lines, count, line_fields)},
	{REASON("reason")},
	{0},
};

/* ---- the document ---- */

static bool is_proven(const struct call_evidence *call)
{
	const struct path_evidence *judged = &call->path[call_judged_path(call)];

	return judged->attempts || judged->signal;
}

/* A document without calls is that of a captured tree; with calls it needs those that decide. */
static const char *settle_evidence(void *object, const json_t *from)
{
	const struct evidence *evidence = object;
	size_t found = 0;

	(void)from;
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *row = &evidence->calls[i];

		for (size_t k = 0; k < i; k++) {
			if (strcmp(row->call, evidence->calls[k].call) == 0 &&
				strcmp(row->clock, evidence->calls[k].clock) == 0)
				return "calls lists a call twice";
		}
		if (row->decides != call_decides(row->call, row->clock))
			return row->decides ? "calls lets a call decide that does not"
			                    : "calls lets a call not decide that does";
		if (row->decides && fact_is_known(&evidence->proof.fact) && !is_proven(row))
			return "calls lacks the attempts of a call that decides, although "
			       "proof.taken is true";
		found += row->decides;
	}
	if (evidence->call_count && found < DECIDING_CALLS)
		return "calls lacks one of gettimeofday, clock_gettime of CLOCK_REALTIME and "
		       "of CLOCK_MONOTONIC";
	return NULL;
}

#undef OF
#define OF struct evidence

static const struct field evidence_fields[] = {
	{FLAG("live", live), .options = FIELD_NEEDED | FIELD_FILLED},
	{OBJECT("clocksource", clocksource, clocksource_fields)},
	{OBJECT("vdso", vdso, vdso_fields)},
	{OBJECT("vclock", vclock, vclock_fields), .settle = settle_vclock},
	{OBJECT("copy", copy, copy_fields)},
	{OBJECT("proof", proof, proof_fields)},
	{OBJECT("what_if", copy, what_if_fields)},
	{OBJECT("timing", timing, timing_fields)},
	{LIST("calls", calls, call_count, call_fields), .options = FIELD_NEEDED | FIELD_FILLED,
		.settle = settle_call},
	{OBJECT("host", host, host_fields)},
	{OBJECT("kernel_log", kernel_log, kernel_log_fields)},
	{0},
};

struct document_part evidence_part(const struct evidence *from, struct evidence *to)
{
	return (struct document_part){
		.fields = evidence_fields, .from = from, .to = to, .settle = settle_evidence};
}
