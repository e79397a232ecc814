/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck fleet`, which is written and never read. Unlike the
 * text it has all groups, and all hosts that are not ok, unless --top is given.
 */
#include "document.h"
#include "judge.h"
#include "report.h"

/* ---- sums ---- */

static json_t *count_all(const void *object, const void *whole)
{
	(void)whole;
	return json_integer((json_int_t)fleet_hosts(object));
}

static json_t *mean_lost_ns(const void *object, const void *whole)
{
	const struct fleet_sums *sums = object;

	(void)whole;
	return field_real(sums->lost_ns / (double)sums->with_lost_ns, 1);
}

static bool has_lost_ns(const void *object)
{
	return ((const struct fleet_sums *)object)->with_lost_ns;
}

static bool is_rated(const void *object)
{
	return ((const struct fleet_sums *)object)->rated;
}

#define OF struct fleet_sums

static const struct field sums_fields[] = {
	{COMPUTED("hosts", FIELD_INTEGER, count_all), .options = FIELD_FILLED, .most = INT64_MAX},
	{INTEGER("ok", hosts[VERDICT_OK], INT64_MAX)},
	{INTEGER("fallback", hosts[VERDICT_FALLBACK], INT64_MAX)},
	{INTEGER("slow", hosts[VERDICT_SLOW], INT64_MAX)},
	{INTEGER("unknown", hosts[VERDICT_UNKNOWN], INT64_MAX)},
	{COMPUTED("mean_lost_ns", FIELD_REAL, mean_lost_ns), .most = DOCUMENT_NS_MAX,
		.has = has_lost_ns},
	{REAL("lost_cpus", lost_cpus, 3), .has = is_rated},
	{INTEGER("rated_hosts", rated, INT64_MAX)},
	{0},
};

#undef OF
#define OF struct fleet_group

static const struct field group_fields[] = {
	{STRING("name", name)},
	{INLINE(sums, sums_fields)},
	{0},
};

/* ---- hosts ---- */

static const struct field cause_element[] = {
	{.key = "", .kind = FIELD_STRING, .options = FIELD_FILLED},
	{0},
};

#undef OF
#define OF struct fleet_host

static const struct field host_fields[] = {
	{STRING("name", name)},
	{TEXT("time", time)},
	{WORD("verdict", verdict, verdict_names)},
	{STRING("rule", rule)},
	{LIST("causes", causes, cause_count, cause_element)},
	{STRING("kernel", of[FLEET_KERNEL])},
	{STRING("clocksource", of[FLEET_CLOCKSOURCE])},
	{STRING("instance_type", of[FLEET_INSTANCE_TYPE])},
	{NS("call_ns", call_ns), .options = FIELD_NEGATIVE_NONE},
	{NS("lost_ns", lost_ns), .options = FIELD_NEGATIVE_NONE},
	{REAL("lost_cpus", lost_cpus, 6), .options = FIELD_NEGATIVE_NONE},
	{0},
};

#undef OF

static size_t at_most(const struct fleet_report *report, size_t count)
{
	return report->top && report->top < count ? report->top : count;
}

static json_t *hosts(const void *object, const void *whole)
{
	const struct fleet_report *report = object;
	const struct fleet *fleet = report->fleet;
	/* The worst come first, and with --verbose all of them. */
	size_t count = report->all ? fleet->count : fleet_affected(&fleet->sums);

	return field_list(
		host_fields, fleet->hosts, at_most(report, count), sizeof(*fleet->hosts), whole);
}

/* ---- groups ---- */

static json_t *group(const struct fleet_report *report, enum fleet_dimension dimension)
{
	const struct fleet_groups *groups = &report->fleet->groups[dimension];

	return field_list(group_fields, groups->list, at_most(report, groups->count),
		sizeof(*groups->list), report);
}

static json_t *by_cause(const void *object, const void *whole)
{
	(void)whole;
	return group(object, FLEET_CAUSE);
}

static json_t *by_kernel(const void *object, const void *whole)
{
	(void)whole;
	return group(object, FLEET_KERNEL);
}

static json_t *by_clocksource(const void *object, const void *whole)
{
	(void)whole;
	return group(object, FLEET_CLOCKSOURCE);
}

static json_t *by_instance_type(const void *object, const void *whole)
{
	(void)whole;
	return group(object, FLEET_INSTANCE_TYPE);
}

/* ---- the document ---- */

static json_t *worst(const void *object, const void *whole)
{
	(void)whole;
	return json_string(
		verdict_names[fleet_verdict(((const struct fleet_report *)object)->fleet)]);
}

#define OF struct fleet

static const struct field fleet_fields[] = {
	{INTEGER("documents_broken", broken, INT64_MAX)},
	{INTEGER("documents_superseded", superseded, INT64_MAX)},
	{INLINE(sums, sums_fields)},
	{0},
};

#undef OF
#define OF struct fleet_report
#define GROUPS(name, function)                                                                     \
	COMPUTED(name, FIELD_LIST, function), .options = FIELD_FILLED, .fields = group_fields

const struct field fleet_report_fields[] = {
	{INLINE_AT(moment, moment_fields)},
	{COMPUTED("verdict", FIELD_WORD, worst), .options = FIELD_FILLED, .words = verdict_names},
	{INTEGER("exit_status", exit_status, 3)},
	{TEXT("summary", summary), .options = FIELD_FILLED},
	{INLINE_AT(fleet, fleet_fields)},
	{GROUPS("by_cause", by_cause)},
	{GROUPS("by_kernel", by_kernel)},
	{GROUPS("by_clocksource", by_clocksource)},
	{GROUPS("by_instance_type", by_instance_type)},
	{COMPUTED("worst", FIELD_LIST, hosts), .options = FIELD_FILLED, .fields = host_fields},
	{0},
};

#undef OF

bool fleet_report_json(const void *result, const struct style *style, FILE *out)
{
	const struct document_part parts[] = {{.fields = fleet_report_fields, .from = result}, {0}};

	return document_write(FLEET_JSON_SCHEMA, parts, style->compact, out);
}
