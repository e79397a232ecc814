/* SPDX-License-Identifier: MIT */
/*
 * Reads what a vDSO exports from its ELF image in memory. The image is distrusted: every offset in
 * it goes through take_entry() or take_string(), which check it against the size.
 */
#include "parts.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#define NATIVE_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

/* The ABI of 64-bit s390 has wide words in DT_HASH; all others have 32 bits. */
#if defined(__s390x__)
typedef uint64_t hash_word;
#else
typedef uint32_t hash_word;
#endif

/* More symbols than any vDSO has: a count beyond it is a broken image. */
#define SYMBOL_MAX 4096
#define HEADER_MAX 64
#define DYNAMIC_MAX 256
#define VERSION_MAX 64

/* Bit 15 of a version index hides the symbol from the default lookup. */
#define VERSION_INDEX_MASK 0x7fff

struct image {
	const unsigned char *bytes;
	size_t size;
	ElfW(Addr) load; /* virtual address of the image's first byte */
	size_t extent;   /* end of the last loadable segment; 0: there is none */
	/* Offsets into the image; 0 where the image has no such table. */
	size_t dynamic;
	size_t symbols;
	size_t strings;
	size_t strings_size;
	size_t hash;
	size_t gnu_hash;
	size_t version_symbols;
	size_t version_definitions;
	size_t soname; /* into the strings */
};

/* Copies element `index` of a table with elements of this size. */
static bool take_entry(const struct image *image, size_t table, size_t index, void *to, size_t size)
{
	size_t offset;

	if (__builtin_mul_overflow(index, size, &offset) ||
		__builtin_add_overflow(table, offset, &offset) || offset > image->size ||
		size > image->size - offset)
		return false;
	memcpy(to, image->bytes + offset, size);
	return true;
}

static bool take_string(const struct image *image, size_t index, char *to, size_t size)
{
	const char *text, *end;

	if (index >= image->strings_size)
		return false;
	text = (const char *)image->bytes + image->strings + index;
	end = memchr(text, '\0', image->strings_size - index);
	if (!end)
		return false;
	text_copy_span(to, size, (struct span){text, (size_t)(end - text)});
	return true;
}

static bool read_segments(struct image *image)
{
	ElfW(Ehdr) header;

	if (!take_entry(image, 0, 0, &header, sizeof(header)) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_ident[EI_CLASS] != NATIVE_CLASS ||
		header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum > HEADER_MAX)
		return false;
	for (size_t i = 0; i < header.e_phnum; i++) {
		ElfW(Phdr) segment;
		size_t end;

		if (!take_entry(image, header.e_phoff, i, &segment, sizeof(segment)))
			return false;
		if (segment.p_type == PT_DYNAMIC) {
			image->dynamic = segment.p_offset;
		} else if (segment.p_type == PT_LOAD) {
			if (__builtin_add_overflow(segment.p_offset, segment.p_filesz, &end))
				return false;
			if (!image->extent)
				image->load = segment.p_vaddr - segment.p_offset;
			if (end > image->extent)
				image->extent = end;
		}
	}
	return true;
}

size_t elf_image_extent(const unsigned char *bytes, size_t size)
{
	struct image image = {.bytes = bytes, .size = size};

	return read_segments(&image) ? image.extent : 0;
}

/* Returns the offset in the image of a virtual address that it names; 0 if that lies outside. */
static size_t offset_of(const struct image *image, ElfW(Addr) address)
{
	ElfW(Addr) offset = address - image->load;

	return offset < image->size ? (size_t)offset : 0;
}

static bool find_tables(struct image *image)
{
	for (size_t i = 0; i < DYNAMIC_MAX; i++) {
		ElfW(Dyn) entry;
		size_t offset;

		if (!take_entry(image, image->dynamic, i, &entry, sizeof(entry)))
			return false;
		offset = offset_of(image, entry.d_un.d_ptr);
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			image->symbols = offset;
		else if (entry.d_tag == DT_STRTAB)
			image->strings = offset;
		else if (entry.d_tag == DT_STRSZ)
			image->strings_size = entry.d_un.d_val;
		else if (entry.d_tag == DT_HASH)
			image->hash = offset;
		else if (entry.d_tag == DT_GNU_HASH)
			image->gnu_hash = offset;
		else if (entry.d_tag == DT_VERSYM)
			image->version_symbols = offset;
		else if (entry.d_tag == DT_VERDEF)
			image->version_definitions = offset;
		else if (entry.d_tag == DT_SONAME)
			image->soname = entry.d_un.d_val;
	}
	return image->symbols && image->strings &&
	       image->strings_size <= image->size - image->strings;
}

/* DT_GNU_HASH has no count: the last symbol is at the end of the last bucket's chain. */
static bool count_by_gnu_hash(const struct image *image, size_t *count)
{
	uint32_t head[4]; /* buckets, first symbol, bloom words, bloom shift */
	size_t buckets, chains;
	uint32_t last = 0;

	if (!take_entry(image, image->gnu_hash, 0, head, sizeof(head)) || head[0] > SYMBOL_MAX ||
		head[1] > SYMBOL_MAX || head[2] > SYMBOL_MAX)
		return false;
	buckets = image->gnu_hash + sizeof(head) + head[2] * sizeof(ElfW(Addr));
	chains = buckets + head[0] * sizeof(uint32_t);
	for (size_t i = 0; i < head[0]; i++) {
		uint32_t first;

		if (!take_entry(image, buckets, i, &first, sizeof(first)))
			return false;
		last = first > last ? first : last;
	}
	/* Chain words begin with the first hashed symbol; the last of a chain is odd. */
	for (uint32_t word = last < head[1]; !(word & 1); last++) {
		if (last - head[1] >= SYMBOL_MAX ||
			!take_entry(image, chains, last - head[1], &word, sizeof(word)))
			return false;
	}
	*count = last < head[1] ? head[1] : last;
	return true;
}

static bool count_symbols(const struct image *image, size_t *count)
{
	hash_word chains;

	if (image->gnu_hash)
		return count_by_gnu_hash(image, count);
	/* DT_HASH has as many chain words as there are symbols. */
	if (!image->hash || !take_entry(image, image->hash, 1, &chains, sizeof(chains)) ||
		chains > SYMBOL_MAX)
		return false;
	*count = (size_t)chains;
	return true;
}

/* Takes the name of the version with this index; empty if the image has none. */
static void take_version(const struct image *image, unsigned index, char *to, size_t size)
{
	size_t at = image->version_definitions;

	to[0] = '\0';
	for (size_t i = 0; at && i < VERSION_MAX; i++) {
		ElfW(Verdef) definition;
		ElfW(Verdaux) name;

		if (!take_entry(image, at, 0, &definition, sizeof(definition)))
			return;
		if (!(definition.vd_flags & VER_FLG_BASE) && definition.vd_ndx == index) {
			if (take_entry(image, at + definition.vd_aux, 0, &name, sizeof(name)))
				take_string(image, name.vda_name, to, size);
			return;
		}
		at = definition.vd_next ? at + definition.vd_next : 0;
	}
}

/* Adds the symbol if it is an exported function; some vDSOs in assembly leave the type out. */
static bool add_symbol(const struct image *image, size_t index, struct vdso_evidence *vdso,
	size_t offsets[VDSO_EXPORT_MAX])
{
	struct vdso_export *export = &vdso->exports[vdso->export_count];
	ElfW(Sym) symbol;
	ElfW(Half) version;
	unsigned type, bind;
	size_t offset;

	if (!take_entry(image, image->symbols, index, &symbol, sizeof(symbol)))
		return false;
	offset = offset_of(image, symbol.st_value);
	/* ELF64_ST_TYPE and ELF64_ST_BIND are the same. */
	type = ELF32_ST_TYPE(symbol.st_info);
	bind = ELF32_ST_BIND(symbol.st_info);
	if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
		(type != STT_FUNC && type != STT_NOTYPE) ||
		(bind != STB_GLOBAL && bind != STB_WEAK) || !offset ||
		vdso->export_count == VDSO_EXPORT_MAX)
		return true;
	if (!take_string(image, symbol.st_name, export->name, sizeof(export->name)))
		return false;
	/*
	 * x86 exports each function under a weak alias without prefix too: one place, one
	 * export, under the name that the C libraries look up.
	 */
	if (strncmp(export->name, "__", 2) != 0)
		return true;
	export->version[0] = '\0';
	if (image->version_symbols &&
		take_entry(image, image->version_symbols, index, &version, sizeof(version)))
		take_version(image, version & VERSION_INDEX_MASK, export->version,
			sizeof(export->version));
	offsets[vdso->export_count++] = offset;
	return true;
}

bool elf_image_read(const unsigned char *bytes, size_t size, struct vdso_evidence *vdso,
	size_t offsets[VDSO_EXPORT_MAX])
{
	struct image image = {.bytes = bytes, .size = size};
	const char *problem = NULL;
	size_t count = 0;

	vdso->export_count = 0;
	if (!read_segments(&image) || !image.extent || !image.dynamic)
		problem = "not an ELF image of this machine with a dynamic section";
	else if (!find_tables(&image))
		problem = "its dynamic section names no symbols within the image";
	else if (!count_symbols(&image, &count))
		problem = "its hash table does not fit the image";
	for (size_t i = 1; i < count && !problem; i++) {
		if (!add_symbol(&image, i, vdso, offsets))
			problem = "a symbol lies outside the image";
	}
	if (problem) {
		vdso->export_count = 0;
		fact_set(&vdso->fact, FACT_FAILED, "vDSO image: %s", problem);
		return false;
	}
	if (!image.soname || !take_string(&image, image.soname, vdso->soname, sizeof(vdso->soname)))
		vdso->soname[0] = '\0';
	fact_set_known(&vdso->fact);
	return true;
}
