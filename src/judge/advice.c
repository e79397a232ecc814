/* SPDX-License-Identifier: MIT */
/*
 * Advice: the rows that the causes found bring along, and those here that belong to no single
 * cause, sorted by effort. The words in braces of a row's texts are filled in from the evidence,
 * which may come from a document: only plain words get into a command.
 */
#include "rules.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/text.h"

/* The way of this host; NULL: not known. */
static const struct way *way_find(const struct view *v, const struct way *ways)
{
	for (; ways && ways->where; ways++) {
		if (platform_is(v->evidence, ways->where) ||
			fact_is_text(&v->evidence->host.boot_tool, ways->where))
			return ways;
	}
	return NULL;
}

/*
 * The kernel itself may have asked for them: "TSC found unstable after boot, most likely due to
 * broken BIOS. Use 'tsc=unstable'" (arch/x86/kernel/tsc.c). With them it logs no reason any more.
 */
static bool is_tsc_avoided(const struct view *v)
{
	return v->second_choice && (v->boot_disables_tsc || v->boot_chose_current);
}

/* The ways to take the first step, one for each boot loader. */
#define DROP_STEP                                                                                  \
	{                                                                                          \
		.text = "change the kernel command line", .ways = advice_remove_boot               \
	}

const struct advice_row advice_drop_tsc_boot = {.id = "drop-tsc-boot-parameters",
	.rank = RANK_UNDO,
	.applies = is_tsc_avoided,
	.text = "Remove {boot} from the kernel command line and reboot: the kernel then makes its "
		"own choice.",
	.steps = {DROP_STEP, {.command = "sudo reboot"},
		{.text = "if this fails, undo step 1", .command = "vdsocheck warp && vdsocheck"}},
	.risk = "It may be there because the TSC is unstable: see old kernel logs."};

const struct advice_row advice_drop_boot = {.id = "drop-boot-parameters",
	.rank = RANK_UNDO,
	.unless = is_tsc_avoided,
	.text = "Remove {boot} from the kernel command line and reboot.",
	.steps = {DROP_STEP, {.command = "sudo reboot"}, {.command = "vdsocheck"}},
	.risk = "It may be there for a reason: find out which before you remove it."};

/* compare is only a trial: it restores the clocksource that was in use. */
#define TRIAL_STEP                                                                                 \
	{                                                                                          \
		.command = "sudo vdsocheck compare --only {to}"                                    \
	}

static const char *target_paravirtual(const struct view *v)
{
	return v->paravirtual;
}

/*
 * The safest of the switches: no TSC has to be right, since the hypervisor keeps this clock
 * right when it pauses or moves the guest.
 */
static const struct advice_row switch_to_paravirtual = {.id = "switch-to-paravirtual",
	.rank = RANK_SWITCH,
	.target = target_paravirtual,
	.text = "Switch to {to}, the hypervisor's own clock; step 1 is only a trial.",
	.steps = {TRIAL_STEP, SWITCH_STEP(""), {.command = "vdsocheck"}},
	.boot = "clocksource={to}",
	.risk = "Small: the hypervisor keeps it correct when it migrates the guest. It may have "
		"been disabled on purpose."};

static const char *target_tsc(const struct view *v)
{
	return v->tsc_advisable ? "tsc" : NULL;
}

static bool is_ec2(const struct view *v)
{
	return v->ec2_xen || platform_is(v->evidence, "aws-nitro");
}

#define TSC_RISK "Time can jump if the CPUs' TSCs disagree, which step 2 tests."

/* The screen may have room for one sentence: first comes the risk that warp cannot rule out. */
static const char *find_tsc_risk(const struct view *v)
{
	if (v->ec2_xen)
		return TSC_RISK " Most Xen instances do not advertise an invariant TSC, so the "
				"kernel does not choose tsc by itself.";
	/* tsc_reliable: the hypervisor guarantees the rate, see tsc_is_invariant(). */
	if (v->guest && !is_ec2(v) && !tsc_has_flag(v->evidence, "tsc_reliable"))
		return "After a migration to another TSC rate, the clock can run fast or slow. " TSC_RISK;
	return TSC_RISK;
}

#define SWITCH_TO_TSC                                                                              \
	.rank = RANK_SWITCH, .target = target_tsc,                                                 \
	.steps = {TRIAL_STEP, SWITCH_STEP("vdsocheck warp && "), {.command = "vdsocheck"}},        \
	.boot = "clocksource={to}", .find_risk = find_tsc_risk

static const struct advice_row switch_to_tsc = {SWITCH_TO_TSC, .id = "switch-to-tsc",
	.unless = is_ec2, .text = "Switch to tsc; step 1 is only a trial."};

/* The article has the same commands for all instances of Intel and AMD, on Xen and on Nitro. */
static const struct advice_row switch_to_tsc_on_ec2 = {SWITCH_TO_TSC, .id = "switch-to-tsc-on-ec2",
	.applies = is_ec2, .text = "Switch to tsc, as Amazon recommends; step 1 is only a trial.",
	.source = "AWS re:Post, \"How do I manage the clock source for EC2 instances running "
		  "Linux?\" (as of February 2025), "
		  "https://repost.aws/knowledge-center/manage-ec2-linux-clock-source"};

/* The proof runs in a child. */
static bool lacks_processes(const struct view *v)
{
	const struct fact *proof = &v->evidence->proof.fact;

	return v->verdict == VERDICT_UNKNOWN &&
	       (fact_is_error_of(proof, CHILD_FORK) || fact_is_error_of(proof, CHILD_WAIT));
}

static const struct advice_row allow_processes = {.id = "allow-processes",
	.rank = RANK_PROOF,
	.applies = lacks_processes,
	.text = "vdsocheck could not run a child process: raise the limit (ulimit -u, pids.max "
		"of the control group) or remove the filter that forbids it."};

static bool lacks_cpu_time(const struct view *v)
{
	const struct fact *proof = &v->evidence->proof.fact;

	return v->verdict == VERDICT_UNKNOWN && proof->state == FACT_FAILED &&
	       (strstr(proof->reason, CHILD_LATE) || strstr(proof->reason, CHILD_CPU_LIMIT));
}

static const struct advice_row give_cpu_time = {.id = "give-cpu-time",
	.rank = RANK_PROOF,
	.applies = lacks_cpu_time,
	.text = "vdsocheck got too little CPU time: run it again when the CPUs are less busy, with "
		"a higher CPU quota (cpu.max of the control group) or without a limit of CPU "
		"time (ulimit -t)."};

/* A crash has nothing to do with permissions. */
static bool lacks_permission(const struct view *v)
{
	enum fact_state proof = v->evidence->proof.fact.state;

	return v->verdict == VERDICT_UNKNOWN && !v->emulated && !lacks_processes(v) &&
	       (proof == FACT_DENIED || proof == FACT_ABSENT);
}

static const struct advice_row allow_proof = {.id = "allow-proof",
	.rank = RANK_PROOF,
	.applies = lacks_permission,
	.text = "Run vdsocheck where it may use seccomp(2) or ptrace(2): outside the container or "
		"sandbox, or with a seccomp profile that allows one of them."};

/* A move costs the guest a stop: it is advised where no switch of the clocksource helps. */
static bool can_move(const struct view *v)
{
	return !v->paravirtual && !v->tsc_advisable && way_find(v, advice_moves);
}

const struct advice_row advice_move = {.id = "move-to-another-host",
	.rank = RANK_UPDATE,
	.anywhere = true,
	.applies = can_move,
	.text = "Move this guest to another host: stop it and start it again, since a reboot "
		"usually keeps it on the same one.",
	.steps = {{.ways = advice_moves}, {.command = "vdsocheck"}},
	.risk = MOVE_RISK};

static bool is_fault_of_host(const struct view *v)
{
	return (v->verdict == VERDICT_FALLBACK || v->verdict == VERDICT_SLOW) && !v->emulated;
}

const struct advice_row advice_send_report = {.id = "send-report",
	.rank = RANK_ASK,
	.applies = is_fault_of_host,
	.text = "No known safe setting fixes this: send the report to your provider or platform "
		"team.",
	.steps = {{.command = REPORT_COMMAND}}};

const struct advice_row *const advice_general[] = {&switch_to_paravirtual, &switch_to_tsc,
	&switch_to_tsc_on_ec2, &allow_processes, &give_cpu_time, &allow_proof, NULL};

const struct advice_row *const advice_last_resort[] = {&advice_send_report, NULL};

#define BOOT_SIZE 200

/* The parameters that keep the kernel or the vDSO from a better clock here, between blanks. */
static void list_boot(const struct view *v, char boot[BOOT_SIZE])
{
	char chosen[CLOCKSOURCE_NAME_SIZE + 16];
	const struct {
		const char *parameter;
		bool matters;
	} known[] = {
		{chosen, v->boot_choice_slows},
		{"notsc", true},
		{"tsc=unstable", true},
		{"vdso=0", v->no_vdso},
		{"vdso32=0", v->no_vdso},
		{"vdso32=2", v->no_vdso},
		{"no-kvmclock", v->unsupported},
		{"nopv", v->unsupported},
		{"xen_nopv", v->unsupported},
		{"no-kvmclock-vsyscall", v->on_kvm_clock},
	};

	snprintf(chosen, sizeof(chosen), "clocksource=%s", v->evidence->clocksource.current);
	boot[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].matters && boot_has(v->evidence, known[i].parameter))
			text_append(boot, BOOT_SIZE, "%s%s", *boot ? " " : "", known[i].parameter);
	}
}

/* The values of the words in braces; NULL: not known. */
struct words {
	const char *to, *from, *boot;
};

/*
 * False where a word is missing, or is not plain for a shell, since it may come from a document;
 * or where the text is too long: half a command is none.
 */
static bool fill_in(const char *row, const struct words *words, char *text, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.=- ";
	size_t used = 0;

	while (row && *row) {
		const char *word = row;
		size_t length = 1;

		if (*row == '{') {
			word = row[1] == 't'   ? words->to
			       : row[1] == 'f' ? words->from
			                       : words->boot;
			if (!word || !*word || word[strspn(word, plain)])
				return false;
			length = strlen(word);
			row = strchr(row, '}');
		}
		if (used + length >= size)
			return false;
		memcpy(text + used, word, length);
		used += length;
		row++;
	}
	text[used] = '\0';
	return true;
}

/* Adds the step, with a label where it is one of several ways. */
static void add_step(const struct step_row *row, const char *label, const struct words *words,
	struct advice_step *steps, size_t *count)
{
	struct advice_step *step = &steps[*count];
	size_t at = 0;

	*step = (struct advice_step){{0}, {0}, {0}};
	if (label)
		at = (size_t)snprintf(
			step->text, sizeof(step->text), "%s%s", label, row->text ? ": " : "");
	if (fill_in(row->text, words, step->text + at, sizeof(step->text) - at) &&
		fill_in(row->command, words, step->command, sizeof(step->command)))
		*count += 1;
	if (!fill_in(row->undo, words, step->undo, sizeof(step->undo)))
		step->undo[0] = '\0';
}

static bool needs_newer_kernel(const struct view *v, const struct advice_row *row)
{
	return kernel_is_before(v->evidence, row->since.major, row->since.minor);
}

/*
 * A container has no kernel, boot loader or clocksource of its own. WSL counts as one, but its
 * users control the host.
 */
static bool is_for_host(const struct view *v, const struct advice_row *row)
{
	const struct text_fact *container = &v->evidence->host.container;
	bool changes_host = row->rank <= RANK_UPDATE && row->rank != RANK_LOOK;

	return fact_is_known(&container->fact) && !fact_is_text(container, "wsl") &&
	       (row->on_host || (changes_host && !row->anywhere));
}

static bool write_text(const struct view *v, const struct advice_row *row,
	const struct words *words, char text[ADVICE_TEXT_SIZE])
{
	size_t at;

	text[0] = '\0';
	if (is_for_host(v, row))
		text_append(text, ADVICE_TEXT_SIZE, "On the host, outside this container, ");
	if (needs_newer_kernel(v, row))
		text_append(text, ADVICE_TEXT_SIZE, "%s Linux %u.%u or newer, ",
			*text ? "with" : "With", row->since.major, row->since.minor);
	at = strlen(text);
	if (!fill_in(row->text, words, text + at, ADVICE_TEXT_SIZE - at))
		return false;
	if (at)
		text[at] = (char)tolower((unsigned char)text[at]);
	for (size_t i = 0; i < REMARK_MAX && row->remarks[i].text; i++) {
		const struct remark *remark = &row->remarks[i];

		if (kernel_is_before(v->evidence, remark->major, remark->minor) &&
			(!remark->applies || remark->applies(v)))
			text_append(text, ADVICE_TEXT_SIZE, " %s", remark->text);
	}
	return true;
}

/* The ways to change the kernel command line, that of this host first. */
static void add_ways(const struct view *v, const struct way *ways, const struct words *words,
	struct advice *advice)
{
	const struct way *here = way_find(v, ways);

	if (here)
		add_step(&here->step, here->label, words, advice->keep, &advice->keep_count);
	advice->keep_is_known = advice->keep_count;
	for (; ways->where && advice->keep_count < ADVICE_KEEP_MAX; ways++) {
		if (ways != here)
			add_step(
				&ways->step, ways->label, words, advice->keep, &advice->keep_count);
	}
}

/* False where a word that the advice needs is not known: there is none then. */
static bool make_advice(const struct view *v, const struct advice_row *row, struct advice *advice)
{
	const struct clocksource_evidence *clocksource = &v->evidence->clocksource;
	struct words words = {.to = row->target ? row->target(v) : NULL,
		.from = fact_is_known(&clocksource->current_fact) ? clocksource->current : NULL};
	char boot[BOOT_SIZE];

	*advice = (struct advice){.id = row->id,
		.ask = row->ask,
		.risk = row->find_risk ? row->find_risk(v) : row->risk,
		.source = row->source};
	if (!row->boot)
		list_boot(v, boot);
	else if (!fill_in(row->boot, &words, boot, sizeof(boot)))
		return false;
	words.boot = boot;
	if ((row->target && !words.to) || !write_text(v, row, &words, advice->text))
		return false;
	if (words.to)
		text_copy(advice->clocksource, sizeof(advice->clocksource), words.to);
	for (size_t i = 0; i < ADVICE_STEP_MAX; i++) {
		const struct step_row *step = &row->steps[i];
		const struct way *here = way_find(v, step->ways);

		if (step->text || step->command || here)
			add_step(here ? &here->step : step, NULL, &words, advice->steps,
				&advice->step_count);
	}
	if (row->boot)
		add_ways(v, advice_add_boot, &words, advice);
	else if (row->steps[0].ways == advice_remove_boot)
		add_ways(v, advice_remove_boot, &words, advice);
	return true;
}

bool advice_sends_report(const struct advice *advice)
{
	return advice->step_count == 1 && strcmp(advice->steps[0].command, REPORT_COMMAND) == 0;
}

/* Advice that takes another kernel comes after all that helps with this one. */
static enum rank find_rank(const struct view *v, const struct advice_row *row)
{
	return needs_newer_kernel(v, row) ? RANK_PROOF : row->rank;
}

/* Two such pieces are two ways to the same end. */
static bool mends_clocksource(const struct advice_row *row)
{
	return row->rank < RANK_PROGRAM && row->rank != RANK_LOOK;
}

struct advice_list {
	struct advice *advice;
	const struct advice_row *rows[ADVICE_MAX];
	size_t count;
	const char *why_not_tsc; /* NULL once it was told */
};

static bool is_in_list(const struct advice_list *list, const struct advice_row *row)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->rows[i] == row)
			return true;
	}
	return false;
}

/* Adds those of this rank that apply, none twice. */
static void add_rows(const struct view *v, enum rank rank, const struct advice_row *const *rows,
	struct advice_list *list)
{
	for (; *rows && list->count < ADVICE_MAX; rows++) {
		const struct advice_row *row = *rows;
		struct advice *advice = &list->advice[list->count];

		if (find_rank(v, row) != rank || (row->applies && !row->applies(v)) ||
			(row->unless && row->unless(v)) || is_in_list(list, row) ||
			!make_advice(v, row, advice))
			continue;
		/* Where a setting is removed, the kernel makes its own choice. */
		if (list->why_not_tsc && row->rank != RANK_UNDO) {
			if (!strstr(advice->text, "Do not force the TSC"))
				text_append(advice->text, sizeof(advice->text),
					" Do not switch to tsc: %s.", list->why_not_tsc);
			list->why_not_tsc = NULL;
		}
		advice->is_alternative = list->count && mends_clocksource(row) &&
		                         mends_clocksource(list->rows[list->count - 1]);
		list->rows[list->count++] = row;
	}
}

size_t advice_find(const struct view *v, const struct cause_row *const *causes, size_t count,
	struct advice advice[ADVICE_MAX])
{
	struct advice_list list = {.advice = advice, .why_not_tsc = v->why_not_tsc};

	/* Nothing is wrong, or names are all we have: no advice on a guess. */
	if (v->verdict == VERDICT_OK || !v->evidence->live)
		return 0;
	for (enum rank rank = 0; rank <= RANK_PROOF; rank++) {
		for (size_t i = 0; i < count; i++)
			add_rows(v, rank, causes[i]->advice, &list);
		add_rows(v, rank, advice_general, &list);
	}
	if (!list.count)
		add_rows(v, RANK_ASK, advice_last_resort, &list);
	return list.count;
}
