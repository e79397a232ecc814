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
#include <string.h>

#include "base/memory.h"
#include "model.h"

/*
 * A virtual machine holds a reference to its vendor's module. A KVM that is built into the kernel
 * has no such count; it made /dev/kvm if the CPUs can run virtual machines.
 */
bool guests_running(const struct root *root, char *which, size_t size)
{
	static const char *const modules[] = {"kvm_intel", "kvm_amd"};
	bool built_in = false;

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		char path[64];
		struct text_fact count;

		snprintf(path, sizeof(path), "/sys/module/%s", modules[i]);
		built_in = built_in || root_exists(root, path);
		snprintf(path, sizeof(path), "/sys/module/%s/refcnt", modules[i]);
		root_read_line(root, path, &count);
		snprintf(which, size, "the module %s is in use", modules[i]);
		if (fact_is_known(&count.fact))
			return strcmp(count.value, "0") != 0;
	}
	snprintf(which, size, "KVM is built into the kernel and does not count them");
	return built_in && root_exists(root, "/dev/kvm");
}
