/* SPDX-License-Identifier: MIT */
/*
 * Which hypervisor this machine runs under, by systemd-detect-virt's words. Several sources are
 * read, as none is filled everywhere: the firmware's names first, CPUID next.
 */
#include "parts.h"

#include <string.h>

#include "base/units.h"
#include "cpuid.h"

#define FILE_SIZE 4097

struct mark {
	const char *text; /* what the name begins with, or what the file holds */
	const char *word;
};

/* What hypervisors write into the firmware's tables. */
static const struct mark dmi_marks[] = {
	{"Amazon EC2", "amazon"},
	{"Google Compute Engine", "google"},
	{"KVM", "kvm"},
	{"OpenStack", "kvm"},
	{"KubeVirt", "kvm"},
	{"Alibaba Cloud", "kvm"},
	{"QEMU", "qemu"},
	{"VMware", "vmware"},
	{"VMW", "vmware"},
	{"innotek GmbH", "oracle"},
	{"VirtualBox", "oracle"},
	{"Xen", "xen"},
	{"Bochs", "bochs"},
	{"Parallels", "parallels"},
	{"BHYVE", "bhyve"},
	{"Hyper-V", "microsoft"},
	{"Virtual Machine", "microsoft"},
	{"Apple Virtualization", "apple"},
};

static const char *const dmi_files[] = {
	"/sys/class/dmi/id/product_name",
	"/sys/class/dmi/id/sys_vendor",
	"/sys/class/dmi/id/board_vendor",
	"/sys/class/dmi/id/bios_vendor",
};

/* Word lists of the device tree's "compatible", separated by NUL. */
static const struct mark device_tree_marks[] = {
	{"linux,kvm", "kvm"},
	{"xen,xen", "xen"},
	{"vmware", "vmware"},
	{"qemu,pseries", "qemu"},
};

static const struct mark sysinfo_marks[] = {
	{"KVM/Linux", "kvm"},
	{"z/VM", "zvm"},
};

static const char *word_in_file(const struct root *root, const char *path, const struct mark *marks,
	size_t count, bool (*fits)(struct span text, const char *mark))
{
	char buffer[FILE_SIZE];
	struct span content;
	struct fact why;

	if (!root_read_head(root, path, buffer, sizeof(buffer), &content, &why))
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (fits(content, marks[i].text))
			return marks[i].word;
	}
	return NULL;
}

/* Clouds whose bare machines carry the cloud's name too: "m5.metal", "c3-highcpu-192-metal". */
static bool is_cloud(const char *word)
{
	return strcmp(word, "amazon") == 0 || strcmp(word, "google") == 0;
}

static bool is_cloud_metal(const struct root *root)
{
	static const struct mark metal[] = {{".metal", "metal"}};

	return word_in_file(root, dmi_files[0], metal, ARRAY_SIZE(metal), text_contains) != NULL;
}

/* CPUID's hypervisor bit, as the kernel shows it: on x86 no guest of a cloud is without it. */
static bool is_x86_metal(const struct root *root)
{
	char buffer[FILE_SIZE];
	struct span cpuinfo, flags, flag;
	struct fact why;

	if (!root_read_head(root, "/proc/cpuinfo", buffer, sizeof(buffer), &cpuinfo, &why) ||
		!text_find_value(cpuinfo, "flags", &flags))
		return false;
	while (text_next_word(&flags, &flag)) {
		if (text_equals(flag, "hypervisor"))
			return false;
	}
	return true;
}

static const char *word_from_dmi(const struct root *root)
{
	for (size_t i = 0; i < ARRAY_SIZE(dmi_files); i++) {
		const char *word = word_in_file(
			root, dmi_files[i], dmi_marks, ARRAY_SIZE(dmi_marks), text_starts);

		if (word && is_cloud(word) && (is_cloud_metal(root) || is_x86_metal(root)))
			return NULL;
		if (word)
			return word;
	}
	return NULL;
}

static const char *word_from_xen(const struct root *root)
{
	static const struct mark type[] = {{"xen", "xen"}};

	return word_in_file(root, "/sys/hypervisor/type", type, ARRAY_SIZE(type), text_starts);
}

static const char *word_from_device_tree(const struct root *root)
{
	const char *word = word_in_file(root, "/proc/device-tree/hypervisor/compatible",
		device_tree_marks, ARRAY_SIZE(device_tree_marks), text_contains);

	if (word)
		return word;
	/* QEMU's own machines, where firmware has no table of names. */
	if (root_has(root, "/proc/device-tree/fw-cfg@9020000") ||
		root_has(root, "/proc/device-tree/fw-cfg@10100000"))
		return "qemu";
	return NULL;
}

static const char *word_from_cpuid(const struct root *root)
{
	struct cpuid_answer answer;

	return root->live && cpuid_ask(&answer) ? answer.hypervisor : NULL;
}

/* The cloud's own word says more than "kvm", which CPUID says on half of them. */
static bool is_telling(const char *word)
{
	return word && (strcmp(word, "amazon") == 0 || strcmp(word, "google") == 0 ||
			       strcmp(word, "oracle") == 0 || strcmp(word, "xen") == 0 ||
			       strcmp(word, "parallels") == 0);
}

static const char *find_word(const struct root *root)
{
	const char *dmi = word_from_dmi(root);
	const char *word = is_telling(dmi) ? dmi : word_from_xen(root);

	if (!word)
		word = word_from_cpuid(root);
	if (!word)
		word = dmi;
	if (!word)
		word = word_from_device_tree(root);
	if (!word)
		word = word_in_file(root, "/proc/sysinfo", sysinfo_marks, ARRAY_SIZE(sysinfo_marks),
			text_contains);
	return word;
}

void hypervisor_collect(const struct root *root, struct text_fact *hypervisor)
{
	const char *word = find_word(root);

	if (word)
		fact_set_text(hypervisor, word);
	else
		fact_set(&hypervisor->fact, FACT_ABSENT, "nothing points to a hypervisor");
}
