/* SPDX-License-Identifier: MIT */
/*
 * The places that the calls come from. A return address is one of a process that may have ended by
 * now: it becomes a file and an address in it, by the process's memory map, and the calls of all
 * processes from the same place are added up. The functions are found at the end, in the files of
 * the places that are shown. Code that was made at run time is found in the map that just-in-time
 * compilers write for perf(1).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "base/root.h"
#include "base/text.h"
#include "base/time.h"
#include "elf_file.h"
#include "served.h"

#define PERF_MAP_SIZE (16 << 20)
#define SYMBOLS_NS (2 * NS_PER_SECOND)

/* "5581e000-5581f000 r-xp 00002000 fe:00 1234   /usr/bin/true" */
static bool parse_line(struct span line, struct map_line *map)
{
	struct span start = text_take_until(&line, '-'), end, word;

	return text_next_word(&line, &end) && number_parse_hex(start, &map->start) &&
	       number_parse_hex(end, &map->end) && text_next_word(&line, &word) &&
	       text_next_word(&line, &word) && number_parse_hex(word, &map->offset) &&
	       text_next_word(&line, &word) && text_next_word(&line, &word) &&
	       number_parse(word, &map->inode) && (map->path = text_trim(line), true);
}

bool map_next(struct span *maps, struct map_line *map)
{
	struct span line;

	while (text_next_line(maps, &line)) {
		if (parse_line(line, map))
			return true;
	}
	return false;
}

static void copy_span(char *to, size_t size, struct span from)
{
	size_t length = from.length < size ? from.length : size - 1;

	memcpy(to, from.at, length);
	to[length] = '\0';
}

/* The function in the file that a just-in-time compiler writes: "7f3c00001000 40 Main.loop". */
static void find_jitted(pid_t pid, uint64_t address, struct trace_place *place)
{
	struct span rest = {NULL, 0}, line;
	struct stat status;
	char path[64], *content;
	int file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	file = file_open_regular(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, &status);
	if (file < 0)
		return;
	content = xmalloc(PERF_MAP_SIZE);
	(void)file_read_all(file, content, PERF_MAP_SIZE, &rest.length);
	close(file);
	rest.at = content;
	while (text_next_line(&rest, &line)) {
		struct span first, second;
		uint64_t start, size;

		if (text_next_word(&line, &first) && text_next_word(&line, &second) &&
			number_parse_hex(first, &start) && number_parse_hex(second, &size) &&
			address >= start && address - start < size)
			text_copy_span(place->function, sizeof(place->function), text_trim(line));
	}
	free(content);
}

/* The first line of a file's mappings gives the address that offsets are relative to. */
static void find_module(struct span maps, pid_t pid, uint64_t address, struct trace_place *place)
{
	struct map_line map, first = {.inode = 0};

	while (map_next(&maps, &map)) {
		if (map.inode && !map.offset)
			first = map;
		if (address < map.start || address >= map.end)
			continue;
		copy_span(place->module, sizeof(place->module), map.path);
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

void places_add(struct trace_evidence *trace, struct span maps, pid_t pid, uint64_t address,
	size_t row, uint64_t count)
{
	struct trace_place place = {.row = row};

	/* The byte before the return address is one of the call. */
	if (address)
		find_module(maps, pid, address - 1, &place);
	for (size_t i = 0; i < trace->place_count; i++) {
		struct trace_place *known = &trace->places[i];

		if (known->row == row && known->offset == place.offset &&
			known->inode == place.inode && strcmp(known->module, place.module) == 0 &&
			strcmp(known->function, place.function) == 0) {
			known->count += count;
			return;
		}
	}
	place.count = count;
	trace->places = array_grow(
		trace->places, trace->place_count, &trace->place_room, sizeof(*trace->places));
	trace->places[trace->place_count++] = place;
}

/* ---- the places that are shown ---- */

static int by_count(const void *left, const void *right)
{
	const struct trace_place *a = left, *b = right;

	return (a->count < b->count) - (a->count > b->count);
}

static void find_function(struct trace_place *place)
{
	struct elf_file elf;
	struct elf_symbol symbol = {.address = 0};
	struct stat status;
	void *bytes = MAP_FAILED;
	int file = place->inode ? file_open_regular(
					  AT_FDCWD, place->module, O_RDONLY | O_CLOEXEC, &status)
	                        : -1;

	if (file < 0)
		return;
	if (status.st_ino == place->inode && status.st_size > 0)
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (bytes == MAP_FAILED)
		return;
	if (elf_file_start(&elf, bytes, (size_t)status.st_size)) {
		place->offset += elf_file_load(&elf);
		symbol.address = place->offset;
		if (elf_file_find(&elf, &symbol))
			text_copy_span(place->function, sizeof(place->function), symbol.name);
	}
	munmap(bytes, (size_t)status.st_size);
}

struct symbolizing {
	struct trace_place *places; /* shared */
	size_t count;
};

/* The files are those of a program that may be hostile, and may shrink while they are read. */
static void find_functions(void *argument)
{
	const struct symbolizing *symbolizing = argument;

	privileges_keep(PRIVILEGES_NONE);
	for (size_t i = 0; i < symbolizing->count; i++)
		find_function(&symbolizing->places[i]);
}

void places_finish(struct trace_evidence *trace, size_t top)
{
	struct deadline deadline = deadline_after(SYMBOLS_NS);
	struct symbolizing symbolizing = {.count = trace->place_count};
	uint64_t sum = 0;
	struct fact why;
	size_t size;

	if (!trace->place_count)
		return;
	qsort(trace->places, trace->place_count, sizeof(*trace->places), by_count);
	for (size_t i = 0; i < trace->place_count; i++)
		sum += trace->places[i].count;
	if (symbolizing.count > top)
		symbolizing.count = trace->place_count = top;
	size = symbolizing.count * sizeof(*trace->places);
	symbolizing.places = child_share(size, &why);
	if (symbolizing.places) {
		memcpy(symbolizing.places, trace->places, size);
		if (child_run(find_functions, &symbolizing, &deadline, &why))
			memcpy(trace->places, symbolizing.places, size);
		child_unshare(symbolizing.places, size);
	}
	for (size_t i = 0; i < trace->place_count; i++) {
		struct trace_place *place = &trace->places[i];
		const struct trace_row *row = &trace->plan->rows[place->row];

		place->call = row->call->name;
		place->clock = row->clock;
		if (place->inode)
			snprintf(place->address, sizeof(place->address), "0x%" PRIx64,
				place->offset);
		place->share_percent = 100 * (double)place->count / (double)sum;
		text_copy_span(place->module, sizeof(place->module), text_span(place->module));
	}
}
