/* SPDX-License-Identifier: MIT */
#include "cli/quantity.h"

#include <string.h>

#include "base/number.h"

#define COUNT_MOST 1000000000000u

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_SECOND (1000 * NS_PER_MS)
#define TIME_LEAST (10 * NS_PER_MS)
#define TIME_MOST (24 * 3600 * NS_PER_SECOND)

/* More digits of a fraction than that make no difference. */
#define FRACTION_DIGITS 9

struct unit {
	const char *name;
	int64_t worth;
};

static const struct unit count_units[] = {{"k", 1000}, {"M", 1000000}, {"G", 1000000000}, {"", 1}};

/* "ms" before the "s" and the "m" that it ends and begins with. */
static const struct unit time_units[] = {
	{"ms", NS_PER_MS},
	{"s", NS_PER_SECOND},
	{"m", 60 * NS_PER_SECOND},
	{"h", 3600 * NS_PER_SECOND},
	{"", NS_PER_SECOND},
};

/* Takes the unit off the text's end: the first of the table that is there. */
static int64_t take_unit(struct span *text, const struct unit *unit)
{
	for (;; unit++) {
		size_t length = strlen(unit->name);

		if (text->length < length ||
			memcmp(text->at + text->length - length, unit->name, length) != 0)
			continue;
		text->length -= length;
		return unit->worth;
	}
}

bool quantity_parse_count(struct span text, uint64_t *count)
{
	uint64_t worth = (uint64_t)take_unit(&text, count_units);
	uint64_t number;

	if (!number_parse(text, &number) || number == 0 || number > COUNT_MOST / worth)
		return false;
	*count = number * worth;
	return true;
}

static bool parse_fraction(struct span digits, double *fraction)
{
	uint64_t number;
	double scale = 1;

	if (digits.length > FRACTION_DIGITS || !number_parse(digits, &number))
		return false;
	for (size_t i = 0; i < digits.length; i++)
		scale *= 10;
	*fraction = (double)number / scale;
	return true;
}

bool quantity_parse_time(struct span text, int64_t *ns)
{
	int64_t worth = take_unit(&text, time_units);
	const char *point = memchr(text.at, '.', text.length);
	struct span whole = {text.at, point ? (size_t)(point - text.at) : text.length};
	double fraction = 0;
	uint64_t number;
	int64_t value;

	if (point && !parse_fraction(
			     (struct span){point + 1, text.length - whole.length - 1}, &fraction))
		return false;
	if (!number_parse(whole, &number) || number > (uint64_t)(TIME_MOST / worth))
		return false;
	value = (int64_t)number * worth + (int64_t)(fraction * (double)worth);
	if (value < TIME_LEAST || value > TIME_MOST)
		return false;
	*ns = value;
	return true;
}

bool quantity_next(struct span *list, struct span *word)
{
	const char *comma;

	if (!list->at)
		return false;
	comma = memchr(list->at, ',', list->length);
	*word = (struct span){list->at, comma ? (size_t)(comma - list->at) : list->length};
	if (comma)
		*list = (struct span){comma + 1, list->length - word->length - 1};
	else
		*list = (struct span){NULL, 0};
	return true;
}
