/* SPDX-License-Identifier: MIT */
/* Tests of fleet/: the names and the order of hosts, and the groups they make. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/model.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

#define ROLLS 300

static struct fleet_document document;
static struct fleet fleet;

static int end(void **state)
{
	(void)state;
	fleet_free(&fleet);
	return 0;
}

static void add(const char *place)
{
	fleet_add(&fleet, &document, place);
}

static void add_healthy(const char *place)
{
	memset(&document, 0, sizeof(document));
	evidence_make_healthy(&document.evidence);
	add(place);
}

static void add_slow_clock(const char *place, const char *clocksource)
{
	memset(&document, 0, sizeof(document));
	evidence_make_falling_back(&document.evidence, clocksource);
	add(place);
}

static void add_unproven(const char *place)
{
	memset(&document, 0, sizeof(document));
	evidence_make_healthy(&document.evidence);
	evidence_remove_proof(&document.evidence, "refused");
	evidence_remove_timing(&document.evidence);
	add(place);
}

static void add_named(const char *name, const char *time)
{
	memset(&document, 0, sizeof(document));
	evidence_make_healthy(&document.evidence);
	fact_set_text(&document.evidence.host.name, name);
	fact_set_text(&document.evidence.timestamp.time, time);
	add("file");
}

static void the_worst_come_first(void **state)
{
	(void)state;
	add_healthy("ok");
	add_unproven("unknown");
	add_slow_clock("slow", "hpet");
	add_slow_clock("slowest", "acpi_pm");
	fleet.hosts[3].lost_ns = fleet.hosts[2].lost_ns + 1;
	fleet_sum(&fleet);
	assert_string_equal(fleet.hosts[0].name, "slowest");
	assert_string_equal(fleet.hosts[1].name, "slow");
	assert_string_equal(fleet.hosts[2].name, "unknown");
	assert_string_equal(fleet.hosts[3].name, "ok");
	assert_int_equal(fleet.verdict, VERDICT_FALLBACK);
	assert_int_equal(fleet.sums.affected, 3);
}

static void a_broken_document_leaves_a_host_undetermined(void **state)
{
	(void)state;
	add_healthy("ok");
	fleet.broken = 1;
	fleet_sum(&fleet);
	assert_int_equal(fleet.verdict, VERDICT_UNKNOWN);
}

static void every_document_counts(void **state)
{
	(void)state;
	add_named("web-1", "2026-11-20T10:00:00Z");
	add_named("web-1", "2026-11-21T10:00:00Z");
	add_named("localhost.localdomain", "2026-11-20T10:00:00Z");
	add_healthy("same-file");
	add_healthy("same-file");
	assert_int_equal(fleet.count, 5);
	assert_string_equal(fleet.hosts[1].name, "web-1");
	assert_string_equal(fleet.hosts[1].time, "2026-11-21T10:00:00Z");
	assert_string_equal(fleet.hosts[2].name, "file");
}

static const struct fleet_group *find(enum fleet_dimension dimension, const char *name)
{
	const struct fleet_groups *groups = &fleet.groups[dimension];

	for (size_t i = 0; i < groups->count; i++) {
		if (strcmp(groups->list[i].name, name) == 0)
			return &groups->list[i];
	}
	return NULL;
}

static void groups_count_hosts_by_verdict(void **state)
{
	const struct fleet_group *hpet;

	(void)state;
	add_healthy("a");
	add_slow_clock("b", "hpet");
	add_slow_clock("c", "hpet");
	add_slow_clock("d", "acpi_pm");
	fleet_sum(&fleet);
	hpet = find(FLEET_CLOCKSOURCE, "hpet");
	assert_non_null(hpet);
	assert_int_equal(hpet->sums.verdicts[VERDICT_FALLBACK], 2);
	assert_int_equal(hpet->sums.hosts, 2);
	assert_int_equal(find(FLEET_CLOCKSOURCE, "tsc")->sums.verdicts[VERDICT_OK], 1);
	assert_ptr_equal(&fleet.groups[FLEET_CLOCKSOURCE].list[0], hpet);
	assert_int_equal(
		find(FLEET_CAUSE, "clocksource-without-vdso")->sums.verdicts[VERDICT_FALLBACK], 3);
}

/* The documents of --rate, or --rate given now. */
static void cpus_are_lost_at_a_known_rate_alone(void **state)
{
	double lost_ns;

	(void)state;
	add_slow_clock("unrated", "hpet");
	lost_ns = fleet.hosts[0].lost_ns;
	assert_true(lost_ns > 0);
	assert_true(isnan(fleet.hosts[0].lost_cpus));
	document.rate = 1e6;
	add("rated");
	assert_float_equal(fleet.hosts[1].lost_cpus, lost_ns / 1000, 1e-9);
	fleet_sum(&fleet);
	assert_int_equal(fleet.sums.rated, 1);
	assert_string_equal(fleet.hosts[0].name, "rated");
}

/* The name, then the file that the check was given, then where the document was found. */
static void a_host_without_a_name_is_called_by_its_document(void **state)
{
	(void)state;
	add_healthy("all/web-1/document.json:3");
	strcpy(document.file, "clocks/web-2.json");
	add("clocks.jsonl:2");
	fact_set_text(&document.evidence.host.name, "web-3");
	add("clocks.jsonl:3");
	assert_string_equal(fleet.hosts[0].name, "all/web-1/document.json:3");
	assert_string_equal(fleet.hosts[1].name, "clocks/web-2.json");
	assert_string_equal(fleet.hosts[2].name, "web-3");
}

struct answer {
	const char *name; /* the answer */
	size_t fallback, slow, unknown, ok, broken, wrong;
};

static const struct answer answers[] = {
	{"The clock calls of 1 host are served by the vDSO.", .ok = 1},
	{"The clock calls of all 10,000 hosts are served by the vDSO.", .ok = 10000},
	{"37 of 10,000 hosts fall back to system calls; 12 are slow, 3 are undetermined.",
		.fallback = 37, .slow = 12, .unknown = 3, .ok = 9948},
	{"1 of 1 host falls back to system calls.", .fallback = 1},
	{"1 of 4 hosts falls back to system calls; 1 is slow, 1 is undetermined.", .fallback = 1,
		.slow = 1, .unknown = 1, .ok = 1},
	{"1 of 5 hosts has wrong values; 1 falls back to system calls, 2 are slow, 1 is "
	 "undetermined.",
		.wrong = 1, .fallback = 1, .slow = 2, .unknown = 1},
	{"2 of 3 hosts are slow; 1 is undetermined.", .slow = 2, .unknown = 1},
	{"1 of 2 hosts is undetermined; 1 document could not be read.", .unknown = 1, .ok = 1,
		.broken = 1},
	{"The clock calls of all 2 hosts are served by the vDSO; 3 documents could not be read.",
		.ok = 2, .broken = 3},
};

static void answers_in_a_sentence(void **state)
{
	const struct answer *answer = *state;
	struct fleet some = {.broken = answer->broken,
		.sums.hosts = answer->fallback + answer->slow + answer->unknown + answer->ok +
	                      answer->wrong,
		.sums.affected = answer->fallback + answer->slow + answer->unknown + answer->wrong,
		.sums.verdicts = {[VERDICT_FALLBACK] = answer->fallback,
			[VERDICT_SLOW] = answer->slow,
			[VERDICT_WRONG] = answer->wrong,
			[VERDICT_UNKNOWN] = answer->unknown,
			[VERDICT_OK] = answer->ok}};

	fleet_summarize(&some);
	assert_string_equal(some.summary, answer->name);
}

static void assert_is_json(void)
{
	char *bytes = unit_print(fleet_write_json, &fleet);
	json_t *root = json_loads(bytes, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "hosts")), fleet.count);
	assert_int_equal(json_array_size(json_object_get(root, "worst")), fleet.count);
	json_decref(root);
	free(bytes);
}

/* Hosts of any kind, with names of any length. */
static void any_fleet_has_each_name_whole_and_is_json(void **state)
{
	struct dice dice = dice_start();
	char name[200], *text;

	(void)state;
	for (unsigned i = 0; i < ROLLS; i++) {
		snprintf(name, sizeof(name), "%s%0*u", i % 2 ? "web-" : "/a/", (int)(i % 150), i);
		memset(&document, 0, sizeof(document));
		evidence_roll(&document.evidence, &dice);
		document.rate = i % 3 ? 0 : 1e9;
		add(name);
	}
	fleet.all = true;
	fleet_sum(&fleet);
	assert_int_equal(fleet.count, ROLLS);
	fleet_summarize(&fleet);
	text = unit_print(fleet_write_text, &fleet);
	for (size_t i = 0; i < fleet.count; i++) {
		snprintf(name, sizeof(name), "  %s\n", fleet.hosts[i].name);
		assert_non_null(strstr(text, name));
	}
	free(text);
	assert_is_json();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_worst_come_first, end),
		cmocka_unit_test_teardown(a_broken_document_leaves_a_host_undetermined, end),
		cmocka_unit_test_teardown(every_document_counts, end),
		cmocka_unit_test_teardown(a_host_without_a_name_is_called_by_its_document, end),
		cmocka_unit_test_teardown(groups_count_hosts_by_verdict, end),
		cmocka_unit_test_teardown(cpus_are_lost_at_a_known_rate_alone, end),
		cmocka_unit_test_teardown(any_fleet_has_each_name_whole_and_is_json, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       unit_run_rows("a fleet is summed up in a sentence", answers_in_a_sentence, answers);
}
