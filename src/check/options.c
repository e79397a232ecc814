/* SPDX-License-Identifier: MIT */
/* The options of check: lists add up when they are given again. */
#include "model.h"

#include "base/text.h"

enum id {
	OPTION_RATE = OPTION_OWN,
	OPTION_FROM,
	OPTION_IDENTITY,
	OPTION_REQUIRE,
	OPTION_MAX_NS,
};

/* Each row is one line of --help, which has to fit a terminal; the manual has the rest. */
const struct option_row check_options[] = {
	{OPTION_FROM, "from", "FILE...", "judge documents that --json wrote; - is standard input"},
	{OPTION_RATE, "rate", "CALLS",
		"estimate the CPU cost of this many calls per second, such as 485k; "
		"'vdsocheck trace' counts a program's"},
	{OPTION_REQUIRE, "require", "LIST", "exit with 1 unless one of these clocksources is used"},
	{OPTION_MAX_NS, "max-ns", "N", "exit with 1 unless each deciding call takes at most N ns"},
	{OPTION_IDENTITY, "include-identity", NULL,
		"name host and cloud instance in JSON and report"},
	{OPTION_SYSROOT, "sysroot", "DIR", "read a captured /proc and /sys; nothing is measured"},
	{0},
};

static bool take_clocksource(struct cli *cli, struct span word)
{
	struct policy *policy = &((struct check_request *)cli->data)->policy;

	if (!word.length)
		return cli_usage_error("--require: '' is not the name of a clocksource");
	if (policy->clocksource_count == POLICY_CLOCKSOURCE_MAX)
		return cli_usage_error(
			"--require: at most %d names are accepted", POLICY_CLOCKSOURCE_MAX);
	policy->clocksources[policy->clocksource_count++] = word;
	return true;
}

bool check_clocksources_exist(const struct policy *policy, const struct evidence *evidence)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	for (size_t i = 0; i < policy->clocksource_count; i++) {
		struct nearest nearest = {.word = policy->clocksources[i]};
		bool exists = text_equals(nearest.word, clocksource->current);
		const char *name;

		for (size_t k = 0; (name = clocksource_known_name(k)); k++) {
			exists |= text_equals(nearest.word, name);
			nearest_try(&nearest, name);
		}
		for (size_t k = 0; k < clocksource->available_count; k++)
			exists |= text_equals(nearest.word, clocksource->available[k]);
		if (!exists)
			return nearest_refuse(&nearest, "--require: unknown clocksource");
	}
	return true;
}

bool check_take(struct cli *cli, int id, const char *value)
{
	struct check_request *request = cli->data;
	uint64_t count;

	switch (id) {
	case OPTION_RATE:
		if (!take_count("--rate", text_span(value),
			    "calls per second from 1 to 1000G, such as 485000, 485k or 5M", &count))
			return false;
		request->rate = (double)count;
		return true;
	case OPTION_REQUIRE:
		return take_list(value, take_clocksource, cli);
	case OPTION_MAX_NS:
		return take_ns("--max-ns", value, &request->policy.max_ns);
	default:
		return request->identity = true;
	}
}
