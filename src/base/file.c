/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <unistd.h>

int file_read_all(int file, char *buffer, size_t size, size_t *length)
{
	*length = 0;
	while (*length < size) {
		ssize_t got = read(file, buffer + *length, size - *length);

		if (got == 0)
			return 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno;
		*length += (size_t)got;
	}
	return EFBIG;
}
