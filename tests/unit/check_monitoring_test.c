/* SPDX-License-Identifier: MIT */
/*
 * Tests of check/monitoring, check/prometheus and check/markdown: whatever is in the evidence, what
 * is printed keeps the form that its readers parse.
 */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "check/model.h"
#include "unit/dice.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

#define ROLLS 300

static struct check_request request;

/* What a format prints for the evidence; the caller frees it. */
static char *print(void (*write)(const void *, const struct style *, FILE *))
{
	diagnose(&request.evidence, &request.diagnosis);
	policy_judge(&request.policy, &request.evidence, request.diagnosis.verdict.kind,
		&request.outcome);
	return unit_print(write, &request);
}

static void assert_matches(const char *text, const char *pattern)
{
	regex_t regex;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	if (regexec(&regex, text, 0, NULL, 0) != 0)
		fail_msg("'%s' does not match '%s'", text, pattern);
	regfree(&regex);
}

/* Any evidence under any policy, with what the formats have to escape in its names. */
static void roll(struct dice *dice)
{
	static const char name[] = "a|b \"c\" \\d";

	evidence_roll(&request.evidence, dice);
	if (dice_roll(dice, 2))
		strcpy(request.evidence.clocksource.current, name);
	if (dice_roll(dice, 2))
		strcpy(request.evidence.host.name.value, name);
	strcpy(request.evidence.proof.fact.reason, name);
	request.policy = (struct policy){.max_ns = dice_roll(dice, 2) ? 50 : 0};
	if (dice_roll(dice, 2))
		request.policy.clocksources[request.policy.clocksource_count++] = text_span(name);
}

static void a_status_line_has_one_bar_and_valid_perfdata(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int i = 0; i < ROLLS; i++) {
		char *text, *rest;

		roll(&dice);
		text = print(check_report_nagios);
		rest = strchr(text, '\n');
		assert_non_null(rest);
		*rest++ = '\0';
		assert_matches(text,
			"^VDSOCHECK (OK|WARNING|CRITICAL|UNKNOWN) - [^|]+( \\|( [A-Za-z_]+="
			"[0-9.]+(us|%);;[0-9.]*;0(;100)?)+)?$");
		assert_null(strchr(rest, '|'));
		free(text);
	}
}

static void a_line_has_its_columns_whatever_is_in_them(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int i = 0; i < ROLLS; i++) {
		char *text;

		roll(&dice);
		text = print(check_report_line);
		assert_matches(text,
			"^[^ ]+ +(ok|fallback|slow|wrong|unknown) +[^ ]+ +[^ ]+ +([0-9.]+|-) [^ ]+ "
			".*\n$");
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
		free(text);
	}
}

static void a_line_has_nothing_of_a_file_name_that_drives_a_terminal(void **state)
{
	char *text;

	(void)state;
	evidence_make_healthy(&request.evidence);
	fact_set(&request.evidence.host.name.fact, FACT_ABSENT, "not written");
	request.file = "x\033[31m\n\302\205web-1 ok";
	text = print(check_report_line);
	request.file = NULL;
	assert_memory_equal(text, "x?[31m???web-1_ok ok", 20);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	free(text);
}

/* A report is pasted into tickets and wikis. */
static void a_report_has_what_a_host_says_of_itself_as_code(void **state)
{
	char *text, *found;

	(void)state;
	evidence_make_healthy(&request.evidence);
	fact_set_text(&request.evidence.host.cpu, "`<img src=x> [a](b)");
	text = print(check_report_markdown);
	found = strstr(text, "`<img src=x> [a](b)");
	assert_non_null(found);
	assert_true(found > strstr(text, "\n```text\n") && found < strstr(text, "\n```\n"));
	free(text);
}

static void each_metric_is_a_valid_sample_below_its_type(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int i = 0; i < ROLLS; i++) {
		char metric[64] = "", *text, *rest, *line;

		roll(&dice);
		rest = text = print(check_report_prometheus);
		while ((line = strsep(&rest, "\n")) && *line) {
			if (sscanf(line, "# TYPE %63s gauge", metric) == 1)
				continue;
			if (strncmp(line, "# HELP vdsocheck_", 17) == 0)
				continue;
			assert_memory_equal(line, metric, strlen(metric));
			assert_matches(line + strlen(metric),
				"^(\\{([a-z_]+=\"([^\"\\]|\\\\[\"\\n])*\",?)+\\})? "
				"[0-9.]+(e-9)?$");
		}
		free(text);
	}
}

static void states_are_those_of_a_plugin(void **state)
{
	(void)state;
	request.policy = (struct policy){.max_ns = 0};
	evidence_make_healthy(&request.evidence);
	free(print(check_report_nagios));
	assert_int_equal(check_nagios_status(&request), 0);
	evidence_make_falling_back(&request.evidence, "hpet");
	free(print(check_report_nagios));
	assert_int_equal(check_nagios_status(&request), 1);
	request.policy.max_ns = 1;
	free(print(check_report_nagios));
	assert_int_equal(check_nagios_status(&request), 2);
	request.policy.max_ns = 0;
	evidence_remove_timing(&request.evidence);
	evidence_remove_proof(&request.evidence, "Operation not permitted");
	free(print(check_report_nagios));
	assert_int_equal(check_nagios_status(&request), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_line_has_one_bar_and_valid_perfdata),
		cmocka_unit_test(a_line_has_its_columns_whatever_is_in_them),
		cmocka_unit_test(a_line_has_nothing_of_a_file_name_that_drives_a_terminal),
		cmocka_unit_test(a_report_has_what_a_host_says_of_itself_as_code),
		cmocka_unit_test(each_metric_is_a_valid_sample_below_its_type),
		cmocka_unit_test(states_are_those_of_a_plugin),
	};

	return cmocka_run_group_tests_name("monitoring", tests, NULL, NULL);
}
