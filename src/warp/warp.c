/* SPDX-License-Identifier: MIT */
/* The command warp: its row, and one run of it. */
#include "commands.h"

#include "base/child.h"
#include "collect/moment.h"
#include "measure/call.h"
#include "measure/vdso.h"
#include "report.h"
#include "verdict.h"
#include "warp.h"

#define DEFAULT_NS 2000000000

struct request {
	int64_t duration_ns; /* 0: not given */
};

static bool take(struct cli *cli, int id, const char *value)
{
	struct request *request = cli->own;

	(void)id;
	return take_duration("--duration", value, &request->duration_ns);
}

static void measure(struct cli *cli, volatile bool *stop, struct warp_evidence *warp)
{
	struct vdso_evidence vdso = {0};
	struct vdso_image image;
	struct call_table calls;
	const struct request *request = cli->own;
	struct warp_setup setup = {
		.duration_ns = request->duration_ns ? request->duration_ns : DEFAULT_NS,
		.clocks = WARP_ALL_CLOCKS,
		.stop = stop,
		.progress = progress_show};

	vdso_collect(&cli->root, &vdso, &image);
	call_table_make(&vdso, &image, &calls);
	interrupt_watch(stop);
	progress_start(cli, "reading the clocks on all CPUs");
	warp_measure(&calls, &setup, warp);
	progress_end();
	interrupt_end();
}

static int run(struct cli *cli)
{
	static struct warp_evidence warp;
	struct warp_ruling ruling;
	struct moment_evidence moment = {0};
	struct warp_report report = {.warp = &warp, .ruling = &ruling, .moment = &moment};
	struct fact why = {0};
	volatile bool *stop = child_share(sizeof(*stop), &why);

	if (!stop) {
		cli_complain("cannot measure: %s", why.reason);
		return EXIT_TROUBLE;
	}
	moment_collect(&cli->root, &moment);
	measure(cli, stop, &warp);
	child_unshare((void *)(uintptr_t)stop, sizeof(*stop));
	warp_ruling_find(&warp, &ruling);
	report.exit_status = interrupt_status(warp_ruling_exit_status(ruling.verdict));
	cli_print(cli, &report);
	warp_release(&warp);
	return report.exit_status;
}

static const struct option_row options[] = {
	{'d', "duration", "TIME", "test for TIME: 2 (the default), 0.5, 500ms, 5m"},
	{0},
};

static const struct format formats[] = {
	{"text", NULL, DEPTH_ALL, warp_report_text},
	{"json", NULL, DEPTH_ALL, warp_report_json},
	{0},
};

const struct command warp_command = {
	.name = "warp",
	.summary = "test whether clocks run backwards between CPUs",
	.help = "Reads the clocks on all CPUs at the same time and reports whether any clock ever "
		"returns an earlier time than one already read on another CPU, whether the vDSO "
		"and the kernel agree, and how far apart the CPUs' counters are. Keeps every "
		"allowed CPU busy meanwhile; needs no privileges. Ctrl-C ends the test early and prints its result.",
	.status = "0 no clock ran backwards, 1 a clock did, 2 undetermined, 3 usage error or failed output, 130 interrupted.",
	.options = options,
	.formats = formats,
	.size = sizeof(struct request),
	.take = take,
	.run = run,
};
