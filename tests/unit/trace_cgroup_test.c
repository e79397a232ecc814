/* SPDX-License-Identifier: MIT */
/* trace/cgroup, trace/callers: paths of control groups, their names, and the calls of processes. */
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/memory.h"
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

/* A program that may make a group names it, with any byte but "/" and NUL. */
static void the_path_of_a_group_has_no_control_characters(void **state)
{
	static const struct {
		const char *made, *path;
	} groups[] = {
		{"vdsocheck-a.slice", "/vdsocheck-a.slice"},
		{"vdsocheck-b\x1b[2J\t.service", "/vdsocheck-b?[2J?.service"},
		{"vdsocheck-c\xc2\x9b\r\t\x7f", "/vdsocheck-c?????"},
	};
	static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
	const char *root = NULL;
	char made[256], path[CGROUP_SIZE];
	struct stat status;

	(void)state;
	cgroup_find(UINT64_MAX, path);
	assert_string_equal(path, "");
	for (size_t i = 0; i < COUNT(roots) && !root; i++) {
		struct statfs system;

		if (statfs(roots[i], &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC)
			root = roots[i];
	}
	for (size_t i = 0; i < COUNT(groups); i++) {
		snprintf(made, sizeof(made), "%s/%s", root, groups[i].made);
		if (!root || mkdir(made, 0755) < 0 || stat(made, &status) < 0)
			skip();
		cgroup_find(status.st_ino, path);
		assert_int_equal(rmdir(made), 0);
		if (!*path)
			skip(); /* it takes CAP_DAC_READ_SEARCH */
		assert_string_equal(path, groups[i].path);
		cgroup_find(status.st_ino, path);
		assert_string_equal(path, "");
	}
}

static struct trace_request request;
static struct trace_evidence trace = {.request = &request};

static void add_process(pid_t pid, const char *path, uint64_t calls)
{
	struct trace_callers *processes = &trace.callers;
	struct trace_caller process = {.pid = pid, .calls = calls};

	text_clean(process.cgroup, sizeof(process.cgroup), path);
	processes->list = array_grow(
		processes->list, processes->count, &processes->room, sizeof(*processes->list));
	processes->list[processes->count++] = process;
}

static void processes_of_a_group_are_added_up(void **state)
{
	(void)state;
	request.lists_groups = true;
	for (int i = 0; i < 100; i++)
		add_process(i + 1, i % 2 ? "/odd" : "/even", (uint64_t)i);
	add_process(101, "", 7);
	trace_callers_finish(&trace, 2, 1);
	assert_int_equal(trace.callers.count, 2);
	assert_string_equal(trace.callers.list[0].cgroup, "/odd");
	assert_int_equal(trace.callers.list[0].calls, 2500);
	assert_int_equal(trace.callers.list[0].processes, 50);
	assert_string_equal(trace.callers.list[1].cgroup, "/even");
	assert_int_equal(trace.callers.list[1].calls, 2450);
	trace_callers_forget(&trace.callers);
	assert_null(trace.callers.list);
	assert_int_equal(trace.callers.count, 0);
}

static void processes_with_the_most_calls_are_kept(void **state)
{
	(void)state;
	request.lists_groups = false;
	for (int i = 0; i < 100; i++)
		add_process(i + 1, "/", (uint64_t)(i * 37 % 100));
	trace_callers_finish(&trace, 3, 1);
	assert_int_equal(trace.callers.count, 3);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(trace.callers.list[i].calls, 99 - i);
	/* A sample in the vDSO is more than two calls of this cost, and less than three. */
	for (size_t i = 0; i < 3; i++)
		trace.callers.list[i].calls = i + 1;
	trace.callers.list[0].in_vdso = 1;
	trace_callers_finish(&trace, 2, TRACE_SAMPLE_NS / 2.1);
	assert_int_equal(trace.callers.list[0].in_vdso, 1);
	assert_int_equal(trace.callers.list[1].calls, 3);
	trace_callers_forget(&trace.callers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_path_is_that_of_the_manager),
		cmocka_unit_test(a_group_is_named_by_its_manager),
		cmocka_unit_test(the_path_of_a_group_has_no_control_characters),
		cmocka_unit_test(processes_of_a_group_are_added_up),
		cmocka_unit_test(processes_with_the_most_calls_are_kept),
	};

	return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
