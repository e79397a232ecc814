/* SPDX-License-Identifier: MIT */
/*
 * The counter's rate by each source. The kernel's own figure comes first: the time that programs
 * compare with is made of it. That of CPUID comes last, since a hypervisor may not keep it.
 */
#include "model.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define PPM 1e6
#define HZ_PER_MHZ 1e6

/* quick_pit_calibrate() of arch/x86/kernel/tsc.c allows this. */
#define FIRST_CALIBRATION_PPM 500

static struct rate rate_by(const char *source, const struct fact *fact, double hz, double error_ppm)
{
	return (struct rate){.source = source, .fact = *fact, .hz = hz, .error_ppm = error_ppm};
}

/* A number in whole units of `step` Hz. */
static struct rate claim_by(const char *source, const struct number_fact *hz, double step)
{
	double value = (double)hz->value;

	return rate_by(
		source, &hz->fact, value, fact_is_known(&hz->fact) ? step / value / 2 * PPM : 0);
}

/*
 * "tsc: Refined TSC clocksource calibration: 2599.998 MHz" is what the kernel uses from then on;
 * "tsc: Detected 2600.000 MHz processor" is all that it had before, or, where a hypervisor gave the
 * rate (tsc_known_freq), to the end. arch/x86/kernel/tsc.c, 3.10 to 7.3.
 */
static struct rate rate_by_log(const struct evidence *host)
{
	static const char *const marks[] = {
		"Refined TSC clocksource calibration: ", "tsc: Detected "};

	const struct kernel_log_evidence *log = &host->kernel_log;
	struct rate rate = rate_by("kernel log", &log->fact, 0, 0);
	bool known = tsc_has_flag(host, "tsc_known_freq");

	if (!host_is_x86(host))
		fact_set(&rate.fact, FACT_ABSENT, "the kernel logs the rate of x86 alone");
	if (!fact_is_known(&rate.fact))
		return rate;
	fact_set(&rate.fact, FACT_ABSENT, "the kernel log has no line with it");
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		for (size_t k = log->count; k-- > 0;) {
			const char *at = strstr(log->lines[k].text, marks[i]);
			struct span text, word;
			double mhz;

			if (!at)
				continue;
			text = text_span(at + strlen(marks[i]));
			if (!text_next_word(&text, &word) || !number_parse_decimal(word, &mhz) ||
				mhz < 1 || mhz > 1e6)
				continue;
			fact_set_known(&rate.fact);
			rate.hz = mhz * HZ_PER_MHZ;
			rate.error_ppm = i && !known ? FIRST_CALIBRATION_PPM : 0.0005 / mhz * PPM;
			return rate;
		}
	}
	return rate;
}

/* A hypervisor that has a leaf for the rate knows it; in its guests CPUID's may be another CPU's.
 */
static struct rate rate_by_claim(const struct counter_evidence *evidence)
{
	const struct counter_claims *claims = &evidence->claims;

	if (!host_is_x86(&evidence->host))
		return claim_by("CNTFRQ_EL0", &evidence->register_hz, 1);
	if (fact_is_known(&claims->hypervisor_hz.fact))
		return claim_by("hypervisor's CPUID leaf", &claims->hypervisor_hz, 1e3);
	if (fact_is_known(&claims->base_hz.fact) && !fact_is_known(&claims->crystal_hz.fact))
		return claim_by("CPUID 0x16", &claims->base_hz, HZ_PER_MHZ);
	return claim_by("CPUID 0x15", &claims->crystal_hz, 1);
}

void rate_list(const struct counter_evidence *evidence, struct rate rates[RATE_COUNT])
{
	const struct vvar_rate *page = &evidence->page;
	const struct warp_drift *drift = &evidence->warp.drift;
	const struct text_fact *emulator = &evidence->host.host.emulator;
	double lasted_ns = evidence->warp.duration_s * 1e9;
	double step_ns =
		evidence->raw_step_ns + (drift->counter_hz > 0 ? 1e9 / drift->counter_hz : 0);
	double step_ppm = lasted_ns > 0 ? step_ns / lasted_ns * PPM : 0;
	const struct rate *first;

	rates[RATE_PAGE] =
		rate_by("kernel, vDSO data page", &page->fact, page->hz, page->step / 2 * PPM);
	rates[RATE_MEASURED] = rate_by("measured, CLOCK_MONOTONIC_RAW", &drift->fact,
		drift->counter_hz, drift->hz_error_ppm + step_ppm);
	rates[RATE_LOG] = rate_by_log(&evidence->host);
	rates[RATE_CLAIM] = rate_by_claim(evidence);
	for (int id = 0; id < RATE_COUNT && fact_is_known(&emulator->fact); id++) {
		if (id != RATE_MEASURED)
			fact_set(&rates[id].fact, FACT_ABSENT, "it is not the emulator's (%s)",
				emulator->value);
	}
	first = rate_first(rates);
	for (int id = 0; id < RATE_COUNT && first; id++)
		rates[id].off_ppm = (rates[id].hz / first->hz - 1) * PPM;
}

const struct rate *rate_first(const struct rate rates[RATE_COUNT])
{
	for (int id = 0; id < RATE_COUNT; id++) {
		if (fact_is_known(&rates[id].fact) && rates[id].hz > 0)
			return &rates[id];
	}
	return NULL;
}

double rate_difference(const struct rate *one, const struct rate *other)
{
	double difference;

	if (!fact_is_known(&one->fact) || !fact_is_known(&other->fact))
		return 0;
	difference = fabs(one->hz / other->hz - 1) * PPM - one->error_ppm - other->error_ppm;
	return difference > 0 ? difference : 0;
}
