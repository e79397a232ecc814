/* SPDX-License-Identifier: MIT */
/*
 * For static fuzzers: what the helpers of the unit tests call of cmocka 1.1, of which Debian has no
 * static library. An assertion of theirs that fails ends the fuzzer.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/unit.h"

void _fail(const char *const file, const int line)
{
	fprintf(stderr, "%s:%d: failed\n", file, line);
	abort();
}

void _assert_true(const LargestIntegralType result, const char *const expression,
	const char *const file, const int line)
{
	(void)expression;
	if (!result)
		_fail(file, line);
}

void _assert_int_equal(const LargestIntegralType a, const LargestIntegralType b,
	const char *const file, const int line)
{
	if (a != b)
		_fail(file, line);
}

void print_message(const char *const format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
}

void print_error(const char *const format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
}
