/* SPDX-License-Identifier: MIT */
/* What the clock mode must be where the data page could not be read. Pure. */
#ifndef VDSOCHECK_JUDGE_VCLOCK_H
#define VDSOCHECK_JUDGE_VCLOCK_H

#include "evidence.h"

/*
 * Infers the mode from the clocksource's name and the proof, where both together leave only
 * one: sets how to VCLOCK_INFERRED and keeps the reason why it was not read. Leaves the
 * evidence alone where the mode was read or more than one is possible.
 */
void vclock_infer(struct evidence *evidence);

/* True if the kernel never gives this clocksource a mode (hpet did have one up to 4.6). */
bool vclock_name_has_no_mode(const char *clocksource);

#endif
