/* SPDX-License-Identifier: MIT */
/*
 * Lists what was not counted: each entry has its kind, how many there are of it, and the reason.
 * The text and the document have the list, and the verdict goes by what its entries hide.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model.h"

const char *const trace_missed_names[] = {
	[MISSED_SYSTEM_CALLS] = "system-calls",
	[MISSED_SERVED_CALLS] = "served-calls",
	[MISSED_PROGRAMS] = "programs",
	[MISSED_POINTERS] = "pointers",
	[MISSED_CHILDREN] = "children",
	[MISSED_THREADS] = "threads",
	[MISSED_CALLS] = "calls",
	[MISSED_TIME] = "vdso-time",
	[MISSED_SAMPLES] = "samples",
	[MISSED_SAMPLES_32_BIT] = "32-bit-samples",
	[MISSED_PRIVILEGES] = "privileges",
	NULL,
};

static const struct {
	const char *before, *after; /* the count in the text */
	bool is_counted;            /* else all of the run; "s" follows where there are several */
	unsigned hides;
} kinds[] = {
	[MISSED_SYSTEM_CALLS] = {"system calls", "", false, HIDES_CALLS},
	[MISSED_SERVED_CALLS] = {"calls into the vDSO", "", false, HIDES_READS},
	[MISSED_PROGRAMS] = {"calls into the vDSO of ", " executed program", true, HIDES_READS},
	[MISSED_POINTERS] = {"calls into the vDSO by ", " function pointer", true, HIDES_READS},
	[MISSED_CHILDREN] = {"calls into the vDSO of the children of ", " program", true,
		HIDES_READS},
	[MISSED_THREADS] = {"system calls of ", " thread", true, HIDES_CALLS | HIDES_READS},
	[MISSED_CALLS] = {"", " system call", true, HIDES_CALLS | HIDES_READS},
	[MISSED_TIME] = {"time in the vDSO", "", false, 0},
	[MISSED_SAMPLES] = {"", " sample", true, 0},
	[MISSED_SAMPLES_32_BIT] = {"", " sample", true, 0},
	[MISSED_PRIVILEGES] = {"runs with the privileges of their files: ", " program", true, 0},
};

void trace_miss(struct trace_missed_list *missed, enum trace_missed_kind kind, uint64_t count,
	const char *reason)
{
	struct trace_missed *entry = missed->list;
	struct trace_missed *const end = entry + missed->count;

	if (!count && kinds[kind].is_counted)
		return;
	while (entry < end && (entry->kind != kind || strcmp(entry->reason, reason) != 0))
		entry++;
	if (entry == missed->list + ARRAY_SIZE(missed->list)) {
		entry--; /* with more reasons than there is room for, the last one stands for them
		          */
	} else if (entry == end) {
		missed->count++;
		*entry = (struct trace_missed){.kind = kind};
		text_clean(entry->reason, sizeof(entry->reason), reason);
	}
	entry->count += count;
}

uint64_t trace_missed_count(const struct trace_missed_list *missed, enum trace_missed_kind kind)
{
	uint64_t count = 0;

	for (size_t i = 0; i < missed->count; i++)
		count += missed->list[i].kind == kind ? missed->list[i].count : 0;
	return count;
}

unsigned trace_missed_hides(const struct trace_missed_list *missed)
{
	unsigned hides = 0;

	for (size_t i = 0; i < missed->count; i++)
		hides |= kinds[missed->list[i].kind].hides;
	return hides;
}

void trace_missed_describe(const struct trace_missed *missed, char *text, size_t size)
{
	const uint64_t count = missed->count;

	snprintf(text, size, "%s%s%s%s: %s", kinds[missed->kind].before,
		count ? as_count(count) : "", kinds[missed->kind].after,
		kinds[missed->kind].is_counted && count != 1 ? "s" : "", missed->reason);
}
