/* SPDX-License-Identifier: MIT */
/*
 * Prints the JSON Schema of vdsocheck/1 or, with the word watch, of vdsocheck-watch/1, made from
 * the tables of fields. `make schema` keeps them.
 */
#include <stdio.h>
#include <string.h>

#include "check/json.h"
#include "watch/report.h"

int main(int argc, char **argv)
{
	bool of_watch = argc > 1 && strcmp(argv[1], "watch") == 0;

	if (!(of_watch ? watch_json_schema(stdout) : json_schema(stdout)) || fflush(stdout) != 0) {
		fputs("schema: cannot write the schema\n", stderr);
		return 1;
	}
	return 0;
}
