/* SPDX-License-Identifier: MIT */
/* base/output: a reader of the file sees a whole report or the one before, never half. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/output.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

static unsigned count_entries(const char *path)
{
	DIR *directory = opendir(path);
	unsigned count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count - 2;
}

static void assert_content(const char *path, const char *wanted)
{
	char buffer[64] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	buffer[fread(buffer, 1, sizeof(buffer) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(buffer, wanted);
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode & 07777;
}

static void a_new_file_is_whole_and_alone(void **state)
{
	struct fake_root *fake = *state;
	const char *path = fake_root_place(fake, "/report");
	struct fact why = {0};
	mode_t mask = umask(027);

	assert_true(output_write(path, "whole\n", 6, &why));
	umask(mask);
	assert_true(fact_is_known(&why));
	assert_content(path, "whole\n");
	assert_int_equal(mode_of(path), 0640);
	assert_int_equal(count_entries(fake->path), 1);
}

/* Else a report that a group may read is theirs no more after the next run. */
static void replacing_keeps_the_mode(void **state)
{
	struct fake_root *fake = *state;
	const char *path = fake_root_place(fake, "/report");
	struct fact why = {0};

	fake_root_add(fake, "/report", "a much longer text than the new one\n");
	path = fake_root_place(fake, "/report");
	assert_int_equal(chmod(path, 0604), 0);
	assert_true(output_write(path, "new\n", 4, &why));
	assert_content(path, "new\n");
	assert_int_equal(mode_of(path), 0604);
	assert_int_equal(count_entries(fake->path), 1);
}

/* A reader that has the old file open goes on reading the old one. */
static void replacing_is_a_rename(void **state)
{
	struct fake_root *fake = *state;
	char buffer[16] = "";
	struct fact why = {0};
	FILE *reader;

	fake_root_add(fake, "/report", "old\n");
	reader = fopen(fake_root_place(fake, "/report"), "r");
	assert_non_null(reader);
	assert_true(output_write(fake_root_place(fake, "/report"), "new\n", 4, &why));
	assert_int_equal(fread(buffer, 1, sizeof(buffer), reader), 4);
	assert_string_equal(buffer, "old\n");
	fclose(reader);
}

static void a_link_stays_and_its_file_is_replaced(void **state)
{
	struct fake_root *fake = *state;
	struct stat status;
	struct fact why = {0};

	fake_root_add(fake, "/real/report", "old\n");
	fake_root_link(fake, "/link", "real/report");
	assert_true(output_write(fake_root_place(fake, "/link"), "new\n", 4, &why));
	assert_int_equal(lstat(fake_root_place(fake, "/link"), &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_content(fake_root_place(fake, "/real/report"), "new\n");
}

/* A full disk must not look like a report that was written. */
static void a_full_device_is_a_failure_that_names_it(void **state)
{
	struct fact why = {0};

	(void)state;
	if (access("/dev/full", W_OK) < 0)
		unit_skip("there is no /dev/full");
	assert_false(output_write("/dev/full", "x", 1, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_non_null(strstr(why.reason, "/dev/full"));
	assert_int_equal(access("/dev/full", W_OK), 0);
}

static void a_device_is_written_in_place(void **state)
{
	struct stat status;
	struct fact why = {0};

	(void)state;
	assert_true(output_write("/dev/null", "x", 1, &why));
	assert_int_equal(stat("/dev/null", &status), 0);
	assert_true(S_ISCHR(status.st_mode));
}

static void a_missing_directory_is_a_failure_that_names_it(void **state)
{
	struct fake_root *fake = *state;
	struct fact why = {0};

	assert_false(output_write(fake_root_place(fake, "/no/report"), "x", 1, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_non_null(strstr(why.reason, "/no/report"));
	assert_int_equal(count_entries(fake->path), 0);
}

static void a_path_too_long_for_its_neighbour_is_a_failure(void **state)
{
	struct fake_root *fake = *state;
	struct fact why = {0};
	char path[5000];

	snprintf(path, sizeof(path), "%s/", fake->path);
	memset(path + strlen(path), 'x', 250);
	path[strlen(fake->path) + 251] = '\0';
	assert_false(output_write(path, "x", 1, &why));
	assert_int_equal(count_entries(fake->path), 0);
	memset(path, '/', sizeof(path) - 2);
	path[sizeof(path) - 2] = 'x';
	path[sizeof(path) - 1] = '\0';
	assert_false(output_write(path, "x", 1, &why));
}

struct job {
	const char *path;
	bool written;
	struct fact why;
};

/* A disk that fills up half way, as a limit on the size of files. */
static void write_too_much(void *argument)
{
	static char bytes[8192];
	const struct rlimit limit = {4096, 4096};
	struct job *job = argument;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	memset(bytes, 'x', sizeof(bytes));
	job->written = output_write(job->path, bytes, sizeof(bytes), &job->why);
}

static void a_disk_that_fills_up_leaves_the_old_file_and_no_other(void **state)
{
	struct fake_root *fake = *state;
	struct fact why = {0};
	struct job *job = child_share(sizeof(*job), &why);

	assert_non_null(job);
	fake_root_add(fake, "/report", "old\n");
	job->path = fake_root_place(fake, "/report");
	job->written = true;
	assert_true(child_run(write_too_much, job, 10, &why));
	assert_false(job->written);
	assert_int_equal(job->why.state, FACT_FAILED);
	assert_content(fake_root_place(fake, "/report"), "old\n");
	assert_int_equal(count_entries(fake->path), 1);
	child_unshare(job, sizeof(*job));
}

static void write_to_closed_output(void *argument)
{
	struct job *job = argument;

	close(STDOUT_FILENO);
	job->written = output_write(NULL, "x", 1, &job->why);
}

static void a_closed_standard_output_is_a_failure_that_names_it(void **state)
{
	struct fact why = {0};
	struct job *job = child_share(sizeof(*job), &why);

	(void)state;
	assert_non_null(job);
	job->written = true;
	assert_true(child_run(write_to_closed_output, job, 10, &why));
	assert_false(job->written);
	assert_non_null(strstr(job->why.reason, "standard output"));
	child_unshare(job, sizeof(*job));
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(a_new_file_is_whole_and_alone),
		IN_TREE(replacing_keeps_the_mode),
		IN_TREE(replacing_is_a_rename),
		IN_TREE(a_link_stays_and_its_file_is_replaced),
		cmocka_unit_test(a_full_device_is_a_failure_that_names_it),
		cmocka_unit_test(a_device_is_written_in_place),
		IN_TREE(a_missing_directory_is_a_failure_that_names_it),
		IN_TREE(a_path_too_long_for_its_neighbour_is_a_failure),
		IN_TREE(a_disk_that_fills_up_leaves_the_old_file_and_no_other),
		cmocka_unit_test(a_closed_standard_output_is_a_failure_that_names_it),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
