/* SPDX-License-Identifier: MIT */
/* The command diff: two documents of check, and whether the new one is worse. */
#include <string.h>

#include "collect.h"
#include "commands.h"
#include "model.h"

static int diff_run(struct cli *cli)
{
	struct diff *diff = cli->data;
	struct diff_document *documents[] = {&diff->old, &diff->new};
	struct fact why = {0};

	if (cli->operand_count != ARRAY_SIZE(documents)) {
		cli_usage_error("specify two documents, the old one first");
		return EXIT_TROUBLE;
	}
	if (strcmp(cli->operands[0], "-") == 0 && strcmp(cli->operands[1], "-") == 0) {
		cli_usage_error("only one of the documents can be standard input");
		return EXIT_TROUBLE;
	}
	timestamp_collect(&cli->root, &diff->timestamp, &cli->deadline);
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		const struct document_part parts[] = {
			timestamp_part(NULL, &documents[i]->evidence.timestamp),
			evidence_part(NULL, &documents[i]->evidence), {0}};

		text_copy(documents[i]->file, sizeof(documents[i]->file),
			document_name(cli->operands[i]));
		if (!document_read(cli->operands[i], parts, &why)) {
			cli_error("%s: %s", documents[i]->file, why.reason);
			return EXIT_TROUBLE;
		}
		diff_document_judge(diff, documents[i]);
	}
	diff_find(diff);
	cli_print(cli, diff);
	return diff->exit_status;
}

static const struct format formats[] = {
	{.name = "text", .write = diff_write_text},
	{.name = "json", .write = diff_write_json},
	{0},
};

const struct command diff_command = {
	.name = "diff",
	.summary = "compare two documents: did the clock calls get worse?",
	.help = "Compares two documents of 'vdsocheck --json', such as those before and after an "
		"update, or those of two images. Reports whether the "
		"verdict, the clock mode or the cost of a call got worse, beyond the noise of both "
		"runs, and names what else differs: kernel, boot parameters, hypervisor, instance "
		"type, CPU, microcode, libc. One of the two may be '-', standard input.",
	.status =
		"0 not worse, 1 worse, 2 a verdict is undetermined, 3 usage error, a document that "
		"cannot be read, or failed output.",
	.formats = formats,
	.size = sizeof(struct diff),
	.run = diff_run,
	.operands = "OLD NEW",
};
