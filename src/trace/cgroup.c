/* SPDX-License-Identifier: MIT */
/*
 * Finds control groups and names them as their managers do. The kernel knows a group of cgroups v2
 * by its ID, the inode number of its directory. A process has its path there or in the hierarchy of
 * its manager, which may be one of cgroups v1.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/*
 * The kernel takes the ID as a file handle of kernfs, FILEID_INO32_GEN of include/linux/exportfs.h:
 * 64 bits of ID since Linux 5.5, before that 32 bits of inode and 32 of generation, which are the
 * ID.
 */
#define HANDLE_OF_ID 1

void cgroup_find(uint64_t id, char path[CGROUP_SIZE])
{
	static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
	struct {
		struct file_handle head;
		uint64_t id;
	} handle = {{.handle_bytes = sizeof(id), .handle_type = HANDLE_OF_ID}, id};
	char link[64], target[CGROUP_SIZE + 64];

	path[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(roots) && !*path; i++) {
		const int root = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		const int group = open_by_handle_at(root, &handle.head, O_PATH | O_CLOEXEC);
		struct span found = {target, 0};
		ssize_t length;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", group);
		length = readlink(link, target, sizeof(target));
		found.length = length > 0 ? (size_t)length : 0;
		if (text_take_prefix(&found, roots[i]))
			text_clean_span(path, CGROUP_SIZE, found);
		close(group);
		close(root);
	}
}
