/* SPDX-License-Identifier: MIT */
/* Tests of document/read: the documents of a file, whole and broken, in any layout. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/model.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

#define STREAM_MAX (4 * DOCUMENT_SIZE_MAX)

static char *pretty, *line;       /* the same document, on many lines and on one */
static char stream[STREAM_MAX];   /* what is read */
static unsigned long lines[1024]; /* where the documents and the broken ones began */
static bool is_read[1024];        /* false: broken */
static size_t found;
static char reason[FACT_REASON_SIZE]; /* of the last broken one */

static char *render(bool compact)
{
	static struct check_request request;

	evidence_make_falling_back(&request.evidence, "hpet");
	diagnose(&request.evidence, &request.diagnosis);
	return unit_print_in(check_report_json, &request, &(struct style){.compact = compact});
}

static struct check_request request;
static volatile bool stop;

static size_t read_path(const char *path)
{
	enum document_found kind;
	struct fact why = {0};
	struct document_stream *documents = document_open(path, &stop, &why);

	assert_non_null(documents);
	for (found = 0;; found++) {
		assert_true(found < COUNT(lines));
		memset(&request, 0, sizeof(request));
		kind = document_next(documents, check_fields, &request, &lines[found], &why);
		if (kind == DOCUMENT_END)
			break;
		is_read[found] = kind == DOCUMENT_READ;
		if (is_read[found])
			assert_string_equal(request.evidence.clocksource.current, "hpet");
		else
			snprintf(reason, sizeof(reason), "%s", why.reason);
	}
	document_close(documents);
	return found;
}

/* Reads `length` bytes as a file, and returns how many documents or broken ones were in it. */
static size_t read_bytes(const char *bytes, size_t length)
{
	int file = memfd_create("stream", MFD_CLOEXEC);
	char path[32];

	assert_true(file >= 0);
	assert_int_equal(write(file, bytes, length), length);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	read_path(path);
	close(file);
	return found;
}

static size_t read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

static size_t count_read(size_t count)
{
	size_t read = 0;

	for (size_t i = 0; i < count; i++)
		read += is_read[i];
	return read;
}

static void reads_any_layout(void **state)
{
	(void)state;
	snprintf(stream, sizeof(stream), "%s%s\n \t\r\n%s%.*s%s", pretty, line, line,
		(int)strlen(line) - 1, line, pretty);
	assert_int_equal(read_text(stream), 5);
	assert_int_equal(count_read(5), 5);
	assert_int_equal(lines[0], 1);
	assert_int_equal(lines[2], lines[1] + 3);
	assert_int_equal(lines[4], lines[3]);
}

static void a_file_without_a_document_is_named(void **state)
{
	(void)state;
	for (int blanks = 0; blanks < 2; blanks++) {
		assert_int_equal(read_text(blanks ? " \n\n\t\r\n" : ""), 1);
		assert_false(is_read[0]);
		assert_string_equal(reason, "empty: no document");
	}
}

/* More than the buffer, so that documents lie across its end. */
static void reads_long_streams(void **state)
{
	size_t length = strlen(pretty), count = sizeof(stream) / length, rows = 0;

	(void)state;
	for (const char *at = pretty; *at; at++)
		rows += *at == '\n';
	for (size_t i = 0; i < count; i++)
		memcpy(stream + i * length, pretty, length);
	assert_int_equal(read_bytes(stream, count * length), count);
	assert_int_equal(count_read(count), count);
	assert_int_equal(lines[count - 1], 1 + (count - 1) * rows);
}

/* Wherever the connection broke that a document came by. */
static void a_truncated_one_costs_no_other(void **state)
{
	const char *documents[] = {line, pretty};

	(void)state;
	for (size_t of = 0; of < 2; of++) {
		size_t length = strlen(documents[of]);

		for (size_t cut = 1; cut < length - 1; cut += 101) {
			size_t count;

			snprintf(stream, sizeof(stream), "%s%.*s\n%s%s", line, (int)cut,
				documents[of], line, pretty);
			count = read_text(stream);
			assert_int_equal(count, 4);
			assert_int_equal(count_read(count), 3);
			assert_false(is_read[1]);
			assert_int_equal(lines[1], 2);
		}
	}
}

struct broken {
	const char *name;
	const char *text;
	const char *reason;
};

static const struct broken brokens[] = {
	{"a message of ssh", "ssh: connect to host web-1 port 22: timed out\n",
		"not JSON: line 1: "},
	{"two messages", "Warning: one\nError: two\n", "not JSON: line 1: "},
	{"another schema", "{\"schema\": \"vdsocheck-bench/1\"}\n",
		"schema is 'vdsocheck-bench/1', not 'vdsocheck/1'"},
	{"an array", "[]\n", "not a JSON object"},
	{"a key of another type", "{\"schema\": \"vdsocheck/1\",\n\"measured\": 3}\n",
		"measured is not a boolean"},
	{"a mistake on its third line", "{\"schema\":\n\"vdsocheck/1\",\n\"measured\" 3}\n",
		"not JSON: line 3: "},
	{"bytes that are not UTF-8", "{\"schema\": \"\xff\"}\n", "not JSON: line 1: "},
	{"a key twice", "{\"schema\": \"vdsocheck/1\", \"schema\": \"vdsocheck/1\"}\n",
		"not JSON: line 1: "},
};

static void broken_ones_are_named(void **state)
{
	const struct broken *broken = *state;
	size_t count;

	snprintf(stream, sizeof(stream), "%s%s%s", line, broken->text, line);
	count = read_text(stream);
	assert_int_equal(count, 3);
	assert_false(is_read[1]);
	assert_int_equal(count_read(count), 2);
	assert_int_equal(lines[1], 2);
	assert_memory_equal(reason, broken->reason, strlen(broken->reason));
}

/* The rest of a file may be a hole of terabytes. */
static void the_rest_is_not_read_after_one_that_is_too_large(void **state)
{
	size_t length = strlen(line), size = DOCUMENT_SIZE_MAX + 1000;

	(void)state;
	memcpy(stream, line, length);
	memset(stream + length, ' ', size);
	stream[length] = '{';
	memcpy(stream + length + size - 2, "}\n", 2);
	memcpy(stream + length + size, line, length);
	assert_int_equal(read_bytes(stream, size + 2 * length), 2);
	assert_false(is_read[1]);
	assert_int_equal(lines[1], 2);
	assert_string_equal(reason, "larger than any document of vdsocheck; the rest is not read");
}

/* More than jansson's limit, JSON_PARSER_MAX_DEPTH. */
#define LEVELS 3000

static void too_deep_ones_are_refused(void **state)
{
	char *at = stpcpy(stream, line);

	(void)state;
	memset(at, '[', LEVELS);
	memset(at + LEVELS, ']', LEVELS);
	at[2 * LEVELS] = '\n';
	at = stpcpy(at + 2 * LEVELS + 1, line);
	assert_int_equal(read_bytes(stream, (size_t)(at - stream)), 3);
	assert_false(is_read[1]);
	assert_int_equal(lines[1], 2);
	assert_non_null(strstr(reason, "maximum parsing depth"));
	assert_true(is_read[2]);
}

/* Nothing is mapped at the address 0. */
static void a_file_that_cannot_be_read_is_named(void **state)
{
	(void)state;
	assert_int_equal(read_path("/proc/self/mem"), 1);
	assert_false(is_read[0]);
	assert_string_equal(reason, "Input/output error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_any_layout),
		cmocka_unit_test(a_file_without_a_document_is_named),
		cmocka_unit_test(reads_long_streams),
		cmocka_unit_test(a_truncated_one_costs_no_other),
		cmocka_unit_test(the_rest_is_not_read_after_one_that_is_too_large),
		cmocka_unit_test(too_deep_ones_are_refused),
		cmocka_unit_test(a_file_that_cannot_be_read_is_named),
	};
	int failed;

	pretty = render(false);
	line = render(true);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	failed += unit_run_rows(
		"a broken document is named and costs no other", broken_ones_are_named, brokens);
	free(pretty);
	free(line);
	return failed;
}
