/* SPDX-License-Identifier: MIT */
/*
 * Collects what the kernel's log says about clocksources, such as why the TSC was dropped.
 * Only lines that begin as the kernel's own messages about clocks do are kept, so that a document
 * holds few of them, and none in which a user's words imitate the kernel's.
 */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

/* The longest record that /dev/kmsg gives (PRINTKRB_RECORD_MAX and its head). */
#define RECORD_SIZE 8192

/* The kernel's ring buffer is smaller, or what is beyond is cut. */
#define DMESG_SIZE (1024 * 1024)

/* An sosreport's journal ends at 100 MB unless its size was chosen. */
#define FILE_SIZE_MOST (256 * 1024 * 1024)

/* Limits what is read from the end of a syslog daemon's file on a running host, to be quick. */
#define LIVE_SIZE_MOST (32 * 1024 * 1024)

/* A longer line is skipped. */
#define LINE_SIZE 8192

/* This many of the first lines stay where there are more than there is room for. */
#define KEPT_FIRST (KERNEL_LOG_MAX / 2)

/* klogctl(2)'s SYSLOG_ACTION_READ_ALL, which has no name in the C library. */
#define ACTION_READ_ALL 3

/* Records that were overwritten while we read are skipped, a bounded number of times. */
#define LOST_MAX 1000

/* Each CPU that is trapped has such a line, and the first is enough. */
#define TRAPPING ": Trapping CNTVCT"

/*
 * The lines worth keeping: how they begin, and what else they contain. Anywhere else in a line such
 * words may be a user's: the name of a process or of a file stands in many messages of the kernel.
 * tests/lore/messages.txt lists what the kernels from 3.10 to 7.3 can print about clocks, with what
 * each line is kept for, or why it is not.
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
	{"clocksource ", "Disabling vclock"},
	{"Not using R4K clocksource in VDSO", ""},
	{"xen: ", "PVCLOCK not supported"},
	{"Xen doesn't support pvclock on HVM", ""},
	{"Cannot restore secondary vcpu_time_info", ""},
	{"Measured ", "TSC warp"},
	{"TSC warped randomly", ""},
	{"TSC ADJUST", ": CPU"},
	{"TSC ADJUST synchronize", ""},
	{"TSC ADJUST differs", ""},
	{"UV: TSC sync state", ""},
	{"Unable to calibrate against PIT", ""},
	{"PIT calibration deviates", ""},
	{"HPET/PMTIMER calibration failed", ""},
	{"No reference (HPET/PMTIMER)", ""},
	{"Kernel compiled with CONFIG_X86_TSC", ""},
	{"TSC doesn't count", ""},
	/* The hypervisor's clocks that this kernel knows. */
	{"Hypervisor detected: KVM", ""},
	{"Booting paravirtualized kernel on KVM", ""},
	{"kvm-clock: Using", ""},
	{"kvm-clock: mask: ", ""},
	{"xen: mask: ", ""},
	{"hyperv_clocksource", ": mask: "},
	{"Hyper-V: Invariant TSC is unavailable", ""},
	{"arch_timer: Enabling ", "workaround for"},
	{"arm_arch_timer: Enabling ", "workaround for"},
	{"arch_timer: CPU", TRAPPING},
	{"arm_arch_timer: CPU", TRAPPING},
	/* The measurements of the clocksource watchdog, which judge/watchdog.c evaluates. */
	{"'", " wd_now: "},
	{"'", " cs_now: "},
	{"Watchdog ", " interval:"},
	{"Clocksource ", " interval:"},
	{"Clocksource ", "skewed"},
	{"CPUs ", " ahead of CPU"},
	{"CPUs ", " behind CPU"},
	{"CPU ", " check durations "},
	{"CPU", " (cycles)"},
	{"Long readout interval", ""},
	/* judge/watchdog.c also takes the rates of both counters. */
	{"hpet", " MHz counter"},
	{"Refined TSC clocksource calibration", ""},
	{"Detected ", " MHz processor"},
	{"Detected ", " MHz TSC"},
	/* The kernel measured another rate than CPUID or the hypervisor states. */
	{"Warning: TSC freq calibrated", ""},
	{"Previous calibrated TSC freq", ""},
	{"TSC freq recalibrated", ""},
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

/*
 * The kernel indents by dozens of blanks: one is enough and leaves room for the figures. A part of
 * a figure would be a false one: what has no room is left out by the word.
 */
static void copy_line(char *to, size_t size, struct span from)
{
	static const char cut[] = " ...";
	struct span word;
	size_t used = 0;

	to[0] = '\0';
	while (text_next_word(&from, &word)) {
		if (used + word.length + sizeof(cut) + 1 > size) {
			memcpy(to + used, cut, sizeof(cut));
			break;
		}
		if (used)
			to[used++] = ' ';
		text_clean_span(to + used, size - used, word);
		used += word.length;
	}
}

static bool log_keeps(const struct kernel_log_evidence *log, const char *text)
{
	for (size_t i = 0; i < log->count; i++) {
		if (strstr(log->lines[i].text, text))
			return true;
	}
	return false;
}

/* Returns true if the line is worth keeping. */
static bool log_add_line(struct kernel_log_evidence *log, double seconds, struct span text)
{
	struct kernel_log_line *line;

	log_host_take(log, text);
	if (!is_about_clocks(text))
		return false;
	if (text_contains(text, TRAPPING) && log_keeps(log, TRAPPING))
		return true;
	/* Boot and what came last matter most: the middle makes room. */
	if (log->count == KERNEL_LOG_MAX)
		memmove(&log->lines[KEPT_FIRST], &log->lines[KEPT_FIRST + 1],
			(KERNEL_LOG_MAX - KEPT_FIRST - 1) * sizeof(log->lines[0]));
	else
		log->count++;
	line = &log->lines[log->count - 1];
	line->seconds = seconds;
	copy_line(line->text, sizeof(line->text), text);
	return true;
}

void kernel_log_add_record(struct kernel_log_evidence *log, struct span record)
{
	struct span line = text_take_until(&record, '\n'), head = text_take_until(&line, ';');
	uint64_t microseconds;
	bool is_timed;

	if (!log_priority_is_of_kernel(text_take_until(&head, ',')))
		return;
	text_take_until(&head, ',');
	is_timed = number_parse(text_take_until(&head, ','), &microseconds);
	log_add_line(log, is_timed ? log_seconds((double)microseconds / 1e6) : NAN, line);
}

/* Reads the lines of a file, and remembers which forms they had. */
struct log_reader {
	struct kernel_log_evidence *log;
	bool is_dmesg;       /* the kernel's lines alone, which need not have a stamp */
	bool is_understood;  /* a line is the kernel's */
	bool has_prefixes;   /* a line had a stamp, a date or a priority */
	bool has_mention;    /* a line that may be the kernel's mentions a clock */
	bool mentions_clock; /* the last line did */
	bool has_bare;       /* a line without a prefix does, or follows one that does */
	bool is_cut;         /* a line about clocks lacks its end, or the kernel's quotes */
};

/* How the first line of a boot begins. */
#define FIRST_LINE "Linux version "

/* True for "clocksource" and "tsc" in a line. The command line is not about what happened. */
static bool mentions_clock(struct span text)
{
	static const char *const words[] = {"clocksource", "Clocksource", "tsc", "TSC"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (text_contains(text, words[i]))
			return !text_contains(text, "ommand line");
	}
	return false;
}

/* A program that shows a log breaks its lines, or writes "&#39;tsc&#39;" for 'tsc'. */
static bool is_cut(struct span text, bool is_kept)
{
	if (text_contains(text, "Marking clocksource"))
		return !text_contains(text, "unstable");
	if (text_contains(text, " wd_now: ") || text_contains(text, " cs_now: "))
		return !is_kept || !text_contains(text, " mask: ");
	return false;
}

/* Reads a line, and adds it if it is the kernel's. Returns true for the first line of a boot. */
static bool log_read_line(struct log_reader *reader, struct span text)
{
	struct log_line line = log_line_parse(text);
	bool is_bare = line.kind == LOG_LINE_BARE || line.kind == LOG_LINE_REST;
	bool may_be_kernels =
		line.kind == LOG_LINE_KERNEL || (line.kind == LOG_LINE_BARE && reader->is_dmesg);
	bool follows = reader->mentions_clock, is_first, is_kept;

	if (!line.text.length)
		return false;
	is_first = may_be_kernels && text_starts(line.text, FIRST_LINE);
	/* The first line of a boot begins a new log. */
	if (is_first)
		*reader->log = (struct kernel_log_evidence){.fact = reader->log->fact};
	is_kept = may_be_kernels && log_add_line(reader->log, line.seconds, line.text);
	reader->has_prefixes |= !is_bare;
	reader->is_understood |= line.kind == LOG_LINE_KERNEL || is_first || is_kept;
	reader->mentions_clock = line.kind != LOG_LINE_OTHER && mentions_clock(line.text);
	reader->has_mention |= reader->mentions_clock;
	reader->has_bare |= is_bare && (reader->mentions_clock || follows);
	reader->is_cut |= may_be_kernels && is_cut(line.text, is_kept);
	return is_first;
}

/* A log from whose silence nothing follows: in another form, broken into lines, or about others. */
static bool is_unclear(const struct log_reader *reader)
{
	return !reader->is_understood || (reader->has_prefixes && reader->has_bare) ||
	       reader->is_cut || (!reader->log->count && reader->has_mention);
}

void kernel_log_add_dmesg(struct kernel_log_evidence *log, struct span dmesg)
{
	struct log_reader reader = {.log = log, .is_dmesg = true};
	struct span line;

	while (text_next_line(&dmesg, &line))
		log_read_line(&reader, line);
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

static bool read_syslog(struct kernel_log_evidence *log)
{
	char *text = xmalloc(DMESG_SIZE);
	int got = klogctl(ACTION_READ_ALL, text, DMESG_SIZE);

	if (got < 0) {
		/* The privilege for it may be gone where /dev/kmsg was opened. */
		if (log->fact.state != FACT_FAILED)
			fact_set_errno(&log->fact, errno, "syslog(2)");
	} else {
		fact_set_known(&log->fact);
		kernel_log_add_dmesg(log, (struct span){text, (size_t)got});
	}
	free(text);
	return got >= 0;
}

#define JOURNAL_NAME "sos_commands/logs/journalctl"

/* A file that may hold the log of a captured tree, or of a host whose kernel refuses its log. */
static const struct place {
	enum { PLACE_DMESG, PLACE_JOURNAL, PLACE_SYSLOG } kind;
	const char *path, *name;
} places[] = {
	/* The whole log comes first. */
	{PLACE_DMESG, "/sos_commands/kernel/dmesg", "sos_commands/kernel/dmesg"},
	{PLACE_DMESG, "/sos_commands/kernel/dmesg_-T", "sos_commands/kernel/dmesg"},
	{PLACE_DMESG, KERNEL_LOG_AT_BOOT, KERNEL_LOG_AT_BOOT},
	/* These have its beginning where it was overwritten, and its end. sos 4.4, and before: */
	{PLACE_JOURNAL, "/sos_commands/logs/journalctl_--no-pager_--boot", JOURNAL_NAME},
	{PLACE_JOURNAL, "/sos_commands/logs/journalctl_--no-pager_--catalog_--boot", JOURNAL_NAME},
	/* rsyslog, syslog-ng and klogd write these, by distribution. */
	{PLACE_SYSLOG, "/var/log/kern.log", "/var/log/kern.log"},
	{PLACE_SYSLOG, "/var/log/messages", "/var/log/messages"},
	{PLACE_SYSLOG, "/var/log/syslog", "/var/log/syslog"},
};

/* The log in a file. */
struct content {
	bool names_kernel; /* it has the first line of a boot, of this host's kernel */
	bool is_unclear;   /* it is not understood, and its lines are not used */
	struct kernel_log_evidence log;
};

/* A daemon that was removed leaves its last file. */
static bool is_since_boot(int file)
{
	int64_t now = kernel_clock_ns(CLOCK_REALTIME), uptime = kernel_clock_ns(CLOCK_BOOTTIME);
	struct stat status;

	return now && uptime && fstat(file, &status) == 0 &&
	       status.st_mtime >= (now - uptime) / NS_PER_SECOND;
}

static void read_lines(FILE *file, const struct place *place, const char *release,
	struct content *content, char text[LINE_SIZE])
{
	struct log_reader reader = {.log = &content->log, .is_dmesg = place->kind == PLACE_DMESG};
	bool begins = ftello(file) == 0; /* the text begins where a line does */

	while (ftello(file) < FILE_SIZE_MOST && fgets(text, LINE_SIZE, file)) {
		size_t length = strlen(text);
		bool ends = length && text[length - 1] == '\n', is_first = false;

		/* A journal's last line may be cut. */
		if (begins && (ends || reader.is_dmesg))
			is_first = log_read_line(&reader, (struct span){text, length});
		if (is_first || (reader.is_dmesg && strstr(text, FIRST_LINE)))
			content->names_kernel = strstr(text, release);
		begins = ends;
	}
	/* A daemon's file has other programs' lines, too, and may have none of the kernel. */
	content->is_unclear = reader.is_dmesg ? is_unclear(&reader) : reader.is_cut;
}

/*
 * Reads a file; false if it is not a log of this host. dmesg(1) leaves an empty one, or its
 * message, where the log was refused.
 */
static bool read_place(const struct root *root, const struct place *place, struct content *content)
{
	int descriptor = root_open_file(root, place->path, O_RDONLY, &(struct fact){0});
	FILE *file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
	struct utsname running = {.release = ""};
	char text[LINE_SIZE] = "";
	bool is_log;

	*content = (struct content){.names_kernel = false};
	if (!file && descriptor >= 0)
		close(descriptor);
	if (!file)
		return false;
	is_log = fgets(text, LINE_SIZE, file) && strncmp(text, "dmesg: ", strlen("dmesg: ")) != 0;
	if (root->live)
		is_log &= uname(&running) == 0 &&
		          (place->kind == PLACE_DMESG || is_since_boot(descriptor));
	if (!root->live || fseeko(file, -LIVE_SIZE_MOST, SEEK_END) < 0)
		rewind(file);
	if (is_log)
		read_lines(file, place, running.release, content, text);
	(void)fclose(file);
	return is_log && (content->names_kernel || !root->live);
}

/* Reads the files, the best first, until one of them has the log from its beginning to its end. */
static void read_places(const struct root *root, struct kernel_log_evidence *log)
{
	const char *unclear = NULL;
	bool is_whole = false;
	struct content content;

	for (size_t i = 0; i < ARRAY_SIZE(places) && !is_whole; i++) {
		const struct place *place = &places[i];
		bool is_dmesg = place->kind == PLACE_DMESG;

		/* Only a captured tree holds a report of sos. */
		if ((root->live && *place->name != '/') || (is_dmesg && *log->source) ||
			!read_place(root, place, &content))
			continue;
		if (content.is_unclear)
			unclear = place->name;
		else if (is_dmesg || (content.log.count && (content.names_kernel || !*log->source ||
								   place->kind == PLACE_JOURNAL))) {
			is_whole =
				!is_dmesg || (content.names_kernel &&
						     strcmp(place->path, KERNEL_LOG_AT_BOOT) != 0);
			*log = content.log;
			fact_set_known(&log->fact);
			text_clean(log->source, sizeof(log->source), place->name);
		}
	}
	if (unclear && log->fact.state == FACT_ABSENT)
		fact_set(&log->fact, FACT_FAILED, "%s is not understood", unclear);
}

void kernel_log_collect(const struct root *root, struct kernel_log_evidence *log)
{
	*log = (struct kernel_log_evidence){.count = 0};
	fact_set(&log->fact, FACT_ABSENT, "no kernel log in this tree");
	if (root->live && (read_kmsg(root, log) || log->count))
		text_clean(log->source, sizeof(log->source), "/dev/kmsg");
	else if (root->live && read_syslog(log))
		text_clean(log->source, sizeof(log->source), "syslog(2)");
	else
		read_places(root, log);
}
