/* SPDX-License-Identifier: MIT */
/*
 * Runs a program in a restricted environment, for the command line tests and for the lab:
 *
 *     sandbox KIND... -- PROGRAM [WORD]...
 *
 * The table at the end lists the kinds; they are applied in the order given. Shares no code
 * with src/ and needs no library: a guest of the lab has busybox and nothing else. The filters
 * are written by hand, as those of container runtimes are. After no-seccomp no further filter
 * can be installed: name it last. Exits with 125 if the environment cannot be made, so that the
 * caller can skip the test.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT 125
#define NOBODY 65534

#define ERRNO(error) (SECCOMP_RET_ERRNO | (error))
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#ifndef CLONE_NEWTIME /* musl, glibc before 2.34 */
#define CLONE_NEWTIME 0x00000080
#endif

/* ---- system calls that a filter refuses ---------------------------------------------------- */

struct refusal {
	long number;
	uint32_t first_argument; /* refuse only with this one; 0: always */
};

static void give_up(const char *what)
{
	fprintf(stderr, "sandbox: %s: %s\n", what, strerror(errno));
	exit(CANNOT);
}

/* The low half of the first argument is enough: what it is compared with is small. */
#define FIRST_ARGUMENT                                                                             \
	(offsetof(struct seccomp_data, args) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0))

/* Root's set-user-ID programs gain their privileges as before. */
static void set_filter(const struct sock_fprog *program)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) < 0 &&
		(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) < 0))
		give_up("seccomp filter");
}

/* One filter for all: the second of two would have to pass the first. */
static void refuse(const struct refusal *refusals, size_t count, unsigned answer)
{
	struct sock_filter code[128];
	struct sock_fprog program = {.filter = code};

	for (size_t i = 0; i < count; i++) {
		bool any = refusals[i].first_argument == 0;
		const struct sock_filter one[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refusals[i].number,
				any ? 2 : 0, 3),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIRST_ARGUMENT),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refusals[i].first_argument, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, answer),
		};

		if (program.len + COUNT(one) + 1 > COUNT(code)) {
			errno = E2BIG;
			give_up("seccomp filter");
		}
		memcpy(code + program.len, one, sizeof(one));
		program.len = (unsigned short)(program.len + COUNT(one));
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	set_filter(&program);
}

/* There are two ways to set a filter. */
static const struct refusal filters[] = {{SYS_seccomp, 0}, {SYS_prctl, PR_SET_SECCOMP}};

static void no_seccomp(void)
{
	refuse(filters, COUNT(filters), ERRNO(EPERM));
}

static void no_seccomp_syscall(void)
{
	refuse(filters, 1, ERRNO(EPERM));
}

static void seccomp_kills(void)
{
	refuse(filters, COUNT(filters), SECCOMP_RET_KILL_PROCESS);
}

static void capset_kills(void)
{
	refuse(&(const struct refusal){SYS_capset, 0}, 1, SECCOMP_RET_KILL_PROCESS);
}

static void prctl_kills(void)
{
	refuse(&(const struct refusal){SYS_prctl, 0}, 1, SECCOMP_RET_KILL_PROCESS);
}

static void no_bpf(void)
{
	refuse(&(const struct refusal){SYS_bpf, 0}, 1, ERRNO(EPERM));
}

static void no_ptrace(void)
{
	refuse(&(const struct refusal){SYS_ptrace, 0}, 1, ERRNO(EPERM));
}

/* Every system call that reads a clock. */
static const struct refusal clocks[] = {
	{SYS_clock_gettime, 0},
	{SYS_clock_getres, 0},
#if defined(SYS_clock_gettime64)
	{SYS_clock_gettime64, 0},
#endif
#if defined(SYS_gettimeofday)
	{SYS_gettimeofday, 0},
#endif
#if defined(SYS_time)
	{SYS_time, 0},
#endif
};

static void no_clock(void)
{
	refuse(clocks, COUNT(clocks), ERRNO(EPERM));
}

static void clock_kills(void)
{
	refuse(clocks, COUNT(clocks), SECCOMP_RET_KILL_PROCESS);
}

static void no_fork(void)
{
	static const struct refusal forks[] = {
		{SYS_clone, 0},
#if defined(SYS_clone3)
		{SYS_clone3, 0},
#endif
#if defined(SYS_fork)
		{SYS_fork, 0},
#endif
	};

	refuse(forks, COUNT(forks), ERRNO(EAGAIN));
}

static void no_affinity(void)
{
	static const struct refusal affinity[] = {
		{SYS_sched_setaffinity, 0},
		{SYS_sched_getaffinity, 0},
	};

	refuse(affinity, COUNT(affinity), ERRNO(EPERM));
}

static void no_openat2(void)
{
	refuse(&(const struct refusal){437, 0}, 1, ERRNO(ENOSYS));
}

/*
 * Just after boot, before the kernel has random numbers: a call that does not want to wait fails,
 * and one that would wait ends the process.
 */
static void no_random_numbers(void)
{
	const uint32_t flags = FIRST_ARGUMENT + 2 * sizeof(uint64_t), nonblock = 1;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, nonblock, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, ERRNO(EAGAIN)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	set_filter(&(struct sock_fprog){.len = COUNT(code), .filter = code});
}

/* linux/prctl.h of 6.3 and newer. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
#ifndef PR_MDWE_REFUSE_EXEC_GAIN
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

/* As under SELinux without execmem: no memory that was written can be executed. */
static void no_exec_memory(void)
{
	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) < 0)
		give_up("PR_SET_MDWE");
	refuse(&(const struct refusal){SYS_memfd_create, 0}, 1, ERRNO(EPERM));
}

/* What Docker's default profile refuses to a container without capabilities. */
static void docker_profile(void)
{
	static const struct refusal refused[] = {
		{SYS_acct, 0},
		{SYS_add_key, 0},
		{SYS_bpf, 0},
		{SYS_clock_adjtime, 0},
		{SYS_clock_settime, 0},
		{SYS_delete_module, 0},
		{SYS_finit_module, 0},
		{SYS_init_module, 0},
		{SYS_kexec_load, 0},
		{SYS_keyctl, 0},
		{SYS_mount, 0},
		{SYS_open_by_handle_at, 0},
		{SYS_perf_event_open, 0},
		{SYS_pivot_root, 0},
		{SYS_quotactl, 0},
		{SYS_reboot, 0},
		{SYS_request_key, 0},
		{SYS_setns, 0},
		{SYS_settimeofday, 0},
		{SYS_swapon, 0},
		{SYS_swapoff, 0},
		{SYS_syslog, 0},
		{SYS_umount2, 0},
		{SYS_unshare, 0},
		{SYS_userfaultfd, 0},
	};

	refuse(refused, COUNT(refused), ERRNO(EPERM));
}

/* ---- what a process inherits --------------------------------------------------------------- */

static void tsc_off(void)
{
#ifdef PR_SET_TSC
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
#else
	errno = ENOSYS;
#endif
		give_up("prctl(PR_SET_TSC)");
}

static void nobody(void)
{
	if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		give_up("nobody");
}

/* gVisor calibrates its own clock for some seconds; until then every call is a system call. */
static void settled(void)
{
	sleep(5);
}

static void sigchld_ignored(void)
{
	signal(SIGCHLD, SIG_IGN);
}

static void block(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void sigalrm_blocked(void)
{
	block(SIGALRM);
}

static void sigsegv_blocked(void)
{
	block(SIGSEGV);
	block(SIGBUS);
}

static void sigpipe_default(void)
{
	signal(SIGPIPE, SIG_DFL);
}

/* A shell without job control starts what is in the background with SIGINT ignored. */
static void signals_default(void)
{
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

static void few_files(void)
{
	struct rlimit limit = {8, 8};

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		give_up("setrlimit");
}

/* In a working directory that has been removed. */
static void no_directory(void)
{
	char name[] = "/tmp/sandbox.XXXXXX";

	if (!mkdtemp(name) || chdir(name) < 0 || rmdir(name) < 0)
		give_up(name);
}

/* ---- what needs a second process ----------------------------------------------------------- */

/* Ends this process as its child ended. */
static void exit_as(pid_t child)
{
	int status = 0;

	if (waitpid(child, &status, 0) != child)
		give_up("waitpid");
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* A time namespace a day ahead. Only children live in it. */
static void time_namespace(void)
{
	static const char offsets[] = "monotonic 86400 0\nboottime 86400 0\n";
	int file;
	pid_t child;

	if (unshare(CLONE_NEWTIME) < 0)
		give_up("time namespace");
	file = open("/proc/self/timens_offsets", O_WRONLY);
	if (file < 0 || write(file, offsets, sizeof(offsets) - 1) != (ssize_t)sizeof(offsets) - 1)
		give_up("/proc/self/timens_offsets");
	close(file);
	child = fork();
	if (child < 0)
		give_up("fork");
	if (child > 0)
		exit_as(child);
}

static void relay(int from)
{
	char bytes[4096];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) > 0) {
		if (write(STDOUT_FILENO, bytes, (size_t)got) < 0)
			exit(CANNOT);
	}
}

/* The program's standard streams become a terminal, whose output goes to standard output. */
static void on_terminal(void)
{
	int outer = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	const char *name =
		outer < 0 || grantpt(outer) < 0 || unlockpt(outer) < 0 ? NULL : ptsname(outer);
	int terminal = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
	pid_t child = terminal < 0 ? -1 : fork();

	if (child < 0)
		give_up("pseudo terminal");
	if (child == 0) {
		if (setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) < 0 || dup2(terminal, 0) < 0 ||
			dup2(terminal, 1) < 0 || dup2(terminal, 2) < 0)
			give_up("pseudo terminal");
		return;
	}
	close(terminal);
	relay(outer);
	exit_as(child);
}

static const struct {
	const char *name;
	void (*enter)(void);
} kinds[] = {
	{"no-seccomp", no_seccomp},
	{"no-seccomp-syscall", no_seccomp_syscall},
	{"seccomp-kills", seccomp_kills},
	{"capset-kills", capset_kills},
	{"prctl-kills", prctl_kills},
	{"no-bpf", no_bpf},
	{"no-ptrace", no_ptrace},
	{"no-clock", no_clock},
	{"clock-kills", clock_kills},
	{"no-fork", no_fork},
	{"no-affinity", no_affinity},
	{"no-openat2", no_openat2},
	{"no-random-numbers", no_random_numbers},
	{"no-exec-memory", no_exec_memory},
	{"docker-profile", docker_profile},
	{"tsc-off", tsc_off},
	{"nobody", nobody},
	{"settled", settled},
	{"sigchld-ignored", sigchld_ignored},
	{"sigalrm-blocked", sigalrm_blocked},
	{"sigsegv-blocked", sigsegv_blocked},
	{"sigpipe-default", sigpipe_default},
	{"signals-default", signals_default},
	{"few-files", few_files},
	{"no-directory", no_directory},
	{"time-namespace", time_namespace},
	{"on-terminal", on_terminal},
};

static void enter(const char *name)
{
	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (strcmp(kinds[i].name, name) == 0) {
			kinds[i].enter();
			return;
		}
	}
	fprintf(stderr, "sandbox: unknown kind '%s'\n", name);
	exit(CANNOT);
}

int main(int argc, char **argv)
{
	bool without_words = false;
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "empty-argv") == 0)
			without_words = true;
		else
			enter(argv[i]);
	}
	if (i + 1 >= argc) {
		fprintf(stderr, "usage: sandbox KIND... -- PROGRAM [WORD]...\n");
		return CANNOT;
	}
	if (without_words)
		execv(argv[i + 1], (char *[]){NULL});
	else
		execvp(argv[i + 1], argv + i + 1);
	give_up(argv[i + 1]);
}
