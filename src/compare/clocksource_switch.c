/* SPDX-License-Identifier: MIT */
#include "clocksource_switch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* sysfs files are a page at most. */
#define FILE_SIZE 4097

#define RESTORE_TRIES 3

static bool read_current(
	const struct root *root, char name[CLOCKSOURCE_NAME_SIZE], struct fact *why)
{
	char buffer[FILE_SIZE];
	struct span content, word;

	if (!root_read(root, CLOCK_SWITCH_PATH, buffer, sizeof(buffer), &content, why))
		return false;
	if (text_next_word(&content, &word) && word.length < CLOCKSOURCE_NAME_SIZE) {
		text_copy_span(name, CLOCKSOURCE_NAME_SIZE, word);
		return true;
	}
	fact_set(why, FACT_FAILED, "current_clocksource: not a name");
	return false;
}

static bool take_lock(int file, struct fact *why)
{
	if (flock(file, LOCK_EX | LOCK_NB) == 0)
		return true;
	fact_set_errno(why, errno, "lock of current_clocksource");
	return false;
}

static enum clock_switch_trouble take_hold(struct clock_switch *clock, struct fact *why)
{
	if (!take_lock(clock->file, why))
		return CLOCK_SWITCH_BUSY;
	if (!read_current(clock->root, clock->original, why))
		return CLOCK_SWITCH_UNREAD;
	return CLOCK_SWITCH_FINE;
}

enum clock_switch_trouble clock_switch_open(
	struct clock_switch *clock, const struct root *root, struct fact *why)
{
	enum clock_switch_trouble trouble;

	clock->root = root;
	clock->file = root_open_writable(root, CLOCK_SWITCH_PATH, why);
	if (clock->file < 0)
		return CLOCK_SWITCH_CLOSED;
	trouble = take_hold(clock, why);
	if (trouble != CLOCK_SWITCH_FINE)
		clock_switch_close(clock);
	return trouble;
}

void clock_switch_close(struct clock_switch *clock)
{
	close(clock->file);
	clock->file = -1;
}

/* 0 or an errno value. A captured tree's file is a plain one, which keeps what it had. */
static int write_name(const struct clock_switch *clock, const char *name)
{
	char line[CLOCKSOURCE_NAME_SIZE + 1];
	int length = snprintf(line, sizeof(line), "%s\n", name);

	if (pwrite(clock->file, line, (size_t)length, 0) != length)
		return errno;
	if (!clock->root->live && ftruncate(clock->file, length) < 0)
		return errno;
	return 0;
}

bool clock_switch_to(const struct clock_switch *clock, const char *name, struct fact *why)
{
	char current[CLOCKSOURCE_NAME_SIZE];
	int error;

	if (read_current(clock->root, current, why) && strcmp(current, name) == 0)
		return true;
	error = write_name(clock, name);
	if (error) {
		fact_set(why, FACT_FAILED, "the kernel refused it: %s", strerror(error));
		return false;
	}
	if (!read_current(clock->root, current, why))
		return false;
	if (strcmp(current, name) == 0)
		return true;
	fact_set(why, FACT_FAILED, "the kernel refused it and uses %s", current);
	return false;
}

bool clock_switch_restore(const struct clock_switch *clock, struct fact *why)
{
	for (int i = 0; i < RESTORE_TRIES; i++) {
		if (clock_switch_to(clock, clock->original, why))
			return true;
	}
	return false;
}
