/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes base/text, the values of options, the kernel's command line, and symbols of C++ and Rust.
 * Input: the text, which every parser gets.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/driver.h"
#include "collect/parts.h"

static void parse_numbers(struct span text)
{
	uint64_t decimal = 0, hexadecimal = 0;

	/* Whatever is a decimal number is a hexadecimal one, and no smaller. */
	if (number_parse(text, &decimal) && number_parse_hex(text, &hexadecimal) &&
		hexadecimal < decimal)
		abort();
}

static void parse_values(struct span text)
{
	uint64_t count = 1;
	int64_t ns = 1;
	struct span list = text, word;

	if (parse_count(text, &count) && (count == 0 || count > PARSE_COUNT_MAX))
		abort();
	if (parse_duration(text, &ns) && ns <= 0)
		abort();
	while (parse_next(&list, &word))
		parse_numbers(word);
	text_is_time(text);
}

static void cut(struct span text)
{
	struct span value, rest = text, part;
	char copy[16];

	text_find_value(text, "Seccomp", &value);
	text_clean_span(copy, sizeof(copy), text);
	for (const char *at = copy; *at; at++) {
		if (*at < ' ' || *at > '~')
			abort();
	}
	while (text_next_word(&rest, &part))
		parse_numbers(part);
	rest = text;
	while (text_next_line(&rest, &part)) {
		if (text_trim(part).length > part.length)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = fuzz_copy(data, size), picked[32];
	struct span text = {copy, size};

	parse_values(text);
	cut(text);
	kernel_pick_parameters(text, picked, sizeof(picked));
	if (!memchr(picked, '\0', sizeof(picked)))
		abort();
	free(copy);
	return 0;
}
