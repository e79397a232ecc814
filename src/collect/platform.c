/* SPDX-License-Identifier: MIT */
#include "collect/platform.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The first that holds names the platform. */
static const struct {
	const char *path;
	const char *text; /* anywhere in the file; "" if its being there is enough */
	const char *word;
} marks[] = {
	/* runsc names its made-up kernel so, and older releases give this date for ever. */
	{"/proc/sys/kernel/osrelease", "gvisor", "gvisor"},
	{"/proc/version", "Sun Jan 10 15:06:54 PST 2016", "gvisor"},
	{"/proc/sys/kernel/osrelease", "WSL2", "wsl2"},
	/* WSL 2's kernels before 5.4: "4.19.128-microsoft-standard". */
	{"/proc/sys/kernel/osrelease", "-microsoft-standard", "wsl2"},
	{"/proc/sys/kernel/osrelease", "-Microsoft", "wsl1"},
	{"/usr/share/qubes/marker-vm", "", "qubes"},
	{"/sys/class/dmi/id/sys_vendor", "Amazon EC2", "aws-nitro"},
	{"/sys/class/dmi/id/bios_version", "amazon", "aws-xen"},
	/* The number that Azure gives to the chassis of all its machines. */
	{"/sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "azure"},
	{"/sys/class/dmi/id/chassis_asset_tag", "OracleCloud.com", "oracle-cloud"},
	{"/sys/class/dmi/id/product_name", "Google Compute Engine", "google"},
	{"/sys/class/dmi/id/sys_vendor", "Alibaba Cloud", "alibaba"},
	{"/sys/class/dmi/id/sys_vendor", "VMware", "vmware"},
	/* The maker's mark in its ACPI tables, which only root may read; else its parameters. */
	{"/sys/firmware/acpi/tables/FACP", "FIRECK", "firecracker"},
	{"/sys/firmware/acpi/tables/APIC", "FIRECK", "firecracker"},
	{"/proc/cmdline", "firecracker", "firecracker"},
};

static bool is_marked(const struct root *root, const char *path, const char *text)
{
	return *text ? root_holds(root, path, text) : root_has(root, path);
}

/*
 * Amazon's rule: the UUID of an instance begins with "ec2", or is so in little endian, where
 * the first group's bytes stand in reverse: "45e12aec". Other hosts' random UUIDs do it once
 * in 2000, so it is asked of Xen guests alone.
 */
static bool is_ec2_uuid(const struct root *root)
{
	char buffer[64];
	struct span uuid;
	struct fact why;

	if (!root_read(root, "/sys/hypervisor/uuid", buffer, sizeof(buffer), &uuid, &why))
		return false;
	uuid = text_trim(uuid);
	return strncasecmp(buffer, "ec2", 3) == 0 ||
	       (uuid.length >= 8 && strncasecmp(buffer + 6, "ec", 2) == 0 && buffer[4] == '2');
}

static bool is_virtual(const struct host_evidence *host)
{
	return fact_is_known(&host->hypervisor.fact);
}

/* Machine monitors that boot a kernel without firmware leave no tables of names. */
static bool is_microvm(const struct root *root, const struct host_evidence *host)
{
	return is_virtual(host) && strcmp(host->hypervisor.value, "kvm") == 0 &&
	       !root_has(root, "/sys/class/dmi/id") && root_has(root, "/sys/devices") &&
	       !root_has(root, "/proc/device-tree");
}

static const char *find_word(const struct root *root, const struct host_evidence *host)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (is_marked(root, marks[i].path, marks[i].text))
			return marks[i].word;
	}
	if (is_virtual(host) && strcmp(host->hypervisor.value, "xen") == 0 && is_ec2_uuid(root))
		return "aws-xen";
	if (is_microvm(root, host))
		return "microvm";
	if (!is_virtual(host) && root_has(root, "/sys/class/dmi/id"))
		return "bare-metal";
	return NULL;
}

/* A guest with such a device may be restored from a snapshot: it is what reports that. */
static void collect_restore_device(const struct root *root, struct text_fact *device)
{
	static const char *const generation_ids[] = {
		"VMGENCTR:00", "QEMUVGID:00", "FCVMGID:00", "VMGENID:00"};

	if (root_has(root, "/dev/vmclock0")) {
		fact_set_text(device, "vmclock");
		return;
	}
	for (size_t i = 0; i < sizeof(generation_ids) / sizeof(generation_ids[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/sys/bus/acpi/devices/%s", generation_ids[i]);
		if (root_has(root, path)) {
			fact_set_text(device, "vmgenid");
			return;
		}
	}
	fact_set(&device->fact, FACT_ABSENT, "no device reports a restore");
}

void platform_collect(const struct root *root, struct host_evidence *host)
{
	const char *word = find_word(root, host);

	/* The clouds' machines without a hypervisor carry their names too. */
	if (word && !is_virtual(host) &&
		(strcmp(word, "aws-nitro") == 0 || strcmp(word, "google") == 0))
		word = "bare-metal";
	collect_restore_device(root, &host->restore_device);
	if (word)
		fact_set_text(&host->platform, word);
	else
		fact_set(&host->platform.fact, FACT_ABSENT, "no platform known here");
}
