/* SPDX-License-Identifier: MIT */
/*
 * Documents are JSON objects described by tables of fields. A row of a table is one key: the place
 * of its value in a struct, its type, and when it is null. One walk over the rows writes a
 * document, one reads it, one prints its JSON Schema. Adding a key is adding a row. The schema
 * completes its `doc` with the key that says why it is null, and describes reasons.
 *
 * A value is null for one of two reasons: it is not known, which is a fact with its reason, or
 * there is none. What a new row takes:
 *
 *	a new value                    its row
 *
 *	may be unknown                 TEXT_FACT(), NUMBER_FACT() ... of a struct text_fact ...;
 *	                               KEY_reason stands after it where it is null
 *	several with one reason        .fact = FACT(fact), .reason = "why", and REASON("why")
 *	                               below; the first makes the fact known
 *	all those of one measurement   WHOLE("reason", fact) once in their table
 *	there may be none: text, real  nothing: it is empty, NULL or NAN then
 *	there may be none: others      .given = GIVEN(member), which is zero then
 *	never null                     .options = FIELD_FILLED
 *
 * A row is written with the macros below, between `#define OF struct NAME` and `#undef OF`:
 *
 *	#define OF struct timing_evidence
 *	static const struct field timing_fields[] = {
 *		{TEXT("counter", counter), .doc = "name of the counter; null: none known"},
 *		{NS("median_ns", median_ns), .doc = "ns per read, median of all batches"},
 *		{0},
 *	};
 *	#undef OF
 */
#ifndef VDSOCHECK_DOCUMENT_H
#define VDSOCHECK_DOCUMENT_H

#include <jansson.h>
#include <stdio.h>

#include "base/answer.h"
#include "evidence.h"

/* The schema of documents of `check`, the only ones that are read. */
#define DOCUMENT_SCHEMA "vdsocheck/1"

/* A check's documents are some ten kilobytes; a larger file is refused. */
#define DOCUMENT_SIZE_MAX (1024 * 1024)

/* The longest time that is believed, in nanoseconds: a year. */
#define DOCUMENT_NS_MAX 32000000000000000

/* The type of a field's member, and the form of its value. */
enum field_kind {
	FIELD_TEXT,    /* char[size]; null where it is empty */
	FIELD_STRING,  /* const char *, written only; null where it is NULL or empty */
	FIELD_FLAG,    /* bool */
	FIELD_INTEGER, /* an integer of 4 or 8 bytes; is read from 0 to `most` */
	FIELD_REAL,    /* double, null if NAN; of `decimals`, all if negative; read up to `most` */
	FIELD_WORD,    /* an enum; `words` has its names, ended by NULL, "" is null; or `answers` */
	FIELD_KNOWN,   /* true where the row's fact is known, else false */
	FIELD_REASON,  /* why the facts that name this key as their reason are not known */
	FIELD_OBJECT,  /* a struct described by `fields` */
	FIELD_INLINE,  /* a struct whose fields are among these */
	FIELD_LIST,    /* an array of them, or of one value each if the only row has the key "" */
	FIELD_WHOLE, /* the reason of its fact, without which all rows are null but FIELD_FILLED */
};

/* Options of a field, to be added up. */
enum field_option {
	FIELD_NEEDED = 1 << 0,  /* a document without it, or its reason, is refused */
	FIELD_FILLED = 1 << 1,  /* never null */
	FIELD_ABSENT = 1 << 2,  /* that its fact is absent is a value: false, or an empty list */
	FIELD_SIGNED = 1 << 3,  /* a number that may be below zero, down to -`most` */
	FIELD_POINTER = 1 << 4, /* the member points to the struct or list; is not read */
	FIELD_COLUMN = 1 << 5,  /* only a column of tables, not a key of documents */
	FIELD_ONCE = 1 << 6,    /* the column's cell is blank where it repeats the one above */
	FIELD_SPARE = 1 << 7,   /* the column is left out of a table that is too wide */
	FIELD_RARE = 1 << 8,    /* the column is left out of a table where all are null */
	FIELD_UNREAD = 1 << 9,  /* FIELD_INLINE: only the types of its values are checked */
};

/* A bool, number or pointer that is zero where a value is null. */
struct field_given {
	size_t at, size;
};

/* One key of a document. Offsets are into the struct that the table describes. */
struct field {
	const char *key; /* NULL ends a table */
	const char *doc; /* meaning, unit and null of the key, for the schema */
	enum field_kind kind;
	size_t at, size; /* the member; of a list, its first element */
	unsigned options;
	int decimals;
	json_int_t most;
	const char *const *words;
	const struct answer *answers; /* the words, or, of an integer, the exit statuses */
	const struct field *fields;
	size_t count_at, count_most;     /* a list's size_t with its length, and the limit */
	const size_t *fact;              /* offset of its fact: null unless that is known */
	const char *reason;              /* the key that says why; NULL: KEY_reason; or NO_REASON */
	const struct field_given *given; /* null where this member of the object is zero */

	/*
	 * Makes the value of a row without a member, from the object and from the whole, which is
	 * the struct of the FIELD_INLINE around it or else of the document; json_null() for null.
	 * Reading checks the type; the value is left to `settle` of the object that it is in.
	 */
	json_t *(*compute)(const void *object, const void *whole);

	/*
	 * Derives values that no row can, after those of an object in a FIELD_OBJECT, FIELD_INLINE
	 * or FIELD_LIST were read. Returns the mistake in the object, or NULL.
	 */
	const char *(*settle)(void *object, const json_t *from);

	/* The column that table_write() makes of the field. */
	const char *title; /* its heading; NULL: the row is not a column */
	int width;         /* characters at least, with the blanks before it */
	int cell_decimals; /* decimals of a real number in the column; 0: those of the value */
	bool left;         /* starts at the left of its width */
	/* Prints a cell that is not the value itself; prints nothing for null. */
	void (*cell)(const void *object, const void *whole, FILE *out);
};

/* A member whose size is not that of one of two types makes a division by zero. */
#define MEMBER(member) .at = offsetof(OF, member), .size = sizeof(((OF *)0)->member)
#define SIZED(member, narrow, wide)                                                                \
	.at = offsetof(OF, member),                                                                \
	.size = sizeof(((OF *)0)->member) / (sizeof(((OF *)0)->member) == sizeof(narrow) ||        \
						    sizeof(((OF *)0)->member) == sizeof(wide))

/* The compiler warns of a member that is not of this type. */
#define TYPED(member, pointer)                                                                     \
	.at = offsetof(OF, member),                                                                \
	.size = sizeof(((OF *)0)->member) + 0 * sizeof((pointer){&((OF *)0)->member})

/* Older gcc believes that a compound literal ends the designated initializers (gcc bug 82283). */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif

#define FACT(member) (&(const size_t){offsetof(OF, member)})
#define GIVEN(member)                                                                              \
	(&(const struct field_given){offsetof(OF, member),                                         \
		sizeof(((OF *)0)->member) / (sizeof(((OF *)0)->member) <= sizeof(uint64_t))})

#define TEXT(name, member) .key = name, .kind = FIELD_TEXT, TYPED(member, char(*)[])
#define STRING(name, member) .key = name, .kind = FIELD_STRING, TYPED(member, const char **)
#define FLAG(name, member) .key = name, .kind = FIELD_FLAG, TYPED(member, bool *)
#define INTEGER(name, member, limit)                                                               \
	.key = name, .kind = FIELD_INTEGER, .most = (limit), SIZED(member, uint32_t, uint64_t)
/* A natural number of a document that is not read, which sets no limit. */
#define NATURAL(name, member) .key = name, .kind = FIELD_INTEGER, SIZED(member, uint32_t, uint64_t)
#define REAL(name, member, digits)                                                                 \
	.key = name, .kind = FIELD_REAL, .most = DOCUMENT_NS_MAX, .decimals = (digits),            \
	TYPED(member, double *)
#define NS(name, member) REAL(name, member, 1)
#define WORD(name, member, names)                                                                  \
	.key = name, .kind = FIELD_WORD, .words = (names), SIZED(member, unsigned, unsigned)
#define ANSWER(name, member, table)                                                                \
	.key = name, .kind = FIELD_WORD, .answers = (table), SIZED(member, unsigned, unsigned)
#define KNOWN(name, member) .key = name, .kind = FIELD_KNOWN, .fact = FACT(member)
#define REASON(name) .key = name, .kind = FIELD_REASON
#define WHOLE(name, member) .key = name, .kind = FIELD_WHOLE, .fact = FACT(member)
#define OBJECT(name, member, rows)                                                                 \
	.key = name, .kind = FIELD_OBJECT, .options = FIELD_FILLED, .fields = (rows), MEMBER(member)
#define INLINE(member, rows) .key = #member, .kind = FIELD_INLINE, .fields = (rows), MEMBER(member)
#define LIST(name, member, count, rows)                                                            \
	.key = name, .kind = FIELD_LIST, .fields = (rows), .at = offsetof(OF, member),             \
	.size = sizeof(((OF *)0)->member[0]), .count_at = offsetof(OF, count),                     \
	.count_most = sizeof(((OF *)0)->member) / sizeof(((OF *)0)->member[0])

/* Structs and lists that the member points to; they are written only. */
#define INLINE_AT(member, rows)                                                                    \
	.key = #member, .kind = FIELD_INLINE, .options = FIELD_POINTER, .fields = (rows),          \
	.at = offsetof(OF, member)
#define LIST_AT(name, member, count, rows)                                                         \
	.key = name, .kind = FIELD_LIST, .options = FIELD_POINTER, .fields = (rows),               \
	.at = offsetof(OF, member), .size = sizeof(((OF *)0)->member[0]),                          \
	.count_at = offsetof(OF, count)

/* The reason is in another object of the document. */
#define NO_REASON ""

/* A value made by a function; `type` is the kind that a reader has to expect. */
#define COMPUTED(name, type, function) .key = name, .kind = (type), .compute = (function)

/* A struct text_fact, flag_fact, number_fact or real_fact. */
#define TEXT_FACT(name, member) TEXT(name, member.value), .fact = FACT(member.fact)
#define FLAG_FACT(name, member) FLAG(name, member.value), .fact = FACT(member.fact)
#define NUMBER_FACT(name, member, limit)                                                           \
	INTEGER(name, member.value, limit), .fact = FACT(member.fact)
#define REAL_FACT(name, member, digits) REAL(name, member.value, digits), .fact = FACT(member.fact)

/*
 * Writes the keys schema, version and command and those of the table as one object and a newline;
 * `compact`: on one line.
 */
void document_write(
	const char *schema, const struct field *fields, const void *from, bool compact, FILE *out);

/*
 * These make values for a `compute`: an object of rows, a list of `count` elements that are `size`
 * bytes apart, a fact's reason, a rounded number (not rounded if `decimals` is negative).
 */
json_t *field_write(const struct field *fields, const void *object, const void *whole);
json_t *field_list(const struct field *fields, const void *first, size_t count, size_t size,
	const void *whole);
json_t *field_reason(const struct fact *fact);
json_t *field_real(double value, int decimals);

/*
 * Reads the check's document that the bytes begin with into `to`, the struct of the table, in which
 * all that is read must be zero. Keys that the table lacks are skipped. *used is its length, 0 if
 * it is not JSON. Returns false with the mistake, which names the key by its path, in *why: another
 * schema, a key of another type, a number out of its range, a needed key that is missing, and
 * whatever a `settle` refuses. It also names the version that wrote the document, if that is
 * another one.
 */
bool document_parse(
	struct span bytes, size_t *used, const struct field *fields, void *to, struct fact *why);

/* Returns the path for a message: "standard input" for "-". */
const char *document_name(const char *path);

/* A file of one document or more, pretty-printed or one per line, in bounded memory. */
struct document_stream;

/*
 * Opens a file at a path of this host; "-" is standard input. Once *stop is true no more is read.
 * Returns NULL with the reason.
 */
struct document_stream *document_open(
	const char *path, const volatile bool *stop, struct fact *why);
void document_close(struct document_stream *stream);

enum document_found { DOCUMENT_END, DOCUMENT_READ, DOCUMENT_BROKEN };

/*
 * Reads the next document, which begins at *line, as document_parse() does. After a broken one, or
 * an error of the file, the next can be read. A file without any is broken, too.
 */
enum document_found document_next(struct document_stream *stream, const struct field *fields,
	void *to, unsigned long *line, struct fact *why);

/* Returns false if only blanks are left; waits for more input if need be. */
bool document_has_more(struct document_stream *stream);

enum table_form {
	TABLE_TEXT,     /* aligned; a column is as wide as its widest cell, and nothing is cut */
	TABLE_MARKDOWN, /* | a | b | */
};

/* A table: its columns are the fields with a title, also those of FIELD_INLINE. */
struct table {
	const struct field *fields;
	const char *heading; /* heading of the first column; NULL: its title */
	const void *first;   /* first of `count` rows that are `size` bytes apart */
	size_t count, size;
	const void *whole; /* argument of the fields' functions */
	enum table_form form;
	int columns; /* of the line that a text is to fit; 0: any */
};

#define TABLE_ROWS(list, number) .first = (list), .count = (number), .size = sizeof(*(list))

/* Prints the table: null as "-", a number with the decimals of its column or else its field. */
void table_write(const struct table *table, FILE *out);

/*
 * Prints the values that have a title, also those of objects in the struct: "; libc glibc 2.36;
 * CPUs 4"; nothing for null.
 */
void document_print_titled(
	const struct field *fields, const void *object, const void *whole, FILE *out);

/* The keys of every command's document that say when the host was checked. */
extern const struct field timestamp_fields[];
const char *timestamp_settle(void *object, const json_t *from);

/* Clocksource and host of a struct evidence, in documents of commands that do not judge them. */
extern const struct field surroundings_fields[];

/* "vdso", "libc", "syscall", and "" for PATH_COUNT; ended by NULL. */
extern const char *const call_path_names[];

/* The other keys of a struct evidence in a check's document. */
extern const struct field all_evidence_fields[];
const char *evidence_settle(void *object, const json_t *from);

/* Two rows, with which a struct evidence is written and read. */
#define EVIDENCE_TIME(member) INLINE(member.timestamp, timestamp_fields), .settle = timestamp_settle
#define EVIDENCE(member) INLINE(member, all_evidence_fields), .settle = evidence_settle

#endif
