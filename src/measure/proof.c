/* SPDX-License-Identifier: MIT */
/*
 * The proof: which of its methods holds here, and the calls that all methods make, spread over
 * the CPUs. Whether a call entered the kernel, each method sees in its own way (proof_seccomp.c,
 * proof_ptrace.c).
 */
#include "measure/proof.h"

#include <stdio.h>
#include <string.h>

#include "base/fault.h"
#include "base/units.h"
#include "measure/cpus.h"
#include "proof_run.h"

/* Of a larger machine's CPUs, evenly spread ones are used. */
#define PROOF_CPUS_MAX 64

/* ---- the calls ---- */

/* Calls of one row by one path on one CPU. */
struct part {
	struct proof_run *run;
	proof_run_make *make;
	size_t call;
	int path;
	uint32_t count;
};

static void make_calls(void *argument)
{
	struct part *part = argument;
	struct proof_run *run = part->run;
	const struct call *call = &run->calls->rows[part->call].path[part->path];
	struct path_evidence *path = &run->evidence.calls[part->call].path[part->path];

	for (uint32_t i = 0; i < part->count; i++) {
		bool caught;

		path->attempts++;
		run->serial++;
		run->path = part->path;
		run->call = (int32_t)part->call;
		caught = part->make(call);
		run->call = PROOF_RUN_NOTHING;
		path->entered += caught;
	}
}

/* A call that crashed once is not made again. */
static void run_here(struct proof_run *run, proof_run_make *make, uint32_t count)
{
	for (size_t i = 0; i < run->calls->count; i++) {
		for (int path = PATH_VDSO; path <= PATH_LIBC; path++) {
			struct part part = {run, make, i, path, count};
			struct path_evidence *counts = &run->evidence.calls[i].path[path];

			if (!run->calls->rows[i].path[path].function.any || counts->signal)
				continue;
			counts->signal = fault_guard(make_calls, &part);
			run->call = PROOF_RUN_NOTHING;
		}
	}
}

void proof_run_try_raw(struct proof_run *run)
{
	for (size_t i = 0; i < run->calls->count; i++) {
		const struct call *call = &run->calls->rows[i].path[PATH_SYSCALL];

		if (call->function.any)
			run->evidence.calls[i].raw_error = call_error(call);
	}
}

void proof_run_all(struct proof_run *run, proof_run_make *make)
{
	static int cpus[CPUS_MAX];
	size_t used = cpus_spread(cpus, cpus_list(cpus, CPUS_MAX), PROOF_CPUS_MAX);
	uint32_t done = 0;

	for (size_t i = 0; i < used; i++) {
		uint32_t until = (uint32_t)((i + 1) * PROOF_CALLS / used);

		if (!cpus_pin(cpus[i]))
			break;
		run_here(run, make, until - done);
		run->evidence.proof.cpus++;
		done = until;
	}
	/* Where pinning is refused, the calls are made on whatever CPU this is. */
	if (done < PROOF_CALLS)
		run_here(run, make, PROOF_CALLS - done);
	if (!run->evidence.proof.cpus)
		run->evidence.proof.cpus = 1;
}

/* ---- the methods ---- */

struct method {
	enum proof_method id;
	void (*take)(struct proof_run *run, const struct deadline *deadline);
};

/* In the order of preference: seccomp is quicker and disturbs less. */
static const struct method methods[] = {
	{PROOF_SECCOMP, proof_seccomp_take},
	{PROOF_PTRACE, proof_ptrace_take},
};

/* Why each method failed, and once where two fail alike; each has room for its share. */
static void join_reasons(const struct fact *refused, size_t count, char note[FACT_REASON_SIZE])
{
	int share = FACT_REASON_SIZE / (int)ARRAY_SIZE(methods) - (int)strlen("; ");
	size_t used = 0;

	note[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && strcmp(refused[i].reason, refused[i - 1].reason) == 0)
			continue;
		used += (size_t)snprintf(note + used, FACT_REASON_SIZE - used, "%s%.*s",
			used ? "; " : "", share, refused[i].reason);
	}
}

void proof_take(
	struct evidence *evidence, const struct call_table *calls, const struct deadline *deadline)
{
	static struct proof_run run;
	struct proof_evidence *proof = &evidence->proof;
	bool taken = fact_is_known(&proof->fact);
	struct fact refused[ARRAY_SIZE(methods)];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		struct deadline share = deadline_half(deadline);

		if (taken && methods[i].id != proof->method)
			continue;
		run = (struct proof_run){.calls = calls, .call = PROOF_RUN_NOTHING};
		run.evidence = *evidence;
		run.evidence.proof.cpus = 0;
		methods[i].take(&run, &share);
		if (fact_is_known(&run.fact)) {
			run.evidence.proof.method = methods[i].id;
			fact_set_known(&run.evidence.proof.fact);
			*evidence = run.evidence;
			break;
		}
		refused[count++] = run.fact;
	}
	/* A part that fails once the proof was taken changes nothing. */
	if (taken)
		return;
	join_reasons(refused, count, proof->note);
	if (count > 0 && !fact_is_known(&proof->fact))
		fact_set(&proof->fact, refused[count - 1].state, "%s", proof->note);
}
