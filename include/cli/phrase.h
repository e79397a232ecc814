/* SPDX-License-Identifier: MIT */
/* The evidence in words, as the reports for people have them in common. */
#ifndef VDSOCHECK_CLI_PHRASE_H
#define VDSOCHECK_CLI_PHRASE_H

#include "evidence.h"
#include "judge/judgement.h"

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
void phrase_vdso(const struct evidence *evidence, struct phrase *phrase);
void phrase_vclock(const struct evidence *evidence, struct phrase *phrase);
void phrase_proof(const struct evidence *evidence, struct phrase *phrase);
void phrase_host(const struct evidence *evidence, struct phrase *phrase);

/* Why nothing was timed; empty if something was, or was not to be. */
void phrase_timing(const struct evidence *evidence, struct phrase *phrase);

/* What the calls cost; empty if it is not known. */
void phrase_cost(const struct judgement *judgement, struct phrase *phrase);

/* "clock_gettime MONOTONIC" */
void phrase_call(const struct call_evidence *call, struct phrase *phrase);

/* "never", "always", "17 of 1000", "not proven", or the signal: at most 13 characters. */
void phrase_entering(const struct call_evidence *call, struct phrase *phrase);

#endif
