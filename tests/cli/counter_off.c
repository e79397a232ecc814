/* SPDX-License-Identifier: MIT */
/*
 * To be preloaded: switches the CPU's counter off before main() begins. `sandbox tsc-off`
 * would do, but glibc's dynamic loader reads the counter itself and would be the one to die.
 */
#include <sys/prctl.h>

__attribute__((constructor)) static void switch_off(void)
{
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}
