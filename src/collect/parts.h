/* SPDX-License-Identifier: MIT */
/* The parts of collect/ that only its files and the tests know. */
#ifndef VDSOCHECK_COLLECT_PARTS_H
#define VDSOCHECK_COLLECT_PARTS_H

#include "base/text.h"
#include "collect.h"

/* Takes the trimmed content of a small file. */
void line_collect(const struct root *root, const char *path, struct text_fact *text);

/*
 * Fills host->kernel, kernel_build, arch, boot and distribution: from /proc and /etc, and from
 * uname(2) where the root is live and has no /proc.
 */
void kernel_collect(const struct root *root, struct host_evidence *host);

/*
 * Picks the parameters of a kernel command line that bear on the clock, in their order,
 * separated by blanks; empty if there are none. `picked` has room for `size` bytes.
 */
void kernel_pick_parameters(struct span line, char *picked, size_t size);

/*
 * Fills host->cpu and host->invariant_tsc: by CPUID (libcpuid) on a live x86 host, else from
 * /proc/cpuinfo and the device tree. Fills host->tsc_flags from /proc/cpuinfo, and what the
 * leaves of KVM and Xen say of their clocks (kvm_clock_*, xen_tsc_*) on a live host.
 */
void cpu_collect(const struct root *root, struct host_evidence *host);

/* A trace that a hypervisor, a platform or a container leaves in a file. */
struct mark {
	const char *path;
	const char *text; /* anywhere in the first 8 KiB; "" if its being there is enough */
	const char *word;
};

/* The word of the first mark that is found; NULL: none is. */
const char *mark_find(const struct root *root, const struct mark *marks, size_t count);

/*
 * Looks at the firmware's names (DMI), /sys/hypervisor, CPUID (live x86), the device tree and
 * s390's sysinfo. Absent: nothing points to one. Containers are not considered.
 */
void hypervisor_collect(const struct root *root, struct text_fact *hypervisor);

/*
 * Fills host->platform from DMI, ACPI, kernel strings and marker files; host->hypervisor is
 * filled before. One of: aws-xen, aws-nitro, azure, google, oracle-cloud, alibaba, vmware,
 * firecracker, cloud-hypervisor, microvm (KVM without firmware tables), qubes, wsl1, wsl2, gvisor,
 * bare-metal. Absent: none of them.
 */
void platform_collect(const struct root *root, struct host_evidence *host);

/* Adds the lines of a dmesg's text that concern clocksources, in 3.10's to 7.x's wording. */
void kernel_log_add_dmesg(struct kernel_log_evidence *log, struct span dmesg);

/* Adds one record of /dev/kmsg ("6,339,431995,-;text") if it concerns clocksources. */
void kernel_log_add_record(struct kernel_log_evidence *log, struct span record);

/* ---- cpuid.c: what the CPUID instruction says of an x86 CPU and of the hypervisor above it ----
 */

struct cpuid_answer {
	bool given; /* all that follows is known */
	char brand[FACT_TEXT_SIZE];
	bool invariant_tsc;  /* leaf 0x80000007, EDX bit 8 */
	bool hypervisor_bit; /* leaf 1, ECX bit 31 */
	/*
	 * systemd-detect-virt's word for the hypervisor's leaves; NULL: none shows itself. Of
	 * several (KVM and Xen imitate Hyper-V) it is the one that Linux takes: the highest.
	 */
	const char *hypervisor;
	char version[48];      /* of the hypervisor, or the features it has instead; may be "" */
	uint32_t kvm_features; /* EAX of leaf base + 1, under "kvm" */
	uint32_t xen_tsc[2];   /* EAX and EBX of leaf base + 3, under "xen"; else 0 */
};

/*
 * Asks the CPU we run on. False if it is not x86, has no CPUID, or does not allow processes to
 * use it (ARCH_CPUID faulting).
 */
bool cpuid_ask(struct cpuid_answer *answer);

/* Executes CPUID for a leaf, ECX 0: EAX, EBX, ECX, EDX. */
typedef void cpuid_leaf_reader(uint32_t leaf, uint32_t registers[4]);

/* Fills what the hypervisor's leaves say; there is one, by the hypervisor bit. */
void cpuid_take_hypervisor(struct cpuid_answer *answer, cpuid_leaf_reader *read);

#endif
