/* SPDX-License-Identifier: MIT */
/* The options of check: lists add up when they are given again. */
#include "model.h"

#include <ctype.h>
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
	{OPTION_FROM, "from", "FILE...", "evaluate documents of --json; - is standard input"},
	{OPTION_RATE, "rate", "CALLS[/s]", "estimate the CPU cost at this rate: 485000, 485k"},
	{OPTION_REQUIRE, "require", "LIST", "exit with 1 unless one of these clocksources is used"},
	{OPTION_DECIDING, "deciding", "LIST", "decide by these calls: gettimeofday, boottime, ..."},
	{OPTION_MAX_NS, "max-ns", "N", "exit with 1 if a deciding call takes more than N ns"},
	{OPTION_IDENTITY, "include-identity", NULL,
		"name host and cloud instance in JSON and report"},
	{OPTION_SYSROOT, "sysroot", "DIR", "read a captured /proc and /sys; nothing is measured"},
	{0},
};

/* ---- names, and what a wrong one was meant to be ---- */

#define NAME_SIZE 64

struct nearest {
	char word[NAME_SIZE]; /* in lower case */
	unsigned edits;
	const char *name;
};

static void lower(char *to, const char *from)
{
	size_t i = 0;

	for (; i < NAME_SIZE - 1 && from[i]; i++)
		to[i] = (char)tolower((unsigned char)from[i]);
	to[i] = '\0';
}

static void nearest_begin(struct nearest *nearest, struct span word)
{
	*nearest = (struct nearest){.edits = UINT_MAX};
	text_copy_span(nearest->word, sizeof(nearest->word), word);
	lower(nearest->word, nearest->word);
}

/* `name` is what would be suggested for something like `form`. */
static void nearest_try(struct nearest *nearest, const char *form, const char *name)
{
	char lowered[NAME_SIZE];

	lower(lowered, form);
	if (is_misspelling(nearest->word, lowered, &nearest->edits))
		nearest->name = name;
}

static void refuse_name(
	const char *option, const char *what, struct span word, const struct nearest *nearest)
{
	if (nearest->name)
		cli_error("%s: unknown %s '%.*s'; did you mean '%s'?", option, what,
			(int)word.length, word.at, nearest->name);
	else
		cli_usage_error("%s: unknown %s '%.*s'", option, what, (int)word.length, word.at);
}

/* ---- the policy ---- */

static bool take_clocksource(struct cli *cli, struct span word)
{
	struct policy *policy = &((struct check_request *)cli->own)->policy;
	struct nearest none = {.name = NULL};

	if (!word.length) {
		cli_usage_error("--require: '' is not the name of a clocksource");
		return false;
	}
	if (word.length >= CLOCKSOURCE_NAME_SIZE) {
		refuse_name("--require", "clocksource", word, &none);
		return false;
	}
	for (size_t i = 0; i < policy->clocksource_count; i++) {
		if (text_equals(word, policy->clocksources[i]))
			return true;
	}
	if (policy->clocksource_count == POLICY_CLOCKSOURCE_MAX) {
		cli_usage_error("--require: at most %d names are accepted", POLICY_CLOCKSOURCE_MAX);
		return false;
	}
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
		struct nearest nearest;
		const char *name;

		nearest_begin(&nearest, word);
		for (size_t k = 0; (name = clocksource_known_name(k)); k++) {
			exists |= text_equals(word, name);
			nearest_try(&nearest, name, name);
		}
		for (size_t k = 0; k < clocksource->available_count; k++)
			exists |= text_equals(word, clocksource->available[k]);
		if (!exists) {
			refuse_name("--require", "clocksource", word, &nearest);
			return false;
		}
	}
	return true;
}

/* The clock's name without "CLOCK_". */
static const char *short_name(const char *clock)
{
	return clock + strlen("CLOCK_");
}

/* A call is named by its clock where there is one for each clock, else by its own name. */
static bool is_named(struct span word, const char *call, const char *clock)
{
	if (strcmp(call, "clock_gettime") != 0)
		return text_equals(word, call);
	return text_equals_any_case(word, clock) || text_equals_any_case(word, short_name(clock));
}

static void add_deciding(struct policy *policy, const char *call, const char *clock)
{
	for (size_t i = 0; i < policy->deciding_count; i++) {
		if (strcmp(policy->deciding[i].call, call) == 0 &&
			strcmp(policy->deciding[i].clock, clock) == 0)
			return;
	}
	policy->deciding[policy->deciding_count].call = call;
	policy->deciding[policy->deciding_count++].clock = clock;
}

static bool take_deciding(struct cli *cli, struct span word)
{
	struct check_request *request = cli->own;
	const char *call, *clock;
	struct nearest nearest;

	nearest_begin(&nearest, word);
	for (size_t i = 0; call_table_names(i, &call, &clock); i++) {
		const char *name = policy_call_name(call, clock);

		if (is_named(word, call, clock)) {
			add_deciding(&request->policy, call, clock);
			return true;
		}
		nearest_try(&nearest, name, name);
		if (name == clock)
			nearest_try(&nearest, short_name(clock), name);
	}
	if (text_equals(word, "clock_gettime"))
		cli_usage_error("--deciding: 'clock_gettime' names no clock; give that instead, "
				"such as CLOCK_BOOTTIME");
	else
		refuse_name("--deciding", "call or clock", word, &nearest);
	return false;
}

bool check_take(struct cli *cli, int id, const char *value)
{
	struct check_request *request = cli->own;

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
