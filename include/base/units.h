/* SPDX-License-Identifier: MIT */
/* Units, each once. The constants are integers; divide a double by them for a fraction. */
#ifndef VDSOCHECK_BASE_UNITS_H
#define VDSOCHECK_BASE_UNITS_H

#include <stdint.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_SECOND INT64_C(1000000000)
#define MS_PER_SECOND INT64_C(1000)
#define US_PER_SECOND INT64_C(1000000)

/* Elements of an array, not of a pointer. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
