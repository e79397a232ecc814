/* SPDX-License-Identifier: MIT */
/*
 * Writing a document: one walk over tables of fields. It knows no key; those are in evidence.c
 * and in the commands' own tables. Memory is never refused (base/memory.h), so jansson fails only
 * for a text that is not UTF-8.
 */
#include "base/version.h"
#include "field.h"

#include <math.h>
#include <string.h>

/* A double holds any 15 digits; more would be 596.10000000000002. */
#define REAL_DIGITS 15

const void *field_member(const struct field *field, const void *object)
{
	const char *at = (const char *)object + field->at;

	return field->options & FIELD_POINTER ? *(const void *const *)(const void *)at : at;
}

static const struct fact *fact_at(const size_t *offset, const void *object)
{
	return (const struct fact *)(const void *)((const char *)object + *offset);
}

/* Returns the row's own fact where that is not known. */
static const struct fact *unknown_fact(const struct field *field, const void *object)
{
	const struct fact *fact = field->fact ? fact_at(field->fact, object) : NULL;

	return fact && !fact_is_known(fact) ? fact : NULL;
}

const struct field *field_whole(const struct field *fields)
{
	while (fields->key && fields->kind != FIELD_WHOLE)
		fields++;
	return fields->key ? fields : NULL;
}

const struct fact *field_lost(
	const struct field *fields, const struct field *field, const void *object)
{
	const struct field *whole = field->options & FIELD_FILLED ? NULL : field_whole(fields);

	return whole ? unknown_fact(whole, object) : NULL;
}

const struct fact *field_unknown(
	const struct field *fields, const struct field *field, const void *object)
{
	const struct fact *lost = field_lost(fields, field, object);

	return lost ? lost : unknown_fact(field, object);
}

bool field_has_own_reason(const struct field *field)
{
	return field->fact && !field->reason && !field_is_reason(field);
}

const char *field_reason_key(const struct field *field, char own[FIELD_KEY_SIZE])
{
	if (!field_has_own_reason(field))
		return field->reason && *field->reason ? field->reason : NULL;
	snprintf(own, FIELD_KEY_SIZE, "%s_reason", field->key);
	return own;
}

static json_int_t integer_at(const struct field *field, const void *object)
{
	bool is_signed = field->options & FIELD_SIGNED;
	uint32_t narrow;
	json_int_t wide;

	if (field->size == sizeof(narrow)) {
		memcpy(&narrow, field_member(field, object), sizeof(narrow));
		return is_signed ? (int32_t)narrow : (json_int_t)narrow;
	}
	memcpy(&wide, field_member(field, object), sizeof(wide));
	return wide;
}

static double real_at(const struct field *field, const void *object)
{
	return *(const double *)field_member(field, object);
}

static const char *string_at(const struct field *field, const void *object)
{
	return *(const char *const *)field_member(field, object);
}

const char *field_word(const struct field *field, unsigned value)
{
	return field->answers ? field->answers[value].word : field->words[value];
}

static const char *field_word_at(const struct field *field, const void *object)
{
	return field_word(field, *(const unsigned *)field_member(field, object));
}

/* Returns true where there is no value; a text whose fact is known may be empty. */
static bool is_none(const struct field *field, const void *object)
{
	static const char zero[sizeof(uint64_t)];

	if (field->given)
		return memcmp((const char *)object + field->given->at, zero, field->given->size) ==
		       0;
	switch (field->compute ? FIELD_OBJECT : field->kind) {
	case FIELD_TEXT:
		return !field->fact && !*(const char *)field_member(field, object);
	case FIELD_STRING:
		return !string_at(field, object) || !*string_at(field, object);
	case FIELD_REAL:
		return !isfinite(real_at(field, object));
	case FIELD_WORD:
		return !*field_word_at(field, object);
	default:
		return false;
	}
}

static bool is_null(const struct field *fields, const struct field *field, const void *object)
{
	const struct fact *unknown = field_unknown(fields, field, object);

	if (field->options & FIELD_FILLED)
		return false;
	if (unknown)
		return !(field->options & FIELD_ABSENT) || unknown->state != FACT_ABSENT;
	return is_none(field, object);
}

json_t *field_reason(const struct fact *fact)
{
	char text[FACT_REASON_SIZE + 16];

	if (!fact || fact_is_known(fact))
		return json_null();
	fact_describe(fact, text, sizeof(text));
	return json_string(text);
}

json_t *field_real(double value, int decimals)
{
	double unit = pow(10, decimals);

	/* Zero is added so that no value is -0.0. */
	return json_real(decimals < 0 ? value : round(value * unit) / unit + 0.0);
}

void field_put(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value ? value : json_null());
}

json_t *field_value(const struct field *fields, const struct field *field, const void *object,
	const void *whole)
{
	size_t count;

	if (is_null(fields, field, object))
		return json_null();
	if (field->compute)
		return field->compute(object, whole);
	switch (field->kind) {
	case FIELD_TEXT:
		return json_string(field_member(field, object));
	case FIELD_STRING:
		return json_string(string_at(field, object));
	case FIELD_FLAG:
		return json_boolean(*(const bool *)field_member(field, object));
	case FIELD_KNOWN:
		return json_boolean(!unknown_fact(field, object));
	case FIELD_INTEGER:
		return json_integer(integer_at(field, object));
	case FIELD_REAL:
		return field_real(real_at(field, object), field->decimals);
	case FIELD_WORD:
		return json_string(field_word_at(field, object));
	case FIELD_OBJECT:
		return field_write(field->fields, field_member(field, object), whole);
	case FIELD_LIST:
		memcpy(&count, (const char *)object + field->count_at, sizeof(count));
		return field_list(
			field->fields, field_member(field, object), count, field->size, whole);
	default:
		return NULL;
	}
}

json_t *field_list(
	const struct field *fields, const void *first, size_t count, size_t size, const void *whole)
{
	const char *element = first;
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++, element += size)
		json_array_append_new(list, *fields->key
						    ? field_write(fields, element, whole)
						    : field_value(fields, fields, element, whole));
	return list;
}

/* Takes the first unknown fact among the reason's own and those of the rows that name it. */
static json_t *put_reason(
	const struct field *fields, const struct field *reason, const void *object)
{
	const struct fact *unknown = field_unknown(fields, reason, object);

	for (const struct field *field = fields; field->key && !unknown; field++) {
		if (field->reason && strcmp(field->reason, reason->key) == 0)
			unknown = unknown_fact(field, object);
	}
	return field_reason(unknown);
}

static void write_into(
	json_t *to, const struct field *fields, const void *object, const void *whole)
{
	for (const struct field *field = fields; field->key; field++) {
		const void *part = field_member(field, object);
		const struct fact *unknown;
		char own[FIELD_KEY_SIZE];

		if (field->kind == FIELD_INLINE)
			write_into(to, field->fields, part, part);
		if (field->kind == FIELD_INLINE || field->options & FIELD_COLUMN)
			continue;
		unknown = field_unknown(fields, field, object);
		if (field_is_reason(field) && !field->compute)
			field_put(to, field->key, put_reason(fields, field, object));
		else
			field_put(to, field->key, field_value(fields, field, object, whole));
		if (unknown && field_has_own_reason(field))
			field_put(to, field_reason_key(field, own), field_reason(unknown));
	}
}

json_t *field_write(const struct field *fields, const void *object, const void *whole)
{
	json_t *to = json_object();

	write_into(to, fields, object, whole);
	return to;
}

void field_dump(json_t *root, bool compact, FILE *out)
{
	size_t flags = JSON_REAL_PRECISION(REAL_DIGITS) | (compact ? JSON_COMPACT : JSON_INDENT(2));

	json_dumpf(root, out, flags);
	fputc('\n', out);
	json_decref(root);
}

json_t *field_command(const char *schema)
{
	const char *dash = strchr(schema, '-');

	return dash ? json_stringn(dash + 1, strcspn(dash + 1, "-/")) : json_string("check");
}

void document_write(
	const char *schema, const struct field *fields, const void *from, bool compact, FILE *out)
{
	json_t *root = json_pack("{ssssso}", "schema", schema, "version", vdsocheck_version,
		"command", field_command(schema));

	write_into(root, fields, from, from);
	field_dump(root, compact, out);
}
