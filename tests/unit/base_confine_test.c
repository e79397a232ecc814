/* SPDX-License-Identifier: MIT */
/* Tests of base/confine: what is allowed under the filter, and that all else kills. */
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"
#include "unit/unit.h"

static char folder[] = "/tmp/vdsocheck-confine.XXXXXX";
static char target[64];

struct attempt {
	const char *name;
	bool (*try)(void);
	bool allowed;
};

static bool open_to_read(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0;
}

static bool open_to_write(void)
{
	return open(target, O_WRONLY | O_CREAT, 0600) >= 0;
}

static bool truncate_by_opening(void)
{
	return open("/dev/null", O_RDONLY | O_TRUNC) >= 0;
}

/* Of the process that was started before. */
static int writer;

static bool have_file_written(void)
{
	struct fact why;

	return output_writer_write(writer, "new", 3, &why);
}

static bool rename_file(void)
{
	return rename(target, "other") == 0;
}

static bool connect_somewhere(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool start_a_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool run_a_program(void)
{
	char *const words[] = {(char[]){"true"}, NULL};

	execv("/bin/true", words);
	return false;
}

static bool signal_another_process(void)
{
	return kill(getppid(), 0) == 0;
}

static bool map_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	       MAP_FAILED;
}

static bool take_memory(void)
{
	char *memory = malloc(1 << 24);

	if (!memory)
		return false;
	memset(memory, 1, 1 << 24);
	memory = realloc(memory, 1 << 25);
	free(memory);
	return memory;
}

static bool end_by_signal(void)
{
	raise(SIGCONT);
	return true;
}

/* The status of a child that tries it under the filter. */
static int try_confined(const struct attempt *attempt)
{
	pid_t pid = fork();
	struct fact why;
	int status;

	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 0);
		if (attempt->try == have_file_written)
			writer = output_writer_start(target, &why);
		confine();
		_exit(attempt->try() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static bool has_filter(void)
{
	const struct attempt nothing = {.try = connect_somewhere};

	return WIFSIGNALED(try_confined(&nothing));
}

static void only_what_is_needed_is_allowed(void **state)
{
	const struct attempt *attempt = *state;
	int status;

	if (!has_filter())
		unit_skip("the filter is not set here: sanitizers, a preloaded library, or an "
			  "emulator");
	status = try_confined(attempt);
	if (attempt->allowed) {
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	} else {
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSYS);
	}
}

static void a_preloaded_library_prevents_the_filter(void **state)
{
	(void)state;
	assert_int_equal(setenv("LD_PRELOAD", "libother.so", 1), 0);
	assert_false(has_filter());
	unsetenv("LD_PRELOAD");
}

int main(void)
{
	static const struct attempt attempts[] = {
		{"a file is read", open_to_read, true},
		{"memory is taken", take_memory, true},
		{"a signal to itself", end_by_signal, true},
		{"a file is written", open_to_write, false},
		{"a file is truncated", truncate_by_opening, false},
		{"a socket", connect_somewhere, false},
		{"a process is started", start_a_process, false},
		{"a program is run", run_a_program, false},
		{"a signal to others", signal_another_process, false},
		{"memory for code", map_code, false},
		{"a file is renamed", rename_file, false},
		{"a file is written by another process", have_file_written, true},
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_preloaded_library_prevents_the_filter),
	};
	int failed;

	if (!mkdtemp(folder))
		return 1;
	snprintf(target, sizeof(target), "%s/file", folder);
	failed = unit_run_rows(
		"only what is needed is allowed", only_what_is_needed_is_allowed, attempts);
	failed += cmocka_run_group_tests_name("confine", tests, NULL, NULL);
	unlink(target);
	rmdir(folder);
	return failed;
}
