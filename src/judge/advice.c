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

#include "base/text.h"

/* Returns the way of this host, or NULL where it is not known. */
static const struct way *way_find(const struct view *v, const struct way *ways)
{
	for (; v && ways && ways->where; ways++) {
		if (platform_is(v->evidence, ways->where) ||
			fact_is_text(&v->evidence->host.boot_tool, ways->where))
			return ways;
	}
	return NULL;
}

const struct advice_row advice_drop_tsc_boot = {"drop-tsc-boot-parameters", RANK_UNDO,
	.text = "Remove {boot} from the kernel command line and reboot: the kernel then makes its "
		"own choice.",
	.steps = {{ADVICE_DROP_STEP}, {ADVICE_REBOOT_STEP},
		{.text = "if this fails, undo step 1", .command = "vdsocheck warp && vdsocheck"}},
	.risk = "The parameter may be there because the TSC is unstable: see old kernel logs."};

const struct advice_row advice_drop_boot = {"drop-boot-parameters", RANK_UNDO,
	.text = "Remove {boot} from the kernel command line and reboot.",
	.steps = {{ADVICE_DROP_STEP}, {ADVICE_REBOOT_STEP}, {.command = "vdsocheck"}},
	.risk = "Find out why the parameter was set before you remove it."};

const struct advice_row advice_reboot_after_unbind = {"reboot-after-unbind", RANK_UNDO,
	.text = "Reboot: the kernel registers the removed clocksource again. Find what wrote to "
		"unbind_clocksource, such as a tuning script, before it does so again.",
	.steps = {{.command = "sudo reboot"}, {.command = "vdsocheck"}}};

/*
 * This switch is the safest: no TSC has to be right, since the hypervisor keeps this clock right
 * when it pauses or moves the guest.
 */
static const struct advice_row switch_to_paravirtual = {"switch-to-paravirtual", RANK_SWITCH,
	.text = "Switch to {to}, the hypervisor's own clock, now and without a reboot.",
	.target = MEMBER(paravirtual), .steps = {{SWITCH_STEP("")}, {.command = "vdsocheck"}},
	.boot = "clocksource={to}",
	.risk = "Small: the hypervisor keeps it correct when it migrates the guest. It may have "
		"been deselected on purpose."};

#define TSC_RISK "Time can jump if the CPUs' TSCs disagree, which step 1 tests."

#define MIGRATION_RISK "After a migration to another TSC rate, the clock can run fast or slow."

/* With tsc_reliable the hypervisor guarantees the rate, see tsc_is_invariant(). */
#define MAY_CHANGE_RATE                                                                            \
	STATE(host.hypervisor, FACT_KNOWN), NOT(on_ec2), HAS_NOT(tsc_has_flag, "tsc_reliable")

/* The screen may have room for one sentence, so the risk that warp cannot rule out comes first. */
#define SWITCH_TO_TSC                                                                              \
	.to = "tsc", .steps = {{SWITCH_STEP("vdsocheck warp && ")}, {.command = "vdsocheck"}},     \
	.boot = "clocksource={to}", .risk = TSC_RISK,                                              \
	.risks = {{TSC_RISK " Most Xen instances do not advertise an invariant TSC, so the "       \
			    "kernel does not choose tsc by itself.",                               \
			  IF(IS(ec2_xen))},                                                        \
		{MIGRATION_RISK " " TSC_RISK, IF(MAY_CHANGE_RATE)},                                \
		{"The boot parameter may be there because the TSC is unstable, which step 1 "      \
		 "tests for two seconds only.",                                                    \
			IF(IS(boot_choice_slows))}}

static const struct advice_row switch_to_tsc = {"switch-to-tsc", RANK_SWITCH,
	.text = "Switch to tsc now, without a reboot.", SWITCH_TO_TSC};

/* AWS gives the same commands for all instances of Intel and AMD, on Xen and on Nitro. */
static const struct advice_row switch_to_tsc_on_ec2 = {"switch-to-tsc-on-ec2", RANK_SWITCH,
	.text = "Switch to tsc now, without a reboot, as Amazon recommends.", SWITCH_TO_TSC,
	.source = "AWS re:Post, \"How do I manage the clock source for EC2 instances running "
		  "Linux?\" (as of February 2025), "
		  "https://repost.aws/knowledge-center/manage-ec2-linux-clock-source"};

static const struct advice_row allow_processes = {"allow-processes", RANK_PROOF,
	.text = "vdsocheck could not run a child process: raise the limit (ulimit -u, pids.max of "
		"the control group) or remove the filter that forbids it."};

static const struct advice_row give_cpu_time = {"give-cpu-time", RANK_PROOF,
	.text = "vdsocheck got too little CPU time: run it again when the CPUs are less busy, with "
		"a higher CPU quota (cpu.max of the control group) or without a CPU time limit "
		"(ulimit -t)."};

static const struct advice_row allow_proof = {"allow-proof", RANK_PROOF,
	.text = "Run vdsocheck where it may use seccomp(2) or ptrace(2): outside the container or "
		"sandbox, or with a seccomp profile that allows one of them."};

const struct advice_row advice_move = {"move-to-another-host", RANK_UPDATE, .actor = ACTOR_HOST,
	.irreversible = true,
	.text = "Move this guest to another host: stop it and start it again, since a reboot "
		"usually keeps it on the same one.",
	.where = HERE,
	.steps = {{.text = "stop it and start it again, by the cloud's commands",
			  .moves = true,
			  .needs_way = true},
		{.command = "vdsocheck"}},
	.risk = MOVE_RISK};

/* It takes the place of advice for the owner of a machine's firmware. */
const struct advice_row advice_replace_machine = {"replace-machine", RANK_UPDATE,
	.actor = ACTOR_PROVIDER, .irreversible = true,
	.text = "Ask your provider to update this machine's firmware or to replace the machine; in "
		"some clouds a stop and a start replace it. Do not force the TSC.",
	.where = HERE,
	.steps = {{.text = "stop it and start it again, where that replaces it", .moves = true},
		{.command = "vdsocheck"}},
	.ask = "The kernel of this machine, which runs without a hypervisor, does not use its TSC, "
	       "so every clock read is a system call. Can its firmware be updated, or the machine "
	       "be replaced?",
	.risk = MOVE_RISK};

const struct advice_row advice_send_report = {"send-report", RANK_ASK,
	.text = "No known safe setting fixes this: send the report to your provider or platform team.",
	.steps = {{.command = REPORT_COMMAND}}};

/* The TSC of emulated CPUs advances by the emulator's clock, and stands still while it is late. */
static const struct advice_row accelerate_guest = {"accelerate-guest", RANK_UPDATE,
	.actor = ACTOR_HOST,
	.text = "QEMU emulates this guest's CPUs (TCG), whose TSCs may disagree or come late. Start "
		"the guest with hardware acceleration (-accel kvm, hvf or whpx) or, if it has "
		"several CPUs, with a single one.",
	.where = HERE};

static const struct advice_row show_where_it_runs = {"show-where-it-runs", RANK_LOOK,
	.text = "The remedy differs for a machine and for a guest, and nothing shows which of them "
		"this is: run vdsocheck on it, or give its /proc/cpuinfo and /sys/class/dmi/id, "
		"too."};

/*
 * "default" is KVM's for a Linux guest (GIM_KVM), whose kvm-clock a kernel with CONFIG_KVM_GUEST
 * uses; "none", "legacy" and "minimal" offer no clock (VirtualBox 5.0 to 7.1, manual 11.13).
 */
static const struct advice_row set_virtualbox_provider = {"set-virtualbox-provider", RANK_UPDATE,
	.actor = ACTOR_HOST,
	.text = "Give this guest KVM's paravirtualization interface, with which the kernel uses "
		"kvm-clock: power it off, and change it on the machine that runs VirtualBox. If "
		"that is Windows with Hyper-V enabled, VirtualBox runs on top of it: disable "
		"Hyper-V for a TSC that is steady.",
	.where = HERE,
	.steps = {{.text = "on the machine that runs VirtualBox",
			  .command = "VBoxManage modifyvm NAME --paravirtprovider kvm"},
		{.command = "vdsocheck"}},
	.source = "Oracle VirtualBox, user manual, \"Paravirtualization Providers\""};

#define LOST_TSC                                                                                   \
	IS(unsupported_on_x86), NOT(tsc_avoided), NOT(clocks_disabled), NOT(boot_rate_wrong),      \
		ANY(IS(tsc_distrusted), IS(tsc_delay))

/*
 * The proof runs in a child, so it may lack a process instead of a permission; a crash lacks
 * neither.
 */
#define UNKNOWN_HERE NOT(captured), EQ(verdict, VERDICT_UNKNOWN)

const struct advice_case advice_general[] = {
	{&switch_to_paravirtual, IF(IS(paravirtual))},
	{&switch_to_tsc, IF(IS(tsc_advisable), NOT(on_ec2))},
	{&switch_to_tsc_on_ec2, IF(IS(tsc_advisable), IS(on_ec2))},
	{&show_where_it_runs, IF(NOT(guest), NOT(machine), LOST_TSC)},
	{&set_virtualbox_provider, IF(IS(wants_provider))},
	{&accelerate_guest, IF(IS(on_tcg), LOST_TSC)},
	{&allow_processes, IF(UNKNOWN_HERE, STATE(proof, FACT_NO_CHILD))},
	{&give_cpu_time, IF(UNKNOWN_HERE, STATE(proof, FACT_LATE))},
	{&allow_proof, IF(UNKNOWN_HERE, NOT(emulated),
			       ANY(STATE(proof, FACT_DENIED), STATE(proof, FACT_ABSENT)))},
	{0},
};

/* Returns the word if it is plain for a shell, since it may come from a document; or NULL. */
static const char *plain(const char *word)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.=- ";

	return word && *word && !word[strspn(word, allowed)] ? word : NULL;
}

/* Adds the step, with a label where it is one of several ways. */
static void add_step(const struct step_row *row, const char *label, const struct word *words,
	struct advice_step *steps, size_t *count)
{
	struct advice_step *step = &steps[*count];
	size_t at = 0;

	*step = (struct advice_step){{0}, {0}, {0}};
	if (label)
		at = (size_t)snprintf(
			step->text, sizeof(step->text), "%s%s", label, row->text ? ": " : "");
	if (words_fill(row->text, words, step->text + at, sizeof(step->text) - at) &&
		words_fill(row->command, words, step->command, sizeof(step->command)))
		*count += 1;
	if (!words_fill(row->undo, words, step->undo, sizeof(step->undo)))
		step->undo[0] = '\0';
}

/* True for the manual, too, which names the kernels that advice needs. */
static bool needs_newer_kernel(const struct view *v, const struct advice_row *row)
{
	return row->since && (!v || kernel_is_before(v->evidence, row->since));
}

/* Any rate is one, and of several clocksources the last. */
static bool boot_is_set(const struct evidence *evidence, const char *parameter)
{
	static const char early[] = "tsc_early_khz=", chosen[] = "clocksource=";

	if (strncmp(parameter, early, strlen(early)) == 0)
		return boot_tsc_mhz(evidence) > 0;
	if (strncmp(parameter, chosen, strlen(chosen)) == 0)
		return boot_chooses(evidence, parameter + strlen(chosen));
	return boot_has(evidence, parameter);
}

/* The rank of advice decides this, where its row does not say otherwise. */
static const struct {
	enum where where;
	enum actor actor;
	bool mends; /* the clocksource: two such pieces of advice are two ways to the same end */
} ranks[] = {
	[RANK_SWITCH] = {ON_HOST, ACTOR_GUEST, true},
	[RANK_UNDO] = {ON_HOST, ACTOR_GUEST, true},
	[RANK_LOOK] = {HERE, ACTOR_GUEST, false},
	[RANK_UPDATE] = {ON_HOST, ACTOR_KERNEL, true},
	[RANK_ASK] = {HERE, ACTOR_PROVIDER, true},
	[RANK_PROGRAM] = {HERE, ACTOR_GUEST, false},
	[RANK_PROOF] = {HERE, ACTOR_GUEST, false},
};

/*
 * A container has no kernel, boot loader or clocksource of its own. WSL counts as one, but its
 * users control the host.
 */
static bool is_for_host(const struct view *v, const struct advice_row *row)
{
	const struct text_fact *container = v ? &v->evidence->host.container : NULL;

	return container && fact_is_known(&container->fact) && !fact_is_text(container, "wsl") &&
	       (row->where ? row->where : ranks[row->rank].where) == ON_HOST;
}

static bool write_text(const struct view *v, const struct advice_row *row, const struct word *words,
	bool adds_boot, char text[ADVICE_TEXT_SIZE])
{
	size_t at;

	text[0] = '\0';
	if (is_for_host(v, row))
		text_append(text, ADVICE_TEXT_SIZE, "On the host, outside this container, ");
	if (needs_newer_kernel(v, row))
		text_append(text, ADVICE_TEXT_SIZE, "%s Linux %s or newer, ",
			*text ? "with" : "With", row->since);
	at = strlen(text);
	if (!words_fill(row->text, words, text + at, ADVICE_TEXT_SIZE - at))
		return false;
	if (at)
		text[at] = (char)tolower((unsigned char)text[at]);
	if (adds_boot && row->boot_text)
		text_append(text, ADVICE_TEXT_SIZE, " %s", row->boot_text);
	/* The manual has no remark: they are for kernels that are older than its reader's. */
	for (size_t i = 0; v && i < TEXT_CASES && row->remarks[i].text; i++) {
		if (holds(v, row->remarks[i].when))
			text_append(text, ADVICE_TEXT_SIZE, " %s", row->remarks[i].text);
	}
	return true;
}

/* Adds a way to change the kernel command line; its label says what a switch's removes. */
static void add_way(const struct way *way, const struct word *words, struct advice *advice)
{
	char label[ADVICE_STEP_SIZE];

	snprintf(label, sizeof(label), "%s%s%s", way->label,
		advice->keep_removes ? ", to remove " : "",
		advice->keep_removes ? advice->boot : "");
	add_step(&way->step, label, words, advice->keep, &advice->keep_count);
}

/* Adds those that may be this host's, which comes first. */
static void add_ways(const struct view *v, const struct way *ways, const struct word *words,
	struct advice *advice)
{
	const struct way *here = way_find(v, ways);

	if (here)
		add_way(here, words, advice);
	advice->keep_is_known = advice->keep_count;
	for (; ways->where && advice->keep_count < ADVICE_KEEP_MAX; ways++) {
		if (ways != here && (!v || holds(v, ways->when)))
			add_way(ways, words, advice);
	}
}

const char *const actor_names[] = {"", "guest", "host", "firmware", "provider", "kernel", NULL};

/* Finds the boot parameters to add or remove; false: advice whose whole remedy they are is void. */
static bool find_boot(const struct view *v, const struct advice_row *row, const struct word *words,
	struct advice *advice, bool *adds)
{
	bool is_set;

	*adds = true;
	if (row->boot && !advice->keep_removes &&
		!words_fill(row->boot, words, advice->boot, sizeof(advice->boot)))
		return false;
	if (!v) {
		if (!row->boot)
			text_clean(advice->boot, sizeof(advice->boot), ADVICE_WORD_BOOT);
		return true;
	}
	if (!row->boot || advice->keep_removes)
		boot_list_removable(v, advice->boot, sizeof(advice->boot));
	is_set = row->boot && boot_is_set(v->evidence, advice->boot);
	*adds = !is_set && !needs_newer_kernel(v, row) && holds(v, row->boot_helps);
	if (!row->boot || *adds || advice->keep_removes)
		return true;
	/* A newer kernel that heeds the parameter is a remedy, too. */
	if (!row->boot_text && !row->steps[0].command && (is_set || !needs_newer_kernel(v, row)))
		return false;
	advice->boot[0] = '\0';
	if (row->boot_text)
		advice->risk = NULL;
	return true;
}

bool advice_make(const struct view *v, const struct advice_row *row, struct advice *advice)
{
	const struct clocksource_evidence *clocksource = v ? &v->evidence->clocksource : NULL;
	const char *to = !row->target.kind ? row->to
	                 : v               ? view_member(v, &row->target)
	                                   : ADVICE_WORD_TO;
	const char *from = !v                                          ? ADVICE_WORD_FROM
	                   : fact_is_known(&clocksource->current_fact) ? clocksource->current
	                                                               : NULL;
	struct word words[] = {{"to", plain(to)}, {"from", plain(from)}, {"boot", NULL}, {0}};
	/* The guest goes down, so that a line pasted into it would not run to its end. */
	const struct step_row moves = {
		.text = "from another machine (this one goes down; its address may change)",
		.command = v ? v->move : NULL};
	bool switches = row->to || row->target.kind, adds_boot;

	*advice = (struct advice){.id = row->id,
		.ask = text_for(v, row->ask, row->asks),
		.keep_removes = switches && v && v->boot_choice_slows,
		.actor = is_for_host(v, row) ? ACTOR_HOST
	                 : row->actor        ? row->actor
	                                     : ranks[row->rank].actor,
		.reversible = !row->irreversible,
		.risk = text_for(v, row->risk, row->risks),
		.source = row->source};
	if ((switches && !words[0].value) || !find_boot(v, row, words, advice, &adds_boot))
		return false;
	words[2].value = plain(advice->boot);
	if (!write_text(v, row, words, adds_boot, advice->text))
		return false;
	if (switches)
		text_clean(advice->clocksource, sizeof(advice->clocksource), words[0].value);
	for (size_t i = 0; i < ADVICE_STEP_MAX; i++) {
		const struct way *here = way_find(v, row->steps[i].ways);
		const struct step_row *step = here ? &here->step
		                              : row->steps[i].moves && moves.command
		                                      ? &moves
		                                      : &row->steps[i];

		if (v && step->needs_way)
			return false;
		if (step->text || step->command)
			add_step(step, NULL, words, advice->steps, &advice->step_count);
	}
	if (advice->keep_removes || row->steps[0].ways == advice_remove_boot)
		add_ways(v, advice_remove_boot, words, advice);
	else if (row->boot && adds_boot)
		add_ways(v, advice_add_boot, words, advice);
	return true;
}

bool advice_sends_report(const struct advice *advice)
{
	return advice->step_count == 1 && strcmp(advice->steps[0].command, REPORT_COMMAND) == 0;
}

struct advice_list {
	struct advice *advice;
	size_t count;
	bool mends;              /* the last one does */
	const char *why_not_tsc; /* NULL once a text has it */
};

/* Adds advice of this rank, none twice. */
static void add_advice(const struct view *v, enum rank rank, const struct advice_row *row,
	struct advice_list *list)
{
	struct advice *advice = &list->advice[list->count];

	for (size_t i = 0; i < list->count; i++) {
		if (list->advice[i].id == row->id)
			return;
	}
	/* Advice that takes another kernel comes after all that helps with this one. */
	if (list->count == ADVICE_MAX ||
		rank != (needs_newer_kernel(v, row) ? RANK_PROOF : row->rank) ||
		!advice_make(v, row, advice))
		return;
	/* The kernel makes its own choice once a setting is removed. */
	if (list->why_not_tsc && row->rank != RANK_UNDO) {
		if (!strstr(advice->text, "Do not force the TSC"))
			text_append(advice->text, sizeof(advice->text),
				" Do not switch to tsc: %s.", list->why_not_tsc);
		list->why_not_tsc = NULL;
	}
	advice->is_alternative = list->mends && ranks[row->rank].mends;
	list->mends = ranks[row->rank].mends;
	list->count++;
}

size_t advice_find(
	const struct view *v, const struct cause_list *causes, struct advice advice[ADVICE_MAX])
{
	struct advice_list list = {.advice = advice, .why_not_tsc = v->why_not_tsc};

	/* Either nothing is wrong, or nothing is known to be in a captured tree. */
	if (v->verdict == VERDICT_OK || v->expected == VERDICT_OK ||
		(!v->evidence->live && v->expected == VERDICT_UNKNOWN && !v->may_read_hpet &&
			!causes->count))
		return 0;
	for (enum rank rank = 0; rank <= RANK_PROOF; rank++) {
		for (size_t i = 0; i < causes->advice_count; i++)
			add_advice(v, rank, causes->advice[i], &list);
		for (size_t i = 0; advice_general[i].row; i++) {
			if (holds(v, advice_general[i].when))
				add_advice(v, rank, advice_general[i].row, &list);
		}
	}
	if (!list.count && (v->verdict != VERDICT_UNKNOWN || v->expected == VERDICT_FALLBACK ||
				   v->may_read_hpet))
		add_advice(v, RANK_ASK, &advice_send_report, &list);
	return list.count;
}
