/* SPDX-License-Identifier: MIT */
/*
 * The columns of a report that has the served calls, too, and the places they come from. Names come
 * last, and numbers are short, so that a line has 80 characters; the document has them exactly.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "cli/text.h"
#include "model.h"

/* At most six characters: "99,999", "123 k", "1.23 M". */
static void print_short(uint64_t count, FILE *out)
{
	static const char units[] = "kMGTPE";
	double value = (double)count;
	char text[32];
	int unit = -1;

	for (; count >= 100000 && value >= 999.5; unit++)
		value /= 1000;
	if (unit < 0)
		fputs(format_count(count, text), out);
	else
		fprintf(out, "%.*f %c",
			value < 9.995   ? 2
			: value < 99.95 ? 1
					: 0,
			value, units[unit]);
}

/* The clock alone fits the line, where its call before it would not. */
static void print_name(const char *call, const char *clock, FILE *out)
{
	struct strbuf name = {.used = 0};
	const char *blank;

	describe_call_name(call, clock, &name);
	blank = strcmp(call, "clock_gettime") == 0 ? strchr(name.text, ' ') : NULL;
	fputs(blank ? blank + 1 : name.text, out);
}

/* ---- the calls ---- */

static void print_count(const void *object, const void *whole, FILE *out)
{
	const struct trace_line *line = object;

	(void)whole;
	print_short(line->count + line->served, out);
}

static void print_rate(const void *object, const void *whole, FILE *out)
{
	const struct trace_line *line = object;

	(void)whole;
	if (!isnan(line->total_per_s))
		print_short((uint64_t)(line->total_per_s + 0.5), out);
}

static void print_served(const void *object, const void *whole, FILE *out)
{
	(void)whole;
	print_short(((const struct trace_line *)object)->served, out);
}

static void print_system_calls(const void *object, const void *whole, FILE *out)
{
	(void)whole;
	print_short(((const struct trace_line *)object)->count, out);
}

/* ">": as in the other table, the cost of the system calls is that of the cheapest one. */
static void print_cost(bool is_minimum, const char *cost, FILE *out)
{
	fprintf(out, "%s%s", is_minimum ? ">" : "", cost);
}

static void print_each(const void *object, const void *whole, FILE *out)
{
	const struct trace_line *line = object;
	double calls = (double)(line->count + line->served);
	char ns[32];

	(void)whole;
	if (!isnan(line->total_s))
		print_cost(line->is_minimum && line->count,
			format_ns(line->total_s * NS_PER_SECOND / calls, ns), out);
}

static void print_total(const void *object, const void *whole, FILE *out)
{
	const struct trace_line *line = object;
	char total[32];

	(void)whole;
	if (!isnan(line->total_s))
		print_cost(line->is_minimum && line->count,
			trace_describe_seconds(line->total_s, total), out);
}

static void print_fallback(const void *object, const void *whole, FILE *out)
{
	const struct trace_line *line = object;
	char total[32];

	(void)whole;
	if (!isnan(line->fallback_s))
		print_cost(line->is_minimum, trace_describe_seconds(line->fallback_s, total), out);
}

static void print_clock(const void *object, const void *whole, FILE *out)
{
	const struct trace_line *line = object;

	(void)whole;
	print_name(line->call, line->clock, out);
}

#define COLUMN(heading, function)                                                                  \
	.key = heading, .options = FIELD_COLUMN, .title = heading, .cell = function

const struct field trace_served_fields[] = {
	{COLUMN("count", print_count), .width = 7},
	{COLUMN("per s", print_rate), .width = 7},
	{COLUMN("served", print_served), .width = 7},
	{COLUMN("system calls", print_system_calls)},
	{COLUMN("ns each", print_each)},
	{COLUMN("total", print_total), .width = 8},
	{COLUMN("fallback", print_fallback)},
	{COLUMN("clock or call", print_clock), .left = true},
	{0},
};

/* ---- the places ---- */

static void print_share(const void *object, const void *whole, FILE *out)
{
	(void)whole;
	fprintf(out, "%.1f%%", ((const struct trace_place *)object)->share_percent);
}

static void print_place_count(const void *object, const void *whole, FILE *out)
{
	(void)whole;
	print_short(((const struct trace_place *)object)->count, out);
}

static void print_place_clock(const void *object, const void *whole, FILE *out)
{
	const struct trace_place *place = object;

	(void)whole;
	print_name(place->call, place->clock, out);
}

static void print_place(const void *object, const void *whole, FILE *out)
{
	const struct trace_place *place = object;

	(void)whole;
	if (*place->address)
		fprintf(out, "%s+%s%s%s", place->module, place->address,
			*place->function ? " " : "", place->function);
	else
		fputs(*place->function   ? place->function
			: *place->module ? place->module
					 : "unknown",
			out);
}

#define OF struct trace_place

const struct field trace_place_fields[] = {
	{REAL("share_percent", share_percent, 2), .title = "share", .width = 7, .cell = print_share,
		.doc = "percent of the calls of the list"},
	{INTEGER("count", count, INT64_MAX), .title = "count", .width = 7,
		.cell = print_place_count, .doc = "calls from this place"},
	{STRING("call", call), .options = FIELD_FILLED, .title = "clock or call", .left = true,
		.cell = print_place_clock, .doc = "name of the call"},
	{STRING("clock", clock),
		.doc = "clock that the calls name, or \"other\"; null: the call takes none"},
	{TEXT("module", module), .title = "place", .left = true, .cell = print_place,
		.doc = "path of the file that the code is in; null: it is of no file, or unknown"},
	{TEXT("address", address),
		.doc = "address of the call in this file, as addr2line takes it; null: unknown"},
	{TEXT("function", function),
		.doc = "function that makes the call; null: the file has no symbol for it"},
	{0},
};

const struct field trace_call_place_fields[] = {
	{WORD("origin", origin, trace_origin_names), .title = "system call by", .left = true,
		.doc = "what made the system call: vdso, which could not read the clock itself; "
		       "syscall-function: syscall(2) of libc; libc: another function of it; code: "
		       "any other code; unknown"},
	{.key = "", .kind = FIELD_INLINE, .fields = trace_place_fields},
	{0},
};

#undef OF
