/* SPDX-License-Identifier: MIT */
/*
 * Where the kinds of evidence disagree: name and mode, proof, timing. One of them is wrong then, or
 * the clocksource changed between two measurements; the verdict follows the proof, and the report
 * shows the contradiction so that it is not taken for certain.
 */
#include "rules.h"

#include <string.h>

#include "base/text.h"

static bool vdso_always_enters(const struct view *v)
{
	return v->vdso.proven > 0 && v->vdso.always == v->vdso.calls;
}

static bool vdso_never_enters(const struct view *v)
{
	return v->vdso.proven > 0 && v->vdso.proven == v->vdso.calls && v->vdso.entered == 0 &&
	       !v->vdso.signal;
}

static bool mode_none_yet_answered(const struct view *v)
{
	return v->mode_none && vdso_never_enters(v);
}

static bool mode_set_yet_entering(const struct view *v)
{
	const struct vclock_evidence *vclock = &v->evidence->vclock;

	/* A hypervisor may withdraw its page, and 32-bit arm programs may be excluded. */
	if (strcmp(vclock->name, "pvclock") == 0 || strcmp(vclock->name, "hvclock") == 0 ||
		strcmp(vclock->name, "archtimer-nocompat") == 0)
		return false;
	return vclock->how >= VCLOCK_COPY && vclock->mode != VCLOCK_MODE_NONE &&
	       vdso_always_enters(v);
}

/* Two ways to find the word that decides have found different ones. */
static bool copy_disagrees(const struct view *v)
{
	const struct copy_evidence *copy = &v->evidence->copy;

	return fact_is_known(&copy->fact) && v->evidence->vclock.how == VCLOCK_READ &&
	       copy->mode != v->evidence->vclock.mode;
}

static bool name_yet_answered(const struct view *v)
{
	/* powerpc's vDSO, for one, reads its counter whatever the mode: nothing has changed. */
	return !mode_none_yet_answered(v) &&
	       fact_is_known(&v->evidence->clocksource.current_fact) &&
	       vclock_name_has_no_mode(v->evidence->clocksource.current) &&
	       strcmp(v->evidence->vclock.name, "hpet") != 0 && vdso_never_enters(v);
}

/* A system call is never so much quicker than the cheapest one. */
#define CHEAP_SHARE 0.5

static bool entering_yet_cheap(const struct view *v)
{
	const struct path_evidence *vdso = v->monotonic[PATH_VDSO];
	const struct timing_evidence *timing = &v->evidence->timing;

	return vdso_always_enters(v) && vdso && fact_is_known(&timing->syscall_floor_fact) &&
	       vdso->min_ns < CHEAP_SHARE * timing->syscall_floor_ns;
}

/* As slow as a system call, although reading the counter is not the cause. */
static bool answered_yet_slow(const struct view *v)
{
	const struct path_evidence *vdso = v->monotonic[PATH_VDSO];
	const struct path_evidence *raw = v->monotonic[PATH_SYSCALL];
	const struct timing_evidence *timing = &v->evidence->timing;

	return vdso_never_enters(v) && vdso && raw && fact_is_known(&timing->counter_fact) &&
	       fact_is_known(&timing->syscall_floor_fact) &&
	       timing->counter_ns < CHEAP_SHARE * timing->syscall_floor_ns &&
	       vdso->min_ns >= raw->min_ns;
}

/* Where system calls are slower still, the verdict does not show it. */
static bool counter_slow(const struct view *v)
{
	const struct path_evidence *vdso = v->monotonic[PATH_VDSO];
	const struct timing_evidence *timing = &v->evidence->timing;

	return vdso_never_enters(v) && v->counter_trapped && vdso &&
	       fact_is_known(&timing->syscall_floor_fact) &&
	       timing->counter_ns < timing->syscall_floor_ns && vdso->min_ns >= timing->counter_ns;
}

const struct contradiction_row contradiction_rows[] = {
	{"mode-none-yet-served", true, mode_none_yet_answered,
		"The clock mode is none, but no call entered the kernel. The verdict follows the "
		"proof."},
	{"mode-set-yet-fallback", true, mode_set_yet_entering,
		"The vDSO supports the clock mode, but every call entered the kernel. The verdict "
		"follows the proof."},
	{"copy-disagrees", true, copy_disagrees,
		"On a copy of the vDSO, a word other than the clock mode decides whether the "
		"clocks are served. The verdict follows the proof."},
	{"name-yet-served", true, name_yet_answered,
		"No vDSO is known to read a clocksource of this name, but no call entered the "
		"kernel. The verdict follows the proof."},
	{"fallback-yet-fast", true, entering_yet_cheap,
		"The calls entered the kernel under the filter, but without it they took much less "
		"time than the cheapest system call: the clocksource may have changed in between. "
		"Run vdsocheck again first."},
	{"served-yet-slow", true, answered_yet_slow,
		"The vDSO takes at least as long as a system call, although the counter can be read "
		"quickly: the clocksource may have changed between proof and timing. If a second "
		"run finds the same, `vdsocheck bench` shows what takes the time."},
	{"counter-slow", false, counter_slow,
		"Reading the counter takes much longer than a register read does on this "
		"architecture, if less than a system call: the hypervisor or the firmware may "
		"intercept it."},
	{0},
};

bool contradiction_may_be_a_change(const struct evidence *evidence)
{
	struct view view;

	view_make(evidence, VERDICT_UNKNOWN, &view);
	for (const struct contradiction_row *row = contradiction_rows; row->id; row++) {
		if (row->may_be_a_change && row->applies(&view))
			return true;
	}
	return false;
}

size_t contradiction_find(const struct view *v, struct contradiction found[CONTRADICTION_MAX])
{
	size_t count = 0;

	for (const struct contradiction_row *row = contradiction_rows;
		row->id && count < CONTRADICTION_MAX; row++) {
		if (!row->applies(v))
			continue;
		found[count].id = row->id;
		text_copy(found[count].text, sizeof(found[count].text), row->text);
		count++;
	}
	return count;
}
