/* SPDX-License-Identifier: MIT */
/*
 * Has the machine code that counts a call which the vDSO serves. The symbol of each function leads
 * to a jump behind the vDSO's own code, inside the image, as programs check; the jump leads to a
 * stub. It adds one to the counter for its call and clock in the table of served.h, and jumps to
 * the function of the real vDSO, whose distance from the first jump it knows: a program may move
 * its vDSO by mremap(2). It makes no system call, and changes only registers that a function may
 * change.
 *
 * Of the first calls of a counter, and then of fewer and fewer, it takes the registers that a
 * function keeps and the stack up to the end of its page, which is mapped, or of the first thread's
 * stack. Go's runtime calls on another stack than the one of its goroutine, whose pointer it keeps
 * in a register. Which call is taken depends on a hash of its number: no program calls in step with
 * that. Once all records of the table are used, each call that is taken has the same chance to be
 * in one of them.
 *
 * On x86-64 a locked instruction costs more than all others of a stub. One thread alone needs none:
 * neither a signal nor another CPU divides an instruction that adds to memory. A word of the table
 * asks for the lock before a second thread can use it. If a signal handler starts that thread, the
 * stub that it interrupted may have read the word before; its one call is lost if another one is
 * counted at the same moment.
 *
 * As if this host fell back, it makes a system call instead, and counts those that a seccomp
 * filter refuses: the kernel itself has no other errors than EFAULT, and EINVAL for a clock that it
 * lacks.
 *
 * A stub ends with words that served_stub_make() fills in.
 */
#include <seccomp.h>
#include <string.h>

#include "base/elf.h"
#include "base/text.h"
#include "served.h"

/* The assembler needs the numbers as text. */
#define WORD_OF(value) #value
#define NUMBER(value) WORD_OF(value)
#define OTHER NUMBER(SERVED_CLOCK_OTHER)
#define SHARED_AT NUMBER(SERVED_SHARED_AT)
#define TAKEN_AT NUMBER(SERVED_TAKEN_AT)
#define FIRST_CALLS NUMBER(SERVED_FIRST)
#define EARLY NUMBER(SERVED_EARLY)
#define RECORDS NUMBER(SERVED_RECORDS)
#define RECORDS_AT NUMBER(SERVED_RECORDS_AT)
#define RECORD_SIZE NUMBER(SERVED_RECORD_SIZE)
#define GO_AT NUMBER(SERVED_GO_AT)
#define GO_FUNCTIONS NUMBER(TRACE_GO_FUNCTIONS)
#define STACK_END_AT NUMBER(SERVED_STACK_END_AT)
#define STACK_MOST NUMBER(SERVED_STACK_MOST)
#define STACK_AT NUMBER(SERVED_STACK_AT)
#define STACK_SIZE NUMBER(SERVED_STACK_SIZE)

/* The shifts of the code below. */
_Static_assert(SERVED_SHARDS == 1 << (64 - 58), "the shard is the upper bits of a hash");
_Static_assert(SERVED_SHARD_SIZE == 1 << 11, "the size of a shard is a shift");
_Static_assert(SERVED_SELDOM == 1 << (64 - 54), "one in so many is a shift");
_Static_assert(SERVED_FIRST == 128 && SERVED_EARLY == 64 * SERVED_SELDOM, "so are those before");
_Static_assert(SERVED_RECORDS_AT == 33 << 12, "arm64 adds it by a shift");
_Static_assert(offsetof(struct served_head, shared) == SERVED_SHARED_AT, "the place of a word");
_Static_assert(offsetof(struct served_head, taken) == SERVED_TAKEN_AT, "the place of a word");
/* Others have no stubs, and i386 aligns a uint64_t by 4. */
#if defined(__x86_64__) || defined(__aarch64__)
_Static_assert(offsetof(struct served_head, go) == SERVED_GO_AT, "the place of a table");
_Static_assert(
	offsetof(struct served_head, stack_end) == SERVED_STACK_END_AT, "the place of a word");
#endif
_Static_assert(sizeof(struct served_record) == SERVED_RECORD_SIZE, "records are a table");
_Static_assert(offsetof(struct served_record, stack) == SERVED_STACK_AT, "the place of the stack");

/* The last bytes of a stub, in the order of its labels. */
#define WORDS_SIZE 64
struct words {
	uint64_t call, head;
	uint64_t counters; /* of the call, in the first shard */
	uint64_t target;   /* the function, from the jump on; 0: make the system call instead */
	uint64_t number, refused; /* for the system call: its number, and the address of a count */
	uint64_t takes_clock;     /* the first argument is one */
	uint64_t factor;          /* of a hash */
};
_Static_assert(sizeof(struct words) == WORDS_SIZE, "the words are the end of a stub");

#define FACTOR 0x9e3779b97f4a7c15

/* They end the section. */
#define WORDS                                                                                      \
	"	.org	served_clock + " NUMBER(SERVED_STUB_SIZE) " - " NUMBER(                    \
		WORDS_SIZE) "\n"                                                                   \
			    ".Lcall:	.quad 0\n"                                                    \
			    ".Lhead:	.quad 0\n"                                                    \
			    ".Lcounters:	.quad 0\n"                                                \
			    ".Ltarget:	.quad 0\n"                                                  \
			    ".Lnumber:	.quad 0\n"                                                  \
			    ".Lrefused:	.quad 0\n"                                                 \
			    ".Ltakes_clock: .quad 0\n"                                             \
			    ".Lfactor:	.quad 0\n"                                                  \
			    ".popsection\n"

#if defined(__x86_64__)
/* No function has more than three arguments: rax, rcx and r8 to r10 are free, and r11 the jump's.
 */
__asm__(".pushsection .rodata\n"
	".globl served_clock, served_plain, served_jump, served_jump_end\n"
	".hidden served_clock, served_plain, served_jump, served_jump_end\n"
	".p2align 4\n"
	"served_clock:\n"
	"	endbr64\n"
	"	mov	$" OTHER ", %r9d\n"
	"	cmp	%r9d, %edi\n"
	"	cmovb	%edi, %r9d\n"
	"	jmp	1f\n"
	"	.p2align 4\n"
	"served_plain:\n"
	"	endbr64\n"
	"	xor	%r9d, %r9d\n"
	"1:	mov	%rsp, %r10\n"
	"	shr	$16, %r10\n"
	"	imul	.Lfactor(%rip), %r10\n"
	"	shr	$58, %r10\n" /* the shard: threads have stacks of their own */
	"	shl	$11, %r10\n"
	"	add	.Lcounters(%rip), %r10\n"
	"	mov	.Lhead(%rip), %r8\n"
	"	mov	$1, %eax\n"
	"	cmpl	$0, " SHARED_AT "(%r8)\n"
	"	jne	3f\n"
	"	xadd	%rax, (%r10, %r9, 8)\n"
	"2:	mov	%rax, %rcx\n"
	"	imul	.Lfactor(%rip), %rcx\n"
	"	mov	%rcx, %r10\n"
	"	shr	$32, %r10\n"
	"	xor	%r10, %rcx\n"
	"	imul	.Lfactor(%rip), %rcx\n"
	"	cmp	$" EARLY ", %rax\n"
	"	jb	7f\n"
	"	shr	$54, %rcx\n"
	"	jz	4f\n"
	"9:	mov	.Ltarget(%rip), %rax\n"
	"	test	%rax, %rax\n"
	"	jz	6f\n"
	"	add	%rax, %r11\n"
	"	jmp	*%r11\n"
	"3:	lock xadd %rax, (%r10, %r9, 8)\n"
	"	jmp	2b\n"
	/* All of the first, then one in two, and so on: as many until each power of two. */
	"7:	shr	$1, %rcx\n"
	"	mov	%rcx, %r10\n"
	"	mov	%eax, %ecx\n"
	"	or	$" FIRST_CALLS " / 2, %ecx\n"
	"	bsr	%ecx, %ecx\n"
	"	sub	$69, %ecx\n"
	"	neg	%ecx\n"
	"	shr	%cl, %r10\n"
	"	jnz	9b\n"
	/* It is taken: the next record, or in place of any before, or not. */
	"4:	push	%rdx\n"
	"	mov	$1, %ecx\n"
	"	lock xadd %rcx, " TAKEN_AT "(%r8)\n"
	"	cmp	$" RECORDS ", %rcx\n"
	"	jb	5f\n"
	"	mov	%rax, %r10\n"
	"	mov	%rcx, %rax\n"
	"	imul	.Lfactor(%rip), %rax\n"
	"	mov	%rax, %rdx\n"
	"	shr	$32, %rdx\n"
	"	xor	%rdx, %rax\n"
	"	imul	.Lfactor(%rip), %rax\n"
	"	inc	%rcx\n"
	"	mul	%rcx\n" /* a number up to that of the calls that were taken */
	"	mov	%rdx, %rcx\n"
	"	mov	%r10, %rax\n"
	"	cmp	$" RECORDS ", %rcx\n"
	"	jae	8f\n"
	"5:	imul	$" RECORD_SIZE ", %rcx, %rcx\n"
	"	lea	" RECORDS_AT "(%r8, %rcx), %r8\n"
	"	mov	$1, %ecx\n"
	"	xchg	%ecx, (%r8)\n"
	"	cmp	$1, %ecx\n" /* another thread, or one that was interrupted, writes it */
	"	je	8f\n"
	"	or	.Lcall(%rip), %r9d\n"
	"	mov	%r9d, 4(%r8)\n"
	"	mov	%rax, 8(%r8)\n"
	"	mov	8(%rsp), %rax\n" /* the return address */
	"	lea	16(%rsp), %rdx\n"
	"	mov	.Lhead(%rip), %r10\n"
	"	mov	$" GO_FUNCTIONS ", %r9d\n"
	".Lgo:	mov	%rax, %rcx\n"
	"	sub	" GO_AT "(%r10), %rcx\n"
	"	cmp	" GO_AT " + 8(%r10), %rcx\n"
	"	cmovb	%r12, %rdx\n"
	"	add	$16, %r10\n"
	"	dec	%r9d\n"
	"	jnz	.Lgo\n"
	"	mov	%rbx, 16(%r8)\n"
	"	mov	%rbp, 24(%r8)\n"
	"	mov	%rdx, 32(%r8)\n"
	"	mov	%r12, 40(%r8)\n"
	"	mov	%r13, 48(%r8)\n"
	"	mov	%r14, 56(%r8)\n"
	"	mov	%r15, 64(%r8)\n"
	"	mov	%rax, 72(%r8)\n"
	"	mov	.Lhead(%rip), %r10\n"
	"	mov	" STACK_END_AT "(%r10), %rcx\n"
	"	sub	%rdx, %rcx\n"
	"	cmp	$" STACK_MOST ", %rcx\n"
	"	jb	.Lend\n"
	"	mov	%edx, %ecx\n"
	"	neg	%ecx\n"
	"	and	$4095, %ecx\n" /* bytes to the end of the page; it may be that of the stack
                                        */
	".Lend:	mov	$" STACK_SIZE ", %eax\n"
	"	cmp	%eax, %ecx\n"
	"	cmova	%eax, %ecx\n"
	"	mov	%ecx, 80(%r8)\n"
	"	push	%rdi\n"
	"	push	%rsi\n"
	"	mov	%rdx, %rsi\n"
	"	lea	" STACK_AT "(%r8), %rdi\n"
	"	rep movsb\n"
	"	pop	%rsi\n"
	"	pop	%rdi\n"
	"	movl	$2, (%r8)\n"
	"8:	pop	%rdx\n"
	"	jmp	9b\n"
	"6:	mov	.Lnumber(%rip), %eax\n" /* as if this host fell back */
	"	syscall\n"
	"	test	%rax, %rax\n"
	"	jns	5f\n"
	"	cmp	$-14, %rax\n" /* EFAULT */
	"	je	5f\n"
	"	cmp	$-22, %rax\n" /* EINVAL */
	"	jne	4f\n"
	"	cmpl	$0, .Ltakes_clock(%rip)\n"
	"	je	4f\n"
	"	cmp	$7, %edi\n" /* all kernels have these clocks, and CLOCK_TAI */
	"	jbe	4f\n"
	"	cmp	$11, %edi\n"
	"	jne	5f\n"
	"4:	mov	.Lrefused(%rip), %rcx\n"
	"	lock incq (%rcx)\n"
	"5:	ret\n" WORDS
	/* The jump, whose last word is the address of a stub. */
	".pushsection .rodata\n"
	"served_jump:\n"
	"	endbr64\n"
	"	lea	served_jump(%rip), %r11\n"
	"	jmp	*0(%rip)\n"
	"	.quad	0\n"
	"served_jump_end:\n"
	".popsection\n");

#elif defined(__aarch64__)
/* No function has more than three arguments: x3 to x16 are free, and x17 is the jump's. */
__asm__(".pushsection .rodata\n"
	".globl served_clock, served_plain, served_jump, served_jump_end\n"
	".hidden served_clock, served_plain, served_jump, served_jump_end\n"
	".p2align 4\n"
	"served_clock:\n"
	"	hint	#34\n" /* bti c */
	"	mov	w10, #" OTHER "\n"
	"	cmp	w0, w10\n"
	"	csel	w9, w0, w10, lo\n"
	"	b	1f\n"
	"	.p2align 4\n"
	"served_plain:\n"
	"	hint	#34\n"
	"	mov	x9, #0\n"
	"1:	ldr	x10, .Lfactor\n"
	"	mov	x11, sp\n"
	"	lsr	x11, x11, #16\n"
	"	mul	x11, x11, x10\n"
	"	lsr	x11, x11, #58\n" /* the shard: threads have stacks of their own */
	"	ldr	x13, .Lcounters\n"
	"	add	x13, x13, x11, lsl #11\n"
	"	add	x13, x13, x9, lsl #3\n"
	"2:	ldxr	x11, [x13]\n"
	"	add	x12, x11, #1\n"
	"	stxr	w14, x12, [x13]\n"
	"	cbnz	w14, 2b\n"
	"	mul	x12, x11, x10\n"
	"	eor	x12, x12, x12, lsr #32\n"
	"	mul	x12, x12, x10\n"
	"	cmp	x11, #" EARLY "\n"
	"	b.lo	7f\n"
	"	lsr	x12, x12, #54\n"
	"	cbz	x12, 3f\n"
	"9:	ldr	x16, .Ltarget\n"
	"	cbz	x16, 4f\n"
	"	add	x16, x16, x17\n"
	"	br	x16\n"
	/* All of the first, then one in two, and so on: as many until each power of two. */
	"7:	orr	x3, x11, #" FIRST_CALLS " / 2\n"
	"	clz	x3, x3\n"
	"	add	x3, x3, #6\n" /* 69 less the number of the highest bit */
	"	lsr	x12, x12, #1\n"
	"	lsr	x12, x12, x3\n"
	"	cbnz	x12, 9b\n"
	/* It is taken: the next record, or in place of any before, or not. */
	"3:	ldr	x13, .Lhead\n"
	"	add	x14, x13, #" TAKEN_AT "\n"
	"5:	ldxr	x3, [x14]\n"
	"	add	x4, x3, #1\n"
	"	stxr	w5, x4, [x14]\n"
	"	cbnz	w5, 5b\n"
	"	cmp	x3, #" RECORDS "\n"
	"	b.lo	6f\n"
	"	mul	x5, x3, x10\n"
	"	eor	x5, x5, x5, lsr #32\n"
	"	mul	x5, x5, x10\n"
	"	umulh	x3, x5, x4\n" /* a number up to that of the calls that were taken */
	"	cmp	x3, #" RECORDS "\n"
	"	b.hs	9b\n"
	"6:	mov	x5, #" RECORD_SIZE "\n"
	"	add	x6, x13, #33, lsl #12\n"
	"	madd	x6, x3, x5, x6\n"
	"	mov	w5, #1\n"
	"7:	ldxr	w4, [x6]\n"
	"	cmp	w4, #1\n" /* another thread, or one that was interrupted, writes it */
	"	b.eq	9b\n"
	"	stxr	w7, w5, [x6]\n"
	"	cbnz	w7, 7b\n"
	"	ldr	x10, .Lcall\n"
	"	orr	x9, x9, x10\n"
	"	str	w9, [x6, #4]\n"
	"	str	x11, [x6, #8]\n"
	"	stp	x19, x20, [x6, #16]\n"
	"	stp	x21, x22, [x6, #32]\n"
	"	stp	x23, x24, [x6, #48]\n"
	"	stp	x25, x26, [x6, #64]\n"
	"	stp	x27, x28, [x6, #80]\n"
	"	stp	x29, x30, [x6, #96]\n"
	"	mov	x3, sp\n"
	"	mov	w5, #" GO_FUNCTIONS "\n"
	".Lgo:	ldp	x7, x8, [x13, #" GO_AT "]\n"
	"	sub	x7, x30, x7\n"
	"	cmp	x7, x8\n"
	"	csel	x3, x20, x3, lo\n"
	"	add	x13, x13, #16\n"
	"	subs	w5, w5, #1\n"
	"	b.ne	.Lgo\n"
	"	ldr	x5, .Lhead\n"
	"	ldr	x5, [x5, #" STACK_END_AT "]\n"
	"	sub	x4, x5, x3\n"
	"	mov	x5, #" STACK_MOST "\n"
	"	cmp	x4, x5\n"
	"	b.lo	.Lend\n"
	"	neg	x4, x3\n"
	"	and	x4, x4, #4095\n" /* bytes to the end of the page; it may be that of the
                                            stack */
	".Lend:	mov	x5, #" STACK_SIZE "\n"
	"	cmp	x4, x5\n"
	"	csel	x4, x4, x5, lo\n"
	"	stp	x3, x4, [x6, #112]\n"
	"	cbz	x4, 6f\n"
	"	add	x7, x6, #" STACK_AT "\n"
	"8:	ldp	x8, x9, [x3], #16\n"
	"	stp	x8, x9, [x7], #16\n"
	"	subs	x4, x4, #16\n"
	"	b.hi	8b\n"
	"6:	mov	w5, #2\n"
	"	stlr	w5, [x6]\n"
	"	b	9b\n"
	"4:	mov	w12, w0\n" /* as if this host fell back */
	"	ldr	x8, .Lnumber\n"
	"	svc	#0\n"
	"	tbz	x0, #63, 6f\n"
	"	cmn	x0, #14\n" /* EFAULT */
	"	b.eq	6f\n"
	"	cmn	x0, #22\n" /* EINVAL */
	"	b.ne	3f\n"
	"	ldr	x10, .Ltakes_clock\n"
	"	cbz	x10, 3f\n"
	"	cmp	w12, #7\n" /* all kernels have these clocks, and CLOCK_TAI */
	"	b.ls	3f\n"
	"	cmp	w12, #11\n"
	"	b.ne	6f\n"
	"3:	ldr	x14, .Lrefused\n"
	"5:	ldxr	x10, [x14]\n"
	"	add	x10, x10, #1\n"
	"	stxr	w11, x10, [x14]\n"
	"	cbnz	w11, 5b\n"
	"6:	ret\n" WORDS ".pushsection .rodata\n"
	".p2align 3\n"
	"served_jump:\n"
	"	hint	#34\n"
	"	adr	x17, served_jump\n"
	"	ldr	x16, 1f\n"
	"	br	x16\n"
	"1:	.quad	0\n"
	"served_jump_end:\n"
	".popsection\n");
#endif

#if defined(__x86_64__) || defined(__aarch64__)
extern const unsigned char served_clock[], served_plain[];
extern const unsigned char served_jump[], served_jump_end[];
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
		.head = stubs->table,
		.counters = stubs->table + SERVED_SHARDS_AT + (uint64_t)call * SERVED_CLOCKS * 8,
		.target = target - jump,
		.factor = FACTOR,
		.refused = stubs->table + offsetof(struct served_head, refused[call]),
		.takes_clock = row->takes_clock};
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

void served_stubs_make(struct served_stubs *stubs, unsigned char *image, size_t size, uint64_t vdso)
{
	size_t room = served_find_room(image, size);
	uint64_t jumps[SERVED_CALL_COUNT] = {0};
	struct elf_dynamic dynamic = {.count = 0};
	struct elf elf;

	if (!room || !elf_start(&elf, image, served_image_length(image, size)) ||
		!elf_read_dynamic(&elf, &dynamic) ||
		!extend_segment(&elf, image, room + SERVED_ROOM))
		return;
	for (uint64_t i = 0; i < dynamic.count; i++) {
		uint64_t at = dynamic.symbols + i * sizeof(Elf64_Sym), stub = 0, value;
		enum served_call call = read_function(&elf, &dynamic, at, &value);

		if (call == SERVED_CALL_COUNT)
			continue;
		/* x86-64 has each function by its bare name, too. */
		if (!jumps[call])
			stub = served_stub_make(stubs, call, vdso + room, vdso + value);
		if (stub) {
			jumps[call] = elf.load + room;
			room += served_jump_make(image + room, stub);
		}
		if (jumps[call])
			memcpy(image + at + offsetof(Elf64_Sym, st_value), &jumps[call],
				sizeof(jumps[call]));
	}
}

void served_words_make(struct served_stubs *stubs, const unsigned char *image, size_t size,
	uint64_t vdso, struct served_words *words)
{
	uint64_t jump = stubs->to + SERVED_STUBS_SIZE - SERVED_ROOM;
	struct elf_dynamic dynamic = {.count = 0};
	struct elf elf;

	words->count = 0;
	if (!elf_start(&elf, image, served_image_length(image, size)) ||
		!elf_read_dynamic(&elf, &dynamic))
		return;
	for (uint64_t i = 0; i < dynamic.count && words->count < SERVED_CALL_COUNT; i++) {
		uint64_t value, stub = 0;
		size_t known = 0;
		enum served_call call = read_function(
			&elf, &dynamic, dynamic.symbols + i * sizeof(Elf64_Sym), &value);

		while (known < words->count && words->function[known] != vdso + value)
			known++;
		if (call < SERVED_CALL_COUNT && known == words->count)
			stub = served_stub_make(stubs, call, jump, vdso + value);
		if (!stub)
			continue;
		words->function[known] = vdso + value;
		words->jump[known] = jump;
		words->count++;
		jump += served_jump_make(stubs->code + (jump - stubs->to), stub);
	}
}
