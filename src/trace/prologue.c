/* SPDX-License-Identifier: MIT */
/*
 * Follows the first instructions of C functions that have no call frame information, such as those
 * of musl, to learn the size of their frame. Few instructions stand there. One that is not known
 * here, or writes the stack pointer in another way, ends the walk: the frame is then not known.
 */
#include "frame.h"

#if defined(__aarch64__)
/* Says whether the instruction writes neither the stack pointer nor the return address. */
static bool is_harmless(uint64_t code)
{
	static const struct {
		uint32_t mask, bits;
	} rows[] = {
		{0x1f000000, 0x10000000}, /* adr, adrp */
		{0x1f200000, 0x0b000000}, /* add, sub of registers: 31 is the zero register */
		{0x1f000000, 0x0a000000}, /* mov, and, orr, eor of registers */
		{0x1f800000, 0x12800000}, /* mov of a number */
		{0x1f800000, 0x13000000}, /* sxtw, lsl */
		{0x3b000000, 0x39000000}, /* ldr, str without a change of the base */
		{0x3b200c00, 0x38000000}, /* ldur, stur */
		{0x3b800000, 0x29000000}, /* ldp, stp without a change of the base */
		{0x7c000000, 0x34000000}, /* cbz, cbnz, tbz, tbnz */
		{0xff000010, 0x54000000}, /* b.cond */
		{0xfffff01f, 0xd503201f}, /* bti, paciasp */
		{0xfff00000, 0xd5300000}, /* mrs */
		{0xfffffc1f, 0xd63f0000}, /* blr */
		{0xfc000000, 0x94000000}, /* bl */
	};

	/* add, sub of a number: 31 is the stack pointer unless they set the flags, as cmp does */
	if ((code & 0x1f000000) == 0x11000000)
		return (code & 0x1f) != 31 || code >> 29 & 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if ((code & rows[i].mask) == rows[i].bits)
			return true;
	}
	return false;
}

uint64_t prologue_step(const struct elf *file, uint64_t at, struct frame_state *state)
{
	uint64_t code = elf_number(file, at, 4), first = code & 31, second = 0, place = 0;

	if ((code & 0xff8003ff) == 0xd10003ff) { /* sub sp, sp, #n */
		state->offset += (code >> 10 & 0xfff) << (code >> 22 & 1 ? 12 : 0);
		return 4;
	} else if ((code & 0xffe003e0) == 0xa9a003e0) { /* stp x, x, [sp, #-n]! */
		state->offset += (0x80 - (code >> 15 & 0x7f)) * 8;
		second = code >> 10 & 31;
	} else if ((code & 0xffe003e0) == 0xa90003e0) { /* stp x, x, [sp, #n] */
		place = (code >> 15 & 0x7f) * 8;
		second = code >> 10 & 31;
	} else if ((code & 0xfff00fe0) == 0xf8100fe0) { /* str x, [sp, #-n]! */
		state->offset += 0x200 - (code >> 12 & 0x1ff);
	} else if ((code & 0xffc003e0) == 0xf90003e0) { /* str x, [sp, #n] */
		place = (code >> 10 & 0xfff) * 8;
	} else {
		return is_harmless(code) ? 4 : 0;
	}
	/* Only the first store counts: the register may have another use by the second. */
	for (int i = 0; i < 2; i++, first = second, place += FRAME_WORD) {
		if (first == RETURN_ADDRESS && !state->saved)
			state->saved = state->offset - place;
		else if (first == FRAME_POINTER && !state->pointer)
			state->pointer = state->offset - place;
	}
	return 4;
}
#else
/* Returns the length of an operand in a register or in memory, with the byte that describes it. */
static uint64_t operand_length(const struct elf *file, uint64_t at)
{
	uint64_t operand = elf_number(file, at, 1), mode = operand >> 6;
	bool is_scaled = mode != 3 && (operand & 7) == 4;
	uint64_t base = is_scaled ? elf_number(file, at + 1, 1) : operand;
	uint64_t number = mode == 1 ? 1 : mode == 2 || (mode == 0 && (base & 7) == 5) ? 4 : 0;

	return 1 + is_scaled + number;
}

/* Follows an instruction with an operand and maybe a number; the code is at the offset `at`. */
static uint64_t step_operand(
	const struct elf *file, uint64_t at, uint64_t prefix, struct frame_state *state)
{
	uint64_t code = elf_number(file, at, 1), operand = elf_number(file, at + 1, 1);
	uint64_t field = operand >> 3 & 7, length = 1 + operand_length(file, at + 1);
	uint64_t size = code == 0x83 ? 1 : code == 0x81 || code == 0xc7 ? 4 : 0;
	uint64_t number = elf_number(file, at + length, (size_t)size);

	if (operand >> 6 == 3 && (operand & 7) == 4 && !(prefix & 1)) {
		/* sub of a number from the stack pointer */
		if (field != 5 || !size || number >> (8 * size - 1))
			return 0;
		state->offset += number;
	} else if (code == 0xff && field == 6) { /* push */
		state->offset += FRAME_WORD;
	} else if (code == 0xff ? field != 2
				: field == 4 && !size && code != 0x89 && !(prefix & 4)) {
		return 0;
	}
	/* The frame pointer is saved in another way. */
	if (code == 0x89 && field == 5 && operand >> 6 != 3 && !(prefix & 4))
		return 0;
	return length + size;
}

uint64_t prologue_step(const struct elf *file, uint64_t at, struct frame_state *state)
{
	uint64_t start = at, prefix = 0, code = elf_number(file, at, 1), length;

	if (elf_number(file, at, 4) == 0xfa1e0ff3) /* endbr64 */
		return 4;
	if (code == 0x64) /* fs: */
		code = elf_number(file, ++at, 1);
	if (code >> 4 == 4) {
		prefix = code;
		code = elf_number(file, ++at, 1);
	}
	if (code >> 3 == 0x50 >> 3) { /* push */
		state->offset += FRAME_WORD;
		if (code == 0x55 && !(prefix & 1)) /* %rbp */
			state->pointer = state->offset;
		length = 1;
	} else if (code == 0x6a) { /* push of a number */
		state->offset += FRAME_WORD;
		length = 2;
	} else if (code >> 4 == 7) { /* a branch */
		length = 2;
	} else if (code == 0x0f && elf_number(file, at + 1, 1) >> 4 == 8) {
		length = 6;
	} else if (code >> 3 == 0xb8 >> 3 && (code != 0xbc || prefix & 1)) { /* mov of a number */
		length = prefix & 8 ? 9 : 5;
	} else if (code == 0xe8 || (code & 0xc7) == 5) { /* call; add, sub, cmp of a number */
		length = 5;
	} else if ((code & 0xc4) == 0 || code == 0x63 || code == 0x81 || code == 0x83 ||
		   code == 0x85 || code == 0x89 || code == 0x8b || code == 0x8d || code == 0xc7 ||
		   code == 0xff) {
		length = step_operand(file, at, prefix, state);
	} else {
		return 0;
	}
	return length ? at - start + length : 0;
}
#endif
