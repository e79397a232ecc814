/* SPDX-License-Identifier: MIT */
/* What `vdsocheck bench` is asked for, and the plan made of it (plan.c). */
#ifndef VDSOCHECK_BENCH_OPTIONS_H
#define VDSOCHECK_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/command.h"
#include "measure/cpus.h"
#include "model.h"

#define BENCH_NAMES_MAX 16

/* Words of the command line. */
struct bench_names {
	size_t count;
	struct span at[BENCH_NAMES_MAX];
};

struct bench_request {
	bool details; /* all calls and the clocks, unless chosen by name; else the deciding ones */
	struct bench_names calls;
	struct bench_names clocks;
	bool path_asked;
	bool paths[PATH_COUNT];
	size_t cpu_count; /* 0: any CPU */
	int cpus[CPUS_MAX];
	bool histogram;
	int64_t duration_ns; /* 0: not given */
	unsigned threads;    /* 0: none */
	size_t count_count;
	uint64_t counts[BENCH_COUNT_MAX];
};

extern const struct option_row bench_options[];

/* Stores a value in the struct bench_request of cli->own. */
bool bench_take(struct cli *cli, int id, const char *value);

/* Whether the options go together; false after an error message. */
bool bench_options_fit(const struct bench_request *request);

/*
 * The plan for the calls of the table, which it refers to, as it does to the request. False after a
 * message if the names leave no call.
 */
bool bench_plan_make(
	struct bench_request *request, const struct call_table *calls, struct bench_plan *plan);

#endif
