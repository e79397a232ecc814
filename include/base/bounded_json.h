/* SPDX-License-Identifier: MIT */
/* JSON from outside, parsed within a small stack. */
#ifndef VDSOCHECK_BASE_BOUNDED_JSON_H
#define VDSOCHECK_BASE_BOUNDED_JSON_H

#include <jansson.h>

/* Of arrays and objects within each other; documents of vdsocheck and cloud-init have under 10. */
#define JSON_LEVELS_MAX 128

/*
 * As json_loadb(3), but more than JSON_LEVELS_MAX levels are an error: jansson and what frees its
 * values recurse, up to 2,048 levels, which a small stack does not survive. The error's text is
 * empty where memory ran out.
 */
json_t *bounded_json_load(const char *bytes, size_t length, size_t flags, json_error_t *error);

#endif
