/* SPDX-License-Identifier: MIT */
#include "document/recorded.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "collect/moment.h"

#define SCHEMA "vdsocheck/1"

/* MAX_ERRNO of the kernel. */
#define ERRNO_MAX 4095

/* More than any call takes: a year. */
#define NS_MAX 3.2e16

/* More than any host has been up: a century. */
#define UPTIME_MAX 3.2e9

/* The first thing that was wrong; everything after it is read in vain, which does no harm. */
struct reader {
	struct fact *why;
	bool failed;
};

static void refuse(struct reader *reader, const char *key, const char *wanted)
{
	if (reader->failed)
		return;
	reader->failed = true;
	fact_set(reader->why, FACT_FAILED, "key '%s' is not %s", key, wanted);
}

static bool is_missing(const json_t *value)
{
	return !value || json_is_null(value);
}

static json_t *take_object(struct reader *reader, const json_t *from, const char *key)
{
	json_t *value = json_object_get(from, key);

	if (is_missing(value))
		return NULL;
	if (!json_is_object(value)) {
		refuse(reader, key, "an object");
		return NULL;
	}
	return value;
}

static json_t *take_array(struct reader *reader, const json_t *from, const char *key)
{
	json_t *value = json_object_get(from, key);

	if (is_missing(value))
		return NULL;
	if (!json_is_array(value)) {
		refuse(reader, key, "an array");
		return NULL;
	}
	return value;
}

/* The element as an object; NULL, which reads as empty, if it is something else. */
static json_t *take_element(struct reader *reader, const json_t *list, size_t i, const char *key)
{
	json_t *value = json_array_get(list, i);

	if (json_is_object(value))
		return value;
	refuse(reader, key, "an array of objects");
	return NULL;
}

/* Each take_ below leaves its target alone, and returns false, where the key is missing. */

static bool take_string(
	struct reader *reader, const json_t *from, const char *key, char *to, size_t size)
{
	const json_t *value = json_object_get(from, key);

	if (is_missing(value))
		return false;
	if (!json_is_string(value)) {
		refuse(reader, key, "a string");
		return false;
	}
	text_copy_span(
		to, size, (struct span){json_string_value(value), json_string_length(value)});
	return true;
}

static bool take_flag(struct reader *reader, const json_t *from, const char *key, bool *to)
{
	const json_t *value = json_object_get(from, key);

	if (is_missing(value))
		return false;
	if (!json_is_boolean(value)) {
		refuse(reader, key, "true or false");
		return false;
	}
	*to = json_boolean_value(value);
	return true;
}

static bool take_integer(
	struct reader *reader, const json_t *from, const char *key, int64_t most, int64_t *to)
{
	const json_t *value = json_object_get(from, key);

	if (is_missing(value))
		return false;
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		json_integer_value(value) > most) {
		refuse(reader, key, "a number in its range");
		return false;
	}
	*to = json_integer_value(value);
	return true;
}

static bool take_ns(struct reader *reader, const json_t *from, const char *key, double *to)
{
	const json_t *value = json_object_get(from, key);

	if (is_missing(value))
		return false;
	if (!json_is_number(value) || !(json_number_value(value) >= 0) ||
		json_number_value(value) > NS_MAX) {
		refuse(reader, key, "a time in nanoseconds");
		return false;
	}
	*to = json_number_value(value);
	return true;
}

/* Known if the value was there, else what the reason beside it says. */
static void take_fact(struct reader *reader, const json_t *from, const char *reason_key, bool known,
	struct fact *fact)
{
	char reason[FACT_REASON_SIZE + 16] = "unread: the document does not say";

	take_string(reader, from, reason_key, reason, sizeof(reason));
	if (known)
		fact_set_known(fact);
	else
		fact_set_described(fact, reason);
}

static void read_clocksource(
	struct reader *reader, const json_t *from, struct clocksource_evidence *clocksource)
{
	const json_t *available = take_array(reader, from, "available");
	bool known = take_string(
		reader, from, "current", clocksource->current, sizeof(clocksource->current));
	size_t count = json_array_size(available);
	int64_t changes = 0;

	/* Documents of before 0.2 do not count them. */
	if (take_string(reader, from, "changed_to", clocksource->changed_to,
		    sizeof(clocksource->changed_to)))
		changes = 1;
	take_integer(reader, from, "changes", UINT32_MAX, &changes);
	clocksource->changes = (unsigned)changes;
	take_fact(reader, from, "reason", known, &clocksource->current_fact);
	take_fact(reader, from, "reason", available != NULL, &clocksource->available_fact);
	if (count > CLOCKSOURCE_MAX)
		refuse(reader, "available", "a list of clocksources");
	for (size_t i = 0; i < count && i < CLOCKSOURCE_MAX; i++) {
		const json_t *name = json_array_get(available, i);

		if (!json_is_string(name)) {
			refuse(reader, "available", "a list of names");
			return;
		}
		text_copy(
			clocksource->available[i], CLOCKSOURCE_NAME_SIZE, json_string_value(name));
		clocksource->available_count++;
	}
}

static void read_vdso(struct reader *reader, const json_t *from, struct vdso_evidence *vdso)
{
	const json_t *exports = take_array(reader, from, "exports");
	size_t count = json_array_size(exports);
	bool present = false;

	take_flag(reader, from, "present", &present);
	take_fact(reader, from, "reason", present, &vdso->fact);
	take_string(reader, from, "soname", vdso->soname, sizeof(vdso->soname));
	if (count > VDSO_EXPORT_MAX)
		refuse(reader, "exports", "a list of exports");
	for (size_t i = 0; i < count && i < VDSO_EXPORT_MAX; i++) {
		const json_t *element = take_element(reader, exports, i, "exports");
		struct vdso_export *export = &vdso->exports[vdso->export_count++];

		take_string(reader, element, "name", export->name, sizeof(export->name));
		take_string(reader, element, "version", export->version, sizeof(export->version));
	}
}

static void read_how(struct reader *reader, const json_t *from, struct vclock_evidence *vclock)
{
	char how[16] = "unknown";

	take_string(reader, from, "how", how, sizeof(how));
	if (strcmp(how, "read") == 0)
		vclock->how = VCLOCK_READ;
	else if (strcmp(how, "inferred") == 0)
		vclock->how = VCLOCK_INFERRED;
	else if (strcmp(how, "unknown") != 0)
		refuse(reader, "how", "read, inferred or unknown");
}

static void read_vclock(struct reader *reader, const json_t *from, struct vclock_evidence *vclock)
{
	struct flag_fact *stable = &vclock->pvclock_stable;
	struct number_fact *sequence = &vclock->hyperv_sequence;

	read_how(reader, from, vclock);
	if (!take_integer(reader, from, "mode", VCLOCK_MODE_TIMENS, &vclock->mode))
		vclock->how = VCLOCK_UNKNOWN;
	take_string(reader, from, "name", vclock->name, sizeof(vclock->name));
	take_string(reader, from, "layout", vclock->layout, sizeof(vclock->layout));
	take_flag(reader, from, "time_namespace", &vclock->time_namespace);
	take_fact(reader, from, "reason", vclock->how == VCLOCK_READ, &vclock->fact);
	take_fact(reader, from, "pvclock_reason",
		take_flag(reader, from, "pvclock_stable", &stable->value), &stable->fact);
	take_fact(reader, from, "hyperv_reason",
		take_integer(reader, from, "hyperv_sequence", UINT32_MAX, &sequence->value),
		&sequence->fact);
}

static void read_method(struct reader *reader, const json_t *from, struct proof_evidence *proof)
{
	char method[16] = "";

	take_string(reader, from, "method", method, sizeof(method));
	if (strcmp(method, "seccomp") == 0)
		proof->method = PROOF_SECCOMP;
	else if (strcmp(method, "ptrace") == 0)
		proof->method = PROOF_PTRACE;
	else if (*method)
		refuse(reader, "method", "seccomp or ptrace");
}

static void read_proof(struct reader *reader, const json_t *from, struct proof_evidence *proof)
{
	bool taken = false;
	int64_t cpus = 0;

	take_flag(reader, from, "taken", &taken);
	take_integer(reader, from, "cpus", UINT32_MAX, &cpus);
	proof->cpus = (unsigned)cpus;
	read_method(reader, from, proof);
	take_string(reader, from, "note", proof->note, sizeof(proof->note));
	take_fact(reader, from, "reason", taken, &proof->fact);
}

static void read_timing(struct reader *reader, const json_t *from, struct timing_evidence *timing)
{
	int64_t chunks = 0, cpu = -1;
	bool timed = take_integer(reader, from, "chunks", UINT32_MAX, &chunks);

	take_integer(reader, from, "cpu", INT32_MAX, &cpu);
	timing->chunks = (unsigned)chunks;
	timing->cpu = (int)cpu;
	take_string(reader, from, "counter", timing->counter, sizeof(timing->counter));
	take_fact(reader, from, "reason", timed, &timing->fact);
	take_fact(reader, from, "counter_reason",
		take_ns(reader, from, "counter_ns", &timing->counter_ns), &timing->counter_fact);
	take_fact(reader, from, "ordered_counter_reason",
		take_ns(reader, from, "ordered_counter_ns", &timing->ordered_ns),
		&timing->ordered_fact);
	take_fact(reader, from, "getppid_reason",
		take_ns(reader, from, "getppid_ns", &timing->entry_ns), &timing->entry_fact);
}

static void read_counts(struct reader *reader, const json_t *from, const char *entered_key,
	const char *attempts_key, struct path_evidence *path)
{
	int64_t entered = 0, attempts = 0;

	take_integer(reader, from, attempts_key, UINT32_MAX, &attempts);
	take_integer(reader, from, entered_key, attempts, &entered);
	path->attempts = (uint32_t)attempts;
	path->entered = (uint32_t)entered;
}

static void read_call(struct reader *reader, const json_t *from, struct call_evidence *call)
{
	static const char *const time_keys[][2] = {
		[PATH_VDSO] = {"vdso_ns", "vdso_median_ns"},
		[PATH_LIBC] = {"libc_ns", "libc_median_ns"},
		[PATH_SYSCALL] = {"syscall_ns", "syscall_median_ns"},
	};
	char judged_by[8] = "libc";
	enum call_path judged;
	int64_t signal = 0, error = 0;

	take_string(reader, from, "call", call->call, sizeof(call->call));
	take_string(reader, from, "clock", call->clock, sizeof(call->clock));
	take_flag(reader, from, "decides", &call->decides);
	take_string(reader, from, "judged_by", judged_by, sizeof(judged_by));
	judged = strcmp(judged_by, "vdso") == 0 ? PATH_VDSO : PATH_LIBC;
	for (int path = 0; path < PATH_COUNT; path++) {
		struct path_evidence *times = &call->path[path];

		times->timed = take_ns(reader, from, time_keys[path][0], &times->min_ns);
		take_ns(reader, from, time_keys[path][1], &times->median_ns);
		times->available = times->timed;
	}
	take_ns(reader, from, "vdso_batch_p99_ns", &call->path[PATH_VDSO].p99_ns);
	read_counts(reader, from, "libc_entered_kernel", "libc_attempts", &call->path[PATH_LIBC]);
	read_counts(reader, from, "entered_kernel", "attempts", &call->path[judged]);
	call->path[PATH_LIBC].available = true;
	call->path[judged].available = true;
	take_integer(reader, from, "syscall_error", ERRNO_MAX, &error);
	call->raw_error = (int)error;
	take_integer(reader, from, "signal", NSIG, &signal);
	call->path[judged].signal = (int)signal;
}

static void read_calls(struct reader *reader, const json_t *from, struct evidence *evidence)
{
	size_t count = json_array_size(from);

	if (count > CALL_MAX)
		refuse(reader, "calls", "a list of calls");
	for (size_t i = 0; i < count && i < CALL_MAX; i++)
		read_call(reader, take_element(reader, from, i, "calls"),
			&evidence->calls[evidence->call_count++]);
}

static void read_text(
	struct reader *reader, const json_t *from, const char *key, struct text_fact *text)
{
	char reason_key[64];
	bool known = take_string(reader, from, key, text->value, sizeof(text->value));

	snprintf(reason_key, sizeof(reason_key), "%s_reason", key);
	take_fact(reader, from, reason_key, known, &text->fact);
}

static void read_flag(
	struct reader *reader, const json_t *from, const char *key, struct flag_fact *flag)
{
	char reason_key[64];
	bool known = take_flag(reader, from, key, &flag->value);

	snprintf(reason_key, sizeof(reason_key), "%s_reason", key);
	take_fact(reader, from, reason_key, known, &flag->fact);
}

static void read_number(
	struct reader *reader, const json_t *from, const char *key, struct number_fact *number)
{
	char reason_key[64];
	bool known = take_integer(reader, from, key, INT32_MAX, &number->value);

	snprintf(reason_key, sizeof(reason_key), "%s_reason", key);
	take_fact(reader, from, reason_key, known, &number->fact);
}

static void read_host(struct reader *reader, const json_t *from, struct host_evidence *host)
{
	read_text(reader, from, "name", &host->name);
	read_text(reader, from, "kernel", &host->kernel);
	read_text(reader, from, "kernel_build", &host->kernel_build);
	read_text(reader, from, "arch", &host->arch);
	read_text(reader, from, "cpu", &host->cpu);
	read_text(reader, from, "hypervisor", &host->hypervisor);
	read_text(reader, from, "container", &host->container);
	read_text(reader, from, "platform", &host->platform);
	read_text(reader, from, "emulator", &host->emulator);
	read_text(reader, from, "libc", &host->libc);
	read_text(reader, from, "boot_parameters", &host->boot);
	read_flag(reader, from, "invariant_tsc", &host->invariant_tsc);
	read_text(reader, from, "tsc_flags", &host->tsc_flags);
	read_flag(reader, from, "kvm_clock_offered", &host->kvm_clock_offered);
	read_flag(reader, from, "kvm_clock_stable", &host->kvm_clock_stable);
	read_number(reader, from, "xen_tsc_mode", &host->xen_tsc_mode);
	read_flag(reader, from, "xen_tsc_reliable", &host->xen_tsc_reliable);
	read_text(reader, from, "restore_device", &host->restore_device);
	read_flag(reader, from, "libc_static", &host->libc_static);
	read_flag(reader, from, "counter_off", &host->counter_off);
	read_number(reader, from, "tracer_pid", &host->tracer);
	read_number(reader, from, "seccomp", &host->seccomp);
}

static void read_moment(struct reader *reader, const json_t *from, struct moment_evidence *moment)
{
	const json_t *uptime = json_object_get(from, "uptime_s");

	read_text(reader, from, "time", &moment->time);
	if (fact_is_known(&moment->time.fact) && !moment_is_time(text_span(moment->time.value)))
		refuse(reader, "time", "a time such as 2026-11-21T15:02:11Z");
	if (!is_missing(uptime) && (!json_is_number(uptime) || !(json_number_value(uptime) >= 0) ||
					   json_number_value(uptime) > UPTIME_MAX))
		refuse(reader, "uptime_s", "a time in seconds");
	moment->uptime_s = json_number_value(uptime);
	take_fact(reader, from, "uptime_reason", !is_missing(uptime), &moment->uptime_fact);
}

static void read_kernel_log(
	struct reader *reader, const json_t *from, struct kernel_log_evidence *log)
{
	const json_t *lines = take_array(reader, from, "lines");
	size_t count = json_array_size(lines);
	bool read = false;

	take_flag(reader, from, "read", &read);
	take_fact(reader, from, "reason", read, &log->fact);
	take_string(reader, from, "source", log->source, sizeof(log->source));
	if (count > KERNEL_LOG_MAX)
		refuse(reader, "lines", "a list of kernel log lines");
	for (size_t i = 0; i < count && i < KERNEL_LOG_MAX; i++) {
		const json_t *element = take_element(reader, lines, i, "lines");
		struct kernel_log_line *line = &log->lines[log->count++];

		line->seconds = -1;
		take_ns(reader, element, "seconds", &line->seconds);
		take_string(reader, element, "text", line->text, sizeof(line->text));
	}
}

static void read_root(struct reader *reader, const json_t *root, struct evidence *evidence)
{
	char schema[32] = "";

	take_string(reader, root, "schema", schema, sizeof(schema));
	if (!reader->failed && strcmp(schema, SCHEMA) != 0) {
		reader->failed = true;
		fact_set(reader->why, FACT_FAILED, "its schema is '%s', not '" SCHEMA "'", schema);
		return;
	}
	evidence->live = true;
	take_flag(reader, root, "live", &evidence->live);
	read_moment(reader, root, &evidence->moment);
	read_clocksource(reader, take_object(reader, root, "clocksource"), &evidence->clocksource);
	read_vdso(reader, take_object(reader, root, "vdso"), &evidence->vdso);
	read_vclock(reader, take_object(reader, root, "vclock"), &evidence->vclock);
	read_proof(reader, take_object(reader, root, "proof"), &evidence->proof);
	read_timing(reader, take_object(reader, root, "timing"), &evidence->timing);
	read_calls(reader, take_array(reader, root, "calls"), evidence);
	read_host(reader, take_object(reader, root, "host"), &evidence->host);
	read_kernel_log(reader, take_object(reader, root, "kernel_log"), &evidence->kernel_log);
}

/* jansson's message quotes the text: without what could drive a terminal. */
static void refuse_syntax(const json_error_t *error, struct fact *why)
{
	char text[100];

	text_copy(text, sizeof(text), error->text);
	fact_set(why, FACT_FAILED, "not JSON: line %d: %s", error->line, text);
}

bool recorded_parse(const char *bytes, size_t length, struct evidence *evidence, struct fact *why)
{
	struct reader reader = {.why = why};
	json_error_t error;
	json_t *root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);

	memset(evidence, 0, sizeof(*evidence));
	if (!root) {
		refuse_syntax(&error, why);
		return false;
	}
	if (json_is_object(root))
		read_root(&reader, root, evidence);
	else
		refuse(&reader, "(the document)", "an object");
	json_decref(root);
	if (!reader.failed)
		fact_set_known(why);
	return !reader.failed;
}

static bool read_and_parse(int file, struct evidence *evidence, struct fact *why)
{
	char *bytes = malloc(RECORDED_SIZE_MAX);
	size_t length = 0;
	int error = bytes ? file_read_all(file, bytes, RECORDED_SIZE_MAX, &length) : ENOMEM;
	bool parsed = false;

	if (error == EFBIG)
		fact_set(why, FACT_FAILED, "too large to be a document of vdsocheck");
	else if (error)
		fact_set(why, FACT_FAILED, "%s", strerror(error));
	else
		parsed = recorded_parse(bytes, length, evidence, why);
	free(bytes);
	return parsed;
}

bool recorded_read(const char *path, struct evidence *evidence, struct fact *why)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	bool read;

	if (file < 0) {
		fact_set(why, FACT_FAILED, "%s", strerror(errno));
		return false;
	}
	read = read_and_parse(file, evidence, why);
	if (!is_stdin)
		close(file);
	return read;
}
