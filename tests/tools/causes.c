/* SPDX-License-Identifier: MIT */
/*
 * Prints vdsocheck-causes(7), made from the rows of the judge. `make causes` keeps it in man/.
 */
#include <stdio.h>
#include <string.h>

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

/* As "vdso(7)", an address, or a title with an address. */
static void print_source(const char *source)
{
	const char *open = source ? strchr(source, '(') : NULL;

	if (!source)
		return;
	if (open && !strchr(source, ' ') && strspn(open + 1, "0123456789") == 1)
		printf("See\n.Xr %.*s %.*s .\n", (int)(open - source), source,
			(int)strcspn(open + 1, ")"), open + 1);
	else
		printf("See %s.\n", source);
}

static void print_cause(const struct cause_explanation *cause)
{
	printf(".It Li %s\n", cause->id);
	print_text(cause->text);
	if (cause->signs) {
		fputs("Signs: ", stdout);
		print_text(cause->signs);
	}
	for (size_t i = 0; i < CAUSE_ADVICE_MAX && cause->advice[i]; i++)
		printf("%s.Li %s%s\n", i ? "" : "Advice:\n", cause->advice[i],
			i + 1 < CAUSE_ADVICE_MAX && cause->advice[i + 1] ? " ," : " .");
	print_source(cause->more);
}

/* A sentence that is shorter does not say what to do. */
#define SENTENCE_LEAST 40

/* Prints the first sentence: `help ID` has the rest. */
static void print_advice(const struct advice *advice)
{
	size_t length = strlen(advice->text);
	const char *end =
		strstr(advice->text + (length < SENTENCE_LEAST ? length : SENTENCE_LEAST), ". ");
	char first[sizeof(advice->text)];

	snprintf(first, sizeof(first), "%.*s", end ? (int)(end + 1 - advice->text) : (int)length,
		advice->text);
	printf(".It Li %s\n", advice->id);
	print_text(first);
}

/* The first line is in two pieces, so that `reuse lint` does not read it as the licence of this
 * file. */
static const char head[] =
	".\\\" SPDX-License-"
	"Identifier: MIT\n"
	".\\\" Made by tests/tools/causes.c: make causes\n"
	".Dd November 28, 2026\n"
	".Dt VDSOCHECK-CAUSES 7\n"
	".Os Linux\n"
	".Sh NAME\n"
	".Nm vdsocheck-causes\n"
	".Nd causes of slow or wrong clock calls, and advice\n"
	".Sh DESCRIPTION\n"
	".Xr vdsocheck 1\n"
	"names the causes of its verdict, and the advice that fits the host.\n"
	"Each has an id: in JSON, in metrics and in the output for monitoring.\n"
	"An id does not change between versions; new ones may be added.\n"
	".Ql vdsocheck help ID\n"
	"explains one with its steps, how to undo them, and what to ask a provider.\n"
	".Pp\n"
	"Some words stand for names that differ by host:\n"
	".Li " ADVICE_WORD_FROM "\n"
	"is the clocksource in use,\n"
	".Li " ADVICE_WORD_TO "\n"
	"the one to switch to, and\n"
	".Li " ADVICE_WORD_BOOT "\n"
	"are boot parameters.\n"
	".Sh CAUSES\n"
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
	puts(".El");
	puts(".Sh SEE ALSO\n.Xr vdsocheck 1 ,\n.Xr vdso 7");
	return fflush(stdout) != 0;
}
