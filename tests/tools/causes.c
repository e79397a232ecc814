/* SPDX-License-Identifier: MIT */
/*
 * Prints vdsocheck-causes(7), made from the rows of the judge. `make causes` keeps it in man/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/text.h"
#include "judge.h"

/* Prints text, each sentence on a line of its own as mdoc(7) wants it. */
static void print_text(const char *text)
{
	for (bool starts = true; *text; text++) {
		if (starts && strchr(".'", *text))
			fputs("\\&", stdout);
		starts = strchr(".?", *text) && text[1] == ' ';
		if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
		if (starts) {
			putchar('\n');
			text++;
		}
	}
	putchar('\n');
}

static void print_labelled(const char *label, const char *text)
{
	if (!text)
		return;
	printf(".Pp\n%s:\n", label);
	print_text(text);
}

/* As "vdso(7)", an address, or a title with an address. */
static void print_source(const char *label, const char *source)
{
	const char *open = source ? strchr(source, '(') : NULL;

	if (open && !strchr(source, ' ') && strspn(open + 1, "0123456789") == 1)
		printf(".Pp\n%s:\n.Xr %.*s %.*s\n", label, (int)(open - source), source,
			(int)strcspn(open + 1, ")"), open + 1);
	else
		print_labelled(label, source);
}

static void print_ids(const char *label, const char *const *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%s%s.Li %s%s\n", i ? "" : label, i ? "" : ":\n", ids[i],
			i + 1 < count ? " ," : "");
}

/* Where a command begins at most, of which each line fits the page so that it can be pasted. */
#define COMMAND_AT 24

static void print_command(const char *command)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	wrap_command(out, COMMAND_AT, COMMAND_AT + 4, command);
	fclose(out);
	puts(".Bd -literal -compact");
	for (const char *at = text; *at; at++) {
		if (*at == '\\' || *at == '"')
			fputs(*at == '"' ? "\\(dq" : "\\e", stdout);
		else if (strchr("-'`", *at))
			printf(*at == '-' ? "\\-" : *at == '\'' ? "\\(aq" : "\\(ga");
		else
			putchar(*at);
		if (*at == '\n' && at[1])
			at += COMMAND_AT;
	}
	puts(".Ed");
	free(text);
}

/* A step without a text of its own has a usual command. */
static const char *name_step(const struct advice_step *step)
{
	static const struct {
		const char *command, *text;
	} usual[] = {
		{"vdsocheck", "check the result"},
		{"vdsocheck warp && vdsocheck", "test the TSCs, and check the result"},
		{"sudo reboot", "reboot"},
		{REPORT_COMMAND, "print the report"},
		{NULL, "run"},
	};
	size_t i = 0;

	while (usual[i].command && strcmp(usual[i].command, step->command) != 0)
		i++;
	return *step->text ? step->text : usual[i].text;
}

static void print_step(const struct advice_step *step)
{
	puts(".It");
	print_text(name_step(step));
	if (*step->command)
		print_command(step->command);
}

static void print_steps(
	const char *label, const char *list, const struct advice_step *steps, size_t count)
{
	if (!count)
		return;
	printf(".Pp\n%s:\n.Bl %s -compact\n", label, list);
	for (size_t i = 0; i < count; i++)
		print_step(&steps[i]);
	puts(".El");
}

static void print_cause(const struct cause_explanation *cause)
{
	size_t count = 0;

	printf(".It Li %s\n", cause->id);
	print_text(cause->text);
	print_labelled("Signs", cause->signs);
	while (count < CAUSE_ADVICE_MAX && cause->advice[count])
		count++;
	if (count)
		puts(".Pp");
	print_ids("Advice", cause->advice, count);
	print_source("See", cause->more);
}

static void print_advice(const struct advice *advice)
{
	struct advice_step undo[ADVICE_STEP_MAX];
	size_t count = 0;

	printf(".It Li %s\n", advice->id);
	print_text(advice->text);
	print_labelled("Question to send", advice->ask);
	print_steps("Steps", "-enum", advice->steps, advice->step_count);
	for (size_t i = 0; i < advice->step_count; i++) {
		if (!*advice->steps[i].undo)
			continue;
		undo[count] = (struct advice_step){{0}, {0}, {0}};
		text_clean(undo[count++].command, ADVICE_COMMAND_SIZE, advice->steps[i].undo);
	}
	print_steps("Undo", "-bullet", undo, count);
	if (advice->keep_count)
		printf(".Pp\nBoot parameters to %s, as in\n.Sx BOOT PARAMETERS :\n.Li %s\n",
			strcmp(advice->boot, ADVICE_WORD_BOOT) ? "add" : "remove", advice->boot);
	print_labelled("Risk", advice->risk);
	print_source("Source", advice->source);
}

/* Prints the ways to change the kernel command line, as the advice with this id has them. */
static void print_ways(const char *label, const char *id)
{
	struct advice advice;

	for (size_t i = 0; explain_advice(i, &advice); i++) {
		if (strcmp(advice.id, id) == 0)
			print_steps(label, "-bullet", advice.keep, advice.keep_count);
	}
}

/* The first line is in two pieces, so that `reuse lint` does not read it as the licence of this
 * file. */
static const char head[] =
	".\\\" SPDX-License-"
	"Identifier: MIT\n"
	".\\\" Made by tests/tools/causes.c: make causes\n"
	".Dd November 24, 2026\n"
	".Dt VDSOCHECK-CAUSES 7\n"
	".Os Linux\n"
	".Sh NAME\n"
	".Nm vdsocheck-causes\n"
	".Nd causes of slow or wrong clock calls, and advice\n"
	".Sh DESCRIPTION\n"
	".Xr vdsocheck 1\n"
	"names the causes of its verdict, and the advice that fits the host.\n"
	"Each has an id: in JSON, in metrics and in the output for monitoring.\n"
	"This page lists all of them, as\n"
	".Ql vdsocheck help causes\n"
	"and\n"
	".Ql vdsocheck help ID\n"
	"do.\n"
	"An id does not change between versions; new ones may be added.\n"
	".Pp\n"
	"Some words stand for names that differ by host:\n"
	".Li " ADVICE_WORD_FROM "\n"
	"is the clocksource in use,\n"
	".Li " ADVICE_WORD_TO "\n"
	"the one to switch to, and\n"
	".Li " ADVICE_WORD_BOOT "\n"
	"are boot parameters.\n"
	"On the host,\n"
	".Nm vdsocheck\n"
	"prints the steps with its own names, boot loader and cloud.\n"
	".Sh CAUSES\n"
	"The signs are the evidence by which a cause is recognized.\n"
	"A call falls back if the vDSO should serve it and it is a system call.\n"
	"The watchdog is the kernel's own, which compares the TSC with a reference clock.\n";

int main(void)
{
	enum cause_group group = GROUP_COUNT;
	struct cause_explanation cause;
	struct advice advice;

	fputs(head, stdout);
	for (size_t i = 0; explain_cause(i, &cause); i++) {
		if (cause.group != group)
			printf("%s.Ss %s\n.Bl -tag -width Ds\n", i ? ".El\n" : "",
				cause_group_names[cause.group]);
		group = cause.group;
		print_cause(&cause);
	}
	puts(".El\n.Sh ADVICE\n.Bl -tag -width Ds");
	for (size_t i = 0; explain_advice(i, &advice); i++)
		print_advice(&advice);
	puts(".El\n.Sh BOOT PARAMETERS\nHow to change the kernel command line differs by system.\n"
	     ".Li tsc=nowatchdog\nneeds Linux 5.2 or newer, or a backport.");
	print_ways("To add a parameter, such as the one that makes a switch permanent, one of",
		"switch-to-paravirtual");
	print_ways("To remove parameters, one of", "drop-boot-parameters");
	puts(".Sh SEE ALSO\n.Xr vdsocheck 1 ,\n.Xr vdso 7");
	return fflush(stdout) != 0;
}
