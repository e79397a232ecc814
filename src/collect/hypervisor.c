/* SPDX-License-Identifier: MIT */
/*
 * Which hypervisor this machine runs under, by systemd-detect-virt's words. Several sources are
 * read, as none is filled everywhere: the firmware's names first, CPUID next.
 */
#include "parts.h"

#include <string.h>

#include "base/units.h"

#define FILE_SIZE 4097

struct dmi_name {
	const char *start;
	const char *word;
	bool is_cloud;   /* whose bare machines carry its name too */
	bool is_precise; /* says more than CPUID, which says "kvm" on half of the clouds */
};

/* What hypervisors write into the firmware's tables. */
static const struct dmi_name dmi_names[] = {
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

/* Of machines that have no CPUID. */
static const struct mark marks[] = {
	{"/proc/device-tree/hypervisor/compatible", "linux,kvm", "kvm"},
	{"/proc/device-tree/hypervisor/compatible", "xen,xen", "xen"},
	{"/proc/device-tree/hypervisor/compatible", "vmware", "vmware"},
	{"/proc/device-tree/hypervisor/compatible", "qemu,pseries", "qemu"},
	/* QEMU's own machines, where firmware has no table of names. */
	{"/proc/device-tree/fw-cfg@9020000", "", "qemu"},
	{"/proc/device-tree/fw-cfg@10100000", "", "qemu"},
	{"/proc/sysinfo", "KVM/Linux", "kvm"},
	{"/proc/sysinfo", "z/VM", "zvm"},
};

static const struct dmi_name *find_in_dmi_file(const struct root *root, const char *path)
{
	char buffer[FILE_SIZE];
	struct span content;
	struct fact why;

	if (!root_read_head(root, path, buffer, sizeof(buffer), &content, &why))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(dmi_names); i++) {
		if (text_starts(content, dmi_names[i].start))
			return &dmi_names[i];
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

static const struct dmi_name *find_in_dmi(const struct root *root)
{
	const struct dmi_name *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(dmi_files) && !name; i++)
		name = find_in_dmi_file(root, dmi_files[i]);
	/* "m5.metal", "c3-highcpu-192-metal" */
	if (name && name->is_cloud &&
		(root_holds(root, dmi_files[0], ".metal") || is_x86_metal(root)))
		return NULL;
	return name;
}

static const char *find_word(const struct root *root)
{
	const struct dmi_name *dmi = find_in_dmi(root);
	struct cpuid_answer answer;

	if (dmi && dmi->is_precise)
		return dmi->word;
	if (root_holds(root, "/sys/hypervisor/type", "xen"))
		return "xen";
	if (root->live && cpuid_ask(&answer) && answer.hypervisor)
		return answer.hypervisor;
	return dmi ? dmi->word : mark_find(root, marks, ARRAY_SIZE(marks));
}

void hypervisor_collect(const struct root *root, struct text_fact *hypervisor)
{
	const char *word = find_word(root);

	if (word)
		fact_set_text(hypervisor, word);
	else
		fact_set(&hypervisor->fact, FACT_ABSENT, "nothing points to a hypervisor");
}
