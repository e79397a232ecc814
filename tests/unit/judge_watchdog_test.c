/* SPDX-License-Identifier: MIT */
/*
 * Tests of judge/watchdog: which clock the figures of real kernel logs blame, the TSC or the
 * watchdog's reference.
 */
#include <stdio.h>
#include <string.h>

#include "judge/rules.h"
#include "unit/dice.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

#define LINES_MAX 4

/* The figures are those of the log named; a rate beside them is the CPU's nominal one. */
static const struct log {
	const char *name; /* where it was published */
	const char *lines[LINES_MAX];
	const char *cpu; /* brand; NULL: none with a rate */
	bool metal;
	enum watchdog_culprit culprit;
	unsigned wraps;
	double seconds; /* on which both agree; 0: not looked at */
} logs[] = {
	{"lkml 2021-11, Feng Tang: 471 s on a server, hpet of 25 MHz",
		{"clocksource: 'hpet' wd_nsec: 0 wd_now: ffd70be2 wd_last: 40da633b mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 471766594285 cs_now: 44f62c184e9 cs_last: "
			"394a7a43771 mask: ffffffffffffffff"},
		NULL, true, WATCHDOG_REFERENCE, 2, 471.767},
	{"lkml 2021-11, Feng Tang: 5 s against acpi_pm",
		{"clocksource: 'acpi_pm' wd_nsec: 312227950 wd_now: 92367f wd_last: 8128bd mask: "
		 "ffffff",
			"clocksource: 'tsc' cs_nsec: 4999196389 cs_now: 9e811223a9754 cs_last: "
			"9e80e767df194 mask: ffffffffffffffff"},
		NULL, true, WATCHDOG_REFERENCE, 1, 4.999},
	{"a Z390 board that hung for 27 minutes",
		{"clocksource:                       'hpet' wd_now: 80797d69 wd_last: 68a4a043 "
		 "mask: ffffffff",
			"clocksource:                       'tsc' cs_now: 13b05dc7db8ba cs_last: "
			"135b1e5c42622 mask: ffffffffffffffff",
			"tsc: Detected 3600.000 MHz processor",
			"hpet0: 8 comparators, 64-bit 24.000000 MHz counter"},
		NULL, true, WATCHDOG_REFERENCE, 9, 1627.3},
	/* 3 s is more than half of acpi_pm's range, which the kernel takes for 0. */
	{"oxidecomputer/propolis#328",
		{"clocksource:                       'acpi_pm' wd_now: f4b7d wd_last: 6c50c5 mask: "
		 "ffffff",
			"clocksource:                       'tsc' cs_now: 1ca324f62cac cs_last: "
			"1ca0b7a50c00 mask: ffffffffffffffff"},
		"Ryzen 9 3950X @ 3.50GHz", false, WATCHDOG_REFERENCE, 0, 2.984},
	{"the same without a rate: it is that of no slow or impossible CPU",
		{"clocksource: 'acpi_pm' wd_now: f4b7d wd_last: 6c50c5 mask: ffffff",
			"clocksource: 'tsc' cs_now: 1ca324f62cac cs_last: 1ca0b7a50c00 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_REFERENCE, 0, 2.984},
	{"the same readings of a TSC at 500 MHz would be those of no CPU",
		{"clocksource: 'acpi_pm' wd_now: f4b7d wd_last: 6c50c5 mask: ffffff",
			"clocksource: 'tsc' cs_now: 1058ed600e cs_last: 1000000000 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_UNDETERMINED, 0, 0},
	{"the same readings of a TSC at 7 GHz would be those of no CPU",
		{"clocksource: 'acpi_pm' wd_now: f4b7d wd_last: 6c50c5 mask: ffffff",
			"clocksource: 'tsc' cs_now: 14dcfb40ce cs_last: 1000000000 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_UNDETERMINED, 0, 0},
	{"lkml 2021-11, Feng Tang: a 5.5 server, with an hpet of 24 MHz",
		{"clocksource: 'hpet' wd_now: 25272026 wd_last: 2e9ce418 mask: ffffffff",
			"clocksource: 'tsc' cs_now: 95b400003fdf1 cs_last: 95ae7ed7c33f7 mask: "
			"ffffffffffffffff",
			"hpet0: 8 comparators, 64-bit 24.000000 MHz counter"},
		NULL, true, WATCHDOG_REFERENCE, 0, 172.34},
	{"fbelavenuto/arpl#244: a guest of VMware without a rate",
		{"clocksource: 'acpi_pm' wd_now: 8d5199 wd_last: 60e92e mask: ffffff",
			"clocksource: 'tsc' cs_now: 1981c973dc9 cs_last: 1940283c820 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_UNDETERMINED, 0, 0},
	/* With a rate that may be off by 1%, 100 s fit some number of wraps of 4.7 s. */
	{"a wrap that chance would show",
		{"clocksource: 'acpi_pm' wd_now: 469e99 wd_last: 100000 mask: ffffff",
			"clocksource: 'tsc' cs_now: 3e90edd000 cs_last: 1000000000 mask: "
			"ffffffffffffffff"},
		"Intel(R) Xeon(R) CPU E5-2660 v4 @ 2.00GHz", true, WATCHDOG_UNDETERMINED, 0, 0},
	/* The kernel counts an interval of less than half of the range. */
	{"a third of the range of hpet",
		{"clocksource: 'hpet' wd_now: 60000000 wd_last: 10000000 mask: ffffffff",
			"clocksource: 'tsc' cs_now: 2a0d0d04aa cs_last: 1000000000 mask: ffffffffffffffff",
			"tsc: Detected 2000.000 MHz processor",
			"hpet0: 8 comparators, 64-bit 24.000000 MHz counter"},
		NULL, true, WATCHDOG_CHECK, 0, 0},
	/* The TSC's figures are not in the mail. */
	{"lkml 2019-07: an hpet that does not count",
		{"clocksource: 'hpet' wd_now: 33 wd_last: 33 mask: ffffffff",
			"clocksource: 'tsc-early' cs_now: 4c8a9b cs_last: 3f21 mask: "
			"ffffffffffffffff"},
		NULL, true, WATCHDOG_REFERENCE, 0, 0},
	/* Found by fuzzing: its rate would be 0 / 0.5 s. */
	{"a reference whose readings differ above its mask only",
		{"clocksource: 'hpet' wd_nsec: 503029520 wd_now: 148a38f74 wd_last: 48a38f74 mask: "
		 "ffffffff",
			"clocksource: 'tsc' cs_nsec: 510000000 cs_now: 1ca324f62cac cs_last: "
			"1ca0b7a50c00 mask: ffffffffffffffff"},
		NULL, true, WATCHDOG_REFERENCE, 0, 0},
	{"bugzilla 203183: Coffee Lake's hpet in PC10",
		{"clocksource: 'hpet' wd_now: 54b0f25 wd_last: 4e9fe44 mask: ffffffff",
			"clocksource: 'tsc' cs_now: 3e0e2debe0 cs_last: 3daab92440 mask: "
			"ffffffffffffffff",
			"hpet0: 8 comparators, 64-bit 24.000000 MHz counter"},
		"Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz", true, WATCHDOG_REFERENCE, 0, 0},
	{"lkml 2019, Konstantin Khlebnikov: hpet read as all ones",
		{"clocksource: 'hpet' wd_now: ffffffff wd_last: 19ec5720 mask: ffffffff",
			"clocksource: 'tsc' cs_now: 69b8a15f0aed cs_last: 69b862c9947d mask: "
			"ffffffffffffffff"},
		"Intel(R) Xeon(R) CPU E5-2660 v4 @ 2.00GHz", true, WATCHDOG_REFERENCE, 0, 0},
	{"projectacrn/acrn-kernel#257",
		{"clocksource: 'refined-jiffies' wd_now: fffb7018 wd_last: fffb6e9d mask: ffffffff",
			"clocksource: 'tsc-early' cs_now: 68a6a7070f6a0 cs_last: 68a69ab6f74d6 "
			"mask: ffffffffffffffff"},
		NULL, true, WATCHDOG_REFERENCE, 0, 0},
	{"lkml 2021-11: refined-jiffies of 5.15",
		{"clocksource: 'refined-jiffies' wd_nsec: 503923392 wd_now: fffb73f8 wd_last: "
		 "fffb7200 mask: ffffffff",
			"clocksource: 'tsc-early' cs_nsec: 588021368 cs_now: 581c1eb378 cs_last: "
			"57d9aad9e8 mask: ffffffffffffffff"},
		NULL, true, WATCHDOG_REFERENCE, 0, 0},
	/* 668 us of 14.5 s: 644649553508 of 6.8 skips such a check. */
	{"lkml 2024-01, Jiri Wiesner: eight nodes",
		{"clocksource: 'hpet' wd_nsec: 14523447520 wd_now: 5a749706 wd_last: 45adf1e0 "
		 "mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 14524115132 cs_now: 515ce2c5a96caa cs_last: "
			"515cd9a9d83918 mask: ffffffffffffffff"},
		NULL, true, WATCHDOG_CHECK, 0, 0},
	/* The hypervisor sets kvm-clock back to where it was, and the TSC has gone on. */
	{"a 7.2 guest stopped for 5 s by QEMU's monitor",
		{"clocksource: Marking clocksource tsc unstable due to frequency skew",
			"clocksource: Watchdog               kvm-clock interval:        503995129ns",
			"clocksource: Clocksource                  tsc interval:       1894661885ns"},
		NULL, false, WATCHDOG_PAUSED, 0, 0},
	{"lkml 2025, Daniel Blueman: a 1,800-CPU server under load",
		{"clocksource: 'hpet' wd_nsec: 503029760 wd_now: 48a38f74 wd_last: 47e3ab74 mask: "
		 "ffffffff",
			"clocksource: 'tsc' cs_nsec: 503466648 cs_now: 3224653e7bd cs_last: "
			"3220d4f8d57 mask: ffffffffffffffff"},
		NULL, true, WATCHDOG_CHECK, 0, 0},
	/* The TSC's count was far smaller after than before. */
	{"QubesOS/qubes-issues#2044",
		{"'xen' wd_now: f6aa707c0c8f wd_last: f6a8d4762faa mask: ffffffffffffffff",
			"'tsc' cs_now: 1b6861d00 cs_last: 21d7172f2b8c4 mask: ffffffffffffffff"},
		NULL, false, WATCHDOG_TSC, 0, 0},
	/* 10 hours or more, whatever the CPU. */
	{"cyring/CoreFreq#308",
		{"clocksource: 'hpet' wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff",
			"clocksource: 'tsc' cs_now: 103b19f57d0eb5 cs_last: fc461fd0ba3a6 mask: "
			"ffffffffffffffff"},
		NULL, true, WATCHDOG_TSC, 0, 0},
	{"a Ryzen that runs 1,770 ppm fast",
		{"clocksource: 'hpet' wd_nsec: 495412266 wd_now: 74b2d4c wd_last: 6def0b2 mask: "
		 "ffffffff",
			"clocksource: 'tsc' cs_nsec: 496288695 cs_now: 1a21e4cda2 cs_last: "
			"19b1b24352 mask: ffffffffffffffff"},
		NULL, true, WATCHDOG_RATES, 0, 0},
	{"QEMU without KVM",
		{"clocksource: 'hpet' wd_nsec: 495327040 wd_now: 1212d50e wd_last: f1f05ee mask: "
		 "ffffffff",
			"clocksource: 'tsc' cs_nsec: 492961151 cs_now: 2a5e6e8a8 cs_last: "
			"24f61a7a1 mask: ffffffffffffffff"},
		NULL, false, WATCHDOG_RATES, 0, 0},
	/* 2143 ppm: no limit is meant to allow that, however late the check came. */
	{"a guest of 5.10 whose clocks agree within 0.2% after 14 s is not paused",
		{"clocksource: 'hpet' wd_nsec: 14000000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 14030000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_RATES, 0, 0},
	{"a guest whose clocks agree within 0.25% after 1.2 s is not paused",
		{"clocksource: 'hpet' wd_nsec: 1200000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 1203000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_RATES, 0, 0},
	{"a guest whose clocks agree within 500 ppm after 14 s",
		{"clocksource: 'hpet' wd_nsec: 14000000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 14007000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_CHECK, 0, 0},
	/* 7.2's limit is a share of the interval, and its reads are at most 50 us apart. */
	{"7.2: 600 ppm are no delayed read",
		{"clocksource: Watchdog hpet interval: 500000000ns",
			"clocksource: Clocksource tsc interval: 500300000ns"},
		NULL, true, WATCHDOG_RATES, 0, 0},
	{"7.2: 700 ppm after 14 s are no late check",
		{"clocksource: Watchdog hpet interval: 14000000000ns",
			"clocksource: Clocksource tsc interval: 14009800000ns"},
		NULL, true, WATCHDOG_RATES, 0, 0},
	{"7.2: a guest's 2000 ppm after 3 s are no pause",
		{"clocksource: Watchdog hpet interval: 3000000000ns",
			"clocksource: Clocksource tsc interval: 3006000000ns"},
		NULL, false, WATCHDOG_RATES, 0, 0},
	{"7.2: a reference that stands still",
		{"clocksource: Watchdog hpet interval: 0ns",
			"clocksource: Clocksource tsc interval: 503995129ns"},
		NULL, true, WATCHDOG_REFERENCE, 0, 0},
	/* CPUs of other rates: 2.4, 1.75 and 0.75 times. A pause could show the same figures. */
	{"a guest whose TSC runs 2.4 times as fast as before",
		{"clocksource: 'hpet' wd_nsec: 503000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 1207000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_RATES, 0, 0},
	{"a guest whose TSC runs 1.75 times as fast, by which its timers run",
		{"clocksource: 'hpet' wd_nsec: 288000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 504000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_RATES, 0, 0},
	{"a guest whose TSC runs at three quarters of its rate",
		{"clocksource: 'kvm-clock' wd_nsec: 504000000 wd_now: 9 wd_last: 1 mask: "
		 "ffffffffffffffff",
			"clocksource: 'tsc' cs_nsec: 378000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_RATES, 0, 0},
	{"the same on a machine, which is not moved",
		{"clocksource: 'hpet' wd_nsec: 503000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 378000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, true, WATCHDOG_TSC, 0, 0},
	/* 3.5 GHz by CPUID, and 4 MHz in fact. */
	{"bochs-emu/Bochs#791",
		{"clocksource: 'hpet' wd_nsec: 503995129 wd_now: 5f5e100 wd_last: 2faf080 mask: "
		 "ffffffff",
			"clocksource: 'tsc-early' cs_nsec: 575994 cs_now: 7b1f00 cs_last: 5c4b40 "
			"mask: ffffffffffffffff"},
		NULL, false, WATCHDOG_TSC, 0, 0},
	{"a guest whose TSC did not count at all, while the check came in time",
		{"clocksource: 'hpet' wd_nsec: 504000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 0 cs_now: 9 cs_last: 9 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_TSC, 0, 0},
	{"a guest whose reference lost time, while the check came in time",
		{"clocksource: 'hpet' wd_nsec: 120000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 523000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_REFERENCE, 0, 0},
	{"6.12: the line on the skew alone, of a TSC that did not count",
		{"clocksource:                       Clocksource 'tsc' skewed -503966000 ns (-503 "
		 "ms) over watchdog 'hpet' interval of 503966000 ns (503 ms)"},
		NULL, true, WATCHDOG_TSC, 0, 0},
	{"6.12: the line on the skew alone, of a delayed read",
		{"clocksource: Clocksource 'tsc' skewed 436888 ns (0 ms) over watchdog 'hpet' "
		 "interval of 503029760 ns (503 ms)"},
		NULL, true, WATCHDOG_CHECK, 0, 0},
	{"a guest neither of whose clocks shows that the check came in time",
		{"clocksource: 'hpet' wd_nsec: 120000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 9000000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_UNDETERMINED, 0, 0},
	{"a guest whose TSC stopped while it was paused for 101 s",
		{"clocksource: 'hpet' wd_nsec: 101503995129 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 503995129 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_PAUSED, 0, 0},
	{"a guest whose TSC stopped while it was paused",
		{"clocksource: 'hpet' wd_nsec: 9000000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 503000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_PAUSED, 0, 0},
	{"a check that came late in a guest that was paused, too",
		{"clocksource: 'hpet' wd_nsec: 3000000000 wd_now: 9 wd_last: 1 mask: ffffffff",
			"clocksource: 'tsc' cs_nsec: 14000000000 cs_now: 9 cs_last: 1 mask: "
			"ffffffffffffffff"},
		NULL, false, WATCHDOG_UNDETERMINED, 0, 0},
	/* 5e9 counts in 50 s: one wrap, and 0x2a05f200 more. */
	{"a 4.18 guest on QEMU, whose hpet wraps after 42.9 s",
		{"clocksource: 'hpet' wd_now: 2a05f200 wd_last: 0 mask: ffffffff",
			"clocksource: 'tsc' cs_now: 174876e800 cs_last: 0 mask: ffffffffffffffff",
			"tsc: Detected 2000.000 MHz processor"},
		NULL, false, WATCHDOG_REFERENCE, 1, 50},
	/* hpet counted 4 s where the TSC counted 0.4 s: either may be wrong. */
	{"sozu-proxy/sozu#500",
		{"clocksource:                       'hpet' wd_now: 5ca548fd wd_last: 5932c25f "
		 "mask: ffffffff",
			"clocksource:                       'tsc' cs_now: bb8a0f7168a0d4 cs_last: "
			"bb8a0f234df0c3 mask: ffffffffffffffff"},
		NULL, true, WATCHDOG_UNDETERMINED, 0, 0},
	{"madgraph5/madgraph4gpu#116: the reference's line is gone",
		{"tsc: Detected 2100.055 MHz processor",
			"clocksource: 'tsc-early' cs_now: 4208573b47b76a cs_last: 42085716e25bb4 "
			"mask: ffffffffffffffff"},
		NULL, false, WATCHDOG_UNDETERMINED, 0, 0},
};

static void make_evidence(struct evidence *evidence, const struct log *log)
{
	evidence_make_falling_back(evidence, "hpet");
	for (size_t i = 0; i < LINES_MAX && log->lines[i]; i++)
		evidence_add_log(evidence, log->lines[i]);
	fact_set_text(&evidence->host.cpu, log->cpu ? log->cpu : "no rate");
	if (log->metal)
		evidence->host.hypervisor = (struct text_fact){.fact.state = FACT_ABSENT};
}

static void the_culprit_is_named(void **state)
{
	static struct evidence evidence;
	const struct log *log = *state;
	struct watchdog_report report;

	make_evidence(&evidence, log);
	report = watchdog_explain(&evidence);
	assert_non_null(report.line);
	assert_int_equal(report.culprit, log->culprit);
	assert_int_equal(report.wraps, log->wraps);
	if (log->seconds > 0)
		assert_true(report.true_seconds > log->seconds - 0.05 &&
			    report.true_seconds < log->seconds + 0.05);
}

static void without_figures_no_culprit_is_named(void **state)
{
	static struct evidence evidence;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	assert_null(watchdog_explain(&evidence).line);
	evidence_add_log(&evidence, "Clocksource tsc unstable (delta = -95170507948 ns)");
	evidence_add_log(&evidence, "tsc: Marking TSC unstable due to clocksource watchdog");
	assert_null(watchdog_explain(&evidence).line);
	/* Another clock's report is none on the TSC. */
	evidence_add_log(&evidence, "'jiffies' wd_nsec: 500000000 wd_now: 9 wd_last: 1 mask: ff");
	evidence_add_log(&evidence, "'MIPS' cs_nsec: 940634468 cs_now: 9 cs_last: 1 mask: ff");
	assert_null(watchdog_explain(&evidence).line);
}

/* Its limit is a share of the interval: no difference is due to when the check was made. */
static void from_7_2_on_no_difference_is_a_false_alarm(void **state)
{
	static struct evidence evidence;
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 5000; round++) {
		unsigned long long reference = 100000000 + 10ull * dice_roll(&dice, 2000000000);
		unsigned long long change = reference / 100000 * dice_roll(&dice, 20000);
		struct watchdog_report report;
		char text[KERNEL_LOG_TEXT_SIZE];

		evidence_make_falling_back(&evidence, "hpet");
		snprintf(text, sizeof(text), "clocksource: Watchdog hpet interval: %lluns",
			reference);
		evidence_add_log(&evidence, text);
		snprintf(text, sizeof(text), "clocksource: Clocksource tsc interval: %lluns",
			dice_roll(&dice, 2) ? reference + change : reference - change);
		evidence_add_log(&evidence, text);
		report = watchdog_explain(&evidence);
		assert_non_null(report.line);
		assert_int_not_equal(report.culprit, WATCHDOG_CHECK);
		/* More may be a reference that stopped, as hpets do. */
		if (change < reference / 25)
			assert_int_equal(report.culprit, WATCHDOG_RATES);
	}
}

/* A log may be cut anywhere, and pasted with words lost: a figure is read, or there is none. */
static void a_report_that_is_cut_or_lacks_a_word_names_no_other_culprit(void **state)
{
	static const struct {
		const char *before, *line; /* the line that is changed comes last */
		enum watchdog_culprit culprit;
	} reports[] = {
		{"clocksource: 'acpi_pm' wd_nsec: 312227950 wd_now: 92367f wd_last: 8128bd mask: "
		 "ffffff",
			"clocksource: 'tsc' cs_nsec: 4999196389 cs_now: 9e811223a9754 cs_last: "
			"9e80e767df194 mask: ffffffffffffffff",
			WATCHDOG_REFERENCE},
		{"clocksource: Watchdog hpet interval: 503995129ns",
			"clocksource: Clocksource tsc interval: 524630000ns", WATCHDOG_RATES},
		{"clocksource: watchdog: Marking clocksource 'tsc' as unstable",
			"clocksource: Clocksource 'tsc' skewed -15000000 ns (-15 ms) over watchdog "
			"'hpet' interval of 503995129 ns (503 ms)",
			WATCHDOG_RATES},
	};
	static struct evidence evidence;
	struct watchdog_report report;

	(void)state;
	for (size_t i = 0; i < COUNT(reports); i++) {
		const char *line = reports[i].line;
		size_t length = strlen(line), unread = 0;

		/* Each prefix, and then the line without each of its words. */
		for (size_t at = 0; at < 2 * length; at++) {
			size_t from = at < length ? at : at - length;
			size_t left_out = at < length ? length : strcspn(line + from, " ");
			char text[KERNEL_LOG_TEXT_SIZE];

			if (at > length && line[from - 1] != ' ')
				continue;
			evidence_make_falling_back(&evidence, "hpet");
			fact_set_text(&evidence.host.cpu, "no rate");
			evidence.host.hypervisor = (struct text_fact){.fact.state = FACT_ABSENT};
			evidence_add_log(&evidence, reports[i].before);
			snprintf(text, sizeof(text), "%.*s%s", (int)from, line,
				left_out < length - from ? line + from + left_out : "");
			evidence_add_log(&evidence, text);
			report = watchdog_explain(&evidence);
			unread += !report.line;
			if (report.culprit != WATCHDOG_UNDETERMINED &&
				report.culprit != reports[i].culprit)
				fail_msg("%d: %s", (int)report.culprit, text);
		}
		assert_true(unread > 10);
	}
}

/* Whatever may write to /dev/kmsg writes the log. */
static void any_figures_are_parsed_safely(void **state)
{
	static const char *const names[] = {"hpet", "acpi_pm", "tsc", "kvm-clock", "", "'"};
	static struct evidence evidence;
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 5000; round++) {
		evidence_make_falling_back(&evidence, "hpet");
		for (int side = 0; side < 2; side++) {
			char text[KERNEL_LOG_TEXT_SIZE];
			const char *mark = side ? "cs" : "wd";
			int shift = (int)dice_roll(&dice, 64);

			snprintf(text, sizeof(text),
				"'%s' %s_nsec: %llu %s_now: %llx %s_last: %llx mask: %llx",
				names[dice_roll(&dice, COUNT(names))], mark,
				(unsigned long long)dice_word(&dice) >> shift, mark,
				(unsigned long long)dice_word(&dice), mark,
				(unsigned long long)dice_word(&dice),
				(unsigned long long)dice_word(&dice) >> shift);
			evidence_add_log(&evidence, text);
		}
		assert_in_range(
			watchdog_explain(&evidence).culprit, WATCHDOG_UNDETERMINED, WATCHDOG_RATES);
	}
}

/* As tsc_refine_calibration_work() logs them from 6.3 on. */
static void a_rate_without_a_figure_is_none(void **state)
{
	static const struct {
		const char *stated, *measured;
		double stated_mhz;
	} lines[] = {{"tsc: Previous calibrated TSC freq:\t 2100.000 MHz", "2000.070 MHz", 2100},
		{"tsc: Previous calibrated TSC freq:\t MHz", "2000.070 MHz", 0},
		{"tsc: Previous calibrated TSC freq:\t 2.1.0 MHz", "2000.070 MHz", 0},
		{"tsc: Previous calibrated TSC freq:\t 2100.000 MHz", "MHz", 0},
		{"2100.000 MHz was it", "2000.070 MHz", 0}};
	static struct evidence evidence;

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		char text[KERNEL_LOG_TEXT_SIZE];
		struct tsc_rates rates;

		evidence_make_healthy(&evidence);
		evidence.kernel_log.count = 0;
		evidence_add_log(&evidence, lines[i].stated);
		snprintf(text, sizeof(text), "tsc: TSC freq recalibrated by [HPET]:\t %s",
			lines[i].measured);
		evidence_add_log(&evidence, text);
		rates = tsc_rates_find(&evidence);
		assert_true(rates.stated == lines[i].stated_mhz);
		assert_true((rates.measured > 0) == (rates.stated > 0));
	}
}

int main(void)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(without_figures_no_culprit_is_named),
		cmocka_unit_test(from_7_2_on_no_difference_is_a_false_alarm),
		cmocka_unit_test(a_report_that_is_cut_or_lacks_a_word_names_no_other_culprit),
		cmocka_unit_test(any_figures_are_parsed_safely),
		cmocka_unit_test(a_rate_without_a_figure_is_none),
	};

	return unit_run_rows("the log names the culprit", the_culprit_is_named, logs) +
	       cmocka_run_group_tests_name("watchdog", plain, NULL, NULL);
}
