/* SPDX-License-Identifier: MIT */
/*
 * Reads what says of a process where its code comes from: /proc, its memory map, and the files that
 * are mapped, with their symbols.
 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/root.h"
#include "base/text.h"

/* Limits what is read of a memory map. */
#define MAPS_SIZE (4 << 20)

struct span files_take(int file, size_t most)
{
	char *content, *shorter;
	size_t length = 0;

	if (file < 0)
		return (struct span){NULL, 0};
	content = xmalloc(most);
	(void)file_read_all(file, content, most, &length);
	close(file);
	if (!length) {
		free(content);
		return (struct span){NULL, 0};
	}
	shorter = realloc(content, length);
	return (struct span){shorter ? shorter : content, length};
}

bool proc_is_ours(struct fact *why)
{
	char target[16] = "";
	uint64_t id = 0;

	if (readlink("/proc/self", target, sizeof(target) - 1) > 0 &&
		number_parse(text_span(target), &id) && id == (uint64_t)getpid())
		return true;
	fact_set(why, FACT_ABSENT, "/proc is not mounted, or is that of another PID namespace");
	return false;
}

struct span proc_read(pid_t pid, const char *name, size_t most)
{
	char path[64];

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	else
		snprintf(path, sizeof(path), "/proc/self/%s", name);
	return files_take(open(path, O_RDONLY | O_CLOEXEC), most);
}

uint64_t status_number(pid_t pid, const char *key, uint64_t otherwise)
{
	struct span status = proc_read(pid, "status", STATUS_SIZE), numbers = {NULL, 0};

	text_find_value(status, key, &numbers);
	while (numbers.length)
		number_parse(text_take_until(&numbers, '\t'), &otherwise);
	span_free(status);
	return otherwise;
}

void process_name(pid_t pid, char *name, size_t size)
{
	struct span comm = proc_read(pid, "comm", NAME_MAX);

	text_clean_span(name, size, text_trim(comm));
	span_free(comm);
}

bool process_is_there(pid_t pid)
{
	struct span status = proc_read(pid, "status", STATUS_SIZE), state = {NULL, 0};
	bool has_ended = kill(pid, 0) < 0 && errno == ESRCH;

	if (text_find_value(status, "State", &state) && text_starts(state, "Z"))
		has_ended = status_number(pid, "Threads", 0) <= 1;
	span_free(status);
	return !has_ended;
}

/* A thread that has ended, and is kept as the first one of its process, has no memory. */
struct span maps_read(pid_t thread)
{
	struct span map = proc_read(thread, "maps", MAPS_SIZE);
	struct dirent *entry;
	char name[64];
	DIR *threads;

	if (map.length)
		return map;
	snprintf(name, sizeof(name), "/proc/%d/task", thread);
	threads = opendir(name);
	while (threads && !map.length && (entry = readdir(threads))) {
		snprintf(name, sizeof(name), "task/%.16s/maps", entry->d_name);
		if (*entry->d_name != '.')
			map = proc_read(thread, name, MAPS_SIZE);
	}
	if (threads)
		closedir(threads);
	return map;
}

void files_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

bool maps_keep_code(struct span *map)
{
	char *end = (char *)(uintptr_t)map->at, *limit = end + map->length;
	struct span rest = *map, line;
	struct mapping mapping;
	bool is_made = false;

	while (text_next_line(&rest, &line)) {
		struct span one = line;

		if (!maps_next(&one, &mapping) ||
			!(mapping.executable || (mapping.inode && !mapping.offset)))
			continue;
		is_made |= !mapping.inode && !mapping.path.length;
		memmove(end, line.at, line.length);
		end += line.length;
		if (end < limit)
			*end++ = '\n';
	}
	map->length = (size_t)(end - map->at);
	return is_made;
}

void span_free(struct span span)
{
	free((void *)(uintptr_t)span.at);
}

struct span span_copy(struct span span)
{
	char *copy = span.length ? xmalloc(span.length) : NULL;

	if (copy)
		memcpy(copy, span.at, span.length);
	return (struct span){copy, span.length};
}

int span_compare(struct span one, struct span other)
{
	const size_t least = one.length < other.length ? one.length : other.length;
	const int order = least ? memcmp(one.at, other.at, least) : 0;

	return order ? order : (one.length > other.length) - (one.length < other.length);
}

/* Paths in a memory map begin at the root of its mount namespace, the process's root below that. */
#define UP "/../../../../../../../.."

int files_open_root(pid_t pid)
{
	char path[256];

	snprintf(path, sizeof(path), "/proc/%d/root" UP UP UP UP, pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int file_reopen(int file)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/*
 * Another file than a regular one may be a device. btrfs and overlayfs give a file another device
 * in memory maps: only the inode is compared.
 */
int files_open_code(int root, const char *path, uint64_t inode)
{
	int found = openat(root > 0 ? root : AT_FDCWD, path + (root > 0), O_PATH | O_CLOEXEC);
	struct stat status;
	int file = -1;

	if (found >= 0 && fstat(found, &status) == 0 && S_ISREG(status.st_mode) &&
		(!inode || status.st_ino == inode))
		file = file_reopen(found);
	close(found);
	return file;
}

bool files_is_named(struct span path, const char *const *names)
{
	for (struct span folder = path; folder.length;) {
		path = folder;
		text_take_until(&folder, '/');
	}
	while (*names && !text_starts(path, *names))
		names++;
	return *names;
}

bool files_is_c_library(struct span path)
{
	static const char *const names[] = {"libc.", "libc-2.", "ld-musl", NULL};

	return files_is_named(path, names);
}

/* ---- the memory map of a process ---- */

struct maps maps_parse(struct span text)
{
	struct maps maps = {NULL, 0};
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
		mapping->load = map.inode && first.inode == map.inode ? first.start
		                                                      : map.start - map.offset;
	}
	return maps;
}

bool mapping_is_made(const struct mapping *mapping)
{
	return !mapping->inode && !mapping->path.length;
}

void maps_free(struct maps *maps)
{
	free(maps->list);
}

static int by_range(const void *key, const void *element)
{
	const uint64_t address = *(const uint64_t *)key;
	const struct mapping *map = &((const struct place_mapping *)element)->map;

	return address < map->start ? -1 : address >= map->end;
}

const struct place_mapping *maps_find(const struct maps *maps, uint64_t address)
{
	return maps->count
	               ? bsearch(&address, maps->list, maps->count, sizeof(*maps->list), by_range)
	               : NULL;
}
