/* SPDX-License-Identifier: MIT */
/* Tests of base/memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "unit/unit.h"

static void the_text_is_what_was_written(void **state)
{
	struct memory_stream stream;
	size_t written = 0;

	(void)state;
	assert_non_null(memory_stream_open(&stream));
	for (int i = 0; i < 10000; i++)
		written += (size_t)fprintf(stream.out, "%d\n", i);
	memory_stream_close(&stream);
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

static void a_stream_without_text_has_none(void **state)
{
	struct memory_stream stream;

	(void)state;
	assert_non_null(memory_stream_open(&stream));
	memory_stream_close(&stream);
	assert_int_equal(stream.length, 0);
	assert_null(stream.text);
}

static void end_with_three(void)
{
	_exit(3);
}

/* The address sanitizer ends a process that asks for too much, unless it is told not to. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* More than any address space has; volatile, or compilers warn of it. */
static volatile size_t too_much = SIZE_MAX - 4096;

static void refused_memory_ends_the_process(void **state)
{
	(void)state;
	for (int way = 0; way < 2; way++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0) {
			memory_on_refusal(end_with_three);
			way == 0 ? xmalloc(too_much) : xcalloc(too_much, 3);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 3);
	}
}

static void an_array_grows_and_keeps_its_elements(void **state)
{
	size_t room = 0;
	int *list = NULL;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		list = array_grow(list, (size_t)i, &room, sizeof(*list));
		assert_true(room > (size_t)i);
		list[i] = i;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(list[i], i);
	free(list);
}

/* What is behind the end is memory of others, whatever it holds. */
static void no_number_is_loaded_from_behind_the_end(void **state)
{
	unsigned char bytes[16];

	(void)state;
	memset(bytes, 0x5a, sizeof(bytes));
	assert_int_equal(bytes_load(bytes, 8, 0, 8), 0x5a5a5a5a5a5a5a5a);
	assert_int_equal(bytes_load(bytes, 8, 6, 2), 0x5a5a);
	assert_int_equal(bytes_load(bytes, 8, 7, 1), 0x5a);
	assert_int_equal(bytes_load(bytes, 8, 7, 2), 0);
	assert_int_equal(bytes_load(bytes, 8, 8, 1), 0);
	assert_int_equal(bytes_load(bytes, 8, 9, 1), 0);
	assert_int_equal(bytes_load(bytes, 8, UINT64_MAX, 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_is_what_was_written),
		cmocka_unit_test(a_stream_without_text_has_none),
		cmocka_unit_test(refused_memory_ends_the_process),
		cmocka_unit_test(an_array_grows_and_keeps_its_elements),
		cmocka_unit_test(no_number_is_loaded_from_behind_the_end),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
