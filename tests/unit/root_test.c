/* SPDX-License-Identifier: MIT */
/* base/root: what is read of a captured tree must be the tree's, whole, and never hang. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/root.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

static void reads_a_file_below_the_root(void **state)
{
	struct fake_root *fake = *state;
	char buffer[16];
	struct span content;
	struct fact why = {0};

	fake_root_add(fake, "/proc/sys/kernel/osrelease", "6.1.0\n");
	assert_true(root_read(
		&fake->root, "/proc/sys/kernel/osrelease", buffer, sizeof(buffer), &content, &why));
	assert_true(text_equals(content, "6.1.0\n"));
	assert_string_equal(buffer, "6.1.0\n");
	assert_true(fact_is_known(&why));
	assert_false(fake->root.live);
}

/* Half a file would be a wrong answer; a file that just fits is none. */
static void a_file_that_does_not_fit_is_a_failure(void **state)
{
	struct fake_root *fake = *state;
	char buffer[8];
	struct span content;
	struct fact why = {0};

	fake_root_add(fake, "/fits", "1234567");
	fake_root_add(fake, "/long", "12345678");
	assert_true(root_read(&fake->root, "/fits", buffer, sizeof(buffer), &content, &why));
	assert_int_equal(content.length, 7);
	assert_false(root_read(&fake->root, "/long", buffer, sizeof(buffer), &content, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_non_null(strstr(why.reason, "/long"));
}

/* /proc/cpuinfo of a large machine: the first lines, none of them cut in the middle. */
static void the_head_of_a_long_file_ends_with_a_whole_line(void **state)
{
	struct fake_root *fake = *state;
	char buffer[12];
	struct span content;
	struct fact why = {0};

	fake_root_add(fake, "/long", "first\nsecond\nthird\n");
	assert_true(root_read_head(&fake->root, "/long", buffer, sizeof(buffer), &content, &why));
	assert_true(text_equals(content, "first\n"));
	assert_string_equal(buffer, "first\n");
	fake_root_add(fake, "/short", "no newline");
	assert_true(root_read_head(&fake->root, "/short", buffer, sizeof(buffer), &content, &why));
	assert_true(text_equals(content, "no newline"));
	fake_root_add(fake, "/one", "one very long line");
	assert_true(root_read_head(&fake->root, "/one", buffer, sizeof(buffer), &content, &why));
	assert_int_equal(content.length, 0);
}

static void a_missing_file_is_absent_and_named(void **state)
{
	struct fake_root *fake = *state;
	char buffer[8];
	struct span content;
	struct fact why = {0};

	assert_false(
		root_read(&fake->root, "/proc/cmdline", buffer, sizeof(buffer), &content, &why));
	assert_int_equal(why.state, FACT_ABSENT);
	assert_non_null(strstr(why.reason, "/proc/cmdline"));
	assert_false(root_has(&fake->root, "/proc/cmdline"));
	assert_false(root_read_head(&fake->root, "/x/y", buffer, sizeof(buffer), &content, &why));
	assert_int_equal(why.state, FACT_ABSENT);
}

static void a_directory_is_a_failure_not_an_empty_file(void **state)
{
	struct fake_root *fake = *state;
	char buffer[8];
	struct span content;
	struct fact why = {0};

	fake_root_add(fake, "/sys/file", "");
	assert_false(root_read(&fake->root, "/sys", buffer, sizeof(buffer), &content, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_true(root_has(&fake->root, "/sys"));
}

struct reading {
	const struct fake_root *fake;
	bool succeeded;
	struct fact why;
};

/* Root is denied nothing: read as somebody else. */
static void read_as_nobody(void *argument)
{
	struct reading *reading = argument;
	char buffer[8];
	struct span content;

	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		return;
	reading->succeeded = root_read(
		&reading->fake->root, "/secret", buffer, sizeof(buffer), &content, &reading->why);
}

static void a_denied_file_is_denied(void **state)
{
	struct fact why = {0};
	struct reading *reading = child_share(sizeof(*reading), &why);

	assert_non_null(reading);
	reading->fake = *state;
	fake_root_add(reading->fake, "/secret", "x");
	assert_int_equal(chmod(fake_root_place(reading->fake, "/secret"), 0), 0);
	assert_int_equal(chmod(reading->fake->path, 0755), 0);
	assert_true(child_run(read_as_nobody, reading, 10, &why));
	if (reading->why.state == FACT_UNREAD)
		unit_skip("root cannot become somebody else here");
	assert_false(reading->succeeded);
	assert_int_equal(reading->why.state, FACT_DENIED);
	child_unshare(reading, sizeof(*reading));
}

/* A captured tree may hold anything. */
static void a_pipe_does_not_hang_the_reader(void **state)
{
	struct fake_root *fake = *state;
	char buffer[8];
	struct span content = {NULL, 1};
	struct fact why = {0};

	assert_int_equal(mkfifo(fake_root_place(fake, "/pipe"), 0644), 0);
	alarm(10);
	if (root_read(&fake->root, "/pipe", buffer, sizeof(buffer), &content, &why))
		assert_int_equal(content.length, 0);
	alarm(0);
}

/* openat2(2), 5.6, is what keeps links inside. Asked with no arguments it only says so. */
static bool has_openat2(void)
{
	return syscall(437, -1, NULL, NULL, 0) < 0 && errno != ENOSYS && errno != EPERM;
}

/* Else a tree from another machine is judged by files of this one. */
static void absolute_links_stay_inside(void **state)
{
	struct fake_root *fake = *state;
	char buffer[64];
	struct span content;
	struct fact why = {0};

	fake_root_add(fake, "/inside", "captured\n");
	fake_root_link(fake, "/absolute", "/inside");
	if (!has_openat2())
		unit_skip("the kernel has no openat2");
	assert_true(root_read(&fake->root, "/absolute", buffer, sizeof(buffer), &content, &why));
	assert_true(text_equals(content, "captured\n"));
	fake_root_link(fake, "/out", "/etc/hostname");
	assert_false(root_read(&fake->root, "/out", buffer, sizeof(buffer), &content, &why));
	assert_int_equal(why.state, FACT_ABSENT);
	assert_false(root_has(&fake->root, "/out"));
}

static void links_upwards_stay_inside(void **state)
{
	struct fake_root *fake = *state;
	char buffer[64];
	struct span content;
	struct fact why = {0};

	fake_root_add(fake, "/inside", "captured\n");
	fake_root_link(fake, "/a/b/up", "../../../../../../inside");
	if (!has_openat2())
		unit_skip("the kernel has no openat2");
	assert_true(root_read(&fake->root, "/a/b/up", buffer, sizeof(buffer), &content, &why));
	assert_true(text_equals(content, "captured\n"));
	fake_root_link(fake, "/proc", "../../../proc");
	assert_false(root_has(&fake->root, "/proc/self/maps"));
	assert_false(root_has(&fake->root, "/../../../proc/self/maps"));
}

static void a_link_to_itself_is_an_answer(void **state)
{
	struct fake_root *fake = *state;
	char buffer[64];
	struct span content;
	struct fact why = {0};

	fake_root_link(fake, "/loop", "loop");
	assert_false(root_read(&fake->root, "/loop", buffer, sizeof(buffer), &content, &why));
	assert_int_equal(why.state, FACT_FAILED);
}

static void this_host_is_live_and_nothing_else(void **state)
{
	struct root root;
	struct fact why = {0};

	(void)state;
	assert_true(root_open(&root, "/", &why));
	assert_true(root.live);
	assert_true(root_has(&root, "/tmp"));
	root_close(&root);
	assert_false(root_open(&root, "/no/such/tree", &why));
	assert_int_equal(why.state, FACT_ABSENT);
	assert_non_null(strstr(why.reason, "/no/such/tree"));
}

static void a_file_is_no_tree(void **state)
{
	struct fake_root *fake = *state;
	struct root root;
	struct fact why = {0};

	fake_root_add(fake, "/file", "x");
	assert_false(root_open(&root, fake_root_place(fake, "/file"), &why));
	assert_false(fact_is_known(&why));
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(reads_a_file_below_the_root),
		IN_TREE(a_file_that_does_not_fit_is_a_failure),
		IN_TREE(the_head_of_a_long_file_ends_with_a_whole_line),
		IN_TREE(a_missing_file_is_absent_and_named),
		IN_TREE(a_directory_is_a_failure_not_an_empty_file),
		IN_TREE(a_denied_file_is_denied),
		IN_TREE(a_pipe_does_not_hang_the_reader),
		IN_TREE(absolute_links_stay_inside),
		IN_TREE(links_upwards_stay_inside),
		IN_TREE(a_link_to_itself_is_an_answer),
		cmocka_unit_test(this_host_is_live_and_nothing_else),
		IN_TREE(a_file_is_no_tree),
	};

	return cmocka_run_group_tests_name("root", tests, NULL, NULL);
}
