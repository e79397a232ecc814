/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <string.h>

#include "base/number.h"
#include "cli/quantity.h"

#define TIME_DEFAULT_NS 1000000000

enum bench_option_id {
	BENCH_CALL = OWN_OPTION_FIRST,
	BENCH_CLOCK,
	BENCH_PATH,
	BENCH_CALLS,
	BENCH_TIME,
	BENCH_CPU,
	BENCH_THREADS,
	BENCH_HISTOGRAM,
};

static const struct own_option rows[] = {
	{BENCH_CALL, "call", true},
	{BENCH_CLOCK, "clock", true},
	{BENCH_PATH, "path", true},
	{BENCH_CALLS, "calls", true},
	{BENCH_TIME, "time", true},
	{BENCH_CPU, "cpu", true},
	{BENCH_THREADS, "threads", true},
	{BENCH_HISTOGRAM, "histogram", false},
};

static bool take_name(
	const char *option, const char *name, const char *names[BENCH_NAMES_MAX], size_t *count)
{
	if (*count == BENCH_NAMES_MAX) {
		options_complain_usage("%s: '%s' is one too many", option, name);
		return false;
	}
	names[(*count)++] = name;
	return true;
}

static bool take_path(struct span word, struct bench_request *request)
{
	for (int path = 0; path < PATH_COUNT; path++) {
		if (text_equals(word, bench_path_name((enum call_path)path))) {
			request->paths[path] = true;
			return true;
		}
	}
	options_complain_usage(
		"--path: '%.*s' is not vdso, libc or syscall", (int)word.length, word.at);
	return false;
}

static bool take_count(struct span word, struct bench_request *request)
{
	uint64_t count;

	if (!quantity_parse_count(word, &count)) {
		options_complain_usage("--calls: '%.*s' is not a number of calls such as 5M",
			(int)word.length, word.at);
		return false;
	}
	if (request->count_count == BENCH_COUNT_MAX) {
		options_complain_usage(
			"--calls: '%.*s' is one too many", (int)word.length, word.at);
		return false;
	}
	request->counts[request->count_count++] = count;
	return true;
}

static bool take_list(const char *value, bool (*take)(struct span, struct bench_request *),
	struct bench_request *request)
{
	struct span list = text_span(value);
	struct span word;

	while (quantity_next(&list, &word)) {
		if (!take(word, request))
			return false;
	}
	return true;
}

static bool take_time(const char *value, struct bench_request *request)
{
	request->time_asked = true;
	if (quantity_parse_time(text_span(value), &request->time_ns))
		return true;
	options_complain_usage("--time: '%s' is not a time such as 2s, from 10ms to 24h", value);
	return false;
}

static bool is_allowed(const int *cpus, size_t count, uint64_t cpu)
{
	for (size_t i = 0; i < count; i++) {
		if ((uint64_t)cpus[i] == cpu)
			return true;
	}
	return false;
}

static bool take_cpu(const char *value, struct bench_request *request)
{
	size_t allowed = affinity_list(request->cpus, AFFINITY_CPU_MAX);
	uint64_t cpu;

	request->cpu_count = allowed;
	if (strcmp(value, "all") == 0)
		return true;
	if (!number_parse(text_span(value), &cpu)) {
		options_complain_usage("--cpu: '%s' is not a CPU's number or all", value);
		return false;
	}
	if (!is_allowed(request->cpus, allowed, cpu)) {
		options_complain("--cpu: '%s' is not a CPU that we may run on", value);
		return false;
	}
	request->cpus[0] = (int)cpu;
	request->cpu_count = 1;
	return true;
}

static bool take_threads(const char *value, struct bench_request *request)
{
	uint64_t threads;

	if (!number_parse(text_span(value), &threads) || threads == 0 ||
		threads > BENCH_THREADS_MAX) {
		options_complain_usage(
			"--threads: '%s' is not a number from 1 to %d", value, BENCH_THREADS_MAX);
		return false;
	}
	request->threads = (unsigned)threads;
	return true;
}

static bool take(int id, const char *value, void *into)
{
	struct bench_request *request = into;

	switch (id) {
	case BENCH_CALL:
		return take_name("--call", value, request->calls, &request->call_count);
	case BENCH_CLOCK:
		return take_name("--clock", value, request->clocks, &request->clock_count);
	case BENCH_PATH:
		request->path_asked = true;
		return take_list(value, take_path, request);
	case BENCH_CALLS:
		return take_list(value, take_count, request);
	case BENCH_TIME:
		return take_time(value, request);
	case BENCH_CPU:
		return take_cpu(value, request);
	case BENCH_THREADS:
		return take_threads(value, request);
	default:
		request->histogram = true;
		return true;
	}
}

/* An option that would change nothing is a slip, or a hope that would be disappointed. */
static bool makes_sense(const struct bench_request *request)
{
	if (request->histogram && (request->count_count || request->threads)) {
		options_complain_usage("--histogram goes with the table, not with %s",
			request->count_count ? "--calls" : "--threads");
		return false;
	}
	if (request->time_asked && request->count_count && !request->threads) {
		options_complain_usage("--time and --calls exclude each other");
		return false;
	}
	return true;
}

bool bench_options_parse(
	int argc, char **argv, struct options *options, struct bench_request *request)
{
	const struct own_options own = {.command = "bench",
		.rows = rows,
		.count = sizeof(rows) / sizeof(rows[0]),
		.take = take,
		.into = request};

	*request = (struct bench_request){.time_ns = TIME_DEFAULT_NS};
	return options_parse(argc, argv, options, &own) && makes_sense(request);
}
