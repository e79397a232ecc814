/* SPDX-License-Identifier: MIT */
/*
 * Tests of measure/elf_image: the functions of a vDSO image, and images that are truncated or
 * wrong.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/elf.h"
#include "measure/parts.h"
#include "measure/vdso.h"
#include "unit/dice.h"
#include "unit/elf_builder.h"
#include "unit/unit.h"

static const char *const listed[] = {
	"__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time", "__vdso_getcpu"};

static const struct elf_plan plans[] = {
	{.hash = true},
	{.gnu_hash = true, .gnu_buckets = 1},
	{.gnu_hash = true, .gnu_buckets = 3},
	{.hash = true, .gnu_hash = true, .gnu_buckets = 2},
	{.hash = true, .versions = true},
	{.gnu_hash = true, .gnu_buckets = 2, .versions = true},
	{.hash = true, .versions = true, .linked_at = 0x7ff00000},
	{.gnu_hash = true, .gnu_buckets = 3, .versions = true, .linked_at = 0x7ff00000},
};

/*
 * A copy that ends where the readable memory ends: a read beyond it is a crash, whatever the
 * compiler's flags. ASan's malloc sees the one before it, so both are used.
 */
struct fence {
	unsigned char *pages;
	size_t size;
	size_t page;
};

static struct fence fence_make(size_t size)
{
	struct fence fence = {.page = (size_t)sysconf(_SC_PAGESIZE)};

	fence.size = (size + fence.page - 1) / fence.page * fence.page;
	fence.pages = mmap(NULL, fence.size + fence.page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fence.pages, MAP_FAILED);
	assert_int_equal(mprotect(fence.pages + fence.size, fence.page, PROT_NONE), 0);
	return fence;
}

static unsigned char *fence_copy(const struct fence *fence, const void *bytes, size_t size)
{
	return memcpy(fence->pages + fence->size - size, bytes, size);
}

static void fence_remove(const struct fence *fence)
{
	munmap(fence->pages, fence->size + fence->page);
}

static bool is_listed(const char *name)
{
	for (size_t i = 0; i < COUNT(listed); i++) {
		if (strcmp(listed[i], name) == 0)
			return true;
	}
	return false;
}

/* Where the exports of the image read last are in it. */
static size_t offsets[VDSO_EXPORT_MAX];

/* Reads copies of the image that have nothing readable after them. */
static bool read_fenced(
	const struct fence *fence, const void *bytes, size_t size, struct vdso_evidence *vdso)
{
	unsigned char *exact = malloc(size ? size : 1);
	const unsigned char *copy = fence_copy(fence, bytes, size);
	bool read;

	assert_non_null(exact);
	memcpy(exact, bytes, size);
	*vdso = (struct vdso_evidence){0};
	elf_image_extent(exact, size);
	elf_image_read(exact, size, vdso, offsets);
	free(exact);
	elf_image_extent(copy, size);
	*vdso = (struct vdso_evidence){0};
	read = elf_image_read(copy, size, vdso, offsets);
	assert_true(read == fact_is_known(&vdso->fact));
	assert_true(read || vdso->export_count == 0);
	assert_true(read || *vdso->fact.reason);
	for (size_t i = 0; i < vdso->export_count; i++)
		assert_in_range(offsets[i], 0, size - 1);
	return read;
}

static void every_kind_of_image_lists_its_functions(void **state)
{
	(void)state;
	for (size_t p = 0; p < COUNT(plans); p++) {
		unsigned char image[ELF_BUILDER_SIZE];
		struct vdso_evidence vdso = {0};
		size_t size = elf_builder_make(&plans[p], image);

		assert_true(elf_image_read(image, size, &vdso, offsets));
		assert_int_equal(vdso.export_count, COUNT(listed));
		assert_string_equal(vdso.soname, "linux-vdso.so.1");
		for (size_t i = 0; i < COUNT(listed); i++) {
			assert_string_equal(vdso.exports[i].name, listed[i]);
			assert_string_equal(
				vdso.exports[i].version, plans[p].versions ? "LINUX_2.6" : "");
			assert_int_equal(offsets[i], elf_builder_code(i));
		}
	}
}

/* Puts headers of sections behind the image: those of all but the tenth have no size. */
static size_t add_sections(unsigned char *image, size_t size, uint64_t flags, size_t code_size)
{
	ElfW(Shdr) sections[10] = {0};
	ElfW(Ehdr) header;

	memcpy(&header, image, sizeof(header));
	header.e_shoff = (size + 7) / 8 * 8;
	header.e_shnum = COUNT(sections);
	memcpy(image, &header, sizeof(header));
	sections[9].sh_flags = (__typeof__(sections[9].sh_flags))flags;
	sections[9].sh_addr = elf_builder_code(0);
	sections[9].sh_size = (__typeof__(sections[9].sh_size))code_size;
	memcpy(image + header.e_shoff, sections, sizeof(sections));
	return header.e_shoff + sizeof(sections);
}

/* The first function ends where the second one begins. */
static void a_function_outside_of_its_section_is_led_away(void **state)
{
	const size_t first = elf_builder_code(1) - elf_builder_code(0);
	const struct elf_plan plan = {.versions = true, .hash = true};
	const struct {
		uint64_t flags;
		size_t size, led_away;
	} rows[] = {
		{SHF_ALLOC | SHF_EXECINSTR, first, COUNT(listed) - 1},
		{SHF_ALLOC | SHF_EXECINSTR, first * COUNT(listed), 0},
		/* Descriptors of functions, and sections that are not what they seem. */
		{SHF_ALLOC, first, 0},
		{0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned char image[ELF_BUILDER_SIZE + 11 * sizeof(ElfW(Shdr))];
		struct vdso_evidence vdso = {0};
		size_t size = elf_builder_make(&plan, image);

		size = add_sections(image, size, rows[i].flags, rows[i].size);
		assert_true(elf_image_read(image, size, &vdso, offsets));
		assert_int_equal(vdso.led_away, rows[i].led_away);
		assert_int_equal(vdso.export_count, COUNT(listed) - rows[i].led_away);
	}
}

static void an_image_without_hash_table_has_a_reason(void **state)
{
	const struct elf_plan plan = {.versions = true};
	unsigned char image[ELF_BUILDER_SIZE];
	struct vdso_evidence vdso = {0};
	size_t size = elf_builder_make(&plan, image);

	(void)state;
	assert_false(elf_image_read(image, size, &vdso, offsets));
	assert_int_equal(vdso.fact.state, FACT_FAILED);
	assert_non_null(strstr(vdso.fact.reason, "hash"));
}

static void what_is_not_an_elf_image_has_a_reason(void **state)
{
	unsigned char image[ELF_BUILDER_SIZE];
	struct vdso_evidence vdso = {0};
	size_t size = elf_builder_make(&plans[0], image);

	(void)state;
	assert_false(elf_image_read(image, 0, &vdso, offsets));
	image[4] ^= 3; /* the other word size */
	assert_false(elf_image_read(image, size, &vdso, offsets));
	assert_int_equal(elf_image_extent(image, size), 0);
	image[4] ^= 3;
	image[0] = 0;
	assert_false(elf_image_read(image, size, &vdso, offsets));
	assert_int_equal(elf_image_extent(image, size), 0);
}

/* The symbol of place 0 alone is none, by the ELF specification. */
static void the_first_symbol_is_listed(void **state)
{
	const struct elf_plan plan = {.hash = true};
	unsigned char image[ELF_BUILDER_SIZE];
	struct vdso_evidence vdso = {0};
	size_t size = elf_builder_make(&plan, image), count;
	struct elf_dynamic dynamic;
	struct elf elf;
	ElfW(Sym) symbol;
	unsigned char *first;

	(void)state;
	assert_true(elf_image_read(image, size, &vdso, offsets));
	count = vdso.export_count;
	assert_true(elf_start(&elf, image, size) && elf_read_dynamic(&elf, &dynamic));
	first = image + dynamic.symbols + sizeof(symbol);
	memcpy(&symbol, first, sizeof(symbol));
	symbol.st_shndx = 9;
	symbol.st_value = elf_builder_code(0);
	memcpy(first, &symbol, sizeof(symbol));
	assert_true(elf_image_read(image, size, &vdso, offsets));
	assert_int_equal(vdso.export_count, count + 1);
	assert_string_equal(vdso.exports[0].name, "__undefined");
}

/* As long as a header, and longer, but of other bytes. */
static void bytes_without_the_magic_number_are_not_an_elf_file(void **state)
{
	unsigned char image[ELF_BUILDER_SIZE] = {0};
	struct elf elf;

	(void)state;
	assert_false(elf_start(&elf, image, sizeof(Elf64_Ehdr) - 1));
	assert_false(elf_start(&elf, image, sizeof(Elf64_Ehdr)));
	assert_false(elf_start(&elf, image, sizeof(image)));
	for (size_t wrong = 0; wrong < SELFMAG; wrong++) {
		size_t size = elf_builder_make(&plans[0], image);

		assert_true(elf_start(&elf, image, size));
		image[wrong] ^= 1;
		assert_false(elf_start(&elf, image, size));
	}
}

static void the_extent_covers_the_segments(void **state)
{
	unsigned char image[ELF_BUILDER_SIZE];
	size_t size = elf_builder_make(&plans[7], image);
	ElfW(Phdr) segment;

	(void)state;
	assert_int_equal(elf_image_extent(image, size), size);
	/* Only the first page may be readable: the headers are enough. */
	assert_int_equal(elf_image_extent(image, elf_builder_code(0)), size);
	assert_int_equal(elf_image_extent(image, elf_builder_code(0) - 1), 0);
	if (sizeof(segment.p_filesz) < sizeof(uint64_t))
		return;
	/* An end that overflows is none. */
	memcpy(&segment, image + sizeof(ElfW(Ehdr)), sizeof(segment));
	segment.p_offset = 16;
	segment.p_filesz = (__typeof__(segment.p_filesz))-1;
	memcpy(image + sizeof(ElfW(Ehdr)), &segment, sizeof(segment));
	assert_int_equal(elf_image_extent(image, size), 0);
}

static void an_image_cut_anywhere_is_never_read_beyond_its_end(void **state)
{
	struct fence fence = fence_make(ELF_BUILDER_SIZE);

	(void)state;
	for (size_t p = 0; p < COUNT(plans); p++) {
		unsigned char image[ELF_BUILDER_SIZE];
		size_t size = elf_builder_make(&plans[p], image);

		for (size_t cut = 0; cut <= size; cut++) {
			struct vdso_evidence vdso;

			read_fenced(&fence, image, cut, &vdso);
			for (size_t i = 0; i < vdso.export_count; i++)
				assert_true(is_listed(vdso.exports[i].name));
		}
	}
	fence_remove(&fence);
}

static void any_wrong_byte_is_read_safely(void **state)
{
	static const unsigned char flips[] = {0x01, 0x10, 0x80, 0xff};
	struct fence fence = fence_make(ELF_BUILDER_SIZE);

	(void)state;
	for (size_t p = 0; p < COUNT(plans); p++) {
		unsigned char image[ELF_BUILDER_SIZE];
		size_t size = elf_builder_make(&plans[p], image);

		for (size_t i = 0; i < size * COUNT(flips); i++) {
			struct vdso_evidence vdso;

			image[i / COUNT(flips)] ^= flips[i % COUNT(flips)];
			read_fenced(&fence, image, size, &vdso);
			image[i / COUNT(flips)] ^= flips[i % COUNT(flips)];
		}
	}
	fence_remove(&fence);
}

static void many_wrong_bytes_are_read_safely(void **state)
{
	struct fence fence = fence_make(ELF_BUILDER_SIZE);
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 4000; round++) {
		unsigned char image[ELF_BUILDER_SIZE];
		size_t size = elf_builder_make(&plans[dice_roll(&dice, COUNT(plans))], image);
		struct vdso_evidence vdso;

		for (uint64_t i = dice_roll(&dice, 12) + 1; i > 0; i--)
			image[dice_roll(&dice, size)] = (unsigned char)dice_roll(&dice, 256);
		read_fenced(&fence, image, size, &vdso);
	}
	fence_remove(&fence);
}

/* This process's own image: its bytes, or NULL. */
static const unsigned char *own_image(size_t *size)
{
	static char text[256 * 1024];
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	FILE *file = fopen("/proc/self/maps", "r");
	struct span maps = {text, 0};
	struct mapping mapping;

	if (!file)
		return NULL;
	maps.length = fread(text, 1, sizeof(text), file);
	fclose(file);
	while (maps_next(&maps, &mapping)) {
		if (mapping.start <= base && base < mapping.end) {
			*size = (size_t)(mapping.end - base);
			return (const unsigned char *)base;
		}
	}
	return NULL;
}

/* The dynamic loader has parsed the same image by code of its own. NULL: it knows none. */
static void *loaders_vdso(void)
{
	static const char *const names[] = {
		"linux-vdso.so.1", "linux-gate.so.1", "linux-vdso64.so.1", "linux-vdso32.so.1"};
	void *loader = NULL;

	for (size_t i = 0; i < COUNT(names) && !loader; i++)
		loader = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
	return loader;
}

static void our_own_vdso_copied_lists_what_the_loader_finds(void **state)
{
	size_t size = 0;
	const unsigned char *image = own_image(&size);
	void *loader = loaders_vdso();
	struct fence fence;
	struct vdso_evidence vdso;

	(void)state;
	if (!image || !loader)
		unit_skip("there is no vDSO that the loader knows");
	fence = fence_make(size);
	assert_true(read_fenced(&fence, image, size, &vdso));
	assert_true(vdso.export_count > 0);
	for (size_t i = 0; i < vdso.export_count; i++) {
		const struct vdso_export *export = &vdso.exports[i];

		assert_true(*export->version);
		assert_int_equal((uintptr_t)dlvsym(loader, export->name, export->version),
			(uintptr_t)image + offsets[i]);
	}
	fence_remove(&fence);
	dlclose(loader);
}

static bool has_export(const struct vdso_evidence *vdso, const char *name)
{
	for (size_t i = 0; i < vdso->export_count; i++) {
		if (strcmp(vdso->exports[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Nothing is left out: every name that any kernel has exported, as far as the loader finds it. */
static void our_own_vdso_lists_all_that_the_loader_finds(void **state)
{
	static const char *const names[] = {"clock_gettime", "gettimeofday", "time", "getcpu",
		"clock_getres", "clock_gettime64", "clock_getres_time64", "getrandom",
		"sgx_enter_enclave", "rt_sigreturn", "flush_icache", "riscv_hwprobe"};
	static const char *const prefixes[] = {"__vdso_", "__kernel_"};
	size_t size = 0;
	const unsigned char *image = own_image(&size);
	void *loader = loaders_vdso();
	struct vdso_evidence vdso = {0};

	(void)state;
	if (!image || !loader)
		unit_skip("there is no vDSO that the loader knows");
	assert_true(elf_image_read(image, size, &vdso, offsets));
	for (size_t i = 0; i < COUNT(names) * COUNT(prefixes); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s", prefixes[i % 2], names[i / 2]);
		assert_int_equal(has_export(&vdso, name), dlsym(loader, name) != NULL);
	}
	dlclose(loader);
}

static void our_own_vdso_cut_anywhere_is_never_read_beyond_its_end(void **state)
{
	size_t size = 0;
	const unsigned char *image = own_image(&size);
	struct fence fence;

	(void)state;
	if (!image)
		unit_skip("this process has no vDSO");
	fence = fence_make(size);
	for (size_t cut = 0; cut <= size; cut++) {
		struct vdso_evidence vdso = {0};

		elf_image_read(fence_copy(&fence, image, cut), cut, &vdso, offsets);
		/* The tables are at the image's front: code follows for pages. */
		cut += cut > 4096 ? 96 : 0;
	}
	fence_remove(&fence);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_image_lists_its_functions),
		cmocka_unit_test(a_function_outside_of_its_section_is_led_away),
		cmocka_unit_test(an_image_without_hash_table_has_a_reason),
		cmocka_unit_test(what_is_not_an_elf_image_has_a_reason),
		cmocka_unit_test(the_first_symbol_is_listed),
		cmocka_unit_test(bytes_without_the_magic_number_are_not_an_elf_file),
		cmocka_unit_test(the_extent_covers_the_segments),
		cmocka_unit_test(an_image_cut_anywhere_is_never_read_beyond_its_end),
		cmocka_unit_test(any_wrong_byte_is_read_safely),
		cmocka_unit_test(many_wrong_bytes_are_read_safely),
		cmocka_unit_test(our_own_vdso_copied_lists_what_the_loader_finds),
		cmocka_unit_test(our_own_vdso_lists_all_that_the_loader_finds),
		cmocka_unit_test(our_own_vdso_cut_anywhere_is_never_read_beyond_its_end),
	};

	return cmocka_run_group_tests_name("elf_image", tests, NULL, NULL);
}
