/* SPDX-License-Identifier: MIT */
/*
 * Capabilities are dropped by the system calls themselves: only bits must be cleared. The user ID
 * stays 0, which reads and writes root's own files; without capabilities it is an ordinary user
 * otherwise.
 */
#include "base/privileges.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

static void privileges_drop(uint64_t kept)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
	uint32_t lost = 0;

	if (syscall(SYS_capget, &header, sets) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		uint32_t keep = (uint32_t)(kept >> (32 * i));

		lost |= (sets[i].permitted & ~keep) | sets[i].inheritable;
		sets[i].permitted &= keep;
		sets[i].effective &= keep;
		sets[i].inheritable = 0;
	}
	/* The kernel clears the same bits of the ambient set. */
	if (lost)
		syscall(SYS_capset, &header, sets);
}

/* Looks for a line of /proc/self/status by its beginning. */
static bool status_has(const char *beginning)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	bool found = false;

	while (status && !found && fgets(line, sizeof(line), status))
		found = strncmp(line, beginning, strlen(beginning)) == 0;
	if (status)
		(void)fclose(status);
	return found;
}

/*
 * A filter may kill for capset(2), as systemd's SystemCallFilter=~@privileged does: a child tries
 * it, once for this process and its children. It leaves no core dump, but a line in the audit log,
 * so it is not made where there is nothing to lose.
 */
static bool may_drop(void)
{
	static enum { UNTRIED, ALLOWED, FORBIDDEN } state;
	int status = 0;
	pid_t pid;

	if (state == UNTRIED && status_has("CapPrm:\t0000000000000000"))
		state = FORBIDDEN;
	if (state != UNTRIED)
		return state == ALLOWED;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 0);
		privileges_drop(PRIVILEGES_NONE);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, WUNTRACED) < 0 && errno == EINTR)
		continue;
	/* It would wait for ever. */
	if (pid > 0 && WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	state = pid > 0 && status == 0 ? ALLOWED : FORBIDDEN;
	return state == ALLOWED;
}

void privileges_keep(uint64_t kept)
{
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) <= 0 || may_drop())
		privileges_drop(kept);
}

bool privileges_are_filtered(void)
{
	return status_has("Seccomp:\t2");
}

bool privileges_have(uint64_t wanted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return syscall(SYS_capget, &header, sets) == 0 &&
	       !(wanted & ~(sets[0].effective | (uint64_t)sets[1].effective << 32));
}

void privileges_gain_none(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
