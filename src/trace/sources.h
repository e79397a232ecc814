/* SPDX-License-Identifier: MIT */
/* Finds source lines of addresses, and the functions that the compiler inlined there. */
#ifndef VDSOCHECK_TRACE_SOURCES_H
#define VDSOCHECK_TRACE_SOURCES_H

#include "model.h"

/*
 * Sets the sources of places in a file, whose offsets are addresses, by the debug information in
 * this open one, which is closed; -1: there is none. To be called in a child: a hostile file may
 * crash it, or take long.
 */
void sources_read(int file, struct trace_place *const *places, size_t count);

#endif
