/* SPDX-License-Identifier: MIT */
/* The report for people: the verdict first, then evidence, table, why, what to do, cost. */
#ifndef VDSOCHECK_RENDER_TEXT_H
#define VDSOCHECK_RENDER_TEXT_H

#include "render/document.h"

bool text_write(const struct document *document, FILE *out);

#endif
