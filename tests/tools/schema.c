/* SPDX-License-Identifier: MIT */
/*
 * Prints the JSON Schema (draft 2020-12) of a document, made from its table of fields. `make
 * schema` keeps them in src/share/.
 */
#include <stdio.h>
#include <string.h>

#include "check/model.h"
#include "commands.h"
#include "document/field.h"
#include "report.h"

/* The exit statuses of the command, in words. */
static const char *status;

static bool is_nullable(const struct field *fields, const struct field *field)
{
	if (field->options & FIELD_FILLED)
		return false;
	if (field_whole(fields))
		return true;
	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_STRING:
	case FIELD_REAL:
	case FIELD_REASON:
	case FIELD_WHOLE:
		return true;
	case FIELD_WORD:
		for (unsigned i = 0; !field->compute && field_word(field, i); i++) {
			if (!*field_word(field, i))
				return true;
		}
		break;
	default:
		break;
	}
	return field->compute || field->given || field->fact;
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

/* The key that says why the row is null, of the row or of its table's whole; NULL: none does. */
static const char *reason_key(
	const struct field *fields, const struct field *field, char own[FIELD_KEY_SIZE])
{
	const char *key = field_reason_key(field, own);
	const struct field *whole = field_whole(fields);

	return key || !whole || field_is_reason(field) ? key : whole->key;
}

/* "why a or b is null; else null", of the rows that name this reason; NULL: none does. */
static json_t *describe_reason(const struct field *fields, const char *reason)
{
	char text[4 * FIELD_KEY_SIZE];
	size_t used = 0;

	for (const struct field *field = fields; field->key; field++) {
		if (field->reason && strcmp(field->reason, reason) == 0 && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
				used ? " or " : "", field->key);
	}
	return used ? json_sprintf("why %s is null; else null", text) : NULL;
}

/* "ok: no clock ran backwards; warps: ..." */
static json_t *describe_words(const struct answer *answer)
{
	char text[1024] = "";

	for (; answer->word; answer++)
		text_append(text, sizeof(text), "%s%s: %s", *text ? "; " : "", answer->word,
			answer->meaning);
	return json_string(text);
}

/* "0: ok; 1: warps; ...", and the row's doc. */
static json_t *describe_statuses(const struct field *field)
{
	char text[1024] = "";

	if (field->answers->status == STATUS_OF_RUN)
		return json_stringn(status, strlen(status) - 1);
	for (int i = 0; i < EXIT_TROUBLE; i++) {
		bool begun = false;

		for (const struct answer *answer = field->answers; answer->word; answer++) {
			if (answer->status != i)
				continue;
			if (!begun)
				text_append(text, sizeof(text), "%s%d", *text ? "; " : "", i);
			text_append(text, sizeof(text), "%s %s", begun ? "," : ":", answer->word);
			begun = true;
		}
	}
	return json_sprintf("%s%s%s", text, field->doc ? "; " : "", field->doc ? field->doc : "");
}

/* The row's doc, and where to find why it is null unless it says that itself. */
static void put_description(json_t *schema, const struct field *fields, const struct field *field)
{
	char own[FIELD_KEY_SIZE];
	const char *reason = reason_key(fields, field, own);
	json_t *text = NULL;

	if (field->answers && field->kind == FIELD_INTEGER)
		text = describe_statuses(field);
	else if (field->answers && !field->doc)
		text = describe_words(field->answers);
	else if (!field->doc && field->kind == FIELD_REASON)
		text = describe_reason(fields, field->key);
	else if (field->doc && reason && is_nullable(fields, field) &&
		 !strstr(field->doc, "null: "))
		text = json_sprintf("%s; null: see %s", field->doc, reason);
	else if (field->doc)
		text = json_string(field->doc);
	if (text)
		field_put(schema, "description", text);
}

static void put_words(json_t *schema, const struct field *fields, const struct field *field)
{
	json_t *words = json_array();

	for (unsigned i = 0; field_word(field, i); i++) {
		if (*field_word(field, i))
			json_array_append_new(words, json_string(field_word(field, i)));
	}
	if (is_nullable(fields, field))
		json_array_append_new(words, json_null());
	field_put(schema, "enum", words);
}

static void put_fields(
	json_t *schema, json_t *properties, json_t *required, const struct field *fields);

/* `fields` is the table that the row is in. */
static json_t *value_schema(const struct field *fields, const struct field *field)
{
	json_int_t least = field->options & FIELD_SIGNED ? -field->most : 0;
	const char *type = type_name(field->kind);
	json_t *schema = json_object(), *items;

	put_description(schema, fields, field);
	field_put(schema, "type",
		is_nullable(fields, field) ? json_pack("[ss]", type, "null") : json_string(type));
	if (field->kind == FIELD_WORD)
		put_words(schema, fields, field);
	if (field->kind == FIELD_INTEGER || field->kind == FIELD_REAL) {
		field_put(schema, "minimum", json_integer(least));
		if (field->most)
			field_put(schema, "maximum", json_integer(field->most));
	}
	if (field->kind == FIELD_OBJECT)
		put_fields(schema, json_object(), json_array(), field->fields);
	if (field->kind == FIELD_LIST && *field->fields->key) {
		items = json_pack("{ss}", "type", "object");
		put_fields(items, json_object(), json_array(), field->fields);
		field_put(schema, "items", items);
	} else if (field->kind == FIELD_LIST) {
		field_put(schema, "items", value_schema(field->fields, field->fields));
	}
	return schema;
}

static void put_table(json_t *properties, json_t *required, const struct field *fields)
{
	char key[FIELD_KEY_SIZE];

	for (const struct field *field = fields; field->key; field++) {
		if (field->kind == FIELD_INLINE) {
			put_table(properties, required, field->fields);
			continue;
		}
		if (field->options & FIELD_COLUMN)
			continue;
		field_put(properties, field->key, value_schema(fields, field));
		json_array_append_new(required, json_string(field->key));
		if (!field_has_own_reason(field))
			continue;
		field_put(properties, field_reason_key(field, key),
			json_pack("{so ss}", "description",
				json_sprintf("why %s is null; else missing", field->key), "type",
				"string"));
	}
}

/*
 * All keys that are written are required, and others are allowed. Takes the two, which may have
 * the keys of a head.
 */
static void put_fields(
	json_t *schema, json_t *properties, json_t *required, const struct field *fields)
{
	put_table(properties, required, fields);
	field_put(schema, "properties", properties);
	field_put(schema, "required", required);
}

static bool write_schema(const char *name, const struct field *fields, FILE *out)
{
	const char *number = strchr(name, '/');
	json_t *schema = json_pack("{ss so ss+ ss}", "$schema",
		"https://json-schema.org/draft/2020-12/schema", "$id",
		json_sprintf("urn:%.*s:%s", (int)(number - name), name, number + 1), "title",
		"vdsocheck: ", name, "type", "object");
	json_t *head = json_pack("{s{ss ss} s{ss ss} s{ss so}}", "schema", "description",
		"name and number of this schema", "const", name, "version", "description",
		"version of vdsocheck that wrote the document", "type", "string", "command",
		"description", "command that wrote it", "const", field_command(name));

	put_fields(schema, head, json_pack("[sss]", "schema", "version", "command"), fields);
	field_dump(schema, false, out);
	return true;
}

static bool print_schema(const char *name)
{
	struct field head[8], fields[] = {{.key = "", .kind = FIELD_INLINE, .fields = head},
				      {.key = "", .kind = FIELD_INLINE}, {0}};
	size_t count = 0;

	if (strcmp(name, "check") == 0)
		return write_schema(DOCUMENT_SCHEMA, check_fields, stdout);
	for (size_t i = 0; command_list[i]; i++) {
		const struct command *command = command_list[i];

		if (!command->report || strcmp(name, command->name) != 0)
			continue;
		/* report_fields, with the answers of the command. */
		do {
			head[count] = report_fields[count];
			if (head[count].kind == FIELD_WORD || head[count].kind == FIELD_INTEGER)
				head[count].answers = command->answers;
		} while (report_fields[count++].key);
		fields[1].fields = command->report->fields;
		status = command->status;
		return write_schema(command->report->schema, fields, stdout);
	}
	return false;
}

int main(int argc, char **argv)
{
	if (argc == 2 && print_schema(argv[1]) && fflush(stdout) == 0)
		return 0;
	fputs("schema: give the name of one document; or nothing can be written\n", stderr);
	return 1;
}
