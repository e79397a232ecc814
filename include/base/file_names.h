/* SPDX-License-Identifier: MIT */
/* Short names for files, by what distinguishes their paths. */
#ifndef VDSOCHECK_BASE_FILE_NAMES_H
#define VDSOCHECK_BASE_FILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

struct file_name {
	const char *file; /* its path; entries of one path have the same name */
	struct span name; /* a part of it */
};

/* Sets the names of all; false if memory ran out. */
bool file_names_find(struct file_name *names, size_t count);

#endif
