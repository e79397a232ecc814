// SPDX-License-Identifier: MIT
/*
 * Makes every RDTSC and RDTSCP of user space trap, and answers it, as a
 * hypervisor does that emulates the counter: no system call is made, the vDSO
 * is as it was, and yet each reading of the time costs about as much as one.
 *
 * CR4.TSD lets the instruction raise #GP. The handler asks
 * fixup_umip_exception() whether it was one of a few instructions to emulate;
 * a kprobe there adds ours.
 */
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/processor-flags.h>
#include <asm/tlbflush.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

asm(".pushsection .text\n"
    ".globl lab_trap_return\n"
    "lab_trap_return:\n"
    "	ret\n"
    "	int3\n"
    ".popsection\n");
extern void lab_trap_return(void);

/* The length of the instruction there, 0 if it does not read the counter. */
static int counter_instruction(unsigned long ip)
{
	u8 code[3] = {0};
	int length;

	pagefault_disable();
	if (__copy_from_user_inatomic(code, (const void __user *)ip, sizeof(code)))
		code[0] = 0;
	pagefault_enable();
	length = code[0] == 0x0f && code[1] == 0x31 ? 2 : 0;
	return code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9 ? 3 : length;
}

static int answer_counter(struct kprobe *probe, struct pt_regs *regs)
{
	struct pt_regs *user = (struct pt_regs *)regs->di;
	int length = counter_instruction(user->ip);
	u64 counter;

	if (!length)
		return 0;
	counter = rdtsc_ordered();
	user->ax = (u32)counter;
	user->dx = counter >> 32;
	if (length == 3)
		user->cx = raw_smp_processor_id();
	user->ip += length;
	regs->ax = 1; /* "it was ours": the function returns at once */
	regs->ip = (unsigned long)lab_trap_return;
	return 1;
}

static struct kprobe probe = {
	.symbol_name = "fixup_umip_exception",
	.pre_handler = answer_counter,
};

static void set_trap(void *on)
{
	cr4_update_irqsoff(on ? X86_CR4_TSD : 0, on ? 0 : X86_CR4_TSD);
}

static int __init trap_init(void)
{
	int error;

	if (!boot_cpu_has(X86_FEATURE_UMIP))
		return -ENODEV;
	error = register_kprobe(&probe);
	if (error)
		return error;
	on_each_cpu(set_trap, &probe, 1);
	return 0;
}

static void __exit trap_exit(void)
{
	on_each_cpu(set_trap, NULL, 1);
	unregister_kprobe(&probe);
}

module_init(trap_init);
module_exit(trap_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Traps and emulates the counter's reads, for the lab of vdsocheck");
