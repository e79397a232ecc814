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
#include "base/text.h"

static __attribute__((format(printf, 4, 5))) void conclude(struct counter_verdict *verdict,
	enum counter_outcome outcome, const char *rule, const char *format, ...)
{
	va_list arguments;

	verdict->outcome = outcome;
	verdict->rule = rule;
	verdict->exit_status = outcome == COUNTER_SAFE ? 0 : outcome == COUNTER_UNSAFE ? 1 : 2;
	va_start(arguments, format);
	vsnprintf(verdict->summary, sizeof(verdict->summary), format, arguments);
	va_end(arguments);
}

static __attribute__((format(printf, 3, 4))) void note(
	struct counter_verdict *verdict, const char *id, const char *format, ...)
{
	struct counter_note *added = &verdict->notes[verdict->note_count];
	va_list arguments;

	if (verdict->note_count == COUNTER_NOTE_MAX)
		return;
	verdict->note_count++;
	added->id = id;
	va_start(arguments, format);
	vsnprintf(added->text, sizeof(added->text), format, arguments);
	va_end(arguments);
}

/* ---- notes ---- */

static void note_rates(const struct rate rates[RATE_COUNT], struct counter_verdict *verdict)
{
	const struct rate *measured = &rates[RATE_MEASURED], *claim = &rates[RATE_CLAIM];
	const struct rate *first = rate_first(rates);

	if (rate_difference(&rates[RATE_PAGE], measured) > RATE_LIMIT_PPM)
		note(verdict, "measured-rate-differs",
			"The rate measured differs from the kernel's by %.0f ppm: the clocksource "
			"or the counter's rate changed during the test.",
			fabs(measured->hz / rates[RATE_PAGE].hz - 1) * 1e6);
	if (rate_difference(&rates[RATE_LOG], measured) > RATE_LIMIT_PPM)
		note(verdict, "log-rate-differs",
			"The kernel's calibration at boot differs from the rate measured by %.0f "
			"ppm: the guest was migrated since, or one of the two clocks is wrong.",
			fabs(rates[RATE_LOG].hz / measured->hz - 1) * 1e6);
	if (first && rate_difference(claim, first) > RATE_CLAIM_LIMIT_PPM)
		note(verdict, "claim-differs",
			"%s is off by %+.2f%%: a program that takes its rate from there gets times "
			"wrong by the same share.",
			claim->source, (claim->hz / first->hz - 1) * 100);
}

static void note_host(const struct counter_evidence *evidence, struct counter_verdict *verdict)
{
	const struct number_fact *moves = &evidence->claims.xen_moves;

	if (verdict->view.stated_mhz > 0)
		note(verdict, "stated-rate-wrong",
			"The stated rate is wrong: the kernel measured %.3f MHz by a timer, and "
			"uses %.3f MHz, so its clock and the rates above are off by %.2g%%.",
			verdict->view.measured_mhz, verdict->view.stated_mhz,
			fabs(verdict->view.measured_mhz / verdict->view.stated_mhz - 1) * 100);
	if (evidence->tdx)
		note(verdict, "confidential",
			"This is a confidential guest (TDX): the TSC is the clock that the host "
			"cannot change; kvm-clock is not.");
	if (evidence->sev_snp && verdict->view.guaranteed)
		note(verdict, "confidential",
			"This is a confidential guest (SEV-SNP): with Secure TSC, the TSC is the "
			"clock that the host cannot change; kvm-clock is not.");
	if (fact_is_known(&moves->fact) && moves->value > 0)
		note(verdict, "xen-moved",
			"Xen has migrated or restored this guest %" PRId64
			" times since it booted.",
			moves->value);
	if (verdict->view.standing == COUNTER_CLEARED)
		note(verdict, "watchdog-erred",
			"The kernel dropped the TSC, but by the figures in its log the other clock "
			"or the check was at fault.");
	if (verdict->view.standing == COUNTER_DISTRUSTED && verdict->view.line)
		note(verdict, "kernel-log", "Kernel log: \"%.200s\"", verdict->view.line->text);
	if (evidence->warp.cpu_count && evidence->warp.cpu_count < evidence->warp.allowed)
		note(verdict, "cpus-left-out", "%zu of %zu CPUs were tested.",
			evidence->warp.cpu_count, evidence->warp.allowed);
}

/* ---- the verdict ---- */

/* Calibration explains no rate that is this far off: the counter's rate has changed. */
static bool rate_has_changed(const struct rate rates[RATE_COUNT])
{
	return rate_difference(&rates[RATE_LOG], &rates[RATE_MEASURED]) > RATE_CLAIM_LIMIT_PPM;
}

/* Returns false if nothing was seen to be wrong. */
static bool judge_faults(const struct counter_evidence *evidence,
	const struct rate rates[RATE_COUNT], struct counter_verdict *verdict)
{
	const struct warp_evidence *warp = &evidence->warp;
	const struct warp_result *counter = &warp->results[WARP_COUNTER];
	const char *name = verdict->view.x86 ? "TSC" : "counter";
	size_t moved = 0;

	while (moved < warp->pair_count && warp->pairs[moved].state != WARP_PAIR_MOVED)
		moved++;
	if (fact_is_known(&counter->fact) && counter->warps)
		conclude(verdict, COUNTER_UNSAFE, "counters-disagree",
			"programs must not read the %s here: CPU %d was up to %" PRId64
			" ns behind CPU %d.",
			name, counter->cpu_behind, counter->largest_ns, counter->cpu_ahead);
	else if (moved < warp->pair_count)
		conclude(verdict, COUNTER_UNSAFE, "counters-drift",
			"programs must not read the %s here: those of CPU %d and CPU %d drift "
			"apart.",
			name, warp->pairs[moved].cpu, warp->pairs[moved].other_cpu);
	else if (verdict->view.standing == COUNTER_FAULTY)
		conclude(verdict, COUNTER_UNSAFE, "kernel-found-faulty",
			"programs must not read the %s here: the kernel found it wrong and does not "
			"use it.",
			name);
	else if (rate_has_changed(rates))
		conclude(verdict, COUNTER_UNSAFE, "rate-changed",
			"programs must not read the %s here: its rate has changed since boot.",
			name);
	else if (verdict->view.x86 && fact_is_known(&evidence->host.host.invariant_tsc.fact) &&
		 !verdict->view.guaranteed && verdict->view.standing != COUNTER_IN_USE)
		conclude(verdict, COUNTER_UNSAFE, "not-invariant",
			"programs must not read the TSC here: the CPU does not advertise an "
			"invariant TSC, and the kernel does not use it.");
	else if (verdict->view.trapped)
		conclude(verdict, COUNTER_UNSAFE, "trapped",
			"programs should not read the %s here: each read is intercepted and takes "
			"%.0f ns.",
			name, evidence->host.timing.counter_ns);
	else
		return false;
	return true;
}

/* Returns false if nothing is uncertain. */
static bool judge_doubts(const struct counter_evidence *evidence, struct counter_verdict *verdict)
{
	const struct host_evidence *host = &evidence->host.host;
	const struct warp_evidence *warp = &evidence->warp;
	const struct warp_result *counter = &warp->results[WARP_COUNTER];
	const char *name = verdict->view.x86 ? "TSC" : "counter";

	if (verdict->view.x86 && !verdict->view.guaranteed)
		conclude(verdict, COUNTER_UNKNOWN, "not-guaranteed",
			fact_is_known(&host->invariant_tsc.fact)
				? "the kernel uses the TSC, but the CPU does not advertise an "
				  "invariant TSC here."
				: "whether the TSC is invariant is not known: %s.",
			host->invariant_tsc.fact.reason);
	else if (verdict->view.standing == COUNTER_DISTRUSTED)
		conclude(verdict, COUNTER_UNKNOWN, "kernel-distrusts",
			"the kernel dropped the %s, and nothing shows whether it was right.", name);
	else if (verdict->view.standing == COUNTER_DISABLED)
		conclude(verdict, COUNTER_UNKNOWN, "disabled",
			"the %s is disabled on the kernel command line, so the kernel does not watch "
			"it.",
			name);
	else if (verdict->view.standing == COUNTER_NOT_OFFERED)
		conclude(verdict, COUNTER_UNKNOWN, "not-offered",
			"the kernel does not offer the %s, and nothing shows why.", name);
	else if (verdict->view.page_unstable)
		conclude(verdict, COUNTER_UNKNOWN, "kvm-unstable",
			"KVM does not mark the TSC stable: its host does not use the TSC, or those "
			"of this guest's CPUs differ.");
	else if (fact_is_flag(&host->xen_tsc_reliable, false) &&
		 verdict->view.standing != COUNTER_IN_USE)
		conclude(verdict, COUNTER_UNKNOWN, "xen-unreliable",
			"Xen considers the TSC of its host unreliable.");
	else if (!fact_is_known(&counter->fact))
		conclude(verdict, COUNTER_UNKNOWN, "not-tested",
			"the %s could not be tested on all CPUs: %s.", name, counter->fact.reason);
	else if (warp->cpu_count == 1 &&
		 !(fact_is_known(&host->cpu_count.fact) && host->cpu_count.value == 1))
		conclude(verdict, COUNTER_UNKNOWN, "one-cpu",
			"this process may run on CPU %d only, and the %s of CPUs cannot be compared.",
			warp->cpus[0], name);
	else if (warp->cpu_count > 1 && !fact_is_known(&counter->apart.fact))
		conclude(verdict, COUNTER_UNKNOWN, "not-compared",
			"the %s of some CPUs could not be compared: %s.", name,
			counter->apart.fact.reason);
	else
		return false;
	return true;
}

/* Returns what ends a safe verdict on this platform; NULL: nothing known. */
static const char *find_end(
	const struct counter_evidence *evidence, const struct counter_view *view)
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

static void judge_safe(const struct counter_evidence *evidence, struct counter_verdict *verdict)
{
	const char *name = verdict->view.x86 ? "TSC" : "counter";
	char mhz[48], rate[64] = "", cpus[48];

	if (fact_is_known(&verdict->hz.fact))
		snprintf(rate, sizeof(rate), " %s MHz,", format_mhz(verdict->hz.value, 4, mhz));
	if (evidence->warp.cpu_count == 1)
		snprintf(cpus, sizeof(cpus), "on the only CPU");
	else
		snprintf(cpus, sizeof(cpus), "in step on %s%zu CPUs",
			evidence->host.host.cpu_count.value == (int64_t)evidence->warp.cpu_count
				? "all "
				: "",
			evidence->warp.cpu_count);
	conclude(verdict, COUNTER_SAFE, "safe", "programs may read the %s here:%s %s.", name, rate,
		cpus);
	verdict->until = find_end(evidence, &verdict->view);
}

void counter_judge(const struct counter_evidence *evidence, const struct rate rates[RATE_COUNT],
	struct counter_verdict *verdict)
{
	const struct host_evidence *host = &evidence->host.host;
	const struct rate *first = rate_first(rates);

	*verdict = (struct counter_verdict){.outcome = COUNTER_UNKNOWN};
	if (first)
		fact_set_real(&verdict->hz, first->hz);
	counter_view_make(&evidence->host, &verdict->view);
	if (evidence->readable.state == FACT_FAILED)
		conclude(verdict, COUNTER_UNSAFE, "unreadable",
			"programs must not read the counter here: %s%s.", evidence->readable.reason,
			fact_is_flag(&host->counter_disabled, true)
				? ", because prctl(PR_SET_TSC) was called for this process"
				: "");
	else if (!fact_is_known(&evidence->readable))
		conclude(verdict, COUNTER_UNKNOWN, "no-counter", "the counter was not read: %s.",
			evidence->readable.reason);
	else if (fact_is_known(&host->emulator.fact))
		conclude(verdict, COUNTER_UNKNOWN, "emulated",
			"this program runs in an emulator (%s), which has a counter of its own.",
			host->emulator.value);
	else if (!judge_faults(evidence, rates, verdict) && !judge_doubts(evidence, verdict))
		judge_safe(evidence, verdict);
	note_rates(rates, verdict);
	note_host(evidence, verdict);
}

const char *const counter_outcome_names[] = {
	[COUNTER_UNKNOWN] = "unknown",
	[COUNTER_SAFE] = "safe",
	[COUNTER_UNSAFE] = "unsafe",
	NULL,
};
