/* SPDX-License-Identifier: MIT */
/*
 * The document for a ticket, in Markdown: verdict, evidence, proof, table, kernel log, and
 * how to see the same with standard tools. Nothing in it names the host unless asked for.
 */
#ifndef VDSOCHECK_CHECK_REPORT_H
#define VDSOCHECK_CHECK_REPORT_H

#include "model.h"

bool report_write(const void *result, const struct style *style, FILE *out);

#endif
