/* SPDX-License-Identifier: MIT */
/* What `vdsocheck bench` is asked for. */
#ifndef VDSOCHECK_BENCH_OPTIONS_H
#define VDSOCHECK_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "measure/affinity.h"
#include "run.h"

#define BENCH_NAMES_MAX 16

struct bench_request {
	size_t call_count;
	const char *calls[BENCH_NAMES_MAX];
	size_t clock_count;
	const char *clocks[BENCH_NAMES_MAX];
	bool path_asked;
	bool paths[PATH_COUNT];
	size_t cpu_count; /* 0: wherever we are */
	int cpus[AFFINITY_CPU_MAX];
	bool histogram;
	bool time_asked;
	int64_t time_ns;
	unsigned threads; /* 0: none */
	size_t count_count;
	uint64_t counts[BENCH_COUNT_MAX];
};

/* Parses the command line into both; false after a complaint. */
bool bench_options_parse(
	int argc, char **argv, struct options *options, struct bench_request *request);

#endif
