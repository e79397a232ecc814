/* SPDX-License-Identifier: MIT */
/* Makes the symbols of C++ and Rust readable. */
#ifndef VDSOCHECK_TRACE_NAMES_H
#define VDSOCHECK_TRACE_NAMES_H

#include "base/text.h"

/*
 * Writes the name of a function without its parameters, "std::time::Instant::now"; another symbol
 * is copied as it is. Copies as text_clean_span() does.
 */
void name_read(struct span symbol, char *to, size_t size);

#endif
