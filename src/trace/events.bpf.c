/* SPDX-License-Identifier: MIT */
/*
 * Counts system calls in the kernel. `make bpf` compiles these BPF programs into events_code.h,
 * which is kept in the tree: a build needs no compiler for BPF. A call adds 1 to the value of its
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

/*
 * glibc's syscall(2) takes its seventh argument from behind the return address, and makes the call:
 * mov 8(%rsp), %r9; syscall.
 */
#define FUNCTION_SIZE 8
#define IS_FUNCTION(code) ((code)[0] >> 8 == 0x050f08244c8b4c)

INLINE uint64_t return_address(const struct registers *registers)
{
	uint64_t address = 0;

	read(&address, sizeof(address), registers->rsp);
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

INLINE uint64_t return_address(const struct registers *registers)
{
	return registers->x[30];
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

INLINE void follow(uint64_t task, uint64_t image)
{
	/* Others than those that are followed already may be too many. */
	if (insert(VALUE(EVENT_FOLLOWED), &task, &image, BPF_ANY) != 0)
		raise(EVENT_UNFOLLOWED);
	raise(EVENT_CHANGES);
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

/* Adds the last calls of a thread to the count of this CPU. */
INLINE void flush(struct event_thread *thread)
{
	uint64_t *counted;

	if (!thread->count)
		return;
	counted = look_up(VALUE(EVENT_COUNTS), &thread->key);
	if (!counted && insert(VALUE(EVENT_COUNTS), &thread->key, &thread->count, BPF_ANY) != 0) {
		const uint32_t call = thread->key.call & (2 * EVENT_INDEXES - 1);

		counted = look_up(VALUE(EVENT_REST), &call);
	}
	if (counted)
		*counted += thread->count;
	thread->count = 0;
}

/*
 * Finds out about the thread that runs. NULL: it is not followed. A thread of the host may have the
 * structure of another one that ended, unseen.
 */
INLINE struct event_thread *find_thread(void)
{
	const uint64_t task = current_task(), *changes = NUMBER(EVENT_CHANGES), *image;
	uint64_t process = HAS(EVENTS_OF_HOST) ? process_id() : 0;
	const uint32_t number = (uint32_t)(task >> 6 ^ task >> 12) & (EVENT_THREADS_MAX - 1);
	struct event_thread *thread = look_up(VALUE(EVENT_THREADS), &number);

	if (!thread || !changes)
		return NULL;
	if (thread->task != task || thread->changes != *changes ||
		(HAS(EVENTS_OF_HOST) && thread->process != process)) {
		flush(thread);
		process = process_id();
		thread->changes = *changes;
		thread->task = task;
		thread->process = process;
		image = HAS(EVENTS_OF_HOST) ? NULL : image_of(task);
		thread->is_followed = HAS(EVENTS_OF_HOST) ? process != VALUE(EVENT_PROCESS)
		                                          : image || is_first(process);
		thread->image = image ? *image : 0;
		thread->function = thread->is_noted = 0;
	}
	return thread->is_followed ? thread : NULL;
}

/* Says whether the instruction before this address is that of glibc's syscall(2). */
INLINE bool is_function(uint64_t where)
{
	uint64_t code[FUNCTION_SIZE / sizeof(uint64_t)];

	return read(code, sizeof(code), where - sizeof(code)) == 0 && IS_FUNCTION(code);
}

/*
 * Counts a call with this index, and EVENT_IS_COMPAT for 32-bit code, by code with these registers;
 * NULL: it does not matter where.
 */
INLINE void count(uint64_t index, const struct registers *registers)
{
	const uint64_t where = registers ? registers->INSTRUCTION : 0;
	struct event_thread *thread = find_thread();
	struct event_key key = {.call = (uint32_t)index, .where = where};
	struct event_process maker;

	if (!thread)
		return;
	if (HAS(EVENTS_OF_HOST)) {
		key.maker = (uint32_t)thread->process;
		key.where = HAS(EVENTS_BY_GROUP) ? current_group() : 0;
	} else {
		key.maker = thread->process != VALUE(EVENT_PROCESS);
		key.image = thread->image;
	}
	if (!HAS(EVENTS_OF_HOST) && registers && !(index & EVENT_IS_COMPAT)) {
		if (thread->function != where && (!thread->count || thread->key.where != where) &&
			is_function(where))
			thread->function = where;
		if (thread->function == where) {
			key.call |= EVENT_BY_FUNCTION;
			key.where = return_address(registers);
		}
	}
	if (thread->key.where != key.where || thread->key.call != key.call ||
		thread->key.maker != key.maker || thread->key.image != key.image) {
		flush(thread);
		thread->key = key;
	}
	thread->count++;
	if (thread->is_noted)
		return;
	thread->is_noted = 1;
	maker.image = key.image;
	maker.group = key.where;
	read_name(maker.name, sizeof(maker.name));
	key.call = (uint32_t)thread->process;
	insert(VALUE(EVENT_PROCESSES), &key.call, &maker, BPF_ANY);
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
		follow(current_task(), 0);
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
	count(index | (is_compat ? EVENT_IS_COMPAT : 0), &registers);
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
		count(*wanted >> EVENT_INDEX_SHIFT & (EVENT_INDEXES - 1), NULL);
	return 0;
}

#endif

/* sched_process_fork: the thread that forks, and the new one, before it runs. */
int at_fork(const uint64_t *arguments)
{
	const uint64_t *image = image_of(arguments[0]);

	/* A program begins with its execve(2). */
	if (image || is_first(process_id()))
		follow(arguments[1], image ? *image : 0);
	return 0;
}

/* sched_process_exec: the thread, which is the only one of its process. */
int at_exec(const uint64_t *arguments)
{
	if (image_of(arguments[0]) || is_first(process_id()))
		follow(arguments[0], nanoseconds() << EVENT_IMAGE_SHIFT | process_id());
	return 0;
}

/* sched_process_exit: the thread. The structure of another one may get the address. */
int at_exit(const uint64_t *arguments)
{
	const uint64_t task = arguments[0];

	if (remove(VALUE(EVENT_FOLLOWED), &task) == 0)
		raise(EVENT_CHANGES);
	return 0;
}

/* Says whether this is code of the vDSO: all processes have the same. */
INLINE bool is_in_vdso(uint64_t address)
{
	const uint32_t all = 0;
	const uint64_t in_page = address & (EVENT_VDSO_PAGE - 1);
	const unsigned char *vdso = look_up(VALUE(EVENT_VDSO), &all);
	uint64_t code[EVENT_VDSO_WORDS];

	if (!vdso || read(code, sizeof(code), address) != 0)
		return false;
	vdso += in_page;
#pragma unroll
	for (int page = 0; page < EVENT_VDSO_PAGES; page++, vdso += EVENT_VDSO_PAGE) {
		const uint64_t *words = (const uint64_t *)vdso;

		if (words[0] == code[0] && words[1] == code[1] && words[2] == code[2] &&
			words[3] == code[3])
			return true;
	}
	return false;
}

/*
 * The cpu-clock: the registers of what runs. Samples for which it returns 1 are kept with their
 * stacks: those in the vDSO of the program that ran at the begin.
 */
int at_sample(const uint64_t *registers)
{
	const uint64_t process = process_id(), mode = registers[SAMPLED_MODE], *image;

	if (HAS(EVENTS_OF_HOST) ? process == VALUE(EVENT_PROCESS)
				: !image_of(current_task()) && !is_first(process))
		return 0;
	raise(EVENT_SAMPLES);
	if (process != VALUE(EVENT_PROCESS))
		raise(EVENT_SAMPLES_OF_OTHERS);
	if (!IS_USER_MODE(mode))
		return 0;
	if (IS_COMPAT_MODE(mode)) {
		raise(EVENT_SAMPLES_COMPAT);
		return 0;
	}
	if (!is_in_vdso(registers[SAMPLED_INSTRUCTION]))
		return 0;
	count(EVENT_IN_VDSO, NULL);
	image = image_of(current_task());
	return HAS(EVENTS_OF_PROCESS) && (!image || !*image);
}
