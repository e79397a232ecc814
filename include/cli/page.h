/* SPDX-License-Identifier: MIT */
/* What a command with documents of its own has to say, in the format that was asked for. */
#ifndef VDSOCHECK_CLI_PAGE_H
#define VDSOCHECK_CLI_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/options.h"

struct page {
	/* Both write the object and say false if memory ran out. */
	bool (*text)(const void *object, FILE *out);
	bool (*json)(const void *object, FILE *out);
};

/* False after a complaint if the options ask for a format that is neither text nor json. */
bool page_accepts(const struct options *options);

/*
 * Writes the object where the options say, whole or not at all; nothing if they ask for
 * quiet. False after a complaint.
 */
bool page_emit(const struct page *page, const void *object, const struct options *options);

#endif
