/* SPDX-License-Identifier: MIT */
/*
 * Counts system calls in the kernel. `make bpf` compiles this BPF program into events_code.h, which
 * is kept in the tree: a build needs no compiler for BPF. It is loaded once for each hook, whose
 * number is filled in: the verifier leaves out what is for others. A call adds 1 to a count of its
 * CPU in a hash table of the kernel's, which no other run uses at the same time, since the kernel
 * runs a program once at a time on a CPU.
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
static long (*const read_name)(char *to, uint32_t size) = HELPER(get_current_comm);
static uint64_t (*const nanoseconds)(void) = HELPER(ktime_get_ns);
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

/* The verifier leaves out what is for other traits and hooks. */
#define HAS(traits) (VALUE(EVENT_TRAITS) & (traits))
#define AT(hook) (VALUE(EVENT_HOOK) == (hook))

/* ---- the registers of the program that makes the call ---- */

#if defined(EVENT_X86_64)

/* The part of struct pt_regs that is looked at for each call: reading all takes 3 ns more. */
struct registers {
	uint64_t rcx, rdx, rsi, rdi, number, rip, cs, flags, rsp, ss;
};

/*
 * glibc's syscall(2) takes its seventh argument from behind the return address, and makes the call:
 * mov 8(%rsp), %r9; syscall.
 */
#define FUNCTION_SIZE 8
#define IS_FUNCTION(code) ((code)[0] >> 8 == 0x050f08244c8b4c)

#define CALLER rsp
INLINE uint64_t return_address(uint64_t stack)
{
	uint64_t address = 0;

	read(&address, sizeof(address), stack);
	return address;
}

/* Of all registers, as perf gives them to a program. */
#define SAMPLED_INSTRUCTION 16
#define SAMPLED_MODE 17
#define IS_USER_MODE(cs) (((cs)&3) == 3)
#define IS_COMPAT_MODE(cs) ((uint16_t)(cs) == USER32_CS)

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

/* glibc's syscall(2) moves its arguments, and makes the call: mov x5, x6; mov x6, x7; svc 0. */
#define FUNCTION_SIZE 16
#define IS_FUNCTION(code) ((code)[0] >> 32 == 0xaa0603e5 && (code)[1] == 0xd4000001aa0703e6)

#define CALLER x[30]
INLINE uint64_t return_address(uint64_t link)
{
	return link;
}

#define SAMPLED_INSTRUCTION 32
#define SAMPLED_MODE 33
#define IS_USER_MODE(pstate) (!((pstate)&0xf))
#define IS_COMPAT_MODE(pstate) ((pstate)&0x10)

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

INLINE struct event_shared *find_shared(void)
{
	return look_up(VALUE(EVENT_SHARED), &(uint32_t){0});
}

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
INLINE void raise(uint64_t *number)
{
	__sync_fetch_and_add(number, 1);
}

INLINE void follow(struct event_shared *shared, uint64_t task, uint64_t image)
{
	/* Others than those that are followed already may be too many. */
	if (insert(VALUE(EVENT_FOLLOWED), &task, &image, BPF_ANY) != 0)
		raise(&shared->unfollowed);
	raise(&shared->changes);
}

/* Finds the image of a thread that is followed, or NULL. */
INLINE const uint64_t *image_of(uint64_t task)
{
	return look_up(VALUE(EVENT_FOLLOWED), &task);
}

/* Says whether the process is the running one that is followed from the begin on. */
INLINE bool is_first(uint64_t process)
{
	return HAS(EVENTS_OF_PROCESS) && process == VALUE(EVENT_PROCESS);
}

/* Adds the calls that are kept to the count of this CPU. */
INLINE void flush(struct event_shared *shared, const struct event_slot *slot)
{
	uint64_t *counted;

	if (!slot->count)
		return;
	counted = look_up(VALUE(EVENT_COUNTS), &slot->key);
	if (counted)
		*counted += slot->count;
	else if (insert(VALUE(EVENT_COUNTS), &slot->key, &slot->count, BPF_ANY) != 0)
		__sync_fetch_and_add(
			&shared->rest[slot->key.call & (2 * EVENT_INDEXES - 1)], slot->count);
}

/* Says whether the instruction before this address is that of glibc's syscall(2). */
INLINE bool is_function(uint64_t where)
{
	uint64_t code[FUNCTION_SIZE / sizeof(uint64_t)];

	return read(code, sizeof(code), where - sizeof(code)) == 0 && IS_FUNCTION(code);
}

/* Notes the process, which has a name and a group while it runs. */
INLINE void note(const struct event_slot *slot)
{
	const struct event_process *noted = look_up(VALUE(EVENT_PROCESSES), &slot->process);
	struct event_process maker = {.image = slot->key.image, .group = slot->key.where};

	read_name((char *)maker.name, sizeof(maker.name));
	if (noted && noted->image == maker.image && noted->name[0] == maker.name[0] &&
		noted->name[1] == maker.name[1])
		return;
	insert(VALUE(EVENT_PROCESSES), &slot->process, &maker, BPF_ANY);
}

/* Finds out about the thread that runs. */
INLINE void fill(struct event_shared *shared, struct event_slot *slot, uint64_t task, uint16_t call,
	uint64_t where)
{
	const uint64_t process = process_id();
	const uint64_t *image = HAS(EVENTS_OF_HOST) ? NULL : image_of(task);

	slot->task = task;
	slot->changes = shared->changes;
	slot->count = 0;
	slot->process = (uint32_t)process;
	slot->is_followed =
		HAS(EVENTS_OF_HOST) ? process != VALUE(EVENT_PROCESS) : image || is_first(process);
	slot->is_function = !HAS(EVENTS_OF_HOST) && where &&
	                    !(call & (EVENT_IS_COMPAT | EVENT_BY_FUNCTION)) && is_function(where);
	slot->key.image = image ? *image : 0;
	slot->key.where = where;
	slot->key.call = call;
	slot->key.cpu = (uint16_t)current_cpu();
	slot->key.maker = HAS(EVENTS_OF_HOST) ? (uint32_t)process : process != VALUE(EVENT_PROCESS);
	if (slot->is_followed)
		note(slot);
}

/*
 * Finds the slot of a call from a place by the thread that runs. NULL: it is not followed. A thread
 * of the host may have the structure of another one that ended, unseen.
 */
INLINE struct event_slot *find_slot(struct event_shared *shared, uint16_t call, uint64_t where)
{
	const uint64_t task = current_task();
	const uint64_t hash = (task >> 6 ^ where << 20 ^ call) * 0x9e3779b97f4a7c15;
	struct event_slot *slot = look_up(VALUE(EVENT_KEPT), &(uint32_t){0});

	if (!slot)
		return NULL;
	slot += hash >> EVENT_SLOT_SHIFT;
	if (slot->task != task || slot->changes != shared->changes || slot->key.where != where ||
		slot->key.call != call ||
		(HAS(EVENTS_OF_HOST) && slot->process != (uint32_t)process_id())) {
		flush(shared, slot);
		fill(shared, slot, task, call, where);
	}
	return slot->is_followed ? slot : NULL;
}

/*
 * Counts a call with this index, and EVENT_IS_COMPAT for 32-bit code, by code at this address, 0 if
 * it does not matter where; `caller` leads to what called that.
 */
INLINE void count(struct event_shared *shared, uint64_t index, uint64_t where, uint64_t caller)
{
	struct event_slot *slot;

	if (HAS(EVENTS_OF_HOST))
		where = HAS(EVENTS_BY_GROUP) ? current_group() : 0;
	slot = find_slot(shared, (uint16_t)index, where);
	if (slot && slot->is_function)
		slot = find_slot(
			shared, (uint16_t)(index | EVENT_BY_FUNCTION), return_address(caller));
	if (slot)
		slot->count++;
}

/* ---- the hooks, by the arguments of their tracepoints ---- */

/* sched_process_fork: the thread that forks, and the new one, before it runs. */
INLINE void at_fork(struct event_shared *shared, uint64_t parent, uint64_t child)
{
	const uint64_t *image = image_of(parent);

	/* A program begins with its execve(2). */
	if (image || is_first(process_id()))
		follow(shared, child, image ? *image : 0);
}

/* sched_process_exec: the thread, which is the only one of its process. */
INLINE void at_exec(struct event_shared *shared, uint64_t task)
{
	if (image_of(task) || is_first(process_id()))
		follow(shared, task, nanoseconds() << EVENT_IMAGE_SHIFT | process_id());
}

/* sched_process_exit: the thread. The structure of another one may get the address. */
INLINE void at_exit(struct event_shared *shared, uint64_t task)
{
	if (remove(VALUE(EVENT_FOLLOWED), &task) == 0)
		raise(&shared->changes);
}

/* Says whether this is code of the vDSO: all processes have the same. */
INLINE bool is_in_vdso(const struct event_shared *shared, uint64_t address)
{
	const unsigned char *vdso = shared->vdso + (address & (EVENT_VDSO_PAGE - 1));
	uint64_t code[EVENT_VDSO_WORDS];

	if (read(code, sizeof(code), address) != 0)
		return false;
#pragma unroll
	for (int page = 0; page < EVENT_VDSO_PAGES; page++, vdso += EVENT_VDSO_PAGE) {
		const uint64_t *words = (const uint64_t *)vdso;

		if (words[0] == code[0] && words[1] == code[1] && words[2] == code[2] &&
			words[3] == code[3])
			return true;
	}
	return false;
}

/* The cpu-clock: the registers of what runs. Says whether that is in the vDSO. */
INLINE bool at_sample(struct event_shared *shared, const uint64_t *registers)
{
	const uint64_t process = process_id(), mode = registers[SAMPLED_MODE];

	if (HAS(EVENTS_OF_HOST) ? process == VALUE(EVENT_PROCESS)
				: !image_of(current_task()) && !is_first(process))
		return false;
	raise(&shared->samples);
	if (process != VALUE(EVENT_PROCESS))
		raise(&shared->samples_of_others);
	if (!IS_USER_MODE(mode))
		return false;
	if (IS_COMPAT_MODE(mode)) {
		raise(&shared->samples_compat);
		return false;
	}
	return is_in_vdso(shared, registers[SAMPLED_INSTRUCTION]);
}

/*
 * The samples for which it returns 1 are kept with their stacks: those in the vDSO of the host, or
 * of the program that ran at the begin.
 */
int at_event(const uint64_t *context)
{
	struct event_shared *shared = find_shared();
	uint64_t index, bits, all, where = 0, caller = 0;
	const uint64_t *image;

	if (!shared)
		return 0;
	if (AT(EVENT_FORK)) {
		at_fork(shared, context[0], context[1]);
		return 0;
	}
	if (AT(EVENT_EXEC)) {
		at_exec(shared, context[0]);
		return 0;
	}
	if (AT(EVENT_EXIT)) {
		at_exit(shared, context[0]);
		return 0;
	}
	if (AT(EVENT_SAMPLE)) {
		if (!at_sample(shared, context))
			return 0;
		index = EVENT_IN_VDSO;
	} else if (AT(EVENT_PAGE)) {
		/* emulate_vsyscall: the function of the page, gettimeofday(), time() or getcpu().
		 */
		bits = shared->calls[context[0] == 0 ? 96 : context[0] == 1 ? 201 : 309];
		if (!(bits & EVENT_IS_COUNTED))
			return 0;
		index = bits >> EVENT_INDEX_SHIFT & (EVENT_INDEXES - 1);
	} else {
		/*
		 * sys_enter: the registers, and the number of the call. As an event of perf it has
		 * a word that is not for programs in place of the first.
		 */
		const uint64_t number = context[1];
		struct registers registers;
		bool is_compat;

		if (number >= EVENT_CALLS)
			return 0;
		bits = shared->calls[number];
		if (!bits)
			return 0;
		/* A program is followed from its first execve(2) on. */
		if (HAS(EVENTS_OF_PROGRAM) && (bits & EVENT_EXECUTES) &&
			process_id() == VALUE(EVENT_PROCESS))
			follow(shared, current_task(), 0);
		all = AT(EVENT_PERF_ENTER) ? registers_of(current_task_checked()) : context[0];
		read(&registers, sizeof(registers), all + REGISTERS_AT);
		is_compat = by_32_bit_code(&registers);
		bits >>= is_compat ? EVENT_COMPAT_SHIFT : 0;
		if (!(bits & EVENT_IS_COUNTED))
			return 0;
		index = bits >> EVENT_INDEX_SHIFT & (EVENT_INDEXES - 1);
		if (bits & EVENT_TAKES_CLOCK) {
			const uint32_t clock = (uint32_t)first_argument(&registers, all, is_compat);

			index += clock < EVENT_CLOCK_OTHER ? clock : EVENT_CLOCK_OTHER;
		}
		index |= is_compat ? EVENT_IS_COMPAT : 0;
		where = registers.INSTRUCTION;
		caller = registers.CALLER;
	}
	count(shared, index, where, caller);
	if (!AT(EVENT_SAMPLE))
		return 0;
	image = image_of(current_task());
	return !image || !*image;
}
