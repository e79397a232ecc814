/* SPDX-License-Identifier: MIT */
/*
 * Tests of measure/vvar_layout: a mode read from the wrong place is wrong evidence. Pages are made
 * here for each kernel that was looked at, with offsets of this file's own: see the tables
 * "x86 byte offsets" and "other architectures" of the project's notes on kernels, which were
 * taken by compiling the kernels' headers.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/vvar_layout.h"
#include "unit/dice.h"
#include "unit/unit.h"

#define PAGE_SIZE 4096
#define TIMENS_MODE 0x7fffffff

#define REALTIME_NOW INT64_C(1795250000)
#define MONOTONIC_NOW INT64_C(123456)

static const int64_t now[2] = {REALTIME_NOW, REALTIME_NOW};

enum shape {
	WIDE,      /* u32 seq, s32 mode, s64 seconds */
	BY_OFFSET, /* arm64 up to 5.2: wall_to_monotonic, and "use_syscall" for a mode */
	NARROW,    /* arm up to 5.4: the same with 32-bit seconds and a 16-bit flag */
};

/* Byte offsets from the start of the page, as in the tables. 0: the kernel has no such. */
struct kernel {
	const char *name;
	unsigned arch;
	enum shape shape;
	size_t seq, mode, cycle_last, mult, realtime, monotonic, realtime_coarse, monotonic_coarse;
	size_t second; /* the array or clock after it, with the same mode */
	bool timens;   /* has time namespaces */
	const char *layout;
};

static const struct kernel kernels[] = {
	{"3.10", VVAR_X86, WIDE, 128, 136, 144, 160, 168, 192, 208, 224, 0, false, "3.10-3.15"},
	{"3.16", VVAR_X86, WIDE, 128, 132, 136, 152, 168, 176, 192, 208, 0, false, "3.16-4.19"},
	{"4.19", VVAR_X86, WIDE, 128, 132, 136, 152, 168, 176, 192, 208, 0, false, "3.16-4.19"},
	{"5.0", VVAR_X86, WIDE, 128, 132, 136, 152, 160, 176, 240, 256, 0, false, "4.20-6.9"},
	{"5.4", VVAR_X86, WIDE, 128, 132, 136, 152, 160, 176, 240, 256, 368, false, "4.20-6.9"},
	{"6.1", VVAR_X86, WIDE, 128, 132, 136, 152, 160, 176, 240, 256, 368, true, "4.20-6.9"},
	{"6.12", VVAR_X86, WIDE, 128, 132, 136, 160, 168, 184, 248, 264, 376, true, "6.10-6.12"},
	{"6.13", VVAR_X86, WIDE, 0, 4, 8, 32, 40, 56, 120, 136, 248, true, "6.13"},
	{"6.18", VVAR_X86, WIDE, 0, 4, 8, 32, 40, 56, 120, 136, 232, true, "6.13"},
	{"4.19", VVAR_ARM64, BY_OFFSET, 72, 96, 0, 76, 24, 0, 40, 56, 0, false, "4.12-5.2"},
	{"5.4", VVAR_ARM64, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 240, false, "generic"},
	{"6.1", VVAR_ARM64, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 240, true, "generic"},
	{"7.2", VVAR_ARM64, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 224, true, "generic"},
	{"4.19", VVAR_ARM, NARROW, 0, 4, 32, 28, 24, 0, 8, 16, 0, false, "4.12-5.4"},
	{"5.10", VVAR_ARM, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 240, false, "generic"},
	{"7.2", VVAR_ARM, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 224, false, "generic"},
	{"5.10", VVAR_RISCV, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 240, false, "generic"},
	{"6.1", VVAR_RISCV, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 240, true, "generic"},
	{"7.2", VVAR_RISCV, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 224, true, "generic"},
	{"6.1", VVAR_S390, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 256, true, "generic"},
	{"6.19", VVAR_S390, WIDE, 8, 12, 16, 32, 40, 56, 120, 136, 232, true, "s390"},
	/* The end of an arch structure that grows with the number of system calls. */
	{"6.1", VVAR_POWERPC, WIDE, 456, 460, 464, 480, 488, 504, 568, 584, 696, true, "powerpc"},
	{"6.12", VVAR_POWERPC, WIDE, 472, 476, 480, 496, 504, 520, 584, 600, 712, true, "powerpc"},
	{"6.14", VVAR_POWERPC, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 240, true, "generic"},
	{"7.2", VVAR_POWERPC, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 224, true, "generic"},
	{"6.1", VVAR_LOONGARCH, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 240, true, "generic"},
	{"7.2", VVAR_LOONGARCH, WIDE, 0, 4, 8, 24, 32, 48, 112, 128, 224, true, "generic"},
};

static void put(unsigned char *page, size_t offset, int64_t value, size_t width)
{
	unsigned char bytes[8];

	memcpy(bytes, &value, sizeof(bytes));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	memmove(bytes, bytes + 8 - width, width);
#endif
	memcpy(page + offset, bytes, width);
}

/* A kernel's clock, as far as the mode lets the kernel keep it up to date. */
struct time {
	uint32_t seq;
	int64_t mode;
	int64_t realtime, realtime_coarse, monotonic_coarse;
};

static const struct time ticking = {1234568, 1, REALTIME_NOW, REALTIME_NOW, MONOTONIC_NOW};

static size_t width_of(const struct kernel *kernel)
{
	return kernel->shape == NARROW ? 4 : 8;
}

/* The field of the page that carries the mode. */
static void put_mode(unsigned char *page, const struct kernel *kernel, int64_t mode)
{
	if (kernel->shape == WIDE)
		put(page, kernel->mode, mode, 4);
	else if (kernel->shape == NARROW)
		put(page, kernel->mode, mode, 2);
	else
		put(page, kernel->mode, mode == 0, 4);
}

static void put_seconds(unsigned char *page, const struct kernel *kernel, const struct time *time)
{
	int64_t monotonic = time->monotonic_coarse;

	if (kernel->shape != WIDE)
		monotonic -= time->realtime_coarse;
	put(page, kernel->realtime, time->realtime, width_of(kernel));
	put(page, kernel->realtime + width_of(kernel), 987654321, width_of(kernel));
	put(page, kernel->realtime_coarse, time->realtime_coarse, width_of(kernel));
	put(page, kernel->realtime_coarse + width_of(kernel), 900000000, 4);
	put(page, kernel->monotonic_coarse, monotonic, width_of(kernel));
	put(page, kernel->monotonic_coarse + width_of(kernel), 800000000, 4);
	if (kernel->monotonic)
		put(page, kernel->monotonic, time->monotonic_coarse, 8);
}

static void make_page(
	unsigned char page[PAGE_SIZE], const struct kernel *kernel, const struct time *time)
{
	memset(page, 0, PAGE_SIZE);
	put(page, kernel->cycle_last, 0x123456789abc, 8);
	put(page, kernel->mult, 5592405, 4);
	put(page, kernel->mult + 4, 24, 4);
	put(page, kernel->seq, time->seq, 4);
	put_seconds(page, kernel, time);
	put_mode(page, kernel, time->mode);
	if (kernel->second) {
		put(page, kernel->second, time->seq, 4);
		put(page, kernel->second + 4, time->mode, 4);
		put(page, kernel->second + 8, 0x123456789abc, 8);
	}
}

/* Reads a copy that is just as long as it says. */
static struct vvar_match find(
	const unsigned char *page, size_t size, unsigned arch, const int64_t realtime[2])
{
	unsigned char *copy = malloc(size ? size : 1);
	struct vvar_match match = {.matches = 99};

	assert_non_null(copy);
	memcpy(copy, page, size);
	vvar_layout_find(copy, size, arch, realtime, &match);
	free(copy);
	return match;
}

static struct vvar_match find_plain(const unsigned char *page, const struct kernel *kernel)
{
	return find(page, PAGE_SIZE, kernel->arch, now);
}

static int64_t last_mode(const struct kernel *kernel)
{
	return kernel->shape == WIDE ? 4 : 1;
}

static const struct kernel *kernel_of(void **state)
{
	return *state;
}

/* Each kernel: the mode is found, once, whatever it is. */
static void the_page_of_this_kernel_is_read(void **state)
{
	const struct kernel *kernel = kernel_of(state);
	unsigned char page[PAGE_SIZE];

	for (int64_t mode = 0; mode <= last_mode(kernel); mode++) {
		struct time time = ticking;
		struct vvar_match match;

		time.mode = mode;
		make_page(page, kernel, &time);
		match = find_plain(page, kernel);
		assert_int_equal(match.matches, 1);
		assert_true(match.mode == mode);
		assert_non_null(strstr(match.layout->name, kernel->layout));
		assert_true(match.layout->arches & kernel->arch);
		assert_false(match.timens);
	}
}

/* A page that disagrees with the clocks in anything is not believed. */
static void a_page_of_this_kernel_that_is_off_is_refused(void **state)
{
	static const int64_t off[] = {-2, 1, 2, 1000000, -REALTIME_NOW, INT32_MIN};
	const struct kernel *kernel = kernel_of(state);
	unsigned char page[PAGE_SIZE];
	struct time time;

	for (size_t i = 0; i < COUNT(off); i++) {
		time = ticking;
		time.realtime += off[i];
		make_page(page, kernel, &time);
		assert_int_equal(find_plain(page, kernel).matches, 0);
		time = ticking;
		time.realtime_coarse += off[i];
		make_page(page, kernel, &time);
		assert_int_equal(find_plain(page, kernel).matches, 0);
	}
}

/* In the middle of an update nothing in the page holds. */
static void a_page_of_this_kernel_with_odd_sequence_is_refused(void **state)
{
	const struct kernel *kernel = kernel_of(state);
	unsigned char page[PAGE_SIZE];
	struct time time = ticking;

	time.seq |= 1;
	make_page(page, kernel, &time);
	assert_int_equal(find_plain(page, kernel).matches, 0);
}

static void a_mode_that_no_kernel_has_is_refused(void **state)
{
	static const int64_t modes[] = {-1, 5, 1000, INT32_MIN, TIMENS_MODE};
	const struct kernel *kernel = kernel_of(state);
	unsigned char page[PAGE_SIZE];

	for (size_t i = 0; i < COUNT(modes) && kernel->shape == WIDE; i++) {
		struct time time = ticking;

		time.mode = modes[i];
		make_page(page, kernel, &time);
		assert_int_equal(find_plain(page, kernel).matches, 0);
	}
}

/* The second may change while the page is copied. */
static void seconds_before_and_after_the_copy_both_do(void **state)
{
	const struct kernel *kernel = kernel_of(state);
	static const int64_t wider[2] = {REALTIME_NOW, REALTIME_NOW + 1};
	unsigned char page[PAGE_SIZE];
	struct time time = ticking;

	make_page(page, kernel, &time);
	assert_int_equal(find(page, PAGE_SIZE, kernel->arch, wider).matches, 1);
	time.realtime++;
	time.realtime_coarse++;
	time.monotonic_coarse++;
	make_page(page, kernel, &time);
	assert_int_equal(find(page, PAGE_SIZE, kernel->arch, wider).matches, 1);
}

static size_t larger(size_t one, size_t other)
{
	return one > other ? one : other;
}

static void a_short_page_is_never_read_beyond_its_end(void **state)
{
	const struct kernel *kernel = kernel_of(state);
	unsigned char page[PAGE_SIZE];
	size_t needed = kernel->mode + (kernel->shape == NARROW ? 2 : 4);

	needed = larger(needed, kernel->realtime + width_of(kernel));
	needed = larger(needed, kernel->realtime_coarse + width_of(kernel));
	make_page(page, kernel, &ticking);
	for (size_t size = 0; size < 800; size++)
		assert_int_equal(find(page, size, kernel->arch, now).matches, size >= needed);
}

/* The namespace's page: sequence 1, the mode TIMENS and offsets where times would be. */
static void make_timens(unsigned char page[PAGE_SIZE], const struct kernel *kernel, int64_t offset)
{
	const struct time time = {1, TIMENS_MODE, 0, 0, offset};

	make_page(page, kernel, &time);
	put(page, kernel->cycle_last, 0, 8);
	put(page, kernel->mult, 0, 8);
	put(page, kernel->realtime + 8, 0, 8);
	put(page, kernel->realtime_coarse + 8, 0, 8);
	if (kernel->second) {
		put(page, kernel->second, 1, 4);
		put(page, kernel->second + 4, TIMENS_MODE, 4);
		put(page, kernel->second + 8, 0, 8);
	}
}

/* In a container with a time namespace of its own the mode is behind its page. */
static void a_namespace_page_is_known_and_holds_no_mode(void **state)
{
	static const int64_t offsets[] = {0, 86400, -5000, 1000000000, -MONOTONIC_NOW};
	const struct kernel *kernel = kernel_of(state);
	unsigned char timens[PAGE_SIZE];

	for (size_t i = 0; i < COUNT(offsets); i++) {
		struct vvar_match match;

		make_timens(timens, kernel, offsets[i]);
		match = find_plain(timens, kernel);
		assert_true(match.timens);
		assert_int_equal(match.matches, 0);
	}
}

static const struct kernel *find_kernel(unsigned arch, const char *name)
{
	for (size_t i = 0; i < COUNT(kernels); i++) {
		if (kernels[i].arch == arch && strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	}
	fail();
	return NULL;
}

/* Two answers are no answer: the caller must be able to see that there were two. */
static void a_page_that_fits_two_layouts_says_so(void **state)
{
	unsigned char page[PAGE_SIZE];
	struct time other = ticking;

	(void)state;
	make_page(page, find_kernel(VVAR_X86, "6.18"), &ticking);
	other.mode = 2;
	put(page, 128, 0, 8);
	put_mode(page, find_kernel(VVAR_X86, "6.1"), other.mode);
	put(page, 160, REALTIME_NOW, 8);
	put(page, 240, REALTIME_NOW, 8);
	put(page, 256, MONOTONIC_NOW, 8);
	assert_int_equal(find(page, PAGE_SIZE, VVAR_X86, now).matches, 2);
}

static void noise_and_empty_pages_fit_nothing(void **state)
{
	static unsigned char page[PAGE_SIZE];
	struct dice dice = dice_start();

	(void)state;
	memset(page, 0, sizeof(page));
	assert_int_equal(find(page, PAGE_SIZE, UINT_MAX, now).matches, 0);
	memset(page, 0xff, sizeof(page));
	assert_int_equal(find(page, PAGE_SIZE, UINT_MAX, now).matches, 0);
	assert_false(find(page, PAGE_SIZE, UINT_MAX, now).timens);
	for (int round = 0; round < 300; round++) {
		dice_fill(&dice, page, sizeof(page));
		assert_int_equal(find(page, PAGE_SIZE, UINT_MAX, now).matches, 0);
		assert_false(find(page, PAGE_SIZE, UINT_MAX, now).timens);
	}
}

/* One architecture's page is nothing to another, where the offsets differ. */
static void layouts_of_other_architectures_are_not_tried(void **state)
{
	unsigned char page[PAGE_SIZE];

	(void)state;
	make_page(page, find_kernel(VVAR_ARM64, "6.1"), &ticking);
	assert_int_equal(find(page, PAGE_SIZE, VVAR_X86, now).matches, 0);
	make_page(page, find_kernel(VVAR_X86, "6.1"), &ticking);
	assert_int_equal(find(page, PAGE_SIZE, VVAR_ARM64, now).matches, 0);
	assert_int_equal(find(page, PAGE_SIZE, 0, now).matches, 0);
}

static const struct {
	const char *kernel;
	unsigned arch;
	int64_t mode;
	const char *clocksource;
	const char *name;
} names[] = {
	{"3.10", VVAR_X86, 0, "acpi_pm", "none"},
	{"3.10", VVAR_X86, 1, "tsc", "tsc"},
	{"3.10", VVAR_X86, 2, "hpet", "hpet"},
	{"3.10", VVAR_X86, 3, "kvm-clock", "pvclock"},
	{"3.10", VVAR_X86, 4, "hyperv_clocksource_tsc_page", "hvclock"},
	{"3.16", VVAR_X86, 0, "hpet", "none"},
	{"3.16", VVAR_X86, 1, "tsc", "tsc"},
	{"3.16", VVAR_X86, 2, "hpet", "hpet"},
	{"3.16", VVAR_X86, 3, "kvm-clock", "pvclock"},
	{"4.19", VVAR_X86, 2, "kvm-clock", "pvclock"},
	{"4.19", VVAR_X86, 2, "xen", "pvclock"},
	{"4.19", VVAR_X86, 3, "hyperv_clocksource_tsc_page", "hvclock"},
	{"4.19", VVAR_X86, 2, "", ""},
	{"4.19", VVAR_X86, 3, "unheard-of", ""},
	{"4.19", VVAR_X86, 3, "hpet", ""},
	{"5.0", VVAR_X86, 2, "xen", "pvclock"},
	{"5.0", VVAR_X86, 3, "hyperv_clocksource_tsc_page", "hvclock"},
	{"6.1", VVAR_X86, 0, "hpet", "none"},
	{"6.1", VVAR_X86, 1, "tsc", "tsc"},
	{"6.1", VVAR_X86, 2, "", "pvclock"},
	{"6.12", VVAR_X86, 3, "", "hvclock"},
	{"6.18", VVAR_X86, 1, "tsc", "tsc"},
	{"6.18", VVAR_X86, 2, "kvm-clock", "pvclock"},
	{"6.18", VVAR_X86, 3, "hyperv_clocksource_tsc_page", "hvclock"},
	{"6.18", VVAR_X86, 4, "", ""},
	{"4.19", VVAR_ARM64, 0, "", "none"},
	{"4.19", VVAR_ARM64, 1, "arch_sys_counter", "archtimer"},
	{"6.1", VVAR_ARM64, 1, "arch_sys_counter", "archtimer"},
	{"6.1", VVAR_ARM64, 2, "arch_sys_counter", "archtimer-nocompat"},
	{"6.1", VVAR_ARM64, 3, "", ""},
	{"4.19", VVAR_ARM, 1, "arch_sys_counter", "archtimer"},
	{"6.1", VVAR_RISCV, 1, "riscv_clocksource", "archtimer"},
	{"6.1", VVAR_RISCV, 2, "", ""},
	{"6.1", VVAR_S390, 1, "tod", "tod"},
	{"6.19", VVAR_S390, 1, "tod", "tod"},
	{"6.1", VVAR_POWERPC, 1, "timebase", "archtimer"},
	{"6.1", VVAR_LOONGARCH, 1, "Constant", "cpu"},
	{"6.1", VVAR_LOONGARCH, 0, "Constant", "none"},
};

/* Number 2 is HPET on old kernels and pvclock on newer: the wrong name misleads the user. */
static void a_mode_has_the_name_of_its_kernel_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		const struct kernel *kernel = find_kernel(names[i].arch, names[i].kernel);
		unsigned char page[PAGE_SIZE];
		struct time time = ticking;
		struct vvar_match match;

		time.mode = kernel->shape == WIDE ? names[i].mode : names[i].mode != 0;
		make_page(page, kernel, &time);
		match = find_plain(page, kernel);
		assert_int_equal(match.matches, 1);
		assert_string_equal(vvar_mode_name(match.layout, names[i].arch, names[i].mode,
					    names[i].clocksource),
			names[i].name);
	}
}

static void no_mode_has_the_name_of_another(void **state)
{
	(void)state;
	for (size_t k = 0; k < COUNT(kernels); k++) {
		unsigned char page[PAGE_SIZE];
		const struct vvar_layout *layout;

		make_page(page, &kernels[k], &ticking);
		layout = find_plain(page, &kernels[k]).layout;
		for (int64_t mode = -2; mode < 8; mode++) {
			const char *name = vvar_mode_name(layout, kernels[k].arch, mode, "");

			assert_non_null(name);
			assert_int_equal(strcmp(name, "none") == 0, mode == 0);
		}
		assert_string_equal(
			vvar_mode_name(layout, kernels[k].arch, TIMENS_MODE, "tsc"), "");
	}
}

#define OF_KERNEL(test)                                                                            \
	{                                                                                          \
#test, test                                                                        \
	}

static const struct {
	const char *name;
	void (*run)(void **state);
} of_each_kernel[] = {
	OF_KERNEL(the_page_of_this_kernel_is_read),
	OF_KERNEL(a_page_of_this_kernel_that_is_off_is_refused),
	OF_KERNEL(a_page_of_this_kernel_with_odd_sequence_is_refused),
	OF_KERNEL(a_mode_that_no_kernel_has_is_refused),
	OF_KERNEL(seconds_before_and_after_the_copy_both_do),
	OF_KERNEL(a_short_page_is_never_read_beyond_its_end),
};

static const struct {
	const char *name;
	void (*run)(void **state);
} of_each_namespace[] = {
	OF_KERNEL(a_namespace_page_is_known_and_holds_no_mode),
};

static const char *arch_name(unsigned arch)
{
	static const char *const words[] = {
		"x86", "arm64", "arm", "riscv", "s390", "powerpc", "loongarch", "mips"};

	return words[__builtin_ctz(arch)];
}

/* One group of tests for each kernel, so that a failure names it. */
static int run_kernel(const struct kernel *kernel)
{
	struct CMUnitTest tests[COUNT(of_each_kernel) + COUNT(of_each_namespace)] = {0};
	static char labels[COUNT(tests)][96];
	size_t count = 0;

	for (size_t i = 0; i < COUNT(tests); i++) {
		bool plain = i < COUNT(of_each_kernel);
		size_t row = plain ? i : i - COUNT(of_each_kernel);

		if (!plain && !kernel->timens)
			break;
		snprintf(labels[i], sizeof(labels[i]), "%s %s: %s", arch_name(kernel->arch),
			kernel->name,
			plain ? of_each_kernel[row].name : of_each_namespace[row].name);
		tests[count++] = (struct CMUnitTest){.name = labels[i],
			.test_func = plain ? of_each_kernel[row].run : of_each_namespace[row].run,
			.initial_state = (void *)(uintptr_t)kernel};
	}
	return _cmocka_run_group_tests("vvar_layout of a kernel", tests, count, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_that_fits_two_layouts_says_so),
		cmocka_unit_test(noise_and_empty_pages_fit_nothing),
		cmocka_unit_test(layouts_of_other_architectures_are_not_tried),
		cmocka_unit_test(a_mode_has_the_name_of_its_kernel_version),
		cmocka_unit_test(no_mode_has_the_name_of_another),
	};
	int failed = cmocka_run_group_tests_name("vvar_layout", tests, NULL, NULL);

	for (size_t i = 0; i < COUNT(kernels); i++)
		failed += run_kernel(&kernels[i]);
	return failed;
}
