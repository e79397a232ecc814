/* SPDX-License-Identifier: MIT */
/* Arrays that grow: each time their memory is full it is doubled. */
#include "base/array.h"

#include <stdlib.h>

#define FIRST_ROOM 64

void *array_grow(void *list, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : FIRST_ROOM;
	void *grown;

	if (count < *room)
		return list;
	grown = reallocarray(list, more, size);
	if (grown)
		*room = more;
	return grown;
}
