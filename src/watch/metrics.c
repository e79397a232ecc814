/* SPDX-License-Identifier: MIT */
/*
 * Metrics in Prometheus's text exposition format, for a file that each event replaces. None has a
 * name of those of `vdsocheck --format prometheus`: node_exporter reads both files, and refuses a
 * sample that it has read before.
 */
#include <inttypes.h>
#include <time.h>

#include "model.h"

static void write_metric(
	const char *name, const char *type, const char *help, int64_t value, FILE *out)
{
	fprintf(out, "# HELP vdsocheck_%s %s\n# TYPE vdsocheck_%s %s\nvdsocheck_%s %" PRId64 "\n",
		name, help, name, type, name, value);
}

bool watch_event_prometheus(const void *result, const struct style *style, FILE *out)
{
	const struct watch_counts *counts = &((const struct watch_event *)result)->counts;
	const struct text_fact *last = &counts->last_change;
	struct tm time = {.tm_year = 0};

	(void)style;
	write_metric("changes_total", "counter",
		"Changes of clocksource, mode, page or verdict since vdsocheck watch began.",
		(int64_t)counts->changes, out);
	write_metric("restores_total", "counter",
		"Restores, migrations and resumes that were noticed since vdsocheck watch began.",
		(int64_t)counts->restores, out);
	if (fact_is_known(&last->fact) && strptime(last->value, "%Y-%m-%dT%H:%M:%SZ", &time))
		write_metric("last_change_timestamp_seconds", "gauge",
			"When vdsocheck watch noticed the last change, in seconds since 1970.",
			(int64_t)timegm(&time), out);
	return true;
}
