/* SPDX-License-Identifier: MIT */
/*
 * Sources: arch/x86/include/asm/vgtod.h (3.10-4.19), include/vdso/datapage.h (5.3-7.x),
 * arch/arm64/include/asm/vdso_datapage.h (4.12-5.2), arch/arm/include/asm/vdso_datapage.h
 * (4.12-5.4), arch/s390/include/asm/vdso/arch_data.h (6.17-7.x); offsets taken by compiling
 * them. In mode NONE kernel/time/vsyscall.c goes on writing REALTIME and the coarse times, and
 * leaves MONOTONIC, mult and shift stale. No two layouts of an architecture have both of their
 * REALTIME seconds in the same places, and a time namespace does not shift these.
 */
#include "vvar_layout.h"

#include <string.h>

#include "base/memory.h"

#define GENERIC_ARCHES                                                                             \
	(VVAR_ARM64 | VVAR_ARM | VVAR_RISCV | VVAR_S390 | VVAR_POWERPC | VVAR_LOONGARCH | VVAR_MIPS)

/* clang-format off */
static const struct vvar_layout layouts[] = {
	{.name = "x86, Linux 3.10-3.15 and RHEL 7", .arches = VVAR_X86, .quirks = VVAR_EARLY_MODES,
		.seq = 128, .mode = 136, .realtime = 168, .realtime_coarse = 208},
	{.name = "x86, Linux 3.16-4.19", .arches = VVAR_X86,
		.quirks = VVAR_EITHER_MODES | VVAR_CLOCKS_AFTER_DATA,
		.seq = 128, .mode = 132, .realtime = 168, .realtime_coarse = 192},
	{.name = "x86, Linux 4.20-6.9", .arches = VVAR_X86, .quirks = VVAR_CLOCKS_AFTER_DATA,
		.seq = 128, .mode = 132, .realtime = 160, .realtime_coarse = 240},
	{.name = "x86, Linux 6.10-6.12", .arches = VVAR_X86, .quirks = VVAR_CLOCKS_AFTER_DATA,
		.seq = 128, .mode = 132, .realtime = 168, .realtime_coarse = 248},
	{.name = "x86, Linux 6.13-7.x", .arches = VVAR_X86, .quirks = VVAR_CLOCKS_BEFORE_VDSO,
		.seq = 0, .mode = 4, .realtime = 40, .realtime_coarse = 120},
	{.name = "generic, Linux 5.3-7.x", .arches = GENERIC_ARCHES,
		.seq = 0, .mode = 4, .realtime = 32, .realtime_coarse = 112},
	{.name = "s390, Linux 6.17-7.x", .arches = VVAR_S390,
		.seq = 8, .mode = 12, .realtime = 40, .realtime_coarse = 120},
	{.name = "powerpc, Linux 5.11-6.12", .arches = VVAR_POWERPC, .quirks = VVAR_SCANNED,
		.seq = 0, .mode = 4, .realtime = 32, .realtime_coarse = 112},
	{.name = "arm64, Linux 4.12-5.2", .arches = VVAR_ARM64, .quirks = VVAR_MODE_INVERTED,
		.seq = 72, .mode = 96, .realtime = 24, .realtime_coarse = 40},
	{.name = "arm, Linux 4.12-5.4", .arches = VVAR_ARM, .quirks = VVAR_NARROW,
		.seq = 0, .mode = 4, .realtime = 24, .realtime_coarse = 8},
};
/* clang-format on */

/* Scanned layouts begin at a multiple of this, and not at the page's start, as the generic one. */
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

/* Returns VVAR_MODE_MAX, which no clock has, if the page ends before the mode. */
static int64_t read_mode(
	const struct vvar_layout *layout, const unsigned char *page, size_t size, size_t at)
{
	size_t width = layout->quirks & VVAR_NARROW ? 2 : 4;
	int64_t mode = (int64_t)bytes_load(page, size, at, width);

	if (size < at + width)
		return VVAR_MODE_MAX;
	return layout->quirks & VVAR_MODE_INVERTED ? mode == 0 : mode;
}

static const struct vvar_layout *find_layout(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (strcmp(layouts[i].name, name) == 0)
			return &layouts[i];
	}
	return NULL;
}

bool vvar_layout_mode(const char *name, const unsigned char *bytes, int64_t *mode)
{
	const struct vvar_layout *layout = find_layout(name);

	if (layout)
		*mode = read_mode(layout, bytes, sizeof(uint32_t), 0);
	return layout;
}

static bool is_between(int64_t seconds, const int64_t around[2])
{
	return seconds >= around[0] && seconds <= around[1];
}

static void try_layout(const struct vvar_layout *layout, const unsigned char *page, size_t size,
	size_t base, const int64_t realtime[2], struct vvar_match *match)
{
	size_t width = layout->quirks & VVAR_NARROW ? 4 : 8;
	uint64_t seq = bytes_load(page, size, base + layout->seq, sizeof(uint32_t));
	uint64_t seconds = bytes_load(page, size, base + layout->realtime, width);
	uint64_t coarse = bytes_load(page, size, base + layout->realtime_coarse, width);
	int64_t mode = read_mode(layout, page, size, base + layout->mode);

	/* A time namespace's page has the sequence 1 for good, and offsets instead of times. */
	if (seq == 1 && mode == VCLOCK_MODE_TIMENS)
		match->timens = true;
	if (seq & 1 || mode >= VVAR_MODE_MAX || !is_between((int64_t)seconds, realtime) ||
		!is_between((int64_t)coarse, realtime))
		return;
	match->layout = layout;
	match->mode = mode;
	match->mode_at = (uint16_t)(base + layout->mode);
	match->matches++;
}

void vvar_layout_find(const unsigned char *page, size_t size, unsigned arch,
	const int64_t realtime[2], struct vvar_match *match)
{
	*match = (struct vvar_match){0};
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		const struct vvar_layout *layout = &layouts[i];
		bool scanned = layout->quirks & VVAR_SCANNED;

		if (!(layout->arches & arch))
			continue;
		for (size_t base = scanned ? SCAN_STEP : 0; base <= (scanned ? size : 0);
			base += SCAN_STEP)
			try_layout(layout, page, size, base, realtime, match);
	}
}

/* asm/vgtod.h before 4.7. */
static const char *const early_x86_names[VVAR_MODE_MAX] = {
	"none", "tsc", "hpet", "pvclock", "hvclock"};

/* include/vdso/clocksource.h and each architecture's asm/vdso/clocksource.h, 5.7-7.x. */
static const struct {
	unsigned arches;
	const char *names[VVAR_MODE_MAX];
} modes[] = {
	{VVAR_X86, {"none", "tsc", "pvclock", "hvclock"}},
	/* A 32-bit arm process may run on an arm64 kernel. */
	{VVAR_ARM64 | VVAR_ARM, {"none", "archtimer", "archtimer-nocompat"}},
	{VVAR_RISCV | VVAR_POWERPC, {"none", "archtimer"}},
	{VVAR_S390, {"none", "tod"}},
	{VVAR_LOONGARCH, {"none", "cpu"}},
	{VVAR_MIPS, {"none", "r4k", "gic"}},
};

/* 3.16-4.6 numbers modes the early way, 4.7-4.19 the late way, both in one layout. */
static const char *name_either(int64_t mode, const char *clocksource)
{
	if (strcmp(clocksource, "hpet") == 0)
		return mode == 2 ? "hpet" : "";
	if (strcmp(clocksource, "kvm-clock") == 0 || strcmp(clocksource, "xen") == 0)
		return "pvclock";
	return strncmp(clocksource, "hyperv", 6) == 0 ? "hvclock" : "";
}

const char *vvar_mode_name(
	const struct vvar_layout *layout, unsigned arch, int64_t mode, const char *clocksource)
{
	unsigned quirks = layout ? layout->quirks : 0;

	if (mode < 0 || mode >= VVAR_MODE_MAX)
		return "";
	if (quirks & VVAR_EARLY_MODES)
		return early_x86_names[mode];
	if (quirks & VVAR_EITHER_MODES && mode > 1)
		return name_either(mode, clocksource);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (modes[i].arches & arch)
			return modes[i].names[mode] ? modes[i].names[mode] : "";
	}
	return mode == VCLOCK_MODE_NONE ? "none" : "";
}
