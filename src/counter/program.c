/* SPDX-License-Identifier: MIT */
/*
 * The programs that read the counter themselves: what each would choose on this host by the rule in
 * its own source, as it was read in November 2026 in the version or commit of its row, and whether
 * that is right here.
 */
#include "model.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

enum { X86 = 1 << 0, ARM64 = 1 << 1 };

/* The rules ask for these. */
enum trait {
	RDTSCP = 1 << 0,
	TSC_ADJUST = 1 << 1,
	INVARIANT = 1 << 2, /* the bit of CPUID */
	CONSTANT = 1 << 3,  /* these two are flags of /proc/cpuinfo */
	NONSTOP = 1 << 4,
	TSC_IN_USE = 1 << 5,
	TSC_NAMED = 1 << 6, /* by an available clocksource, so that Hyper-V's page counts, too */
	FREQ_FILE = 1 << 7,
	CPUFREQ = 1 << 8,
	NEVER = 1 << 9,
};

static unsigned find_traits(const struct counter_evidence *evidence)
{
	const struct clocksource_evidence *clocksource = &evidence->host.clocksource;
	const struct counter_claims *claims = &evidence->claims;
	unsigned traits = claims->rdtscp ? RDTSCP : 0;

	traits |= claims->tsc_adjust ? TSC_ADJUST : 0;
	traits |= fact_is_flag(&evidence->host.host.invariant_tsc, true) ? INVARIANT : 0;
	traits |= tsc_has_flag(&evidence->host, "constant_tsc") ? CONSTANT : 0;
	traits |= tsc_has_flag(&evidence->host, "nonstop_tsc") ? NONSTOP : 0;
	traits |= clocksource_is(&evidence->host, "tsc") ? TSC_IN_USE : 0;
	traits |= fact_is_known(&claims->freq_file.fact) ? FREQ_FILE : 0;
	traits |= fact_is_known(&claims->cpufreq_max.fact) ? CPUFREQ : 0;
	for (size_t i = 0; i < clocksource->available_count; i++)
		traits |= strstr(clocksource->available[i], "tsc") ? TSC_NAMED : 0;
	return traits;
}

/* src/port/pg_cpu_x86.c, x86_tsc_frequency_khz(); NULL: it calibrates. */
static const struct number_fact *postgresql_rate(const struct counter_evidence *evidence)
{
	const struct counter_claims *claims = &evidence->claims;

	if (claims->guest)
		return claims->hypervisor_first ? &claims->hypervisor_hz : NULL;
	return fact_is_known(&claims->crystal_hz.fact) ? &claims->crystal_hz : &claims->base_hz;
}

/*
 * lib/eal/linux/eal_timer.c, get_tsc_freq(): it measures, unless the kernel took its rate from
 * CPUID or a hypervisor, or CPUID differs by more than 1%. Root may have the rate from an MSR
 * instead.
 */
static const struct number_fact *dpdk_rate(const struct counter_evidence *evidence)
{
	const struct number_fact *crystal = &evidence->claims.crystal_hz;
	const struct warp_drift *measured = &evidence->warp.drift;

	if (!fact_is_known(&crystal->fact))
		return NULL;
	if (tsc_has_flag(&evidence->host, "tsc_known_freq"))
		return crystal;
	return fact_is_known(&measured->fact) &&
	                       fabs(measured->counter_hz / (double)crystal->value - 1) > 0.01
	               ? crystal
	               : NULL;
}

/* compiler-rt/lib/xray/xray_x86_64.cpp, getTSCFrequency(). */
static const struct number_fact *xray_rate(const struct counter_evidence *evidence)
{
	const struct counter_claims *claims = &evidence->claims;

	return fact_is_known(&claims->freq_file.fact) ? &claims->freq_file : &claims->cpufreq_max;
}

static const struct number_fact *register_rate(const struct counter_evidence *evidence)
{
	return &evidence->register_hz;
}

static const struct program {
	const char *name, *version;
	unsigned arches;
	/* It chooses the counter where all of the first are there, or all of the others, if any. */
	unsigned needs[2];
	/* The fact that it takes for the rate; NULL, or a NULL result: it measures it. */
	const struct number_fact *(*rate)(const struct counter_evidence *evidence);
	const char *rule, *source;
} programs[] = {
	{"PostgreSQL", "19, timing_clock_source=auto", X86,
		{RDTSCP | INVARIANT | TSC_ADJUST, RDTSCP | INVARIANT | TSC_IN_USE}, postgresql_rate,
		.rule = "RDTSCP and invariant TSC, and TSC_ADJUST or clocksource tsc",
		.source = "postgres/postgres 294520c4, src/common/instr_time.c, and 2ef57e63, "
			  "src/port/pg_cpu_x86.c"},
	{"Redis", "unstable, 2026", X86, {TSC_IN_USE | CONSTANT},
		.rule = "clocksource tsc and constant_tsc",
		.source = "redis/redis 04a952e3, src/monotonic.c"},
	/* 0148137a asks for tsc, too. */
	{"Valkey", "9.1.2", X86, {CONSTANT}, .rule = "constant_tsc, whatever the kernel found",
		.source = "valkey-io/valkey tag 9.1.2, src/monotonic.c"},
	{"Redis", "unstable, 2026", ARM64, .rate = register_rate, .rule = "always",
		.source = "redis/redis 04a952e3, src/monotonic.c"},
	{"Valkey", "9.1.2", ARM64, .rate = register_rate, .rule = "always",
		.source = "valkey-io/valkey tag 9.1.2, src/monotonic.c"},
	{"Wine", "10.0", X86 | ARM64, {NEVER}, .rule = "never: it reads CLOCK_MONOTONIC_RAW",
		.source = "wine-mirror/wine tag wine-10.0, dlls/ntdll/unix/sync.c"},
	{"GE-Proton", "11-7", X86, {RDTSCP | INVARIANT},
		.rule = "RDTSCP and invariant TSC, whatever the kernel found",
		.source = "GloriousEggroll/proton-ge-custom d3642203, patches/proton; issue 784"},
	{"quanta", "main", X86, {RDTSCP | INVARIANT}, .rule = "RDTSCP and invariant TSC",
		.source = "metrics-rs/quanta 7c80897f, src/detection.rs"},
	{"quanta", "main", ARM64, .rule = "always",
		.source = "metrics-rs/quanta 7c80897f, src/detection.rs"},
	{"minstant", "0.1", X86, {TSC_NAMED, CONSTANT | NONSTOP | RDTSCP},
		.rule = "tsc in the available clocksources, or constant_tsc, nonstop_tsc, RDTSCP",
		.source = "tikv/minstant 085c7f7e, src/tsc_now.rs"},
	/* Before 24.11 it rounded the rate to 10 MHz. */
	{"DPDK", "26.07", X86, .rate = dpdk_rate,
		.rule = "always; it measures the rate, to 100 kHz, or takes CPUID 0x15",
		.source = "DPDK/dpdk tag v26.07, lib/eal/linux/eal_timer.c"},
	{"DPDK", "26.07", ARM64, .rate = register_rate, .rule = "always",
		.source = "DPDK/dpdk tag v26.07, lib/eal/arm/rte_cycles.c"},
	{"Abseil", "CycleClock", X86, .rule = "always",
		.source = "abseil/abseil-cpp 0514227d, base/internal/sysinfo.cc"},
	{"XRay", "LLVM", X86, {RDTSCP | FREQ_FILE, RDTSCP | CPUFREQ}, xray_rate,
		.rule = "RDTSCP, and a rate in tsc_freq_khz or cpuinfo_max_freq",
		.source = "llvm/llvm-project 9e656542, compiler-rt/lib/xray/xray_x86_64.cpp"},
};

/* True if the rate that the program takes is known to be wrong. */
static bool takes_wrong_rate(const struct program *program, const struct counter_evidence *evidence,
	const struct real_fact *hz)
{
	const struct number_fact *taken = program->rate ? program->rate(evidence) : NULL;

	return taken && fact_is_known(&taken->fact) && fact_is_known(&hz->fact) &&
	       fabs((double)taken->value / hz->value - 1) * 1e6 > RATE_CLAIM_LIMIT_PPM;
}

size_t program_list(const struct counter_evidence *evidence, const struct counter_verdict *verdict,
	struct program_choice choices[PROGRAM_MAX])
{
	unsigned arch = verdict->view.x86                                    ? X86
	                : fact_is_text(&evidence->host.host.arch, "aarch64") ? ARM64
	                                                                     : 0;
	unsigned traits = find_traits(evidence);
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(programs) && count < PROGRAM_MAX; i++) {
		const struct program *program = &programs[i];
		struct program_choice *choice = &choices[count];

		if (!(program->arches & arch))
			continue;
		*choice = (struct program_choice){.name = program->name,
			.version = program->version,
			.rule = program->rule,
			.source = program->source,
			.answer = PROGRAM_UNDETERMINED};
		if ((traits & program->needs[0]) != program->needs[0] &&
			(!program->needs[1] || (traits & program->needs[1]) != program->needs[1]))
			choice->answer = PROGRAM_CLOCK;
		else if (verdict->outcome == COUNTER_UNSAFE)
			choice->answer = PROGRAM_WRONG;
		else if (takes_wrong_rate(program, evidence, &verdict->hz))
			choice->answer = PROGRAM_WRONG_RATE;
		else if (verdict->outcome == COUNTER_SAFE)
			choice->answer = PROGRAM_RIGHT;
		count++;
	}
	return count;
}

const char *const program_answer_names[] = {
	[PROGRAM_CLOCK] = "clock",
	[PROGRAM_RIGHT] = "right",
	[PROGRAM_WRONG] = "wrong",
	[PROGRAM_WRONG_RATE] = "wrong-rate",
	[PROGRAM_UNDETERMINED] = "undetermined",
	NULL,
};
