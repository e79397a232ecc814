/* SPDX-License-Identifier: MIT */
/*
 * Finds the frames of functions that read the clock for others. clock_gettime() of libc calls the
 * vDSO, so that the return address there is libc's own, and the place of the call is one frame up,
 * or more where gettimeofday() calls clock_gettime(), or a language has a function of its own for
 * it. The distance on the stack is in the call frame information, which unwinders rely on, too. It
 * is read for the call of a function that was found, or for each indirect call in the function; the
 * ABIs align the stack to 16 bytes there. If these do not agree, or anything is not as compilers
 * write it, the place stays the one in the function.
 * Go has no such information, but its ABI keeps a frame pointer. musl has neither: there the
 * function's own instructions up to its first call give the frame, which holds for that call alone.
 */
#include <string.h>

#include "base/memory.h"
#include "frame.h"
#include "served.h"

/* A call pushes the return address on x86, and leaves it in x30 on arm64. */
#if defined(__aarch64__)
#define PUSHED 0U
#define INSTRUCTION_STEP 4
#define DIRECT_CALL 4
#else
#define PUSHED FRAME_WORD
#define INSTRUCTION_STEP 1
#define DIRECT_CALL 5
#endif
#define FUNCTION_MAX 4096

/* A function sets up its frame pointer within so many bytes. */
#define SETUP_MAX 64

/* A function that reads the clock for others. */
struct function {
	size_t name; /* index in the list of names */
	uint64_t start, size, code;
	uint64_t entry,
		location; /* of its call frame information, and the address it begins with */
	bool has_frame;
};

struct search {
	const struct elf *file;
	struct frame_names wanted;
	struct function list[SERVED_FRAMES - 1];
	size_t count;
};

/*
 * Finds the entries for the functions. Static programs have .eh_frame without the table that finds
 * an entry, and so all of them are read, once.
 */
static void find_entries(const struct elf *file, struct search *searches, size_t count)
{
	uint64_t section = elf_section(file, ".eh_frame");
	uint64_t at = ELF_READ(file, section, Shdr, sh_offset);
	uint64_t load = ELF_READ(file, section, Shdr, sh_addr) - at, size;

	for (; section && (size = elf_number(file, at, 4)); at += 4 + size) {
		uint64_t location =
			load + at + 8 + (uint64_t)(int64_t)(int32_t)elf_number(file, at + 8, 4);
		uint64_t length = elf_number(file, at + 4, 4) ? elf_number(file, at + 12, 4) : 0;

		for (struct search *search = searches; search < searches + count; search++) {
			for (size_t i = 0; i < search->count; i++) {
				struct function *function = &search->list[i];

				if (function->start - location < length && !function->entry) {
					function->entry = at;
					function->location = location;
				}
			}
		}
	}
}

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

static bool calls_found(const struct search *search, uint64_t at)
{
	uint64_t callee = find_callee(search->file, at);

	for (size_t i = 0; callee && i < search->count; i++) {
		if (search->list[i].has_frame && search->list[i].code == at + callee)
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

/*
 * The caller may have a frame pointer, which is then the function's own, or saved: on arm64 below
 * the return address, as its ABI wants it.
 */
static bool make_frame(const struct elf *file, uint64_t start, uint64_t size,
	const struct frame_state *state, struct served_frame *frame)
{
	bool by_pointer = state->base == FRAME_POINTER;
	uint64_t up = state->offset - state->saved + PUSHED, saved = 0;

	if (!state->saved || state->saved > state->offset || state->pointer > state->offset ||
		state->offset > SERVED_FRAME_MOST)
		return false;
	if (by_pointer) {
		if (state->pointer != state->offset || state->pointer - state->saved != FRAME_WORD)
			return false;
		up = FRAME_WORD | SERVED_BY_POINTER;
	} else if (state->base != STACK_POINTER || state->offset % 16 != 0) {
		return false;
	}
	if (state->pointer)
		saved = state->pointer - state->saved;
#if defined(__aarch64__)
	if (saved && saved != FRAME_WORD)
		return false;
	up |= saved ? SERVED_SAVES_POINTER : 0;
	saved = state->offset;
#else
	if (saved % FRAME_WORD != 0)
		return false;
#endif
	*frame = (struct served_frame){
		start - file->load, (uint32_t)size, (uint16_t)up, (uint16_t)saved};
	return true;
}

/* Says whether the function is Go's own: the names of its functions have a dot, those of C none. */
static bool is_of_go(const struct search *search, const struct function *function)
{
	return search->wanted.are_wrappers && strchr(search->wanted.names[function->name], '.') &&
	       elf_section(search->file, ".note.go.buildid");
}

/* Says whether a function of Go sets up a frame pointer, and has no other use for the register. */
static bool has_pointer(const struct elf *file, const struct function *function)
{
	bool is_set = false;

	for (uint64_t i = 0; i < SETUP_MAX && i < function->size; i += INSTRUCTION_STEP) {
		uint64_t at = function->code + i, code = elf_number(file, at, 4);

#if defined(__aarch64__)
		/* stur x29, [sp, #-8]; sub x29, sp, #8 */
		is_set |= code == 0xf81f83fd && elf_number(file, at + 4, 4) == 0xd10023fd;
#else
		/* push %rbp; mov %rsp, %rbp; before Go 1.21: mov %rbp, n(%rsp); lea n(%rsp), %rbp
		 */
		size_t n = code >> 22 & 1 ? 1 : code >> 23 & 1 ? 4 : 0;

		/* Before Go 1.16, functions that call the vDSO keep the stack pointer there. */
		if (is_set && (code & 0xffffff) == 0xe58948)
			return false;
		if (code == 0xe5894855)
			i += 3;
		is_set |= code == 0xe5894855 ||
		          ((code & ~(3ULL << 22)) == 0x242c8948 &&
				  elf_number(file, at + 4 + n, 4) == (code ^ 0x0400) &&
				  elf_number(file, at + 4, n) == elf_number(file, at + 8 + n, n));
#endif
	}
	return is_set;
}

/* Finds the frame from the instructions up to the first call, for its return address only. */
static bool find_by_code(
	const struct search *search, const struct function *function, struct served_frame *frame)
{
	const struct elf *file = search->file;
	struct frame_state state = {STACK_POINTER, PUSHED, PUSHED, 0};
	uint64_t length;

	for (uint64_t i = 0; i < function->size; i += length) {
		uint64_t at = function->code + i;
		bool is_wanted = is_indirect_call(file, at) || calls_found(search, at);

		length = prologue_step(file, at, &state);
		/* Another function that is called directly may not return. */
		if (!length || (!is_wanted && find_callee(file, at)))
			return false;
		if (is_wanted)
			return make_frame(file, function->start + i + length, 1, &state, frame);
	}
	return false;
}

/* Bytes of other instructions may look like an indirect call, but not like a direct one. */
static bool find_in_function(
	const struct search *search, const struct function *function, struct served_frame *frame)
{
	static const struct frame_state by_pointer = {
		FRAME_POINTER, 2 * FRAME_WORD, FRAME_WORD, 2 * FRAME_WORD};
	const struct elf *file = search->file;
	bool is_known = true;

	if (!function->entry && is_of_go(search, function) && has_pointer(file, function)) {
		is_known = make_frame(file, function->start, function->size, &by_pointer, frame);
		frame->up |= SERVED_OF_GO;
		return is_known;
	}
	if (!function->entry)
		return find_by_code(search, function, frame);
	for (uint64_t i = 0; i + 1 < function->size; i += INSTRUCTION_STEP) {
		uint64_t address = function->start + i, at = function->code + i;
		bool is_direct = calls_found(search, at);
		struct frame_state state;
		struct served_frame next;

		if (!is_direct && !is_indirect_call(file, at) &&
			!(search->wanted.are_wrappers && find_callee(file, at)))
			continue;
		if (!cfi_read(file, function->entry, function->location, address, &state))
			return false;
		if (is_direct && !search->wanted.are_wrappers)
			return make_frame(file, address + DIRECT_CALL, 1, &state, frame);
		if (!make_frame(file, function->start, function->size, &state, &next))
			continue;
		is_known = !frame->size ||
		           (is_known && frame->up == next.up && frame->frame == next.frame);
		*frame = next;
	}
	return frame->size && is_known;
}

/* Says whether the name is like the pattern, in which a '*' stands for any characters. */
static bool is_like(struct span name, const char *pattern)
{
	while (*pattern && *pattern != '*' && name.length && *name.at == *pattern) {
		name = (struct span){name.at + 1, name.length - 1};
		pattern++;
	}
	if (*pattern != '*')
		return !*pattern && !name.length;
	if (!strchr(++pattern, '*'))
		return text_take_suffix(&name, pattern);
	while (name.length && !is_like(name, pattern))
		name = (struct span){name.at + 1, name.length - 1};
	return name.length;
}

/* Returns the index of the function's name in the list, or of its end. */
static size_t find_name(const struct search *search, struct span symbol)
{
	size_t i = 0;

	while (search->wanted.names[i] && !is_like(symbol, search->wanted.names[i]))
		i++;
	return i;
}

/* Keeps the list in the order of the names. A function may have several of them. */
static void add_function(struct search *search, const struct elf_function *symbol, struct span name)
{
	struct function function = {
		.start = symbol->start, .size = symbol->size, .name = find_name(search, name)};
	size_t at = search->count;

	if (!search->wanted.names[function.name])
		return;
	function.code = elf_offset(search->file, symbol->start);
	if (!function.code || !symbol->size || symbol->size > FUNCTION_MAX ||
		symbol->size > search->file->length - function.code)
		return;
	for (size_t i = 0; i < search->count; i++) {
		if (search->list[i].start == symbol->start)
			return;
	}
	while (at && search->list[at - 1].name > function.name)
		at--;
	if (at == ARRAY_SIZE(search->list))
		return;
	search->count += search->count < ARRAY_SIZE(search->list);
	memmove(search->list + at + 1, search->list + at,
		(search->count - at - 1) * sizeof(*search->list));
	search->list[at] = function;
}

/* Finds the frames of the functions that were found. Returns their number. */
static size_t find_frames(struct search *search)
{
	size_t found = 0;

	for (size_t i = 0; i < search->count; i++) {
		struct served_frame frame = {.size = 0};

		search->list[i].has_frame = find_in_function(search, &search->list[i], &frame);
		if (search->list[i].has_frame)
			search->wanted.frames[found++] = frame;
	}
	return found;
}

size_t frames_find(const struct elf *file, const struct elf *symbols,
	const struct frame_names *wanted, size_t count)
{
	struct search searches[1 + SERVED_CALL_COUNT] = {{.file = NULL}};
	struct elf_functions functions;
	struct elf_function function;
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		searches[i] = (struct search){.file = file, .wanted = wanted[i]};
		memset(wanted[i].frames, 0, SERVED_FRAMES * sizeof(*wanted[i].frames));
	}
	if (file->narrow)
		return 0;
	elf_functions_start(symbols, &functions);
	while (elf_functions_next(symbols, &functions, &function)) {
		struct span name = elf_function_name(symbols, &functions, &function);

		for (size_t i = 0; i < count; i++)
			add_function(&searches[i], &function, name);
	}
	find_entries(file, searches, count);
	for (size_t i = 0; i < count; i++)
		found += find_frames(&searches[i]);
	return found;
}
