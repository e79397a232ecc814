/* SPDX-License-Identifier: MIT */
/*
 * Capabilities by the system calls themselves: all that is needed of them is to clear bits. User
 * ID 0 remains, which is what reads root's own files; without capabilities it is a user like
 * others to everything else.
 */
#include "base/privileges.h"

#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/deadline.h"
#include "base/units.h"

struct capabilities {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
};

static bool has_later;

static bool get(struct capabilities *own)
{
	/* Valgrind believes that the kernel fills in the first set only. */
	*own = (struct capabilities){.header.version = _LINUX_CAPABILITY_VERSION_3};
	return syscall(SYS_capget, &own->header, own->sets) == 0;
}

/* The kernel takes out of the ambient set what is no longer inheritable. */
static void limit(uint64_t now, uint64_t later)
{
	struct capabilities own;
	uint32_t lost = 0;

	if (!get(&own))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(own.sets); i++) {
		struct __user_cap_data_struct *set = &own.sets[i], before = *set;

		set->permitted &= (uint32_t)((now | later) >> (32 * i));
		set->effective = set->permitted & (uint32_t)(now >> (32 * i));
		set->inheritable = 0;
		lost |= (before.permitted ^ set->permitted) | (before.effective ^ set->effective) |
		        before.inheritable;
	}
	if (lost)
		syscall(SYS_capset, &own.header, own.sets);
	has_later = later != 0;
}

static void rehearse(void *sets)
{
	const uint64_t *both = sets;

	limit(both[0], both[1]);
}

/* A filter may kill for capset(2), as systemd's SystemCallFilter=~@privileged does. */
static bool is_allowed(uint64_t now, uint64_t later)
{
	struct deadline deadline;
	uint64_t both[] = {now, later};
	struct fact why;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) <= 0)
		return true;
	deadline = deadline_after(CHILD_PROBE_NS);
	return child_run(rehearse, both, &deadline, &why);
}

void privileges_limit(uint64_t now, uint64_t later)
{
	static enum { NOT_TRIED, ALLOWED, REFUSED } state;

	if (state == NOT_TRIED)
		state = is_allowed(now, later) ? ALLOWED : REFUSED;
	if (state == ALLOWED)
		limit(now, later);
}

void privileges_gain_none(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

void privileges_forget_later(void)
{
	struct capabilities own;

	if (!has_later || !get(&own))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(own.sets); i++)
		own.sets[i].permitted = own.sets[i].effective;
	syscall(SYS_capset, &own.header, own.sets);
}
