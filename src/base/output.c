/* SPDX-License-Identifier: MIT */
/*
 * Writing a finished document. Root writes into directories that other users can write to, so
 * nothing is looked up twice by its path: the directory is opened once, and the file is looked
 * at, written beside and renamed below that descriptor.
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
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "path.h"

#define NEW_FILE_MODE 0644

/* The file that is to be renamed: the one at the path itself may be writable. */
static const char cannot_create[] = "cannot create a file in its directory";
static const char not_a_target[] = "not a regular file, FIFO or character device";

/* Also to a descriptor that our parent made non-blocking. 0 or an errno value. */
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

/*
 * The mode and group of a file of the caller's own are kept. Those of other users' files are
 * not: they would choose who can read and change what the caller writes.
 */
static void keep_mode(int file, const struct stat *old)
{
	mode_t mode = old->st_mode & 0777;

	if (fchown(file, (uid_t)-1, old->st_gid) < 0)
		mode &= ~(mode_t)S_IRWXG;
	(void)fchmod(file, mode);
}

static int create_beside(int directory, char name[NAME_MAX + 1], mode_t mode)
{
	uint64_t number = (uint64_t)getpid();

	/* Only against collisions: O_EXCL is what keeps other users' files out. */
	syscall(SYS_getrandom, &number, sizeof(number), 0);
	snprintf(name, NAME_MAX + 1, ".vdsocheck-%016llx", (unsigned long long)number);
	return openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

/* `old` is the file that is replaced; NULL: there is none, or another user owns it. */
static int write_and_rename(const struct path *path, const struct stat *old, const char *bytes,
	size_t length, const char **because)
{
	char beside[NAME_MAX + 1];
	int file = create_beside(path->directory, beside, old ? 0600 : NEW_FILE_MODE);
	int error;

	if (file < 0) {
		error = errno;
		*because = cannot_create;
		return error;
	}
	if (old)
		keep_mode(file, old);
	error = write_and_close(file, bytes, length);
	if (!error && renameat(path->directory, beside, path->directory, path->name) < 0)
		error = errno;
	if (error)
		unlinkat(path->directory, beside, 0);
	return error;
}

/* A signal that ends us waits, so that the file beside is not left there. */
static int replace(const struct path *path, const struct stat *old, const char *bytes,
	size_t length, const char **because)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	error = write_and_rename(path, old, bytes, length, because);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

static bool is_own_descriptor(const struct path *path)
{
	struct stat here, own;

	return path->descriptor && fstat(path->directory, &here) == 0 &&
	       stat("/proc/self/fd", &own) == 0 && here.st_dev == own.st_dev &&
	       here.st_ino == own.st_ino;
}

/*
 * /dev/stdout and /dev/fd/N. To open the link anew would lose the file's position and fail for
 * a socket. What we opened ourselves is closed on exec, what our parent meant for us is not.
 */
static int open_own_descriptor(const struct path *path)
{
	uint64_t file;
	int flags;

	if (!number_parse(text_span(path->name), &file) || file > INT_MAX ||
		(flags = fcntl((int)file, F_GETFD)) < 0 || flags & FD_CLOEXEC) {
		errno = EBADF;
		return -1;
	}
	return fcntl((int)file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* Does not wait for a FIFO's reader or a modem's carrier. */
static int open_in_place(const struct path *path)
{
	int flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

	if (is_own_descriptor(path))
		return open_own_descriptor(path);
	return openat(path->directory, path->name, path->descriptor ? flags : flags | O_NOFOLLOW);
}

static bool belongs_to_others(const struct stat *status)
{
	return status->st_uid != 0 && status->st_uid != geteuid();
}

/* A device, a FIFO, or a descriptor of a process: nothing that can be renamed over. */
static int write_in_place(
	const struct path *path, const char *bytes, size_t length, const char **because)
{
	struct stat status;
	int file = open_in_place(path);
	int error = 0;

	if (file < 0) {
		if (errno == ENXIO)
			*because = "nothing reads from it";
		return errno;
	}
	if (fstat(file, &status) < 0) {
		error = errno;
	} else if (S_ISBLK(status.st_mode) || (S_ISREG(status.st_mode) && !path->descriptor)) {
		*because = not_a_target;
		error = EINVAL;
	} else if (!path_is_private(path->directory) && belongs_to_others(&status)) {
		*because = "belongs to another user, in a directory that other users can write to";
		error = EACCES;
	}
	if (!error)
		return write_and_close(file, bytes, length);
	close(file);
	return error;
}

static int write_found(
	const struct path *path, const char *bytes, size_t length, const char **because)
{
	struct stat old;

	if (path->descriptor)
		return write_in_place(path, bytes, length, because);
	if (fstatat(path->directory, path->name, &old, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? replace(path, NULL, bytes, length, because) : errno;
	switch (old.st_mode & S_IFMT) {
	case S_IFREG:
		return replace(path, old.st_uid == geteuid() ? &old : NULL, bytes, length, because);
	case S_IFCHR:
	case S_IFIFO:
		return write_in_place(path, bytes, length, because);
	case S_IFDIR:
		return EISDIR;
	default:
		*because = not_a_target;
		return EINVAL;
	}
}

/* 0 or an errno value; *because is a better reason than the errno's. */
static int write_path(const char *name, const char *bytes, size_t length, const char **because)
{
	struct path path = {.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), .wary = true};
	int error;

	if (path.root < 0)
		return errno;
	if (name[0] && name[strlen(name) - 1] == '/')
		error = EISDIR;
	else
		error = path_find(&path, name);
	if (path.link_refused)
		*because = "symbolic link in a directory that other users can write to";
	if (!error) {
		error = write_found(&path, bytes, length, because);
		close(path.directory);
	}
	close(path.root);
	return error;
}

bool output_write(const char *path, const char *bytes, size_t length, struct fact *why)
{
	const char *because = NULL;
	int error = write_path(path, bytes, length, &because);

	if (error && because == cannot_create) {
		fact_set(why, FACT_FAILED, "%s: %s: %s", path, because, strerror(error));
		return false;
	}
	if (error) {
		fact_set(why, FACT_FAILED, "%s: %s", path, because ? because : strerror(error));
		return false;
	}
	fact_set_known(why);
	return true;
}

bool output_write_stream(int file, const char *bytes, size_t length, struct fact *why)
{
	int error = write_all(file, bytes, length);

	if (error) {
		fact_set(why, FACT_FAILED, "standard %s: %s",
			file == STDERR_FILENO ? "error" : "output", strerror(error));
		return false;
	}
	fact_set_known(why);
	return true;
}
