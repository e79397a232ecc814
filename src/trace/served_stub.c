/* SPDX-License-Identifier: MIT */
/*
 * Has the machine code that counts a call which the vDSO serves. A stub is put in front of each
 * function: it finds the entry for its call, clock and return address in the table of served.h,
 * adds one to it, and jumps to the function of the real vDSO. It makes no system call, and
 * changes only registers that a function may change.
 *
 * As if this host fell back, it jumps to a system call instead, and counts those that a seccomp
 * filter refuses: with EPERM, or ENOSYS where it shall look like an older kernel.
 *
 * A stub ends with words that served_stub_make() fills in.
 */
#include <seccomp.h>
#include <string.h>

#include "served.h"

/* The assembler needs the numbers as text. */
#define WORD_OF(value) #value
#define NUMBER(value) WORD_OF(value)
#define OTHER NUMBER(SERVED_CLOCK_OTHER)
#define PROBES NUMBER(SERVED_PROBES)
#define FRAMES_AT NUMBER(SERVED_FRAMES_AT)
#define SHARDS_AT NUMBER(SERVED_SHARDS_AT)

/* The code of a stub; NULL: this architecture has none. */
struct template
{
	const unsigned char *clock, *plain, *call;
};

/* The last 40 bytes of a stub. */
struct words {
	uint64_t call, table, target;
	uint64_t number, refused; /* for the system call: its number, and the address of a count */
};

#define WORDS_AT NUMBER(SERVED_STUB_SIZE) " - 40"

#if defined(__x86_64__)
__asm__(".pushsection .rodata\n"
	".globl served_clock, served_plain, served_call\n"
	".hidden served_clock, served_plain, served_call\n"
	".p2align 4\n"
	"served_clock:\n"
	"	endbr64\n"
	"	mov	%edi, %eax\n"
	"	mov	$" OTHER ", %ecx\n"
	"	cmp	%ecx, %eax\n"
	"	cmova	%ecx, %eax\n"
	"	jmp	1f\n"
	"	.p2align 4\n"
	"served_plain:\n"
	"	endbr64\n"
	"	xor	%eax, %eax\n"
	"1:	mov	.Lwords(%rip), %rcx\n"
	"	or	%rcx, %rax\n" /* the call */
	"	shl	$48, %rax\n"
	"	shl	$2, %rcx\n" /* each call has 128 bytes of frames */
	"	add	.Lwords+8(%rip), %rcx\n"
	"	mov	%rsp, %r11\n"
	"	mov	(%r11), %r9\n"
	"6:	mov	" FRAMES_AT "+8(%rcx), %r10d\n"
	"	test	%r10d, %r10d\n"
	"	jz	8f\n"
	"	mov	%r9, %r8\n"
	"	sub	" FRAMES_AT "(%rcx), %r8\n"
	"	cmp	%r10, %r8\n"
	"	jae	7f\n"
	"	movzwl	" FRAMES_AT "+12(%rcx), %r8d\n"
	"	add	%r8, %r11\n"
	"	mov	(%r11), %r9\n"
	"7:	add	$16, %rcx\n"
	"	jmp	6b\n"
	"8:	or	%r9, %rax\n" /* the key */
	"	movabs	$0x9e3779b97f4a7c15, %rcx\n"
	"	mov	%rsp, %r10\n"
	"	shr	$16, %r10\n"
	"	imul	%rcx, %r10\n"
	"	shr	$58, %r10\n" /* the shard: threads have stacks of their own */
	"	shl	$15, %r10\n"
	"	add	.Lwords+8(%rip), %r10\n"
	"	imul	%rax, %rcx\n"
	"	shr	$54, %rcx\n"
	"	shl	$4, %rcx\n"
	"	lea	" SHARDS_AT "(%r10, %rcx), %r10\n"
	"	mov	$" PROBES ", %r9d\n"
	"2:	mov	(%r10), %r8\n"
	"	cmp	%rax, %r8\n"
	"	je	3f\n"
	"	test	%r8, %r8\n"
	"	jnz	5f\n"
	"	mov	%rax, %r8\n"
	"	xor	%eax, %eax\n"
	"	lock cmpxchg %r8, (%r10)\n"
	"	mov	%r8, %rax\n"
	"	jne	2b\n" /* another thread took the entry */
	"3:	lock incq 8(%r10)\n"
	"	jmp	*.Lwords+16(%rip)\n"
	"5:	add	$16, %r10\n"
	"	dec	%r9d\n"
	"	jnz	2b\n"
	"	shr	$48, %rax\n"
	"	mov	.Lwords+8(%rip), %r10\n"
	"	lock incq (%r10, %rax, 8)\n"
	"	jmp	*.Lwords+16(%rip)\n"
	"served_call:\n"
	"	endbr64\n"
	"	mov	.Lwords+24(%rip), %eax\n"
	"	syscall\n"
	"	cmp	$-1, %rax\n"
	"	je	1f\n"
	"	cmp	$-38, %rax\n"
	"	je	1f\n"
	"	ret\n"
	"1:	mov	.Lwords+32(%rip), %rcx\n"
	"	lock incq (%rcx)\n"
	"	ret\n"
	"	.org	served_clock + " WORDS_AT "\n"
	".Lwords:	.quad 0, 0, 0, 0, 0\n"
	".popsection\n");

#elif defined(__aarch64__)
__asm__(".pushsection .rodata\n"
	".globl served_clock, served_plain, served_call\n"
	".hidden served_clock, served_plain, served_call\n"
	".p2align 4\n"
	"served_clock:\n"
	"	hint	#34\n" /* bti c */
	"	mov	w10, #" OTHER "\n"
	"	cmp	w0, w10\n"
	"	csel	w9, w0, w10, lo\n"
	"	b	1f\n"
	"	nop\n"
	"	.p2align 4\n"
	"served_plain:\n"
	"	hint	#34\n"
	"	mov	x9, #0\n"
	"1:	ldr	x10, .Lwords\n"
	"	orr	x9, x9, x10\n"
	"	ldr	x11, .Lwords+8\n"
	"	add	x10, x11, x10, lsl #2\n" /* each call has 128 bytes of frames */
	"	add	x10, x10, #" FRAMES_AT "\n"
	"	mov	x11, x30\n"
	"	mov	x14, sp\n"
	"6:	and	x11, x11, #0xffffffffffff\n" /* a signature is above */
	"	ldr	w13, [x10, #8]\n"
	"	cbz	w13, 8f\n"
	"	ldr	x12, [x10], #16\n"
	"	sub	x12, x11, x12\n"
	"	cmp	x12, x13\n"
	"	b.hs	6b\n"
	"	ldrh	w12, [x10, #-4]\n"
	"	ldr	x11, [x14, x12]\n"
	"	ldrh	w12, [x10, #-2]\n"
	"	add	x14, x14, x12\n"
	"	b	6b\n"
	"8:	orr	x9, x11, x9, lsl #48\n" /* the key */
	"	ldr	x10, .Lfactor\n"
	"	mov	x11, sp\n"
	"	lsr	x11, x11, #16\n"
	"	mul	x11, x11, x10\n"
	"	lsr	x11, x11, #58\n" /* the shard */
	"	ldr	x13, .Lwords+8\n"
	"	add	x13, x13, #" SHARDS_AT "\n"
	"	add	x13, x13, x11, lsl #15\n"
	"	mul	x12, x9, x10\n"
	"	lsr	x12, x12, #54\n"
	"	add	x13, x13, x12, lsl #4\n"
	"	mov	w14, #" PROBES "\n"
	"2:	ldxr	x11, [x13]\n"
	"	cmp	x11, x9\n"
	"	b.eq	3f\n"
	"	cbnz	x11, 5f\n"
	"	stxr	w12, x9, [x13]\n"
	"	cbnz	w12, 2b\n"
	"3:	add	x13, x13, #8\n"
	"6:	ldxr	x11, [x13]\n"
	"	add	x11, x11, #1\n"
	"	stxr	w12, x11, [x13]\n"
	"	cbnz	w12, 6b\n"
	"	ldr	x16, .Lwords+16\n"
	"	br	x16\n"
	"5:	add	x13, x13, #16\n"
	"	subs	w14, w14, #1\n"
	"	b.ne	2b\n"
	"	ldr	x13, .Lwords+8\n"
	"	lsr	x9, x9, #48\n"
	"	add	x13, x13, x9, lsl #3\n"
	"	b	6b\n"
	"served_call:\n"
	"	hint	#34\n"
	"	ldr	x8, .Lwords+24\n"
	"	svc	#0\n"
	"	cmn	x0, #1\n"
	"	b.eq	1f\n"
	"	cmn	x0, #38\n"
	"	b.eq	1f\n"
	"	ret\n"
	"1:	ldr	x9, .Lwords+32\n"
	"2:	ldxr	x10, [x9]\n"
	"	add	x10, x10, #1\n"
	"	stxr	w11, x10, [x9]\n"
	"	cbnz	w11, 2b\n"
	"	ret\n"
	"	.p2align 3\n"
	".Lfactor:	.quad 0x9e3779b97f4a7c15\n"
	"	.org	served_clock + " WORDS_AT "\n"
	".Lwords:	.quad 0, 0, 0, 0, 0\n"
	".popsection\n");
#endif

#if defined(__x86_64__) || defined(__aarch64__)
extern const unsigned char served_clock[], served_plain[], served_call[];

static const struct template code = {served_clock, served_plain, served_call};
#else
static const struct template code;
#endif

size_t served_stub_make(struct served_copy *copy, enum served_call call, uint64_t target)
{
	const struct served_row *row = &served_calls[call];
	unsigned char *stub = copy->image + copy->end;
	struct words words = {.call = (uint64_t)call << 5,
		.table = copy->table,
		.target = target,
		.refused = copy->table + SERVED_REFUSED_AT + 8 * (uint64_t)call};
	size_t entry = copy->end;
	int number = -1;

	if (!code.clock || SERVED_STUB_SIZE > copy->size - copy->end)
		return 0;
	/* Calls that the architecture lacks have negative numbers. */
	if (copy->as_if_fallback)
		number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, row->name);
	if (number >= 0) {
		words.number = (uint64_t)number;
		words.target = copy->to + copy->end + (uint64_t)(code.call - code.clock);
	}
	if (!row->takes_clock)
		entry += (size_t)(code.plain - code.clock);
	memcpy(stub, code.clock, SERVED_STUB_SIZE);
	memcpy(stub + SERVED_STUB_SIZE - sizeof(words), &words, sizeof(words));
	copy->end += SERVED_STUB_SIZE;
	return entry;
}
