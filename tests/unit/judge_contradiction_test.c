/* SPDX-License-Identifier: MIT */
/* judge/contradiction: where the data page, the proof, the times and the name disagree. */
#include <string.h>

#include "judge/rules.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct evidence evidence;

static size_t contradictions(const char *id)
{
	struct contradiction found[CONTRADICTION_MAX];
	struct view view = view_of(&evidence);
	size_t count = contradiction_find(&view, found);

	for (size_t i = 0; i < count; i++) {
		assert_true(*found[i].text);
		if (strcmp(found[i].id, id) == 0)
			return count;
	}
	assert_string_equal(id, "");
	return count;
}

static void evidence_that_agrees_has_no_contradiction(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	assert_int_equal(contradictions(""), 0);
	evidence_make_falling_back(&evidence, "hpet");
	assert_int_equal(contradictions(""), 0);
	evidence_remove_proof(&evidence, "x");
	assert_int_equal(contradictions(""), 0);
}

static void page_and_proof_that_disagree_are_a_contradiction(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	evidence_set_mode(&evidence, VCLOCK_READ, 0, "none");
	assert_int_equal(contradictions("mode-none-yet-served"), 1);
	evidence_set_mode(&evidence, VCLOCK_INFERRED, 0, "none");
	assert_int_equal(contradictions(""), 0);
	evidence_make_falling_back(&evidence, "tsc");
	evidence_set_mode(&evidence, VCLOCK_READ, 1, "tsc");
	assert_int_equal(contradictions("mode-set-yet-fallback"), 1);
	/* One call in a thousand is an odd moment, no contradiction. */
	evidence_monotonic(&evidence, PATH_VDSO)->entered--;
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

/* Both may be right, one after the other: the clocksource is read again. */
static void a_copy_with_another_mode_may_be_a_change(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	evidence_set_mode(&evidence, VCLOCK_READ, 1, "tsc");
	fact_set_known(&evidence.copy.fact);
	evidence.copy.mode = 1;
	assert_false(contradiction_may_be_a_change(&evidence));
	evidence.copy.mode = 2;
	assert_int_equal(contradictions("copy-disagrees"), 1);
	assert_true(contradiction_may_be_a_change(&evidence));
}

static void name_and_proof_that_disagree_are_a_contradiction(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	evidence_set_current(&evidence, "acpi_pm");
	assert_int_equal(contradictions("name-yet-served"), 1);
	evidence_set_current(&evidence, "hpet");
	assert_int_equal(contradictions("name-yet-served"), 1);
	evidence_set_mode(&evidence, VCLOCK_READ, 2, "hpet");
	assert_int_equal(contradictions(""), 0);
}

static void timing_and_proof_that_disagree_are_a_contradiction(void **state)
{
	(void)state;
	evidence_make_falling_back(&evidence, "hpet");
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns =
		evidence.timing.syscall_floor_ns.value * 0.4;
	assert_int_equal(contradictions("fallback-yet-fast"), 1);
	assert_true(contradiction_may_be_a_change(&evidence));
	/* Noise: the minima of two system calls of one host. */
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns =
		evidence.timing.syscall_floor_ns.value * 0.8;
	assert_int_equal(contradictions(""), 0);
	evidence_monotonic(&evidence, PATH_VDSO)->fact = (struct fact){0};
	assert_int_equal(contradictions(""), 0);
	evidence_make_healthy(&evidence);
	assert_false(contradiction_may_be_a_change(&evidence));
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns = 1404;
	assert_int_equal(contradictions("served-yet-slow"), 1);
	assert_true(contradiction_may_be_a_change(&evidence));
	/* A counter that takes more than half of a system call is a reason by itself. */
	evidence.timing.counter_ns.value = evidence.timing.syscall_floor_ns.value * 0.6;
	assert_int_equal(contradictions(""), 0);
	evidence.timing.counter_ns.value = 1380;
	assert_int_equal(contradictions(""), 0);
}

/* Where a system call takes a microsecond, an intercepted counter may take less. */
static void a_slow_counter_is_a_contradiction(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	evidence.timing.syscall_floor_ns.value = 1100;
	evidence_monotonic(&evidence, PATH_SYSCALL)->min_ns = 1300;
	evidence.timing.counter_ns.value = 420;
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns = 460;
	assert_int_equal(contradictions("counter-slow"), 1);
	assert_false(contradiction_may_be_a_change(&evidence));
	evidence.timing.counter_ns.value = 151;
	assert_int_equal(contradictions("counter-slow"), 1);
	/* As in an emulator. */
	evidence.timing.counter_ns.value = 110;
	assert_int_equal(contradictions(""), 0);
	/* Timed alone it was disturbed: the call is quicker. */
	evidence.timing.counter_ns.value = 420;
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns = 96;
	assert_int_equal(contradictions(""), 0);
	/* The firmware of RISC-V boards may emulate rdtime. */
	evidence_monotonic(&evidence, PATH_VDSO)->min_ns = 460;
	fact_set_text(&evidence.host.arch, "riscv64");
	assert_int_equal(contradictions("counter-slow"), 1);
	fact_set_text(&evidence.host.arch, "sparc64");
	assert_int_equal(contradictions(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evidence_that_agrees_has_no_contradiction),
		cmocka_unit_test(page_and_proof_that_disagree_are_a_contradiction),
		cmocka_unit_test(a_page_that_can_be_withdrawn_is_no_contradiction),
		cmocka_unit_test(a_copy_with_another_mode_may_be_a_change),
		cmocka_unit_test(name_and_proof_that_disagree_are_a_contradiction),
		cmocka_unit_test(timing_and_proof_that_disagree_are_a_contradiction),
		cmocka_unit_test(a_slow_counter_is_a_contradiction),
	};

	return cmocka_run_group_tests_name("contradiction", tests, NULL, NULL);
}
