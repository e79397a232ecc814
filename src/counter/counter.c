/* SPDX-License-Identifier: MIT */
/*
 * The command counter: its row and options, and what it gathers. The counter is compared between
 * all CPUs for the time asked for, which measures its rate, too; the rest takes some milliseconds.
 */
#include <sys/prctl.h>
#include <time.h>

#include "base/child.h"
#include "base/privileges.h"
#include "base/time.h"
#include "commands.h"
#include "measure.h"
#include "measure/call.h"
#include "measure/timebase.h"
#include "measure/vdso.h"
#include "model.h"

/* The limit of everything but the comparison of the CPUs. */
#define GATHER_NS 4000000000

/* A counter that is switched off raises a signal, and a page may be missing: in a child. */
static void read_counter(void *argument)
{
	struct counter_evidence *evidence = argument;
	struct evidence *host = &evidence->host;

	vvar_find(&evidence->vdso, host->clocksource.current, &host->vclock);
	vvar_load_rate(&evidence->vdso, &host->vclock, &evidence->page);
	counter_probe(&evidence->readable);
	if (fact_is_known(&evidence->readable) && counter_register_hz())
		fact_set_number(&evidence->register_hz, counter_register_hz());
}

/* Steps of jiffies are what clock_getres() returns while the tick is periodic. */
static double find_raw_step(void)
{
	int64_t step_ns = kernel_clock_step_ns(CLOCK_MONOTONIC_RAW);

	return step_ns > 1 ? (double)step_ns : 0;
}

static bool measure(struct cli *cli)
{
	struct counter *counter = cli->data;
	struct counter_evidence *evidence = &counter->evidence;
	struct evidence *host = &evidence->host;
	struct deadline deadline = deadline_after(GATHER_NS);
	struct call_table calls = {.count = 0};
	struct fact why = {0};

	host->live = true;
	clocksource_collect(&cli->root, &host->clocksource);
	vdso_collect(&cli->root, &host->vdso, &evidence->vdso);
	host_collect(&cli->root, &host->host);
	counter_claims_collect(&cli->root, &evidence->claims);
	evidence->tdx = evidence->claims.tdx || root_exists(&cli->root, "/dev/tdx_guest");
	evidence->sev_snp = root_exists(&cli->root, "/dev/sev-guest");
	kernel_log_collect(&cli->root, &host->kernel_log);
	privileges_keep(PRIVILEGES_WRITE);
	fact_set(&evidence->register_hz.fact, FACT_ABSENT, "no register with the rate");
	if (!child_probe(read_counter, evidence, sizeof(*evidence), &deadline, &why)) {
		vvar_set_unread(&host->vclock, &why);
		evidence->page.fact = why;
		fact_set(&evidence->readable, FACT_UNREAD, "%s", why.reason);
	}
	timing_measure(&calls, TIMING_BRIEF, &host->timing, host->calls, &deadline);
	evidence->raw_step_ns = find_raw_step();
	if (!warp_measure_shown(cli, "comparing the counters of all CPUs", &calls,
		    WARP_CLOCK(WARP_COUNTER), &evidence->warp))
		return false;
	counter_judge(counter);
	report_check_clocksource(cli, &host->clocksource);
	return true;
}

static void release(void *data)
{
	warp_release(&((struct counter *)data)->evidence.warp);
}

static const struct option_row options[] = {
	{'d', "duration", "TIME", "compare the CPUs for TIME: 1 (the default), 0.5, 500ms, 5m"},
	{0},
};

static const struct format formats[] = {
	{.name = "text", .write = report_text},
	{.name = "json", .write = report_json},
	{.name = "prometheus", .write = counter_prometheus},
	{0},
};

static const struct report_type type = {.schema = "vdsocheck-counter/1",
	.fields = counter_fields,
	.indent = 13,
	.measure = measure,
	.text = counter_text,
	.release = release};

const struct command counter_command = {
	.name = "counter",
	.summary = "check whether programs may read the TSC themselves",
	.help = "Checks whether programs may read the CPU's counter (the TSC, cntvct_el0) "
		"themselves on this host, and at which rate it counts: by the kernel, by CPUID and "
		"by measurement. Keeps all allowed CPUs busy while it compares them; needs no "
		"privileges, but root may see more of the kernel's log. vdsocheck-counter(1) lists "
		"programs that read it, and when.",
	.status = "3 usage error or failed output, 130 interrupted.",
	.answers = counter_answers,
	.options = options,
	.formats = formats,
	.report = &type,
	.size = sizeof(struct counter),
	.run = report_run,
	.duration_ns = NS_PER_SECOND,
};
