/* SPDX-License-Identifier: MIT */
/*
 * Runs a program in surroundings that somebody else made: `surround WHAT... -- PROGRAM
 * [WORD]...`. Shares no code with src/.
 *
 * What it can do is the table at the end. Refusals are seccomp filters written by hand, as
 * those of container runtimes and sandboxes are: libseccomp tries seccomp(2) first and then
 * prctl(PR_SET_SECCOMP), so to refuse one is to refuse both. Name those last: no filter can
 * be set after them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT 125 /* the surroundings could not be had: the caller skips the check */

#define ERRNO(error) (SECCOMP_RET_ERRNO | (error))
#define ANY_ARGUMENT (-1)
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct refusal {
	long number;
	long long first_argument; /* refuse only with this one; ANY_ARGUMENT: always */
};

static void give_up(const char *what)
{
	fprintf(stderr, "surround: %s: %s\n", what, strerror(errno));
	exit(CANNOT);
}

/* Loads one filter that answers the system call so, and lets everything else pass. */
static void refuse(const struct refusal *refusal, unsigned answer)
{
	struct sock_filter any[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refusal->number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	/* The low half of the argument is enough: what we compare with is small. */
	struct sock_filter with[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refusal->number, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, args) +
				(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refusal->first_argument, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {COUNT(any), any};

	if (refusal->first_argument != ANY_ARGUMENT)
		program = (struct sock_fprog){COUNT(with), with};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		give_up("seccomp filter");
}

static void refuse_all(const struct refusal *refusals, size_t count, unsigned answer)
{
	for (size_t i = 0; i < count; i++)
		refuse(&refusals[i], answer);
}

/* In this order: the second filter is still set by the call that it refuses. */
static const struct refusal filters[] = {
	{SYS_seccomp, ANY_ARGUMENT},
	{SYS_prctl, PR_SET_SECCOMP},
};

static void no_seccomp_eperm(void)
{
	refuse_all(filters, COUNT(filters), ERRNO(EPERM));
}

static void no_seccomp_kill(void)
{
	refuse_all(filters, COUNT(filters), SECCOMP_RET_KILL_PROCESS);
}

static void no_ptrace(void)
{
	static const struct refusal ptrace[] = {{SYS_ptrace, ANY_ARGUMENT}};

	refuse_all(ptrace, COUNT(ptrace), ERRNO(EPERM));
}

/* Every way to ask the kernel for the time. */
static const struct refusal clocks[] = {
	{SYS_clock_gettime, ANY_ARGUMENT},
#if defined(SYS_clock_gettime64)
	{SYS_clock_gettime64, ANY_ARGUMENT},
#endif
#if defined(SYS_gettimeofday)
	{SYS_gettimeofday, ANY_ARGUMENT},
#endif
#if defined(SYS_time)
	{SYS_time, ANY_ARGUMENT},
#endif
};

static void no_clock_eperm(void)
{
	refuse_all(clocks, COUNT(clocks), ERRNO(EPERM));
}

static void no_clock_kill(void)
{
	refuse_all(clocks, COUNT(clocks), SECCOMP_RET_KILL_PROCESS);
}

static void no_fork(void)
{
	static const struct refusal forks[] = {
		{SYS_clone, ANY_ARGUMENT},
		{SYS_clone3, ANY_ARGUMENT},
#if defined(SYS_fork)
		{SYS_fork, ANY_ARGUMENT},
#endif
	};

	refuse_all(forks, COUNT(forks), ERRNO(EAGAIN));
}

static void no_affinity(void)
{
	static const struct refusal affinity[] = {
		{SYS_sched_setaffinity, ANY_ARGUMENT},
		{SYS_sched_getaffinity, ANY_ARGUMENT},
	};

	refuse_all(affinity, COUNT(affinity), ERRNO(EPERM));
}

static void no_openat2(void)
{
	static const struct refusal openat2[] = {{437, ANY_ARGUMENT}};

	refuse_all(openat2, COUNT(openat2), ERRNO(ENOSYS));
}

static void tsc_off(void)
{
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
		give_up("prctl(PR_SET_TSC)");
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

static void few_files(void)
{
	struct rlimit limit = {8, 8};

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		give_up("setrlimit");
}

/* The working directory is gone. */
static void no_directory(void)
{
	char name[] = "/tmp/surround.XXXXXX";

	if (!mkdtemp(name) || chdir(name) < 0 || rmdir(name) < 0)
		give_up(name);
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

/* The program's standard output becomes a terminal, whose bytes come out of ours. */
static void on_terminal(void)
{
	int terminal;
	int status = 0;
	pid_t pid = forkpty(&terminal, NULL, NULL, NULL);

	if (pid < 0)
		give_up("pseudo terminal");
	if (pid == 0)
		return;
	relay(terminal);
	waitpid(pid, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static const struct {
	const char *name;
	void (*make)(void);
} surroundings[] = {
	{"no-seccomp", no_seccomp_eperm},
	{"seccomp-kills", no_seccomp_kill},
	{"no-ptrace", no_ptrace},
	{"no-clock", no_clock_eperm},
	{"clock-kills", no_clock_kill},
	{"no-fork", no_fork},
	{"no-affinity", no_affinity},
	{"no-openat2", no_openat2},
	{"tsc-off", tsc_off},
	{"sigchld-ignored", sigchld_ignored},
	{"sigalrm-blocked", sigalrm_blocked},
	{"sigsegv-blocked", sigsegv_blocked},
	{"sigpipe-default", sigpipe_default},
	{"few-files", few_files},
	{"no-directory", no_directory},
	{"on-terminal", on_terminal},
};

static void surround(const char *name)
{
	for (size_t i = 0; i < COUNT(surroundings); i++) {
		if (strcmp(surroundings[i].name, name) == 0) {
			surroundings[i].make();
			return;
		}
	}
	fprintf(stderr, "surround: nothing is called %s\n", name);
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
			surround(argv[i]);
	}
	if (i + 1 >= argc) {
		fprintf(stderr, "usage: surround WHAT... -- PROGRAM [WORD]...\n");
		return CANNOT;
	}
	if (without_words)
		execv(argv[i + 1], (char *[]){NULL});
	else
		execvp(argv[i + 1], argv + i + 1);
	give_up(argv[i + 1]);
}
