// SPDX-License-Identifier: MIT
/*
 * Has the kernel mark its TSC unstable, as the clocksource watchdog does: what
 * the list of clocksources shows then depends on whether the tick is periodic.
 */
#include <asm/tsc.h>
#include <linux/module.h>

static int __init distrust_init(void)
{
	mark_tsc_unstable("the lab");
	return 0;
}

static void __exit distrust_exit(void)
{
}

module_init(distrust_init);
module_exit(distrust_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("marks the TSC unstable");
