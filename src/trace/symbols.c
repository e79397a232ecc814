/* SPDX-License-Identifier: MIT */
/*
 * Finds the function that holds an address in an ELF file, by .symtab or else .dynsym. The file is
 * distrusted: each offset is held against its length. Every table that is needed has the fields of
 * both word sizes in other places, so a field is read by its two offsets.
 */
#include <elf.h>
#include <string.h>

#include "served.h"

struct elf_file {
	const unsigned char *bytes;
	size_t length;
	bool narrow; /* ELFCLASS32 */
};

/* A number of `size` bytes of this machine's byte order; 0 where the file ends before. */
static uint64_t read_number(const struct elf_file *file, uint64_t at, size_t size)
{
	uint64_t wide;
	uint32_t narrow;
	uint16_t half;

	if (at > file->length || file->length - at < size)
		return 0;
	switch (size) {
	case 1:
		return file->bytes[at];
	case sizeof(half):
		memcpy(&half, file->bytes + at, sizeof(half));
		return half;
	case sizeof(narrow):
		memcpy(&narrow, file->bytes + at, sizeof(narrow));
		return narrow;
	default:
		memcpy(&wide, file->bytes + at, sizeof(wide));
		return wide;
	}
}

/* The member of a struct that is called Elf64_TYPE and Elf32_TYPE, at this offset of the file. */
#define READ(file, at, type, member)                                                               \
	((file)->narrow ? read_number(file, (at) + offsetof(Elf32_##type, member),                 \
				  sizeof(((Elf32_##type *)0)->member))                             \
			: read_number(file, (at) + offsetof(Elf64_##type, member),                 \
				  sizeof(((Elf64_##type *)0)->member)))
#define SIZE(file, type) ((file)->narrow ? sizeof(Elf32_##type) : sizeof(Elf64_##type))

/* The address that the first loaded byte is linked for. */
static uint64_t find_load(const struct elf_file *file)
{
	uint64_t at = READ(file, 0, Ehdr, e_phoff);

	for (uint64_t i = READ(file, 0, Ehdr, e_phnum); i; i--, at += SIZE(file, Phdr)) {
		if (READ(file, at, Phdr, p_type) == PT_LOAD)
			return READ(file, at, Phdr, p_vaddr) - READ(file, at, Phdr, p_offset);
	}
	return 0;
}

static struct span read_name(const struct elf_file *file, uint64_t strings, uint64_t at)
{
	struct span rest = {NULL, 0};

	if (strings < file->length && at < file->length - strings) {
		rest.at = (const char *)file->bytes + strings + at;
		rest.length = strnlen(rest.at, file->length - (size_t)(strings + at));
	}
	return rest;
}

/* Of several names for one function, one without an underscore in front is taken. */
static void search(const struct elf_file *file, uint64_t section, uint64_t sections,
	uint64_t address, struct span *function)
{
	uint64_t at = READ(file, section, Shdr, sh_offset);
	uint64_t count = READ(file, section, Shdr, sh_size) / SIZE(file, Sym);
	uint64_t strings = READ(file,
		sections + READ(file, section, Shdr, sh_link) * SIZE(file, Shdr), Shdr, sh_offset);

	for (; count && at < file->length; count--, at += SIZE(file, Sym)) {
		uint64_t type = READ(file, at, Sym, st_info) & 0xf;
		uint64_t start = READ(file, at, Sym, st_value);
		struct span name;

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || address < start ||
			address - start >= READ(file, at, Sym, st_size))
			continue;
		name = read_name(file, strings, READ(file, at, Sym, st_name));
		if (name.length && (!function->length || *function->at == '_'))
			*function = name;
	}
}

void symbols_find(const unsigned char *bytes, size_t length, uint64_t relative, uint64_t *address,
	struct span *function)
{
	struct elf_file file = {bytes, length, false};
	uint64_t sections, count;

	if (length < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return;
	file.narrow = bytes[EI_CLASS] == ELFCLASS32;
	*address = relative + find_load(&file);
	sections = READ(&file, 0, Ehdr, e_shoff);
	count = READ(&file, 0, Ehdr, e_shnum);
	for (uint32_t type = SHT_SYMTAB; !function->length; type = SHT_DYNSYM) {
		for (uint64_t i = 0; i < count; i++) {
			uint64_t section = sections + i * SIZE(&file, Shdr);

			if (READ(&file, section, Shdr, sh_type) == type)
				search(&file, section, sections, *address, function);
		}
		if (type == SHT_DYNSYM)
			break;
	}
}
