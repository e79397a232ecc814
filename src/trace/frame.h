/* SPDX-License-Identifier: MIT */
/* Has what is known of a function's frame at one of its instructions. */
#ifndef VDSOCHECK_TRACE_FRAME_H
#define VDSOCHECK_TRACE_FRAME_H

#include "base/elf.h"

struct frame_state {
	uint64_t base, offset; /* the frame's address is register `base` plus `offset` */
	uint64_t saved;        /* the return address is so far below it; 0: in a register */
};

/* The bytes that the stack pointer and a return address have. */
#define FRAME_WORD(file) ((file)->narrow ? 4U : 8U)

/*
 * Follows the instruction at this offset of the file, relative to the stack pointer. Returns its
 * length; 0: it is one that does not stand before a first call in C functions, or that the code
 * behind it is not reached from.
 */
uint64_t prologue_step(const struct elf *file, uint64_t at, struct frame_state *state);

#endif
