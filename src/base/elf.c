/* SPDX-License-Identifier: MIT */
/* Finds segments, tables and functions, whose places are their offsets in the file or image. */
#include "base/elf.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/memory.h"

bool elf_start(struct elf *elf, const unsigned char *bytes, size_t length)
{
	uint64_t headers, size, first;

	*elf = (struct elf){.bytes = bytes, .length = length};
	if (length < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return false;
	elf->narrow = bytes[EI_CLASS] == ELFCLASS32;
	headers = ELF_READ(elf, 0, Ehdr, e_phoff);
	size = ELF_READ(elf, 0, Ehdr, e_phnum) * ELF_SIZE(elf, Phdr);
	if (headers > length || size > length - headers)
		return false;
	first = elf_segment(elf, PT_LOAD, 0);
	if (first)
		elf->load =
			ELF_READ(elf, first, Phdr, p_vaddr) - ELF_READ(elf, first, Phdr, p_offset);
	return true;
}

bool elf_map(struct elf *elf, int descriptor)
{
	struct stat status;
	void *bytes = MAP_FAILED;

	if (fstat(descriptor, &status) == 0 && status.st_size > 0)
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (bytes == MAP_FAILED)
		return false;
	if (elf_start(elf, bytes, (size_t)status.st_size))
		return true;
	munmap(bytes, (size_t)status.st_size);
	return false;
}

uint64_t elf_number(const struct elf *elf, uint64_t at, size_t size)
{
	return bytes_load(elf->bytes, elf->length, at, size);
}

struct span elf_name(const struct elf *elf, uint64_t names, uint64_t at)
{
	struct span name = {NULL, 0};

	if (names < elf->length && at < elf->length - names) {
		name.at = (const char *)elf->bytes + names + at;
		name.length = strnlen(name.at, elf->length - (size_t)(names + at));
	}
	return name;
}

uint64_t elf_segment(const struct elf *elf, uint32_t type, uint64_t previous)
{
	uint64_t first = ELF_READ(elf, 0, Ehdr, e_phoff);
	uint64_t end = first + ELF_READ(elf, 0, Ehdr, e_phnum) * ELF_SIZE(elf, Phdr);
	uint64_t at = previous ? previous + ELF_SIZE(elf, Phdr) : first;

	for (; at < end; at += ELF_SIZE(elf, Phdr)) {
		if (ELF_READ(elf, at, Phdr, p_type) == type)
			return at;
	}
	return 0;
}

uint64_t elf_offset(const struct elf *elf, uint64_t address)
{
	for (uint64_t at = 0; (at = elf_segment(elf, PT_LOAD, at));) {
		uint64_t distance = address - ELF_READ(elf, at, Phdr, p_vaddr);
		uint64_t offset = ELF_READ(elf, at, Phdr, p_offset) + distance;

		if (distance < ELF_READ(elf, at, Phdr, p_filesz))
			return offset < elf->length ? offset : 0;
	}
	return 0;
}

uint64_t elf_extent(const struct elf *elf)
{
	uint64_t extent = 0, end;

	for (uint64_t at = 0; (at = elf_segment(elf, PT_LOAD, at));) {
		if (__builtin_add_overflow(ELF_READ(elf, at, Phdr, p_offset),
			    ELF_READ(elf, at, Phdr, p_filesz), &end))
			return 0;
		extent = end > extent ? end : extent;
	}
	return extent;
}

/* DT_GNU_HASH has no count: the last symbol is at the end of the last bucket's chain. */
static uint64_t count_by_gnu_hash(const struct elf *elf, uint64_t table)
{
	uint64_t first = elf_number(elf, table + 4, 4), last = 0;
	uint64_t bloom_words = elf_number(elf, table + 8, 4);
	uint64_t at = table + 16 + bloom_words * (elf->narrow ? 4 : 8);
	uint64_t chains = at + elf_number(elf, table, 4) * 4;

	for (; at < chains && at < elf->length; at += 4) {
		uint64_t bucket = elf_number(elf, at, 4);

		last = bucket > last ? bucket : last;
	}
	if (last < first)
		return first;
	/* Chain words begin with the first hashed symbol; the last of a chain is odd. */
	for (at = chains + (last - first) * 4; at < elf->length; at += 4) {
		last++;
		if (elf_number(elf, at, 4) & 1)
			return last;
	}
	return 0;
}

bool elf_read_dynamic(const struct elf *elf, struct elf_dynamic *dynamic)
{
	/* The ABI of 64-bit s390 has wide words in DT_HASH; all others have 32 bits. */
	bool is_wide = ELF_READ(elf, 0, Ehdr, e_machine) == EM_S390 && !elf->narrow;
	uint64_t segment = elf_segment(elf, PT_DYNAMIC, 0), tag;
	uint64_t at = ELF_READ(elf, segment, Phdr, p_offset);
	uint64_t names_size = 0, hash = 0, gnu_hash = 0;

	*dynamic = (struct elf_dynamic){0};
	for (; segment && (tag = ELF_READ(elf, at, Dyn, d_tag)); at += ELF_SIZE(elf, Dyn)) {
		uint64_t value = ELF_READ(elf, at, Dyn, d_un.d_val);
		uint64_t offset = elf_offset(elf, value);

		if (tag == DT_SYMTAB)
			dynamic->symbols = offset;
		else if (tag == DT_STRTAB)
			dynamic->names = offset;
		else if (tag == DT_STRSZ)
			names_size = value;
		else if (tag == DT_HASH)
			hash = offset;
		else if (tag == DT_GNU_HASH)
			gnu_hash = offset;
		else if (tag == DT_VERSYM)
			dynamic->versions = offset;
		else if (tag == DT_VERDEF)
			dynamic->version_definitions = offset;
		else if (tag == DT_SONAME)
			dynamic->soname = value;
	}
	if (!dynamic->symbols || !dynamic->names || names_size > elf->length - dynamic->names)
		return false;
	if (gnu_hash)
		dynamic->count = count_by_gnu_hash(elf, gnu_hash);
	else if (hash) /* it has as many chain words as there are symbols */
		dynamic->count = elf_number(elf, hash + (is_wide ? 8 : 4), is_wide ? 8 : 4);
	if (dynamic->count > (elf->length - dynamic->symbols) / ELF_SIZE(elf, Sym))
		dynamic->count = 0;
	return true;
}

uint64_t elf_section(const struct elf *elf, const char *name)
{
	uint64_t sections = ELF_READ(elf, 0, Ehdr, e_shoff);
	uint64_t names = sections + ELF_READ(elf, 0, Ehdr, e_shstrndx) * ELF_SIZE(elf, Shdr);
	uint64_t strings = ELF_READ(elf, names, Shdr, sh_offset);

	for (uint64_t i = 0; i < ELF_READ(elf, 0, Ehdr, e_shnum); i++) {
		uint64_t section = sections + i * ELF_SIZE(elf, Shdr);
		uint64_t at = ELF_READ(elf, section, Shdr, sh_name);

		if (text_equals(elf_name(elf, strings, at), name))
			return section;
	}
	return 0;
}

/* Notes have their sizes and type, a name and a description, each aligned to four bytes. */
struct span elf_note(const struct elf *elf, uint32_t type)
{
	static const struct elf gnu = {.bytes = (const unsigned char *)"GNU", .length = 4};

	for (uint64_t segment = 0; (segment = elf_segment(elf, PT_NOTE, segment));) {
		uint64_t at = ELF_READ(elf, segment, Phdr, p_offset);
		uint64_t size = ELF_READ(elf, segment, Phdr, p_filesz);
		uint64_t end = size < elf->length - at ? at + size : elf->length;

		while (at < end && end <= elf->length) {
			uint64_t name = elf_number(elf, at, 4), length = elf_number(elf, at + 4, 4);
			uint64_t content = at + 12 + (name + 3) / 4 * 4;

			if (elf_number(elf, at + 8, 4) == type &&
				elf_number(elf, at + 12, 4) == elf_number(&gnu, 0, 4) &&
				content < end && length <= end - content)
				return (struct span){
					(const char *)elf->bytes + content, (size_t)length};
			at = content + (length + 3) / 4 * 4;
		}
	}
	return (struct span){NULL, 0};
}

void elf_functions_start(const struct elf *elf, struct elf_functions *functions)
{
	uint64_t section = elf_section(elf, ".symtab");
	uint64_t sections = ELF_READ(elf, 0, Ehdr, e_shoff);
	uint64_t link = ELF_READ(elf, section, Shdr, sh_link) * ELF_SIZE(elf, Shdr);

	*functions = (struct elf_functions){.at = 0};
	if (!section)
		return;
	functions->at = ELF_READ(elf, section, Shdr, sh_offset);
	functions->count = ELF_READ(elf, section, Shdr, sh_size) / ELF_SIZE(elf, Sym);
	functions->names = ELF_READ(elf, sections + link, Shdr, sh_offset);
}

bool elf_functions_next(
	const struct elf *elf, struct elf_functions *functions, struct elf_function *function)
{
	uint64_t at = functions->at;

	for (; functions->count && at < elf->length; at += ELF_SIZE(elf, Sym)) {
		functions->count--;
		if ((ELF_READ(elf, at, Sym, st_info) & 0xf) != STT_FUNC)
			continue;
		function->start = ELF_READ(elf, at, Sym, st_value);
		function->size = ELF_READ(elf, at, Sym, st_size);
		function->name = elf_name(elf, functions->names, ELF_READ(elf, at, Sym, st_name));
		functions->at = at + ELF_SIZE(elf, Sym);
		return true;
	}
	return false;
}
