/* SPDX-License-Identifier: MIT */
/*
 * To be preloaded (x86-64): before main() begins, the auxiliary vector names a copy of the vDSO
 * whose functions make the system calls, as a sandbox may do that wants to see them all.
 */
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) && !defined(__ILP32__)

#define IMAGE_SIZE 8192

static const struct {
	const char *name;
	uint32_t number;
} calls[] = {
	{"__vdso_clock_gettime", SYS_clock_gettime},
	{"__vdso_gettimeofday", SYS_gettimeofday},
	{"__vdso_time", SYS_time},
	{"__vdso_clock_getres", SYS_clock_getres},
	{"__vdso_getcpu", SYS_getcpu},
};

/* mov $number, %eax; syscall; ret */
static void put_call(unsigned char *entry, uint32_t number)
{
	unsigned char code[] = {0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0xc3};

	memcpy(code + 1, &number, sizeof(number));
	memcpy(entry, code, sizeof(code));
}

static void put_calls(unsigned char *image)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	const Elf64_Shdr *section = (const Elf64_Shdr *)(image + header->e_shoff);

	while (section->sh_type != SHT_DYNSYM)
		section++;
	for (size_t i = 0; i < section->sh_size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *symbol = (const Elf64_Sym *)(image + section->sh_offset) + i;
		const Elf64_Shdr *names =
			(const Elf64_Shdr *)(image + header->e_shoff) + section->sh_link;

		for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++) {
			if (!strcmp((char *)image + names->sh_offset + symbol->st_name,
				    calls[k].name))
				put_call(image + symbol->st_value, calls[k].number);
		}
	}
}

__attribute__((constructor)) static void replace(void)
{
	const void *kernels = (const void *)getauxval(AT_SYSINFO_EHDR);
	unsigned char *image =
		mmap(NULL, IMAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char **end = environ;
	Elf64_auxv_t *entry;

	memcpy(image, kernels, IMAGE_SIZE);
	put_calls(image);
	mprotect(image, IMAGE_SIZE, PROT_READ | PROT_EXEC);
	while (*end)
		end++;
	for (entry = (Elf64_auxv_t *)(end + 1); entry->a_type != AT_NULL; entry++) {
		if (entry->a_type == AT_SYSINFO_EHDR)
			entry->a_un.a_val = (uintptr_t)image;
	}
}
#else
typedef int replaced_vdso_on_x86_64_only;
#endif
