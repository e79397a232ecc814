/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes measure/vvar_layout: whatever is in the pages of the vDSO's data, nothing outside is read,
 * nothing overflows, and what is believed makes sense. Input: architecture, size, then fields of
 * four bytes each (page, place, what to write there), since random bytes never fit a clock.
 */
#include "fuzz/fuzz.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "measure/vvar_layout.h"

#define PAGE_SIZE 1024
#define REALTIME 1795250000
#define MONOTONIC 123456

static const int64_t values[] = {0, 1, 2, 3, 4, 5, -1, REALTIME, MONOTONIC, REALTIME - MONOTONIC,
	MONOTONIC - REALTIME, INT_MAX, INT_MIN, INT64_MAX, INT64_MIN, 86400, -86400};

#define VALUE_COUNT (sizeof(values) / sizeof(values[0]))

static void write_field(unsigned char *pages[2], size_t size, const uint8_t field[4])
{
	static const size_t widths[] = {2, 4, 8, 1};
	size_t width = widths[field[0] >> 1 & 3];
	size_t place = (size_t)(field[1] << 8 | field[2]);
	int64_t value = field[3] < VALUE_COUNT ? values[field[3]] : field[3];

	if (size >= width)
		memcpy(pages[field[0] & 1] + place % (size - width + 1), &value, width);
}

static void check(const struct vvar_match *match, unsigned arch)
{
	if (match->matches == 0)
		return;
	if (!match->layout || match->mode < 0 || match->mode >= VVAR_MODE_MAX ||
		!(match->layout->arches & arch))
		abort();
	if (!vvar_mode_name(match->layout, arch, match->mode, "tsc"))
		abort();
}

static void find(unsigned char *pages[2], size_t size, unsigned arch)
{
	static const int64_t realtime[2] = {REALTIME, REALTIME + 1};
	struct vvar_match match;

	for (int i = 0; i < 2; i++) {
		vvar_layout_find(pages[i], size, arch, realtime, &match);
		check(&match, arch);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t page_size = PAGE_SIZE;
	unsigned char *pages[2];

	if (size < 2)
		return 0;
	if (data[1])
		page_size = data[1] * 4u;
	pages[0] = calloc(1, page_size);
	pages[1] = calloc(1, page_size);
	for (size_t i = 2; pages[0] && pages[1] && i + 4 <= size; i += 4)
		write_field(pages, page_size, data + i);
	if (pages[0] && pages[1])
		find(pages, page_size, 1u << data[0] % 8);
	free(pages[0]);
	free(pages[1]);
	return 0;
}
