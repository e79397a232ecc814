/* SPDX-License-Identifier: MIT */
/* judge/vclock: the mode that follows from the proof and the clocksource's name. */

#include "judge.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct evidence evidence;

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
	/* Its page may have been withdrawn for a while, which cannot be seen from outside. */
	{"kvm-clock", true, VCLOCK_UNKNOWN, 0, ""},
	{"xen", true, VCLOCK_UNKNOWN, 0, ""},
	{"hyperv_clocksource_tsc_page", false, VCLOCK_INFERRED, 3, "hvclock"},
	{"hyperv_clocksource_tsc_page", true, VCLOCK_UNKNOWN, 0, ""},
	{"hpet", true, VCLOCK_INFERRED, 0, "none"},
	/* Up to 4.6 the vDSO read it; the name alone does not decide. */
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
		/* The reason why it was not read is kept. */
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
	evidence_monotonic(&evidence, PATH_VDSO)->entered = 1;
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
	static struct evidence unread;

	(void)state;
	assert_true(clocksource_has_no_mode(&unread, "acpi_pm"));
	assert_true(clocksource_has_no_mode(&unread, "hyperv_clocksource_msr"));
	assert_false(clocksource_has_no_mode(&unread, "hyperv_clocksource_tsc_page"));
	assert_false(clocksource_has_no_mode(&unread, "tsc"));
	assert_false(clocksource_has_no_mode(&unread, "acpi"));
	assert_false(clocksource_has_no_mode(&unread, ""));
}

/* On x86 a module may bring a clocksource with a mode. */
static void other_names_are_without_mode_where_device_trees_give_them(void **state)
{
	static struct evidence unread;

	(void)state;
	fact_set_text(&unread.host.arch, "armv6l");
	assert_true(clocksource_has_no_mode(&unread, "timer"));
	assert_false(clocksource_has_no_mode(&unread, "arch_sys_counter"));
	assert_false(clocksource_has_no_mode(&unread, ""));
	fact_set_text(&unread.host.arch, "x86_64");
	assert_false(clocksource_has_no_mode(&unread, "timer"));
	fact_set_text(&unread.host.arch, "ia64");
	assert_false(clocksource_has_no_mode(&unread, "itc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mode_is_inferred_only_where_one_is_possible),
		cmocka_unit_test(nothing_is_inferred_without_proof_or_name),
		cmocka_unit_test(a_mode_that_was_read_is_left_alone),
		cmocka_unit_test(names_without_mode_are_whole_names),
		cmocka_unit_test(other_names_are_without_mode_where_device_trees_give_them),
	};

	return cmocka_run_group_tests_name("vclock", tests, NULL, NULL);
}
