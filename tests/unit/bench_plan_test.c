/* SPDX-License-Identifier: MIT */
/*
 * The benchmark's plan, what is judged of its numbers, and its report: a table of 80 columns
 * whatever the numbers are. Measured numbers are not asserted.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "bench/model.h"
#include "cli/driver.h"
#include "commands.h"
#include "measure/timebase.h"
#include "unit/dice.h"
#include "unit/unit.h"

static struct call_table calls;
static bool details;

/* Parses the words of a command line and plans; false if either refuses. */
static bool plan_words(struct bench_plan *plan, int count, const char *const *words)
{
	static const struct command *const commands[] = {&bench_command, NULL};
	char *argv[17] = {"bench"};
	struct cli cli;
	bool planned;

	for (int i = 0; i < count; i++)
		argv[i + 1] = (char *)(uintptr_t)words[i];
	call_table_make(&(struct vdso_evidence){0}, &(struct vdso_image){0}, &calls, DEADLINE_NONE);
	planned = cli_parse(&cli, commands, count + 1, argv);
	if (planned)
		*plan = ((struct bench_report *)cli.data)->plan;
	cli_free(&cli);
	plan->details = details;
	return planned && bench_plan_make(plan, &calls);
}

#define PLAN(plan, ...)                                                                            \
	plan_words(plan, (int)COUNT(((const char *[]){__VA_ARGS__})), (const char *[]){__VA_ARGS__})

static size_t count_chosen(const struct bench_plan *plan)
{
	return bench_count_wanted(plan);
}

static void without_names_the_deciding_calls_are_measured_or_all(void **state)
{
	struct bench_plan plan;

	(void)state;
	assert_true(PLAN(&plan, "--duration", "2s"));
	assert_int_equal(count_chosen(&plan), PATH_COUNT * 3);
	details = true;
	assert_true(PLAN(&plan, "--duration", "2s"));
	assert_int_equal(count_chosen(&plan), PATH_COUNT * calls.count);
	details = false;
	assert_int_equal(plan.time_ns, 2000000000);
}

static void names_choose_calls(void **state)
{
	struct bench_plan plan;

	(void)state;
	assert_true(PLAN(&plan, "--call", "gettimeofday", "--path", "vdso,libc"));
	assert_int_equal(count_chosen(&plan), 2);
	assert_true(PLAN(&plan, "--call", "clock_gettime", "--clock", "monotonic"));
	assert_int_equal(count_chosen(&plan), PATH_COUNT);
	/* clock_gettime and clock_getres both take it. */
	assert_true(PLAN(&plan, "--clock", "1", "--path", "libc"));
	assert_int_equal(count_chosen(&plan), 2);
	assert_true(PLAN(&plan, "--clock", "CLOCK_TAI", "--clock", "boottime", "--path", "libc"));
	assert_int_equal(count_chosen(&plan), 2);
	assert_true(PLAN(&plan, "--call", "time", "--call", "getcpu", "--path", "syscall"));
	assert_int_equal(count_chosen(&plan), 2);
}

/* A user who names gettimeofday wants to see it beside the clock, which it does not take. */
static void a_call_without_a_clock_is_not_lost_beside_one(void **state)
{
	struct bench_plan plan;

	(void)state;
	assert_true(PLAN(&plan, "--call", "gettimeofday", "--call", "clock_gettime", "--clock",
		"monotonic", "--path", "vdso"));
	assert_int_equal(count_chosen(&plan), 2);
}

static void every_name_chooses_something(void **state)
{
	struct bench_plan plan;

	(void)state;
	assert_false(PLAN(&plan, "--call", "time", "--clock", "tai"));
	assert_false(PLAN(&plan, "--call", "clock_getres", "--clock", "tai"));
	assert_false(
		PLAN(&plan, "--call", "clock_getres", "--call", "clock_gettime", "--clock", "tai"));
	assert_false(PLAN(&plan, "--call", "clock_getres", "--clock", "1", "--clock", "tai"));
}

static void options_without_effect_are_refused(void **state)
{
	struct bench_plan plan;

	(void)state;
	assert_false(PLAN(&plan, "--calls", "5M", "--duration", "2s"));
}

/* The article counts calls of gettimeofday. */
static void counts_have_a_call_of_their_own(void **state)
{
	struct bench_plan plan;

	(void)state;
	assert_true(PLAN(&plan, "--calls", "5M,50M,500M"));
	assert_int_equal(plan.count_count, 3);
	assert_int_equal(plan.counts[2], 500000000);
	assert_int_equal(count_chosen(&plan), PATH_COUNT);
}

static void invalid_values_are_refused(void **state)
{
	struct bench_plan plan;

	(void)state;
	assert_false(PLAN(&plan, "--call", "gettimeofdays"));
	assert_false(PLAN(&plan, "--clock", "99"));
	assert_false(PLAN(&plan, "--clock", ""));
	assert_false(PLAN(&plan, "--path", "vdso,"));
	assert_false(PLAN(&plan, "--path", "kernel"));
	assert_false(PLAN(&plan, "--calls", "5M,"));
	assert_false(PLAN(&plan, "--calls", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"));
	assert_false(PLAN(&plan, "--duration", "0"));
}

#define LINES 20000
#define LINE_WORDS 8
#define NOISE_SIZE 6

/* A word that makes sense somewhere, or five bytes that make none. */
static const char *roll_word(struct dice *dice, char noise[NOISE_SIZE])
{
	static const char *const words[] = {"--call", "--clock", "--path", "--calls", "--duration",
		"--json", "--format", "--cl", "-o", "--", "time", "getcpu", "gettimeofday",
		"clock_gettime", "clock_getres", "monotonic", "CLOCK_TAI", "1", "0", "-1", "11",
		"all", "vdso", "libc,syscall", "5M,50M", "1G", "1000000000000",
		"18446744073709551616", "10ms", "24h", "1.5s", "2", "1024", ",", "",
		"--duration=1s", "--calls=1,2,3", "--path=vdso,vdso"};
	size_t place = dice_roll(dice, COUNT(words) + 4);

	if (place < COUNT(words))
		return words[place];
	dice_fill(dice, (unsigned char *)noise, NOISE_SIZE - 1);
	noise[NOISE_SIZE - 1] = '\0';
	return noise;
}

static bool roll_plan(struct dice *dice, struct bench_plan *plan)
{
	static char noise[LINE_WORDS][NOISE_SIZE];
	const char *words[LINE_WORDS];
	int count = (int)dice_roll(dice, LINE_WORDS + 1);

	for (int i = 0; i < count; i++)
		words[i] = roll_word(dice, noise[i]);
	return plan_words(plan, count, words);
}

static void assert_can_be_measured(const struct bench_plan *plan)
{
	assert_true(count_chosen(plan) > 0);
	assert_in_range(plan->time_ns, 10000000, 86400000000000);
	assert_true(plan->count_count <= BENCH_COUNT_MAX);
	for (size_t i = 0; i < plan->count_count; i++)
		assert_in_range(plan->counts[i], 1, 1000000000000);
}

/* Whatever is typed is refused, or can be measured. */
static void random_command_lines_are_parsed_or_refused(void **state)
{
	struct dice dice = dice_start();
	struct bench_plan plan;
	int terminal = dup(STDERR_FILENO);
	int accepted = 0;

	(void)state;
	assert_non_null(freopen("/dev/null", "w", stderr));
	for (int i = 0; i < LINES; i++) {
		if (!roll_plan(&dice, &plan))
			continue;
		accepted++;
		assert_can_be_measured(&plan);
	}
	fflush(stderr);
	dup2(terminal, STDERR_FILENO);
	close(terminal);
	assert_true(accepted > LINES / 100);
}

static void set_cost(struct ns_stats *stats, double ns, double median)
{
	*stats = (struct ns_stats){.ns.minimum = ns,
		.ns.median = median,
		.ns.p99 = 2 * median,
		.ns.trimmed_mean = median,
		.ns.count = 1000,
		.ns.outliers = 10,
		.batches.begun = 1010,
		.batches.preempted = 10};
	fact_set_known(&stats->fact);
}

static bool is_part(struct real_fact part, double ns)
{
	return fact_is_known(&part.fact) && fabs(part.value - ns) < 1e-6;
}

/* Half the batches of the row took `excess` longer than the least. */
static void set_row(struct bench_row *row, enum call_path path, double ns, double excess)
{
	row->subject = (struct bench_subject){
		.call = "clock_gettime", .clock = "CLOCK_MONOTONIC", .path = path};
	set_cost(&row->stats, ns, ns * (1 + excess));
}

static void noise_counts_only_where_it_affects_the_answer(void **state)
{
	struct bench_row rows[3] = {0};
	struct bench bench = {.row_count = 3, .rows = rows};

	(void)state;
	set_cost(&rows[0].stats, 100, 900);
	rows[0].subject = (struct bench_subject){.call = "time", .clock = ""};
	set_row(&rows[1], PATH_VDSO, 20, 0.1);
	set_row(&rows[2], PATH_SYSCALL, 160, 0.1);
	rows[1].stats.ns.outliers = 500;
	rows[1].stats.batches.preempted = 500;
	assert_true(noise_find(&bench).quiet);
	assert_true(fabs(noise_find(&bench).answer_excess - 0.1) < 1e-9);
	set_row(&rows[2], PATH_SYSCALL, 160, 0.9);
	assert_false(noise_find(&bench).quiet);
}

/* Stopped after a few batches: nothing is known of the machine, least of all that it is quiet. */
static void noise_is_unknown_after_a_few_batches(void **state)
{
	struct noise noise;
	struct bench_row row = {.subject = {.call = "time", .clock = ""}};
	struct bench bench = {.row_count = 1, .rows = &row};

	(void)state;
	set_cost(&row.stats, 100, 100);
	row.stats.ns.trimmed_mean = NAN;
	noise = noise_find(&bench);
	assert_int_equal(noise.fact.state, FACT_UNREAD);
	assert_false(noise.quiet);
}

/* The rows of other calls do not say that the call of the answer was measured in peace. */
static void noise_is_unknown_where_the_answer_was_not_judged(void **state)
{
	struct noise noise;
	struct bench_row rows[2] = {0};
	struct bench bench = {.row_count = 2, .rows = rows};

	(void)state;
	set_cost(&rows[0].stats, 100, 100);
	rows[0].subject = (struct bench_subject){.call = "time", .clock = ""};
	set_row(&rows[1], PATH_VDSO, 20, 0.1);
	rows[1].stats.ns.trimmed_mean = NAN;
	noise = noise_find(&bench);
	assert_int_equal(noise.fact.state, FACT_UNREAD);
	assert_false(noise.quiet);
	rows[1].stats.ns.trimmed_mean = 22;
	assert_true(noise_find(&bench).quiet);
}

static void the_answer_is_about_clock_monotonic(void **state)
{
	struct bench_row rows[3] = {0};
	struct bench bench = {.row_count = 3, .rows = rows};

	(void)state;
	set_cost(&rows[0].stats, 100, 100);
	rows[0].subject = rows[1].subject = rows[2].subject =
		(struct bench_subject){.call = "time", .clock = ""};
	assert_ptr_equal(bench_answer_row(&bench), &rows[0]);
	set_row(&rows[1], PATH_VDSO, 20, 0);
	set_row(&rows[2], PATH_SYSCALL, 150, 0);
	assert_ptr_equal(bench_answer_row(&bench), &rows[1]);
	bench_evaluate(&bench);
	assert_true(is_part(rows[1].ratio, 7.5));
	assert_true(is_part(rows[2].ratio, 1));
	assert_false(fact_is_known(&rows[0].ratio.fact));
}

static const struct bench_plan any_plan = {.time_ns = 1000000000};

/* A report of everything there can be, with numbers as large as they get. */
static void fill(struct bench *bench, double ns)
{
	static struct bench_row rows[CALL_MAX * PATH_COUNT];
	static struct bench_run runs[4];
	static struct bench_plan plan;

	assert_true(PLAN(&plan, "--duration", "1s"));
	*bench = (struct bench){.plan = &any_plan, .rows = rows, .runs = runs, .stopped = true};
	for (size_t place = 0; bench_next(&plan, &place, &rows[bench->row_count].subject);) {
		set_cost(&rows[bench->row_count].stats, ns, ns);
		bench->row_count++;
	}
	fact_set(&rows[0].stats.fact, FACT_ABSENT, "not available here");
	rows[1].stats.ns.trimmed_mean = NAN;
	fact_set_number(&bench->cpu, 8191);
	fact_set_known(&bench->fact);
	for (; bench->run_count < COUNT(runs); bench->run_count++) {
		runs[bench->run_count] = (struct bench_run){.subject = rows[0].subject,
			.wanted = 1000000000000,
			.calls = 120000000,
			.real_s = 999.5678,
			.user_s = 34.5,
			.sys_s = 765.1};
		fact_set_known(&runs[bench->run_count].fact);
	}
}

static char *render(void (*write)(const void *, const struct style *, FILE *), struct bench *bench)
{
	static struct bench_report report;

	report = (struct bench_report){
		.report.type = bench_command.report, .plan = *bench->plan, .bench = bench};
	bench_conclude(&report);
	return unit_print(write, &report);
}

static void the_report_fits_80_columns(void **state)
{
	/* A call beyond these widens its columns. */
	static const double costs[] = {0.01, 26.2, 999.9, 28000, 68814};
	static struct bench bench;

	(void)state;
	for (size_t i = 0; i < COUNT(costs); i++) {
		char *text;

		fill(&bench, costs[i]);
		text = render(report_text, &bench);
		unit_assert_fits_terminal(text);
		free(text);
	}
}

static void a_null_in_the_document_has_a_reason(void **state)
{
	static struct bench bench;
	json_t *root, *first, *second;
	char *text;

	(void)state;
	fill(&bench, 26.2);
	text = render(report_json, &bench);
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	assert_string_equal(
		json_string_value(json_object_get(root, "schema")), "vdsocheck-bench/1");
	assert_true(json_is_true(json_object_get(root, "stopped")));
	first = json_array_get(json_object_get(root, "calls"), 0);
	assert_true(json_is_null(json_object_get(first, "min_ns")));
	assert_non_null(strstr(json_string_value(json_object_get(first, "reason")), "absent"));
	second = json_array_get(json_object_get(root, "calls"), 1);
	assert_true(json_is_null(json_object_get(second, "trimmed_mean_ns")));
	assert_true(json_real_value(json_object_get(second, "min_ns")) == 26.2);
	json_decref(root);
	free(text);
}

/* Stopped before anything was measured: still a document, and a text. */
static void an_empty_report_can_be_printed(void **state)
{
	static struct bench bench;
	char *text;
	json_t *root;

	(void)state;
	bench = (struct bench){.plan = &any_plan, .stopped = true};
	text = render(report_json, &bench);
	root = json_loads(text, 0, NULL);
	assert_non_null(root);
	json_decref(root);
	free(text);
	text = render(report_text, &bench);
	unit_assert_fits_terminal(text);
	free(text);
}

static void the_answer_does_not_credit_the_vdso_with_a_system_call(void **state)
{
	static struct bench_row rows[2];
	struct bench bench = {.plan = &any_plan, .rows = rows, .row_count = 2};
	char answer[200];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		rows[i] = (struct bench_row){.subject = {.call = "clock_gettime",
						     .clock = "CLOCK_MONOTONIC",
						     .path = i ? PATH_SYSCALL : PATH_VDSO},
			.stats = {.fact.state = FACT_KNOWN, .ns.minimum = i ? 598.2 : 596}};
	}
	bench_answer(&bench, answer, sizeof(answer));
	assert_non_null(strstr(answer, "596.0 ns, no faster than a system call (598.2 ns)"));
	rows[0].stats.ns.minimum = 28;
	bench_answer(&bench, answer, sizeof(answer));
	assert_non_null(strstr(answer, "vDSO 28.0 ns, system call 598.2 ns"));
}

static void a_call_costs_cpu_time_and_not_real_time(void **state)
{
	static struct bench_run run = {.subject = {.call = "gettimeofday", .clock = ""},
		.fact.state = FACT_KNOWN,
		.calls = 1000000,
		.real_s = 0.1,
		.user_s = 0.028};
	struct bench bench = {
		.plan = &any_plan, .fact.state = FACT_KNOWN, .runs = &run, .run_count = 1};
	char *text;

	(void)state;
	text = render(report_text, &bench);
	assert_float_equal(run.ns, 28, 0.01);
	assert_non_null(strstr(text, "28.0 ns each"));
	assert_non_null(strstr(text, "noisy         the CPU was shared"));
	free(text);
	run.user_s = 0.099;
	text = render(report_text, &bench);
	assert_null(strstr(text, "noisy"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_names_the_deciding_calls_are_measured_or_all),
		cmocka_unit_test(names_choose_calls),
		cmocka_unit_test(a_call_without_a_clock_is_not_lost_beside_one),
		cmocka_unit_test(every_name_chooses_something),
		cmocka_unit_test(options_without_effect_are_refused),
		cmocka_unit_test(counts_have_a_call_of_their_own),
		cmocka_unit_test(invalid_values_are_refused),
		cmocka_unit_test(random_command_lines_are_parsed_or_refused),
		cmocka_unit_test(noise_counts_only_where_it_affects_the_answer),
		cmocka_unit_test(noise_is_unknown_after_a_few_batches),
		cmocka_unit_test(noise_is_unknown_where_the_answer_was_not_judged),
		cmocka_unit_test(the_answer_is_about_clock_monotonic),
		cmocka_unit_test(the_report_fits_80_columns),
		cmocka_unit_test(the_answer_does_not_credit_the_vdso_with_a_system_call),
		cmocka_unit_test(a_call_costs_cpu_time_and_not_real_time),
		cmocka_unit_test(a_null_in_the_document_has_a_reason),
		cmocka_unit_test(an_empty_report_can_be_printed),
	};

	return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}
