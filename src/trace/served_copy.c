/* SPDX-License-Identifier: MIT */
/*
 * Makes the copy of the vDSO's image that a program finds its functions in. Only the values of
 * symbols change: those of the counted calls lead to stubs behind the image, the others to the real
 * vDSO. Of the copy, nothing but the stubs is ever run, and the real vDSO reads the data page.
 */
#include <string.h>

#include "base/elf.h"
#include "served.h"

const struct served_row served_calls[SERVED_CALL_COUNT] = {
	[SERVED_CLOCK_GETTIME] = {"clock_gettime", true, {"clock_gettime", "gettimeofday", "time"}},
	[SERVED_GETTIMEOFDAY] = {"gettimeofday", false, {"gettimeofday"}},
	[SERVED_TIME] = {"time", false, {"time"}},
	[SERVED_CLOCK_GETRES] = {"clock_getres", true, {"clock_getres"}},
	[SERVED_GETCPU] = {"getcpu", false, {"sched_getcpu"}},
};

enum served_call served_find_call(struct span name)
{
	int call = 0;

	if (!text_take_prefix(&name, "__vdso_") && !text_take_prefix(&name, "__kernel_"))
		return SERVED_CALL_COUNT;
	while (call < SERVED_CALL_COUNT && !text_equals(name, served_calls[call].name))
		call++;
	return (enum served_call)call;
}

size_t served_image_length(const unsigned char *image, size_t size)
{
	struct elf elf;
	uint64_t extent = elf_start(&elf, image, size) ? elf_extent(&elf) : 0;

	return extent <= SERVED_IMAGE_MAX ? (size_t)extent : 0;
}

/* The code of a function is in the real image now, or in a stub that ends there. */
static void redirect(struct served_copy *copy, const struct elf *elf, uint64_t at, uint64_t names)
{
	uint64_t section = ELF_READ(elf, at, Sym, st_shndx), target, value;
	struct span name = elf_name(elf, names, ELF_READ(elf, at, Sym, st_name));
	enum served_call call;
	size_t entry = 0;

	if (section == SHN_UNDEF || section == SHN_ABS ||
		(ELF_READ(elf, at, Sym, st_info) & 0xf) != STT_FUNC)
		return;
	target = copy->from + ELF_READ(elf, at, Sym, st_value) - elf->load;
	call = served_find_call(name);
	if (call < SERVED_CALL_COUNT)
		entry = served_stub_make(copy, call, target);
	value = elf->load + (entry ? entry : target - copy->to);
	/* The machines that have stubs are little-endian. */
	memcpy(copy->image + at + offsetof(Elf64_Sym, st_value), &value, sizeof(value));
}

size_t served_copy_size(size_t length)
{
	size_t end = length + SERVED_CALL_COUNT * SERVED_STUB_SIZE;

	return (end + SERVED_PAGE - 1) / SERVED_PAGE * SERVED_PAGE;
}

bool served_copy_make(struct served_copy *copy)
{
	struct elf_dynamic dynamic;
	struct elf elf;

	copy->end = copy->size - SERVED_CALL_COUNT * SERVED_STUB_SIZE;
	if (!elf_start(&elf, copy->image, copy->length) || elf.narrow ||
		!elf_read_dynamic(&elf, &dynamic))
		return false;
	for (uint64_t i = 0; i < dynamic.count; i++)
		redirect(copy, &elf, dynamic.symbols + i * ELF_SIZE(&elf, Sym), dynamic.names);
	return dynamic.count;
}
