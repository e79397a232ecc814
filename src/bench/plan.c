/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <string.h>
#include <strings.h>

#include "base/number.h"

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

/* Whether the call at this place of the list answers to the name; "" answers to no clock. */
struct candidate {
	const struct call_evidence *names;
	clockid_t clock;
};

static bool has_name(const struct candidate *candidate, struct span word)
{
	return text_equals(word, candidate->names->call);
}

static bool has_clock(const struct candidate *candidate, struct span word)
{
	return *candidate->names->clock &&
	       is_clock(word, candidate->names->clock, candidate->clock);
}

static bool is_any(const struct candidate *candidate, const struct bench_names *names,
	bool (*matches)(const struct candidate *, struct span))
{
	for (size_t i = 0; i < names->count; i++) {
		if (matches(candidate, names->at[i]))
			return true;
	}
	return false;
}

/* The article's own call for long runs, the deciding ones for crowds, else all. */
static bool is_usual(const struct bench_request *request, const struct candidate *candidate)
{
	if (request->count_count)
		return has_name(candidate, text_span("gettimeofday"));
	return !request->threads || candidate->names->decides;
}

/* A clock chooses among the calls that take one; the others are asked for by name. */
static bool has_asked_clock(const struct bench_request *request, const struct candidate *candidate)
{
	if (!request->clocks.count || (request->calls.count && !*candidate->names->clock))
		return true;
	return is_any(candidate, &request->clocks, has_clock);
}

static bool is_asked(const struct bench_request *request, const struct candidate *candidate)
{
	if (!request->calls.count && !request->clocks.count)
		return is_usual(request, candidate);
	if (request->calls.count && !is_any(candidate, &request->calls, has_name))
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
	struct span word, bool (*matches)(const struct candidate *, struct span))
{
	for (size_t i = 0; i < plan->evidence->call_count; i++) {
		struct candidate candidate = candidate_at(plan, i);

		if (matches(&candidate, word) && (!request || is_asked(request, &candidate)))
			return true;
	}
	return false;
}

/* The first name that no call answers to; NULL: there is none. */
static const struct span *find_unanswered(const struct bench_plan *plan,
	const struct bench_request *request, const struct bench_names *names,
	bool (*matches)(const struct candidate *, struct span))
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
		cli_complain("--threads: cannot read which CPUs are available to this process");
	return plan->thread_cpu_count > 0;
}

bool bench_plan_make(struct bench_request *request, const struct evidence *evidence,
	const struct call calls[CALL_MAX][PATH_COUNT], struct bench_plan *plan)
{
	*plan = (struct bench_plan){.evidence = evidence,
		.calls = calls,
		.time_ns = request->duration_ns ? request->duration_ns : DURATION_DEFAULT_NS,
		.cpu_count = request->cpu_count,
		.cpus = request->cpus,
		.distribution = request->histogram,
		.count_count = request->count_count,
		.threads = request->threads};
	memcpy(plan->counts, request->counts, sizeof(plan->counts));
	if (!do_names_choose(request, plan))
		return false;
	choose(request, plan);
	return find_thread_cpus(request, plan);
}
