/* SPDX-License-Identifier: MIT */
/* The hosts of a fleet for a spreadsheet: RFC 4180, but lines end as they do on this system. */
#include "report.h"

#include <string.h>

/*
 * Texts are printable ASCII by now. Spreadsheets take one that begins with these for a formula,
 * which a host name in a document of others may be.
 */
static void write_text(const char *text, FILE *out)
{
	fputs(*text && strchr("=+-@", *text) ? "\"'" : "\"", out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputs("\",", out);
}

/* Empty where it is unknown. */
static void write_number(double number, int decimals, char end, FILE *out)
{
	if (number >= 0)
		fprintf(out, "%.*f", decimals, number);
	fputc(end, out);
}

bool fleet_report_csv(const void *result, const struct style *style, FILE *out)
{
	const struct fleet_report *report = result;
	const struct fleet *fleet = report->fleet;

	(void)style;
	fputs("name,time,verdict,rule,cause,kernel,clocksource,instance_type,call_ns,lost_ns,"
	      "lost_cpus\n",
		out);
	for (size_t i = 0; i < fleet->count && (!report->top || i < report->top); i++) {
		const struct fleet_host *host = &fleet->hosts[i];

		write_text(host->name, out);
		write_text(host->time, out);
		write_text(verdict_names[host->verdict], out);
		write_text(host->rule, out);
		for (enum fleet_dimension of = 0; of < FLEET_DIMENSIONS; of++)
			write_text(host->of[of], out);
		write_number(host->call_ns, 1, ',', out);
		write_number(host->lost_ns, 1, ',', out);
		write_number(host->lost_cpus, 6, '\n', out);
	}
	return true;
}
