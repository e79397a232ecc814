/* SPDX-License-Identifier: MIT */
/*
 * Reads all files of /sys, /proc and /etc below a root directory, so that a tree captured on
 * another machine, or made by a test, is read by the same code.
 */
#ifndef VDSOCHECK_BASE_ROOT_H
#define VDSOCHECK_BASE_ROOT_H

#include <sys/stat.h>

#include "base/fact.h"

/* A tree of files: this host's, or a captured one. */
struct root {
	int directory; /* file descriptor, owned */
	bool live;     /* true for "/": what we ask the CPU and the kernel fits the files */
};

/*
 * Opens the tree at `path`, "/" for this host; other trees need Linux 5.6. On failure returns
 * false with the reason in *why. Close with root_close().
 */
bool root_open(struct root *root, const char *path, struct fact *why);
void root_close(struct root *root);

/*
 * Reads the file at the absolute `path` below the root into `buffer`, at most `size` - 1 bytes, and
 * ends it with NUL. *content has the bytes read; a file that does not fit is a failure. Symbolic
 * links and ".." do not lead out of the root. Of a tree that is not this host's, only regular files
 * and directories are opened. On failure returns false, with the state and the reason in *why.
 */
bool root_read(const struct root *root, const char *path, char *buffer, size_t size,
	struct span *content, struct fact *why);

/* Reads like root_read(), but takes from a longer file the whole lines that fit. */
bool root_read_head(const struct root *root, const char *path, char *buffer, size_t size,
	struct span *content, struct fact *why);

/* Reads a file of up to 8 KiB, without the blanks around it; a longer value is cut. */
void root_read_line(const struct root *root, const char *path, struct text_fact *text);

/*
 * Opens a file that is read in steps (/dev/kmsg returns a record at a time) or written: `access` is
 * O_RDONLY or O_RDWR. Never blocks. Returns -1 with the state and the reason in *why. The caller
 * closes it.
 */
int root_open_file(const struct root *root, const char *path, int access, struct fact *why);

/* Returns true if the file at that path can be read and its first 8 KiB hold this text. */
bool root_contains(const struct root *root, const char *path, const char *text);

/* Returns true if something is at that path. */
bool root_exists(const struct root *root, const char *path);

/*
 * Reads until the end, at most `size` bytes; *length says how many. Returns 0, an errno value, or
 * EFBIG if the buffer is full, which leaves open whether there was more.
 */
int file_read_all(int file, char *buffer, size_t size, size_t *length);

/*
 * Opens a regular file or a directory, and stores its status. Links are not followed, and nothing
 * else is opened. Returns -1 with errno, which is EOPNOTSUPP for another kind of file.
 */
int file_open_regular(int directory, const char *name, int flags, struct stat *status);

#endif
