/* SPDX-License-Identifier: MIT */
/*
 * Verdict, vDSO, clock mode, proof and cost in words. Everything here is put together from the
 * evidence and its diagnosis, so that a document read back gives the words of its own run.
 */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/time.h"
#include "measure/vdso.h"

/* The rate that the cost is worked out for if none is given: a busy service, not an extreme one. */
#define EXAMPLE_RATE 100000.0

/* ---- the verdict ---- */

/* A sentence needs whole nanoseconds only; the tenths are in the screen's table. */
static const char *round_ns(double ns)
{
	return ns < 10 ? as_ns(ns) : as_count((uint64_t)(ns + 0.5));
}

static void add_alternative(
	const struct cost *cost, const struct evidence *evidence, struct strbuf *sb)
{
	bool is_tsc = host_is_x86(evidence) && !clocksource_is(evidence, "tsc");

	if (cost->measured && !fact_is_known(&cost->vdso_ns.fact)) {
		strbuf_add(sb,
			"; the vDSO would be no faster: reading the counter takes %s ns (measured on a "
			"copy of the vDSO)",
			round_ns(cost->vdso_ns.value));
		return;
	}
	if (cost->lost_ns <= 0)
		return;
	strbuf_add(sb,
		cost->measured ? "; %s would take %s ns (measured on a copy of the vDSO)"
			       : "; %s would take about %s ns",
		cost->measured && is_tsc ? "tsc" : "the vDSO", round_ns(cost->vdso_ns.value));
}

void check_name_document(const struct check_request *request, char name[CHECK_NAME_SIZE])
{
	text_clean(name, PATH_MAX, document_name(request->file));
	if (request->line)
		text_append(name, CHECK_NAME_SIZE, ":%lu", request->line);
}

int check_first_sentence(const char *text)
{
	static const char starts[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ`";
	const char *end = text;

	while (*end && (!strchr(".?", *end) || end[1] != ' ' || !strchr(starts, end[2])))
		end++;
	return (int)(end - text) + (*end != '\0');
}

void check_add_verdict(
	const struct diagnosis *diagnosis, const struct evidence *evidence, struct strbuf *sb)
{
	const struct number_fact *tick = &evidence->clocksource.tick_ns;
	const struct cost *cost = &diagnosis->cost;

	strbuf_add(sb, "%s", diagnosis->verdict.summary);
	if (fact_is_known(&cost->call_ns.fact)) {
		if (sb->used && sb->text[sb->used - 1] == '.')
			sb->used--;
		strbuf_add(sb, ": %s ns per call%s", round_ns(cost->call_ns.value),
			cost->mixed ? " on average" : "");
		if (diagnosis->verdict.kind == VERDICT_OK)
			strbuf_add(sb, "; a system call takes %s ns", round_ns(cost->syscall_ns));
		else
			add_alternative(cost, evidence, sb);
		strbuf_add(sb, ".");
	}
	/* Coarse steps break programs sooner than the cost. HZ is 100 to 1000. */
	if (clocksource_is(evidence, "jiffies") || clocksource_is(evidence, "refined-jiffies")) {
		if (fact_is_known(&tick->fact))
			strbuf_add(sb, " The clock advances only in steps of %.3g ms.",
				(double)tick->value / NS_PER_MS);
		else
			strbuf_add(sb, " The clock advances only in steps of 1 to 10 ms.");
	}
}

const char *check_why(const struct check_request *request)
{
	if (!request->evidence.live)
		return "Seen";
	return request->diagnosis.verdict.kind == VERDICT_OK ? "Note" : "Why";
}

/* ---- the evidence ---- */

void check_add_timestamp(const struct timestamp_evidence *timestamp, struct strbuf *sb)
{
	if (!fact_is_known(&timestamp->time.fact))
		return;
	strbuf_add(sb, "%s", timestamp->time.value);
	if (fact_is_known(&timestamp->uptime_s.fact))
		strbuf_add(sb, ", %s after boot", as_age(timestamp->uptime_s.value));
}

static void describe_clocksource(const struct evidence *evidence, bool all, struct strbuf *sb)
{
	(void)all;
	strbuf_add_clocksource(evidence, sb);
}

static void describe_vdso(const struct evidence *evidence, bool all, struct strbuf *sb)
{
	const struct vdso_evidence *vdso = &evidence->vdso;

	if (!all && vdso->fact.state != FACT_ABSENT)
		return;
	if (!fact_is_known(&vdso->fact)) {
		strbuf_add(sb, "%s: %s", vdso->fact.state == FACT_ABSENT ? "none" : "unknown",
			vdso->fact.reason);
		return;
	}
	strbuf_add(sb, "%s exports", *vdso->soname ? vdso->soname : "without a name,");
	for (size_t i = 0; i < vdso->export_count; i++) {
		struct span name = text_span(vdso->exports[i].name);

		/* The prefix differs by architecture and matters to the linker alone. */
		vdso_take_prefix(&name);
		strbuf_add(sb, " %s", name.at);
	}
	if (vdso->led_away)
		strbuf_add(sb,
			"%s %zu functions lead out of it, to the tool that counts their calls "
			"(vdsocheck trace)",
			vdso->export_count ? ";" : "", vdso->led_away);
}

static void describe_vclock(const struct evidence *evidence, bool all, struct strbuf *sb)
{
	const struct vclock_evidence *vclock = &evidence->vclock;

	if (!evidence->live && !all)
		return;
	if (vclock->how == VCLOCK_UNKNOWN) {
		strbuf_add(sb, "unknown: %s", vclock->fact.reason);
		return;
	}
	strbuf_add(sb, "%s (%" PRId64 ")",
		vclock->mode == VCLOCK_MODE_NONE ? "none"
		: *vclock->name                  ? vclock->name
						 : "unknown name",
		vclock->mode);
	if (vclock->how == VCLOCK_READ)
		strbuf_add(sb, ", read from the vDSO data page%s",
			vclock->time_namespace.value ? ", in a time namespace" : "");
	else if (vclock->how == VCLOCK_COPY)
		strbuf_add(sb, ", found on a copy of the vDSO");
	else
		strbuf_add(sb, ", inferred from the clocksource and the proof");
	if (all && vclock->how != VCLOCK_READ && *vclock->fact.reason)
		strbuf_add(sb, " (%s)", vclock->fact.reason);
}

const char *check_mode_word(const struct vclock_evidence *vclock)
{
	if (vclock->how == VCLOCK_UNKNOWN)
		return "";
	if (vclock->mode == VCLOCK_MODE_NONE)
		return "none";
	return *vclock->name ? vclock->name : "other";
}

static void describe_host(const struct evidence *evidence, bool all, struct strbuf *sb)
{
	const struct host_evidence *host = &evidence->host;

	strbuf_add_host(evidence, all ? SIZE_MAX : (size_t)(wrap_columns() - EVIDENCE_INDENT), sb);
	if (!all)
		return;
	if (fact_is_known(&host->invariant_tsc.fact))
		strbuf_add(sb, ", TSC %s",
			!host->invariant_tsc.value   ? "not invariant"
			: tsc_is_invariant(evidence) ? "invariant"
						     : "invariant by CPUID alone");
	if (fact_is_known(&host->boot.fact))
		strbuf_add(sb, "; boot parameters about clocks: %s",
			*host->boot.value ? host->boot.value : "none");
}

/* The values that no sentence has. */
static void describe_details(const struct evidence *evidence, bool all, struct strbuf *sb)
{
	struct memory_stream stream;

	if (!all)
		return;
	document_print_titled(all_evidence_fields, evidence, evidence, memory_stream_open(&stream));
	memory_stream_close(&stream);
	if (stream.text)
		strbuf_add(sb, "%s", stream.text + strlen("; "));
	free(stream.text);
}

/* The paths share one number, unless theirs differ. */
static void describe_counts(const struct evidence *evidence, struct strbuf *sb)
{
	struct entry_counts vdso = counts_by_path(evidence, PATH_VDSO);
	struct entry_counts libc = counts_by_path(evidence, PATH_LIBC);

	if ((uint64_t)vdso.entered * libc.attempts == (uint64_t)libc.entered * vdso.attempts)
		strbuf_add(sb, "%s of %s", as_count((uint64_t)vdso.entered + libc.entered),
			as_count((uint64_t)vdso.attempts + libc.attempts));
	else
		strbuf_add(sb, "by the vDSO %s of %s, by libc %s of %s", as_count(vdso.entered),
			as_count(vdso.attempts), as_count(libc.entered), as_count(libc.attempts));
}

/* True if no call met a clocksource that the vDSO does not support, though it kept changing. */
static bool kept_changing(const struct evidence *evidence)
{
	return evidence->clocksource.changes > 1 && !counts_deciding(evidence).entered;
}

static void describe_proof(const struct evidence *evidence, bool all, struct strbuf *sb)
{
	const struct proof_evidence *proof = &evidence->proof;
	int signal = counts_deciding(evidence).signal;

	if (!evidence->live && !all)
		return;
	if (!fact_is_known(&proof->fact)) {
		strbuf_add(sb, "not taken: %s",
			*proof->fact.reason ? proof->fact.reason : "nothing was measured");
		return;
	}
	if (signal) {
		strbuf_add(sb, "the calls end with %s", fault_signal_name(signal));
		return;
	}
	if (kept_changing(evidence))
		strbuf_add(sb, "not conclusive, since the clocksource changed: ");
	describe_counts(evidence, sb);
	strbuf_add(sb, " calls entered the kernel (%s)",
		proof->method == PROOF_SECCOMP ? "seccomp" : "ptrace");
	if (all && *proof->note)
		strbuf_add(sb, "; %s", proof->note);
}

/* Names the calls that differ; else how many were compared. */
static void describe_values(const struct evidence *evidence, bool all, struct strbuf *sb)
{
	unsigned agreeing = 0;

	for (size_t i = 0; i < evidence->call_count && all; i++) {
		const struct call_evidence *call = &evidence->calls[i];

		agreeing += fact_is_flag(&call->agrees, true);
		if (!fact_is_flag(&call->agrees, false))
			continue;
		strbuf_add(sb, "%s%s %s", sb->used ? ", " : "", as_call(call->call, call->clock),
			as_ahead(call->ahead_ns));
	}
	if (!sb->used && agreeing)
		strbuf_add(sb, "%u calls by the vDSO agree with system calls", agreeing);
}

static void describe_timing(const struct evidence *evidence, bool all, struct strbuf *sb)
{
	const struct timing_evidence *timing = &evidence->timing;
	const struct fact *fact =
		fact_is_known(&timing->fact) ? &timing->syscall_floor_ns.fact : &timing->fact;

	(void)all;
	if (evidence->live && !fact_is_known(fact))
		strbuf_add(
			sb, "not taken: %s", *fact->reason ? fact->reason : "nothing was measured");
}

static void describe_ntp(const struct evidence *evidence, bool all, struct strbuf *sb)
{
	if (all && evidence->live && evidence->ntp.fact.state != FACT_UNREAD)
		strbuf_add_ntp(&evidence->ntp, sb);
}

const struct evidence_line evidence_lines[] = {
	[LINE_CLOCKSOURCE] = {"clocksource", describe_clocksource},
	[LINE_VDSO] = {"vDSO", describe_vdso},
	[LINE_VCLOCK] = {"vclock mode", describe_vclock},
	[LINE_PROOF] = {"proof", describe_proof},
	[LINE_VALUES] = {"values", describe_values},
	[LINE_TIMING] = {"timing", describe_timing},
	[LINE_NTP] = {"NTP", describe_ntp},
	[LINE_HOST] = {"host", describe_host},
	[LINE_DETAILS] = {"details", describe_details},
};

/* ---- the cost ---- */

/* More than one CPU's time is not a percentage of it. */
static void add_cpu_share(struct strbuf *sb, double ns, double rate)
{
	double percent = 100 * cost_seconds(rate, ns, 0);

	if (percent < 0.05)
		strbuf_add(sb, "less than 0.1%% of one CPU");
	else if (percent < 99.95)
		strbuf_add(sb, "%.1f%% of one CPU", percent);
	else
		strbuf_add(sb, "%.1f CPUs", percent / 100);
}

/* A rate that no thread can reach is only used where the user gave it. */
static void add_rate(const struct cost *cost, double ns, struct strbuf *sb)
{
	bool given = fact_is_known(&cost->rate.fact);
	double rate = given ? cost->rate.value : EXAMPLE_RATE;
	double most = cost_calls_per_thread(cost);

	if (given || rate <= most) {
		strbuf_add(sb, ": at %s calls/s, ", as_count((uint64_t)rate));
		add_cpu_share(sb, ns, rate);
	}
	if (rate > most)
		strbuf_add(sb, "%s one thread makes at most %s calls/s", given ? ";" : ":",
			as_count((uint64_t)most));
}

void check_add_cost(const struct diagnosis *diagnosis, struct strbuf *sb)
{
	const struct cost *cost = &diagnosis->cost;
	bool served = diagnosis->verdict.kind == VERDICT_OK;
	double lost = served ? 0 : cost->lost_ns;

	if (!fact_is_known(&cost->call_ns.fact) || (served && !fact_is_known(&cost->rate.fact)))
		return;
	strbuf_add(sb, "%s ns %sper call", round_ns(lost > 0 ? lost : cost->call_ns.value),
		lost > 0 ? "lost " : "");
	if (served) {
		strbuf_add(sb, ": at %s calls/s, ", as_count((uint64_t)cost->rate.value));
		add_cpu_share(sb, cost->call_ns.value, cost->rate.value);
		strbuf_add(sb, "; as system calls ");
		add_cpu_share(sb, cost->syscall_ns, cost->rate.value);
	} else {
		add_rate(cost, lost > 0 ? lost : cost->call_ns.value, sb);
	}
	if (!served && lost <= 0 && cost->measured)
		strbuf_add(sb, "; the vDSO would save nothing: the counter alone takes %s ns",
			round_ns(cost->vdso_ns.value));
	strbuf_add(sb, ".");
}

/* ---- the table of calls ---- */

struct calls_table {
	const struct check_request *request;
	enum table_form form;
};

static void print_call(const void *object, const void *whole, FILE *out)
{
	const struct call_evidence *call = object;

	fputs(as_call(call->call, call->clock), out);
	if (call->decides && ((const struct calls_table *)whole)->form == TABLE_MARKDOWN)
		fputs(" (*)", out);
}

/* A narrower line has room for the calls with a word each. */
#define NARROW 76

static void print_remark(const void *object, const void *whole, FILE *out)
{
	const struct calls_table *table = whole;
	bool short_words = table->form == TABLE_TEXT && wrap_columns() < NARROW;
	const struct call_evidence *call = object;
	enum call_path judged = call_judged_path(call);
	const struct path_evidence *path = &call->path[judged];
	char libc[40];
	const char *remark;

	snprintf(libc, sizeof(libc), "libc is %s", as_ahead(call->libc_ahead_ns));
	if (path->signal)
		remark = fault_signal_name(path->signal);
	else if (path->failed)
		remark = short_words ? "fails" : fault_error_text(path->error);
	else if (fact_is_flag(&call->agrees, false))
		remark = short_words ? "differs" : as_ahead(call->ahead_ns);
	else if (!path->attempts)
		remark = short_words ? "unproven" : "not proven";
	else if (path->entered == path->attempts)
		remark = short_words ? "kernel" : "always falls back";
	else if (path->entered)
		remark = short_words ? "sometimes" : "sometimes falls back";
	else if (call->path[PATH_LIBC].entered)
		remark = short_words ? "not libc" : "libc falls back";
	else if (call->path[PATH_LIBC].failed)
		remark = short_words ? "not libc" : "libc fails";
	else if (fact_is_flag(&call->libc_agrees, false))
		remark = short_words ? "not libc" : libc;
	else if (kept_changing(&table->request->evidence))
		remark = "changing";
	else if (judged == PATH_VDSO)
		remark = short_words ? "vDSO" : "served by the vDSO";
	else
		remark = short_words ? "no call" : "no system call";
	fputs(remark, out);
}

#define OF struct call_evidence

static const struct field call_columns[] = {
	{TEXT("call", call), .title = "ns per call", .width = 34, .left = true, .cell = print_call},
	{NS("vdso_ns", path[PATH_VDSO].min_ns), .fact = FACT(path[PATH_VDSO].fact), .title = "vDSO",
		.width = 8},
	{NS("libc_ns", path[PATH_LIBC].min_ns), .fact = FACT(path[PATH_LIBC].fact),
		.options = FIELD_SPARE, .title = "libc", .width = 8},
	{NS("syscall_ns", path[PATH_SYSCALL].min_ns), .fact = FACT(path[PATH_SYSCALL].fact),
		.title = "syscall", .width = 8},
	{TEXT("remark", call), .title = "", .left = true, .cell = print_remark},
	{0},
};

#undef OF

void check_write_calls(
	const struct check_request *request, bool all, enum table_form form, FILE *out)
{
	const struct evidence *evidence = &request->evidence;
	struct call_evidence calls[CALL_MAX];
	size_t count = 0;

	for (int deciding = 1; deciding >= 0; deciding--) {
		for (size_t i = 0; i < evidence->call_count; i++) {
			const struct call_evidence *call = &evidence->calls[i];

			if (call->decides == deciding && (deciding || all))
				calls[count++] = *call;
		}
	}
	table_write(&(struct table){.fields = call_columns,
			    TABLE_ROWS(calls, count),
			    .whole = &(struct calls_table){request, form},
			    .form = form,
			    .columns = wrap_columns()},
		out);
}
