/* SPDX-License-Identifier: MIT */
/*
 * Tests of compare/clocksource_switch and guardian: switching the clocksource of a fake root, and
 * restoring it.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare/model.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

/* A file that a write replaces, as sysfs does it. */
ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset)
{
	if (ftruncate(file, 0) < 0 || lseek(file, offset, SEEK_SET) < 0)
		return -1;
	return write(file, bytes, length);
}

#if defined(__GLIBC__)
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset)
{
	return pwrite(file, bytes, length, (off_t)offset);
}
#endif

static struct clocksource_switch hold(const struct fake_root *fake, const char *current)
{
	struct clocksource_switch clock;
	struct fact why = {0};

	fake_root_add(fake, CLOCKSOURCE_CURRENT, current);
	fake_root_add(fake, "/run/other", "");
	assert_int_equal(clocksource_switch_open(&clock, &fake->root, &why), SWITCH_DONE);
	return clock;
}

/* As the end of the process does it. */
static void release(const struct clocksource_switch *clock)
{
	close(clock->file);
	close(clock->record);
}

static void expect_current(const struct fake_root *fake, const char *wanted)
{
	char buffer[128];
	struct span content;
	struct fact why = {0};

	assert_true(root_read(
		&fake->root, CLOCKSOURCE_CURRENT, buffer, sizeof(buffer), &content, &why));
	assert_string_equal(buffer, wanted);
}

static void switches_and_restores(void **state)
{
	struct clocksource_switch clock = hold(*state, "acpi_pm\n");
	struct fact why = {0};

	assert_string_equal(clock.original, "acpi_pm");
	assert_int_equal(clocksource_switch_to(&clock, "tsc", &why), SWITCH_DONE);
	expect_current(*state, "tsc\n");
	assert_int_equal(
		clocksource_switch_to(&clock, "hyperv_clocksource_tsc_page", &why), SWITCH_DONE);
	assert_int_equal(clocksource_switch_restore(&clock, &why), SWITCH_DONE);
	expect_current(*state, "acpi_pm\n");
	release(&clock);
}

/* What is in use already is not written again: the kernel would take it for a wish. */
static void the_selected_clocksource_is_not_written(void **state)
{
	struct clocksource_switch clock = hold(*state, "tsc");
	struct fact why = {0};

	assert_int_equal(clocksource_switch_to(&clock, "tsc", &why), SWITCH_DONE);
	assert_int_equal(clocksource_switch_restore(&clock, &why), SWITCH_DONE);
	expect_current(*state, "tsc");
	release(&clock);
}

static void the_lock_excludes_other_runs(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock = hold(fake, "tsc\n"), second;
	struct fact why = {0};

	assert_int_equal(clocksource_switch_open(&second, &fake->root, &why), SWITCH_BUSY);
	release(&clock);
	assert_int_equal(clocksource_switch_open(&second, &fake->root, &why), SWITCH_DONE);
	release(&second);
}

/* Any user can lock a file that it can read. */
static void a_lock_of_the_clocksource_file_excludes_none(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock;
	int file;

	fake_root_add(fake, CLOCKSOURCE_CURRENT, "tsc\n");
	file = open(fake_root_place(fake, CLOCKSOURCE_CURRENT), O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(file, LOCK_SH | LOCK_NB), 0);
	clock = hold(fake, "tsc\n");
	release(&clock);
	close(file);
}

static void a_missing_file_is_named(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock;
	struct fact why = {0};

	assert_int_equal(clocksource_switch_open(&clock, &fake->root, &why), SWITCH_CLOSED);
	assert_int_equal(why.state, FACT_ABSENT);
	fake_root_add(fake, CLOCKSOURCE_CURRENT, "\n");
	assert_int_equal(clocksource_switch_open(&clock, &fake->root, &why), SWITCH_CLOSED);
	assert_non_null(strstr(why.reason, SWITCH_RECORD));
	fake_root_add(fake, "/run/other", "");
	assert_int_equal(clocksource_switch_open(&clock, &fake->root, &why), SWITCH_REFUSED);
}

/* ---- the guardian ---- */

static void never(
	const struct clocksource_switch *clock, enum switch_result result, const struct fact *why)
{
	(void)clock;
	(void)result;
	(void)why;
}

static void guardian_restores_at_the_end(void **state)
{
	struct clocksource_switch clock = hold(*state, "tsc\n");
	struct guardian guardian;
	struct fact why = {0};

	assert_true(guardian_start(&guardian, &clock, never, &why));
	assert_true(guardian_is_running(&guardian));
	assert_int_equal(clocksource_switch_to(&clock, "hpet", &why), SWITCH_DONE);
	assert_int_equal(guardian_finish(&guardian, &clock, &why), SWITCH_DONE);
	expect_current(*state, "tsc\n");
	release(&clock);
}

static void killed_guardian_is_replaced(void **state)
{
	struct clocksource_switch clock = hold(*state, "tsc\n");
	struct guardian guardian;
	struct fact why = {0};

	assert_true(guardian_start(&guardian, &clock, never, &why));
	assert_int_equal(clocksource_switch_to(&clock, "hpet", &why), SWITCH_DONE);
	kill(guardian.pid, SIGKILL);
	while (guardian_is_running(&guardian))
		;
	assert_int_equal(guardian_finish(&guardian, &clock, &why), SWITCH_DONE);
	expect_current(*state, "tsc\n");
	release(&clock);
}

static void guardian_ignores_signals(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGUSR1, SIGPIPE};
	struct clocksource_switch clock = hold(*state, "tsc\n");
	struct guardian guardian;
	struct fact why = {0};

	assert_true(guardian_start(&guardian, &clock, never, &why));
	for (size_t i = 0; i < COUNT(signals); i++)
		kill(guardian.pid, signals[i]);
	assert_int_equal(clocksource_switch_to(&clock, "hpet", &why), SWITCH_DONE);
	assert_true(guardian_is_running(&guardian));
	guardian_finish(&guardian, &clock, &why);
	expect_current(*state, "tsc\n");
	release(&clock);
}

/* What the guardian of a killed process says goes to a file of the tree. */
static const struct fake_root *orphan_root;

static void note(
	const struct clocksource_switch *clock, enum switch_result result, const struct fact *why)
{
	(void)why;
	fake_root_add(orphan_root, "/said", result == SWITCH_DONE ? clock->original : "no");
}

static void switch_and_die(const struct fake_root *fake)
{
	struct clocksource_switch clock = hold(fake, "tsc\n");
	struct guardian guardian;
	struct fact why = {0};

	if (guardian_start(&guardian, &clock, note, &why) &&
		clocksource_switch_to(&clock, "hpet", &why) == SWITCH_DONE)
		raise(SIGKILL);
	_exit(1);
}

/* No process holds the lock any more when the guardian has ended. */
static void await_unlocked(const struct fake_root *fake)
{
	struct clocksource_switch clock;
	struct fact why = {0};

	while (clocksource_switch_open(&clock, &fake->root, &why) == SWITCH_BUSY) {
		release(&clock);
		usleep(1000);
	}
	release(&clock);
}

static void guardian_survives_its_parent(void **state)
{
	pid_t pid;
	int status;

	orphan_root = *state;
	pid = fork();
	if (pid == 0)
		switch_and_die(orphan_root);
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	await_unlocked(orphan_root);
	expect_current(orphan_root, "tsc\n");
	assert_true(root_exists(&orphan_root->root, "/said"));
}

/* ---- changes that are not ours, and the record ---- */

static void foreign_change_is_not_overwritten(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock = hold(fake, "tsc\n");
	struct fact why = {0};

	assert_int_equal(clocksource_switch_to(&clock, "hpet", &why), SWITCH_DONE);
	fake_root_add(fake, CLOCKSOURCE_CURRENT, "acpi_pm\n");
	assert_int_equal(clocksource_switch_to(&clock, "hpet", &why), SWITCH_FOREIGN);
	assert_int_equal(clocksource_switch_restore(&clock, &why), SWITCH_FOREIGN);
	assert_string_equal(why.reason, "something else switched the clocksource to acpi_pm");
	expect_current(fake, "acpi_pm\n");
	release(&clock);
}

/* A candidate that was tried and left is no longer ours. */
static void return_to_a_former_candidate_is_foreign(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock = hold(fake, "tsc\n");
	struct fact why = {0};

	assert_int_equal(clocksource_switch_to(&clock, "hpet", &why), SWITCH_DONE);
	assert_int_equal(clocksource_switch_restore(&clock, &why), SWITCH_DONE);
	fake_root_add(fake, CLOCKSOURCE_CURRENT, "hpet\n");
	assert_int_equal(clocksource_switch_restore(&clock, &why), SWITCH_FOREIGN);
	release(&clock);
}

static void change_back_to_the_original_is_not_foreign(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock = hold(fake, "tsc\n");
	struct fact why = {0};

	assert_int_equal(clocksource_switch_to(&clock, "hpet", &why), SWITCH_DONE);
	fake_root_add(fake, CLOCKSOURCE_CURRENT, "tsc\n");
	assert_int_equal(clocksource_switch_restore(&clock, &why), SWITCH_DONE);
	release(&clock);
}

static void record_names_the_original_of_a_killed_run(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock;
	struct fact why = {0};

	clock = hold(fake, "a_longer_name\n");
	assert_true(clocksource_switch_record(&clock, &why));
	release(&clock);
	clock = hold(fake, "hpet\n");
	assert_string_equal(clock.interrupted, "a_longer_name");
	release(&clock);
	clock = hold(fake, "tsc\n");
	assert_true(clocksource_switch_record(&clock, &why));
	release(&clock);
	clock = hold(fake, "hpet\n");
	assert_string_equal(clock.interrupted, "tsc");
	release(&clock);
	clock = hold(fake, "tsc\n");
	assert_string_equal(clock.interrupted, "");
	clocksource_switch_forget(&clock);
	release(&clock);
	clock = hold(fake, "hpet\n");
	assert_string_equal(clock.interrupted, "");
	release(&clock);
}

static void invalid_record_is_ignored(void **state)
{
	static const char *const texts[] = {"", "\n", "a-name-that-is-longer-than-any-clocksource"};
	const struct fake_root *fake = *state;

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct clocksource_switch clock;

		fake_root_add(fake, SWITCH_RECORD, texts[i]);
		clock = hold(fake, "tsc\n");
		assert_string_equal(clock.interrupted, "");
		release(&clock);
	}
}

/* The name in /run may be a link that leads anywhere. */
static void record_does_not_follow_a_link(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock;
	struct fact why = {0};

	fake_root_add(fake, CLOCKSOURCE_CURRENT, "tsc\n");
	fake_root_add(fake, "/victim", "kept");
	fake_root_link(fake, SWITCH_RECORD, "../victim");
	assert_int_equal(clocksource_switch_open(&clock, &fake->root, &why), SWITCH_CLOSED);
	assert_true(root_contains(&fake->root, "/victim", "kept"));
}

#define ROOT_TEST(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOT_TEST(switches_and_restores),
		ROOT_TEST(the_selected_clocksource_is_not_written),
		ROOT_TEST(the_lock_excludes_other_runs),
		ROOT_TEST(a_lock_of_the_clocksource_file_excludes_none),
		ROOT_TEST(a_missing_file_is_named),
		ROOT_TEST(guardian_restores_at_the_end),
		ROOT_TEST(killed_guardian_is_replaced),
		ROOT_TEST(guardian_ignores_signals),
		ROOT_TEST(guardian_survives_its_parent),
		ROOT_TEST(foreign_change_is_not_overwritten),
		ROOT_TEST(return_to_a_former_candidate_is_foreign),
		ROOT_TEST(change_back_to_the_original_is_not_foreign),
		ROOT_TEST(record_names_the_original_of_a_killed_run),
		ROOT_TEST(invalid_record_is_ignored),
		ROOT_TEST(record_does_not_follow_a_link),
	};

	signal(SIGPIPE, SIG_IGN); /* as the driver does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
