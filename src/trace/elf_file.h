/* SPDX-License-Identifier: MIT */
/*
 * Reads ELF files of both word sizes, and of this machine's byte order. They are distrusted: what
 * is behind the end of the file is read as 0, and each walk is bounded by its length.
 */
#ifndef VDSOCHECK_TRACE_ELF_FILE_H
#define VDSOCHECK_TRACE_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct elf_file {
	const unsigned char *bytes;
	size_t length;
	bool narrow; /* ELFCLASS32 */
};

/* False if it is not an ELF file. */
bool elf_file_start(struct elf_file *file, const unsigned char *bytes, size_t length);

/* Maps an open file, which may shrink while it is read: for a child. */
bool elf_file_map(struct elf_file *file, int descriptor);
void elf_file_unmap(const struct elf_file *file);

/* A number of 1, 2, 4 or 8 bytes. */
uint64_t elf_file_number(const struct elf_file *file, uint64_t at, size_t size);

/* The member of a struct that is called Elf64_TYPE and Elf32_TYPE, at this offset of the file. */
#define ELF_READ(file, at, type, member)                                                           \
	((file)->narrow ? elf_file_number(file, (at) + offsetof(Elf32_##type, member),             \
				  sizeof(((Elf32_##type *)0)->member))                             \
			: elf_file_number(file, (at) + offsetof(Elf64_##type, member),             \
				  sizeof(((Elf64_##type *)0)->member)))
#define ELF_SIZE(file, type) ((file)->narrow ? sizeof(Elf32_##type) : sizeof(Elf64_##type))

/* The offset of the next program header of this type, from the first one or after `previous`; 0:
 * none. */
uint64_t elf_file_segment(const struct elf_file *file, uint32_t type, uint64_t previous);

/* The offset of the header of a section; 0: there is none. */
uint64_t elf_file_section(const struct elf_file *file, const char *name);

/* The address that the first loaded byte is linked for. */
uint64_t elf_file_load(const struct elf_file *file);

/* A function: the name, where it is looked for by an address in it, or the other way round. */
struct elf_symbol {
	struct span name;
	uint64_t address;
	uint64_t start, size;
};

/*
 * Finds the function by .symtab or else .dynsym: the one with the name, or if that is empty, the
 * one that the address is in. False if there is none.
 */
bool elf_file_find(const struct elf_file *file, struct elf_symbol *symbol);

#endif
