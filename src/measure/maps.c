/* SPDX-License-Identifier: MIT */
#include "measure/maps.h"

#include <string.h>

#include "base/number.h"

static bool parse_address(struct span text, uintptr_t *address)
{
	uint64_t value;

	if (!number_parse_hex(text, &value) || value > UINTPTR_MAX)
		return false;
	*address = (uintptr_t)value;
	return true;
}

static bool parse_range(struct span range, struct mapping *mapping)
{
	const char *dash = memchr(range.at, '-', range.length);
	size_t left;

	if (!dash)
		return false;
	left = (size_t)(dash - range.at);
	return parse_address((struct span){range.at, left}, &mapping->start) &&
	       parse_address((struct span){dash + 1, range.length - left - 1}, &mapping->end) &&
	       mapping->start < mapping->end;
}

/* start-end perms offset device inode [name]; the name may hold blanks. */
static bool parse_line(struct span line, struct mapping *mapping)
{
	struct span range, permissions, ignored;

	if (!text_next_word(&line, &range) || !text_next_word(&line, &permissions))
		return false;
	for (int i = 0; i < 3; i++) {
		if (!text_next_word(&line, &ignored))
			return false;
	}
	mapping->readable = text_starts(permissions, "r");
	mapping->name = text_trim(line);
	return parse_range(range, mapping);
}

bool maps_next(struct span *maps, struct mapping *mapping)
{
	struct span line;

	while (text_next_line(maps, &line)) {
		if (parse_line(line, mapping))
			return true;
	}
	return false;
}

bool maps_find_address(struct span maps, uintptr_t address, struct mapping *mapping)
{
	while (maps_next(&maps, mapping)) {
		if (mapping->start <= address && address < mapping->end)
			return true;
	}
	return false;
}
