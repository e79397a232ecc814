/* SPDX-License-Identifier: MIT */
/* Numbers from outside, parsed strictly: all of the text, no sign, blank or overflow. */
#ifndef VDSOCHECK_BASE_NUMBER_H
#define VDSOCHECK_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Decimal digits only. False, and *value untouched, for anything else. */
bool number_parse(struct span text, uint64_t *value);

/* Hexadecimal digits only, no "0x". False, and *value untouched, for anything else. */
bool number_parse_hex(struct span text, uint64_t *value);

#endif
