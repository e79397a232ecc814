/* SPDX-License-Identifier: MIT */
/* The document for programs, schema "vdsocheck/1": keys are added, never renamed. */
#ifndef VDSOCHECK_CHECK_JSON_H
#define VDSOCHECK_CHECK_JSON_H

#include "model.h"

/*
 * Writes a struct document as one object and a newline, on one line where the style is
 * compact. False if memory ran out: nothing was written, or not all.
 */
bool json_write(const void *result, const struct style *style, FILE *out);

/*
 * Reads the evidence of such a document, not what it was judged to mean, from `length` bytes
 * or from a file at a path of this host ("-" is standard input). Facts whose keys are missing
 * or null are not known; document_parse() has what is refused. False with the reason, which
 * names the key, in *why.
 */
bool json_parse(const char *bytes, size_t length, struct evidence *evidence, struct fact *why);
bool json_read(const char *path, struct evidence *evidence, struct fact *why);

/* Writes the JSON Schema of such documents. False if memory ran out. */
bool json_schema(FILE *out);

#endif
