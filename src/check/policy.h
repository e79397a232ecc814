/* SPDX-License-Identifier: MIT */
/*
 * A policy: what the caller requires of a host beyond the verdict. Pure, like the judge, whose
 * verdict it leaves as it is: only the exit status follows from both.
 */
#ifndef VDSOCHECK_CHECK_POLICY_H
#define VDSOCHECK_CHECK_POLICY_H

#include "evidence.h"
#include "judge.h"

#define POLICY_CLOCKSOURCE_MAX 16

/* Zeroed, it requires nothing. */
struct policy {
	size_t clocksource_count; /* one of these must be in use */
	char clocksources[POLICY_CLOCKSOURCE_MAX][CLOCKSOURCE_NAME_SIZE];
	size_t deciding_count; /* these must be served by the vDSO, instead of the usual three */
	struct {
		const char *call;  /* "clock_gettime" */
		const char *clock; /* "CLOCK_BOOTTIME"; "" if the call takes none */
	} deciding[CALL_MAX];
	uint64_t max_ns; /* what a deciding call may take at most; 0: any time */
};

enum policy_answer { POLICY_UNDETERMINED, POLICY_MET, POLICY_NOT_MET };

#define REQUIREMENT_MAX 3
#define REQUIREMENT_SIZE 240

/* What one option requires, and whether the host meets it. */
struct requirement {
	const char *option;           /* "require", "deciding", "max-ns"; static storage */
	char value[REQUIREMENT_SIZE]; /* of the option, with names in full */
	enum policy_answer answer;
	char reason[REQUIREMENT_SIZE]; /* a clause: "the clocksource is hpet" */
	bool replaces_verdict;         /* it takes the place of the verdict */
};

struct outcome {
	uint32_t exit_status;
	size_t count;
	struct requirement requirements[REQUIREMENT_MAX];
};

/*
 * Judges the policy by the evidence. The exit status is 1 if a requirement is not met; else 2 if
 * one is undetermined, unless it is 1 already; else that of the verdict. Where the policy names
 * the deciding calls, these take the place of the verdict.
 */
void policy_judge(const struct policy *policy, const struct evidence *evidence,
	enum verdict_kind verdict, struct outcome *outcome);

/* Whether the call is a deciding one: of the policy, if it names any, or of the verdict. */
bool policy_decides(const struct policy *policy, const struct call_evidence *call);

/* The first requirement with this answer; NULL: there is none. */
const struct requirement *policy_find(const struct outcome *outcome, enum policy_answer answer);

/* Whether the exit status follows from this requirement, and not from the verdict. */
bool policy_settles(const struct outcome *outcome, const struct requirement *requirement);

/* The name of a call: "gettimeofday", "CLOCK_BOOTTIME" for clock_gettime of this clock. */
const char *policy_call_name(const char *call, const char *clock);

#endif
