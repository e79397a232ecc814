/* SPDX-License-Identifier: MIT */
/* Declares what writing, reading and the JSON Schema of fields share. */
#ifndef VDSOCHECK_DOCUMENT_FIELD_H
#define VDSOCHECK_DOCUMENT_FIELD_H

#include "document.h"

/* Bytes of the longest key and of the longest path; longer ones are cut. */
#define FIELD_KEY_SIZE 128

/* Sets the key to the value, which it takes over; NULL: null. */
void field_put(json_t *object, const char *key, json_t *value);

/* Return the member that the row describes, and the value that it is written as, null included. */
const void *field_member(const struct field *field, const void *object);
json_t *field_value(const struct field *field, const void *object, const void *whole);

/* Returns the name of a FIELD_WORD's value; NULL after the last one. */
const char *field_word(const struct field *field, unsigned value);

/* Returns "check" for "vdsocheck/1", "compare" for "vdsocheck-compare/1". */
json_t *field_command(const char *schema);

/* The tables of measured.c, and the `settle` of a call. */
extern const struct field proof_fields[], timing_fields[], call_fields[];
const char *settle_call(void *object, const json_t *from);

/* Reads a JSON object into the struct of the table, with document_parse()'s result. */
bool field_read(const struct field *fields, const json_t *root, void *to, struct fact *why);

/* Writes the object and a newline, and releases it. */
void field_dump(json_t *root, bool compact, FILE *out);

#endif
