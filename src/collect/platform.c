/* SPDX-License-Identifier: MIT */
/*
 * Finds the cloud, product or sandbox around this system, which decides whom to ask for a change,
 * and the container, by marks that they leave in files. The network is not used.
 */
#include "parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/platform.h"

static bool is_there(const struct root *root, const char *path, const char *text)
{
	return *text ? root_contains(root, path, text) : root_exists(root, path);
}

const char *mark_find(const struct root *root, const struct mark *marks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is_there(root, marks[i].path, marks[i].text))
			return marks[i].word;
	}
	return NULL;
}

static const char *find_by_sign(const struct root *root)
{
	for (const struct platform *platform = platforms; platform->word; platform++) {
		for (size_t i = 0; i < PLATFORM_SIGNS && platform->signs[i].path; i++) {
			if (is_there(root, platform->signs[i].path, platform->signs[i].text))
				return platform->word;
		}
	}
	return NULL;
}

/*
 * Amazon documents that the UUID of an instance begins with "ec2", or does so in little endian,
 * where the first group's bytes stand in reverse: "45e12aec". Other hosts' random UUIDs do it once
 * in 2000, so only Xen guests are asked.
 */
static bool is_ec2_uuid(const struct root *root)
{
	struct text_fact uuid;

	root_read_line(root, "/sys/hypervisor/uuid", &uuid);
	return fact_is_known(&uuid.fact) &&
	       (strncasecmp(uuid.value, "ec2", 3) == 0 ||
		       (strlen(uuid.value) >= 8 && strncasecmp(uuid.value + 6, "ec", 2) == 0 &&
			       uuid.value[4] == '2'));
}

/*
 * XENFEAT_dom0 (include/xen/interface/features.h, 3.10 to 7.3), where /proc/xen is not mounted.
 * Xen's dom0 drives the machine and starts the guests.
 */
#define XEN_FEATURE_DOM0 (1 << 11)

static bool is_dom0(const struct root *root)
{
	struct text_fact features;
	uint64_t bits;

	root_read_line(root, "/sys/hypervisor/properties/features", &features);
	return fact_is_known(&features.fact) &&
	       number_parse_hex(text_span(features.value), &bits) && bits & XEN_FEATURE_DOM0;
}

static const char *find_platform(const struct root *root, const struct host_evidence *host)
{
	const char *word = is_dom0(root) ? "xen-dom0" : find_by_sign(root);
	bool is_virtual = fact_is_known(&host->hypervisor.fact);
	bool has_names = root_exists(root, "/sys/class/dmi/id");

	if (word)
		return word;
	if (fact_is_text(&host->hypervisor, "xen") && is_ec2_uuid(root))
		return "aws-xen";
	/*
	 * Machine monitors that boot an x86 kernel without firmware leave no tables of names. Those
	 * of a captured tree may not have been captured.
	 */
	if (root->live && fact_is_text(&host->hypervisor, "kvm") && !has_names &&
		fact_is_text(&host->arch, "x86_64") && root_exists(root, "/sys/devices"))
		return "microvm";
	if (is_virtual)
		return NULL;
	if (root_contains(root, "/proc/sysinfo", "LPAR"))
		return "lpar";
	return has_names ? "bare-metal" : NULL;
}

void platform_collect(const struct root *root, struct host_evidence *host)
{
	fact_set_found(&host->platform, find_platform(root, host), "no platform known here");
}

/* Some are files of the container's own, some texts in files that the host writes. */
static const struct mark containers[] = {
	{"/run/.containerenv", "", "podman"},
	{"/.dockerenv", "", "docker"},
	{"/dev/.lxc-boot-id", "", "lxc"},
	{"/proc/sys/kernel/osrelease", "Microsoft", "wsl"},
	{"/proc/sys/kernel/osrelease", "-microsoft-standard", "wsl"},
	{"/proc/sys/kernel/osrelease", "WSL", "wsl"},
	{"/proc/1/cgroup", "kubepods", "container-other"},
	{"/proc/1/cgroup", "/docker", "docker"},
	{"/proc/1/cgroup", "/lxc", "lxc"},
};

/* The words of systemd-detect-virt --container. */
static const char container_words[] =
	"openvz lxc lxc-libvirt systemd-nspawn docker podman rkt wsl proot pouch";

static bool set_container(const char *word, struct text_fact *container)
{
	bool is_known = text_has_word(text_span(container_words), word);

	if (*word)
		fact_set_text(container, is_known ? word : "container-other");
	return *word;
}

/*
 * Takes the container manager's word, where it keeps to systemd's container interface: in a file,
 * or in the environment of what it starts, which may have been set for another reason.
 */
static bool collect_declared(const struct root *root, struct text_fact *container)
{
	static const char *const declared[] = {
		"/run/host/container-manager", "/run/systemd/container"};
	const char *variable = root->live ? getenv("container") : NULL;
	struct text_fact word;

	for (size_t i = 0; i < ARRAY_SIZE(declared); i++) {
		root_read_line(root, declared[i], &word);
		if (fact_is_known(&word.fact) && set_container(word.value, container))
			return true;
	}
	return variable && set_container(variable, container) &&
	       strcmp(container->value, "container-other") != 0;
}

void container_collect(const struct root *root, struct text_fact *container)
{
	if (!collect_declared(root, container))
		fact_set_found(container, mark_find(root, containers, ARRAY_SIZE(containers)),
			"no sign of a container");
}
