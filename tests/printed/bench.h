/* SPDX-License-Identifier: MIT */
/* Benchmarks of machines that are not here: what was asked for, and the numbers it came to. */
#ifndef VDSOCHECK_TESTS_PRINTED_BENCH_H
#define VDSOCHECK_TESTS_PRINTED_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/model.h"

struct bench_ns {
	double vdso; /* a precise clock by the vDSO: in user space, or through the kernel */
	double syscall;
	double coarse;
};

struct bench_scenario {
	const char *name;         /* of the files */
	bool json;                /* the JSON has a file, too */
	const char *property;     /* what holds: the test's name */
	const char *host;         /* below tests/hosts: its clocksource and itself */
	bool screen;              /* without -v, on a terminal of 24 lines */
	const char *const *words; /* of the command line, ends with NULL; NULL: none */
	bool no_vdso;
	bool enters; /* precise clocks by the vDSO go through the kernel */
	bool noisy;
	struct bench_ns ns;
	void (*change)(struct bench *bench, struct evidence *evidence); /* what else is special */
};

extern const struct bench_scenario bench_scenarios[];
extern const size_t bench_scenario_count;

/* A cmocka test whose state is a scenario. */
void printed_bench(void **state);

#endif
