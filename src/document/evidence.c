/* SPDX-License-Identifier: MIT */
/*
 * The fields of the evidence in a document of `vdsocheck check`: each key once, in the order
 * in which it is printed. Functions compute or settle a value where struct evidence holds it in
 * another form, and refuse documents that contradict themselves.
 */
#include <string.h>

#include "field.h"

/* ---- timestamp ---- */

/* No host has been up for a century. */
#define UPTIME_MAX 3200000000

const char *timestamp_settle(void *object, const json_t *from)
{
	const struct timestamp_evidence *timestamp = object;

	(void)from;
	if (fact_is_known(&timestamp->time.fact) && !text_is_time(text_span(timestamp->time.value)))
		return "time is not of the form 2026-11-21T15:02:11Z";
	return NULL;
}

#define OF struct timestamp_evidence

const struct field timestamp_fields[] = {
	{TEXT("time", time.value), .fact = FACT(time.fact), .reason = "time_reason",
		.doc = "time of the run or event, UTC, as 2026-11-21T15:02:11Z"},
	{REASON("time_reason")},
	{.key = "uptime_s",
		.kind = FIELD_REAL,
		.decimals = 1,
		.most = UPTIME_MAX,
		TYPED(uptime_s.value, double *),
		.fact = FACT(uptime_s.fact),
		.reason = "uptime_reason",
		.doc = "seconds since boot at that time, suspended time included"},
	{REASON("uptime_reason")},
	{0},
};

/* ---- clocksource ---- */

#undef OF

#define OF struct clocksource_evidence

static const struct field name_element[] = {
	{.key = "", .kind = FIELD_TEXT, .options = FIELD_FILLED, .size = CLOCKSOURCE_NAME_SIZE},
	{0},
};

static const struct field clocksource_fields[] = {
	{TEXT("current", current), .fact = FACT(current_fact), .reason = "reason",
		.doc = "clocksource in use when the run began"},
	{TEXT("changed_to", changed_to),
		.doc = "clocksource, other than that, which was in use later in the run; null: "
		       "none was seen"},
	{INTEGER("changes", changes, UINT32_MAX), .options = FIELD_NEEDED | FIELD_FILLED,
		.doc = "times that clocksource or clock mode were seen to change during the run"},
	{LIST("available", available, available_count, name_element), .fact = FACT(available_fact),
		.reason = "reason", .doc = "clocksources that the kernel offers"},
	{REASON("reason")},
	CLOCKSOURCE_FACTS(FACT_ROW){0},
};

/* ---- vDSO ---- */

#undef OF
#define OF struct vdso_export

static const struct field export_fields[] = {
	{TEXT("name", name), .options = FIELD_FILLED, .doc = "symbol that the vDSO exports"},
	{TEXT("version", version), .doc = "version of the symbol; null: the image has none"},
	{0},
};

#undef OF
#define OF struct vdso_evidence

static const struct field vdso_fields[] = {
	{KNOWN("present", fact), .options = FIELD_ABSENT, .reason = "reason",
		.doc = "whether the vDSO is mapped"},
	VDSO_FACTS(FACT_ROW)
	/* The image itself: */
	{TEXT("soname", soname), .doc = "soname of the image; null: none, or unknown"},
	{LIST("exports", exports, export_count, export_fields), .fact = FACT(fact),
		.options = FIELD_ABSENT, .reason = "reason",
		.doc = "functions of the vDSO; null: unknown"},
	{INTEGER("led_away", led_away, VDSO_EXPORT_MAX),
		.doc = "functions that are not listed, since their symbols lead out of the image: "
		       "vdsocheck trace leads them to code that counts the calls"},
	{REASON("reason"),
		.doc = "why there is no vDSO, or why that is unknown; null: there is one"},
	{0},
};

/* ---- vclock ---- */

static const char *const how_words[] = {
	[VCLOCK_UNKNOWN] = "unknown",
	[VCLOCK_INFERRED] = "inferred",
	[VCLOCK_COPY] = "copy",
	[VCLOCK_READ] = "read",
	NULL,
};

static const char *settle_vclock(void *object, const json_t *from)
{
	struct vclock_evidence *vclock = object;

	if (!json_is_integer(json_object_get(from, "mode")))
		vclock->how = VCLOCK_UNKNOWN;
	if (vclock->how == VCLOCK_READ)
		fact_set_known(&vclock->fact);
	return NULL;
}

#undef OF
#define OF struct vclock_evidence

static const struct field vclock_fields[] = {
	{INTEGER("mode", mode, VCLOCK_MODE_TIMENS), .given = GIVEN(how),
		.doc = "the kernel's number of the clock mode, 0 for none; null: unknown"},
	{TEXT("name", name),
		.doc = "name of the clock mode; null: unknown, or the number has no name"},
	{WORD("how", how, how_words),
		.doc = "how the mode was found: read from the data page, by a copy of the vDSO, "
		       "or inferred"},
	{TEXT("layout", layout),
		.doc = "layout of the data page that was recognized; null: none was"},
	{FLAG("time_namespace", time_namespace.value), .fact = FACT(time_namespace.fact),
		.reason = "reason",
		.doc = "whether the data page is that of a time namespace; null: unknown"},
	VCLOCK_FACTS(REASONED_ROW)
	/* This is the reason of the mode. */
	{REASON("reason"), .fact = FACT(fact),
		.doc = "why the mode was not read from the data page; null: it was"},
	{0},
};

/* ---- copy and what_if ---- */

#undef OF
#define OF struct copy_evidence

static const struct field copy_fields[] = {
	{WHOLE("reason", fact), .doc = "why nothing was found on a copy; null: something was"},
	COPY_VALUES(FACT_ROW, FACT_ROW){0},
};

static const struct field what_if_fields[] = {
	{WHOLE("reason", what_if_ns.fact), .doc = "why the cost is unknown; null: it is known"},
	{NS("counter_clocksource_ns", what_if_ns.value),
		.doc = "ns per clock_gettime(CLOCK_MONOTONIC) by the CPU's counter, measured on a "
		       "copy of the vDSO"},
	{0},
};

/* ---- host ---- */

#undef OF
#define OF struct host_evidence

static const struct field host_fields[] = {HOST_FACTS(FACT_ROW){0}};

/* ---- clocksource and host in the documents of other commands ---- */

#undef OF
#define OF struct clocksource_evidence

static const struct field current_fields[] = {
	{TEXT("current", current), .fact = FACT(current_fact), .reason = "reason",
		.doc = "clocksource in use when the run began"},
	{TEXT("changed_to", changed_to),
		.doc = "another one that was in use at its end; null: there was none"},
	{REASON("reason")},
	{0},
};

#undef OF
#define OF struct host_evidence
#define HOST(name, member) TEXT_FACT(name, member), .reason = NO_REASON

static const struct field few_host_fields[] = {
	{HOST("kernel", kernel), .doc = "release of the kernel; null: unknown"},
	{HOST("arch", arch), .doc = "architecture of the kernel; null: unknown"},
	{HOST("cpu_model", cpu), .doc = "brand of the CPU; null: unknown"},
	{HOST("hypervisor", hypervisor),
		.doc = "hypervisor below this host, in the words of systemd-detect-virt; null: "
		       "none, or unknown"},
	{HOST("container", container),
		.doc = "container around vdsocheck, in the words of systemd-detect-virt; null: "
		       "none, or unknown"},
	{HOST("libc", libc), .doc = "C library of vdsocheck; null: unknown"},
	{0},
};

#undef OF
#define OF struct evidence

const struct field surroundings_fields[] = {
	{OBJECT("clocksource", clocksource, current_fields), .doc = "clocksource of the kernel"},
	{OBJECT("host", host, few_host_fields), .doc = "system and hardware"},
	{0},
};

/* ---- kernel log ---- */

#undef OF
#define OF struct kernel_log_line

static const struct field line_fields[] = {
	{REAL("seconds", seconds, -1),
		.doc = "timestamp in seconds: since boot or, where it goes back, since a resume; "
		       "null: the line has none"},
	{TEXT("text", text), .options = FIELD_FILLED, .doc = "message of the line"},
	{0},
};

#undef OF
#define OF struct kernel_log_evidence

static const struct field kernel_log_fields[] = {
	{KNOWN("read", fact), .options = FIELD_FILLED, .reason = "reason",
		.doc = "whether the kernel log was read; false: see reason"},
	KERNEL_LOG_VALUES(FACT_ROW, FACT_ROW)
	/* Its lines: */
	{LIST("lines", lines, count, line_fields),
		.doc = "lines about clocksources, the oldest first"},
	{REASON("reason"), .doc = "why the log was not read; null: it was"},
	{0},
};

/* ---- NTP ---- */

#undef OF
#define OF struct ntp_evidence

static const struct field ntp_fields[] = {
	{WHOLE("reason", fact), .doc = "why the synchronization is unknown; null: it is known"},
	NTP_VALUES(FACT_ROW){0},
};

/* ---- the document ---- */

/* A document without calls is that of a captured tree; with calls it needs those that decide. */
const char *evidence_settle(void *object, const json_t *from)
{
	const struct evidence *evidence = object;
	size_t found = 0;

	(void)from;
	for (size_t i = 0; i < evidence->call_count; i++) {
		const struct call_evidence *row = &evidence->calls[i];
		const struct path_evidence *judged = &row->path[call_judged_path(row)];

		for (size_t k = 0; k < i; k++) {
			if (strcmp(row->call, evidence->calls[k].call) == 0 &&
				strcmp(row->clock, evidence->calls[k].clock) == 0)
				return "calls lists a call twice";
		}
		if (row->decides != call_decides(row->call, row->clock))
			return row->decides ? "calls marks a non-deciding call as deciding"
			                    : "calls does not mark a deciding call";
		if (row->decides && fact_is_known(&evidence->proof.fact) && !judged->attempts &&
			!judged->signal)
			return "calls lacks the attempts of a call that decides, although "
			       "proof.taken is true";
		found += row->decides;
	}
	if (evidence->call_count && found < DECIDING_CALLS)
		return "calls lacks one of gettimeofday, clock_gettime of CLOCK_REALTIME and "
		       "of CLOCK_MONOTONIC";
	return NULL;
}

#undef OF
#define OF struct evidence

const struct field all_evidence_fields[] = {
	{FLAG("measured", live), .options = FIELD_NEEDED | FIELD_FILLED,
		.doc = "whether a running host was measured; false: a captured tree"},
	{OBJECT("clocksource", clocksource, clocksource_fields),
		.doc = "clocksource of the kernel"},
	{OBJECT("vdso", vdso, vdso_fields), .doc = "vDSO and its functions"},
	{OBJECT("vclock", vclock, vclock_fields), .settle = settle_vclock,
		.doc = "clock mode that the vDSO reads from its data page"},
	{OBJECT("copy", copy, copy_fields),
		.doc = "findings on a private copy of the vDSO and its data pages"},
	{OBJECT("proof", proof, proof_fields),
		.doc = "whether the deciding calls entered the kernel"},
	{OBJECT("what_if", copy, what_if_fields),
		.doc = "cost of a call if the vDSO read the CPU's counter"},
	{OBJECT("timing", timing, timing_fields),
		.doc = "times of the CPU's counter and of the cheapest system call"},
	{LIST("calls", calls, call_count, call_fields), .options = FIELD_NEEDED | FIELD_FILLED,
		.settle = settle_call, .doc = "times and counts of the calls"},
	{OBJECT("host", host, host_fields), .doc = "system, hardware, hypervisor and container"},
	{OBJECT("kernel_log", kernel_log, kernel_log_fields),
		.doc = "what the kernel logged about its clocksources"},
	{OBJECT("ntp", ntp, ntp_fields), .doc = "synchronization of the clock"},
	{0},
};
