// SPDX-License-Identifier: MIT
/*
 * Sets the TSC of CPU 1 ahead, as firmware does that initializes the CPUs at different times. The
 * emulator's own CPUs share one counter and ignore the write, so the guest needs KVM.
 */
#include <asm/msr.h>
#include <asm/tsc.h>
#include <linux/module.h>
#include <linux/smp.h>

static int skew_ms = 10000;
module_param(skew_ms, int, 0444);
MODULE_PARM_DESC(skew_ms, "how far CPU 1 is ahead");

static void write_counter(void *unused)
{
	u64 ahead = rdtsc() + (u64)skew_ms * tsc_khz;

	asm volatile("wrmsr" : : "c"(MSR_IA32_TSC), "a"((u32)ahead), "d"((u32)(ahead >> 32)));
}

static int __init skew_init(void)
{
	return smp_call_function_single(1, write_counter, NULL, true);
}

static void __exit skew_exit(void)
{
}

module_init(skew_init);
module_exit(skew_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Sets the TSC of one CPU ahead, for the lab of vdsocheck");
