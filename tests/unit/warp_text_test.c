/* SPDX-License-Identifier: MIT */
/* Tests of warp/text and json: 80 columns whatever the values, and JSON with every key. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "unit/unit.h"
#include "warp/model.h"

static const struct timestamp_evidence timestamp = {.time.fact.state = FACT_KNOWN,
	.time.value = "2026-11-21T15:02:11Z",
	.uptime_s = {.fact.state = FACT_KNOWN, .value = 86400.2}};
static char *bytes; /* of the last document or screen */

static struct warp_evidence large_values(void)
{
	struct warp_evidence warp = {.fact.state = FACT_KNOWN,
		.duration_s = 86400,
		.allowed = 2048,
		.cpu_count = 1024,
		.worst = {.fact.state = FACT_KNOWN,
			.cpu = 1022,
			.other_cpu = 1023,
			.offset_ns = -999999999,
			.error_ns = 99999999},
		.drift = {.fact.state = FACT_KNOWN,
			.counter_hz = 4999999999.0,
			.drift_ppm = -123.4567,
			.error_ppm = 99.9999}};

	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		warp.results[id] =
			(struct warp_result){.name = warp_clock_name((enum warp_clock_id)id),
				.fact.state = FACT_KNOWN,
				.cpu_fact.state = FACT_KNOWN,
				.reads = 999999999,
				.warps = 99999999,
				.largest_ns = 999999999,
				.cpu_behind = 1023,
				.cpu_ahead = 1022,
				.max_offset.fact.state = FACT_KNOWN,
				.max_offset.value = 999999999,
				.discarded = 7};
	return warp;
}

static void render_warp(const struct warp_evidence *warp, bool json)
{
	static struct warp_run run;

	run = (struct warp_run){.report = {.type = warp_command.report, .timestamp = timestamp},
		.evidence.clocksource = {.current_fact.state = FACT_KNOWN, .current = "hpet"},
		.warp = *warp};
	fact_set_text(&run.evidence.host.kernel, "6.1.0-9-amd64");
	warp_judge(warp, &run.evidence.host.cpu_count, &run.report);
	free(bytes);
	bytes = unit_print(json ? report_json : report_text, &run);
}

static void the_text_fits_80_columns(void **state)
{
	struct warp_evidence warp = large_values();

	(void)state;
	render_warp(&warp, false);
	unit_assert_fits_terminal(bytes);
	assert_non_null(strstr(bytes, "999,999,999  1023,1022"));
	assert_non_null(strstr(bytes, "1024 of the 2048"));
	assert_non_null(strstr(bytes, "the clock was set during the test"));
}

/* A result in a ticket is about one clocksource of one machine. */
static void text_and_json_name_clocksource_and_host(void **state)
{
	struct warp_evidence warp = large_values();
	json_t *root;
	const char *current = NULL, *kernel = NULL;

	(void)state;
	render_warp(&warp, false);
	assert_non_null(strstr(bytes, "  clocksource  hpet"));
	assert_non_null(strstr(bytes, "Linux 6.1.0-9-amd64"));
	render_warp(&warp, true);
	root = json_loads(bytes, 0, NULL);
	assert_int_equal(json_unpack(root, "{s{ss} s{ss}}", "clocksource", "current", &current,
				 "host", "kernel", &kernel),
		0);
	assert_string_equal(current, "hpet");
	assert_string_equal(kernel, "6.1.0-9-amd64");
	json_decref(root);
}

static void expect_worst(struct warp_pair worst, const char *text)
{
	struct warp_evidence warp = large_values();

	warp.worst = worst;
	warp.drift.counter_hz = 62.5e6;
	render_warp(&warp, false);
	if (!strstr(bytes, text))
		fail_msg("no '%s' in:\n%s", text, bytes);
}

static void no_value_is_printed_beside_a_larger_error(void **state)
{
	static const struct fact known = {.state = FACT_KNOWN};
	struct warp_pair drifting = {.cpu = 1, .other_cpu = 2};
	struct warp_evidence warp = large_values();

	(void)state;
	expect_worst((struct warp_pair){known, 0, 3, -900, 40},
		"  counters     CPU 3 is 900.0 ns behind CPU 0, +/- 40.0 ns\n");
	expect_worst((struct warp_pair){known, 0, 2, 90, 70},
		"CPU 2 is 90.0 ns ahead of CPU 0, +/- 70.0 ns\n");
	expect_worst((struct warp_pair){known, 0, 1, -3.3, 70},
		"CPU 0 and CPU 1 agree within 73.3 ns\n");
	expect_worst((struct warp_pair){known, 0, 1, 0, 16},
		"CPU 0 and CPU 1 agree within 16.0 ns, one tick\n");
	fact_set(&drifting.fact, FACT_FAILED, "CPU 1 and CPU 2 drift apart");
	expect_worst(drifting, "  counters     CPU 1 and CPU 2 drift apart\n");
	warp.drift.drift_ppm = 0.01;
	warp.drift.error_ppm = 0.33;
	render_warp(&warp, false);
	assert_non_null(strstr(bytes, "  drift        below 0.34 ppm"));
}

static void the_text_says_that_the_test_was_interrupted(void **state)
{
	struct warp_evidence warp = large_values();

	(void)state;
	warp.stopped = true;
	warp.duration_s = 1.54;
	render_warp(&warp, false);
	assert_non_null(strstr(bytes, "\n  stopped      interrupted after 1.54 s\n"));
}

static void a_clock_that_was_not_tested_has_its_reason_below_the_table(void **state)
{
	struct warp_evidence warp = large_values();

	(void)state;
	fact_set(&warp.results[WARP_KERNEL].fact, FACT_ABSENT, "no vDSO function");
	render_warp(&warp, false);
	assert_non_null(strstr(bytes, "\n  untested     vDSO against kernel: no vDSO function\n"));
}

static void warp_that_was_not_tested_says_why(void **state)
{
	struct warp_evidence warp = {.fact.state = FACT_UNREAD};

	(void)state;
	fact_set(&warp.fact, FACT_DENIED, "no thread may be tied to CPU 3");
	render_warp(&warp, false);
	assert_non_null(strstr(bytes, "UNKNOWN: no clock could be tested: no thread may"));
}

/* null is never without a reason beside it. */
static void expect_reason(json_t *object, const char *key, const char *reason)
{
	json_t *value = json_object_get(object, key);

	assert_non_null(value);
	if (json_is_null(value))
		assert_true(json_is_string(json_object_get(object, reason)));
}

static void expect_warp_keys(const struct warp_evidence *warp)
{
	json_t *root, *clocks, *clock;
	size_t i;

	render_warp(warp, true);
	root = json_loads(bytes, 0, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "schema")), "vdsocheck-warp/1");
	expect_reason(root, "duration_s", "reason");
	expect_reason(root, "advice", "advice_reason");
	expect_reason(json_object_get(root, "counters"), "offset_ns", "reason");
	expect_reason(json_object_get(root, "drift"), "drift_ppm", "reason");
	clocks = json_object_get(root, "clocks");
	assert_int_equal(json_array_size(clocks), WARP_CLOCK_COUNT);
	json_array_foreach(clocks, i, clock)
	{
		expect_reason(clock, "reads", "reason");
		expect_reason(clock, "cpu_behind", "cpu_reason");
		expect_reason(clock, "max_offset_ns", "max_offset_reason");
	}
	json_decref(root);
}

static void the_json_has_all_keys(void **state)
{
	struct warp_evidence warp = large_values();

	(void)state;
	expect_warp_keys(&warp);
}

static void the_json_has_all_keys_when_nothing_is_known(void **state)
{
	struct warp_evidence warp = {.fact.state = FACT_UNREAD};

	(void)state;
	fact_set(&warp.fact, FACT_FAILED, "killed by SIGSEGV");
	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		warp.results[id].name = warp_clock_name((enum warp_clock_id)id);
	expect_warp_keys(&warp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_fits_80_columns),
		cmocka_unit_test(text_and_json_name_clocksource_and_host),
		cmocka_unit_test(no_value_is_printed_beside_a_larger_error),
		cmocka_unit_test(the_text_says_that_the_test_was_interrupted),
		cmocka_unit_test(a_clock_that_was_not_tested_has_its_reason_below_the_table),
		cmocka_unit_test(warp_that_was_not_tested_says_why),
		cmocka_unit_test(the_json_has_all_keys),
		cmocka_unit_test(the_json_has_all_keys_when_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
