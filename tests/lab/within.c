/* SPDX-License-Identifier: MIT */
/*
 * Runs a command within something that makes asking for the time different:
 *
 *     within KIND COMMAND [ARGUMENT...]
 *
 * A guest of the lab has busybox and nothing else, so what util-linux or a
 * container engine would do on a host is done here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#ifndef CLONE_NEWTIME /* musl, glibc before 2.34 */
#define CLONE_NEWTIME 0x00000080
#endif

/* ---- a time namespace a day ahead ------------------------------------------ */

static int write_offsets(void)
{
	static const char offsets[] = "monotonic 86400 0\nboottime 86400 0\n";
	int file = open("/proc/self/timens_offsets", O_WRONLY);
	ssize_t written;

	if (file < 0)
		return -1;
	written = write(file, offsets, sizeof(offsets) - 1);
	close(file);
	return written == (ssize_t)sizeof(offsets) - 1 ? 0 : -1;
}

/* Only children live in the new namespace: carry the child's status on. */
static int enter_time_namespace(void)
{
	int status = 0;
	pid_t child;

	if (unshare(CLONE_NEWTIME) != 0 || write_offsets() != 0)
		return -1;
	child = fork();
	if (child == 0)
		return 0;
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* ---- a process that may not read the counter --------------------------------- */

static int forbid_counter(void)
{
#ifdef PR_SET_TSC
	return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
#else
	errno = ENOSYS;
	return -1;
#endif
}

/* ---- later ----------------------------------------------------------------------- */

/* gVisor needs seconds until it trusts its own clock; before, every call enters. */
static int settle(void)
{
	sleep(5);
	return 0;
}

/* ---- nobody ------------------------------------------------------------------- */

static int become_nobody(void)
{
	if (setgroups(0, NULL) != 0 || setgid(65534) != 0)
		return -1;
	return setuid(65534);
}

/* ---- other people's filters ------------------------------------------------- */

/* What Docker's default profile refuses to a container without capabilities. */
static const long docker_refuses[] = {
	__NR_acct,
	__NR_add_key,
	__NR_bpf,
	__NR_clock_adjtime,
	__NR_clock_settime,
	__NR_delete_module,
	__NR_finit_module,
	__NR_init_module,
	__NR_kexec_load,
	__NR_keyctl,
	__NR_mount,
	__NR_open_by_handle_at,
	__NR_perf_event_open,
	__NR_pivot_root,
	__NR_quotactl,
	__NR_reboot,
	__NR_request_key,
	__NR_setns,
	__NR_settimeofday,
	__NR_swapon,
	__NR_swapoff,
	__NR_syslog,
	__NR_umount2,
	__NR_unshare,
	__NR_userfaultfd,
};
static const long seccomp_alone[] = {__NR_seccomp};
static const long every_witness[] = {__NR_seccomp, __NR_prctl, __NR_ptrace};

static int filter(const long *calls, size_t count, uint32_t answer)
{
	struct sock_filter code[2 + 2 * ARRAY_SIZE(docker_refuses)];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;
	size_t i;

	code[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (i = 0; i < count; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int filter_like_docker(void)
{
	return filter(docker_refuses, ARRAY_SIZE(docker_refuses), SECCOMP_RET_ERRNO | EPERM);
}

static int kill_on_seccomp(void)
{
	return filter(seccomp_alone, ARRAY_SIZE(seccomp_alone), SECCOMP_RET_KILL_PROCESS);
}

static int refuse_seccomp(void)
{
	return filter(seccomp_alone, ARRAY_SIZE(seccomp_alone), SECCOMP_RET_ERRNO | EPERM);
}

static int refuse_every_witness(void)
{
	return filter(every_witness, ARRAY_SIZE(every_witness), SECCOMP_RET_ERRNO | EPERM);
}

/* ---- the kinds ----------------------------------------------------------------- */

static const struct kind {
	const char *name;
	int (*enter)(void);
} kinds[] = {
	{"time-namespace", enter_time_namespace},
	{"counter-off", forbid_counter},
	{"settled", settle},
	{"nobody", become_nobody},
	{"docker-profile", filter_like_docker},
	{"seccomp-kills", kill_on_seccomp},
	{"seccomp-refused", refuse_seccomp},
	{"witnesses-refused", refuse_every_witness},
};

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 3) {
		fprintf(stderr, "usage: within KIND COMMAND [ARGUMENT...]\n");
		return 125;
	}
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].name, argv[1]) != 0)
			continue;
		if (kinds[i].enter() == 0)
			execvp(argv[2], argv + 2);
		fprintf(stderr, "within %s: %s\n", argv[1], strerror(errno));
		return 126;
	}
	fprintf(stderr, "within: unknown kind '%s'\n", argv[1]);
	return 125;
}
