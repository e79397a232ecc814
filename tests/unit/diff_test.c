/* SPDX-License-Identifier: MIT */
/* Tests of diff/diff.c: what is worse, what is noise, and what is named as a suspect. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "diff/model.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

#define ROLLS 300

static struct diff diff;

static struct evidence *old, *new;

/* Two healthy documents, which a test changes before it compares them. */
static int begin(void **state)
{
	(void)state;
	memset(&diff, 0, sizeof(diff));
	strcpy(diff.old.file, "old.json");
	strcpy(diff.new.file, "new.json");
	old = &diff.old.evidence;
	new = &diff.new.evidence;
	evidence_make_healthy(old);
	evidence_make_healthy(new);
	return 0;
}

static enum diff_change compare(void)
{
	diff.report.type = diff_command.report;
	diff_compare(&diff);
	return (enum diff_change)(diff.report.answer - diff_command.answers);
}

static void make_unproven(struct evidence *evidence)
{
	evidence_make_healthy(evidence);
	evidence_remove_proof(evidence, "refused");
	evidence_remove_timing(evidence);
}

static void make_on_hpet(struct evidence *evidence)
{
	evidence_make_falling_back(evidence, "hpet");
}

struct pair {
	const char *name;
	void (*before)(struct evidence *), (*now)(struct evidence *);
	enum diff_change answer;
	const char *summary; /* its beginning */
};

static const struct pair pairs[] = {
	{"ok and ok", evidence_make_healthy, evidence_make_healthy, DIFF_SAME,
		"the verdict is ok in both; none of "},
	{"fallback and fallback", make_on_hpet, make_on_hpet, DIFF_SAME,
		"the verdict is fallback in both; none of "},
	{"ok and fallback", evidence_make_healthy, make_on_hpet, DIFF_WORSE,
		"the verdict was ok and is fallback, the clock mode was tsc and is none; "},
	{"fallback and ok", make_on_hpet, evidence_make_healthy, DIFF_BETTER,
		"the verdict was fallback and is ok, the clock mode was none and is tsc; "},
	{"ok and unknown", evidence_make_healthy, make_unproven, DIFF_UNKNOWN,
		"the verdict of new.json is undetermined."},
	{"unknown and ok", make_unproven, evidence_make_healthy, DIFF_BETTER,
		"the verdict was unknown and is ok."},
	{"unknown and unknown", make_unproven, make_unproven, DIFF_UNKNOWN,
		"the verdict of new.json is undetermined."},
};

static void a_verdict_is_compared(void **state)
{
	const struct pair *pair = *state;

	begin(NULL);
	pair->before(old);
	pair->now(new);
	assert_int_equal(compare(), pair->answer);
	if (strncmp(diff.report.summary, pair->summary, strlen(pair->summary)) != 0)
		fail_msg("%s", diff.report.summary);
}

struct mode {
	const char *name;
	int before, now;
	const char *name_before, *name_now;
	enum diff_change answer;
};

/* The verdict stays: the documents differ in nothing else. */
static const struct mode modes[] = {
	{"from tsc to kvm-clock's page", 1, 2, "tsc", "pvclock", DIFF_WORSE},
	{"from a page to tsc", 3, 1, "hvclock", "tsc", DIFF_BETTER},
	{"from one page to another", 2, 3, "pvclock", "hvclock", DIFF_SAME},
	{"between the counters of two architectures", 1, 1, "tsc", "archtimer", DIFF_SAME},
	{"to a number without a name", 1, 9, "tsc", "", DIFF_SAME},
};

static void a_mode_is_compared(void **state)
{
	const struct mode *mode = *state;

	begin(NULL);
	evidence_set_mode(old, VCLOCK_READ, mode->before, mode->name_before);
	evidence_set_mode(new, VCLOCK_READ, mode->now, mode->name_now);
	assert_int_equal(compare(), mode->answer);
}

struct rise {
	const char *name;
	double least, median, p99; /* before */
	double now;                /* all of them */
	enum diff_change answer;
};

static const struct rise rises[] = {
	{"half as much again as most batches took", 20, 22, 24, 36.1, DIFF_WORSE},
	{"less than that", 20, 22, 24, 35.9, DIFF_SAME},
	{"beyond the median, within a wide spread", 20, 22, 80, 100, DIFF_SAME},
	{"beyond the median where no percentile is known", 20, 22, 0, 33.1, DIFF_WORSE},
	{"a nanosecond and a half", 2.7, 2.7, 2.9, 4.4, DIFF_SAME},
	{"a third less", 30, 31, 32, 20.1, DIFF_SAME},
	{"half as much", 30, 31, 32, 15, DIFF_BETTER},
};

static void a_cost_changes_beyond_the_spread_alone(void **state)
{
	const struct rise *rise = *state;
	struct path_evidence *before, *now;

	begin(NULL);
	before = &evidence_find_call(old, "time", "")->path[PATH_VDSO];
	now = &evidence_find_call(new, "time", "")->path[PATH_VDSO];
	before->min_ns = rise->least;
	before->median_ns = rise->median;
	before->p99_ns = rise->p99;
	now->min_ns = now->median_ns = now->p99_ns = rise->now;
	assert_int_equal(compare(), rise->answer);
	assert_int_equal(diff.worse_count, rise->answer == DIFF_WORSE);
	assert_int_equal(diff.better_count, rise->answer == DIFF_BETTER);
}

static void what_no_vdso_serves_is_not_compared(void **state)
{
	static const char *const clocks[] = {
		"CLOCK_MONOTONIC", "CLOCK_PROCESS_CPUTIME_ID", "CLOCK_THREAD_CPUTIME_ID"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		struct call_evidence *now = evidence_find_call(new, "clock_gettime", clocks[i]);

		for (enum call_path path = i ? PATH_VDSO : PATH_SYSCALL; path < PATH_COUNT; path++)
			now->path[path].min_ns = now->path[path].median_ns = 10000;
	}
	assert_int_equal(compare(), DIFF_SAME);
	begin(NULL);
	evidence_find_call(new, "clock_gettime", "CLOCK_MONOTONIC_RAW")->path[PATH_LIBC].min_ns =
		10000;
	assert_int_equal(compare(), DIFF_WORSE);
}

static void a_counter_that_became_slow_is_named(void **state)
{
	(void)state;
	old->timing.counter_ns.value = 10;
	new->timing.counter_ns.value = 60;
	assert_int_equal(compare(), DIFF_WORSE);
	assert_string_equal(
		diff.report.summary, "reading the CPU's counter took 10.0 ns and takes 60.0 ns.");
}

/* What is worse is worse, whatever the proof. */
static void a_cost_that_rose_weighs_more_than_an_undetermined_verdict(void **state)
{
	(void)state;
	evidence_remove_proof(new, "refused");
	new->timing.counter_ns.value = 1000 * old->timing.counter_ns.value;
	assert_int_equal(compare(), DIFF_WORSE);
}

static const struct diff_property *find_suspect(const char *name)
{
	for (size_t i = 0; i < diff.suspect_count; i++) {
		if (strcmp(diff.suspects[i].name, name) == 0)
			return &diff.suspects[i];
	}
	return NULL;
}

static void what_else_differs_is_a_suspect(void **state)
{
	const struct diff_property *suspect;

	(void)state;
	fact_set_text(&old->host.kernel, "6.1.0");
	fact_set_text(&new->host.kernel, "6.12.0");
	fact_set_text(&old->host.kernel_build, "#1");
	fact_set_text(&new->host.kernel_build, "#2");
	fact_set(&old->host.hypervisor.fact, FACT_ABSENT, "bare metal");
	fact_set_text(&new->host.hypervisor, "kvm");
	fact_set(&old->host.libc.fact, FACT_FAILED, "not read");
	fact_set_number(&old->host.cpu_count, 2);
	fact_set_number(&new->host.cpu_count, 64);
	compare();
	suspect = find_suspect("kernel");
	assert_non_null(suspect);
	assert_string_equal(suspect->old, "6.1.0");
	assert_string_equal(suspect->new, "6.12.0");
	assert_null(find_suspect("kernel build"));
	assert_string_equal(find_suspect("hypervisor")->old, "none");
	assert_string_equal(find_suspect("CPUs")->new, "64");
	assert_null(find_suspect("libc"));
	assert_int_equal(diff.suspect_count, 3);
	assert_false(diff.two_hosts);
}

static void restore(struct evidence *evidence, double at_s, double offset_s)
{
	evidence->base = (struct base_evidence){.fact.state = FACT_KNOWN,
		.ticks = (uint64_t)(at_s * 1e6),
		.at_s = at_s,
		.ago_s = 60,
		.uptime_s = at_s - 4,
		.error_s = 0.5};
	evidence->witness_count = 1;
	evidence->witnesses[0] = (struct witness){
		.source = WITNESS_PTP, .fact.state = FACT_KNOWN, .offset_s = offset_s};
}

static void a_restore_is_named_with_what_it_did_to_the_clock(void **state)
{
	(void)state;
	restore(old, 0.17, 0);
	restore(new, 600.5, -2472);
	assert_int_equal(compare(), DIFF_WORSE);
	assert_non_null(strstr(diff.report.summary, "the wall clock was right and is behind"));
	assert_int_equal(diff.suspect_count, 1);
	assert_string_equal(diff.suspects[0].name, "restored, migrated or paused at");
	assert_string_equal(diff.suspects[0].old, "0.2 s");
	assert_string_equal(diff.suspects[0].new, "600.5 s");
	/* Of guests that were not restored, each has a base of its own. */
	begin(NULL);
	restore(old, 0.17, 0);
	restore(new, 0.23, 0);
	assert_int_equal(compare(), DIFF_SAME);
	assert_int_equal(diff.suspect_count, 0);
}

static void the_flags_of_another_cpu_are_not_a_suspect(void **state)
{
	(void)state;
	for (int is_new = 0; is_new <= 1; is_new++) {
		begin(NULL);
		fact_set_text(&old->host.tsc_flags, "tsc");
		fact_set_text(&new->host.tsc_flags, "tsc constant_tsc");
		fact_set_text(&new->host.cpu, is_new ? "another CPU" : old->host.cpu.value);
		compare();
		assert_int_equal(!find_suspect("TSC flags"), is_new);
		assert_int_equal(!!find_suspect("CPU"), is_new);
		assert_int_equal(diff.two_hosts, is_new);
	}
}

static void another_build_of_the_kernel_is_a_suspect(void **state)
{
	(void)state;
	fact_set_text(&old->host.kernel_build, "#1");
	fact_set_text(&new->host.kernel_build, "#2");
	compare();
	assert_non_null(find_suspect("kernel build"));
}

static void two_hosts_are_told_apart_by_name(void **state)
{
	(void)state;
	fact_set_text(&old->host.name, "web-1");
	compare();
	assert_false(diff.two_hosts);
	begin(NULL);
	fact_set_text(&old->host.name, "web-1");
	fact_set_text(&new->host.name, "web-2");
	compare();
	assert_true(diff.two_hosts);
}

static void a_document_is_not_worse_than_itself(void **state)
{
	struct dice dice = dice_start();
	enum diff_change answer;

	(void)state;
	for (int i = 0; i < ROLLS; i++) {
		begin(NULL);
		evidence_roll(old, &dice);
		*new = *old;
		answer = compare();
		assert_true(answer == DIFF_SAME || answer == DIFF_UNKNOWN);
		assert_int_equal(diff.suspect_count, 0);
	}
}

static void what_is_worse_one_way_is_better_the_other(void **state)
{
	struct dice dice = dice_start();
	static struct diff first;

	(void)state;
	for (int i = 0; i < ROLLS; i++) {
		char *text;

		begin(NULL);
		evidence_roll(old, &dice);
		evidence_roll(new, &dice);
		compare();
		text = unit_print(report_text, &diff);
		unit_assert_fits_terminal(text);
		free(text);
		first = diff;
		begin(NULL);
		*old = first.new.evidence;
		*new = first.old.evidence;
		compare();
		assert_int_equal(diff.worse_count, first.better_count);
		assert_int_equal(diff.better_count, first.worse_count);
		assert_int_equal(diff.suspect_count, first.suspect_count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_no_vdso_serves_is_not_compared, begin),
		cmocka_unit_test_setup(a_counter_that_became_slow_is_named, begin),
		cmocka_unit_test_setup(
			a_cost_that_rose_weighs_more_than_an_undetermined_verdict, begin),
		cmocka_unit_test_setup(what_else_differs_is_a_suspect, begin),
		cmocka_unit_test_setup(the_flags_of_another_cpu_are_not_a_suspect, begin),
		cmocka_unit_test_setup(a_restore_is_named_with_what_it_did_to_the_clock, begin),
		cmocka_unit_test_setup(another_build_of_the_kernel_is_a_suspect, begin),
		cmocka_unit_test_setup(two_hosts_are_told_apart_by_name, begin),
		cmocka_unit_test_setup(a_document_is_not_worse_than_itself, begin),
		cmocka_unit_test_setup(what_is_worse_one_way_is_better_the_other, begin),
	};
	int failures = cmocka_run_group_tests(tests, NULL, NULL);

	failures += unit_run_rows("diff: verdicts are compared", a_verdict_is_compared, pairs);
	failures += unit_run_rows("diff: modes are compared", a_mode_is_compared, modes);
	failures += unit_run_rows("diff: a cost changes beyond the spread of both runs alone",
		a_cost_changes_beyond_the_spread_alone, rises);
	return failures;
}
