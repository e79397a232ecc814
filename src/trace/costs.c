/* SPDX-License-Identifier: MIT */
/*
 * Works out what the counted calls cost, and what the samples mean. A call is avoidable if the vDSO
 * serves it on this host, or is one of the deciding calls, which it serves where the clocksource
 * allows. Counts of other calls, such as those of CPU-time clocks, say nothing of the vDSO.
 */
#include <math.h>
#include <string.h>

#include "base/time.h"
#include "judge.h"
#include "model.h"

const struct call_evidence *trace_find_call(
	const struct evidence *host, const struct trace_row *row)
{
	for (size_t i = 0; i < host->call_count; i++) {
		const struct call_evidence *call = &host->calls[i];

		if (strcmp(served_calls[row->call->served].name, call->call) == 0 &&
			(strcmp(call->clock, row->clock) == 0 ||
				row->call->served == SERVED_CLOCK_GETRES))
			return call;
	}
	return NULL;
}

/*
 * What the vDSO does with a call. The proof decides for this host: a path that was only timed may
 * be a system call.
 */
enum by_vdso {
	VDSO_SERVES,
	VDSO_FALLS_BACK,  /* always */
	VDSO_FAILS,       /* sometimes at least */
	VDSO_UNPROVEN,    /* it sometimes falls back, or there is no proof */
	VDSO_IS_PASSED_BY /* by the stubs, as if this host fell back */
};

static enum by_vdso find_proof(const struct call_evidence *call)
{
	const struct path_evidence *vdso = call ? &call->path[PATH_VDSO] : NULL;

	if (!vdso || !vdso->attempts)
		return VDSO_UNPROVEN;
	if (vdso->entered == vdso->attempts)
		return VDSO_FALLS_BACK;
	if (vdso->failed)
		return VDSO_FAILS;
	return vdso->entered ? VDSO_UNPROVEN : VDSO_SERVES;
}

/*
 * For some clocks clock_getres is always a system call. A host that is too busy to be measured has
 * no evidence: as if it fell back, the calls into the vDSO are avoidable.
 */
bool trace_row_is_avoidable(const struct trace_evidence *trace, size_t row)
{
	const struct trace_row *planned = &trace->request->plan->rows[row];
	const enum served_call kind = planned->call->served;
	const struct call_evidence *call = trace_find_call(&trace->host, planned);

	return kind != SERVED_CLOCK_GETRES &&
	       (find_proof(call) == VDSO_SERVES ||
		       call_decides(served_calls[kind].name, planned->clock) ||
		       (!call && trace->request->as_if_fallback && trace->vdso_calls[row]));
}

uint64_t trace_line_calls(const struct trace_line *line)
{
	return line->count + (uint64_t)line->served.value + line->unproven;
}

/*
 * Divides the calls of a row by who served them. The kernel counts the system calls, those that the
 * vDSO makes included, if BPF programs may count; the stubs count the calls into the vDSO, before
 * these return, whatever comes of them.
 */
static void divide_calls(
	const struct trace_evidence *trace, size_t row, enum by_vdso proof, struct trace_line *line)
{
	const bool is_counted = fact_is_known(&trace->counted);
	const uint64_t into_vdso = trace->vdso_calls[row], by_kernel = trace->counts[row];
	const uint64_t surplus = into_vdso > by_kernel ? into_vdso - by_kernel : 0;
	uint64_t served = 0;

	line->count = by_kernel;
	switch (trace->request->as_if_fallback ? VDSO_IS_PASSED_BY : proof) {
	case VDSO_IS_PASSED_BY:
		/* The kernel does not count those that a filter refuses. */
		line->count += surplus;
		break;
	case VDSO_SERVES:
		served = into_vdso;
		break;
	case VDSO_FALLS_BACK:
		/* If the row has no system call, they had another name (measure/call.c). */
		if (!is_counted)
			line->count = into_vdso;
		else if (by_kernel)
			served = surplus;
		break;
	case VDSO_UNPROVEN:
		/* What was no system call was served, as it does not fail. */
		if (is_counted)
			served = surplus;
		else
			line->unproven = surplus;
		break;
	case VDSO_FAILS:
		line->unproven = surplus;
		break;
	}
	line->counted = trace->counted;
	if ((trace->request->as_if_fallback || proof == VDSO_FALLS_BACK) &&
		fact_is_known(&trace->served))
		fact_set_known(&line->counted);
	line->served = (struct number_fact){.fact = trace->served, .value = (int64_t)served};
	if (line->unproven)
		fact_set(&line->served.fact, FACT_ABSENT,
			"that it serves this call here is not proven");
}

/* The cost of one call need not be known where there is none. */
static double all_seconds(uint64_t calls, double ns)
{
	return calls ? cost_seconds((double)calls, ns, 0) : 0;
}

static void set_costs(const struct evidence *host, const struct call_evidence *call,
	enum by_vdso proof, struct trace_line *line)
{
	const struct real_fact *what_if = &host->copy.what_if_ns;

	line->syscall_ns = line->vdso_ns = NAN;
	if (proof == VDSO_SERVES && fact_is_known(&call->path[PATH_VDSO].fact))
		line->vdso_ns = call->path[PATH_VDSO].min_ns;
	else if (call && proof != VDSO_SERVES && call->decides && fact_is_known(&what_if->fact))
		line->vdso_ns = what_if->value;
	if (call && fact_is_known(&call->path[PATH_SYSCALL].fact)) {
		line->syscall_ns = call->path[PATH_SYSCALL].min_ns;
	} else if (fact_is_known(&host->timing.syscall_floor_ns.fact)) {
		line->syscall_ns = host->timing.syscall_floor_ns.value;
		line->is_minimum = true;
	}
	line->spent_s = all_seconds(line->count, line->syscall_ns) +
	                all_seconds((uint64_t)line->served.value, line->vdso_ns) +
	                all_seconds(line->unproven, NAN);
	line->fallback_s = all_seconds(trace_line_calls(line), line->syscall_ns);
}

/* Returns the calls of a row of the plan with their costs. */
static struct trace_line make_line(const struct trace_evidence *trace, size_t row)
{
	const struct trace_row *planned = &trace->request->plan->rows[row];
	const struct call_evidence *call = trace_find_call(&trace->host, planned);
	const enum by_vdso proof = find_proof(call);
	struct trace_line line = {.call = planned->call->name,
		.clock = planned->clock,
		.reads_clock = served_calls[planned->call->served].reads_clock,
		.avoidable = trace_row_is_avoidable(trace, row)};

	divide_calls(trace, row, proof, &line);
	set_costs(&trace->host, call, proof, &line);
	return line;
}

/* Adds a row to the sums, and to the lines if calls were made. */
static void add_line(struct trace_diagnosis *diagnosis, const struct trace_line *line)
{
	struct trace_sums *sums = &diagnosis->sums;
	double lost_s = cost_seconds((double)line->count, line->syscall_ns, line->vdso_ns);

	if (trace_line_calls(line))
		diagnosis->lines[diagnosis->line_count++] = *line;
	sums->calls += line->count;
	sums->served += (uint64_t)line->served.value;
	if (line->reads_clock) {
		sums->reads += trace_line_calls(line);
		sums->reads_by_call += line->count;
		sums->reads_unproven += line->unproven;
		sums->reads_s += line->spent_s;
		sums->fallback_s += line->fallback_s;
	}
	if (line->avoidable)
		sums->avoidable += line->count;
	if (line->avoidable && !isnan(lost_s)) {
		sums->avoidable_s += all_seconds(line->count, line->syscall_ns);
		fact_set_real(&sums->lost_s, sums->lost_s.value + lost_s);
	}
}

/* Sets the cost of the cheapest read in the vDSO, and of the dearest by system call; NAN: unknown.
 */
static void find_read_costs(const struct evidence *host, double *read_ns, double *call_ns)
{
	const struct real_fact *floor = &host->timing.syscall_floor_ns;

	*read_ns = NAN;
	*call_ns = fact_is_known(&floor->fact) ? floor->value : NAN;
	for (size_t i = 0; i < host->call_count; i++) {
		const struct call_evidence *call = &host->calls[i];

		if (call->decides && find_proof(call) == VDSO_SERVES &&
			fact_is_known(&call->path[PATH_VDSO].fact))
			*read_ns = fmin(*read_ns, call->path[PATH_VDSO].min_ns);
		if (call->decides && fact_is_known(&call->path[PATH_SYSCALL].fact))
			*call_ns = fmax(*call_ns, call->path[PATH_SYSCALL].min_ns);
	}
}

/*
 * The number of samples has the error of a Poisson distribution, its square root; more than three
 * times that, it is seldom off. A read takes at least as long as in a loop of reads: in a program
 * it waits for the instructions before it, too. Children have a CPU time of their own.
 */
static void judge_inside(const struct trace_evidence *trace, struct trace_inside *inside)
{
	const bool is_host = trace->request->target == TARGET_HOST;
	const bool is_tree = !is_host && trace->sampled.of_others;
	const struct real_fact *base = is_host ? &trace->duration_s : &trace->cpu_s;
	const double sample_s = (double)TRACE_SAMPLE_NS / NS_PER_SECOND;
	const double all = (double)trace->sampled.taken, found = (double)trace->sampled.in_vdso;
	const double lost = (double)trace_missed_count(&trace->missed, MISSED_SAMPLES);
	const double of_32_bit = (double)trace_missed_count(&trace->missed, MISSED_SAMPLES_32_BIT);
	const double most_s = (found + 3 * sqrt(found) + 3 + lost) * sample_s;
	const double base_s = is_tree ? all * sample_s : base->value;
	double read_ns, call_ns, scale = 1, fallback_s;

	*inside = (struct trace_inside){trace->sampled.fact, NAN, NAN, NAN, NAN, NAN};
	if (!fact_is_known(&inside->fact))
		return;
	if (!is_tree && (!fact_is_known(&base->fact) || base_s < sample_s))
		fact_set(&inside->fact, FACT_ABSENT, "it used no CPU time");
	else if (lost > all)
		fact_set(&inside->fact, FACT_FAILED, "%s samples were lost, more than were taken",
			as_count((uint64_t)lost));
	else if (of_32_bit > 0 && !is_host)
		fact_set(&inside->fact, FACT_ABSENT, "32-bit code ran, whose vDSO is another");
	else if (most_s >= base_s && found < TRACE_FEW_SAMPLES)
		fact_set(&inside->fact, FACT_ABSENT, "it used too little CPU time to be sampled");
	if (!fact_is_known(&inside->fact))
		return;
	find_read_costs(&trace->host, &read_ns, &call_ns);
	/* Samples that were lost are like the others, but all of them may be in the vDSO. */
	if (all > 0)
		scale = fmin(1 + lost / all, fmax(base_s / (all * sample_s), 1));
	inside->share_percent = 100 * found * scale * sample_s / base_s;
	inside->error_percent = 100 * (found > 0 ? sqrt(found) : 3) * scale * sample_s / base_s;
	inside->most_percent = 100 * most_s / base_s;
	inside->reads_per_s_most = most_s * NS_PER_SECOND / read_ns / trace->duration_s.value;
	fallback_s = most_s / read_ns * call_ns;
	inside->fallback_percent_most =
		100 * fallback_s / (is_host ? base_s : fmax(base_s - most_s, 0) + fallback_s);
}

void trace_costs_judge(const struct trace_evidence *trace, struct trace_diagnosis *diagnosis)
{
	diagnosis->counted = diagnosis->listed = trace->counted;
	if (fact_is_known(&trace->served))
		fact_set_known(&diagnosis->listed);
	for (size_t row = 0; row < trace->request->plan->row_count; row++) {
		struct trace_line line = make_line(trace, row);

		add_line(diagnosis, &line);
	}
	if (diagnosis->sums.avoidable)
		fact_set_known(&diagnosis->counted);
	if (!fact_is_known(&diagnosis->counted))
		diagnosis->sums.lost_s.fact = diagnosis->counted;
	judge_inside(trace, &diagnosis->inside);
}
