/* SPDX-License-Identifier: MIT */
/* Handles spans of text without a terminator, parses numbers strictly, and formats them. */
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

/* More digits make no difference to what is parsed. */
#define FRACTION_DIGITS 9

/* Marks a text that fills its room as cut; room for less than a letter and the mark has none. */
static void mark_cut(char *to, size_t size)
{
	static const char mark[] = "...";

	if (size > sizeof(mark))
		memcpy(to + size - sizeof(mark), mark, sizeof(mark));
}

void text_clean(char *to, size_t size, const char *from)
{
	text_clean_span(to, size, text_span(from));
}

void text_clean_span(char *to, size_t size, struct span from)
{
	size_t length = from.length < size - 1 ? from.length : size - 1;

	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)from.at[i];

		to[i] = (char)(byte < ' ' || byte >= 0x7f ? '?' : byte);
	}
	to[length] = '\0';
	if (length < from.length)
		mark_cut(to, size);
}

void text_append(char *to, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text_append_list(to, size, format, arguments);
	va_end(arguments);
}

void text_append_list(char *to, size_t size, const char *format, va_list arguments)
{
	size_t used = strlen(to);
	int length = vsnprintf(to + used, size - used, format, arguments);

	if (length >= 0 && (size_t)length >= size - used)
		mark_cut(to, size);
}

struct span text_span(const char *text)
{
	return (struct span){text, strlen(text)};
}

bool text_equals(struct span span, const char *text)
{
	return strlen(text) == span.length && memcmp(span.at, text, span.length) == 0;
}

bool text_equals_any_case(struct span span, const char *text)
{
	return span.length == strlen(text) && strncasecmp(span.at, text, span.length) == 0;
}

bool text_starts(struct span span, const char *prefix)
{
	size_t length = strlen(prefix);

	return length <= span.length && memcmp(span.at, prefix, length) == 0;
}

struct span text_skip(struct span span, size_t length)
{
	return length ? (struct span){span.at + length, span.length - length} : span;
}

bool text_take_prefix(struct span *span, const char *prefix)
{
	size_t length = strlen(prefix);

	if (!text_starts(*span, prefix))
		return false;
	*span = text_skip(*span, length);
	return true;
}

bool text_take_suffix(struct span *span, const char *suffix)
{
	size_t length = strlen(suffix);

	if (length > span->length || memcmp(span->at + span->length - length, suffix, length) != 0)
		return false;
	span->length -= length;
	return true;
}

bool text_contains(struct span span, const char *text)
{
	return memmem(span.at, span.length, text, strlen(text)) != NULL;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\0';
}

struct span text_trim(struct span span)
{
	while (span.length > 0 && is_blank(span.at[0])) {
		span.at++;
		span.length--;
	}
	while (span.length > 0 && is_blank(span.at[span.length - 1]))
		span.length--;
	return span;
}

bool text_next_word(struct span *rest, struct span *word)
{
	struct span left = text_trim(*rest);
	size_t length = 0;

	while (length < left.length && !is_blank(left.at[length]))
		length++;
	*word = (struct span){left.at, length};
	*rest = text_skip(left, length);
	return length > 0;
}

bool text_has_word(struct span words, const char *word)
{
	struct span next;

	while (text_next_word(&words, &next)) {
		if (text_equals(next, word))
			return true;
	}
	return false;
}

struct span text_take_until(struct span *rest, char end)
{
	const char *at = rest->length ? memchr(rest->at, end, rest->length) : NULL;
	struct span taken = {rest->at, at ? (size_t)(at - rest->at) : rest->length};
	size_t skipped = taken.length + (at != NULL);

	*rest = text_skip(*rest, skipped);
	return taken;
}

bool text_next_line(struct span *rest, struct span *line)
{
	if (rest->length == 0)
		return false;
	*line = text_take_until(rest, '\n');
	return true;
}

bool text_find_value(struct span lines, const char *key, struct span *value)
{
	struct span line;

	while (text_next_line(&lines, &line)) {
		struct span name = text_take_until(&line, ':');
		bool has_colon = line.at != name.at + name.length;

		*value = text_trim(line);
		if (has_colon && text_equals(text_trim(name), key))
			return true;
	}
	return false;
}

bool text_is_time(struct span text)
{
	static const char shape[] = "0000-00-00T00:00:00Z";
	bool fits = text.length == sizeof(shape) - 1;

	for (size_t i = 0; fits && i < text.length; i++)
		fits = shape[i] == '0' ? text.at[i] >= '0' && text.at[i] <= '9'
		                       : text.at[i] == shape[i];
	return fits;
}

static bool parse_in_base(struct span text, unsigned base, uint64_t *value)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t sum = 0;

	for (size_t i = 0; i < text.length; i++) {
		const char *digit = memchr(digits, tolower((unsigned char)text.at[i]), base);

		if (!digit || __builtin_mul_overflow(sum, base, &sum) ||
			__builtin_add_overflow(sum, (unsigned)(digit - digits), &sum))
			return false;
	}
	if (text.length == 0)
		return false;
	*value = sum;
	return true;
}

bool number_parse(struct span text, uint64_t *value)
{
	return parse_in_base(text, 10, value);
}

bool number_parse_decimal(struct span text, double *value)
{
	const size_t length = text.length;
	struct span whole = text_take_until(&text, '.');
	bool has_point = whole.length < length;
	uint64_t units = 0, parts = 0;
	double scale = 1;

	if (has_point && (text.length > FRACTION_DIGITS || !number_parse(text, &parts)))
		return false;
	if ((whole.length || !has_point) && !number_parse(whole, &units))
		return false;
	for (size_t i = 0; i < text.length; i++)
		scale *= 10;
	*value = (double)units + (double)parts / scale;
	return true;
}

/* Parses "0-3", or "8" for a range of one. */
static bool parse_range(struct span text, uint64_t *first, uint64_t *last)
{
	const size_t length = text.length;
	struct span front = text_take_until(&text, '-');

	if (front.length == length) /* no "-" */
		text = front;
	return number_parse(front, first) && number_parse(text, last) && *first <= *last;
}

bool number_parse_cpus(struct span text, uint64_t *count, uint64_t *last)
{
	uint64_t total = 0, first = 0, end = 0;

	do {
		const uint64_t before = end;

		if (!parse_range(text_take_until(&text, ','), &first, &end) ||
			(total && first <= before) || end >= INT32_MAX)
			return false;
		total += end - first + 1;
	} while (text.length);
	*count = total;
	*last = end;
	return true;
}

bool number_parse_hex(struct span text, uint64_t *value)
{
	return parse_in_base(text, 16, value);
}

static char *next_buffer(void)
{
	static char buffers[16][AS_SIZE];
	static unsigned next;

	return buffers[next++ % ARRAY_SIZE(buffers)];
}

const char *as_count(uint64_t count)
{
	char digits[24], *text = next_buffer();
	size_t length, out = 0;

	snprintf(digits, sizeof(digits), "%" PRIu64, count);
	length = strlen(digits);
	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			text[out++] = ',';
		text[out++] = digits[i];
	}
	text[out] = '\0';
	return text;
}

const char *as_ns(double ns)
{
	char *text;

	if (ns >= 999.95)
		return as_count((uint64_t)(ns + 0.5));
	text = next_buffer();
	snprintf(text, AS_SIZE, "%.1f", ns);
	return text;
}

const char *as_short(double count)
{
	static const char units[] = "kMGTPE";
	double value = round(count);
	char *text;
	int unit = -1;

	if (isnan(count))
		return "";
	for (; value >= (unit < 0 ? 100000 : 999.5); unit++)
		value /= 1000;
	if (unit < 0)
		return as_count((uint64_t)value);
	text = next_buffer();
	snprintf(text, AS_SIZE, "%.*f %c", (value < 9.995) + (value < 99.95), value, units[unit]);
	return text;
}

const char *as_seconds(double seconds)
{
	static const char *const units[] = {"s", "ms", "us", "ns"};
	char *text = next_buffer();
	size_t unit = 0;

	for (; seconds < 0.9995 && seconds > 0 && unit < 3; unit++)
		seconds *= 1000;
	snprintf(text, AS_SIZE, "%.*f %s", unit < 3 ? (seconds < 9.995) + (seconds < 99.95) : 0,
		seconds, units[unit]);
	return text;
}

const char *as_call(const char *call, const char *clock)
{
	struct span name = text_span(clock);
	char *text = next_buffer();

	text_take_prefix(&name, "CLOCK_");
	snprintf(text, AS_SIZE, "%s%s%s", call, *clock ? " " : "", name.at);
	return text;
}

const char *as_mhz(double hz)
{
	uint64_t khz = (uint64_t)(hz / 1000 + 0.5);
	char *text = next_buffer();

	snprintf(text, AS_SIZE, "%s.%03" PRIu64, as_count(khz / 1000), khz % 1000);
	return text;
}

const char *as_age(double seconds)
{
	static const struct {
		double seconds, least;
		const char *name;
	} units[] = {{86400, 2 * 86400, "days"}, {3600, 2 * 3600, "hours"}, {60, 100, "minutes"}};
	char *text = next_buffer();

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		double count = seconds / units[i].seconds;

		if (seconds < units[i].least)
			continue;
		snprintf(text, AS_SIZE, "%.*f %s", count < 9.95, count, units[i].name);
		return text;
	}
	snprintf(text, AS_SIZE, "%.*f s", seconds < 9.95, seconds);
	return text;
}

const char *as_ahead(int64_t ns)
{
	double seconds = fabs((double)ns) / 1e9;
	char *text;

	if (ns == 0)
		return "different";
	text = next_buffer();
	snprintf(text, AS_SIZE, "%s %s", seconds < 100 ? as_seconds(seconds) : as_age(seconds),
		ns < 0 ? "behind" : "ahead");
	return text;
}
