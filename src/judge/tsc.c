/* SPDX-License-Identifier: MIT */
/*
 * The flags of the TSC, and the kernel's own reason to mark it unstable: "Marking TSC unstable due
 * to REASON". The reasons are those of all callers of mark_tsc_unstable() in 3.10 to 7.2, listed
 * with their files in tests/lore/unstable.txt. Only the first call logs one.
 */
#include "view.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

bool tsc_has_flag(const struct evidence *evidence, const char *flag)
{
	const struct text_fact *flags = &evidence->host.tsc_flags;

	return fact_is_known(&flags->fact) && text_has_word(text_span(flags->value), flag);
}

bool tsc_is_invariant(const struct evidence *evidence)
{
	/*
	 * The kernel sets tsc_reliable where a hypervisor guarantees the TSC, and no longer checks
	 * it: VMware, TDX and SNP, Hyper-V with AccessTscInvariant. These keep its rate when they
	 * migrate the guest. VMware's guests lack nonstop_tsc (vmware_set_capabilities(), 2.6.29 to
	 * 7.2).
	 */
	if (tsc_has_flag(evidence, "tsc_reliable"))
		return true;
	return fact_is_flag(&evidence->host.invariant_tsc, true) &&
	       (!fact_is_known(&evidence->host.tsc_flags.fact) ||
		       (tsc_has_flag(evidence, "constant_tsc") &&
			       tsc_has_flag(evidence, "nonstop_tsc")));
}

static const struct {
	const char *words; /* how the reason begins */
	enum unstable_reason reason;
} reasons[] = {
	{"clocksource watchdog", UNSTABLE_BY_WATCHDOG},
	{"check_tsc_sync_source failed", UNSTABLE_WARPED},
	{"TSCs unsynchronized", UNSTABLE_ASSUMED},
	{"Summit based system", UNSTABLE_ASSUMED},
	{"UV BIOS", UNSTABLE_BY_FIRMWARE},
	{"KVM discovered backwards TSC", UNSTABLE_WENT_BACK},
	{"TSC halts in idle", UNSTABLE_HALTS},
	{"TSC halt in AMD C1E", UNSTABLE_HALTS_IN_C1E},
	{"cpufreq changes", UNSTABLE_RATE_CHANGES},
	{"running on Hyper-V", UNSTABLE_ON_HYPERV},
	{"could not calculate TSC", UNSTABLE_UNCALIBRATED},
	{"boot parameter", UNSTABLE_BY_BOOT},
};

const char *unstable_find(const struct evidence *evidence)
{
	static const char marking[] = "Marking TSC unstable due to ";
	const struct kernel_log_line *line = log_find(evidence, marking);

	return line ? strstr(line->text, marking) + strlen(marking) : NULL;
}

enum unstable_reason unstable_read(const char *words)
{
	for (size_t i = 0; words && i < ARRAY_SIZE(reasons); i++) {
		if (text_starts(text_span(words), reasons[i].words))
			return reasons[i].reason;
	}
	return words ? UNSTABLE_OTHERWISE : UNSTABLE_UNSAID;
}
