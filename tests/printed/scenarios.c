/* SPDX-License-Identifier: MIT */
/* The benchmark runs whose output is compared: a tree, a command line and fixed times. */
#include "printed/bench.h"

#include <math.h>
#include <string.h>

#define FAST                                                                                       \
	{                                                                                          \
		.vdso = 22.7, .syscall = 164.0, .coarse = 3.9                                      \
	}

/* Xen and the like: every call enters the kernel, and reading the clock there is slow. */
#define SLOW                                                                                       \
	{                                                                                          \
		.vdso = 596.0, .syscall = 598.2, .coarse = 6.8                                     \
	}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void leave_out(struct ns_stats *stats)
{
	*stats = (struct ns_stats){.fact.state = FACT_UNREAD};
	fact_set(&stats->fact, FACT_UNREAD, "stopped before it was measured");
}

/* After many rounds: what comes behind the table is missing. */
static void is_stopped(struct bench *bench, struct evidence *evidence)
{
	(void)evidence;
	bench->stopped = true;
}

/* In the first round, which each of the first rows had its batch of. */
static void is_stopped_early(struct bench *bench, struct evidence *evidence)
{
	is_stopped(bench, evidence);
	for (size_t i = 0; i < bench->row_count; i++) {
		struct ns_stats *stats = &bench->rows[i].stats;

		stats->batches.begun = stats->ns.count = 1;
		stats->batches.preempted = stats->ns.outliers = 0;
		stats->ns.trimmed_mean = NAN;
		stats->ns.median = stats->ns.p99 = stats->ns.minimum;
		if (i >= 4)
			leave_out(stats);
	}
}

static void is_stopped_at_once(struct bench *bench, struct evidence *evidence)
{
	is_stopped_early(bench, evidence);
	bench->row_count = 0;
}

static void has_runs_stopped(struct bench *bench, struct evidence *evidence)
{
	struct bench_run *last = &bench->runs[3];

	(void)evidence;
	bench->stopped = true;
	bench->run_count = 4;
	last->calls = 123450000 / 10;
	last->real_s /= 4;
	last->user_s /= 4;
	last->sys_s /= 4;
}

static void has_filters(struct bench *bench, struct evidence *evidence)
{
	(void)bench;
	fact_set_number(&evidence->host.seccomp, 2);
}

static void crash(struct ns_stats *stats)
{
	*stats = (struct ns_stats){.fact.state = FACT_FAILED};
	fact_set(&stats->fact, FACT_FAILED, "the call ends with SIGSEGV");
}

/* prctl(PR_SET_TSC): reading the counter, by the vDSO too, raises a signal. */
static void has_counter_off(struct bench *bench, struct evidence *evidence)
{
	(void)evidence;
	for (size_t i = 0; i < bench->row_count; i++) {
		struct bench_row *row = &bench->rows[i];

		if (row->subject.path != PATH_SYSCALL && !strstr(row->subject.clock, "COARSE"))
			crash(&row->stats);
	}
}

static void has_odd_batches(struct bench *bench, struct evidence *evidence)
{
	(void)evidence;
	fact_set(&bench->rows[0].stats.fact, FACT_FAILED, "all 18446744 batches were disturbed");
	bench->rows[1].stats.ns.trimmed_mean = NAN;
}

const struct bench_scenario bench_scenarios[] = {
	{.name = "table",
		.json = true,
		.property = "the table of a host whose clock is served by the vDSO",
		.host = "tsc-metal",
		.ns = FAST},
	{.name = "screen",
		.property = "the answer is still on a terminal of 24 lines",
		.host = "tsc-metal",
		.screen = true,
		.ns = FAST},
	{.name = "screen-worst",
		.property = "so it is with noise, a seccomp filter and calls that fall back",
		.host = "xen-ec2",
		.screen = true,
		.enters = true,
		.noisy = true,
		.ns = SLOW,
		.change = has_filters},
	{.name = "table-fallback",
		.property = "a call that is a system call is not credited to the vDSO",
		.host = "xen-ec2",
		.enters = true,
		.ns = SLOW,
		.change = has_filters},
	{.name = "table-noisy",
		.property = "a busy machine's means are marked as noisy",
		.host = "kvm-clock",
		.words = WORDS("--call", "gettimeofday", "--call", "time"),
		.noisy = true,
		.ns = FAST},
	{.name = "table-no-vdso",
		.json = true,
		.property = "a call that does not exist here has a reason and no number",
		.host = "vdso-off",
		.words = WORDS("--clock", "monotonic"),
		.no_vdso = true,
		.enters = true,
		.ns = FAST},
	{.name = "table-counter-off",
		.property = "a call that crashes is shown with its signal",
		.host = "tsc-metal",
		.words = WORDS("--call", "clock_gettime", "--path", "vdso,syscall"),
		.ns = FAST,
		.change = has_counter_off},
	{.name = "table-odd-batches",
		.property = "a call that was always disturbed has a reason, one batch no mean",
		.host = "tsc-old-kernel",
		.words = WORDS("--clock", "tai", "--clock", "realtime_coarse", "--path", "libc"),
		.ns = FAST,
		.change = has_odd_batches},
	{.name = "stopped",
		.property = "after Ctrl-C the output says what is missing",
		.host = "tsc-metal",
		.words = WORDS("--call", "gettimeofday"),
		.ns = FAST,
		.change = is_stopped},
	{.name = "stopped-early",
		.property = "a number from one batch is marked as such",
		.host = "tsc-metal",
		.words = WORDS("--clock", "monotonic"),
		.ns = FAST,
		.change = is_stopped_early},
	{.name = "stopped-at-once",
		.property = "after an early Ctrl-C nothing is shown as measured",
		.host = "tsc-metal",
		.ns = FAST,
		.change = is_stopped_at_once},
	{.name = "calls",
		.json = true,
		.property = "runs of N calls print the columns of time(1)",
		.host = "xen-ec2",
		.words = WORDS("--calls", "5M,50M,500M"),
		.enters = true,
		.ns = SLOW},
	{.name = "calls-stopped",
		.property = "a run that was stopped is marked",
		.host = "kvm-clock",
		.words = WORDS("--calls", "5M,50M"),
		.ns = FAST,
		.change = has_runs_stopped},
};

const size_t bench_scenario_count = sizeof(bench_scenarios) / sizeof(bench_scenarios[0]);
