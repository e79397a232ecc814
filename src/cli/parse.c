/* SPDX-License-Identifier: MIT */
/*
 * Parses the values of options as people write them: "5M", "500ms", "1,2,3". A value that is not
 * wholly understood is refused, with the limits in the message.
 */
#include <string.h>

#include "driver.h"

#define DURATION_MIN (10 * NS_PER_MS)
#define DURATION_MAX (24 * 3600 * NS_PER_SECOND)

struct unit {
	const char *name;
	int64_t value;
};

static const struct unit count_units[] = {
	{"k", 1000},
	{"K", 1000},
	{"m", 1000000},
	{"M", 1000000},
	{"g", 1000000000},
	{"G", 1000000000},
	{"", 1},
};

/* "ms" comes before the "s" and the "m" that it ends and begins with. */
static const struct unit time_units[] = {
	{"ms", NS_PER_MS},
	{"s", NS_PER_SECOND},
	{"m", 60 * NS_PER_SECOND},
	{"h", 3600 * NS_PER_SECOND},
	{"", NS_PER_SECOND},
};

/* Takes the unit off the end of the text: the first of the table that is there. */
static int64_t take_unit(struct span *text, const struct unit *unit)
{
	while (!text_take_suffix(text, unit->name))
		unit++;
	return unit->value;
}

bool parse_count(struct span text, uint64_t *count)
{
	uint64_t unit = (uint64_t)take_unit(&text, count_units);
	struct span exponent = text, digits = text_take_until(&exponent, 'e');
	uint64_t number, zeros = 0;

	if (digits.length < text.length && (unit > 1 || !number_parse(exponent, &zeros)))
		return false;
	for (; zeros && unit <= PARSE_COUNT_MAX; zeros--)
		unit *= 10;
	if (!number_parse(digits, &number) || number == 0 || number > PARSE_COUNT_MAX / unit)
		return false;
	*count = number * unit;
	return true;
}

bool parse_duration(struct span text, int64_t *ns)
{
	int64_t unit = take_unit(&text, time_units);
	double value;

	if (!number_parse_decimal(text, &value))
		return false;
	value *= (double)unit;
	if (value < DURATION_MIN || value > DURATION_MAX)
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
