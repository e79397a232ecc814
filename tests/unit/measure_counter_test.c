/* SPDX-License-Identifier: MIT */
/* Tests of measure/counter: the CPU's counter, ordered reads, and a counter that is disabled. */
#include <string.h>
#include <sys/prctl.h>

#include "base/child.h"
#include "measure/timebase.h"
#include "unit/unit.h"

static void the_counter_has_a_name_and_advances(void **state)
{
	struct fact fact = {0};
	uint64_t first;

	(void)state;
	counter_probe(&fact);
	if (fact.state == FACT_ABSENT)
		unit_skip("no counter is known for this architecture");
	assert_true(fact_is_known(&fact));
	assert_true(*counter_name());
	first = counter_read_ordered();
	counter_repeat(100000);
	assert_true(counter_read_ordered() > first);
}

static void ordered_reads_never_go_backwards(void **state)
{
	uint64_t last = 0;
	struct fact fact = {0};

	(void)state;
	counter_probe(&fact);
	if (!fact_is_known(&fact))
		unit_skip("the counter cannot be read here");
	for (int i = 0; i < 100000; i++) {
		uint64_t ticks = counter_read_ordered();

		assert_true(ticks >= last);
		last = ticks;
	}
}

#if defined(__x86_64__) || defined(__i386__)

static void probe_switched_off(void *fact)
{
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	counter_probe(fact);
}

/* A disabled counter is a reason in the report, not a crash. */
static void a_disabled_counter_is_a_failure_with_the_signal(void **state)
{
	struct fact why = {0};
	struct fact *fact = child_share(sizeof(*fact), &why);

	(void)state;
	assert_non_null(fact);
	assert_true(child_run(probe_switched_off, NULL, fact, DEADLINE_NONE, &why));
	assert_int_equal(fact->state, FACT_FAILED);
	assert_non_null(strstr(fact->reason, "rdtsc"));
	assert_non_null(strstr(fact->reason, "SIGSEGV"));
	child_unshare(fact, sizeof(*fact));
}

#else

static void a_disabled_counter_is_a_failure_with_the_signal(void **state)
{
	(void)state;
	unit_skip("only x86 can switch its counter off");
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_counter_has_a_name_and_advances),
		cmocka_unit_test(ordered_reads_never_go_backwards),
		cmocka_unit_test(a_disabled_counter_is_a_failure_with_the_signal),
	};

	return cmocka_run_group_tests_name("counter", tests, NULL, NULL);
}
