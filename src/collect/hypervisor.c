/* SPDX-License-Identifier: MIT */
/*
 * Finds the hypervisor by systemd-detect-virt's words. Several sources are read, as none is filled
 * everywhere: the firmware's names first, CPUID next.
 */
#include "parts.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define FILE_SIZE 4097

struct dmi_name {
	const char *start;
	const char *word;
	bool is_cloud;   /* a cloud, whose bare machines carry its name, too */
	bool is_precise; /* says more than CPUID, which says "kvm" on half of the clouds */
};

/* The names that hypervisors write into the firmware's tables. */
static const struct dmi_name dmi_names[] = {
	{"Amazon EC2", "amazon", true, true},
	{"Google Compute Engine", "google", true, true},
	{"KVM", "kvm", false, false},
	{"OpenStack", "kvm", false, false},
	{"KubeVirt", "kvm", false, false},
	{"AHV", "kvm", false, false}, /* Nutanix's */
	{"Alibaba Cloud", "kvm", true, false},
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

/* These marks are found on machines without CPUID. */
static const struct mark hypervisor_marks[] = {
	{"/proc/device-tree/hypervisor/compatible", "linux,kvm", "kvm"},
	{"/proc/device-tree/hypervisor/compatible", "xen,xen", "xen"},
	{"/proc/device-tree/hypervisor/compatible", "vmware", "vmware"},
	{"/proc/device-tree/hypervisor/compatible", "qemu,pseries", "qemu"},
	{"/proc/device-tree/compatible", "qemu,pseries", "qemu"},
	{"/proc/device-tree/ibm,partition-name", "", "powervm"},
	/* QEMU's own machines have these devices, where firmware has no table of names. */
	{"/proc/device-tree/fw-cfg@9020000", "", "qemu"},
	{"/proc/device-tree/fw-cfg@10100000", "", "qemu"},
	{"/proc/sysinfo", "KVM/Linux", "kvm"},
	{"/proc/sysinfo", "z/VM", "zvm"},
	/* WSL 2 has no firmware's names. */
	{"/proc/sys/kernel/osrelease", "WSL2", "microsoft"},
	{"/proc/sys/kernel/osrelease", "-microsoft-standard", "microsoft"},
};

/* A machine without a hypervisor carries its cloud's name, too. */
static bool is_cloud_metal(const struct root *root, struct span cpuinfo)
{
	struct span value;

	/* "m5.metal", "c3-highcpu-192-metal" */
	if (root_contains(root, dmi_files[0], ".metal"))
		return true;
	/* No x86 guest of a cloud is without CPUID's bit. */
	if (text_find_value(cpuinfo, "flags", &value))
		return !text_has_word(value, "hypervisor");
	/*
	 * arm64: kvm_arm_init() registers the device only where the kernel was started at EL2, in
	 * which no guest of these clouds is (arch/arm64/kvm/arm.c, 4.x to 7.2).
	 */
	return text_find_value(cpuinfo, "CPU implementer", &value) &&
	       root_exists(root, "/sys/class/misc/kvm");
}

static const struct dmi_name *find_in_dmi(const struct root *root)
{
	for (size_t i = 0; i < ARRAY_SIZE(dmi_files); i++) {
		struct text_fact line = {0};

		root_read_line(root, dmi_files[i], &line);
		for (size_t k = 0; k < ARRAY_SIZE(dmi_names); k++) {
			if (text_starts(text_span(line.value), dmi_names[k].start))
				return &dmi_names[k];
		}
	}
	return NULL;
}

/*
 * The name stands in front or behind a blank. Those of clouds are on their bare machines, too, and
 * only EC2's have it in the product's name.
 */
const char *hypervisor_find_in_dmi_line(struct span names)
{
	char behind[FACT_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(dmi_names); i++) {
		const struct dmi_name *name = &dmi_names[i];

		snprintf(behind, sizeof(behind), " %s", name->start);
		if (!text_starts(names, name->start) && !text_contains(names, behind))
			continue;
		if (!name->is_cloud ||
			(strcmp(name->word, "amazon") == 0 && !text_contains(names, ".metal")))
			return name->word;
	}
	return NULL;
}

/* An sosreport has the output of lscpu(1), which reads CPUID (lscpu-virt.c of util-linux). */
static const char *word_by_lscpu(const struct root *root)
{
	static const struct {
		const char *vendor;
		const char *word;
	} vendors[] = {
		{"KVM", "kvm"},
		{"Microsoft", "microsoft"},
		{"VMware", "vmware"},
		{"Xen", "xen"},
		{"Innotek GmbH", "oracle"},
		{"Oracle", "oracle"},
		{"Parallels", "parallels"},
		{"pHyp", "powervm"},
		{"User-mode Linux", "uml"},
		{"Unisys s-Par", "vm-other"},
		{"Hitachi", "vm-other"},
		{"OS/400", "vm-other"},
	};
	char buffer[FILE_SIZE];
	struct span content, vendor;
	struct fact why;

	if (!root_read_head(root, "/sos_commands/processor/lscpu", buffer, sizeof(buffer), &content,
		    &why) ||
		!text_find_value(content, "Hypervisor vendor", &vendor))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(vendors); i++) {
		if (text_equals(vendor, vendors[i].vendor))
			return vendors[i].word;
	}
	return NULL;
}

static const char *hypervisor_find_word(const struct root *root)
{
	const struct dmi_name *dmi = find_in_dmi(root);
	char buffer[FILE_SIZE];
	struct span cpuinfo, value;
	struct cpuid_answer answer;
	struct fact why;
	const char *word;

	root_read_head(root, "/proc/cpuinfo", buffer, sizeof(buffer), &cpuinfo, &why);
	/* User-Mode Linux sees the CPUID of the machine below it (arch/um/kernel/um_arch.c). */
	if (text_find_value(cpuinfo, "vendor_id", &value) && text_equals(value, "User Mode Linux"))
		return "uml";
	if (dmi && dmi->is_cloud && is_cloud_metal(root, cpuinfo))
		dmi = NULL;
	if (dmi && dmi->is_precise)
		return dmi->word;
	if (root_contains(root, "/sys/hypervisor/type", "xen"))
		return "xen";
	if (root->live && cpuid_ask(&answer) && answer.hypervisor)
		return answer.hypervisor;
	word = root->live ? NULL : word_by_lscpu(root);
	if (word)
		return word;
	word = dmi ? dmi->word : mark_find(root, hypervisor_marks, ARRAY_SIZE(hypervisor_marks));
	/* The kernel shows CPUID's hypervisor bit. */
	if (!word && text_find_value(cpuinfo, "flags", &value) &&
		text_has_word(value, "hypervisor"))
		return "vm-other";
	return word;
}

/* True if something was read that shows the hypervisor of a guest. */
static bool would_show(const struct root *root)
{
	static const char *const places[] = {"/sys/class/dmi/id", "/proc/device-tree",
		"/proc/sysinfo", "/sos_commands/processor/lscpu"};
	char buffer[FILE_SIZE];
	struct span cpuinfo, value;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (root_exists(root, places[i]))
			return true;
	}
	return root->live || (root_read_head(root, "/proc/cpuinfo", buffer, sizeof(buffer),
				      &cpuinfo, &(struct fact){0}) &&
				     text_find_value(cpuinfo, "flags", &value));
}

void hypervisor_collect(const struct root *root, struct text_fact *hypervisor)
{
	const char *word = hypervisor_find_word(root);

	if (!word && !would_show(root))
		fact_set(&hypervisor->fact, FACT_UNREAD, "no file that would show a hypervisor");
	else
		fact_set_found(hypervisor, word, "no sign of a hypervisor");
}
