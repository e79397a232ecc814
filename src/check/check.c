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

/*
 * The time limit of the measurements: those not done by then are reported. The whole
 * check, with a last child that has to be killed (0.3 s) and the output, ends within 5 s.
 */
#define LIMIT_NS 4600000000

/* A format with this depth needs the deciding calls and their times; with DEPTH_ALL everything. */
#define DEPTH_SCREEN 1u

/* The further needs of a format. */
enum {
	NEEDS_LOG = 1 << 0, /* kernel log, whatever the verdict */
	NEEDS_IDENTITY = 1 << 1,
	NEEDS_ONE_HOST = 1 << 2, /* two hosts would be two statuses, or each metric twice */
};

/* Judges by the policy and prints; returns the exit status. */
static int print_judged(struct cli *cli)
{
	struct check_request *request = cli->data;

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

static bool takes_several(const struct cli *cli)
{
	return !(cli->format->needs & NEEDS_ONE_HOST) ||
	       cli_usage_error("--format %s takes a single document", cli->format->name);
}

static int print_document(struct cli *cli, const char *name)
{
	struct check_request *request = cli->data;

	cli->style.compact = request->several;
	if (request->identity && !fact_is_known(&request->evidence.host.name.fact))
		cli_error("%s: --include-identity: the document does not name its host", name);
	diagnose(&request->evidence, &request->diagnosis);
	return print_judged(cli);
}

/* Returns the worst status. A broken document does not stop the others. */
static int check_file(struct cli *cli, const char *path, const volatile bool *stop)
{
	struct check_request *request = cli->data;
	struct document_stream *stream;
	enum document_found found;
	struct fact why = {0};
	char name[CHECK_NAME_SIZE];
	int worst = EXIT_SUCCESS;
	bool more = false;

	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		fputs("vdsocheck: reading documents from the terminal, up to Ctrl-D\n", stderr);
	stream = document_open(path, stop, &why);
	if (!stream) {
		cli_error("%s: %s", document_name(path), why.reason);
		return EXIT_TROUBLE;
	}
	request->file = path;
	for (;;) {
		int status = EXIT_TROUBLE;

		memset(&request->evidence, 0, sizeof(request->evidence));
		found = document_next(stream, check_fields, request, &request->line, &why);
		if (found == DOCUMENT_END)
			break;
		more = more || document_has_more(stream);
		if (more && !takes_several(cli)) {
			worst = EXIT_TROUBLE;
			break;
		}
		request->several = more || cli->operand_count > 1;
		request->line = more ? request->line : 0;
		check_name_document(request, name);
		if (found == DOCUMENT_READ)
			status = print_document(cli, name);
		else
			cli_error("%s: %s", name, why.reason);
		worst = status > worst ? status : worst;
	}
	document_close(stream);
	return worst;
}

/* Returns the worst status. A signal ends the reading; what was read is printed. */
static int check_files(struct cli *cli, volatile bool *stop)
{
	int worst = EXIT_SUCCESS;

	work_begin(cli, NULL, stop);
	for (size_t i = 0; i < cli->operand_count && !*stop; i++) {
		int status = check_file(cli, cli->operands[i], stop);

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

	if (!depth && (policy->max_ns > 0 || policy->clocksource_count))
		depth = DEPTH_SCREEN;
	if (cli->operand_count && strcmp(cli->sysroot, "/") != 0) {
		cli_usage_error("--from and --sysroot are mutually exclusive");
		return EXIT_TROUBLE;
	}
	if (cli->operand_count > 1 && !takes_several(cli))
		return EXIT_TROUBLE;
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
			host_collect_log(&evidence->host, &evidence->kernel_log);
			diagnose(evidence, &request->diagnosis);
		}
		if (request->identity || cli->format->needs & NEEDS_IDENTITY)
			host_collect_identity(&cli->root, &evidence->host);
	} else {
		gather_verdict(&cli->root, evidence, &cli->deadline);
		diagnose(evidence, &request->diagnosis);
	}
	work_end();
	return print_judged(cli);
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
	.limit_ns = LIMIT_NS,
};
