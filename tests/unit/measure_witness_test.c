/* SPDX-License-Identifier: MIT */
/*
 * Tests of measure/witness: pages of hypervisors as they were measured in guests, and made up ones
 * of guests whose history is known.
 */
#include <errno.h>
#include <linux/ptp_clock.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "measure/parts.h"
#include "unit/evidence_builder.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

/* 2.6 GHz: ns = ticks * mul >> 32 after a shift to the right by one. */
#define HZ 2.6e9
#define MUL 3303820997U /* 2^33 * 1e9 / HZ */
#define SHIFT (-1)

static struct witness_pvclock make_page(double ticks_s, double time_s)
{
	return (struct witness_pvclock){.version = 4,
		.tsc_timestamp = (uint64_t)(ticks_s * HZ),
		.system_time = (uint64_t)(time_s * 1e9),
		.mul = MUL,
		.shift = SHIFT,
		.flags = VVAR_PVCLOCK_STABLE};
}

static void ticks_become_nanoseconds(void **state)
{
	static const struct {
		uint32_t mul;
		int8_t shift;
		uint64_t ticks;
		double ns;
	} cases[] = {
		{MUL, SHIFT, (uint64_t)HZ, 1e9}, {1U << 31, 1, 1000, 1000},
		{1U << 31, 0, 1000, 500}, {UINT32_MAX, 0, UINT64_C(1) << 62, 0x1p62}, /* years */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct witness_pvclock page = {
			.version = 2, .mul = cases[i].mul, .shift = cases[i].shift};

		assert_true(
			fabs(witness_pvclock_ns(&page, cases[i].ticks) / cases[i].ns - 1) < 1e-9);
	}
}

static void a_page_that_was_never_written_is_not_believed(void **state)
{
	struct witness_pvclock page = make_page(1, 1);

	(void)state;
	assert_true(witness_pvclock_is_sane(&page));
	page.version = 5; /* being written */
	assert_false(witness_pvclock_is_sane(&page));
	page.version = 0;
	assert_false(witness_pvclock_is_sane(&page));
	page.version = 4;
	page.mul = 0;
	assert_false(witness_pvclock_is_sane(&page));
	page.mul = MUL;
	page.shift = 100;
	assert_false(witness_pvclock_is_sane(&page));
}

/* The flags of pvclock's page are at 29. */
static void a_page_is_copied_to_its_last_byte(void **state)
{
	_Alignas(8) unsigned char page[40], copy[sizeof(page) + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(page); i++)
		page[i] = (unsigned char)(i + 1);
	for (size_t size = 1; size <= sizeof(page); size++) {
		memset(copy, 0, sizeof(copy));
		assert_true(vvar_copy_stable((uintptr_t)page, copy, size));
		assert_memory_equal(copy, page, size);
		assert_int_equal(copy[size], 0);
	}
}

/* A guest's history, in seconds: what the page holds, the TSC and CLOCK_MONOTONIC_RAW of now. */
static void the_history_of_a_guest_is_in_the_base(void **state)
{
	static const struct {
		const char *name;
		double base_tsc, base_time, tsc, raw;
		double ago, uptime, missed;
	} cases[] = {
		{"booted 3.7 s after its start", 0.17, 0.17, 103.7, 100, 103.53, -3.53, 0},
		{"restored 1.3 s after its start, both clocks go on", 1.346, 1.346, 801.346,
			801.038, 800, 1.038, 0},
		{"restored, and the host moved kvm-clock on by 41 min 12 s", 600, 3072, 7800,
			7799.5, 7200, 599.5, 2472},
		{"paused for a minute on another host", 100, 160, 100.5, 96.5, 0.5, 96, 60},
		{"executed another kernel", 1, 1, 5000, 10, 4999, -4989, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct witness_pvclock page =
			make_page(cases[i].base_tsc, cases[i].base_time);
		struct base_evidence base = {.fact.state = FACT_UNREAD};

		witness_base_find(&page, (uint64_t)(cases[i].tsc * HZ), cases[i].raw, 0, &base);
		assert_true(fact_is_known(&base.fact));
		assert_int_equal(base.ticks, page.tsc_timestamp);
		if (fabs(base.ago_s - cases[i].ago) > 1e-3 ||
			fabs(base.uptime_s - cases[i].uptime) > 1e-3 ||
			fabs(base.missed_s - cases[i].missed) > 1e-3 ||
			fabs(base.at_s - cases[i].base_time) > 1e-6)
			fail_msg("%s: %g s ago, at %g s, missed %g s", cases[i].name, base.ago_s,
				base.uptime_s, base.missed_s);
	}
}

/* 30 days by clocks whose rates are whole kHz of 1 GHz, and a kernel that measured its rate. */
static void the_error_of_a_base_grows_with_its_age(void **state)
{
	const struct witness_pvclock page = make_page(0.1, 0.1);
	struct base_evidence base;

	(void)state;
	witness_base_find(&page, (uint64_t)(2592000 * HZ), 2592000 - 2.4, 0, &base);
	assert_true(base.uptime_s < base.error_s);
	assert_true(base.error_s < 4);
	witness_base_find(&page, (uint64_t)(2592000 * HZ), 2592000 + 250, 100, &base);
	assert_true(base.uptime_s < base.error_s);
}

#if defined(__x86_64__) || defined(__i386__)
#define COUNTER_ID 1
#else
#define COUNTER_ID 0
#endif

/* 2 GHz: 2^64 / 2e9. */
#define PERIOD UINT64_C(9223372037)

static struct witness_vmclock make_vmclock(void)
{
	return (struct witness_vmclock){.magic = 0x4b4c4356,
		.version = 1,
		.counter_id = COUNTER_ID,
		.clock_status = 2,
		.counter_value = 1000000,
		.counter_period_frac_sec = PERIOD,
		.time_sec = 1795250000,
		.time_frac_sec = UINT64_C(1) << 63,
		.flags = 1 << 6,
		.time_maxerror_nanosec = 50000};
}

static void vmclock_has_the_hosts_time(void **state)
{
	struct witness_vmclock page = make_vmclock();
	struct fact why = {0};
	double utc_s = 0, error_s = 0;

	(void)state;
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		unit_skip("the page is little-endian, and this test makes it by hand");
#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__)
	unit_skip("vmclock has no counter of this architecture");
#endif
	assert_true(witness_vmclock_s(&page, 1000000 + 3000000000, &utc_s, &error_s, &why));
	assert_true(fabs(utc_s - 1795250002.0) < 1e-5);
	assert_true(fabs(error_s - 50e-6) < 1e-12);
	/* The counter of another CPU may be behind. */
	assert_true(witness_vmclock_s(&page, 0, &utc_s, &error_s, &why));
	assert_true(fabs(utc_s - 1795250000.4995) < 1e-5);
	page.counter_period_shift = 1;
	page.flags = 0;
	assert_true(witness_vmclock_s(&page, 1000000 + 3000000000, &utc_s, &error_s, &why));
	assert_true(fabs(utc_s - 1795250001.25) < 1e-5);
	assert_true(error_s > 0);
	/* A hint at how the guest may smear: the device's time is not smeared. */
	page.smearing_hint = 1;
	assert_true(witness_vmclock_s(&page, 1000000 + 3000000000, &utc_s, &error_s, &why));
	assert_true(fabs(utc_s - 1795250001.25) < 1e-5);
	/* 37 s between TAI and UTC, and 2 s the other way as a signed number. */
	page = make_vmclock();
	page.time_type = 1;
	assert_false(witness_vmclock_s(&page, 1000000, &utc_s, &error_s, &why));
	page.flags = 1;
	page.tai_offset_sec = 37;
	assert_true(witness_vmclock_s(&page, 1000000, &utc_s, &error_s, &why));
	assert_true(fabs(utc_s - 1795249963.5) < 1e-5);
	page.tai_offset_sec = (uint16_t)-2;
	assert_true(witness_vmclock_s(&page, 1000000, &utc_s, &error_s, &why));
	assert_true(fabs(utc_s - 1795250002.5) < 1e-5);
}

/* QEMU's device, for one, reports disruptions alone. */
static void a_vmclock_without_a_time_is_not_one(void **state)
{
	struct fact why = {0};
	double utc_s, error_s;

	(void)state;
	/* The last three: monotonic, smeared, perhaps smeared. */
	for (int i = 0; i < 8; i++) {
		struct witness_vmclock page = make_vmclock();

		page.magic -= i == 0;
		page.version = i == 1 ? 2 : 1;
		page.counter_id = i == 2 ? 0xff : page.counter_id;
		page.clock_status = i == 3 ? 0 : i == 4 ? 4 : page.clock_status;
		page.time_type = i >= 5 ? (uint8_t)(i - 3) : 0;
		assert_false(witness_vmclock_s(&page, 1000000, &utc_s, &error_s, &why));
		assert_string_not_equal(why.reason, "");
	}
}

static void the_clock_of_a_network_card_is_not_asked(void **state)
{
	static const struct {
		const char *name;
		bool is_utc;
	} cases[] = {{"KVM virtual PTP\n", true}, {"hyperv\n", true}, {"ptp_vmw", true},
		{"ena-ptp-05\n", true}, {"vmclock0", true}, {"Virtio PTP type 0/variant 0\n", true},
		{"Virtio PTP type 1/variant 0\n", false}, {"e1000e ptp", false},
		{"mlx5_ptp", false}, {"", false}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(witness_ptp_is_utc(text_span(cases[i].name)), cases[i].is_utc);
}

static struct evidence evidence;

static const struct witness *measure(struct fake_root *fake, enum witness_source source)
{
	const struct vdso_image none = {.base = 0};
	struct root root;
	struct fact why = {0};

	assert_true(root_open(&root, fake ? fake->path : "/", &why));
	root.live = true;
	witnesses_measure(&root, &none, &evidence, DEADLINE_NONE);
	root_close(&root);
	assert_int_equal(evidence.witness_count, WITNESS_COUNT);
	return &evidence.witnesses[source];
}

static void the_rtc_is_compared_in_seconds(void **state)
{
	static const int64_t behind[] = {0, 2472, -3600};
	const struct witness *rtc;
	char text[32];

	memset(&evidence, 0, sizeof(evidence));
	for (size_t i = 0; i < COUNT(behind); i++) {
		snprintf(text, sizeof(text), "%lld\n", (long long)(time(NULL) + behind[i]));
		fake_root_add(*state, "/sys/class/rtc/rtc0/since_epoch", text);
		rtc = measure(*state, WITNESS_RTC);
		assert_true(fact_is_known(&rtc->fact));
		assert_true(rtc->error_s >= 1);
		/* Seconds pass while this process waits for a CPU. */
		assert_true(rtc->offset_s + (double)behind[i] > -2);
		assert_true(rtc->offset_s + (double)behind[i] < 30);
	}
	fake_root_add(*state, "/etc/adjtime", "0.0 0 0.0\n0\nLOCAL\n");
	assert_int_equal(measure(*state, WITNESS_RTC)->fact.state, FACT_ABSENT);
	fake_root_add(*state, "/sys/class/rtc/rtc0/since_epoch", "soon\n");
	assert_int_equal(measure(*state, WITNESS_RTC)->fact.state, FACT_FAILED);
}

static void ntp_is_asked_only_where_it_is_synchronized(void **state)
{
	const struct witness *ntp;

	memset(&evidence, 0, sizeof(evidence));
	evidence.ntp = (struct ntp_evidence){.fact.state = FACT_KNOWN,
		.synchronized = true,
		.offset_ns = 1500000,
		.max_error_us = 3100};
	ntp = measure(*state, WITNESS_NTP);
	assert_true(fact_is_known(&ntp->fact));
	assert_true(fabs(ntp->offset_s + 0.0015) < 1e-9);
	assert_true(fabs(ntp->error_s - 0.0031) < 1e-9);
	evidence.ntp.synchronized = false;
	assert_int_equal(measure(*state, WITNESS_NTP)->fact.state, FACT_ABSENT);
}

static bool hangs;
static unsigned long known_request; /* 0: none */

/* In place of libc's: a driver that waits for its device for good, or knows one request. */
int ioctl(int file, unsigned long request, ...)
{
	va_list arguments;
	struct ptp_sys_offset *offset;

	(void)file;
	while (hangs)
		pause();
	if (request != known_request) {
		errno = ENOTTY;
		return -1;
	}
	va_start(arguments, request);
	offset = va_arg(arguments, void *);
	va_end(arguments);
	/* The device is 60 s ahead of this clock; each reading takes 100 ms, and the third 2 ms. */
	for (unsigned i = 0; i <= 2 * offset->n_samples; i++)
		offset->ts[i] = (struct ptp_clock_time){.sec = i % 2 ? 1060 : 1000,
			.nsec = i * 50000000 - (i == 6          ? 98000000
						       : i == 5 ? 49000000
								: 0)};
	return 0;
}

/* KVM's clock, where the clocksource is tsc: the narrowest of the readings counts. */
static void a_ptp_clock_may_know_the_oldest_request_alone(void **state)
{
	const struct witness *ptp;

	memset(&evidence, 0, sizeof(evidence));
	fake_root_add(*state, "/sys/class/ptp/ptp0/clock_name", "KVM virtual PTP\n");
	fake_root_add(*state, "/dev/ptp0", "");
	known_request = PTP_SYS_OFFSET;
	ptp = measure(*state, WITNESS_PTP);
	known_request = 0;
	assert_true(fact_is_known(&ptp->fact));
	assert_true(fabs(ptp->offset_s + 60) < 1e-6);
	assert_true(fabs(ptp->error_s - 0.001) < 1e-6);
}

static void a_device_that_hangs_takes_only_what_follows(void **state)
{
	memset(&evidence, 0, sizeof(evidence));
	evidence.ntp = (struct ntp_evidence){.fact.state = FACT_KNOWN, .synchronized = true};
	fake_root_add(*state, "/sys/class/ptp/ptp0/clock_name", "KVM virtual PTP\n");
	fake_root_add(*state, "/dev/ptp0", "");
	assert_string_equal(measure(*state, WITNESS_PTP)->fact.reason, "/dev/ptp0 gives no time");
	hangs = true;
	assert_int_equal(measure(*state, WITNESS_PTP)->fact.state, FACT_LATE);
	assert_string_equal(evidence.witnesses[WITNESS_RTC].fact.reason,
		evidence.witnesses[WITNESS_PTP].fact.reason);
	assert_int_equal(evidence.witnesses[WITNESS_VMCLOCK].fact.state, FACT_ABSENT);
	assert_string_equal(evidence.vclock.fact.reason, "no vDSO, so no data page");
	assert_int_equal(evidence.base.fact.state, FACT_ABSENT);
	assert_true(fact_is_known(&evidence.witnesses[WITNESS_NTP].fact));
	hangs = false;
}

static void a_clock_that_is_not_there_has_a_reason(void **state)
{
	memset(&evidence, 0, sizeof(evidence));
	measure(*state, WITNESS_PTP);
	for (int i = 0; i < WITNESS_COUNT; i++) {
		assert_int_equal(evidence.witnesses[i].source, i);
		assert_false(fact_is_known(&evidence.witnesses[i].fact));
		assert_string_not_equal(evidence.witnesses[i].rate_ppm.fact.reason, "");
	}
	assert_false(fact_is_known(&evidence.base.fact));
}

#if defined(__x86_64__) || defined(__i386__)

/*
 * The data page of Linux 6.1 for a TSC of 2.6 GHz and this second, pvclock's page, Hyper-V's, and
 * an image of a vDSO behind them.
 */
static const struct witness *measure_pages(
	const char *clocksource, uint32_t sequence, double hyperv_hz, enum witness_source source)
{
	/* The pages around them are looked at, too. */
	const size_t size = (VVAR_PAGES_BEFORE + 1 + VVAR_PAGES_AFTER) * (size_t)4096;
	unsigned char(*around)[4096] =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char(*pages)[4096] = around + VVAR_PAGES_BEFORE - 3;
	const struct vdso_image image = {.base = (uintptr_t)pages[3], .size = sizeof(pages[3])};
	const uint32_t factors[] = {MUL >> 10, 23}; /* from 2^33 */
	const struct witness_pvclock pvclock = make_page(1, 1);
	const uint64_t hyperv[] = {sequence, (uint64_t)(1e7 / hyperv_hz * 0x1p64)};
	struct root root;
	struct fact why = {0};

	assert_ptr_not_equal(around, MAP_FAILED);
	for (size_t clock = 0; clock < 2; clock++) {
		pages[0][132 + 240 * clock] = strcmp(clocksource, "tsc") == 0         ? 1
		                              : strcmp(clocksource, "kvm-clock") == 0 ? 2
		                                                                      : 3;
		memset(pages[0] + 144 + 240 * clock, 0xff, 8);
		memcpy(pages[0] + 152 + 240 * clock, factors, sizeof(factors));
	}
	memcpy(pages[1], &pvclock, sizeof(pvclock));
	memcpy(pages[2], hyperv, sizeof(hyperv));
	memset(&evidence, 0, sizeof(evidence));
	text_clean(evidence.clocksource.current, sizeof(evidence.clocksource.current), clocksource);
	assert_true(root_open(&root, "/", &why));
	/* The second may end before the page is read. */
	for (int i = 0; i < 10 && evidence.vclock.how != VCLOCK_READ; i++) {
		const int64_t now = time(NULL);

		memcpy(pages[0] + 160, &now, sizeof(now));
		memcpy(pages[0] + 240, &now, sizeof(now));
		witnesses_measure(&root, &image, &evidence, DEADLINE_NONE);
	}
	root_close(&root);
	munmap(around, size);
	assert_int_equal(evidence.vclock.how, VCLOCK_READ);
	return &evidence.witnesses[source];
}

/* The guest takes 2.6 GHz for the TSC's rate, and the page has another one. */
static void the_rate_of_a_page_is_compared_with_the_kernels(void **state)
{
	const struct witness *witness = measure_pages("tsc", 7, 2.6e9 * 1.07, WITNESS_HYPERV);

	(void)state;
	assert_true(fact_is_known(&witness->rate_ppm.fact));
	assert_true(fabs(witness->rate_ppm.value - 70000) < 1);
	witness = measure_pages("tsc", 7, 2.6e9, WITNESS_HYPERV);
	assert_true(fabs(witness->rate_ppm.value) < 1);
	witness = measure_pages("tsc", 0, 2.6e9, WITNESS_HYPERV);
	assert_non_null(strstr(witness->rate_ppm.fact.reason, "invalidated"));
	witness = measure_pages("tsc", 7, 2.6e9, WITNESS_PVCLOCK);
	assert_true(fact_is_known(&witness->rate_ppm.fact));
	assert_true(fabs(witness->rate_ppm.value) < 1);
}

/* The page's clock is CLOCK_MONOTONIC_RAW itself: 0 would look like a rate that was confirmed. */
static void a_page_is_not_compared_with_itself(void **state)
{
	static const struct {
		const char *clocksource;
		enum witness_source own, other;
	} cases[] = {{"hyperv_clocksource_tsc_page", WITNESS_HYPERV, WITNESS_PVCLOCK},
		{"kvm-clock", WITNESS_PVCLOCK, WITNESS_HYPERV}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		measure_pages(cases[i].clocksource, 7, 2.6e9, 0);
		assert_non_null(
			strstr(evidence.witnesses[cases[i].own].rate_ppm.fact.reason, "this page"));
		assert_non_null(strstr(
			evidence.witnesses[cases[i].other].rate_ppm.fact.reason, "counter's own"));
	}
}

#endif

/* In a KVM guest: two readings have one base, and its age grows as the clock does. */
static void the_base_of_this_guest_stands_still(void **state)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	struct base_evidence before;
	struct call_table calls;
	struct vdso_image image;
	struct root root;
	struct fact why = {0};

	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	fact_set_flag(&evidence.host.kvm_clock_offered, true);
	text_clean(evidence.clocksource.current, sizeof(evidence.clocksource.current), "tsc");
	assert_true(root_open(&root, "/", &why));
	witnesses_measure(&root, &image, &evidence, DEADLINE_NONE);
	if (!fact_is_known(&evidence.base.fact)) {
		root_close(&root);
		unit_skip("%s", evidence.base.fact.reason);
	}
	before = evidence.base;
	nanosleep(&pause, NULL);
	witnesses_measure(&root, &image, &evidence, DEADLINE_NONE);
	root_close(&root);
	assert_int_equal(evidence.base.ticks, before.ticks);
	assert_true(evidence.base.at_s == before.at_s);
	assert_true(evidence.base.missed_s == before.missed_s);
	assert_true(evidence.base.ago_s - before.ago_s > 0.049);
	assert_true(evidence.base.ago_s - before.ago_s < 60);
	assert_true(fabs(evidence.base.uptime_s - before.uptime_s) < 0.01);
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_become_nanoseconds),
		cmocka_unit_test(a_page_that_was_never_written_is_not_believed),
		cmocka_unit_test(a_page_is_copied_to_its_last_byte),
		cmocka_unit_test(the_history_of_a_guest_is_in_the_base),
		cmocka_unit_test(the_error_of_a_base_grows_with_its_age),
		cmocka_unit_test(vmclock_has_the_hosts_time),
		cmocka_unit_test(a_vmclock_without_a_time_is_not_one),
		cmocka_unit_test(the_clock_of_a_network_card_is_not_asked),
		IN_TREE(the_rtc_is_compared_in_seconds),
		IN_TREE(ntp_is_asked_only_where_it_is_synchronized),
		IN_TREE(a_clock_that_is_not_there_has_a_reason),
		IN_TREE(a_ptp_clock_may_know_the_oldest_request_alone),
		IN_TREE(a_device_that_hangs_takes_only_what_follows),
#if defined(__x86_64__) || defined(__i386__)
		cmocka_unit_test(the_rate_of_a_page_is_compared_with_the_kernels),
		cmocka_unit_test(a_page_is_not_compared_with_itself),
#endif
		cmocka_unit_test(the_base_of_this_guest_stands_still),
	};

	return cmocka_run_group_tests_name("witness", tests, NULL, NULL);
}
