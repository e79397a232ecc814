/* SPDX-License-Identifier: MIT */
/*
 * Finds the verdict by a table of rules over the evidence, of which the first that applies decides.
 * The proof comes first; without one, neither times nor names decide anything.
 */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/text.h"

static bool fails(const struct view *v, const struct call_evidence *call)
{
	const struct path_evidence *path = &call->path[call_judged_path(call)];

	return call->decides && path->failed && !call_is_handed_back(v->evidence, call);
}

/* The system call of it fails in the same way. */
static bool fails_alike(const struct view *v, const struct call_evidence *call)
{
	return fails(v, call) && call->raw_error &&
	       call->path[call_judged_path(call)].error == call->raw_error;
}

static bool fails_alone(const struct view *v, const struct call_evidence *call)
{
	return fails(v, call) && !fails_alike(v, call);
}

/* Names all that fail like the first one; both clocks are clock_gettime(). */
static void write_failing(const struct view *v, char summary[SUMMARY_SIZE])
{
	const struct call_evidence *first = view_find_call(v, fails_alone), *last = first;
	enum call_path by = first ? call_judged_path(first) : PATH_VDSO;
	const struct path_evidence *path;

	if (!first) /* as in write_wrong() */
		return;
	path = &first->path[by];
	for (size_t i = 0; i < v->evidence->call_count; i++) {
		const struct call_evidence *call = &v->evidence->calls[i];

		if (call->decides && strcmp(call->call, first->call) == 0 &&
			call->path[by].failed && call->path[by].error == path->error)
			last = call;
	}
	snprintf(summary, SUMMARY_SIZE, "%s %s(%s) %s%s.",
		by == PATH_VDSO ? "the vDSO's" : "libc's", first->call,
		last == first ? first->clock : "",
		path->failed < path->attempts ? "sometimes " : "", fault_error_text(path->error));
}

static void write_failing_alike(const struct view *v, char summary[SUMMARY_SIZE])
{
	const struct call_evidence *call = view_find_call(v, fails_alike);

	if (call)
		snprintf(summary, SUMMARY_SIZE, "%s(%s) %s, and so does the system call.",
			call->call, call->clock, fault_error_text(call->raw_error));
}

static bool is_wrong(const struct view *v, const struct call_evidence *call)
{
	(void)v;
	return call->decides && fact_is_flag(&call->agrees, false);
}

/* Returns the deciding call whose values are farthest from the kernel's; NULL: all agree. */
static const struct call_evidence *find_wrong(const struct view *v)
{
	const struct call_evidence *worst = NULL;

	for (size_t i = 0; i < v->evidence->call_count; i++) {
		const struct call_evidence *call = &v->evidence->calls[i];

		if (is_wrong(v, call) && (!worst || llabs(call->ahead_ns) > llabs(worst->ahead_ns)))
			worst = call;
	}
	return worst;
}

static void write_wrong(const struct view *v, char summary[SUMMARY_SIZE])
{
	const struct call_evidence *worst = find_wrong(v);

	if (!worst) /* the rule applies only with such a call; gcc -fanalyzer does not see it */
		return;
	snprintf(summary, SUMMARY_SIZE, "the vDSO%s values are not the kernel's: %s is %s.",
		v->vdso.proven && !v->vdso.entered ? " serves the clock calls, but its" : "'s",
		*worst->clock ? worst->clock : worst->call, as_ahead(worst->ahead_ns));
}

/* Names the calls that entered; the proof line says how often. */
static void write_entering(const struct view *v, char summary[SUMMARY_SIZE])
{
	const char *sometimes = v->decided.mixed ? "sometimes " : "";

	summary[0] = '\0';
	if (v->decided.mixed && v->decided.entering == v->decided.calls) {
		text_append(summary, SUMMARY_SIZE, "gettimeofday() and clock_gettime()");
	} else {
		for (size_t i = 0; i < v->evidence->call_count; i++) {
			const struct call_evidence *call = &v->evidence->calls[i];

			if (call->decides && call->path[call_judged_path(call)].entered)
				text_append(summary, SUMMARY_SIZE, "%s%s(%s)",
					*summary ? " and " : "", call->call, call->clock);
		}
	}
	if (v->decided.entering == 1)
		text_append(summary, SUMMARY_SIZE, " %sfalls back to a system call.", sometimes);
	else
		text_append(summary, SUMMARY_SIZE, " %sfall back to system calls.", sometimes);
}

static void write_faster(const struct view *v, char summary[SUMMARY_SIZE])
{
	snprintf(summary, SUMMARY_SIZE,
		"each call entered the kernel in the proof, but takes only %s ns without it: run "
		"vdsocheck again.",
		as_ns(v->monotonic_ns[PATH_VDSO]));
}

static void write_slower(const struct view *v, char summary[SUMMARY_SIZE])
{
	double call = v->monotonic_ns[PATH_VDSO];

	snprintf(summary, SUMMARY_SIZE,
		"no call entered the kernel, but each takes %s ns, %.0f times a system call: run "
		"vdsocheck again.",
		as_ns(call), call / v->monotonic_ns[PATH_SYSCALL]);
}

/*
 * Noise does not cross this margin: on a healthy host the vDSO takes a fifth of a system call or
 * less, and a half where system calls are cheap (no mitigations).
 */
#define CLEARING_MARGIN 0.75

/*
 * Returns whether timing supports a proof that the vDSO serves the deciding calls: the p99 of their
 * batches is well below the least time of any system call. The minimum would clear a clock that
 * falls back half of the time. It takes a vDSO, or nothing in user space could have served the
 * call; and a kernel where reading the clock costs about as much as any other system call:
 * emulators (qemu-user) make short work of clock_gettime.
 */
static bool timing_clears(const struct evidence *evidence)
{
	double most_ns = CLEARING_MARGIN * evidence->timing.syscall_floor_ns.value;
	unsigned calls = 0;

	if (!fact_is_known(&evidence->timing.fact) ||
		!fact_is_known(&evidence->timing.syscall_floor_ns.fact))
		return false;
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct path_evidence *vdso = &evidence->calls[i].path[PATH_VDSO];
		const struct path_evidence *raw = &evidence->calls[i].path[PATH_SYSCALL];

		if (!evidence->calls[i].decides)
			continue;
		if (!fact_is_known(&vdso->fact) || vdso->p99_ns <= 0 ||
			!fact_is_known(&raw->fact) || raw->min_ns < most_ns ||
			vdso->p99_ns >= most_ns || vdso->p99_ns >= CLEARING_MARGIN * raw->min_ns)
			return false;
		calls++;
	}
	return calls > 0;
}

static void write_changing(const struct view *v, char summary[SUMMARY_SIZE])
{
	snprintf(summary, SUMMARY_SIZE,
		"the clocksource keeps changing (%u times during the check), and the vDSO does not "
		"support all of those in use.",
		v->evidence->clocksource.changes);
}

static bool libc_enters(const struct view *v)
{
	return v->libc.entered > 0;
}

/* One change may be that from tsc-early to tsc; a second shows that it goes on. */
static bool keeps_changing(const struct view *v)
{
	return v->evidence->clocksource.changes > 1;
}

/*
 * A counter read that takes as long as the cheapest system call is not a read of a register: a
 * hypervisor or an emulator catches it. Healthy ones take a tenth of a system call.
 */
static bool verdict_is_counter_slow(const struct view *v)
{
	return v->counter_ns >= v->syscall_ns && v->monotonic_ns[PATH_VDSO] >= v->syscall_ns;
}

/* A vDSO call is slow if it costs more than this many system calls beside its counter. */
#define SEVERAL_CALLS 2

/*
 * The clocksource may have changed between proof and timing, or something slows down the vDSO's
 * code. Neither is a fallback, which timing never shows.
 */
static bool is_slower(const struct view *v)
{
	return v->monotonic_ns[PATH_VDSO] - v->counter_ns >=
	       SEVERAL_CALLS * v->monotonic_ns[PATH_SYSCALL];
}

#define FALLBACK_EXPECTED "nothing was measured. Expected: fallback, since the vDSO "

const struct verdict_row verdict_rows[] = {
	{"captured-tree", IF(IS(captured), IS(may_read_hpet)), VERDICT_UNKNOWN, EVIDENCE_NAME,
		"nothing was measured. The vDSO of this kernel may read hpet, which takes at least "
		"as long as a system call."},
	{"captured-tree", IF(IS(captured), EQ(expected, VERDICT_UNKNOWN)), VERDICT_UNKNOWN,
		EVIDENCE_NAME,
		"nothing was measured, and the clocksource name alone does not show whether the "
		"vDSO serves the clock calls."},
	{"captured-tree", IF(IS(captured), IS(no_vdso)), VERDICT_UNKNOWN, EVIDENCE_NAME,
		FALLBACK_EXPECTED "is disabled on the kernel command line."},
	{"captured-tree", IF(IS(captured), IS(vdso_without_clock)), VERDICT_UNKNOWN, EVIDENCE_NAME,
		FALLBACK_EXPECTED "of this kernel reads no clock."},
	{"captured-tree", IF(IS(captured), EQ(expected, VERDICT_FALLBACK)), VERDICT_UNKNOWN,
		EVIDENCE_NAME, FALLBACK_EXPECTED "of this kernel does not support {from}."},
	{"captured-tree", IF(IS(captured)), VERDICT_UNKNOWN, EVIDENCE_NAME,
		"nothing was measured. Expected: ok, since the vDSO of this kernel supports {from}."},
	{"call-crashes", IF(IS(crashes)), VERDICT_UNKNOWN, EVIDENCE_PROOF,
		"reading the clock kills the process with {signal}."},
	{"emulated", IF(IS(emulated)), VERDICT_UNKNOWN, 0,
		"running under {emulator}: the result would describe the emulator, not this host."},
	{"call-fails", IF(CALL(fails_alone), IS(proven)), VERDICT_WRONG, EVIDENCE_PROOF,
		.write = write_failing},
	{"call-fails", IF(CALL(fails_alone)), VERDICT_WRONG, EVIDENCE_VALUES,
		.write = write_failing},
	{"call-fails-everywhere", IF(CALL(fails_alike)), VERDICT_UNKNOWN, EVIDENCE_PROOF,
		.write = write_failing_alike},
	{"values-differ", IF(CALL(is_wrong)), VERDICT_WRONG, EVIDENCE_VALUES, .write = write_wrong},
	{"faster-than-entry", IF(IS(all_enter), IS(entered_yet_fast)), VERDICT_UNKNOWN,
		EVIDENCE_PROOF | EVIDENCE_TIMING, .write = write_faster},
	{"falls-back-without-vdso", IF(IS(all_enter), IS(no_vdso)), VERDICT_FALLBACK,
		EVIDENCE_PROOF,
		"gettimeofday() and clock_gettime() are system calls, as there is no vDSO."},
	{"always-falls-back", IF(IS(all_enter)), VERDICT_FALLBACK, EVIDENCE_PROOF,
		"gettimeofday() and clock_gettime() fall back to system calls."},
	{"sometimes-falls-back", IF(IS(some_enter), IS(decided.mixed)), VERDICT_FALLBACK,
		EVIDENCE_PROOF, .write = write_entering},
	{"some-calls-fall-back", IF(IS(some_enter)), VERDICT_FALLBACK, EVIDENCE_PROOF,
		.write = write_entering},
	/* A library linked into this binary says nothing about the host's programs. */
	{"libc-falls-back", IF(IS(proven), ASK(libc_enters), FACT_IS(host.libc_static, false)),
		VERDICT_FALLBACK, EVIDENCE_PROOF,
		"gettimeofday() and clock_gettime() are system calls, as the C library bypasses "
		"the vDSO."},
	{"clocksource-keeps-changing", IF(IS(proven), ASK(keeps_changing)), VERDICT_FALLBACK,
		EVIDENCE_NAME | EVIDENCE_PROOF, .write = write_changing},
	{"counter-slow", IF(IS(proven), ASK(verdict_is_counter_slow)), VERDICT_SLOW,
		EVIDENCE_PROOF | EVIDENCE_TIMING,
		"the vDSO serves gettimeofday() and clock_gettime(), but reading the CPU's counter "
		"takes as long as a system call."},
	{"slower-than-entry", IF(IS(proven), ASK(is_slower)), VERDICT_UNKNOWN,
		EVIDENCE_PROOF | EVIDENCE_TIMING, .write = write_slower},
	{"served", IF(IS(proven)), VERDICT_OK, EVIDENCE_PROOF,
		"gettimeofday() and clock_gettime() are served by the vDSO."},
	{"no-proof", ALWAYS, VERDICT_UNKNOWN, 0,
		"could not determine whether the vDSO serves the clock calls: {proof}."},
	{0},
};

/* Timing supports a proof that it agrees with, and so does the mode. */
static unsigned supporting_evidence(const struct evidence *evidence, const struct verdict_row *row)
{
	bool has_mode = evidence->vclock.how >= VCLOCK_COPY;
	bool is_none = evidence->vclock.mode == VCLOCK_MODE_NONE;
	unsigned more = 0;

	if (!(row->rests_on & EVIDENCE_PROOF))
		return 0;
	if (row->kind == VERDICT_OK && timing_clears(evidence))
		more |= EVIDENCE_TIMING;
	if (has_mode && row->kind == (is_none ? VERDICT_FALLBACK : VERDICT_OK))
		more |= EVIDENCE_MODE;
	return more;
}

void verdict_find(struct view *v, struct verdict *verdict)
{
	const struct verdict_row *row = verdict_rows;

	while (!holds(v, row->when))
		row++;
	v->verdict = row->kind;
	verdict->kind = row->kind;
	verdict->rule = row->id;
	verdict->expected = v->expected;
	verdict->rests_on = row->rests_on | supporting_evidence(v->evidence, row);
	if (row->write)
		row->write(v, verdict->summary);
	else
		row_fill(v, row->sentence, "", "", verdict->summary, sizeof(verdict->summary));
}

const struct answer verdict_answers[] = {
	[VERDICT_UNKNOWN] = {"unknown", COLOR_MAGENTA, 2, "undetermined"},
	[VERDICT_OK] = {"ok", COLOR_GREEN, 0, "the deciding calls are served by the vDSO"},
	[VERDICT_FALLBACK] = {"fallback", COLOR_RED, 1,
		"at least one deciding call is a system call"},
	[VERDICT_SLOW] = {"slow", COLOR_YELLOW, 1,
		"the deciding calls cost as much as system calls"},
	[VERDICT_WRONG] = {"wrong", COLOR_RED, 1,
		"the vDSO's clock calls fail, or their values are not the kernel's"},
	{0},
};

const char *const evidence_kind_names[] = {"name", "mode", "proof", "timing", "values", NULL};
