/* SPDX-License-Identifier: MIT */
/* judge/advice: wrong advice can cost somebody a machine whose clock jumps. */
#include <string.h>

#include "judge/advice.h"
#include "judge/verdict.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct advice advice[ADVICE_MAX];

static size_t find(const struct evidence *evidence)
{
	struct ruling ruling;
	size_t count;

	verdict_find(evidence, &ruling);
	memset(advice, 0xff, sizeof(advice));
	count = advice_find(evidence, ruling.verdict, advice);
	assert_in_range(count, 0, ADVICE_MAX);
	return count;
}

static bool is_found(const char *id, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(advice[i].id, id) == 0)
			return true;
	}
	return false;
}

static bool names_source(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (advice[i].source || (advice[i].command && strstr(advice[i].command, "echo")))
			return true;
	}
	return false;
}

static void a_healthy_host_is_left_alone(void **state)
{
	static struct evidence evidence;

	(void)state;
	evidence_make_healthy(&evidence);
	assert_int_equal(find(&evidence), 0);
}

static void a_trusted_tsc_on_offer_is_advised(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	evidence_make_falling_back(&evidence, "xen");
	count = find(&evidence);
	assert_true(is_found("switch-to-tsc", count));
	assert_string_equal(advice[0].source, "tsc");
	assert_non_null(strstr(advice[0].command, "echo tsc > /sys/"));
	assert_non_null(advice[0].risk);
}

static void in_a_container_the_host_is_meant(void **state)
{
	static struct evidence evidence;
	size_t count;

	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	fact_set_text(&evidence.host.container, "docker");
	count = find(&evidence);
	assert_false(is_found("switch-to-tsc", count));
	assert_true(is_found("switch-to-tsc-on-host", count));
}

typedef void change(struct evidence *evidence);

static void not_offered(struct evidence *evidence)
{
	evidence_set_available(evidence, "hpet tsc-early acpi_pm");
}

static void offer_unknown(struct evidence *evidence)
{
	fact_set(&evidence->clocksource.available_fact, FACT_DENIED, "x");
}

static void not_invariant(struct evidence *evidence)
{
	fact_set_flag(&evidence->host.invariant_tsc, false);
}

static void invariance_unknown(struct evidence *evidence)
{
	fact_set(&evidence->host.invariant_tsc.fact, FACT_ABSENT, "x");
}

static void booted_notsc(struct evidence *evidence)
{
	fact_set_text(&evidence->host.boot, "quiet notsc");
}

static void booted_unstable(struct evidence *evidence)
{
	fact_set_text(&evidence->host.boot, "tsc=unstable quiet");
}

static void distrusted(struct evidence *evidence)
{
	evidence_add_log(evidence, "Marking clocksource 'tsc' as unstable because the skew");
}

static void distrusted_7_2(struct evidence *evidence)
{
	evidence_add_log(evidence, "Marking clocksource tsc unstable due to frequency skew");
}

static void distrusted_3_10(struct evidence *evidence)
{
	evidence_add_log(evidence, "Clocksource tsc unstable (delta = 9 ns)");
}

static void restorable(struct evidence *evidence)
{
	fact_set_text(&evidence->host.platform, "firecracker");
}

static void on_wsl2(struct evidence *evidence)
{
	fact_set_text(&evidence->host.platform, "wsl2");
}

static void unproven(struct evidence *evidence)
{
	evidence_remove_proof(evidence, "x");
}

static void of_a_captured_tree(struct evidence *evidence)
{
	evidence->live = false;
}

static void already_in_use(struct evidence *evidence)
{
	evidence_set_current(evidence, "tsc");
}

static void current_unknown(struct evidence *evidence)
{
	fact_set(&evidence->clocksource.current_fact, FACT_ABSENT, "x");
}

#define ROW(change)                                                                                \
	{                                                                                          \
#change, change                                                                    \
	}

static const struct row {
	const char *name;
	change *apply;
} rows[] = {ROW(not_offered), ROW(offer_unknown), ROW(not_invariant), ROW(invariance_unknown),
	ROW(booted_notsc), ROW(booted_unstable), ROW(distrusted), ROW(distrusted_7_2),
	ROW(distrusted_3_10), ROW(restorable), ROW(on_wsl2), ROW(unproven), ROW(of_a_captured_tree),
	ROW(already_in_use), ROW(current_unknown)};

/* One reason against it is enough. */
static void then_no_clocksource_is_advised(void **state)
{
	const struct row *row = *state;
	static struct evidence evidence;

	evidence_make_falling_back(&evidence, "hpet");
	assert_true(names_source(find(&evidence)));
	row->apply(&evidence);
	assert_false(names_source(find(&evidence)));
}

static bool is_offered(const struct evidence *evidence, const char *name)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	for (size_t i = 0; i < clocksource->available_count; i++) {
		if (strcmp(clocksource->available[i], name) == 0)
			return fact_is_known(&clocksource->available_fact);
	}
	return false;
}

static void check_piece(const struct evidence *evidence, const struct advice *piece)
{
	assert_true(piece->id && *piece->id && piece->text && *piece->text);
	if (piece->source) {
		assert_true(is_offered(evidence, piece->source));
		assert_string_not_equal(piece->source, evidence->clocksource.current);
	}
	if (piece->command && strstr(piece->command, "echo")) {
		assert_non_null(piece->source);
		assert_non_null(strstr(piece->command, piece->source));
		assert_non_null(piece->risk);
	}
}

/* Whatever the evidence: only sources on offer, and nothing where nothing is wrong. */
static void never_a_source_that_is_not_offered(void **state)
{
	static struct evidence evidence;
	struct dice dice = dice_start();
	unsigned sources = 0;

	(void)state;
	for (int round = 0; round < 40000; round++) {
		struct ruling ruling;
		size_t count;

		evidence_roll(&evidence, &dice);
		verdict_find(&evidence, &ruling);
		count = find(&evidence);
		if (ruling.verdict == VERDICT_OK)
			assert_int_equal(count, 0);
		for (size_t i = 0; i < count; i++) {
			check_piece(&evidence, &advice[i]);
			sources += advice[i].source != NULL;
			for (size_t k = 0; k < i; k++)
				assert_string_not_equal(advice[i].id, advice[k].id);
		}
		if (ruling.verdict == VERDICT_UNKNOWN)
			assert_false(names_source(count));
		if (ruling.verdict == VERDICT_FALLBACK || ruling.verdict == VERDICT_SLOW)
			assert_true(count > 0);
	}
	assert_true(sources > 0);
}

/* Nobody is told to force what the kernel measured to be wrong. */
static void forcing_is_never_advised(void **state)
{
	static struct evidence evidence;
	struct dice dice = dice_start();

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t count;

		evidence_roll(&evidence, &dice);
		count = find(&evidence);
		for (size_t i = 0; i < count; i++)
			assert_true(!advice[i].command || !strstr(advice[i].command, "reliable"));
	}
}

int main(void)
{
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(a_healthy_host_is_left_alone),
		cmocka_unit_test(a_trusted_tsc_on_offer_is_advised),
		cmocka_unit_test(in_a_container_the_host_is_meant),
		cmocka_unit_test(never_a_source_that_is_not_offered),
		cmocka_unit_test(forcing_is_never_advised),
	};
	struct CMUnitTest tests[COUNT(rows)] = {0};

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){.name = rows[i].name,
			.test_func = then_no_clocksource_is_advised,
			.initial_state = (void *)(uintptr_t)&rows[i]};
	return cmocka_run_group_tests_name("advice, reasons against tsc", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("advice", plain, NULL, NULL);
}
