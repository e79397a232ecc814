/* SPDX-License-Identifier: MIT */
/*
 * Finds what differs between two documents, and whether it is for the worse. A cost has changed
 * only if it did beyond the noise of both runs; what else differs is a suspect.
 */
#include "model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/text.h"

/* ---- costs ---- */

/* The cost in one document; a call that it has twice is one cost. */
static void add_cost(struct diff *diff, const struct diff_document *document, struct diff_cost row)
{
	static const struct diff_times none = {NAN, NAN, NAN};
	const struct diff_times *times = &row.before;
	double most_ns = fmax(times->least_ns, fmax(times->median_ns, times->most_ns));
	struct diff_cost *cost = diff->costs, *end = cost + diff->cost_count;
	struct diff_times *sum;

	while (cost < end && (cost->path != row.path || strcmp(cost->call, row.call) != 0 ||
				     strcmp(cost->clock, row.clock) != 0))
		cost++;
	if (isnan(times->least_ns) || cost == diff->costs + DIFF_COST_MAX)
		return;
	if (cost == end) {
		*cost = row;
		cost->before = cost->now = none;
		diff->cost_count++;
	}
	/* fmin(3) and fmax(3) leave NAN out. */
	sum = document == &diff->old ? &cost->before : &cost->now;
	sum->least_ns = fmin(sum->least_ns, times->least_ns);
	sum->most_ns = fmax(sum->most_ns, most_ns);
}

/* Leaves out the raw system calls of a check: they are few, and programs do not make them. */
static void add_check_costs(struct diff *diff, const struct diff_document *document)
{
	const struct evidence *evidence = &document->evidence;

	if (fact_is_known(&evidence->timing.counter_fact))
		add_cost(diff, document,
			(struct diff_cost){.call = "counter",
				.path = PATH_COUNT,
				.before.least_ns = evidence->timing.counter_ns});
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		for (enum call_path path = PATH_VDSO; path <= PATH_LIBC; path++) {
			const struct path_evidence *times = &call->path[path];
			struct diff_cost cost = {.path = path,
				.before = {times->min_ns, times->median_ns, times->p99_ns}};

			text_copy(cost.call, sizeof(cost.call), call->call);
			text_copy(cost.clock, sizeof(cost.clock), call->clock);
			if (fact_is_known(&times->fact))
				add_cost(diff, document, cost);
		}
	}
}

void diff_document_judge(struct diff *diff, struct diff_document *document)
{
	diagnose(&document->evidence, &document->diagnosis);
	add_check_costs(diff, document);
}

/*
 * The least batch of the slower run is to be so much above what most batches of the faster one
 * take. Between 200 checks of one host, half of them beside four busy loops on its two CPUs, no
 * pair of runs is: the least that none exceeds is 1.4, and calls of 3 ns differ by 2 ns.
 */
#define RISE_LEAST 1.5
#define RISE_NS_LEAST 2

static bool is_above(const struct diff_times *slower, const struct diff_times *faster)
{
	return slower->least_ns >= RISE_LEAST * faster->most_ns &&
	       slower->least_ns >= RISE_NS_LEAST + faster->most_ns;
}

/* Compares the costs that both documents have, and drops the others. */
static void compare_costs(struct diff *diff)
{
	size_t count = 0;

	for (size_t i = 0; i < diff->cost_count; i++) {
		struct diff_cost cost = diff->costs[i];

		if (isnan(cost.before.least_ns) || isnan(cost.now.least_ns))
			continue;
		if (is_above(&cost.now, &cost.before))
			cost.change = DIFF_WORSE;
		else if (is_above(&cost.before, &cost.now))
			cost.change = DIFF_BETTER;
		diff->worse_count += cost.change == DIFF_WORSE;
		diff->better_count += cost.change == DIFF_BETTER;
		diff->costs[count++] = cost;
	}
	diff->cost_count = count;
}

/* ---- states ---- */

/* The higher the worse; below zero: unknown. */
static enum diff_answer compare_ranks(int before, int now)
{
	if (before < 0 || now < 0 || before == now)
		return DIFF_SAME;
	return now > before ? DIFF_WORSE : DIFF_BETTER;
}

/* An undetermined verdict is neither better nor worse; ok is not worse than anything. */
static enum diff_answer compare_verdicts(enum verdict_kind before, enum verdict_kind now)
{
	if (now == VERDICT_UNKNOWN || (before == VERDICT_UNKNOWN && now != VERDICT_OK))
		return DIFF_UNKNOWN;
	return compare_ranks(verdict_severities[before], verdict_severities[now]);
}

/* The CPU's counter alone, then a page of the hypervisor around it, then no mode. */
static int mode_rank(const struct vclock_evidence *vclock)
{
	if (vclock->how == VCLOCK_UNKNOWN || !*vclock->name)
		return -1;
	if (vclock->mode == VCLOCK_MODE_NONE)
		return 2;
	return strcmp(vclock->name, "pvclock") == 0 || strcmp(vclock->name, "hvclock") == 0;
}

/* Clocksources have no order: the mode counts. */
static void find_states(struct diff *diff)
{
	const struct evidence *before = &diff->old.evidence, *now = &diff->new.evidence;
	enum verdict_kind verdict_before = diff->old.diagnosis.verdict.kind;
	enum verdict_kind verdict_now = diff->new.diagnosis.verdict.kind;
	struct diff_property *state = diff->states;

	*state++ = (struct diff_property){"verdict", verdict_names[verdict_before],
		verdict_names[verdict_now], compare_verdicts(verdict_before, verdict_now)};
	*state++ = (struct diff_property){
		"clocksource", before->clocksource.current, now->clocksource.current, DIFF_SAME};
	*state++ = (struct diff_property){"clock mode", before->vclock.name, now->vclock.name,
		compare_ranks(mode_rank(&before->vclock), mode_rank(&now->vclock))};
	diff->state_count = (size_t)(state - diff->states);
}

/* ---- suspects ---- */

enum property_kind {
	IS_TEXT,
	IS_NUMBER,
	MAY_BE_NONE, /* a text; that there is none is a property of the host, too */
};

#define OF struct host_evidence
#define PROPERTY(name, member) name, offsetof(OF, member)

static const struct property {
	const char *name;
	size_t at; /* its fact, in the host's evidence */
	enum property_kind kind;
} properties[] = {
	{PROPERTY("kernel", kernel), IS_TEXT},
	{PROPERTY("kernel build", kernel_build), IS_TEXT},
	{PROPERTY("boot parameters", boot), MAY_BE_NONE},
	{PROPERTY("hypervisor", hypervisor), MAY_BE_NONE},
	{PROPERTY("hypervisor version", hypervisor_version), IS_TEXT},
	{PROPERTY("platform", platform), IS_TEXT},
	{PROPERTY("instance type", instance_type), IS_TEXT},
	{PROPERTY("architecture", arch), IS_TEXT},
	{PROPERTY("CPU", cpu), IS_TEXT},
	{PROPERTY("microcode", cpu_model), IS_TEXT},
	{PROPERTY("libc", libc), IS_TEXT},
	{PROPERTY("distribution", distribution), IS_TEXT},
	{PROPERTY("container", container), MAY_BE_NONE},
	{PROPERTY("emulator", emulator), MAY_BE_NONE},
	{PROPERTY("CPUs", cpu_count), IS_NUMBER},
	{PROPERTY("seccomp mode", seccomp), IS_NUMBER},
};

/* Returns "" for a value that is not known, which differs from nothing. */
static const char *property_value(
	const struct host_evidence *host, const struct property *property, char digits[24])
{
	const void *fact = (const char *)host + property->at;
	const struct text_fact *text = fact;
	bool known = fact_is_known(fact);

	if (property->kind == IS_NUMBER) {
		snprintf(digits, 24, "%" PRId64, ((const struct number_fact *)fact)->value);
		return known ? digits : "";
	}
	if (known && *text->value)
		return text->value;
	return property->kind == MAY_BE_NONE && (known || text->fact.state == FACT_ABSENT) ? "none"
	                                                                                   : "";
}

static bool differ(const char *before, const char *now)
{
	return *before && *now && strcmp(before, now) != 0;
}

static void find_suspects(struct diff *diff)
{
	const struct host_evidence *before = &diff->old.evidence.host;
	const struct host_evidence *now = &diff->new.evidence.host;

	for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
		struct diff_property *suspect = &diff->suspects[diff->suspect_count];
		char(*digits)[24] = diff->digits[diff->suspect_count];

		/* Another kernel has another build, too. */
		if (diff->suspect_count && properties[i].at == offsetof(OF, kernel_build))
			continue;
		suspect->name = properties[i].name;
		suspect->before = property_value(before, &properties[i], digits[0]);
		suspect->now = property_value(now, &properties[i], digits[1]);
		diff->suspect_count += differ(suspect->before, suspect->now);
	}
	if (*before->name.value && *now->name.value)
		diff->two_hosts = differ(before->name.value, now->name.value);
	else
		diff->two_hosts = differ(before->instance_id.value, now->instance_id.value) ||
		                  differ(before->arch.value, now->arch.value) ||
		                  differ(before->cpu.value, now->cpu.value);
}

/* ---- the answer ---- */

static enum diff_answer find_answer(const struct diff *diff)
{
	bool found[] = {[DIFF_BETTER] = diff->better_count,
		[DIFF_WORSE] = diff->worse_count,
		[DIFF_UNKNOWN] = false};

	for (size_t i = 0; i < diff->state_count; i++)
		found[diff->states[i].change] = true;
	return found[DIFF_WORSE]     ? DIFF_WORSE
	       : found[DIFF_UNKNOWN] ? DIFF_UNKNOWN
	       : found[DIFF_BETTER]  ? DIFF_BETTER
	                             : DIFF_SAME;
}

/* Names the states that changed and the first cost that did: deciding calls come first. */
static void name_changes(const struct diff *diff, struct strbuf *text)
{
	const struct diff_cost *cost = diff->costs, *end = cost + diff->cost_count;
	char before[32], now[32];

	for (size_t i = 0; i < diff->state_count; i++) {
		const struct diff_property *state = &diff->states[i];

		if (state->change == diff->answer)
			strbuf_add(text, "%sthe %s was %s and is %s", text->used ? ", " : "",
				state->name, state->before, state->now);
	}
	while (cost < end && cost->change != diff->answer)
		cost++;
	if (cost == end)
		return;
	if (text->used)
		strbuf_add(text, "; ");
	if (cost->path == PATH_COUNT)
		strbuf_add(text, "reading the CPU's counter");
	else
		describe_call_name(cost->call, cost->clock, text);
	strbuf_add(text, " took %s ns and takes %s ns", format_ns(cost->before.least_ns, before),
		format_ns(cost->now.least_ns, now));
}

static void summarize(struct diff *diff)
{
	bool new_is_unknown = diff->new.diagnosis.verdict.kind == VERDICT_UNKNOWN;
	struct strbuf text = {.used = 0};
	char count[32];

	if (diff->answer == DIFF_WORSE || diff->answer == DIFF_BETTER)
		name_changes(diff, &text);
	else if (diff->answer == DIFF_UNKNOWN)
		strbuf_add(&text, "the verdict of %s is undetermined",
			new_is_unknown ? diff->new.file : diff->old.file);
	else
		strbuf_add(&text, "the verdict is %s in both; ", diff->states[0].now);
	if (diff->answer == DIFF_SAME && diff->cost_count)
		strbuf_add(&text, "none of %s costs differs beyond the spread of the runs",
			format_count(diff->cost_count, count));
	else if (diff->answer == DIFF_SAME)
		strbuf_add(&text, "no cost is in both");
	text_append(diff->summary, sizeof(diff->summary), "%s.", text.text);
}

void diff_find(struct diff *diff)
{
	compare_costs(diff);
	find_states(diff);
	find_suspects(diff);
	diff->answer = find_answer(diff);
	diff->exit_status = diff->answer == DIFF_WORSE ? 1 : diff->answer == DIFF_UNKNOWN ? 2 : 0;
	summarize(diff);
}
