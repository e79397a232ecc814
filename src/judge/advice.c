/* SPDX-License-Identifier: MIT */
/*
 * Advice: the rows that the causes found bring along, and those here that belong to no single
 * cause, sorted by effort. A row is a template; its words in braces are filled in from the
 * evidence, which may come from a document: only plain words get into a command.
 */
#include "rules.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "base/text.h"
#include "base/units.h"

#define TMPFILES "/etc/tmpfiles.d/clocksource.conf"

static const struct step_row keep_clocksource[] = {
	KEEP_PARAMETER("clocksource={to}", "clocksource.cfg"),
	{"systemd-tmpfiles, without the kernel command line; to undo, remove the file",
		"echo 'w " CLOCKSOURCE_CURRENT " - - - - {to}' | sudo tee " TMPFILES},
	{0},
};

static const struct step_row keep_removed[] = {
	{"GRUB on Debian and Ubuntu: edit GRUB_CMDLINE_LINUX and GRUB_CMDLINE_LINUX_DEFAULT",
		"sudo editor /etc/default/grub && sudo update-grub"},
	{"grubby on Fedora, RHEL and Amazon Linux",
		"sudo grubby --update-kernel=ALL --remove-args='{boot args}'"},
	{"GRUB on SUSE: edit GRUB_CMDLINE_LINUX and GRUB_CMDLINE_LINUX_DEFAULT",
		"sudo editor /etc/default/grub && sudo grub2-mkconfig -o /boot/grub2/grub.cfg"},
	{"systemd-boot: edit /etc/kernel/cmdline and run kernel-install, or edit the options line "
	 "of the entries in loader/entries",
		NULL},
	{0},
};

/* How a tenant gets another host, by platform. */
static const struct {
	const char *platform;
	const char *command;
} moves[] = {
	{"aws-nitro", "aws ec2 stop-instances --instance-ids ID && aws ec2 wait instance-stopped "
		      "--instance-ids ID && aws ec2 start-instances --instance-ids ID"},
	{"aws-xen", "aws ec2 stop-instances --instance-ids ID && aws ec2 wait instance-stopped "
		    "--instance-ids ID && aws ec2 start-instances --instance-ids ID"},
	{"azure", "az vm redeploy --resource-group GROUP --name NAME"},
	{"google", "gcloud compute instances stop NAME --discard-local-ssd=false && "
		   "gcloud compute instances start NAME"},
};

static const char *find_move(const struct evidence *evidence)
{
	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		if (platform_is(evidence, moves[i].platform))
			return moves[i].command;
	}
	return NULL;
}

static const char *target_paravirtual(const struct view *view)
{
	return view->paravirtual;
}

static const char *target_tsc(const struct view *view)
{
	return view->tsc;
}

/* The proof runs in a child. */
static bool lacks_processes(const struct view *view)
{
	return fact_is_error_of(&view->evidence->proof.fact, CHILD_FORK);
}

static bool lacks_permission(const struct view *view)
{
	return !fact_is_known(&view->evidence->proof.fact) && !lacks_processes(view);
}

/*
 * The kernel itself may have asked for them: "TSC found unstable after boot, most likely due to
 * broken BIOS. Use 'tsc=unstable'" (arch/x86/kernel/tsc.c). With them it logs no reason any more.
 */
static bool is_tsc_avoided(const struct view *view)
{
	return view->holds & SECOND_CHOICE &&
	       (view->holds & NO_TSC_AT_BOOT || boot_chose_current(view->evidence));
}

static bool is_tsc_not_avoided(const struct view *view)
{
	return !is_tsc_avoided(view);
}

const struct advice_row advice_drop_tsc_boot = {.id = "drop-tsc-boot-parameters",
	.effort = EFFORT_UNDO,
	.when = {.applies = is_tsc_avoided},
	.text = "Remove {boot} from the kernel command line and reboot: the kernel then makes its "
		"own choice.",
	.steps = {{"edit that line with GRUB, grubby or systemd-boot", NULL}, {NULL, "sudo reboot"},
		{"unless it exits with 0, undo step 1", "vdsocheck warp"}, {NULL, "vdsocheck"}},
	.keep = keep_removed,
	.risk = "It may be there because the TSC is unstable: see old kernel logs."};

const struct advice_row advice_drop_boot = {.id = "drop-boot-parameters",
	.effort = EFFORT_UNDO,
	.when = {.applies = is_tsc_not_avoided},
	.text = "Remove {boot} from the kernel command line and reboot.",
	.steps = {{"edit that line with GRUB, grubby or systemd-boot", NULL}, {NULL, "sudo reboot"},
		{NULL, "vdsocheck"}},
	.keep = keep_removed,
	.risk = "It may be there for a reason: find out which before you remove it."};

/*
 * The safest of the switches: no TSC has to be right, since the hypervisor keeps this clock
 * right when it pauses or moves the guest.
 */
static const struct advice_row switch_to_paravirtual = {.id = "switch-to-paravirtual",
	.effort = EFFORT_SWITCH,
	.target = target_paravirtual,
	.text = "Switch to {to}, the hypervisor's own clock. `sudo vdsocheck compare --only "
		"{to}` tries it and switches back.",
	.steps = {SWITCH_STEPS},
	.keep = keep_clocksource,
	.undo = SWITCH_UNDO,
	.risk = "Small: the hypervisor keeps it correct when it migrates the guest. It may have "
		"been disabled on purpose."};

static const struct advice_row switch_to_tsc_on_ec2 = {.id = "switch-to-tsc-on-ec2",
	.effort = EFFORT_SWITCH,
	.when = {.needs = EC2_XEN},
	.target = target_tsc,
	.text = "Switch to tsc, as Amazon recommends for its Xen instances. `sudo vdsocheck "
		"compare --only tsc` tries it and switches back.",
	.steps = {{"go on only if it exits 0: the CPUs' TSCs agree", "vdsocheck warp"},
		SWITCH_STEPS},
	.keep = keep_clocksource,
	.undo = SWITCH_UNDO,
	.risk = "If the CPUs' TSCs disagree, time can jump between them. Most Xen instances do not "
		"advertise an invariant TSC, so the kernel does not choose tsc by itself.",
	.source = "AWS re:Post, \"How do I manage the clock source for EC2 instances running "
		  "Linux?\" (as of February 2025), "
		  "https://repost.aws/knowledge-center/manage-ec2-linux-clock-source"};

#define SWITCH_TO_TSC                                                                              \
	.id = "switch-to-tsc", .effort = EFFORT_SWITCH, .target = target_tsc,                      \
	.text = "Switch to tsc. `sudo vdsocheck compare --only tsc` tries it and switches "        \
		"back.",                                                                           \
	.steps = {{"go on only if it exits 0: the CPUs' TSCs agree", "vdsocheck warp"},            \
		SWITCH_STEPS},                                                                     \
	.keep = keep_clocksource, .undo = SWITCH_UNDO

#define TSC_RISK "If the CPUs' TSCs disagree, time can jump between them."

static const struct advice_row switch_to_tsc = {
	SWITCH_TO_TSC, .when = {.unless = EC2_XEN | GUEST}, .risk = TSC_RISK};

/* The screen may have room for one sentence: that which step 1 cannot answer comes first. */
static const struct advice_row switch_guest_to_tsc = {SWITCH_TO_TSC,
	.when = {.needs = GUEST, .unless = EC2_XEN},
	.risk = "After a migration to another TSC rate, the clock can run fast or slow. " TSC_RISK};

static const struct advice_row allow_processes = {.id = "allow-processes",
	.effort = EFFORT_PROOF,
	.when = {.verdicts = BIT(VERDICT_UNKNOWN), .applies = lacks_processes},
	.text = "vdsocheck could not start a child process: raise the limit (ulimit -u, pids.max "
		"of the control group) or remove the filter that forbids it."};

static const struct advice_row allow_proof = {.id = "allow-proof",
	.effort = EFFORT_PROOF,
	.when = {.verdicts = BIT(VERDICT_UNKNOWN), .unless = EMULATED, .applies = lacks_permission},
	.text = "Run vdsocheck where it may use seccomp(2) or ptrace(2): outside the container or "
		"sandbox, or with a seccomp profile that allows one of them."};

/* Only where no switch of the clocksource helps: a move costs the guest a stop. */
static bool can_move(const struct view *view)
{
	return !view->paravirtual && !view->tsc && find_move(view->evidence);
}

const struct advice_row advice_move = {.id = "move-to-another-host",
	.effort = EFFORT_UPDATE,
	.anywhere = true,
	.when = {.applies = can_move},
	.text = "Move this guest to another host: stop it and start it again, since a reboot "
		"usually keeps it on the same one.",
	.steps = {{"stops the machine; its public address may change", "{move}"},
		{NULL, "vdsocheck"}},
	.risk = MOVE_RISK};

const struct advice_row advice_send_report = {.id = "send-report",
	.effort = EFFORT_ASK,
	.when = {.verdicts = BIT(VERDICT_FALLBACK) | BIT(VERDICT_SLOW), .unless = EMULATED},
	.text = "No known safe setting fixes this: send the report to your provider or platform "
		"team.",
	.steps = {{"prints the report", REPORT_COMMAND}}};

const struct advice_row *const advice_general[] = {&switch_to_paravirtual, &switch_to_tsc,
	&switch_guest_to_tsc, &switch_to_tsc_on_ec2, &allow_processes, &allow_proof, NULL};

const struct advice_row *const advice_last_resort[] = {&advice_send_report, NULL};

/* A word in braces; what goes into a command has to be a plain word for a shell. */
struct word {
	const char *key;   /* NULL ends a list */
	const char *value; /* NULL: there is none */
	bool is_ours;      /* any text of our own, not from the evidence */
};

/*
 * check_system_tsc_reliable() of arch/x86/kernel/tsc.c, for an invariant TSC whose changes show
 * in IA32_TSC_ADJUST (b50db7095fe0, in 5.16).
 */
#define UNCHECKED_TSC                                                                              \
	" Linux 5.16 and newer do not check this CPU's TSC on machines of one or two NUMA nodes."

#define BOOT_SIZE 200

/* The parameters that keep the kernel or the vDSO from a better clock here. */
static void list_boot(const struct view *view, const char *between, char boot[BOOT_SIZE])
{
	const struct evidence *evidence = view->evidence;
	char chosen[CLOCKSOURCE_NAME_SIZE + 16];
	const struct {
		const char *parameter;
		bool matters;
	} known[] = {
		{chosen, boot_choice_slows(view)},
		{"notsc", true},
		{"tsc=unstable", true},
		{"vdso=0", view->holds & NO_VDSO},
		{"vdso32=0", view->holds & NO_VDSO},
		{"no-kvmclock", view->holds & PLAIN},
		{"no-kvmclock-vsyscall", view->holds & ON_KVM_CLOCK},
	};
	size_t used = 0;

	snprintf(chosen, sizeof(chosen), "clocksource=%s", evidence->clocksource.current);
	boot[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!known[i].matters || !boot_has(evidence, known[i].parameter))
			continue;
		used += (size_t)snprintf(boot + used, BOOT_SIZE - used, "%s%s", used ? between : "",
			known[i].parameter);
	}
}

/* A remark on a boot parameter that older kernels ignore without a word. */
static const char *since(
	const struct view *view, unsigned major, unsigned minor, const char *remark)
{
	return kernel_is_before(view->evidence, major, minor) ? remark : "";
}

/* NULL: there is none. Blanks between the boot parameters are quoted by the rows. */
static const char *find_word(const struct word *words, struct span key)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.=- ";

	for (; words->key; words++) {
		const char *value = words->value;

		if (!text_equals(key, words->key))
			continue;
		if (words->is_ours || (value && *value && !value[strspn(value, plain)]))
			return value;
	}
	return NULL;
}

/* False where a word is missing, or the text too long: half a command is none. */
static bool fill_in(const char *row, const struct word *words, char *text, size_t size)
{
	size_t used = 0;

	while (*row) {
		const char *end = *row == '{' ? strchr(row, '}') : NULL;
		const char *word = row;
		size_t length = 1;

		if (end) {
			word = find_word(words, (struct span){row + 1, (size_t)(end - row - 1)});
			if (!word)
				return false;
			length = strlen(word);
		}
		if (used + length >= size)
			return false;
		memcpy(text + used, word, length);
		used += length;
		row = end ? end + 1 : row + 1;
	}
	text[used] = '\0';
	return true;
}

static void add_step(const struct step_row *row, const struct word *words,
	struct advice_step *steps, size_t *count)
{
	struct advice_step *step = &steps[*count];

	*step = (struct advice_step){{0}, {0}};
	if ((!row->text || fill_in(row->text, words, step->text, sizeof(step->text))) &&
		(!row->command ||
			fill_in(row->command, words, step->command, sizeof(step->command))))
		*count += 1;
}

/* WSL calls itself one, and its users are at home on its host. */
static bool is_in_container(const struct evidence *evidence)
{
	const struct text_fact *container = &evidence->host.container;

	return fact_is_known(&container->fact) && !fact_is_text(container, "wsl");
}

static bool needs_newer_kernel(const struct view *view, const struct advice_row *row)
{
	return kernel_is_before(view->evidence, row->since.major, row->since.minor);
}

/* A container has no kernel, boot loader or clocksource of its own. */
static bool write_text(const struct view *view, const struct advice_row *row,
	const struct word *words, char text[ADVICE_TEXT_SIZE])
{
	bool is_for_host = row->effort <= EFFORT_UPDATE && row->effort != EFFORT_LOOK;
	size_t at = 0;

	if (is_in_container(view->evidence) && is_for_host && !row->anywhere)
		at += (size_t)snprintf(
			text, ADVICE_TEXT_SIZE, "On the host, outside this container, ");
	if (needs_newer_kernel(view, row))
		at += (size_t)snprintf(text + at, ADVICE_TEXT_SIZE - at,
			"%s Linux %u.%u or newer, ", at ? "with" : "With", row->since.major,
			row->since.minor);
	if (!fill_in(row->text, words, text + at, ADVICE_TEXT_SIZE - at))
		return false;
	if (at)
		text[at] = (char)tolower((unsigned char)text[at]);
	return true;
}

static bool make(const struct view *view, const struct advice_row *row, struct advice *advice)
{
	const struct clocksource_evidence *clocksource = &view->evidence->clocksource;
	char boot[BOOT_SIZE], boot_args[BOOT_SIZE], not_tsc[ADVICE_TEXT_SIZE] = "";
	const char *to = row->target ? row->target(view) : NULL;
	const struct word words[] = {
		{"to", to, false},
		{"from", fact_is_known(&clocksource->current_fact) ? clocksource->current : NULL,
			false},
		{"boot", boot, false},
		{"boot args", boot_args, false},
		{"on host",
			is_in_container(view->evidence) ? ", on the host outside this container"
							: "",
			true},
		{"move", find_move(view->evidence), true},
		{"not tsc", not_tsc, true},
		{"5.2", since(view, 5, 2, " (Linux 5.2 and newer, or older ones with a backport)"),
			true},
		{"5.16", tsc_has_adjust(view->evidence) ? since(view, 5, 16, UNCHECKED_TSC) : "",
			true},
		{0},
	};

	*advice = (struct advice){
		.id = row->id, .ask = row->ask, .risk = row->risk, .source = row->source};
	list_boot(view, " and ", boot);
	list_boot(view, " ", boot_args);
	if (view->not_tsc)
		snprintf(not_tsc, sizeof(not_tsc), " Do not switch to tsc: %s.", view->not_tsc);
	if ((row->target && !to) || !write_text(view, row, words, advice->text))
		return false;
	if (to)
		text_copy(advice->clocksource, sizeof(advice->clocksource), to);
	for (size_t i = 0; i < STEP_ROW_MAX && (row->steps[i].text || row->steps[i].command); i++)
		add_step(&row->steps[i], words, advice->steps, &advice->step_count);
	for (size_t i = 0; row->keep && row->keep[i].text && i < ADVICE_KEEP_MAX; i++)
		add_step(&row->keep[i], words, advice->keep, &advice->keep_count);
	if (row->undo && fill_in(row->undo, words, advice->undo, sizeof(advice->undo)))
		advice->undo_step = advice->step_count - 1; /* SWITCH_STEPS are the last two */
	else
		advice->undo[0] = '\0';
	return true;
}

bool advice_sends_report(const struct advice *advice)
{
	return advice->step_count == 1 && strcmp(advice->steps[0].command, REPORT_COMMAND) == 0;
}

/* Rows that apply, none twice, the least effort first and otherwise in the order they came. */
#define CANDIDATE_MAX 16

struct candidates {
	size_t count;
	const struct advice_row *rows[CANDIDATE_MAX];
};

/* What takes another kernel comes after all that helps with this one. */
static enum effort find_effort(const struct view *view, const struct advice_row *row)
{
	return needs_newer_kernel(view, row) ? EFFORT_PROOF : row->effort;
}

static void add_rows(
	const struct view *view, const struct advice_row *const *rows, struct candidates *found)
{
	for (; *rows && found->count < CANDIDATE_MAX; rows++) {
		size_t at = found->count;

		if (!scope_applies(&(*rows)->when, view))
			continue;
		for (size_t i = 0; i < found->count; i++) {
			if (found->rows[i] == *rows)
				at = CANDIDATE_MAX;
		}
		if (at == CANDIDATE_MAX)
			continue;
		for (; at > 0 && find_effort(view, found->rows[at - 1]) > find_effort(view, *rows);
			at--)
			found->rows[at] = found->rows[at - 1];
		found->rows[at] = *rows;
		found->count++;
	}
}

/* Another way to the same end, unless it mends something else than the clocksource. */
static bool is_alternative(const struct advice_row *row, const struct advice_row *before)
{
	return before && row->effort < EFFORT_PROGRAM && before->effort < EFFORT_PROGRAM &&
	       row->effort != EFFORT_LOOK && before->effort != EFFORT_LOOK;
}

static size_t make_all(
	const struct view *view, const struct candidates *found, struct advice advice[ADVICE_MAX])
{
	const struct advice_row *before = NULL;
	size_t count = 0;

	for (size_t i = 0; i < found->count && count < ADVICE_MAX; i++) {
		if (!make(view, found->rows[i], &advice[count]))
			continue;
		advice[count++].is_alternative = is_alternative(found->rows[i], before);
		before = found->rows[i];
	}
	return count;
}

size_t advice_find(const struct view *view, const struct cause_row *const *causes, size_t count,
	struct advice advice[ADVICE_MAX])
{
	struct candidates found = {.count = 0};
	size_t made;

	/* Nothing is wrong, or names are all we have: no advice on a guess. */
	if (view->verdict == VERDICT_OK || !view->evidence->live)
		return 0;
	for (size_t i = 0; i < count; i++)
		add_rows(view, causes[i]->advice, &found);
	add_rows(view, advice_general, &found);
	made = make_all(view, &found, advice);
	if (made)
		return made;
	found.count = 0;
	add_rows(view, advice_last_resort, &found);
	return make_all(view, &found, advice);
}
