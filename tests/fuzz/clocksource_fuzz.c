/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the readers of sysfs's clocksource files: a name is known whole or not at all. Input: the
 * current one, then after a '|' those available, then after another the current one, read again.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "collect.h"

#define DIRECTORY "/sys/devices/system/clocksource/clocksource0/"

static void check_name(const char name[CLOCKSOURCE_NAME_SIZE])
{
	size_t length = strnlen(name, CLOCKSOURCE_NAME_SIZE);

	if (length == 0 || length == CLOCKSOURCE_NAME_SIZE)
		abort();
}

/* Puts what stands before the next '|' into the file, and takes it off the data. */
static void put_part(const char *path, const uint8_t **data, size_t *size)
{
	const uint8_t *end = *size ? memchr(*data, '|', *size) : NULL;
	size_t length = end ? (size_t)(end - *data) : *size;

	fuzz_root_put(path, *data, length);
	*data += end ? length + 1 : length;
	*size -= end ? length + 1 : length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct root *root = &fuzz_root()->root;
	struct clocksource_evidence clocksource = {.changes = 0};

	put_part(DIRECTORY "current_clocksource", &data, &size);
	put_part(DIRECTORY "available_clocksource", &data, &size);
	clocksource_collect(root, &clocksource);
	if (fact_is_known(&clocksource.current_fact))
		check_name(clocksource.current);
	if (fact_is_known(&clocksource.available_fact) != (clocksource.available_count > 0))
		abort();
	for (size_t i = 0; i < clocksource.available_count; i++)
		check_name(clocksource.available[i]);
	put_part(DIRECTORY "current_clocksource", &data, &size);
	if (clocksource_collect_change(root, &clocksource))
		check_name(clocksource.latest);
	return 0;
}
