/* SPDX-License-Identifier: MIT */
/* What warp and compare print: 80 columns whatever the values, and JSON with no key missing. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "compare/report.h"
#include "unit/unit.h"
#include "warp/report.h"

static const struct moment_evidence moment = {.time.fact.state = FACT_KNOWN,
	.time.value = "2026-11-21T15:02:11Z",
	.uptime_fact.state = FACT_KNOWN,
	.uptime_s = 86400.2};
static char *bytes;
static size_t length;

static int free_bytes(void **state)
{
	(void)state;
	free(bytes);
	bytes = NULL;
	return 0;
}

static struct warp_evidence large_values(void)
{
	struct warp_evidence warp = {.fact.state = FACT_KNOWN,
		.duration_ns = 86400000000000,
		.allowed = 2048,
		.cpu_count = 1024,
		.pair_fact.state = FACT_KNOWN,
		.drift = {.fact.state = FACT_KNOWN,
			.counter_hz = 4999999999.0,
			.drift_ppm = -123.4567,
			.error_ppm = 99.9999}};

	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		warp.tallies[id] = (struct warp_tally){.fact.state = FACT_KNOWN,
			.reads = 999999999,
			.warps = 99999999,
			.largest_ns = 999999999,
			.earlier_cpu = 1023,
			.later_cpu = 1022,
			.apart_fact.state = FACT_KNOWN,
			.apart_ns = 999999999,
			.discarded = 7};
	return warp;
}

static void render_warp(const struct warp_evidence *warp, bool json)
{
	FILE *out = open_memstream(&bytes, &length);
	const struct style style = {.color = false};
	struct warp_ruling ruling;
	struct warp_report report = {.warp = warp, .ruling = &ruling, .moment = &moment};

	warp_ruling_find(warp, &ruling);
	assert_true(json ? warp_report_json(&report, &style, out)
			 : warp_report_text(&report, &style, out));
	fclose(out);
}

static void expect_80_columns(void)
{
	struct span rest = {bytes, length};
	struct span line;

	while (text_next_line(&rest, &line)) {
		if (line.length > 80)
			print_message("%.*s\n", (int)line.length, line.at);
		assert_true(line.length <= 80);
	}
}

static void warp_fits_80_columns(void **state)
{
	struct warp_evidence warp = large_values();

	(void)state;
	render_warp(&warp, false);
	expect_80_columns();
	assert_non_null(strstr(bytes, "999,999,999  1023,1022"));
	assert_non_null(strstr(bytes, "1024 of the 2048"));
	assert_non_null(strstr(bytes, "somebody set the clock"));
}

static void warp_shows_the_pairs_that_matter(void **state)
{
	struct warp_pair pairs[] = {{WARP_PAIR_KNOWN, 0, 1, 1.5, 40},
		{WARP_PAIR_UNSEEN, 0, 2, 0, 0}, {WARP_PAIR_KNOWN, 0, 3, -900, 40},
		{WARP_PAIR_MOVED, 1, 2, 0, 0}, {WARP_PAIR_KNOWN, 1, 3, 20, 40},
		{WARP_PAIR_KNOWN, 2, 3, 3, 40}};
	struct warp_evidence warp = large_values();
	const char *moved, *worst;

	(void)state;
	warp.pairs = pairs;
	warp.pair_count = COUNT(pairs);
	render_warp(&warp, false);
	moved = strstr(bytes, "CPU 1 and CPU 2 run apart");
	worst = strstr(bytes, "CPU 3 is 900.0 ns behind CPU 0");
	assert_non_null(moved);
	assert_non_null(worst);
	assert_true(moved < worst);
	assert_non_null(strstr(bytes, "2 more pairs: -v"));
	assert_null(strstr(bytes, "never ran at the same time"));
}

static void warp_that_was_not_watched_says_why(void **state)
{
	struct warp_evidence warp = {.fact.state = FACT_UNREAD};

	(void)state;
	fact_set(&warp.fact, FACT_DENIED, "no thread may be tied to CPU 3");
	render_warp(&warp, false);
	assert_non_null(strstr(bytes, "UNKNOWN: No clock could be watched: no thread may"));
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
	expect_reason(root, "duration_seconds", "reason");
	expect_reason(root, "advice", "advice_reason");
	expect_reason(json_object_get(root, "counters"), "pairs", "reason");
	expect_reason(json_object_get(root, "drift"), "drift_ppm", "reason");
	clocks = json_object_get(root, "clocks");
	assert_int_equal(json_array_size(clocks), WARP_CLOCK_COUNT);
	json_array_foreach(clocks, i, clock)
	{
		expect_reason(clock, "reads", "reason");
		expect_reason(clock, "earlier_cpu", "cpu_reason");
		expect_reason(clock, "apart_at_most_ns", "apart_reason");
	}
	json_decref(root);
}

static void warp_json_has_all_keys(void **state)
{
	struct warp_evidence warp = large_values();

	(void)state;
	expect_warp_keys(&warp);
}

static void warp_json_has_all_keys_when_nothing_is_known(void **state)
{
	struct warp_evidence warp = {.fact.state = FACT_UNREAD};

	(void)state;
	fact_set(&warp.fact, FACT_FAILED, "killed by SIGSEGV");
	expect_warp_keys(&warp);
}

/* ---- compare ---- */

static struct trial trials[3];

static void render_compare(size_t count, const char *original, bool json)
{
	FILE *out = open_memstream(&bytes, &length);
	struct comparison comparison = {.count = count,
		.trials = trials,
		.why.state = FACT_KNOWN,
		.restored.state = FACT_KNOWN};
	struct choice choice;
	struct compare_report report = {.comparison = &comparison,
		.moment = &moment,
		.choice = &choice,
		.original = original,
		.hypervisor = "kvm"};

	choice_find(&comparison, original, &choice);
	assert_true(json ? compare_report_json(&report, out) : compare_report_text(&report, out));
	fclose(out);
}

static void make_trial(struct trial *trial, const char *name, double ns)
{
	*trial = (struct trial){.switched.state = FACT_KNOWN, .fact.state = FACT_KNOWN};
	strcpy(trial->name, name);
	trial->evidence.proof.fact.state = FACT_KNOWN;
	trial->evidence.timing.fact.state = FACT_KNOWN;
	trial->evidence.call_count = 1;
	trial->evidence.calls[0] = (struct call_evidence){.call = "clock_gettime",
		.clock = "CLOCK_MONOTONIC",
		.decides = true,
		.path[PATH_VDSO] = {.available = true,
			.timed = true,
			.min_ns = ns,
			.median_ns = ns,
			.attempts = 1000,
			.entered = 1000},
		.path[PATH_SYSCALL] = {
			.available = true, .timed = true, .min_ns = ns, .median_ns = ns}};
	trial->warp = large_values();
}

static int three_trials(void **state)
{
	(void)state;
	make_trial(&trials[0], "hyperv_clocksource_tsc_page", 1234567.8);
	make_trial(&trials[1], "tsc", 20);
	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		trials[1].warp.tallies[id].warps = 0;
	trials[2] = (struct trial){.name = "acpi_pm"};
	fact_set(&trials[2].switched, FACT_FAILED, "the kernel refused it and uses hpet");
	fact_set_known(&trials[2].fact);
	return 0;
}

static void compare_fits_80_columns(void **state)
{
	(void)state;
	render_compare(3, "hyperv_clocksource_tsc_page", false);
	expect_80_columns();
	assert_non_null(strstr(bytes, "FASTER: tsc"));
	assert_non_null(strstr(bytes, "* tsc"));
	assert_non_null(strstr(bytes, "the kernel refused it"));
	assert_non_null(strstr(bytes, "    echo tsc > /sys/"));
	assert_non_null(strstr(bytes, "clocksource=tsc"));
	assert_non_null(strstr(bytes, "Risk"));
}

static void compare_gives_no_advice_where_none_is_needed(void **state)
{
	(void)state;
	render_compare(3, "tsc", false);
	assert_non_null(strstr(bytes, "OK: tsc, which is in use"));
	assert_null(strstr(bytes, "echo"));
}

static void compare_without_a_safe_one(void **state)
{
	(void)state;
	render_compare(1, "hyperv_clocksource_tsc_page", false);
	assert_non_null(strstr(bytes, "UNKNOWN: None"));
	assert_null(strstr(bytes, "echo"));
}

static void compare_json_has_reasons(void **state)
{
	json_t *root, *source;

	(void)state;
	render_compare(3, "tsc", true);
	root = json_loads(bytes, 0, NULL);
	assert_non_null(root);
	expect_reason(root, "best", "best_reason");
	expect_reason(root, "advice", "advice_reason");
	source = json_array_get(json_object_get(root, "sources"), 2);
	expect_reason(source, "calls", "reason");
	expect_reason(source, "mean_ns", "reason");
	source = json_array_get(json_object_get(root, "sources"), 0);
	expect_reason(json_array_get(json_object_get(source, "calls"), 0), "libc_ns", "reason");
	assert_string_equal(json_string_value(json_object_get(source, "state")), "warps");
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(warp_fits_80_columns, free_bytes),
		cmocka_unit_test_teardown(warp_shows_the_pairs_that_matter, free_bytes),
		cmocka_unit_test_teardown(warp_that_was_not_watched_says_why, free_bytes),
		cmocka_unit_test_teardown(warp_json_has_all_keys, free_bytes),
		cmocka_unit_test_teardown(warp_json_has_all_keys_when_nothing_is_known, free_bytes),
		cmocka_unit_test_setup_teardown(compare_fits_80_columns, three_trials, free_bytes),
		cmocka_unit_test_setup_teardown(
			compare_gives_no_advice_where_none_is_needed, three_trials, free_bytes),
		cmocka_unit_test_setup_teardown(
			compare_without_a_safe_one, three_trials, free_bytes),
		cmocka_unit_test_setup_teardown(compare_json_has_reasons, three_trials, free_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
