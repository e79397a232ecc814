/* SPDX-License-Identifier: MIT */
/* The mappings of a process, as /proc/PID/maps tells them. */
#ifndef VDSOCHECK_MEASURE_MAPS_H
#define VDSOCHECK_MEASURE_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct mapping {
	uintptr_t start;
	uintptr_t end; /* first byte after it */
	bool readable;
	struct span name; /* "[vvar]"; empty if it has none; points into the text given */
};

/* Takes the next mapping off the front of `maps`; lines that make no sense are passed over. */
bool maps_next(struct span *maps, struct mapping *mapping);

/* The mapping that holds this address. */
bool maps_find_address(struct span maps, uintptr_t address, struct mapping *mapping);

#endif
