/* SPDX-License-Identifier: MIT */
/*
 * Finds the places that calls come from. The process of an address may end soon: its memory map
 * makes a file and an address in it of that, and the calls of all processes from the same place are
 * added up. The functions are found at the end, in the files of the places that are shown.
 */
#include "places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/privileges.h"
#include "base/text.h"
#include "base/time.h"
#include "jitted.h"
#include "names.h"

#define SYMBOLS_NS (2 * NS_PER_SECOND)

struct place_search {
	struct call_site *sites;
	struct jitted *jitted;
	int root; /* directory: paths of files begin there; 0: at our root */
};

static struct place_search *search_of(struct trace_places *places)
{
	if (!places->search)
		places->search = xcalloc(1, sizeof(*places->search));
	return places->search;
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
		size_t site = jitted_add(&search_of(places)->jitted, calls, process, address - 1);

		*is_jitted = site != SIZE_MAX;
		if (*is_jitted)
			return site;
		text_clean(place.module, sizeof(place.module), jitted_module);
	} else if (mapping) {
		snprintf(place.module, sizeof(place.module), "%.*s", (int)mapping->map.path.length,
			mapping->map.path.at);
		place.inode = mapping->map.inode;
		place.offset = place.inode ? address - 1 - mapping->load : 0;
	}
	return add_place(places, &place);
}

/* ---- the addresses of system calls ---- */

#define SITE_COUNT 4096

struct call_site {
	uint64_t owner, address;
	size_t row;
	size_t place; /* or its code's, which was made at run time */
	bool is_jitted, is_compat, is_known;
};

/* The sites are a cache: one that was replaced is looked up again, and no count is lost. */
void call_sites_add(struct trace_places *places, const struct trace_place *calls, uint64_t owner,
	pid_t thread, const struct span *maps, uint64_t address)
{
	uint64_t hash = (owner ^ address ^ (uint64_t)calls->row << 32) * 0x9e3779b97f4a7c15;
	struct place_search *search = search_of(places);
	struct span read = {NULL, 0};
	struct call_site *site;
	struct maps parsed;

	if (!search->sites)
		search->sites = xcalloc(SITE_COUNT, sizeof(*search->sites));
	site = &search->sites[hash >> 32 & (SITE_COUNT - 1)];
	if (site->is_known && site->owner == owner && site->address == address &&
		site->row == calls->row && site->is_compat == calls->is_compat) {
		if (site->is_jitted)
			jitted_count(search->jitted, site->place, calls->count);
		else
			places->list[site->place].count += calls->count;
		return;
	}
	*site = (struct call_site){.owner = owner,
		.address = address,
		.row = calls->row,
		.is_compat = calls->is_compat,
		.is_known = true};
	if (!maps && thread)
		read = maps_read(thread);
	parsed = maps_parse(maps ? *maps : read);
	site->place = places_add(places, calls,
		&(struct place_process){
			.maps = &parsed, .pid = thread, .owner = owner, .jitted = -1},
		address, &site->is_jitted);
	maps_free(&parsed);
	span_free(read);
}

void call_sites_forget(struct trace_places *places, uint64_t owner)
{
	struct place_search *search = places ? places->search : NULL;

	for (size_t i = 0; search && search->sites && i < SITE_COUNT; i++) {
		if (search->sites[i].owner == owner)
			search->sites[i].is_known = false;
	}
	if (search)
		jitted_forget_owner(search->jitted, owner);
}

void places_open_root(struct trace_places *places, pid_t pid)
{
	search_of(places)->root = files_open_root(pid);
}

void places_free(struct trace_places *places)
{
	struct place_search *search = places->search;

	if (search) {
		jitted_free(search->jitted);
		free(search->sites);
		if (search->root)
			close(search->root);
	}
	free(search);
	free(places->list);
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

/*
 * Finds the functions of the file of the first place, whose offsets become addresses, or later its
 * sources.
 */
static void find_in_file(
	struct trace_place *first, const struct trace_place *end, int root, bool finds_sources)
{
	size_t room = (size_t)(end - first), count = 0;
	struct trace_place **found = xcalloc(room, sizeof(*found));
	uint64_t *addresses = xcalloc(room, sizeof(*addresses));
	struct span *names = xcalloc(room, sizeof(*names));
	struct code_file code;

	if (!code_open(root, first->module, first->inode, &code))
		return;
	for (struct trace_place *place = first; place < end; place++) {
		if (are_of_one_file(place, first))
			found[count++] = place;
	}
	if (finds_sources) {
		sources_read(code.debug, found, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		addresses[i] = found[i]->offset += code.elf.load;
	elf_find(&code.symbols, addresses, count, names);
	for (size_t i = 0; i < count; i++)
		name_read(names[i], found[i]->function, sizeof(found[i]->function));
	close(code.debug);
}

/*
 * The files are those of a program that may be hostile, and may shrink while they are read. The
 * child's end frees what this takes. Names, which take least, are found before all sources.
 */
static void find_functions(void *argument)
{
	const struct trace_places *places = argument;
	struct trace_place *end = places->list + places->count;

	privileges_keep(PRIVILEGES_NONE);
	for (int finds_sources = 0; finds_sources < 2; finds_sources++) {
		for (struct trace_place *place = places->list; place < end; place++) {
			struct trace_place *first = places->list;

			while (!are_of_one_file(first, place))
				first++;
			if (place->inode && place == first)
				find_in_file(place, end, places->search->root, finds_sources);
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

	if (text_equals(module, "[vdso]"))
		return place->is_compat ? TRACE_FROM_UNKNOWN : TRACE_FROM_VDSO;
	/* A file that cannot be read is one that any function may have called in. */
	if (!*place->function && (!module.length || files_is_c_library(module)))
		return TRACE_FROM_UNKNOWN;
	if (strcmp(place->function, "syscall") == 0)
		return TRACE_FROM_SYSCALL_FUNCTION;
	return files_is_c_library(module) ? TRACE_FROM_LIBC : TRACE_FROM_CODE;
}

static void finish(const struct trace_evidence *trace, struct trace_places *places, uint64_t top,
	bool are_system_calls)
{
	struct deadline deadline = deadline_after(SYMBOLS_NS);
	struct trace_places shared;
	uint64_t sum = 0;
	struct fact why;
	size_t size;

	jitted_finish(search_of(places)->jitted, places);
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
		/* If it does not reach its end, what it has found by then counts. */
		if (child_run(find_functions, NULL, &shared, &deadline, &why))
			fact_set(&why, FACT_ABSENT, "there is no file for it");
		memcpy(places->list, shared.list, size);
		child_unshare(shared.list, size);
	}
	for (size_t i = 0; i < places->count; i++) {
		struct trace_place *place = &places->list[i];
		const struct trace_row *row = &trace->request->plan->rows[place->row];

		place->call = row->call->name;
		place->clock = row->clock;
		if (place->inode)
			snprintf(place->address, sizeof(place->address), "0x%" PRIx64,
				place->offset);
		place->share_percent = 100 * (double)place->count / (double)sum;
		if (place->source.fact.state == FACT_UNREAD)
			place->source.fact = why;
		place->origin = are_system_calls ? find_origin(place) : TRACE_FROM_UNKNOWN;
		text_clean_span(place->module, sizeof(place->module), text_span(place->module));
	}
}

void places_finish(struct trace_evidence *trace, uint64_t top)
{
	finish(trace, &trace->places, top, false);
	finish(trace, &trace->call_places, top, true);
}
