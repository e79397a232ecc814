/* SPDX-License-Identifier: MIT */
/* Builds the evidence of hosts, and random evidence for tests of properties. */
#include "unit/evidence_builder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/root.h"
#include "base/text.h"
#include "measure/call.h"
#include "measure/vdso.h"
#include "unit/unit.h"

static const struct {
	const char *call;
	const char *clock;
	bool decides;
	bool enters;       /* on every kernel */
	bool follows_mode; /* enters where there is no clock mode */
	double ns;
} rows[] = {
	{"gettimeofday", "", true, false, true, 26.5},
	{"clock_gettime", "CLOCK_REALTIME", true, false, true, 25.9},
	{"clock_gettime", "CLOCK_MONOTONIC", true, false, true, 25.9},
	{"clock_gettime", "CLOCK_MONOTONIC_RAW", false, false, true, 25.9},
	{"clock_gettime", "CLOCK_BOOTTIME", false, false, true, 25.9},
	{"clock_gettime", "CLOCK_TAI", false, false, true, 25.9},
	{"clock_gettime", "CLOCK_REALTIME_COARSE", false, false, false, 3.7},
	{"clock_gettime", "CLOCK_MONOTONIC_COARSE", false, false, false, 3.7},
	{"clock_gettime", "CLOCK_PROCESS_CPUTIME_ID", false, true, true, 602.4},
	{"clock_gettime", "CLOCK_THREAD_CPUTIME_ID", false, true, true, 584.5},
	{"clock_getres", "CLOCK_MONOTONIC", false, false, false, 2.5},
	{"time", "", false, false, false, 2.6},
	{"getcpu", "", false, false, false, 1.9},
};

/* Evidence has all of the deciding calls, which come first, or no call at all. */
#define DECIDING 3

#define SYSCALL_NS 240.0
#define ENTRY_NS 120.0
#define COUNTER_NS 8.0
#define ORDERED_NS 17.0

static void set_path(struct path_evidence *path, double ns, bool enters)
{
	*path = (struct path_evidence){.available = true,
		.fact.state = FACT_KNOWN,
		.min_ns = ns,
		.median_ns = ns * 1.02,
		.p99_ns = ns * 1.2,
		.attempts = BUILDER_ATTEMPTS,
		.entered = enters ? BUILDER_ATTEMPTS : 0};
}

static void set_calls(struct evidence *evidence, bool has_mode)
{
	evidence->call_count = COUNT(rows);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct call_evidence *call = &evidence->calls[i];
		bool enters = rows[i].enters || (rows[i].follows_mode && !has_mode);
		double ns = enters ? SYSCALL_NS + 10 : rows[i].ns;

		*call = (struct call_evidence){.decides = rows[i].decides};
		text_clean(call->call, sizeof(call->call), rows[i].call);
		text_clean(call->clock, sizeof(call->clock), rows[i].clock);
		set_path(&call->path[PATH_VDSO], ns, enters);
		set_path(&call->path[PATH_LIBC], ns + 0.3, enters);
		set_path(&call->path[PATH_SYSCALL], SYSCALL_NS, true);
		fact_set_flag(&call->agrees, true);
		fact_set_flag(&call->libc_agrees, true);
		call->path[PATH_SYSCALL].attempts = 0;
		call->path[PATH_SYSCALL].entered = 0;
	}
}

void evidence_set_available(struct evidence *evidence, const char *names)
{
	struct clocksource_evidence *clocksource = &evidence->clocksource;
	struct span rest = text_span(names);
	struct span word;

	clocksource->available_count = 0;
	while (text_next_word(&rest, &word))
		text_clean_span(clocksource->available[clocksource->available_count++],
			CLOCKSOURCE_NAME_SIZE, word);
	fact_set_known(&clocksource->available_fact);
}

void evidence_set_current(struct evidence *evidence, const char *name)
{
	struct clocksource_evidence *clocksource = &evidence->clocksource;
	bool listed = false;

	text_clean(clocksource->current, sizeof(clocksource->current), name);
	fact_set_known(&clocksource->current_fact);
	for (size_t i = 0; i < clocksource->available_count; i++)
		listed |= strcmp(clocksource->available[i], name) == 0;
	if (!listed)
		text_clean(clocksource->available[clocksource->available_count++],
			CLOCKSOURCE_NAME_SIZE, name);
}

void evidence_set_mode(struct evidence *evidence, enum vclock_how how, int mode, const char *name)
{
	struct vclock_evidence *vclock = &evidence->vclock;

	vclock->how = how;
	vclock->mode = mode;
	text_clean(vclock->name, sizeof(vclock->name), name);
	if (how == VCLOCK_READ)
		fact_set_known(&vclock->fact);
	else
		fact_set(&vclock->fact, FACT_FAILED,
			"the layout of the vDSO data page is not recognized");
}

static void set_vdso(struct vdso_evidence *vdso)
{
	static const char *const names[] = {"__vdso_gettimeofday", "__vdso_clock_gettime",
		"__vdso_clock_getres", "__vdso_time", "__vdso_getcpu"};

	fact_set_known(&vdso->fact);
	text_clean(vdso->soname, sizeof(vdso->soname), "linux-vdso.so.1");
	vdso->export_count = COUNT(names);
	for (size_t i = 0; i < COUNT(names); i++) {
		text_clean(vdso->exports[i].name, VDSO_NAME_SIZE, names[i]);
		text_clean(vdso->exports[i].version, VDSO_NAME_SIZE, "LINUX_2.6");
	}
}

static void set_host(struct host_evidence *host)
{
	fact_set_text(&host->kernel, "6.18.44-fc-v657");
	fact_set_text(&host->kernel_build, "#1 SMP PREEMPT_DYNAMIC");
	fact_set_text(&host->arch, "x86_64");
	fact_set_text(&host->cpu, "AMD EPYC");
	fact_set_text(&host->hypervisor, "kvm");
	fact_set(&host->container.fact, FACT_ABSENT, "no sign of a container");
	fact_set(&host->platform.fact, FACT_ABSENT, "no platform known here");
	fact_set(&host->emulator.fact, FACT_ABSENT, "no sign of an emulator");
	fact_set_text(&host->libc, "glibc 2.36");
	fact_set_flag(&host->libc_static, false);
	fact_set_text(&host->boot, "");
	fact_set_flag(&host->invariant_tsc, true);
	fact_set_text(&host->tsc_flags, "constant_tsc nonstop_tsc tsc_known_freq");
	fact_set(&host->kvm_clock_offered.fact, FACT_ABSENT, "CPUID was not asked");
	fact_set_flag(&host->kvm_clock_stable, true);
	fact_set(&host->xen_tsc_mode.fact, FACT_ABSENT, "not a leaf of this hypervisor");
	host->xen_tsc_reliable.fact = host->xen_tsc_mode.fact;
	host->xen_tsc_emulated.fact = host->xen_tsc_mode.fact;
	fact_set_flag(&host->counter_disabled, false);
	fact_set_number(&host->tracer, 0);
	fact_set_number(&host->seccomp, 0);
}

static void set_timing(struct timing_evidence *timing)
{
	fact_set_known(&timing->fact);
	fact_set_real(&timing->counter_ns, COUNTER_NS);
	fact_set_real(&timing->ordered_ns, ORDERED_NS);
	fact_set_real(&timing->syscall_floor_ns, ENTRY_NS);
	timing->batches = 64;
	fact_set_number(&timing->cpu, 1);
	text_clean(timing->counter, sizeof(timing->counter), "rdtsc");
}

void evidence_make_healthy(struct evidence *evidence)
{
	memset(evidence, 0, sizeof(*evidence));
	evidence->live = true;
	fact_set_text(&evidence->timestamp.time, "2026-11-21T15:02:11Z");
	fact_set_real(&evidence->timestamp.uptime_s, 86400.2);
	evidence_set_available(evidence, "tsc kvm-clock acpi_pm");
	evidence_set_current(evidence, "tsc");
	set_vdso(&evidence->vdso);
	evidence_set_mode(evidence, VCLOCK_READ, 1, "tsc");
	text_clean(evidence->vclock.layout, sizeof(evidence->vclock.layout), "x86, Linux 6.13-7.x");
	fact_set(&evidence->vclock.pvclock_stable.fact, FACT_ABSENT, "not this page");
	fact_set(&evidence->vclock.hyperv_sequence.fact, FACT_ABSENT, "not this page");
	set_host(&evidence->host);
	fact_set_known(&evidence->kernel_log.fact);
	text_clean(evidence->kernel_log.source, sizeof(evidence->kernel_log.source), "/dev/kmsg");
	fact_set_known(&evidence->ntp.fact);
	evidence->ntp.synchronized = true;
	evidence->ntp.offset_ns = -12300;
	evidence->ntp.max_error_us = 3100;
	fact_set_known(&evidence->proof.fact);
	evidence->proof.method = PROOF_SECCOMP;
	evidence->proof.cpus = 2;
	set_timing(&evidence->timing);
	set_calls(evidence, true);
}

void evidence_make_falling_back(struct evidence *evidence, const char *clocksource)
{
	evidence_make_healthy(evidence);
	evidence_set_current(evidence, clocksource);
	evidence_set_mode(evidence, VCLOCK_READ, VCLOCK_MODE_NONE, "none");
	set_calls(evidence, false);
}

void evidence_add_log(struct evidence *evidence, const char *text)
{
	struct kernel_log_line *line = &evidence->kernel_log.lines[evidence->kernel_log.count++];

	line->seconds = 2.1;
	text_clean(line->text, sizeof(line->text), text);
}

struct call_evidence *evidence_find_call(
	struct evidence *evidence, const char *call, const char *clock)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (strcmp(evidence->calls[i].call, call) == 0 &&
			strcmp(evidence->calls[i].clock, clock) == 0)
			return &evidence->calls[i];
	}
	fail_msg("no call %s %s in the evidence", call, clock);
	return NULL;
}

void evidence_set_entered(struct evidence *evidence, enum call_path path, uint32_t entered)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides)
			evidence->calls[i].path[path].entered = entered;
	}
}

void evidence_remove_path(struct evidence *evidence, enum call_path path)
{
	for (size_t i = 0; i < evidence->call_count; i++)
		evidence->calls[i].path[path] = (struct path_evidence){0};
}

void evidence_remove_proof(struct evidence *evidence, const char *reason)
{
	evidence->proof = (struct proof_evidence){0};
	fact_set(&evidence->proof.fact, FACT_DENIED, "%s", reason);
	for (size_t i = 0; i < evidence->call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++) {
			evidence->calls[i].path[path].attempts = 0;
			evidence->calls[i].path[path].entered = 0;
		}
	}
}

void evidence_remove_timing(struct evidence *evidence)
{
	evidence->timing = (struct timing_evidence){.batches = 0};
	fact_set(&evidence->timing.fact, FACT_FAILED, "not done within 60 s");
	for (size_t i = 0; i < evidence->call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++)
			evidence->calls[i].path[path].fact = (struct fact){0};
	}
}

/* Below: evidence by dice. Values come from lists, so that rules are hit often. */

static const char *const names[] = {"tsc", "tsc-early", "kvm-clock", "xen", "hpet", "acpi_pm",
	"hyperv_clocksource_tsc_page", "hyperv_clocksource_msr", "jiffies", "arch_sys_counter",
	"timebase", "MIPS", "unheard-of"};
static const char *const boot_tools[] = {"update-grub", "grubby", "grub2-mkconfig",
	"kernel-install", "proxmox-boot-tool", "cmdline.txt", "x"};

static const char *const boots[] = {"", "notsc", "tsc=unstable", "clocksource=hpet",
	"clocksource=acpi_pm tsc=reliable", "vdso=0", "no-kvmclock-vsyscall", "clocksource=xen"};
static const char *const logs[] = {"clocksource: Switched to clocksource hpet",
	"clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because",
	"tsc: Marking TSC unstable due to running on Hyper-V", "read-back delay of 31us",
	"tsc: Unable to calibrate against PIT", "xen: VDSO_CLOCKMODE_PVCLOCK not supported",
	"Marking clocksource 'tsc-early' as unstable", "TSC warp detected", "noise"};
static const char *const words[] = {"kvm", "xen", "microsoft", "wsl1", "wsl2", "firecracker",
	"microvm", "gvisor", "aws-xen", "docker", "x86_64", "i686", "aarch64", "4.9.0", "6.1.0",
	"3.10.0-1160.el7", "mainline", "none"};
static const char *const modes[] = {
	"none", "tsc", "pvclock", "hvclock", "hpet", "archtimer", "archtimer-nocompat", ""};

static const char *pick(struct dice *dice, const char *const *list, size_t count)
{
	return list[dice_roll(dice, count)];
}

static void roll_fact(struct fact *fact, struct dice *dice)
{
	enum fact_state state = (enum fact_state)dice_roll(dice, FACT_STATES);

	if (state == FACT_KNOWN || dice_roll(dice, 2))
		fact_set_known(fact);
	else
		fact_set(fact, state, "%s", state == FACT_UNREAD ? "" : "for some reason");
}

/* What is not known has no value. */
static void roll_text(struct text_fact *text, const char *value, struct dice *dice)
{
	roll_fact(&text->fact, dice);
	text_clean(text->value, sizeof(text->value), fact_is_known(&text->fact) ? value : "");
}

static void roll_flag(struct flag_fact *flag, struct dice *dice)
{
	roll_fact(&flag->fact, dice);
	flag->value = fact_is_known(&flag->fact) && dice_roll(dice, 2);
}

static void roll_number(struct number_fact *number, struct dice *dice)
{
	roll_fact(&number->fact, dice);
	number->value = fact_is_known(&number->fact) ? (int64_t)dice_roll(dice, 3) : 0;
}

static void roll_host(struct host_evidence *host, struct dice *dice)
{
	struct text_fact *texts[] = {&host->kernel, &host->kernel_build, &host->arch, &host->cpu,
		&host->hypervisor, &host->container, &host->platform, &host->libc};

	for (size_t i = 0; i < COUNT(texts); i++)
		roll_text(texts[i], pick(dice, words, COUNT(words)), dice);
	roll_text(&host->boot, pick(dice, boots, COUNT(boots)), dice);
	roll_text(&host->boot_tool, pick(dice, boot_tools, COUNT(boot_tools)), dice);
	if (dice_roll(dice, 20) == 0)
		fact_set_text(&host->emulator, "valgrind");
	roll_flag(&host->libc_static, dice);
	roll_flag(&host->invariant_tsc, dice);
	roll_text(&host->tsc_flags, pick(dice, words, COUNT(words)), dice);
	roll_flag(&host->kvm_clock_offered, dice);
	roll_flag(&host->kvm_clock_stable, dice);
	roll_number(&host->xen_tsc_mode, dice);
	roll_flag(&host->xen_tsc_reliable, dice);
	roll_flag(&host->xen_tsc_emulated, dice);
	roll_flag(&host->counter_disabled, dice);
	roll_number(&host->tracer, dice);
	roll_number(&host->seccomp, dice);
}

static void roll_clocksource(struct clocksource_evidence *clocksource, struct dice *dice)
{
	roll_fact(&clocksource->current_fact, dice);
	text_clean(clocksource->current, sizeof(clocksource->current),
		fact_is_known(&clocksource->current_fact) ? pick(dice, names, COUNT(names)) : "");
	roll_fact(&clocksource->available_fact, dice);
	clocksource->available_count =
		fact_is_known(&clocksource->available_fact) ? dice_roll(dice, 5) : 0;
	for (size_t i = 0; i < clocksource->available_count; i++)
		text_clean(clocksource->available[i], CLOCKSOURCE_NAME_SIZE,
			pick(dice, names, COUNT(names)));
	if (dice_roll(dice, 8) == 0)
		clocksource->changes = (unsigned)dice_roll(dice, 4);
}

static void roll_vclock(struct vclock_evidence *vclock, struct dice *dice)
{
	vclock->how = (enum vclock_how)dice_roll(dice, 3);
	vclock->mode = (int64_t)dice_roll(dice, 4);
	text_clean(vclock->name, sizeof(vclock->name), pick(dice, modes, COUNT(modes)));
	roll_fact(&vclock->fact, dice);
	if (vclock->how == VCLOCK_READ)
		fact_set_known(&vclock->fact);
	else if (fact_is_known(&vclock->fact))
		fact_set(&vclock->fact, FACT_FAILED, "for some reason");
	roll_flag(&vclock->time_namespace, dice);
	roll_flag(&vclock->pvclock_stable, dice);
	roll_number(&vclock->hyperv_sequence, dice);
}

/* The C library has every call; vDSO and kernel may lack some. */
static void roll_path(struct path_evidence *path, bool available, struct dice *dice)
{
	uint64_t tenths = dice_roll(dice, 25000);

	path->available = available;
	if (path->available && dice_roll(dice, 4))
		fact_set_known(&path->fact);
	else
		fact_set(&path->fact, FACT_FAILED, "for some reason");
	path->min_ns = (double)tenths / 10; /* as documents have them */
	path->median_ns = path->min_ns;
	path->p99_ns = (double)(dice_roll(dice, 4) ? tenths * 6 / 5 : tenths * 3) / 10;
	path->attempts = path->available && dice_roll(dice, 4) ? BUILDER_ATTEMPTS : 0;
	path->entered = dice_roll(dice, 2) ? path->attempts : 0;
	if (path->attempts && dice_roll(dice, 4) == 0)
		path->entered = (uint32_t)dice_roll(dice, path->attempts);
	path->signal = path->available && dice_roll(dice, 40) == 0 ? 11 : 0;
	if (path->available && dice_roll(dice, 20) == 0) {
		path->failed = 1 + (uint32_t)dice_roll(dice, BUILDER_ATTEMPTS);
		path->error = dice_roll(dice, 2) ? 38 : 0;
	}
}

static void roll_calls(struct evidence *evidence, struct dice *dice)
{
	set_calls(evidence, dice_roll(dice, 2));
	if (dice_roll(dice, 2))
		return;
	evidence->call_count = DECIDING + dice_roll(dice, COUNT(rows) + 1 - DECIDING);
	evidence->call_count *= dice_roll(dice, 8) > 0;
	for (size_t i = 0; i < evidence->call_count; i++) {
		evidence->calls[i].raw_error = dice_roll(dice, 10) ? 0 : 38;
		evidence->calls[i].agrees = (struct flag_fact){.value = false};
		roll_fact(&evidence->calls[i].agrees.fact, dice);
		evidence->calls[i].agrees.value =
			fact_is_known(&evidence->calls[i].agrees.fact) && dice_roll(dice, 40);
		evidence->calls[i].ahead_ns = fact_is_flag(&evidence->calls[i].agrees, false)
		                                      ? (int64_t)dice_roll(dice, 5) * 1000 - 2000
		                                      : 0;
		evidence->calls[i].libc_agrees.fact = evidence->calls[i].agrees.fact;
		evidence->calls[i].libc_agrees.value =
			fact_is_known(&evidence->calls[i].libc_agrees.fact) && dice_roll(dice, 4);
		evidence->calls[i].libc_ahead_ns = -evidence->calls[i].ahead_ns;
		for (int path = 0; path < PATH_COUNT; path++)
			roll_path(&evidence->calls[i].path[path],
				path == PATH_LIBC || dice_roll(dice, 8), dice);
	}
}

/* Where nothing was timed no part of it is known. */
static void roll_timing(struct timing_evidence *timing, struct dice *dice)
{
	struct fact *parts[] = {
		&timing->counter_ns.fact, &timing->syscall_floor_ns.fact, &timing->ordered_ns.fact};

	roll_fact(&timing->fact, dice);
	for (size_t i = 0; i < COUNT(parts); i++) {
		roll_fact(parts[i], dice);
		if (!fact_is_known(&timing->fact))
			*parts[i] = timing->fact;
	}
	timing->counter_ns.value = (double)dice_roll(dice, 3000) / 10;
}

void evidence_roll(struct evidence *evidence, struct dice *dice)
{
	evidence_make_healthy(evidence);
	evidence->live = dice_roll(dice, 16) > 0;
	roll_fact(&evidence->timestamp.time.fact, dice);
	roll_fact(&evidence->timestamp.uptime_s.fact, dice);
	roll_clocksource(&evidence->clocksource, dice);
	roll_fact(&evidence->vdso.fact, dice);
	roll_vclock(&evidence->vclock, dice);
	roll_host(&evidence->host, dice);
	roll_fact(&evidence->kernel_log.fact, dice);
	for (uint64_t i = dice_roll(dice, 4); i > 0; i--)
		evidence_add_log(evidence, pick(dice, logs, COUNT(logs)));
	roll_fact(&evidence->ntp.fact, dice);
	roll_fact(&evidence->proof.fact, dice);
	roll_timing(&evidence->timing, dice);
	roll_calls(evidence, dice);
}

void evidence_find_verdict(const struct evidence *evidence, struct verdict *verdict)
{
	static struct diagnosis diagnosis;

	diagnose(evidence, &diagnosis);
	*verdict = diagnosis.verdict;
}

struct path_evidence *evidence_monotonic(struct evidence *evidence, enum call_path path)
{
	return &evidence_find_call(evidence, "clock_gettime", "CLOCK_MONOTONIC")->path[path];
}

void evidence_list_live_calls(
	struct evidence *evidence, struct vdso_image *image, struct call_table *calls)
{
	struct root root;
	struct fact why = {0};

	*evidence = (struct evidence){.live = true};
	assert_true(root_open(&root, "/", &why));
	vdso_collect(&root, &evidence->vdso, image);
	root_close(&root);
	call_table_make(&evidence->vdso, image, calls, DEADLINE_NONE);
	call_table_name(calls, evidence);
}
