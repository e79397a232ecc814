/* SPDX-License-Identifier: MIT */
/*
 * Work that a process cannot undo (a seccomp filter) or may not survive (a vDSO that
 * crashes) is done in a forked child, which answers through memory shared with its parent.
 */
#ifndef VDSOCHECK_BASE_CHILD_H
#define VDSOCHECK_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/fact.h"

/* Zeroed memory that children share with us; NULL with the reason in *why. */
void *child_share(size_t size, struct fact *why);
void child_unshare(void *shared, size_t size);

/*
 * Runs work(argument) in a child and waits for its end. True if the child reached the end
 * of the work; else false and *why tells what stopped it: a signal (failed; SIGSYS is denied:
 * a filter set by a parent forbids a system call), the limit of `seconds` of wall time, or a
 * fork that was refused. The child leaves no core dump and dies with its parent.
 */
bool child_run(void (*work)(void *argument), void *argument, unsigned seconds, struct fact *why);

/*
 * The pieces of child_run(), for a parent with something to do while the child runs.
 * child_start() gives the child's pid, or -1 with the reason. child_judge() says by the
 * status of waitpid() whether it reached its end.
 */
pid_t child_start(void (*work)(void *argument), void *argument, unsigned seconds, struct fact *why);
bool child_judge(int status, unsigned seconds, struct fact *why);

#endif
