/* SPDX-License-Identifier: MIT */
/*
 * Reads from sysfs which clocksource the kernel uses and which it offers. The current one is read
 * more than once in a run, since the kernel or an administrator may change it in between.
 */
#include "collect.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

/* sysfs files are a page at most. */
#define FILE_SIZE 4097

bool clocksource_take_name(struct span word, char name[CLOCKSOURCE_NAME_SIZE])
{
	if (word.length >= CLOCKSOURCE_NAME_SIZE)
		return false;
	for (size_t i = 0; i < word.length; i++) {
		if (!isalnum((unsigned char)word.at[i]) && !strchr("_-.,:@+", word.at[i]))
			return false;
	}
	text_clean_span(name, CLOCKSOURCE_NAME_SIZE, word);
	return true;
}

bool clocksource_read(const struct root *root, char name[CLOCKSOURCE_NAME_SIZE], struct fact *fact)
{
	char buffer[FILE_SIZE];
	struct span content, word, more;

	if (!root_read(root, CLOCKSOURCE_CURRENT, buffer, sizeof(buffer), &content, fact))
		return false;
	if (!text_next_word(&content, &word))
		fact_set(fact, FACT_FAILED, CLOCKSOURCE_CURRENT ": empty");
	else if (text_next_word(&content, &more))
		fact_set(fact, FACT_FAILED, CLOCKSOURCE_CURRENT ": more than one name");
	else if (!clocksource_take_name(word, name))
		fact_set(fact, FACT_FAILED, CLOCKSOURCE_CURRENT ": not a name");
	return fact_is_known(fact);
}

static void collect_available(const struct root *root, struct clocksource_evidence *clocksource)
{
	struct fact *fact = &clocksource->available_fact;
	size_t *count = &clocksource->available_count;
	char buffer[FILE_SIZE];
	struct span content, name;

	if (!root_read(root, CLOCKSOURCE_AVAILABLE, buffer, sizeof(buffer), &content, fact))
		return;
	*count = 0;
	while (text_next_word(&content, &name)) {
		if (*count == CLOCKSOURCE_MAX ||
			!clocksource_take_name(name, clocksource->available[*count])) {
			fact_set(fact, FACT_FAILED,
				CLOCKSOURCE_AVAILABLE ": too many names, or not names");
			*count = 0;
			return;
		}
		++*count;
	}
	if (*count == 0)
		fact_set(fact, FACT_FAILED, CLOCKSOURCE_AVAILABLE ": empty");
}

/*
 * On jiffies the clock advances by the tick alone. The resolution of a COARSE clock is the tick on
 * every kernel (kernel/time/posix-timers.c, posix_get_coarse_res(), 2.6.32 to 7.x).
 */
static void collect_tick(const struct root *root, struct clocksource_evidence *clocksource)
{
	int64_t tick_ns;

	if (!text_contains(text_span(clocksource->current), "jiffies"))
		fact_set(&clocksource->tick_ns.fact, FACT_UNREAD, "needed on jiffies only");
	else if (!root->live)
		fact_set(&clocksource->tick_ns.fact, FACT_ABSENT, "not this host's clock");
	else if ((tick_ns = kernel_clock_step_ns(CLOCK_MONOTONIC_COARSE)) == 0)
		fact_set(&clocksource->tick_ns.fact, FACT_DENIED, "clock_getres is refused");
	else
		fact_set_number(&clocksource->tick_ns, tick_ns);
}

void clocksource_collect(const struct root *root, struct clocksource_evidence *clocksource)
{
	clocksource_read(root, clocksource->current, &clocksource->current_fact);
	text_clean(clocksource->latest, sizeof(clocksource->latest), clocksource->current);
	collect_available(root, clocksource);
	collect_tick(root, clocksource);
}

bool clocksource_collect_change(const struct root *root, struct clocksource_evidence *clocksource)
{
	char name[CLOCKSOURCE_NAME_SIZE] = "";
	struct fact fact = {0};

	if (!clocksource_read(root, name, &fact) || !fact_is_known(&clocksource->current_fact) ||
		strcmp(name, clocksource->latest) == 0)
		return false;
	text_clean(clocksource->latest, sizeof(clocksource->latest), name);
	if (strcmp(name, clocksource->current) != 0)
		text_clean(clocksource->changed_to, sizeof(clocksource->changed_to), name);
	return true;
}
