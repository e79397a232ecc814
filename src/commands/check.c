/* SPDX-License-Identifier: MIT */
#include "commands/check.h"

#include <stdlib.h>

#include "base/root.h"
#include "commands/emit.h"
#include "commands/gather.h"
#include "commands/options.h"
#include "judge/judgement.h"
#include "render/document.h"

static const char help[] =
	"Usage: vdsocheck [check] [OPTION]...\n"
	"\n"
	"Tells whether gettimeofday and clock_gettime are answered in user space on this\n"
	"host or enter the kernel, why, what it costs and what to do. Changes nothing.\n"
	"\n"
	"  -q, --quiet            print nothing: the exit status is the answer\n"
	"  -J, --json             print JSON, the same as --format json\n"
	"      --format FORMAT    print text (the default) or json\n"
	"  -o, --output FILE      write to FILE, whole or not at all\n"
	"      --color WHEN       colour the verdict: auto (the default), always, never\n"
	"      --sysroot DIR      read /proc and /sys below DIR, a captured tree; measures\n"
	"                         nothing, so the verdict is unknown\n"
	"  -h, --help             print this help\n"
	"  -V, --version          print the version\n"
	"\n"
	"Exit status: 0 the calls are answered in user space, 1 they enter the kernel or\n"
	"the counter is slow, 2 it could not be told, or bad usage, or failed output.\n";

static bool write_document(const struct options *options, const struct evidence *evidence,
	const struct judgement *judgement)
{
	struct document document = {.evidence = evidence,
		.judgement = judgement,
		.color = terminal_wants_color(options->color)};
	struct fact why = {0};
	char *bytes = NULL;
	size_t length = 0;
	bool written;

	if (!document_render(&document, document_find_format(options->format), &bytes, &length,
		    &why)) {
		options_complain("cannot render: %s", why.reason);
		return false;
	}
	written = emit_bytes(options, bytes, length);
	free(bytes);
	return written;
}

static int check_tree(const struct options *options, const struct root *root)
{
	static struct evidence evidence;
	static struct judgement judgement;

	if (options->quiet)
		gather_verdict(root, &evidence);
	else
		gather_evidence(root, &evidence);
	judgement_make(&evidence, &judgement);
	if (judgement.ruling.verdict != VERDICT_OK && !options->quiet) {
		gather_reasons(root, &evidence);
		judgement_make(&evidence, &judgement);
	}
	if (!options->quiet && !write_document(options, &evidence, &judgement))
		return EXIT_TROUBLE;
	return verdict_exit_status(judgement.ruling.verdict);
}

int check_run(int argc, char **argv)
{
	struct options options;
	struct root root;
	struct fact why = {0};
	int status;

	if (!options_parse(argc, argv, &options, NULL))
		return EXIT_TROUBLE;
	if (emit_information(&options, help, &status))
		return status;
	if (!root_open(&root, options.sysroot, &why)) {
		options_complain("cannot open the tree: %s", why.reason);
		return EXIT_TROUBLE;
	}
	status = check_tree(&options, &root);
	root_close(&root);
	return status;
}
