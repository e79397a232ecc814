/* SPDX-License-Identifier: MIT */
/*
 * The CPU's counter by its own instruction: the timebase of all timing, and the floor of what a
 * clock of the vDSO can cost. One block for each architecture.
 */
#include "measure/timebase.h"

#include "base/child.h"
#include "measure/loop.h"

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

#define COUNTER_NAME "rdtsc"

static inline uint64_t read_bare(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* Orders rdtsc after earlier loads and instructions on Intel, and on AMD since 2018. */
#define ORDER() __asm__ volatile("lfence" ::: "memory")

#define RDTSCP_LEAF 0x80000001u
#define RDTSCP_BIT (1u << 27)

/*
 * rdtsc_ordered() of the kernel (asm/msr.h, 5.0 to 7.x) chooses the same way. It is asked once:
 * under a hypervisor cpuid takes as long as thousands of reads.
 */
static bool has_rdtscp(void)
{
	static int answer = -1;
	unsigned a, b, c, d = 0;

	if (answer < 0)
		answer = __get_cpuid(RDTSCP_LEAF, &a, &b, &c, &d) && (d & RDTSCP_BIT);
	return answer;
}

static LOOP_FUNCTION void repeat_rdtscp(size_t count)
{
	LOOP_REPEAT(__asm__ volatile("rdtscp" ::: "eax", "edx", "ecx", "memory"), count);
}

#elif defined(__aarch64__)

#define COUNTER_NAME "cntvct_el0"
#define READ "mrs %0, cntvct_el0"
#define ORDER() __asm__ volatile("isb" ::: "memory")

#elif defined(__arm__) && defined(__ARM_ARCH) && __ARM_ARCH >= 7

#define COUNTER_NAME "cntvct"
#define READ "mrrc p15, 1, %Q0, %R0, c14"
#define ORDER() __asm__ volatile("isb" ::: "memory")

#elif defined(__riscv) && __riscv_xlen == 64

#define COUNTER_NAME "rdtime"
#define READ "rdtime %0"
#define ORDER() __asm__ volatile("fence" ::: "memory")

#elif defined(__powerpc64__)

#define COUNTER_NAME "mftb"
#define READ "mfspr %0, 268"
#define ORDER() __asm__ volatile("isync" ::: "memory")

#elif defined(__s390x__)

#define COUNTER_NAME "stckf"

static inline uint64_t read_bare(void)
{
	uint64_t ticks;

	__asm__ volatile("stckf %0" : "=Q"(ticks) : : "cc");
	return ticks;
}

#define ORDER() __asm__ volatile("" ::: "memory")

#elif defined(__loongarch64)

#define COUNTER_NAME "rdtime.d"
#define READ "rdtime.d %0, $zero"
#define ORDER() __asm__ volatile("dbar 0" ::: "memory")

#else

#define COUNTER_NAME ""
#define READ ""
#define ORDER() __asm__ volatile("" ::: "memory")

#endif

#if defined(READ)
static inline uint64_t read_bare(void)
{
	uint64_t ticks = 0;

	__asm__ volatile(READ : "=r"(ticks));
	return ticks;
}
#endif

/* The slowest counters known tick every few hundred ns: they move within this many reads. */
#define PROBE_READS 100000

const char *counter_name(void)
{
	return COUNTER_NAME;
}

uint64_t counter_read_ordered(void)
{
	uint64_t ticks;

	ORDER();
	ticks = read_bare();
	ORDER();
	return ticks;
}

LOOP_FUNCTION void counter_repeat(size_t count)
{
	LOOP_REPEAT(read_bare(), count);
}

static inline void order_and_read(void)
{
	ORDER();
	read_bare();
}

static LOOP_FUNCTION void repeat_order_and_read(size_t count)
{
	LOOP_REPEAT(order_and_read(), count);
}

void counter_repeat_ordered(size_t count)
{
#if defined(__x86_64__) || defined(__i386__)
	if (has_rdtscp()) {
		repeat_rdtscp(count);
		return;
	}
#endif
	repeat_order_and_read(count);
}

static void read_until_it_moves(void *moved)
{
	uint64_t first = read_bare();

	for (int i = 0; i < PROBE_READS && !*(volatile int *)moved; i++)
		*(volatile int *)moved = read_bare() != first;
}

bool counter_probe(struct fact *fact)
{
	int moved = 0, signal = 0;

	if (*COUNTER_NAME)
		signal = fault_guard(read_until_it_moves, &moved);
	if (!*COUNTER_NAME)
		fact_set(fact, FACT_ABSENT, "no counter known for this architecture");
	else if (signal)
		fact_set(
			fact, FACT_FAILED, COUNTER_NAME " ends with %s", fault_signal_name(signal));
	else if (!moved)
		fact_set(fact, FACT_FAILED, COUNTER_NAME " does not advance");
	else
		fact_set_known(fact);
	return fact_is_known(fact);
}
