/* SPDX-License-Identifier: MIT */
/*
 * trace/events.bpf: what the BPF program counts, by an interpreter of the instructions that clang
 * gives it. The kernel runs them in tests/trace; here are the registers of machines that are not
 * at hand.
 */
#include <string.h>
#include <sys/user.h>

#include "trace/events.h"
#include "unit/unit.h"

#if defined(__x86_64__)

/* Older headers lack them. */
#define GET_NS_CURRENT_PID_TGID 120
#define GET_CURRENT_TASK_BTF 158
#define TASK_PT_REGS 175
#define FILE_OF(map) (100U + (map))

/* Addresses below are code. */
#define STACK 0x100000

static uint64_t values[EVENT_VALUE_COUNT];

static struct {
	struct event_shared shared;
	struct {
		uint64_t task, image;
	} followed[8];
	struct {
		struct event_key key;
		uint64_t count; /* of the only CPU; 0: there is no such key */
	} counts[8];
	struct event_slot slots[EVENT_SLOTS];
	struct {
		uint32_t process;
		struct event_process is;
	} last; /* of those that were inserted */
	uint64_t task, registers, now_ns;
	uint64_t code, returns_to; /* before the instruction, and at the top of the stack */
	uint32_t process, cpu;
	uint32_t in_namespace[2]; /* thread and process */
} kernel;

static uint64_t *find_followed(uint64_t task)
{
	for (size_t i = 0; i < COUNT(kernel.followed); i++) {
		if (kernel.followed[i].task == task)
			return &kernel.followed[i].task;
	}
	return NULL;
}

static uint64_t *image_of(uint64_t task)
{
	return find_followed(task) ? find_followed(task) + 1 : NULL;
}

static uint64_t *find_count(const struct event_key *key)
{
	for (size_t i = 0; i < COUNT(kernel.counts); i++) {
		if (kernel.counts[i].count && memcmp(&kernel.counts[i].key, key, sizeof(*key)) == 0)
			return &kernel.counts[i].count;
	}
	return NULL;
}

static uint64_t to_number(const void *pointer)
{
	return (uintptr_t)pointer;
}

static void *to_pointer(uint64_t number)
{
	return (void *)(uintptr_t)number;
}

static uint64_t look_up(uint64_t map, const void *key)
{
	uint32_t index;
	uint64_t task;

	if (map == FILE_OF(EVENT_FOLLOWED)) {
		memcpy(&task, key, sizeof(task));
		return to_number(image_of(task));
	}
	if (map == FILE_OF(EVENT_COUNTS))
		return to_number(find_count(key));
	if (map == FILE_OF(EVENT_PROCESSES))
		return memcmp(key, &kernel.last.process, sizeof(index))
		               ? 0
		               : to_number(&kernel.last.is);
	memcpy(&index, key, sizeof(index));
	assert_int_equal(index, 0);
	return map == FILE_OF(EVENT_KEPT) ? to_number(kernel.slots) : to_number(&kernel.shared);
}

/* These return what the helper does: an error if there is no room. */
static uint64_t follow(const void *key, const void *image)
{
	uint64_t task, *place;

	memcpy(&task, key, sizeof(task));
	place = find_followed(task);
	place = place ? place : find_followed(0);
	if (!place)
		return (uint64_t)-7;
	place[0] = task;
	memcpy(&place[1], image, sizeof(*place));
	return 0;
}

static uint64_t begin_count(const void *key, const void *count)
{
	for (size_t i = 0; i < COUNT(kernel.counts); i++) {
		if (kernel.counts[i].count)
			continue;
		memcpy(&kernel.counts[i].key, key, sizeof(kernel.counts[i].key));
		memcpy(&kernel.counts[i].count, count, sizeof(uint64_t));
		return 0;
	}
	return (uint64_t)-7;
}

static uint64_t insert(uint64_t map, const void *key, const void *value)
{
	if (map == FILE_OF(EVENT_FOLLOWED))
		return follow(key, value);
	if (map == FILE_OF(EVENT_COUNTS))
		return begin_count(key, value);
	assert_int_equal(map, FILE_OF(EVENT_PROCESSES));
	memcpy(&kernel.last.process, key, sizeof(kernel.last.process));
	memcpy(&kernel.last.is, value, sizeof(kernel.last.is));
	return 0;
}

static uint64_t call(int helper, const uint64_t *arguments)
{
	uint64_t task;

	switch (helper) {
	case BPF_FUNC_map_lookup_elem:
		return look_up(arguments[1], to_pointer(arguments[2]));
	case BPF_FUNC_map_update_elem:
		return insert(arguments[1], to_pointer(arguments[2]), to_pointer(arguments[3]));
	case BPF_FUNC_map_delete_elem:
		memcpy(&task, to_pointer(arguments[2]), sizeof(task));
		if (find_followed(task))
			*find_followed(task) = 0;
		return 0;
	case BPF_FUNC_probe_read:
		if (arguments[3] == STACK)
			memcpy(to_pointer(arguments[1]), &kernel.returns_to, arguments[2]);
		else if (arguments[3] < STACK)
			memcpy(to_pointer(arguments[1]), &kernel.code, arguments[2]);
		else
			memcpy(to_pointer(arguments[1]), to_pointer(arguments[3]), arguments[2]);
		return 0;
	case BPF_FUNC_get_current_task:
		return kernel.task;
	case GET_CURRENT_TASK_BTF:
		return kernel.task;
	case TASK_PT_REGS:
		assert_int_equal(arguments[1], kernel.task);
		return kernel.registers;
	case BPF_FUNC_get_current_pid_tgid:
		return (uint64_t)kernel.process << 32;
	case BPF_FUNC_ktime_get_ns:
		return kernel.now_ns;
	case BPF_FUNC_get_current_comm:
		memcpy(to_pointer(arguments[1]), "caller", sizeof("caller"));
		return 0;
	case BPF_FUNC_get_current_cgroup_id:
		return 77;
	case BPF_FUNC_get_smp_processor_id:
		return kernel.cpu;
	case GET_NS_CURRENT_PID_TGID:
		assert_int_equal(arguments[1], values[EVENT_DEVICE]);
		assert_int_equal(arguments[2], values[EVENT_INODE]);
		assert_int_equal(arguments[4], 8);
		memcpy(to_pointer(arguments[3]), kernel.in_namespace, 8);
		return 0;
	default:
		fail_msg("helper %d", helper);
		return 0;
	}
}

static uint64_t compute(unsigned operation, uint64_t left, uint64_t right)
{
	switch (operation) {
	case BPF_ADD:
		return left + right;
	case BPF_MUL:
		return left * right;
	case BPF_OR:
		return left | right;
	case BPF_AND:
		return left & right;
	case BPF_XOR:
		return left ^ right;
	case BPF_LSH:
		return left << right;
	case BPF_RSH:
		return left >> right;
	default:
		assert_int_equal(operation, BPF_MOV);
		return right;
	}
}

static bool holds(unsigned operation, uint64_t left, uint64_t right)
{
	switch (operation) {
	case BPF_JA:
		return true;
	case BPF_JEQ:
		return left == right;
	case BPF_JNE:
		return left != right;
	case BPF_JGE:
		return left >= right;
	case BPF_JGT:
		return left > right;
	case BPF_JSGT:
		return (int64_t)left > (int64_t)right;
	case BPF_JSLT:
		return (int64_t)left < (int64_t)right;
	default:
		assert_int_equal(operation, BPF_JLT);
		return left < right;
	}
}

static size_t size_of(uint8_t code)
{
	return BPF_SIZE(code) == BPF_DW ? 8 : BPF_SIZE(code) == BPF_W ? 4 : 2;
}

static void run(enum event_hook hook, const uint64_t context[2])
{
	static struct bpf_insn code[EVENT_CODE_MAX];
	uint32_t count;
	unsigned char stack[512];
	uint64_t r[11] = {[1] = to_number(context), [10] = to_number(stack + sizeof(stack))};

	values[EVENT_HOOK] = hook;
	count = event_program_write(values, code);
	assert_in_range(count, 1, EVENT_CODE_MAX);
	for (size_t at = 0; at < count; at++) {
		const struct bpf_insn *one = &code[at];
		unsigned to = one->dst_reg, from = one->src_reg, operation = BPF_OP(one->code);
		uint64_t right = BPF_SRC(one->code) == BPF_X ? r[from] : (uint64_t)one->imm;

		switch (BPF_CLASS(one->code)) {
		case BPF_ALU64:
			r[to] = compute(operation, r[to], right);
			break;
		case BPF_LDX:
			right = 0;
			memcpy(&right, to_pointer(r[from] + (uint64_t)one->off),
				size_of(one->code));
			r[to] = right;
			break;
		case BPF_STX:
			if (BPF_MODE(one->code) == BPF_XADD)
				*(uint64_t *)to_pointer(r[to] + (uint64_t)one->off) += r[from];
			else
				memcpy(to_pointer(r[to] + (uint64_t)one->off), &r[from],
					size_of(one->code));
			break;
		case BPF_LD:
			r[to] = (uint32_t)one->imm | (uint64_t)(uint32_t)one[1].imm << 32;
			at++;
			break;
		default:
			if (operation == BPF_EXIT)
				return;
			if (operation == BPF_CALL)
				r[0] = call(one->imm, r);
			else if (holds(operation, r[to], right))
				at += (size_t)one->off;
		}
	}
	fail_msg("the program does not end");
}

/* ---- system calls ---- */

#define NATIVE 228 /* clock_gettime */
#define COMPAT 265 /* clock_gettime of 32-bit code, linkat of 64-bit code */

#define INDEX 40 /* of the first clock */

static void prepare(int traits)
{
	const uint64_t wanted = EVENT_IS_COUNTED | EVENT_TAKES_CLOCK | INDEX << EVENT_INDEX_SHIFT;

	memset(&kernel, 0, sizeof(kernel));
	kernel.shared.calls[NATIVE] = wanted;
	kernel.shared.calls[COMPAT] = wanted << EVENT_COMPAT_SHIFT;
	kernel.shared.calls[59] = EVENT_EXECUTES;
	kernel.process = 1000;
	kernel.task = 0xa000;
	for (unsigned map = 0; map < EVENT_MAP_COUNT; map++)
		values[map] = FILE_OF(map);
	values[EVENT_TRAITS] = (uint64_t)traits;
	values[EVENT_PROCESS] = 1000;
}

static struct user_regs_struct by_syscall(uint64_t clock)
{
	return (struct user_regs_struct){.rip = 0x5000,
		.rcx = 0x5000,
		.rsp = STACK,
		.cs = 0x33,
		.ss = 0x2b,
		.rdi = clock,
		.rbx = 9};
}

/* By the raw tracepoint or the event of perf, whose first word the kernel keeps from programs. */
static void enter_by(enum event_hook hook, uint64_t number, struct user_regs_struct registers)
{
	const bool is_perf = hook == EVENT_PERF_ENTER;
	const uint64_t context[2] = {is_perf ? 0 : to_number(&registers), number};

	kernel.registers = to_number(&registers);
	run(hook, context);
}

static void enter(uint64_t number, struct user_regs_struct registers)
{
	enter_by(EVENT_ENTER, number, registers);
}

/* In the table, and those that the CPU keeps. */
static uint64_t count_if(
	bool (*applies)(const struct event_key *key, const struct event_key *wanted),
	const struct event_key *wanted)
{
	uint64_t count = 0;

	for (size_t i = 0; i < COUNT(kernel.counts); i++)
		count += applies(&kernel.counts[i].key, wanted) ? kernel.counts[i].count : 0;
	for (size_t i = 0; i < EVENT_SLOTS; i++)
		count += applies(&kernel.slots[i].key, wanted) ? kernel.slots[i].count : 0;
	return count;
}

static bool is_call(const struct event_key *key, const struct event_key *wanted)
{
	return key->where == wanted->where && key->maker == wanted->maker &&
	       key->call == wanted->call;
}

/* Of a call that takes a clock; `kind` is EVENT_IS_COMPAT, EVENT_BY_FUNCTION or 0. */
static uint64_t count_of(uint64_t where, uint32_t maker, uint64_t clock, uint32_t kind)
{
	return count_if(is_call, &(struct event_key){.where = where,
					 .maker = maker,
					 .call = (uint16_t)(kind | (INDEX + clock))});
}

static bool is_any(const struct event_key *key, const struct event_key *wanted)
{
	return key && !wanted;
}

static uint64_t count_of_all(void)
{
	return count_if(is_any, NULL);
}

static bool is_of_image(const struct event_key *key, const struct event_key *wanted)
{
	return key->image == wanted->image;
}

static void registers_show_whose_call_it_is(void **state)
{
	static const struct {
		uint64_t rcx, cs, ss;
		bool is_compat;
	} entries[] = {
		{0x5000, 0x33, 0x2b, false},                    /* SYSCALL */
		{0, 0x33, 0x2b, true},                          /* int 0x80 of 64-bit code */
		{0x5000, 0x23, 0x2b, true},                     /* SYSCALL of 32-bit code */
		{7, 0x23, 0x2b, true},                          /* int 0x80, SYSENTER */
		{7, 0x33, UINT64_C(0x220700010000002b), false}, /* FRED: SYSCALL */
		{7, 0x33, UINT64_C(0x220400800000002b), true},  /* FRED: int 0x80 of 64-bit code */
		{7, 0x23, UINT64_C(0x200400800000002b), true},  /* FRED: int 0x80 */
		{7, 0x23, UINT64_C(0x200700020000002b), true},  /* FRED: SYSENTER */
		{0x5000, 0x33, UINT64_C(0x220400800000002b), true}, /* whatever is in RCX */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(entries); i++) {
		struct user_regs_struct registers = by_syscall(1);

		prepare(EVENTS_OF_PROCESS);
		registers.rcx = entries[i].rcx;
		registers.cs = entries[i].cs;
		registers.ss = entries[i].ss;
		enter(NATIVE, registers);
		enter(COMPAT, registers);
		enter_by(EVENT_PERF_ENTER, COMPAT, registers);
		/* The clock is in another register. */
		assert_int_equal(count_of(0x5000, 0, 1, 0), !entries[i].is_compat);
		assert_int_equal(
			count_of(0x5000, 0, 9, EVENT_IS_COMPAT), entries[i].is_compat ? 2 : 0);
		assert_int_equal(count_of_all(), entries[i].is_compat ? 2 : 1);
	}
}

static void other_numbers_are_not_counted(void **state)
{
	(void)state;
	prepare(EVENTS_OF_HOST);
	values[EVENT_PROCESS] = 1;
	enter(NATIVE + 1, by_syscall(1));
	enter(NATIVE | 0x40000000, by_syscall(1)); /* x32 */
	enter(UINT64_MAX, by_syscall(1));
	enter(EVENT_CALLS, by_syscall(1)); /* the first that is not in the list */
	assert_int_equal(count_of_all(), 0);
	enter(NATIVE, by_syscall((uint64_t)-6));
	assert_int_equal(count_of(0, 1000, EVENT_CLOCK_OTHER, 0), 1);
	values[EVENT_TRAITS] |= EVENTS_BY_GROUP;
	enter(NATIVE, by_syscall(UINT64_C(0xffffffff00000004))); /* ids have 32 bits */
	assert_int_equal(count_of(77, 1000, 4, 0), 1);
	values[EVENT_PROCESS] = 1000; /* ours */
	kernel.task = 0xb000;
	enter(NATIVE, by_syscall(4));
	assert_int_equal(count_of(77, 1000, 4, 0), 1);
}

/* More places than the CPU keeps, and than there are counts for. */
static void what_does_not_fit_is_counted_without_its_origin(void **state)
{
	const uint64_t places = 3 * EVENT_SLOTS;

	(void)state;
	prepare(EVENTS_OF_PROCESS);
	for (uint64_t i = 0; i < places; i++) {
		struct user_regs_struct registers = by_syscall(1);

		registers.rip = registers.rcx = 0x5000 + i * 24;
		enter(NATIVE, registers);
		enter(NATIVE, registers);
	}
	kernel.process = 1001; /* is not followed */
	kernel.task = 0xb000;
	enter(NATIVE, by_syscall(1));
	for (size_t i = 0; i < COUNT(kernel.counts); i++)
		assert_int_equal(kernel.counts[i].count, 2);
	assert_in_range(kernel.shared.rest[INDEX + 1], 1, 2 * places);
	assert_int_equal(count_of_all() + kernel.shared.rest[INDEX + 1], 2 * places);
	assert_int_equal(kernel.last.process, 1000);
	assert_string_equal((const char *)kernel.last.is.name, "caller");
}

/* mov 8(%rsp), %r9; syscall, behind another instruction. */
#define FUNCTION UINT64_C(0x050f08244c8b4cc8)

static void a_call_by_syscall_is_of_what_called_it(void **state)
{
	(void)state;
	prepare(EVENTS_OF_PROCESS);
	kernel.code = FUNCTION;
	for (uint64_t i = 0; i < 6; i++) {
		kernel.returns_to = i % 3 ? 0x6000 : 0x7000;
		enter(NATIVE, by_syscall(1));
	}
	assert_int_equal(count_of(0x6000, 0, 1, EVENT_BY_FUNCTION), 4);
	assert_int_equal(count_of(0x7000, 0, 1, EVENT_BY_FUNCTION), 2);
	/* Of a host no place is counted. */
	prepare(EVENTS_OF_HOST);
	values[EVENT_PROCESS] = 1;
	kernel.code = FUNCTION;
	enter(NATIVE, by_syscall(1));
	assert_int_equal(count_of(0, 1000, 1, 0), 1);
	/* Nor of 32-bit code, whose functions are others. */
	prepare(EVENTS_OF_PROCESS);
	kernel.code = FUNCTION;
	enter(COMPAT, (struct user_regs_struct){.rip = 0x5000, .rsp = STACK, .cs = 0x23, .rbx = 1});
	assert_int_equal(count_of(0x5000, 0, 1, EVENT_IS_COMPAT), 1);
}

static void go(enum event_hook hook, uint64_t one, uint64_t other)
{
	const uint64_t context[2] = {one, other};

	run(hook, context);
}

static void a_call_by_the_vsyscall_page_is_counted_by_its_number(void **state)
{
	(void)state;
	prepare(EVENTS_OF_PROCESS);
	kernel.shared.calls[96] = EVENT_IS_COUNTED | (INDEX + 30) << EVENT_INDEX_SHIFT;
	kernel.shared.calls[309] = EVENT_IS_COUNTED | (INDEX + 31) << EVENT_INDEX_SHIFT;
	go(EVENT_PAGE, 0, 0);
	go(EVENT_PAGE, 1, 0); /* time() is not wanted */
	go(EVENT_PAGE, 2, 0);
	go(EVENT_PAGE, 2, 0);
	assert_int_equal(count_of(0, 0, 30, 0), 1);
	assert_int_equal(count_of(0, 0, 31, 0), 2);
	assert_int_equal(count_of_all(), 3);
	enter(96, by_syscall(1));
	assert_int_equal(count_of(0x5000, 0, 30, 0), 1);
}

static void a_program_is_followed_from_its_execve_on(void **state)
{
	(void)state;
	prepare(EVENTS_OF_PROGRAM);
	enter(NATIVE, by_syscall(1));
	go(EVENT_FORK, kernel.task, 0xb000);
	assert_null(find_followed(0xb000));
	kernel.process = 1001;
	enter(59, by_syscall(1));
	assert_null(find_followed(kernel.task));
	kernel.process = 1000;
	enter(59, by_syscall(1));
	enter(NATIVE, by_syscall(1));
	assert_int_equal(count_of(0x5000, 0, 1, 0), 1);
	go(EVENT_FORK, kernel.task, 0xc000);
	kernel.process = 1002;
	kernel.task = 0xb000; /* of another program */
	enter(NATIVE, by_syscall(1));
	assert_int_equal(count_of_all(), 1);
	kernel.task = 0xc000;
	enter(NATIVE, by_syscall(1));
	assert_int_equal(count_of(0x5000, 1, 1, 0), 1);
	go(EVENT_EXIT, 0xc000, 0);
	assert_null(find_followed(0xc000));
	assert_non_null(find_followed(0xa000));
}

/* The address may be that of another function then. */
static void calls_before_and_after_an_execve_are_counted_apart(void **state)
{
	(void)state;
	prepare(EVENTS_OF_PROCESS);
	enter(NATIVE, by_syscall(1));
	go(EVENT_FORK, kernel.task, 0xb000);
	kernel.now_ns = 5;
	go(EVENT_EXEC, kernel.task, 1000);
	enter(NATIVE, by_syscall(1));
	enter(NATIVE, by_syscall(1));
	assert_int_equal(count_if(is_of_image, &(struct event_key){.image = 0}), 1);
	assert_int_equal(
		count_if(is_of_image, &(struct event_key){.image = 5 << EVENT_IMAGE_SHIFT | 1000}),
		2);
	/* A child has the memory that its parent had. */
	kernel.process = 1001;
	kernel.task = 0xb000;
	enter(NATIVE, by_syscall(1));
	assert_int_equal(kernel.last.process, 1001);
	assert_int_equal(kernel.last.is.image, 0);
	kernel.process = 1002;
	kernel.task = 0xc000; /* is not followed */
	go(EVENT_EXEC, kernel.task, 1002);
	assert_null(find_followed(0xc000));
}

static void threads_that_there_is_no_room_to_follow_are_counted(void **state)
{
	(void)state;
	prepare(EVENTS_OF_PROCESS);
	for (uint64_t i = 0; i < COUNT(kernel.followed); i++)
		go(EVENT_FORK, kernel.task, 0xb000 + i);
	assert_int_equal(kernel.shared.unfollowed, 0);
	go(EVENT_FORK, kernel.task, 0xc000);
	go(EVENT_FORK, kernel.task, 0xc001);
	go(EVENT_FORK, kernel.task, 0xb000); /* is followed */
	assert_int_equal(kernel.shared.unfollowed, 2);
}

static void a_process_is_followed_at_once(void **state)
{
	(void)state;
	prepare(EVENTS_OF_PROCESS);
	go(EVENT_FORK, kernel.task, 0xb000);
	kernel.process = 1001;
	enter(NATIVE, by_syscall(1));
	assert_int_equal(count_of_all(), 0);
	go(EVENT_FORK, kernel.task, 0xc000);
	assert_null(find_followed(0xc000));
	kernel.task = 0xb000;
	enter(NATIVE, by_syscall(1));
	assert_int_equal(count_of(0x5000, 1, 1, 0), 1);
}

static void process_ids_are_those_of_our_namespace(void **state)
{
	(void)state;
	prepare(EVENTS_OF_PROCESS | EVENTS_IN_NAMESPACE);
	values[EVENT_DEVICE] = UINT64_C(0x500000004);
	values[EVENT_INODE] = 0xf0000001;
	values[EVENT_PROCESS] = 12;
	enter(NATIVE, by_syscall(1));
	assert_int_equal(count_of_all(), 0);
	kernel.task = 0xb000;
	kernel.in_namespace[0] = 13;
	kernel.in_namespace[1] = 12;
	enter(NATIVE, by_syscall(1));
	assert_int_equal(count_of(0x5000, 0, 1, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_show_whose_call_it_is),
		cmocka_unit_test(other_numbers_are_not_counted),
		cmocka_unit_test(what_does_not_fit_is_counted_without_its_origin),
		cmocka_unit_test(a_call_by_syscall_is_of_what_called_it),
		cmocka_unit_test(a_call_by_the_vsyscall_page_is_counted_by_its_number),
		cmocka_unit_test(a_program_is_followed_from_its_execve_on),
		cmocka_unit_test(calls_before_and_after_an_execve_are_counted_apart),
		cmocka_unit_test(threads_that_there_is_no_room_to_follow_are_counted),
		cmocka_unit_test(a_process_is_followed_at_once),
		cmocka_unit_test(process_ids_are_those_of_our_namespace),
	};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}

#else

static void the_registers_are_those_of_x86_64(void **state)
{
	(void)state;
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_registers_are_those_of_x86_64),
	};

	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}

#endif
