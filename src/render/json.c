/* SPDX-License-Identifier: MIT */
#include "render/json.h"

#include <jansson.h>
#include <math.h>

#include "base/fault.h"
#include "base/version.h"
#include "judge/tally.h"

/* A double holds 15 digits whatever they are: enough for tenths, and no 596.10000000000002. */
#define REAL_DIGITS 15

/* The key is there whatever happens: a value that is not known is null. */
static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value ? value : json_null());
}

static json_t *string_or_null(const char *text)
{
	return text && *text ? json_string(text) : NULL;
}

/* null where the fact is known; else what state it is in and why. */
static json_t *reason_of(const struct fact *fact)
{
	char text[FACT_REASON_SIZE + 16];

	if (fact_is_known(fact))
		return NULL;
	fact_describe(fact, text, sizeof(text));
	return json_string(text);
}

static json_t *tenths(bool known, double ns)
{
	return known ? json_real(round(ns * 10) / 10) : NULL;
}

static json_t *text_value(const struct text_fact *text)
{
	return fact_is_known(&text->fact) ? json_string(text->value) : NULL;
}

static json_t *flag_value(const struct flag_fact *flag)
{
	return fact_is_known(&flag->fact) ? json_boolean(flag->value) : NULL;
}

static json_t *number_value(const struct number_fact *number)
{
	return fact_is_known(&number->fact) ? json_integer(number->value) : NULL;
}

static json_t *witnesses(const struct ruling *ruling)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < WITNESS_COUNT; i++) {
		if (ruling->witnesses & 1u << i)
			json_array_append_new(
				list, json_string(verdict_witness_name((enum witness)(1u << i))));
	}
	return list;
}

static json_t *clocksource_object(const struct clocksource_evidence *clocksource)
{
	json_t *object = json_object();
	json_t *available = NULL;
	bool current = fact_is_known(&clocksource->current_fact);

	if (fact_is_known(&clocksource->available_fact)) {
		available = json_array();
		for (size_t i = 0; i < clocksource->available_count; i++)
			json_array_append_new(available, json_string(clocksource->available[i]));
	}
	set(object, "current", current ? json_string(clocksource->current) : NULL);
	set(object, "available", available);
	set(object, "reason",
		reason_of(current ? &clocksource->available_fact : &clocksource->current_fact));
	return object;
}

static json_t *vdso_object(const struct vdso_evidence *vdso)
{
	json_t *object = json_object();
	bool known = fact_is_known(&vdso->fact) || vdso->fact.state == FACT_ABSENT;
	json_t *exports = known ? json_array() : NULL;

	for (size_t i = 0; known && i < vdso->export_count; i++) {
		json_t *export = json_object();

		set(export, "name", json_string(vdso->exports[i].name));
		set(export, "version", string_or_null(vdso->exports[i].version));
		json_array_append_new(exports, export);
	}
	set(object, "present",
		fact_is_known(&vdso->fact)                    ? json_true()
		: vdso->fact.state == FACT_ABSENT ? json_false() : NULL);
	set(object, "soname", string_or_null(vdso->soname));
	set(object, "exports", exports);
	set(object, "reason", reason_of(&vdso->fact));
	return object;
}

static const char *how_name(enum vclock_how how)
{
	static const char *const names[] = {
		[VCLOCK_UNKNOWN] = "unknown",
		[VCLOCK_INFERRED] = "inferred",
		[VCLOCK_READ] = "read",
	};

	return names[how];
}

static json_t *vclock_object(const struct vclock_evidence *vclock)
{
	json_t *object = json_object();
	bool known = vclock->how != VCLOCK_UNKNOWN;

	set(object, "mode", known ? json_integer(vclock->mode) : NULL);
	set(object, "name", string_or_null(vclock->name));
	set(object, "how", json_string(how_name(vclock->how)));
	set(object, "layout", string_or_null(vclock->layout));
	set(object, "time_namespace",
		vclock->how == VCLOCK_READ || vclock->time_namespace
			? json_boolean(vclock->time_namespace)
			: NULL);
	set(object, "pvclock_stable", flag_value(&vclock->pvclock_stable));
	set(object, "pvclock_reason", reason_of(&vclock->pvclock_stable.fact));
	set(object, "hyperv_sequence", number_value(&vclock->hyperv_sequence));
	set(object, "hyperv_reason", reason_of(&vclock->hyperv_sequence.fact));
	set(object, "reason", reason_of(&vclock->fact));
	return object;
}

static json_t *proof_object(const struct proof_evidence *proof)
{
	static const char *const methods[] = {
		[PROOF_NONE] = NULL,
		[PROOF_SECCOMP] = "seccomp",
		[PROOF_PTRACE] = "ptrace",
	};
	json_t *object = json_object();
	bool taken = fact_is_known(&proof->fact);

	set(object, "taken", json_boolean(taken));
	set(object, "method", string_or_null(methods[proof->method]));
	set(object, "cpus", taken ? json_integer(proof->cpus) : NULL);
	set(object, "note", string_or_null(proof->note));
	set(object, "reason", reason_of(&proof->fact));
	return object;
}

/* Of what is part of a measurement: what failed is the part, or all of it. */
static json_t *reason_within(const struct fact *whole, const struct fact *part)
{
	return reason_of(fact_is_known(whole) ? part : whole);
}

static json_t *timing_object(const struct timing_evidence *timing)
{
	json_t *object = json_object();
	bool timed = fact_is_known(&timing->fact);
	bool pinned = timed && timing->cpu >= 0;

	set(object, "counter", string_or_null(timing->counter));
	set(object, "counter_ns",
		tenths(timed && fact_is_known(&timing->counter_fact), timing->counter_ns));
	set(object, "counter_reason", reason_within(&timing->fact, &timing->counter_fact));
	set(object, "getppid_ns",
		tenths(timed && fact_is_known(&timing->entry_fact), timing->entry_ns));
	set(object, "getppid_reason", reason_within(&timing->fact, &timing->entry_fact));
	set(object, "chunks", timed ? json_integer(timing->chunks) : NULL);
	set(object, "cpu", pinned ? json_integer(timing->cpu) : NULL);
	set(object, "cpu_reason",
		pinned || !timed ? reason_of(&timing->fact)
				 : json_string("denied: the process could not be tied to a CPU"));
	set(object, "reason", reason_of(&timing->fact));
	return object;
}

static void set_counts(json_t *object, const struct path_evidence *path, const char *entered,
	const char *attempts)
{
	set(object, entered, path->attempts ? json_integer(path->entered) : NULL);
	set(object, attempts, path->attempts ? json_integer(path->attempts) : NULL);
}

/* Why numbers of a call are null, the first that applies; null if none is. */
static json_t *call_reason(const struct evidence *evidence, const struct call_evidence *call)
{
	const struct path_evidence *judged = &call->path[tally_path(call)];

	if (judged->signal)
		return json_sprintf("failed: the call ends with %s",
			fault_signal_name(judged->signal));
	if (!fact_is_known(&evidence->proof.fact))
		return reason_of(&evidence->proof.fact);
	if (!fact_is_known(&evidence->timing.fact))
		return reason_of(&evidence->timing.fact);
	if (!call->path[PATH_VDSO].available)
		return json_string("absent: the vDSO does not export this call");
	if (!call->path[PATH_SYSCALL].timed)
		return json_string("absent: no such system call on this architecture");
	return NULL;
}

static json_t *call_object(const struct evidence *evidence, const struct call_evidence *call)
{
	static const char *const time_keys[][2] = {
		[PATH_VDSO] = {"vdso_ns", "vdso_median_ns"},
		[PATH_LIBC] = {"libc_ns", "libc_median_ns"},
		[PATH_SYSCALL] = {"syscall_ns", "syscall_median_ns"},
	};
	enum call_path judged = tally_path(call);
	json_t *object = json_object();

	set(object, "call", json_string(call->call));
	set(object, "clock", string_or_null(call->clock));
	set(object, "decides", json_boolean(call->decides));
	for (int path = 0; path < PATH_COUNT; path++) {
		const struct path_evidence *times = &call->path[path];

		set(object, time_keys[path][0], tenths(times->timed, times->min_ns));
		set(object, time_keys[path][1], tenths(times->timed, times->median_ns));
	}
	set(object, "judged_by", json_string(judged == PATH_VDSO ? "vdso" : "libc"));
	set_counts(object, &call->path[judged], "entered_kernel", "attempts");
	set_counts(object, &call->path[PATH_LIBC], "libc_entered_kernel", "libc_attempts");
	set(object, "syscall_error", call->raw_error ? json_integer(call->raw_error) : NULL);
	set(object, "signal",
		call->path[judged].signal ? json_integer(call->path[judged].signal) : NULL);
	set(object, "reason", call_reason(evidence, call));
	return object;
}

static json_t *calls_array(const struct evidence *evidence)
{
	json_t *calls = json_array();

	for (size_t i = 0; i < evidence->call_count; i++)
		json_array_append_new(calls, call_object(evidence, &evidence->calls[i]));
	return calls;
}

/* Each key and, where its value is null, KEY_reason beside it. */
static void set_with_reason(
	json_t *object, const char *key, json_t *value, const struct fact *fact)
{
	char reason_key[64];

	snprintf(reason_key, sizeof(reason_key), "%s_reason", key);
	set(object, key, value);
	if (!fact_is_known(fact))
		set(object, reason_key, reason_of(fact));
}

static json_t *host_object(const struct host_evidence *host)
{
	const struct {
		const char *key;
		const struct text_fact *text;
	} texts[] = {
		{"name", &host->name},
		{"kernel", &host->kernel},
		{"kernel_build", &host->kernel_build},
		{"arch", &host->arch},
		{"cpu", &host->cpu},
		{"hypervisor", &host->hypervisor},
		{"container", &host->container},
		{"platform", &host->platform},
		{"emulator", &host->emulator},
		{"libc", &host->libc},
		{"boot_parameters", &host->boot},
	};
	const struct {
		const char *key;
		const struct flag_fact *flag;
	} flags[] = {
		{"invariant_tsc", &host->invariant_tsc},
		{"libc_static", &host->libc_static},
		{"counter_off", &host->counter_off},
	};
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		set_with_reason(
			object, texts[i].key, text_value(texts[i].text), &texts[i].text->fact);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		set_with_reason(
			object, flags[i].key, flag_value(flags[i].flag), &flags[i].flag->fact);
	set_with_reason(object, "tracer_pid", number_value(&host->tracer), &host->tracer.fact);
	set_with_reason(object, "seccomp", number_value(&host->seccomp), &host->seccomp.fact);
	return object;
}

static json_t *kernel_log_object(const struct kernel_log_evidence *log)
{
	json_t *object = json_object();
	json_t *lines = json_array();

	for (size_t i = 0; i < log->count; i++) {
		json_t *line = json_object();
		double seconds = log->lines[i].seconds;

		set(line, "seconds", seconds >= 0 ? json_real(seconds) : NULL);
		set(line, "text", json_string(log->lines[i].text));
		json_array_append_new(lines, line);
	}
	set(object, "read", json_boolean(fact_is_known(&log->fact)));
	set(object, "source", string_or_null(log->source));
	set(object, "lines", lines);
	set(object, "reason", reason_of(&log->fact));
	return object;
}

static json_t *cause_object(const struct cause *cause)
{
	json_t *object = json_object();
	json_t *evidence = json_array();

	for (size_t i = 0; i < cause->evidence_count; i++)
		json_array_append_new(evidence, json_string(cause->evidence[i]));
	set(object, "id", json_string(cause->id));
	set(object, "text", json_string(cause->text));
	set(object, "certainty", json_string(cause_certainty_name(cause->certainty)));
	set(object, "more", string_or_null(cause->more));
	set(object, "evidence", evidence);
	return object;
}

static json_t *causes_array(const struct judgement *judgement)
{
	json_t *causes = json_array();

	for (size_t i = 0; i < judgement->cause_count; i++)
		json_array_append_new(causes, cause_object(&judgement->causes[i]));
	return causes;
}

static json_t *contradictions_array(const struct judgement *judgement)
{
	json_t *list = json_array();

	for (size_t i = 0; i < judgement->contradiction_count; i++) {
		json_t *object = json_object();

		set(object, "id", json_string(judgement->contradictions[i].id));
		set(object, "text", json_string(judgement->contradictions[i].text));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *advice_array(const struct judgement *judgement)
{
	json_t *list = json_array();

	for (size_t i = 0; i < judgement->advice_count; i++) {
		const struct advice *advice = &judgement->advice[i];
		json_t *object = json_object();

		set(object, "id", json_string(advice->id));
		set(object, "text", json_string(advice->text));
		set(object, "check", string_or_null(advice->check));
		set(object, "command", string_or_null(advice->command));
		set(object, "keep", string_or_null(advice->keep));
		set(object, "keep_command", string_or_null(advice->keep_command));
		set(object, "ask", string_or_null(advice->ask));
		set(object, "risk", string_or_null(advice->risk));
		set(object, "source", string_or_null(advice->source));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *cost_object(const struct cost *cost)
{
	json_t *object = json_object();

	set(object, "call_ns", tenths(cost->known, cost->call_ns));
	set(object, "syscall_ns", tenths(cost->known, cost->syscall_ns));
	set(object, "user_space_ns", tenths(cost->known && cost->estimated, cost->user_space_ns));
	set(object, "lost_ns", tenths(cost->known && cost->estimated, cost_lost_ns(cost)));
	set(object, "reason",
		cost->known && cost->estimated ? NULL
		: cost->known ? json_string("absent: no counter to estimate user space by")
			      : json_string("absent: the calls were not timed"));
	set(object, "rate_per_s", cost->rate > 0 ? json_real(cost->rate) : NULL);
	set(object, "lost_cpu_percent",
		tenths(cost->known && cost->estimated && cost->rate > 0,
			cost_share_percent(cost_lost_ns(cost), cost->rate)));
	set(object, "rate_reason", cost->rate > 0 ? NULL : json_string("absent: none was given"));
	return object;
}

static json_t *root_object(const struct document *document)
{
	const struct evidence *evidence = document->evidence;
	const struct judgement *judgement = document->judgement;
	const struct ruling *ruling = &judgement->ruling;
	json_t *root = json_object();

	set(root, "schema", json_string(JSON_SCHEMA));
	set(root, "version", json_string(version_string));
	set(root, "verdict", json_string(verdict_name(ruling->verdict)));
	set(root, "exit_status", json_integer(verdict_exit_status(ruling->verdict)));
	set(root, "summary", json_string(ruling->summary));
	set(root, "rule", json_string(ruling->rule));
	set(root, "rests_on", witnesses(ruling));
	set(root, "live", json_boolean(evidence->live));
	set(root, "clocksource", clocksource_object(&evidence->clocksource));
	set(root, "vdso", vdso_object(&evidence->vdso));
	set(root, "vclock", vclock_object(&evidence->vclock));
	set(root, "proof", proof_object(&evidence->proof));
	set(root, "timing", timing_object(&evidence->timing));
	set(root, "calls", calls_array(evidence));
	set(root, "host", host_object(&evidence->host));
	set(root, "kernel_log", kernel_log_object(&evidence->kernel_log));
	set(root, "contradictions", contradictions_array(judgement));
	set(root, "causes", causes_array(judgement));
	set(root, "advice", advice_array(judgement));
	set(root, "cost", cost_object(&judgement->cost));
	return root;
}

bool json_write(const struct document *document, FILE *out)
{
	json_t *root = root_object(document);
	bool written;

	written = root && json_dumpf(root, out,
				  JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS)) == 0;
	json_decref(root);
	fputc('\n', out);
	return written;
}
