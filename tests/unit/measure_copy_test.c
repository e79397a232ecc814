/* SPDX-License-Identifier: MIT */
/*
 * Tests of measure/copy on this machine's vDSO: it agrees with the data page, survives refusals
 * and leaves the process unchanged. Kernels whose clocks fall back are in the lab, too.
 */
#include <errno.h>
#include <math.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "measure.h"
#include "measure/vdso.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

/* linux/prctl.h of 6.3 and newer. */
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

static struct evidence evidence;
static struct vdso_image image;
static struct call_table calls;
static struct vclock_evidence vclock;

static int set_up(void **state)
{
	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	return 0;
}

static void measure(struct copy_evidence *copy)
{
	copy_measure(&image, &calls, &vclock, copy, DEADLINE_NONE);
	if (copy->fact.state == FACT_ABSENT || copy->fact.state == FACT_DENIED)
		unit_skip("%s", copy->fact.reason);
	assert_string_equal(copy->fact.reason, "");
}

static void the_copy_finds_the_mode_that_the_data_page_holds(void **state)
{
	struct copy_evidence copy;

	(void)state;
	memset(&vclock, 0, sizeof(vclock));
	measure(&copy);
	vvar_collect(&image, "", &vclock, DEADLINE_NONE);
	if (vclock.how != VCLOCK_READ)
		unit_skip("%s", vclock.fact.reason);
	assert_int_equal(copy.mode, vclock.mode);
	assert_int_equal(copy.at, vclock.at);
}

static void a_hint_saves_the_search_and_changes_nothing_else(void **state)
{
	struct copy_evidence searched, hinted;

	(void)state;
	memset(&vclock, 0, sizeof(vclock));
	measure(&searched);
	vclock.how = VCLOCK_READ;
	vclock.at = searched.at;
	measure(&hinted);
	assert_int_equal(hinted.mode, searched.mode);
	assert_int_equal(hinted.at, searched.at);
	assert_int_equal(hinted.falls_back, searched.falls_back);
}

static void a_wrong_hint_is_ignored(void **state)
{
	static const int64_t wrong[] = {-1, 0, 64, -4096, -4095, -(1 << 30), 1 << 30};
	struct copy_evidence searched, hinted;

	(void)state;
	memset(&vclock, 0, sizeof(vclock));
	measure(&searched);
	vclock.how = VCLOCK_READ;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		vclock.at = wrong[i];
		measure(&hinted);
		assert_int_equal(hinted.at, searched.at);
	}
}

static void no_time_is_given_where_nothing_falls_back(void **state)
{
	struct copy_evidence copy;

	(void)state;
	measure(&copy);
	assert_int_equal(fact_is_known(&copy.what_if_ns.fact), copy.falls_back);
}

/* A vDSO that falls back: a copy of this host's, with no mode in its data page. */
static void make_fallback(int64_t mode_at, struct vdso_image *fallback)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), before = VVAR_PAGES_BEFORE * page;
	size_t size = before + image.size + VVAR_PAGES_AFTER * page;
	const uint32_t none = VCLOCK_MODE_NONE;
	unsigned char *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	for (size_t at = 0; at < size; at += page) {
		if (at < before || at >= before + image.size)
			vvar_copy_stable(image.base - before + at, memory + at, VVAR_HEAD_SIZE);
	}
	memcpy(memory + before, (const void *)image.base, image.size);
	memcpy(memory + (int64_t)before + mode_at, &none, sizeof(none));
	assert_int_equal(mprotect(memory + before, image.size, PROT_READ | PROT_EXEC), 0);
	*fallback = image;
	fallback->base = (uintptr_t)memory + before;
}

static void a_vdso_that_falls_back_shows_the_cost_of_the_counter(void **state)
{
	struct copy_evidence served, fallen;
	struct vdso_image fallback;
	struct call_table fallback_calls;

	(void)state;
	memset(&vclock, 0, sizeof(vclock));
	measure(&served);
	if (served.falls_back)
		unit_skip("the clocks of this host fall back");
	make_fallback(served.at, &fallback);
	call_table_make(&evidence.vdso, &fallback, &fallback_calls, DEADLINE_NONE);
	copy_measure(&fallback, &fallback_calls, &vclock, &fallen, DEADLINE_NONE);
	assert_string_equal(fallen.fact.reason, "");
	assert_true(fallen.falls_back);
	assert_int_equal(fallen.mode, VCLOCK_MODE_NONE);
	assert_int_equal(fallen.at, served.at);
	assert_true(fact_is_known(&fallen.what_if_ns.fact));
	assert_true(fallen.what_if_ns.value > 0);
	assert_true(
		fabs(fallen.what_if_ns.value * 10 - round(fallen.what_if_ns.value * 10)) < 1e-6);
}

static void the_process_reads_the_same_clock_afterwards(void **state)
{
	struct timespec before, after;
	struct copy_evidence copy;

	(void)state;
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &before), 0);
	measure(&copy);
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &after), 0);
	assert_true(after.tv_sec - before.tv_sec >= 0 && after.tv_sec - before.tv_sec < 60);
}

static void measure_without_exec_gain(void *answer)
{
	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0)
		copy_measure(&image, &calls, &vclock, answer, DEADLINE_NONE);
}

static void memory_that_may_not_become_executable_is_mapped_twice(void **state)
{
	struct fact why = {0};
	struct copy_evidence *copy = child_share(sizeof(*copy), &why);
	struct copy_evidence plain;

	(void)state;
	assert_non_null(copy);
	memset(&vclock, 0, sizeof(vclock));
	measure(&plain);
	assert_true(child_run(measure_without_exec_gain, NULL, copy, DEADLINE_NONE, &why));
	if (copy->fact.state == FACT_UNREAD)
		unit_skip("this kernel has no PR_SET_MDWE");
	assert_string_equal(copy->fact.reason, "");
	assert_int_equal(copy->at, plain.at);
	child_unshare(copy, sizeof(*copy));
}

static void measure_without_exec(void *answer)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	const struct scmp_arg_cmp executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC);

	seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(mprotect), 1, executable);
	seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(mmap), 1, executable);
	seccomp_rule_add(
		filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(mmap2), 1, executable); /* 32-bit */
	if (seccomp_load(filter) == 0)
		copy_measure(&image, &calls, &vclock, answer, DEADLINE_NONE);
	seccomp_release(filter);
}

static void without_executable_memory_the_reason_is_given(void **state)
{
	struct fact why = {0};
	struct copy_evidence *copy = child_share(sizeof(*copy), &why);

	(void)state;
	assert_non_null(copy);
	if (!image.base)
		unit_skip("there is no vDSO");
	assert_true(child_run(measure_without_exec, NULL, copy, DEADLINE_NONE, &why));
	if (copy->fact.state == FACT_UNREAD)
		unit_skip("no seccomp filter can be set");
	if (copy->fact.state != FACT_ABSENT) /* another architecture */
		assert_non_null(strstr(copy->fact.reason, "executable memory"));
	assert_false(fact_is_known(&copy->what_if_ns.fact));
	assert_string_equal(copy->what_if_ns.fact.reason, copy->fact.reason);
	child_unshare(copy, sizeof(*copy));
}

static void without_a_vdso_there_is_no_copy(void **state)
{
	static const struct vdso_image none;
	static const struct call_table no_calls;
	struct copy_evidence copy;

	(void)state;
	copy_measure(&none, &no_calls, &vclock, &copy, DEADLINE_NONE);
	assert_int_equal(copy.fact.state, FACT_ABSENT);
	assert_int_equal(copy.what_if_ns.fact.state, FACT_ABSENT);
}

/* A layout is a hint: the word that decides is the one that the copy found. */
static void the_mode_is_that_of_the_word_that_decides(void **state)
{
	struct copy_evidence copy = {.mode = 1, .at = -100};
	struct vclock_evidence read = {.how = VCLOCK_READ, .mode = 0, .at = -100, .layout = "x86"};

	(void)state;
	fact_set(&copy.fact, FACT_FAILED, "no copy");
	copy_set_mode(&copy, &read);
	assert_int_equal(read.how, VCLOCK_READ);
	fact_set_known(&copy.fact);
	copy_set_mode(&copy, &read);
	assert_int_equal(read.how, VCLOCK_READ);
	assert_int_equal(read.mode, 0);
	read.at = -50;
	copy_set_mode(&copy, &read);
	assert_int_equal(read.how, VCLOCK_COPY);
	assert_int_equal(read.mode, 1);
	assert_false(fact_is_known(&read.fact));
	assert_string_equal(read.layout, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_copy_finds_the_mode_that_the_data_page_holds),
		cmocka_unit_test(a_hint_saves_the_search_and_changes_nothing_else),
		cmocka_unit_test(a_wrong_hint_is_ignored),
		cmocka_unit_test(no_time_is_given_where_nothing_falls_back),
		cmocka_unit_test(a_vdso_that_falls_back_shows_the_cost_of_the_counter),
		cmocka_unit_test(the_process_reads_the_same_clock_afterwards),
		cmocka_unit_test(memory_that_may_not_become_executable_is_mapped_twice),
		cmocka_unit_test(without_executable_memory_the_reason_is_given),
		cmocka_unit_test(without_a_vdso_there_is_no_copy),
		cmocka_unit_test(the_mode_is_that_of_the_word_that_decides),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
