/* SPDX-License-Identifier: MIT */
/* trace: the code that counts calls into the vDSO, where they come from, and what is printed. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/elf.h"
#include "base/memory.h"
#include "base/text.h"
#include "commands.h"
#include "trace/frames.h"
#include "trace/served.h"
#include "unit/dice.h"
#include "unit/unit.h"

static struct trace_plan plan;
static struct trace_request request;
static struct trace_report run;
static struct trace_evidence *const trace = &run.trace;

static void make_plan(void)
{
	trace_plan_make(&plan);
	places_free(&trace->places);
	places_free(&trace->call_places);
	request = (struct trace_request){.plan = &plan};
	*trace = (struct trace_evidence){.request = &request};
	fact_set_known(&trace->served);
}

/* ---- the code ---- */

#if defined(__x86_64__) || defined(__aarch64__)
static int64_t answered;

static int answer(clockid_t clock, struct timespec *time)
{
	__atomic_add_fetch(&answered, clock, __ATOMIC_RELAXED);
	return time ? 42 : 0;
}

typedef int clock_function(clockid_t, struct timespec *);

static bool make_call_as_if_fallback;

#define CODE_AT 64

/* A jump to a stub for the call, whose code is executable, and its file. */
static clock_function *make_stub(enum served_call call, struct served_file *file)
{
	unsigned char *code =
		mmap(NULL, SERVED_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct served_stubs stubs = {.code = code,
		.to = (uintptr_t)code,
		.file = (uintptr_t)file,
		.as_if_fallback = make_call_as_if_fallback,
		.used = CODE_AT};
	uint64_t entry;
	void *start = code;
	clock_function *function;

	assert_ptr_not_equal(code, MAP_FAILED);
	entry = served_stub_make(&stubs, call, stubs.to, (uintptr_t)answer);
	assert_in_range(entry, stubs.to + CODE_AT, stubs.to + CODE_AT + SERVED_STUB_SIZE - 1);
	assert_int_equal(stubs.used, CODE_AT + SERVED_STUB_SIZE);
	assert_in_range(served_jump_make(code, entry), 1, SERVED_ROOM / SERVED_CALL_COUNT);
	assert_int_equal(mprotect(code, SERVED_PAGE, PROT_READ | PROT_EXEC), 0);
	__builtin___clear_cache((char *)code, (char *)code + SERVED_PAGE);
	memcpy(&function, &start, sizeof(function));
	return function;
}

static struct served_file *make_file(void)
{
	struct served_file *file = mmap(
		NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(file, MAP_FAILED);
	return file;
}

/* The calls that all shards have counted of a call and clock. */
static uint64_t count_calls(const struct served_file *file, uint64_t call, uint64_t clock)
{
	uint64_t count = 0;

	for (size_t shard = 0; shard < SERVED_SHARDS; shard++)
		count += file->counters[shard][call * SERVED_CLOCKS + clock];
	return count;
}

static void a_stub_counts_and_goes_on(void **state)
{
	struct served_file *file = make_file();
	clock_function *get = make_stub(SERVED_CLOCK_GETTIME, file);
	clock_function *plain = make_stub(SERVED_GETCPU, file);
	struct timespec time;

	(void)state;
	answered = 0;
	for (int clock = 0; clock < 30; clock++) {
		for (int i = 0; i <= clock; i++)
			assert_int_equal(get(clock, &time), 42);
		/* Others use the file, too, from now on. */
		if (clock == 12)
			file->shared = 1;
	}
	assert_int_equal(get(1, NULL), 0);
	assert_int_equal(plain(7, &time), 42);
	assert_int_equal(answered, 8998);
	for (uint64_t clock = 0; clock < SERVED_CLOCK_OTHER; clock++)
		assert_int_equal(
			count_calls(file, SERVED_CLOCK_GETTIME, clock), clock + 1 + (clock == 1));
	assert_int_equal(count_calls(file, SERVED_CLOCK_GETTIME, SERVED_CLOCK_OTHER),
		25 + 26 + 27 + 28 + 29 + 30);
	assert_int_equal(count_calls(file, SERVED_GETCPU, 0), 1);
}

static void a_stub_makes_the_system_call_as_if_the_host_fell_back(void **state)
{
	struct served_file *file = make_file();
	clock_function *get;
	struct timespec before, between, after;

	(void)state;
	make_call_as_if_fallback = true;
	get = make_stub(SERVED_CLOCK_GETTIME, file);
	make_call_as_if_fallback = false;
	answered = 0;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &before);
	assert_int_equal(get(CLOCK_MONOTONIC, &between), 0);
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &after);
	assert_true(before.tv_sec < between.tv_sec ||
		    (before.tv_sec == between.tv_sec && before.tv_nsec <= between.tv_nsec));
	assert_true(between.tv_sec < after.tv_sec ||
		    (between.tv_sec == after.tv_sec && between.tv_nsec <= after.tv_nsec));
	before = between = (struct timespec){7, 8};
	assert_int_equal(get(1000, &between), -EINVAL);
	assert_memory_equal(&between, &before, sizeof(before));
	assert_int_equal(answered, 0);
	assert_int_equal(count_calls(file, SERVED_CLOCK_GETTIME, CLOCK_MONOTONIC), 1);
}

/* In a child: its result is an errno value of a filter, or its own. */
static void call_below_filters(void *argument)
{
	struct served_file *file = argument;
	clock_function *get, *day;
	struct timespec time;

	make_call_as_if_fallback = true;
	get = make_stub(SERVED_CLOCK_GETTIME, file);
	day = make_stub(SERVED_GETTIMEOFDAY, file);
	get(CLOCK_MONOTONIC, &time);
	get(1000, &time);
	get(CLOCK_REALTIME, (struct timespec *)8);
	day(0, (struct timespec *)8);
	for (int error = EPERM; error <= EINVAL; error += EINVAL - EPERM) {
		scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

		if (!filter ||
			seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)error),
				SCMP_SYS(clock_gettime), 0) < 0 ||
			seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint16_t)error),
				SCMP_SYS(gettimeofday), 0) < 0 ||
			seccomp_load(filter) < 0)
			_exit(77);
		if (get(CLOCK_MONOTONIC, &time) != -error || get(CLOCK_TAI, &time) != -error ||
			get(1000, &time) != -error || day(1000, NULL) != -error)
			_exit(1);
		if (error == EINVAL)
			_exit(0);
	}
}

static void calls_that_a_filter_refuses_are_counted_as_if_the_host_fell_back(void **state)
{
	struct served_file *file = mmap(
		NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = -1;
	pid_t child;

	(void)state;
	assert_ptr_not_equal(file, MAP_FAILED);
	child = fork();
	if (child == 0)
		call_below_filters(file);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		unit_skip("no seccomp filter can be set");
	assert_int_equal(status, 0);
	/* All but EINVAL of the unknown clock. */
	assert_int_equal(file->refused[SERVED_CLOCK_GETTIME], 5);
	assert_int_equal(file->refused[SERVED_GETTIMEOFDAY], 2);
	munmap(file, sizeof(*file));
}

/* ---- the rule, in C; qemu-aarch64 runs this program for arm64 ---- */

static uint64_t hash_of(uint64_t number)
{
	const uint64_t factor = 0x9e3779b97f4a7c15;

	number *= factor;
	return (number ^ number >> 32) * factor;
}

/* Says whether a record is taken of a call before which its counter had counted so many. */
static bool is_taken(uint64_t before)
{
	const unsigned bits = before < 128     ? 0
	                      : before < 65536 ? 57 - (unsigned)__builtin_clzll(before)
	                                       : 10;

	assert_int_equal(served_rarity(before), bits);
	return !bits || hash_of(before) >> (64 - bits) == 0;
}

/* A call as a stub sees it. */
struct seen_call {
	enum served_call call;
	clockid_t clock;
	uint64_t stack_pointer; /* after its return */
	uint64_t kept[COUNT(((struct served_record *)NULL)->kept)];
	uint64_t return_address;
};

#if defined(__x86_64__)
enum { PUSHED = 8, GO_STACK = 2 }; /* r12 */
#else
enum { PUSHED = 0, GO_STACK = 1 }; /* x20 */
#endif

/* Does to the file what a stub does. */
static void count_by_the_rule(struct served_file *file, const struct seen_call *call)
{
	const bool takes_clock =
		call->call == SERVED_CLOCK_GETTIME || call->call == SERVED_CLOCK_GETRES;
	const uint32_t clock = (uint32_t)call->clock;
	const uint64_t which = (uint64_t)call->call * 32 + (!takes_clock        ? 0
								   : clock < 24 ? clock
										: 24);
	const uint64_t shard = ((call->stack_pointer - PUSHED) >> 16) * 0x9e3779b97f4a7c15 >> 58;
	const uint64_t before = file->counters[shard][which]++;
	struct served_record record = {SERVED_WHOLE, .which = (uint32_t)which, .before = before};
	uint64_t number;

	if (!is_taken(before))
		return;
	number = file->taken++;
	if (number >= 2048)
		number = (uint64_t)((unsigned __int128)hash_of(number) * (number + 1) >> 64);
	if (number >= 2048 || file->records[number].state == SERVED_BUSY)
		return;
	memcpy(record.kept, call->kept, sizeof(record.kept));
#if defined(__x86_64__)
	record.return_address = call->return_address;
#endif
	record.stack_pointer = call->stack_pointer;
	for (size_t i = 0; i < TRACE_GO_FUNCTIONS; i++) {
		if (call->return_address - file->go[i].start < file->go[i].size)
			record.stack_pointer = call->kept[GO_STACK];
	}
	record.size = file->stack_end - record.stack_pointer;
	if (record.size >= 0x800000)
		record.size = -record.stack_pointer % 4096;
	record.size = record.size < 256 ? record.size : 256;
	/* The bytes behind it are those of the record before. */
	memcpy(record.stack, file->records[number].stack, sizeof(record.stack));
	memcpy(record.stack, (void *)(uintptr_t)record.stack_pointer, record.size);
	file->records[number] = record;
}

/*
 * Calls a function with this clock where the stack has this end, with registers of call_with, and
 * sets these to what they are then.
 */
int call_on_stack(clock_function *function, uint64_t end, clockid_t clock);
extern const unsigned char call_returns[];
extern uint64_t call_with[12], call_stack;
uint64_t call_with[12], call_stack;
#if defined(__x86_64__)
__asm__(".text\n"
	".globl call_on_stack, call_returns\n"
	"call_on_stack:\n"
	"	push	%rbx\n"
	"	push	%rbp\n"
	"	push	%r12\n"
	"	push	%r13\n"
	"	push	%r14\n"
	"	push	%r15\n"
	"	mov	%rsp, call_stack(%rip)\n"
	"	mov	call_with(%rip), %rbx\n"
	"	mov	call_with+8(%rip), %rbp\n"
	"	mov	call_with+16(%rip), %r12\n"
	"	mov	call_with+24(%rip), %r13\n"
	"	mov	call_with+32(%rip), %r14\n"
	"	mov	call_with+40(%rip), %r15\n"
	"	mov	%rdi, %rax\n"
	"	mov	%rsi, %rsp\n"
	"	xor	%esi, %esi\n"
	"	mov	%edx, %edi\n"
	"	call	*%rax\n"
	"call_returns:\n"
	"	mov	%rbx, call_with(%rip)\n"
	"	mov	%rbp, call_with+8(%rip)\n"
	"	mov	%r12, call_with+16(%rip)\n"
	"	mov	%r13, call_with+24(%rip)\n"
	"	mov	%r14, call_with+32(%rip)\n"
	"	mov	%r15, call_with+40(%rip)\n"
	"	mov	call_stack(%rip), %rsp\n"
	"	pop	%r15\n"
	"	pop	%r14\n"
	"	pop	%r13\n"
	"	pop	%r12\n"
	"	pop	%rbp\n"
	"	pop	%rbx\n"
	"	ret\n");
#else
#define EACH_PAIR(instruction, base, first)                                                        \
	"	" instruction "	x19, x20, [" base ", #" first "]\n"                                \
	"	" instruction "	x21, x22, [" base ", #" first " + 16]\n"                           \
	"	" instruction "	x23, x24, [" base ", #" first " + 32]\n"                           \
	"	" instruction "	x25, x26, [" base ", #" first " + 48]\n"                           \
	"	" instruction "	x27, x28, [" base ", #" first " + 64]\n"
__asm__(".text\n"
	".globl call_on_stack, call_returns\n"
	"call_on_stack:\n"
	"	sub	sp, sp, #96\n" EACH_PAIR("stp", "sp",
		"0") "	stp	x29, x30, [sp, #80]\n"
		     "	adrp	x9, call_stack\n"
		     "	mov	x10, sp\n"
		     "	str	x10, [x9, #:lo12:call_stack]\n"
		     "	adrp	x9, call_with\n"
		     "	add	x9, x9, #:lo12:call_with\n" EACH_PAIR("ldp", "x9",
			     "0") "	ldr	x29, [x9, #80]\n"
				  "	mov	x9, x0\n"
				  "	mov	sp, x1\n"
				  "	mov	x1, #0\n"
				  "	mov	w0, w2\n"
				  "	blr	x9\n"
				  "call_returns:\n"
				  "	adrp	x9, call_with\n"
				  "	add	x9, x9, #:lo12:call_with\n" EACH_PAIR("stp", "x9",
					  "0") "	str	x29, [x9, #80]\n"
					       "	adrp	x9, call_stack\n"
					       "	ldr	x10, [x9, #:lo12:call_stack]\n"
					       "	mov	sp, x10\n" EACH_PAIR("ldp", "sp",
						       "0") "	ldp	x29, x30, [sp, #80]\n"
							    "	add	sp, sp, #96\n"
							    "	ret\n");
#endif

static const enum served_call entries[] = {
	SERVED_CLOCK_GETTIME, SERVED_GETTIMEOFDAY, SERVED_CLOCK_GETRES, SERVED_GETCPU};

/* Stacks of 64 KiB: of goroutines, and for several shards. Behind the last one nothing is mapped.
 */
enum { STACK = 65536, GO_STACKS = 2, STACKS = 16 };

static struct seen_call roll_call(struct dice *dice, const unsigned char *stacks)
{
	/* Some counters count many calls, and many some. */
	const size_t stack =
		dice_roll(dice, 2) ? STACKS : GO_STACKS + 1 + dice_roll(dice, STACKS - GO_STACKS);
	const size_t left = dice_roll(dice, dice_roll(dice, 2) ? 64 : STACK / 32);
	struct seen_call call = {.call = entries[dice_roll(dice, COUNT(entries))],
		.clock = dice_roll(dice, 4) ? 1 : (clockid_t)dice_roll(dice, 40) - 8,
		.stack_pointer = (uintptr_t)stacks + stack * STACK - 16 * left,
		.return_address = (uintptr_t)call_returns};

	for (size_t i = 0; i < COUNT(call.kept); i++)
		call.kept[i] = dice_word(dice);
	call.kept[GO_STACK] = (uintptr_t)stacks + (1 + dice_roll(dice, GO_STACKS)) * STACK -
	                      16 * dice_roll(dice, 64);
#if defined(__aarch64__)
	call.kept[11] = call.return_address;
#endif
	return call;
}

/* What happens to the file while its program runs, and has run for long. */
static void change(struct served_file *file, size_t moment, uint64_t stacks)
{
	if (moment == 1)
		file->shared = 1;
	else if (moment == 2)
		file->stack_end = stacks + STACKS * STACK;
	else if (moment == 3)
		file->go[TRACE_GO_FUNCTIONS - 1] =
			(struct code_range){(uintptr_t)call_returns - 8, 9};
	/* Something writes them, and never ends. */
	for (size_t i = 0; moment == 1 && i < SERVED_RECORDS; i += 16)
		file->records[i].state = SERVED_BUSY;
	for (size_t i = 0; moment > 3 && i < sizeof(file->counters) / sizeof(uint64_t); i++)
		file->counters[i / SERVED_COUNTERS][i % SERVED_COUNTERS] +=
			moment == 4 ? SERVED_EARLY - 200 : UINT64_C(1) << 40;
}

/*
 * The whole file is as the rule in C makes it, byte for byte: for each entry of a stub, for one
 * thread and as for several, at the ends of pages and of stacks, before and after all records are
 * used, for the first calls and late ones.
 */
static void a_stub_counts_and_takes_by_the_rule(void **state)
{
	enum { MOMENT = 60000 };
	struct dice dice = dice_start();
	unsigned char *stacks = mmap(NULL, (STACKS + 1) * STACK, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct served_file *file = make_file(), *expected = make_file();
	clock_function *get[SERVED_CALL_COUNT];

	(void)state;
	assert_ptr_not_equal(stacks, MAP_FAILED);
	assert_int_equal(mprotect(stacks + STACKS * STACK, STACK, PROT_NONE), 0);
	dice_fill(&dice, stacks, STACKS * STACK);
	for (size_t i = 0; i < COUNT(entries); i++)
		get[entries[i]] = make_stub(entries[i], file);
	for (size_t i = 0; i < 6 * MOMENT; i++) {
		struct seen_call call = roll_call(&dice, stacks);

		if (i % MOMENT == 0) {
			assert_memory_equal(file, expected, sizeof(*file));
			change(file, i / MOMENT, (uintptr_t)stacks);
			change(expected, i / MOMENT, (uintptr_t)stacks);
		}
		count_by_the_rule(expected, &call);
		memcpy(call_with, call.kept, sizeof(call.kept));
		assert_int_equal(call_on_stack(get[call.call], call.stack_pointer, call.clock), 0);
		assert_memory_equal(call_with, call.kept, sizeof(call.kept));
	}
	assert_memory_equal(file, expected, sizeof(*file));
	assert_true(file->taken > 2 * SERVED_RECORDS);
	munmap(stacks, (STACKS + 1) * STACK);
}

struct reader {
	pthread_t thread;
	clock_function *get;
	uint64_t seed;
};

enum { READERS = 4, READS = 400000 };
static pthread_barrier_t begin;

static void *read_clocks(void *argument)
{
	const struct reader *reader = argument;
	struct dice dice = {reader->seed};

	pthread_barrier_wait(&begin);
	for (size_t i = 0; i < READS; i++)
		reader->get((clockid_t)dice_roll(&dice, 4), NULL);
	return NULL;
}

/* In which order they count does not matter: each counter has each of its numbers once. */
static void several_threads_count_and_take_by_the_rule(void **state)
{
	struct dice dice = dice_start();
	struct served_file *file = make_file();
	struct reader readers[READERS];
	uint64_t counted = 0, taken = 0;
	void *stacks = NULL;

	(void)state;
	file->shared = 1;
	assert_int_equal(posix_memalign(&stacks, STACK, STACK), 0);
	pthread_barrier_init(&begin, NULL, READERS);
	for (size_t i = 0; i < READERS; i++) {
		pthread_attr_t attributes;

		readers[i] = (struct reader){
			.get = make_stub(SERVED_CLOCK_GETTIME, file), .seed = dice_word(&dice)};
		pthread_attr_init(&attributes);
		/* The first two are in the same shard. */
		if (i < 2)
			pthread_attr_setstack(
				&attributes, (char *)stacks + i * STACK / 2, STACK / 2);
		assert_int_equal(
			pthread_create(&readers[i].thread, &attributes, read_clocks, &readers[i]),
			0);
		pthread_attr_destroy(&attributes);
	}
	for (size_t i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	free(stacks);
	for (size_t i = 0; i < SERVED_SHARDS * SERVED_COUNTERS; i++) {
		const uint64_t calls = file->counters[i / SERVED_COUNTERS][i % SERVED_COUNTERS];

		counted += calls;
		for (uint64_t before = 0; before < calls; before++)
			taken += is_taken(before);
	}
	assert_int_equal(counted, READERS * READS);
	assert_int_equal(file->taken, taken);
	for (size_t i = 0; i < SERVED_RECORDS && i < taken; i++) {
		/* Two threads may have taken the same record at the same moment. */
		assert_int_equal(file->records[i].state, SERVED_WHOLE);
		assert_true(is_taken(file->records[i].before));
		assert_in_range(file->records[i].which, 0, 3);
	}
}

/* The number of those that are taken is near its mean, by five standard deviations. */
static void assert_near(double number, double mean, double variance)
{
	assert_true((number - mean) * (number - mean) < 25 * variance);
}

static void a_stub_takes_few_of_many_calls_without_a_period(void **state)
{
	const uint64_t calls = 20000000, seldom = calls - SERVED_EARLY;
	/* As many as the first 64 until each power of two. */
	const double early = 64 * (1 + 10), before = 64 * 9;
	struct served_file *file = make_file();
	clock_function *get = make_stub(SERVED_CLOCK_GETTIME, file);
	const double kept = SERVED_RECORDS, part = 1.0 / SERVED_SELDOM;
	double sum = 0;
	uint64_t taken;

	(void)state;
	for (uint64_t i = 0; i < calls; i++)
		get(CLOCK_MONOTONIC, NULL);
	taken = file->taken;
	assert_near((double)taken - early, (double)seldom * part, (double)seldom * part + before);
	/* Those that are left are of all times, and of each residue of a period. */
	for (size_t i = 0; i < SERVED_RECORDS; i++)
		sum += (double)file->records[i].before / (double)calls;
	assert_near(sum, kept * (double)seldom * part / (double)taken / 2, kept / 12);
	for (uint64_t period = 2; period <= 66; period++) {
		const double chance = 1 / (double)period;
		size_t hits = 0;

		for (size_t i = 0; i < SERVED_RECORDS; i++)
			hits += file->records[i].before >= SERVED_FIRST &&
			        file->records[i].before % period == 0;
		assert_near((double)hits, kept * chance, kept * chance * (1 - chance));
	}
}

#define STUBS_AT 0x7ffff7000000

/* Copies this process's own vDSO up to the end of its room; NULL if it has none. */
static unsigned char *copy_vdso(size_t *length, size_t *size)
{
	unsigned char *image = xmalloc(SERVED_IMAGE_MAX);
	struct iovec here = {image, SERVED_IMAGE_MAX}, there = here;
	ssize_t read;

	there.iov_base = (void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	read = there.iov_base ? process_vm_readv(getpid(), &here, 1, &there, 1, 0) : 0;
	*size = served_find_room(image, read > 0 ? (size_t)read : 0);
	*length = served_image_length(image, *size);
	if (*size) {
		*size += SERVED_ROOM;
		return image;
	}
	free(image);
	return NULL;
}

static size_t make_stubs(unsigned char *image, size_t size)
{
	unsigned char code[SERVED_STUBS_SIZE];
	struct served_stubs stubs = {.code = code, .to = STUBS_AT};
	const size_t room = served_find_room(image, size);
	struct served_words words;

	if (room)
		served_stubs_make(
			&stubs, image, size, (uintptr_t)getauxval(AT_SYSINFO_EHDR), room, &words);
	return stubs.used / SERVED_STUB_SIZE;
}

/*
 * The symbols of this process's own vDSO lead to jumps, each of which leads to a stub of its own.
 * They are within the segment of code, and only what was not used is different beside.
 */
static void the_symbols_of_the_vdso_lead_to_jumps_within_its_image(void **state)
{
	size_t length, size, led = 0, stubs, room;
	unsigned char *image = copy_vdso(&length, &size), *before = copy_vdso(&length, &size);
	struct elf_dynamic dynamic;
	struct elf elf;

	(void)state;
	if (!image)
		skip();
	assert_true(length > SERVED_PAGE / 2);
	room = size - SERVED_ROOM;
	assert_int_equal(served_find_room(image, size), room);
	stubs = make_stubs(image, size);
	assert_true(elf_start(&elf, image, size) && elf_read_dynamic(&elf, &dynamic));
	assert_int_equal(elf_extent(&elf), size);
	for (uint64_t i = 0; i < dynamic.count; i++) {
		uint64_t at = dynamic.symbols + i * sizeof(Elf64_Sym), stub;
		uint64_t value = ELF_READ(&elf, at, Sym, st_value);

		if (memcmp(image + at, before + at, sizeof(Elf64_Sym)) == 0)
			continue;
		led++;
		assert_in_range(elf_offset(&elf, value), room, size - 1);
		for (stub = elf_offset(&elf, value);
			elf_number(&elf, stub, 8) - STUBS_AT >= stubs * SERVED_STUB_SIZE;)
			assert_in_range(++stub, room, size - 8);
		memcpy(image + at, before + at, sizeof(Elf64_Sym));
	}
	/* A function that has a bare name, too, has one stub. */
	assert_true(stubs >= 2 && (led == stubs || led == 2 * stubs));
	memset(image + room, 0, SERVED_ROOM);
	for (uint64_t at = 0; (at = elf_segment(&elf, PT_LOAD, at));)
		memcpy(image + at, before + at, sizeof(Elf64_Phdr));
	assert_memory_equal(image, before, size);
	free(before);
	free(image);
}

static void the_image_of_a_vdso_without_room_for_jumps_stays(void **state)
{
	size_t length, size;
	unsigned char *image = copy_vdso(&length, &size);
	unsigned char *before = image ? xmalloc(size) : NULL;
	Elf64_Half count;

	(void)state;
	if (!image)
		skip();
	/*
	 * Something is in the first or last byte of the room; there are so many sections that their
	 * headers reach into it, or further than what is mapped.
	 */
	for (int i = 0; i < 4; i++) {
		free(image);
		image = copy_vdso(&length, &size);
		memcpy(&count, image + offsetof(Elf64_Ehdr, e_shnum), sizeof(count));
		while (i == 2 && served_find_room(image, size)) {
			count++;
			memcpy(image + offsetof(Elf64_Ehdr, e_shnum), &count, sizeof(count));
		}
		if (i == 3)
			memset(image + offsetof(Elf64_Ehdr, e_shoff), 0x7f, sizeof(Elf64_Off));
		else if (i < 2)
			image[i ? size - 1 : size - SERVED_ROOM] = 1;
		memcpy(before, image, size);
		assert_int_equal(served_find_room(image, size), 0);
		make_stubs(image, size);
		assert_memory_equal(image, before, size);
	}
	assert_int_equal(served_find_room(image, 0), 0);
	free(before);
	free(image);
}

/* Cut anywhere or with broken bytes it stays within its bytes. */
static void a_broken_vdso_is_read_safely(void **state)
{
	struct dice dice = dice_start();
	size_t length, size;
	unsigned char *image = copy_vdso(&length, &size);

	(void)state;
	if (!image)
		skip();
	for (size_t i = 0; i < 20000; i++) {
		size_t cut = size - dice_roll(&dice, 2) * i / 16;
		unsigned char *broken = xmalloc(cut);

		memcpy(broken, image, cut);
		for (int k = 0; k < 4; k++)
			broken[dice_roll(&dice, i % 2 ? 512 : cut)] =
				(unsigned char)dice_roll(&dice, 256);
		make_stubs(broken, cut);
		free(broken);
	}
	free(image);
}
#endif

/* ---- the words of a running process ---- */

#define WORDS_PAGE (4096 / sizeof(uint64_t))

/* Mappings in their order, by the pages that they end at, and whether they are searched. */
static const struct {
	uint64_t end;
	const char *line;
	bool is_searched;
} data_rows[] = {
	{1, "r--p 00000000 fe:00 11 /usr/bin/server", false},
	{2, "r-xp 00001000 fe:00 11 /usr/bin/server", false},
	{3, "r--p 00002000 fe:00 11 /usr/bin/server", false}, /* constants */
	{4, "r--p 00003000 fe:00 11 /usr/bin/server", true},  /* RELRO */
	{40, "rw-p 00004000 fe:00 11 /usr/bin/server", true},
	{41, "rw-p 00000000 00:00 0", true}, /* begin as 0 */
	{42, "rw-p 00000000 00:00 0 [heap]", false},
	{43, "r-xp 00000000 00:00 0", false},
	{44, "rw-p 00000000 fe:00 12 /var/lib/data", false},
	{45, "r-xp 00000000 fe:00 13 /lib/libc.so.6", false},
	{46, "rw-s 00001000 fe:00 13 /lib/libc.so.6", false},
	{47, "---p 00002000 fe:00 13 /lib/libc.so.6", false},
	{48, "rw-p 00003000 fe:00 13 /lib/libc.so.6", true},
	{49, "rw-p 00000000 00:00 0 [stack]", false},
};
#define DATA_WORDS (49 * WORDS_PAGE)

static size_t replace_by_the_rule(
	uint64_t *words, size_t count, const uint64_t *from, const uint64_t *to)
{
	size_t found = 0, row = 0;

	for (size_t i = 0; i < DATA_WORDS; i++) {
		row += i == data_rows[row].end * WORDS_PAGE;
		for (size_t k = 0; k < count && data_rows[row].is_searched; k++) {
			if (words[i] == from[k])
				words[i] = to[k];
			found += words[i] == to[k];
		}
	}
	return found;
}

/*
 * Words of the data of files are replaced, no others, and set back, but for those that the program
 * has changed in between.
 */
static void words_are_replaced_and_set_back_by_the_rule(void **state)
{
	static const uint64_t functions[] = {0x7fff01000a40, 0x7fff01000b00};
	static const uint64_t jumps[] = {0x7ff001000f40, 0x7ff001000f60};
	static uint64_t words[DATA_WORDS], expected[DATA_WORDS], before[DATA_WORDS];
	struct dice dice = dice_start();
	int memory = memfd_create("test", MFD_CLOEXEC);
	char maps[4096] = "";
	struct span text;

	(void)state;
	for (size_t i = 0; i < COUNT(data_rows); i++)
		snprintf(maps + strlen(maps), sizeof(maps) - strlen(maps), "%lx-%lx %s\n",
			i ? (unsigned long)data_rows[i - 1].end * 4096 : 0,
			(unsigned long)data_rows[i].end * 4096, data_rows[i].line);
	text = text_span(maps);
	for (size_t i = 0; i < DATA_WORDS; i++) {
		const size_t roll = dice_roll(&dice, 8);

		before[i] = roll < 2   ? functions[roll]
		            : roll < 5 ? functions[0] + roll
		                       : dice_word(&dice);
	}
	/* An address that is not at the place of a word. */
	memcpy((char *)&before[10 * WORDS_PAGE] + 4, functions, sizeof(*functions));
	memcpy(expected, before, sizeof(before));
	assert_int_equal(pwrite(memory, before, sizeof(before), 0), sizeof(before));
	for (int i = 0; i < 2; i++)
		assert_int_equal(served_replace(memory, text, 2, functions, jumps),
			replace_by_the_rule(expected, 2, functions, jumps));
	assert_int_equal(pread(memory, words, sizeof(words), 0), sizeof(words));
	assert_memory_equal(words, expected, sizeof(words));
	for (int i = 0; i < 100; i++) {
		const size_t at = dice_roll(&dice, DATA_WORDS);

		before[at] = expected[at] = dice_word(&dice);
		assert_int_equal(pwrite(memory, &before[at], 8, (off_t)at * 8), 8);
	}
	assert_int_equal(served_replace(memory, text, 2, jumps, functions),
		replace_by_the_rule(expected, 2, jumps, functions));
	assert_int_equal(pread(memory, words, sizeof(words), 0), sizeof(words));
	assert_memory_equal(words, expected, sizeof(words));
	assert_memory_equal(words, before, sizeof(words));
	close(memory);
}

/* ---- the places ---- */

static const char memory_map[] =
	"400000-401000 r--p 00000000 fe:00 11 /usr/bin/server\n"
	"401000-409000 r-xp 00001000 fe:00 11 /usr/bin/server\n"
	"nonsense\n"
	"500000-501000 rwxp 00000000 00:00 0 \n"
	"7f0000000000-7f0000001000 r--p 00000000 fe:00 12   /lib/a file.so\n"
	"7f0000001000-7f0000009000 r-xp 00001000 fe:00 12   /lib/a file.so\n";

static void add(uint64_t address, size_t row, uint64_t count)
{
	const struct image *image = places_keep(&trace->places, text_span(memory_map), 0);

	places_add(&trace->places, image, (struct place_call){.row = row}, count, address);
}

static void a_c_library_is_known_by_its_name(void **state)
{
	static const char *const libraries[] = {"/usr/lib/libc.so.6", "/lib/libc-2.31.so",
		"/lib/ld-musl-x86_64.so.1", "/lib/libc.musl-x86_64.so.1"};
	static const char *const others[] = {"/usr/lib/libc-client.so.2007e", "/lib/libcrypt.so.1",
		"/opt/libc.so.6/libm.so.6", "/lib/ld-linux-x86-64.so.2", ""};

	(void)state;
	for (size_t i = 0; i < COUNT(libraries); i++)
		assert_true(files_is_c_library(text_span(libraries[i])));
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(files_is_c_library(text_span(others[i])));
}

static void a_place_is_a_file_and_an_address_in_it(void **state)
{
	(void)state;
	make_plan();
	add(0x401235, 1, 10);
	add(0x7f0000002001, 0, 7);
	add(0x401235, 1, 10);
	add(0x401235, 0, 2);
	add(0x500100, 1, 5);
	add(0x600000, 1, 3);
	add(0, 1, 1);
	places_finish(trace, 4);
	assert_int_equal(trace->places.count, 4);
	assert_int_equal(trace->places.list[0].count, 20);
	assert_string_equal(trace->places.list[0].module, "/usr/bin/server");
	assert_string_equal(trace->places.list[0].address, "0x1234");
	assert_string_equal(trace->places.list[0].call, "clock_gettime");
	assert_string_equal(trace->places.list[0].clock, "CLOCK_MONOTONIC");
	assert_string_equal(trace->places.list[1].module, "/lib/a file.so");
	assert_string_equal(trace->places.list[1].address, "0x2000");
	assert_string_equal(trace->places.list[2].module, "[run-time code]");
	assert_string_equal(trace->places.list[2].address, "");
	assert_string_equal(trace->places.list[3].module, "");
	assert_int_equal(trace->places.list[3].count, 3 + 1);
	assert_true(trace->places.list[0].share_percent > 52.6 &&
		    trace->places.list[0].share_percent < 52.7);
}

static void a_place_that_comes_again_is_the_same_one(void **state)
{
	(void)state;
	make_plan();
	for (size_t i = 0; i < 10000; i++)
		add(0x401001 + i % 100, i / 100 % 2, 1 + i % 100);
	places_finish(trace, 1000);
	assert_int_equal(trace->places.count, 200);
	for (size_t i = 0; i < 200; i++)
		assert_int_equal(trace->places.list[i].count, 50 * (100 - i / 2));
}

static void a_line_of_a_perf_map_is_a_range_and_a_name(void **state)
{
	static const char text[] = "7f00 40 Main.loop(int) \n\nnonsense\n12 xyz name\n"
				   "0x00007f80 0x10 a::name, with blanks\n-1 2 name\n8000 1\n";
	static const struct {
		uint64_t start, size;
		const char *function;
	} rows[] = {
		{0x7f00, 0x40, "Main.loop(int)"},
		{0x7f80, 0x10, "a::name, with blanks"},
		{0x8000, 1, ""},
	};
	struct span map = text_span(text), function;
	uint64_t start, size;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_true(perf_map_next(&map, &start, &size, &function));
		assert_int_equal(start, rows[i].start);
		assert_int_equal(size, rows[i].size);
		assert_true(text_equals(function, rows[i].function));
	}
	assert_false(perf_map_next(&map, &start, &size, &function));
}

__attribute__((noinline)) static int a_function_with_a_name(int number)
{
	__asm__ volatile("" : "+r"(number));
	return number + 1;
}

static const struct image *keep_here(void)
{
	return places_keep_process(&trace->places, getpid(), NULL, NULL);
}

static void a_function_is_found_in_the_file(void **state)
{
	int (*function)(int) = a_function_with_a_name;
	const struct image *image;
	uint64_t start = 0;

	(void)state;
#if !defined(LIBDW) && !defined(LIBDW_LINKED)
	skip();
#endif
	make_plan();
	memcpy(&start, &function, sizeof(function));
	image = keep_here();
	places_add(&trace->places, image, (struct place_call){.row = 1}, 10, start + 1);
	places_add(&trace->places, image, (struct place_call){.row = 1}, 20, start + 2);
	places_finish(trace, 5);
	if (trace->places.list[0].source.fact.state == FACT_FAILED)
		skip();
	assert_int_equal(trace->places.count, 1);
	assert_int_equal(trace->places.list[0].count, 30);
	assert_string_equal(trace->places.list[0].function, "a_function_with_a_name");
}

/* ---- stacks ---- */

/* Whatever a stack has, it is at a place, or stands for those that were left out. */
static void stacks_of_any_content_are_at_a_place(void **state)
{
	static const size_t counts[] = {100, 20000};
	struct dice dice = dice_start();

	(void)state;
	for (size_t k = 0; k < COUNT(counts); k++) {
		const struct image *image;
		double calls = 0, share = 0;

		make_plan();
		image = keep_here();
		for (size_t i = 0; i < counts[k]; i++) {
			struct stack_sample sample = {.size = (uint32_t)dice_roll(&dice, 257)};
			uint64_t word;

			for (size_t at = 0; at < sizeof(sample.bytes); at += sizeof(word)) {
				word = (uintptr_t)places_keep + dice_roll(&dice, 1 << 14);
				memcpy(sample.bytes + at, &word, sizeof(word));
			}
			for (size_t at = 0; at < STACK_REGISTERS; at++)
				sample.registers[at] =
					(uintptr_t)keep_here + dice_roll(&dice, 4096);
			sample.registers[STACK_POINTER] = (uintptr_t)&sample;
			places_add_stack(
				&trace->places, image, (struct place_call){.row = 3}, 1, &sample);
		}
		places_finish(trace, counts[k]);
		for (size_t i = 0; i < trace->places.count; i++) {
			assert_string_not_equal(trace->places.list[i].module, "");
			calls += (double)trace->places.list[i].count;
			share += trace->places.list[i].share_percent;
		}
		assert_true(share > 99.99 && share < 100.01);
		assert_true(calls > 0.9 * (double)counts[k] && calls < 1.1 * (double)counts[k]);
	}
}

/* ---- names ---- */

static void names_of_cpp_and_rust_are_read(void **state)
{
	static const char *const rows[][2] = {
		{"main", "main"},
		{"_ZN2os13javaTimeNanosEv", "os::javaTimeNanos"},
		{"_ZNSt6chrono3_V212steady_clock3nowEv", "std::chrono::_V2::steady_clock::now"},
		{"_ZN3app5Timer4loopEi.isra.0", "app::Timer::loop"},
		{"_ZNK3app5Timer4loopIlLi42ELb1EEET_S1_", "app::Timer::loop<long, 42, true>"},
		{"_ZN12_GLOBAL__N_15countEv", "(anonymous namespace)::count"},
		{"_ZN3std4time7Instant3now17h0123456789abcdefE", "std::time::Instant::now"},
		{"_RNvMNtCsjrHSEGnQ3l9_3std4timeNtB2_7Instant3now", "<std::time::Instant>::now"},
		/* They are not understood. */
		{"_ZN3foo", "_ZN3foo"},
		{"_RB", "_RB"},
		{"", ""},
	};
	char name[128];

	(void)state;
#ifndef DEMANGLER
	skip();
#endif
	for (size_t i = 0; i < COUNT(rows); i++) {
		name_read(text_span(rows[i][0]), name, sizeof(name));
		assert_string_equal(name, rows[i][1]);
	}
}

/* ---- what is printed ---- */

static void make_call(size_t i, const char *call, const char *clock, double vdso_ns, double ns)
{
	struct call_evidence *evidence = &trace->host.calls[i];

	*evidence = (struct call_evidence){.decides = true};
	text_clean(evidence->call, sizeof(evidence->call), call);
	text_clean(evidence->clock, sizeof(evidence->clock), clock);
	evidence->path[PATH_VDSO] = (struct path_evidence){
		.available = true, .fact.state = FACT_KNOWN, .min_ns = vdso_ns, .attempts = 1000};
	evidence->path[PATH_SYSCALL] =
		(struct path_evidence){.available = true, .fact.state = FACT_KNOWN, .min_ns = ns};
	trace->host.call_count = i + 1;
}

static void a_program_that_reads_the_clock(void **state)
{
	static const char *const expected[] = {
		"OK: this program spent about 32% of its CPU time reading the clock, and would\n"
		"    spend 82% on a host that falls back: at least 20,000,502 reads (10.0 M per\n"
		"    s), none by system call.\n"
		"\n"
		"  program      /usr/bin/server, 2.00 s, 1.50 s of CPU time\n"
		"  not counted  calls into the vDSO of 3 executed programs: the program has no\n"
		"               vDSO\n"
		"\n"
		"  clock or call          count   per s      cost\n"
		"  MONOTONIC             20.0 M  10.0 M    480 ms\n"
		"  gettimeofday             500     250   12.5 us\n"
		"\n"
		" of reads  count  clock or call  place\n"
		"   100.0% 20.0 M  MONOTONIC      server+0x1234\n"
		"     0.0%    500  gettimeofday   a file.so+0x2000\n",
		"  clock or call          count   per s      cost  ns each system calls fallback\n"
		"  MONOTONIC             20.0 M  10.0 M    480 ms     24.0            0   4.80 s\n"
		"  gettimeofday             500     250   12.5 us     25.0            0   125 us\n"
		"\n"
		" of reads  count  clock or call  place\n"
		"   100.0% 20.0 M  MONOTONIC      server+0x1234\n"
		"     0.0%    500  gettimeofday   a file.so+0x2000\n"
		"  server is /usr/bin/server; its debug symbols would give names\n"
		"  a file.so is /lib/a file.so; its debug symbols would give names\n"};
	struct memory_stream stream;

	(void)state;
	make_plan();
	make_call(0, "clock_gettime", "CLOCK_MONOTONIC", 24, 240);
	make_call(1, "gettimeofday", "", 25, 250);
	fact_set_known(&trace->host.proof.fact);
	fact_set_known(&trace->counted);
	fact_set_real(&trace->duration_s, 2);
	fact_set_real(&trace->cpu_s, 1.5);
	trace_miss(&trace->missed, MISSED_PROGRAMS, 3, "the program has no vDSO");
	text_clean(trace->program.path, sizeof(trace->program.path), "/usr/bin/server");
	trace->vdso_calls[1] = 20000002;
	trace->vdso_calls[2 * (TRACE_CLOCK_MAX + 1)] = 500;
	add(0x401235, 1, 20000002);
	add(0x7f0000002001, 2 * (TRACE_CLOCK_MAX + 1), 500);
	run.request.shown = 5;
	places_finish(trace, 5);
	run.report.type = trace_command.report;
	trace_judge(&run);
	for (int verbose = 0; verbose < 2; verbose++) {
		const struct style style = {.verbose = verbose};

		trace_formats[0].write(&run, &style, memory_stream_open(&stream));
		memory_stream_close(&stream);
		assert_string_equal(verbose ? strstr(stream.text, "  clock or call") : stream.text,
			expected[verbose]);
		free(stream.text);
	}
}

/* x86 of 4.20 to 5.2: each gettimeofday() is a clock_gettime system call, and one read. */
static void a_call_that_falls_back_by_another_is_counted_once(void **state)
{
	const size_t timeofday = 2 * (TRACE_CLOCK_MAX + 1);

	(void)state;
	make_plan();
	make_call(0, "clock_gettime", "CLOCK_REALTIME", 800, 800);
	make_call(1, "gettimeofday", "", 800, 700);
	for (int i = 0; i < 2; i++)
		trace->host.calls[i].path[PATH_VDSO].entered =
			trace->host.calls[i].path[PATH_VDSO].attempts;
	fact_set_known(&trace->host.proof.fact);
	fact_set_known(&trace->counted);
	fact_set_real(&trace->duration_s, 2);
	trace->vdso_calls[timeofday] = 1000;
	trace->counts[0] = 1000;
	trace_judge(&run);
	assert_int_equal(run.diagnosis.sums.reads, 1000);
	/* Some were served while the host's clock did not fall back. */
	trace->counts[timeofday] = 400;
	trace_judge(&run);
	assert_int_equal(run.diagnosis.sums.reads, 2000);
}

static void a_program_that_runs_as_if_the_host_fell_back(void **state)
{
	static const char expected[] =
		"this program spent about 32% of its CPU time on "
		"2,000,500 clock system calls (1.00 M per s), and would spend 4.5% if the vDSO "
		"served them. It got SIGSYS for clock_gettime(CLOCK_MONOTONIC): its seccomp filter does not "
		"allow this system call, which the vDSO makes where it cannot read the clock "
		"itself. 7 of them failed: its seccomp filter does not allow "
		"these system calls.";

	(void)state;
	make_plan();
	make_call(0, "clock_gettime", "CLOCK_MONOTONIC", 24, 240);
	fact_set_known(&trace->host.proof.fact);
	request.as_if_fallback = true;
	fact_set_real(&trace->duration_s, 2);
	fact_set_real(&trace->cpu_s, 1.5);
	/* Some were refused before they could be counted. */
	trace->vdso_calls[1] = 2000500;
	trace->counts[1] = 2000000;
	trace->refused = 7;
	fact_set_number(&trace->sigsys_row, 1);
	trace_judge(&run);
	assert_int_equal(run.report.answer - trace_answers, TRACE_SIMULATED);
	assert_string_equal(run.report.summary + strlen("as if this host fell back, "), expected);
	assert_int_equal(run.diagnosis.sums.avoidable, 2000500);
	/* So it is on a host that was too busy to be measured. */
	trace->host.call_count = 0;
	trace_judge(&run);
	assert_int_equal(run.report.answer - trace_answers, TRACE_SIMULATED);
	assert_int_equal(run.diagnosis.sums.avoidable, 2000500);
	fact_set(&trace->served, FACT_DENIED, "ptrace: Operation not permitted");
	trace_judge(&run);
	assert_int_equal(run.report.answer - trace_answers, TRACE_UNKNOWN);
	/* What was not run so, and read no clock that was counted, says nothing of the program. */
	fact_set_known(&trace->served);
	memset(trace->vdso_calls, 0, sizeof(trace->vdso_calls));
	memset(trace->counts, 0, sizeof(trace->counts));
	trace_judge(&run);
	assert_int_equal(run.report.answer - trace_answers, TRACE_SIMULATED);
	trace_miss(&trace->missed, MISSED_PROGRAMS, 1, "it has a seccomp filter of its own");
	trace_judge(&run);
	assert_int_equal(run.report.answer - trace_answers, TRACE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__) || defined(__aarch64__)
		cmocka_unit_test(a_stub_counts_and_goes_on),
		cmocka_unit_test(a_stub_makes_the_system_call_as_if_the_host_fell_back),
		cmocka_unit_test(calls_that_a_filter_refuses_are_counted_as_if_the_host_fell_back),
		cmocka_unit_test(a_stub_counts_and_takes_by_the_rule),
		cmocka_unit_test(several_threads_count_and_take_by_the_rule),
		cmocka_unit_test(a_stub_takes_few_of_many_calls_without_a_period),
		cmocka_unit_test(the_symbols_of_the_vdso_lead_to_jumps_within_its_image),
		cmocka_unit_test(the_image_of_a_vdso_without_room_for_jumps_stays),
		cmocka_unit_test(a_broken_vdso_is_read_safely),
#endif
		cmocka_unit_test(words_are_replaced_and_set_back_by_the_rule),
		cmocka_unit_test(a_c_library_is_known_by_its_name),
		cmocka_unit_test(a_place_is_a_file_and_an_address_in_it),
		cmocka_unit_test(a_place_that_comes_again_is_the_same_one),
		cmocka_unit_test(a_line_of_a_perf_map_is_a_range_and_a_name),
		cmocka_unit_test(a_function_is_found_in_the_file),
		cmocka_unit_test(names_of_cpp_and_rust_are_read),
		cmocka_unit_test(stacks_of_any_content_are_at_a_place),
		cmocka_unit_test(a_program_that_reads_the_clock),
		cmocka_unit_test(a_call_that_falls_back_by_another_is_counted_once),
		cmocka_unit_test(a_program_that_runs_as_if_the_host_fell_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
