/* SPDX-License-Identifier: MIT */
/*
 * Collects what the kernel's log says about clocksources, such as why the TSC was dropped.
 * Only lines that begin as the kernel's own messages about clocks do are kept, so that a document
 * holds few of them, and none in which a user's words imitate the kernel's.
 */
#include "parts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/memory.h"

/* The longest record that /dev/kmsg gives (PRINTKRB_RECORD_MAX and its head). */
#define RECORD_SIZE 8192

/* A longer log is read from its start: what matters is logged at boot, or soon after. */
#define DMESG_SIZE (1024 * 1024)

/* An sosreport's journal ends at 100 MB unless its size was chosen. */
#define JOURNAL_SIZE (256 * 1024 * 1024)

/* This many of the first lines stay where there are more than there is room for. */
#define KEPT_FIRST (KERNEL_LOG_MAX / 2)

/* klogctl(2)'s SYSLOG_ACTION_READ_ALL, which has no name in the C library. */
#define ACTION_READ_ALL 3

/* Records that were overwritten while we read are skipped, a bounded number of times. */
#define LOST_MAX 1000

/*
 * The lines worth keeping, from kernel/time/clocksource.c, arch/x86/kernel/{tsc,tsc_sync,hpet,
 * kvmclock,cpu/amd}.c, arch/x86/xen/time.c and drivers/clocksource/arm_arch_timer.c of 3.10 to
 * 7.3: how they begin, and what else they contain. Anywhere else in a line such words may be a
 * user's: the name of a process or of a file stands in many messages of the kernel.
 */
static const struct {
	const char *begins;
	const char *contains;
} log_marks[] = {
	{"timekeeping watchdog", "Marking clocksource"},
	{"timekeeping watchdog", "read-back delay"},
	{"wd-", "read-back delay"},
	{"Marking clocksource", ""},
	{"Marking TSC unstable", ""},
	{"TSC found unstable", ""},
	{"Clocksource tsc unstable", ""},
	{"Switched to clocksource", ""},
	{"Switching to clocksource", ""},
	{"Override clocksource", ""},
	{"clocksource ", "Disabling VDSO"},
	{"xen: ", "PVCLOCK not supported"},
	{"TSC synchronization", ""},
	{"Measured ", "TSC warp"},
	{"TSC warped randomly", ""},
	{"Unable to calibrate against PIT", ""},
	{"No reference (HPET/PMTIMER)", ""},
	{"Fast TSC calibration", ""},
	{"Kernel compiled with CONFIG_X86_TSC", ""},
	{"TSC doesn't count", ""},
	{"TSC ADJUST", ": CPU"},
	{"kvm-clock: Using", ""},
	{"arch_timer: ", "workaround for"},
	{"arm_arch_timer: ", "workaround for"},
	/* The measurements of the clocksource watchdog, which judge/watchdog.c evaluates. */
	{"'", " wd_now: "},
	{"'", " cs_now: "},
	{"Watchdog ", " interval:"},
	{"Clocksource ", " interval:"},
	{"Clocksource ", "skewed"},
	{"CPUs ", " ahead of CPU"},
	{"CPUs ", " behind CPU"},
	{"Long readout interval", ""},
	/* judge/watchdog.c also takes the rates of both counters. */
	{"hpet", " MHz counter"},
	{"Refined TSC clocksource calibration", ""},
	{"Detected ", " MHz"},
};

/* One of these stands before the text, since 3.x or 4.x. */
static const char *const prefixes[] = {
	"clocksource: ", "tsc: ", "TSC: ", "notsc: ", "[Firmware Bug]: "};

/* A line such as "NAME[1234]: segfault at 0" begins with a process's name. */
static bool names_process(struct span text)
{
	struct span inside;

	while (text.length > 0) {
		uint64_t pid;

		text_take_until(&text, '[');
		inside = text;
		if (number_parse(text_take_until(&inside, ']'), &pid))
			return true;
	}
	return false;
}

/*
 * The line with the kernel command line is never taken: names, addresses and passwords may stand
 * in it beside the marks, and its clock parameters are read from /proc/cmdline.
 */
static bool is_about_clocks(struct span text)
{
	if (text_contains(text, "ommand line") || names_process(text))
		return false;
	text = text_trim(text);
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (text_take_prefix(&text, prefixes[i])) {
			text = text_trim(text);
			break;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(log_marks); i++) {
		if (text_starts(text, log_marks[i].begins) &&
			text_contains(text, log_marks[i].contains))
			return true;
	}
	return false;
}

/* The kernel indents by dozens of blanks: one is enough and leaves room for the figures. */
static void copy_line(char *to, size_t size, struct span from)
{
	struct span word;
	size_t used = 0;

	to[0] = '\0';
	while (used + 1 < size && text_next_word(&from, &word)) {
		if (used)
			to[used++] = ' ';
		text_copy_span(to + used, size - used, word);
		used += strlen(to + used);
	}
}

static void add_line(struct kernel_log_evidence *log, double seconds, struct span text)
{
	struct kernel_log_line *line;

	if (!is_about_clocks(text))
		return;
	/* Boot and what came last matter most: the middle makes room. */
	if (log->count == KERNEL_LOG_MAX)
		memmove(&log->lines[KEPT_FIRST], &log->lines[KEPT_FIRST + 1],
			(KERNEL_LOG_MAX - KEPT_FIRST - 1) * sizeof(log->lines[0]));
	else
		log->count++;
	line = &log->lines[log->count - 1];
	line->seconds = seconds;
	copy_line(line->text, sizeof(line->text), text);
}

/*
 * The number before a line is its facility times eight plus its level (syslog(3)). Facility 0 is
 * the kernel's own; lines that a process writes to /dev/kmsg have another one.
 */
static bool is_of_kernel(struct span number)
{
	uint64_t priority;

	return number_parse(number, &priority) && priority >> 3 == 0;
}

void kernel_log_add_record(struct kernel_log_evidence *log, struct span record)
{
	struct span line = text_take_until(&record, '\n'), head = text_take_until(&line, ';');
	uint64_t microseconds;
	bool is_timed;

	if (!is_of_kernel(text_take_until(&head, ',')))
		return;
	text_take_until(&head, ',');
	is_timed = number_parse(text_take_until(&head, ','), &microseconds);
	add_line(log, is_timed ? (double)microseconds / 1e6 : NAN, line);
}

/*
 * Takes "[    0.431995]", dmesg -T's date, and the "[    T1]" of CONFIG_PRINTK_CALLER off the
 * line. Returns seconds since boot; NAN: the line does not say.
 */
static double take_time(struct span *line)
{
	struct span rest = *line, stamp;
	double seconds = NAN, found;

	while (text_take_prefix(&rest, "[")) {
		stamp = text_trim(text_take_until(&rest, ']'));
		if (text_contains(stamp, ".") && number_parse_decimal(stamp, &found))
			seconds = found;
		else if (!text_contains(stamp, ":") && !text_starts(stamp, "T") &&
			 !text_starts(stamp, "C"))
			break;
		*line = rest;
	}
	return seconds;
}

void kernel_log_add_dmesg(struct kernel_log_evidence *log, struct span dmesg)
{
	struct span line;

	while (text_next_line(&dmesg, &line)) {
		double seconds;

		/* syslog(2) returns the priority, "<6>"; files do not have it. */
		if (text_take_prefix(&line, "<") && !is_of_kernel(text_take_until(&line, '>')))
			continue;
		seconds = take_time(&line);
		add_line(log, seconds, text_trim(line));
	}
}

/*
 * Takes the line of journalctl(1) if it is the kernel's: "Nov 24 01:59:03 HOST kernel: clocksource:
 * ...". What a process logs under that name has its process ID behind it, "kernel[1201]:"; further
 * lines of its message are indented, and those of the catalog begin with "--".
 */
static void add_journal(struct kernel_log_evidence *log, struct span line)
{
	struct span word;
	int words = 0;

	if (!line.length || !isalpha((unsigned char)*line.at))
		return;
	while (words < 5 && text_next_word(&line, &word))
		words++;
	if (words == 5 && text_equals(word, "kernel:"))
		add_line(log, NAN, text_trim(line));
}

/* Reads a journal, but for lines that do not fit. False if no line of it concerns clocksources. */
static bool read_journal(const struct root *root, const char *path, struct kernel_log_evidence *log,
	char text[DMESG_SIZE])
{
	int file = root_open_file(root, path, O_RDONLY, &(struct fact){0});
	FILE *journal = file >= 0 ? fdopen(file, "r") : NULL;
	bool begins = true; /* the text begins where a line does */

	while (journal && ftello(journal) < JOURNAL_SIZE && fgets(text, DMESG_SIZE, journal)) {
		size_t length = strlen(text);
		bool ends = length && text[length - 1] == '\n';

		if (begins && ends)
			add_journal(log, (struct span){text, length});
		begins = ends;
	}
	if (journal)
		(void)fclose(journal);
	return log->count > 0;
}

/* The descriptor of the live host's /dev/kmsg; -1: not open. */
static int kmsg = -1;

bool kernel_log_open(const struct root *root, struct fact *why)
{
	if (kmsg < 0)
		kmsg = root_open_file(root, "/dev/kmsg", O_RDONLY, why);
	return kmsg >= 0;
}

static bool read_kmsg(const struct root *root, struct kernel_log_evidence *log)
{
	char record[RECORD_SIZE];
	int lost = 0;

	if (!kernel_log_open(root, &log->fact))
		return false;
	/* It may have been read before, and is read from its first record on. */
	lseek(kmsg, 0, SEEK_SET);
	fact_set_known(&log->fact);
	for (;;) {
		ssize_t got = read(kmsg, record, sizeof(record));

		if (got < 0 && (errno == EPIPE || errno == EINTR) && lost++ < LOST_MAX)
			continue;
		if (got < 0 && errno != EAGAIN)
			fact_set_errno(&log->fact, errno, "/dev/kmsg");
		if (got <= 0)
			break;
		kernel_log_add_record(log, (struct span){record, (size_t)got});
	}
	return fact_is_known(&log->fact);
}

static bool read_syslog(struct kernel_log_evidence *log, char text[DMESG_SIZE])
{
	int got = klogctl(ACTION_READ_ALL, text, DMESG_SIZE);

	if (got < 0) {
		fact_set_errno(&log->fact, errno, "syslog(2)");
		return false;
	}
	fact_set_known(&log->fact);
	kernel_log_add_dmesg(log, (struct span){text, (size_t)got});
	return true;
}

/*
 * These are files of a captured tree, or of a host whose kernel refuses its log. The file with the
 * whole log comes first.
 */
static const struct {
	const char *name;
	const char *path;
} files[] = {
	{"sos_commands/kernel/dmesg", "/sos_commands/kernel/dmesg"},
	{"sos_commands/kernel/dmesg", "/sos_commands/kernel/dmesg_-T"},
	{KERNEL_LOG_AT_BOOT, KERNEL_LOG_AT_BOOT},
};

/* The journal since boot, of sos 4.4 and newer, and before. */
static const char *const journals[] = {"/sos_commands/logs/journalctl_--no-pager_--boot",
	"/sos_commands/logs/journalctl_--no-pager_--catalog_--boot"};

void kernel_log_collect(const struct root *root, struct kernel_log_evidence *log)
{
	char *text = xmalloc(DMESG_SIZE);
	struct kernel_log_evidence journal = {0};
	bool is_whole = root->live;
	const char *source = NULL;
	struct utsname running;
	struct span content;
	struct fact why = {0};

	log->count = 0;
	fact_set(&log->fact, FACT_ABSENT, "no kernel log in this tree");
	if (root->live && read_kmsg(root, log))
		source = "/dev/kmsg";
	else if (root->live && read_syslog(log, text))
		source = "syslog(2)";
	for (size_t i = 0; i < ARRAY_SIZE(files) && !source; i++) {
		if (!root_read_head(root, files[i].path, text, DMESG_SIZE, &content, &why))
			continue;
		/* dmesg(1) leaves such a file where the log is refused. */
		if (!content.length || text_starts(content, "dmesg: "))
			continue;
		/* A /var/log/dmesg of an older system may be left; its first line names its kernel.
		 */
		if (root->live && (uname(&running) < 0 || !text_contains(content, running.release)))
			continue;
		source = files[i].name;
		is_whole |= strcmp(files[i].name, KERNEL_LOG_AT_BOOT) != 0 &&
		            text_contains(content, "Linux version ");
		fact_set_known(&log->fact);
		kernel_log_add_dmesg(log, content);
	}
	/* The beginning of an older host's log is overwritten, the journal has it. */
	for (size_t i = 0; i < ARRAY_SIZE(journals) && !is_whole; i++) {
		if (!read_journal(root, journals[i], &journal, text))
			continue;
		is_whole = true;
		source = "sos_commands/logs/journalctl";
		*log = journal;
		fact_set_known(&log->fact);
	}
	text_copy(log->source, sizeof(log->source), source ? source : "");
	free(text);
}
