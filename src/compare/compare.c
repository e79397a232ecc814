/* SPDX-License-Identifier: MIT */
/*
 * vdsocheck compare: tries the clocksources that the kernel offers and restores the one in use.
 * The one command that changes the host, so most of what is here is about when it must not run
 * and what it says before and afterwards.
 */
#include "commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/privileges.h"
#include "base/units.h"
#include "cli/describe.h"
#include "cli/layout.h"
#include "collect.h"
#include "measure/call.h"
#include "model.h"

#define DEFAULT_NS 1000000000

/* What a candidate takes beyond the test for warps, in seconds. */
#define CANDIDATE_SECONDS 0.5

#define EXIT_CHANGE 1
#define EXIT_UNKNOWN 2

/* Of a dry run: proof, timing and the copy of the vDSO take some 50 ms on a quiet machine. */
#define DRY_RUN_NS 5000000000

#define ONLY_MAX 32

enum { OPTION_ONLY = OPTION_OWN, OPTION_WITH_GUESTS, OPTION_DRY_RUN };

/* cli->own: what was asked for, and all that one run needs. */
struct compare {
	size_t only_count; /* 0: all */
	struct span only[ONLY_MAX];
	int64_t warp_ns;
	bool with_guests;
	bool dry_run;
	bool yes;
	char path[CURRENT_PATH_SIZE]; /* of current_clocksource, for messages */
	struct evidence host;         /* of the tree: for advice */
	struct clocksource_switch clock;
	size_t count; /* of candidates, without the one in use */
	char names[CLOCKSOURCE_MAX][CLOCKSOURCE_NAME_SIZE];
	struct run_result result;
};

/* Whether the host offers it is not known yet. */
static bool take_only(struct cli *cli, struct span word)
{
	struct compare *own = cli->own;

	if (!word.length) {
		cli_usage_error("--only: a name is empty");
		return false;
	}
	if (own->only_count == ONLY_MAX) {
		cli_usage_error("--only: at most %d names are accepted", ONLY_MAX);
		return false;
	}
	own->only[own->only_count++] = word;
	return true;
}

static bool take(struct cli *cli, int id, const char *value)
{
	struct compare *own = cli->own;

	switch (id) {
	case OPTION_ONLY:
		return take_list(value, take_only, cli);
	case OPTION_WITH_GUESTS:
		return own->with_guests = true;
	case OPTION_DRY_RUN:
		return own->dry_run = true;
	case 'd':
		return take_duration("--duration", value, &own->warp_ns);
	default:
		return own->yes = true;
	}
}

/* ---- the candidates ---- */

static bool choose(struct compare *own, const char *in_use, struct span name)
{
	const struct clocksource_evidence *offered = &own->host.clocksource;
	size_t place = 0;

	while (place < offered->available_count && !text_equals(name, offered->available[place]))
		place++;
	if (place == offered->available_count) {
		cli_usage_error(
			"--only: this host does not offer '%.*s'", (int)name.length, name.at);
		return false;
	}
	if (text_equals(name, in_use))
		return true;
	for (size_t i = 0; i < own->count; i++) {
		if (text_equals(name, own->names[i]))
			return true;
	}
	text_copy_span(own->names[own->count++], CLOCKSOURCE_NAME_SIZE, name);
	return true;
}

/* All that are offered or in --only, without the one in use. False after an error message. */
static bool choose_candidates(struct compare *own, const char *in_use)
{
	const struct clocksource_evidence *offered = &own->host.clocksource;

	for (size_t i = 0; i < own->only_count; i++) {
		if (!choose(own, in_use, own->only[i]))
			return false;
	}
	for (size_t i = 0; own->only_count == 0 && i < offered->available_count; i++)
		choose(own, in_use, text_span(offered->available[i]));
	return true;
}

/* ---- whether it may run ---- */

/* One line to be pasted; nothing is printed after it. */
static void print_command(const struct clocksource_switch *clock, const char *name)
{
	fprintf(stderr, "echo %s > %s\n", name, clock->path);
}

/*
 * How much of cli->sysroot belongs before a path below it, or before a reason that begins with
 * one: nothing of "/", and not the last slashes.
 */
static int tree_length(const struct cli *cli, const char *below)
{
	size_t length = *below == '/' ? strlen(cli->sysroot) : 0;

	while (length > 0 && cli->sysroot[length - 1] == '/')
		length--;
	return (int)length;
}

/* False after an error message. */
static bool open_switch(const struct cli *cli, struct compare *own)
{
	const struct root *root = &cli->root;
	struct text_fact container = {0};
	struct fact why = {0};
	enum switch_opened opened = clocksource_switch_open(&own->clock, root, &why);

	own->clock.path = own->path;
	if (opened == SWITCH_OPENED)
		return true;
	if (opened == SWITCH_CLOSED)
		container_collect(root, &container);
	if (opened == SWITCH_BUSY)
		cli_error("another vdsocheck compare is running on this host");
	else if (opened == SWITCH_CLOSED && root->live && geteuid() != 0)
		cli_error("cannot change the clocksource: this requires root");
	else if (fact_is_known(&container.fact))
		cli_error("cannot change the clocksource in this container (%s): %.*s%s",
			container.value, tree_length(cli, why.reason), cli->sysroot, why.reason);
	else
		cli_error("cannot change the clocksource: %.*s%s", tree_length(cli, why.reason),
			cli->sysroot, why.reason);
	return false;
}

/* False after an error message: a switch would do harm, or an earlier run left its own undone. */
static bool is_harmless(const struct root *root, const struct compare *own)
{
	const struct clocksource_switch *clock = &own->clock;
	struct ntp_state ntp;
	struct fact no_guest = {0};

	if (*clock->interrupted) {
		cli_error("an earlier compare was killed: the clocksource was %s before it, and "
			  "is %s now. Restore it first, as root, or remove %s/%s to keep %s:",
			clock->interrupted, clock->original, SWITCH_FOLDER, SWITCH_RECORD,
			clock->original);
		print_command(clock, clock->interrupted);
		return false;
	}
	ntp_state_read(&ntp);
	if (fact_is_known(&ntp.fact) && ntp.leap_pending) {
		cli_error(
			"a leap second is pending, and switching the clocksource would discard it; "
			"try again after it");
		return false;
	}
	if (own->with_guests)
		return true;
	guests_find(root, &no_guest);
	if (fact_is_known(&no_guest))
		return true;
	cli_error(
		"virtual machines are running on this host (%s). Switching away from the TSC takes "
		"vDSO support from their kvm-clock until they are restarted; use --with-guests to "
		"proceed anyway",
		no_guest.reason);
	return false;
}

/* ---- before it runs ---- */

static void announce(const struct compare *own)
{
	struct strbuf sb = {.used = 0};
	struct ntp_state state;
	char ntp[FACT_REASON_SIZE + 64];

	strbuf_add(&sb, "This tries the clocksources %s", own->clock.original);
	for (size_t i = 0; i < own->count; i++)
		strbuf_add(&sb, "%s%s", i + 1 < own->count ? ", " : " and ", own->names[i]);
	strbuf_add(&sb, " (about %.1f s each) and then restores %s.",
		(double)own->warp_ns / NS_PER_SECOND + CANDIDATE_SECONDS, own->clock.original);
	wrap_text(stderr, 0, 0, sb.text);
	sb = (struct strbuf){.used = 0};
	ntp_state_read(&state);
	compare_describe_ntp(&state, ntp, sizeof(ntp));
	strbuf_add(&sb,
		"Each of the %zu switches stops all CPUs for a moment and clears the kernel's NTP "
		"state (now: %s): the clock counts as unsynchronized until the time daemon has "
		"adjusted it again. Programs that read the clock may run slower meanwhile.",
		2 * own->count, ntp);
	if (own->with_guests)
		strbuf_add(&sb,
			" KVM guests that use kvm-clock lose the vDSO until they are restarted.");
	wrap_text(stderr, 0, 0, sb.text);
}

/* ---- the run ---- */

/* How to restore it by hand. Nothing is printed after it. */
static void print_remedy(
	const struct clocksource_switch *clock, enum switch_result result, const struct fact *why)
{
	if (result == SWITCH_FOREIGN)
		cli_error("%s, so it was not restored. To go back to %s, run as root:", why->reason,
			clock->original);
	else
		cli_error("the clocksource could not be restored: %s. Run as root:", why->reason);
	print_command(clock, clock->original);
}

/* In the guardian, when the process that started it is gone. */
static void report_as_orphan(
	const struct clocksource_switch *clock, enum switch_result result, const struct fact *why)
{
	if (result == SWITCH_DONE)
		cli_error(
			"compare was killed; the clocksource was restored to %s", clock->original);
	else
		print_remedy(clock, result, why);
}

static void try_candidates(const struct cli *cli, struct compare *own)
{
	struct call_table calls;
	struct run_setup setup = {.candidate = {.calls = &calls, .warp_ns = own->warp_ns},
		.count = own->count,
		.names = (const char(*)[CLOCKSOURCE_NAME_SIZE])own->names,
		.progress = progress_show,
		.orphaned = report_as_orphan};
	struct vdso_image image;

	compare_find_calls(&own->host.moment, &own->host.vdso, &image, &calls, &cli->deadline);
	work_begin(cli, "trying the clocksources", NULL);
	run_all(&own->clock, &setup, &own->result);
	work_end();
}

/* ---- what is printed ---- */

/* Of a run or of a dry run: the other one is NULL. */
struct printed {
	const struct compare_report *report;
	const struct dry_run *dry;
};

static bool write_text(const void *result, const struct style *style, FILE *out)
{
	const struct printed *printed = result;

	return printed->dry ? dry_run_text(printed->dry, style, out)
	                    : compare_text(printed->report, style, out);
}

static bool write_json(const void *result, const struct style *style, FILE *out)
{
	const struct printed *printed = result;

	return printed->dry ? dry_run_json(printed->dry, style, out)
	                    : compare_json(printed->report, style, out);
}

static const struct format formats[] = {
	{.name = "text", .write = write_text},
	{.name = "json", .write = write_json},
	{0},
};

/* What was measured is printed however the run ended. */
static int print_report(struct cli *cli, const struct compare *own)
{
	const struct text_fact *hypervisor = &own->host.host.hypervisor;
	struct ranking ranking;
	struct compare_report report = {.result = &own->result,
		.ranking = &ranking,
		.moment = &own->host.moment,
		.original = own->clock.original,
		.path = own->path,
		.hypervisor = fact_is_known(&hypervisor->fact) ? hypervisor->value : NULL,
		.warp_s = (double)own->warp_ns / NS_PER_SECOND};

	ranking_find(&own->result, &own->host, &ranking);
	if (own->result.end == RUN_INTERRUPTED)
		report.exit_status = EXIT_SIGNAL + own->result.signal;
	else if (ranking.verdict == RANKING_UNKNOWN)
		report.exit_status = EXIT_UNKNOWN;
	else
		report.exit_status = ranking.verdict == RANKING_CHANGE ? EXIT_CHANGE : EXIT_SUCCESS;
	cli_print(cli, &(struct printed){.report = &report});
	return report.exit_status;
}

static int compare(struct cli *cli, struct compare *own)
{
	int status;

	if (!choose_candidates(own, own->clock.original))
		return EXIT_TROUBLE;
	if (!is_harmless(&cli->root, own))
		return EXIT_UNKNOWN;
	if (!cli->quiet || !own->yes)
		announce(own);
	if (!own->yes && !cli_confirm())
		return EXIT_UNKNOWN;
	try_candidates(cli, own);
	if (own->result.end == RUN_NOT_BEGUN) {
		cli_error("%s; the clocksource was not changed", own->result.why.reason);
		return EXIT_UNKNOWN;
	}
	status = print_report(cli, own);
	run_release(&own->result);
	return status;
}

/* What is known without a switch; the tree is read, and this process's own clock measured. */
static int list(struct cli *cli, struct compare *own)
{
	const struct deadline deadline = deadline_after(DRY_RUN_NS);
	struct dry_run dry;

	if (!choose_candidates(own, own->host.clocksource.current))
		return EXIT_TROUBLE;
	moment_collect(&cli->root, &own->host.moment, &deadline);
	privileges_limit(PRIVILEGES_NONE, PRIVILEGES_WRITE);
	candidate_dry_run(&own->host, &deadline);
	dry_run_make(
		&own->host, (const char(*)[CLOCKSOURCE_NAME_SIZE])own->names, own->count, &dry);
	dry.seconds = (double)own->warp_ns / NS_PER_SECOND + CANDIDATE_SECONDS;
	cli_print(cli, &(struct printed){.dry = &dry});
	return EXIT_SUCCESS;
}

static int run(struct cli *cli)
{
	struct compare *own = cli->own;
	struct evidence *host = &own->host;
	const struct fact *available = &host->clocksource.available_fact;
	int status;

	snprintf(own->path, sizeof(own->path), "%.*s%s", tree_length(cli, CLOCKSOURCE_CURRENT),
		cli->sysroot, CLOCKSOURCE_CURRENT);
	if (!own->warp_ns)
		own->warp_ns = DEFAULT_NS;
	host->live = cli->root.live;
	clocksource_collect(&cli->root, &host->clocksource);
	host_collect(&cli->root, &host->host);
	kernel_log_collect(&cli->root, &host->kernel_log);
	if (!own->dry_run && !open_switch(cli, own))
		return EXIT_UNKNOWN;
	if (!fact_is_known(available)) {
		cli_error("cannot list the available clocksources: %.*s%s",
			tree_length(cli, available->reason), cli->sysroot, available->reason);
		status = EXIT_UNKNOWN;
	} else {
		status = own->dry_run ? list(cli, own) : compare(cli, own);
	}
	if (!own->dry_run)
		clocksource_switch_close(&own->clock);
	return status;
}

/* After the output: how to restore what could not be restored is the last that is said. */
static int finish(struct cli *cli, int status)
{
	const struct compare *own = cli->own;
	const struct run_result *result = &own->result;

	if (result->end == RUN_NOT_BEGUN || !own->clock.root)
		return status;
	if (result->restored != SWITCH_DONE)
		print_remedy(&own->clock, result->restored, &result->restored_fact);
	else if (result->end != RUN_WHOLE)
		cli_error("%s; the clocksource was restored to %s", result->why.reason,
			own->clock.original);
	if (result->end == RUN_INTERRUPTED && result->restored == SWITCH_DONE)
		cli->signal = result->signal;
	return status;
}

static const struct option_row options[] = {
	{OPTION_ONLY, "only", "LIST", "try only these, beside the one in use: tsc,hpet"},
	{'d', "duration", "TIME",
		"look for warps for TIME on each: 1 (the default), 0.5, 500ms, 5m"},
	{OPTION_DRY_RUN, "dry-run", NULL,
		"switch nothing, list the clocksources and what each would cost as far as that "
		"can be measured; needs no privileges"},
	{OPTION_WITH_GUESTS, "with-guests", NULL,
		"run even though KVM guests are running here: their kvm-clock loses vDSO support"},
	{'y', "yes", NULL, "do not ask for confirmation; required without a terminal"},
	{OPTION_SYSROOT, "sysroot", "DIR",
		"rehearse: write to the file below DIR; the clock measured is this host's and does "
		"not change"},
	{0},
};

const struct command compare_command = {
	.name = "compare",
	.summary = "try each clocksource and restore the one in use (root)",
	.help = "Switches to each available clocksource in turn, checks whether the vDSO serves "
		"it, times it, looks for time warps, and restores the clocksource in use, even on "
		"errors. Requires root; asks for confirmation. Each switch clears the kernel's NTP "
		"state and stops all CPUs for a moment. Ctrl-C ends it early, restores the "
		"clocksource and prints what was measured.",
	.status = "0 keep the clocksource in use, 1 another one is recommended, 2 no "
		  "recommendation could be made or it refused to run, 3 usage error or failed "
		  "output, 130 interrupted. If the clocksource could not be restored, the last "
		  "line printed is the command that does it.",
	.options = options,
	.formats = formats,
	.size = sizeof(struct compare),
	.take = take,
	.run = run,
	.never_verbose = true,
	.finish = finish,
	.privileged = true,
};
