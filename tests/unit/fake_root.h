/* SPDX-License-Identifier: MIT */
/* A captured tree made by a test, in a directory of its own, opened as a root. */
#ifndef VDSOCHECK_TESTS_FAKE_ROOT_H
#define VDSOCHECK_TESTS_FAKE_ROOT_H

#include <stddef.h>

#include "base/root.h"

struct fake_root {
	char path[96];
	struct root root;
};

/* Set-up and tear-down of a cmocka test: *state is a struct fake_root. */
int fake_root_setup(void **state);
int fake_root_teardown(void **state);

/* The place of a path of the tree among the host's files. */
const char *fake_root_place(const struct fake_root *fake, const char *path);

/* Directories above the file are made as needed. */
void fake_root_add(const struct fake_root *fake, const char *path, const char *text);
void fake_root_add_bytes(
	const struct fake_root *fake, const char *path, const void *bytes, size_t size);
void fake_root_link(const struct fake_root *fake, const char *path, const char *target);

#endif
