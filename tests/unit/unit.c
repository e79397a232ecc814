/* SPDX-License-Identifier: MIT */
/* What several unit tests do in the same way: the tests of a table, and what is printed. */
#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

#define COLUMNS 80
#define LABEL_MAX 192

int unit_run_table(
	const char *property, CMUnitTestFunction test, const void *rows, size_t count, size_t size)
{
	struct CMUnitTest *tests = calloc(count, sizeof(*tests));
	char(*labels)[LABEL_MAX] = calloc(count, sizeof(*labels));
	int failed = 1;

	for (size_t i = 0; tests && labels && i < count; i++) {
		const char *row = (const char *)rows + i * size;
		const char *name;

		memcpy(&name, row, sizeof(name));
		snprintf(labels[i], sizeof(labels[i]), "%s: %s", property, name);
		tests[i] = (struct CMUnitTest){.name = labels[i],
			.test_func = test,
			.initial_state = (void *)(uintptr_t)row};
	}
	if (tests && labels)
		failed = _cmocka_run_group_tests(property, tests, count, NULL, NULL);
	free(labels);
	free(tests);
	return failed;
}

char *unit_print(void (*write)(const void *, const struct style *, FILE *), const void *object)
{
	return unit_print_in(write, object, &(struct style){.color = false});
}

char *unit_print_in(void (*write)(const void *, const struct style *, FILE *), const void *object,
	const struct style *style)
{
	char *bytes = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);

	assert_non_null(out);
	write(object, style, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(bytes), length);
	return bytes;
}

void unit_assert_fits_terminal(const char *text)
{
	while (*text) {
		size_t columns = strcspn(text, "\n");

		if (columns > COLUMNS)
			fail_msg("%zu columns: %.*s", columns, (int)columns, text);
		if (columns && text[columns - 1] == ' ')
			fail_msg("blank at the end: %.*s", (int)columns, text);
		text += columns + (text[columns] == '\n');
	}
}
