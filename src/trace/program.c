/* SPDX-License-Identifier: MIT */
/*
 * Finds and inspects the program. The file is searched for here and not by execvp(3), whose
 * attempts along PATH would be counted as system calls of the program.
 */
#include <dirent.h>
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
#include "base/privileges.h"
#include "base/text.h"
#include "count.h"
#include "places.h"

#define DEFAULT_PATH "/usr/local/bin:/bin:/usr/bin"

/* Limits what is read of an environment. */
#define ENVIRON_SIZE 65536

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

/* ---- its files ---- */

void trace_program_read(struct trace_program *program, int file)
{
	struct elf elf;

	program->is_elf = elf_map(&elf, file);
	if (!program->is_elf)
		return;
	program->is_32_bit = elf.narrow && sizeof(void *) == 8;
	program->is_static = !elf_segment(&elf, PT_INTERP, 0);
	elf_unmap(&elf);
}

static void read_environment(struct trace_program *program, int file)
{
	struct span all = file_take(file, ENVIRON_SIZE), rest = all;

	while (rest.length && !program->preloads) {
		struct span variable = text_take_until(&rest, '\0');

		program->preloads = text_take_prefix(&variable, "LD_PRELOAD=") && variable.length;
	}
	span_free(all);
}

struct inspection {
	struct trace_program program;
	int executable, environment;
};

/* The files are those of a program that may be hostile, and reading its memory may hang. */
static void inspect_in_child(void *argument)
{
	struct inspection *inspection = argument;

	privileges_keep(PRIVILEGES_NONE);
	trace_program_read(&inspection->program, inspection->executable);
	if (inspection->program.pid)
		read_environment(&inspection->program, inspection->environment);
}

void trace_program_inspect(struct trace_program *program)
{
	struct inspection inspection = {.environment = -1};
	const char *preload = getenv("LD_PRELOAD");
	char path[64], target[1024] = "";
	struct fact why;

	snprintf(path, sizeof(path), "/proc/%d/exe", program->pid);
	inspection.executable = open(
		program->pid ? path : program->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (!program->pid) {
		program->preloads = preload && *preload;
	} else {
		if (readlink(path, target, sizeof(target) - 1) > 0)
			text_copy_span(program->path, sizeof(program->path), text_span(target));
		snprintf(path, sizeof(path), "/proc/%d/environ", program->pid);
		inspection.environment = open(path, O_RDONLY | O_CLOEXEC);
	}
	inspection.program = *program;
	if (child_probe(inspect_in_child, &inspection, sizeof(inspection), DEADLINE_NONE, &why))
		*program = inspection.program;
	if (inspection.executable >= 0)
		close(inspection.executable);
	if (inspection.environment >= 0)
		close(inspection.environment);
}

/* ---- its threads ---- */

int trace_program_threads(pid_t pid, int (*visit)(void *argument, pid_t id), void *argument)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;
	int error = 0;

	snprintf(path, sizeof(path), pid ? "/proc/%d/task" : "/proc", pid);
	tasks = opendir(path);
	if (!tasks)
		return kill(pid, 0) < 0 ? errno : ENOENT;
	while (!error && (entry = readdir(tasks))) {
		uint64_t id;

		if (number_parse(text_span(entry->d_name), &id) && id <= INT32_MAX)
			error = visit(argument, (pid_t)id);
	}
	closedir(tasks);
	return error;
}
