/* SPDX-License-Identifier: MIT */
/* Which calls are to be measured, by the names that were given. */
#ifndef VDSOCHECK_BENCH_PLAN_H
#define VDSOCHECK_BENCH_PLAN_H

#include <stdbool.h>

#include "options.h"
#include "run.h"

/*
 * The plan for the calls of the table, which it refers to, as it does to the request. False after a
 * complaint if the names leave no call.
 */
bool bench_plan_make(
	struct bench_request *request, const struct call_table *calls, struct bench_plan *plan);

#endif
