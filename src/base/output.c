/* SPDX-License-Identifier: MIT */
/*
 * Writes a finished document. A file is written beside the old one and renamed, so that a reader
 * never sees half of it. Nothing is changed by its path, and a symbolic link to a file is not
 * followed: in a directory that others can write to, they could swap what the path names at any
 * moment.
 */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
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
	int directory, file, error = 0;
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
		if (!bytes || error)
			unlinkat(directory, beside, 0);
		if (error)
			fact_set(why, FACT_FAILED, "%s", strerror(error));
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(directory);
	return file >= 0 && !error;
}

/* Returns the number in /dev/stdout, /dev/fd/N and the like; -1 for other paths. */
static int descriptor_of(const char *path)
{
	struct span number = text_span(path);
	uint64_t file;

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	if ((text_take_prefix(&number, "/dev/fd/") ||
		    text_take_prefix(&number, "/proc/self/fd/")) &&
		number_parse(number, &file) && file <= INT_MAX)
		return (int)file;
	return -1;
}

static bool is_in_place(const struct stat *status)
{
	return S_ISCHR(status->st_mode) || S_ISFIFO(status->st_mode);
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
		fact_set(why, FACT_FAILED, "a symbolic link; name the file that it leads to");
	else
		fact_set(why, FACT_FAILED, "not a regular file, FIFO or character device");
	return fact_is_known(why);
}

/*
 * A descriptor is duplicated: opening it anew would lose its position, and fail for a socket.
 * Opening waits for no reader of a FIFO, and for no modem's carrier.
 */
static int open_in_place(const char *path, int descriptor)
{
	struct stat status;
	int file = descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
	                           : open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	/* Another file may have come to the path. */
	if (file >= 0 && descriptor < 0 && (fstat(file, &status) < 0 || !is_in_place(&status))) {
		close(file);
		errno = EAGAIN;
		file = -1;
	}
	return file;
}

bool output_check(const char *path, struct fact *why)
{
	struct stat status;

	if (descriptor_of(path) >= 0 || (stat(path, &status) == 0 && is_in_place(&status)))
		return true;
	return may_replace(path, why) && replace_file(path, NULL, 0, why);
}

bool output_write(const char *path, const char *bytes, size_t length, struct fact *why)
{
	int file, error, descriptor = descriptor_of(path);
	struct stat status;

	if (descriptor < 0 && (stat(path, &status) < 0 || !is_in_place(&status)))
		return may_replace(path, why) && replace_file(path, bytes, length, why);
	file = open_in_place(path, descriptor);
	error = file < 0 ? errno : write_and_close(file, bytes, length);
	if (!error)
		fact_set_known(why);
	else
		fact_set(why, FACT_FAILED, "%s",
			error == ENXIO ? "nothing reads from it" : strerror(error));
	return !error;
}

bool output_write_stream(int file, const char *bytes, size_t length, struct fact *why)
{
	int error = write_all(file, bytes, length);

	if (error) {
		fact_set(why, FACT_FAILED, "%s", strerror(error));
		return false;
	}
	fact_set_known(why);
	return true;
}
