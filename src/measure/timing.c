/* SPDX-License-Identifier: MIT */
/*
 * Times every call by every path, the counter and the cheapest system call, side by side in one
 * child: what drifts hits all of them alike.
 */
#include "measure/timing.h"

#include <math.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/text.h"
#include "measure/counter.h"
#include "measure/cpus.h"
#include "measure/samples.h"
#include "measure/statistics.h"

#define ROUNDS_MAX 128

/*
 * How much is measured. A batch of 20 us is a thousand times what the timebase takes and a
 * hundredth of a time slice. To distinguish a call from one that enters the kernel and costs
 * several times as much, shorter ones are enough. The time is for each series, so that a call is
 * measured as well among few as among many.
 */
struct effort {
	int64_t batch_ns;
	int64_t series_ns;
};

static const struct effort efforts[] = {
	[TIMING_WHOLE] = {.batch_ns = 20000, .series_ns = 570000},
	[TIMING_BRIEF] = {.batch_ns = 5000, .series_ns = 40000},
};

#define ROUNDS_LEAST 9

/*
 * Where the times decide alone. On a guest whose CPU is taken away unseen, one batch in 500
 * is several times too long: the 99th percentile of 50 batches is the longest, that of 1,000
 * leaves out ten.
 */
#define CLEARING_ROUNDS 1000
#define CLEARING_PASSES 4
#define CLEARING_BATCH_NS 10000
static const struct sampler_limits clearing = {
	.ns = 200000000, .rounds_least = ROUNDS_LEAST, .rounds_most = CLEARING_ROUNDS};

#define SERIES_MAX (CALL_MAX * PATH_COUNT + 3)

struct measurement {
	struct sampler sampler;
	struct call entry;
	struct series *of_call[CALL_MAX][PATH_COUNT]; /* NULL: not to be measured */
	struct series *of_entry;
	struct series *of_counter;
	struct series *of_ordered;
	struct series series[SERIES_MAX];
	double samples[SERIES_MAX][ROUNDS_MAX];
};

/* What the parent hands to the child. */
struct job {
	struct evidence evidence; /* timing.fact is the child's answer */
	const struct call_table *calls;
	const struct effort *effort;
};

static struct series *add_series(
	struct measurement *measurement, series_repeat *repeat, const void *subject)
{
	size_t place = measurement->sampler.count++;

	measurement->series[place] = (struct series){.repeat = repeat,
		.subject = subject,
		.samples = measurement->samples[place],
		.capacity = ROUNDS_MAX};
	return &measurement->series[place];
}

static void add_calls(struct measurement *measurement, const struct job *job)
{
	for (size_t i = 0; i < job->calls->count; i++) {
		for (int path = 0; path < PATH_COUNT; path++) {
			if (job->calls->rows[i].path[path].function.any)
				measurement->of_call[i][path] = add_series(measurement,
					series_repeat_call, &job->calls->rows[i].path[path]);
		}
	}
}

static void set_up(struct measurement *measurement, struct job *job)
{
	struct timing_evidence *timing = &job->evidence.timing;

	measurement->sampler.series = measurement->series;
	measurement->entry = call_syscall_floor();
	add_calls(measurement, job);
	measurement->of_entry = add_series(measurement, series_repeat_call, &measurement->entry);
	counter_probe(&timing->counter_fact);
	timing->ordered_fact = timing->counter_fact;
	if (fact_is_known(&timing->counter_fact)) {
		measurement->of_counter = add_series(measurement, series_repeat_counter, NULL);
		measurement->of_ordered = add_series(measurement, series_repeat_ordered, NULL);
	}
	text_copy(timing->counter, sizeof(timing->counter), counter_name());
}

/*
 * Nanoseconds to tenths, which is what is printed: a document has all that its run had, and
 * judged again gives the same text.
 */
static double in_tenths(double ticks, double ns_per_tick)
{
	return round(ticks * ns_per_tick * 10) / 10;
}

static void report_call(const struct series *series, double ns_per_tick, struct path_evidence *path)
{
	path->signal = series->signal;
	if (!series_is_measured(series))
		return;
	path->min_ns = in_tenths(series->least, ns_per_tick);
	path->median_ns = in_tenths(statistics_median(series->samples, series->count), ns_per_tick);
	path->p99_ns =
		in_tenths(statistics_percentile(series->samples, series->count, 99), ns_per_tick);
	/* Less than half a tenth is no time of a call. */
	path->timed = path->min_ns > 0;
}

/* A tracer of ours (strace -f) stops each system call: nothing is left undisturbed. */
static void explain_disturbed(const struct number_fact *tracer, struct fact *fact)
{
	if (fact_is_known(&tracer->fact) && tracer->value)
		fact_set(fact, FACT_FAILED,
			"every measurement was disturbed: this process is traced by process %lld",
			(long long)tracer->value);
	else
		fact_set(fact, FACT_FAILED, "every measurement was disturbed");
}

/* The fact says already why there is no series, if there is none. */
static void report_part(const struct series *series, double ns_per_tick,
	const struct number_fact *tracer, double *ns, struct fact *fact)
{
	if (!series)
		return;
	if (!series_is_measured(series)) {
		explain_disturbed(tracer, fact);
		return;
	}
	*ns = in_tenths(series->least, ns_per_tick);
	fact_set_known(fact);
}

static void report(const struct measurement *measurement, struct evidence *evidence)
{
	struct timing_evidence *timing = &evidence->timing;
	const struct number_fact *tracer = &evidence->host.tracer;
	double ns_per_tick = sampler_ns_per_tick(&measurement->sampler);

	for (size_t i = 0; i < evidence->call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++) {
			const struct series *series = measurement->of_call[i][path];

			if (series)
				report_call(series, ns_per_tick, &evidence->calls[i].path[path]);
		}
	}
	report_part(measurement->of_entry, ns_per_tick, tracer, &timing->syscall_floor_ns,
		&timing->syscall_floor_fact);
	report_part(measurement->of_counter, ns_per_tick, tracer, &timing->counter_ns,
		&timing->counter_fact);
	report_part(measurement->of_ordered, ns_per_tick, tracer, &timing->ordered_ns,
		&timing->ordered_fact);
	timing->batches = (unsigned)measurement->sampler.rounds;
}

/* Many batches of the deciding calls by the vDSO alone; a p99 found before is not raised. */
static bool measure_clearing_pass(struct job *job, bool by_counter)
{
	static struct series series[CALL_MAX];
	static double samples[CALL_MAX][CLEARING_ROUNDS];
	struct sampler sampler = {.series = series, .count = job->calls->count};
	bool clear = true;
	struct fact why = {0};

	for (size_t i = 0; i < job->calls->count; i++) {
		const struct call_evidence *call = &job->evidence.calls[i];

		series[i] = (struct series){.samples = samples[i],
			.capacity = CLEARING_ROUNDS,
			.subject = &job->calls->rows[i].path[PATH_VDSO]};
		if (call->decides && call->path[PATH_VDSO].timed)
			series[i].repeat = series_repeat_call;
	}
	if (!sampler_start(&sampler, by_counter, CLEARING_BATCH_NS, &why))
		return false;
	sampler_run(&sampler, &clearing);
	for (size_t i = 0; i < job->calls->count; i++) {
		struct path_evidence *path = &job->evidence.calls[i].path[PATH_VDSO];
		double ns_per_tick = sampler_ns_per_tick(&sampler);
		double p99;

		if (!series_is_measured(&series[i]))
			continue;
		p99 = statistics_summarise(samples[i], series[i].count).p99;
		path->p99_ns = fmin(path->p99_ns, in_tenths(p99, ns_per_tick));
		clear = clear && path->p99_ns < job->evidence.timing.syscall_floor_ns / 2;
	}
	return clear;
}

/* Noise comes in bursts: another pass a little later may have none. */
static void measure_for_clearing(struct job *job, bool by_counter)
{
	struct timespec pause = {.tv_nsec = 20000000};

	for (int pass = 0; pass < CLEARING_PASSES; pass++) {
		if (measure_clearing_pass(job, by_counter))
			break;
		nanosleep(&pause, NULL);
	}
}

/* The current CPU is as good as any, and another one may be busy. */
static int pin_here(void)
{
	unsigned cpu = 0;

	if (syscall(SYS_getcpu, &cpu, NULL, NULL) < 0 || !cpus_pin((int)cpu))
		return -1;
	return (int)cpu;
}

static void measure(void *argument)
{
	static struct measurement measurement;
	struct job *job = argument;
	struct timing_evidence *timing = &job->evidence.timing;
	struct sampler_limits limits = {.rounds_least = ROUNDS_LEAST, .rounds_most = ROUNDS_MAX};

	timing->cpu = pin_here();
	set_up(&measurement, job);
	if (!sampler_start(&measurement.sampler, measurement.of_counter != NULL,
		    job->effort->batch_ns, &timing->fact))
		return;
	limits.ns = (int64_t)measurement.sampler.count * job->effort->series_ns;
	sampler_run(&measurement.sampler, &limits);
	report(&measurement, &job->evidence);
	if (!fact_is_known(&job->evidence.proof.fact))
		measure_for_clearing(job, measurement.of_counter != NULL);
	fact_set_known(&timing->fact);
}

void timing_measure(struct evidence *evidence, const struct call_table *calls,
	enum timing_effort effort, const struct deadline *deadline)
{
	static struct job job;
	struct fact why = {0};

	job.evidence = *evidence;
	job.calls = calls;
	job.effort = &efforts[effort];
	if (child_compute(measure, &job, sizeof(job), deadline, &why))
		*evidence = job.evidence;
	else
		evidence->timing.fact = why;
}
