/* SPDX-License-Identifier: MIT */
/* The allow-list for the parsing of documents. */
#include "base/confine.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/filter.h"
#include "base/privileges.h"
#include "base/units.h"

/* A call that is allowed; with a mask, only where its argument, masked, is this value. */
struct rule {
	const char *name;
	unsigned argument;
	uint32_t mask;
	uint32_t value;
};

#define EXACTLY(value) UINT32_MAX, (value)
#define READ_ONLY (O_ACCMODE | O_CREAT | O_TRUNC), O_RDONLY

/* On powerpc TCGETS is _IOR('t', 19, struct termios), of the kernel's struct, not of libc's. */
#if defined(__powerpc__)
#define GET_TERMINAL 0x402c7413u
#else
#define GET_TERMINAL TCGETS
#endif

/* A tracer that lets a call fail, or answers it, puts this number in its place. */
#define NO_CALL (-1)

/* C libraries and architectures differ in the calls by which they do the same. */
static const struct rule to_read[] = {
	{.name = "read"}, {.name = "readv"}, {.name = "write"}, {.name = "writev"},
	{.name = "close"}, {.name = "lseek"}, {.name = "_llseek"}, {"openat", 2, READ_ONLY},
	{"open", 1, READ_ONLY}, {"fcntl", 1, EXACTLY(F_SETFD)}, {"fcntl64", 1, EXACTLY(F_SETFD)},
	{"fcntl", 1, EXACTLY(F_GETFL)}, {"fcntl64", 1, EXACTLY(F_GETFL)}, /* fdopendir(3) */
	{.name = "fstat"}, {.name = "fstat64"}, {.name = "newfstatat"}, {.name = "fstatat64"},
	{.name = "stat"}, {.name = "stat64"}, {.name = "statx"}, {.name = "getdents64"},
	{"mmap", 2, PROT_EXEC, 0}, {"mmap2", 2, PROT_EXEC, 0}, {"mprotect", 2, PROT_EXEC, 0},
	{.name = "munmap"}, {.name = "mremap"}, {.name = "madvise"}, {.name = "brk"},
	{.name = "sysinfo"}, /* qsort(3): how much memory there is */
	{.name = "futex"}, {.name = "futex_time64"},
	{.name = "getrandom"}, /* seeds of jansson's hash tables */
	{.name = "getpid"}, {.name = "gettid"}, {.name = "clock_gettime"},
	{.name = "clock_gettime64"}, {.name = "gettimeofday"},
	{"ioctl", 1, EXACTLY(GET_TERMINAL)}, /* isatty(3) */
	{"ioctl", 1, EXACTLY(TIOCGWINSZ)}, {.name = "poll"}, {.name = "ppoll"},
	{.name = "ppoll_time64"}, {.name = "rt_sigaction"}, {.name = "rt_sigprocmask"},
	{.name = "rt_sigreturn"}, {.name = "sigreturn"}, {.name = "restart_syscall"},
	{.name = "exit_group"}, {.name = "exit"}, {.name = NULL}, /* NO_CALL */
};

static void allow(struct filter *filter, const struct rule *rule)
{
	int number = rule->name ? seccomp_syscall_resolve_name(rule->name) : NO_CALL;

	/* Other negative numbers are of calls that this architecture lacks. */
	if (number < 0 && number != NO_CALL)
		return;
	filter_load(filter, offsetof(struct seccomp_data, nr));
	filter_unless_skip(filter, (uint32_t)number, rule->mask ? 4 : 1);
	if (rule->mask) {
		filter_load_argument(filter, rule->argument);
		filter_put(filter,
			(struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rule->mask));
		filter_unless_skip(filter, rule->value, 1);
	}
	filter_return(filter, SECCOMP_RET_ALLOW);
}

static void make(struct filter *filter)
{
	uint32_t self = (uint32_t)getpid();
	const struct rule to_end_by_signal[] = {
		{"tgkill", 0, EXACTLY(self)}, {"tkill", 0, EXACTLY(self)}};

	filter_load(filter, offsetof(struct seccomp_data, arch));
	filter_unless_skip(filter, seccomp_arch_native(), 1);
	filter_put(filter, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1));
	filter_return(filter, SECCOMP_RET_KILL_PROCESS);
	for (size_t i = 0; i < ARRAY_SIZE(to_read); i++)
		allow(filter, &to_read[i]);
	for (size_t i = 0; i < ARRAY_SIZE(to_end_by_signal); i++)
		allow(filter, &to_end_by_signal[i]);
	/* Before 4.14 kernels take it for SECCOMP_RET_KILL, which is as good without threads. */
	filter_return(filter, SECCOMP_RET_KILL_PROCESS);
}

/* The Makefile defines it where a compiler adds calls of its own. */
#ifdef VDSOCHECK_UNCONFINED
static const bool is_instrumented = true;
#else
static const bool is_instrumented;
#endif

void confine(void)
{
	const char *preload = getenv("LD_PRELOAD");
	static struct filter filter; /* 32 KiB: the stack may be small */

	if (is_instrumented || (preload && *preload))
		return;
	make(&filter);
	privileges_gain_none();
	filter_set(&filter);
}
