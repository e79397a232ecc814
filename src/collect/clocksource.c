/* SPDX-License-Identifier: MIT */
#include "collect/clocksource.h"

#define DIRECTORY "/sys/devices/system/clocksource/clocksource0/"
#define CURRENT DIRECTORY "current_clocksource"
#define AVAILABLE DIRECTORY "available_clocksource"

/* sysfs files are a page at most. */
#define FILE_SIZE 4097

/* A name the kernel would have cut is no name: better none than a wrong one. */
static bool take_name(struct span word, char name[CLOCKSOURCE_NAME_SIZE])
{
	if (word.length >= CLOCKSOURCE_NAME_SIZE)
		return false;
	text_copy_span(name, CLOCKSOURCE_NAME_SIZE, word);
	return true;
}

static void collect_current(const struct root *root, struct clocksource_evidence *clocksource)
{
	char buffer[FILE_SIZE];
	struct span content, name, more;

	if (!root_read(root, CURRENT, buffer, sizeof(buffer), &content, &clocksource->current_fact))
		return;
	if (!text_next_word(&content, &name))
		fact_set(&clocksource->current_fact, FACT_FAILED, CURRENT ": empty");
	else if (text_next_word(&content, &more) || !take_name(name, clocksource->current))
		fact_set(&clocksource->current_fact, FACT_FAILED, CURRENT ": not one name");
}

static void collect_available(const struct root *root, struct clocksource_evidence *clocksource)
{
	struct fact *fact = &clocksource->available_fact;
	size_t *count = &clocksource->available_count;
	char buffer[FILE_SIZE];
	struct span content, name;

	if (!root_read(root, AVAILABLE, buffer, sizeof(buffer), &content, fact))
		return;
	*count = 0;
	while (text_next_word(&content, &name)) {
		if (*count == CLOCKSOURCE_MAX || !take_name(name, clocksource->available[*count])) {
			fact_set(fact, FACT_FAILED, AVAILABLE ": more or longer names than known");
			*count = 0;
			return;
		}
		++*count;
	}
	if (*count == 0)
		fact_set(fact, FACT_FAILED, AVAILABLE ": empty");
}

void clocksource_collect(const struct root *root, struct clocksource_evidence *clocksource)
{
	collect_current(root, clocksource);
	collect_available(root, clocksource);
}
