/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "base/fault.h"
#include "base/text.h"
#include "document/json_value.h"
#include "judge/tally.h"

static json_t *tenths(bool known, double ns)
{
	return json_value_real(known, ns, 1);
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
	json_value_set(object, "current", current ? json_string(clocksource->current) : NULL);
	json_value_set(object, "changed_to",
		*clocksource->changed_to ? json_string(clocksource->changed_to) : NULL);
	json_value_set(object, "changes", json_integer(clocksource->changes));
	json_value_set(object, "available", available);
	json_value_set(object, "reason",
		json_value_reason(
			current ? &clocksource->available_fact : &clocksource->current_fact));
	return object;
}

static json_t *vdso_object(const struct vdso_evidence *vdso)
{
	json_t *object = json_object();
	bool known = fact_is_known(&vdso->fact) || vdso->fact.state == FACT_ABSENT;
	json_t *exports = known ? json_array() : NULL;

	for (size_t i = 0; known && i < vdso->export_count; i++) {
		json_t *export = json_object();

		json_value_set(export, "name", json_string(vdso->exports[i].name));
		json_value_set(export, "version", json_value_text(vdso->exports[i].version));
		json_array_append_new(exports, export);
	}
	json_value_set(object, "present",
		fact_is_known(&vdso->fact)        ? json_true()
		: vdso->fact.state == FACT_ABSENT ? json_false()
						  : NULL);
	json_value_set(object, "soname", json_value_text(vdso->soname));
	json_value_set(object, "exports", exports);
	json_value_set(object, "reason", json_value_reason(&vdso->fact));
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

	json_value_set(object, "mode", known ? json_integer(vclock->mode) : NULL);
	json_value_set(object, "name", json_value_text(vclock->name));
	json_value_set(object, "how", json_string(how_name(vclock->how)));
	json_value_set(object, "layout", json_value_text(vclock->layout));
	json_value_set(object, "time_namespace",
		vclock->how == VCLOCK_READ || vclock->time_namespace
			? json_boolean(vclock->time_namespace)
			: NULL);
	json_value_set(object, "pvclock_stable", flag_value(&vclock->pvclock_stable));
	json_value_set(object, "pvclock_reason", json_value_reason(&vclock->pvclock_stable.fact));
	json_value_set(object, "hyperv_sequence", number_value(&vclock->hyperv_sequence));
	json_value_set(object, "hyperv_reason", json_value_reason(&vclock->hyperv_sequence.fact));
	json_value_set(object, "reason", json_value_reason(&vclock->fact));
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

	json_value_set(object, "taken", json_boolean(taken));
	json_value_set(object, "method", json_value_text(methods[proof->method]));
	json_value_set(object, "cpus", taken ? json_integer(proof->cpus) : NULL);
	json_value_set(object, "note", json_value_text(proof->note));
	json_value_set(object, "reason", json_value_reason(&proof->fact));
	return object;
}

/* Of what is part of a measurement: what failed is the part, or all of it. */
static json_t *reason_within(const struct fact *whole, const struct fact *part)
{
	return json_value_reason(fact_is_known(whole) ? part : whole);
}

static json_t *timing_object(const struct timing_evidence *timing)
{
	json_t *object = json_object();
	bool timed = fact_is_known(&timing->fact);
	bool pinned = timed && timing->cpu >= 0;

	json_value_set(object, "counter", json_value_text(timing->counter));
	json_value_set(object, "counter_ns",
		tenths(timed && fact_is_known(&timing->counter_fact), timing->counter_ns));
	json_value_set(
		object, "counter_reason", reason_within(&timing->fact, &timing->counter_fact));
	json_value_set(object, "ordered_counter_ns",
		tenths(timed && fact_is_known(&timing->ordered_fact), timing->ordered_ns));
	json_value_set(object, "ordered_counter_reason",
		reason_within(&timing->fact, &timing->ordered_fact));
	json_value_set(object, "getppid_ns",
		tenths(timed && fact_is_known(&timing->entry_fact), timing->entry_ns));
	json_value_set(object, "getppid_reason", reason_within(&timing->fact, &timing->entry_fact));
	json_value_set(object, "chunks", timed ? json_integer(timing->chunks) : NULL);
	json_value_set(object, "cpu", pinned ? json_integer(timing->cpu) : NULL);
	json_value_set(object, "cpu_reason",
		pinned || !timed ? json_value_reason(&timing->fact)
				 : json_string("denied: the process could not be tied to a CPU"));
	json_value_set(object, "reason", json_value_reason(&timing->fact));
	return object;
}

static void set_counts(
	json_t *object, const struct path_evidence *path, const char *entered, const char *attempts)
{
	json_value_set(object, entered, path->attempts ? json_integer(path->entered) : NULL);
	json_value_set(object, attempts, path->attempts ? json_integer(path->attempts) : NULL);
}

/* The same for what was to be timed and was not. */
static json_t *untimed_reason(
	const struct timing_evidence *timing, const struct call_evidence *call)
{
	const struct path_evidence *raw = &call->path[PATH_SYSCALL];

	if (call->raw_error)
		return json_sprintf("denied: the system call: %s", strerror(call->raw_error));
	if (!raw->timed && !fact_is_known(&timing->entry_fact))
		return json_value_reason(&timing->entry_fact);
	if (!raw->available)
		return json_string("absent: no such system call on this architecture");
	if (!raw->timed || !call->path[PATH_VDSO].timed || !call->path[PATH_LIBC].timed)
		return json_string("failed: every measurement was disturbed");
	return NULL;
}

/* Why numbers of a call are null, the first that applies; null if none is. */
static json_t *call_reason(const struct evidence *evidence, const struct call_evidence *call)
{
	const struct path_evidence *judged = &call->path[tally_path(call)];

	if (judged->signal)
		return json_sprintf(
			"failed: the call ends with %s", fault_signal_name(judged->signal));
	if (!fact_is_known(&evidence->proof.fact))
		return json_value_reason(&evidence->proof.fact);
	if (!fact_is_known(&evidence->timing.fact))
		return json_value_reason(&evidence->timing.fact);
	if (!call->path[PATH_VDSO].available)
		return json_string("absent: the vDSO does not export this call");
	return untimed_reason(&evidence->timing, call);
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

	json_value_set(object, "call", json_string(call->call));
	json_value_set(object, "clock", json_value_text(call->clock));
	json_value_set(object, "decides", json_boolean(call->decides));
	for (int path = 0; path < PATH_COUNT; path++) {
		const struct path_evidence *times = &call->path[path];

		json_value_set(object, time_keys[path][0], tenths(times->timed, times->min_ns));
		json_value_set(object, time_keys[path][1], tenths(times->timed, times->median_ns));
	}
	json_value_set(object, "vdso_batch_p99_ns",
		tenths(call->path[PATH_VDSO].timed && call->path[PATH_VDSO].p99_ns > 0,
			call->path[PATH_VDSO].p99_ns));
	json_value_set(object, "judged_by", json_string(judged == PATH_VDSO ? "vdso" : "libc"));
	set_counts(object, &call->path[judged], "entered_kernel", "attempts");
	set_counts(object, &call->path[PATH_LIBC], "libc_entered_kernel", "libc_attempts");
	json_value_set(
		object, "syscall_error", call->raw_error ? json_integer(call->raw_error) : NULL);
	json_value_set(object, "signal",
		call->path[judged].signal ? json_integer(call->path[judged].signal) : NULL);
	json_value_set(object, "reason", call_reason(evidence, call));
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
static void set_with_reason(json_t *object, const char *key, json_t *value, const struct fact *fact)
{
	char reason_key[64];

	snprintf(reason_key, sizeof(reason_key), "%s_reason", key);
	json_value_set(object, key, value);
	if (!fact_is_known(fact))
		json_value_set(object, reason_key, json_value_reason(fact));
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
		{"tsc_flags", &host->tsc_flags},
		{"restore_device", &host->restore_device},
	};
	const struct {
		const char *key;
		const struct flag_fact *flag;
	} flags[] = {
		{"invariant_tsc", &host->invariant_tsc},
		{"kvm_clock_offered", &host->kvm_clock_offered},
		{"kvm_clock_stable", &host->kvm_clock_stable},
		{"xen_tsc_reliable", &host->xen_tsc_reliable},
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
	set_with_reason(
		object, "xen_tsc_mode", number_value(&host->xen_tsc_mode), &host->xen_tsc_mode.fact);
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

		json_value_set(line, "seconds", seconds >= 0 ? json_real(seconds) : NULL);
		json_value_set(line, "text", json_string(log->lines[i].text));
		json_array_append_new(lines, line);
	}
	json_value_set(object, "read", json_boolean(fact_is_known(&log->fact)));
	json_value_set(object, "source", json_value_text(log->source));
	json_value_set(object, "lines", lines);
	json_value_set(object, "reason", json_value_reason(&log->fact));
	return object;
}

static json_t *cause_object(const struct cause *cause)
{
	json_t *object = json_object();
	json_t *evidence = json_array();

	for (size_t i = 0; i < cause->evidence_count; i++)
		json_array_append_new(evidence, json_string(cause->evidence[i]));
	json_value_set(object, "id", json_string(cause->id));
	json_value_set(object, "text", json_string(cause->text));
	json_value_set(object, "certainty", json_string(cause_certainty_name(cause->certainty)));
	json_value_set(object, "more", json_value_text(cause->more));
	json_value_set(object, "evidence", evidence);
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

		json_value_set(object, "id", json_string(judgement->contradictions[i].id));
		json_value_set(object, "text", json_string(judgement->contradictions[i].text));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *steps_array(const struct advice_step *steps, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();

		json_value_set(object, "text", json_value_text(steps[i].text));
		json_value_set(object, "command", json_value_text(steps[i].command));
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

		json_value_set(object, "id", json_string(advice->id));
		json_value_set(object, "text", json_string(advice->text));
		json_value_set(object, "steps", steps_array(advice->steps, advice->step_count));
		json_value_set(object, "keep", steps_array(advice->keep, advice->keep_count));
		json_value_set(object, "undo", json_value_text(advice->undo));
		json_value_set(object, "ask", json_value_text(advice->ask));
		json_value_set(object, "risk", json_value_text(advice->risk));
		json_value_set(object, "source", json_value_text(advice->source));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *cost_object(const struct judgement *judgement)
{
	const struct cost *cost = &judgement->cost;
	json_t *object = json_object();

	json_value_set(object, "call_ns", tenths(cost->known, cost->call_ns));
	json_value_set(object, "syscall_ns", tenths(cost->known, cost->syscall_ns));
	json_value_set(object, "user_space_ns",
		tenths(cost->known && cost->estimated, cost->user_space_ns));
	json_value_set(
		object, "lost_ns", tenths(cost->known && cost->estimated, cost_lost_ns(cost)));
	json_value_set(object, "reason", json_value_text(cost->reason));
	json_value_set(object, "rate_per_s", cost->rate > 0 ? json_real(cost->rate) : NULL);
	json_value_set(object, "lost_cpu_percent",
		tenths(cost->known && cost->estimated && cost->rate > 0,
			cost_share_percent(cost_lost_ns(cost), cost->rate)));
	json_value_set(object, "rate_reason",
		cost->rate > 0 ? NULL : json_string("absent: none was given"));
	return object;
}

/* Any bytes may be in the name of a file, and only UTF-8 in JSON. */
static json_t *file_name(const char *path)
{
	json_t *name = json_string(path);
	char harmless[PATH_MAX];

	if (name)
		return name;
	text_copy(harmless, sizeof(harmless), path);
	return json_string(harmless);
}

static json_t *root_object(const struct document *document)
{
	const struct evidence *evidence = document->evidence;
	const struct judgement *judgement = document->judgement;
	const struct ruling *ruling = &judgement->ruling;
	json_t *root = json_object();

	json_value_set(root, "schema", json_string(JSON_SCHEMA));
	json_value_set(root, "version", json_string(VDSOCHECK_VERSION));
	if (document->file)
		json_value_set(root, "file", file_name(document->file));
	json_value_set_moment(root, &evidence->moment);
	json_value_set(root, "verdict", json_string(verdict_name(ruling->verdict)));
	json_value_set(root, "exit_status", json_integer(verdict_exit_status(ruling->verdict)));
	json_value_set(root, "summary", json_string(ruling->summary));
	json_value_set(root, "rule", json_string(ruling->rule));
	json_value_set(root, "rests_on", witnesses(ruling));
	json_value_set(root, "live", json_boolean(evidence->live));
	json_value_set(root, "clocksource", clocksource_object(&evidence->clocksource));
	json_value_set(root, "vdso", vdso_object(&evidence->vdso));
	json_value_set(root, "vclock", vclock_object(&evidence->vclock));
	json_value_set(root, "proof", proof_object(&evidence->proof));
	json_value_set(root, "timing", timing_object(&evidence->timing));
	json_value_set(root, "calls", calls_array(evidence));
	json_value_set(root, "host", host_object(&evidence->host));
	json_value_set(root, "kernel_log", kernel_log_object(&evidence->kernel_log));
	json_value_set(root, "contradictions", contradictions_array(judgement));
	json_value_set(root, "causes", causes_array(judgement));
	json_value_set(root, "advice", advice_array(judgement));
	json_value_set(root, "cost", cost_object(judgement));
	return root;
}

bool json_write(const void *result, const struct style *style, FILE *out)
{
	json_t *root = root_object(result);

	return style->compact ? json_value_write_line(root, out) : json_value_write(root, out);
}
