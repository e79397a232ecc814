/* SPDX-License-Identifier: MIT */
/*
 * The hub holds the facts about a host. collect/ and measure/ write it; judge/, document/ and the
 * commands read it.
 *
 * Plain data of fixed size: it may be copied, shared with a child, and zeroed; a zeroed
 * evidence means that nothing was looked at yet. Times are ns per call, as double.
 */
#ifndef VDSOCHECK_EVIDENCE_H
#define VDSOCHECK_EVIDENCE_H

#include <string.h>

#include "base/fact.h"

/* The kernel's sysfs interface (kernel/time/clocksource.c, CS_NAME_LEN), 3.10 to 7.x. */
#define CLOCKSOURCE_FOLDER "/sys/devices/system/clocksource/clocksource0"
#define CLOCKSOURCE_CURRENT CLOCKSOURCE_FOLDER "/current_clocksource"
#define CLOCKSOURCE_AVAILABLE CLOCKSOURCE_FOLDER "/available_clocksource"
#define CLOCKSOURCE_NAME_SIZE 32
#define CLOCKSOURCE_MAX 16

/*
 * Values are described once, in lists of lines: the type, the member, the key in documents, and
 * what it means. src/document makes rows of them. Give a line a .title, and --verbose and the
 * report print the value after it; the others are in sentences, or for programs alone.
 */
#define FACT_MEMBER(type, member, ...) struct type##_fact member;
#define VALUE_MEMBER(type, member, ...) type member;

/* A text among such values. */
typedef char text_value[FACT_REASON_SIZE];

#define CLOCKSOURCE_FACTS(FACT)                                                                    \
	FACT(number, tick_ns, "tick_ns",                                                           \
		.doc = "ns between two ticks of the kernel, by which the clock advances on jiffies")

struct clocksource_evidence {
	struct fact current_fact;
	char current[CLOCKSOURCE_NAME_SIZE];
	char changed_to[CLOCKSOURCE_NAME_SIZE]; /* another name, read later; "": there was none */
	char latest[CLOCKSOURCE_NAME_SIZE];     /* the name read last */
	unsigned changes;                       /* times that name or mode changed */
	struct fact available_fact;
	size_t available_count;
	char available[CLOCKSOURCE_MAX][CLOCKSOURCE_NAME_SIZE];
	CLOCKSOURCE_FACTS(FACT_MEMBER)
};

/* The name that was read last; "": unknown. */
static inline const char *clocksource_in_use(const struct clocksource_evidence *clocksource)
{
	return *clocksource->changed_to                    ? clocksource->changed_to
	       : fact_is_known(&clocksource->current_fact) ? clocksource->current
	                                                   : "";
}

#define VDSO_NAME_SIZE 48
#define VDSO_EXPORT_MAX 48

struct vdso_export {
	char name[VDSO_NAME_SIZE];
	char version[VDSO_NAME_SIZE]; /* empty if the image has no symbol versions */
};

#define VDSO_FACTS(FACT)                                                                           \
	FACT(flag, replaced, "replaced",                                                           \
		.doc = "whether it is another image than the kernel's, which a tool gave to the "  \
		       "process")                                                                  \
	FACT(text, wrapper, "wrapper",                                                             \
		.doc = "file of the library whose clock_gettime() this process calls in place of " \
		       "the C library's, as by LD_PRELOAD")

struct vdso_evidence {
	struct fact fact; /* known: there is a vDSO and its exports are listed */
	VDSO_FACTS(FACT_MEMBER)
	char soname[VDSO_NAME_SIZE];
	size_t export_count;
	struct vdso_export exports[VDSO_EXPORT_MAX];
	size_t led_away; /* functions whose symbols lead out of its code; they are not listed */
};

/* The ways to find the clock mode, the weakest first. */
enum vclock_how {
	VCLOCK_UNKNOWN = 0,
	VCLOCK_INFERRED, /* from the clocksource and the proof */
	VCLOCK_COPY,     /* found by its effect in a copy of the vDSO; layout not known */
	VCLOCK_READ,     /* from the data page that the vDSO reads */
};

/* VDSO_CLOCKMODE_TIMENS, INT_MAX in every kernel since 5.7: "look in the next page". */
#define VCLOCK_MODE_NONE 0
#define VCLOCK_MODE_TIMENS 0x7fffffff

#define VCLOCK_FACTS(FACT)                                                                         \
	FACT(flag, pvclock_stable, "pvclock_stable",                                               \
		.doc = "whether PVCLOCK_TSC_STABLE_BIT is set in the pvclock page of CPU 0")       \
	FACT(number, hyperv_sequence, "hyperv_sequence",                                           \
		.doc = "sequence number of the Hyper-V TSC page; 0: the page is invalid")

/* The clock mode, which decides whether the vDSO serves the clocks. */
struct vclock_evidence {
	struct fact fact; /* reading of the page; its reason stays when the mode is inferred */
	enum vclock_how how;
	int64_t mode;    /* the kernel's number; VCLOCK_MODE_NONE: no user-space clock */
	char name[32];   /* "none", "tsc", "pvclock" ...; "" if the number has no name here */
	char layout[48]; /* the layout that checked out */
	int64_t at;      /* offset of the mode, in bytes from the start of the vDSO image */
	struct flag_fact time_namespace; /* the data page is that of a time namespace */
	VCLOCK_FACTS(FACT_MEMBER)
};

#define COPY_VALUES(FACT_LINE, VALUE_LINE)                                                         \
	VALUE_LINE(int64_t, mode, "mode", .most = INT32_MAX,                                       \
		.doc = "value of the word in the real data page that decides whether calls are "   \
		       "served")                                                                   \
	VALUE_LINE(int64_t, at, "offset", .options = FIELD_SIGNED, .most = INT32_MAX,              \
		.doc = "bytes from the start of the vDSO image to that word")                      \
	VALUE_LINE(bool, falls_back, "falls_back",                                                 \
		.doc = "whether the unchanged copy falls back to system calls")

/* The result of a private copy of the vDSO and its data pages (measure.h). */
struct copy_evidence {
	struct fact fact; /* known: one word decides for CLOCK_REALTIME and CLOCK_MONOTONIC */
	COPY_VALUES(FACT_MEMBER, VALUE_MEMBER)
	struct real_fact what_if_ns; /* per clock_gettime(CLOCK_MONOTONIC) by the CPU's counter */
};

/* The host, its surroundings and this process. */
#define HOST_FACTS(FACT)                                                                            \
	FACT(text, kernel, "kernel", .doc = "release of the kernel, as uname -r")                   \
	FACT(text, kernel_build, "kernel_build", .title = "kernel build",                           \
		.doc = "version of the kernel, as uname -v")                                        \
	FACT(text, boot, "boot_parameters",                                                         \
		.doc = "boot parameters that concern the clock; empty: none does")                  \
	FACT(text, hypervisor, "hypervisor",                                                        \
		.doc = "hypervisor below this host, in the words of systemd-detect-virt")           \
	FACT(text, hypervisor_version, "hypervisor_version", .title = "hypervisor's CPUID",         \
		.doc = "version of the hypervisor by its CPUID leaves")                             \
	FACT(text, platform, "platform", .doc = "cloud, product or sandbox around the system")      \
	FACT(text, name, "name", .doc = "name of the host, only on request")                        \
	FACT(text, instance_type, "instance_type", .title = "instance type",                        \
		.doc = "instance type of the cloud, only on request")                               \
	FACT(text, instance_id, "instance_id", .title = "instance ID",                              \
		.doc = "instance ID of the cloud, only on request")                                 \
	FACT(text, region, "region", .title = "region",                                             \
		.doc = "region of the cloud, only on request")                                      \
	FACT(text, arch, "arch", .doc = "architecture of the kernel, as uname -m")                  \
	FACT(text, cpu, "cpu_model", .doc = "brand of the CPU")                                     \
	FACT(text, cpu_model, "cpu_signature", .title = "CPU signature",                            \
		.doc = "family, model, stepping and microcode of an x86 CPU")                       \
	FACT(text, libc, "libc", .title = "libc", .doc = "C library of vdsocheck")                  \
	FACT(text, distribution, "distribution", .title = "distribution",                           \
		.doc = "PRETTY_NAME of os-release")                                                 \
	FACT(text, container, "container",                                                          \
		.doc = "container around vdsocheck, in the words of systemd-detect-virt")           \
	FACT(text, emulator, "emulator", .options = FIELD_NEEDED, .title = "emulator",              \
		.doc = "emulator that runs vdsocheck")                                              \
	FACT(number, cpu_count, "cpu_count", .title = "CPUs", .doc = "CPUs that are online")        \
	FACT(number, seccomp, "seccomp", .title = "seccomp mode",                                   \
		.doc = "seccomp mode of vdsocheck; 0: none, 1: strict, 2: filter")                  \
	FACT(text, boot_tool, "boot_tool", .title = "tool for boot parameters",                     \
		.doc = "tool that changes the kernel command line")                                 \
	FACT(text, tsc_flags, "tsc_flags", .title = "TSC flags",                                    \
		.doc = "flags of the CPU that concern the TSC, from /proc/cpuinfo")                 \
	FACT(flag, invariant_tsc, "invariant_tsc",                                                  \
		.doc = "whether the CPU advertises an invariant TSC")                               \
	FACT(flag, long_mode, "long_mode", .doc = "whether the x86 CPU runs 64-bit kernels")        \
	FACT(flag, kvm_clock_offered, "kvm_clock_offered",                                          \
		.doc = "whether KVM offers kvm-clock, by its CPUID leaf")                           \
	FACT(flag, kvm_clock_stable, "kvm_clock_stable",                                            \
		.doc = "whether KVM says that kvm-clock agrees across CPUs, by its CPUID leaf")     \
	FACT(flag, xen_tsc_reliable, "xen_tsc_reliable",                                            \
		.doc = "whether Xen says that the host's TSC is reliable, by its CPUID leaf")       \
	FACT(flag, xen_tsc_emulated, "xen_tsc_emulated",                                            \
		.doc = "whether Xen says that the TSC is emulated, by its CPUID leaf")              \
	FACT(flag, libc_static, "libc_static", .options = FIELD_NEEDED,                             \
		.doc = "whether libc is linked into vdsocheck, and so is not the host's own")       \
	FACT(flag, counter_disabled, "counter_disabled",                                            \
		.doc = "whether reading the counter is disabled for this process (PR_TSC_SIGSEGV)") \
	FACT(number, pointer_bits, "pointer_bits",                                                  \
		.doc = "bits of a pointer of vdsocheck: 32 or 64")                                  \
	FACT(number, xen_tsc_mode, "xen_tsc_mode",                                                  \
		.doc = "tsc_mode of the guest by Xen's CPUID leaf; 2: never emulated")              \
	FACT(number, tracer, "tracer_pid", .doc = "process ID of the tracer of vdsocheck; 0: none")

struct host_evidence {
	HOST_FACTS(FACT_MEMBER)
};

#define KERNEL_LOG_MAX 24
#define KERNEL_LOG_TEXT_SIZE 200

struct kernel_log_line {
	double seconds; /* seconds since boot; NAN: the line bears no time */
	char text[KERNEL_LOG_TEXT_SIZE];
};

/*
 * A copy of the log that distributions write once, when the system has booted (Ubuntu's
 * dmesg.service, RHEL 7's rhel-dmesg.service): what happened later is not in it.
 */
#define KERNEL_LOG_AT_BOOT "/var/log/dmesg"

#define KERNEL_LOG_VALUES(FACT_LINE, VALUE_LINE)                                                   \
	VALUE_LINE(text_value, source, "source", .doc = "where the log was read; null: it was not")

/* The lines of the kernel's log about clocksources, the oldest first. */
struct kernel_log_evidence {
	struct fact fact; /* known: the log was read, though its beginning may be lost */
	KERNEL_LOG_VALUES(FACT_MEMBER, VALUE_MEMBER)
	struct text_fact hypervisor; /* that it names, for host_collect_log(): not in a document */
	struct text_fact boot;       /* the same of its command line */
	size_t count;
	struct kernel_log_line lines[KERNEL_LOG_MAX];
};

enum proof_method { PROOF_NONE = 0, PROOF_SECCOMP, PROOF_PTRACE };

#define PROOF_VALUES(FACT_LINE, VALUE_LINE)                                                        \
	VALUE_LINE(unsigned, cpus, "cpus", .fact = FACT(fact), .reason = "reason",                 \
		.doc = "CPUs that the calls were spread over")                                     \
	VALUE_LINE(text_value, note, "note",                                                       \
		.doc = "why methods of the proof were refused; null: none was")

/* The proof as a whole; calls[] has its counts. */
struct proof_evidence {
	struct fact fact; /* known: the control call was caught, so the counts below hold */
	enum proof_method method;
	PROOF_VALUES(FACT_MEMBER, VALUE_MEMBER)
};

/* The paths by which a program can make the same call. */
enum call_path { PATH_VDSO, PATH_LIBC, PATH_SYSCALL, PATH_COUNT };

/* The times of a call by each path, over many short batches; nothing is subtracted. */
#define PATH_TIMES(TIME)                                                                           \
	TIME(min_ns, "_ns", FIELD_NEEDED, "least of all batches")                                  \
	TIME(median_ns, "_median_ns", 0, "median of the batches")

/*
 * The counts of a call by a path. Each has two keys, of the path that it is judged by and of libc;
 * the name of the path stands between the two texts. It is null where the member after the limit
 * is zero.
 */
#define PROOF_COUNTS(COUNT)                                                                        \
	COUNT(uint32_t, entered, "entered_kernel", UINT32_MAX, attempts, FIELD_NEEDED,             \
		"calls by ", " that entered the kernel under the proof; null: not proven")         \
	COUNT(uint32_t, attempts, "attempts", UINT32_MAX, attempts, FIELD_NEEDED, "calls by ",     \
		" that were made under the proof; null: not proven")

#define FAILURE_COUNTS(COUNT)                                                                      \
	COUNT(uint32_t, failed, "failed", UINT32_MAX, failed, 0, "calls by ",                      \
		" that failed without a system call, or returned success and wrote no result; "    \
		"null: none did")                                                                  \
	COUNT(int, error, "error", ERRNO_MAX, error, 0, "errno of the first failed call by ",      \
		"; null: it returned success, or none failed")

/* MAX_ERRNO of the kernel. */
#define ERRNO_MAX 4095

#define TIME_MEMBER(member, ...) double member;

/* The times and counts of a call by one path. */
struct path_evidence {
	bool available;   /* this path exists for this call */
	struct fact fact; /* known: the times were measured */
	PATH_TIMES(TIME_MEMBER)
	double p99_ns; /* of the vDSO alone: 99th percentile of the batches' averages; 0: not
	                  recorded */
	PROOF_COUNTS(VALUE_MEMBER)
	FAILURE_COUNTS(VALUE_MEMBER)
	int signal; /* the call ended the process with this signal; 0: it did not */
};

#define CALL_VALUES(FACT_LINE, VALUE_LINE)                                                          \
	VALUE_LINE(int, raw_error, "syscall_error", .given = GIVEN(raw_error), .most = ERRNO_MAX,   \
		.doc = "errno of the raw system call in plain use; null: no error was seen")        \
	FACT_LINE(flag, agrees, "agrees",                                                           \
		.doc = "whether the vDSO's values lie between those of two system calls")           \
	VALUE_LINE(int64_t, ahead_ns, "ahead_ns", .fact = FACT(agrees.fact),                        \
		.reason = "agrees_reason", .options = FIELD_SIGNED, .most = INT64_MAX,              \
		.doc = "ns by which the vDSO's values are ahead of the kernel's, below zero where " \
		       "they are behind; 0: they agree, or are not times")                          \
	FACT_LINE(flag, libc_agrees, "libc_agrees",                                                 \
		.doc = "whether the values that libc returns lie between those of two system "      \
		       "calls")                                                                     \
	VALUE_LINE(int64_t, libc_ahead_ns, "libc_ahead_ns", .fact = FACT(libc_agrees.fact),         \
		.reason = "libc_agrees_reason", .options = FIELD_SIGNED, .most = INT64_MAX,         \
		.doc = "ns by which libc's values are ahead of the kernel's, as ahead_ns")

#define CALL_NAME_SIZE 32
#define CALL_MAX 16

struct call_evidence {
	char call[CALL_NAME_SIZE];  /* "clock_gettime" */
	char clock[CALL_NAME_SIZE]; /* "CLOCK_MONOTONIC"; empty if the call takes none */
	bool decides;               /* the verdict rests on it */
	CALL_VALUES(FACT_MEMBER, VALUE_MEMBER)
	struct path_evidence path[PATH_COUNT];
};

/* The number of calls that decide: a verdict needs the evidence of each. */
#define DECIDING_CALLS 3

/* Returns true if the verdict rests on this call. */
static inline bool call_decides(const char *call, const char *clock)
{
	if (strcmp(call, "clock_gettime") != 0)
		return strcmp(call, "gettimeofday") == 0 && !*clock;
	return strcmp(clock, "CLOCK_REALTIME") == 0 || strcmp(clock, "CLOCK_MONOTONIC") == 0;
}

/* Returns true for a clock of CPU time, which no vDSO serves (lib/vdso/gettimeofday.c to 7.x). */
static inline bool clock_is_cpu_time(const char *clock)
{
	return strstr(clock, "CPUTIME");
}

/* Returns the path that a call is judged by: the vDSO's function, or libc where there is none. */
static inline enum call_path call_judged_path(const struct call_evidence *call)
{
	return call->path[PATH_VDSO].available ? PATH_VDSO : PATH_LIBC;
}

/* Keys end in _ns, those of the reasons in _reason. */
#define TIMING_FACTS(FACT)                                                                           \
	FACT(real, counter_ns, "counter", .options = FIELD_NEEDED,                                   \
		.doc = "ns per bare read of the counter, least of all batches")                      \
	FACT(real, ordered_ns, "ordered_counter",                                                    \
		.doc = "ns per read of the counter after earlier instructions, as a vDSO reads it, " \
		       "least of all batches")                                                       \
	FACT(real, syscall_floor_ns, "getppid", .options = FIELD_NEEDED,                             \
		.doc = "ns per getppid system call, the cheapest one, least of all batches")

struct timing_evidence {
	struct fact fact;
	char counter[16]; /* "rdtsc", "cntvct_el0" ... */
	TIMING_FACTS(FACT_MEMBER)
	unsigned batches;       /* measured of each call and path */
	struct number_fact cpu; /* that the calls were timed on */
};

/* sizeof "2026-11-21T15:02:11Z" */
#define TIMESTAMP_SIZE 21

/* The time of the check, which is the first question about a document in a ticket. */
struct timestamp_evidence {
	struct text_fact time;     /* UTC, ISO 8601: "2026-11-21T15:02:11Z" */
	struct real_fact uptime_s; /* since boot, suspended time included (CLOCK_BOOTTIME) */
};

#define NTP_VALUES(VALUE)                                                                          \
	VALUE(bool, synchronized, "synchronized",                                                  \
		.doc = "whether the kernel regards its clock as synchronized")                     \
	VALUE(bool, leap_pending, "leap_second_pending",                                           \
		.doc = "whether a leap second is scheduled or being inserted")                     \
	VALUE(int64_t, offset_ns, "offset_ns", .options = FIELD_SIGNED, .most = INT64_MAX,         \
		.doc = "offset of the clock in ns, as adjtimex(2) returns it")                     \
	VALUE(int64_t, max_error_us, "max_error_us", .most = INT64_MAX,                            \
		.doc = "maximum error of the clock in us, as adjtimex(2) returns it")

/* The kernel's NTP state, as adjtimex(2) reports it. */
struct ntp_evidence {
	struct fact fact;
	NTP_VALUES(VALUE_MEMBER)
};

struct evidence {
	bool live; /* this host was measured; false: a captured tree */
	struct timestamp_evidence timestamp;
	struct clocksource_evidence clocksource;
	struct vdso_evidence vdso;
	struct vclock_evidence vclock;
	struct copy_evidence copy;
	struct host_evidence host;
	struct kernel_log_evidence kernel_log;
	struct ntp_evidence ntp;
	struct proof_evidence proof;
	struct timing_evidence timing;
	size_t call_count;
	struct call_evidence calls[CALL_MAX];
};

#endif
