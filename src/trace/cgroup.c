/* SPDX-License-Identifier: MIT */
/*
 * Finds control groups and names them as their managers do. The kernel knows a group of cgroups v2
 * by its ID, the inode number of its directory. A process has its path there or in the hierarchy of
 * its manager, which may be one of cgroups v1.
 */
#include <dirent.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/memory.h"
#include "count.h"
#include "files.h"

#define CGROUPS_SIZE 8192
#define CONTAINER_ID_LENGTH 64
#define SHORT_ID_LENGTH 12
#define UID_LENGTH 36

/*
 * Takes the path of cgroups v2 or of systemd's own hierarchy, unless the process is in the root of
 * both, else the longest of all.
 */
bool cgroup_find_path(struct span text, struct span *path)
{
	struct span line;
	bool is_by_manager = false; /* *path is of one of these two */

	*path = (struct span){0};
	while (text_next_line(&text, &line)) {
		struct span controllers;
		bool is_managed;

		text_take_until(&line, ':'); /* the number of the hierarchy */
		controllers = text_take_until(&line, ':');
		if (!text_starts(line, "/"))
			continue;
		is_managed = (!controllers.length || text_equals(controllers, "name=systemd")) &&
		             line.length > 1;
		if (is_managed == is_by_manager ? line.length > path->length : is_managed) {
			*path = line;
			is_by_manager = is_managed;
		}
	}
	return path->length > 0;
}

/* Returns the last component of the path that is a systemd unit, or NULL. */
static const char *find_unit(const char *path)
{
	static const char *const suffixes[] = {".service", ".scope", ".slice", ".socket", ".mount"};
	struct span rest = text_span(path);
	const char *unit = NULL;

	while (rest.length) {
		const struct span part = text_take_until(&rest, '/');

		for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
			if (text_take_suffix(&(struct span){part.at, part.length}, suffixes[i]))
				unit = part.at;
		}
	}
	return unit;
}

/* Returns the last ID of a container in the path, 64 hexadecimal digits, or NULL. */
static const char *find_container(const char *path)
{
	static const char digits[] = "0123456789abcdef";
	const char *container = NULL;

	for (const char *at = path; *at; at++) {
		size_t length = strspn(at, digits);

		if (length == CONTAINER_ID_LENGTH)
			container = at;
		if (length)
			at += length - 1;
	}
	return container;
}

/*
 * Writes the UID of the pod, which the kubelet names pod<UID>; in the names of slices systemd's
 * rule takes the place of each "-" by "_".
 */
static bool find_pod(const char *path, char uid[UID_LENGTH + 1])
{
	for (const char *at = strstr(path, "pod"); at; at = strstr(at + 1, "pod")) {
		size_t length = strspn(at + 3, "0123456789abcdef-_");

		if (length != UID_LENGTH || !strstr(path, "kubepods"))
			continue;
		snprintf(uid, UID_LENGTH + 1, "%s", at + 3);
		for (char *low = uid; (low = strchr(low, '_'));)
			*low = '-';
		return true;
	}
	return false;
}

void cgroup_describe(const char *path, char name[CGROUP_SIZE])
{
	const char *container = find_container(path), *unit = find_unit(path);
	char uid[UID_LENGTH + 1];

	name[0] = '\0';
	if (find_pod(path, uid))
		text_append(name, CGROUP_SIZE, "pod %s%s", uid, container ? ", " : "");
	if (container)
		text_append(name, CGROUP_SIZE, "container %.*s", SHORT_ID_LENGTH, container);
	/* The groups that a unit divides itself into stand behind its name. */
	if (!*name)
		text_append(name, CGROUP_SIZE, "%s", unit ? unit : path);
}

void cgroup_read(pid_t pid, char path[CGROUP_SIZE])
{
	struct span text = proc_read(pid, "cgroup", CGROUPS_SIZE), found;

	path[0] = '\0';
	if (cgroup_find_path(text, &found))
		text_clean_span(path, CGROUP_SIZE, found);
	span_free(text);
}

/* ---- by ID ---- */

/* A look at all groups may take so long, and looks for those that are not found so much of our
 * time. */
#define LISTING_NS NS_PER_SECOND
#define LISTING_PART 20

struct cgroups {
	struct cgroup {
		uint64_t id;
		char *path; /* owned */
	} * list;
	size_t count, room;
	int64_t next_ns; /* time of the next look, by CLOCK_MONOTONIC */
};

/* Goes on in `path`, a directory with room for CGROUP_SIZE bytes, which begins with `root`. */
static void list_directory(
	struct cgroups *groups, char *path, size_t root, const struct deadline *deadline)
{
	const size_t length = strlen(path);
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && deadline_left_ns(deadline) && (entry = readdir(directory))) {
		struct cgroup *group;

		if (entry->d_type != DT_DIR || *entry->d_name == '.' ||
			length + strlen(entry->d_name) + 2 > CGROUP_SIZE)
			continue;
		snprintf(path + length, CGROUP_SIZE - length, "/%s", entry->d_name);
		groups->list = array_grow(
			groups->list, groups->count, &groups->room, sizeof(*groups->list));
		group = &groups->list[groups->count++];
		*group = (struct cgroup){entry->d_ino, xstrdup(path + root)};
		list_directory(groups, path, root, deadline);
	}
	if (directory)
		closedir(directory);
	path[length] = '\0';
}

static int by_id(const void *left, const void *right)
{
	const struct cgroup *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static void forget(struct cgroups *groups)
{
	while (groups->count)
		free(groups->list[--groups->count].path);
}

/* Looks at the groups below these folders. */
static void list_all(struct cgroups *groups, const char *const *roots, size_t count)
{
	const struct deadline deadline = deadline_after(LISTING_NS);
	const int64_t begin_ns = trace_clock_ns(CLOCK_MONOTONIC);
	int64_t end_ns;

	forget(groups);
	for (size_t i = 0; i < count; i++) {
		char path[CGROUP_SIZE];

		text_clean(path, sizeof(path), roots[i]);
		list_directory(groups, path, strlen(path), &deadline);
	}
	if (groups->count)
		qsort(groups->list, groups->count, sizeof(*groups->list), by_id);
	end_ns = trace_clock_ns(CLOCK_MONOTONIC);
	groups->next_ns = end_ns + LISTING_PART * (end_ns - begin_ns);
}

/* Before Linux 5.5 the inode number is the low half of the ID. */
static const struct cgroup *cgroup_find_listed(const struct cgroups *groups, uint64_t id)
{
	const struct cgroup whole = {.id = id}, half = {.id = (uint32_t)id};
	const struct cgroup *found = NULL;

	if (groups->count)
		found = bsearch(&whole, groups->list, groups->count, sizeof(whole), by_id);
	if (groups->count && !found)
		found = bsearch(&half, groups->list, groups->count, sizeof(half), by_id);
	return found;
}

void cgroup_find_below(struct cgroups **groups, const char *const *roots, size_t count, uint64_t id,
	char path[CGROUP_SIZE])
{
	const struct cgroup *group;

	if (!*groups)
		*groups = xcalloc(1, sizeof(**groups));
	group = cgroup_find_listed(*groups, id);
	if (!group && trace_clock_ns(CLOCK_MONOTONIC) >= (*groups)->next_ns) {
		list_all(*groups, roots, count);
		group = cgroup_find_listed(*groups, id);
	}
	text_clean(path, CGROUP_SIZE, group ? group->path : "");
}

void cgroup_find(struct cgroups **groups, uint64_t id, char path[CGROUP_SIZE])
{
	static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
	const char *found[ARRAY_SIZE(roots)];
	struct statfs status;
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		if (statfs(roots[i], &status) == 0 && status.f_type == CGROUP2_SUPER_MAGIC)
			found[count++] = roots[i];
	}
	cgroup_find_below(groups, found, count, id, path);
}

void cgroups_free(struct cgroups *groups)
{
	if (!groups)
		return;
	forget(groups);
	free(groups->list);
	free(groups);
}
