/* SPDX-License-Identifier: MIT */
/*
 * Finds the frames of the C library's functions. clock_gettime() of libc calls the vDSO, so that
 * the return address there is libc's own, and the place of the call is one frame up, or more where
 * gettimeofday() calls clock_gettime(). The distance on the stack is in libc's call frame
 * information (.eh_frame, see the DWARF and LSB standards), which unwinders rely on, too. It is
 * read for the call of a function that was found, or for each indirect call in the function; the
 * ABIs align the stack to 16 bytes there. If these do not agree, or anything is not as compilers
 * write it for C, the place stays the one in libc. musl has no such information: there the
 * function's own instructions up to its first call give the frame, which holds for that call alone.
 */
#include <string.h>

#include "frame.h"
#include "served.h"

/* In DWARF's numbers. A call pushes the return address on x86, and leaves it in x30 on arm64. */
#if defined(__aarch64__)
#define STACK_POINTER 31U
#define RETURN_ADDRESS 30U
#define PUSHED 0U
#define INSTRUCTION_STEP 4
#define DIRECT_CALL 4
#else
#define STACK_POINTER 7U
#define RETURN_ADDRESS 16U
#define PUSHED FRAME_WORD
#define INSTRUCTION_STEP 1
#define DIRECT_CALL 5
#endif
#define FUNCTION_MAX 4096
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

/*
 * Executes instructions up to that for `wanted`; *location is the address that they have reached.
 * False if there is one that C functions do not need.
 */
static bool execute(struct cursor *cursor, uint64_t unit, uint64_t *location, uint64_t wanted,
	struct frame_state *state)
{
	struct frame_state states[STATE_MAX];
	size_t depth = 0;

	while (cursor->at < cursor->end) {
		uint64_t code = take(cursor, 1), step = 0, below;

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
			if ((code & 0x3f) == RETURN_ADDRESS)
				state->saved = 0;
			break;
		case 0x80: /* DW_CFA_offset */
			below = take_leb(cursor) * FRAME_WORD;
			if ((code & 0x3f) == RETURN_ADDRESS)
				state->saved = below;
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

/* Reads the entry at this offset of the file, which is for the code from `location` on. */
static bool read_frame(const struct elf *file, uint64_t at, uint64_t location, uint64_t wanted,
	struct frame_state *state)
{
	struct cursor entry = {file, at + 16, at + 4 + elf_number(file, at, 4)};
	uint64_t common = at + 4 - elf_number(file, at + 4, 4), unit;
	struct cursor start = {file, common + 4, common + 4 + elf_number(file, common, 4)};

	if (entry.end > file->length || start.end > file->length)
		return false;
	/* The common part: its identifier, version and augmentation. */
	if (take(&start, 4) != 0 || take(&start, 1) != 1 || take(&start, 1) != 'z' ||
		take(&start, 1) != 'R' || take(&start, 1) != 0)
		return false;
	unit = take_leb(&start);
	if (take(&start, 1) != SAVED_UNIT_ENCODED || take_leb(&start) != RETURN_ADDRESS ||
		take_leb(&start) != 1 || take(&start, 1) != ENCODING_HERE || take_leb(&entry) != 0)
		return false;
	*state = (struct frame_state){.base = 0};
	/* The first instructions are those for the whole function. */
	return execute(&start, unit, &(uint64_t){0}, UINT64_MAX, state) &&
	       execute(&entry, unit, &location, wanted, state) && state->base == STACK_POINTER;
}

/*
 * Returns the offset of the entry for this address, and the address that it begins with; 0: there
 * is none. Static programs have .eh_frame without the table that finds an entry.
 */
static uint64_t find_entry(const struct elf *file, uint64_t address, uint64_t *location)
{
	uint64_t section = elf_section(file, ".eh_frame");
	uint64_t at = ELF_READ(file, section, Shdr, sh_offset);
	uint64_t load = ELF_READ(file, section, Shdr, sh_addr) - at, size;

	for (; section && (size = elf_number(file, at, 4)); at += 4 + size) {
		*location = load + at + 8 + (uint64_t)(int64_t)(int32_t)elf_number(file, at + 8, 4);
		if (elf_number(file, at + 4, 4) != 0 &&
			address - *location < elf_number(file, at + 12, 4))
			return at;
	}
	return 0;
}

/* The functions that have a frame, by their offsets in the file. */
struct found {
	bool is_any; /* a wrapper: the call that leads to the vDSO may be any in it */
	uint64_t starts[SERVED_FRAMES];
	size_t count;
};

/* Returns the distance in bytes to the function that is called directly, or 0 if none is. */
static uint64_t find_callee(const struct elf *file, uint64_t at)
{
#if defined(__aarch64__)
	uint64_t code = elf_number(file, at, 4), sign = 1 << 25;

	return code >> 26 == 0x25 ? 4 * (((code & 0x3ffffff) ^ sign) - sign) : 0;
#else
	if (elf_number(file, at, 1) != 0xe8)
		return 0;
	return 5 + (uint64_t)(int64_t)(int32_t)elf_number(file, at + 1, 4);
#endif
}

static bool calls_found(const struct elf *file, uint64_t at, const struct found *found)
{
	uint64_t callee = find_callee(file, at);

	for (size_t i = 0; callee && i < found->count; i++) {
		if (found->starts[i] == at + callee)
			return true;
	}
	return false;
}

/*
 * Returns whether the instruction calls through a register (arm64: blr) or memory (x86: 0xff with
 * operation 2, after 0x41 for the upper registers).
 */
static bool is_indirect_call(const struct elf *file, uint64_t at)
{
#if defined(__aarch64__)
	return (elf_number(file, at, 4) & 0xfffffc1f) == 0xd63f0000;
#else
	if (elf_number(file, at, 1) == 0x41)
		at++;
	return (elf_number(file, at, 2) & 0x38ff) == 0x10ff;
#endif
}

static bool make_frame(const struct elf *file, uint64_t start, uint64_t size,
	const struct frame_state *state, struct served_frame *frame)
{
	uint64_t up = state->offset - state->saved + PUSHED;

	if (state->offset % 16 != 0 || !state->saved || state->saved > state->offset ||
		state->offset > UINT16_MAX)
		return false;
	*frame = (struct served_frame){
		start - file->load, (uint32_t)size, (uint16_t)up, (uint16_t)state->offset};
	return true;
}

/* Finds the frame from the instructions up to the first call, for its return address only. */
static bool find_by_code(const struct elf *file, const struct elf_symbol *symbol, uint64_t code,
	const struct found *found, struct served_frame *frame)
{
	struct frame_state state = {STACK_POINTER, PUSHED, PUSHED};
	uint64_t length;

	for (uint64_t at = 0; at < symbol->size; at += length) {
		bool is_wanted =
			is_indirect_call(file, code + at) || calls_found(file, code + at, found);

		length = prologue_step(file, code + at, &state);
		/* Another function that is called directly may not return. */
		if (!length || (!is_wanted && find_callee(file, code + at)))
			return false;
		if (is_wanted)
			return make_frame(file, symbol->start + at + length, 1, &state, frame);
	}
	return false;
}

/* Bytes of other instructions may look like an indirect call, but not like a direct one. */
static bool find_in_function(const struct elf *file, const struct elf_symbol *symbol, uint64_t code,
	const struct found *found, struct served_frame *frame)
{
	bool is_known = true;

	for (uint64_t i = 0; i + 1 < symbol->size; i += INSTRUCTION_STEP) {
		uint64_t address = symbol->start + i, location, entry;
		bool is_direct = calls_found(file, code + i, found);
		struct frame_state state;
		struct served_frame next;

		if (!is_direct && !is_indirect_call(file, code + i) &&
			!(found->is_any && find_callee(file, code + i)))
			continue;
		entry = find_entry(file, address, &location);
		if (!entry)
			return find_by_code(file, symbol, code, found, frame);
		if (!read_frame(file, entry, location, address, &state))
			return false;
		if (is_direct)
			return make_frame(file, address + DIRECT_CALL, 1, &state, frame);
		if (!make_frame(file, symbol->start, symbol->size, &state, &next))
			continue;
		is_known = !frame->size ||
		           (is_known && frame->up == next.up && frame->frame == next.frame);
		*frame = next;
	}
	return frame->size && is_known;
}

size_t frames_find(const unsigned char *bytes, size_t length, const char *const *names,
	bool are_wrappers, struct served_frame *frames)
{
	struct found found = {.is_any = are_wrappers};
	struct elf file;
	uint64_t code;

	memset(frames, 0, SERVED_FRAMES * sizeof(*frames));
	if (!elf_start(&file, bytes, length) || file.narrow)
		return 0;
	for (; found.count < SERVED_FRAMES - 1 && *names; names++) {
		struct elf_symbol symbol = {.name = text_span(*names)};
		struct served_frame frame = {.size = 0};

		if (!elf_find(&file, &symbol))
			continue;
		code = elf_offset(&file, symbol.start);
		if (!code || symbol.size > FUNCTION_MAX || symbol.size > length - code ||
			!find_in_function(&file, &symbol, code, &found, &frame))
			continue;
		found.starts[found.count] = code;
		frames[found.count++] = frame;
	}
	return found.count;
}
