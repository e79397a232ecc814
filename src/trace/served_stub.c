/* SPDX-License-Identifier: MIT */
/*
 * Has the machine code that counts a call which the vDSO serves. The symbol of each function leads
 * to a jump behind the vDSO's own code, inside the image, as programs check; the jump leads to a
 * stub. It finds the entry for its call, clock and return address in the table of served.h, adds
 * one to it, and jumps to the function of the real vDSO, whose distance from the first jump it
 * knows: a program may move its vDSO by mremap(2). It makes no system call, and changes only
 * registers that a function may change.
 *
 * On x86-64 a locked instruction costs more than all others of a stub. One thread alone needs none:
 * neither a signal nor another CPU divides an instruction that adds to memory. A word of the table
 * asks for the lock before a second thread can use it. If a signal handler starts that thread, the
 * stub that it interrupted may have read the word before; its one call is lost if another one is
 * counted at the same moment.
 *
 * As if this host fell back, it jumps to a system call instead, and counts those that a seccomp
 * filter refuses. The kernel itself has no other errors than EFAULT, and EINVAL for a clock that it
 * lacks; a filter may also return 0 without a time, which is seen by a word of the result that is
 * set to -1 before, and put back then, unless its address is one that the kernel refuses.
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
#define PROBES NUMBER(SERVED_PROBES)
#define SHARED_AT NUMBER(SERVED_SHARED_AT)
#define SHARDS_AT NUMBER(SERVED_SHARDS_AT)
#define BY_POINTER NUMBER(SERVED_BY_POINTER)
#define SAVES_POINTER NUMBER(SERVED_SAVES_POINTER)
#define OF_GO NUMBER(SERVED_OF_GO)
#define FRAME_MOST NUMBER(SERVED_FRAME_MOST)

/* The shifts of the code below. */
_Static_assert(SERVED_SHARDS == 1 << (64 - 58), "the shard is the upper bits of a hash");
_Static_assert(SERVED_SHARD_SIZE == 1 << 13, "the size of a shard is a shift");
_Static_assert(sizeof(struct served_entry) << (64 - 55) == SERVED_SHARD_SIZE, "so is its entry's");
_Static_assert(offsetof(struct served_head, shared) == SERVED_SHARED_AT, "the place of a word");
_Static_assert(
	offsetof(struct served_frame, up) == 12 && offsetof(struct served_frame, frame) == 14,
	"offsets of a frame");

/* The last bytes of a stub, in the order of its labels. */
#define WORDS_SIZE 56
struct words {
	uint64_t call, table, frames;
	uint64_t target; /* the function, from the jump on; 0: make the system call instead */
	uint64_t number, refused; /* for the system call: its number, and the address of a count */
	uint64_t result;          /* RESULT_... */
};
_Static_assert(sizeof(struct words) == WORDS_SIZE, "the words are the end of a stub");

/* They end the section. */
#define WORDS                                                                                      \
	"	.org	served_clock + " NUMBER(SERVED_STUB_SIZE) " - " NUMBER(                    \
		WORDS_SIZE) "\n"                                                                   \
			    ".Lcall:	.quad 0\n"                                                    \
			    ".Ltable:	.quad 0\n"                                                   \
			    ".Lframes:	.quad 0\n"                                                  \
			    ".Ltarget:	.quad 0\n"                                                  \
			    ".Lnumber:	.quad 0\n"                                                  \
			    ".Lrefused:	.quad 0\n"                                                 \
			    ".Lresult:	.quad 0\n"                                                  \
			    ".popsection\n"

/* The first argument is a clock and the second the result; the first is; the call returns it. */
#define RESULT_SECOND 1
#define RESULT_FIRST 2
#define RESULT_RETURNED 4
#define SECOND NUMBER(RESULT_SECOND)
#define FIRST NUMBER(RESULT_FIRST)
#define RETURNED NUMBER(RESULT_RETURNED)

#if defined(__x86_64__)
/* Arguments of functions that are needed as registers are kept below the stack pointer. */
__asm__(".pushsection .rodata\n"
	".globl served_clock, served_plain, served_jump, served_jump_end\n"
	".hidden served_clock, served_plain, served_jump, served_jump_end\n"
	".p2align 4\n"
	"served_clock:\n"
	"	endbr64\n"
	"	mov	$" OTHER ", %eax\n"
	"	cmp	%eax, %edi\n"
	"	cmovb	%edi, %eax\n"
	"	jmp	2f\n"
	"	.p2align 4\n"
	"served_plain:\n"
	"	endbr64\n"
	"	xor	%eax, %eax\n"
	"2:	or	.Lcall(%rip), %eax\n"
	"	mov	%rcx, -8(%rsp)\n"
	"	mov	.Lframes(%rip), %rcx\n"
	"	mov	%r8, -16(%rsp)\n"
	"	mov	%rdx, -24(%rsp)\n"
	"	mov	%r11, -32(%rsp)\n"
	"	mov	%rbp, %rdx\n"
	"	mov	%rsp, %r11\n"
	"	mov	(%r11), %r9\n"
	"3:	mov	8(%rcx), %r10d\n"
	"	test	%r10d, %r10d\n"
	"	jz	6f\n"
	"	mov	%r9, %r8\n"
	"	sub	(%rcx), %r8\n"
	"	cmp	%r10, %r8\n"
	"	jae	5f\n"
	"	movzwl	12(%rcx), %r8d\n"
	"	test	$" BY_POINTER ", %r8b\n"
	"	jz	4f\n"
	"	mov	%rdx, %r10\n"
	"	sub	%r11, %r10\n"
	"	mov	%rdx, %r11\n"
	"	test	$" OF_GO ", %r8b\n"
	"	jnz	4f\n"
	"	cmp	$" FRAME_MOST ", %r10\n"
	"	jae	6f\n"
	"4:	movzwl	14(%rcx), %r10d\n"
	"	and	$-8, %r8d\n"
	"	add	%r8, %r11\n"
	"	mov	(%r11), %r9\n"
	"	test	%r10d, %r10d\n"
	"	jz	5f\n"
	"	neg	%r10\n"
	"	mov	(%r11, %r10), %rdx\n"
	"5:	add	$16, %rcx\n"
	"	jmp	3b\n"
	"6:	shl	$16, %r9\n"
	"	or	%r9, %rax\n" /* the key */
	"	movabs	$0x9e3779b97f4a7c15, %rdx\n"
	"	mov	%rsp, %r10\n"
	"	shr	$16, %r10\n"
	"	imul	%rdx, %r10\n"
	"	shr	$58, %r10\n" /* the shard: threads have stacks of their own */
	"	shl	$13, %r10\n"
	"	mov	.Ltable(%rip), %rcx\n"
	"	add	%rcx, %r10\n"
	"	imul	%rax, %rdx\n"
	"	shr	$55, %rdx\n"
	"	shl	$4, %rdx\n"
	"	lea	" SHARDS_AT "(%r10, %rdx), %r10\n"
	"	mov	$" PROBES ", %r9d\n"
	"1:	mov	(%r10), %r8\n"
	"	cmp	%rax, %r8\n"
	"	je	3f\n"
	"	test	%r8, %r8\n"
	"	jnz	2f\n"
	"	mov	%rax, %r8\n"
	"	xor	%eax, %eax\n"
	"	lock cmpxchg %r8, (%r10)\n"
	"	mov	%r8, %rax\n"
	"	jne	1b\n" /* another thread took the entry */
	"	jmp	3f\n"
	"2:	add	$16, %r10\n"
	"	dec	%r9d\n"
	"	jnz	1b\n"
	"	movzbl	%al, %eax\n"
	"	lea	-8(%rcx, %rax, 8), %r10\n"
	"3:	cmpl	$0, " SHARED_AT "(%rcx)\n"
	"	jne	5f\n"
	"	incq	8(%r10)\n"
	"4:	mov	-8(%rsp), %rcx\n"
	"	mov	-16(%rsp), %r8\n"
	"	mov	-24(%rsp), %rdx\n"
	"	mov	-32(%rsp), %r11\n"
	"	mov	.Ltarget(%rip), %rax\n"
	"	test	%rax, %rax\n"
	"	jz	6f\n"
	"	add	%rax, %r11\n"
	"	jmp	*%r11\n"
	"5:	lock incq 8(%r10)\n"
	"	jmp	4b\n"
	"6:	xor	%r9d, %r9d\n" /* as if this host fell back */
	"	mov	.Lresult(%rip), %r10d\n"
	"	test	$" SECOND ", %r10b\n"
	"	cmovnz	%rsi, %r9\n"
	"	test	$" FIRST ", %r10b\n"
	"	cmovnz	%rdi, %r9\n"
	"	lea	-65536(%r9), %rax\n" /* no program has memory in the first 64 KiB */
	"	shr	$47, %rax\n"         /* nor in the kernel's half */
	"	jz	8f\n"
	"	xor	%r9d, %r9d\n"
	"	jmp	1f\n"
	"8:\n"
	"	mov	8(%r9), %rdx\n"
	"	movq	$-1, 8(%r9)\n"
	"1:	mov	.Lnumber(%rip), %eax\n"
	"	syscall\n"
	"	test	%r9, %r9\n"
	"	jz	2f\n"
	"	cmpq	$-1, 8(%r9)\n"
	"	jne	5f\n"
	"	mov	%rdx, 8(%r9)\n" /* nothing was written */
	"	jmp	3f\n"
	"2:	test	%rax, %rax\n"
	"	jg	5f\n"
	"	jnz	3f\n"
	"	test	$" RETURNED ", %r10b\n"
	"	jz	5f\n"
	"3:	cmp	$-14, %rax\n" /* EFAULT */
	"	je	5f\n"
	"	cmp	$-22, %rax\n" /* EINVAL */
	"	jne	4f\n"
	"	test	$" SECOND ", %r10b\n"
	"	jz	4f\n"
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
	"1:	ldr	x10, .Lcall\n"
	"	orr	x9, x9, x10\n"
	"	ldr	x10, .Lframes\n"
	"	mov	x11, x30\n"
	"	mov	x14, sp\n"
	"	mov	x15, x29\n"
	"6:	and	x11, x11, #0xffffffffffff\n" /* a signature is above */
	"	ldr	w13, [x10, #8]\n"
	"	cbz	w13, 8f\n"
	"	ldr	x12, [x10], #16\n"
	"	sub	x12, x11, x12\n"
	"	cmp	x12, x13\n"
	"	b.hs	6b\n"
	"	ldrh	w12, [x10, #-4]\n"
	"	tst	w12, #" BY_POINTER "\n"
	"	b.eq	7f\n"
	"	sub	x13, x15, x14\n"
	"	mov	x14, x15\n"
	"	tst	w12, #" OF_GO "\n"
	"	b.ne	7f\n"
	"	cmp	x13, #" FRAME_MOST "\n"
	"	b.hs	8f\n"
	"7:	and	x13, x12, #0xfff8\n"
	"	add	x13, x14, x13\n"
	"	ldr	x11, [x13]\n"
	"	tst	w12, #" SAVES_POINTER "\n"
	"	b.eq	9f\n"
	"	ldr	x15, [x13, #-8]\n"
	"9:	ldrh	w12, [x10, #-2]\n"
	"	add	x14, x14, x12\n"
	"	b	6b\n"
	"8:	bfi	x9, x11, #16, #48\n" /* the key */
	"	ldr	x10, .Lfactor\n"
	"	mov	x11, sp\n"
	"	lsr	x11, x11, #16\n"
	"	mul	x11, x11, x10\n"
	"	lsr	x11, x11, #58\n" /* the shard */
	"	ldr	x13, .Ltable\n"
	"	add	x13, x13, #" SHARDS_AT "\n"
	"	add	x13, x13, x11, lsl #13\n"
	"	mul	x12, x9, x10\n"
	"	lsr	x12, x12, #55\n"
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
	"	ldr	x16, .Ltarget\n"
	"	cbz	x16, 4f\n"
	"	add	x16, x16, x17\n"
	"	br	x16\n"
	"5:	add	x13, x13, #16\n"
	"	subs	w14, w14, #1\n"
	"	b.ne	2b\n"
	"	ldr	x13, .Ltable\n"
	"	and	x9, x9, #0xff\n"
	"	add	x13, x13, x9, lsl #3\n"
	"	b	6b\n"
	"4:	ldr	x10, .Lresult\n" /* as if this host fell back */
	"	mov	x9, #0\n"
	"	tst	x10, #" SECOND "\n"
	"	csel	x9, x1, x9, ne\n"
	"	tst	x10, #" FIRST "\n"
	"	csel	x9, x0, x9, ne\n"
	"	mov	w12, w0\n"
	"	sub	x11, x9, #16, lsl #12\n" /* no program has memory in the first 64 KiB */
	"	tbz	x11, #55, 7f\n"          /* nor in the kernel's half */
	"	mov	x9, #0\n"
	"7:	cbz	x9, 1f\n"
	"	ldr	x13, [x9, #8]\n"
	"	mov	x11, #-1\n"
	"	str	x11, [x9, #8]\n"
	"1:	ldr	x8, .Lnumber\n"
	"	svc	#0\n"
	"	cbz	x9, 2f\n"
	"	ldr	x11, [x9, #8]\n"
	"	cmn	x11, #1\n"
	"	b.ne	6f\n"
	"	str	x13, [x9, #8]\n" /* nothing was written */
	"	b	3f\n"
	"2:	cmp	x0, #0\n"
	"	b.gt	6f\n"
	"	b.ne	3f\n"
	"	tst	x10, #" RETURNED "\n"
	"	b.eq	6f\n"
	"3:	cmn	x0, #14\n" /* EFAULT */
	"	b.eq	6f\n"
	"	cmn	x0, #22\n" /* EINVAL */
	"	b.ne	4f\n"
	"	tst	x10, #" SECOND "\n"
	"	b.eq	4f\n"
	"	cmp	w12, #7\n" /* all kernels have these clocks, and CLOCK_TAI */
	"	b.ls	4f\n"
	"	cmp	w12, #11\n"
	"	b.ne	6f\n"
	"4:	ldr	x14, .Lrefused\n"
	"5:	ldxr	x10, [x14]\n"
	"	add	x10, x10, #1\n"
	"	stxr	w11, x10, [x14]\n"
	"	cbnz	w11, 5b\n"
	"6:	ret\n"
	"	.p2align 3\n"
	".Lfactor:	.quad 0x9e3779b97f4a7c15\n" WORDS ".pushsection .rodata\n"
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
		.table = stubs->table,
		.frames = stubs->table + offsetof(struct served_head, frames[call]),
		.target = target - jump,
		.refused = stubs->table + offsetof(struct served_head, refused[call]),
		.result = call == SERVED_TIME           ? RESULT_RETURNED
	                  : call == SERVED_GETTIMEOFDAY ? RESULT_FIRST
	                  : row->takes_clock            ? RESULT_SECOND
	                                                : 0};
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
		uint64_t at = dynamic.symbols + i * sizeof(Elf64_Sym), stub = 0;
		uint64_t value = ELF_READ(&elf, at, Sym, st_value) - elf.load;
		uint64_t section = ELF_READ(&elf, at, Sym, st_shndx);
		struct span name = elf_name(&elf, dynamic.names, ELF_READ(&elf, at, Sym, st_name));
		enum served_call call;

		(void)vdso_take_prefix(&name);
		call = served_find_call(name);
		if (call == SERVED_CALL_COUNT || section == SHN_UNDEF || section == SHN_ABS ||
			(ELF_READ(&elf, at, Sym, st_info) & 0xf) != STT_FUNC)
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
