/* SPDX-License-Identifier: MIT */
/* Has the row of the command trace, and runs it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/privileges.h"
#include "base/text.h"
#include "collect.h"
#include "commands.h"
#include "count.h"
#include "places.h"

static const struct {
	uint64_t shown;
	int64_t limit_ns;
} defaults[] = {
	[TARGET_PROGRAM] = {5, 0},
	[TARGET_PROCESS] = {5, 5 * NS_PER_SECOND},
	[TARGET_HOST] = {4, 5 * NS_PER_SECOND}, /* rows of three lists */
};

enum trace_option {
	OPTION_TOP = OPTION_OWN,
	OPTION_NO_SERVED,
	OPTION_BY,
	OPTION_AS_IF,
	OPTION_COUNT
};

struct trace_work {
	struct trace_report report;
	struct trace_plan plan;
	struct trace_run run;
	struct call_table calls; /* of the host */
	bool is_confirmed;       /* by an option */
};

static bool take_option(struct cli *cli, int id, const char *value)
{
	struct trace_work *work = cli->data;
	static const char *const as_if[] = {"fallback"}, *const by[] = {"process", "cgroup"};
	struct trace_request *request = &work->report.request;
	uint64_t pid;
	int place;

	switch (id) {
	case 'a':
		request->target = TARGET_HOST;
		return true;
	case OPTION_COUNT:
		return request->counts_exactly = true;
	case 'y':
		return work->is_confirmed = true;
	case OPTION_NO_SERVED:
		return request->leaves_untouched = true;
	case OPTION_AS_IF:
		request->as_if_fallback =
			take_name("--as-if: unknown value", text_span(value), as_if, 1) == 0;
		return request->as_if_fallback;
	case OPTION_TOP:
		return take_count("--top", text_span(value), "rows, such as 20", &request->shown);
	case OPTION_BY:
		place = take_name("--by: unknown value", text_span(value), by, ARRAY_SIZE(by));
		request->lists_processes = place == 0;
		request->lists_groups = place == 1;
		return place >= 0;
	case 'd':
		return take_duration("--duration", value, &request->limit_ns);
	default:
		if (!number_parse(text_span(value), &pid) || pid == 0 || pid > INT32_MAX)
			return cli_usage_error("--pid: '%s' is not a process ID", value);
		work->report.trace.program.pid = (pid_t)pid;
		return true;
	}
}

/* Costs and places are for a report, and not for the exit status. */
static bool is_shown(const struct cli *cli)
{
	return !cli->quiet || cli->output;
}

/* ---- the program ---- */

/* The functions below return false after an error message, with the exit status in the report. */
static bool refuse_program(struct trace_report *report, const char *name, int error)
{
	cli_error("cannot run %s: %s", name, strerror(error));
	report->report.exit_status =
		error == ENOENT || error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	return false;
}

static bool count_program(struct cli *cli)
{
	struct trace_work *work = cli->data;
	struct trace_report *report = &work->report;
	struct trace_run *run = &work->run;
	struct trace_evidence *trace = &report->trace;
	const char *name = cli->operands[0];
	struct fact why = {0};
	int error = trace_program_find(name, &trace->program);

	if (error)
		return refuse_program(report, name, error);
	trace_program_inspect(&trace->program);
	trace_host_prove(&cli->root, &trace->host, &work->calls);
	if (!trace_started(run, &error, &why))
		return cli_error("cannot run %s%s: %s", name,
			report->request.as_if_fallback ? " as if this host fell back" : "",
			why.reason);
	if (error)
		return refuse_program(report, name, error);
	privileges_keep(run->privileges);
	if (is_shown(cli))
		trace_host_time(trace, &work->calls);
	/* Shells report a signal so. */
	report->report.exit_status = WIFSIGNALED(run->status) ? EXIT_SIGNAL + WTERMSIG(run->status)
	                                                      : WEXITSTATUS(run->status);
	return true;
}

/* Says that the process is written to. */
static bool may_write(const struct cli *cli, const struct trace_evidence *trace, bool is_confirmed)
{
	if (!cli->quiet || !is_confirmed)
		fprintf(stderr,
			"This writes to process %d (%s): counters are mapped into its memory, and "
			"until counting ends, its pointers to vDSO functions point to them.\n",
			trace->program.pid, trace_file_name(trace->program.path));
	return is_confirmed || cli_confirm();
}

static bool count_running(struct cli *cli)
{
	struct trace_work *work = cli->data;
	struct trace_run *run = &work->run;
	struct trace_evidence *trace = &work->report.trace;
	const struct trace_request *request = trace->request;
	struct fact why = {0};
	bool is_counted;

	if (!proc_is_ours(&why))
		return cli_error("cannot count what runs already: %s", why.reason);
	if (request->target != TARGET_HOST && !process_is_there(trace->program.pid))
		return cli_error("process %d: %s", trace->program.pid, strerror(ESRCH));
	fact_set(&trace->served, FACT_ABSENT,
		"counted only for a program that trace starts, or with --count");
	if (request->target != TARGET_HOST) {
		/* `top -H` and `ps -L` show the IDs of threads. */
		trace->program.pid = (pid_t)status_number(
			trace->program.pid, "Tgid", (uint64_t)trace->program.pid);
		trace_program_inspect(&trace->program);
		places_open_root(&trace->call_places, trace->program.pid);
		places_open_root(&trace->places, trace->program.pid);
	}
	if (request->counts_exactly && !may_write(cli, trace, work->is_confirmed))
		return false;
	trace_host_prove(&cli->root, &trace->host, &work->calls);
	if (is_shown(cli))
		trace_host_time(trace, &work->calls);
	work_begin(cli, "counting", NULL);
	is_counted = trace_running(run);
	work_end();
	if (!is_counted && request->target == TARGET_HOST)
		return cli_error("cannot count on the whole host: %s", trace->counted.reason);
	if (!is_counted && request->counts_exactly)
		return cli_error("cannot count the calls of process %d into the vDSO: %s",
			trace->program.pid, trace->served.reason);
	if (!is_counted)
		return cli_error("cannot count process %d: %s; 'strace -c -p %d' counts its system "
				 "calls, and stops it at each",
			trace->program.pid, trace->counted.reason, trace->program.pid);
	work->report.report.exit_status = EXIT_SUCCESS;
	return true;
}

/* ---- the command ---- */

/* Checks what the options exclude or require; false after an error message. */
static bool check_options(const struct cli *cli)
{
	const struct trace_report *report = cli->data;
	const struct trace_request *request = &report->request;
	const bool program = cli->operand_count > 0, all = request->target == TARGET_HOST;
	const int targets = program + all + (report->trace.program.pid > 0);
	const struct {
		bool applies;
		const char *message;
	} mistakes[] = {
		{targets == 0, "specify a program to run, --pid or --all"},
		{targets > 1, "a program to run, --pid and --all are mutually exclusive"},
		{request->leaves_untouched && !program, "--no-served requires a program"},
		{request->as_if_fallback && (!program || request->leaves_untouched),
			"--as-if requires a program, and excludes --no-served"},
		{request->counts_exactly && report->trace.program.pid <= 0,
			"--count requires --pid"},
		{((const struct trace_work *)cli->data)->is_confirmed && !request->counts_exactly,
			"--yes requires --count"},
		{(request->lists_processes || request->lists_groups) && !all,
			"--by requires --all"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		if (mistakes[i].applies)
			return cli_usage_error("%s", mistakes[i].message);
	}
	return true;
}

static bool trace_measure(struct cli *cli)
{
	struct trace_work *work = cli->data;
	struct trace_report *report = &work->report;
	struct trace_request *request = &report->request;
	struct trace_evidence *trace = &report->trace;
	struct trace_run *run = &work->run;
	struct fact why = {0};

	if (!check_options(cli))
		return false;
	if (cli->output && cli->operand_count && !output_check(cli->output, &why))
		return cli_error("cannot write %s: %s", cli->output, why.reason);
	trace_plan_make(&work->plan);
	request->plan = &work->plan;
	request->arguments = cli->operand_count ? (char *const *)(uintptr_t)cli->operands : NULL;
	if (!cli->operand_count && request->target != TARGET_HOST)
		request->target = TARGET_PROCESS;
	request->lists_processes = request->target == TARGET_HOST && !request->lists_groups;
	fact_set(&trace->sampled.fact, FACT_UNREAD, "%s",
		request->counts_exactly ? "calls are counted, not sampled"
					: "only what runs already is sampled");
	if (!request->shown)
		request->shown = defaults[request->target].shown;
	if (!request->limit_ns)
		request->limit_ns = defaults[request->target].limit_ns;
	trace->request = request;
	run->trace = trace;
	run->privileges = cli->output ? PRIVILEGES_WRITE : PRIVILEGES_NONE;
	request->locates_calls = request->target != TARGET_HOST && !request->as_if_fallback &&
	                         !request->leaves_untouched && proc_is_ours(&why);
	if (!(cli->operand_count ? count_program(cli) : count_running(cli)))
		return false;
	if (is_shown(cli))
		places_finish(trace, request->shown);
	trace_judge(report);
	report_check_clocksource(cli, &trace->host.clocksource);
	return true;
}

static void trace_release(void *data)
{
	struct trace_evidence *trace = &((struct trace_report *)data)->trace;

	trace_callers_forget(&trace->callers);
	places_free(&trace->places);
	places_free(&trace->call_places);
}

static const struct option_row options[] = {
	{'p', "pid", "PID", "count those of a running process, and leave it running"},
	{'a', "all", NULL, "count those of the whole host (root)"},
	{OPTION_COUNT, "count", NULL,
		"with --pid: count the calls that the vDSO serves, exactly; this writes to the "
		"process, and asks for confirmation"},
	{'y', "yes", NULL, "with --count: skip the confirmation; needed without a terminal"},
	{OPTION_BY, "by", "WORD",
		"with --all: list those that take the most time by process (default) or by cgroup, "
		"such as units and pods"},
	{OPTION_AS_IF, "as-if", "fallback",
		"run the program as if this host fell back: each call that the vDSO would serve is "
		"a system call"},
	{OPTION_TOP, "top", "N", "show N rows of each list (default 5, with --all 4)"},
	{OPTION_NO_SERVED, "no-served", NULL,
		"do not count the calls that the vDSO serves: the program is left untouched"},
	{'d', "duration", "TIME",
		"count for TIME (--pid and --all: 5 s by default), then send a program SIGTERM"},
	{0},
};

static const struct report_type type = {.schema = "vdsocheck-trace/1",
	.fields = trace_fields,
	.indent = 15,
	.measure = trace_measure,
	.text = trace_text,
	.release = trace_release};

const struct command trace_command = {
	.name = "trace",
	.summary = "count the clock calls of a program, and those that are system calls",
	.help = "Runs a program and counts the clock calls of it, its threads and children: those "
		"that are system calls, and those that the vDSO serves, with the places they come "
		"from. "
		"Reports their cost on this host and with the vDSO. The report goes to "
		"standard error, or to the file of --output; the program keeps its own streams. "
		"With --pid or --all the report goes to standard output.",
	.status = "that of the program, or 128+N if signal N ended it; 0 with --pid or --all; 125 "
		  "vdsocheck failed, 126 the program cannot be run, 127 it was not found, 130 "
		  "interrupted, 143 after SIGTERM.",
	.answers = trace_answers,
	.options = options,
	.formats = trace_formats,
	.report = &type,
	.size = sizeof(struct trace_work),
	.take = take_option,
	.run = report_run,
	.program = "-- PROGRAM [ARGUMENT]... | -p PID | -a",
	.privileged = true,
	.failure_status = STATUS_TROUBLE,
};
