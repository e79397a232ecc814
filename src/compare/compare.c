/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/root.h"
#include "cli/consent.h"
#include "cli/duration.h"
#include "cli/emit.h"
#include "cli/options.h"
#include "cli/page.h"
#include "collect/clocksource.h"
#include "collect/container.h"
#include "collect/hypervisor.h"
#include "collect/moment.h"
#include "measure/call.h"
#include "measure/vdso.h"
#include "ranking.h"
#include "report.h"
#include "run.h"
#include "selection.h"

#define DEFAULT_NS 1000000000
#define NS_PER_SECOND 1e9

static const char help[] =
	"Usage: vdsocheck compare [OPTION]...\n"
	"\n"
	"Switches this host to each clocksource it offers, in turn; proves whether the\n"
	"clock calls enter the kernel, times them, looks for time warps; and puts the\n"
	"clocksource back that was in use, however it ends. Needs root. Asks first.\n"
	"\n"
	"      --only NAME,...    try these clocksources only\n"
	"  -d, --duration SECONDS look for warps so long on each (1)\n"
	"  -y, --yes              do not ask; needed where there is no terminal\n"
	"  -q, --quiet            print nothing: the exit status is the answer\n"
	"  -J, --json             print JSON, the same as --format json\n"
	"      --format FORMAT    print text (the default) or json\n"
	"  -o, --output FILE      write to FILE, whole or not at all\n"
	"      --color WHEN       colour the verdict: auto (the default), always, never\n"
	"      --sysroot DIR      switch the clocksource file below DIR, for tests: what\n"
	"                         is measured is this host as it is\n"
	"  -h, --help             print this help\n"
	"  -V, --version          print the version\n"
	"\n"
	"Exit status: 0 all were tried and the clocksource is as it was, 2 it could not\n"
	"be done, or it ended early, or bad usage, or failed output. If the clocksource\n"
	"could not be put back, the last line printed is the command that does it.\n";

enum own_id { OPTION_ONLY = OWN_OPTION_FIRST };

struct wishes {
	const char *only; /* NULL: all */
	int64_t warp_ns;
	bool yes;
};

/* All that one run needs. */
struct session {
	const struct options *options;
	struct wishes wishes;
	struct root root;
	struct moment_evidence moment;
	struct clocksource_evidence offered;
	struct clock_switch clock;
	struct selection selection;
	struct comparison comparison;
};

/* ---- options ---- */

static bool take_own(int id, const char *value, void *into)
{
	struct wishes *wishes = into;

	switch (id) {
	case OPTION_ONLY:
		wishes->only = value;
		return true;
	case 'd':
		return duration_take(value, &wishes->warp_ns);
	default:
		wishes->yes = true;
		return true;
	}
}

static bool parse(int argc, char **argv, struct options *options, struct wishes *wishes)
{
	static const struct own_option rows[] = {
		{OPTION_ONLY, "only", true}, DURATION_OPTION, {'y', "yes", false}};
	const struct own_options own = {.command = "compare",
		.rows = rows,
		.count = sizeof(rows) / sizeof(rows[0]),
		.take = take_own,
		.into = wishes};

	return options_parse(argc, argv, options, &own) && page_accepts(options);
}

/* ---- whether we may ---- */

static void complain_of_closed(const struct root *root, const struct fact *why)
{
	struct text_fact container = {0};

	if (root->live && geteuid() != 0) {
		options_complain("cannot change the clocksource: only root may");
		return;
	}
	container_collect(root, &container);
	if (fact_is_known(&container.fact))
		options_complain("cannot change the clocksource: this is a container (%s), and %s",
			container.value, why->reason);
	else
		options_complain("cannot change the clocksource: %s", why->reason);
}

static bool take_hold(struct session *session)
{
	struct fact why = {0};

	switch (clock_switch_open(&session->clock, &session->root, &why)) {
	case CLOCK_SWITCH_FINE:
		return true;
	case CLOCK_SWITCH_BUSY:
		options_complain("another vdsocheck compare is running on this host");
		return false;
	case CLOCK_SWITCH_CLOSED:
		complain_of_closed(&session->root, &why);
		return false;
	default:
		options_complain("cannot change the clocksource: %s", why.reason);
		return false;
	}
}

static void announce(const struct session *session)
{
	if (session->options->quiet && session->wishes.yes)
		return;
	fprintf(stderr, "This switches the clocksource of this host from %s to",
		session->clock.original);
	for (size_t i = 0; i < session->selection.count; i++)
		fprintf(stderr, "%s %s", i ? "," : "", session->selection.names[i]);
	fprintf(stderr,
		",\nabout %.1f s each, and back to %s. On a slow one, programs that ask for the\n"
		"time are slower meanwhile.\n",
		(double)session->wishes.warp_ns / NS_PER_SECOND + 0.5, session->clock.original);
}

/* ---- doing it ---- */

/* How to put things right by hand. Nothing is printed after it. */
static void print_remedy(const struct clock_switch *clock, const struct fact *why)
{
	options_complain(
		"the clocksource could not be put back: %s. Do it by hand, as root:", why->reason);
	fprintf(stderr, COMPARE_REPORT_COMMAND "\n", clock->original);
}

/* In the guardian, when whoever started it is gone. */
static void tell_as_orphan(const struct clock_switch *clock, const struct fact *restored)
{
	if (fact_is_known(restored))
		options_complain("compare was killed; the clocksource is %s, as it was found",
			clock->original);
	else
		print_remedy(clock, restored);
}

static void show_progress(void *argument, size_t place, size_t count, const char *name)
{
	const struct session *session = argument;

	if (!session->options->quiet && isatty(STDERR_FILENO))
		fprintf(stderr, "\r%zu of %zu: %s\033[K", place + 1, count, name);
}

static void end_progress(const struct session *session)
{
	if (!session->options->quiet && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* This process's own, whatever tree the clocksource is switched in. */
static void collect_own(struct moment_evidence *moment, struct vdso_evidence *vdso)
{
	struct root here;

	if (!root_open(&here, "/", &vdso->fact))
		return;
	moment_collect(&here, moment);
	vdso_collect(&here, vdso);
	root_close(&here);
}

static void compare(struct session *session)
{
	static struct evidence names;
	static struct call calls[CALL_MAX][PATH_COUNT];
	struct comparison_setup setup = {.trial = {.names = &names,
						 .calls = (const struct call(*)[PATH_COUNT])calls,
						 .warp_ns = session->wishes.warp_ns},
		.count = session->selection.count,
		.names = (const char(*)[CLOCKSOURCE_NAME_SIZE])session->selection.names,
		.progress = show_progress,
		.argument = session,
		.orphaned = tell_as_orphan};

	collect_own(&session->moment, &names.vdso);
	call_list(&names, calls);
	comparison_run(&session->clock, &setup, &session->comparison);
	end_progress(session);
}

/* ---- telling it ---- */

static bool write_text(const void *report, FILE *out)
{
	return compare_report_text(report, out);
}

static bool write_json(const void *report, FILE *out)
{
	return compare_report_json(report, out);
}

static bool report(const struct session *session, int status)
{
	static const struct page page = {write_text, write_json};
	struct text_fact hypervisor = {0};
	struct choice choice;
	struct compare_report report = {.comparison = &session->comparison,
		.choice = &choice,
		.moment = &session->moment,
		.original = session->clock.original,
		.exit_status = status,
		.color = emit_wants_color(session->options)};

	hypervisor_collect(&session->root, &hypervisor);
	if (fact_is_known(&hypervisor.fact))
		report.hypervisor = hypervisor.value;
	choice_find(&session->comparison, session->clock.original, &choice);
	return page_emit(&page, &report, session->options);
}

/* Whoever waits for us is to see that a signal ended us; if it does not, we end all the same. */
static int end_by_signal(const struct session *session)
{
	int signal_number = session->comparison.signal;

	options_complain(
		"interrupted; the clocksource is %s, as it was found", session->clock.original);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
	return EXIT_TROUBLE;
}

static int conclude(const struct session *session)
{
	const struct comparison *comparison = &session->comparison;
	bool restored = fact_is_known(&comparison->restored);
	bool whole = comparison->end == COMPARISON_WHOLE;
	int status = whole && restored ? EXIT_SUCCESS : EXIT_TROUBLE;

	if (whole && !report(session, status))
		status = EXIT_TROUBLE;
	if (!restored) {
		print_remedy(&session->clock, &comparison->restored);
		return EXIT_TROUBLE;
	}
	if (comparison->end == COMPARISON_INTERRUPTED)
		return end_by_signal(session);
	if (!whole)
		options_complain("%s; the clocksource is %s, as it was found",
			comparison->why.reason, session->clock.original);
	return status;
}

static int compare_held(struct session *session)
{
	int status;

	announce(session);
	if (!session->wishes.yes && !consent_ask())
		return EXIT_TROUBLE;
	compare(session);
	status = conclude(session);
	comparison_release(&session->comparison);
	return status;
}

static int compare_tree(struct session *session)
{
	int status;

	clocksource_collect(&session->root, &session->offered);
	if (!selection_make(&session->selection, &session->offered, session->wishes.only) ||
		!take_hold(session))
		return EXIT_TROUBLE;
	status = compare_held(session);
	clock_switch_close(&session->clock);
	return status;
}

int compare_run(int argc, char **argv)
{
	static struct session session;
	struct options options;
	struct fact why = {0};
	int status;

	session.options = &options;
	session.wishes.warp_ns = DEFAULT_NS;
	if (!parse(argc, argv, &options, &session.wishes))
		return EXIT_TROUBLE;
	if (emit_information(&options, help, &status))
		return status;
	if (!root_open(&session.root, options.sysroot, &why)) {
		options_complain("cannot open the tree: %s", why.reason);
		return EXIT_TROUBLE;
	}
	status = compare_tree(&session);
	root_close(&session.root);
	return status;
}
