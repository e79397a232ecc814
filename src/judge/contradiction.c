/* SPDX-License-Identifier: MIT */
/*
 * Finds where the kinds of evidence disagree: name and mode, proof, timing. One of them is wrong
 * then, or the clocksource changed between two measurements; the verdict follows the proof, and the
 * report shows the contradiction so that it is not taken for certain.
 */
#include "rules.h"

#include <string.h>

/* A counter that is read in less than this share of a system call is not intercepted. */
#define CHEAP_SHARE 0.5

void contradiction_list(const struct view *v, struct contradiction_row rows[CONTRADICTION_ROWS])
{
	const struct evidence *evidence = v->evidence;
	const struct vclock_evidence *vclock = &evidence->vclock;
	const struct copy_evidence *copy = &evidence->copy;
	const struct timing_evidence *timing = &evidence->timing;
	const struct path_evidence *vdso = v->monotonic[PATH_VDSO];
	const struct path_evidence *raw = v->monotonic[PATH_SYSCALL];
	bool is_timed = vdso && fact_is_known(&timing->syscall_floor_ns.fact);
	bool is_counter_fast =
		fact_is_known(&timing->counter_ns.fact) &&
		timing->counter_ns.value < CHEAP_SHARE * timing->syscall_floor_ns.value;
	bool always_enters = v->vdso.proven > 0 && v->vdso.always == v->vdso.calls;
	bool never_enters = v->vdso.proven > 0 && v->vdso.proven == v->vdso.calls &&
	                    v->vdso.entered == 0 && !v->vdso.signal && !v->vdso.failing;
	bool is_none_yet_served = v->mode_none && never_enters && !v->vdso_replaced;
	/* A hypervisor may withdraw its page, and 32-bit arm programs may be excluded. */
	bool may_be_refused = strcmp(vclock->name, "pvclock") == 0 ||
	                      strcmp(vclock->name, "hvclock") == 0 ||
	                      strcmp(vclock->name, "archtimer-nocompat") == 0;
	const struct contradiction_row all[CONTRADICTION_ROWS] = {
		{"mode-none-yet-served", is_none_yet_served, true,
			"The clock mode is none, but no call entered the kernel. The verdict "
			"follows the proof."},
		{"mode-set-yet-fallback",
			vclock->how >= VCLOCK_COPY && vclock->mode != VCLOCK_MODE_NONE &&
				!may_be_refused && always_enters && !v->vdso_replaced,
			true,
			"The vDSO supports the clock mode, but every call entered the kernel. The "
			"verdict follows the proof."},
		/* Two ways to find the word that decides have found different ones. */
		{"copy-disagrees",
			fact_is_known(&copy->fact) && vclock->how == VCLOCK_READ &&
				copy->mode != vclock->mode,
			true,
			"On a copy of the vDSO, a word other than the clock mode decides whether "
			"the clocks are served. The verdict follows the proof."},
		/* powerpc's vDSO reads its counter whatever the mode, a cause of its own. */
		{"name-yet-served",
			never_enters && !is_none_yet_served && !v->vdso_replaced &&
				!v->on_powerpc &&
				fact_is_known(&evidence->clocksource.current_fact) &&
				clocksource_has_no_mode(evidence, evidence->clocksource.current) &&
				strcmp(vclock->name, "hpet") != 0,
			true,
			"No vDSO is known to read a clocksource of this name, but no call entered "
			"the kernel. The verdict follows the proof."},
		{"fallback-yet-fast", v->entered_yet_fast, true,
			"The calls entered the kernel under the filter, but without it they took "
			"much less time than the cheapest system call: the clocksource may have "
			"changed in between."},
		{"served-yet-slow",
			never_enters && is_timed && is_counter_fast && raw &&
				vdso->min_ns >= raw->min_ns,
			true,
			"The vDSO takes at least as long as a system call, although the counter "
			"can be read quickly: the clocksource may have changed between proof and "
			"timing. If a second run finds the same, `vdsocheck bench` shows what "
			"takes the time."},
		/* The verdict does not show it where system calls are slower still. */
		{"counter-slow",
			never_enters && is_timed && v->counter_trapped &&
				timing->counter_ns.value < timing->syscall_floor_ns.value &&
				vdso->min_ns >= timing->counter_ns.value,
			false,
			"Reading the counter takes much longer than a register read on this "
			"architecture, though less than a system call: the hypervisor or the firmware "
			"may intercept it."},
	};

	memcpy(rows, all, sizeof(all));
}

size_t contradiction_find(const struct view *v, struct contradiction found[CONTRADICTION_MAX])
{
	struct contradiction_row rows[CONTRADICTION_ROWS];
	size_t count = 0;

	contradiction_list(v, rows);
	for (size_t i = 0; i < CONTRADICTION_ROWS && count < CONTRADICTION_MAX; i++) {
		if (rows[i].applies)
			found[count++] = (struct contradiction){rows[i].id, rows[i].text};
	}
	return count;
}

bool contradiction_may_be_a_change(const struct evidence *evidence)
{
	struct contradiction_row rows[CONTRADICTION_ROWS];
	struct view view = view_of(evidence);
	bool may_be = false;

	contradiction_list(&view, rows);
	for (size_t i = 0; i < CONTRADICTION_ROWS; i++)
		may_be |= rows[i].applies && rows[i].may_be_a_change;
	return may_be;
}
