/* SPDX-License-Identifier: MIT */
/*
 * Which calls are measured, by the names and clocks that were given.
 */
#include "options.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

#define DURATION_DEFAULT_NS 1000000000

static bool equals_in_any_case(struct span word, const char *name)
{
	return strlen(name) == word.length && strncasecmp(word.at, name, word.length) == 0;
}

/* "CLOCK_MONOTONIC", "monotonic" and "1" are the same clock. */
static bool is_clock(struct span word, const char *name, clockid_t id)
{
	uint64_t number;

	if (number_parse(word, &number))
		return number == (uint64_t)id;
	return equals_in_any_case(word, name) || equals_in_any_case(word, name + strlen("CLOCK_"));
}

static bool has_name(const struct call_row *row, struct span word)
{
	return text_equals(word, row->call);
}

static bool has_clock(const struct call_row *row, struct span word)
{
	return *row->clock && is_clock(word, row->clock, row->path[PATH_LIBC].clock);
}

static bool is_any(const struct call_row *row, const struct bench_names *names,
	bool (*matches)(const struct call_row *, struct span))
{
	for (size_t i = 0; i < names->count; i++) {
		if (matches(row, names->at[i]))
			return true;
	}
	return false;
}

/* gettimeofday for counts, the deciding calls for contention, else all. */
static bool is_usual(const struct bench_request *request, const struct call_row *row)
{
	if (request->count_count)
		return has_name(row, text_span("gettimeofday"));
	return !request->threads || row->decides;
}

/* A clock chooses among the calls that take one; the others are chosen by name. */
static bool has_asked_clock(const struct bench_request *request, const struct call_row *row)
{
	if (!request->clocks.count || (request->calls.count && !*row->clock))
		return true;
	return is_any(row, &request->clocks, has_clock);
}

static bool is_asked(const struct bench_request *request, const struct call_row *row)
{
	if (!request->calls.count && !request->clocks.count)
		return is_usual(request, row);
	if (request->calls.count && !is_any(row, &request->calls, has_name))
		return false;
	return has_asked_clock(request, row);
}

/* Whether the word matches any call; with a request: any of the requested ones. */
static bool is_answered(const struct bench_plan *plan, const struct bench_request *request,
	struct span word, bool (*matches)(const struct call_row *, struct span))
{
	for (size_t i = 0; i < plan->calls->count; i++) {
		const struct call_row *row = &plan->calls->rows[i];

		if (matches(row, word) && (!request || is_asked(request, row)))
			return true;
	}
	return false;
}

/* The first name that matches no call; NULL: there is none. */
static const struct span *find_unanswered(const struct bench_plan *plan,
	const struct bench_request *request, const struct bench_names *names,
	bool (*matches)(const struct call_row *, struct span))
{
	for (size_t i = 0; i < names->count; i++) {
		if (!is_answered(plan, request, names->at[i], matches))
			return &names->at[i];
	}
	return NULL;
}

/* Each name must be known, and must choose something: what cannot be measured is refused. */
static bool do_names_choose(const struct bench_request *request, const struct bench_plan *plan)
{
	const struct span *word;

	if ((word = find_unanswered(plan, NULL, &request->calls, has_name)))
		cli_complain_usage("--call: '%.*s' is not gettimeofday, clock_gettime, "
				   "clock_getres, time or getcpu",
			(int)word->length, word->at);
	else if ((word = find_unanswered(plan, NULL, &request->clocks, has_clock)))
		cli_complain_usage("--clock: unknown clock '%.*s'", (int)word->length, word->at);
	else if ((word = find_unanswered(plan, request, &request->calls, has_name)))
		cli_complain_usage("--call: '%.*s' does not apply to any selected clock",
			(int)word->length, word->at);
	else if ((word = find_unanswered(plan, request, &request->clocks, has_clock)))
		cli_complain_usage("--clock: '%.*s' does not apply to any selected call",
			(int)word->length, word->at);
	return !word;
}

static void choose(const struct bench_request *request, struct bench_plan *plan)
{
	for (size_t i = 0; i < plan->calls->count; i++) {
		bool asked = is_asked(request, &plan->calls->rows[i]);

		for (int path = 0; path < PATH_COUNT; path++)
			plan->wanted[i][path] =
				asked && (!request->path_asked || request->paths[path]);
	}
}

/* Those that were named, or all. False after a complaint if they cannot be read. */
static bool find_thread_cpus(struct bench_request *request, struct bench_plan *plan)
{
	plan->thread_cpu_count = request->cpu_count;
	if (!request->threads || request->cpu_count)
		return true;
	plan->thread_cpu_count = cpus_list(request->cpus, CPUS_MAX);
	if (!plan->thread_cpu_count)
		cli_complain("--threads: cannot read which CPUs are available to this process");
	return plan->thread_cpu_count > 0;
}

bool bench_plan_make(
	struct bench_request *request, const struct call_table *calls, struct bench_plan *plan)
{
	*plan = (struct bench_plan){.calls = calls,
		.time_ns = request->duration_ns ? request->duration_ns : DURATION_DEFAULT_NS,
		.cpu_count = request->cpu_count,
		.cpus = request->cpus,
		.histogram = request->histogram,
		.count_count = request->count_count,
		.threads = request->threads};
	memcpy(plan->counts, request->counts, sizeof(plan->counts));
	if (!do_names_choose(request, plan))
		return false;
	choose(request, plan);
	return find_thread_cpus(request, plan);
}
