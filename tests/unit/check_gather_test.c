/* SPDX-License-Identifier: MIT */
/*
 * Tests of check/gather: this machine's calls, on a tree in which the clocksource's name changes
 * while the evidence is gathered.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check/model.h"
#include "collect.h"
#include "judge.h"
#include "unit/evidence_builder.h"
#include "unit/fake_root.h"
#include "unit/unit.h"

#define DIRECTORY "/sys/devices/system/clocksource/clocksource0/"
#define CURRENT DIRECTORY "current_clocksource"

static struct evidence evidence;

static void sleep_ms(long ms)
{
	struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* In place: a file written anew is empty for a moment. */
static void write_name(const char *path, const char *name)
{
	int file = open(path, O_WRONLY);

	if (file < 0 || pwrite(file, name, strlen(name), 0) < 0)
		_exit(1);
	close(file);
}

/*
 * A child that changes the name every half_ms, `times` times at most. No vDSO reads either,
 * so that on a host whose calls are served each of them disagrees with the proof.
 */
static pid_t start_changes(const struct fake_root *fake, long half_ms, unsigned times)
{
	pid_t child;

	fake_root_add(fake, CURRENT, "hpet\n");
	fake_root_add(fake, DIRECTORY "available_clocksource", "hpet pit \n");
	child = fork();
	if (child == 0) {
		for (unsigned i = 0; i < times; i++) {
			sleep_ms(half_ms);
			write_name(fake_root_place(fake, CURRENT), i % 2 ? "hpet\n" : "pit \n");
		}
		_exit(0);
	}
	assert_true(child > 0);
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void gather_until(const struct fake_root *fake, bool brief, const struct deadline *deadline)
{
	struct root root = fake->root;

	root.live = true;
	memset(&evidence, 0, sizeof(evidence));
	if (brief)
		gather_verdict(&root, &evidence, deadline);
	else
		gather_evidence(&root, &evidence, true, deadline);
}

static void gather(const struct fake_root *fake, bool brief)
{
	gather_until(fake, brief, DEADLINE_NONE);
}

static enum verdict_kind judge(void)
{
	struct verdict verdict;

	evidence_find_verdict(&evidence, &verdict);
	return verdict.kind;
}

static bool is_served_and_proven(void)
{
	struct entry_counts counts = counts_deciding(&evidence);

	return fact_is_known(&evidence.proof.fact) && counts.entered == 0 && counts.signal == 0;
}

/* A starved process reads so seldom that chance may show it the same name each time. */
#define TRIES 50

static void gather_until_changes_are_seen(const struct fake_root *fake, long half_ms, bool brief)
{
	for (int i = 0; i < TRIES; i++) {
		pid_t child = start_changes(fake, half_ms, UINT32_MAX);

		gather(fake, brief);
		end(child);
		if (evidence.clocksource.changes > 1)
			break;
	}
}

static void a_clocksource_that_keeps_changing_is_never_ok(void **state)
{
	static const long half_ms[] = {1, 3, 10, 30};

	for (size_t i = 0; i < COUNT(half_ms); i++) {
		for (int brief = 0; brief < 2; brief++) {
			gather_until_changes_are_seen(*state, half_ms[i], brief);
			if (!is_served_and_proven())
				unit_skip("this machine's calls are not served, or not proven");
			assert_true(evidence.clocksource.changes > 1);
			assert_int_not_equal(judge(), VERDICT_OK);
		}
	}
}

/* The proof after it decides: the name in the tree changes, this machine's calls do not. */
static void one_change_is_judged_by_the_proof_after_it(void **state)
{
	/* On a busy machine the change may come before all readings or after them. */
	for (int tries = 0; tries < 20; tries++) {
		pid_t child = start_changes(*state, 30, 1);

		gather(*state, false);
		end(child);
		if (evidence.clocksource.changes)
			break;
	}
	if (!is_served_and_proven())
		unit_skip("this machine's calls are not served by the vDSO, or not proven");
	assert_int_equal(evidence.clocksource.changes, 1);
	assert_string_equal(evidence.clocksource.changed_to, "pit");
	assert_int_equal(judge(), VERDICT_OK);
}

/* hpet by name, yet served: read again for a while, the proof decides. */
static void a_steady_disagreement_is_decided_by_the_proof(void **state)
{
	/* Two parts are what agreement takes. On a busy machine the time may be over after them. */
	const uint32_t of_agreement = 2 * 3 * 500;
	uint64_t attempts = 0;

	for (int tries = 0; tries < 20 && attempts <= of_agreement; tries++) {
		pid_t child = start_changes(*state, 1, 0);

		gather(*state, false);
		end(child);
		if (!is_served_and_proven())
			unit_skip("this machine's calls are not served by the vDSO, or not proven");
		attempts = counts_deciding(&evidence).attempts;
		assert_int_equal(evidence.clocksource.changes, 0);
		assert_string_equal(evidence.clocksource.changed_to, "");
		assert_int_equal(judge(), VERDICT_OK);
	}
	assert_true(attempts > of_agreement);
}

/* Each deciding call by all its paths, and one path of the one that costs are estimated by. */
static void for_the_screen_the_deciding_calls_alone_are_measured(void **state)
{
	const struct fake_root *fake = *state;
	struct root root = fake->root;
	unsigned timed = 0;

	root.live = true;
	memset(&evidence, 0, sizeof(evidence));
	gather_evidence(&root, &evidence, false, DEADLINE_NONE);
	if (!is_served_and_proven() || !fact_is_known(&evidence.timing.fact))
		unit_skip("this machine's calls are not served, not proven or not timed");
	assert_int_equal(counts_deciding(&evidence).calls, 3);
	for (size_t i = 0; i < evidence.call_count; i++) {
		for (int path = 0; path < PATH_COUNT; path++) {
			timed += fact_is_known(&evidence.calls[i].path[path].fact);
			assert_true(evidence.calls[i].decides || path == PATH_VDSO ||
				    !fact_is_known(&evidence.calls[i].path[path].fact));
		}
	}
	assert_in_range(timed, 9, 10);
	if (evidence.vclock.how == VCLOCK_READ)
		assert_int_equal(evidence.copy.fact.state, FACT_UNREAD);
	assert_int_equal(judge(), VERDICT_OK);
}

static void a_copy_that_serves_the_clocks_shows_no_other_cost(void **state)
{
	gather(*state, false);
	if (!is_served_and_proven() || !fact_is_known(&evidence.copy.fact))
		unit_skip("the clocks are not served, or the vDSO is not copied here");
	assert_int_equal(evidence.copy.what_if_ns.fact.state, FACT_ABSENT);
}

/* Fails if a reason in the document of the evidence is but its state, as of a fact never set. */
static void check_reasons(void)
{
	static struct check_request request;
	char *bytes, *at, *key;

	request.evidence = evidence;
	diagnose(&request.evidence, &request.diagnosis);
	bytes = unit_print_in(check_report_json, &request, &(struct style){.compact = true});
	at = strstr(bytes, ": \"");
	if (at) {
		key = (char *)memrchr(bytes, ',', (size_t)(at - bytes)) + 1;
		fail_msg("%s: nothing sets the value of %.*s", evidence.live ? "live" : "captured",
			(int)(at - key), key);
	}
	free(bytes);
}

#define CHECK_TIME(member, ...)                                                                    \
	if (fact_is_known(&path->fact) && path->member <= 0)                                       \
		fail_msg("nothing sets " #member " of %s", call->call);

static void check_times(void)
{
	for (size_t i = 0; i < evidence.call_count * PATH_COUNT; i++) {
		const struct call_evidence *call = &evidence.calls[i / PATH_COUNT];
		const struct path_evidence *path = &call->path[i % PATH_COUNT];

		PATH_TIMES(CHECK_TIME)
	}
}

/* Whatever is described in evidence.h, and left by who should collect or measure it. */
static void each_value_that_is_missing_says_why(void **state)
{
	const struct fake_root *fake = *state;
	struct deadline now = deadline_after(0);

	gather(fake, false);
	check_reasons();
	check_times();
	/* What there is no time for is left out. */
	gather_until(fake, false, &now);
	check_reasons();
	memset(&evidence.host, 0, sizeof(evidence.host));
	host_collect(&fake->root, &evidence.host);
	host_collect_identity(&fake->root, &evidence.host);
	check_reasons();
	memset(&evidence, 0, sizeof(evidence));
	gather_evidence(&fake->root, &evidence, true, DEADLINE_NONE);
	check_reasons();
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, fake_root_setup, fake_root_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_TREE(a_clocksource_that_keeps_changing_is_never_ok),
		IN_TREE(one_change_is_judged_by_the_proof_after_it),
		IN_TREE(a_steady_disagreement_is_decided_by_the_proof),
		IN_TREE(for_the_screen_the_deciding_calls_alone_are_measured),
		IN_TREE(a_copy_that_serves_the_clocks_shows_no_other_cost),
		IN_TREE(each_value_that_is_missing_says_why),
	};

	return cmocka_run_group_tests_name("gather", tests, NULL, NULL);
}
