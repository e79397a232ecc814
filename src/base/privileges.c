/* SPDX-License-Identifier: MIT */
/*
 * Capabilities are dropped by the system calls themselves: only bits must be cleared. The user ID
 * stays 0, which reads and writes root's own files; without capabilities it is an ordinary user
 * otherwise.
 */
#include "base/privileges.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"

void privileges_keep(uint64_t kept)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
	uint32_t lost = 0;

	/* A filter may kill for capset(2), as systemd's SystemCallFilter=~@privileged does. */
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0 || syscall(SYS_capget, &header, sets) < 0)
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

bool privileges_are_filtered(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	bool filtered = false;

	while (status && !filtered && fgets(line, sizeof(line), status))
		filtered = strncmp(line, "Seccomp:\t2", strlen("Seccomp:\t2")) == 0;
	if (status)
		(void)fclose(status);
	return filtered;
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
