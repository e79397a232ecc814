/* SPDX-License-Identifier: MIT */
/*
 * A 32-bit program that reads the clock by the vDSO alone, and needs no libc: hosts with a compiler
 * for 32-bit programs often have no libc for them.
 *
 *	caller32 N      N clock_gettime(CLOCK_MONOTONIC) and N / 2 gettimeofday()
 *
 * Its exit status is 0, 3 without a vDSO, 4 where that lacks a function, or 5 if a call failed.
 */
#include <elf.h>
#include <stdint.h>

typedef int clock_function(int clock, int32_t *time);
typedef int timeofday_function(int32_t *time, void *zone);

static void leave(int status)
{
	for (;;)
		__asm__ volatile("int $0x80" : : "a"(1), "b"(status));
}

static int is_same(const char *left, const char *right)
{
	while (*left && *left == *right) {
		left++;
		right++;
	}
	return *left == *right;
}

/* The stack of a program that begins: arguments, environment and auxiliary vector. */
static uint32_t find_vdso(uint32_t *stack)
{
	stack += *stack + 2;
	while (*stack++)
		;
	for (; *stack; stack += 2) {
		if (*stack == AT_SYSINFO_EHDR)
			return stack[1];
	}
	return 0;
}

static uint32_t find_function(uint32_t base, const char *name)
{
	const Elf32_Ehdr *header = (const Elf32_Ehdr *)base;
	const Elf32_Phdr *segment = (const Elf32_Phdr *)(base + header->e_phoff);
	const Elf32_Dyn *dynamic = 0;
	const Elf32_Sym *symbol = 0;
	const char *strings = 0;
	uint32_t load = base;

	for (int i = 0; i < header->e_phnum; i++) {
		if (segment[i].p_type == PT_LOAD)
			load = base + segment[i].p_offset - segment[i].p_vaddr;
		else if (segment[i].p_type == PT_DYNAMIC)
			dynamic = (const Elf32_Dyn *)(base + segment[i].p_offset);
	}
	for (; dynamic->d_tag; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			symbol = (const Elf32_Sym *)(load + dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_STRTAB)
			strings = (const char *)(load + dynamic->d_un.d_ptr);
	}
	for (; (const char *)symbol < strings; symbol++) {
		if (is_same(strings + symbol->st_name, name))
			return load + symbol->st_value;
	}
	return 0;
}

__attribute__((used)) void begin(uint32_t *stack)
{
	uint32_t base = find_vdso(stack);
	const char *digit = *stack > 1 ? (const char *)stack[2] : "";
	clock_function *get;
	timeofday_function *get_timeofday;
	int32_t time[4];
	long count = 0;

	if (!base)
		leave(3);
	get = (clock_function *)find_function(base, "__vdso_clock_gettime");
	get_timeofday = (timeofday_function *)find_function(base, "__vdso_gettimeofday");
	if (!get || !get_timeofday)
		leave(4);
	for (; *digit; digit++)
		count = count * 10 + *digit - '0';
	for (long i = 0; i < count; i++) {
		if (get(1, time) != 0 || (i % 2 && get_timeofday(time, 0) != 0))
			leave(5);
	}
	leave(0);
}

__asm__(".globl _start\n_start:\n\tmov %esp, %eax\n\tpush %eax\n\tcall begin\n");
