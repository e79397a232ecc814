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
 * see the old one. Character devices, FIFOs and descriptors (/dev/stdout, /dev/fd/N) are written
 * in place; a FIFO that nothing reads from is a failure. So is a symbolic link to a regular file.
 */
bool output_write(const char *path, const char *bytes, size_t length, struct fact *why);

/*
 * Says whether output_write() could replace the file, for a run that takes long: a file is created
 * beside it and removed. What is not a regular file is not tried. False with the reason.
 */
bool output_check(const char *path, struct fact *why);

/* Writes all bytes to standard output or standard error, with output_write()'s result. */
bool output_write_stream(int file, const char *bytes, size_t length, struct fact *why);

#endif
