/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

struct progress progress_start(const char *doing, bool quiet)
{
	return (struct progress){
		.shown = !quiet && isatty(STDERR_FILENO), .doing = doing, .percent = -1};
}

/* What is measured least often may take longer than was planned. */
static int percent_of(double done)
{
	return done < 1 ? (int)(100 * done) : 100;
}

void progress_show(void *argument, double done)
{
	struct progress *progress = argument;
	int percent = percent_of(done);

	if (!progress->shown || percent == progress->percent)
		return;
	progress->percent = percent;
	fprintf(stderr, "\r%s: %d %%\033[K", progress->doing, percent);
}

void progress_end(struct progress *progress)
{
	if (progress->shown && progress->percent >= 0)
		fputs("\r\033[K", stderr);
}
