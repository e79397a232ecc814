/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the readers of the kernel's log and what is concluded from its lines, the watchdog's
 * arithmetic above all. Input: a first byte that is odd is followed by a record of /dev/kmsg;
 * even, by a dmesg's text.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "collect/parts.h"
#include "judge.h"
#include "judge/rules.h"
#include "unit/evidence_builder.h"

static void check_lines(const struct kernel_log_evidence *log)
{
	if (log->count > KERNEL_LOG_MAX)
		abort();
	for (size_t i = 0; i < log->count; i++) {
		const char *text = log->lines[i].text;

		if (!memchr(text, '\0', sizeof(log->lines[i].text)))
			abort();
		for (; *text; text++) {
			if (*text < ' ' || *text > '~')
				abort();
		}
	}
}

/* The words are a part of the line: nothing is added to it. */
static void check_line(struct span line)
{
	struct log_line parsed = log_line_parse(line);

	if (parsed.text.length > line.length ||
		(parsed.text.length &&
			(parsed.text.at < line.at ||
				parsed.text.at + parsed.text.length > line.at + line.length)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct evidence evidence;
	static struct diagnosis diagnosis;
	struct kernel_log_evidence *log = &evidence.kernel_log;
	char *copy;

	if (size == 0)
		return 0;
	if (!*evidence.clocksource.current)
		evidence_make_falling_back(&evidence, "hpet");
	copy = fuzz_copy(data + 1, size - 1);
	log->count = 0;
	fact_set_known(&log->fact);
	(data[0] % 2 ? kernel_log_add_record : kernel_log_add_dmesg)(
		log, (struct span){copy, size - 1});
	check_line((struct span){copy, size - 1});
	free(copy);
	check_lines(log);
	diagnose(&evidence, &diagnosis);
	return 0;
}
