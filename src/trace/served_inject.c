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

#define SYSCALL_STOP (SIGTRAP | 0x80)
#define PAGE SERVED_PAGE
#define IMAGE_MAX (64 * PAGE)

#if defined(__x86_64__) || defined(__aarch64__)

struct target {
	struct trace_evidence *trace;
	pid_t thread;
	struct user_regs_struct before;
	bool compat;
	uint64_t instruction; /* that makes a system call */
	int signal;           /* that came and is to be delivered */
};

/* The numbers of the calls that are made, for programs of both word sizes. */
struct numbers {
	long memfd_create, mmap, mprotect, munmap, close;
};

static const struct numbers native_numbers = {
	SYS_memfd_create, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_close};

#if defined(__x86_64__)
/* i386: memfd_create, mmap2, mprotect, munmap, close. */
static const struct numbers compat_numbers = {356, 192, 125, 91, 6};
static const unsigned char native_instruction[] = {0x0f, 0x05};
static const unsigned char compat_instruction[] = {0xcd, 0x80};
#else
static const struct numbers compat_numbers;
static const unsigned char native_instruction[] = {0x01, 0x00, 0x00, 0xd4};
static const unsigned char compat_instruction[1];
#endif

#if defined(__x86_64__)
static int registers_get(pid_t thread, struct user_regs_struct *registers)
{
	return (int)ptrace(PTRACE_GETREGS, thread, NULL, registers);
}

static int registers_set(pid_t thread, struct user_regs_struct *registers)
{
	return (int)ptrace(PTRACE_SETREGS, thread, NULL, registers);
}

static void registers_call(struct user_regs_struct *registers, const struct target *target,
	long number, const uint64_t arguments[6])
{
	registers->rip = target->instruction;
	registers->rax = (unsigned long long)number;
	/* No system call is restarted. */
	registers->orig_rax = (unsigned long long)-1;
	if (target->compat) {
		registers->rbx = arguments[0];
		registers->rcx = arguments[1];
		registers->rdx = arguments[2];
		registers->rsi = arguments[3];
		registers->rdi = arguments[4];
		registers->rbp = arguments[5];
		return;
	}
	registers->rdi = arguments[0];
	registers->rsi = arguments[1];
	registers->rdx = arguments[2];
	registers->r10 = arguments[3];
	registers->r8 = arguments[4];
	registers->r9 = arguments[5];
}

static int64_t registers_result(const struct user_regs_struct *registers, bool compat)
{
	uint64_t value = registers->rax;

	/* A 32-bit address may have its highest bit set: only errors are negative. */
	if (!compat)
		return (int64_t)value;
	value = (uint32_t)value;
	return value > UINT32_MAX - 4095 ? (int32_t)value : (int64_t)value;
}

static uint64_t registers_stack(const struct user_regs_struct *registers)
{
	return registers->rsp;
}

static bool is_compat(const struct user_regs_struct *registers)
{
	return registers->cs == 0x23;
}
#else
static int registers_get(pid_t thread, struct user_regs_struct *registers)
{
	struct iovec whole = {registers, sizeof(*registers)};

	if (ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &whole) < 0)
		return -1;
	if (whole.iov_len == sizeof(*registers))
		return 0;
	errno = ENOEXEC; /* a 32-bit program */
	return -1;
}

static int registers_set(pid_t thread, struct user_regs_struct *registers)
{
	struct iovec whole = {registers, sizeof(*registers)};

	return (int)ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &whole);
}

static void registers_call(struct user_regs_struct *registers, const struct target *target,
	long number, const uint64_t arguments[6])
{
	registers->pc = target->instruction;
	registers->regs[8] = (unsigned long long)number;
	for (int i = 0; i < 6; i++)
		registers->regs[i] = arguments[i];
}

static int64_t registers_result(const struct user_regs_struct *registers, bool compat)
{
	(void)compat;
	return (int64_t)registers->regs[0];
}

static uint64_t registers_stack(const struct user_regs_struct *registers)
{
	return registers->sp;
}

static bool is_compat(const struct user_regs_struct *registers)
{
	(void)registers;
	return false;
}
#endif

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
		/* Where it is refused the thread is stopped all the same. */
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

/* Makes the system call in the program's name: its result, or a negative errno value. */
static int64_t call(struct target *target, long number, const uint64_t arguments[6])
{
	struct user_regs_struct registers = target->before;
	struct trace_evidence *trace = target->trace;
	const struct trace_plan *plan = trace->plan;
	size_t row = trace_plan_find(plan, plan->arch[TRACE_NATIVE], (uint64_t)number, 0);

	if (trace->method == TRACE_BY_TRACEPOINTS && !target->compat && row < TRACE_ROW_MAX)
		trace->counts[TRACE_NATIVE][row]--; /* before its own count is added */
	registers_call(&registers, target, number, arguments);
	if (registers_set(target->thread, &registers) < 0 || !go_on(target) || !go_on(target) ||
		registers_get(target->thread, &registers) < 0)
		return -ESRCH;
	return registers_result(&registers, target->compat);
}

#define CALL(target, number, ...) call(target, number, (const uint64_t[6]){__VA_ARGS__})

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

/* Reads words off the program's stack, a page at a time. */
struct words {
	pid_t pid;
	size_t size;         /* of a word */
	uint64_t at;         /* address of the next */
	uint64_t start, end; /* of what is in `page` */
	unsigned char page[PAGE];
};

static bool words_next(struct words *words, uint64_t *value)
{
	uint32_t narrow;

	if (words->at < words->start || words->at + words->size > words->end) {
		size_t length = PAGE - words->at % PAGE;

		if (!memory_read(words->pid, words->at, words->page, length))
			return false;
		words->start = words->at;
		words->end = words->at + length;
	}
	memcpy(&narrow, words->page + (words->at - words->start), sizeof(narrow));
	*value = narrow;
	if (words->size == sizeof(*value))
		memcpy(value, words->page + (words->at - words->start), sizeof(*value));
	words->at += words->size;
	return true;
}

/* Finds the entry of the vDSO in the auxiliary vector, and its value. 0 or an errno value. */
static int find_vdso(struct target *target, uint64_t *place, uint64_t *vdso)
{
	struct words words = {.pid = target->thread,
		.size = target->compat ? 4 : 8,
		.at = registers_stack(&target->before)};
	uint64_t count, type, value;

	*vdso = 0;
	if (!words_next(&words, &count))
		return EFAULT;
	words.at += (count + 1) * words.size; /* the arguments and their end */
	do {
		if (!words_next(&words, &value))
			return EFAULT;
	} while (value);
	for (;;) {
		if (!words_next(&words, &type) || !words_next(&words, &value))
			return EFAULT;
		if (type == AT_NULL)
			return *vdso ? 0 : ENOENT;
		/* Its privileges are not those of its caller: it must run as without us. */
		if (type == AT_SECURE && value)
			return ECANCELED;
		if (type == AT_SYSINFO_EHDR) {
			*place = words.at - words.size;
			*vdso = value;
		}
	}
}

static bool find_instruction(
	struct target *target, const unsigned char *image, size_t length, uint64_t vdso)
{
	const unsigned char *bytes = target->compat ? compat_instruction : native_instruction;
	size_t size = target->compat ? sizeof(compat_instruction) : sizeof(native_instruction);
	const unsigned char *found = memmem(image, length, bytes, size);

	target->instruction = found ? vdso + (uint64_t)(found - image) : 0;
	return found;
}

/* Maps the table into the program. Its address there, or a negative errno value. */
static int64_t map_table(struct target *target, const struct numbers *numbers, int *table)
{
	static const char name[] = "vdsocheck";
	uint64_t below = (registers_stack(&target->before) - 1024) & ~(uint64_t)15;
	char path[64];
	int64_t file, result;

	if (!memory_write(target->thread, below, name, sizeof(name)))
		return -errno;
	file = CALL(target, numbers->memfd_create, below, MFD_CLOEXEC);
	if (file < 0)
		return file;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", target->thread, (int)file);
	*table = open(path, O_RDWR | O_CLOEXEC);
	if (*table >= 0 && ftruncate(*table, SERVED_TABLE_SIZE) == 0)
		result = CALL(target, numbers->mmap, 0, SERVED_TABLE_SIZE, PROT_READ | PROT_WRITE,
			MAP_SHARED, (uint64_t)file, 0);
	else
		result = -errno;
	CALL(target, numbers->close, (uint64_t)file);
	return result;
}

/* Maps the copy and makes it executable; then it cannot be written to. 0 or an errno value. */
static int map_copy(struct target *target, const struct numbers *numbers, struct served_copy *copy,
	uint64_t place)
{
	int64_t to = CALL(target, numbers->mmap, 0, copy->size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0);
	int64_t result;

	if (to < 0)
		return (int)-to;
	copy->to = (uint64_t)to;
	if (!served_copy_make(copy))
		return ENOEXEC;
	if (!memory_write(target->thread, copy->to, copy->image, copy->size))
		return errno;
	result = CALL(target, numbers->mprotect, copy->to, copy->size, PROT_READ | PROT_EXEC);
	if (result < 0)
		return (int)-result;
	return memory_write(target->thread, place, &copy->to, target->compat ? 4 : 8) ? 0 : errno;
}

/* Reads the image, and maps the table and the copy. 0 or an errno value. */
static int give_copy(struct target *target, int *table)
{
	const struct numbers *numbers = target->compat ? &compat_numbers : &native_numbers;
	unsigned char *image = xcalloc(1, IMAGE_MAX + PAGE);
	struct served_copy copy = {.image = image, .as_if_fallback = target->trace->as_if_fallback};
	uint64_t place = 0;
	int64_t result;
	int error = find_vdso(target, &place, &copy.from);

	if (error)
		goto out;
	error = ENOEXEC;
	if (!memory_read(target->thread, copy.from, image, PAGE))
		goto out;
	copy.length = served_image_length(image, PAGE);
	copy.size = served_copy_size(copy.length);
	if (copy.length == 0 || copy.size > IMAGE_MAX ||
		!memory_read(target->thread, copy.from, image, copy.length) ||
		!find_instruction(target, image, copy.length, copy.from))
		goto out;
	result = map_table(target, numbers, table);
	error = (int)-result;
	if (result < 0)
		goto out;
	copy.table = (uint64_t)result;
	error = map_copy(target, numbers, &copy, place);
	if (error && copy.to)
		CALL(target, numbers->munmap, copy.to, copy.size);
	if (error)
		CALL(target, numbers->munmap, copy.table, SERVED_TABLE_SIZE);
out:
	free(image);
	return error;
}

int served_inject(struct trace_evidence *trace, pid_t thread, int *signal, struct fact *why)
{
	struct target target = {.trace = trace, .thread = thread};
	int table = -1, error = 0;
	sigset_t all, before;

	*signal = 0;
	sigfillset(&all);
	if (registers_get(thread, &target.before) < 0 ||
		ptrace(PTRACE_GETSIGMASK, thread, (void *)8, &before) < 0 ||
		ptrace(PTRACE_SETSIGMASK, thread, (void *)8, &all) < 0) {
		fact_set_errno(why, errno, "ptrace");
		return -1;
	}
	target.compat = is_compat(&target.before);
	error = give_copy(&target, &table);
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
#else
int served_inject(struct trace_evidence *trace, pid_t thread, int *signal, struct fact *why)
{
	(void)trace;
	(void)thread;
	*signal = 0;
	fact_set(why, FACT_ABSENT, "reads of the clock are counted on x86-64 and arm64 only");
	return -1;
}
#endif

/* ---- the registers at a stop ---- */

#if defined(__x86_64__)
size_t served_system_call(const struct trace_plan *plan, pid_t thread)
{
	struct user_regs_struct registers;
	bool compat;

	if (registers_get(thread, &registers) < 0)
		return TRACE_ROW_MAX;
	compat = is_compat(&registers);
	return trace_plan_find(plan, plan->arch[compat ? TRACE_COMPAT : TRACE_NATIVE],
		registers.orig_rax, compat ? registers.rbx : registers.rdi);
}
#elif defined(__aarch64__)
size_t served_system_call(const struct trace_plan *plan, pid_t thread)
{
	struct user_regs_struct registers;

	if (registers_get(thread, &registers) < 0)
		return TRACE_ROW_MAX;
	return trace_plan_find(
		plan, plan->arch[TRACE_NATIVE], registers.regs[8], registers.regs[0]);
}
#else
size_t served_system_call(const struct trace_plan *plan, pid_t thread)
{
	(void)plan;
	(void)thread;
	return TRACE_ROW_MAX;
}
#endif

/* ---- the loading of libraries ---- */

#if defined(__x86_64__)
bool served_can_learn(pid_t thread)
{
	struct user_regs_struct registers;

	return registers_get(thread, &registers) == 0 && !is_compat(&registers);
}

/* Loaders set up the first thread when they have mapped the libraries, before they bind them. */
bool served_is_loaded(pid_t thread)
{
	struct user_regs_struct registers;

	return registers_get(thread, &registers) < 0 ||
	       (registers.orig_rax == SYS_arch_prctl && registers.rdi == ARCH_SET_FS) ||
	       registers.orig_rax == SYS_set_tid_address;
}
#else
bool served_can_learn(pid_t thread)
{
	(void)thread;
	return false;
}

bool served_is_loaded(pid_t thread)
{
	(void)thread;
	return true;
}
#endif
