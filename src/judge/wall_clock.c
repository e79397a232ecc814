/* SPDX-License-Identifier: MIT */
/*
 * Judges the wall clock beside the clocks outside of this guest: whether it is behind, and since
 * when. A restore stops the guest's clock for the age of the snapshot, and only NTP or the host
 * moves it on.
 */
#include "view.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/time.h"

/* A difference that people and certificates notice, beyond its error. */
#define OFF_S 1.0

/*
 * The kernel adds this to the maximum error in each second that NTP does not set it: MAXFREQ,
 * include/linux/timex.h of 2.6 to 7.x. So it was set less than max_error_us / 500 seconds ago.
 */
#define MAX_ERROR_US_PER_S 500.0

const char *const wall_clock_names[] = {"unknown", "right", "behind", "ahead", NULL};

static const char *const sources[] = {
	[WITNESS_VMCLOCK] = "the host's clock (/dev/vmclock0)",
	[WITNESS_PTP] = "the host's clock (PTP)",
	[WITNESS_RTC] = "the RTC",
	[WITNESS_NTP] = "the NTP servers' time",
};

const struct witness *witness_of(const struct evidence *evidence, enum witness_source source)
{
	for (size_t i = 0; i < evidence->witness_count; i++) {
		if (evidence->witnesses[i].source == source &&
			fact_is_known(&evidence->witnesses[i].fact))
			return &evidence->witnesses[i];
	}
	return NULL;
}

/* The base was replaced while this kernel ran: at its boot the page had another one. */
static bool was_restored(const struct base_evidence *base)
{
	return fact_is_known(&base->fact) && base->uptime_s > base->error_s && base->ago_s > 0;
}

/* After a restore the kernel's state is that of the snapshot, until NTP sets it again. */
static bool ntp_is_current(const struct evidence *evidence)
{
	const struct ntp_evidence *ntp = &evidence->ntp;

	return fact_is_known(&ntp->fact) && ntp->synchronized &&
	       (!was_restored(&evidence->base) ||
		       evidence->base.ago_s > (double)ntp->max_error_us / MAX_ERROR_US_PER_S);
}

/*
 * The narrowest of the clocks that have the time of day. Of the RTC only a guest's is the host's;
 * it counts where NTP has not set the clock.
 */
static const struct witness *find_reference(const struct evidence *evidence)
{
	static const enum witness_source candidates[] = {WITNESS_VMCLOCK, WITNESS_PTP, WITNESS_RTC};
	bool is_guest = fact_is_known(&evidence->host.hypervisor.fact);
	const struct witness *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
		const struct witness *witness = witness_of(evidence, candidates[i]);

		if (!witness ||
			(candidates[i] == WITNESS_RTC && (!is_guest || ntp_is_current(evidence))))
			continue;
		if (!best || witness->error_s < best->error_s)
			best = witness;
	}
	return best || !ntp_is_current(evidence) ? best : witness_of(evidence, WITNESS_NTP);
}

/* "1 h 5 min", "3.4 s"; in a buffer that the next call reuses. */
static const char *as_span(double seconds)
{
	static const struct {
		int s;
		const char *name, *rest;
	} units[] = {{86400, "d", "h"}, {3600, "h", "min"}, {60, "min", "s"}};
	static const int rests[] = {3600, 60, 1};
	int64_t whole = llround(fmin(seconds, 1e15));
	static char text[AS_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (whole < units[i].s)
			continue;
		snprintf(text, sizeof(text), "%lld %s %lld %s", (long long)(whole / units[i].s),
			units[i].name, (long long)(whole % units[i].s / rests[i]), units[i].rest);
		return text;
	}
	snprintf(text, sizeof(text), "%.1f s", seconds);
	return text;
}

#define ADD(text, ...) text_append(text, sizeof(text), __VA_ARGS__)

static void summarize(const struct evidence *evidence, struct wall_clock *wall)
{
	const char *clocksource = evidence->clocksource.current;
	const char *age = as_age(evidence->base.ago_s);
	const char *off = as_span(fabs(wall->offset_s));

	if (wall->restored) {
		ADD(wall->ask,
			"By its pvclock page this guest was restored, migrated or paused %s before "
			"this report. What happened then? Does the hypervisor move the guest's clock "
			"on (KVM_SET_CLOCK with KVM_CLOCK_REALTIME), and which time source, PTP or "
			"NTP, is meant for a guest to set its own?",
			age);
	}
	if (wall->state == WALL_CLOCK_UNKNOWN && wall->restored) {
		ADD(wall->summary,
			"this guest was restored, migrated or paused (or a CPU was added) %s ago, and "
			"no other clock shows whether its time was set since. Compare 'date -u' with "
			"the host's; 'timedatectl' shows whether NTP sets it.",
			age);
		return;
	}
	if (wall->state == WALL_CLOCK_UNKNOWN) {
		ADD(wall->summary, "no other clock that could be read has the time of day.");
		return;
	}
	if (wall->state == WALL_CLOCK_RIGHT) {
		ADD(wall->summary, "the clock is within %s of %s",
			as_span(wall->error_s + fabs(wall->offset_s)), sources[wall->source]);
		if (wall->restored)
			ADD(wall->summary, "; this guest was restored, migrated or paused %s ago",
				age);
		ADD(wall->summary, ".");
		return;
	}
	if (wall->source == WITNESS_PVCLOCK) {
		ADD(wall->summary,
			"tsc missed %s when this guest was restored, migrated or paused %s ago: the "
			"clock is behind by that, unless it was set since.",
			off, age);
	} else {
		ADD(wall->summary, "%s %s %s", off,
			wall->state == WALL_CLOCK_BEHIND ? "behind" : "ahead of",
			sources[wall->source]);
		if (wall->restored && wall->state == WALL_CLOCK_BEHIND)
			ADD(wall->summary,
				": this guest was restored, migrated or paused %s ago, and %s goes on "
				"from where it stood",
				age, *clocksource ? clocksource : "its clocksource");
		ADD(wall->summary, ".");
	}
	ADD(wall->summary,
		" To set it, run 'chronyc makestep' (chrony) or restart systemd-timesyncd.");
}

/* What happens to this guest's clocks when it is restored from a snapshot that is taken now. */
static void describe_restore(const struct evidence *evidence, struct wall_clock *wall)
{
	const char *clocksource = evidence->clocksource.current;
	bool follows_host = strcmp(evidence->vclock.name, "pvclock") == 0 ||
	                    strcmp(evidence->vclock.name, "hvclock") == 0;
	const struct witness *reference = find_reference(evidence);
	const char *signs[] = {
		fact_is_known(&evidence->base.fact) ? "the pvclock page" : NULL,
		reference && reference->source != WITNESS_NTP
			? "comparing with the other clock"
			: NULL,
		fact_is_flag(&evidence->host.vmclock, true) ? "/dev/vmclock0" : NULL,
		fact_is_flag(&evidence->host.vmgenid, true)
			? "vmgenid (the kernel's random numbers alone)"
			: NULL,
	};
	bool has_sign = false;

	if (!evidence->witness_count || !fact_is_known(&evidence->host.hypervisor.fact) ||
		!*clocksource)
		return;
	ADD(wall->on_restore,
		"After a restore from a snapshot this guest goes on with the snapshot's time: the wall "
		"clock is behind by its age until %s; ",
		ntp_is_current(evidence) ? "NTP sets it"
					 : "it is set (NTP is not synchronized here)");
	ADD(wall->on_restore, "CLOCK_MONOTONIC %s (%s). ",
		follows_host ? "goes on as the host sets its clock" : "does not count that time",
		clocksource);
	ADD(wall->on_restore,
		"Programs that read the CPU's counter themselves use a wrong rate on a different CPU. "
		"A restore can be noticed by ");
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (signs[i])
			ADD(wall->on_restore, "%s%s", has_sign ? ", " : "", signs[i]);
		has_sign |= signs[i] != NULL;
	}
	ADD(wall->on_restore, "%s.", has_sign ? "" : "nothing in this guest");
}

void wall_clock_find(const struct evidence *evidence, struct wall_clock *wall)
{
	const struct witness *reference = find_reference(evidence);
	const struct witness *page = witness_of(evidence, WITNESS_PVCLOCK);

	*wall = (struct wall_clock){.restored = was_restored(&evidence->base)};
	if (!reference && page && wall->restored && !ntp_is_current(evidence) &&
		page->offset_s < -page->error_s - OFF_S)
		reference = page;
	if (reference) {
		double limit_s = reference->error_s + OFF_S;

		wall->source = reference->source;
		wall->offset_s = reference->offset_s;
		wall->error_s = reference->error_s;
		wall->state = reference->offset_s < -limit_s  ? WALL_CLOCK_BEHIND
		              : reference->offset_s > limit_s ? WALL_CLOCK_AHEAD
		                                              : WALL_CLOCK_RIGHT;
		fact_set_known(&wall->fact);
	} else {
		fact_set(&wall->fact, FACT_ABSENT, "%s",
			evidence->witness_count ? "no other clock has the time of day"
						: "not measured");
	}
	summarize(evidence, wall);
	describe_restore(evidence, wall);
}
