/* SPDX-License-Identifier: MIT */
/*
 * Maps the table and the stubs into a process that runs. One of its threads is stopped for about a
 * millisecond, outside of any system call: a call that the stop interrupts begins anew, as after
 * any stop, and is then kept back at its entry until the thread goes on. So no call of ours comes
 * between a call and its restart, and the signal mask is that of the thread, not of the call.
 *
 * A child does it, in a session of its own and with all signals blocked: from the first change on
 * it comes to its end also if we are killed, and if it is killed itself the process must not go on
 * with registers that are not its own. It shares our descriptors, of which the table becomes one.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/text.h"
#include "files.h"
#include "inject.h"

/* The name differs from ours, so that "killall vdsocheck" leaves the child alone. */
#define NAME "clock-counter"

/* A thread that does not stop by then, such as one that waits for a vfork(2), is left alone. */
#define STOP_NS (2 * (int64_t)NS_PER_SECOND)
#define LOOK_NS 200000

struct attachment {
	int file;
	struct served_words words;
	struct fact why;
};

/* ---- the stop ---- */

/* The first one may have ended. */
pid_t served_find_thread(pid_t process)
{
	struct dirent *entry;
	uint64_t id, found = 0;
	char path[32];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", process);
	threads = opendir(path);
	while (threads && !found && (entry = readdir(threads))) {
		struct span status, state = {NULL, 0};

		if (!number_parse(text_span(entry->d_name), &id))
			continue;
		status = proc_read((pid_t)id, "status", STATUS_SIZE);
		if (text_find_value(status, "State", &state) && !text_starts(state, "Z") &&
			!text_starts(state, "X") && !text_starts(state, "D"))
			found = id;
		span_free(status);
	}
	if (threads)
		closedir(threads);
	return (pid_t)found;
}

/*
 * Lets signals through until the thread stops for us, or at a system call: what follows a call that
 * is not made again may make none for long. 0 or an errno value.
 */
static int await_stop(pid_t thread, bool at_call, struct deadline *deadline, int *status)
{
	const struct timespec pause = timespec_of(LOOK_NS);
	pid_t id;

	for (;;) {
		id = waitpid(thread, status, __WALL | WNOHANG);
		if (id == 0 && deadline_left_ns(deadline))
			nanosleep(&pause, NULL);
		else if (id <= 0 || !WIFSTOPPED(*status))
			return id == 0 ? ETIMEDOUT : ESRCH;
		else if (at_call ? WSTOPSIG(*status) == SYSCALL_STOP
				 : *status >> 16 == PTRACE_EVENT_STOP)
			return 0;
		else
			ptrace(at_call ? PTRACE_SYSCALL : PTRACE_CONT, thread, NULL,
				(void *)(uintptr_t)(*status >> 16 ? 0 : WSTOPSIG(*status)));
	}
}

/*
 * Stops the thread at its entry to the system call that it is in, or anywhere if it is in none. 0
 * or an errno value: EBUSY of a process that is stopped.
 */
static int stop(struct target *target, bool *is_at_call)
{
	const uintptr_t options = PTRACE_O_TRACESYSGOOD;
	struct deadline deadline = deadline_after(STOP_NS);
	int status, error;

	if (ptrace(PTRACE_SEIZE, target->thread, NULL, (void *)options) < 0 ||
		ptrace(PTRACE_INTERRUPT, target->thread, NULL, NULL) < 0)
		return errno;
	error = await_stop(target->thread, false, &deadline, &status);
	if (error)
		return error;
	if (WSTOPSIG(status) != SIGTRAP)
		return EBUSY;
	registers_restart_call(target->thread);
	error = registers_get(target->thread, &target->before);
	*is_at_call = !error && registers_show_call(target->thread, &target->before);
	if (!*is_at_call)
		return error;
	if (ptrace(PTRACE_SYSCALL, target->thread, NULL, NULL) < 0)
		return ESRCH;
	error = await_stop(target->thread, true, &deadline, &status);
	return error ? error : registers_get(target->thread, &target->before);
}

/* Older headers lack it and struct ptrace_rseq_configuration: three words, the first an address. */
#define GET_RSEQ_CONFIGURATION 0x420f
#define RSEQ_SECTION_AT 8 /* in struct rseq */

/*
 * The kernel forgets the critical section of rseq(2) that a thread is in when it sees it elsewhere.
 * Returns the place of the word that names it, and the word; 0: there is none.
 */
static uint64_t find_section(pid_t thread, uint64_t *section)
{
	uint64_t words[3] = {0}, at;
	struct iovec here = {section, sizeof(*section)}, there = here;

	*section = 0;
	if (ptrace(GET_RSEQ_CONFIGURATION, thread, (void *)sizeof(words), words) < 0 || !words[0])
		return 0;
	at = words[0] + RSEQ_SECTION_AT;
	there.iov_base = (void *)(uintptr_t)at;
	(void)!process_vm_readv(thread, &here, 1, &there, 1, 0);
	return *section ? at : 0;
}

/* Older headers lack it and struct ptrace_sud_config: four words, the first is the mode. */
#define GET_DISPATCH 0x4211

/*
 * A call that we make for such a thread would be a signal that it cannot take (prctl(2),
 * PR_SET_SYSCALL_USER_DISPATCH). Before Linux 6.4 that is not shown.
 */
static bool dispatches_calls(pid_t thread)
{
	uint64_t words[4] = {0};

	return ptrace(GET_DISPATCH, thread, (void *)sizeof(words), words) == 0 && words[0];
}

/* ---- the counters ---- */

/*
 * Returns the address of stubs of a former run, which are behind its file and are what we would
 * write there; 0: there are none. Sets the words for them.
 */
static uint64_t find_left(const struct target *target, struct served_words *words)
{
	static unsigned char code[SERVED_STUBS_SIZE], found[SERVED_STUBS_SIZE];
	struct iovec here = {found, sizeof(found)}, there = here;
	struct served_stubs stubs = {.code = code};
	struct span maps = maps_read(target->thread), rest = maps;
	struct mapping map;
	uint64_t end = 0;

	while (!stubs.to && maps_next(&rest, &map)) {
		const uint64_t size = map.end - map.start;

		if (map.start == end && map.executable && size >= sizeof(code))
			stubs.to = map.start;
		end = text_starts(map.path, "/memfd:vdsocheck") && size == SERVED_FILE_SIZE
		              ? map.end
		              : 0;
	}
	span_free(maps);
	stubs.file = stubs.to - SERVED_FILE_SIZE;
	there.iov_base = (void *)(uintptr_t)stubs.to;
	served_stubs_make(&stubs, target->image, target->size, target->vdso, 0, words);
	return process_vm_readv(target->thread, &here, 1, &there, 1, 0) == sizeof(found) &&
	                       memcmp(found, code, sizeof(code)) == 0
	               ? stubs.to
	               : 0;
}

/* Before 2.31, glibc hid the addresses: they are rotated, and a secret word is added. */
static void add_hidden(const struct target *target, struct served_words *words)
{
	uint64_t guard;
	struct iovec here = {&guard, sizeof(guard)}, there = here;
	const size_t count = words->count;

	there.iov_base = (void *)(uintptr_t)registers_find_guard(&target->before);
	if (!there.iov_base ||
		process_vm_readv(target->thread, &here, 1, &there, 1, 0) != sizeof(guard))
		return;
	for (size_t i = 0; i < count; i++) {
		const uint64_t function = words->function[i] ^ guard;
		const uint64_t jump = words->jump[i] ^ guard;

		words->function[words->count] = function << 17 | function >> 47;
		words->jump[words->count++] = jump << 17 | jump >> 47;
	}
}

/*
 * Maps the counters. Stubs that a former run left are used again: a thread may be in them or about
 * to call them at any time, so they are never unmapped. 0 or an errno value.
 */
static int map(struct target *target, struct attachment *attachment)
{
	struct served_words *words = &attachment->words;
	int error = inject_read_vdso(target);
	uint64_t left;

	if (error)
		return error;
	left = find_left(target, words);
	if (!words->count)
		return ENODATA;
	error = inject_counters(target, left, 0, words, &attachment->file);
	add_hidden(target, words);
	return error;
}

/* ---- in the child ---- */

static void explain(const struct target *target, int error, struct fact *why)
{
	const uint64_t tracer = status_number(target->thread, "TracerPid", 0);

	if (error == EPERM && tracer && tracer != (uint64_t)getpid())
		fact_set(why, FACT_DENIED, "it is traced by process %d, as by strace or gdb",
			(int)tracer);
	else if (error == EPERM && dispatches_calls(target->thread))
		fact_set(why, FACT_DENIED,
			"it dispatches its system calls itself, and ours would end it");
	else if (error == EPERM && status_number(target->thread, "Seccomp", 0))
		fact_set(why, FACT_DENIED,
			"it has a seccomp filter, which might end it while the counters are "
			"mapped; root may suspend that, outside of a container");
	else
		inject_explain(error, why);
}

/*
 * From the first change on, a child that is killed takes the process with it, and one whose parent
 * is killed goes on. 0 or an errno value.
 */
static int begin(const struct target *target)
{
	const bool is_filtered = status_number(target->thread, "Seccomp", 0);
	const uintptr_t options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL |
	                          (is_filtered ? PTRACE_O_SUSPEND_SECCOMP : 0);

	if (dispatches_calls(target->thread))
		return EPERM;
	prctl(PR_SET_PDEATHSIG, 0);
	if (ptrace(PTRACE_SETOPTIONS, target->thread, NULL, (void *)options) < 0)
		return is_filtered ? EPERM : errno;
	return 0;
}

/* 0 or an errno value, and the thread is as it was. */
static int attach(struct target *target, struct attachment *attachment)
{
	uint64_t section, section_at;
	bool is_at_call = false;
	int error = stop(target, &is_at_call), left;

	if (!error)
		error = begin(target);
	if (!error)
		error = inject_block(target);
	if (error)
		return error;
	section_at = is_at_call ? 0 : find_section(target->thread, &section);
	if (is_at_call)
		error = registers_undo_call(target->thread, &target->before);
	if (!error && is_at_call && !inject_go_on(target))
		error = ESRCH;
	if (!error)
		error = map(target, attachment);
	if (section_at)
		inject_write(target->thread, section_at, &section, sizeof(section));
	left = inject_restore(target);
	/* It is killed with us, unless it has ended: for execve(2) of another thread, too. */
	if (left && left != ESRCH)
		_exit(1);
	return error ? error : left;
}

static void run_child(pid_t thread, struct attachment *attachment)
{
	struct target target;
	int error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, NAME);
	setsid();
	target = inject_target(thread);
	error = attach(&target, attachment);
	if (error)
		explain(&target, error, &attachment->why);
	else
		fact_set_known(&attachment->why);
	ptrace(PTRACE_DETACH, thread, NULL, NULL);
	_exit(0);
}

bool served_attach(pid_t thread, int *file, struct served_words *words, struct fact *why)
{
	struct attachment *attachment = child_share(sizeof(*attachment), why);
	sigset_t all, before;
	bool is_attached;
	int status;
	pid_t child;

	if (!attachment)
		return false;
	attachment->file = -1;
	fact_set(&attachment->why, FACT_FAILED, "the child that maps the counters was killed");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (child == 0)
		run_child(thread, attachment);
	if (child < 0)
		child_refused("clone", errno, &attachment->why);
	/* If it is stopped, so is the process. */
	while (child > 0 && waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status))
		kill(child, SIGCONT);
	sigprocmask(SIG_SETMASK, &before, NULL);
	is_attached = fact_is_known(&attachment->why);
	*file = attachment->file;
	*words = attachment->words;
	*why = attachment->why;
	if (!is_attached && attachment->file >= 0)
		close(attachment->file);
	child_unshare(attachment, sizeof(*attachment));
	return is_attached;
}
