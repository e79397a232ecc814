/* SPDX-License-Identifier: MIT */
/*
 * Makes the copy of the vDSO's image that a program finds its functions in. Only the values of
 * symbols change: those of the counted calls lead to stubs behind the image, the others to the real
 * vDSO. Of the copy, nothing but the stubs is ever run, and the real vDSO reads the data page.
 */
#include <string.h>

#include "elf_file.h"
#include "served.h"

const struct served_row served_calls[SERVED_CALL_COUNT] = {
	[SERVED_CLOCK_GETTIME] = {"clock_gettime", "clock_gettime", true},
	[SERVED_CLOCK_GETTIME64] = {"clock_gettime64", NULL, true},
	[SERVED_GETTIMEOFDAY] = {"gettimeofday", "gettimeofday", false},
	[SERVED_TIME] = {"time", "time", false},
	[SERVED_CLOCK_GETRES] = {"clock_getres", "clock_getres", true},
	[SERVED_GETCPU] = {"getcpu", "sched_getcpu", false},
};

enum served_call served_find_call(const char *name)
{
	struct span base = text_span(name);
	int call = 0;

	if (!text_take_prefix(&base, "__vdso_") && !text_take_prefix(&base, "__kernel_"))
		return SERVED_CALL_COUNT;
	while (call < SERVED_CALL_COUNT && !text_equals(base, served_calls[call].name))
		call++;
	return (enum served_call)call;
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
	return segment && offset <= SERVED_PAGE && length <= SERVED_IMAGE_MAX
	               ? (size_t)(offset + length)
	               : 0;
}

/* The code of a function is in the real image now, or in a stub that ends there. */
static void redirect(struct served_copy *copy, const struct elf_file *file, uint64_t at,
	const char *names, uint64_t names_size)
{
	uint64_t section = ELF_READ(file, at, Sym, st_shndx);
	uint64_t name = ELF_READ(file, at, Sym, st_name);
	uint64_t load = elf_file_load(file), target, value;
	enum served_call call;
	size_t entry = 0;
	uint32_t narrow;

	if (section == SHN_UNDEF || section == SHN_ABS || name >= names_size ||
		(ELF_READ(file, at, Sym, st_info) & 0xf) != STT_FUNC)
		return;
	target = copy->from + ELF_READ(file, at, Sym, st_value) - load;
	call = served_find_call(names + name);
	if (call < SERVED_CALL_COUNT)
		entry = served_stub_make(copy, call, file->narrow, target);
	value = load + (entry ? entry : target - copy->to);
	narrow = (uint32_t)value;
	if (file->narrow)
		memcpy(copy->image + at + offsetof(Elf32_Sym, st_value), &narrow, sizeof(narrow));
	else
		memcpy(copy->image + at + offsetof(Elf64_Sym, st_value), &value, sizeof(value));
}

/* Stubs begin at a cache line. */
static size_t stubs_begin(size_t length)
{
	return (length + 63) / 64 * 64;
}

size_t served_copy_size(size_t length)
{
	size_t end = stubs_begin(length) + SERVED_CALL_COUNT * served_stub_size();

	return (end + SERVED_PAGE - 1) / SERVED_PAGE * SERVED_PAGE;
}

bool served_copy_make(struct served_copy *copy)
{
	uint64_t symbols = 0, strings = 0, size = 0, load, at, end;
	struct elf_file file;

	copy->end = stubs_begin(copy->length);
	if (copy->end > copy->size || !elf_file_start(&file, copy->image, copy->length))
		return false;
	load = elf_file_load(&file);
	at = elf_file_segment(&file, PT_DYNAMIC, 0);
	end = at ? ELF_READ(&file, at, Phdr, p_filesz) : 0;
	at = ELF_READ(&file, at, Phdr, p_offset);
	for (end += at; at < end && at < copy->length; at += ELF_SIZE(&file, Dyn)) {
		uint64_t tag = ELF_READ(&file, at, Dyn, d_tag);
		uint64_t value = ELF_READ(&file, at, Dyn, d_un.d_val);

		if (tag == DT_NULL)
			break;
		if (tag == DT_SYMTAB)
			symbols = value - load;
		else if (tag == DT_STRTAB)
			strings = value - load;
		else if (tag == DT_STRSZ)
			size = value;
	}
	/* The symbols end where the strings begin. */
	if (!symbols || symbols >= strings || strings >= copy->length || !size ||
		size > copy->length - strings || copy->image[strings + size - 1] != '\0')
		return false;
	for (at = symbols; at + ELF_SIZE(&file, Sym) <= strings; at += ELF_SIZE(&file, Sym))
		redirect(copy, &file, at, (const char *)copy->image + strings, size);
	return true;
}
