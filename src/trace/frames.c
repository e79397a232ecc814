/* SPDX-License-Identifier: MIT */
/*
 * Unwinds stacks by the call frame information of files, and names functions and source lines:
 * libdwfl of elfutils reads the files, their debug information and that of stripped ones. A dynamic
 * program loads it in the child that finds places: no other run takes longer for it, and it need
 * not be installed. Symbols are read by libiberty, which knows those of C++ and both of Rust's.
 */
#include "frames.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

/* Frames of the C library may be before those that are kept. */
#define FRAMES_MOST (PLACE_FRAMES + 4)

/* A function that is known by one of its instructions. */
struct known {
	struct span path;
	uint64_t file, offset; /* inode and place in the file; or number and address of made code */
	uint64_t address;      /* in the file */
	char name[sizeof(((struct found *)NULL)->names[0])];
	bool is_c; /* by its name it is one of the C library, or of Go's runtime */
};

struct made_function {
	uint64_t start, size;
	struct span name;
};

static struct {
	int root; /* of the images without a map of run-time code, which has another */
	const struct perf_map *perf_maps;
	const char *why_not; /* libdw is not used */
	struct known known[4096];
	/* The stack that is unwound. */
	const struct stack *stack;
	uint64_t frames[FRAMES_MOST];
	size_t frame_count;
	/* The functions of the last map of run-time code. */
	struct made_function *made;
	size_t made_count, made_room;
	uint64_t made_map;
} now;

/* ---- names ---- */

/*
 * libiberty's; <demangle.h> lies in a place of its own on each distribution. They return memory of
 * malloc(3), or NULL for a symbol of another kind.
 */
extern char *rust_demangle(const char *symbol, int options);
extern char *cplus_demangle_v3(const char *symbol, int options);

/* A longer symbol stays as it is: it is the arguments of templates. */
#define SYMBOL_SIZE 1024

void name_read(struct span symbol, char *to, size_t size)
{
	char *name = NULL;

#ifdef DEMANGLER
	char text[SYMBOL_SIZE];

	/* Without an option, parameters are left out. */
	if (symbol.length < sizeof(text) && text_starts(symbol, "_")) {
		text_clean_span(text, sizeof(text), symbol);
		name = rust_demangle(text, 0);
		name = name ? name : cplus_demangle_v3(text, 0);
	}
#endif
	text_clean_span(to, size, name ? text_span(name) : symbol);
	free(name);
}

/* The last line of a perf map that has an address names its run-time code. */
static void name_made_code(struct known *known)
{
	struct made_function *made, next;
	struct span rest;

	if (now.made_map != known->file) {
		rest = perf_map_read(&now.perf_maps[known->file]);
		now.made_map = known->file;
		now.made_count = 0;
		while (perf_map_next(&rest, &next.start, &next.size, &next.name)) {
			now.made = array_grow(
				now.made, now.made_count, &now.made_room, sizeof(*now.made));
			now.made[now.made_count++] = next;
		}
	}
	for (size_t i = now.made_count; i && !*known->name; i--) {
		made = &now.made[i - 1];
		if (known->offset - made->start < made->size)
			text_clean_span(known->name, sizeof(known->name), made->name);
	}
}

/* ---- libdwfl ---- */

#if defined(LIBDW) || defined(LIBDW_LINKED)
#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

/* clang-format off */
#define EACH_FUNCTION(X) \
	X(dwarf_get_units) X(dwarf_getsrc_die) X(dwarf_haspc) X(dwarf_lineno) X(dwarf_linesrc) \
	X(dwelf_elf_gnu_build_id) X(dwfl_addrmodule) X(dwfl_attach_state) X(dwfl_begin) \
	X(dwfl_end) X(dwfl_frame_pc) X(dwfl_getthread_frames) X(dwfl_module_addrinfo) \
	X(dwfl_module_build_id) X(dwfl_module_getdwarf) X(dwfl_module_getelf) \
	X(dwfl_module_info) X(dwfl_report_begin) X(dwfl_report_end) X(dwfl_report_module) \
	X(dwfl_thread_state_register_pc) X(dwfl_thread_state_registers) X(elf_begin) \
	X(elf_end) X(elf_memory) X(elf_version)
/* clang-format on */

static struct {
#define DECLARE(name) __typeof__(name) *name;
	EACH_FUNCTION(DECLARE)
} lib;

#ifdef LIBDW_LINKED
/*
 * In place of the same functions of elfutils (libdwfl/debuginfod-client.c of 0.179 to 0.192), whose
 * constructor would load an HTTP client into a static program. No server is asked.
 */
#define ASK_NO_SERVER(name)                                                                        \
	int name(Dwfl *dwfl, const unsigned char *id, size_t length);                              \
	int name(Dwfl *dwfl, const unsigned char *id, size_t length)                               \
	{                                                                                          \
		(void)dwfl, (void)id, (void)length;                                                \
		return -ENOSYS;                                                                    \
	}

ASK_NO_SERVER(__libdwfl_debuginfod_find_executable)
ASK_NO_SERVER(__libdwfl_debuginfod_find_debuginfo)
void __libdwfl_debuginfod_end(void *client);

void __libdwfl_debuginfod_end(void *client)
{
	(void)client;
}
#endif

/* Returns NULL, or why it cannot be used. */
static const char *load(void)
{
	bool is_there = true;
#ifdef LIBDW_LINKED
#define FIND(name) lib.name = name;
#else
#define FIND(name) is_there = is_there && (lib.name = dlsym(library, #name));
	void *library;

	/* For these servers it would load an HTTP client. They are not asked. */
	unsetenv("DEBUGINFOD_URLS");
	library = dlopen("libdw.so.1", RTLD_LAZY);
	is_there = library;
#endif
	EACH_FUNCTION(FIND)
	return is_there && lib.elf_version(EV_CURRENT) != EV_NONE ? NULL
	                                                          : "libdw.so.1 cannot be loaded";
}

/* The files of the last memory map. */
static struct {
	const struct image *image;
	Dwfl *modules; /* NULL: they cannot be read */
	bool can_unwind;
} files;

/* ---- libdwfl's questions about files ---- */

static int root_of_files(void)
{
	const size_t map = files.image->perf_map;

	return map ? now.perf_maps[map].files : now.root;
}

static int find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start,
	char **path, Elf **elf)
{
	const struct mapping *mapping = &((const struct place_mapping *)*data)->map;
	char text[PATH_MAX];
	int file = -1;

	(void)module;
	(void)name;
	(void)start;
	/* All processes have the same vDSO as we. */
	if (mapping->is_vdso) {
		*elf = lib.elf_memory((char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR),
			(size_t)(mapping->end - mapping->start));
		return -1;
	}
	snprintf(text, sizeof(text), "%.*s", (int)mapping->path.length, mapping->path.at);
	file = files_open_code(root_of_files(), text, mapping->inode);
	/* A path of a file that was not opened would be opened. */
	if (file >= 0)
		*path = strdup(text);
	return file;
}

/* Opens the file at this path, if it was stripped from one with the same build ID. */
static int open_apart(const char *path, const void *id, int length)
{
	const void *other;
	int file = files_open_code(root_of_files(), path, 0);
	Elf *elf = file < 0 ? NULL : lib.elf_begin(file, ELF_C_READ_MMAP, NULL);
	const bool is_same = elf && lib.dwelf_elf_gnu_build_id(elf, &other) == length &&
	                     memcmp(other, id, (size_t)length) == 0;

	lib.elf_end(elf);
	if (is_same || file < 0)
		return file;
	close(file);
	return -1;
}

/*
 * Distributions have what they strip from files here, by build IDs or by the paths of the files.
 * gdb(1) looks there, too, and for the name that strip(1) left. With a name and no checksum,
 * libdwfl asks for what dwz(1) takes out, which has no lines.
 */
#define DEBUG_FILES "/usr/lib/debug"

static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start,
	const char *path, const char *link, GElf_Word check, char **found)
{
	static const char *const folders[][2] = {{"", ""}, {"", ".debug/"}, {DEBUG_FILES, ""}};
	const unsigned char *id;
	GElf_Addr place;
	const int length = lib.dwfl_module_build_id(module, &id, &place);
	const char *slash = path ? strrchr(path, '/') : NULL;
	char other[PATH_MAX] = DEBUG_FILES "/.build-id/";
	int file;

	(void)data;
	(void)name;
	(void)start;
	(void)found;
	if (length <= 0 || (link && !check))
		return -1;
	for (int i = 0; i < length; i++)
		text_append(other, sizeof(other), "%s%02x", i == 1 ? "/" : "", id[i]);
	text_append(other, sizeof(other), ".debug");
	file = open_apart(other, id, length);
	for (size_t i = 0; file < 0 && link && slash && i < ARRAY_SIZE(folders); i++) {
		snprintf(other, sizeof(other), "%s%.*s/%s%s", folders[i][0], (int)(slash - path),
			path, folders[i][1], link);
		file = open_apart(other, id, length);
	}
	return file;
}

/* ---- its questions about a stack ---- */

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread)
{
	(void)argument;
	if (*thread)
		return 0;
	*thread = dwfl;
	return 1;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *argument)
{
	const struct stack_sample *sample = &now.stack->sample;
	const uint64_t at = address - sample->registers[STACK_POINTER];

	(void)dwfl;
	(void)argument;
	if (at > sample->size || sample->size - at < sizeof(*word))
		return false;
	memcpy(word, sample->bytes + at, sizeof(*word));
#if defined(__aarch64__)
	/* A signature may be above a return address. */
	const uint64_t bare = *word & ((UINT64_C(1) << 48) - 1);

	if (maps_find(&files.image->maps, bare))
		*word = bare;
#endif
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *argument)
{
	const uint64_t *registers = now.stack->sample.registers;

	(void)argument;
	lib.dwfl_thread_state_register_pc(thread, registers[STACK_PLACE]);
	return lib.dwfl_thread_state_registers(thread, 0,
#if defined(__aarch64__)
		STACK_PLACE,
#else
		STACK_REGISTERS,
#endif
		registers);
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

/* ---- its answers ---- */

/* Reports the files of a memory map, whose first segments are loaded where they begin. */
static void begin_image(const struct image *image)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf, .find_debuginfo = find_debuginfo};
	static const Dwfl_Thread_Callbacks threads = {.next_thread = next_thread,
		.memory_read = read_memory,
		.set_initial_registers = set_registers};
	const struct place_mapping *mapping = image->maps.list, *end = mapping + image->maps.count;
	Dwfl_Module *module;
	void **data;

	if (files.image == image)
		return;
	lib.dwfl_end(files.modules);
	files.image = image;
	files.can_unwind = false;
	files.modules = lib.dwfl_begin(&callbacks);
	if (!files.modules)
		return;
	lib.dwfl_report_begin(files.modules);
	for (; mapping < end; mapping++) {
		const struct place_mapping *first = mapping;

		while (mapping + 1 < end && mapping[1].load == first->load)
			mapping++;
		if (!mapping->map.executable || (!first->map.inode && !first->map.is_vdso))
			continue;
		module = lib.dwfl_report_module(files.modules, "", first->load, mapping->map.end);
		if (module &&
			lib.dwfl_module_info(module, &data, NULL, NULL, NULL, NULL, NULL, NULL))
			*data = (void *)(uintptr_t)first;
	}
	lib.dwfl_report_end(files.modules, NULL, NULL);
	files.can_unwind = lib.dwfl_attach_state(files.modules, NULL, 1, &threads, NULL);
}

static void unwind(void)
{
	begin_image(now.stack->image);
	if (files.can_unwind && now.stack->sample.size)
		(void)lib.dwfl_getthread_frames(files.modules, 1, take_frame, NULL);
}

/*
 * The C library's functions that read the clock or start a program's, as a static one has them,
 * and those of Go's runtime that call the vDSO: takes off what is around their names.
 */
static bool take_c_name(struct span *symbol)
{
	static const char *const names[] = {"clock_gettime", "gettimeofday", "time", "timespec_get",
		"clock", "clock_getres", "getcpu", "sched_getcpu", "ftime", "libc_start_call_main",
		"libc_start_main", "start_thread", "clone", "clone3", "runtime.nanotime1",
		"runtime.walltime", "time.now"};
	struct span name = *symbol;

	text_take_suffix(&name, ".abi0");
	while (text_take_prefix(&name, "_"))
		;
	(void)(text_take_prefix(&name, "GI_") || text_take_prefix(&name, "vdso_"));
	while (text_take_prefix(&name, "_"))
		;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (text_equals(name, names[i])) {
			*symbol = name;
			return true;
		}
	}
	return false;
}

/* In the image of the stack that unwind() was last called for. */
static void name_function(struct known *known, uint64_t at)
{
	Dwfl_Module *module = lib.dwfl_addrmodule(files.modules, at);
	const char *symbol;
	struct span name;
	GElf_Addr bias;
	GElf_Off offset;
	GElf_Sym entry;

	if (!lib.dwfl_module_getelf(module, &bias))
		return;
	known->address = at - bias;
	symbol = lib.dwfl_module_addrinfo(module, at, &offset, &entry, NULL, NULL, NULL);
	if (!symbol || offset >= entry.st_size)
		return;
	/* The linker writes "clock_gettime@@GLIBC_2.17". */
	name = text_span(symbol);
	name = text_take_until(&name, '@');
	known->is_c = take_c_name(&name);
	name_read(name, known->name, sizeof(known->name));
}

/* Not every compiler writes the index that finds the unit of an address. */
static void read_line(Dwarf *dwarf, uint64_t address, struct place_source *source)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	while (lib.dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
		Dwarf_Line *line = NULL;
		const char *path;
		int number = 0;

		if (lib.dwarf_haspc(&die, address) == 1)
			line = lib.dwarf_getsrc_die(&die, address);
		path = lib.dwarf_linesrc(line, NULL, NULL);
		if (!path || lib.dwarf_lineno(line, &number) < 0 || number <= 0)
			continue;
		source->line = (uint32_t)number;
		text_clean(source->path, sizeof(source->path), path);
		fact_set_known(&source->fact);
		return;
	}
}

static void find_line(const struct stack *stack, uint64_t at, struct place_source *source)
{
	Dwfl_Module *module;
	struct rlimit limit;
	Dwarf *dwarf;
	GElf_Addr bias;

	begin_image(stack->image);
	module = lib.dwfl_addrmodule(files.modules, at);
	if (!lib.dwfl_module_getelf(module, &bias))
		return;
	fact_set(&source->fact, FACT_ABSENT, "there is no debug information for it");
	dwarf = lib.dwfl_module_getdwarf(module, &bias);
	/* It may name more files, which may be devices: none can be opened. */
	if (!dwarf || getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, limit.rlim_max}) < 0)
		return;
	read_line(dwarf, at - bias, source);
	setrlimit(RLIMIT_NOFILE, &limit);
}

#else

static const char *load(void)
{
	return "this program was built without libdw";
}

/* Nothing is asked of what cannot be used. */
#define unwind() ((void)0)
#define name_function(known, at) ((void)(at))
#define find_line(stack, at, source) ((void)(stack))

#endif

/* ---- the frames of a stack ---- */

/* Returns what is good until the next call. */
static const struct known *find_function(
	const struct image *image, const struct place_mapping *mapping, uint64_t at)
{
	const bool is_made = mapping_is_made(&mapping->map);
	struct known wanted = {.path = mapping->map.path,
		.file = is_made ? image->perf_map : mapping->map.inode,
		.offset = is_made ? at : at - mapping->load};
	struct known *known =
		&now.known[((wanted.offset ^ wanted.file) * 0x9e3779b97f4a7c15) >> 52];

	if (known->offset == wanted.offset && known->file == wanted.file &&
		span_compare(known->path, wanted.path) == 0)
		return known;
	*known = wanted;
	if (is_made && image->perf_map)
		name_made_code(known);
	if (!mapping->map.inode)
		return known;
	known->address = wanted.offset;
	if (!now.why_not)
		name_function(known, at);
	return known;
}

void frames_begin(int root, const struct perf_map *perf_maps)
{
	now.root = root;
	now.perf_maps = perf_maps;
	now.why_not = load();
}

/*
 * Go's runtime calls the vDSO on the thread's system stack, which is the one that a sample has, so
 * its callers are taken from the kernel's chain. A stub's record has the stack of the caller. A
 * function of Go is known by the "." in its name.
 */
static void leave_stack(const struct stack *stack, size_t frame, const char *function)
{
	const uint64_t *chain = stack->sample.chain;

	if (!strchr(function, '.') || stack->call.kind != PLACE_BY_SAMPLE)
		return;
	now.frame_count = frame + 1;
	for (size_t i = 1; i < STACK_CHAIN && chain[i]; i++) {
		const struct place_mapping *mapping = maps_find(&stack->image->maps, chain[i] - 1);

		if (!mapping || mapping->map.is_vdso ||
			strcmp(find_function(stack->image, mapping, chain[i] - 1)->name,
				function) == 0)
			continue;
		if (now.frame_count < FRAMES_MOST)
			now.frames[now.frame_count++] = chain[i];
	}
}

/* Leaves out the C library's functions before another one, and those that started it. */
void frames_find(const struct stack *stack, struct found *found)
{
	size_t kept = 0;

	now.stack = stack;
	now.frame_count = 0;
	if (!now.why_not)
		unwind();
	if (!now.frame_count)
		now.frames[now.frame_count++] = found->at;
	for (size_t i = 0; i < now.frame_count && kept < PLACE_FRAMES; i++) {
		/* Behind the first one they are addresses that calls return to. */
		const uint64_t at = now.frames[i] - (i > 0);
		const struct place_mapping *mapping = maps_find(&stack->image->maps, at);
		const struct known *known;
		const char *name;
		bool is_c;

		if (!mapping || !mapping->map.executable)
			return;
		known = find_function(stack->image, mapping, at);
		is_c = mapping->map.is_vdso || files_is_c_library(mapping->map.path) || known->is_c;
		name = kept && !*known->name && mapping_is_made(&mapping->map) ? "[run-time code]"
		                                                               : known->name;
		if (kept && (is_c || !*name))
			return;
		if (!kept) {
			found->mapping = mapping;
			found->at = at;
			found->address = known->address;
		}
		text_clean(found->names[kept], sizeof(found->names[0]), name);
		if (!kept && known->is_c)
			leave_stack(stack, i, found->names[0]);
		kept += !(is_c && !kept && i + 1 < now.frame_count);
	}
}

void frames_find_source(
	const struct stack *stack, const struct found *found, struct place_source *source)
{
	fact_set(&source->fact, FACT_ABSENT,
		found->mapping ? "there is no file for it"
			       : "no memory map that was read has the address");
	if (!found->mapping || !found->mapping->map.inode)
		return;
	if (now.why_not)
		fact_set(&source->fact, FACT_FAILED, "%s", now.why_not);
	else
		find_line(stack, found->at, source);
}
