/* SPDX-License-Identifier: MIT */
/*
 * The copy of the vDSO. A vDSO finds its data by the distance from its own code, so image and data
 * pages that are copied to the same distances work like the original, and the copied pages can be
 * written to. A word that is changed there shows by its effect what it means: under a seccomp
 * filter that answers time system calls with an errno of our own, a clock either falls back or
 * does not.
 *
 * The scan changes every word that may hold a mode, also ones that do not. A copy that crashes is
 * caught; one that loops (an odd sequence count, a time that is years ahead) is stopped by an
 * interval timer; both count as no effect, and the word is restored.
 */
#include "parts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/child.h"
#include "measure/sampler.h"
#include "vvar_layout.h"

/*
 * The mode of the CPU's counter: VDSO_CLOCKMODE_TSC (VCLOCK_TSC before 5.7) on x86,
 * VDSO_CLOCKMODE_ARCHTIMER on arm64, both since the mode exists.
 */
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
#define COUNTER_MODE 1
#else
#define COUNTER_MODE 0 /* no copy here */
#endif

/* linux/memfd.h of 6.3: the file is not a program. Without it these kernels log a warning. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* User CPU time of a trial, which takes about a microsecond if the copy does not loop. */
#define TRIAL_LIMIT_US 20000

/* The number of words of a page that are tried: behind the last one there is room for a scale. */
#define SCAN_WORDS ((VVAR_HEAD_SIZE - SCALE_SIZE) / sizeof(uint32_t) - 2)

/* The kernel updates the pages a thousand times per second: a copy may catch it halfway. */
#define COPY_TRIES 4

/* An image that crashes or loops more often is not a vDSO. */
#define FAULTS_MAX 32

#define BATCH_NS 4000
#define BATCHES 480
#define COST_LIMIT_US 200000

#define PAGES_MAX (VVAR_PAGES_BEFORE + VVAR_PAGES_AFTER)

enum { REALTIME, MONOTONIC, CLOCKS };

/*
 * The fields behind the mode in every layout (vvar_layout.c) begin at the next multiple of eight
 * bytes: cycle_last, then mask, mult, shift and the base times. While the mode is none, the kernel
 * keeps only the base time of CLOCK_REALTIME current: with another counter's cycle_last or a stale
 * shift, the vDSO would loop once per second of the difference, for millions of them.
 */
#define SCALE_SIZE 224

struct copy {
	const struct vdso_image *vdso;
	struct copy_evidence answer;
	size_t page_size;
	uintptr_t from;       /* start of the region that is copied */
	size_t size;          /* bytes of the region */
	unsigned char *write; /* the copy, to write to */
	unsigned char *run;   /* the same memory, to call */
	size_t page_count;
	size_t pages[PAGES_MAX]; /* the data pages that could be read: offsets in the region */
	struct call calls[CLOCKS];
	size_t hint;     /* offset of the mode by the table of layouts; 0: not known */
	size_t tried_at; /* offset of the word that is changed, with a scale of our own or not */
	bool with_scale, has_effect;
	unsigned found;  /* words that decide */
	size_t found_at; /* offset in the region */
	struct sampler sampler;
	double ns_per_tick;
};

/* ---- making the copy ---- */

/*
 * Memory that can be written and executed, but never by one mapping: SELinux (execmem), MDWE and
 * hardened kernels refuse to make written memory executable, and to map it so at once.
 */
static bool map_twice(struct copy *copy)
{
	int fd = memfd_create("vdsocheck", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("vdsocheck", MFD_CLOEXEC);
	/* The child's end closes it. */
	if (fd < 0 || ftruncate(fd, (off_t)copy->size) < 0)
		return false;
	copy->write = mmap(NULL, copy->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	copy->run = mmap(NULL, copy->size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	return copy->write != MAP_FAILED && copy->run != MAP_FAILED;
}

static void call_clocks(void *argument)
{
	struct copy *copy = argument;

	for (int i = 0; i < CLOCKS; i++)
		call_error(&copy->calls[i]);
}

/* Returns the signal of a crash, SIGVTALRM of a loop, or 0 if the work came to its end. */
static int run_limited(void (*work)(void *argument), void *argument, long us)
{
	const struct itimerval limit = {.it_value.tv_usec = us}, none = {.it_value.tv_usec = 0};
	int signal;

	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	signal = fault_guard(work, argument);
	setitimer(ITIMER_VIRTUAL, &none, NULL);
	return signal;
}

/* Copies the data pages that can be read. The calls work unless an update was caught halfway. */
static bool copy_pages(struct copy *copy)
{
	size_t image_end = VVAR_PAGES_BEFORE + copy->vdso->size / copy->page_size;

	copy->page_count = 0;
	for (size_t i = 0; i < copy->size / copy->page_size; i++) {
		size_t at = i * copy->page_size;

		if ((i < VVAR_PAGES_BEFORE || i >= image_end) &&
			vvar_copy_stable(copy->from + at, copy->write + at, VVAR_HEAD_SIZE))
			copy->pages[copy->page_count++] = at;
	}
	return copy->page_count && run_limited(call_clocks, copy, TRIAL_LIMIT_US) == 0;
}

static bool make_copy(struct copy *copy, struct fact *why)
{
	if (!map_twice(copy)) {
		fact_set(why, FACT_DENIED,
			"no executable memory may be allocated for a copy of the vDSO");
		return false;
	}
	memcpy(copy->write + copy->vdso->base - copy->from, (const void *)copy->vdso->base,
		copy->vdso->size);
	__builtin___clear_cache((char *)copy->run, (char *)copy->run + copy->size);
	for (int i = 0; i < CLOCKS; i++) {
		uintptr_t original = (uintptr_t)copy->calls[i].function.any;

		copy->calls[i].function.any = copy->run + (original - copy->from);
	}
	for (int i = 0; i < COPY_TRIES; i++) {
		if (copy_pages(copy))
			return true;
	}
	fact_set(why, FACT_FAILED, "the copy of the vDSO does not work");
	return false;
}

/* ---- which word decides ---- */

static volatile uint32_t *copy_word_at(const struct copy *copy, size_t at)
{
	return (volatile uint32_t *)(void *)(copy->write + at);
}

static unsigned char *scale_at(const struct copy *copy, size_t at)
{
	return copy->write + ((at + sizeof(uint32_t) + 7) & ~(size_t)7);
}

/*
 * The counter's present value for cycle_last, no limit for what comes next (mask, or max_cycles
 * from 6.10 on, above which the vDSO takes a longer way), zero for the rest: time stands still.
 */
static void set_scale(unsigned char *scale)
{
	const uint64_t words[] = {counter_read_ordered(), UINT64_MAX};

	memset(scale, 0, SCALE_SIZE);
	memcpy(scale, words, sizeof(words));
}

/* Returns whether the clock falls back, or is served: a call that fails does neither. */
static bool does(const struct copy *copy, int clock, bool fall_back)
{
	return proof_seccomp_try(&copy->calls[clock]) == (fall_back ? CALL_MARKED : CALL_DONE);
}

static bool may_be_mode(const struct copy *copy, size_t at)
{
	uint32_t value = *copy_word_at(copy, at);

	/* The first word of a page is a sequence. Hyper-V's decides, too: 0 makes it invalid. */
	if (at % copy->page_size == 0)
		return false;
	/* The sequence of a time namespace's page, always 1, stands before its mode. */
	if (*copy_word_at(copy, at + sizeof(uint32_t)) == VCLOCK_MODE_TIMENS)
		return false;
	if (copy->answer.falls_back)
		return value < VVAR_MODE_MAX && value != COUNTER_MODE;
	return value > 0 && value < VVAR_MODE_MAX;
}

/* Sees whether both clocks change, from served to falling back or back. */
static void change_word(void *argument)
{
	struct copy *copy = argument;
	bool falls_back = copy->answer.falls_back;

	if (copy->with_scale)
		set_scale(scale_at(copy, copy->tried_at));
	*copy_word_at(copy, copy->tried_at) = falls_back ? COUNTER_MODE : VCLOCK_MODE_NONE;
	copy->has_effect = does(copy, REALTIME, !falls_back) && does(copy, MONOTONIC, !falls_back);
}

/* Counts the word if it decides, and restores it. False if the copy crashed or looped. */
static bool try_word(struct copy *copy, size_t at, bool with_scale)
{
	uint32_t value = *copy_word_at(copy, at);
	unsigned char scale[SCALE_SIZE];
	bool is_done;

	copy->tried_at = at;
	copy->with_scale = with_scale;
	memcpy(scale, scale_at(copy, at), SCALE_SIZE);
	is_done = run_limited(change_word, copy, TRIAL_LIMIT_US) == 0;
	memcpy(scale_at(copy, at), scale, SCALE_SIZE);
	*copy_word_at(copy, at) = value;
	if (is_done && copy->has_effect) {
		copy->found++;
		copy->found_at = at;
		copy->answer.mode = value;
	}
	return is_done;
}

/* A word at which the copy crashed or looped is tried once more, with a scale of our own. */
static bool try_all_words(struct copy *copy)
{
	unsigned faults = 0;

	for (size_t i = 0; i < copy->page_count * SCAN_WORDS && faults < FAULTS_MAX; i++) {
		size_t at = copy->pages[i / SCAN_WORDS] + i % SCAN_WORDS * sizeof(uint32_t);

		if (!may_be_mode(copy, at) || try_word(copy, at, false))
			continue;
		faults++;
		if (!try_word(copy, at, true))
			faults++;
	}
	return faults < FAULTS_MAX;
}

static void copy_find_mode(struct copy *copy)
{
	struct copy_evidence *answer = &copy->answer;

	answer->falls_back = does(copy, REALTIME, true);
	if (!does(copy, REALTIME, answer->falls_back) ||
		!does(copy, MONOTONIC, answer->falls_back)) {
		fact_set(&answer->fact, FACT_FAILED,
			"the copy of the vDSO serves only one of CLOCK_REALTIME and "
			"CLOCK_MONOTONIC, or one of them fails");
		return;
	}
	if (answer->falls_back && !fact_is_known(&answer->what_if_ns.fact)) {
		answer->fact = answer->what_if_ns.fact;
		return;
	}
	for (size_t i = 0; i < copy->page_count && copy->hint; i++) {
		if (copy->hint - copy->pages[i] < SCAN_WORDS * sizeof(uint32_t) &&
			copy->hint % sizeof(uint32_t) == 0)
			try_word(copy, copy->hint, answer->falls_back);
	}
	if (!copy->found && !try_all_words(copy)) {
		fact_set(&answer->fact, FACT_FAILED, "the copy of the vDSO crashed %d times",
			FAULTS_MAX);
	} else if (copy->found != 1) {
		fact_set(&answer->fact, FACT_FAILED,
			"%u words of the copied data pages decide whether the clocks are served",
			copy->found);
	} else {
		answer->at = (int64_t)copy->found_at - (int64_t)(copy->vdso->base - copy->from);
		fact_set_known(&answer->fact);
	}
}

/* ---- what the counter would cost ---- */

static void measure_cost(void *argument)
{
	struct sampler *sampler = argument;
	/* The filter answers the clock that the sampler reads: only the rounds end the run. */
	const struct sampler_limits limits = {.rounds_least = BATCHES, .rounds_most = BATCHES};

	timed_call_calibrate(sampler->cases, &sampler->timebase, sampler->batch_ticks);
	sampler_run(sampler, &limits);
}

static void find_cost(struct copy *copy)
{
	struct copy_evidence *answer = &copy->answer;
	struct timed_call timed = {.call = copy->calls[MONOTONIC]};
	int signal;

	set_scale(scale_at(copy, copy->found_at));
	*copy_word_at(copy, copy->found_at) = COUNTER_MODE;
	copy->sampler.cases = &timed;
	copy->sampler.count = 1;
	copy->sampler.batch_ticks = (uint64_t)(BATCH_NS / copy->ns_per_tick);
	signal = run_limited(measure_cost, &copy->sampler, COST_LIMIT_US);
	if (!signal)
		signal = timed.signal;
	if (signal)
		fact_set(&answer->what_if_ns.fact, FACT_FAILED, "the patched copy ends with %s",
			fault_signal_name(signal));
	else if (!timed.kept)
		fact_set(&answer->what_if_ns.fact, FACT_FAILED, "the patched copy cannot be timed");
	else
		answer->what_if_ns.value = statistics_in_tenths(timed.least * copy->ns_per_tick);
}

/* ---- the child ---- */

static void run_copy(void *argument)
{
	struct copy *copy = argument;
	struct copy_evidence *answer = &copy->answer;
	bool has_counter = counter_probe(&answer->what_if_ns.fact);

	if (has_counter && !timebase_start(&copy->sampler.timebase, true)) {
		fact_set(&answer->fact, FACT_DENIED, "the kernel clock cannot be read");
		return;
	}
	if (!make_copy(copy, &answer->fact))
		return;
	if (has_counter)
		copy->ns_per_tick = timebase_ns_per_tick(&copy->sampler.timebase);
	if (!proof_seccomp_set_filter(&answer->fact))
		return;
	copy_find_mode(copy);
	if (fact_is_known(&answer->fact) && answer->falls_back)
		find_cost(copy);
}

void copy_measure(const struct vdso_image *vdso, const struct call_table *calls,
	const struct vclock_evidence *vclock, struct copy_evidence *answer,
	const struct deadline *deadline)
{
	static const char *const clocks[CLOCKS] = {"CLOCK_REALTIME", "CLOCK_MONOTONIC"};
	struct copy copy = {.vdso = vdso, .page_size = (size_t)sysconf(_SC_PAGESIZE)};
	bool has_clocks = vdso->base != 0;
	struct fact why = {0};

	*answer = (struct copy_evidence){.fact.state = FACT_UNREAD};
	for (int i = 0; i < CLOCKS && has_clocks; i++) {
		copy.calls[i] = call_find(calls, "clock_gettime", clocks[i])[PATH_VDSO];
		has_clocks = copy.calls[i].function.any;
	}
	if (!COUNTER_MODE) {
		fact_set(&why, FACT_ABSENT, "the vDSO is copied on x86 and arm64 only");
	} else if (vdso->replaced) {
		fact_set(&why, FACT_ABSENT, "the vDSO is not the kernel's own");
	} else if (!has_clocks) {
		fact_set(&why, FACT_ABSENT, "no vDSO function to copy");
	} else {
		copy.from = vdso->base - VVAR_PAGES_BEFORE * copy.page_size;
		copy.size = VVAR_PAGES_BEFORE * copy.page_size + vdso->size +
		            VVAR_PAGES_AFTER * copy.page_size;
		if (vclock->how == VCLOCK_READ)
			copy.hint = (size_t)(vclock->at + (int64_t)(vdso->base - copy.from));
		if (child_call(run_copy, &copy, sizeof(copy), deadline, &why))
			*answer = copy.answer;
	}
	if (!fact_is_known(&answer->fact)) {
		if (answer->fact.state == FACT_UNREAD)
			answer->fact = why;
		answer->what_if_ns.fact = answer->fact;
	} else if (!answer->falls_back) {
		fact_set(&answer->what_if_ns.fact, FACT_ABSENT, "the clocks do not fall back");
	}
}

void copy_set_mode(const struct copy_evidence *copy, struct vclock_evidence *vclock)
{
	if (!fact_is_known(&copy->fact) || (vclock->how == VCLOCK_READ && vclock->at == copy->at))
		return;
	if (vclock->how == VCLOCK_READ)
		fact_set(&vclock->fact, FACT_FAILED,
			"another word of the vDSO data page decides than in the known layout");
	if (!vclock->time_namespace.value)
		vclock->time_namespace.fact = vclock->fact;
	*vclock->layout = '\0';
	vclock->how = VCLOCK_COPY;
	vclock->mode = copy->mode;
	text_clean(vclock->name, sizeof(vclock->name),
		vvar_mode_name(NULL, vvar_native_arch, copy->mode, ""));
}
