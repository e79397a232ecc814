/* SPDX-License-Identifier: MIT */
/*
 * Signs that the guest was restored or migrated, or the host suspended and resumed. The counter may
 * be that of another machine since, intercepted or with another rate, without a change of any word
 * that the vDSO decides by.
 *
 * A live migration by KVM without vmclock leaves no sign in user space: the TSC and kvm-clock go
 * on, the kernel clears PVCLOCK_GUEST_STOPPED when it reads the page next
 * (arch/x86/kernel/pvclock.c), and vmgenid changes for a restored or copied guest alone.
 */
#include <endian.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "model.h"

const char *const watch_restore_names[] = {"", "vmclock", "vmgenid", "hyperv", "suspend", NULL};

/* The page begins with this, in little-endian (include/uapi/linux/vmclock-abi.h, 6.13 to 7.3). */
struct watch_vmclock {
	uint32_t magic;
	uint32_t size;
	uint16_t version;
	uint8_t counter_id;
	uint8_t time_type;
	uint32_t sequence;
	uint64_t disruption_marker;
};

#define VMCLOCK_MAGIC 0x4b4c4356
#define VMCLOCK_VERSION 1

static const volatile struct watch_vmclock *map_vmclock(void)
{
	int file = open("/dev/vmclock0", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct watch_vmclock head;
	void *page = MAP_FAILED;

	if (file < 0)
		return NULL;
	if (pread(file, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
		le32toh(head.magic) == VMCLOCK_MAGIC && le16toh(head.version) == VMCLOCK_VERSION)
		page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, file, 0);
	close(file);
	return page == MAP_FAILED ? NULL : page;
}

/* Lets pass what begins with "chan": most uevents add or remove a device, and wake nothing up. */
static int open_uevents(void)
{
	static struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x6368616e, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	static const struct sock_fprog filter = {.len = ARRAY_SIZE(rules), .filter = rules};
	static const struct sockaddr_nl kernel_group = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int file = socket(
		AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);

	if (file < 0)
		return -1;
	if (setsockopt(file, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0 &&
		bind(file, (const struct sockaddr *)&kernel_group, sizeof(kernel_group)) == 0)
		return file;
	close(file);
	return -1;
}

void watch_sources_open(struct watch_sources *sources)
{
	sources->vmclock = map_vmclock();
	sources->uevents = open_uevents();
}

bool watch_uevent_is_vmgenid(const char *text, size_t length)
{
	static const char key[] =
		"\0NEW_VMGENID="; /* a string begins after the NUL of the one before */

	return memmem(text, length, key, sizeof(key) - 1);
}

void watch_uevents_take(struct watch_sources *sources)
{
	struct sockaddr_nl sender = {.nl_pid = 0};
	socklen_t size = sizeof(sender);
	char text[8192];
	ssize_t length;

	/* A process with privileges may send here too; the kernel's address is 0. */
	while ((length = recvfrom(sources->uevents, text, sizeof(text), 0,
			(struct sockaddr *)&sender, &size)) > 0) {
		if (size == sizeof(sender) && sender.nl_pid == 0 &&
			watch_uevent_is_vmgenid(text, (size_t)length))
			sources->generations++;
		size = sizeof(sender);
	}
}

struct watch_signs watch_signs_read(
	const struct watch_sources *sources, const struct watch_place *place)
{
	return (struct watch_signs){
		.disruption = sources->vmclock ? sources->vmclock->disruption_marker : 0,
		.generations = sources->generations,
		.hyperv_sequence = place->hyperv_sequence ? *place->hyperv_sequence : 0,
		.suspended_least_ns = INT64_MIN,
		.suspended_most_ns = INT64_MAX,
	};
}

/* The shortest suspend; a clock that goes back from CPU to CPU does so by less. */
#define SUSPEND_NS (100 * NS_PER_MS)

static bool read_clock(clockid_t clock, int64_t *ns)
{
	struct timespec time;

	if (clock_gettime(clock, &time) < 0)
		return false;
	*ns = time.tv_sec * NS_PER_SECOND + time.tv_nsec;
	return true;
}

void watch_signs_read_suspended(struct watch_signs *signs)
{
	int64_t before, since_boot, after;

	if (read_clock(CLOCK_MONOTONIC, &before) && read_clock(CLOCK_BOOTTIME, &since_boot) &&
		read_clock(CLOCK_MONOTONIC, &after)) {
		signs->suspended_least_ns = since_boot - after;
		signs->suspended_most_ns = since_boot - before;
	}
}

enum watch_restore watch_restore_find(
	const struct watch_signs *before, const struct watch_signs *now)
{
	if (now->disruption != before->disruption)
		return RESTORE_VMCLOCK;
	if (now->generations != before->generations)
		return RESTORE_VMGENID;
	/* 0 is an invalid page, not another host's. */
	if (now->hyperv_sequence && before->hyperv_sequence &&
		now->hyperv_sequence != before->hyperv_sequence)
		return RESTORE_HYPERV;
	if (before->suspended_most_ns < INT64_MAX - SUSPEND_NS &&
		now->suspended_least_ns > before->suspended_most_ns + SUSPEND_NS)
		return RESTORE_SUSPEND;
	return RESTORE_NONE;
}
