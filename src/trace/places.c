/* SPDX-License-Identifier: MIT */
/*
 * Finds the places that calls come from. The process of an address may end soon: its memory map
 * makes a file and an address in it of that, and the calls of all processes from the same place are
 * added up. The functions are found at the end, in the files of the places that are shown. Code
 * that was made at run time is found in the map that just-in-time compilers write for perf(1),
 * which is opened while the process is there, and read once, at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "base/root.h"
#include "base/text.h"
#include "base/time.h"
#include "measure/vdso.h"
#include "names.h"
#include "places.h"

#define PERF_MAP_SIZE (16 << 20)
#define SYMBOLS_NS (2 * NS_PER_SECOND)

/* The memory that a file is read to grows by multiples of this. */
#define TAKE_SIZE 8192

/* Limits what is read of a memory map, and of /proc/PID/status, which has up to 65,536 groups. */
#define MAPS_SIZE (4 << 20)
#define STATUS_SIZE (1 << 20)

struct span file_take(int file, size_t most)
{
	size_t length = 0, room = 0;
	char *content = NULL;
	ssize_t more = 1;

	while (file >= 0 && more > 0 && length < most) {
		content = array_grow(content, length / TAKE_SIZE, &room, TAKE_SIZE);
		more = read(file, content + length,
			(room * TAKE_SIZE < most ? room * TAKE_SIZE : most) - length);
		if (more < 0 && errno == EINTR)
			more = 1;
		else if (more > 0)
			length += (size_t)more;
	}
	if (file >= 0)
		close(file);
	if (length)
		return (struct span){content, length};
	free(content);
	return (struct span){NULL, 0};
}

struct span proc_read(pid_t pid, const char *name, size_t most)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return file_take(open(path, O_RDONLY | O_CLOEXEC), most);
}

struct span status_read(pid_t pid)
{
	return proc_read(pid, "status", STATUS_SIZE);
}

struct span maps_read(pid_t thread)
{
	return proc_read(thread, "maps", MAPS_SIZE);
}

void span_free(struct span span)
{
	free((void *)(uintptr_t)span.at);
}

/* Paths in a memory map begin at the root of its mount namespace, the process's root below that. */
#define UP "/../../../../../../../.."

int places_open_root(pid_t pid)
{
	struct root root;
	struct fact why;
	char path[256];

	snprintf(path, sizeof(path), "/proc/%d/root" UP UP UP UP, pid);
	return root_open(&root, path, &why) ? root.directory : 0;
}

/* btrfs and overlayfs give a file another device in memory maps: only the inode is compared. */
bool places_map_file(int root, const char *path, uint64_t inode, struct elf *elf)
{
	struct stat status;
	struct fact why;
	int file = root ? root_open_file(&(struct root){.directory = root}, path, O_RDONLY, &why)
	                : file_open_regular(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, &status);
	bool is_mapped = file >= 0 && fstat(file, &status) == 0 &&
	                 (!inode || status.st_ino == inode) && elf_map(elf, file);

	if (file >= 0)
		close(file);
	return is_mapped;
}

/* Distributions have the symbols that they strip from files in others, by their build ID. */
#define DEBUG_FILES "/usr/lib/debug/.build-id/"
#define BUILD_ID_MAX 64

bool places_map_symbols(int root, const struct elf *elf, struct elf *symbols)
{
	struct span id = elf_build_id(elf);
	char path[sizeof(DEBUG_FILES) + 2 * BUILD_ID_MAX + sizeof("/.debug")] = DEBUG_FILES;
	size_t length = strlen(path);

	if (!id.length || id.length > BUILD_ID_MAX || elf_section(elf, ".symtab"))
		return false;
	for (size_t i = 0; i < id.length; i++)
		length += (size_t)snprintf(path + length, sizeof(path) - length, "%s%02x",
			i == 1 ? "/" : "", (unsigned char)id.at[i]);
	text_clean(path + length, sizeof(path) - length, ".debug");
	return places_map_file(root, path, 0, symbols);
}

bool places_is_named(struct span path, const char *const *names)
{
	for (struct span folder = path; folder.length;) {
		path = folder;
		text_take_until(&folder, '/');
	}
	while (*names && !text_starts(path, *names))
		names++;
	return *names;
}

bool places_is_c_library(struct span path)
{
	static const char *const names[] = {"libc.", "libc-2.", "ld-musl", NULL};

	return places_is_named(path, names);
}

/* ---- code that was made at run time ---- */

/* Its place in the memory map has no name. */
static const char run_time_code[] = "[run-time code]";

/* Processes whose maps are read, and calls from their code. */
#define JIT_FILES 64
#define JIT_SITES_MOST 100000

struct jit_site {
	uint64_t address, count;
	size_t row, file; /* of the plan, and of the list */
	bool is_compat;
	char function[128];
};

struct jitted {
	size_t file_count, count, room;
	int files[JIT_FILES];
	uint64_t owners[JIT_FILES]; /* of call sites; 0: none */
	struct jit_site *sites;
};

/* The map is that of the process's user, who may write what it likes of its own code. */
static bool belongs_to(pid_t pid, int file)
{
	struct stat process, map;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &process) == 0 && fstat(file, &map) == 0 && S_ISREG(map.st_mode) &&
	       map.st_uid == process.st_uid;
}

/* The compiler's process may have another root, and another ID in its own PID namespace. */
int places_open_jitted(pid_t pid)
{
	struct span status = status_read(pid), ids = {NULL, 0}, id = {NULL, 0};
	struct root root;
	struct stat ignored;
	struct fact why;
	char path[64];
	int file;

	text_find_value(status, "NStgid", &ids);
	while (ids.length)
		id = text_take_until(&ids, '\t');
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	if (id.length && root_open(&root, path, &why)) {
		snprintf(path, sizeof(path), "/tmp/perf-%.*s.map", (int)id.length, id.at);
		file = root_open_file(&root, path, O_RDONLY | O_NOFOLLOW, &why);
		root_close(&root);
	} else {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
		file = file_open_regular(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, &ignored);
	}
	span_free(status);
	if (file >= 0 && !belongs_to(pid, file)) {
		close(file);
		file = -1;
	}
	return file;
}

/* Keeps the file of the process from now on. Returns its index, or JIT_FILES. */
static size_t keep_file(struct jitted *jitted, struct place_process *process)
{
	size_t at = 0;

	while (at < jitted->file_count && (!process->owner || jitted->owners[at] != process->owner))
		at++;
	if (process->jitted < 0 && at == jitted->file_count && process->owner)
		process->jitted = places_open_jitted(process->pid);
	if (at < jitted->file_count || process->jitted < 0 || at == JIT_FILES)
		return at < jitted->file_count ? at : JIT_FILES;
	jitted->files[at] = process->jitted;
	jitted->owners[at] = process->owner;
	process->jitted = -1;
	jitted->file_count++;
	return at;
}

/* Returns the index of the site, or SIZE_MAX if the map of the process is not there. */
static size_t add_jitted(struct trace_places *places, const struct trace_place *calls,
	struct place_process *process, uint64_t address)
{
	struct jitted *jitted = places->jitted;

	if (!jitted)
		jitted = places->jitted = xcalloc(1, sizeof(*jitted));
	if (!process->has_file) {
		process->file = keep_file(jitted, process);
		process->has_file = true;
	}
	if (process->file == JIT_FILES || jitted->count == JIT_SITES_MOST)
		return SIZE_MAX;
	jitted->sites =
		array_grow(jitted->sites, jitted->count, &jitted->room, sizeof(*jitted->sites));
	jitted->sites[jitted->count] = (struct jit_site){.address = address,
		.count = calls->count,
		.row = calls->row,
		.file = process->file,
		.is_compat = calls->is_compat};
	return jitted->count++;
}

static void forget_jitted(struct trace_places *places)
{
	struct jitted *jitted = places->jitted;

	if (!jitted)
		return;
	while (jitted->file_count)
		close(jitted->files[--jitted->file_count]);
	free(jitted->sites);
	free(jitted);
	places->jitted = NULL;
}

static int by_file_and_address(const void *left, const void *right)
{
	const struct jit_site *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->address > b->address) - (a->address < b->address);
}

static int by_function(const void *left, const void *right)
{
	const struct jit_site *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return a->is_compat != b->is_compat ? a->is_compat - b->is_compat
	                                    : strcmp(a->function, b->function);
}

/*
 * Takes what a just-in-time compiler writes: "7f3c00001000 40 Main.loop", or HotSpot with "0x"
 * before the numbers. The last line counts.
 */
static void read_line(struct span line, struct jit_site *sites, size_t count)
{
	struct span first, second;
	uint64_t start, size;
	size_t low = 0, high = count;

	if (!text_next_word(&line, &first) || !text_next_word(&line, &second))
		return;
	text_take_prefix(&first, "0x");
	text_take_prefix(&second, "0x");
	if (!number_parse_hex(first, &start) || !number_parse_hex(second, &size))
		return;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (sites[middle].address < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && sites[low].address - start < size; low++)
		text_clean_span(sites[low].function, sizeof(sites[low].function), text_trim(line));
}

/* The maps are those of programs that may be hostile, and may be large. */
static void read_jitted(void *argument)
{
	struct jitted *jitted = argument;
	size_t from = 0, to;

	for (size_t file = 0; file < jitted->file_count; file++, from = to) {
		struct span content, rest, line;

		for (to = from; to < jitted->count && jitted->sites[to].file == file;)
			to++;
		content = rest = file_take(jitted->files[file], PERF_MAP_SIZE);
		while (text_next_line(&rest, &line))
			read_line(line, jitted->sites + from, to - from);
		span_free(content);
	}
}

/* Makes places of the functions that the code at these addresses belongs to. */
static void find_jitted(struct trace_places *places)
{
	struct deadline deadline = deadline_after(SYMBOLS_NS);
	struct jitted shared, *jitted = places->jitted;
	size_t size = jitted ? jitted->count * sizeof(*jitted->sites) : 0;
	struct trace_place *place = NULL;
	struct fact why;

	if (!size)
		return;
	qsort(jitted->sites, jitted->count, sizeof(*jitted->sites), by_file_and_address);
	shared = *jitted;
	shared.sites = child_share(size, &why);
	if (shared.sites) {
		memcpy(shared.sites, jitted->sites, size);
		if (child_run(read_jitted, NULL, &shared, &deadline, &why))
			memcpy(jitted->sites, shared.sites, size);
		child_unshare(shared.sites, size);
	}
	qsort(jitted->sites, jitted->count, sizeof(*jitted->sites), by_function);
	for (size_t i = 0; i < jitted->count; i++) {
		const struct jit_site *site = &jitted->sites[i];

		if (!i || by_function(site, site - 1) != 0) {
			places->list = array_grow(
				places->list, places->count, &places->room, sizeof(*places->list));
			place = &places->list[places->count++];
			*place = (struct trace_place){
				.row = site->row, .is_compat = site->is_compat};
			text_clean(place->module, sizeof(place->module), run_time_code);
			text_clean(place->function, sizeof(place->function), site->function);
		}
		place->count += site->count;
	}
}

/* ---- the memory map of a process ---- */

struct maps maps_parse(struct span text)
{
	struct maps maps = {.text = text};
	struct mapping map, first = {.inode = 0};
	size_t room = 0;

	while (maps_next(&text, &map)) {
		struct place_mapping *mapping;

		/* The first line of a file's mappings gives the address that offsets are of. */
		if (map.inode && !map.offset)
			first = map;
		maps.list = array_grow(maps.list, maps.count, &room, sizeof(*maps.list));
		mapping = &maps.list[maps.count++];
		mapping->map = map;
		mapping->load = first.inode == map.inode ? first.start : map.start - map.offset;
	}
	return maps;
}

void maps_free(struct maps *maps)
{
	free(maps->list);
}

static const struct place_mapping *maps_find(const struct maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (address >= maps->list[middle].map.end)
			low = middle + 1;
		else
			high = middle;
	}
	return low < maps->count && address >= maps->list[low].map.start ? &maps->list[low] : NULL;
}

static size_t add_place(struct trace_places *places, const struct trace_place *place)
{
	for (size_t i = 0; i < places->count; i++) {
		struct trace_place *known = &places->list[i];

		if (known->row == place->row && known->is_compat == place->is_compat &&
			known->offset == place->offset && known->inode == place->inode &&
			strcmp(known->module, place->module) == 0) {
			known->count += place->count;
			return i;
		}
	}
	places->list =
		array_grow(places->list, places->count, &places->room, sizeof(*places->list));
	places->list[places->count] = *place;
	return places->count++;
}

size_t places_add(struct trace_places *places, const struct trace_place *calls,
	struct place_process *process, uint64_t address, bool *is_jitted)
{
	struct trace_place place = *calls;
	/* The byte before the address is one of the instruction. */
	const struct place_mapping *mapping =
		address ? maps_find(process->maps, address - 1) : NULL;

	*is_jitted = false;
	if (mapping && !mapping->map.inode && !mapping->map.path.length) {
		size_t site = add_jitted(places, calls, process, address - 1);

		*is_jitted = site != SIZE_MAX;
		if (*is_jitted)
			return site;
		text_clean(place.module, sizeof(place.module), run_time_code);
	} else if (mapping) {
		snprintf(place.module, sizeof(place.module), "%.*s", (int)mapping->map.path.length,
			mapping->map.path.at);
		place.inode = mapping->map.inode;
		place.offset = place.inode ? address - 1 - mapping->load : 0;
	}
	return add_place(places, &place);
}

void places_count(struct trace_places *places, size_t place, bool is_jitted, uint64_t calls)
{
	if (is_jitted)
		places->jitted->sites[place].count += calls;
	else
		places->list[place].count += calls;
}

/* ---- the addresses of system calls ---- */

#define SITE_COUNT 1024

struct call_site {
	uint64_t owner, address;
	size_t row;
	size_t place; /* or its code's, which was made at run time */
	bool is_jitted, is_compat, is_known;
};

/* The sites are a cache: one that was replaced is looked up again, and no count is lost. */
void call_sites_add(struct trace_places *places, const struct trace_place *calls, uint64_t owner,
	pid_t thread, uint64_t address)
{
	uint64_t hash = (owner ^ address ^ (uint64_t)calls->row << 32) * 0x9e3779b97f4a7c15;
	struct place_process process = {.pid = thread, .owner = owner, .jitted = -1};
	struct call_site *site;
	struct span maps;
	struct maps parsed;

	if (!places->sites)
		places->sites = xcalloc(SITE_COUNT, sizeof(*places->sites));
	site = &places->sites[hash >> 32 & (SITE_COUNT - 1)];
	if (site->is_known && site->owner == owner && site->address == address &&
		site->row == calls->row && site->is_compat == calls->is_compat) {
		places_count(places, site->place, site->is_jitted, calls->count);
		return;
	}
	maps = maps_read(thread);
	parsed = maps_parse(maps);
	process.maps = &parsed;
	*site = (struct call_site){.owner = owner,
		.address = address,
		.row = calls->row,
		.is_compat = calls->is_compat,
		.is_known = true};
	site->place = places_add(places, calls, &process, address, &site->is_jitted);
	maps_free(&parsed);
	span_free(maps);
}

void call_sites_forget(struct trace_places *places)
{
	if (places && places->sites)
		memset(places->sites, 0, SITE_COUNT * sizeof(*places->sites));
	if (places && places->jitted)
		memset(places->jitted->owners, 0, sizeof(places->jitted->owners));
}

void places_free(struct trace_places *places)
{
	forget_jitted(places);
	free(places->list);
	free(places->sites);
	if (places->root)
		close(places->root);
}

/* ---- the places that are shown ---- */

static int by_count(const void *left, const void *right)
{
	const struct trace_place *a = left, *b = right;

	return (a->count < b->count) - (a->count > b->count);
}

static bool are_of_one_file(const struct trace_place *a, const struct trace_place *b)
{
	return a->inode == b->inode && strcmp(a->module, b->module) == 0;
}

/* Finds the functions of the file of the first place, whose offsets become addresses. */
static void find_in_file(struct trace_place *first, const struct trace_place *end, int root)
{
	size_t room = (size_t)(end - first), count = 0;
	uint64_t *addresses = xcalloc(room, sizeof(*addresses));
	struct span *names = xcalloc(room, sizeof(*names));
	struct elf elf, apart, *symbols;

	if (!places_map_file(root, first->module, first->inode, &elf))
		return;
	symbols = places_map_symbols(root, &elf, &apart) ? &apart : &elf;
	for (struct trace_place *place = first; place < end; place++) {
		if (are_of_one_file(place, first))
			addresses[count++] = place->offset += elf.load;
	}
	elf_find(symbols, addresses, count, names);
	count = 0;
	for (struct trace_place *place = first; place < end; place++) {
		if (are_of_one_file(place, first))
			name_read(names[count++], place->function, sizeof(place->function));
	}
}

/*
 * The files are those of a program that may be hostile, and may shrink while they are read. The
 * child's end frees what this takes.
 */
static void find_functions(void *argument)
{
	const struct trace_places *places = argument;

	privileges_keep(PRIVILEGES_NONE);
	for (size_t i = 0; i < places->count; i++) {
		size_t before = 0;

		while (!are_of_one_file(&places->list[before], &places->list[i]))
			before++;
		if (before == i && places->list[i].inode)
			find_in_file(&places->list[i], places->list + places->count, places->root);
	}
}

/*
 * 32-bit programs make all their system calls in their vDSO, which says nothing. A program with a C
 * library in its own file has the names of its functions, if they were not stripped.
 */
static enum trace_origin find_origin(const struct trace_place *place)
{
	struct span module = text_span(place->module);

	if (text_equals(module, "[vdso]"))
		return place->is_compat ? TRACE_BY_UNKNOWN : TRACE_BY_VDSO;
	/* A file that cannot be read is one that any function may have called in. */
	if (!*place->function && (!module.length || places_is_c_library(module)))
		return TRACE_BY_UNKNOWN;
	if (strcmp(place->function, "syscall") == 0)
		return TRACE_BY_SYSCALL_FUNCTION;
	return places_is_c_library(module) ? TRACE_BY_LIBC : TRACE_BY_CODE;
}

static void finish(const struct trace_evidence *trace, struct trace_places *places, uint64_t top,
	bool are_system_calls)
{
	struct deadline deadline = deadline_after(SYMBOLS_NS);
	struct trace_places shared;
	uint64_t sum = 0;
	struct fact why;
	size_t size;

	find_jitted(places);
	if (!places->count)
		return;
	qsort(places->list, places->count, sizeof(*places->list), by_count);
	for (size_t i = 0; i < places->count; i++)
		sum += places->list[i].count;
	while (places->count && !places->list[places->count - 1].count)
		places->count--;
	if (places->count > top)
		places->count = (size_t)top;
	size = places->count * sizeof(*places->list);
	shared = *places;
	shared.list = child_share(size, &why);
	if (shared.list) {
		memcpy(shared.list, places->list, size);
		if (child_run(find_functions, NULL, &shared, &deadline, &why))
			memcpy(places->list, shared.list, size);
		child_unshare(shared.list, size);
	}
	for (size_t i = 0; i < places->count; i++) {
		struct trace_place *place = &places->list[i];
		const struct trace_row *row = &trace->plan->rows[place->row];

		place->call = row->call->name;
		place->clock = row->clock;
		if (place->inode)
			snprintf(place->address, sizeof(place->address), "0x%" PRIx64,
				place->offset);
		place->share_percent = 100 * (double)place->count / (double)sum;
		place->origin = are_system_calls ? find_origin(place) : TRACE_BY_UNKNOWN;
		text_clean_span(place->module, sizeof(place->module), text_span(place->module));
	}
}

void places_finish(struct trace_evidence *trace, uint64_t top)
{
	finish(trace, &trace->places, top, false);
	finish(trace, &trace->call_places, top, true);
}
