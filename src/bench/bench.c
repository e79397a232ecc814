/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "base/root.h"
#include "cli/emit.h"
#include "cli/interrupt.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "collect/clocksource.h"
#include "collect/host.h"
#include "collect/moment.h"
#include "measure/vdso.h"
#include "options.h"
#include "plan.h"
#include "report.h"

static const char help[] =
	"Usage: vdsocheck bench [OPTION]...\n"
	"\n"
	"Measures what calls for the time cost by the vDSO, by libc and by system call,\n"
	"and what that price is made of. Changes nothing. Ctrl-C prints what was measured\n"
	"so far.\n"
	"\n"
	"      --call NAME        only this call (may be given again): gettimeofday,\n"
	"                         clock_gettime, clock_getres, time, getcpu\n"
	"      --clock ID         only this clock (may be given again): CLOCK_MONOTONIC,\n"
	"                         monotonic and 1 are the same\n"
	"      --path LIST        only these ways, of vdso,libc,syscall\n"
	"      --time TIME        measure for so long: 500ms, 2s, 5m (1s if not given)\n"
	"      --cpu N            on this CPU, or on all of them in turn: all\n"
	"      --histogram        below the table, draw how long single calls take\n"
	"      --calls LIST       instead: make so many calls in one go, each count of a\n"
	"                         list such as 5M,50M, and tell real, user, system time\n"
	"      --threads N        instead: the same call on one CPU and on many at once\n"
	"  -q, --quiet            print nothing\n"
	"  -J, --json             print JSON, the same as --format json\n"
	"      --format FORMAT    print text (the default) or json\n"
	"  -o, --output FILE      write to FILE, whole or not at all\n"
	"  -h, --help             print this help\n"
	"  -V, --version          print the version\n"
	"\n"
	"Exit status: 0 it was measured, 2 it was not, or bad usage, or failed output.\n";

static struct progress progress;

static void show_progress(const struct bench *bench)
{
	progress_show(&progress, bench->total ? (double)bench->done / (double)bench->total : 0);
}

static void measure(struct bench *bench, const struct bench_plan *plan, bool quiet)
{
	progress = progress_start("measuring", quiet);
	bench_measure(bench, plan, progress.shown ? show_progress : NULL);
	progress_end(&progress);
}

static int report(
	const struct options *options, const struct bench_plan *plan, const struct bench *bench)
{
	static const struct page page = {bench_report_text, bench_report_json};
	struct bench_report report = {.evidence = plan->evidence,
		.bench = bench,
		.plan = plan,
		.noise = noise_find(bench),
		.decomposition = decomposition_find(bench)};

	if (!fact_is_known(&bench->fact) && !bench->stopped) {
		options_complain("cannot measure: %s", bench->fact.reason);
		return EXIT_TROUBLE;
	}
	if (!page_emit(&page, &report, options) || !bench_has_found(bench))
		return EXIT_TROUBLE;
	return 0;
}

static void collect(const struct root *root, struct evidence *evidence)
{
	evidence->live = true;
	moment_collect(root, &evidence->moment);
	clocksource_collect(root, &evidence->clocksource);
	vdso_collect(root, &evidence->vdso);
	host_collect(root, &evidence->host);
}

static int bench_host(
	const struct options *options, struct bench_request *request, const struct root *root)
{
	static struct evidence evidence;
	static struct call calls[CALL_MAX][PATH_COUNT];
	struct bench_plan plan;
	struct fact why = {0};
	struct bench *bench;
	int status;

	collect(root, &evidence);
	call_list(&evidence, calls);
	if (!bench_plan_make(request, &evidence, calls, &plan))
		return EXIT_TROUBLE;
	bench = bench_new(&plan, &why);
	if (!bench) {
		options_complain("cannot measure: %s", why.reason);
		return EXIT_TROUBLE;
	}
	interrupt_watch(&bench->stop);
	measure(bench, &plan, options->quiet);
	status = report(options, &plan, bench);
	interrupt_ignore();
	bench_free(bench);
	return status;
}

static int bench_tree(const struct options *options, struct bench_request *request)
{
	struct root root;
	struct fact why = {0};
	int status = EXIT_TROUBLE;

	if (!root_open(&root, options->sysroot, &why)) {
		options_complain("cannot open the tree: %s", why.reason);
		return EXIT_TROUBLE;
	}
	if (root.live)
		status = bench_host(options, request, &root);
	else
		options_complain("--sysroot: a captured tree cannot be measured");
	root_close(&root);
	return status;
}

int bench_run(int argc, char **argv)
{
	static struct bench_request request;
	struct options options;
	int status;

	if (!bench_options_parse(argc, argv, &options, &request))
		return EXIT_TROUBLE;
	if (emit_information(&options, help, &status))
		return status;
	if (!page_accepts(&options))
		return EXIT_TROUBLE;
	return bench_tree(&options, &request);
}
