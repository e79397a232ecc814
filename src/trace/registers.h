/* SPDX-License-Identifier: MIT */
/* Reads and changes the registers of a stopped thread of a 64-bit program, on x86-64 and arm64. */
#ifndef VDSOCHECK_TRACE_REGISTERS_H
#define VDSOCHECK_TRACE_REGISTERS_H

#include <sys/user.h>

#include "model.h"

struct registers {
#if defined(__x86_64__) || defined(__aarch64__)
	struct user_regs_struct all;
#else
	/* Those of other machines are not known; the names are arm64's. */
	struct {
		uint64_t regs[31], pc;
	} all;
#endif
};

/*
 * 0 or an errno value: ENOEXEC of a 32-bit program, ENOTSUP on other machines, ESRCH if the thread
 * was killed.
 */
int registers_get(pid_t thread, struct registers *registers);
int registers_set(pid_t thread, const struct registers *registers);

/* Finds the instruction that makes a system call; NULL: there is none. */
const unsigned char *registers_find_instruction(const unsigned char *code, size_t length);

/* Sets them to make a system call by the instruction at this address, and reads its result. */
void registers_call(struct registers *registers, uint64_t instruction, long number,
	const uint64_t arguments[6]);
int64_t registers_result(const struct registers *registers);

/*
 * Say whether a thread that was interrupted goes on with a system call, which is made anew, or
 * which fails with EINTR; and at the stop at the beginning of one keep it from being made, and set
 * the registers of the stop to make it anew. 0 or an errno value.
 */
bool registers_show_call(pid_t thread, const struct registers *registers);
int registers_undo_call(pid_t thread, struct registers *registers);

/* Returns the address of the word that older C libraries hide addresses by; 0: it is not known. */
uint64_t registers_find_guard(const struct registers *registers);

/* Finds the row of the system call that a thread is in; TRACE_ROW_MAX: there is none. */
size_t registers_find_row(const struct trace_plan *plan, pid_t thread);

/*
 * Makes the kernel restart the system call that a signal has interrupted, at the stop for the
 * signal, if that has no handler. Linux wakes a traced thread for a signal that it ignores, and
 * some calls fail then with EINTR. Those with a time limit still do: it would begin anew. So do
 * all on arm64, where their first argument is no longer known.
 */
void registers_restart_call(pid_t thread);

/*
 * Says at the stop of a thread at a system call whether its C library is loaded; it is not yet used
 * when that becomes true.
 */
bool registers_show_loaded(pid_t thread);

#endif
