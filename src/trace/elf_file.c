/* SPDX-License-Identifier: MIT */
/* Finds segments and functions in ELF files, by their offsets alone. */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "elf_file.h"

bool elf_file_start(struct elf_file *file, const unsigned char *bytes, size_t length)
{
	*file = (struct elf_file){bytes, length, false};
	if (length < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return false;
	file->narrow = bytes[EI_CLASS] == ELFCLASS32;
	return true;
}

bool elf_file_map(struct elf_file *file, int descriptor)
{
	struct stat status;
	void *bytes = MAP_FAILED;

	if (fstat(descriptor, &status) == 0 && status.st_size > 0)
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (bytes == MAP_FAILED)
		return false;
	if (elf_file_start(file, bytes, (size_t)status.st_size))
		return true;
	munmap(bytes, (size_t)status.st_size);
	return false;
}

void elf_file_unmap(const struct elf_file *file)
{
	munmap((void *)(uintptr_t)file->bytes, file->length);
}

uint64_t elf_file_number(const struct elf_file *file, uint64_t at, size_t size)
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

uint64_t elf_file_segment(const struct elf_file *file, uint32_t type, uint64_t previous)
{
	uint64_t at = ELF_READ(file, 0, Ehdr, e_phoff);

	for (uint64_t i = ELF_READ(file, 0, Ehdr, e_phnum); i; i--, at += ELF_SIZE(file, Phdr)) {
		if (at > previous && ELF_READ(file, at, Phdr, p_type) == type)
			return at;
	}
	return 0;
}

uint64_t elf_file_load(const struct elf_file *file)
{
	uint64_t first = elf_file_segment(file, PT_LOAD, 0);

	return first ? ELF_READ(file, first, Phdr, p_vaddr) - ELF_READ(file, first, Phdr, p_offset)
	             : 0;
}

static struct span read_name(const struct elf_file *file, uint64_t strings, uint64_t at)
{
	struct span name = {NULL, 0};

	if (strings < file->length && at < file->length - strings) {
		name.at = (const char *)file->bytes + strings + at;
		name.length = strnlen(name.at, file->length - (size_t)(strings + at));
	}
	return name;
}

uint64_t elf_file_section(const struct elf_file *file, const char *name)
{
	uint64_t sections = ELF_READ(file, 0, Ehdr, e_shoff);
	uint64_t names = sections + ELF_READ(file, 0, Ehdr, e_shstrndx) * ELF_SIZE(file, Shdr);
	uint64_t strings = ELF_READ(file, names, Shdr, sh_offset);

	for (uint64_t i = 0; i < ELF_READ(file, 0, Ehdr, e_shnum); i++) {
		uint64_t section = sections + i * ELF_SIZE(file, Shdr);
		uint64_t at = ELF_READ(file, section, Shdr, sh_name);

		if (text_equals(read_name(file, strings, at), name))
			return section;
	}
	return 0;
}

/* A name without an underscore in front wins if a function has several. */
static bool search(
	const struct elf_file *file, uint64_t sections, uint64_t section, struct elf_symbol *symbol)
{
	uint64_t at = ELF_READ(file, section, Shdr, sh_offset);
	uint64_t count = ELF_READ(file, section, Shdr, sh_size) / ELF_SIZE(file, Sym);
	uint64_t link = ELF_READ(file, section, Shdr, sh_link) * ELF_SIZE(file, Shdr);
	uint64_t strings = ELF_READ(file, sections + link, Shdr, sh_offset);
	struct elf_symbol found = {.address = 0};

	for (; count && at < file->length; count--, at += ELF_SIZE(file, Sym)) {
		struct span name;

		if ((ELF_READ(file, at, Sym, st_info) & 0xf) != STT_FUNC)
			continue;
		found.start = ELF_READ(file, at, Sym, st_value);
		found.size = ELF_READ(file, at, Sym, st_size);
		if (!symbol->name.length && symbol->address - found.start >= found.size)
			continue;
		name = read_name(file, strings, ELF_READ(file, at, Sym, st_name));
		if (symbol->name.length) {
			if (name.length != symbol->name.length ||
				memcmp(name.at, symbol->name.at, name.length) != 0)
				continue;
			symbol->start = found.start;
			symbol->size = found.size;
			return true;
		}
		if (name.length && (!found.name.length || *found.name.at == '_'))
			found.name = name;
	}
	symbol->name = found.name;
	return found.name.length;
}

bool elf_file_find(const struct elf_file *file, struct elf_symbol *symbol)
{
	static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
	uint64_t sections = ELF_READ(file, 0, Ehdr, e_shoff);
	uint64_t count = ELF_READ(file, 0, Ehdr, e_shnum);
	struct elf_symbol wanted = *symbol;

	for (size_t k = 0; k < 2; k++) {
		for (uint64_t i = 0; i < count; i++) {
			uint64_t section = sections + i * ELF_SIZE(file, Shdr);

			*symbol = wanted;
			if (ELF_READ(file, section, Shdr, sh_type) == types[k] &&
				search(file, sections, section, symbol))
				return true;
		}
	}
	return false;
}
