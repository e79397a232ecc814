/* SPDX-License-Identifier: MIT */
/*
 * The oracle of the live tests and of the lab: does reading the clock enter the kernel here?
 *
 * It shares no code and no library with vdsocheck, so that both can only be wrong for
 * different reasons, and it counts twice:
 *
 *   seccomp  a forked child under a raw BPF filter that makes every system call that reads a
 *            clock fail with MAGIC_ERRNO: a call that fails so entered the kernel
 *   ptrace   a second child that stops at each of its system calls; shared memory has the call
 *            that it is making, so that no register is read
 *
 *     oracle [--changing] [--table]
 *
 * --changing: the environment changes all the time; spread the calls over many changes.
 *
 * Prints one line of JSON, or with --table a line "CALL CLOCK PATH ENTERED CALLS" for each call
 * and path. The exit status is 0 if a line was printed, 125 if a table would be empty because
 * neither count could be taken, and 1 if the two counts differ or a call crashed.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAGIC_ERRNO 3777 /* no kernel answers this; the filter's limit is 4095 */
#define SECCOMP_ATTEMPTS 1000
#define PTRACE_ATTEMPTS 200
#define PAUSE_NS 50000 /* between attempts where the environment changes all the time */
#define NOTHING_COUNTED 125
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- which machine this was built for ---------------------------------- */

#if defined(__x86_64__)
#define ARCH_NAME "x86_64"
#define ARCH_AUDIT AUDIT_ARCH_X86_64
#elif defined(__i386__)
#define ARCH_NAME "i386"
#define ARCH_AUDIT AUDIT_ARCH_I386
#elif defined(__aarch64__)
#define ARCH_NAME "aarch64"
#define ARCH_AUDIT AUDIT_ARCH_AARCH64
#elif defined(__arm__)
#define ARCH_NAME "arm"
#define ARCH_AUDIT AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH_NAME "riscv64"
#define ARCH_AUDIT AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCH_NAME "ppc64le"
#define ARCH_AUDIT AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define ARCH_NAME "s390x"
#define ARCH_AUDIT AUDIT_ARCH_S390X
#elif defined(__loongarch64)
#define ARCH_NAME "loongarch64"
#ifndef AUDIT_ARCH_LOONGARCH64 /* headers before 5.19 */
#define AUDIT_ARCH_LOONGARCH64 (258 | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE)
#endif
#define ARCH_AUDIT AUDIT_ARCH_LOONGARCH64
#else
#define ARCH_NAME "other" /* counts by ptrace alone */
#endif

/* Reads the counter that the vDSO would read. */
#if defined(__x86_64__) || defined(__i386__)
#define HAVE_COUNTER 1
static void read_counter(void)
{
	__asm__ __volatile__("rdtsc" ::: "eax", "edx");
}
#elif defined(__aarch64__)
#define HAVE_COUNTER 1
static void read_counter(void)
{
	uint64_t value;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(value));
}
#else
#define HAVE_COUNTER 0
static void read_counter(void)
{
}
#endif

static const long time_syscalls[] = {
#ifdef __NR_clock_gettime
	__NR_clock_gettime,
#endif
#ifdef __NR_clock_gettime64
	__NR_clock_gettime64,
#endif
#ifdef __NR_gettimeofday
	__NR_gettimeofday,
#endif
#ifdef __NR_time
	__NR_time,
#endif
};

/* ---- the vDSO's functions, found by this file's own reading of ELF ------ */

static uintptr_t vdso_base(void)
{
	return (uintptr_t)getauxval(AT_SYSINFO_EHDR);
}

struct image {
	uintptr_t bias; /* what to add to an address in the image */
	const ElfW(Sym) * symbols;
	const char *strings;
	size_t count;
};

static const ElfW(Dyn) * image_locate(uintptr_t base, struct image *image)
{
	const ElfW(Ehdr) *header = (const void *)base;
	const ElfW(Phdr) *segment = (const void *)(base + header->e_phoff);
	const ElfW(Dyn) *dynamic = NULL;
	size_t i;

	for (i = 0; i < header->e_phnum; i++) {
		if (segment[i].p_type == PT_LOAD)
			image->bias = base + segment[i].p_offset - segment[i].p_vaddr;
		else if (segment[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(base + segment[i].p_offset);
	}
	return dynamic;
}

/* The word after the last symbol's: a chain ends at a hash whose lowest bit is set. */
static size_t count_by_gnu_hash(const uint32_t *table)
{
	uint32_t buckets = table[0], first = table[1], bloom_words = table[2], last = 0, i;
	const uint32_t *bucket = table + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(*table));
	const uint32_t *chain = bucket + buckets;

	for (i = 0; i < buckets; i++) {
		if (bucket[i] > last)
			last = bucket[i];
	}
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

/* One of both tables is in every vDSO; DT_HASH's words are 8 bytes wide on s390x. */
static size_t count_by_hash(const void *table)
{
#if defined(__s390x__)
	return (size_t)((const uint64_t *)table)[1];
#else
	return ((const uint32_t *)table)[1];
#endif
}

static int image_read(uintptr_t base, struct image *image)
{
	const ElfW(Dyn) *entry = image_locate(base, image);
	const void *hash = NULL, *gnu_hash = NULL;

	for (; entry && entry->d_tag != DT_NULL; entry++) {
		const void *at = (const void *)(image->bias + entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			image->symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			image->strings = at;
		else if (entry->d_tag == DT_HASH)
			hash = at;
		else if (entry->d_tag == DT_GNU_HASH)
			gnu_hash = at;
	}
	if (!image->symbols || !image->strings || (!hash && !gnu_hash))
		return -1;
	image->count = gnu_hash ? count_by_gnu_hash(gnu_hash) : count_by_hash(hash);
	return 0;
}

static uintptr_t image_symbol(const struct image *image, const char *name)
{
	size_t i;

	for (i = 0; i < image->count; i++) {
		const ElfW(Sym) *symbol = &image->symbols[i];

		if (symbol->st_shndx != SHN_UNDEF &&
			strcmp(image->strings + symbol->st_name, name) == 0)
			return image->bias + symbol->st_value;
	}
	return 0;
}

static uintptr_t vdso_function(const char *const names[])
{
	struct image image = {0};

	if (!vdso_base() || image_read(vdso_base(), &image) != 0)
		return 0;
	for (; *names; names++) {
		uintptr_t address = image_symbol(&image, *names);

		if (address)
			return address;
	}
	return 0;
}

/* ---- the calls under test ----------------------------------------------- */

enum { GETTIMEOFDAY, REALTIME, MONOTONIC, CALLS };
enum { BY_VDSO, BY_LIBC, PATHS };

static const char *const call_names[CALLS] = {
	"gettimeofday null", "clock_gettime CLOCK_REALTIME", "clock_gettime CLOCK_MONOTONIC"};
static const char *const path_names[PATHS] = {"vdso", "libc"};
static const clockid_t call_clocks[CALLS] = {0, CLOCK_REALTIME, CLOCK_MONOTONIC};

static int (*vdso_clock_gettime)(clockid_t, void *);
static int (*vdso_gettimeofday)(void *, void *);

static void find_vdso_functions(void)
{
	static const char *const clock_names[] = {
		"__vdso_clock_gettime64", "__vdso_clock_gettime", "__kernel_clock_gettime", NULL};
	static const char *const day_names[] = {
		"__vdso_gettimeofday", "__kernel_gettimeofday", NULL};
	uintptr_t address;

	address = vdso_function(clock_names);
	memcpy(&vdso_clock_gettime, &address, sizeof(address));
	address = vdso_function(day_names);
	memcpy(&vdso_gettimeofday, &address, sizeof(address));
}

static int path_exists(int call, int path)
{
	if (path == BY_LIBC)
		return 1;
	return call == GETTIMEOFDAY ? vdso_gettimeofday != NULL : vdso_clock_gettime != NULL;
}

/* Makes one call; returns the error it reported as a positive number, or 0. */
static int make_call(int call, int path)
{
	uint64_t space[8]; /* room for any timespec or timeval */
	int result;

	if (path == BY_VDSO) {
		result = call == GETTIMEOFDAY ? vdso_gettimeofday(space, NULL)
		                              : vdso_clock_gettime(call_clocks[call], space);
		return result < 0 ? -result : result; /* powerpc: positive */
	}
	/* errno decides: musl's gettimeofday() reports no error but leaves it behind. */
	errno = 0;
	if (call == GETTIMEOFDAY)
		gettimeofday((struct timeval *)space, NULL);
	else
		clock_gettime(call_clocks[call], (struct timespec *)space);
	return errno;
}

/* ---- what the children report to the parent ---------------------------- */

struct counts {
	int attempts;
	int entered;
};

struct shared {
	volatile int ready;   /* the child got as far as its first call */
	volatile int calling; /* it is inside a call right now */
	volatile int call, path, attempt;
	volatile int failed_errno;
	struct counts counts[CALLS][PATHS];
};

struct finding {
	struct shared *shared;
	int taken;        /* the child ran to its end */
	int crash_signal; /* ... or died of this inside a call */
	char reason[120];
};

static struct shared *map_shared(void)
{
	void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void finding_conclude(struct finding *finding, const char *what, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		finding->taken = 1;
		return;
	}
	if (WIFSIGNALED(status) && finding->shared->calling)
		finding->crash_signal = WTERMSIG(status);
	if (WIFSIGNALED(status))
		snprintf(finding->reason, sizeof(finding->reason), "%s: child killed by signal %d",
			what, WTERMSIG(status));
	else
		snprintf(finding->reason, sizeof(finding->reason), "%s: %s", what,
			strerror(finding->shared->failed_errno));
}

static int changing; /* --changing */

/* Spreads the attempts over many changes, so that each count sees both sides. */
static void pause_if_changing(void)
{
	if (changing)
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static void each_call(struct shared *shared, int attempts, int count_errno)
{
	int call, path, i;

	shared->ready = 1;
	for (call = 0; call < CALLS; call++) {
		for (path = 0; path < PATHS; path++) {
			struct counts *counts = &shared->counts[call][path];

			if (!path_exists(call, path))
				continue;
			shared->call = call;
			shared->path = path;
			for (i = 0; i < attempts; i++) {
				int error;

				shared->attempt = i + 1;
				shared->calling = 1;
				error = make_call(call, path);
				shared->calling = 0;
				counts->attempts++;
				if (count_errno && error == MAGIC_ERRNO)
					counts->entered++;
				pause_if_changing();
			}
		}
	}
}

/* ---- first count: seccomp ------------------------------------------------ */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_NOT(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))

#ifdef ARCH_AUDIT
static int install_filter(void)
{
	struct sock_filter code[5 + 2 * ARRAY_SIZE(time_syscalls)];
	struct sock_fprog program = {.filter = code};
	unsigned short n = 0;
	size_t i;

	code[n++] = (struct sock_filter)LOAD(arch);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_AUDIT, 1, 0);
	code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)LOAD(nr);
	for (i = 0; i < ARRAY_SIZE(time_syscalls); i++) {
		code[n++] = (struct sock_filter)IF_NOT((uint32_t)time_syscalls[i]);
		code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ERRNO | MAGIC_ERRNO);
	}
	code[n++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
	program.len = n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
#else
static int install_filter(void)
{
	errno = ENOSYS;
	return -1;
}
#endif

/* A filter that does nothing would make every host look fast: try it first. */
static int filter_bites(void)
{
	uint64_t space[8];

	return syscall(__NR_clock_gettime, CLOCK_REALTIME, space) == -1 && errno == MAGIC_ERRNO;
}

static void seccomp_child(struct shared *shared)
{
	if (install_filter() != 0) {
		shared->failed_errno = errno;
		_exit(1);
	}
	if (!filter_bites()) {
		shared->failed_errno = EPROTO;
		_exit(1);
	}
	each_call(shared, SECCOMP_ATTEMPTS, 1);
	_exit(0);
}

static void count_by_seccomp(struct finding *finding)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		seccomp_child(finding->shared);
	if (child < 0 || waitpid(child, &status, 0) != child) {
		snprintf(finding->reason, sizeof(finding->reason), "fork: %s", strerror(errno));
		return;
	}
	finding_conclude(finding, "seccomp", status);
}

/* ---- second count: ptrace ------------------------------------------------ */

static void ptrace_child(struct shared *shared)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
		shared->failed_errno = errno;
		_exit(1);
	}
	raise(SIGSTOP);
	/* The counter is tried as the filter is: this one has to be seen. */
	shared->call = CALLS;
	shared->calling = 1;
	syscall(__NR_getppid);
	shared->calling = 0;
	each_call(shared, PTRACE_ATTEMPTS, 0);
	_exit(0);
}

struct count {
	int entering; /* stops alternate between entry and exit */
	int seen_test, seen_call, seen_path, seen_attempt;
};

static void note_stop(struct shared *shared, struct count *count)
{
	count->entering = !count->entering;
	if (!count->entering || !shared->calling)
		return;
	if (shared->call == CALLS) {
		count->seen_test = 1;
		return;
	}
	if (count->seen_call == shared->call && count->seen_path == shared->path &&
		count->seen_attempt == shared->attempt)
		return; /* one attempt, two system calls: it entered once */
	count->seen_call = shared->call;
	count->seen_path = shared->path;
	count->seen_attempt = shared->attempt;
	shared->counts[shared->call][shared->path].entered++;
}

/* Runs the child from stop to stop until it is gone; returns its wait status. */
static int follow(pid_t child, struct shared *shared, struct count *count)
{
	int status = 0;
	long signal_to_pass = 0;

	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		signal_to_pass = 0;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			note_stop(shared, count);
		else if (WSTOPSIG(status) == SIGSTOP)
			ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(long)PTRACE_O_TRACESYSGOOD);
		else
			signal_to_pass = WSTOPSIG(status);
		if (ptrace(PTRACE_SYSCALL, child, NULL, (void *)signal_to_pass) != 0) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			break;
		}
	}
	return status;
}

static void count_by_ptrace(struct finding *finding)
{
	struct count count = {.seen_call = -1};
	int status;
	pid_t child = fork();

	if (child == 0)
		ptrace_child(finding->shared);
	if (child < 0) {
		snprintf(finding->reason, sizeof(finding->reason), "fork: %s", strerror(errno));
		return;
	}
	status = follow(child, finding->shared, &count);
	finding_conclude(finding, "ptrace", status);
	if (finding->taken && !count.seen_test) {
		finding->taken = 0;
		snprintf(finding->reason, sizeof(finding->reason), "ptrace: stops are not seen");
	}
}

/* ---- what a counter read costs ------------------------------------------- */

static double now_ns(void)
{
	long space[4]; /* the system call's own timespec: two longs */

	syscall(__NR_clock_gettime, CLOCK_MONOTONIC, space);
	return (double)space[0] * 1e9 + (double)space[1];
}

static void enter_kernel(void)
{
	syscall(__NR_getppid);
}

/* Long enough for a clock that moves only every 4 ms. */
static double cost_ns(void (*work)(void))
{
	double begin = now_ns(), spent = 0;
	long done = 0;
	int i;

	do {
		for (i = 0; i < 1000; i++)
			work();
		done += 1000;
		spent = now_ns() - begin;
	} while (spent < 40e6 && done < 10000000);
	return spent / (double)done;
}

struct cost {
	volatile double counter_ns, syscall_ns;
};

/* In a child, as the counter may be switched off for this process. */
static void measure_cost(struct cost *cost)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		cost->syscall_ns = cost_ns(enter_kernel);
		if (HAVE_COUNTER)
			cost->counter_ns = cost_ns(read_counter);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, &status, 0);
}

/* ---- the truth ------------------------------------------------------------ */

struct truth {
	const char *word;
	char reason[320];
};

/* "none", "some" or "all": the two counts make different numbers of calls. */
static int share(const struct counts *counts)
{
	return counts->entered == 0 ? 0 : counts->entered < counts->attempts ? 1 : 2;
}

static int counts_agree(const struct finding *a, const struct finding *b, struct truth *truth)
{
	int call, path;

	for (call = 0; call < CALLS; call++) {
		for (path = 0; path < PATHS; path++) {
			const struct counts *s = &a->shared->counts[call][path];
			const struct counts *p = &b->shared->counts[call][path];

			if (share(s) == share(p))
				continue;
			snprintf(truth->reason, sizeof(truth->reason),
				"%s by %s: seccomp saw %d of %d, ptrace %d of %d", call_names[call],
				path_names[path], s->entered, s->attempts, p->entered, p->attempts);
			return 0;
		}
	}
	return 1;
}

/* What the vDSO's function does decides; where there is none, what libc does. */
static const char *word_for(const struct finding *finding)
{
	int call, some = 0, all = 0;

	for (call = 0; call < CALLS; call++) {
		int path = path_exists(call, BY_VDSO) ? BY_VDSO : BY_LIBC;

		some += share(&finding->shared->counts[call][path]) == 1;
		all += share(&finding->shared->counts[call][path]) == 2;
	}
	if (some)
		return "sometimes";
	if (all)
		return vdso_base() ? "fallback" : "no-vdso";
	return "ok";
}

static void find_truth(const struct finding *seccomp, const struct finding *traced,
	const struct cost *cost, struct truth *truth)
{
	truth->word = "cannot-tell";
	if (seccomp->crash_signal || traced->crash_signal) {
		truth->word = "crash";
		snprintf(truth->reason, sizeof(truth->reason), "a call died of signal %d",
			seccomp->crash_signal ? seccomp->crash_signal : traced->crash_signal);
		return;
	}
	if (!seccomp->taken && !traced->taken) {
		snprintf(truth->reason, sizeof(truth->reason), "%s; %s", seccomp->reason,
			traced->reason);
		return;
	}
	if (seccomp->taken && traced->taken && !counts_agree(seccomp, traced, truth))
		return;
	truth->word = word_for(seccomp->taken ? seccomp : traced);
	if (strcmp(truth->word, "ok") == 0 && cost->counter_ns > 0.5 * cost->syscall_ns)
		truth->word = "slow";
}

/* ---- the line --------------------------------------------------------------- */

static void print_reason(const char *key, const char *reason)
{
	if (reason[0])
		printf(",\"%s\":\"%s\"", key, reason); /* our own words: nothing to escape */
	else
		printf(",\"%s\":null", key);
}

static void print_call(int call, const struct finding *seccomp, const struct finding *traced)
{
	int path;

	printf("%s{\"call\":\"%s\"", call ? "," : "", call_names[call]);
	for (path = 0; path < PATHS; path++) {
		const struct counts *s = &seccomp->shared->counts[call][path];
		const struct counts *p = &traced->shared->counts[call][path];

		printf(",\"%s\":{\"seccomp\":[%d,%d],\"ptrace\":[%d,%d]}", path_names[path],
			s->entered, s->attempts, p->entered, p->attempts);
	}
	printf("}");
}

static void print_cost(const char *key, double value)
{
	if (value > 0)
		printf(",\"%s\":%.1f", key, value);
	else
		printf(",\"%s\":null", key);
}

static void print_json(const struct truth *truth, const struct finding *seccomp,
	const struct finding *traced, const struct cost *cost)
{
	int call;

	printf("{\"truth\":\"%s\"", truth->word);
	print_reason("reason", truth->reason);
	printf(",\"arch\":\"%s\",\"vdso\":%s,\"calls\":[", ARCH_NAME,
		vdso_base() ? "true" : "false");
	for (call = 0; call < CALLS; call++)
		print_call(call, seccomp, traced);
	printf("]");
	print_reason("seccomp_refused", seccomp->reason);
	print_reason("ptrace_refused", traced->reason);
	print_cost("counter_ns", cost->counter_ns);
	print_cost("syscall_ns", cost->syscall_ns);
	printf("}\n");
}

/* The status of a table: it has no place for a reason. */
static int print_table(const struct truth *truth, const struct finding *counted)
{
	int call, path;

	if (truth->reason[0]) {
		fprintf(stderr, "oracle: %s\n", truth->reason);
		return counted ? 1 : NOTHING_COUNTED;
	}
	for (path = 0; path < PATHS; path++) {
		for (call = 0; call < CALLS; call++) {
			const struct counts *counts = &counted->shared->counts[call][path];

			if (path_exists(call, path))
				printf("%s %s %d %d\n", call_names[call], path_names[path],
					counts->entered, counts->attempts);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct finding seccomp = {.shared = map_shared()};
	struct finding traced = {.shared = map_shared()};
	struct cost *cost = mmap(
		NULL, sizeof(*cost), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct truth truth = {0};
	int table = 0, status = 0, i;

	if (!seccomp.shared || !traced.shared || cost == MAP_FAILED) {
		perror("oracle: mmap");
		return 1;
	}
	for (i = 1; i < argc; i++) {
		changing |= strcmp(argv[i], "--changing") == 0;
		table |= strcmp(argv[i], "--table") == 0;
	}
	find_vdso_functions();
	count_by_seccomp(&seccomp);
	count_by_ptrace(&traced);
	measure_cost(cost);
	find_truth(&seccomp, &traced, cost, &truth);
	if (table)
		status = print_table(&truth, seccomp.taken  ? &seccomp
					     : traced.taken ? &traced
							    : NULL);
	else
		print_json(&truth, &seccomp, &traced, cost);
	return fflush(stdout) == 0 ? status : 1;
}
