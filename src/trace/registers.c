/* SPDX-License-Identifier: MIT */
/*
 * Has what differs between the architectures whose programs are traced: the registers of a system
 * call. Those of others are not known, and nothing is changed.
 */
#include "registers.h"

#if defined(__x86_64__)
#include <asm/prctl.h>
#endif
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#if defined(__x86_64__)

/* Older headers lack it. */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_io_uring_enter
#define SYS_io_uring_enter 426
#endif

/* The kernel's, which makes it restart a call unless a handler takes the signal. */
#define ERESTARTNOHAND 514

/* The number of a system call that was made, its result and its first argument. */
#define NUMBER orig_rax
#define RESULT rax
#define ARGUMENT rdi
static const unsigned char instruction[] = {0x0f, 0x05};

void registers_call(
	struct registers *registers, uint64_t at, long number, const uint64_t arguments[6])
{
	struct user_regs_struct *all = &registers->all;

	all->rip = at;
	all->rax = (uint64_t)number;
	all->orig_rax = UINT64_MAX; /* no system call is restarted */
	all->rdi = arguments[0];
	all->rsi = arguments[1];
	all->rdx = arguments[2];
	all->r10 = arguments[3];
	all->r8 = arguments[4];
	all->r9 = arguments[5];
}

/* Those up to it, from this on, do so as well, with other conditions. */
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

bool registers_show_call(pid_t thread, const struct registers *registers)
{
	const int64_t result = registers_result(registers);

	(void)thread;
	return (int64_t)registers->all.orig_rax >= 0 &&
	       (result == -EINTR || (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK));
}

int registers_undo_call(pid_t thread, struct registers *registers)
{
	struct registers none = *registers;

	none.all.orig_rax = UINT64_MAX;
	registers->all.rip -= sizeof(instruction);
	registers->all.rax = registers->all.orig_rax;
	registers->all.orig_rax = UINT64_MAX;
	return registers_set(thread, &none);
}

/* glibc's, in the structure of a thread. */
uint64_t registers_find_guard(const struct registers *registers)
{
	return registers->all.fs_base + 0x30;
}

/* With this flag, the fifth argument may be a structure that has a limit. */
#ifndef IORING_ENTER_EXT_ARG
#define IORING_ENTER_EXT_ARG (1U << 3)
#endif

static bool waits_without_limit(const struct user_regs_struct *all)
{
	switch (all->orig_rax) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int32_t)all->r10 < 0;
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
		return !all->r10;
	case SYS_rt_sigtimedwait:
		return !all->rdx;
	case SYS_io_getevents:
		return !all->r8;
	case SYS_io_uring_enter:
		return !(all->r10 & IORING_ENTER_EXT_ARG);
	default:
		return all->orig_rax == SYS_semop;
	}
}

#else

#define NUMBER regs[8]
#define RESULT regs[0]
#define ARGUMENT regs[0]
static const unsigned char instruction[] = {0x01, 0x00, 0x00, 0xd4};

void registers_call(
	struct registers *registers, uint64_t at, long number, const uint64_t arguments[6])
{
	registers->all.pc = at;
	registers->all.regs[8] = (uint64_t)number;
	for (int i = 0; i < 6; i++)
		registers->all.regs[i] = arguments[i];
#if defined(__aarch64__)
	/* After an indirect branch, only a landing pad could be there (BTYPE). */
	registers->all.pstate &= ~UINT64_C(0xc00);
#endif
}

/* The kernel has set the registers for the call. It does not show whether there is one to restart.
 */
bool registers_show_call(pid_t thread, const struct registers *registers)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, thread, (void *)(uintptr_t)registers->all.pc, NULL);
	return registers_result(registers) == -EINTR ||
	       (!errno && memcmp(&word, instruction, sizeof(instruction)) == 0);
}

int registers_undo_call(pid_t thread, struct registers *registers)
{
	int none = -1;
	struct iovec whole = {&none, sizeof(none)};

	registers->all.pc -= sizeof(instruction);
	return ptrace(PTRACE_SETREGSET, thread, (void *)NT_ARM_SYSTEM_CALL, &whole) < 0 ? errno : 0;
}

/* It is a variable of the dynamic loader. */
uint64_t registers_find_guard(const struct registers *registers)
{
	(void)registers;
	return 0;
}

#endif

/* The kernel gives those of a 32-bit program in another size. */
int registers_get(pid_t thread, struct registers *registers)
{
	struct iovec whole = {&registers->all, sizeof(registers->all)};

#if !defined(__x86_64__) && !defined(__aarch64__)
	return ENOTSUP;
#endif
	if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &whole) < 0)
		return errno;
	return whole.iov_len == sizeof(registers->all) ? 0 : ENOEXEC;
}

int registers_set(pid_t thread, const struct registers *registers)
{
	struct registers copy = *registers;
	struct iovec whole = {&copy.all, sizeof(copy.all)};

	return ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &whole) < 0 ? errno : 0;
}

const unsigned char *registers_find_instruction(const unsigned char *code, size_t length)
{
	return memmem(code, length, instruction, sizeof(instruction));
}

int64_t registers_result(const struct registers *registers)
{
	return (int64_t)registers->all.RESULT;
}

size_t registers_find_row(const struct trace_plan *plan, pid_t thread)
{
	struct registers registers;

	if (registers_get(thread, &registers) != 0)
		return TRACE_ROW_MAX;
	return trace_plan_find(
		plan, plan->arch[TRACE_NATIVE], registers.all.NUMBER, registers.all.ARGUMENT);
}

void registers_restart_call(pid_t thread)
{
#if defined(__x86_64__)
	struct registers registers;

	if (registers_get(thread, &registers) != 0 || registers_result(&registers) != -EINTR ||
		!waits_without_limit(&registers.all))
		return;
	registers.all.rax = (uint64_t)-ERESTARTNOHAND;
	registers_set(thread, &registers);
#else
	(void)thread;
#endif
}

/*
 * Loaders set up the first thread when they have mapped the libraries, before they bind them. On
 * arm64 glibc does so from 2.34 on; before, it protects what it has relocated. A program without a
 * C library sets up its signals.
 */
bool registers_show_loaded(pid_t thread)
{
	struct registers registers;
	uint64_t number;

	if (registers_get(thread, &registers) != 0)
		return true;
	number = registers.all.NUMBER;
	return number == SYS_set_tid_address ||
#if defined(__x86_64__)
	       (number == SYS_arch_prctl && registers.all.ARGUMENT == ARCH_SET_FS);
#else
	       number == SYS_rt_sigaction ||
	       (number == SYS_mprotect && registers.all.regs[2] == PROT_READ);
#endif
}
