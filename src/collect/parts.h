/* SPDX-License-Identifier: MIT */
/* The parts of collect/ that only its files and the tests know. */
#ifndef VDSOCHECK_COLLECT_PARTS_H
#define VDSOCHECK_COLLECT_PARTS_H

#include "collect.h"

/* Fills host->kernel, kernel_build, arch, boot and distribution, by /proc, /etc and uname(2). */
void kernel_collect(const struct root *root, struct host_evidence *host);

/*
 * Picks the parameters of a kernel command line that bear on the clock, separated by blanks.
 * Returns false if one was left out, because it does not fit.
 */
bool kernel_pick_parameters(struct span line, char *picked, size_t size);

/*
 * Fills host->cpu and host->invariant_tsc: by CPUID (libcpuid) on a live x86 host, else from
 * /proc/cpuinfo and the device tree. Fills cpu_count, cpu_model and tsc_flags from files, and
 * hypervisor_version, kvm_clock_* and xen_tsc_* from the hypervisor's leaves.
 */
void cpu_collect(const struct root *root, struct host_evidence *host);

/* A trace that a boot loader or a container leaves in a file. */
struct mark {
	const char *path;
	const char *text; /* anywhere in the first 8 KiB; "" if its being there is enough */
	const char *word;
};

/* Returns the word of the first mark that is found, or NULL. */
const char *mark_find(const struct root *root, const struct mark *marks, size_t count);

/*
 * Finds systemd-detect-virt --vm's word. Absent: what was read would show a hypervisor, and shows
 * none. Unread: nothing that would show one was there.
 */
void hypervisor_collect(const struct root *root, struct text_fact *hypervisor);

/*
 * Finds the same in what stands behind "DMI: " in the kernel's log, vendor, product and board
 * (dmi_format_ids() of drivers/firmware/dmi_scan.c); NULL: it names none.
 */
const char *hypervisor_find_in_dmi_line(struct span names);

/* Takes from a line of the kernel's log what it says about the host, into log->hypervisor or boot.
 */
void log_host_take(struct kernel_log_evidence *log, struct span text);

/*
 * Fills host->platform from DMI, ACPI, kernel strings and marker files; host->hypervisor is
 * filled before. A word of base/platform.h, where microvm is KVM without firmware tables, or
 * bare-metal. Absent: none of them.
 */
void platform_collect(const struct root *root, struct host_evidence *host);

/* ---- log_line.c: the kernel's words in a line of a log ---- */

enum log_line_kind {
	LOG_LINE_KERNEL, /* the kernel's, by what stands before its words */
	LOG_LINE_OTHER,  /* another program's, by that */
	LOG_LINE_BARE,   /* nothing that is known stands before its words */
	LOG_LINE_REST,   /* it begins with a blank: the rest of the line before */
};

struct log_line {
	enum log_line_kind kind;
	double seconds;   /* since boot, by the kernel's stamp; NAN: the line does not say */
	struct span text; /* its words, a part of the line */
};

struct log_line log_line_parse(struct span line);

/* Returns the seconds of a stamp, or NAN for one of 2^63 ns or more, which was negative. */
double log_seconds(double seconds);

/*
 * True for the number of facility 0, the kernel's own: facility times eight plus level (syslog(3)).
 * Lines that a process writes to /dev/kmsg have another facility.
 */
bool log_priority_is_of_kernel(struct span number);

/*
 * Adds the lines of a dmesg's text that concern clocksources, in 3.10's to 7.x's wording. Of the
 * logs of several boots it keeps the last.
 */
void kernel_log_add_dmesg(struct kernel_log_evidence *log, struct span dmesg);

/* Adds one record of /dev/kmsg ("6,339,431995,-;text") if it concerns clocksources. */
void kernel_log_add_record(struct kernel_log_evidence *log, struct span record);

/* ---- cpuid.c: the CPUID instruction's answers about an x86 CPU and its hypervisor ---- */

struct cpuid_answer {
	bool answered; /* the members below are known */
	char brand[FACT_TEXT_SIZE];
	bool invariant_tsc; /* leaf 0x80000007, EDX bit 8 */
	/*
	 * systemd-detect-virt's word for the hypervisor's leaves, or NULL. Of several (KVM and Xen
	 * imitate Hyper-V) it is the one that Linux takes: the highest.
	 */
	const char *hypervisor;
	char version[48];      /* version of the hypervisor, or its features; may be "" */
	uint32_t kvm_features; /* EAX of leaf base + 1, under "kvm" */
	uint32_t xen_tsc[2];   /* EAX and EBX of leaf base + 3, under "xen"; else 0 */
};

/* Fills what CPUID says about this CPU and its hypervisor. */
void cpu_take_answer(struct host_evidence *host, const struct cpuid_answer *answer);

/* Asks once in a run. Returns false if the CPU has no CPUID or refuses it (ARCH_CPUID). */
bool cpuid_ask(struct cpuid_answer *answer);

/* Executes CPUID for a leaf, with ECX 0, into EAX, EBX, ECX and EDX. */
typedef void cpuid_leaf_reader(uint32_t leaf, uint32_t registers[4]);

/* Fills the members from the hypervisor's leaves, where the hypervisor bit is set. */
void cpuid_read_hypervisor(struct cpuid_answer *answer, cpuid_leaf_reader *read);

#endif
