/* SPDX-License-Identifier: MIT */
/*
 * Reads ELF files and images of both word sizes, and of this machine's byte order. They are
 * distrusted: what is behind the end is read as 0, and each walk is bounded by the length.
 */
#ifndef VDSOCHECK_BASE_ELF_H
#define VDSOCHECK_BASE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct elf {
	const unsigned char *bytes;
	size_t length;
	bool narrow;   /* ELFCLASS32 */
	uint64_t load; /* the address that the first byte is linked for */
};

/* Returns false if it is not an ELF file or does not have all of its program headers. */
bool elf_start(struct elf *elf, const unsigned char *bytes, size_t length);

/*
 * Maps an open file, until the process ends. To be called in a child: reading a file that shrank
 * raises SIGBUS.
 */
bool elf_map(struct elf *elf, int descriptor);

/* Returns a number of 1, 2, 4 or 8 bytes. */
uint64_t elf_number(const struct elf *elf, uint64_t at, size_t size);

/* Reads a member of a struct that is called Elf64_TYPE and Elf32_TYPE, at this offset. */
#define ELF_READ(elf, at, type, member)                                                            \
	((elf)->narrow ? elf_number(elf, (at) + offsetof(Elf32_##type, member),                    \
				 sizeof(((Elf32_##type *)0)->member))                              \
		       : elf_number(elf, (at) + offsetof(Elf64_##type, member),                    \
				 sizeof(((Elf64_##type *)0)->member)))
#define ELF_SIZE(elf, type) ((elf)->narrow ? sizeof(Elf32_##type) : sizeof(Elf64_##type))

/* Returns the name at this place of a table of names; empty if that lies outside the file. */
struct span elf_name(const struct elf *elf, uint64_t names, uint64_t at);

/*
 * Returns the offset of the first program header of this type, or of the next one after `previous`.
 * 0: there is none.
 */
uint64_t elf_segment(const struct elf *elf, uint32_t type, uint64_t previous);

/* Returns the offset of the byte that is loaded at an address; 0: there is none. */
uint64_t elf_offset(const struct elf *elf, uint64_t address);

/* Returns the end of the last loaded segment: an image in memory has no more. 0: none is loaded. */
uint64_t elf_extent(const struct elf *elf);

/* Returns the offset of the header of a section; 0: there is none. */
uint64_t elf_section(const struct elf *elf, const char *name);

/* These are the offsets of the tables that the dynamic section names, 0 for those it lacks. */
struct elf_dynamic {
	uint64_t symbols, count; /* the count is 0 without a hash table that fits the image */
	uint64_t names;
	uint64_t versions, version_definitions;
	uint64_t soname; /* in the names */
};

/* Returns false without symbols and their names. All `count` symbols lie within the image. */
bool elf_read_dynamic(const struct elf *elf, struct elf_dynamic *dynamic);

/* Returns what a note of GNU's tools has, by its type: NT_GNU_ABI_TAG. Empty: there is none. */
struct span elf_note(const struct elf *elf, uint32_t type);

struct elf_function {
	uint64_t start, size; /* address, and bytes */
	struct span name;
};

/* A walk over the functions of .symtab. */
struct elf_functions {
	uint64_t at, count, names;
};

void elf_functions_start(const struct elf *elf, struct elf_functions *functions);
bool elf_functions_next(
	const struct elf *elf, struct elf_functions *functions, struct elf_function *function);

#endif
