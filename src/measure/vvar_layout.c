/* SPDX-License-Identifier: MIT */
/*
 * Sources: arch/x86/include/asm/vgtod.h (3.10-4.19), include/vdso/datapage.h (5.3-7.x),
 * arch/arm64/include/asm/vdso_datapage.h (3.10-5.2), arch/arm/include/asm/vdso_datapage.h
 * (4.12-5.4), arch/s390/include/asm/vdso/arch_data.h (6.17-7.x); offsets taken by compiling
 * them. Seconds of mode NONE: kernel/time/vsyscall.c goes on writing REALTIME and the coarse
 * times then, and leaves MONOTONIC, mult and shift stale, so only the former are looked at.
 */
#include "vvar_layout.h"

#include <string.h>

#include "base/units.h"
#include "evidence.h"

#define GENERIC_ARCHES                                                                             \
	(VVAR_ARM64 | VVAR_ARM | VVAR_RISCV | VVAR_S390 | VVAR_POWERPC | VVAR_LOONGARCH | VVAR_MIPS)

/* A table to be read beside the kernel's headers. */
/* clang-format off */
static const struct vvar_layout layouts[] = {
	{.name = "x86, Linux 3.10-3.15 and RHEL 7", .arches = VVAR_X86,
		.quirks = VVAR_EARLY_MODES,
		.seq = 128, .mode = 136, .realtime = 168,
		.realtime_coarse = 208, .monotonic_coarse = 224},
	{.name = "x86, Linux 3.16-4.19", .arches = VVAR_X86,
		.quirks = VVAR_EITHER_MODES,
		.clock_pages = VVAR_CLOCK_PAGES_AFTER_DATA,
		.seq = 128, .mode = 132, .realtime = 168,
		.realtime_coarse = 192, .monotonic_coarse = 208},
	{.name = "x86, Linux 4.20-6.9", .arches = VVAR_X86,
		.clock_pages = VVAR_CLOCK_PAGES_AFTER_DATA,
		.seq = 128, .mode = 132, .realtime = 160,
		.realtime_coarse = 240, .monotonic_coarse = 256},
	{.name = "x86, Linux 6.10-6.12", .arches = VVAR_X86,
		.clock_pages = VVAR_CLOCK_PAGES_AFTER_DATA,
		.seq = 128, .mode = 132, .realtime = 168,
		.realtime_coarse = 248, .monotonic_coarse = 264},
	{.name = "x86, Linux 6.13-7.x", .arches = VVAR_X86,
		.clock_pages = VVAR_CLOCK_PAGES_BEFORE_VDSO,
		.seq = 0, .mode = 4, .realtime = 40,
		.realtime_coarse = 120, .monotonic_coarse = 136},
	{.name = "generic, Linux 5.3-7.x", .arches = GENERIC_ARCHES,
		.seq = 0, .mode = 4, .realtime = 32,
		.realtime_coarse = 112, .monotonic_coarse = 128},
	{.name = "s390, Linux 6.17-7.x", .arches = VVAR_S390,
		.seq = 8, .mode = 12, .realtime = 40,
		.realtime_coarse = 120, .monotonic_coarse = 136},
	{.name = "powerpc, Linux 5.11-6.12", .arches = VVAR_POWERPC, .quirks = VVAR_SCANNED,
		.seq = 0, .mode = 4, .realtime = 32,
		.realtime_coarse = 112, .monotonic_coarse = 128},
	{.name = "arm64, Linux 4.12-5.2", .arches = VVAR_ARM64,
		.quirks = VVAR_MODE_INVERTED | VVAR_MONOTONIC_BY_OFFSET,
		.seq = 72, .mode = 96, .realtime = 24,
		.realtime_coarse = 40, .monotonic_coarse = 56},
	{.name = "arm64, Linux 3.10", .arches = VVAR_ARM64,
		.quirks = VVAR_MODE_INVERTED | VVAR_MONOTONIC_BY_OFFSET,
		.seq = 56, .mode = 76, .realtime = 8,
		.realtime_coarse = 24, .monotonic_coarse = 40},
	{.name = "arm, Linux 4.12-5.4", .arches = VVAR_ARM,
		.quirks = VVAR_NARROW | VVAR_MONOTONIC_BY_OFFSET,
		.seq = 0, .mode = 4, .realtime = 24,
		.realtime_coarse = 8, .monotonic_coarse = 16},
};
/* clang-format on */

#define LAYOUT_COUNT ARRAY_SIZE(layouts)

/* Scanned layouts begin at a multiple of this. */
#define SCAN_STEP 8

const unsigned vvar_native_arch =
#if defined(__x86_64__) || defined(__i386__)
	VVAR_X86;
#elif defined(__aarch64__)
	VVAR_ARM64;
#elif defined(__arm__)
	VVAR_ARM;
#elif defined(__riscv)
	VVAR_RISCV;
#elif defined(__s390x__)
	VVAR_S390;
#elif defined(__powerpc__)
	VVAR_POWERPC;
#elif defined(__loongarch__)
	VVAR_LOONGARCH;
#elif defined(__mips__)
	VVAR_MIPS;
#else
	0;
#endif

struct fields {
	uint32_t seq;
	int64_t mode;
	int64_t realtime;
	int64_t realtime_coarse;
	int64_t monotonic_coarse;
};

static bool take_bytes(
	const unsigned char *page, size_t size, size_t offset, void *to, size_t width)
{
	if (offset > size || width > size - offset)
		return false;
	memcpy(to, page + offset, width);
	return true;
}

static bool take_seconds(
	const unsigned char *page, size_t size, size_t offset, bool narrow, int64_t *seconds)
{
	int32_t low;

	if (!narrow)
		return take_bytes(page, size, offset, seconds, sizeof(*seconds));
	if (!take_bytes(page, size, offset, &low, sizeof(low)))
		return false;
	*seconds = low;
	return true;
}

static bool take_mode(const unsigned char *page, size_t size, size_t offset,
	const struct vvar_layout *layout, int64_t *mode)
{
	int32_t wide;
	int16_t half;

	if (layout->quirks & VVAR_NARROW) {
		if (!take_bytes(page, size, offset, &half, sizeof(half)))
			return false;
		wide = half;
	} else if (!take_bytes(page, size, offset, &wide, sizeof(wide))) {
		return false;
	}
	*mode = layout->quirks & VVAR_MODE_INVERTED ? wide == 0 : wide;
	return true;
}

bool vvar_layout_mode(const char *name, const unsigned char *bytes, int64_t *mode)
{
	for (size_t i = 0; i < LAYOUT_COUNT; i++) {
		if (strcmp(layouts[i].name, name) == 0)
			return take_mode(bytes, sizeof(uint32_t), 0, &layouts[i], mode);
	}
	return false;
}

static bool take_fields(const unsigned char *page, size_t size, size_t base,
	const struct vvar_layout *layout, struct fields *fields)
{
	bool narrow = layout->quirks & VVAR_NARROW;
	bool whole =
		take_bytes(page, size, base + layout->seq, &fields->seq, sizeof(fields->seq)) &&
		take_mode(page, size, base + layout->mode, layout, &fields->mode) &&
		take_seconds(page, size, base + layout->realtime, narrow, &fields->realtime) &&
		take_seconds(page, size, base + layout->realtime_coarse, narrow,
			&fields->realtime_coarse) &&
		take_seconds(page, size, base + layout->monotonic_coarse, narrow,
			&fields->monotonic_coarse);

	if (whole && (layout->quirks & VVAR_MONOTONIC_BY_OFFSET) &&
		__builtin_add_overflow(fields->monotonic_coarse, fields->realtime_coarse,
			&fields->monotonic_coarse))
		return false;
	return whole;
}

/* Sums of two times, each with its nanoseconds cut off, may be a second short. */
static bool is_between(int64_t seconds, const int64_t around[2], int64_t slack)
{
	return seconds >= around[0] - slack && seconds <= around[1];
}

static bool is_plausible(const struct fields *fields, const struct vvar_reference *reference,
	int64_t shift, int64_t slack)
{
	int64_t monotonic;

	if (__builtin_add_overflow(fields->monotonic_coarse, shift, &monotonic))
		return false;
	return (fields->seq & 1) == 0 && fields->mode >= 0 && fields->mode < VVAR_MODE_MAX &&
	       is_between(fields->realtime, reference->realtime, 0) &&
	       is_between(fields->realtime_coarse, reference->realtime, 0) &&
	       is_between(monotonic, reference->monotonic, slack);
}

/* A time namespace's page: sequence always 1, the mode TIMENS, offsets instead of times. */
static bool take_timens(const unsigned char *page, size_t size, size_t base,
	const struct vvar_layout *layout, int64_t *shift)
{
	struct fields fields;

	if (!take_fields(page, size, base, layout, &fields) || fields.seq != 1 ||
		fields.mode != VCLOCK_MODE_TIMENS)
		return false;
	*shift = fields.monotonic_coarse;
	return true;
}

struct layout_search {
	const unsigned char *page;
	const unsigned char *timens;
	size_t size;
	const struct vvar_reference *reference;
	struct vvar_match *match;
};

static void try_at(struct layout_search *search, size_t base, const struct vvar_layout *layout)
{
	bool sum = search->timens || (layout->quirks & VVAR_MONOTONIC_BY_OFFSET);
	int64_t shift = 0;
	struct fields fields;

	if (search->timens && !take_timens(search->timens, search->size, base, layout, &shift))
		return;
	if (!take_fields(search->page, search->size, base, layout, &fields) ||
		!is_plausible(&fields, search->reference, shift, sum ? 1 : 0))
		return;
	search->match->layout = layout;
	search->match->mode = fields.mode;
	search->match->mode_at = (uint16_t)(base + layout->mode);
	search->match->matches++;
}

/* The places in a page where this layout may begin: the start, or all of them when scanned. */
static size_t first_base(const struct vvar_layout *layout)
{
	/* At the page's start a scanned one is the generic layout, which has its own line. */
	return layout->quirks & VVAR_SCANNED ? SCAN_STEP : 0;
}

static size_t last_base(const struct vvar_layout *layout, size_t size)
{
	return layout->quirks & VVAR_SCANNED ? size : 0;
}

void vvar_layout_find(const unsigned char *page, const unsigned char *timens, size_t size,
	unsigned arch, const struct vvar_reference *reference, struct vvar_match *match)
{
	struct layout_search search = {page, timens, size, reference, match};

	*match = (struct vvar_match){0};
	for (size_t i = 0; i < LAYOUT_COUNT; i++) {
		const struct vvar_layout *layout = &layouts[i];

		if (!(layout->arches & arch))
			continue;
		for (size_t base = first_base(layout); base <= last_base(layout, size);
			base += SCAN_STEP)
			try_at(&search, base, layout);
	}
}

bool vvar_layout_is_timens(const unsigned char *page, size_t size, unsigned arch)
{
	for (size_t i = 0; i < LAYOUT_COUNT; i++) {
		const struct vvar_layout *layout = &layouts[i];
		int64_t shift;

		if (!(layout->arches & arch))
			continue;
		for (size_t base = first_base(layout); base <= last_base(layout, size);
			base += SCAN_STEP) {
			if (take_timens(page, size, base, layout, &shift))
				return true;
		}
	}
	return false;
}

static const char *x86_late_name(int64_t mode)
{
	static const char *const names[] = {"none", "tsc", "pvclock", "hvclock"};

	return mode < 4 ? names[mode] : "";
}

static const char *x86_early_name(int64_t mode)
{
	static const char *const names[] = {"none", "tsc", "hpet", "pvclock", "hvclock"};

	return mode < 5 ? names[mode] : "";
}

/* 3.16-4.6 numbers modes the early way, 4.7-4.19 the late way, both in one layout. */
static const char *x86_middle_name(int64_t mode, const char *clocksource)
{
	if (mode <= 1)
		return x86_late_name(mode);
	if (strcmp(clocksource, "hpet") == 0)
		return mode == 2 ? "hpet" : "";
	if (strcmp(clocksource, "kvm-clock") == 0 || strcmp(clocksource, "xen") == 0)
		return "pvclock";
	if (strncmp(clocksource, "hyperv", 6) == 0)
		return "hvclock";
	return "";
}

static const char *x86_name(const struct vvar_layout *layout, int64_t mode, const char *clocksource)
{
	if (layout && layout->quirks & VVAR_EARLY_MODES)
		return x86_early_name(mode);
	if (layout && layout->quirks & VVAR_EITHER_MODES)
		return x86_middle_name(mode, clocksource);
	return x86_late_name(mode);
}

/* include/vdso/clocksource.h and each architecture's asm/vdso/clocksource.h, 5.7-7.x. */
static const char *other_name(unsigned arch, int64_t mode)
{
	if (mode == VCLOCK_MODE_NONE)
		return "none";
	switch (arch) {
	case VVAR_ARM64:
		return mode == 1 ? "archtimer" : mode == 2 ? "archtimer-nocompat" : "";
	case VVAR_S390:
		return mode == 1 ? "tod" : "";
	case VVAR_LOONGARCH:
		return mode == 1 ? "cpu" : "";
	case VVAR_MIPS:
		return mode == 1 ? "r4k" : mode == 2 ? "gic" : "";
	default:
		/* A 32-bit arm process may sit on an arm64 kernel. */
		return mode == 1                       ? "archtimer"
		       : mode == 2 && arch == VVAR_ARM ? "archtimer-nocompat"
		                                       : "";
	}
}

const char *vvar_mode_name(
	const struct vvar_layout *layout, unsigned arch, int64_t mode, const char *clocksource)
{
	if (mode < 0 || mode >= VVAR_MODE_MAX)
		return "";
	if (arch == VVAR_X86)
		return x86_name(layout, mode, clocksource);
	return other_name(arch, mode);
}

const char *vvar_layout_name(size_t place)
{
	return place < LAYOUT_COUNT ? layouts[place].name : NULL;
}
