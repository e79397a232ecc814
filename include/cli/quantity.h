/* SPDX-License-Identifier: MIT */
/* Quantities as people write them, parsed strictly: "5M", "2s", "1,2,3". Pure. */
#ifndef VDSOCHECK_CLI_QUANTITY_H
#define VDSOCHECK_CLI_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/*
 * A count from 1 to 10^12: digits, and k, M or G for thousands, millions and milliards.
 * False, and *count untouched, for anything else.
 */
bool quantity_parse_count(struct span text, uint64_t *count);

/*
 * A time from 10 ms to 24 h: a number, with a fraction or not, and ms, s, m or h; without a
 * unit it is seconds. False, and *ns untouched, for anything else.
 */
bool quantity_parse_time(struct span text, int64_t *ns);

/*
 * Takes the next word off a list parted by commas; false at its end. An empty word, as in
 * "1,,2", is a word.
 */
bool quantity_next(struct span *list, struct span *word);

#endif
