/* SPDX-License-Identifier: MIT */
/* The options of check: lists add up when they are given again. */
#include "model.h"

#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "measure/call.h"

enum id {
	OPTION_RATE = OPTION_OWN,
	OPTION_FROM,
	OPTION_IDENTITY,
	OPTION_REQUIRE,
	OPTION_DECIDING,
	OPTION_MAX_NS,
};

/* Each row is one line of --help, which has to fit a terminal; the manual has the rest. */
const struct option_row check_options[] = {
	{OPTION_FROM, "from", "FILE...", "judge documents that --json wrote; - is standard input"},
	{OPTION_RATE, "rate", "CALLS[/s]",
		"estimate the CPU cost at this rate, such as 485k; "
		"'vdsocheck trace' counts a program's"},
	{OPTION_REQUIRE, "require", "LIST", "exit with 1 unless one of these clocksources is used"},
	{OPTION_DECIDING, "deciding", "LIST",
		"base the exit status on these calls, such as boottime"},
	{OPTION_MAX_NS, "max-ns", "N", "exit with 1 if a deciding call takes more than N ns"},
	{OPTION_IDENTITY, "include-identity", NULL,
		"name host and cloud instance in JSON and report"},
	{OPTION_SYSROOT, "sysroot", "DIR", "read a captured /proc and /sys; nothing is measured"},
	{0},
};

/* ---- the policy ---- */

/* Refuses a name that nothing has; `nearest` is what it may have been meant to be, or NULL. */
static bool refuse_name(const char *option, const char *what, struct span word, const char *nearest)
{
	if (nearest)
		return cli_error("%s: unknown %s '%.*s'; did you mean '%s'?", option, what,
			(int)word.length, word.at, nearest);
	return cli_usage_error("%s: unknown %s '%.*s'", option, what, (int)word.length, word.at);
}

static bool take_clocksource(struct cli *cli, struct span word)
{
	struct policy *policy = &((struct check_request *)cli->data)->policy;

	if (!word.length)
		return cli_usage_error("--require: '' is not the name of a clocksource");
	if (word.length >= CLOCKSOURCE_NAME_SIZE)
		return refuse_name("--require", "clocksource", word, NULL);
	for (size_t i = 0; i < policy->clocksource_count; i++) {
		if (text_equals(word, policy->clocksources[i]))
			return true;
	}
	if (policy->clocksource_count == POLICY_CLOCKSOURCE_MAX)
		return cli_usage_error(
			"--require: at most %d names are accepted", POLICY_CLOCKSOURCE_MAX);
	text_copy_span(
		policy->clocksources[policy->clocksource_count++], CLOCKSOURCE_NAME_SIZE, word);
	return true;
}

bool check_clocksources_exist(const struct policy *policy, const struct evidence *evidence)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	for (size_t i = 0; i < policy->clocksource_count; i++) {
		struct span word = text_span(policy->clocksources[i]);
		bool exists = text_equals(word, clocksource->current);
		const char *name, *nearest = NULL;
		unsigned least = UINT_MAX;

		for (size_t k = 0; (name = clocksource_known_name(k)); k++) {
			exists |= text_equals(word, name);
			if (is_misspelling(word, name, &least))
				nearest = name;
		}
		for (size_t k = 0; k < clocksource->available_count; k++)
			exists |= text_equals(word, clocksource->available[k]);
		if (!exists)
			return refuse_name("--require", "clocksource", word, nearest);
	}
	return true;
}

/*
 * A call is named by its clock where there is one for each clock, with or without "CLOCK_", else by
 * its own name.
 */
static bool take_deciding(struct cli *cli, struct span word)
{
	struct policy *policy = &((struct check_request *)cli->data)->policy;
	const char *call, *clock, *nearest = NULL;
	unsigned least = UINT_MAX;

	for (size_t i = 0; call_table_names(i, &call, &clock); i++) {
		const char *name = policy_call_name(call, clock);
		const char *shorter = name == clock ? name + strlen("CLOCK_") : name;

		if (name == clock ? text_equals_any_case(word, name) ||
					    text_equals_any_case(word, shorter)
				  : text_equals(word, name)) {
			if (!policy_names(policy, call, clock)) {
				policy->deciding[policy->deciding_count].call = call;
				policy->deciding[policy->deciding_count++].clock = clock;
			}
			return true;
		}
		if (is_misspelling(word, name, &least) || is_misspelling(word, shorter, &least))
			nearest = name;
	}
	if (!text_equals(word, "clock_gettime"))
		return refuse_name("--deciding", "call or clock", word, nearest);
	return cli_usage_error(
		"--deciding: 'clock_gettime' names no clock; give that instead, such as "
		"CLOCK_BOOTTIME");
}

bool check_take(struct cli *cli, int id, const char *value)
{
	struct check_request *request = cli->data;

	switch (id) {
	case OPTION_RATE:
		return take_rate("--rate", value, &request->rate);
	case OPTION_REQUIRE:
		return take_list(value, take_clocksource, cli);
	case OPTION_DECIDING:
		return take_list(value, take_deciding, cli);
	case OPTION_MAX_NS:
		return take_count("--max-ns", text_span(value), "nanoseconds, such as 60",
			&request->policy.max_ns);
	default:
		return request->identity = true;
	}
}
