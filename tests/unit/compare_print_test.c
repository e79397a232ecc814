/* SPDX-License-Identifier: MIT */
/*
 * Tests of compare/print: the answer first, 80 columns with every name of a kernel, and
 * JSON with every key.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "compare/model.h"
#include "unit/unit.h"

#define CANDIDATES 3

/* The longest name of a kernel, and the longest that a name can be. */
#define HYPERV "hyperv_clocksource_tsc_page"
#define LONG_NAME "a_clocksource_of_31_characters_"

static struct candidate candidates[CANDIDATES];
static struct compare compare;
static char *bytes; /* of the last document or screen */

static void make_candidate(struct candidate *candidate, const char *name, double ns)
{
	*candidate = (struct candidate){.fact.state = FACT_KNOWN};
	strcpy(candidate->name, name);
	candidate->evidence.proof.fact.state = FACT_KNOWN;
	candidate->evidence.timing.fact.state = FACT_KNOWN;
	candidate->evidence.call_count = 1;
	candidate->evidence.calls[0] = (struct call_evidence){.call = "clock_gettime",
		.clock = "CLOCK_MONOTONIC",
		.decides = true,
		.path[PATH_VDSO] = {.available = true,
			.fact.state = FACT_KNOWN,
			.min_ns = ns,
			.attempts = 1000},
		.path[PATH_SYSCALL] = {.available = true, .fact.state = FACT_KNOWN, .min_ns = ns}};
}

/* The one in use falls back and is slow; the last was not tried. */
static int three_candidates(void **state)
{
	(void)state;
	make_candidate(&candidates[0], "xen", 1841.5);
	candidates[0].in_use = true;
	candidates[0].evidence.calls[0].path[PATH_VDSO].entered = 999;
	make_candidate(&candidates[1], HYPERV, 20);
	make_candidate(&candidates[2], "acpi_pm", 700);
	fact_set(&candidates[2].fact, FACT_FAILED, "rejected by the kernel (still on hpet)");
	compare.run = (struct run){.sw = &compare.sw,
		.begun = true,
		.count = CANDIDATES,
		.candidates = candidates,
		.why.state = FACT_KNOWN,
		.restored_fact.state = FACT_KNOWN};
	compare.host = (struct evidence){.live = true};
	fact_set_text(&compare.host.host.hypervisor, "microsoft");
	return 0;
}

static void render(bool json)
{
	struct clocksource_evidence *clocksource = &compare.host.clocksource;

	compare.report = (struct report){.type = compare_command.report};
	strcpy(compare.sw.original, candidates[0].name);
	fact_set_known(&clocksource->available_fact);
	clocksource->available_count = CANDIDATES;
	for (size_t i = 0; i < CANDIDATES; i++)
		strcpy(clocksource->available[i], candidates[i].name);
	compare_conclude(&compare);
	free(bytes);
	bytes = unit_print(json ? report_json : report_text, &compare);
}

static void expect_text(const char *text)
{
	if (!strstr(bytes, text))
		fail_msg("no '%s' in:\n%s", text, bytes);
}

static void first_line_answers(const char *start)
{
	if (strncmp(bytes, start, strlen(start)) != 0)
		fail_msg("does not begin with '%s':\n%s", start, bytes);
}

static void the_answer_is_first_and_the_table_fits(void **state)
{
	(void)state;
	render(false);
	first_line_answers("OK: 2 of 3 clocksources were measured, and xen is in use again.");
	unit_assert_fits_terminal(bytes);
	expect_text("\n  xen (in use) ");
	expect_text("999 of 1000");
	expect_text("\n  " HYPERV " ");
	expect_text("acpi_pm: rejected by the kernel (still on hpet)");
}

/* It never enters the kernel, and that is not good news. */
static void a_clocksource_whose_calls_fail_is_marked(void **state)
{
	struct path_evidence *vdso = &candidates[1].evidence.calls[0].path[PATH_VDSO];

	(void)state;
	render(false);
	expect_text("  never");
	vdso->failed = vdso->attempts;
	vdso->error = 22;
	fact_set(&vdso->fact, FACT_FAILED, "the call fails with EINVAL");
	render(false);
	expect_text("  fails");
	assert_null(strstr(bytes, "  never"));
}

static void every_name_fits_80_columns(void **state)
{
	static const char *const names[] = {"tsc", "acpi_pm", "hpet", "kvm-clock", "xen", HYPERV};

	(void)state;
	for (size_t i = 0; i < COUNT(names) * COUNT(names); i++) {
		strcpy(candidates[0].name, names[i / COUNT(names)]);
		strcpy(candidates[1].name, names[i % COUNT(names)]);
		render(false);
		unit_assert_fits_terminal(bytes);
	}
}

/* The table gets wider, and nothing is cut. */
static void the_longest_name_and_time_are_printed_whole(void **state)
{
	(void)state;
	make_candidate(&candidates[0], LONG_NAME, 1234567.8);
	candidates[0].in_use = true;
	render(false);
	expect_text("\n  " LONG_NAME " (in use) ");
	expect_text("1,234,568");
}

static void an_early_end_is_said_first(void **state)
{
	(void)state;
	fact_set(&compare.run.why, FACT_FAILED, "interrupted");
	render(false);
	first_line_answers(
		"UNKNOWN: 2 of 3 clocksources were measured: interrupted. xen is in use again.");
	unit_assert_fits_terminal(bytes);
}

static void a_clocksource_that_is_not_restored_is_said_first(void **state)
{
	(void)state;
	compare.run.restored = SWITCH_REFUSED;
	fact_set(&compare.run.restored_fact, FACT_FAILED, "rejected by the kernel");
	render(false);
	first_line_answers("UNKNOWN: xen was in use and is not restored");
	assert_int_equal(compare.report.exit_status, 2);
}

static void nothing_measured_is_not_an_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < CANDIDATES; i++)
		fact_set(&candidates[i].fact, FACT_FAILED, "not done");
	render(false);
	first_line_answers("UNKNOWN: 0 of 3 clocksources were measured: not done.");
}

static void expect_reason(const json_t *object, const char *key, const char *reason)
{
	assert_true(json_is_null(json_object_get(object, key)));
	assert_true(json_is_string(json_object_get(object, reason)));
}

static void json_has_reasons(void **state)
{
	json_t *root, *source;

	(void)state;
	fact_set(&candidates[0].fact, FACT_FAILED, "not done");
	render(true);
	root = json_loads(bytes, 0, NULL);
	assert_non_null(root);
	source = json_array_get(json_object_get(root, "clocksources"), 2);
	expect_reason(source, "cost_ns", "reason");
	expect_reason(source, "entered_kernel", "reason");
	json_decref(root);
}

#define TEST(test) cmocka_unit_test_setup(test, three_candidates)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_answer_is_first_and_the_table_fits),
		TEST(a_clocksource_whose_calls_fail_is_marked),
		TEST(every_name_fits_80_columns),
		TEST(the_longest_name_and_time_are_printed_whole),
		TEST(an_early_end_is_said_first),
		TEST(a_clocksource_that_is_not_restored_is_said_first),
		TEST(nothing_measured_is_not_an_answer),
		TEST(json_has_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
