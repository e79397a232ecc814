/* SPDX-License-Identifier: MIT */
/* Tests of compare/ranking: what is recommended, and what is not. */
#include <string.h>

#include "compare/model.h"
#include "unit/unit.h"

#define CANDIDATES 3

static struct candidate candidates[CANDIDATES];
static struct compare compare;

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
		candidate->warp.results[id].max_offset.fact.state = FACT_KNOWN;
	}
}

static void make_fall_back(struct candidate *candidate)
{
	candidate->evidence.calls[0].path[PATH_VDSO].entered = 100;
}

/* A host where nothing speaks against tsc. */
static void make_host(void)
{
	compare.host = (struct evidence){.clocksource = {.current_fact.state = FACT_KNOWN,
						 .current = "hpet",
						 .available_fact.state = FACT_KNOWN,
						 .available_count = 3,
						 .available = {"tsc", "hpet", "acpi_pm"}}};
	fact_set_flag(&compare.host.host.invariant_tsc, true);
}

static int three_candidates(void **state)
{
	(void)state;
	make_candidate(&candidates[0], "hpet", 600);
	make_fall_back(&candidates[0]);
	make_candidate(&candidates[1], "tsc", 20);
	make_candidate(&candidates[2], "acpi_pm", 700);
	make_fall_back(&candidates[2]);
	compare = (struct compare){.sw.original = "hpet"};
	compare.run = (struct run){.sw = &compare.sw,
		.begun = true,
		.count = CANDIDATES,
		.candidates = candidates,
		.why.state = FACT_KNOWN,
		.restored_fact.state = FACT_KNOWN};
	make_host();
	return 0;
}

static const struct compare *rank(void)
{
	compare.fastest = compare.advised = NULL;
	compare.why_not = NULL;
	compare_conclude(&compare);
	return &compare;
}

static const char *verdict(void)
{
	return rank()->report.answer->word;
}

static const struct candidate *concluded(int place)
{
	rank();
	return &candidates[place];
}

static void recommends_a_change_of_class(void **state)
{
	(void)state;
	assert_int_equal(concluded(1)->gain, GAIN_VDSO);
	assert_ptr_equal(rank()->advised, &candidates[1]);
	assert_ptr_equal(rank()->fastest, &candidates[1]);
	assert_string_equal(verdict(), "change");
}

/* It is the risk that check states of the same switch. */
static void the_risk_of_tsc_in_a_guest_is_its_migration(void **state)
{
	static const char risk[] = "After a migration to another TSC rate";

	(void)state;
	assert_string_equal(rank()->advised->name, "tsc");
	assert_null(strstr(compare.risk, risk));
	fact_set_text(&compare.host.host.hypervisor, "bhyve");
	assert_string_equal(rank()->advised->name, "tsc");
	assert_non_null(strstr(compare.risk, risk));
	fact_set_text(&compare.host.host.platform, "aws-nitro");
	assert_null(strstr(rank()->risk, risk));
}

/* The reason against a clocksource is that of check. */
static void does_not_recommend_what_check_refuses(void **state)
{
	(void)state;
	fact_set_flag(&compare.host.host.invariant_tsc, false);
	assert_null(rank()->advised);
	assert_ptr_equal(rank()->fastest, &candidates[1]);
	assert_non_null(rank()->why_not);
	assert_string_equal(verdict(), "ok");
}

/* On a tree all rows measure the same clock. */
static void the_answer_of_a_rehearsal_says_that_it_was_one(void **state)
{
	(void)state;
	assert_null(strstr(rank()->report.summary, "rehearsal"));
	compare.rehearsal = true;
	assert_non_null(strstr(rank()->report.summary, "This was a rehearsal"));
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
	assert_int_equal(concluded(1)->state, CANDIDATE_INCOMPLETE);
	assert_int_equal(concluded(1)->gain, GAIN_NONE);
}

static void the_selected_clocksource_wins_a_tie(void **state)
{
	(void)state;
	make_candidate(&candidates[0], "hpet", 20.4);
	make_candidate(&candidates[2], "acpi_pm", 20);
	assert_ptr_equal(rank()->fastest, &candidates[0]);
	assert_string_equal(verdict(), "ok");
}

static void a_clocksource_that_warps_is_not_recommended(void **state)
{
	(void)state;
	candidates[1].warp.results[WARP_REALTIME].warps = 1;
	assert_int_equal(concluded(1)->state, CANDIDATE_WARPS);
	assert_ptr_equal(rank()->fastest, &candidates[0]);
}

static void a_change_from_a_clocksource_that_warps_is_recommended(void **state)
{
	(void)state;
	candidates[0].warp.results[WARP_REALTIME].warps = 1;
	assert_int_equal(concluded(1)->gain, GAIN_NO_WARPS);
	assert_string_equal(verdict(), "change");
	fact_set_flag(&compare.host.host.invariant_tsc, false);
	assert_string_equal(verdict(), "unknown");
}

static void an_unverified_clocksource_is_not_recommended(void **state)
{
	(void)state;
	fact_set(&candidates[1].evidence.proof.fact, FACT_DENIED, "no filter");
	assert_int_equal(concluded(1)->state, CANDIDATE_INCOMPLETE);
	assert_string_equal(concluded(1)->reason, "no filter");
	fact_set(&candidates[2].warp.results[WARP_MONOTONIC].max_offset.fact, FACT_FAILED,
		"never met");
	assert_string_equal(concluded(2)->reason, "never met");
	assert_ptr_equal(rank()->fastest, &candidates[0]);
}

static void the_only_cpu_of_a_host_needs_no_comparison(void **state)
{
	(void)state;
	candidates[1].warp.cpu_count = 1;
	fact_set(&candidates[1].warp.results[WARP_MONOTONIC].max_offset.fact, FACT_ABSENT,
		"one CPU only");
	assert_int_equal(concluded(1)->state, CANDIDATE_INCOMPLETE);
	fact_set_number(&compare.host.host.cpu_count, 1);
	assert_int_equal(concluded(1)->state, CANDIDATE_MEASURED);
}

static void a_refused_clocksource_is_not_recommended(void **state)
{
	(void)state;
	fact_set(&candidates[1].fact, FACT_FAILED, "rejected by the kernel");
	assert_int_equal(concluded(1)->state, CANDIDATE_NOT_TESTED);
	assert_string_equal(concluded(1)->reason, "rejected by the kernel");
	fact_set(&candidates[2].fact, FACT_FAILED, "killed by SIGKILL");
	assert_string_equal(concluded(2)->reason, "killed by SIGKILL");
	assert_string_equal(verdict(), "ok");
	fact_set(&candidates[0].fact, FACT_FAILED, "not done");
	assert_string_equal(verdict(), "unknown");
	assert_null(rank()->fastest);
}

static void an_early_end_allows_no_recommendation(void **state)
{
	(void)state;
	fact_set(&compare.run.why, FACT_FAILED, "interrupted");
	assert_string_equal(verdict(), "unknown");
	compare.run.begun = true;
	compare.run.restored = SWITCH_FOREIGN;
	assert_string_equal(verdict(), "unknown");
}

#define RANKING_TEST(test) cmocka_unit_test_setup(test, three_candidates)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RANKING_TEST(recommends_a_change_of_class),
		RANKING_TEST(the_risk_of_tsc_in_a_guest_is_its_migration),
		RANKING_TEST(does_not_recommend_what_check_refuses),
		RANKING_TEST(the_answer_of_a_rehearsal_says_that_it_was_one),
		RANKING_TEST(a_gain_within_the_spread_is_not_recommended),
		RANKING_TEST(a_single_measurement_shows_no_gain),
		RANKING_TEST(the_selected_clocksource_wins_a_tie),
		RANKING_TEST(a_clocksource_that_warps_is_not_recommended),
		RANKING_TEST(a_change_from_a_clocksource_that_warps_is_recommended),
		RANKING_TEST(an_unverified_clocksource_is_not_recommended),
		RANKING_TEST(the_only_cpu_of_a_host_needs_no_comparison),
		RANKING_TEST(a_refused_clocksource_is_not_recommended),
		RANKING_TEST(an_early_end_allows_no_recommendation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
