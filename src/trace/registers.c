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
#include <linux/sched.h>
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

/* The kernel's, which makes it restart a call unless a handler takes the signal. */
#define ERESTARTNOHAND 514

static const unsigned char instruction[] = {0x0f, 0x05};

int registers_get(pid_t thread, struct registers *registers)
{
	if (ptrace(PTRACE_GETREGS, thread, NULL, &registers->all) < 0)
		return errno;
	return registers->all.cs == 0x23 ? ENOEXEC : 0;
}

int registers_set(pid_t thread, const struct registers *registers)
{
	return ptrace(PTRACE_SETREGS, thread, NULL, &registers->all) < 0 ? errno : 0;
}

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

int64_t registers_result(const struct registers *registers)
{
	return (int64_t)registers->all.rax;
}

static uint64_t get_number(const struct registers *registers)
{
	return registers->all.orig_rax;
}

static uint64_t get_argument(const struct registers *registers)
{
	return registers->all.rdi;
}

static void remove_flags(struct registers *registers, uint64_t flags)
{
	registers->all.rdi &= ~flags;
}

static void refuse_call(pid_t thread, struct registers *registers, bool is_narrow)
{
	(void)thread;
	(void)is_narrow;
	registers->all.orig_rax = UINT64_MAX;
	registers->all.rax = (uint64_t)-ENOSYS;
}

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
	default:
		return all->orig_rax == SYS_semop;
	}
}

static bool restart_call(struct registers *registers)
{
	if (registers_result(registers) != -EINTR || !waits_without_limit(&registers->all))
		return false;
	registers->all.rax = (uint64_t)-ERESTARTNOHAND;
	return true;
}

static bool is_loaded(const struct registers *registers)
{
	return (registers->all.orig_rax == SYS_arch_prctl && registers->all.rdi == ARCH_SET_FS) ||
	       registers->all.orig_rax == SYS_set_tid_address;
}

#else

static const unsigned char instruction[] = {0x01, 0x00, 0x00, 0xd4};

int registers_get(pid_t thread, struct registers *registers)
{
	struct iovec whole = {&registers->all, sizeof(registers->all)};

#if !defined(__aarch64__)
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

void registers_call(
	struct registers *registers, uint64_t at, long number, const uint64_t arguments[6])
{
	registers->all.pc = at;
	registers->all.regs[8] = (uint64_t)number;
	for (int i = 0; i < 6; i++)
		registers->all.regs[i] = arguments[i];
}

int64_t registers_result(const struct registers *registers)
{
	return (int64_t)registers->all.regs[0];
}

static uint64_t get_number(const struct registers *registers)
{
	return registers->all.regs[8];
}

static uint64_t get_argument(const struct registers *registers)
{
	return registers->all.regs[0];
}

static void remove_flags(struct registers *registers, uint64_t flags)
{
	registers->all.regs[0] &= ~flags;
}

/* Registers of 32-bit programs have 32 bits: the next one is in the high half. */
static void refuse_call(pid_t thread, struct registers *registers, bool is_narrow)
{
	uint64_t result = is_narrow ? UINT32_MAX : UINT64_MAX;
	int none = -1;
	struct iovec number = {&none, sizeof(none)};

	ptrace(PTRACE_SETREGSET, thread, (void *)NT_ARM_SYSTEM_CALL, &number);
	registers->all.regs[0] = (registers->all.regs[0] & ~result) | ((uint64_t)-ENOSYS & result);
}

static bool restart_call(struct registers *registers)
{
	(void)registers;
	return false;
}

static bool is_loaded(const struct registers *registers)
{
	const uint64_t number = get_number(registers);

	return number == SYS_set_tid_address || number == SYS_rt_sigaction ||
	       (number == SYS_mprotect && registers->all.regs[2] == PROT_READ);
}

#endif

const unsigned char *registers_find_instruction(const unsigned char *code, size_t length)
{
	return memmem(code, length, instruction, sizeof(instruction));
}

size_t registers_find_row(const struct trace_plan *plan, pid_t thread)
{
	struct registers registers;

	if (registers_get(thread, &registers) != 0)
		return TRACE_ROW_MAX;
	return trace_plan_find(
		plan, plan->arch[TRACE_NATIVE], get_number(&registers), get_argument(&registers));
}

void registers_refuse_call(pid_t thread)
{
	struct registers registers;
	int error = registers_get(thread, &registers);

	if (error && error != ENOEXEC)
		return;
	refuse_call(thread, &registers, error == ENOEXEC);
	registers_set(thread, &registers);
}

/* The flags of clone3(2) are the first word of its structure. */
void registers_trace_child(pid_t thread)
{
	struct registers registers;
	uint64_t flags, at;

	if (registers_get(thread, &registers) != 0)
		return;
	if (get_number(&registers) == SYS_clone) {
		remove_flags(&registers, CLONE_UNTRACED);
		registers_set(thread, &registers);
		return;
	}
	at = get_argument(&registers);
	errno = 0;
	flags = (uint64_t)ptrace(PTRACE_PEEKDATA, thread, (void *)(uintptr_t)at, NULL);
	if (!errno && flags & CLONE_UNTRACED)
		ptrace(PTRACE_POKEDATA, thread, (void *)(uintptr_t)at,
			(void *)(uintptr_t)(flags & ~(uint64_t)CLONE_UNTRACED));
}

void registers_restart_call(pid_t thread)
{
	struct registers registers;

	if (registers_get(thread, &registers) == 0 && restart_call(&registers))
		registers_set(thread, &registers);
}

/*
 * Loaders set up the first thread when they have mapped the libraries, before they bind them. On
 * arm64 glibc does so from 2.34 on; before, it protects what it has relocated. A program without a
 * C library sets up its signals.
 */
bool registers_show_loaded(pid_t thread)
{
	struct registers registers;

	return registers_get(thread, &registers) != 0 || is_loaded(&registers);
}
