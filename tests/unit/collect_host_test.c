/* SPDX-License-Identifier: MIT */
/*
 * Tests of collect/cpu, hypervisor, container, platform and process: what the machine is and what
 * this process runs in, by the words of systemd-detect-virt.
 */
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "collect/parts.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

struct file {
	const char *path;
	const char *text;
};

#define FILES_MAX 4
#define DMI "/sys/class/dmi/id/"
#define OSRELEASE "/proc/sys/kernel/osrelease"

/* A host as its files show it; NULL: that fact is absent. */
static const struct machine {
	const char *name;
	struct file files[FILES_MAX];
	const char *hypervisor;
	const char *container;
	const char *platform;
} machines[] = {
	{"bare metal",
		{{DMI "sys_vendor", "Dell Inc.\n"}, {DMI "product_name", "PowerEdge R740\n"}}, NULL,
		NULL, "bare-metal"},
	{"EC2 Nitro", {{DMI "sys_vendor", "Amazon EC2\n"}, {DMI "product_name", "m5.large\n"}},
		"amazon", NULL, "aws-nitro"},
	{"EC2 metal", {{DMI "sys_vendor", "Amazon EC2\n"}, {DMI "product_name", "m5.metal\n"}},
		NULL, NULL, "aws-nitro"},
	{"EC2 arm metal",
		{{DMI "sys_vendor", "Amazon EC2\n"}, {DMI "product_name", "c7g.metal-48xl\n"}},
		NULL, NULL, "aws-nitro"},
	/* CPUID's hypervisor bit is not there: the machine is bare, and the cloud's. */
	{"Google metal",
		{{DMI "sys_vendor", "Google\n"}, {DMI "product_name", "Google Compute Engine\n"},
			{"/proc/cpuinfo", "flags\t\t: fpu tsc constant_tsc nonstop_tsc\n"}},
		NULL, NULL, "google"},
	{"Google guest",
		{{DMI "sys_vendor", "Google\n"}, {DMI "product_name", "Google Compute Engine\n"},
			{"/proc/cpuinfo", "flags\t\t: fpu tsc hypervisor\n"}},
		"google", NULL, "google"},
	{"Alibaba metal",
		{{DMI "sys_vendor", "Alibaba Cloud\n"}, {DMI "product_name", "Alibaba Cloud ECS\n"},
			{"/proc/cpuinfo", "flags\t\t: fpu tsc\n"}},
		NULL, NULL, "alibaba"},
	/* c4a-highmem-96-metal: no flags, and a kernel that was started at EL2. */
	{"Google metal on arm64",
		{{DMI "sys_vendor", "Google\n"}, {DMI "product_name", "Google Compute Engine\n"},
			{"/proc/cpuinfo", "CPU implementer\t: 0x41\n"},
			{"/sys/class/misc/kvm/dev", "10:232\n"}},
		NULL, NULL, "google"},
	{"Google guest on arm64",
		{{DMI "sys_vendor", "Google\n"}, {DMI "product_name", "Google Compute Engine\n"},
			{"/proc/cpuinfo", "CPU implementer\t: 0x41\n"}},
		"google", NULL, "google"},
	{"Google guest that nests, with no flags captured",
		{{DMI "sys_vendor", "Google\n"}, {DMI "product_name", "Google Compute Engine\n"},
			{"/sys/class/misc/kvm/dev", "10:232\n"}},
		"google", NULL, "google"},
	{"a vendor without a name here, by CPUID's bit",
		{{DMI "sys_vendor", "Acme Cloud\n"}, {DMI "product_name", "CVM\n"},
			{"/proc/cpuinfo", "flags\t\t: fpu tsc hypervisor\n"}},
		"vm-other", NULL, NULL},
	{"User-Mode Linux",
		{{"/proc/cpuinfo", "processor\t: 0\nvendor_id\t: User Mode Linux\n"
				   "model name\t: UML\n"}},
		"uml", NULL, NULL},
	{"Cloud Hypervisor",
		{{DMI "sys_vendor", "Cloud Hypervisor\n"},
			{"/proc/cpuinfo", "flags\t\t: fpu tsc hypervisor\n"}},
		"vm-other", NULL, "cloud-hypervisor"},
	{"Firecracker by its device for generation IDs",
		{{"/sys/bus/acpi/devices/FCVMGID:00/hid", "FCVMGID\n"}}, NULL, NULL, "firecracker"},
	{"EC2 metal of an unknown name",
		{{DMI "sys_vendor", "Amazon EC2\n"}, {DMI "product_name", "u-6tb1\n"},
			{"/proc/cpuinfo", "flags\t\t: fpu tsc\n"}},
		NULL, NULL, "aws-nitro"},
	/* A guest may hide the bit; no cloud does. */
	{"QEMU without the bit",
		{{DMI "sys_vendor", "QEMU\n"}, {"/proc/cpuinfo", "flags\t\t: fpu tsc\n"}}, "qemu",
		NULL, NULL},
	{"EC2 Xen by UUID",
		{{"/sys/hypervisor/type", "xen\n"},
			{"/sys/hypervisor/uuid", "ec2e1916-9099-7caf-fd21-012345abcdef\n"}},
		"xen", NULL, "aws-xen"},
	{"EC2 Xen by UUID, little endian",
		{{"/sys/hypervisor/type", "xen\n"},
			{"/sys/hypervisor/uuid", "45E12AEC-DCD1-B213-94ED-012345ABCDEF\n"}},
		"xen", NULL, "aws-xen"},
	{"Xen with ec2 further on in its UUID",
		{{"/sys/hypervisor/type", "xen\n"},
			{"/sys/hypervisor/uuid", "1916aec2-9099-7caf-ec21-0123ec2bcdef\n"}},
		"xen", NULL, NULL},
	{"EC2 Xen",
		{{DMI "sys_vendor", "Xen\n"}, {DMI "product_name", "HVM domU\n"},
			{DMI "bios_version", "4.11.amazon\n"}, {"/sys/hypervisor/type", "xen\n"}},
		"xen", NULL, "aws-xen"},
	{"Xen PV without DMI", {{"/sys/hypervisor/type", "xen\n"}}, "xen", NULL, NULL},
	{"Xen's dom0",
		{{"/sys/hypervisor/type", "xen\n"}, {"/proc/xen/capabilities", "control_d\n"},
			{DMI "sys_vendor", "Dell Inc.\n"}},
		"xen", NULL, "xen-dom0"},
	{"Xen's dom0 without /proc/xen",
		{{"/sys/hypervisor/type", "xen\n"},
			{"/sys/hypervisor/properties/features", "000029fe\n"}},
		"xen", NULL, "xen-dom0"},
	{"a Xen guest with features",
		{{"/sys/hypervisor/type", "xen\n"},
			{"/sys/hypervisor/properties/features", "00002705\n"}},
		"xen", NULL, NULL},
	{"Hyper-V",
		{{DMI "sys_vendor", "Microsoft Corporation\n"},
			{DMI "product_name", "Virtual Machine\n"}},
		"microsoft", NULL, NULL},
	{"Azure",
		{{DMI "sys_vendor", "Microsoft Corporation\n"},
			{DMI "product_name", "Virtual Machine\n"},
			{DMI "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n"}},
		"microsoft", NULL, "azure"},
	/* Microsoft builds laptops too. */
	{"Surface",
		{{DMI "sys_vendor", "Microsoft Corporation\n"},
			{DMI "product_name", "Surface Book 3\n"}},
		NULL, NULL, "bare-metal"},
	{"Google",
		{{DMI "sys_vendor", "Google\n"}, {DMI "product_name", "Google Compute Engine\n"}},
		"google", NULL, "google"},
	{"VMware", {{DMI "sys_vendor", "VMware, Inc.\n"}, {DMI "product_name", "VMware7,1\n"}},
		"vmware", NULL, "vmware"},
	{"VirtualBox", {{DMI "sys_vendor", "innotek GmbH\n"}, {DMI "product_name", "VirtualBox\n"}},
		"oracle", NULL, NULL},
	{"QEMU",
		{{DMI "sys_vendor", "QEMU\n"},
			{DMI "product_name", "Standard PC (Q35 + ICH9, 2009)\n"}},
		"qemu", NULL, NULL},
	{"OpenStack",
		{{DMI "sys_vendor", "OpenStack Foundation\n"},
			{DMI "product_name", "OpenStack Nova\n"}},
		"kvm", NULL, "openstack"},
	{"Alibaba",
		{{DMI "sys_vendor", "Alibaba Cloud\n"},
			{DMI "product_name", "Alibaba Cloud ECS\n"}},
		"kvm", NULL, "alibaba"},
	{"KVM by an sosreport's lscpu",
		{{"/sos_commands/processor/lscpu",
			 "Model name:          AMD EPYC\nHypervisor vendor:   KVM\n"},
			{"/proc/cpuinfo", "flags\t\t: fpu tsc hypervisor\n"}},
		"kvm", NULL, NULL},
	{"unknown vendor in an sosreport's lscpu",
		{{"/sos_commands/processor/lscpu", "Hypervisor vendor: Other\n"},
			{"/proc/cpuinfo", "flags\t\t: fpu tsc hypervisor\n"}},
		"vm-other", NULL, NULL},
	{"arm64 KVM by device tree", {{"/proc/device-tree/hypervisor/compatible", "linux,kvm"}},
		"kvm", NULL, NULL},
	{"arm64 QEMU by device tree", {{"/proc/device-tree/fw-cfg@9020000/x", ""}}, "qemu", NULL,
		NULL},
	{"arm64 bare metal", {{"/proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4"}}, NULL,
		NULL, NULL},
	{"s390 z/VM",
		{{"/proc/sysinfo", "Manufacturer: IBM\nVM00 Control Program: z/VM    6.4.0\n"}},
		"zvm", NULL, NULL},
	{"s390 KVM", {{"/proc/sysinfo", "Manufacturer: IBM\nVM00 Control Program: KVM/Linux\n"}},
		"kvm", NULL, NULL},
	{"s390 LPAR", {{"/proc/sysinfo", "Manufacturer: IBM\nLPAR Name: PROD1\n"}}, NULL, NULL,
		"lpar"},
	{"docker", {{"/.dockerenv", ""}}, NULL, "docker", NULL},
	{"podman", {{"/run/.containerenv", "engine=\"podman\"\n"}}, NULL, "podman", NULL},
	{"nspawn", {{"/run/systemd/container", "systemd-nspawn\n"}}, NULL, "systemd-nspawn", NULL},
	{"nspawn without systemd inside", {{"/run/host/container-manager", "systemd-nspawn\n"}},
		NULL, "systemd-nspawn", NULL},
	{"a manager of an unknown name", {{"/run/systemd/container", "crate\n"}}, NULL,
		"container-other", NULL},
	{"its manager's word first", {{"/run/systemd/container", "lxc\n"}, {"/.dockerenv", ""}},
		NULL, "lxc", NULL},
	{"an empty word is none", {{"/run/systemd/container", "\n"}}, NULL, NULL, NULL},
	{"kubernetes", {{"/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n"}}, NULL,
		"container-other", NULL},
	{"docker by cgroup", {{"/proc/1/cgroup", "12:pids:/docker/0123\n"}}, NULL, "docker", NULL},
	{"no container", {{"/proc/1/cgroup", "0::/init.scope\n"}}, NULL, NULL, NULL},
	{"WSL 1", {{OSRELEASE, "4.4.0-19041-Microsoft\n"}}, NULL, "wsl", "wsl1"},
	{"WSL 2", {{OSRELEASE, "5.15.90.1-microsoft-standard-WSL2\n"}}, "microsoft", "wsl", "wsl2"},
	{"early WSL 2", {{OSRELEASE, "4.19.128-microsoft-standard\n"}}, "microsoft", "wsl", "wsl2"},
	{"gVisor", {{OSRELEASE, "4.19.0-gvisor\n"}}, NULL, NULL, "gvisor"},
	{"Qubes", {{"/usr/share/qubes/marker-vm", ""}}, NULL, NULL, "qubes"},
	{"nothing", {{NULL, NULL}}, NULL, NULL, NULL},
};

static void assert_word(const struct text_fact *fact, const char *wanted)
{
	if (!wanted) {
		assert_false(fact_is_known(&fact->fact));
		assert_true(*fact->fact.reason);
		return;
	}
	assert_true(fact_is_known(&fact->fact));
	assert_string_equal(fact->value, wanted);
}

static void the_host_is_described(void **state)
{
	const struct machine *machine = *state;
	struct host_evidence host = {0};
	struct fake_root *fake;
	void *fixture = NULL;

	assert_int_equal(fake_root_setup(&fixture), 0);
	fake = fixture;
	for (size_t i = 0; i < FILES_MAX && machine->files[i].path; i++)
		fake_root_add(fake, machine->files[i].path, machine->files[i].text);
	hypervisor_collect(&fake->root, &host.hypervisor);
	container_collect(&fake->root, &host.container);
	platform_collect(&fake->root, &host);
	fake_root_teardown(&fixture);
	assert_word(&host.hypervisor, machine->hypervisor);
	assert_word(&host.container, machine->container);
	assert_word(&host.platform, machine->platform);
}

/* Files that are not there do not show a machine. */
static void what_shows_no_hypervisor_is_told_from_nothing(void **state)
{
	static const struct {
		const char *path, *text;
		enum fact_state wanted;
	} rows[] = {
		{"/proc/cpuinfo", "", FACT_UNREAD},
		{"/proc/cpuinfo", "flags\t\t: fpu tsc\n", FACT_ABSENT},
		{"/proc/cpuinfo", "flags\t\t: fpu tsc hypervisor\n", FACT_KNOWN},
		{"/proc/cmdline", "quiet", FACT_UNREAD},
		{DMI "sys_vendor", "Dell Inc.\n", FACT_ABSENT},
		{"/proc/device-tree/compatible", "raspberrypi,4-model-b", FACT_ABSENT},
		{"/proc/sysinfo", "LPAR Name: PROD1", FACT_ABSENT},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct text_fact hypervisor = {0};
		const struct fake_root *fake;
		void *tree;

		assert_int_equal(fake_root_setup(&tree), 0);
		fake = tree;
		fake_root_add(fake, rows[i].path, rows[i].text);
		hypervisor_collect(&fake->root, &hypervisor);
		assert_int_equal(hypervisor.fact.state, rows[i].wanted);
		assert_int_equal(fake_root_teardown(&tree), 0);
	}
}

static const struct {
	const char *cpuinfo;
	const char *name; /* NULL: absent */
	enum fact_state invariant_state;
	bool invariant;
} cpus[] = {
	{"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel name\t: Intel(R) Xeon(R) "
	 "CPU E5-2676 v3 @ 2.40GHz\ncpu MHz\t\t: 2400.0\nflags\t\t: fpu tsc constant_tsc "
	 "nonstop_tsc\n",
		"Intel(R) Xeon(R) CPU E5-2676 v3 @ 2.40GHz", FACT_KNOWN, true},
	/* As QEMU shows it without +invtsc. */
	{"model name\t: QEMU Virtual CPU\nflags\t\t: fpu tsc constant_tsc\n", "QEMU Virtual CPU",
		FACT_KNOWN, false},
	/* Whole words: these are other flags. */
	{"model name\t: x\nflags\t\t: constant_tsc_x xnonstop_tsc\n", "x", FACT_KNOWN, false},
	{"CPU implementer\t: 0x6d\nCPU part\t: 0xd49\n", "Azure Cobalt 100", FACT_ABSENT, false},
	{"CPU implementer\t: 0x41\nCPU part\t: 0xd84\n", "ARM Neoverse-V3", FACT_ABSENT, false},
	{"CPU implementer\t: 0x41\nCPU part\t: 0xd8e\n", "ARM Neoverse-N3", FACT_ABSENT, false},
	{"processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
		"ARM Neoverse-N1", FACT_ABSENT, false},
	{"CPU implementer\t: 0x99\nCPU part\t: 0x123\n", "ARM implementer 0x99 part 0x123",
		FACT_ABSENT, false},
	{"CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", "ARM Neoverse-V2", FACT_ABSENT, false},
	{"processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\nclock\t\t: 2300.0MHz\n",
		"POWER9 (architected), altivec supported", FACT_ABSENT, false},
	{"processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n",
		"sifive,u74-mc", FACT_ABSENT, false},
	{"vendor_id       : IBM/S390\n# processors    : 2\n", "IBM/S390", FACT_ABSENT, false},
	{"system type\t\t: MIPS Malta\ncpu model\t\t: MIPS 24Kc V0.0  FPU V0.0\n",
		"MIPS 24Kc V0.0  FPU V0.0", FACT_ABSENT, false},
	{"system type : generic\nModel Name\t: Loongson-3A5000\n", "Loongson-3A5000", FACT_ABSENT,
		false},
	{"processor\t: 0\n", NULL, FACT_ABSENT, false},
};

static void cpus_of_every_kind_have_their_names(void **state)
{
	struct fake_root *fake = *state;

	for (size_t i = 0; i < COUNT(cpus); i++) {
		struct host_evidence host = {0};

		fake_root_add(fake, "/proc/cpuinfo", cpus[i].cpuinfo);
		cpu_collect(&fake->root, &host);
		assert_word(&host.cpu, cpus[i].name);
		assert_int_equal(host.invariant_tsc.fact.state, cpus[i].invariant_state);
		assert_int_equal(host.invariant_tsc.value, cpus[i].invariant);
	}
}

/* Only what the kernel says of its TSC, in an order of ours. */
static void the_kernels_tsc_flags_are_kept(void **state)
{
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	fake_root_add(fake, "/proc/cpuinfo",
		"model name\t: x\nflags\t\t: tsc_adjust fpu tsc constant_tsc tsc_known_freq "
		"tsc_deadline_timer\n");
	cpu_collect(&fake->root, &host);
	assert_word(&host.tsc_flags, "constant_tsc tsc_known_freq tsc_adjust");
	fake_root_add(fake, "/proc/cpuinfo", "Features\t: fp asimd\n");
	cpu_collect(&fake->root, &host);
	assert_word(&host.tsc_flags, NULL);
	assert_int_equal(host.kvm_clock_offered.fact.state, FACT_ABSENT);
	assert_int_equal(host.xen_tsc_mode.fact.state, FACT_ABSENT);
}

/* Errata and microcode go by these numbers; "model name" is not "model". */
static void model_and_number_of_the_cpus_are_read(void **state)
{
	static const struct {
		const char *online;
		int64_t count; /* 0: no list of CPUs */
	} rows[] = {{"0\n", 1}, {"0-3\n", 4}, {"0-3,8,10-11\n", 7}, {"\n", 0}, {"0-\n", 0},
		{"3-0\n", 0}, {"0-3,x\n", 0}, {"0-99999999999\n", 0}};
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	fake_root_add(fake, "/proc/cpuinfo",
		"model name\t: x\ncpu family\t: 6\nmodel\t\t: 106\nstepping\t: 7\n"
		"microcode\t: 0xd0003a5\nflags\t\t: tsc\n");
	for (size_t i = 0; i < COUNT(rows); i++) {
		host = (struct host_evidence){0};
		fake_root_add(fake, "/sys/devices/system/cpu/online", rows[i].online);
		cpu_collect(&fake->root, &host);
		assert_int_equal(fact_is_known(&host.cpu_count.fact), rows[i].count > 0);
		assert_int_equal(host.cpu_count.value, rows[i].count);
	}
	assert_word(&host.cpu_model, "family 6, model 106, stepping 7, microcode 0xd0003a5");
}

/* Debian's tools are installed on a Raspberry Pi and on Proxmox, too; BOOT_IMAGE= is GRUB's mark.
 */
static void the_tool_that_keeps_the_command_line_is_known(void **state)
{
	static const struct {
		const char *cmdline;
		struct file files[2];
		const char *tool;
	} rows[] = {
		{"BOOT_IMAGE=/boot/vmlinuz-6.1 root=/dev/vda1", {{"/usr/sbin/update-grub", ""}},
			"update-grub"},
		{"root=LABEL=/ console=ttyS0", {{"/sbin/grubby", ""}}, "grubby"},
		{"BOOT_IMAGE=(hd0,gpt2)/vmlinuz-5.14 ro",
			{{"/usr/sbin/grubby", ""}, {"/etc/kernel/cmdline", "ro"}}, "grubby"},
		{"BOOT_IMAGE=/boot/vmlinuz-6.4.0-default", {{"/usr/sbin/grub2-mkconfig", ""}},
			"grub2-mkconfig"},
		{"initrd=\\EFI\\proxmox\\6.8.12-4-pve\\initrd.img root=ZFS=rpool/ROOT/pve-1",
			{{"/etc/kernel/proxmox-boot-uuids", "A1B2"}, {"/usr/sbin/update-grub", ""}},
			"proxmox-boot-tool"},
		{"BOOT_IMAGE=/vmlinuz-6.8.12-4-pve root=ZFS=/ROOT/pve-1",
			{{"/etc/kernel/proxmox-boot-uuids", "A1B2"}, {"/usr/sbin/update-grub", ""}},
			"update-grub"},
		{"coherent_pool=1M console=tty1", {{"/boot/firmware/cmdline.txt", "console=tty1"}},
			"cmdline.txt"},
		{"initrd=\\fedora\\initrd ro", {{"/etc/kernel/cmdline", "ro"}}, "kernel-install"},
		{"BOOT_IMAGE=/vmlinuz", {{"/run/.containerenv", ""}, {"/usr/sbin/update-grub", ""}},
			NULL},
		{"console=ttyS0", {{"/etc/fstab", ""}}, NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct host_evidence host = {0};
		struct fake_root *fake;

		fake_root_setup(state);
		fake = *state;
		fake_root_add(fake, "/proc/cmdline", rows[i].cmdline);
		for (size_t k = 0; k < 2 && rows[i].files[k].path; k++)
			fake_root_add(fake, rows[i].files[k].path, rows[i].files[k].text);
		host_collect(&fake->root, &host);
		assert_word(&host.boot_tool, rows[i].tool);
		fake_root_teardown(state);
	}
}

/* An instance's names are read where the platform is known to keep them there. */
static void an_instance_is_named_on_its_own_platform_alone(void **state)
{
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	fake_root_add(fake, "/sys/class/dmi/id/product_name", "m5.large\n");
	fake_root_add(fake, "/sys/class/dmi/id/board_asset_tag", "i-0123456789abcdef0\n");
	fake_root_add(fake, "/sys/hypervisor/uuid", "ec2e1916-9099-7caf-fd21-012345abcdef\n");
	host_collect_identity(&fake->root, &host);
	assert_word(&host.instance_type, NULL);
	assert_word(&host.instance_id, NULL);
	fact_set_text(&host.platform, "aws-nitro");
	host_collect_identity(&fake->root, &host);
	assert_word(&host.instance_type, "m5.large");
	assert_word(&host.instance_id, "i-0123456789abcdef0");
	fact_set_text(&host.platform, "aws-xen");
	fact_set_text(&host.hypervisor, "xen");
	host_collect_identity(&fake->root, &host);
	assert_word(&host.instance_type, NULL);
	assert_word(&host.instance_id, "ec2e1916-9099-7caf-fd21-012345abcdef");
}

/* cloud-init's file is a document of another program: what does not fit is no region. */
static void the_region_is_the_one_that_cloud_init_was_told(void **state)
{
	static const struct {
		const char *data, *region, *reason;
	} rows[] = {
		{"{\"v1\": {\"region\": \"us-east-2\", \"cloud_id\": \"aws\"}}", "us-east-2", ""},
		{"{\"v1\": {\"region\": null}}", NULL, "no region"},
		{"{\"v1\": {\"region\": \"\"}}", NULL, "no region"},
		{"{\"v1\": {\"region\": 7}}", NULL, "no region"},
		{"{\"v1\": [\"region\"], \"region\": \"x\"}", NULL, "no region"},
		{"{\"v1\": {\"region\": \"a\", \"region\": \"b\"}}", NULL, "not JSON"},
		{"{\"v1\": {\"region\": \"us-ea", NULL, "not JSON"}, {"", NULL, "not JSON"}};
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	host_collect_identity(&fake->root, &host);
	assert_int_equal(host.region.fact.state, FACT_ABSENT);
	for (size_t i = 0; i < COUNT(rows); i++) {
		host = (struct host_evidence){0};
		fake_root_add(fake, "/run/cloud-init/instance-data.json", rows[i].data);
		host_collect_identity(&fake->root, &host);
		assert_int_equal(fact_is_known(&host.region.fact), rows[i].region != NULL);
		assert_string_equal(host.region.value, rows[i].region ? rows[i].region : "");
		assert_non_null(strstr(host.region.fact.reason, rows[i].reason));
	}
}

/* A file of any size is read in bounded memory. */
static void a_large_file_of_cloud_init_is_refused(void **state)
{
	static char large[1024 * 1024 + 64];
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	snprintf(large, sizeof(large), "{\"v1\": {\"region\": \"us-east-2\"}}%*s", 1024 * 1024, "");
	fake_root_add(fake, "/run/cloud-init/instance-data.json", large);
	host_collect_identity(&fake->root, &host);
	assert_int_equal(host.region.fact.state, FACT_FAILED);
}

/* The leaves of one fake CPU: a signature at each base, and what its own leaves answer. */
static struct {
	const char *signatures[3];
	uint32_t leaf, eax, ebx;
} fake_cpuid;

static void read_fake_leaf(uint32_t leaf, uint32_t registers[4])
{
	uint32_t base = (leaf - 0x40000000) / 0x100;

	memset(registers, 0, 4 * sizeof(*registers));
	if (base < COUNT(fake_cpuid.signatures) && fake_cpuid.signatures[base] && !(leaf & 0xff))
		memcpy(&registers[1], fake_cpuid.signatures[base], 12);
	if (leaf == fake_cpuid.leaf) {
		registers[0] = fake_cpuid.eax;
		registers[1] = fake_cpuid.ebx;
	}
}

static struct cpuid_answer ask_fake(
	const char *first, const char *second, uint32_t leaf, uint32_t eax, uint32_t ebx)
{
	struct cpuid_answer answer = {0};

	fake_cpuid.signatures[0] = first;
	fake_cpuid.signatures[1] = second;
	fake_cpuid.leaf = leaf;
	fake_cpuid.eax = eax;
	fake_cpuid.ebx = ebx;
	cpuid_read_hypervisor(&answer, read_fake_leaf);
	return answer;
}

/* The kernel shows the bit of CPUID as a flag of its CPUs. */
static void this_hosts_leaves_are_read_where_it_is_a_guest(void **state)
{
	struct cpuid_answer answer;
	struct root root;
	struct fact why = {0};
	char head[8192];
	struct span cpuinfo = {0};

	(void)state;
	assert_true(root_open(&root, "/", &why));
	if (!cpuid_ask(&answer) ||
		!root_read_head(&root, "/proc/cpuinfo", head, sizeof(head), &cpuinfo, &why))
		unit_skip("CPUID or /proc/cpuinfo cannot be read here");
	assert_int_equal(answer.hypervisor != NULL, text_contains(cpuinfo, " hypervisor "));
	root_close(&root);
}

/* A guest's flags of a clock are each a bit of its own hypervisor's leaf, and no other's. */
static void the_leaves_of_a_hypervisor_are_read_by_their_bits(void **state)
{
	static const struct {
		const char *hypervisor;
		uint32_t kvm, xen;
		enum fact_state kvm_known, xen_known;
		bool offered, stable, emulated, reliable;
	} rows[] = {
		{"kvm", 0, 0, FACT_KNOWN, FACT_ABSENT, false, false, false, false},
		{"kvm", 1, 3, FACT_KNOWN, FACT_ABSENT, true, false, false, false},
		{"kvm", 1 << 3, 0, FACT_KNOWN, FACT_ABSENT, true, false, false, false},
		{"kvm", 1 << 24 | 1, 0, FACT_KNOWN, FACT_ABSENT, true, true, false, false},
		{"xen", 1 << 24 | 1, 0, FACT_ABSENT, FACT_KNOWN, false, false, false, false},
		{"xen", 0, 1, FACT_ABSENT, FACT_KNOWN, false, false, true, false},
		{"xen", 0, 2, FACT_ABSENT, FACT_KNOWN, false, false, false, true},
		{"microsoft", 1, 3, FACT_ABSENT, FACT_ABSENT, false, false, false, false},
		{NULL, 1, 3, FACT_ABSENT, FACT_ABSENT, false, false, false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct host_evidence host = {.cpu = {.value = ""}};
		const struct cpuid_answer answer = {.brand = "x",
			.hypervisor = rows[i].hypervisor,
			.kvm_features = rows[i].kvm,
			.xen_tsc = {rows[i].xen, 2}};

		cpu_take_answer(&host, &answer);
		assert_int_equal(host.kvm_clock_offered.fact.state, rows[i].kvm_known);
		assert_int_equal(host.xen_tsc_reliable.fact.state, rows[i].xen_known);
		assert_int_equal(host.kvm_clock_offered.value, rows[i].offered);
		assert_int_equal(host.kvm_clock_stable.value, rows[i].stable);
		assert_int_equal(host.xen_tsc_emulated.value, rows[i].emulated);
		assert_int_equal(host.xen_tsc_reliable.value, rows[i].reliable);
		if (rows[i].xen_known == FACT_KNOWN)
			assert_true(host.xen_tsc_mode.value > 1);
	}
}

static void a_hypervisor_that_imitates_hyperv_is_named_itself(void **state)
{
	struct cpuid_answer answer;

	(void)state;
	answer = ask_fake("Microsoft Hv", NULL, 0, 0, 0);
	assert_string_equal(answer.hypervisor, "microsoft");
	answer = ask_fake("Microsoft Hv", "KVMKVMKVM\0\0\0", 0x40000101, 0x1000008, 0);
	assert_string_equal(answer.hypervisor, "kvm");
	assert_int_equal(answer.kvm_features, 0x1000008);
	answer = ask_fake("Microsoft Hv", "XenVMMXenVMM", 0x40000103, 2, 2);
	assert_string_equal(answer.hypervisor, "xen");
	assert_int_equal(answer.xen_tsc[0], 2);
	assert_int_equal(answer.xen_tsc[1], 2);
	assert_int_equal(answer.kvm_features, 0);
	answer = ask_fake("KVMKVMKVM\0\0\0", NULL, 0x40000001, 1, 0);
	assert_string_equal(answer.hypervisor, "kvm");
	assert_int_equal(answer.kvm_features, 1);
	assert_string_equal(answer.version, "features 0x00000001");
	answer = ask_fake("Microsoft Hv", NULL, 0x40000002, 20348, 10 << 16);
	assert_string_equal(answer.version, "10.0.20348");
	answer = ask_fake("XenVMMXenVMM", NULL, 0x40000001, 4 << 16 | 17, 0);
	assert_string_equal(answer.version, "4.17");
	answer = ask_fake("UnknownToAll", NULL, 0, 0, 0);
	assert_string_equal(answer.hypervisor, "vm-other");
}

static void a_cpu_without_name_has_its_machine_s(void **state)
{
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	fake_root_add(fake, "/proc/cpuinfo", "processor\t: 0\n");
	fake_root_add_bytes(fake, "/proc/device-tree/model", "Raspberry Pi 4 Model B\0", 23);
	cpu_collect(&fake->root, &host);
	assert_string_equal(host.cpu.value, "Raspberry Pi 4 Model B");
}

/* cpuinfo of a machine with hundreds of CPUs does not fit: the first of them will do. */
static void a_huge_cpuinfo_is_read_from_its_head(void **state)
{
	static char text[200000];
	static const char processor[] = "model name\t: Big\nflags\t: constant_tsc nonstop_tsc\n\n";
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	for (size_t at = 0; at + sizeof(processor) < sizeof(text); at += sizeof(processor) - 1)
		memcpy(text + at, processor, sizeof(processor));
	fake_root_add(fake, "/proc/cpuinfo", text);
	cpu_collect(&fake->root, &host);
	assert_word(&host.cpu, "Big");
	assert_true(host.invariant_tsc.value);
}

static void without_cpuinfo_the_cpu_is_unknown(void **state)
{
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	cpu_collect(&fake->root, &host);
	assert_int_equal(host.cpu.fact.state, FACT_ABSENT);
	assert_int_equal(host.invariant_tsc.fact.state, FACT_ABSENT);
}

static void a_captured_tree_has_no_process(void **state)
{
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	fake_root_add(fake, "/proc/self/status", "TracerPid:\t7\nSeccomp:\t2\n");
	process_collect(&fake->root, &host);
	assert_int_equal(host.libc.fact.state, FACT_ABSENT);
	assert_int_equal(host.tracer.fact.state, FACT_ABSENT);
	assert_int_equal(host.seccomp.fact.state, FACT_ABSENT);
}

/* The files are a fake's, but the root says that they are this host's. */
static void the_tracer_and_the_filter_are_found(void **state)
{
	struct fake_root *fake = *state;
	struct root live = {.directory = fake->root.directory, .live = true};
	struct host_evidence host = {0};

	fake_root_add(fake, "/proc/self/status",
		"Name:\tx\nTracerPid:\t4711\nSeccomp:\t2\nSeccomp_filters:\t9\n");
	process_collect(&live, &host);
	assert_int_equal(host.tracer.value, 4711);
	assert_int_equal(host.seccomp.value, 2);
	assert_true(fact_is_known(&host.libc.fact));
	fake_root_add(fake, "/proc/self/status", "Name:\tx\nTracerPid:\t-\n");
	process_collect(&live, &host);
	assert_int_equal(host.tracer.fact.state, FACT_ABSENT);
	assert_int_equal(host.seccomp.fact.state, FACT_ABSENT);
}

static void valgrind_is_known_by_what_it_preloads(void **state)
{
	struct fake_root *fake = *state;
	struct root live = {.directory = fake->root.directory, .live = true};
	struct host_evidence host = {0};

	assert_int_equal(
		setenv("LD_PRELOAD", "/usr/libexec/valgrind/vgpreload_core-amd64.so", 1), 0);
	process_collect(&live, &host);
	unsetenv("LD_PRELOAD");
	assert_true(fact_is_known(&host.emulator.fact));
	assert_string_equal(host.emulator.value, "valgrind");
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest plain[] = {
		IN_TREE(cpus_of_every_kind_have_their_names),
		IN_TREE(the_kernels_tsc_flags_are_kept),
		IN_TREE(model_and_number_of_the_cpus_are_read),
		IN_TREE(an_instance_is_named_on_its_own_platform_alone),
		IN_TREE(the_region_is_the_one_that_cloud_init_was_told),
		IN_TREE(a_large_file_of_cloud_init_is_refused),
		cmocka_unit_test(what_shows_no_hypervisor_is_told_from_nothing),
		cmocka_unit_test(the_leaves_of_a_hypervisor_are_read_by_their_bits),
		cmocka_unit_test(this_hosts_leaves_are_read_where_it_is_a_guest),
		cmocka_unit_test(a_hypervisor_that_imitates_hyperv_is_named_itself),
		IN_TREE(a_cpu_without_name_has_its_machine_s),
		IN_TREE(a_huge_cpuinfo_is_read_from_its_head),
		IN_TREE(without_cpuinfo_the_cpu_is_unknown),
		IN_TREE(a_captured_tree_has_no_process),
		IN_TREE(the_tracer_and_the_filter_are_found),
		IN_TREE(valgrind_is_known_by_what_it_preloads),
		cmocka_unit_test(the_tool_that_keeps_the_command_line_is_known),
	};

	return unit_run_rows("the host is named by its files", the_host_is_described, machines) +
	       cmocka_run_group_tests_name("host", plain, NULL, NULL);
}
