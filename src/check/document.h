/* SPDX-License-Identifier: MIT */
/* What a renderer is given, and the table of renderers. */
#ifndef VDSOCHECK_CHECK_DOCUMENT_H
#define VDSOCHECK_CHECK_DOCUMENT_H

#include <stdbool.h>
#include <stdio.h>

#include "evidence.h"
#include "judge/judgement.h"

struct document {
	const struct evidence *evidence;
	const struct judgement *judgement;
	bool color;
};

struct document_format {
	const char *name;                                          /* as --format takes it */
	bool (*write)(const struct document *document, FILE *out); /* false: out of memory */
};

/* The format of this name; NULL if there is none. */
const struct document_format *document_find_format(const char *name);

/* Writes the names of all formats into `names`, parted by `between`. */
void document_list_formats(char *names, size_t size, const char *between);

/*
 * Renders into memory. The caller frees *bytes. False with the reason if memory ran out.
 */
bool document_render(const struct document *document, const struct document_format *format,
	char **bytes, size_t *length, struct fact *why);

#endif
