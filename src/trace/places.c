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
	struct image **images; /* owned */
	size_t image_count, image_room;
	struct perf_map perf_maps[MAPS_MOST]; /* the first one stands for code without a map */
	size_t perf_map_count;
	int root; /* directory: paths of files begin there; 0: at our root */
	/* Each stack is kept with a half of the chance before, for twice as many. */
	unsigned halvings;
	uint64_t seen;
};

void places_free(struct trace_places *places)
{
	struct place_stacks *stacks = places->stacks;

	for (size_t i = 1; stacks && i < stacks->perf_map_count; i++) {
		close(stacks->perf_maps[i].root);
		close(stacks->perf_maps[i].mounts);
	}
	for (size_t i = 0; stacks && i < stacks->image_count; i++) {
		maps_free(&stacks->images[i]->maps);
		span_free(stacks->images[i]->text);
		free(stacks->images[i]);
	}
	if (stacks && stacks->root > 0)
		close(stacks->root);
	if (stacks) {
		free(stacks->images);
		free(stacks->list);
	}
	free(stacks);
	free(places->list);
	*places = (struct trace_places){.count = 0};
}

/* ---- what is kept ---- */

static void begin(struct place_stacks *stacks, struct span maps, size_t perf_map)
{
	const struct image *last =
		stacks->image_count ? stacks->images[stacks->image_count - 1] : NULL;
	struct image image = {.text = span_copy(maps), .perf_map = perf_map};

	(void)maps_keep_code(&image.text);
	if (last && last->perf_map == perf_map && span_compare(last->text, image.text) == 0) {
		span_free(image.text);
		return;
	}
	image.maps = maps_parse(image.text);
	stacks->images = array_grow(
		stacks->images, stacks->image_count, &stacks->image_room, sizeof(*stacks->images));
	stacks->images[stacks->image_count] = xcalloc(1, sizeof(image));
	*stacks->images[stacks->image_count++] = image;
}

static struct place_stacks *stacks_of(struct trace_places *places)
{
	if (!places->stacks) {
		places->stacks = xcalloc(1, sizeof(*places->stacks));
		places->stacks->perf_map_count = 1;
		begin(places->stacks, (struct span){NULL, 0}, 0);
	}
	return places->stacks;
}

void places_begin(struct trace_places *places, struct span maps, size_t perf_map)
{
	begin(stacks_of(places), maps, perf_map);
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

static struct stack *add(struct place_stacks *stacks, size_t row, double weight)
{
	struct stack *stack;

	stacks->list =
		array_grow(stacks->list, stacks->count, &stacks->room, sizeof(*stacks->list));
	stack = &stacks->list[stacks->count++];
	*stack = (struct stack){
		.image = stacks->images[stacks->image_count - 1], .row = row, .weight = weight};
	return stack;
}

/* The byte before the address is one of the instruction. */
void places_add(struct trace_places *places, size_t row, uint64_t calls, uint64_t address)
{
	struct stack *stack = add(stacks_of(places), row, (double)calls);

	stack->is_exact = true;
	stack->sample.registers[STACK_PLACE] = address - 1;
}

/* A hash of a number: whether one is kept is not in step with anything. */
static bool is_kept(uint64_t number, unsigned halvings)
{
	number = (number + 1) * 0x9e3779b97f4a7c15;
	number = (number ^ number >> 32) * 0x9e3779b97f4a7c15;
	return !halvings || !(number >> (64 - halvings));
}

static void halve(struct place_stacks *stacks)
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

void places_add_stack(
	struct trace_places *places, size_t row, double weight, const struct stack_sample *sample)
{
	struct place_stacks *stacks = stacks_of(places);

	if (!is_kept(stacks->seen++, stacks->halvings))
		return;
	if (stacks->count == STACKS_MOST)
		halve(stacks);
	add(stacks, row, weight * (double)(UINT64_C(1) << stacks->halvings))->sample = *sample;
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

static int by_address(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	const struct found *one = a->found, *other = b->found;
	int order = (a->stack->row > b->stack->row) - (a->stack->row < b->stack->row);

	order = order ? order : span_compare(module_of(one), module_of(other));
	for (size_t i = 0; i < PLACE_FRAMES && !order; i++)
		order = strcmp(one->names[i], other->names[i]);
	return order ? order : (one->address > other->address) - (one->address < other->address);
}

/* Says whether two places in order are the same one: that of the same functions, if they are known.
 */
static bool is_same(const struct place *one, const struct place *other)
{
	struct found found = *other->found;

	if (*found.names[0])
		found.address = one->found->address;
	return by_address(one, &(struct place){.stack = other->stack, .found = &found}) == 0;
}

static int by_calls(const void *left, const void *right)
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

/* Makes the list of places, those with the most calls first. Returns their number. */
static size_t choose(const struct search *search)
{
	struct place *places = search->places, *last = places, *same = places;

	for (size_t i = 0; i < search->stacks->count; i++) {
		const struct stack *stack = &search->stacks->list[i];

		places[i] = (struct place){stack->weight, stack->weight, stack, &search->found[i]};
	}
	qsort(places, search->stacks->count, sizeof(*places), by_address);
	/* Those at the same address are added up at the first of them, `same`. */
	for (struct place *place = places + 1; place < places + search->stacks->count; place++) {
		if (by_address(place, same) == 0)
			same->most = same->calls += place->calls;
		else
			*++same = *place;
	}
	for (struct place *place = places + 1; place <= same; place++) {
		if (!is_same(place, last)) {
			*++last = *place;
			continue;
		}
		if (place->most > last->most) {
			last->most = place->most;
			last->stack = place->stack;
			last->found = place->found;
		}
		last->calls += place->calls;
	}
	qsort(places, (size_t)(last - places) + 1, sizeof(*places), by_calls);
	return (size_t)(last - places) + 1;
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
static enum trace_origin find_origin(const struct trace_place *place, size_t kind)
{
	struct span module = text_span(place->module);

	if (kind == PLACES_BY_FUNCTION)
		return TRACE_FROM_SYSCALL_FUNCTION;
	if (text_equals(module, "[vdso]"))
		return place->is_compat ? TRACE_FROM_UNKNOWN : TRACE_FROM_VDSO;
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
		struct row_sum *row = &rows[stack->row % TRACE_ROW_MAX];

		row->calls += w;
		if (stack->row / TRACE_ROW_MAX == PLACES_BY_SAMPLE)
			row->spread += w * w;
		else if (!stack->is_exact)
			row->spread += w * fmax(w - 1, 0);
	}
}

static void make_place(struct trace_place *to, const struct trace_plan *plan,
	const struct place *from, const struct row_sum *row, double sum)
{
	const size_t number = from->stack->row % TRACE_ROW_MAX;
	const size_t kind = from->stack->row / TRACE_ROW_MAX;
	const double part = from->calls / row->calls;

	to->count = (uint64_t)llround(from->calls);
	to->share_percent = 100 * from->calls / sum;
	to->error_percent = 100 * sqrt(fmax(part * (1 - part), 0) * row->spread) / sum;
	to->row = number;
	to->call = kind == PLACES_BY_SAMPLE ? "" : plan->rows[number].call->name;
	to->clock = kind == PLACES_BY_SAMPLE ? "" : plan->rows[number].clock;
	to->is_compat = kind == PLACES_OF_32_BIT;
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
	const struct place_stacks *stacks = places->stacks;
	const size_t count = stacks ? stacks->count : 0, shown = top < count ? (size_t)top : count;
	const size_t size = count * sizeof(struct found) + shown * sizeof(struct place_source);
	struct row_sum rows[TRACE_ROW_MAX] = {{0, 0}};
	struct search search = {.stacks = stacks, .shown = shown};
	struct fact why;
	double sum = 0;

	if (!count || !(search.found = child_share(size, &why)))
		return;
	search.sources = (struct place_source *)(search.found + count);
	search.places = xcalloc(count, sizeof(*search.places));
	for (size_t i = 0; i < count; i++) {
		const uint64_t at = stacks->list[i].sample.registers[STACK_PLACE];
		struct found *found = &search.found[i];

		found->at = at;
		found->mapping = maps_find(&stacks->list[i].image->maps, at);
		if (found->mapping && found->mapping->map.inode)
			found->address = at - found->mapping->load;
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
			&rows[from->stack->row % TRACE_ROW_MAX], sum);
		if (places == &trace->call_places)
			places->list[i].origin =
				find_origin(&places->list[i], from->stack->row / TRACE_ROW_MAX);
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
