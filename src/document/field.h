/* SPDX-License-Identifier: MIT */
/* The common ground of writing, reading and the JSON Schema of fields. */
#ifndef VDSOCHECK_DOCUMENT_FIELD_H
#define VDSOCHECK_DOCUMENT_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "document.h"

/* Longest key with what is put around it, and longest path, in bytes; longer ones are cut. */
#define FIELD_KEY_SIZE 128

/* Sets the key to the value, which it takes over; NULL: null. */
void field_put(json_t *object, const char *key, json_t *value);

/* The member that the row describes; the value that it is written as, null included. */
const void *field_member(const struct field *field, const void *object);
json_t *field_value(const struct field *field, const void *object, const void *whole);

/* "check" of "vdsocheck/1"; "compare" of "vdsocheck-compare/1". */
json_t *field_command(const char *schema);

/* Tables of measured.c, and what is derived from a call that was read. */
extern const struct field proof_fields[], timing_fields[], call_fields[];
const char *settle_call(void *object, const json_t *from);

/* The schema of the documents that the part is read from. */
const char *field_schema(const struct document_part *part);

/* Reads a JSON object into the parts of its schema; else as document_parse(). */
bool field_read(const struct document_part *parts, const json_t *root, struct fact *why);

/* Writes the object and a newline, and releases it. False if `out` took no more. */
bool field_dump(json_t *root, bool compact, FILE *out);

#endif
