/* SPDX-License-Identifier: MIT */
/*
 * Reads one document of schema vdsocheck/1 from standard input, for the test suites in sh.
 *
 *   document check      exit 0 if the document is consistent: what a JSON Schema cannot say. Else
 *                       the first contradiction on standard error. Keys and types are validated
 *                       against the schema by tests/hosts/run
 *   document get PATH   prints the value at "proof.method", "calls.0.call"; null is "null"
 *   document calls      one line a call: decides call clock entered attempts libc_entered
 *                       libc_attempts
 */
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void broken(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void broken(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

/* The value at a path of keys and array places separated by dots; NULL if there is none. */
static json_t *find(json_t *value, const char *path)
{
	char part[128];

	while (value && *path) {
		size_t length = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)length, path);
		value = json_is_array(value) ? json_array_get(value, strtoul(part, NULL, 10))
		                             : json_object_get(value, part);
		path += length + (path[length] == '.');
	}
	return value;
}

static const char *text_at(json_t *document, const char *path)
{
	const char *text = json_string_value(find(document, path));

	return text ? text : "";
}

static bool is_null(json_t *document, const char *path)
{
	return json_is_null(find(document, path));
}

static void one_of(json_t *document, const char *path, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(text_at(document, path), words[i]) == 0)
			return;
	}
	broken("%s: '%s' is not a value of the schema", path, text_at(document, path));
}

/* Unknown is null with a reason beside it. */
static void need_reason(json_t *document, const char *path, const char *reason)
{
	if (is_null(document, path) && !*text_at(document, reason))
		broken("%s is null, and %s gives no reason", path, reason);
}

static void check_words(json_t *document)
{
	static const char *const verdicts[] = {"ok", "fallback", "slow", "wrong", "unknown"};
	static const int statuses[] = {0, 1, 1, 1, 2};
	static const char *const hows[] = {"read", "copy", "inferred", "unknown"};
	json_int_t status = json_integer_value(find(document, "exit_status"));

	if (strcmp(text_at(document, "schema"), "vdsocheck/1") != 0)
		broken("schema is not vdsocheck/1");
	if (!*text_at(document, "summary"))
		broken("the summary is empty");
	one_of(document, "verdict", verdicts, COUNT(verdicts));
	one_of(document, "vclock.how", hows, COUNT(hows));
	for (size_t i = 0; i < COUNT(verdicts); i++) {
		if (strcmp(text_at(document, "verdict"), verdicts[i]) == 0 &&
			status != statuses[i] && status < 128 &&
			json_array_size(find(document, "policy")) == 0)
			broken("exit_status is not that of the verdict");
	}
}

static void check_evidence(json_t *document)
{
	static const char *const evidence[] = {"name", "mode", "proof", "timing", "values"};
	char path[32];

	for (size_t i = 0; i < json_array_size(find(document, "rests_on")); i++) {
		snprintf(path, sizeof(path), "rests_on.%zu", i);
		one_of(document, path, evidence, COUNT(evidence));
	}
}

static void check_reasons(json_t *document)
{
	static const char *const host[] = {
		"kernel", "arch", "cpu", "hypervisor", "container", "invariant_tsc", "libc"};
	char value[64], reason[80];

	need_reason(document, "clocksource.current", "clocksource.reason");
	need_reason(document, "clocksource.available", "clocksource.reason");
	need_reason(document, "vdso.present", "vdso.reason");
	need_reason(document, "vclock.mode", "vclock.reason");
	if (json_is_false(find(document, "proof.taken")) && !*text_at(document, "proof.reason"))
		broken("no proof was taken, and proof.reason gives no reason");
	for (size_t i = 0; i < COUNT(host); i++) {
		snprintf(value, sizeof(value), "host.%s", host[i]);
		snprintf(reason, sizeof(reason), "host.%s_reason", host[i]);
		need_reason(document, value, reason);
	}
}

/* One reason for all that is null in a call. */
static void need_call_reason(json_t *call, size_t place)
{
	static const char *const keys[] = {"vdso_ns", "libc_ns", "syscall_ns", "entered_kernel"};

	for (size_t i = 0; i < COUNT(keys); i++) {
		if (is_null(call, keys[i]) && !*text_at(call, "reason"))
			broken("calls.%zu.%s is null, and the call has no reason", place, keys[i]);
	}
}

/* What was not measured has no number: neither a zero nor a count. */
static void check_calls(json_t *document)
{
	bool taken = json_is_true(find(document, "proof.taken"));
	json_t *call;
	size_t i;

	json_array_foreach(find(document, "calls"), i, call)
	{
		json_int_t entered = json_integer_value(json_object_get(call, "entered_kernel"));
		json_int_t attempts = json_integer_value(json_object_get(call, "attempts"));

		need_call_reason(call, i);
		if (is_null(call, "agrees") && !*text_at(call, "agrees_reason"))
			broken("calls.%zu.agrees is null, and agrees_reason gives no reason", i);
		if (is_null(call, "attempts") != is_null(call, "entered_kernel"))
			broken("calls.%zu has only one of attempts and entered_kernel", i);
		if (!taken && !is_null(call, "attempts"))
			broken("calls.%zu counts attempts, but no proof was taken", i);
		if (entered > attempts)
			broken("calls.%zu entered the kernel more often than it was called", i);
	}
}

static void check(json_t *document)
{
	if (!json_is_object(document))
		broken("the document is not an object");
	check_words(document);
	check_evidence(document);
	check_reasons(document);
	check_calls(document);
}

static void print(const json_t *value)
{
	if (!value)
		fputs("missing", stdout);
	else if (json_is_string(value))
		fputs(json_string_value(value), stdout);
	else
		json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
}

static void print_calls(json_t *document)
{
	static const char *const keys[] = {"decides", "call", "clock", "entered_kernel", "attempts",
		"libc_entered_kernel", "libc_attempts"};
	json_t *call;
	size_t i;

	json_array_foreach(find(document, "calls"), i, call)
	{
		for (size_t k = 0; k < COUNT(keys); k++) {
			print(json_object_get(call, keys[k]));
			putchar(k + 1 < COUNT(keys) ? ' ' : '\n');
		}
	}
}

int main(int argc, char **argv)
{
	json_error_t error;
	json_t *document = json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);

	if (!document)
		broken("not one JSON document: line %d: %s", error.line, error.text);
	if (argc == 2 && strcmp(argv[1], "check") == 0) {
		check(document);
	} else if (argc == 3 && strcmp(argv[1], "get") == 0) {
		print(find(document, argv[2]));
		putchar('\n');
	} else if (argc == 2 && strcmp(argv[1], "calls") == 0) {
		print_calls(document);
	} else {
		broken("usage: document check | get PATH | calls");
	}
	json_decref(document);
	return 0;
}
