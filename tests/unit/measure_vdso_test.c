/* SPDX-License-Identifier: MIT */
/* Tests of measure/vdso and vvar: this process's own vDSO and data page. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/vdso.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

/* Where the vDSO that was collected last lies. */
static struct vdso_image image;

static struct vdso_evidence collect(const struct root *root)
{
	struct vdso_evidence vdso = {0};

	vdso_collect(root, &vdso, &image);
	return vdso;
}

static struct vdso_evidence collect_live(void)
{
	struct root root;
	struct fact why = {0};
	struct vdso_evidence vdso;

	assert_true(root_open(&root, "/", &why));
	vdso = collect(&root);
	root_close(&root);
	return vdso;
}

static void the_vdso_is_found_whole(void **state)
{
	struct vdso_evidence vdso = collect_live();

	(void)state;
	if (!getauxval(AT_SYSINFO_EHDR))
		unit_skip("this process has no vDSO");
	assert_true(fact_is_known(&vdso.fact));
	assert_int_equal(image.base, getauxval(AT_SYSINFO_EHDR));
	assert_true(vdso.export_count > 0);
	assert_false(fact_is_flag(&vdso.replaced, true));
	for (size_t i = 0; i < vdso.export_count; i++)
		assert_in_range(image.offsets[i], 1, image.size - 1);
}

/* Where /proc is missing, as in a bare chroot, the image's own headers tell its size. */
static void without_proc_the_same_exports_are_found(void **state)
{
	struct fake_root *fake = *state;
	struct root live = {.directory = fake->root.directory, .live = true};
	struct vdso_evidence with = collect_live(), without;
	struct vdso_image image_with = image;

	if (!getauxval(AT_SYSINFO_EHDR))
		unit_skip("this process has no vDSO");
	without = collect(&live);
	assert_true(fact_is_known(&without.fact));
	assert_true(image.size <= image_with.size && image.size > 0);
	assert_int_equal(without.export_count, with.export_count);
	assert_memory_equal(
		without.exports, with.exports, with.export_count * sizeof(with.exports[0]));
	assert_memory_equal(
		image.offsets, image_with.offsets, with.export_count * sizeof(image.offsets[0]));
}

/* Maps that lie about the vDSO's size must not lead outside: they do not say where it is. */
static void maps_without_our_vdso_are_not_followed(void **state)
{
	struct fake_root *fake = *state;
	struct root live = {.directory = fake->root.directory, .live = true};
	struct vdso_evidence vdso;

	if (!getauxval(AT_SYSINFO_EHDR))
		unit_skip("this process has no vDSO");
	fake_root_add(fake, "/proc/self/maps", "1000-2000 r-xp 00000000 00:00 0    [vdso]\n");
	vdso = collect(&live);
	assert_true(fact_is_known(&vdso.fact));
	assert_true(vdso.export_count > 0);
}

static void an_image_outside_the_vdso_mapping_is_replaced(void **state)
{
	struct fake_root *fake = *state;
	struct root live = {.directory = fake->root.directory, .live = true};
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	struct vdso_evidence vdso;
	char maps[80];

	if (!base)
		unit_skip("this process has no vDSO");
	/* Without /proc, or without a mapping of the name, it is unknown. */
	vdso = collect(&live);
	assert_false(fact_is_known(&vdso.replaced.fact));
	snprintf(maps, sizeof(maps), "%" PRIxPTR "-%" PRIxPTR " r-xp 0 0:0 0\n", base, base + 8192);
	fake_root_add(fake, "/proc/self/maps", maps);
	vdso = collect(&live);
	assert_false(fact_is_known(&vdso.replaced.fact));
	fake_root_add(fake, "/proc/self/maps", "1000-2000 r-xp 00000000 00:00 0    [vdso]\n");
	vdso = collect(&live);
	assert_true(fact_is_flag(&vdso.replaced, true));
	snprintf(maps, sizeof(maps), "%" PRIxPTR "-%" PRIxPTR " r-xp 0 0:0 0 [vdso]\n", base,
		base + 8192);
	fake_root_add(fake, "/proc/self/maps", maps);
	vdso = collect(&live);
	assert_true(fact_is_flag(&vdso.replaced, false));
}

static void a_captured_tree_has_no_vdso(void **state)
{
	struct fake_root *fake = *state;
	struct vdso_evidence vdso = collect(&fake->root);

	assert_int_equal(vdso.fact.state, FACT_UNREAD);
	assert_int_equal(image.base, 0);
	assert_int_equal(vdso.export_count, 0);
}

/* The page is read, or there is a reason; a believed mode is one that kernels have. */
static void our_data_page_is_read_or_there_is_a_reason(void **state)
{
	struct vclock_evidence vclock = {0};

	(void)state;
	collect_live();
	vvar_collect(&image, "", &vclock, DEADLINE_NONE);
	assert_int_equal(vclock.how == VCLOCK_READ, fact_is_known(&vclock.fact));
	assert_int_equal(vclock.how == VCLOCK_READ, !*vclock.fact.reason);
	if (vclock.how != VCLOCK_READ)
		unit_skip("this kernel's data page cannot be read");
	assert_in_range(vclock.mode, 0, 4);
	assert_true(*vclock.layout);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Read again and again, as an update may come between: one answer. */
static void the_same_mode_is_read_each_time(void **state)
{
	struct vclock_evidence first = {0};

	(void)state;
	collect_live();
	vvar_collect(&image, "tsc", &first, DEADLINE_NONE);
	if (first.how != VCLOCK_READ)
		unit_skip("this kernel's data page cannot be read");
	for (int i = 0; i < 20; i++) {
		struct vclock_evidence again = {0};

		vvar_collect(&image, "tsc", &again, DEADLINE_NONE);
		assert_int_equal(again.how, VCLOCK_READ);
		assert_int_equal(again.mode, first.mode);
		assert_string_equal(again.layout, first.layout);
	}
}

static void without_vdso_there_is_no_data_page(void **state)
{
	const struct vdso_image none = {0};
	struct vclock_evidence vclock = {0};

	(void)state;
	vvar_collect(&none, "tsc", &vclock, DEADLINE_NONE);
	assert_int_equal(vclock.how, VCLOCK_UNKNOWN);
	assert_int_equal(vclock.fact.state, FACT_ABSENT);
	assert_true(*vclock.fact.reason);
}

/* A vDSO elsewhere, as a sandbox may have it: no page around it is believed. */
static void pages_that_are_not_data_pages_are_refused(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (VVAR_PAGES_BEFORE + 1 + VVAR_PAGES_AFTER) * page;
	unsigned char *noise =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vdso_image vdso = {.size = page};
	struct vclock_evidence vclock = {0};

	(void)state;
	assert_ptr_not_equal(noise, MAP_FAILED);
	memset(noise, 1, size);
	vdso.base = (uintptr_t)noise + VVAR_PAGES_BEFORE * page;
	vvar_collect(&vdso, "tsc", &vclock, DEADLINE_NONE);
	assert_int_equal(vclock.how, VCLOCK_UNKNOWN);
	if (vclock.fact.state != FACT_ABSENT) /* another architecture */
		assert_non_null(strstr(vclock.fact.reason, "not recognized"));
	munmap(noise, size);
}

#define SECONDS_AT 160 /* of x86, Linux 4.20 to 6.9 */
#define COARSE_AT 240

/* [vvar] of 5.6 to 6.9: data, pvclock's page, Hyper-V's, and one that a time namespace swaps in. */
static struct vclock_evidence read_made_pages(bool in_namespace)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (VVAR_PAGES_BEFORE + 1 + VVAR_PAGES_AFTER) * page;
	unsigned char *pages =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *image_at = pages + VVAR_PAGES_BEFORE * page, *first = image_at - 4 * page;
	unsigned char *data = in_namespace ? image_at - page : first;
	const uint32_t of_data[] = {2, 2}, of_namespace[] = {1, VCLOCK_MODE_TIMENS};
	struct vdso_image vdso = {.base = (uintptr_t)image_at, .size = page};
	struct vclock_evidence vclock = {0};

	assert_ptr_not_equal(pages, MAP_FAILED);
	if (in_namespace)
		memcpy(first + 128, of_namespace, sizeof(of_namespace));
	memcpy(data + 128, of_data, sizeof(of_data));
	first[page + VVAR_PVCLOCK_FLAGS] = VVAR_PVCLOCK_STABLE;
	/* The clock may reach the next second in between. */
	for (int tries = 0; tries < 100 && vclock.how != VCLOCK_READ; tries++) {
		int64_t now = kernel_clock_ns(CLOCK_REALTIME_COARSE) / NS_PER_SECOND;

		memcpy(data + SECONDS_AT, &now, sizeof(now));
		memcpy(data + COARSE_AT, &now, sizeof(now));
		vclock = (struct vclock_evidence){0};
		vvar_collect(&vdso, "kvm-clock", &vclock, DEADLINE_NONE);
	}
	assert_int_equal(vclock.at, data + 132 - image_at);
	munmap(pages, size);
	return vclock;
}

static void a_hypervisor_s_page_is_found_in_a_time_namespace_too(void **state)
{
	(void)state;
#if !defined(__x86_64__)
	unit_skip("the pages are made as those of x86");
#endif
	for (int in_namespace = 0; in_namespace < 2; in_namespace++) {
		struct vclock_evidence vclock = read_made_pages(in_namespace);

		assert_string_equal(vclock.name, "pvclock");
		assert_int_equal(vclock.time_namespace.value, in_namespace);
		assert_true(fact_is_flag(&vclock.pvclock_stable, true));
	}
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vdso_is_found_whole),
		IN_TREE(without_proc_the_same_exports_are_found),
		IN_TREE(maps_without_our_vdso_are_not_followed),
		IN_TREE(an_image_outside_the_vdso_mapping_is_replaced),
		IN_TREE(a_captured_tree_has_no_vdso),
		cmocka_unit_test(our_data_page_is_read_or_there_is_a_reason),
		cmocka_unit_test(the_same_mode_is_read_each_time),
		cmocka_unit_test(without_vdso_there_is_no_data_page),
		cmocka_unit_test(pages_that_are_not_data_pages_are_refused),
		cmocka_unit_test(a_hypervisor_s_page_is_found_in_a_time_namespace_too),
	};

	return cmocka_run_group_tests_name("vdso", tests, NULL, NULL);
}
