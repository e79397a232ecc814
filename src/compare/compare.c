/* SPDX-License-Identifier: MIT */
/*
 * vdsocheck compare: tries the clocksources that the kernel offers and restores the one in use.
 * The one command that changes the host, so most of what is here is about when it must not run
 * and what it says before and afterwards.
 */
#include "commands.h"

#include <signal.h>
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

/* What a candidate takes beyond the look for warps, in seconds. */
#define CANDIDATE_SECONDS 0.5

#define EXIT_CHANGE 1
#define EXIT_UNKNOWN 2
#define EXIT_SIGNAL 128

/* Proof, timing and the copy of the vDSO take some 50 ms on a quiet machine. */
#define DRY_RUN_NS 5000000000

#define ONLY_MAX 32

enum { OPTION_ONLY = OPTION_OWN, OPTION_WITH_GUESTS, OPTION_DRY_RUN };

struct request {
	size_t only_count; /* 0: all */
	const char *only[ONLY_MAX];
	int64_t warp_ns; /* 0: not given */
	bool with_guests;
	bool dry_run;
	bool yes;
};

/* All that one run needs; the guardian and finish() look at it too. */
static struct session {
	const struct request *request;
	struct root root;
	char path[CURRENT_PATH_SIZE]; /* of current_clocksource, for messages */
	int64_t warp_ns;
	struct evidence host; /* of the tree: for advice */
	struct clocksource_switch clock;
	size_t count; /* of candidates, without the one in use */
	char names[CLOCKSOURCE_MAX][CLOCKSOURCE_NAME_SIZE];
	struct run_result result;
} session;

/* ---- options ---- */

static bool take(struct cli *cli, int id, const char *value)
{
	struct request *request = cli->own;

	switch (id) {
	case OPTION_ONLY:
		if (request->only_count == ONLY_MAX) {
			cli_complain_usage("--only: at most %d lists are accepted", ONLY_MAX);
			return false;
		}
		request->only[request->only_count++] = value;
		return true;
	case OPTION_WITH_GUESTS:
		return request->with_guests = true;
	case OPTION_DRY_RUN:
		return request->dry_run = true;
	case 'd':
		return take_duration("--duration", value, &request->warp_ns);
	default:
		return request->yes = true;
	}
}

/* "/" stands for no prefix, and a tree's trailing slashes are left out. */
static void find_path(const char *sysroot)
{
	size_t length = strlen(sysroot);

	while (length > 0 && sysroot[length - 1] == '/')
		length--;
	snprintf(session.path, sizeof(session.path), "%.*s%s", (int)length, sysroot,
		CLOCKSOURCE_CURRENT);
}

/* ---- the candidates ---- */

static bool is_chosen(struct span name)
{
	for (size_t i = 0; i < session.count; i++) {
		if (text_equals(name, session.names[i]))
			return true;
	}
	return text_equals(name, session.clock.original);
}

static bool choose(struct span name)
{
	const struct clocksource_evidence *offered = &session.host.clocksource;

	for (size_t i = 0; i < offered->available_count; i++) {
		if (!text_equals(name, offered->available[i]))
			continue;
		if (!is_chosen(name))
			text_copy_span(session.names[session.count++], CLOCKSOURCE_NAME_SIZE, name);
		return true;
	}
	cli_complain_usage("--only: this host does not offer '%.*s'", (int)name.length, name.at);
	return false;
}

static bool choose_list(const char *list)
{
	struct span rest = text_span(list), word;

	if (!*list) {
		cli_complain_usage("--only: no name given");
		return false;
	}
	while (parse_next(&rest, &word)) {
		if (!choose(word))
			return false;
	}
	return true;
}

/* The exit status of what is wrong; EXIT_SUCCESS: nothing. */
static int choose_candidates(void)
{
	const struct clocksource_evidence *offered = &session.host.clocksource;
	const struct request *request = session.request;

	if (!fact_is_known(&offered->available_fact)) {
		cli_complain("cannot list the available clocksources: %s",
			offered->available_fact.reason);
		return EXIT_UNKNOWN;
	}
	for (size_t i = 0; i < request->only_count; i++) {
		if (!choose_list(request->only[i]))
			return EXIT_TROUBLE;
	}
	for (size_t i = 0; request->only_count == 0 && i < offered->available_count; i++)
		choose(text_span(offered->available[i]));
	return EXIT_SUCCESS;
}

/* ---- whether it may run ---- */

static void complain_of_closed(const struct fact *why)
{
	struct text_fact container = {0};

	if (session.root.live && geteuid() != 0) {
		cli_complain("cannot change the clocksource: this requires root");
		return;
	}
	container_collect(&session.root, &container);
	if (fact_is_known(&container.fact))
		cli_complain("cannot change the clocksource in this container (%s): %s",
			container.value, why->reason);
	else
		cli_complain("cannot change the clocksource: %s", why->reason);
}

static bool open_switch(void)
{
	struct fact why = {0};

	switch (clocksource_switch_open(&session.clock, &session.root, &why)) {
	case SWITCH_OPENED:
		return true;
	case SWITCH_BUSY:
		cli_complain("another vdsocheck compare is running on this host");
		return false;
	case SWITCH_CLOSED:
		complain_of_closed(&why);
		return false;
	default:
		cli_complain("cannot change the clocksource: %s", why.reason);
		return false;
	}
}

/* One line to be pasted; nothing is printed after it. */
static void print_command(const char *name)
{
	fprintf(stderr, "echo %s > %s\n", name, session.path);
}

static bool is_undisturbed(void)
{
	const struct clocksource_switch *clock = &session.clock;

	if (!*clock->interrupted)
		return true;
	cli_complain("an earlier compare was killed: the clocksource was %s before it, and "
		     "is %s now. Restore it first, as root, or remove %s/%s to keep %s:",
		clock->interrupted, clock->original, SWITCH_RECORD_FOLDER, SWITCH_RECORD,
		clock->original);
	print_command(clock->interrupted);
	return false;
}

static bool has_no_leap_second(void)
{
	struct ntp_state state;

	ntp_state_read(&state);
	if (!fact_is_known(&state.fact) || !state.leap_pending)
		return true;
	cli_complain("a leap second is pending, and a switch of the clocksource would drop "
		     "it; try again when it is over");
	return false;
}

static bool harms_no_guest(void)
{
	struct fact none = {0};

	if (session.request->with_guests)
		return true;
	guests_look(&session.root, &none);
	if (fact_is_known(&none))
		return true;
	cli_complain("virtual machines run on this host (%s). A switch away from the TSC "
		     "takes the vDSO from their kvm-clock until they are restarted; use "
		     "--with-guests to run all the same",
		none.reason);
	return false;
}

/* ---- before it runs ---- */

static void announce(const struct cli *cli)
{
	struct phrase phrase = {.used = 0};
	struct ntp_state state;
	char ntp[FACT_REASON_SIZE + 64];

	if (cli->quiet && session.request->yes)
		return;
	phrase_add(&phrase, "This tries the clocksources %s", session.clock.original);
	for (size_t i = 0; i < session.count; i++)
		phrase_add(
			&phrase, "%s%s", i + 1 < session.count ? ", " : " and ", session.names[i]);
	phrase_add(&phrase, " (about %.1f s each) and then restores %s.",
		(double)session.warp_ns / NS_PER_SECOND + CANDIDATE_SECONDS,
		session.clock.original);
	wrap_text(stderr, 0, 0, phrase.text);
	phrase = (struct phrase){.used = 0};
	ntp_state_read(&state);
	compare_describe_ntp(&state, ntp, sizeof(ntp));
	phrase_add(&phrase,
		"Each of the %zu switches stops all CPUs for a moment and clears the kernel's NTP "
		"state (now: %s): the clock counts as unsynchronized until the time daemon has "
		"adjusted it again. Programs that read the clock may run slower meanwhile.",
		2 * session.count, ntp);
	if (session.request->with_guests)
		phrase_add(&phrase,
			" KVM guests that use kvm-clock lose the vDSO until they are restarted.");
	wrap_text(stderr, 0, 0, phrase.text);
}

/* ---- the run ---- */

/* How to restore it by hand. Nothing is printed after it. */
static void print_remedy(
	const struct clocksource_switch *clock, enum switch_result result, const struct fact *why)
{
	if (result == SWITCH_FOREIGN)
		cli_complain("%s, so it was not restored. To go back to %s, run as root:",
			why->reason, clock->original);
	else
		cli_complain(
			"the clocksource could not be restored: %s. Run as root:", why->reason);
	print_command(clock->original);
}

/* In the guardian, when the process that started it is gone. */
static void report_as_orphan(
	const struct clocksource_switch *clock, enum switch_result result, const struct fact *why)
{
	if (result == SWITCH_DONE)
		cli_complain(
			"compare was killed; the clocksource was restored to %s", clock->original);
	else
		print_remedy(clock, result, why);
}

/*
 * This process's own, whatever tree the clocksource is switched in. The calls that decide are
 * all that is shown, so only they are made.
 */
static void collect_own(struct moment_evidence *moment, struct call_table *calls)
{
	struct vdso_evidence vdso = {0};
	struct vdso_image image = {0};
	struct root here;

	if (root_open(&here, "/", &vdso.fact)) {
		moment_collect(&here, moment);
		vdso_collect(&here, &vdso, &image);
		root_close(&here);
	}
	call_table_make(&vdso, &image, calls);
	call_table_keep_deciding(calls);
}

static void compare(const struct cli *cli)
{
	struct call_table calls;
	struct run_setup setup = {.candidate = {.calls = &calls, .warp_ns = session.warp_ns},
		.count = session.count,
		.names = (const char(*)[CLOCKSOURCE_NAME_SIZE])session.names,
		.progress = progress_show,
		.orphaned = report_as_orphan};

	collect_own(&session.host.moment, &calls);
	progress_start(cli, "trying the clocksources");
	run_all(&session.clock, &setup, &session.result);
	progress_end();
}

/* ---- afterwards ---- */

static int find_status(enum ranking_verdict verdict)
{
	if (session.result.end == RUN_INTERRUPTED)
		return EXIT_SIGNAL + session.result.signal;
	if (verdict == RANKING_UNKNOWN)
		return EXIT_UNKNOWN;
	return verdict == RANKING_CHANGE ? EXIT_CHANGE : EXIT_SUCCESS;
}

/* What was measured is printed however the run ended. */
static int report(struct cli *cli)
{
	const struct text_fact *hypervisor = &session.host.host.hypervisor;
	struct ranking ranking;
	struct compare_report report = {.result = &session.result,
		.ranking = &ranking,
		.moment = &session.host.moment,
		.original = session.clock.original,
		.path = session.path,
		.hypervisor = fact_is_known(&hypervisor->fact) ? hypervisor->value : NULL,
		.warp_ns = session.warp_ns};

	ranking_find(&session.result, &session.host, &ranking);
	report.exit_status = find_status(ranking.verdict);
	cli_print(cli, &report);
	return report.exit_status;
}

static int compare_with_switch(struct cli *cli)
{
	int status = choose_candidates();

	if (status != EXIT_SUCCESS)
		return status;
	if (!is_undisturbed() || !has_no_leap_second() || !harms_no_guest())
		return EXIT_UNKNOWN;
	announce(cli);
	if (!session.request->yes && !cli_confirm())
		return EXIT_UNKNOWN;
	compare(cli);
	if (session.result.end == RUN_NOT_BEGUN) {
		cli_complain("%s; the clocksource was not changed", session.result.why.reason);
		return EXIT_UNKNOWN;
	}
	status = report(cli);
	run_release(&session.result);
	return status;
}

/* What can be told without a switch; the tree is read, and this process's own clock measured. */
static int list(struct cli *cli)
{
	const struct fact *available = &session.host.clocksource.available_fact;
	const struct deadline deadline = deadline_after(DRY_RUN_NS);
	struct dry_run dry;
	struct compare_report report = {.dry = &dry};

	if (!fact_is_known(available)) {
		cli_complain("cannot list the available clocksources: %s", available->reason);
		return EXIT_UNKNOWN;
	}
	moment_collect(&session.root, &session.host.moment);
	privileges_limit(PRIVILEGES_NONE, PRIVILEGES_WRITE);
	dry_run_measure(&session.host, &deadline);
	dry_run_make(&session.host, &dry);
	cli_print(cli, &report);
	return EXIT_SUCCESS;
}

static int run(struct cli *cli)
{
	struct evidence *host = &session.host;
	int status;

	session.request = cli->own;
	session.root = cli->root;
	session.warp_ns = session.request->warp_ns ? session.request->warp_ns : DEFAULT_NS;
	find_path(cli->sysroot);
	host->live = session.root.live;
	clocksource_collect(&session.root, &host->clocksource);
	host_collect(&session.root, &host->host);
	kernel_log_collect(&session.root, &host->kernel_log);
	if (session.request->dry_run)
		return list(cli);
	if (!open_switch())
		return EXIT_UNKNOWN;
	status = compare_with_switch(cli);
	clocksource_switch_close(&session.clock);
	return status;
}

/* After the output: how to restore what could not be restored is the last that is said. */
static int finish(struct cli *cli, int status)
{
	const struct run_result *result = &session.result;

	(void)cli;
	if (result->end == RUN_NOT_BEGUN || !session.clock.root)
		return status;
	if (result->restored != SWITCH_DONE)
		print_remedy(&session.clock, result->restored, &result->restored_fact);
	else if (result->end != RUN_WHOLE)
		cli_complain("%s; the clocksource was restored to %s", result->why.reason,
			session.clock.original);
	if (result->end == RUN_INTERRUPTED && result->restored == SWITCH_DONE) {
		signal(result->signal, SIG_DFL);
		raise(result->signal);
	}
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
		"run although KVM guests run here: their kvm-clock loses the vDSO"},
	{'y', "yes", NULL, "do not ask; needed without a terminal"},
	{OPTION_SYSROOT, "sysroot", "DIR",
		"rehearse: switch the file below DIR; the clock that is measured is this host's "
		"and stays the same"},
	{0},
};

static const struct format formats[] = {
	{"text", NULL, DEPTH_ALL, compare_text},
	{"json", NULL, DEPTH_ALL, compare_json},
	{0},
};

const struct command compare_command = {
	.name = "compare",
	.summary = "try each clocksource and restore the one in use (root)",
	.help = "Switches to each available clocksource in turn, checks whether the vDSO serves it, "
		"times it, looks for time warps, and restores the clocksource in use, even on "
		"errors. Requires root; asks for confirmation. Each switch clears the kernel's "
		"NTP state and stops all CPUs for a moment. Ctrl-C ends it early, restores the "
		"clocksource and prints what was measured.",
	.status = "0 keep the clocksource in use, 1 another one is recommended, 2 no "
		  "recommendation could be made or it refused to run, 3 usage error or failed "
		  "output, 130 interrupted. If the clocksource could not be restored, the last "
		  "line printed is the command that does it.",
	.options = options,
	.formats = formats,
	.size = sizeof(struct request),
	.take = take,
	.run = run,
	.finish = finish,
	.privileged = true,
};
