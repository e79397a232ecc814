/* SPDX-License-Identifier: MIT */
/*
 * Reads the map of the functions of run-time code that just-in-time compilers write for perf(1),
 * /tmp/perf-PID.map. Its process is there when it is looked for, and may have ended when it is
 * read.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/root.h"
#include "files.h"

#define PERF_MAP_SIZE (16 << 20)

/* The name of the map has the last ID, that in the process's own PID namespace. */
struct perf_map perf_map_open(pid_t process)
{
	struct perf_map map = {.process = process, .user = (uid_t)-1};
	struct stat status;
	char path[64];

	map.name = status_number(process, "NStgid", (uint64_t)process);
	snprintf(path, sizeof(path), "/proc/%d", process);
	if (stat(path, &status) == 0)
		map.user = status.st_uid;
	snprintf(path, sizeof(path), "/proc/%d/root", process);
	map.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	map.files = files_open_root(process);
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", process);
	map.mounts = open(path, O_RDONLY | O_CLOEXEC);
	return map;
}

/* The map is that of the process's user, who may write what it likes of its own code. */
struct span perf_map_read(const struct perf_map *map)
{
	struct stat status;
	char path[64];
	int file;

	snprintf(path, sizeof(path), "tmp/perf-%" PRIu64 ".map", map->name);
	file = file_open_regular(map->root, path, O_RDONLY, &status);
	if (file >= 0 && (!S_ISREG(status.st_mode) || status.st_uid != map->user)) {
		close(file);
		file = -1;
	}
	return files_take(file, PERF_MAP_SIZE);
}

/* A line is "7f3c00001000 40 Main.loop", or of HotSpot with "0x" before the numbers. */
bool perf_map_next(struct span *map, uint64_t *start, uint64_t *size, struct span *function)
{
	struct span line, first, second;

	while (text_next_line(map, &line)) {
		if (!text_next_word(&line, &first) || !text_next_word(&line, &second))
			continue;
		text_take_prefix(&first, "0x");
		text_take_prefix(&second, "0x");
		*function = text_trim(line);
		if (number_parse_hex(first, start) && number_parse_hex(second, size))
			return true;
	}
	return false;
}
