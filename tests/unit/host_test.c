/* SPDX-License-Identifier: MIT */
/*
 * collect/cpu, hypervisor, container, platform, process: who and where this host is. A wrong
 * word sends the user to the wrong provider; systemd-detect-virt's words are the contract.
 */
#include <string.h>

#include "collect/container.h"
#include "collect/cpu.h"
#include "collect/host.h"
#include "collect/hypervisor.h"
#include "collect/platform.h"
#include "collect/process.h"
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
		NULL, NULL, "bare-metal"},
	{"EC2 arm metal",
		{{DMI "sys_vendor", "Amazon EC2\n"}, {DMI "product_name", "c7g.metal-48xl\n"}},
		NULL, NULL, "bare-metal"},
	{"EC2 Xen",
		{{DMI "sys_vendor", "Xen\n"}, {DMI "product_name", "HVM domU\n"},
			{DMI "bios_version", "4.11.amazon\n"}, {"/sys/hypervisor/type", "xen\n"}},
		"xen", NULL, "aws-xen"},
	{"Xen PV without DMI", {{"/sys/hypervisor/type", "xen\n"}}, "xen", NULL, NULL},
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
		"kvm", NULL, NULL},
	{"Alibaba",
		{{DMI "sys_vendor", "Alibaba Cloud\n"},
			{DMI "product_name", "Alibaba Cloud ECS\n"}},
		"kvm", NULL, "alibaba"},
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
		NULL},
	{"docker", {{"/.dockerenv", ""}}, NULL, "docker", NULL},
	{"podman", {{"/run/.containerenv", "engine=\"podman\"\n"}}, NULL, "podman", NULL},
	{"nspawn", {{"/run/systemd/container", "systemd-nspawn\n"}}, NULL, "systemd-nspawn", NULL},
	{"its manager's word first", {{"/run/systemd/container", "lxc\n"}, {"/.dockerenv", ""}},
		NULL, "lxc", NULL},
	{"an empty word is none", {{"/run/systemd/container", "\n"}}, NULL, NULL, NULL},
	{"kubernetes", {{"/proc/1/cgroup", "0::/kubepods/besteffort/pod1\n"}}, NULL,
		"container-other", NULL},
	{"docker by cgroup", {{"/proc/1/cgroup", "12:pids:/docker/0123\n"}}, NULL, "docker", NULL},
	{"no container", {{"/proc/1/cgroup", "0::/init.scope\n"}}, NULL, NULL, NULL},
	{"WSL 1", {{OSRELEASE, "4.4.0-19041-Microsoft\n"}}, NULL, "wsl", "wsl1"},
	{"WSL 2", {{OSRELEASE, "5.15.90.1-microsoft-standard-WSL2\n"}}, NULL, "wsl", "wsl2"},
	{"gVisor", {{OSRELEASE, "4.19.0-gvisor\n"}}, NULL, NULL, "gvisor"},
	{"Qubes", {{"/usr/share/qubes/marker-vm", ""}}, NULL, NULL, "qubes"},
	{"nothing", {{NULL, NULL}}, NULL, NULL, NULL},
};

static void assert_word(const struct text_fact *fact, const char *wanted)
{
	if (!wanted) {
		assert_int_equal(fact->fact.state, FACT_ABSENT);
		assert_true(*fact->fact.reason);
		return;
	}
	assert_true(fact_is_known(&fact->fact));
	assert_string_equal(fact->value, wanted);
}

static void has_its_words(void **state)
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

static void a_nameless_cpu_is_called_by_its_machine(void **state)
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

static void without_cpuinfo_nothing_is_claimed(void **state)
{
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	cpu_collect(&fake->root, &host);
	assert_int_equal(host.cpu.fact.state, FACT_ABSENT);
	assert_int_equal(host.invariant_tsc.fact.state, FACT_ABSENT);
}

static void a_captured_tree_has_no_process_of_ours(void **state)
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
static void our_tracer_and_filter_are_seen(void **state)
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

static void on_this_host_everything_is_known_or_has_a_reason(void **state)
{
	struct host_evidence host = {0};
	struct root root;
	struct fact why = {0};
	const struct fact *facts[] = {&host.kernel.fact, &host.kernel_build.fact, &host.arch.fact,
		&host.cpu.fact, &host.hypervisor.fact, &host.container.fact, &host.platform.fact,
		&host.libc.fact, &host.libc_static.fact, &host.boot.fact, &host.invariant_tsc.fact,
		&host.counter_off.fact, &host.tracer.fact, &host.seccomp.fact};

	(void)state;
	assert_true(root_open(&root, "/", &why));
	host_collect(&root, &host);
	root_close(&root);
	assert_true(fact_is_known(&host.kernel.fact) && fact_is_known(&host.arch.fact));
	for (size_t i = 0; i < COUNT(facts); i++) {
		assert_int_not_equal(facts[i]->state, FACT_UNREAD);
		assert_int_equal(fact_is_known(facts[i]), !*facts[i]->reason);
	}
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest plain[] = {
		IN_TREE(cpus_of_every_kind_have_their_names),
		IN_TREE(a_nameless_cpu_is_called_by_its_machine),
		IN_TREE(a_huge_cpuinfo_is_read_from_its_head),
		IN_TREE(without_cpuinfo_nothing_is_claimed),
		IN_TREE(a_captured_tree_has_no_process_of_ours),
		IN_TREE(our_tracer_and_filter_are_seen),
		cmocka_unit_test(on_this_host_everything_is_known_or_has_a_reason),
	};
	struct CMUnitTest tests[COUNT(machines)] = {0};

	for (size_t i = 0; i < COUNT(machines); i++)
		tests[i] = (struct CMUnitTest){.name = machines[i].name,
			.test_func = has_its_words,
			.initial_state = (void *)(uintptr_t)&machines[i]};
	return cmocka_run_group_tests_name("hosts by their files", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("host", plain, NULL, NULL);
}
