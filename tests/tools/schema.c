/* SPDX-License-Identifier: MIT */
/* Prints the JSON Schema of vdsocheck/1, made from the table of fields. `make schema` keeps it. */
#include <stdio.h>

#include "check/json.h"

int main(void)
{
	if (!json_schema(stdout) || fflush(stdout) != 0) {
		fputs("schema: cannot write the schema\n", stderr);
		return 1;
	}
	return 0;
}
