/* SPDX-License-Identifier: MIT */
/*
 * Reading a document back: one walk over tables of fields. Nothing is read on trust: each value
 * that a table names is checked for its type and range before it is stored, and values that are
 * only computed are checked too.
 */
#include "field.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Keeps the first mistake; the walk goes on after it. */
struct reader {
	struct fact *why;
	bool failed;
	char path[FIELD_KEY_SIZE]; /* path of the object that is read: "calls[2].", or "" */
};

/* `key` is one of the object that is read; "" for the object itself. */
static __attribute__((format(printf, 3, 4))) void refuse(
	struct reader *reader, const char *key, const char *format, ...)
{
	char wrong[FACT_REASON_SIZE];
	va_list arguments;
	size_t length = strlen(reader->path);

	if (reader->failed)
		return;
	va_start(arguments, format);
	vsnprintf(wrong, sizeof(wrong), format, arguments);
	va_end(arguments);
	reader->failed = true;
	if (!*key && length > 0)
		length--;
	fact_set(reader->why, FACT_FAILED, "%.*s%s%s%s", (int)length, reader->path, key,
		*key || length ? " " : "", wrong);
}

static void read_text(
	struct reader *reader, const struct field *field, const json_t *value, char *to)
{
	struct span text = {json_string_value(value), json_string_length(value)};

	if (!json_is_string(value))
		refuse(reader, field->key, "is not a string");
	else if (to && field->kind == FIELD_TEXT)
		text_clean_span(to, field->size, text);
}

static void read_integer(
	struct reader *reader, const struct field *field, const json_t *value, void *to)
{
	json_int_t number = json_integer_value(value);
	json_int_t least = field->options & FIELD_SIGNED ? -field->most : 0;
	int32_t narrow = (int32_t)(uint32_t)number;

	if (!json_is_integer(value) || number < least || number > field->most)
		refuse(reader, field->key,
			"is not an integer from %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT,
			least, field->most);
	else if (to)
		memcpy(to, field->size == sizeof(narrow) ? (void *)&narrow : (void *)&number,
			field->size);
}

static void read_real(
	struct reader *reader, const struct field *field, const json_t *value, double *to)
{
	double number = json_number_value(value);
	double most = (double)field->most;

	if (!json_is_number(value) || number > most ||
		number < (field->options & FIELD_SIGNED ? -most : 0))
		refuse(reader, field->key, "is not a number in its range");
	else if (to)
		*to = number;
}

static void read_word(
	struct reader *reader, const struct field *field, const json_t *value, unsigned *to)
{
	const char *word = json_string_value(value);

	for (unsigned i = 0; word && field_word(field, i); i++) {
		if (!*word || strcmp(field_word(field, i), word) != 0)
			continue;
		if (to)
			*to = i;
		return;
	}
	refuse(reader, field->key, "is not an accepted value");
}

static void read_object(struct reader *reader, const struct field *fields,
	const char *(*settle)(void *object, const json_t *from), const json_t *from, void *object);
static void read_value(
	struct reader *reader, const struct field *field, const json_t *value, void *object);

/* An object that is missing is read as an empty one: each of its facts gets a reason. */
static void read_member(struct reader *reader, const struct field *field, const json_t *value,
	const size_t *index, void *to)
{
	size_t outer = strlen(reader->path);

	text_append(reader->path, sizeof(reader->path), "%s", field->key);
	if (index)
		text_append(reader->path, sizeof(reader->path), "[%zu]", *index);
	text_append(reader->path, sizeof(reader->path), ".");

	if (!*field->fields->key)
		read_value(reader, field->fields, value, to);
	else if (!value || json_is_object(value))
		read_object(reader, field->fields, field->settle, value, to);
	else
		refuse(reader, "", "is not an object");
	reader->path[outer] = '\0';
}

static void read_list(
	struct reader *reader, const struct field *field, const json_t *value, void *object)
{
	size_t count = json_array_size(value);
	char *to = object ? (char *)object + field->at : NULL;

	if (!json_is_array(value)) {
		refuse(reader, field->key, "is not an array");
		return;
	}
	if (to && count > field->count_most) {
		refuse(reader, field->key, "has more than %zu elements", field->count_most);
		return;
	}
	for (size_t i = 0; i < count; i++)
		read_member(reader, field, json_array_get(value, i), &i,
			to ? to + i * field->size : NULL);
	if (to)
		memcpy((char *)object + field->count_at, &count, sizeof(count));
}

/* Checks a value that is neither missing nor null, and stores it if there is an object. */
static void read_value(
	struct reader *reader, const struct field *field, const json_t *value, void *object)
{
	void *to = object && !field->compute ? (char *)object + field->at : NULL;

	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_STRING:
	case FIELD_REASON:
		read_text(reader, field, value, to);
		break;
	case FIELD_FLAG:
	case FIELD_KNOWN:
		if (!json_is_boolean(value))
			refuse(reader, field->key, "is not a boolean");
		else if (to && field->kind == FIELD_FLAG)
			*(bool *)to = json_is_true(value);
		break;
	case FIELD_INTEGER:
		read_integer(reader, field, value, to);
		break;
	case FIELD_REAL:
		read_real(reader, field, value, to);
		break;
	case FIELD_WORD:
		read_word(reader, field, value, to);
		break;
	case FIELD_OBJECT:
		read_member(reader, field, value, NULL, to);
		break;
	case FIELD_LIST:
		read_list(reader, field, value, field->compute ? NULL : object);
		break;
	case FIELD_WHOLE:  /* read_reason() reads it */
	case FIELD_INLINE: /* read_object() does */
		break;
	}
}

static struct fact *fact_in(const size_t *offset, void *object)
{
	return (struct fact *)(void *)((char *)object + *offset);
}

/* A value that is null or missing must be optional. */
static void read_nothing(
	struct reader *reader, const struct field *field, const json_t *value, void *object)
{
	void *to = object && !field->compute ? (char *)object + field->at : NULL;

	if (value && field->options & FIELD_FILLED)
		refuse(reader, field->key, "is null");
	else if (!value && field->options & FIELD_NEEDED)
		refuse(reader, field->key, "is missing");
	else if (field->kind == FIELD_OBJECT && to)
		read_member(reader, field, NULL, NULL, to);
	else if (field->kind == FIELD_REAL && !field->fact && to)
		*(double *)to = NAN;
}

/* Returns true for the row whose value makes its fact known; the others are parts of it. */
static bool is_first(const struct field *fields, const struct field *field)
{
	while (fields < field && (!fields->fact || *fields->fact != *field->fact))
		fields++;
	return fields == field;
}

static void read_field(struct reader *reader, const struct field *fields, const struct field *field,
	const json_t *from, void *object)
{
	const json_t *value = json_object_get(from, field->key);
	const struct field *whole = field->options & FIELD_FILLED ? NULL : field_whole(fields);

	if (!value || json_is_null(value)) {
		read_nothing(reader, field, value, object);
		return;
	}
	read_value(reader, field, value, object);
	if (!object || field_is_reason(field))
		return;
	if (whole)
		fact_set_known(fact_in(whole->fact, object));
	if (field->fact && is_first(fields, field) &&
		(field->kind != FIELD_KNOWN || json_is_true(value)))
		fact_set_known(fact_in(field->fact, object));
}

/* Reads the reason of a fact that no value made known; refuses a value without the fact. */
static void read_reason(struct reader *reader, const struct field *fields,
	const struct field *field, const json_t *from, void *object)
{
	struct fact *fact = fact_in(field->fact, object);
	const struct field *whole = field_whole(fields);
	bool has_whole = !whole || fact_is_known(fact_in(whole->fact, object));
	char own[FIELD_KEY_SIZE],
		reason[FACT_REASON_SIZE + 16] = "unread: the document does not say";
	const char *key = field_is_reason(field) ? field->key : field_reason_key(field, own);
	const json_t *said = json_object_get(from, key), *value = json_object_get(from, field->key);

	if (json_is_string(said))
		text_clean_span(reason, sizeof(reason),
			(struct span){json_string_value(said), json_string_length(said)});
	else if (said && !json_is_null(said))
		refuse(reader, key, "is not a string");
	/* A verdict rests on the fact. Where the whole is not known, its reason is that of all. */
	else if (field->options & FIELD_NEEDED && !fact_is_known(fact) && has_whole)
		refuse(reader, key, "is %s, although %s is %s", said ? "null" : "missing",
			field->key, field->kind == FIELD_KNOWN ? "false" : "null");
	if (fact_is_known(fact)) {
		if (field->kind == FIELD_WHOLE && json_is_string(said))
			refuse(reader, key, "says why there is no value, but there is one");
		return;
	}
	fact_set_described(fact, reason);
	if (value && !json_is_null(value) && !field_is_reason(field) && !is_first(fields, field) &&
		!(field->options & FIELD_ABSENT))
		refuse(reader, field->key, "is present without the measurement that it belongs to");
}

/* Without an `object` only types are checked. */
static void read_object(struct reader *reader, const struct field *fields,
	const char *(*settle)(void *object, const json_t *from), const json_t *from, void *object)
{
	const char *wrong;

	for (const struct field *field = fields; field->key; field++) {
		bool is_stored = object && !(field->options & FIELD_UNREAD);

		if (field->kind == FIELD_INLINE)
			read_object(reader, field->fields, field->settle, from,
				is_stored ? (char *)object + field->at : NULL);
		else
			read_field(reader, fields, field, from, object);
	}
	if (!object || reader->failed)
		return;
	wrong = settle ? settle(object, from) : NULL;
	if (wrong)
		refuse(reader, "", "%s", wrong);
	for (const struct field *field = fields; field->key; field++) {
		if (field->fact)
			read_reason(reader, fields, field, from, object);
	}
}

bool field_read(const struct field *fields, const json_t *root, void *to, struct fact *why)
{
	struct reader reader = {.why = why};

	read_object(&reader, fields, NULL, root, to);
	return !reader.failed;
}
