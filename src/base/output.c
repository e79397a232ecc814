/* SPDX-License-Identifier: MIT */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_FILE_MODE 0644

/* 0 or an errno value. */
static int write_all(int file, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t put = write(file, bytes, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno;
		bytes += put;
		length -= (size_t)put;
	}
	return 0;
}

/* Some file systems tell of a full disk only at close. */
static int write_and_close(int file, const char *bytes, size_t length)
{
	int error = write_all(file, bytes, length);

	if (close(file) < 0 && !error)
		error = errno;
	return error;
}

static int write_in_place(const char *path, int flags, const char *bytes, size_t length)
{
	int file = open(path, O_WRONLY | O_CLOEXEC | flags, NEW_FILE_MODE);

	if (file < 0)
		return errno;
	return write_and_close(file, bytes, length);
}

/*
 * mkstemp() makes files for the owner alone; this one is to be as the old one was, or as any
 * new one would be. Only root can give a file back to another owner: others need not.
 */
static void set_owner_and_mode(int file, const struct stat *old)
{
	mode_t mask = umask(0);

	umask(mask);
	/* Where that is refused the file is ours from now on. */
	if (old && fchown(file, old->st_uid, old->st_gid) < 0)
		errno = 0;
	(void)fchmod(file, old ? old->st_mode & 07777 : NEW_FILE_MODE & ~mask);
}

static int write_and_rename(
	const char *path, const struct stat *old, const char *bytes, size_t length)
{
	char beside[PATH_MAX];
	int error;
	int file;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.XXXXXX", path) >= sizeof(beside))
		return ENAMETOOLONG;
	file = mkstemp(beside);
	if (file < 0)
		return errno;
	set_owner_and_mode(file, old);
	error = write_and_close(file, bytes, length);
	if (!error && rename(beside, path) < 0)
		error = errno;
	if (error)
		unlink(beside);
	return error;
}

/* Nothing is there, or a link to nothing, which is to stay a link. */
static int write_new(const char *path, const char *bytes, size_t length)
{
	struct stat link;

	if (lstat(path, &link) == 0)
		return write_in_place(path, O_CREAT, bytes, length);
	return write_and_rename(path, NULL, bytes, length);
}

/*
 * A link is followed, so that the file it names is replaced and not the link. stat() comes
 * first: what /dev/stdout leads to may have no path.
 */
static int write_path(const char *path, const char *bytes, size_t length)
{
	char target[PATH_MAX];
	struct stat old;

	if (stat(path, &old) < 0)
		return errno == ENOENT ? write_new(path, bytes, length) : errno;
	if (!S_ISREG(old.st_mode))
		return write_in_place(path, 0, bytes, length);
	if (!realpath(path, target))
		return errno;
	return write_and_rename(target, &old, bytes, length);
}

bool output_write(const char *path, const char *bytes, size_t length, struct fact *why)
{
	int error =
		path ? write_path(path, bytes, length) : write_all(STDOUT_FILENO, bytes, length);

	if (error) {
		fact_set(why, FACT_FAILED, "%s: %s", path ? path : "standard output",
			strerror(error));
		return false;
	}
	fact_set_known(why);
	return true;
}
