/* SPDX-License-Identifier: MIT */
/* Makes vDSO images in memory, as linkers lay them out, for elf_image to read. */
#ifndef VDSOCHECK_TESTS_ELF_BUILDER_H
#define VDSOCHECK_TESTS_ELF_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILDER_SIZE 2048

struct elf_plan {
	bool hash;
	bool gnu_hash;
	bool versions;
	uint32_t gnu_buckets;
	uintptr_t linked_at; /* virtual address of the first byte: old vDSOs are prelinked */
};

/*
 * Symbols: an undefined one, __vdso_clock_gettime, __vdso_gettimeofday with its weak alias
 * gettimeofday, __vdso_time without a type, __vdso_data (an object), LINUX_2.6 (absolute) and
 * __vdso_getcpu. All are of version LINUX_2.6. Returns the bytes used.
 */
size_t elf_builder_make(const struct elf_plan *plan, unsigned char image[ELF_BUILDER_SIZE]);

/* The offset of the code of an exported function, by its place among those elf_image lists. */
size_t elf_builder_code(size_t export);

#endif
