/* SPDX-License-Identifier: MIT */
#include "commands/bench_plan.h"

#include <string.h>
#include <strings.h>

#include "base/number.h"

/* "CLOCK_MONOTONIC", "monotonic" and "1" are the same clock. */
static bool is_clock(const char *word, const char *name, clockid_t id)
{
	uint64_t number;

	if (number_parse(text_span(word), &number))
		return number == (uint64_t)id;
	return strcasecmp(word, name) == 0 || strcasecmp(word, name + strlen("CLOCK_")) == 0;
}

/* Whether the call at this place of the list answers to the name; "" answers to no clock. */
struct candidate {
	const struct call_evidence *names;
	clockid_t clock;
};

static bool has_name(const struct candidate *candidate, const char *word)
{
	return strcmp(candidate->names->call, word) == 0;
}

static bool has_clock(const struct candidate *candidate, const char *word)
{
	return *candidate->names->clock &&
	       is_clock(word, candidate->names->clock, candidate->clock);
}

static bool is_any(const struct candidate *candidate, const char *const *words, size_t count,
	bool (*matches)(const struct candidate *, const char *))
{
	for (size_t i = 0; i < count; i++) {
		if (matches(candidate, words[i]))
			return true;
	}
	return false;
}

/* The article's own call for long runs, the deciding ones for crowds, else all. */
static bool is_usual(const struct bench_request *request, const struct candidate *candidate)
{
	if (request->count_count)
		return has_name(candidate, "gettimeofday");
	return !request->threads || candidate->names->decides;
}

static bool is_asked(const struct bench_request *request, const struct candidate *candidate)
{
	if (!request->call_count && !request->clock_count)
		return is_usual(request, candidate);
	if (request->call_count &&
		!is_any(candidate, request->calls, request->call_count, has_name))
		return false;
	return !request->clock_count ||
	       is_any(candidate, request->clocks, request->clock_count, has_clock);
}

static bool is_known(const struct bench_plan *plan, const char *word,
	bool (*matches)(const struct candidate *, const char *))
{
	for (size_t i = 0; i < plan->evidence->call_count; i++) {
		struct candidate candidate = {
			&plan->evidence->calls[i], plan->calls[i][PATH_LIBC].clock};

		if (matches(&candidate, word))
			return true;
	}
	return false;
}

static bool are_names_known(const struct bench_request *request, const struct bench_plan *plan)
{
	for (size_t i = 0; i < request->call_count; i++) {
		if (!is_known(plan, request->calls[i], has_name)) {
			options_complain_usage("--call: '%s' is not gettimeofday, clock_gettime, "
					       "clock_getres, time or getcpu",
				request->calls[i]);
			return false;
		}
	}
	for (size_t i = 0; i < request->clock_count; i++) {
		if (!is_known(plan, request->clocks[i], has_clock)) {
			options_complain_usage("--clock: '%s' is not a clock that is measured",
				request->clocks[i]);
			return false;
		}
	}
	return true;
}

/* How many ways of calls were chosen. */
static size_t choose(const struct bench_request *request, struct bench_plan *plan)
{
	size_t chosen = 0;

	for (size_t i = 0; i < plan->evidence->call_count; i++) {
		struct candidate candidate = {
			&plan->evidence->calls[i], plan->calls[i][PATH_LIBC].clock};
		bool asked = is_asked(request, &candidate);

		for (int path = 0; path < PATH_COUNT; path++) {
			plan->wanted[i][path] =
				asked && (!request->path_asked || request->paths[path]);
			chosen += plan->wanted[i][path];
		}
	}
	return chosen;
}

bool bench_plan_make(struct bench_request *request, const struct evidence *evidence,
	const struct call calls[CALL_MAX][PATH_COUNT], struct bench_plan *plan)
{
	if (request->threads && !request->cpu_count)
		request->cpu_count = affinity_list(request->cpus, AFFINITY_CPU_MAX);
	*plan = (struct bench_plan){.evidence = evidence,
		.calls = calls,
		.time_ns = request->time_ns,
		.cpu_count = request->cpu_count,
		.cpus = request->cpus,
		.distribution = request->histogram,
		.count_count = request->count_count,
		.threads = request->threads};
	memcpy(plan->counts, request->counts, sizeof(plan->counts));
	if (!are_names_known(request, plan))
		return false;
	if (choose(request, plan) > 0)
		return true;
	options_complain_usage(
		"--clock: '%s' is no clock of --call '%s'", request->clocks[0], request->calls[0]);
	return false;
}
