/* SPDX-License-Identifier: MIT */
/* Reads /proc of a process, and maps the files of its memory map. */
#ifndef VDSOCHECK_TRACE_FILES_H
#define VDSOCHECK_TRACE_FILES_H

#include "measure/vdso.h"

/* Reads at most so many bytes of an open file, for span_free(), and closes it; it may be -1. */
struct span files_take(int file, size_t most);
void span_free(struct span span);
struct span span_copy(struct span span);

/* Orders spans as memcmp(3) does. */
int span_compare(struct span one, struct span other);

/*
 * Says whether /proc/PID is the process that has this ID here, as it is not in a PID namespace that
 * sees the /proc of another one. False with the reason.
 */
bool proc_is_ours(struct fact *why);

/* Limits what is read of /proc/PID/status, which has up to 65,536 groups. */
#define STATUS_SIZE (1 << 20)

/* Reads at most so many bytes of /proc/PID/NAME, 0: our own; empty: the process has ended. */
struct span proc_read(pid_t pid, const char *name, size_t most);

/* Returns the last number of this key in /proc/PID/status, 0: our own; `otherwise`: it has none. */
uint64_t status_number(pid_t pid, const char *key, uint64_t otherwise);

/* Writes the name of a process, which has none once it has ended: "". */
void process_name(pid_t pid, char *name, size_t size);

/* Returns false if it has ended, though nothing has waited for it. Its first thread may be gone. */
bool process_is_there(pid_t pid);

/* Reads the memory map of a thread's process, as another thread has it if that one is gone. Empty:
 * all have ended. */
struct span maps_read(pid_t thread);

/* Allows as many open files as we may have. Nothing may be executed later that would inherit it. */
void files_raise_limit(void);

/* Leaves those lines of a memory map that maps_parse() needs for code. Says whether some is of no
 * file. */
bool maps_keep_code(struct span *map);

/* Opens the root of a process's files, which takes privileges, for files_open_code(). -1: it
 * cannot. */
int files_open_root(pid_t pid);

/* Opens the file of an O_PATH descriptor, which stays open, for reading. -1: see errno. */
int file_reopen(int file);

/*
 * Opens the regular file at a path of a memory map, if it is still the one with this inode; 0: any.
 * `root` is that of files_open_root(), or not positive: ours. -1: it cannot.
 */
int files_open_code(int root, const char *path, uint64_t inode);

/* Say whether the name of the file begins with one of these, which NULL ends, or with a C
 * library's. */
bool files_is_named(struct span path, const char *const *names);
bool files_is_c_library(struct span path);

/* A memory map, sorted by address. Free it with maps_free(); the text that it points to stays. */
struct place_mapping {
	struct mapping map;
	uint64_t load; /* the address that offsets in the file are relative to */
};

struct maps {
	struct place_mapping *list;
	size_t count;
};

struct maps maps_parse(struct span text);
void maps_free(struct maps *maps);

/* Says whether code in the mapping was made at run time. */
bool mapping_is_made(const struct mapping *mapping);

/* Finds the mapping of an address; NULL: it has none. */
const struct place_mapping *maps_find(const struct maps *maps, uint64_t address);

/* ---- perf_map.c: names of code that was made at run time ---- */

/* Leads to the map that a just-in-time compiler writes for perf(1), when its process has ended,
 * too. */
struct perf_map {
	pid_t process;
	uid_t user;    /* that the map must belong to */
	uint64_t name; /* number in the map's name */
	int root;      /* directory that the process's paths begin in, owned; -1: none */
	int files;     /* by files_open_root(), owned; -1: none */
	int mounts;    /* its mount namespace, which is there while this is open, owned; -1: none */
};

/* Opens this of a process, which takes privileges. The map itself stays closed. */
struct perf_map perf_map_open(pid_t process);

/* Reads the map, for span_free(). To be called in a child: the file system may not answer. */
struct span perf_map_read(const struct perf_map *map);

/* Takes the next function of the map. */
bool perf_map_next(struct span *map, uint64_t *start, uint64_t *size, struct span *function);

#endif
