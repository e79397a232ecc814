/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes `check --sysroot` on a whole tree: it is judged unknown, since nothing can be measured,
 * and rendered. Input: files, each a byte 255, a byte with its place among the paths, and the
 * content. From 128 on it is a symbolic link, and the content is where it points to.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/time.h"
#include "check/model.h"
#include "collect.h"
#include "judge.h"

#define MARK 0xff
#define LINK 0x80

/* New ones go to the end: the inputs that are kept have their places. */
static const char *const paths[] = {
	"/sys/devices/system/clocksource/clocksource0/current_clocksource",
	"/sys/devices/system/clocksource/clocksource0/available_clocksource",
	"/proc/version",
	"/proc/sys/kernel/version",
	"/proc/sys/kernel/osrelease",
	"/proc/sys/kernel/arch",
	"/proc/sys/kernel/hostname",
	"/proc/cpuinfo",
	"/proc/cmdline",
	"/proc/sysinfo",
	"/proc/1/cgroup",
	"/proc/device-tree/model",
	"/proc/device-tree/hypervisor/compatible",
	"/etc/os-release",
	"/usr/lib/os-release",
	"/sys/class/dmi/id/sys_vendor",
	"/sys/class/dmi/id/product_name",
	"/sys/class/dmi/id/board_vendor",
	"/sys/class/dmi/id/bios_vendor",
	"/sys/class/dmi/id/bios_version",
	"/sys/class/dmi/id/chassis_asset_tag",
	"/sys/class/dmi/id/board_asset_tag",
	"/sys/devices/system/cpu/online",
	"/sys/firmware/acpi/tables/FACP",
	"/sys/firmware/acpi/tables/APIC",
	"/sys/hypervisor/type",
	"/sys/hypervisor/uuid",
	"/sys/hypervisor/version/major",
	"/sys/hypervisor/version/minor",
	"/sys/hypervisor/version/extra",
	"/run/systemd/container",
	"/run/host/container-manager",
	"/run/.containerenv",
	"/.dockerenv",
	"/usr/share/qubes/marker-vm",
	"/var/log/dmesg",
	"/sos_commands/kernel/dmesg",
	"/run/cloud-init/instance-data.json",
	"/sos_commands/kernel/uname_-a",
	"/sos_commands/processor/lscpu",
	"/sos_commands/logs/journalctl_--no-pager_--boot",
};

static void put_link(const char *path, const uint8_t *target, size_t length)
{
	char text[256] = "";

	memcpy(text, target, length < sizeof(text) ? length : sizeof(text) - 1);
	if (!*text)
		return;
	fuzz_root_put(path, target, 0); /* makes the directories above it */
	fuzz_root_remove(path);
	if (symlink(text, fake_root_place(fuzz_root(), path)) < 0)
		abort();
}

static void put_files(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;

	while (data + 2 <= end && *data == MARK) {
		const uint8_t *content = data + 2;
		const uint8_t *next = memchr(content, MARK, (size_t)(end - content));
		const char *path = paths[(data[1] % LINK) % ARRAY_SIZE(paths)];

		if (!next)
			next = end;
		if (data[1] >= LINK)
			put_link(path, content, (size_t)(next - content));
		else
			fuzz_root_put(path, content, (size_t)(next - content));
		data = next;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct evidence evidence;
	struct deadline deadline = deadline_after(5 * NS_PER_SECOND);
	static struct diagnosis diagnosis;

	put_files(data, size);
	memset(&evidence, 0, sizeof(evidence));
	gather_evidence(&fuzz_root()->root, &evidence, true, &deadline);
	kernel_log_collect(&fuzz_root()->root, &evidence.kernel_log);
	host_collect_identity(&fuzz_root()->root, &evidence.host);
	diagnose(&evidence, &diagnosis);
	if (diagnosis.verdict.kind != VERDICT_UNKNOWN)
		abort();
	fuzz_judge(&evidence, size);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		fuzz_root_remove(paths[i]);
	return 0;
}
