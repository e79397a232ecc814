/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the command line of all commands: it is refused, or leaves a command and a format. Input:
 * a word a line.
 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/driver.h"
#include "commands.h"

#define WORD_MAX 40

static void print_help(const struct cli *cli)
{
	char *bytes = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&bytes, &length);

	if (!out)
		abort();
	cli_write_help(cli->command, cli->command == command_list[0], out);
	if (fclose(out) != 0 || length == 0)
		abort();
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char name[] = "vdsocheck";
	char *words[WORD_MAX + 2] = {name};
	char *text = malloc(size + 1), *rest = text;
	struct cli cli;
	int count = 1;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	while (count <= WORD_MAX && rest && *rest)
		words[count++] = strsep(&rest, "\n");
	words[count] = NULL;
	if (cli_parse(&cli, command_list, count, words)) {
		if (!cli.command || !cli.format || cli.operand_count > (size_t)count)
			abort();
		if (cli.help)
			print_help(&cli);
	}
	cli_free(&cli);
	free(text);
	return 0;
}
