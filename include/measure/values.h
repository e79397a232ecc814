/* SPDX-License-Identifier: MIT */
/*
 * The values of the vDSO compared with the kernel's. A vDSO may answer quickly and be wrong: its
 * data page stands still, or is that of another clock.
 */
#ifndef VDSOCHECK_MEASURE_VALUES_H
#define VDSOCHECK_MEASURE_VALUES_H

#include "evidence.h"
#include "measure/call.h"

/*
 * Sets `agrees` and `ahead_ns` of each call that call_table_name() named by this table: whether the
 * vDSO's values lie between the kernel's. About 1 us for each call; 20 ms more if one does not
 * agree. For a child that is pinned to one CPU: the vDSO may crash or hang.
 */
void values_compare(const struct call_table *table, struct call_evidence *calls);

#endif
