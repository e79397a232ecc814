/* SPDX-License-Identifier: MIT */
/*
 * Metrics in Prometheus's text exposition format. A value that is not known has no sample, never a
 * zero. Samples have no time stamps, which the textfile collector refuses: the age of the file
 * is node_textfile_mtime_seconds. All labels take few values, whatever the host.
 */
#include "base/version.h"
#include "model.h"

/* A gauge; HELP and TYPE are written before its first sample. */
struct metric {
	const char *name, *help;
	bool begun;
};

static void begin_sample(FILE *out, struct metric *metric)
{
	if (!metric->begun)
		fprintf(out, "# HELP vdsocheck_%s %s\n# TYPE vdsocheck_%s gauge\n", metric->name,
			metric->help, metric->name);
	metric->begun = true;
	fprintf(out, "vdsocheck_%s", metric->name);
}

/* Writes NAME="VALUE" with the escapes of the format. */
static void write_label(FILE *out, const char *separator, const char *name, const char *value)
{
	fprintf(out, "%s%s=\"", separator, name);
	for (; *value; value++) {
		if (*value == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*value == '"' || *value == '\\')
			fputc('\\', out);
		fputc(*value, out);
	}
	fputc('"', out);
}

/* Seconds have as many digits as the JSON's nanoseconds. */
static void write_seconds(FILE *out, double ns)
{
	fprintf(out, " %.1fe-9\n", ns);
}

static void prometheus_write_verdict(enum verdict_kind verdict, FILE *out)
{
	struct metric metric = {.name = "verdict",
		.help = "Whether the vDSO serves the clock calls: 1 for the verdict, 0 for the others."};

	for (int kind = 0; verdict_answers[kind].word; kind++) {
		begin_sample(out, &metric);
		write_label(out, "{", "verdict", verdict_answers[kind].word);
		fprintf(out, "} %d\n", (enum verdict_kind)kind == verdict);
	}
}

/* An unknown name or mode is an empty label, the same as none; without both there is no sample. */
static void write_clocksource(const struct evidence *evidence, FILE *out)
{
	struct metric metric = {.name = "clocksource_info",
		.help = "Current clocksource and the vDSO's clock mode."};
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	const char *current = clocksource_in_use(clocksource);
	const char *mode = check_mode_word(&evidence->vclock);

	if (!*current && !*mode)
		return;
	begin_sample(out, &metric);
	write_label(out, "{", "current", current);
	write_label(out, ",", "vclock_mode", mode);
	fputs("} 1\n", out);
}

/*
 * The samples of a metric stand together, so there is a round for each. Alerts are about the calls
 * that decide; the others would be two samples in three.
 */
static void prometheus_write_calls(const struct check_request *request, bool all, FILE *out)
{
	struct metric seconds = {.name = "call_seconds",
		.help = "Least time that a call takes by the vDSO, by the C library and by system call."};
	struct metric ratio = {.name = "calls_entered_kernel_ratio",
		.help = "Share of the proof's calls that entered the kernel, 0 to 1."};
	const struct evidence *evidence = &request->evidence;

	for (int is_ratio = 0; is_ratio <= 1; is_ratio++) {
		for (size_t i = 0; i < evidence->call_count * PATH_COUNT; i++) {
			const struct call_evidence *call = &evidence->calls[i / PATH_COUNT];
			const struct path_evidence *path = &call->path[i % PATH_COUNT];

			if (!all && !call->decides)
				continue;
			if (is_ratio ? !path->attempts : !fact_is_known(&path->fact))
				continue;
			begin_sample(out, is_ratio ? &ratio : &seconds);
			write_label(out, "{", "call", call->call);
			write_label(out, ",", "clock", call->clock);
			write_label(out, ",", "path", call_path_names[i % PATH_COUNT]);
			fputc('}', out);
			if (is_ratio)
				fprintf(out, " %.4g\n", (double)path->entered / path->attempts);
			else
				write_seconds(out, path->min_ns);
		}
	}
}

static void write_costs(const struct check_request *request, FILE *out)
{
	struct metric floor = {
		.name = "getppid_seconds", .help = "Time of getppid, the cheapest system call."};
	struct metric lost = {.name = "lost_seconds",
		.help = "Time that each deciding call loses because the vDSO does not serve it."};
	const struct timing_evidence *timing = &request->evidence.timing;
	const struct cost *cost = &request->diagnosis.cost;

	if (fact_is_known(&timing->syscall_floor_ns.fact)) {
		begin_sample(out, &floor);
		write_seconds(out, timing->syscall_floor_ns.value);
	}
	if (fact_is_known(&cost->vdso_ns.fact)) {
		begin_sample(out, &lost);
		write_seconds(out, cost->lost_ns);
	}
}

static void write_causes(const struct diagnosis *diagnosis, FILE *out)
{
	struct metric metric = {.name = "cause_info",
		.help = "Why the verdict is not ok; with ok, what is worth knowing."};

	for (size_t i = 0; i < diagnosis->cause_count; i++) {
		const struct cause *cause = &diagnosis->causes[i];

		begin_sample(out, &metric);
		write_label(out, "{", "cause", cause->id);
		write_label(out, ",", "certainty", cause_certainty_names[cause->certainty]);
		fputs("} 1\n", out);
	}
}

static void write_policy(const struct outcome *outcome, FILE *out)
{
	struct metric metric = {.name = "policy_met",
		.help = "Whether a requirement given by an option is known to be met."};

	for (size_t i = 0; i < outcome->count; i++) {
		const struct requirement *requirement = &outcome->requirements[i];

		begin_sample(out, &metric);
		write_label(out, "{", "requirement", requirement->option);
		write_label(out, ",", "value", requirement->value);
		fprintf(out, "} %d\n", requirement->met);
	}
}

void check_report_prometheus(const void *result, const struct style *style, FILE *out)
{
	struct metric build = {
		.name = "build_info", .help = "Version of the vdsocheck that wrote these metrics."};
	const struct check_request *request = result;

	begin_sample(out, &build);
	fprintf(out, "{version=\"%s\"} 1\n", vdsocheck_version);
	prometheus_write_verdict(request->diagnosis.verdict.kind, out);
	write_clocksource(&request->evidence, out);
	prometheus_write_calls(request, style->verbose, out);
	write_costs(request, out);
	write_causes(&request->diagnosis, out);
	write_policy(&request->outcome, out);
}
