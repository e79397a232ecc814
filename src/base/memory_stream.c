/* SPDX-License-Identifier: MIT */
/*
 * A stream that collects text in memory. Where open_memstream(3) has no memory for a write, it
 * drops the bytes, and neither ferror(3) nor fclose(3) reports it: with memory again for the next
 * write, the text has a hole. This one takes nothing more after the first loss, and reports it.
 */
#include "base/memory_stream.h"

#include <errno.h>
#include <fcntl.h> /* loff_t of musl */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static ssize_t append(void *cookie, const char *bytes, size_t length)
{
	struct memory_stream *stream = cookie;

	/* musl flushes by a write of nothing. */
	if (stream->lost || length == 0)
		return 0;
	if (length >= stream->room - stream->length) {
		size_t room = 2 * (stream->length + length + 1);
		char *more = room > stream->room ? realloc(stream->text, room) : NULL;

		if (!more) {
			stream->lost = true;
			return 0;
		}
		stream->text = more;
		stream->room = room;
	}
	memcpy(stream->text + stream->length, bytes, length);
	stream->length += length;
	stream->text[stream->length] = '\0';
	return (ssize_t)length;
}

/* For ftell(3) alone. */
static int find_position(void *cookie, loff_t *offset, int whence)
{
	const struct memory_stream *stream = cookie;

	if (whence != SEEK_CUR || *offset != 0) {
		errno = ESPIPE;
		return -1;
	}
	*offset = (loff_t)stream->length;
	return 0;
}

FILE *memory_stream_open(struct memory_stream *stream)
{
	static const cookie_io_functions_t functions = {.write = append, .seek = find_position};

	*stream = (struct memory_stream){.out = NULL};
	stream->out = fopencookie(stream, "w", functions);
	return stream->out;
}

bool memory_stream_close(struct memory_stream *stream)
{
	/* fclose() reports a failure of its own alone, not of an earlier write. */
	if (ferror(stream->out))
		stream->lost = true;
	if (fclose(stream->out) != 0)
		stream->lost = true;
	stream->out = NULL;
	if (!stream->lost)
		return true;
	free(stream->text);
	stream->text = NULL;
	stream->length = 0;
	return false;
}
