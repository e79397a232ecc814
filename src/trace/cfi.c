/* SPDX-License-Identifier: MIT */
/*
 * Reads call frame information (.eh_frame, see the DWARF and LSB standards), as far as compilers
 * write it for C, C++ and Rust: what is not known here makes a frame unknown.
 */
#include "frame.h"

#define STATE_MAX 4

/* Addresses are encoded in four bytes with a sign, relative to where they are. */
#define ENCODING_HERE 0x1b

/* Registers are saved at multiples of minus one word, a signed number of 7 bits. */
#define SAVED_UNIT_ENCODED (0x80 - FRAME_WORD)

struct cursor {
	const struct elf *file;
	uint64_t at, end;
};

static uint64_t take(struct cursor *cursor, size_t size)
{
	uint64_t at = cursor->at;

	cursor->at += size;
	return cursor->at <= cursor->end ? elf_number(cursor->file, at, size) : 0;
}

/* Takes a number of 7 bits a byte; only its low bits matter where it is a signed one. */
static uint64_t take_leb(struct cursor *cursor)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = take(cursor, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static void set_saved(struct frame_state *state, uint64_t number, uint64_t below)
{
	if (number == RETURN_ADDRESS)
		state->saved = below;
	else if (number == FRAME_POINTER)
		state->pointer = below;
}

/*
 * Executes instructions up to that for `wanted`; *location is the address that they have reached.
 * False if there is one that the functions looked for do not need.
 */
static bool execute(struct cursor *cursor, uint64_t unit, uint64_t *location, uint64_t wanted,
	struct frame_state *state)
{
	struct frame_state states[STATE_MAX];
	size_t depth = 0;

	while (cursor->at < cursor->end) {
		uint64_t code = take(cursor, 1), step = 0;

		switch (code >> 6 ? code & 0xc0 : code) {
		case 0x40: /* DW_CFA_advance_loc */
			step = (code & 0x3f) * unit;
			break;
		case 0x02: /* DW_CFA_advance_loc1, 2, 4 */
		case 0x03:
		case 0x04:
			step = take(cursor, (size_t)1 << (code - 2)) * unit;
			break;
		case 0x00: /* DW_CFA_nop */
		case 0x2d: /* DW_CFA_AARCH64_negate_ra_state: the signature is above its 48 bits */
			break;
		case 0xc0: /* DW_CFA_restore */
			set_saved(state, code & 0x3f, 0);
			break;
		case 0x80: /* DW_CFA_offset */
			set_saved(state, code & 0x3f, take_leb(cursor) * FRAME_WORD);
			break;
		case 0x2e: /* DW_CFA_GNU_args_size */
			take_leb(cursor);
			break;
		case 0x0a: /* DW_CFA_remember_state */
			if (depth == STATE_MAX)
				return false;
			states[depth++] = *state;
			break;
		case 0x0b: /* DW_CFA_restore_state */
			if (!depth)
				return false;
			*state = states[--depth];
			break;
		case 0x0c: /* DW_CFA_def_cfa */
			state->base = take_leb(cursor);
			state->offset = take_leb(cursor);
			break;
		case 0x0d: /* DW_CFA_def_cfa_register */
			state->base = take_leb(cursor);
			break;
		case 0x0e: /* DW_CFA_def_cfa_offset */
			state->offset = take_leb(cursor);
			break;
		default:
			return false;
		}
		if (*location + step > wanted)
			return true;
		*location += step;
	}
	return cursor->at == cursor->end;
}

/*
 * Reads what the common part says of its entries: "zR", and in C++ and Rust "P" and "L", the
 * functions and tables for exceptions.
 */
static bool read_augmentation(struct cursor *start, uint64_t *unit)
{
	uint64_t letters = start->at;

	if (take(start, 1) != 'z')
		return false;
	while (take(start, 1))
		;
	*unit = take_leb(start);
	if (take(start, 1) != SAVED_UNIT_ENCODED || take_leb(start) != RETURN_ADDRESS)
		return false;
	take_leb(start);
	while (start->at <= start->end) {
		switch (elf_number(start->file, ++letters, 1)) {
		case 'P': /* an address of four bytes, or eight: DW_EH_PE_absptr, udata8, sdata8 */
			take(start, take(start, 1) & 3 ? 4 : 8);
			break;
		case 'L':
			take(start, 1);
			break;
		case 'R':
			if (take(start, 1) != ENCODING_HERE)
				return false;
			break;
		default:
			return !elf_number(start->file, letters, 1);
		}
	}
	return false;
}

bool cfi_read(const struct elf *file, uint64_t at, uint64_t location, uint64_t wanted,
	struct frame_state *state)
{
	struct cursor entry = {file, at + 16, at + 4 + elf_number(file, at, 4)};
	uint64_t common = at + 4 - elf_number(file, at + 4, 4), unit, skipped;
	struct cursor start = {file, common + 4, common + 4 + elf_number(file, common, 4)};

	if (entry.end > file->length || start.end > file->length)
		return false;
	/* The common part has an identifier and a version. */
	if (take(&start, 4) != 0 || take(&start, 1) != 1 || !read_augmentation(&start, &unit))
		return false;
	skipped = take_leb(&entry);
	entry.at += skipped < file->length ? skipped : file->length;
	*state = (struct frame_state){.base = 0};
	/* The first instructions are those for the whole function. */
	return execute(&start, unit, &(uint64_t){0}, UINT64_MAX, state) &&
	       execute(&entry, unit, &location, wanted, state);
}
