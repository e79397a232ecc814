/* SPDX-License-Identifier: MIT */
/* What every unit test needs: cmocka with its headers in order, and a skip that says why. */
#ifndef VDSOCHECK_TESTS_UNIT_H
#define VDSOCHECK_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The deadline of what ends by itself. */
#define NO_LIMIT (&(const struct deadline){.limit_ns = 0})

/* Ends the test as skipped; tests/unit/run shows the reason and counts it. */
#define unit_skip(...)                                                                             \
	do {                                                                                       \
		print_message("skipped because ");                                                 \
		print_message(__VA_ARGS__);                                                        \
		print_message("\n");                                                               \
		skip();                                                                            \
	} while (0)

#endif
