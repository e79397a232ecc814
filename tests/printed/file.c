/* SPDX-License-Identifier: MIT */
/* Reads and writes the expected texts beside the sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "cli/text.h"
#include "printed/file.h"

/* A document says which version printed it: a release is no reason to write all anew. */
#define VERSION_MARK "VERSION"

bool printed_is_writing;

/* In place: what stands for the version is not longer. */
static void hide_version(char *text)
{
	static const char key[] = "\"version\": \"";
	char *at = strstr(text, key);
	char whole[64];

	snprintf(whole, sizeof(whole), "%s%s\"", key, vdsocheck_version);
	if (!at || strncmp(at, whole, strlen(whole)) != 0)
		return;
	at += strlen(key);
	memmove(at + strlen(VERSION_MARK), at + strlen(vdsocheck_version),
		strlen(at + strlen(vdsocheck_version)) + 1);
	memcpy(at, VERSION_MARK, strlen(VERSION_MARK));
}

static char *read_whole(const char *path)
{
	FILE *file = fopen(path, "r");
	char *bytes;
	long length;

	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	fseek(file, 0, SEEK_END);
	length = ftell(file);
	rewind(file);
	bytes = calloc(1, (size_t)length + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)length, file), length);
	fclose(file);
	return bytes;
}

/* The text below the line `heading`, up to the next heading; at the end if there is none. */
static char *find_section(char *bytes, const char *heading, size_t *length)
{
	char *text = strstr(bytes, heading);
	char *next;

	text = text ? text + strlen(heading) : bytes + strlen(bytes);
	next = strstr(text, "\n== ");
	*length = next ? (size_t)(next + 1 - text) : strlen(text);
	return text;
}

/* `bytes` is the file as it was, and `text` in it what the section holds. */
static void write_section(const char *path, const char *bytes, const char *text, size_t length,
	const char *heading, const char *printed)
{
	FILE *file = fopen(path, "w");

	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	assert_true(fprintf(file, "%.*s%s%s%s", (int)(text - bytes), bytes, *text ? "" : heading,
			    printed, text + length) >= 0);
	assert_int_equal(fclose(file), 0);
}

static size_t line_length(const char *text)
{
	return strcspn(text, "\n");
}

/* Shows the first line that differs: the whole is in the file, and in `make hosts; git diff`. */
static void compare(const char *path, const char *name, const char *expected, const char *printed)
{
	unsigned line = 1;

	for (;;) {
		size_t length = line_length(expected);

		if (length != line_length(printed) || memcmp(expected, printed, length) != 0)
			fail_msg("%s, line %u of %s\n  expected: %.*s\n  printed:  %.*s", path,
				line, name, (int)length, expected, (int)line_length(printed),
				printed);
		if (!expected[length] && !printed[length])
			return;
		if (!expected[length] || !printed[length])
			fail_msg("%s: %s: printed is %s", path, name,
				printed[length] ? "longer" : "shorter");
		expected += length + 1;
		printed += length + 1;
		line++;
	}
}

void printed_hold(const char *name, const char *ending, const char *printed)
{
	char *roomy = calloc(1, strlen(printed) + sizeof(VERSION_MARK));
	char path[256], heading[256];
	char *bytes, *expected;
	size_t length;

	assert_non_null(roomy);
	strcpy(roomy, printed);
	if (strcmp(ending, "json") == 0)
		hide_version(roomy);
	snprintf(path, sizeof(path), "tests/printed/%.*s.txt", (int)strcspn(name, "-"), name);
	snprintf(heading, sizeof(heading), "== %s.%s\n", name, ending);
	bytes = read_whole(path);
	expected = find_section(bytes, heading, &length);
	if (printed_is_writing) {
		write_section(path, bytes, expected, length, heading, roomy);
	} else {
		expected[length] = '\0';
		compare(path, name, expected, roomy);
	}
	free(bytes);
	free(roomy);
}

/* The last line of the terminal has the next prompt. */
#define SCREEN_LINES 23

void printed_assert_fits_terminal(const char *text, bool screen)
{
	for (int line = 1; *text; line++) {
		size_t length = line_length(text);

		if (screen && line > SCREEN_LINES)
			fail_msg("more than %d lines: %s", SCREEN_LINES, text);
		if (length > WRAP_COLUMNS)
			fail_msg("longer than %d columns: %.*s", WRAP_COLUMNS, (int)length, text);
		if (length && text[length - 1] == ' ')
			fail_msg("blanks at the end of: %.*s", (int)length, text);
		text += length + (text[length] == '\n');
	}
}
