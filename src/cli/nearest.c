/* SPDX-License-Identifier: MIT */
/*
 * Answers a mistyped name: of a command, an option, a format, a call, a clock, a cause or a value.
 * All have one rule: the nearest name, by the edits that git(1) counts, or the names themselves
 * where they are few.
 */
#include <ctype.h>
#include <string.h>

#include "driver.h"

/* No name is longer. */
#define WORD_MAX 63

/* A word with more edits is not a misspelt name. */
#define EDITS_MAX 2

/* A word that begins a name, or begins with one, is as near as that from this length on. */
#define PREFIX_MIN 3

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The measure is optimal string alignment. */
static unsigned edit_distance(struct span word, const char *name)
{
	unsigned cost[WORD_MAX + 1][WORD_MAX + 1];
	const char *a = word.at, *b = name;
	size_t columns = strlen(name);

	if (word.length > WORD_MAX || columns > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= word.length; i++) {
		for (size_t k = 0; k <= columns; k++) {
			unsigned *here = &cost[i][k];

			*here = (unsigned)(i + k);
			if (i && k)
				*here = least(cost[i - 1][k - 1] +
						      (tolower(a[i - 1]) != tolower(b[k - 1])),
					least(cost[i - 1][k], cost[i][k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				*here = least(*here, cost[i - 2][k - 2] + 1);
		}
	}
	return cost[word.length][columns];
}

void nearest_try(struct nearest *nearest, const char *name)
{
	size_t length = strlen(name);
	size_t shorter = nearest->word.length < length ? nearest->word.length : length;
	unsigned edits = edit_distance(nearest->word, name);

	text_append(nearest->all, sizeof(nearest->all), "%s%s", *nearest->all ? ", " : "", name);
	if (shorter >= PREFIX_MIN && strncasecmp(nearest->word.at, name, shorter) == 0)
		edits = least(edits, EDITS_MAX);
	if (edits > EDITS_MAX || edits > length / 2 || (nearest->name && edits >= nearest->edits))
		return;
	nearest->name = name;
	nearest->edits = edits;
}

bool nearest_refuse(const struct nearest *nearest, const char *what)
{
	int length = (int)nearest->word.length;
	const char *word = nearest->word.at;

	if (nearest->name)
		return cli_error(
			"%s '%.*s'; did you mean '%s'?", what, length, word, nearest->name);
	if (*nearest->all && strlen(nearest->all) < sizeof(nearest->all) - 1)
		return cli_usage_error("%s '%.*s'; there %s %s", what, length, word,
			strchr(nearest->all, ',') ? "are" : "is only", nearest->all);
	return cli_usage_error("%s '%.*s'", what, length, word);
}

int take_name(const char *what, struct span word, const char *const *names, size_t count)
{
	struct nearest nearest = {.word = word};

	for (size_t i = 0; i < count; i++) {
		if (text_equals(word, names[i]))
			return (int)i;
		nearest_try(&nearest, names[i]);
	}
	nearest_refuse(&nearest, what);
	return -1;
}
