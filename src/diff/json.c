/* SPDX-License-Identifier: MIT */
/* The fields of the document of `vdsocheck diff`, which is written and never read. */
#include "model.h"

#include <limits.h>

#include "base/text.h"

const char *const diff_answers[] = {
	[DIFF_SAME] = "same",
	[DIFF_BETTER] = "better",
	[DIFF_WORSE] = "worse",
	[DIFF_UNKNOWN] = "unknown",
	NULL,
};

bool diff_has_path(const void *change)
{
	return ((const struct diff_change *)change)->now.path != PATH_COUNT;
}

const char *const diff_paths[] = {
	[PATH_VDSO] = "vdso", [PATH_LIBC] = "libc", [PATH_SYSCALL] = "syscall", NULL};

#define OF struct diff_document

static json_t *file_name(const void *object, const void *whole)
{
	char harmless[PATH_MAX];

	(void)whole;
	text_copy_span(harmless, sizeof(harmless),
		text_span(((const struct diff_document *)object)->file));
	return json_string(harmless);
}

static const struct field document_fields[] = {
	{COMPUTED("file", FIELD_STRING, file_name), .options = FIELD_FILLED,
		.doc = "path of the document"},
	{TEXT("time", evidence.timestamp.time.value),
		.doc = "when the host was checked, UTC, as 2026-11-21T15:02:11Z; null: unknown"},
	{TEXT("host", evidence.host.name.value), .doc = "name of the host; null: not in it"},
	{0},
};

#undef OF
#define OF struct diff_property

static const struct field state_fields[] = {
	{STRING("state", name), .options = FIELD_FILLED,
		.doc = "verdict, clocksource or clock mode"},
	{TEXT("old", before), .doc = "its value in the old document; null: unknown"},
	{TEXT("new", now), .doc = "its value in the new document; null: unknown"},
	{WORD("change", change, diff_answers), .options = FIELD_FILLED,
		.doc = "how the new value compares; a clocksource alone is neither better nor worse"},
	{0},
};

static const struct field suspect_fields[] = {
	{STRING("property", name), .options = FIELD_FILLED,
		.doc = "property of the host that differs"},
	{TEXT("old", before), .options = FIELD_FILLED, .doc = "its value in the old document"},
	{TEXT("new", now), .options = FIELD_FILLED, .doc = "its value in the new document"},
	{0},
};

#undef OF
#define OF struct diff_change

static const struct field cost_fields[] = {
	{TEXT("call", now.call), .options = FIELD_FILLED,
		.doc = "name of the call; counter: a read of the CPU's counter"},
	{TEXT("clock", now.clock), .doc = "clock that it reads; null: the call takes none"},
	{WORD("path", now.path, diff_paths), .has = diff_has_path,
		.doc = "path of the call: by the vDSO, by libc, or by raw system call; null: of "
		       "the counter"},
	{NS("old_ns", before.least_ns), .options = FIELD_FILLED,
		.doc = "ns per call in the old document, least of the batches"},
	{NS("old_most_ns", before.most_ns), .options = FIELD_FILLED,
		.doc = "ns per call in the old document, 99th percentile of the batches or, "
		       "without one, median"},
	{NS("new_ns", now.least_ns), .options = FIELD_FILLED,
		.doc = "ns per call in the new document, least of the batches"},
	{NS("new_most_ns", now.most_ns), .options = FIELD_FILLED,
		.doc = "ns per call in the new document, 99th percentile of the batches or, "
		       "without one, median"},
	{WORD("change", change, diff_answers), .options = FIELD_FILLED,
		.doc = "worse: new_ns is at least 1.5 times old_most_ns and 2 ns more; better: "
		       "the same the other way round; same: neither"},
	{0},
};

#undef OF
#define OF struct diff

static json_t *command_name(const void *object, const void *whole)
{
	(void)whole;
	return json_string(((const struct diff *)object)->old.is_bench ? "bench" : "check");
}

const struct field diff_fields[] = {
	{INLINE(timestamp, timestamp_fields)},
	{WORD("verdict", answer, diff_answers), .options = FIELD_FILLED,
		.doc = "worse: verdict, clock mode or a cost is; unknown: not worse, but a verdict "
		       "is undetermined, or nothing can be compared; better, same: else"},
	{INTEGER("exit_status", exit_status, 2), .options = FIELD_FILLED,
		.doc = "0: same or better; 1: worse; 2: undetermined"},
	{TEXT("summary", summary), .options = FIELD_FILLED, .doc = "answer in a sentence"},
	{COMPUTED("documents_of", FIELD_STRING, command_name), .options = FIELD_FILLED,
		.doc = "command that wrote the documents: check or bench"},
	{FLAG("two_hosts", two_hosts), .options = FIELD_FILLED,
		.doc = "whether the host's name differs or, where it is not in both documents, the "
		       "instance ID, the architecture or the CPU"},
	{OBJECT("old", old, document_fields), .doc = "first document"},
	{OBJECT("new", new, document_fields), .doc = "second document"},
	{LIST("states", states, state_count, state_fields), .options = FIELD_FILLED,
		.doc = "verdict, clocksource and clock mode; of a benchmark the clocksource alone"},
	{LIST("costs", changes, change_count, cost_fields), .options = FIELD_FILLED,
		.doc = "costs of calls that both documents have"},
	{LIST("suspects", suspects, suspect_count, suspect_fields), .options = FIELD_FILLED,
		.doc = "properties of the host that differ: what may be behind a change"},
	{0},
};

bool diff_write_json(const void *result, const struct style *style, FILE *out)
{
	return document_write(DIFF_SCHEMA, diff_fields, result, style->compact, out);
}
