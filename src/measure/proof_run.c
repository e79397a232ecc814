/* SPDX-License-Identifier: MIT */
#include "measure/proof_run.h"

#include "base/fault.h"
#include "measure/affinity.h"
#include "measure/proof.h"

/* On larger machines that many CPUs, evenly spread. */
#define CPUS_MAX 64

/* The calls of one kind that are made on one CPU. */
struct share {
	struct proof_run *run;
	proof_run_make *make;
	size_t call;
	enum call_path path;
	uint32_t calls;
};

static void make_share(void *argument)
{
	struct share *share = argument;
	struct proof_run *run = share->run;
	const struct call *call = &run->calls->rows[share->call].path[share->path];
	struct path_evidence *path = &run->evidence.calls[share->call].path[share->path];

	for (uint32_t i = 0; i < share->calls; i++) {
		bool caught;

		path->attempts++;
		run->serial++;
		run->path = (int32_t)share->path;
		run->call = (int32_t)share->call;
		caught = share->make(call);
		run->call = PROOF_RUN_NOTHING;
		path->entered += caught;
	}
}

static void try_share(struct share *share)
{
	struct path_evidence *path = &share->run->evidence.calls[share->call].path[share->path];

	if (!share->run->calls->rows[share->call].path[share->path].function.any || path->signal)
		return;
	path->signal = fault_guard(make_share, share);
	share->run->call = PROOF_RUN_NOTHING;
}

static void run_here(struct proof_run *run, proof_run_make *make, uint32_t calls)
{
	struct share share = {.run = run, .make = make, .calls = calls};

	for (share.call = 0; share.call < run->calls->count; share.call++) {
		share.path = PATH_VDSO;
		try_share(&share);
		share.path = PATH_LIBC;
		try_share(&share);
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
	static int cpus[AFFINITY_CPU_MAX];
	size_t allowed = affinity_list(cpus, AFFINITY_CPU_MAX);
	size_t used = allowed < CPUS_MAX ? allowed : CPUS_MAX;
	uint32_t done = 0;

	for (size_t i = 0; i < used; i++) {
		uint32_t until = (uint32_t)((i + 1) * PROOF_CALLS / used);

		if (!affinity_pin(cpus[i * allowed / used]))
			break;
		run_here(run, make, until - done);
		run->evidence.proof.cpus++;
		done = until;
	}
	/* Where pinning is refused the calls are made wherever we are. */
	if (done < PROOF_CALLS)
		run_here(run, make, PROOF_CALLS - done);
	if (!run->evidence.proof.cpus)
		run->evidence.proof.cpus = 1;
}
