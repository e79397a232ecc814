/* SPDX-License-Identifier: MIT */
/*
 * Judges whether programs may read the CPU's counter themselves. What was seen to be wrong comes
 * first, then what is not guaranteed, then what could not be tested; only a counter with nothing
 * against it is safe. Rates that disagree are notes, unless they show that the rate changes.
 */
#include "model.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

const struct answer counter_answers[] = {
	[COUNTER_UNKNOWN] = {"unknown", COLOR_MAGENTA, 2, "undetermined"},
	[COUNTER_SAFE] = {"safe", COLOR_GREEN, 0, "programs may read the counter themselves"},
	[COUNTER_UNSAFE] = {"unsafe", COLOR_RED, 1, "they must not"},
	{0},
};

static __attribute__((format(printf, 3, 4))) void note(
	struct counter *counter, const char *id, const char *format, ...)
{
	struct counter_note *added = &counter->notes[counter->note_count];
	va_list arguments;

	if (counter->note_count == COUNTER_NOTE_MAX)
		return;
	counter->note_count++;
	added->id = id;
	va_start(arguments, format);
	vsnprintf(added->text, sizeof(added->text), format, arguments);
	va_end(arguments);
}

/* ---- notes ---- */

static void note_rates(struct counter *counter)
{
	const struct rate *rates = counter->rates;
	const struct rate *measured = &rates[RATE_MEASURED], *claim = &rates[RATE_CLAIM];
	const struct rate *first = rate_first(rates);

	if (rate_difference(&rates[RATE_PAGE], measured) > RATE_LIMIT_PPM)
		note(counter, "measured-rate-differs",
			"The rate measured differs from the kernel's by %.0f ppm: the clocksource "
			"or the counter's rate changed during the test.",
			fabs(measured->hz / rates[RATE_PAGE].hz - 1) * 1e6);
	if (rate_difference(&rates[RATE_LOG], measured) > RATE_LIMIT_PPM)
		note(counter, "log-rate-differs",
			"The kernel's calibration at boot differs from the rate measured by %.0f "
			"ppm: the guest was migrated since, or one of the two clocks is wrong.",
			fabs(rates[RATE_LOG].hz / measured->hz - 1) * 1e6);
	if (first && rate_difference(claim, first) > RATE_CLAIM_LIMIT_PPM)
		note(counter, "claim-differs",
			"%s is off by %+.2f%%: a program that takes its rate from there gets times "
			"wrong by the same share.",
			claim->source, (claim->hz / first->hz - 1) * 100);
}

static void note_host(struct counter *counter)
{
	const struct counter_evidence *evidence = &counter->evidence;
	const struct number_fact *moves = &evidence->claims.xen_moves;

	if (counter->view.stated_mhz > 0)
		note(counter, "stated-rate-wrong",
			"The stated rate is wrong: the kernel measured %.3f MHz by a timer, and "
			"uses %.3f MHz, so its clock and the rates above are off by %.2g%%.",
			counter->view.measured_mhz, counter->view.stated_mhz,
			fabs(counter->view.measured_mhz / counter->view.stated_mhz - 1) * 100);
	if (evidence->tdx)
		note(counter, "confidential",
			"This is a confidential guest (TDX): the TSC is the clock that the host "
			"cannot change; kvm-clock is not.");
	if (evidence->sev_snp && counter->view.guaranteed)
		note(counter, "confidential",
			"This is a confidential guest (SEV-SNP): with Secure TSC, the TSC is the "
			"clock that the host cannot change; kvm-clock is not.");
	if (fact_is_known(&moves->fact) && moves->value > 0)
		note(counter, "xen-moved",
			"Xen has migrated or restored this guest %" PRId64
			" times since it booted.",
			moves->value);
	if (counter->view.standing == COUNTER_CLEARED)
		note(counter, "watchdog-erred",
			"The kernel marked the TSC unstable, but by the figures in its log the other clock "
			"or the check was at fault.");
	if (counter->view.standing == COUNTER_DISTRUSTED && counter->view.line)
		note(counter, "kernel-log", "Kernel log: \"%.200s\"", counter->view.line->text);
	if (evidence->warp.cpu_count && evidence->warp.cpu_count < evidence->warp.allowed)
		note(counter, "cpus-left-out", "%zu of %zu CPUs were tested.",
			evidence->warp.cpu_count, evidence->warp.allowed);
}

/* ---- the verdict ---- */

/* Returns false if nothing was seen to be wrong. */
static bool judge_faults(struct counter *counter)
{
	const struct answer *unsafe = &counter_answers[COUNTER_UNSAFE];
	struct report *report = &counter->report;
	const struct counter_evidence *evidence = &counter->evidence;
	const struct warp_evidence *warp = &evidence->warp;
	const struct warp_result *found = &warp->results[WARP_COUNTER];
	const char *name = counter->view.x86 ? "TSC" : "counter";
	double off_ppm = rate_difference(&counter->rates[RATE_LOG], &counter->rates[RATE_MEASURED]);

	if (fact_is_known(&found->fact) && found->warps)
		report_answer(report, unsafe, "counters-disagree", NULL,
			"programs must not read the %s here: CPU %d was up to %" PRId64
			" ns behind CPU %d.",
			name, found->cpu_behind, found->largest_ns, found->cpu_ahead);
	else if (counter->view.standing == COUNTER_FAULTY)
		report_answer(report, unsafe, "kernel-found-faulty", NULL,
			"programs must not read the %s here: the kernel found it wrong and does not "
			"use it.",
			name);
	/* Calibration explains no rate that is this far off. */
	else if (off_ppm > RATE_CLAIM_LIMIT_PPM)
		report_answer(report, unsafe, "rate-changed", NULL,
			"programs must not read the %s here: its rate has changed since boot.",
			name);
	else if (counter->view.x86 && fact_is_known(&evidence->host.host.invariant_tsc.fact) &&
		 !counter->view.guaranteed && counter->view.standing != COUNTER_IN_USE)
		report_answer(report, unsafe, "not-invariant", NULL,
			"programs must not read the TSC here: the CPU does not advertise an "
			"invariant TSC, and the kernel does not use it.");
	else if (counter->view.trapped)
		report_answer(report, unsafe, "trapped", NULL,
			"programs should not read the %s here: each read is intercepted and takes "
			"%.0f ns.",
			name, evidence->host.timing.counter_ns.value);
	else
		return false;
	return true;
}

/* Returns false if nothing is uncertain. */
static bool judge_doubts(struct counter *counter)
{
	const struct answer *unknown = &counter_answers[COUNTER_UNKNOWN];
	struct report *report = &counter->report;
	const struct counter_evidence *evidence = &counter->evidence;
	const struct host_evidence *host = &evidence->host.host;
	const struct warp_evidence *warp = &evidence->warp;
	const struct warp_result *found = &warp->results[WARP_COUNTER];
	const char *name = counter->view.x86 ? "TSC" : "counter";

	if (counter->view.x86 && !counter->view.guaranteed)
		report_answer(report, unknown, "not-guaranteed", NULL,
			fact_is_known(&host->invariant_tsc.fact)
				? "the kernel uses the TSC, but the CPU does not advertise an "
				  "invariant TSC here."
				: "whether the TSC is invariant is not known: %s.",
			host->invariant_tsc.fact.reason);
	else if (counter->view.standing == COUNTER_DISTRUSTED)
		report_answer(report, unknown, "kernel-distrusts", NULL,
			"the kernel dropped the %s, and nothing shows whether it was right.", name);
	else if (counter->view.standing == COUNTER_DISABLED)
		report_answer(report, unknown, "disabled", NULL,
			"the %s is disabled on the kernel command line, so the kernel does not watch "
			"it.",
			name);
	else if (counter->view.standing == COUNTER_NOT_OFFERED)
		report_answer(report, unknown, "not-offered", NULL,
			"the kernel does not offer the %s, and nothing shows why.", name);
	else if (counter->view.page_unstable)
		report_answer(report, unknown, "kvm-unstable", NULL,
			"KVM does not mark the TSC stable: its host does not use the TSC, or those "
			"of this guest's CPUs differ.");
	else if (fact_is_flag(&host->xen_tsc_reliable, false) &&
		 counter->view.standing != COUNTER_IN_USE)
		report_answer(report, unknown, "xen-unreliable", NULL,
			"Xen considers the TSC of its host unreliable.");
	else if (!fact_is_known(&found->fact))
		report_answer(report, unknown, "not-tested", NULL,
			"the %s could not be tested on all CPUs: %s.", name, found->fact.reason);
	else if (warp->cpu_count == 1 && !host_has_one_cpu(&host->cpu_count))
		report_answer(report, unknown, "one-cpu", NULL,
			"this process may run on CPU %d only, and the %s of CPUs cannot be compared.",
			warp->cpus[0], name);
	else if (warp->cpu_count > 1 && !fact_is_known(&found->max_offset.fact))
		report_answer(report, unknown, "not-compared", NULL,
			"the %s of some CPUs could not be compared: %s.", name,
			found->max_offset.fact.reason);
	else
		return false;
	return true;
}

/* Returns what ends a safe verdict on this platform; NULL: nothing known. */
static const char *find_end(
	const struct counter_evidence *evidence, const struct counter_judgment *view)
{
	static const struct {
		const char *platform, *end;
	} ends[] = {
		{"firecracker", "the guest is restored from a snapshot (Firecracker)."},
		{"cloud-hypervisor", "the guest is restored from a snapshot (Cloud Hypervisor)."},
		{"wsl2", "Windows suspends this machine."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (fact_is_text(&evidence->host.host.platform, ends[i].platform))
			return ends[i].end;
	}
	if (view->may_be_restored)
		return "the guest is restored from a snapshot.";
	if (view->may_be_migrated)
		return "the guest is migrated or restored.";
	return NULL;
}

static void judge_safe(struct counter *counter)
{
	const struct counter_evidence *evidence = &counter->evidence;
	const char *name = counter->view.x86 ? "TSC" : "counter";
	char rate[64] = "", cpus[48];

	if (fact_is_known(&counter->hz.fact))
		snprintf(rate, sizeof(rate), " %s MHz,", as_mhz(counter->hz.value, 4));
	if (evidence->warp.cpu_count == 1)
		snprintf(cpus, sizeof(cpus), "on the only CPU");
	else
		snprintf(cpus, sizeof(cpus), "in step on %s%zu CPUs",
			evidence->host.host.cpu_count.value == (int64_t)evidence->warp.cpu_count
				? "all "
				: "",
			evidence->warp.cpu_count);
	report_answer(&counter->report, &counter_answers[COUNTER_SAFE], "safe", NULL,
		"programs may read the %s here:%s %s.", name, rate, cpus);
	counter->until = find_end(evidence, &counter->view);
}

void counter_judge(struct counter *counter)
{
	const struct counter_evidence *evidence = &counter->evidence;
	const struct host_evidence *host = &evidence->host.host;
	const struct rate *first;

	rate_list(evidence, counter->rates);
	counter->rate_count = RATE_COUNT;
	first = rate_first(counter->rates);
	if (first)
		fact_set_real(&counter->hz, first->hz);
	judge_counter(&evidence->host, &counter->view);
	if (evidence->readable.state == FACT_FAILED)
		report_answer(&counter->report, &counter_answers[COUNTER_UNSAFE], "unreadable",
			NULL, "programs must not read the counter here: %s%s.",
			evidence->readable.reason,
			fact_is_flag(&host->counter_disabled, true)
				? ", because prctl(PR_SET_TSC) was called for this process"
				: "");
	else if (!fact_is_known(&evidence->readable))
		report_answer(&counter->report, &counter_answers[COUNTER_UNKNOWN], "no-counter",
			NULL, "the counter was not read: %s.", evidence->readable.reason);
	else if (fact_is_known(&host->emulator.fact))
		report_answer(&counter->report, &counter_answers[COUNTER_UNKNOWN], "emulated", NULL,
			"this program runs in an emulator (%s), which has a counter of its own.",
			host->emulator.value);
	else if (!judge_faults(counter) && !judge_doubts(counter))
		judge_safe(counter);
	note_rates(counter);
	note_host(counter);
}
