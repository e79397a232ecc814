/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's log says about clocksources: why the TSC was dropped, what was switched to.
 * Lines are picked by marks from the kernel's sources, so that a document holds few of them.
 */
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"

/* The longest record that /dev/kmsg gives (PRINTKRB_RECORD_MAX and its head). */
#define RECORD_SIZE 8192

/* Logs beyond it are read from their start: what matters is said at boot, or soon after. */
#define DMESG_SIZE (1024 * 1024)

/* Of more lines than there is room for, the first ones that stay. */
#define KEPT_FIRST (KERNEL_LOG_MAX / 2)

/* klogctl(2)'s SYSLOG_ACTION_READ_ALL, which has no name in the C library. */
#define ACTION_READ_ALL 3

/* Records that were overwritten while we read: skip them, a bounded number of times. */
#define LOST_MAX 1000

/*
 * Marks of the lines worth keeping, from kernel/time/clocksource.c, arch/x86/kernel/{tsc,
 * tsc_sync,hpet,kvmclock,cpu/mshyperv}.c, arch/x86/xen/time.c and
 * drivers/clocksource/{arm_arch_timer,hyperv_timer}.c of 3.10 to 7.3.
 */
static const char *const marks[] = {
	"Marking clocksource",
	"Marking TSC unstable",
	"Clocksource tsc unstable",
	"read-back delay",
	"PVCLOCK not supported",
	"TSC warp",
	"check_tsc_sync_source",
	"TSC synchronization",
	"Unable to calibrate",
	"unable to calibrate",
	"could not calculate TSC",
	"No reference (HPET/PMTIMER)",
	"TSC calibration failed",
	"TSC disabled",
	"notsc: ",
	"Switched to clocksource",
	"Switching to clocksource",
	"Override clocksource",
	"Disabling VDSO",
	"invalid VDSO mode",
	"TSC doesn't count",
	"TSC ADJUST",
	"tsc: Fast TSC",
	"Firmware Bug]: TSC",
	"workaround for",
	"kvm-clock: Using",
	/* What the clocksource watchdog measured: judge/watchdog.c works it out again. */
	" wd_now: ",
	" cs_now: ",
	"skewed",
	"inter CPU skew",
	" ahead of CPU",
	" behind CPU",
	"Long readout interval",
	"seems hung up",
	/* The rates of both counters, which that takes. */
	" MHz counter",
	"Refined TSC clocksource calibration",
	"tsc: Detected",
};

/*
 * One of the marks is found in other drivers' lines, too. The line with the kernel command line
 * is never taken: names, addresses and passwords may stand in it beside the marks, and its clock
 * parameters are read from /proc/cmdline.
 */
static bool is_about_clocks(struct span text)
{
	if (text_contains(text, "ommand line"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		if (!text_contains(text, marks[i]))
			continue;
		if (strcmp(marks[i], "workaround for") == 0)
			return text_contains(text, "arch_timer");
		return true;
	}
	/* 7.2's figures of the watchdog: "Watchdog    hpet interval:  503995129ns". */
	return (text_contains(text, "Watchdog ") || text_contains(text, "Clocksource ")) &&
	       text_contains(text, " interval:");
}

/* The kernel indents by dozens of blanks: one says as much and leaves room for the figures. */
static void copy_line(char *to, size_t size, struct span from)
{
	size_t used = 0;
	bool blank = true;

	to[0] = '\0';
	for (size_t i = 0; i < from.length && used + 1 < size; i++) {
		bool again = blank && from.at[i] == ' ';

		blank = from.at[i] == ' ';
		if (!again)
			text_copy_span(to + used++, 2, (struct span){from.at + i, 1});
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

void kernel_log_add_record(struct kernel_log_evidence *log, struct span record)
{
	struct span line, head;
	uint64_t microseconds = 0;
	bool timed;

	if (!text_next_line(&record, &line))
		return;
	head = text_take_until(&line, ';');
	text_take_until(&head, ',');
	text_take_until(&head, ',');
	timed = number_parse(text_take_until(&head, ','), &microseconds);
	add_line(log, timed ? (double)microseconds / 1e6 : -1, line);
}

/* "[    0.431995] text", with "<6>" before it where syslog(2) gave it. */
static double take_time(struct span *line)
{
	struct span rest = *line, stamp;
	double seconds;

	if (text_starts(rest, "<"))
		text_take_until(&rest, '>');
	if (!text_take_prefix(&rest, "["))
		return -1;
	stamp = text_trim(text_take_until(&rest, ']'));
	if (!text_contains(stamp, ".") || !number_parse_decimal(stamp, &seconds))
		return -1;
	*line = text_trim(rest);
	return seconds;
}

void kernel_log_add_dmesg(struct kernel_log_evidence *log, struct span dmesg)
{
	struct span line;

	while (text_next_line(&dmesg, &line)) {
		double seconds = take_time(&line);

		add_line(log, seconds, line);
	}
}

/* The live host's /dev/kmsg. */
static int kmsg = -1;

static bool open_kmsg(const struct root *root, struct fact *why)
{
	if (kmsg < 0)
		kmsg = root_open_file(root, "/dev/kmsg", why);
	return kmsg >= 0;
}

bool kernel_log_open(const struct root *root)
{
	struct fact why;

	return open_kmsg(root, &why);
}

static bool read_kmsg(const struct root *root, struct kernel_log_evidence *log)
{
	char record[RECORD_SIZE];
	int lost = 0;

	if (!open_kmsg(root, &log->fact))
		return false;
	/* It may have been read before: from its first record on. */
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

static bool read_syslog(const struct root *root, struct kernel_log_evidence *log)
{
	char *text = malloc(DMESG_SIZE);
	int got;

	(void)root;
	if (!text)
		return false;
	got = klogctl(ACTION_READ_ALL, text, DMESG_SIZE);
	if (got >= 0) {
		fact_set_known(&log->fact);
		kernel_log_add_dmesg(log, (struct span){text, (size_t)got});
	} else {
		fact_set_errno(&log->fact, errno, "syslog(2)");
	}
	free(text);
	return got >= 0;
}

static bool read_file(const struct root *root, const char *path, struct kernel_log_evidence *log)
{
	char *text = malloc(DMESG_SIZE);
	struct span content;
	struct fact why = {0};
	bool read;

	if (!text)
		return false;
	read = root_read_head(root, path, text, DMESG_SIZE, &content, &why);
	if (read) {
		fact_set_known(&log->fact);
		kernel_log_add_dmesg(log, content);
	}
	free(text);
	return read;
}

static const struct {
	const char *name;
	/* Asks the kernel that runs; NULL: a file of the tree. */
	bool (*read)(const struct root *root, struct kernel_log_evidence *log);
	const char *path;
} sources[] = {
	{"/dev/kmsg", read_kmsg, NULL},
	{"syslog(2)", read_syslog, NULL},
	{"/var/log/dmesg", NULL, "/var/log/dmesg"},
	{"sos_commands/kernel/dmesg", NULL, "/sos_commands/kernel/dmesg"},
	{"sos_commands/kernel/dmesg", NULL, "/sos_commands/kernel/dmesg_-T"},
};

void kernel_log_collect(const struct root *root, struct kernel_log_evidence *log)
{
	log->count = 0;
	fact_set(&log->fact, FACT_ABSENT, "no kernel log in this tree");
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (sources[i].read ? !root->live || !sources[i].read(root, log)
				    : !read_file(root, sources[i].path, log))
			continue;
		text_copy(log->source, sizeof(log->source), sources[i].name);
		return;
	}
}
