/* SPDX-License-Identifier: MIT */
#include "render/bench_report.h"

#include "render/phrase.h"
#include "render/wrap.h"

#define HEADING_INDENT 16
#define PERCENT 100

static void write_heading(const struct bench_report *report, FILE *out)
{
	struct phrase clocksource = {.used = 0}, host = {.used = 0};

	phrase_clocksource(report->evidence, &clocksource);
	phrase_host(report->evidence, &host);
	wrap_print(out, "clocksource", HEADING_INDENT, clocksource.text);
	wrap_print(out, "host", HEADING_INDENT, host.text);
}

static void describe_thrown(const struct noise *noise, struct phrase *phrase)
{
	char chunks[32];

	phrase_add(phrase,
		"%.1f %% of %s chunks of calls were thrown away, %.1f %% left out of the means, "
		"and the median is %.1f %% above the minimum",
		PERCENT * noise->thrown_share, wrap_count(noise->chunks, chunks),
		PERCENT * noise->outlier_share, PERCENT * noise->median_excess);
}

static void write_noise(const struct bench_report *report, FILE *out)
{
	struct phrase phrase = {.used = 0};

	if (!report->noise.known)
		return;
	describe_thrown(&report->noise, &phrase);
	phrase_add(&phrase,
		report->noise.quiet ? "." : ": too noisy to trust the means; the minima stand.");
	wrap_print(out, report->noise.quiet ? "quiet" : "noisy", HEADING_INDENT, phrase.text);
}

static void write_stopped(const struct bench_report *report, FILE *out)
{
	if (report->bench->stopped)
		wrap_print(out, "stopped", HEADING_INDENT,
			"before the time was over: this is what was measured until then.");
}

static void write_ns(double ns, int width, FILE *out)
{
	char text[32];

	fprintf(out, "%*s", width, wrap_ns(ns, text));
}

static void write_mean(const struct price *price, FILE *out)
{
	if (!price->has_mean) {
		fprintf(out, "%8s%7s", "-", "-");
		return;
	}
	write_ns(price->mean_ns, 8, out);
	fprintf(out, price->half_width_ns < 999.995 ? "%7.2f" : "%7.0f", price->half_width_ns);
}

static void write_price(const struct price *price, FILE *out)
{
	if (!fact_is_known(&price->fact)) {
		fprintf(out, "  %s\n", price->fact.reason);
		return;
	}
	write_ns(price->min_ns, 7, out);
	write_ns(price->median_ns, 8, out);
	write_ns(price->p99_ns, 8, out);
	write_mean(price, out);
	fputc('\n', out);
}

static void write_table_heading(const struct bench_row *row, FILE *out)
{
	char place[32] = "";

	if (row->cpu >= 0)
		snprintf(place, sizeof(place), " on CPU %d", row->cpu);
	fprintf(out, "\n  ns per call%-21s %-7s%7s%8s%8s%8s%7s\n", place, "by", "min", "median",
		"p99", "mean", "+-99.9");
}

static void write_table(const struct bench *bench, FILE *out)
{
	for (size_t i = 0; i < bench->row_count; i++) {
		const struct bench_row *row = &bench->rows[i];
		bool first = i == 0 || bench->rows[i - 1].cpu != row->cpu;

		if (first)
			write_table_heading(row, out);
		bench_report_write_name(
			&row->subject, first ? NULL : &bench->rows[i - 1].subject, out);
		write_price(&row->price, out);
	}
}

static void write_histograms(const struct bench *bench, FILE *out)
{
	for (size_t i = 0; i < bench->row_count; i++)
		bench_report_histogram(&bench->rows[i], out);
}

static void write_yardsticks(const struct bench *bench, FILE *out)
{
	fprintf(out, "\n  %-40s%7s%8s%8s%8s%7s\n", "compared with", "min", "median", "p99", "mean",
		"+-99.9");
	for (size_t i = 0; i < YARDSTICK_COUNT; i++) {
		fprintf(out, "  %-40s", yardstick_text((enum yardstick)i));
		write_price(&bench->yardsticks[i], out);
	}
}

static void add_part(struct phrase *phrase, const char *before, struct part part, const char *what)
{
	char ns[32];

	if (part.known)
		phrase_add(phrase, "%s%s ns %s", before, wrap_ns(part.ns, ns), what);
	else
		phrase_add(phrase, "%s? ns %s", before, what);
}

static void write_syscall_parts(const struct bench_report *report, FILE *out)
{
	const struct decomposition *parts = &report->decomposition;
	const struct number_fact *seccomp = &report->evidence->host.seccomp;
	struct phrase phrase = {.used = 0};

	if (!parts->syscall.known)
		return;
	add_part(&phrase, "", parts->syscall, "= ");
	add_part(&phrase, "", parts->entry, "into the kernel and back + ");
	add_part(&phrase, "", parts->kernel, "reading the clock there;");
	if (fact_is_known(&seccomp->fact))
		phrase_add(&phrase, " %s",
			seccomp->value ? "seccomp filters are in force and in that price;"
				       : "no seccomp filter is in force;");
	if (parts->filter.known)
		add_part(&phrase, " one more would add ", parts->filter, "");
	else if (*report->bench->filter.fact.reason)
		phrase_add(&phrase, " what one more adds is not known: %s",
			report->bench->filter.fact.reason);
	wrap_print(out, "system call", HEADING_INDENT, phrase.text);
}

static void write_vdso_parts(const struct decomposition *parts, FILE *out)
{
	struct phrase phrase = {.used = 0};

	if (!parts->vdso.known)
		return;
	if (parts->vdso_is_as_dear_as_entry) {
		add_part(&phrase, "", parts->vdso, "is no less than a way into the kernel takes; ");
		add_part(&phrase, "", parts->counter, "of it could be the counter");
	} else {
		add_part(&phrase, "", parts->vdso, "= ");
		add_part(&phrase, "", parts->counter, "the counter + ");
		add_part(&phrase, "", parts->order, "keeping its read in order + ");
		add_part(&phrase, "", parts->arithmetic, "arithmetic");
	}
	wrap_print(out, "vDSO call", HEADING_INDENT, phrase.text);
}

static void write_number(const struct number_fact *number, FILE *out)
{
	char text[32];

	fprintf(out, "%15s",
		fact_is_known(&number->fact) ? wrap_count((uint64_t)number->value, text) : "-");
}

static void write_clocks(const struct bench *bench, FILE *out)
{
	if (!bench->clock_count)
		return;
	fprintf(out, "\n  %-26s%15s%15s%14s\n", "clock, ns", "resolution", "smallest step",
		"stood still");
	for (size_t i = 0; i < bench->clock_count; i++) {
		const struct clock_step *step = &bench->clocks[i].step;

		fprintf(out, "  %-26s", bench->clocks[i].clock);
		write_number(&step->resolution_ns, out);
		write_number(&step->step_ns, out);
		fprintf(out, "%12.1f %%\n",
			step->readings ? PERCENT * (double)step->standing / (double)step->readings
				       : 0.0);
	}
}

bool bench_report_text(const void *object, FILE *out)
{
	const struct bench_report *report = object;
	const struct bench *bench = report->bench;

	write_heading(report, out);
	write_stopped(report, out);
	write_noise(report, out);
	write_table(bench, out);
	write_histograms(bench, out);
	bench_report_runs(bench, out);
	bench_report_crowds(bench, out);
	if (bench->row_count) {
		write_yardsticks(bench, out);
		fputc('\n', out);
		write_syscall_parts(report, out);
		write_vdso_parts(&report->decomposition, out);
		write_clocks(bench, out);
	}
	return true;
}
