/* SPDX-License-Identifier: MIT */
/*
 * The command warp: what it answers, by which rule, and what it prints. The first rule that applies
 * decides; the kernel's clocks come before the bare counter, which only some of them are made of.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "base/time.h"
#include "collect.h"
#include "commands.h"
#include "measure/vdso.h"
#include "model.h"

/* ---- the answer ---- */

enum { UNKNOWN, OK, WARPS };

static const struct answer answers[] = {
	[UNKNOWN] = {"unknown", COLOR_MAGENTA, 2, "undetermined"},
	[OK] = {"ok", COLOR_GREEN, 0, "no clock ran backwards"},
	[WARPS] = {"warps", COLOR_RED, 1, "a clock did, or two of them disagree"},
	{0},
};

static bool has_warps(const struct warp_result *result)
{
	return fact_is_known(&result->fact) && result->warps > 0;
}

/* Returns the kernel's clock that went back furthest; NULL: none did. */
static const struct warp_result *worst_clock(const struct warp_evidence *warp)
{
	static const enum warp_clock_id clocks[] = {WARP_MONOTONIC, WARP_REALTIME, WARP_TIMEOFDAY};
	const struct warp_result *worst = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		const struct warp_result *result = &warp->results[clocks[i]];

		if (has_warps(result) && (!worst || result->largest_ns > worst->largest_ns))
			worst = result;
	}
	return worst;
}

void warp_judge(
	const struct warp_evidence *warp, const struct number_fact *online, struct report *report)
{
	static const char again[] = "Test for longer (-d), or when the host is less busy.";
	static const char *const go_back =
		"Programs on this host see time run backwards. Change the clocksource and test "
		"again; if none helps, report it to your provider or to the vendor of the "
		"firmware.";
	const struct warp_result *worst = worst_clock(warp);
	const struct warp_result *counter = &warp->results[WARP_COUNTER];
	const struct warp_result *kernel = &warp->results[WARP_KERNEL];
	const struct warp_result *monotonic = &warp->results[WARP_MONOTONIC];

	if (!fact_is_known(&warp->fact))
		report_answer(report, &answers[UNKNOWN], "not-tested", NULL,
			"no clock could be tested: %s.", warp->fact.reason);
	else if (worst && worst->cpu_behind == worst->cpu_ahead)
		report_answer(report, &answers[WARPS], "clock-backwards", go_back,
			"%s ran backwards on CPU %d, by up to %" PRId64 " ns.", worst->name,
			worst->cpu_behind, worst->largest_ns);
	else if (worst)
		report_answer(report, &answers[WARPS], "clock-backwards", go_back,
			"%s runs backwards between CPUs: CPU %d was up to %" PRId64
			" ns behind CPU %d.",
			worst->name, worst->cpu_behind, worst->largest_ns, worst->cpu_ahead);
	else if (has_warps(kernel))
		report_answer(report, &answers[WARPS], "vdso-disagrees",
			"A bug in the kernel, or in the emulator that provides this vDSO: report "
			"it. Another clocksource may avoid it.",
			"the vDSO and the kernel disagree about CLOCK_MONOTONIC, by up to %" PRId64
			" ns: a program that uses both sees time run backwards.",
			kernel->largest_ns);
	else if (has_warps(counter))
		report_answer(report, &answers[WARPS], "counters-disagree",
			"Do not switch to tsc, which reads this counter: it would run backwards, "
			"and so would programs that read it directly. If tsc is in use, change the "
			"clocksource and test again.",
			"the CPUs' counters (%s) disagree: CPU %d was up to %" PRId64
			" ns behind CPU %d. The kernel's clocks did not run backwards.",
			counter->name, counter->cpu_behind, counter->largest_ns,
			counter->cpu_ahead);
	else if (!fact_is_known(&monotonic->fact))
		report_answer(report, &answers[UNKNOWN], "not-read",
			monotonic->fact.state == FACT_UNREAD
				? again
				: "Run vdsocheck to find out what is wrong with the vDSO.",
			"CLOCK_MONOTONIC could not be read: %s.", monotonic->fact.reason);
	else if (warp->cpu_count == 1 && !(fact_is_known(&online->fact) && online->value == 1))
		report_answer(report, &answers[UNKNOWN], "one-cpu-allowed",
			"Allow more CPUs: taskset(1), AllowedCPUs= of systemd, or the cpuset of the "
			"container.",
			"this process may run on CPU %d only, and no two CPUs could be compared.",
			warp->cpus[0]);
	else if (warp->cpu_count == 1)
		report_answer(report, &answers[OK], "one-cpu", NULL,
			"no clock ran backwards on CPU %d, the only one of this host.",
			warp->cpus[0]);
	/* Threads that never ran at the same time saw no warp and could not have seen one. */
	else if (!fact_is_known(&monotonic->max_offset.fact))
		report_answer(report, &answers[UNKNOWN], "not-compared", again,
			"CLOCK_MONOTONIC could not be compared between all CPUs: %s.",
			monotonic->max_offset.fact.reason);
	else
		report_answer(report, &answers[OK], "no-warps", NULL,
			"no clock ran backwards between %zu CPUs in %.*f s.", warp->cpu_count,
			warp->duration_s < 1 ? 2 : 1, warp->duration_s);
}

/* ---- the document, and the columns of the table ---- */

static void print_cpus(const void *object, const void *whole, FILE *out)
{
	const struct warp_result *result = object;

	(void)whole;
	if (!fact_is_known(&result->cpu_fact))
		return;
	fprintf(out, "%d", result->cpu_behind);
	if (result->cpu_ahead != result->cpu_behind)
		fprintf(out, ",%d", result->cpu_ahead);
}

#define OF struct warp_result
#define LARGEST_WARP(name, member)                                                                 \
	NATURAL(name, member), .fact = FACT(cpu_fact), .reason = "cpu_reason"

static const struct field warp_result_fields[] = {
	{STRING("clock", name), .options = FIELD_FILLED, .title = "", .width = 21, .left = true,
		.doc = "name of the clock or counter; vDSO against kernel: CLOCK_MONOTONIC by "
		       "both in turn"},
	{NATURAL("reads", reads), .title = "reads", .width = 12,
		.doc = "readings of the clock that were compared"},
	{NATURAL("warps", warps), .title = "warps", .width = 12,
		.doc = "readings that were earlier than one already taken"},
	{NATURAL("largest_warp_ns", largest_ns), .title = "largest ns", .width = 12,
		.doc = "ns of the largest warp; 0: none"},
	{LARGEST_WARP("cpu_behind", cpu_behind), .options = FIELD_SPARE, .title = "CPUs",
		.width = 11, .cell = print_cpus,
		.doc = "CPU on which the clock was behind in the largest warp"},
	{LARGEST_WARP("cpu_ahead", cpu_ahead),
		.doc = "CPU on which the later time was read before"},
	{REASON("cpu_reason"),
		.doc = "why the CPUs of the largest warp are null; null: a warp was seen"},
	{NATURAL("max_offset_ns", max_offset.value), .fact = FACT(max_offset.fact),
		.reason = "max_offset_reason", .title = "offset ns", .width = 11,
		.doc = "upper bound in ns on the offset between the clocks of any two CPUs"},
	{REASON("max_offset_reason"), .doc = "why this bound is null; else null"},
	{NATURAL("discarded_slices", discarded), .options = FIELD_FILLED,
		.doc = "slices of the test not counted, because the clock was set"},
	{WHOLE("reason", fact), .doc = "why the clock was not tested; null: it was"},
	{0},
};

static json_t *clocks(const void *object, const void *whole)
{
	const struct warp_evidence *warp = object;

	return field_list(warp_result_fields, warp->results, WARP_CLOCK_COUNT,
		sizeof(warp->results[0]), whole);
}

/* ---- drift ---- */

#undef OF
#define OF struct warp_pair

static const struct field pair_fields[] = {
	{WHOLE("reason", fact), .doc = "why the offset is null; null: it is known"},
	{NATURAL("cpu", cpu), .doc = "number of one CPU"},
	{NATURAL("other_cpu", other_cpu), .doc = "number of the other CPU"},
	{NS("offset_ns", offset_ns), .options = FIELD_SIGNED,
		.doc = "ns by which the counter of other_cpu is ahead of that of cpu"},
	{NS("error_ns", error_ns), .doc = "ns by which the offset may be wrong at most"},
	{0},
};

#undef OF
#define OF struct warp_drift

static const struct field drift_fields[] = {
	{WHOLE("reason", fact), .doc = "why the drift is null; null: it is known"},
	{REAL("counter_hz", counter_hz, 0),
		.doc = "rate of the CPU's counter in Hz, by CLOCK_MONOTONIC_RAW"},
	{REAL("counter_hz_error_ppm", hz_error_ppm, 4),
		.doc = "parts per million by which this rate may be wrong at most"},
	{REAL("drift_ppm", drift_ppm, 4), .options = FIELD_SIGNED,
		.doc = "parts per million by which the counter ran faster in the second half than "
		       "in the first"},
	{REAL("error_ppm", error_ppm, 4),
		.doc = "parts per million by which the drift may be wrong at most"},
	{0},
};

/* ---- the run ---- */

#undef OF
#define OF struct warp_evidence

static const struct field cpu_element[] = {
	{.key = "", .kind = FIELD_INTEGER, .size = sizeof(int)},
	{0},
};

static const struct field run_fields[] = {
	{FLAG("stopped", stopped), .options = FIELD_FILLED,
		.doc = "whether the test was stopped before the time asked for"},
	{NATURAL("allowed_cpus", allowed), .options = FIELD_FILLED,
		.doc = "CPUs that this process may run on"},
	{LIST("cpus", cpus, cpu_count, cpu_element), .options = FIELD_FILLED,
		.doc = "CPUs that were tested"},
	{COMPUTED("clocks", FIELD_LIST, clocks), .options = FIELD_FILLED,
		.fields = warp_result_fields, .doc = "clocks that were to be tested"},
	{OBJECT("counters", worst, pair_fields),
		.doc = "the counters of the two CPUs that are furthest apart"},
	{OBJECT("drift", drift, drift_fields),
		.doc = "rate of the counter, and how it changed during the test"},
	{WHOLE("reason", fact), .doc = "why nothing was tested; null: something was"},
	{REAL("duration_s", duration_s, 3), .doc = "seconds that the test took"},
	{0},
};

#undef OF
#define OF struct warp_run

const struct field warp_fields[] = {
	{STRING("rule", report.rule), .options = FIELD_FILLED,
		.doc = "id of the rule that gave the verdict"},
	{STRING("advice", report.advice), .fact = FACT(report.advice_fact),
		.reason = "advice_reason", .doc = "what to do"},
	{REASON("advice_reason"), .doc = "why there is no advice; null: there is"},
	{INLINE(evidence, surroundings_fields)},
	{INLINE(warp, run_fields)},
	{0},
};

/* ---- the text ---- */

static void write_worst(const struct warp_evidence *warp, struct page *page)
{
	const struct warp_pair *pair = &warp->worst;
	double offset = fabs(pair->offset_ns), bound = offset + pair->error_ns;

	if (!fact_is_known(&pair->fact))
		page_line(page, "counters", "%s", pair->fact.reason);
	else if (offset <= pair->error_ns)
		page_line(page, "counters", "CPU %d and CPU %d agree within %s ns%s", pair->cpu,
			pair->other_cpu, as_ns(bound),
			warp_is_one_tick(&warp->drift, bound) ? ", one tick" : "");
	else
		page_line(page, "counters", "CPU %d is %s ns %s CPU %d, +/- %s ns", pair->other_cpu,
			as_ns(offset), pair->offset_ns < 0 ? "behind" : "ahead of", pair->cpu,
			as_ns(pair->error_ns));
}

static void write_drift(const struct warp_evidence *warp, struct page *page)
{
	const struct warp_drift *drift = &warp->drift;
	double drift_ppm = fabs(drift->drift_ppm);

	page_line(page, "drift", "%s", "");
	if (fact_is_known(&drift->fact)) {
		if (drift_ppm <= drift->error_ppm)
			page_add(page, "below %.2f ppm", drift_ppm + drift->error_ppm);
		else
			page_add(page, "%.2f +/- %.2f ppm", drift_ppm, drift->error_ppm);
		page_add(page, " against CLOCK_MONOTONIC_RAW; %s runs at %s MHz",
			warp->results[WARP_COUNTER].name, as_mhz(drift->counter_hz));
	} else {
		page_add(page, "not known: %s", drift->fact.reason);
	}
}

/* Lists what was not tested, not counted, or cut short. */
static void write_notes(
	const struct warp_evidence *warp, const struct number_fact *online, struct page *page)
{
	unsigned discarded =
		warp->results[WARP_REALTIME].discarded + warp->results[WARP_TIMEOFDAY].discarded;

	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		const struct warp_result *result = &warp->results[id];

		if (!fact_is_known(&result->fact))
			page_line(page, "untested", "%s: %s", result->name, result->fact.reason);
	}
	if (warp->cpu_count != warp->allowed)
		page_line(page, "CPUs", "tested %zu of the %zu CPUs available to this process",
			warp->cpu_count, warp->allowed);
	else if (fact_is_known(&online->fact) && online->value != (int64_t)warp->allowed)
		page_line(page, "CPUs", "tested the %zu available to this process, of %" PRId64,
			warp->allowed, online->value);
	if (discarded)
		page_line(page, "set", "the clock was set during the test; %u %s discarded",
			discarded, discarded == 1 ? "slice was" : "slices were");
	if (warp->stopped)
		page_line(page, "stopped", "interrupted after %.2f s", warp->duration_s);
}

static void warp_text(const void *data, struct page *page)
{
	const struct warp_run *run = data;
	const struct warp_evidence *warp = &run->warp;

	fputc('\n', page->out);
	page_clocksource(page, &run->evidence);
	page_host(page, &run->evidence);
	if (fact_is_known(&warp->fact)) {
		page_table(page, &(struct table){.fields = warp_result_fields,
					 TABLE_ROWS(warp->results, WARP_CLOCK_COUNT)});
		fprintf(page->out, "\n  offset: an upper bound, between any two CPUs.\n");
		write_worst(warp, page);
		write_drift(warp, page);
		write_notes(warp, &run->evidence.host.cpu_count, page);
	}
}

/* ---- the command ---- */

static bool warp_command_measure(struct cli *cli)
{
	struct warp_run *run = cli->data;
	struct vdso_evidence vdso = {0};
	struct vdso_image image;
	struct call_table calls;
	struct fact why = {0};
	struct warp_job *job = child_share(sizeof(*job), &why);

	if (!job)
		return cli_error("cannot measure: %s", why.reason);
	clocksource_collect(&cli->root, &run->evidence.clocksource);
	host_collect(&cli->root, &run->evidence.host);
	privileges_keep(PRIVILEGES_WRITE);
	vdso_collect(&cli->root, &vdso, &image);
	call_table_make(&vdso, &image, &calls, &cli->deadline);
	job->calls = &calls;
	job->duration_ns = cli->duration_ns;
	work_begin(cli, "reading the clocks on all CPUs", &job->stop);
	warp_measure(job);
	work_end();
	run->warp = job->warp;
	child_unshare(job, sizeof(*job));
	warp_judge(&run->warp, &run->evidence.host.cpu_count, &run->report);
	report_check_clocksource(cli, &run->evidence.clocksource);
	return true;
}

static const struct option_row options[] = {
	{'d', "duration", "TIME",
		"test for at least TIME: 2 (the default), 0.5, 500ms, 5m; for up to 2 s more until "
		"all CPUs were compared"},
	{0},
};

static const struct report_type type = {.schema = "vdsocheck-warp/1",
	.fields = warp_fields,
	.indent = 15,
	.measure = warp_command_measure,
	.text = warp_text};

const struct command warp_command = {
	.name = "warp",
	.summary = "test whether clocks run backwards between CPUs",
	.help = "Reads the clocks on all CPUs at the same time and reports whether any clock ever "
		"returns an earlier time than one already read on another CPU, whether the vDSO "
		"and the kernel agree, and how far apart the CPUs' counters are. Keeps all allowed "
		"CPUs busy while it runs; needs no privileges. Ctrl-C ends the test early and "
		"prints its result.",
	.status = "3 usage error or failed output, 130 interrupted.",
	.answers = answers,
	.options = options,
	.formats = report_formats,
	.report = &type,
	.size = sizeof(struct warp_run),
	.run = report_run,
	.duration_ns = 2 * NS_PER_SECOND,
};
