/* SPDX-License-Identifier: MIT */
/* Sets facts, and writes and reads their descriptions. */
#include "base/fact.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool fact_is_known(const struct fact *fact)
{
	return fact->state == FACT_KNOWN;
}

void fact_set_known(struct fact *fact)
{
	fact->state = FACT_KNOWN;
	fact->reason[0] = '\0';
}

void fact_set(struct fact *fact, enum fact_state state, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fact->reason[0] = '\0';
	text_append_list(fact->reason, sizeof(fact->reason), format, arguments);
	va_end(arguments);
	fact->state = state;
}

void fact_set_errno(struct fact *fact, int error, const char *object)
{
	enum fact_state state = FACT_FAILED;

	if (error == ENOENT || error == ENOTDIR || error == ENODEV || error == ENXIO ||
		error == ENOSYS)
		state = FACT_ABSENT;
	else if (error == EACCES || error == EPERM)
		state = FACT_DENIED;
	fact_set(fact, state, "%s: %s", object, strerror(error));
}

void fact_set_span(struct text_fact *fact, struct span value)
{
	fact_set_known(&fact->fact);
	text_clean_span(fact->value, sizeof(fact->value), value);
}

void fact_set_text(struct text_fact *fact, const char *value)
{
	fact_set_span(fact, text_span(value));
}

void fact_set_found(struct text_fact *fact, const char *value, const char *absent)
{
	if (value)
		fact_set_text(fact, value);
	else
		fact_set(&fact->fact, FACT_ABSENT, "%s", absent);
}

void fact_set_number(struct number_fact *fact, int64_t value)
{
	fact_set_known(&fact->fact);
	fact->value = value;
}

void fact_set_real(struct real_fact *fact, double value)
{
	fact_set_known(&fact->fact);
	fact->value = value;
}

void fact_set_flag(struct flag_fact *fact, bool value)
{
	fact_set_known(&fact->fact);
	fact->value = value;
}

bool fact_is_text(const struct text_fact *fact, const char *value)
{
	return fact_is_known(&fact->fact) && strcmp(fact->value, value) == 0;
}

bool fact_is_flag(const struct flag_fact *fact, bool value)
{
	return fact_is_known(&fact->fact) && fact->value == value;
}

static const char *const state_names[] = {
	[FACT_UNREAD] = "unread",
	[FACT_KNOWN] = "known",
	[FACT_FAILED] = "failed",
	[FACT_ABSENT] = "absent",
	[FACT_LATE] = "late",
	[FACT_DENIED] = "denied",
	[FACT_NO_CHILD] = "no child",
};

void fact_describe(const struct fact *fact, char *text, size_t size)
{
	if (fact_is_known(fact))
		text[0] = '\0';
	else
		snprintf(text, size, "%s: %s", state_names[fact->state], fact->reason);
}

void fact_set_described(struct fact *fact, const char *text)
{
	for (enum fact_state state = FACT_UNREAD; state < FACT_STATES; state++) {
		struct span reason = text_span(text);

		if (state != FACT_KNOWN && text_take_prefix(&reason, state_names[state]) &&
			text_take_prefix(&reason, ": ")) {
			fact_set(fact, state, "%s", reason.at);
			return;
		}
	}
	fact_set(fact, FACT_FAILED, "%s", text);
}
