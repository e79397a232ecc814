/* SPDX-License-Identifier: MIT */
/* Values of the JSON documents: what is not known is null, and the key is there all the same. */
#ifndef VDSOCHECK_DOCUMENT_JSON_VALUE_H
#define VDSOCHECK_DOCUMENT_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "evidence.h"

/* The object that a document begins with; NULL if memory ran out. */
json_t *json_value_root(void);

/* Sets the key, to null if the value is NULL. Takes the value. */
void json_value_set(json_t *object, const char *key, json_t *value);

/* A string; NULL for an empty one or none. */
json_t *json_value_text(const char *text);

/* NULL where the fact is known; else its state and its reason. */
json_t *json_value_reason(const struct fact *fact);

/* An integer, or NULL if it is not known. */
json_t *json_value_integer(bool known, int64_t value);

/* A real with so many decimals, or NULL if it is not known. */
json_t *json_value_real(bool known, double value, int decimals);

/* The keys that say when the host was looked at. */
void json_value_set_moment(json_t *root, const struct moment_evidence *moment);

/*
 * Writes the document and a newline, and releases it. False if memory ran out since
 * json_value_root(): then nothing was written, or not all.
 */
bool json_value_write(json_t *root, FILE *out);

#endif
