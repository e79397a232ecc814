/* SPDX-License-Identifier: MIT */
/* trace/cgroup: paths of control groups, their names, and the samples of their processes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/count.h"
#include "unit/unit.h"

#define ID "0123456789ab4f5e6d7c8b9a0f1e2d3c4b5a69788796a5b4c3d2e1f00fedcba9"
#define POD "0f3a9c1e-7b2d-4c55-9e0f-12ab34cd56ef"
#define POD_ "0f3a9c1e_7b2d_4c55_9e0f_12ab34cd56ef"

static void the_path_is_that_of_the_manager(void **state)
{
	static const struct {
		const char *text, *path;
	} files[] = {
		{"0::/system.slice/nginx.service\n", "/system.slice/nginx.service"},
		{"0::/\n", "/"},
		{"2:cpu,cpuacct:/\n1:name=systemd:/system.slice/a.service\n0::/\n",
			"/system.slice/a.service"},
		{"9:name=systemd:/\n4:memory:/process_api/a/longer/one\n0::/a.service\n",
			"/a.service"},
		{"0::/a.service\n4:memory:/process_api/a/longer/one\n", "/a.service"},
		{"9:name=systemd:/\n4:memory:/process_api\n0::/\n", "/process_api"},
		{"0::/a:b\n", "/a:b"},
		{"", NULL},
		{"0::\n", NULL},
		{"garbage", NULL},
		{"1:name=systemd:relative\n", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		struct span path;

		assert_int_equal(
			cgroup_find_path(text_span(files[i].text), &path), files[i].path != NULL);
		if (files[i].path)
			assert_true(text_equals(path, files[i].path));
	}
}

static void a_group_is_named_by_its_manager(void **state)
{
	static const struct {
		const char *path, *name;
	} groups[] = {
		{"", ""},
		{"/", "/"},
		{"/batch/worker", "/batch/worker"},
		{"/system.slice/nginx.service", "nginx.service"},
		{"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"},
		{"/system.slice/app\\x2dserver.service/worker-1",
			"app\\x2dserver.service/worker-1"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/app-a.scope",
			"app-a.scope"},
		{"/system.slice/docker-" ID ".scope", "container 0123456789ab"},
		{"/docker/" ID, "container 0123456789ab"},
		{"/docker/" ID "0", "/docker/" ID "0"},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_
		 ".slice/cri-containerd-" ID ".scope",
			"pod " POD ", container 0123456789ab"},
		{"/kubepods/besteffort/pod" POD "/" ID, "pod " POD ", container 0123456789ab"},
		{"/kubepods/pod" POD, "pod " POD},
		{"/kubepods/pod0f3a", "/kubepods/pod0f3a"},
		{"/machine.slice/libpod-" ID ".scope", "container 0123456789ab"},
		{"/podium.service", "podium.service"},
	};
	char name[CGROUP_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT(groups); i++) {
		cgroup_describe(groups[i].path, name);
		assert_string_equal(name, groups[i].name);
	}
}

static void processes_of_a_group_are_added_up(void **state)
{
	static struct trace_top top;

	(void)state;
	memset(&top, 0, sizeof(top));
	for (int i = 0; i < 10; i++) {
		struct trace_caller *process = &top.processes.list[top.processes.count++];

		process->pid = i + 1;
		process->samples = (uint64_t)i + 1;
		snprintf(process->cgroup, sizeof(process->cgroup), "%s", i % 2 ? "/odd" : "/even");
	}
	cgroup_add_processes(&top);
	assert_int_equal(top.processes.count, 0);
	assert_int_equal(top.processes.list[0].samples, 0);
	assert_int_equal(top.groups.count, 2);
	top.processes.list[top.processes.count++] =
		(struct trace_caller){.pid = 1, .samples = 6, .cgroup = "/even"};
	cgroup_add_processes(&top);
	trace_callers_sort(&top.groups, 1);
	assert_int_equal(top.groups.count, 1);
	assert_string_equal(top.groups.list[0].cgroup, "/even");
	assert_int_equal(top.groups.list[0].samples, 1 + 3 + 5 + 7 + 9 + 6);
	assert_int_equal(top.groups.list[0].processes, 6);
	assert_int_equal(top.missed, 0);
}

static void add_process(struct trace_top *top, const char *path, uint64_t samples, bool is_32_bit)
{
	struct trace_caller process = {
		.samples = samples, .samples_32_bit = is_32_bit ? samples : 0};

	snprintf(process.cgroup, sizeof(process.cgroup), "%s", path);
	top->processes.list[top->processes.count++] = process;
}

static void counted_groups_have_the_calls_of_those_made_below(void **state)
{
	static struct trace_evidence trace;
	static struct trace_plan plan;
	static const struct {
		const char *path;
		uint64_t calls;
	} counts[] = {{"/c.slice/d", 30}, {"/a.service", 1234}, {"/b.scope", 50}, {"/idle", 0},
		{"/removed", 20}};
	static const struct {
		const char *path;
		uint64_t calls;
		bool is_exact;
	} rows[2][7] = {
		{
			{"/a.service", 1234, true},
			{"/a.service2", 900, false},
			{"", 300, false},
			{"/b.scope", 200, false}, /* 32-bit code makes calls there */
			{"/c.slice/d", 30, true},
			{"/removed", 20, false},
			{"/idle", 0, true},
		},
		{
			{"/a.service2", 900, false},
			{"", 800, false},
			{"/b.scope", 200, false},
		},
	};

	char directory[] = "/tmp/vdsocheck-cgroup-XXXXXX", file[64];

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof(file), "%s/cgroup.procs", directory);
	close(creat(file, 0600));
	plan = (struct trace_plan){.call_count = 0};
	trace_plan_add_clock_calls(&plan);
	/* 350 calls are in no group that is counted or has samples. */
	trace = (struct trace_evidence){.plan = &plan,
		.counts = {{1234 + 900 + 30 + 20, 350}},
		.unlisted.value = 200,
		.counted.count = COUNT(counts)};
	for (size_t i = 0; i < COUNT(counts); i++) {
		struct trace_caller *group = &trace.counted.list[i];

		group->is_exact = true;
		group->calls = counts[i].calls;
		text_copy(group->cgroup, sizeof(group->cgroup), counts[i].path);
		trace.counted.directories[i] =
			open(i < 4 ? directory : "/", O_RDONLY | O_DIRECTORY);
	}
	for (size_t interval = 0; interval < 2; interval++) {
		cgroup_begin(&trace);
		add_process(&trace.top, "/a.service", 1, false);
		add_process(&trace.top, "/a.service/init.scope", 11, false);
		add_process(&trace.top, "/a.service2", 9, interval);
		add_process(&trace.top, "/b.scope", 2, true);
		add_process(&trace.top, "", 8, false);
		cgroup_add_processes(&trace.top);
		cgroup_take_counts(&trace);
		trace_callers_sort(&trace.top.groups, 10);
		assert_int_equal(trace.top.groups.count, COUNT(rows[0]));
		/* In the second interval the counted groups make no calls. */
		for (size_t i = 0; i < COUNT(rows[0]) && rows[interval][i].path; i++) {
			const struct trace_caller *group = &trace.top.groups.list[i];

			assert_string_equal(group->cgroup, rows[interval][i].path);
			assert_int_equal(group->calls, rows[interval][i].calls);
			assert_int_equal(group->is_exact, rows[interval][i].is_exact);
		}
	}
	assert_int_equal(trace.top.groups.list[3].calls, 0);
	cgroup_close(&trace.counted);
	unlink(file);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_path_is_that_of_the_manager),
		cmocka_unit_test(a_group_is_named_by_its_manager),
		cmocka_unit_test(processes_of_a_group_are_added_up),
		cmocka_unit_test(counted_groups_have_the_calls_of_those_made_below),
	};

	return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
