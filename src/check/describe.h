/* SPDX-License-Identifier: MIT */
/* What a check found, in words that the screen and the report have in common. */
#ifndef VDSOCHECK_CHECK_DESCRIBE_H
#define VDSOCHECK_CHECK_DESCRIBE_H

#include "cli/describe.h"
#include "model.h"

/* The verdict in a sentence, with what a call takes and would take, where that is known. */
void describe_verdict(
	const struct diagnosis *diagnosis, const struct evidence *evidence, struct strbuf *phrase);

/* One line each, without its label; with `all` the reasons, too. */
void describe_vclock(const struct evidence *evidence, bool all, struct strbuf *phrase);
void describe_proof(const struct evidence *evidence, bool all, struct strbuf *phrase);

/* The clock mode as a word: "none", "tsc" ..., "other" without a name; "" if it is not known. */
const char *describe_mode(const struct vclock_evidence *vclock);

/* "--require tsc is not met: the clocksource is hpet" */
void describe_requirement(const struct requirement *requirement, struct strbuf *phrase);

/* The host with its TSC and boot parameters; describe_host_brief() is the short form. */
void describe_host_full(const struct evidence *evidence, struct strbuf *phrase);

/* The vDSO and its functions. */
void describe_vdso(const struct evidence *evidence, struct strbuf *phrase);

/* Why nothing was timed; empty if something was, or was not to be. */
void describe_timing(const struct evidence *evidence, struct strbuf *phrase);

/* What the calls lose; empty if it is not known, or nothing is lost and no rate was given. */
void describe_cost(const struct diagnosis *diagnosis, struct strbuf *phrase);

/* "served by the vDSO", "always falls back" ...: at most 20 characters. */
const char *describe_call(const struct call_evidence *call);

#endif
