/* SPDX-License-Identifier: MIT */
/*
 * Infers the clock mode from the clocksource's name and the proof, where it could not be read. A
 * mode is inferred only where these leave a single one.
 */
#include "view.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* The origin of a clocksource's time. */
enum origin {
	OWN_COUNTER, /* the counter that kernels of this architecture choose by themselves */
	/*
	 * The data page may have its mode while the calls enter the kernel: the hypervisor marks
	 * its own page as unusable for the moment.
	 */
	HYPERVISOR_PAGE,
	OTHER,
};

/*
 * The mode that a clocksource has if it has one, by the kernel's own code (drivers/ and arch/
 * of 4.19-7.x; sparc64's since 4.16). Of two own counters the first is preferred.
 */
static const struct mode {
	const char *clocksource;
	int mode;
	const char *name;
	enum origin origin;
} modes[] = {
	{"tsc", 1, "tsc", OWN_COUNTER},
	{"tsc-early", 1, "tsc", OTHER},
	{"kvm-clock", 2, "pvclock", HYPERVISOR_PAGE},
	{"xen", 2, "pvclock", HYPERVISOR_PAGE},
	{"hyperv_clocksource_tsc_page", 3, "hvclock", HYPERVISOR_PAGE},
	{"arch_sys_counter", 1, "archtimer", OWN_COUNTER},
	{"riscv_clocksource", 1, "archtimer", OWN_COUNTER},
	{"timebase", 1, "archtimer", OWN_COUNTER},
	{"tod", 1, "tod", OWN_COUNTER},
	{"Constant", 1, "cpu", OWN_COUNTER},
	{"GIC", 2, "gic", OWN_COUNTER},
	{"MIPS", 1, "r4k", OWN_COUNTER},
	{"tick", 1, "tick", OTHER},
	{"stick", 2, "stick", OTHER},
};

/*
 * Those of x86, and of kernel/time, that no kernel gives a mode, 3.10 to 7.2; hpet has had none
 * since 4.7. tests/lore/clocksources.txt has their files. numachip2 is not here, since it is rated
 * above tsc.
 */
static const char *const without_mode[] = {"acpi_pm", "apbt0", "dg_timer", "hpet",
	"hyperv_clocksource", "hyperv_clocksource_msr", "jiffies", "lguest", "pit",
	"refined-jiffies", "scx200_hrt", "sgi_rtc"};

static const struct mode *find_by_name(const char *clocksource)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(modes[i].clocksource, clocksource) == 0)
			return &modes[i];
	}
	return NULL;
}

const char *clocksource_known_name(size_t place)
{
	if (place < ARRAY_SIZE(modes))
		return modes[place].clocksource;
	place -= ARRAY_SIZE(modes);
	return place < ARRAY_SIZE(without_mode) ? without_mode[place] : NULL;
}

/*
 * Kernels of other architectures give a mode to those of modes[] alone, while their device trees
 * give names to the rest ("timer" on the first Raspberry Pi, bcm2835_timer.c). ia64 has a table of
 * its own for fast system calls.
 */
static bool names_are_known(const struct evidence *evidence)
{
	return fact_is_known(&evidence->host.arch.fact) && !host_is_x86(evidence) &&
	       !fact_is_text(&evidence->host.arch, "ia64");
}

bool clocksource_has_no_mode(const struct evidence *evidence, const char *clocksource)
{
	for (size_t i = 0; i < ARRAY_SIZE(without_mode); i++) {
		if (strcmp(without_mode[i], clocksource) == 0)
			return true;
	}
	return *clocksource && !find_by_name(clocksource) && names_are_known(evidence);
}

bool vclock_name_has_mode(const char *clocksource)
{
	return find_by_name(clocksource);
}

bool clocksource_is_own_counter(const char *clocksource)
{
	const struct mode *mode = find_by_name(clocksource);

	return mode && mode->origin == OWN_COUNTER;
}

struct vclock_evidence vclock_infer(const struct evidence *evidence)
{
	struct vclock_evidence vclock = evidence->vclock;
	struct entry_counts vdso = counts_by_path(evidence, PATH_VDSO);
	const struct mode *mode = find_by_name(evidence->clocksource.current);

	if (vclock.how >= VCLOCK_COPY || !fact_is_known(&evidence->proof.fact) ||
		!fact_is_known(&evidence->clocksource.current_fact) || !vdso.proven ||
		(!mode && !clocksource_has_no_mode(evidence, evidence->clocksource.current)))
		return vclock;
	if (vdso.entered == vdso.attempts && (!mode || mode->origin != HYPERVISOR_PAGE)) {
		vclock.how = VCLOCK_INFERRED;
		vclock.mode = VCLOCK_MODE_NONE;
		text_clean(vclock.name, sizeof(vclock.name), "none");
	} else if (vdso.entered == 0 && !vdso.failing && mode) {
		vclock.how = VCLOCK_INFERRED;
		vclock.mode = mode->mode;
		text_clean(vclock.name, sizeof(vclock.name), mode->name);
	}
	return vclock;
}
