/* SPDX-License-Identifier: MIT */
/*
 * The second witness, the mode: the clock mode that the kernel wrote into the data page
 * which the vDSO reads. Only a direct load reaches it, so it is read in a guarded child.
 */
#ifndef VDSOCHECK_MEASURE_VVAR_H
#define VDSOCHECK_MEASURE_VVAR_H

#include "evidence.h"

/*
 * Reads the mode around this process's vDSO (vdso->base, vdso->size), following a time
 * namespace to the real page. `clocksource` is the current one's name, "" if not known: it
 * tells which hypervisor page to look at and what a number means. Believes exactly one
 * layout in one place; otherwise vclock->fact has the reason and how stays unknown.
 */
void vvar_collect(
	const struct vdso_evidence *vdso, const char *clocksource, struct vclock_evidence *vclock);

#endif
