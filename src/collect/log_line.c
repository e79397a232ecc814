/* SPDX-License-Identifier: MIT */
/*
 * Finds the kernel's words in a line of a log, in whatever form the log has come: dmesg(1) with
 * all its options, journalctl(1) with its outputs, files of rsyslog, syslog-ng and klogd, serial
 * consoles and their servers, and pastes of these.
 *
 * One grammar serves for all: a line is a sequence of pieces that are put before the kernel's
 * words, each of which is recognized alone. A line of another program has its tag before its
 * words, which is not such a piece: its words are not reached.
 */
#include "parts.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

/* "Thg 11 23 18:28:01 2026 HOST kern.warn kernel:" */
#define HEAD_WORDS 9

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Copies the line without the colours that a terminal was given, which stand inside it, too. */
static struct span copy_without_colors(struct span line, char *to, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < line.length && used < size; i++) {
		char byte = line.at[i];

		if (byte == '\033') {
			/* "ESC [ 1 ; 33 m": a letter ends it. */
			if (i + 1 < line.length && line.at[i + 1] == '[')
				for (i += 2;
					i < line.length && !isalpha((unsigned char)line.at[i]);)
					i++;
			continue;
		}
		/* A browser's no-break space, U+00A0. */
		if (byte == '\xc2' && i + 1 < line.length && line.at[i + 1] == '\xa0') {
			byte = ' ';
			i++;
		}
		to[used++] = byte;
	}
	return (struct span){to, used};
}

bool log_priority_is_of_kernel(struct span number)
{
	uint64_t priority;

	return number_parse(number, &priority) && priority >> 3 == 0;
}

/* "15:02", in a date of any form and language. */
static bool has_time_of_day(struct span text)
{
	for (size_t i = 0; i + 4 < text.length; i++) {
		const char *at = text.at + i;

		if (is_digit(at[0]) && is_digit(at[1]) && at[2] == ':' && is_digit(at[3]) &&
			is_digit(at[4]))
			return true;
	}
	return false;
}

static bool parse_seconds(struct span word, double *seconds)
{
	return text_contains(word, ".") && number_parse_decimal(word, seconds);
}

/* The "T1" or "C2" of CONFIG_PRINTK_CALLER. */
static bool is_caller(struct span text)
{
	uint64_t number;

	return (text_take_prefix(&text, "T") || text_take_prefix(&text, "C")) &&
	       number_parse(text, &number);
}

/*
 * Takes "[    0.431995]", with dmesg -d "[    0.431995 <    0.000012>]", dmesg -H's "[ +0.000012]",
 * a date as in dmesg -T's, or a caller. Of several, the kernel's own seconds are the last.
 */
static bool take_stamp(struct span *line, double *seconds)
{
	struct span rest = *line, stamp, word, words;

	if (!text_take_prefix(&rest, "["))
		return false;
	stamp = text_trim(text_take_until(&rest, ']'));
	words = stamp;
	if (!text_next_word(&words, &word))
		return false;
	if (!parse_seconds(word, seconds) && !has_time_of_day(stamp) && !is_caller(stamp) &&
		!text_starts(stamp, "+") && !text_starts(stamp, "<"))
		return false;
	*line = rest;
	return true;
}

/* Takes the "kern  :info  : " of dmesg -x. */
static bool take_level(struct span *line, bool *is_of_kernel)
{
	static const char *const levels[] = {
		"emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"};
	struct span rest = *line;
	struct span facility = text_trim(text_take_until(&rest, ':'));
	struct span level = text_trim(text_take_until(&rest, ':'));

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (!text_equals(level, levels[i]))
			continue;
		*is_of_kernel = text_equals(facility, "kern");
		*line = rest;
		return true;
	}
	return false;
}

/* Takes the "2026-11-21T15:02:11,123456+00:00" of dmesg --time-format=iso. */
static bool take_iso(struct span *line)
{
	struct span rest = *line, word;

	if (!text_next_word(&rest, &word) || !is_digit(*word.at) || !text_contains(word, ",") ||
		!has_time_of_day(word))
		return false;
	*line = rest;
	return true;
}

/* Takes what people and pages put around a paste. */
static bool take_quote(struct span *line)
{
	static const char *const quotes[] = {">", "|", "`", "*", "+", "#", "<pre>", "<code>"};

	for (size_t i = 0; i < ARRAY_SIZE(quotes); i++) {
		if (text_take_prefix(line, quotes[i]))
			return true;
	}
	return false;
}

/* A recorder's word: a time, the name of a console, or the prompt that was there already. */
static bool is_of_recorder(struct span word)
{
	static const char *const consoles[] = {
		"tty", "hvc", "uart", "UART", "serial", "console", "login:", "|"};
	double seconds;

	if (has_time_of_day(word) || parse_seconds(word, &seconds) || text_equals(word, "$") ||
		text_take_suffix(&word, "#"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(consoles); i++) {
		if (text_starts(word, consoles[i]))
			return true;
	}
	return false;
}

/* A word of a date, a host's name, or syslog's "kern.warn": nothing that ends in a tag's colon. */
static bool is_plain(struct span word)
{
	for (size_t i = 0; i < word.length; i++) {
		if (strchr("[](){}<>'\"=", word.at[i]) ||
			(word.at[i] == '/' && !is_digit(*word.at)))
			return false;
	}
	return word.at[word.length - 1] != ':';
}

/* True before "[    0.431995]" in the kernel's own format. */
static bool is_at_seconds(struct span line)
{
	double seconds = NAN;
	struct span taken = line, fraction;

	if (!take_stamp(&taken, &seconds) || isnan(seconds))
		return false;
	fraction = text_take_until(&line, ']');
	text_take_until(&fraction, '.');
	return fraction.length == strlen("431995");
}

/*
 * Takes "Nov 24 01:59:03 HOST kernel:", in any language, and what else stands before that tag or
 * before the kernel's stamp: a time, with a host's name or none. After the stamp it is that of the
 * journal, and takes a host's name alone.
 */
static bool take_head(struct span *line, bool is_stamped)
{
	struct span rest = *line, word;
	bool is_recorded = is_stamped;

	for (int words = 0; words < HEAD_WORDS; words++) {
		rest = text_trim(rest);
		if (words && !is_stamped && is_recorded && is_at_seconds(rest))
			break;
		if (!text_next_word(&rest, &word))
			return false;
		if (text_equals(word, "kernel:") || text_equals(word, "[kernel]") ||
			(text_equals(word, "kernel") && text_take_prefix(&rest, " - - - "))) {
			if (words && !is_recorded)
				return false;
			break;
		}
		if (is_stamped && words)
			return false;
		if (is_of_recorder(word))
			is_recorded = true;
		else if (!is_plain(word))
			return false;
		if (words + 1 == HEAD_WORDS)
			return false;
	}
	*line = rest;
	return true;
}

bool log_line_parse(struct span line, bool is_pasted, struct log_line *parsed)
{
	struct span rest = copy_without_colors(line, parsed->buffer, sizeof(parsed->buffer));
	bool has_priority = false, has_head = false, is_stamped = false, is_of_kernel = true;

	parsed->seconds = NAN;
	if (!is_pasted && rest.length && isspace((unsigned char)*rest.at))
		return false;
	for (;;) {
		rest = text_trim(rest);
		if (take_stamp(&rest, &parsed->seconds) || (!is_stamped && take_iso(&rest))) {
			is_stamped = true;
		} else if (!is_stamped && is_pasted && take_quote(&rest)) {
			continue;
		} else if (!is_stamped && text_take_prefix(&rest, "<")) {
			is_of_kernel = log_priority_is_of_kernel(text_take_until(&rest, '>'));
			has_priority = true;
		} else if (!is_stamped && take_level(&rest, &is_of_kernel)) {
			has_priority = true;
		} else if (!has_head && !(is_stamped && has_priority) &&
			   take_head(&rest, is_stamped)) {
			has_head = true;
		} else {
			break;
		}
		if (!is_of_kernel)
			return false;
	}
	parsed->text = rest;
	parsed->is_bare = !is_stamped && !has_priority && !has_head;
	return true;
}
