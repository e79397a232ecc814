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
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/child.h"
#include "base/root.h"
#include "collect.h"
#include "model.h"

#define RESTORE_TRIES 3

/* ---- the record that outlives a kill ---- */

bool clocksource_switch_record(const struct clocksource_switch *sw, struct fact *why)
{
	ssize_t length = (ssize_t)strlen(sw->original);

	clocksource_switch_forget(sw);
	errno = ENOSPC; /* for a short write */
	if (write(sw->record, sw->original, (size_t)length) == length)
		return true;
	fact_set_errno(why, errno, SWITCH_RECORD);
	return false;
}

void clocksource_switch_forget(const struct clocksource_switch *sw)
{
	(void)!ftruncate(sw->record, 0);
}

/* A record that names the clocksource in use is stale. */
static void read_record(struct clocksource_switch *sw)
{
	char buffer[CLOCKSOURCE_NAME_SIZE + 1], name[CLOCKSOURCE_NAME_SIZE];
	struct span record = {.at = buffer}, word;

	if (file_read_all(sw->record, buffer, sizeof(buffer), &record.length) == 0 &&
		text_next_word(&record, &word) && clocksource_take_name(word, name) &&
		strcmp(name, sw->original) != 0)
		text_clean(sw->interrupted, CLOCKSOURCE_NAME_SIZE, name);
}

/* ---- holding it ---- */

/* Any user who can read a file can lock it: only its owner can open this one. */
static int open_record(const struct root *root, struct fact *why)
{
	int file = openat(root->directory, &SWITCH_RECORD[1],
		O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (file < 0)
		fact_set_errno(why, errno, SWITCH_RECORD);
	return file;
}

/* One run at a time: the children inherit the lock, which is free when the last of them ends. */
static enum switch_result hold_clocksource(struct clocksource_switch *sw, struct fact *why)
{
	if (flock(sw->record, LOCK_EX | LOCK_NB) < 0) {
		int error = errno;

		fact_set_errno(why, error, SWITCH_RECORD);
		return error == EWOULDBLOCK ? SWITCH_BUSY : SWITCH_REFUSED;
	}
	if (!clocksource_read(sw->root, sw->original, why))
		return SWITCH_REFUSED;
	sw->current = child_share(2 * (size_t)CLOCKSOURCE_NAME_SIZE, why);
	if (!sw->current)
		return SWITCH_REFUSED;
	sw->wanted = sw->current + CLOCKSOURCE_NAME_SIZE;
	text_clean(sw->current, CLOCKSOURCE_NAME_SIZE, sw->original);
	read_record(sw);
	return SWITCH_DONE;
}

enum switch_result clocksource_switch_open(
	struct clocksource_switch *sw, const struct root *root, struct fact *why)
{
	*sw = (struct clocksource_switch){.root = root,
		.file = root_open_file(root, CLOCKSOURCE_CURRENT, O_RDWR, why),
		.record = -1};
	if (sw->file >= 0)
		sw->record = open_record(root, why);
	return sw->record < 0 ? SWITCH_CLOSED : hold_clocksource(sw, why);
}

/* ---- switching it ---- */

static bool is_ours(const struct clocksource_switch *sw, const char *name)
{
	return strcmp(name, sw->original) == 0 || strcmp(name, sw->current) == 0 ||
	       strcmp(name, sw->wanted) == 0;
}

static enum switch_result report_foreign(const char *name, struct fact *why)
{
	fact_set(why, FACT_FAILED, "something else switched the clocksource to %s", name);
	return SWITCH_FOREIGN;
}

/* Returns 0 or an errno value. */
static int write_name(const struct clocksource_switch *sw, const char *name)
{
	char line[CLOCKSOURCE_NAME_SIZE + 1];
	int length = snprintf(line, sizeof(line), "%s\n", name);
	ssize_t written = pwrite(sw->file, line, (size_t)length, 0);

	if (written < 0)
		return errno;
	return written == length ? 0 : EFBIG;
}

/*
 * The kernel takes a name that it does not know, or does not want, without an error and keeps its
 * clocksource: only reading shows what a write did.
 */
static enum switch_result write_and_read_back(
	const struct clocksource_switch *sw, const char *name, struct fact *why)
{
	char now[CLOCKSOURCE_NAME_SIZE];
	int error = write_name(sw, name);

	if (error) {
		fact_set(why, FACT_FAILED, "rejected by the kernel: %s", strerror(error));
		return SWITCH_REFUSED;
	}
	if (!clocksource_read(sw->root, now, why))
		return SWITCH_REFUSED;
	if (strcmp(now, name) == 0) {
		text_clean(sw->current, CLOCKSOURCE_NAME_SIZE, now);
		fact_set_known(why);
		return SWITCH_DONE;
	}
	if (!is_ours(sw, now))
		return report_foreign(now, why);
	fact_set(why, FACT_FAILED, "rejected by the kernel (still on %s)", now);
	return SWITCH_REFUSED;
}

/* `wanted` is set before the write: a process killed in between leaves either name behind. */
enum switch_result clocksource_switch_to(
	const struct clocksource_switch *sw, const char *name, struct fact *why)
{
	char now[CLOCKSOURCE_NAME_SIZE];
	enum switch_result result;

	if (!clocksource_read(sw->root, now, why))
		return SWITCH_REFUSED;
	if (!is_ours(sw, now))
		return report_foreign(now, why);
	text_clean(sw->current, CLOCKSOURCE_NAME_SIZE, now);
	if (strcmp(now, name) == 0) {
		fact_set_known(why);
		return SWITCH_DONE;
	}
	text_clean(sw->wanted, CLOCKSOURCE_NAME_SIZE, name);
	result = write_and_read_back(sw, name, why);
	*sw->wanted = '\0';
	return result;
}

enum switch_result clocksource_switch_restore(const struct clocksource_switch *sw, struct fact *why)
{
	enum switch_result result = SWITCH_REFUSED;

	for (int i = 0; i < RESTORE_TRIES && result == SWITCH_REFUSED; i++)
		result = clocksource_switch_to(sw, sw->original, why);
	return result;
}
