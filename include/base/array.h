/* SPDX-License-Identifier: MIT */
/* Arrays that grow. */
#ifndef VDSOCHECK_BASE_ARRAY_H
#define VDSOCHECK_BASE_ARRAY_H

#include <stddef.h>

/*
 * Room for one more element of `size` bytes after the `count` that the list has. Returns the
 * list, which may have moved and is the caller's to free; NULL, and the old list stays valid, if
 * memory ran out. *room: elements for which there is memory.
 */
void *array_grow(void *list, size_t count, size_t *room, size_t size);

#endif
