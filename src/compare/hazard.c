/* SPDX-License-Identifier: MIT */
/*
 * What a switch of the clocksource does beyond this process, and where it must not happen.
 *
 * Each switch clears the kernel's NTP state: timekeeping_update() with TK_CLEAR_NTP calls
 * ntp_clear(), which sets STA_UNSYNC and drops the offset and a pending leap second. And when a
 * KVM host leaves the TSC, pvclock_gtod_notify() (arch/x86/kvm/x86.c) ends the master clock of
 * every running guest; nothing restores it when the host comes back, so the guests' kvm-clock
 * falls back to system calls until they are restarted.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "model.h"

#define MODULES_SIZE 65536

void ntp_state_read(struct ntp_state *state)
{
	struct timex timex = {.modes = 0};
	int now = adjtimex(&timex);

	*state = (struct ntp_state){.fact.state = FACT_UNREAD};
	if (now < 0) {
		fact_set_errno(&state->fact, errno, "adjtimex");
		return;
	}
	state->synchronized = !(timex.status & STA_UNSYNC);
	state->leap_pending = (timex.status & (STA_INS | STA_DEL)) || now == TIME_INS ||
	                      now == TIME_DEL || now == TIME_OOP;
	state->offset_ns = timex.status & STA_NANO ? timex.offset : timex.offset * NS_PER_US;
	state->max_error_us = timex.maxerror;
	fact_set_known(&state->fact);
}

/* ---- virtual machines: each check sets *none to failed where it finds one ---- */

/* Lines of /proc/modules: NAME SIZE REFERENCES ... A machine holds a reference. */
static void check_modules(const struct root *root, struct fact *none)
{
	static char buffer[MODULES_SIZE];
	struct span rest, line, name, size, references;
	struct fact why = {0};
	uint64_t count;

	if (!root_read_head(root, "/proc/modules", buffer, sizeof(buffer), &rest, &why))
		return;
	while (text_next_line(&rest, &line)) {
		if (text_next_word(&line, &name) &&
			(text_equals(name, "kvm_intel") || text_equals(name, "kvm_amd")) &&
			text_next_word(&line, &size) && text_next_word(&line, &references) &&
			number_parse(references, &count) && count > 0)
			fact_set(none, FACT_FAILED, "the module %.*s is in use", (int)name.length,
				name.at);
	}
}

/* A module of which /proc/modules says nothing, as where that file is hidden. */
static void check_reference_counts(const struct root *root, struct fact *none)
{
	static const char *const files[] = {
		"/sys/module/kvm_intel/refcnt", "/sys/module/kvm_amd/refcnt"};
	char buffer[64];
	struct span content;
	struct fact why = {0};
	uint64_t count;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (root_read(root, files[i], buffer, sizeof(buffer), &content, &why) &&
			number_parse(text_trim(content), &count) && count > 0)
			fact_set(none, FACT_FAILED, "%s is not 0", files[i]);
	}
}

/* NULL if the folder cannot be read, which shows nothing. */
static DIR *open_folder(const struct root *root, const char *path)
{
	struct fact why = {0};
	int folder = root_open_file(root, path, &why);
	DIR *list = folder < 0 ? NULL : fdopendir(folder);

	if (!list && folder >= 0)
		close(folder);
	return list;
}

/* KVM has a folder PID-FD there for each machine. */
static void check_debugfs(const struct root *root, struct fact *none)
{
	static const char path[] = "/sys/kernel/debug/kvm";
	DIR *list = open_folder(root, path);
	const struct dirent *entry;

	while (list && (entry = readdir(list))) {
		if (strchr("123456789", entry->d_name[0]) && strchr(entry->d_name, '-'))
			fact_set(none, FACT_FAILED, "%s/%s exists", path, entry->d_name);
	}
	if (list)
		closedir(list);
}

static bool process_holds_kvm(const struct root *root, const char *pid)
{
	char path[64];
	const struct dirent *entry;
	bool holds = false;
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	list = open_folder(root, path);
	while (list && !holds && (entry = readdir(list))) {
		char target[32];
		ssize_t length = readlinkat(dirfd(list), entry->d_name, target, sizeof(target));
		struct span name = {target, length > 0 ? (size_t)length : 0};

		holds = text_equals(name, "/dev/kvm") || text_equals(name, "anon_inode:kvm-vm");
	}
	if (list)
		closedir(list);
	return holds;
}

static void check_processes(const struct root *root, struct fact *none)
{
	DIR *list = open_folder(root, "/proc");
	const struct dirent *entry;

	while (list && fact_is_known(none) && (entry = readdir(list))) {
		if (strchr("123456789", entry->d_name[0]) && process_holds_kvm(root, entry->d_name))
			fact_set(none, FACT_FAILED, "process %.16s has KVM open", entry->d_name);
	}
	if (list)
		closedir(list);
}

void guests_find(const struct root *root, struct fact *none)
{
	fact_set_known(none);
	check_modules(root, none);
	check_reference_counts(root, none);
	check_debugfs(root, none);
	check_processes(root, none);
}
