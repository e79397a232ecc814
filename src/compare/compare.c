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
#include "measure/vdso.h"
#include "model.h"

#define DEFAULT_NS 1000000000

/* Seconds that a candidate takes beyond the test for warps. */
#define CANDIDATE_SECONDS 0.5

#define EXIT_CHANGE 1
#define EXIT_UNKNOWN 2

#define ONLY_MAX 32

enum { OPTION_ONLY = OPTION_OWN, OPTION_WITH_GUESTS };

/* cli->own: what was asked for, and all that one run needs. */
struct compare {
	size_t only_count; /* 0: all */
	struct span only[ONLY_MAX];
	int64_t warp_ns;
	bool with_guests;
	bool yes;
	char tree[CURRENT_PATH_SIZE]; /* before a path in a message: that of --sysroot; "": none */
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
	case 'd':
		return take_duration("--duration", value, &own->warp_ns);
	default:
		return own->yes = true;
	}
}

/* ---- the candidates ---- */

static void add_candidate(struct compare *own, const char *in_use, const char *name)
{
	bool known = strcmp(name, in_use) == 0;

	for (size_t i = 0; i < own->count && !known; i++)
		known = strcmp(name, own->names[i]) == 0;
	if (!known)
		text_copy(own->names[own->count++], CLOCKSOURCE_NAME_SIZE, name);
}

/* All that are offered, or those of --only, without the one in use. False after a message. */
static bool choose_candidates(struct compare *own, const char *in_use)
{
	const struct clocksource_evidence *offered = &own->host.clocksource;
	struct strbuf list = {.used = 0};

	for (size_t i = 0; i < offered->available_count; i++) {
		strbuf_add(&list, "%s%s", i ? ", " : "", offered->available[i]);
		if (!own->only_count)
			add_candidate(own, in_use, offered->available[i]);
	}
	for (size_t i = 0; i < own->only_count; i++) {
		struct span name = own->only[i];
		size_t place = 0;

		while (place < offered->available_count &&
			!text_equals(name, offered->available[place]))
			place++;
		if (place == offered->available_count) {
			cli_usage_error("--only: this host does not offer '%.*s', only %s",
				(int)name.length, name.at, list.text);
			return false;
		}
		add_candidate(own, in_use, offered->available[place]);
	}
	return true;
}

/* ---- the plan ---- */

#define REGAINED                                                                                   \
	"until the host is back on tsc and they are paused and resumed (virsh suspend, virsh "     \
	"resume), or restarted"

static void announce(const struct cli *cli, const char *in_use)
{
	const struct compare *own = cli->own;
	struct strbuf sb = {.used = 0};
	struct ntp_state state;
	char ntp[FACT_REASON_SIZE + 64];

	strbuf_add(&sb, "This tries the clocksources %s", in_use);
	for (size_t i = 0; i < own->count; i++)
		strbuf_add(&sb, "%s%s", i + 1 < own->count ? ", " : " and ", own->names[i]);
	strbuf_add(&sb, " (about %.1f s each) and then restores %s.",
		(double)own->warp_ns / NS_PER_SECOND + CANDIDATE_SECONDS, in_use);
	if (!cli->root.live)
		strbuf_add(&sb,
			" It is a rehearsal: the names are written to %s%s, and the "
			"clock of this host does not change.",
			own->tree, CLOCKSOURCE_CURRENT);
	wrap_text(stderr, 0, 0, sb.text);
	if (!cli->root.live)
		return;
	sb = (struct strbuf){.used = 0};
	ntp_state_read(&state);
	compare_describe_ntp(&state, ntp, sizeof(ntp));
	strbuf_add(&sb,
		"Each of the %zu switches stops all CPUs for a moment and clears the kernel's NTP "
		"state (now: %s): the clock counts as unsynchronized until the time daemon has "
		"adjusted it again. On a slower clocksource all programs that read the clock run "
		"slower.",
		2 * own->count, ntp);
	if (own->with_guests)
		strbuf_add(&sb, " KVM guests that use kvm-clock lose vDSO support " REGAINED ".");
	wrap_text(stderr, 0, 0, sb.text);
}

/* ---- whether it may run ---- */

/* One line to be pasted; nothing is printed after it. */
static void print_command(const struct clocksource_switch *clock, const char *name)
{
	fprintf(stderr, "echo %s > %s%s\n", name, clock->tree, CLOCKSOURCE_CURRENT);
}

/* Reasons that begin with a path name a file of the tree. */
static const char *tree_of(const struct compare *own, const struct fact *why)
{
	return *why->reason == '/' ? own->tree : "";
}

static void report_closed(const struct cli *cli, enum switch_opened opened, const struct fact *why)
{
	const struct compare *own = cli->own;
	struct text_fact container = {0};

	if (opened == SWITCH_CLOSED)
		container_collect(&cli->root, &container);
	if (opened == SWITCH_BUSY)
		cli_error("another vdsocheck compare is running on this host");
	else if (opened == SWITCH_CLOSED && cli->root.live && geteuid() != 0)
		cli_error("cannot change the clocksource: this requires root");
	else if (fact_is_known(&container.fact))
		cli_error("cannot change the clocksource in this container (%s): %s%s",
			container.value, tree_of(own, why), why->reason);
	else
		cli_error("cannot change the clocksource: %s%s", tree_of(own, why), why->reason);
}

/* False after an error message: a switch would do harm, or an earlier run left its own undone. */
static bool may_switch(const struct root *root, const struct compare *own)
{
	const struct clocksource_switch *clock = &own->clock;
	struct ntp_state ntp;
	char which[FACT_REASON_SIZE];

	if (*clock->interrupted) {
		cli_error("an earlier compare was killed: the clocksource was %s before it, and "
			  "is %s now. Restore it first, as root, or remove %s%s/%s to keep %s:",
			clock->interrupted, clock->original, own->tree, SWITCH_FOLDER,
			SWITCH_RECORD, clock->original);
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
	if (own->with_guests || !guests_running(root, which, sizeof(which)))
		return true;
	cli_error(
		"virtual machines are running on this host (%s). A switch away from the TSC takes "
		"vDSO support from their kvm-clock " REGAINED "; use --with-guests to proceed "
		"anyway",
		which);
	return false;
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
		cli_error("the clocksource could not be restored: %s%s. Run as root:",
			*why->reason == '/' ? clock->tree : "", why->reason);
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
	static volatile bool stop;
	struct call_table calls;
	struct run_setup setup = {.candidate = {.calls = &calls, .warp_ns = own->warp_ns},
		.count = own->count,
		.names = (const char(*)[CLOCKSOURCE_NAME_SIZE])own->names,
		.progress = progress_show,
		.orphaned = report_as_orphan,
		.stop = &stop};
	struct vdso_evidence *vdso = &own->host.vdso;
	struct vdso_image image = {0};
	struct root here;

	/* The calls are this process's, and the timestamp is this host's, whatever the tree. */
	if (root_open(&here, "/", &vdso->fact)) {
		timestamp_collect(&here, &own->host.timestamp, &cli->deadline);
		vdso_collect(&here, vdso, &image);
		root_close(&here);
	}
	call_table_make(vdso, &image, &calls, &cli->deadline);
	call_table_keep_deciding(&calls);
	work_begin(cli, "trying the clocksources", &stop);
	run_all(&own->clock, &setup, &own->result);
	work_end();
}

/* ---- what is printed ---- */

static const struct format formats[] = {
	{.name = "text", .write = compare_text},
	{.name = "json", .write = compare_json},
	{0},
};

/* Prints the measurements, however the run ended. */
static int print_report(struct cli *cli, struct compare *own)
{
	const struct text_fact *hypervisor = &own->host.host.hypervisor;
	struct ranking ranking;
	struct compare_report report = {.result = &own->result,
		.ranking = &ranking,
		.timestamp = &own->host.timestamp,
		.original = own->clock.original,
		.tree = own->tree,
		.hypervisor = fact_is_known(&hypervisor->fact) ? hypervisor->value : NULL,
		.warp_s = (double)own->warp_ns / NS_PER_SECOND};

	ranking_find(&own->result, &own->host, &ranking);
	if (own->result.end == RUN_INTERRUPTED)
		report.exit_status = interrupt_status(0);
	else if (ranking.verdict == RANKING_UNKNOWN)
		report.exit_status = EXIT_UNKNOWN;
	else
		report.exit_status = ranking.verdict == RANKING_CHANGE ? EXIT_CHANGE : EXIT_SUCCESS;
	compare_conclude(&report);
	cli_print(cli, &report);
	return report.exit_status;
}

/* Any user sees the plan; a user who may not switch then sees why the run ends. */
static int plan_and_run(struct cli *cli, enum switch_opened opened, const struct fact *why)
{
	struct compare *own = cli->own;
	const struct clocksource_evidence *offered = &own->host.clocksource;
	const char *in_use = opened == SWITCH_OPENED ? own->clock.original : offered->current;
	int status;

	if (opened != SWITCH_OPENED && !*in_use) {
		report_closed(cli, opened, why);
		return EXIT_UNKNOWN;
	}
	if (!fact_is_known(&offered->available_fact)) {
		cli_error("cannot list the available clocksources: %s%s",
			tree_of(own, &offered->available_fact), offered->available_fact.reason);
		return EXIT_UNKNOWN;
	}
	if (!choose_candidates(own, in_use))
		return EXIT_TROUBLE;
	if (!own->count) {
		cli_error("%s is in use already; nothing to try", in_use);
		return EXIT_UNKNOWN;
	}
	if (!cli->quiet || !own->yes)
		announce(cli, in_use);
	if (opened != SWITCH_OPENED) {
		report_closed(cli, opened, why);
		return EXIT_UNKNOWN;
	}
	if (!may_switch(&cli->root, own) || (!own->yes && !cli_confirm()))
		return EXIT_UNKNOWN;
	/* The files are open: user ID 0 alone restores the clocksource and removes the record. */
	privileges_keep(cli->output ? PRIVILEGES_WRITE : PRIVILEGES_NONE);
	try_candidates(cli, own);
	if (own->result.end == RUN_NOT_BEGUN) {
		cli_error("%s%s; the clocksource was not changed", tree_of(own, &own->result.why),
			own->result.why.reason);
		return EXIT_UNKNOWN;
	}
	status = print_report(cli, own);
	run_release(&own->result);
	return status;
}

static int run(struct cli *cli)
{
	struct compare *own = cli->own;
	struct evidence *host = &own->host;
	size_t length = strlen(cli->sysroot);
	enum switch_opened opened;
	struct fact why = {0};
	int status;

	while (length > 0 && cli->sysroot[length - 1] == '/')
		length--;
	snprintf(own->tree, sizeof(own->tree), "%.*s", (int)length, cli->sysroot);
	if (!own->warp_ns)
		own->warp_ns = DEFAULT_NS;
	host->live = cli->root.live;
	clocksource_collect(&cli->root, &host->clocksource);
	host_collect(&cli->root, &host->host);
	kernel_log_collect(&cli->root, &host->kernel_log);
	opened = clocksource_switch_open(&own->clock, &cli->root, &why);
	own->clock.tree = own->tree;
	status = plan_and_run(cli, opened, &why);
	if (opened == SWITCH_OPENED)
		clocksource_switch_close(&own->clock);
	return status;
}

/* Runs after the output: the command that restores the clocksource is printed last. */
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
	return status;
}

static const struct option_row options[] = {
	{OPTION_ONLY, "only", "LIST", "try only these, beside the one in use: tsc,hpet"},
	{'d', "duration", "TIME",
		"look for warps for TIME on each: 1 (the default), 0.5, 500ms, 5m"},
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
		"errors. Prints its plan first and asks for confirmation; switching requires root. "
		"Each switch clears the kernel's NTP state and stops all CPUs for a moment. Ctrl-C "
		"ends it early, restores the clocksource and prints what was measured.",
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
