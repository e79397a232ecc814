/* SPDX-License-Identifier: MIT */
/* The report for people: the verdict first, then evidence, table, why, what to do, cost. */
#ifndef VDSOCHECK_CHECK_TEXT_H
#define VDSOCHECK_CHECK_TEXT_H

#include "model.h"

/* "==> FILE <==", as head(1) has it, if the document is one of several. */
void text_write_file(const struct document *document, FILE *out);

bool text_write(const void *result, const struct style *style, FILE *out);

#endif
