/* SPDX-License-Identifier: MIT */
/*
 * Has the BPF programs, in an assembler of a few macros, as our seccomp filters are written: no
 * compiler is needed to build them. The one at sys_enter counts a call in a slot of its CPU. Where
 * a program is followed, its threads are known by the addresses of their structures in the kernel,
 * which tracepoints of the scheduler give: no layout of a structure but that of the registers is
 * relied on, which is the same as debuggers see it in (struct user_regs_struct).
 *
 * All needs Linux 4.18, which has the ID of the control group; raw tracepoints came before it.
 */
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "base/memory.h"
#include "events.h"

#if defined(__x86_64__) || defined(__aarch64__)

/* ---- the assembler ---- */

/* An instruction, in which something may be filled in, or a mark between instructions. */
struct step {
	enum {
		PLAIN,
		MAP,      /* the open file of the map `imm` */
		OURS,     /* the process */
		LAST_CPU, /* of EVENT_COUNTS */
		DEVICE,   /* of our PID namespace, in two instructions */
		INODE,
		LABEL, /* where jumps with the number `imm` lead to, forward only */
		IF,    /* the next ones are for programs with one of the traits in `imm` */
		ELSE,
		END_IF
	} fill;
	struct bpf_insn one;
};

/* R0 to R5 are lost in each call of a helper; R10 points behind the stack. */
enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

/* clang-format off */
#define STEP(fill, code, to, from, off, imm) {fill, {code, to, from, off, imm}}
#define SET(to, value) STEP(PLAIN, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value)
#define COPY(to, from) STEP(PLAIN, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define ALU(operation, to, value) STEP(PLAIN, BPF_ALU64 | BPF_##operation | BPF_K, to, 0, 0, value)
#define ALU_X(operation, to, from) STEP(PLAIN, BPF_ALU64 | BPF_##operation | BPF_X, to, from, 0, 0)
#define LOAD(size, to, from, off) STEP(PLAIN, BPF_LDX | BPF_MEM | BPF_##size, to, from, off, 0)
#define STORE(size, to, off, from) STEP(PLAIN, BPF_STX | BPF_MEM | BPF_##size, to, from, off, 0)
#define ADD_1(to, off) SET(R1, 1), STEP(PLAIN, BPF_STX | BPF_XADD | BPF_DW, to, R1, off, 0)
#define JUMP(condition, left, value, label) \
	STEP(PLAIN, BPF_JMP | BPF_##condition | BPF_K, left, 0, label, value)
#define JUMP_OURS(condition, left, label) \
	STEP(OURS, BPF_JMP | BPF_##condition | BPF_K, left, 0, label, 0)
#define GO(label) JUMP(JA, 0, 0, label)
#define HELPER(helper) STEP(PLAIN, BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT SET(R0, 0), STEP(PLAIN, BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define MARK(kind, number) STEP(kind, 0, 0, 0, 0, number)

/* Two instructions, the second of which has the high half alone. */
#define WIDE(fill, to, from, value) \
	STEP(fill, BPF_LD | BPF_DW | BPF_IMM, to, from, 0, value), MARK(PLAIN, 0)

/* Have a helper work on a map with an address on the stack, or put a key into it. */
#define ADDRESS(to, off) COPY(to, R10), ALU(ADD, to, off)
#define ON_MAP(helper, map, key) \
	WIDE(MAP, R1, BPF_PSEUDO_MAP_FD, map), ADDRESS(R2, key), HELPER(helper)
#define LOOK_UP(map, key) ON_MAP(BPF_FUNC_map_lookup_elem, map, key)
#define INSERT(map, key) \
	ADDRESS(R3, key), SET(R4, BPF_ANY), ON_MAP(BPF_FUNC_map_update_elem, map, key)
/* R0 becomes the address of the number with this index. */
#define FIND_NUMBER(index) \
	SET(R1, index), STORE(W, R10, NUMBER, R1), LOOK_UP(EVENT_NUMBERS, NUMBER), \
	JUMP(JEQ, R0, 0, END)
/* clang-format on */

static bool is_jump(const struct bpf_insn *one)
{
	return BPF_CLASS(one->code) == BPF_JMP && BPF_OP(one->code) != BPF_CALL &&
	       BPF_OP(one->code) != BPF_EXIT;
}

#define LABEL_MAX 16

static bool assemble(struct event_program *program, const struct step *steps, size_t count)
{
	const uint64_t filled[] = {[OURS] = (uint32_t)program->process,
		[LAST_CPU] = program->cpus - 1,
		[DEVICE] = program->namespace_device,
		[INODE] = program->namespace_inode};
	size_t labels[LABEL_MAX] = {0};
	unsigned depth = 0, skipped = 0; /* depth of the IF whose steps are skipped; 0: none */
	int high = 0;                    /* of the number in the instruction before */

	program->count = 0;
	for (const struct step *step = steps; step < steps + count; step++) {
		struct bpf_insn one = step->one;

		if (step->fill == IF && ++depth && !skipped && !(program->traits & one.imm))
			skipped = depth;
		else if (step->fill == ELSE && (!skipped || skipped == depth))
			skipped = skipped ? 0 : depth;
		else if (step->fill == END_IF && depth-- == skipped)
			skipped = 0;
		else if (step->fill == LABEL)
			labels[one.imm] = program->count;
		if (step->fill >= LABEL || skipped)
			continue;
		if (program->count == EVENT_CODE_MAX)
			return false;
		if (step->fill == MAP)
			one.imm = program->maps[one.imm];
		else if (step->fill)
			one.imm = (int)(uint32_t)filled[step->fill];
		else if (!one.code)
			one.imm = high;
		high = step->fill > MAP ? (int)(filled[step->fill] >> 32) : 0;
		program->code[program->count++] = one;
	}
	for (size_t i = 0; i < program->count; i++) {
		struct bpf_insn *one = &program->code[i];

		if (is_jump(one))
			one->off = (int16_t)(labels[one->off] - i - 1);
	}
	return true;
}

/* ---- the registers of the program that makes the call ---- */

#define REGISTER(name) offsetof(struct user_regs_struct, name)

#if defined(__x86_64__)
#define INSTRUCTION REGISTER(rip)
#define FIRST REGISTER(rcx)
#define LAST REGISTER(ss)
#else
#define INSTRUCTION REGISTER(pc)
#define FIRST REGISTER(pc)
#define LAST REGISTER(pstate)
#endif

/* The registers that each call is looked at for lie together. */
#define REGISTERS_SIZE ((int)(LAST - FIRST) + 8)

/* Places on the stack. */
enum {
	TASK = -8,
	NUMBER = -16,      /* a key of an array */
	PROCESS_IDS = -24, /* struct bpf_pidns_info */
	VALUE = -32,       /* of one register; then the slot, or 0 */
	REGISTERS = VALUE - REGISTERS_SIZE
};

/* Registers with one meaning. */
#define CONTEXT R6 /* the arguments of the tracepoint */
#define COUNTS R6  /* of this CPU */
#define KEY R7     /* at first the number of the call; then process and call of a slot */
#define WANTED R8
#define WHERE R8 /* once WANTED is known */
#define COMPAT R9
#define READING R9

enum {
	END,
	FOLLOWS,
	GOES_ON,
	NUMBER_KNOWN,
	WITHOUT_FRED,
	ENTRY_KNOWN,
	IS_64_BIT,
	IS_64_BIT_CODE,
	ARGUMENT_KNOWN,
	CLOCK_KNOWN,
	HAS_CLOCK,
	FREE,
	IS_FOLLOWED,
	HAS_NONE,
	FOUND
};

/* clang-format off */

/* The first argument of the tracepoint points to all registers. */
#define READ(to, offset, size) \
	ADDRESS(R1, to), SET(R2, size), LOAD(DW, R3, CONTEXT, 0), ALU(ADD, R3, (int)(offset)), \
	HELPER(BPF_FUNC_probe_read)
#define LOAD_REGISTER(size, to, offset) LOAD(size, to, R10, REGISTERS + (int)((offset) - FIRST))

#if defined(__x86_64__)

#define USER32_CS 0x23 /* selector of 32-bit code, arch/x86/include/asm/segment.h */
#define FRED_MASK 0x020f00ff
#define FRED_SYSCALL_64 0x02070001

/*
 * SYSCALL leaves the address of the next instruction in RCX; int 0x80, which 64-bit code may use,
 * too, does not. With FRED (Linux 6.9), neither does, and the high half of SS says what it was:
 * vector 1 of type 7, from 64-bit code (struct fred_ss in arch/x86/include/asm/ptrace.h). 32-bit
 * code may use SYSCALL, on AMD.
 */
#define FIND_COMPAT \
	SET(COMPAT, 0), \
	LOAD_REGISTER(DW, R1, REGISTER(ss)), ALU(RSH, R1, 32), JUMP(JEQ, R1, 0, WITHOUT_FRED), \
	ALU(AND, R1, FRED_MASK), ALU(XOR, R1, FRED_SYSCALL_64), GO(ENTRY_KNOWN), \
	MARK(LABEL, WITHOUT_FRED), \
	LOAD_REGISTER(DW, R1, REGISTER(rip)), LOAD_REGISTER(DW, R2, REGISTER(rcx)), ALU_X(XOR, R1, R2), \
	MARK(LABEL, ENTRY_KNOWN), \
	JUMP(JEQ, R1, 0, IS_64_BIT), SET(COMPAT, 1), \
	MARK(LABEL, IS_64_BIT), \
	LOAD_REGISTER(H, R1, REGISTER(cs)), JUMP(JNE, R1, USER32_CS, IS_64_BIT_CODE), SET(COMPAT, 1), \
	MARK(LABEL, IS_64_BIT_CODE)
#define FIND_PAGE_CALL \
	LOAD(DW, R1, CONTEXT, 0), \
	SET(KEY, SYS_gettimeofday), JUMP(JEQ, R1, 0, NUMBER_KNOWN), \
	SET(KEY, SYS_time), JUMP(JEQ, R1, 1, NUMBER_KNOWN), SET(KEY, SYS_getcpu), \
	MARK(LABEL, NUMBER_KNOWN)
#define LOAD_ARGUMENT \
	LOAD_REGISTER(W, R1, REGISTER(rdi)), JUMP(JEQ, COMPAT, 0, ARGUMENT_KNOWN), \
	READ(VALUE, REGISTER(rbx), 8), LOAD(W, R1, R10, VALUE), \
	MARK(LABEL, ARGUMENT_KNOWN)

#else

#define PSTATE_32_BIT 4 /* number of the bit */
#define FIND_COMPAT \
	LOAD_REGISTER(DW, COMPAT, REGISTER(pstate)), ALU(RSH, COMPAT, PSTATE_32_BIT), ALU(AND, COMPAT, 1)
#define FIND_PAGE_CALL GO(END)
#define LOAD_ARGUMENT READ(VALUE, REGISTER(regs), 8), LOAD(W, R1, R10, VALUE)

#endif

/* ---- the programs ---- */

/*
 * R0 becomes the process ID as our PID namespace has it, which the kernel finds since 5.7: it is 0
 * in another namespace. Older headers lack the helper, bpf_get_ns_current_pid_tgid().
 */
#define FIND_PROCESS \
	MARK(IF, EVENTS_IN_NAMESPACE), \
	WIDE(DEVICE, R1, 0, 0), WIDE(INODE, R2, 0, 0), ADDRESS(R3, PROCESS_IDS), SET(R4, 8), HELPER(120), \
	LOAD(W, R0, R10, PROCESS_IDS + 4), \
	MARK(ELSE, 0), \
	HELPER(BPF_FUNC_get_current_pid_tgid), ALU(RSH, R0, 32), \
	MARK(END_IF, 0)

#define FIND_TASK HELPER(BPF_FUNC_get_current_task), STORE(DW, R10, TASK, R0)

#define SLOT_AT(member) (int)offsetof(struct event_slot, member)
#define COUNTS_AT(member) (int)offsetof(struct event_counts, member)

/* R0 is a slot; goes on with the next one in it if this is another key's, and in use. */
#define PROBE \
	LOAD(DW, R1, R0, SLOT_AT(key)), LOAD(DW, R2, R0, SLOT_AT(where)), \
	ALU_X(XOR, R1, KEY), ALU_X(XOR, R2, WHERE), ALU_X(OR, R1, R2), JUMP(JEQ, R1, 0, FOUND), \
	LOAD(DW, R1, R0, SLOT_AT(last)), ALU(ADD, R1, EVENT_IDLE), \
	STEP(PLAIN, BPF_JMP | BPF_JGE | BPF_X, READING, R1, FREE, 0), \
	ALU(ADD, R0, (int)sizeof(struct event_slot))

/* Others than those that are followed already may be too many. */
#define FOLLOW \
	INSERT(EVENT_FOLLOWED, TASK), JUMP(JEQ, R0, 0, FOLLOWS), \
	FIND_NUMBER(EVENT_UNFOLLOWED), ADD_1(R0, 0), \
	MARK(LABEL, FOLLOWS)

static const struct step enter_steps[] = {
	/* Is it a number that is wanted? */
	COPY(CONTEXT, R1),
	MARK(IF, EVENTS_BY_PAGE),
	FIND_PAGE_CALL,
	MARK(ELSE, 0),
	LOAD(DW, KEY, CONTEXT, 8), JUMP(JGE, KEY, EVENT_CALLS, END),
	MARK(END_IF, 0),
	STORE(W, R10, NUMBER, KEY), LOOK_UP(EVENT_NUMBERS, NUMBER), JUMP(JEQ, R0, 0, END),
	LOAD(DW, WANTED, R0, 0), JUMP(JEQ, WANTED, 0, END),

	/* A program is followed from its first execve(2) on. */
	MARK(IF, EVENTS_OF_PROGRAM),
	COPY(R1, WANTED), ALU(AND, R1, EVENT_EXECUTES), JUMP(JEQ, R1, 0, GOES_ON),
	FIND_PROCESS, JUMP_OURS(JNE, R0, GOES_ON), FIND_TASK, FOLLOW,
	MARK(LABEL, GOES_ON),
	MARK(END_IF, 0),

	/* Is it one of this kind of code? */
	MARK(IF, EVENTS_BY_PAGE),
	SET(COMPAT, 0),
	MARK(ELSE, 0),
	READ(REGISTERS, FIRST, REGISTERS_SIZE), FIND_COMPAT,
	MARK(END_IF, 0),
	COPY(R1, COMPAT), ALU(MUL, R1, EVENT_COMPAT_SHIFT), ALU_X(RSH, WANTED, R1),
	COPY(R1, WANTED), ALU(AND, R1, EVENT_IS_COUNTED), JUMP(JEQ, R1, 0, END),

	/* The key: call, process, and where. */
	COPY(KEY, WANTED), ALU(RSH, KEY, EVENT_INDEX_SHIFT), ALU(AND, KEY, EVENT_INDEXES - 1),
	MARK(IF, EVENTS_BY_PAGE),
	MARK(ELSE, 0),
	ALU(AND, WANTED, EVENT_TAKES_CLOCK), JUMP(JEQ, WANTED, 0, HAS_CLOCK),
	LOAD_ARGUMENT, JUMP(JLT, R1, EVENT_CLOCK_OTHER, CLOCK_KNOWN), SET(R1, EVENT_CLOCK_OTHER),
	MARK(LABEL, CLOCK_KNOWN),
	ALU_X(ADD, KEY, R1),
	MARK(LABEL, HAS_CLOCK),
	MARK(END_IF, 0),
	ALU(MUL, COMPAT, EVENT_IS_COMPAT), ALU_X(OR, KEY, COMPAT), ALU(LSH, KEY, 32),
	FIND_PROCESS, ALU_X(OR, KEY, R0),
	MARK(IF, EVENTS_OF_HOST),
	JUMP_OURS(JEQ, R0, END),
	MARK(END_IF, 0),
	MARK(IF, EVENTS_OF_HOST | EVENTS_BY_PAGE),
	SET(WHERE, 0),
	MARK(ELSE, 0),
	LOAD_REGISTER(DW, WHERE, INSTRUCTION),
	MARK(END_IF, 0),
	MARK(IF, EVENTS_BY_GROUP),
	HELPER(BPF_FUNC_get_current_cgroup_id), COPY(WHERE, R0),
	MARK(END_IF, 0),

	/* Its slot. */
	FIND_NUMBER(EVENT_READING), LOAD(DW, READING, R0, 0),
	HELPER(BPF_FUNC_get_smp_processor_id), STEP(LAST_CPU, BPF_ALU64 | BPF_AND | BPF_K, R0, 0, 0, 0),
	STORE(W, R10, NUMBER, R0), LOOK_UP(EVENT_COUNTS, NUMBER), JUMP(JEQ, R0, 0, END), COPY(COUNTS, R0),
	COPY(R1, KEY), ALU(MUL, R1, 0x2c9277b5), ALU_X(XOR, R1, WHERE), ALU(MUL, R1, 0x5851f42d),
	ALU(RSH, R1, 64 - EVENT_SLOT_BITS), ALU(MUL, R1, (int)sizeof(struct event_slot)),
	ALU_X(ADD, R0, R1), ALU(ADD, R0, COUNTS_AT(slots)),
	PROBE, PROBE, PROBE, PROBE, PROBE, PROBE, PROBE, PROBE,
	SET(R0, 0),

	/* The first call with this key: a process that has one is followed. */
	MARK(LABEL, FREE),
	STORE(DW, R10, VALUE, R0),
	MARK(IF, EVENTS_OF_PROCESS),
	COPY(R1, KEY), ALU(LSH, R1, 32), ALU(RSH, R1, 32), JUMP_OURS(JEQ, R1, IS_FOLLOWED),
	MARK(END_IF, 0),
	MARK(IF, EVENTS_OF_PROCESS | EVENTS_OF_PROGRAM),
	FIND_TASK, LOOK_UP(EVENT_FOLLOWED, TASK), JUMP(JEQ, R0, 0, END),
	MARK(LABEL, IS_FOLLOWED),
	MARK(END_IF, 0),
	LOAD(DW, R0, R10, VALUE), JUMP(JEQ, R0, 0, HAS_NONE),
	STORE(DW, R0, SLOT_AT(where), WHERE), STORE(DW, R0, SLOT_AT(key), KEY),
	MARK(LABEL, FOUND),
	STORE(DW, R0, SLOT_AT(last), READING), ADD_1(R0, SLOT_AT(count)),
	MARK(LABEL, END),
	EXIT,

	MARK(LABEL, HAS_NONE),
	ALU(RSH, KEY, 32), ALU(AND, KEY, 2 * EVENT_INDEXES - 1), ALU(MUL, KEY, 8),
	ALU_X(ADD, COUNTS, KEY), ADD_1(COUNTS, COUNTS_AT(rest)),
	EXIT,
};

/* The first argument is the thread that forks, the second the new one, before it runs. */
static const struct step fork_steps[] = {
	COPY(CONTEXT, R1), LOAD(DW, R1, CONTEXT, 0), STORE(DW, R10, TASK, R1),
	LOOK_UP(EVENT_FOLLOWED, TASK), JUMP(JNE, R0, 0, IS_FOLLOWED),
	/* A program begins with its execve(2). */
	MARK(IF, EVENTS_OF_PROCESS),
	FIND_PROCESS, JUMP_OURS(JEQ, R0, IS_FOLLOWED),
	MARK(END_IF, 0),
	EXIT,
	MARK(LABEL, IS_FOLLOWED),
	LOAD(DW, R1, CONTEXT, 8), STORE(DW, R10, TASK, R1), FOLLOW,
	MARK(LABEL, END),
	EXIT,
};

/* The structure of another thread may get the address. */
static const struct step exit_steps[] = {
	LOAD(DW, R1, R1, 0), STORE(DW, R10, TASK, R1),
	ON_MAP(BPF_FUNC_map_delete_elem, EVENT_FOLLOWED, TASK),
	EXIT,
};

/* clang-format on */

bool event_program_write(struct event_program *program, enum event_tracepoint tracepoint)
{
	program->traits &= ~EVENTS_BY_PAGE;
	switch (tracepoint) {
	case EVENT_PAGE:
		program->traits |= EVENTS_BY_PAGE;
		/* fall through */
	case EVENT_ENTER:
		return assemble(program, enter_steps, ARRAY_SIZE(enter_steps));
	case EVENT_FORK:
		return assemble(program, fork_steps, ARRAY_SIZE(fork_steps));
	default:
		return assemble(program, exit_steps, ARRAY_SIZE(exit_steps));
	}
}

#else

bool event_program_write(struct event_program *program, enum event_tracepoint tracepoint)
{
	(void)program;
	(void)tracepoint;
	return false;
}

#endif
