/* SPDX-License-Identifier: MIT */
/*
 * The command check, the default: this host, a captured tree, or documents that were written
 * earlier are judged, all the same way.
 */
#include <stdlib.h>
#include <string.h>

#include "base/confine.h"
#include "check.h"
#include "collect.h"
#include "commands.h"
#include "gather.h"
#include "json.h"
#include "judge.h"
#include "model.h"
#include "report.h"
#include "text.h"

/* What is measured for a format, above what the exit status needs; DEPTH_ALL for all of it. */
#define DEPTH_SCREEN 1u

enum id { OPTION_RATE = OPTION_OWN, OPTION_FROM, OPTION_IDENTITY };

struct request {
	double rate; /* calls per second; 0: not given */
	bool identity;
};

static bool take(struct cli *cli, int id, const char *value)
{
	struct request *request = cli->own;

	if (id == OPTION_RATE)
		return take_rate("--rate", value, &request->rate);
	return request->identity = true;
}

/* The exit status for this evidence; `file` as in struct document. */
static int judge_and_print(struct cli *cli, const struct evidence *evidence, const char *file)
{
	static struct diagnosis diagnosis;
	const struct request *request = cli->own;
	struct document document = {.evidence = evidence, .diagnosis = &diagnosis, .file = file};

	diagnose(evidence, &diagnosis);
	diagnosis.cost.rate = request->rate;
	cli_print(cli, &document);
	return verdict_exit_status(diagnosis.verdict.kind);
}

/* The kernel log is read only if there is something to explain, or to be shown. */
static bool needs_reasons(const struct cli *cli, const struct evidence *evidence)
{
	struct verdict verdict;

	verdict_find(evidence, &verdict);
	return verdict.kind != VERDICT_OK || cli->verbose || cli->format->write == report_write;
}

static int check_file(struct cli *cli, const char *path)
{
	static struct evidence evidence;
	const struct request *request = cli->own;
	struct fact why = {0};

	if (!json_read(path, &evidence, &why)) {
		cli_complain("%s: %s", path, why.reason);
		return EXIT_TROUBLE;
	}
	if (request->identity && !fact_is_known(&evidence.host.name.fact))
		cli_complain("%s: --include-identity: the document does not name its host", path);
	return judge_and_print(cli, &evidence, cli->operand_count > 1 ? path : NULL);
}

/* The worst status of all; a document that cannot be read does not keep the others from it. */
static int check_files(struct cli *cli)
{
	int worst = EXIT_SUCCESS;

	confine(cli->output);
	cli->style.compact = cli->operand_count > 1;
	for (size_t i = 0; i < cli->operand_count; i++) {
		int status = check_file(cli, cli->operands[i]);

		worst = status > worst ? status : worst;
	}
	return worst;
}

/*
 * Of a check that is interrupted only the kernel log is left out: the rest ends within moments,
 * and its children with it.
 */
static int check_run(struct cli *cli)
{
	static struct evidence evidence;
	static volatile bool stop;
	const struct request *request = cli->own;
	struct deadline deadline = deadline_after(CHECK_LIMIT_NS);

	if (cli->operand_count && strcmp(cli->sysroot, "/") != 0) {
		cli_complain_usage("--from and --sysroot are mutually exclusive");
		return EXIT_TROUBLE;
	}
	if (cli->operand_count)
		return check_files(cli);
	interrupt_watch(&stop);
	if (cli->depth) {
		gather_evidence(&cli->root, &evidence, cli->depth == DEPTH_ALL, &deadline);
		if (!stop && needs_reasons(cli, &evidence))
			kernel_log_collect(&cli->root, &evidence.kernel_log);
		if (request->identity)
			host_collect_identity(&cli->root, &evidence.host);
	} else {
		gather_verdict(&cli->root, &evidence, &deadline);
	}
	interrupt_end();
	return judge_and_print(cli, &evidence, NULL);
}

static const struct option_row options[] = {
	{OPTION_FROM, "from", "FILE...",
		"judge documents written by --json, here or on another host, - is standard input; "
		"several as JSON make one line each"},
	{OPTION_RATE, "rate", "CALLS[/s]",
		"estimate the CPU cost at CALLS calls per second: 485000, 485k"},
	{OPTION_IDENTITY, "include-identity", NULL,
		"include the host name and the cloud instance in JSON and report"},
	{OPTION_SYSROOT, "sysroot", "DIR",
		"read /proc and /sys below DIR, a captured tree: nothing is measured, so the "
		"verdict is unknown; / is this host"},
	{0},
};

static const struct format formats[] = {
	{"text", NULL, DEPTH_SCREEN, text_write},
	{"json", NULL, DEPTH_ALL, json_write},
	{"report", "Markdown, for a ticket", DEPTH_ALL, report_write},
	{0},
};

const struct command check_command = {
	.name = "check",
	.summary = "check whether the clock calls are served by the vDSO (the default)",
	.help = "Checks whether gettimeofday() and clock_gettime() are served by the vDSO on this "
		"host or fall back to system calls, and reports the cause, the cost and the fix. "
		"Changes nothing.",
	.status = "0 served by the vDSO, 1 fallback or slow, 2 undetermined, 3 usage error, "
		  "unreadable input or failed output.",
	.options = options,
	.formats = formats,
	.size = sizeof(struct request),
	.take = take,
	.run = check_run,
};
