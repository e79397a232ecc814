/* SPDX-License-Identifier: MIT */
/* The clouds, products and sandboxes around a system: one table of all that is known of each. */
#ifndef VDSOCHECK_BASE_PLATFORM_H
#define VDSOCHECK_BASE_PLATFORM_H

#include <stdbool.h>

#define PLATFORM_SIGNS 4

struct platform {
	const char *word;  /* the value of host.platform */
	const char *title; /* its name for people; NULL: it is the hypervisor's */
	bool is_cloud;     /* machines are rented from it; otherwise a product or sandbox */
	struct {
		const char *path; /* NULL: no more */
		const char *text; /* anywhere in the first 8 KiB; "" if its being there is enough */
	} signs[PLATFORM_SIGNS];  /* each is enough */
	const char *move;         /* a shell line that moves a guest to another host; or NULL */
};

/* All of them, ended by one without a word; the first whose sign is found is the platform. */
extern const struct platform platforms[];

/* Returns the platform of this word, or NULL. */
const struct platform *platform_find(const char *word);

#endif
