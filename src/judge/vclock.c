/* SPDX-License-Identifier: MIT */
/*
 * Infers the clock mode from the clocksource's name and the proof, where it could not be read. A
 * mode is inferred only where these leave a single one.
 */
#include "rules.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"

/*
 * The mode that a clocksource has if it has one, by the kernel's own code (drivers/ and arch/
 * of 4.19-7.x). `withdraws`: its mode may stand in the page and the call enter the kernel all
 * the same, when the hypervisor says that its page is not good at the moment.
 */
static const struct {
	const char *clocksource;
	int mode;
	const char *name;
	bool withdraws;
} modes[] = {
	{"tsc", 1, "tsc", false},
	{"tsc-early", 1, "tsc", false},
	{"kvm-clock", 2, "pvclock", true},
	{"xen", 2, "pvclock", true},
	{"hyperv_clocksource_tsc_page", 3, "hvclock", true},
	{"arch_sys_counter", 1, "archtimer", false},
	{"riscv_clocksource", 1, "archtimer", false},
	{"timebase", 1, "archtimer", false},
	{"tod", 1, "tod", false},
	{"Constant", 1, "cpu", false},
	{"MIPS", 1, "r4k", false},
	{"GIC", 2, "gic", false},
};

static const char *const without_mode[] = {
	"hpet",
	"acpi_pm",
	"pit",
	"jiffies",
	"refined-jiffies",
	"hyperv_clocksource_msr",
	"hyperv_clocksource",
	"arch_mem_counter",
	"arch_mmio_counter",
	"clint_clocksource",
};

bool vclock_name_has_no_mode(const char *clocksource)
{
	for (size_t i = 0; i < ARRAY_SIZE(without_mode); i++) {
		if (strcmp(without_mode[i], clocksource) == 0)
			return true;
	}
	return false;
}

bool vclock_name_has_mode(const char *clocksource)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(modes[i].clocksource, clocksource) == 0)
			return true;
	}
	return false;
}

static void set_inferred(struct vclock_evidence *vclock, int mode, const char *name)
{
	vclock->how = VCLOCK_INFERRED;
	vclock->mode = mode;
	text_copy(vclock->name, sizeof(vclock->name), name);
}

/* Every call enters: no mode, unless it is one that the hypervisor may have withdrawn. */
static void infer_entering(const char *clocksource, struct vclock_evidence *vclock)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(modes[i].clocksource, clocksource) == 0 && !modes[i].withdraws)
			set_inferred(vclock, VCLOCK_MODE_NONE, "none");
	}
	if (vclock_name_has_no_mode(clocksource))
		set_inferred(vclock, VCLOCK_MODE_NONE, "none");
}

static void infer_answered(const char *clocksource, struct vclock_evidence *vclock)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(modes[i].clocksource, clocksource) == 0)
			set_inferred(vclock, modes[i].mode, modes[i].name);
	}
}

struct vclock_evidence vclock_infer(const struct evidence *evidence)
{
	struct vclock_evidence vclock = evidence->vclock;
	struct entry_counts vdso = counts_by_path(evidence, PATH_VDSO);

	if (vclock.how >= VCLOCK_COPY || !fact_is_known(&evidence->proof.fact) ||
		!fact_is_known(&evidence->clocksource.current_fact) || !vdso.proven)
		return vclock;
	if (vdso.entered == vdso.attempts)
		infer_entering(evidence->clocksource.current, &vclock);
	else if (vdso.entered == 0)
		infer_answered(evidence->clocksource.current, &vclock);
	return vclock;
}
