/* SPDX-License-Identifier: MIT */
/*
 * Keeps the places that calls come from, with the memory maps that give an address its file: the
 * process may end soon. At the end a child reads what other programs wrote, and places with the
 * same functions are added up.
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
#include "frames.h"

/* Limits the time that a child takes, and how many stacks it unwinds. */
#define SEARCH_NS (5 * NS_PER_SECOND)
#define STACKS_MOST 8192

/* Processes whose maps of run-time code are read. */
#define MAPS_MOST 256

struct place_stacks {
	struct stack *list;
	size_t count, room;
	struct image unknown;                 /* without a line */
	struct image *images;                 /* owned */
	struct perf_map perf_maps[MAPS_MOST]; /* the first one stands for code without a map */
	size_t perf_map_count;
	int root;      /* directory: paths of files begin there; 0: at our root */
	uint64_t seen; /* stacks, of which the list may have a part */
};

static struct place_stacks *stacks_of(struct trace_places *places)
{
	if (!places->stacks) {
		places->stacks = xcalloc(1, sizeof(*places->stacks));
		places->stacks->perf_map_count = 1;
	}
	return places->stacks;
}

/* Takes the text. */
static const struct image *keep(struct place_stacks *stacks, struct span text, size_t perf_map)
{
	struct image *image = xcalloc(1, sizeof(*image));

	*image = (struct image){stacks->images, text, maps_parse(text), perf_map};
	return stacks->images = image;
}

const struct image *places_keep(struct trace_places *places, struct span maps, size_t perf_map)
{
	struct span text = span_copy(maps);

	(void)maps_keep_code(&text);
	return keep(stacks_of(places), text, perf_map);
}

const struct image *places_keep_process(struct trace_places *places, pid_t process,
	const struct span *maps, const struct image *known)
{
	struct span text = maps ? span_copy(*maps) : maps_read(process);
	const bool is_made = maps_keep_code(&text);
	const size_t perf_map = text.length && is_made ? places_open_map(places, process) : 0;

	if (text.length &&
		(!known || known->perf_map != perf_map || span_compare(known->text, text) != 0))
		return keep(stacks_of(places), text, perf_map);
	span_free(text);
	return known;
}

/* A process has one map of its run-time code, whichever program it executes. */
size_t places_open_map(struct trace_places *places, pid_t thread)
{
	const pid_t process = (pid_t)status_number(thread, "Tgid", (uint64_t)thread);
	struct place_stacks *stacks = stacks_of(places);
	size_t at = 1;

	while (at < stacks->perf_map_count && stacks->perf_maps[at].process != process)
		at++;
	if (at == MAPS_MOST)
		return 0;
	if (at == stacks->perf_map_count)
		stacks->perf_maps[stacks->perf_map_count++] = perf_map_open(process);
	return at;
}

void places_open_root(struct trace_places *places, pid_t pid)
{
	stacks_of(places)->root = files_open_root(pid);
}

static void add(struct place_stacks *stacks, size_t at, const struct stack *stack)
{
	if (at == stacks->count)
		stacks->list = array_grow(
			stacks->list, stacks->count++, &stacks->room, sizeof(*stacks->list));
	stacks->list[at] = *stack;
	if (!stack->image)
		stacks->list[at].image = &stacks->unknown;
}

/* The byte before the address is one of the instruction. */
void places_add(struct trace_places *places, const struct image *image, struct place_call call,
	uint64_t calls, uint64_t address)
{
	struct place_stacks *stacks = stacks_of(places);
	struct stack stack = {image, call, (double)calls, .is_exact = true};

	stack.sample.registers[STACK_PLACE] = address - 1;
	add(stacks, stacks->count, &stack);
}

/* Of more than there is room for, each is kept with the same chance, which has no period. */
void places_add_stack(struct trace_places *places, const struct image *image,
	struct place_call call, double weight, const struct stack_sample *sample)
{
	struct place_stacks *stacks = stacks_of(places);
	uint64_t at = ++stacks->seen * 0x9e3779b97f4a7c15;

	at = (at ^ at >> 32) * 0x9e3779b97f4a7c15;
	at = stacks->count < STACKS_MOST ? stacks->count : (at >> 32) % stacks->seen;
	if (at < STACKS_MOST)
		add(stacks, (size_t)at, &(struct stack){image, call, weight, .sample = *sample});
}

/* The stacks of a process, which stand together. */
struct group {
	struct stack *first;
	size_t count;
};

static int by_process(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;

	return (a->sample.process > b->sample.process) - (a->sample.process < b->sample.process);
}

static int by_count(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	return (a->count < b->count) - (a->count > b->count);
}

/* Each execve(2) has its vDSO at another address, by which the map is that of the stack. */
static void read_map(struct trace_places *places, const struct group *group)
{
	const pid_t process = group->first->sample.process;
	const struct span map = maps_read(process);
	const struct image *image = places_keep(places, map, places_open_map(places, process));

	for (size_t i = 0; i < group->count; i++) {
		struct stack *stack = &group->first[i];
		const struct place_mapping *mapping =
			maps_find(&image->maps, stack->sample.registers[STACK_PLACE]);

		if (mapping && mapping->map.is_vdso)
			stack->image = image;
	}
	span_free(map);
}

void places_read_maps(struct trace_places *places, uint64_t most)
{
	struct deadline deadline = deadline_after(PLACES_READING_NS);
	struct stack *list = places->stacks->list;
	const size_t count = places->stacks->count;
	struct group *groups = xcalloc(count, sizeof(*groups));
	size_t made = 0;

	qsort(list, count, sizeof(*list), by_process);
	for (size_t i = 0; i < count; i++) {
		if (!i || by_process(&list[i], &list[i - 1]) != 0)
			groups[made++].first = &list[i];
		groups[made - 1].count++;
	}
	qsort(groups, made, sizeof(*groups), by_count);
	for (size_t i = 0; i < made && i < most && deadline_left_ns(&deadline); i++) {
		if (groups[i].first->sample.process > 0)
			read_map(places, &groups[i]);
	}
	free(groups);
}

void places_free(struct trace_places *places)
{
	struct place_stacks *stacks = places->stacks;

	while (stacks && --stacks->perf_map_count) {
		close(stacks->perf_maps[stacks->perf_map_count].root);
		close(stacks->perf_maps[stacks->perf_map_count].files);
		close(stacks->perf_maps[stacks->perf_map_count].mounts);
	}
	for (struct image *image = stacks ? stacks->images : NULL, *next; image; image = next) {
		next = image->next;
		maps_free(&image->maps);
		span_free(image->text);
		free(image);
	}
	if (stacks && stacks->root > 0)
		close(stacks->root);
	if (stacks)
		free(stacks->list);
	free(stacks);
	free(places->list);
	*places = (struct trace_places){.count = 0};
}

/* ---- the places ---- */

struct place {
	double calls;
	double most; /* of these, at the address of the stack */
	const struct stack *stack;
	const struct found *found;
};

static struct span module_of(const struct found *found)
{
	if (!found->mapping)
		return (struct span){NULL, 0};
	return mapping_is_made(&found->mapping->map) ? text_span("[run-time code]")
	                                             : found->mapping->map.path;
}

static int by_functions(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	const struct place_call one = a->stack->call, other = b->stack->call;
	int order = (one.kind > other.kind) - (one.kind < other.kind);

	order = order ? order : (one.row > other.row) - (one.row < other.row);
	order = order ? order : span_compare(module_of(a->found), module_of(b->found));
	for (size_t i = 0; i < PLACE_FRAMES && !order; i++)
		order = strcmp(a->found->names[i], b->found->names[i]);
	return order;
}

static int by_address(const void *left, const void *right)
{
	const struct found *one = ((const struct place *)left)->found;
	const struct found *other = ((const struct place *)right)->found;
	const int order = by_functions(left, right);

	return order ? order : (one->address > other->address) - (one->address < other->address);
}

static int places_by_image(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;

	return (a->image > b->image) - (a->image < b->image);
}

static int places_by_calls(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return a->calls != b->calls ? (a->calls < b->calls) - (a->calls > b->calls)
	                            : by_address(left, right);
}

/* A child works on this. */
struct search {
	const struct place_stacks *stacks;
	struct found *found;          /* of each stack, shared */
	struct place *places;         /* room for as many */
	struct place_source *sources; /* of those that are shown, shared */
	size_t shown;
};

/*
 * Makes the list of places, those with the most calls first. Returns their number. One function is
 * one place, at the address with the most calls; without a name each address is one.
 */
static size_t choose(const struct search *search)
{
	struct place *places = search->places, *last = NULL;
	const size_t count = search->stacks->count;
	size_t made = 0;
	double here = 0;

	for (size_t i = 0; i < count; i++) {
		const struct stack *stack = &search->stacks->list[i];

		places[i] = (struct place){stack->weight, 0, stack, &search->found[i]};
	}
	qsort(places, count, sizeof(*places), by_address);
	for (size_t i = 0; i < count; i++) {
		const struct place place = places[i];
		const bool is_here = i && by_address(&place, &places[i - 1]) == 0;

		here = is_here ? here + place.calls : place.calls;
		if (is_here || (i && *place.found->names[0] && by_functions(&place, last) == 0)) {
			last->calls += place.calls;
		} else {
			last = &places[made++];
			*last = place;
		}
		if (here > last->most) {
			last->most = here;
			last->stack = place.stack;
			last->found = place.found;
		}
	}
	qsort(places, made, sizeof(*places), places_by_calls);
	return made;
}

/* It reads files of programs that may be hostile, and may shrink or not answer. */
static void work(void *argument)
{
	const struct search *search = argument;
	const struct place_stacks *stacks = search->stacks;
	size_t count;

	privileges_keep(PRIVILEGES_NONE);
	frames_begin(stacks->root, stacks->perf_maps);
	for (size_t i = 0; i < stacks->count; i++)
		frames_find(&stacks->list[i], &search->found[i]);
	count = choose(search);
	for (size_t i = 0; i < count && i < search->shown; i++)
		frames_find_source(
			search->places[i].stack, search->places[i].found, &search->sources[i]);
}

/*
 * 32-bit programs make all their system calls in their vDSO, which says nothing. A program with a C
 * library in its own file has the names of its functions, if they were not stripped.
 */
static enum trace_origin places_find_origin(const struct trace_place *place, enum place_kind kind)
{
	struct span module = text_span(place->module);

	if (kind == PLACE_BY_FUNCTION)
		return TRACE_FROM_SYSCALL_FUNCTION;
	if (text_equals(module, "[vdso]"))
		return kind == PLACE_OF_32_BIT ? TRACE_FROM_UNKNOWN : TRACE_FROM_VDSO;
	/* A file that cannot be read is one that any function may have called in. */
	if (!*place->function && (!module.length || files_is_c_library(module)))
		return TRACE_FROM_UNKNOWN;
	if (strcmp(place->function, "syscall") == 0)
		return TRACE_FROM_SYSCALL_FUNCTION;
	return files_is_c_library(module) ? TRACE_FROM_LIBC : TRACE_FROM_CODE;
}

/*
 * Of N calls of a row, of which one in so many was taken, w, a share p has the variance
 * p (1 - p) / N^2 times the sum of w (w - 1); that is 0 if all were taken. Of samples, all of which
 * are by chance, it is the sum of w^2.
 */
struct row_sum {
	double calls, spread;
};

static void sum_rows(const struct place_stacks *stacks, struct row_sum rows[TRACE_ROW_MAX])
{
	for (size_t i = 0; i < stacks->count; i++) {
		const struct stack *stack = &stacks->list[i];
		const double w = stack->weight;
		struct row_sum *row = &rows[stack->call.row];

		row->calls += w;
		if (stack->call.kind == PLACE_BY_SAMPLE)
			row->spread += w * w;
		else if (!stack->is_exact)
			row->spread += w * fmax(w - 1, 0);
	}
}

static void make_place(struct trace_place *to, const struct trace_plan *plan,
	const struct place *from, const struct row_sum *row, double sum)
{
	const struct place_call call = from->stack->call;
	const struct trace_row *planned = &plan->rows[call.row];
	const double part = from->calls / row->calls;

	to->count = (uint64_t)llround(from->calls);
	to->share_percent = 100 * from->calls / sum;
	to->error_percent = 100 * sqrt(fmax(part * (1 - part), 0) * row->spread) / sum;
	to->row = call.row;
	to->call = call.kind == PLACE_BY_SAMPLE ? "" : planned->call->name;
	to->clock = call.kind == PLACE_BY_SAMPLE ? "" : planned->clock;
	text_clean_span(to->module, sizeof(to->module), module_of(from->found));
	if (from->found->mapping && from->found->mapping->map.inode)
		snprintf(to->address, sizeof(to->address), "0x%" PRIx64, from->found->address);
	text_clean(to->function, sizeof(to->function), from->found->names[0]);
	for (size_t i = 1; i < PLACE_FRAMES && *from->found->names[i]; i++)
		text_clean(to->callers[to->caller_count++], sizeof(to->callers[0]),
			from->found->names[i]);
}

static void finish(const struct trace_evidence *trace, struct trace_places *places, uint64_t top)
{
	struct deadline deadline = deadline_after(SEARCH_NS);
	struct place_stacks *stacks = places->stacks;
	const size_t count = stacks ? stacks->count : 0, shown = top < count ? (size_t)top : count;
	const size_t size = count * sizeof(struct found) + shown * sizeof(struct place_source);
	struct row_sum rows[TRACE_ROW_MAX] = {{0, 0}};
	struct search search = {.stacks = stacks, .shown = shown};
	struct fact why = {0};
	double sum = 0;

	if (!count || !(search.found = child_share(size, &why)))
		return;
	search.sources = (struct place_source *)(search.found + count);
	search.places = xcalloc(count, sizeof(*search.places));
	qsort(stacks->list, count, sizeof(*stacks->list), places_by_image);
	for (size_t i = 0; i < count; i++) {
		struct stack *stack = &stacks->list[i];
		struct found *found = &search.found[i];

		if (stacks->seen > STACKS_MOST)
			stack->weight *= (double)stacks->seen / STACKS_MOST;
		found->at = stack->sample.registers[STACK_PLACE];
		found->mapping = maps_find(&stack->image->maps, found->at);
		if (found->mapping && found->mapping->map.inode)
			found->address = found->at - found->mapping->load;
	}
	/* What it has found by its end counts. */
	(void)child_run(work, NULL, &search, &deadline, &why);
	places->count = choose(&search);
	if (places->count > shown)
		places->count = shown;
	places->list = xcalloc(places->count, sizeof(*places->list));
	sum_rows(stacks, rows);
	for (size_t i = 0; i < TRACE_ROW_MAX; i++)
		sum += rows[i].calls;
	for (size_t i = 0; i < places->count; i++) {
		const struct place *from = &search.places[i];

		make_place(&places->list[i], trace->request->plan, from,
			&rows[from->stack->call.row], sum);
		if (places == &trace->call_places)
			places->list[i].origin =
				places_find_origin(&places->list[i], from->stack->call.kind);
		places->list[i].source = search.sources[i];
		if (search.sources[i].fact.state == FACT_UNREAD)
			places->list[i].source.fact = why;
	}
	free(search.places);
	child_unshare(search.found, size);
}

void places_finish(struct trace_evidence *trace, uint64_t top)
{
	finish(trace, &trace->places, top);
	finish(trace, &trace->call_places, top);
}
