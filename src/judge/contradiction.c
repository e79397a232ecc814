/* SPDX-License-Identifier: MIT */
/*
 * Finds where the kinds of evidence disagree: name and mode, proof, timing. One of them is wrong
 * then, or the clocksource changed between two measurements; the verdict follows the proof, and the
 * report shows the contradiction so that it is not taken for certain.
 */
#include "rules.h"

#include "base/memory.h"

/* A counter that is read in less than this share of a system call is not intercepted. */
#define CHEAP_SHARE 0.5

static bool has_mode(const struct view *v)
{
	return v->evidence->vclock.how >= VCLOCK_COPY && !v->mode_none;
}

/* Two ways to find the word that decides have found different ones. */
static bool copy_disagrees(const struct view *v)
{
	const struct vclock_evidence *vclock = &v->evidence->vclock;
	const struct copy_evidence *copy = &v->evidence->copy;

	return fact_is_known(&copy->fact) && vclock->how == VCLOCK_READ &&
	       copy->mode != vclock->mode;
}

static bool is_slow_with_a_fast_counter(const struct view *v)
{
	return v->monotonic_ns[PATH_VDSO] >= v->monotonic_ns[PATH_SYSCALL] &&
	       v->counter_ns < CHEAP_SHARE * v->syscall_ns;
}

/* The verdict does not show it where system calls are slower still. */
static bool is_counter_slow(const struct view *v)
{
	return v->counter_trapped && v->counter_ns < v->syscall_ns &&
	       v->monotonic_ns[PATH_VDSO] >= v->counter_ns;
}

const struct contradiction_row contradiction_rows[] = {
	{"mode-none-yet-served", IF(IS(mode_none), IS(vdso_serves), NOT(vdso_replaced)),
		"The clock mode is none, but no call entered the kernel. The verdict follows the "
		"proof."},
	/* A hypervisor may withdraw its page, and 32-bit arm programs may be excluded. */
	{"mode-set-yet-fallback",
		IF(ASK(has_mode), IS(vdso_enters), NOT(vdso_replaced), HAS_NOT(mode_is, "pvclock"),
			HAS_NOT(mode_is, "hvclock"), HAS_NOT(mode_is, "archtimer-nocompat")),
		"The vDSO supports the clock mode, but every call entered the kernel. The verdict "
		"follows the proof."},
	{"copy-disagrees", IF(ASK(copy_disagrees)),
		"On a copy of the vDSO, a word other than the clock mode decides whether the "
		"clocks are served. The verdict follows the proof."},
	/* powerpc's vDSO reads its counter whatever the mode, a cause of its own. */
	{"name-yet-served",
		IF(IS(vdso_serves), NOT(mode_none), NOT(vdso_replaced), NOT(on_powerpc),
			IS(name_has_no_mode), HAS_NOT(mode_is, "hpet")),
		"No vDSO is known to read a clocksource of this name, but no call entered the "
		"kernel. The verdict follows the proof."},
	{"fallback-yet-fast", IF(IS(entered_yet_fast)),
		"The calls entered the kernel under the filter, but without it they took much less "
		"time than the cheapest system call: the clocksource may have changed in "
		"between."},
	{"served-yet-slow", IF(IS(vdso_serves), ASK(is_slow_with_a_fast_counter)),
		"The vDSO takes at least as long as a system call, although the counter can be "
		"read quickly: the clocksource may have changed between proof and timing. If a "
		"second run finds the same, `vdsocheck bench` shows what takes the time."},
	{"counter-slow", IF(IS(vdso_serves), ASK(is_counter_slow)),
		"Reading the counter takes much longer than a register read on this architecture, "
		"though less than a system call: the hypervisor or the firmware may intercept it.",
		.is_lasting = true},
	{0},
};

_Static_assert(ARRAY_SIZE(contradiction_rows) == CONTRADICTION_MAX + 1, "all may apply");

size_t contradiction_find(const struct view *v, struct contradiction found[CONTRADICTION_MAX])
{
	size_t count = 0;

	for (const struct contradiction_row *row = contradiction_rows; row->id; row++) {
		if (holds(v, row->when))
			found[count++] = (struct contradiction){row->id, row->text};
	}
	return count;
}

bool contradiction_may_be_a_change(const struct evidence *evidence)
{
	const struct view view = view_of(evidence);
	const struct contradiction_row *row = contradiction_rows;

	while (row->id && (row->is_lasting || !holds(&view, row->when)))
		row++;
	return row->id;
}
