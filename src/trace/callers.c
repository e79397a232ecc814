/* SPDX-License-Identifier: MIT */
/* Keeps the list of the processes of the host that make calls, and of their control groups. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "count.h"
#include "files.h"

static struct trace_caller *callers_add(struct trace_callers *callers)
{
	struct trace_caller *caller;

	callers->list =
		array_grow(callers->list, callers->count, &callers->room, sizeof(*callers->list));
	caller = &callers->list[callers->count++];
	memset(caller, 0, sizeof(*caller));
	return caller;
}

/*
 * Finds the path of a process's group, of one which has ended by its ID. Where groups are those of
 * cgroups v1, all processes are in the root of v2.
 */
static void find_group(struct trace_caller *process)
{
	if (process->pid)
		cgroup_read(process->pid, process->cgroup);
	if (!*process->cgroup && (uint32_t)process->group > CGROUP_ROOT_ID)
		cgroup_find(process->group, process->cgroup);
}

struct trace_caller *trace_callers_add(
	const struct trace_run *run, pid_t pid, uint64_t group, const char *name)
{
	const struct trace_callers *known = &run->trace->callers;
	struct trace_caller *process;

	for (size_t i = 0; i < known->count; i++) {
		if (known->list[i].pid == pid && known->list[i].group == group)
			return &known->list[i];
	}
	process = callers_add(&run->trace->callers);
	process->pid = pid;
	process->group = group;
	if (run->trace->request->lists_groups)
		find_group(process);
	if (pid)
		process_name(pid, process->name, sizeof(process->name));
	if (!*process->name)
		text_clean(process->name, sizeof(process->name), name);
	return process;
}

/* Names the group of an ended process, whose path was not found, by another one or by its ID. */
static void name_group(const struct trace_callers *known, struct trace_caller *process)
{
	if (*process->cgroup || (uint32_t)process->group <= CGROUP_ROOT_ID)
		return;
	for (size_t i = 0; i < known->count && !*process->cgroup; i++) {
		if (known->list[i].group == process->group)
			text_clean(process->cgroup, CGROUP_SIZE, known->list[i].cgroup);
	}
	if (!*process->cgroup)
		snprintf(process->cgroup, CGROUP_SIZE, "group %" PRIu64, process->group);
}

static void add_to_group(struct trace_callers *groups, const struct trace_caller *process)
{
	struct trace_caller *group = groups->list;

	while (group < groups->list + groups->count && strcmp(group->cgroup, process->cgroup) != 0)
		group++;
	if (group == groups->list + groups->count) {
		group = callers_add(groups);
		text_clean(group->cgroup, sizeof(group->cgroup), process->cgroup);
		cgroup_describe(group->cgroup, group->name);
	}
	group->calls += process->calls;
	group->in_vdso += process->in_vdso;
	group->processes += process->calls > 0;
}

static int by_time(const void *left, const void *right)
{
	const struct trace_caller *a = left, *b = right;

	return (a->spent_ns < b->spent_ns) - (a->spent_ns > b->spent_ns);
}

void trace_callers_finish(struct trace_evidence *trace, uint64_t most, double ns_per_call)
{
	struct trace_callers *callers = &trace->callers, groups = {.count = 0};

	for (size_t i = 0; i < callers->count; i++)
		groups.bypassing += callers->list[i].avoidable > 0;
	callers->bypassing = groups.bypassing;
	if (trace->request->lists_groups) {
		for (size_t i = 0; i < callers->count; i++) {
			name_group(callers, &callers->list[i]);
			add_to_group(&groups, &callers->list[i]);
		}
		trace_callers_forget(callers);
		*callers = groups;
	}
	for (size_t i = 0; i < callers->count; i++) {
		struct trace_caller *caller = &callers->list[i];
		double vdso_ns = (double)caller->in_vdso * TRACE_SAMPLE_NS;

		caller->vdso_s = vdso_ns / NS_PER_SECOND;
		caller->spent_ns = vdso_ns + (double)caller->calls * ns_per_call;
	}
	if (callers->count)
		qsort(callers->list, callers->count, sizeof(*callers->list), by_time);
	if (callers->count > most)
		callers->count = (size_t)most;
}

void trace_callers_forget(struct trace_callers *callers)
{
	free(callers->list);
	memset(callers, 0, sizeof(*callers));
}
