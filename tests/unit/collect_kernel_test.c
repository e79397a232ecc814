/* SPDX-License-Identifier: MIT */
/*
 * Tests of collect/host and kernel_log: the version, the boot parameters and the log lines about
 * clocks.
 */
#include <errno.h>
#include <math.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/personality.h>
#include <sys/time.h>
#include <sys/utsname.h>

#include "collect/parts.h"
#include "unit/dice.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

#define ACTION_READ_ALL 3 /* SYSLOG_ACTION_READ_ALL, which has no name in the C library */

static void assert_picked(const char *line, const char *wanted)
{
	char picked[FACT_TEXT_SIZE];

	assert_true(kernel_pick_parameters(text_span(line), picked, sizeof(picked)));
	assert_string_equal(picked, wanted);
}

/* "xtsc=..." or "root=tsc" are no order to the clock. */
static void only_parameters_that_bear_on_the_clock_are_picked(void **state)
{
	(void)state;
	assert_picked("quiet nopv nopvspin xen_nopv", "nopv xen_nopv");
	assert_picked("", "");
	assert_picked("BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro quiet\n", "");
	assert_picked("ro clocksource=hpet tsc=reliable quiet\n", "clocksource=hpet tsc=reliable");
	assert_picked("notsc vdso=0 no-kvmclock-vsyscall", "notsc vdso=0 no-kvmclock-vsyscall");
	assert_picked("xtsc=1 root=tsc tscs clocksource.foo=1 xnotsc", "");
	assert_picked("\ttsc=unstable  \n", "tsc=unstable");
}

/* Half a parameter would be another parameter: "clocksource=h". */
static void a_parameter_that_does_not_fit_is_omitted(void **state)
{
	char picked[16];

	(void)state;
	assert_false(
		kernel_pick_parameters(text_span("clocksource=hyperv_clocksource_tsc_page notsc"),
			picked, sizeof(picked)));
	assert_string_equal(picked, "notsc");
	assert_false(
		kernel_pick_parameters(text_span("notsc tsc=unstable"), picked, sizeof(picked)));
	assert_string_equal(picked, "notsc");
	assert_false(kernel_pick_parameters(text_span("notsc"), picked, 1));
	assert_string_equal(picked, "");
}

static void assert_words_whole(const char *picked, const char *const *words, size_t count)
{
	struct span rest = text_span(picked), word;

	while (text_next_word(&rest, &word)) {
		size_t i = 0;

		while (i < count && !text_equals(word, words[i]))
			i++;
		assert_true(i < count && !text_equals(word, "quiet"));
	}
}

static void any_command_line_fits_its_room(void **state)
{
	static const char *const words[] = {"tsc=unstable", "notsc", "quiet",
		"clocksource=hyperv_clocksource_tsc_page", "vdso=0"};
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 3000; round++) {
		char line[1024] = "", picked[64];
		size_t size = dice_roll(&dice, sizeof(picked)) + 1;

		for (uint64_t i = dice_roll(&dice, 12); i > 0; i--) {
			strcat(line, words[dice_roll(&dice, COUNT(words))]);
			strcat(line, " ");
		}
		memset(picked, 'x', sizeof(picked));
		kernel_pick_parameters(text_span(line), picked, size);
		assert_in_range(strlen(picked), 0, size - 1);
		assert_words_whole(picked, words, COUNT(words));
	}
}

/* An ordinary host of low latency, and one whose parameters are more than are kept. */
static void parameters_that_do_not_fit_are_not_known(void **state)
{
	static const char many[] =
		"highres=on nohz=on idle=poll processor.max_cstate=1 intel_idle.max_cstate=0 "
		"hpet=force clocksource.verify_n_cpus=-1 acpi=force notsc";
	static struct host_evidence host;
	struct fake_root *fake = *state;
	char line[FACT_TEXT_SIZE + 32];

	fake_root_add(fake, "/proc/cmdline", many);
	kernel_collect(&fake->root, &host);
	assert_true(fact_is_known(&host.boot.fact));
	assert_non_null(strstr(host.boot.value, "notsc"));
	memset(&host, 0, sizeof(host));
	snprintf(line, sizeof(line), "tsc=%0*d notsc", FACT_TEXT_SIZE, 0);
	fake_root_add(fake, "/proc/cmdline", line);
	kernel_collect(&fake->root, &host);
	assert_int_equal(host.boot.fact.state, FACT_FAILED);
}

/* A container may have /dev/null there: no absent parameter follows from that. */
static void an_empty_command_line_is_not_known(void **state)
{
	static struct host_evidence host;
	struct fake_root *fake = *state;

	fake_root_add(fake, "/proc/cmdline", "\n");
	kernel_collect(&fake->root, &host);
	assert_int_equal(host.boot.fact.state, FACT_ABSENT);
}

static void a_captured_kernel_is_read_from_its_files(void **state)
{
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	fake_root_add(fake, "/proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
	fake_root_add(fake, "/proc/sys/kernel/version", "#1 SMP Debian 6.1.119-1\n");
	fake_root_add(fake, "/proc/sys/kernel/arch", "aarch64\n");
	fake_root_add(fake, "/proc/cmdline", "quiet notsc\n");
	fake_root_add(fake, "/etc/os-release", "ID=x\nPRETTY_NAME=\"Some Linux 1 (a)\"\n");
	kernel_collect(&fake->root, &host);
	assert_true(fact_is_known(&host.distribution.fact));
	assert_string_equal(host.distribution.value, "Some Linux 1 (a)");
	assert_string_equal(host.kernel.value, "6.1.0-28-amd64");
	assert_string_equal(host.kernel_build.value, "#1 SMP Debian 6.1.119-1");
	assert_string_equal(host.arch.value, "aarch64");
	assert_string_equal(host.boot.value, "notsc");
	assert_true(fact_is_known(&host.kernel.fact) && fact_is_known(&host.arch.fact));
}

/* `setarch linux32` names the machine otherwise; the kernel stays what it is. */
static void a_personality_does_not_change_the_architecture(void **state)
{
	struct root root;
	struct fact why = {0};
	struct host_evidence plain = {0}, under = {0};
	int own = personality(0xffffffff);

	(void)state;
	assert_true(root_open(&root, "/", &why));
	kernel_collect(&root, &plain);
	if (own < 0 || personality(PER_LINUX32) < 0) {
		root_close(&root);
		unit_skip("the personality cannot be changed here");
	}
	kernel_collect(&root, &under);
	assert_int_equal(personality((unsigned long)own), PER_LINUX32);
	root_close(&root);
	assert_string_equal(under.arch.value, plain.arch.value);
}

/* An sosreport keeps the one line. */
static void the_version_line_will_do(void **state)
{
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	fake_root_add(fake, "/proc/version",
		"Linux version 5.4.0-1078-azure (buildd@lcy02) (gcc version 9.4.0) "
		"#81~18.04.1-Ubuntu SMP Mon Apr 25 23:16:13 UTC 2022\n");
	kernel_collect(&fake->root, &host);
	assert_true(fact_is_known(&host.kernel.fact));
	assert_string_equal(host.kernel.value, "5.4.0-1078-azure");
	assert_string_equal(
		host.kernel_build.value, "#81~18.04.1-Ubuntu SMP Mon Apr 25 23:16:13 UTC 2022");
}

/* What uname -a prints on Debian, RHEL and Alpine, and what is none of it. */
static const struct {
	const char *line, *kernel, *build, *arch;
} unames[] = {
	{"Linux vm 6.1.0-28-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22) x86_64 "
	 "GNU/Linux\n",
		"6.1.0-28-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)", "x86_64"},
	{"Linux db1 3.10.0-1160.el7.x86_64 #1 SMP Mon Oct 19 16:18:59 UTC 2020 x86_64 x86_64 "
	 "x86_64 GNU/Linux\n",
		"3.10.0-1160.el7.x86_64", "#1 SMP Mon Oct 19 16:18:59 UTC 2020", "x86_64"},
	{"Linux a 6.6.58-0-lts #1-Alpine SMP 2024-10-25 aarch64 Linux", "6.6.58-0-lts",
		"#1-Alpine SMP 2024-10-25", "aarch64"},
	{"Linux", NULL, NULL, NULL},
	{"Linux ", NULL, NULL, NULL},
	{"timeout: failed to run command 'uname -a'\n", NULL, NULL, NULL},
	{"", NULL, NULL, NULL},
};

static void check_text(const struct text_fact *fact, const char *text)
{
	assert_int_equal(fact_is_known(&fact->fact), text != NULL);
	if (text)
		assert_string_equal(fact->value, text);
}

static void an_sosreport_has_uname_in_a_file(void **state)
{
	struct fake_root *fake = *state;

	for (size_t i = 0; i < COUNT(unames); i++) {
		struct host_evidence host = {0};

		fake_root_add(fake, "/sos_commands/kernel/uname_-a", unames[i].line);
		kernel_collect(&fake->root, &host);
		check_text(&host.kernel, unames[i].kernel);
		check_text(&host.kernel_build, unames[i].build);
		check_text(&host.arch, unames[i].arch);
	}
}

static void an_empty_tree_says_what_is_missing(void **state)
{
	struct fake_root *fake = *state;
	struct host_evidence host = {0};

	kernel_collect(&fake->root, &host);
	assert_int_equal(host.kernel.fact.state, FACT_ABSENT);
	assert_int_equal(host.arch.fact.state, FACT_ABSENT);
	assert_int_equal(host.boot.fact.state, FACT_ABSENT);
	assert_non_null(strstr(host.boot.fact.reason, "/proc/cmdline"));
}

/* Lines as kernels of each era print them. */
static const struct {
	const char *line;
	double seconds;
	const char *text; /* NULL: not worth keeping */
} dmesg[] = {
	{"[    2.104321] xen: VDSO_CLOCKMODE_PVCLOCK not supported (tsc unstable)", 2.104321,
		"xen: VDSO_CLOCKMODE_PVCLOCK not supported (tsc unstable)"},
	{"<6>[    0.431995] clocksource: Switched to clocksource tsc", 0.431995,
		"clocksource: Switched to clocksource tsc"},
	{"Clocksource tsc unstable (delta = -89 ns)", NAN,
		"Clocksource tsc unstable (delta = -89 ns)"},
	{"[12345.000001] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as "
	 "unstable because the skew is too large:",
		12345.000001,
		"clocksource: timekeeping watchdog "
		"on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:"},
	{"[    1.000000] Marking clocksource tsc unstable due to inter CPU skew", 1,
		"Marking clocksource tsc unstable due to inter CPU skew"},
	{"[    0.000000] tsc: Marking TSC unstable due to running on Hyper-V", 0,
		"tsc: Marking TSC unstable due to running on Hyper-V"},
	{"[    0.000000] notsc: Kernel compiled with CONFIG_X86_TSC, cannot disable TSC", 0,
		"notsc: Kernel compiled with CONFIG_X86_TSC, cannot disable TSC"},
	/* The watchdog's figures: 3.16, 4.x to 5.13, 5.14 to 7.1, 7.2. */
	{"[271095.072619]         'xen' wd_now: f6aa707c0c8f wd_last: f6a8d4762faa mask: ff",
		271095.072619, "'xen' wd_now: f6aa707c0c8f wd_last: f6a8d4762faa mask: ff"},
	{"[ 8996.144260] clocksource:                       'acpi_pm' wd_now: f4b7d wd_last: "
	 "6c50c5 mask: ffffff",
		8996.144260, "clocksource: 'acpi_pm' wd_now: f4b7d wd_last: 6c50c5 mask: ffffff"},
	{"[18921.469016] clocksource:                       'tsc' cs_nsec: 628897933 cs_now: "
	 "9bf57b5de cs_last: 94f195f02 mask: ffffffffffffffff",
		18921.469016,
		"clocksource: 'tsc' cs_nsec: 628897933 cs_now: 9bf57b5de cs_last: 94f195f02 mask: "
		"ffffffffffffffff"},
	{"[  203.647577] clocksource: Watchdog               kvm-clock interval:        "
	 "503995129ns",
		203.647577, "clocksource: Watchdog kvm-clock interval: 503995129ns"},
	{"[    9.000000] clocksource:         CPUs 1-7 ahead of CPU 0 for clocksource tsc.", 9,
		"clocksource: CPUs 1-7 ahead of CPU 0 for clocksource tsc."},
	{"[    0.400000] hpet0: 8 comparators, 64-bit 24.000000 MHz counter", 0.4,
		"hpet0: 8 comparators, 64-bit 24.000000 MHz counter"},
	{"[    1.700000] tsc: Refined TSC clocksource calibration: 2099.998 MHz", 1.7,
		"tsc: Refined TSC clocksource calibration: 2099.998 MHz"},
	{"[    0.000000] tsc: Detected 24.000 MHz TSC", 0, "tsc: Detected 24.000 MHz TSC"},
	{"[    0.400000] Detected 8.333 MHz APIC timer.", 0, NULL},
	{"[    2.000000] watchdog: iTCO_wdt: heartbeat interval: 30 s", 0, NULL},
	/* A report names neither host nor address. */
	{"[    0.000000] Command line: ip=192.0.2.7::::db-7:eth0 notsc", 0, NULL},
	{"[    0.128381] Kernel command line: root=UUID=1-2 workaround for arch_timer notsc: ", 0,
		NULL},
	{"[    0.130000] Unknown kernel command line parameters \"h=db-7 skewed\"", 0, NULL},
	{"[    3.000000] usb 1-1: new high-speed USB device number 2", 0, NULL},
	{"[    3.000000] mlx5: workaround for a firmware bug", 0, NULL},
	/* dmesg -T's date, and the thread of CONFIG_PRINTK_CALLER. */
	{"[Mon Nov 21 15:02:11 2026] tsc: Marking TSC unstable due to clocksource watchdog", NAN,
		"tsc: Marking TSC unstable due to clocksource watchdog"},
	{"<4>[   36.278056][    C2] clocksource: Long readout interval, skipping watchdog check: "
	 "cs_nsec: 1078005296 wd_nsec: 1078004682",
		36.278056,
		"clocksource: Long readout interval, skipping watchdog check: cs_nsec: 1078005296 "
		"wd_nsec: 1078004682"},
	{"[Firmware Bug]: TSC doesn't count with P0 frequency!", NAN,
		"[Firmware Bug]: TSC doesn't count with P0 frequency!"},
	/* Names of processes and of their files, which any user chooses, and a daemon's line. */
	{"[ 4150.500000] TSC warp[20993]: segfault at 0 ip 0 sp 0 error 4 in a[0+1000]", 0, NULL},
	{"[ 4150.500000] tsc: x[20993]: segfault at 0 ip 0 sp 0 error 4 in Marking TSC "
	 "unstable due to x[0+1000]",
		0, NULL},
	{"[ 4150.500000] 'tsc' cs_now: [7]: segfault at 0 in cs_last: 1 mask: 1[0+1]", 0, NULL},
	{"[ 4150.500000] TSC warp invoked oom-killer: gfp_mask=0x0, order=0", 0, NULL},
	{"[ 4150.500000] process '/tmp/tsc: Marking TSC unstable due to x' started with "
	 "executable stack",
		0, NULL},
	{"<30>[    5.000000] tsc: Marking TSC unstable due to a daemon", 0, NULL},
	{"", 0, NULL},
};

static void lines_about_clocks_are_kept_with_their_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(dmesg); i++) {
		struct kernel_log_evidence log = {0};

		kernel_log_add_dmesg(&log, text_span(dmesg[i].line));
		assert_int_equal(log.count, dmesg[i].text ? 1 : 0);
		if (!dmesg[i].text)
			continue;
		assert_string_equal(log.lines[0].text, dmesg[i].text);
		assert_true(isnan(dmesg[i].seconds)
				    ? isnan(log.lines[0].seconds)
				    : fabs(log.lines[0].seconds - dmesg[i].seconds) < 1e-9);
	}
}

static void records_of_kmsg_are_parsed(void **state)
{
	struct kernel_log_evidence log = {0};

	(void)state;
	kernel_log_add_record(&log, text_span("6,339,431995,-;clocksource: Switched to clocksource "
					      "tsc\n SUBSYSTEM=clocksource\n"));
	kernel_log_add_record(&log, text_span("6,340,500000,-;usb 1-1: new device\n"));
	kernel_log_add_record(&log, text_span(""));
	kernel_log_add_record(&log, text_span("garbage"));
	kernel_log_add_record(&log, text_span("6,1;tsc: Marking TSC unstable due to x"));
	/* 2^64 ns less 7 s, as a machine resumes. */
	kernel_log_add_record(
		&log, text_span("4,342,18446744066766940,-;TSC warped randomly between CPUs"));
	/* A process wrote these to /dev/kmsg: user.warn and daemon.info. */
	kernel_log_add_record(&log, text_span("12,341,1,-;tsc: Marking TSC unstable due to y"));
	kernel_log_add_record(&log, text_span("30,342,2,-;tsc: Marking TSC unstable due to z"));
	assert_int_equal(log.count, 3);
	assert_string_equal(log.lines[0].text, "clocksource: Switched to clocksource tsc");
	assert_true(log.lines[0].seconds == 0.431995);
	assert_true(isnan(log.lines[1].seconds));
	assert_true(isnan(log.lines[2].seconds));
}

/* What is lost is in the middle. */
static void a_long_log_keeps_its_first_and_its_last_half(void **state)
{
	struct kernel_log_evidence log = {0};

	(void)state;
	for (int i = 0; i < 100; i++) {
		char line[80];

		snprintf(line, sizeof(line), "[%5d.000000] clocksource: Switched to clocksource %d",
			i, i);
		kernel_log_add_dmesg(&log, text_span(line));
	}
	assert_int_equal(log.count, KERNEL_LOG_MAX);
	for (int i = 0; i < KERNEL_LOG_MAX / 2; i++) {
		assert_true(log.lines[i].seconds == i);
		assert_true(log.lines[KERNEL_LOG_MAX - 1 - i].seconds == 99 - i);
	}
}

/* The rest of a figure would be another figure. */
static void a_long_line_is_cut_between_words(void **state)
{
	static const char head[] = "[    1.000000] clocksource: Switched to clocksource";
	struct kernel_log_evidence log = {0};
	char line[512] = "";

	(void)state;
	text_append(line, sizeof(line), "%s", head);
	for (int i = 0; i < 40; i++)
		text_append(line, sizeof(line), " 12345678");
	kernel_log_add_dmesg(&log, text_span(line));
	assert_int_equal(log.count, 1);
	assert_in_range(strlen(log.lines[0].text), 180, KERNEL_LOG_TEXT_SIZE - 1);
	assert_non_null(strstr(log.lines[0].text, " 12345678 ..."));
}

static void a_captured_log_is_found(void **state)
{
	struct fake_root *fake = *state;
	struct kernel_log_evidence log = {0};

	kernel_log_collect(&fake->root, &log);
	assert_int_equal(log.fact.state, FACT_ABSENT);
	fake_root_add(fake, "/var/log/dmesg",
		"[    0.000000] Linux version\n"
		"[    0.431995] clocksource: Switched to clocksource hpet\n");
	kernel_log_collect(&fake->root, &log);
	assert_true(fact_is_known(&log.fact));
	assert_int_equal(log.count, 1);
	assert_string_equal(log.source, KERNEL_LOG_AT_BOOT);
	/* The whole log is worth more than its copy at boot. */
	fake_root_add(fake, "/sos_commands/kernel/dmesg",
		"[    0.431995] clocksource: Switched to clocksource hpet\n"
		"[  412.118240] tsc: Marking TSC unstable due to clocksource watchdog\n");
	kernel_log_collect(&fake->root, &log);
	assert_string_equal(log.source, "sos_commands/kernel/dmesg");
	assert_int_equal(log.count, 2);
}

#define JOURNAL "/sos_commands/logs/journalctl_--no-pager_--boot"

/* The log of an older host has lost its beginning, and a user's line is not the kernel's. */
static void the_journal_has_what_dmesg_has_lost(void **state)
{
	static const char journal[] =
		"-- Logs begin at Mon 2026-11-23 18:28:00 UTC. --\n"
		"Nov 23 18:28:01 db1 kernel: Linux version 5.15.0\n"
		"Nov 23 18:28:01 db1 kernel: clocksource: Switched to clocksource tsc\n"
		"Nov 23 18:29:00 db1 kernel[812]: clocksource: Switched to clocksource jiffies\n"
		"Nov 23 18:29:00 db1 app: kernel: clocksource: Switched to clocksource jiffies\n"
		"                a b c kernel: clocksource: Switched to clocksource jiffies\n"
		"                a b c d kernel: clocksource: Switched to clocksource jiffies\n"
		"-- a b c kernel: clocksource: Switched to clocksource jiffies\n"
		"Nov 23 18:30:00 db1 kernel: tsc: Marking TSC unstable due to clocksource watchdog\n"
		"Nov 23 18:30:01 db1 kernel: clocksource: Switched to clocksource hpet";
	struct fake_root *fake = *state;
	struct kernel_log_evidence log = {0};

	fake_root_add(fake, JOURNAL, journal);
	kernel_log_collect(&fake->root, &log);
	assert_int_equal(log.count, 2); /* the last line is cut */
	fake_root_add(fake, "/sos_commands/kernel/dmesg",
		"[  812.000000] usb 1-1: new device\n"
		"[  999.000000] clocksource: Switched to clocksource acpi_pm\n");
	kernel_log_collect(&fake->root, &log);
	assert_true(fact_is_known(&log.fact));
	assert_string_equal(log.source, "sos_commands/logs/journalctl");
	assert_string_equal(
		log.lines[1].text, "tsc: Marking TSC unstable due to clocksource watchdog");
	assert_true(isnan(log.lines[1].seconds));
	fake_root_add(fake, "/sos_commands/kernel/dmesg",
		"[    0.000000] Linux version 5.15.0\n"
		"[  999.000000] clocksource: Switched to clocksource acpi_pm\n");
	kernel_log_collect(&fake->root, &log);
	assert_string_equal(log.source, "sos_commands/kernel/dmesg");
	assert_int_equal(log.count, 1);
}

/* Longer than what is read at once, with lines of every length at its ends. */
static void a_long_journal_is_read_to_its_end(void **state)
{
	static const char marking[] =
		"Nov 23 18:30:00 db1 kernel: tsc: Marking TSC unstable due to x\n";
	static const char forged[] = "a b c d kernel: tsc: Marking TSC unstable due to y\n";
	const size_t chunk = 1024 * 1024, size = 3 * chunk, start = chunk / 211 * 211 + 1;
	struct fake_root *fake = *state;
	struct kernel_log_evidence log = {0};
	char *text = malloc(size + sizeof(marking));

	assert_non_null(text);
	for (size_t i = 0; i < size; i++)
		text[i] = i % 211 ? 'x' : '\n';
	/* A user's line, longer than that, and what follows where it was cut. */
	memset(text + start, 'y', chunk);
	memcpy(text + start + chunk, forged, sizeof(forged) - 1);
	text[size - 1] = '\n';
	memcpy(text + size, marking, sizeof(marking));
	fake_root_add(fake, JOURNAL, text);
	free(text);
	kernel_log_collect(&fake->root, &log);
	assert_int_equal(log.count, 1);
	assert_non_null(strstr(log.lines[0].text, "due to x"));
}

#define MARKING                                                                                    \
	"clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because"
#define FIGURES                                                                                    \
	"clocksource:                       'hpet' wd_now: f4b7d wd_last: 6c50c5 mask: ffffffff"
#define FIRST "[    0.000000] Linux version 6.1.0\n"
#define SWITCH "[    0.431995] clocksource: Switched to clocksource hpet\n"

/* Pastes, mails and pages, and other outputs of the programs, whose clock lines may be lost. */
static void a_log_in_another_form_is_not_a_log_without_news(void **state)
{
	static const char *const logs[] = {
		"{ \"dmesg\": [ {\n  \"msg\": \"Linux version 6.1.0\"\n} ] }\n",
		"just a letter\n",
		"> " SWITCH,
		"<pre>" FIRST "$ dmesg | grep tsc\n",
		"/var/log/kern.log:Feb  2 17:33:32 h kernel: " SWITCH,
		"    " FIRST "    " SWITCH,
		"\xff\xfe[\n",
		/* A part of it is understood, and a line about clocks is not. */
		FIRST "~ # " SWITCH "[    1.000000] tsc: Marking TSC unstable due to x\n",
		/* Lines that were broken, also at a blank, or without a stamp. */
		FIRST "[    8.144254] clocksource: timekeeping watchdog on CPU1: Marking\n"
		      "clocksource 'tsc' as unstable because the skew is too large:\n",
		FIRST SWITCH "[    8.144260] clocksource:           'hpet' wd_nsec: 503967155=\n"
			     " wd_now: 9c5d0440 wd_last: 9beee92c mask: ffffffff\n",
		FIRST "[    0.298820] tsc: Marking TSC unstable due to\nfailed\n",
		"clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as\n"
		"unstable because the skew is too large:\n",
		"clocksource:                       'acpi_pm' wd_now: 92367f wd_last: 8128bd\n"
		"mask: ffffff\ntsc: Marking TSC unstable due to clocksource watchdog\n",
		/* The kernel's quotes are lost. */
		FIRST SWITCH
		"[    8.144260] clocksource: &#39;hpet&#39; wd_now: 1 wd_last: 2 mask: 3\n",
		FIRST SWITCH "[    8.144260] **'tsc' cs_now: 1 cs_last: 2 mask: 3**\n",
		/* Lines of clocks of which none is one that is known. */
		FIRST "[    8.144260] **tsc: Marking TSC unstable due to x**\n",
	};
	struct fake_root *fake = *state;

	for (size_t i = 0; i < COUNT(logs); i++) {
		struct kernel_log_evidence log;

		fake_root_add(fake, "/sos_commands/kernel/dmesg", logs[i]);
		kernel_log_collect(&fake->root, &log);
		if (log.fact.state != FACT_FAILED || log.count || *log.source)
			fail_msg("understood: %s", logs[i]);
		assert_string_equal(log.fact.reason, "sos_commands/kernel/dmesg is not understood");
	}
}

static void a_log_that_is_understood_may_have_no_news(void **state)
{
	static const struct {
		const char *text;
		size_t count;
	} logs[] = {
		{FIRST "[    3.000000] usb 1-1: new device\n", 0},
		{"[    3.000000] usb 1-1: new device\n", 0},
		{FIRST "[    0.000000] Command line: tsc=reliable\n", 0},
		{FIRST SWITCH, 1},
		{FIRST SWITCH "[    8.000000] x: two\n               lines\n", 1},
		{"#==[ Command ]===#\n# /usr/bin/dmesg\n" FIRST SWITCH, 1},
		{FIRST "[    8.144254] " MARKING " the skew is too large:\n[    8.144260] " FIGURES
		       "\n",
			2},
		{"Linux version 6.1.0\n" MARKING " the skew is too large:\n" FIGURES "\n", 2},
		{"usb 1-1: new device\nclocksource: Switched to clocksource tsc\n", 1},
		{"-- Boot 1 --\nNov 23 18:28:01 db1 kernel: clocksource: Switched to clocksource tsc\n"
		 "Nov 23 18:28:02 db1 app: tsc 1.2\n",
			1},
	};
	struct fake_root *fake = *state;

	for (size_t i = 0; i < COUNT(logs); i++) {
		struct kernel_log_evidence log;

		fake_root_add(fake, "/sos_commands/kernel/dmesg", logs[i].text);
		kernel_log_collect(&fake->root, &log);
		if (!fact_is_known(&log.fact) || log.count != logs[i].count)
			fail_msg("%zu lines of %s", log.count, logs[i].text);
	}
}

/* A CPU with an erratum need not be the first one. */
static void one_trapped_cpu_is_enough(void **state)
{
	static const char *const prefixes[] = {"", "arm_"};

	(void)state;
	for (size_t i = 0; i < COUNT(prefixes); i++) {
		struct kernel_log_evidence log = {0};
		char text[256], first[64];

		snprintf(first, sizeof(first), "%sarch_timer: CPU2: Trapping CNTVCT access",
			prefixes[i]);
		snprintf(text, sizeof(text),
			"[    0.100000] %s\n%s\n%sarch_timer: CPU3: Trapping CNTVCT access\n",
			"arch_timer: cp15 timer(s) running at 24.00MHz (phys).", first,
			prefixes[i]);
		kernel_log_add_dmesg(&log, text_span(text));
		assert_int_equal(log.count, 1);
		assert_string_equal(log.lines[0].text, first);
	}
}

/* Without privileges dmesg(1) leaves nothing in its file, or the reason where sos ran it. */
static void a_captured_log_that_was_refused_is_no_log(void **state)
{
	struct fake_root *fake = *state;
	struct kernel_log_evidence log = {0};

	fake_root_add(fake, "/sos_commands/kernel/dmesg", "");
	kernel_log_collect(&fake->root, &log);
	assert_int_equal(log.fact.state, FACT_ABSENT);
	fake_root_add(fake, "/sos_commands/kernel/dmesg",
		"dmesg: read kernel buffer failed: Operation not permitted\n");
	kernel_log_collect(&fake->root, &log);
	assert_int_equal(log.fact.state, FACT_ABSENT);
	assert_string_equal(log.source, "");
}

/* What a daemon wrote has the boots of weeks; a form that is not known proves nothing. */
static void files_of_syslog_daemons_are_read_from_the_last_boot_on(void **state)
{
	struct fake_root *fake = *state;
	struct kernel_log_evidence log;

	fake_root_add(fake, "/var/log/dmesg", "MESSAGE=Linux version 6.1.0\n");
	kernel_log_collect(&fake->root, &log);
	assert_int_equal(log.fact.state, FACT_FAILED);
	assert_non_null(strstr(log.fact.reason, "/var/log/dmesg is not understood"));
	fake_root_add(fake, "/var/log/messages",
		"May 15 13:15:57 db1 user.warn kernel: tsc: Marking TSC unstable due to x\n"
		"May 16 13:15:57 db1 user.notice kernel: Linux version 6.1.0\n"
		"May 16 13:15:57 db1 kern.info kernel: [    0.900000] clocksource: Switched to "
		"clocksource tsc\n"
		"May 16 13:16:02 db1 daemon.info app[412]: clocksource: Switched to hpet\n");
	kernel_log_collect(&fake->root, &log);
	assert_true(fact_is_known(&log.fact));
	assert_string_equal(log.source, "/var/log/messages");
	assert_int_equal(log.count, 1);
	assert_true(log.lines[0].seconds == 0.9);
	/* It has what came after the boot, too. */
	fake_root_add(fake, "/var/log/dmesg",
		"[    0.000000] kernel: Linux version 6.1.0\n"
		"[    0.900000] kernel: clocksource: Switched to clocksource tsc\n");
	kernel_log_collect(&fake->root, &log);
	assert_string_equal(log.source, "/var/log/messages");
	/* A file that was rotated since has no beginning. */
	fake_root_add(fake, "/var/log/messages",
		"May 15 13:15:57 db1 user.warn kernel: tsc: Marking TSC unstable due to x\n");
	kernel_log_collect(&fake->root, &log);
	assert_string_equal(log.source, KERNEL_LOG_AT_BOOT);
	/* Nor has one in which another program names the kernel. */
	fake_root_add(fake, "/var/log/messages",
		"May 15 13:15:57 db1 user.warn kernel: tsc: Marking TSC unstable due to x\n"
		"May 15 13:15:58 db1 auth.info sshd[412]: Linux version 6.1.0\n");
	kernel_log_collect(&fake->root, &log);
	assert_string_equal(log.source, KERNEL_LOG_AT_BOOT);
}

/* A container's /dev has no kmsg. The files are a fake's, the system call is this host's. */
static void without_a_device_the_log_is_asked_for_by_syslog(void **state)
{
	struct fake_root *fake = *state;
	struct root live = {.directory = fake->root.directory, .live = true};
	struct kernel_log_evidence log = {0};

	kernel_log_collect(&live, &log);
	if (klogctl(ACTION_READ_ALL, (char[16]){0}, 16) >= 0)
		assert_string_equal(log.source, "syslog(2)");
	else
		assert_int_equal(log.fact.state, FACT_DENIED);
}

/* For the rest of this process, as for a user on a host with dmesg_restrict=1. */
static void deny_syslog(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(syslog), 0) < 0 ||
		seccomp_load(filter) < 0)
		unit_skip("no seccomp filter can be set here");
	seccomp_release(filter);
}

/* Debian 8 wrote /var/log/dmesg, Debian 9 does not, and an upgrade leaves it there. */
static void a_log_of_another_kernel_is_not_this_hosts(void **state)
{
	struct fake_root *fake = *state;
	struct root live = {.directory = fake->root.directory, .live = true};
	const struct timeval long_ago[2] = {{1, 0}, {1, 0}};
	struct kernel_log_evidence log = {0};
	struct utsname running;
	char text[300];

	deny_syslog();
	assert_int_equal(uname(&running), 0);
	fake_root_add(fake, "/var/log/dmesg",
		"[    0.000000] Linux version 3.16.0-4-amd64 (debian-kernel@lists.debian.org)\n"
		"[    0.431995] Switched to clocksource hpet\n");
	kernel_log_collect(&live, &log);
	assert_int_equal(log.fact.state, FACT_DENIED);
	snprintf(text, sizeof(text),
		"[    0.000000] Linux version %s (gcc)\n"
		"[    0.431995] clocksource: Switched to clocksource hpet\n",
		running.release);
	fake_root_add(fake, "/var/log/dmesg", text);
	kernel_log_collect(&live, &log);
	assert_string_equal(log.source, KERNEL_LOG_AT_BOOT);
	assert_int_equal(log.count, 1);
	/* Of a daemon's file, what was written since this boot. */
	snprintf(text, sizeof(text),
		"Nov 23 18:28:01 db1 kernel: Linux version %s (gcc)\n"
		"Nov 23 18:28:01 db1 kernel: clocksource: Switched to clocksource tsc\n"
		"Nov 23 18:30:00 db1 kernel: tsc: Marking TSC unstable due to x\n",
		running.release);
	fake_root_add(fake, "/var/log/kern.log", text);
	kernel_log_collect(&live, &log);
	assert_string_equal(log.source, "/var/log/kern.log");
	assert_int_equal(log.count, 2);
	assert_int_equal(utimes(fake_root_place(fake, "/var/log/kern.log"), long_ago), 0);
	kernel_log_collect(&live, &log);
	assert_string_equal(log.source, KERNEL_LOG_AT_BOOT);
}

static void noise_in_the_log_is_ignored(void **state)
{
	static const char letters[] = "[]<>,;. 0179\nSwitched to clocksource";
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 5000; round++) {
		struct kernel_log_evidence log = {0};
		char text[120];
		struct span span = {text, dice_roll(&dice, sizeof(text))};

		for (size_t i = 0; i < span.length; i++)
			text[i] = letters[dice_roll(&dice, sizeof(letters) - 1)];
		kernel_log_add_dmesg(&log, span);
		kernel_log_add_record(&log, span);
		assert_in_range(log.count, 0, KERNEL_LOG_MAX);
	}
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

/* The words are those of detect_hypervisor_vendor() and the others in collect/log_host.c. */
static void the_log_names_the_hypervisor(void **state)
{
	static const struct {
		const char *lines, *word;
		enum fact_state state;
	} rows[] = {
		{"Hypervisor detected: KVM", "kvm", FACT_KNOWN},
		{"Hypervisor detected: Xen PV", "xen", FACT_KNOWN},
		{"Hypervisor detected: Microsoft HyperV", "microsoft", FACT_KNOWN},
		{"Hypervisor detected: VMware", "vmware", FACT_KNOWN},
		{"Hypervisor detected: ACRN", "acrn", FACT_KNOWN},
		{"Hypervisor detected: Jailhouse", "vm-other", FACT_KNOWN},
		{"Booting paravirtualized kernel on Xen HVM", "xen", FACT_KNOWN},
		{"Booting paravirtualized kernel on VMware hypervisor", "vmware", FACT_KNOWN},
		{"Booting paravirtualized kernel on bare hardware", NULL, FACT_UNREAD},
		{"Xen version: 4.17 (preserve-AD)", "xen", FACT_KNOWN},
		{"vmware: TSC freq read from hypervisor : 2095.079 MHz", "vmware", FACT_KNOWN},
		{"kvm-clock: Using msrs 4b564d01 and 4b564d00", "kvm", FACT_KNOWN},
		{"clocksource: hyperv_clocksource_tsc_page: mask: 0xff", "microsoft", FACT_KNOWN},
		{"Linux is running under KVM in 64-bit mode", "kvm", FACT_KNOWN},
		{"Linux is running natively in 64-bit mode", NULL, FACT_UNREAD},
		{"Machine model: linux,dummy-virt", "qemu", FACT_KNOWN},
		{"DMI: innotek GmbH VirtualBox/VirtualBox, BIOS 1 12/01/2006", "oracle",
			FACT_KNOWN},
		{"DMI: Red Hat KVM, BIOS 0.5.1 01/01/2011", "kvm", FACT_KNOWN},
		{"DMI: Amazon EC2 c5.large/, BIOS 1.0 10/16/2017", "amazon", FACT_KNOWN},
		{"DMI: Amazon EC2 c5.metal/, BIOS 1.0 10/16/2017", NULL, FACT_ABSENT},
		{"DMI: Google Google Compute Engine/x, BIOS Google 01/01/2011", NULL, FACT_ABSENT},
		{"DMI: Dell Inc. PowerEdge R6615/0Y7G, BIOS 1.2", NULL, FACT_ABSENT},
		{"DMI: Dell Inc. R1/0Y7G, BIOS 1\n[    0.100000] Hypervisor detected: KVM", "kvm",
			FACT_KNOWN},
		{"prog: Hypervisor detected: KVM", NULL, FACT_UNREAD},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct kernel_log_evidence log = {.count = 0};
		char line[256];

		snprintf(line, sizeof(line), "[    0.000000] %s\n", rows[i].lines);
		kernel_log_add_dmesg(&log, text_span(line));
		if (log.hypervisor.fact.state != rows[i].state ||
			(rows[i].word && !fact_is_text(&log.hypervisor, rows[i].word)))
			fail_msg("%s: %s", rows[i].lines, log.hypervisor.value);
	}
}

/* It completes what the files do not say, and takes nothing back. */
static void the_log_completes_the_host(void **state)
{
	static struct kernel_log_evidence log;
	static struct host_evidence host;

	(void)state;
	kernel_log_add_dmesg(&log,
		text_span(
			"[    0.000000] Command line: root=/dev/vda1 notsc pw=x clocksource=hpet\n"
			"[    0.000000] Hypervisor detected: KVM\n"));
	fact_set_text(&host.hypervisor, "amazon");
	host_collect_log(&host, &log);
	assert_true(fact_is_text(&host.hypervisor, "amazon"));
	assert_string_equal(host.boot.value, "notsc clocksource=hpet");
	fact_set_text(&host.hypervisor, "qemu");
	fact_set_text(&host.boot, "");
	host_collect_log(&host, &log);
	assert_true(fact_is_text(&host.hypervisor, "kvm"));
	assert_string_equal(host.boot.value, "");
	fact_set(&host.hypervisor.fact, FACT_ABSENT, "no sign");
	fact_set_text(&host.platform, "bare-metal");
	host_collect_log(&host, &log);
	assert_true(fact_is_text(&host.hypervisor, "kvm"));
	assert_false(fact_is_known(&host.platform.fact));
	fact_set(&log.hypervisor.fact, FACT_ABSENT, "no name");
	fact_set(&host.hypervisor.fact, FACT_UNREAD, "no file");
	host_collect_log(&host, &log);
	assert_int_equal(host.hypervisor.fact.state, FACT_ABSENT);
}

/* Half of it would prove that a parameter is absent; a later boot has another. */
static void a_command_line_in_the_log_is_whole_and_the_last(void **state)
{
	struct kernel_log_evidence log = {.count = 0};
	char line[1200];

	(void)state;
	kernel_log_add_dmesg(&log, text_span("[    0.000000] Command line: notsc \\\n"));
	assert_int_equal(log.boot.fact.state, FACT_FAILED);
	kernel_log_add_dmesg(&log, text_span("[    0.000000] Kernel command line: tsc=reliable\n"));
	assert_string_equal(log.boot.value, "tsc=reliable");
	kernel_log_add_dmesg(&log,
		text_span(
			"[    0.000000] Linux version 6.1.0\n[    0.000000] Command line: quiet\n"));
	assert_string_equal(log.boot.value, "");
	assert_true(fact_is_known(&log.boot.fact));
	memset(&log, 0, sizeof(log));
	snprintf(line, sizeof(line), "[    0.000000] Command line: notsc %0*d\n", 1000, 0);
	kernel_log_add_dmesg(&log, text_span(line));
	assert_int_equal(log.boot.fact.state, FACT_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_parameters_that_bear_on_the_clock_are_picked),
		cmocka_unit_test(a_parameter_that_does_not_fit_is_omitted),
		cmocka_unit_test(any_command_line_fits_its_room),
		IN_TREE(parameters_that_do_not_fit_are_not_known),
		IN_TREE(an_empty_command_line_is_not_known),
		cmocka_unit_test(the_log_names_the_hypervisor),
		cmocka_unit_test(the_log_completes_the_host),
		cmocka_unit_test(a_command_line_in_the_log_is_whole_and_the_last),
		IN_TREE(a_captured_kernel_is_read_from_its_files),
		cmocka_unit_test(a_personality_does_not_change_the_architecture),
		IN_TREE(the_version_line_will_do),
		IN_TREE(an_sosreport_has_uname_in_a_file),
		IN_TREE(an_empty_tree_says_what_is_missing),
		cmocka_unit_test(lines_about_clocks_are_kept_with_their_time),
		IN_TREE(a_log_in_another_form_is_not_a_log_without_news),
		IN_TREE(a_log_that_is_understood_may_have_no_news),
		cmocka_unit_test(one_trapped_cpu_is_enough),
		cmocka_unit_test(records_of_kmsg_are_parsed),
		cmocka_unit_test(a_long_log_keeps_its_first_and_its_last_half),
		cmocka_unit_test(a_long_line_is_cut_between_words),
		IN_TREE(a_captured_log_is_found),
		IN_TREE(a_captured_log_that_was_refused_is_no_log),
		IN_TREE(the_journal_has_what_dmesg_has_lost),
		IN_TREE(a_long_journal_is_read_to_its_end),
		IN_TREE(files_of_syslog_daemons_are_read_from_the_last_boot_on),
		IN_TREE(without_a_device_the_log_is_asked_for_by_syslog),
		cmocka_unit_test(noise_in_the_log_is_ignored),
		/* The last one: it takes syslog(2) from this process. */
		IN_TREE(a_log_of_another_kernel_is_not_this_hosts),
	};

	return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
