/* SPDX-License-Identifier: MIT */
/*
 * Counts system calls in the kernel. `make bpf` compiles these BPF programs into events_code.h,
 * which is kept in the tree: a build needs no compiler for BPF. A call adds 1 in a slot of its CPU,
 * which no other run uses at the same time, since the kernel runs a program once at a time on a
 * CPU.
 *
 * The threads of a program that is followed are known by the addresses of their structures in the
 * kernel, which tracepoints of the scheduler give: no layout is relied on but that of the
 * registers, which debuggers see, too. All needs Linux 4.18, which has the ID of the control group.
 */
#include "events.h"

#define HELPER(name) (void *)BPF_FUNC_##name

static void *(*const look_up)(uint64_t map, const void *key) = HELPER(map_lookup_elem);
static long (*const insert)(
	uint64_t map, const void *key, const void *value, uint64_t flags) = HELPER(map_update_elem);
static long (*const remove)(uint64_t map, const void *key) = HELPER(map_delete_elem);
static long (*const read)(void *to, uint32_t size, uint64_t from) = HELPER(probe_read);
static uint64_t (*const ids)(void) = HELPER(get_current_pid_tgid);
static long (*const ids_in_namespace)(uint64_t device, uint64_t inode, struct bpf_pidns_info *ids,
	uint32_t size) = HELPER(get_ns_current_pid_tgid); /* since 5.7 */
static uint64_t (*const current_task)(void) = HELPER(get_current_task);
static uint32_t (*const current_cpu)(void) = HELPER(get_smp_processor_id);
static uint64_t (*const current_group)(void) = HELPER(get_current_cgroup_id);
static const void *(*const current_task_checked)(void) = HELPER(get_current_task_btf); /* 5.11 */
static uint64_t (*const registers_of)(const void *task) = HELPER(task_pt_regs);        /* 5.15 */

#define INLINE static inline __attribute__((always_inline))

/* A number of enum event_value: an undefined symbol, whose value is filled in before loading. */
#define VALUE(name)                                                                                \
	({                                                                                         \
		uint64_t value_;                                                                   \
		__asm__ volatile("%0 = " #name " ll" : "=r"(value_));                              \
		value_;                                                                            \
	})

/* The verifier leaves out what is for other traits. */
#define HAS(traits) (VALUE(EVENT_TRAITS) & (traits))

/* ---- the registers of the program that makes the call ---- */

#if defined(EVENT_X86_64)

/* The part of struct pt_regs that is looked at for each call: reading all takes 3 ns more. */
struct registers {
	uint64_t rcx, rdx, rsi, rdi, number, rip, cs, flags, rsp, ss;
};

#define REGISTERS_AT 88
#define RBX_AT 40
#define INSTRUCTION rip

#define USER32_CS 0x23 /* selector of 32-bit code, arch/x86/include/asm/segment.h */
#define FRED_MASK 0x020f00ff
#define FRED_SYSCALL_64 0x02070001

/*
 * SYSCALL leaves the address of the next instruction in RCX; int 0x80, which 64-bit code may use,
 * too, does not. With FRED (Linux 6.9), neither does, and the high half of SS says what it was:
 * vector 1 of type 7, from 64-bit code (struct fred_ss in arch/x86/include/asm/ptrace.h). 32-bit
 * code may use SYSCALL, on AMD.
 */
INLINE bool by_32_bit_code(const struct registers *registers)
{
	const uint64_t fred = registers->ss >> 32;

	return (uint16_t)registers->cs == USER32_CS ||
	       (fred ? (fred & FRED_MASK) != FRED_SYSCALL_64 : registers->rip != registers->rcx);
}

INLINE uint64_t first_argument(const struct registers *registers, uint64_t all, bool is_compat)
{
	uint64_t rbx;

	if (!is_compat)
		return registers->rdi;
	read(&rbx, sizeof(rbx), all + RBX_AT);
	return rbx;
}

#else

struct registers {
	uint64_t x[31], sp, pc, pstate;
};

#define REGISTERS_AT 0
#define INSTRUCTION pc

INLINE bool by_32_bit_code(const struct registers *registers)
{
	return registers->pstate & 0x10;
}

INLINE uint64_t first_argument(const struct registers *registers, uint64_t all, bool is_compat)
{
	(void)all;
	(void)is_compat;
	return registers->x[0];
}

#endif

/* ---- counting ---- */

/* Finds the number with this index, a uint64_t, or NULL. */
#define NUMBER(index) look_up(VALUE(EVENT_NUMBERS), &(uint32_t){index})

/* Returns the process ID as our PID namespace has it: 0 in another one. */
INLINE uint64_t process_id(void)
{
	struct bpf_pidns_info here;

	if (!HAS(EVENTS_IN_NAMESPACE))
		return ids() >> 32;
	ids_in_namespace(VALUE(EVENT_DEVICE), VALUE(EVENT_INODE), &here, sizeof(here));
	return here.tgid;
}

/* Adds 1 to a number that all CPUs have in common. */
INLINE void raise(uint32_t index)
{
	uint64_t *number = NUMBER(index);

	if (number)
		__sync_fetch_and_add(number, 1);
}

INLINE void follow(uint64_t task)
{
	/* Others than those that are followed already may be too many. */
	if (insert(VALUE(EVENT_FOLLOWED), &task, &task, BPF_ANY) != 0)
		raise(EVENT_UNFOLLOWED);
}

INLINE bool is_followed(uint64_t process)
{
	const uint64_t task = current_task();

	return HAS(EVENTS_OF_HOST) || (HAS(EVENTS_OF_PROCESS) && process == VALUE(EVENT_PROCESS)) ||
	       look_up(VALUE(EVENT_FOLLOWED), &task);
}

INLINE void add(struct event_slot *slot, uint64_t reading)
{
	slot->last = reading;
	slot->count++;
}

/* Counts a call with this index, and EVENT_IS_COMPAT for 32-bit code. */
INLINE void count(uint64_t index, uint64_t where)
{
	const uint64_t process = process_id(), key = index << 32 | process;
	const uint32_t cpu = current_cpu() & (uint32_t)VALUE(EVENT_LAST_CPU);
	const uint64_t *reading = NUMBER(EVENT_READING);
	struct event_counts *counts = look_up(VALUE(EVENT_COUNTS), &cpu);
	struct event_slot *slot;
	uint64_t hash, now;
	int probe;

	if (!reading || !counts || (HAS(EVENTS_OF_HOST) && process == VALUE(EVENT_PROCESS)))
		return;
	/* Others than those that are followed are 0 here, too. */
	if (!process && !is_followed(process))
		return;
	if (HAS(EVENTS_BY_GROUP))
		where = current_group();
	now = *reading;
	/* The places of a function differ in their low bits, which reach the high ones by this
	 * factor. */
	hash = ((key * 0x2c9277b5) ^ where) * 0x9e3779b97f4a7c15;
	slot = &counts->slots[hash >> (64 - EVENT_SLOT_BITS)];
	/* clang unrolls it: before Linux 5.3, the verifier takes no loop. */
	for (probe = 0; probe < EVENT_PROBES; probe++, slot++) {
		if (slot->key == key && slot->where == where) {
			add(slot, now);
			return;
		}
		if (now >= slot->last + EVENT_IDLE)
			break;
	}
	/* Another process that has a slot is followed. */
	if (!is_followed(process))
		return;
	if (probe == EVENT_PROBES) {
		counts->rest[index & (2 * EVENT_INDEXES - 1)]++;
		return;
	}
	slot->where = where;
	slot->key = key;
	add(slot, now);
	raise(EVENT_TAKEN);
}

/* ---- the programs, by the arguments of their tracepoints ---- */

/* The second word of both contexts is the number of the call. */
INLINE int enter(const uint64_t *context, bool is_perf)
{
	struct registers registers;
	const uint64_t *wanted;
	uint64_t all, bits, index;
	bool is_compat;

	if (context[1] >= EVENT_CALLS)
		return 0;
	wanted = NUMBER((uint32_t)context[1]);
	if (!wanted || !*wanted)
		return 0;
	/* A program is followed from its first execve(2) on. */
	if (HAS(EVENTS_OF_PROGRAM) && (*wanted & EVENT_EXECUTES) &&
		process_id() == VALUE(EVENT_PROCESS))
		follow(current_task());
	all = is_perf ? registers_of(current_task_checked()) : context[0];
	read(&registers, sizeof(registers), all + REGISTERS_AT);
	is_compat = by_32_bit_code(&registers);
	bits = *wanted >> (is_compat ? EVENT_COMPAT_SHIFT : 0);
	if (!(bits & EVENT_IS_COUNTED))
		return 0;
	index = bits >> EVENT_INDEX_SHIFT & (EVENT_INDEXES - 1);
	if (bits & EVENT_TAKES_CLOCK) {
		const uint32_t clock = (uint32_t)first_argument(&registers, all, is_compat);

		index += clock < EVENT_CLOCK_OTHER ? clock : EVENT_CLOCK_OTHER;
	}
	count(index | (is_compat ? EVENT_IS_COMPAT : 0),
		HAS(EVENTS_OF_HOST) ? 0 : registers.INSTRUCTION);
	return 0;
}

/* sys_enter: the registers, and the number of the call. */
int at_enter(const uint64_t *arguments)
{
	return enter(arguments, false);
}

/* The same as an event of perf: a word that is not for programs, and the number of the call. */
int at_perf_enter(const uint64_t *fields)
{
	return enter(fields, true);
}

#if defined(EVENT_X86_64)

/* emulate_vsyscall: the function of the page, gettimeofday(), time() or getcpu(). */
int at_page(const uint64_t *arguments)
{
	const uint32_t number = arguments[0] == 0 ? 96 : arguments[0] == 1 ? 201 : 309;
	const uint64_t *wanted = NUMBER(number);

	if (wanted && (*wanted & EVENT_IS_COUNTED))
		count(*wanted >> EVENT_INDEX_SHIFT & (EVENT_INDEXES - 1), 0);
	return 0;
}

#endif

/* sched_process_fork: the thread that forks, and the new one, before it runs. */
int at_fork(const uint64_t *arguments)
{
	const uint64_t task = arguments[0];

	/* A program begins with its execve(2). */
	if (look_up(VALUE(EVENT_FOLLOWED), &task) ||
		(HAS(EVENTS_OF_PROCESS) && process_id() == VALUE(EVENT_PROCESS)))
		follow(arguments[1]);
	return 0;
}

/* sched_process_exit: the thread. The structure of another one may get the address. */
int at_exit(const uint64_t *arguments)
{
	const uint64_t task = arguments[0];

	remove(VALUE(EVENT_FOLLOWED), &task);
	return 0;
}
