/* SPDX-License-Identifier: MIT */
/*
 * The copy of the vDSO's image that a program finds its functions in. Only the values of symbols
 * change: those of the counted calls lead to stubs behind the image, the others to the real vDSO.
 * So no code of the copy is ever run but the stubs, and the data page is read by the real vDSO.
 */
#include <string.h>

#include "base/memory.h"
#include "elf_file.h"
#include "served.h"

#define PAGE SERVED_PAGE
#define IMAGE_MAX (64 * (uint64_t)PAGE)

const char *const served_call_names[SERVED_CALL_COUNT] = {
	"clock_gettime",
	"clock_gettime64",
	"gettimeofday",
	"time",
	"clock_getres",
	"getcpu",
};

static const bool takes_clock[SERVED_CALL_COUNT] = {
	[SERVED_CLOCK_GETTIME] = true,
	[SERVED_CLOCK_GETTIME64] = true,
	[SERVED_CLOCK_GETRES] = true,
};

/* "__vdso_" on x86, "__kernel_" on arm64. */
static enum served_call find_call(const char *name)
{
	static const char *const prefixes[] = {"__vdso_", "__kernel_"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t length = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], length) != 0)
			continue;
		for (int call = 0; call < SERVED_CALL_COUNT; call++) {
			if (strcmp(name + length, served_call_names[call]) == 0)
				return (enum served_call)call;
		}
	}
	return SERVED_CALL_COUNT;
}

size_t served_image_length(const unsigned char *image, size_t size)
{
	struct elf_file file;
	uint64_t segment, offset, length;

	if (!elf_file_start(&file, image, size))
		return 0;
	/* The image is mapped as its file is: from its first byte on. */
	segment = elf_file_segment(&file, PT_LOAD, 0);
	offset = ELF_READ(&file, segment, Phdr, p_offset);
	length = ELF_READ(&file, segment, Phdr, p_filesz);
	return segment && offset <= PAGE && length <= IMAGE_MAX ? (size_t)(offset + length) : 0;
}

struct copying {
	const struct served_copy *copy;
	struct elf_file file;
	uint64_t load; /* address that the image was linked for */
	size_t stubs;  /* offset of the next stub */
};

/* Returns the new value of a function's symbol, whose code is in the real image now. */
static uint64_t redirect(struct copying *copying, const char *name, uint64_t value)
{
	const struct served_copy *copy = copying->copy;
	enum served_call call = find_call(name);
	uint64_t target = copy->from + value - copying->load;
	size_t entry = SERVED_NO_STUB;

	if (call < SERVED_CALL_COUNT && copying->stubs < copy->size)
		entry = served_stub_make(copy->image + copying->stubs, copy->size - copying->stubs,
			&(struct served_stub){.call = call,
				.compat = copying->file.narrow,
				.takes_clock = takes_clock[call],
				.table = copy->table,
				.target = target,
				.as_if_fallback = copy->as_if_fallback,
				.to = copy->to + copying->stubs});
	if (entry == SERVED_NO_STUB)
		return target - copy->to + copying->load;
	entry += copying->stubs;
	copying->stubs += served_stub_size();
	return entry + copying->load;
}

static void redirect_symbol(
	struct copying *copying, uint64_t at, const char *names, uint64_t names_size)
{
	const struct elf_file *file = &copying->file;
	uint64_t section = ELF_READ(file, at, Sym, st_shndx);
	uint64_t name = ELF_READ(file, at, Sym, st_name), value;
	uint32_t narrow;

	if (section == SHN_UNDEF || section == SHN_ABS || name >= names_size ||
		(ELF_READ(file, at, Sym, st_info) & 0xf) != STT_FUNC)
		return;
	value = redirect(copying, names + name, ELF_READ(file, at, Sym, st_value));
	narrow = (uint32_t)value;
	if (file->narrow)
		memcpy(copying->copy->image + at + offsetof(Elf32_Sym, st_value), &narrow,
			sizeof(narrow));
	else
		memcpy(copying->copy->image + at + offsetof(Elf64_Sym, st_value), &value,
			sizeof(value));
}

/* Stubs begin at a cache line. */
static size_t stubs_begin(size_t length)
{
	return (length + 63) / 64 * 64;
}

size_t served_copy_size(size_t length)
{
	size_t end = stubs_begin(length) + SERVED_CALL_COUNT * served_stub_size();

	return (end + PAGE - 1) / PAGE * PAGE;
}

bool served_copy_make(const struct served_copy *copy)
{
	struct copying copying = {.copy = copy, .stubs = stubs_begin(copy->length)};
	struct elf_file *file = &copying.file;
	uint64_t symbols = 0, strings = 0, size = 0, at, end;

	if (copying.stubs > copy->size || !elf_file_start(file, copy->image, copy->length))
		return false;
	copying.load = elf_file_load(file);
	at = elf_file_segment(file, PT_DYNAMIC, 0);
	end = at ? ELF_READ(file, at, Phdr, p_filesz) : 0;
	at = ELF_READ(file, at, Phdr, p_offset);
	for (end += at; at < end && at < copy->length; at += ELF_SIZE(file, Dyn)) {
		uint64_t tag = ELF_READ(file, at, Dyn, d_tag);
		uint64_t value = ELF_READ(file, at, Dyn, d_un.d_val);

		if (tag == DT_NULL)
			break;
		if (tag == DT_SYMTAB)
			symbols = value - copying.load;
		else if (tag == DT_STRTAB)
			strings = value - copying.load;
		else if (tag == DT_STRSZ)
			size = value;
	}
	/* The symbols end where the strings begin. */
	if (!symbols || symbols >= strings || strings >= copy->length || !size ||
		size > copy->length - strings || copy->image[strings + size - 1] != '\0')
		return false;
	for (at = symbols; at + ELF_SIZE(file, Sym) <= strings; at += ELF_SIZE(file, Sym))
		redirect_symbol(&copying, at, (const char *)copy->image + strings, size);
	return true;
}
