/* SPDX-License-Identifier: MIT */
/* Finds segments and functions in ELF files, whose parts are known by their offsets. */
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
	const bool is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint64_t number = 0;

	if (at > file->length || file->length - at < size)
		return 0;
	memcpy((unsigned char *)&number + (is_big_endian ? sizeof(number) - size : 0),
		file->bytes + at, size);
	return number;
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

/* Of several names of a function, one without an underscore in front is taken. */
static bool search(const struct elf_file *file, uint64_t section, struct elf_symbol *symbol)
{
	uint64_t at = ELF_READ(file, section, Shdr, sh_offset);
	uint64_t count = ELF_READ(file, section, Shdr, sh_size) / ELF_SIZE(file, Sym);
	uint64_t link = ELF_READ(file, section, Shdr, sh_link) * ELF_SIZE(file, Shdr);
	uint64_t sections = ELF_READ(file, 0, Ehdr, e_shoff);
	uint64_t strings = ELF_READ(file, sections + link, Shdr, sh_offset);
	struct span found = {NULL, 0};

	for (; count && at < file->length; count--, at += ELF_SIZE(file, Sym)) {
		uint64_t start = ELF_READ(file, at, Sym, st_value);
		uint64_t size = ELF_READ(file, at, Sym, st_size);
		struct span name;

		if ((ELF_READ(file, at, Sym, st_info) & 0xf) != STT_FUNC ||
			(!symbol->name.length && symbol->address - start >= size))
			continue;
		name = read_name(file, strings, ELF_READ(file, at, Sym, st_name));
		if (!symbol->name.length) {
			if (name.length && (!found.length || *found.at == '_'))
				found = name;
		} else if (name.length == symbol->name.length &&
			   memcmp(name.at, symbol->name.at, name.length) == 0) {
			symbol->start = start;
			symbol->size = size;
			return true;
		}
	}
	if (found.length)
		symbol->name = found;
	return found.length;
}

bool elf_file_find(const struct elf_file *file, struct elf_symbol *symbol)
{
	static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
	uint64_t section = ELF_READ(file, 0, Ehdr, e_shoff);
	uint64_t end = section + ELF_READ(file, 0, Ehdr, e_shnum) * ELF_SIZE(file, Shdr);

	for (size_t k = 0; k < 2; k++) {
		for (uint64_t at = section; at < end; at += ELF_SIZE(file, Shdr)) {
			if (ELF_READ(file, at, Shdr, sh_type) == types[k] &&
				search(file, at, symbol))
				return true;
		}
	}
	return false;
}
