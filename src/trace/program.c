/* SPDX-License-Identifier: MIT */
/*
 * Finds and inspects the program. The file is searched for here and not by execvp(3), whose
 * attempts along PATH would be counted as system calls of the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/child.h"
#include "base/elf.h"
#include "base/memory.h"
#include "base/text.h"
#include "count.h"
#include "files.h"

#define DEFAULT_PATH "/usr/local/bin:/bin:/usr/bin"

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
	text_clean(program->path, sizeof(program->path), result ? name : program->file);
	return result;
}

bool trace_program_gains(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 &&
	       ((status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
		       (status.st_mode & S_ISGID && status.st_mode & S_IXGRP &&
			       status.st_gid != getegid()) ||
		       getxattr(path, "security.capability", NULL, 0) > 0);
}

/* ---- its file ---- */

/* Programs that trace others have it from the C library. LeakSanitizer traces its own process. */
static bool calls_ptrace(const struct elf *elf)
{
	struct elf_dynamic dynamic = {.count = 0};

	if (!elf_read_dynamic(elf, &dynamic))
		return false;
	for (uint64_t i = 0; i < dynamic.count; i++) {
		uint64_t at = dynamic.symbols + i * ELF_SIZE(elf, Sym);
		struct span name = elf_name(elf, dynamic.names, ELF_READ(elf, at, Sym, st_name));

		if (text_equals(name, "ptrace") && ELF_READ(elf, at, Sym, st_shndx) == SHN_UNDEF)
			return true;
		/* In one word, the name would be that of a program with AddressSanitizer. */
		if (text_take_prefix(&name, "__") &&
			(text_equals(name, "asan_init") || text_equals(name, "lsan_init")))
			return true;
	}
	return false;
}

/* Others have the first mark, too: Free Pascal's programs. Each glibc reads one of these variables.
 */
static bool has_glibc(const struct elf *elf)
{
	static const char *const words[] = {"GLIBC_TUNABLES", "LIBC_FATAL_STDERR_"};
	bool is_found = false;

	for (size_t i = 0; i < ARRAY_SIZE(words) && !is_found; i++)
		is_found = memmem(elf->bytes, elf->length, words[i], strlen(words[i]));
	return is_found;
}

/* A stripped program does not have their names. */
static void find_go(const struct elf *elf, struct code_range go[TRACE_GO_FUNCTIONS])
{
	static const char *const names[] = {
		"runtime.nanotime1", "runtime.walltime", "time.now", NULL};
	struct elf_functions functions;
	struct elf_function function;
	size_t count = 0;

	if (!elf_section(elf, ".note.go.buildid"))
		return;
	elf_functions_start(elf, &functions);
	while (count < TRACE_GO_FUNCTIONS && elf_functions_next(elf, &functions, &function)) {
		/* Of two ways to pass arguments, one has a suffix. */
		for (size_t i = 0; names[i]; i++) {
			struct span rest = function.name;

			if (text_take_prefix(&rest, names[i]) &&
				(!rest.length || text_equals(rest, ".abi0")))
				go[count++] = (struct code_range){
					function.start - elf->load, function.size};
		}
	}
}

void trace_program_read(struct trace_program *program, const unsigned char *bytes, size_t length)
{
	static const char *const loaders[] = {"ld-", "ld.so", "ld64.so", NULL};
	struct elf elf;

	if (!elf_start(&elf, bytes, length))
		return;
	/* A dynamic loader names none, and may be executed to load a program. */
	program->is_static = !elf_segment(&elf, PT_INTERP, 0) &&
	                     !files_is_named(text_span(program->path), loaders);
	program->has_glibc =
		program->is_static && elf_note(&elf, NT_GNU_ABI_TAG).length && has_glibc(&elf);
	program->calls_ptrace = calls_ptrace(&elf);
	find_go(&elf, program->go);
}

struct inspection {
	struct trace_program program;
	int file; /* of O_PATH */
};

static void inspect(void *argument)
{
	struct inspection *inspection = argument;
	int file = file_reopen(inspection->file);
	struct elf elf;

	if (file >= 0 && elf_map(&elf, file))
		trace_program_read(&inspection->program, elf.bytes, elf.length);
}

/* A kernel thread executes no file, and has a name alone. */
static void name_process(struct trace_program *program, const char *executable)
{
	char target[1024] = "";

	if (readlink(executable, target, sizeof(target) - 1) > 0)
		text_clean_span(program->path, sizeof(program->path), text_span(target));
	else
		process_name(program->pid, program->path, sizeof(program->path));
}

/*
 * Its file may be hostile, shrink, or be on a file system that never answers: a child opens it,
 * which does not have the privilege to find it. A script executes the same few programs again and
 * again, which are looked at once.
 */
void trace_program_inspect(struct trace_program *program)
{
	static uint64_t harmless[64]; /* files that do not call ptrace(2), nor are of Go */
	struct deadline deadline = deadline_after(CHILD_PROBE_NS);
	struct inspection inspection;
	struct statx status;
	uint64_t *known, id = 0;
	struct fact why;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", program->pid);
	if (program->pid)
		name_process(program, path);
	inspection = (struct inspection){
		*program, open(program->pid ? path : program->file, O_PATH | O_CLOEXEC)};
	if (inspection.file < 0)
		return;
	if (statx(inspection.file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &status) == 0)
		id = status.stx_ino ^ (uint64_t)status.stx_dev_major << 52 ^
		     (uint64_t)status.stx_dev_minor << 32;
	known = &harmless[id % ARRAY_SIZE(harmless)];
	if (!id || id != *known) {
		if (child_call(inspect, &inspection, sizeof(inspection), &deadline, &why))
			*program = inspection.program;
		if (!program->calls_ptrace && !program->go[0].size)
			*known = id;
	}
	close(inspection.file);
}
