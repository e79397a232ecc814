/* SPDX-License-Identifier: MIT */
/*
 * Path resolution in user space, one component at a time, for two callers that cannot leave it
 * to the kernel. A captured tree may hold links to the host's own files; openat2(2) with
 * RESOLVE_IN_ROOT would confine them, but Linux has it only since 5.6 and older seccomp filters
 * refuse it. An output file may be reached through links that another user swaps meanwhile.
 *
 * Directories are opened with O_NOFOLLOW below one another. A link's text replaces it in the
 * path, and so does the parent of "..", and then the walk starts again: what was resolved holds
 * no links, and the kernel never sees a "..", but for those at the beginning of a relative path.
 */
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* MAXSYMLINKS, as in the kernel. */
#define LINKS_MAX 40

#define OPEN_DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

enum step {
	STEP_DOWN,   /* entered a directory */
	STEP_DONE,   /* at the last component */
	STEP_AGAIN,  /* ".." was taken out of the path */
	STEP_LINK,   /* a link's text was put in */
	STEP_FAILED, /* errno says why */
};

struct component {
	size_t from, to; /* in path->text */
	size_t next;     /* where the one after it begins */
};

bool path_is_private(int directory)
{
	struct stat status;

	if (fstat(directory, &status) < 0)
		return false;
	return (status.st_uid == 0 || status.st_uid == geteuid()) &&
	       !(status.st_mode & (S_IWGRP | S_IWOTH));
}

/* Replaces text[from, to) by `length` bytes. */
static enum step replace(struct path *path, size_t from, size_t to, const char *by, size_t length)
{
	size_t tail = strlen(path->text + to) + 1;

	if (from + length + tail > sizeof(path->text)) {
		errno = ENAMETOOLONG;
		return STEP_FAILED;
	}
	memmove(path->text + from + length, path->text + to, tail);
	memcpy(path->text + from, by, length);
	return STEP_AGAIN;
}

static bool is_in_procfs(int directory)
{
	struct statfs system;

	return fstatfs(directory, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

static enum step follow(
	struct path *path, const struct component *here, const char *link, size_t length)
{
	size_t from = link[0] == '/' ? 0 : here->from;

	if (path->wary && !path_is_private(path->directory)) {
		path->link_refused = true;
		errno = EACCES;
		return STEP_FAILED;
	}
	if (!path->confined && !path->text[here->next] && is_in_procfs(path->directory)) {
		path->descriptor = true;
		return STEP_DONE;
	}
	if (length == 0 || length == PATH_MAX) {
		errno = length ? ENAMETOOLONG : ENOENT;
		return STEP_FAILED;
	}
	return replace(path, from, here->to, link, length) == STEP_FAILED ? STEP_FAILED : STEP_LINK;
}

static bool enter(struct path *path, const char *name)
{
	int next = openat(path->directory, name, OPEN_DIRECTORY);

	if (next < 0)
		return false;
	close(path->directory);
	path->directory = next;
	return true;
}

static bool take_component(struct path *path, size_t at, struct component *component)
{
	const char *text = path->text;
	size_t length;

	component->from = at + strspn(text + at, "/");
	component->to = component->from + strcspn(text + component->from, "/");
	component->next = component->to + strspn(text + component->to, "/");
	length = component->to - component->from;
	if (length >= sizeof(path->name)) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(path->name, text + component->from, length);
	path->name[length] = '\0';
	if (length == 0)
		strcpy(path->name, ".");
	return true;
}

/* "..": takes it out of the path together with the component before it. */
static enum step go_up(
	struct path *path, const struct component *parent, const struct component *up)
{
	bool at_root = path->confined || path->text[0] == '/';

	if (parent->to > parent->from)
		return replace(path, parent->from, up->next, "", 0);
	if (at_root)
		return replace(path, up->from, up->next, "", 0);
	return enter(path, "..") ? STEP_DOWN : STEP_FAILED;
}

static enum step take_step(
	struct path *path, struct component *parent, const struct component *here)
{
	char link[PATH_MAX];
	bool is_last = !path->text[here->next];
	ssize_t length;

	if (strcmp(path->name, ".") == 0)
		return is_last ? STEP_DONE : STEP_DOWN;
	if (strcmp(path->name, "..") == 0)
		return go_up(path, parent, here);
	length = readlinkat(path->directory, path->name, link, sizeof(link));
	if (length >= 0)
		return follow(path, here, link, (size_t)length);
	if (is_last)
		return STEP_DONE;
	*parent = *here;
	return enter(path, path->name) ? STEP_DOWN : STEP_FAILED;
}

/* Walks down until the last component, or to one that changes the path. */
static enum step walk(struct path *path)
{
	struct component parent = {0}, here = {0};
	enum step step = STEP_DOWN;

	while (step == STEP_DOWN) {
		if (!take_component(path, here.next, &here))
			return STEP_FAILED;
		step = take_step(path, &parent, &here);
	}
	return step;
}

static bool begin(struct path *path)
{
	if (path->confined || path->text[0] == '/')
		path->directory = openat(path->root, ".", OPEN_DIRECTORY);
	else
		path->directory = open(".", OPEN_DIRECTORY);
	return path->directory >= 0;
}

int path_find(struct path *path, const char *from)
{
	unsigned links = 0;
	enum step step;
	int error;

	path->link_refused = false;
	path->descriptor = false;
	if (!from[0])
		return ENOENT;
	if (strlen(from) >= sizeof(path->text))
		return ENAMETOOLONG;
	memcpy(path->text, from, strlen(from) + 1);
	for (;;) {
		if (!begin(path))
			return errno;
		step = walk(path);
		if (step == STEP_DONE)
			return 0;
		error = errno;
		close(path->directory);
		if (step == STEP_FAILED)
			return error;
		if (step == STEP_LINK && ++links > LINKS_MAX)
			return ELOOP;
	}
}
