/* SPDX-License-Identifier: MIT */
/* Tests of measure/vdso: the mappings of /proc/self/maps. */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "measure/vdso.h"
#include "unit/dice.h"
#include "unit/unit.h"

#define VVAR "7ffd1000-7ffd5000 r--p 00000000 00:00 0                          [vvar]\n"
#define VDSO "7ffd7000-7ffd9000 r-xp 00000000 00:00 0                          [vdso]\n"

static bool find(struct span maps, uintptr_t address, struct mapping *mapping)
{
	while (maps_next(&maps, mapping)) {
		if (mapping->start <= address && address < mapping->end)
			return true;
	}
	return false;
}

static void invalid_lines_are_skipped(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"garbage\n",
		"7ffd7000-7ffd9000\n",
		"1000 2000 r--p 0 0:0 0\n",
		"2000-1000 r--p 0 0:0 0\n",
		"1000-1000 r--p 0 0:0 0\n",
		"-2000 r--p 0 0:0 0\n",
		"1000- r--p 0 0:0 0\n",
		"0x1000-0x2000 r--p 0 0:0 0\n",
		"1000-2000g r--p 0 0:0 0\n",
		"1000-10000000000000000 r--p 0 0:0 0\n",
		"1000--2000 r--p 0 0:0 0\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct mapping mapping;
		char text[256];

		snprintf(text, sizeof(text), "%s" VDSO, bad[i]);
		assert_true(find(text_span(text), 0x7ffd7000, &mapping));
		assert_int_equal(mapping.end, 0x7ffd9000);
		assert_true(mapping.readable);
	}
}

static void the_mapping_of_an_address_has_open_end(void **state)
{
	struct span maps = text_span(VVAR VDSO "00400000-00401000 --xp 00000000 08:01 42\n");
	struct mapping mapping;

	(void)state;
	assert_true(find(maps, 0x7ffd7000, &mapping));
	assert_int_equal(mapping.start, 0x7ffd7000);
	assert_true(find(maps, 0x7ffd8fff, &mapping));
	assert_true(mapping.is_vdso);
	assert_false(find(maps, 0x7ffd9000, &mapping));
	assert_false(find(maps, 0x7ffd5000, &mapping));
	assert_true(find(maps, 0x7ffd4fff, &mapping));
	assert_int_equal(mapping.start, 0x7ffd1000);
	assert_false(mapping.is_vdso);
	assert_true(find(maps, 0x400000, &mapping));
	assert_false(mapping.readable);
}

static void our_own_mappings_hold_our_stack_and_vdso(void **state)
{
	static char text[256 * 1024];
	FILE *file = fopen("/proc/self/maps", "r");
	struct span maps = {text, 0};
	struct mapping mapping;
	int local = 0;

	(void)state;
	if (!file)
		unit_skip("there is no /proc/self/maps");
	maps.length = fread(text, 1, sizeof(text), file);
	fclose(file);
	assert_true(find(maps, (uintptr_t)&local, &mapping));
	assert_true(mapping.readable);
	if (!getauxval(AT_SYSINFO_EHDR))
		unit_skip("this process has no vDSO");
	assert_true(find(maps, getauxval(AT_SYSINFO_EHDR), &mapping));
	assert_true(mapping.readable);
}

/* Whatever the text, a mapping that is found holds the address. */
static void noise_gives_no_invalid_mapping(void **state)
{
	static const char letters[] = "0f-- rp:[]\n\n\t";
	struct dice dice = dice_start();
	char text[80];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct span maps = {text, dice_roll(&dice, sizeof(text))};
		struct mapping mapping;

		for (size_t i = 0; i < maps.length; i++)
			text[i] = letters[dice_roll(&dice, sizeof(letters) - 1)];
		if (find(maps, 0xf0, &mapping))
			assert_true(mapping.start <= 0xf0 && mapping.end > 0xf0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_lines_are_skipped),
		cmocka_unit_test(the_mapping_of_an_address_has_open_end),
		cmocka_unit_test(our_own_mappings_hold_our_stack_and_vdso),
		cmocka_unit_test(noise_gives_no_invalid_mapping),
	};

	return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
