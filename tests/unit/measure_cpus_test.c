/* SPDX-License-Identifier: MIT */
/* Tests of measure/cpus: the allowed CPUs, and pinning to each. */
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "measure/cpus.h"
#include "unit/unit.h"

static int cpus[CPUS_MAX];

static void the_list_has_the_allowed_cpus_in_order(void **state)
{
	size_t count = cpus_list(cpus, CPUS_MAX);

	(void)state;
	if (!count)
		unit_skip("the kernel does not say which CPUs we may use");
	for (size_t i = 1; i < count; i++)
		assert_true(cpus[i] > cpus[i - 1]);
	assert_true((long)count <= sysconf(_SC_NPROCESSORS_CONF));
}

static void no_more_are_listed_than_there_is_room_for(void **state)
{
	int room[2] = {-1, -1};

	(void)state;
	assert_int_equal(cpus_list(room, 0), 0);
	assert_int_equal(room[0], -1);
	if (cpus_list(room, 1) == 1)
		assert_int_not_equal(room[0], -1);
	assert_int_equal(room[1], -1);
}

static void a_spread_list_keeps_the_first_of_each_part(void **state)
{
	int ten[] = {0, 1, 2, 3, 4, 5, 8, 9, 10, 11};

	(void)state;
	assert_int_equal(cpus_spread(ten, 10, 20), 10);
	assert_int_equal(ten[9], 11);
	assert_int_equal(cpus_spread(ten, 10, 4), 4);
	assert_true(ten[0] == 0 && ten[1] == 2 && ten[2] == 5 && ten[3] == 9);
	assert_int_equal(cpus_spread(ten, 0, 4), 0);
}

struct visit {
	size_t count;
	size_t reached;
};

static void visit_all(void *argument)
{
	struct visit *visit = argument;

	visit->count = cpus_list(cpus, CPUS_MAX);
	for (size_t i = 0; i < visit->count; i++) {
		unsigned cpu = CPUS_MAX;

		if (cpus_pin(cpus[i]) && syscall(SYS_getcpu, &cpu, NULL, NULL) == 0)
			visit->reached += (int)cpu == cpus[i] && sched_mark_take().cpu == cpus[i] &&
			                  cpus_pin_here() == cpus[i];
	}
}

static void every_listed_cpu_can_be_reached(void **state)
{
	struct fact why = {0};
	struct visit *visit = child_share(sizeof(*visit), &why);

	(void)state;
	assert_non_null(visit);
	assert_true(child_run(visit_all, NULL, visit, DEADLINE_NONE, &why));
	assert_int_equal(visit->reached, visit->count);
	child_unshare(visit, sizeof(*visit));
}

static void a_missing_cpu_is_refused(void **state)
{
	(void)state;
	assert_false(cpus_pin(CPUS_MAX - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_list_has_the_allowed_cpus_in_order),
		cmocka_unit_test(a_spread_list_keeps_the_first_of_each_part),
		cmocka_unit_test(no_more_are_listed_than_there_is_room_for),
		cmocka_unit_test(every_listed_cpu_can_be_reached),
		cmocka_unit_test(a_missing_cpu_is_refused),
	};

	return cmocka_run_group_tests_name("cpus", tests, NULL, NULL);
}
