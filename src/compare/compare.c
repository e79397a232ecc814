/* SPDX-License-Identifier: MIT */
/*
 * vdsocheck compare: tries the clocksources that the kernel offers and restores the one in use.
 * It is the one command that changes the host, so most of this file is about when it must not run
 * and what it says before and afterwards.
 */
#include "commands.h"

#include <string.h>
#include <unistd.h>

#include "base/privileges.h"
#include "base/time.h"
#include "collect.h"
#include "measure/call.h"
#include "measure/vdso.h"
#include "model.h"

enum { OPTION_WITH_GUESTS = OPTION_OWN };

static bool compare_take(struct cli *cli, int id, const char *value)
{
	struct compare *compare = cli->data;

	(void)value;
	return *(id == OPTION_WITH_GUESTS ? &compare->with_guests : &compare->yes) = true;
}

/* ---- the plan ---- */

static void choose_candidates(struct compare *compare)
{
	const struct clocksource_evidence *offered = &compare->host.clocksource;

	for (size_t i = 0; i < offered->available_count; i++) {
		if (strcmp(offered->available[i], compare->sw.original) != 0)
			compare->names[compare->count++] = offered->available[i];
	}
}

#define REGAINED                                                                                   \
	"until the host is back on tsc and they are paused and resumed (virsh suspend, virsh "     \
	"resume), or restarted"

static void announce(const struct compare *compare)
{
	const char *in_use = compare->sw.original;
	struct strbuf sb = {.used = 0};
	struct strbuf state = {.used = 0};

	strbuf_add(&sb, "This tries the clocksources %s", in_use);
	for (size_t i = 0; i < compare->count; i++)
		strbuf_add(&sb, "%s%s", i + 1 < compare->count ? ", " : " and ", compare->names[i]);
	strbuf_add(&sb, " (about half a second each) and then restores %s.", in_use);
	wrap_text(stderr, 0, 0, sb.text);
	sb = (struct strbuf){.used = 0};
	strbuf_add_ntp(&compare->host.ntp, &state);
	strbuf_add(&sb,
		"Each of the %zu switches stops all CPUs for a moment and clears the kernel's NTP "
		"state (now: %s): the clock counts as unsynchronized until the time daemon has "
		"adjusted it again. On a slower clocksource all programs that read the clock run "
		"slower.",
		2 * compare->count, state.text);
	if (compare->with_guests)
		strbuf_add(&sb, " KVM guests that use kvm-clock lose vDSO support " REGAINED ".");
	wrap_text(stderr, 0, 0, sb.text);
}

/* ---- whether it may run ---- */

/* Prints one line to be pasted; nothing is printed after it. */
static void print_command(const char *name)
{
	fprintf(stderr, "echo %s > %s\n", name, CLOCKSOURCE_CURRENT);
}

/* Returns false after an error message. */
static bool report_closed(const struct cli *cli, enum switch_result opened, const struct fact *why)
{
	struct text_fact container = {0};

	if (opened == SWITCH_BUSY)
		return cli_error("another vdsocheck compare is running on this host");
	if (opened == SWITCH_CLOSED && geteuid() != 0)
		return cli_error("cannot change the clocksource: this requires root");
	if (opened == SWITCH_CLOSED)
		container_collect(&cli->root, &container);
	if (fact_is_known(&container.fact))
		return cli_error("cannot change the clocksource in this container (%s): %s",
			container.value, why->reason);
	return cli_error("cannot change the clocksource: %s", why->reason);
}

/* Returns false after an error message: a switch would do harm, or an earlier run was killed. */
static bool may_switch(const struct root *root, const struct compare *compare)
{
	const struct clocksource_switch *sw = &compare->sw;
	const struct ntp_evidence *ntp = &compare->host.ntp;
	char which[FACT_REASON_SIZE];

	if (*sw->interrupted) {
		cli_error("an earlier compare was killed: the clocksource was %s before it, and "
			  "is %s now. Restore it first, as root, or remove " SWITCH_RECORD
			  " to keep %s:",
			sw->interrupted, sw->original, sw->original);
		print_command(sw->interrupted);
		return false;
	}
	if (fact_is_known(&ntp->fact) && ntp->leap_pending)
		return cli_error(
			"a leap second is pending, and switching the clocksource would discard it; "
			"try again after it");
	if (!compare->with_guests && guests_running(root, which, sizeof(which)))
		return cli_error(
			"virtual machines may be running on this host (%s). A switch away from the "
			"TSC takes vDSO support from their kvm-clock " REGAINED
			"; use --with-guests to proceed anyway",
			which);
	return true;
}

/* ---- the run ---- */

/* Says how to restore it by hand. Nothing is printed after it. */
static void print_remedy(
	const struct clocksource_switch *sw, enum switch_result result, const struct fact *why)
{
	if (result == SWITCH_FOREIGN)
		cli_error("%s, so it was not restored. To go back to %s, run as root:", why->reason,
			sw->original);
	else
		cli_error("the clocksource could not be restored: %s. Run as root:", why->reason);
	print_command(sw->original);
}

/* Runs in the guardian when the process that started it is gone. */
static void report_as_orphan(
	const struct clocksource_switch *sw, enum switch_result result, const struct fact *why)
{
	if (result == SWITCH_DONE)
		cli_error("compare was killed; the clocksource was restored to %s", sw->original);
	else
		print_remedy(sw, result, why);
}

static void try_candidates(struct cli *cli, struct compare *compare)
{
	static volatile bool stop;
	struct call_table calls;
	struct vdso_evidence *vdso = &compare->host.vdso;
	struct vdso_image image = {0};

	vdso_collect(&cli->root, vdso, &image);
	call_table_make(vdso, &image, &calls, &cli->deadline);
	call_table_keep_deciding(&calls);
	compare->run = (struct run){
		.sw = &compare->sw, .calls = &calls, .orphaned = report_as_orphan, .stop = &stop};
	work_begin(cli, "trying the clocksources", &stop);
	run_candidates(&compare->run, compare->names, compare->count);
	work_end();
}

/* Who may not switch is told so before anything else. */
static bool compare_may_run(struct cli *cli, struct compare *compare)
{
	const struct clocksource_evidence *offered = &compare->host.clocksource;
	struct fact why = {0};
	enum switch_result opened = clocksource_switch_open(&compare->sw, &cli->root, &why);

	if (opened != SWITCH_DONE)
		return report_closed(cli, opened, &why);
	if (!fact_is_known(&offered->available_fact))
		return cli_error("cannot list the available clocksources: %s",
			offered->available_fact.reason);
	choose_candidates(compare);
	ntp_collect(&compare->host.ntp, DEADLINE_NONE);
	if (!compare->count)
		return cli_error("only %s is available: nothing to compare", compare->sw.original);
	if (!cli->quiet || !compare->yes)
		announce(compare);
	return may_switch(&cli->root, compare) && (compare->yes || cli_confirm());
}

static bool compare_measure(struct cli *cli)
{
	struct compare *compare = cli->data;
	struct evidence *host = &compare->host;

	compare->report.exit_status = compare->report.answer->status; /* of a refusal */
	host->live = true;
	clocksource_collect(&cli->root, &host->clocksource);
	host_collect(&cli->root, &host->host);
	if (!compare_may_run(cli, compare))
		return false;
	/* The files are open: user ID 0 alone restores the clocksource and removes the record. */
	privileges_keep(cli->output ? PRIVILEGES_WRITE : PRIVILEGES_NONE);
	try_candidates(cli, compare);
	if (!compare->run.begun)
		return cli_error("%s; the clocksource was not changed", compare->run.why.reason);
	compare_conclude(compare);
	return true;
}

/* Runs after the output: the command that restores the clocksource is printed last. */
static int compare_finish(struct cli *cli, int status)
{
	const struct compare *compare = cli->data;
	const struct run *run = &compare->run;

	if (!run->begun)
		return status;
	if (run->restored != SWITCH_DONE)
		print_remedy(&compare->sw, run->restored, &run->restored_fact);
	else if (!fact_is_known(&run->why))
		cli_error("%s; the clocksource was restored to %s", run->why.reason,
			compare->sw.original);
	return status;
}

static const struct option_row options[] = {
	{OPTION_WITH_GUESTS, "with-guests", NULL,
		"run even though KVM guests are running here: their kvm-clock loses vDSO support"},
	{'y', "yes", NULL, "skip the confirmation; needed without a terminal"},
	{0},
};

static const struct report_type type = {.schema = "vdsocheck-compare/1",
	.fields = compare_fields,
	.indent = 11,
	.measure = compare_measure,
	.text = compare_text};

const struct command compare_command = {
	.name = "compare",
	.summary = "try each clocksource and restore the one in use (root)",
	.help = "Switches to each available clocksource in turn, proves whether the vDSO serves "
		"it, times it, and restores the clocksource in use, even on errors. Prints its plan first and asks for confirmation; switching requires root. "
		"Each switch clears the kernel's NTP state and stops all CPUs for a moment. Ctrl-C "
		"ends it early, restores the clocksource and prints what was measured.",
	.status = "3 usage error or failed output, 130 interrupted. If the clocksource could not "
		  "be restored, the last line printed is the command that does it.",
	.answers = compare_answers,
	.options = options,
	.formats = report_formats,
	.report = &type,
	.size = sizeof(struct compare),
	.take = compare_take,
	.run = report_run,
	.finish = compare_finish,
	.privileged = true,
};
