/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck fleet`, which is written and never read. Unlike the
 * text it has all groups, and all hosts that are not ok.
 */
#include "model.h"

static bool has_lost_ns(const void *object)
{
	return ((const struct fleet_sums *)object)->with_lost_ns;
}

static bool is_rated(const void *object)
{
	return ((const struct fleet_sums *)object)->rated;
}

#define OF struct fleet_sums
#define HOSTS(name, member) INTEGER(name, member, INT64_MAX)

static const struct field sums_fields[] = {
	{HOSTS("hosts", hosts)},
	{HOSTS("ok", verdicts[VERDICT_OK])},
	{HOSTS("fallback", verdicts[VERDICT_FALLBACK])},
	{HOSTS("slow", verdicts[VERDICT_SLOW])},
	{HOSTS("unknown", verdicts[VERDICT_UNKNOWN])},
	{NS("mean_lost_ns", mean_lost_ns), .has = has_lost_ns},
	{REAL("lost_cpus", lost_cpus, 3), .has = is_rated},
	{HOSTS("rated_hosts", rated)},
	{0},
};

#undef OF
#define OF struct fleet_group

static const struct field group_fields[] = {
	{STRING("name", name)},
	{INLINE(sums, sums_fields)},
	{0},
};

static const struct field cause_element[] = {
	{.key = "", .kind = FIELD_STRING, .options = FIELD_FILLED},
	{0},
};

#undef OF
#define OF struct fleet_host
#define KEY(name, dimension) .key = name, .kind = FIELD_STRING, MEMBER(keys[dimension])

static const struct field host_fields[] = {
	{.key = "name", .kind = FIELD_STRING, MEMBER(name)},
	{TEXT("time", time)},
	{WORD("verdict", verdict, verdict_names)},
	{STRING("rule", rule)},
	{LIST("causes", causes, cause_count, cause_element)},
	{KEY("kernel", FLEET_KERNEL)},
	{KEY("clocksource", FLEET_CLOCKSOURCE)},
	{KEY("instance_type", FLEET_INSTANCE_TYPE)},
	{NS("call_ns", call_ns), .options = FIELD_NEGATIVE_NONE},
	{NS("lost_ns", lost_ns), .options = FIELD_NEGATIVE_NONE},
	{REAL("lost_cpus", lost_cpus, 6), .options = FIELD_NEGATIVE_NONE},
	{0},
};

#undef OF
#define OF struct fleet
#define GROUPS(name, dimension)                                                                    \
	LIST_AT(name, groups[dimension].list, groups[dimension].count, group_fields)

static const struct field verdict_fields[] = {
	{WORD("verdict", verdict, verdict_names), .options = FIELD_FILLED},
	{0},
};

static const struct field fleet_fields[] = {
	{INTEGER("documents_broken", broken, INT64_MAX)},
	{INLINE(sums, sums_fields)},
	{GROUPS("by_cause", FLEET_CAUSE)},
	{GROUPS("by_kernel", FLEET_KERNEL)},
	{GROUPS("by_clocksource", FLEET_CLOCKSOURCE)},
	{GROUPS("by_instance_type", FLEET_INSTANCE_TYPE)},
	{0},
};

#undef OF
#define OF struct fleet_report

const struct field fleet_report_fields[] = {
	{INLINE_AT(moment, moment_fields)},
	{INLINE_AT(fleet, verdict_fields)},
	{INTEGER("exit_status", exit_status, 3)},
	{TEXT("summary", summary), .options = FIELD_FILLED},
	{INLINE_AT(fleet, fleet_fields)},
	{LIST_AT("worst", hosts, host_count, host_fields)},
	{0},
};

bool fleet_report_json(const void *result, const struct style *style, FILE *out)
{
	const struct document_part parts[] = {{.fields = fleet_report_fields, .from = result}, {0}};

	return document_write(FLEET_SCHEMA, parts, style->compact, out);
}
