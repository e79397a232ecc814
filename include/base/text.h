/* SPDX-License-Identifier: MIT */
/* Copies bounded text, cuts it into words and lines, and parses and formats numbers. */
#ifndef VDSOCHECK_BASE_TEXT_H
#define VDSOCHECK_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stretch of bytes that are not owned and not NUL-terminated. */
struct span {
	const char *at;
	size_t length;
};

/*
 * Copy a text or a span into `to` of `size` bytes, NUL included; a longer one is cut and ends with
 * "...", so that it equals nothing that was read whole. Bytes that are not printable ASCII become
 * '?', so that foreign text can neither drive a terminal nor break a document's encoding.
 */
void text_clean(char *to, size_t size, const char *from);
void text_clean_span(char *to, size_t size, struct span from);

/* Adds to the text in `to`, printf-like; what does not fit is cut in the same way. */
void text_append(char *to, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void text_append_list(char *to, size_t size, const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));

/* Returns the span of a whole C string. */
struct span text_span(const char *text);

/* Return true if the span is this text. text_equals_any_case() ignores the case of letters. */
bool text_equals(struct span span, const char *text);
bool text_equals_any_case(struct span span, const char *text);

/* Return true if the text is at the front of the span, or anywhere in it. */
bool text_starts(struct span span, const char *prefix);
bool text_contains(struct span span, const char *text);

/* The span without its first bytes, of which it has that many. */
struct span text_skip(struct span span, size_t length);
/* Take the text off the front or the end of the span. Without it return false, span unchanged. */
bool text_take_prefix(struct span *span, const char *prefix);
bool text_take_suffix(struct span *span, const char *suffix);

/* Returns the span without blanks (space, tab, CR, LF, NUL) at either end. */
struct span text_trim(struct span span);

/*
 * Take the next word or line off the front of `rest`. Return false when nothing is left. Blanks
 * separate words; a newline, which is not part of them, separates lines.
 */
bool text_next_word(struct span *rest, struct span *word);
bool text_next_line(struct span *rest, struct span *line);

/* Returns true if one of the words is this one. */
bool text_has_word(struct span words, const char *word);

/* Takes the front of `rest` up to `end`, which is skipped, or all of it if that is missing. */
struct span text_take_until(struct span *rest, char end);

/* Finds the VALUE, trimmed, of "KEY : VALUE" among lines as in /proc/cpuinfo; false without it. */
bool text_find_value(struct span lines, const char *key, struct span *value);

/* Returns true if the text is a time of the form "2026-11-21T15:02:11Z". */
bool text_is_time(struct span text);

/*
 * Numbers are parsed strictly: all of the text, without a sign, blanks or overflow. These return
 * false, and leave *value unchanged, for anything but decimal digits, or hexadecimal ones.
 */
bool number_parse(struct span text, uint64_t *value);
bool number_parse_hex(struct span text, uint64_t *value);

/* Parses "2", "0.5" or ".5", with up to nine digits after the point. */
bool number_parse_decimal(struct span text, double *value);

/* Parses a list of CPUs, "0-1,4": three of them, the last of which is 4. They rise. */
bool number_parse_cpus(struct span text, uint64_t *count, uint64_t *last);

/*
 * Numbers as people read them, in one of 16 buffers: good for the arguments of one printf(), and
 * for one thread. A count with separated thousands is "6,000". Nanoseconds are "72.4" or "1,841":
 * tenths below 1,000; 7 characters at most below 1 ms.
 */
#define AS_SIZE 64
const char *as_count(uint64_t count);
const char *as_ns(double ns);

/* At most six characters, such as "99,999", "123 k" or "1.23 M"; "" for NAN. */
const char *as_short(double count);

/* A time is "1.22 s", "34.2 ms", "870 us" or "130 ns". */
const char *as_seconds(double seconds);

/* A call is "clock_gettime MONOTONIC". */
const char *as_call(const char *call, const char *clock);

/* A rate in Hz is "2,445.404", in MHz. */
const char *as_mhz(double hz);

/* An age is "0.5 s", "6.9 minutes" or "3.9 days". */
const char *as_age(double seconds);

/*
 * A difference of clocks is "1.00 s ahead", "50.0 us behind" or "20778 days behind"; 0, for values
 * that are not times, is "different".
 */
const char *as_ahead(int64_t ns);

#endif
