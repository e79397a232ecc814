/* SPDX-License-Identifier: MIT */
#include "cli/duration.h"

#include <string.h>

#include "base/number.h"
#include "cli/options.h"

#define NS_PER_SECOND 1000000000
#define FRACTION_DIGITS 9
#define SHORTEST_NS 10000000
#define LONGEST_SECONDS 86400

static bool parse_fraction(struct span digits, uint64_t *ns)
{
	if (digits.length > FRACTION_DIGITS || !number_parse(digits, ns))
		return false;
	for (size_t i = digits.length; i < FRACTION_DIGITS; i++)
		*ns *= 10;
	return true;
}

static bool parse(const char *word, int64_t *ns)
{
	const char *point = strchr(word, '.');
	struct span whole = {word, point ? (size_t)(point - word) : strlen(word)};
	uint64_t seconds, rest = 0;

	if (!number_parse(whole, &seconds) || seconds > LONGEST_SECONDS)
		return false;
	if (point && !parse_fraction(text_span(point + 1), &rest))
		return false;
	*ns = (int64_t)(seconds * NS_PER_SECOND + rest);
	return *ns >= SHORTEST_NS && *ns <= (int64_t)LONGEST_SECONDS * NS_PER_SECOND;
}

bool duration_take(const char *word, int64_t *ns)
{
	if (parse(word, ns))
		return true;
	options_complain_usage("--duration: '%s' is not a number of seconds from 0.01 to %d", word,
		LONGEST_SECONDS);
	return false;
}
