/* SPDX-License-Identifier: MIT */
/* Switching the clocksource of a fake root, the guardian, and the choice of the best one. */
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compare/clocksource_switch.h"
#include "compare/guardian.h"
#include "compare/ranking.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

static struct clock_switch hold(const struct fake_root *fake, const char *current)
{
	struct clock_switch clock;
	struct fact why = {0};

	fake_root_add(fake, CLOCK_SWITCH_PATH, current);
	assert_int_equal(clock_switch_open(&clock, &fake->root, &why), CLOCK_SWITCH_FINE);
	return clock;
}

static void expect_current(const struct fake_root *fake, const char *wanted)
{
	char buffer[128];
	struct span content;
	struct fact why = {0};

	assert_true(
		root_read(&fake->root, CLOCK_SWITCH_PATH, buffer, sizeof(buffer), &content, &why));
	assert_string_equal(buffer, wanted);
}

static void switches_and_restores(void **state)
{
	struct clock_switch clock = hold(*state, "acpi_pm\n");
	struct fact why = {0};

	assert_string_equal(clock.original, "acpi_pm");
	assert_true(clock_switch_to(&clock, "tsc", &why));
	expect_current(*state, "tsc\n");
	assert_true(clock_switch_to(&clock, "hyperv_clocksource_tsc_page", &why));
	assert_true(clock_switch_restore(&clock, &why));
	expect_current(*state, "acpi_pm\n");
	clock_switch_close(&clock);
}

/* What is in use already is not written again: the kernel would take it for a wish. */
static void leaves_alone_what_is_right(void **state)
{
	struct clock_switch clock = hold(*state, "tsc");
	struct fact why = {0};

	assert_true(clock_switch_to(&clock, "tsc", &why));
	assert_true(clock_switch_restore(&clock, &why));
	expect_current(*state, "tsc");
	clock_switch_close(&clock);
}

static void locks_others_out(void **state)
{
	const struct fake_root *fake = *state;
	struct clock_switch clock = hold(fake, "tsc\n");
	struct clock_switch second;
	struct fact why = {0};

	assert_int_equal(clock_switch_open(&second, &fake->root, &why), CLOCK_SWITCH_BUSY);
	clock_switch_close(&clock);
	assert_int_equal(clock_switch_open(&second, &fake->root, &why), CLOCK_SWITCH_FINE);
	clock_switch_close(&second);
}

static void says_what_is_missing(void **state)
{
	const struct fake_root *fake = *state;
	struct clock_switch clock;
	struct fact why = {0};

	assert_int_equal(clock_switch_open(&clock, &fake->root, &why), CLOCK_SWITCH_CLOSED);
	assert_int_equal(why.state, FACT_ABSENT);
	fake_root_add(fake, CLOCK_SWITCH_PATH, "\n");
	assert_int_equal(clock_switch_open(&clock, &fake->root, &why), CLOCK_SWITCH_UNREAD);
	assert_int_equal(clock.file, -1);
}

/* ---- the guardian ---- */

static void never(const struct clock_switch *clock, const struct fact *restored)
{
	(void)clock;
	(void)restored;
}

static void guardian_restores_at_the_end(void **state)
{
	struct clock_switch clock = hold(*state, "tsc\n");
	struct guardian guardian;
	struct fact why = {0};

	assert_true(guardian_start(&guardian, &clock, never, &why));
	assert_true(guardian_is_there(&guardian));
	assert_true(clock_switch_to(&clock, "hpet", &why));
	guardian_finish(&guardian, &clock, &why);
	assert_int_equal(why.state, FACT_KNOWN);
	expect_current(*state, "tsc\n");
	clock_switch_close(&clock);
}

static void killed_guardian_is_stood_in_for(void **state)
{
	struct clock_switch clock = hold(*state, "tsc\n");
	struct guardian guardian;
	struct fact why = {0};

	assert_true(guardian_start(&guardian, &clock, never, &why));
	assert_true(clock_switch_to(&clock, "hpet", &why));
	kill(guardian.pid, SIGKILL);
	while (guardian_is_there(&guardian))
		;
	guardian_finish(&guardian, &clock, &why);
	assert_int_equal(why.state, FACT_KNOWN);
	expect_current(*state, "tsc\n");
	clock_switch_close(&clock);
}

static void guardian_heeds_no_signal(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGUSR1, SIGPIPE};
	struct clock_switch clock = hold(*state, "tsc\n");
	struct guardian guardian;
	struct fact why = {0};

	assert_true(guardian_start(&guardian, &clock, never, &why));
	for (size_t i = 0; i < COUNT(signals); i++)
		kill(guardian.pid, signals[i]);
	assert_true(clock_switch_to(&clock, "hpet", &why));
	assert_true(guardian_is_there(&guardian));
	guardian_finish(&guardian, &clock, &why);
	expect_current(*state, "tsc\n");
	clock_switch_close(&clock);
}

/* What the guardian of a killed process says goes to a file of the tree. */
static const struct fake_root *orphan_root;

static void note(const struct clock_switch *clock, const struct fact *restored)
{
	fake_root_add(orphan_root, "/said", fact_is_known(restored) ? clock->original : "no");
}

static void switch_and_die(const struct fake_root *fake)
{
	struct clock_switch clock = hold(fake, "tsc\n");
	struct guardian guardian;
	struct fact why = {0};

	if (guardian_start(&guardian, &clock, note, &why) && clock_switch_to(&clock, "hpet", &why))
		raise(SIGKILL);
	_exit(1);
}

/* Nobody holds the lock any more when the guardian has ended. */
static void await_unlocked(const struct fake_root *fake)
{
	struct clock_switch clock;
	struct fact why = {0};

	while (clock_switch_open(&clock, &fake->root, &why) == CLOCK_SWITCH_BUSY)
		usleep(1000);
	clock_switch_close(&clock);
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
	assert_true(root_has(&orphan_root->root, "/said"));
}

/* ---- the choice ---- */

#define TRIALS 3

static struct trial trials[TRIALS];

static void make_trial(struct trial *trial, const char *name, double ns)
{
	*trial = (struct trial){.switched.state = FACT_KNOWN, .fact.state = FACT_KNOWN};
	strcpy(trial->name, name);
	trial->evidence.proof.fact.state = FACT_KNOWN;
	trial->evidence.timing.fact.state = FACT_KNOWN;
	trial->evidence.call_count = 1;
	trial->evidence.calls[0] = (struct call_evidence){.decides = true,
		.path[PATH_VDSO] = {.available = true, .timed = true, .min_ns = ns}};
	trial->warp.fact.state = FACT_KNOWN;
	trial->warp.cpu_count = 2;
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		trial->warp.tallies[id].fact.state = FACT_KNOWN;
		trial->warp.tallies[id].apart_fact.state = FACT_KNOWN;
	}
}

static int three_trials(void **state)
{
	(void)state;
	make_trial(&trials[0], "hpet", 600);
	make_trial(&trials[1], "tsc", 20);
	make_trial(&trials[2], "kvm-clock", 21);
	return 0;
}

static struct choice choose(const char *current)
{
	struct comparison comparison = {.count = TRIALS, .trials = trials};
	struct choice choice;

	choice_find(&comparison, current, &choice);
	return choice;
}

static void chooses_the_fastest(void **state)
{
	(void)state;
	assert_int_equal(choose("hpet").best, 1);
	assert_int_equal(choose("hpet").current, 0);
}

static void keeps_what_is_hardly_slower(void **state)
{
	(void)state;
	assert_int_equal(choose("kvm-clock").best, 2);
	trials[2].evidence.calls[0].path[PATH_VDSO].min_ns = 40;
	assert_int_equal(choose("kvm-clock").best, 1);
}

static void passes_over_what_warps(void **state)
{
	(void)state;
	trials[1].warp.tallies[WARP_REALTIME].warps = 1;
	assert_int_equal(choice_judge(&trials[1]), CHOICE_WARPS);
	assert_int_equal(choose("hpet").best, 2);
}

static void passes_over_what_is_not_sure(void **state)
{
	(void)state;
	fact_set(&trials[1].evidence.proof.fact, FACT_DENIED, "no filter");
	assert_int_equal(choice_judge(&trials[1]), CHOICE_UNSURE);
	assert_string_equal(choice_reason(&trials[1]), "no filter");
	fact_set(&trials[2].warp.tallies[WARP_MONOTONIC].apart_fact, FACT_FAILED, "never met");
	assert_string_equal(choice_reason(&trials[2]), "never met");
	assert_int_equal(choose("hpet").best, 0);
}

static void one_cpu_needs_no_comparing(void **state)
{
	(void)state;
	trials[1].warp.cpu_count = 1;
	fact_set(&trials[1].warp.tallies[WARP_MONOTONIC].apart_fact, FACT_ABSENT, "one CPU only");
	assert_int_equal(choice_judge(&trials[1]), CHOICE_SAFE);
}

static void passes_over_what_was_refused(void **state)
{
	(void)state;
	fact_set(&trials[1].switched, FACT_FAILED, "the kernel refused it");
	assert_int_equal(choice_judge(&trials[1]), CHOICE_UNTRIED);
	assert_string_equal(choice_reason(&trials[1]), "the kernel refused it");
	fact_set(&trials[2].fact, FACT_FAILED, "killed by SIGKILL");
	assert_string_equal(choice_reason(&trials[2]), "killed by SIGKILL");
	assert_int_equal(choose("hpet").best, 0);
	fact_set(&trials[0].fact, FACT_FAILED, "not done");
	assert_true(choose("hpet").best == CHOICE_NONE);
	assert_true(choose("xen").current == CHOICE_NONE);
}

#define ROOT_TEST(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOT_TEST(switches_and_restores),
		ROOT_TEST(leaves_alone_what_is_right),
		ROOT_TEST(locks_others_out),
		ROOT_TEST(says_what_is_missing),
		ROOT_TEST(guardian_restores_at_the_end),
		ROOT_TEST(killed_guardian_is_stood_in_for),
		ROOT_TEST(guardian_heeds_no_signal),
		ROOT_TEST(guardian_survives_its_parent),
		cmocka_unit_test_setup(chooses_the_fastest, three_trials),
		cmocka_unit_test_setup(keeps_what_is_hardly_slower, three_trials),
		cmocka_unit_test_setup(passes_over_what_warps, three_trials),
		cmocka_unit_test_setup(passes_over_what_is_not_sure, three_trials),
		cmocka_unit_test_setup(one_cpu_needs_no_comparing, three_trials),
		cmocka_unit_test_setup(passes_over_what_was_refused, three_trials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
