/* SPDX-License-Identifier: MIT */
/*
 * The options of bench, and the plan that they make: which calls are measured, and by which
 * paths. Lists add up when they are given again.
 */
#include <string.h>

#include "base/text.h"
#include "model.h"

#define DURATION_DEFAULT_NS 1000000000

enum id {
	OPTION_CALL = OPTION_OWN,
	OPTION_CLOCK,
	OPTION_PATH,
	OPTION_CALLS,
};

const struct option_row bench_options[] = {
	{OPTION_CALL, "call", "LIST",
		"only these calls: gettimeofday, clock_gettime, clock_getres, time, getcpu"},
	{OPTION_CLOCK, "clock", "LIST",
		"only these clocks: CLOCK_MONOTONIC, monotonic and 1 are the same"},
	{OPTION_PATH, "path", "LIST", "only these paths: vdso, libc, syscall"},
	{'d', "duration", "TIME", "measure for TIME: 1 (the default), 0.5, 500ms, 5m"},
	{OPTION_CALLS, "calls", "LIST",
		"instead: time N calls in one run, for each N of a list such as 5M,50M, and print "
		"real, user and sys time"},
	{0},
};

/* ---- values ---- */

static bool take_names(const char *option, const char *value, struct bench_names *names)
{
	struct span list = text_span(value), name;

	while (parse_next(&list, &name)) {
		if (names->count == BENCH_NAMES_MAX)
			return cli_usage_error(
				"%s: at most %d names are accepted", option, BENCH_NAMES_MAX);
		names->words[names->count++] = name;
	}
	return true;
}

static bool take_path(struct cli *cli, struct span word)
{
	struct bench_plan *plan = &((struct bench_report *)cli->data)->plan;
	int path = take_name("--path: unknown path", word, call_path_names, PATH_COUNT);

	plan->paths |= path < 0 ? 0 : 1u << path;
	return path >= 0;
}

static bool take_calls(struct cli *cli, struct span word)
{
	struct bench_plan *plan = &((struct bench_report *)cli->data)->plan;

	if (plan->count_count == BENCH_COUNT_MAX)
		return cli_usage_error("--calls: at most %d counts are accepted", BENCH_COUNT_MAX);
	return take_count("--calls", word, "calls from 1 to 1000G, such as 5000, 500k or 5M",
		&plan->counts[plan->count_count++]);
}

bool bench_take(struct cli *cli, int id, const char *value)
{
	struct bench_plan *plan = &((struct bench_report *)cli->data)->plan;

	switch (id) {
	case OPTION_CALL:
		return take_names("--call", value, &plan->names[LIST_CALLS]);
	case OPTION_CLOCK:
		return take_names("--clock", value, &plan->names[LIST_CLOCKS]);
	case OPTION_PATH:
		return take_list(value, take_path, cli);
	case OPTION_CALLS:
		return take_list(value, take_calls, cli);
	default:
		return take_duration("--duration", value, &plan->time_ns);
	}
}

/* ---- the plan ---- */

/* "CLOCK_MONOTONIC", "monotonic" and "1" are the same clock. */
static bool matches(const struct call_row *row, enum bench_list list, struct span word)
{
	uint64_t number;

	if (list == LIST_CALLS)
		return text_equals(word, row->call);
	if (!*row->clock)
		return false;
	if (number_parse(word, &number))
		return number == (uint64_t)row->path[PATH_LIBC].clock;
	return text_equals_any_case(word, row->clock) ||
	       text_equals_any_case(word, row->clock + strlen("CLOCK_"));
}

static bool is_named(
	const struct bench_plan *plan, const struct call_row *row, enum bench_list list)
{
	for (size_t i = 0; i < plan->names[list].count; i++) {
		if (matches(row, list, plan->names[list].words[i]))
			return true;
	}
	return false;
}

/* Without names, --calls takes gettimeofday, the screen the deciding calls. */
static bool bench_is_wanted(const struct bench_plan *plan, const struct call_row *row)
{
	bool calls = plan->names[LIST_CALLS].count, clocks = plan->names[LIST_CLOCKS].count;

	if (!calls && !clocks && plan->count_count)
		return strcmp(row->call, "gettimeofday") == 0;
	if (!calls && !clocks)
		return row->decides || plan->details;
	/* A clock chooses among the calls that take one; the others are chosen by name. */
	return (!calls || is_named(plan, row, LIST_CALLS)) &&
	       (!clocks || (calls && !*row->clock) || is_named(plan, row, LIST_CLOCKS));
}

/* Returns the first name that matches no call, or no wanted one; NULL: each matches one. */
static const struct span *find_unmatched(
	const struct bench_plan *plan, enum bench_list list, bool only_wanted)
{
	for (size_t i = 0; i < plan->names[list].count; i++) {
		const struct span *word = &plan->names[list].words[i];
		bool matched = false;

		for (size_t k = 0; k < plan->calls->count && !matched; k++) {
			const struct call_row *row = &plan->calls->rows[k];

			matched = matches(row, list, *word) &&
			          (!only_wanted || bench_is_wanted(plan, row));
		}
		if (!matched)
			return word;
	}
	return NULL;
}

static bool refuse_name(
	const struct call_table *calls, enum bench_list list, struct span word, const char *what)
{
	struct nearest nearest = {.word = word};
	const char *before = "";

	for (size_t i = 0; i < calls->count; i++) {
		const struct call_row *row = &calls->rows[i];

		if (list == LIST_CLOCKS && *row->clock)
			nearest_try(&nearest, row->clock + strlen("CLOCK_"));
		else if (list == LIST_CALLS && strcmp(row->call, before) != 0)
			nearest_try(&nearest, row->call);
		before = row->call;
	}
	return nearest_refuse(&nearest, what);
}

bool bench_plan_make(struct bench_plan *plan, const struct call_table *calls)
{
	const struct span *word;

	plan->calls = calls;
	if (plan->time_ns && plan->count_count)
		return cli_usage_error("--duration and --calls are mutually exclusive");
	/* A name must be known, and must choose a call: an option without effect is refused. */
	if ((word = find_unmatched(plan, LIST_CALLS, false)))
		return refuse_name(calls, LIST_CALLS, *word, "--call: unknown call");
	if ((word = find_unmatched(plan, LIST_CLOCKS, false)))
		return refuse_name(calls, LIST_CLOCKS, *word, "--clock: unknown clock");
	if ((word = find_unmatched(plan, LIST_CALLS, true)))
		return cli_usage_error("--call: '%.*s' does not apply to any selected clock",
			(int)word->length, word->at);
	if ((word = find_unmatched(plan, LIST_CLOCKS, true)))
		return cli_usage_error("--clock: '%.*s' does not apply to any selected call",
			(int)word->length, word->at);
	plan->time_ns = plan->time_ns ? plan->time_ns : DURATION_DEFAULT_NS;
	return true;
}

const struct call *bench_next(
	const struct bench_plan *plan, size_t *place, struct bench_subject *subject)
{
	while (*place < plan->calls->count * PATH_COUNT) {
		const struct call_row *row = &plan->calls->rows[*place / PATH_COUNT];
		enum call_path path = (enum call_path)(*place % PATH_COUNT);

		++*place;
		if (bench_is_wanted(plan, row) && (!plan->paths || plan->paths & 1u << path)) {
			*subject = (struct bench_subject){row->call, row->clock, path};
			return &row->path[path];
		}
	}
	return NULL;
}

size_t bench_count_wanted(const struct bench_plan *plan)
{
	struct bench_subject subject;
	size_t count = 0;

	for (size_t place = 0; bench_next(plan, &place, &subject);)
		count++;
	return count;
}
