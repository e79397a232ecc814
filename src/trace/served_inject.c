/* SPDX-License-Identifier: MIT */
/*
 * Gives a program its copy of the vDSO, at the end of its execve(2): system calls are made in its
 * name, by an instruction of its real vDSO, to map the table and the copy, and the address of the
 * copy replaces that of the vDSO in its auxiliary vector. Signals are blocked until it goes on, and
 * its registers are as they were.
 */
#if defined(__x86_64__)
#include <asm/prctl.h>
#endif
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "served.h"

/* Limits what is read: since 4.13, arguments and variables have 6 MiB at most (fs/exec.c). */
#define STACK_SIZE (8 * 1024 * 1024)

#if defined(__x86_64__) || defined(__aarch64__)

struct target {
	struct trace_evidence *trace;
	pid_t thread;
	struct user_regs_struct before;
	uint64_t instruction; /* that makes a system call */
	int signal;           /* that came and is to be delivered */
};

/* ---- the registers; those of 32-bit programs are refused with ENOEXEC ---- */

#if defined(__x86_64__)
/* The instruction that makes a system call. */
static const unsigned char instruction[] = {0x0f, 0x05};

static int registers_get(pid_t thread, struct user_regs_struct *registers)
{
	if (ptrace(PTRACE_GETREGS, thread, NULL, registers) < 0)
		return -1;
	if (registers->cs != 0x23)
		return 0;
	errno = ENOEXEC;
	return -1;
}

static int registers_set(pid_t thread, struct user_regs_struct *registers)
{
	return (int)ptrace(PTRACE_SETREGS, thread, NULL, registers);
}

static void registers_call(
	struct user_regs_struct *registers, long number, const uint64_t arguments[6])
{
	struct user_regs_struct *r = registers;
	unsigned long long *const places[] = {&r->rdi, &r->rsi, &r->rdx, &r->r10, &r->r8, &r->r9};

	r->rax = (unsigned long long)number;
	r->orig_rax = (unsigned long long)-1; /* no system call is restarted */
	for (int i = 0; i < 6; i++)
		*places[i] = arguments[i];
}

#define INSTRUCTION_POINTER rip
#define STACK_POINTER rsp
#define RESULT rax

static uint64_t registers_number(const struct user_regs_struct *registers)
{
	return registers->orig_rax;
}

static uint64_t registers_argument(const struct user_regs_struct *registers)
{
	return registers->rdi;
}
#else
static const unsigned char instruction[] = {0x01, 0x00, 0x00, 0xd4};

static int registers_get(pid_t thread, struct user_regs_struct *registers)
{
	struct iovec whole = {registers, sizeof(*registers)};

	if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &whole) < 0)
		return -1;
	if (whole.iov_len == sizeof(*registers))
		return 0;
	errno = ENOEXEC;
	return -1;
}

static int registers_set(pid_t thread, struct user_regs_struct *registers)
{
	struct iovec whole = {registers, sizeof(*registers)};

	return (int)ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &whole);
}

static void registers_call(
	struct user_regs_struct *registers, long number, const uint64_t arguments[6])
{
	registers->regs[8] = (unsigned long long)number;
	for (int i = 0; i < 6; i++)
		registers->regs[i] = arguments[i];
}

#define INSTRUCTION_POINTER pc
#define STACK_POINTER sp
#define RESULT regs[0]

static uint64_t registers_number(const struct user_regs_struct *registers)
{
	return registers->regs[8];
}

static uint64_t registers_argument(const struct user_regs_struct *registers)
{
	return registers->regs[0];
}
#endif

/* ---- system calls in the program's name ---- */

/*
 * Lets the thread go on to its next stop at a system call. False if it ended instead: its end is
 * left for the caller's own wait. Other stops are those of a filter and of SIGSTOP, which cannot be
 * blocked.
 */
static bool go_on(struct target *target)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, target->thread, NULL, NULL) < 0)
			return false;
		do {
			info.si_pid = 0;
			status = waitid(P_PID, (id_t)target->thread, &info,
				WEXITED | WSTOPPED | WNOWAIT | __WALL);
		} while (status < 0 && errno == EINTR);
		/* The thread is stopped also where waitid(2) is refused. */
		if (status == 0 && info.si_code != CLD_TRAPPED)
			return false;
		if (waitpid(target->thread, &status, __WALL) < 0 || !WIFSTOPPED(status))
			return false;
		if (WSTOPSIG(status) == SYSCALL_STOP)
			return true;
		if (status >> 16 == 0)
			target->signal = WSTOPSIG(status);
	}
}

/* Makes the system call in the program's name. Returns its result, or a negative errno value. */
static int64_t call(struct target *target, const char *name, const uint64_t arguments[6])
{
	struct user_regs_struct registers = target->before;
	struct trace_evidence *trace = target->trace;
	const struct trace_plan *plan = trace->plan;
	const struct trace_call *planned = trace_plan_call(plan, name);
	int number = seccomp_syscall_resolve_name_arch(plan->arch[TRACE_NATIVE], name);

	if (trace->method == TRACE_BY_TRACEPOINTS && planned)
		trace->counts[TRACE_NATIVE][planned->row]--; /* before its own count is added */
	registers.INSTRUCTION_POINTER = target->instruction;
	registers_call(&registers, number, arguments);
	if (registers_set(target->thread, &registers) < 0 || !go_on(target) || !go_on(target) ||
		registers_get(target->thread, &registers) < 0)
		return -ESRCH;
	return (int64_t)registers.RESULT;
}

#define CALL(target, name, ...) call(target, name, (const uint64_t[6]){__VA_ARGS__})

static bool memory_read(pid_t pid, uint64_t from, void *to, size_t length)
{
	struct iovec here = {to, length}, there = {(void *)(uintptr_t)from, length};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)length;
}

static bool memory_write(pid_t pid, uint64_t to, const void *from, size_t length)
{
	struct iovec here = {(void *)(uintptr_t)from, length},
		     there = {(void *)(uintptr_t)to, length};

	return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)length;
}

/*
 * Finds the entry of the vDSO in the auxiliary vector, and its value. 0 or an errno value. The
 * stack has the number of the arguments, the arguments, a zero, the environment, a zero and the
 * vector.
 */
static int find_vdso(const struct target *target, uint64_t *place, uint64_t *vdso)
{
	const size_t size = sizeof(uint64_t);
	const uint64_t from = target->before.STACK_POINTER;
	unsigned char *stack = xmalloc(STACK_SIZE);
	struct iovec here = {stack, STACK_SIZE}, there = {(void *)(uintptr_t)from, STACK_SIZE};
	ssize_t read = process_vm_readv(target->thread, &here, 1, &there, 1, 0);
	size_t length = read > 0 ? (size_t)read : 0;
	uint64_t at = (memory_number(stack, length, 0, size) + 2) * size, type;
	int error = ENOENT;

	while (memory_number(stack, length, at, size))
		at += size;
	for (at += size; (type = memory_number(stack, length, at, size)); at += 2 * size) {
		uint64_t value = memory_number(stack, length, at + size, size);

		/* A program that gains privileges must run as without us. */
		if (type == AT_SECURE && value) {
			error = ECANCELED;
			break;
		}
		if (type == AT_SYSINFO_EHDR && value) {
			*place = from + at + size;
			*vdso = value;
			error = 0;
		}
	}
	free(stack);
	return !length ? EFAULT : at < length ? error : E2BIG;
}

/*
 * Maps the table into the program. Returns its address there, or a negative errno value. The name
 * of the file stands where the number of arguments does meanwhile: below, the stack may not be
 * mapped.
 */
static int64_t map_table(struct target *target, int *table)
{
	static const char name[] = "vdsocheck";
	const uint64_t at = target->before.STACK_POINTER;
	char path[64], before[sizeof(name)];
	int64_t file, result;

	if (!memory_read(target->thread, at, before, sizeof(before)) ||
		!memory_write(target->thread, at, name, sizeof(name)))
		return -errno;
	file = CALL(target, "memfd_create", at, MFD_CLOEXEC);
	memory_write(target->thread, at, before, sizeof(before));
	if (file < 0)
		return file;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", target->thread, (int)file);
	*table = open(path, O_RDWR | O_CLOEXEC);
	if (*table >= 0 && ftruncate(*table, SERVED_TABLE_SIZE) == 0)
		result = CALL(target, "mmap", 0, SERVED_TABLE_SIZE, PROT_READ | PROT_WRITE,
			MAP_SHARED, (uint64_t)file, 0);
	else
		result = -errno;
	CALL(target, "close", (uint64_t)file);
	return result;
}

/* Maps the copy, writes it, and then makes it executable instead. 0 or an errno value. */
static int map_copy(struct target *target, struct served_copy *copy, uint64_t place)
{
	int64_t to = CALL(target, "mmap", 0, copy->size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0);
	int64_t result;

	if (to < 0)
		return (int)-to;
	copy->to = (uint64_t)to;
	if (!served_copy_make(copy))
		return ENOEXEC;
	if (!memory_write(target->thread, copy->to, copy->image, copy->size))
		return errno;
	result = CALL(target, "mprotect", copy->to, copy->size, PROT_READ | PROT_EXEC);
	if (result < 0)
		return (int)-result;
	if (target->trace->is_baseline)
		return 0;
	return memory_write(target->thread, place, &copy->to, sizeof(copy->to)) ? 0 : errno;
}

/* Reads the image, and maps the table and the copy. 0 or an errno value. */
static int give_copy(struct target *target, struct served_copy *copy, int *table)
{
	const unsigned char *found = NULL;
	uint64_t place = 0;
	int64_t address;
	int error = find_vdso(target, &place, &copy->from);

	if (error)
		return error;
	if (!memory_read(target->thread, copy->from, copy->image, SERVED_PAGE))
		return ENOEXEC;
	copy->length = served_image_length(copy->image, SERVED_PAGE);
	copy->size = served_copy_size(copy->length);
	if (copy->size <= SERVED_IMAGE_MAX &&
		memory_read(target->thread, copy->from, copy->image, copy->length))
		found = memmem(copy->image, copy->length, instruction, sizeof(instruction));
	if (!found)
		return ENOEXEC;
	target->instruction = copy->from + (uint64_t)(found - copy->image);
	address = map_table(target, table);
	if (address < 0)
		return (int)-address;
	copy->table = (uint64_t)address;
	error = map_copy(target, copy, place);
	if (error && copy->to)
		CALL(target, "munmap", copy->to, copy->size);
	if (error)
		CALL(target, "munmap", copy->table, SERVED_TABLE_SIZE);
	return error;
}

int served_inject(struct trace_evidence *trace, pid_t thread, int *signal, struct fact *why)
{
	struct target target = {.trace = trace, .thread = thread};
	struct served_copy copy = {.as_if_fallback = trace->as_if_fallback};
	int table = -1, error;
	sigset_t all, before;

	sigfillset(&all);
	if (registers_get(thread, &target.before) < 0 ||
		ptrace(PTRACE_GETSIGMASK, thread, (void *)8, &before) < 0 ||
		ptrace(PTRACE_SETSIGMASK, thread, (void *)8, &all) < 0) {
		if (errno == ENOEXEC)
			fact_set(why, FACT_ABSENT, "a 32-bit program");
		else
			fact_set_errno(why, errno, "ptrace");
		return -1;
	}
	copy.image = xcalloc(1, SERVED_IMAGE_MAX);
	error = give_copy(&target, &copy, &table);
	free(copy.image);
	*signal = target.signal;
	if (registers_set(thread, &target.before) < 0 ||
		ptrace(PTRACE_SETSIGMASK, thread, (void *)8, &before) < 0)
		*signal = -errno;
	if (!error)
		return table;
	if (table >= 0)
		close(table);
	if (error == ENOENT)
		fact_set(why, FACT_ABSENT, "the program has no vDSO");
	else if (error == ECANCELED)
		fact_set(why, FACT_DENIED, "it runs with privileges that its caller lacks");
	else
		fact_set_errno(why, error, "mapping a copy of the vDSO");
	return -1;
}

size_t served_system_call(const struct trace_plan *plan, pid_t thread)
{
	struct user_regs_struct registers;

	if (registers_get(thread, &registers) < 0)
		return TRACE_ROW_MAX;
	return trace_plan_find(plan, plan->arch[TRACE_NATIVE], registers_number(&registers),
		registers_argument(&registers));
}
#else
int served_inject(struct trace_evidence *trace, pid_t thread, int *signal, struct fact *why)
{
	(void)trace;
	(void)thread;
	(void)signal;
	fact_set(why, FACT_ABSENT, "reads of the clock are counted on x86-64 and arm64 only");
	return -1;
}

size_t served_system_call(const struct trace_plan *plan, pid_t thread)
{
	(void)plan;
	(void)thread;
	return TRACE_ROW_MAX;
}
#endif

/*
 * Loaders set up the first thread when they have mapped the libraries, before they bind them. On
 * arm64 glibc does so from 2.34 on; before, it protects what it has relocated. A program without a
 * C library sets up its signals.
 */
bool served_is_loaded(pid_t thread)
{
#if defined(__x86_64__)
	struct user_regs_struct registers;

	if (registers_get(thread, &registers) < 0)
		return true;
	return (registers.orig_rax == SYS_arch_prctl && registers.rdi == ARCH_SET_FS) ||
	       registers.orig_rax == SYS_set_tid_address;
#elif defined(__aarch64__)
	struct user_regs_struct registers;

	return registers_get(thread, &registers) < 0 || registers.regs[8] == SYS_set_tid_address ||
	       (registers.regs[8] == SYS_mprotect && registers.regs[2] == PROT_READ) ||
	       registers.regs[8] == SYS_rt_sigaction;
#else
	(void)thread;
	return true;
#endif
}
