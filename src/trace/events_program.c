/* SPDX-License-Identifier: MIT */
/*
 * Writes the BPF programs. The one at sys_enter counts a call in a hash by what its key has. Where
 * a program is followed, its threads are known by the addresses of their structures in the kernel,
 * which tracepoints of the scheduler give: no layout of a structure but that of the registers is
 * relied on, which is the same as debuggers see it in (struct user_regs_struct).
 *
 * All needs Linux 4.18: raw tracepoints (4.17) and the control group's ID.
 */
#include <stddef.h>
#include <sys/user.h>

#include "events.h"

#if defined(__x86_64__) || defined(__aarch64__)

#define REGISTER(name) offsetof(struct user_regs_struct, name)

#if defined(__x86_64__)
#define INSTRUCTION REGISTER(rip)
#define ARGUMENT REGISTER(rdi)
#define COMPAT_ARGUMENT REGISTER(rbx)
#define FIRST REGISTER(rcx)
#define LAST REGISTER(ss)
#define USER32_CS 0x23 /* selector of 32-bit code, arch/x86/include/asm/segment.h */
#define FRED_MASK 0x020f00ff
#define FRED_SYSCALL_64 0x02070001
#else
#define INSTRUCTION REGISTER(pc)
#define ARGUMENT REGISTER(regs)
#define COMPAT_ARGUMENT REGISTER(regs)
#define FIRST REGISTER(pc)
#define LAST REGISTER(pstate)
#define PSTATE_32_BIT 4 /* number of the bit */
#endif

/* The registers that each call is looked at for lie together. */
#define REGISTERS_SIZE (LAST - FIRST + 8)

/* Places on the program's stack, below its frame pointer. */
enum {
	KEY = -16,
	TASK = -24,
	NUMBER = -32,
	ZERO = -40,
	NAMESPACE = -48, /* struct bpf_pidns_info */
	VALUE = -56,     /* of one register */
	REGISTERS = VALUE - (int)REGISTERS_SIZE
};

#define KEY_WHERE (KEY + (int)offsetof(struct event_key, where))
#define KEY_PROCESS (KEY + (int)offsetof(struct event_key, process))
#define KEY_CALL (KEY + (int)offsetof(struct event_key, call))

/* Registers with one meaning; R0 to R5 are lost in each call of a helper. */
enum {
	CONTEXT = BPF_REG_6, /* the arguments of the tracepoint */
	CALL = BPF_REG_7,
	WANTED = BPF_REG_8,
	COMPAT = BPF_REG_9
};

static size_t put(struct event_program *program, int code, int to, int from, int offset, int value)
{
	if (program->count < EVENT_CODE_MAX)
		program->code[program->count] = (struct bpf_insn){.code = (uint8_t)code,
			.dst_reg = (uint8_t)(to & 15),
			.src_reg = (uint8_t)(from & 15),
			.off = (int16_t)offset,
			.imm = value};
	return program->count++;
}

/* ---- instructions ---- */

static void set(struct event_program *program, int to, int value)
{
	put(program, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

static void copy(struct event_program *program, int to, int from)
{
	put(program, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

static void compute(struct event_program *program, int operation, int to, int value)
{
	put(program, BPF_ALU64 | operation | BPF_K, to, 0, 0, value);
}

static void combine(struct event_program *program, int operation, int to, int from)
{
	put(program, BPF_ALU64 | operation | BPF_X, to, from, 0, 0);
}

static void load(struct event_program *program, int size, int to, int from, int offset)
{
	put(program, BPF_LDX | BPF_MEM | size, to, from, offset, 0);
}

static void store(struct event_program *program, int size, int offset, int from)
{
	put(program, BPF_STX | BPF_MEM | size, BPF_REG_10, from, offset, 0);
}

/* Two instructions, the second of which has the high half alone. */
static void set_wide(struct event_program *program, int to, int kind, uint64_t value)
{
	put(program, BPF_LD | BPF_DW | BPF_IMM, to, kind, 0, (int)(uint32_t)value);
	put(program, 0, 0, 0, 0, (int)(uint32_t)(value >> 32));
}

static void set_address(struct event_program *program, int to, int offset)
{
	copy(program, to, BPF_REG_10);
	compute(program, BPF_ADD, to, offset);
}

static void call(struct event_program *program, int helper)
{
	put(program, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

/* Calls a helper with a map and an address on the stack. */
static void call_map(struct event_program *program, int helper, enum event_map map, int key)
{
	set_wide(program, BPF_REG_1, BPF_PSEUDO_MAP_FD, (uint64_t)program->maps[map]);
	set_address(program, BPF_REG_2, key);
	call(program, helper);
}

static void insert(struct event_program *program, enum event_map map, int key, int value, int flags)
{
	set_address(program, BPF_REG_3, value);
	set(program, BPF_REG_4, flags);
	call_map(program, BPF_FUNC_map_update_elem, map, key);
}

/* Returns a jump on a condition, whose end land() sets. */
static size_t jump_if(struct event_program *program, int condition, int left, int value)
{
	return put(program, BPF_JMP | condition | BPF_K, left, 0, 0, value);
}

static void land(struct event_program *program, size_t jump)
{
	if (program->count <= EVENT_CODE_MAX)
		program->code[jump].off = (int16_t)(program->count - jump - 1);
}

static void end(struct event_program *program)
{
	set(program, BPF_REG_0, 0);
	put(program, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* Ends the program here unless the condition holds. */
static void require(struct event_program *program, int condition, int left, int value)
{
	size_t holds = jump_if(program, condition, left, value);

	end(program);
	land(program, holds);
}

/* ---- parts ---- */

/* R0 becomes the process ID as our PID namespace has it, which the kernel finds since 5.7. */
static void find_process(struct event_program *program)
{
	size_t fails;

	if (!program->namespace_inode) {
		call(program, BPF_FUNC_get_current_pid_tgid);
		compute(program, BPF_RSH, BPF_REG_0, 32);
		return;
	}
	set_wide(program, BPF_REG_1, 0, program->namespace_device);
	set_wide(program, BPF_REG_2, 0, program->namespace_inode);
	set_address(program, BPF_REG_3, NAMESPACE);
	set(program, BPF_REG_4, 8);
	call(program, 120); /* BPF_FUNC_get_ns_current_pid_tgid, which older headers lack */
	copy(program, BPF_REG_1, BPF_REG_0);
	set(program, BPF_REG_0, 0);
	fails = jump_if(program, BPF_JNE, BPF_REG_1, 0);
	load(program, BPF_W, BPF_REG_0, BPF_REG_10, NAMESPACE + 4); /* tgid */
	land(program, fails);
}

static void require_process(struct event_program *program)
{
	find_process(program);
	require(program, BPF_JEQ, BPF_REG_0, (int)program->process);
}

/* A program is followed from its first execve(2) on. */
static void follow_execve(struct event_program *program)
{
	size_t executes = jump_if(program, BPF_JSET, WANTED, EVENT_EXECUTES);
	size_t is_over = jump_if(program, BPF_JA, 0, 0), is_other;

	land(program, executes);
	find_process(program);
	is_other = jump_if(program, BPF_JNE, BPF_REG_0, (int)program->process);
	call(program, BPF_FUNC_get_current_task);
	store(program, BPF_DW, TASK, BPF_REG_0);
	insert(program, EVENT_FOLLOWED, TASK, TASK, BPF_ANY);
	land(program, is_other);
	land(program, is_over);
}

/* Goes on for a thread that is followed. */
static void require_followed(struct event_program *program)
{
	size_t is_first = 0;

	if (program->scope == EVENTS_OF_PROCESS) {
		load(program, BPF_W, BPF_REG_0, BPF_REG_10, KEY_PROCESS);
		is_first = jump_if(program, BPF_JEQ, BPF_REG_0, (int)program->process);
	}
	call(program, BPF_FUNC_get_current_task);
	store(program, BPF_DW, TASK, BPF_REG_0);
	call_map(program, BPF_FUNC_map_lookup_elem, EVENT_FOLLOWED, TASK);
	require(program, BPF_JNE, BPF_REG_0, 0);
	if (is_first)
		land(program, is_first);
}

/* Reads registers of the program, which the first argument of the tracepoint points to. */
static void read_registers(struct event_program *program, int to, size_t offset, size_t size)
{
	set_address(program, BPF_REG_1, to);
	set(program, BPF_REG_2, (int)size);
	load(program, BPF_DW, BPF_REG_3, CONTEXT, 0);
	if (offset)
		compute(program, BPF_ADD, BPF_REG_3, (int)offset);
	call(program, BPF_FUNC_probe_read);
}

static void load_register(struct event_program *program, int size, int to, size_t offset)
{
	load(program, size, to, BPF_REG_10, REGISTERS + (int)(offset - FIRST));
}

#if defined(__x86_64__)

/*
 * SYSCALL leaves the address of the next instruction in RCX; int 0x80, which 64-bit code may use,
 * too, does not. With FRED (Linux 6.9), neither does, and the high half of SS says what it was:
 * vector 1 of type 7, from 64-bit code (struct fred_ss in arch/x86/include/asm/ptrace.h).
 */
static void find_compat(struct event_program *program)
{
	size_t is_without_fred, is_compared, is_64_bit;

	set(program, COMPAT, 0);
	load_register(program, BPF_DW, BPF_REG_1, REGISTER(ss));
	compute(program, BPF_RSH, BPF_REG_1, 32);
	is_without_fred = jump_if(program, BPF_JEQ, BPF_REG_1, 0);
	compute(program, BPF_AND, BPF_REG_1, FRED_MASK);
	compute(program, BPF_XOR, BPF_REG_1, FRED_SYSCALL_64);
	is_compared = jump_if(program, BPF_JA, 0, 0);
	land(program, is_without_fred);
	load_register(program, BPF_DW, BPF_REG_1, REGISTER(rip));
	load_register(program, BPF_DW, BPF_REG_2, REGISTER(rcx));
	combine(program, BPF_XOR, BPF_REG_1, BPF_REG_2);
	land(program, is_compared);
	is_64_bit = jump_if(program, BPF_JEQ, BPF_REG_1, 0);
	set(program, COMPAT, 1);
	land(program, is_64_bit);
	/* SYSCALL of 32-bit code, which AMD has. */
	load_register(program, BPF_H, BPF_REG_1, REGISTER(cs));
	is_64_bit = jump_if(program, BPF_JNE, BPF_REG_1, USER32_CS);
	set(program, COMPAT, 1);
	land(program, is_64_bit);
}

#else

static void find_compat(struct event_program *program)
{
	load_register(program, BPF_DW, COMPAT, REGISTER(pstate));
	compute(program, BPF_RSH, COMPAT, PSTATE_32_BIT);
	compute(program, BPF_AND, COMPAT, 1);
}

#endif

/* Adds the clock, if the call takes one, in its place in CALL. */
static void add_clock(struct event_program *program)
{
	size_t takes_clock = jump_if(program, BPF_JSET, WANTED, EVENT_TAKES_CLOCK);
	size_t takes_none = jump_if(program, BPF_JA, 0, 0), is_native, is_read, is_known;

	land(program, takes_clock);
	is_native = jump_if(program, BPF_JEQ, COMPAT, 0);
	read_registers(program, VALUE, COMPAT_ARGUMENT, 8);
	is_read = jump_if(program, BPF_JA, 0, 0);
	land(program, is_native);
	read_registers(program, VALUE, ARGUMENT, 8);
	land(program, is_read);
	load(program, BPF_W, BPF_REG_1, BPF_REG_10, VALUE);
	is_known = jump_if(program, BPF_JLT, BPF_REG_1, EVENT_CLOCK_OTHER);
	set(program, BPF_REG_1, EVENT_CLOCK_OTHER);
	land(program, is_known);
	compute(program, BPF_LSH, BPF_REG_1, 16);
	combine(program, BPF_OR, CALL, BPF_REG_1);
	land(program, takes_none);
}

static void make_key(struct event_program *program)
{
	if (program->scope != EVENTS_OF_HOST)
		load_register(program, BPF_DW, BPF_REG_0, INSTRUCTION);
	else if (program->finds_groups)
		call(program, BPF_FUNC_get_current_cgroup_id);
	else
		set(program, BPF_REG_0, 0);
	store(program, BPF_DW, KEY_WHERE, BPF_REG_0);
	find_process(program);
	if (program->scope == EVENTS_OF_HOST)
		require(program, BPF_JNE, BPF_REG_0, (int)program->process);
	store(program, BPF_W, KEY_PROCESS, BPF_REG_0);
	copy(program, BPF_REG_1, COMPAT);
	compute(program, BPF_LSH, BPF_REG_1, 24);
	combine(program, BPF_OR, CALL, BPF_REG_1);
	add_clock(program);
	call(program, BPF_FUNC_get_smp_processor_id);
	compute(program, BPF_LSH, BPF_REG_0, 28);
	combine(program, BPF_OR, BPF_REG_0, CALL);
	store(program, BPF_W, KEY_CALL, BPF_REG_0);
}

/*
 * Counts with the key. A process that has one is followed; the keys of ended ones are deleted long
 * before their IDs are used again. Where the map is full, counts among those of unknown origin.
 */
static void count_key(struct event_program *program)
{
	size_t is_known, is_new, is_lost;

	call_map(program, BPF_FUNC_map_lookup_elem, EVENT_COUNTS, KEY);
	is_known = jump_if(program, BPF_JNE, BPF_REG_0, 0);
	if (program->scope != EVENTS_OF_HOST)
		require_followed(program);
	set(program, BPF_REG_0, 0);
	store(program, BPF_DW, ZERO, BPF_REG_0);
	insert(program, EVENT_COUNTS, KEY, ZERO, BPF_NOEXIST);
	call_map(program, BPF_FUNC_map_lookup_elem, EVENT_COUNTS, KEY);
	is_new = jump_if(program, BPF_JNE, BPF_REG_0, 0);
	store(program, BPF_DW, KEY_WHERE, BPF_REG_0);
	store(program, BPF_W, KEY_PROCESS, BPF_REG_0);
	store(program, BPF_W, KEY_CALL, CALL);
	call_map(program, BPF_FUNC_map_lookup_elem, EVENT_COUNTS, KEY);
	is_lost = jump_if(program, BPF_JEQ, BPF_REG_0, 0);
	land(program, is_known);
	land(program, is_new);
	set(program, BPF_REG_1, 1);
	put(program, BPF_STX | BPF_XADD | BPF_DW, BPF_REG_0, BPF_REG_1, 0, 0);
	land(program, is_lost);
}

bool event_program_count(struct event_program *program)
{
	program->count = 0;
	copy(program, CONTEXT, BPF_REG_1);
	load(program, BPF_DW, CALL, CONTEXT, 8);
	require(program, BPF_JLT, CALL, EVENT_CALLS);
	store(program, BPF_W, NUMBER, CALL);
	call_map(program, BPF_FUNC_map_lookup_elem, EVENT_WANTED, NUMBER);
	require(program, BPF_JNE, BPF_REG_0, 0);
	load(program, BPF_W, WANTED, BPF_REG_0, 0);
	require(program, BPF_JNE, WANTED, 0);
	if (program->scope == EVENTS_OF_PROGRAM)
		follow_execve(program);
	read_registers(program, REGISTERS, FIRST, REGISTERS_SIZE);
	find_compat(program);
	copy(program, BPF_REG_1, COMPAT);
	compute(program, BPF_MUL, BPF_REG_1, EVENT_COMPAT_SHIFT);
	combine(program, BPF_RSH, WANTED, BPF_REG_1);
	require(program, BPF_JSET, WANTED, EVENT_IS_COUNTED);
	make_key(program);
	count_key(program);
	end(program);
	return program->count <= EVENT_CODE_MAX;
}

/* The first argument is the thread that forks, the second the new one, before it runs. */
void event_program_fork(struct event_program *program)
{
	size_t is_followed;

	program->count = 0;
	copy(program, CONTEXT, BPF_REG_1);
	load(program, BPF_DW, BPF_REG_1, CONTEXT, 0);
	store(program, BPF_DW, TASK, BPF_REG_1);
	call_map(program, BPF_FUNC_map_lookup_elem, EVENT_FOLLOWED, TASK);
	is_followed = jump_if(program, BPF_JNE, BPF_REG_0, 0);
	/* A program begins with its execve(2). */
	if (program->scope == EVENTS_OF_PROCESS)
		require_process(program);
	else
		end(program);
	land(program, is_followed);
	load(program, BPF_DW, BPF_REG_1, CONTEXT, 8);
	store(program, BPF_DW, TASK, BPF_REG_1);
	insert(program, EVENT_FOLLOWED, TASK, TASK, BPF_ANY);
	end(program);
}

/* The structure of another thread may get the address. */
void event_program_exit(struct event_program *program)
{
	program->count = 0;
	load(program, BPF_DW, BPF_REG_1, BPF_REG_1, 0);
	store(program, BPF_DW, TASK, BPF_REG_1);
	call_map(program, BPF_FUNC_map_delete_elem, EVENT_FOLLOWED, TASK);
	end(program);
}

#else

bool event_program_count(struct event_program *program)
{
	program->count = 0;
	return false;
}

void event_program_fork(struct event_program *program)
{
	program->count = 0;
}

void event_program_exit(struct event_program *program)
{
	program->count = 0;
}

#endif
