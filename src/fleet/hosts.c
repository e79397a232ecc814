/* SPDX-License-Identifier: MIT */
/*
 * The hosts of a fleet: each document judged anew, as --from does, since the version that wrote
 * it may have judged otherwise; then sorted, counted and grouped.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* ---- one document ---- */

static char *copy_known(const struct fact *fact, const char *text)
{
	return xstrdup(fact_is_known(fact) ? text : "");
}

void fleet_add(struct fleet *fleet, const struct fleet_document *document, const char *place)
{
	static struct diagnosis diagnosis;
	const struct evidence *evidence = &document->evidence;
	const struct host_evidence *about = &evidence->host;
	const struct cost *cost = &diagnosis.cost;
	const char *name = *document->file ? document->file : place;
	struct fleet_host host = {.call_ns = -1, .lost_ns = -1, .lost_cpus = -1};

	/* Hosts that still have the name of their image cannot be told apart by it. */
	if (fact_is_known(&about->name.fact) && *about->name.value &&
		!text_starts(text_span(about->name.value), "localhost"))
		name = about->name.value;
	host.name = xstrdup(name);
	if (fact_is_known(&evidence->timestamp.time.fact))
		text_copy(host.time, sizeof(host.time), evidence->timestamp.time.value);
	diagnose(evidence, &diagnosis);
	host.verdict = diagnosis.verdict.kind;
	host.rule = diagnosis.verdict.rule;
	for (size_t i = 0; i < diagnosis.cause_count && host.verdict != VERDICT_OK; i++)
		host.causes[host.cause_count++] = diagnosis.causes[i].id;
	host.keys[FLEET_CAUSE] = xstrdup(host.cause_count ? host.causes[0] : "");
	host.keys[FLEET_KERNEL] = copy_known(&about->kernel.fact, about->kernel.value);
	host.keys[FLEET_CLOCKSOURCE] =
		copy_known(&evidence->clocksource.current_fact, evidence->clocksource.current);
	host.keys[FLEET_INSTANCE_TYPE] =
		copy_known(&about->instance_type.fact, about->instance_type.value);
	if (cost->known)
		host.call_ns = cost->call_ns;
	if (cost->known && cost->estimated)
		host.lost_ns = cost_lost_ns(cost);
	if (host.lost_ns >= 0 && document->rate > 0)
		host.lost_cpus = cost_seconds(document->rate, host.lost_ns, 0);
	fleet->hosts = array_grow(fleet->hosts, fleet->count, &fleet->room, sizeof(host));
	fleet->hosts[fleet->count++] = host;
}

void fleet_free(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->count; i++) {
		free(fleet->hosts[i].name);
		for (size_t k = 0; k < FLEET_DIMENSIONS; k++)
			free(fleet->hosts[i].keys[k]);
	}
	free(fleet->hosts);
	for (size_t i = 0; i < FLEET_DIMENSIONS; i++)
		free(fleet->groups[i].list);
	*fleet = (struct fleet){0};
}

/* ---- all of them ---- */

/* The higher the worse. */
static const int severities[FLEET_VERDICTS] = {
	[VERDICT_OK] = 0,
	[VERDICT_UNKNOWN] = 1,
	[VERDICT_SLOW] = 2,
	[VERDICT_FALLBACK] = 3,
};

/* For qsort(3): below zero if `one` is the worse. */
static int by_size(double one, double other)
{
	return (one < other) - (one > other);
}

static int by_severity(const void *first, const void *second)
{
	const struct fleet_host *one = first, *other = second;
	int order = severities[other->verdict] - severities[one->verdict];

	order = order ? order : by_size(one->lost_cpus, other->lost_cpus);
	order = order ? order : by_size(one->lost_ns, other->lost_ns);
	order = order ? order : by_size(one->call_ns, other->call_ns);
	return order ? order : strcmp(one->name, other->name);
}

static int by_slow_hosts(const void *first, const void *second)
{
	const struct fleet_group *one = first, *other = second;
	const struct fleet_sums *sums = &one->sums, *others = &other->sums;
	int order = by_size((double)(sums->affected - sums->verdicts[VERDICT_UNKNOWN]),
		(double)(others->affected - others->verdicts[VERDICT_UNKNOWN]));

	order = order ? order : by_size((double)sums->hosts, (double)others->hosts);
	return order ? order : strcmp(one->name, other->name);
}

static void count(struct fleet_sums *sums, const struct fleet_host *host)
{
	sums->hosts++;
	sums->verdicts[host->verdict]++;
	if (host->verdict == VERDICT_OK)
		return;
	sums->affected++;
	if (host->lost_ns >= 0) {
		sums->with_lost_ns++;
		sums->mean_lost_ns +=
			(host->lost_ns - sums->mean_lost_ns) / (double)sums->with_lost_ns;
	}
	if (host->lost_cpus >= 0) {
		sums->rated++;
		sums->lost_cpus += host->lost_cpus;
	}
}

/* A host in one of its groups. */
struct member {
	const char *key;
	const struct fleet_host *host;
};

static int by_key(const void *one, const void *other)
{
	return strcmp(((const struct member *)one)->key, ((const struct member *)other)->key);
}

static void make_groups(
	const struct fleet *fleet, enum fleet_dimension dimension, struct fleet_groups *groups)
{
	struct member *members = NULL;
	size_t member_count = 0, room = 0;

	for (size_t i = 0; i < fleet->count; i++) {
		const struct fleet_host *host = &fleet->hosts[i];
		bool several = dimension == FLEET_CAUSE && host->cause_count;

		if (dimension == FLEET_CAUSE && host->verdict == VERDICT_OK)
			continue;
		for (size_t k = 0; k < (several ? host->cause_count : 1); k++) {
			members = array_grow(members, member_count, &room, sizeof(*members));
			members[member_count++] = (struct member){
				several ? host->causes[k] : host->keys[dimension], host};
		}
	}
	if (member_count)
		qsort(members, member_count, sizeof(*members), by_key);
	for (size_t i = 0; i < member_count; i++) {
		if (!i || by_key(&members[i], &members[i - 1])) {
			groups->list = array_grow(
				groups->list, groups->count, &groups->room, sizeof(*groups->list));
			groups->list[groups->count++] =
				(struct fleet_group){.name = members[i].key};
		}
		count(&groups->list[groups->count - 1].sums, members[i].host);
	}
	free(members);
	if (groups->count)
		qsort(groups->list, groups->count, sizeof(*groups->list), by_slow_hosts);
}

void fleet_sum(struct fleet *fleet)
{
	fleet->verdict = fleet->broken ? VERDICT_UNKNOWN : VERDICT_OK;
	for (size_t i = 0; i < fleet->count; i++) {
		const struct fleet_host *host = &fleet->hosts[i];

		count(&fleet->sums, host);
		if (severities[host->verdict] > severities[fleet->verdict])
			fleet->verdict = host->verdict;
	}
	if (fleet->count)
		qsort(fleet->hosts, fleet->count, sizeof(*fleet->hosts), by_severity);
	for (enum fleet_dimension i = 0; i < FLEET_DIMENSIONS; i++)
		make_groups(fleet, i, &fleet->groups[i]);
}
