/* SPDX-License-Identifier: MIT */
/*
 * Declares the layouts that kernels gave to the data page which the vDSO reads. It is private to
 * each kernel and distributions backport changes, so no layout is chosen by version: all of the
 * machine's are tried, and the seconds beside the clock mode show which one it is.
 */
#ifndef VDSOCHECK_MEASURE_VVAR_LAYOUT_H
#define VDSOCHECK_MEASURE_VVAR_LAYOUT_H

#include "measure/vdso.h"

/* Modes are numbers below this one. */
#define VVAR_MODE_MAX 5

/* Architectures, a bit each. */
enum vvar_arch {
	VVAR_X86 = 1 << 0,
	VVAR_ARM64 = 1 << 1,
	VVAR_ARM = 1 << 2,
	VVAR_RISCV = 1 << 3,
	VVAR_S390 = 1 << 4,
	VVAR_POWERPC = 1 << 5,
	VVAR_LOONGARCH = 1 << 6,
	VVAR_MIPS = 1 << 7,
};

/* The architecture that this binary was built for; 0: it has no layouts here. */
extern const unsigned vvar_native_arch;

/* Properties of a layout, a bit each. */
enum vvar_quirk {
	/* The field is 1 where every call enters the kernel: the mode's opposite. */
	VVAR_MODE_INVERTED = 1 << 0,
	/* A 16-bit mode and 32-bit seconds. */
	VVAR_NARROW = 1 << 1,
	/* The layout begins anywhere in the page: behind an arch structure of varying size. */
	VVAR_SCANNED = 1 << 2,
	/* x86 up to 4.6 and RHEL 7: 2 is HPET and 3 pvclock; 4.7 on: 2 is pvclock, 3 Hyper-V. */
	VVAR_EARLY_MODES = 1 << 3,
	VVAR_EITHER_MODES = 1 << 4,
	/*
	 * The pages of the hypervisors' clocks are pages 1 and 2 of [vvar] (vdso-layout.lds.S of
	 * x86, 4.7-6.12; before, page 1 is the HPET's), or [vvar_vclock], which ends where the vDSO
	 * begins (asm/vdso/vsyscall.h, 6.13-7.x).
	 */
	VVAR_CLOCKS_AFTER_DATA = 1 << 5,
	VVAR_CLOCKS_BEFORE_VDSO = 1 << 6,
};

struct vvar_layout {
	const char *name; /* architecture and kernels, as shown to people */
	unsigned arches;
	unsigned quirks;
	/* Byte offsets from the start of the page. */
	uint16_t seq;
	uint16_t mode;
	uint16_t realtime;        /* seconds, updated in every mode */
	uint16_t realtime_coarse; /* seconds that CLOCK_REALTIME_COARSE returns */
};

/* The layout that fits a page. */
struct vvar_match {
	const struct vvar_layout *layout;
	int64_t mode;
	uint16_t mode_at; /* bytes from the start of the page */
	unsigned matches; /* number of layouts that fit: the mode is believed only if it is 1 */
	bool timens;      /* the page is the one that a time namespace puts in front of it (5.6+) */
};

/*
 * Tries all layouts of `arch` on the `size` bytes from the start of a page, copied while its
 * sequence stood still. `realtime` are the seconds of CLOCK_REALTIME_COARSE, by system call, before
 * and after the copy.
 */
void vvar_layout_find(const unsigned char *page, size_t size, unsigned arch,
	const int64_t realtime[2], struct vvar_match *match);

/* Reads the mode from its four bytes in the layout of this name. Returns false without a layout. */
bool vvar_layout_mode(const char *name, const unsigned char *bytes, int64_t *mode);

/*
 * Returns the name of a clock mode, "" if it has none here; layout NULL: one of a kernel newer than
 * these. Numbers 2 and 3 of x86 changed their meaning in 4.7: where the layout does not settle it,
 * the current clocksource does.
 */
const char *vvar_mode_name(
	const struct vvar_layout *layout, unsigned arch, int64_t mode, const char *clocksource);

#endif
