/* SPDX-License-Identifier: MIT */
/* Has the row of the command trace, and runs it. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/privileges.h"
#include "base/text.h"
#include "base/time.h"
#include "collect.h"
#include "commands.h"
#include "count.h"
#include "judge.h"
#include "measure.h"
#include "places.h"
#include "served.h"

#define DEFAULT_TOP 5
#define DEFAULT_ATTACH_NS 5000000000

/* Limits the measurement of the host, which the program waits for. About 0.1 s is usual. */
#define MEASURING_NS 3000000000

/* The child that measures is killed this time after its own limit. */
#define MEASURING_REST_NS NS_PER_SECOND

/* Why a program is left untouched. */
#define GAINS "it is set-user-ID or set-group-ID or has capabilities, which it would lose"
#define TRACES "it calls ptrace(2), which fails while it is traced"

enum trace_option {
	OPTION_TOP = OPTION_OWN,
	OPTION_NO_SERVED,
	OPTION_INTERVAL,
	OPTION_BY,
	OPTION_AS_IF,
	OPTION_REPEAT
};

struct trace_request {
	struct trace_report report;
	struct trace_plan plan;
	struct trace_run run;
	bool untouched;   /* the calls into the vDSO are not counted */
	uint64_t repeats; /* 0: not given */
	bool is_lost;     /* a report could not be written */
};

static bool take_call(struct cli *cli, struct span word)
{
	struct trace_request *request = cli->data;
	struct fact why = {0};

	if (trace_plan_add(&request->plan, word, &why))
		return true;
	return cli_usage_error("--syscall: '%.*s': %s", (int)word.length, word.at, why.reason);
}

static bool take_option(struct cli *cli, int id, const char *value)
{
	struct trace_request *request = cli->data;
	struct trace_evidence *trace = &request->report.trace;
	uint64_t pid;

	switch (id) {
	case 'e':
		return take_list(value, take_call, cli);
	case 'a':
		return trace->system_wide = true;
	case OPTION_NO_SERVED:
		return request->untouched = true;
	case OPTION_AS_IF:
		if (strcmp(value, "fallback") == 0)
			return trace->as_if_fallback = true;
		return cli_usage_error("--as-if: '%s' is not known; use fallback", value);
	case OPTION_REPEAT:
		return take_count(
			"--repeat", text_span(value), "runs, such as 10", &request->repeats);
	case OPTION_TOP:
		return take_count(
			"--top", text_span(value), "rows, such as 20", &request->run.shown);
	case OPTION_BY:
		trace->lists_processes = strcmp(value, "process") == 0;
		trace->lists_groups = strcmp(value, "cgroup") == 0;
		if (trace->lists_processes || trace->lists_groups)
			return true;
		return cli_usage_error("--by: '%s' is neither process nor cgroup", value);
	case OPTION_INTERVAL:
		return take_duration("--interval", value, &request->run.interval_ns);
	case 'd':
		return take_duration("--duration", value, &request->run.limit_ns);
	default:
		if (!number_parse(text_span(value), &pid) || pid == 0 || pid > INT32_MAX)
			return cli_usage_error("--pid: '%s' is not a process ID", value);
		trace->program.pid = (pid_t)pid;
		return true;
	}
}

struct host_measurement {
	const struct root *root;
	struct evidence host;
};

static void measure_in_child(void *argument)
{
	struct host_measurement *measurement = argument;
	struct evidence *host = &measurement->host;
	struct deadline deadline = deadline_after(MEASURING_NS);
	struct vdso_image image;
	struct call_table calls;

	privileges_keep(PRIVILEGES_NONE);
	host->live = measurement->root->live;
	clocksource_collect(measurement->root, &host->clocksource);
	vdso_collect(measurement->root, &host->vdso, &image);
	call_table_make(&host->vdso, &image, &calls, &deadline);
	call_table_name(&calls, host);
	proof_take(&calls, PROOF_SPREAD, &host->proof, host->calls, &deadline);
	timing_measure(&calls, TIMING_WHOLE, &host->timing, host->calls, &deadline);
	if (counts_deciding(host).entered > 0)
		copy_measure(&image, &calls, &host->vclock, &host->copy, &deadline);
}

/*
 * Measures the cost of system calls and of the vDSO, and proves whether the vDSO serves this host,
 * before the program runs: each would disturb the other. A child does it without the privileges,
 * which counting still needs.
 */
static void measure_host(const struct root *root, struct evidence *host)
{
	struct deadline deadline = deadline_after(MEASURING_NS + MEASURING_REST_NS);
	struct host_measurement measurement = {.root = root};
	struct fact why;

	if (child_call(measure_in_child, &measurement, sizeof(measurement), &deadline, &why))
		*host = measurement.host;
	else
		fact_set(
			&host->proof.fact, why.state, "measuring this host failed: %s", why.reason);
}

static void read_clock(void *ns)
{
	*(int64_t *)ns = kernel_clock_ns(CLOCK_MONOTONIC);
}

/* The run reads the clock by system call, and a filter may kill for that: a child tries it. */
static bool can_read_clock(const struct deadline *deadline)
{
	struct fact why;
	int64_t ns;

	return child_probe(read_clock, &ns, sizeof(ns), deadline, &why) ||
	       cli_error("cannot read the clock: %s", why.reason);
}

/* ---- the program ---- */

/* Unless root traces it, such a program has the privileges of its caller alone. */
static bool gains_privileges(const struct trace_program *program)
{
	struct stat status;

	return geteuid() != 0 && stat(program->file, &status) == 0 &&
	       (status.st_mode & (S_ISUID | S_ISGID) ||
		       getxattr(program->file, "security.capability", NULL, 0) > 0);
}

/* Says whether the program is to be seized, to count its calls into the vDSO. */
static bool counts_served(struct trace_request *request)
{
	struct trace_evidence *trace = &request->report.trace;

	if (request->untouched)
		fact_set(&trace->served, FACT_ABSENT, "--no-served is given");
	else if (!served_has_call(trace->plan))
		fact_set(&trace->served, FACT_ABSENT, "none of these calls is in the vDSO");
	else if (gains_privileges(&trace->program))
		fact_set(&trace->served, FACT_ABSENT, GAINS);
	else
		return served_is_harmless(&trace->served);
	return false;
}

/* Says whether each run can have the same standard input. */
static bool can_repeat_input(void)
{
	return lseek(STDIN_FILENO, 0, SEEK_CUR) >= 0 || errno == EBADF || isatty(STDIN_FILENO);
}

/*
 * Runs the program once more, and keeps its times if they are the least. False if it did not end as
 * the counted run did.
 */
static bool time_run(const struct trace_run *of, bool as_if_fallback, struct trace_times *least)
{
	struct trace_evidence *trace = xcalloc(1, sizeof(*trace));
	struct fact *why = &of->trace->repeated;
	struct trace_run run = *of;
	bool is_timed = false;

	trace->plan = of->trace->plan;
	trace->program = of->trace->program;
	trace->as_if_fallback = as_if_fallback;
	trace->is_baseline = !as_if_fallback;
	run.trace = trace;
	run.call_places = NULL;
	run.serves = true;
	if (trace_run_fork(&run, NULL, why)) {
		if (!trace_follow(&run))
			*why = trace->served;
		else if (run.failure.error)
			fact_set_errno(why, run.failure.error, "a run");
		else if (run.status != of->status)
			fact_set(why, FACT_FAILED, "a run %s did not end as the first one",
				as_if_fallback ? "as if this host fell back" : "as this host is");
		else
			is_timed = true;
	}
	interrupts_release();
	if (is_timed) {
		least->wall_s = fmin(least->wall_s, trace->duration_s.value);
		least->cpu_s = fmin(least->cpu_s, trace->cpu_s.value);
	}
	places_free(&trace->places);
	free(trace);
	return is_timed;
}

/* Takes turns, so that what changes on the host during the runs changes both. */
static void compare_runs(struct trace_request *request, off_t input)
{
	struct trace_evidence *trace = &request->report.trace;
	const off_t end = lseek(STDIN_FILENO, 0, SEEK_CUR);
	bool is_timed = true;

	trace->untouched = trace->fallen_back = (struct trace_times){NAN, NAN};
	for (uint64_t i = 0; i < request->repeats && is_timed; i++) {
		lseek(STDIN_FILENO, input, SEEK_SET);
		is_timed = time_run(&request->run, false, &trace->untouched);
		lseek(STDIN_FILENO, input, SEEK_SET);
		is_timed = is_timed && time_run(&request->run, true, &trace->fallen_back);
	}
	/* Here the first run has left it, and the next reader goes on. */
	lseek(STDIN_FILENO, end, SEEK_SET);
	if (is_timed) {
		trace->repeats = request->repeats;
		fact_set_known(&trace->repeated);
	}
}

/* Runs the program while its system calls are counted by BPF. False: it was not started. */
static bool count_by_events(struct trace_run *run)
{
	struct fact *why = &run->trace->bpf;
	struct trace_events *events = trace_events_make(run->trace->plan, why);
	bool is_counted = false;

	if (events && trace_run_fork(run, NULL, why)) {
		if (!trace_events_start(events, run, why))
			trace_run_cancel(run);
		else if (!(is_counted = trace_follow(run)))
			*why = run->trace->served;
		trace_run_take(run, 0, (struct span){NULL, 0});
	}
	trace_events_free(events);
	return is_counted;
}

/*
 * Runs the program. If its calls cannot be counted, it runs as it would without vdsocheck, but not
 * with --as-if, whose question that run would not answer. Returns false with the reason if it was
 * not started.
 */
static bool run_program(struct trace_run *run, struct fact *why)
{
	struct trace_evidence *trace = run->trace;

	if (trace->as_if_fallback && !run->serves) {
		*why = trace->served;
		return false;
	}
	if (count_by_events(run))
		return true;
	if (gains_privileges(&trace->program))
		fact_set(why, FACT_DENIED, GAINS);
	else if (trace->program.calls_ptrace)
		fact_set(why, FACT_DENIED, TRACES);
	else if (trace_ptrace_run(run, why))
		return true;
	if (trace->as_if_fallback)
		return false;
	trace->method_fact = *why;
	if (trace->served.state == FACT_UNREAD)
		trace->served = *why;
	trace->cpu_inflated = false;
	run->serves = false;
	run->call_places = NULL;
	return trace_run_fork(run, NULL, why) && trace_follow(run);
}

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
	struct trace_request *request = cli->data;
	struct trace_report *report = &request->report;
	struct trace_run *run = &request->run;
	struct trace_evidence *trace = &report->trace;
	const char *name = cli->operands[0];
	const off_t input = lseek(STDIN_FILENO, 0, SEEK_CUR);
	struct fact why = {0};
	int error = trace_program_find(name, &trace->program);

	if (error)
		return refuse_program(report, name, error);
	run->arguments = (char *const *)(uintptr_t)cli->operands;
	trace_program_inspect(&trace->program);
	measure_host(run->root, &trace->host);
	run->serves = counts_served(request);
	if (!run_program(run, &why))
		return cli_error("cannot run %s%s: %s", name,
			trace->as_if_fallback ? " as if this host fell back" : "", why.reason);
	interrupts_release();
	error = run->failure.error;
	if (error && run->failure.stage != TRACE_EXECUTING)
		return cli_error("cannot count the calls of %s: %s", name, strerror(error));
	if (error)
		return refuse_program(report, name, error);
	if (request->repeats)
		compare_runs(request, input);
	privileges_keep(run->privileges);
	/* Shells report a signal so. */
	report->report.exit_status = WIFSIGNALED(run->status) ? EXIT_SIGNAL + WTERMSIG(run->status)
	                                                      : WEXITSTATUS(run->status);
	return true;
}

static bool count_running(struct cli *cli)
{
	struct trace_request *request = cli->data;
	struct trace_run *run = &request->run;
	struct trace_evidence *trace = &request->report.trace;
	const char *doing = trace->system_wide ? "counting on all CPUs" : "counting";
	bool is_counted;

	if (!trace->system_wide && kill(trace->program.pid, 0) < 0 && errno == ESRCH)
		return cli_error("process %d: %s", trace->program.pid, strerror(ESRCH));
	fact_set(&trace->served, FACT_ABSENT, "counted only for a program that trace starts");
	if (!trace->system_wide) {
		trace_program_inspect(&trace->program);
		trace->call_places.root = files_open_root(trace->program.pid);
	}
	measure_host(run->root, &trace->host);
	if (!run->interval_ns)
		run->show = progress_show;
	work_begin(cli, run->interval_ns ? NULL : doing, &run->stop);
	is_counted = trace_running(run);
	work_end();
	if (!is_counted && trace->system_wide)
		return cli_error("cannot count on the whole host: %s", trace->bpf.reason);
	if (!is_counted)
		return cli_error("cannot count process %d: %s; 'strace -c -p %d' counts its system "
				 "calls, and stops it at each",
			trace->program.pid, trace->bpf.reason, trace->program.pid);
	request->report.report.exit_status = EXIT_SUCCESS;
	return true;
}

/* ---- the command ---- */

/* Checks what the options exclude or require; false after an error message. */
static bool is_one_target(const struct cli *cli)
{
	const struct trace_request *request = cli->data;
	const struct trace_evidence *trace = &request->report.trace;
	int targets = (cli->operand_count > 0) + (trace->program.pid > 0) + trace->system_wide;

	if (targets == 0)
		cli_usage_error("specify a program to run, --pid or --all");
	else if (targets > 1)
		cli_usage_error("a program to run, --pid and --all are mutually exclusive");
	else if (request->untouched && trace->program.pid)
		cli_usage_error("--no-served does not apply to --pid");
	else if (request->untouched && trace->system_wide)
		cli_usage_error("--no-served requires a program");
	else if (trace->as_if_fallback && (!cli->operand_count || request->untouched))
		cli_usage_error("--as-if requires a program, and excludes --no-served");
	else if (request->repeats && !trace->as_if_fallback)
		cli_usage_error("--repeat requires --as-if");
	else if (request->repeats && !can_repeat_input())
		cli_usage_error("--repeat: standard input cannot be read again by each run; use a "
				"file or </dev/null");
	else if ((request->run.interval_ns || trace->lists_processes || trace->lists_groups) &&
		 !trace->system_wide)
		cli_usage_error("--interval and --by require --all");
	else
		return true;
	return false;
}

/* Prints an interval; but a file of --output is written when all are over. */
static bool print_interval(void *argument)
{
	struct cli *cli = argument;
	struct trace_request *request = cli->data;
	struct trace_report *report = &request->report;

	trace_judge(report);
	cli_print(cli, report);
	report->is_continued = true;
	if (cli->output)
		return true;
	request->is_lost = !cli_flush(cli);
	report->report.timestamp.time.fact = (struct fact){0};
	timestamp_collect(&cli->root, &report->report.timestamp, &cli->deadline);
	return !request->is_lost;
}

static bool measure(struct cli *cli)
{
	struct trace_request *request = cli->data;
	struct trace_report *report = &request->report;
	struct trace_evidence *trace = &report->trace;
	struct trace_run *run = &request->run;
	struct fact why = {0};

	if (!is_one_target(cli))
		return false;
	if (cli->output && cli->operand_count && !output_check(cli->output, &why))
		return cli_error("cannot write %s: %s", cli->output, why.reason);
	if (!can_read_clock(&cli->deadline))
		return false;
	if (!request->plan.call_count)
		trace_plan_add_clock_calls(&request->plan);
	trace->plan = &request->plan;
	trace->lists_processes = trace->system_wide && !trace->lists_groups;
	fact_set(&trace->sampled.fact, FACT_UNREAD,
		"only what runs already is sampled, for calls that a vDSO may serve");
	fact_set(&trace->repeated, FACT_UNREAD, "--repeat is not given");
	report->is_interval = run->interval_ns > 0;
	if (!run->shown)
		run->shown = DEFAULT_TOP;
	if (!cli->operand_count && !run->limit_ns && !report->is_interval)
		run->limit_ns = DEFAULT_ATTACH_NS;
	run->root = &cli->root;
	run->trace = trace;
	run->privileges = cli->output ? PRIVILEGES_WRITE : PRIVILEGES_NONE;
	run->is_repeated = request->repeats > 0;
	run->report = print_interval;
	run->argument = cli;
	if (!trace->system_wide && !trace->as_if_fallback && !request->untouched)
		run->call_places = &trace->call_places;
	if (!(cli->operand_count ? count_program(cli) : count_running(cli)))
		return false;
	if (request->is_lost) {
		report->report.exit_status = cli_trouble(cli);
		return false;
	}
	places_finish(trace, run->shown);
	trace_judge(report);
	return true;
}

static void release(void *data)
{
	struct trace_evidence *trace = &((struct trace_report *)data)->trace;

	trace_callers_forget(&trace->callers);
	places_free(&trace->places);
	places_free(&trace->call_places);
}

static const struct option_row options[] = {
	{'e', "syscall", "LIST",
		"count these system calls, by name (default: the clock calls); may be repeated"},
	{'p', "pid", "PID", "count those of a running process, and leave it running"},
	{'a', "all", NULL, "count those of the whole host (root)"},
	{OPTION_BY, "by", "WORD",
		"with --all: list those that take the most time by process (default) or by cgroup, "
		"such as units and pods"},
	{OPTION_INTERVAL, "interval", "TIME",
		"with --all: print a line every TIME until Ctrl-C, with --json a document each"},
	{OPTION_AS_IF, "as-if", "fallback",
		"run the program as if this host fell back: each call that the vDSO would serve is "
		"a system call"},
	{OPTION_REPEAT, "repeat", "N",
		"with --as-if: also run it N times as this host is and N times simulated, and "
		"compare the times"},
	{OPTION_TOP, "top", "N",
		"show N places in the program, processes or control groups (default 5)"},
	{OPTION_NO_SERVED, "no-served", NULL,
		"do not count the calls that the vDSO serves: the program is left untouched"},
	{'d', "duration", "TIME",
		"count for TIME (--pid and --all: 5 s by default, with --interval until Ctrl-C), "
		"then send a program SIGTERM"},
	{0},
};

static const struct report_type type = {.schema = "vdsocheck-trace/1",
	.fields = trace_fields,
	.indent = 13,
	.measure = measure,
	.text = trace_text,
	.release = release};

const struct command trace_command = {
	.name = "trace",
	.summary = "count the clock calls of a program, and those that are system calls",
	.help = "Runs a program and counts its system calls, with those of all its threads and "
		"children: the clock calls, which the vDSO should serve, or others by name. "
		"Counts the calls that the vDSO serves, too, and the places they come from. "
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
	.size = sizeof(struct trace_request),
	.take = take_option,
	.run = report_run,
	.never_verbose = true,
	.program = "-- PROGRAM [ARGUMENT]... | -p PID | -a",
	.privileged = true,
	.failure_status = STATUS_TROUBLE,
};
