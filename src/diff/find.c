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

#include "base/text.h"
#include "cli/text.h"

/*
 * The least batch of the slower run is to be so much above what most batches of the faster one
 * take. Between 200 checks of one host, half of them beside four busy loops on its two CPUs, no
 * pair of runs is: the least that none exceeds is 1.4, and calls of 3 ns differ by 2 ns.
 */
#define RISE_LEAST 1.5
#define RISE_NS_LEAST 2

static bool is_above(const struct diff_cost *slower, const struct diff_cost *faster)
{
	return slower->least_ns >= RISE_LEAST * faster->most_ns &&
	       slower->least_ns >= RISE_NS_LEAST + faster->most_ns;
}

static void find_changes(struct diff *diff)
{
	for (size_t i = 0; i < diff->old.cost_count; i++) {
		const struct diff_cost *before = &diff->old.costs[i], *now = diff->new.costs;
		const struct diff_cost *end = now + diff->new.cost_count;
		enum diff_answer change = DIFF_SAME;

		while (now < end &&
			(now->path != before->path || strcmp(now->call, before->call) != 0 ||
				strcmp(now->clock, before->clock) != 0))
			now++;
		if (now == end)
			continue;
		if (is_above(now, before))
			change = DIFF_WORSE;
		else if (is_above(before, now))
			change = DIFF_BETTER;
		diff->worse_count += change == DIFF_WORSE;
		diff->better_count += change == DIFF_BETTER;
		diff->changes[diff->change_count++] =
			(struct diff_change){.before = *before, .now = *now, .change = change};
	}
}

/* ---- states ---- */

static enum diff_answer compare_ranks(int before, int now)
{
	return now > before ? DIFF_WORSE : now < before ? DIFF_BETTER : DIFF_SAME;
}

/* An undetermined verdict is neither better nor worse; ok is not worse than anything. */
static enum diff_answer compare_verdicts(enum verdict_kind before, enum verdict_kind now)
{
	if (now == VERDICT_UNKNOWN || (before == VERDICT_UNKNOWN && now != VERDICT_OK))
		return DIFF_UNKNOWN;
	return compare_ranks(verdict_severities[before], verdict_severities[now]);
}

/* The CPU's counter alone, a page of the hypervisor around it, no mode; -1: unknown. */
static int mode_rank(const struct vclock_evidence *vclock)
{
	if (vclock->how == VCLOCK_UNKNOWN || !*vclock->name)
		return -1;
	if (vclock->mode == VCLOCK_MODE_NONE)
		return 2;
	return strcmp(vclock->name, "pvclock") == 0 || strcmp(vclock->name, "hvclock") == 0;
}

static enum diff_answer compare_modes(
	const struct vclock_evidence *before, const struct vclock_evidence *now)
{
	int rank_before = mode_rank(before), rank_now = mode_rank(now);

	return rank_before < 0 || rank_now < 0 ? DIFF_SAME : compare_ranks(rank_before, rank_now);
}

static void add_state(struct diff *diff, const char *name, const char *before, const char *now,
	enum diff_answer change)
{
	struct diff_property *state = &diff->states[diff->state_count++];

	state->name = name;
	state->change = change;
	text_copy(state->before, sizeof(state->before), before);
	text_copy(state->now, sizeof(state->now), now);
}

/* Clocksources have no order: what counts is the mode. */
static void find_states(struct diff *diff)
{
	const struct evidence *before = &diff->old.evidence, *now = &diff->new.evidence;
	enum verdict_kind verdict_before = diff->old.diagnosis.verdict.kind;
	enum verdict_kind verdict_now = diff->new.diagnosis.verdict.kind;

	if (!diff->old.is_bench)
		add_state(diff, "verdict", verdict_names[verdict_before],
			verdict_names[verdict_now], compare_verdicts(verdict_before, verdict_now));
	add_state(diff, "clocksource", before->clocksource.current, now->clocksource.current,
		DIFF_SAME);
	if (!diff->old.is_bench)
		add_state(diff, "clock mode", before->vclock.name, now->vclock.name,
			compare_modes(&before->vclock, &now->vclock));
}

/* ---- suspects ---- */

#define TEXT_OF(name, member) name, offsetof(struct host_evidence, member)

static const struct {
	const char *name;
	size_t at;        /* of a struct text_fact */
	bool may_be_none; /* its absence is a property of the host, too */
} texts[] = {
	{TEXT_OF("kernel", kernel), false},
	{TEXT_OF("kernel build", kernel_build), false}, /* only beside the same kernel */
	{TEXT_OF("boot parameters", boot), true},
	{TEXT_OF("hypervisor", hypervisor), true},
	{TEXT_OF("hypervisor version", hypervisor_version), false},
	{TEXT_OF("platform", platform), false},
	{TEXT_OF("instance type", instance_type), false},
	{TEXT_OF("architecture", arch), false},
	{TEXT_OF("CPU", cpu), false},
	{TEXT_OF("microcode", cpu_model), false},
	{TEXT_OF("libc", libc), false},
	{TEXT_OF("distribution", distribution), false},
	{TEXT_OF("container", container), true},
	{TEXT_OF("emulator", emulator), true},
};

/* What is not known is "", and differs from nothing. */
static const char *known_text(const struct text_fact *text, bool may_be_none)
{
	bool is_none =
		text->fact.state == FACT_ABSENT || (fact_is_known(&text->fact) && !*text->value);

	if (may_be_none && is_none)
		return "none";
	return fact_is_known(&text->fact) ? text->value : "";
}

static bool differ(const char *before, const char *now)
{
	return *before && *now && strcmp(before, now) != 0;
}

static void add_suspect(struct diff *diff, const char *name, const char *before, const char *now)
{
	struct diff_property *suspect = &diff->suspects[diff->suspect_count];

	if (!differ(before, now))
		return;
	suspect->name = name;
	text_copy(suspect->before, sizeof(suspect->before), before);
	text_copy(suspect->now, sizeof(suspect->now), now);
	diff->suspect_count++;
}

static void add_number(struct diff *diff, const char *name, const struct number_fact *before,
	const struct number_fact *now)
{
	char text_before[24], text_now[24];

	snprintf(text_before, sizeof(text_before), "%" PRId64, before->value);
	snprintf(text_now, sizeof(text_now), "%" PRId64, now->value);
	if (fact_is_known(&before->fact) && fact_is_known(&now->fact))
		add_suspect(diff, name, text_before, text_now);
}

static void find_suspects(struct diff *diff)
{
	const struct host_evidence *before = &diff->old.evidence.host;
	const struct host_evidence *now = &diff->new.evidence.host;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct text_fact *one = (const void *)((const char *)before + texts[i].at);
		const struct text_fact *other = (const void *)((const char *)now + texts[i].at);

		if (one != &before->kernel_build || !diff->suspect_count)
			add_suspect(diff, texts[i].name, known_text(one, texts[i].may_be_none),
				known_text(other, texts[i].may_be_none));
	}
	add_number(diff, "CPUs", &before->cpu_count, &now->cpu_count);
	add_number(diff, "seccomp mode", &before->seccomp, &now->seccomp);
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
	bool worse = diff->worse_count, better = diff->better_count;
	bool unknown = diff->old.is_bench && !diff->change_count;

	for (size_t i = 0; i < diff->state_count; i++) {
		worse = worse || diff->states[i].change == DIFF_WORSE;
		better = better || diff->states[i].change == DIFF_BETTER;
		unknown = unknown || diff->states[i].change == DIFF_UNKNOWN;
	}
	return worse ? DIFF_WORSE : unknown ? DIFF_UNKNOWN : better ? DIFF_BETTER : DIFF_SAME;
}

/* Adds the states that changed so, and the first of the costs: the deciding calls are at the front.
 */
static void add_changed(struct diff *diff, enum diff_answer change)
{
	char *text = diff->summary;
	const struct diff_change *cost = diff->changes;
	struct strbuf name = {.used = 0};
	char before[32], now[32];

	for (size_t i = 0; i < diff->state_count; i++) {
		const struct diff_property *state = &diff->states[i];

		if (state->change == change)
			text_append(text, DIFF_SUMMARY_SIZE, "%sthe %s was %s and is %s",
				*text ? ", " : "", state->name, state->before, state->now);
	}
	while (cost < diff->changes + diff->change_count && cost->change != change)
		cost++;
	if (cost == diff->changes + diff->change_count)
		return;
	if (cost->now.path == PATH_COUNT)
		strbuf_add(&name, "reading the CPU's counter");
	else
		describe_call_name(cost->now.call, cost->now.clock, &name);
	text_append(text, DIFF_SUMMARY_SIZE, "%s%s took %s ns and takes %s ns", *text ? "; " : "",
		name.text, format_ns(cost->before.least_ns, before),
		format_ns(cost->now.least_ns, now));
}

static void summarize(struct diff *diff)
{
	const struct diff_document *undetermined =
		diff->new.diagnosis.verdict.kind == VERDICT_UNKNOWN ? &diff->new : &diff->old;
	char *text = diff->summary;
	char count[32];

	switch (diff->answer) {
	case DIFF_WORSE:
	case DIFF_BETTER:
		add_changed(diff, diff->answer);
		break;
	case DIFF_UNKNOWN:
		if (diff->old.is_bench)
			text_append(text, DIFF_SUMMARY_SIZE,
				"the documents have no call in common that both timed");
		else
			text_append(text, DIFF_SUMMARY_SIZE, "the verdict of %s is undetermined",
				undetermined->file);
		break;
	case DIFF_SAME:
		if (!diff->old.is_bench)
			text_append(text, DIFF_SUMMARY_SIZE, "the verdict is %s in both; ",
				diff->states[0].now);
		if (diff->change_count)
			text_append(text, DIFF_SUMMARY_SIZE,
				"none of %s costs differs beyond the spread of the runs",
				format_count(diff->change_count, count));
		else
			text_append(text, DIFF_SUMMARY_SIZE, "no cost is in both");
	}
	text_append(text, DIFF_SUMMARY_SIZE, ".");
}

void diff_find(struct diff *diff)
{
	find_changes(diff);
	find_states(diff);
	find_suspects(diff);
	diff->answer = find_answer(diff);
	diff->exit_status = diff->answer == DIFF_WORSE ? 1 : diff->answer == DIFF_UNKNOWN ? 2 : 0;
	summarize(diff);
}
