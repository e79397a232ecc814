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
 * Writes all bytes to the file at `path`. False with the reason, which names the object, if any
 * byte could not be written.
 *
 * A regular file is replaced by a new one that belongs to the caller; its mode and group are
 * kept if the caller owned it. Character devices, FIFOs and /proc/PID/fd/N (/dev/stdout) are
 * written in place; a FIFO that nothing reads from is a failure, not a wait. Symbolic links
 * are followed except in directories that other users can write to.
 */
bool output_write(const char *path, const char *bytes, size_t length, struct fact *why);

/* Writes all bytes to standard output or standard error; else as output_write(). */
bool output_write_stream(int file, const char *bytes, size_t length, struct fact *why);

#endif
