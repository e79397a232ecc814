/* SPDX-License-Identifier: MIT */
/* Hosts that are not here: a captured tree and what would be measured on it. */
#ifndef VDSOCHECK_TESTS_GOLDEN_SCENARIO_H
#define VDSOCHECK_TESTS_GOLDEN_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evidence.h"

struct vdso_image {
	const char *soname;
	const char *version;
	const char *const *exports; /* ends with NULL */
};

struct scenario_ns {
	double vdso;    /* a precise clock in user space, or an average where some calls enter */
	double syscall; /* the same by system call */
	double coarse;
	double counter;
	double entry; /* getppid */
};

struct scenario {
	const char *name;              /* of the golden files */
	const char *loss;              /* what a user would lose if it failed: the test's name */
	const char *root;              /* below tests/roots */
	const char *rule;              /* that has to decide */
	bool captured;                 /* only the tree is looked at; nothing below counts */
	const struct vdso_image *vdso; /* NULL: none */
	int64_t mode;
	const char *mode_name; /* NULL: the data page could not be read */
	const char *layout;
	const char *arch; /* as uname -m; NULL: x86_64. A tree that says so itself wins */
	const char *counter;
	const char *libc;
	struct scenario_ns ns;
	unsigned entered; /* of 1,000 precise calls by the vDSO */
	bool old_vdso;    /* RAW, BOOTTIME and TAI always enter */
	bool libc_enters;
	const char *no_proof; /* why there is no proof; NULL: there is */
	const char *no_log;   /* why the kernel's log may not be read; NULL: as the tree has it */
	void (*change)(struct evidence *evidence); /* what else is special */
	void (*log)(struct evidence *evidence); /* replaces the kernel log of the root */
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

#endif
