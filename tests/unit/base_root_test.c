/* SPDX-License-Identifier: MIT */
/* Tests of base/root: files are read whole, below the root only, and never block. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <seccomp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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
	assert_false(root_exists(&fake->root, "/proc/cmdline"));
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
	assert_true(root_exists(&fake->root, "/sys"));
}

struct reading {
	const struct fake_root *fake;
	bool succeeded;
	struct fact why;
};

/* Root may read everything: read as another user. */
static void read_unprivileged(void *argument)
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
	assert_true(child_run(read_unprivileged, NULL, reading, DEADLINE_NONE, &why));
	if (reading->why.state == FACT_UNREAD)
		unit_skip("root cannot become another user here");
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

/* Nor does a watchdog that root unpacked with the tree. */
static void only_files_and_directories_of_a_tree_are_opened(void **state)
{
	const struct fake_root *fake = *state;
	static const char *const paths[] = {"/pipe", "/device"};
	char buffer[8];
	struct span content;
	struct fact why = {0};

	assert_int_equal(mkfifo(fake_root_place(fake, "/pipe"), 0644), 0);
	/* /dev/null */
	if (mknod(fake_root_place(fake, "/device"), S_IFCHR | 0644, makedev(1, 3)) < 0)
		assert_int_equal(mkfifo(fake_root_place(fake, "/device"), 0644), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_false(
			root_read(&fake->root, paths[i], buffer, sizeof(buffer), &content, &why));
		assert_int_equal(why.state, FACT_FAILED);
		assert_int_equal(root_open_file(&fake->root, paths[i], O_RDWR, &why), -1);
		assert_true(root_exists(&fake->root, paths[i]));
	}
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
	assert_true(root_read(&fake->root, "/absolute", buffer, sizeof(buffer), &content, &why));
	assert_true(text_equals(content, "captured\n"));
	fake_root_link(fake, "/out", "/etc/hostname");
	assert_false(root_read(&fake->root, "/out", buffer, sizeof(buffer), &content, &why));
	assert_int_equal(why.state, FACT_ABSENT);
	assert_false(root_exists(&fake->root, "/out"));
}

static void links_upwards_stay_inside(void **state)
{
	struct fake_root *fake = *state;
	char buffer[64];
	struct span content;
	struct fact why = {0};

	fake_root_add(fake, "/inside", "captured\n");
	fake_root_link(fake, "/a/b/up", "../../../../../../inside");
	assert_true(root_read(&fake->root, "/a/b/up", buffer, sizeof(buffer), &content, &why));
	assert_true(text_equals(content, "captured\n"));
	fake_root_link(fake, "/proc", "../../../proc");
	assert_false(root_exists(&fake->root, "/proc/self/maps"));
	assert_false(root_exists(&fake->root, "/../../../proc/self/maps"));
}

/* Shells and tar make all of these; each must lead to a file of the tree or to none. */
static void every_way_to_name_a_file_stays_inside(void **state)
{
	static const struct {
		const char *path;
		const char *target; /* of a link at /way, then; or NULL */
		bool found;
	} ways[] = {
		{"/a/b/file", NULL, true},
		{"//a///b//file", NULL, true},
		{"/a/./b/./file", NULL, true},
		{"/a/b/../b/file", NULL, true},
		{"/../../a/b/file", NULL, true},
		{"/a/b/../../../a/b/file", NULL, true},
		{"/way", "a/b/file", true},
		{"/way", "/a/b/file", true},
		{"/way", "/../a/../a/b/file", true},
		{"/way/file", "a/b", true},
		{"/way/file", "/a/b/", true},
		{"/way/../b/file", "/a/b", true},
		{"/a/to_etc/passwd", NULL, false},
		{"/way/passwd", "/etc", false},
		{"/way", "/etc/passwd", false},
		{"/way", "../../../../../../etc/passwd", false},
		{"/way/etc/passwd", "..", false},
		{"/way/self/status", "/proc", false},
		{"/a/b/file/more", NULL, false},
		{"/way", "", false},
		{"/way", "way", false},
	};
	struct fake_root *fake = *state;

	fake_root_add(fake, "/a/b/file", "captured\n");
	fake_root_link(fake, "/a/to_etc", "/etc");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char buffer[64];
		struct span content;
		struct fact why = {0};

		unlink(fake_root_place(fake, "/way"));
		if (ways[i].target && ways[i].target[0])
			fake_root_link(fake, "/way", ways[i].target);
		if (root_read(&fake->root, ways[i].path, buffer, sizeof(buffer), &content, &why) !=
			ways[i].found)
			fail_msg("%s, link to %s: %s", ways[i].path,
				ways[i].target ? ways[i].target : "nothing", why.reason);
		if (ways[i].found)
			assert_true(text_equals(content, "captured\n"));
	}
}

static void a_file_behind_a_link_is_written_inside(void **state)
{
	struct fake_root *fake = *state;
	char buffer[64];
	struct span content;
	struct fact why = {0};
	int file;

	fake_root_add(fake, "/etc/passwd", "old");
	fake_root_link(fake, "/current", "/etc/passwd");
	file = root_open_file(&fake->root, "/current", O_RDWR, &why);
	assert_true(file >= 0);
	assert_int_equal(write(file, "new", 3), 3);
	close(file);
	assert_true(root_read(&fake->root, "/etc/passwd", buffer, sizeof(buffer), &content, &why));
	assert_true(text_equals(content, "new"));
	fake_root_link(fake, "/out", "/etc/hostname");
	assert_int_equal(root_open_file(&fake->root, "/out", O_RDWR, &why), -1);
}

static void long_names_are_answers(void **state)
{
	struct fake_root *fake = *state;
	char path[2 * PATH_MAX];

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_false(root_exists(&fake->root, path));
	path[PATH_MAX - 1] = '\0';
	assert_false(root_exists(&fake->root, path));
	for (size_t i = 0; i < PATH_MAX - 1; i += 2)
		path[i] = '/';
	assert_false(root_exists(&fake->root, path));
	fake_root_link(fake, "/long", path);
	assert_false(root_exists(&fake->root, "/long/file"));
}

static void read_where_open_says_efbig(void *argument)
{
	struct reading *reading = argument;
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	char buffer[8] = "poison";
	struct span content = {(const char *)1, SIZE_MAX / 2};

	if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EFBIG), SCMP_SYS(openat2), 0) < 0 ||
		seccomp_load(filter) < 0)
		return;
	reading->succeeded = root_read_head(
		&reading->fake->root, "/file", buffer, sizeof(buffer), &content, &reading->why);
}

/* FUSE may; a 32-bit process without large files too. It is not a long file. */
static void an_open_that_says_efbig_is_a_failure(void **state)
{
	struct fact why = {0};
	struct reading *reading = child_share(sizeof(*reading), &why);

	assert_non_null(reading);
	reading->fake = *state;
	fake_root_add(reading->fake, "/file", "content\n");
	assert_true(child_run(read_where_open_says_efbig, NULL, reading, DEADLINE_NONE, &why));
	if (reading->why.state == FACT_UNREAD)
		unit_skip("no seccomp filter here");
	assert_false(reading->succeeded);
	assert_int_equal(reading->why.state, FACT_FAILED);
	child_unshare(reading, sizeof(*reading));
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
	assert_true(root_exists(&root, "/tmp"));
	root_close(&root);
	assert_false(root_open(&root, "/no/such/tree", &why));
	assert_string_equal(why.reason, "No such file or directory");
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
		IN_TREE(only_files_and_directories_of_a_tree_are_opened),
		IN_TREE(absolute_links_stay_inside),
		IN_TREE(links_upwards_stay_inside),
		IN_TREE(every_way_to_name_a_file_stays_inside),
		IN_TREE(a_file_behind_a_link_is_written_inside),
		IN_TREE(long_names_are_answers),
		IN_TREE(an_open_that_says_efbig_is_a_failure),
		IN_TREE(a_link_to_itself_is_an_answer),
		cmocka_unit_test(this_host_is_live_and_nothing_else),
		IN_TREE(a_file_is_no_tree),
	};

	return cmocka_run_group_tests_name("root", tests, NULL, NULL);
}
