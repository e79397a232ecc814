/* SPDX-License-Identifier: MIT */
/*
 * Fills in the words in braces that texts and commands of the tables have: {from} and {to} are the
 * clocksources before and after a switch. A table of them keeps formats out of the rows.
 */
#include "rules.h"

#include <string.h>

#include "base/text.h"

/* Half a command is worse than none, so a text that does not fit is refused. */
bool words_fill(const char *text, const struct word *words, char *filled, size_t size)
{
	size_t used = 0;

	for (; text && *text; text++) {
		struct span part = {text, 1};

		if (*text == '{') {
			const struct word *word = words;

			while (word->name && strncmp(text + 1, word->name, strlen(word->name)) != 0)
				word++;
			if (!word->value)
				return false;
			part = text_span(word->value);
			text = strchr(text, '}');
		}
		if (used + part.length >= size)
			return false;
		memcpy(filled + used, part.at, part.length);
		used += part.length;
	}
	filled[used] = '\0';
	return true;
}
