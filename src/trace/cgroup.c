/* SPDX-License-Identifier: MIT */
/*
 * Counts the samples of the whole host by control group: each process is in the group that it was
 * in when its first sample was read. A group is named as its manager names it.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "count.h"

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

void cgroup_read(const struct root *root, pid_t pid, char path[CGROUP_SIZE])
{
	char file[64], content[8192];
	struct fact why = {0};
	struct span text, found;

	path[0] = '\0';
	snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	if (root_read(root, file, content, sizeof(content), &text, &why) &&
		cgroup_find_path(text, &found))
		text_copy_span(path, CGROUP_SIZE, found);
}

static void add_to_group(struct trace_top *top, const struct trace_caller *process)
{
	struct trace_callers *groups = &top->groups;
	struct trace_caller *group = groups->list, *end = group + groups->count;

	while (group < end && strcmp(group->cgroup, process->cgroup) != 0)
		group++;
	if (group == groups->list + TRACE_CALLER_MAX) {
		top->missed += process->samples;
		return;
	}
	if (group == end) {
		*group = (struct trace_caller){.samples = 0};
		text_copy(group->cgroup, sizeof(group->cgroup), process->cgroup);
		cgroup_describe(group->cgroup, group->name);
		groups->count++;
	}
	group->samples += process->samples;
	group->processes++;
}

void cgroup_add_processes(struct trace_top *top)
{
	for (size_t i = 0; i < top->processes.count; i++)
		add_to_group(top, &top->processes.list[i]);
	memset(&top->processes, 0, sizeof(top->processes));
}
