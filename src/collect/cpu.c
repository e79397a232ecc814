/* SPDX-License-Identifier: MIT */
#include "collect/cpu.h"

#include <stdio.h>

#include "base/number.h"
#include "collect/cpuid.h"

/* The first processors of /proc/cpuinfo say all: the file of a large machine is megabytes. */
#define CPUINFO_SIZE (8 * 1024)
#define MODEL_SIZE 256

struct arm_part {
	unsigned implementer;
	unsigned part;
	const char *name;
};

/* MIDR_EL1's numbers, as in arch/arm64/include/asm/cputype.h, for CPUs found in servers. */
static const struct arm_part arm_parts[] = {
	{0x41, 0xd03, "ARM Cortex-A53"},
	{0x41, 0xd07, "ARM Cortex-A57"},
	{0x41, 0xd08, "ARM Cortex-A72"},
	{0x41, 0xd09, "ARM Cortex-A73"},
	{0x41, 0xd0b, "ARM Cortex-A76"},
	{0x41, 0xd0c, "ARM Neoverse-N1"},
	{0x41, 0xd40, "ARM Neoverse-V1"},
	{0x41, 0xd49, "ARM Neoverse-N2"},
	{0x41, 0xd4f, "ARM Neoverse-V2"},
	{0x41, 0xc0f, "ARM Cortex-A15"},
	{0x43, 0x0a1, "Cavium ThunderX"},
	{0x43, 0x0af, "Cavium ThunderX2"},
	{0x48, 0xd01, "HiSilicon Kunpeng-920"},
	{0x50, 0x000, "APM X-Gene"},
	{0xc0, 0xac3, "Ampere-1"},
	{0xc0, 0xac4, "Ampere-1a"},
};

#define ARM_PART_COUNT (sizeof(arm_parts) / sizeof(arm_parts[0]))

/* "0x41" */
static bool parse_hex_field(struct span cpuinfo, const char *key, unsigned *value)
{
	struct span text;
	uint64_t number;

	if (!text_find_value(cpuinfo, key, &text) || !text_starts(text, "0x"))
		return false;
	text.at += 2;
	text.length -= 2;
	if (!number_parse_hex(text, &number) || number > 0xffff)
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
	for (size_t i = 0; i < ARM_PART_COUNT; i++) {
		if (arm_parts[i].implementer == implementer && arm_parts[i].part == part)
			text_copy(cpu->value, sizeof(cpu->value), arm_parts[i].name);
	}
	return true;
}

static bool take_named(struct span cpuinfo, struct text_fact *cpu)
{
	/* x86 and arm; loongarch; powerpc; riscv; mips; s390. */
	static const char *const keys[] = {
		"model name",
		"Model Name",
		"cpu",
		"uarch",
		"cpu model",
		"vendor_id",
	};
	struct span value;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (text_find_value(cpuinfo, keys[i], &value) && value.length > 0) {
			text_copy_span(cpu->value, sizeof(cpu->value), value);
			return true;
		}
	}
	return false;
}

/* What the firmware calls the machine, where the CPU has no name. */
static bool take_machine_model(const struct root *root, struct text_fact *cpu)
{
	char buffer[MODEL_SIZE];
	struct span model;
	struct fact why;

	if (!root_read(root, "/proc/device-tree/model", buffer, sizeof(buffer), &model, &why))
		return false;
	text_copy_span(cpu->value, sizeof(cpu->value), text_trim(model));
	return true;
}

static bool has_word(struct span words, const char *wanted)
{
	struct span word;

	while (text_next_word(&words, &word)) {
		if (text_equals(word, wanted))
			return true;
	}
	return false;
}

/* The kernel shows the CPUID bit as these two, and takes away what it found untrue. */
static void take_invariance(struct span cpuinfo, struct flag_fact *invariant_tsc)
{
	struct span flags;

	if (!text_find_value(cpuinfo, "flags", &flags)) {
		fact_set(&invariant_tsc->fact, FACT_ABSENT, "no x86 flags in /proc/cpuinfo");
		return;
	}
	fact_set_flag(
		invariant_tsc, has_word(flags, "constant_tsc") && has_word(flags, "nonstop_tsc"));
}

static void collect_from_cpuinfo(const struct root *root, struct host_evidence *host)
{
	char buffer[CPUINFO_SIZE];
	struct span cpuinfo;

	if (!root_read_head(
		    root, "/proc/cpuinfo", buffer, sizeof(buffer), &cpuinfo, &host->cpu.fact)) {
		host->invariant_tsc.fact = host->cpu.fact;
		return;
	}
	take_invariance(cpuinfo, &host->invariant_tsc);
	if (!take_arm_part(cpuinfo, &host->cpu) && !take_named(cpuinfo, &host->cpu) &&
		!take_machine_model(root, &host->cpu))
		fact_set(&host->cpu.fact, FACT_ABSENT, "/proc/cpuinfo: no name of the CPU");
}

void cpu_collect(const struct root *root, struct host_evidence *host)
{
	struct cpuid_answer answer;

	if (!root->live || !cpuid_ask(&answer)) {
		collect_from_cpuinfo(root, host);
		return;
	}
	fact_set_text(&host->cpu, answer.brand);
	fact_set_flag(&host->invariant_tsc, answer.invariant_tsc);
}
