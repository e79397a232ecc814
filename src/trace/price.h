/* SPDX-License-Identifier: MIT */
/* What the calls cost on this host, measured before a program is counted. */
#ifndef VDSOCHECK_TRACE_PRICE_H
#define VDSOCHECK_TRACE_PRICE_H

#include "base/root.h"
#include "evidence.h"

/*
 * Fills in clocksource, calls, proof and timing, and where the calls fall back what the vDSO would
 * take. Takes about 0.1 s.
 */
void trace_price_measure(const struct root *root, struct evidence *host);

#endif
