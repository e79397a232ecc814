/* SPDX-License-Identifier: MIT */
/* Finds the names of functions, and the source lines of addresses. */
#ifndef VDSOCHECK_TRACE_NAMES_H
#define VDSOCHECK_TRACE_NAMES_H

#include "model.h"

/*
 * Writes the name of a function without its parameters, "std::time::Instant::now"; another symbol
 * is copied as it is. Copies as text_clean_span() does.
 */
void name_read(struct span symbol, char *to, size_t size);

/*
 * Sets the sources of places in a file, whose offsets are addresses, by the debug information in
 * this open one, which is closed; -1: there is none. To be called in a child: a hostile file may
 * crash it, or take long.
 */
void sources_read(int file, struct trace_place *const *places, size_t count);

#endif
