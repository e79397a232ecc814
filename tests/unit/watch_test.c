/* SPDX-License-Identifier: MIT */
/* watch: what counts as a change, which line of the log explains it, and how it is described. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"
#include "measure/parts.h"
#include "measure/vdso.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"
#include "watch/model.h"

#define PAGE_SIZE ((int)sysconf(_SC_PAGESIZE))

/* A vDSO with its data page, and the pages of pvclock and Hyper-V, in front of it. */
static _Alignas(8) unsigned char memory[4 * 65536];

static struct vdso_image image_at(void)
{
	return (struct vdso_image){.base = (uintptr_t)memory + 3 * (size_t)PAGE_SIZE};
}

static unsigned char *data_page(void)
{
	return memory;
}

static unsigned char *pvclock_page(void)
{
	return memory + PAGE_SIZE;
}

static unsigned char *hyperv_page(void)
{
	return memory + 2 * PAGE_SIZE;
}

static struct vclock_evidence vclock_read(void)
{
	memset(memory, 0, sizeof(memory));
	return (struct vclock_evidence){
		.how = VCLOCK_READ, .at = -3 * PAGE_SIZE + 4, .page_at = -2 * PAGE_SIZE};
}

/* Whether the words differ once this byte of memory has this value. */
static bool change_is_seen(
	const struct vclock_evidence *vclock, unsigned char *byte, unsigned char value)
{
	struct vdso_image image = image_at();
	struct watch_place place;
	struct watch_words before, now;

	watch_place_find(&image, vclock, &place);
	assert_non_null((const void *)(uintptr_t)place.mode);
	before = watch_words_read(&place);
	*byte = value;
	now = watch_words_read(&place);
	return watch_words_differ(&before, &now);
}

static void a_new_mode_is_a_change(void **state)
{
	struct vclock_evidence vclock = vclock_read();

	(void)state;
	data_page()[4] = 1;
	assert_true(change_is_seen(&vclock, data_page() + 4, 0));
	assert_true(change_is_seen(&vclock, data_page() + 4, 2));
	assert_false(change_is_seen(&vclock, data_page() + 4, 2));
	assert_false(change_is_seen(&vclock, data_page() + 8, 9));
}

static void the_stable_bit_is_watched_where_pvclock_is_read(void **state)
{
	struct vclock_evidence vclock = vclock_read();
	unsigned char *flags = pvclock_page() + VVAR_PVCLOCK_FLAGS;

	(void)state;
	assert_false(change_is_seen(&vclock, flags, VVAR_PVCLOCK_STABLE));
	fact_set_flag(&vclock.pvclock_stable, true);
	assert_true(change_is_seen(&vclock, flags, 0));
	assert_true(change_is_seen(&vclock, flags, VVAR_PVCLOCK_STABLE));
	/* PVCLOCK_GUEST_STOPPED */
	assert_false(change_is_seen(&vclock, flags, VVAR_PVCLOCK_STABLE | 2));
}

static void a_sequence_that_stays_valid_is_no_change(void **state)
{
	struct vclock_evidence vclock = vclock_read();

	(void)state;
	hyperv_page()[0] = 7;
	fact_set_number(&vclock.hyperv_sequence, 7);
	assert_false(change_is_seen(&vclock, hyperv_page(), 8));
	assert_true(change_is_seen(&vclock, hyperv_page(), 0));
	assert_true(change_is_seen(&vclock, hyperv_page(), 1));
	assert_false(change_is_seen(&vclock, hyperv_page() + 8, 1));
}

static void without_a_mode_nothing_is_read(void **state)
{
	struct vclock_evidence vclock = {.how = VCLOCK_INFERRED};
	struct vdso_image image = image_at();
	struct watch_place place;

	(void)state;
	watch_place_find(&image, &vclock, &place);
	assert_null((const void *)(uintptr_t)place.mode);
}

/* ---- signs of a restore ---- */

static struct watch_check check_of(
	const char *clocksource, const char *mode, enum verdict_kind kind);

/* The base of KVM's page as it is in memory. */
static void write_base(uint64_t tsc, uint64_t time, unsigned char flags)
{
	memcpy(pvclock_page() + VVAR_PVCLOCK_BASE, &tsc, sizeof(tsc));
	memcpy(pvclock_page() + VVAR_PVCLOCK_BASE + 8, &time, sizeof(time));
	pvclock_page()[VVAR_PVCLOCK_FLAGS] = flags;
}

static void a_new_base_is_a_restore(void **state)
{
	struct vclock_evidence vclock = vclock_read();
	struct vdso_image image = image_at();
	struct watch_place place;
	struct watch_words before, now;

	(void)state;
	watch_place_find(&image, &vclock, &place);
	write_base(681740356, 172654194, VVAR_PVCLOCK_STABLE);
	before = watch_words_read(&place);
	assert_false(watch_words_restored(&before, &before));
	/* Measured: a pause and resume by QEMU. */
	write_base(27923390926, 10648000000, VVAR_PVCLOCK_STABLE);
	now = watch_words_read(&place);
	assert_true(watch_words_restored(&before, &now));
	assert_false(watch_words_differ(&before, &now));
	/* The host leaves tsc, and comes back: the page is not stable until it is paused again. */
	before = now;
	write_base(36156457434, 13814000000, 0);
	now = watch_words_read(&place);
	assert_false(watch_words_restored(&before, &now));
	write_base(52862302938, 20238000000, VVAR_PVCLOCK_STABLE);
	before = now;
	now = watch_words_read(&place);
	assert_false(watch_words_restored(&before, &now));
	/* A page that is not KVM's is not watched. */
	place.pvclock = NULL;
	before = watch_words_read(&place);
	write_base(1, 1, VVAR_PVCLOCK_STABLE);
	now = watch_words_read(&place);
	assert_false(watch_words_restored(&before, &now));
}

/* ---- a day of a guest, in simulated time ---- */

#define DAY_S 86400

struct day {
	const char *name;
	double hz;      /* of the TSC, as the page has it */
	double raw_ppm; /* CLOCK_MONOTONIC_RAW is faster */
	double boot_s;  /* from the guest's start to its clock's beginning */
	int restored_s; /* second of the day at which it is restored; 0: never */
	double age_s;   /* of the snapshot */
};

/* The page at a second of the day: KVM rewrites it every 300 s (KVMCLOCK_SYNC_PERIOD). */
static struct witness_pvclock page_of(const struct day *day, int second)
{
	bool is_restored = day->restored_s && second >= day->restored_s;
	double base_s = is_restored ? day->restored_s : 0.17;
	double scale = 0x1p32 * 1e9 / day->hz;
	struct witness_pvclock page = {.version = 4 + 2 * (uint32_t)(second / 300),
		.tsc_timestamp = (uint64_t)(base_s * day->hz),
		.system_time = (uint64_t)((base_s + (is_restored ? day->age_s : 0)) * 1e9),
		.flags = VVAR_PVCLOCK_STABLE};

	for (; scale >= 0x1p32; scale /= 2)
		page.shift++;
	page.mul = (uint32_t)scale;
	memcpy(pvclock_page(), &page, sizeof(page));
	return page;
}

/* All that an RTC and a PTP clock read by a slow host may show of a clock that is right. */
static void compare_clocks(const struct day *day, int second, struct evidence *evidence)
{
	bool is_behind = day->restored_s && second >= day->restored_s;
	double wander_s = 0.05 * sin(second / 5000.0);

	evidence->witnesses[WITNESS_RTC] = (struct witness){.source = WITNESS_RTC,
		.fact.state = FACT_KNOWN,
		.offset_s = wander_s + (second % 100) / 100.0 - 0.5 - (is_behind ? day->age_s : 0),
		.error_s = 0.51};
	evidence->witnesses[WITNESS_PVCLOCK] = (struct witness){.source = WITNESS_PVCLOCK,
		.fact.state = FACT_KNOWN,
		.offset_s = -evidence->base.missed_s,
		.error_s = evidence->base.error_s};
}

/* Lives the day, looking each second; returns the second of the first sign of a restore, or -1. */
static int live(const struct day *day, struct watch_check *check)
{
	struct vclock_evidence vclock = vclock_read();
	struct vdso_image image = image_at();
	struct evidence *evidence = &check->evidence;
	struct watch_place place;
	struct watch_words before;

	evidence_make_healthy(evidence);
	fact_set_text(&evidence->host.hypervisor, "kvm");
	evidence->ntp.synchronized = false;
	evidence->witness_count = WITNESS_COUNT;
	watch_place_find(&image, &vclock, &place);
	page_of(day, 0);
	before = watch_words_read(&place);
	for (int second = 10; second < DAY_S; second++) {
		struct witness_pvclock page = page_of(day, second);
		struct watch_words now = watch_words_read(&place);
		struct watch_check last = *check;

		witness_base_find(&page, (uint64_t)(second * day->hz),
			(second - day->boot_s) * (1 + day->raw_ppm / 1e6), day->raw_ppm,
			&evidence->base);
		compare_clocks(day, second, evidence);
		wall_clock_find(evidence, &check->diagnosis.wall_clock);
		if (watch_words_restored(&before, &now) || watch_words_differ(&before, &now) ||
			check->diagnosis.wall_clock.restored ||
			check->diagnosis.wall_clock.state != WALL_CLOCK_RIGHT ||
			(second > 10 && watch_fell_behind(&last, check)))
			return second;
	}
	return -1;
}

static void a_day_has_no_false_alarm_and_each_restore_is_seen(void **state)
{
	static const struct day days[] = {
		{"2.6 GHz", 2.6e9, 0, 0.3, 0, 0},
		{"a rate in whole kHz of 1 GHz", 1e9, 0.99, 0.01, 0, 0},
		{"a rate that the kernel measured", 2.6e9, 120, 5, 0, 0},
		{"a rate that the kernel measured, slower", 3.1e9, -120, 5, 0, 0},
		{"booted an hour after its start", 2.6e9, -0.3, 3600, 0, 0},
		{"restored soon", 2.6e9, 0.3, 0.3, 11, 2472},
		{"restored late, from a new snapshot", 2.6e9, -0.4, 0.3, DAY_S - 1, 0},
		{"restored late, where the rate is measured", 2.6e9, 120, 5, DAY_S - 1, 60},
	};
	static struct watch_check check;

	(void)state;
	for (size_t i = 0; i < COUNT(days); i++) {
		const struct base_evidence *base = &check.evidence.base;
		int second = live(&days[i], &check);

		if (second != (days[i].restored_s ? days[i].restored_s : -1))
			fail_msg("%s: second %d: %s", days[i].name, second,
				check.diagnosis.wall_clock.summary);
		if (second > 0 &&
			(fabs(base->ago_s) > 1e-3 || fabs(base->missed_s - days[i].age_s) > 1e-3))
			fail_msg("%s: %g s ago, missed %g s", days[i].name, base->ago_s,
				base->missed_s);
	}
}

static void set_witness(
	struct watch_check *check, enum witness_source source, double offset_s, double error_s)
{
	struct witness *witness = &check->evidence.witnesses[source];

	check->evidence.witness_count = WITNESS_COUNT;
	for (int i = 0; i < WITNESS_COUNT; i++)
		check->evidence.witnesses[i].source = (enum witness_source)i;
	*witness = (struct witness){.source = source, .offset_s = offset_s, .error_s = error_s};
	fact_set_known(&witness->fact);
}

static void the_time_that_a_guest_stood_still_is_measured(void **state)
{
	struct watch_check before = check_of("tsc", "tsc", VERDICT_OK), now = before;
	struct fact why = {0};
	double stood_s, error_s;

	(void)state;
	assert_false(watch_find_stood(&before, &now, &stood_s, &error_s, &why));
	assert_string_not_equal(why.reason, "");
	/* By what tsc missed, with what it missed at earlier restores. */
	set_witness(&before, WITNESS_PVCLOCK, -10, 0.5);
	assert_false(watch_find_stood(&before, &now, &stood_s, &error_s, &why));
	set_witness(&now, WITNESS_PVCLOCK, -70.25, 0.5);
	assert_true(watch_find_stood(&before, &now, &stood_s, &error_s, &why));
	assert_true(stood_s == 60.25 && error_s == 1);
	assert_true(watch_fell_behind(&before, &now));
	/* By a better clock, if both checks have it; one that was behind and is set is no restore.
	 */
	set_witness(&now, WITNESS_PTP, 0, 0.001);
	assert_true(watch_find_stood(&before, &now, &stood_s, &error_s, &why));
	assert_true(stood_s == 60.25);
	set_witness(&before, WITNESS_PTP, -2472, 0.001);
	assert_true(watch_find_stood(&before, &now, &stood_s, &error_s, &why));
	assert_true(stood_s == -2472);
	assert_false(watch_fell_behind(&before, &now));
	set_witness(&before, WITNESS_PTP, 1, 0.001);
	assert_false(watch_fell_behind(&before, &now));
}

static void an_added_cpu_is_no_restore_unless_time_was_lost(void **state)
{
	struct watch_check before = check_of("tsc", "tsc", VERDICT_OK), now;

	(void)state;
	fact_set_number(&before.evidence.host.cpu_count, 2);
	set_witness(&before, WITNESS_RTC, 0.1, 0.01);
	now = before;
	assert_false(watch_only_cpus_changed(&before, &now));
	fact_set_number(&now.evidence.host.cpu_count, 3);
	assert_true(watch_only_cpus_changed(&before, &now));
	set_witness(&now, WITNESS_RTC, -0.9, 0.01);
	assert_false(watch_only_cpus_changed(&before, &now));
	now.evidence.witness_count = 0;
	assert_false(watch_only_cpus_changed(&before, &now));
}

static void a_restore_says_when_and_for_how_long(void **state)
{
	static struct watch_check before, now;
	struct watch_event event = {.kind = WATCH_RESTORED, .before = &before, .now = &now};
	char *text, *json;

	(void)state;
	before = now = check_of("tsc", "tsc", VERDICT_OK);
	text_clean(now.diagnosis.verdict.summary, sizeof(now.diagnosis.verdict.summary), "Served.");
	text_clean(now.diagnosis.wall_clock.summary, sizeof(now.diagnosis.wall_clock.summary),
		"41 min 12 s behind the host's clock (PTP).");
	now.evidence.base = (struct base_evidence){.fact.state = FACT_KNOWN, .ago_s = 0.8};
	fact_set_real(&event.stood_s, 2472);
	text = unit_print(watch_event_text, &event);
	json = unit_print(watch_event_json, &event);
	assert_non_null(strstr(text,
		" restored: tsc (mode tsc): ok (was ok)\n"
		"    restored, migrated or paused 0.8 s ago; the clock stood still for 41 minutes\n"
		"    41 min 12 s behind the host's clock (PTP).\n"
		"    Served.\n"));
	assert_null(strstr(text, "changed"));
	assert_non_null(strstr(json, "\"event\":\"restored\",\"stood_s\":2472.0"));
	unit_assert_fits_terminal(text);
	free(text);
	free(json);
	/* The TSC of a guest that KVM pauses goes on. */
	fact_set_real(&event.stood_s, 0);
	text = unit_print(watch_event_text, &event);
	assert_non_null(strstr(text, "0.8 s ago; the clock did not stand still\n"));
	free(text);
	fact_set(&event.stood_s.fact, FACT_ABSENT, "no other clock");
	text = unit_print(watch_event_text, &event);
	assert_non_null(strstr(text, "no other clock shows for how long"));
	unit_assert_fits_terminal(text);
	free(text);
}

/* ---- the kernel's log ---- */

static void add_line(struct kernel_log_evidence *log, double seconds, const char *text)
{
	struct kernel_log_line *line = &log->lines[log->count++];

	fact_set_known(&log->fact);
	line->seconds = seconds;
	text_clean(line->text, sizeof(line->text), text);
}

static void verify_explains(const struct kernel_log_evidence *before,
	const struct kernel_log_evidence *now, const char *expected)
{
	struct watch_log_line line = {0};

	watch_log_find(before, now, &line);
	assert_int_equal(line.fact.state, expected ? FACT_KNOWN : FACT_ABSENT);
	if (expected)
		assert_string_equal(line.text, expected);
}

static void the_last_switch_and_what_came_right_before_it_explain(void **state)
{
	struct kernel_log_evidence before = {0}, now = {0};

	(void)state;
	add_line(&before, 1.5, "clocksource: Switched to clocksource tsc-early");
	now = before;
	verify_explains(&before, &now, NULL);
	/* It explains a switch by hand no more than any other line that is older. */
	add_line(&now, 1.99, "tsc: Refined TSC clocksource calibration: 2899.999 MHz");
	verify_explains(&before, &now, NULL);
	add_line(&now, 5, "clocksource: Switched to clocksource hpet");
	verify_explains(&before, &now, "[5.000000] clocksource: Switched to clocksource hpet");
	add_line(&now, 93, "clocksource: Switched to clocksource tsc");
	verify_explains(&before, &now, "[93.000000] clocksource: Switched to clocksource tsc");
	add_line(&now, 93.5, "tsc: Marking TSC unstable due to clocksource watchdog");
	add_line(&now, 93.6, "clocksource: Override clocksource tsc is unstable");
	add_line(&now, 94, "clocksource: Switched to clocksource hpet");
	verify_explains(
		&before, &now, "[93.500000] tsc: Marking TSC unstable due to clocksource watchdog");
	before = now;
	before.count -= 2; /* the check before saw the mark */
	verify_explains(
		&before, &now, "[93.600000] clocksource: Override clocksource tsc is unstable");
}

static void a_log_that_cannot_be_read_gives_its_reason(void **state)
{
	struct kernel_log_evidence before = {0}, now = {0};
	struct watch_log_line line = {0};

	(void)state;
	fact_set(&now.fact, FACT_DENIED, "/dev/kmsg: no");
	watch_log_find(&before, &now, &line);
	assert_int_equal(line.fact.state, FACT_DENIED);
	assert_string_equal(line.fact.reason, "/dev/kmsg: no");
}

/* ---- the state in words ---- */

static struct watch_check check_of(
	const char *clocksource, const char *mode, enum verdict_kind kind)
{
	struct watch_check check = {.diagnosis.verdict.kind = kind};

	text_clean(check.evidence.clocksource.latest, CLOCKSOURCE_NAME_SIZE, clocksource);
	text_clean(check.evidence.vclock.name, sizeof(check.evidence.vclock.name), mode);
	check.evidence.vclock.how = VCLOCK_READ;
	return check;
}

static void the_state_names_clocksource_mode_and_page(void **state)
{
	struct watch_check check = check_of("kvm-clock", "pvclock", VERDICT_OK);
	char text[WATCH_STATE_SIZE];

	(void)state;
	fact_set_flag(&check.evidence.vclock.pvclock_stable, true);
	assert_string_equal(
		watch_describe_state(&check.evidence, text), "kvm-clock (mode pvclock)");
	fact_set_flag(&check.evidence.vclock.pvclock_stable, false);
	assert_string_equal(watch_describe_state(&check.evidence, text),
		"kvm-clock (mode pvclock, page invalid)");
	check = check_of("", "", VERDICT_OK);
	check.evidence.vclock.mode = 4;
	assert_string_equal(
		watch_describe_state(&check.evidence, text), "unknown clocksource (mode 4)");
	check.evidence.vclock.how = VCLOCK_UNKNOWN;
	assert_string_equal(
		watch_describe_state(&check.evidence, text), "unknown clocksource (mode unknown)");
}

static void looks_differ_by_state_or_verdict(void **state)
{
	struct watch_check tsc = check_of("tsc", "tsc", VERDICT_OK);
	struct watch_check again = check_of("tsc", "tsc", VERDICT_OK);
	struct watch_check slow = check_of("tsc", "tsc", VERDICT_SLOW);
	struct watch_check hpet = check_of("hpet", "none", VERDICT_OK);

	(void)state;
	assert_true(watch_checks_agree(&tsc, &again));
	assert_false(watch_checks_agree(&tsc, &slow));
	assert_false(watch_checks_agree(&tsc, &hpet));
}

static void a_change_for_the_worse_names_the_next_command(void **state)
{
	static struct watch_check before, now;
	static const enum verdict_kind kinds[] = {
		VERDICT_OK, VERDICT_FALLBACK, VERDICT_SLOW, VERDICT_WRONG, VERDICT_UNKNOWN};

	(void)state;
	before = check_of("tsc", "tsc", VERDICT_OK);
	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct watch_event event = {.kind = WATCH_CHANGE, .before = &before, .now = &now};
		char text[2048] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		now = check_of("hpet", "none", kinds[i]);
		assert_non_null(out);
		watch_event_text(&event, &(struct style){.color = false}, out);
		fclose(out);
		assert_true((strstr(text, "run 'vdsocheck' for the cause and the fix") != NULL) ==
			    (kinds[i] != VERDICT_OK));
	}
}

static void metrics_have_no_time_of_a_change_until_there_is_one(void **state)
{
	struct watch_event event = {.kind = WATCH_START};
	char *text = unit_print(watch_event_prometheus, &event);

	(void)state;
	assert_non_null(strstr(text, "\nvdsocheck_changes_total 0\n"));
	assert_null(strstr(text, "last_change"));
	free(text);
	event.counts = (struct watch_counts){.changes = 3, .restores = 2};
	fact_set_text(&event.counts.last_change, "2026-11-21T21:43:55Z");
	text = unit_print(watch_event_prometheus, &event);
	assert_non_null(strstr(text, "\nvdsocheck_changes_total 3\n"));
	assert_non_null(strstr(text, "\nvdsocheck_restores_total 2\n"));
	assert_non_null(strstr(text, "\nvdsocheck_last_change_timestamp_seconds 1795297435\n"));
	free(text);
}

/* The manual breaks the event's first line, which is longer than a line of the page, in two. */
static void the_event_in_the_manual_is_printed(void **state)
{
	static struct watch_check before, now;
	struct watch_event event = {.kind = WATCH_CHANGE, .before = &before, .now = &now};
	char *text, *verdict, shown[1024];
	static char page[65536];
	FILE *manual = fopen("man/vdsocheck-watch.1", "r");

	(void)state;
	if (!manual)
		unit_skip("the manual is not below this folder");
	page[fread(page, 1, sizeof(page) - 1, manual)] = '\0';
	fclose(manual);
	before = check_of("tsc", "tsc", VERDICT_OK);
	evidence_make_falling_back(&now.evidence, "hpet");
	text_clean(now.evidence.clocksource.latest, CLOCKSOURCE_NAME_SIZE, "hpet");
	evidence_find_verdict(&now.evidence, &now.diagnosis.verdict);
	fact_set_text(&event.timestamp.time, "2026-11-21T21:43:55Z");
	fact_set_known(&event.log.fact);
	text_clean(event.log.text, sizeof(event.log.text),
		"[9.906307] clocksource: Switched to clocksource hpet");
	fact_set_known(&event.ntp.fact);
	text = unit_print(watch_event_text, &event);
	verdict = strstr(text, " fallback");
	assert_non_null(verdict);
	*verdict = '\0';
	snprintf(shown, sizeof(shown), ".Bd -literal\n%s\n%29s%s.Ed\n", text, "", verdict + 1);
	assert_non_null(strstr(page, shown));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_mode_is_a_change),
		cmocka_unit_test(the_stable_bit_is_watched_where_pvclock_is_read),
		cmocka_unit_test(a_sequence_that_stays_valid_is_no_change),
		cmocka_unit_test(without_a_mode_nothing_is_read),
		cmocka_unit_test(a_new_base_is_a_restore),
		cmocka_unit_test(a_day_has_no_false_alarm_and_each_restore_is_seen),
		cmocka_unit_test(the_time_that_a_guest_stood_still_is_measured),
		cmocka_unit_test(an_added_cpu_is_no_restore_unless_time_was_lost),
		cmocka_unit_test(a_restore_says_when_and_for_how_long),
		cmocka_unit_test(the_last_switch_and_what_came_right_before_it_explain),
		cmocka_unit_test(a_log_that_cannot_be_read_gives_its_reason),
		cmocka_unit_test(the_state_names_clocksource_mode_and_page),
		cmocka_unit_test(looks_differ_by_state_or_verdict),
		cmocka_unit_test(a_change_for_the_worse_names_the_next_command),
		cmocka_unit_test(metrics_have_no_time_of_a_change_until_there_is_one),
		cmocka_unit_test(the_event_in_the_manual_is_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
