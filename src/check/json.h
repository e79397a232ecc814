/* SPDX-License-Identifier: MIT */
/* The document for programs, schema "vdsocheck/1": keys are added, never renamed. */
#ifndef VDSOCHECK_CHECK_JSON_H
#define VDSOCHECK_CHECK_JSON_H

#include "document.h"

#define JSON_SCHEMA "vdsocheck/1"

/* Writes one object and a newline. False if memory ran out. */
bool json_write(const void *result, const struct style *style, FILE *out);

#endif
