/* SPDX-License-Identifier: MIT */
#include "base/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

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

/* openat2(2) of Linux 5.6, spelled out: headers of older distributions lack it. */
#define OPENAT2_NUMBER 437
#define OPENAT2_RESOLVE_IN_ROOT 0x10

/* Where a file is looked into for a mark, it stands near the beginning. */
#define HOLDS_SIZE 8192

struct openat2_how {
	uint64_t flags;
	uint64_t mode;
	uint64_t resolve;
};

static const char *below(const char *path)
{
	while (*path == '/')
		path++;
	return path;
}

/* A captured tree may hold links such as /etc/os-release -> /usr/lib/...: keep them inside. */
static int open_inside(const struct root *root, const char *path, int flags)
{
	struct openat2_how how = {
		.flags = (unsigned)flags,
		.resolve = OPENAT2_RESOLVE_IN_ROOT,
	};
	long file = syscall(OPENAT2_NUMBER, root->directory, below(path), &how, sizeof(how));

	if (file >= 0)
		return (int)file;
	if (errno != ENOSYS && errno != EPERM)
		return -1;
	return openat(root->directory, below(path), flags);
}

static int open_below(const struct root *root, const char *path, int flags)
{
	if (root->live)
		return openat(root->directory, below(path), flags);
	return open_inside(root, path, flags);
}

/* Reads the file into the buffer; an errno value, EFBIG if there was more. */
static int read_path(
	const struct root *root, const char *path, char *buffer, size_t size, struct span *content)
{
	size_t length = 0;
	int error;
	int file = open_below(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (file < 0)
		return errno;
	error = file_read_all(file, buffer, size, &length);
	close(file);
	if (error == EFBIG)
		length = size - 1;
	buffer[length] = '\0';
	*content = (struct span){buffer, length};
	return error;
}

bool root_read(const struct root *root, const char *path, char *buffer, size_t size,
	struct span *content, struct fact *why)
{
	int error = read_path(root, path, buffer, size, content);

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
	int error = read_path(root, path, buffer, size, content);

	if (error && error != EFBIG) {
		fact_set_errno(why, error, path);
		return false;
	}
	while (error == EFBIG && content->length > 0 && buffer[content->length - 1] != '\n')
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
