/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the parsers of plain text: base/text, measure/vdso (maps), the kernel's command
 * line and its log. Input: the text, which every parser gets.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/parts.h"
#include "measure/vdso.h"

static void parse_numbers(struct span text)
{
	uint64_t decimal = 0, hexadecimal = 0;

	/* Whatever is a decimal number is a hexadecimal one, and no smaller. */
	if (number_parse(text, &decimal) && number_parse_hex(text, &hexadecimal) &&
		hexadecimal < decimal)
		abort();
}

static void cut(struct span text)
{
	struct span value, rest = text, part;
	char copy[16];

	text_find_value(text, "Seccomp", &value);
	text_copy_span(copy, sizeof(copy), text);
	for (size_t i = 0; i < strlen(copy); i++) {
		if (copy[i] < ' ' || copy[i] > '~')
			abort();
	}
	while (text_next_word(&rest, &part))
		parse_numbers(part);
	rest = text;
	while (text_next_line(&rest, &part))
		text_trim(part);
}

static void parse_maps(struct span text)
{
	struct mapping mapping;

	maps_find_address(text, 0x7ffd7000, &mapping);
	while (maps_next(&text, &mapping)) {
		if (mapping.start >= mapping.end)
			abort();
	}
}

static void parse_kernel(struct span text)
{
	struct kernel_log_evidence log = {0};
	char picked[32];

	kernel_pick_parameters(text, picked, sizeof(picked));
	kernel_log_add_dmesg(&log, text);
	kernel_log_add_record(&log, text);
	if (strlen(picked) >= sizeof(picked) || log.count > KERNEL_LOG_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Not ended by NUL: spans need none. */
	char *copy = malloc(size ? size : 1);
	struct span text = {copy, size};

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	parse_numbers(text);
	cut(text);
	parse_maps(text);
	parse_kernel(text);
	free(copy);
	return 0;
}
