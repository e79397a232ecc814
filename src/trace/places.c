/* SPDX-License-Identifier: MIT */
/*
 * Finds the places that calls come from. The process of an address may end soon: its memory map
 * makes a file and an address in it of that, and the calls of all processes from the same place are
 * added up. The functions are found at the end, in the files of the places that are shown. Code
 * that was made at run time is found in the map that just-in-time compilers write for perf(1).
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
	bool is_mapped = file >= 0 && fstat(file, &status) == 0 && status.st_ino == inode &&
	                 elf_map(elf, file);

	if (file >= 0)
		close(file);
	return is_mapped;
}

bool places_is_c_library(struct span path)
{
	static const char *const names[] = {"libc.", "libc-", "ld-musl"};

	for (struct span folder = path; folder.length;) {
		path = folder;
		text_take_until(&folder, '/');
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (text_starts(path, names[i]))
			return true;
	}
	return false;
}

/* The compiler's process may have another root, and another ID in its own PID namespace. */
static int open_jitted(pid_t pid)
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
		file = root_open_file(&root, path, O_RDONLY, &why);
		root_close(&root);
	} else {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
		file = file_open_regular(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, &ignored);
	}
	span_free(status);
	return file;
}

/* Takes the function from what a just-in-time compiler writes: "7f3c00001000 40 Main.loop". */
static void find_jitted(pid_t pid, uint64_t address, struct trace_place *place)
{
	struct span content = file_take(open_jitted(pid), PERF_MAP_SIZE), rest = content, line;

	while (text_next_line(&rest, &line)) {
		struct span first, second;
		uint64_t start, size;

		if (text_next_word(&line, &first) && text_next_word(&line, &second) &&
			number_parse_hex(first, &start) && number_parse_hex(second, &size) &&
			address >= start && address - start < size)
			text_copy_span(place->function, sizeof(place->function), text_trim(line));
	}
	span_free(content);
}

/* The first line of a file's mappings gives the address that offsets are relative to. */
static void find_module(struct span maps, pid_t pid, uint64_t address, struct trace_place *place)
{
	struct mapping map, first = {.inode = 0};

	while (maps_next(&maps, &map)) {
		if (map.inode && !map.offset)
			first = map;
		if (address < map.start || address >= map.end)
			continue;
		snprintf(place->module, sizeof(place->module), "%.*s", (int)map.path.length,
			map.path.at);
		if (map.inode)
			place->offset =
				address -
				(first.inode == map.inode ? first.start : map.start - map.offset);
		else if (!map.path.length)
			find_jitted(pid, address, place);
		place->inode = map.inode;
		return;
	}
}

size_t places_add(struct trace_places *places, const struct trace_place *calls, struct span maps,
	pid_t pid, uint64_t address)
{
	struct trace_place place = *calls;

	/* The byte before the address is one of the instruction. */
	if (address)
		find_module(maps, pid, address - 1, &place);
	for (size_t i = 0; i < places->count; i++) {
		struct trace_place *known = &places->list[i];

		if (known->row == place.row && known->is_compat == place.is_compat &&
			known->offset == place.offset && known->inode == place.inode &&
			strcmp(known->module, place.module) == 0 &&
			strcmp(known->function, place.function) == 0) {
			known->count += place.count;
			return i;
		}
	}
	places->list =
		array_grow(places->list, places->count, &places->room, sizeof(*places->list));
	places->list[places->count] = place;
	return places->count++;
}

/* ---- the addresses of system calls ---- */

#define SITE_COUNT 1024

struct call_site {
	uint64_t owner, address;
	size_t row;
	size_t place;
	bool is_compat, is_known;
};

/* The sites are a cache: one that was replaced is looked up again, and no count is lost. */
void call_sites_add(struct trace_places *places, const struct trace_place *calls, uint64_t owner,
	pid_t thread, struct span maps, uint64_t address)
{
	uint64_t hash = (owner ^ address ^ (uint64_t)calls->row << 32) * 0x9e3779b97f4a7c15;
	struct span read = {NULL, 0};
	struct call_site *site;

	if (!places->sites)
		places->sites = xcalloc(SITE_COUNT, sizeof(*places->sites));
	site = &places->sites[hash >> 32 & (SITE_COUNT - 1)];
	if (site->is_known && site->owner == owner && site->address == address &&
		site->row == calls->row && site->is_compat == calls->is_compat) {
		places->list[site->place].count += calls->count;
		return;
	}
	if (!maps.length)
		maps = read = maps_read(thread);
	*site = (struct call_site){owner, address, calls->row,
		places_add(places, calls, maps, thread, address), calls->is_compat, true};
	span_free(read);
}

void call_sites_forget(struct trace_places *places)
{
	if (places && places->sites)
		memset(places->sites, 0, SITE_COUNT * sizeof(*places->sites));
}

void places_free(struct trace_places *places)
{
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

static void find_function(struct trace_place *place, int root)
{
	struct elf_symbol symbol = {.address = 0};
	struct elf elf;

	if (!place->inode || !places_map_file(root, place->module, place->inode, &elf))
		return;
	place->offset += elf.load;
	symbol.address = place->offset;
	if (elf_find(&elf, &symbol))
		text_copy_span(place->function, sizeof(place->function), symbol.name);
	elf_unmap(&elf);
}

/* The files are those of a program that may be hostile, and may shrink while they are read. */
static void find_functions(void *argument)
{
	const struct trace_places *places = argument;

	privileges_keep(PRIVILEGES_NONE);
	for (size_t i = 0; i < places->count; i++)
		find_function(&places->list[i], places->root);
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
		if (child_run(find_functions, &shared, &deadline, &why))
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
		text_copy_span(place->module, sizeof(place->module), text_span(place->module));
	}
}

void places_finish(struct trace_evidence *trace, uint64_t top)
{
	finish(trace, &trace->places, top, false);
	finish(trace, &trace->call_places, top, true);
}
