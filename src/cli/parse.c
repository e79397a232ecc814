/* SPDX-License-Identifier: MIT */
/*
 * Parses the values of options as people write them: "5M", "500ms", "1,2,3". A value that is not
 * wholly understood is refused, with the limits in the message.
 */
#include <math.h>

#include "driver.h"

#define DURATION_MIN (10 * NS_PER_MS)
#define DURATION_MAX (24 * 3600 * NS_PER_SECOND)

/* All options have the same units: "m" is minutes, and never millions. */
struct unit {
	const char *name;
	int64_t value;
};

static const struct unit count_units[] = {{"k", 1000}, {"M", 1000000}, {"G", 1000000000}, {"", 1}};

/* "ns", "us" and "ms" come before the "s" that they end with. */
static const struct unit time_units[] = {{"ns", 1}, {"us", NS_PER_US}, {"ms", NS_PER_MS},
	{"s", NS_PER_SECOND}, {"m", 60 * NS_PER_SECOND}, {"h", 3600 * NS_PER_SECOND}, {"", 0}};

/* Parses a decimal number and its unit; one without a unit has `bare` of the smallest. */
static bool parse_value(struct span text, const struct unit *unit, int64_t bare, double least,
	double most, double *value)
{
	double number;

	while (!text_take_suffix(&text, unit->name))
		unit++;
	if (!number_parse_decimal(text, &number))
		return false;
	number *= (double)(*unit->name ? unit->value : bare);
	if (number < least || number > most)
		return false;
	*value = number;
	return true;
}

/* A fraction of a unit, as in "1.5M", is computed with the error of a double. */
#define WHOLE_ERROR 1e-3

bool parse_count(struct span text, uint64_t *count)
{
	double value;

	if (!parse_value(text, count_units, 1, 1, PARSE_COUNT_MAX, &value) ||
		fabs(value - round(value)) > WHOLE_ERROR)
		return false;
	*count = (uint64_t)round(value);
	return true;
}

bool parse_duration(struct span text, int64_t *ns)
{
	double value;

	if (!parse_value(text, time_units, NS_PER_SECOND, DURATION_MIN, DURATION_MAX, &value))
		return false;
	*ns = (int64_t)(value + 0.5);
	return true;
}

bool parse_next(struct span *list, struct span *word)
{
	if (!list->at)
		return false;
	*word = text_take_until(list, ',');
	if (list->at == word->at + word->length)
		list->at = NULL;
	return true;
}

bool take_duration(const char *option, const char *value, int64_t *ns)
{
	if (parse_duration(text_span(value), ns))
		return true;
	return cli_usage_error(
		"%s: '%s' is not a time from 10ms to 24h, such as 2, 0.5, 500ms or 5m", option,
		value);
}

bool take_count(const char *option, struct span value, const char *what, uint64_t *count)
{
	if (parse_count(value, count))
		return true;
	return cli_usage_error(
		"%s: '%.*s' is not a number of %s", option, (int)value.length, value.at, what);
}

bool take_ns(const char *option, const char *value, double *ns)
{
	if (parse_value(text_span(value), time_units, 1, 1, NS_PER_SECOND, ns))
		return true;
	return cli_usage_error(
		"%s: '%s' is not a time from 1ns to 1s, such as 60, 60.5 or 1.5us", option, value);
}

bool take_list(const char *value, bool (*take)(struct cli *cli, struct span word), struct cli *cli)
{
	struct span list = text_span(value);
	struct span word;

	while (parse_next(&list, &word)) {
		if (!take(cli, word))
			return false;
	}
	return true;
}
