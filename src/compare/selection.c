/* SPDX-License-Identifier: MIT */
#include "selection.h"

#include <string.h>

#include "base/text.h"
#include "cli/options.h"

static bool is_listed(const char (*names)[CLOCKSOURCE_NAME_SIZE], size_t count, struct span name)
{
	for (size_t i = 0; i < count; i++) {
		if (text_equals(name, names[i]))
			return true;
	}
	return false;
}

static bool choose_one(
	struct selection *selection, const struct clocksource_evidence *offered, struct span name)
{
	if (!is_listed(offered->available, offered->available_count, name)) {
		options_complain_usage(
			"--only: '%.*s' is not offered by this host", (int)name.length, name.at);
		return false;
	}
	if (!is_listed(selection->names, selection->count, name))
		text_copy_span(selection->names[selection->count++], CLOCKSOURCE_NAME_SIZE, name);
	return true;
}

static bool choose_listed(
	struct selection *selection, const struct clocksource_evidence *offered, const char *list)
{
	while (*list) {
		size_t length = strcspn(list, ",");

		if (!choose_one(selection, offered, (struct span){list, length}))
			return false;
		list += length;
		list += *list == ',';
	}
	return true;
}

bool selection_make(
	struct selection *selection, const struct clocksource_evidence *offered, const char *only)
{
	*selection = (struct selection){.count = 0};
	if (!fact_is_known(&offered->available_fact)) {
		options_complain("which clocksources there are is not known: %s",
			offered->available_fact.reason);
		return false;
	}
	if (only && !*only) {
		options_complain_usage("--only: no name was given");
		return false;
	}
	if (only)
		return choose_listed(selection, offered, only);
	selection->count = offered->available_count;
	memcpy(selection->names, offered->available, sizeof(selection->names));
	return true;
}
