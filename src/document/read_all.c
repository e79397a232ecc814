/* SPDX-License-Identifier: MIT */
/*
 * Reads the documents of files and directories. Other users may replace what is in a directory at
 * any time: only regular files and directories are opened there, and symbolic links, which may lead
 * to another document or in a circle, are left out.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/root.h"
#include "stream.h"

/* Directories in one another: more than any collection of documents has. */
#define DEPTH_MAX 16

struct place {
	const struct document_reader *reader;
	char path[PATH_MAX]; /* of what is being read; one for all levels */
};

/* `line` is 0 if it is not about a line. */
static void say(const struct place *place, unsigned long line, const char *refused)
{
	const struct document_reader *reader = place->reader;
	char name[PATH_MAX + 24]; /* "clocks.jsonl:17" */

	text_clean(name, sizeof(name), place->path);
	if (line)
		text_append(name, sizeof(name), ":%lu", line);
	if (refused)
		reader->refuse(reader->argument, name, refused);
	else
		reader->take(reader->argument, name);
}

/* Takes the file, which is the one at place->path. */
static void read_file(const struct place *place, int file)
{
	const struct document_reader *reader = place->reader;
	struct document_stream stream;
	enum document_found kind;
	unsigned long line;
	size_t found = 0;

	document_stream_start(&stream, file);
	stream.stop = reader->stop;
	for (;; found++) {
		struct fact why = {0};

		memset(reader->to, 0, reader->size);
		kind = document_stream_next(&stream, reader->fields, reader->to, &line, &why);
		/* An interrupt may have cut a document off. */
		if (kind == DOCUMENT_END || (kind == DOCUMENT_BROKEN && *reader->stop))
			break;
		if (kind == DOCUMENT_BROKEN)
			say(place, line, why.reason);
		else
			say(place, found || document_stream_has_more(&stream) ? line : 0, NULL);
	}
	if (!found && !*reader->stop)
		say(place, 1, "empty: no document");
	document_stream_end(&stream);
}

/* Hidden files are those of editors and of downloads under way. */
static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void read_directory(struct place *place, unsigned depth)
{
	size_t length = strlen(place->path), room = sizeof(place->path) - length;
	struct dirent **names = NULL;
	int count = depth > DEPTH_MAX ? -1 : scandir(place->path, &names, is_shown, alphasort);

	if (count < 0)
		say(place, 0,
			depth > DEPTH_MAX ? "more than 16 directories deep" : strerror(errno));
	for (int i = 0; i < count; free(names[i++])) {
		struct stat status;
		int file = -1;

		if (*place->reader->stop)
			continue;
		errno = ENAMETOOLONG;
		if (snprintf(place->path + length, room, "/%s", names[i]->d_name) < (int)room)
			file = file_open_regular(AT_FDCWD, place->path, O_RDONLY, &status);
		if (file >= 0 && S_ISDIR(status.st_mode)) {
			close(file);
			read_directory(place, depth + 1);
		} else if (file >= 0) {
			read_file(place, file);
		} else if (errno != EOPNOTSUPP) {
			say(place, 0, strerror(errno));
		}
		place->path[length] = '\0';
	}
	free(names);
}

/* The path may be a link, a FIFO, /dev/fd/N. */
bool document_read_all(const char *path, const struct document_reader *reader, struct fact *why)
{
	struct place place = {.reader = reader};
	int file = document_open(path, why);
	struct stat status;

	if (file < 0)
		return false;
	text_clean(place.path, sizeof(place.path), document_name(path));
	if (file == STDIN_FILENO || fstat(file, &status) != 0 || !S_ISDIR(status.st_mode)) {
		read_file(&place, file);
	} else {
		close(file);
		read_directory(&place, 0);
	}
	return true;
}
