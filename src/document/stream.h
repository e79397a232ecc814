/* SPDX-License-Identifier: MIT */
/* The documents of a file, for read_all.c and the tests. */
#ifndef VDSOCHECK_DOCUMENT_STREAM_H
#define VDSOCHECK_DOCUMENT_STREAM_H

#include "document.h"

/*
 * The documents of a file, pretty-printed or one per line; memory is bounded, however many there
 * are. A stream that was started has to be ended.
 */
struct document_stream {
	int file;                  /* owned */
	char *bytes;               /* owned */
	size_t at, end;            /* the bytes that were read and are not yet taken */
	bool ended;                /* all bytes were read */
	int error;                 /* an errno, to be reported at the end; 0: none */
	unsigned long line;        /* number of the next byte's line, from 1 */
	const volatile bool *stop; /* once it is true no more is read; may be set after the start */
};

/* The results of looking for the next document of a stream. */
enum document_found {
	DOCUMENT_END,
	DOCUMENT_READ,
	DOCUMENT_BROKEN, /* the next one can still be read */
};

/* Takes over the file, which document_stream_end() closes; standard input stays open. */
void document_stream_start(struct document_stream *stream, int file);
void document_stream_end(struct document_stream *stream);

/* Returns false if only blanks are left. */
bool document_stream_has_more(struct document_stream *stream);

/*
 * Reads the next document as document_parse() does. *line is the line that it begins at; if it is
 * broken, *line may be the one where it breaks, and *why has the mistake.
 */
enum document_found document_stream_next(struct document_stream *stream, const struct field *fields,
	void *to, unsigned long *line, struct fact *why);

#endif
