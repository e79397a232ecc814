/* SPDX-License-Identifier: MIT */
/*
 * The hosts of a fleet: each document judged anew, as --from does, since the version that wrote
 * it may have judged otherwise; then sorted, counted and grouped.
 */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

void fleet_add(struct fleet *fleet, const struct fleet_document *document, const char *place)
{
	static struct diagnosis diagnosis;
	const struct evidence *evidence = &document->evidence;
	const struct host_evidence *about = &evidence->host;
	const struct cost *cost = &diagnosis.cost;
	const char *name = *document->file ? document->file : place;
	double rate = fleet->rate > 0 ? fleet->rate : document->rate;
	struct fleet_host host = {.call_ns = NAN, .lost_ns = NAN, .lost_cpus = NAN};

	/* Hosts that still have the name of their image cannot be told apart by it. */
	if (*about->name.value && !text_starts(text_span(about->name.value), "localhost"))
		name = about->name.value;
	host.name = xstrdup(name);
	text_copy(host.time, sizeof(host.time), evidence->timestamp.time.value);
	text_copy(host.keys[FLEET_KERNEL], FACT_TEXT_SIZE, about->kernel.value);
	text_copy(host.keys[FLEET_CLOCKSOURCE], FACT_TEXT_SIZE, evidence->clocksource.current);
	text_copy(host.keys[FLEET_INSTANCE_TYPE], FACT_TEXT_SIZE, about->instance_type.value);
	diagnose(evidence, &diagnosis);
	host.verdict = diagnosis.verdict.kind;
	host.rule = diagnosis.verdict.rule;
	for (size_t i = 0; i < diagnosis.cause_count && host.verdict != VERDICT_OK; i++)
		host.causes[host.cause_count++] = diagnosis.causes[i].id;
	if (fact_is_known(&cost->call_fact))
		host.call_ns = cost->call_ns;
	if (fact_is_known(&cost->vdso_fact))
		host.lost_ns = cost->lost_ns;
	if (rate > 0)
		host.lost_cpus = cost_seconds(rate, host.lost_ns, 0);
	fleet->hosts = array_grow(fleet->hosts, fleet->count, &fleet->room, sizeof(host));
	fleet->hosts[fleet->count++] = host;
}

void fleet_free(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->count; i++)
		free(fleet->hosts[i].name);
	free(fleet->hosts);
	for (size_t i = 0; i < FLEET_DIMENSIONS; i++)
		free(fleet->groups[i].list);
	*fleet = (struct fleet){0};
}

/* Unknown values sort behind all known ones. */
static double known_or_less(double value)
{
	return isnan(value) ? -1 : value;
}

static int compare_hosts(const void *first, const void *second)
{
	const struct fleet_host *a = first, *b = second;
	const double pairs[][2] = {
		{verdict_severities[a->verdict], verdict_severities[b->verdict]},
		{known_or_less(a->lost_cpus), known_or_less(b->lost_cpus)},
		{known_or_less(a->lost_ns), known_or_less(b->lost_ns)},
		{known_or_less(a->call_ns), known_or_less(b->call_ns)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (pairs[i][0] != pairs[i][1])
			return pairs[i][0] > pairs[i][1] ? -1 : 1;
	}
	return strcmp(a->name, b->name);
}

/* Groups with the most hosts that are neither ok nor unknown come first, then the largest. */
static int compare_groups(const void *first, const void *second)
{
	const struct fleet_group *a = first, *b = second;
	size_t a_bad = a->sums.affected - a->sums.verdicts[VERDICT_UNKNOWN];
	size_t b_bad = b->sums.affected - b->sums.verdicts[VERDICT_UNKNOWN];

	if (a_bad != b_bad)
		return a_bad > b_bad ? -1 : 1;
	if (a->sums.hosts != b->sums.hosts)
		return a->sums.hosts > b->sums.hosts ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void count_host(struct fleet_sums *sums, const struct fleet_host *host)
{
	sums->hosts++;
	sums->verdicts[host->verdict]++;
	if (host->verdict == VERDICT_OK)
		return;
	sums->affected++;
	if (!isnan(host->lost_ns)) {
		double sum = (double)sums->timed * sums->mean_lost_ns;

		sums->mean_lost_ns = (sum + host->lost_ns) / (double)++sums->timed;
	}
	if (!isnan(host->lost_cpus)) {
		sums->lost_cpus += host->lost_cpus;
		sums->rated++;
	}
}

/* A fleet has a few dozens of kernels, clocksources and instance types: a search is enough. */
static void count_in_group(
	struct fleet_groups *groups, const char *name, const struct fleet_host *host)
{
	size_t place = 0;

	while (place < groups->count && strcmp(groups->list[place].name, name) != 0)
		place++;
	if (place == groups->count) {
		groups->list = array_grow(
			groups->list, groups->count, &groups->room, sizeof(*groups->list));
		groups->list[groups->count++] = (struct fleet_group){.name = name};
	}
	count_host(&groups->list[place].sums, host);
}

void fleet_sum(struct fleet *fleet)
{
	fleet->verdict = fleet->broken ? VERDICT_UNKNOWN : VERDICT_OK;
	if (fleet->count)
		qsort(fleet->hosts, fleet->count, sizeof(*fleet->hosts), compare_hosts);
	for (size_t i = 0; i < fleet->count; i++) {
		const struct fleet_host *host = &fleet->hosts[i];

		if (verdict_severities[host->verdict] > verdict_severities[fleet->verdict])
			fleet->verdict = host->verdict;
		count_host(&fleet->sums, host);
		for (enum fleet_dimension k = 0; k < FLEET_CAUSE; k++)
			count_in_group(&fleet->groups[k], host->keys[k], host);
		for (size_t k = 0; k < host->cause_count; k++)
			count_in_group(&fleet->groups[FLEET_CAUSE], host->causes[k], host);
		if (host->verdict != VERDICT_OK && !host->cause_count)
			count_in_group(&fleet->groups[FLEET_CAUSE], "", host);
	}
	for (enum fleet_dimension i = 0; i < FLEET_DIMENSIONS; i++) {
		struct fleet_groups *groups = &fleet->groups[i];

		if (groups->count)
			qsort(groups->list, groups->count, sizeof(*groups->list), compare_groups);
	}
	fleet->listed = fleet->all ? fleet->count : fleet->sums.affected;
}
