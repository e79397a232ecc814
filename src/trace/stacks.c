/* SPDX-License-Identifier: MIT */
/*
 * Keeps stacks that calls were made from, and unwinds them by the call frame information of the
 * files, which libdwfl of elfutils reads. The processes of a program lie at addresses of their own,
 * and thousands may have run: each file has one address here, for all of them. What a stack has of
 * code is brought there when it is read.
 */
#include "stack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "base/text.h"

/* Limits the time that unwinding takes, and how many are unwound. */
#define UNWIND_NS (5 * NS_PER_SECOND)
#define STACKS_MOST 8192

struct image {
	struct span text; /* owned */
	struct maps maps; /* of the text */
	size_t perf_map;
};

struct stack {
	size_t row, image;
	double weight;
	struct stack_sample sample;
};

struct stacks {
	struct stack *list;
	size_t count, room;
	struct image *images;
	size_t image_count, image_room;
	unsigned halvings; /* each stack is kept with a half of the chance before, for twice as many
	                    */
	uint64_t seen;
};

struct stacks *stacks_begin(struct stacks *stacks, struct span maps, size_t perf_map)
{
	struct image *image;

	if (!stacks)
		stacks = xcalloc(1, sizeof(*stacks));
	stacks->images = array_grow(
		stacks->images, stacks->image_count, &stacks->image_room, sizeof(*stacks->images));
	image = &stacks->images[stacks->image_count++];
	*image = (struct image){.text = span_copy(maps), .perf_map = perf_map};
	(void)maps_keep_code(&image->text);
	image->maps = maps_parse(image->text);
	return stacks;
}

/* A hash of a number: whether one is kept is not in step with anything. */
static bool is_kept(uint64_t number, unsigned halvings)
{
	number = (number + 1) * 0x9e3779b97f4a7c15;
	number = (number ^ number >> 32) * 0x9e3779b97f4a7c15;
	return !halvings || !(number >> (64 - halvings));
}

static void halve(struct stacks *stacks)
{
	size_t kept = 0;

	stacks->halvings++;
	for (size_t i = 0; i < stacks->count; i++) {
		struct stack *stack = &stacks->list[i];

		if (!is_kept(i + stacks->seen, 1))
			continue;
		stack->weight *= 2;
		stacks->list[kept++] = *stack;
	}
	stacks->count = kept;
}

void stacks_add(struct stacks *stacks, size_t row, double weight, const struct stack_sample *sample)
{
	if (!is_kept(stacks->seen++, stacks->halvings))
		return;
	if (stacks->count == STACKS_MOST)
		halve(stacks);
	stacks->list =
		array_grow(stacks->list, stacks->count, &stacks->room, sizeof(*stacks->list));
	stacks->list[stacks->count++] = (struct stack){.row = row,
		.image = stacks->image_count - 1,
		.weight = weight * (double)(UINT64_C(1) << stacks->halvings),
		.sample = *sample};
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->image_count; i++) {
		maps_free(&stacks->images[i].maps);
		span_free(stacks->images[i].text);
	}
	free(stacks->images);
	free(stacks->list);
	free(stacks);
}

/* ---- in a child: files that may be hostile, or slow to read ---- */

struct unwound {
	uint64_t addresses[STACK_FRAMES]; /* 0: not known */
};

#if defined(LIBDW) || defined(LIBDW_LINKED)
#include <dlfcn.h>
#include <elfutils/libdwfl.h>

#define EACH_FUNCTION(apply)                                                                       \
	apply(elf_memory) apply(elf_version) apply(dwfl_begin) apply(dwfl_report_begin)            \
		apply(dwfl_report_module) apply(dwfl_report_end) apply(dwfl_attach_state)          \
			apply(dwfl_thread_state_registers) apply(dwfl_thread_state_register_pc)    \
				apply(dwfl_getthread_frames) apply(dwfl_frame_pc)

static struct {
#define DECLARE(name) __typeof__(name) *name;
	EACH_FUNCTION(DECLARE)
} lib;

static bool stacks_load(void)
{
#ifdef LIBDW_LINKED
#define FIND(name) lib.name = name;
	bool is_there = true;
#else
#define FIND(name) is_there = is_there && (lib.name = dlsym(library, #name));
	void *library = dlopen("libdw.so.1", RTLD_LAZY);
	bool is_there = library;
#endif
	EACH_FUNCTION(FIND)
	return is_there;
}

/* Frames of the C library may be before those that are kept. */
#define FRAMES_MOST (STACK_FRAMES + 4)

/* A file has all addresses from its number times this on, in place of those of any process. */
#define BIAS_SHIFT 36

/* More than a vDSO has. */
#define VDSO_SIZE_MOST 65536

struct file {
	struct span path;
	uint64_t inode;
	struct code_file code;
	bool is_open, is_vdso;
};

/* The function that an address of a file is in, for those that were looked for last. */
struct known {
	uint64_t address; /* here */
	struct elf_function function;
	bool is_c; /* by its name it is one of the C library */
};

#define KNOWN_MOST 4096

/* An address of the process, and here. */
struct moved {
	uint64_t from, to;
};

static struct {
	const struct stacks *stacks;
	int root;
	struct unwound *unwound; /* shared */
	struct file *files;
	size_t file_count, file_room;
	struct known known[KNOWN_MOST];

	/* The stack that is unwound. */
	const struct stack *stack;
	struct moved moved[sizeof(((struct stack_sample *)NULL)->bytes) / sizeof(uint64_t) + 1];
	size_t moved_count;
	uint64_t frames[FRAMES_MOST]; /* here */
	size_t frame_count;
} now;

/* All processes have the same vDSO as we. */
static bool copy_vdso(const struct mapping *mapping, struct code_file *code)
{
	const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	const size_t size = (size_t)(mapping->end - mapping->start);
	unsigned char *copy;

	if (!image || mapping->end - mapping->start > VDSO_SIZE_MOST)
		return false;
	/* In a mapping of its own, as the files are. */
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return false;
	memcpy(copy, image, size);
	code->debug = -1;
	if (!elf_start(&code->elf, copy, size))
		return false;
	code->symbols = code->elf;
	return true;
}

/* Returns the number of a file, from 1 on. */
static uint64_t find_file(const struct mapping *mapping)
{
	struct file *file;
	char path[512];

	for (size_t i = 0; i < now.file_count; i++) {
		file = &now.files[i];
		if (file->inode == mapping->inode && file->path.length == mapping->path.length &&
			memcmp(file->path.at, mapping->path.at, file->path.length) == 0)
			return i + 1;
	}
	now.files = array_grow(now.files, now.file_count, &now.file_room, sizeof(*now.files));
	file = &now.files[now.file_count++];
	*file = (struct file){.path = mapping->path, .inode = mapping->inode};
	text_clean_span(path, sizeof(path), mapping->path);
	file->is_vdso = mapping->is_vdso;
	file->is_open = mapping->is_vdso ? copy_vdso(mapping, &file->code)
	                                 : code_open(now.root, path, mapping->inode, &file->code);
	return now.file_count;
}

static const struct file *file_of(uint64_t address)
{
	uint64_t number = address >> BIAS_SHIFT;

	return number && number <= now.file_count ? &now.files[number - 1] : NULL;
}

/* Brings an address of code to here. Another number stays what it is. */
static uint64_t move(const struct image *image, uint64_t address)
{
	const struct place_mapping *mapping;
	uint64_t number;

#if defined(__aarch64__)
	address &= (UINT64_C(1) << 48) - 1; /* a signature is above */
#endif
	mapping = maps_find(&image->maps, address);
	if (!mapping || !mapping->map.executable || !(mapping->map.inode || mapping->map.is_vdso))
		return address;
	number = find_file(&mapping->map);
	if (!now.files[number - 1].is_open)
		return address;
	return (number << BIAS_SHIFT) + address - mapping->load +
	       now.files[number - 1].code.elf.load;
}

static uint64_t word_of(const struct stack_sample *sample, size_t at)
{
	uint64_t word;

	memcpy(&word, sample->bytes + at, sizeof(word));
	return word;
}

/* Moves all that the stack has of code, which opens its files. */
static void move_stack(const struct stack *stack)
{
	const struct image *image = &now.stacks->images[stack->image];
	const struct stack_sample *sample = &stack->sample;
	uint64_t from = sample->registers[STACK_PLACE];

	now.stack = stack;
	now.moved[0] = (struct moved){from, move(image, from)};
	now.moved_count = 1;
	for (size_t at = 0; at + sizeof(from) <= sample->size; at += sizeof(from)) {
		from = word_of(sample, at);
		now.moved[now.moved_count++] = (struct moved){from, move(image, from)};
	}
}

/* ---- libdwfl's questions ---- */

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread)
{
	(void)argument;
	if (*thread)
		return 0;
	*thread = dwfl;
	return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t id, void *argument, void **thread)
{
	(void)argument;
	(void)id;
	*thread = dwfl;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *argument)
{
	const struct stack_sample *sample = &now.stack->sample;
	const uint64_t at = address - sample->registers[STACK_POINTER];

	(void)dwfl;
	(void)argument;
	if (at % sizeof(uint64_t) || at > sample->size || sample->size - at < sizeof(uint64_t))
		return false;
	*word = now.moved[1 + at / sizeof(uint64_t)].to;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *argument)
{
	Dwarf_Word words[STACK_REGISTERS];

	(void)argument;
	memcpy(words, now.stack->sample.registers, sizeof(words));
	words[STACK_PLACE] = now.moved[0].to;
	lib.dwfl_thread_state_register_pc(thread, words[STACK_PLACE]);
	return lib.dwfl_thread_state_registers(thread, 0,
#if defined(__aarch64__)
		STACK_PLACE,
#else
		STACK_REGISTERS,
#endif
		words);
}

static int take_frame(Dwfl_Frame *frame, void *argument)
{
	Dwarf_Addr place;

	(void)argument;
	if (!lib.dwfl_frame_pc(frame, &place, NULL))
		return DWARF_CB_ABORT;
	now.frames[now.frame_count++] = place;
	return now.frame_count < FRAMES_MOST ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static int find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start,
	char **path, Elf **elf)
{
	const struct file *file = file_of(start);

	(void)module;
	(void)data;
	(void)name;
	(void)path;
	/* Headers of compressed sections are written to, in a mapping of our own. */
	if (file && mprotect((void *)(uintptr_t)file->code.elf.bytes, file->code.elf.length,
			    PROT_READ | PROT_WRITE) == 0)
		*elf = lib.elf_memory(
			(char *)(uintptr_t)file->code.elf.bytes, file->code.elf.length);
	return -1;
}

static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start,
	const char *path, const char *link, GElf_Word check, char **found)
{
	(void)module;
	(void)data;
	(void)name;
	(void)start;
	(void)path;
	(void)link;
	(void)check;
	(void)found;
	return -1;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers};
static const Dwfl_Callbacks callbacks = {.find_elf = find_elf, .find_debuginfo = find_debuginfo};

/* A module begins where its first segment does, in the memory of a process. */
static void report_file(Dwfl *dwfl, size_t number)
{
	const struct elf *elf = &now.files[number - 1].code.elf;
	uint64_t first = UINT64_MAX, end = 0;

	for (uint64_t at = 0; (at = elf_segment(elf, PT_LOAD, at));) {
		const uint64_t start = ELF_READ(elf, at, Phdr, p_vaddr);
		const uint64_t size = ELF_READ(elf, at, Phdr, p_memsz);
		const uint64_t align = ELF_READ(elf, at, Phdr, p_align);

		if (first == UINT64_MAX)
			first = align ? start & -align : start;
		end = start + size > end ? start + size : end;
	}
	if (now.files[number - 1].is_open && first < end && end < UINT64_C(1) << BIAS_SHIFT)
		lib.dwfl_report_module(dwfl, "file", ((uint64_t)number << BIAS_SHIFT) + first,
			((uint64_t)number << BIAS_SHIFT) + end);
}

static Dwfl *begin(void)
{
	Dwfl *dwfl;

	if (!stacks_load() || lib.elf_version(EV_CURRENT) == EV_NONE ||
		!(dwfl = lib.dwfl_begin(&callbacks)))
		return NULL;
	for (size_t i = 0; i < now.stacks->count; i++)
		move_stack(&now.stacks->list[i]);
	lib.dwfl_report_begin(dwfl);
	for (size_t number = 1; number <= now.file_count; number++)
		report_file(dwfl, number);
	return lib.dwfl_report_end(dwfl, NULL, NULL) == 0 &&
	                       lib.dwfl_attach_state(dwfl, NULL, 1, &thread_callbacks, NULL)
	               ? dwfl
	               : NULL;
}

/* ---- the frames of a stack ---- */

/* The C library's functions that read the clock or start a program's, as a static one has them. */
static bool is_of_c_library(struct span name)
{
	static const char *const names[] = {"clock_gettime", "gettimeofday", "time", "timespec_get",
		"clock", "clock_getres", "getcpu", "sched_getcpu", "ftime", "libc_start_call_main",
		"libc_start_main", "start_thread", "clone", "clone3"};

	while (text_take_prefix(&name, "_"))
		;
	(void)(text_take_prefix(&name, "GI_") || text_take_prefix(&name, "vdso_"));
	while (text_take_prefix(&name, "_"))
		;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (text_equals(name, names[i]))
			return true;
	}
	return false;
}

/* The byte at the address is one of the instruction that calls. */
static const struct known *find_function(uint64_t address)
{
	struct known *known = &now.known[(address * 0x9e3779b97f4a7c15) >> 52];
	const struct file *file = file_of(address);
	const uint64_t place = address & ((UINT64_C(1) << BIAS_SHIFT) - 1);
	struct elf_functions functions;
	struct elf_function function;
	struct span name;

	if (known->address == address)
		return known;
	*known = (struct known){.address = address};
	elf_functions_start(&file->code.symbols, &functions);
	while (elf_functions_next(&file->code.symbols, &functions, &function)) {
		if (place - function.start >= function.size)
			continue;
		name = elf_function_name(&file->code.symbols, &functions, &function);
		known->function = function;
		known->is_c |= is_of_c_library(name);
	}
	return known;
}

/* Returns the address in the process. */
static uint64_t move_back(uint64_t address)
{
	for (size_t i = 0; i < now.moved_count; i++) {
		if (now.moved[i].to == address)
			return now.moved[i].from;
	}
	return 0;
}

/*
 * Leaves out the C library's functions before another one, and those that started it. The caller
 * of a function is known by its begin: it may call from several places.
 */
static void choose_frames(struct unwound *unwound)
{
	const struct image *image = &now.stacks->images[now.stack->image];
	size_t kept = 0;

	for (size_t i = 0; i < now.frame_count && kept < STACK_FRAMES; i++) {
		const uint64_t in_call = now.frames[i] - (i > 0);
		uint64_t address = move_back(now.frames[i]) + (i == 0);
		const struct place_mapping *mapping = maps_find(&image->maps, address - 1);
		const struct file *file = file_of(in_call);
		const struct known *known = file ? find_function(in_call) : NULL;
		const bool is_c =
			file && (file->is_vdso || files_is_c_library(file->path) || known->is_c);

		if (!mapping || !mapping->map.executable || (kept && is_c))
			break;
		if (kept && known && known->function.size)
			address -= in_call - known->function.start -
			           (in_call >> BIAS_SHIFT << BIAS_SHIFT);
		unwound->addresses[kept] = address;
		kept += !(is_c && i + 1 < now.frame_count && kept == 0);
	}
}

static void unwind(void *unused)
{
	Dwfl *dwfl;

	(void)unused;
	privileges_keep(PRIVILEGES_NONE);
	dwfl = begin();
	for (size_t i = 0; dwfl && i < now.stacks->count; i++) {
		move_stack(&now.stacks->list[i]);
		now.frame_count = 0;
		(void)lib.dwfl_getthread_frames(dwfl, 1, take_frame, NULL);
		choose_frames(&now.unwound[i]);
	}
}

static struct unwound *unwind_all(const struct stacks *stacks, int root, size_t size)
{
	struct deadline deadline = deadline_after(UNWIND_NS);
	struct fact why;

	now.stacks = stacks;
	now.root = root;
	now.unwound = child_share(size, &why);
	if (now.unwound)
		(void)child_run(unwind, NULL, NULL, &deadline, &why);
	return now.unwound;
}

#else

static struct unwound *unwind_all(const struct stacks *stacks, int root, size_t size)
{
	(void)stacks;
	(void)root;
	(void)size;
	return NULL;
}

#endif

void stacks_take(const struct stacks *stacks, int root, stack_taker *take, void *argument)
{
	struct unwound *unwound;
	size_t size;

	if (!stacks || !stacks->count)
		return;
	size = stacks->count * sizeof(*unwound);
	unwound = unwind_all(stacks, root, size);
	for (size_t i = 0; i < stacks->count; i++) {
		const struct stack *stack = &stacks->list[i];
		const struct image *image = &stacks->images[stack->image];
		uint64_t alone[STACK_FRAMES] = {stack->sample.registers[STACK_PLACE] + 1};
		const bool is_unwound = unwound && unwound[i].addresses[0];

		take(argument, stack->row, stack->weight, &image->maps, image->perf_map,
			is_unwound ? unwound[i].addresses : alone);
	}
	if (unwound)
		child_unshare(unwound, size);
}
