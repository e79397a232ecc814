/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/root.h"
#include "base/text.h"
#include "cli/emit.h"
#include "cli/options.h"
#include "collect/identity.h"
#include "document.h"
#include "document/recorded.h"
#include "gather.h"
#include "judge/judgement.h"

static const char help[] =
	"Usage: vdsocheck [check] [OPTION]... [--from FILE...]\n"
	"       vdsocheck COMMAND --help\n"
	"\n"
	"Tells whether gettimeofday and clock_gettime are answered in user space on this\n"
	"host or enter the kernel, why, what it costs and what to do. Changes nothing.\n"
	"\n"
	"  -q, --quiet            print nothing: the exit status is the answer\n"
	"  -J, --json             print JSON, the same as --format json\n"
	"      --format FORMAT    print text (the default), json, or a report in Markdown\n"
	"                         to attach to a ticket\n"
	"  -o, --output FILE      write to FILE, whole or not at all\n"
	"      --color WHEN       colour the verdict: auto (the default), always, never\n"
	"      --rate CALLS[/s]   work out the cost at so many calls a second\n"
	"      --from FILE...     judge documents written by --json, here or elsewhere;\n"
	"                         - is standard input\n"
	"      --sysroot DIR      read /proc and /sys below DIR, a captured tree: nothing\n"
	"                         is measured, so the verdict is unknown\n"
	"      --include-identity name this host in JSON and report\n"
	"  -h, --help             print this help\n"
	"  -V, --version          print the version\n"
	"\n"
	"Other commands: bench measures what the calls cost, in detail; warp looks for\n"
	"clocks that disagree between CPUs; compare tries each clocksource (root).\n"
	"\n"
	"Exit status: 0 the calls are answered in user space, 1 they enter the kernel or\n"
	"the counter is slow, 2 it could not be told, or bad usage, or failed output.\n";

/* More calls than any machine makes in a second. */
#define RATE_MAX 1000000000000

enum check_id { CHECK_RATE = OWN_OPTION_FIRST, CHECK_FROM, CHECK_IDENTITY };

static const struct own_option own_rows[] = {
	{CHECK_RATE, "rate", true},
	{CHECK_FROM, "from", true},
	{CHECK_IDENTITY, "include-identity", false},
};

struct check_options {
	struct options common;
	double rate; /* calls per second; 0: not asked for */
	bool identity;
	const char **from; /* the files, as many as there are words */
	size_t from_count;
};

/* "485000" or "485000/s" */
static bool take_rate(const char *value, struct check_options *options)
{
	struct span text = text_span(value);
	uint64_t rate;

	if (text.length > 2 && strcmp(value + text.length - 2, "/s") == 0)
		text.length -= 2;
	if (!number_parse(text, &rate) || rate == 0 || rate > RATE_MAX) {
		options_complain_usage("--rate: '%s' is not a number of calls per second", value);
		return false;
	}
	options->rate = (double)rate;
	return true;
}

static bool take_file(const char *path, struct check_options *options)
{
	options->from[options->from_count++] = path;
	return true;
}

static bool take_own(int id, const char *value, void *into)
{
	struct check_options *options = into;

	switch (id) {
	case CHECK_RATE:
		return take_rate(value, options);
	case CHECK_FROM:
		return take_file(value, options);
	default:
		options->identity = true;
		return true;
	}
}

/* Words are files only after a --from: `vdsocheck check foo` is a slip. */
static bool take_word(const char *word, void *into)
{
	struct check_options *options = into;

	if (options->from_count)
		return take_file(word, options);
	options_complain_usage("unexpected word '%s'", word);
	return false;
}

static bool accepts_format(const char *word)
{
	char names[128];

	if (document_find_format(word))
		return true;
	document_list_formats(names, sizeof(names), ", ");
	options_complain_usage("--format: '%s' is not one of %s", word, names);
	return false;
}

static bool parse(int argc, char **argv, struct check_options *options)
{
	const struct own_options own = {
		.rows = own_rows,
		.count = sizeof(own_rows) / sizeof(own_rows[0]),
		.take = take_own,
		.into = options,
		.take_word = take_word,
	};

	*options = (struct check_options){.from = calloc((size_t)argc + 1, sizeof(char *))};
	if (!options->from) {
		options_complain("cannot parse the options: out of memory");
		return false;
	}
	if (!options_parse(argc, argv, &options->common, &own) ||
		!accepts_format(options->common.format))
		return false;
	if (options->from_count && strcmp(options->common.sysroot, "/") != 0) {
		options_complain_usage("--from and --sysroot exclude each other");
		return false;
	}
	return true;
}

static bool render(const struct check_options *options, const struct evidence *evidence,
	const struct judgement *judgement, FILE *out)
{
	struct document document = {.evidence = evidence,
		.judgement = judgement,
		.color = emit_wants_color(&options->common)};
	struct fact why = {0};
	char *bytes = NULL;
	size_t length = 0;

	if (!document_render(&document, document_find_format(options->common.format), &bytes,
		    &length, &why)) {
		options_complain("cannot render: %s", why.reason);
		return false;
	}
	fwrite(bytes, 1, length, out);
	free(bytes);
	return true;
}

/* The exit status for this evidence. */
static int judge_and_render(
	const struct check_options *options, const struct evidence *evidence, FILE *out)
{
	static struct judgement judgement;

	judgement_make(evidence, &judgement);
	cost_set_rate(&judgement.cost, options->rate);
	if (!options->common.quiet && !render(options, evidence, &judgement, out))
		return EXIT_TROUBLE;
	return verdict_exit_status(judgement.ruling.verdict);
}

/* The kernel's log is only read where there is something to explain. */
static bool needs_reasons(const struct evidence *evidence)
{
	struct ruling ruling;

	verdict_find(evidence, &ruling);
	return ruling.verdict != VERDICT_OK;
}

static int check_tree(const struct check_options *options, const struct root *root, FILE *out)
{
	static struct evidence evidence;

	if (options->common.quiet) {
		gather_verdict(root, &evidence);
		return judge_and_render(options, &evidence, out);
	}
	gather_evidence(root, &evidence);
	if (needs_reasons(&evidence))
		gather_reasons(root, &evidence);
	if (options->identity)
		identity_collect(root, &evidence.host);
	return judge_and_render(options, &evidence, out);
}

static int check_root(const struct check_options *options, FILE *out)
{
	struct root root;
	struct fact why = {0};
	int status;

	if (!root_open(&root, options->common.sysroot, &why)) {
		options_complain("cannot open the tree: %s", why.reason);
		return EXIT_TROUBLE;
	}
	status = check_tree(options, &root, out);
	root_close(&root);
	return status;
}

/* A document names no host: of several the file does, as head(1) has it. JSON needs none. */
static void name_document(const struct check_options *options, const char *path, FILE *out)
{
	char name[PATH_MAX];

	if (options->from_count == 1 || options->common.quiet ||
		strcmp(options->common.format, "json") == 0)
		return;
	text_copy_span(name, sizeof(name), text_span(path));
	fprintf(out, "%s==> %s <==\n", ftell(out) > 0 ? "\n" : "", name);
}

/* The worst of all; a document that cannot be read does not keep the others from it. */
static int check_recorded(const struct check_options *options, FILE *out)
{
	static struct evidence evidence;
	int worst = EXIT_SUCCESS;

	for (size_t i = 0; i < options->from_count; i++) {
		struct fact why = {0};
		int status = EXIT_TROUBLE;

		if (recorded_read(options->from[i], &evidence, &why)) {
			name_document(options, options->from[i], out);
			status = judge_and_render(options, &evidence, out);
		} else {
			options_complain("%s: %s", options->from[i], why.reason);
		}
		worst = status > worst ? status : worst;
	}
	return worst;
}

static int check_into(const struct check_options *options, FILE *out)
{
	return options->from_count ? check_recorded(options, out) : check_root(options, out);
}

static int check_and_emit(const struct check_options *options)
{
	char *bytes = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);
	int status;

	if (!out) {
		options_complain("cannot render: out of memory");
		return EXIT_TROUBLE;
	}
	status = check_into(options, out);
	if (fclose(out) != 0)
		status = EXIT_TROUBLE;
	if (length > 0 && !emit_bytes(&options->common, bytes, length))
		status = EXIT_TROUBLE;
	free(bytes);
	return status;
}

int check_run(int argc, char **argv)
{
	struct check_options options;
	int status = EXIT_TROUBLE;

	if (parse(argc, argv, &options) && !emit_information(&options.common, help, &status))
		status = check_and_emit(&options);
	free(options.from);
	return status;
}
