/* SPDX-License-Identifier: MIT */
/* trace: the code that counts calls into the vDSO, where they come from, and what is printed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/elf.h"
#include "base/memory.h"
#include "base/text.h"
#include "commands.h"
#include "trace/frame.h"
#include "trace/places.h"
#include "trace/served.h"
#include "unit/dice.h"
#include "unit/unit.h"

static struct trace_plan plan;
static struct trace_request request;
static struct trace_report run;
static struct trace_evidence *const trace = &run.trace;

static void make_plan(void)
{
	trace_plan_make(&plan);
	places_free(&trace->places);
	places_free(&trace->call_places);
	request = (struct trace_request){.plan = &plan};
	*trace = (struct trace_evidence){.request = &request};
	fact_set_known(&trace->served);
}

/* ---- the code ---- */

#if defined(__x86_64__) || defined(__aarch64__)
static int64_t answered;

static int answer(clockid_t clock, struct timespec *time)
{
	answered += clock;
	return time ? 42 : 0;
}

typedef int clock_function(clockid_t, struct timespec *);

static bool make_call_as_if_fallback;
static uint64_t stub_target; /* 0: answer() */

#define CODE_AT 64

/* A jump to a stub for the call, whose code is executable, and its table. */
static clock_function *make_stub(enum served_call call, unsigned char *table)
{
	unsigned char *code =
		mmap(NULL, SERVED_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct served_stubs stubs = {.code = code,
		.to = (uintptr_t)code,
		.table = (uintptr_t)table,
		.as_if_fallback = make_call_as_if_fallback,
		.used = CODE_AT};
	uint64_t entry;
	void *start = code;
	clock_function *function;

	assert_ptr_not_equal(code, MAP_FAILED);
	entry = served_stub_make(
		&stubs, call, stubs.to, stub_target ? stub_target : (uintptr_t)answer);
	assert_in_range(entry, stubs.to + CODE_AT, stubs.to + CODE_AT + SERVED_STUB_SIZE - 1);
	assert_int_equal(stubs.used, CODE_AT + SERVED_STUB_SIZE);
	assert_in_range(served_jump_make(code, entry), 1, SERVED_ROOM / SERVED_CALL_COUNT);
	assert_int_equal(mprotect(code, SERVED_PAGE, PROT_READ | PROT_EXEC), 0);
	__builtin___clear_cache((char *)code, (char *)code + SERVED_PAGE);
	memcpy(&function, &start, sizeof(function));
	return function;
}

static unsigned char *make_table(void)
{
	unsigned char *table = mmap(NULL, SERVED_TABLE_SIZE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(table, MAP_FAILED);
	return table;
}

/* The count of the entries with these bits above the address. */
static uint64_t count_entries(const unsigned char *table, uint64_t call, uint64_t clock)
{
	uint64_t count = 0;

	for (size_t at = SERVED_SHARDS_AT; at < SERVED_TABLE_SIZE; at += sizeof(uint64_t[2])) {
		uint64_t words[2];

		memcpy(words, table + at, sizeof(words));
		if (words[0] && (words[0] & 0xff) == (call << 5 | clock))
			count += words[1];
	}
	return count;
}

static void a_stub_counts_and_goes_on(void **state)
{
	unsigned char *table = make_table();
	clock_function *get = make_stub(SERVED_CLOCK_GETTIME, table);
	clock_function *plain = make_stub(SERVED_GETCPU, table);
	struct timespec time;

	(void)state;
	answered = 0;
	for (int clock = 0; clock < 30; clock++) {
		for (int i = 0; i <= clock; i++)
			assert_int_equal(get(clock, &time), 42);
		/* Others use the table, too, from now on. */
		if (clock == 12)
			table[SERVED_SHARED_AT] = 1;
	}
	assert_int_equal(get(1, NULL), 0);
	assert_int_equal(plain(7, &time), 42);
	assert_int_equal(answered, 8998);
	for (uint64_t clock = 0; clock < SERVED_CLOCK_OTHER; clock++)
		assert_int_equal(count_entries(table, SERVED_CLOCK_GETTIME, clock),
			clock + 1 + (clock == 1));
	assert_int_equal(count_entries(table, SERVED_CLOCK_GETTIME, SERVED_CLOCK_OTHER),
		25 + 26 + 27 + 28 + 29 + 30);
	assert_int_equal(count_entries(table, SERVED_GETCPU, 0), 1);
}

static void a_stub_makes_the_system_call_as_if_the_host_fell_back(void **state)
{
	unsigned char *table = make_table();
	clock_function *get;
	struct timespec before, between, after;

	(void)state;
	make_call_as_if_fallback = true;
	get = make_stub(SERVED_CLOCK_GETTIME, table);
	make_call_as_if_fallback = false;
	answered = 0;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &before);
	assert_int_equal(get(CLOCK_MONOTONIC, &between), 0);
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &after);
	assert_true(before.tv_sec < between.tv_sec ||
		    (before.tv_sec == between.tv_sec && before.tv_nsec <= between.tv_nsec));
	assert_true(between.tv_sec < after.tv_sec ||
		    (between.tv_sec == after.tv_sec && between.tv_nsec <= after.tv_nsec));
	before = between = (struct timespec){7, 8};
	assert_int_equal(get(1000, &between), -EINVAL);
	assert_memory_equal(&between, &before, sizeof(before));
	assert_int_equal(answered, 0);
	assert_int_equal(count_entries(table, SERVED_CLOCK_GETTIME, CLOCK_MONOTONIC), 1);
}

static void a_stub_counts_where_no_entry_is_free(void **state)
{
	unsigned char *table = make_table();
	clock_function *get = make_stub(SERVED_CLOCK_GETTIME, table);
	uint64_t count;

	(void)state;
	memset(table + SERVED_SHARDS_AT, 0xff, SERVED_TABLE_SIZE - SERVED_SHARDS_AT);
	for (int i = 0; i < 1000; i++)
		get(CLOCK_BOOTTIME, NULL);
	memcpy(&count, table + (SERVED_CLOCK_GETTIME << 5 | CLOCK_BOOTTIME) * sizeof(count),
		sizeof(count));
	assert_int_equal(count, 1000);
}

#if defined(__x86_64__)
/* Jumps to a stub with this return address, and comes back from where the stub leads to. */
void jump_with_return_address(clock_function *stub, uint64_t address);
extern const char come_back[];
__asm__(".text\n"
	"jump_with_return_address:\n"
	"	push	%rsi\n"
	"	jmp	*%rdi\n"
	"come_back:\n"
	"	pop	%rsi\n"
	"	ret\n");

/* With five levels of page tables a program may have code above the first 48 bits of addresses. */
static void a_stub_counts_where_the_return_address_has_more_than_48_bits(void **state)
{
	unsigned char *table = make_table();
	clock_function *stub;

	(void)state;
	stub_target = (uintptr_t)come_back;
	stub = make_stub(SERVED_GETCPU, table);
	stub_target = 0;
	jump_with_return_address(stub, 0x5000);
	jump_with_return_address(stub, UINT64_C(0xff800000005000));
	assert_int_equal(count_entries(table, SERVED_GETCPU, 0), 2);
}
#endif

#define STUBS_AT 0x7ffff7000000

/* Copies this process's own vDSO up to the end of its room; NULL if it has none. */
static unsigned char *copy_vdso(size_t *length, size_t *size)
{
	unsigned char *image = xmalloc(SERVED_IMAGE_MAX);
	struct iovec here = {image, SERVED_IMAGE_MAX}, there = here;
	ssize_t read;

	there.iov_base = (void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	read = there.iov_base ? process_vm_readv(getpid(), &here, 1, &there, 1, 0) : 0;
	*size = served_find_room(image, read > 0 ? (size_t)read : 0);
	*length = served_image_length(image, *size);
	if (*size) {
		*size += SERVED_ROOM;
		return image;
	}
	free(image);
	return NULL;
}

static size_t make_stubs(unsigned char *image, size_t size)
{
	unsigned char code[SERVED_STUBS_SIZE];
	struct served_stubs stubs = {.code = code, .to = STUBS_AT};

	served_stubs_make(&stubs, image, size, (uintptr_t)getauxval(AT_SYSINFO_EHDR));
	return stubs.used / SERVED_STUB_SIZE;
}

/*
 * The symbols of this process's own vDSO lead to jumps, each of which leads to a stub of its own.
 * They are within the segment of code, and only what was not used is different beside.
 */
static void the_symbols_of_the_vdso_lead_to_jumps_within_its_image(void **state)
{
	size_t length, size, led = 0, stubs, room;
	unsigned char *image = copy_vdso(&length, &size), *before = copy_vdso(&length, &size);
	struct elf_dynamic dynamic;
	struct elf elf;

	(void)state;
	if (!image)
		skip();
	assert_true(length > SERVED_PAGE / 2);
	room = size - SERVED_ROOM;
	assert_int_equal(served_find_room(image, size), room);
	stubs = make_stubs(image, size);
	assert_true(elf_start(&elf, image, size) && elf_read_dynamic(&elf, &dynamic));
	assert_int_equal(elf_extent(&elf), size);
	for (uint64_t i = 0; i < dynamic.count; i++) {
		uint64_t at = dynamic.symbols + i * sizeof(Elf64_Sym), stub;
		uint64_t value = ELF_READ(&elf, at, Sym, st_value);

		if (memcmp(image + at, before + at, sizeof(Elf64_Sym)) == 0)
			continue;
		led++;
		assert_in_range(elf_offset(&elf, value), room, size - 1);
		for (stub = elf_offset(&elf, value);
			elf_number(&elf, stub, 8) - STUBS_AT >= stubs * SERVED_STUB_SIZE;)
			assert_in_range(++stub, room, size - 8);
		memcpy(image + at, before + at, sizeof(Elf64_Sym));
	}
	/* A function that has a bare name, too, has one stub. */
	assert_true(stubs >= 2 && (led == stubs || led == 2 * stubs));
	memset(image + room, 0, SERVED_ROOM);
	for (uint64_t at = 0; (at = elf_segment(&elf, PT_LOAD, at));)
		memcpy(image + at, before + at, sizeof(Elf64_Phdr));
	assert_memory_equal(image, before, size);
	free(before);
	free(image);
}

static void a_vdso_without_room_for_jumps_is_left_alone(void **state)
{
	size_t length, size;
	unsigned char *image = copy_vdso(&length, &size);
	unsigned char *before = image ? xmalloc(size) : NULL;
	Elf64_Half count;

	(void)state;
	if (!image)
		skip();
	/*
	 * Something is in the first or last byte of the room; there are so many sections that their
	 * headers reach into it, or further than what is mapped.
	 */
	for (int i = 0; i < 4; i++) {
		free(image);
		image = copy_vdso(&length, &size);
		memcpy(&count, image + offsetof(Elf64_Ehdr, e_shnum), sizeof(count));
		while (i == 2 && served_find_room(image, size)) {
			count++;
			memcpy(image + offsetof(Elf64_Ehdr, e_shnum), &count, sizeof(count));
		}
		if (i == 3)
			memset(image + offsetof(Elf64_Ehdr, e_shoff), 0x7f, sizeof(Elf64_Off));
		else if (i < 2)
			image[i ? size - 1 : size - SERVED_ROOM] = 1;
		memcpy(before, image, size);
		assert_int_equal(served_find_room(image, size), 0);
		assert_int_equal(make_stubs(image, size), 0);
		assert_memory_equal(image, before, size);
	}
	assert_int_equal(served_find_room(image, 0), 0);
	free(before);
	free(image);
}

/* Cut anywhere or with broken bytes it stays within its bytes. */
static void a_broken_vdso_is_read_safely(void **state)
{
	struct dice dice = dice_start();
	size_t length, size;
	unsigned char *image = copy_vdso(&length, &size);

	(void)state;
	if (!image)
		skip();
	for (size_t i = 0; i < 20000; i++) {
		size_t cut = size - dice_roll(&dice, 2) * i / 16;
		unsigned char *broken = xmalloc(cut);

		memcpy(broken, image, cut);
		for (int k = 0; k < 4; k++)
			broken[dice_roll(&dice, i % 2 ? 512 : cut)] =
				(unsigned char)dice_roll(&dice, 256);
		make_stubs(broken, cut);
		free(broken);
	}
	free(image);
}
#endif

/* ---- the places ---- */

static const char memory_map[] =
	"400000-401000 r--p 00000000 fe:00 11 /usr/bin/server\n"
	"401000-409000 r-xp 00001000 fe:00 11 /usr/bin/server\n"
	"nonsense\n"
	"500000-501000 rwxp 00000000 00:00 0 \n"
	"7f0000000000-7f0000001000 r--p 00000000 fe:00 12   /lib/a file.so\n"
	"7f0000001000-7f0000009000 r-xp 00001000 fe:00 12   /lib/a file.so\n";

static void add(uint64_t address, size_t row, uint64_t count)
{
	struct maps parsed = maps_parse(text_span(memory_map));

	places_add(&trace->places, row, count, &parsed, 0, address);
	maps_free(&parsed);
}

static void a_c_library_is_known_by_its_name(void **state)
{
	static const char *const libraries[] = {"/usr/lib/libc.so.6", "/lib/libc-2.31.so",
		"/lib/ld-musl-x86_64.so.1", "/lib/libc.musl-x86_64.so.1"};
	static const char *const others[] = {"/usr/lib/libc-client.so.2007e", "/lib/libcrypt.so.1",
		"/opt/libc.so.6/libm.so.6", "/lib/ld-linux-x86-64.so.2", ""};

	(void)state;
	for (size_t i = 0; i < COUNT(libraries); i++)
		assert_true(files_is_c_library(text_span(libraries[i])));
	for (size_t i = 0; i < COUNT(others); i++)
		assert_false(files_is_c_library(text_span(others[i])));
}

static void a_place_is_a_file_and_an_address_in_it(void **state)
{
	(void)state;
	make_plan();
	add(0x401235, 1, 10);
	add(0x7f0000002001, 0, 7);
	add(0x401235, 1, 10);
	add(0x401235, 0, 2);
	add(0x500100, 1, 5);
	add(0x600000, 1, 3);
	add(0, 1, 1);
	places_finish(trace, 4);
	assert_int_equal(trace->places.count, 4);
	assert_int_equal(trace->places.list[0].count, 20);
	assert_string_equal(trace->places.list[0].module, "/usr/bin/server");
	assert_string_equal(trace->places.list[0].address, "0x1234");
	assert_string_equal(trace->places.list[0].call, "clock_gettime");
	assert_string_equal(trace->places.list[0].clock, "CLOCK_MONOTONIC");
	assert_string_equal(trace->places.list[1].module, "/lib/a file.so");
	assert_string_equal(trace->places.list[1].address, "0x2000");
	assert_string_equal(trace->places.list[2].module, "[run-time code]");
	assert_string_equal(trace->places.list[2].address, "");
	assert_string_equal(trace->places.list[3].module, "");
	assert_int_equal(trace->places.list[3].count, 3 + 1);
	assert_true(trace->places.list[0].share_percent > 52.6 &&
		    trace->places.list[0].share_percent < 52.7);
}

static void a_place_that_comes_again_is_the_same_one(void **state)
{
	(void)state;
	make_plan();
	for (size_t i = 0; i < 10000; i++)
		add(0x401001 + i % 100, i / 100 % 2, 1 + i % 100);
	places_finish(trace, 1000);
	assert_int_equal(trace->places.count, 200);
	for (size_t i = 0; i < 200; i++)
		assert_int_equal(trace->places.list[i].count, 50 * (100 - i / 2));
}

static void a_line_of_a_perf_map_is_a_range_and_a_name(void **state)
{
	static const char text[] = "7f00 40 Main.loop(int) \n\nnonsense\n12 xyz name\n"
				   "0x00007f80 0x10 a::name, with blanks\n-1 2 name\n8000 1\n";
	static const struct {
		uint64_t start, size;
		const char *function;
	} rows[] = {
		{0x7f00, 0x40, "Main.loop(int)"},
		{0x7f80, 0x10, "a::name, with blanks"},
		{0x8000, 1, ""},
	};
	struct span map = text_span(text), function;
	uint64_t start, size;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_true(perf_map_next(&map, &start, &size, &function));
		assert_int_equal(start, rows[i].start);
		assert_int_equal(size, rows[i].size);
		assert_true(text_equals(function, rows[i].function));
	}
	assert_false(perf_map_next(&map, &start, &size, &function));
}

__attribute__((noinline)) static int a_function_with_a_name(int number)
{
	__asm__ volatile("" : "+r"(number));
	return number + 1;
}

static size_t find_frames(const struct elf *elf, const char *const *names, bool are_wrappers,
	struct served_frame *frames)
{
	return frames_find(elf, elf, &(struct frame_names){names, are_wrappers, frames}, 1);
}

static void a_function_is_found_in_the_file(void **state)
{
	int (*function)(int) = a_function_with_a_name;
	struct dice dice = dice_start();
	struct elf elf;
	struct span name;
	uint64_t start = 0;
	struct stat status;
	unsigned char *bytes;
	int file = open("/proc/self/exe", O_RDONLY);

	(void)state;
	assert_int_equal(fstat(file, &status), 0);
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	memcpy(&start, &function, sizeof(function));
	assert_true(elf_start(&elf, bytes, (size_t)status.st_size));
	start += 1 - (getauxval(AT_PHDR) & ~(uint64_t)(SERVED_PAGE - 1)) + elf.load;
	elf_find(&elf, &start, 1, &name);
	assert_true(text_equals(name, "a_function_with_a_name"));
	for (size_t i = 0; i < 500; i++) {
		struct served_frame frames[SERVED_FRAMES];

		bytes[dice_roll(&dice, 64)] = (unsigned char)dice_roll(&dice, 256);
		memcpy(bytes, "\177ELF", 4);
		elf_start(&elf, bytes, dice_roll(&dice, (size_t)status.st_size));
		start = dice_roll(&dice, 1 << 20);
		elf_find(&elf, &start, 1, &name);
		assert_true(name.length <= (size_t)status.st_size);
		find_frames(&elf, (const char *const[]){"main", NULL}, dice_roll(&dice, 2), frames);
		assert_true(elf_note(&elf, NT_GNU_BUILD_ID).length <= (size_t)status.st_size);
	}
	close(file);
}

#if defined(__x86_64__)
/* Functions that make indirect calls, as compilers write them. */
#define FUNCTION(name, body)                                                                       \
	__asm__(".pushsection .text\n.type " name ",@function\n" name ":\n.cfi_startproc\n" body   \
		"ret\n.cfi_endproc\n.size " name ", .-" name "\n.popsection\n")
#define BARE(name, body)                                                                           \
	__asm__(".pushsection .text\n.type " name ",@function\n" name ":\n" body                   \
		"ret\n.size " name ", .-" name "\n.popsection\n")
#define PUSH(size) "sub $" #size ", %rsp\n.cfi_adjust_cfa_offset " #size "\n"
#define POP(size) "add $" #size ", %rsp\n.cfi_adjust_cfa_offset -" #size "\n"

FUNCTION("frame_of_32", "push %rbx\n.cfi_adjust_cfa_offset 8\n" PUSH(16) "call *%rdi\n" POP(24));
FUNCTION("frame_that_is_left_twice", PUSH(264) "call *16(%rdi)\nje 1f\n.cfi_remember_state\n" POP(
					     264) "ret\n"
						  ".cfi_restore_state\n1: call *(%rdi)\n" POP(264));
FUNCTION("times_of_two_sizes", PUSH(8) "call *%rdi\n" PUSH(16) "call *%rax\n" POP(24));
FUNCTION("frame_of_another_register",
	PUSH(8) "mov %rsp, %rbp\n.cfi_def_cfa_register rbp\ncall *%rdi\n"
		".cfi_def_cfa_register rsp\n" POP(8));
FUNCTION("frame_without_a_call", "nop\n");
#define SAVE_POINTER "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset rbp, -16\n"
#define LEAVE "leave\n.cfi_def_cfa rsp, 8\n"
FUNCTION("frame_with_a_saved_pointer",
	SAVE_POINTER PUSH(16) "xor %ebp, %ebp\ncall *%rdi\n" POP(16) "pop %rbp\n");
FUNCTION("frame_by_pointer", SAVE_POINTER
	"mov %rsp, %rbp\n.cfi_def_cfa_register rbp\nsub $64, %rsp\ncall *%rdi\n" LEAVE);
FUNCTION("frame_with_exceptions",
	".cfi_personality 0x1b, frame_without_a_call\n.cfi_lsda 0x1b, frame_without_a_call\n" PUSH(
		24) "call *%rdi\n" POP(24));
FUNCTION("time_above_another", PUSH(24) "call frame_of_32\n" POP(24));

/* Functions without call frame information. */
BARE("bare_frame_of_32",
	"endbr64\npush %rbx\nmov %edi, %ebx\nsub $16, %rsp\nmov %fs:40, %rax\n"
	"mov %rax, 8(%rsp)\nmov 8(%rsi, %rdi), %rax\ntest %rax, %rax\nje 1f\n"
	"lea 0x1234(%rip), %rsi\nmov $1, %edx\ncall *8(%rax)\n1: add $16, %rsp\npop %rbx\n");
BARE("bare_frame_of_416", "push %r12\nsub $400, %rsp\ncall *%r12\nadd $400, %rsp\npop %r12\n");
BARE("bare_frame_above_another", "sub $24, %rsp\ncall frame_of_32\nadd $24, %rsp\n");
BARE("bare_frame_that_is_popped", "push %rbx\npop %rbx\nsub $8, %rsp\ncall *%rdi\nadd $8, %rsp\n");
BARE("bare_frame_behind_a_jump", "sub $8, %rsp\njmp 1f\n1: call *%rdi\nadd $8, %rsp\n");
BARE("bare_frame_behind_another_call",
	"sub $8, %rsp\ncall frame_without_a_call\ncall *%rdi\nadd $8, %rsp\n");
BARE("bare_frame_by_a_register", "sub $8, %rsp\nsub %rax, %rsp\ncall *%rdi\nleave\n");
BARE("bare_frame_that_is_aligned", "sub $8, %rsp\nand $-16, %rsp\ncall *%rdi\nleave\n");
/* A note in the file says that it is Go's, where names have dots. */
__asm__(".pushsection .note.go.buildid, \"a\", @note\n.long 4, 0, 4\n"
	".ascii \"Go\\0\\0\"\n.popsection\n");
BARE("time_by_pointer", "push %rbp\nmov %rsp, %rbp\nand $-16, %rsp\ncall *%rdi\nleave\n");
BARE("time.by_pointer", "sub $8, %rsp\npush %rbp\nmov %rsp, %rbp\nand $-16, %rsp\ncall *%rdi\n"
			"leave\nadd $8, %rsp\n");
BARE("time.by_near_pointer", "sub $8, %rsp\nmov %rbp, (%rsp)\nlea (%rsp), %rbp\ncall *%rdi\n"
			     "add $8, %rsp\n");
BARE("time.by_far_pointer",
	"sub $0x208, %rsp\nmov %rbp, 0x200(%rsp)\nlea 0x200(%rsp), %rbp\ncall *%rdi\n"
	"add $0x208, %rsp\n");
BARE("time.by_another_pointer", "sub $24, %rsp\nmov %rbp, 16(%rsp)\nlea 8(%rsp), %rbp\ncall *%rdi\n"
				"add $24, %rsp\n");
BARE("time.by_older_pointer", "sub $24, %rsp\nmov %rbp, 16(%rsp)\nlea 16(%rsp), %rbp\ncall *%rdi\n"
			      "add $24, %rsp\n");
BARE("time.by_stack_pointer", "push %rbp\nmov %rsp, %rbp\nsub $8, %rsp\nmov %rsp, %rbp\n"
			      "call *%rdi\nmov %rbp, %rsp\nadd $8, %rsp\npop %rbp\n");
FUNCTION("frame_of_2000", PUSH(1992) "call *%rdi\n" POP(1992));
BARE("bare_frame_of_a_number", "push %rbx\nmov $4096, %esp\ncall *%rdi\n");
BARE("bare_frame_that_is_moved", "sub $8, %rsp\nlea -32(%rdi), %rsp\ncall *%rdi\nleave\n");

static void frames_are_those_of_the_call_frame_information(void **state)
{
	static const struct {
		const char *name;
		uint64_t up;
	} rows[] = {
		{"frame_of_32", 32},
		{"frame_that_is_left_twice", 272},
		{"times_of_two_sizes", 0},
		{"frame_of_another_register", 0},
		{"frame_without_a_call", 0},
		{"frame_with_a_saved_pointer", 32},
		{"frame_by_pointer", 8 | SERVED_BY_POINTER},
		{"frame_with_exceptions", 32},
		{"no_such_function", 0},
		{"bare_frame_of_32", 32},
		{"bare_frame_of_416", 416},
		{"bare_frame_that_is_popped", 0},
		{"bare_frame_behind_a_jump", 0},
		{"bare_frame_behind_another_call", 0},
		{"bare_frame_by_a_register", 0},
		{"bare_frame_that_is_aligned", 0},
		{"bare_frame_that_is_moved", 0},
		{"bare_frame_of_a_number", 0},
		{"frame_of_2000", 0}, /* more than is known to be memory of the stack */
		{"time_by_pointer", 0},
		{"time.by_pointer", 0}, /* not as a wrapper, which Go's are */
		{"time_above_another", 0},
		{"bare_frame_above_another", 0},
	};
	struct served_frame frames[SERVED_FRAMES];
	struct elf elf;
	int file = open("/proc/self/exe", O_RDONLY);

	(void)state;
	assert_true(file >= 0 && elf_map(&elf, file));
	close(file);
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(
			find_frames(&elf, (const char *const[]){rows[i].name, NULL}, false, frames),
			rows[i].up != 0);
		assert_int_equal(frames[0].up, rows[i].up);
		assert_int_equal(frames[0].size != 0, rows[i].up != 0);
	}
	assert_int_equal(find_frames(&elf,
				 (const char *const[]){"no_such_function", "frame_of_32",
					 "time_above_another", "bare_frame_above_another", NULL},
				 false, frames),
		3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(frames[i].up, 32);
	/* What it calls is not known to lead to the vDSO, unless it is a wrapper. */
	for (int is_wrapper = 0; is_wrapper < 2; is_wrapper++) {
		assert_int_equal(
			find_frames(&elf, (const char *const[]){"time_above_another", NULL},
				is_wrapper, frames),
			is_wrapper);
		assert_int_equal(frames[0].up, is_wrapper ? 32 : 0);
	}
	assert_int_equal(
		find_frames(&elf, (const char *const[]){"time.by_*pointer", NULL}, true, frames),
		4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(frames[i].up, 8 | SERVED_BY_POINTER | SERVED_OF_GO);
	assert_int_equal(
		find_frames(&elf, (const char *const[]){"ti*.b*pointer", NULL}, true, frames), 4);
	assert_int_equal(
		find_frames(&elf, (const char *const[]){"ti*.b*pointers*", NULL}, true, frames), 0);
	assert_int_equal(
		find_frames(&elf, (const char *const[]){"time_by_pointer", NULL}, true, frames), 0);
	assert_int_equal(
		find_frames(&elf, (const char *const[]){"times_of_two_sizes", NULL}, true, frames),
		0);
	assert_int_equal(frames[3].size, 0);
	munmap((void *)(uintptr_t)elf.bytes, elf.length);
}

#endif

#if defined(__x86_64__) || defined(__aarch64__)
/* A function of a C library that calls the vDSO, and one that calls it. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n.type chain_inner, @function\nchain_inner:\npush %rbx\nsub $16, %rsp\n"
	"call *%rdi\nadd $16, %rsp\npop %rbx\nret\n.size chain_inner, .-chain_inner\n"
	".type chain_outer, @function\nchain_outer:\nsub $40, %rsp\ncall chain_inner\n"
	"add $40, %rsp\nret\n.size chain_outer, .-chain_outer\n"
	".type chain_astray, @function\nchain_astray:\n.cfi_startproc\npush %rbp\nmov %rsp, %rbp\n"
	".cfi_def_cfa rbp, 16\n.cfi_offset rbp, -16\nmov $1, %ebp\ncall *%rdi\npop %rbp\nret\n"
	".cfi_endproc\n.size chain_astray, .-chain_astray\n.popsection\n");
#else
__asm__(".pushsection .text\n.type chain_inner, %function\nchain_inner:\n"
	"stp x29, x30, [sp, #-32]!\nmov x29, #0\nblr x0\n"
	"ldp x29, x30, [sp], #32\nret\n.size chain_inner, .-chain_inner\n"
	".type chain_outer, %function\nchain_outer:\n.cfi_startproc\nsub sp, sp, #64\n"
	"stp x29, x30, [sp, #48]\nadd x29, sp, #48\n.cfi_def_cfa w29, 16\n.cfi_offset w30, -8\n"
	".cfi_offset w29, -16\nbl chain_inner\nldp x29, x30, [sp, #48]\n"
	"add sp, sp, #64\nret\n.cfi_endproc\n.size chain_outer, .-chain_outer\n"
	".type chain_astray, %function\nchain_astray:\n.cfi_startproc\nstp x29, x30, [sp, #-16]!\n"
	"mov x29, #1\n.cfi_def_cfa w29, 16\n.cfi_offset w30, -8\n.cfi_offset w29, -16\nblr x0\n"
	"ldp x29, x30, [sp], #16\nret\n.cfi_endproc\n.size chain_astray, .-chain_astray\n"
	".popsection\n");
#endif
int chain_outer(clock_function *get);
int chain_astray(clock_function *get);

__attribute__((noinline)) static int call_by_chain(clock_function *get)
{
	return chain_outer(get) + 1;
}

__attribute__((noinline)) static int call_astray(clock_function *get)
{
	return chain_astray(get) + 1;
}

/* Returns whether the place of a call by this function is in the one with this name. */
static bool has_place(int (*by)(clock_function *get), const char *in)
{
	unsigned char *table = make_table();
	uint64_t base = getauxval(AT_PHDR) & ~(uint64_t)(SERVED_PAGE - 1), address = 0;
	struct served_frame frames[SERVED_FRAMES];
	struct elf elf;
	struct span name;
	bool has;
	int file = open("/proc/self/exe", O_RDONLY);

	assert_true(file >= 0 && elf_map(&elf, file));
	close(file);
	assert_int_equal(
		find_frames(&elf,
			(const char *const[]){"chain_inner", "chain_outer", "chain_astray", NULL},
			false, frames),
		3);
	for (size_t i = 0; i < 3; i++)
		frames[i].start += base;
	memcpy(table + offsetof(struct served_head, frames), frames, sizeof(frames));
	answered += by(make_stub(SERVED_CLOCK_GETTIME, table));
	for (size_t at = SERVED_SHARDS_AT; at < SERVED_TABLE_SIZE && !address;
		at += sizeof(struct served_entry))
		memcpy(&address, table + at, sizeof(address));
	address = (address >> 16) - 1 - base + elf.load;
	elf_find(&elf, &address, 1, &name);
	has = text_starts(name, in);
	munmap((void *)(uintptr_t)elf.bytes, elf.length);
	return has;
}

static void a_stub_finds_the_caller_of_the_c_library(void **state)
{
	(void)state;
	assert_true(has_place(call_by_chain, "call_by_chain"));
	/* The frame pointer has another use there. */
	assert_true(has_place(call_astray, "chain_astray"));
}
#endif

#if defined(__aarch64__)
static void steps_are_followed(void **state)
{
	static const struct {
		uint32_t code;
		uint64_t length, offset, saved;
	} rows[] = {
		{0xa9be7bfd, 4, 48, 40},  /* stp x29, x30, [sp, #-32]! */
		{0xa9be7bf3, 4, 48, 40},  /* stp x19, x30, [sp, #-32]! */
		{0xa9be4ffe, 4, 48, 48},  /* stp x30, x19, [sp, #-32]! */
		{0xa9be53f3, 4, 48, 0},   /* stp x19, x20, [sp, #-32]! */
		{0xf81f0ffe, 4, 32, 32},  /* str x30, [sp, #-16]! */
		{0xf90007fe, 4, 16, 8},   /* str x30, [sp, #8] */
		{0xa9007bfd, 4, 16, 8},   /* stp x29, x30, [sp] */
		{0xd10103ff, 4, 80, 0},   /* sub sp, sp, #64 */
		{0xd14007ff, 4, 4112, 0}, /* sub sp, sp, #4096 */
		{0x910083fd, 4, 16, 0},   /* add x29, sp, #32 */
		{0xf100003f, 4, 16, 0},   /* cmp x1, #0 */
		{0xd503233f, 4, 16, 0},   /* paciasp */
		{0xb4000123, 4, 16, 0},   /* cbz x3, ... */
		{0xd63f0060, 4, 16, 0},   /* blr x3 */
		{0x910103ff, 0, 16, 0},   /* add sp, sp, #64 */
		{0x9100003f, 0, 16, 0},   /* mov sp, x1 */
		{0xcb2063ff, 0, 16, 0},   /* sub sp, sp, x0 */
		{0xa8c27bfd, 0, 16, 0},   /* ldp x29, x30, [sp], #32 */
		{0xf84107fe, 0, 16, 0},   /* ldr x30, [sp], #16 */
		{0x927cedbf, 0, 16, 0},   /* and sp, x13, #0xfffffffffffffff0 */
		{0x14000004, 0, 16, 0},   /* b */
		{0xd65f03c0, 0, 16, 0},   /* ret */
	};

	struct frame_state frame = {.offset = 16, .saved = 16};
	struct elf file = {(const unsigned char *)&rows[5].code, 4, false};

	(void)state;
	assert_int_equal(prologue_step(&file, 0, &frame), 4);
	assert_int_equal(frame.saved, 16); /* it was stored before */
	for (size_t i = 0; i < COUNT(rows); i++) {
		file.bytes = (const unsigned char *)&rows[i].code;
		frame = (struct frame_state){.offset = 16};

		assert_int_equal(prologue_step(&file, 0, &frame), rows[i].length);
		assert_int_equal(frame.offset, rows[i].offset);
		assert_int_equal(frame.saved, rows[i].saved);
	}
}
#endif

/* ---- names ---- */

static void names_of_cpp_and_rust_are_read(void **state)
{
	static const char *const rows[][2] = {
		{"main", "main"},
		{"_ZN2os13javaTimeNanosEv", "os::javaTimeNanos"},
		{"_ZNSt6chrono3_V212steady_clock3nowEv", "std::chrono::_V2::steady_clock::now"},
		{"_ZN3app5Timer4loopEi.isra.0", "app::Timer::loop"},
		{"_ZNK3app5Timer4loopIlLi42ELb1EEET_S1_", "app::Timer::loop<long, 42, true>"},
		{"_ZN12_GLOBAL__N_15countEv", "(anonymous namespace)::count"},
		{"_ZN3std4time7Instant3now17h0123456789abcdefE", "std::time::Instant::now"},
		{"_RNvMNtCsjrHSEGnQ3l9_3std4timeNtB2_7Instant3now", "<std::time::Instant>::now"},
		/* They are not understood. */
		{"_ZN3foo", "_ZN3foo"},
		{"_RB", "_RB"},
		{"", ""},
	};
	char name[128];

	(void)state;
#ifndef DEMANGLER
	skip();
#endif
	for (size_t i = 0; i < COUNT(rows); i++) {
		name_read(text_span(rows[i][0]), name, sizeof(name));
		assert_string_equal(name, rows[i][1]);
	}
}

/* ---- what is printed ---- */

static void make_call(size_t i, const char *call, const char *clock, double vdso_ns, double ns)
{
	struct call_evidence *evidence = &trace->host.calls[i];

	*evidence = (struct call_evidence){.decides = true};
	text_clean(evidence->call, sizeof(evidence->call), call);
	text_clean(evidence->clock, sizeof(evidence->clock), clock);
	evidence->path[PATH_VDSO] = (struct path_evidence){
		.available = true, .fact.state = FACT_KNOWN, .min_ns = vdso_ns, .attempts = 1000};
	evidence->path[PATH_SYSCALL] =
		(struct path_evidence){.available = true, .fact.state = FACT_KNOWN, .min_ns = ns};
	trace->host.call_count = i + 1;
}

static void a_program_that_reads_the_clock(void **state)
{
	static const char expected[] =
		"OK: this program read the clock at least 20,000,502 times (10,000,251 per s),\n"
		"    never by system call. That took about 480 ms (32% of its CPU time); where\n"
		"    the vDSO cannot be used: 4.80 s (82%).\n"
		"\n"
		"  program    /usr/bin/server, 2.00 s, 1.50 s of CPU time\n"
		"  note       served calls of 3 executed programs are not counted: the program\n"
		"             has no vDSO\n"
		"\n"
		"  count  per s served system calls ns each   total fallback  clock or call\n"
		" 20.0 M 10.0 M 20.0 M            0    24.0  480 ms   4.80 s  MONOTONIC\n"
		"    500    250    500            0    25.0 12.5 us   125 us  gettimeofday\n"
		"\n"
		"  share  count  clock or call  place\n"
		" 100.0% 20.0 M  MONOTONIC      server+0x1234\n"
		"   0.0%    500  gettimeofday   a file.so+0x2000\n"
		"  server is /usr/bin/server; its debug symbols would give names\n"
		"  a file.so is /lib/a file.so; its debug symbols would give names\n";
	const struct style style = {.color = false};
	struct memory_stream stream;
	FILE *out = memory_stream_open(&stream);

	(void)state;
	make_plan();
	make_call(0, "clock_gettime", "CLOCK_MONOTONIC", 24, 240);
	make_call(1, "gettimeofday", "", 25, 250);
	fact_set_known(&trace->host.proof.fact);
	fact_set_known(&trace->method_fact);
	trace->method = TRACE_BY_BPF;
	fact_set_real(&trace->duration_s, 2);
	fact_set_real(&trace->cpu_s, 1.5);
	trace->uncounted = 3;
	fact_set(&trace->uncounted_why, FACT_ABSENT, "the program has no vDSO");
	text_clean(trace->program.path, sizeof(trace->program.path), "/usr/bin/server");
	trace->vdso_calls[1] = 20000002;
	trace->vdso_calls[2 * (TRACE_CLOCK_MAX + 1)] = 500;
	add(0x401235, 1, 20000002);
	add(0x7f0000002001, 2 * (TRACE_CLOCK_MAX + 1), 500);
	places_finish(trace, 5);
	run.report.type = trace_command.report;
	trace_judge(&run);
	trace_formats[0].write(&run, &style, out);
	memory_stream_close(&stream);
	assert_string_equal(stream.text, expected);
	free(stream.text);
}

/* x86 of 4.20 to 5.2: each gettimeofday() is a clock_gettime system call, and one read. */
static void a_call_that_falls_back_by_another_is_counted_once(void **state)
{
	const size_t timeofday = 2 * (TRACE_CLOCK_MAX + 1);

	(void)state;
	make_plan();
	make_call(0, "clock_gettime", "CLOCK_REALTIME", 800, 800);
	make_call(1, "gettimeofday", "", 800, 700);
	for (int i = 0; i < 2; i++)
		trace->host.calls[i].path[PATH_VDSO].entered =
			trace->host.calls[i].path[PATH_VDSO].attempts;
	fact_set_known(&trace->host.proof.fact);
	fact_set_known(&trace->method_fact);
	fact_set_real(&trace->duration_s, 2);
	trace->vdso_calls[timeofday] = 1000;
	trace->counts[TRACE_NATIVE][0] = 1000;
	trace_judge(&run);
	assert_int_equal(run.diagnosis.sums.reads, 1000);
	/* Some were served while the host's clock did not fall back. */
	trace->counts[TRACE_NATIVE][timeofday] = 400;
	trace_judge(&run);
	assert_int_equal(run.diagnosis.sums.reads, 2000);
}

static void a_program_that_runs_as_if_the_host_fell_back(void **state)
{
	static const char expected[] =
		"this program read the clock 2,000,500 times (1,000,250 per s), always by system "
		"call. They took about 480 ms (32% of its CPU time); the vDSO would save 432 ms. "
		"It got SIGSYS for clock_gettime(CLOCK_MONOTONIC): its seccomp filter does not "
		"allow this system call, which the vDSO makes where it cannot read the clock "
		"itself. 7 of them failed: its seccomp filter does not allow "
		"these system calls.";

	(void)state;
	make_plan();
	make_call(0, "clock_gettime", "CLOCK_MONOTONIC", 24, 240);
	fact_set_known(&trace->host.proof.fact);
	request.as_if_fallback = true;
	fact_set_real(&trace->duration_s, 2);
	fact_set_real(&trace->cpu_s, 1.5);
	/* Some were refused before they could be counted. */
	trace->vdso_calls[1] = 2000500;
	trace->counts[TRACE_NATIVE][1] = 2000000;
	trace->refused = 7;
	fact_set_number(&trace->sigsys_row, 1);
	trace_judge(&run);
	assert_int_equal(run.report.answer - trace_answers, TRACE_SIMULATED);
	assert_string_equal(run.report.summary + strlen("as if this host fell back, "), expected);
	assert_int_equal(run.diagnosis.sums.avoidable, 2000500);
	/* So it is on a host that was too busy to be measured. */
	trace->host.call_count = 0;
	trace_judge(&run);
	assert_int_equal(run.report.answer - trace_answers, TRACE_SIMULATED);
	assert_int_equal(run.diagnosis.sums.avoidable, 2000500);
	fact_set(&trace->served, FACT_DENIED, "ptrace: Operation not permitted");
	trace_judge(&run);
	assert_int_equal(run.report.answer - trace_answers, TRACE_UNKNOWN);
	/* What was not run so, and read no clock that was counted, says nothing of the program. */
	fact_set_known(&trace->served);
	memset(trace->vdso_calls, 0, sizeof(trace->vdso_calls));
	memset(trace->counts, 0, sizeof(trace->counts));
	trace_judge(&run);
	assert_int_equal(run.report.answer - trace_answers, TRACE_SIMULATED);
	trace->uncounted = 1;
	fact_set(&trace->uncounted_why, FACT_DENIED, "it has a seccomp filter of its own");
	trace_judge(&run);
	assert_int_equal(run.report.answer - trace_answers, TRACE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__) || defined(__aarch64__)
		cmocka_unit_test(a_stub_counts_and_goes_on),
		cmocka_unit_test(a_stub_makes_the_system_call_as_if_the_host_fell_back),
		cmocka_unit_test(a_stub_counts_where_no_entry_is_free),
#if defined(__x86_64__)
		cmocka_unit_test(a_stub_counts_where_the_return_address_has_more_than_48_bits),
#endif
		cmocka_unit_test(a_stub_finds_the_caller_of_the_c_library),
		cmocka_unit_test(the_symbols_of_the_vdso_lead_to_jumps_within_its_image),
		cmocka_unit_test(a_vdso_without_room_for_jumps_is_left_alone),
		cmocka_unit_test(a_broken_vdso_is_read_safely),
#endif
		cmocka_unit_test(a_c_library_is_known_by_its_name),
		cmocka_unit_test(a_place_is_a_file_and_an_address_in_it),
		cmocka_unit_test(a_place_that_comes_again_is_the_same_one),
		cmocka_unit_test(a_line_of_a_perf_map_is_a_range_and_a_name),
		cmocka_unit_test(a_function_is_found_in_the_file),
		cmocka_unit_test(names_of_cpp_and_rust_are_read),
#if defined(__x86_64__)
		cmocka_unit_test(frames_are_those_of_the_call_frame_information),
#elif defined(__aarch64__)
		cmocka_unit_test(steps_are_followed),
#endif
		cmocka_unit_test(a_program_that_reads_the_clock),
		cmocka_unit_test(a_call_that_falls_back_by_another_is_counted_once),
		cmocka_unit_test(a_program_that_runs_as_if_the_host_fell_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
