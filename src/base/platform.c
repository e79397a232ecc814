/* SPDX-License-Identifier: MIT */
/*
 * The table of clouds, products and sandboxes. The names of clouds, which their machines without a
 * hypervisor bear, too, are those of cloud-init's ds-identify (22.4 to 26.2) and of systemd's
 * virt.c, and of others by their kernels' "DMI: " lines. tests/lore/clouds.txt has each.
 */
#include "base/platform.h"

#include <stddef.h>
#include <string.h>

#define DMI "/sys/class/dmi/id/"
#define RELEASE "/proc/sys/kernel/osrelease"
#define TABLES "/sys/firmware/acpi/tables/"

#define CLOUD(word, title, file, text) word, title, true, {{DMI file, text}}, NULL

#define AWS_MOVE                                                                                   \
	"aws ec2 stop-instances --instance-ids ID && "                                             \
	"aws ec2 wait instance-stopped --instance-ids ID && "                                      \
	"aws ec2 start-instances --instance-ids ID"

const struct platform platforms[] = {
	/* runsc reports this release, and older versions this fixed date. */
	{"gvisor", "gVisor", false,
		{{RELEASE, "gvisor"}, {"/proc/version", "Sun Jan 10 15:06:54 PST 2016"}}, NULL},
	/* WSL 2's kernels before 5.4 are "4.19.128-microsoft-standard". */
	{"wsl2", "WSL 2", false, {{RELEASE, "WSL2"}, {RELEASE, "-microsoft-standard"}}, NULL},
	{"wsl1", "WSL 1", false, {{RELEASE, "-Microsoft"}}, NULL},
	{"qubes", "Qubes OS", false, {{"/usr/share/qubes/marker-vm", ""}}, NULL},
	{"xen-dom0", "Xen's dom0", false, {{"/proc/xen/capabilities", "control_d"}}, NULL},
	{"aws-xen", "Amazon EC2", true, {{DMI "bios_version", "amazon"}}, AWS_MOVE},
	/* Azure gives this number to the chassis of all its machines. */
	{"azure", "Azure", true, {{DMI "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"}},
		"az vm redeploy --resource-group GROUP --name NAME"},
	{CLOUD("oracle-cloud", "Oracle Cloud", "chassis_asset_tag", "OracleCloud.com")},
	{"vmware", NULL, false, {{DMI "sys_vendor", "VMware"}}, NULL},
	/*
         * Firecracker marks its ACPI tables, which only root may read, and adds a parameter. Its
         * releases 1.8 to 1.15 have a device for generation IDs (vmgenid.rs).
         */
	{"firecracker", "Firecracker", false,
		{{TABLES "FACP", "FIRECK"}, {TABLES "APIC", "FIRECK"},
			{"/proc/cmdline", "firecracker"}, {"/sys/bus/acpi/devices/FCVMGID:00", ""}},
		NULL},
	{"cloud-hypervisor", "Cloud Hypervisor", false, {{DMI "sys_vendor", "Cloud Hypervisor"}},
		NULL}, /* smbios.rs */
	{"aws-nitro", "Amazon EC2", true, {{DMI "sys_vendor", "Amazon EC2"}}, AWS_MOVE},
	{"google", "Google Cloud", true, {{DMI "product_name", "Google Compute Engine"}},
		"gcloud compute instances stop NAME --discard-local-ssd=false && gcloud compute "
		"instances start NAME"},
	{"alibaba", "Alibaba Cloud", true,
		{{DMI "sys_vendor", "Alibaba Cloud"}, {DMI "product_name", "Alibaba Cloud"}}, NULL},
	{CLOUD("hetzner", "Hetzner", "sys_vendor", "Hetzner")},
	{CLOUD("digitalocean", "DigitalOcean", "sys_vendor", "DigitalOcean")},
	{CLOUD("vultr", "Vultr", "sys_vendor", "Vultr")},
	{CLOUD("upcloud", "UpCloud", "sys_vendor", "UpCloud")},
	{CLOUD("nwcs", "NWCS", "sys_vendor", "NWCS")},
	{CLOUD("scaleway", "Scaleway", "sys_vendor", "Scaleway")},
	{"akamai", "Akamai", true, {{DMI "sys_vendor", "Akamai"}, {DMI "sys_vendor", "Linode"}},
		NULL},
	{CLOUD("e24cloud", "e24cloud", "sys_vendor", "e24cloud")},
	{CLOUD("tencent", "Tencent Cloud", "sys_vendor", "Tencent Cloud")},
	{CLOUD("tilaa", "Tilaa", "sys_vendor", "Tilaa")},
	{CLOUD("yandex", "Yandex Cloud", "sys_vendor", "Yandex")},
	{CLOUD("outscale", "3DS Outscale", "sys_vendor", "3DS Outscale")},
	{CLOUD("cloudstack", "CloudStack", "product_name", "CloudStack")},
	{CLOUD("cloudcix", "CloudCIX", "product_name", "CloudCIX")},
	{CLOUD("exoscale", "Exoscale", "product_name", "Exoscale")},
	{CLOUD("cloudsigma", "CloudSigma", "product_name", "CloudSigma")},
	{CLOUD("smartdc", "SmartDC", "product_name", "SmartDC")},
	{CLOUD("open-telekom-cloud", "Open Telekom Cloud", "chassis_asset_tag",
		"OpenTelekomCloud")},
	{CLOUD("huawei", "Huawei Cloud", "chassis_asset_tag", "HUAWEICLOUD")},
	{CLOUD("sap-ccloud", "SAP Converged Cloud", "chassis_asset_tag", "SAP CCloud VM")},
	{CLOUD("samsung", "Samsung Cloud Platform", "chassis_asset_tag", "Samsung Cloud Platform")},
	{CLOUD("zstack", "ZStack", "chassis_asset_tag", ".zstack.io")},
	{"openstack", "OpenStack", true,
		{{DMI "product_name", "OpenStack"}, {DMI "chassis_asset_tag", "OpenStack"}}, NULL},
	/* They leave no such sign: see collect/platform.c. */
	{"microvm", "microVM", false, {{NULL, NULL}}, NULL},
	{"lpar", "LPAR of IBM Z", false, {{NULL, NULL}}, NULL},
	{NULL, NULL, false, {{NULL, NULL}}, NULL},
};

const struct platform *platform_find(const char *word)
{
	for (const struct platform *platform = platforms; platform->word; platform++) {
		if (strcmp(platform->word, word) == 0)
			return platform;
	}
	return NULL;
}
