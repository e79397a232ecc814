/* SPDX-License-Identifier: MIT */
/*
 * Metrics in Prometheus's text exposition format. A value that is not known has no sample, never a
 * zero. Samples have no time stamps, which the textfile collector refuses: the age of the file
 * is node_textfile_mtime_seconds. All labels take few values, whatever the host.
 */
#include "model.h"

/* HELP and TYPE, before the first sample of a metric. */
static void write_head(FILE *out, const char *name, const char *help)
{
	fprintf(out, "# HELP vdsocheck_%s %s\n# TYPE vdsocheck_%s gauge\n", name, help, name);
}

/* NAME="VALUE" with the escapes of the format. */
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

static void write_call_labels(
	FILE *out, const char *name, const struct call_evidence *call, enum call_path path)
{
	static const char *const paths[] = {
		[PATH_VDSO] = "vdso", [PATH_LIBC] = "libc", [PATH_SYSCALL] = "syscall"};

	fprintf(out, "vdsocheck_%s{", name);
	write_label(out, "", "call", call->call);
	write_label(out, ",", "clock", call->clock);
	write_label(out, ",", "path", paths[path]);
}

/* In seconds, with as many digits as the JSON has in nanoseconds. */
static void write_seconds(FILE *out, double ns)
{
	fprintf(out, "%.1fe-9\n", ns);
}

static void write_verdict(enum verdict_kind verdict, FILE *out)
{
	write_head(out, "verdict",
		"Whether the vDSO serves the clock calls: 1 for the verdict, 0 for "
		"the others.");
	for (int kind = 0; verdict_names[kind]; kind++) {
		fputs("vdsocheck_verdict", out);
		write_label(out, "{", "verdict", verdict_names[kind]);
		fprintf(out, "} %d\n", (enum verdict_kind)kind == verdict);
	}
}

/* An unknown name or mode is an empty label, the same as none; without both there is no sample. */
static void write_clocksource(const struct evidence *evidence, FILE *out)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	const char *current = fact_is_known(&clocksource->current_fact) ? clocksource->current : "";
	const char *mode = describe_mode(&evidence->vclock);

	if (!*current && !*mode)
		return;
	write_head(out, "clocksource_info", "Current clocksource and the vDSO's clock mode.");
	fputs("vdsocheck_clocksource_info", out);
	write_label(out, "{", "current", current);
	write_label(out, ",", "vclock_mode", mode);
	fputs("} 1\n", out);
}

/* Alerts are about the calls that decide; the others would be two samples in three. */
static bool is_shown(const struct check_report *report, bool all, const struct call_evidence *call)
{
	return all || call->decides || policy_decides(report->policy, call);
}

static void write_call_times(const struct check_report *report, bool all, FILE *out)
{
	const struct evidence *evidence = report->evidence;
	bool first = true;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		for (enum call_path path = 0; path < PATH_COUNT; path++) {
			if (!call->path[path].timed || !is_shown(report, all, call))
				continue;
			if (first)
				write_head(out, "call_seconds",
					"Least time that a call takes by the vDSO, by the C "
					"library and by system call.");
			first = false;
			write_call_labels(out, "call_seconds", call, path);
			fputs("} ", out);
			write_seconds(out, call->path[path].min_ns);
		}
	}
}

static void write_entries(const struct check_report *report, bool all, FILE *out)
{
	const struct evidence *evidence = report->evidence;
	bool first = true;

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		for (enum call_path path = PATH_VDSO; path <= PATH_LIBC; path++) {
			const struct path_evidence *counts = &call->path[path];

			if (!counts->attempts || !is_shown(report, all, call))
				continue;
			if (first)
				write_head(out, "calls_entered_kernel_ratio",
					"Share of the proof's calls that entered the kernel, 0 "
					"to 1.");
			first = false;
			write_call_labels(out, "calls_entered_kernel_ratio", call, path);
			fprintf(out, "} %.4g\n", (double)counts->entered / counts->attempts);
		}
	}
}

static void write_costs(const struct check_report *report, FILE *out)
{
	const struct timing_evidence *timing = &report->evidence->timing;
	const struct cost *cost = &report->diagnosis->cost;

	if (fact_is_known(&timing->syscall_floor_fact)) {
		write_head(out, "getppid_seconds", "Time of getppid, the cheapest system call.");
		fputs("vdsocheck_getppid_seconds ", out);
		write_seconds(out, timing->syscall_floor_ns);
	}
	if (cost->known && cost->estimated) {
		write_head(out, "lost_seconds",
			"Time that each deciding call loses because the vDSO "
			"does not serve it.");
		fputs("vdsocheck_lost_seconds ", out);
		write_seconds(out, cost_lost_ns(cost));
	}
}

static void write_causes(const struct diagnosis *diagnosis, FILE *out)
{
	if (!diagnosis->cause_count)
		return;
	write_head(out, "cause_info", "Why the verdict is not ok; with ok, what is worth knowing.");
	for (size_t i = 0; i < diagnosis->cause_count; i++) {
		const struct cause *cause = &diagnosis->causes[i];

		fputs("vdsocheck_cause_info", out);
		write_label(out, "{", "cause", cause->id);
		write_label(out, ",", "certainty", cause_certainty_names[cause->certainty]);
		fputs("} 1\n", out);
	}
}

static void write_policy(const struct outcome *outcome, FILE *out)
{
	bool first = true;

	for (size_t i = 0; i < outcome->count; i++) {
		const struct requirement *requirement = &outcome->requirements[i];

		if (requirement->answer == POLICY_UNDETERMINED)
			continue;
		if (first)
			write_head(out, "policy_met",
				"Whether a requirement given by an option is met; no sample if that is "
				"undetermined.");
		first = false;
		fputs("vdsocheck_policy_met", out);
		write_label(out, "{", "requirement", requirement->option);
		write_label(out, ",", "value", requirement->value);
		fprintf(out, "} %d\n", requirement->answer == POLICY_MET);
	}
}

bool check_report_prometheus(const void *result, const struct style *style, FILE *out)
{
	const struct check_report *report = result;

	write_head(out, "build_info", "Version of the vdsocheck that wrote these metrics.");
	fputs("vdsocheck_build_info{version=\"" VDSOCHECK_VERSION "\"} 1\n", out);
	write_verdict(report->diagnosis->verdict.kind, out);
	write_clocksource(report->evidence, out);
	write_call_times(report, style->verbose, out);
	write_entries(report, style->verbose, out);
	write_costs(report, out);
	write_causes(report->diagnosis, out);
	write_policy(report->outcome, out);
	return true;
}
