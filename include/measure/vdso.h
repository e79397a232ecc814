/* SPDX-License-Identifier: MIT */
/*
 * Finds the vDSO of this process, its exports, and the clock mode that the kernel wrote into the
 * data page which it reads. Only a direct load reaches that page.
 */
#ifndef VDSOCHECK_MEASURE_VDSO_H
#define VDSOCHECK_MEASURE_VDSO_H

#include "base/root.h"
#include "base/time.h"
#include "evidence.h"

/* The place of the image, in addresses of this process and its children. */
struct vdso_image {
	uintptr_t base;                  /* 0: the process has none */
	size_t size;                     /* bytes of the mapping */
	bool replaced;                   /* a tool's own: no data page lies beside it */
	size_t offsets[VDSO_EXPORT_MAX]; /* offsets of vdso_evidence's exports, in their order */
};

/*
 * Finds the image through the auxiliary vector (AT_SYSINFO_EHDR) and lists its exports.
 * /proc/self/maps below the root has the size, and shows whether the image is the kernel's own;
 * without it the ELF headers have the size. With a root that is not live, *image is left without a
 * vDSO: a captured tree has none.
 */
void vdso_collect(const struct root *root, struct vdso_evidence *vdso, struct vdso_image *image);

/*
 * Takes the prefix off the name of an export, "__vdso_" or "__kernel_" by architecture. Returns
 * false where it has none.
 */
bool vdso_take_prefix(struct span *export);

/* A mapping of a process, as in /proc/PID/maps. */
struct mapping {
	uint64_t start;
	uint64_t end; /* first byte after it */
	bool readable, writable, executable;
	bool is_shared;  /* what is written to it is written to the file */
	bool is_vdso;    /* named [vdso] by the kernel, which mapped it */
	uint64_t offset; /* in the file */
	uint64_t inode;  /* of the file; 0: none, or not known */
	struct span path;
};

/* Takes the next mapping; lines that make no sense are skipped. Returns false at the end. */
bool maps_next(struct span *maps, struct mapping *mapping);

/* ---- its data page ---- */

/*
 * Reads the mode around this process's vDSO, following a time namespace to the real page.
 * `clocksource` is the current one's name, "" if unknown: it decides which hypervisor page is read
 * and what a number means. Accepts exactly one layout in one place; otherwise vclock->fact has the
 * reason and vclock->how stays unknown. Where a seccomp filter may kill for the system calls in
 * between, a child does it (child_probe()).
 */
void vvar_collect(const struct vdso_image *vdso, const char *clocksource,
	struct vclock_evidence *vclock, const struct deadline *deadline);

/*
 * Loads the mode again from vclock->at, in this process. Returns false where it was not found
 * before, or where the page has gone.
 */
bool vvar_read_again(
	const struct vdso_image *vdso, const struct vclock_evidence *vclock, int64_t *mode);

/*
 * The pages around a vDSO image that may hold its data: [vvar] lies before the image (x86 since
 * 3.17, arm64, newer kernels everywhere: up to four pages of [vvar], two of [vvar_vclock], or
 * per-CPU pages on loongarch) or right after it (x86 3.16, riscv and s390 before 5.11).
 */
#define VVAR_PAGES_BEFORE 16
#define VVAR_PAGES_AFTER 4

/* Bytes at the start of a page that can hold the mode in any layout, powerpc's included. */
#define VVAR_HEAD_SIZE 4096

/*
 * The offset of the flags in struct pvclock_vcpu_time_info (asm/pvclock-abi.h, 3.10 to 7.x), and
 * the bit that allows the vDSO to use the page. The first word of Hyper-V's page (TLFS,
 * HV_REFERENCE_TSC_PAGE) is the sequence: 0 forbids it.
 */
#define VVAR_PVCLOCK_FLAGS 29
#define VVAR_PVCLOCK_STABLE 1

/*
 * Copies at most VVAR_HEAD_SIZE bytes of a page that the kernel may be updating, until two copies
 * in a row are equal. Returns false if the page cannot be read or never rests.
 */
bool vvar_copy_stable(uintptr_t from, unsigned char *to, size_t size);

#endif
