/* SPDX-License-Identifier: MIT */
/*
 * The questions to the evidence that take an argument: how many calls entered the kernel, and what
 * the clocksource, the kernel's release, its log and the flags of the TSC are. Those to its command
 * line are in boot.c.
 */
#include "view.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

bool call_is_handed_back(const struct evidence *evidence, const struct call_evidence *call)
{
	const struct path_evidence *vdso = &call->path[PATH_VDSO];
	const struct path_evidence *libc = &call->path[PATH_LIBC];

	return vdso->attempts && vdso->failed >= vdso->attempts && vdso->error == ENOSYS &&
	       libc->attempts && libc->entered == libc->attempts &&
	       fact_is_flag(&evidence->host.libc_static, false);
}

struct entry_counts counts_by_path(const struct evidence *evidence, enum call_path by)
{
	struct entry_counts counts = {0};

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];
		enum call_path way = by == PATH_COUNT ? call_judged_path(call) : by;
		const struct path_evidence *path = &call->path[way];
		bool is_handed_back = way == PATH_VDSO && call_is_handed_back(evidence, call);
		uint32_t entered = is_handed_back ? path->attempts : path->entered;

		if (!call->decides || !path->available)
			continue;
		counts.calls++;
		if (path->signal)
			counts.signal = path->signal;
		counts.failing += path->failed > 0 && !is_handed_back;
		if (!path->attempts)
			continue;
		counts.proven++;
		counts.always += entered == path->attempts;
		counts.entering += entered > 0;
		counts.attempts += path->attempts;
		counts.entered += entered;
	}
	counts.mixed = counts.entering > counts.always;
	return counts;
}

struct entry_counts counts_deciding(const struct evidence *evidence)
{
	return counts_by_path(evidence, PATH_COUNT);
}

const struct call_evidence *clock_gettime_of(const struct evidence *evidence, const char *clock)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (strcmp(evidence->calls[i].call, "clock_gettime") == 0 &&
			strcmp(evidence->calls[i].clock, clock) == 0)
			return &evidence->calls[i];
	}
	return NULL;
}

bool platform_is(const struct evidence *evidence, const char *word)
{
	return fact_is_text(&evidence->host.platform, word);
}

bool hypervisor_is(const struct evidence *evidence, const char *word)
{
	return fact_is_text(&evidence->host.hypervisor, word);
}

bool mode_is(const struct evidence *evidence, const char *word)
{
	return strcmp(evidence->vclock.name, word) == 0;
}

bool clocksource_is(const struct evidence *evidence, const char *name)
{
	return fact_is_known(&evidence->clocksource.current_fact) &&
	       strcmp(evidence->clocksource.current, name) == 0;
}

bool clocksource_is_offered(const struct evidence *evidence, const char *name)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	if (!fact_is_known(&clocksource->available_fact))
		return false;
	for (size_t i = 0; i < clocksource->available_count; i++) {
		if (strcmp(clocksource->available[i], name) == 0)
			return true;
	}
	return false;
}

bool clocksource_is_missing(const struct evidence *evidence, const char *name)
{
	return fact_is_known(&evidence->clocksource.available_fact) &&
	       !clocksource_is_offered(evidence, name);
}

bool clocksource_is_other(const struct evidence *evidence, const char *name)
{
	return clocksource_is_offered(evidence, name) &&
	       fact_is_known(&evidence->clocksource.current_fact) &&
	       !clocksource_is(evidence, name);
}

/* Returns the first line from this place on that holds the text, or NULL. */
static const struct kernel_log_line *find_from(
	const struct kernel_log_evidence *log, size_t place, const char *text)
{
	while (place < log->count && !strstr(log->lines[place].text, text))
		place++;
	return place < log->count ? &log->lines[place] : NULL;
}

const struct kernel_log_line *log_find(const struct evidence *evidence, const char *text)
{
	return find_from(&evidence->kernel_log, 0, text);
}

bool log_has(const struct evidence *evidence, const char *text)
{
	return log_find(evidence, text);
}

const struct kernel_log_line *log_find_after(
	const struct evidence *evidence, const struct kernel_log_line *line, const char *text)
{
	const struct kernel_log_evidence *log = &evidence->kernel_log;

	return line ? find_from(log, (size_t)(line - log->lines) + 1, text) : NULL;
}

const struct kernel_log_line *log_find_first(
	const struct evidence *evidence, const char *const *texts)
{
	const struct kernel_log_line *line = NULL;

	while (!line && *texts)
		line = log_find(evidence, *texts++);
	return line;
}

const char *log_switched_to(const struct kernel_log_line *line)
{
	/* The second one is of 3.10 and older. */
	static const char *const marks[] = {
		"Switched to clocksource ", "Switching to clocksource "};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		const char *at = strstr(line->text, marks[i]);

		if (at)
			return at + strlen(marks[i]);
	}
	return "";
}

/*
 * All are of arch/x86/kernel/kvm.c or kvmclock.c, and of the struct hypervisor_x86 that is listed
 * with CONFIG_KVM_GUEST alone (3.10 to 7.3).
 */
bool log_shows_kvm_guest(const struct evidence *evidence)
{
	return LOG_FIRST(evidence, "kvm-clock: ", "Hypervisor detected: KVM",
		"Booting paravirtualized kernel on KVM");
}

const struct kernel_log_line *log_find_switch(
	const struct evidence *evidence, const struct kernel_log_line *after)
{
	const struct kernel_log_evidence *log = &evidence->kernel_log;

	for (size_t i = after ? (size_t)(after - log->lines) + 1 : 0; i < log->count; i++) {
		if (*log_switched_to(&log->lines[i]))
			return &log->lines[i];
	}
	return NULL;
}

/*
 * A timer is calibrated, or a clocksource selected, within the first second: x86 logs the TSC's
 * rate, and every kernel its first clocksource beside jiffies. Without such a line the beginning is
 * lost, or its lines were not recognized.
 */
bool log_has_beginning(const struct view *v)
{
	const struct kernel_log_line *first = v->evidence->kernel_log.lines;

	return (log_find(v->evidence, "tsc: Detected ") || log_find_switch(v->evidence, NULL)) &&
	       first->seconds >= 0 && first->seconds < 1;
}

/* Reads the first numbers of a release, with dots between them; false if there are fewer. */
static bool parse_release(const char *release, unsigned long *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *end;

		if (!isdigit((unsigned char)*release))
			return false;
		numbers[i] = strtoul(release, &end, 10);
		release = *end == '.' ? end + 1 : end;
	}
	return true;
}

bool kernel_is_before(const struct evidence *evidence, const char *release)
{
	unsigned long has[2], first[2];

	return fact_is_known(&evidence->host.kernel.fact) && parse_release(release, first, 2) &&
	       parse_release(evidence->host.kernel.value, has, 2) &&
	       (has[0] < first[0] || (has[0] == first[0] && has[1] < first[1]));
}

/* Debian's release has an ABI's number in this place: "6.1.0-28", built from "Debian 6.1.119-1". */
bool kernel_is_patched(const struct evidence *evidence, const char *wanted)
{
	static const char debian[] = " Debian ";
	const struct host_evidence *host = &evidence->host;
	const char *release = fact_is_known(&host->kernel.fact) ? host->kernel.value : "";
	const char *build = fact_is_known(&host->kernel_build.fact)
	                            ? strstr(host->kernel_build.value, debian)
	                            : NULL;
	unsigned long has[3], first[3];

	if (build)
		release = build + strlen(debian);
	return parse_release(release, has, 3) && parse_release(wanted, first, 3) &&
	       has[0] == first[0] && has[1] == first[1] && has[2] >= first[2];
}

bool arch_starts(const struct evidence *evidence, const char *beginning)
{
	const struct text_fact *arch = &evidence->host.arch;

	return fact_is_known(&arch->fact) && text_starts(text_span(arch->value), beginning);
}

bool host_is_x86(const struct evidence *evidence)
{
	const struct text_fact *arch = &evidence->host.arch;
	size_t length = strlen(arch->value);

	/* Only x86 has a TSC, and registers these clocks (3.10 to 7.3). */
	if (!fact_is_known(&arch->fact))
		return fact_is_known(&evidence->host.invariant_tsc.fact) ||
		       clocksource_is_offered(evidence, "tsc") ||
		       clocksource_is_offered(evidence, "acpi_pm") ||
		       LOG_FIRST(evidence, "TSC", "tsc");
	return strcmp(arch->value, "x86_64") == 0 ||
	       (length == 4 && arch->value[0] == 'i' && strcmp(arch->value + 2, "86") == 0);
}

bool tsc_has_flag(const struct evidence *evidence, const char *flag)
{
	const struct text_fact *flags = &evidence->host.tsc_flags;

	return fact_is_known(&flags->fact) && text_has_word(text_span(flags->value), flag);
}

bool tsc_is_invariant(const struct evidence *evidence)
{
	/*
	 * The kernel sets tsc_reliable where a hypervisor guarantees the TSC, and no longer checks
	 * it: VMware, TDX and SNP, Hyper-V with AccessTscInvariant. These keep its rate when they
	 * migrate the guest. VMware's guests lack nonstop_tsc (vmware_set_capabilities(), 2.6.29 to
	 * 7.2).
	 */
	if (tsc_has_flag(evidence, "tsc_reliable"))
		return true;
	return fact_is_flag(&evidence->host.invariant_tsc, true) &&
	       (!fact_is_known(&evidence->host.tsc_flags.fact) ||
		       (tsc_has_flag(evidence, "constant_tsc") &&
			       tsc_has_flag(evidence, "nonstop_tsc")));
}

/*
 * The reasons of all callers of mark_tsc_unstable() in 3.10 to 7.2, listed with their files in
 * tests/lore/unstable.txt.
 */
static const struct {
	const char *words; /* how the reason begins */
	enum unstable_reason reason;
} reasons[] = {
	{"clocksource watchdog", UNSTABLE_BY_WATCHDOG},
	{"check_tsc_sync_source failed", UNSTABLE_WARPED},
	{"TSCs unsynchronized", UNSTABLE_ASSUMED},
	{"Summit based system", UNSTABLE_ASSUMED},
	{"UV BIOS", UNSTABLE_BY_FIRMWARE},
	{"KVM discovered backwards TSC", UNSTABLE_WENT_BACK},
	{"TSC halts in idle", UNSTABLE_HALTS},
	{"TSC halt in AMD C1E", UNSTABLE_HALTS_IN_C1E},
	{"cpufreq changes", UNSTABLE_RATE_CHANGES},
	{"running on Hyper-V", UNSTABLE_ON_HYPERV},
	{"could not calculate TSC", UNSTABLE_UNCALIBRATED},
	{"boot parameter", UNSTABLE_BY_BOOT},
};

enum unstable_reason unstable_read(const char *words)
{
	for (size_t i = 0; words && i < ARRAY_SIZE(reasons); i++) {
		if (text_starts(text_span(words), reasons[i].words))
			return reasons[i].reason;
	}
	return words ? UNSTABLE_OTHERWISE : UNSTABLE_UNSAID;
}

/* The clock mode is of 4.12; RHEL 7's 3.10 and SLES 12's 4.4 got it by backport. */
bool kernel_reads_hyperv_page(const struct evidence *evidence)
{
	const char *kernel = evidence->host.kernel.value;

	return !kernel_is_before(evidence, "4.12") || strstr(kernel, ".el7") ||
	       (strncmp(kernel, "4.4.", 4) == 0 &&
		       (strstr(kernel, "-default") || strstr(kernel, "-azure")));
}

/* True if the vDSO of this architecture has no function that reads a clock in this release. */
bool kernel_vdso_has_no_clock(const struct evidence *evidence)
{
	/*
	 * The first kernel whose vDSO has one, by what uname(2) calls the machine; read in 3.10,
	 * 3.14, 4.4, 4.19, 5.4, 5.10, 6.1, 6.12 and 7.2. The functions of riscv64 before 5.5, and
	 * of parisc, only make the system call.
	 */
	static const struct {
		const char *machine; /* its beginning */
		const char *release; /* NULL: none has */
	} first[] = {{"i386", "3.15"}, {"i486", "3.15"}, {"i586", "3.15"}, {"i686", "3.15"},
		{"armv", "4.1"}, {"mips", "4.4"}, {"sparc64", "4.16"}, {"riscv64", "5.5"},
		{"csky", "5.11"}, {"alpha", NULL}, {"arc", NULL}, {"hexagon", NULL}, {"m68k", NULL},
		{"microblaze", NULL}, {"nios2", NULL}, {"openrisc", NULL}, {"parisc", NULL},
		{"riscv32", NULL}, {"sh", NULL}, {"xtensa", NULL}};

	/* That of User-Mode Linux makes the system calls itself (um/vdso/um_vdso.c, 3.2 to 7.2). */
	if (hypervisor_is(evidence, "uml"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		if (arch_starts(evidence, first[i].machine))
			return !first[i].release || kernel_is_before(evidence, first[i].release);
	}
	return false;
}
