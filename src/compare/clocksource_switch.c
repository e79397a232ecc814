/* SPDX-License-Identifier: MIT */
/*
 * Switches the kernel's clocksource through sysfs, without overwriting what other processes
 * do to it: a lock excludes a second compare, and what was last written is
 * remembered in shared memory, so that a name found there which is not ours is recognised as
 * the change of an administrator, of another program, or of the kernel's watchdog. There is
 * no compare-and-exchange on sysfs: a change in the microseconds between read and write is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/child.h"
#include "base/root.h"
#include "collect.h"
#include "model.h"

#define RESTORE_TRIES 3

/* ---- the record that outlives a kill ---- */

static int create_own(int folder, const char *name, int flags)
{
	return openat(folder, name, flags | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* The file is made anew: a captured tree may have a device or a link of that name. */
bool clocksource_switch_record(const struct clocksource_switch *clock, struct fact *why)
{
	ssize_t length = (ssize_t)strlen(clock->original);
	bool written;
	int file;

	if (clock->folder < 0)
		return true;
	unlinkat(clock->folder, SWITCH_RECORD, 0);
	file = create_own(clock->folder, SWITCH_RECORD, O_WRONLY);
	errno = file < 0 ? errno : ENOSPC; /* for a short write */
	written = file >= 0 && write(file, clock->original, (size_t)length) == length;
	if (!written)
		fact_set_errno(why, errno, SWITCH_FOLDER "/" SWITCH_RECORD);
	if (file >= 0)
		close(file);
	return written;
}

void clocksource_switch_forget(const struct clocksource_switch *clock)
{
	if (clock->folder >= 0)
		unlinkat(clock->folder, SWITCH_RECORD, 0);
}

/* A record that names the clocksource in use is stale. */
static void read_record(struct clocksource_switch *clock)
{
	struct stat status;
	int file = clock->folder < 0
	                   ? -1
	                   : file_open_regular(clock->folder, SWITCH_RECORD, O_RDONLY, &status);
	char buffer[CLOCKSOURCE_NAME_SIZE + 1], name[CLOCKSOURCE_NAME_SIZE];
	struct span record = {.at = buffer}, word;

	if (file < 0)
		return;
	if (file_read_all(file, buffer, sizeof(buffer), &record.length) == 0 &&
		text_next_word(&record, &word) && clocksource_take_name(word, name) &&
		strcmp(name, clock->original) != 0)
		text_copy(clock->interrupted, CLOCKSOURCE_NAME_SIZE, name);
	close(file);
}

/* ---- holding it ---- */

/*
 * The lock is on a file that only its owner can open, since any user who can read a file can lock
 * it. A tree without SWITCH_FOLDER has only the clocksource's. The file is not removed at the end:
 * of two processes that open it then, one would hold the lock of a file that is gone.
 */
static int open_lock(const struct clocksource_switch *clock)
{
	struct stat status;
	int file;

	if (clock->folder < 0)
		return fcntl(clock->file, F_DUPFD_CLOEXEC, 0);
	do {
		file = file_open_regular(clock->folder, SWITCH_LOCK, O_RDWR, &status);
		if (file < 0 && errno == ENOENT)
			file = create_own(clock->folder, SWITCH_LOCK, O_RDWR);
	} while (file < 0 && errno == EEXIST); /* another run has just made it */
	return file;
}

/* One run at a time: the children inherit the lock, which is free when the last of them ends. */
static enum switch_opened take_hold(struct clocksource_switch *clock, struct fact *why)
{
	clock->lock = open_lock(clock);
	if (clock->lock < 0 || flock(clock->lock, LOCK_EX | LOCK_NB) < 0) {
		int error = errno;

		fact_set_errno(why, error, SWITCH_FOLDER "/" SWITCH_LOCK);
		return error == EWOULDBLOCK ? SWITCH_BUSY : SWITCH_UNREAD;
	}
	if (!clocksource_read(clock->root, clock->original, why))
		return SWITCH_UNREAD;
	clock->ours = child_share(sizeof(*clock->ours), why);
	if (!clock->ours)
		return SWITCH_UNREAD;
	text_copy(clock->ours->current, CLOCKSOURCE_NAME_SIZE, clock->original);
	read_record(clock);
	return SWITCH_OPENED;
}

static bool is_kernel_file(int file)
{
	struct statfs system;

	return fstatfs(file, &system) < 0 || system.f_type == SYSFS_MAGIC;
}

enum switch_opened clocksource_switch_open(
	struct clocksource_switch *clock, const struct root *root, struct fact *why)
{
	enum switch_opened opened;

	*clock = (struct clocksource_switch){.root = root,
		.file = root_open_file(root, CLOCKSOURCE_CURRENT, O_RDWR, why),
		.folder = -1,
		.lock = -1};
	if (clock->file < 0)
		return SWITCH_CLOSED;
	clock->folder = root_open_file(root, SWITCH_FOLDER, O_RDONLY, &(struct fact){0});
	opened = take_hold(clock, why);
	if (opened == SWITCH_OPENED && !root->live && is_kernel_file(clock->file)) {
		fact_set(why, FACT_FAILED, "%s is the kernel's own, not one of a captured tree",
			CLOCKSOURCE_CURRENT);
		opened = SWITCH_UNREAD;
	}
	if (opened != SWITCH_OPENED)
		clocksource_switch_close(clock);
	return opened;
}

void clocksource_switch_close(struct clocksource_switch *clock)
{
	if (clock->ours)
		child_unshare(clock->ours, sizeof(*clock->ours));
	clock->ours = NULL;
	close(clock->file);
	if (clock->folder >= 0)
		close(clock->folder);
	if (clock->lock >= 0)
		close(clock->lock);
	clock->file = clock->folder = clock->lock = -1;
}

/* ---- switching it ---- */

static bool is_ours(const struct clocksource_switch *clock, const char *name)
{
	return strcmp(name, clock->original) == 0 || strcmp(name, clock->ours->current) == 0 ||
	       strcmp(name, clock->ours->wanted) == 0;
}

static enum switch_result report_foreign(const char *name, struct fact *why)
{
	fact_set(why, FACT_FAILED, "something else switched the clocksource to %s", name);
	return SWITCH_FOREIGN;
}

bool clocksource_switch_is_foreign(const struct clocksource_switch *clock, struct fact *why)
{
	unsigned generation = atomic_load(&clock->ours->generation);
	char now[CLOCKSOURCE_NAME_SIZE];

	if (generation % 2 || !clocksource_read(clock->root, now, why) || is_ours(clock, now))
		return false;
	/* A worker may have switched and changed the names after the file was read. */
	return atomic_load(&clock->ours->generation) == generation &&
	       report_foreign(now, why) == SWITCH_FOREIGN;
}

/* Returns 0 or an errno value. A captured tree's file is a plain one, which keeps what it had. */
static int write_name(const struct clocksource_switch *clock, const char *name)
{
	char line[CLOCKSOURCE_NAME_SIZE + 1];
	int length = snprintf(line, sizeof(line), "%s\n", name);
	ssize_t written = pwrite(clock->file, line, (size_t)length, 0);

	if (written < 0 || (!clock->root->live && ftruncate(clock->file, length) < 0))
		return errno;
	return written == length ? 0 : EFBIG;
}

/*
 * The kernel takes a name that it does not know, or does not want, without an error and keeps its
 * clocksource: only reading shows what a write did.
 */
static enum switch_result write_and_read_back(
	const struct clocksource_switch *clock, const char *name, struct fact *why)
{
	char now[CLOCKSOURCE_NAME_SIZE];
	int error = write_name(clock, name);

	if (error) {
		/* With a limit on file sizes a plain file may hold a part of the name. */
		if (!clock->root->live)
			clocksource_read(clock->root, clock->ours->current, why);
		fact_set(why, FACT_FAILED, "rejected by the kernel: %s", strerror(error));
		return SWITCH_REFUSED;
	}
	if (!clocksource_read(clock->root, now, why))
		return SWITCH_REFUSED;
	if (strcmp(now, name) == 0) {
		text_copy(clock->ours->current, CLOCKSOURCE_NAME_SIZE, now);
		fact_set_known(why);
		return SWITCH_DONE;
	}
	if (!is_ours(clock, now))
		return report_foreign(now, why);
	fact_set(why, FACT_FAILED, "rejected by the kernel (still on %s)", now);
	return SWITCH_REFUSED;
}

/* `wanted` is set before the write: a process killed in between leaves either name behind. */
static enum switch_result switch_to(
	const struct clocksource_switch *clock, const char *name, struct fact *why)
{
	char now[CLOCKSOURCE_NAME_SIZE];
	enum switch_result result;

	if (!clocksource_read(clock->root, now, why))
		return SWITCH_REFUSED;
	if (!is_ours(clock, now))
		return report_foreign(now, why);
	text_copy(clock->ours->current, CLOCKSOURCE_NAME_SIZE, now);
	if (strcmp(now, name) == 0) {
		fact_set_known(why);
		return SWITCH_DONE;
	}
	text_copy(clock->ours->wanted, CLOCKSOURCE_NAME_SIZE, name);
	result = write_and_read_back(clock, name, why);
	*clock->ours->wanted = '\0';
	return result;
}

enum switch_result clocksource_switch_to(
	const struct clocksource_switch *clock, const char *name, struct fact *why)
{
	atomic_uint *generation = &clock->ours->generation;
	enum switch_result result;

	atomic_store(generation, (*generation + 1) | 1);
	result = switch_to(clock, name, why);
	atomic_fetch_add(generation, 1);
	return result;
}

enum switch_result clocksource_switch_restore(
	const struct clocksource_switch *clock, struct fact *why)
{
	enum switch_result result = SWITCH_REFUSED;

	for (int i = 0; i < RESTORE_TRIES && result == SWITCH_REFUSED; i++)
		result = clocksource_switch_to(clock, clock->original, why);
	return result;
}
