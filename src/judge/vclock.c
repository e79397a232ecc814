/* SPDX-License-Identifier: MIT */
/*
 * The clocksources that are known by name, and what follows: a hypervisor, where the host's files
 * do not show it, and the clock mode, where it could not be read. A mode is inferred only where the
 * name and the proof leave a single one.
 */
#include "view.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* The kinds of clocksources. */
enum kind {
	OTHER,
	OWN_COUNTER, /* the counter that kernels of this architecture choose by themselves */
	TICKS,       /* counts timer interrupts */
	/*
	 * The data page may have the mode of one while the calls enter the kernel: the hypervisor
	 * marks its own page as unusable for the moment.
	 */
	HYPERVISOR,
};

/*
 * Those with a mode, by the kernel's own code (drivers/ and arch/ of 4.19-7.x; sparc64's since
 * 4.16); of two own counters the first is preferred. Then those of x86, and of kernel/time, that no
 * kernel gives a mode, 3.10 to 7.2; hpet has had none since 4.7. tests/lore/clocksources.txt has
 * their files. numachip2 is not here, since it is rated above tsc.
 */
static const struct known {
	const char *clocksource;
	enum kind kind;
	double hz; /* 0: it differs by machine */
	int mode;
	const char *mode_name; /* NULL: it has none */
} known[] = {
	{"tsc", OWN_COUNTER, 0, 1, "tsc"},
	{"tsc-early", OTHER, 0, 1, "tsc"},
	{"kvm-clock", HYPERVISOR, 1e9, 2, "pvclock"},
	{"xen", HYPERVISOR, 1e9, 2, "pvclock"},
	{"hyperv_clocksource_tsc_page", HYPERVISOR, 0, 3, "hvclock"},
	{"arch_sys_counter", OWN_COUNTER, 0, 1, "archtimer"},
	{"riscv_clocksource", OWN_COUNTER, 0, 1, "archtimer"},
	{"timebase", OWN_COUNTER, 0, 1, "archtimer"},
	{"tod", OWN_COUNTER, 0, 1, "tod"},
	{"Constant", OWN_COUNTER, 0, 1, "cpu"},
	{"GIC", OWN_COUNTER, 0, 2, "gic"},
	{"MIPS", OWN_COUNTER, 0, 1, "r4k"},
	{"tick", OTHER, 0, 1, "tick"},
	{"stick", OTHER, 0, 2, "stick"},
	{"acpi_pm", OTHER, 3579545},
	{"hyperv_clocksource", HYPERVISOR},
	{"hyperv_clocksource_msr", HYPERVISOR},
	{"jiffies", TICKS},
	{"refined-jiffies", TICKS},
	{"apbt0"},
	{"dg_timer"},
	{"hpet"},
	{"lguest"},
	{"pit"},
	{"scx200_hrt"},
	{"sgi_rtc"},
};

static const struct known *find_known(const char *clocksource)
{
	static const struct known none = {.clocksource = NULL};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].clocksource, clocksource) == 0)
			return &known[i];
	}
	return &none;
}

const char *clocksource_known_name(size_t place)
{
	return place < ARRAY_SIZE(known) ? known[place].clocksource : NULL;
}

/*
 * Kernels of other architectures give a mode to those of known[] alone, while their device trees
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
	const struct known *found = find_known(clocksource);

	return *clocksource && !found->mode && (found->clocksource || names_are_known(evidence));
}

bool vclock_name_has_mode(const char *clocksource)
{
	return find_known(clocksource)->mode;
}

bool clocksource_is_own_counter(const char *clocksource)
{
	return find_known(clocksource)->kind == OWN_COUNTER;
}

bool clocksource_is_hypervisors(const char *clocksource)
{
	return find_known(clocksource)->kind == HYPERVISOR;
}

bool clocksource_counts_ticks(const char *clocksource)
{
	return find_known(clocksource)->kind == TICKS;
}

double clocksource_hz(const char *clocksource)
{
	return find_known(clocksource)->hz;
}

bool host_is_guest(const struct evidence *evidence)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	const struct fact *hypervisor = &evidence->host.hypervisor.fact;

	/* Without the host's files its clocks show it. */
	for (size_t i = 0; hypervisor->state == FACT_UNREAD && i < clocksource->available_count;
		i++) {
		if (clocksource_is_hypervisors(clocksource->available[i]))
			return true;
	}
	return fact_is_known(hypervisor) && !platform_is(evidence, "xen-dom0");
}

struct vclock_evidence vclock_infer(const struct evidence *evidence)
{
	struct vclock_evidence vclock = evidence->vclock;
	struct entry_counts vdso = counts_by_path(evidence, PATH_VDSO);
	const struct known *found = find_known(evidence->clocksource.current);

	if (vclock.how >= VCLOCK_COPY || !fact_is_known(&evidence->proof.fact) ||
		!fact_is_known(&evidence->clocksource.current_fact) || !vdso.proven ||
		(!found->mode && !clocksource_has_no_mode(evidence, evidence->clocksource.current)))
		return vclock;
	if (vdso.entered == vdso.attempts && (!found->mode || found->kind != HYPERVISOR)) {
		vclock.how = VCLOCK_INFERRED;
		vclock.mode = VCLOCK_MODE_NONE;
		text_clean(vclock.name, sizeof(vclock.name), "none");
	} else if (vdso.entered == 0 && !vdso.failing && found->mode) {
		vclock.how = VCLOCK_INFERRED;
		vclock.mode = found->mode;
		text_clean(vclock.name, sizeof(vclock.name), found->mode_name);
	}
	return vclock;
}
