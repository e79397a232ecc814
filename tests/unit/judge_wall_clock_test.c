/* SPDX-License-Identifier: MIT */
/* Tests of judge/wall_clock: which other clock is believed, and what is said of this one. */
#include <math.h>
#include <string.h>

#include "judge.h"
#include "unit/dice.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static struct evidence evidence;
static struct wall_clock wall;

/* A guest on tsc that has run for ten minutes, with no other clock than the pvclock page. */
static int make_guest(void **state)
{
	(void)state;
	evidence_make_healthy(&evidence);
	fact_set_text(&evidence.host.hypervisor, "kvm");
	evidence_set_current(&evidence, "tsc");
	evidence_set_mode(&evidence, VCLOCK_READ, 1, "tsc");
	evidence.ntp.synchronized = false;
	evidence.ntp.max_error_us = 16000000;
	evidence.witness_count = WITNESS_COUNT;
	for (int i = 0; i < WITNESS_COUNT; i++) {
		evidence.witnesses[i] = (struct witness){.source = (enum witness_source)i};
		fact_set(&evidence.witnesses[i].fact, FACT_ABSENT, "there is none");
	}
	evidence.base = (struct base_evidence){.fact.state = FACT_KNOWN,
		.ticks = 681740356,
		.at_s = 0.172654,
		.ago_s = 603,
		.uptime_s = -3.5,
		.error_s = 0.5};
	return 0;
}

static void set(enum witness_source source, double offset_s, double error_s)
{
	evidence.witnesses[source].offset_s = offset_s;
	evidence.witnesses[source].error_s = error_s;
	fact_set_known(&evidence.witnesses[source].fact);
}

/* The host moved kvm-clock on by `missed_s` when it restored the guest `ago_s` ago. */
static void restore(double ago_s, double missed_s)
{
	evidence.base = (struct base_evidence){.fact.state = FACT_KNOWN,
		.ticks = 3488560790,
		.at_s = 600 + missed_s,
		.ago_s = ago_s,
		.uptime_s = 599.5,
		.missed_s = missed_s,
		.error_s = 0.5};
	set(WITNESS_PVCLOCK, -missed_s, 0.5);
}

static void find(enum wall_clock_state state, const char *text)
{
	wall_clock_find(&evidence, &wall);
	if (wall.state != state || (text && !strstr(wall.summary, text)))
		fail_msg("%s: %s", wall_clock_names[wall.state], wall.summary);
}

static void without_another_clock_nothing_is_known(void **state)
{
	(void)state;
	find(WALL_CLOCK_UNKNOWN, "no other clock");
	assert_false(wall.restored);
	assert_false(fact_is_known(&wall.fact));
	evidence.witness_count = 0;
	find(WALL_CLOCK_UNKNOWN, NULL);
	assert_string_equal(wall.fact.reason, "not measured");
	assert_string_equal(wall.on_restore, "");
}

static void the_hosts_clock_shows_how_far_behind_a_restored_guest_is(void **state)
{
	(void)state;
	set(WITNESS_PTP, -2472.3, 0.00001);
	restore(7200, 0);
	find(WALL_CLOCK_BEHIND,
		"41 min 12 s behind the host's clock (PTP): this guest was restored, migrated or "
		"paused 2.0 hours ago, and tsc goes on");
	assert_true(wall.restored);
	assert_int_equal(wall.source, WITNESS_PTP);
	assert_true(wall.offset_s == -2472.3);
	/* The page was read as it was replaced, or its base is of the boot itself. */
	restore(0, 0);
	find(WALL_CLOCK_BEHIND, NULL);
	assert_false(wall.restored);
	restore(7200, 0);
	/* NTP has set it since, or the host is wrong: the difference is what counts. */
	evidence.ntp = (struct ntp_evidence){
		.fact.state = FACT_KNOWN, .synchronized = true, .max_error_us = 3000};
	find(WALL_CLOCK_BEHIND, "41 min 12 s behind");
	set(WITNESS_PTP, 86400 * 3 + 3600 * 2, 0.00001);
	find(WALL_CLOCK_AHEAD, "3 d 2 h ahead of the host's clock (PTP).");
}

static void a_difference_within_the_error_is_none(void **state)
{
	(void)state;
	set(WITNESS_RTC, -1.4, 0.5);
	find(WALL_CLOCK_RIGHT, "within 1.9 s of the RTC");
	set(WITNESS_RTC, -1.6, 0.5);
	find(WALL_CLOCK_BEHIND, "1.6 s behind the RTC");
	/* The narrower of two is believed. */
	set(WITNESS_VMCLOCK, 0.2, 0.001);
	find(WALL_CLOCK_RIGHT, "/dev/vmclock0");
}

static void the_pvclock_page_says_what_tsc_missed(void **state)
{
	(void)state;
	restore(7200, 2472);
	find(WALL_CLOCK_BEHIND,
		"tsc missed 41 min 12 s when this guest was restored, migrated or paused 2.0 hours "
		"ago: the clock is behind by that, unless it was set since.");
	assert_int_equal(wall.source, WITNESS_PVCLOCK);
	/* Both go on from the snapshot: how old that was no clock here knows. */
	restore(7200, -0.003);
	find(WALL_CLOCK_UNKNOWN, "restored, migrated or paused (or a CPU was added) 2.0 hours ago");
	/* A host that counted it before this kernel booted: its clock began after that. */
	restore(7200, 2472);
	evidence.base.uptime_s = -30;
	find(WALL_CLOCK_UNKNOWN, "no other clock");
	/* A kernel that booted at once, 30 days ago, by a clock that is 1 kHz of 1 GHz off. */
	restore(2592000, 0);
	evidence.base.at_s = 0.1;
	evidence.base.uptime_s = 2.5;
	evidence.base.error_s = 3.1;
	find(WALL_CLOCK_UNKNOWN, "no other clock");
	assert_false(wall.restored);
	/* On kvm-clock itself nothing is missing by the page. */
	restore(7200, 2472);
	fact_set(&evidence.witnesses[WITNESS_PVCLOCK].fact, FACT_ABSENT, "not tsc");
	find(WALL_CLOCK_UNKNOWN, "restored");
}

/* A snapshot has the kernel's NTP state in it, which is not that of now. */
static void ntp_is_believed_once_it_set_the_clock_after_the_restore(void **state)
{
	(void)state;
	evidence.ntp.synchronized = true;
	evidence.ntp.max_error_us = 500000; /* set within the last 1,000 s */
	set(WITNESS_NTP, 0.001, 0.5);
	restore(900, 2472);
	find(WALL_CLOCK_BEHIND, "tsc missed");
	restore(1100, 2472);
	find(WALL_CLOCK_RIGHT, "NTP");
	assert_true(wall.restored);
	/* An RTC that drifts, or has local time, does not make it wrong. */
	set(WITNESS_RTC, -7200, 0.5);
	find(WALL_CLOCK_RIGHT, "NTP");
	restore(900, 0);
	find(WALL_CLOCK_BEHIND, "2 h 0 min behind the RTC");
}

/* The RTC of a machine is its own clock, which is worse than the kernel's. */
static void the_rtc_of_a_machine_is_not_a_host(void **state)
{
	(void)state;
	set(WITNESS_RTC, -7200, 0.5);
	find(WALL_CLOCK_BEHIND, NULL);
	fact_set(&evidence.host.hypervisor.fact, FACT_ABSENT, "none");
	find(WALL_CLOCK_UNKNOWN, NULL);
	assert_string_equal(wall.on_restore, "");
}

static void what_a_restore_will_do_is_said_in_a_guest(void **state)
{
	(void)state;
	find(WALL_CLOCK_UNKNOWN, NULL);
	assert_non_null(strstr(wall.on_restore, "NTP is not synchronized here"));
	assert_non_null(strstr(wall.on_restore, "does not count that time (tsc)"));
	assert_non_null(strstr(wall.on_restore, "noticed by the pvclock page."));
	fact_set_flag(&evidence.host.vmgenid, true);
	fact_set_flag(&evidence.host.vmclock, true);
	evidence.ntp.synchronized = true;
	evidence_set_current(&evidence, "kvm-clock");
	evidence_set_mode(&evidence, VCLOCK_READ, 2, "pvclock");
	find(WALL_CLOCK_UNKNOWN, NULL);
	assert_non_null(strstr(wall.on_restore, "until NTP sets it"));
	assert_non_null(strstr(wall.on_restore, "as the host sets its clock (kvm-clock)"));
	assert_non_null(strstr(wall.on_restore, "page, /dev/vmclock0, vmgenid"));
	fact_set(&evidence.base.fact, FACT_ABSENT, "no page");
	fact_set_flag(&evidence.host.vmgenid, false);
	fact_set_flag(&evidence.host.vmclock, false);
	find(WALL_CLOCK_UNKNOWN, NULL);
	assert_non_null(strstr(wall.on_restore, "noticed by nothing in this guest."));
}

/* Every answer is a sentence that fits, and no number is given without its clock. */
static void any_evidence_has_a_sentence(void **state)
{
	struct dice dice = dice_start();

	(void)state;
	for (int i = 0; i < 20000; i++) {
		evidence_roll(&evidence, &dice);
		wall_clock_find(&evidence, &wall);
		assert_in_range(strlen(wall.summary), 20, sizeof(wall.summary) - 2);
		assert_int_equal(wall.summary[strlen(wall.summary) - 1], '.');
		assert_true(strlen(wall.on_restore) < sizeof(wall.on_restore) - 1);
		assert_int_equal(fact_is_known(&wall.fact), wall.state != WALL_CLOCK_UNKNOWN);
		if (wall.state == WALL_CLOCK_BEHIND || wall.state == WALL_CLOCK_AHEAD)
			assert_true(fabs(wall.offset_s) > 1 + wall.error_s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(without_another_clock_nothing_is_known, make_guest),
		cmocka_unit_test_setup(
			the_hosts_clock_shows_how_far_behind_a_restored_guest_is, make_guest),
		cmocka_unit_test_setup(a_difference_within_the_error_is_none, make_guest),
		cmocka_unit_test_setup(the_pvclock_page_says_what_tsc_missed, make_guest),
		cmocka_unit_test_setup(
			ntp_is_believed_once_it_set_the_clock_after_the_restore, make_guest),
		cmocka_unit_test_setup(the_rtc_of_a_machine_is_not_a_host, make_guest),
		cmocka_unit_test_setup(what_a_restore_will_do_is_said_in_a_guest, make_guest),
		cmocka_unit_test(any_evidence_has_a_sentence),
	};

	return cmocka_run_group_tests_name("wall_clock", tests, NULL, NULL);
}
