/* SPDX-License-Identifier: MIT */
/*
 * Opens and reads files below a root: the host itself, or a captured tree, out of which openat2(2)
 * lets no link lead. Files are read whole into the caller's buffer.
 */
#include "base/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#else
struct open_how {
	uint64_t flags, mode, resolve;
};
#define RESOLVE_NO_MAGICLINKS 0x02
#define RESOLVE_IN_ROOT 0x10
#endif

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

/* Returns true for a regular file or a directory; closes any other file, and sets errno. */
static bool keep_regular(int file, struct stat *status)
{
	int error = fstat(file, status) < 0 ? errno : 0;

	if (!error && (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode)))
		return true;
	close(file);
	errno = error ? error : EOPNOTSUPP;
	return false;
}

int file_open_regular(int directory, const char *name, int flags, struct stat *status)
{
	int file;

	if (fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	file = openat(directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return file >= 0 && keep_regular(file, status) ? file : -1;
}

/* ---- below a root ---- */

/* The number is the same on all architectures but Alpha. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

#define TRIES 32

/*
 * Links of a captured tree, such as /etc/os-release -> /usr/lib/..., stay inside, and so does "..".
 * The kernel cannot ensure that while something is renamed, and returns EAGAIN.
 */
static int resolve(int directory, const char *path, int flags)
{
	const struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int file;

	for (int i = 0; i < TRIES; i++) {
		file = (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
		if (file >= 0 || errno != EAGAIN)
			break;
	}
	return file;
}

bool root_open(struct root *root, const char *path, struct fact *why)
{
	int probe;

	root->live = strcmp(path, "/") == 0;
	root->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->directory < 0) {
		fact_set(why, FACT_FAILED, "%s", strerror(errno));
		return false;
	}
	fact_set_known(why);
	if (root->live)
		return true;
	probe = resolve(root->directory, ".", O_PATH);
	if (probe >= 0) {
		close(probe);
		return true;
	}
	fact_set(why, FACT_FAILED, "openat2(2), which needs Linux 5.6: %s", strerror(errno));
	root_close(root);
	return false;
}

void root_close(struct root *root)
{
	close(root->directory);
	root->directory = -1;
}

/* Bytes of a file that has a line, or a text near its start. */
#define HEAD_SIZE 8192

/* A device of a captured tree is not even opened: opening it may start a watchdog. */
static int open_below(const struct root *root, const char *path, int flags)
{
	struct stat status;
	int file;

	if (root->live)
		return openat(root->directory, path + strspn(path, "/"), flags);
	file = resolve(root->directory, path, O_PATH);
	if (file < 0 || flags & O_PATH)
		return file;
	if (!keep_regular(file, &status))
		return -1;
	close(file);
	file = resolve(root->directory, path, flags | O_NONBLOCK | O_NOCTTY);
	return file >= 0 && keep_regular(file, &status) ? file : -1;
}

/* Takes from a file that does not fit, if `cuts`, the whole lines that do. */
static bool read_path(const struct root *root, const char *path, bool cuts, char *buffer,
	size_t size, struct span *content, struct fact *why)
{
	int file = open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int error = file < 0 ? errno : 0;
	size_t length = 0;

	if (file >= 0) {
		error = file_read_all(file, buffer, size, &length);
		close(file);
		length -= length == size;
		while (error == EFBIG && cuts && length > 0 && buffer[length - 1] != '\n')
			length--;
		if (error == EFBIG && cuts)
			error = 0;
	}
	buffer[length] = '\0';
	*content = (struct span){buffer, length};
	if (error)
		fact_set_errno(why, error, path);
	else
		fact_set_known(why);
	return !error;
}

bool root_read(const struct root *root, const char *path, char *buffer, size_t size,
	struct span *content, struct fact *why)
{
	return read_path(root, path, false, buffer, size, content, why);
}

bool root_read_head(const struct root *root, const char *path, char *buffer, size_t size,
	struct span *content, struct fact *why)
{
	return read_path(root, path, true, buffer, size, content, why);
}

void root_read_line(const struct root *root, const char *path, struct text_fact *text)
{
	char buffer[HEAD_SIZE];
	struct span content;

	if (root_read(root, path, buffer, sizeof(buffer), &content, &text->fact))
		fact_set_span(text, text_trim(content));
}

int root_open_file(const struct root *root, const char *path, int access, struct fact *why)
{
	int file = open_below(root, path, access | O_CLOEXEC | O_NONBLOCK);

	if (file < 0)
		fact_set_errno(why, errno, path);
	else
		fact_set_known(why);
	return file;
}

bool root_contains(const struct root *root, const char *path, const char *text)
{
	char buffer[HEAD_SIZE];
	struct span content;
	struct fact why;

	return root_read_head(root, path, buffer, sizeof(buffer), &content, &why) &&
	       text_contains(content, text);
}

bool root_exists(const struct root *root, const char *path)
{
	int file = open_below(root, path, O_PATH | O_CLOEXEC);

	if (file < 0)
		return false;
	close(file);
	return true;
}
