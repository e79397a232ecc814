/* SPDX-License-Identifier: MIT */
/*
 * Reads what a vDSO exports from its ELF image in memory. The image is distrusted: every
 * offset it names is held against its size, whatever kernel, sandbox or emulator made it.
 */
#ifndef VDSOCHECK_MEASURE_ELF_IMAGE_H
#define VDSOCHECK_MEASURE_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "evidence.h"

/*
 * The bytes that the image's loadable segments take, from its headers alone: for when no
 * /proc/self/maps gives the size. Only the first `size` bytes are looked at. 0 if it is no
 * ELF image of this machine's word size.
 */
size_t elf_image_extent(const unsigned char *image, size_t size);

/*
 * Lists the exported functions of the image of `size` bytes into vdso->exports, with each one's
 * offset in the image, and its soname. Understands DT_GNU_HASH and DT_HASH. False, with the
 * reason in vdso->fact, if the image makes no sense.
 */
bool elf_image_read(const unsigned char *image, size_t size, struct vdso_evidence *vdso,
	size_t offsets[VDSO_EXPORT_MAX]);

#endif
