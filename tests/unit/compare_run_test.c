/* SPDX-License-Identifier: MIT */
/*
 * Tests of compare: switching the clocksource of a fake root, the guardian, what forbids a switch,
 * and the ranking.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compare/model.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

static struct clocksource_switch hold(const struct fake_root *fake, const char *current)
{
	struct clocksource_switch clock;
	struct fact why = {0};

	fake_root_add(fake, CLOCKSOURCE_CURRENT, current);
	assert_int_equal(clocksource_switch_open(&clock, &fake->root, &why), SWITCH_OPENED);
	return clock;
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
	clocksource_switch_close(&clock);
}

/* What is in use already is not written again: the kernel would take it for a wish. */
static void the_selected_clocksource_is_not_written(void **state)
{
	struct clocksource_switch clock = hold(*state, "tsc");
	struct fact why = {0};

	assert_int_equal(clocksource_switch_to(&clock, "tsc", &why), SWITCH_DONE);
	assert_int_equal(clocksource_switch_restore(&clock, &why), SWITCH_DONE);
	expect_current(*state, "tsc");
	clocksource_switch_close(&clock);
}

static void the_lock_excludes_other_runs(void **state)
{
	const struct fake_root *fake = *state;

	for (int with_run = 0; with_run < 2; with_run++) {
		struct clocksource_switch clock, second;
		struct fact why = {0};

		if (with_run)
			fake_root_add(fake, "/run/other", "");
		clock = hold(fake, "tsc\n");
		assert_int_equal(clocksource_switch_open(&second, &fake->root, &why), SWITCH_BUSY);
		clocksource_switch_close(&clock);
		assert_int_equal(
			clocksource_switch_open(&second, &fake->root, &why), SWITCH_OPENED);
		clocksource_switch_close(&second);
	}
}

/* Any user can lock a file that it can read. */
static void a_lock_of_the_clocksource_file_excludes_none(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock;
	int file;

	fake_root_add(fake, "/run/other", "");
	fake_root_add(fake, CLOCKSOURCE_CURRENT, "tsc\n");
	file = open(fake_root_place(fake, CLOCKSOURCE_CURRENT), O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(file, LOCK_SH | LOCK_NB), 0);
	clock = hold(fake, "tsc\n");
	clocksource_switch_close(&clock);
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
	assert_int_equal(clocksource_switch_open(&clock, &fake->root, &why), SWITCH_UNREAD);
	assert_int_equal(clock.file, -1);
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
	clocksource_switch_close(&clock);
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
	clocksource_switch_close(&clock);
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
	clocksource_switch_close(&clock);
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

	while (clocksource_switch_open(&clock, &fake->root, &why) == SWITCH_BUSY)
		usleep(1000);
	clocksource_switch_close(&clock);
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

/* ---- changes that are not ours, and the record ---- */

static void foreign_change_is_not_overwritten(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock = hold(fake, "tsc\n");
	struct fact why = {0};

	assert_int_equal(clocksource_switch_to(&clock, "hpet", &why), SWITCH_DONE);
	assert_false(clocksource_switch_is_foreign(&clock, &why));
	fake_root_add(fake, CLOCKSOURCE_CURRENT, "acpi_pm\n");
	assert_true(clocksource_switch_is_foreign(&clock, &why));
	assert_int_equal(clocksource_switch_to(&clock, "hpet", &why), SWITCH_FOREIGN);
	assert_int_equal(clocksource_switch_restore(&clock, &why), SWITCH_FOREIGN);
	assert_string_equal(why.reason, "something else switched the clocksource to acpi_pm");
	expect_current(fake, "acpi_pm\n");
	clocksource_switch_close(&clock);
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
	clocksource_switch_close(&clock);
}

static void change_back_to_the_original_is_not_foreign(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock = hold(fake, "tsc\n");
	struct fact why = {0};

	assert_int_equal(clocksource_switch_to(&clock, "hpet", &why), SWITCH_DONE);
	fake_root_add(fake, CLOCKSOURCE_CURRENT, "tsc\n");
	assert_int_equal(clocksource_switch_restore(&clock, &why), SWITCH_DONE);
	clocksource_switch_close(&clock);
}

/* On one CPU with the looks, so that each switch interrupts one of them. */
static void keep_switching(const struct clocksource_switch *clock)
{
	struct timespec pause = {.tv_nsec = 20000};
	struct fact why = {0};

	for (;;) {
		clocksource_switch_to(clock, "hpet", &why);
		nanosleep(&pause, NULL);
		clocksource_switch_restore(clock, &why);
		nanosleep(&pause, NULL);
	}
}

static void switch_of_a_worker_is_not_foreign(void **state)
{
	struct clocksource_switch clock = hold(*state, "tsc\n");
	cpu_set_t before, one;
	struct fact why = {0};
	pid_t worker;
	int foreign = 0;

	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	worker = fork();
	assert_true(worker >= 0);
	if (worker == 0)
		keep_switching(&clock);
	for (int i = 0; i < 20000; i++)
		foreign += clocksource_switch_is_foreign(&clock, &why);
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	sched_setaffinity(0, sizeof(before), &before);
	clocksource_switch_close(&clock);
	assert_int_equal(foreign, 0);
}

#define RECORD SWITCH_FOLDER "/" SWITCH_RECORD

static void record_names_the_original_of_a_killed_run(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock;
	struct fact why = {0};

	fake_root_add(fake, "/run/other", "");
	clock = hold(fake, "tsc\n");
	assert_true(clocksource_switch_record(&clock, &why));
	assert_true(root_has(&fake->root, RECORD));
	clocksource_switch_close(&clock);
	clock = hold(fake, "hpet\n");
	assert_string_equal(clock.interrupted, "tsc");
	clocksource_switch_close(&clock);
	clock = hold(fake, "tsc\n");
	assert_string_equal(clock.interrupted, "");
	clocksource_switch_forget(&clock);
	assert_false(root_has(&fake->root, RECORD));
	clocksource_switch_close(&clock);
}

static void invalid_record_is_ignored(void **state)
{
	static const char *const texts[] = {"", "\n", "a-name-that-is-longer-than-any-clocksource"};
	const struct fake_root *fake = *state;

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct clocksource_switch clock;

		fake_root_add(fake, RECORD, texts[i]);
		clock = hold(fake, "tsc\n");
		assert_string_equal(clock.interrupted, "");
		clocksource_switch_close(&clock);
	}
}

/* The name in /run may be a link that leads anywhere. */
static void record_does_not_follow_a_link(void **state)
{
	const struct fake_root *fake = *state;
	struct clocksource_switch clock;
	struct fact why = {0};

	fake_root_add(fake, "/victim", "kept");
	fake_root_link(fake, RECORD, "../victim");
	clock = hold(fake, "tsc\n");
	assert_true(clocksource_switch_record(&clock, &why));
	assert_true(root_holds(&fake->root, "/victim", "kept"));
	clocksource_switch_close(&clock);
}

/* ---- guests of a KVM host ---- */

static void expect_guests(const struct fake_root *fake, const char *wanted)
{
	char which[FACT_REASON_SIZE];

	assert_int_equal(guests_running(&fake->root, which, sizeof(which)), wanted != NULL);
	if (wanted)
		assert_string_equal(which, wanted);
}

static void idle_kvm_is_not_a_guest(void **state)
{
	const struct fake_root *fake = *state;

	expect_guests(fake, NULL);
	fake_root_add(fake, "/sys/module/kvm_amd/refcnt", "0\n");
	fake_root_link(fake, "/proc/12/fd/3", "/dev/null");
	expect_guests(fake, NULL);
}

static void module_in_use_is_a_guest(void **state)
{
	fake_root_add(*state, "/sys/module/kvm_amd/refcnt", "4\n");
	expect_guests(*state, "the module kvm_amd is in use");
}

static void process_with_kvm_open_is_a_guest(void **state)
{
	fake_root_link(*state, "/proc/1717/fd/9", "/dev/kvm");
	expect_guests(*state, "process 1717 has KVM open");
}

static void process_with_a_machine_open_is_a_guest(void **state)
{
	fake_root_link(*state, "/proc/1717/fd/9", "anon_inode:kvm-vm");
	expect_guests(*state, "process 1717 has KVM open");
}

/* ---- does the clock run? ---- */

static void one_wrong_window_does_not_reject_a_clock(void **state)
{
	static const double ratios[][SPEED_WINDOWS] = {
		{1, 1, 1, 1, 1}, {3.34, 1, 1, 1, 1}, {0, 1, 0, 1, 1}, {1, 7, 0, 1.01, 0.99}};
	struct fact fact = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(ratios); i++) {
		candidate_judge_speed(ratios[i], &fact);
		assert_int_equal(fact.state, FACT_KNOWN);
	}
}

static void windows_that_agree_reject_a_clock(void **state)
{
	static const double ratios[][SPEED_WINDOWS] = {
		{0, 0, 0, 0, 0}, {0, 1, 0, 1, 0}, {3, 1, 3, 3, 1}};
	struct fact fact = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(ratios); i++) {
		candidate_judge_speed(ratios[i], &fact);
		assert_int_equal(fact.state, FACT_FAILED);
	}
}

static void devices_are_read_from_few_cpus_of_many(void **state)
{
	(void)state;
	assert_int_equal(candidate_warp_cpus("hpet", 32), 32);
	assert_int_equal(candidate_warp_cpus("hpet", 33), 4);
	assert_int_equal(candidate_warp_cpus("acpi_pm", 256), 4);
	assert_int_equal(candidate_warp_cpus("tsc", 256), 256);
}

/* ---- the ranking ---- */

#define CANDIDATES 3

static struct candidate candidates[CANDIDATES];
static struct run_result result;
static struct evidence host;

static void make_candidate(struct candidate *candidate, const char *name, double ns)
{
	*candidate = (struct candidate){
		.fact.state = FACT_KNOWN, .timing_count = 2, .timings_ns = {ns, ns}};
	strcpy(candidate->name, name);
	candidate->evidence.proof.fact.state = FACT_KNOWN;
	candidate->evidence.timing.fact.state = FACT_KNOWN;
	candidate->evidence.call_count = 1;
	candidate->evidence.calls[0] = (struct call_evidence){
		.decides = true, .path[PATH_VDSO] = {.available = true, .attempts = 100}};
	candidate->warp.fact.state = FACT_KNOWN;
	candidate->warp.cpu_count = 2;
	for (int id = 0; id < WARP_CLOCK_COUNT; id++) {
		candidate->warp.results[id].fact.state = FACT_KNOWN;
		candidate->warp.results[id].apart.fact.state = FACT_KNOWN;
	}
}

static void make_fall_back(struct candidate *candidate)
{
	candidate->evidence.calls[0].path[PATH_VDSO].entered = 100;
}

/* A host where nothing speaks against tsc. */
static void make_host(void)
{
	host = (struct evidence){.clocksource = {.current_fact.state = FACT_KNOWN,
					 .current = "hpet",
					 .available_fact.state = FACT_KNOWN,
					 .available_count = 3,
					 .available = {"tsc", "hpet", "acpi_pm"}}};
	fact_set_flag(&host.host.invariant_tsc, true);
}

static int three_candidates(void **state)
{
	(void)state;
	make_candidate(&candidates[0], "hpet", 600);
	make_fall_back(&candidates[0]);
	make_candidate(&candidates[1], "tsc", 20);
	make_candidate(&candidates[2], "acpi_pm", 700);
	make_fall_back(&candidates[2]);
	result = (struct run_result){.count = CANDIDATES,
		.candidates = candidates,
		.why.state = FACT_KNOWN,
		.restored_fact.state = FACT_KNOWN};
	make_host();
	return 0;
}

static struct ranking rank(void)
{
	struct ranking ranking;

	ranking_find(&result, &host, &ranking);
	return ranking;
}

static const struct candidate *concluded(int place)
{
	rank();
	return &candidates[place];
}

static void recommends_a_change_of_class(void **state)
{
	(void)state;
	assert_int_equal(concluded(1)->gain, GAIN_CLASS);
	assert_ptr_equal(rank().advised, &candidates[1]);
	assert_ptr_equal(rank().fastest, &candidates[1]);
	assert_int_equal(rank().verdict, RANKING_CHANGE);
}

/* Of what is not advisable the reason is given, as check would give it. */
static void does_not_recommend_what_check_refuses(void **state)
{
	(void)state;
	fact_set_flag(&host.host.invariant_tsc, false);
	assert_null(rank().advised);
	assert_ptr_equal(rank().fastest, &candidates[1]);
	assert_non_null(rank().why_not);
	assert_int_equal(rank().verdict, RANKING_OK);
}

static void a_gain_within_the_spread_is_not_recommended(void **state)
{
	static const struct {
		double in_use[2], other[2];
		enum gain gain;
	} rows[] = {
		{{40, 40}, {29, 29}, GAIN_COST},
		{{40, 60}, {31, 31}, GAIN_NONE}, /* 9 ns, and below a quarter */
		{{38, 38}, {29, 29}, GAIN_NONE}, /* 9 ns */
		{{40, 90}, {20, 35}, GAIN_NONE}, /* one of 35 ns */
		{{1000, 1000}, {751, 751}, GAIN_NONE},
		{{1000, 1100}, {750, 750}, GAIN_COST},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		make_candidate(&candidates[0], "hpet", 0);
		memcpy(candidates[0].timings_ns, rows[i].in_use, sizeof(rows[i].in_use));
		memcpy(candidates[1].timings_ns, rows[i].other, sizeof(rows[i].other));
		assert_int_equal(concluded(1)->gain, rows[i].gain);
	}
}

static void a_single_measurement_shows_no_gain(void **state)
{
	(void)state;
	make_candidate(&candidates[0], "hpet", 600);
	candidates[1].timing_count = 1;
	assert_int_equal(concluded(1)->state, CANDIDATE_UNSURE);
	assert_int_equal(concluded(1)->gain, GAIN_NONE);
}

static void the_selected_clocksource_wins_a_tie(void **state)
{
	(void)state;
	make_candidate(&candidates[0], "hpet", 20.4);
	make_candidate(&candidates[2], "acpi_pm", 20);
	assert_ptr_equal(rank().fastest, &candidates[0]);
	assert_int_equal(rank().verdict, RANKING_OK);
}

static void a_clocksource_that_warps_is_not_recommended(void **state)
{
	(void)state;
	candidates[1].warp.results[WARP_REALTIME].warps = 1;
	assert_int_equal(concluded(1)->state, CANDIDATE_WARPS);
	assert_ptr_equal(rank().fastest, &candidates[0]);
}

static void a_change_from_a_clocksource_that_warps_is_recommended(void **state)
{
	(void)state;
	candidates[0].warp.results[WARP_REALTIME].warps = 1;
	assert_int_equal(concluded(1)->gain, GAIN_ORDER);
	assert_int_equal(rank().verdict, RANKING_CHANGE);
	fact_set_flag(&host.host.invariant_tsc, false);
	assert_int_equal(rank().verdict, RANKING_UNKNOWN);
}

static void an_unverified_clocksource_is_not_recommended(void **state)
{
	(void)state;
	fact_set(&candidates[1].evidence.proof.fact, FACT_DENIED, "no filter");
	assert_int_equal(concluded(1)->state, CANDIDATE_UNSURE);
	assert_string_equal(concluded(1)->reason, "no filter");
	fact_set(&candidates[2].warp.results[WARP_MONOTONIC].apart.fact, FACT_FAILED, "never met");
	assert_string_equal(concluded(2)->reason, "never met");
	assert_ptr_equal(rank().fastest, &candidates[0]);
}

static void one_cpu_needs_no_comparison(void **state)
{
	(void)state;
	candidates[1].warp.cpu_count = 1;
	fact_set(&candidates[1].warp.results[WARP_MONOTONIC].apart.fact, FACT_ABSENT,
		"one CPU only");
	assert_int_equal(concluded(1)->state, CANDIDATE_MEASURED);
}

static void a_refused_clocksource_is_not_recommended(void **state)
{
	(void)state;
	fact_set(&candidates[1].fact, FACT_FAILED, "rejected by the kernel");
	assert_int_equal(concluded(1)->state, CANDIDATE_UNTRIED);
	assert_string_equal(concluded(1)->reason, "rejected by the kernel");
	fact_set(&candidates[2].fact, FACT_FAILED, "killed by SIGKILL");
	assert_string_equal(concluded(2)->reason, "killed by SIGKILL");
	assert_int_equal(rank().verdict, RANKING_OK);
	fact_set(&candidates[0].fact, FACT_FAILED, "not done");
	assert_int_equal(rank().verdict, RANKING_UNKNOWN);
	assert_null(rank().fastest);
}

static void a_void_row_allows_no_recommendation(void **state)
{
	(void)state;
	fact_set(&candidates[2].fact, FACT_FAILED, "something else switched it");
	candidates[2].is_void = true;
	assert_int_equal(concluded(2)->state, CANDIDATE_VOID);
	assert_int_equal(rank().verdict, RANKING_UNKNOWN);
}

static void an_early_end_allows_no_recommendation(void **state)
{
	(void)state;
	result.end = RUN_INTERRUPTED;
	assert_int_equal(rank().verdict, RANKING_UNKNOWN);
	result.end = RUN_WHOLE;
	result.restored = SWITCH_FOREIGN;
	assert_int_equal(rank().verdict, RANKING_UNKNOWN);
}

#define ROOT_TEST(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)
#define RANKING_TEST(test) cmocka_unit_test_setup(test, three_candidates)

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
		ROOT_TEST(switch_of_a_worker_is_not_foreign),
		ROOT_TEST(record_names_the_original_of_a_killed_run),
		ROOT_TEST(invalid_record_is_ignored),
		ROOT_TEST(record_does_not_follow_a_link),
		ROOT_TEST(idle_kvm_is_not_a_guest),
		ROOT_TEST(module_in_use_is_a_guest),
		ROOT_TEST(process_with_kvm_open_is_a_guest),
		ROOT_TEST(process_with_a_machine_open_is_a_guest),
		cmocka_unit_test(one_wrong_window_does_not_reject_a_clock),
		cmocka_unit_test(windows_that_agree_reject_a_clock),
		cmocka_unit_test(devices_are_read_from_few_cpus_of_many),
		RANKING_TEST(recommends_a_change_of_class),
		RANKING_TEST(does_not_recommend_what_check_refuses),
		RANKING_TEST(a_gain_within_the_spread_is_not_recommended),
		RANKING_TEST(a_single_measurement_shows_no_gain),
		RANKING_TEST(the_selected_clocksource_wins_a_tie),
		RANKING_TEST(a_clocksource_that_warps_is_not_recommended),
		RANKING_TEST(a_change_from_a_clocksource_that_warps_is_recommended),
		RANKING_TEST(an_unverified_clocksource_is_not_recommended),
		RANKING_TEST(one_cpu_needs_no_comparison),
		RANKING_TEST(a_refused_clocksource_is_not_recommended),
		RANKING_TEST(a_void_row_allows_no_recommendation),
		RANKING_TEST(an_early_end_allows_no_recommendation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
