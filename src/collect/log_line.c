/* SPDX-License-Identifier: MIT */
/*
 * Finds the kernel's words in a line of a log as programs on a host write it: dmesg(1), plain or
 * with -T, -x, -r or -t, journalctl(1) -k, and the daemons rsyslog, syslog-ng and busybox's
 * syslogd. A line in any other form, such as a quotation, is its words from the first one on, which
 * are none of the kernel's.
 */
#include "parts.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/time.h"

/* "Thg 11 23 18:28:01 HOST kern.warn kernel:" */
#define HEAD_WORDS_BEFORE_TIME 3
#define HEAD_WORDS_AFTER_TIME 2

/* printk() prints a time of 64 bits without its sign: before the clock's zero it is this and more.
 */
#define NEGATIVE_S ((double)INT64_MAX / NS_PER_SECOND)

bool log_priority_is_of_kernel(struct span number)
{
	uint64_t priority;

	return number_parse(number, &priority) && priority >> 3 == 0;
}

double log_seconds(double seconds)
{
	return seconds < NEGATIVE_S ? seconds : NAN;
}

/* Takes this number of digits, or at least one where it is 0. */
static bool take_digits(struct span *text, size_t count)
{
	size_t taken = 0;

	while (taken < text->length && isdigit((unsigned char)text->at[taken]) &&
		(!count || taken < count))
		taken++;
	if (!taken)
		return false;
	*text = (struct span){text->at + taken, text->length - taken};
	return !count || taken == count;
}

/* "18:28:01", and what may follow: a fraction, and a zone. */
static bool is_time_of_day(struct span word)
{
	return take_digits(&word, 2) && text_take_prefix(&word, ":") && take_digits(&word, 2) &&
	       text_take_prefix(&word, ":") && take_digits(&word, 2) &&
	       (!word.length || strchr(".+-Z", *word.at));
}

/* "18:28:01.298820", or "2026-11-23T18:28:01+01:00" */
static bool is_time(struct span word)
{
	struct span time = word, day = text_take_until(&time, 'T');

	return is_time_of_day(word) ||
	       (take_digits(&day, 4) && text_take_prefix(&day, "-") && is_time_of_day(time));
}

/* The "    0.431995" of the kernel. */
static bool parse_seconds(struct span stamp, double *seconds)
{
	struct span fraction = stamp;

	if (!take_digits(&fraction, 0) || !text_take_prefix(&fraction, ".") ||
		!take_digits(&fraction, 6) || fraction.length ||
		!number_parse_decimal(stamp, seconds))
		return false;
	*seconds = log_seconds(*seconds);
	return true;
}

/* The "T1" or "C2" of CONFIG_PRINTK_CALLER. */
static bool is_caller(struct span stamp)
{
	return (text_take_prefix(&stamp, "T") || text_take_prefix(&stamp, "C")) &&
	       take_digits(&stamp, 0) && !stamp.length;
}

/* The "Mon Nov 23 18:28:01 2026" of dmesg -T, in any language. */
static bool is_date(struct span stamp)
{
	struct span word, before = {NULL, 0}, last = {NULL, 0};

	while (text_next_word(&stamp, &word)) {
		before = last;
		last = word;
	}
	return is_time_of_day(before) && take_digits(&last, 4) && !last.length;
}

static bool take_stamp(struct span *line, double *seconds)
{
	struct span rest = *line, stamp;

	if (!text_take_prefix(&rest, "["))
		return false;
	stamp = text_trim(text_take_until(&rest, ']'));
	if (!parse_seconds(stamp, seconds) && !is_caller(stamp) && !is_date(stamp))
		return false;
	*line = text_trim(rest);
	return true;
}

/* Takes the "<6>" of syslog(2) and dmesg -r, or the "kern  :info  : " of dmesg -x. */
static bool take_priority(struct span *line, bool *is_of_kernel)
{
	static const char *const levels[] = {
		"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"};
	struct span rest = *line, facility, level;

	if (text_take_prefix(&rest, "<")) {
		*is_of_kernel = log_priority_is_of_kernel(text_take_until(&rest, '>'));
		*line = text_trim(rest);
		return true;
	}
	facility = text_trim(text_take_until(&rest, ':'));
	level = text_trim(text_take_until(&rest, ':'));
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (!text_equals(level, levels[i]))
			continue;
		*is_of_kernel = text_equals(facility, "kern");
		*line = text_trim(rest);
		return true;
	}
	return false;
}

/* A word of a date, a host's name, or "kern.warn"; the months of other languages are UTF-8. */
static bool is_plain(struct span word)
{
	unsigned char first = (unsigned char)*word.at;

	if (!isalnum(first) && first < 0x80)
		return false;
	for (size_t i = 0; i < word.length; i++) {
		if (strchr("[](){}<>'\"=|:/", word.at[i]))
			return false;
	}
	return true;
}

/*
 * Takes "Nov 23 18:28:01 HOST kernel:" and its like, or the tag of another program. After a stamp,
 * which is the journal's then, no date stands before the host.
 */
static bool take_head(struct span *line, bool is_stamped, bool *is_of_kernel)
{
	struct span rest = *line, word;
	int before = 0, after = 0;
	bool is_dated = is_stamped;

	while (text_next_word(&rest, &word)) {
		bool is_tag = word.at[word.length - 1] == ':';

		if (is_dated && is_tag) {
			bool is_kernels = text_equals(word, "kernel:");

			/* The kernel's own words may begin like another program's tag. */
			if (is_stamped && !is_kernels)
				return false;
			*is_of_kernel = is_kernels;
			*line = text_trim(rest);
			return true;
		}
		if (!is_dated && is_time(word))
			is_dated = true;
		else if (!is_plain(word) ||
			 (is_dated ? after++ == (is_stamped ? 1 : HEAD_WORDS_AFTER_TIME)
				   : before++ == HEAD_WORDS_BEFORE_TIME))
			return false;
	}
	return false;
}

struct log_line log_line_parse(struct span line)
{
	struct log_line parsed = {.seconds = NAN, .kind = LOG_LINE_KERNEL};
	struct span rest = text_trim(line);
	bool is_of_kernel = true;
	bool has_priority = take_priority(&rest, &is_of_kernel);
	bool has_head = !has_priority && take_head(&rest, false, &is_of_kernel);
	bool is_stamped = false;

	while (take_stamp(&rest, &parsed.seconds))
		is_stamped = true;
	if (is_stamped && !has_priority && !has_head)
		take_head(&rest, true, &is_of_kernel);
	if (line.length && isspace((unsigned char)*line.at))
		parsed.kind = LOG_LINE_REST;
	else if (!is_of_kernel)
		parsed.kind = LOG_LINE_OTHER;
	else if (!has_priority && !has_head && !is_stamped)
		parsed.kind = LOG_LINE_BARE;
	parsed.text = rest;
	return parsed;
}
