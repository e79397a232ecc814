/* SPDX-License-Identifier: MIT */
/*
 * Files below a root: the host itself, or a captured tree that no link may lead out of. Files of
 * /proc and /sys are read whole into a buffer of the caller's, never more than fits.
 */
#include "base/root.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "path.h"

int file_read_all(int file, char *buffer, size_t size, size_t *length)
{
	*length = 0;
	while (*length < size) {
		ssize_t got = read(file, buffer + *length, size - *length);

		if (got == 0)
			return 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno;
		*length += (size_t)got;
	}
	return EFBIG;
}

static bool is_harmless(const struct stat *status)
{
	return S_ISREG(status->st_mode) || S_ISDIR(status->st_mode);
}

int file_open_harmless(int directory, const char *name, int flags, struct stat *status)
{
	int file = -1, error = 0;

	if (fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (is_harmless(status)) {
		file = openat(
			directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (file < 0 || fstat(file, status) < 0)
			error = errno == ELOOP ? EOPNOTSUPP : errno; /* a link by now */
	}
	if (!error && is_harmless(status))
		return file;
	if (file >= 0)
		close(file);
	errno = error ? error : EOPNOTSUPP;
	return -1;
}

bool root_open(struct root *root, const char *path, struct fact *why)
{
	root->live = strcmp(path, "/") == 0;
	root->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->directory < 0) {
		fact_set_errno(why, errno, path);
		return false;
	}
	fact_set_known(why);
	return true;
}

void root_close(struct root *root)
{
	close(root->directory);
	root->directory = -1;
}

/* What root_holds() reads of a file: the marks that it is asked for stand near the beginning. */
#define HOLDS_SIZE 8192

static const char *below(const char *path)
{
	while (*path == '/')
		path++;
	return path;
}

/* A captured tree may hold links such as /etc/os-release -> /usr/lib/...: keep them inside. */
static int open_inside(const struct root *root, const char *name, int flags)
{
	struct path path = {.root = root->directory, .confined = true};
	int error = path_find(&path, name);
	struct stat status;
	int file;

	if (error) {
		errno = error;
		return -1;
	}
	if (flags & O_PATH)
		file = openat(path.directory, path.name, flags | O_NOFOLLOW);
	else
		file = file_open_harmless(path.directory, path.name, flags, &status);
	error = errno;
	close(path.directory);
	errno = error;
	return file;
}

static int open_below(const struct root *root, const char *path, int flags)
{
	if (root->live)
		return openat(root->directory, below(path), flags);
	return open_inside(root, path, flags);
}

/* Reads what fits into the buffer; *cut: there was more. 0 or an errno value. */
static int read_path(const struct root *root, const char *path, char *buffer, size_t size,
	struct span *content, bool *cut)
{
	size_t length = 0;
	int error = 0;
	int file = open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	*cut = false;
	if (file < 0) {
		error = errno;
	} else {
		error = file_read_all(file, buffer, size, &length);
		close(file);
		*cut = error == EFBIG;
	}
	if (*cut) {
		error = 0;
		length = size - 1;
	}
	buffer[length] = '\0';
	*content = (struct span){buffer, length};
	return error;
}

bool root_read(const struct root *root, const char *path, char *buffer, size_t size,
	struct span *content, struct fact *why)
{
	bool cut;
	int error = read_path(root, path, buffer, size, content, &cut);

	if (cut)
		error = EFBIG;
	if (error) {
		fact_set_errno(why, error, path);
		return false;
	}
	fact_set_known(why);
	return true;
}

bool root_read_head(const struct root *root, const char *path, char *buffer, size_t size,
	struct span *content, struct fact *why)
{
	bool cut;
	int error = read_path(root, path, buffer, size, content, &cut);

	if (error) {
		fact_set_errno(why, error, path);
		return false;
	}
	while (cut && content->length > 0 && buffer[content->length - 1] != '\n')
		buffer[--content->length] = '\0';
	fact_set_known(why);
	return true;
}

static int open_for_caller(const struct root *root, const char *path, int access, struct fact *why)
{
	int file = open_below(root, path, access | O_CLOEXEC | O_NONBLOCK);

	if (file < 0)
		fact_set_errno(why, errno, path);
	else
		fact_set_known(why);
	return file;
}

int root_open_file(const struct root *root, const char *path, struct fact *why)
{
	return open_for_caller(root, path, O_RDONLY, why);
}

int root_open_writable(const struct root *root, const char *path, struct fact *why)
{
	return open_for_caller(root, path, O_RDWR, why);
}

bool root_holds(const struct root *root, const char *path, const char *text)
{
	char buffer[HOLDS_SIZE];
	struct span content;
	struct fact why;

	return root_read_head(root, path, buffer, sizeof(buffer), &content, &why) &&
	       text_contains(content, text);
}

bool root_has(const struct root *root, const char *path)
{
	int file = open_below(root, path, O_PATH | O_CLOEXEC);

	if (file < 0)
		return false;
	close(file);
	return true;
}
