/* SPDX-License-Identifier: MIT */
/* The options of bench: lists add up when they are given again. */
#include "model.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

enum id {
	OPTION_CALL = OPTION_OWN,
	OPTION_CLOCK,
	OPTION_PATH,
	OPTION_CALLS,
	OPTION_CPU,
	OPTION_THREADS,
	OPTION_HISTOGRAM,
};

const struct option_row bench_options[] = {
	{OPTION_CALL, "call", "LIST",
		"only these calls: gettimeofday, clock_gettime, clock_getres, time, getcpu"},
	{OPTION_CLOCK, "clock", "LIST",
		"only these clocks: CLOCK_MONOTONIC, monotonic and 1 are the same"},
	{OPTION_PATH, "path", "LIST", "only these paths: vdso, libc, syscall"},
	{'d', "duration", "TIME", "measure for TIME: 1 (the default), 0.5, 500ms, 5m"},
	{'d', "time", "TIME", NULL},
	{OPTION_CPU, "cpu", "LIST", "measure on each of these CPUs in turn: 0,4-7, or all"},
	{OPTION_HISTOGRAM, "histogram", NULL, "below the table, draw histograms of single calls"},
	{OPTION_CALLS, "calls", "LIST",
		"instead: time N calls in one run, for each N of a list such as 5M,50M, and print "
		"real, user and sys time"},
	{OPTION_THREADS, "threads", "N",
		"instead: time the same call on one CPU, then on N at once"},
	{0},
};

static bool take_name(const char *option, struct span name, struct bench_names *names)
{
	if (names->count == BENCH_NAMES_MAX) {
		cli_usage_error("%s: at most %d names are accepted", option, BENCH_NAMES_MAX);
		return false;
	}
	names->at[names->count++] = name;
	return true;
}

static bool take_call(struct cli *cli, struct span word)
{
	return take_name("--call", word, &((struct bench_request *)cli->own)->calls);
}

static bool take_clock(struct cli *cli, struct span word)
{
	return take_name("--clock", word, &((struct bench_request *)cli->own)->clocks);
}

static bool take_path(struct cli *cli, struct span word)
{
	struct bench_request *request = cli->own;

	for (int path = 0; path < PATH_COUNT; path++) {
		if (text_equals(word, bench_paths[path])) {
			request->path_asked = true;
			request->paths[path] = true;
			return true;
		}
	}
	cli_usage_error("--path: '%.*s' is not vdso, libc or syscall", (int)word.length, word.at);
	return false;
}

static bool take_calls(struct cli *cli, struct span word)
{
	struct bench_request *request = cli->own;

	if (request->count_count == BENCH_COUNT_MAX) {
		cli_usage_error("--calls: at most %d counts are accepted", BENCH_COUNT_MAX);
		return false;
	}
	return take_count("--calls", word, "calls from 1 to 1000G, such as 5000, 500k or 5M",
		&request->counts[request->count_count++]);
}

static bool is_listed(const int *cpus, size_t count, uint64_t cpu)
{
	for (size_t i = 0; i < count; i++) {
		if ((uint64_t)cpus[i] == cpu)
			return true;
	}
	return false;
}

static bool take_cpu(struct cli *cli, struct span word)
{
	static int allowed[CPUS_MAX];
	struct bench_request *request = cli->own;
	size_t count = cpus_list(allowed, CPUS_MAX);
	struct span step = word, range = text_take_until(&step, ':');
	uint64_t first, last, stride = 1;

	if (text_equals(word, "all")) {
		memcpy(request->cpus, allowed, sizeof(allowed));
		request->cpu_count = count;
		return true;
	}
	if (!number_parse_range(range, &first, &last) ||
		(range.length < word.length && (!number_parse(step, &stride) || !stride))) {
		cli_usage_error("--cpu: '%.*s' is not a CPU, a range such as 0-3 or 0-6:2, or "
				"'all'",
			(int)word.length, word.at);
		return false;
	}
	for (uint64_t cpu = first; cpu <= last; cpu += stride) {
		if (!is_listed(allowed, count, cpu)) {
			cli_error("--cpu: CPU %" PRIu64 " is not available to this process", cpu);
			return false;
		}
		if (!is_listed(request->cpus, request->cpu_count, cpu))
			request->cpus[request->cpu_count++] = (int)cpu;
		/* A stride beyond all CPUs must not wrap around. */
		if (stride > last - cpu)
			break;
	}
	return true;
}

static bool take_threads(const char *value, struct bench_request *request)
{
	uint64_t threads;

	if (!number_parse(text_span(value), &threads) || threads == 0 ||
		threads > BENCH_THREADS_MAX) {
		cli_usage_error(
			"--threads: '%s' is not a number from 1 to %d", value, BENCH_THREADS_MAX);
		return false;
	}
	request->threads = (unsigned)threads;
	return true;
}

bool bench_take(struct cli *cli, int id, const char *value)
{
	struct bench_request *request = cli->own;

	switch (id) {
	case OPTION_CALL:
		return take_list(value, take_call, cli);
	case OPTION_CLOCK:
		return take_list(value, take_clock, cli);
	case OPTION_PATH:
		return take_list(value, take_path, cli);
	case OPTION_CALLS:
		return take_list(value, take_calls, cli);
	case OPTION_CPU:
		return take_list(value, take_cpu, cli);
	case OPTION_THREADS:
		return take_threads(value, request);
	case OPTION_HISTOGRAM:
		return request->histogram = true;
	default:
		return take_duration("--duration", value, &request->duration_ns);
	}
}

/* An option that would change nothing is refused: it was given for a reason. */
bool bench_options_fit(const struct bench_request *request)
{
	if (request->histogram && (request->count_count || request->threads)) {
		cli_usage_error("--histogram cannot be combined with %s",
			request->count_count ? "--calls" : "--threads");
		return false;
	}
	if (request->duration_ns && request->count_count && !request->threads) {
		cli_usage_error("--duration and --calls are mutually exclusive");
		return false;
	}
	return true;
}
