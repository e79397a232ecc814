/* SPDX-License-Identifier: MIT */
/* Allocates memory, and ends the process where none is left, as util-linux and kmod do. */
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define FIRST_ROOM 64

static void (*at_refusal)(void) = abort;

void memory_on_refusal(void (*end)(void))
{
	at_refusal = end;
}

static void *checked(void *memory)
{
	if (!memory)
		at_refusal();
	return memory;
}

/* An empty object gets one byte: C libraries may return NULL for none. */
void *xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

char *xstrdup(const char *text)
{
	return checked(strdup(text));
}

void *array_grow(void *list, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return list;
	*room = *room ? 2 * *room : FIRST_ROOM;
	return checked(reallocarray(list, *room, size));
}

uint64_t bytes_load(const unsigned char *bytes, size_t length, uint64_t at, size_t size)
{
	const bool is_big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint64_t number = 0;

	if (at > length || size > length - at)
		return 0;
	memcpy((unsigned char *)&number + (is_big_endian ? sizeof(number) - size : 0), bytes + at,
		size);
	return number;
}

/*
 * open_memstream(3) would do, but where memory runs out it drops bytes, and neither ferror(3) nor
 * fclose(3) reports that.
 */
static ssize_t append_text(void *cookie, const char *bytes, size_t length)
{
	struct memory_stream *stream = cookie;

	if (length >= stream->room - stream->length) {
		stream->room = 2 * (stream->length + length + 1);
		stream->text = checked(realloc(stream->text, stream->room));
	}
	memcpy(stream->text + stream->length, bytes, length);
	stream->length += length;
	stream->text[stream->length] = '\0';
	return (ssize_t)length;
}

FILE *memory_stream_open(struct memory_stream *stream)
{
	static const cookie_io_functions_t functions = {.write = append_text};

	*stream = (struct memory_stream){.out = NULL};
	stream->out = checked(fopencookie(stream, "w", functions));
	return stream->out;
}

/* A write that failed left a hole in the text; only memory can be lacking. */
void memory_stream_close(struct memory_stream *stream)
{
	bool failed = ferror(stream->out);

	if (fclose(stream->out) != 0 || failed)
		checked(NULL);
	stream->out = NULL;
}
