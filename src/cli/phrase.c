/* SPDX-License-Identifier: MIT */
#include "cli/phrase.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "cli/wrap.h"
#include "judge/signs.h"
#include "judge/tally.h"

/* The rate that the cost is worked out for if none is given: a busy service, no record. */
#define EXAMPLE_RATE 100000.0

void phrase_add(struct phrase *phrase, const char *format, ...)
{
	size_t left = sizeof(phrase->text) - phrase->used;
	va_list arguments;
	int wrote;

	va_start(arguments, format);
	wrote = vsnprintf(phrase->text + phrase->used, left, format, arguments);
	va_end(arguments);
	if (wrote > 0)
		phrase->used += (size_t)wrote < left ? (size_t)wrote : left - 1;
}

void phrase_clocksource(const struct evidence *evidence, struct phrase *phrase)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;

	if (fact_is_known(&clocksource->current_fact))
		phrase_add(phrase, "%s", clocksource->current);
	else
		phrase_add(phrase, "not known: %s", clocksource->current_fact.reason);
	if (*clocksource->changed_to)
		phrase_add(phrase, ", and %s a moment later", clocksource->changed_to);
	if (clocksource->changes > 1)
		phrase_add(phrase, " (%u changes)", clocksource->changes);
	if (fact_is_known(&clocksource->available_fact)) {
		phrase_add(phrase, "; available:");
		for (size_t i = 0; i < clocksource->available_count; i++)
			phrase_add(phrase, " %s", clocksource->available[i]);
	}
}

/* "__vdso_time" is time() to everybody but the linker. */
static const char *plain_name(const char *export)
{
	static const char *const prefixes[] = {"__vdso_", "__kernel_"};

	for (size_t i = 0; i < 2; i++) {
		size_t length = strlen(prefixes[i]);

		if (strncmp(export, prefixes[i], length) == 0)
			return export + length;
	}
	return export;
}

void phrase_vdso(const struct evidence *evidence, struct phrase *phrase)
{
	const struct vdso_evidence *vdso = &evidence->vdso;

	if (!fact_is_known(&vdso->fact)) {
		phrase_add(phrase, "%s: %s", vdso->fact.state == FACT_ABSENT ? "none" : "not known",
			vdso->fact.reason);
	} else {
		phrase_add(phrase, "%s exports", *vdso->soname ? vdso->soname : "without a name,");
		for (size_t i = 0; i < vdso->export_count; i++)
			phrase_add(phrase, " %s", plain_name(vdso->exports[i].name));
	}
}

void phrase_vclock(const struct evidence *evidence, struct phrase *phrase)
{
	const struct vclock_evidence *vclock = &evidence->vclock;

	if (vclock->how == VCLOCK_UNKNOWN)
		phrase_add(phrase, "not known: %s", vclock->fact.reason);
	else if (vclock->mode == VCLOCK_MODE_NONE)
		phrase_add(phrase, "0, none: nothing that user space could read");
	else
		phrase_add(phrase, "%" PRId64 ", %s", vclock->mode,
			*vclock->name ? vclock->name : "of a name not known here");
	if (vclock->how == VCLOCK_READ)
		phrase_add(phrase, " (read from the vDSO's data page%s)",
			vclock->time_namespace ? ", in a time namespace" : "");
	if (vclock->how == VCLOCK_COPY)
		phrase_add(phrase, " (found on a copy of the vDSO)");
	if (vclock->how == VCLOCK_INFERRED)
		phrase_add(
			phrase, " (inferred from clocksource and proof: %s)", vclock->fact.reason);
}

static const char *method_name(enum proof_method method)
{
	return method == PROOF_SECCOMP ? "seccomp" : "ptrace";
}

static void add_share(struct phrase *phrase, const char *by, const struct tally *tally)
{
	char entered[32], attempts[32];

	phrase_add(phrase, "%s%s of %s", by, wrap_count(tally->entered, entered),
		wrap_count(tally->attempts, attempts));
}

/* One number for both ways, unless they differ: then that is the news. */
static void add_counts(const struct evidence *evidence, struct phrase *phrase)
{
	struct tally vdso = tally_by(evidence, PATH_VDSO);
	struct tally libc = tally_by(evidence, PATH_LIBC);
	struct tally both = {
		.entered = vdso.entered + libc.entered, .attempts = vdso.attempts + libc.attempts};
	bool alike =
		(uint64_t)vdso.entered * libc.attempts == (uint64_t)libc.entered * vdso.attempts;

	if (alike) {
		add_share(phrase, "", &both);
	} else {
		add_share(phrase, "by vDSO ", &vdso);
		add_share(phrase, ", by libc ", &libc);
	}
}

void phrase_proof(const struct evidence *evidence, struct phrase *phrase)
{
	const struct proof_evidence *proof = &evidence->proof;

	if (!fact_is_known(&proof->fact)) {
		phrase_add(phrase, "not taken: %s",
			*proof->fact.reason ? proof->fact.reason : "nothing was measured");
		return;
	}
	if (tally_deciding(evidence).signal) {
		phrase_add(phrase, "the deciding calls (*) do not come back: %s",
			fault_signal_name(tally_deciding(evidence).signal));
		return;
	}
	add_counts(evidence, phrase);
	phrase_add(
		phrase, " deciding calls (*) entered the kernel (%s)", method_name(proof->method));
	if (*proof->note)
		phrase_add(phrase, "; %s", proof->note);
}

void phrase_timing(const struct evidence *evidence, struct phrase *phrase)
{
	const struct timing_evidence *timing = &evidence->timing;
	const struct fact *fact =
		fact_is_known(&timing->fact) ? &timing->entry_fact : &timing->fact;

	if (evidence->live && !fact_is_known(fact))
		phrase_add(phrase, "not taken: %s",
			*fact->reason ? fact->reason : "nothing was measured");
}

static const char *guest_name(const char *word)
{
	static const struct {
		const char *word;
		const char *name;
	} names[] = {
		{"amazon", "Amazon EC2"},
		{"google", "Google Compute Engine"},
		{"kvm", "KVM"},
		{"microsoft", "Hyper-V"},
		{"qemu", "QEMU"},
		{"vmware", "VMware"},
		{"xen", "Xen"},
		{"oracle", "VirtualBox"},
		{"vm-other", "unknown hypervisor's"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].word, word) == 0)
			return names[i].name;
	}
	return word;
}

static void add_text(struct phrase *phrase, const char *before, const struct text_fact *text)
{
	if (fact_is_known(&text->fact))
		phrase_add(phrase, "%s%s%s", phrase->used ? ", " : "", before, text->value);
}

void phrase_host(const struct evidence *evidence, struct phrase *phrase)
{
	const struct host_evidence *host = &evidence->host;

	if (fact_is_known(&host->hypervisor.fact))
		phrase_add(phrase, "%s guest", guest_name(host->hypervisor.value));
	if (strcmp(host->platform.value, "bare-metal") != 0)
		add_text(phrase, "platform: ", &host->platform);
	add_text(phrase, "container: ", &host->container);
	add_text(phrase, "Linux ", &host->kernel);
	add_text(phrase, "", &host->arch);
	add_text(phrase, "", &host->cpu);
	if (fact_is_known(&host->invariant_tsc.fact))
		phrase_add(phrase, "%sTSC %s", phrase->used ? ", " : "",
			!host->invariant_tsc.value        ? "not invariant"
			: sign_tsc_is_invariant(evidence) ? "invariant"
							  : "invariant by CPUID alone");
	if (fact_is_known(&host->boot.fact) && *host->boot.value)
		phrase_add(phrase, "; booted with %s", host->boot.value);
	if (!phrase->used)
		phrase_add(phrase, "not known: %s", host->kernel.fact.reason);
}

/* "CLOCK_MONOTONIC_COARSE" without what all have in common. */
static const char *plain_clock(const char *clock)
{
	return strncmp(clock, "CLOCK_", 6) == 0 ? clock + 6 : clock;
}

void phrase_call(const struct call_evidence *call, struct phrase *phrase)
{
	phrase_add(phrase, "%s%s%s", call->call, *call->clock ? " " : "", plain_clock(call->clock));
}

void phrase_entering(const struct call_evidence *call, struct phrase *phrase)
{
	const struct path_evidence *path = &call->path[call_judged_path(call)];
	char entered[32], attempts[32];

	if (path->signal)
		phrase_add(phrase, "%s", fault_signal_name(path->signal));
	else if (!path->attempts)
		phrase_add(phrase, "not proven");
	else if (path->entered == 0)
		phrase_add(phrase, "never");
	else if (path->entered == path->attempts)
		phrase_add(phrase, "always");
	else
		phrase_add(phrase, "%s of %s", wrap_count(path->entered, entered),
			wrap_count(path->attempts, attempts));
}

/* More than one CPU's time is not a percentage of it. */
static void add_cpu_share(struct phrase *phrase, double ns, double rate)
{
	double percent = cost_share_percent(ns, rate);

	if (percent < 0.05)
		phrase_add(phrase, "less than 0.1%% of one CPU");
	else if (percent < 99.95)
		phrase_add(phrase, "%.1f%% of one CPU", percent);
	else
		phrase_add(phrase, "%.1f CPUs", percent / 100);
}

/* At a rate that no thread can reach, only where the user gave it. */
static void add_rate(const struct cost *cost, struct phrase *phrase)
{
	double rate = cost->rate > 0 ? cost->rate : EXAMPLE_RATE;
	double most = cost_calls_per_thread(cost);
	double lost = cost_lost_ns(cost);
	char calls[32];

	if (cost->rate > 0 || rate <= most) {
		phrase_add(phrase, ": at %s calls/s, ", wrap_count((uint64_t)rate, calls));
		add_cpu_share(phrase, lost > 0 ? lost : cost->call_ns, rate);
		if (lost > 0)
			phrase_add(phrase, " lost");
	}
	if (rate > most)
		phrase_add(phrase, "%s one thread makes at most %s calls/s",
			cost->rate > 0 ? ";" : ":", wrap_count((uint64_t)most, calls));
}

void phrase_cost(const struct judgement *judgement, struct phrase *phrase)
{
	const struct cost *cost = &judgement->cost;
	char ns[32], other[32], calls[32];

	if (!cost->known)
		return;
	phrase_add(phrase, "%s ns per call%s", wrap_ns(cost->call_ns, ns),
		cost->mixed ? " on average" : "");
	if (judgement->ruling.verdict != VERDICT_OK) {
		if (cost_lost_ns(cost) > 0)
			phrase_add(phrase,
				cost->measured
					? ", where the CPU's counter would take %s ns (measured "
					  "on a copy of the vDSO)"
					: ", where user space would take about %s ns",
				wrap_ns(cost->user_space_ns, other));
		else if (cost->measured)
			phrase_add(phrase,
				"; the CPU's counter would gain nothing (%s ns, measured on a "
				"copy of the vDSO)",
				wrap_ns(cost->user_space_ns, other));
		add_rate(cost, phrase);
	} else {
		phrase_add(phrase, ", where a system call would take %s ns",
			wrap_ns(cost->syscall_ns, other));
		if (cost->rate > 0) {
			phrase_add(phrase, ": at %s calls/s, ",
				wrap_count((uint64_t)cost->rate, calls));
			add_cpu_share(phrase, cost->call_ns, cost->rate);
			phrase_add(phrase, " instead of ");
			add_cpu_share(phrase, cost->syscall_ns, cost->rate);
		}
	}
	phrase_add(phrase, ".");
}
