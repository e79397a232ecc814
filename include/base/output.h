/* SPDX-License-Identifier: MIT */
/*
 * Where a finished document goes: standard output, or a file that is written beside and
 * renamed, so that a reader never sees half of it.
 */
#ifndef VDSOCHECK_BASE_OUTPUT_H
#define VDSOCHECK_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fact.h"

/*
 * Writes all bytes to `path`, or to standard output if path is NULL. A path that is not a
 * regular file (/dev/full, a pipe) is written in place: it cannot be renamed over. False
 * with the reason, which names the object, if any byte could not be written.
 */
bool output_write(const char *path, const char *bytes, size_t length, struct fact *why);

#endif
