/* SPDX-License-Identifier: MIT */
#include "plan.h"

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

/* A clock chooses among the calls that take one; the others are asked for by name. */
static bool has_asked_clock(const struct bench_request *request, const struct candidate *candidate)
{
	if (!request->clock_count || (request->call_count && !*candidate->names->clock))
		return true;
	return is_any(candidate, request->clocks, request->clock_count, has_clock);
}

static bool is_asked(const struct bench_request *request, const struct candidate *candidate)
{
	if (!request->call_count && !request->clock_count)
		return is_usual(request, candidate);
	if (request->call_count &&
		!is_any(candidate, request->calls, request->call_count, has_name))
		return false;
	return has_asked_clock(request, candidate);
}

static struct candidate candidate_at(const struct bench_plan *plan, size_t place)
{
	return (struct candidate){
		&plan->evidence->calls[place], plan->calls[place][PATH_LIBC].clock};
}

/* Whether any call answers to the word; with a request: any of those that are asked for. */
static bool is_answered(const struct bench_plan *plan, const struct bench_request *request,
	const char *word, bool (*matches)(const struct candidate *, const char *))
{
	for (size_t i = 0; i < plan->evidence->call_count; i++) {
		struct candidate candidate = candidate_at(plan, i);

		if (matches(&candidate, word) && (!request || is_asked(request, &candidate)))
			return true;
	}
	return false;
}

static bool are_names_known(const struct bench_request *request, const struct bench_plan *plan)
{
	for (size_t i = 0; i < request->call_count; i++) {
		if (!is_answered(plan, NULL, request->calls[i], has_name)) {
			options_complain_usage("--call: '%s' is not gettimeofday, clock_gettime, "
					       "clock_getres, time or getcpu",
				request->calls[i]);
			return false;
		}
	}
	for (size_t i = 0; i < request->clock_count; i++) {
		if (!is_answered(plan, NULL, request->clocks[i], has_clock)) {
			options_complain_usage("--clock: '%s' is not a clock that is measured",
				request->clocks[i]);
			return false;
		}
	}
	return true;
}

/* Every name must choose something: who asks for what is not measured is told. */
static bool do_names_choose(const struct bench_request *request, const struct bench_plan *plan)
{
	for (size_t i = 0; i < request->call_count; i++) {
		if (!is_answered(plan, request, request->calls[i], has_name)) {
			options_complain_usage(
				"--call: '%s' is measured for none of the clocks named",
				request->calls[i]);
			return false;
		}
	}
	for (size_t i = 0; i < request->clock_count; i++) {
		if (!is_answered(plan, request, request->clocks[i], has_clock)) {
			options_complain_usage(
				"--clock: '%s' is measured for none of the calls named",
				request->clocks[i]);
			return false;
		}
	}
	return true;
}

static void choose(const struct bench_request *request, struct bench_plan *plan)
{
	for (size_t i = 0; i < plan->evidence->call_count; i++) {
		struct candidate candidate = candidate_at(plan, i);
		bool asked = is_asked(request, &candidate);

		for (int path = 0; path < PATH_COUNT; path++)
			plan->wanted[i][path] =
				asked && (!request->path_asked || request->paths[path]);
	}
}

/* Those that were named, or all. False after a complaint if they are not to be had. */
static bool find_thread_cpus(struct bench_request *request, struct bench_plan *plan)
{
	plan->thread_cpu_count = request->cpu_count;
	if (!request->threads || request->cpu_count)
		return true;
	plan->thread_cpu_count = affinity_list(request->cpus, AFFINITY_CPU_MAX);
	if (!plan->thread_cpu_count)
		options_complain("--threads: the kernel does not tell which CPUs we may run on");
	return plan->thread_cpu_count > 0;
}

bool bench_plan_make(struct bench_request *request, const struct evidence *evidence,
	const struct call calls[CALL_MAX][PATH_COUNT], struct bench_plan *plan)
{
	*plan = (struct bench_plan){.evidence = evidence,
		.calls = calls,
		.time_ns = request->time_ns,
		.cpu_count = request->cpu_count,
		.cpus = request->cpus,
		.distribution = request->histogram,
		.count_count = request->count_count,
		.threads = request->threads};
	memcpy(plan->counts, request->counts, sizeof(plan->counts));
	if (!are_names_known(request, plan) || !do_names_choose(request, plan))
		return false;
	choose(request, plan);
	return find_thread_cpus(request, plan);
}
