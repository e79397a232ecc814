/* SPDX-License-Identifier: MIT */
/* Preloaded: the realloc(3) whose number NO_MEMORY gives fails, the first being 1. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *realloc(void *old, size_t size)
{
	static void *(*real)(void *, size_t);
	static int count;
	const char *failing = getenv("NO_MEMORY");
	void *found;

	if (!real) {
		found = dlsym(RTLD_NEXT, "realloc");
		memcpy(&real, &found, sizeof(real));
	}
	if (failing && ++count == atoi(failing)) {
		errno = ENOMEM;
		return NULL;
	}
	return real(old, size);
}
