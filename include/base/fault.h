/* SPDX-License-Identifier: MIT */
/*
 * Runs code that may fault: a load from a page with nothing behind it, a counter that is
 * switched off, a vDSO function that crashes.
 */
#ifndef VDSOCHECK_BASE_FAULT_H
#define VDSOCHECK_BASE_FAULT_H

/*
 * Runs work(argument). Returns 0 if it came to its end, or the signal that stopped it:
 * SIGSEGV, SIGBUS, SIGILL, SIGFPE, or SIGVTALRM of an interval timer that the caller set to
 * bound the work. What the work had changed by then stays changed.
 * The work may set guards of its own, which cost no system call then. One thread: meant for a
 * forked child.
 */
int fault_guard(void (*work)(void *argument), void *argument);

/*
 * Runs work that sets many guards of its own, with the handlers set once. A signal outside of these
 * guards ends the process, as it would without handlers.
 */
void fault_guard_parts(void (*work)(void *argument), void *argument);

/* "SIGSEGV" and so on; "signal N" for the ones without a name here. Static storage. */
const char *fault_signal_name(int signal);

#endif
