/* SPDX-License-Identifier: MIT */
/*
 * Finds what the vDSO of a kernel can read by its release, and from that the verdict to expect
 * where nothing could be measured: of a captured tree.
 */
#include "view.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* The clock mode is of 4.12; RHEL 7's 3.10 and SLES 12's 4.4 got it by backport. */
bool kernel_reads_hyperv_page(const struct evidence *evidence)
{
	const char *kernel = evidence->host.kernel.value;

	return !kernel_is_before(evidence, "4.12") || strstr(kernel, ".el7") ||
	       (strncmp(kernel, "4.4.", 4) == 0 &&
		       (strstr(kernel, "-default") || strstr(kernel, "-azure")));
}

/* True if the vDSO of this architecture has no function that reads a clock in this release. */
bool kernel_vdso_has_no_clock(const struct evidence *evidence)
{
	/*
	 * The first kernel whose vDSO has one, by what uname(2) calls the machine; read in 3.10,
	 * 3.14, 4.4, 4.19, 5.4, 5.10, 6.1, 6.12 and 7.2. The functions of riscv64 before 5.5, and
	 * of parisc, only make the system call.
	 */
	static const struct {
		const char *machine; /* its beginning */
		const char *release; /* NULL: none has */
	} first[] = {{"i386", "3.15"}, {"i486", "3.15"}, {"i586", "3.15"}, {"i686", "3.15"},
		{"armv", "4.1"}, {"mips", "4.4"}, {"sparc64", "4.16"}, {"riscv64", "5.5"},
		{"csky", "5.11"}, {"alpha", NULL}, {"arc", NULL}, {"hexagon", NULL}, {"m68k", NULL},
		{"microblaze", NULL}, {"nios2", NULL}, {"openrisc", NULL}, {"parisc", NULL},
		{"riscv32", NULL}, {"sh", NULL}, {"xtensa", NULL}};

	/* That of User-Mode Linux makes the system calls itself (um/vdso/um_vdso.c, 3.2 to 7.2). */
	if (hypervisor_is(evidence, "uml"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		if (arch_starts(evidence, first[i].machine))
			return !first[i].release || kernel_is_before(evidence, first[i].release);
	}
	return false;
}

/*
 * Returns the verdict that the kernel's clocksource, release and command line make likely where
 * nothing was measured. Other names leave it open: a hypervisor's page may be invalid, and arm64's
 * counter may have an erratum.
 */
enum verdict_kind verdict_expected(const struct view *v)
{
	/* Each kernel that registers one of these gives it its mode. */
	static const char with_mode[] = "tsc timebase tod Constant";
	const struct evidence *evidence = v->evidence;
	const char *current = evidence->clocksource.current;
	bool has_mode =
		text_has_word(text_span(with_mode), current) ||
		(strcmp(current, "riscv_clocksource") == 0 && !kernel_is_before(evidence, "5.10"));

	if (evidence->live || !fact_is_known(&evidence->clocksource.current_fact))
		return VERDICT_UNKNOWN;
	if (v->no_vdso || v->vdso_without_clock)
		return VERDICT_FALLBACK;
	if (v->may_read_hpet)
		return VERDICT_UNKNOWN;
	/* powerpc's vDSO reads the timebase whatever the clocksource is (vdso/gettimeofday.h). */
	if ((v->name_has_no_mode && !v->on_powerpc) ||
		(v->counter_erratum && clocksource_is(evidence, "arch_sys_counter")) ||
		(v->on_xen && (kernel_is_before(evidence, "4.15") || v->xen_refused)) ||
		(v->on_kvm_clock && (v->kvm_clock_32_bit || boot_takes(evidence, BOOT_KVM_VDSO))) ||
		(v->on_hyperv_page && !v->reads_hyperv_page) || v->vdso_disabled)
		return VERDICT_FALLBACK;
	return has_mode ? VERDICT_OK : VERDICT_UNKNOWN;
}
