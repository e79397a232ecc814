/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/root.h"
#include "cli/duration.h"
#include "cli/emit.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "collect/moment.h"
#include "measure/call.h"
#include "measure/vdso.h"
#include "report.h"
#include "verdict.h"
#include "warp.h"

#define DEFAULT_NS 2000000000

static const char help[] =
	"Usage: vdsocheck warp [OPTION]...\n"
	"\n"
	"Reads the clocks on all CPUs at once and tells whether one ever says an\n"
	"earlier time than was already read on another CPU, whether the vDSO and the\n"
	"kernel agree, and how far apart the CPUs' counters are. Changes nothing, needs\n"
	"no privileges.\n"
	"\n"
	"  -d, --duration SECONDS look for so long (2; 0.5 is half a second)\n"
	"  -q, --quiet            print nothing: the exit status is the answer\n"
	"  -J, --json             print JSON, the same as --format json\n"
	"      --format FORMAT    print text (the default) or json\n"
	"  -o, --output FILE      write to FILE, whole or not at all\n"
	"      --color WHEN       colour the verdict: auto (the default), always, never\n"
	"  -h, --help             print this help\n"
	"  -V, --version          print the version\n"
	"\n"
	"Exit status: 0 no warp was seen, 1 there were warps, 2 it could not look (one\n"
	"CPU has none to be compared with), or bad usage, or failed output.\n";

static bool take_own(int id, const char *value, void *into)
{
	(void)id;
	return duration_take(value, into);
}

static bool parse(int argc, char **argv, struct options *options, int64_t *duration_ns)
{
	static const struct own_option rows[] = {DURATION_OPTION};
	const struct own_options own = {.command = "warp",
		.rows = rows,
		.count = sizeof(rows) / sizeof(rows[0]),
		.take = take_own,
		.into = duration_ns};

	return options_parse(argc, argv, options, &own) && page_accepts(options);
}

static void measure(const struct root *root, const struct options *options, int64_t duration_ns,
	struct warp_evidence *warp)
{
	static struct evidence names;
	static struct call calls[CALL_MAX][PATH_COUNT];
	struct progress progress = progress_start("reading the clocks on all CPUs", options->quiet);
	struct warp_setup setup = {.duration_ns = duration_ns,
		.clocks = WARP_ALL_CLOCKS,
		.progress = progress_show,
		.argument = &progress};

	vdso_collect(root, &names.vdso);
	call_list(&names, calls);
	warp_measure(&names, calls, &setup, warp);
	progress_end(&progress);
}

static bool write_text(const void *report, FILE *out)
{
	return warp_report_text(report, out);
}

static bool write_json(const void *report, FILE *out)
{
	return warp_report_json(report, out);
}

static int report(const struct options *options, const struct moment_evidence *moment,
	const struct warp_evidence *warp)
{
	static const struct page page = {write_text, write_json};
	struct warp_ruling ruling;
	struct warp_report report = {.warp = warp,
		.ruling = &ruling,
		.moment = moment,
		.color = emit_wants_color(options)};

	warp_ruling_find(warp, &ruling);
	if (!page_emit(&page, &report, options))
		return EXIT_TROUBLE;
	return warp_ruling_exit_status(ruling.verdict);
}

static int look(const struct options *options, int64_t duration_ns)
{
	static struct warp_evidence warp;
	struct moment_evidence moment;
	struct root root;
	struct fact why = {0};
	int status;

	if (!root_open(&root, options->sysroot, &why)) {
		options_complain("cannot open the tree: %s", why.reason);
		return EXIT_TROUBLE;
	}
	if (!root.live) {
		options_complain("--sysroot: the CPUs of a captured tree cannot be watched");
		root_close(&root);
		return EXIT_TROUBLE;
	}
	moment_collect(&root, &moment);
	measure(&root, options, duration_ns, &warp);
	root_close(&root);
	status = report(options, &moment, &warp);
	warp_release(&warp);
	return status;
}

int warp_run(int argc, char **argv)
{
	struct options options;
	int64_t duration_ns = DEFAULT_NS;
	int status;

	if (!parse(argc, argv, &options, &duration_ns))
		return EXIT_TROUBLE;
	if (emit_information(&options, help, &status))
		return status;
	return look(&options, duration_ns);
}
