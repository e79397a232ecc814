/* SPDX-License-Identifier: MIT */
/* Declares what writing, reading and the JSON Schema of fields share. */
#ifndef VDSOCHECK_DOCUMENT_FIELD_H
#define VDSOCHECK_DOCUMENT_FIELD_H

#include "document.h"

/* Bytes of the longest key and of the longest path; longer ones are cut. */
#define FIELD_KEY_SIZE 128

/* Rows of the lines of evidence.h; the second one's reason is written where it is known, too. */
#define FACT_ROW(type, member, key, ...) {type##_ROW(key, member), __VA_ARGS__},
#define REASONED_ROW(type, member, key, ...)                                                       \
	{type##_ROW(key, member), .reason = key "_reason", __VA_ARGS__}, {REASON(key "_reason")},
#define text_ROW TEXT_FACT
#define flag_ROW FLAG_FACT
#define number_ROW(key, member) NUMBER_FACT(key, member, UINT32_MAX)
#define real_ROW(key, member) REAL_FACT(key, member, 1)
#define bool_ROW FLAG
#define text_value_ROW TEXT
#define unsigned_ROW(key, member) INTEGER(key, member, UINT32_MAX)
/* The limit of these, `.most`, is in their line. */
#define int_ROW(name, member) .key = name, .kind = FIELD_INTEGER, SIZED(member, int32_t, int64_t)
#define int64_t_ROW int_ROW

/* Sets the key to the value, which it takes over; NULL: null. */
void field_put(json_t *object, const char *key, json_t *value);

/* Return the member that the row describes, and the value that it is written as, null included. */
const void *field_member(const struct field *field, const void *object);
json_t *field_value(const struct field *fields, const struct field *field, const void *object,
	const void *whole);

/* True for a row whose value is why others are null. */
static inline bool field_is_reason(const struct field *field)
{
	return field->kind == FIELD_REASON || field->kind == FIELD_WHOLE;
}

/* Returns the key that says why the row is null; NULL: none does. */
const char *field_reason_key(const struct field *field, char own[FIELD_KEY_SIZE]);

/* True if this is KEY_reason, which is written where the row is null, and only there. */
bool field_has_own_reason(const struct field *field);

/* Returns the FIELD_WHOLE of the table, or NULL. */
const struct field *field_whole(const struct field *fields);

/* Return the fact by which a row's value is not known, or NULL: the whole's; that, or its own. */
const struct fact *field_lost(
	const struct field *fields, const struct field *field, const void *object);
const struct fact *field_unknown(
	const struct field *fields, const struct field *field, const void *object);

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
