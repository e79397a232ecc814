/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "document/json_value.h"

/* Hundredths: a tenth is 2 % of a COARSE clock. */
#define NS_DECIMALS 2
#define SECOND_DECIMALS 6
#define SHARE_DECIMALS 4
#define NS_PER_SECOND 1e9

static void set_ns(json_t *object, const char *key, bool known, double ns)
{
	json_value_set(object, key, json_value_real(known, ns, NS_DECIMALS));
}

static void set_seconds(json_t *object, const char *key, bool known, double seconds)
{
	json_value_set(object, key, json_value_real(known, seconds, SECOND_DECIMALS));
}

static void set_share(json_t *object, const char *key, bool known, double share)
{
	json_value_set(object, key, json_value_real(known, share, SHARE_DECIMALS));
}

static void set_count(json_t *object, const char *key, uint64_t count)
{
	json_value_set(object, key, json_integer((json_int_t)count));
}

static void set_text(json_t *object, const char *key, const char *text)
{
	json_value_set(object, key, json_value_text(text));
}

static void set_reason(json_t *object, const struct fact *fact)
{
	json_value_set(object, "reason", json_value_reason(fact));
}

static void set_subject(json_t *object, const struct bench_subject *subject)
{
	set_text(object, "call", subject->call);
	set_text(object, "clock", subject->clock);
	set_text(object, "path", bench_path_name(subject->path));
}

static void set_price(json_t *object, const struct price *price)
{
	bool known = fact_is_known(&price->fact);
	bool has_mean = known && price->has_mean;

	set_ns(object, "min_ns", known, price->min_ns);
	set_ns(object, "median_ns", known, price->median_ns);
	set_ns(object, "batch_p99_ns", known, price->p99_ns);
	set_ns(object, "trimmed_mean_ns", has_mean, price->trimmed_mean_ns);
	set_count(object, "calls_per_batch", price->repeats);
	set_count(object, "batches", price->chunks);
	set_count(object, "batches_preempted", price->preempted);
	set_count(object, "batches_moved", price->moved);
	set_count(object, "batches_jumped", price->jumped);
	set_count(object, "samples", price->samples);
	set_count(object, "outliers", price->outliers);
	if (known && !has_mean)
		set_text(object, "reason", "too few batches for a mean");
	else
		set_reason(object, &price->fact);
}

static json_t *histogram_array(const struct distribution *distribution)
{
	json_t *array;

	if (!distribution->calls)
		return NULL;
	array = json_array();
	for (size_t i = 0; i < DISTRIBUTION_BUCKETS; i++) {
		json_t *bucket;

		if (!distribution->buckets[i])
			continue;
		bucket = json_object();
		set_ns(bucket, "from_ns", true, distribution_edge(i));
		set_ns(bucket, "to_ns", i + 1 < DISTRIBUTION_BUCKETS, distribution_edge(i + 1));
		set_count(bucket, "calls", distribution->buckets[i]);
		json_array_append_new(array, bucket);
	}
	return array;
}

static json_t *calls_array(const struct bench *bench)
{
	json_t *array = json_array();

	for (size_t i = 0; i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];
		json_t *object = json_object();

		set_subject(object, &row->subject);
		json_value_set(object, "cpu", json_value_integer(row->cpu >= 0, row->cpu));
		set_price(object, &row->price);
		json_value_set(object, "histogram", histogram_array(&row->distribution));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *yardsticks_array(const struct bench *bench)
{
	json_t *array = json_array();

	for (size_t i = 0; i < YARDSTICK_COUNT && bench->row_count; i++) {
		json_t *object = json_object();

		set_text(object, "id", yardstick_id((enum yardstick)i));
		set_text(object, "text", yardstick_text((enum yardstick)i));
		set_price(object, &bench->yardsticks[i]);
		json_array_append_new(array, object);
	}
	return array;
}

static void set_part(json_t *object, const char *key, struct part part)
{
	set_ns(object, key, part.known, part.ns);
}

static const struct fact *yardstick_fact(const struct bench *bench, enum yardstick yardstick)
{
	return &bench->yardsticks[yardstick].fact;
}

static void set_first_reason(
	json_t *object, const char *key, const struct fact *const *facts, size_t count)
{
	json_t *reason = NULL;

	for (size_t i = 0; i < count && !reason; i++)
		reason = json_value_reason(facts[i]);
	json_value_set(object, key, reason);
}

static void set_syscall_reason(json_t *object, const struct bench_report *report)
{
	const struct fact *facts[] = {yardstick_fact(report->bench, YARDSTICK_CLOCK_SYSCALL),
		yardstick_fact(report->bench, YARDSTICK_GETPPID)};
	size_t count = report->decomposition.entry.known ? 1 : 2;

	set_first_reason(object, "syscall_reason", facts, count);
}

static void set_vdso_reason(json_t *object, const struct bench_report *report)
{
	struct fact dear = {.state = FACT_KNOWN};
	const struct fact *facts[] = {yardstick_fact(report->bench, YARDSTICK_CLOCK_VDSO),
		yardstick_fact(report->bench, YARDSTICK_COUNTER),
		yardstick_fact(report->bench, YARDSTICK_ORDERED), &dear};

	if (report->decomposition.vdso_is_as_dear_as_entry)
		fact_set(&dear, FACT_FAILED,
			"no less than entering the kernel takes: it may be a system call");
	set_first_reason(object, "vdso_reason", facts, sizeof(facts) / sizeof(facts[0]));
}

static json_t *decomposition_object(const struct bench_report *report)
{
	const struct decomposition *parts = &report->decomposition;
	json_t *object = json_object();

	set_part(object, "syscall_ns", parts->syscall);
	set_part(object, "syscall_entry_ns", parts->entry);
	set_part(object, "syscall_kernel_ns", parts->kernel);
	set_syscall_reason(object, report);
	set_part(object, "seccomp_filter_ns", parts->filter);
	json_value_set(
		object, "seccomp_filter_reason", json_value_reason(&report->bench->filter.fact));
	set_part(object, "vdso_ns", parts->vdso);
	set_part(object, "vdso_counter_ns", parts->counter);
	set_part(object, "vdso_order_ns", parts->order);
	set_part(object, "vdso_arithmetic_ns", parts->arithmetic);
	set_vdso_reason(object, report);
	return object;
}

static void set_number(json_t *object, const char *key, const struct number_fact *number)
{
	json_value_set(
		object, key, json_value_integer(fact_is_known(&number->fact), number->value));
}

static json_t *clocks_array(const struct bench *bench)
{
	json_t *array = json_array();

	for (size_t i = 0; i < bench->clock_count; i++) {
		const struct clock_step *step = &bench->clocks[i].step;
		json_t *object = json_object();

		set_text(object, "clock", bench->clocks[i].clock);
		set_number(object, "resolution_ns", &step->resolution_ns);
		set_number(object, "smallest_step_ns", &step->step_ns);
		set_count(object, "readings", step->readings);
		set_count(object, "readings_standing", step->standing);
		set_reason(object, &step->step_ns.fact);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *runs_array(const struct bench *bench)
{
	json_t *array = json_array();

	for (size_t i = 0; i < bench->run_count; i++) {
		const struct bench_run *run = &bench->runs[i];
		bool known = fact_is_known(&run->fact);
		json_t *object = json_object();

		set_subject(object, &run->subject);
		json_value_set(object, "cpu", json_value_integer(run->cpu >= 0, run->cpu));
		set_count(object, "calls_wanted", run->wanted);
		set_count(object, "calls", run->calls);
		set_seconds(object, "real_s", known, run->real_s);
		set_seconds(object, "user_s", known, run->user_s);
		set_seconds(object, "sys_s", known, run->sys_s);
		set_reason(object, &run->fact);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *crowds_array(const struct bench *bench)
{
	json_t *array = json_array();

	for (size_t i = 0; i < bench->crowd_count; i++) {
		const struct bench_crowd *crowd = &bench->crowds[i];
		bool known = fact_is_known(&crowd->fact);
		json_t *object = json_object();

		set_subject(object, &crowd->subject);
		set_count(object, "threads", crowd->threads);
		set_count(object, "cpus", crowd->cpus);
		set_ns(object, "alone_ns", known, crowd->alone_ns);
		set_ns(object, "together_ns", known, crowd->together_ns);
		set_ns(object, "slowest_ns", known, crowd->slowest_ns);
		set_reason(object, &crowd->fact);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *noise_object(const struct noise *noise)
{
	json_t *object = json_object();

	json_value_set(object, "quiet", noise->known ? json_boolean(noise->quiet) : NULL);
	set_share(object, "thrown_share", noise->known, noise->thrown_share);
	set_share(object, "outlier_share", noise->known, noise->outlier_share);
	set_share(object, "median_excess", noise->known, noise->median_excess);
	set_text(object, "reason", noise->known ? NULL : "no call was measured often enough");
	return object;
}

static json_t *clocksource_object(const struct clocksource_evidence *clocksource)
{
	json_t *object = json_object();
	bool known = fact_is_known(&clocksource->current_fact);

	set_text(object, "current", known ? clocksource->current : NULL);
	set_reason(object, &clocksource->current_fact);
	return object;
}

static void set_fact(json_t *object, const char *key, const struct text_fact *text)
{
	set_text(object, key, fact_is_known(&text->fact) ? text->value : NULL);
}

static json_t *host_object(const struct host_evidence *host)
{
	json_t *object = json_object();

	set_fact(object, "kernel", &host->kernel);
	set_fact(object, "arch", &host->arch);
	set_fact(object, "cpu", &host->cpu);
	set_fact(object, "hypervisor", &host->hypervisor);
	set_fact(object, "container", &host->container);
	set_fact(object, "libc", &host->libc);
	return object;
}

static json_t *root_object(const struct bench_report *report)
{
	json_t *root = json_value_root();

	set_text(root, "schema", BENCH_SCHEMA);
	set_text(root, "version", VDSOCHECK_VERSION);
	json_value_set_moment(root, &report->evidence->moment);
	json_value_set(root, "stopped", json_boolean(report->bench->stopped));
	set_seconds(root, "time_s", true, (double)report->plan->time_ns / NS_PER_SECOND);
	json_value_set(root, "clocksource", clocksource_object(&report->evidence->clocksource));
	json_value_set(root, "host", host_object(&report->evidence->host));
	json_value_set(root, "noise", noise_object(&report->noise));
	json_value_set(root, "calls", calls_array(report->bench));
	json_value_set(root, "yardsticks", yardsticks_array(report->bench));
	json_value_set(root, "decomposition", decomposition_object(report));
	json_value_set(root, "clocks", clocks_array(report->bench));
	json_value_set(root, "runs", runs_array(report->bench));
	json_value_set(root, "crowds", crowds_array(report->bench));
	set_reason(root, &report->bench->fact);
	return root;
}

bool bench_report_json(const void *report, const struct style *style, FILE *out)
{
	(void)style;
	return json_value_write(root_object(report), out);
}
