/* SPDX-License-Identifier: MIT */
/* Writes finished documents to a file or a standard stream. */
#ifndef VDSOCHECK_BASE_OUTPUT_H
#define VDSOCHECK_BASE_OUTPUT_H

#include "base/fact.h"

/*
 * Writes all bytes to the file at `path`. Returns false with the reason if any byte could not be
 * written.
 *
 * A regular file is replaced by a new one, with a mode by the umask; until that is whole, readers
 * see the old one. What is not a regular file (a link, a device, a FIFO, /dev/stdout) is refused. A
 * file of ours that cannot be removed again is named in the reason.
 */
bool output_write(const char *path, const char *bytes, size_t length, struct fact *why);

/*
 * Says whether output_write() could replace the file, for a run that takes long: a file is created
 * beside it and removed. False with the reason.
 */
bool output_check(const char *path, struct fact *why);

/* Writes all bytes to standard output or standard error, with output_write()'s result. */
bool output_write_stream(int file, const char *bytes, size_t length, struct fact *why);

#endif
