/* SPDX-License-Identifier: MIT */
/*
 * Handles signals while a program of the user's runs. We are between it and our caller, and each
 * must see what it would see without us. The caller knows our process, not the program's, so what a
 * process sends to us is passed on. The terminal sends to the process group, and so may a process:
 * that reaches the program without us. When the program stops, we stop.
 */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count.h"

/*
 * A signal is held for this time, and is not passed on if the program gets the same one from the
 * same sender in it, before or after us. A program is stopped for as long before we stop: what it
 * started stops, too, and needs its tracer for that.
 */
#define HOLD_NS 30000000

/* ---- what happens to each signal ---- */

#define BIT(number) (UINT64_C(1) << (number))
/* They report faults of ours, or end system calls; and two cannot be caught. */
#define OURS                                                                                       \
	(BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGSEGV) | BIT(SIGSYS) |     \
		BIT(SIGPIPE) | BIT(SIGXCPU) | BIT(SIGXFSZ) | BIT(SIGCHLD) | BIT(SIGURG) |          \
		BIT(SIGKILL) | BIT(SIGSTOP))
/* All others are passed on. Once the program has ended, these end the wait for its children. */
#define ENDS (BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT) | BIT(SIGTERM))
/* When the program has ended, these stop us; before that, its stop does. */
#define STOPS (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

static bool is_in(uint64_t set, int number)
{
	return number < 64 && set & BIT(number);
}

/* A sender whose signals are not passed on. */
#define NOT_A_PROCESS (-1)

static struct received {
	struct sigaction before;
	volatile sig_atomic_t is_new;  /* since the last look */
	volatile sig_atomic_t is_held; /* until it is due */
	volatile pid_t sender;         /* 0: the kernel, or a process of another namespace */
	struct deadline due;
	pid_t direct_sender;    /* the program got it from this sender... */
	struct deadline direct; /* ...which counts for what is due until then */
} signals[NSIG];

static sigset_t mask_before;

/*
 * When a terminal is gone, the kernel sends SIGHUP and SIGCONT to the leader of the session, not to
 * the group.
 */
static void signals_receive(int number, siginfo_t *information, void *context)
{
	struct received *received = &signals[number];
	const int code = information->si_code;
	const bool is_sent = code == SI_USER || code == SI_TKILL || code == SI_QUEUE;
	const bool hangs_up = (number == SIGHUP || number == SIGCONT) && getsid(0) == getpid();

	(void)context;
	received->sender = is_sent || hangs_up ? information->si_pid : NOT_A_PROCESS;
	if (!received->is_held)
		received->due = deadline_after(HOLD_NS);
	received->is_held = received->is_new = true;
}

/*
 * A signal that is ignored or blocked is caught, too: the program inherits that, and may change it.
 * The C library keeps two for itself, and refuses them.
 */
void trace_signals_catch(void)
{
	struct sigaction action = {.sa_sigaction = signals_receive, .sa_flags = SA_SIGINFO};
	sigset_t all;

	sigemptyset(&action.sa_mask);
	sigfillset(&all);
	for (int number = 1; number < NSIG; number++) {
		signals[number] = (struct received){.direct_sender = NOT_A_PROCESS};
		if (!is_in(OURS, number))
			sigaction(number, &action, &signals[number].before);
	}
	sigprocmask(SIG_UNBLOCK, &all, &mask_before);
}

void trace_signals_release(void)
{
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
	for (int number = 1; number < NSIG; number++) {
		if (!is_in(OURS, number))
			sigaction(number, &signals[number].before, NULL);
	}
}

/* ---- stops ---- */

bool trace_signals_stop(int number)
{
	return is_in(STOPS, number);
}

void trace_signals_note_stop(struct trace_run *run, int status)
{
	const int event = run->is_traced ? PTRACE_EVENT_STOP : 0, number = WSTOPSIG(status);

	run->stopped_by = status >> 16 == event && is_in(STOPS, number) ? number : 0;
	if (run->stopped_by)
		run->stopped = deadline_after(HOLD_NS);
}

/*
 * A shell with job control is a parent in our session but not in our group, and continues us. Other
 * parents do not look at stops, and what continues the program may not know us.
 */
static void stop_by(int number)
{
	const struct sigaction action = {.sa_handler = SIG_DFL};
	struct sigaction before = action;
	const pid_t parent = getppid();

	if (getpgid(parent) == getpgrp() || getsid(parent) != getsid(0))
		return;
	sigaction(number, &action, &before);
	raise(number);
	sigaction(number, &before, NULL);
}

/* ---- passing on ---- */

void trace_signals_note(int number, pid_t sender)
{
	signals[number].direct_sender = sender;
	signals[number].direct = deadline_after(2 * HOLD_NS);
}

/*
 * What the program sends to its parent is not for itself. If the same signal comes now, it is
 * passed on rather twice than never.
 */
static void pass(const struct trace_run *run, int number)
{
	struct received *received = &signals[number];
	const pid_t sender = received->sender;
	const bool is_direct = sender == received->direct_sender &&
	                       received->direct.at_tick >= received->due.at_tick;

	received->direct_sender = NOT_A_PROCESS;
	if (run->program && sender != NOT_A_PROCESS && sender != run->program && !is_direct)
		kill(run->program, number);
}

/* Ctrl-C has reached the program, too, which may go on. */
static void signals_begin(struct trace_run *run, int number)
{
	struct received *received = &signals[number];

	received->is_new = false;
	if (is_in(ENDS, number) && received->before.sa_handler != SIG_IGN)
		run->is_over |= number == SIGTERM || !run->program;
	else if (is_in(STOPS, number) && !run->program)
		stop_by(number);
	else if (number == SIGCONT)
		run->stopped_by = 0; /* the stop was over before we took part in it */
}

int64_t trace_signals_pass(struct trace_run *run)
{
	bool is_waiting = false;

	for (int number = 1; number < NSIG; number++) {
		if (signals[number].is_new)
			signals_begin(run, number);
		if (signals[number].is_held && !deadline_left_ns(&signals[number].due)) {
			signals[number].is_held = false;
			pass(run, number);
		}
		is_waiting |= signals[number].is_held;
	}
	if (run->stopped_by && !deadline_left_ns(&run->stopped)) {
		stop_by(run->stopped_by);
		run->stopped_by = 0;
	}
	return is_waiting || run->stopped_by ? HOLD_NS : INT64_MAX;
}
