/* SPDX-License-Identifier: MIT */
/*
 * Reads mangled symbols: those of C++ by the Itanium C++ ABI, which older Rust has, too, and those
 * of Rust's "v0". Only the qualified name is written: parameters and template arguments are
 * skipped. A symbol that is not understood stays as it is.
 */
#include "names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* No symbol of real code needs more. References make some that are short endless. */
#define STEPS_MOST 4096
#define DEPTH_MOST 64

struct symbol {
	struct span rest;
	const char *start; /* references are relative to it */
	char *to;
	size_t size, length; /* of the name that is written */
	size_t last;         /* start of its last component */
	unsigned steps, depth, silent;
	bool failed;
};

static void skip_list(struct symbol *symbol);
static void read_path(struct symbol *symbol);
static void read_type(struct symbol *symbol);

static char peek(const struct symbol *symbol)
{
	static const char end;

	return *(symbol->rest.length ? symbol->rest.at : &end);
}

/* Takes the character if it comes next. */
static bool take(struct symbol *symbol, char character)
{
	if (peek(symbol) != character || ++symbol->steps > STEPS_MOST)
		return false;
	symbol->rest.at++;
	symbol->rest.length--;
	return true;
}

static char take_any(struct symbol *symbol)
{
	char character = peek(symbol);

	symbol->failed |= !character || !take(symbol, character);
	return character;
}

static void take_through(struct symbol *symbol, char end)
{
	while (!symbol->failed && take_any(symbol) != end)
		;
}

static bool enter(struct symbol *symbol)
{
	symbol->failed |= ++symbol->depth > DEPTH_MOST || ++symbol->steps > STEPS_MOST;
	return !symbol->failed;
}

static void write_text(struct symbol *symbol, struct span text)
{
	if (symbol->silent)
		return;
	for (size_t i = 0; i < text.length && symbol->length + 1 < symbol->size; i++)
		symbol->to[symbol->length++] = text.at[i];
}

static void write_separator(struct symbol *symbol)
{
	if (symbol->length)
		write_text(symbol, text_span("::"));
	if (!symbol->silent)
		symbol->last = symbol->length;
}

static size_t take_length(struct symbol *symbol)
{
	size_t length = 0;

	while (isdigit((unsigned char)peek(symbol)) && length <= symbol->rest.length)
		length = length * 10 + (size_t)(take_any(symbol) - '0');
	return length;
}

static struct span take_bytes(struct symbol *symbol, size_t length)
{
	struct span bytes = {symbol->rest.at, length};

	if (length > symbol->rest.length) {
		symbol->failed = true;
		bytes.length = 0;
	}
	symbol->rest.at += bytes.length;
	symbol->rest.length -= bytes.length;
	return bytes;
}

/* Takes "3now". */
static struct span take_identifier(struct symbol *symbol)
{
	return take_bytes(symbol, take_length(symbol));
}

/* ---- C++ ---- */

/* Skips "i42E" behind the L, or a name that other files do not have. */
static void skip_literal(struct symbol *symbol)
{
	bool has_name = isdigit((unsigned char)peek(symbol));

	if (take(symbol, '_')) { /* of a function */
		take(symbol, 'Z');
		skip_list(symbol);
		return;
	}
	if (has_name)
		take_identifier(symbol);
	else if (take(symbol, 'N'))
		skip_list(symbol);
	if (!has_name || isdigit((unsigned char)peek(symbol)))
		take_through(symbol, 'E');
}

/* Skips types, arguments and expressions to the end of their list. */
static void skip_list(struct symbol *symbol)
{
	bool is_end = !enter(symbol);

	while (!is_end && !symbol->failed) {
		char code, next;

		if (isdigit((unsigned char)peek(symbol))) {
			take_identifier(symbol);
			continue;
		}
		code = take_any(symbol);
		next = peek(symbol);
		is_end = code == 'E';
		if (code == 'L')
			skip_literal(symbol);
		else if (code == 'D' || (code == 'S' && islower((unsigned char)next)))
			take_any(symbol);
		if (strchr("INXJFZ", code) || (code == 'D' && strchr("tTOw", next)) ||
			(code == 'U' && next == 'l'))
			skip_list(symbol);
		if (code == 'A' || code == 'T' || (code == 'S' && !islower((unsigned char)next)) ||
			(code == 'D' && next == 'v') || (code == 'U' && strchr("lt", next)))
			take_through(symbol, '_');
	}
	symbol->depth--;
}

/* Says whether it is what older Rust puts behind a name: "h" and 16 digits. */
static bool is_hash(struct span name)
{
	uint64_t hash;

	return name.length == 17 && *name.at == 'h' &&
	       number_parse_hex((struct span){name.at + 1, 16}, &hash);
}

/* Older Rust has "$LT$" for "<" in names, and ".." for "::". */
static void write_identifier(struct symbol *symbol, struct span name)
{
	static const struct {
		const char *code, *text;
	} rows[] = {{"..", "::"}, {"_$LT$", "<"}, {"$LT$", "<"}, {"$GT$", ">"}, {"$RF$", "&"},
		{"$BP$", "*"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","}, {"$u20$", " "},
		{"$u7b$", "{"}, {"$u7d$", "}"}, {"$u5b$", "["}, {"$u5d$", "]"}};

	while (name.length) {
		size_t i = strchr("._$", *name.at) ? 0 : sizeof(rows) / sizeof(*rows);

		while (i < sizeof(rows) / sizeof(*rows) && !text_take_prefix(&name, rows[i].code))
			i++;
		if (i < sizeof(rows) / sizeof(*rows)) {
			write_text(symbol, text_span(rows[i].text));
		} else {
			write_text(symbol, (struct span){name.at, 1});
			name = (struct span){name.at + 1, name.length - 1};
		}
	}
}

static void write_component(struct symbol *symbol, struct span name)
{
	write_separator(symbol);
	write_identifier(symbol,
		text_starts(name, "_GLOBAL__N_") ? text_span("(anonymous namespace)") : name);
}

/* A constructor, or a destructor, has the name of its class. */
static void write_structor(struct symbol *symbol, const char *mark)
{
	char class[128];
	size_t length = symbol->length - symbol->last;

	length = length < sizeof(class) ? length : sizeof(class) - 1;
	memcpy(class, symbol->to + symbol->last, length);
	take_any(symbol);
	write_component(symbol, text_span(mark));
	write_text(symbol, (struct span){class, length});
}

/* Reads a component of a name, or what is behind one: arguments, or a tag of the ABI. */
static void read_component(struct symbol *symbol)
{
	static const char standard[][16] = {
		"allocator", "basic_string", "string", "istream", "ostream", "iostream"};
	const char *short_name;
	struct span name;

	take(symbol, 'L');
	if (isdigit((unsigned char)peek(symbol))) {
		name = take_identifier(symbol);
		if (!is_hash(name) || peek(symbol) != 'E')
			write_component(symbol, name);
	} else if (take(symbol, 'I')) {
		skip_list(symbol);
	} else if (take(symbol, 'B')) {
		take_identifier(symbol);
	} else if (take(symbol, 'S')) {
		short_name = strchr("absiodt", take_any(symbol));
		if (!short_name || !*short_name) {
			symbol->failed = true;
			return;
		}
		write_component(symbol, text_span("std"));
		if (*short_name != 't')
			write_component(symbol, text_span(standard[6 - strlen(short_name) + 1]));
	} else if (take(symbol, 'C')) {
		write_structor(symbol, "");
	} else if (take(symbol, 'D')) {
		write_structor(symbol, "~");
	} else if (take(symbol, 'U')) {
		if (take_any(symbol) == 'l')
			skip_list(symbol);
		take_through(symbol, '_');
		write_component(symbol, text_span("{lambda}"));
	} else if (islower((unsigned char)peek(symbol))) {
		bool is_call = take_any(symbol) == 'c' && peek(symbol) == 'l';

		take_any(symbol);
		write_component(symbol, text_span(is_call ? "operator()" : "operator"));
	} else {
		symbol->failed = true;
	}
}

static void read_name(struct symbol *symbol)
{
	if (!enter(symbol))
		return;
	if (take(symbol, 'Z')) { /* in a function */
		read_name(symbol);
		skip_list(symbol);
		read_name(symbol);
	} else if (take(symbol, 'N')) {
		while (take(symbol, 'r') || take(symbol, 'V') || take(symbol, 'K') ||
			take(symbol, 'R') || take(symbol, 'O'))
			;
		while (!symbol->failed && !take(symbol, 'E'))
			read_component(symbol);
	} else {
		if (text_starts(symbol->rest, "St"))
			read_component(symbol);
		read_component(symbol);
		if (peek(symbol) == 'I')
			read_component(symbol);
	}
	symbol->depth--;
}

/* ---- Rust ---- */

/* Takes a number of base 62, "_" for 0 and "0_" for 1. */
static size_t take_number(struct symbol *symbol)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t value = 0;

	if (take(symbol, '_'))
		return 0;
	while (!symbol->failed && !take(symbol, '_')) {
		const char *digit = strchr(digits, take_any(symbol));

		symbol->failed |= !digit;
		value = value * 62 + (size_t)(digit ? digit - digits : 0);
	}
	return value + 1;
}

static void take_disambiguator(struct symbol *symbol)
{
	if (take(symbol, 's'))
		take_number(symbol);
}

/* Takes "s_3now". Punycode, which begins with 'u', is left as it is. */
static struct span take_rust_identifier(struct symbol *symbol)
{
	size_t length;

	take_disambiguator(symbol);
	take(symbol, 'u');
	length = take_length(symbol);
	take(symbol, '_');
	return take_bytes(symbol, length);
}

/* Reads again what a number refers to, which lies before it. */
static void read_again(struct symbol *symbol, void (*read)(struct symbol *))
{
	const char *here = symbol->rest.at, *end = here + symbol->rest.length;
	size_t at = take_number(symbol);
	struct span rest = symbol->rest;

	if (at >= (size_t)(here - symbol->start)) {
		symbol->failed = true;
		return;
	}
	symbol->rest = (struct span){symbol->start + at, (size_t)(end - symbol->start) - at};
	read(symbol);
	symbol->rest = rest;
}

static void read_silently(struct symbol *symbol, void (*read)(struct symbol *))
{
	symbol->silent++;
	read(symbol);
	symbol->silent--;
}

static void read_constant(struct symbol *symbol)
{
	if (take(symbol, 'B')) {
		read_again(symbol, read_constant);
	} else if (!take(symbol, 'p')) {
		read_type(symbol);
		take_through(symbol, '_');
	}
}

static void read_argument(struct symbol *symbol)
{
	if (take(symbol, 'L'))
		take_number(symbol);
	else if (take(symbol, 'K'))
		read_constant(symbol);
	else
		read_type(symbol);
}

static void read_list(struct symbol *symbol, void (*read)(struct symbol *))
{
	while (!symbol->failed && !take(symbol, 'E'))
		read_silently(symbol, read);
}

/* Reads a trait, with the types that it is for. */
static void read_bound(struct symbol *symbol)
{
	read_path(symbol);
	while (!symbol->failed && take(symbol, 'p')) {
		take_rust_identifier(symbol);
		read_type(symbol);
	}
}

static void read_type(struct symbol *symbol)
{
	static const char basic[][6] = {"i8", "bool", "char", "f64", "str", "f32", "", "u8",
		"isize", "usize", "", "i32", "u32", "i128", "u128", "_", "", "", "i16", "u16", "()",
		"...", "", "i64", "u64", "!"};
	char code = peek(symbol);

	if (!enter(symbol))
		return;
	if (code >= 'a' && code <= 'z' && *basic[code - 'a']) {
		take_any(symbol);
		write_text(symbol, text_span(basic[code - 'a']));
	} else if (take(symbol, 'B')) {
		read_again(symbol, read_type);
	} else if (take(symbol, 'A') || take(symbol, 'S')) {
		write_text(symbol, text_span("["));
		read_type(symbol);
		write_text(symbol, text_span("]"));
		if (code == 'A')
			read_silently(symbol, read_constant);
	} else if (take(symbol, 'T')) {
		write_text(symbol, text_span("(..)"));
		read_list(symbol, read_type);
	} else if (take(symbol, 'R') || take(symbol, 'Q') || take(symbol, 'P') ||
		   take(symbol, 'O')) {
		if (take(symbol, 'L'))
			take_number(symbol);
		write_text(symbol, text_span(code < 'Q' ? "*" : "&"));
		read_type(symbol);
	} else if (take(symbol, 'F') || take(symbol, 'D')) {
		write_text(symbol, text_span(code == 'F' ? "fn" : "dyn"));
		if (take(symbol, 'G'))
			take_number(symbol);
		if (code == 'F' && (take(symbol, 'U'), take(symbol, 'K')) && !take(symbol, 'C'))
			take_rust_identifier(symbol);
		read_list(symbol, code == 'F' ? read_type : read_bound);
		read_silently(symbol, read_argument); /* the result, or a lifetime */
	} else {
		read_path(symbol);
	}
	symbol->depth--;
}

static void read_path(struct symbol *symbol)
{
	char code = take_any(symbol), space;
	struct span name;

	if (!enter(symbol))
		return;
	switch (code) {
	case 'C':
		name = take_rust_identifier(symbol);
		write_text(symbol, name);
		break;
	case 'N':
		space = take_any(symbol);
		read_path(symbol);
		name = take_rust_identifier(symbol);
		if (name.length || space == 'C')
			write_text(symbol, text_span("::"));
		write_text(symbol, name.length ? name : text_span(space == 'C' ? "{closure}" : ""));
		break;
	case 'M': /* of a type */
	case 'X': /* of a trait for a type */
		take_disambiguator(symbol);
		read_silently(symbol, read_path);
		read_type(symbol);
		if (code == 'X')
			read_silently(symbol, read_path);
		break;
	case 'Y':
		read_type(symbol);
		read_silently(symbol, read_path);
		break;
	case 'I':
		read_path(symbol);
		read_list(symbol, read_argument);
		break;
	case 'B':
		read_again(symbol, read_path);
		break;
	default:
		symbol->failed = true;
	}
	symbol->depth--;
}

void name_read(struct span mangled, char *to, size_t size)
{
	char name[256];
	struct symbol symbol = {.rest = mangled, .to = name, .size = sizeof(name)};

	if (text_take_prefix(&symbol.rest, "_Z")) {
		read_name(&symbol);
	} else if (text_take_prefix(&symbol.rest, "_R")) {
		symbol.start = symbol.rest.at;
		read_path(&symbol);
	}
	if (symbol.length && !symbol.failed)
		mangled = (struct span){name, symbol.length};
	text_copy_span(to, size, mangled);
}
