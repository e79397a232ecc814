/* SPDX-License-Identifier: MIT */
/* A stream that collects text in memory. */
#ifndef VDSOCHECK_BASE_MEMORY_STREAM_H
#define VDSOCHECK_BASE_MEMORY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Must not move while it is open. */
struct memory_stream {
	FILE *out;
	char *text; /* NUL-terminated, for free(); NULL while it is empty. Valid once closed. */
	size_t length;
	size_t room;
	bool lost; /* memory ran out: not all that was written is in the text */
};

/* The stream to write to; NULL with errno set if there is no memory for it. */
FILE *memory_stream_open(struct memory_stream *stream);

/* False, and no text, if any of what was written was lost. */
bool memory_stream_close(struct memory_stream *stream);

#endif
