/* SPDX-License-Identifier: MIT */
/*
 * Tests of measure/proof: seccomp and ptrace count calls whose path is known: raw system calls
 * enter the kernel, functions of this file do not, and some do at times.
 */
#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "measure.h"
#include "measure/parts.h"
#include "measure/vdso.h"
#include "unit/evidence_builder.h"
#include "unit/unit.h"

static int answers(clockid_t clock, struct timespec *now)
{
	*now = (struct timespec){clock, 0};
	return 0;
}

static int enters(clockid_t clock, struct timespec *now)
{
	return (int)syscall(SYS_clock_gettime, clock, now);
}

/* As a C library that tries twice: still one attempt that entered. */
static int enters_twice(clockid_t clock, struct timespec *now)
{
	enters(clock, now);
	return enters(clock, now);
}

static int enters_every_fourth_time(clockid_t clock, struct timespec *now)
{
	static unsigned count;

	return ++count % 4 ? answers(clock, now) : enters(clock, now);
}

static int crashes(clockid_t clock, struct timespec *now)
{
	(void)clock;
	(void)now;
	__builtin_trap();
}

static int fails_by_itself(clockid_t clock, struct timespec *now)
{
	(void)clock;
	(void)now;
	return -22;
}

static int fails_every_fourth_time(clockid_t clock, struct timespec *now)
{
	static unsigned count;

	return ++count % 4 ? answers(clock, now) : -38;
}

static int writes_nothing(clockid_t clock, struct timespec *now)
{
	(void)clock;
	(void)now;
	return 0;
}

/* The kernel's answer is not the vDSO's failure, whatever it is. */
static int enters_and_fails(clockid_t clock, struct timespec *now)
{
	(void)clock;
	return syscall(SYS_clock_gettime, 12345, now) < 0 ? -errno : 0;
}

/* Every system call that reads a clock, whatever the name of the vDSO function. */

static int enters_by_timeofday(clockid_t clock, struct timespec *now)
{
	struct timeval other;

	(void)clock;
	(void)now;
	return (int)syscall(SYS_gettimeofday, &other, NULL);
}

static int enters_by_getres(clockid_t clock, struct timespec *now)
{
	return (int)syscall(SYS_clock_getres, clock, now);
}

static int enters_by_getcpu(clockid_t clock, struct timespec *now)
{
	(void)clock;
	(void)now;
	return (int)syscall(SYS_getcpu, NULL, NULL, NULL);
}

static int enters_by_time(clockid_t clock, struct timespec *now)
{
#if defined(SYS_time)
	(void)clock;
	(void)now;
	return (int)syscall(SYS_time, NULL);
#else
	return enters(clock, now);
#endif
}

/* As gettimeofday() of x86, 4.20 to 5.2: do_hres() makes another system call, which is ignored. */
static int ignores_its_fallback(struct timeval *now, void *zone)
{
	union call_result *result = (union call_result *)now;

	(void)zone;
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &result->timespec);
	result->timeval.tv_usec /= 1000;
	return 0;
}

/* One that never writes a time makes no system call. */
static int timeofday_writes_nothing(struct timeval *now, void *zone)
{
	(void)now;
	(void)zone;
	return 0;
}

/* The same where the counter can be read: nothing is left unwritten. */
static int needs_no_fallback(struct timeval *now, void *zone)
{
	(void)zone;
	*now = (struct timeval){1795250000, 0};
	return 0;
}

enum known {
	ANSWERS,
	ENTERS,
	TWICE,
	FOURTH,
	CRASHES,
	FAILS,
	FAILS_AT_TIMES,
	SILENT,
	ENTERS_AND_FAILS,
	BY_TIMEOFDAY,
	BY_GETRES,
	BY_GETCPU,
	BY_TIME,
	KNOWN_CLOCKS,
	IGNORES = KNOWN_CLOCKS,
	NEEDS_NONE,
	TIMEOFDAY_SILENT,
	KNOWN_COUNT
};

static clock_function *const known_functions[KNOWN_CLOCKS] = {[ANSWERS] = answers,
	[ENTERS] = enters,
	[TWICE] = enters_twice,
	[FOURTH] = enters_every_fourth_time,
	[CRASHES] = crashes,
	[FAILS] = fails_by_itself,
	[FAILS_AT_TIMES] = fails_every_fourth_time,
	[SILENT] = writes_nothing,
	[ENTERS_AND_FAILS] = enters_and_fails,
	[BY_TIMEOFDAY] = enters_by_timeofday,
	[BY_GETRES] = enters_by_getres,
	[BY_GETCPU] = enters_by_getcpu,
	[BY_TIME] = enters_by_time};

static struct call_table known_calls;

static void prepare_known(struct evidence *evidence)
{
	*evidence = (struct evidence){.live = true};
	known_calls = (struct call_table){.count = KNOWN_COUNT};
	for (size_t i = 0; i < KNOWN_COUNT; i++) {
		struct call_row *row = &known_calls.rows[i];

		*row = (struct call_row){.call = "known", .clock = ""};
		row->path[PATH_VDSO] = (struct call){.shape = SHAPE_CLOCK,
			.clock = CLOCK_MONOTONIC,
			.function.clock = i < KNOWN_CLOCKS ? known_functions[i] : NULL};
	}
	known_calls.rows[IGNORES].path[PATH_VDSO] =
		(struct call){.shape = SHAPE_TIMEOFDAY, .function.timeofday = ignores_its_fallback};
	known_calls.rows[NEEDS_NONE].path[PATH_VDSO] =
		(struct call){.shape = SHAPE_TIMEOFDAY, .function.timeofday = needs_no_fallback};
	known_calls.rows[TIMEOFDAY_SILENT].path[PATH_VDSO] = (struct call){
		.shape = SHAPE_TIMEOFDAY, .function.timeofday = timeofday_writes_nothing};
	call_table_name(&known_calls, evidence);
}

static void assert_known_counts(const struct call_evidence calls[KNOWN_COUNT])
{
	static const uint32_t wanted[KNOWN_COUNT] = {[ANSWERS] = 0,
		[ENTERS] = PROOF_CALLS,
		[TWICE] = PROOF_CALLS,
		[FOURTH] = PROOF_CALLS / 4,
		[FAILS] = 0,
		[BY_TIMEOFDAY] = PROOF_CALLS,
		[BY_GETRES] = PROOF_CALLS,
		[BY_GETCPU] = PROOF_CALLS,
		[BY_TIME] = PROOF_CALLS,
		[ENTERS_AND_FAILS] = PROOF_CALLS,
		[IGNORES] = PROOF_CALLS,
		[NEEDS_NONE] = 0};
	static const struct {
		uint32_t failed;
		int error;
	} failing[KNOWN_COUNT] = {[FAILS] = {PROOF_CALLS, EINVAL},
		[FAILS_AT_TIMES] = {PROOF_CALLS / 4, ENOSYS},
		[SILENT] = {PROOF_CALLS, 0},
		[TIMEOFDAY_SILENT] = {PROOF_CALLS, 0}};

	for (size_t i = 0; i < KNOWN_COUNT; i++) {
		const struct path_evidence *path = &calls[i].path[PATH_VDSO];

		if (i == CRASHES)
			continue;
		assert_int_equal(path->attempts, PROOF_CALLS);
		assert_int_equal(path->entered, wanted[i]);
		assert_int_equal(path->failed, failing[i].failed);
		assert_int_equal(path->error, failing[i].error);
		assert_int_equal(path->signal, 0);
		assert_int_equal(calls[i].path[PATH_LIBC].attempts, 0);
	}
	assert_int_not_equal(calls[CRASHES].path[PATH_VDSO].signal, 0);
	assert_int_equal(calls[CRASHES].path[PATH_VDSO].attempts, 1);
	assert_int_equal(calls[CRASHES].path[PATH_VDSO].entered, 0);
}

typedef bool take_function(
	struct proof_run *run, const struct deadline *deadline, struct fact *why);

/* One method directly, with the memory that it needs. Returns the run, or NULL. */
static struct proof_run *take(
	take_function *method, const struct evidence *evidence, const struct call_table *calls)
{
	struct fact why = {0};
	struct proof_run *run = child_share(sizeof(*run), &why);

	assert_non_null(run);
	run->table = calls;
	run->call = PROOF_RUN_NOTHING;
	memcpy(run->calls, evidence->calls, sizeof(run->calls));
	if (method(run, DEADLINE_NONE, &why) && fact_is_known(&run->fact))
		return run;
	print_message("%s%s\n", why.reason, run->fact.reason);
	assert_true(*why.reason || *run->fact.reason);
	child_unshare(run, sizeof(*run));
	return NULL;
}

static void check_known(take_function *method)
{
	struct evidence evidence;
	struct proof_run *run;

	prepare_known(&evidence);
	run = take(method, &evidence, &known_calls);
	if (!run)
		unit_skip("this method is refused here");
	assert_known_counts(run->calls);
	assert_true(run->cpus >= 1);
	child_unshare(run, sizeof(*run));
}

static void seccomp_counts_what_enters(void **state)
{
	(void)state;
	check_known(proof_by_seccomp);
}

static void ptrace_counts_what_enters(void **state)
{
	(void)state;
	check_known(proof_by_ptrace);
}

static void the_whole_proof_counts_what_enters(void **state)
{
	struct evidence evidence;

	(void)state;
	prepare_known(&evidence);
	proof_take(&known_calls, PROOF_SPREAD, &evidence.proof, evidence.calls, DEADLINE_NONE);
	if (!fact_is_known(&evidence.proof.fact))
		unit_skip("no proof can be taken here");
	assert_int_not_equal(evidence.proof.method, PROOF_NONE);
	assert_known_counts(evidence.calls);
}

/* What changed between the parts is lost unless both count. */
static void a_second_part_is_added_to_the_first(void **state)
{
	const struct path_evidence *path;
	struct evidence evidence;
	struct proof_evidence first;

	(void)state;
	prepare_known(&evidence);
	proof_take(&known_calls, PROOF_SPREAD, &evidence.proof, evidence.calls, DEADLINE_NONE);
	if (!fact_is_known(&evidence.proof.fact))
		unit_skip("no proof can be taken here");
	first = evidence.proof;
	known_calls.rows[ANSWERS].path[PATH_VDSO].function.clock = enters;
	proof_take(&known_calls, PROOF_SPREAD, &evidence.proof, evidence.calls, DEADLINE_NONE);
	path = &evidence.calls[ANSWERS].path[PATH_VDSO];
	assert_int_equal(path->attempts, 2 * PROOF_CALLS);
	assert_int_equal(path->entered, PROOF_CALLS);
	assert_int_equal(evidence.calls[CRASHES].path[PATH_VDSO].attempts, 1);
	assert_int_equal(evidence.proof.method, first.method);
	assert_int_equal(evidence.proof.cpus, first.cpus);
	assert_string_equal(evidence.proof.note, first.note);
}

static int hangs(clockid_t clock, struct timespec *now)
{
	(void)clock;
	(void)now;
	while (pause() < 0)
		continue;
	return 0;
}

/* A process that gets little CPU time has the proof of the calls that the verdict rests on. */
static void what_was_counted_before_the_time_was_over_is_kept(void **state)
{
	struct deadline deadline = deadline_after(400000000);
	struct evidence evidence;

	(void)state;
	prepare_known(&evidence);
	known_calls.count = 3;
	known_calls.rows[ANSWERS].decides = known_calls.rows[ENTERS].decides = true;
	known_calls.rows[TWICE].path[PATH_VDSO].function.clock = hangs;
	proof_take(&known_calls, PROOF_SPREAD, &evidence.proof, evidence.calls, &deadline);
	if (evidence.proof.fact.state == FACT_DENIED)
		unit_skip("no proof can be taken here");
	assert_true(fact_is_known(&evidence.proof.fact));
	assert_true(evidence.calls[ANSWERS].path[PATH_VDSO].attempts > 0);
	assert_int_equal(evidence.calls[ANSWERS].path[PATH_VDSO].entered, 0);
	assert_int_equal(evidence.calls[ENTERS].path[PATH_VDSO].entered,
		evidence.calls[ENTERS].path[PATH_VDSO].attempts);
	assert_int_equal(evidence.calls[TWICE].path[PATH_VDSO].attempts, 0);
}

static void a_proof_that_misses_a_deciding_call_is_none(void **state)
{
	struct deadline deadline = deadline_after(400000000);
	struct evidence evidence;

	(void)state;
	prepare_known(&evidence);
	known_calls.count = 2;
	known_calls.rows[ANSWERS].decides = known_calls.rows[ENTERS].decides = true;
	known_calls.rows[ENTERS].path[PATH_VDSO].function.clock = hangs;
	proof_take(&known_calls, PROOF_SPREAD, &evidence.proof, evidence.calls, &deadline);
	assert_false(fact_is_known(&evidence.proof.fact));
	assert_string_not_equal(evidence.proof.fact.reason, "");
	assert_int_equal(evidence.calls[ANSWERS].path[PATH_VDSO].attempts, 0);
}

static void refuse_wait4(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(wait4), 0) < 0 ||
		seccomp_load(filter) < 0)
		_exit(2);
}

static void a_refused_wait_leaves_no_traced_child(void **state)
{
	struct call_table calls = {0};
	struct fact why = {0};
	struct proof_run *run = child_share(sizeof(*run), &why);
	siginfo_t left = {0};
	int status = 0;
	pid_t pid;

	(void)state;
	assert_non_null(run);
	run->table = &calls;
	pid = fork();
	if (pid == 0) {
		refuse_wait4();
		_exit(proof_by_ptrace(run, DEADLINE_NONE, &why) || !strstr(why.reason, "wait4") ||
			waitid(P_ALL, 0, &left, WEXITED | WNOHANG) == 0 || errno != ECHILD);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	child_unshare(run, sizeof(*run));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		unit_skip("no seccomp filter can be set here");
	assert_int_equal(status, 0);
}

/* Two methods that share no mechanism say the same of this host. */
static void seccomp_and_ptrace_agree_on_this_host(void **state)
{
	struct call_table calls;
	struct vdso_image image;
	static struct evidence evidence;
	struct proof_run *seccomp, *ptrace;

	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	seccomp = take(proof_by_seccomp, &evidence, &calls);
	ptrace = take(proof_by_ptrace, &evidence, &calls);
	if (!seccomp || !ptrace)
		unit_skip("one of the methods is refused here");
	for (size_t i = 0; i < evidence.call_count; i++) {
		for (int path = PATH_VDSO; path <= PATH_LIBC; path++) {
			const struct path_evidence *one = &seccomp->calls[i].path[path];
			const struct path_evidence *other = &ptrace->calls[i].path[path];

			assert_int_equal(one->attempts, other->attempts);
			assert_int_equal(one->entered, other->entered);
			assert_int_equal(one->signal, other->signal);
		}
	}
	child_unshare(seccomp, sizeof(*seccomp));
	child_unshare(ptrace, sizeof(*ptrace));
}

/* CPU-time clocks enter the kernel on all kernels: a proof that says otherwise sees nothing. */
static void the_cpu_time_clocks_enter(void **state)
{
	struct call_table calls;
	struct vdso_image image;
	static struct evidence evidence;
	unsigned seen = 0;

	(void)state;
	evidence_list_live_calls(&evidence, &image, &calls);
	proof_take(&calls, PROOF_SPREAD, &evidence.proof, evidence.calls, DEADLINE_NONE);
	if (!fact_is_known(&evidence.proof.fact))
		unit_skip("no proof can be taken here");
	for (size_t i = 0; i < evidence.call_count; i++) {
		const struct path_evidence *path = &evidence.calls[i].path[PATH_LIBC];

		assert_int_equal(path->attempts, PROOF_CALLS);
		if (strstr(evidence.calls[i].clock, "CPUTIME")) {
			assert_int_equal(path->entered, PROOF_CALLS);
			seen++;
		}
	}
	assert_int_equal(seen, 2);
}

/* The filter cannot be undone: had it been set on us, nothing after would be right. */
static void the_caller_is_left_unchanged(void **state)
{
	struct evidence evidence;
	struct timespec now = {0, 0};

	(void)state;
	/* Under load, a child that a deadline ended in a test above may not be gone yet. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	prepare_known(&evidence);
	proof_take(&known_calls, PROOF_SPREAD, &evidence.proof, evidence.calls, DEADLINE_NONE);
	assert_int_equal(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now), 0);
	assert_true(now.tv_sec > 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seccomp_counts_what_enters),
		cmocka_unit_test(ptrace_counts_what_enters),
		cmocka_unit_test(a_refused_wait_leaves_no_traced_child),
		cmocka_unit_test(the_whole_proof_counts_what_enters),
		cmocka_unit_test(a_second_part_is_added_to_the_first),
		cmocka_unit_test(what_was_counted_before_the_time_was_over_is_kept),
		cmocka_unit_test(a_proof_that_misses_a_deciding_call_is_none),
		cmocka_unit_test(seccomp_and_ptrace_agree_on_this_host),
		cmocka_unit_test(the_cpu_time_clocks_enter),
		cmocka_unit_test(the_caller_is_left_unchanged),
	};

	return cmocka_run_group_tests_name("proof", tests, NULL, NULL);
}
