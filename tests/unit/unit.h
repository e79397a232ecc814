/* SPDX-License-Identifier: MIT */
/* What every unit test needs: cmocka with its headers in order, and a skip that says why. */
#ifndef VDSOCHECK_TESTS_UNIT_H
#define VDSOCHECK_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Ends the test as skipped; tests/unit/run shows the reason and counts it. */
#define unit_skip(...)                                                                             \
	do {                                                                                       \
		print_message("skipped because ");                                                 \
		print_message(__VA_ARGS__);                                                        \
		print_message("\n");                                                               \
		skip();                                                                            \
	} while (0)

/*
 * Runs the test once for each row of a table and returns how many failed. The test states the
 * property that holds for all of them. Each row is a struct whose first member is its name (const
 * char *), and is the test's *state. The output has "PROPERTY: NAME".
 */
#define unit_run_rows(property, test, rows)                                                        \
	unit_run_table(property, test, rows, COUNT(rows), sizeof(*(rows)))
int unit_run_table(
	const char *property, CMUnitTestFunction test, const void *rows, size_t count, size_t size);

/*
 * What the format's function writes, without color or in this style; to be freed. They fail the
 * test if it cannot be printed.
 */
struct style;
char *unit_print(void (*write)(const void *, const struct style *, FILE *), const void *object);
char *unit_print_in(void (*write)(const void *, const struct style *, FILE *), const void *object,
	const struct style *style);

/* Fails the test if a line is longer than 80 columns or ends with a blank. */
void unit_assert_fits_terminal(const char *text);

#endif
