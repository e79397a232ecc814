/* SPDX-License-Identifier: MIT */
/* Tests of compare/preflight: what is a guest of a KVM host. */
#include "compare/model.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

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
	fake_root_add(fake, "/dev/kvm", "");
	expect_guests(fake, NULL);
	fake_root_add(fake, "/sys/module/kvm_amd/refcnt", "0\n");
	expect_guests(fake, NULL);
}

static void module_in_use_is_a_guest(void **state)
{
	fake_root_add(*state, "/sys/module/kvm_amd/refcnt", "4\n");
	expect_guests(*state, "the module kvm_amd is in use");
}

/* Both vendors are built in, and have parameters. */
static void kvm_that_is_built_in_may_have_guests(void **state)
{
	const struct fake_root *fake = *state;

	fake_root_add(fake, "/sys/module/kvm_amd/parameters/npt", "1\n");
	fake_root_add(fake, "/sys/module/kvm_intel/parameters/ept", "Y\n");
	expect_guests(fake, NULL);
	fake_root_add(fake, "/dev/kvm", "");
	expect_guests(fake, "KVM is built into the kernel and does not count them");
}

#define ROOT_TEST(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOT_TEST(idle_kvm_is_not_a_guest),
		ROOT_TEST(module_in_use_is_a_guest),
		ROOT_TEST(kvm_that_is_built_in_may_have_guests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
