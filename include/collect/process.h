/* SPDX-License-Identifier: MIT */
/* This process: its libc, and what others did to it that bears on the measurement. */
#ifndef VDSOCHECK_COLLECT_PROCESS_H
#define VDSOCHECK_COLLECT_PROCESS_H

#include "base/root.h"
#include "evidence.h"

/*
 * Fills host->emulator, libc, libc_static, counter_off, tracer and seccomp; all absent where the
 * root is not live.
 */
void process_collect(const struct root *root, struct host_evidence *host);

#endif
