/* SPDX-License-Identifier: MIT */
/* What the user asked check for. */
#ifndef VDSOCHECK_CHECK_OPTIONS_H
#define VDSOCHECK_CHECK_OPTIONS_H

#include "cli/command.h"
#include "policy.h"

struct check_request {
	double rate; /* calls per second; 0: not given */
	bool identity;
	struct policy policy;
};

extern const struct option_row check_options[];

/* Stores a value in cli->own, a struct check_request; false after an error message. */
bool check_take(struct cli *cli, int id, const char *value);

/*
 * Whether each clocksource of the policy is known by name or offered by this host; false after a
 * message: a misspelt name would make a policy that no host meets.
 */
bool check_clocksources_exist(const struct policy *policy, const struct evidence *evidence);

#endif
