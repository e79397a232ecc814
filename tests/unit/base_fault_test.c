/* SPDX-License-Identifier: MIT */
/* Tests of base/fault: work that survives a signal and reports it. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/time.h"
#include "unit/unit.h"

static volatile int steps;

static void count_step(void *argument)
{
	(void)argument;
	steps++;
}

static void load_from(void *address)
{
	steps++;
	(void)*(volatile char *)address;
	steps += 100;
}

static void raise_it(void *signal_number)
{
	raise(*(int *)signal_number);
}

static void work_without_a_fault_is_done(void **state)
{
	(void)state;
	steps = 0;
	assert_int_equal(fault_guard(count_step, NULL), 0);
	assert_int_equal(steps, 1);
}

static void a_bad_load_is_reported_each_time(void **state)
{
	void *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(nothing, MAP_FAILED);
	steps = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(fault_guard(load_from, nothing), SIGSEGV);
	assert_int_equal(steps, 3);
	munmap(nothing, 4096);
}

static void a_fault_whose_signal_the_caller_blocked_is_reported(void **state)
{
	void *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t blocked, before, after;

	(void)state;
	assert_ptr_not_equal(nothing, MAP_FAILED);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGSEGV);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	assert_int_equal(fault_guard(load_from, nothing), SIGSEGV);
	sigprocmask(SIG_SETMASK, &before, &after);
	assert_int_equal(sigismember(&after, SIGSEGV), 1);
	munmap(nothing, 4096);
}

/* [vvar] has pages that answer with SIGBUS: a file mapped beyond its end does so too. */
static void a_page_without_backing_is_reported_as_sigbus(void **state)
{
	char name[] = "/tmp/vdsocheck-unit-XXXXXX";
	int file = mkstemp(name);
	void *beyond = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);

	(void)state;
	unlink(name);
	assert_ptr_not_equal(beyond, MAP_FAILED);
	assert_int_equal(fault_guard(load_from, beyond), SIGBUS);
	munmap(beyond, 4096);
	close(file);
}

static void every_guarded_signal_is_reported(void **state)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

	(void)state;
	for (size_t i = 0; i < COUNT(signals); i++) {
		int number = signals[i];

		assert_int_equal(fault_guard(raise_it, &number), number);
	}
}

static int inner_signal;

/* A guard within a guard, and a fault after it. */
static void guard_then_raise(void *signal_number)
{
	inner_signal = fault_guard(raise_it, signal_number);
	steps++;
	raise(SIGBUS);
}

static void a_fault_goes_to_the_innermost_guard(void **state)
{
	int number = SIGSEGV;

	(void)state;
	steps = 0;
	assert_int_equal(fault_guard(guard_then_raise, &number), SIGBUS);
	assert_int_equal(inner_signal, SIGSEGV);
	assert_int_equal(steps, 1);
}

static void *fault(void *unused)
{
	raise(SIGSEGV);
	return unused;
}

static void fault_in_a_thread(void *argument)
{
	pthread_t thread;

	(void)argument;
	if (pthread_create(&thread, NULL, fault, NULL) == 0)
		pthread_join(thread, NULL);
}

/* The guard around the work of a child is not one of its threads: their stacks differ. */
static void a_thread_without_a_guard_ends_the_child(void **state)
{
	struct fact why = {0};

	(void)state;
	assert_false(child_run(fault_in_a_thread, NULL, NULL, DEADLINE_NONE, &why));
	assert_string_equal(why.reason, "killed by SIGSEGV");
}

static void ignore(int signal)
{
	(void)signal;
}

/* Else the next crash would be missed, or jump into a frame that has returned. */
static void the_previous_handlers_are_restored(void **state)
{
	void (*before)(int) = signal(SIGBUS, ignore);
	int number = SIGBUS;

	(void)state;
	assert_int_equal(fault_guard(raise_it, &number), SIGBUS);
	assert_ptr_equal(signal(SIGBUS, before), ignore);
}

static void signal_names_are_the_kernel_s(void **state)
{
	(void)state;
	assert_string_equal(fault_signal_name(SIGSEGV), "SIGSEGV");
	assert_string_equal(fault_signal_name(SIGBUS), "SIGBUS");
	assert_string_equal(fault_signal_name(SIGILL), "SIGILL");
	assert_string_equal(fault_signal_name(SIGSYS), "SIGSYS");
	assert_string_equal(fault_signal_name(63), "signal 63");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_without_a_fault_is_done),
		cmocka_unit_test(a_bad_load_is_reported_each_time),
		cmocka_unit_test(a_fault_whose_signal_the_caller_blocked_is_reported),
		cmocka_unit_test(a_page_without_backing_is_reported_as_sigbus),
		cmocka_unit_test(every_guarded_signal_is_reported),
		cmocka_unit_test(a_fault_goes_to_the_innermost_guard),
		cmocka_unit_test(a_thread_without_a_guard_ends_the_child),
		cmocka_unit_test(the_previous_handlers_are_restored),
		cmocka_unit_test(signal_names_are_the_kernel_s),
	};

	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
