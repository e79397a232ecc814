/* SPDX-License-Identifier: MIT */
/* trace: what is counted, and what the counts mean. */
#include <errno.h>
#include <linux/audit.h>
#include <math.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/memory.h"
#include "base/text.h"
#include "commands.h"
#include "judge.h"
#include "trace/count.h"
#include "unit/unit.h"

static struct trace_plan plan;
static struct trace_report run;
static struct trace_request *const request = &run.request;
static struct trace_evidence *const trace = &run.trace;
static struct trace_diagnosis *const diagnosis = &run.diagnosis;

static void make_plan(void)
{
	trace_plan_make(&plan);
}

static void each_clock_call_of_this_machine_is_planned_once(void **state)
{
	(void)state;
	make_plan();
	assert_in_range(plan.call_count, 2, TRACE_CALL_MAX);
	assert_in_range(plan.row_count, plan.call_count, TRACE_ROW_MAX);
	for (size_t i = 0; i < plan.call_count; i++) {
		const struct trace_call *call = &plan.calls[i];

		assert_int_equal(
			call->number[TRACE_NATIVE], seccomp_syscall_resolve_name(call->name));
		assert_ptr_equal(trace_plan_call(&plan, call->name), call);
		assert_true(call->rest == call->row || call->rest == call->row + TRACE_CLOCK_MAX);
	}
	assert_non_null(trace_plan_call(&plan, "clock_gettime"));
	assert_null(trace_plan_call(&plan, "getrandom"));
}

#if defined(SYS_clock_gettime) && defined(SYS_getpid)
static void calls_of_an_unknown_architecture_are_not_counted(void **state)
{
	(void)state;
	make_plan();
	assert_int_equal(trace_plan_find(&plan, 0, SYS_clock_gettime, 0), TRACE_ROW_MAX);
	assert_int_equal(
		trace_plan_find(&plan, AUDIT_ARCH_MIPS, SYS_clock_gettime, 0), TRACE_ROW_MAX);
	assert_int_equal(
		trace_plan_find(&plan, plan.arch[TRACE_NATIVE], SYS_getpid, 0), TRACE_ROW_MAX);
	assert_true(trace_plan_find(&plan, plan.arch[TRACE_NATIVE], SYS_clock_gettime, 1) <
		    TRACE_ROW_MAX);
}
#endif

/* ---- what the counts mean ---- */

static enum trace_verdict verdict(void)
{
	return (enum trace_verdict)(run.report.answer - trace_answers);
}

/* A host where gettimeofday takes 530 ns by system call, and the vDSO would take 28 ns. */
static void make_host(bool falls_back)
{
	struct call_evidence *call = &trace->host.calls[0];

	make_plan();
	*request = (struct trace_request){.plan = &plan, .target = TARGET_PROCESS};
	*trace = (struct trace_evidence){.request = request, .program = {.pid = 1}};
	fact_set_known(&trace->counted);
	call = &trace->host.calls[0];
	trace->host.call_count = 1;
	fact_set_known(&trace->host.proof.fact);
	*call = (struct call_evidence){.call = "gettimeofday", .decides = true};
	call->path[PATH_VDSO] = (struct path_evidence){.available = true,
		.fact.state = FACT_KNOWN,
		.min_ns = falls_back ? 530 : 28,
		.attempts = 1000,
		.entered = falls_back ? 1000 : 0};
	call->path[PATH_SYSCALL] =
		(struct path_evidence){.available = true, .fact.state = FACT_KNOWN, .min_ns = 530};
	if (falls_back)
		fact_set_known(&trace->host.copy.what_if_ns.fact);
	trace->host.copy.what_if_ns.value = 28;
}

static void set_count(const char *name, uint64_t count)
{
	for (size_t row = 0; row < plan.row_count; row++) {
		if (strcmp(plan.rows[row].call->name, name) == 0) {
			trace->counts[row] = count;
			return;
		}
	}
	fail_msg("%s is not planned", name);
}

/* perf stat -a for 5 s, in the write-up that made the problem known. */
static void the_published_sum(void **state)
{
	(void)state;
	for (int falls_back = 0; falls_back < 2; falls_back++) {
		make_host(falls_back);
		set_count("gettimeofday", 706702 + 1718430);
		trace_judge(&run);
		assert_int_equal(verdict(), TRACE_FALLBACK);
		assert_int_equal(diagnosis->sums.avoidable, 2425132);
		assert_true(diagnosis->sums.lost_s.value > 1.2174 &&
			    diagnosis->sums.lost_s.value < 1.2175);
	}
}

/* Only BPF programs count system calls; the stubs count the calls into the vDSO without. */
static void without_counts_of_system_calls_reads_say_what_the_proof_allows(void **state)
{
	static const struct {
		bool is_proven;
		uint32_t entered; /* of 1,000 */
		uint64_t reads;
		enum trace_verdict verdict;
	} rows[] = {{true, 0, 500, TRACE_SERVED}, {true, 1000, 500, TRACE_FALLBACK},
		{true, 0, 0, TRACE_UNKNOWN}, {true, 1000, 0, TRACE_UNKNOWN},
		{true, 300, 500, TRACE_UNKNOWN}, {false, 0, 500, TRACE_UNKNOWN}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t row = trace_plan_call(&plan, "gettimeofday")->row;

		make_host(rows[i].entered == 1000);
		trace->host.calls[0].path[PATH_VDSO].entered = rows[i].entered;
		fact_set_known(&trace->served);
		fact_set(&trace->counted, FACT_DENIED, "bpf(2) is refused");
		request->target = TARGET_PROGRAM;
		if (!rows[i].is_proven)
			fact_set(&trace->host.proof.fact, FACT_DENIED, "seccomp");
		trace->vdso_calls[row] = rows[i].reads;
		trace_judge(&run);
		assert_int_equal(verdict(), rows[i].verdict);
		assert_int_equal(diagnosis->sums.avoidable,
			rows[i].verdict == TRACE_FALLBACK ? rows[i].reads : 0);
		assert_int_equal(
			fact_is_known(&diagnosis->counted), rows[i].verdict == TRACE_FALLBACK);
		/* Each has the reason, and what counts them. */
		assert_int_equal(diagnosis->missed.count, 1);
		assert_string_equal(diagnosis->missed.list[0].reason,
			"bpf(2) is refused; 'strace -f -c -e trace=clock_gettime,gettimeofday' "
			"counts them");
	}
	/* What was not even served has no verdict. */
	fact_set(&trace->served, FACT_DENIED, "ptrace: Operation not permitted");
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_UNKNOWN);
	assert_string_equal(
		run.report.summary, "the system calls of this program were not counted.");
	assert_int_equal(diagnosis->missed.count, 2);
	assert_string_equal(diagnosis->missed.list[1].reason, "ptrace: Operation not permitted");
}

/* The stubs count a call before it returns, which may be an error. */
static void calls_that_were_not_proven_to_succeed_are_not_said_to_be_served(void **state)
{
	static const struct {
		const char *call;
		uint32_t failed; /* calls of the proof */
		bool is_counted; /* the system calls are */
		int64_t served;
	} rows[] = {{"gettimeofday", 0, false, 500}, {"gettimeofday", 1000, false, 0},
		{"gettimeofday", 1000, true, 0}, {"time", 0, false, 0}, {"time", 0, true, 500}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct trace_line *line = diagnosis->lines;

		make_host(false);
		request->target = TARGET_PROGRAM;
		trace->host.calls[0].path[PATH_VDSO].failed = rows[i].failed;
		fact_set_known(&trace->served);
		if (!rows[i].is_counted)
			fact_set(&trace->counted, FACT_DENIED, "bpf(2) is refused");
		trace->vdso_calls[trace_plan_call(&plan, rows[i].call)->row] = 500;
		trace_judge(&run);
		assert_int_equal(diagnosis->line_count, 1);
		assert_int_equal(line->served.value, rows[i].served);
		assert_int_equal(fact_is_known(&line->served.fact), rows[i].served > 0);
		assert_int_equal(diagnosis->sums.served, rows[i].served);
		assert_int_equal(trace_line_calls(line), 500);
	}
	/* Those of another call are. */
	make_host(false);
	request->target = TARGET_PROGRAM;
	fact_set_known(&trace->served);
	fact_set(&trace->counted, FACT_DENIED, "bpf(2) is refused");
	trace->vdso_calls[trace_plan_call(&plan, "gettimeofday")->row] = 500;
	trace->vdso_calls[trace_plan_call(&plan, "time")->row] = 3;
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_SERVED);
	assert_non_null(strstr(run.report.summary, ", 500 of them served by the vDSO: whether"));
}

/* Each row is a case of the rule, with fewer and with more system calls than calls into the vDSO.
 */
static void each_call_is_a_system_call_or_served_or_not_proven(void **state)
{
	enum { SERVES, FALLS_BACK, FAILS, VARIES, NO_PROOF, NO_EVIDENCE };
	static const struct {
		const char *name;
		int host;
		bool is_simulated, is_counted;
		uint64_t by_kernel, into_vdso; /* what was counted, and what is said: */
		uint64_t count, served, unproven;
		bool has_count; /* known, though the system calls were not counted */
	} rows[] = {
		{"served", SERVES, false, true, 3, 500, 3, 500, 0, true},
		{"served, counts refused", SERVES, false, false, 0, 500, 0, 500, 0, false},
		{"falls back", FALLS_BACK, false, true, 500, 500, 500, 0, 0, true},
		{"falls back, and more by syscall(2)", FALLS_BACK, false, true, 700, 500, 700, 0, 0,
			true},
		{"falls back until the clocksource changes", FALLS_BACK, false, true, 200, 500, 200,
			300, 0, true},
		{"falls back by another name", FALLS_BACK, false, true, 0, 500, 0, 0, 0, true},
		{"falls back, counts refused", FALLS_BACK, false, false, 0, 500, 500, 0, 0, true},
		{"fails", FAILS, false, true, 200, 500, 200, 0, 300, true},
		{"fails, by system call", FAILS, false, true, 500, 500, 500, 0, 0, true},
		{"fails, counts refused", FAILS, false, false, 0, 500, 0, 0, 500, false},
		{"falls back sometimes", VARIES, false, true, 200, 500, 200, 300, 0, true},
		{"falls back sometimes, counts refused", VARIES, false, false, 0, 500, 0, 0, 500,
			false},
		{"was not proven", NO_PROOF, false, true, 0, 500, 0, 500, 0, true},
		{"was not proven, counts refused", NO_PROOF, false, false, 0, 500, 0, 0, 500,
			false},
		{"was not measured", NO_EVIDENCE, false, true, 1, 500, 1, 499, 0, true},
		{"was not measured, counts refused", NO_EVIDENCE, false, false, 0, 500, 0, 0, 500,
			false},
		{"as if it fell back", SERVES, true, true, 500, 500, 500, 0, 0, true},
		{"as if it fell back, and a filter refuses", SERVES, true, true, 100, 500, 500, 0,
			0, true},
		{"as if it fell back, and more by syscall(2)", SERVES, true, true, 700, 500, 700, 0,
			0, true},
		{"as if it fell back, counts refused", SERVES, true, false, 0, 500, 500, 0, 0,
			true},
		{"as if it fell back, not measured", NO_EVIDENCE, true, false, 0, 500, 500, 0, 0,
			true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct trace_line *line = diagnosis->lines;
		struct path_evidence *vdso = &trace->host.calls[0].path[PATH_VDSO];

		make_host(rows[i].host == FALLS_BACK);
		vdso->failed = rows[i].host == FAILS ? 1 : 0;
		vdso->entered = rows[i].host == VARIES ? 300 : vdso->entered;
		vdso->attempts = rows[i].host == NO_PROOF ? 0 : vdso->attempts;
		trace->host.call_count = rows[i].host != NO_EVIDENCE;
		request->target = TARGET_PROGRAM;
		request->as_if_fallback = rows[i].is_simulated;
		fact_set_known(&trace->served);
		if (!rows[i].is_counted)
			fact_set(&trace->counted, FACT_DENIED, "bpf(2) is refused");
		set_count("gettimeofday", rows[i].by_kernel);
		trace->vdso_calls[trace_plan_call(&plan, "gettimeofday")->row] = rows[i].into_vdso;
		trace_judge(&run);
		if (!rows[i].count && !rows[i].served && !rows[i].unproven) {
			assert_int_equal(diagnosis->line_count, 0);
			continue;
		}
		assert_int_equal(diagnosis->line_count, 1);
		if (line->count != rows[i].count || line->served.value != (int64_t)rows[i].served ||
			line->unproven != rows[i].unproven)
			fail_msg("%s: %d, %d and %d", rows[i].name, (int)line->count,
				(int)line->served.value, (int)line->unproven);
		assert_int_equal(fact_is_known(&line->counted), rows[i].has_count);
		assert_int_equal(fact_is_known(&line->served.fact), !rows[i].unproven);
	}
}

/* The CPU time is that of the program and of what it waited for, or of a process alone. */
static void there_is_no_share_of_a_time_that_others_are_not_in(void **state)
{
	(void)state;
	for (int is_partial = 0; is_partial < 2; is_partial++) {
		make_host(false);
		set_count("gettimeofday", 100000);
		fact_set_real(&trace->cpu_s, is_partial ? 2.2 : 0.08);
		trace->cpu_is_partial = is_partial;
		trace_judge(&run);
		assert_non_null(strstr(run.report.summary,
			is_partial
				? "this program spent about 53.0 ms on 100,000 clock system calls, and would "
				  "spend 2.80 ms if the vDSO served them."
				: "this program spent about 66% of its CPU time on 100,000 clock system calls, "
				  "and would spend 9.4% if the vDSO served them."));
	}
	/* The seconds of a whole host are those of one CPU. */
	request->target = TARGET_HOST;
	fact_set_real(&trace->duration_s, 0.05);
	trace_judge(&run);
	assert_non_null(strstr(run.report.summary, "(100,000 calls, 106% of one CPU)"));
}

/* What is asked of the whole host is the host. */
static void programs_that_bypass_the_vdso_of_a_host_are_said_and_it_is_ok(void **state)
{
	(void)state;
	make_host(false);
	request->target = TARGET_HOST;
	set_count("gettimeofday", 100000);
	fact_set_real(&trace->duration_s, 100);
	trace->callers.bypassing = 1;
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_OK);
	assert_string_equal(run.report.summary,
		"the vDSO serves this host; 1 process bypasses it (100,000 calls, 0.053% of one "
		"CPU).");
	trace->callers.bypassing = 2;
	trace_miss(&trace->missed, MISSED_CALLS, 1, "preempted");
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_OK);
	assert_non_null(
		strstr(run.report.summary, "; 2 processes bypass it (at least 100,000 calls,"));
	/* Calls that were not counted do not change what the host does. */
	memset(trace->counts, 0, sizeof(trace->counts));
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_OK);
	assert_string_equal(run.report.summary,
		"the vDSO serves this host; no process bypasses it, as far as calls were counted.");
	make_host(true);
	request->target = TARGET_HOST;
	set_count("gettimeofday", 100000);
	fact_set_real(&trace->duration_s, 100);
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_FALLBACK);
	assert_string_equal(run.report.summary,
		"the programs of this host spent about 0.053% of one CPU on 100,000 clock system calls "
		"(1,000 per s), and would spend 0.0028% if the vDSO served them. Run 'vdsocheck' for "
		"why it does not.");
	request->target = TARGET_PROCESS;
}

static void no_system_calls_are_the_good_news(void **state)
{
	(void)state;
	make_host(false);
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_OK);
	assert_string_equal(run.report.summary,
		"this program made no clock system call that the vDSO could serve.");
	set_count("clock_gettime", 0); /* of a CPU-time clock, which no vDSO serves */
	make_host(true);
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_OK);
	assert_non_null(strstr(run.report.summary, "made no clock system call"));
}

/* 16,000 samples of a process that has 80% of a CPU, on a host where a read takes 28 ns. */
static const double sample_s = TRACE_SAMPLE_NS / 1e9;

static void set_samples(uint64_t in_vdso)
{
	make_host(false);
	fact_set_real(&trace->duration_s, 20000 * sample_s);
	fact_set_real(&trace->cpu_s, 16000 * sample_s);
	fact_set_known(&trace->sampled.fact);
	trace->sampled.taken = 16000;
	trace->sampled.in_vdso = in_vdso;
	trace_judge(&run);
}

static void samples_in_the_vdso_are_a_share_with_its_error(void **state)
{
	(void)state;
	set_samples(1600);
	assert_int_equal(verdict(), TRACE_OK);
	assert_true(fabs(diagnosis->inside.share_percent - 10) < 1e-9);
	assert_true(fabs(diagnosis->inside.error_percent - 0.25) < 1e-9);
	/* 8% of a CPU and three errors of 0.2%, by 28 ns. */
	assert_true(diagnosis->inside.reads_per_s_most > (0.08 + 0.006) / 28e-9);
	assert_true(diagnosis->inside.reads_per_s_most < (0.08 + 0.0064) / 28e-9);
	/* 10.8% of the time as system calls of 530 ns, beside the other 89.2%. */
	assert_true(fabs(diagnosis->inside.fallback_percent_most -
			    100 / (1 + 0.8923 / (0.1077 * 530 / 28))) < 0.01);
	assert_string_equal(run.report.summary,
		"this program spent 10.0% +/- 0.2% of its CPU time reading the clock in the vDSO, "
		"and would spend at most 70% on a host that falls back; it made no clock system "
		"call that the vDSO could serve.");
}

static void lost_samples_are_like_the_others_and_bound_by_all(void **state)
{
	(void)state;
	set_samples(1600);
	trace->sampled.taken = 10000;
	trace_miss(&trace->missed, MISSED_SAMPLES, 6000, "a full ring");
	trace_judge(&run);
	assert_true(fabs(diagnosis->inside.share_percent - 16) < 1e-9);
	assert_true(fabs(diagnosis->inside.error_percent - 0.4) < 1e-9);
	/* 7,600 samples and three errors in 20,000, by 28 ns. */
	assert_true(diagnosis->inside.reads_per_s_most > (0.38 + 0.006) / 28e-9);
	/* Where more are lost than taken, a bound says nothing. */
	trace_miss(&trace->missed, MISSED_SAMPLES, 4001, "a full ring");
	trace_judge(&run);
	assert_false(fact_is_known(&diagnosis->inside.fact));
	assert_null(strstr(run.report.summary, "at most"));
}

static void a_bound_is_below_all_and_has_no_exponent(void **state)
{
	(void)state;
	set_samples(0);
	fact_set_real(&trace->cpu_s, 2 * sample_s);
	trace_judge(&run);
	assert_string_equal(run.report.summary,
		"this program made no clock system call that the vDSO could serve.");
	fact_set_real(&trace->cpu_s, 4 * sample_s);
	trace_judge(&run);
	assert_non_null(strstr(run.report.summary, " spent less than 75% of its CPU time"));
	fact_set_real(&trace->cpu_s, 1e7 * sample_s);
	trace_judge(&run);
	assert_non_null(strstr(run.report.summary, " spent less than 0.0001% of its CPU time"));
}

/* Their CPU time is not in that of the process. */
static void samples_of_children_are_a_share_of_all_samples(void **state)
{
	(void)state;
	set_samples(1600);
	trace->sampled.taken = 32000;
	trace->sampled.of_others = 16000;
	trace_judge(&run);
	assert_true(fabs(diagnosis->inside.share_percent - 5) < 1e-9);
	trace->cpu_s.value = 0; /* of a process that waits for its children */
	trace_judge(&run);
	assert_true(fabs(diagnosis->inside.share_percent - 5) < 1e-9);
}

/* Their vDSO is another one, which is not looked for. */
static void samples_in_32_bit_code_are_no_share(void **state)
{
	double most;

	(void)state;
	set_samples(0);
	request->target = TARGET_HOST;
	trace_judge(&run);
	most = diagnosis->inside.reads_per_s_most;
	trace_miss(&trace->missed, MISSED_SAMPLES_32_BIT, 1000, "another vDSO");
	trace_judge(&run);
	assert_true(fact_is_known(&diagnosis->inside.fact));
	assert_true(diagnosis->inside.reads_per_s_most == most);
	request->target = TARGET_PROCESS;
	trace_judge(&run);
	assert_false(fact_is_known(&diagnosis->inside.fact));
	request->target = TARGET_PROCESS;
}

static void samples_are_not_in_step_with_what_wakes_each_millisecond(void **state)
{
	unsigned hits[50] = {0};

	(void)state;
	for (uint64_t i = 0; i < 200; i++)
		hits[i * TRACE_SAMPLE_NS % 1000000 * ARRAY_SIZE(hits) / 1000000]++;
	for (size_t i = 0; i < ARRAY_SIZE(hits); i++)
		assert_in_range(hits[i], 2, 6);
}

static void few_samples_in_the_vdso_are_a_bound_alone(void **state)
{
	(void)state;
	set_samples(0);
	assert_true(diagnosis->inside.share_percent == 0);
	assert_non_null(strstr(run.report.summary, " spent less than 0.019% of its CPU time"));
	set_samples(4);
	assert_non_null(strstr(run.report.summary, " spent less than 0.081% of its CPU time"));
	set_samples(5);
	assert_non_null(strstr(run.report.summary, " spent 0.03% +/- 0.01% of its CPU time"));
	fact_set_real(&trace->cpu_s, 0);
	trace_judge(&run);
	assert_false(fact_is_known(&diagnosis->inside.fact));
	assert_null(strstr(run.report.summary, "CPU time"));
}

static void samples_alone_are_no_verdict(void **state)
{
	(void)state;
	set_samples(1600);
	fact_set(&trace->counted, FACT_DENIED, "bpf(2) is refused");
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_UNKNOWN);
	assert_non_null(strstr(run.report.summary, "10.0% +/- 0.2% of its CPU time"));
	assert_non_null(strstr(run.report.summary, "; its system calls were not counted."));
	assert_string_equal(diagnosis->missed.list[0].reason, "bpf(2) is refused");
	/* A host whose reads were not measured has no bound. */
	trace->host.call_count = 0;
	trace_judge(&run);
	assert_true(isnan(diagnosis->inside.reads_per_s_most));
	assert_null(strstr(run.report.summary, "at most"));
}

static void a_program_that_was_not_counted_is_unknown(void **state)
{
	(void)state;
	make_host(true);
	fact_set(&trace->counted, FACT_DENIED, "ptrace: refused");
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_UNKNOWN);
	assert_string_equal(
		run.report.summary, "the system calls of this program were not counted.");
	assert_string_equal(diagnosis->missed.list[0].reason, "ptrace: refused");
}

static void why_only_this_program(void **state)
{
	(void)state;
	make_host(false);
	set_count("gettimeofday", 100);
	trace->program.is_static = true;
	trace_judge(&run);
	assert_int_equal(diagnosis->hints.count, 1);
	assert_non_null(strstr(diagnosis->hints.list[0], "without glibc"));
	assert_null(strstr(diagnosis->hints.list[0], "newer"));
	trace->program.has_glibc = true;
	trace_judge(&run);
	assert_non_null(strstr(diagnosis->hints.list[0], "Link it against a newer one"));
	make_host(false);
	set_count("gettimeofday", 100);
	trace_judge(&run);
	assert_non_null(strstr(diagnosis->hints.list[0], "may hide the vDSO"));
	fact_set_known(&trace->served);
	trace_judge(&run);
	assert_non_null(strstr(diagnosis->hints.list[0], "did not go through the vDSO"));
	make_host(true);
	set_count("gettimeofday", 100);
	trace_judge(&run);
	assert_int_equal(diagnosis->hints.count, 0); /* the whole host is affected */
}

static void what_made_the_calls_is_the_cause(void **state)
{
	static const struct {
		enum trace_origin origin;
		const char *hint;
		size_t hints;
	} cases[] = {
		{TRACE_FROM_VDSO, "They were made by the vDSO, which could not", 1},
		{TRACE_FROM_SYSCALL_FUNCTION,
			"They were made by syscall(2) of libc: clock_gettime(3)", 1},
		{TRACE_FROM_LIBC, "libc, which does not use the vDSO here: f in /opt/thing", 2},
		{TRACE_FROM_CODE, "code that does not call libc for it: f in /opt/thing.", 2},
		{TRACE_FROM_UNKNOWN, "It is statically linked", 1},
	};
	struct trace_place places[2] = {
		{.call = "gettimeofday", .count = 100, .function = "f", .module = "/opt/thing"},
		{.call = "gettimeofday", .count = 40}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		make_host(false);
		set_count("gettimeofday", 100);
		trace->program.is_static = true;
		trace->call_places = (struct trace_places){.list = places, .count = 1};
		for (size_t row = 0; row < plan.row_count; row++) {
			if (trace->counts[row])
				places[0].row = places[1].row = row;
		}
		places[0].origin = cases[i].origin;
		trace_judge(&run);
		assert_int_equal(diagnosis->hints.count, cases[i].hints);
		assert_non_null(strstr(diagnosis->hints.list[0], cases[i].hint));
	}
	places[0].origin = TRACE_FROM_CODE;
	places[0].count = 60;
	trace->call_places.count = 2;
	trace_judge(&run);
	assert_non_null(strstr(diagnosis->hints.list[0], "Most of them (60%) were made by code"));
	places[1] =
		(struct trace_place){.row = places[0].row, .count = 30, .origin = TRACE_FROM_LIBC};
	set_count("gettimeofday", 200); /* more places are not shown */
	trace_judge(&run);
	assert_non_null(strstr(diagnosis->hints.list[0], "It is statically linked"));
	set_count("gettimeofday", 100);
	places[1].origin = TRACE_FROM_UNKNOWN;
	places[0].count = 40;
	places[1].count = 60; /* where these were made is not known */
	trace_judge(&run);
	assert_non_null(strstr(diagnosis->hints.list[0], "It is statically linked"));
	trace->call_places.count = 0;
}

static void without_a_proof_there_is_no_verdict(void **state)
{
	(void)state;
	make_host(false);
	fact_set(&trace->host.proof.fact, FACT_DENIED, "refused");
	set_count("gettimeofday", 100);
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_UNKNOWN);
	assert_non_null(strstr(run.report.summary, " is not proven: refused."));
}

/* Neither is what a vDSO serves called another call. */
static void a_host_that_was_not_measured_is_unknown(void **state)
{
	(void)state;
	for (int is_served_call = 0; is_served_call < 2; is_served_call++) {
		make_host(false);
		trace->host.call_count = 0;
		fact_set(&trace->host.proof.fact, FACT_FAILED, "fork: refused");
		if (!is_served_call)
			set_count("gettimeofday", 288);
		trace_judge(&run);
		assert_int_equal(verdict(), TRACE_UNKNOWN);
		assert_non_null(strstr(run.report.summary,
			is_served_call ? "made 0 clock" : "made 288 clock system calls; whether"));
		assert_non_null(strstr(run.report.summary, "fork: refused"));
	}
}

static void a_few_calls_are_those_of_a_static_library_that_starts(void **state)
{
	(void)state;
	make_host(false);
	fact_set_known(&trace->served);
	set_count("gettimeofday", 2);
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_FALLBACK);
	for (int calls = 2; calls <= 20; calls += 18) {
		make_host(false);
		trace->program.is_static = true;
		fact_set_known(&trace->served);
		set_count("gettimeofday", (uint64_t)calls);
		trace_judge(&run);
		assert_int_equal(verdict(), calls == 2 ? TRACE_OK : TRACE_FALLBACK);
	}
	make_host(false); /* the program may have made more that were not counted */
	set_count("gettimeofday", 2);
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_FALLBACK);
}

static void calls_that_were_not_timed_cost_at_least_the_cheapest(void **state)
{
	(void)state;
	make_host(false);
	fact_set_known(&trace->host.timing.syscall_floor_ns.fact);
	trace->host.timing.syscall_floor_ns.value = 80;
	set_count("clock_gettime", 20000000);
	trace_judge(&run);
	assert_true(diagnosis->lines[0].is_minimum);
	assert_true(diagnosis->lines[0].spent_s > 1.59 && diagnosis->lines[0].spent_s < 1.61);
}

static void what_was_not_counted_has_its_kind_its_count_and_the_reason(void **state)
{
	static const struct {
		enum trace_missed_kind kind;
		uint64_t count;
		const char *reason, *text;
		enum trace_verdict verdict; /* where that alone was missed, and no call was made */
	} rows[] = {
		{MISSED_PROGRAMS, 1, "a 32-bit program",
			"calls into the vDSO of 1 executed program: a 32-bit program", TRACE_OK},
		{MISSED_PROGRAMS, 2, "no vDSO",
			"calls into the vDSO of 2 executed programs: no vDSO", TRACE_OK},
		{MISSED_CHILDREN, 1, "it was let go",
			"calls into the vDSO of the children of 1 program: it was let go",
			TRACE_OK},
		{MISSED_THREADS, 1234, "too many", "system calls of 1,234 threads: too many",
			TRACE_UNKNOWN},
		{MISSED_CALLS, 1, "preempted", "1 system call: preempted", TRACE_UNKNOWN},
		{MISSED_SAMPLES, 3, "a full ring", "3 samples: a full ring", TRACE_OK},
		{MISSED_PRIVILEGES, 3, "they ran without",
			"runs with the privileges of their files: 3 programs: they ran without",
			TRACE_OK},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[TRACE_TEXT_SIZE];

		make_host(false);
		request->target = TARGET_PROGRAM;
		fact_set_known(&trace->served);
		trace_miss(&trace->missed, rows[i].kind, 0, rows[i].reason);
		assert_int_equal(trace->missed.count, 0);
		trace_miss(&trace->missed, rows[i].kind, rows[i].count - 1, rows[i].reason);
		trace_miss(&trace->missed, rows[i].kind, 1, rows[i].reason);
		trace_judge(&run);
		assert_int_equal(verdict(), rows[i].verdict);
		assert_int_equal(diagnosis->missed.count, 1);
		assert_int_equal(
			trace_missed_count(&diagnosis->missed, rows[i].kind), rows[i].count);
		trace_missed_describe(diagnosis->missed.list, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
	/* The last entry stands for more reasons than there is room for: no count is lost. */
	trace->missed.count = 0;
	for (unsigned i = 0; i < 2 * TRACE_MISSED_MAX; i++) {
		char reason[16];

		snprintf(reason, sizeof(reason), "error %u", i);
		trace_miss(&trace->missed, MISSED_PROGRAMS, 1, reason);
	}
	assert_int_equal(trace_missed_count(&trace->missed, MISSED_PROGRAMS), 2 * TRACE_MISSED_MAX);
	trace->missed.count = 0;
	fact_set(&trace->served, FACT_ABSENT, "--no-served is given");
	trace_judge(&run);
	assert_int_equal(diagnosis->missed.list[0].kind, MISSED_SERVED_CALLS);
	assert_string_equal(diagnosis->missed.list[0].reason, "--no-served is given");
	request->target = TARGET_PROCESS;
}

static void where_calls_were_missed_counts_are_the_least(void **state)
{
	(void)state;
	make_host(false);
	fact_set_known(&trace->served);
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_OK);
	trace_miss(&trace->missed, MISSED_CALLS, 1, "preempted");
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_UNKNOWN);
	assert_string_equal(run.report.summary,
		"this program made no clock system call that the vDSO could serve, as far as calls "
		"were counted.");
	set_count("clock_gettime", 5000);
	trace_judge(&run);
	assert_int_equal(verdict(), TRACE_FALLBACK);
	assert_non_null(strstr(run.report.summary, " made at least 5,000 clock system calls"));
}

static void a_program_that_did_not_run_as_if_it_fell_back_is_unknown(void **state)
{
	(void)state;
	for (int is_first = 0; is_first < 2; is_first++) {
		make_host(false);
		request->target = TARGET_PROGRAM;
		request->as_if_fallback = true;
		trace_miss(&trace->missed, MISSED_PROGRAMS, 1, "its address space is limited");
		fact_set(&trace->served, FACT_ABSENT, "its address space is limited");
		if (!is_first)
			fact_set_known(&trace->served);
		trace_judge(&run);
		assert_int_equal(verdict(), TRACE_UNKNOWN);
		assert_string_equal(
			run.report.summary, "this program did not run as if this host fell back.");
		assert_int_equal(diagnosis->missed.count, 1);
	}
}

/* 80 columns and 24 lines, with as many rows as there can be, and names that are too long. */
static void the_answer_fits_a_screen(void **state)
{
	static struct trace_caller callers[5] = {
		{.calls = 9999999, .pid = 4194303, .name = "server"}};
	static struct trace_place places[5];
	const struct style style = {.color = false};

	(void)state;
	for (int is_host = 0; is_host < 2; is_host++) {
		struct memory_stream stream;
		size_t lines = 0;

		set_samples(1600);
		request->target = is_host ? TARGET_HOST : TARGET_PROGRAM;
		request->lists_processes = is_host;
		request->shown = 5;
		for (size_t row = 0; row < plan.row_count; row++)
			trace->counts[row] = 100 * (row + 1);
		for (size_t i = 0; i < COUNT(places); i++) {
			places[i] = (struct trace_place){.call = "clock_gettime",
				.clock = "CLOCK_MONOTONIC",
				.count = 1000000,
				.share_percent = 20,
				.origin = TRACE_FROM_SYSCALL_FUNCTION,
				.row = trace_plan_call(&plan, "gettimeofday")->row};
			memset(places[i].function, 'f', sizeof(places[i].function) - 1);
		}
		memset(callers[1].name, 'n', sizeof(callers[1].name) - 1);
		if (is_host)
			trace->callers =
				(struct trace_callers){.list = callers, .count = COUNT(callers)};
		else
			trace->call_places =
				(struct trace_places){.list = places, .count = COUNT(places)};
		trace_miss(&trace->missed, MISSED_CALLS, 1, "preempted");
		run.report.type = trace_command.report;
		trace_judge(&run);
		trace_formats[0].write(&run, &style, memory_stream_open(&stream));
		memory_stream_close(&stream);
		for (const char *at = stream.text, *end; *at; at = end + 1) {
			end = strchr(at, '\n');
			assert_true(end && end - at <= 80);
			lines++;
		}
		assert_in_range(lines, 15, 24);
		assert_non_null(strstr(stream.text, "\n  others "));
		assert_non_null(strstr(stream.text, is_host ? "nnn...\n" : "fff...\n"));
		free(stream.text);
		trace->callers.count = trace->call_places.count = 0;
	}
	request->target = TARGET_PROCESS;
}

/* ---- the loop ---- */

struct test_source {
	struct trace_source source;
	struct trace_run *run;
	int started, ticked, taken, stopped, finished;
	int64_t next_ns;
};

static void start_source(struct trace_source *source)
{
	((struct test_source *)source)->started++;
}

/* The third time, it ends the run. */
static int64_t tick_source(struct trace_source *source)
{
	struct test_source *test = (struct test_source *)source;

	assert_int_equal(test->started, 1);
	if (++test->ticked == 3)
		test->run->is_over = true;
	return test->next_ns;
}

static void take_source(struct trace_source *source, pid_t ending, const struct span *maps)
{
	assert_true(ending == 7 && !maps);
	((struct test_source *)source)->taken++;
}

static void stop_source(struct trace_source *source)
{
	((struct test_source *)source)->stopped++;
}

/* All have stopped by then: what one takes may last long. */
static void finish_source(struct trace_source *source)
{
	struct test_source *test = (struct test_source *)source;

	for (source = test->run->sources; source; source = source->next)
		assert_int_equal(((struct test_source *)source)->stopped, 1);
	assert_int_equal(test->stopped, 1);
	test->finished++;
}

/* A source that never asks to be called is called with the others. */
static void a_source_is_started_called_in_time_and_finished(void **state)
{
	struct trace_run loop = {.trace = trace};
	struct test_source seldom = {.run = &loop, .next_ns = INT64_MAX}, often = {.run = &loop};
	const struct trace_source functions = {.start = start_source,
		.tick = tick_source,
		.take = take_source,
		.stop = stop_source,
		.finish = finish_source};

	(void)state;
	make_host(false);
	request->target = TARGET_HOST;
	seldom.source = often.source = functions;
	trace_run_add(&loop, &seldom.source);
	trace_run_add(&loop, &often.source);
	trace_run_begin(&loop);
	assert_int_equal(trace_run_wait(&loop), 0);
	assert_int_equal(often.ticked, 3);
	assert_int_equal(seldom.ticked, 3);
	trace_run_take(&loop, 7, NULL);
	assert_int_equal(often.taken, 1);
	trace_run_end(&loop);
	interrupts_release();
	assert_true(often.finished == 1 && seldom.finished == 1 && !loop.sources);
	assert_true(fact_is_known(&trace->duration_s.fact));
	assert_int_equal(trace->cpu_s.fact.state, FACT_ABSENT);
	request->target = TARGET_PROCESS;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_clock_call_of_this_machine_is_planned_once),
#if defined(SYS_clock_gettime) && defined(SYS_getpid)
		cmocka_unit_test(calls_of_an_unknown_architecture_are_not_counted),
#endif
		cmocka_unit_test(the_published_sum),
		cmocka_unit_test(without_counts_of_system_calls_reads_say_what_the_proof_allows),
		cmocka_unit_test(calls_that_were_not_proven_to_succeed_are_not_said_to_be_served),
		cmocka_unit_test(each_call_is_a_system_call_or_served_or_not_proven),
		cmocka_unit_test(there_is_no_share_of_a_time_that_others_are_not_in),
		cmocka_unit_test(no_system_calls_are_the_good_news),
		cmocka_unit_test(samples_in_the_vdso_are_a_share_with_its_error),
		cmocka_unit_test(programs_that_bypass_the_vdso_of_a_host_are_said_and_it_is_ok),
		cmocka_unit_test(a_bound_is_below_all_and_has_no_exponent),
		cmocka_unit_test(samples_of_children_are_a_share_of_all_samples),
		cmocka_unit_test(samples_in_32_bit_code_are_no_share),
		cmocka_unit_test(samples_are_not_in_step_with_what_wakes_each_millisecond),
		cmocka_unit_test(lost_samples_are_like_the_others_and_bound_by_all),
		cmocka_unit_test(few_samples_in_the_vdso_are_a_bound_alone),
		cmocka_unit_test(samples_alone_are_no_verdict),
		cmocka_unit_test(a_program_that_was_not_counted_is_unknown),
		cmocka_unit_test(why_only_this_program),
		cmocka_unit_test(what_made_the_calls_is_the_cause),
		cmocka_unit_test(without_a_proof_there_is_no_verdict),
		cmocka_unit_test(a_host_that_was_not_measured_is_unknown),
		cmocka_unit_test(a_few_calls_are_those_of_a_static_library_that_starts),
		cmocka_unit_test(a_source_is_started_called_in_time_and_finished),
		cmocka_unit_test(calls_that_were_not_timed_cost_at_least_the_cheapest),
		cmocka_unit_test(what_was_not_counted_has_its_kind_its_count_and_the_reason),
		cmocka_unit_test(where_calls_were_missed_counts_are_the_least),
		cmocka_unit_test(a_program_that_did_not_run_as_if_it_fell_back_is_unknown),
		cmocka_unit_test(the_answer_fits_a_screen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
