/* SPDX-License-Identifier: MIT */
/*
 * The layouts that kernels gave to the data page which the vDSO reads. It is private to
 * each kernel and distributions backport changes, so no layout is chosen by version: all of
 * the machine's are tried, and what lies around the clock mode shows which one it is.
 */
#ifndef VDSOCHECK_MEASURE_VVAR_LAYOUT_H
#define VDSOCHECK_MEASURE_VVAR_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VVAR_MODE_MAX 5

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

/* The architecture that this binary was built for; 0: one without layouts here. */
extern const unsigned vvar_native_arch;

enum vvar_quirk {
	VVAR_PLAIN = 0,
	/* The field says 1 where every call has to enter the kernel: the mode's opposite. */
	VVAR_MODE_INVERTED = 1 << 0,
	/* A 16-bit mode and 32-bit seconds. */
	VVAR_NARROW = 1 << 1,
	/* No monotonic coarse time but the offset from REALTIME to it (wall_to_monotonic). */
	VVAR_MONOTONIC_BY_OFFSET = 1 << 2,
	/* It begins anywhere in the page: at the end of an arch structure of varying size. */
	VVAR_SCANNED = 1 << 3,
	/* x86 up to 4.6 and RHEL 7: 2 is HPET and 3 pvclock; 4.7 on: 2 is pvclock, 3 Hyper-V. */
	VVAR_EARLY_MODES = 1 << 4,
	VVAR_EITHER_MODES = 1 << 5,
};

/* The places of the pages of the hypervisors' clocks. */
enum vvar_clock_pages {
	VVAR_NO_CLOCK_PAGES,
	VVAR_CLOCK_PAGES_AFTER_DATA,  /* pages 1 and 2 of [vvar] */
	VVAR_CLOCK_PAGES_BEFORE_VDSO, /* [vvar_vclock], which ends where the vDSO begins */
};

struct vvar_layout {
	const char *name; /* architecture and kernels, as shown to people */
	unsigned arches;
	unsigned quirks;
	enum vvar_clock_pages clock_pages;
	/* Byte offsets from the start of the page. */
	uint16_t seq;
	uint16_t mode;
	uint16_t realtime;         /* seconds, updated in every mode */
	uint16_t realtime_coarse;  /* seconds that CLOCK_REALTIME_COARSE returns */
	uint16_t monotonic_coarse; /* the same for CLOCK_MONOTONIC_COARSE, or the offset */
};

/* Seconds that the coarse clocks returned, by system call, around the copy of the page. */
struct vvar_reference {
	int64_t realtime[2];  /* before, after */
	int64_t monotonic[2]; /* before, after */
};

struct vvar_match {
	const struct vvar_layout *layout;
	int64_t mode;
	uint16_t mode_at; /* bytes from the start of the page */
	unsigned matches; /* how many layouts fit: believe the mode only if it is one */
};

/*
 * Tries all layouts of `arch` on the `size` bytes from the start of a page, copied while its
 * sequence stood still. Inside a time namespace `timens` is the page in front of the real
 * one, of the same size: it holds what the namespace adds to the monotonic clocks; else NULL.
 */
void vvar_layout_find(const unsigned char *page, const unsigned char *timens, size_t size,
	unsigned arch, const struct vvar_reference *reference, struct vvar_match *match);

/* The mode in the four bytes that hold it, by the layout of this name; false: no such layout. */
bool vvar_layout_mode(const char *name, const unsigned char *bytes, int64_t *mode);

/* True if the bytes are the page that a time namespace puts in front of the real one (5.6+). */
bool vvar_layout_is_timens(const unsigned char *page, size_t size, unsigned arch);

/*
 * The name of a clock mode, "" if it has none here; layout NULL: one of a kernel newer than these.
 * Numbers 2 and 3 of x86 changed their meaning in 4.7: where the layout does not settle it, the
 * current clocksource does.
 */
const char *vvar_mode_name(
	const struct vvar_layout *layout, unsigned arch, int64_t mode, const char *clocksource);

/* The name of the layout at this place of the table; NULL beyond the last. */
const char *vvar_layout_name(size_t place);

#endif
