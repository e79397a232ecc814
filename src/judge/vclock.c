/* SPDX-License-Identifier: MIT */
/*
 * Infers the clock mode from the clocksource's name and the proof, where it could not be read. A
 * mode is inferred only where these leave a single one.
 */
#include "rules.h"

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
 * of 4.19-7.x). Of two own counters the first is preferred.
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
	{"hpet", VCLOCK_MODE_NONE, "none", OTHER},
	{"acpi_pm", VCLOCK_MODE_NONE, "none", OTHER},
	{"pit", VCLOCK_MODE_NONE, "none", OTHER},
	{"jiffies", VCLOCK_MODE_NONE, "none", OTHER},
	{"refined-jiffies", VCLOCK_MODE_NONE, "none", OTHER},
	{"hyperv_clocksource_msr", VCLOCK_MODE_NONE, "none", OTHER},
	{"hyperv_clocksource", VCLOCK_MODE_NONE, "none", OTHER},
	{"arch_mem_counter", VCLOCK_MODE_NONE, "none", OTHER},
	{"arch_mmio_counter", VCLOCK_MODE_NONE, "none", OTHER},
	{"clint_clocksource", VCLOCK_MODE_NONE, "none", OTHER},
};

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
	return place < ARRAY_SIZE(modes) ? modes[place].clocksource : NULL;
}

bool vclock_name_has_no_mode(const char *clocksource)
{
	const struct mode *mode = find_by_name(clocksource);

	return mode && mode->mode == VCLOCK_MODE_NONE;
}

bool vclock_name_has_mode(const char *clocksource)
{
	const struct mode *mode = find_by_name(clocksource);

	return mode && mode->mode != VCLOCK_MODE_NONE;
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
		!fact_is_known(&evidence->clocksource.current_fact) || !vdso.proven || !mode)
		return vclock;
	if (vdso.entered == vdso.attempts && mode->origin != HYPERVISOR_PAGE) {
		vclock.how = VCLOCK_INFERRED;
		vclock.mode = VCLOCK_MODE_NONE;
		text_copy(vclock.name, sizeof(vclock.name), "none");
	} else if (vdso.entered == 0 && mode->mode != VCLOCK_MODE_NONE) {
		vclock.how = VCLOCK_INFERRED;
		vclock.mode = mode->mode;
		text_copy(vclock.name, sizeof(vclock.name), mode->name);
	}
	return vclock;
}
