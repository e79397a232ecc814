/* SPDX-License-Identifier: MIT */
/* Evidence that was recorded earlier, maybe on another machine: a document of --json. */
#ifndef VDSOCHECK_DOCUMENT_RECORDED_H
#define VDSOCHECK_DOCUMENT_RECORDED_H

#include "evidence.h"

/* Documents are some ten kilobytes; more than this is none. */
#define RECORDED_SIZE_MAX (1024 * 1024)

/*
 * Reads the `length` bytes of a document of schema "vdsocheck/1" into *evidence: what was
 * found out, not what it was judged to mean. Keys that are missing or null leave their fact
 * not known; a key of the wrong type makes the whole document refused. False with the reason,
 * which names the key or the place, in *why.
 */
bool recorded_parse(const char *bytes, size_t length, struct evidence *evidence, struct fact *why);

/* The same for a file at a path of this host; "-" is standard input. */
bool recorded_read(const char *path, struct evidence *evidence, struct fact *why);

#endif
