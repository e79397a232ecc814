/* SPDX-License-Identifier: MIT */
/*
 * Runs code that may raise a signal, and returns the signal. The handlers are set once for a guard
 * and all guards within it, and the signals are unblocked, since a fault whose signal is blocked
 * kills: that takes twelve system calls.
 */
#include "base/child.h"
#include "base/memory.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static const int guarded_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGVTALRM};

#define GUARDED_COUNT ARRAY_SIZE(guarded_signals)

static _Thread_local sigjmp_buf *innermost; /* guard of this thread; NULL: none */

/* A thread without a guard ends the process, as it would without handlers. */
static void leave_guard(int number)
{
	if (innermost)
		siglongjmp(*innermost, number);
	signal(number, SIG_DFL);
	raise(number);
}

int fault_guard(void (*work)(void *argument), void *argument)
{
	/* The signal is not blocked in the handler, so that there is no mask to restore. */
	struct sigaction saved[GUARDED_COUNT],
		action = {.sa_handler = leave_guard, .sa_flags = SA_NODEFER};
	sigjmp_buf here, *outer = innermost;
	sigset_t guarded, before;
	int signal;

	sigemptyset(&action.sa_mask);
	sigemptyset(&guarded);
	for (size_t i = 0; i < GUARDED_COUNT && !outer; i++) {
		sigaction(guarded_signals[i], &action, &saved[i]);
		sigaddset(&guarded, guarded_signals[i]);
	}
	if (!outer)
		sigprocmask(SIG_UNBLOCK, &guarded, &before);
	innermost = &here;
	signal = sigsetjmp(here, 0);
	if (signal == 0)
		work(argument);
	if (!outer)
		sigprocmask(SIG_SETMASK, &before, NULL);
	for (size_t i = 0; i < GUARDED_COUNT && !outer; i++)
		sigaction(guarded_signals[i], &saved[i], NULL);
	innermost = outer;
	return signal;
}

const char *fault_signal_name(int signal)
{
	static const char *const names[] = {[SIGILL] = "SIGILL",
		[SIGBUS] = "SIGBUS",
		[SIGFPE] = "SIGFPE",
		[SIGKILL] = "SIGKILL",
		[SIGSEGV] = "SIGSEGV",
		[SIGALRM] = "SIGALRM",
		[SIGVTALRM] = "SIGVTALRM",
		[SIGXCPU] = "SIGXCPU",
		[SIGSYS] = "SIGSYS"};
	static char text[24];

	if ((size_t)signal < ARRAY_SIZE(names) && names[signal])
		return names[signal];
	snprintf(text, sizeof(text), "signal %d", signal);
	return text;
}

const char *fault_error_text(int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {{EPERM, "EPERM"}, {EAGAIN, "EAGAIN"}, {EACCES, "EACCES"}, {EFAULT, "EFAULT"},
		{EINVAL, "EINVAL"}, {ENOSYS, "ENOSYS"}, {EOPNOTSUPP, "EOPNOTSUPP"}};
	static char text[48];

	if (!error)
		return "writes no result";
	snprintf(text, sizeof(text), "fails with error %d", error);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].error == error)
			snprintf(text, sizeof(text), "fails with %s", names[i].name);
	}
	return text;
}
