/* SPDX-License-Identifier: MIT */
/*
 * Counts the calls and samples of the whole host by control group, which is named as its manager
 * names it. For samples, a process is in the group that it was in when its first one was read.
 *
 * Calls are counted by events of a group on every CPU. They count the calls of the groups below it,
 * too. Therefore, only groups without groups below them have events, and groups that are made below
 * them later are not listed separately.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "count.h"

#define CONTAINER_ID_LENGTH 64
#define SHORT_ID_LENGTH 12
#define UID_LENGTH 36

/* A directory of cgroups has two links, and one for each directory in it. */
#define LEAF_LINKS 2

/* Descriptors that are left for the directories of groups, and what is opened after the events. */
#define OTHER_FILES (TRACE_COUNTED_MAX + 64)

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

static bool is_of_group(const struct trace_caller *process, const struct trace_caller *group)
{
	struct span rest = text_span(process->cgroup);

	return text_take_prefix(&rest, group->cgroup) &&
	       (!rest.length || (group->is_exact && *rest.at == '/'));
}

static void add_to_group(struct trace_top *top, const struct trace_caller *process)
{
	struct trace_callers *groups = &top->groups;
	struct trace_caller *group = groups->list, *end = group + groups->count;

	while (group < end && !is_of_group(process, group))
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
	group->samples_32_bit += process->samples_32_bit;
	group->processes++;
}

void cgroup_add_processes(struct trace_top *top)
{
	for (size_t i = 0; i < top->processes.count; i++)
		add_to_group(top, &top->processes.list[i]);
	memset(&top->processes, 0, sizeof(top->processes));
}

/* ---- counters ---- */

int cgroup_add_running(void *argument, pid_t pid)
{
	struct trace_run *run = argument;
	struct trace_caller process = {.samples = 0};

	cgroup_read(run->root, pid, process.cgroup);
	add_to_group(&run->trace->top, &process);
	return 0;
}

/* Opens the directory of a group without groups below it; -1: there is none that can be counted. */
static int open_leaf(const char *group)
{
	/* The hierarchy with perf_event: cgroups v1, v2 beside v1, and v2. */
	static const char *const roots[] = {"/perf_event", "/unified", ""};
	char path[CGROUP_SIZE + 64];
	int directory = -1;
	struct stat status;

	/* The root has the calls of all. The path to a group outside our namespace has "/..". */
	if (strlen(group) <= 1 || strstr(group, "/.."))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(roots) && directory < 0; i++) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s", roots[i], group);
		directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (directory >= 0 && (fstat(directory, &status) || status.st_nlink != LEAF_LINKS)) {
		close(directory);
		directory = -1;
	}
	return directory;
}

/* Returns 0 or an errno value. */
static int open_counters(
	struct trace_events *events, int cpus, int directory, const struct trace_caller *of)
{
	struct trace_counted *counted = &events->trace->counted;
	struct trace_caller *group = &counted->list[counted->count];
	const struct trace_plan *plan = events->trace->plan;
	struct trace_target target = {.thread = directory, .flags = PERF_FLAG_PID_CGROUP};
	int error = 0;

	for (; target.cpu < cpus; target.cpu++) {
		for (size_t i = 0; i < plan->call_count && !error; i++) {
			if (plan->calls[i].number[TRACE_NATIVE] >= 0)
				error = trace_event_add(
					events, events->ids[i], target, NULL, &group->calls);
			if (error == ENODEV) /* a CPU that is not online */
				error = 0;
		}
	}
	if (error)
		return error;
	*group = (struct trace_caller){.is_exact = true};
	text_copy(group->cgroup, sizeof(group->cgroup), of->cgroup);
	text_copy(group->name, sizeof(group->name), of->name);
	counted->directories[counted->count++] = directory;
	return 0;
}

void cgroup_open_counters(struct trace_events *events)
{
	const struct trace_callers *groups = &events->trace->top.groups;
	struct trace_counted *counted = &events->trace->counted;
	int cpus = (int)sysconf(_SC_NPROCESSORS_CONF), error = 0;
	size_t each = events->trace->plan->call_count * (size_t)cpus;
	struct rlimit limit = {.rlim_cur = 0};

	getrlimit(RLIMIT_NOFILE, &limit);
	fact_set(&counted->fact, FACT_ABSENT,
		"no process is in a leaf control group below /sys/fs/cgroup");
	for (size_t i = 0; i < groups->count && counted->count < TRACE_COUNTED_MAX && !error; i++) {
		int directory = open_leaf(groups->list[i].cgroup);

		if (directory < 0)
			continue;
		if (events->count + each + OTHER_FILES > limit.rlim_cur)
			error = EMFILE;
		else
			error = open_counters(events, cpus, directory, &groups->list[i]);
		if (error)
			close(directory);
		if (error == ENOENT) /* the group has just been removed */
			error = 0;
	}
	if (counted->count)
		fact_set_known(&counted->fact);
	else if (error)
		trace_events_explain(error, &counted->fact);
}

void cgroup_begin(struct trace_evidence *trace)
{
	memset(&trace->top, 0, sizeof(trace->top));
	memcpy(trace->top.groups.list, trace->counted.list, sizeof(trace->counted.list));
	trace->top.groups.count = trace->counted.count;
}

void cgroup_close(struct trace_counted *counted)
{
	while (counted->count)
		close(counted->directories[--counted->count]);
}

void cgroup_take_counts(struct trace_evidence *trace)
{
	struct trace_counted *counted = &trace->counted;
	struct trace_callers *groups = &trace->top.groups;
	struct trace_caller *nameless = NULL;
	uint64_t rest = (uint64_t)trace->unlisted.value;

	for (size_t row = 0; row < trace->plan->row_count; row++)
		rest += trace->counts[TRACE_NATIVE][row];
	for (size_t i = 0; i < counted->count; i++) {
		groups->list[i].calls = counted->list[i].calls;
		/* Another group may have the path of one that was removed, which has no files. */
		groups->list[i].is_exact =
			!groups->list[i].samples_32_bit &&
			faccessat(counted->directories[i], "cgroup.procs", F_OK, 0) == 0;
		counted->list[i].calls = 0;
	}
	trace_callers_sort(groups, TRACE_CALLER_MAX);
	for (size_t i = 0; i < groups->count; i++) {
		struct trace_caller *group = &groups->list[i];

		if (!*group->cgroup)
			nameless = group;
		else
			rest -= group->calls < rest ? group->calls : rest;
	}
	/* The calls of a process whose group was not read may be in the count of a group. */
	if (counted->count && nameless && nameless->calls > rest) {
		nameless->samples = rest / TRACE_SAMPLE_PERIOD;
		nameless->calls = 0;
	}
}
