/* SPDX-License-Identifier: MIT */
/*
 * Makes a program count its calls into the vDSO, at the end of its execve(2): system calls are made
 * in its name, by an instruction of its vDSO, to map the table and the stubs, and the symbols of
 * its vDSO lead to them. The vDSO is a private mapping that a tracer may write
 * to, as debuggers do for breakpoints: the change is this process's own, fork(2) inherits it and
 * execve(2) drops it. Nothing else of the program's memory is written. Signals are blocked until it
 * goes on, and its registers are as they were.
 */
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
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "files.h"
#include "inject.h"

/* ---- system calls in the program's name ---- */

/*
 * If it ended, that is left for the caller's own wait. Other stops are those of a filter and of
 * SIGSTOP, which cannot be blocked: the process is stopped at once, but for this thread, so that
 * SIGCONT finds it so.
 */
bool inject_go_on(struct target *target)
{
	siginfo_t info;
	int status, signal = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, target->thread, NULL, (void *)(uintptr_t)signal) < 0)
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
		signal = status >> 16 ? 0 : WSTOPSIG(status);
		target->was_stopped |= status >> 16 == PTRACE_EVENT_STOP;
	}
}

/* Makes the system call in the program's name. Returns its result, or a negative errno value. */
static int64_t call(struct target *target, const char *name, const uint64_t arguments[6])
{
	struct registers registers = target->before;
	int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, name);

	registers_call(&registers, target->instruction, number, arguments);
	if (registers_set(target->thread, &registers) != 0 || !inject_go_on(target) ||
		!inject_go_on(target) || registers_get(target->thread, &registers) != 0)
		return -ESRCH;
	return registers_result(&registers);
}
#define CALL(target, name, ...) call(target, name, (const uint64_t[6]){__VA_ARGS__})

int inject_block(struct target *target)
{
	sigset_t all;

	sigfillset(&all);
	return ptrace(PTRACE_GETSIGMASK, target->thread, (void *)8, &target->mask) < 0 ||
	                       ptrace(PTRACE_SETSIGMASK, target->thread, (void *)8, &all) < 0
	               ? errno
	               : 0;
}

/* A second try is for a refusal that passes: without its registers the program must not go on. */
int inject_restore(const struct target *target)
{
	int error = 0;

	for (int tries = 0; tries < 2; tries++) {
		error = registers_set(target->thread, &target->before);
		if (!error &&
			ptrace(PTRACE_SETSIGMASK, target->thread, (void *)8, &target->mask) == 0)
			return 0;
	}
	return error ? error : errno;
}

/* ---- the vDSO ---- */

/* Finds the vDSO. 0 or an errno value: ECANCELED of a program that gains privileges. */
static int find_vdso(struct target *target)
{
	struct span vector;
	uint64_t pair[2];
	int error;

	errno = EACCES;
	vector = proc_read(target->thread, "auxv", SERVED_PAGE);
	error = vector.length ? ENOENT : errno;

	for (size_t at = 0; at + sizeof(pair) <= vector.length; at += sizeof(pair)) {
		memcpy(pair, vector.at + at, sizeof(pair));
		if (pair[0] == AT_SECURE && pair[1])
			error = ECANCELED;
		if (pair[0] == AT_SYSINFO_EHDR && pair[1] && error == ENOENT) {
			target->vdso = pair[1];
			error = 0;
		}
	}
	span_free(vector);
	return error;
}

/*
 * A kernel may lack process_vm_readv(2), and a filter refuse it; it reads up to the end of what is
 * mapped there.
 */
int inject_read_vdso(struct target *target)
{
	struct iovec here = {target->image, SERVED_IMAGE_MAX}, there = here;
	const unsigned char *found = NULL;
	int error = find_vdso(target);
	ssize_t size;
	size_t length;

	if (error)
		return error;
	there.iov_base = (void *)(uintptr_t)target->vdso;
	size = process_vm_readv(target->thread, &here, 1, &there, 1, 0);
	if (size < 0)
		return errno;
	length = served_image_length(target->image, (size_t)size);
	if (length && length <= (size_t)size)
		found = registers_find_instruction(target->image, length);
	if (!found)
		return ENODATA;
	target->instruction = target->vdso + (uint64_t)(found - target->image);
	target->size = (size_t)size;
	return 0;
}

/* ---- the stubs ---- */

/* A hardened kernel lets a tracer write by ptrace(2) alone (PROC_MEM_NO_FORCE since Linux 6.12). */
bool inject_write(pid_t thread, uint64_t to, const void *bytes, size_t length)
{
	ssize_t written;
	char path[32];
	long word;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/mem", thread);
	file = open(path, O_WRONLY | O_CLOEXEC);
	written = pwrite(file, bytes, length, (off_t)to);
	if (file >= 0)
		close(file);
	for (size_t at = 0; written != (ssize_t)length && at < length; at += sizeof(word)) {
		memcpy(&word, (const char *)bytes + at, sizeof(word));
		if (ptrace(PTRACE_POKEDATA, thread, (void *)(uintptr_t)(to + at), (void *)word) < 0)
			return false;
	}
	return true;
}

/*
 * The file and the stubs behind it lie this far below the vDSO, where programs have nothing:
 * without random addresses, the libraries lie as they would without us. Where that is taken the
 * kernel finds another place. No page is ever writable and executable, nor becomes executable: some
 * forbid that.
 */
#define BELOW (UINT64_C(1) << 36)
#define FILE_SIZE SERVED_FILE_SIZE
#define NAME_AT (SERVED_STUBS_SIZE - SERVED_STUB_SIZE) /* of the stubs, where none is yet */

/* Maps the file over what is at this address; its name stands there before. 0 or an errno value. */
static int map_file(struct target *target, uint64_t at, int *file)
{
	static const char name[16] = "vdsocheck";
	char path[64];
	int64_t its, result;

	if (!inject_write(target->thread, at + FILE_SIZE + NAME_AT, name, sizeof(name)))
		return errno;
	its = CALL(target, "memfd_create", at + FILE_SIZE + NAME_AT, MFD_CLOEXEC);
	if (its < 0)
		return (int)-its;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", target->thread, (int)its);
	*file = open(path, O_RDWR | O_CLOEXEC);
	if (*file >= 0 && ftruncate(*file, (off_t)FILE_SIZE) == 0)
		result = CALL(target, "mmap", at, FILE_SIZE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, (uint64_t)its, 0);
	else
		result = -errno;
	CALL(target, "close", (uint64_t)its);
	return result < 0 ? (int)-result : 0;
}

int inject_counters(
	struct target *target, uint64_t left, size_t room, struct served_words *words, int *file)
{
	static unsigned char code[SERVED_STUBS_SIZE];
	struct served_stubs stubs = {.code = code, .as_if_fallback = target->as_if_fallback};
	unsigned char *image = target->image, *changed = image + SERVED_IMAGE_MAX;
	const uint64_t size = FILE_SIZE + SERVED_STUBS_SIZE;
	int64_t place = (int64_t)(left - FILE_SIZE);
	int error;

	if (!left)
		place = CALL(target, "mmap", target->vdso - BELOW, size, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0);
	if (place < 0)
		return (int)-place;
	stubs.file = (uint64_t)place;
	stubs.to = stubs.file + FILE_SIZE;
	memset(code, 0, sizeof(code));
	memcpy(changed, image, target->size);
	served_stubs_make(&stubs, changed, target->size, target->vdso, room, words);
	error = map_file(target, stubs.file, file);
	if (!error && !inject_write(target->thread, stubs.to, code, sizeof(code)))
		error = errno;
	if (!error && room && !inject_write(target->thread, target->vdso, changed, target->size)) {
		error = errno;
		(void)inject_write(target->thread, target->vdso, image, target->size);
	}
	if (error && !left)
		CALL(target, "munmap", stubs.file, size);
	return error;
}

void inject_explain(int error, struct fact *why)
{
	static const struct {
		int error;
		enum fact_state state;
		const char *reason;
	} reasons[] = {
		{ENOENT, FACT_ABSENT, "the program has no vDSO"},
		{ECANCELED, FACT_DENIED, "it runs with privileges that its caller lacks"},
		{ENODATA, FACT_ABSENT, "its vDSO is not understood"},
		{ENOSPC, FACT_ABSENT, "its vDSO has no room for jumps to the counters"},
		{ENOTSUP, FACT_ABSENT, "reads of the clock are counted on x86-64 and arm64 only"},
		{ENOEXEC, FACT_ABSENT, "a 32-bit program"},
		{ENOSYS, FACT_ABSENT, "the kernel lacks process_vm_readv(2) or memfd_create(2)"},
		{EBUSY, FACT_DENIED, "it is stopped: continue it first (kill -CONT)"},
		{ETIMEDOUT, FACT_LATE, "it did not stop within two seconds"},
	};

	fact_set_errno(why, error, "mapping the counters");
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].error == error)
			fact_set(why, reasons[i].state, "%s", reasons[i].reason);
	}
}

struct target inject_target(pid_t thread)
{
	return (struct target){.thread = thread, .image = xcalloc(2, SERVED_IMAGE_MAX)};
}

/* Maps the counters, and leads the symbols to them. 0 or an errno value. */
static int inject(struct target *target, int *file)
{
	struct served_words words;
	int error = inject_read_vdso(target);
	size_t room;

	if (error)
		return error;
	room = served_find_room(target->image, target->size);
	target->size = room + SERVED_ROOM;
	return room ? inject_counters(target, 0, room, &words, file) : ENOSPC;
}

int served_inject(pid_t thread, bool as_if_fallback, int *file, struct fact *why)
{
	struct target target = inject_target(thread);
	int error = registers_get(thread, &target.before), left = 0;

	target.as_if_fallback = as_if_fallback;
	if (!error)
		error = inject_block(&target);
	if (!error) {
		error = inject(&target, file);
		/* It takes part in the stop of its process, unless that was continued by now. */
		if (target.was_stopped)
			ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
		left = inject_restore(&target);
	}
	free(target.image);
	/* A thread that is killed stops once more at its end, where it has registers. */
	if (left && left != ESRCH)
		syscall(SYS_tgkill, thread, thread, SIGKILL);
	if (error != ESRCH && left)
		error = left;
	if (error)
		inject_explain(error, why);
	if (error && *file >= 0)
		close(*file);
	return error;
}
