// SPDX-License-Identifier: MIT
/*
 * Registers a clocksource whose name says nothing about its vDSO mode.
 *
 *     insmod liar.ko name=hyperv_clocksource_tsc_page mode=0
 *
 * is what a regression of the Hyper-V driver did to Azure's guests: sysfs names
 * a fast clocksource and every call enters the kernel. mode=1 with a name that
 * unknown to all is the reverse: the vDSO reads the TSC.
 */
#include <asm/tsc.h>
#include <linux/clocksource.h>
#include <linux/module.h>

static char *name = "liar";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "what sysfs will call the clocksource");

static int mode = VDSO_CLOCKMODE_NONE;
module_param(mode, int, 0444);
MODULE_PARM_DESC(mode, "its vDSO clock mode: 0 none, 1 TSC");

static int rating = 500;
module_param(rating, int, 0444);
MODULE_PARM_DESC(rating, "its rating: the highest becomes current");

static u64 read_tsc_ordered(struct clocksource *unused)
{
	return rdtsc_ordered();
}

static struct clocksource liar = {
	.read = read_tsc_ordered,
	.mask = CLOCKSOURCE_MASK(64),
	.flags = CLOCK_SOURCE_IS_CONTINUOUS | CLOCK_SOURCE_VALID_FOR_HRES,
	.owner = THIS_MODULE,
};

static int __init liar_init(void)
{
	if (mode != VDSO_CLOCKMODE_NONE && mode != VDSO_CLOCKMODE_TSC)
		return -EINVAL;
	liar.name = name;
	liar.rating = rating;
	liar.vdso_clock_mode = mode;
	return clocksource_register_khz(&liar, tsc_khz);
}

static void __exit liar_exit(void)
{
	clocksource_unregister(&liar);
}

module_init(liar_init);
module_exit(liar_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A clocksource under any name, for the lab of vdsocheck");
