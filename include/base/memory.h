/* SPDX-License-Identifier: MIT */
/*
 * Allocates memory that is never refused: where none is left, the process ends. What a run needs is
 * little and bounded, and what it has changed on the host is undone by another process (compare).
 */
#ifndef VDSOCHECK_BASE_MEMORY_H
#define VDSOCHECK_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The number of elements of an array, which must not be a pointer. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* These are malloc(3), calloc(3) and strdup(3) that never return NULL; free(3) takes the result. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
char *xstrdup(const char *text);

/*
 * Makes room for one more element of `size` bytes after the `count` that the list has; *room is the
 * number of elements that fit. Returns the list, which may have moved.
 */
void *array_grow(void *list, size_t count, size_t *room, size_t size);

/*
 * Returns the number of 1, 2, 4 or 8 bytes at this place of `length` bytes, which are distrusted; 0
 * if it does not lie within.
 */
uint64_t bytes_load(const unsigned char *bytes, size_t length, uint64_t at, size_t size);

/* Sets what is called where memory is refused. It must end the process; by default abort(3). */
void memory_on_refusal(void (*end)(void));

/* A stream that collects text in memory. It must not move while it is open. */
struct memory_stream {
	FILE *out;
	char *text; /* once closed: ends with NUL, for free(); NULL if nothing was written */
	size_t length, room;
};

/* Returns the stream to write to. */
FILE *memory_stream_open(struct memory_stream *stream);
void memory_stream_close(struct memory_stream *stream);

#endif
