/* SPDX-License-Identifier: MIT */
#include "judge.h"

#include <stdio.h>

#include "base/fault.h"
#include "base/text.h"

struct rule {
	const char *id;
	enum verdict_kind verdict;
	unsigned rests_on;
	bool (*applies)(const struct evidence *evidence);
	const char *sentence; /* NULL: the next one makes it */
	void (*write)(const struct evidence *evidence, char *summary, size_t size);
};

static bool has_proof(const struct evidence *evidence)
{
	struct entry_counts counts = counts_deciding(evidence);

	return fact_is_known(&evidence->proof.fact) && counts.calls > 0 &&
	       counts.proven == counts.calls;
}

static bool is_captured(const struct evidence *evidence)
{
	return !evidence->live;
}

static bool crashes(const struct evidence *evidence)
{
	return counts_deciding(evidence).signal != 0;
}

static void write_crash(const struct evidence *evidence, char *summary, size_t size)
{
	snprintf(summary, size, "reading the clock kills the process with %s.",
		fault_signal_name(counts_deciding(evidence).signal));
}

static bool is_emulated(const struct evidence *evidence)
{
	return fact_is_known(&evidence->host.emulator.fact);
}

static void write_emulated(const struct evidence *evidence, char *summary, size_t size)
{
	snprintf(summary, size,
		"running under %s: the result would describe the emulator, not this host.",
		evidence->host.emulator.value);
}

static bool all_enter_always(const struct evidence *evidence)
{
	struct entry_counts counts = counts_deciding(evidence);

	return has_proof(evidence) && counts.always == counts.calls;
}

static bool all_enter_without_vdso(const struct evidence *evidence)
{
	return all_enter_always(evidence) && evidence->vdso.fact.state == FACT_ABSENT;
}

static bool some_enter(const struct evidence *evidence)
{
	return has_proof(evidence) && counts_deciding(evidence).entered > 0;
}

static bool some_enter_sometimes(const struct evidence *evidence)
{
	return some_enter(evidence) && counts_are_mixed(evidence);
}

static size_t append_call(char *text, size_t size, size_t used, const struct call_evidence *call)
{
	int wrote = snprintf(
		text + used, size - used, "%s%s(%s)", used ? " and " : "", call->call, call->clock);

	return wrote < 0 || (size_t)wrote >= size - used ? used : used + (size_t)wrote;
}

/* The names of those that entered; how long the text is. */
static size_t list_entering(const struct evidence *evidence, char *summary, size_t size)
{
	size_t used = 0;

	summary[0] = '\0';
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (call->decides && call->path[call_judged_path(call)].entered)
			used = append_call(summary, size, used, call);
	}
	return used;
}

static void write_which(const struct evidence *evidence, char *summary, size_t size)
{
	size_t used = list_entering(evidence, summary, size);

	snprintf(summary + used, size - used, " %s.",
		counts_deciding(evidence).entering == 1 ? "falls back to a system call"
							: "fall back to system calls");
}

/* How often is in the proof's line. */
static void write_sometimes(const struct evidence *evidence, char *summary, size_t size)
{
	struct entry_counts counts = counts_deciding(evidence);
	size_t used = list_entering(evidence, summary, size);

	if (counts.entering == counts.calls)
		used = (size_t)snprintf(summary, size, "gettimeofday() and clock_gettime()");
	snprintf(summary + used, size - used, " %s.",
		counts.entering == 1 ? "sometimes falls back to a system call"
				     : "sometimes fall back to system calls");
}

/*
 * The vDSO answers, yet the C library does not ask it. A library linked into this binary
 * says nothing about the host's programs; the host's own does.
 */
static bool host_libc_enters(const struct evidence *evidence)
{
	const struct flag_fact *is_static = &evidence->host.libc_static;

	return has_proof(evidence) && counts_by_path(evidence, PATH_LIBC).entered > 0 &&
	       fact_is_known(&is_static->fact) && !is_static->value;
}

/*
 * A counter read that takes as long as the cheapest system call is no read of a register: a
 * hypervisor or an emulator catches it. Healthy ones take a tenth of a system call.
 */
static bool counter_is_slow(const struct evidence *evidence)
{
	const struct timing_evidence *timing = &evidence->timing;
	const struct call_evidence *call = clock_gettime_of(evidence, "CLOCK_MONOTONIC");

	if (!has_proof(evidence) || !call || !fact_is_known(&timing->counter_fact) ||
		!fact_is_known(&timing->entry_fact))
		return false;
	return call->path[PATH_VDSO].timed && timing->counter_ns >= timing->entry_ns &&
	       call->path[PATH_VDSO].min_ns >= timing->entry_ns;
}

/*
 * Noise does not cross it: on a healthy host the vDSO takes a fifth of a system call or less,
 * on one with cheap system calls (no mitigations) a half.
 */
#define CLEARING_MARGIN 0.75

/*
 * Cheaper than any system call of this host cannot have been one, 99 times in 100; the
 * minimum would clear a clock that falls back half of the time. Needs a vDSO, or nothing in
 * user space could have served the call; and a kernel where reading the clock costs about as
 * much as any other system call: emulators (qemu-user) make short work of clock_gettime.
 */
static bool is_cleared(const struct call_evidence *call, double entry_ns)
{
	const struct path_evidence *vdso = &call->path[PATH_VDSO];
	const struct path_evidence *raw = &call->path[PATH_SYSCALL];

	return vdso->timed && vdso->p99_ns > 0 && raw->timed &&
	       raw->min_ns >= CLEARING_MARGIN * entry_ns &&
	       vdso->p99_ns < CLEARING_MARGIN * entry_ns &&
	       vdso->p99_ns < CLEARING_MARGIN * raw->min_ns;
}

bool verdict_timing_clears(const struct evidence *evidence)
{
	unsigned calls = 0;

	if (!fact_is_known(&evidence->timing.fact) || !fact_is_known(&evidence->timing.entry_fact))
		return false;
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		if (!call->decides)
			continue;
		if (!is_cleared(call, evidence->timing.entry_ns))
			return false;
		calls++;
	}
	return calls > 0;
}

/* After a change that no proof followed the times are those of another clocksource. */
static bool is_cleared_by_timing(const struct evidence *evidence)
{
	return evidence->clocksource.changes == 0 && verdict_timing_clears(evidence);
}

/* One change may be that from tsc-early to tsc; what changes again goes on to change. */
static bool keeps_changing(const struct evidence *evidence)
{
	return has_proof(evidence) && evidence->clocksource.changes > 1;
}

static void write_changing(const struct evidence *evidence, char *summary, size_t size)
{
	snprintf(summary, size,
		"the clocksource keeps changing (%u times during the check), and the vDSO cannot "
		"serve gettimeofday() and clock_gettime() with each.",
		evidence->clocksource.changes);
}

static bool always(const struct evidence *evidence)
{
	(void)evidence;
	return true;
}

static void write_unproven(const struct evidence *evidence, char *summary, size_t size)
{
	const struct fact *proof = &evidence->proof.fact;

	snprintf(summary, size, "could not determine whether the vDSO serves the clock calls: %s.",
		*proof->reason ? proof->reason : "nothing was measured");
}

/* In this order: the first that applies decides. */
static const struct rule rules[] = {
	{"captured-tree", VERDICT_UNKNOWN, EVIDENCE_NAME, is_captured,
		"nothing was measured, and the clocksource name alone does not show whether the "
		"vDSO serves the clock calls.",
		NULL},
	{"call-crashes", VERDICT_UNKNOWN, EVIDENCE_PROOF, crashes, NULL, write_crash},
	{"emulated", VERDICT_UNKNOWN, 0, is_emulated, NULL, write_emulated},
	{"enters-without-vdso", VERDICT_FALLBACK, EVIDENCE_PROOF, all_enter_without_vdso,
		"gettimeofday() and clock_gettime() are system calls, as there is no vDSO.", NULL},
	{"enters-always", VERDICT_FALLBACK, EVIDENCE_PROOF, all_enter_always,
		"gettimeofday() and clock_gettime() fall back to system calls.", NULL},
	{"enters-sometimes", VERDICT_FALLBACK, EVIDENCE_PROOF, some_enter_sometimes, NULL,
		write_sometimes},
	{"enters-some-calls", VERDICT_FALLBACK, EVIDENCE_PROOF, some_enter, NULL, write_which},
	{"enters-through-libc", VERDICT_FALLBACK, EVIDENCE_PROOF, host_libc_enters,
		"gettimeofday() and clock_gettime() are system calls, as the C library bypasses the "
		"vDSO.",
		NULL},
	{"clocksource-keeps-changing", VERDICT_FALLBACK, EVIDENCE_NAME | EVIDENCE_PROOF,
		keeps_changing, NULL, write_changing},
	{"counter-slow", VERDICT_SLOW, EVIDENCE_PROOF | EVIDENCE_TIMING, counter_is_slow,
		"the vDSO serves gettimeofday() and clock_gettime(), but reading the CPU's counter "
		"takes as long as a system call.",
		NULL},
	{"user-space", VERDICT_OK, EVIDENCE_PROOF, has_proof,
		"gettimeofday() and clock_gettime() are served by the vDSO.", NULL},
	{"cheaper-than-entry", VERDICT_OK, EVIDENCE_TIMING, is_cleared_by_timing,
		"gettimeofday() and clock_gettime() take less time than any system call.", NULL},
	{"no-proof", VERDICT_UNKNOWN, 0, always, NULL, write_unproven},
};

/* Timing stands behind a proof whose price it shows to be as it should be. */
static unsigned supporting_evidence(const struct evidence *evidence, const struct rule *rule)
{
	unsigned more = 0;

	if (!(rule->rests_on & EVIDENCE_PROOF))
		return 0;
	if (rule->verdict == VERDICT_OK && verdict_timing_clears(evidence))
		more |= EVIDENCE_TIMING;
	if (rule->verdict == VERDICT_FALLBACK && evidence->vclock.how >= VCLOCK_COPY &&
		evidence->vclock.mode == VCLOCK_MODE_NONE)
		more |= EVIDENCE_MODE;
	if (rule->verdict == VERDICT_OK && evidence->vclock.how >= VCLOCK_COPY &&
		evidence->vclock.mode != VCLOCK_MODE_NONE)
		more |= EVIDENCE_MODE;
	return more;
}

void verdict_find(const struct evidence *evidence, struct verdict *verdict)
{
	const struct rule *rule = rules;

	while (!rule->applies(evidence))
		rule++;
	verdict->kind = rule->verdict;
	verdict->rule = rule->id;
	verdict->rests_on = rule->rests_on | supporting_evidence(evidence, rule);
	if (rule->write)
		rule->write(evidence, verdict->summary, sizeof(verdict->summary));
	else
		text_copy(verdict->summary, sizeof(verdict->summary), rule->sentence);
}

const char *verdict_rule_id(size_t place)
{
	return place < sizeof(rules) / sizeof(rules[0]) ? rules[place].id : NULL;
}

const char *const verdict_names[] = {
	[VERDICT_UNKNOWN] = "unknown",
	[VERDICT_OK] = "ok",
	[VERDICT_FALLBACK] = "fallback",
	[VERDICT_SLOW] = "slow",
	NULL,
};

const char *verdict_name(enum verdict_kind verdict)
{
	return verdict_names[verdict];
}

int verdict_exit_status(enum verdict_kind verdict)
{
	switch (verdict) {
	case VERDICT_OK:
		return 0;
	case VERDICT_FALLBACK:
	case VERDICT_SLOW:
		return 1;
	default:
		return 2;
	}
}

const char *const evidence_kind_names[] = {"name", "mode", "proof", "timing", NULL};

const char *evidence_kind_name(enum evidence_kind kind)
{
	return evidence_kind_names[__builtin_ctz(kind)];
}
