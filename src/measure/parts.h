/* SPDX-License-Identifier: MIT */
/* The parts of measure/ that only its files and the tests know. */
#ifndef VDSOCHECK_MEASURE_PARTS_H
#define VDSOCHECK_MEASURE_PARTS_H

#include "measure.h"

/* ---- elf_image.c: the image is distrusted, whatever kernel, sandbox or emulator made it ---- */

/*
 * Returns the bytes that the loadable segments of the image take, by its headers alone, where no
 * /proc/self/maps gives the size. Only the first `size` bytes are read. 0 for what is not an ELF
 * image of this machine's word size.
 */
size_t elf_image_extent(const unsigned char *image, size_t size);

/*
 * Lists the functions that the image of `size` bytes exports in vdso->exports, their offsets in the
 * image in `offsets`, and takes its soname. Understands DT_GNU_HASH and DT_HASH. Returns false,
 * with the reason in vdso->fact, if the image makes no sense.
 */
bool elf_image_read(const unsigned char *image, size_t size, struct vdso_evidence *vdso,
	size_t offsets[VDSO_EXPORT_MAX]);

/* ---- values.c ---- */

/*
 * Sets `agrees`, `ahead_ns` and the same of libc of each call that call_table_name() named by this
 * table, by whether the values lie between the kernel's, and counts a call that fails where the
 * system call does not. Takes about 2 us for each call, and 20 ms more if one does not agree. Must
 * run in a child that is pinned to one CPU: the vDSO may crash or hang.
 */
void values_compare(const struct call_table *table, struct call_evidence *calls);

/* ---- proof_calls.c: what the methods of the proof, seccomp and ptrace, have in common ---- */

/* A part of the proof, in memory that the child which makes the calls shares with its parent. */
struct proof_run {
	const struct call_table *table; /* not owned */
	enum proof_place place;
	int mark; /* errno of a call that entered the kernel; 0: the parent counts */
	bool writes[CALL_MAX][PATH_COUNT]; /* gettimeofday() wrote a time in plain use */
	unsigned cpus;                     /* CPUs that calls were made on */
	struct fact fact; /* known once the control call was caught: the counts hold from then on */
	size_t row;       /* row of the call that is made `count` times */
	uint32_t count;
	/* The state of the child, for a parent that traces its system calls. */
	volatile int32_t call; /* index into calls, or one of the values below */
	volatile int32_t path;
	volatile uint32_t serial; /* a new number for each attempt */
	volatile uint32_t control_entered;
	struct call_evidence calls[CALL_MAX]; /* last: the pages of few are touched */
};

#define PROOF_RUN_NOTHING (-1) /* between calls */
#define PROOF_RUN_CONTROL (-2) /* the control call */

/*
 * Makes each call once by raw system call, before any filter of ours is set, and stores in
 * run->calls the errno of those that fail: a filter around us forbids them, or the kernel lacks
 * them. Makes gettimeofday() by the other paths, too, for run->writes.
 */
void proof_run_prepare(struct proof_run *run);

/*
 * Makes all calls with the vDSO and with libc, on one CPU or on CPU after CPU, and asks of each
 * whether it entered the kernel, succeeded and wrote its result. Counts in run->calls the attempts,
 * those that failed with run->mark, and those that failed otherwise or wrote nothing; stores the
 * signal that ended one.
 */
void proof_run_all(struct proof_run *run);

/*
 * The methods. Each makes the calls in a child, on a run in shared memory. They return false with
 * the reason if the child was not done by the deadline; the counts hold if run->fact is known.
 */
bool proof_by_seccomp(struct proof_run *run, const struct deadline *deadline, struct fact *why);
bool proof_by_ptrace(struct proof_run *run, const struct deadline *deadline, struct fact *why);

/* The work of the child of proof_by_seccomp(), on a struct proof_run. */
void proof_seccomp_run(void *run);

/*
 * Sets the filter on this process, a forked child, for good: from now on every time system call
 * fails with an errno of our own. Returns false with the reason if that is refused.
 */
bool proof_seccomp_set_filter(struct fact *why);

/* Makes the call once under the filter. Returns CALL_MARKED if it was a system call. */
enum call_end proof_seccomp_try(const struct call *call);

#endif
