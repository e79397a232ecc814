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
#include "base/text.h"
#include "base/units.h"

/*
 * GRUB's line is GRUB_CMDLINE_LINUX and then GRUB_CMDLINE_LINUX_DEFAULT (10_linux), which the files
 * of grub.d may set once more, in the order of their names (Debian's grub-mkconfig). Of several
 * clocksource= the kernel takes the last (boot_override_clocksource()), so that each way puts
 * {boot} at the very end; grubby replaces one that is there (grubby(8)).
 */
#define GRUB_LINE                                                                                  \
	"echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT' '{boot}\"' | sudo tee -a "
#define GRUB_LINE_UNDO "sudo sed -i '/_DEFAULT {boot}\"$/d' "
#define GRUB_FILE "/etc/default/grub.d/zz-clocksource.cfg && sudo update-grub"
#define GRUB2_FILE "/etc/default/grub && sudo grub2-mkconfig -o /boot/grub2/grub.cfg"
#define GRUBBY "sudo grubby --update-kernel=ALL "
#define LAST_WORD "sudo sed -i '1s/$/ {boot}/' "
#define LAST_WORD_UNDO "sudo sed -i '1s/ {boot}$//' "
#define PROXMOX_FILE "/etc/kernel/cmdline && sudo proxmox-boot-tool refresh"
#define PI_FILE "/boot/firmware/cmdline.txt"
#define TMPFILES "/etc/tmpfiles.d/clocksource.conf"

static const struct way add_boot[] = {
	{"update-grub", "GRUB on Debian and Ubuntu", NULL,
		"sudo mkdir -p /etc/default/grub.d && " GRUB_LINE GRUB_FILE,
		GRUB_LINE_UNDO GRUB_FILE},
	{"grubby", "grubby on Fedora, RHEL and Amazon Linux", NULL, GRUBBY "--args={boot}",
		GRUBBY "--remove-args={boot}"},
	{"grub2-mkconfig", "GRUB on SUSE", NULL, GRUB_LINE GRUB2_FILE, GRUB_LINE_UNDO GRUB2_FILE},
	{"kernel-install", "systemd-boot",
		"add {boot} at the end of /etc/kernel/cmdline and run kernel-install, or at the "
		"end of the options line of the entries in loader/entries",
		NULL, NULL},
	{"proxmox-boot-tool", "Proxmox VE on ZFS", NULL, LAST_WORD PROXMOX_FILE,
		LAST_WORD_UNDO PROXMOX_FILE},
	{"cmdline.txt", "Raspberry Pi", NULL, LAST_WORD PI_FILE, LAST_WORD_UNDO PI_FILE},
	/* Without {to} it is left out. */
	{"systemd-tmpfiles", "systemd-tmpfiles, without the kernel command line", NULL,
		"echo w " CLOCKSOURCE_CURRENT " - - - - {to} | sudo tee " TMPFILES,
		"sudo rm " TMPFILES},
	{0},
};

static const struct way remove_boot[] = {
	{"update-grub", "GRUB on Debian and Ubuntu", NULL,
		"sudoedit $(grep -rls GRUB_CMDLINE_LINUX /etc/default/grub /etc/default/grub.d) "
		"&& sudo update-grub",
		NULL},
	{"grubby", "grubby on Fedora, RHEL and Amazon Linux", NULL, GRUBBY "--remove-args='{boot}'",
		GRUBBY "--args='{boot}'"},
	{"grub2-mkconfig", "GRUB on SUSE", NULL, "sudoedit " GRUB2_FILE, NULL},
	{"kernel-install", "systemd-boot",
		"edit /etc/kernel/cmdline and run kernel-install, or edit the options line of the "
		"entries in loader/entries",
		NULL, NULL},
	{"proxmox-boot-tool", "Proxmox VE on ZFS", NULL, "sudoedit " PROXMOX_FILE, NULL},
	{"cmdline.txt", "Raspberry Pi", NULL, "sudoedit " PI_FILE, NULL},
	{0},
};

/* How a tenant gets another host: pasted in the guest itself, the rest would never run. */
#define ELSEWHERE "from another machine (this one goes down; its address may change)"
#define AWS_MOVE                                                                                   \
	"aws ec2 stop-instances --instance-ids ID && "                                             \
	"aws ec2 wait instance-stopped --instance-ids ID && "                                      \
	"aws ec2 start-instances --instance-ids ID"

const struct way advice_moves[] = {
	{"aws-nitro", NULL, ELSEWHERE, AWS_MOVE, NULL},
	{"aws-xen", NULL, ELSEWHERE, AWS_MOVE, NULL},
	{"azure", NULL, ELSEWHERE, "az vm redeploy --resource-group GROUP --name NAME", NULL},
	{"google", NULL, ELSEWHERE,
		"gcloud compute instances stop NAME --discard-local-ssd=false && "
		"gcloud compute instances start NAME",
		NULL},
	{0},
};

const struct way *way_find(const struct view *view, const struct way *ways)
{
	for (; ways && ways->where; ways++) {
		if (platform_is(view->evidence, ways->where) ||
			fact_is_text(&view->evidence->host.boot_tool, ways->where))
			return ways;
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
	const struct fact *proof = &view->evidence->proof.fact;

	return fact_is_error_of(proof, CHILD_FORK) || fact_is_error_of(proof, CHILD_WAIT);
}

/* Lack of time, or a crash, has nothing to do with permissions. */
static bool lacks_permission(const struct view *view)
{
	enum fact_state proof = view->evidence->proof.fact.state;

	return (proof == FACT_DENIED || proof == FACT_ABSENT) && !lacks_processes(view);
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

/* The ways to take the first step, one for each boot loader. */
#define DROP_STEP                                                                                  \
	{                                                                                          \
		.text = "change the kernel command line", .ways = remove_boot                      \
	}

const struct advice_row advice_drop_tsc_boot = {.id = "drop-tsc-boot-parameters",
	.effort = EFFORT_UNDO,
	.when = {.applies = is_tsc_avoided},
	.text = "Remove {boot} from the kernel command line and reboot: the kernel then makes its "
		"own choice.",
	.steps = {DROP_STEP, {.command = "sudo reboot"},
		{.text = "if this fails, undo step 1", .command = "vdsocheck warp && vdsocheck"}},
	.risk = "It may be there because the TSC is unstable: see old kernel logs."};

const struct advice_row advice_drop_boot = {.id = "drop-boot-parameters",
	.effort = EFFORT_UNDO,
	.when = {.applies = is_tsc_not_avoided},
	.text = "Remove {boot} from the kernel command line and reboot.",
	.steps = {DROP_STEP, {.command = "sudo reboot"}, {.command = "vdsocheck"}},
	.risk = "It may be there for a reason: find out which before you remove it."};

/* compare restores the clocksource that was in use, and is no more than a trial. */
#define TRIAL_STEP                                                                                 \
	{                                                                                          \
		.command = "sudo vdsocheck compare --only {to}"                                    \
	}

/*
 * The safest of the switches: no TSC has to be right, since the hypervisor keeps this clock
 * right when it pauses or moves the guest.
 */
static const struct advice_row switch_to_paravirtual = {.id = "switch-to-paravirtual",
	.effort = EFFORT_SWITCH,
	.target = target_paravirtual,
	.text = "Switch to {to}, the hypervisor's own clock; step 1 is only a trial.",
	.steps = {TRIAL_STEP, SWITCH_STEP(""), {.command = "vdsocheck"}},
	.boot = "clocksource={to}",
	.risk = "Small: the hypervisor keeps it correct when it migrates the guest. It may have "
		"been disabled on purpose."};

#define SWITCH_TO_TSC                                                                              \
	.effort = EFFORT_SWITCH, .target = target_tsc,                                             \
	.steps = {TRIAL_STEP, SWITCH_STEP("vdsocheck warp && "), {.command = "vdsocheck"}},        \
	.boot = "clocksource={to}"

#define TSC_RISK "Time can jump if the CPUs' TSCs disagree, which step 2 tests."

/* The article has the same commands for all instances of Intel and AMD, on Xen and on Nitro. */
#define SWITCH_TO_TSC_ON_EC2                                                                       \
	SWITCH_TO_TSC,                                                                             \
		.id = "switch-to-tsc-on-ec2",                                                      \
		.text = "Switch to tsc, as Amazon recommends; step 1 is only a trial.",            \
		.source = "AWS re:Post, \"How do I manage the clock source for EC2 instances "     \
			  "running Linux?\" (as of February 2025), "                               \
			  "https://repost.aws/knowledge-center/manage-ec2-linux-clock-source"

static const struct advice_row switch_to_tsc_on_xen = {SWITCH_TO_TSC_ON_EC2,
	.when = {.needs = EC2_XEN},
	.risk = TSC_RISK " Most Xen instances do not advertise an invariant TSC, so the kernel "
			 "does not choose tsc by itself."};

static const struct advice_row switch_to_tsc_on_nitro = {
	SWITCH_TO_TSC_ON_EC2, .when = {.needs = EC2, .unless = EC2_XEN}, .risk = TSC_RISK};

#define SWITCH_TO_TSC_TEXT .id = "switch-to-tsc", .text = "Switch to tsc; step 1 is only a trial."

static const struct advice_row switch_to_tsc = {
	SWITCH_TO_TSC, SWITCH_TO_TSC_TEXT, .when = {.unless = EC2 | GUEST}, .risk = TSC_RISK};

/* The screen may have room for one sentence: the risk that warp cannot rule out comes first. */
static const struct advice_row switch_guest_to_tsc = {SWITCH_TO_TSC, SWITCH_TO_TSC_TEXT,
	.when = {.needs = GUEST, .unless = EC2},
	.risk = "After a migration to another TSC rate, the clock can run fast or slow. " TSC_RISK};

static const struct advice_row allow_processes = {.id = "allow-processes",
	.effort = EFFORT_PROOF,
	.when = {.verdicts = BIT(VERDICT_UNKNOWN), .applies = lacks_processes},
	.text = "vdsocheck could not run a child process: raise the limit (ulimit -u, pids.max "
		"of the control group) or remove the filter that forbids it."};

static const struct advice_row allow_proof = {.id = "allow-proof",
	.effort = EFFORT_PROOF,
	.when = {.verdicts = BIT(VERDICT_UNKNOWN), .unless = EMULATED, .applies = lacks_permission},
	.text = "Run vdsocheck where it may use seccomp(2) or ptrace(2): outside the container or "
		"sandbox, or with a seccomp profile that allows one of them."};

/* Only where no switch of the clocksource helps: a move costs the guest a stop. */
static bool can_move(const struct view *view)
{
	return !view->paravirtual && !view->tsc && way_find(view, advice_moves);
}

const struct advice_row advice_move = {.id = "move-to-another-host",
	.effort = EFFORT_UPDATE,
	.anywhere = true,
	.when = {.applies = can_move},
	.text = "Move this guest to another host: stop it and start it again, since a reboot "
		"usually keeps it on the same one.",
	.steps = {{.ways = advice_moves}, {.command = "vdsocheck"}},
	.risk = MOVE_RISK};

const struct advice_row advice_send_report = {.id = "send-report",
	.effort = EFFORT_ASK,
	.when = {.verdicts = BIT(VERDICT_FALLBACK) | BIT(VERDICT_SLOW), .unless = EMULATED},
	.text = "No known safe setting fixes this: send the report to your provider or platform "
		"team.",
	.steps = {{.command = REPORT_COMMAND}}};

const struct advice_row *const advice_general[] = {&switch_to_paravirtual, &switch_to_tsc,
	&switch_guest_to_tsc, &switch_to_tsc_on_xen, &switch_to_tsc_on_nitro, &allow_processes,
	&allow_proof, NULL};

const struct advice_row *const advice_last_resort[] = {&advice_send_report, NULL};

#define BOOT_SIZE 200

/* The parameters that keep the kernel or the vDSO from a better clock here, between blanks. */
static void list_boot(const struct view *view, char boot[BOOT_SIZE])
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
		{"vdso32=2", view->holds & NO_VDSO},
		{"no-kvmclock", view->holds & PLAIN},
		{"nopv", view->holds & PLAIN},
		{"xen_nopv", view->holds & PLAIN},
		{"no-kvmclock-vsyscall", view->holds & ON_KVM_CLOCK},
	};
	size_t used = 0;

	snprintf(chosen, sizeof(chosen), "clocksource=%s", evidence->clocksource.current);
	boot[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].matters && boot_has(evidence, known[i].parameter))
			used += (size_t)snprintf(boot + used, BOOT_SIZE - used, "%s%s",
				used ? " " : "", known[i].parameter);
	}
}

/* The values of the words in braces; NULL: not known. */
struct words {
	const char *to, *from, *boot;
};

/* NULL where it is not known, or not plain for a shell: it may come from a document. */
static const char *find_word(const struct words *words, struct span key)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.=- ";
	const char *word = text_equals(key, "to")     ? words->to
	                   : text_equals(key, "from") ? words->from
	                                              : words->boot;

	return word && *word && !word[strspn(word, plain)] ? word : NULL;
}

/* False where a word is missing, or the text too long: half a command is none. */
static bool fill_in(const char *row, const struct words *words, char *text, size_t size)
{
	size_t used = 0;

	while (row && *row) {
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

/* With a label where it is one of several ways. */
static void add_step(const struct way *way, const char *label, const struct words *words,
	struct advice_step *steps, size_t *count)
{
	struct advice_step *step = &steps[*count];
	size_t at = 0;

	*step = (struct advice_step){{0}, {0}, {0}};
	if (label)
		at = (size_t)snprintf(
			step->text, sizeof(step->text), "%s%s", label, way->text ? ": " : "");
	if (fill_in(way->text, words, step->text + at, sizeof(step->text) - at) &&
		fill_in(way->command, words, step->command, sizeof(step->command)))
		*count += 1;
	if (!fill_in(way->undo, words, step->undo, sizeof(step->undo)))
		step->undo[0] = '\0';
}

/* WSL counts as a container, but its users control the host. */
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
static bool is_for_host(const struct view *view, const struct advice_row *row)
{
	bool changes_host = row->effort <= EFFORT_UPDATE && row->effort != EFFORT_LOOK;

	return is_in_container(view->evidence) &&
	       (row->on_host || (changes_host && !row->anywhere));
}

static bool write_text(const struct view *view, const struct advice_row *row,
	const struct words *words, char text[ADVICE_TEXT_SIZE])
{
	size_t at;

	text[0] = '\0';
	if (is_for_host(view, row))
		text_append(text, ADVICE_TEXT_SIZE, "On the host, outside this container, ");
	if (needs_newer_kernel(view, row))
		text_append(text, ADVICE_TEXT_SIZE, "%s Linux %u.%u or newer, ",
			*text ? "with" : "With", row->since.major, row->since.minor);
	at = strlen(text);
	if (!fill_in(row->text, words, text + at, ADVICE_TEXT_SIZE - at))
		return false;
	if (at)
		text[at] = (char)tolower((unsigned char)text[at]);
	for (size_t i = 0; i < REMARK_MAX && row->remarks[i].text; i++) {
		const struct remark *remark = &row->remarks[i];

		if (kernel_is_before(view->evidence, remark->major, remark->minor) &&
			(!remark->applies || remark->applies(view->evidence)))
			text_append(text, ADVICE_TEXT_SIZE, " %s", remark->text);
	}
	return true;
}

/* The ways to change the kernel command line, that of this host first. */
static void add_ways(const struct view *view, const struct way *ways, const struct words *words,
	struct advice *advice)
{
	const struct way *here = way_find(view, ways);

	if (here)
		add_step(here, here->label, words, advice->keep, &advice->keep_count);
	advice->keep_is_known = advice->keep_count;
	for (; ways->where && advice->keep_count < ADVICE_KEEP_MAX; ways++) {
		if (ways != here)
			add_step(ways, ways->label, words, advice->keep, &advice->keep_count);
	}
}

static bool make(const struct view *view, const struct advice_row *row, struct advice *advice)
{
	const struct clocksource_evidence *clocksource = &view->evidence->clocksource;
	struct words words = {.to = row->target ? row->target(view) : NULL,
		.from = fact_is_known(&clocksource->current_fact) ? clocksource->current : NULL};
	char boot[BOOT_SIZE];

	*advice = (struct advice){
		.id = row->id, .ask = row->ask, .risk = row->risk, .source = row->source};
	if (!row->boot)
		list_boot(view, boot);
	else if (!fill_in(row->boot, &words, boot, sizeof(boot)))
		return false;
	words.boot = boot;
	if ((row->target && !words.to) || !write_text(view, row, &words, advice->text))
		return false;
	if (words.to)
		text_copy(advice->clocksource, sizeof(advice->clocksource), words.to);
	for (const struct step_row *step = row->steps; step < row->steps + STEP_ROW_MAX; step++) {
		const struct way *here = way_find(view, step->ways);
		const struct way own = {NULL, NULL, step->text, step->command, step->undo};

		if (step->text || step->command || here)
			add_step(here ? here : &own, NULL, &words, advice->steps,
				&advice->step_count);
	}
	if (row->boot)
		add_ways(view, add_boot, &words, advice);
	else if (row->steps[0].ways == remove_boot)
		add_ways(view, remove_boot, &words, advice);
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
	const char *not_tsc = view->not_tsc;
	size_t count = 0;

	for (size_t i = 0; i < found->count && count < ADVICE_MAX; i++) {
		if (!make(view, found->rows[i], &advice[count]))
			continue;
		/* Once; where a setting is removed, the kernel makes its own choice. */
		if (not_tsc && found->rows[i]->effort != EFFORT_UNDO) {
			if (!strstr(advice[count].text, "Do not force the TSC"))
				text_append(advice[count].text, ADVICE_TEXT_SIZE,
					" Do not switch to tsc: %s.", not_tsc);
			not_tsc = NULL;
		}
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
