/* SPDX-License-Identifier: MIT */
/* Builds vDSO images of every class and byte order in memory. */
#include "unit/elf_builder.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "unit/unit.h"

#if __SIZEOF_POINTER__ == 8
#define NATIVE_CLASS ELFCLASS64
#define SYMBOL_INFO ELF64_ST_INFO
#else
#define NATIVE_CLASS ELFCLASS32
#define SYMBOL_INFO ELF32_ST_INFO
#endif

#if defined(__s390x__)
#define MACHINE EM_S390
typedef uint64_t hash_word;
#else
#define MACHINE EM_NONE /* only the one with wide hash tables matters */
typedef uint32_t hash_word;
#endif

#define VERSION_INDEX 2
#define CODE_SIZE 16
/* The undefined symbol is not in the GNU hash table: it has no place there. */
#define FIRST_HASHED 2

static const struct {
	const char *name;
	unsigned bind;
	unsigned type;
	ElfW(Half) section;
	size_t code;
} symbols[] = {
	{"", STB_LOCAL, STT_NOTYPE, SHN_UNDEF, 0},
	{"__undefined", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0},
	{"__vdso_clock_gettime", STB_GLOBAL, STT_FUNC, 9, 0},
	{"__vdso_gettimeofday", STB_GLOBAL, STT_FUNC, 9, 1},
	{"gettimeofday", STB_WEAK, STT_FUNC, 9, 1},
	{"__vdso_time", STB_GLOBAL, STT_NOTYPE, 9, 2},
	{"__vdso_data", STB_GLOBAL, STT_OBJECT, 9, 2},
	{"LINUX_2.6", STB_GLOBAL, STT_OBJECT, SHN_ABS, 0},
	{"__vdso_getcpu", STB_GLOBAL, STT_FUNC, 9, 3},
};

#define SYMBOL_COUNT COUNT(symbols)
#define CODE_COUNT 4

struct builder {
	const struct elf_plan *plan;
	unsigned char *image;
	size_t used;
	size_t symbol_at, string_at, string_size, hash_at, gnu_hash_at, version_at, definition_at;
	size_t dynamic_at, dynamic_size;
	size_t soname, version_name;
};

static size_t place(struct builder *builder, const void *bytes, size_t size)
{
	size_t at = (builder->used + 7) / 8 * 8;

	assert_true(at + size <= ELF_BUILDER_SIZE);
	if (size)
		memcpy(builder->image + at, bytes, size);
	builder->used = at + size;
	return at;
}

static size_t place_string(struct builder *builder, const char *text)
{
	size_t at = builder->used;

	assert_true(at + strlen(text) + 1 <= ELF_BUILDER_SIZE);
	memcpy(builder->image + at, text, strlen(text) + 1);
	builder->used = at + strlen(text) + 1;
	return at - builder->string_at;
}

size_t elf_builder_code(size_t export)
{
	return sizeof(ElfW(Ehdr)) + 2 * sizeof(ElfW(Phdr)) + export * CODE_SIZE;
}

static void place_symbols(struct builder *builder)
{
	ElfW(Sym) table[SYMBOL_COUNT] = {0};

	builder->string_at = place(builder, "", 1);
	for (size_t i = 1; i < SYMBOL_COUNT; i++) {
		table[i].st_name = (ElfW(Word))place_string(builder, symbols[i].name);
		table[i].st_info = (unsigned char)SYMBOL_INFO(symbols[i].bind, symbols[i].type);
		table[i].st_shndx = symbols[i].section;
		if (symbols[i].section != SHN_UNDEF && symbols[i].section != SHN_ABS)
			table[i].st_value =
				builder->plan->linked_at + elf_builder_code(symbols[i].code);
		table[i].st_size = CODE_SIZE;
	}
	builder->soname = place_string(builder, "linux-vdso.so.1");
	builder->version_name = place_string(builder, "LINUX_2.6");
	builder->string_size = builder->used - builder->string_at;
	builder->symbol_at = place(builder, table, sizeof(table));
}

static void place_hash(struct builder *builder)
{
	/* One bucket, one chain through all symbols. */
	hash_word table[2 + 1 + SYMBOL_COUNT] = {1, SYMBOL_COUNT, 1};

	for (size_t i = 1; i + 1 < SYMBOL_COUNT; i++)
		table[3 + i] = (hash_word)(i + 1);
	builder->hash_at = place(builder, table, sizeof(table));
}

/* Symbols from FIRST_HASHED on, cut into as many chains as there are buckets. */
static void place_gnu_hash(struct builder *builder)
{
	uint32_t buckets = builder->plan->gnu_buckets;
	uint32_t hashed = SYMBOL_COUNT - FIRST_HASHED;
	uint32_t head[4] = {buckets, FIRST_HASHED, 1, 6};
	ElfW(Addr) bloom = ~(ElfW(Addr))0;
	uint32_t first[SYMBOL_COUNT] = {0};
	uint32_t chain[SYMBOL_COUNT] = {0};

	for (uint32_t i = 0; i < hashed; i++)
		chain[i] = i * 2 + 2;
	for (uint32_t i = 0; i < buckets && hashed; i++) {
		first[i] = FIRST_HASHED + hashed * i / buckets;
		chain[hashed * (i + 1) / buckets - 1] |= 1;
	}
	builder->gnu_hash_at = place(builder, head, sizeof(head));
	place(builder, &bloom, sizeof(bloom));
	memcpy(builder->image + builder->used, first, buckets * sizeof(first[0]));
	builder->used += buckets * sizeof(first[0]);
	memcpy(builder->image + builder->used, chain, hashed * sizeof(chain[0]));
	builder->used += hashed * sizeof(chain[0]);
}

/* Both structures, and what place() puts between this pair and the next. */
#define DEFINITION_SIZE 32

static void place_definition(
	struct builder *builder, ElfW(Half) index, ElfW(Half) flags, size_t name, bool last)
{
	const ElfW(Verdef) definition = {.vd_version = 1,
		.vd_flags = flags,
		.vd_ndx = index,
		.vd_cnt = 1,
		.vd_aux = sizeof(definition),
		.vd_next = last ? 0 : DEFINITION_SIZE};
	const ElfW(Verdaux) text = {.vda_name = (ElfW(Word))name};
	size_t at = place(builder, &definition, sizeof(definition));

	memcpy(builder->image + at + sizeof(definition), &text, sizeof(text));
	builder->used = at + sizeof(definition) + sizeof(text);
	if (!builder->definition_at)
		builder->definition_at = at;
}

static void place_versions(struct builder *builder)
{
	ElfW(Half) indices[SYMBOL_COUNT];

	for (size_t i = 0; i < SYMBOL_COUNT; i++)
		indices[i] = i ? VERSION_INDEX : 0;
	builder->version_at = place(builder, indices, sizeof(indices));
	/* The first names the image itself and is no symbol's version. */
	place_definition(builder, 1, VER_FLG_BASE, builder->soname, false);
	place_definition(builder, VERSION_INDEX, 0, builder->version_name, true);
}

static void place_dynamic(struct builder *builder)
{
	uintptr_t base = builder->plan->linked_at;
	ElfW(Dyn) entries[10] = {
		{.d_tag = DT_SONAME, .d_un.d_val = builder->soname},
		{.d_tag = DT_STRTAB, .d_un.d_ptr = base + builder->string_at},
		{.d_tag = DT_SYMTAB, .d_un.d_ptr = base + builder->symbol_at},
		{.d_tag = DT_STRSZ, .d_un.d_val = builder->string_size},
	};
	size_t count = 4;

	if (builder->hash_at)
		entries[count++] =
			(ElfW(Dyn)){.d_tag = DT_HASH, .d_un.d_ptr = base + builder->hash_at};
	if (builder->gnu_hash_at)
		entries[count++] = (ElfW(Dyn)){
			.d_tag = DT_GNU_HASH, .d_un.d_ptr = base + builder->gnu_hash_at};
	if (builder->version_at) {
		entries[count++] =
			(ElfW(Dyn)){.d_tag = DT_VERSYM, .d_un.d_ptr = base + builder->version_at};
		entries[count++] = (ElfW(Dyn)){
			.d_tag = DT_VERDEF, .d_un.d_ptr = base + builder->definition_at};
	}
	builder->dynamic_size = (count + 1) * sizeof(entries[0]);
	builder->dynamic_at = place(builder, entries, builder->dynamic_size);
}

static void write_headers(struct builder *builder)
{
	uintptr_t base = builder->plan->linked_at;
	ElfW(Ehdr) header = {.e_type = ET_DYN,
		.e_machine = MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(ElfW(Phdr)),
		.e_phnum = 2};
	const ElfW(Phdr) segments[2] = {
		{.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = base,
			.p_filesz = builder->used,
			.p_memsz = builder->used},
		{.p_type = PT_DYNAMIC,
			.p_flags = PF_R,
			.p_offset = builder->dynamic_at,
			.p_vaddr = base + builder->dynamic_at,
			.p_filesz = builder->dynamic_size,
			.p_memsz = builder->dynamic_size},
	};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = NATIVE_CLASS;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(builder->image, &header, sizeof(header));
	memcpy(builder->image + sizeof(header), segments, sizeof(segments));
}

size_t elf_builder_make(const struct elf_plan *plan, unsigned char image[ELF_BUILDER_SIZE])
{
	struct builder builder = {.plan = plan, .image = image};

	memset(image, 0, ELF_BUILDER_SIZE);
	builder.used = elf_builder_code(CODE_COUNT);
	place_symbols(&builder);
	if (plan->hash)
		place_hash(&builder);
	if (plan->gnu_hash)
		place_gnu_hash(&builder);
	if (plan->versions)
		place_versions(&builder);
	place_dynamic(&builder);
	write_headers(&builder);
	return builder.used;
}
