/* SPDX-License-Identifier: MIT */
/*
 * Prints the JSON Schema of a document, made from its table of fields. `make schema` keeps them
 * in src/share/.
 */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "bench/report.h"
#include "check/report.h"
#include "compare/model.h"
#include "fleet/model.h"
#include "trace/model.h"
#include "warp/model.h"
#include "watch/report.h"

static const struct {
	const char *name, *schema;
	const struct field *fields;
} documents[] = {
	{"bench", BENCH_SCHEMA, bench_report_fields},
	{"compare", COMPARE_SCHEMA, compare_report_fields},
	{"fleet", FLEET_SCHEMA, fleet_report_fields},
	{"trace", TRACE_JSON_SCHEMA, trace_report_fields},
	{"warp", WARP_JSON_SCHEMA, warp_report_fields},
	{"watch", WATCH_JSON_SCHEMA, watch_event_fields},
};

static bool print_schema(const char *name)
{
	struct document_part check_parts[CHECK_PART_COUNT];

	check_document_parts(check_parts, NULL, NULL);
	if (strcmp(name, "check") == 0)
		return document_schema(DOCUMENT_SCHEMA, check_parts, stdout);
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		const struct document_part parts[] = {{.fields = documents[i].fields}, {0}};

		if (strcmp(name, documents[i].name) == 0)
			return document_schema(documents[i].schema, parts, stdout);
	}
	return false;
}

int main(int argc, char **argv)
{
	if (argc == 2 && print_schema(argv[1]) && fflush(stdout) == 0)
		return 0;
	fputs("schema: give the name of one document; or memory ran out, or nothing can be written\n",
		stderr);
	return 1;
}
