/* SPDX-License-Identifier: MIT */
#include "document/json_value.h"
#include "report.h"

#define NS_PER_SECOND 1e9

static json_t *tally_object(const struct warp_evidence *warp, enum warp_clock_id id)
{
	const struct warp_tally *tally = &warp->tallies[id];
	const struct fact *fact = fact_is_known(&warp->fact) ? &tally->fact : &warp->fact;
	bool known = fact_is_known(fact);
	bool warped = known && tally->warps > 0;
	bool bounded = known && fact_is_known(&tally->apart_fact);
	json_t *object = json_object();

	json_value_set(object, "clock", json_string(warp_clock_name(id)));
	json_value_set(object, "reads", json_value_integer(known, (int64_t)tally->reads));
	json_value_set(object, "warps", json_value_integer(known, (int64_t)tally->warps));
	json_value_set(object, "largest_warp_ns", json_value_integer(known, tally->largest_ns));
	json_value_set(object, "earlier_cpu", json_value_integer(warped, tally->earlier_cpu));
	json_value_set(object, "later_cpu", json_value_integer(warped, tally->later_cpu));
	json_value_set(
		object, "cpu_reason", warped ? NULL : json_string("absent: no warp was seen"));
	json_value_set(object, "apart_at_most_ns", json_value_integer(bounded, tally->apart_ns));
	json_value_set(
		object, "apart_reason", json_value_reason(known ? &tally->apart_fact : fact));
	json_value_set(object, "discarded_slices", json_integer(tally->discarded));
	json_value_set(object, "reason", json_value_reason(fact));
	return object;
}

static json_t *tallies_array(const struct warp_evidence *warp)
{
	json_t *list = json_array();

	for (int id = 0; id < WARP_CLOCK_COUNT; id++)
		json_array_append_new(list, tally_object(warp, (enum warp_clock_id)id));
	return list;
}

static const char *pair_reason(enum warp_pair_state state)
{
	switch (state) {
	case WARP_PAIR_KNOWN:
		return NULL;
	case WARP_PAIR_MOVED:
		return "failed: no one offset fits all that was read";
	default:
		return "failed: the two CPUs never ran at the same time";
	}
}

static json_t *pair_object(const struct warp_pair *pair)
{
	bool known = pair->state == WARP_PAIR_KNOWN;
	json_t *object = json_object();

	json_value_set(object, "cpu", json_integer(pair->cpu));
	json_value_set(object, "other_cpu", json_integer(pair->other_cpu));
	json_value_set(object, "offset_ns", json_value_real(known, pair->offset_ns, 1));
	json_value_set(object, "error_ns", json_value_real(known, pair->error_ns, 1));
	json_value_set(object, "reason", json_value_text(pair_reason(pair->state)));
	return object;
}

static json_t *counters_object(const struct warp_evidence *warp)
{
	json_t *object = json_object();
	json_t *pairs = NULL;

	if (fact_is_known(&warp->pair_fact)) {
		pairs = json_array();
		for (size_t i = 0; i < warp->pair_count; i++)
			json_array_append_new(pairs, pair_object(&warp->pairs[i]));
	}
	json_value_set(object, "pairs", pairs);
	json_value_set(object, "reason",
		json_value_reason(fact_is_known(&warp->fact) ? &warp->pair_fact : &warp->fact));
	return object;
}

static json_t *drift_object(const struct warp_evidence *warp)
{
	const struct warp_drift *drift = &warp->drift;
	const struct fact *fact = fact_is_known(&warp->fact) ? &drift->fact : &warp->fact;
	bool known = fact_is_known(fact);
	json_t *object = json_object();

	json_value_set(object, "counter_hz", json_value_real(known, drift->counter_hz, 0));
	json_value_set(object, "drift_ppm", json_value_real(known, drift->drift_ppm, 4));
	json_value_set(object, "error_ppm", json_value_real(known, drift->error_ppm, 4));
	json_value_set(object, "against", json_string("CLOCK_MONOTONIC_RAW"));
	json_value_set(object, "reason", json_value_reason(fact));
	return object;
}

static json_t *cpus_array(const struct warp_evidence *warp)
{
	json_t *list = json_array();

	for (size_t i = 0; i < warp->cpu_count; i++)
		json_array_append_new(list, json_integer(warp->cpus[i]));
	return list;
}

bool warp_report_json(const void *result, const struct style *style, FILE *out)
{
	const struct warp_report *report = result;
	const struct warp_evidence *warp = report->warp;
	const struct warp_ruling *ruling = report->ruling;
	bool known = fact_is_known(&warp->fact);
	json_t *root = json_value_root();

	(void)style;
	json_value_set(root, "schema", json_string(WARP_JSON_SCHEMA));
	json_value_set(root, "version", json_string(VDSOCHECK_VERSION));
	json_value_set_moment(root, report->moment);
	json_value_set(root, "verdict", json_string(warp_ruling_name(ruling->verdict)));
	json_value_set(root, "exit_status", json_integer(report->exit_status));
	json_value_set(root, "summary", json_string(ruling->summary));
	json_value_set(root, "rule", json_string(ruling->rule));
	json_value_set(root, "reason", json_value_reason(&warp->fact));
	json_value_set(root, "stopped", json_boolean(warp->stopped));
	json_value_set(root, "duration_seconds",
		json_value_real(known, (double)warp->duration_ns / NS_PER_SECOND, 3));
	json_value_set(root, "allowed_cpus", json_integer((json_int_t)warp->allowed));
	json_value_set(root, "cpus", cpus_array(warp));
	json_value_set(root, "clocks", tallies_array(warp));
	json_value_set(root, "counters", counters_object(warp));
	json_value_set(root, "drift", drift_object(warp));
	json_value_set(root, "advice", json_value_text(ruling->advice));
	json_value_set(root, "advice_reason",
		ruling->advice ? NULL : json_string("absent: there is nothing to be done"));
	return json_value_write(root, out);
}
