/* SPDX-License-Identifier: MIT */
/*
 * The copy of the vDSO's image that a program finds its functions in. Only the values of symbols
 * change: those of the counted calls lead to stubs behind the image, the others to the real vDSO.
 * So no code of the copy is ever run but the stubs, and the data page is read by the real vDSO.
 */
#include <elf.h>
#include <string.h>

#include "base/memory.h"
#include "served.h"

#define PAGE SERVED_PAGE

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

/* What is needed of an image of either class: its offsets, all within it. */
struct layout {
	bool narrow;             /* ELFCLASS32 */
	uint64_t load;           /* address that the image was linked for */
	size_t end;              /* of its loadable bytes */
	size_t symbols, strings; /* the symbols end where the strings begin */
	size_t strings_size;
};

static bool read_dynamic(
	const unsigned char *image, size_t at, size_t end, uint64_t load, struct layout *layout)
{
	size_t step = layout->narrow ? sizeof(Elf32_Dyn) : sizeof(Elf64_Dyn);
	uint64_t symbols = 0, strings = 0, strings_size = 0;

	for (; at + step <= end; at += step) {
		Elf64_Dyn entry;
		Elf32_Dyn narrow;

		if (layout->narrow) {
			memcpy(&narrow, image + at, sizeof(narrow));
			entry.d_tag = narrow.d_tag;
			entry.d_un.d_val = narrow.d_un.d_val;
		} else {
			memcpy(&entry, image + at, sizeof(entry));
		}
		if (entry.d_tag == DT_SYMTAB)
			symbols = entry.d_un.d_val - load;
		else if (entry.d_tag == DT_STRTAB)
			strings = entry.d_un.d_val - load;
		else if (entry.d_tag == DT_STRSZ)
			strings_size = entry.d_un.d_val;
		else if (entry.d_tag == DT_NULL)
			break;
	}
	if (!symbols || symbols >= strings || strings >= layout->end || !strings_size ||
		strings_size > layout->end - strings || image[strings + strings_size - 1] != '\0')
		return false;
	layout->symbols = (size_t)symbols;
	layout->strings = (size_t)strings;
	layout->strings_size = (size_t)strings_size;
	return true;
}

/* A program header of either class. */
static void read_segment(
	const unsigned char *image, size_t at, const struct layout *layout, Elf64_Phdr *segment)
{
	Elf32_Phdr narrow;

	if (!layout->narrow) {
		memcpy(segment, image + at, sizeof(*segment));
		return;
	}
	memcpy(&narrow, image + at, sizeof(narrow));
	*segment = (Elf64_Phdr){.p_type = narrow.p_type,
		.p_offset = narrow.p_offset,
		.p_vaddr = narrow.p_vaddr,
		.p_filesz = narrow.p_filesz,
		.p_memsz = narrow.p_memsz};
}

static bool read_layout(const unsigned char *image, size_t size, struct layout *layout, bool whole)
{
	Elf64_Ehdr header;
	Elf32_Ehdr narrow;
	Elf64_Phdr segment, dynamic = {0};
	size_t step;
	bool loads = false;

	*layout = (struct layout){0};
	if (size < sizeof(header) || memcmp(image, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(&header, image, sizeof(header));
	layout->narrow = image[EI_CLASS] == ELFCLASS32;
	if (layout->narrow) {
		memcpy(&narrow, image, sizeof(narrow));
		header.e_phoff = narrow.e_phoff;
		header.e_phnum = narrow.e_phnum;
	}
	step = layout->narrow ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
	for (size_t i = 0; i < header.e_phnum; i++) {
		if (header.e_phoff > size || (size - header.e_phoff) / step <= i)
			return false;
		read_segment(image, (size_t)header.e_phoff + i * step, layout, &segment);
		if (segment.p_type == PT_DYNAMIC)
			dynamic = segment;
		if (segment.p_type != PT_LOAD || loads)
			continue;
		loads = true;
		/* The image is mapped as its file is: from its first byte on. */
		layout->load = segment.p_vaddr - segment.p_offset;
		if (segment.p_filesz > PAGE * 64 || segment.p_offset > PAGE)
			return false;
		layout->end = (size_t)(segment.p_offset + segment.p_filesz);
	}
	if (!loads || !whole)
		return loads;
	return layout->end <= size && dynamic.p_type == PT_DYNAMIC &&
	       dynamic.p_offset < layout->end &&
	       dynamic.p_filesz <= layout->end - dynamic.p_offset &&
	       read_dynamic(image, (size_t)dynamic.p_offset,
		       (size_t)(dynamic.p_offset + dynamic.p_filesz), layout->load, layout);
}

size_t served_image_length(const unsigned char *image, size_t size)
{
	struct layout layout;

	return read_layout(image, size, &layout, false) ? layout.end : 0;
}

struct copying {
	const struct served_copy *copy;
	struct layout layout;
	size_t stubs; /* offset of the next stub */
};

/* The new value of a symbol that is at `value` - load in the real image; 0: it must stay. */
static uint64_t redirect(struct copying *copying, const char *name, uint64_t value)
{
	const struct served_copy *copy = copying->copy;
	enum served_call call = find_call(name);
	uint64_t target = copy->from + value - copying->layout.load;
	size_t entry = SERVED_NO_STUB;

	if (call < SERVED_CALL_COUNT && copying->stubs < copy->size)
		entry = served_stub_make(copy->image + copying->stubs, copy->size - copying->stubs,
			&(struct served_stub){.call = call,
				.compat = copying->layout.narrow,
				.takes_clock = takes_clock[call],
				.table = copy->table,
				.target = target});
	if (entry == SERVED_NO_STUB)
		return target - copy->to + copying->layout.load;
	entry += copying->stubs;
	copying->stubs += served_stub_size();
	return entry + copying->layout.load;
}

static void redirect_symbol(struct copying *copying, unsigned char *at)
{
	const char *names = (const char *)copying->copy->image + copying->layout.strings;
	Elf64_Sym symbol;
	Elf32_Sym narrow;

	if (copying->layout.narrow) {
		memcpy(&narrow, at, sizeof(narrow));
		symbol = (Elf64_Sym){.st_name = narrow.st_name,
			.st_value = narrow.st_value,
			.st_shndx = narrow.st_shndx,
			.st_info = narrow.st_info};
	} else {
		memcpy(&symbol, at, sizeof(symbol));
	}
	if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
		ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
		symbol.st_name >= copying->layout.strings_size)
		return;
	symbol.st_value = redirect(copying, names + symbol.st_name, symbol.st_value);
	if (copying->layout.narrow) {
		narrow.st_value = (Elf32_Addr)symbol.st_value;
		memcpy(at, &narrow, sizeof(narrow));
	} else {
		memcpy(at, &symbol, sizeof(symbol));
	}
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
	size_t step;

	if (!read_layout(copy->image, copy->length, &copying.layout, true) ||
		copying.stubs > copy->size)
		return false;
	step = copying.layout.narrow ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
	for (size_t at = copying.layout.symbols; at + step <= copying.layout.strings; at += step)
		redirect_symbol(&copying, copy->image + at);
	return true;
}
