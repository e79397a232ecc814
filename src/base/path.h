/* SPDX-License-Identifier: MIT */
/*
 * Finds the directory that a path's last component is in, opening one component at a time and
 * following symbolic links itself: below a root that no link leaves, or on the host where other
 * users may have placed links.
 */
#ifndef VDSOCHECK_BASE_PATH_H
#define VDSOCHECK_BASE_PATH_H

#include <limits.h>
#include <stdbool.h>

struct path {
	/* Set by the caller. */
	int root;      /* where absolute paths and links begin; borrowed */
	bool confined; /* ".." does not leave the root; else relative paths begin at the
	                * working directory */
	bool wary;     /* do not follow links that lie where other users can write */

	/* Set by path_find(). */
	bool link_refused;       /* failed because of such a link */
	bool descriptor;         /* the last component is a link of /proc/PID/fd, which has no text
	                          * that could be followed: open it without O_NOFOLLOW */
	int directory;           /* holds the last component; owned by the caller */
	char name[NAME_MAX + 1]; /* not a link when it was read; it may not exist */
	char text[PATH_MAX];     /* the path without the links followed */
};

/*
 * Finds the directory and the name of the path's last component; "." for a path that ends in
 * a directory's own name ("/", "."). 0 or an errno value. Open the name with O_NOFOLLOW.
 */
int path_find(struct path *path, const char *from);

/* True if only root and the caller can create, rename or remove entries of the directory. */
bool path_is_private(int directory);

#endif
