/* SPDX-License-Identifier: MIT */
/* What the fuzzers have in common: exact copies, files below a root, and judging evidence. */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/model.h"
#include "cli/driver.h"
#include "commands.h"

char *fuzz_copy(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	return copy;
}

static struct fake_root *tree;

static void remove_tree(void)
{
	void *state = tree;

	fake_root_teardown(&state);
}

struct fake_root *fuzz_root(void)
{
	void *state;

	if (tree)
		return tree;
	if (fake_root_setup(&state) != 0)
		abort();
	tree = state;
	atexit(remove_tree);
	return tree;
}

void fuzz_root_remove(const char *path)
{
	unlink(fake_root_place(fuzz_root(), path));
}

void fuzz_root_put(const char *path, const uint8_t *data, size_t size)
{
	fuzz_root_remove(path);
	fake_root_add_bytes(fuzz_root(), path, data, size);
}

static char *render(const struct evidence *evidence, const struct format *format, size_t *length)
{
	static struct check_request request = {
		.policy = {.clocksource_count = 1, .clocksources = {{"tsc", 3}}, .max_ns = 50}};
	const struct style style = {.verbose = true};
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, length);

	request.evidence = *evidence;
	diagnose(evidence, &request.diagnosis);
	policy_judge(&request.policy, evidence, request.diagnosis.verdict.kind, &request.outcome);
	if (!out)
		abort();
	format->write(&request, &style, out);
	if (fclose(out) != 0)
		abort();
	return bytes;
}

/* The formats take turns by the size of the input: most of an execution's time goes to them. */
static const struct format *format_of(size_t size)
{
	size_t count = 0;

	while (check_command.formats[count].name)
		count++;
	return &check_command.formats[size % count];
}

bool fuzz_parse(const char *bytes, size_t length, struct evidence *evidence, struct fact *why)
{
	static struct check_request request;
	size_t used;
	bool parsed;

	memset(&request, 0, sizeof(request));
	parsed = document_parse((struct span){bytes, length}, &used, check_fields, &request, why);
	if (used > length)
		abort();
	*evidence = request.evidence;
	return parsed;
}

void fuzz_judge(const struct evidence *evidence, size_t size)
{
	static struct evidence again;
	static struct diagnosis first, second;
	struct fact why = {0};
	size_t length;
	char *bytes;

	free(render(evidence, format_of(size), &length));
	bytes = render(evidence, cli_find_format(&check_command, "json"), &length);
	if (!fuzz_parse(bytes, length, &again, &why))
		abort();
	free(bytes);
	diagnose(evidence, &first);
	diagnose(&again, &second);
	if (strcmp(first.verdict.rule, second.verdict.rule) != 0 ||
		strcmp(first.verdict.summary, second.verdict.summary) != 0)
		abort();
}
