/* SPDX-License-Identifier: MIT */
/*
 * The engine of the documents: walks over tables of fields, one to write a document, one to
 * read it back and one to print its JSON Schema. It knows no key; those are in evidence.c and
 * in the commands' own tables.
 *
 * Nothing is written in part: a function that builds a value returns NULL where memory ran out, up
 * to document_write(). Nothing is read on trust: each value that a table names is checked for its
 * type and range before it is stored, those that are only computed too.
 */
#include "document.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

/* A double holds 15 digits whatever they are: no 596.10000000000002. */
#define REAL_DIGITS 15

/* Longest key with what is put around it, and longest path, in bytes; longer ones are cut. */
#define FIELD_KEY_SIZE 128

static const void *member(const struct field *field, const void *object)
{
	return (const char *)object + field->at;
}

static const struct fact *fact_at(const size_t *offset, const void *object)
{
	return (const struct fact *)(const void *)((const char *)object + *offset);
}

/* What keeps the row's value from being known: its fact, or that of the whole; NULL: nothing. */
static const struct fact *unknown_fact(const struct field *field, const void *object)
{
	if (field->whole && !fact_is_known(fact_at(field->whole, object)))
		return fact_at(field->whole, object);
	if (field->fact && !fact_is_known(fact_at(field->fact, object)))
		return fact_at(field->fact, object);
	return NULL;
}

static json_int_t integer_at(const struct field *field, const void *object)
{
	bool is_signed = field->options & (FIELD_SIGNED | FIELD_NEGATIVE_NONE);
	uint32_t narrow;
	json_int_t wide;

	if (field->size == sizeof(narrow)) {
		memcpy(&narrow, member(field, object), sizeof(narrow));
		return is_signed ? (int32_t)narrow : (json_int_t)narrow;
	}
	memcpy(&wide, member(field, object), sizeof(wide));
	return wide;
}

static double real_at(const struct field *field, const void *object)
{
	double value;

	memcpy(&value, member(field, object), sizeof(value));
	return value;
}

static const char *string_at(const struct field *field, const void *object)
{
	const char *text;

	memcpy(&text, member(field, object), sizeof(text));
	return text;
}

static size_t count_at(const struct field *field, const void *object)
{
	size_t count;

	memcpy(&count, (const char *)object + field->count_at, sizeof(count));
	return count;
}

static const char *word_at(const struct field *field, const void *object)
{
	unsigned value;

	memcpy(&value, member(field, object), sizeof(value));
	return field->words[value];
}

/* ---- writing ---- */

static bool is_known_or_absent(const struct field *field, const void *object)
{
	const struct fact *fact = fact_at(field->fact, object);

	return fact_is_known(fact) || fact->state == FACT_ABSENT;
}

/* Whether the row's value is null. */
static bool is_null(const struct field *field, const void *object)
{
	if (field->has && !field->has(object))
		return true;
	if (field->kind == FIELD_KNOWN)
		return field->options & FIELD_ABSENT_FALSE && !is_known_or_absent(field, object);
	if (field->compute || field->kind == FIELD_REASON)
		return false;
	if (unknown_fact(field, object))
		return true;
	switch (field->kind) {
	case FIELD_TEXT:
		return !field->fact && !(field->options & FIELD_FILLED) &&
		       !*(const char *)member(field, object);
	case FIELD_STRING:
		return !string_at(field, object) || !*string_at(field, object);
	case FIELD_INTEGER:
		return field->options & FIELD_NEGATIVE_NONE && integer_at(field, object) < 0;
	case FIELD_REAL:
		return !isfinite(real_at(field, object)) ||
		       (field->options & FIELD_NEGATIVE_NONE && real_at(field, object) < 0);
	case FIELD_WORD:
		return !*word_at(field, object);
	default:
		return false;
	}
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

	return json_real(decimals < 0 ? value : round(value * unit) / unit);
}

/* Sets the key; false if there is no value or no memory. Takes the value. */
static bool put(json_t *object, const char *key, json_t *value)
{
	return value && json_object_set_new(object, key, value) == 0;
}

/* The first fact that is not known among the reason's own and those of the rows that name it. */
static json_t *write_reason(
	const struct field *fields, const struct field *reason, const void *object)
{
	const struct fact *unknown = unknown_fact(reason, object);

	for (const struct field *field = fields; field->key && !unknown; field++) {
		if (field->reason && strcmp(field->reason, reason->key) == 0)
			unknown = unknown_fact(field, object);
	}
	return field_reason(unknown);
}

static json_t *write_value(const struct field *field, const void *object, const void *whole);

json_t *field_list(
	const struct field *fields, const void *first, size_t count, size_t size, const void *whole)
{
	const char *element = first;
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++, element += size) {
		json_t *value = *fields->key ? field_write(fields, element, whole)
		                             : write_value(fields, element, whole);

		if (value && json_array_append_new(list, value) == 0)
			continue;
		json_decref(list);
		return NULL;
	}
	return list;
}

static json_t *write_value(const struct field *field, const void *object, const void *whole)
{
	if (is_null(field, object))
		return json_null();
	if (field->compute)
		return field->compute(object, whole);
	switch (field->kind) {
	case FIELD_TEXT:
		return json_string(member(field, object));
	case FIELD_STRING:
		return json_string(string_at(field, object));
	case FIELD_FLAG:
		return json_boolean(*(const bool *)member(field, object));
	case FIELD_INTEGER:
		return json_integer(integer_at(field, object));
	case FIELD_REAL:
		return field_real(real_at(field, object), field->decimals);
	case FIELD_WORD:
		return json_string(word_at(field, object));
	case FIELD_KNOWN:
		return json_boolean(!unknown_fact(field, object));
	case FIELD_OBJECT:
		return field_write(field->fields, member(field, object), whole);
	case FIELD_LIST:
		return field_list(field->fields, member(field, object), count_at(field, object),
			field->size, whole);
	default:
		return NULL;
	}
}

static bool write_own_reason(const struct field *field, const void *object, json_t *to)
{
	const struct fact *unknown = unknown_fact(field, object);
	char key[FIELD_KEY_SIZE];

	if (!(field->options & FIELD_OWN_REASON) || !unknown)
		return true;
	snprintf(key, sizeof(key), "%s_reason", field->key);
	return put(to, key, field_reason(unknown));
}

static bool write_into(
	json_t *to, const struct field *fields, const void *object, const void *whole)
{
	for (const struct field *field = fields; field->key; field++) {
		json_t *value;

		if (field->kind == FIELD_INLINE) {
			if (!write_into(to, field->fields, member(field, object), whole))
				return false;
			continue;
		}
		if (field->options & FIELD_LEFT_OUT && is_null(field, object))
			continue;
		value = field->kind == FIELD_REASON && !field->compute
		                ? write_reason(fields, field, object)
		                : write_value(field, object, whole);

		if (!put(to, field->key, value) || !write_own_reason(field, object, to))
			return false;
	}
	return true;
}

json_t *field_write(const struct field *fields, const void *object, const void *whole)
{
	json_t *to = json_object();

	if (to && write_into(to, fields, object, whole))
		return to;
	json_decref(to);
	return NULL;
}

static bool dump(json_t *root, bool compact, FILE *out)
{
	size_t flags = JSON_REAL_PRECISION(REAL_DIGITS) | (compact ? JSON_COMPACT : JSON_INDENT(2));
	bool written = json_dumpf(root, out, flags) == 0 && fputc('\n', out) != EOF;

	json_decref(root);
	return written;
}

/* "bench" of "vdsocheck-bench/1", "check" of "vdsocheck/1" */
static json_t *command_name(const char *schema)
{
	const char *dash = strchr(schema, '-');

	return dash ? json_stringn(dash + 1, strcspn(dash + 1, "/")) : json_string("check");
}

bool document_write(const char *schema, const struct document_part *parts, bool compact, FILE *out)
{
	json_t *root = json_pack("{ssssso}", "schema", schema, "version", VDSOCHECK_VERSION,
		"command", command_name(schema));
	bool whole = root;

	for (; whole && parts->fields; parts++)
		whole = write_into(root, parts->fields, parts->from, parts->from);
	if (whole)
		return dump(root, compact, out);
	json_decref(root);
	return false;
}

/* ---- reading ---- */

/* Keeps the first thing that was wrong; what comes after it is walked over all the same. */
struct reader {
	struct fact *why;
	bool failed;
	char path[FIELD_KEY_SIZE]; /* of what is read: "calls[2].", or "" */
	size_t length;
};

/* The key in the object that is read; "" for the object itself. */
static void refuse(struct reader *reader, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void refuse(struct reader *reader, const char *key, const char *format, ...)
{
	char wrong[FACT_REASON_SIZE];
	va_list arguments;
	size_t length = reader->length;

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

/* Goes into a key's object, or an element of its list. Where to come back to. */
static size_t enter(struct reader *reader, const char *key, const size_t *index)
{
	size_t before = reader->length, room = sizeof(reader->path) - before;
	char *end = reader->path + before;
	int wrote = index ? snprintf(end, room, "%s[%zu].", key, *index)
	                  : snprintf(end, room, "%s.", key);

	reader->length += wrote < 0 || (size_t)wrote >= room ? strlen(end) : (size_t)wrote;
	return before;
}

static void leave(struct reader *reader, size_t before)
{
	reader->length = before;
	reader->path[before] = '\0';
}

static void read_text(
	struct reader *reader, const struct field *field, const json_t *value, char *to)
{
	struct span text = {json_string_value(value), json_string_length(value)};

	if (!json_is_string(value))
		refuse(reader, field->key, "is not a string");
	else if (to && field->kind == FIELD_TEXT)
		text_copy_span(to, field->size, text);
}

static void read_integer(
	struct reader *reader, const struct field *field, const json_t *value, void *to)
{
	json_int_t number = json_integer_value(value);
	json_int_t least = field->options & FIELD_SIGNED ? -field->most : 0;
	int32_t narrow = (int32_t)(uint32_t)number;

	if (!json_is_integer(value) || number < least || number > field->most)
		refuse(reader, field->key, "is not an integer from 0 to %" JSON_INTEGER_FORMAT,
			field->most);
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

	for (unsigned i = 0; word && field->words[i]; i++) {
		if (!*word || strcmp(field->words[i], word) != 0)
			continue;
		if (to)
			*to = i;
		return;
	}
	refuse(reader, field->key, "is not one of the words that it may be");
}

static void read_object(
	struct reader *reader, const struct document_part *part, const json_t *from);
static void read_value(
	struct reader *reader, const struct field *field, const json_t *value, void *object);

/* An object that is missing is read as an empty one: each of its facts gets a reason. */
static void read_member(
	struct reader *reader, const struct field *field, const json_t *value, void *to)
{
	const struct document_part part = {
		.fields = field->fields, .to = to, .settle = field->settle};
	size_t before = enter(reader, field->key, NULL);

	read_object(reader, &part, value);
	leave(reader, before);
}

static void read_element(struct reader *reader, const struct field *field, const json_t *value,
	size_t index, void *to)
{
	const struct document_part part = {
		.fields = field->fields, .to = to, .settle = field->settle};
	size_t before = enter(reader, field->key, &index);

	if (!*field->fields->key)
		read_value(reader, field->fields, value, to);
	else if (json_is_object(value))
		read_object(reader, &part, value);
	else
		refuse(reader, "", "is not an object");
	leave(reader, before);
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
		read_element(reader, field, json_array_get(value, i), i,
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
			refuse(reader, field->key, "is neither true nor false");
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
		if (json_is_object(value))
			read_member(reader, field, value, to);
		else
			refuse(reader, field->key, "is not an object");
		break;
	case FIELD_LIST:
		read_list(reader, field, value, field->compute ? NULL : object);
		break;
	case FIELD_INLINE: /* of documents that are not read */
		break;
	}
}

static struct fact *fact_in(const size_t *offset, void *object)
{
	return (struct fact *)(void *)((char *)object + *offset);
}

/* Null or missing: what is not there has to be allowed to be so. */
static void read_nothing(
	struct reader *reader, const struct field *field, const json_t *value, void *object)
{
	static const double no_real = -1;
	static const int64_t no_integer = -1;

	if (value && field->options & FIELD_FILLED)
		refuse(reader, field->key, "is null");
	else if (!value && field->options & FIELD_NEEDED)
		refuse(reader, field->key, "is missing");
	else if (field->kind == FIELD_OBJECT && object && !field->compute)
		read_member(reader, field, NULL, (char *)object + field->at);
	else if (field->options & FIELD_NEGATIVE_NONE && object && !field->compute)
		memcpy((char *)object + field->at,
			field->kind == FIELD_REAL ? (const void *)&no_real : &no_integer,
			field->size);
}

static void read_field(
	struct reader *reader, const struct field *field, const json_t *from, void *object)
{
	const json_t *value = json_object_get(from, field->key);

	if (!value || json_is_null(value)) {
		read_nothing(reader, field, value, object);
		return;
	}
	read_value(reader, field, value, object);
	if (object && field->fact && field->kind != FIELD_REASON &&
		(field->kind != FIELD_KNOWN || json_is_true(value)))
		fact_set_known(fact_in(field->fact, object));
}

/* The reason of a fact that no value made known; of a part without its whole: a contradiction. */
static void read_reason(
	struct reader *reader, const struct field *field, const json_t *from, void *object)
{
	const json_t *said;
	char key[FIELD_KEY_SIZE],
		reason[FACT_REASON_SIZE + 16] = "unread: the document does not say";

	snprintf(key, sizeof(key), "%s%s", field->reason ? field->reason : field->key,
		field->options & FIELD_OWN_REASON ? "_reason" : "");
	said = json_object_get(from, key);
	if (json_is_string(said))
		text_copy_span(reason, sizeof(reason),
			(struct span){json_string_value(said), json_string_length(said)});
	else if (said && !json_is_null(said))
		refuse(reader, key, "is not a string");
	if (!fact_is_known(fact_in(field->fact, object)))
		fact_set_described(fact_in(field->fact, object), reason);
	else if (field->whole && !fact_is_known(fact_in(field->whole, object)))
		refuse(reader, field->key, "is given, although what it is a part of is not");
}

static void read_object(struct reader *reader, const struct document_part *part, const json_t *from)
{
	const char *wrong;

	for (const struct field *field = part->fields; field->key; field++)
		read_field(reader, field, from, part->to);
	if (!part->to || reader->failed)
		return;
	wrong = part->settle ? part->settle(part->to, from) : NULL;
	if (wrong)
		refuse(reader, "", "%s", wrong);
	for (const struct field *field = part->fields; field->key; field++) {
		if (field->fact)
			read_reason(reader, field, from, part->to);
	}
}

bool field_read(const struct document_part *parts, const json_t *root, struct fact *why)
{
	struct reader reader = {.why = why};

	for (; parts->fields; parts++)
		read_object(&reader, parts, root);
	return !reader.failed;
}

/* ---- JSON Schema ---- */

static bool is_nullable(const struct field *field)
{
	if (field->options & FIELD_FILLED)
		return false;
	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_STRING:
	case FIELD_REASON:
		return true;
	case FIELD_KNOWN:
		return field->options & FIELD_ABSENT_FALSE;
	case FIELD_WORD:
		if (!field->compute && !*field->words[0])
			return true;
		break;
	default:
		break;
	}
	return field->compute || field->has || field->fact || field->whole ||
	       field->options & FIELD_NEGATIVE_NONE;
}

static const char *type_name(enum field_kind kind)
{
	switch (kind) {
	case FIELD_FLAG:
	case FIELD_KNOWN:
		return "boolean";
	case FIELD_INTEGER:
		return "integer";
	case FIELD_REAL:
		return "number";
	case FIELD_OBJECT:
		return "object";
	case FIELD_LIST:
		return "array";
	default:
		return "string";
	}
}

static bool put_words(json_t *schema, const struct field *field)
{
	json_t *words = json_array();

	for (const char *const *word = field->words; *word; word++) {
		if (**word && json_array_append_new(words, json_string(*word)) != 0)
			return json_decref(words), false;
	}
	if (is_nullable(field) && json_array_append_new(words, json_null()) != 0)
		return json_decref(words), false;
	return put(schema, "enum", words);
}

static bool put_range(json_t *schema, const struct field *field)
{
	json_int_t least = field->options & FIELD_SIGNED ? -field->most : 0;

	return put(schema, "minimum", json_integer(least)) &&
	       put(schema, "maximum", json_integer(field->most));
}

static bool put_fields(json_t *schema, const struct document_part *parts);

static json_t *value_schema(const struct field *field)
{
	const struct document_part inner[] = {{.fields = field->fields}, {0}};
	json_t *schema = json_object();
	const char *type = type_name(field->kind);
	bool is_list = field->kind == FIELD_LIST;
	bool made = put(schema, "type",
		is_nullable(field) ? json_pack("[ss]", type, "null") : json_string(type));

	if (made && field->kind == FIELD_WORD)
		made = put_words(schema, field);
	if (made && (field->kind == FIELD_INTEGER || field->kind == FIELD_REAL))
		made = put_range(schema, field);
	if (made && field->kind == FIELD_OBJECT)
		made = put_fields(schema, inner);
	if (made && is_list && *field->fields->key) {
		json_t *items = json_pack("{ss}", "type", "object");

		made = put_fields(items, inner);
		made = put(schema, "items", items) && made;
	} else if (made && is_list) {
		made = put(schema, "items", value_schema(field->fields));
	}
	if (made)
		return schema;
	json_decref(schema);
	return NULL;
}

static bool put_field(json_t *properties, json_t *required, const struct field *field)
{
	char key[FIELD_KEY_SIZE];

	if (!put(properties, field->key, value_schema(field)))
		return false;
	if (!(field->options & FIELD_LEFT_OUT) &&
		json_array_append_new(required, json_string(field->key)) != 0)
		return false;
	if (!(field->options & FIELD_OWN_REASON))
		return true;
	snprintf(key, sizeof(key), "%s_reason", field->key);
	return put(properties, key, json_pack("{ss}", "type", "string"));
}

/* What is written has every key, so all are required; others may be there, too. */
static bool put_fields(json_t *schema, const struct document_part *parts)
{
	json_t *properties = json_object(), *required = json_array();
	bool made = properties && required;

	for (; made && parts->fields; parts++) {
		for (const struct field *field = parts->fields; made && field->key; field++)
			made = put_field(properties, required, field);
	}
	made = put(schema, "properties", properties) && made;
	return put(schema, "required", required) && made;
}

bool document_schema(const char *name, const struct document_part *parts, FILE *out)
{
	json_t *schema =
		json_pack("{ss ss+ ss}", "$schema", "https://json-schema.org/draft/2020-12/schema",
			"title", "vdsocheck: ", name, "type", "object");
	json_t *head = json_pack("{s{ss} s{ss} s{so}}", "schema", "const", name, "version", "type",
		"string", "command", "const", command_name(name));

	if (head && schema && put_fields(schema, parts) &&
		json_object_update(head, json_object_get(schema, "properties")) == 0 &&
		json_object_set(schema, "properties", head) == 0 &&
		json_array_insert_new(
			json_object_get(schema, "required"), 0, json_string("schema")) == 0 &&
		json_array_insert_new(
			json_object_get(schema, "required"), 1, json_string("version")) == 0 &&
		json_array_insert_new(
			json_object_get(schema, "required"), 2, json_string("command")) == 0) {
		json_decref(head);
		return dump(schema, false, out);
	}
	json_decref(head);
	json_decref(schema);
	return false;
}
