/* SPDX-License-Identifier: MIT */
/* The vDSO of this process: where the kernel put it and what it exports. */
#ifndef VDSOCHECK_MEASURE_VDSO_H
#define VDSOCHECK_MEASURE_VDSO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/root.h"
#include "base/text.h"
#include "evidence.h"

/* The place of the image: addresses of this process, which its children share. */
struct vdso_image {
	uintptr_t base;                  /* 0: there is no vDSO */
	size_t size;                     /* bytes of the mapping */
	bool replaced;                   /* a tool's own: no data page lies beside it */
	size_t offsets[VDSO_EXPORT_MAX]; /* of vdso_evidence's exports, in the same order */
};

/*
 * Finds the image through the auxiliary vector (AT_SYSINFO_EHDR) and lists its exports. The
 * root gives /proc/self/maps, for the size, and to see whether the image is the kernel's own;
 * without it the ELF headers give the size. With a root that is not live, *image is left without a
 * vDSO: a captured tree has none.
 */
void vdso_collect(const struct root *root, struct vdso_evidence *vdso, struct vdso_image *image);

/* A mapping of a process, as in /proc/PID/maps. */
struct mapping {
	uintptr_t start;
	uintptr_t end; /* first byte after it */
	bool readable;
	bool is_vdso; /* named [vdso] by the kernel, which mapped it */
};

/* Takes the next mapping; lines that make no sense are skipped. False: there are no more. */
bool maps_next(struct span *maps, struct mapping *mapping);

#endif
