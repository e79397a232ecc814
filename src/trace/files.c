/* SPDX-License-Identifier: MIT */
/*
 * Reads what says of a process where its code comes from: /proc, its memory map, and the files that
 * are mapped, with their symbols.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/root.h"
#include "base/text.h"

/* The memory that a file is read to grows by multiples of this. */
#define TAKE_SIZE 8192

/* Limits what is read of a memory map, and of /proc/PID/status, which has up to 65,536 groups. */
#define MAPS_SIZE (4 << 20)
#define STATUS_SIZE (1 << 20)

struct span files_take(int file, size_t most)
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

struct span status_read(pid_t pid)
{
	return proc_read(pid, "status", STATUS_SIZE);
}

bool process_is_there(pid_t pid)
{
	struct span status = status_read(pid), state = {NULL, 0}, threads = {NULL, 0};
	bool has_ended = kill(pid, 0) < 0 && errno == ESRCH;

	if (text_find_value(status, "State", &state) && text_starts(state, "Z"))
		has_ended =
			text_find_value(status, "Threads", &threads) && text_equals(threads, "1");
	span_free(status);
	return !has_ended;
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

int files_open_root(pid_t pid)
{
	struct root root;
	struct fact why;
	char path[256];

	snprintf(path, sizeof(path), "/proc/%d/root" UP UP UP UP, pid);
	return root_open(&root, path, &why) ? root.directory : 0;
}

/* Opens a regular file alone, a link to one, too: another may be a device. */
static int open_file(int root, const char *path)
{
	char *resolved = root ? NULL : realpath(path, NULL);
	struct stat status;
	struct fact why;
	int file = -1;

	if (root)
		file = root_open_file(&(struct root){.directory = root}, path, O_RDONLY, &why);
	else if (resolved)
		file = file_open_regular(AT_FDCWD, resolved, O_RDONLY | O_CLOEXEC, &status);
	free(resolved);
	return file;
}

/* Distributions have what they strip from files here, by build IDs or by the paths of the files. */
#define DEBUG_FILES "/usr/lib/debug"
#define BUILD_ID_MAX 64

/* Opens the file at this path, if it was stripped from one with the same build ID. */
static bool open_apart(int root, const char *path, struct span id, struct code_file *code)
{
	struct span other = {NULL, 0};
	struct elf apart;
	int file = open_file(root, path);

	if (file < 0)
		return false;
	if (elf_map(&apart, file))
		other = elf_build_id(&apart);
	if (!other.at || other.length != id.length || memcmp(other.at, id.at, id.length) != 0) {
		close(file);
		return false;
	}
	if (!elf_section(&code->elf, ".symtab"))
		code->symbols = apart;
	code->debug = file;
	return true;
}

/* Looks where gdb(1) does: by build ID, and by the name that strip(1) left. */
static void find_apart(int root, const char *path, struct code_file *code)
{
	static const char *const folders[][2] = {{"", ""}, {"", ".debug/"}, {DEBUG_FILES, ""}};
	uint64_t link = elf_section(&code->elf, ".gnu_debuglink");
	struct span name = elf_name(&code->elf, ELF_READ(&code->elf, link, Shdr, sh_offset), 0);
	struct span id = elf_build_id(&code->elf);
	const char *slash = strrchr(path, '/');
	char other[PATH_MAX];

	if (!id.length || id.length > BUILD_ID_MAX)
		return;
	snprintf(other, sizeof(other), DEBUG_FILES "/.build-id/");
	for (size_t i = 0; i < id.length; i++)
		text_append(
			other, sizeof(other), "%s%02x", i == 1 ? "/" : "", (unsigned char)id.at[i]);
	text_append(other, sizeof(other), ".debug");
	for (size_t i = 0; !open_apart(root, other, id, code); i++) {
		if (!link || !slash || name.length > NAME_MAX || i == ARRAY_SIZE(folders))
			return;
		snprintf(other, sizeof(other), "%s%.*s/%s%.*s", folders[i][0], (int)(slash - path),
			path, folders[i][1], (int)name.length, name.at);
	}
}

/* btrfs and overlayfs give a file another device in memory maps: only the inode is compared. */
bool code_open(int root, const char *path, uint64_t inode, struct code_file *code)
{
	int file = open_file(root, path);
	struct stat status;

	if (file < 0)
		return false;
	if (fstat(file, &status) < 0 || status.st_ino != inode || !elf_map(&code->elf, file)) {
		close(file);
		return false;
	}
	code->symbols = code->elf;
	code->debug = file;
	if (elf_section(&code->elf, ".debug_info"))
		return true;
	close(file);
	code->debug = -1;
	find_apart(root, path, code);
	return true;
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

const struct place_mapping *maps_find(const struct maps *maps, uint64_t address)
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
