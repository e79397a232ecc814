/* SPDX-License-Identifier: MIT */
/*
 * Tests of judge/verdict: each rule is matched and, by a small change of the evidence, not
 * matched.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "judge.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

typedef void change(struct evidence *evidence);

static struct call_evidence *gettime(struct evidence *evidence, const char *clock)
{
	return evidence_find_call(evidence, "clock_gettime", clock);
}

static void as_it_is(struct evidence *evidence)
{
	(void)evidence;
}

static void captured(struct evidence *evidence)
{
	evidence->live = false;
}

static void captured_and_crashing(struct evidence *evidence)
{
	evidence->live = false;
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].signal = SIGSEGV;
}

static void crashing(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].signal = SIGSEGV;
}

static void crashing_elsewhere(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_TAI")->path[PATH_VDSO].signal = SIGSEGV;
}

static void crashing_in_unused_libc(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_LIBC].signal = SIGSEGV;
}

static void differing(struct evidence *evidence)
{
	fact_set_flag(&gettime(evidence, "CLOCK_REALTIME")->agrees, false);
	gettime(evidence, "CLOCK_REALTIME")->ahead_ns = -50000;
}

static void differing_most_elsewhere(struct evidence *evidence)
{
	differing(evidence);
	fact_set_flag(&gettime(evidence, "CLOCK_MONOTONIC")->agrees, false);
	gettime(evidence, "CLOCK_MONOTONIC")->ahead_ns = 1000000000;
}

static void differing_in_another_call(struct evidence *evidence)
{
	fact_set_flag(&gettime(evidence, "CLOCK_BOOTTIME")->agrees, false);
}

/* A value that is not known is no value. */
static void not_compared(struct evidence *evidence)
{
	fact_set(&gettime(evidence, "CLOCK_REALTIME")->agrees.fact, FACT_DENIED, "not permitted");
	gettime(evidence, "CLOCK_REALTIME")->agrees.value = false;
}

static void differing_and_entering(struct evidence *evidence)
{
	differing(evidence);
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].entered = 1;
}

static void differing_without_proof(struct evidence *evidence)
{
	differing(evidence);
	evidence_remove_proof(evidence, "seccomp: not permitted");
}

static void differing_and_trapped(struct evidence *evidence)
{
	differing(evidence);
	evidence->timing.counter_ns.value = 1200;
	evidence_monotonic(evidence, PATH_VDSO)->min_ns = 1300;
}

static void differing_under_an_emulator(struct evidence *evidence)
{
	differing(evidence);
	fact_set_text(&evidence->host.emulator, "valgrind");
}

/* What enters an emulator says nothing of the host. */
static void emulated(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "tsc");
	fact_set_text(&evidence->host.emulator, "valgrind");
}

static void entering(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hpet");
}

static void entering_without_vdso(struct evidence *evidence)
{
	entering(evidence);
	evidence_remove_path(evidence, PATH_VDSO);
	evidence->vdso = (struct vdso_evidence){0};
	fact_set(&evidence->vdso.fact, FACT_ABSENT, "AT_SYSINFO_EHDR is 0");
}

/* The image is there but could not be read: that is not "no vDSO". */
static void entering_with_unreadable_vdso(struct evidence *evidence)
{
	entering_without_vdso(evidence);
	fact_set(&evidence->vdso.fact, FACT_FAILED, "its hash table does not fit the image");
}

static void served_by_libc_without_vdso(struct evidence *evidence)
{
	evidence_remove_path(evidence, PATH_VDSO);
	fact_set(&evidence->vdso.fact, FACT_ABSENT, "AT_SYSINFO_EHDR is 0");
}

static void make_fail(struct call_evidence *call, enum call_path path, uint32_t failed, int error)
{
	call->path[path].failed = failed;
	call->path[path].error = error;
	fact_set(&call->path[path].fact, FACT_FAILED, "the call fails");
	fact_set(&call->agrees.fact, FACT_FAILED, "the call fails");
}

static void failing_monotonic(struct evidence *evidence)
{
	make_fail(gettime(evidence, "CLOCK_MONOTONIC"), PATH_VDSO, BUILDER_ATTEMPTS, EINVAL);
}

static void failing_both_clocks(struct evidence *evidence)
{
	failing_monotonic(evidence);
	make_fail(gettime(evidence, "CLOCK_REALTIME"), PATH_VDSO, BUILDER_ATTEMPTS, EINVAL);
}

static void failing_clocks_differently(struct evidence *evidence)
{
	failing_monotonic(evidence);
	make_fail(gettime(evidence, "CLOCK_REALTIME"), PATH_VDSO, BUILDER_ATTEMPTS, ENOSYS);
}

static void failing_timeofday(struct evidence *evidence)
{
	make_fail(evidence_find_call(evidence, "gettimeofday", ""), PATH_VDSO, BUILDER_ATTEMPTS, 0);
}

static void failing_sometimes(struct evidence *evidence)
{
	make_fail(gettime(evidence, "CLOCK_MONOTONIC"), PATH_VDSO, 3, 524);
}

static void failing_elsewhere(struct evidence *evidence)
{
	make_fail(gettime(evidence, "CLOCK_TAI"), PATH_VDSO, BUILDER_ATTEMPTS, EINVAL);
}

static void failing_as_the_kernel(struct evidence *evidence)
{
	failing_monotonic(evidence);
	gettime(evidence, "CLOCK_MONOTONIC")->raw_error = EINVAL;
}

/* A filter around us forbids the system call: that does not explain another error. */
static void failing_where_the_call_is_forbidden(struct evidence *evidence)
{
	failing_monotonic(evidence);
	gettime(evidence, "CLOCK_MONOTONIC")->raw_error = EPERM;
}

static void failing_and_entering(struct evidence *evidence)
{
	entering(evidence);
	failing_monotonic(evidence);
}

static void failing_without_proof(struct evidence *evidence)
{
	evidence_remove_proof(evidence, "seccomp: not permitted");
	make_fail(gettime(evidence, "CLOCK_MONOTONIC"), PATH_VDSO, 1, EINVAL);
}

static void failing_in_unused_libc(struct evidence *evidence)
{
	make_fail(gettime(evidence, "CLOCK_MONOTONIC"), PATH_LIBC, BUILDER_ATTEMPTS, EINVAL);
	fact_set_flag(&gettime(evidence, "CLOCK_MONOTONIC")->agrees, true);
}

static void failing_by_libc_without_vdso(struct evidence *evidence)
{
	served_by_libc_without_vdso(evidence);
	make_fail(gettime(evidence, "CLOCK_MONOTONIC"), PATH_LIBC, BUILDER_ATTEMPTS, EINVAL);
}

/* As MIPS up to 4.13: libc makes the system call. */
static void leaving_calls_to_libc(struct evidence *evidence)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		if (evidence->calls[i].decides)
			make_fail(&evidence->calls[i], PATH_VDSO, BUILDER_ATTEMPTS, ENOSYS);
	}
	evidence_set_entered(evidence, PATH_LIBC, BUILDER_ATTEMPTS);
	fact_set_flag(&evidence->host.libc_static, false);
}

static void leaving_calls_to_our_static_libc(struct evidence *evidence)
{
	leaving_calls_to_libc(evidence);
	fact_set_flag(&evidence->host.libc_static, true);
}

static void leaving_calls_to_a_libc_that_fails(struct evidence *evidence)
{
	leaving_calls_to_libc(evidence);
	evidence_set_entered(evidence, PATH_LIBC, 0);
}

static void shifted_by_libc(struct evidence *evidence)
{
	struct call_evidence *call = gettime(evidence, "CLOCK_MONOTONIC");

	fact_set_flag(&call->libc_agrees, false);
	call->libc_ahead_ns = 3600 * NS_PER_SECOND;
}

static void entering_all_but_once(struct evidence *evidence)
{
	entering(evidence);
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].entered = BUILDER_ATTEMPTS - 1;
}

static void entering_once(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].entered = 1;
}

static void entering_by_one_call(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].entered = BUILDER_ATTEMPTS;
}

static void entering_by_two_calls(struct evidence *evidence)
{
	entering_by_one_call(evidence);
	evidence_find_call(evidence, "gettimeofday", "")->path[PATH_VDSO].entered =
		BUILDER_ATTEMPTS;
}

static void entering_by_one_and_sometimes_by_another(struct evidence *evidence)
{
	entering_by_one_call(evidence);
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].entered = 7;
}

static void entering_by_undeciding_calls(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_TAI")->path[PATH_VDSO].entered = BUILDER_ATTEMPTS;
	gettime(evidence, "CLOCK_BOOTTIME")->path[PATH_VDSO].entered = BUILDER_ATTEMPTS;
}

static void entering_through_libc(struct evidence *evidence)
{
	evidence_set_entered(evidence, PATH_LIBC, BUILDER_ATTEMPTS);
}

static void entering_through_our_static_libc(struct evidence *evidence)
{
	entering_through_libc(evidence);
	evidence->host.libc_static.value = true;
}

static void entering_through_libc_of_unknown_kind(struct evidence *evidence)
{
	entering_through_libc(evidence);
	fact_set(&evidence->host.libc_static.fact, FACT_FAILED, "x");
}

static void with_trapped_counter(struct evidence *evidence)
{
	evidence->timing.counter_ns.value = 1200;
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].min_ns = 1220;
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].p99_ns = 1230;
}

static void with_counter_as_slow_as_entry(struct evidence *evidence)
{
	evidence->timing.counter_ns.value = evidence->timing.syscall_floor_ns.value;
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].min_ns =
		evidence->timing.syscall_floor_ns.value;
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].p99_ns =
		evidence->timing.syscall_floor_ns.value;
}

static void with_counter_just_faster_than_entry(struct evidence *evidence)
{
	with_counter_as_slow_as_entry(evidence);
	evidence->timing.counter_ns.value *= 0.99;
}

/* The counter was disturbed while it was timed alone: the call shows that it is quick. */
static void with_slow_counter_but_quick_call(struct evidence *evidence)
{
	evidence->timing.counter_ns.value = 1200;
}

static void with_slow_call_but_quick_counter(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].min_ns = 1220;
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].p99_ns = 1230;
}

static void with_call_a_little_slower_than_entry(struct evidence *evidence)
{
	const struct call_evidence *call = gettime(evidence, "CLOCK_MONOTONIC");

	with_slow_call_but_quick_counter(evidence);
	gettime(evidence, "CLOCK_MONOTONIC")->path[PATH_VDSO].min_ns =
		call->path[PATH_SYSCALL].min_ns * 1.5;
}

static void with_call_as_slow_as_entry_but_quick_counter(struct evidence *evidence)
{
	with_counter_as_slow_as_entry(evidence);
	evidence->timing.counter_ns.value = 10;
}

/* A counter that cannot be timed alone may be what is slow. */
static void with_slow_call_and_no_counter(struct evidence *evidence)
{
	with_slow_call_but_quick_counter(evidence);
	fact_set(&evidence->timing.counter_ns.fact, FACT_ABSENT, "x");
}

static void with_trapped_counter_of_unknown_entry(struct evidence *evidence)
{
	with_trapped_counter(evidence);
	fact_set(&evidence->timing.syscall_floor_ns.fact, FACT_FAILED, "x");
}

static void with_trapped_counter_and_entering(struct evidence *evidence)
{
	entering(evidence);
	with_trapped_counter(evidence);
}

static void with_slow_calls_and_no_proof(struct evidence *evidence)
{
	with_trapped_counter(evidence);
	evidence_remove_proof(evidence, "seccomp: not permitted; ptrace: not permitted");
}

static void without_proof(struct evidence *evidence)
{
	evidence_remove_proof(evidence, "seccomp: not permitted; ptrace: not permitted");
}

/* qemu-user: no vDSO, and its "system calls" for the time are cheaper than others. */
static void without_proof_and_vdso(struct evidence *evidence)
{
	without_proof(evidence);
	evidence_remove_path(evidence, PATH_VDSO);
}

static void without_proof_and_a_real_kernel(struct evidence *evidence)
{
	without_proof(evidence);
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_SYSCALL].min_ns =
		evidence->timing.syscall_floor_ns.value / 2;
}

static void without_proof_and_as_slow_as_entry(struct evidence *evidence)
{
	without_proof(evidence);
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].min_ns =
		evidence->timing.syscall_floor_ns.value;
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].p99_ns =
		evidence->timing.syscall_floor_ns.value;
}

/* The minimum alone would clear a clock that falls back half of the time. */
static void without_proof_and_fast_at_times(struct evidence *evidence)
{
	without_proof(evidence);
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].p99_ns =
		evidence->timing.syscall_floor_ns.value * 1.1;
}

/* On the same host getppid's minimum is now below, now above that of clock_gettime. */
static void without_proof_and_entry_a_little_slower(struct evidence *evidence)
{
	without_proof(evidence);
	evidence->timing.syscall_floor_ns.value = 1138;
	for (size_t i = 0; i < evidence->call_count; i++) {
		evidence->calls[i].path[PATH_VDSO].p99_ns = 101;
		evidence->calls[i].path[PATH_SYSCALL].min_ns = 1077;
	}
}

/* A vDSO of an emulator: its functions make the system call that the emulator answers. */
static void without_proof_and_as_slow_as_raw(struct evidence *evidence)
{
	without_proof(evidence);
	evidence->timing.syscall_floor_ns.value = 200;
	for (size_t i = 0; i < evidence->call_count; i++) {
		evidence->calls[i].path[PATH_SYSCALL].min_ns = 160;
		evidence->calls[i].path[PATH_VDSO].min_ns = 130;
		evidence->calls[i].path[PATH_VDSO].p99_ns = 140;
	}
}

/* Documents of older versions. */
static void without_proof_and_percentile(struct evidence *evidence)
{
	without_proof(evidence);
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].p99_ns = 0;
}

static void with_noise(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].p99_ns = 250;
}

static void changing_once(struct evidence *evidence)
{
	text_clean(evidence->clocksource.current, CLOCKSOURCE_NAME_SIZE, "hpet");
	text_clean(evidence->clocksource.changed_to, CLOCKSOURCE_NAME_SIZE, "tsc");
	evidence->clocksource.changes = 1;
}

static void changing_twice(struct evidence *evidence)
{
	changing_once(evidence);
	evidence->clocksource.changes = 2;
}

static void changing_and_entering_at_times(struct evidence *evidence)
{
	entering_once(evidence);
	changing_twice(evidence);
}

static void changing_once_without_proof(struct evidence *evidence)
{
	without_proof(evidence);
	changing_once(evidence);
}

static void without_proof_and_one_untimed(struct evidence *evidence)
{
	without_proof(evidence);
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].fact = (struct fact){0};
}

static void without_proof_and_entry(struct evidence *evidence)
{
	without_proof(evidence);
	fact_set(&evidence->timing.syscall_floor_ns.fact, FACT_FAILED, "x");
}

static void without_proof_and_timing(struct evidence *evidence)
{
	without_proof(evidence);
	evidence_remove_timing(evidence);
}

static void without_timing(struct evidence *evidence)
{
	evidence_remove_timing(evidence);
}

/* A proof of two calls of three is none of the third. */
static void with_one_call_unproven(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].attempts = 0;
	evidence_remove_timing(evidence);
}

/* Its times may be low all the same, such as those of a batch that was served by the vDSO. */
static void with_one_call_unproven_and_one_entering(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].attempts = 0;
	evidence_find_call(evidence, "gettimeofday", "")->path[PATH_VDSO].entered =
		BUILDER_ATTEMPTS;
}

static void with_one_call_unproven_and_libc_entering(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].attempts = 0;
	entering_through_libc(evidence);
}

static void with_one_call_unproven_and_our_libc_entering(struct evidence *evidence)
{
	gettime(evidence, "CLOCK_REALTIME")->path[PATH_VDSO].attempts = 0;
	entering_through_our_static_libc(evidence);
}

static void without_anything(struct evidence *evidence)
{
	memset(evidence, 0, sizeof(*evidence));
	evidence->live = true;
}

/* Slow by times and by name: still no proof, so never "fallback". */
static void entering_unproven(struct evidence *evidence)
{
	entering(evidence);
	without_proof(evidence);
}

static void with_mode_unread(struct evidence *evidence)
{
	evidence_set_mode(evidence, VCLOCK_INFERRED, 1, "tsc");
}

static void entering_with_mode_inferred(struct evidence *evidence)
{
	entering(evidence);
	evidence_set_mode(evidence, VCLOCK_INFERRED, 0, "none");
}

static void with_mode_none(struct evidence *evidence)
{
	evidence_set_mode(evidence, VCLOCK_READ, 0, "none");
}

static void entering_with_mode(struct evidence *evidence)
{
	entering(evidence);
	evidence_set_mode(evidence, VCLOCK_READ, 1, "tsc");
}

#define NAME EVIDENCE_NAME
#define MODE EVIDENCE_MODE
#define PROOF EVIDENCE_PROOF
#define TIMING EVIDENCE_TIMING
#define VALUES EVIDENCE_VALUES
#define ROW(change, verdict, rule, rests_on, text)                                                 \
	{                                                                                          \
#change ", " #verdict " by " rule, change, VERDICT_##verdict, rule, rests_on, text \
	}

struct row {
	const char *name;
	change *apply;
	enum verdict_kind verdict;
	const char *rule;
	unsigned rests_on;
	const char *text; /* in the summary */
};

static const struct row rows[] = {
	ROW(as_it_is, OK, "served", PROOF | TIMING | MODE, "served by the vDSO"),
	ROW(with_mode_unread, OK, "served", PROOF | TIMING, "served by the vDSO"),
	ROW(with_mode_none, OK, "served", PROOF | TIMING, "served by the vDSO"),
	ROW(without_timing, OK, "served", PROOF | MODE, "served by the vDSO"),
	ROW(captured, UNKNOWN, "captured-tree", NAME, "Expected: ok, since"),
	ROW(captured_and_crashing, UNKNOWN, "captured-tree", NAME, "nothing was measured"),
	ROW(crashing, UNKNOWN, "call-crashes", PROOF, "SIGSEGV"),
	ROW(differing, WRONG, "values-differ", VALUES, "CLOCK_REALTIME is 50.0 us behind"),
	ROW(differing_most_elsewhere, WRONG, "values-differ", VALUES,
		"serves the clock calls, but its values are not the kernel's: CLOCK_MONOTONIC is "
		"1.00 s ahead"),
	ROW(failing_monotonic, WRONG, "call-fails", PROOF,
		"the vDSO's clock_gettime(CLOCK_MONOTONIC) fails with EINVAL."),
	ROW(failing_both_clocks, WRONG, "call-fails", PROOF,
		"the vDSO's clock_gettime() fails with EINVAL."),
	ROW(failing_clocks_differently, WRONG, "call-fails", PROOF,
		"the vDSO's clock_gettime(CLOCK_REALTIME) fails with ENOSYS."),
	ROW(failing_timeofday, WRONG, "call-fails", PROOF,
		"the vDSO's gettimeofday() writes no result."),
	ROW(failing_sometimes, WRONG, "call-fails", PROOF,
		"the vDSO's clock_gettime(CLOCK_MONOTONIC) sometimes fails with error 524."),
	ROW(failing_elsewhere, OK, "served", PROOF | TIMING | MODE, "served by"),
	ROW(failing_as_the_kernel, UNKNOWN, "call-fails-everywhere", PROOF,
		"clock_gettime(CLOCK_MONOTONIC) fails with EINVAL, and so does the system call"),
	ROW(failing_where_the_call_is_forbidden, WRONG, "call-fails", PROOF, "EINVAL"),
	ROW(failing_and_entering, WRONG, "call-fails", PROOF, "EINVAL"),
	ROW(failing_without_proof, WRONG, "call-fails", VALUES, "EINVAL"),
	ROW(failing_in_unused_libc, OK, "served", PROOF | TIMING | MODE, "served by"),
	ROW(failing_by_libc_without_vdso, WRONG, "call-fails", PROOF,
		"libc's clock_gettime(CLOCK_MONOTONIC) fails with EINVAL."),
	ROW(leaving_calls_to_libc, FALLBACK, "always-falls-back", PROOF, "system calls"),
	ROW(leaving_calls_to_our_static_libc, WRONG, "call-fails", PROOF, "ENOSYS"),
	ROW(leaving_calls_to_a_libc_that_fails, WRONG, "call-fails", PROOF, "ENOSYS"),
	ROW(shifted_by_libc, OK, "served", PROOF | TIMING | MODE, "served by"),
	ROW(differing_in_another_call, OK, "served", PROOF | TIMING | MODE, "served by"),
	ROW(not_compared, OK, "served", PROOF | TIMING | MODE, "served by"),
	ROW(differing_and_entering, WRONG, "values-differ", VALUES, "the vDSO's values are not"),
	ROW(differing_without_proof, WRONG, "values-differ", VALUES, "the vDSO's values are not"),
	ROW(differing_and_trapped, WRONG, "values-differ", VALUES, "50.0 us behind"),
	ROW(differing_under_an_emulator, UNKNOWN, "emulated", 0, "valgrind"),
	ROW(crashing_elsewhere, OK, "served", PROOF | TIMING | MODE, "served by the vDSO"),
	ROW(crashing_in_unused_libc, OK, "served", PROOF | TIMING | MODE, "served by the vDSO"),
	ROW(emulated, UNKNOWN, "emulated", 0, "valgrind"),
	ROW(entering, FALLBACK, "always-falls-back", PROOF | MODE, "fall back"),
	ROW(entering_with_mode_inferred, FALLBACK, "always-falls-back", PROOF, "fall back"),
	ROW(entering_with_mode, FALLBACK, "always-falls-back", PROOF, "fall back"),
	ROW(entering_without_vdso, FALLBACK, "falls-back-without-vdso", PROOF | MODE, "no vDSO"),
	ROW(entering_with_unreadable_vdso, FALLBACK, "always-falls-back", PROOF | MODE,
		"fall back"),
	ROW(served_by_libc_without_vdso, OK, "served", PROOF | MODE, "served by the vDSO"),
	ROW(entering_all_but_once, FALLBACK, "sometimes-falls-back", PROOF | MODE,
		"gettimeofday() and clock_gettime() sometimes fall back"),
	ROW(entering_once, FALLBACK, "sometimes-falls-back", PROOF,
		"clock_gettime(CLOCK_REALTIME) sometimes falls back"),
	ROW(entering_by_one_call, FALLBACK, "some-calls-fall-back", PROOF,
		"clock_gettime(CLOCK_REALTIME) falls back"),
	ROW(entering_by_two_calls, FALLBACK, "some-calls-fall-back", PROOF,
		"gettimeofday() and clock_gettime(CLOCK_REALTIME) fall back "),
	ROW(entering_by_one_and_sometimes_by_another, FALLBACK, "sometimes-falls-back", PROOF,
		"sometimes fall back"),
	ROW(entering_by_undeciding_calls, OK, "served", PROOF | TIMING | MODE,
		"served by the vDSO"),
	ROW(entering_through_libc, FALLBACK, "libc-falls-back", PROOF, "C library"),
	ROW(entering_through_our_static_libc, OK, "served", PROOF | TIMING | MODE, "served by"),
	ROW(entering_through_libc_of_unknown_kind, OK, "served", PROOF | TIMING | MODE,
		"served by"),
	ROW(with_trapped_counter, SLOW, "counter-slow", PROOF | TIMING, "counter"),
	ROW(with_counter_as_slow_as_entry, SLOW, "counter-slow", PROOF | TIMING, "counter"),
	ROW(with_counter_just_faster_than_entry, OK, "served", PROOF | MODE, "served by the vDSO"),
	ROW(with_slow_counter_but_quick_call, OK, "served", PROOF | TIMING | MODE, "served by"),
	ROW(with_call_as_slow_as_entry_but_quick_counter, OK, "served", PROOF | MODE, "served"),
	ROW(with_slow_call_but_quick_counter, UNKNOWN, "slower-than-entry", PROOF | TIMING,
		"each takes 1,220 ns, "),
	ROW(with_call_a_little_slower_than_entry, OK, "served", PROOF | MODE, "served by the vDSO"),
	ROW(with_slow_call_and_no_counter, OK, "served", PROOF | MODE, "served by the vDSO"),
	ROW(with_trapped_counter_of_unknown_entry, OK, "served", PROOF | MODE,
		"served by the vDSO"),
	ROW(with_trapped_counter_and_entering, FALLBACK, "always-falls-back", PROOF | MODE,
		"fall back"),
	ROW(with_slow_calls_and_no_proof, UNKNOWN, "no-proof", 0, "not permitted"),
	ROW(without_proof, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(without_proof_and_vdso, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(without_proof_and_a_real_kernel, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(without_proof_and_as_slow_as_entry, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(without_proof_and_fast_at_times, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(without_proof_and_entry_a_little_slower, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(without_proof_and_as_slow_as_raw, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(without_proof_and_percentile, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(with_noise, OK, "served", PROOF | MODE, "served by the vDSO"),
	ROW(changing_once, OK, "served", PROOF | TIMING | MODE, "served by the vDSO"),
	ROW(changing_twice, FALLBACK, "clocksource-keeps-changing", NAME | PROOF, "2 times"),
	ROW(changing_and_entering_at_times, FALLBACK, "sometimes-falls-back", PROOF,
		"sometimes falls back"),
	ROW(changing_once_without_proof, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(without_proof_and_one_untimed, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(without_proof_and_entry, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(without_proof_and_timing, UNKNOWN, "no-proof", 0, "seccomp: not permitted"),
	ROW(with_one_call_unproven, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(with_one_call_unproven_and_one_entering, UNKNOWN, "no-proof", 0, "could not determine"),
	ROW(with_one_call_unproven_and_libc_entering, UNKNOWN, "no-proof", 0,
		"could not determine"),
	ROW(with_one_call_unproven_and_our_libc_entering, UNKNOWN, "no-proof", 0,
		"could not determine"),
	ROW(without_anything, UNKNOWN, "no-proof", 0, "nothing was measured"),
	ROW(entering_unproven, UNKNOWN, "no-proof", 0, "could not determine"),
};

static void judge_row(void **state)
{
	const struct row *row = *state;
	struct evidence evidence;
	struct verdict verdict;

	evidence_make_healthy(&evidence);
	row->apply(&evidence);
	memset(&verdict, 0xff, sizeof(verdict));
	evidence_find_verdict(&evidence, &verdict);
	assert_string_equal(verdict.rule, row->rule);
	assert_string_equal(verdict_answers[verdict.kind].word, verdict_answers[row->verdict].word);
	assert_int_equal(verdict.rests_on, row->rests_on);
	if (!strstr(verdict.summary, row->text))
		fail_msg("\"%s\" is not in \"%s\"", row->text, verdict.summary);
}

/*
 * By the kernel's history: hpet left the vDSO in 4.7, xen came in 4.15, Hyper-V's page in 4.12; the
 * mode of a hypervisor's page and of arm64's counter differs from host to host.
 */
static const struct {
	const char *current, *kernel, *arch, *boot;
	enum verdict_kind expected;
} expectations[] = {
	{"tsc", "6.1.0", "x86_64", "", VERDICT_OK},
	{"tsc", "6.1.0", "x86_64", "vdso=0", VERDICT_FALLBACK},
	{"tsc-early", "6.1.0", "x86_64", "", VERDICT_UNKNOWN},
	{"hpet", "6.1.0", "x86_64", "", VERDICT_FALLBACK},
	{"hpet", "4.7.0", "x86_64", "", VERDICT_FALLBACK},
	{"hpet", "4.6.7", "x86_64", "", VERDICT_UNKNOWN},
	{"acpi_pm", "3.10.0", "x86_64", "", VERDICT_FALLBACK},
	{"jiffies", "6.1.0", "aarch64", "", VERDICT_FALLBACK},
	{"xen", "4.14.5", "x86_64", "", VERDICT_FALLBACK},
	{"xen", "4.15.0", "x86_64", "", VERDICT_UNKNOWN},
	{"kvm-clock", "6.1.0", "x86_64", "", VERDICT_UNKNOWN},
	{"kvm-clock", "6.1.0", "i686", "", VERDICT_FALLBACK},
	{"kvm-clock", "5.10.0", "x86_64", "no-kvmclock-vsyscall", VERDICT_FALLBACK},
	{"hyperv_clocksource_tsc_page", "4.11.0", "x86_64", "", VERDICT_FALLBACK},
	{"hyperv_clocksource_tsc_page", "4.12.0", "x86_64", "", VERDICT_UNKNOWN},
	{"arch_sys_counter", "6.1.0", "aarch64", "", VERDICT_UNKNOWN},
	{"of-no-kernel", "6.1.0", "x86_64", "", VERDICT_UNKNOWN},
};

static void a_captured_tree_has_an_expectation_where_its_kernel_gives_one(void **state)
{
	static struct evidence evidence;
	struct verdict verdict;

	(void)state;
	for (size_t i = 0; i < COUNT(expectations); i++) {
		evidence_make_healthy(&evidence);
		evidence_set_current(&evidence, expectations[i].current);
		fact_set_text(&evidence.host.kernel, expectations[i].kernel);
		fact_set_text(&evidence.host.arch, expectations[i].arch);
		fact_set_text(&evidence.host.boot, expectations[i].boot);
		evidence_find_verdict(&evidence, &verdict);
		assert_int_equal(verdict.expected, VERDICT_UNKNOWN);
		evidence.live = false;
		evidence_find_verdict(&evidence, &verdict);
		assert_int_equal(verdict.kind, VERDICT_UNKNOWN);
		if (verdict.expected != expectations[i].expected)
			fail_msg("%s on %s is expected to be %s", expectations[i].current,
				expectations[i].kernel, verdict_answers[verdict.expected].word);
	}
	/* A newer kernel's vDSO could read Xen's page, which Xen refused. */
	evidence_set_current(&evidence, "xen");
	evidence_add_log(&evidence, "PVCLOCK not supported (tsc unstable)");
	evidence_find_verdict(&evidence, &verdict);
	assert_int_equal(verdict.expected, VERDICT_FALLBACK);
}

static void names_are_those_documented(void **state)
{
	(void)state;
	assert_string_equal(verdict_answers[VERDICT_OK].word, "ok");
	assert_string_equal(verdict_answers[VERDICT_FALLBACK].word, "fallback");
	assert_string_equal(verdict_answers[VERDICT_SLOW].word, "slow");
	assert_string_equal(verdict_answers[VERDICT_WRONG].word, "wrong");
	assert_string_equal(verdict_answers[VERDICT_UNKNOWN].word, "unknown");
	assert_string_equal(evidence_kind_names[__builtin_ctz(EVIDENCE_NAME)], "name");
	assert_string_equal(evidence_kind_names[__builtin_ctz(EVIDENCE_MODE)], "mode");
	assert_string_equal(evidence_kind_names[__builtin_ctz(EVIDENCE_PROOF)], "proof");
	assert_string_equal(evidence_kind_names[__builtin_ctz(EVIDENCE_TIMING)], "timing");
	assert_string_equal(evidence_kind_names[__builtin_ctz(EVIDENCE_VALUES)], "values");
}

static bool any_entered(const struct evidence *evidence)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		for (int path = 0; path < PATH_SYSCALL; path++) {
			if (evidence->calls[i].decides && evidence->calls[i].path[path].entered)
				return true;
		}
	}
	return false;
}

static bool any_judged_entered(const struct evidence *evidence)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->decides && call->path[call_judged_path(call)].entered)
			return true;
	}
	return false;
}

/* True if a deciding call fails, or has another value than the kernel's. */
static bool any_differs(const struct evidence *evidence)
{
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->decides && (fact_is_flag(&call->agrees, false) ||
					     call->path[call_judged_path(call)].failed))
			return true;
	}
	return false;
}

/*
 * Whatever the evidence: no fallback without a caught call, no proof claimed without one, and
 * nothing ok with one.
 */
static void no_verdict_contradicts_its_evidence(void **state)
{
	static struct evidence evidence;
	struct dice dice = dice_start();
	unsigned seen[5] = {0};

	(void)state;
	for (int round = 0; round < 100000; round++) {
		struct verdict verdict;
		bool proof;

		evidence_roll(&evidence, &dice);
		evidence_find_verdict(&evidence, &verdict);
		proof = evidence.live && fact_is_known(&evidence.proof.fact);
		seen[verdict.kind]++;
		if (verdict.kind == VERDICT_FALLBACK)
			assert_true(proof &&
				    (any_entered(&evidence) || evidence.clocksource.changes > 1));
		if (verdict.kind == VERDICT_SLOW)
			assert_true(proof);
		if (verdict.kind == VERDICT_WRONG)
			assert_true(any_differs(&evidence));
		if (verdict.kind == VERDICT_OK)
			assert_false(any_differs(&evidence));
		if (verdict.kind == VERDICT_OK)
			assert_true(proof);
		if (any_judged_entered(&evidence))
			assert_int_not_equal(verdict.kind, VERDICT_OK);
		if (evidence.clocksource.changes > 1)
			assert_int_not_equal(verdict.kind, VERDICT_OK);
		assert_true(*verdict.summary);
		assert_true(strlen(verdict.summary) < SUMMARY_SIZE);
	}
	for (size_t i = 0; i < COUNT(seen); i++)
		assert_true(seen[i] > 0);
}

static void the_same_evidence_always_gives_the_same_verdict(void **state)
{
	static struct evidence evidence, copy;
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 1000; round++) {
		struct verdict one, other;

		memset(&one, 0, sizeof(one));
		memset(&other, 0xff, sizeof(other));
		evidence_roll(&evidence, &dice);
		copy = evidence;
		evidence_find_verdict(&evidence, &one);
		evidence_find_verdict(&copy, &other);
		assert_memory_equal(&evidence, &copy, sizeof(copy));
		assert_int_equal(one.kind, other.kind);
		assert_ptr_equal(one.rule, other.rule);
		assert_int_equal(one.rests_on, other.rests_on);
		assert_string_equal(one.summary, other.summary);
	}
}

int main(void)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(a_captured_tree_has_an_expectation_where_its_kernel_gives_one),
		cmocka_unit_test(names_are_those_documented),
		cmocka_unit_test(no_verdict_contradicts_its_evidence),
		cmocka_unit_test(the_same_evidence_always_gives_the_same_verdict),
	};

	return unit_run_rows("the verdict follows from the evidence", judge_row, rows) +
	       cmocka_run_group_tests_name("verdict, all of it", plain, NULL, NULL);
}
