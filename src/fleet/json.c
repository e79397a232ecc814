/* SPDX-License-Identifier: MIT */
/*
 * The fields of the document of `vdsocheck fleet`, which is written and never read. Unlike the
 * text it has all groups, and all hosts that are not ok.
 */
#include "model.h"

#define OF struct fleet_sums
#define HOSTS(name, member) INTEGER(name, member, INT64_MAX)

static const struct field sums_fields[] = {
	{HOSTS("hosts", hosts), .doc = "number of hosts"},
	{HOSTS("ok", verdicts[VERDICT_OK]), .doc = "number of hosts with the verdict ok"},
	{HOSTS("fallback", verdicts[VERDICT_FALLBACK]),
		.doc = "number of hosts with the verdict fallback"},
	{HOSTS("slow", verdicts[VERDICT_SLOW]), .doc = "number of hosts with the verdict slow"},
	{HOSTS("wrong", verdicts[VERDICT_WRONG]), .doc = "number of hosts with the verdict wrong"},
	{HOSTS("unknown", verdicts[VERDICT_UNKNOWN]),
		.doc = "number of hosts with the verdict unknown"},
	{NS("mean_lost_ns", mean_lost_ns), .given = GIVEN(timed),
		.doc = "ns lost per call against the vDSO, mean over hosts that are not ok; null: "
		       "unknown for all"},
	{REAL("lost_cpus", lost_cpus, 3), .given = GIVEN(rated),
		.doc = "CPUs lost by the hosts that are not ok, total; null: no host's rate of "
		       "calls is known"},
	{HOSTS("rated_hosts", rated), .doc = "hosts that lost_cpus is the total of"},
	{0},
};

#undef OF
#define OF struct fleet_group

static const struct field group_fields[] = {
	{STRING("name", name),
		.doc = "what the hosts have in common; null: unknown, or no cause was found"},
	{INLINE(sums, sums_fields)},
	{0},
};

static const struct field cause_element[] = {
	{.key = "", .kind = FIELD_STRING, .options = FIELD_FILLED},
	{0},
};

#undef OF
#define OF struct fleet_host

static const struct field host_fields[] = {
	{.key = "name",
		.kind = FIELD_STRING,
		MEMBER(name),
		.doc = "name of the host, else of the file with its document"},
	{TEXT("time", time),
		.doc = "when the host was checked, UTC, as 2026-11-21T15:02:11Z; null: unknown"},
	{WORD("verdict", verdict, verdict_names), .doc = "verdict of the host, judged anew"},
	{STRING("rule", rule), .doc = "id of the rule that gave the verdict"},
	{LIST("causes", causes, cause_count, cause_element),
		.doc = "ids of the causes; none if the verdict is ok"},
	{TEXT("kernel", keys[FLEET_KERNEL]), .doc = "release of the kernel; null: unknown"},
	{TEXT("clocksource", keys[FLEET_CLOCKSOURCE]), .doc = "clocksource in use; null: unknown"},
	{TEXT("instance_type", keys[FLEET_INSTANCE_TYPE]),
		.doc = "instance type of the cloud; null: unknown"},
	{NS("call_ns", call_ns), .doc = "ns per deciding call, the costliest one; null: unknown"},
	{NS("lost_ns", lost_ns), .doc = "ns lost per call against the vDSO; null: unknown"},
	{REAL("lost_cpus", lost_cpus, 6),
		.doc = "CPUs that the host loses by its calls; null: cost or rate of calls is "
		       "unknown"},
	{0},
};

#undef OF
#define OF struct fleet
#define GROUPS(name, dimension)                                                                    \
	LIST_AT(name, groups[dimension].list, groups[dimension].count, group_fields)

const struct field fleet_fields[] = {
	{INLINE(timestamp, timestamp_fields)},
	{WORD("verdict", verdict, verdict_names), .options = FIELD_FILLED,
		.doc = "worst verdict of the hosts; with broken documents not better than unknown"},
	{INTEGER("exit_status", exit_status, 3),
		.doc = "0: all ok; 1: fallback, slow or wrong; 2: undetermined; 3: an operand could not "
		       "be opened"},
	{TEXT("summary", summary), .options = FIELD_FILLED,
		.doc = "number of hosts and verdicts in a sentence"},
	{INTEGER("documents_broken", broken, INT64_MAX), .doc = "documents that could not be read"},
	{INLINE(sums, sums_fields)},
	{GROUPS("by_cause", FLEET_CAUSE),
		.doc = "groups of the hosts that are not ok, by cause: a host may be in several"},
	{GROUPS("by_kernel", FLEET_KERNEL), .doc = "groups of the hosts by release of the kernel"},
	{GROUPS("by_clocksource", FLEET_CLOCKSOURCE), .doc = "groups of the hosts by clocksource"},
	{GROUPS("by_instance_type", FLEET_INSTANCE_TYPE),
		.doc = "groups of the hosts by instance type"},
	{LIST_AT("worst", hosts, listed, host_fields),
		.doc = "hosts that are not ok, with -v every host, the worst first"},
	{0},
};

bool fleet_write_json(const void *result, const struct style *style, FILE *out)
{
	return document_write(FLEET_SCHEMA, fleet_fields, result, style->compact, out);
}
