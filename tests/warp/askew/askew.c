// SPDX-License-Identifier: MIT
/*
 * Two clocksources that are not to be trusted, for guests only:
 *
 *   askew   ahead by skew_ns on every odd CPU, so that time runs backwards between CPUs
 *   stuck   stands still, and with it all the kernel's timers while it is in use
 *
 * Their rating is so low that the kernel selects them only on request.
 */
#include <asm/tsc.h>
#include <linux/clocksource.h>
#include <linux/module.h>
#include <linux/smp.h>

static int skew_ns = 20000;
module_param(skew_ns, int, 0444);
MODULE_PARM_DESC(skew_ns, "how far odd CPUs are ahead");

static u64 stuck_at;

static u64 read_askew(struct clocksource *unused)
{
	u64 ahead = (u64)skew_ns * tsc_khz / 1000000;

	return rdtsc_ordered() + (raw_smp_processor_id() & 1 ? ahead : 0);
}

static u64 read_stuck(struct clocksource *unused)
{
	return stuck_at;
}

static struct clocksource askew = {
	.name = "askew",
	.rating = 1,
	.read = read_askew,
	.mask = CLOCKSOURCE_MASK(64),
	.flags = CLOCK_SOURCE_IS_CONTINUOUS | CLOCK_SOURCE_VALID_FOR_HRES,
	.owner = THIS_MODULE,
};

static struct clocksource stuck = {
	.name = "stuck",
	.rating = 1,
	.read = read_stuck,
	.mask = CLOCKSOURCE_MASK(64),
	.flags = CLOCK_SOURCE_IS_CONTINUOUS | CLOCK_SOURCE_VALID_FOR_HRES,
	.owner = THIS_MODULE,
};

static int __init askew_init(void)
{
	int error = clocksource_register_khz(&askew, tsc_khz);

	stuck_at = rdtsc_ordered();
	if (!error)
		error = clocksource_register_khz(&stuck, tsc_khz);
	return error;
}

static void __exit askew_exit(void)
{
	clocksource_unregister(&stuck);
	clocksource_unregister(&askew);
}

module_init(askew_init);
module_exit(askew_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Clocksources that warp or stand still, for the tests of vdsocheck");
