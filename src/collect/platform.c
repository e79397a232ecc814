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

static const struct mark platforms[] = {
	/* runsc reports this release, and older versions this fixed date. */
	{"/proc/sys/kernel/osrelease", "gvisor", "gvisor"},
	{"/proc/version", "Sun Jan 10 15:06:54 PST 2016", "gvisor"},
	{"/proc/sys/kernel/osrelease", "WSL2", "wsl2"},
	/* WSL 2's kernels before 5.4 are "4.19.128-microsoft-standard". */
	{"/proc/sys/kernel/osrelease", "-microsoft-standard", "wsl2"},
	{"/proc/sys/kernel/osrelease", "-Microsoft", "wsl1"},
	{"/usr/share/qubes/marker-vm", "", "qubes"},
	{"/proc/xen/capabilities", "control_d", "xen-dom0"},
	{"/sys/class/dmi/id/bios_version", "amazon", "aws-xen"},
	/* Azure gives this number to the chassis of all its machines. */
	{"/sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "azure"},
	{"/sys/class/dmi/id/chassis_asset_tag", "OracleCloud.com", "oracle-cloud"},
	{"/sys/class/dmi/id/sys_vendor", "VMware", "vmware"},
	/* Firecracker marks its ACPI tables, which only root may read, and adds a parameter. */
	{"/sys/firmware/acpi/tables/FACP", "FIRECK", "firecracker"},
	{"/sys/firmware/acpi/tables/APIC", "FIRECK", "firecracker"},
	{"/proc/cmdline", "firecracker", "firecracker"},
	/* Its releases 1.8 to 1.15 have this device for generation IDs (vmgenid.rs). */
	{"/sys/bus/acpi/devices/FCVMGID:00", "", "firecracker"},
	{"/sys/class/dmi/id/sys_vendor", "Cloud Hypervisor", "cloud-hypervisor"}, /* smbios.rs */
};

#define SYS_VENDOR "/sys/class/dmi/id/sys_vendor"
#define PRODUCT_NAME "/sys/class/dmi/id/product_name"
#define ASSET_TAG "/sys/class/dmi/id/chassis_asset_tag"

/*
 * The names of clouds, which their machines without a hypervisor bear, too: those of
 * cloud-init's ds-identify (22.4 to 26.2) and of systemd's virt.c, and of others by their kernels'
 * "DMI: " lines. tests/lore/clouds.txt has each.
 */
static const struct mark clouds[] = {
	{SYS_VENDOR, "Amazon EC2", "aws-nitro"},
	{PRODUCT_NAME, "Google Compute Engine", "google"},
	{SYS_VENDOR, "Alibaba Cloud", "alibaba"},
	{PRODUCT_NAME, "Alibaba Cloud", "alibaba"},
	{SYS_VENDOR, "Hetzner", "hetzner"},
	{SYS_VENDOR, "DigitalOcean", "digitalocean"},
	{SYS_VENDOR, "Vultr", "vultr"},
	{SYS_VENDOR, "UpCloud", "upcloud"},
	{SYS_VENDOR, "NWCS", "nwcs"},
	{SYS_VENDOR, "Scaleway", "scaleway"},
	{SYS_VENDOR, "Akamai", "akamai"},
	{SYS_VENDOR, "Linode", "akamai"},
	{SYS_VENDOR, "e24cloud", "e24cloud"},
	{SYS_VENDOR, "Tencent Cloud", "tencent"},
	{SYS_VENDOR, "Tilaa", "tilaa"},
	{SYS_VENDOR, "Yandex", "yandex"},
	{SYS_VENDOR, "3DS Outscale", "outscale"},
	{PRODUCT_NAME, "CloudStack", "cloudstack"},
	{PRODUCT_NAME, "CloudCIX", "cloudcix"},
	{PRODUCT_NAME, "Exoscale", "exoscale"},
	{PRODUCT_NAME, "CloudSigma", "cloudsigma"},
	{PRODUCT_NAME, "SmartDC", "smartdc"},
	{ASSET_TAG, "OpenTelekomCloud", "open-telekom-cloud"},
	{ASSET_TAG, "HUAWEICLOUD", "huawei"},
	{ASSET_TAG, "SAP CCloud VM", "sap-ccloud"},
	{ASSET_TAG, "Samsung Cloud Platform", "samsung"},
	{ASSET_TAG, ".zstack.io", "zstack"},
	{PRODUCT_NAME, "OpenStack", "openstack"},
	{ASSET_TAG, "OpenStack", "openstack"},
};

const char *mark_find(const struct root *root, const struct mark *marks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (*marks[i].text ? root_contains(root, marks[i].path, marks[i].text)
				   : root_exists(root, marks[i].path))
			return marks[i].word;
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
	const char *word =
		is_dom0(root) ? "xen-dom0" : mark_find(root, platforms, ARRAY_SIZE(platforms));
	bool is_virtual = fact_is_known(&host->hypervisor.fact);
	bool has_names = root_exists(root, "/sys/class/dmi/id");

	if (!word)
		word = mark_find(root, clouds, ARRAY_SIZE(clouds));
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
