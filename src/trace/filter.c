/* SPDX-License-Identifier: MIT */
/*
 * The filter is written by hand, not by libseccomp, which has no way to give each clock a value
 * of its own and all other clocks another one.
 */
#include "filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

/* The low half of the first argument. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define ARGUMENT_AT (offsetof(struct seccomp_data, args) + sizeof(uint32_t))
#else
#define ARGUMENT_AT offsetof(struct seccomp_data, args)
#endif

struct writer {
	struct sock_filter *filter;
	size_t count;
};

static void put(struct writer *writer, struct sock_filter instruction)
{
	writer->filter[writer->count++] = instruction;
}

static void put_load(struct writer *writer, size_t at)
{
	put(writer, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at));
}

static void put_return(struct writer *writer, uint32_t value)
{
	put(writer, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

/* Goes on where the value loaded is this one, else skips `skip` instructions. */
static void put_unless_skip(struct writer *writer, uint32_t value, size_t skip)
{
	put(writer,
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, (uint8_t)skip));
}

static void put_call(struct writer *writer, const struct trace_plan *plan,
	const struct trace_call *call, enum trace_arch arch)
{
	uint32_t row = (uint32_t)(call->row + (arch == TRACE_COMPAT ? TRACE_ROW_MAX : 0));
	size_t at = writer->count;

	put_unless_skip(writer, (uint32_t)call->number[arch], 0);
	if (call->takes_clock)
		put_load(writer, ARGUMENT_AT);
	for (uint32_t i = 0; call->takes_clock && i < TRACE_CLOCK_COUNT - 1; i++) {
		put_unless_skip(writer, (uint32_t)plan->rows[call->row + i].clock_id, 1);
		put_return(writer, SECCOMP_RET_TRACE | (row + i));
	}
	put_return(writer,
		SECCOMP_RET_TRACE | (row + (call->takes_clock ? TRACE_CLOCK_COUNT - 1 : 0)));
	writer->filter[at].jf = (uint8_t)(writer->count - at - 1);
}

/* Jumps on a condition reach 255 instructions, this one reaches all. */
static void put_arch(struct writer *writer, const struct trace_plan *plan, enum trace_arch arch)
{
	size_t at;

	put_load(writer, offsetof(struct seccomp_data, arch));
	put(writer,
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, plan->arch[arch], 1, 0));
	at = writer->count;
	put(writer, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
	put_load(writer, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < plan->call_count; i++) {
		if (plan->calls[i].number[arch] >= 0)
			put_call(writer, plan, &plan->calls[i], arch);
	}
	put_return(writer, SECCOMP_RET_ALLOW);
	writer->filter[at].k = (uint32_t)(writer->count - at - 1);
}

size_t trace_filter_make(const struct trace_plan *plan, struct sock_filter filter[TRACE_FILTER_MAX])
{
	struct writer writer = {.filter = filter};

	for (int arch = 0; arch < TRACE_ARCH_COUNT; arch++) {
		if (plan->arch[arch])
			put_arch(&writer, plan, (enum trace_arch)arch);
	}
	put_return(&writer, SECCOMP_RET_ALLOW);
	return writer.count;
}

/*
 * With CAP_SYS_ADMIN no_new_privs is not needed, and set-user-ID programs run as they would
 * otherwise; without it a tracer takes their privileges away in any case.
 */
int trace_filter_set(struct sock_filter *filter, size_t count)
{
	struct sock_fprog program = {.len = (unsigned short)count, .filter = filter};

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0)
		return 0;
	if (errno != EACCES)
		return errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		return errno;
	return 0;
}
