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

#include "base/elf.h"
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
