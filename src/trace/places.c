/* SPDX-License-Identifier: MIT */
/*
 * Counts the places that calls come from. The process of an address may end soon: its memory map
 * makes a file and an address in it of that, and the calls of all processes from the same place are
 * added up. At the end children read what other programs wrote: the maps of run-time code, whose
 * places are added up by function, and the files of the places that are shown.
 */
#include "places.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "base/text.h"
#include "base/time.h"
#include "stack.h"

/* Limits the time that a child takes. */
#define SEARCH_NS (2 * NS_PER_SECOND)

/* Processes whose maps of run-time code are read. */
#define MAPS_MOST 256

/* A list of this length has further places in run-time code without their addresses. */
#define PLACES_MOST 100000

struct place_file {
	char path[512];
	uint64_t inode; /* 0: none */
};

struct caller {
	size_t code;        /* as below; 0: not known */
	uint64_t address;   /* in the file, of the function, or of run-time code with a map */
	char function[128]; /* of run-time code, once its map was read */
};

struct place_count {
	double calls;
	size_t row;         /* as in places_add() */
	size_t code;        /* index of a map of run-time code, or MAPS_MOST and that of a file */
	uint64_t address;   /* in the file, or of run-time code with a map */
	char function[128]; /* of run-time code, once its map was read */
	struct caller callers[STACK_FRAMES - 1];
};

struct place_counts {
	struct place_count *list; /* the same place may be in it again, until they are merged */
	size_t count, room;
	struct perf_map perf_maps[MAPS_MOST]; /* the first one stands for code without a map */
	size_t perf_map_count;
	struct place_file *files;
	size_t file_count, file_room;
	int root;                     /* directory: paths of files begin there; 0: at our root */
	double spread[TRACE_ROW_MAX]; /* of rows whose calls were sampled */
};

static struct place_counts *counts_of(struct trace_places *places)
{
	if (!places->counts) {
		places->counts = xcalloc(1, sizeof(*places->counts));
		places->counts->perf_map_count = 1;
	}
	return places->counts;
}

/* ---- counting ---- */

static int by_place(const void *left, const void *right)
{
	const struct place_count *a = left, *b = right;

	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	for (size_t i = 0; i < ARRAY_SIZE(a->callers); i++) {
		const struct caller *one = &a->callers[i], *other = &b->callers[i];

		if (one->code != other->code)
			return one->code < other->code ? -1 : 1;
		if (one->address != other->address)
			return one->address < other->address ? -1 : 1;
		if (strcmp(one->function, other->function) != 0)
			return strcmp(one->function, other->function);
	}
	return strcmp(a->function, b->function);
}

static void merge(struct place_counts *counts)
{
	struct place_count *list = counts->list, *last = list;

	if (!counts->count)
		return;
	qsort(list, counts->count, sizeof(*list), by_place);
	for (struct place_count *place = list + 1; place < list + counts->count; place++) {
		if (by_place(place, last) == 0)
			last->calls += place->calls;
		else
			*++last = *place;
	}
	counts->count = (size_t)(last - list) + 1;
}

static size_t find_file(struct place_counts *counts, const struct mapping *mapping)
{
	struct place_file *file, wanted = {.inode = mapping->inode};

	snprintf(wanted.path, sizeof(wanted.path), "%.*s", (int)mapping->path.length,
		mapping->path.at);
	for (size_t i = 0; i < counts->file_count; i++) {
		file = &counts->files[i];
		if (file->inode == wanted.inode && strcmp(file->path, wanted.path) == 0)
			return i;
	}
	counts->files = array_grow(
		counts->files, counts->file_count, &counts->file_room, sizeof(*counts->files));
	counts->files[counts->file_count] = wanted;
	return counts->file_count++;
}

static const struct place_mapping nowhere;

/* The byte before the address is one of the instruction. */
static const struct place_mapping *find_mapping(const struct maps *maps, uint64_t address)
{
	const struct place_mapping *mapping = address ? maps_find(maps, address - 1) : NULL;

	return mapping ? mapping : &nowhere;
}

static bool is_run_time_code(const struct mapping *mapping)
{
	return mapping->end && !mapping->inode && !mapping->path.length;
}

static struct place_count *place_counts_add(struct place_counts *counts, size_t row, double calls,
	const struct place_mapping *mapping, size_t perf_map, uint64_t address)
{
	struct place_count place = {.calls = calls, .row = row};

	if (!is_run_time_code(&mapping->map)) {
		place.code = MAPS_MOST + find_file(counts, &mapping->map);
		place.address = mapping->map.inode ? address - 1 - mapping->load : 0;
	} else if (perf_map && counts->count < PLACES_MOST) {
		place.code = perf_map;
		place.address = address - 1;
	}
	if (counts->count == counts->room) {
		merge(counts);
		counts->list = array_grow(
			counts->list, 2 * counts->count, &counts->room, sizeof(*counts->list));
	}
	counts->list[counts->count] = place;
	return &counts->list[counts->count++];
}

void places_add(struct trace_places *places, size_t row, uint64_t calls, const struct maps *maps,
	size_t perf_map, uint64_t address)
{
	place_counts_add(counts_of(places), row, (double)calls, find_mapping(maps, address),
		perf_map, address);
}

/*
 * Takes a stack. Of N calls of a row, of which one in so many was taken, w, a share p has the
 * variance p (1 - p) / N^2 times the sum of w (w - 1); that is 0 if all were taken.
 */
static void take_stack(void *argument, size_t row, double weight, const struct maps *maps,
	size_t perf_map, const uint64_t addresses[STACK_FRAMES])
{
	struct place_counts *counts = argument;
	struct place_count *place = place_counts_add(
		counts, row, weight, find_mapping(maps, addresses[0]), perf_map, addresses[0]);

	/* Of samples, all of which are by chance, it is the sum of w^2. */
	counts->spread[row % TRACE_ROW_MAX] +=
		weight * (row / TRACE_ROW_MAX == PLACES_BY_SAMPLE ? weight : fmax(weight - 1, 0));
	for (size_t i = 1; i < STACK_FRAMES && addresses[i]; i++) {
		const struct place_mapping *mapping = find_mapping(maps, addresses[i]);
		struct caller caller = {.address = addresses[i] - 1};

		if (mapping->map.inode) {
			caller.code = MAPS_MOST + find_file(counts, &mapping->map);
			caller.address -= mapping->load;
		} else if (is_run_time_code(&mapping->map)) {
			caller.code = perf_map;
		}
		place->callers[i - 1] = caller;
	}
}

/* A process has one map, whichever program it executes. */
size_t places_open_map(struct trace_places *places, pid_t thread)
{
	const pid_t process = (pid_t)status_number(thread, "Tgid", (uint64_t)thread);
	struct place_counts *counts = counts_of(places);
	size_t at = 1;

	while (at < counts->perf_map_count && counts->perf_maps[at].process != process)
		at++;
	if (at == MAPS_MOST)
		return 0;
	if (at == counts->perf_map_count)
		counts->perf_maps[counts->perf_map_count++] = perf_map_open(process);
	return at;
}

void places_open_root(struct trace_places *places, pid_t pid)
{
	counts_of(places)->root = files_open_root(pid);
}

void places_free(struct trace_places *places)
{
	struct place_counts *counts = places->counts;

	stacks_free(places->stacks);
	free(places->list);
	if (!counts)
		return;
	while (--counts->perf_map_count) {
		close(counts->perf_maps[counts->perf_map_count].root);
		close(counts->perf_maps[counts->perf_map_count].mounts);
	}
	if (counts->root > 0)
		close(counts->root);
	free(counts->files);
	free(counts->list);
	free(counts);
}

/* ---- the places that are shown ---- */

/* A child works on this. */
struct search {
	const struct place_counts *counts;
	size_t count;
	void *list; /* shared */
};

/*
 * Has a child work on a list. It reads files of programs that may be hostile, and may shrink or not
 * answer. What it has found by its end counts, and if that was too early *why has the reason.
 */
static bool search(void (*work)(void *search), const struct place_counts *counts, void *list,
	size_t count, size_t size, struct fact *why)
{
	struct deadline deadline = deadline_after(SEARCH_NS);
	struct search search = {counts, count, child_share(count * size, why)};
	bool is_done;

	if (!search.list)
		return false;
	memcpy(search.list, list, count * size);
	is_done = child_run(work, NULL, &search, &deadline, why);
	memcpy(list, search.list, count * size);
	child_unshare(search.list, count * size);
	return is_done;
}

/* Finds the first of sorted places from this address on, or the end. */
static struct place_count *find_place(
	struct place_count *list, size_t count, size_t code, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (list[middle].code < code ||
			(list[middle].code == code && list[middle].address < address))
			low = middle + 1;
		else
			high = middle;
	}
	return &list[low];
}

static int by_address(const void *left, const void *right)
{
	const struct caller *a = *(struct caller *const *)left;
	const struct caller *b = *(struct caller *const *)right;

	return (a->address > b->address) - (a->address < b->address);
}

/* Finds the callers in the code of a map, sorted by address. Returns their number. */
static size_t find_made_callers(const struct search *search, size_t map, struct caller **callers)
{
	struct place_count *list = search->list;
	size_t count = 0;

	for (size_t i = 0; i < search->count; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(list[i].callers); k++) {
			if (list[i].callers[k].code == map)
				callers[count++] = &list[i].callers[k];
		}
	}
	qsort(callers, count, sizeof(*callers), by_address);
	return count;
}

static void name_callers(
	struct caller **callers, size_t count, uint64_t start, uint64_t size, struct span function)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (callers[middle]->address < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && callers[low]->address - start < size; low++)
		text_clean_span(callers[low]->function, sizeof(callers[low]->function), function);
}

/* Names places in run-time code. The last line of a map that has an address counts. */
static void read_maps(void *argument)
{
	const struct search *search = argument;
	struct place_count *list = search->list, *end = list + search->count, *place;
	struct caller **callers =
		xcalloc(search->count, ARRAY_SIZE(list->callers) * sizeof(*callers));
	struct span content, rest, function;
	uint64_t start, size;
	size_t count;

	privileges_keep(PRIVILEGES_NONE);
	for (size_t map = 1; map < search->counts->perf_map_count; map++) {
		count = find_made_callers(search, map, callers);
		place = find_place(list, search->count, map, 0);
		if (!count && (place == end || place->code != map))
			continue;
		content = rest = perf_map_read(&search->counts->perf_maps[map]);
		while (perf_map_next(&rest, &start, &size, &function)) {
			name_callers(callers, count, start, size, function);
			place = find_place(list, search->count, map, start);
			for (; place < end && place->code == map && place->address - start < size;
				place++)
				text_clean_span(place->function, sizeof(place->function), function);
		}
		span_free(content);
	}
}

static int by_count(const void *left, const void *right)
{
	const struct place_count *a = left, *b = right;

	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return by_place(a, b);
}

static void set_offset(struct trace_place *place, uint64_t offset)
{
	place->offset = offset;
	snprintf(place->address, sizeof(place->address), "0x%" PRIx64, offset);
}

/* Makes the list, whose places are then the first ones of the counts. */
static void choose(struct trace_places *places, const struct trace_plan *plan, uint64_t top)
{
	struct place_counts *counts = places->counts;
	double sums[TRACE_ROW_MAX] = {0}, sum = 0, part;

	/* Run-time code adds up by function. */
	for (size_t i = 0; i < counts->count; i++) {
		struct place_count *place = &counts->list[i];

		sum += place->calls;
		sums[place->row % TRACE_ROW_MAX] += place->calls;
		for (size_t k = 0; k < ARRAY_SIZE(place->callers); k++) {
			if (place->callers[k].code && place->callers[k].code < MAPS_MOST)
				place->callers[k].address = 0;
		}
		if (place->code < MAPS_MOST) {
			place->code = 0;
			place->address = 0;
		}
	}
	merge(counts);
	qsort(counts->list, counts->count, sizeof(*counts->list), by_count);
	places->count = counts->count < top ? counts->count : (size_t)top;
	places->list = xcalloc(places->count, sizeof(*places->list));
	for (size_t i = 0; i < places->count; i++) {
		const struct place_count *from = &counts->list[i];
		const struct trace_row *row = &plan->rows[from->row % TRACE_ROW_MAX];
		const bool is_sample = from->row / TRACE_ROW_MAX == PLACES_BY_SAMPLE;
		const struct place_file *file =
			from->code < MAPS_MOST ? NULL : &counts->files[from->code - MAPS_MOST];
		struct trace_place *place = &places->list[i];

		place->count = (uint64_t)llround(from->calls);
		place->share_percent = 100 * from->calls / sum;
		part = from->calls / sums[from->row % TRACE_ROW_MAX];
		place->error_percent = 100 *
		                       sqrt(fmax(part * (1 - part), 0) *
					       counts->spread[from->row % TRACE_ROW_MAX]) /
		                       sum;
		place->row = from->row % TRACE_ROW_MAX;
		place->call = is_sample ? "" : row->call->name;
		place->clock = is_sample ? "" : row->clock;
		place->is_compat = from->row / TRACE_ROW_MAX == PLACES_OF_32_BIT;
		place->origin = from->row / TRACE_ROW_MAX == PLACES_BY_FUNCTION
		                        ? TRACE_FROM_SYSCALL_FUNCTION
		                        : TRACE_FROM_UNKNOWN;
		text_clean(place->module, sizeof(place->module),
			file ? file->path : "[run-time code]");
		text_clean(place->function, sizeof(place->function), from->function);
		if (file && file->inode)
			set_offset(place, from->address);
		for (size_t k = 0; k < ARRAY_SIZE(from->callers); k++) {
			const struct caller *caller = &from->callers[k];

			if (caller->code && caller->code < MAPS_MOST)
				text_clean(place->callers[k], sizeof(place->callers[k]),
					*caller->function ? caller->function : "[run-time code]");
		}
	}
}

/* Finds the callers that are functions of a file. */
static void find_callers(const struct search *search, size_t code, const struct code_file *opened)
{
	struct trace_place *list = search->list;
	uint64_t address;
	struct span name;

	for (size_t i = 0; i < search->count; i++) {
		for (size_t k = 0; k < STACK_FRAMES - 1; k++) {
			const struct caller *caller = &search->counts->list[i].callers[k];

			if (caller->code != code)
				continue;
			address = caller->address + opened->elf.load;
			elf_find(&opened->symbols, &address, 1, &name);
			name_read(name, list[i].callers[k], sizeof(list[i].callers[k]));
		}
	}
}

/* Finds the functions of a file, where offsets become addresses, or later its sources. */
static void find_in_file(const struct search *search, size_t code, bool finds_sources)
{
	const struct place_counts *counts = search->counts;
	const struct place_file *file = &counts->files[code - MAPS_MOST];
	struct trace_place *list = search->list;
	struct trace_place **found = xcalloc(search->count, sizeof(*found));
	uint64_t *addresses = xcalloc(search->count, sizeof(*addresses));
	struct span *names = xcalloc(search->count, sizeof(*names));
	struct code_file opened;
	size_t count = 0;

	if (!file->inode || !code_open(counts->root, file->path, file->inode, &opened))
		return;
	for (size_t i = 0; i < search->count; i++) {
		if (counts->list[i].code == code)
			found[count++] = &list[i];
	}
	if (finds_sources) {
		sources_read(opened.debug, found, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		addresses[i] = found[i]->offset + opened.elf.load;
		set_offset(found[i], addresses[i]);
	}
	find_callers(search, code, &opened);
	elf_find(&opened.symbols, addresses, count, names);
	for (size_t i = 0; i < count; i++)
		name_read(names[i], found[i]->function, sizeof(found[i]->function));
	close(opened.debug);
}

/* Says whether a place that is shown, or a caller of it, is in the file. */
static bool is_shown(const struct search *search, size_t code)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct place_count *place = &search->counts->list[i];

		if (place->code == code || place->callers[0].code == code ||
			place->callers[1].code == code)
			return true;
	}
	return false;
}

/* Names, which take least, are found before all sources. The child's end frees what this takes. */
static void find_functions(void *argument)
{
	const struct search *search = argument;
	privileges_keep(PRIVILEGES_NONE);
	for (int finds_sources = 0; finds_sources < 2; finds_sources++) {
		for (size_t code = MAPS_MOST; code < MAPS_MOST + search->counts->file_count;
			code++) {
			if (is_shown(search, code))
				find_in_file(search, code, finds_sources);
		}
	}
}

/*
 * 32-bit programs make all their system calls in their vDSO, which says nothing. A program with a C
 * library in its own file has the names of its functions, if they were not stripped.
 */
static enum trace_origin find_origin(const struct trace_place *place)
{
	struct span module = text_span(place->module);

	if (place->origin == TRACE_FROM_SYSCALL_FUNCTION)
		return place->origin;
	if (text_equals(module, "[vdso]"))
		return place->is_compat ? TRACE_FROM_UNKNOWN : TRACE_FROM_VDSO;
	/* A file that cannot be read is one that any function may have called in. */
	if (!*place->function && (!module.length || files_is_c_library(module)))
		return TRACE_FROM_UNKNOWN;
	if (strcmp(place->function, "syscall") == 0)
		return TRACE_FROM_SYSCALL_FUNCTION;
	return files_is_c_library(module) ? TRACE_FROM_LIBC : TRACE_FROM_CODE;
}

static void places_finish_one(const struct trace_evidence *trace, struct trace_places *places,
	uint64_t top, bool are_system_calls)
{
	struct place_counts *counts = places->stacks ? counts_of(places) : places->counts;
	struct fact why;

	if (!counts)
		return;
	stacks_take(places->stacks, counts->root, take_stack, counts);
	if (!counts->count)
		return;
	merge(counts);
	if (counts->perf_map_count > 1)
		(void)search(read_maps, counts, counts->list, counts->count, sizeof(*counts->list),
			&why);
	choose(places, trace->request->plan, top);
	if (search(find_functions, counts, places->list, places->count, sizeof(*places->list),
		    &why))
		fact_set(&why, FACT_ABSENT, "there is no file for it");
	for (size_t i = 0; i < places->count; i++) {
		struct trace_place *place = &places->list[i];

		if (place->source.fact.state == FACT_UNREAD)
			place->source.fact = why;
		while (place->caller_count < ARRAY_SIZE(place->callers) &&
			*place->callers[place->caller_count])
			place->caller_count++;
		place->origin = are_system_calls ? find_origin(place) : TRACE_FROM_UNKNOWN;
	}
}

void places_finish(struct trace_evidence *trace, uint64_t top)
{
	places_finish_one(trace, &trace->places, top, false);
	places_finish_one(trace, &trace->call_places, top, true);
}
