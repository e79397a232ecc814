/* SPDX-License-Identifier: MIT */
/* Text put together from pieces, and what all commands say about clocksource, host and calls. */
#ifndef VDSOCHECK_CLI_DESCRIBE_H
#define VDSOCHECK_CLI_DESCRIBE_H

#include "evidence.h"

#define PHRASE_SIZE 4096

/* Text that is put together from pieces before it is wrapped; begins as {.used = 0}. */
struct phrase {
	char text[PHRASE_SIZE];
	size_t used;
};

/* Adds to the text, printf-like; what does not fit is cut. */
void phrase_add(struct phrase *phrase, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* One line each, without its label. */
void phrase_clocksource(const struct evidence *evidence, struct phrase *phrase);
void phrase_host(const struct evidence *evidence, struct phrase *phrase);

/* Machine and kernel, and the CPU where the line does not get longer than `most` by it. */
void phrase_host_brief(const struct evidence *evidence, size_t most, struct phrase *phrase);

/* "clock_gettime MONOTONIC" */
void phrase_call(const struct call_evidence *call, struct phrase *phrase);

#endif
