/* SPDX-License-Identifier: MIT */
/*
 * The model of a run of counter: the evidence with the counter's rates, the verdict and the output.
 */
#ifndef VDSOCHECK_COUNTER_MODEL_H
#define VDSOCHECK_COUNTER_MODEL_H

#include <stdbool.h>

#include "collect.h"
#include "evidence.h"
#include "judge.h"
#include "measure/vdso.h"
#include "report.h"
#include "warp.h"

/* ---- rate.c: the counter's rate by several sources, compared; pure ---- */

/* The first of them that is known is taken for the rate. */
enum rate_id {
	RATE_PAGE, /* the kernel's, by the vDSO data page */
	RATE_MEASURED,
	RATE_LOG,
	RATE_CLAIM, /* of the hypervisor, the CPU or, on arm64, the firmware */
	RATE_COUNT,
};

struct rate {
	const char *source; /* for people and programs; static storage */
	struct fact fact;
	double hz;
	double error_ppm; /* by which it may be wrong at most, by its resolution */
	double off_ppm;   /* ppm by which it is more than the first rate that is known */
};

struct counter_evidence {
	struct evidence host; /* clocksource, vclock, host, kernel log, timing of the counter */
	struct vdso_image vdso;
	struct counter_claims claims;
	struct fact readable; /* of the counter, by this process */
	bool tdx, sev_snp;
	struct vvar_rate page;
	struct number_fact register_hz; /* arm64's CNTFRQ_EL0 */
	double raw_step_ns;             /* by which CLOCK_MONOTONIC_RAW moves; 0: by any */
	struct warp_evidence warp;      /* of the counter alone */
};

/* Fills the rates of all sources; those that are not known have the reason. */
void rate_list(const struct counter_evidence *evidence, struct rate rates[RATE_COUNT]);

/* The first rate that is known; NULL: none is. */
const struct rate *rate_first(const struct rate rates[RATE_COUNT]);

/* The kernel's rates may differ by the first of these, a claim by the second. */
#define RATE_LIMIT_PPM 50
#define RATE_CLAIM_LIMIT_PPM 1000

/* ppm by which two known rates differ beyond what their errors explain; 0: they do not. */
double rate_difference(const struct rate *one, const struct rate *other);

/* ---- verdict.c: pure ---- */

/* The places of the command's answers. */
enum counter_outcome { COUNTER_UNKNOWN, COUNTER_SAFE, COUNTER_UNSAFE };

#define COUNTER_NOTE_MAX 8

struct counter_note {
	const char *id; /* stable; static storage */
	char text[REPORT_SENTENCE_SIZE];
};

struct counter {
	struct report report;
	struct counter_evidence evidence;
	size_t rate_count; /* RATE_COUNT */
	struct rate rates[RATE_COUNT];
	/* After counter_judge(). */
	struct real_fact hz; /* the first rate that is known */
	const char *until;   /* what ends a safe verdict; NULL: nothing known, or it is not safe */
	struct counter_judgment view;
	size_t note_count;
	struct counter_note notes[COUNTER_NOTE_MAX];
};

extern const struct answer counter_answers[];

/* Lists the rates, and judges the evidence. */
void counter_judge(struct counter *counter);

/* ---- print.c: all take a struct counter ---- */

void counter_text(const void *data, struct page *page);
void counter_prometheus(const void *data, const struct style *style, FILE *out);
extern const struct field counter_fields[];

#endif
