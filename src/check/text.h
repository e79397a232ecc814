/* SPDX-License-Identifier: MIT */
/* The report for people: the verdict first, then evidence, table, why, what to do, cost. */
#ifndef VDSOCHECK_CHECK_TEXT_H
#define VDSOCHECK_CHECK_TEXT_H

#include "document.h"

bool text_write(const struct document *document, FILE *out);

#endif
