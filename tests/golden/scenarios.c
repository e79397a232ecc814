/* SPDX-License-Identifier: MIT */
#include "golden/scenario.h"

#include "base/text.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

static const struct vdso_image x86_new = {"linux-vdso.so.1", "LINUX_2.6",
	(const char *const[]){"__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time",
		"__vdso_clock_getres", "__vdso_getcpu", NULL}};

/* Before 5.3. */
static const struct vdso_image x86_old = {"linux-vdso.so.1", "LINUX_2.6",
	(const char *const[]){"__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time",
		"__vdso_getcpu", NULL}};

static const struct vdso_image arm64 = {"linux-vdso.so.1", "LINUX_2.6.39",
	(const char *const[]){"__kernel_clock_gettime", "__kernel_gettimeofday",
		"__kernel_clock_getres", "__kernel_rt_sigreturn", NULL}};

#define LAYOUT_5_3 "x86, Linux 5.3-6.1"
#define LAYOUT_4 "x86, Linux 3.16-5.2"

#define FAST                                                                                       \
	{                                                                                          \
		.vdso = 22.7, .syscall = 164.0, .coarse = 3.9, .counter = 9.2, .entry = 71.5       \
	}
#define SLOW                                                                                       \
	{                                                                                          \
		.vdso = 596.0, .syscall = 598.2, .coarse = 6.8, .counter = 12.4, .entry = 148.0    \
	}

static struct call_evidence *find(struct evidence *evidence, const char *call, const char *clock)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (strcmp(evidence->calls[i].call, call) == 0 &&
			strcmp(evidence->calls[i].clock, clock) == 0)
			return &evidence->calls[i];
	}
	return NULL;
}

static void is_under_valgrind(struct evidence *evidence)
{
	fact_set_text(&evidence->host.emulator, "valgrind");
}

static void is_pvclock_stable(struct evidence *evidence)
{
	fact_set_flag(&evidence->vclock.pvclock_stable, true);
}

static void is_pvclock_unstable(struct evidence *evidence)
{
	fact_set_flag(&evidence->vclock.pvclock_stable, false);
}

static void is_hyperv_page_valid(struct evidence *evidence)
{
	fact_set_number(&evidence->vclock.hyperv_sequence, 7);
}

static void is_hyperv_page_invalid(struct evidence *evidence)
{
	fact_set_number(&evidence->vclock.hyperv_sequence, 0);
}

static void enters_for_gettimeofday(struct evidence *evidence)
{
	struct path_evidence *path = find(evidence, "gettimeofday", "")->path;

	for (int i = PATH_VDSO; i <= PATH_LIBC; i++) {
		path[i].entered = 1000;
		path[i].min_ns = path[PATH_SYSCALL].min_ns - 1.5;
	}
}

static void is_static(struct evidence *evidence)
{
	fact_set_flag(&evidence->host.libc_static, true);
}

static void is_in_time_namespace(struct evidence *evidence)
{
	evidence->vclock.time_namespace = true;
}

static void proves_by_ptrace(struct evidence *evidence)
{
	evidence->proof.method = PROOF_PTRACE;
	strcpy(evidence->proof.note, "seccomp filter: Operation not permitted");
}

/* The counter faults: timing has no times for what reads it, and no call is made twice. */
static void has_counter_off(struct evidence *evidence)
{
	fact_set_flag(&evidence->host.counter_off, true);
	fact_set(&evidence->timing.counter_fact, FACT_FAILED, "rdtsc ends with SIGSEGV");
	evidence->timing.ordered_fact = evidence->timing.counter_fact;
	evidence->timing.counter_ns = 0;
	for (size_t i = 0; i < evidence->call_count; i++) {
		struct call_evidence *call = &evidence->calls[i];

		if (!call->decides && strcmp(call->clock, "CLOCK_MONOTONIC_RAW") != 0 &&
			strcmp(call->clock, "CLOCK_BOOTTIME") != 0 &&
			strcmp(call->clock, "CLOCK_TAI") != 0)
			continue;
		for (int path = PATH_VDSO; path <= PATH_LIBC; path++)
			call->path[path] =
				(struct path_evidence){.available = true, .signal = SIGSEGV};
	}
}

static void is_not_timed(struct evidence *evidence)
{
	memset(&evidence->timing, 0, sizeof(evidence->timing));
	fact_set(&evidence->timing.fact, FACT_DENIED,
		"the kernel refuses to tell the time, so nothing can be timed");
	for (size_t i = 0; i < evidence->call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++)
			evidence->calls[i].path[path].timed = false;
	}
}

/* The clocksource changed between timing and proof. */
static void was_cheap_before(struct evidence *evidence)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides)
			evidence->calls[i].path[PATH_VDSO].min_ns = 22.7;
	}
}

/* It changed between the two parts of the proof, and a moment after the timing. */
static void went_to_hpet(struct evidence *evidence)
{
	strcpy(evidence->clocksource.changed_to, "hpet");
	evidence->clocksource.changes = 1;
}

static void keeps_changing(struct evidence *evidence)
{
	went_to_hpet(evidence);
	evidence->clocksource.changes = 41;
}

static void was_dear_before(struct evidence *evidence)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides) {
			evidence->calls[i].path[PATH_VDSO].min_ns = 1404.2;
			evidence->calls[i].path[PATH_VDSO].p99_ns = 1540.6;
		}
	}
}

/* The generic refusal of a container whose profile knows no time64 calls. */
static void refuses_system_calls(struct evidence *evidence)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (strcmp(evidence->calls[i].call, "clock_gettime") != 0)
			continue;
		evidence->calls[i].raw_error = EPERM;
		evidence->calls[i].path[PATH_SYSCALL].timed = false;
	}
}

/* All but what its vDSO serves enters the sentry. */
static void is_gvisor(struct evidence *evidence)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		struct call_evidence *call = &evidence->calls[i];

		if (call->decides || strcmp(call->clock, "CLOCK_BOOTTIME") == 0)
			continue;
		for (int path = PATH_VDSO; path <= PATH_LIBC; path++) {
			if (!call->path[path].attempts)
				continue;
			call->path[path].entered = 1000;
			call->path[path].min_ns = call->path[PATH_SYSCALL].min_ns - 1.5;
		}
	}
}

#define HPET_6_1                                                                                   \
	.rule = "enters-always", .vdso = &x86_new, .mode = 0, .mode_name = "none",                 \
	.layout = LAYOUT_5_3, .counter = "rdtsc", .libc = "glibc 2.36",                            \
	.ns = {.vdso = 1402.0, .syscall = 1404.1, .coarse = 5.1, .counter = 11.2, .entry = 99.0},  \
	.entered = 1000

#define KVM_WITHOUT_MODE                                                                           \
	.rule = "enters-always", .vdso = &x86_new, .mode = 0, .mode_name = "none",                 \
	.layout = LAYOUT_5_3, .counter = "rdtsc", .libc = "glibc 2.31",                            \
	.ns = {.vdso = 251.0, .syscall = 252.4, .coarse = 4.1, .counter = 9.8, .entry = 88.0},     \
	.entered = 1000

#define NO_PROOF "seccomp filter: Operation not permitted; ptrace: Operation not permitted"

/* The log of a host whose watchdog dropped the TSC, with these figures. */
static void set_report(struct evidence *evidence, const char *reference, const char *tsc)
{
	const char *const lines[] = {"clocksource: timekeeping watchdog on CPU3: Marking "
				     "clocksource 'tsc' as unstable because the skew is too large:",
		reference, tsc, "tsc: Marking TSC unstable due to clocksource watchdog"};
	struct kernel_log_evidence *log = &evidence->kernel_log;

	log->count = 0;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (!lines[i])
			continue;
		log->lines[log->count].seconds = 335.5 + (double)i / 1000;
		text_copy(log->lines[log->count++].text, KERNEL_LOG_TEXT_SIZE, lines[i]);
	}
}

static void reference_wrapped(struct evidence *evidence)
{
	set_report(evidence,
		"clocksource: 'acpi_pm' wd_nsec: 312227950 wd_now: 92367f wd_last: 8128bd mask: ffffff",
		"clocksource: 'tsc' cs_nsec: 4999196389 cs_now: 9e811223a9754 cs_last: 9e80e767df194 mask: ffffffffffffffff");
}

static void reference_stopped(struct evidence *evidence)
{
	set_report(evidence,
		"clocksource: 'hpet' wd_nsec: 265054500 wd_now: 54b0f25 wd_last: 4e9fe44 mask: ffffffff",
		"clocksource: 'tsc' cs_nsec: 521436500 cs_now: 3e0e2debe0 cs_last: 3daab92440 mask: ffffffffffffffff");
}

static void reference_misread(struct evidence *evidence)
{
	set_report(evidence,
		"clocksource: 'hpet' wd_now: ffffffff wd_last: 19ec5720 mask: ffffffff",
		"clocksource: 'tsc' cs_now: 69b8a15f0aed cs_last: 69b862c9947d mask: ffffffffffffffff");
}

static void lost_ticks(struct evidence *evidence)
{
	set_report(evidence,
		"clocksource: 'refined-jiffies' wd_nsec: 503923392 wd_now: fffb73f8 wd_last: fffb7200 mask: ffffffff",
		"clocksource: 'tsc-early' cs_nsec: 588021368 cs_now: 581c1eb378 cs_last: 57d9aad9e8 mask: ffffffffffffffff");
}

static void check_late(struct evidence *evidence)
{
	set_report(evidence,
		"clocksource: 'hpet' wd_nsec: 14523447520 wd_now: 5a749706 wd_last: 45adf1e0 mask: ffffffff",
		"clocksource: 'tsc' cs_nsec: 14524115132 cs_now: 515ce2c5a96caa cs_last: 515cd9a9d83918 mask: ffffffffffffffff");
}

static void check_delayed(struct evidence *evidence)
{
	set_report(evidence,
		"clocksource: 'hpet' wd_nsec: 503029760 wd_now: 48a38f74 wd_last: 47e3ab74 mask: ffffffff",
		"clocksource: 'tsc' cs_nsec: 503466648 cs_now: 3224653e7bd cs_last: 3220d4f8d57 mask: ffffffffffffffff");
}

static void guest_paused(struct evidence *evidence)
{
	set_report(evidence, "clocksource: Watchdog kvm-clock interval: 503995129ns",
		"clocksource: Clocksource tsc interval: 1894661885ns");
}

static void jumped(struct evidence *evidence)
{
	set_report(evidence,
		"clocksource: 'hpet' wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff",
		"clocksource: 'tsc' cs_now: 103b19f57d0eb5 cs_last: fc461fd0ba3a6 mask: ffffffffffffffff");
}

static void without_figures(struct evidence *evidence)
{
	set_report(evidence, NULL, NULL);
}

static void early(struct evidence *evidence)
{
	set_report(evidence, NULL, NULL);
	text_copy(evidence->kernel_log.lines[0].text, KERNEL_LOG_TEXT_SIZE,
		"clocksource: Marking clocksource 'tsc-early' as unstable because the skew is too "
		"large:");
}

const struct scenario scenarios[] = {
	/* Only a tree: names alone decide nothing. */
	{.name = "captured-xen-ec2",
		.root = "xen-ec2",
		.rule = "captured-tree",
		.captured = true,
		.loss = "a tree of another machine is judged by a name"},
	{.name = "captured-tsc-metal",
		.root = "tsc-metal",
		.rule = "captured-tree",
		.captured = true,
		.loss = "a tree of a machine with tsc is called ok without a proof"},
	{.name = "captured-arm64-graviton",
		.root = "arm64-graviton",
		.rule = "captured-tree",
		.captured = true,
		.loss = "an arm64 machine's tree is not understood"},
	{.name = "captured-ppc64le-power9",
		.root = "ppc64le-power9",
		.rule = "captured-tree",
		.captured = true,
		.loss = "a POWER machine's tree is not understood"},
	{.name = "captured-acpi-pm-notsc",
		.root = "acpi-pm-notsc",
		.rule = "captured-tree",
		.captured = true,
		.loss = "the boot parameters behind a slow clock are not shown"},
	{.name = "captured-container-without-sys",
		.root = "container-without-sys",
		.rule = "captured-tree",
		.captured = true,
		.loss = "a container without /sys ends the run"},
	{.name = "captured-hyperv-wsl2",
		.root = "hyperv-wsl2",
		.rule = "captured-tree",
		.captured = true,
		.loss = "WSL2 is not told from other machines"},

	/* Fine hosts, and those that other tools sound a false alarm for. */
	{.name = "tsc-metal",
		.root = "tsc-metal",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = FAST,
		.loss = "a plain good host is not called ok"},
	{.name = "tsc-metal-ptrace",
		.root = "tsc-metal",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = FAST,
		.change = proves_by_ptrace,
		.loss = "a proof by ptrace does not say why it was not seccomp"},
	{.name = "tsc-time-namespace",
		.root = "tsc-metal",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = FAST,
		.change = is_in_time_namespace,
		.loss = "a time namespace is not told"},
	{.name = "kvm-clock",
		.root = "kvm-clock",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 2,
		.mode_name = "pvclock",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = FAST,
		.change = is_pvclock_stable,
		.loss = "a false alarm for kvm-clock"},
	{.name = "kvm-clock-gcp",
		.root = "kvm-clock-gcp",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 2,
		.mode_name = "pvclock",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.31",
		.ns = FAST,
		.change = is_pvclock_stable,
		.loss = "a good kvm-clock is told to become tsc because tsc is offered"},
	{.name = "hyperv-wsl2",
		.root = "hyperv-wsl2",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 3,
		.mode_name = "hvclock",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = FAST,
		.change = is_hyperv_page_valid,
		.loss = "a false alarm for the Hyper-V page"},
	{.name = "arm64-graviton",
		.root = "arm64-graviton",
		.rule = "user-space",
		.vdso = &arm64,
		.mode = 1,
		.mode_name = "archtimer",
		.layout = "arm64, Linux 5.3-6.14",
		.counter = "cntvct_el0",
		.libc = "glibc 2.34",
		.ns = {.vdso = 34.6,
			.syscall = 139.0,
			.coarse = 6.4,
			.counter = 17.9,
			.entry = 62.0},
		.loss = "a false alarm for arm64, or advice that fits x86 alone"},
	{.name = "page-unknown",
		.root = "kvm-clock",
		.rule = "user-space",
		.vdso = &x86_new,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = FAST,
		.loss = "a kernel with an unknown data page is not judged by the proof"},
	{.name = "container-without-sys",
		.root = "container-without-sys",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = FAST,
		.loss = "a container without /sys has no verdict"},
	{.name = "no-proof-but-cheap",
		.root = "tsc-metal",
		.rule = "cheaper-than-entry",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = FAST,
		.no_proof = NO_PROOF,
		.loss = "a locked-down sandbox on a good host stays unknown"},
	{.name = "static-old-libc",
		.root = "tsc-metal",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.28",
		.ns = FAST,
		.libc_enters = true,
		.change = is_static,
		.loss = "the libc linked into the binary is taken for the host's"},

	/* Hosts whose calls enter the kernel. */
	{.name = "xen-ec2",
		.root = "xen-ec2",
		.rule = "enters-always",
		.vdso = &x86_old,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_4,
		.counter = "rdtsc",
		.libc = "glibc 2.17",
		.ns = SLOW,
		.entered = 1000,
		.old_vdso = true,
		.loss = "the slow clock of EC2's Xen instances is not found"},
	{.name = "xen-invariant",
		.root = "xen-invariant",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = SLOW,
		.entered = 1000,
		.change = is_pvclock_unstable,
		.loss = "a Xen guest that could use tsc is not told how"},
	{.name = "kvm-clock-unstable",
		.root = "kvm-clock-unstable",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 2,
		.mode_name = "pvclock",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.31",
		.ns = {.vdso = 251.0,
			.syscall = 252.4,
			.coarse = 4.1,
			.counter = 9.8,
			.entry = 88.0},
		.entered = 1000,
		.change = is_pvclock_unstable,
		.loss = "a kvm-clock that the hypervisor withdrew is taken for a fast one"},
	{.name = "kvm-clock-sometimes",
		.root = "kvm-clock-unstable",
		.rule = "enters-sometimes",
		.vdso = &x86_new,
		.mode = 2,
		.mode_name = "pvclock",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.31",
		.ns = {.vdso = 24.0,
			.syscall = 252.4,
			.coarse = 4.1,
			.counter = 9.8,
			.entry = 88.0},
		.entered = 312,
		.change = is_pvclock_stable,
		.loss = "a clock that falls back now and then is called fine"},
	{.name = "hyperv-azure-regression",
		.root = "hyperv-azure",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.27",
		.ns = {.vdso = 537.0,
			.syscall = 539.1,
			.coarse = 5.2,
			.counter = 11.0,
			.entry = 131.0},
		.entered = 1000,
		.change = is_hyperv_page_valid,
		.loss = "Azure's kernel regression hides behind the clocksource's name"},
	{.name = "hyperv-page-invalid",
		.root = "hyperv-azure",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 3,
		.mode_name = "hvclock",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.27",
		.ns = {.vdso = 1204.0,
			.syscall = 1207.5,
			.coarse = 5.2,
			.counter = 11.0,
			.entry = 131.0},
		.entered = 1000,
		.change = is_hyperv_page_invalid,
		.loss = "a Hyper-V page that the host withdrew is not told"},
	{.name = "hpet-watchdog",
		.root = "hpet-watchdog",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = {.vdso = 1488.0,
			.syscall = 1490.7,
			.coarse = 4.0,
			.counter = 10.4,
			.entry = 69.0},
		.entered = 1000,
		.loss = "a machine whose tsc the watchdog dropped is told to force tsc"},
	{.name = "reference-wrapped",
		.root = "hpet-watchdog",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.log = reference_wrapped,
		.loss = "a reference that wrapped around is taken for a bad tsc"},
	{.name = "reference-stopped",
		.root = "hpet-watchdog",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.log = reference_stopped,
		.loss = "an hpet that stops in deep idle states is taken for a bad tsc"},
	{.name = "reference-misread",
		.root = "hpet-watchdog",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.log = reference_misread,
		.loss = "an hpet that was read as all ones is taken for a bad tsc"},
	{.name = "reference-lost-ticks",
		.root = "hpet-watchdog",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.log = lost_ticks,
		.loss = "lost timer interrupts are taken for a bad tsc"},
	{.name = "check-late",
		.root = "hpet-watchdog",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.log = check_late,
		.loss = "a check that came 14 s late is taken for a bad tsc"},
	{.name = "check-delayed",
		.root = "hpet-watchdog",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.log = check_delayed,
		.loss = "a delayed read on a large machine is taken for a bad tsc"},
	{.name = "guest-paused",
		.root = "tsc-early-skewed",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.log = guest_paused,
		.loss = "a guest's pause is taken for a bad tsc"},
	{.name = "tsc-jumped",
		.root = "hpet-watchdog",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.log = jumped,
		.loss = "a tsc that was written is forced"},
	{.name = "tsc-distrusted",
		.root = "hpet-watchdog",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.log = without_figures,
		.loss = "a tsc is called bad, or good, without figures"},
	{.name = "tsc-early-unstable",
		.root = "tsc-early-skewed",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.log = early,
		.loss = "a guest's tsc is called bad, or good, without figures"},
	{.name = "hpet-forced",
		.root = "hpet-forced",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = {.vdso = 1312.0,
			.syscall = 1314.2,
			.coarse = 5.9,
			.counter = 10.9,
			.entry = 97.0},
		.entered = 1000,
		.loss = "a boot parameter that chose the slow clock is not shown"},
	{.name = "acpi-pm-notsc",
		.root = "acpi-pm-notsc",
		.rule = "enters-always",
		.vdso = &x86_old,
		.mode = 0,
		.mode_name = "none",
		.layout = "x86, Linux 3.10-3.14, RHEL 7",
		.counter = "rdtsc",
		.libc = "glibc 2.17",
		.ns = {.vdso = 4710.0,
			.syscall = 4714.0,
			.coarse = 7.7,
			.counter = 14.0,
			.entry = 190.0},
		.entered = 1000,
		.old_vdso = true,
		.loss = "a machine booted with notsc is told to use tsc"},
	{.name = "jiffies-protected",
		.root = "jiffies-protected",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = "x86, Linux 6.12",
		.counter = "rdtsc",
		.libc = "glibc 2.40",
		.ns = {.vdso = 131.0,
			.syscall = 132.6,
			.coarse = 3.3,
			.counter = 8.1,
			.entry = 66.0},
		.entered = 1000,
		.loss = "a protected guest that ticks by jiffies is not explained"},
	{.name = "arm64-erratum",
		.root = "arm64-erratum",
		.rule = "enters-always",
		.vdso = &arm64,
		.mode = 0,
		.mode_name = "none",
		.layout = "arm64, Linux 4.12-5.2",
		.arch = "aarch64",
		.counter = "cntvct_el0",
		.libc = "glibc 2.28",
		.ns = {.vdso = 402.0,
			.syscall = 404.4,
			.coarse = 11.0,
			.counter = 40.0,
			.entry = 160.0},
		.entered = 1000,
		.loss = "an arm64 erratum is not explained"},
	{.name = "arm64-jiffies",
		.root = "arm64-jiffies",
		.rule = "enters-always",
		.vdso = &arm64,
		.mode = 0,
		.mode_name = "none",
		.layout = "arm64, Linux 5.3-6.14",
		.arch = "aarch64",
		.counter = "cntvct_el0",
		.libc = "glibc 2.36",
		.ns = {.vdso = 402.0,
			.syscall = 404.4,
			.coarse = 11.0,
			.counter = 40.0,
			.entry = 160.0},
		.entered = 1000,
		.loss = "an arm64 host on jiffies is told that nothing helps"},
	{.name = "wsl1",
		.root = "wsl1",
		.rule = "enters-always",
		.vdso = &x86_old,
		.counter = "rdtsc",
		.libc = "glibc 2.31",
		.ns = {.vdso = 602.0,
			.syscall = 604.1,
			.coarse = 9.0,
			.counter = 8.8,
			.entry = 310.0},
		.entered = 1000,
		.old_vdso = true,
		.loss = "a host that tells nothing of its clock is left without a cause"},
	{.name = "vdso-off",
		.root = "vdso-off",
		.rule = "enters-without-vdso",
		.counter = "rdtsc",
		.libc = "glibc 2.31",
		.ns = {.vdso = 188.0,
			.syscall = 186.2,
			.coarse = 60.0,
			.counter = 7.9,
			.entry = 74.0},
		.entered = 1000,
		.loss = "vdso=0 on the command line is not found"},
	{.name = "gettimeofday-alone",
		.root = "tsc-metal",
		.rule = "enters-some-calls",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = FAST,
		.change = enters_for_gettimeofday,
		.loss = "a vDSO that serves one call and not the other is called fine"},
	{.name = "libc-passes-vdso",
		.root = "tsc-metal",
		.rule = "enters-through-libc",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "musl or another libc",
		.ns = FAST,
		.libc_enters = true,
		.loss = "a C library that passes the vDSO by is called fine"},

	{.name = "hpet-read-delay",
		.root = "hpet-read-delay",
		HPET_6_1,
		.loss = "the watchdog's false alarm in a nested guest is taken for a bad tsc"},
	{.name = "tsc-early-skewed",
		.root = "tsc-early-skewed",
		HPET_6_1,
		.loss = "a tsc that was skewed at boot is not told from one that failed later"},
	{.name = "tsc-warped",
		.root = "tsc-warped",
		HPET_6_1,
		.loss = "CPUs whose counters disagree are told to use tsc"},
	{.name = "hpet-new-cpu",
		.root = "hpet-new-cpu",
		HPET_6_1,
		.loss = "a kernel too old for its CPU is not suspected"},
	{.name = "kernel-log-denied",
		.root = "hpet-new-cpu",
		HPET_6_1,
		.no_log = "/dev/kmsg: Operation not permitted",
		.loss = "a plain user is not told that root would see more"},
	{.name = "container-on-hpet",
		.root = "container-on-hpet",
		HPET_6_1,
		.loss = "a container is told to switch a clocksource that is its host's"},
	{.name = "container-without-sys-slow",
		.root = "container-without-sys",
		HPET_6_1,
		.loss = "a container without /sys is told that nobody knows why its clock is slow"},
	{.name = "hyperv-no-invariant",
		.root = "hyperv-no-invariant",
		.rule = "enters-always",
		.vdso = &x86_old,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_4,
		.counter = "rdtsc",
		.libc = "glibc 2.28",
		.ns = {.vdso = 2320.0,
			.syscall = 2322.8,
			.coarse = 7.1,
			.counter = 13.0,
			.entry = 160.0},
		.entered = 1000,
		.old_vdso = true,
		.loss = "a Hyper-V host without an invariant tsc is not told"},
	{.name = "hyperv-old-kernel",
		.root = "hyperv-old-kernel",
		.rule = "enters-always",
		.vdso = &x86_old,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_4,
		.counter = "rdtsc",
		.libc = "glibc 2.23",
		.ns = {.vdso = 611.0,
			.syscall = 613.0,
			.coarse = 7.1,
			.counter = 12.0,
			.entry = 140.0},
		.entered = 1000,
		.old_vdso = true,
		.loss = "a kernel too old for Hyper-V's page is not told"},
	{.name = "kvm-clock-vsyscall-off",
		.root = "kvm-clock-vsyscall-off",
		KVM_WITHOUT_MODE,
		.loss = "a boot parameter that keeps kvm-clock from the vDSO is not found"},
	{.name = "kvm-clock-32-bit",
		.root = "kvm-clock-32-bit",
		KVM_WITHOUT_MODE,
		.loss = "a 32-bit guest is not told that its kernel is the cause"},
	{.name = "firecracker",
		.root = "firecracker",
		KVM_WITHOUT_MODE,
		.loss = "a guest that is restored from snapshots is told to use tsc"},
	{.name = "arm-compat",
		.root = "arm64-erratum",
		.rule = "enters-always",
		.vdso = &arm64,
		.mode = 2,
		.mode_name = "archtimer-nocompat",
		.layout = "arm64, Linux 5.3-6.14",
		.arch = "armv8l",
		.counter = "cntvct",
		.libc = "glibc 2.28",
		.ns = {.vdso = 402.0,
			.syscall = 404.4,
			.coarse = 11.0,
			.counter = 40.0,
			.entry = 160.0},
		.entered = 1000,
		.loss = "a 32-bit program on arm64 is told to change its CPU"},
	{.name = "no-vdso",
		.root = "tsc-metal",
		.rule = "enters-without-vdso",
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = {.vdso = 188.0,
			.syscall = 186.2,
			.coarse = 60.0,
			.counter = 7.9,
			.entry = 74.0},
		.entered = 1000,
		.loss = "an emulator without a vDSO is taken for the host"},
	{.name = "valgrind",
		.root = "tsc-metal",
		.rule = "emulated",
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = {.vdso = 188.0,
			.syscall = 186.2,
			.coarse = 60.0,
			.counter = 7.9,
			.entry = 74.0},
		.entered = 1000,
		.change = is_under_valgrind,
		.loss = "what valgrind shows is taken for the host"},

	/* Fine for the calls that decide, and worth a word. */
	{.name = "tsc-old-kernel",
		.root = "tsc-old-kernel",
		.rule = "user-space",
		.vdso = &x86_old,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_4,
		.counter = "rdtsc",
		.libc = "glibc 2.28",
		.ns = FAST,
		.old_vdso = true,
		.loss = "clocks that an old vDSO does not serve make a false alarm"},
	{.name = "gvisor",
		.root = "gvisor",
		.rule = "user-space",
		.vdso = &x86_old,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = {.vdso = 41.0,
			.syscall = 1260.0,
			.coarse = 41.0,
			.counter = 9.0,
			.entry = 740.0},
		.change = is_gvisor,
		.loss = "gVisor's few clocks make a false alarm"},
	{.name = "gvisor-just-started",
		.root = "gvisor",
		.rule = "enters-always",
		.vdso = &x86_old,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = {.vdso = 1290.0,
			.syscall = 1260.0,
			.coarse = 41.0,
			.counter = 9.0,
			.entry = 740.0},
		.entered = 1000,
		.loss = "a sandbox that has just started makes a false alarm"},
	{.name = "time-calls-blocked",
		.root = "container-without-sys",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = FAST,
		.change = refuses_system_calls,
		.loss = "a profile that refuses the time's system calls is not noticed"},
	{.name = "time-calls-blocked-unknown",
		.root = "container-without-sys",
		.rule = "no-proof",
		.vdso = &x86_old,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = SLOW,
		.no_proof = NO_PROOF,
		.change = refuses_system_calls,
		.loss = "a profile that refuses the time's system calls is not told to be the cause"},
	{.name = "clocksource-changing",
		.root = "tsc-metal",
		.rule = "enters-sometimes",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.31",
		.ns = FAST,
		.entered = 500,
		.change = went_to_hpet,
		.loss = "a clocksource that changes under our eyes is not named as the cause"},
	{.name = "clocksource-keeps-changing",
		.root = "tsc-metal",
		.rule = "clocksource-keeps-changing",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.31",
		.ns = FAST,
		.change = keeps_changing,
		.loss = "a clocksource that goes to and fro is called fine when each call met tsc"},
	{.name = "unexplained",
		.root = "tsc-metal",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode_name = NULL,
		.counter = "rdtsc",
		.libc = "glibc 2.31",
		.ns = SLOW,
		.entered = 1000,
		.loss = "a fallback that nobody can explain has no way out"},

	/* User space, and yet no good. */
	{.name = "counter-trapped",
		.root = "xen-invariant",
		.rule = "counter-slow",
		.vdso = &x86_new,
		.mode = 2,
		.mode_name = "pvclock",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = {.vdso = 1893.0,
			.syscall = 2071.0,
			.coarse = 6.8,
			.counter = 1860.0,
			.entry = 121.0},
		.change = is_pvclock_stable,
		.loss = "a counter that the hypervisor traps is called fine"},
	{.name = "counter-off",
		.root = "tsc-metal",
		.rule = "call-crashes",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = FAST,
		.change = has_counter_off,
		.loss = "a counter that is switched off is not told"},

	/* Nothing can be proven. */
	{.name = "no-proof",
		.root = "xen-ec2",
		.rule = "no-proof",
		.vdso = &x86_old,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_4,
		.counter = "rdtsc",
		.libc = "glibc 2.17",
		.ns = SLOW,
		.entered = 1000,
		.old_vdso = true,
		.no_proof = NO_PROOF,
		.loss = "a slow clock without a proof is called a fallback: a guess"},
	{.name = "nothing-known",
		.root = "container-without-sys",
		.rule = "no-proof",
		.vdso = &x86_new,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = FAST,
		.no_proof = "fork: Resource temporarily unavailable",
		.change = is_not_timed,
		.loss = "a sandbox that lets nothing be measured gets a verdict"},

	/* Witnesses that contradict each other. */
	{.name = "mode-none-yet-answered",
		.root = "kvm-clock",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = FAST,
		.loss = "a page that contradicts the proof is passed over in silence"},
	{.name = "mode-set-yet-entering",
		.root = "tsc-metal",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.36",
		.ns = SLOW,
		.entered = 1000,
		.loss = "a good page hides that the calls enter the kernel"},
	{.name = "name-yet-answered",
		.root = "hpet-watchdog",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = FAST,
		.loss = "a clocksource that changed meanwhile is not told"},
	{.name = "entering-yet-cheap",
		.root = "hpet-watchdog",
		.rule = "enters-always",
		.vdso = &x86_new,
		.mode = 0,
		.mode_name = "none",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = SLOW,
		.entered = 1000,
		.change = was_cheap_before,
		.loss = "times from before a change are believed with the proof after it"},
	{.name = "answered-yet-dear",
		.root = "tsc-metal",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = FAST,
		.change = was_dear_before,
		.loss = "times of a system call beside a proof without one are not remarked on"},
	{.name = "counter-dear",
		.root = "tsc-metal",
		.rule = "user-space",
		.vdso = &x86_new,
		.mode = 1,
		.mode_name = "tsc",
		.layout = LAYOUT_5_3,
		.counter = "rdtsc",
		.libc = "glibc 2.35",
		.ns = {.vdso = 462.0,
			.syscall = 1404.2,
			.coarse = 6.8,
			.counter = 421.5,
			.entry = 1102.0},
		.loss = "a counter that is intercepted is fine where system calls are dearer still"},
};

const size_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);
