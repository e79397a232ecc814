/* SPDX-License-Identifier: MIT */
/* A temporary directory that stands in for / of another machine. */
#include "unit/fake_root.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/unit.h"

int fake_root_setup(void **state)
{
	struct fake_root *fake = calloc(1, sizeof(*fake));
	const char *parent = getenv("TMPDIR");
	struct fact why = {0};

	if (!fake)
		return -1;
	snprintf(fake->path, sizeof(fake->path), "%s/vdsocheck-unit-XXXXXX",
		parent ? parent : "/tmp");
	if (!mkdtemp(fake->path) || !root_open(&fake->root, fake->path, &why)) {
		free(fake);
		return -1;
	}
	*state = fake;
	return 0;
}

static int take_away(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

int fake_root_teardown(void **state)
{
	struct fake_root *fake = *state;
	int result = nftw(fake->path, take_away, 16, FTW_DEPTH | FTW_PHYS);

	root_close(&fake->root);
	free(fake);
	return result;
}

const char *fake_root_place(const struct fake_root *fake, const char *path)
{
	static char place[PATH_MAX];

	snprintf(place, sizeof(place), "%s%s", fake->path, path);
	return place;
}

static void make_directories(const struct fake_root *fake, const char *path)
{
	char above[PATH_MAX];

	snprintf(above, sizeof(above), "%s%s", fake->path, path);
	for (char *at = above + strlen(fake->path) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		mkdir(above, 0755);
		*at = '/';
	}
}

void fake_root_add_bytes(
	const struct fake_root *fake, const char *path, const void *bytes, size_t size)
{
	FILE *file;

	make_directories(fake, path);
	file = fopen(fake_root_place(fake, path), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

void fake_root_add(const struct fake_root *fake, const char *path, const char *text)
{
	fake_root_add_bytes(fake, path, text, strlen(text));
}

void fake_root_link(const struct fake_root *fake, const char *path, const char *target)
{
	make_directories(fake, path);
	assert_int_equal(symlink(target, fake_root_place(fake, path)), 0);
}
