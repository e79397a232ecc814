/* SPDX-License-Identifier: MIT */
/*
 * Parses the values of options as people write them: "5M", "500ms", "1,2,3". A value that is not
 * wholly understood is refused, with the limits in the message.
 */
#include <ctype.h>
#include <string.h>

#include "driver.h"

#define DURATION_MIN (10 * NS_PER_MS)
#define DURATION_MAX (24 * 3600 * NS_PER_SECOND)

/* No name of a command or an option is longer. */
#define WORD_MAX 31

/* A word with this many edits is taken for a misspelt one; fewer for a short name, as in git(1). */
#define MISSPELT_MAX 2

/* A word that begins a name, or begins with one, is as near as that from this length on. */
#define PREFIX_MIN 3

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

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The measure is optimal string alignment. */
unsigned edit_distance(const char *a, const char *b)
{
	unsigned cost[WORD_MAX + 1][WORD_MAX + 1];
	size_t rows = strlen(a), columns = strlen(b);

	if (rows > WORD_MAX || columns > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= rows; i++) {
		for (size_t k = 0; k <= columns; k++) {
			if (i == 0 || k == 0) {
				cost[i][k] = (unsigned)(i + k);
				continue;
			}
			cost[i][k] = cost[i - 1][k - 1] + !is_same(a[i - 1], b[k - 1]);
			cost[i][k] =
				smaller(cost[i][k], smaller(cost[i - 1][k], cost[i][k - 1]) + 1);
			if (i > 1 && k > 1 && is_same(a[i - 1], b[k - 2]) &&
				is_same(a[i - 2], b[k - 1]))
				cost[i][k] = smaller(cost[i][k], cost[i - 2][k - 2] + 1);
		}
	}
	return cost[rows][columns];
}

bool is_misspelling(struct span word, const char *name, unsigned *least)
{
	char typed[WORD_MAX + 2];
	unsigned edits, length;

	text_clean_span(typed, sizeof(typed), word);
	edits = edit_distance(typed, name);
	length = smaller((unsigned)strlen(typed), (unsigned)strlen(name));
	if (edits > MISSPELT_MAX && length >= PREFIX_MIN && strncasecmp(typed, name, length) == 0)
		edits = MISSPELT_MAX;
	if (edits > MISSPELT_MAX || edits >= strlen(name) / 2 + 1 || edits >= *least)
		return false;
	*least = edits;
	return true;
}
