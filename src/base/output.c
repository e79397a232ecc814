/* SPDX-License-Identifier: MIT */
/*
 * Writes a finished document. A file is written beside the old one and renamed, so that a reader
 * never sees half of it; what is not a regular file is refused. Nothing is changed by its path, and
 * a symbolic link to a file is not followed: in a directory that others can write to, they could
 * swap what the path names at any moment.
 */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes all bytes, to a non-blocking descriptor, too. Returns 0 or an errno value. */
static int write_all(int file, const char *bytes, size_t length)
{
	struct pollfd writable = {.fd = file, .events = POLLOUT};

	while (length > 0) {
		ssize_t put = write(file, bytes, length);

		if (put < 0 && errno == EAGAIN)
			poll(&writable, 1, -1);
		else if (put < 0 && errno != EINTR)
			return errno;
		if (put < 0)
			continue;
		bytes += put;
		length -= (size_t)put;
	}
	return 0;
}

/* Some file systems report a full disk only at close. */
static int write_and_close(int file, const char *bytes, size_t length)
{
	int error = write_all(file, bytes, length);

	if (close(file) < 0 && !error)
		error = errno;
	return error;
}

/* More than the files that killed runs with the same process number leave in a directory. */
#define NAMES_MAX 100

/*
 * Creates a file with a new name, which is stored in `name`. Returns its descriptor, or -1 with
 * errno. O_EXCL refuses a file or link of another process, so the name need not be random:
 * random numbers may be minutes away just after boot (before Linux 5.6).
 */
static int create_beside(int directory, char name[NAME_MAX + 1])
{
	for (int i = 0;; i++) {
		int file;

		snprintf(name, NAME_MAX + 1, ".vdsocheck-%ld-%d", (long)getpid(), i);
		file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (file >= 0 || errno != EEXIST || i == NAMES_MAX)
			return file;
	}
}

/*
 * Replaces the file or, without bytes, only shows that it could be. A signal that ends the process
 * waits, so that the file beside is not left there.
 */
static bool replace_file(const char *path, const char *bytes, size_t length, struct fact *why)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char folder[PATH_MAX], beside[NAME_MAX + 1];
	int directory, file, error;
	bool written = false;
	sigset_t all, before;

	snprintf(
		folder, sizeof(folder), "%.*s", slash ? (int)(name - path) : 1, slash ? path : ".");
	directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0) {
		fact_set(why, FACT_FAILED, "%s", strerror(errno));
		return false;
	}
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	file = create_beside(directory, beside);
	if (file < 0) {
		fact_set(why, FACT_FAILED, "cannot create a file in its directory: %s",
			strerror(errno));
	} else {
		error = write_and_close(file, bytes, length);
		if (bytes && !error && renameat(directory, beside, directory, name) < 0)
			error = errno;
		written = !error;
		if (error)
			fact_set(why, FACT_FAILED, "%s", strerror(error));
		if ((!bytes || error) && unlinkat(directory, beside, 0) < 0) {
			fact_set(why, FACT_FAILED, "cannot remove %s%s again: %s",
				slash ? folder : "", beside, strerror(errno));
			written = false;
		}
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(directory);
	return written;
}

/* Sets in *why that the file at the path, or a new one, is to be replaced, or why it cannot be. */
static bool may_replace(const char *path, struct fact *why)
{
	struct stat status;
	int error = lstat(path, &status) < 0 ? errno : 0;

	if (error == ENOENT || (!error && S_ISREG(status.st_mode)))
		fact_set_known(why);
	else if (error)
		fact_set(why, FACT_FAILED, "%s", strerror(error));
	else if (S_ISDIR(status.st_mode))
		fact_set(why, FACT_FAILED, "%s", strerror(EISDIR));
	else if (S_ISLNK(status.st_mode))
		fact_set(why, FACT_FAILED,
			"a symbolic link; name the file that it leads to, or redirect standard "
			"output");
	else
		fact_set(why, FACT_FAILED, "not a regular file; redirect standard output instead");
	return fact_is_known(why);
}

bool output_check(const char *path, struct fact *why)
{
	return may_replace(path, why) && replace_file(path, NULL, 0, why);
}

bool output_write(const char *path, const char *bytes, size_t length, struct fact *why)
{
	return may_replace(path, why) && replace_file(path, bytes, length, why);
}

bool output_write_stream(int file, const char *bytes, size_t length, struct fact *why)
{
	struct stat status;
	sigset_t held, before;
	int error;

	/* A signal would end the kernel's write between two pages of a file; a pipe may wait. */
	sigemptyset(&held);
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
		sigfillset(&held);
	sigprocmask(SIG_BLOCK, &held, &before);
	error = write_all(file, bytes, length);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (error) {
		fact_set(why, FACT_FAILED, "%s", strerror(error));
		return false;
	}
	fact_set_known(why);
	return true;
}
