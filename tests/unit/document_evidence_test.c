/* SPDX-License-Identifier: MIT */
/*
 * Tests of document/evidence, check/json and check/text: for every verdict and any evidence, the
 * JSON keeps the schema "vdsocheck/1" and is read back as it was written, and the text fits a
 * terminal.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "check/model.h"
#include "cli/driver.h"
#include "commands.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct check_request request;

static void judge(void)
{
	diagnose(&request.evidence, &request.diagnosis);
	policy_judge(&request.policy, &request.evidence, request.diagnosis.verdict.kind,
		&request.outcome);
}

static char *render(const char *name, bool color)
{
	const struct format *format = cli_find_format(&check_command, name);

	judge();
	assert_non_null(format);
	return unit_print_in(format->write, &request, &(struct style){.color = color});
}

static json_t *render_json(void)
{
	char *bytes = render("json", false);
	json_error_t error;
	json_t *root = json_loads(bytes, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		fail_msg("line %d: %s", error.line, error.text);
	assert_int_equal(bytes[strlen(bytes) - 1], '\n');
	free(bytes);
	return root;
}

/* Below: the hosts whose documents are looked at; one of each verdict at least. */

static void healthy(void)
{
	evidence_make_healthy(&request.evidence);
}

static void falling_back(void)
{
	evidence_make_falling_back(&request.evidence, "xen");
}

static void trapped(void)
{
	evidence_make_healthy(&request.evidence);
	request.evidence.timing.counter_ns.value = 1200;
	evidence_find_call(&request.evidence, "clock_gettime", "CLOCK_MONOTONIC")
		->path[PATH_VDSO]
		.min_ns = 1234.56;
}

static void unproven(void)
{
	evidence_make_healthy(&request.evidence);
	evidence_remove_proof(&request.evidence, "seccomp: not permitted; ptrace: not permitted");
	evidence_remove_timing(&request.evidence);
	evidence_set_mode(&request.evidence, VCLOCK_UNKNOWN, 0, "");
}

static void empty(void)
{
	memset(&request.evidence, 0, sizeof(request.evidence));
	request.evidence.live = true;
}

static void captured(void)
{
	memset(&request.evidence, 0, sizeof(request.evidence));
	fact_set(&request.evidence.clocksource.current_fact, FACT_ABSENT,
		"/sys/devices/system/clocksource/clocksource0/current_clocksource: "
		"No such file or directory");
	request.evidence.clocksource.available_fact = request.evidence.clocksource.current_fact;
	fact_set(&request.evidence.vdso.fact, FACT_ABSENT, "a captured tree contains no vDSO");
	fact_set(&request.evidence.proof.fact, FACT_ABSENT, "a captured tree cannot be measured");
}

static void crashing(void)
{
	evidence_make_healthy(&request.evidence);
	for (size_t i = 0; i < request.evidence.call_count; i++) {
		request.evidence.calls[i].path[PATH_VDSO] =
			(struct path_evidence){.available = true, .attempts = 1, .signal = 11};
	}
	fact_set_flag(&request.evidence.host.counter_disabled, true);
}

static void without_vdso(void)
{
	evidence_make_falling_back(&request.evidence, "hpet");
	evidence_remove_path(&request.evidence, PATH_VDSO);
	request.evidence.vdso = (struct vdso_evidence){0};
	fact_set(&request.evidence.vdso.fact, FACT_ABSENT,
		"the kernel gave this process no vDSO (AT_SYSINFO_EHDR is 0)");
}

static void explained_at_length(void)
{
	falling_back();
	evidence_set_current(&request.evidence, "hpet");
	evidence_set_available(&request.evidence,
		"hpet acpi_pm hyperv_clocksource_tsc_page "
		"hyperv_clocksource_msr refined-jiffies tsc-early jiffies");
	evidence_add_log(&request.evidence,
		"clocksource: timekeeping watchdog on CPU1: Marking clocksource "
		"'tsc' as unstable because the skew is too large:");
	fact_set_text(
		&request.evidence.host.cpu, "Intel(R) Xeon(R) Platinum 8488C @ 2.40GHz of a kind");
	fact_set_text(&request.evidence.host.container, "docker");
	fact_set_text(&request.evidence.host.boot, "clocksource=hpet tsc=unstable");
}

static const struct scenario {
	const char *name;
	void (*make)(void);
	const char *verdict;
	int exit_status;
} scenarios[] = {
	{"healthy", healthy, "ok", 0},
	{"falling back", falling_back, "fallback", 1},
	{"trapped", trapped, "slow", 1},
	{"unproven", unproven, "unknown", 2},
	{"empty", empty, "unknown", 2},
	{"captured", captured, "unknown", 2},
	{"crashing", crashing, "unknown", 2},
	{"without vDSO", without_vdso, "fallback", 1},
	{"explained at length", explained_at_length, "fallback", 1},
};

/* A path of keys and the types of what may be there, as the contract has them. */
static const struct {
	const char *object; /* "" is the document */
	const char *key;
	const char *types; /* s string, i integer, r real or integer, b boolean, a array, o
	                      object, n null */
} contract[] = {
	{"", "schema", "s"},
	{"", "time", "sn"},
	{"", "uptime_s", "rn"},
	{"", "version", "s"},
	{"", "verdict", "s"},
	{"", "exit_status", "i"},
	{"", "summary", "s"},
	{"", "rests_on", "a"},
	{"", "clocksource", "o"},
	{"", "vdso", "o"},
	{"", "vclock", "o"},
	{"", "proof", "o"},
	{"", "calls", "a"},
	{"", "host", "o"},
	{"", "causes", "a"},
	{"", "advice", "a"},
	{"clocksource", "current", "sn"},
	{"clocksource", "available", "an"},
	{"clocksource", "reason", "sn"},
	{"vdso", "present", "bn"},
	{"vdso", "exports", "an"},
	{"vdso", "reason", "sn"},
	{"vclock", "mode", "in"},
	{"vclock", "name", "sn"},
	{"vclock", "how", "s"},
	{"vclock", "reason", "sn"},
	{"proof", "taken", "b"},
	{"proof", "reason", "sn"},
	{"host", "kernel", "sn"},
	{"host", "arch", "sn"},
	{"host", "cpu_model", "sn"},
	{"host", "hypervisor", "sn"},
	{"host", "container", "sn"},
	{"host", "invariant_tsc", "bn"},
	{"host", "libc", "sn"},
	{"calls", "call", "s"},
	{"calls", "clock", "sn"},
	{"calls", "decides", "b"},
	{"calls", "vdso_ns", "rn"},
	{"calls", "libc_ns", "rn"},
	{"calls", "syscall_ns", "rn"},
	{"calls", "entered_kernel", "in"},
	{"calls", "attempts", "in"},
	{"causes", "id", "s"},
	{"causes", "text", "s"},
	{"causes", "evidence", "a"},
	{"advice", "id", "s"},
	{"advice", "text", "s"},
	{"advice", "steps", "a"},
	{"advice", "keep", "a"},
	{"advice", "risk", "sn"},
	{"advice", "source", "sn"},
};

static bool is_of_type(const json_t *value, char type)
{
	switch (type) {
	case 's':
		return json_is_string(value);
	case 'i':
		return json_is_integer(value);
	case 'r':
		return json_is_number(value);
	case 'b':
		return json_is_boolean(value);
	case 'a':
		return json_is_array(value);
	case 'o':
		return json_is_object(value);
	default:
		return json_is_null(value);
	}
}

static void check_key(json_t *object, const char *key, const char *types)
{
	json_t *value = json_object_get(object, key);

	if (!value)
		fail_msg("no key %s", key);
	for (const char *type = types; *type; type++) {
		if (is_of_type(value, *type))
			return;
	}
	fail_msg("%s is of the wrong type", key);
}

static void check_contract(json_t *root)
{
	for (size_t i = 0; i < COUNT(contract); i++) {
		json_t *place =
			*contract[i].object ? json_object_get(root, contract[i].object) : root;

		if (!json_is_array(place)) {
			check_key(place, contract[i].key, contract[i].types);
			continue;
		}
		for (size_t k = 0; k < json_array_size(place); k++)
			check_key(json_array_get(place, k), contract[i].key, contract[i].types);
	}
}

/* Unknown is null, with a reason beside it that says something. */
static void check_reason(json_t *root, const char *object, const char *key, const char *reason)
{
	json_t *place = *object ? json_object_get(root, object) : root;
	json_t *why = json_object_get(place, reason);

	if (!json_is_null(json_object_get(place, key)))
		return;
	if (!json_is_string(why) || json_string_length(why) == 0)
		fail_msg("%s.%s is null without a reason", object, key);
}

static void check_reasons(json_t *root)
{
	static const char *const host[] = {"kernel", "kernel_build", "arch", "cpu_model",
		"hypervisor", "container", "platform", "emulator", "libc", "boot_parameters",
		"invariant_tsc", "libc_static", "counter_disabled", "tracer_pid", "seccomp"};

	check_reason(root, "", "time", "time_reason");
	check_reason(root, "", "uptime_s", "uptime_reason");
	check_reason(root, "clocksource", "current", "reason");
	check_reason(root, "clocksource", "available", "reason");
	check_reason(root, "vdso", "present", "reason");
	check_reason(root, "vclock", "mode", "reason");
	check_reason(root, "proof", "cpus", "reason");
	check_reason(root, "timing", "batches", "reason");
	for (size_t i = 0; i < COUNT(host); i++) {
		char reason[64];

		snprintf(reason, sizeof(reason), "%s_reason", host[i]);
		assert_non_null(json_object_get(json_object_get(root, "host"), host[i]));
		check_reason(root, "host", host[i], reason);
	}
}

static void json_keeps_the_contract(void **state)
{
	const struct scenario *scenario = *state;
	json_t *root;

	scenario->make();
	root = render_json();
	check_contract(root);
	check_reasons(root);
	assert_string_equal(json_string_value(json_object_get(root, "schema")), "vdsocheck/1");
	assert_string_equal(json_string_value(json_object_get(root, "verdict")), scenario->verdict);
	assert_int_equal(
		json_integer_value(json_object_get(root, "exit_status")), scenario->exit_status);
	json_decref(root);
}

static void text_fits_eighty_columns(void **state)
{
	const struct scenario *scenario = *state;
	char *bytes;

	scenario->make();
	bytes = render("text", false);
	unit_assert_fits_terminal(bytes);
	assert_int_equal(strncasecmp(bytes, scenario->verdict, strlen(scenario->verdict)), 0);
	assert_non_null(strstr(bytes, "clocksource "));
	free(bytes);
}

static void any_evidence_keeps_the_contract(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 400; round++) {
		json_t *root;

		evidence_roll(&request.evidence, &dice);
		root = render_json();
		check_contract(root);
		json_decref(root);
	}
}

static void text_of_any_evidence_fits_eighty_columns(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 1000; round++) {
		char *bytes;

		evidence_roll(&request.evidence, &dice);
		bytes = render("text", false);
		unit_assert_fits_terminal(bytes);
		free(bytes);
	}
}

/* Every format makes something of any evidence, the emptiest too. */
static void every_format_renders_any_evidence(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 60; round++) {
		evidence_roll(&request.evidence, &dice);
		for (const struct format *format = check_command.formats; format->name; format++) {
			char *bytes = render(format->name, round % 2);

			assert_true(*bytes);
			free(bytes);
		}
	}
}

/* Each line is a document, and says which file it is of; that of a host has no file. */
static void one_of_several_documents_is_a_line(void **state)
{
	char *bytes;
	json_t *root;

	(void)state;
	healthy();
	judge();
	request.file = "b\xff.json";
	request.several = true;
	bytes = unit_print_in(check_report_json, &request, &(struct style){.compact = true});
	assert_ptr_equal(strchr(bytes, '\n'), bytes + strlen(bytes) - 1);
	root = json_loads(bytes, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "file")), "b?.json");
	json_decref(root);
	free(bytes);
	request.file = NULL;
	request.several = false;
	root = render_json();
	assert_true(json_is_null(json_object_get(root, "file")));
	json_decref(root);
}

static void color_changes_nothing_but_color(void **state)
{
	char *plain, *colored, *at;

	(void)state;
	healthy();
	plain = render("text", false);
	colored = render("text", true);
	assert_null(strchr(plain, '\033'));
	assert_non_null(strchr(colored, '\033'));
	while ((at = strchr(colored, '\033')) != NULL) {
		char *end = strchr(at, 'm');

		assert_non_null(end);
		memmove(at, end + 1, strlen(end + 1) + 1);
	}
	assert_string_equal(colored, plain);
	free(plain);
	free(colored);
}

static void json_has_no_color(void **state)
{
	char *bytes;

	(void)state;
	healthy();
	bytes = render("json", true);
	assert_null(strchr(bytes, '\033'));
	free(bytes);
}

/* Numbers as they are measured, to a tenth; zero is not null and null is not zero. */
static void numbers_of_json_are_the_measured_ones(void **state)
{
	json_t *root, *call;

	(void)state;
	trapped();
	evidence_find_call(&request.evidence, "gettimeofday", "")->path[PATH_LIBC].fact =
		(struct fact){0};
	root = render_json();
	call = json_array_get(json_object_get(root, "calls"), 2);
	assert_string_equal(json_string_value(json_object_get(call, "clock")), "CLOCK_MONOTONIC");
	assert_true(json_number_value(json_object_get(call, "vdso_ns")) == 1234.6);
	assert_int_equal(json_integer_value(json_object_get(call, "entered_kernel")), 0);
	assert_false(json_is_null(json_object_get(call, "entered_kernel")));
	assert_int_equal(json_integer_value(json_object_get(call, "attempts")), 1000);
	call = json_array_get(json_object_get(root, "calls"), 0);
	assert_true(json_is_null(json_object_get(call, "clock")));
	assert_true(json_is_null(json_object_get(call, "libc_ns")));
	json_decref(root);
}

static bool parse(const char *bytes, size_t length, struct fact *why)
{
	size_t used;

	memset(&request.evidence, 0, sizeof(request.evidence));
	return document_parse((struct span){bytes, length}, &used, check_fields, &request, why);
}

/* A document judged again, on another machine, says the same as here. */
static void a_recorded_document_is_judged_the_same_again(void **state)
{
	const struct scenario *scenario = *state;
	struct fact why = {0};
	char *first, *again;

	scenario->make();
	first = render("json", false);
	if (!parse(first, strlen(first), &why))
		fail_msg("%s", why.reason);
	again = render("json", false);
	assert_string_equal(again, first);
	free(first);
	free(again);
}

/* The lines that differ first, since documents are longer than a test's message. */
static void assert_same_document(const char *again, const char *first)
{
	size_t same = 0;

	for (size_t i = 0; first[i] && first[i] == again[i]; i++)
		same = first[i] == '\n' ? i + 1 : same;
	if (strcmp(again, first) != 0)
		fail_msg("now\n%.*s\nbefore\n%.*s", (int)strcspn(again + same, "\n"), again + same,
			(int)strcspn(first + same, "\n"), first + same);
}

/* As proof_take() leaves it: all calls that decide were made, or it is not known. */
static void complete_proof(void)
{
	for (size_t i = 0; i < request.evidence.call_count; i++) {
		struct call_evidence *call = &request.evidence.calls[i];

		if (call->decides && fact_is_known(&request.evidence.proof.fact))
			call->path[call_judged_path(call)].attempts = BUILDER_ATTEMPTS;
	}
}

/* --json of any host, read with --from on another, gives the same --json. */
static void any_document_read_again_is_the_same(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 1000; round++) {
		struct fact why = {0};
		char *first, *again;

		evidence_roll(&request.evidence, &dice);
		complete_proof();
		first = render("json", false);
		if (!parse(first, strlen(first), &why))
			fail_msg("%s:\n%s", why.reason, first);
		again = render("json", false);
		assert_same_document(again, first);
		free(first);
		free(again);
	}
}

static void assert_refused(json_t *root, const char *wanted)
{
	char *bytes = json_dumps(root, 0);
	struct fact why = {0};

	if (parse(bytes, strlen(bytes), &why))
		fail_msg("accepted; expected: %s", wanted);
	assert_string_equal(why.reason, wanted);
	free(bytes);
}

/* What is missing must not clear a host, and must be named. */
static void a_document_without_a_key_that_decides_is_refused(void **state)
{
	static const struct {
		const char *object, *key; /* "calls": of the third call */
		const char *wanted;
	} needed[] = {
		{"", "schema", "schema is missing"},
		{"", "measured", "measured is missing"},
		{"", "proof", "proof.taken is missing"},
		{"", "clocksource", "clocksource.changes is missing"},
		{"", "timing", "timing.counter_ns is missing"},
		{"", "host", "host.emulator is missing"},
		{"", "calls", "calls is missing"},
		{"proof", "taken", "proof.taken is missing"},
		{"clocksource", "changes", "clocksource.changes is missing"},
		{"timing", "counter_ns", "timing.counter_ns is missing"},
		{"timing", "getppid_ns", "timing.getppid_ns is missing"},
		{"timing", "batches", "timing.batches is missing"},
		{"host", "emulator", "host.emulator is missing"},
		{"host", "libc_static", "host.libc_static is missing"},
		{"calls", "call", "calls[2].call is missing"},
		{"calls", "clock", "calls[2].clock is missing"},
		{"calls", "decides", "calls[2].decides is missing"},
		{"calls", "judged_by", "calls[2].judged_by is missing"},
		{"calls", "entered_kernel", "calls[2].entered_kernel is missing"},
		{"calls", "attempts", "calls[2].attempts is missing"},
		{"calls", "libc_entered_kernel", "calls[2].libc_entered_kernel is missing"},
		{"calls", "libc_attempts", "calls[2].libc_attempts is missing"},
		{"calls", "vdso_ns", "calls[2].vdso_ns is missing"},
		{"calls", "libc_ns", "calls[2].libc_ns is missing"},
		{"calls", "syscall_ns", "calls[2].syscall_ns is missing"},
		{"calls", "signal", "calls[2].signal is missing"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(needed); i++) {
		json_t *root, *place;

		healthy();
		root = render_json();
		place = *needed[i].object ? json_object_get(root, needed[i].object) : root;
		if (json_is_array(place))
			place = json_array_get(place, 2);
		assert_int_equal(json_object_del(place, needed[i].key), 0);
		assert_refused(root, needed[i].wanted);
		json_decref(root);
	}
}

/* Changes one value of a healthy host's document; the value is taken. */
static void assert_refused_with(
	const char *object, size_t index, const char *key, json_t *value, const char *wanted)
{
	json_t *root, *place;

	healthy();
	root = render_json();
	place = *object ? json_object_get(root, object) : root;
	if (json_is_array(place))
		place = json_array_get(place, index);
	assert_int_equal(json_object_set_new(place, key, value), 0);
	assert_refused(root, wanted);
	json_decref(root);
}

static void a_null_that_decides_without_its_reason_is_refused(void **state)
{
	(void)state;
	assert_refused_with(
		"proof", 0, "taken", json_false(), "proof.reason is null, although taken is false");
	assert_refused_with("timing", 0, "counter_ns", json_null(),
		"timing.counter_reason is null, although counter_ns is null");
	assert_refused_with("timing", 0, "getppid_ns", json_null(),
		"timing.getppid_reason is null, although getppid_ns is null");
	assert_refused_with("host", 0, "libc_static", json_null(),
		"host.libc_static_reason is missing, although libc_static is null");
	assert_refused_with(
		"calls", 2, "vdso_ns", json_null(), "calls[2] has a null time without a reason");
}

static void a_document_that_contradicts_itself_is_refused(void **state)
{
	(void)state;
	assert_refused_with("timing", 0, "reason", json_string("failed: no time"),
		"timing.reason says why there is no value, but there is one");
	assert_refused_with("calls", 2, "agrees", json_null(),
		"calls[2].ahead_ns is present without the measurement that it belongs to");
	assert_refused_with(
		"calls", 1, "clock", json_string("CLOCK_MONOTONIC"), "calls lists a call twice");
	assert_refused_with("calls", 1, "clock", json_string("CLOCK_X"),
		"calls marks a non-deciding call as deciding");
	assert_refused_with(
		"calls", 0, "decides", json_false(), "calls does not mark a deciding call");
	assert_refused_with("calls", 0, "entered_kernel", json_null(),
		"calls[0] has attempts, but no entered_kernel");
	assert_refused_with("calls", 0, "entered_kernel", json_integer(1001),
		"calls[0] has an entered_kernel greater than attempts");
	assert_refused_with("calls", 0, "attempts", json_null(),
		"calls lacks the attempts of a call that decides, although proof.taken is true");
	assert_refused_with("calls", 0, "judged_by", json_string("libc"),
		"calls[0] is judged by libc, although the vDSO has it");
}

static void a_document_without_a_deciding_call_is_refused(void **state)
{
	json_t *root, *calls;

	(void)state;
	healthy();
	root = render_json();
	calls = json_object_get(root, "calls");
	json_array_remove(calls, 1);
	assert_refused(root, "calls lacks one of gettimeofday, clock_gettime of CLOCK_REALTIME "
			     "and of CLOCK_MONOTONIC");
	json_decref(root);
}

/* Those that are computed and not kept, too: another program may rely on them. */
static void types_are_checked_strictly(void **state)
{
	(void)state;
	assert_refused_with("", 0, "version", json_integer(1), "version is not a string");
	assert_refused_with("", 0, "verdict", json_null(), "verdict is null");
	assert_refused_with(
		"", 0, "verdict", json_string("fine"), "verdict is not an accepted value");
	assert_refused_with("", 0, "exit_status", json_string("0"),
		"exit_status is not an integer from 0 to 255");
	assert_refused_with("", 0, "causes", json_object(), "causes is not an array");
	assert_refused_with("", 0, "host", json_array(), "host is not an object");
	assert_refused_with("calls", 3, "reason", json_true(), "calls[3].reason is not a string");
	assert_refused_with("calls", 3, "vdso_ns", json_real(-0.1),
		"calls[3].vdso_ns is not a number in its range");
	assert_refused_with("calls", 3, "attempts", json_real(1.0),
		"calls[3].attempts is not an integer from 0 to 4294967295");
	assert_refused_with("copy", 0, "offset", json_string("0"),
		"copy.offset is not an integer from -2147483647 to 2147483647");
	assert_refused_with(
		"vclock", 0, "how", json_string("guessed"), "vclock.how is not an accepted value");
	assert_refused_with("vclock", 0, "pvclock_stable", json_integer(1),
		"vclock.pvclock_stable is not a boolean");
	assert_refused_with("clocksource", 0, "available", json_pack("[si]", "tsc", 1),
		"clocksource.available[1] is not a string");
	assert_refused_with(
		"vdso", 0, "exports", json_pack("[n]"), "vdso.exports[0] is not an object");
}

static void a_broken_document_is_refused_with_a_reason(void **state)
{
	static const char *const broken[] = {"", "{", "[]", "null", "42", "{}",
		"{\"schema\": \"vdsocheck/2\"}", "{\"schema\": 1}",
		"{\"schema\": \"vdsocheck/1\", \"calls\": 7}",
		"{\"schema\": \"vdsocheck/1\", \"clocksource\": []}",
		"{\"schema\": \"vdsocheck/1\", \"vdso\": {\"exports\": [1]}}"};

	(void)state;
	for (size_t i = 0; i < COUNT(broken); i++) {
		struct fact why = {0};

		if (parse(broken[i], strlen(broken[i]), &why))
			fail_msg("%s was taken", broken[i]);
		assert_true(*why.reason);
	}
}

/* Cut anywhere it is no document: half a recording must not be judged. */
static void a_document_cut_anywhere_is_refused(void **state)
{
	char *bytes;
	size_t length;

	(void)state;
	healthy();
	bytes = render("json", false);
	length = strlen(bytes);
	for (size_t cut = 0; cut + 2 < length; cut += 7) {
		struct fact why = {0};

		assert_false(parse(bytes, cut, &why));
		assert_true(*why.reason);
	}
	free(bytes);
}

#define OF_EACH(test)                                                                              \
	{                                                                                          \
#test, test                                                                        \
	}

static const struct {
	const char *name;
	void (*run)(void **state);
} of_each[] = {OF_EACH(json_keeps_the_contract), OF_EACH(text_fits_eighty_columns),
	OF_EACH(a_recorded_document_is_judged_the_same_again)};

static int run_scenarios(void)
{
	static char labels[COUNT(of_each) * COUNT(scenarios)][96];
	struct CMUnitTest tests[COUNT(of_each) * COUNT(scenarios)] = {0};

	for (size_t i = 0; i < COUNT(tests); i++) {
		const struct scenario *scenario = &scenarios[i / COUNT(of_each)];

		snprintf(labels[i], sizeof(labels[i]), "%s: %s", scenario->name,
			of_each[i % COUNT(of_each)].name);
		tests[i] = (struct CMUnitTest){.name = labels[i],
			.test_func = of_each[i % COUNT(of_each)].run,
			.initial_state = (void *)(uintptr_t)scenario};
	}
	return cmocka_run_group_tests_name("documents of hosts", tests, NULL, NULL);
}

static void assert_reason_of_first_call(const char *text)
{
	json_t *root = render_json();
	json_t *call = json_array_get(json_object_get(root, "calls"), 0);
	const char *reason = json_string_value(json_object_get(call, "reason"));

	assert_true(json_is_null(json_object_get(call, "syscall_ns")));
	assert_non_null(reason);
	if (!strstr(reason, text))
		fail_msg("\"%s\" is not in \"%s\"", text, reason);
	json_decref(root);
}

/* A support engineer would look for a missing system call, where a profile refuses it. */
static void a_time_that_is_missing_has_its_own_reason(void **state)
{
	struct path_evidence *raw;

	(void)state;
	healthy();
	raw = &request.evidence.calls[0].path[PATH_SYSCALL];
	fact_set(&raw->fact, FACT_FAILED, "every measurement was disturbed");
	assert_reason_of_first_call("failed: every measurement was disturbed");
	fact_set(&request.evidence.timing.syscall_floor_ns.fact, FACT_FAILED,
		"disturbed, all of it");
	assert_reason_of_first_call("failed: disturbed, all of it");
	request.evidence.calls[0].raw_error = EPERM;
	assert_reason_of_first_call("denied: the system call: Operation not permitted");
	healthy();
	raw->fact = (struct fact){0};
	raw->available = false;
	assert_reason_of_first_call("absent: no such system call on this architecture");
}

static void assert_report_says(const char *text, bool said)
{
	char *report = render("report", false);

	if ((strstr(report, text) != NULL) != said)
		fail_msg("\"%s\" is %s in the report", text, said ? "not" : "found");
	free(report);
}

/* The reader of a report did not take the proof: it says how it was taken. */
static void a_report_has_the_method_of_the_proof(void **state)
{
	(void)state;
	healthy();
	request.evidence.proof.method = PROOF_SECCOMP;
	request.evidence.proof.cpus = 1;
	assert_report_says("child processes made each call 1,000 times on 1 CPU by", true);
	assert_report_says("seccomp filter", true);
	request.evidence.proof.method = PROOF_PTRACE;
	request.evidence.proof.cpus = 4;
	assert_report_says("1,000 times on 4 CPUs by", true);
	assert_report_says("traced by ptrace", true);
	unproven();
	assert_report_says("How the proof was taken", false);
}

/* Dashes without a word would leave open whether it is the host or vdsocheck. */
static void missing_times_are_explained(void **state)
{
	char *text;

	(void)state;
	healthy();
	text = render("text", false);
	assert_null(strstr(text, "\n  timing"));
	free(text);
	fact_set(&request.evidence.timing.syscall_floor_ns.fact, FACT_FAILED,
		"every measurement was disturbed");
	text = render("text", false);
	assert_non_null(
		strstr(text, "\n  timing        not taken: every measurement was disturbed\n"));
	free(text);
	text = render("report", false);
	assert_non_null(
		strstr(text, "\n  timing        not taken: every measurement was disturbed\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_evidence_keeps_the_contract),
		cmocka_unit_test(text_of_any_evidence_fits_eighty_columns),
		cmocka_unit_test(every_format_renders_any_evidence),
		cmocka_unit_test(one_of_several_documents_is_a_line),
		cmocka_unit_test(color_changes_nothing_but_color),
		cmocka_unit_test(json_has_no_color),
		cmocka_unit_test(numbers_of_json_are_the_measured_ones),
		cmocka_unit_test(any_document_read_again_is_the_same),
		cmocka_unit_test(a_document_without_a_key_that_decides_is_refused),
		cmocka_unit_test(a_null_that_decides_without_its_reason_is_refused),
		cmocka_unit_test(a_document_that_contradicts_itself_is_refused),
		cmocka_unit_test(a_document_without_a_deciding_call_is_refused),
		cmocka_unit_test(types_are_checked_strictly),
		cmocka_unit_test(a_broken_document_is_refused_with_a_reason),
		cmocka_unit_test(a_document_cut_anywhere_is_refused),
		cmocka_unit_test(a_time_that_is_missing_has_its_own_reason),
		cmocka_unit_test(missing_times_are_explained),
		cmocka_unit_test(a_report_has_the_method_of_the_proof),
	};

	return run_scenarios() + cmocka_run_group_tests_name("documents", tests, NULL, NULL);
}
