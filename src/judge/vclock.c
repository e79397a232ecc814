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
 * Those that no kernel gives a mode: what arch, drivers and kernel/time register by a name of their
 * own, 3.10 to 7.2, but for User-Mode Linux; hpet has had none since 4.7.
 * tests/lore/clocksources.txt has their files. numachip2 is not here, since it is rated above tsc.
 */
static const char *const without_mode[] = {"32k_counter", "FTTMR010-TIMER2", "GPT2", "H8S_TPU",
	"HEART", "HUB-RT", "META", "OCTEON_CVMCOUNT", "OSTS", "PIC", "TSC", "TXx9", "acpi_pm",
	"alchemy-counter1", "apbt0", "arch_mem_counter", "arch_mmio_counter", "arm_global_timer",
	"arm_system_timer", "armada_370_xp_clocksource", "avr32_counter", "bcm1250-counter-3",
	"bfin_cs_cycles", "bfin_cs_gptimer0", "ccount", "ciab", "clint_clocksource",
	"clksrc-st-lpc", "clocksource", "clps711x-clocksource", "clps711x_clocksource",
	"coldfire_dma_timer", "cr16", "crisv32-timer", "crisv32_rotime", "csky",
	"dbx500-prcmu-timer", "dc21285_timer2", "dec-ioasic", "dg_timer", "epit", "fsl-ftm",
	"gemini_clocksource", "gptimer", "gx6605s", "h8300_16timer", "hbtick", "hpet",
	"hyperv_clocksource", "hyperv_clocksource_msr", "imx-tpm", "ingenic-ost", "ingenic-timer",
	"iop_timer1", "jcore_pit_cs", "jiffies", "jz4740-timer", "lguest", "lpc32xx_clksrc",
	"ls1x-pwmtimer", "mct-frc", "mfgpt", "mfp", "microblaze_clocksource", "moxart_timer",
	"mpu_timer2", "mtu_0", "mxc_timer1", "mxs_timer", "netx_timer", "nios2-clksrc",
	"npcm7xx-timer1", "nps-tick", "nuc900-timer1", "openrisc_timer", "orion_clocksource",
	"oscr", "oscr0", "ostm", "oxnas_rps_clocksource_timer", "pcc", "pcycles", "pit",
	"powertv-counter", "powertv-tim_c", "qemu", "rda-timer", "realtek_otto_timer",
	"refined-jiffies", "rpcc", "rtc", "samsung_clocksource_timer", "scx200_hrt", "sgi_rtc",
	"sirfsoc_clocksource", "slt", "sprd_suspend_timer", "tango-xtal", "tcb_clksrc",
	"tegra_suspend_timer", "timer2", "timer4", "timer_cs", "timer_us", "timestamp", "tmr",
	"tmr1", "ttc_clocksource", "vf-pit", "via1", "vt8500_timer", "xilinx_clocksource",
	"zbbus-cycles"};

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
		(!mode && !vclock_name_has_no_mode(evidence->clocksource.current)))
		return vclock;
	if (vdso.entered == vdso.attempts && (!mode || mode->origin != HYPERVISOR_PAGE)) {
		vclock.how = VCLOCK_INFERRED;
		vclock.mode = VCLOCK_MODE_NONE;
		text_copy(vclock.name, sizeof(vclock.name), "none");
	} else if (vdso.entered == 0 && mode) {
		vclock.how = VCLOCK_INFERRED;
		vclock.mode = mode->mode;
		text_copy(vclock.name, sizeof(vclock.name), mode->name);
	}
	return vclock;
}
