/* SPDX-License-Identifier: MIT */
/*
 * Finds the effects of a switch beyond this process, which may forbid it.
 *
 * Each switch clears the kernel's NTP state: timekeeping_update() with TK_CLEAR_NTP calls
 * ntp_clear(), which sets STA_UNSYNC and drops the offset and a pending leap second. And when a
 * KVM host leaves the TSC, pvclock_gtod_notify() (arch/x86/kvm/x86.c) ends the master clock of
 * every running guest, whose kvm-clock then falls back to system calls. The host's return to the
 * TSC does not restore it, but the next KVM_SET_CLOCK does: it calls pvclock_update_vm_gtod_copy()
 * (5.10 to 7.3), which sets the bit again if the vCPUs' TSC offsets match. QEMU makes that call
 * whenever it resumes a guest (hw/i386/kvm/clock.c, kvmclock_vm_state_change()).
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "model.h"

/* ---- virtual machines ---- */

/* Returns NULL if the folder cannot be read. */
static DIR *open_folder(const struct root *root, const char *path)
{
	int folder = root_open_file(root, path, O_RDONLY, &(struct fact){0});
	DIR *list = folder < 0 ? NULL : fdopendir(folder);

	if (!list && folder >= 0)
		close(folder);
	return list;
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

/*
 * A virtual machine holds a reference to the vendor's module. A kernel with KVM built in has no
 * such count; the process that runs the machine has it open.
 */
bool guests_running(const struct root *root, char *which, size_t size)
{
	static const char *const modules[] = {"kvm_intel", "kvm_amd"};
	const struct dirent *entry;
	bool found = false;
	DIR *list;

	for (size_t i = 0; i < ARRAY_SIZE(modules) && !found; i++) {
		char path[64], buffer[64];
		struct span content;
		uint64_t count;

		snprintf(path, sizeof(path), "/sys/module/%s/refcnt", modules[i]);
		found = root_read(
				root, path, buffer, sizeof(buffer), &content, &(struct fact){0}) &&
		        number_parse(text_trim(content), &count) && count > 0;
		snprintf(which, size, "the module %s is in use", modules[i]);
	}
	list = open_folder(root, "/proc");
	while (list && !found && (entry = readdir(list))) {
		found = strchr("123456789", entry->d_name[0]) &&
		        process_holds_kvm(root, entry->d_name);
		snprintf(which, size, "process %.16s has KVM open", entry->d_name);
	}
	if (list)
		closedir(list);
	return found;
}
