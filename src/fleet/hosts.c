/* SPDX-License-Identifier: MIT */
/*
 * The hosts of a fleet: each document judged anew, as --from does, since the version that wrote
 * it may have judged otherwise; then sorted, counted and grouped. Texts that many hosts share are
 * kept once, as keys of a jansson object, which is a hash table.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "base/fact.h"
#include "base/memory.h"
#include "base/text.h"

/* "NAME INSTANCE-ID" */
#define IDENTITY_SIZE (2 * FACT_TEXT_SIZE)

bool fleet_start(struct fleet *fleet)
{
	*fleet = (struct fleet){.names = json_object(), .identities = json_object()};
	return fleet->names && fleet->identities;
}

void fleet_free(struct fleet *fleet)
{
	free(fleet->hosts);
	for (size_t i = 0; i < FLEET_DIMENSIONS; i++) {
		json_decref(fleet->groups[i].places);
		free(fleet->groups[i].list);
	}
	json_decref(fleet->names);
	json_decref(fleet->identities);
}

/* ---- one document ---- */

const char *fleet_keep(struct fleet *fleet, const char *text)
{
	void *place = json_object_iter_at(fleet->names, text);

	if (!place && json_object_set_new(fleet->names, text, json_true()) == 0)
		place = json_object_iter_at(fleet->names, text);
	return place ? json_object_iter_key(place) : NULL;
}

static void judge(const struct fleet_document *document, struct fleet_host *host)
{
	static struct diagnosis diagnosis;
	struct cost *cost = &diagnosis.cost;

	diagnose(&document->evidence, &diagnosis);
	host->verdict = diagnosis.verdict.kind;
	host->rule = diagnosis.verdict.rule;
	for (size_t i = 0; i < diagnosis.cause_count && host->verdict != VERDICT_OK; i++)
		host->causes[host->cause_count++] = diagnosis.causes[i].id;
	host->of[FLEET_CAUSE] = host->cause_count ? host->causes[0] : "";
	host->call_ns = cost->known ? cost->call_ns : -1;
	host->lost_ns = cost->known && cost->estimated ? cost_lost_ns(cost) : -1;
	host->lost_cpus = host->lost_ns >= 0 && document->rate > 0
	                          ? cost_seconds(document->rate, host->lost_ns, 0)
	                          : -1;
}

/* False if memory ran out. */
static bool describe(struct fleet *fleet, const struct evidence *evidence, struct fleet_host *host)
{
	const struct clocksource_evidence *clocksource = &evidence->clocksource;
	const struct text_fact *kernel = &evidence->host.kernel;
	const struct text_fact *type = &evidence->host.instance_type;
	const struct text_fact *time = &evidence->moment.time;

	if (fact_is_known(&time->fact))
		text_copy(host->time, sizeof(host->time), time->value);
	host->of[FLEET_KERNEL] =
		fleet_keep(fleet, fact_is_known(&kernel->fact) ? kernel->value : "");
	host->of[FLEET_CLOCKSOURCE] = fleet_keep(
		fleet, fact_is_known(&clocksource->current_fact) ? clocksource->current : "");
	host->of[FLEET_INSTANCE_TYPE] =
		fleet_keep(fleet, fact_is_known(&type->fact) ? type->value : "");
	return host->of[FLEET_KERNEL] && host->of[FLEET_CLOCKSOURCE] &&
	       host->of[FLEET_INSTANCE_TYPE];
}

/* A host that still has the name of its image cannot be identified by it. */
static bool is_named(const struct host_evidence *host)
{
	return fact_is_known(&host->name.fact) && *host->name.value &&
	       !text_starts(text_span(host->name.value), "localhost");
}

static bool keep_host(struct fleet *fleet, const struct fleet_host *host)
{
	struct fleet_host *hosts =
		array_grow(fleet->hosts, fleet->count, &fleet->room, sizeof(*fleet->hosts));

	if (!hosts)
		return false;
	fleet->hosts = hosts;
	hosts[fleet->count++] = *host;
	return true;
}

/* A host that was met before is replaced, unless the document is older. */
static bool keep_newest(
	struct fleet *fleet, const struct fleet_host *host, const struct host_evidence *identity)
{
	char key[IDENTITY_SIZE];
	struct fleet_host *before;
	json_t *place;

	snprintf(key, sizeof(key), "%s %s", identity->name.value,
		fact_is_known(&identity->instance_id.fact) ? identity->instance_id.value : "");
	place = json_object_get(fleet->identities, key);
	if (!place) {
		place = json_integer((json_int_t)fleet->count);
		return json_object_set_new(fleet->identities, key, place) == 0 &&
		       keep_host(fleet, host);
	}
	fleet->superseded++;
	before = &fleet->hosts[json_integer_value(place)];
	if (strcmp(host->time, before->time) >= 0)
		*before = *host;
	return true;
}

bool fleet_add(struct fleet *fleet, const struct fleet_document *document, const char *place)
{
	const struct host_evidence *identity = &document->evidence.host;
	bool named = is_named(identity);
	struct fleet_host host = {.name = fleet_keep(fleet, named             ? identity->name.value
							    : *document->file ? document->file
									      : place)};

	judge(document, &host);
	if (!host.name || !describe(fleet, &document->evidence, &host))
		return false;
	return named ? keep_newest(fleet, &host, identity) : keep_host(fleet, &host);
}

/* ---- all of them ---- */

size_t fleet_hosts(const struct fleet_sums *sums)
{
	return fleet_affected(sums) + sums->hosts[VERDICT_OK];
}

size_t fleet_affected(const struct fleet_sums *sums)
{
	return sums->hosts[VERDICT_FALLBACK] + sums->hosts[VERDICT_SLOW] +
	       sums->hosts[VERDICT_UNKNOWN];
}

/* The higher the worse. */
static int severity(enum verdict_kind verdict)
{
	static const int severities[FLEET_VERDICTS] = {
		[VERDICT_OK] = 0,
		[VERDICT_UNKNOWN] = 1,
		[VERDICT_SLOW] = 2,
		[VERDICT_FALLBACK] = 3,
	};

	return severities[verdict];
}

/* Both orders of qsort(3): below zero if `one` is the worse. */
static int by_size(double one, double other)
{
	return (one < other) - (one > other);
}

static int compare_hosts(const void *first, const void *second)
{
	const struct fleet_host *one = first, *other = second;
	int order = severity(other->verdict) - severity(one->verdict);

	order = order ? order : by_size(one->lost_cpus, other->lost_cpus);
	order = order ? order : by_size(one->lost_ns, other->lost_ns);
	order = order ? order : by_size(one->call_ns, other->call_ns);
	return order ? order : strcmp(one->name, other->name);
}

static int compare_groups(const void *first, const void *second)
{
	const struct fleet_group *one = first, *other = second;
	int order = by_size((double)(fleet_affected(&one->sums) - one->sums.hosts[VERDICT_UNKNOWN]),
		(double)(fleet_affected(&other->sums) - other->sums.hosts[VERDICT_UNKNOWN]));

	order = order ? order
	              : by_size((double)fleet_hosts(&one->sums), (double)fleet_hosts(&other->sums));
	return order ? order : strcmp(one->name, other->name);
}

static void count(struct fleet_sums *sums, const struct fleet_host *host)
{
	sums->hosts[host->verdict]++;
	if (host->verdict == VERDICT_OK)
		return;
	if (host->lost_ns >= 0) {
		sums->with_lost_ns++;
		sums->lost_ns += host->lost_ns;
	}
	if (host->lost_cpus >= 0) {
		sums->rated++;
		sums->lost_cpus += host->lost_cpus;
	}
}

/* Places are indexes: the list moves when it grows. */
static bool count_in(struct fleet_groups *groups, const char *name, const struct fleet_host *host)
{
	json_t *place = json_object_get(groups->places, name);

	if (!place) {
		struct fleet_group *list = array_grow(
			groups->list, groups->count, &groups->room, sizeof(*groups->list));

		if (!list)
			return false;
		groups->list = list;
		place = json_integer((json_int_t)groups->count);
		if (json_object_set_new(groups->places, name, place) < 0)
			return false;
		list[groups->count++] = (struct fleet_group){.name = name};
	}
	count(&groups->list[json_integer_value(place)].sums, host);
	return true;
}

static bool count_host(struct fleet *fleet, const struct fleet_host *host)
{
	bool counted = true;

	count(&fleet->sums, host);
	for (size_t i = 0; counted && i < host->cause_count; i++)
		counted = count_in(&fleet->groups[FLEET_CAUSE], host->causes[i], host);
	if (counted && host->verdict != VERDICT_OK && !host->cause_count)
		counted = count_in(&fleet->groups[FLEET_CAUSE], "", host);
	for (size_t i = FLEET_CAUSE + 1; counted && i < FLEET_DIMENSIONS; i++)
		counted = count_in(&fleet->groups[i], host->of[i], host);
	return counted;
}

bool fleet_sum(struct fleet *fleet)
{
	bool counted = true;

	for (size_t i = 0; counted && i < FLEET_DIMENSIONS; i++) {
		fleet->groups[i].places = json_object();
		counted = fleet->groups[i].places;
	}
	for (size_t i = 0; counted && i < fleet->count; i++)
		counted = count_host(fleet, &fleet->hosts[i]);
	if (!counted)
		return false;
	if (fleet->count)
		qsort(fleet->hosts, fleet->count, sizeof(*fleet->hosts), compare_hosts);
	for (size_t i = 0; i < FLEET_DIMENSIONS; i++) {
		struct fleet_groups *groups = &fleet->groups[i];

		if (groups->count)
			qsort(groups->list, groups->count, sizeof(*groups->list), compare_groups);
	}
	return true;
}

enum verdict_kind fleet_verdict(const struct fleet *fleet)
{
	enum verdict_kind worst = fleet->broken ? VERDICT_UNKNOWN : VERDICT_OK;

	for (enum verdict_kind i = 0; i < FLEET_VERDICTS; i++) {
		if (fleet->sums.hosts[i] && severity(i) > severity(worst))
			worst = i;
	}
	return worst;
}
