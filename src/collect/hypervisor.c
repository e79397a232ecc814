/* SPDX-License-Identifier: MIT */
/*
 * Which hypervisor this machine runs under, by systemd-detect-virt's words. Several sources are
 * read, as none is filled everywhere: the firmware's names first, CPUID next.
 */
#include "parts.h"

#include <string.h>

#include "base/units.h"

#define FILE_SIZE 4097

struct mark {
	const char *text; /* what the name begins with, or what the file holds */
	const char *word;
	bool is_cloud;   /* whose bare machines carry its name too */
	bool is_precise; /* says more than CPUID, which says "kvm" on half of the clouds */
};

/* What hypervisors write into the firmware's tables. */
static const struct mark dmi_marks[] = {
	{"Amazon EC2", "amazon", true, true},
	{"Google Compute Engine", "google", true, true},
	{"KVM", "kvm", false, false},
	{"OpenStack", "kvm", false, false},
	{"KubeVirt", "kvm", false, false},
	{"Alibaba Cloud", "kvm", false, false},
	{"QEMU", "qemu", false, false},
	{"VMware", "vmware", false, false},
	{"VMW", "vmware", false, false},
	{"innotek GmbH", "oracle", false, true},
	{"VirtualBox", "oracle", false, true},
	{"Xen", "xen", false, true},
	{"Bochs", "bochs", false, false},
	{"Parallels", "parallels", false, true},
	{"BHYVE", "bhyve", false, false},
	{"Hyper-V", "microsoft", false, false},
	{"Virtual Machine", "microsoft", false, false},
	{"Apple Virtualization", "apple", false, false},
};

static const char *const dmi_files[] = {
	"/sys/class/dmi/id/product_name",
	"/sys/class/dmi/id/sys_vendor",
	"/sys/class/dmi/id/board_vendor",
	"/sys/class/dmi/id/bios_vendor",
};

/* Word lists of the device tree's "compatible", separated by NUL. */
static const struct mark device_tree_marks[] = {
	{"linux,kvm", "kvm", false, false},
	{"xen,xen", "xen", false, false},
	{"vmware", "vmware", false, false},
	{"qemu,pseries", "qemu", false, false},
};

static const struct mark sysinfo_marks[] = {
	{"KVM/Linux", "kvm", false, false},
	{"z/VM", "zvm", false, false},
};

static const struct mark *find_in_file(const struct root *root, const char *path,
	const struct mark *marks, size_t count, bool (*fits)(struct span text, const char *mark))
{
	char buffer[FILE_SIZE];
	struct span content;
	struct fact why;

	if (!root_read_head(root, path, buffer, sizeof(buffer), &content, &why))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (fits(content, marks[i].text))
			return &marks[i];
	}
	return NULL;
}

/* CPUID's hypervisor bit, as the kernel shows it: on x86 no guest of a cloud is without it. */
static bool is_x86_metal(const struct root *root)
{
	char buffer[FILE_SIZE];
	struct span cpuinfo, flags;
	struct fact why;

	return root_read_head(root, "/proc/cpuinfo", buffer, sizeof(buffer), &cpuinfo, &why) &&
	       text_find_value(cpuinfo, "flags", &flags) && !text_has_word(flags, "hypervisor");
}

static const struct mark *find_in_dmi(const struct root *root)
{
	const struct mark *mark = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(dmi_files) && !mark; i++)
		mark = find_in_file(
			root, dmi_files[i], dmi_marks, ARRAY_SIZE(dmi_marks), text_starts);
	/* "m5.metal", "c3-highcpu-192-metal" */
	if (mark && mark->is_cloud &&
		(root_holds(root, dmi_files[0], ".metal") || is_x86_metal(root)))
		return NULL;
	return mark;
}

static const char *find_word(const struct root *root)
{
	static const struct mark xen = {"xen", "xen", false, false};
	const struct mark *dmi = find_in_dmi(root), *mark = NULL;
	struct cpuid_answer answer;

	if (dmi && dmi->is_precise)
		return dmi->word;
	mark = find_in_file(root, "/sys/hypervisor/type", &xen, 1, text_starts);
	if (!mark && root->live && cpuid_ask(&answer) && answer.hypervisor)
		return answer.hypervisor;
	if (!mark)
		mark = dmi;
	if (!mark)
		mark = find_in_file(root, "/proc/device-tree/hypervisor/compatible",
			device_tree_marks, ARRAY_SIZE(device_tree_marks), text_contains);
	/* QEMU's own machines, where firmware has no table of names. */
	if (!mark && (root_has(root, "/proc/device-tree/fw-cfg@9020000") ||
			     root_has(root, "/proc/device-tree/fw-cfg@10100000")))
		return "qemu";
	if (!mark)
		mark = find_in_file(root, "/proc/sysinfo", sysinfo_marks, ARRAY_SIZE(sysinfo_marks),
			text_contains);
	return mark ? mark->word : NULL;
}

void hypervisor_collect(const struct root *root, struct text_fact *hypervisor)
{
	const char *word = find_word(root);

	if (word)
		fact_set_text(hypervisor, word);
	else
		fact_set(&hypervisor->fact, FACT_ABSENT, "nothing points to a hypervisor");
}
