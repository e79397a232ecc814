/* SPDX-License-Identifier: MIT */
/* What the clock mode must be where the data page could not be read. Pure. */
#ifndef VDSOCHECK_JUDGE_VCLOCK_H
#define VDSOCHECK_JUDGE_VCLOCK_H

#include "evidence.h"

/*
 * What is known of the clock mode, with the mode that the clocksource's name and the proof
 * leave where they leave only one: how is VCLOCK_INFERRED then, and the fact keeps the reason
 * why it was not read. As it is in the evidence where it was read or more than one is possible.
 */
struct vclock_evidence vclock_infer(const struct evidence *evidence);

/* True if the kernel never gives this clocksource a mode (hpet did have one up to 4.6). */
bool vclock_name_has_no_mode(const char *clocksource);

/* True if some kernel gives a clocksource of this name a clock mode. */
bool vclock_name_has_mode(const char *clocksource);

#endif
