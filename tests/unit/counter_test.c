/* SPDX-License-Identifier: MIT */
/*
 * Tests of counter/: the rates by each source and how they are compared, the verdict's rules, each
 * hit and missed. A sound host is changed in one thing at a time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collect/parts.h"
#include "commands.h"
#include "counter/model.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

#define HZ 2.6e9

static struct warp_pair pair;

/* A guest on tsc whose two CPUs agree, in which nothing moves the TSC as far as is known. */
static void make_sound(struct counter_evidence *evidence)
{
	struct warp_evidence *warp = &evidence->warp;
	struct host_evidence *host = &evidence->host.host;

	memset(evidence, 0, sizeof(*evidence));
	evidence_make_healthy(&evidence->host);
	fact_set(&host->hypervisor.fact, FACT_ABSENT, "none");
	fact_set_text(&host->platform, "bare-metal");
	fact_set_text(&host->tsc_flags, "constant_tsc nonstop_tsc");
	fact_set_flag(&host->invariant_tsc, true);
	fact_set(&host->emulator.fact, FACT_ABSENT, "none");
	fact_set_number(&host->cpu_count, 2);
	fact_set_known(&evidence->readable);
	fact_set_real(&evidence->host.timing.counter_ns, 8);
	fact_set_known(&evidence->claims.fact);
	evidence->claims.rdtscp = true;
	evidence->page = (struct vvar_rate){.hz = HZ, .step = 1.6e-7};
	fact_set_known(&evidence->page.fact);
	*warp = (struct warp_evidence){.duration_s = 1,
		.allowed = 2,
		.cpu_count = 2,
		.cpus = {0, 1},
		.pair_count = 1,
		.pairs = &pair,
		.drift = {.counter_hz = HZ, .hz_error_ppm = 0.3}};
	pair = (struct warp_pair){.state = WARP_PAIR_KNOWN, .cpu = 0, .other_cpu = 1};
	warp->results[WARP_COUNTER].reads = 1000;
	fact_set_known(&warp->fact);
	fact_set_known(&warp->drift.fact);
	fact_set_known(&warp->results[WARP_COUNTER].fact);
	fact_set_number(&warp->results[WARP_COUNTER].max_offset, 50);
}

static const struct counter *judge(const struct counter_evidence *evidence)
{
	static struct counter counter;

	counter =
		(struct counter){.report = {.type = counter_command.report}, .evidence = *evidence};
	counter_judge(&counter);
	return &counter;
}

static bool has_note(const struct counter *counter, const char *id)
{
	for (size_t i = 0; i < counter->note_count; i++) {
		if (strcmp(counter->notes[i].id, id) == 0)
			return true;
	}
	return false;
}

static void expect(
	const struct counter_evidence *evidence, const char *rule, int status, const char *words)
{
	const struct counter *counter = judge(evidence);

	assert_string_equal(counter->report.rule, rule);
	assert_int_equal(counter->report.exit_status, status);
	assert_non_null(strstr(counter->report.summary, words));
	assert_true(status == 0 || !counter->until);
}

/* ---- the verdict ---- */

static void a_sound_counter_is_safe(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	expect(&evidence, "safe", 0, "2,600.0000 MHz, in step on all 2 CPUs");
	assert_null(judge(&evidence)->until);
	assert_int_equal(judge(&evidence)->note_count, 0);
	/* Another clocksource by a hand or a boot parameter says nothing against it. */
	evidence_set_available(&evidence.host, "tsc hpet");
	evidence_set_current(&evidence.host, "hpet");
	expect(&evidence, "safe", 0, "may read");
	fact_set_number(&evidence.host.host.cpu_count, 64);
	expect(&evidence, "safe", 0, "in step on 2 CPUs");
}

static void what_ends_a_safe_verdict_is_that_of_the_platform(void **state)
{
	static const struct {
		const char *platform, *flags, *end;
	} rows[] = {
		{"firecracker", "constant_tsc nonstop_tsc", "(Firecracker)"},
		{"cloud-hypervisor", "constant_tsc nonstop_tsc", "(Cloud Hypervisor)"},
		{"microvm", "constant_tsc nonstop_tsc", "snapshot"},
		{"google", "constant_tsc nonstop_tsc", "migrated"},
		{"aws-nitro", "constant_tsc nonstop_tsc", NULL},
		{"vmware", "constant_tsc tsc_reliable", NULL},
	};
	struct counter_evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *until;

		make_sound(&evidence);
		fact_set_text(&evidence.host.host.hypervisor, "kvm");
		fact_set_text(&evidence.host.host.platform, rows[i].platform);
		fact_set_text(&evidence.host.host.tsc_flags, rows[i].flags);
		until = judge(&evidence)->until;
		expect(&evidence, "safe", 0, "may read");
		if (rows[i].end)
			assert_non_null(strstr(until, rows[i].end));
		else
			assert_null(until);
	}
}

static void counters_that_disagree_are_unsafe(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	evidence.warp.results[WARP_COUNTER].warps = 3;
	evidence.warp.results[WARP_COUNTER].largest_ns = 900;
	evidence.warp.results[WARP_COUNTER].cpu_behind = 1;
	expect(&evidence, "counters-disagree", 1, "CPU 1 was up to 900 ns behind CPU 0");
}

static void a_counter_that_the_kernel_found_wrong_is_unsafe(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	evidence_set_available(&evidence.host, "hpet");
	evidence_set_current(&evidence.host, "hpet");
	evidence_add_log(
		&evidence.host, "tsc: Marking TSC unstable due to check_tsc_sync_source failed");
	expect(&evidence, "kernel-found-faulty", 1, "found it wrong");
	/* In use it was not dropped, whatever an older line says. */
	evidence_set_current(&evidence.host, "tsc");
	expect(&evidence, "safe", 0, "may read");
}

static void a_counter_that_is_not_invariant_is_not_safe(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	fact_set_flag(&evidence.host.host.invariant_tsc, false);
	fact_set_text(&evidence.host.host.tsc_flags, "");
	expect(&evidence, "not-guaranteed", 2, "does not advertise");
	evidence_set_current(&evidence.host, "kvm-clock");
	expect(&evidence, "not-invariant", 1, "does not advertise");
	/* VMware's kernel flag is as good as the bit. */
	fact_set_text(&evidence.host.host.tsc_flags, "constant_tsc tsc_reliable");
	expect(&evidence, "safe", 0, "may read");
	fact_set(&evidence.host.host.invariant_tsc.fact, FACT_DENIED, "not readable");
	fact_set_text(&evidence.host.host.tsc_flags, "");
	expect(&evidence, "not-guaranteed", 2, "not readable");
}

static void a_counter_that_is_intercepted_is_unsafe(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	evidence.host.timing.counter_ns.value = 1800;
	expect(&evidence, "trapped", 1, "takes 1800 ns");
}

static void a_counter_that_cannot_be_read_is_unsafe_or_unknown(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	fact_set(&evidence.readable, FACT_FAILED, "rdtsc ends with SIGSEGV");
	expect(&evidence, "unreadable", 1, "rdtsc ends with SIGSEGV.");
	fact_set_flag(&evidence.host.host.counter_disabled, true);
	expect(&evidence, "unreadable", 1, "PR_SET_TSC");
	fact_set(&evidence.readable, FACT_ABSENT, "no counter known for this architecture");
	expect(&evidence, "no-counter", 2, "no counter known");
	make_sound(&evidence);
	fact_set_text(&evidence.host.host.emulator, "valgrind");
	expect(&evidence, "emulated", 2, "valgrind");
}

static void what_the_kernel_did_and_does_not_explain_is_unknown(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	evidence_set_available(&evidence.host, "hpet acpi_pm");
	evidence_set_current(&evidence.host, "hpet");
	expect(&evidence, "not-offered", 2, "nothing shows why");
	evidence_add_log(&evidence.host, "tsc: Marking TSC unstable due to clocksource watchdog");
	expect(&evidence, "kernel-distrusts", 2, "nothing shows whether");
	assert_true(has_note(judge(&evidence), "kernel-log"));
	/* By 3% either clock may be wrong, or the guest was moved. */
	evidence_add_log(&evidence.host,
		"clocksource: 'hpet' wd_nsec: 500000000 wd_now: 2c4d6d26 wd_last: 2be6f5d6 mask: "
		"ffffffff");
	evidence_add_log(&evidence.host,
		"clocksource: 'tsc' cs_nsec: 515000000 cs_now: 50000000 cs_last: 0 mask: "
		"ffffffffffffffff");
	assert_int_not_equal(judge(&evidence)->report.exit_status, 1);
	fact_set_text(&evidence.host.host.boot, "tsc=unstable");
	expect(&evidence, "disabled", 2, "command line");
}

/* A guest's watchdog that was late by more than its reference can count. */
static void a_false_alarm_of_the_watchdog_leaves_it_safe(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	evidence_set_available(&evidence.host, "hpet acpi_pm");
	evidence_set_current(&evidence.host, "hpet");
	evidence_add_log(&evidence.host,
		"clocksource: timekeeping watchdog on CPU1: wd-tsc-wd excessive read-back delay of "
		"1500000ns vs. limit of 125000ns, wd-wd read-back delay only 1000ns, attempt 3, "
		"marking tsc unstable");
	evidence_add_log(&evidence.host, "tsc: Marking TSC unstable due to clocksource watchdog");
	expect(&evidence, "safe", 0, "may read");
	assert_true(has_note(judge(&evidence), "watchdog-erred"));
}

static void kvm_and_xen_hosts_without_a_stable_tsc_are_unknown(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	evidence_set_available(&evidence.host, "kvm-clock tsc");
	evidence_set_current(&evidence.host, "kvm-clock");
	expect(&evidence, "safe", 0, "may read");
	fact_set_flag(&evidence.host.vclock.pvclock_stable, false);
	expect(&evidence, "kvm-unstable", 2, "KVM does not mark");
	make_sound(&evidence);
	evidence_set_available(&evidence.host, "xen tsc");
	evidence_set_current(&evidence.host, "xen");
	fact_set_flag(&evidence.host.host.xen_tsc_reliable, false);
	expect(&evidence, "xen-unreliable", 2, "Xen");
}

static void cpus_that_were_not_compared_are_unknown(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	fact_set(&evidence.warp.results[WARP_COUNTER].max_offset.fact, FACT_FAILED,
		"they never met");
	expect(&evidence, "not-compared", 2, "they never met");
	fact_set(&evidence.warp.results[WARP_COUNTER].fact, FACT_UNREAD, "no CPU time");
	expect(&evidence, "not-tested", 2, "no CPU time");
	make_sound(&evidence);
	evidence.warp.cpu_count = 1;
	expect(&evidence, "one-cpu", 2, "CPU 0 only");
	fact_set_number(&evidence.host.host.cpu_count, 1);
	expect(&evidence, "safe", 0, "on the only CPU");
}

static void a_stated_rate_that_the_kernel_found_wrong_is_noted(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	assert_false(has_note(judge(&evidence), "stated-rate-wrong"));
	/* Within 500 ppm the kernel logs the measurement alone. */
	evidence_add_log(&evidence.host, "tsc: TSC freq recalibrated by [HPET]: 1896.100 MHz");
	assert_false(has_note(judge(&evidence), "stated-rate-wrong"));
	evidence.host.kernel_log.count = 0;
	evidence_add_log(&evidence.host, "tsc: Previous calibrated TSC freq: 1896.000 MHz");
	evidence_add_log(&evidence.host, "tsc: TSC freq recalibrated by [HPET]: 1975.000 MHz");
	assert_true(has_note(judge(&evidence), "stated-rate-wrong"));
}

static void a_confidential_guest_is_told_which_clock_its_host_cannot_change(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	assert_false(has_note(judge(&evidence), "confidential"));
	evidence.tdx = true;
	assert_true(has_note(judge(&evidence), "confidential"));
	make_sound(&evidence);
	fact_set_number(&evidence.claims.xen_moves, 2);
	assert_true(has_note(judge(&evidence), "xen-moved"));
}

/* ---- rates ---- */

static void the_first_rate_that_is_known_is_the_rate(void **state)
{
	struct counter_evidence evidence;
	struct rate rates[RATE_COUNT];

	(void)state;
	make_sound(&evidence);
	evidence.page.hz = HZ + 100;
	rate_list(&evidence, rates);
	assert_true(rate_first(rates) == &rates[RATE_PAGE]);
	assert_true(fabs(rates[RATE_MEASURED].off_ppm - -100 / HZ * 1e6) < 1e-6);
	fact_set(&evidence.page.fact, FACT_ABSENT, "none");
	rate_list(&evidence, rates);
	assert_true(rate_first(rates) == &rates[RATE_MEASURED]);
	fact_set(&evidence.warp.drift.fact, FACT_FAILED, "too short");
	evidence_add_log(&evidence.host, "tsc: Detected 2600.000 MHz processor");
	evidence_add_log(&evidence.host, "tsc: Refined TSC clocksource calibration: 2599.123 MHz");
	rate_list(&evidence, rates);
	assert_true(rate_first(rates) == &rates[RATE_LOG]);
	assert_true(rates[RATE_LOG].hz == 2599.123e6);
	evidence.host.kernel_log.count = 0;
	rate_list(&evidence, rates);
	assert_null(rate_first(rates));
}

static void rates_that_differ_are_noted_beyond_their_errors(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	evidence.warp.drift.counter_hz = HZ * (1 + 40e-6);
	assert_int_equal(judge(&evidence)->note_count, 0);
	evidence.warp.drift.counter_hz = HZ * (1 + 60e-6);
	assert_true(has_note(judge(&evidence), "measured-rate-differs"));
	/* Jiffies move 4 ms in a second: nothing that small can be measured. */
	evidence.raw_step_ns = 4e6;
	assert_false(has_note(judge(&evidence), "measured-rate-differs"));
	make_sound(&evidence);
	fact_set_number(&evidence.claims.crystal_hz, (int64_t)(HZ * 1.002));
	assert_true(has_note(judge(&evidence), "claim-differs"));
	fact_set_number(&evidence.claims.crystal_hz, (int64_t)(HZ * 1.0009));
	assert_false(has_note(judge(&evidence), "claim-differs"));
	expect(&evidence, "safe", 0, "may read");
}

/* The calibration at boot against the rate now; an emulator has a counter of its own. */
static void a_log_that_differs_from_the_measurement_is_noted(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	evidence_add_log(&evidence.host, "tsc: Refined TSC clocksource calibration: 2600.300 MHz");
	assert_true(has_note(judge(&evidence), "log-rate-differs"));
	expect(&evidence, "safe", 0, "may read");
	evidence_add_log(&evidence.host, "tsc: Refined TSC clocksource calibration: 3100.000 MHz");
	expect(&evidence, "rate-changed", 1, "has changed since boot");
	assert_true(has_note(judge(&evidence), "log-rate-differs"));
	fact_set_text(&evidence.host.host.emulator, "qemu");
	fact_set_number(&evidence.claims.crystal_hz, 3100000000);
	expect(&evidence, "emulated", 2, "counter of its own");
	assert_int_equal(judge(&evidence)->note_count, 0);
	assert_true(judge(&evidence)->hz.value == HZ);
}

/* That of the hypervisor comes before those of the CPU, of which the exact one comes first. */
static void one_claim_is_compared(void **state)
{
	struct counter_evidence evidence;
	struct rate rates[RATE_COUNT];

	(void)state;
	make_sound(&evidence);
	fact_set_number(&evidence.claims.base_hz, 2600000000);
	rate_list(&evidence, rates);
	assert_string_equal(rates[RATE_CLAIM].source, "CPUID 0x16");
	fact_set_number(&evidence.claims.crystal_hz, 2700000000);
	rate_list(&evidence, rates);
	assert_string_equal(rates[RATE_CLAIM].source, "CPUID 0x15");
	assert_true(has_note(judge(&evidence), "claim-differs"));
	fact_set_number(&evidence.claims.hypervisor_hz, 2600000000);
	rate_list(&evidence, rates);
	assert_string_equal(rates[RATE_CLAIM].source, "hypervisor's CPUID leaf");
	assert_false(has_note(judge(&evidence), "claim-differs"));
}

static uint32_t leaves[8][5]; /* leaf, EAX, EBX, ECX, EDX */

static void read_leaf(uint32_t leaf, uint32_t registers[4])
{
	memset(registers, 0, 4 * sizeof(*registers));
	for (size_t i = 0; i < COUNT(leaves); i++) {
		if (leaves[i][0] == leaf && leaves[i][1])
			memcpy(registers, &leaves[i][1], 4 * sizeof(*registers));
	}
}

static void set_leaf(
	size_t place, uint32_t leaf, uint32_t eax, uint32_t ebx, uint32_t ecx, uint32_t edx)
{
	const uint32_t values[] = {leaf, eax, ebx, ecx, edx};

	memcpy(leaves[place], values, sizeof(values));
}

static void cpuid_claims_are_taken_in_hertz(void **state)
{
	struct counter_claims claims = {.tdx = false};

	(void)state;
	memset(leaves, 0, sizeof(leaves));
	set_leaf(0, 0, 0x16, 0, 0, 0);
	set_leaf(1, 0x15, 2, 216, 24000000, 0);
	set_leaf(2, 0x16, 2600, 0, 0, 0);
	cpuid_take_claims(&claims, read_leaf);
	assert_true(fact_is_known(&claims.crystal_hz.fact));
	assert_int_equal(claims.crystal_hz.value, 2592000000);
	assert_int_equal(claims.base_hz.value, 2600000000);
	assert_false(fact_is_known(&claims.hypervisor_hz.fact));
	/* A guest. */
	claims = (struct counter_claims){.tdx = false};
	memset(leaves, 0, sizeof(leaves));
	set_leaf(0, 0, 0xd, 0, 0, 0);
	set_leaf(1, 1, 1, 0, 1u << 31, 0);
	set_leaf(2, 0x40000000, 0x40000010, 0x4b4d564b, 0x564b4d56, 0x4d);
	set_leaf(3, 0x40000010, 2599999, 0, 0, 0);
	cpuid_take_claims(&claims, read_leaf);
	assert_int_equal(claims.hypervisor_hz.value, 2599999000);
	assert_false(fact_is_known(&claims.crystal_hz.fact));
	/* KVM may imitate Hyper-V and Xen, whose leaves are then below its own. */
	set_leaf(2, 0x40000200, 0x40000210, 0x4b4d564b, 0x564b4d56, 0x4d);
	set_leaf(3, 0x40000210, 2400000, 0, 0, 0);
	cpuid_take_claims(&claims, read_leaf);
	assert_int_equal(claims.hypervisor_hz.value, 2400000000);
	/* The leaf is beyond the last that the hypervisor has. */
	claims = (struct counter_claims){.tdx = false};
	leaves[2][1] = 0x40000001;
	cpuid_take_claims(&claims, read_leaf);
	assert_false(fact_is_known(&claims.hypervisor_hz.fact));
}

/* Nothing about a TSC is asked of arm64; the firmware's register is a claim like CPUID's. */
static void the_counter_of_arm64_is_judged_without_words_about_the_tsc(void **state)
{
	struct counter_evidence evidence;

	(void)state;
	make_sound(&evidence);
	fact_set_text(&evidence.host.host.arch, "aarch64");
	fact_set(&evidence.host.host.invariant_tsc.fact, FACT_ABSENT, "not x86");
	fact_set(&evidence.host.host.tsc_flags.fact, FACT_ABSENT, "not x86");
	evidence_set_current(&evidence.host, "arch_sys_counter");
	evidence.page.hz = evidence.warp.drift.counter_hz = 25e6;
	fact_set_number(&evidence.register_hz, 25000000);
	expect(&evidence, "safe", 0, "programs may read the counter here: 25.0000 MHz");
	fact_set_number(&evidence.register_hz, 24000000);
	assert_true(has_note(judge(&evidence), "claim-differs"));
}

/* ---- text ---- */

static void the_text_fits_a_terminal(void **state)
{
	struct counter_evidence evidence;
	char *text;

	(void)state;
	make_sound(&evidence);
	evidence.tdx = true;
	evidence.warp.drift.counter_hz = HZ - 100;
	fact_set_number(&evidence.claims.crystal_hz, 2610000000);
	text = unit_print(report_text, judge(&evidence));
	unit_assert_fits_terminal(text);
	assert_non_null(strstr(text, "2,600.000000"));
	/* 0.04 ppm less, measured to 0.3 ppm. */
	assert_non_null(strstr(text, "within\n"));
	assert_non_null(strstr(text, "3846.2\n"));
	assert_null(strstr(text, " 0.0"));
	assert_non_null(strstr(text, "CPUID 0x15 is off by +0.38%"));
	assert_non_null(strstr(text, "within 50 ns on"));
	free(text);
	/* A counter that ticks every 16 ns. */
	evidence.warp.drift.counter_hz = 62.5e6;
	evidence.warp.results[WARP_COUNTER].max_offset.value = 16;
	text = unit_print(report_text, judge(&evidence));
	assert_non_null(strstr(text, "within 16 ns, one tick, on"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_counter_is_safe),
		cmocka_unit_test(what_ends_a_safe_verdict_is_that_of_the_platform),
		cmocka_unit_test(counters_that_disagree_are_unsafe),
		cmocka_unit_test(a_counter_that_the_kernel_found_wrong_is_unsafe),
		cmocka_unit_test(a_counter_that_is_not_invariant_is_not_safe),
		cmocka_unit_test(a_counter_that_is_intercepted_is_unsafe),
		cmocka_unit_test(a_counter_that_cannot_be_read_is_unsafe_or_unknown),
		cmocka_unit_test(what_the_kernel_did_and_does_not_explain_is_unknown),
		cmocka_unit_test(a_false_alarm_of_the_watchdog_leaves_it_safe),
		cmocka_unit_test(kvm_and_xen_hosts_without_a_stable_tsc_are_unknown),
		cmocka_unit_test(cpus_that_were_not_compared_are_unknown),
		cmocka_unit_test(a_stated_rate_that_the_kernel_found_wrong_is_noted),
		cmocka_unit_test(a_confidential_guest_is_told_which_clock_its_host_cannot_change),
		cmocka_unit_test(the_first_rate_that_is_known_is_the_rate),
		cmocka_unit_test(rates_that_differ_are_noted_beyond_their_errors),
		cmocka_unit_test(a_log_that_differs_from_the_measurement_is_noted),
		cmocka_unit_test(one_claim_is_compared),
		cmocka_unit_test(cpuid_claims_are_taken_in_hertz),
		cmocka_unit_test(the_counter_of_arm64_is_judged_without_words_about_the_tsc),
		cmocka_unit_test(the_text_fits_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
