/* SPDX-License-Identifier: MIT */
/* Reading an open file whole. */
#ifndef VDSOCHECK_BASE_FILE_H
#define VDSOCHECK_BASE_FILE_H

#include <stddef.h>

/*
 * Reads until the end, at most `size` bytes; *length says how many. 0, an errno value, or
 * EFBIG if the buffer is full, which leaves open whether there was more.
 */
int file_read_all(int file, char *buffer, size_t size, size_t *length);

#endif
