/* SPDX-License-Identifier: MIT */
/*
 * Collects the CPU's brand, and whether its counter can be trusted. CPUID is asked where it exists,
 * since the kernel shows less of it; elsewhere /proc/cpuinfo and the device tree are read.
 */
#include "parts.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* The first processors of /proc/cpuinfo suffice: the file is megabytes on a large machine. */
#define CPUINFO_SIZE (8 * 1024)

/* MIDR_EL1's numbers, as in arch/arm64/include/asm/cputype.h, for CPUs found in servers. */
static const struct {
	unsigned implementer;
	unsigned part;
	const char *name;
} arm_parts[] = {
	{0x41, 0xd03, "ARM Cortex-A53"},
	{0x41, 0xd07, "ARM Cortex-A57"},
	{0x41, 0xd08, "ARM Cortex-A72"},
	{0x41, 0xd09, "ARM Cortex-A73"},
	{0x41, 0xd0b, "ARM Cortex-A76"},
	{0x41, 0xd0c, "ARM Neoverse-N1"},
	{0x41, 0xd40, "ARM Neoverse-V1"},
	{0x41, 0xd49, "ARM Neoverse-N2"},
	{0x41, 0xd4f, "ARM Neoverse-V2"},
	{0x41, 0xd83, "ARM Neoverse-V3AE"},
	{0x41, 0xd84, "ARM Neoverse-V3"},
	{0x41, 0xd8e, "ARM Neoverse-N3"},
	{0x41, 0xc0f, "ARM Cortex-A15"},
	{0x43, 0x0a1, "Cavium ThunderX"},
	{0x43, 0x0af, "Cavium ThunderX2"},
	{0x48, 0xd01, "HiSilicon Kunpeng-920"},
	{0x50, 0x000, "APM X-Gene"},
	{0x6d, 0xd49, "Azure Cobalt 100"},
	{0xc0, 0xac3, "Ampere-1"},
	{0xc0, 0xac4, "Ampere-1a"},
};

/* Parses "0x41". */
static bool parse_hex_field(struct span cpuinfo, const char *key, unsigned *value)
{
	struct span text;
	uint64_t number;

	if (!text_find_value(cpuinfo, key, &text) || !text_take_prefix(&text, "0x") ||
		!number_parse_hex(text, &number) || number > 0xffff)
		return false;
	*value = (unsigned)number;
	return true;
}

static bool take_arm_part(struct span cpuinfo, struct text_fact *cpu)
{
	unsigned implementer, part;

	if (!parse_hex_field(cpuinfo, "CPU implementer", &implementer) ||
		!parse_hex_field(cpuinfo, "CPU part", &part))
		return false;
	snprintf(cpu->value, sizeof(cpu->value), "ARM implementer 0x%x part 0x%x", implementer,
		part);
	for (size_t i = 0; i < ARRAY_SIZE(arm_parts); i++) {
		if (arm_parts[i].implementer == implementer && arm_parts[i].part == part)
			text_clean(cpu->value, sizeof(cpu->value), arm_parts[i].name);
	}
	return true;
}

static bool take_named(struct span cpuinfo, struct text_fact *cpu)
{
	/* x86 and arm; loongarch; powerpc; riscv; mips; s390. */
	static const char *const keys[] = {
		"model name", "Model Name", "cpu", "uarch", "cpu model", "vendor_id"};
	struct span value;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (text_find_value(cpuinfo, keys[i], &value) && value.length > 0) {
			fact_set_span(cpu, value);
			return true;
		}
	}
	return false;
}

/*
 * The kernel judges its TSC by these flags: it shows the CPUID bit as constant_tsc and nonstop_tsc,
 * removes them if it found them untrue, and adds what a hypervisor guarantees.
 */
static void take_tsc_flags(struct span flags, struct text_fact *tsc_flags)
{
	static const char *const wanted[] = {
		"constant_tsc", "nonstop_tsc", "tsc_reliable", "tsc_known_freq", "tsc_adjust"};
	char text[FACT_TEXT_SIZE] = "";

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (text_has_word(flags, wanted[i]))
			text_append(text, sizeof(text), "%s%s", *text ? " " : "", wanted[i]);
	}
	fact_set_text(tsc_flags, text);
}

/* Errata and updates name a CPU as "family 6, model 106, stepping 6, microcode 0x1". */
static void take_model(struct span cpuinfo, struct text_fact *model)
{
	static const char *const keys[] = {"cpu family", "model", "stepping", "microcode"};
	char text[FACT_TEXT_SIZE] = "", number[32];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct span value;

		if (!text_find_value(cpuinfo, keys[i], &value))
			continue;
		text_clean_span(number, sizeof(number), value);
		text_append(text, sizeof(text), "%s%s %s", *text ? ", " : "",
			i ? keys[i] : "family", number);
	}
	if (*text)
		fact_set_text(model, text);
	else
		fact_set(&model->fact, FACT_ABSENT, "no x86 model in /proc/cpuinfo");
}

static void collect_count(const struct root *root, struct number_fact *count)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	char buffer[4096];
	struct span list;
	uint64_t total, last;

	if (!root_read(root, path, buffer, sizeof(buffer), &list, &count->fact))
		return;
	if (number_parse_cpus(text_trim(list), &total, &last))
		fact_set_number(count, (int64_t)total);
	else
		fact_set(&count->fact, FACT_FAILED, "%s: not a list of CPUs", path);
}

static void collect_from_cpuinfo(const struct root *root, struct host_evidence *host)
{
	char buffer[CPUINFO_SIZE];
	struct span cpuinfo, flags;

	if (!root_read_head(
		    root, "/proc/cpuinfo", buffer, sizeof(buffer), &cpuinfo, &host->cpu.fact)) {
		host->invariant_tsc.fact = host->cpu.fact;
		host->tsc_flags.fact = host->long_mode.fact = host->cpu.fact;
		host->cpu_model.fact = host->cpu.fact;
		return;
	}
	take_model(cpuinfo, &host->cpu_model);
	if (text_find_value(cpuinfo, "flags", &flags)) {
		take_tsc_flags(flags, &host->tsc_flags);
		fact_set_flag(&host->long_mode, text_has_word(flags, "lm"));
		fact_set_flag(&host->invariant_tsc, text_has_word(flags, "constant_tsc") &&
							    text_has_word(flags, "nonstop_tsc"));
	} else {
		fact_set(&host->tsc_flags.fact, FACT_ABSENT, "no x86 flags in /proc/cpuinfo");
		host->invariant_tsc.fact = host->long_mode.fact = host->tsc_flags.fact;
	}
	if (take_arm_part(cpuinfo, &host->cpu) || take_named(cpuinfo, &host->cpu))
		return;
	/* Otherwise the firmware names the machine. */
	root_read_line(root, "/proc/device-tree/model", &host->cpu);
	if (!fact_is_known(&host->cpu.fact))
		fact_set(&host->cpu.fact, FACT_ABSENT, "/proc/cpuinfo: no CPU name");
}

/* arch/x86/include/uapi/asm/kvm_para.h; hosts before 2.6.35 have the first clock only. */
#define KVM_FEATURE_CLOCKSOURCE (1u << 0)
#define KVM_FEATURE_CLOCKSOURCE2 (1u << 3)
#define KVM_FEATURE_CLOCKSOURCE_STABLE_BIT (1u << 24)
/* arch/x86/include/asm/xen/cpuid.h; the first is set while the default mode emulates. */
#define XEN_CPUID_TSC_EMULATED (1u << 0)
#define XEN_CPUID_HOST_TSC_RELIABLE (1u << 1)

static void set_leaves_absent(struct host_evidence *host, const char *why)
{
	struct fact *facts[] = {&host->hypervisor_version.fact, &host->kvm_clock_offered.fact,
		&host->kvm_clock_stable.fact, &host->xen_tsc_mode.fact,
		&host->xen_tsc_emulated.fact, &host->xen_tsc_reliable.fact};

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		fact_set(facts[i], FACT_ABSENT, "%s", why);
}

void cpu_take_answer(struct host_evidence *host, const struct cpuid_answer *answer)
{
	if (*answer->brand)
		fact_set_text(&host->cpu, answer->brand);
	fact_set_flag(&host->invariant_tsc, answer->invariant_tsc);
	set_leaves_absent(host, "not a leaf of this hypervisor");
	if (*answer->version)
		fact_set_text(&host->hypervisor_version, answer->version);
	if (answer->hypervisor && strcmp(answer->hypervisor, "kvm") == 0) {
		fact_set_flag(&host->kvm_clock_offered,
			answer->kvm_features &
				(KVM_FEATURE_CLOCKSOURCE | KVM_FEATURE_CLOCKSOURCE2));
		fact_set_flag(&host->kvm_clock_stable,
			answer->kvm_features & KVM_FEATURE_CLOCKSOURCE_STABLE_BIT);
	}
	if (answer->hypervisor && strcmp(answer->hypervisor, "xen") == 0) {
		fact_set_number(&host->xen_tsc_mode, answer->xen_tsc[1] & INT32_MAX);
		fact_set_flag(&host->xen_tsc_emulated, answer->xen_tsc[0] & XEN_CPUID_TSC_EMULATED);
		fact_set_flag(
			&host->xen_tsc_reliable, answer->xen_tsc[0] & XEN_CPUID_HOST_TSC_RELIABLE);
	}
}

void cpu_collect(const struct root *root, struct host_evidence *host)
{
	struct cpuid_answer answer;

	collect_from_cpuinfo(root, host);
	collect_count(root, &host->cpu_count);
	/* In User-Mode Linux CPUID describes the machine below (arch/um/kernel/um_arch.c). */
	if (!root->live || fact_is_text(&host->cpu, "UML") || !cpuid_ask(&answer))
		set_leaves_absent(host, "CPUID was not asked");
	else
		cpu_take_answer(host, &answer);
}
