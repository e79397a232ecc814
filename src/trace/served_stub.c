/* SPDX-License-Identifier: MIT */
/*
 * Has the machine code that counts a call which the vDSO serves. It makes no system call, and
 * changes only registers that a function may change. A call takes this way:
 *
 *	symbol, or word of the program
 *	   |
 *	   v
 *	jump       served_jump[]: behind the code of the vDSO, inside its image, as programs check;
 *	   |       of a running process, behind the stubs. It passes its own address.
 *	   v
 *	stub       SERVED_STUB_SIZE bytes, one for each function:
 *	   |         served_clock   the first argument is a clock
 *	   |         served_plain   it is not
 *	   |           .Lcount      add one to the counter of struct served_file
 *	   |           .Lchoose     is a record taken of this call, and
 *	   |           .Ltake       which is it?
 *	   |           .Lwrite      the registers that a function keeps, and the stack
 *	   |           .Lgo_on      to the function, or the system call as if this host fell back
 *	   |         struct words   the last bytes: what differs between the functions
 *	   v
 *	function   of the real vDSO, whose distance from the jump the stub knows: a program may
 *	           move its vDSO by mremap(2)
 *
 * The rule, which tests/unit/trace_served_test.c has in C and compares with the code:
 *
 * - Each call adds one to the counter of its call and clock in one of the shards, which a hash of
 *   the stack's address chooses: threads have stacks of their own.
 * - served_rarity() says of the number that the counter had before in how many calls one is taken.
 *   A hash of that number chooses which: no program calls in step with it.
 * - The calls that are taken have numbers, too. Each of the first SERVED_RECORDS gets a record. Of
 *   later ones, number N gets that of a hash of N between 0 and N, if there is one: each call that
 *   was taken has the same chance to be in a record at the end.
 * - A record that is being written, by another thread or below a signal handler, is left alone.
 *
 * The stack is read up to the end of its page, which is mapped, or up to the end of the first
 * thread's stack. Go's runtime calls on another stack than that of its goroutine, whose pointer it
 * keeps in a register.
 *
 * On x86-64 a locked instruction costs more than all others of a stub. One thread alone needs none:
 * neither a signal nor another CPU divides an instruction that adds to memory. A word of the file
 * asks for the lock before a second thread can use it. If a signal handler starts that thread, the
 * stub that it interrupted may have read the word before; its one call is lost if another one is
 * counted at the same moment.
 *
 * As if this host fell back, a stub counts the system calls that a seccomp filter refuses: the
 * kernel itself has no other errors than EFAULT, and EINVAL for a clock that it lacks.
 */
#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <time.h>

#include "base/elf.h"
#include "base/text.h"
#include "served.h"

/* The words at the end of a stub, which are labels of its code. */
#define WORDS(WORD)                                                                                \
	WORD(call)        /* the number of its first counter in a shard */                         \
	WORD(file)        /* address of struct served_file */                                      \
	WORD(target)      /* the function, from the jump on; 0: make the system call instead */    \
	WORD(number)      /* of that system call */                                                \
	WORD(refused)     /* address of the count of those that a filter refuses */                \
	WORD(takes_clock) /* not 0: the first argument is one */                                   \
	WORD(factor)      /* of a hash */

#define WORD_MEMBER(name) uint64_t name;
struct words {
	WORDS(WORD_MEMBER)
};

#define FACTOR 0x9e3779b97f4a7c15

#if defined(__x86_64__) || defined(__aarch64__)
extern const unsigned char served_clock[], served_plain[];
extern const unsigned char served_jump[], served_jump_end[];

_Static_assert(offsetof(struct served_file, counters) == SERVED_PAGE, "the head has its own page");
_Static_assert(sizeof(struct served_file) % SERVED_PAGE == 0, "the file is mapped whole");
_Static_assert(SERVED_FILE_SIZE % SERVED_PAGE_MOST == 0, "the stubs begin at a page");
_Static_assert(SERVED_CALL_COUNT *SERVED_CLOCKS <= SERVED_COUNTERS, "each call has counters");
_Static_assert((SERVED_CLOCKS & (SERVED_CLOCKS - 1)) == 0, "a call and its clock are joined by or");
_Static_assert(SERVED_CLOCK_OTHER < SERVED_CLOCKS, "other clocks have a counter of the call");
_Static_assert(SERVED_STACK_SIZE % 16 == 0, "arm64 copies two words at a time");

/*
 * The assembler takes numbers of C in a function only. None of these is called. The code stands in
 * the order of its pieces' numbers, whatever the compiler does with the functions.
 */
#define VALUE(name, value) __asm__ volatile(".set " #name ", %c0" : : "i"(value))
#define FILE_VALUE(name, member) VALUE(name, offsetof(struct served_file, member))
#define RECORD_VALUE(name, member) VALUE(name, offsetof(struct served_record, member))
#define WORD_LABEL(name) ".L" #name ": .quad 0\n"

#define PIECE(number) ".pushsection .rodata, " #number "\n"
#define PIECE_END ".popsection\n"
#define NAMES                                                                                      \
	".globl served_clock, served_plain, served_jump, served_jump_end\n"                        \
	".hidden served_clock, served_plain, served_jump, served_jump_end\n"                       \
	".p2align 4\n"
#define STUB_END "	.org	served_clock + STUB_SIZE - WORDS_SIZE\n" WORDS(WORD_LABEL)

static inline __attribute__((always_inline)) void set_numbers(void)
{
	VALUE(STUB_SIZE, SERVED_STUB_SIZE);
	VALUE(WORDS_SIZE, sizeof(struct words));
	FILE_VALUE(SHARED, shared);
	FILE_VALUE(TAKEN, taken);
	FILE_VALUE(GO_RANGES, go);
	FILE_VALUE(STACK_END, stack_end);
	FILE_VALUE(COUNTERS, counters);
	FILE_VALUE(RECORDS, records);
	VALUE(OTHER_CLOCK, SERVED_CLOCK_OTHER);
	VALUE(SHARD_BITS, __builtin_ctz(SERVED_SHARDS));
	VALUE(SHARD_SIZE_BITS, __builtin_ctz(SERVED_COUNTERS * sizeof(uint64_t)));
	VALUE(FIRST, SERVED_FIRST);
	VALUE(FIRST_BITS, __builtin_ctz(SERVED_FIRST));
	VALUE(EARLY, SERVED_EARLY);
	VALUE(SELDOM_BITS, __builtin_ctz(SERVED_SELDOM));
	VALUE(RECORD_COUNT, SERVED_RECORDS);
	VALUE(GO_RANGE_COUNT, TRACE_GO_FUNCTIONS);
	VALUE(GO_RANGE_SIZE, sizeof(struct code_range));
	VALUE(GO_LENGTH, offsetof(struct code_range, size));
	VALUE(STACK_MOST, SERVED_STACK_MOST);
	VALUE(STACK_SIZE, SERVED_STACK_SIZE);
	VALUE(PAGE, SERVED_PAGE);
	VALUE(RECORD_SIZE, sizeof(struct served_record));
	VALUE(BUSY, SERVED_BUSY);
	VALUE(WHOLE, SERVED_WHOLE);
	RECORD_VALUE(STATE, state);
	RECORD_VALUE(WHICH, which);
	RECORD_VALUE(BEFORE, before);
	RECORD_VALUE(KEPT, kept);
	RECORD_VALUE(STACK_POINTER, stack_pointer);
	RECORD_VALUE(SIZE, size);
	RECORD_VALUE(STACK, stack);
	VALUE(EFAULT, EFAULT);
	VALUE(EINVAL, EINVAL);
	/* All kernels have the clocks up to the first one, and the second one. */
	VALUE(BOOTTIME, CLOCK_BOOTTIME);
	VALUE(TAI, CLOCK_TAI);
#if defined(__x86_64__)
	RECORD_VALUE(RETURN_ADDRESS, return_address);
#endif
}

#if defined(__x86_64__)
/* No function has more than three arguments: rax, rcx and r8 to r10 are free. */
static __attribute__((used)) void write_count(void)
{
	set_numbers();
	__asm__(PIECE(1) NAMES
		"served_jump:\n"
		"	endbr64\n"
		"	lea	served_jump(%rip), %r11\n"
		"	jmp	*0(%rip)\n"
		"	.quad	0\n" /* the address of a stub */
		"served_jump_end:\n"

		"	.p2align 4\n"
		"served_clock:\n"
		"	endbr64\n"
		"	mov	$OTHER_CLOCK, %r9d\n"
		"	cmp	%r9d, %edi\n"
		"	cmovb	%edi, %r9d\n"
		"	jmp	.Lcount\n"
		"	.p2align 4\n"
		"served_plain:\n"
		"	endbr64\n"
		"	xor	%r9d, %r9d\n"

		/* r9: the counter's number, rax: what it had before. */
		".Lcount:\n"
		"	mov	%rsp, %r10\n"
		"	shr	$16, %r10\n"
		"	imul	.Lfactor(%rip), %r10\n"
		"	shr	$64 - SHARD_BITS, %r10\n"
		"	shl	$SHARD_SIZE_BITS, %r10\n"
		"	mov	.Lfile(%rip), %r8\n"
		"	add	%r8, %r10\n"
		"	or	.Lcall(%rip), %r9d\n"
		"	mov	$1, %eax\n"
		"	cmpl	$0, SHARED(%r8)\n"
		"	jne	.Lcount_locked\n"
		"	xadd	%rax, COUNTERS(%r10, %r9, 8)\n"

		/* rcx: its hash, of which so many upper bits must be 0. */
		".Lchoose:\n"
		"	mov	%rax, %rcx\n"
		"	imul	.Lfactor(%rip), %rcx\n"
		"	mov	%rcx, %r10\n"
		"	shr	$32, %r10\n"
		"	xor	%r10, %rcx\n"
		"	imul	.Lfactor(%rip), %rcx\n"
		"	cmp	$EARLY, %rax\n"
		"	jb	.Lchoose_early\n"
		"	shr	$64 - SELDOM_BITS, %rcx\n"
		"	jz	.Ltake\n"

		".Lgo_on:\n"
		"	mov	.Ltarget(%rip), %rax\n"
		"	test	%rax, %rax\n"
		"	jz	.Lcall_system\n"
		"	add	%rax, %r11\n"
		"	jmp	*%r11\n"

		".Lcount_locked:\n"
		"	lock xadd %rax, COUNTERS(%r10, %r9, 8)\n"
		"	jmp	.Lchoose\n"

		/* A shift by 64 of the first calls would be none: it is made in two. */
		".Lchoose_early:\n"
		"	mov	%rcx, %r10\n"
		"	mov	%eax, %ecx\n"
		"	or	$FIRST / 2, %ecx\n"
		"	bsr	%ecx, %ecx\n"
		"	sub	$62 + FIRST_BITS, %ecx\n"
		"	neg	%ecx\n"
		"	shr	$1, %r10\n"
		"	shr	%cl, %r10\n"
		"	jnz	.Lgo_on\n" PIECE_END);
}

static __attribute__((used)) void write_record(void)
{
	set_numbers();
	/* rcx: the number of the record. */
	__asm__(PIECE(2) ".Ltake:\n"
			 "	push	%rdx\n"
			 "	mov	$1, %ecx\n"
			 "	lock xadd %rcx, TAKEN(%r8)\n"
			 "	cmp	$RECORD_COUNT, %rcx\n"
			 "	jb	.Lwrite\n"
			 "	mov	%rax, %r10\n"
			 "	mov	%rcx, %rax\n"
			 "	imul	.Lfactor(%rip), %rax\n"
			 "	mov	%rax, %rdx\n"
			 "	shr	$32, %rdx\n"
			 "	xor	%rdx, %rax\n"
			 "	imul	.Lfactor(%rip), %rax\n"
			 "	inc	%rcx\n"
			 "	mul	%rcx\n"
			 "	mov	%rdx, %rcx\n"
			 "	mov	%r10, %rax\n"
			 "	cmp	$RECORD_COUNT, %rcx\n"
			 "	jae	.Ltaken\n"

			 /* r8: the record, rdx: the stack's pointer after the return. */
			 ".Lwrite:\n"
			 "	imul	$RECORD_SIZE, %rcx, %rcx\n"
			 "	lea	RECORDS(%r8, %rcx), %r8\n"
			 "	mov	$BUSY, %ecx\n"
			 "	xchg	%ecx, STATE(%r8)\n"
			 "	cmp	$BUSY, %ecx\n"
			 "	je	.Ltaken\n"
			 "	mov	%r9d, WHICH(%r8)\n"
			 "	mov	%rax, BEFORE(%r8)\n"
			 "	mov	8(%rsp), %rax\n" /* above rdx */
			 "	mov	%rax, RETURN_ADDRESS(%r8)\n"
			 "	lea	16(%rsp), %rdx\n"
			 "	mov	.Lfile(%rip), %r10\n"
			 "	mov	$GO_RANGE_COUNT, %r9d\n"
			 ".Lis_go:\n"
			 "	mov	%rax, %rcx\n"
			 "	sub	GO_RANGES(%r10), %rcx\n"
			 "	cmp	GO_RANGES + GO_LENGTH(%r10), %rcx\n"
			 "	cmovb	%r12, %rdx\n"
			 "	add	$GO_RANGE_SIZE, %r10\n"
			 "	dec	%r9d\n"
			 "	jnz	.Lis_go\n"
			 "	mov	%rbx, KEPT(%r8)\n"
			 "	mov	%rbp, KEPT + 8(%r8)\n"
			 "	mov	%r12, KEPT + 16(%r8)\n"
			 "	mov	%r13, KEPT + 24(%r8)\n"
			 "	mov	%r14, KEPT + 32(%r8)\n"
			 "	mov	%r15, KEPT + 40(%r8)\n"
			 "	mov	%rdx, STACK_POINTER(%r8)\n"
			 "	mov	.Lfile(%rip), %r10\n"
			 "	mov	STACK_END(%r10), %rcx\n"
			 "	sub	%rdx, %rcx\n"
			 "	cmp	$STACK_MOST, %rcx\n"
			 "	jb	.Lcopy\n"
			 "	mov	%edx, %ecx\n" /* up to the end of the page */
			 "	neg	%ecx\n"
			 "	and	$PAGE - 1, %ecx\n"
			 ".Lcopy:\n"
			 "	mov	$STACK_SIZE, %eax\n"
			 "	cmp	%eax, %ecx\n"
			 "	cmova	%eax, %ecx\n"
			 "	mov	%rcx, SIZE(%r8)\n"
			 "	push	%rdi\n"
			 "	push	%rsi\n"
			 "	mov	%rdx, %rsi\n"
			 "	lea	STACK(%r8), %rdi\n"
			 "	rep movsb\n"
			 "	pop	%rsi\n"
			 "	pop	%rdi\n"
			 "	movl	$WHOLE, STATE(%r8)\n"
			 ".Ltaken:\n"
			 "	pop	%rdx\n"
			 "	jmp	.Lgo_on\n" PIECE_END);
}

static __attribute__((used)) void write_system_call(void)
{
	set_numbers();
	__asm__(PIECE(3) ".Lcall_system:\n"
			 "	mov	.Lnumber(%rip), %eax\n"
			 "	syscall\n"
			 "	test	%rax, %rax\n"
			 "	jns	.Lreturn\n"
			 "	cmp	$-EFAULT, %rax\n"
			 "	je	.Lreturn\n"
			 "	cmp	$-EINVAL, %rax\n"
			 "	jne	.Lis_refused\n"
			 "	cmpl	$0, .Ltakes_clock(%rip)\n"
			 "	je	.Lis_refused\n"
			 "	cmp	$BOOTTIME, %edi\n"
			 "	jbe	.Lis_refused\n"
			 "	cmp	$TAI, %edi\n"
			 "	jne	.Lreturn\n"
			 ".Lis_refused:\n"
			 "	mov	.Lrefused(%rip), %rcx\n"
			 "	lock incq (%rcx)\n"
			 ".Lreturn:\n"
			 "	ret\n" STUB_END PIECE_END);
}

#else
/* No function has more than three arguments: x3 to x16 are free. */
static __attribute__((used)) void write_count(void)
{
	set_numbers();
	__asm__(PIECE(1) NAMES
		"served_jump:\n"
		"	hint	#34\n" /* bti c */
		"	adr	x17, served_jump\n"
		"	ldr	x16, .Lstub\n"
		"	br	x16\n"
		".Lstub:\n"
		"	.quad	0\n" /* its address */
		"served_jump_end:\n"

		"	.p2align 4\n"
		"served_clock:\n"
		"	hint	#34\n" /* bti c */
		"	mov	w10, #OTHER_CLOCK\n"
		"	cmp	w0, w10\n"
		"	csel	w9, w0, w10, lo\n"
		"	b	.Lcount\n"
		"	.p2align 4\n"
		"served_plain:\n"
		"	hint	#34\n"
		"	mov	x9, #0\n"

		/* x9: the counter's number, x11: what it had before, x10: the factor. */
		".Lcount:\n"
		"	ldr	x10, .Lfactor\n"
		"	ldr	x15, .Lfile\n"
		"	ldr	x14, .Lcall\n"
		"	orr	x9, x9, x14\n"
		"	mov	x11, sp\n"
		"	lsr	x11, x11, #16\n"
		"	mul	x11, x11, x10\n"
		"	lsr	x11, x11, #64 - SHARD_BITS\n"
		"	add	x13, x15, #COUNTERS\n"
		"	add	x13, x13, x11, lsl #SHARD_SIZE_BITS\n"
		"	add	x13, x13, x9, lsl #3\n"
		".Ladd:\n"
		"	ldxr	x11, [x13]\n"
		"	add	x12, x11, #1\n"
		"	stxr	w14, x12, [x13]\n"
		"	cbnz	w14, .Ladd\n"

		/* x12: its hash, of which so many upper bits must be 0. */
		"	mul	x12, x11, x10\n"
		"	eor	x12, x12, x12, lsr #32\n"
		"	mul	x12, x12, x10\n"
		"	cmp	x11, #EARLY\n"
		"	b.lo	.Lchoose_early\n"
		"	lsr	x12, x12, #64 - SELDOM_BITS\n"
		"	cbz	x12, .Ltake\n"

		".Lgo_on:\n"
		"	ldr	x16, .Ltarget\n"
		"	cbz	x16, .Lcall_system\n"
		"	add	x16, x16, x17\n"
		"	br	x16\n"

		/* A shift by 64 of the first calls would be none: it is made in two. */
		".Lchoose_early:\n"
		"	orr	x3, x11, #FIRST / 2\n"
		"	clz	x3, x3\n"
		"	add	x3, x3, #FIRST_BITS - 1\n"
		"	lsr	x12, x12, #1\n"
		"	lsr	x12, x12, x3\n"
		"	cbnz	x12, .Lgo_on\n" PIECE_END);
}

static __attribute__((used)) void write_record(void)
{
	set_numbers();
	/* x3: the number of the record. */
	__asm__(PIECE(2) ".Ltake:\n"
			 "	add	x14, x15, #TAKEN\n"
			 ".Ladd_taken:\n"
			 "	ldxr	x3, [x14]\n"
			 "	add	x4, x3, #1\n"
			 "	stxr	w5, x4, [x14]\n"
			 "	cbnz	w5, .Ladd_taken\n"
			 "	cmp	x3, #RECORD_COUNT\n"
			 "	b.lo	.Lwrite\n"
			 "	mul	x5, x3, x10\n"
			 "	eor	x5, x5, x5, lsr #32\n"
			 "	mul	x5, x5, x10\n"
			 "	umulh	x3, x5, x4\n"
			 "	cmp	x3, #RECORD_COUNT\n"
			 "	b.hs	.Lgo_on\n"

			 /* x6: the record, x3: the stack's pointer. */
			 ".Lwrite:\n"
			 "	mov	x5, #RECORD_SIZE\n"
			 "	add	x6, x15, #RECORDS / 4096, lsl #12\n"
			 "	madd	x6, x3, x5, x6\n"
			 "	mov	w5, #BUSY\n"
			 ".Lown:\n"
			 "	ldxr	w4, [x6]\n"
			 "	cmp	w4, #BUSY\n"
			 "	b.eq	.Lgo_on\n"
			 "	stxr	w7, w5, [x6]\n"
			 "	cbnz	w7, .Lown\n"
			 "	str	w9, [x6, #WHICH]\n"
			 "	str	x11, [x6, #BEFORE]\n"
			 "	stp	x19, x20, [x6, #KEPT]\n"
			 "	stp	x21, x22, [x6, #KEPT + 16]\n"
			 "	stp	x23, x24, [x6, #KEPT + 32]\n"
			 "	stp	x25, x26, [x6, #KEPT + 48]\n"
			 "	stp	x27, x28, [x6, #KEPT + 64]\n"
			 "	stp	x29, x30, [x6, #KEPT + 80]\n"
			 "	ldr	x4, [x15, #STACK_END]\n"
			 "	mov	x3, sp\n"
			 "	mov	w5, #GO_RANGE_COUNT\n"
			 ".Lis_go:\n"
			 "	ldr	x7, [x15, #GO_RANGES]\n"
			 "	ldr	x8, [x15, #GO_RANGES + GO_LENGTH]\n"
			 "	sub	x7, x30, x7\n"
			 "	cmp	x7, x8\n"
			 "	csel	x3, x20, x3, lo\n"
			 "	add	x15, x15, #GO_RANGE_SIZE\n"
			 "	subs	w5, w5, #1\n"
			 "	b.ne	.Lis_go\n"
			 "	str	x3, [x6, #STACK_POINTER]\n"
			 "	sub	x4, x4, x3\n"
			 "	mov	x5, #STACK_MOST\n"
			 "	cmp	x4, x5\n"
			 "	b.lo	.Lcopy\n"
			 "	neg	x4, x3\n" /* up to the end of the page */
			 "	and	x4, x4, #PAGE - 1\n"
			 ".Lcopy:\n"
			 "	mov	x5, #STACK_SIZE\n"
			 "	cmp	x4, x5\n"
			 "	csel	x4, x4, x5, lo\n"
			 "	str	x4, [x6, #SIZE]\n"
			 "	cbz	x4, .Lcopied\n"
			 "	add	x7, x6, #STACK\n"
			 ".Lcopy_next:\n"
			 "	ldp	x8, x9, [x3], #16\n"
			 "	stp	x8, x9, [x7], #16\n"
			 "	subs	x4, x4, #16\n"
			 "	b.hi	.Lcopy_next\n"
			 ".Lcopied:\n"
			 "	mov	w5, #WHOLE\n"
			 "	stlr	w5, [x6]\n"
			 "	b	.Lgo_on\n" PIECE_END);
}

static __attribute__((used)) void write_system_call(void)
{
	set_numbers();
	__asm__(PIECE(3) ".Lcall_system:\n"
			 "	mov	w12, w0\n"
			 "	ldr	x8, .Lnumber\n"
			 "	svc	#0\n"
			 "	tbz	x0, #63, .Lreturn\n"
			 "	cmn	x0, #EFAULT\n"
			 "	b.eq	.Lreturn\n"
			 "	cmn	x0, #EINVAL\n"
			 "	b.ne	.Lis_refused\n"
			 "	ldr	x10, .Ltakes_clock\n"
			 "	cbz	x10, .Lis_refused\n"
			 "	cmp	w12, #BOOTTIME\n"
			 "	b.ls	.Lis_refused\n"
			 "	cmp	w12, #TAI\n"
			 "	b.ne	.Lreturn\n"
			 ".Lis_refused:\n"
			 "	ldr	x14, .Lrefused\n"
			 ".Ladd_refused:\n"
			 "	ldxr	x10, [x14]\n"
			 "	add	x10, x10, #1\n"
			 "	stxr	w11, x10, [x14]\n"
			 "	cbnz	w11, .Ladd_refused\n"
			 ".Lreturn:\n"
			 "	ret\n" STUB_END PIECE_END);
}
#endif

#else
/* Programs of other architectures are not counted: registers_get() refuses them. */
static const unsigned char served_clock[SERVED_STUB_SIZE];
#define served_plain served_clock
#define served_jump served_clock
#define served_jump_end served_clock
#endif

uint64_t served_stub_make(
	struct served_stubs *stubs, enum served_call call, uint64_t jump, uint64_t target)
{
	const struct served_row *row = &served_calls[call];
	const uint64_t start = stubs->to + stubs->used;
	const unsigned char *entry = row->takes_clock ? served_clock : served_plain;
	struct words words = {.call = (uint64_t)call * SERVED_CLOCKS,
		.file = stubs->file,
		.target = target - jump,
		.refused = stubs->file + offsetof(struct served_file, refused[call]),
		.takes_clock = row->takes_clock,
		.factor = FACTOR};
	unsigned char *stub = stubs->code + stubs->used;
	int number = -1;

	if (stubs->used > SERVED_STUBS_SIZE - 2 * SERVED_STUB_SIZE)
		return 0;
	/* Calls that the architecture lacks have negative numbers. */
	if (stubs->as_if_fallback)
		number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, row->name);
	if (number >= 0) {
		words.number = (uint64_t)number;
		words.target = 0;
	}
	memcpy(stub, served_clock, SERVED_STUB_SIZE);
	memcpy(stub + SERVED_STUB_SIZE - sizeof(words), &words, sizeof(words));
	stubs->used += SERVED_STUB_SIZE;
	return start + ((uintptr_t)entry - (uintptr_t)served_clock);
}

size_t served_jump_make(unsigned char *to, uint64_t stub)
{
	const size_t size = (uintptr_t)served_jump_end - (uintptr_t)served_jump;

	memcpy(to, served_jump, size);
	memcpy(to + size - sizeof(stub), &stub, sizeof(stub));
	return size;
}

/* ---- the image ---- */

size_t served_image_length(const unsigned char *image, size_t size)
{
	struct elf elf;
	uint64_t extent = elf_start(&elf, image, size) && !elf.narrow ? elf_extent(&elf) : 0;

	return extent <= SERVED_IMAGE_MAX ? (size_t)extent : 0;
}

size_t served_find_room(const unsigned char *image, size_t size)
{
	static const unsigned char none[SERVED_ROOM];
	const size_t length = served_image_length(image, size);
	struct elf elf;
	size_t end, pages;

	if (!length || !elf_start(&elf, image, size))
		return 0;
	/* The headers of the sections, which debuggers read, lie behind what is loaded. */
	end = (size_t)(ELF_READ(&elf, 0, Ehdr, e_shoff) +
		       ELF_READ(&elf, 0, Ehdr, e_shnum) * ELF_SIZE(&elf, Shdr));
	end = end > length ? end : length;
	pages = (end + SERVED_PAGE - 1) / SERVED_PAGE * SERVED_PAGE;
	return pages <= size && pages - end >= SERVED_ROOM &&
	                       memcmp(image + pages - SERVED_ROOM, none, SERVED_ROOM) == 0
	               ? pages - SERVED_ROOM
	               : 0;
}

/* Makes the segment of code that ends the image reach to this end. */
static bool extend_segment(const struct elf *elf, unsigned char *image, uint64_t end)
{
	const uint64_t before = elf_extent(elf);

	for (uint64_t at = 0; (at = elf_segment(elf, PT_LOAD, at));) {
		const uint64_t offset = ELF_READ(elf, at, Phdr, p_offset), size = end - offset;

		if (offset + ELF_READ(elf, at, Phdr, p_filesz) != before ||
			!(ELF_READ(elf, at, Phdr, p_flags) & PF_X))
			continue;
		memcpy(image + at + offsetof(Elf64_Phdr, p_filesz), &size, sizeof(size));
		memcpy(image + at + offsetof(Elf64_Phdr, p_memsz), &size, sizeof(size));
		return true;
	}
	return false;
}

/* Reads a symbol of the vDSO. Returns its call, or SERVED_CALL_COUNT: it is not counted. */
static enum served_call read_function(
	const struct elf *elf, const struct elf_dynamic *dynamic, uint64_t at, uint64_t *value)
{
	uint64_t section = ELF_READ(elf, at, Sym, st_shndx);
	struct span name = elf_name(elf, dynamic->names, ELF_READ(elf, at, Sym, st_name));

	(void)vdso_take_prefix(&name);
	*value = ELF_READ(elf, at, Sym, st_value) - elf->load;
	if (section == SHN_UNDEF || section == SHN_ABS ||
		(ELF_READ(elf, at, Sym, st_info) & 0xf) != STT_FUNC)
		return SERVED_CALL_COUNT;
	return served_find_call(name);
}

void served_stubs_make(struct served_stubs *stubs, unsigned char *image, size_t size, uint64_t vdso,
	size_t room, struct served_words *words)
{
	unsigned char *to = room ? image + room : stubs->code + SERVED_STUBS_SIZE - SERVED_ROOM;
	uint64_t jump = room ? vdso + room : stubs->to + SERVED_STUBS_SIZE - SERVED_ROOM;
	const size_t length = served_image_length(image, size);
	struct elf_dynamic dynamic = {.count = 0};
	struct elf elf;

	words->count = 0;
	if (length > size || !elf_start(&elf, image, length) || !elf_read_dynamic(&elf, &dynamic) ||
		(room && !extend_segment(&elf, image, room + SERVED_ROOM)))
		return;
	for (uint64_t i = 0; i < dynamic.count; i++) {
		const uint64_t at = dynamic.symbols + i * sizeof(Elf64_Sym);
		uint64_t value, stub;
		size_t known = 0, written;
		const enum served_call call = read_function(&elf, &dynamic, at, &value);

		if (call == SERVED_CALL_COUNT)
			continue;
		/* x86-64 has each function by its bare name, too. */
		while (known < words->count && words->function[known] != vdso + value)
			known++;
		if (known == words->count) {
			stub = known < SERVED_CALL_COUNT
			               ? served_stub_make(stubs, call, jump, vdso + value)
			               : 0;
			if (!stub)
				continue;
			words->function[known] = vdso + value;
			words->jump[known] = jump;
			words->count++;
			written = served_jump_make(to, stub);
			to += written;
			jump += written;
		}
		value = elf.load + words->jump[known] - vdso;
		if (room)
			memcpy(image + at + offsetof(Elf64_Sym, st_value), &value, sizeof(value));
	}
}
