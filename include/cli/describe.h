/* SPDX-License-Identifier: MIT */
/* Text put together from pieces, and what all commands say about clocksource, host and calls. */
#ifndef VDSOCHECK_CLI_DESCRIBE_H
#define VDSOCHECK_CLI_DESCRIBE_H

#include "evidence.h"

#define STRBUF_SIZE 4096

/* Text that is put together from pieces before it is wrapped; begins as {.used = 0}. */
struct strbuf {
	char text[STRBUF_SIZE];
	size_t used;
};

/* Adds to the text, printf-like; what does not fit is cut. */
void strbuf_add(struct strbuf *sb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One line each, without its label. */
void describe_clocksource(const struct evidence *evidence, struct strbuf *sb);
void describe_host(const struct evidence *evidence, struct strbuf *sb);

/* Machine and kernel, and the CPU where the line does not get longer than `most` by it. */
void describe_host_brief(const struct evidence *evidence, size_t most, struct strbuf *sb);

/* "clock_gettime MONOTONIC" */
void describe_call_name(const char *call, const char *clock, struct strbuf *sb);

#endif
