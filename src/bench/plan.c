/* SPDX-License-Identifier: MIT */
/* Which calls are measured, by the names and clocks that were given. */
#include "model.h"

#include <string.h>

#include "base/text.h"

#define DURATION_DEFAULT_NS 1000000000

const char *const bench_paths[] = {
	[PATH_VDSO] = "vdso", [PATH_LIBC] = "libc", [PATH_SYSCALL] = "syscall", NULL};

typedef bool matcher(const struct call_row *row, struct span word);

static bool has_name(const struct call_row *row, struct span word)
{
	return text_equals(word, row->call);
}

/* "CLOCK_MONOTONIC", "monotonic" and "1" are the same clock. */
static bool has_clock(const struct call_row *row, struct span word)
{
	const char *name = row->clock, *rest = name + strlen("CLOCK_");
	uint64_t number;

	if (!*name)
		return false;
	if (number_parse(word, &number))
		return number == (uint64_t)row->path[PATH_LIBC].clock;
	return text_equals_any_case(word, name) || text_equals_any_case(word, rest);
}

static bool is_any(const struct call_row *row, const struct bench_names *names, matcher *matches)
{
	for (size_t i = 0; i < names->count; i++) {
		if (matches(row, names->at[i]))
			return true;
	}
	return false;
}

static bool is_asked(const struct bench_request *request, const struct call_row *row)
{
	if (!request->calls.count && !request->clocks.count) {
		/* gettimeofday for counts, the deciding calls for contention and the screen. */
		if (request->count_count)
			return has_name(row, text_span("gettimeofday"));
		return row->decides || (request->details && !request->threads);
	}
	if (request->calls.count && !is_any(row, &request->calls, has_name))
		return false;
	/* A clock chooses among the calls that take one; the others are chosen by name. */
	if (!request->clocks.count || (request->calls.count && !*row->clock))
		return true;
	return is_any(row, &request->clocks, has_clock);
}

/* The first name that matches no call, or none of the requested ones; NULL: there is none. */
static const struct span *find_unanswered(const struct bench_plan *plan,
	const struct bench_request *request, const struct bench_names *names, matcher *matches)
{
	for (size_t i = 0; i < names->count; i++) {
		bool answered = false;

		for (size_t k = 0; k < plan->calls->count && !answered; k++) {
			const struct call_row *row = &plan->calls->rows[k];

			answered =
				matches(row, names->at[i]) && (!request || is_asked(request, row));
		}
		if (!answered)
			return &names->at[i];
	}
	return NULL;
}

/* Each name must be known, and must choose something: what cannot be measured is refused. */
static bool do_names_choose(const struct bench_request *request, const struct bench_plan *plan)
{
	const struct span *word;

	if ((word = find_unanswered(plan, NULL, &request->calls, has_name)))
		cli_usage_error("--call: '%.*s' is not gettimeofday, clock_gettime, "
				"clock_getres, time or getcpu",
			(int)word->length, word->at);
	else if ((word = find_unanswered(plan, NULL, &request->clocks, has_clock)))
		cli_usage_error("--clock: unknown clock '%.*s'", (int)word->length, word->at);
	else if ((word = find_unanswered(plan, request, &request->calls, has_name)))
		cli_usage_error("--call: '%.*s' does not apply to any selected clock",
			(int)word->length, word->at);
	else if ((word = find_unanswered(plan, request, &request->clocks, has_clock)))
		cli_usage_error("--clock: '%.*s' does not apply to any selected call",
			(int)word->length, word->at);
	return !word;
}

bool bench_plan_make(
	struct bench_request *request, const struct call_table *calls, struct bench_plan *plan)
{
	*plan = (struct bench_plan){.calls = calls,
		.time_ns = request->duration_ns ? request->duration_ns : DURATION_DEFAULT_NS,
		.cpu_count = request->cpu_count,
		.cpus = request->cpus,
		.selected = request->calls.count || request->clocks.count,
		.histogram = request->histogram,
		.count_count = request->count_count,
		.threads = request->threads,
		.thread_cpu_count = request->cpu_count};
	memcpy(plan->counts, request->counts, sizeof(plan->counts));
	if (!do_names_choose(request, plan))
		return false;
	for (size_t i = 0; i < calls->count * PATH_COUNT; i++)
		plan->wanted[i / PATH_COUNT][i % PATH_COUNT] =
			is_asked(request, &calls->rows[i / PATH_COUNT]) &&
			(!request->path_asked || request->paths[i % PATH_COUNT]);
	if (request->threads && !request->cpu_count)
		plan->thread_cpu_count = cpus_list(request->cpus, CPUS_MAX);
	if (request->threads && !plan->thread_cpu_count)
		cli_error("--threads: cannot read which CPUs are available to this process");
	return !request->threads || plan->thread_cpu_count;
}

bool bench_next(const struct bench_plan *plan, size_t *at, struct bench_subject *subject,
	const struct call **call)
{
	for (; *at < plan->calls->count * PATH_COUNT; ++*at) {
		const struct call_row *row = &plan->calls->rows[*at / PATH_COUNT];

		subject->path = (enum call_path)(*at % PATH_COUNT);
		if (!plan->wanted[*at / PATH_COUNT][subject->path])
			continue;
		*call = &row->path[subject->path];
		text_copy(subject->call, sizeof(subject->call), row->call);
		text_copy(subject->clock, sizeof(subject->clock), row->clock);
		++*at;
		return true;
	}
	return false;
}

size_t bench_count_wanted(const struct bench_plan *plan)
{
	struct bench_subject subject;
	const struct call *call;
	size_t count = 0;

	for (size_t at = 0; bench_next(plan, &at, &subject, &call);)
		count++;
	return count;
}
