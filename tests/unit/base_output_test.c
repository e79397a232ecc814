/* SPDX-License-Identifier: MIT */
/*
 * Tests of base/output: a file is replaced atomically; devices, pipes and links are refused, and
 * stay what they are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
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
	sigset_t blocked;

	assert_true(output_write(path, "whole\n", 6, &why));
	umask(mask);
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &blocked), 0);
	assert_false(sigismember(&blocked, SIGTERM));
	assert_true(fact_is_known(&why));
	assert_content(path, "whole\n");
	assert_int_equal(mode_of(path), 0640);
	assert_int_equal(count_entries(fake->path), 1);
}

/* Nothing of the old file's is kept: its mode may have been another user's choice. */
static void the_mode_is_by_the_umask(void **state)
{
	struct fake_root *fake = *state;
	const char *path = fake_root_place(fake, "/report");
	struct fact why = {0};
	mode_t mask = umask(027);

	fake_root_add(fake, "/report", "a much longer text than the new one\n");
	path = fake_root_place(fake, "/report");
	assert_int_equal(chmod(path, 04777), 0);
	assert_true(output_write(path, "new\n", 4, &why));
	umask(mask);
	assert_content(path, "new\n");
	assert_int_equal(mode_of(path), 0640);
	assert_int_equal(count_entries(fake->path), 1);
}

/* Another process could put a link where the new file is written before it takes the old one's
 * name. */
static void a_name_that_is_taken_is_left_alone(void **state)
{
	static const char *const taken[] = {"file", "link", "dangling link"};
	struct fake_root *fake = *state;
	struct fact why = {0};
	char path[64];

	fake_root_add(fake, "/victim", "precious\n");
	for (size_t i = 0; i < COUNT(taken); i++) {
		snprintf(path, sizeof(path), "/.vdsocheck-%ld-%zu", (long)getpid(), i);
		if (i == 0)
			fake_root_add(fake, path, "precious\n");
		else
			fake_root_link(fake, path, i == 1 ? "victim" : "nothing");
	}
	assert_true(output_write(fake_root_place(fake, "/report"), "new\n", 4, &why));
	assert_content(fake_root_place(fake, "/report"), "new\n");
	assert_content(fake_root_place(fake, "/victim"), "precious\n");
	snprintf(path, sizeof(path), "/.vdsocheck-%ld-0", (long)getpid());
	assert_content(fake_root_place(fake, path), "precious\n");
	assert_int_equal(access(fake_root_place(fake, "/nothing"), F_OK), -1);
	assert_int_equal(count_entries(fake->path), 2 + COUNT(taken));

	/* A directory in which each name is taken is an error, not a loop without end. */
	for (unsigned i = 0; i <= 100; i++) {
		snprintf(path, sizeof(path), "/.vdsocheck-%ld-%u", (long)getpid(), i);
		if (i >= COUNT(taken))
			fake_root_add(fake, path, "");
	}
	alarm(10);
	assert_false(output_write(fake_root_place(fake, "/report"), "newer\n", 6, &why));
	alarm(0);
	assert_non_null(strstr(why.reason, "File exists"));
	assert_content(fake_root_place(fake, "/report"), "new\n");
}

/* Each byte is there, whatever the length, and none after it. */
static void a_file_has_all_bytes_of_any_length(void **state)
{
	struct fake_root *fake = *state;
	const char *path = fake_root_place(fake, "/report");
	struct fact why = {0};
	struct stat status;
	char text[64];

	for (size_t length = 0; length < sizeof(text); length++) {
		memset(text, 'x', sizeof(text));
		text[length] = '\0';
		assert_true(output_write(path, text, length, &why));
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_size, length);
		assert_content(path, text);
	}
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

/* To a file, a directory or nothing: another user may have made it, or may swap it at any time. */
static void a_symbolic_link_is_refused_and_stays(void **state)
{
	static const char *const targets[] = {"real/report", "real", "real/new", "link"};
	struct fake_root *fake = *state;
	struct fact why = {0};
	struct stat status;

	fake_root_add(fake, "/real/report", "old\n");
	for (size_t i = 0; i < COUNT(targets); i++) {
		unlink(fake_root_place(fake, "/link"));
		fake_root_link(fake, "/link", targets[i]);
		assert_false(output_write(fake_root_place(fake, "/link"), "new\n", 4, &why));
		assert_non_null(strstr(why.reason, "symbolic link"));
		assert_int_equal(lstat(fake_root_place(fake, "/link"), &status), 0);
		assert_true(S_ISLNK(status.st_mode));
	}
	assert_content(fake_root_place(fake, "/real/report"), "old\n");
	assert_int_equal(count_entries(fake_root_place(fake, "/real")), 1);
}

static void a_missing_directory_is_a_failure(void **state)
{
	struct fake_root *fake = *state;
	struct fact why = {0};

	assert_false(output_write(fake_root_place(fake, "/no/report"), "x", 1, &why));
	assert_int_equal(why.state, FACT_FAILED);
	assert_string_equal(why.reason, "No such file or directory");
	assert_int_equal(count_entries(fake->path), 0);
}

static void long_paths_are_written_or_refused(void **state)
{
	struct fake_root *fake = *state;
	struct fact why = {0};
	char path[5000];

	snprintf(path, sizeof(path), "%s/", fake->path);
	memset(path + strlen(path), 'x', 255);
	path[strlen(fake->path) + 256] = '\0';
	assert_true(output_write(path, "x", 1, &why));
	assert_int_equal(count_entries(fake->path), 1);
	path[strlen(fake->path) + 256] = 'x';
	path[strlen(fake->path) + 257] = '\0';
	assert_false(output_write(path, "x", 1, &why));
	memset(path, '/', sizeof(path) - 2);
	path[sizeof(path) - 2] = 'x';
	path[sizeof(path) - 1] = '\0';
	assert_false(output_write(path, "x", 1, &why));
	assert_int_equal(count_entries(fake->path), 1);
}

static void a_name_that_ends_in_a_slash_is_no_file(void **state)
{
	struct fake_root *fake = *state;
	struct fact why = {0};

	assert_false(output_write(fake_root_place(fake, "/new/"), "x", 1, &why));
	assert_false(output_write(fake_root_place(fake, "/."), "x", 1, &why));
	assert_false(output_write("", "x", 1, &why));
	assert_int_equal(count_entries(fake->path), 0);
}

/* Its owner could let every user change what root writes. */
static void another_users_file_is_replaced_by_ones_own(void **state)
{
	struct fake_root *fake = *state;
	const char *path;
	struct stat status;
	struct fact why = {0};
	mode_t mask = umask(022);

	if (geteuid() != 0)
		unit_skip("only root can make another user's files");
	fake_root_add(fake, "/report", "old\n");
	path = fake_root_place(fake, "/report");
	assert_int_equal(chmod(fake->path, 01777), 0);
	assert_int_equal(lchown(path, 65534, 65534), 0);
	assert_int_equal(chmod(path, 0666), 0);
	assert_true(output_write(path, "new\n", 4, &why));
	umask(mask);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_uid, 0);
	assert_int_equal(status.st_mode & 07777, 0644);
	assert_content(path, "new\n");
}

/* ---- what is not a regular file ---- */

/* A FIFO without a reader would be waited for, and a descriptor has a position. */
static void what_is_not_a_regular_file_is_refused_at_once(void **state)
{
	struct fake_root *fake = *state;
	const char *paths[] = {
		fake_root_place(fake, "/fifo"), "/dev/null", "/dev/full", "/proc/self/fd/1"};
	struct fact why = {0};
	struct stat before, after;

	assert_int_equal(mkfifo(paths[0], 0600), 0);
	for (size_t i = 0; i < COUNT(paths); i++) {
		if (lstat(paths[i], &before) < 0)
			continue;
		alarm(10);
		assert_false(output_write(paths[i], "x", 1, &why));
		assert_int_equal(why.state, FACT_FAILED);
		assert_non_null(strstr(why.reason, "redirect standard output"));
		assert_false(output_check(paths[i], &why));
		alarm(0);
		assert_int_equal(lstat(paths[i], &after), 0);
		assert_int_equal(before.st_mode, after.st_mode);
	}
	assert_int_equal(count_entries(fake->path), 1);
}

static bool is_kept; /* files cannot be removed */

/* In place of libc's. */
int unlinkat(int directory, const char *name, int flags)
{
	if (is_kept) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_unlinkat, directory, name, flags);
}

/* As in a directory with the attribute a (chattr(1)). */
static void a_file_of_ours_that_stays_is_named(void **state)
{
	struct fake_root *fake = *state;
	const char *path = fake_root_place(fake, "/report");
	struct fact why = {0};
	char name[64];

	is_kept = true;
	assert_false(output_check(path, &why));
	is_kept = false;
	assert_int_equal(why.state, FACT_FAILED);
	snprintf(name, sizeof(name), "/.vdsocheck-%ld-0", (long)getpid());
	assert_non_null(strstr(why.reason, "cannot remove "));
	assert_non_null(strstr(why.reason, fake_root_place(fake, name)));
	assert_non_null(strstr(why.reason, strerror(EPERM)));
	assert_int_equal(unlink(fake_root_place(fake, name)), 0);
	assert_true(output_check(path, &why));
	assert_int_equal(count_entries(fake->path), 0);
}

static void what_cannot_be_written_is_known_before(void **state)
{
	struct fake_root *fake = *state;
	struct fact why = {0};

	fake_root_add(fake, "/report", "old\n");
	fake_root_link(fake, "/link", "report");
	assert_true(output_check(fake_root_place(fake, "/report"), &why));
	assert_true(output_check(fake_root_place(fake, "/new"), &why));
	assert_int_equal(count_entries(fake->path), 2);
	assert_false(output_check(fake->path, &why));
	assert_string_equal(why.reason, "Is a directory");
	assert_false(output_check(fake_root_place(fake, "/link"), &why));
	assert_false(output_check(fake_root_place(fake, "/no/report"), &why));
}

static void a_socket_is_refused(void **state)
{
	struct fake_root *fake = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct fact why = {0};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", fake->path);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_false(output_write(address.sun_path, "x", 1, &why));
	assert_non_null(strstr(why.reason, "not a regular file"));
	close(listener);
}

#define MUCH (1 << 20)

static void write_much(void *argument)
{
	static char bytes[MUCH];
	bool *written = argument;
	struct fact why = {0};

	*written = output_write_stream(STDOUT_FILENO, bytes, sizeof(bytes), &why);
}

/* Node.js and ssh make their children's output non-blocking. */
static void a_non_blocking_standard_output_gets_all(void **state)
{
	struct fact why = {0};
	bool *written = child_share(sizeof(*written), &why);
	static char buffer[4096];
	size_t sum = 0;
	int ends[2], saved = dup(STDOUT_FILENO);
	ssize_t got;
	pid_t pid;

	(void)state;
	assert_non_null(written);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	dup2(ends[1], STDOUT_FILENO);
	pid = child_start(write_much, written, DEADLINE_NONE, &why);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(ends[1]);
	assert_true(pid > 0);
	usleep(50000);
	while ((got = read(ends[0], buffer, sizeof(buffer))) > 0)
		sum += (size_t)got;
	close(ends[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(*written);
	assert_int_equal(sum, MUCH);
	child_unshare(written, sizeof(*written));
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
	assert_true(child_run(write_too_much, NULL, job, DEADLINE_NONE, &why));
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
	job->written = output_write_stream(STDOUT_FILENO, "x", 1, &job->why);
}

static void a_closed_standard_output_is_a_failure(void **state)
{
	struct fact why = {0};
	struct job *job = child_share(sizeof(*job), &why);

	(void)state;
	assert_non_null(job);
	job->written = true;
	assert_true(child_run(write_to_closed_output, NULL, job, DEADLINE_NONE, &why));
	assert_false(job->written);
	assert_string_equal(job->why.reason, "Bad file descriptor");
	child_unshare(job, sizeof(*job));
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(a_new_file_is_whole_and_alone),
		IN_TREE(the_mode_is_by_the_umask),
		IN_TREE(a_name_that_is_taken_is_left_alone),
		IN_TREE(a_file_has_all_bytes_of_any_length),
		IN_TREE(replacing_is_a_rename),
		IN_TREE(a_symbolic_link_is_refused_and_stays),
		IN_TREE(another_users_file_is_replaced_by_ones_own),
		IN_TREE(a_missing_directory_is_a_failure),
		IN_TREE(long_paths_are_written_or_refused),
		IN_TREE(a_name_that_ends_in_a_slash_is_no_file),
		IN_TREE(what_is_not_a_regular_file_is_refused_at_once),
		IN_TREE(a_file_of_ours_that_stays_is_named),
		IN_TREE(what_cannot_be_written_is_known_before),
		IN_TREE(a_socket_is_refused),
		cmocka_unit_test(a_non_blocking_standard_output_gets_all),
		IN_TREE(a_disk_that_fills_up_leaves_the_old_file_and_no_other),
		cmocka_unit_test(a_closed_standard_output_is_a_failure),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
