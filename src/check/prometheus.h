/* SPDX-License-Identifier: MIT */
/* The text format of Prometheus, for node_exporter's textfile collector. */
#ifndef VDSOCHECK_CHECK_PROMETHEUS_H
#define VDSOCHECK_CHECK_PROMETHEUS_H

#include "model.h"

bool prometheus_write(const void *result, const struct style *style, FILE *out);

#endif
