/* SPDX-License-Identifier: MIT */
/* Tables for people, made from fields. */
#include <stdlib.h>

#include "base/memory.h"
#include "document.h"
#include "unit/unit.h"

struct row {
	char name[40];
	bool timed;
	double ns;
	uint64_t calls;
};

static void print_doubled(const void *object, const void *whole, FILE *out)
{
	const struct row *row = object;

	(void)whole;
	if (row->calls)
		fprintf(out, "%d", (int)row->calls * 2);
}

#define OF struct row

static const struct field row_fields[] = {
	{TEXT("name", name), .title = "call", .width = 8, .left = true},
	{FLAG("timed", timed)},
	{NS("ns", ns), .given = GIVEN(timed), .title = "ns", .width = 7},
	{INTEGER("calls", calls, 1000000), .options = FIELD_SPARE, .title = "count"},
	{INTEGER("twice", calls, 1000000), .title = "twice", .cell = print_doubled},
	{0},
};

static const struct field column_fields[] = {
	{TEXT("name", name), .options = FIELD_COLUMN | FIELD_ONCE, .title = "call", .left = true},
	{REAL("ns", ns, 2), .title = "ns", .cell_decimals = 1},
	{0},
};

static const struct field rare_fields[] = {
	{NS("ns", ns), .given = GIVEN(timed), .options = FIELD_RARE, .title = "ns", .width = 7},
	{TEXT("name", name), .title = "call", .left = true},
	{INTEGER("twice", calls, 1000000), .options = FIELD_RARE, .title = "twice", .left = true,
		.cell = print_doubled},
	{0},
};

#undef OF

static void check_table(
	const struct row *rows, size_t count, enum table_form form, const char *expected)
{
	struct memory_stream stream;
	table_write(&(struct table){.fields = row_fields, TABLE_ROWS(rows, count), .form = form},
		memory_stream_open(&stream));
	memory_stream_close(&stream);
	assert_string_equal(stream.text, expected);
	free(stream.text);
}

static void columns_are_aligned(void **state)
{
	static const struct row rows[] = {{"a", true, 12.34, 1500}, {"bc", true, 0.1, 7}};

	(void)state;
	check_table(rows, 2, TABLE_TEXT,
		"  call       ns count twice\n"
		"  a        12.3 1,500  3000\n"
		"  bc        0.1     7    14\n");
}

static void a_long_cell_widens_its_column_and_is_not_cut(void **state)
{
	static const struct row rows[] = {
		{"a-name-longer-than-its-column", true, 1234.6, 1}, {"b", true, 1, 1}};

	(void)state;
	check_table(rows, 2, TABLE_TEXT,
		"  call                              ns count twice\n"
		"  a-name-longer-than-its-column  1,235     1     2\n"
		"  b                                1.0     1     2\n");
}

static void narrow_lines_have_narrower_columns_then_fewer(void **state)
{
	static const struct row row = {"a", true, 12.3, 1500};
	static const struct {
		int columns;
		const char *text;
	} rows[] = {
		{29, "  call       ns count twice\n  a        12.3 1,500  3000\n"},
		{26, "  call   ns count twice\n  a    12.3 1,500  3000\n"},
		{22, "  call   ns twice\n  a    12.3  3000\n"},
		{10, "  call   ns twice\n  a    12.3  3000\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct memory_stream stream;

		table_write(&(struct table){.fields = row_fields,
				    TABLE_ROWS(&row, 1),
				    .columns = rows[i].columns},
			memory_stream_open(&stream));
		memory_stream_close(&stream);
		assert_string_equal(stream.text, rows[i].text);
		free(stream.text);
	}
}

static void null_is_a_dash(void **state)
{
	static const struct row row = {"a", false, 12.3, 0};

	(void)state;
	check_table(&row, 1, TABLE_TEXT,
		"  call       ns count twice\n"
		"  a           -     0     -\n");
}

static void a_column_may_be_left_out_where_all_are_null(void **state)
{
	static const struct row rows[] = {{"a", false, 12.3, 0}, {"bc", true, 12.3, 2}};
	static const char *const texts[] = {"  call\n  a\n", "     ns  call  twice\n"
							     "      -  a     -\n"
							     "   12.3  bc    4\n"};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct memory_stream stream;

		table_write(&(struct table){.fields = rare_fields, TABLE_ROWS(rows, i + 1)},
			memory_stream_open(&stream));
		memory_stream_close(&stream);
		assert_string_equal(stream.text, texts[i]);
		free(stream.text);
	}
}

static void markdown_has_a_rule_and_no_padding(void **state)
{
	static const struct row row = {"a", true, 12.3, 1};

	(void)state;
	check_table(&row, 1, TABLE_MARKDOWN,
		"| call | ns | count | twice |\n"
		"| --- | ---: | ---: | ---: |\n"
		"| a | 12.3 | 1 | 2 |\n");
}

static void a_column_may_be_blank_where_it_repeats_the_one_above(void **state)
{
	static const struct row rows[] = {{.name = "a", .ns = 1.26}, {.name = "a", .ns = 2},
		{.name = "a", .ns = 3}, {.name = "b", .ns = 4}, {.name = "a", .ns = 5}};
	struct memory_stream stream;

	(void)state;
	table_write(&(struct table){.fields = column_fields, TABLE_ROWS(rows, COUNT(rows))},
		memory_stream_open(&stream));
	memory_stream_close(&stream);
	assert_string_equal(stream.text, "  call  ns\n"
					 "  a    1.3\n"
					 "       2.0\n"
					 "       3.0\n"
					 "  b    4.0\n"
					 "  a    5.0\n");
	free(stream.text);
}

static void a_document_has_no_column_and_its_own_decimals(void **state)
{
	static const struct row row = {.name = "a", .ns = 1.256};
	json_t *object = field_write(column_fields, &row, NULL);
	char *text = json_dumps(object, JSON_REAL_PRECISION(15));

	(void)state;
	assert_string_equal(text, "{\"ns\": 1.26}");
	free(text);
	json_decref(object);
}

static void a_real_number_has_its_decimals(void **state)
{
	static const struct {
		double value;
		int decimals;
		const char *text;
	} rows[] = {{1234.56, 0, "[1235.0]"}, {1234.56, 1, "[1234.6]"}, {1234.56, -1, "[1234.56]"},
		{-0.01, 1, "[0.0]"}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *array = json_pack("[o]", field_real(rows[i].value, rows[i].decimals));
		char *text = json_dumps(array, JSON_REAL_PRECISION(15));

		assert_string_equal(text, rows[i].text);
		free(text);
		json_decref(array);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_aligned),
		cmocka_unit_test(a_long_cell_widens_its_column_and_is_not_cut),
		cmocka_unit_test(narrow_lines_have_narrower_columns_then_fewer),
		cmocka_unit_test(null_is_a_dash),
		cmocka_unit_test(a_column_may_be_left_out_where_all_are_null),
		cmocka_unit_test(markdown_has_a_rule_and_no_padding),
		cmocka_unit_test(a_column_may_be_blank_where_it_repeats_the_one_above),
		cmocka_unit_test(a_document_has_no_column_and_its_own_decimals),
		cmocka_unit_test(a_real_number_has_its_decimals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
