/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions of code that was made at run time, in the map that just-in-time compilers
 * write for perf(1). A process's map is opened while the process is there, and read once, at the
 * end.
 */
#include "jitted.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/root.h"
#include "base/text.h"
#include "base/time.h"

const char jitted_module[] = "[run-time code]";

#define PERF_MAP_SIZE (16 << 20)

/* Limits the time that reading them takes. */
#define MAPS_NS (2 * NS_PER_SECOND)

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
int jitted_open(pid_t pid)
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
		process->jitted = jitted_open(process->pid);
	if (at < jitted->file_count || process->jitted < 0 || at == JIT_FILES)
		return at < jitted->file_count ? at : JIT_FILES;
	jitted->files[at] = process->jitted;
	jitted->owners[at] = process->owner;
	process->jitted = -1;
	jitted->file_count++;
	return at;
}

size_t jitted_add(struct jitted **all, const struct trace_place *calls,
	struct place_process *process, uint64_t address)
{
	struct jitted *jitted = *all ? *all : (*all = xcalloc(1, sizeof(**all)));

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

void jitted_count(struct jitted *jitted, size_t site, uint64_t calls)
{
	jitted->sites[site].count += calls;
}

void jitted_forget_owner(struct jitted *jitted, uint64_t owner)
{
	for (size_t i = 0; jitted && i < jitted->file_count; i++) {
		if (jitted->owners[i] == owner)
			jitted->owners[i] = 0;
	}
}

void jitted_free(struct jitted *jitted)
{
	while (jitted && jitted->file_count)
		close(jitted->files[--jitted->file_count]);
	free(jitted ? jitted->sites : NULL);
	free(jitted);
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
		content = rest = files_take(jitted->files[file], PERF_MAP_SIZE);
		while (text_next_line(&rest, &line))
			read_line(line, jitted->sites + from, to - from);
		span_free(content);
	}
}

void jitted_finish(struct jitted *jitted, struct trace_places *places)
{
	struct deadline deadline = deadline_after(MAPS_NS);
	struct jitted shared;
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
			text_clean(place->module, sizeof(place->module), jitted_module);
			text_clean(place->function, sizeof(place->function), site->function);
		}
		place->count += site->count;
	}
}
