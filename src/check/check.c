/* SPDX-License-Identifier: MIT */
/*
 * The command check, the default: this host, a captured tree, or documents that were written
 * earlier are judged, all the same way.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect.h"
#include "commands.h"
#include "judge.h"
#include "model.h"

/* A format with this depth needs the deciding calls and their times; with DEPTH_ALL everything. */
#define DEPTH_SCREEN 1u

/* The further needs of a format. */
enum {
	NEEDS_LOG = 1 << 0, /* kernel log, whatever the verdict */
	NEEDS_IDENTITY = 1 << 1,
	NEEDS_ONE_HOST = 1 << 2, /* two hosts would be two statuses, or each metric twice */
};

/* Returns the exit status. `file` is the document's path; NULL: this host was examined. */
static int print_judged(struct cli *cli, const char *file)
{
	struct check_request *request = cli->data;

	request->file = file;
	request->several = cli->operand_count > 1;
	if (!check_clocksources_exist(&request->policy, &request->evidence))
		return EXIT_TROUBLE;
	if (request->rate > 0)
		fact_set_real(&request->diagnosis.cost.rate, request->rate);
	policy_judge(&request->policy, &request->evidence, request->diagnosis.verdict.kind,
		&request->outcome);
	request->outcome.exit_status =
		(unsigned)interrupt_status((int)request->outcome.exit_status);
	cli_print(cli, request);
	request->printed = true;
	return cli->format->status ? cli->format->status(request)
	                           : (int)request->outcome.exit_status;
}

static int check_file(struct cli *cli, const char *path)
{
	struct check_request *request = cli->data;
	struct fact why = {0};

	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		fputs("vdsocheck: reading a document from the terminal, up to Ctrl-D\n", stderr);
	memset(&request->evidence, 0, sizeof(request->evidence));
	if (!document_read(path, check_fields, request, &why)) {
		cli_error("%s: %s", document_name(path), why.reason);
		return EXIT_TROUBLE;
	}
	if (request->identity && !fact_is_known(&request->evidence.host.name.fact))
		cli_error("%s: --include-identity: the document does not name its host", path);
	diagnose(&request->evidence, &request->diagnosis);
	return print_judged(cli, path);
}

/*
 * Returns the worst status. A document that cannot be read does not stop the others; a signal does,
 * after which those that were read are printed.
 */
static int check_files(struct cli *cli, volatile bool *stop)
{
	int worst = EXIT_SUCCESS;

	cli->style.compact = cli->operand_count > 1;
	work_begin(cli, NULL, stop);
	for (size_t i = 0; i < cli->operand_count && !*stop; i++) {
		int status = check_file(cli, cli->operands[i]);

		worst = status > worst ? status : worst;
	}
	work_end();
	return worst;
}

/*
 * An interrupted check leaves out the kernel log only: the rest ends within moments, and its
 * children with it.
 */
static int check_run(struct cli *cli)
{
	static volatile bool stop;
	struct check_request *request = cli->data;
	const struct policy *policy = &request->policy;
	struct evidence *evidence = &request->evidence;
	unsigned depth = cli->depth; /* 0: no more than the verdict needs */

	if (!depth && (policy->max_ns || policy->clocksource_count || policy->time))
		depth = DEPTH_SCREEN;
	if (cli->operand_count && strcmp(cli->sysroot, "/") != 0) {
		cli_usage_error("--from and --sysroot are mutually exclusive");
		return EXIT_TROUBLE;
	}
	if (cli->operand_count > 1 && cli->format->needs & NEEDS_ONE_HOST) {
		cli_usage_error("--format %s takes a single --from file", cli->format->name);
		return EXIT_TROUBLE;
	}
	if (cli->operand_count)
		return check_files(cli, &stop);
	request->sysroot = cli->root.live ? NULL : cli->sysroot;
	work_begin(cli, NULL, &stop);
	if (depth) {
		gather_evidence(&cli->root, evidence, depth == DEPTH_ALL, &cli->deadline);
		diagnose(evidence, &request->diagnosis);
		/* The kernel log is read only if there is something to explain or to show. */
		if (request->diagnosis.wants_log || cli->style.verbose ||
			cli->format->needs & NEEDS_LOG) {
			if (stop)
				fact_set(&evidence->kernel_log.fact, FACT_UNREAD,
					"interrupted before it was read");
			else
				kernel_log_collect(&cli->root, &evidence->kernel_log);
			diagnose(evidence, &request->diagnosis);
		}
		if (request->identity || cli->format->needs & NEEDS_IDENTITY)
			host_collect_identity(&cli->root, &evidence->host);
	} else {
		gather_verdict(&cli->root, evidence, &cli->deadline);
		diagnose(evidence, &request->diagnosis);
	}
	work_end();
	return print_judged(cli, NULL);
}

static const struct format formats[] = {
	{.name = "text", .depth = DEPTH_SCREEN, .write = check_report_text},
	{.name = "json", .depth = DEPTH_ALL, .write = check_report_json},
	{.name = "report",
		.summary = "for a ticket",
		.depth = DEPTH_ALL,
		.needs = NEEDS_LOG,
		.write = check_report_markdown},
	{.name = "prometheus",
		.depth = DEPTH_ALL,
		.needs = NEEDS_ONE_HOST,
		.write = check_report_prometheus},
	{.name = "nagios",
		.depth = DEPTH_SCREEN,
		.needs = NEEDS_ONE_HOST,
		.write = check_report_nagios,
		.fail = check_report_nagios_failure,
		.status = check_nagios_status},
	{.name = "summary",
		.depth = DEPTH_SCREEN,
		.needs = NEEDS_ONE_HOST,
		.write = check_report_summary,
		.warns = true},
	{.name = "line",
		.depth = DEPTH_SCREEN,
		.needs = NEEDS_IDENTITY,
		.write = check_report_line},
	{0},
};

const struct command check_command = {
	.name = "check",
	.summary = "check whether the vDSO serves the clock calls (the default)",
	.help = "Checks whether gettimeofday() and clock_gettime() are served by the vDSO on this "
		"host; if not, prints why, what it costs and how to fix it. Changes nothing.",
	.status =
		"3 usage error, unreadable input or failed output; 1, too, if a requirement is not "
		"met.",
	.answers = verdict_answers,
	.options = check_options,
	.formats = formats,
	.size = sizeof(struct check_request),
	.take = check_take,
	.run = check_run,
	.topic = help_topic,
	.explain = help_explain,
	.limit_ns = CHECK_LIMIT_NS,
};
