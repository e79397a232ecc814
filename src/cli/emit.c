/* SPDX-License-Identifier: MIT */
#include "cli/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"

static bool write_out(const char *path, const char *bytes, size_t length)
{
	struct fact why = {0};

	if (output_write(path, bytes, length, &why))
		return true;
	options_complain("cannot write %s", why.reason);
	return false;
}

bool emit_bytes(const struct options *options, const char *bytes, size_t length)
{
	return write_out(options->output, bytes, length);
}

static bool is_capable(const char *term)
{
	return term && strcmp(term, "") != 0 && strcmp(term, "dumb") != 0;
}

static bool terminal_wants_color(enum color_choice choice)
{
	const char *no_color = getenv("NO_COLOR");

	if (choice != COLOR_AUTO)
		return choice == COLOR_ALWAYS;
	if (no_color && *no_color)
		return false;
	return isatty(STDOUT_FILENO) && is_capable(getenv("TERM"));
}

bool emit_wants_color(const struct options *options)
{
	if (options->output && options->color == COLOR_AUTO)
		return false;
	return terminal_wants_color(options->color);
}

/* A build from a git tree between releases: "vdsocheck 0.1.0 (653e9ea)". */
static bool write_version(void)
{
	const char *revision = VDSOCHECK_REVISION;
	char line[80];

	snprintf(line, sizeof(line), *revision ? "vdsocheck %s (%s)\n" : "vdsocheck %s\n",
		VDSOCHECK_VERSION, revision);
	return write_out(NULL, line, strlen(line));
}

bool emit_information(const struct options *options, const char *help, int *status)
{
	bool written;

	if (options->help)
		written = write_out(NULL, help, strlen(help));
	else if (options->version)
		written = write_version();
	else
		return false;
	*status = written ? EXIT_SUCCESS : EXIT_TROUBLE;
	return true;
}
