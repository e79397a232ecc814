/* SPDX-License-Identifier: MIT */
/* judge/counts, vclock, contradiction and cost: the small pure pieces under the verdict. */
#include <signal.h>
#include <string.h>

#include "judge/rules.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct evidence evidence;

static struct path_evidence *monotonic(enum call_path path)
{
	return &evidence_find_call(&evidence, "clock_gettime", "CLOCK_MONOTONIC")->path[path];
}

static void counts_are_those_of_deciding_calls_only(void **state)
{
	struct entry_counts counts;

	(void)state;
	evidence_make_healthy(&evidence);
	evidence_find_call(&evidence, "clock_gettime", "CLOCK_TAI")->path[PATH_VDSO].entered = 9;
	monotonic(PATH_VDSO)->entered = 7;
	counts = counts_deciding(&evidence);
	assert_int_equal(counts.calls, 3);
	assert_int_equal(counts.proven, 3);
	assert_int_equal(counts.entering, 1);
	assert_int_equal(counts.always, 0);
	assert_int_equal(counts.attempts, 3 * BUILDER_ATTEMPTS);
	assert_int_equal(counts.entered, 7);
	assert_int_equal(counts.signal, 0);
	monotonic(PATH_VDSO)->entered = BUILDER_ATTEMPTS;
	assert_int_equal(counts_deciding(&evidence).always, 1);
}

static void without_vdso_function_libc_is_judged(void **state)
{
	struct entry_counts counts;

	(void)state;
	evidence_make_healthy(&evidence);
	*monotonic(PATH_VDSO) = (struct path_evidence){0};
	monotonic(PATH_LIBC)->entered = BUILDER_ATTEMPTS;
	monotonic(PATH_LIBC)->signal = SIGBUS;
	counts = counts_deciding(&evidence);
	assert_int_equal(counts.calls, 3);
	assert_int_equal(counts.always, 1);
	assert_int_equal(counts.signal, SIGBUS);
	assert_int_equal(counts_by_path(&evidence, PATH_VDSO).calls, 2);
	assert_int_equal(counts_by_path(&evidence, PATH_LIBC).calls, 3);
	assert_int_equal(counts_by_path(&evidence, PATH_LIBC).entered, BUILDER_ATTEMPTS);
}

static void a_call_without_attempts_is_not_proven(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	monotonic(PATH_VDSO)->attempts = 0;
	assert_int_equal(counts_deciding(&evidence).calls, 3);
	assert_int_equal(counts_deciding(&evidence).proven, 2);
	assert_int_equal(counts_deciding(&evidence).always, 0);
}

static void a_clock_is_found_by_its_whole_name(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	assert_string_equal(clock_gettime_of(&evidence, "CLOCK_MONOTONIC")->call, "clock_gettime");
	assert_string_equal(
		clock_gettime_of(&evidence, "CLOCK_MONOTONIC")->clock, "CLOCK_MONOTONIC");
	assert_null(clock_gettime_of(&evidence, "CLOCK_MONO"));
	assert_null(clock_gettime_of(&evidence, ""));
}

static const struct {
	const char *clocksource;
	bool entering;
	enum vclock_how how;
	int mode;
	const char *name;
} inferred[] = {
	{"tsc", false, VCLOCK_INFERRED, 1, "tsc"},
	{"tsc", true, VCLOCK_INFERRED, 0, "none"},
	{"tsc-early", false, VCLOCK_INFERRED, 1, "tsc"},
	{"kvm-clock", false, VCLOCK_INFERRED, 2, "pvclock"},
	/* Its page may have been withdrawn for a while: nobody can tell from outside. */
	{"kvm-clock", true, VCLOCK_UNKNOWN, 0, ""},
	{"xen", true, VCLOCK_UNKNOWN, 0, ""},
	{"hyperv_clocksource_tsc_page", false, VCLOCK_INFERRED, 3, "hvclock"},
	{"hyperv_clocksource_tsc_page", true, VCLOCK_UNKNOWN, 0, ""},
	{"hpet", true, VCLOCK_INFERRED, 0, "none"},
	/* Up to 4.6 the vDSO read it; the name alone does not tell. */
	{"hpet", false, VCLOCK_UNKNOWN, 0, ""},
	{"acpi_pm", true, VCLOCK_INFERRED, 0, "none"},
	{"arch_sys_counter", false, VCLOCK_INFERRED, 1, "archtimer"},
	{"arch_sys_counter", true, VCLOCK_INFERRED, 0, "none"},
	{"tod", false, VCLOCK_INFERRED, 1, "tod"},
	{"unheard-of", true, VCLOCK_UNKNOWN, 0, ""},
	{"unheard-of", false, VCLOCK_UNKNOWN, 0, ""},
};

static void make_unread(const char *clocksource, bool entering)
{
	if (entering)
		evidence_make_falling_back(&evidence, clocksource);
	else
		evidence_make_healthy(&evidence);
	evidence_set_current(&evidence, clocksource);
	evidence_set_mode(&evidence, VCLOCK_UNKNOWN, 0, "");
}

static void a_mode_is_inferred_only_where_one_is_possible(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(inferred); i++) {
		make_unread(inferred[i].clocksource, inferred[i].entering);
		evidence.vclock = vclock_infer(&evidence);
		assert_int_equal(evidence.vclock.how, inferred[i].how);
		assert_int_equal(evidence.vclock.mode, inferred[i].mode);
		assert_string_equal(evidence.vclock.name, inferred[i].name);
		/* Why it was not read stays to be told. */
		assert_true(*evidence.vclock.fact.reason);
	}
}

static void nothing_is_inferred_without_proof_or_name(void **state)
{
	(void)state;
	make_unread("tsc", false);
	evidence_remove_proof(&evidence, "x");
	evidence.vclock = vclock_infer(&evidence);
	assert_int_equal(evidence.vclock.how, VCLOCK_UNKNOWN);
	make_unread("tsc", false);
	fact_set(&evidence.clocksource.current_fact, FACT_ABSENT, "x");
	evidence.vclock = vclock_infer(&evidence);
	assert_int_equal(evidence.vclock.how, VCLOCK_UNKNOWN);
	make_unread("tsc", false);
	monotonic(PATH_VDSO)->entered = 1;
	evidence.vclock = vclock_infer(&evidence);
	assert_int_equal(evidence.vclock.how, VCLOCK_UNKNOWN);
	make_unread("tsc", false);
	evidence_remove_path(&evidence, PATH_VDSO);
	evidence.vclock = vclock_infer(&evidence);
	assert_int_equal(evidence.vclock.how, VCLOCK_UNKNOWN);
}

static void a_mode_that_was_read_is_left_alone(void **state)
{
	struct vclock_evidence before;

	(void)state;
	evidence_make_healthy(&evidence);
	evidence_set_mode(&evidence, VCLOCK_READ, 2, "pvclock");
	before = evidence.vclock;
	evidence.vclock = vclock_infer(&evidence);
	assert_memory_equal(&before, &evidence.vclock, sizeof(before));
}

static void names_without_mode_are_whole_names(void **state)
{
	(void)state;
	assert_true(vclock_name_has_no_mode("acpi_pm"));
	assert_true(vclock_name_has_no_mode("hyperv_clocksource_msr"));
	assert_false(vclock_name_has_no_mode("hyperv_clocksource_tsc_page"));
	assert_false(vclock_name_has_no_mode("tsc"));
	assert_false(vclock_name_has_no_mode("acpi"));
	assert_false(vclock_name_has_no_mode(""));
}

static size_t contradictions(const char *id)
{
	struct contradiction found[CONTRADICTION_MAX];
	size_t count = contradiction_find(&evidence, found);

	for (size_t i = 0; i < count; i++) {
		assert_true(*found[i].text);
		if (strcmp(found[i].id, id) == 0)
			return count;
	}
	assert_string_equal(id, "");
	return count;
}

static void evidence_that_agrees_contradicts_nothing(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	assert_int_equal(contradictions(""), 0);
	evidence_make_falling_back(&evidence, "hpet");
	assert_int_equal(contradictions(""), 0);
	evidence_remove_proof(&evidence, "x");
	assert_int_equal(contradictions(""), 0);
}

static void page_and_proof_may_contradict(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	evidence_set_mode(&evidence, VCLOCK_READ, 0, "none");
	assert_int_equal(contradictions("mode-none-yet-answered"), 1);
	evidence_set_mode(&evidence, VCLOCK_INFERRED, 0, "none");
	assert_int_equal(contradictions(""), 0);
	evidence_make_falling_back(&evidence, "tsc");
	evidence_set_mode(&evidence, VCLOCK_READ, 1, "tsc");
	assert_int_equal(contradictions("mode-set-yet-entering"), 1);
	/* One call in a thousand is an odd moment, no contradiction. */
	monotonic(PATH_VDSO)->entered--;
	assert_int_equal(contradictions(""), 0);
}

static void a_page_that_can_be_withdrawn_is_no_contradiction(void **state)
{
	static const char *const modes[] = {"pvclock", "hvclock", "archtimer-nocompat"};

	(void)state;
	for (size_t i = 0; i < COUNT(modes); i++) {
		evidence_make_falling_back(&evidence, "xen");
		evidence_set_mode(&evidence, VCLOCK_READ, 2, modes[i]);
		assert_int_equal(contradictions(""), 0);
	}
}

static void name_and_proof_may_contradict(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	evidence_set_current(&evidence, "acpi_pm");
	assert_int_equal(contradictions("name-yet-answered"), 1);
	evidence_set_current(&evidence, "hpet");
	assert_int_equal(contradictions("name-yet-answered"), 1);
	evidence_set_mode(&evidence, VCLOCK_READ, 2, "hpet");
	assert_int_equal(contradictions(""), 0);
}

static void timing_and_proof_may_contradict(void **state)
{
	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	monotonic(PATH_VDSO)->min_ns = evidence.timing.entry_ns * 0.4;
	assert_int_equal(contradictions("entering-yet-cheap"), 1);
	assert_true(contradiction_may_be_a_change(&evidence));
	/* Noise: the minima of two system calls of one host. */
	monotonic(PATH_VDSO)->min_ns = evidence.timing.entry_ns * 0.8;
	assert_int_equal(contradictions(""), 0);
	monotonic(PATH_VDSO)->timed = false;
	assert_int_equal(contradictions(""), 0);
	evidence_make_healthy(&evidence);
	assert_false(contradiction_may_be_a_change(&evidence));
	monotonic(PATH_VDSO)->min_ns = 1404;
	assert_int_equal(contradictions("answered-yet-dear"), 1);
	assert_true(contradiction_may_be_a_change(&evidence));
	evidence.timing.counter_ns = 1380;
	assert_int_equal(contradictions(""), 0);
}

/* Where a system call costs a microsecond, an intercepted counter is not as dear as that. */
static void a_dear_counter_is_named(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	evidence.timing.entry_ns = 1100;
	monotonic(PATH_SYSCALL)->min_ns = 1300;
	evidence.timing.counter_ns = 420;
	monotonic(PATH_VDSO)->min_ns = 460;
	assert_int_equal(contradictions("counter-dear"), 1);
	assert_false(contradiction_may_be_a_change(&evidence));
	/* As in an emulator. */
	evidence.timing.counter_ns = 110;
	assert_int_equal(contradictions(""), 0);
	/* Timed alone it was disturbed: the call is quicker. */
	evidence.timing.counter_ns = 420;
	monotonic(PATH_VDSO)->min_ns = 96;
	assert_int_equal(contradictions(""), 0);
	/* The firmware of RISC-V boards may emulate rdtime: that is no reason to doubt. */
	monotonic(PATH_VDSO)->min_ns = 460;
	fact_set_text(&evidence.host.arch, "riscv64");
	assert_int_equal(contradictions(""), 0);
}

static void the_cost_is_the_call_against_its_parts(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	monotonic(PATH_VDSO)->min_ns = 596;
	monotonic(PATH_SYSCALL)->min_ns = 601;
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_true(cost.known && cost.estimated);
	assert_true(cost.call_ns == 596 && cost.syscall_ns == 601);
	/* The counter in order, 17 ns, and the arithmetic that a COARSE clock takes, 3.7 ns. */
	assert_true(cost.user_space_ns > 20.69 && cost.user_space_ns < 20.71);
	assert_true(cost_lost_ns(&cost) > 575.2 && cost_lost_ns(&cost) < 575.4);
}

static void a_measured_price_overrides_the_estimate(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	monotonic(PATH_VDSO)->min_ns = 596;
	evidence.copy.what_if_ns = 27.9;
	fact_set_known(&evidence.copy.what_if_fact);
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_true(cost.known && cost.estimated && cost.measured);
	assert_true(cost.user_space_ns == 27.9);
	cost_find(&evidence, VERDICT_OK, &cost);
	assert_false(cost.measured);
}

/* A counter whose reads are trapped, for an erratum or by the hypervisor. */
static void a_counter_that_gains_nothing_loses_nothing(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	monotonic(PATH_VDSO)->min_ns = 596;
	evidence.copy.what_if_ns = 550;
	fact_set_known(&evidence.copy.what_if_fact);
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_true(cost.known && cost.measured && !cost.estimated);
	assert_true(cost_lost_ns(&cost) == 0);
	assert_non_null(strstr(cost.reason, "takes as long"));
}

/* Documents of older versions are judged, too. */
static void the_bare_counter_will_do_for_an_estimate(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	fact_set(&evidence.timing.ordered_fact, FACT_UNREAD, "the document does not say");
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_true(cost.user_space_ns > 11.69 && cost.user_space_ns < 11.71);
}

/* A host that is slow for half of the calls would be said to lose next to nothing. */
static void a_mixture_costs_its_shares(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_healthy(&evidence);
	monotonic(PATH_VDSO)->min_ns = 20;
	monotonic(PATH_VDSO)->entered = monotonic(PATH_VDSO)->attempts / 2;
	monotonic(PATH_SYSCALL)->min_ns = 600;
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_true(cost.call_ns > 309.9 && cost.call_ns < 310.1);
	assert_true(cost.mixed);
}

/* A monitor that looks for a loss would raise an alarm on a healthy host, or on a guess. */
static void a_loss_is_told_of_slow_hosts_alone(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_healthy(&evidence);
	cost_find(&evidence, VERDICT_OK, &cost);
	assert_true(cost.estimated && cost.user_space_ns == cost.call_ns && !cost.mixed);
	assert_true(cost_lost_ns(&cost) == 0);
	evidence_make_falling_back(&evidence, "hpet");
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_true(cost.estimated && cost_lost_ns(&cost) > 0);
	cost_find(&evidence, VERDICT_UNKNOWN, &cost);
	assert_true(!cost.known && !cost.estimated && cost_lost_ns(&cost) == 0);
}

/* Timed before a change, proven after it: 22.7 ns are not what a fallback costs. */
static void what_was_served_when_it_was_timed_has_no_cost(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	monotonic(PATH_VDSO)->min_ns = 22.7;
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_true(!cost.known && strstr(cost.reason, "when they were timed"));
	evidence_make_healthy(&evidence);
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_false(cost.known);
}

static void one_thread_makes_no_more_calls_than_fit_a_second(void **state)
{
	struct cost cost = {.known = true, .call_ns = 88679};

	(void)state;
	assert_true(cost_calls_per_thread(&cost) == 11000);
	cost.call_ns = 599;
	assert_true(cost_calls_per_thread(&cost) == 1600000);
	cost.known = false;
	assert_true(cost_calls_per_thread(&cost) == 0);
}

/* What it takes to read an intercepted counter is not what user space would take. */
static void a_dear_counter_estimates_nothing(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "arch_sys_counter");
	fact_set_text(&evidence.host.arch, "armv7l");
	evidence.timing.entry_ns = 9000;
	evidence.timing.counter_ns = 8257;
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_true(cost.known && !cost.estimated);
}

static void what_is_not_known_costs_nothing(void **state)
{
	struct cost cost;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	fact_set(&evidence.timing.counter_fact, FACT_FAILED, "x");
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_true(cost.known && !cost.estimated);
	assert_true(cost_lost_ns(&cost) == 0);
	evidence_remove_timing(&evidence);
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_false(cost.known || cost.estimated);
	assert_true(cost_lost_ns(&cost) == 0);
	memset(&evidence, 0, sizeof(evidence));
	cost_find(&evidence, VERDICT_FALLBACK, &cost);
	assert_false(cost.known);
}

/* A loss below zero would be nonsense in a report. */
static void no_loss_is_negative(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct cost cost;

		evidence_roll(&evidence, &dice);
		cost_find(&evidence, VERDICT_FALLBACK, &cost);
		assert_true(cost_lost_ns(&cost) >= 0);
	}
}

/* The sums that were published: what a service lost, and what the article measured. */
static void cost_gives_the_published_sums(void **state)
{
	(void)state;
	assert_true(cost_seconds(1718430 + 706702, 530, 28) > 1.2165);
	assert_true(cost_seconds(1718430 + 706702, 530, 28) < 1.2175);
	assert_true(cost_seconds(5e6, 0.547e9 / 5e6, 0.123e9 / 5e6) > 0.4239);
	assert_true(cost_seconds(5e6, 0.547e9 / 5e6, 0.123e9 / 5e6) < 0.4241);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cost_gives_the_published_sums),
		cmocka_unit_test(counts_are_those_of_deciding_calls_only),
		cmocka_unit_test(without_vdso_function_libc_is_judged),
		cmocka_unit_test(a_call_without_attempts_is_not_proven),
		cmocka_unit_test(a_clock_is_found_by_its_whole_name),
		cmocka_unit_test(a_mode_is_inferred_only_where_one_is_possible),
		cmocka_unit_test(nothing_is_inferred_without_proof_or_name),
		cmocka_unit_test(a_mode_that_was_read_is_left_alone),
		cmocka_unit_test(names_without_mode_are_whole_names),
		cmocka_unit_test(evidence_that_agrees_contradicts_nothing),
		cmocka_unit_test(page_and_proof_may_contradict),
		cmocka_unit_test(a_page_that_can_be_withdrawn_is_no_contradiction),
		cmocka_unit_test(name_and_proof_may_contradict),
		cmocka_unit_test(timing_and_proof_may_contradict),
		cmocka_unit_test(a_dear_counter_is_named),
		cmocka_unit_test(the_cost_is_the_call_against_its_parts),
		cmocka_unit_test(a_measured_price_overrides_the_estimate),
		cmocka_unit_test(a_counter_that_gains_nothing_loses_nothing),
		cmocka_unit_test(the_bare_counter_will_do_for_an_estimate),
		cmocka_unit_test(a_mixture_costs_its_shares),
		cmocka_unit_test(a_loss_is_told_of_slow_hosts_alone),
		cmocka_unit_test(what_is_not_known_costs_nothing),
		cmocka_unit_test(what_was_served_when_it_was_timed_has_no_cost),
		cmocka_unit_test(one_thread_makes_no_more_calls_than_fit_a_second),
		cmocka_unit_test(a_dear_counter_estimates_nothing),
		cmocka_unit_test(no_loss_is_negative),
	};

	return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
