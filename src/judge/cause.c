/* SPDX-License-Identifier: MIT */
#include "judge/cause.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/text.h"
#include "judge/tally.h"
#include "judge/vclock.h"

struct rule {
	const char *id;
	bool (*applies)(const struct evidence *evidence, enum verdict verdict);
	const char *text;
	void (*support)(const struct evidence *evidence, struct cause *cause);
};

static void add_evidence(struct cause *cause, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_evidence(struct cause *cause, const char *format, ...)
{
	va_list arguments;

	if (cause->evidence_count == CAUSE_EVIDENCE_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(cause->evidence[cause->evidence_count], FACT_REASON_SIZE, format, arguments);
	va_end(arguments);
	cause->evidence_count++;
}

static bool current_is(const struct evidence *evidence, const char *name)
{
	return fact_is_known(&evidence->clocksource.current_fact) &&
	       strcmp(evidence->clocksource.current, name) == 0;
}

/* The vDSO is there and is entered through, so it is the clock mode that is missing. */
static bool vdso_falls_back(const struct evidence *evidence, enum verdict verdict)
{
	return verdict == VERDICT_FALLBACK && fact_is_known(&evidence->vdso.fact) &&
	       tally_by(evidence, PATH_VDSO).entered > 0;
}

static void support_by_mode(const struct evidence *evidence, struct cause *cause)
{
	const struct vclock_evidence *vclock = &evidence->vclock;

	if (fact_is_known(&evidence->clocksource.current_fact))
		add_evidence(cause, "clocksource: %s", evidence->clocksource.current);
	if (vclock->how != VCLOCK_UNKNOWN)
		add_evidence(cause, "vclock mode: %lld, %s (%s)", (long long)vclock->mode,
			*vclock->name ? vclock->name : "no name",
			vclock->how == VCLOCK_READ ? "read" : "inferred");
	if (fact_is_known(&vclock->pvclock_stable.fact))
		add_evidence(cause, "pvclock page: TSC_STABLE bit %s",
			vclock->pvclock_stable.value ? "set" : "not set");
	if (fact_is_known(&vclock->hyperv_sequence.fact))
		add_evidence(cause, "Hyper-V page: tsc_sequence %lld",
			(long long)vclock->hyperv_sequence.value);
}

static bool has_no_vdso(const struct evidence *evidence, enum verdict verdict)
{
	return verdict == VERDICT_FALLBACK && evidence->vdso.fact.state == FACT_ABSENT;
}

static void support_no_vdso(const struct evidence *evidence, struct cause *cause)
{
	add_evidence(cause, "%s", evidence->vdso.fact.reason);
	if (fact_is_known(&evidence->host.boot.fact) && *evidence->host.boot.value)
		add_evidence(cause, "boot parameters: %s", evidence->host.boot.value);
}

static bool has_plain_clocksource(const struct evidence *evidence, enum verdict verdict)
{
	return vdso_falls_back(evidence, verdict) &&
	       fact_is_known(&evidence->clocksource.current_fact) &&
	       vclock_name_has_no_mode(evidence->clocksource.current);
}

static bool is_xen(const struct evidence *evidence, enum verdict verdict)
{
	return vdso_falls_back(evidence, verdict) && current_is(evidence, "xen");
}

static bool is_kvm_clock(const struct evidence *evidence, enum verdict verdict)
{
	return vdso_falls_back(evidence, verdict) && current_is(evidence, "kvm-clock");
}

static bool is_hyperv_page(const struct evidence *evidence)
{
	return current_is(evidence, "hyperv_clocksource_tsc_page");
}

static bool is_hyperv_without_mode(const struct evidence *evidence, enum verdict verdict)
{
	return vdso_falls_back(evidence, verdict) && is_hyperv_page(evidence) &&
	       evidence->vclock.how == VCLOCK_READ && evidence->vclock.mode == VCLOCK_MODE_NONE;
}

static bool is_hyperv_withdrawn(const struct evidence *evidence, enum verdict verdict)
{
	const struct number_fact *sequence = &evidence->vclock.hyperv_sequence;

	return vdso_falls_back(evidence, verdict) && is_hyperv_page(evidence) &&
	       evidence->vclock.how == VCLOCK_READ &&
	       evidence->vclock.mode != VCLOCK_MODE_NONE &&
	       fact_is_known(&sequence->fact) && sequence->value == 0;
}

static bool is_arm_erratum(const struct evidence *evidence, enum verdict verdict)
{
	return vdso_falls_back(evidence, verdict) && current_is(evidence, "arch_sys_counter");
}

static bool is_libc(const struct evidence *evidence, enum verdict verdict)
{
	(void)verdict;
	return tally_by(evidence, PATH_LIBC).entered > 0 &&
	       tally_by(evidence, PATH_VDSO).proven > 0 &&
	       tally_by(evidence, PATH_VDSO).entered == 0;
}

static void support_libc(const struct evidence *evidence, struct cause *cause)
{
	struct tally tally = tally_by(evidence, PATH_LIBC);

	add_evidence(cause, "%u of %u calls through %s entered the kernel, none of the vDSO's own",
		tally.entered, tally.attempts,
		fact_is_known(&evidence->host.libc.fact) ? evidence->host.libc.value : "libc");
}

static bool is_counter_trapped(const struct evidence *evidence, enum verdict verdict)
{
	(void)evidence;
	return verdict == VERDICT_SLOW;
}

static void support_counter(const struct evidence *evidence, struct cause *cause)
{
	add_evidence(cause, "%s: %.1f ns, the cheapest system call: %.1f ns",
		evidence->timing.counter, evidence->timing.counter_ns, evidence->timing.entry_ns);
}

static bool is_counter_off(const struct evidence *evidence, enum verdict verdict)
{
	(void)verdict;
	return fact_is_known(&evidence->host.counter_off.fact) && evidence->host.counter_off.value;
}

static void support_counter_off(const struct evidence *evidence, struct cause *cause)
{
	int signal = tally_deciding(evidence).signal;

	add_evidence(cause, "prctl(PR_GET_TSC): PR_TSC_SIGSEGV");
	if (signal)
		add_evidence(cause, "clock_gettime ends with %s", fault_signal_name(signal));
}

/* Comes last: nothing above knows why. */
static bool is_unexplained(const struct evidence *evidence, enum verdict verdict)
{
	return vdso_falls_back(evidence, verdict);
}

static const struct rule rules[] = {
	{"counter-off", is_counter_off,
		"The counter is switched off for this process and those it starts "
		"(prctl(PR_SET_TSC)): asking for the time crashes them.",
		support_counter_off},
	{"no-vdso", has_no_vdso,
		"The kernel, or an emulator in its place, gives programs no vDSO: there is "
		"nothing in user space to ask.",
		support_no_vdso},
	{"clocksource-without-vdso", has_plain_clocksource,
		"No vDSO can read this clocksource: only the kernel reaches its hardware.",
		support_by_mode},
	{"xen-clock-unstable", is_xen,
		"Xen does not promise this guest a stable TSC, or the kernel is too old (before "
		"4.16) to let the vDSO read Xen's clock.",
		support_by_mode},
	{"kvm-clock-unstable", is_kvm_clock,
		"The hypervisor does not promise a stable TSC, so kvm-clock gives the vDSO nothing "
		"to read.",
		support_by_mode},
	{"hyperv-without-vdso", is_hyperv_without_mode,
		"The clocksource's name promises Hyper-V's page, but this kernel lets no vDSO read "
		"it: a kernel defect.",
		support_by_mode},
	{"hyperv-page-invalid", is_hyperv_withdrawn,
		"The hypervisor has marked its clock page as not valid, so each call has to ask it "
		"through the kernel.",
		support_by_mode},
	{"arm-counter-erratum", is_arm_erratum,
		"The kernel keeps this CPU's counter from the vDSO: it has an erratum that only "
		"the kernel works around.",
		support_by_mode},
	{"libc-passes-vdso", is_libc,
		"The C library in use does not ask the vDSO, though it would answer.",
		support_libc},
	{"counter-trapped", is_counter_trapped,
		"Reading the CPU's counter is caught by the hypervisor or an emulator, which costs "
		"as much as a system call.",
		support_counter},
};

static const struct rule unexplained = {"fallback-unexplained", is_unexplained,
	"The vDSO is there, but the clock it reads sends every call on to the kernel.",
	support_by_mode};

static void write_cause(
	const struct evidence *evidence, const struct rule *rule, struct cause *cause)
{
	*cause = (struct cause){.id = rule->id};
	text_copy(cause->text, sizeof(cause->text), rule->text);
	rule->support(evidence, cause);
}

size_t cause_find(
	const struct evidence *evidence, enum verdict verdict, struct cause causes[CAUSE_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && count < CAUSE_MAX; i++) {
		if (rules[i].applies(evidence, verdict))
			write_cause(evidence, &rules[i], &causes[count++]);
	}
	if (count == 0 && unexplained.applies(evidence, verdict))
		write_cause(evidence, &unexplained, &causes[count++]);
	return count;
}
