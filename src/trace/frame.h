/* SPDX-License-Identifier: MIT */
/* Has what is known of a function's frame at one of its instructions. */
#ifndef VDSOCHECK_TRACE_FRAME_H
#define VDSOCHECK_TRACE_FRAME_H

#include "base/elf.h"

/* Registers, by DWARF's numbers. */
#if defined(__aarch64__)
#define STACK_POINTER 31U
#define FRAME_POINTER 29U
#define RETURN_ADDRESS 30U
#else
#define STACK_POINTER 7U
#define FRAME_POINTER 6U
#define RETURN_ADDRESS 16U
#endif

struct frame_state {
	uint64_t base, offset; /* the frame's address is register `base` plus `offset` */
	uint64_t saved;        /* bytes from the return address up to it; 0: it is in a register */
	uint64_t pointer;      /* bytes from the saved frame pointer up to it; 0: it is not saved */
};

/* The bytes that the stack pointer and a return address have. */
#define FRAME_WORD 8U

/*
 * Reads the state at the address `wanted` from the entry at this offset of the file, which is for
 * the code from `location` on. False: it is not known.
 */
bool cfi_read(const struct elf *file, uint64_t at, uint64_t location, uint64_t wanted,
	struct frame_state *state);

/*
 * Follows the instruction at this offset of the file, relative to the stack pointer. Returns its
 * length; 0: C functions do not have this instruction before their first call, or the code after it
 * is not reached from it.
 */
uint64_t prologue_step(const struct elf *file, uint64_t at, struct frame_state *state);

#endif
