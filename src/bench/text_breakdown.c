/* SPDX-License-Identifier: MIT */
/* What the prices of a system call and of a vDSO call are made of, in words. */
#include "report.h"

#include "cli/phrase.h"
#include "cli/wrap.h"

#define LABEL_WIDTH 16

static void add_part(struct phrase *phrase, const char *before, struct part part, const char *what)
{
	char ns[32];

	phrase_add(phrase, "%s%s ns%s", before, part.known ? wrap_ns(part.ns, ns) : "?", what);
}

/* Those that are in force, and what another one would add. */
static void add_filters(const struct bench_report *report, struct phrase *phrase)
{
	const struct number_fact *seccomp = &report->evidence->host.seccomp;
	const char *another = "one more seccomp filter";

	if (fact_is_known(&seccomp->fact)) {
		phrase_add(phrase, seccomp->value
					   ? "; the seccomp filters in force are part of that"
					   : "; no seccomp filter is in force");
		another = seccomp->value ? "one more" : "one";
	}
	if (report->breakdown.filter.known) {
		phrase_add(phrase, "; %s would add ", another);
		add_part(phrase, "", report->breakdown.filter, "");
	} else if (!report->bench->stopped) {
		phrase_add(phrase, "; what %s would add is not known: %s", another,
			report->bench->filter.fact.reason);
	}
}

static void write_syscall(const struct bench_report *report, FILE *out)
{
	const struct breakdown *parts = &report->breakdown;
	struct phrase phrase = {.used = 0};

	if (!parts->syscall.known)
		return;
	add_part(&phrase, "", parts->syscall, " = ");
	add_part(&phrase, "", parts->entry, " into the kernel and back + ");
	add_part(&phrase, "", parts->kernel, " reading the clock there");
	add_filters(report, &phrase);
	wrap_print(out, "system call", LABEL_WIDTH, phrase.text);
}

/* Where it takes as long as a system call it may be one, and the rest is no arithmetic. */
static void write_vdso(const struct breakdown *parts, FILE *out)
{
	struct phrase phrase = {.used = 0};

	if (!parts->vdso.known)
		return;
	if (parts->vdso_is_as_dear_as_entry) {
		add_part(&phrase, "", parts->vdso,
			", no less than entering the kernel takes: it may be a system call; ");
		add_part(&phrase, "reading the counter would take ", parts->counter, "");
	} else {
		add_part(&phrase, "", parts->vdso, " = ");
		add_part(&phrase, "", parts->counter, " reading the counter + ");
		add_part(&phrase, "", parts->order, " keeping that in order + ");
		add_part(&phrase, "", parts->arithmetic, " arithmetic");
	}
	wrap_print(out, "vDSO call", LABEL_WIDTH, phrase.text);
}

void bench_report_parts(const struct bench_report *report, FILE *out)
{
	const struct breakdown *parts = &report->breakdown;

	if (!parts->syscall.known && !parts->vdso.known)
		return;
	fputs("\n  clock_gettime MONOTONIC, what it is made of, by the minima\n", out);
	write_syscall(report, out);
	write_vdso(parts, out);
}
