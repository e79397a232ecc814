/* SPDX-License-Identifier: MIT */
/*
 * Finds and inspects the program. The file is searched for here and not by execvp(3), whose
 * attempts along PATH would be counted as system calls of the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/elf.h"
#include "base/memory.h"
#include "base/text.h"
#include "count.h"
#include "places.h"

#define DEFAULT_PATH "/usr/local/bin:/bin:/usr/bin"

/* Linkers put the program headers behind the first one. */
#define HEADERS_SIZE 4096

/* Says whether the file can be run: 0 or an errno value. */
static int try_file(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return errno;
	if (S_ISDIR(status.st_mode))
		return EACCES;
	return access(path, X_OK) < 0 ? errno : 0;
}

/*
 * Like execvp(3), it passes over a file that cannot be run, which is the error if no other is
 * found. A path that does not fit is refused: cut, it would name another file.
 */
int trace_program_find(const char *name, struct trace_program *program)
{
	const bool is_searched = *name && !strchr(name, '/');
	const char *path = getenv("PATH"), *folder = is_searched ? path ? path : DEFAULT_PATH : "";
	int result = ENOENT, error;

	for (;; folder++) {
		size_t length = strcspn(folder, ":");
		int size = snprintf(program->file, sizeof(program->file), "%.*s%s%s", (int)length,
			folder,
			!is_searched ? ""
			: length     ? "/"
				     : "./",
			name);

		error = (size_t)size < sizeof(program->file) ? try_file(program->file)
		                                             : ENAMETOOLONG;
		if (!is_searched || (error != ENOENT && error != ENOTDIR))
			result = error;
		folder += length;
		if (!error || !*folder)
			break;
	}
	text_copy(program->path, sizeof(program->path), result ? name : program->file);
	return result;
}

/* ---- its file ---- */

void trace_program_read(struct trace_program *program, const unsigned char *bytes, size_t length)
{
	struct elf elf;

	if (!elf_start(&elf, bytes, length))
		return;
	program->is_32_bit = elf.narrow && sizeof(void *) == 8;
	program->is_static = !elf_segment(&elf, PT_INTERP, 0);
}

/* A kernel thread executes no file, and has a name alone. */
static void name_process(struct trace_program *program, const char *executable)
{
	char path[64], target[1024] = "";

	if (readlink(executable, target, sizeof(target) - 1) <= 0) {
		struct span name;

		snprintf(path, sizeof(path), "/proc/%d/comm", program->pid);
		name = file_take(open(path, O_RDONLY | O_CLOEXEC), sizeof(target));
		text_copy_span(program->path, sizeof(program->path), text_trim(name));
		span_free(name);
	} else {
		text_copy_span(program->path, sizeof(program->path), text_span(target));
	}
}

void trace_program_inspect(struct trace_program *program)
{
	unsigned char start[HEADERS_SIZE];
	struct stat status;
	ssize_t length = 0;
	char path[64];
	int file;

	snprintf(path, sizeof(path), "/proc/%d/exe", program->pid);
	if (program->pid)
		name_process(program, path);
	file = open(
		program->pid ? path : program->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (file < 0)
		return;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
		length = read(file, start, sizeof(start));
	if (length > 0)
		trace_program_read(program, start, (size_t)length);
	close(file);
}

/* ---- programs that trace others, or themselves ---- */

/* Limits what is read of the names of a program's symbols. */
#define DYNAMIC_SIZE 16384
#define NAMES_SIZE (4 << 20)

/* Returns the offset of what is loaded at an address, by the program headers; 0: nothing is. */
static uint64_t find_offset(const struct elf *elf, uint64_t address)
{
	for (uint64_t at = 0; (at = elf_segment(elf, PT_LOAD, at));) {
		uint64_t start = ELF_READ(elf, at, Phdr, p_vaddr);

		if (address >= start && address - start < ELF_READ(elf, at, Phdr, p_filesz))
			return ELF_READ(elf, at, Phdr, p_offset) + (address - start);
	}
	return 0;
}

/* Reads the names of the dynamic symbols of an open 64-bit program. Free the result, or NULL. */
static char *read_names(int file, size_t *length)
{
	unsigned char start[HEADERS_SIZE], dynamic[DYNAMIC_SIZE];
	ssize_t size = pread(file, start, sizeof(start), 0);
	uint64_t segment, address = 0, count = 0, at;
	struct elf elf;
	char *names;

	if (size <= 0 || !elf_start(&elf, start, (size_t)size) || elf.narrow)
		return NULL;
	segment = elf_segment(&elf, PT_DYNAMIC, 0);
	size = segment ? pread(file, dynamic, sizeof(dynamic),
				 (off_t)ELF_READ(&elf, segment, Phdr, p_offset))
	               : 0;
	for (at = 0; size > 0 && at + sizeof(Elf64_Dyn) <= (size_t)size; at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn entry;

		memcpy(&entry, dynamic + at, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB)
			address = entry.d_un.d_ptr;
		if (entry.d_tag == DT_STRSZ)
			count = entry.d_un.d_val;
	}
	at = find_offset(&elf, address);
	if (!at || !count || count > NAMES_SIZE)
		return NULL;
	names = xmalloc((size_t)count);
	size = pread(file, names, (size_t)count, (off_t)at);
	*length = size > 0 ? (size_t)size : 0;
	return names;
}

bool trace_program_traces(const char *path)
{
	/* LeakSanitizer traces its own process when that ends. The symbols begin with "__". */
	static const char *const symbols[] = {"asan_init", "lsan_init"};
	static const char *const tracers[] = {
		"gdb", "gdbserver", "lldb-server", "ltrace", "proot", "rr", "strace"};
	char target[PATH_MAX] = "";
	const char *name;
	size_t length = 0;
	char *names = NULL;
	bool traces = false;
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;

	if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode))
		names = read_names(file, &length);
	if (file >= 0)
		close(file);
	for (size_t i = 0; i < ARRAY_SIZE(symbols) && names && !traces; i++)
		traces = memmem(names, length, symbols[i], strlen(symbols[i]) + 1);
	free(names);
	name = realpath(path, target) ? strrchr(target, '/') : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(tracers) && name && !traces; i++)
		traces = strcmp(name + 1, tracers[i]) == 0;
	return traces;
}

/* ---- programs that read the CPU's counter themselves ---- */

/* rdtsc or rdtscp gives two halves, which compilers put together: shl $32, %rdx. arm64: CNTVCT_EL0.
 */
static bool has_counter(const unsigned char *code, size_t length)
{
#if defined(__x86_64__)
	static const unsigned char shift[] = {0x48, 0xc1, 0xe2, 0x20};
	const unsigned char *at = code, *end = code + length;

	while ((at = memchr(at, 0x0f, (size_t)(end - at))) && end - at > 16) {
		bool is_read = at[1] == 0x31 || (at[1] == 0x01 && at[2] == 0xf9);

		if (is_read && memmem(at + 2, 14, shift, sizeof(shift)))
			return true;
		at++;
	}
#elif defined(__aarch64__)
	for (size_t at = 0; at + 4 <= length; at += 4) {
		uint32_t instruction;

		memcpy(&instruction, code + at, sizeof(instruction));
		if ((instruction & 0xffffff60) == 0xd53be040)
			return true;
	}
#else
	(void)code;
	(void)length;
#endif
	return false;
}

/* The file is that of a program that may be hostile, and may shrink. */
static void find_counter(void *argument)
{
	struct trace_program *program = argument;
	int file = open(program->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct elf elf;

	if (file < 0 || !elf_map(&elf, file))
		return;
	for (uint64_t at = 0; (at = elf_segment(&elf, PT_LOAD, at));) {
		uint64_t start = ELF_READ(&elf, at, Phdr, p_offset);
		uint64_t size = ELF_READ(&elf, at, Phdr, p_filesz);

		if (ELF_READ(&elf, at, Phdr, p_flags) & PF_X && start < elf.length)
			program->reads_counter |= has_counter(elf.bytes + start,
				(size_t)(size < elf.length - start ? size : elf.length - start));
	}
}

void trace_program_find_counter(struct trace_program *program)
{
	struct deadline deadline = deadline_after(CHILD_PROBE_NS);
	struct trace_program found = *program;
	struct fact why;

	if (child_compute(find_counter, &found, sizeof(found), &deadline, &why))
		program->reads_counter = found.reads_counter;
}
