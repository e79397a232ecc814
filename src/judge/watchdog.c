/* SPDX-License-Identifier: MIT */
/*
 * Finds out which of two clocks was wrong when the kernel's clocksource watchdog dropped the TSC.
 *
 * The check runs every 0.5 s (WATCHDOG_INTERVAL of kernel/time/clocksource.c, 3.10 to 7.x)
 * and logs both counters, before and now. With the rate of each, the intervals can be worked
 * out again, this time with what the kernel does not consider: a 24-bit acpi_pm wraps after
 * 4.7 s, a 32-bit hpet after 43 s (100 MHz) to 300 s (14.3 MHz), and an interval of more than
 * half of that range counts as none at all (clocksource_delta(); seven eighths since 6.13, whose
 * check skips such intervals).
 *
 * 7.2 rewrote the check. It reads the TSC between two reads of the reference, which are at most
 * 50 us apart (WATCHDOG_READOUT_MAX_NS), its limit is a share of the interval, and intervals in
 * which a counter may wrap are skipped: neither a late check nor a slow read makes it fail.
 */
#include "view.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

#define PERIOD_S 0.5
/* A timer may be late, but is never this early. */
#define SHORT_S (PERIOD_S * 0.9)
/* From 6.8 on the kernel skips a later check (WATCHDOG_INTERVAL_MAX_NS, 644649553508). */
#define LATE_S (2 * PERIOD_S)
/* 5.13 to 7.1 allow 0.4 or 0.5 ms in 0.5 s, and as much where the check comes late. */
#define ALLOWED_SHARE 1e-3
/* No TSC of any CPU runs at this rate or above. */
#define TSC_HZ_MOST 10e9
/* x86 CPUs since 2008: close enough to see whether both clocks counted an interval. */
#define TSC_HZ_USUAL_LEAST 1e9
#define TSC_HZ_USUAL_MOST 6e9
/* Two hosts between which a guest migrates have rates that differ by no more than this. */
#define TSC_RATIO_MOST 2.5
/* A guest or a laptop sleeps for minutes; hours in one interval are a TSC that was written. */
#define JUMP_S 600.0
/* Two reads, each up to 250 us late: the kernel retries what takes longer. */
#define DELAYED_READ_S 500e-6
/* Rates of two working counters differ by less, even where one was calibrated badly. */
#define SKEW_SHARE_MOST 0.1
/* Errors of the TSC's rate by the kernel's own interval, its calibration, and the CPU's brand. */
#define LOGGED_ERROR 1e-3
#define CALIBRATED_ERROR 2e-3
#define BRAND_ERROR 1e-2

/*
 * Rates to try for an hpet whose line in the log is gone: those of machines, then those of QEMU
 * (period 10 ns), Xen (STIME_PER_HPET_TICK 16 ns) and bhyve (2^24 Hz).
 */
#define HPET_RATES_OF_MACHINES 3
#define RATES_MAX 6
static const double hpet_rates[RATES_MAX] = {14318180, 24e6, 25e6, 100e6, 62.5e6, 16777216};

static bool is_tsc(const char *clocksource)
{
	return strcmp(clocksource, "tsc") == 0 || strcmp(clocksource, "tsc-early") == 0;
}

static bool skip_to(struct span *text, const char *mark)
{
	size_t length = strlen(mark);
	const char *at = memmem(text->at, text->length, mark, length);

	if (!at)
		return false;
	text->length -= (size_t)(at - text->at) + length;
	text->at = at + length;
	return true;
}

/* Reads the number after " MARK: ". */
static bool take_figure(struct span text, const char *mark, bool hex, uint64_t *value)
{
	struct span word;

	if (!skip_to(&text, mark) || !skip_to(&text, ":") || !text_next_word(&text, &word))
		return false;
	return hex ? number_parse_hex(word, value) : number_parse(word, value);
}

/* Reads "'hpet' wd_nsec: 503 wd_now: 5ca wd_last: 593 mask: ffffffff"; wd_nsec since 5.14. */
static bool take_readings(struct span text, const char *now, const char *last, const char *interval,
	struct watchdog_counter *counter)
{
	struct span name = text;
	uint64_t nanoseconds;

	if (!take_figure(text, now, true, &counter->now) ||
		!take_figure(text, last, true, &counter->last) ||
		!take_figure(text, "mask", true, &counter->mask) || !skip_to(&name, "'"))
		return false;
	text_clean_span(counter->name, sizeof(counter->name), text_take_until(&name, '\''));
	counter->read = true;
	counter->ticks = (counter->now - counter->last) & counter->mask;
	if (take_figure(text, interval, false, &nanoseconds)) {
		counter->logged = true;
		counter->seconds = (double)nanoseconds / 1e9;
	}
	return true;
}

/*
 * Reads "Watchdog                   hpet interval:        503995129ns" of 7.2, and "Clocksource".
 */
static bool take_interval(struct span text, const char *mark, struct watchdog_counter *counter)
{
	struct span name, word;
	uint64_t nanoseconds;

	if (!skip_to(&text, mark) || !text_next_word(&text, &name) ||
		!skip_to(&text, "interval:") || !text_next_word(&text, &word) ||
		!text_take_suffix(&word, "ns") || !number_parse(word, &nanoseconds))
		return false;
	text_clean_span(counter->name, sizeof(counter->name), name);
	counter->logged = true;
	counter->seconds = (double)nanoseconds / 1e9;
	return true;
}

/*
 * Reads "Clocksource 'tsc' skewed -500 ns (0 ms) over watchdog 'hpet' interval of 503 ns (0 ms)",
 * which follows the readings in 6.3 to 7.1, and may be all that is left of them.
 */
static bool take_skew(const struct kernel_log_line *line, struct watchdog_report *report)
{
	struct span text = text_span(line->text), word;
	uint64_t skew, interval;
	bool is_slow;

	if (!skip_to(&text, "Clocksource '"))
		return false;
	word = text_take_until(&text, '\'');
	text_clean_span(report->tsc.name, sizeof(report->tsc.name), word);
	if (!skip_to(&text, " skewed "))
		return false;
	is_slow = text_take_prefix(&text, "-");
	if (!text_next_word(&text, &word) || !number_parse(word, &skew) ||
		!skip_to(&text, "watchdog '"))
		return false;
	word = text_take_until(&text, '\'');
	text_clean_span(report->reference.name, sizeof(report->reference.name), word);
	if (!skip_to(&text, " interval of ") || !text_next_word(&text, &word) ||
		!number_parse(word, &interval) || (is_slow && skew > interval))
		return false;
	report->line = line;
	report->tsc.logged = report->reference.logged = true;
	report->reference.seconds = (double)interval / 1e9;
	report->tsc.seconds = (double)(is_slow ? interval - skew : interval + skew) / 1e9;
	return is_tsc(report->tsc.name);
}

/* The reference's line comes before the TSC's. */
static bool find_report(const struct kernel_log_evidence *log, struct watchdog_report *report)
{
	for (size_t i = 0; i < log->count; i++) {
		const struct kernel_log_line *line = &log->lines[i];
		struct span text = text_span(line->text);
		struct watchdog_counter counter = {.seconds = -1};

		if (take_readings(text, "wd_now", "wd_last", "wd_nsec", &counter) ||
			take_interval(text, "Watchdog ", &counter)) {
			report->reference = counter;
		} else if (take_readings(text, "cs_now", "cs_last", "cs_nsec", &counter) ||
			   take_interval(text, "Clocksource ", &counter)) {
			report->tsc = counter;
			report->line = line;
			if (is_tsc(counter.name))
				return true;
			report->reference = (struct watchdog_counter){.seconds = -1};
		}
	}
	for (size_t i = 0; i < log->count; i++) {
		if (take_skew(&log->lines[i], report))
			return true;
	}
	return false;
}

/* Returns the rate in Hz of "2099.990 MHz" in front of the mark; 0 if there is none. */
static double rate_before(const char *text, const char *mark)
{
	const char *end = strstr(text, mark);
	const char *start = end;
	double megahertz;

	while (start && start > text && strchr("0123456789.", start[-1]))
		start--;
	if (!start ||
		!number_parse_decimal((struct span){start, (size_t)(end - start)}, &megahertz))
		return 0;
	return megahertz * 1e6;
}

double tsc_find_hz(const struct evidence *evidence, double *error)
{
	const struct kernel_log_evidence *log = &evidence->kernel_log;
	double rate = 0;

	for (size_t i = 0; i < log->count; i++) {
		const char *text = log->lines[i].text;

		if (strstr(text, "Refined TSC clocksource calibration: ") ||
			strstr(text, "tsc: Detected "))
			rate = rate_before(text, " MHz");
	}
	*error = rate > 0 ? CALIBRATED_ERROR : BRAND_ERROR;
	if (rate <= 0 && fact_is_known(&evidence->host.cpu.fact))
		rate = rate_before(evidence->host.cpu.value, "GHz") * 1e3;
	return rate;
}

/*
 * tsc_refine_calibration_work() has logged the stated rate since a7ec817d5542, in 6.3, where it is
 * off by more than 500 ppm, and keeps it in use.
 */
struct tsc_rates tsc_rates_find(const struct evidence *evidence)
{
	const struct kernel_log_line *stated = log_find(evidence, "Previous calibrated TSC freq");
	const struct kernel_log_line *measured =
		log_find_after(evidence, stated, "TSC freq recalibrated by");
	struct tsc_rates rates = {0};

	if (measured) {
		rates.stated = rate_before(stated->text, " MHz") / 1e6;
		rates.measured = rate_before(measured->text, " MHz") / 1e6;
	}
	return rates.stated > 0 && rates.measured > 0 ? rates : (struct tsc_rates){0};
}

/* The kernel takes an interval of more than half of the range for one that runs backwards. */
static bool is_past_half(const struct watchdog_counter *counter)
{
	return counter->read && counter->ticks > counter->mask >> 1;
}

/* True for intervals that no pause of a machine explains, whatever the TSC's rate. */
static bool watchdog_has_jumped(const struct watchdog_report *report)
{
	const struct watchdog_counter *tsc = &report->tsc;

	if (report->reference.seconds > JUMP_S / 2)
		return false;
	return is_past_half(tsc) || tsc->seconds > JUMP_S ||
	       (tsc->read && (double)tsc->ticks / TSC_HZ_MOST > JUMP_S);
}

/*
 * determine_cpu_tsc_frequencies() takes tsc_early_khz= in place of what it would calibrate, and
 * tsc_refine_calibration_work() corrects it by 1% at most (arch/x86/kernel/tsc.c, 5.8 to 7.3).
 */
#define REFINED_MOST 0.01

struct tsc_rates boot_rates_find(
	const struct evidence *evidence, const struct watchdog_report *report)
{
	struct tsc_rates rates = {.stated = boot_tsc_mhz(evidence)};
	double counted = report->reference.seconds, passed = report->tsc.seconds;

	if (rates.stated <= 0 || counted <= 0 || passed <= 0 ||
		report->culprit == WATCHDOG_REFERENCE || watchdog_has_jumped(report))
		return (struct tsc_rates){0};
	rates.measured = report->tsc.read ? (double)report->tsc.ticks / counted / 1e6
	                                  : rates.stated * passed / counted;
	return fabs(rates.measured / rates.stated - 1) > REFINED_MOST ? rates
	                                                              : (struct tsc_rates){0};
}

/* A hypervisor's clock shows a guest, too. */
static bool is_guest(const struct evidence *evidence, const struct watchdog_counter *reference)
{
	return host_is_guest(evidence) ||
	       (!platform_is(evidence, "xen-dom0") && clocksource_is_hypervisors(reference->name));
}

/* Lists the rates that the reference may have, and returns how many; 0: unknown. */
static size_t reference_rates(const struct evidence *evidence,
	const struct watchdog_counter *reference, double rates[RATES_MAX])
{
	if (reference->logged && reference->seconds > 0 && reference->read &&
		!is_past_half(reference)) {
		rates[0] = (double)reference->ticks / reference->seconds;
		return 1;
	}
	rates[0] = clocksource_hz(reference->name);
	if (rates[0] > 0)
		return 1;
	if (strcmp(reference->name, "hpet") != 0)
		return 0;
	/* "hpet0: 3 comparators, 64-bit 14.318180 MHz counter" */
	for (size_t i = 0; i < evidence->kernel_log.count; i++) {
		const char *text = evidence->kernel_log.lines[i].text;

		if (strstr(text, "hpet") && strstr(text, " MHz counter"))
			rates[0] = rate_before(text, " MHz counter");
	}
	if (rates[0] > 0)
		return 1;
	memcpy(rates, hpet_rates, sizeof(hpet_rates));
	return is_guest(evidence, reference) ? RATES_MAX : HPET_RATES_OF_MACHINES;
}

/*
 * Returns whether both counters agree once the reference's wraps, which the kernel cannot see, are
 * added. A match counts only where chance would hardly bring it about.
 */
static bool agrees_when_wrapped(const struct watchdog_counter *reference, double rate,
	double seconds, double error, struct watchdog_report *report)
{
	double range = ((double)reference->mask + 1) / rate;
	double counted = (double)reference->ticks / rate;
	double wraps = round((seconds - counted) / range);
	double tolerance = fmax(seconds * error, 1e-3);

	if (wraps < 0 || (wraps < 1 && !is_past_half(reference)) || tolerance > range / 20 ||
		fabs(seconds - counted - wraps * range) > tolerance)
		return false;
	report->wrapped = true;
	report->wraps = (unsigned)wraps;
	report->true_seconds = counted + wraps * range;
	return true;
}

/* Without the TSC's rate, the interval that the kernel took for 0 is tried at usual rates. */
static bool agrees_at_usual_rate(double rate, struct watchdog_report *report)
{
	double counted = (double)report->reference.ticks / rate;
	double hz = (double)report->tsc.ticks / counted;

	if (!is_past_half(&report->reference) || !report->tsc.read || is_past_half(&report->tsc) ||
		hz < TSC_HZ_USUAL_LEAST || hz > TSC_HZ_USUAL_MOST)
		return false;
	report->wrapped = true;
	report->true_seconds = counted;
	return true;
}

static bool is_wrapped(
	const struct evidence *evidence, struct watchdog_report *report, double error)
{
	double rates[RATES_MAX];
	size_t count = reference_rates(evidence, &report->reference, rates);

	if (!report->reference.read)
		return false;
	if (report->tsc.seconds < 0)
		return count == 1 && agrees_at_usual_rate(rates[0], report);
	for (size_t i = 0; i < count; i++) {
		if (agrees_when_wrapped(
			    &report->reference, rates[i], report->tsc.seconds, error, report))
			return true;
	}
	return false;
}

/* Judges clocks that counted all of the time, with rates that agree within a tenth. */
static enum watchdog_culprit find_skew(const struct watchdog_report *report)
{
	double counted = report->reference.seconds, passed = report->tsc.seconds;
	double difference = fabs(passed - counted);

	/* 7.2 logs intervals alone, and neither a late check nor a slow read makes it fail. */
	if (!report->tsc.read && !strstr(report->line->text, " skewed "))
		return WATCHDOG_RATES;
	if (fmax(counted, passed) > LATE_S)
		return difference < counted * ALLOWED_SHARE ? WATCHDOG_CHECK : WATCHDOG_RATES;
	return difference <= DELAYED_READ_S ? WATCHDOG_CHECK : WATCHDOG_RATES;
}

static enum watchdog_culprit find_culprit(
	const struct evidence *evidence, struct watchdog_report *report, double error)
{
	const struct watchdog_counter *reference = &report->reference;
	double counted = reference->seconds, passed = report->tsc.seconds;
	double shorter = fmin(counted, passed), longer = fmax(counted, passed);

	if (!*reference->name)
		return WATCHDOG_UNDETERMINED;
	if (clocksource_counts_ticks(reference->name))
		return passed >= 0 && counted > passed ? WATCHDOG_UNDETERMINED : WATCHDOG_REFERENCE;
	/*
	 * It was read as all ones, did not count, or wrapped. 7.2 logs an interval alone, and skips
	 * one in which a counter wraps.
	 */
	if (reference->read ? reference->now == reference->mask || reference->ticks == 0
			    : reference->seconds == 0)
		return WATCHDOG_REFERENCE;
	if (is_wrapped(evidence, report, error))
		return WATCHDOG_REFERENCE;
	if (watchdog_has_jumped(report))
		return WATCHDOG_TSC;
	if (shorter < 0)
		return WATCHDOG_UNDETERMINED;
	/* The timers of a guest may run by the TSC, and then by its new rate. */
	if (is_guest(evidence, reference) && longer > shorter * (1 + SKEW_SHARE_MOST) &&
		longer <= shorter * TSC_RATIO_MOST)
		return WATCHDOG_RATES;
	/* One of the clocks shows that the check came in time: the other one lost time. */
	if (shorter < SHORT_S && longer > shorter * 1.05) {
		if (longer < SHORT_S || longer > LATE_S)
			return WATCHDOG_UNDETERMINED;
		return passed < counted ? WATCHDOG_TSC : WATCHDOG_REFERENCE;
	}
	/* One of a guest's clocks shows that the check came in time, the other one went on
	 * meanwhile. */
	if (is_guest(evidence, reference) && longer > shorter * TSC_RATIO_MOST)
		return shorter <= LATE_S ? WATCHDOG_PAUSED : WATCHDOG_UNDETERMINED;
	if (longer > shorter * (1 + SKEW_SHARE_MOST))
		return WATCHDOG_UNDETERMINED;
	return find_skew(report);
}

/* Works out the intervals of kernels that log readings alone, unless hpet's rate is a guess. */
static void take_missing_intervals(
	const struct evidence *evidence, struct watchdog_report *report, double rate)
{
	double rates[RATES_MAX];

	if (report->tsc.seconds < 0 && report->tsc.read && rate > 0 && !is_past_half(&report->tsc))
		report->tsc.seconds = (double)report->tsc.ticks / rate;
	if (report->reference.seconds < 0 && report->reference.read &&
		reference_rates(evidence, &report->reference, rates) == 1)
		report->reference.seconds = is_past_half(&report->reference)
		                                    ? 0
		                                    : (double)report->reference.ticks / rates[0];
}

struct watchdog_report watchdog_explain(const struct evidence *evidence)
{
	double error, rate = tsc_find_hz(evidence, &error);
	const struct watchdog_report none = {.reference.seconds = -1, .tsc.seconds = -1};
	struct watchdog_report report = none;

	if (!find_report(&evidence->kernel_log, &report))
		return none;
	if (report.tsc.logged)
		error = LOGGED_ERROR;
	take_missing_intervals(evidence, &report, rate);
	report.culprit = find_culprit(evidence, &report, error);
	return report;
}
