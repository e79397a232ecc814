/* SPDX-License-Identifier: MIT */
/* Tests of base/memory_stream. That a loss is reported is tests/faults' to show. */
#include <stdlib.h>
#include <string.h>

#include "base/memory_stream.h"
#include "unit/unit.h"

static void the_text_is_what_was_written(void **state)
{
	struct memory_stream stream;
	size_t written = 0;

	(void)state;
	assert_non_null(memory_stream_open(&stream));
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(ftell(stream.out), written);
		written += (size_t)fprintf(stream.out, "%d\n", i);
	}
	assert_true(memory_stream_close(&stream));
	assert_int_equal(stream.length, written);
	assert_int_equal(strlen(stream.text), written);
	for (int i = 0, at = 0; i < 10000; i++) {
		char line[16];
		int length = snprintf(line, sizeof(line), "%d\n", i);

		assert_memory_equal(stream.text + at, line, (size_t)length);
		at += length;
	}
	free(stream.text);
}

static void nothing_written_is_no_loss(void **state)
{
	struct memory_stream stream;

	(void)state;
	assert_non_null(memory_stream_open(&stream));
	assert_true(memory_stream_close(&stream));
	assert_int_equal(stream.length, 0);
	assert_null(stream.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_text_is_what_was_written),
		cmocka_unit_test(nothing_written_is_no_loss)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
