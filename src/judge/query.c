/* SPDX-License-Identifier: MIT */
/*
 * Questions to the evidence, in the words that the rules use: how many of the deciding calls
 * entered the kernel, what the clocksource, the command line, the kernel log and the host are.
 */
#include "rules.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

static void add(struct entry_counts *counts, const struct path_evidence *path)
{
	if (!path->available)
		return;
	counts->calls++;
	if (path->signal)
		counts->signal = path->signal;
	if (!path->attempts)
		return;
	counts->proven++;
	counts->always += path->entered == path->attempts;
	counts->entering += path->entered > 0;
	counts->attempts += path->attempts;
	counts->entered += path->entered;
}

struct entry_counts counts_deciding(const struct evidence *evidence)
{
	struct entry_counts counts = {0};

	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->decides)
			add(&counts, &call->path[call_judged_path(call)]);
	}
	return counts;
}

bool counts_are_mixed(const struct evidence *evidence)
{
	struct entry_counts counts = counts_deciding(evidence);

	return counts.entering > counts.always;
}

struct entry_counts counts_by_path(const struct evidence *evidence, enum call_path path)
{
	struct entry_counts counts = {0};

	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides)
			add(&counts, &evidence->calls[i].path[path]);
	}
	return counts;
}

const struct call_evidence *call_evidence_of(
	const struct evidence *evidence, const char *call, const char *clock)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (strcmp(evidence->calls[i].call, call) == 0 &&
			strcmp(evidence->calls[i].clock, clock) == 0)
			return &evidence->calls[i];
	}
	return NULL;
}

const struct call_evidence *clock_gettime_of(const struct evidence *evidence, const char *clock)
{
	return call_evidence_of(evidence, "clock_gettime", clock);
}

const struct path_evidence *timed_path(
	const struct evidence *evidence, const char *clock, enum call_path path)
{
	const struct call_evidence *call = clock_gettime_of(evidence, clock);

	return call && call->path[path].timed ? &call->path[path] : NULL;
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

bool clocksource_is_another(const struct evidence *evidence, const char *name)
{
	return clocksource_is_offered(evidence, name) &&
	       fact_is_known(&evidence->clocksource.current_fact) &&
	       !clocksource_is(evidence, name);
}

bool vclock_is_none(const struct evidence *evidence)
{
	return evidence->vclock.how >= VCLOCK_COPY && evidence->vclock.mode == VCLOCK_MODE_NONE;
}

/* What is gained must be more than a little: reading the counter may be trapped. */
#define WORTH_A_SWITCH 0.75

bool counter_gains_nothing(const struct evidence *evidence)
{
	const struct copy_evidence *copy = &evidence->copy;
	const struct path_evidence *vdso = timed_path(evidence, "CLOCK_MONOTONIC", PATH_VDSO);

	return fact_is_known(&copy->what_if_fact) && vdso &&
	       copy->what_if_ns > WORTH_A_SWITCH * vdso->min_ns;
}

bool boot_has(const struct evidence *evidence, const char *parameter)
{
	const struct text_fact *boot = &evidence->host.boot;

	return fact_is_known(&boot->fact) && text_has_word(text_span(boot->value), parameter);
}

bool boot_disables_tsc(const struct evidence *evidence)
{
	return boot_has(evidence, "notsc") || boot_has(evidence, "tsc=unstable");
}

bool boot_chose_current(const struct evidence *evidence)
{
	char parameter[CLOCKSOURCE_NAME_SIZE + 16];

	snprintf(parameter, sizeof(parameter), "clocksource=%s", evidence->clocksource.current);
	return *evidence->clocksource.current && boot_has(evidence, parameter);
}

bool boot_choice_slows(const struct view *view)
{
	const struct evidence *evidence = view->evidence;
	bool hidden = view->holds & NO_VDSO && view->holds & NO_VDSO_AT_BOOT &&
	              vclock_name_has_no_mode(evidence->clocksource.current);

	return boot_chose_current(evidence) && (hidden || view->holds & (FALLS_BACK | PLAIN)) &&
	       !(view->holds & ON_KVM_CLOCK && boot_has(evidence, "no-kvmclock-vsyscall"));
}

static const struct kernel_log_line *find_from(
	const struct kernel_log_evidence *log, size_t first, const char *text)
{
	for (size_t i = first; i < log->count; i++) {
		if (strstr(log->lines[i].text, text))
			return &log->lines[i];
	}
	return NULL;
}

const struct kernel_log_line *log_find(const struct evidence *evidence, const char *text)
{
	return find_from(&evidence->kernel_log, 0, text);
}

const struct kernel_log_line *log_find_after(
	const struct evidence *evidence, const struct kernel_log_line *line, const char *text)
{
	const struct kernel_log_evidence *log = &evidence->kernel_log;

	return line ? find_from(log, (size_t)(line - log->lines) + 1, text) : NULL;
}

/* The digits at the front of the text, and what follows them. */
static bool take_number(struct span *text, uint64_t *number)
{
	size_t digits = 0;

	while (digits < text->length && text->at[digits] >= '0' && text->at[digits] <= '9')
		digits++;
	if (!number_parse((struct span){text->at, digits}, number))
		return false;
	text->at += digits;
	text->length -= digits;
	return true;
}

/* As many numbers with dots between them; false if there are fewer. */
static bool take_version(struct span release, uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if ((i > 0 && !text_take_prefix(&release, ".")) ||
			!take_number(&release, &numbers[i]))
			return false;
	}
	return true;
}

bool kernel_is_before(const struct evidence *evidence, unsigned major, unsigned minor)
{
	uint64_t has[2];

	return fact_is_known(&evidence->host.kernel.fact) &&
	       take_version(text_span(evidence->host.kernel.value), has, ARRAY_SIZE(has)) &&
	       (has[0] < major || (has[0] == major && has[1] < minor));
}

/* Debian's release has an ABI's number in this place: "6.1.0-28", built from "Debian 6.1.119-1". */
bool kernel_is_patched(
	const struct evidence *evidence, unsigned major, unsigned minor, unsigned patch)
{
	static const char debian[] = " Debian ";
	const struct host_evidence *host = &evidence->host;
	const char *release = fact_is_known(&host->kernel.fact) ? host->kernel.value : "";
	const char *build = fact_is_known(&host->kernel_build.fact)
	                            ? strstr(host->kernel_build.value, debian)
	                            : NULL;
	uint64_t has[3];

	return take_version(
		       text_span(build ? build + strlen(debian) : release), has, ARRAY_SIZE(has)) &&
	       has[0] == major && has[1] == minor && has[2] >= patch;
}

/* RHEL 7's 3.10 and SLES 12's 4.4 got the clock mode of 4.12 by backport. */
bool kernel_reads_hyperv_page(const struct evidence *evidence)
{
	const char *kernel = evidence->host.kernel.value;

	return !kernel_is_before(evidence, 4, 12) || strstr(kernel, ".el7") ||
	       (strncmp(kernel, "4.4.", 4) == 0 &&
		       (strstr(kernel, "-default") || strstr(kernel, "-azure")));
}

bool platform_is(const struct evidence *evidence, const char *word)
{
	return fact_is_text(&evidence->host.platform, word);
}

bool host_is_guest(const struct evidence *evidence)
{
	return fact_is_known(&evidence->host.hypervisor.fact);
}

bool kvm_clock_is_32_bit(const struct evidence *evidence)
{
	return fact_is_known(&evidence->host.arch.fact) &&
	       !fact_is_text(&evidence->host.arch, "x86_64");
}

bool host_is_x86(const struct evidence *evidence)
{
	const struct text_fact *arch = &evidence->host.arch;
	size_t length = strlen(arch->value);

	/* Only x86 has a word on its TSC. */
	if (!fact_is_known(&arch->fact))
		return fact_is_known(&evidence->host.invariant_tsc.fact);
	return strcmp(arch->value, "x86_64") == 0 ||
	       (length == 4 && arch->value[0] == 'i' && strcmp(arch->value + 2, "86") == 0);
}

bool tsc_has_flag(const struct evidence *evidence, const char *flag)
{
	const struct text_fact *flags = &evidence->host.tsc_flags;

	return fact_is_known(&flags->fact) && strstr(flags->value, flag);
}

bool tsc_is_invariant(const struct evidence *evidence)
{
	/*
	 * The kernel sets it on a hypervisor's word and no longer checks the TSC: VMware, TDX and
	 * SNP, Hyper-V with AccessTscInvariant. On VMware it does so without nonstop_tsc
	 * (vmware_set_capabilities(), 2.6.29 to 7.2).
	 */
	if (tsc_has_flag(evidence, "tsc_reliable"))
		return true;
	return fact_is_flag(&evidence->host.invariant_tsc, true) &&
	       (!fact_is_known(&evidence->host.tsc_flags.fact) ||
		       (tsc_has_flag(evidence, "constant_tsc") &&
			       tsc_has_flag(evidence, "nonstop_tsc")));
}

bool tsc_has_adjust(const struct evidence *evidence)
{
	return tsc_is_invariant(evidence) && tsc_has_flag(evidence, "tsc_adjust");
}

bool host_may_be_restored(const struct evidence *evidence)
{
	return platform_is(evidence, "firecracker") || platform_is(evidence, "microvm") ||
	       platform_is(evidence, "cloud-hypervisor");
}

/*
 * The kernel lists clocksources by rating: 300 for tsc, 250 for hpet, and 0 for one that it marked
 * unstable (__clocksource_watchdog_kthread()). It hides unstable ones while the tick is in oneshot
 * mode (available_clocksource_show()), but not with highres=off and nohz=off, or on jiffies.
 * kernel/time/clocksource.c and the drivers, 3.10 to 7.2; tests/lab has a row of it.
 */
bool tsc_is_rated_unstable(const struct evidence *evidence)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	if (!clocksource_is_offered(evidence, "tsc"))
		return false;
	for (size_t i = 0; strcmp(clocksource->available[i], "tsc") != 0; i++) {
		if (vclock_name_has_no_mode(clocksource->available[i]))
			return true;
	}
	return false;
}

/* A log that is this long has lost lines from its middle (collect/kernel_log.c). */
bool log_is_whole(const struct evidence *evidence)
{
	const struct kernel_log_evidence *log = &evidence->kernel_log;

	return fact_is_known(&log->fact) && log->count < KERNEL_LOG_MAX &&
	       strcmp(log->source, KERNEL_LOG_AT_BOOT) != 0;
}

/* The first line that holds the first of these texts that any line holds. */
static const struct kernel_log_line *find_first(
	const struct evidence *evidence, const char *const *texts, size_t count)
{
	const struct kernel_log_line *line = NULL;

	for (size_t i = 0; i < count && !line; i++)
		line = log_find(evidence, texts[i]);
	return line;
}

const struct kernel_log_line *log_find_tsc_distrust(const struct evidence *evidence)
{
	/* The old wording has the name in quotes, that of 7.2 has it bare; 3.10 has its own. */
	static const char *const texts[] = {
		"Marking clocksource 'tsc",
		"Marking clocksource tsc",
		"Clocksource tsc unstable",
		"Marking TSC unstable",
		"TSC warp",
	};

	return find_first(evidence, texts, ARRAY_SIZE(texts));
}

/*
 * 5.13: "read-back delay of N ns, attempt K, marking unstable"; 6.x: "marking tsc unstable".
 * Other lines of a read-back delay say that a check was skipped: nothing is wrong then.
 */
const struct kernel_log_line *log_find_last_switch(const struct evidence *evidence)
{
	static const char text[] = "Switched to clocksource ";
	const char *current = evidence->clocksource.current;
	const struct kernel_log_line *last = NULL;

	for (const struct kernel_log_line *line = log_find(evidence, text); line;
		line = log_find_after(evidence, line, text))
		last = line;
	return last && strcmp(strstr(last->text, text) + strlen(text), current) == 0 ? last : NULL;
}

const struct kernel_log_line *log_find_tsc_delay(const struct evidence *evidence)
{
	static const char text[] = "read-back delay";
	const struct kernel_log_line *line = log_find(evidence, text);

	while (line && !strstr(line->text, ", marking "))
		line = log_find_after(evidence, line, text);
	return line;
}

/* A fast or PIT calibration that fails is normal, and is followed by another way. */
const struct kernel_log_line *log_find_tsc_uncalibrated(const struct evidence *evidence)
{
	static const char *const texts[] = {
		"could not calculate TSC", "No reference (HPET/PMTIMER) available"};

	return find_first(evidence, texts, ARRAY_SIZE(texts));
}

/* "Switched to clocksource tsc" and not "tsc-early". */
const struct kernel_log_line *log_find_tsc_in_use(const struct evidence *evidence)
{
	static const char text[] = "Switched to clocksource tsc";
	const struct kernel_log_line *line = log_find(evidence, text);

	while (line && strstr(line->text, text)[sizeof(text) - 1])
		line = log_find_after(evidence, line, text);
	return line;
}

/*
 * rdtsc takes 5 to 25 ns on every x86, mrs cntvct_el0 and riscv's rdtime up to 50 ns, all some 50
 * to 110 ns in an emulator; a read that the hypervisor or the firmware intercepts takes several
 * hundred at the least.
 */
#define COUNTER_NS_MOST 150

bool counter_is_trapped(const struct evidence *evidence)
{
	static const char *const fast[] = {
		"x86_64", "i386", "i686", "aarch64", "armv7l", "riscv64"};
	const struct timing_evidence *timing = &evidence->timing;

	if (!fact_is_known(&timing->counter_fact))
		return false;
	if (fact_is_known(&timing->syscall_floor_fact) &&
		timing->counter_ns >= timing->syscall_floor_ns)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(fast); i++) {
		if (fact_is_text(&evidence->host.arch, fast[i]))
			return timing->counter_ns > COUNTER_NS_MOST;
	}
	return false;
}
